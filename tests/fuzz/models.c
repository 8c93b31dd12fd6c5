/*
 * Random graphs: models of token ids, in the spellings of published families and in others: causal
 * models, whose outputs are logits, and encoders, most of which return a vector of each text.
 *
 * In a causal model each token sees itself and earlier tokens; in some models a step reads later
 * tokens, or cannot be computed incrementally, and the compiler has to refuse it.  In an encoder a
 * token sees all tokens that are not padding, or those near it.  Most sizes of texts divide no other
 * size, so that a model can be changed to fewer texts and tokens (resize.h).
 */
#include <math.h>
#include <string.h>

#include "compiler/ir/incremental.h"
#include "maker.h"

enum { MAX_WEIGHTS = 128, MOST_LAYERS = 3 };

struct model {
    struct cr_maker *m;
    int64_t B, T, C, H, G,
        d;            /* B texts, T tokens, width C, H heads, G heads of keys and values, width d of
                         a head */
    cr_id ids, table; /* the input of token ids, and the table of their embeddings */
    cr_id weights[MAX_WEIGHTS];
    int n, next;       /* weights of the first layer; how many of them the current layer has used */
    uint64_t shared;   /* a bit for each weight: later layers use the same one */
    bool later;        /* true from the second of a stack of equal layers on */
    int norms, biases; /* percentages of layers with normed queries and keys, of products with a
                          bias */
    int products;      /* percentage of values combined with another of the same token */
    cr_id source;      /* the input of a layer's attention or feed-forward part, [B, T, C] */
    cr_id layer_angles;       /* rotary angles that a layer computes from its source, or CR_NONE */
    cr_id multiplied;  /* the last product of two values of each token, or CR_NONE */
    cr_id last_product; /* the last such product of any layer */
    bool encoder;
    cr_id present;   /* encoder: bool [B, T], false for padding; CR_NONE: no padding */
    cr_id bias;      /* encoder: [H, T, T], added to the scores of all layers; or CR_NONE */
    cr_id distances; /* encoder: [2 rows, C], a row for each distance of tokens, for all layers; or CR_NONE */
};

/* ---- weights ---- */

static cr_id weight(struct model *a, int rank, const int64_t *shape, double size)
{
    int i = a->next++;
    const struct cr_node *first = a->later && i < a->n ? cr_node_of(a->m, a->weights[i]) : NULL;
    if (first && a->shared >> i % 64 & 1 && first->rank == rank &&
        memcmp(first->shape, shape, sizeof *shape * (size_t)rank) == 0)
        return a->weights[i];
    cr_id made = cr_make_leaf(a->m, CR_OP_param, rank, shape, size);
    if (!a->later && a->n < MAX_WEIGHTS)
        a->weights[a->n++] = made;
    return made;
}

static cr_id vector(struct model *a, int64_t n, double size)
{
    return weight(a, 1, &n, size);
}

/* Returns a weight matrix K x N in one of several spellings. */
static cr_id matrix(struct model *a, int64_t K, int64_t N)
{
    struct cr_maker *m = a->m;
    double size = 1 / sqrt((double)K);
    switch (cr_below(m, 16)) {
    case 0:
    case 1:
    case 4:
    case 5:
        return cr_make_swap(m, weight(a, 2, (int64_t[]){N, K}, size));
    case 6: /* computed from weights: scaled, with normalized rows, or plus a product of two (LoRA) */
        return cr_make_with(m, CR_OP_mul, weight(a, 2, (int64_t[]){K, N}, size), 0.7);
    case 7:
        return cr_make_norm(m, weight(a, 2, (int64_t[]){K, N}, 1), 1);
    case 8: {
        cr_id low = weight(a, 2, (int64_t[]){K, 2}, size),
              up = weight(a, 2, (int64_t[]){2, N}, 0.5);
        return cr_make2(m, CR_OP_add, weight(a, 2, (int64_t[]){K, N}, size),
                        cr_make2(m, CR_OP_matmul, low, up));
    }
    case 2: {
        int64_t start = cr_below(m, 4);
        return cr_make_slice(m, weight(a, 2, (int64_t[]){K, N + 3}, size), 1, start, N);
    }
    case 3: {
        cr_id left = weight(a, 2, (int64_t[]){K, N}, size);
        return cr_make_concat(m, 2, (cr_id[]){left, weight(a, 2, (int64_t[]){K, N}, size)}, 1);
    }
    default:
        return weight(a, 2, (int64_t[]){K, N}, size);
    }
}

/* Returns x times a matrix that the whole batch shares; of a wider product, the first n columns. */
static cr_id product(struct model *a, cr_id x, cr_id w, int64_t n)
{
    struct cr_maker *m = a->m;
    struct cr_attr attr = cr_attr_of(cr_node_of(m, x));
    attr.shape[attr.rank - 2] = cr_size_of(m, w, 0);
    attr.shape[attr.rank - 1] = cr_size_of(m, w, 1);
    cr_id wide = attr.rank > 2 ? cr_make(m, CR_OP_expand, 1, &w, &attr) : w;
    cr_id y = cr_make2(m, CR_OP_matmul, x, wide);
    return cr_size_of(m, y, -1) == n ? y : cr_make_slice(m, y, attr.rank - 1, 0, n);
}

/* Adds a bias b, on the left or right, as a vector or as a row. */
static cr_id biased(struct model *a, cr_id y)
{
    struct cr_maker *m = a->m;
    int64_t n = cr_size_of(m, y, -1);
    cr_id b = vector(a, n, 0.5);
    switch (cr_below(m, 10)) {
    case 0:
        b = cr_make_reshape(m, b, 3, (int64_t[]){1, 1, n});
        break;
    case 1:
        b = cr_make_with(m, CR_OP_mul, b, 0.7);
        break;
    case 2:
        return cr_make2(m, CR_OP_sub, y, cr_make_like(m, b, y));
    case 3:
        return cr_make2(m, CR_OP_add, cr_make_like(m, b, y), y);
    case 4: { /* the bias is added to y reshaped to rank 2 */
        struct cr_node node = *cr_node_of(m, y);
        int64_t flat[2] = {cr_elements(node.rank - 1, node.shape), n};
        cr_id z = cr_make_reshape(m, y, 2, flat);
        z = cr_make2(m, CR_OP_add, z, cr_make_like(m, b, z));
        int64_t shape[CR_MAX_RANK];
        memcpy(shape, node.shape, sizeof shape);
        return a->B > 1 && cr_chance(m, 70) ? cr_make2(m, CR_OP_add, y, cr_make_like(m, b, y))
                                            : cr_make_reshape(m, z, node.rank, shape);
    }
    }
    return cr_make2(m, CR_OP_add, y, cr_make_like(m, b, y));
}

/* Returns the same product for the transpose of x, whose columns are tokens, as a convolution of
 * width 1: (W' x' + b)'. */
static cr_id transposed_product(struct model *a, cr_id x, int64_t n)
{
    struct cr_maker *m = a->m;
    struct cr_attr attr = cr_attr_of(cr_node_of(m, x));
    int64_t K = attr.shape[attr.rank - 1];
    cr_id w = weight(a, 2, (int64_t[]){n, K}, 1 / sqrt((double)K));
    attr.shape[attr.rank - 2] = n;
    cr_id y = cr_make2(m, CR_OP_matmul, cr_make(m, CR_OP_expand, 1, &w, &attr), cr_make_swap(m, x));
    if (cr_chance(m, a->biases))
        y = cr_make2(m, CR_OP_add, y, cr_make_like(m, weight(a, 2, (int64_t[]){n, 1}, 0.5), y));
    return cr_make_swap(m, y);
}

static cr_id linear(struct model *a, cr_id x, int64_t n)
{
    if (cr_chance(a->m, 4))
        return transposed_product(a, x, n);
    cr_id y = product(a, x, matrix(a, cr_size_of(a->m, x, -1), n), n);
    return cr_chance(a->m, a->biases) ? biased(a, y) : y;
}

/* ---- products of values of one token ---- */

/* Returns a factor for each token: a projection, or a function of a projection. */
static cr_id gate(struct model *a, cr_id x, int64_t n)
{
    struct cr_maker *m = a->m;
    cr_id y = linear(a, x, n);
    switch (cr_below(m, 6)) {
    case 0:
        return y;
    case 1:
        return cr_make1(m, CR_OP_tanh, y);
    case 2:
        return cr_make1(m, CR_OP_sin, y);
    case 3:
        return cr_recipe_activation(m, y);
    default:
        return cr_make1(m, CR_OP_sigmoid, y);
    }
}

