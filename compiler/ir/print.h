/* print.h - a graph as Lua that the front end reads back. */
#ifndef CR_PRINT_H
#define CR_PRINT_H

#include <stdio.h>

#include "graph.h"

/* One statement a node: v[i] = op(...), with at(...) where the origin changes. */
void cr_print_graph(FILE *out, const struct cr_graph *g);

#endif
