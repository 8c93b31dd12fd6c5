/* title_parts.h - the parts that distinguish the titles of similar kernels. */
#ifndef CR_TITLE_PARTS_H
#define CR_TITLE_PARTS_H

#include "compiler/ir/text.h"
#include "compiler/passes/module/module.h"

/* The parts of a title, as bits, in the order in which they are tried. */
enum {
    CR_TITLE_OP = 1 << 0,      /* the op of the result, such as ".add", if the result has no name */
    CR_TITLE_COPY = 1 << 1,    /* ".copy", if the kernel only moves elements */
    CR_TITLE_ROLE = 1 << 2,    /* the role of the result as an operand of an attention, such as
                                  ".query" */
    CR_TITLE_WEIGHTS = 1 << 3, /* the scope of the kernel's weights, in place of the node's own
                                  scope */
    CR_TITLE_WINDOW = 1 << 4,  /* ".window", if keys far before a query are hidden from it */
    CR_TITLE_LAYER = 1 << 5,   /* the number of the layer, if all calls of the function are in one
                                  layer */
    CR_TITLE_STEPS = 1 << 6,   /* the ops of the program, such as ".neg.mul.fma", if they are few */
    CR_TITLE_SHAPE = 1 << 7,   /* the shape of the result or, if that is a scalar, of the first
                                  operand */
    CR_TITLE_END = 1 << 8
};

/* Returns a list by node: the name of the operand as which an attention reads it, "query", "key" or
 * "value"; or null.  The source of a kernel that only copies has the role of the copy.  The caller
 * frees the list. */
const char **cr_find_roles(const struct cr_module *m);

/* True if a kernel computes nothing, and only moves elements. */
bool cr_is_copy(const struct cr_kernel *kernel);

/* Returns the name of the parameter by which a kernel multiplies, or null. */
const char *cr_weights_name(const struct cr_module *m, const struct cr_kernel *kernel);

/* Appends the op of node `root`.  If the op is a reduction, and the kernel also computes the
 * operand, appends the operand's op first. */
void cr_put_op(struct cr_text *title, const struct cr_module *m, cr_id root);

/* Appends ".window" if the first keys are hidden from some query of an attention. */
void cr_put_window(struct cr_text *title, const struct cr_kernel *kernel);

/* Appends the ops of a kernel's program; returns false if there are too many. */
bool cr_put_steps(struct cr_text *title, const struct cr_kernel *kernel);

/* Appends the shape of a kernel's result or, if that is a scalar, of its first operand that is not
 * a scalar. */
void cr_put_shape(struct cr_text *title, const struct cr_module *m, const struct cr_kernel *kernel);

/* Replaces the dot before each number in a title, so that the number is kept with its word:
 * "h.3.attn" becomes "h_3.attn". */
void cr_keep_numbers(char *title);

#endif