/* Returns a number for each position, broadcast to y [B, T, n]: the position times 0.1, or a weight. */
static cr_id position_numbers(struct model *a, cr_id y)
{
    struct cr_maker *m = a->m;
    if (cr_chance(m, 50))
        return cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_float, cr_make_iota(m, y, 1)), 0.1);
    return cr_make_like(m, weight(a, 2, (int64_t[]){a->T, 1}, 1), y);
}

/* Returns a product [B, T, n] of two values of each token: a new one, or one that other ops read
 * already. */
static cr_id multiplied(struct model *a, cr_id x, int64_t n)
{
    struct cr_maker *m = a->m;
    bool again = a->multiplied != CR_NONE && cr_size_of(m, a->multiplied, -1) == n;
    if (again && cr_chance(m, 50))
        return a->multiplied;
    cr_id left = gate(a, x, n), right;
    int64_t way = cr_below(m, 10);
    if (way == 0)
        right = position_numbers(a, left);
    else if (way == 1 && n == cr_size_of(m, x, -1))
        right = x;
    else if (way == 2)
        right = cr_make_like(m, gate(a, x, 1), left);
    else
        right = gate(a, x, n);
    cr_id y = cr_make2(m, CR_OP_mul, left, right);
    if (cr_chance(m, 20))
        y = cr_make_with(m, CR_OP_mul, y, 0.7);
    return a->last_product = a->multiplied = y;
}

/* Returns y [B, T, n] combined, in one of several ways, with a product of values of each token. */
static cr_id with_product(struct model *a, cr_id y, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t n = cr_size_of(m, y, -1);
    switch (cr_below(m, 8)) {
    case 0:
    case 1:
        return cr_make2(m, CR_OP_add, y, multiplied(a, x, n));
    case 2:
        return cr_make2(m, CR_OP_add, multiplied(a, x, n), y);
    case 3:
        return cr_make2(m, CR_OP_sub, y, multiplied(a, x, n));
    case 4: { /* a gate g mixes y and a product p: y g + p (1 - g) */
        cr_id g = cr_make1(m, CR_OP_sigmoid, linear(a, x, n));
        cr_id rest = cr_make2(m, CR_OP_sub, cr_make_const(m, g, 1), g);
        return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, y, g),
                        cr_make2(m, CR_OP_mul, multiplied(a, x, n), rest));
    }
    case 5: { /* a product of its own, which a sum reads, and perhaps other ops */
        cr_id own = cr_make2(m, CR_OP_mul, y, gate(a, x, n));
        cr_id sum = cr_make2(m, CR_OP_add, own, multiplied(a, x, n));
        a->last_product = a->multiplied = own;
        return sum;
    }
    case 6:
        return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, y, position_numbers(a, y)), gate(a, x, n));
    default:
        return cr_make2(m, CR_OP_mul, y, cr_make_like(m, gate(a, x, cr_chance(m, 50) ? n : 1), y));
    }
}

static cr_id maybe_with_product(struct model *a, cr_id y, cr_id x)
{
    return cr_chance(a->m, a->products) ? with_product(a, y, x) : y;
}

/* Returns a number for each token and each of n heads, or for each token: [B, n or 1, T]. */
static cr_id of_heads(struct model *a, int64_t n)
{
    struct cr_maker *m = a->m;
    int64_t heads = cr_chance(m, 40) ? 1 : n;
    cr_id y = cr_chance(m, 50) ? multiplied(a, a->source, heads) : gate(a, a->source, heads);
    return cr_make_swap(m, y);
}

/* Returns a number for each token, by of_heads, broadcast to keys or values x [B, n, T, d]. */
static cr_id for_rows(struct model *a, cr_id x)
{
    cr_id y = of_heads(a, cr_size_of(a->m, x, 1));
    int64_t shape[] = {a->B, cr_size_of(a->m, y, 1), a->T, 1};
    return cr_make_like(a->m, cr_make_reshape(a->m, y, 4, shape), x);
}

/* Returns rows x [B, n, T, d] times a number for each row, or plus a product of such a number. */
static cr_id rows_with_product(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    cr_id y, w;
    switch (cr_below(m, 5)) {
    case 0:
        return cr_make2(m, CR_OP_add, x, cr_make2(m, CR_OP_mul, for_rows(a, x), for_rows(a, x)));
    case 1:
        w = cr_make_like(m, vector(a, cr_size_of(m, x, -1), 1), x);
        return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, for_rows(a, x), w), x);
    case 2:
        y = cr_make1(m, CR_OP_float, cr_make_iota(m, x, 2));
        return cr_make2(m, CR_OP_mul, x,
                        cr_make_with(m, CR_OP_add, cr_make_with(m, CR_OP_mul, y, 0.03), 0.7));
    case 3:
        y = cr_make2(m, CR_OP_mul, x, for_rows(a, x));
        return cr_make2(m, CR_OP_add, y, for_rows(a, x));
    default:
        return cr_make2(m, CR_OP_mul, x, for_rows(a, x));
    }
}

/* Returns a number for each query or key, broadcast to the scores [B, H, queries, keys]. */
static cr_id along_scores(struct model *a, cr_id s, int axis)
{
    cr_id y = of_heads(a, a->H);
    int64_t shape[] = {a->B, cr_size_of(a->m, y, 1), 1, 1};
    shape[axis] = a->T;
    return cr_make_like(a->m, cr_make_reshape(a->m, y, 4, shape), s);
}

/* Returns scores combined with a number for each key, or for each key and query. */
static cr_id scores_with_product(struct model *a, cr_id s, bool transposed)
{
    struct cr_maker *m = a->m;
    int key = transposed ? 2 : 3, query = transposed ? 3 : 2;
    cr_id y = along_scores(a, s, key);
    switch (cr_below(m, 6)) {
    case 0:
        return cr_make2(m, CR_OP_add, s, y);
    case 1:
        y = cr_make2(m, CR_OP_mul, y, along_scores(a, s, cr_chance(m, 50) ? key : query));
        return cr_make2(m, CR_OP_add, y, s);
    case 2:
        return cr_make2(m, CR_OP_sub, s, cr_make_with(m, CR_OP_mul, y, 0.37));
    case 3:
        y = cr_make2(m, CR_OP_add, y, along_scores(a, s, cr_chance(m, 50) ? key : query));
        return cr_make2(m, CR_OP_add, s, y);
    case 4:
        return cr_make2(m, CR_OP_add, cr_make_with(m, CR_OP_mul, s, 0.7), y);
    default:
        return cr_make2(m, CR_OP_mul, s, y);
    }
}

/* ---- positions ---- */

/* Returns rotary angles that the layer computes from its source, [B, 1, T, n]. */
static cr_id own_angles(struct model *a, int64_t n)
{
    struct cr_maker *m = a->m;
    if (a->layer_angles == CR_NONE || cr_size_of(m, a->layer_angles, -1) != n)
        a->layer_angles = cr_make_reshape(
            m, cr_chance(m, 50) ? multiplied(a, a->source, n) : gate(a, a->source, n), 4,
            (int64_t[]){a->B, 1, a->T, n});
    return a->layer_angles;
}

/* Returns the angles of rotary positions, [T, n]. */
static cr_id angles(struct model *a, int64_t n)
{
    struct cr_maker *m = a->m;
    struct cr_attr attr = {.rank = 2, .shape = {a->T, n}, .axis = 0};
    cr_id at = cr_make1(m, CR_OP_float, cr_make(m, CR_OP_iota, 0, NULL, &attr));
    attr.axis = 1;
    cr_id pair = cr_make1(m, CR_OP_float, cr_make(m, CR_OP_iota, 0, NULL, &attr));
    cr_id base = cr_make_const(m, pair, 0.37);
    return cr_make2(m, CR_OP_mul, at, cr_make2(m, CR_OP_pow, base, pair));
}

static cr_id part(struct model *a, cr_id x, int64_t start, int64_t n)
{
    return cr_make_slice(a->m, x, cr_node_of(a->m, x)->rank - 1, start, n);
}

