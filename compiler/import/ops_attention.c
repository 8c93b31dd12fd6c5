/* ops_attention.c - attention and rotary positions of ONNX; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops_attention.h"

/* ---- heads ---- */

/* [B, T, H d] to [B, H, T, d]. */
cr_t cr_split_heads(struct cr_translation *t, cr_t x, int64_t heads)
{
    if (!x || x->rank != 3 || heads < 1 || x->shape[2] % heads)
        return cr_onnx_refuse(t, "found %lld heads of a tensor of %d axes, expected 3 axes and "
                              "heads that divide the last", (long long)heads, x ? x->rank : 0);
    int64_t B = x->shape[0], T = x->shape[1], d = x->shape[2] / heads;
    const int64_t shape[] = {B, heads, T, d};
    return cr_t_call(t, "attention.split_heads", x->type, 4, shape,
                     (struct cr_onnx_argument[]){
                         {x, NULL}, {NULL, cr_arena_print(t->arena, "%lld", (long long)heads)}},
                     2);
}

/* [B, H, T, d] to [B, T, H d]. */
cr_t cr_merge_heads(struct cr_translation *t, cr_t x)
{
    if (!x)
        return NULL;
    const int64_t shape[] = {x->shape[0], x->shape[2], x->shape[1] * x->shape[3]};
    return cr_t_call(t, "attention.merge_heads", x->type, 3, shape,
                     (struct cr_onnx_argument[]){{x, NULL}}, 1);
}

/* Repeats heads of keys or values, so that each head of queries has its own. */
cr_t cr_repeat_heads(struct cr_translation *t, cr_t x, int64_t heads)
{
    if (!x || x->shape[1] == heads)
        return x;
    if (x->shape[1] == 0 || heads % x->shape[1])
        return cr_onnx_refuse(t,
                              "found %lld heads of queries and %lld of keys, expected a multiple",
                              (long long)heads, (long long)x->shape[1]);
    int64_t G = x->shape[1], n = heads / G;
    cr_t wide = cr_t_reshape(t, x, 5, (int64_t[]){x->shape[0], G, 1, x->shape[2], x->shape[3]});
    wide = cr_t_expand(t, wide, 5, (int64_t[]){x->shape[0], G, n, x->shape[2], x->shape[3]});
    return cr_t_reshape(t, wide, 4, (int64_t[]){x->shape[0], heads, x->shape[2], x->shape[3]});
}

/* ---- masks ---- */

cr_t cr_both_masks(struct cr_translation *t, cr_t a, cr_t b)
{
    return a && b ? cr_t_binary(t, "logical_and", a, b) : a ? a : b;
}

struct cr_positions cr_positions_of(struct cr_translation *t, int64_t T, int64_t S, cr_t offset,
                                    double past)
{
    const int64_t shape[] = {T, S};
    struct cr_positions p = {cr_t_iota(t, 2, shape, 0), cr_t_iota(t, 2, shape, 1)};
    p.query = offset ? cr_t_binary(t, "+", p.query, cr_gather_axis(t, offset, 4, 0))
                     : cr_t_with(t, "+", p.query, past);
    return p;
}

/* Pads a mask that is shorter than the keys: the other keys are hidden. */
static cr_t pad_mask(struct cr_translation *t, cr_t mask, int64_t S)
{
    if (!mask || mask->rank < 1)
        return mask;
    int64_t more = S - mask->shape[mask->rank - 1];
    bool is_bool = mask->type == CR_ONNX_BOOL;
    if (more <= 0 || mask->shape[mask->rank - 1] == 1)
        return mask;
    if (is_bool && !mask->data)
        return cr_t_cast(t,
                         cr_t_pad(t, cr_t_cast(t, mask, CR_ONNX_INT32), mask->rank - 1, 0, more, 0),
                         CR_ONNX_BOOL);
    return cr_t_pad(t, mask, mask->rank - 1, 0, more, is_bool ? 0 : -INFINITY);
}

