/*
 * pattern_match.h - functions that the recognisers of patterns share: they look at the nodes around
 * a value, and replace nodes by a node of the domain "crescent".
 */
#ifndef CR_ONNX_PATTERN_MATCH_H
#define CR_ONNX_PATTERN_MATCH_H

#include "graph.h"

/* Calls `find` for each live node of an operator, except nodes that `find` adds. */
void cr_match_each(struct cr_onnx_graph *graph, const char *domain, const char *op,
                   void (*find)(struct cr_onnx_graph *graph, int node));

/* Returns the node of ai.onnx that outputs a value if its operator is `op`, or CR_ONNX_NONE. */
int cr_match_op(const struct cr_onnx_graph *graph, int value, const char *op);

/* Like cr_match_op, but returns CR_ONNX_NONE if the value has more than one user. */
int cr_match_only(const struct cr_onnx_graph *graph, int value, const char *op);

/* True if a value is a known scalar that equals `number` up to float rounding. */
bool cr_match_number(const struct cr_onnx_graph *graph, int value, double number);

/* Returns the input of a node of two inputs that is not `value`, or CR_ONNX_NONE. */
int cr_match_other(const struct cr_onnx_node *node, int value);

/* True if a node only changes the shape of its first input: the elements keep their order. */
bool cr_match_view(const struct cr_onnx_node *node);

/* Returns the only node that reads a value; CR_ONNX_NONE if there are several, or if the value
 * is an output of the model. */
int cr_match_user(const struct cr_onnx_graph *graph, int value);

/* True if a value is a float weight: not a scalar, and read from the file rather than computed. */
bool cr_match_weight(const struct cr_onnx_graph *graph, int value);

bool cr_match_same_shape(const struct cr_onnx_value *a, const struct cr_onnx_value *b);

/* True if `node` is a Transpose with the permutation `perm`, which has as many axes as the node's
 * input. */
bool cr_match_permutes(const struct cr_onnx_graph *graph, int node, const int *perm);

/*
 * Replaces the output value `old` by the output of a new node of the domain "crescent", which gets
 * the module name and scope of the node `like`.  The new output has the type and shape of `old`,
 * and the name `name`.  Returns the new node.
 */
int cr_match_replace(struct cr_onnx_graph *graph, int old, int like, const char *op,
                     const int *inputs, int n_inputs, const char *name);

/* Adds a node of the domain "crescent" with the name and scope of the node `like`, whose output is
 * a new value of the given shape; returns that value. */
int cr_match_make(struct cr_onnx_graph *graph, int like, const char *op, const int *inputs,
                  int n_inputs, const char *name, int rank, const int64_t *shape);

/* Returns the path of a node's module, "h.0.attn" for "/h.0/attn/MatMul".  Takes it from the node's
 * name or from the metadata name_scopes; returns "" if neither has it. */
const char *cr_onnx_scope(struct cr_arena *arena, const struct cr_onnx_node *node);

/* Renames a weight; false if another value has the name or the language does not allow it. */
bool cr_match_rename(struct cr_onnx_graph *graph, int value, const char *name);

/* Returns PATH if `name` is PATH followed by `ending`, such as ".weight"; else null. */
const char *cr_match_path(struct cr_arena *arena, const char *name, const char *ending);

#endif
