/* print_terms.h - prints terms as Lua text, and makes names for values. */
#ifndef CR_ONNX_PRINT_TERMS_H
#define CR_ONNX_PRINT_TERMS_H

#include "compiler/ir/hash.h"
#include "compiler/ir/text.h"
#include "term.h"

/* The Lua table whose fields replace local variables if a function would have too many. */
#define CR_PRINT_TABLE "values"

/* Returns and takes a name that is not in use: the name itself, or with _2, _3, ... appended. */
const char *cr_take_name(struct cr_arena *arena, struct cr_names *taken, const char *name);

/* A weight of the script: a tensor of the model, or elements that were computed. */
struct cr_script_weight {
    const char *name; /* of the parameter */
    enum cr_onnx_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    const struct cr_onnx_tensor *tensor;
    const double *data; /* its elements if `tensor` is null */
    const char *local;  /* if `tensor` is null: the Lua name that holds it, or null */
};

/* The parts of a term that is being printed: a hash table. */
struct cr_parts {
    struct part *items;
    int n, cap;
};

/* The state of printing a script. */
struct cr_printer {
    struct cr_onnx_graph *graph;
    struct cr_arena *arena;
    struct cr_error *error;
    struct cr_text text;
    struct cr_names locals, names; /* in use: identifiers of Lua; parameters and inputs */
    const char **value_names;      /* by value: its Lua name, or null if it has none yet */
    const char **public_names;     /* by value: the name of the input or the weight that it is,
                                      or null */
    struct cr_script_weight *weights;
    int n_weights, cap_weights;
    struct cr_parts parts;
    const int *length_values; /* by length: its value */
    int n_lengths;
    const char *scope; /* inside a function: the path of its scope, "h.0."; else null */
    int n_locals;
    bool in_table; /* names are fields of a table, as Lua has at most 200 locals */
};

/* The operator around an operand, from loosest to tightest binding. */
enum cr_precedence {
    CR_BINDS_NOT,
    CR_BINDS_SUM,
    CR_BINDS_PRODUCT,
    CR_BINDS_SIGN,
    CR_BINDS_POWER,
    CR_BINDS_ALL
};

/* Appends a term to a text.  Call cr_print_parts before, to name parts used several times. */
void cr_print_term(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around);

/* Prints definitions of the parts that a term uses several times; their names begin with `name`. */
void cr_print_parts(struct cr_printer *p, cr_t x, const char *name, int indent);

/* If a term is known elements that become a weight, prints its definition before the function
 * that reads it: inside the function the name of the parameter would begin with the function's
 * scope. */
void cr_print_shared_data(struct cr_printer *p, cr_t x);

/* Returns the name that cr_print_shared_data gave known elements, or null. */
const char *cr_shared_data_name(const struct cr_printer *p, cr_t x);

/* Prints a line that defines a local name, or a field of the table. */
void cr_print_definition(struct cr_printer *p, int indent, const char *name, const char *value);

/* Returns a shape as Lua text, with lengths by their names. */
const char *cr_sizes_text(struct cr_printer *p, int rank, const int64_t *shape,
                          const signed char *lengths);

/* Returns the text that reads a value: its local name, or param(...) and adds the weight. */
const char *cr_value_text(struct cr_printer *p, int value);

/* Makes a unique name for an input, an output or a weight, as the language allows it. */
const char *cr_public_name(struct cr_printer *p, const char *name);

/* Makes a unique Lua identifier from a name of ONNX: "h_0_add" for "/h.0/Add_output_0". */
const char *cr_local_name(struct cr_printer *p, const char *name);

#endif
