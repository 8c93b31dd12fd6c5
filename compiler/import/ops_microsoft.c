/* ops_microsoft.c - operators of the domain com.microsoft for attention and products, which ONNX
 * Runtime's optimiser writes; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops_attention.h"

/* ---- masks ---- */

/*
 * Turns a mask of keys into numbers to add to scores: 0 for a visible key, else mask_filter_value.
 * The mask is [B, S], [B, T, S], or the number of keys of each batch, [B]; in [2 B], the index of
 * each batch's first visible key follows.
 */
static cr_t padding_bias(struct cr_translation *t, cr_t mask, int64_t B, int64_t S)
{
    cr_t seen = NULL;
    if (mask && mask->rank == 1 && (mask->shape[0] == B || mask->shape[0] == 2 * B)) {
        cr_t key = cr_t_iota(t, 4, (int64_t[]){1, 1, 1, S}, 3);
        seen = cr_t_binary(t, "lt", key, cr_gather_axis(t, cr_t_narrow(t, mask, 0, 0, B), 4, 0));
        if (mask->shape[0] == 2 * B) {
            cr_t first = cr_gather_axis(t, cr_t_narrow(t, mask, 0, B, B), 4, 0);
            seen = cr_both_masks(t, seen, cr_t_binary(t, "ge", key, first));
        }
    } else if (mask && (mask->rank == 2 || mask->rank == 3) && mask->shape[0] == B &&
               mask->shape[mask->rank - 1] == S) {
        int64_t shape[4] = {B, 1, mask->rank == 3 ? mask->shape[1] : 1, S};
        seen = cr_t_with(t, "gt", cr_t_reshape(t, mask, 4, shape), 0);
    } else if (mask)
        return cr_onnx_refuse(t, "a mask of %d axes, expected [batch, keys] or lengths",
                              mask->rank);
    double hidden = cr_onnx_real(t->node, "mask_filter_value", -10000);
    return seen ? cr_t_where(t, seen, cr_t_number(t, CR_ONNX_FLOAT, 0),
                             cr_t_number(t, CR_ONNX_FLOAT, hidden))
                : NULL;
}

static cr_t sum_of(struct cr_translation *t, cr_t a, cr_t b)
{
    return a && b ? cr_t_binary(t, "+", a, b) : a ? a : b;
}

/* ---- attention ---- */

/* Gives softmax(q k^T scale + bias) v, with heads merged.  The first `past` keys are cached. */
static void give_attention(struct cr_translation *t, cr_t q, cr_t k, cr_t v, cr_t mask, cr_t bias,
                           int64_t past)
{
    cr_t none = NULL;
    if (!q || !k || !v)
        return;
    struct cr_masking m = {NULL, sum_of(t, padding_bias(t, mask, q->shape[0], k->shape[2]), bias)};
    if (cr_onnx_integer(t->node, "unidirectional", 0)) {
        struct cr_positions p = cr_positions_of(t, q->shape[2], k->shape[2], NULL, (double)past);
        m.allowed = cr_t_binary(t, "le", p.key, p.query);
    }
    double scale = cr_onnx_real(t->node, "scale", 0);
    cr_t y =
        cr_attend(t, q, k, v, scale != 0 ? scale : 1 / sqrt((double)q->shape[3]), m, 0, -1, &none);
    cr_give(t, 0, cr_merge_heads(t, y));
}

/* Returns the queries (0), keys (1) or values (2) of packed x [B, T, n], split into heads; `sizes`
 * has the columns of each. */
static cr_t part_of(struct cr_translation *t, cr_t x, const int64_t *sizes, int which,
                    int64_t heads)
{
    int64_t start = 0;
    for (int i = 0; i < which; i++)
        start += sizes[i];
    return cr_split_heads(t, cr_t_narrow(t, x, 2, start, sizes[which]), heads);
}

/* Returns the cached keys (0) or values (1) of [2, B, H, P, d]. */
static cr_t past_of(struct cr_translation *t, cr_t past, int which)
{
    cr_t part = cr_t_narrow(t, past, 0, which, 1);
    return part ? cr_t_reshape(t, part, 4, past->shape + 1) : NULL;
}

/* Attention: one product makes queries, keys and values.  Output 1 is the cached keys and values
 * with the new ones appended. */
