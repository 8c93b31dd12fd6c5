/*
 * ops_attention.h - the parts of attention that ONNX's operators and those of com.microsoft share.
 *
 * A null operand gives null, as for all terms; what cannot be said is refused.
 */
#ifndef CR_ONNX_OPS_ATTENTION_H
#define CR_ONNX_OPS_ATTENTION_H

#include "ops.h"

/* What may be attended to, and what is added to scores: either may be null. */
struct cr_masking {
    cr_t allowed, bias;
};

/* Positions of queries, from an offset on, and of keys: [T, S], or [B, 1, T, S] if the offset is by
 * batch. */
struct cr_positions {
    cr_t query, key;
};

/* [B, T, H d] to [B, H, T, d], and back. */
cr_t cr_split_heads(struct cr_translation *t, cr_t x, int64_t heads);
cr_t cr_merge_heads(struct cr_translation *t, cr_t x);

/* Heads of keys or values [B, G, S, d] that several heads of queries share, one for each. */
cr_t cr_repeat_heads(struct cr_translation *t, cr_t x, int64_t heads);

/* Both of two masks of booleans; either may be null. */
cr_t cr_both_masks(struct cr_translation *t, cr_t a, cr_t b);

/* The offset is a term of B numbers, or else `past`. */
struct cr_positions cr_positions_of(struct cr_translation *t, int64_t T, int64_t S, cr_t offset,
                                    double past);

/* softmax(q k^T scale + masks) v, with scores capped if cap > 0; scores as they are at a stage (0 to
 * 3; -1 for none) come to `at_stage`. */
cr_t cr_attend(struct cr_translation *t, cr_t q, cr_t k, cr_t v, double scale, struct cr_masking m,
               double cap, int64_t stage, cr_t *at_stage);

/* x [B, H, T, d], of whose last axis the first 2 n are turned by angles whose cosines and sines are
 * [B or 1, T, n]. */
cr_t cr_rotate(struct cr_translation *t, cr_t x, cr_t cosines, cr_t sines, bool interleaved);

/* The node's first input turned by rows of tables [positions, n], or by tables [B, T, n]. */
void cr_rotary(struct cr_translation *t, cr_t positions, cr_t cosines, cr_t sines);

#endif
