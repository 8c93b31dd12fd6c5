/* ops_arguments.h - reads from a node the arguments of its operator's function, as the row in
 * ops.def lists them. */
#ifndef CR_ONNX_OPS_ARGUMENTS_H
#define CR_ONNX_OPS_ARGUMENTS_H

#include "ops.h"

enum { CR_MOST_ARGUMENTS = 64 };

enum cr_op_argument_kind {
    CR_ARGUMENT_NIL,     /* an omitted tensor */
    CR_ARGUMENT_TENSOR,
    CR_ARGUMENT_TENSORS, /* all inputs of the node */
    CR_ARGUMENT_NUMBERS,
    CR_ARGUMENT_TEXTS,
    CR_ARGUMENT_TRUTHS
};

/* An argument: an operand, or an option. */
struct cr_op_argument {
    enum cr_op_argument_kind kind;
    const char *option; /* the name of the option; null for an operand */
    bool is_list;       /* a list of `n` values; if false, the first of the values alone */
    int64_t n;
    const cr_t *terms;
    const double *numbers; /* the numbers, of which some may be symbols */
    const char *const *texts;
    const bool *truths;
};

/* The arguments of a call: first the operands, then the options. */
struct cr_op_arguments {
    struct cr_op_argument items[CR_MOST_ARGUMENTS];
    int n, n_operands;
    bool has_options;  /* the function takes a table of options */
    bool only_shape;   /* the function has the option `only_shape` */
    const char *empty; /* the number that all elements of the result are if operands have no
                          elements, or null */
    bool is_int32;     /* an i32 result has the type int32 */
    unsigned no_size;  /* bit a is set if axis a of the result has size 0 */
};

/* Reads the inputs and the attributes of t->node that the row lists.  If there are no options,
 * omitted operands at the end are left out of the call. */
void cr_op_arguments_read(struct cr_translation *t, const struct cr_onnx_op *op, struct cr_op_arguments *a);

#endif