/* Rotates the pair (p, q): p cos - q sin, p sin + q cos. */
static void rotate_pair(struct model *a, cr_id *p, cr_id *q, cr_id c, cr_id s)
{
    struct cr_maker *m = a->m;
    cr_id x = *p, y = *q;
    c = cr_make_like(m, c, x), s = cr_make_like(m, s, x);
    *p = cr_make2(m, CR_OP_sub, cr_make2(m, CR_OP_mul, x, c), cr_make2(m, CR_OP_mul, y, s));
    *q = cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, x, s), cr_make2(m, CR_OP_mul, y, c));
}

/* Rotates adjacent columns as pairs, reshaped to [.., d / 2, 2]. */
static cr_id rotate_adjacent(struct model *a, cr_id x, cr_id c, cr_id s)
{
    struct cr_maker *m = a->m;
    struct cr_node node = *cr_node_of(m, x);
    int64_t shape[CR_MAX_RANK], back[CR_MAX_RANK];
    int r = node.rank;
    memcpy(back, node.shape, sizeof back);
    memcpy(shape, node.shape, sizeof shape);
    shape[r - 1] = back[r - 1] / 2;
    shape[r] = 2;
    cr_id pairs = cr_make_reshape(m, x, r + 1, shape);
    cr_id p = cr_make_reshape(m, part(a, pairs, 0, 1), r, shape);
    cr_id q = cr_make_reshape(m, part(a, pairs, 1, 1), r, shape);
    rotate_pair(a, &p, &q, c, s);
    shape[r] = 1;
    p = cr_make_reshape(m, p, r + 1, shape), q = cr_make_reshape(m, q, r + 1, shape);
    return cr_make_reshape(m, cr_make_concat(m, 2, (cr_id[]){p, q}, r), r, back);
}

/* Returns x cos + (-second half, first half) sin, where cos and sin are tables of whole rows. */
static cr_id rotate_by_tables(struct model *a, cr_id x, cr_id c, cr_id s)
{
    struct cr_maker *m = a->m;
    int last = cr_node_of(m, x)->rank - 1;
    int64_t n = cr_size_of(m, x, -1);
    cr_id halves[] = {cr_make1(m, CR_OP_neg, part(a, x, n / 2, n / 2)), part(a, x, 0, n / 2)};
    int axis = cr_node_of(m, c)->rank - 1;
    c = cr_make_like(m, cr_make_concat(m, 2, (cr_id[]){c, c}, axis), x);
    s = cr_make_like(m, cr_make_concat(m, 2, (cr_id[]){s, s}, axis), x);
    cr_id y = cr_make_concat(m, 2, halves, last);
    return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, x, c), cr_make2(m, CR_OP_mul, y, s));
}

/* Returns x [.., T, d] after a rotary embedding: row t is rotated by the angles of position t or, with `own`,
 * by angles that the layer computes.  `way` says which columns form pairs; from 4 on, only the first half of
 * the columns is rotated. */
static cr_id rotated(struct model *a, cr_id x, int way, bool own)
{
    struct cr_maker *m = a->m;
    int64_t d = cr_size_of(m, x, -1), n = way >= 4 && d % 4 == 0 ? d / 2 : d;
    if (d % 2)
        return x;
    cr_id at = own ? own_angles(a, n / 2) : angles(a, n / 2), c = cr_make1(m, CR_OP_cos, at),
          s = cr_make1(m, CR_OP_sin, at);
    cr_id y = n == d ? x : part(a, x, 0, n);
    int last = cr_node_of(m, x)->rank - 1;
    if (way % 4 == 0) {
        cr_id p = part(a, y, 0, n / 2), q = part(a, y, n / 2, n / 2);
        rotate_pair(a, &p, &q, c, s);
        y = cr_make_concat(m, 2, (cr_id[]){p, q}, last);
    } else {
        y = way % 4 == 1 ? rotate_by_tables(a, y, c, s) : rotate_adjacent(a, y, c, s);
    }
    return n == d ? y : cr_make_concat(m, 2, (cr_id[]){y, part(a, x, n, d - n)}, last);
}

/* Returns x with positions: plus rows of a table, plus sines, or times a function of the position;
 * or x unchanged. */
static cr_id with_positions(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t ahead = cr_below(m, 4), rows[2] = {a->T + ahead, a->C};
    struct cr_attr attr = {.rank = 1, .shape = {a->T}};
    switch (cr_below(m, 7)) {
    case 0:
    case 1: {
        cr_id table = weight(a, 2, rows, 1);
        return cr_make2(
            m, CR_OP_add, x,
            cr_make_like(m, cr_make_slice(m, table, 0, cr_below(m, ahead + 1), a->T), x));
    }
    case 2: {
        cr_id at = cr_make(m, CR_OP_iota, 0, NULL, &attr);
        if (ahead)
            at = cr_make_with(m, CR_OP_add, at, (double)ahead);
        cr_id table = weight(a, 2, rows, 1);
        return cr_make2(m, CR_OP_add, x, cr_make_like(m, cr_make2(m, CR_OP_gather, table, at), x));
    }
    case 3:
        return cr_make2(m, CR_OP_add, x,
                        cr_make_like(m, cr_make1(m, CR_OP_sin, angles(a, a->C)), x));
    case 4: {
        cr_id at = cr_make1(m, CR_OP_float, cr_make_iota(m, x, 1));
        return cr_make2(m, CR_OP_mul, x,
                        cr_make_with(m, CR_OP_add, cr_make_with(m, CR_OP_mul, at, 0.01), 1));
    }
    default:
        return x;
    }
}

/* Adds the embeddings of an encoder to x: for segments, and for positions, which count all tokens
 * or only tokens other than id 1. */
static cr_id with_encoder_positions(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    if (cr_chance(m, 30)) {
        cr_id types = cr_make_integers(m, 2, (int64_t[]){a->B, a->T}, 0, 1);
        x = cr_make2(m, CR_OP_add, x,
                     cr_make2(m, CR_OP_gather, weight(a, 2, (int64_t[]){2, a->C}, 1), types));
    }
    if (cr_chance(m, 75))
        return with_positions(a, x);
    cr_id there = cr_make1(m, CR_OP_int, cr_make_with(m, CR_OP_ne, a->ids, 1));
    cr_id at = cr_make(m, CR_OP_cumsum, 1, &there, &(struct cr_attr){.axis = 1});
    at = cr_make_with(m, CR_OP_add, cr_make2(m, CR_OP_mul, at, there), 1);
    cr_id table = weight(a, 2, (int64_t[]){a->T + 2, a->C}, 1);
    return cr_make2(m, CR_OP_add, x, cr_make2(m, CR_OP_gather, table, at));
}

/* ---- masks ---- */

/* Returns the mask of the tokens that are not padding, bool [B, T]: it comes from an input, from
 * the number of tokens of each text, or from the ids. */
static cr_id without_padding(struct model *a)
{
    struct cr_maker *m = a->m;
    const int64_t shape[] = {a->B, a->T};
    switch (cr_below(m, 5)) {
    case 0: /* an input of which few elements count as tokens */
        return cr_make_with(m, CR_OP_gt, cr_make_integers(m, 2, shape, -3, 1), 0);
    case 1: {
        cr_id n = cr_make_integers(m, 2, (int64_t[]){a->B, 1}, 0, (int)a->T);
        return cr_make2(m, CR_OP_lt, cr_make_iota(m, a->ids, 1), cr_make_like(m, n, a->ids));
    }
    case 2:
        return cr_make_with(m, CR_OP_ne, a->ids, 1);
    default:
        return cr_make_with(m, CR_OP_ne, cr_make_integers(m, 2, shape, 0, 1), 0);
    }
}

/* Returns an encoder's mask, a bool of the shape of `like`: true for keys near the query, for keys that are not
 * padding, or for keys that are both. */
