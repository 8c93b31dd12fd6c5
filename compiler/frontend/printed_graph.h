/* printed_graph.h - reads back graphs written by compiler/ir/print_graph.c. */
#ifndef CR_PRINTED_GRAPH_H
#define CR_PRINTED_GRAPH_H

#include "script_state.h"

/* Raises an error if a kernel's number is too large for the finished graph. */
void cr_check_kernels(lua_State *L, struct cr_run *run);

#endif