void cr_op_attention_microsoft(struct cr_translation *t)
{
    cr_t x = t->in[0], weight = cr_input(t, 1), bias = cr_input(t, 2), past = cr_input(t, 4), kv[2];
    int64_t heads = cr_onnx_integer(t->node, "num_heads", 0), sizes[CR_ONNX_MANY];
    if (!x || !weight || x->rank != 3 || weight->rank != 2 || cr_input(t, 6) || cr_input(t, 7) ||
        cr_onnx_integer(t->node, "do_rotary", 0) ||
        cr_onnx_integer(t->node, "past_present_share_buffer", 0) || (past && past->rank != 5)) {
        cr_onnx_refuse(t, "rotary positions or a shared buffer of keys, expected neither");
        return;
    }
    if (cr_numbers_named(t, "qkv_hidden_sizes", sizes) != 3)
        sizes[0] = sizes[1] = sizes[2] = weight->shape[1] / 3;
    if (sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1 ||
        sizes[0] + sizes[1] + sizes[2] != weight->shape[1]) {
        cr_onnx_refuse(t, "weights of %lld columns for queries, keys and values",
                       (long long)weight->shape[1]);
        return;
    }
    cr_t qkv = sum_of(t, cr_t_matmul(t, x, weight), bias);
    for (int i = 0; i < 2; i++) {
        kv[i] = part_of(t, qkv, sizes, 1 + i, heads);
        if (past && kv[i])
            kv[i] = cr_t_concat(t, (cr_t[]){past_of(t, past, i), kv[i]}, 2, 2);
    }
    if (cr_wants(t, 1) && kv[0] && kv[1]) {
        int64_t shape[5] = {1, kv[0]->shape[0], heads, kv[0]->shape[2], kv[0]->shape[3]};
        cr_t both[2] = {cr_t_reshape(t, kv[0], 5, shape), cr_t_reshape(t, kv[1], 5, shape)};
        cr_give(t, 1, cr_t_concat(t, both, 2, 0));
    }
    give_attention(t, part_of(t, qkv, sizes, 0, heads), kv[0], kv[1], cr_input(t, 3),
                   cr_input(t, 5), past ? past->shape[3] : 0);
}

/* Splits queries, keys or values [B, T, H d] into heads, after their part of the bias is
 * added.  Keys and values may be [B, H, S, d] already. */
static cr_t heads_of(struct cr_translation *t, int which, int64_t heads, int64_t *start)
{
    cr_t x = cr_input(t, which), bias = cr_input(t, 3);
    if (x && x->rank == 4 && which > 0 && !bias)
        return x;
    if (!x || x->rank != 3)
        return cr_onnx_refuse(t, "expected queries, keys and values of 3 axes");
    if (bias)
        x = cr_t_binary(t, "+", x, cr_t_narrow(t, bias, 0, *start, x->shape[2]));
    *start += x ? x->shape[2] : 0;
    return cr_split_heads(t, x, heads);
}

/* MultiHeadAttention of queries, keys and values [B, T, H d], with bias, mask and cached keys. */
void cr_op_multi_head_attention(struct cr_translation *t)
{
    cr_t part[3];
    int64_t heads = cr_onnx_integer(t->node, "num_heads", 0), start = 0, past = 0;
    if (cr_input(t, 8) || cr_input(t, 9) || cr_wants(t, 3)) {
        cr_onnx_refuse(t, "a shared buffer of keys, or scores as an output, expected neither");
        return;
    }
    for (int i = 0; i < 3; i++) {
        part[i] = heads_of(t, i, heads, &start);
        cr_t before = i ? cr_input(t, 5 + i) : NULL;
        if (before && before->rank != 4) {
            cr_onnx_refuse(t, "keys of before of %d axes, expected 4", before->rank);
            return;
        }
        if (before && part[i]) {
            past = before->shape[2];
            part[i] = cr_t_concat(t, (cr_t[]){before, part[i]}, 2, 2);
        }
        if (i && cr_wants(t, i))
            cr_give(t, i, part[i]);
    }
    give_attention(t, part[0], part[1], part[2], cr_input(t, 4), cr_input(t, 5), past);
}

/* ---- grouped queries ---- */