static cr_id sees_around(struct model *a, cr_id like, int query, int key)
{
    struct cr_maker *m = a->m;
    int64_t shape[CR_MAX_RANK] = {a->B, 1, 1, 1};
    cr_id there = CR_NONE;
    shape[key] = a->T;
    if (a->present != CR_NONE)
        there = cr_make_like(
            m, cr_make_reshape(m, a->present, cr_node_of(m, like)->rank, shape), like);
    if (there != CR_NONE && cr_chance(m, 65))
        return there;
    cr_id q = cr_make_iota(m, like, query), k = cr_make_iota(m, like, key), near;
    cr_id way = cr_make2(m, CR_OP_sub, q, k);
    double before = (double)cr_below(m, a->T + 1), behind = (double)cr_below(m, a->T + 1);
    switch (cr_below(m, 3)) {
    case 0:
        near = cr_make_with(m, CR_OP_le, cr_make1(m, CR_OP_abs, way), before);
        break;
    case 1:
        near = cr_make2(m, CR_OP_logical_and, cr_make_with(m, CR_OP_le, way, before),
                        cr_make_with(m, CR_OP_ge, way, -behind));
        break;
    default:
        near = cr_make2(m, CR_OP_le, k, cr_make_with(m, CR_OP_add, q, behind));
        near = cr_make2(m, CR_OP_logical_and, near, cr_make_with(m, CR_OP_lt, way, before + 1));
    }
    return there == CR_NONE ? near : cr_make2(m, CR_OP_logical_and, near, there);
}

/* Returns a mask, a bool [T, T] or of the scores' shape: the keys that a query sees. */
static cr_id sees(struct model *a, cr_id like, int query, int key)
{
    struct cr_maker *m = a->m;
    if (a->encoder)
        return sees_around(a, like, query, key);
    cr_id q = cr_make_iota(m, like, query), k = cr_make_iota(m, like, key);
    double window = 1 + (double)cr_below(m, a->T + 2);
    cr_id past;
    switch (cr_below(m, 4)) {
    case 0:
        past = cr_make2(m, CR_OP_ge, q, k);
        break;
    case 1:
        past = cr_make1(m, CR_OP_logical_not, cr_make2(m, CR_OP_gt, k, q));
        break;
    case 2:
        past = cr_make_with(m, CR_OP_ge, cr_make2(m, CR_OP_sub, q, k), 0);
        break;
    default:
        past = cr_make2(m, CR_OP_le, k, q);
    }
    if (cr_chance(m, 3)) /* a query sees the next key, too */
        return cr_make2(m, CR_OP_le, k, cr_make_with(m, CR_OP_add, q, 1));
    if (cr_chance(m, 65))
        return past;
    cr_id near = cr_make_with(m, CR_OP_lt, cr_make2(m, CR_OP_sub, q, k), window);
    if (cr_chance(m, 40))
        near = cr_make2(m, CR_OP_logical_or, near,
                        cr_make_with(m, CR_OP_lt, k, 1 + (double)cr_below(m, 3)));
    else if (cr_chance(m, 15)) /* a query sees its own key and every third one */
        near = cr_make2(m, CR_OP_logical_or, cr_make2(m, CR_OP_eq, k, q),
                        cr_make_with(m, CR_OP_eq, cr_make_with(m, CR_OP_remainder, k, 3), 0));
    return cr_make2(m, CR_OP_logical_and, past, near);
}

/* Returns a node with the axes of the mask only (queries, keys, and texts if they have padding), or
 * the scores: iotas get its shape. */
static cr_id like_mask(struct model *a, cr_id scores)
{
    struct cr_attr attr = {.dtype = CR_F32, .rank = 2, .shape = {a->T, a->T}};
    if (a->present != CR_NONE)
        attr = (struct cr_attr){.dtype = CR_F32, .rank = 4, .shape = {a->B, 1, a->T, a->T}};
    if (cr_chance(a->m, 50) || attr.rank > cr_node_of(a->m, scores)->rank)
        return scores;
    return cr_make(a->m, CR_OP_const, 0, NULL, &attr);
}

/* Hides scores.  Repeated products of a token's values make scores beyond 1e9, which a mask of that
 * size does not hide (docs/ir.md). */
static cr_id masked(struct model *a, cr_id scores, bool transposed)
{
    static const double hides[] = {-INFINITY, -INFINITY, -INFINITY, -1e9, -1e30, -3e38};
    struct cr_maker *m = a->m;
    if (a->encoder && a->present == CR_NONE && cr_chance(m, 60))
        return scores;
    cr_id like = like_mask(a, scores);
    int r = cr_node_of(m, like)->rank;
    cr_id mask = sees(a, like, transposed ? r - 1 : r - 2, transposed ? r - 2 : r - 1);
    double least = hides[cr_below(m, 6)], low = a->products ? -1e30 : -1e10;
    if (a->products && least > low)
        least = low;
    if (cr_chance(m, 60))
        return cr_make_select(m, cr_make_like(m, mask, scores), scores,
                              cr_make_const(m, scores, least));
    if (cr_chance(m, 20)) { /* GPT-2's own way to hide scores */
        cr_id b = cr_make_like(m, cr_make1(m, CR_OP_float, mask), scores);
        cr_id no =
            cr_make_with(m, CR_OP_mul, cr_make2(m, CR_OP_sub, cr_make_const(m, b, 1), b), low);
        return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, scores, b), no);
    }
    cr_id zero = cr_make_const(m, like, 0);
    cr_id bias = cr_make_select(m, mask, zero, cr_make_const(m, like, least));
    return cr_make2(m, CR_OP_add, scores, cr_make_like(m, bias, scores));
}

/* Adds a bias that depends on the distance of query and key: a slope for each head (ALiBi), or a
 * row of a table. */
static cr_id with_distance(struct model *a, cr_id scores)
{
    struct cr_maker *m = a->m;
    struct cr_attr attr = {.rank = 2, .shape = {a->T, a->T}, .axis = 0};
    int r = cr_node_of(m, scores)->rank;
    cr_id q = cr_make(m, CR_OP_iota, 0, NULL, &attr);
    attr.axis = 1;
    cr_id way = cr_make2(m, CR_OP_sub, q, cr_make(m, CR_OP_iota, 0, NULL, &attr));
    int64_t heads = r > 2 ? cr_size_of(m, scores, -3) : 1;
    if (cr_chance(m, 50)) {
        cr_id slope = cr_make_reshape(m, vector(a, heads, 0.5), 3, (int64_t[]){heads, 1, 1});
        cr_id far = cr_make_like(m, cr_make1(m, CR_OP_float, way), scores);
        if (r == 3)
            return cr_make2(m, CR_OP_sub, scores, cr_make_with(m, CR_OP_mul, far, 0.25));
        return cr_make2(m, CR_OP_sub, scores,
                        cr_make2(m, CR_OP_mul, cr_make_like(m, slope, scores), far));
    }
    way = cr_make_with(m, CR_OP_minimum, cr_make_with(m, CR_OP_maximum, way, 0), 6);
    cr_id table = weight(a, 2, (int64_t[]){7, heads}, 1);
    cr_id bias = cr_make_permute(m, cr_make2(m, CR_OP_gather, table, way), (int64_t[]){2, 0, 1});
    return cr_make2(m, CR_OP_add, scores,
                    r == 3 ? cr_make_like(m, cr_make_reshape(m, bias, 2, attr.shape), scores)
                           : cr_make_like(m, bias, scores));
}

/* Returns a bias [H, T, T] from a table with a row for each bucket of distances (T5); a list or a formula gives the
 * bucket of a distance. */
static cr_id bucket_bias(struct model *a)
{
    struct cr_maker *m = a->m;
    struct cr_attr square = {.rank = 2, .shape = {a->T, a->T}, .axis = 1};
    cr_id k = cr_make(m, CR_OP_iota, 0, NULL, &square);
    cr_id way = cr_make2(m, CR_OP_sub, k, cr_make_swap(m, k));
    cr_id rows = weight(a, 2, (int64_t[]){16, a->H}, 1);
    if (cr_chance(m, 40)) {
        way = cr_make_with(m, CR_OP_minimum, cr_make_with(m, CR_OP_maximum, way, -8), 7);
        rows = cr_make2(m, CR_OP_gather, rows, cr_make_with(m, CR_OP_add, way, 8));
        return cr_make_permute(m, rows, (int64_t[]){2, 0, 1});
    }
    uint32_t words[512];
    int64_t most = a->T - 1, n = 2 * most + 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t far = i < most ? most - i : i - most;
        int64_t bucket = far < 4 ? far : far < 12 ? 4 + (far - 4) / 4 : 7;
        words[i] = (uint32_t)(i > most ? bucket + 8 : bucket);
    }
    struct cr_attr list = {.dtype = CR_I32, .rank = 1, .shape = {n}};
    list.value = cr_add_literal(m->g, &(struct cr_literal){CR_I32, n, words});
    rows = cr_make2(m, CR_OP_gather, rows, cr_make(m, CR_OP_literal, 0, NULL, &list));
    rows = cr_make2(m, CR_OP_gather, rows, cr_make_with(m, CR_OP_add, way, (double)most));
    return cr_make_permute(m, rows, (int64_t[]){2, 0, 1});
}

