/*
 * graph.h - the graph of an ONNX model, as it is between its file and a script.
 *
 * Values have numbers; nodes stand in an order in which what they read comes first.  Functions and
 * branches of `If` are inlined.  Everything lives in the graph's arena until cr_onnx_graph_free, but that
 * elements of known values may be freed before (elements.h).
 */
#ifndef CR_ONNX_GRAPH_H
#define CR_ONNX_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "elements.h"
#include "model.h"

/* The domain of the nodes that recognisers make; ops_crescent.c translates them. */
#define CR_ONNX_CRESCENT "crescent"

enum { CR_ONNX_RANK = 8, CR_ONNX_NONE = -1 };

/* A value: an input, an initializer, or what a node gives. */
struct cr_onnx_value {
    const char *name;       /* ONNX's own */
    enum cr_onnx_type type; /* of its elements; CR_ONNX_UNDEFINED before cr_onnx_infer */
    int rank;               /* -1 before cr_onnx_infer */
    int64_t shape[CR_ONNX_RANK];
    const struct cr_onnx_tensor
        *tensor; /* its elements, if they are known: initializers, folded values */
    const struct cr_onnx_info *info; /* of an input of the model: its type and sizes as written */
    int producer;                    /* the node that gives it, or CR_ONNX_NONE */
    int by;                          /* 1 + what stands in its place: see cr_onnx_replace; or 0 */
    int users; /* see cr_onnx_users */
    bool is_input, is_output;
    bool folded; /* its tensor was computed, or is written down: no weight */
};

/* A node.  An input that is left out is CR_ONNX_NONE, and so is an output. */
struct cr_onnx_node {
    const char *op, *domain, *name; /* "LayerNormalization", "" for ai.onnx, "/h.0/ln_1/Add" */
    const char *scope; /* metadata "pkg.torch.onnx.name_scopes" as it stands there, or "" */
    int version;       /* of its domain's operators: 17 */
    int *inputs, *outputs, n_inputs, n_outputs;
    const struct cr_onnx_attribute *attributes;
    int n_attributes;
    const struct cr_onnx_names *names; /* what names mean to graphs in its attributes */
    const char **mistyped; /* where an attribute is named that was read as another type, or null */
    bool dead; /* passes mark what they replaced; cr_onnx_sweep removes it */
};

struct cr_onnx_graph {
    const char *path; /* for messages; the model's */
    struct cr_arena arena;
    struct cr_elements elements;
    struct cr_onnx_value *values;
    struct cr_onnx_node *nodes;
    int n_values, cap_values, n_nodes, cap_nodes;
    int *inputs, *outputs, n_inputs, n_outputs;
    const char **output_names;
    const struct cr_onnx_model *model;
};

/* Of a model, whose functions are inlined.  The model has to live as long. */
int cr_onnx_graph_make(struct cr_onnx_graph *graph, const struct cr_onnx_model *model,
                       struct cr_error *error);
void cr_onnx_graph_free(struct cr_onnx_graph *graph);

/* Nodes of a graph in an attribute of a node, behind all others; its inputs are values that are there, and
 * what its outputs are comes to `outputs`.  CR_ONNX_NONE among the inputs: a value of its own. */
int cr_onnx_inline(struct cr_onnx_graph *graph, const struct cr_onnx_node *node,
                   const struct cr_onnx_body *body, const char *prefix, const int *inputs,
                   int *outputs, struct cr_error *error);

/* The value of a name where the names hold, or outside of it; or CR_ONNX_NONE. */
int cr_onnx_named(const struct cr_onnx_names *names, const char *name);

/* A further value; its name is made from the text and is no other value's. */
int cr_onnx_new_value(struct cr_onnx_graph *graph, const char *name);

/* A further node behind all others, with room for its inputs and outputs (all CR_ONNX_NONE), of the
 * newest version of its domain.  Pointers to nodes are void then.  cr_onnx_sweep puts it in its place. */
struct cr_onnx_node *cr_onnx_new_node(struct cr_onnx_graph *graph, const char *domain,
                                      const char *op, int n_inputs, int n_outputs);

/* A node gives a value as one of its outputs. */
void cr_onnx_give(struct cr_onnx_graph *graph, int node, int output, int value);

/* A node reads a value as one of its inputs from now on.  Passes change inputs by this and by
 * cr_onnx_replace alone, so that users stay counted. */
void cr_onnx_read(struct cr_onnx_graph *graph, int node, int input, int value);

/* Marks a node as dead. */
void cr_onnx_kill(struct cr_onnx_graph *graph, int node);

/* Everything that reads a value reads another one from now on, also the outputs of the model, and what is
 * inlined later. */
void cr_onnx_replace(struct cr_onnx_graph *graph, int value, int by);

/* What stands in the place of a value: itself if nothing does. */
int cr_onnx_standing(const struct cr_onnx_graph *graph, int value);

/* Removes dead nodes, and those whose outputs nobody reads; puts the others in order. */
int cr_onnx_sweep(struct cr_onnx_graph *graph, struct cr_error *error);

/* How many inputs of nodes that are not dead, and outputs of the model, are this value.  For passes: the
 * first cr_onnx_sweep counts. */
int cr_onnx_users(const struct cr_onnx_graph *graph, int value);

/* The attribute of a name, or null. */
const struct cr_onnx_attribute *cr_onnx_attribute(const struct cr_onnx_node *node,
                                                  const char *name);
/* The same; that it is of another type is noted in *node->mistyped. */
const struct cr_onnx_attribute *cr_onnx_typed(const struct cr_onnx_node *node, const char *name,
                                              enum cr_onnx_kind kind);
int64_t cr_onnx_integer(const struct cr_onnx_node *node, const char *name, int64_t otherwise);
double cr_onnx_real(const struct cr_onnx_node *node, const char *name, double otherwise);

/* A value whose elements are known: a copy of what is given. */
int cr_onnx_known(struct cr_onnx_graph *graph, const char *name, enum cr_onnx_type type, int rank,
                  const int64_t *shape, const double *data);

/* Adds attributes to a node that a pass made. */
void cr_onnx_set_integer(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                         int64_t value);
void cr_onnx_set_integers(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                          int n, const int64_t *values);
void cr_onnx_set_real(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                      double value);

/* The only element of a known value of one element; false if it is none. */
bool cr_onnx_scalar(const struct cr_onnx_graph *graph, int value, double *out);

/* A node as a message names it: "Conv (/layer1/conv1)". */
const char *cr_onnx_show(const struct cr_onnx_node *node, char *buf, size_t size);

/*
 * Passes: each rewrites the graph where it finds what it looks for; shapes are known, and what can be
 * computed is a value with a tensor.  A row in passes[] of import.c, a file each.
 */
typedef int cr_onnx_pass(struct cr_onnx_graph *graph, struct cr_error *error);

#endif
