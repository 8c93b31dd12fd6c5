/*
 * graph.h - the graph of an ONNX model: made from its file, translated into a script.
 *
 * Values have numbers.  Nodes are in topological order.  Functions and branches of `If` are
 * inlined. Everything lives until cr_onnx_graph_free, except that elements
 * of known values may be freed before (constant_arrays.h).
 */
#ifndef CR_ONNX_GRAPH_H
#define CR_ONNX_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "constant_arrays.h"
#include "model_proto.h"
#include "symbols.h"

/* The domain of the nodes that recognisers make; ops_crescent.def has a row for each. */
#define CR_ONNX_CRESCENT "crescent"

enum { CR_ONNX_RANK = 8, CR_ONNX_NONE = -1 };

/* A value: an input, an initializer, or an output of a node. */
struct cr_onnx_value {
    const char *name;       /* ONNX's own */
    enum cr_onnx_type type; /* type of its elements; CR_ONNX_UNDEFINED before cr_onnx_infer */
    int rank;               /* -1 before cr_onnx_infer */
    int64_t shape[CR_ONNX_RANK]; /* sizes may be symbols */
    const struct cr_onnx_tensor
        *tensor; /* its elements, if they are known: initializers, folded values */
    const struct cr_onnx_info *info; /* for an input of the model: its type and sizes in the file */
    int producer;                    /* the node that outputs it, or CR_ONNX_NONE */
    int by;                          /* 1 + the value that replaces it (cr_onnx_replace), or 0 */
    int users; /* see cr_onnx_users */
    int uses;  /* 1 + the number of its first cr_onnx_use, or 0 */
    bool is_input, is_output;
    bool folded; /* its tensor was computed, or is a constant node of the model: it is not a
                    weight */
};

/* A node.  An input that is left out is CR_ONNX_NONE, and so is an output. */
struct cr_onnx_node {
    const char *op, *domain, *name; /* "LayerNormalization", "" for ai.onnx, "/h.0/ln_1/Add" */
    const char *scope; /* the text of the metadata "pkg.torch.onnx.name_scopes", or "" */
    int version;       /* the version of its domain's operators: 17 */
    int *inputs, *outputs, n_inputs, n_outputs;
    const struct cr_onnx_attribute *attributes;
    int n_attributes;
    const struct cr_onnx_names *names; /* resolves names in graphs of its attributes */
    const char **mistyped; /* set to the name of an attribute read as another type; or null */
    bool dead; /* replaced by a pass; cr_onnx_sweep removes it */
};

/* An input of a node that was set to a value, and may have been set to another one since. */
struct cr_onnx_use {
    int node, input;
    int next; /* 1 + the number of the value's next use, or 0 */
};

struct cr_onnx_graph {
    const char *path; /* for messages; the model's */
    struct cr_arena arena;
    struct cr_elements elements;
    struct cr_onnx_value *values;
    struct cr_onnx_node *nodes;
    struct cr_onnx_use *uses;
    int n_values, cap_values, n_nodes, cap_nodes, n_uses, cap_uses;
    int *inputs, *outputs, n_inputs, n_outputs;
    const char **output_names;
    bool is_swept; /* nothing has changed since the last cr_onnx_sweep */
    const struct cr_onnx_model *model;
    struct cr_onnx_names *names; /* the scope that was made last */
    struct cr_symbols *symbols; /* the lengths, and the numbers that depend on them; the caller may set others */
};

/* Makes the graph of a model, with its functions inlined.  The model has to outlive the graph. */
int cr_onnx_graph_make(struct cr_onnx_graph *graph, const struct cr_onnx_model *model,
                       struct cr_error *error);
void cr_onnx_graph_free(struct cr_onnx_graph *graph);

/* Appends the nodes of a graph that is an attribute of a node.  Its inputs become the values
 * `inputs`, or a new value for CR_ONNX_NONE.  Sets `outputs` to the values of its outputs. */