/* Returns a bias [H, T, T] that falls with the distance to either side, by a slope for each head (ALiBi). */
static cr_id distance_bias(struct model *a)
{
    struct cr_maker *m = a->m;
    struct cr_attr cube = {.dtype = CR_F32, .rank = 3, .shape = {a->H, a->T, a->T}};
    cr_id like = cr_make(m, CR_OP_const, 0, NULL, &cube), slopes;
    cr_id far = cr_make1(m, CR_OP_abs, cr_make2(m, CR_OP_sub, cr_make_iota(m, like, 2), cr_make_iota(m, like, 1)));
    if (cr_chance(m, 30)) {
        slopes = cr_make_like(m, weight(a, 3, (int64_t[]){a->H, 1, 1}, 1), like);
    } else {
        slopes = cr_make1(m, CR_OP_float, cr_make_iota(m, like, 0));
        slopes = cr_make1(m, CR_OP_exp, cr_make_with(m, CR_OP_mul, cr_make_with(m, CR_OP_add, slopes, 1), -0.5));
    }
    return cr_make1(m, CR_OP_neg, cr_make2(m, CR_OP_mul, cr_make1(m, CR_OP_float, far), slopes));
}

/* Returns rows of the table for distances 0, 1, ... to one side, projected for all heads: [T,
 * n]. */
static cr_id side_of(struct model *a, cr_id w, double sign)
{
    struct cr_maker *m = a->m;
    int64_t span = cr_size_of(m, a->distances, 0) / 2;
    struct cr_attr attr = {.rank = 1, .shape = {a->T}};
    cr_id at = cr_make_with(m, CR_OP_mul, cr_make(m, CR_OP_iota, 0, NULL, &attr), sign);
    at = cr_make_with(m, CR_OP_maximum, cr_make_with(m, CR_OP_add, at, (double)span), 0);
    at = cr_make_with(m, CR_OP_minimum, at, (double)(2 * span - 1));
    return product(a, cr_make2(m, CR_OP_gather, a->distances, at), w, cr_size_of(m, w, 1));
}

/* Adds to scores [B, H, T, T] products of queries or keys x [B, H, T, d] with rows by distance,
 * gathered from the products with the rows of all distances. */
static cr_id with_products_by_distance(struct model *a, cr_id s, cr_id x, bool by_key)
{
    struct cr_maker *m = a->m;
    int64_t T = a->T, H = a->H, d = cr_size_of(m, x, -1);
    cr_id w = weight(a, 2, (int64_t[]){a->C, H * d}, 1 / sqrt((double)a->C)), sides[2];
    struct cr_attr square = {.rank = 2, .shape = {T, T}, .axis = 1};
    cr_id k = cr_make(m, CR_OP_iota, 0, NULL, &square), q = cr_make_swap(m, k);
    cr_id away = cr_make_like(m, cr_make1(m, CR_OP_abs, cr_make2(m, CR_OP_sub, q, k)), s);
    for (int i = 0; i < 2; i++) {
        cr_id rows = cr_make_reshape(m, side_of(a, w, i ? -1 : 1), 4, (int64_t[]){1, T, H, d});
        rows = cr_make_permute(m, rows, (int64_t[]){0, 2, 3, 1});
        rows = cr_make(m, CR_OP_expand, 1, &rows,
                       &(struct cr_attr){.rank = 4, .shape = {a->B, H, d, T}});
        cr_id in[] = {cr_make2(m, CR_OP_matmul, x, rows), away};
        sides[i] = cr_make(m, CR_OP_take, 2, in, &(struct cr_attr){.axis = 3});
        sides[i] = by_key ? cr_make_swap(m, sides[i]) : sides[i];
    }
    cr_id past = cr_make_like(m, cr_make2(m, CR_OP_ge, q, k), s);
    return cr_make2(m, CR_OP_add, s, cr_make_select(m, past, sides[0], sides[1]));
}

/* Adds to scores [B, H, T, T] products of queries or keys x [B, H, T, d] with rows gathered by
 * distance. */
static cr_id with_rows_by_distance(struct model *a, cr_id s, cr_id x, bool by_key)
{
    struct cr_maker *m = a->m;
    int64_t T = a->T, H = a->H, d = cr_size_of(m, x, -1);
    cr_id w = weight(a, 2, (int64_t[]){a->C, H * d}, 1 / sqrt((double)a->C));
    struct cr_attr square = {.rank = 2, .shape = {T, T}, .axis = 1};
    cr_id k = cr_make(m, CR_OP_iota, 0, NULL, &square), q = cr_make_swap(m, k);
    cr_id away = cr_make1(m, CR_OP_abs, cr_make2(m, CR_OP_sub, q, k));
    cr_id behind = cr_make2(m, CR_OP_gather, side_of(a, w, 1), away);
    cr_id before = cr_make2(m, CR_OP_gather, side_of(a, w, -1), away);
    cr_id past = cr_make_reshape(m, cr_make2(m, CR_OP_ge, q, k), 3, (int64_t[]){T, T, 1});
    cr_id rows = cr_make_select(m, cr_make_like(m, past, behind), behind, before);
    rows = cr_make_reshape(m, rows, 5, (int64_t[]){1, T, T, H, d});
    rows = cr_make_permute(m, rows, (int64_t[]){0, 3, 1, 2, 4});
    struct cr_attr all = {.rank = 5, .shape = {a->B, H, T, T, d}};
    x = cr_make_reshape(m, x, 5, (int64_t[]){a->B, H, by_key ? 1 : T, by_key ? T : 1, d});
    cr_id products = cr_make2(m, CR_OP_mul, cr_make(m, CR_OP_expand, 1, &x, &all),
                              cr_make(m, CR_OP_expand, 1, &rows, &all));
    cr_id sums = cr_make_fold(m, CR_OP_sum, products, 4);
    return cr_make2(m, CR_OP_add, s, cr_make_reshape(m, sums, 4, (int64_t[]){a->B, H, T, T}));
}

/* ---- attention ---- */

/* Splits x [B, T, n d] into heads [B, n, T, d], with the columns in one of two orders. */
static cr_id heads_of(struct model *a, cr_id x, int64_t n, bool inside)
{
    struct cr_maker *m = a->m;
    int64_t d = cr_size_of(m, x, -1) / n;
    if (inside) {
        cr_id y = cr_make_reshape(m, x, 4, (int64_t[]){a->B, a->T, d, n});
        return cr_make_permute(m, y, (int64_t[]){0, 3, 1, 2});
    }
    cr_id y = cr_make_reshape(m, x, 4, (int64_t[]){a->B, a->T, n, d});
    return cr_make_permute(m, y, (int64_t[]){0, 2, 1, 3});
}

/* Projects x [B, T, C] to heads [B, n, T, d] by a matrix for each head. */
static cr_id by_heads(struct model *a, cr_id x, int64_t n)
{
    struct cr_maker *m = a->m;
    int64_t C = cr_size_of(m, x, -1);
    cr_id w = weight(a, 3, (int64_t[]){n, C, a->d}, 1 / sqrt((double)C));
    cr_id rows = cr_make_reshape(m, x, 4, (int64_t[]){a->B, 1, a->T, C});
    rows = cr_make(m, CR_OP_expand, 1, &rows,
                   &(struct cr_attr){.rank = 4, .shape = {a->B, n, a->T, C}});
    w = cr_make(m, CR_OP_expand, 1, &w, &(struct cr_attr){.rank = 4, .shape = {a->B, n, C, a->d}});
    return cr_make2(m, CR_OP_matmul, rows, w);
}

/* Mixes attention weights [B, H, queries, keys] across heads by a matrix. */
static cr_id exchanged(struct model *a, cr_id p)
{
    struct cr_maker *m = a->m;
    cr_id y = cr_make_permute(m, p, (int64_t[]){0, 2, 3, 1});
    y = product(a, y, weight(a, 2, (int64_t[]){a->H, a->H}, 0.5), a->H);
    return cr_make_permute(m, y, (int64_t[]){0, 3, 1, 2});
}

