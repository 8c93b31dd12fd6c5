/*
 * call_cache.h - runs scripts that consist of one call, all in one Lua state of the front end, and
 * caches their graphs.
 *
 * The cache lives as long as the model.  The same call occurs again in a rewritten graph, in equal
 * layers, and in translations for several sizes.
 */
#ifndef CR_ONNX_CALL_CACHE_H
#define CR_ONNX_CALL_CACHE_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_onnx_calls;
struct cr_onnx_calls *cr_onnx_calls_new(void);
void cr_onnx_calls_free(struct cr_onnx_calls *calls);

/* Returns the graph of the script `text`, from the cache or by running it.  Returns null if the
 * front end refuses it; `error` is then its message without file and line. */
const struct cr_graph *cr_onnx_calls_run(struct cr_onnx_calls *calls, const char *text,
                                         struct cr_error *error);

#endif
