/* printed_graph.h - reading back what compiler/ir/print.c writes. */
#ifndef CR_PRINTED_GRAPH_H
#define CR_PRINTED_GRAPH_H

#include "script_state.h"

/* Refuses numbers of kernels that the finished graph is too small for. */
void cr_check_kernels(lua_State *L, struct cr_run *run);

#endif