/* Combines all masks: the input, causality, windows, and the lengths of keys. */
static struct cr_masking masking_of(struct cr_translation *t, int64_t T, int64_t S, double past)
{
    cr_t mask = pad_mask(t, cr_input(t, 3), S), lengths = cr_input(t, 6);
    int64_t left = cr_onnx_integer(t->node, "left_window_size", -1),
            right = cr_onnx_integer(t->node, "right_window_size", -1);
    struct cr_masking m = {NULL, NULL};
    if (mask && mask->type == CR_ONNX_BOOL)
        m.allowed = mask;
    else
        m.bias = mask;
    cr_t offset = lengths ? cr_t_with(t, "-", lengths, (double)T) : NULL;
    struct cr_positions p = cr_positions_of(t, T, S, offset, past);
    if (cr_onnx_integer(t->node, "is_causal", 0))
        m.allowed = cr_both_masks(t, m.allowed, cr_t_binary(t, "le", p.key, p.query));
    if (left >= 0)
        m.allowed = cr_both_masks(
            t, m.allowed, cr_t_binary(t, "ge", p.key, cr_t_with(t, "-", p.query, (double)left)));
    if (right >= 0)
        m.allowed = cr_both_masks(
            t, m.allowed, cr_t_binary(t, "le", p.key, cr_t_with(t, "+", p.query, (double)right)));
    if (lengths) {
        cr_t key = cr_t_iota(t, 4, (int64_t[]){1, 1, 1, S}, 3);
        m.allowed =
            cr_both_masks(t, m.allowed, cr_t_binary(t, "lt", key, cr_gather_axis(t, lengths, 4, 0)));
    }
    return m;
}

/* ---- scores ---- */

/* softmax(q k^T scale + masks) v; sets *at_stage to the scores at a stage. */
cr_t cr_attend(struct cr_translation *t, cr_t q, cr_t k, cr_t v, double scale, struct cr_masking m,
               double cap, int64_t stage, cr_t *at_stage)
{
    cr_t scores = cr_t_with(t, "*", cr_t_matmul(t, q, cr_t_swap(t, k, 2, 3)), scale);
    if (stage == 0)
        *at_stage = scores;
    if (cap > 0)
        scores = cr_t_with(t, "*", cr_t_unary(t, "tanh", cr_t_with(t, "/", scores, cap)), cap);
    if (stage == 1 || (stage == 0 && cap > 0))
        *at_stage = scores;
    if (m.bias)
        scores = cr_t_binary(t, "+", scores, m.bias);
    if (m.allowed && scores)
        scores = cr_t_where(t, m.allowed, scores, cr_t_number(t, scores->type, -INFINITY));
    if (stage == 2)
        *at_stage = scores;
    cr_t probabilities =
        scores ? cr_softmax(t, scores, scores->rank - 1, m.bias || m.allowed) : NULL;
    if (stage == 3)
        *at_stage = probabilities;
    return cr_t_matmul(t, probabilities, v);
}

/* Appends new keys or values to the cached ones. */
static cr_t with_past(struct cr_translation *t, cr_t past, cr_t x)
{
    return past && x ? cr_t_concat(t, (cr_t[]){past, x}, 2, 2) : x;
}

/* Cached keys and values come first; outputs 1 and 2 are cached and new ones. */
void cr_op_attention(struct cr_translation *t)
{
    cr_t q = t->in[0], k = cr_input(t, 1), v = cr_input(t, 2), at_stage = NULL;
    if (!q || !k || !v)
        return;
    bool flat = q->rank == 3;
    int64_t stage = cr_wants(t, 3) ? cr_onnx_integer(t->node, "qk_matmul_output_mode", 0) : -1;
    if (flat) {
        int64_t heads = cr_onnx_integer(t->node, "q_num_heads", 0),
                groups = cr_onnx_integer(t->node, "kv_num_heads", heads);
        q = cr_split_heads(t, q, heads);
        k = cr_split_heads(t, k, groups);
        v = cr_split_heads(t, v, groups);
    }
    if (!q || !k || !v || q->rank != 4 || k->rank != 4 || v->rank != 4) {
        cr_onnx_refuse(t, "expected queries, keys and values of 3 or 4 axes");
        return;
    }
    cr_t past = cr_input(t, 4);
    double before = past && past->rank == 4 ? (double)past->shape[2] : 0;
    k = with_past(t, past, k);
    v = with_past(t, cr_input(t, 5), v);
    if (!k || !v)
        return;
    if (cr_wants(t, 1))
        cr_give(t, 1, k);
    if (cr_wants(t, 2))
        cr_give(t, 2, v);
    double scale = cr_onnx_real(t->node, "scale", 0);
    struct cr_masking m = masking_of(t, q->shape[2], k->shape[2], before);
    cr_t y = cr_attend(t, q, cr_repeat_heads(t, k, q->shape[1]), cr_repeat_heads(t, v, q->shape[1]),
                       scale != 0 ? scale : 1 / sqrt((double)q->shape[3]), m,
                       cr_onnx_real(t->node, "softcap", 0), stage, &at_stage);
    cr_give(t, 0, flat ? cr_merge_heads(t, y) : y);
    if (cr_wants(t, 3))
        cr_give(t, 3, at_stage);
}

