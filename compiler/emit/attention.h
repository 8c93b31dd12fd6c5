/* attention.h - what the kernels of attention and of its gradients share. */
#ifndef CR_EMIT_ATTENTION_H
#define CR_EMIT_ATTENTION_H

#include "parts.h"

/* Where queries i to i + m have seen nothing yet: a maximum of -inf and a sum of 0. */
void cr_print_softmax_start(struct cr_printer *p);

/* The range of keys, first to last, that queries i to i + m see of `all`. */
void cr_print_key_range(struct cr_printer *p, const char *all);

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