/* Returns the position of each batch's first new key, [B, 1, 1, 1], or null for 0. */
static cr_t first_position(struct cr_translation *t, int64_t T, double total)
{
    cr_t lengths = cr_input(t, 5);
    if (!lengths || total == (double)T) /* a prompt: nothing is cached */
        return NULL;
    return cr_t_with(t, "+", cr_gather_axis(t, lengths, 4, 0), 1 - (double)T);
}

/* Writes new keys or values x [B, G, T, d] behind the cached ones.  Each batch has `first` cached
 * ones; the result has S. */
static cr_t behind_past(struct cr_translation *t, cr_t past, cr_t x, cr_t first, int64_t S)
{
    if (!past || !x)
        return x;
    int64_t P = past->shape[2], T = x->shape[2],
            shape[4] = {x->shape[0], x->shape[1], S, x->shape[3]};
    cr_t s = cr_t_iota(t, 4, (int64_t[]){1, 1, S, 1}, 2);
    cr_t own = first ? cr_t_binary(t, "-", s, first) : s;
    cr_t is_new = cr_both_masks(t, cr_t_with(t, "ge", own, 0), cr_t_with(t, "lt", own, (double)T));
    cr_t old = cr_t_with(t, "minimum", s, (double)(P + T - 1));
    cr_t index = cr_t_where(t, is_new, cr_t_with(t, "+", own, (double)P), old);
    return cr_t_gather_along(t, cr_t_concat(t, (cr_t[]){past, x}, 2, 2),
                             cr_t_expand(t, index, 4, shape), 2);
}

/* Rotates queries and keys by rows of tables.  Positions are an input, or run from `first` on. */
static void turn(struct cr_translation *t, cr_t first, cr_t *q, cr_t *k)
{
    cr_t cosines = cr_input(t, 7), sines = cr_input(t, 8), at = cr_input(t, 9);
    if (!*q || !*k || !cr_onnx_integer(t->node, "do_rotary", 0))
        return;
    if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2) {
        cr_onnx_refuse(t, "rotary positions without tables [positions, angles]");
        *q = NULL;
        return;
    }
    int64_t B = (*q)->shape[0], T = (*q)->shape[2], wide[2] = {B, T};
    bool interleaved = cr_onnx_integer(t->node, "rotary_interleaved", 0) != 0;
    if (!at) {
        at = cr_t_iota(t, 2, wide, 1);
        if (first)
            at = cr_t_binary(t, "+", at, cr_t_reshape(t, first, 2, (int64_t[]){B, 1}));
    }
    cosines = cr_t_gather(t, cosines, at);
    sines = cr_t_gather(t, sines, at);
    *q = cr_rotate(t, *q, cosines, sines, interleaved);
    *k = cr_rotate(t, *k, cosines, sines, interleaved);
}

/* Sets `part` to queries, keys and values, split into heads, from three inputs or a packed one. */
static bool grouped_heads(struct cr_translation *t, cr_t part[3])
{
    int64_t heads = cr_onnx_integer(t->node, "num_heads", 0),
            groups = cr_onnx_integer(t->node, "kv_num_heads", 0), n = heads + 2 * groups;
    cr_t x = t->in[0];
    bool is_packed = !cr_input(t, 1) && !cr_input(t, 2);
    if (!x || x->rank != 3 || heads < 1 || groups < 1 || (is_packed && x->shape[2] % n))
        return false;
    int64_t d = x->shape[2] / n, sizes[3] = {heads * d, groups * d, groups * d};
    for (int i = 0; i < 3; i++)
        part[i] = is_packed ? part_of(t, x, sizes, i, i ? groups : heads)
                            : cr_split_heads(t, cr_input(t, i), i ? groups : heads);
    return part[0] && part[1] && part[2];
}

/* Returns the masks: a causal one, limited to the window if there is one, and the input's, which is
 * added to scores. */
static struct cr_masking grouped_masking(struct cr_translation *t, int64_t T, int64_t S, cr_t first)
{
    int64_t window = cr_onnx_integer(t->node, "local_window_size", -1);
    struct cr_positions p = cr_positions_of(t, T, S, first, 0);
    struct cr_masking m = {cr_t_binary(t, "le", p.key, p.query), cr_input(t, 10)};
    if (window > 0)
        m.allowed = cr_both_masks(
            t, m.allowed, cr_t_binary(t, "gt", p.key, cr_t_with(t, "-", p.query, (double)window)));
    return m;
}