/* ---- rotary positions ---- */

/* Returns part 0 or 1 of the last axis to rotate: a half, or every other element. */
static cr_t half_of(struct cr_translation *t, cr_t x, int which, bool interleaved)
{
    int last = x->rank - 1;
    int64_t n = x->shape[last] / 2, *indices = cr_t_axis_array(t, n);
    for (int64_t i = 0; indices && i < n; i++)
        indices[i] = interleaved ? 2 * i + which : which * n + i;
    return indices ? cr_t_take(t, x, last, n, indices) : NULL;
}

/* Joins two halves of the last axis: concatenated, or interleaved. */
static cr_t joined(struct cr_translation *t, cr_t a, cr_t b, bool interleaved)
{
    int64_t wide[CR_ONNX_RANK], shape[CR_ONNX_RANK];
    if (!a || !b)
        return NULL;
    int rank = a->rank;
    if (!interleaved)
        return cr_t_concat(t, (cr_t[]){a, b}, 2, rank - 1);
    memcpy(wide, a->shape, sizeof wide);
    memcpy(shape, a->shape, sizeof shape);
    wide[rank] = 1;
    shape[rank - 1] *= 2;
    cr_t y = cr_t_concat(
        t, (cr_t[]){cr_t_reshape(t, a, rank + 1, wide), cr_t_reshape(t, b, rank + 1, wide)}, 2,
        rank);
    return cr_t_reshape(t, y, rank, shape);
}

/* Rotates the first 2 n elements of the last axis of x [B, H, T, d] by angles, whose cosines and
 * sines are [B or 1, T, n]. */
cr_t cr_rotate(struct cr_translation *t, cr_t x, cr_t cosines, cr_t sines, bool interleaved)
{
    if (!x || !cosines || !sines)
        return NULL;
    if (x->rank != 4 || cosines->rank != 3 || sines->rank != 3)
        return cr_onnx_refuse(t, "cosines of %d axes for a tensor of %d, expected 3 for 4",
                              cosines->rank, x->rank);
    int64_t n = 2 * cosines->shape[2], d = x->shape[3];
    const int64_t shape[] = {cosines->shape[0], 1, cosines->shape[1], cosines->shape[2]};
    if (n > d)
        return cr_onnx_refuse(t,
                              "found %lld angles for heads of %lld, expected at most half as many",
                              (long long)n / 2, (long long)d);
    cr_t c = cr_t_reshape(t, cosines, 4, shape), s = cr_t_reshape(t, sines, 4, shape);
    cr_t turned = cr_t_narrow(t, x, 3, 0, n);
    if (!turned)
        return NULL;
    cr_t a = half_of(t, turned, 0, interleaved), b = half_of(t, turned, 1, interleaved);
    cr_t real = cr_t_binary(t, "-", cr_t_binary(t, "*", c, a), cr_t_binary(t, "*", s, b));
    cr_t imaginary = cr_t_binary(t, "+", cr_t_binary(t, "*", s, a), cr_t_binary(t, "*", c, b));
    cr_t y = joined(t, real, imaginary, interleaved);
    return n == d ? y : cr_t_concat(t, (cr_t[]){y, cr_t_narrow(t, x, 3, n, d - n)}, 2, 3);
}

/* Returns the rows of a table [positions, n] for ids [B, T], or a table [B, T, n] itself. */
static cr_t rows_of(struct cr_translation *t, cr_t table, cr_t positions)
{
    if (!table || table->rank != 2 || !positions)
        return table;
    return cr_t_gather(t, table, positions);
}

