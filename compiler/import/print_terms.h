/* print_terms.h - prints terms as Lua text, and makes names for values. */
#ifndef CR_ONNX_PRINT_TERMS_H
#define CR_ONNX_PRINT_TERMS_H

#include "compiler/ir/hash.h"
#include "compiler/ir/text.h"
#include "term.h"

/* The Lua table whose fields replace local variables if a function would have too many. */
#define CR_PRINT_TABLE "values"

/* Returns an unused name and marks it as used: `name` itself, or `name` with _2, _3, ...
 * appended. */
const char *cr_take_name(struct cr_arena *arena, struct cr_names *taken, const char *name);

/* A weight of the script: a tensor of the model, or elements that were computed. */
struct cr_script_weight {
    const char *name; /* the name of the parameter */
    enum cr_onnx_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    const struct cr_onnx_tensor *tensor;
    const double *data; /* its elements if `tensor` is null */
    const char *local;  /* for computed elements: the Lua name of the variable that holds them, or
                           null */
};

/* The subterms of the term that is being printed: a hash table. */
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
    struct cr_names locals, names; /* the names in use: Lua identifiers, and names of parameters and
                                      inputs */
    const char **value_names;      /* by value: its Lua name, or null as long as it has none */
    const char **public_names;     /* by value: the name of the input or parameter, or null */
    struct cr_script_weight *weights;
    int n_weights, cap_weights;
    struct cr_parts parts;
    const int *length_values; /* by length: the value that stands for it */
    int n_lengths;
    const char *scope; /* the path of the scope whose function is being printed, "h.0.", or null
                          outside of functions */
    int n_locals;
    bool in_table; /* values are fields of a table rather than locals, as Lua has at most 200
                      locals */
};

/* The operator of which a term is an operand, from loosest to tightest binding. */
enum cr_precedence {
    CR_BINDS_NOT,
    CR_BINDS_SUM,
    CR_BINDS_PRODUCT,
    CR_BINDS_SIGN,
    CR_BINDS_POWER,
    CR_BINDS_ALL
};

/* Appends a term to a text; `around` is the operator that the term is an operand of.  Call
 * cr_print_parts before, which names subterms that are used several times. */
void cr_print_term(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around);

/* Prints definitions of the subterms that occur several times in a term; their names begin with
 * `name`. */
void cr_print_parts(struct cr_printer *p, cr_t x, const char *name, int indent);

/* If a term is known elements that become a weight, prints its definition in front of the function
 * that reads it: inside the function, the parameter's name would be prefixed with the function's
 * scope. */
void cr_print_shared_data(struct cr_printer *p, cr_t x);

/* Returns the name that cr_print_shared_data gave to a term's known elements, or null. */
const char *cr_shared_data_name(const struct cr_printer *p, cr_t x);

/* Prints a line that defines a name: a local variable, or a field of the table if there are too
 * many locals. */
void cr_print_definition(struct cr_printer *p, int indent, const char *name, const char *value);

/* Returns a shape as Lua text, with the names of lengths. */
const char *cr_sizes_text(struct cr_printer *p, int rank, const int64_t *shape,
                          const signed char *lengths);

/* Returns the text that reads a value: its Lua name, or param(...), which adds the weight to the
 * script's weights. */
const char *cr_value_text(struct cr_printer *p, int value);

/* Returns an unused name for an input, an output or a weight, with characters that the language
 * allows. */
const char *cr_public_name(struct cr_printer *p, const char *name);

/* Returns an unused Lua identifier made from a name of ONNX: "h_0_add" for "/h.0/Add_output_0". */
const char *cr_local_name(struct cr_printer *p, const char *name);

#endif