/* GroupQueryAttention: causal attention in which several query heads share a key head.  Outputs 1
 * and 2 are keys and values, cached and new. */
void cr_op_group_query_attention(struct cr_translation *t)
{
    cr_t part[3], past[2] = {cr_input(t, 3), cr_input(t, 4)}, none = NULL;
    if (!past[0] != !past[1] || cr_input(t, 11) || cr_input(t, 12) || cr_input(t, 13) ||
        cr_onnx_integer(t->node, "smooth_softmax", 0) > 0 || cr_wants(t, 3)) {
        cr_onnx_refuse(t, "sinks, smooth softmax or quantised keys, expected neither");
        return;
    }
    if (!grouped_heads(t, part)) {
        cr_onnx_refuse(t, "expected queries, keys and values of [batch, tokens, heads * size]");
        return;
    }
    const double *total = past[0] ? cr_t_known(t, cr_input(t, 6)) : NULL;
    if (past[0] && !total)
        return;
    int64_t T = part[0]->shape[2], S = part[1]->shape[2];
    if (past[0] && (past[0]->rank != 4 || past[1]->rank != 4 || S != T || *total < (double)T ||
                    *total > (double)(past[0]->shape[2] + T))) {
        cr_onnx_refuse(t, "total_sequence_length %g, expected that of keys of before and new ones",
                       *total);
        return;
    }
    cr_t first = past[0] ? first_position(t, T, *total) : NULL;
    if (past[0]) /* the cache has room for the new keys, or grows */
        S = past[0]->shape[2] > (int64_t)*total ? past[0]->shape[2] : (int64_t)*total;
    turn(t, first, &part[0], &part[1]);
    for (int i = 0; i < 2; i++) {
        part[1 + i] = behind_past(t, past[i], part[1 + i], first, S);
        if (cr_wants(t, 1 + i))
            cr_give(t, 1 + i, part[1 + i]);
    }
    if (!part[0] || !part[1] || !part[2])
        return;
    double scale = cr_onnx_real(t->node, "scale", 0);
    int64_t heads = part[0]->shape[1];
    cr_t y = cr_attend(
        t, part[0], cr_repeat_heads(t, part[1], heads), cr_repeat_heads(t, part[2], heads),
        scale != 0 ? scale : 1 / sqrt((double)part[0]->shape[3]), grouped_masking(t, T, S, first),
        cr_onnx_real(t->node, "softcap", 0), -1, &none);
    cr_give(t, 0, cr_merge_heads(t, y));
}

/* ---- rotary positions ---- */

/* RotaryEmbedding of com.microsoft: input 1 has the positions, or only the first one. */
void cr_op_rotary_embedding_microsoft(struct cr_translation *t)
{
    cr_t positions = cr_input(t, 1), x = t->in[0];
    if (positions && x && positions->rank == 1 && cr_t_elements(positions) == 1) {
        int64_t T = x->rank == 3 ? x->shape[1] : x->shape[2];
        cr_t steps = cr_t_iota(t, 2, (int64_t[]){1, T}, 1);
        positions = cr_t_binary(t, "+", steps, cr_t_reshape(t, positions, 2, (int64_t[]){1, 1}));
    }
    cr_rotary(t, positions, cr_input(t, 2), cr_input(t, 3));
}

/* ---- products ---- */

/* Returns an operand of FusedMatMul: its first axis moved behind the batch's axes if attribute
 * `batch` is set, its last two axes exchanged if `last` is. */
static cr_t operand(struct cr_translation *t, cr_t x, const char *batch, const char *last)
{
    int axes[CR_ONNX_RANK];
    if (!x || x->rank < 2)
        return x;
    int rank = x->rank;
    if (cr_onnx_integer(t->node, batch, 0)) {
        for (int i = 0; i < rank; i++)
            axes[i] = i == rank - 1 ? i : (i + 1) % (rank - 1);
        x = cr_t_permute(t, x, axes);
    }
    return cr_onnx_integer(t->node, last, 0) ? cr_t_swap(t, x, rank - 2, rank - 1) : x;
}