int cr_onnx_inline(struct cr_onnx_graph *graph, const struct cr_onnx_node *node,
                   const struct cr_onnx_body *body, const char *prefix, const int *inputs,
                   int *outputs, struct cr_error *error);

/* Returns the value of a name in the scope or an outer one, or CR_ONNX_NONE. */
int cr_onnx_named(const struct cr_onnx_names *names, const char *name);

/* Adds a value; its name is the text, made unique. */
int cr_onnx_new_value(struct cr_onnx_graph *graph, const char *name);

/* Appends a node of the newest version of its domain, with all inputs and outputs CR_ONNX_NONE.
 * Invalidates pointers to nodes.  cr_onnx_sweep moves it to its place in the order. */
struct cr_onnx_node *cr_onnx_new_node(struct cr_onnx_graph *graph, const char *domain,
                                      const char *op, int n_inputs, int n_outputs);

/* Makes a value an output of a node. */
void cr_onnx_set_output(struct cr_onnx_graph *graph, int node, int output, int value);

/* Makes a value an input of a node.  Inputs change only by this and cr_onnx_replace, so that uses are
 * found and users stay counted. */
void cr_onnx_set_input(struct cr_onnx_graph *graph, int node, int input, int value);

/* Marks a node as dead. */
void cr_onnx_mark_dead(struct cr_onnx_graph *graph, int node);

/* Replaces a value by another one in nodes, the model's outputs, and graphs inlined later. */
void cr_onnx_replace(struct cr_onnx_graph *graph, int value, int by);

/* Returns the value that replaces a value, or the value itself. */
int cr_onnx_replacement(const struct cr_onnx_graph *graph, int value);

/* Removes dead nodes and those whose outputs are unused; sorts the others topologically.  Does nothing if
 * no function above has changed the graph since the last time. */
int cr_onnx_sweep(struct cr_onnx_graph *graph, struct cr_error *error);

/* Returns how many inputs of live nodes and outputs of the model are this value.  Valid after the
 * first cr_onnx_sweep. */
int cr_onnx_users(const struct cr_onnx_graph *graph, int value);

/* Returns a live node that reads a value, or CR_ONNX_NONE. */
int cr_onnx_user(const struct cr_onnx_graph *graph, int value);

/* Returns the attribute of a name, or null. */
const struct cr_onnx_attribute *cr_onnx_attribute(const struct cr_onnx_node *node,
                                                  const char *name);
/* Returns the attribute of a name, or null if it is missing or not of `kind`; in the latter case
 * sets *node->mistyped to the name. */
const struct cr_onnx_attribute *cr_onnx_typed(const struct cr_onnx_node *node, const char *name,
                                              enum cr_onnx_kind kind);
int64_t cr_onnx_integer(const struct cr_onnx_node *node, const char *name, int64_t otherwise);
double cr_onnx_real(const struct cr_onnx_node *node, const char *name, double otherwise);

/* Adds a value with known elements, a copy of `data`. */
int cr_onnx_known(struct cr_onnx_graph *graph, const char *name, enum cr_onnx_type type, int rank,
                  const int64_t *shape, const double *data);

/* Adds attributes to a node that a pass made. */
void cr_onnx_set_integer(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                         int64_t value);
void cr_onnx_set_integers(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                          int n, const int64_t *values);
void cr_onnx_set_real(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                      double value);

/* Returns the elements of a value that import has computed, or null if the file has them. */
const double *cr_onnx_computed(const struct cr_onnx_value *value);

/* Reads the only element of a known value; returns false if it is not known or has more
 * elements. */
bool cr_onnx_scalar(const struct cr_onnx_graph *graph, int value, double *out);

/* Writes the name of a node for messages to `buf`: "Conv (/layer1/conv1)". */
const char *cr_onnx_node_text(const struct cr_onnx_node *node, char *buf, size_t size);

/*
 * A pass: rewrites the graph where its patterns match.  Shapes are known; a value that can be
 * computed has a tensor.  Each pass is a row in passes[] of import.c.
 */
typedef void cr_onnx_pass(struct cr_onnx_graph *graph);

#endif
