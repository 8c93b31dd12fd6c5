/*
 * match.h - what the recognisers of patterns share: looking at the nodes around a value, and
 * putting one node of the domain "crescent" in their place.
 */
#ifndef CR_ONNX_MATCH_H
#define CR_ONNX_MATCH_H

#include "graph.h"

/* The node of ai.onnx that gives a value, if it is of this operator, or CR_ONNX_NONE.  */
int cr_match_op(const struct cr_onnx_graph *graph, int value, const char *op);

/* The same if nothing else reads the value. */
int cr_match_only(const struct cr_onnx_graph *graph, int value, const char *op);

/* Whether a value is known to be one number, up to float's rounding. */
bool cr_match_number(const struct cr_onnx_graph *graph, int value, double number);

/* Of a node of two inputs the one that is not `value`, or CR_ONNX_NONE. */
int cr_match_other(const struct cr_onnx_node *node, int value);

/* The only node that reads a value, or CR_ONNX_NONE if there are more, or if it is an output of
 * the model. */
int cr_match_user(const struct cr_onnx_graph *graph, int value);

/* Whether a value is a weight of floats, not a number that was written down or computed. */
bool cr_match_weight(const struct cr_onnx_graph *graph, int value);

bool cr_match_same_shape(const struct cr_onnx_value *a, const struct cr_onnx_value *b);

/* Whether a node permutes as said; perm has as many axes as its input. */
bool cr_match_permutes(const struct cr_onnx_graph *graph, int node, const int *perm);

/*
 * A node of the domain "crescent" in place of what gives `old`, with the name and scope of `like`;
 * its output has the type and shape of `old`, and a name for the script's reader.  Returns its
 * number.
 */
int cr_match_replace(struct cr_onnx_graph *graph, int old, int like, const char *op,
                     const int *inputs, int n_inputs, const char *name);

/* A node of the domain "crescent" whose output is a new value of a shape: returns the value. */
int cr_match_make(struct cr_onnx_graph *graph, int like, const char *op, const int *inputs,
                  int n_inputs, const char *name, int rank, const int64_t *shape);

/* Module's path of a node: "h.0.attn" of "/h.0/attn/MatMul" or of the metadata name_scopes; "" if
 * unknown. */
const char *cr_onnx_scope(struct cr_arena *arena, const struct cr_onnx_node *node);

/* A name for a weight: gives it if no other value has it, and the language takes it. */
bool cr_match_rename(struct cr_onnx_graph *graph, int value, const char *name);

/* The path of a parameter called PATH.weight (or another ending, with its dot); null if it is not. */
const char *cr_match_path(struct cr_arena *arena, const char *name, const char *ending);

#endif
