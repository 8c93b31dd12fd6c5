/*
 * ops_attention.h - parts of attention for the operators of ONNX and of com.microsoft.
 *
 * The functions return null for a null operand, and refuse what the language does not have.
 */
#ifndef CR_ONNX_OPS_ATTENTION_H
#define CR_ONNX_OPS_ATTENTION_H

#include "ops.h"

/* A mask: `allowed` is true for visible keys, `bias` is added to scores; either may be null. */
struct cr_masking {
    cr_t allowed, bias;
};

/* Positions of queries and keys, [T, S].  Those of queries begin at an offset; they are [B, 1, T,
 * S] if each batch has its own. */
struct cr_positions {
    cr_t query, key;
};

/* [B, T, H d] to [B, H, T, d], and back. */
cr_t cr_split_heads(struct cr_translation *t, cr_t x, int64_t heads);
cr_t cr_merge_heads(struct cr_translation *t, cr_t x);

/* Repeats heads of keys or values [B, G, S, d], so that each head of queries has its own. */
cr_t cr_repeat_heads(struct cr_translation *t, cr_t x, int64_t heads);

/* The logical and of two boolean masks; either may be null. */
cr_t cr_both_masks(struct cr_translation *t, cr_t a, cr_t b);

/* Makes the positions of T queries and S keys.  Queries begin at `offset`, a term of B numbers, or
 * at `past` if it is null. */
struct cr_positions cr_positions_of(struct cr_translation *t, int64_t T, int64_t S, cr_t offset,
                                    double past);

/* softmax(q k^T scale + masks) v, with scores capped if cap > 0.  Sets *at_stage to the scores at a
 * stage: 0 to 3, or -1 for none. */
cr_t cr_attend(struct cr_translation *t, cr_t q, cr_t k, cr_t v, double scale, struct cr_masking m,
               double cap, int64_t stage, cr_t *at_stage);

/* Rotates the first 2 n elements of the last axis of x [B, H, T, d] by angles, whose cosines and
 * sines are [B or 1, T, n]. */
cr_t cr_rotate(struct cr_translation *t, cr_t x, cr_t cosines, cr_t sines, bool interleaved);

/* Rotates the node's first input by rows of tables [positions, n], or by tables [B, T, n]. */
void cr_rotary(struct cr_translation *t, cr_t positions, cr_t cosines, cr_t sines);

#endif