/* Repeats keys or values of G heads for all H heads. */
static cr_id for_all_heads(struct model *a, cr_id x, bool apart)
{
    struct cr_maker *m = a->m;
    int64_t n = cr_size_of(m, x, 1), d = cr_size_of(m, x, -1);
    if (n == a->H)
        return x;
    if (n == 1 && apart)
        return cr_make(m, CR_OP_expand, 1, &x,
                       &(struct cr_attr){.rank = 4, .shape = {a->B, a->H, a->T, d}});
    int64_t wide[] = {a->B, n, a->H / n, a->T, d};
    cr_id y = cr_make_reshape(m, x, 5, (int64_t[]){a->B, n, 1, a->T, d});
    struct cr_attr attr = {.rank = 5};
    memcpy(attr.shape, wide, sizeof wide);
    y = cr_make(m, CR_OP_expand, 1, &y, &attr);
    return cr_make_reshape(m, y, 4, (int64_t[]){a->B, a->H, a->T, d});
}

/* Computes queries, keys and values, by separate projections or as parts of one. */
static void project(struct model *a, cr_id x, cr_id *qkv)
{
    const int64_t n[3] = {a->H * a->d, a->G * a->d, a->G * a->d};
    if (cr_chance(a->m, 25)) {
        cr_id all = linear(a, x, n[0] + n[1] + n[2]);
        for (int64_t i = 0, start = 0; i < 3; start += n[i++])
            qkv[i] = part(a, all, start, n[i]);
        return;
    }
    for (int i = 0; i < 3; i++)
        qkv[i] = linear(a, x, n[i]);
    if (cr_chance(a->m, 6))
        qkv[2] = qkv[1];
}

/* Prepares heads of queries or keys: a norm and rotary positions in either order, with products
 * before or after. */
static cr_id prepared(struct model *a, cr_id x, bool norm, bool first, int way, bool own)
{
    bool before = cr_chance(a->m, a->products / 2), behind = cr_chance(a->m, a->products / 2);
    if (norm && first)
        x = cr_make_norm(a->m, x, 3);
    if (before)
        x = rows_with_product(a, x);
    if (way >= 0)
        x = rotated(a, x, way, own);
    if (behind)
        x = rows_with_product(a, x);
    return norm && !first ? cr_make_norm(a->m, x, 3) : x;
}

/* Applies the ops that stand between scores and softmax. */
static cr_id scored(struct model *a, cr_id s, bool transposed)
{
    struct cr_maker *m = a->m;
    double scale = 1 / sqrt((double)a->d);
    if (cr_chance(m, 70))
        s = cr_chance(m, 50) ? cr_make_with(m, CR_OP_mul, s, scale)
                             : cr_make_with(m, CR_OP_div, s, 1 / scale);
    if (cr_chance(m, 15))
        s = cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_tanh, cr_make_with(m, CR_OP_div, s, 5)),
                         5);
    if (cr_chance(m, 20) && !transposed)
        s = with_distance(a, s);
    if (cr_chance(m, a->products / 2))
        s = scores_with_product(a, s, transposed);
    if (a->bias != CR_NONE)
        s = cr_make2(m, CR_OP_add, s,
                     cr_make_like(m, transposed ? cr_make_swap(m, a->bias) : a->bias, s));
    s = masked(a, s, transposed);
    return cr_chance(m, 5) ? cr_make_with(m, CR_OP_mul, s, 0.5) : s;
}

/* Returns a softmax along an axis; with padding, most often one that gives 0 to a query without
 * visible keys. */
static cr_id softmax(struct model *a, cr_id s, int axis)
{
    struct cr_maker *m = a->m;
    if (a->present == CR_NONE || cr_chance(m, 30))
        return cr_make_softmax(m, s, axis);
    cr_id top = cr_make1(m, CR_OP_detach, cr_make_fold(m, CR_OP_max, s, axis));
    cr_id none = cr_make_with(m, CR_OP_eq, top, -INFINITY);
    top = cr_make_select(m, none, cr_make_const(m, top, 0), top);
    cr_id e = cr_make1(m, CR_OP_exp, cr_make2(m, CR_OP_sub, s, cr_make_like(m, top, s)));
    cr_id total = cr_make_fold(m, CR_OP_sum, e, axis);
    none = cr_make_with(m, CR_OP_eq, total, 0);
    total = cr_make_select(m, none, cr_make_const(m, total, 1), total);
    return cr_make2(m, CR_OP_div, e, cr_make_like(m, total, e));
}

/* Returns attention weights computed from scores [B, H, queries, keys]. */
static cr_id weighted(struct model *a, cr_id s)
{
    struct cr_maker *m = a->m;
    int64_t way = cr_below(m, 20);
    if (way < 3)
        return cr_make_sink(m, s);
    if (way == 3)
        return cr_make1(m, CR_OP_sigmoid, s);
    if (way == 4) { /* no softmax: weights of hidden keys are 0 */
        cr_id like = like_mask(a, s);
        int r = cr_node_of(m, like)->rank;
        cr_id seen = cr_make1(m, CR_OP_float, sees(a, like, r - 2, r - 1));
        return cr_make2(m, CR_OP_mul, cr_make_with(m, CR_OP_maximum, s, 0),
                        cr_make_like(m, seen, s));
    }
    return softmax(a, s, 3);
}

static cr_id transposed_softmax(struct model *a, cr_id q, cr_id k)
{
    struct cr_maker *m = a->m;
    cr_id s = scored(a, cr_make2(m, CR_OP_matmul, k, cr_make_swap(m, q)), true);
    return cr_make_swap(m, softmax(a, s, 2));
}

/* Concatenates heads [B, H, T, d] to [B, T, H d]. */
static cr_id merged(struct model *a, cr_id y)
{
    struct cr_maker *m = a->m;
    int64_t n = cr_size_of(m, y, 1) * cr_size_of(m, y, -1);
    y = cr_make_permute(m, y, (int64_t[]){0, 2, 1, 3});
    return cr_make_reshape(m, y, 3, (int64_t[]){a->B, a->T, n});
}