/* x is [B, H, T, d], or [B, T, H d], which is split into heads. */
void cr_rotary(struct cr_translation *t, cr_t positions, cr_t cosines, cr_t sines)
{
    cr_t x = t->in[0];
    int64_t heads = cr_onnx_integer(t->node, "num_heads", 0),
            dim = cr_onnx_integer(t->node, "rotary_embedding_dim", 0);
    if (!x || !cosines || !sines || (x->rank != 3 && x->rank != 4) || cosines->rank < 2 ||
        sines->rank < 2)
        return;
    bool flat = x->rank == 3;
    int64_t width = dim ? dim : 2 * cosines->shape[cosines->rank - 1];
    if (flat && !heads && width > 0) /* com.microsoft: the table has the size of a head */
        heads = x->shape[2] / width;
    cosines = rows_of(t, cosines, positions);
    sines = rows_of(t, sines, positions);
    cr_t y = cr_rotate(t, flat ? cr_split_heads(t, x, heads) : x, cosines, sines,
                       cr_onnx_integer(t->node, "interleaved", 0) != 0);
    cr_give(t, 0, flat ? cr_merge_heads(t, y) : y);
}

void cr_op_rotary_embedding(struct cr_translation *t)
{
    cr_rotary(t, cr_input(t, 3), cr_input(t, 1), cr_input(t, 2));
}

/* ---- linear attention ---- */

/* Returns step i of [B, H, T, n], as [B, H, 1, n]. */
static cr_t step(struct cr_translation *t, cr_t x, int64_t i)
{
    return cr_t_narrow(t, x, 2, i, 1);
}

/* Splits [B, T, n] into heads; n is 1, or a multiple of heads. */
static cr_t by_heads(struct cr_translation *t, cr_t x, int64_t heads)
{
    if (x && x->shape[2] == 1 && heads > 1)
        return cr_t_swap(t, cr_t_reshape(t, x, 4, (int64_t[]){x->shape[0], x->shape[1], 1, 1}), 1,
                         2);
    return cr_split_heads(t, x, heads);
}

enum { MOST_STEPS = 256 };

/* Each step updates the state S [B, H, dk, dv]: S = S exp(decay) + k^T (v, or beta (v - k S)). */
void cr_op_linear_attention(struct cr_translation *t)
{
    int64_t heads = cr_onnx_integer(t->node, "q_num_heads", 0),
            groups = cr_onnx_integer(t->node, "kv_num_heads", 0);
    cr_t decay = cr_input(t, 4), beta = cr_input(t, 5), state = cr_input(t, 3), parts[MOST_STEPS];
    cr_t q = cr_split_heads(t, t->in[0], heads), k = cr_split_heads(t, cr_input(t, 1), groups),
         v = cr_split_heads(t, cr_input(t, 2), groups);
    const char *rule = cr_string(t, "update_rule", "gated_delta");
    bool delta = strstr(rule, "delta") != NULL;
    double scale = cr_onnx_real(t->node, "scale", 0);
    if (!q || !k || !v || q->shape[2] > MOST_STEPS || (delta && !beta) ||
        (decay != NULL) != (strncmp(rule, "gated", 5) == 0)) {
        cr_onnx_refuse(t, "expected inputs that its update_rule has, and at most %d steps",
                       MOST_STEPS);
        return;
    }
    decay = decay ? by_heads(t, decay, groups) : NULL;
    beta = beta ? by_heads(t, beta, groups) : NULL;
    if (!state)
        state =
            cr_t_full(t, q->type, 4, (int64_t[]){q->shape[0], groups, k->shape[3], v->shape[3]}, 0);
    scale = scale != 0 ? scale : 1 / sqrt((double)q->shape[3]);
    for (int64_t i = 0; i < q->shape[2] && state; i++) {
        cr_t key = step(t, k, i), value = step(t, v, i);
        if (decay)
            state = cr_t_binary(t, "*", state,
                                cr_t_swap(t, cr_t_unary(t, "exp", step(t, decay, i)), 2, 3));
        if (delta)
            value = cr_t_binary(t, "*", step(t, beta, i),
                                cr_t_binary(t, "-", value, cr_t_matmul(t, key, state)));
        state = cr_t_binary(t, "+", state, cr_t_matmul(t, cr_t_swap(t, key, 2, 3), value));
        parts[i] = cr_t_with(
            t, "*", cr_t_matmul(t, step(t, q, i), cr_repeat_heads(t, state, heads)), scale);
    }
    cr_t y = state ? cr_t_concat(t, parts, (int)q->shape[2], 2) : NULL;
    cr_give(t, 0, cr_merge_heads(t, y));
    if (cr_wants(t, 1))
        cr_give(t, 1, state);
}
