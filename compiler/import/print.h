/* print.h - terms as text of Lua, and names for what they define. */
#ifndef CR_ONNX_PRINT_H
#define CR_ONNX_PRINT_H

#include "compiler/ir/text.h"
#include "term.h"

/* The table whose fields names are where Lua has not enough locals. */
#define CR_PRINT_TABLE "values"

/* Names that are taken, of Lua's identifiers or of parameters and inputs. */
struct cr_taken {
    const char **items; /* a hash table */
    int n, cap;
};

/* A name that is not taken yet, and is from now on: with _2, _3 ... behind it. */
const char *cr_take_name(struct cr_arena *arena, struct cr_taken *taken, const char *name);
void cr_taken_free(struct cr_taken *taken);

/* A weight of the script: a tensor of the model, or elements that were computed. */
struct cr_script_weight {
    const char *name; /* of the parameter */
    enum cr_onnx_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    const struct cr_onnx_tensor *tensor;
    const double *data; /* if `tensor` is null */
    const char *local;  /* of such a weight: the name of Lua that holds it, or null */
};

/* The parts of a term that is being printed: a hash table. */
struct cr_parts {
    struct part *items;
    int n, cap;
};

/* A script on its way. */
struct cr_printer {
    struct cr_onnx_graph *graph;
    struct cr_arena *arena;
    struct cr_error *error;
    struct cr_text text;
    struct cr_taken locals, names; /* Lua's, and the model's */
    const char **value_names;      /* of Lua, by value; null: not yet */
    const char **public_names;     /* of inputs and weights, by value; null: not yet */
    struct cr_script_weight *weights;
    int n_weights, cap_weights;
    struct cr_parts parts;
    const int *length_values; /* by length: the value that it is */
    int n_lengths;
    const char *scope; /* "h.0." within a function whose scope this is, or null */
    int n_locals;
    bool in_table; /* names are fields of a table, as Lua has at most 200 locals */
};

/* What is around an operand, from loosest to tightest. */
enum cr_precedence {
    CR_BINDS_NOT,
    CR_BINDS_SUM,
    CR_BINDS_PRODUCT,
    CR_BINDS_SIGN,
    CR_BINDS_POWER,
    CR_BINDS_ALL
};

/* Appends a term to a text.  Parts that are used several times have to be named before: see
 * cr_print_parts. */
void cr_print_term(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around);

/* Lines for the parts of a term that it uses several times, which get names that begin with `name`. */
void cr_print_parts(struct cr_printer *p, cr_t x, const char *name, int indent);

/* A line for known elements that become a weight, before the function that reads them, as a parameter of
 * the function would be one in its scope.  Of other terms nothing. */
void cr_print_shared_data(struct cr_printer *p, cr_t x);

/* The name that such a line gave known elements, or null. */
const char *cr_shared_data_name(const struct cr_printer *p, cr_t x);

/* A line that defines a local name, or a field of the table. */
void cr_print_definition(struct cr_printer *p, int indent, const char *name, const char *value);

/* Shapes as the script says them: lengths by their names. */
const char *cr_sizes_text(struct cr_printer *p, int rank, const int64_t *shape,
                          const signed char *lengths);

/* How a value is read: by its local name, or param(...) of a weight, which becomes one of the script. */
const char *cr_value_text(struct cr_printer *p, int value);

/* The name of an input, an output or a weight as the language allows it, and no other has. */
const char *cr_public_name(struct cr_printer *p, const char *name);

/* An identifier of Lua from a name of ONNX, "h_0_add" of "/h.0/Add_output_0"; no other has it. */
const char *cr_local_name(struct cr_printer *p, const char *name);

#endif