static cr_id attention(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    cr_id qkv[3];
    bool inside = cr_chance(m, 10), apart = cr_chance(m, 50), first = cr_chance(m, 50);
    int way = cr_chance(m, 65) ? (int)cr_below(m, 8) : -1;
    bool norms = cr_chance(m, a->norms);
    bool own = cr_chance(m, a->products / 2);
    a->source = x;
    a->layer_angles = CR_NONE;
    project(a, x, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = maybe_with_product(a, qkv[i], x);
    if (cr_chance(m, 10))
        qkv[0] = cr_make_norm(m, qkv[0], 2);
    cr_id q = prepared(a, heads_of(a, qkv[0], a->H, inside), norms, first, way, own);
    cr_id k = heads_of(a, qkv[1], a->G, inside), v = heads_of(a, qkv[2], a->G, inside);
    if (cr_chance(m, 5))
        k = by_heads(a, x, a->G);
    k = prepared(a, k, norms && cr_chance(m, 90), first, way, own);
    if (cr_chance(m, a->products / 2))
        v = rows_with_product(a, v);
    if (cr_chance(m, 10))
        q = cr_make_with(m, CR_OP_mul, q, 0.3);
    k = for_all_heads(a, k, apart), v = for_all_heads(a, v, apart);
    cr_id p;
    if (cr_chance(m, 8)) {
        p = transposed_softmax(a, q, k);
    } else {
        cr_id (*by_distance)(struct model *, cr_id, cr_id, bool) =
            cr_chance(m, 50) ? with_rows_by_distance : with_products_by_distance;
        cr_id s = cr_make2(m, CR_OP_matmul, q, cr_make_swap(m, k));
        if (a->distances != CR_NONE && cr_chance(m, 80))
            s = by_distance(a, s, q, false);
        if (a->distances != CR_NONE && cr_chance(m, 60))
            s = by_distance(a, s, k, true);
        p = weighted(a, scored(a, s, false));
    }
    if (cr_chance(m, 8)) { /* less a second softmax */
        cr_id other = cr_make2(m, CR_OP_matmul, cr_make1(m, CR_OP_tanh, q), cr_make_swap(m, k));
        other = softmax(a, scored(a, other, false), 3);
        p = cr_make2(m, CR_OP_sub, p, cr_make_with(m, CR_OP_mul, other, 0.3));
    }
    if (cr_chance(m, 5))
        p = exchanged(a, p);
    cr_id y = merged(a, cr_make2(m, CR_OP_matmul, p, v));
    if (cr_chance(m, 10))
        y = cr_make2(m, CR_OP_mul, y, cr_make1(m, CR_OP_sigmoid, linear(a, x, a->H * a->d)));
    return cr_chance(m, 85) || a->H * a->d != a->C ? linear(a, y, a->C) : y;
}

/* ---- other ways to read earlier tokens, and later ones ---- */

/* Multiplies x [B, T, C] by its elements at the indices of its largest ones, as the language
 * writes gather(x, index, 3). */
static cr_id own_elements(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t T = a->B * a->T, C = cr_size_of(m, x, -1), flat[] = {T * C}, grid[] = {T, 1, 1};
    cr_id at =
        cr_make1(m, CR_OP_int, cr_make_with(m, CR_OP_mul, cr_make_fold(m, CR_OP_max, x, 2), 1.5));
    if (T < 2 || C < 2)
        return x;
    cr_id index = cr_make_reshape(m, at, 3, grid);
    cr_id inside = cr_make2(m, CR_OP_logical_and, cr_make_with(m, CR_OP_ge, index, 0),
                            cr_make_with(m, CR_OP_lt, index, (double)C));
    cr_id number = cr_make_with(m, CR_OP_mul, cr_make_iota(m, index, 0), (double)C);
    number = cr_make2(m, CR_OP_add, index, number);
    number = cr_make_select(m, inside, number, cr_make_const(m, number, -1));
    cr_id taken = cr_make2(m, CR_OP_gather, cr_make_reshape(m, x, 1, flat), number);
    taken = cr_make_reshape(m, taken, 3, (int64_t[]){a->B, a->T, 1});
    taken =
        cr_make_select(m, cr_make_with(m, CR_OP_lt, taken, 100), taken, cr_make_const(m, taken, 1));
    return cr_make2(m, CR_OP_mul, x, cr_make_like(m, taken, x));
}

/* Combines x [B, T, C] with earlier tokens: their mean or maximum, running sums, a shift, elements
 * gathered by index. */
static cr_id reads_earlier_tokens(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    struct cr_attr square = {.dtype = CR_F32, .rank = 3, .shape = {a->B, a->T, a->T}};
    cr_id like = cr_make(m, CR_OP_const, 0, NULL, &square);
    switch (cr_below(m, 10)) {
    case 8:
    case 9:
        return own_elements(a, x);
    case 0:
    case 1: { /* the mean of the visible values */
        cr_id seen = cr_make1(m, CR_OP_float, sees(a, like, 1, 2));
        cr_id n = cr_make_with(m, CR_OP_add, cr_make_fold(m, CR_OP_sum, seen, 2), 1);
        seen = cr_make2(m, CR_OP_div, seen, cr_make_like(m, n, seen));
        return cr_make2(m, CR_OP_matmul, seen, x);
    }
    case 2: { /* the largest of the visible values */
        if (a->B * a->T * a->T * a->C > 20000)
            return x;
        cr_id rows = cr_make_reshape(m, x, 4, (int64_t[]){a->B, 1, a->T, a->C});
        struct cr_attr all = {.rank = 4, .shape = {a->B, a->T, a->T, a->C}};
        rows = cr_make(m, CR_OP_expand, 1, &rows, &all);
        cr_id seen = sees(a, rows, 1, 2);
        rows = cr_make_select(m, seen, rows, cr_make_const(m, rows, -INFINITY));
        return cr_make_reshape(m, cr_make_fold(m, CR_OP_max, rows, 2), 3,
                               (int64_t[]){a->B, a->T, a->C});
    }
    case 3: /* scores computed directly from the tokens */
        return cr_make2(
            m, CR_OP_matmul,
            cr_make_softmax(m, masked(a, cr_make2(m, CR_OP_matmul, x, cr_make_swap(m, x)), false),
                            2),
            x);
    case 4: /* running sums over tokens, which the incremental form refuses */
        return cr_make(m, CR_OP_cumsum, 1, &x, &(struct cr_attr){.axis = 1});
    case 5: /* running sums over each token's own elements */
        return cr_make(m, CR_OP_cumsum, 1, &x, &(struct cr_attr){.axis = 2});
    case 6: { /* a shift by one token, which the incremental form refuses */
        if (a->T == 1)
            return x;
        cr_id none = cr_make_const(m, cr_make_slice(m, x, 1, 0, 1), 0);
        return cr_make_concat(m, 2, (cr_id[]){none, cr_make_slice(m, x, 1, 0, a->T - 1)}, 1);
    }
    default: /* a sum over all tokens, so the model is not causal */
        return cr_make_like(m, cr_make_fold(m, CR_OP_sum, x, 1), x);
    }
}

/* ---- layers ---- */

static cr_id feed_forward(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t inner = 2 + cr_below(m, 40);
    int64_t way = cr_below(m, 10);
    cr_id y = linear(a, x, inner);
    if (way < 4) {
        y = cr_make2(m, CR_OP_mul, cr_recipe_activation(m, y), linear(a, x, inner));
    } else if (way == 4) { /* the expert with the larger gate, of two */
        cr_id gates = linear(a, x, 2), other = linear(a, x, inner);
        cr_id first = cr_make2(m, CR_OP_ge, part(a, gates, 0, 1), part(a, gates, 1, 1));
        y = cr_make_select(m, cr_make_like(m, first, y), y, other);
    } else {
        y = cr_recipe_activation(m, y);
    }
    return linear(a, y, a->C);
}

/* Returns x after a norm, or of some encoders times a weight plus a bias (MobileBERT); or x. */
static cr_id normed(struct model *a, cr_id x, bool there)
{
    struct cr_maker *m = a->m;
    if (!there || !a->encoder || cr_chance(m, 90))
        return there ? cr_make_norm(m, x, 2) : x;
    return biased(a, cr_make2(m, CR_OP_mul, x, cr_make_like(m, vector(a, cr_size_of(m, x, -1), 1), x)));
}

/* Adds a layer: norms before or after its parts, and two parts, sequential or parallel. */
static cr_id layer(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    bool before = cr_chance(m, 65), behind = cr_chance(m, before ? 15 : 60);
    bool besides = cr_chance(m, 15), feeds = cr_chance(m, 70);
    cr_id in = normed(a, x, before);
    a->multiplied = CR_NONE;
    cr_id y = cr_chance(m, 10) ? reads_earlier_tokens(a, in) : attention(a, in);
    y = maybe_with_product(a, y, in);
    y = normed(a, y, behind && cr_chance(m, 50));
    cr_id x2 = cr_chance(m, 85) ? cr_make2(m, CR_OP_add, x, y) : y;
    if (!before && behind)
        x2 = normed(a, x2, cr_chance(m, 60));
    if (!feeds)
        return x2;
    cr_id in2 = besides ? in : normed(a, x2, before);
    y = maybe_with_product(a, feed_forward(a, in2), in2);
    if (cr_chance(m, 10))
        y = cr_make2(m, CR_OP_mul, y, cr_make_like(m, vector(a, a->C, 1), y));
    return normed(a, cr_make2(m, CR_OP_add, x2, y), behind && !before);
}

/* Adds a layer that computes in fewer numbers than it passes on (MobileBERT). */
static cr_id narrow_layer(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t C = a->C;
    a->C = 1 + cr_below(m, C);
    cr_id y = layer(a, linear(a, x, a->C));
    a->C = C;
    return cr_make2(m, CR_OP_add, x, linear(a, y, C));
}

/* Adds layers: equal ones with separate or partly shared weights, or each of its own kind. */
static cr_id layers(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int n = 1 + (int)cr_below(m, MOST_LAYERS);
    bool alike = cr_chance(m, 60);
    uint64_t seed = cr_next(m);
    a->shared = cr_chance(m, 70) ? 0 : cr_chance(m, 50) ? ~(uint64_t)0 : cr_next(m);
    for (int i = 0; i < n; i++) {
        a->next = 0;
        a->later = i > 0 && alike;
        if (alike)
            m->state = seed;
        x = a->encoder && a->distances == CR_NONE && cr_chance(m, 15) ? narrow_layer(a, x) : layer(a, x);
    }
    m->state = seed ^ 1;
    a->later = false;
    return x;
}

/* Returns logits: by a separate matrix, or by the embedding table (tied weights). */
static cr_id head(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    int64_t words = cr_size_of(m, a->table, 0);
    cr_id y = cr_chance(m, 40) ? product(a, x, cr_make_swap(m, a->table), words)
                               : linear(a, x, 3 + cr_below(m, 40));
    if (cr_chance(m, 15))
        y = cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_tanh, cr_make_with(m, CR_OP_div, y, 3)),
                         3);
    return cr_chance(m, 10) ? cr_make_softmax(m, y, 2) : y;
}