/* alpha A B */
void cr_op_fused_matmul(struct cr_translation *t)
{
    double alpha = cr_onnx_real(t->node, "alpha", 1);
    cr_t y = cr_t_matmul(t, operand(t, t->in[0], "transBatchA", "transA"),
                         operand(t, cr_input(t, 1), "transBatchB", "transB"));
    cr_give(t, 0, alpha == 1 ? y : cr_t_with(t, "*", y, alpha));
}

/* Returns the tensor of an input, or null if it has none. */
static const struct cr_onnx_tensor *tensor_of(const struct cr_translation *t, int input)
{
    int value = input < t->node->n_inputs ? t->node->inputs[input] : CR_ONNX_NONE;
    return value == CR_ONNX_NONE ? NULL : t->graph->values[value].tensor;
}

/* Quantised weights [N, K] of `bits` bits.  Each block of a row has a scale and a zero point. */
struct narrow {
    int64_t N, K, bits, block, blocks;
    const struct cr_onnx_tensor *data, *scales, *zeros;
};

/* Returns number i of a packed row; the lowest bits of a byte come first. */
static int bits_of(const struct cr_onnx_tensor *x, int64_t row, int64_t i, int64_t bits)
{
    int byte = (int)cr_onnx_element(x, row + i * bits / 8);
    return byte >> (i * bits % 8) & ((1 << bits) - 1);
}

/* Returns the dequantised weight [n, k]. */
static double wide(const struct narrow *w, int64_t n, int64_t k)
{
    int64_t block = k / w->block, bytes = w->block * w->bits / 8;
    double scale = cr_onnx_element(w->scales, n * w->blocks + block), zero = 1 << (w->bits - 1);
    if (w->zeros && w->zeros->type == CR_ONNX_UINT8)
        zero = bits_of(w->zeros, n * ((w->blocks * w->bits + 7) / 8), block, w->bits);
    else if (w->zeros)
        zero = cr_onnx_element(w->zeros, n * w->blocks + block);
    int q = bits_of(w->data, (n * w->blocks + block) * bytes, k % w->block, w->bits);
    return (float)(((float)q - (float)zero) * (float)scale);
}

/* True if attributes are in range and the tensors have as many elements as they say. */
static bool fits(const struct narrow *w)
{
    if (!(w->bits == 2 || w->bits == 4 || w->bits == 8) || w->N < 1 || w->K < 1 || w->block < 8 ||
        w->block > 1 << 20 || w->N > 1 << 24 || w->K > 1 << 24 || !w->data || !w->scales ||
        !w->data->data || !w->scales->data || (w->zeros && !w->zeros->data))
        return false;
    int64_t packed = (w->blocks * w->bits + 7) / 8;
    return w->data->elements == w->N * w->blocks * (w->block * w->bits / 8) &&
           w->scales->elements == w->N * w->blocks &&
           (!w->zeros ||
            w->zeros->elements == w->N * (w->zeros->type == CR_ONNX_UINT8 ? packed : w->blocks));
}

/* MatMulNBits: a product with quantised weights, which become floats in the script. */
void cr_op_matmul_nbits(struct cr_translation *t)
{
    struct narrow w = {.N = cr_onnx_integer(t->node, "N", 0),
                       .K = cr_onnx_integer(t->node, "K", 0),
                       .bits = cr_onnx_integer(t->node, "bits", 4),
                       .block = cr_onnx_integer(t->node, "block_size", 0),
                       .data = tensor_of(t, 1),
                       .scales = tensor_of(t, 2),
                       .zeros = tensor_of(t, 3)};
    w.blocks = w.block > 0 ? (w.K + w.block - 1) / w.block : 0;
    if (!fits(&w) || cr_input(t, 4) || (cr_input(t, 3) && !w.zeros)) {
        cr_onnx_refuse(t, "expected known weights of 2, 4 or 8 bits, in order");
        return;
    }
    double *data = cr_t_array(t, w.N * w.K);
    for (int64_t n = 0; n < w.N; n++)
        for (int64_t k = 0; k < w.K; k++)
            data[n * w.K + k] = wide(&w, n, k);
    cr_t weight = cr_t_computed(t, CR_ONNX_FLOAT, 2, (int64_t[]){w.N, w.K}, data);
    cr_give(t, 0, sum_of(t, cr_t_matmul(t, t->in[0], cr_t_swap(t, weight, 0, 1)), cr_input(t, 5)));
}
