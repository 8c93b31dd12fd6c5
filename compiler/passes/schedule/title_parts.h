/* title_parts.h - what tells the titles of similar kernels apart: the parts that a title may have. */
#ifndef CR_TITLE_PARTS_H
#define CR_TITLE_PARTS_H

#include "compiler/ir/text.h"
#include "compiler/passes/module/module.h"

/* The parts, as bits, in the order in which they are tried. */
enum {
    CR_TITLE_OP = 1 << 0,      /* the op of the result, as ".add", if it has no name */
    CR_TITLE_COPY = 1 << 1,    /* ".copy", if the kernel only moves elements */
    CR_TITLE_ROLE = 1 << 2,    /* the operand of an attention that it makes, as ".query" */
    CR_TITLE_WEIGHTS = 1 << 3, /* the scope of the weights in place of its own */
    CR_TITLE_WINDOW = 1 << 4,  /* ".window", if a query sees no keys far before it */
    CR_TITLE_LAYER = 1 << 5,   /* the number of the layer, if all calls are in that one */
    CR_TITLE_STEPS = 1 << 6,   /* the ops of its program, as ".neg.mul.fma", if they are few */
    CR_TITLE_SHAPE = 1 << 7,   /* the shape of the result or, of a scalar, of the first operand */
    CR_TITLE_END = 1 << 8
};

/* Returns, by node, the operand that an attention reads it as: "query", "key" or "value"; or null.
 * What a kernel copies has the role of the copy.  The caller frees it. */
const char **cr_find_roles(const struct cr_module *m);

/* True if a kernel only moves elements. */
bool cr_is_copy(const struct cr_kernel *kernel);

/* Returns the name of the parameter that a kernel multiplies by, or null. */
const char *cr_weights_name(const struct cr_module *m, const struct cr_kernel *kernel);

/* Appends the op of a node.  In front of a reduction's op it appends the op of the operand, if the
 * kernel computes the operand, too. */
void cr_put_op(struct cr_text *title, const struct cr_module *m, cr_id root);

/* Appends ".window" if some query of an attention does not see the first keys. */
void cr_put_window(struct cr_text *title, const struct cr_kernel *kernel);

/* Appends the ops of a kernel; returns false if there are too many. */
bool cr_put_steps(struct cr_text *title, const struct cr_kernel *kernel);

/* Appends the shape of a kernel's result or, if that is a scalar, of its first operand that is not
 * a scalar. */
void cr_put_shape(struct cr_text *title, const struct cr_module *m, const struct cr_kernel *kernel);

/* Ties the numbers in a title to the words before them, so that they are kept: "h.3.attn" becomes "h_3.attn". */
void cr_keep_numbers(char *title);

#endif
