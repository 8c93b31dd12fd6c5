/* print.h - a graph as Lua that the front end reads back, and a program for readers. */
#ifndef CR_PRINT_H
#define CR_PRINT_H

#include <stdio.h>

#include "graph.h"
#include "program.h"

/* One statement a node: v[i] = op(...), with at(...) where the origin changes. */
void cr_print_graph(FILE *out, const struct cr_graph *g);

/* A program as Lua comments, so that it can stand behind a graph.  Offsets of buffers and forms are
 * bytes, those of scratch floats, and addresses elements. */
void cr_print_program(FILE *out, const struct cr_program *program);

#endif
