/* attention.h - what the kernels of attention and of its gradients share. */
#ifndef CR_EMIT_ATTENTION_H
#define CR_EMIT_ATTENTION_H

#include "parts.h"

/* Where queries i to i + m have seen nothing yet: a maximum of -inf and a sum of 0. */
void cr_print_softmax_start(struct cr_printer *p);

/* Whether the mask says where the keys that a query sees end (or begin). */
bool cr_has_bound(const struct cr_kernel *k, bool upper);

/* The range of keys, first to last, that queries i to i + m see of `all`; narrowed under a
 * condition, "finite && " or "". */
void cr_print_key_range(struct cr_printer *p, const char *all, const char *condition);

/* "const int name": whether all of an operand, along these two atoms, is finite; nothing where no
 * key is hidden. */
void cr_print_finite(struct cr_printer *p, const char *name, const struct cr_operand *operand,
                     int row, int col);

/* In a block of keys by queries, gives what lies outside the bounds a value. */
void cr_print_hides(struct cr_printer *p, int indent, const char *block, const char *value);

/* An operand's rows and columns: atoms, and how many columns. */
struct cr_fetch {
    const struct cr_operand *operand;
    int row, col;
    int64_t cols;
};

/* Asks memory for rows i to i + m of what these operands are for the next head.  Heads lie in
 * many short rows, too far apart for the processor to foresee. */
void cr_print_fetches(struct cr_printer *p, int n, const struct cr_fetch *fetches);

/* "scores": of the keys from j on, n of them, and the queries from i on, m of them, which lie
 * packed in "queries".  Returns the positive number that logits are these times. */
double cr_print_score_block(struct cr_printer *p, int indent);

/* A program on that block, keys down and queries across, in the scratch of that name: from what is
 * there to what shall be. */
void cr_print_block_program(struct cr_printer *p, const struct cr_tiles *program, const char *where,
                            int indent);

#endif
