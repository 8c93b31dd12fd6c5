/*
 * calls.h - scripts of one call each, run by the front end in one state, and the graphs that they make.
 *
 * A file's calls are kept as long as its model: the same call is asked for again when a graph was rewritten,
 * by equal layers, and when translations for several sizes are compared.
 */
#ifndef CR_ONNX_CALLS_H
#define CR_ONNX_CALLS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_onnx_calls;
struct cr_onnx_calls *cr_onnx_calls_new(void);
void cr_onnx_calls_free(struct cr_onnx_calls *calls);

/* The graph of a script, which runs if it did not before; or null, and what the front end says without a file
 * and a line. */
const struct cr_graph *cr_onnx_calls_run(struct cr_onnx_calls *calls, const char *text,
                                         struct cr_error *error);

#endif
