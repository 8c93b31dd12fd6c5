/* ops_arguments.h - what a node passes to the function of its operator's row; see ops.def. */
#ifndef CR_ONNX_OPS_ARGUMENTS_H
#define CR_ONNX_OPS_ARGUMENTS_H

#include "ops.h"

enum { CR_MOST_ARGUMENTS = 64 };

enum cr_op_argument_kind {
    CR_ARGUMENT_NIL,     /* a tensor that is left out */
    CR_ARGUMENT_TENSOR,
    CR_ARGUMENT_TENSORS, /* all inputs of the node */
    CR_ARGUMENT_NUMBERS,
    CR_ARGUMENT_TEXTS,
    CR_ARGUMENT_TRUTHS
};

/* An argument: an operand, or an option. */
struct cr_op_argument {
    enum cr_op_argument_kind kind;
    const char *option; /* the name of an option; null for an operand */
    bool is_list;       /* else it is the first of its n values */
    int64_t n;
    const cr_t *terms;
    const double *numbers; /* some may be symbols */
    const char *const *texts;
    const bool *truths;
};

/* The arguments of a call, first the operands. */
struct cr_op_arguments {
    struct cr_op_argument items[CR_MOST_ARGUMENTS];
    int n, n_operands;
    bool has_options;  /* the row has some */
    bool only_shape;   /* the function has the option `only_shape` */
    const char *empty; /* the elements of a result of operands without elements, or null */
    unsigned no_size;  /* a bit for each axis of the result that has size 0 */
};

/* Reads the inputs and the attributes of t->node that the row lists.  Operands at the end that are left out
 * are dropped if there are no options. */
void cr_op_arguments_read(struct cr_translation *t, const struct cr_onnx_op *op, struct cr_op_arguments *a);

#endif
