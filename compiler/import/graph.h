/*
 * graph.h - the graph of an ONNX model, which is made from its file and translated into a script.
 *
 * Values and nodes are referred to by numbers.  Nodes are in topological order.  Functions and
 * branches of `If` are inlined.  All memory lives until cr_onnx_graph_free, except that elements of
 * known values may be freed before (constant_arrays.h).
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
    const char *name;       /* its name in the ONNX file */
    enum cr_onnx_type type; /* type of its elements; CR_ONNX_UNDEFINED before cr_onnx_infer */
    int rank;               /* -1 before cr_onnx_infer */
    int64_t shape[CR_ONNX_RANK]; /* sizes may be symbols */
    const struct cr_onnx_tensor
        *tensor; /* its elements, if they are known: an initializer or a folded value */
    const struct cr_onnx_info *info; /* for an input of the model: its type and sizes as the file
                                        declares them, else null */
    int producer;                    /* the node that outputs this value, or CR_ONNX_NONE */
    int by;                          /* 1 + the value that has replaced this one (cr_onnx_replace),
                                        or 0 */
    int users; /* the number that cr_onnx_users returns */
    int uses;  /* 1 + the index of its first item of the graph's `uses`, or 0 */
    bool is_input, is_output;
    bool folded; /* its tensor was computed or is a Constant of the model, so the value is not a
                    weight */
};

/* A node.  An omitted input or output is CR_ONNX_NONE. */
struct cr_onnx_node {
    const char *op, *domain, *name; /* "LayerNormalization", "" for ai.onnx, "/h.0/ln_1/Add" */
    const char *scope; /* the text of the metadata "pkg.torch.onnx.name_scopes", or "" */
    int version;       /* the version of the operator set of its domain: 17 */
    int *inputs, *outputs, n_inputs, n_outputs;
    const struct cr_onnx_attribute *attributes;
    int n_attributes;
    const struct cr_onnx_names *names; /* the scope that resolves names in the graphs of its
                                          attributes */
    const char **mistyped; /* *mistyped is the name of an attribute that was read as another type
                              than it has, or null */
    bool dead; /* replaced by a pass; cr_onnx_sweep removes it */
};

/* An entry of a value's list of uses: an input of a node that was set to the value.  It stays in
 * the list when the input is set to another value. */
struct cr_onnx_use {
    int node, input;
    int next; /* 1 + the number of the value's next use, or 0 */
};

struct cr_onnx_graph {
    const char *path; /* the path of the model, for messages */
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
    struct cr_onnx_names *names; /* the scope that was created last */
    struct cr_symbols *symbols; /* the lengths and the numbers that depend on them; the caller may
                                   replace the table */
};

/* Makes the graph of a model, with its functions inlined.  The model has to outlive the graph. */
int cr_onnx_graph_make(struct cr_onnx_graph *graph, const struct cr_onnx_model *model,
                       struct cr_error *error);
void cr_onnx_graph_free(struct cr_onnx_graph *graph);

/* Appends the nodes of `body`, a graph that is an attribute of a node.  The body's inputs become
 * the values `inputs`, or a new value where that is CR_ONNX_NONE.  Sets `outputs` to the values of
 * the body's outputs. */
int cr_onnx_inline(struct cr_onnx_graph *graph, const struct cr_onnx_node *node,
                   const struct cr_onnx_body *body, const char *prefix, const int *inputs,
                   int *outputs, struct cr_error *error);

/* Returns the value that a name has in a scope or in an outer one, or CR_ONNX_NONE. */
int cr_onnx_named(const struct cr_onnx_names *names, const char *name);

/* Adds a value and returns its number.  Its name is `name`, with a suffix if that is in use. */
int cr_onnx_new_value(struct cr_onnx_graph *graph, const char *name);

/* Appends a node of the newest version of its domain; all its inputs and outputs are CR_ONNX_NONE.
 * Invalidates pointers to nodes.  The next cr_onnx_sweep sorts it into the topological order. */
struct cr_onnx_node *cr_onnx_new_node(struct cr_onnx_graph *graph, const char *domain,
                                      const char *op, int n_inputs, int n_outputs);

/* Makes `value` output number `output` of a node. */
void cr_onnx_set_output(struct cr_onnx_graph *graph, int node, int output, int value);

/* Makes `value` input number `input` of a node.  Only this function and cr_onnx_replace may change
 * inputs, as they keep the uses and the number of users right. */
void cr_onnx_set_input(struct cr_onnx_graph *graph, int node, int input, int value);

/* Marks a node as dead: the next cr_onnx_sweep removes it. */
void cr_onnx_mark_dead(struct cr_onnx_graph *graph, int node);

/* Replaces `value` by `by` in the inputs of nodes, the model's outputs, and graphs that are inlined
 * later. */
void cr_onnx_replace(struct cr_onnx_graph *graph, int value, int by);

/* Returns the value that stands for `value` after all replacements, or `value` itself. */
int cr_onnx_replacement(const struct cr_onnx_graph *graph, int value);

/* Removes nodes that are dead or whose outputs are unused, and sorts the others topologically.
 * Does nothing if none of the functions above has changed the graph since the last sweep. */
int cr_onnx_sweep(struct cr_onnx_graph *graph, struct cr_error *error);

/* Returns the number of inputs of live nodes and outputs of the model that are this value.  Valid
 * after the first cr_onnx_sweep. */
int cr_onnx_users(const struct cr_onnx_graph *graph, int value);

/* Returns a live node that reads a value, or CR_ONNX_NONE. */
int cr_onnx_user(const struct cr_onnx_graph *graph, int value);

/* Returns the attribute `name` of a node, or null. */
const struct cr_onnx_attribute *cr_onnx_attribute(const struct cr_onnx_node *node,
                                                  const char *name);
/* Returns the attribute `name` of a node, or null if it is missing or not of `kind`.  In the latter
 * case sets *node->mistyped to the name. */
const struct cr_onnx_attribute *cr_onnx_typed(const struct cr_onnx_node *node, const char *name,
                                              enum cr_onnx_kind kind);
int64_t cr_onnx_integer(const struct cr_onnx_node *node, const char *name, int64_t otherwise);
double cr_onnx_real(const struct cr_onnx_node *node, const char *name, double otherwise);

/* Adds a value whose elements are known, a copy of `data`; returns its number. */
int cr_onnx_known(struct cr_onnx_graph *graph, const char *name, enum cr_onnx_type type, int rank,
                  const int64_t *shape, const double *data);

/* Adds attributes to a node that a pass made. */
void cr_onnx_set_integer(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                         int64_t value);
void cr_onnx_set_integers(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                          int n, const int64_t *values);
void cr_onnx_set_real(struct cr_onnx_graph *graph, struct cr_onnx_node *node, const char *name,
                      double value);

/* Returns the elements of a value if import has computed them; null if they are still in the file's
 * encoding. */
const double *cr_onnx_computed(const struct cr_onnx_value *value);

/* Reads the only element of a known value; returns false if it is not known or has more
 * elements. */
bool cr_onnx_scalar(const struct cr_onnx_graph *graph, int value, double *out);

/* Writes the name of a node for messages to `buf`: "Conv (/layer1/conv1)". */
const char *cr_onnx_node_text(const struct cr_onnx_node *node, char *buf, size_t size);

/*
 * A pass rewrites the graph where its pattern matches.  When it runs, shapes are known, and each
 * value that can be computed has a tensor.  onnx_passes.c lists the passes in their order.
 */
typedef void cr_onnx_pass(struct cr_onnx_graph *graph);

#endif
