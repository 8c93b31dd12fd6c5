/* print_graph.h - prints a graph as Lua that the front end reads back, and a program as text. */
#ifndef CR_PRINT_GRAPH_H
#define CR_PRINT_GRAPH_H

#include <stdio.h>

#include "graph.h"
#include "program.h"

/* Prints one statement per node: v[i] = op(...), with at(...) where the origin changes. */
void cr_print_graph(FILE *out, const struct cr_graph *g);

/* Prints a program as Lua comments, so that the output can follow a printed graph.  Offsets of
 * buffers and bindings are in bytes, offsets of scratch in floats, and addresses in elements. */
void cr_print_program(FILE *out, const struct cr_program *program);

#endif