static void choose_sizes(struct model *a)
{
    static const int64_t tokens[] = {2, 3, 5, 7, 7, 9, 11, 13, 17, 19, 23, 29, 31, 37};
    static const int64_t texts[] = {1, 1, 1, 2, 5, 5}, widths[] = {1, 2, 4, 4, 6, 8, 8, 16};
    struct cr_maker *m = a->m;
    a->T = cr_chance(m, 2) ? 131 + cr_below(m, 20) : tokens[cr_below(m, 14)];
    a->B = a->T > 40 ? 1 : texts[cr_below(m, 6)];
    do {
        a->G = 1 + cr_below(m, cr_chance(m, 40) ? 5 : 2);
        a->H = a->G * (1 + cr_below(m, cr_chance(m, 40) ? 9 : 3));
        a->d = widths[cr_below(m, 8)];
    } while (a->B * a->H * a->T * a->T * a->d > 60000 && a->H * a->d > 1);
    a->C = cr_chance(m, 60) ? a->H * a->d : 1 + cr_below(m, 34);
    a->norms = cr_chance(m, 50) ? 10 : 70;
    a->biases = cr_chance(m, 30) ? 0 : cr_chance(m, 50) ? 45 : 100;
    a->products = cr_chance(m, 40) ? 0 : cr_chance(m, 50) ? 20 : 60;
}

/* Adds outputs in the order of their names: logits, and in rare cases a product of values, or the
 * hidden states, or a second head. */
static void add_outputs(struct model *a, cr_id logits, cr_id hidden)
{
    struct cr_maker *m = a->m;
    bool beside = cr_chance(m, 30), product = beside && a->last_product != CR_NONE;
    if (product && cr_chance(m, 50))
        cr_add_output(m->g, "head", linear(a, a->last_product, 3));
    if (beside && cr_chance(m, 40))
        cr_add_output(m->g, "hidden", hidden);
    cr_add_output(m->g, CR_LOGITS, logits);
    if (product && cr_chance(m, 50))
        cr_add_output(m->g, "product", a->last_product);
}

/* ---- vectors of texts ---- */

/* Returns [B, 1, C]: the last token that is not padding of each text of x [B, T, C]. */
static cr_id last_token(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    cr_id at = cr_make_iota(m, a->ids, 1);
    if (a->present != CR_NONE)
        at = cr_make_select(m, a->present, at, cr_make_const(m, at, 0));
    at = cr_make_reshape(m, cr_make_fold(m, CR_OP_max, at, 1), 1, &a->B);
    if (a->B > 1)
        at = cr_make2(m, CR_OP_add, at,
                      cr_make_with(m, CR_OP_mul, cr_make_iota(m, at, 0), (double)a->T));
    cr_id rows = cr_make_reshape(m, x, 2, (int64_t[]){a->B * a->T, a->C});
    return cr_make_reshape(m, cr_make2(m, CR_OP_gather, rows, at), 3, (int64_t[]){a->B, 1, a->C});
}

/* Returns [B, 1, C], the mean of the tokens of x [B, T, C] that are not padding, with equal weights or with larger
 * ones for later tokens. */
static cr_id mean_of_tokens(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    cr_id one = cr_make_const(m, cr_make_slice(m, x, 2, 0, 1), 1), weights = one;
    if (a->present != CR_NONE)
        weights = cr_make_reshape(m, cr_make1(m, CR_OP_float, a->present), 3,
                                  (int64_t[]){a->B, a->T, 1});
    if (cr_chance(m, 25)) {
        cr_id at = cr_make1(m, CR_OP_float, cr_make_iota(m, one, 1));
        weights = cr_make2(m, CR_OP_mul, weights, cr_make_with(m, CR_OP_add, at, 1));
    }
    cr_id total = cr_make_fold(m, CR_OP_sum, weights, 1);
    if (cr_chance(m, 70))
        total = cr_make_with(m, CR_OP_maximum, total, 1e-9);
    if (cr_chance(m, 15))
        total = cr_make1(m, CR_OP_sqrt, total);
    if (weights != one)
        x = cr_make2(m, CR_OP_mul, x, cr_make_like(m, weights, x));
    cr_id sum = cr_make_fold(m, CR_OP_sum, x, 1);
    return cr_make2(m, CR_OP_div, sum, cr_make_like(m, total, sum));
}

/* Returns one vector [B, 1, C] for each text of x [B, T, C]. */
static cr_id pooled(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    switch (cr_below(m, 6)) {
    case 0:
    case 1:
        return cr_make_slice(m, x, 1, 0, 1);
    case 2:
        return last_token(a, x);
    case 3:
        if (a->present != CR_NONE) {
            cr_id there = cr_make_reshape(m, a->present, 3, (int64_t[]){a->B, a->T, 1});
            x = cr_make_select(m, cr_make_like(m, there, x), x, cr_make_const(m, x, -INFINITY));
        }
        return cr_make_fold(m, CR_OP_max, x, 1);
    default:
        return mean_of_tokens(a, x);
    }
}

/* Returns the output of an encoder for tokens x [B, T, C]: a vector for each text, perhaps
 * normalized to length 1, or scores of classes. */
static cr_id vector_of_text(struct model *a, cr_id x)
{
    struct cr_maker *m = a->m;
    cr_id y = pooled(a, x);
    if (cr_chance(m, 40))
        y = cr_make1(m, CR_OP_tanh, linear(a, y, a->C));
    if (cr_chance(m, 35))
        y = linear(a, y, 1 + cr_below(m, 9));
    if (cr_chance(m, 40)) {
        cr_id length = cr_make_fold(m, CR_OP_sum, cr_make2(m, CR_OP_mul, y, y), 2);
        length = cr_make_with(m, CR_OP_maximum, cr_make1(m, CR_OP_sqrt, length), 1e-12);
        y = cr_make2(m, CR_OP_div, y, cr_make_like(m, length, y));
    }
    return cr_make_reshape(m, y, 2, (int64_t[]){a->B, cr_size_of(m, y, -1)});
}

/* Draws the properties that all layers of an encoder share. */
static void begin_encoder(struct model *a)
{
    struct cr_maker *m = a->m;
    if (cr_chance(m, 55))
        a->present = without_padding(a);
    if (cr_chance(m, 30))
        a->bias = cr_chance(m, 40) ? distance_bias(a) : bucket_bias(a);
    if (cr_chance(m, 15))
        a->distances = weight(a, 2, (int64_t[]){2 * (1 + cr_below(m, 6)), a->C}, 1);
}

void cr_make_model(struct cr_maker *m)
{
    struct model a = {.m = m,
                      .last_product = CR_NONE,
                      .present = CR_NONE,
                      .bias = CR_NONE,
                      .distances = CR_NONE,
                      .encoder = cr_chance(m, 35)};
    choose_sizes(&a);
    struct cr_attr attr = {.dtype = CR_I32, .rank = 2, .shape = {a.B, a.T}, .name = CR_IDS};
    a.ids = cr_make(m, CR_OP_input, 0, NULL, &attr);
    a.table = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){4 + cr_below(m, 30), a.C}, 1);
    if (a.encoder)
        begin_encoder(&a);
    cr_id x = cr_make2(m, CR_OP_gather, a.table, a.ids);
    if (cr_chance(m, 15))
        x = cr_make_with(m, CR_OP_mul, x, sqrt((double)a.C));
    x = a.encoder ? with_encoder_positions(&a, x) : with_positions(&a, x);
    x = normed(&a, x, cr_chance(m, a.encoder ? 60 : 15));
    x = layers(&a, x);
    a.multiplied = CR_NONE;
    cr_id last = normed(&a, x, cr_chance(m, 70));
    last = maybe_with_product(&a, last, last);
    if (a.encoder && cr_chance(m, 70)) {
        cr_add_output(m->g, "embedding", vector_of_text(&a, last));
        if (cr_chance(m, 30))
            cr_add_output(m->g, "hidden", last);
        return;
    }
    cr_id logits = head(&a, last);
    add_outputs(&a, logits, cr_chance(m, 50) ? x : last);
}
