/* print.h - a graph as Lua that the front end reads back. */
#ifndef CR_PRINT_H
#define CR_PRINT_H

#include <stdio.h>

#include "graph.h"

/* One statement a node: v[i] = op(...), with at(...) where the origin changes. */
void cr_print_graph(FILE *out, const struct cr_graph *g);

/* One node's statement, and its tap's. */
void cr_print_node(FILE *out, const struct cr_graph *g, cr_id id);

#endif
