/*
 * gpt2_block - a model compiled to C by Crescent.
 *
 * In this order: what the kernels call, sizes, the kernels k1_ ..., the function that runs
 * them, the parameters, the functions of gpt2_block.h, the runtime, and its template at
 * the end.  A main that reads .safetensors and .npy files is compiled by
 *     cc -O2 -DGPT2_BLOCK_MAIN THIS_FILE -lm
 */
#ifndef CR_ISA /* else the file includes itself, for the template at its end */
#if defined(GPT2_BLOCK_MAIN) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "gpt2_block.h"

/* ---- what the kernels call ---- */

/* types.h - the types and constants of generated code, except for the functions of the runtime. */
enum {
    CR_PANEL = 32,     /* columns of a packed panel */
    CR_SUM_BLOCK = 256 /* the length of the chains that a sum over k is split into; see runtime.h */
};

#define CR_MINUS_INFINITY (-1.0f / 0.0f)

/* y = op(a, ...) on a tile; y may be the same tile as an operand. */
typedef void cr_map1(long rows, long cols, float *y, long ldy, const float *a, long lda);
typedef void cr_map2(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb);
typedef void cr_map3(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb, const float *c, long ldc);

/* y[r] = the reduction of the row a[r, :]; for an empty row, the identity. */
typedef void cr_reduce(long rows, long cols, float *y, const float *a, long lda);

/* The body of a parallel loop: processes the items begin <= i < end with its own scratch memory. */
typedef void cr_body(const void *args, long begin, long end, float *scratch);

struct cr_pool;

/*
 * Runs `body` over the items 0 <= i < items, divided into contiguous shares: at most `shares`, and
 * no more than the pool has threads.  If the pool is null, the calling thread does all of them.
 * Share t uses scratch + t * scratch_stride.  Returns when all items are done.
 */
typedef void cr_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                         const void *args, float *scratch, long scratch_stride);

/* The functions for one instruction set that this model needs.  A tile is a matrix of rows x
 * cols floats: element (r, c) of y is y[r * ldy + c].  The letters behind the name of an
 * elementwise op say which operands are tiles (v), and which have one value a row (s): b[r *
 * ldb]. */
struct cr_runtime {
    const char *isa;
    cr_parallel *parallel;
    cr_map1 *rsqrt_v;
    cr_map2 *add_vv;
    cr_map2 *add_vs;
    cr_map2 *sub_vs;
    cr_map2 *mul_vv;
    cr_map2 *mul_vs;
    cr_map2 *div_vs;
    cr_map3 *fma_vvv;
    cr_reduce *sum;
    /* y[r, c] = x[r * rs + c * cs] */
    void (*load)(long rows, long cols, float *y, long ldy, const float *x, long rs, long cs);
    /* Prefetches rows of x, rs apart. */
    void (*fetch)(long rows, long cols, const float *x, long rs);
    /* y = a sigmoid(b), with the bits of sigmoid followed by mul */
    void (*mul_sigmoid)(long rows, long cols, float *y, long ldy, const float *a, long lda,
        const float *b, long ldb);
    /* y = a fma(cube, a a, slope), which is about cube a^3 + slope a */
    void (*odd_cubic)(long rows, long cols, float *y, long ldy, const float *a, long lda,
        float cube, float slope);
    /* y[r, c] = value for c outside begin + r <= c < end + r */
    void (*hide)(long rows, long cols, float *y, long ldy, long begin, long end, float value);
    /* 1 if no x[r * rs + c * cs] is NaN or infinite, else 0 */
    int (*finite)(long rows, long cols, const float *x, long rs, long cs);
    /* Packs a K x N matrix, element (k, n) at b[k * rs + n * cs], into panels of CR_PANEL columns: panel
     * p begins at y + p * panel_stride, holds the columns from p * CR_PANEL on, row after row, and pads
     * columns past N with zeros. panel_stride is at least K * CR_PANEL floats. */
    void (*pack)(long K, long N, float *y, long panel_stride, const float *b, long rs, long cs);
    /* Like pack, but by non-temporal stores that bypass the caches, for data that is not read soon. y
     * and the panels after it must be aligned to 64 bytes. */
    void (*pack_stream)(long K, long N, float *y, long panel_stride, const float *b, long rs,
        long cs);
    /* c[M, N] = start[M, N] + a[M, K] b[K, N] + bias[N].  Element (m, k) of a is a[m * rs + k * cs]; b is
     * packed; row m of start begins at start + m * lds; start and bias may be null.  The sum of each
     * CR_SUM_BLOCK k is a chain of fma that starts at zero; these sums are added to start, in order, then
     * the bias to the total.  So a product in parts of whole blocks, each of which starts with the result
     * of the part before, has the same bits.  `columns`, the width of tiles (2 to 4 vectors, or 0 for the
     * default), and `ahead`, the prefetch distance in floats of weights, change only the speed. */
    void (*gemm)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
        long panel_stride, float *c, long ldc, const float *start, long lds, const float *bias,
        long columns, long ahead);
    /* c[m, :] = c[m, :] * scale[m] + a b, where K is at most CR_SUM_BLOCK. For k outside begin + m <= k
     * < end + m, a[m, k] is 0 and b is finite, so those products may be skipped.  Skipping could only
     * change the sign of a zero, and zeros are stored as +0. */
    void (*gemm_scaled)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
        long panel_stride, float *c, long ldc, const float *scale, long begin, long end,
        long columns, long ahead);
    /* c[m, n] = (a b)[m, n] for begin + m <= n < end + m; other elements may or may not be computed. */
    void (*gemm_band)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
        long panel_stride, float *c, long ldc, long begin, long end);
    /* One block of an online softmax over columns (Milakov & Gimelshein 2018): s[r, c] is the score of
     * query c for key r.  On entry m and l hold the running maximum and sum of each query (-inf and 0 at
     * first); factor is positive.
     *     m' = max(m, factor max_r s[r, c]);  scale = exp(m - m')
     *     s = exp(fma(factor, s, -m'));  l = fma(l, scale, sum_r s[r, c]);  m = m'
     * The order of the sum is that of a row reduction of s transposed.  A query that has seen only -inf
     * so far gets s = 0 and scale = 1. */
    void (*softmax_block)(long rows, long cols, float *s, long lds, float factor, float *m,
        float *l, float *scale);
};

/* ---- the model ---- */

enum { B = 2, T = 8, N_EMBD = 48, N_HEAD = 3 }; /* options of the script */
enum { CR_AHEAD = 16384 }; /* floats between a weight that is read and the prefetched one */
enum { HEAD_DIM = N_EMBD / N_HEAD }; /* columns of a head's queries and keys */

/*
 * k1_attn_c_attn: attn.c_attn, graphs/gpt2_block.lua:16
 * out[B, T, 3 * N_EMBD] = rows[B * T, N_EMBD] x columns[N_EMBD, 3 * N_EMBD]
 * each row first: sum, div, sub, mul, sum, div, add, rsqrt, mul, fma
 * then: add
 * 221.2 kflop, reads 31.68 kB, writes 9.216 kB
 */
enum { K1_COLUMNS = 128 }; /* of an item */
struct k1_args {
    const struct cr_runtime *rt;
    const float *attn_c_attn_bias; /* [3 * N_EMBD] */
    const float *x; /* [B, T, N_EMBD] */
    const float *ln_1_weight; /* [N_EMBD] */
    const float *ln_1_bias; /* [N_EMBD] */
    const float *attn_c_attn_weight; /* [N_EMBD, 3 * N_EMBD], packed */
    float *out; /* [B, T, 3 * N_EMBD] */
};

static void k1_attn_c_attn(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const rows = scratch; /* rows of the left operand */
    /* [B * T], one number a row */
    float *const sum = scratch + 768, *const mean = sum, *const sum2 = sum, *const variance = sum,
        *const variance_eps = sum, *const rsqrt = sum;
    float *const centered = scratch + 784, *const normalized = centered; /* [B * T, N_EMBD] */
    float *const centered_square = scratch + 1552; /* [B * T, N_EMBD] */
    for (long item = begin; item < end; item++) {
        const long col0 = item * K1_COLUMNS; /* the item's first column */
        const long col1 = col0 + K1_COLUMNS < 3 * N_EMBD ? col0 + K1_COLUMNS : 3 * N_EMBD;
        /* once for all items that have these rows */
        if (item == begin) {
            /* ln_1 */
            rt->sum(B * T, N_EMBD, sum, a->x, N_EMBD);
            rt->div_vs(1, B * T, mean, 0, sum, 0, &(const float){N_EMBD}, 0);
            rt->sub_vs(B * T, N_EMBD, centered, N_EMBD, a->x, N_EMBD, mean, 1);
            rt->mul_vv(B * T, N_EMBD, centered_square, N_EMBD, centered, N_EMBD, centered, N_EMBD);
            rt->sum(B * T, N_EMBD, sum2, centered_square, N_EMBD);
            rt->div_vs(1, B * T, variance, 0, sum2, 0, &(const float){N_EMBD}, 0);
            rt->add_vs(1, B * T, variance_eps, 0, variance, 0, &(const float){1e-05f}, 0);
            rt->rsqrt_v(1, B * T, rsqrt, 0, variance_eps, 0);
            rt->mul_vs(B * T, N_EMBD, normalized, N_EMBD, centered, N_EMBD, rsqrt, 1);
            rt->fma_vvv(B * T, N_EMBD, rows, N_EMBD, normalized, N_EMBD, a->ln_1_weight, 0,
                a->ln_1_bias, 0);
        }
        const long n = col1 - col0;
        rt->gemm(B * T, n, N_EMBD, rows, N_EMBD, 1, a->attn_c_attn_weight + col0 * N_EMBD,
            N_EMBD * CR_PANEL, a->out + col0, 3 * N_EMBD, 0, 0, a->attn_c_attn_bias + col0, 0,
            CR_AHEAD);
    }
}

/*
 * k2_attn_y: attn.y, graphs/gpt2_block.lua:16
 * out[B, T, N_EMBD] = softmax(q[T, HEAD_DIM] x k[HEAD_DIM, T]) x v[T, HEAD_DIM] for each head
 * scores times 0.25, 1 / sqrt(HEAD_DIM)
 * mask: query i sees keys j <= i
 * 13.82 kflop, reads 9.216 kB, writes 3.072 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *attn_c_attn; /* [B, T, 3 * N_EMBD] */
    float *out; /* [B, T, N_EMBD] */
};

static void k2_attn_y(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const values = scratch; /* packed values */
    float *const queries = scratch + 256; /* packed queries of a step */
    float *const scores = scratch + 768; /* a block of keys x queries */
    float *const sums = scratch + 1024; /* of exp(score - max) * value */
    float *const max = scratch + 1280; /* of a query's scores so far */
    float *const sum = scratch + 1296; /* of exp(score - max) so far */
    float *const scale = scratch + 1312; /* exp(old max - new max) */
    for (long item = begin; item < end; item++) {
        const long head = item % N_HEAD;
        const long batch = item / N_HEAD;
        /* 0 times NaN is NaN: hidden blocks are skipped only if all values are finite */
        const long finite = rt->finite(T, HEAD_DIM,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + head * HEAD_DIM + 2 * N_EMBD, 3 * N_EMBD,
            1);
        rt->pack(T, HEAD_DIM, values, T * CR_PANEL,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + head * HEAD_DIM + 2 * N_EMBD, 3 * N_EMBD,
            1);
        rt->load(1, T, max, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
        rt->load(1, T, sum, 0, &(const float){0.0f}, 0, 0);
        rt->load(T, HEAD_DIM, sums, CR_PANEL, &(const float){0.0f}, 0, 0);
        const long next_head = head + (head + 1 < N_HEAD); /* prefetched */
        rt->fetch(T, HEAD_DIM, a->attn_c_attn + batch * (3 * T * N_EMBD) + next_head * HEAD_DIM,
            3 * N_EMBD);
        rt->fetch(T, HEAD_DIM,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + next_head * HEAD_DIM + N_EMBD, 3 * N_EMBD);
        rt->fetch(T, HEAD_DIM,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + next_head * HEAD_DIM + 2 * N_EMBD,
            3 * N_EMBD);
        rt->pack(HEAD_DIM, T, queries, HEAD_DIM * CR_PANEL,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + head * HEAD_DIM, 1, 3 * N_EMBD);
        rt->gemm_band(T, T, HEAD_DIM,
            a->attn_c_attn + batch * (3 * T * N_EMBD) + head * HEAD_DIM + N_EMBD, 3 * N_EMBD, 1,
            queries, HEAD_DIM * CR_PANEL, scores, CR_PANEL, 0, T);
        rt->hide(T, T, scores, CR_PANEL, 0, T, CR_MINUS_INFINITY);
        rt->softmax_block(T, T, scores, CR_PANEL, 0.25f, max, sum, scale);
        rt->gemm_scaled(T, HEAD_DIM, T, scores, 1, CR_PANEL, values, T * CR_PANEL, sums, CR_PANEL,
            scale, -T, finite ? 1 : T, 0, 0);
        rt->div_vs(T, HEAD_DIM, a->out + batch * (T * N_EMBD) + head * HEAD_DIM, N_EMBD, sums,
            CR_PANEL, sum, 1);
    }
}

/*
 * k3_attn_residual: attn_residual, graphs/gpt2_block.lua:16
 * out[B, T, N_EMBD] = rows[B * T, N_EMBD] x columns[N_EMBD, N_EMBD]
 * then: add, add
 * 73.73 kflop, reads 15.55 kB, writes 3.072 kB
 */
enum { K3_COLUMNS = 32 }; /* of an item */
struct k3_args {
    const struct cr_runtime *rt;
    const float *x; /* [B, T, N_EMBD] */
    const float *attn_c_proj_bias; /* [N_EMBD] */
    const float *attn_y; /* [B, T, N_EMBD] */
    const float *attn_c_proj_weight; /* [N_EMBD, N_EMBD], packed */
    float *out; /* [B, T, N_EMBD] */
};

static void k3_attn_residual(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long col0 = item * K3_COLUMNS; /* the item's first column */
        const long col1 = col0 + K3_COLUMNS < N_EMBD ? col0 + K3_COLUMNS : N_EMBD;
        const long n = col1 - col0;
        rt->gemm(B * T, n, N_EMBD, a->attn_y, N_EMBD, 1, a->attn_c_proj_weight + col0 * N_EMBD,
            N_EMBD * CR_PANEL, a->out + col0, N_EMBD, 0, 0, a->attn_c_proj_bias + col0, 0,
            CR_AHEAD);
        rt->add_vv(B * T, n, a->out + col0, N_EMBD, a->x + col0, N_EMBD, a->out + col0, N_EMBD);
    }
}

/*
 * k4_mlp_act: mlp.act, graphs/gpt2_block.lua:16
 * out[B, T, 4 * N_EMBD] = rows[B * T, N_EMBD] x columns[N_EMBD, 4 * N_EMBD]
 * each row first: sum, div, sub, mul, sum, div, add, rsqrt, mul, fma
 * then: add, mul, fma, mul, sigmoid, mul
 * numbers: 1.59576912 is 2 sqrt(2 / pi), 0.0713548163 is 2 * 0.044715 sqrt(2 / pi)
 * 294.9 kflop, reads 41.09 kB, writes 12.29 kB
 */
enum { K4_COLUMNS = 128 }; /* of an item */
struct k4_args {
    const struct cr_runtime *rt;
    const float *mlp_c_fc_bias; /* [4 * N_EMBD] */
    const float *attn_residual; /* [B, T, N_EMBD] */
    const float *ln_2_weight; /* [N_EMBD] */
    const float *ln_2_bias; /* [N_EMBD] */
    const float *mlp_c_fc_weight; /* [N_EMBD, 4 * N_EMBD], packed */
    float *out; /* [B, T, 4 * N_EMBD] */
};

static void k4_mlp_act(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const rows = scratch; /* rows of the left operand */
    /* [B * T], one number a row */
    float *const sum = scratch + 768, *const mean = sum, *const sum2 = sum, *const variance = sum,
        *const variance_eps = sum, *const rsqrt = sum;
    float *const centered = scratch + 784, *const normalized = centered; /* [B * T, N_EMBD] */
    float *const centered_square = scratch + 1552; /* [B * T, N_EMBD] */
    float *const product = scratch + 2320; /* a tile of the product */
    float *const odd_cubic = scratch + 4368; /* [B * T, K4_COLUMNS] */
    for (long item = begin; item < end; item++) {
        const long col0 = item * K4_COLUMNS; /* the item's first column */
        const long col1 = col0 + K4_COLUMNS < 4 * N_EMBD ? col0 + K4_COLUMNS : 4 * N_EMBD;
        /* once for all items that have these rows */
        if (item == begin) {
            /* ln_2 */
            rt->sum(B * T, N_EMBD, sum, a->attn_residual, N_EMBD);
            rt->div_vs(1, B * T, mean, 0, sum, 0, &(const float){N_EMBD}, 0);
            rt->sub_vs(B * T, N_EMBD, centered, N_EMBD, a->attn_residual, N_EMBD, mean, 1);
            rt->mul_vv(B * T, N_EMBD, centered_square, N_EMBD, centered, N_EMBD, centered, N_EMBD);
            rt->sum(B * T, N_EMBD, sum2, centered_square, N_EMBD);
            rt->div_vs(1, B * T, variance, 0, sum2, 0, &(const float){N_EMBD}, 0);
            rt->add_vs(1, B * T, variance_eps, 0, variance, 0, &(const float){1e-05f}, 0);
            rt->rsqrt_v(1, B * T, rsqrt, 0, variance_eps, 0);
            rt->mul_vs(B * T, N_EMBD, normalized, N_EMBD, centered, N_EMBD, rsqrt, 1);
            rt->fma_vvv(B * T, N_EMBD, rows, N_EMBD, normalized, N_EMBD, a->ln_2_weight, 0,
                a->ln_2_bias, 0);
        }
        const long n = col1 - col0;
        rt->gemm(B * T, n, N_EMBD, rows, N_EMBD, 1, a->mlp_c_fc_weight + col0 * N_EMBD,
            N_EMBD * CR_PANEL, product, K4_COLUMNS, 0, 0, a->mlp_c_fc_bias + col0, 0, CR_AHEAD);
        /* mlp */
        rt->odd_cubic(B * T, n, odd_cubic, K4_COLUMNS, product, K4_COLUMNS, 0.071354814f,
            1.5957692f);
        rt->mul_sigmoid(B * T, n, a->out + col0, 4 * N_EMBD, product, K4_COLUMNS, odd_cubic,
            K4_COLUMNS);
    }
}

/*
 * k5_ffn_residual: ffn_residual, graphs/gpt2_block.lua:16
 * out[B, T, N_EMBD] = rows[B * T, 4 * N_EMBD] x columns[4 * N_EMBD, N_EMBD]
 * then: add, add
 * 294.9 kflop, reads 52.42 kB, writes 3.072 kB
 */
enum { K5_COLUMNS = 32 }; /* of an item */
struct k5_args {
    const struct cr_runtime *rt;
    const float *attn_residual; /* [B, T, N_EMBD] */
    const float *mlp_c_proj_bias; /* [N_EMBD] */
    const float *mlp_act; /* [B, T, 4 * N_EMBD] */
    const float *mlp_c_proj_weight; /* [4 * N_EMBD, N_EMBD], packed */
    float *out; /* [B, T, N_EMBD] */
};

static void k5_ffn_residual(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long col0 = item * K5_COLUMNS; /* the item's first column */
        const long col1 = col0 + K5_COLUMNS < N_EMBD ? col0 + K5_COLUMNS : N_EMBD;
        const long n = col1 - col0;
        rt->gemm(B * T, n, 4 * N_EMBD, a->mlp_act, 4 * N_EMBD, 1,
            a->mlp_c_proj_weight + col0 * (4 * N_EMBD), 4 * N_EMBD * CR_PANEL, a->out + col0,
            N_EMBD, 0, 0, a->mlp_c_proj_bias + col0, 0, CR_AHEAD);
        rt->add_vv(B * T, n, a->out + col0, N_EMBD, a->attn_residual + col0, N_EMBD, a->out + col0,
            N_EMBD);
    }
}

/* Computes the outputs. */
static int gpt2_block_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 6416; /* for each thread */
    float *const scratch = arena + 3840;
    const float *const in_x = inputs[0]; /* x[B, T, N_EMBD] */
    float *const out_y = outputs[0]; /* y[B, T, N_EMBD] */
    {
        const struct k1_args args = {
            .rt = rt,
            .attn_c_attn_bias = weights, /* attn.c_attn.bias[3 * N_EMBD] */
            .x = in_x, /* x[B, T, N_EMBD] */
            .ln_1_weight = weights + 144, /* ln_1.weight[N_EMBD] */
            .ln_1_bias = weights + 192, /* ln_1.bias[N_EMBD] */
            .attn_c_attn_weight = weights + 240, /* attn.c_attn.weight[N_EMBD, 3 * N_EMBD], packed */
            .out = arena, /* attn.c_attn[B, T, 3 * N_EMBD] */
        };
        rt->parallel(pool, (3 * N_EMBD + K1_COLUMNS - 1) / K1_COLUMNS, 2, k1_attn_c_attn, &args,
            scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .attn_c_attn = arena, /* attn.c_attn[B, T, 3 * N_EMBD] */
            .out = arena + 2304, /* attn.y[B, T, N_EMBD] */
        };
        rt->parallel(pool, B * N_HEAD, 1, k2_attn_y, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .x = in_x, /* x[B, T, N_EMBD] */
            .attn_c_proj_bias = weights + 7920, /* attn.c_proj.bias[N_EMBD] */
            .attn_y = arena + 2304, /* attn.y[B, T, N_EMBD] */
            .attn_c_proj_weight = weights + 7968, /* attn.c_proj.weight[N_EMBD, N_EMBD], packed */
            .out = arena + 3072, /* attn_residual[B, T, N_EMBD] */
        };
        rt->parallel(pool, (N_EMBD + K3_COLUMNS - 1) / K3_COLUMNS, 2, k3_attn_residual, &args,
            scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .mlp_c_fc_bias = weights + 11040, /* mlp.c_fc.bias[4 * N_EMBD] */
            .attn_residual = arena + 3072, /* attn_residual[B, T, N_EMBD] */
            .ln_2_weight = weights + 11232, /* ln_2.weight[N_EMBD] */
            .ln_2_bias = weights + 11280, /* ln_2.bias[N_EMBD] */
            .mlp_c_fc_weight = weights + 11328, /* mlp.c_fc.weight[N_EMBD, 4 * N_EMBD], packed */
            .out = arena, /* mlp.act[B, T, 4 * N_EMBD] */
        };
        rt->parallel(pool, (4 * N_EMBD + K4_COLUMNS - 1) / K4_COLUMNS, 2, k4_mlp_act, &args,
            scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .attn_residual = arena + 3072, /* attn_residual[B, T, N_EMBD] */
            .mlp_c_proj_bias = weights + 20544, /* mlp.c_proj.bias[N_EMBD] */
            .mlp_act = arena, /* mlp.act[B, T, 4 * N_EMBD] */
            .mlp_c_proj_weight = weights + 20592, /* mlp.c_proj.weight[4 * N_EMBD, N_EMBD], packed */
            .out = out_y, /* ffn_residual[B, T, N_EMBD] */
        };
        rt->parallel(pool, (N_EMBD + K5_COLUMNS - 1) / K5_COLUMNS, 2, k5_ffn_residual, &args,
            scratch, scratch_floats);
    }
    return 0;
}

/* ---- what the functions of the header call ---- */

#if GPT2_BLOCK_THREADS <= 1
#define CR_NO_THREADS
#endif
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_API static __attribute__((unused))
#else
#define CR_API static
#endif

/* select_runtime.h - selects the runtime for an instruction set of this machine. */

/*
 * Returns the runtime for "amx", "vnni", "avx512", "avx2", "neon" or "plain"; for a null name, the
 * fastest one of this machine.  Returns null if the machine lacks the instruction set, or if the
 * name is none of these.  If the processor has AMX, the process asks Linux for permission to use
 * tiles.
 */
CR_API const struct cr_runtime *cr_runtime_select(const char *isa);

/*
 * pool.h - a pool of threads that divide the items of a loop among them.
 *
 * If CR_NO_THREADS is defined, there is only the calling thread, and pthreads are not needed.
 */
#include <stddef.h>

enum { CR_MAX_THREADS = 1024 };

/* An upper bound of the bytes of a pool with so many threads, as a constant expression. */
#define CR_POOL_BYTES(threads) (256 * (threads))

/*
 * Makes a pool in the given memory.  The calling thread is one of the threads; there are fewer if
 * the system refuses to start more.  Returns null unless 1 <= threads <= CR_MAX_THREADS.
 */
CR_API struct cr_pool *cr_pool_init(void *memory, int threads);

/* Ends the threads of a pool made by cr_pool_init.  A process made by fork does not have the
 * threads of a pool, and must neither use nor stop a pool that it did not make itself. */
CR_API void cr_pool_stop(struct cr_pool *pool);

/* Returns the number of threads, including the calling one; 1 for a null pool. */
CR_API int cr_pool_threads(const struct cr_pool *pool);

/*
 * Runs the body over all items, as runtime.h describes for `parallel`.  Only one call at a time is
 * allowed: not from two threads at once, and not from inside a body.
 */
CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride);

/*
 * pack_weights.h - copies parameters into the layout that kernels read.
 *
 * Small parameters (norm gains, biases) are copied unchanged.  A weight matrix is packed into the
 * column panels of the matrix product (runtime.h); its strides tell whether it is transposed.
 * Several matrices can share the panels: [Wq Wk Wv] side by side.
 */

/*
 * Where the rows x cols elements of a parameter, or of a piece of it, are read and written.
 * Element (k, n) is read from tensor[source + k * row_stride + n * col_stride].  If panel_stride
 * is not 0, it is written to column first_col + n of the panels at weights + target, and a piece
 * with `last` fills the rest of its panel with zeros.  If panel_stride is 0, it is written to
 * weights[target + k * cols + n].
 */
struct cr_weight_layout {
    int param; /* the index of the parameter */
    long source, rows, cols, row_stride, col_stride;
    long target, panel_stride, first_col;
    int last;
};

/*
 * Packs a tensor, or a piece of it, in f32.  The functions that pack other formats take the same pieces.
 * A piece begins at a row that is a multiple of 32 and, unless it is the last one, has a multiple of 32
 * rows, so that it never splits a block of a format.  It may begin at any column of a panel.  `tensor`,
 * `source` and the strides describe the piece's own elements, and `target` is the position of its first
 * row.  Threads may pack pieces of one panel at the same time, in any order.
 */
CR_API void cr_pack_weight(const struct cr_runtime *rt, const struct cr_weight_layout *layout, const float *tensor,
                     float *weights);

/* ---- the functions of the header ---- */

const struct gpt2_block_param gpt2_block_params[] = {
    /* name, rank, shape, elements, offset in bytes */
    {"ln_1.weight", 1, {48L}, 48L, 576L},
    {"ln_1.bias", 1, {48L}, 48L, 768L},
    {"attn.c_attn.weight", 2, {48L, 144L}, 6912L, 960L},
    {"attn.c_attn.bias", 1, {144L}, 144L, 0L},
    {"attn.c_proj.weight", 2, {48L, 48L}, 2304L, 31872L},
    {"attn.c_proj.bias", 1, {48L}, 48L, 31680L},
    {"ln_2.weight", 1, {48L}, 48L, 44928L},
    {"ln_2.bias", 1, {48L}, 48L, 45120L},
    {"mlp.c_fc.weight", 2, {48L, 192L}, 9216L, 45312L},
    {"mlp.c_fc.bias", 1, {192L}, 192L, 44160L},
    {"mlp.c_proj.weight", 2, {192L, 48L}, 9216L, 82368L},
    {"mlp.c_proj.bias", 1, {48L}, 48L, 82176L},
};

/* Where elements of parameters are packed; see struct cr_weight_layout. */
static const struct cr_weight_layout layouts[] = {
    /* param, source, rows, cols, row_stride, col_stride, target, panel_stride,
     * first_col, last */
    {0, 0L, 1L, 48L, 0L, 1L, 144L, 0L, 0L, 0},
    {1, 0L, 1L, 48L, 0L, 1L, 192L, 0L, 0L, 0},
    {2, 0L, 48L, 144L, 144L, 1L, 240L, 1536L, 0L, 1},
    {3, 0L, 1L, 144L, 0L, 1L, 0L, 0L, 0L, 0},
    {4, 0L, 48L, 48L, 48L, 1L, 7968L, 1536L, 0L, 1},
    {5, 0L, 1L, 48L, 0L, 1L, 7920L, 0L, 0L, 0},
    {6, 0L, 1L, 48L, 0L, 1L, 11232L, 0L, 0L, 0},
    {7, 0L, 1L, 48L, 0L, 1L, 11280L, 0L, 0L, 0},
    {8, 0L, 48L, 192L, 192L, 1L, 11328L, 1536L, 0L, 1},
    {9, 0L, 1L, 192L, 0L, 1L, 11040L, 0L, 0L, 0},
    {10, 0L, 192L, 48L, 48L, 1L, 20592L, 6144L, 0L, 1},
    {11, 0L, 1L, 48L, 0L, 1L, 20544L, 0L, 0L, 0},
    {-1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
};

int gpt2_block_load(void *weights, int index, const float *tensor)
{
    const struct cr_runtime *rt = cr_runtime_select(0);
    const struct cr_weight_layout *p;
    if (!weights || !tensor || index < 0 || index >= GPT2_BLOCK_PARAMS)
        return 1;
    for (p = layouts; p->param >= 0; p++)
        if (p->param == index)
            cr_pack_weight(rt, p, tensor, (float *)weights);
    return 0;
}

/* ---- threads ---- */

struct gpt2_block_pool *gpt2_block_pool_start(void *memory, int threads)
{
    if (!memory || (size_t)memory % 64 || threads > GPT2_BLOCK_THREADS)
        return 0;
    return (struct gpt2_block_pool *)(void *)cr_pool_init(memory, threads);
}

void gpt2_block_pool_stop(struct gpt2_block_pool *pool)
{
    if (pool)
        cr_pool_stop((struct cr_pool *)(void *)pool);
}

static int gpt2_block_checked(struct cr_pool *pool, const void *weights, const void *const *inputs,
    void *const *outputs, void *arena)
{
    if (((size_t)weights | (size_t)arena) % 64 || !arena || !weights)
        return 1;
    if (!inputs[0] || !outputs[0])
        return 1;
    return gpt2_block_execute(cr_runtime_select(0), pool, (const float *)weights, inputs, outputs,
        (float *)arena);
}

int gpt2_block_run(const void *weights, const float *in_x, float *out_y, void *arena)
{
    const void *const inputs[] = {in_x};
    void *const outputs[] = {out_y};
    double memory[GPT2_BLOCK_POOL_BYTES / sizeof(double)];
    struct cr_pool *own = cr_pool_init(memory, GPT2_BLOCK_THREADS);
    int status = gpt2_block_checked((void *)own, weights, inputs, outputs, arena);
    if (own)
        cr_pool_stop(own);
    return status;
}

int gpt2_block_run_with(struct gpt2_block_pool *pool, const void *weights, const float *in_x, float *out_y, void *arena)
{
    const void *const inputs[] = {in_x};
    void *const outputs[] = {out_y};
    return gpt2_block_checked((void *)pool, weights, inputs, outputs, arena);
}

/* ---- the runtime ---- */

/*
 * The template at the end of this file is compiled once for each instruction set: the file
 * includes itself behind the vectors of each, which define CR_ISA.  Compilers that know
 * __FILE_NAME__ know what the file is called now; others need -DGPT2_BLOCK_FILE='"NAME.c"' if
 * it was renamed.
 */
#if defined(GPT2_BLOCK_FILE)
#define CR_TEMPLATE GPT2_BLOCK_FILE
#elif defined(__FILE_NAME__)
#define CR_TEMPLATE __FILE_NAME__
#else
#define CR_TEMPLATE "gpt2_block.c"
#endif
#ifdef __has_include
#if !__has_include(CR_TEMPLATE)
#error "this file includes itself: compile it by its name, or define GPT2_BLOCK_FILE as its path"
#endif
#endif

/* The functions of elementwise ops and reductions that the model needs. */
#define CR_VARIANTS \
    CR_FUNCTION(rsqrt_v, , ) CR_FUNCTION(add_vv, , ) CR_FUNCTION(add_vs, , ) CR_FUNCTION(sub_vs, , ) \
    CR_FUNCTION(mul_vv, , ) CR_FUNCTION(mul_vs, , ) CR_FUNCTION(div_vs, , ) CR_FUNCTION(fma_vvv, , ) \
    CR_FUNCTION(sum, , )

/* runtime.c - the functions of runtime.h for every instruction set, and their selection; see vector.h. */
#include <stddef.h>
#include <string.h>

/*
 * runtime.h - the functions that generated code calls.
 *
 * A *tile* is a matrix of `rows` x `cols` floats; row r begins at p + r * ld.  A row stride
 * (ld) of 0 repeats one row.  The name of a function has a letter for each operand: `v` for a
 * tile, `s` for an operand with one value for each row, which is p[r * ld] for row r.  A tile
 * of i32 has ints in place of floats; its functions are rt->i32->NAME.
 *
 * Same bits everywhere: each function below fixes the order of its floating-point
 * operations, whatever the instruction set.  The rounding error of one long
 * sum grows at least with the square root of its length, so long sums are made in blocks:
 *   - A dot product over k is split into blocks of 256 elements (CR_SUM_BLOCK).  The sum of a
 *     block is a chain of fused multiply-adds that starts at zero, in the order of k; the sums
 *     of the blocks are added in order.  What is added to a product, such as a bias, is added to the total.
 *   - A reduction uses 16 lanes: element i belongs to lane i % 16.  A block is 4096 elements,
 *     256 for each lane; each lane starts at the identity and combines its elements in order.
 *     The results of the blocks are combined in order, lane by lane.  Then lane l + 8 is
 *     combined into lane l, then l + 4, l + 2 and l + 1.
 */
/*
 * elementwise.h - the table of elementwise ops: OP(name, arity, rule, expression, description).
 *
 * An op's row defines everything except its gradient (compiler/ir/gradients.def).  `rule` gives the
 * element types of operands and result: enum cr_rule of compiler/ir/graph.h.
 *
 * `expression` is C over the operands a, b, c.  It is compiled for double, for float and for
 * vectors of floats: it may use + - * / and unary minus, and the CR_ functions that all of these
 * define.  A bool is 0.0 or 1.0.  For i32 it is compiled for unsigned integers, which wrap modulo
 * 2^32; the CR_ functions treat them as signed.
 */
#define CR_ELEMENTWISE(OP) \
    OP(rsqrt,   1, FLOAT,   CR_ONE / CR_SQRT(a), "1 / sqrt(a)") \
    OP(add,     2, ARITH,   a + b,              "a + b") \
    OP(sub,     2, ARITH,   a - b,              "a - b") \
    OP(mul,     2, ARITH,   a * b,              "a * b") \
    OP(div,     2, FLOAT,   a / b,              "a / b") \
    OP(fma,     3, FLOAT,   CR_FMA(a, b, c),    "a b + c, rounded once") \

/*
 * reductions.h - the table of reductions over one axis: OP(name, rule, identity, combine, description).
 *
 * A reduction's row defines everything except its gradient (compiler/ir/gradients.def).  `rule` gives the element
 * types that it accepts: enum cr_rule of compiler/ir/graph.h.
 *
 * `combine` is a C expression over a, the value so far, and b, an element or the value of other elements, in the form
 * of the expressions of elementwise.h.  It is commutative and, except for rounding, associative; runtime.h tells in
 * which order it is applied.  combine(identity, b) is b. CR_LOWEST and CR_HIGHEST are -inf and inf; for i32, -2^31
 * and 2^31 - 1.
 */
#define CR_REDUCTIONS(OP) \
    OP(sum, ARITH, 0,         a + b,        "the sum") \

/* The table of functions other than elementwise ops and reductions: CR_FUNCTION(name, result, parameters)
 * and a description, which an emitted file has at the members of struct cr_runtime.  A file that
 * runtime.inc includes defines each one as CR_NAME(cr_NAME). */
#define CR_FUNCTIONS \
    CR_FUNCTION(load, , ) \
    CR_FUNCTION(fetch, , ) \
    CR_FUNCTION(mul_sigmoid, , ) \
    CR_FUNCTION(odd_cubic, , ) \
    CR_FUNCTION(hide, , ) \
    CR_FUNCTION(finite, , ) \
    CR_FUNCTION(pack, , ) \
    CR_FUNCTION(pack_stream, , ) \
    CR_FUNCTION(gemm, , ) \
    CR_FUNCTION(gemm_scaled, , ) \
    CR_FUNCTION(gemm_band, , ) \
    CR_FUNCTION(softmax_block, , )

#define CR_MEMBERS CR_VARIANTS CR_FUNCTIONS

/*
 * vector.h - definitions that the templates for all instruction sets share.
 *
 * A template (*.inc) is written in terms of the vector types of vector_*.h and compiled once with
 * each of them.  It calls fma where it means one; the compiler must not fuse or reorder other
 * operations.
 */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || __FINITE_MATH_ONLY__
#error "options such as -ffast-math and -Ofast change the bits of results: this needs arithmetic as it is written"
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC optimize("fp-contract=off")
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__TINYC__)
#define CR_X86 1
#include <immintrin.h>
#else
#define CR_X86 0
#endif
#if defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !defined(__TINYC__)
#define CR_NEON 1
#include <arm_neon.h>
#else
#define CR_NEON 0
#endif
#include <math.h>
#include <stdint.h>

/* Declares functions that are always inlined and may be unused. */
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_INLINE static inline __attribute__((always_inline, unused))
#else
#define CR_INLINE static inline
#endif

/* A float and a 32-bit word that may alias elements of either type, f32 or i32. */
#if defined(__GNUC__) && !defined(__TINYC__)
typedef float __attribute__((may_alias)) cr_float;
#else
typedef float cr_float;
#endif

/* Pragmas that unroll loops: over a constant number of vectors, and over very many items. */
#if defined(__clang__)
#define CR_UNROLL _Pragma("clang loop unroll(full)")
#define CR_UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define CR_UNROLL _Pragma("GCC unroll 16")
#define CR_UNROLL_BY_4 _Pragma("GCC unroll 4")
#else
#define CR_UNROLL
#define CR_UNROLL_BY_4
#endif

/* 1.5 2^23.  For a small x, x + CR_ROUND has the integer n nearest to x in its low bits.  v_pow2(x
 * + CR_ROUND) returns 2^n, as it shifts n into the exponent. */
#define CR_ROUND 0x1.8p+23f
/* ln 2 as the sum of a float with few bits, whose small multiples are exact, and a remainder. */
#define CR_LN2_HIGH 0x1.62e4p-1f
#define CR_LN2_LOW 0x1.7f7d1cp-20f

/* Prefetches into all caches.  Hints for the second-level cache have less bandwidth on AMD's Zen 5,
 * most of all when memory is busy. */
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_PREFETCH(p) __builtin_prefetch(p, 0, 3)
#else
#define CR_PREFETCH(p) ((void)(p))
#endif

#define CR_LEAST(a, b) ((a) < (b) ? (a) : (b))
#define CR_MOST(a, b) ((a) > (b) ? (a) : (b))
#define CR_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum {
    CR_LANES = 16,    /* lanes of a row reduction */
    CR_LINE = 16,     /* floats of a cache line */
    CR_ROWS_AHEAD = 8, /* prefetch distance of pack, in rows */
    CR_COLUMNS_AHEAD = 64 /* prefetch distance of pack for columns, in floats */
};

/* The arguments of the gemm functions; see runtime.h.  The sums of row m are added to start + m * lds, then the
 * bias to these; start and bias may be null.  Results are written by non-temporal stores if `stream` is not 0. */
struct cr_product {
    long M, N, K;
    const float *a;
    long rs, cs;
    const float *b;
    long panel_stride;
    float *c;
    long ldc;
    const float *start;
    long lds;
    const float *bias;
    int stream;
    long columns, ahead;
    long next_panel; /* distance in floats from the weights of a panel to those that are read
                        next */
    long begin, end; /* row m of a is 0 outside begin + m <= k < end + m, and is skipped there;
                        begin = -M and end = K: no row is */
    const char *next; /* the address that the first tile of some columns prefetches, advanced by
                         `pace` bytes for each k */
    long next_step, pace; /* the tile below it begins next_step bytes later; see v_pace */
};

/* Computes `count` tiles of a product one below the other, the first at row m and column n. */
typedef void cr_tiles(const struct cr_product *p, long m, long n, long count);

/* The tiles of one width in vectors, by their height in rows. */
struct cr_tile_set {
    int height; /* the greatest height */
    cr_tiles *const *of_height;
};

/* y[r * ry + c * cy] = x[r * rx + c * cx] */
static void cr_copy_strided(long rows, long cols, cr_float *y, long ry, long cy, const cr_float *x,
                            long rx, long cx)
{
    for (long r = 0; r < rows; r++) {
        for (long c = 0; c < cols; c++) {
            y[r * ry + c * cy] = x[r * rx + c * cx];
        }
    }
}

static int cr_has_plain(void)
{
    return 1;
}

/* The template for each instruction set; the order matters. */
/*
 * vector_plain.h - the vectors of the template runtime.inc for plain C: one float.
 *
 * This is C for any compiler and any machine.  It defines, bit for bit, what the other instruction
 * sets must compute.
 */
/* Compiled with -O1 on x86: only processors without fma run these functions, and the fastest of
 * them wait for fma, which is emulated; -O2 would take half as long again to compile them. */
#if CR_X86 && defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#define CR_TARGET 1
#endif

#define CR_ISA "plain"
#define CR_NAME(name) name##_plain
#define VF float
#define CR_W 1 /* floats in a vector */
#define CR_MOST_ROWS 4 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 2 /* the preferred width of a tile */
#define CR_BESIDE 1 /* exponentials computed at the same time */
/* Tiles of 3 and 4 vectors have one row, as higher ones take long to compile. */
#define CR_TILES_2(T) CR_HEIGHTS_4(T, 2)
#define CR_TILES_4(T) T(1, 4)

#define v_load(p) (*(const cr_float *)(p))
#define v_store(p, x) ((void)(*(cr_float *)(p) = (x)))
#define v_stream(p, x) v_store(p, x)
#define v_stream_end() ((void)0)
#define v_set1(x) ((float)(x))
#define v_fma(a, b, c) fmaf(a, b, c)
#define v_lane0(x) (x)
#define v_fold(OP, x) ((void)0)
#define v_transpose(t) ((void)(t))

/* Load and store only the first n lanes; a vector of one lane is always whole. */
#define v_load_n(p, n) ((void)(n), v_load(p))
#define v_load_or(p, n, fill) ((void)(n), v_load(p))
#define v_store_n(p, x, n) ((void)(n), v_store(p, x))

#define v_nan_or(x, other) ((x) == (x) ? (other) : (x))
#define v_ordered_or(a, b, other) ((a) == (a) && (b) == (b) ? (other) : (a) + (b))

#define CR_ONE 1.0f
#define CR_ABS(a) fabsf(a)
#define CR_SQRT(a) sqrtf(a)
#define CR_EQ(a, b) ((a) == (b) ? 1.0f : 0.0f)
#define v_if_negative(a, b, c) ((a) < 0.0f ? (b) : (c))
#define CR_SELECT(a, b, c) ((a) != 0.0f ? (b) : (c))

/* A float, and access to its bits. */
union cr_bits {
    float f;
    uint32_t u;
};

/* Returns b if the operands are equal or unordered, like the instruction of x86. */
CR_INLINE float v_min_plain(float a, float b)
{
    return a < b ? a : b;
}

CR_INLINE float v_max_plain(float a, float b)
{
    return a > b ? a : b;
}

CR_INLINE float v_and_plain(float a, float b)
{
    union cr_bits x = {a}, y = {b};
    x.u &= y.u;
    return x.f;
}

CR_INLINE float v_or_plain(float a, float b)
{
    union cr_bits x = {a}, y = {b};
    x.u |= y.u;
    return x.f;
}

CR_INLINE float v_pow2_plain(float t)
{
    union cr_bits bits = {t};
    bits.u = (bits.u << 23) + 0x3f800000u;
    return bits.f;
}

#define v_min(a, b) v_min_plain(a, b)
#define v_max(a, b) v_max_plain(a, b)
#define v_and(a, b) v_and_plain(a, b)
#define v_or(a, b) v_or_plain(a, b)
#define v_pow2(t) v_pow2_plain(t)

#include CR_TEMPLATE

#if CR_X86
/* Processors with AVX2 have F16C; not every compiler can test for it. */
static int cr_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/*
 * vector_avx2.h - the vectors of the template runtime.inc for AVX2: 8 floats in a register.
 *
 * From here to vector_end.h, functions are compiled for AVX2, FMA and F16C, whatever the flags of
 * the compiler are.
 */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define CR_TARGET 1

#define CR_ISA "avx2"
#define CR_NAME(name) name##_avx2
#define VF __m256
#define CR_W 8
#define CR_MOST_ROWS 6 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 4 /* the preferred width of a tile: a panel of 32 columns */
#define CR_BESIDE 4 /* exponentials computed at the same time */
/* A product by a band needs no tiles of one vector: their fma wait for one another, so tiles of two
 * take as long. */
#define CR_TILES_2(T) CR_HEIGHTS_6(T, 2)
#define CR_TILES_4(T) CR_HEIGHTS_3(T, 4)

#define v_load(p) _mm256_loadu_ps(p)
/* Names the instruction explicitly: gcc, which may choose among three forms of fma, would move sums
 * between registers and memory. */
#define v_fma_into(sum, x, w)                                                                      \
    __asm__("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(x), "x"(w))
#define v_store(p, x) _mm256_storeu_ps(p, x)
#define v_stream(p, x) _mm256_stream_ps(p, x) /* a non-temporal store, to an aligned address */
#define v_stream_end() _mm_sfence()
#define v_set1(x) _mm256_set1_ps(x)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_min(a, b) _mm256_min_ps(a, b) /* b if either is NaN */
#define v_max(a, b) _mm256_max_ps(a, b) /* b if either is NaN */
#define v_nan_or(x, other) _mm256_blendv_ps(other, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q))
#define v_ordered_or(a, b, other)                                                                  \
    _mm256_blendv_ps(other, (a) + (b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q))
#define v_and(a, b) _mm256_and_ps(a, b)
#define v_or(a, b) _mm256_or_ps(a, b)

#define v_first(n) v_first_avx2((int)(n))
#define v_load_n(p, n) _mm256_maskload_ps(p, v_first(n))
#define v_load_or(p, n, fill) v_load_or_avx2(p, v_first(n), fill)
#define v_store_n(p, x, n) _mm256_maskstore_ps(p, v_first(n), x)

#define CR_ONE _mm256_set1_ps(1.0f)
#define CR_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm256_sqrt_ps(a)
#define CR_EQ(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ), CR_ONE)
#define CR_SELECT(a, b, c)                                                                         \
    _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_UQ))

/* Returns b in lanes where a < 0, else c. */
#define v_if_negative(a, b, c)                                                                     \
    _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_LT_OQ))

/* Returns a mask of the first n lanes. */
CR_INLINE __m256i v_first_avx2(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CR_INLINE __m256 v_load_or_avx2(const float *p, __m256i first, __m256 fill)
{
    return _mm256_blendv_ps(fill, _mm256_maskload_ps(p, first), _mm256_castsi256_ps(first));
}

CR_INLINE __m256 v_pow2_avx2(__m256 t)
{
    __m256i bits = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_set1_epi32(0x3f800000)));
}

/* Transposes 8 x 8 floats: first inside squares of 4 x 4, then the squares. */
CR_INLINE void v_transpose_avx2(__m256 *t)
{
    __m256d pair[8];
    CR_UNROLL
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_castps_pd(_mm256_unpacklo_ps(t[i], t[i + 1]));
        pair[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(t[i], t[i + 1]));
    }
    __m256 four[8];
    CR_UNROLL
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i], pair[i + 2]));
        four[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i], pair[i + 2]));
        four[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i + 1], pair[i + 3]));
        four[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i + 1], pair[i + 3]));
    }
    CR_UNROLL
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
    }
}

#define v_pow2(t) v_pow2_avx2(t)
#define v_transpose(t) v_transpose_avx2(t)

#define v_lane0(x) _mm256_cvtss_f32(x)

/* Reduces x: lane l is combined with lane l + 4, then l + 2, then l + 1 by OP; the result is in
 * lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, _mm256_permute2f128_ps(x, x, 0x11));                                             \
        x = OP(x, _mm256_permute_ps(x, 0xee));                                                     \
        x = OP(x, _mm256_permute_ps(x, 0x55));                                                     \
    } while (0)

#include CR_TEMPLATE

static int cr_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma");
}

/*
 * vector_avx512.h - the vectors of the template runtime.inc for AVX-512: 16 floats in a register.
 *
 * From here to vector_end.h, functions are compiled for AVX-512, whatever the flags of the compiler
 * are.
 */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma"))),    \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,fma")
#endif
#define CR_TARGET 1

#define CR_ISA "avx512"
#define CR_NAME(name) name##_avx512
#define VF __m512
#define CR_W 16
#define CR_MOST_ROWS 12 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS (__builtin_cpu_is("amd") ? 2 : 4) /* the preferred width of a tile */
#define CR_BESIDE 4 /* exponentials computed at the same time */
#define CR_TILES_1(T) CR_HEIGHTS_8(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_12(T, 2)
#define CR_TILES_4(T) CR_HEIGHTS_6(T, 4)

#define v_load(p) _mm512_loadu_ps(p)
#define v_store(p, x) _mm512_storeu_ps(p, x)
#define v_stream(p, x) _mm512_stream_ps(p, x) /* a non-temporal store, to an aligned address */
#define v_stream_end() _mm_sfence()
#define v_set1(x) _mm512_set1_ps(x)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define v_min(a, b) _mm512_min_ps(a, b) /* b if either is NaN */
#define v_max(a, b) _mm512_max_ps(a, b) /* b if either is NaN */
#define v_nan_or(x, other) _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x)
#define v_ordered_or(a, b, other)                                                                  \
    _mm512_mask_add_ps(other, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b)
#define v_and(a, b) _mm512_and_ps(a, b)
#define v_or(a, b) _mm512_or_ps(a, b)

#define v_first(n) ((__mmask16)((1u << (n)) - 1))
#define v_load_n(p, n) _mm512_maskz_loadu_ps(v_first(n), p)
#define v_load_or(p, n, fill) _mm512_mask_loadu_ps(fill, v_first(n), p)
#define v_store_n(p, x, n) _mm512_mask_storeu_ps(p, v_first(n), x)

#define CR_ONE _mm512_set1_ps(1.0f)
#define CR_ABS(a) _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm512_sqrt_ps(a)
#define CR_EQ(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), CR_ONE)
#define CR_SELECT(a, b, c)                                                                         \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ), c, b)

/* Returns b in lanes where a < 0, else c. */
#define v_if_negative(a, b, c)                                                                     \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_LT_OQ), c, b)

CR_INLINE __m512 v_pow2_avx512(__m512 t)
{
    __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(0x3f800000)));
}

/* Select quarters, of 128 bits each, of a and then of b: quarters 0 and 2, and quarters 1 and 3. */
#define CR_EVEN_QUARTERS(a, b) _mm512_shuffle_f32x4(a, b, 0x88)
#define CR_ODD_QUARTERS(a, b) _mm512_shuffle_f32x4(a, b, 0xdd)

/* Transposes 16 x 16 floats: first inside squares of 4 x 4, then the squares. */
CR_INLINE void v_transpose_avx512(__m512 *t)
{
    __m512d pair[16];
    CR_UNROLL
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_castps_pd(_mm512_unpacklo_ps(t[i], t[i + 1]));
        pair[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(t[i], t[i + 1]));
    }
    __m512 four[16];
    CR_UNROLL
    for (int i = 0; i < 16; i += 4) {
        four[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair[i], pair[i + 2]));
        four[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair[i], pair[i + 2]));
        four[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair[i + 1], pair[i + 3]));
        four[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair[i + 1], pair[i + 3]));
    }
    CR_UNROLL
    for (int i = 0; i < 4; i++) {
        __m512 even_top = CR_EVEN_QUARTERS(four[i], four[i + 4]);
        __m512 even_low = CR_EVEN_QUARTERS(four[i + 8], four[i + 12]);
        __m512 odd_top = CR_ODD_QUARTERS(four[i], four[i + 4]);
        __m512 odd_low = CR_ODD_QUARTERS(four[i + 8], four[i + 12]);
        t[i] = CR_EVEN_QUARTERS(even_top, even_low);
        t[i + 4] = CR_EVEN_QUARTERS(odd_top, odd_low);
        t[i + 8] = CR_ODD_QUARTERS(even_top, even_low);
        t[i + 12] = CR_ODD_QUARTERS(odd_top, odd_low);
    }
}

#define v_pow2(t) v_pow2_avx512(t)
#define v_transpose(t) v_transpose_avx512(t)
#define v_scale(x, t) _mm512_scalef_ps(x, t - v_set1(CR_ROUND)) /* x 2^n, rounded once, for t = n + CR_ROUND */

#define v_lane0(x) _mm512_cvtss_f32(x)

/* Reduces x: lane l is combined with lane l + 8, then l + 4, l + 2 and l + 1 by OP; the result is
 * in lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, _mm512_shuffle_f32x4(x, x, 0x4e));                                               \
        x = OP(x, _mm512_shuffle_f32x4(x, x, 0x55));                                               \
        x = OP(x, _mm512_permute_ps(x, 0xee));                                                     \
        x = OP(x, _mm512_permute_ps(x, 0x55));                                                     \
    } while (0)

#include CR_TEMPLATE
#endif

#if CR_NEON
/* Every aarch64 has NEON. */
static int cr_has_neon(void)
{
    return 1;
}

/*
 * vector_neon.h - the vectors of the template runtime.inc for NEON: 4 floats in a register.
 *
 * Every aarch64 has these instructions, so functions need no target attribute.  The 16 lanes of a
 * reduction are four registers.
 */
#define CR_ISA "neon"
#define CR_NAME(name) name##_neon
#define VF float32x4_t
#define CR_W 4
#define CR_MOST_ROWS 12 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 4 /* the preferred width of a tile */
#define CR_BESIDE 4 /* exponentials computed at the same time */
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_12(T, 2)
#define CR_TILES_4(T) CR_HEIGHTS_6(T, 4)

/* A vector that may alias any element, and is aligned only as an element is. */
typedef float32x4_t __attribute__((may_alias, aligned(4))) cr_floats_4;

#define v_load(p) (*(const cr_floats_4 *)(p))
#define v_store(p, x) ((void)(*(cr_floats_4 *)(p) = (x)))
#define v_stream(p, x) v_store(p, x)
#define v_stream_end() ((void)0)
#define v_set1(x) vdupq_n_f32(x)
#define v_fma(a, b, c) vfmaq_f32(c, a, b)
/* Return b if the operands are equal or unordered, like the instructions of x86. */
#define v_min(a, b) vbslq_f32(vcltq_f32(a, b), a, b)
#define v_max(a, b) vbslq_f32(vcgtq_f32(a, b), a, b)
/* Return NaN if either operand is NaN; +0 is larger than -0. */
#define v_smaller(a, b) vminq_f32(a, b)
#define v_larger(a, b) vmaxq_f32(a, b)
#define v_nan_or(x, other) vbslq_f32(vceqq_f32(x, x), other, x)

/* Load and store the first n lanes, at least one. */
#define v_load_n(p, n) v_load_or_neon(p, n, vdupq_n_f32(0.0f))
#define v_load_or(p, n, fill) v_load_or_neon(p, n, fill)
#define v_store_n(p, x, n) v_store_n_neon(p, x, n)

#define CR_ONE vdupq_n_f32(1.0f)
#define CR_ABS(a) vabsq_f32(a)
#define CR_SQRT(a) vsqrtq_f32(a)
#define CR_EQ(a, b) v_one_if_neon(vceqq_f32(a, b))
#define v_if_negative(a, b, c) vbslq_f32(vcltzq_f32(a), b, c)
#define CR_SELECT(a, b, c) vbslq_f32(vceqzq_f32(a), c, b)

/* Returns 1 in the lanes of a mask, 0 in the others. */
CR_INLINE float32x4_t v_one_if_neon(uint32x4_t mask)
{
    return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(CR_ONE)));
}

CR_INLINE float32x4_t v_load_or_neon(const cr_float *p, long n, float32x4_t fill)
{
    if (n >= CR_W) {
        return v_load(p);
    }
    fill = vsetq_lane_f32(p[0], fill, 0);
    fill = n > 1 ? vsetq_lane_f32(p[1], fill, 1) : fill;
    return n > 2 ? vsetq_lane_f32(p[2], fill, 2) : fill;
}

/* Stores the first n lanes; the memory at p may end behind the last of them. */
CR_INLINE void v_store_n_neon(cr_float *p, float32x4_t x, long n)
{
    if (n >= CR_W) {
        v_store(p, x);
        return;
    }
    p[0] = vgetq_lane_f32(x, 0);
    if (n > 1) {
        p[1] = vgetq_lane_f32(x, 1);
    }
    if (n > 2) {
        p[2] = vgetq_lane_f32(x, 2);
    }
}

CR_INLINE float32x4_t v_pow2_neon(float32x4_t t)
{
    uint32x4_t bits = vshlq_n_u32(vreinterpretq_u32_f32(t), 23);
    return vreinterpretq_f32_u32(vaddq_u32(bits, vdupq_n_u32(0x3f800000u)));
}

/* Returns the even 64-bit halves of a and b; the next function returns the odd ones. */
CR_INLINE float32x4_t v_even_halves_neon(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}

CR_INLINE float32x4_t v_odd_halves_neon(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}

/* Transposes 4 x 4 floats: first inside squares of 2 x 2, then the squares. */
CR_INLINE void v_transpose_neon(float32x4_t *t)
{
    float32x4_t even_top = vtrn1q_f32(t[0], t[1]), odd_top = vtrn2q_f32(t[0], t[1]);
    float32x4_t even_low = vtrn1q_f32(t[2], t[3]), odd_low = vtrn2q_f32(t[2], t[3]);
    t[0] = v_even_halves_neon(even_top, even_low);
    t[1] = v_even_halves_neon(odd_top, odd_low);
    t[2] = v_odd_halves_neon(even_top, even_low);
    t[3] = v_odd_halves_neon(odd_top, odd_low);
}

#define v_pow2(t) v_pow2_neon(t)
#define v_transpose(t) v_transpose_neon(t)

#define v_lane0(x) vgetq_lane_f32(x, 0)

/* Reduces x: lane l is combined with lane l + 2, then l + 1 by OP; the result is in lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, vextq_f32(x, x, 2));                                                             \
        x = OP(x, vextq_f32(x, x, 1));                                                             \
    } while (0)

/*
 * x w + sum for a number x in lane 0 of a register: fmla by element.  The number is loaded by an
 * instruction that the compiler cannot change.  Otherwise the compiler may load it into all lanes
 * at once (ld1r), which occupies the multiplier's port, or load it early, which takes registers
 * that a tile of gemm needs.
 */
#define VS float32x4_t
#define v_number(p) v_number_neon(p)
#define v_fma_by(x, w, sum) vfmaq_laneq_f32(sum, w, x, 0)

CR_INLINE float32x4_t v_number_neon(const cr_float *p)
{
    float32x4_t x;
    __asm__("ldr %s0, %1" : "=w"(x) : "m"(*p));
    return x;
}

#include CR_TEMPLATE
#endif

/* A runtime, and a function that returns true if the processor and the operating system support its
 * instruction set. */
struct cr_isa {
    const struct cr_runtime *rt;
    int (*has)(void);
};

CR_API const struct cr_runtime *cr_runtime_select(const char *isa)
{
    static const struct cr_isa best_first[] = {
#if CR_X86
        {&cr_runtime_avx512, cr_has_avx512},
        {&cr_runtime_avx2, cr_has_avx2},
#endif
#if CR_NEON
        {&cr_runtime_neon, cr_has_neon},
#endif
        {&cr_runtime_plain, cr_has_plain},
    };
    for (size_t i = 0; i < sizeof best_first / sizeof *best_first; i++) {
        const struct cr_isa *choice = &best_first[i];
        if ((!isa || strcmp(isa, choice->rt->isa) == 0) && choice->has()) {
            return choice->rt;
        }
    }
    return NULL;
}
/*
 * pool.c - a pool of threads that divide the items of a loop among them.
 *
 * Each worker has its own job.  cr_pool_parallel assigns jobs, does the caller's, takes back jobs
 * that no worker has begun, and waits for the others.  So a worker that sleeps, or that the system
 * has descheduled, delays nobody.  Workers poll for the next job for a millisecond, since the next
 * kernel usually follows immediately, and then sleep.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#ifndef CR_NO_THREADS
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

/* A job: a worker's share of a loop, the items begin .. end - 1. */
struct cr_job {
    cr_body *body;
    const void *args;
    long begin, end;
    float *scratch;
};

/* Returns job number `share` of a loop whose items are divided evenly among `shares` jobs. */
static struct cr_job cr_job_of(long items, long shares, long share, cr_body *body, const void *args,
                               float *scratch, long scratch_stride)
{
    return (struct cr_job){body, args, items * share / shares, items * (share + 1) / shares,
                           scratch ? scratch + share * scratch_stride : NULL};
}

static void cr_job_do(const struct cr_job *job)
{
    if (job->begin < job->end) {
        job->body(job->args, job->begin, job->end, job->scratch);
    }
}

#ifdef CR_NO_THREADS

struct cr_pool {
    int threads;
};

CR_API struct cr_pool *cr_pool_init(void *memory, int threads)
{
    struct cr_pool *pool = memory;
    if (threads < 1 || threads > CR_MAX_THREADS) {
        return NULL;
    }
    pool->threads = 1;
    return pool;
}

CR_API void cr_pool_stop(struct cr_pool *pool)
{
    (void)pool;
}

CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride)
{
    const struct cr_job job = cr_job_of(items, 1, 0, body, args, scratch, scratch_stride);
    (void)pool, (void)shares;
    cr_job_do(&job);
}

#else

/*
 * Variables that threads poll.  TinyCC has no atomics: compiled by it, accesses are guarded by the
 * mutex (CR_ENTER), threads do not poll, and a sleeping thread is always woken.
 */
#ifdef __TINYC__
#define CR_ENTER(pool) pthread_mutex_lock(&(pool)->mutex)
#define CR_LEAVE(pool) pthread_mutex_unlock(&(pool)->mutex)
#define CR_LOAD(p) (*(p))
#define CR_STORE(p, value) ((void)(*(p) = (value)))
#define CR_SWAP(p, from, to) (*(p) == (from) ? (*(p) = (to), 1) : 0)
#define CR_SLEEPS(p) 1
#else
#define CR_ENTER(pool) ((void)0)
#define CR_LEAVE(pool) ((void)0)
#define CR_LOAD(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define CR_STORE(p, value) __atomic_store_n(p, value, __ATOMIC_SEQ_CST)
#define CR_SWAP(p, from, to)                                                                       \
    (CR_LOAD(p) == (from) &&                                                                       \
     __atomic_compare_exchange_n(p, &(int){from}, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define CR_SLEEPS(p) CR_LOAD(p)
#endif

/* Tells the processor that the thread is in a waiting loop. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__TINYC__)
#define CR_RELAX() __builtin_ia32_pause()
#else
#define CR_RELAX() ((void)0)
#endif

/* CR_POLLS: the polls before a thread sleeps, about a millisecond.  If other programs use the
 * machine, the shares of a kernel end some 100 microseconds apart, and waking a virtual processor
 * takes as long.  CR_POLLS_BETWEEN: the polls between two calls of sched_yield, which lets the
 * awaited thread run if it needs this processor. */
enum { CR_POLLS = 50000, CR_POLLS_BETWEEN = 128 };

/* Waits a moment between two polls; `polls` is the number of polls so far. */
static void cr_pause_poll(int polls)
{
    if (polls % CR_POLLS_BETWEEN == CR_POLLS_BETWEEN - 1) {
        sched_yield();
    } else {
        CR_RELAX();
    }
}

/* The states of a worker's job. */
enum {
    CR_IDLE,  /* there is no job, or it is done */
    CR_OPEN,  /* the job waits for a thread to take it */
    CR_TAKEN, /* the worker does the job */
    CR_STOP   /* the worker is to end */
};

/* A worker.  The fields that start it come first, in one cache line, because the line moves between
 * two processors. */
struct cr_worker {
    struct cr_job job;
    int state;
    int asleep; /* it waits, or is about to wait, for `begun` */
    struct cr_pool *pool;
    pthread_t thread;
    pthread_cond_t begun;
};

struct cr_pool {
    pthread_mutex_t mutex; /* held only to sleep and to wake a thread */
    pthread_cond_t done;
    int waiting; /* the caller waits, or is about to wait, for `done` */
    int polls;   /* CR_POLLS; 0 if there are fewer cores than threads */
    int threads;
};

/* The memory of a pool: the pool itself, then a worker for each thread except the calling one. */
union cr_worker_slot {
    struct cr_pool pool;
    struct cr_worker worker;
    char room[CR_POOL_BYTES(1)];
};

/* Compilation fails here if CR_POOL_BYTES is wrong. */
typedef char cr_pool_is_small[sizeof(union cr_worker_slot) == CR_POOL_BYTES(1) ? 1 : -1];

/* Returns worker t, 1 <= t < threads, which does share t of a loop. */
static struct cr_worker *cr_pool_worker(struct cr_pool *pool, long t)
{
    return &((union cr_worker_slot *)(void *)pool)[t].worker;
}

/* Changes the state of a worker to `to` if it is `from`; returns true if it was. */
static int cr_worker_change(struct cr_worker *worker, int from, int to)
{
    int changed;
    CR_ENTER(worker->pool);
    changed = CR_SWAP(&worker->state, from, to);
    CR_LEAVE(worker->pool);
    return changed;
}

/*
 * Sets the state of an idle worker, and wakes the worker if it sleeps.  Either this thread sees
 * that the worker is about to sleep, or the worker sees the new state, because each stores before
 * it loads.
 */
static void cr_worker_signal(struct cr_worker *worker, int state)
{
    cr_worker_change(worker, CR_IDLE, state);
    if (CR_SLEEPS(&worker->asleep)) {
        pthread_mutex_lock(&worker->pool->mutex);
        CR_STORE(&worker->asleep, 0);
        pthread_cond_signal(&worker->begun);
        pthread_mutex_unlock(&worker->pool->mutex);
    }
}

/* Waits until the worker has a job.  May return early: a worker that was woken polls again, because
 * another job will follow soon, even if the caller did this one meanwhile. */
static void cr_worker_wait(struct cr_worker *worker)
{
    struct cr_pool *pool = worker->pool;
    for (int i = 0; i < pool->polls; i++) {
        if (CR_LOAD(&worker->state) != CR_IDLE) {
            return;
        }
        cr_pause_poll(i);
    }
    pthread_mutex_lock(&pool->mutex);
    CR_STORE(&worker->asleep, 1);
    while (CR_LOAD(&worker->asleep) && CR_LOAD(&worker->state) == CR_IDLE) {
        pthread_cond_wait(&worker->begun, &pool->mutex);
    }
    CR_STORE(&worker->asleep, 0);
    pthread_mutex_unlock(&pool->mutex);
}

/* Marks a worker's job as done and wakes the caller if it sleeps.  As in cr_worker_signal, both
 * sides store before they load. */
static void cr_worker_finish(struct cr_worker *worker)
{
    struct cr_pool *pool = worker->pool;
    cr_worker_change(worker, CR_TAKEN, CR_IDLE);
    if (CR_SLEEPS(&pool->waiting)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void *cr_worker_main(void *argument)
{
    struct cr_worker *self = argument;
    do {
        cr_worker_wait(self);
        if (cr_worker_change(self, CR_OPEN, CR_TAKEN)) {
            cr_job_do(&self->job);
            cr_worker_finish(self);
        }
    } while (!cr_worker_change(self, CR_STOP, CR_IDLE));
    return NULL;
}

/* Waits until a worker has done the job that it has taken. */
static void cr_pool_wait(struct cr_pool *pool, struct cr_worker *worker)
{
    for (int i = 0; i < pool->polls; i++) {
        if (CR_LOAD(&worker->state) == CR_IDLE) {
            return;
        }
        cr_pause_poll(i);
    }
    pthread_mutex_lock(&pool->mutex);
    CR_STORE(&pool->waiting, 1);
    while (CR_LOAD(&worker->state) != CR_IDLE) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    CR_STORE(&pool->waiting, 0);
    pthread_mutex_unlock(&pool->mutex);
}

/* A share always goes to the same worker, so that data that a thread wrote in one loop are in its
 * cache in the next loop.  But if the worker has not begun when the caller has finished its own
 * share, the caller does that share, too. */
CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride)
{
    long threads = cr_pool_threads(pool);
    struct cr_job own;
    assert(items <= LONG_MAX / CR_MAX_THREADS);
    shares = shares < threads ? shares : threads;
    shares = shares < items ? shares : items;
    shares = shares > 1 ? shares : 1;
    for (long t = 1; t < shares; t++) {
        struct cr_worker *worker = cr_pool_worker(pool, t);
        worker->job = cr_job_of(items, shares, t, body, args, scratch, scratch_stride);
        cr_worker_signal(worker, CR_OPEN);
    }
    own = cr_job_of(items, shares, 0, body, args, scratch, scratch_stride);
    cr_job_do(&own);
    for (long t = 1; t < shares; t++) {
        struct cr_worker *worker = cr_pool_worker(pool, t);
        if (cr_worker_change(worker, CR_OPEN, CR_IDLE)) {
            cr_job_do(&worker->job);
        } else {
            cr_pool_wait(pool, worker);
        }
    }
}

/* Starts a worker's thread; returns 0, or an error number of the system. */
static int cr_worker_start(struct cr_worker *worker, struct cr_pool *pool)
{
    worker->pool = pool;
    worker->state = CR_IDLE;
    worker->asleep = 0;
    pthread_cond_init(&worker->begun, NULL);
    int status = pthread_create(&worker->thread, NULL, cr_worker_main, worker);
    if (status) {
        pthread_cond_destroy(&worker->begun);
    }
    return status;
}

CR_API struct cr_pool *cr_pool_init(void *memory, int threads)
{
    struct cr_pool *pool = memory;
    int n = 1;
    if (threads < 1 || threads > CR_MAX_THREADS) {
        return NULL;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->waiting = 0;
    pool->polls = 0;
#ifndef __TINYC__
    if (threads <= sysconf(_SC_NPROCESSORS_ONLN)) {
        pool->polls = CR_POLLS;
    }
#endif
    while (n < threads && cr_worker_start(cr_pool_worker(pool, n), pool) == 0) {
        n++;
    }
    pool->threads = n;
    return pool;
}

CR_API void cr_pool_stop(struct cr_pool *pool)
{
    for (int t = 1; t < pool->threads; t++) {
        cr_worker_signal(cr_pool_worker(pool, t), CR_STOP);
    }
    for (int t = 1; t < pool->threads; t++) {
        pthread_join(cr_pool_worker(pool, t)->thread, NULL);
        pthread_cond_destroy(&cr_pool_worker(pool, t)->begun);
    }
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->mutex);
}

#endif

CR_API int cr_pool_threads(const struct cr_pool *pool)
{
    return pool ? pool->threads : 1;
}

#include <stdint.h>

/* Packs one column of a panel.  `tensor` points to the first element of the column; null: the column is zeros. */
static void cr_pack_column(const struct cr_weight_layout *p, const float *tensor, float *panels, long col)
{
    float *y = panels + col / CR_PANEL * p->panel_stride + col % CR_PANEL;
    for (long k = 0; k < p->rows; k++)
        y[k * CR_PANEL] = tensor ? tensor[k * p->row_stride] : 0;
}

CR_API void cr_pack_weight(const struct cr_runtime *rt, const struct cr_weight_layout *p, const float *tensor,
                     float *weights)
{
    const float *from = tensor + p->source;
    float *to = weights + p->target;
    if (!p->panel_stride) {
        rt->load(p->rows, p->cols, to, p->cols, from, p->row_stride, p->col_stride);
        return;
    }
    long whole = p->first_col % CR_PANEL ? 0 : p->cols / CR_PANEL * CR_PANEL;
    float *panels = to + p->first_col / CR_PANEL * p->panel_stride;
    if (((uintptr_t)panels | (uintptr_t)p->panel_stride * sizeof *panels) % 64)
        rt->pack(p->rows, whole, panels, p->panel_stride, from, p->row_stride, p->col_stride);
    else /* by stores that bypass the cache, as weights are read only when all are packed */
        rt->pack_stream(p->rows, whole, panels, p->panel_stride, from, p->row_stride, p->col_stride);
    long end = p->first_col + p->cols;
    for (long n = whole; n < p->cols; n++)
        cr_pack_column(p, from + n * p->col_stride, to, p->first_col + n);
    for (; p->last && end % CR_PANEL; end++)
        cr_pack_column(p, 0, to, end);
}

#ifdef GPT2_BLOCK_MAIN

struct cr_tensor {
    const char *name;
    int rank;
    const long *shape;
    long elements;
    int is_i32;
};

#define CR_MAIN_NAME "gpt2_block"
#define CR_MAIN_PARAMS 12
#define CR_MAIN_INPUTS 1
#define CR_MAIN_OUTPUTS 1
#define CR_MAIN_WEIGHTS_BYTES GPT2_BLOCK_PARAM_BYTES
#define CR_MAIN_ARENA_BYTES GPT2_BLOCK_ARENA_BYTES
#define cr_main_params gpt2_block_params
#define cr_main_load gpt2_block_load

static const struct cr_tensor cr_main_inputs[] = {
    {"x", 3, (const long[]){2L, 8L, 48L, 0}, 768L, 0},
};
static const struct cr_tensor cr_main_outputs[] = {
    {"y", 3, (const long[]){2L, 8L, 48L, 0}, 768L, 0},
};

static int cr_main_run(const void *weights, const void *const *inputs,
                       void *const *outputs, void *arena)
{
    return gpt2_block_run(weights, (const float *)inputs[0], (float *)outputs[0], arena);
}

/*
 * mapping.h - the bytes of a file, and error messages of one line about it.
 *
 * A function that can fail for a reason outside the program returns 0 or -1 and then leaves
 * "PATH: what was found, what was expected" in error[size].
 */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers in files are taken as they are: this needs a little-endian machine"
#endif

/* Text from a file, prepared for a message: escaped, shortened, in quotes. */
struct cr_shown {
    char text[96];
};

/* The contents of a file; readable until cr_unmap_file. */
struct cr_mapping {
    const unsigned char *bytes;
    size_t size;
    size_t mapped; /* number of bytes that are mapped, from the first on */
    int handle; /* descriptor of the open file + 1; 0 if all bytes are in memory */
};

/* Maps the first n bytes instead of fewer. */
CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size);

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { CR_SHOWN_PATH = 300 /* bytes of a path that messages show */ };

/* Copies the last CR_SHOWN_PATH bytes of a path, with '?' for control characters. */
static size_t cr_show_path(char *out, const char *path)
{
    size_t length = strlen(path), n = 0;
    if (length > CR_SHOWN_PATH) {
        memcpy(out, "...", 3);
        n = 3;
        path += length - CR_SHOWN_PATH;
    }
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        out[n++] = c < 0x20 || c == 0x7f ? '?' : *path;
    }
    out[n] = '\0';
    return n;
}

/* Sets the message and returns -1.  A long path is shortened; control characters in it become '?'. */
CR_API int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
{
    char shown[CR_SHOWN_PATH + 8];
    size_t n = cr_show_path(shown, path);
    va_list args;
    snprintf(error, size, "%s: ", shown);
    n += 2;
    if (n < size) {
        va_start(args, format);
        vsnprintf(error + n, size - n, format, args);
        va_end(args);
    }
    return -1;
}

/* Writes all but printable ASCII as \xNN, so that no file can control a terminal. */
CR_API struct cr_shown cr_show(const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    struct cr_shown shown;
    size_t n = 0, i;
    shown.text[n++] = '\'';
    for (i = 0; i < length && n < sizeof shown.text - 9; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7f) {
            shown.text[n++] = text[i];
            continue;
        }
        shown.text[n++] = '\\';
        shown.text[n++] = 'x';
        shown.text[n++] = digits[c >> 4];
        shown.text[n++] = digits[c & 15];
    }
    memcpy(shown.text + n, i < length ? "...'" : "'", i < length ? 5 : 2);
    return shown;
}

/* Sets the message after a cr_mapping_read that failed; returns -1. */
CR_API int cr_mapping_fail(const struct cr_mapping *mapping, const char *path, char *error,
                           size_t size)
{
    return cr_file_fail(error, size, path, "cannot be read to its end, expected the %zu bytes that it had",
                        mapping->size);
}

#if defined(__unix__) || defined(__APPLE__)

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

/* Returns "a folder", "a pipe", ... for the st_mode of stat; null for a regular file. */
CR_API const char *cr_file_kind(unsigned mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
                            : "a special file";
}

CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size)
{
    void *bytes;
    n = n < mapping->size ? n : mapping->size;
    if (n <= mapping->mapped)
        return 0;
    bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, mapping->handle - 1, 0);
    if (bytes == MAP_FAILED)
        return cr_file_fail(error, size, path, "cannot be mapped: %s", strerror(errno));
    if (mapping->mapped > 0)
        munmap((void *)mapping->bytes, mapping->mapped);
    mapping->bytes = bytes;
    mapping->mapped = n;
    return 0;
}

/* Maps the first n bytes of an open file; a file of no bytes needs no mapping. */
static int cr_map_descriptor(struct cr_mapping *mapping, int fd, size_t n, const char *path, char *error,
                             size_t size)
{
    struct stat status;
    const char *kind;
    if (fstat(fd, &status) != 0)
        return cr_file_fail(error, size, path, "cannot be examined: %s", strerror(errno));
    kind = cr_file_kind(status.st_mode);
    if (kind)
        return cr_file_fail(error, size, path, "%s, expected a regular file", kind);
    mapping->bytes = (const unsigned char *)"";
    mapping->size = (size_t)status.st_size;
    if (mapping->size == 0)
        return 0;
    mapping->handle = fd + 1;
    if (cr_map_more(mapping, n, path, error, size) == 0)
        return 0;
    mapping->handle = 0;
    return -1;
}

/* O_NONBLOCK, so that opening a pipe does not wait: a pipe is an error. */
/* Maps the first n bytes of a file.  The others take no address space (`ulimit -v` limits it),
 * and only cr_mapping_read reads them. */
CR_API int cr_map_begin(struct cr_mapping *mapping, const char *path, size_t n, char *error, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;
    *mapping = (struct cr_mapping){0};
    if (fd < 0)
        return cr_file_fail(error, size, path, "cannot be opened: %s", strerror(errno));
    status = cr_map_descriptor(mapping, fd, n, path, error, size);
    if (!mapping->handle)
        close(fd);
    return status;
}

CR_API void cr_unmap_file(struct cr_mapping *mapping)
{
    if (mapping->mapped > 0)
        munmap((void *)mapping->bytes, mapping->mapped);
    if (mapping->handle)
        close(mapping->handle - 1);
    *mapping = (struct cr_mapping){0};
}

/* Copies n bytes of the file, from offset `at` on, to `out`.  Reads the file instead of the
 * mapping, so that no page of the mapping is loaded, and returns -1 for a file that was
 * truncated, instead of raising SIGBUS. Threads may call it at the same time. */
CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out)
{
    char *to = out;
    if (!mapping->handle) {
        memcpy(to, mapping->bytes + at, n);
        return 0;
    }
    while (n > 0) {
        ssize_t some = pread(mapping->handle - 1, to, n, (off_t)at);
        if (some == 0 || (some < 0 && errno != EINTR))
            return -1;
        some = some > 0 ? some : 0;
        to += some;
        at += (size_t)some;
        n -= (size_t)some;
    }
    return 0;
}

#else

CR_API void cr_unmap_file(struct cr_mapping *mapping)
{
    free((void *)mapping->bytes);
    *mapping = (struct cr_mapping){0};
}

/* Reads the whole file into memory.  A file that cannot seek is not a regular file. */
CR_API int cr_map_begin(struct cr_mapping *mapping, const char *path, size_t n, char *error, size_t size)
{
    FILE *file = fopen(path, "rb");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    unsigned char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    *mapping = (struct cr_mapping){.bytes = bytes, .size = bytes ? (size_t)length : 0};
    (void)n;
    if (!file)
        return cr_file_fail(error, size, path, "cannot be opened: %s", strerror(errno));
    int whole = bytes && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, mapping->size, file) == mapping->size;
    fclose(file);
    if (whole)
        return 0;
    cr_unmap_file(mapping);
    return cr_file_fail(error, size, path, "cannot be read into memory, expected a regular file that fits there");
}

CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size)
{
    (void)mapping, (void)n, (void)path, (void)error, (void)size;
    return 0;
}

CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out)
{
    memcpy(out, mapping->bytes + at, n);
    return 0;
}

#endif

/* Maps a whole file. */
CR_API int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size)
{
    return cr_map_begin(mapping, path, (size_t)-1, error, size);
}
/*
 * json.h - a strict reader of JSON text, one token at a time: the caller asks for the token that
 * must come next.  It allocates nothing and does not recurse, whatever the text is.
 *
 * A function that reads a token skips white space first.  It returns 1 if it finds the expected
 * token.  Otherwise it returns 0 and, if the text is not JSON at all, sets `wrong`.
 */

struct cr_json {
    const char *begin, *at, *end;
    const char *wrong; /* text of the error at `at`, or null */
    int zeros;         /* strings may contain the character 0 */
};

/* utf8.h - characters in UTF-8; it is also copied into emitted C. */

/* Returns the number of bytes of the character at `at`, or 0 if it is not valid UTF-8. */
static inline size_t cr_utf8(const char *at, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = at < end ? (unsigned char)*at : 0xff;
    size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2, i;
    uint32_t code = n == 1 ? first : first & (0x7fu >> n);
    if (first >= 0xf8 || (first >= 0x80 && first < 0xc0) || n > (size_t)(end - at))
        return 0;
    for (i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

/* utf8_put.h - writes characters in UTF-8; it is also copied into emitted C. */

/* Writes a character as UTF-8; returns the number of bytes. */
static inline size_t cr_utf8_put(char *out, uint32_t code)
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;
    for (i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(marks[n] | code);
    return n;
}

static void cr_json_space(struct cr_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\n' || *json->at == '\t' || *json->at == '\r'))
        json->at++;
}

/* Sets the error text unless there is one already; returns 0. */
static int cr_json_wrong(struct cr_json *json, const char *wrong)
{
    if (!json->wrong)
        json->wrong = wrong;
    return 0;
}

/* Reads the character c, one of {}[]:, */
CR_API int cr_json_take(struct cr_json *json, char c)
{
    cr_json_space(json);
    if (json->wrong || json->at == json->end || *json->at != c)
        return 0;
    json->at++;
    return 1;
}

/* Reads the comma before item i of an object or array (there is none before item 0), or the
 * closing bracket.  Returns 1 before an item, 0 at the end, -1 if it finds neither. */
CR_API int cr_json_next(struct cr_json *json, int i, char end)
{
    if (cr_json_take(json, end))
        return 0;
    if (i > 0 && !cr_json_take(json, ','))
        cr_json_wrong(json, end == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return json->wrong ? -1 : 1;
}

/* True if only white space is left. */
CR_API int cr_json_ended(struct cr_json *json)
{
    cr_json_space(json);
    return json->at == json->end;
}

/* ---- strings ---- */

/* Returns the value of the four hexadecimal digits after \u, or -1. */
static int32_t cr_json_hex(const char *at, const char *end)
{
    int32_t code = 0;
    int i;
    if (end - at < 4)
        return -1;
    for (i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Decodes \uXXXX, or two of them that are a surrogate pair, to UTF-8; returns the bytes written,
 * or 0. */
static size_t cr_json_unicode(struct cr_json *json, char *out)
{
    int32_t code = cr_json_hex(json->at + 2, json->end), low = -1;
    if (code >= 0xd800 && code < 0xdc00 && json->end - json->at >= 12 && json->at[6] == '\\' &&
        json->at[7] == 'u')
        low = cr_json_hex(json->at + 8, json->end);
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
            return (size_t)cr_json_wrong(json, "half of a surrogate pair");
        code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
        json->at += 6;
    }
    if (code < 0 || (code == 0 && !json->zeros))
        return (size_t)cr_json_wrong(json, code < 0 ? "expected four hexadecimal digits"
                                                    : "\\u0000 in a string");
    json->at += 6;
    return cr_utf8_put(out, (uint32_t)code);
}

/* Decodes an escape sequence; returns the number of bytes written, or 0. */
static size_t cr_json_escape(struct cr_json *json, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = json->end - json->at > 1 ? json->at[1] : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == 'u')
        return cr_json_unicode(json, out);
    if (!letter)
        return (size_t)cr_json_wrong(json, "an unknown escape");
    *out = meant[letter - letters];
    json->at += 2;
    return 1;
}

/* Reads a string and decodes it into `out`, with a NUL at the end.  `out` must have room for as
 * many bytes as are left of the text.  The string is valid UTF-8, and contains no NUL unless
 * `zeros`.  Returns the number of bytes written, with the NUL, or 0. */
CR_API size_t cr_json_string(struct cr_json *json, char *out)
{
    size_t n = 0, bytes;
    if (!cr_json_take(json, '"'))
        return 0;
    for (; json->at < json->end && *json->at != '"'; n += bytes) {
        if (*json->at == '\\') {
            bytes = cr_json_escape(json, out + n);
            if (bytes == 0)
                return 0;
            continue;
        }
        bytes = cr_utf8(json->at, json->end);
        if (bytes == 0 || (unsigned char)*json->at < 0x20)
            return (size_t)cr_json_wrong(json, bytes ? "a control character in a string"
                                                     : "bytes that are not UTF-8");
        memcpy(out + n, json->at, bytes);
        json->at += bytes;
    }
    if (json->at == json->end)
        return (size_t)cr_json_wrong(json, "a string without end");
    json->at++;
    out[n] = '\0';
    return n + 1;
}

/* ---- numbers ---- */

/* True if a fraction or an exponent comes next, so that the number is not an integer. */
static int cr_json_goes_on(const struct cr_json *json)
{
    return json->at < json->end && (*json->at == '.' || *json->at == 'e' || *json->at == 'E');
}

/* Reads an integer.  A number with a fraction or an exponent is not one, nor is -0. */
CR_API int cr_json_integer(struct cr_json *json, int64_t *value)
{
    const char *begin, *digits;
    uint64_t sum = 0;
    int minus;
    cr_json_space(json);
    begin = json->at;
    minus = cr_json_take(json, '-');
    for (digits = json->at; json->at < json->end && *json->at >= '0' && *json->at <= '9';) {
        unsigned digit = (unsigned)(*json->at++ - '0');
        if (sum > ((uint64_t)INT64_MAX - digit) / 10)
            return cr_json_wrong(json, "an integer past 2^63");
        sum = sum * 10 + digit;
    }
    if (json->at > digits + 1 && *digits == '0')
        return cr_json_wrong(json, "a number that begins with 0");
    if (json->at == digits || cr_json_goes_on(json) || (minus && sum == 0)) {
        json->at = begin;
        return 0;
    }
    *value = minus ? -(int64_t)sum : (int64_t)sum;
    return 1;
}
/*
 * numbers.h - converts elements of files, which may be unaligned, to C's types.
 *
 * F16 and BF16 become floats exactly, F64 is rounded to nearest (to infinity if it is out of
 * range), and F32 keeps its bits.
 */

enum cr_number {
    CR_NUMBER_F16,
    CR_NUMBER_BF16,
    CR_NUMBER_F32,
    CR_NUMBER_F64,
    CR_NUMBER_I32,
    CR_NUMBER_I64,
    CR_NUMBER_I8,
    CR_NUMBER_U8
};

/* Return one element of a floating-point or an integer type; big-endian if `big`. */
CR_API float cr_number_float(enum cr_number type, int big, const unsigned char *at);

/* Returns the bytes of an element. */
CR_API size_t cr_number_width(enum cr_number type)
{
    return type == CR_NUMBER_F16 || type == CR_NUMBER_BF16  ? 2
           : type == CR_NUMBER_F64 || type == CR_NUMBER_I64 ? 8
           : type == CR_NUMBER_I8 || type == CR_NUMBER_U8   ? 1
                                                            : 4;
}

/* Returns the bits of an element as an integer. */
static uint64_t cr_number_bits(const unsigned char *at, size_t width, int big)
{
    uint64_t bits = 0;
    size_t i;
    if (!big)
        memcpy(&bits, at, width);
    for (i = 0; big && i < width; i++)
        bits = bits << 8 | at[i];
    return bits;
}

static float cr_number_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Converts a binary16 exactly; a denormal is its 10 bits times 2^-24. */
static float cr_number_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31)
        return cr_number_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return (sign ? -1.0f : 1.0f) * ((float)fraction / 16777216.0f);
    return cr_number_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Returns one element of type F64; big-endian if `big`. */
CR_API double cr_number_double(int big, const unsigned char *at)
{
    uint64_t bits = cr_number_bits(at, 8, big);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

CR_API float cr_number_float(enum cr_number type, int big, const unsigned char *at)
{
    if (type == CR_NUMBER_F64)
        return (float)cr_number_double(big, at);
    if (type == CR_NUMBER_F16)
        return cr_number_of_half((uint32_t)cr_number_bits(at, 2, big));
    if (type == CR_NUMBER_BF16)
        return cr_number_of_bits((uint32_t)cr_number_bits(at, 2, big) << 16);
    return cr_number_of_bits((uint32_t)cr_number_bits(at, 4, big));
}

/* Converts n contiguous little-endian elements of a floating-point type. */
CR_API void cr_numbers_floats(enum cr_number type, const unsigned char *from, int64_t n, float *out)
{
    int64_t i;
    if (type == CR_NUMBER_F32 && n > 0)
        memcpy(out, from, (size_t)n * sizeof *out);
    for (i = 0; type == CR_NUMBER_F16 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_F16, 0, from + 2 * i);
    for (i = 0; type == CR_NUMBER_BF16 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_BF16, 0, from + 2 * i);
    for (i = 0; type == CR_NUMBER_F64 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_F64, 0, from + 8 * i);
}
/*
 * npy_read.h - reads NumPy's .npy files of floats and integers, and writes their headers.
 *
 * It reads versions 1.0, 2.0 and 3.0; f2, f4, f8, i4 and i8 of either byte order, i1, u1 and b1;
 * elements in C or Fortran order.  A file is checked as a whole when it is opened.  Errors: see
 * mapping.h.
 */

enum { CR_NPY_MAX_RANK = 32, CR_NPY_HEADER = 1024 };

enum cr_npy_type { CR_NPY_F4, CR_NPY_F8, CR_NPY_I4, CR_NPY_I8, CR_NPY_F2, CR_NPY_I1, CR_NPY_U1, CR_NPY_B1 };

struct cr_npy {
    const char *path; /* the caller's string; must outlive the open file */
    struct cr_mapping mapping;
    enum cr_npy_type type;
    int big; /* true if the elements are big-endian */
    int rank;
    int64_t shape[CR_NPY_MAX_RANK], stride[CR_NPY_MAX_RANK]; /* `stride` counts elements */
    int64_t elements;
    const unsigned char *data; /* address of the data; may be unaligned */
};

/* Copy the elements to out[elements], in C order.  f32 reads f2, f4, and f8, which it rounds to
 * nearest; i32 reads i1, u1, b1 (0 and 1), i4, and i8 if each element fits 32 bits.  They fail
 * for other types. */
CR_API int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size);

#include <inttypes.h>

static const struct {
    const char *name;
    enum cr_number number;
} cr_npy_types[] = {[CR_NPY_F4] = {"<f4", CR_NUMBER_F32},
                    [CR_NPY_F8] = {"<f8", CR_NUMBER_F64},
                    [CR_NPY_I4] = {"<i4", CR_NUMBER_I32},
                    [CR_NPY_I8] = {"<i8", CR_NUMBER_I64},
                    [CR_NPY_F2] = {"<f2", CR_NUMBER_F16},
                    [CR_NPY_I1] = {"|i1", CR_NUMBER_I8},
                    [CR_NPY_U1] = {"|u1", CR_NUMBER_U8},
                    [CR_NPY_B1] = {"|b1", CR_NUMBER_U8}};

enum { CR_NPY_N_TYPES = sizeof cr_npy_types / sizeof *cr_npy_types };

/* The header's text from `at` on; the path and the buffer for error messages. */
struct cr_npy_text {
    const char *at, *end;
    const char *path;
    char *error;
    size_t size;
};

#define CR_NPY_FAIL(text, ...) cr_file_fail((text)->error, (text)->size, (text)->path, __VA_ARGS__)

/* Returns the name that NumPy writes in a header: "<f4" and so on. */
static const char *cr_npy_type_name(enum cr_npy_type type)
{
    assert((int)type < CR_NPY_N_TYPES);
    return cr_npy_types[type].name;
}

/* Returns the bytes of an element. */
CR_API size_t cr_npy_width(enum cr_npy_type type)
{
    return cr_number_width(cr_npy_types[type].number);
}

/* ---- the header: a Python dict of three keys ---- */

static void cr_npy_skip_space(struct cr_npy_text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t'))
        t->at++;
}

/* Skips white space, then reads the character c if it comes next. */
static int cr_npy_take(struct cr_npy_text *t, char c)
{
    cr_npy_skip_space(t);
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int cr_npy_expect(struct cr_npy_text *t, char c)
{
    if (cr_npy_take(t, c))
        return 0;
    return CR_NPY_FAIL(t, "found %s in the header, expected '%c'", cr_show(t->at, (size_t)(t->end - t->at)).text, c);
}

/* Reads a string in single or double quotes without escapes, as numpy writes. */
static int cr_npy_read_string(struct cr_npy_text *t, const char **string, size_t *length)
{
    char quote = cr_npy_take(t, '"') ? '"' : '\'';
    if (quote == '\'' && cr_npy_expect(t, quote) != 0)
        return -1;
    *string = t->at;
    while (t->at < t->end && *t->at != quote && *t->at != '\\' && *t->at != '\n')
        t->at++;
    *length = (size_t)(t->at - *string);
    return cr_npy_expect(t, quote);
}

/* Reads an integer as Python writes it: no sign, leading zero or underscore. */
static int cr_npy_read_integer(struct cr_npy_text *t, int64_t *value)
{
    const char *begin;
    cr_npy_skip_space(t);
    begin = t->at;
    for (*value = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        int digit = *t->at - '0';
        if (*value > (INT64_MAX - digit) / 10)
            return CR_NPY_FAIL(t, "a dimension is 2^63 or more, expected a smaller one");
        *value = *value * 10 + digit;
    }
    if (t->at == begin || (*begin == '0' && t->at > begin + 1))
        return CR_NPY_FAIL(t, "a dimension is %s, expected an integer from 0 on",
                           cr_show(begin, (size_t)(t->end - begin)).text);
    return 0;
}

/* Reads a tuple: (), (2,), (2, 3) or (2, 3,), but not (2), which is a number. */
static int cr_npy_read_shape(struct cr_npy_text *t, struct cr_npy *file)
{
    int comma = 1;
    if (cr_npy_expect(t, '(') != 0)
        return -1;
    while (!cr_npy_take(t, ')')) {
        if (!comma)
            return cr_npy_expect(t, ',');
        if (file->rank == CR_NPY_MAX_RANK)
            return CR_NPY_FAIL(t, "found too many dimensions, expected at most %d", CR_NPY_MAX_RANK);
        if (cr_npy_read_integer(t, &file->shape[file->rank]) != 0)
            return -1;
        file->rank++;
        comma = cr_npy_take(t, ',');
    }
    if (file->rank == 1 && !comma)
        return CR_NPY_FAIL(t, "shape is a number in parentheses, expected a tuple");
    return 0;
}

/* Reads a type such as "<f4".  If it is not supported, the error says how to convert it. */
static int cr_npy_read_type(struct cr_npy_text *t, struct cr_npy *file)
{
    const char *string;
    size_t length;
    int i;
    if (cr_npy_read_string(t, &string, &length) != 0)
        return -1;
    for (i = 0; i < CR_NPY_N_TYPES; i++) {
        int one_byte = *cr_npy_types[i].name == '|';
        if (length == 3 && (one_byte ? *string == '|' : *string == '<' || *string == '>') &&
            memcmp(string + 1, cr_npy_types[i].name + 1, 2) == 0) {
            file->type = (enum cr_npy_type)i;
            file->big = *string == '>';
            return 0;
        }
    }
    return CR_NPY_FAIL(t, "dtype %s, expected f2, f4, f8, i4, i8, i1, u1 or b1, as array.astype('<f4') makes it",
                       cr_show(string, length).text);
}

/* Reads True or False. */
static int cr_npy_read_bool(struct cr_npy_text *t, int *value)
{
    size_t room;
    cr_npy_skip_space(t);
    room = (size_t)(t->end - t->at);
    *value = room >= 4 && memcmp(t->at, "True", 4) == 0;
    if (!*value && !(room >= 5 && memcmp(t->at, "False", 5) == 0))
        return CR_NPY_FAIL(t, "fortran_order is %s, expected True or False", cr_show(t->at, room).text);
    t->at += *value ? 4 : 5;
    return 0;
}

/* Reads one `key: value`; each key may occur once. */
static int cr_npy_read_item(struct cr_npy_text *t, struct cr_npy *file, int *fortran, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t length;
    int i = 0;
    if (cr_npy_read_string(t, &key, &length) != 0 || cr_npy_expect(t, ':') != 0)
        return -1;
    while (i < 3 && (length != strlen(keys[i]) || memcmp(key, keys[i], length) != 0))
        i++;
    if (i == 3 || (*seen & 1u << i))
        return CR_NPY_FAIL(t, "header key %s, expected descr, fortran_order and shape, once each",
                           cr_show(key, length).text);
    *seen |= 1u << i;
    return i == 0   ? cr_npy_read_type(t, file)
           : i == 1 ? cr_npy_read_bool(t, fortran)
                    : cr_npy_read_shape(t, file);
}

/* Parses the header: a Python dict with three keys, each once (a bit of `seen`), and then only
 * spaces. */
static int cr_npy_read_dict(struct cr_npy_text *t, struct cr_npy *file, int *fortran)
{
    int comma = 1;
    unsigned seen = 0;
    if (cr_npy_expect(t, '{') != 0)
        return -1;
    while (!cr_npy_take(t, '}')) {
        if (!comma)
            return cr_npy_expect(t, ',');
        if (cr_npy_read_item(t, file, fortran, &seen) != 0)
            return -1;
        comma = cr_npy_take(t, ',');
    }
    cr_npy_skip_space(t);
    if (t->at != t->end)
        return CR_NPY_FAIL(t, "%s after the header's dict, expected spaces",
                           cr_show(t->at, (size_t)(t->end - t->at)).text);
    if (seen != 7)
        return CR_NPY_FAIL(t, "a key is missing in the header, expected descr, fortran_order and shape");
    return 0;
}

/* ---- reading ---- */

/* Finds the text of the header; the file's version determines the width of its length. */
static int cr_npy_find_header(struct cr_npy_text *t, const struct cr_mapping *mapping)
{
    const unsigned char *p = mapping->bytes;
    size_t prefix, length;
    if (mapping->size < 10 || memcmp(p, "\223NUMPY", 6) != 0)
        return CR_NPY_FAIL(t, "begins with %s, expected '\\x93NUMPY' and a header",
                           cr_show((const char *)p, mapping->size < 6 ? mapping->size : 6).text);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return CR_NPY_FAIL(t, "found version %d.%d of the format, expected 1.0, 2.0 or 3.0", p[6], p[7]);
    prefix = p[6] == 1 ? 10 : 12;
    if (mapping->size < prefix)
        return CR_NPY_FAIL(t, "%zu bytes, expected at least %zu", mapping->size, prefix);
    length = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > mapping->size - prefix)
        return CR_NPY_FAIL(t, "header length %zu, expected at most the %zu bytes that follow",
                           length, mapping->size - prefix);
    t->at = (const char *)p + prefix;
    t->end = t->at + length;
    return 0;
}

/* Returns the bytes of an array, or -1 if there are 2^63 of them or more. */
CR_API int64_t cr_npy_bytes(enum cr_npy_type type, int rank, const int64_t *shape)
{
    int64_t bytes = (int64_t)cr_npy_width(type);
    int i;
    for (i = 0; i < rank; i++) {
        if (shape[i] > 0 && bytes > INT64_MAX / shape[i])
            return -1;
        bytes *= shape[i];
    }
    return bytes;
}

/* Sets the strides of the elements.  They do not overflow in an empty array either. */
static void cr_npy_set_strides(struct cr_npy *file, int fortran)
{
    int64_t stride = 1;
    int i;
    for (i = 0; i < file->rank; i++) {
        int axis = fortran ? i : file->rank - 1 - i;
        file->stride[axis] = stride;
        stride = file->elements > 0 ? stride * file->shape[axis] : 0;
    }
}

/* Sets elements and data; the data must fill the rest of the file. */
static int cr_npy_find_data(struct cr_npy_text *t, struct cr_npy *file)
{
    int64_t width = (int64_t)cr_npy_width(file->type);
    int64_t bytes = cr_npy_bytes(file->type, file->rank, file->shape);
    size_t left = file->mapping.size - (size_t)(t->end - (const char *)file->mapping.bytes);
    if (bytes < 0)
        return CR_NPY_FAIL(t, "found a shape of more than 2^63 bytes, expected the %zu bytes behind the header", left);
    if ((uint64_t)bytes != left)
        return CR_NPY_FAIL(t, "%zu bytes of elements, expected %" PRId64 " from shape and dtype",
                           left, bytes);
    file->elements = bytes / width;
    file->data = (const unsigned char *)t->end;
    return 0;
}

/* Checks a file whose bytes are in memory.  The bytes belong to `file` if this succeeds, else to
 * the caller. `path` is for messages. */
CR_API int cr_npy_parse(struct cr_npy *file, const char *path, struct cr_mapping mapping,
                        char *error, size_t size)
{
    struct cr_npy_text t = {.path = path, .error = error, .size = size};
    int fortran = 0;
    *file = (struct cr_npy){.path = path, .mapping = mapping};
    if (cr_npy_find_header(&t, &mapping) != 0 || cr_npy_read_dict(&t, file, &fortran) != 0 ||
        cr_npy_find_data(&t, file) != 0) {
        *file = (struct cr_npy){0};
        return -1;
    }
    cr_npy_set_strides(file, fortran);
    return 0;
}

CR_API int cr_npy_open(struct cr_npy *file, const char *path, char *error, size_t size)
{
    struct cr_mapping mapping;
    *file = (struct cr_npy){0};
    if (cr_map_file(&mapping, path, error, size) != 0)
        return -1;
    if (cr_npy_parse(file, path, mapping, error, size) == 0)
        return 0;
    cr_unmap_file(&mapping);
    return -1;
}

CR_API void cr_npy_close(struct cr_npy *file)
{
    cr_unmap_file(&file->mapping);
    *file = (struct cr_npy){0};
}

/* ---- elements ---- */

/* Returns the address of element i in C order. */
CR_API const unsigned char *cr_npy_at(const struct cr_npy *file, int64_t i)
{
    int64_t offset = 0;
    int axis;
    for (axis = file->rank - 1; axis >= 0; axis--) {
        offset += i % file->shape[axis] * file->stride[axis];
        i /= file->shape[axis];
    }
    return file->data + (size_t)offset * cr_npy_width(file->type);
}

/* True if the elements are contiguous in row-major order (C order). */
static int cr_npy_in_order(const struct cr_npy *file)
{
    int64_t stride = 1;
    int axis;
    for (axis = file->rank - 1; file->elements > 0 && axis >= 0; axis--) {
        if (file->shape[axis] != 1 && file->stride[axis] != stride)
            return 0;
        stride *= file->shape[axis];
    }
    return 1;
}

static int cr_npy_is_integer(const struct cr_npy *file)
{
    return file->type != CR_NPY_F2 && file->type != CR_NPY_F4 && file->type != CR_NPY_F8;
}

CR_API int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size)
{
    enum cr_number type = cr_npy_types[file->type].number;
    size_t width = cr_number_width(type);
    int ordered = cr_npy_in_order(file);
    int64_t i;
    if (cr_npy_is_integer(file))
        return cr_file_fail(error, size, file->path, "found dtype '%s', expected f2, f4 or f8",
                            cr_npy_type_name(file->type));
    if (ordered && !file->big) {
        cr_numbers_floats(type, file->data, file->elements, out);
        return 0;
    }
    for (i = 0; i < file->elements; i++)
        out[i] = cr_number_float(type, file->big,
                                 ordered ? file->data + (size_t)i * width : cr_npy_at(file, i));
    return 0;
}

/* ---- the header that is written ---- */

enum {
    CR_NPY_GROWTH = 21 /* NumPy reserves room in the header for a first dimension of this many
                        * digits */
};

/* Prints the header that numpy.save writes for little-endian elements in C order.  Returns its length,
 * a multiple of 64. */
CR_API size_t cr_npy_print_header(char out[CR_NPY_HEADER], enum cr_npy_type type, int rank,
                                  const int64_t *shape)
{
    size_t n, total;
    int i, digits;
    memcpy(out, "\223NUMPY\001\000", 8);
    n = 10 + (size_t)sprintf(out + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             cr_npy_type_name(type));
    for (i = 0; i < rank; i++)
        n += (size_t)sprintf(out + n, i == 0 ? "%" PRId64 : ", %" PRId64, shape[i]);
    n += (size_t)sprintf(out + n, rank == 1 ? ",), }" : "), }");
    if (rank > 0) {
        digits = snprintf(NULL, 0, "%" PRId64, shape[0]);
        n += (size_t)sprintf(out + n, "%*s", CR_NPY_GROWTH - digits, "");
    }
    total = (n + 1) / 64 * 64 + 64;
    memset(out + n, ' ', total - n);
    out[total - 1] = '\n';
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return total;
}
/*
 * safetensors_read.h - reads .safetensors files.
 *
 * Such a file is the length of a header (8 bytes), the header (a JSON object with the type, shape
 * and offsets of each tensor), and the tensors' bytes without gaps.  A file is checked as a whole
 * when it is opened, so that every size below is valid.  Errors: see mapping.h.
 */

/* Every element type of the format, with its width in bits. */
#define CR_ST_TYPES(TYPE)                                                                          \
    TYPE(F4, 4) TYPE(F6_E2M3, 6) TYPE(F6_E3M2, 6) TYPE(BOOL, 8) TYPE(U8, 8) TYPE(I8, 8)            \
    TYPE(F8_E5M2, 8) TYPE(F8_E4M3, 8) TYPE(F8_E8M0, 8) TYPE(F8_E4M3FNUZ, 8) TYPE(F8_E5M2FNUZ, 8)   \
    TYPE(I16, 16) TYPE(U16, 16) TYPE(F16, 16) TYPE(BF16, 16) TYPE(I32, 32) TYPE(U32, 32)           \
    TYPE(F32, 32) TYPE(C64, 64) TYPE(F64, 64) TYPE(I64, 64) TYPE(U64, 64)

enum cr_st_type {
#define CR_ST_ENUM(name, bits) CR_ST_##name,
    CR_ST_TYPES(CR_ST_ENUM)
#undef CR_ST_ENUM
};

/* A tensor of a file, or one to write. */
struct cr_st_tensor {
    const char *name; /* UTF-8 */
    enum cr_st_type type;
    int rank;
    const int64_t *shape;
    int64_t elements; /* set by the reader; the writer computes it */
    size_t bytes;     /* set by the reader; the writer computes it */
    const void *data; /* may be unaligned in a file */
};

struct cr_st_metadata {
    const char *key, *value;
};

struct cr_safetensors {
    const char *path; /* the caller's string; must outlive the open file */
    struct cr_mapping mapping;
    struct cr_st_tensor *tensors;    /* sorted by the bytes of their names */
    struct cr_st_metadata *metadata; /* sorted by the bytes of their keys */
    int n_tensors, n_metadata;
    char *strings;   /* the memory of names, keys and values */
    int64_t *shapes; /* the memory of shapes */
};

enum {
    CR_ST_PART = 16384,           /* bytes that are read at a time for conversion */
    CR_ST_HEADER_MAX = 100000000, /* maximum bytes of a header, by the format's first reader */
    CR_ST_VALUES_MAX = 2000000    /* maximum number of JSON values in a header; a tensor has about
                                   * seven */
};

static const struct {
    const char *name;
    int bits;
} cr_st_types[] = {
#define CR_ST_ROW(name, bits) {#name, bits},
    CR_ST_TYPES(CR_ST_ROW)
#undef CR_ST_ROW
};

enum { CR_ST_N_TYPES = sizeof cr_st_types / sizeof *cr_st_types };

/* State of parsing a header: its text, the file to fill, the buffer for the error. */
struct cr_st_reader {
    struct cr_json json;
    struct cr_safetensors *file;
    char *string;           /* where the next string is stored */
    int64_t *shape;         /* where the next shape is stored */
    size_t values, objects; /* upper bounds of the values and the objects in the header */
    const unsigned char *data;
    size_t data_size;
    uint64_t data_end; /* end of the last tensor's data; beyond data_size if the file is
                        * truncated */
    char *error;
    size_t size;
};

#define CR_ST_FAIL(reader, ...)                                                                    \
    cr_file_fail((reader)->error, (reader)->size, (reader)->file->path, __VA_ARGS__)

CR_API const char *cr_st_type_name(enum cr_st_type type)
{
    assert((int)type < CR_ST_N_TYPES);
    return cr_st_types[type].name;
}

static struct cr_shown cr_st_show(const char *name)
{
    return cr_show(name, strlen(name));
}

/* Sets `elements` and `bytes` of a tensor from its shape and type.  Returns -1 if one overflows,
 * or if the elements do not fill whole bytes. */
CR_API int cr_st_measure(struct cr_st_tensor *tensor)
{
    int64_t elements = 1;
    int bits = cr_st_types[tensor->type].bits, i;
    for (i = 0; i < tensor->rank; i++) {
        int64_t n = tensor->shape[i];
        if (n < 0 || (n > 0 && elements > INT64_MAX / n))
            return -1;
        elements *= n;
    }
    if (elements > INT64_MAX / bits || elements * bits % 8 != 0 ||
        (uint64_t)(elements * bits / 8) > SIZE_MAX)
        return -1;
    tensor->elements = elements;
    tensor->bytes = (size_t)(elements * bits / 8);
    return 0;
}

/* ---- the header ---- */

/* Returns the name of another format that is sometimes taken for safetensors; null if the bytes
 * have none. */
static const char *cr_st_other_format(struct cr_mapping mapping)
{
    static const struct {
        const char *magic, *what;
    } formats[] = {
        {"GGUF", "a GGUF file"},
        {"PK\003\004", "a zip file (PyTorch's .pt, perhaps)"},
        {"\223NUMPY", "a .npy file"},
        {"version https://git-lfs", "a git-lfs pointer, not the file it stands for"},
    };
    size_t i;
    for (i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t n = strlen(formats[i].magic);
        if (mapping.size >= n && memcmp(mapping.bytes, formats[i].magic, n) == 0)
            return formats[i].what;
    }
    return NULL;
}

/* Finds header and data; the header must be a JSON object from its first byte on. */
static int cr_st_find_header(struct cr_st_reader *r)
{
    struct cr_mapping mapping = r->file->mapping;
    const char *other = cr_st_other_format(mapping), *text = (const char *)mapping.bytes + 8;
    uint64_t n;
    if (other)
        return CR_ST_FAIL(r, "found %s, expected safetensors", other);
    if (mapping.size < 8)
        return CR_ST_FAIL(r, "%zu bytes, expected at least the 8 that give the header's length",
                          mapping.size);
    memcpy(&n, mapping.bytes, 8);
    if (n > CR_ST_HEADER_MAX)
        return CR_ST_FAIL(r, "header length %llu, expected at most %d", (unsigned long long)n,
                          CR_ST_HEADER_MAX);
    if (n > mapping.size - 8)
        return CR_ST_FAIL(r, "the file is cut short: found %zu bytes, expected %llu for the header alone",
                          mapping.size, (unsigned long long)n + 8);
    if (n == 0 || *text != '{')
        return CR_ST_FAIL(r, "header begins with %s, expected '{'", cr_show(text, n > 0).text);
    r->json = (struct cr_json){text, text, text + n, NULL, 0};
    r->data = mapping.bytes + 8 + n;
    r->data_size = mapping.size - 8 - (size_t)n;
    return 0;
}

/* Counts the characters outside of strings that can begin a value: an upper bound on the number
 * of values. */
static void cr_st_count(struct cr_st_reader *r)
{
    const char *at = r->json.begin;
    int string = 0;
    for (; at < r->json.end; at++) {
        if (*at == '"')
            string = !string;
        else if (*at == '\\')
            at += string;
        else if (!string && (*at == ',' || *at == '[' || *at == '{')) {
            r->values++;
            r->objects += *at == '{';
        }
    }
}

/* Allocates memory for the header's names, shapes and tensors. */
static int cr_st_make_room(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    cr_st_count(r);
    if (r->values > CR_ST_VALUES_MAX)
        return CR_ST_FAIL(r, "header has more than %d values, expected fewer", CR_ST_VALUES_MAX);
    file->strings = r->string = malloc((size_t)(r->json.end - r->json.begin) + 1);
    file->shapes = r->shape = malloc((r->values + 1) * sizeof *file->shapes);
    file->tensors = malloc((r->objects + 1) * sizeof *file->tensors);
    if (!file->strings || !file->shapes || !file->tensors)
        return CR_ST_FAIL(r, "out of memory for the header");
    return 0;
}

/* Fails because the header is invalid: with the JSON reader's error, or else `otherwise`. */
static int cr_st_fail_json(struct cr_st_reader *r, const char *otherwise)
{
    return CR_ST_FAIL(r, "header is not valid JSON at byte %zu: %s",
                      (size_t)(r->json.at - r->json.begin),
                      r->json.wrong ? r->json.wrong : otherwise);
}

/* True if any value comes next: then the text is JSON, but the value's type is wrong. */
static int cr_st_is_value(struct cr_st_reader *r)
{
    char c = r->json.at < r->json.end ? *r->json.at : '\0';
    return !r->json.wrong && c && strchr("\"[{-0123456789tfn", c);
}

/* Reads a string into the file's own memory; returns it, or null. */
static const char *cr_st_string(struct cr_st_reader *r)
{
    char *string = r->string;
    size_t n = cr_json_string(&r->json, string);
    r->string += n;
    return n ? string : NULL;
}

/* Reads the key of an object's member i and its colon.  Returns null with *status 0 at the end of
 * the object, with *status -1 if anything else comes next. */
static const char *cr_st_key(struct cr_st_reader *r, int i, int *status)
{
    int next = cr_json_next(&r->json, i, '}');
    const char *key = next > 0 ? cr_st_string(r) : NULL;
    *status = 0;
    if (next == 0 || (key && cr_json_take(&r->json, ':')))
        return key;
    *status = cr_st_fail_json(r, key ? "expected ':'" : "expected a name in quotes");
    return NULL;
}

/* ---- a tensor in the header ---- */

/* Reads the value of "dtype": the name of one of the format's types. */
static int cr_st_read_type(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    const char *type = cr_st_string(r);
    int i;
    if (!type && r->json.wrong)
        return cr_st_fail_json(r, "");
    if (!type)
        return CR_ST_FAIL(r, "tensor %s has no dtype, expected a string",
                          cr_st_show(tensor->name).text);
    for (i = 0; i < CR_ST_N_TYPES; i++) {
        if (strcmp(type, cr_st_types[i].name) == 0) {
            tensor->type = (enum cr_st_type)i;
            return 0;
        }
    }
    return CR_ST_FAIL(r, "tensor %s has dtype %s, expected one of safetensors' types",
                      cr_st_show(tensor->name).text, cr_st_show(type).text);
}

/* Reads the value of "shape": integers of at least 0, stored after all shapes so far. */
static int cr_st_read_shape(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    int next;
    tensor->shape = r->shape;
    if (!cr_json_take(&r->json, '['))
        return CR_ST_FAIL(r, "tensor %s has no shape, expected a list",
                          cr_st_show(tensor->name).text);
    for (; (next = cr_json_next(&r->json, tensor->rank, ']')) > 0; tensor->rank++) {
        int fine = cr_json_integer(&r->json, r->shape);
        if (!fine && !cr_st_is_value(r))
            return cr_st_fail_json(r, "expected an integer");
        if (!fine || *r->shape < 0)
            return CR_ST_FAIL(r, "dimension %d of tensor %s is not an integer from 0 on",
                              tensor->rank, cr_st_show(tensor->name).text);
        r->shape++;
    }
    return next < 0 ? cr_st_fail_json(r, "") : 0;
}

/* Reads the value of "data_offsets": [begin, end]. */
static int cr_st_read_offsets(struct cr_st_reader *r, const struct cr_st_tensor *tensor,
                              int64_t offsets[2])
{
    struct cr_json *json = &r->json;
    if (cr_json_take(json, '[') && cr_json_integer(json, &offsets[0]) && cr_json_take(json, ',') &&
        cr_json_integer(json, &offsets[1]) && cr_json_take(json, ']'))
        return 0;
    if (json->wrong)
        return cr_st_fail_json(r, "");
    return CR_ST_FAIL(r, "data_offsets of tensor %s are not two integers", cr_st_show(tensor->name).text);
}

/* Sets the tensor's address; its shape must need exactly the bytes that it has.  A tensor that
 * ends beyond the data gets no address; cr_st_check_places fails for it. */
static int cr_st_place(struct cr_st_reader *r, struct cr_st_tensor *tensor, const int64_t at[2])
{
    struct cr_shown name = cr_st_show(tensor->name);
    if (at[0] < 0 || at[1] < at[0] || at[1] > INT64_MAX / 2)
        return CR_ST_FAIL(r, "tensor %s has data_offsets [%lld, %lld], expected a range of bytes",
                          name.text, (long long)at[0], (long long)at[1]);
    if (cr_st_measure(tensor) != 0)
        return CR_ST_FAIL(r, "shape of tensor %s is not a whole number of bytes that can be counted", name.text);
    if (tensor->bytes != (uint64_t)(at[1] - at[0]))
        return CR_ST_FAIL(r, "tensor %s has %lld bytes, expected %zu from its shape and dtype",
                          name.text, (long long)(at[1] - at[0]), tensor->bytes);
    r->data_end = (uint64_t)at[1] > r->data_end ? (uint64_t)at[1] : r->data_end;
    tensor->data = (uint64_t)at[1] > r->data_size ? NULL : r->data + at[0];
    return 0;
}

/* Reads the description of a tensor: three members, in any order, each once. */
static int cr_st_read_tensor(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    struct cr_shown name = cr_st_show(tensor->name);
    int64_t offsets[2] = {0, 0};
    int n, field, status = 0, seen = 0;
    const char *key;
    if (!cr_json_take(&r->json, '{'))
        return CR_ST_FAIL(r, "tensor %s is not described by an object, expected one", name.text);
    for (n = 0; (key = cr_st_key(r, n, &status)); n++) {
        for (field = 0; field < 3 && strcmp(key, names[field]) != 0;)
            field++;
        if (field == 3)
            return CR_ST_FAIL(r,
                              "tensor %s has a field %s, expected the fields dtype, shape and "
                              "data_offsets",
                              name.text, cr_st_show(key).text);
        if (seen & 1 << field)
            return cr_st_fail_json(r, "found a name twice in an object, expected it once");
        seen |= 1 << field;
        status = field == 0   ? cr_st_read_type(r, tensor)
                 : field == 1 ? cr_st_read_shape(r, tensor)
                              : cr_st_read_offsets(r, tensor, offsets);
        if (status != 0)
            return -1;
    }
    for (field = 0; status == 0 && field < 3; field++)
        if (!(seen & 1 << field))
            return CR_ST_FAIL(r, "tensor %s has no %s, expected dtype, shape and data_offsets",
                              name.text, names[field]);
    return status != 0 ? -1 : cr_st_place(r, tensor, offsets);
}

/* Reads __metadata__, an object whose values are strings. */
static int cr_st_read_metadata(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int status;
    const char *key;
    if (file->metadata)
        return cr_st_fail_json(r, "found a name twice in an object, expected it once");
    if (!cr_json_take(&r->json, '{'))
        return CR_ST_FAIL(r, "__metadata__ is not an object, expected a map of strings");
    file->metadata = malloc((r->values + 1) * sizeof *file->metadata);
    if (!file->metadata)
        return CR_ST_FAIL(r, "out of memory for the header");
    while ((key = cr_st_key(r, file->n_metadata, &status))) {
        const char *value = cr_st_string(r);
        if (!value && !cr_st_is_value(r))
            return cr_st_fail_json(r, "expected a string");
        if (!value)
            return CR_ST_FAIL(r, "__metadata__ %s is not a string, expected one",
                              cr_st_show(key).text);
        file->metadata[file->n_metadata].key = key;
        file->metadata[file->n_metadata++].value = value;
    }
    return status;
}

/* Parses the header: an object of tensors, and of the metadata under a reserved name. */
static int cr_st_read_header(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int n, status;
    const char *key;
    cr_json_take(&r->json, '{');
    for (n = 0; (key = cr_st_key(r, n, &status)); n++) {
        struct cr_st_tensor *tensor = &file->tensors[file->n_tensors];
        if (strcmp(key, "__metadata__") == 0) {
            if (cr_st_read_metadata(r) != 0)
                return -1;
            continue;
        }
        *tensor = (struct cr_st_tensor){.name = key};
        file->n_tensors++;
        if (cr_st_read_tensor(r, tensor) != 0)
            return -1;
    }
    if (status == 0 && !cr_json_ended(&r->json))
        status = cr_st_fail_json(r, "found text after the object, expected none");
    return status;
}

/* ---- the whole ---- */

/* Orders tensors by offset in the file; an empty one precedes another with the same offset. */
static int cr_st_by_place(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q)
        return p < q ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int cr_st_by_name(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int cr_st_by_key(const void *a, const void *b)
{
    const struct cr_st_metadata *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Fails unless the tensors fill the data without gaps or overlaps. */
static int cr_st_check_places(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    const unsigned char *next = r->data, *end = r->data + r->data_size;
    const uint64_t size = file->mapping.size, missing = r->data_end - r->data_size;
    int i;
    if (r->data_end > r->data_size)
        return CR_ST_FAIL(r, "the file is cut short: found %llu bytes, expected %llu",
                          (unsigned long long)size, (unsigned long long)(size + missing));
    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, cr_st_by_place);
    for (i = 0; i < file->n_tensors; i++) {
        const struct cr_st_tensor *tensor = &file->tensors[i];
        const unsigned char *data = tensor->data;
        if (data != next)
            return CR_ST_FAIL(r, "tensor %s begins %td bytes %s, expected no %s",
                              cr_st_show(tensor->name).text,
                              data < next ? next - data : data - next,
                              data < next ? "before another ends" : "after the one before it ends",
                              data < next ? "overlap" : "hole");
        next += tensor->bytes;
    }
    if (next != end)
        return CR_ST_FAIL(r, "%td bytes after the last tensor, expected none", end - next);
    return 0;
}

/* Sorts tensors by name; fails if a name occurs twice. */
static int cr_st_check_names(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int i;
    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, cr_st_by_name);
    for (i = 1; i < file->n_tensors; i++)
        if (cr_st_by_name(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return CR_ST_FAIL(r, "found tensor %s twice, expected it once",
                              cr_st_show(file->tensors[i].name).text);
    if (file->n_metadata > 0)
        qsort(file->metadata, (size_t)file->n_metadata, sizeof *file->metadata, cr_st_by_key);
    for (i = 1; i < file->n_metadata; i++)
        if (cr_st_by_key(&file->metadata[i - 1], &file->metadata[i]) == 0)
            return CR_ST_FAIL(r, "found __metadata__ %s twice, expected it once",
                              cr_st_show(file->metadata[i].key).text);
    return 0;
}

static void cr_st_free(struct cr_safetensors *file)
{
    free(file->tensors);
    free(file->metadata);
    free(file->strings);
    free(file->shapes);
    *file = (struct cr_safetensors){0};
}

/* Checks a file whose bytes are in memory.  The bytes belong to `file` if this succeeds, else to
 * the caller. `path` is for messages. */
CR_API int cr_safetensors_parse(struct cr_safetensors *file, const char *path,
                                struct cr_mapping mapping, char *error, size_t size)
{
    struct cr_st_reader r = {.file = file, .error = error, .size = size};
    *file = (struct cr_safetensors){.path = path, .mapping = mapping};
    if (cr_st_find_header(&r) == 0 && cr_st_make_room(&r) == 0 && cr_st_read_header(&r) == 0 &&
        cr_st_check_places(&r) == 0 && cr_st_check_names(&r) == 0)
        return 0;
    cr_st_free(file);
    return -1;
}

/* Maps only the header; the elements are read later, not mapped.  If the file's first 8 bytes
 * cannot be the length of a header, maps the beginning of the file, so that the error message
 * can name its format. */
static int cr_st_map(struct cr_mapping *mapping, const char *path, char *error, size_t size)
{
    uint64_t n;
    if (cr_map_begin(mapping, path, CR_ST_PART, error, size) != 0)
        return -1;
    if (mapping->size < 8)
        return 0;
    memcpy(&n, mapping->bytes, 8);
    if (n > mapping->size - 8 || n > CR_ST_HEADER_MAX)
        return 0;
    if (cr_map_more(mapping, 8 + (size_t)n, path, error, size) == 0)
        return 0;
    cr_unmap_file(mapping);
    return -1;
}

/* The open file keeps the mapping of the header. */
CR_API int cr_safetensors_open(struct cr_safetensors *file, const char *path, char *error,
                               size_t size)
{
    struct cr_mapping mapping;
    *file = (struct cr_safetensors){0};
    if (cr_st_map(&mapping, path, error, size) != 0)
        return -1;
    if (cr_safetensors_parse(file, path, mapping, error, size) == 0)
        return 0;
    cr_unmap_file(&mapping);
    return -1;
}

CR_API void cr_safetensors_close(struct cr_safetensors *file)
{
    cr_unmap_file(&file->mapping);
    cr_st_free(file);
}

/* Returns the tensor called `name`, or null. */
CR_API const struct cr_st_tensor *cr_safetensors_find(const struct cr_safetensors *file,
                                                      const char *name)
{
    struct cr_st_tensor key = {.name = name};
    return bsearch(&key, file->tensors, (size_t)file->n_tensors, sizeof key, cr_st_by_name);
}

/* ---- elements ---- */

/* Returns the same type of numbers.h; -1 if it is not a floating-point type. */
static int cr_st_number(enum cr_st_type type)
{
    return type == CR_ST_F32    ? CR_NUMBER_F32
           : type == CR_ST_F16  ? CR_NUMBER_F16
           : type == CR_ST_BF16 ? CR_NUMBER_BF16
           : type == CR_ST_F64  ? CR_NUMBER_F64
                                : -1;
}

/* Fails if a tensor's type is not F32, F16, BF16 or F64, which cr_st_read converts to floats. */
CR_API int cr_safetensors_check(const struct cr_safetensors *file,
                                const struct cr_st_tensor *tensor, char *error, size_t size)
{
    if (cr_st_number(tensor->type) >= 0)
        return 0;
    return cr_file_fail(error, size, file->path,
                        "tensor %s has dtype %s, expected F32, F16, BF16 or F64",
                        cr_st_show(tensor->name).text, cr_st_type_name(tensor->type));
}

/* Reads f32 directly into `out`; converts other types through a buffer on the stack. */
/* Converts n elements of a tensor, from element `first` on, to floats; cr_safetensors_check must
 * accept the type. Reads as cr_mapping_read does; -1 if that fails.  Threads may call it at the
 * same time. */
CR_API int cr_st_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                      int64_t first, int64_t n, float *out)
{
    int type = cr_st_number(tensor->type);
    size_t width, at = (size_t)((const unsigned char *)tensor->data - file->mapping.bytes);
    unsigned char part[CR_ST_PART];
    int64_t some, i;
    assert(type >= 0 && first >= 0 && n <= tensor->elements - first);
    width = cr_number_width((enum cr_number)type);
    at += (size_t)first * width;
    if (tensor->type == CR_ST_F32)
        return cr_mapping_read(&file->mapping, at, (size_t)n * width, out);
    for (i = 0; i < n; i += some, at += (size_t)some * width) {
        some = CR_ST_PART / (int64_t)width;
        some = n - i < some ? n - i : some;
        if (cr_mapping_read(&file->mapping, at, (size_t)some * width, part) != 0)
            return -1;
        cr_numbers_floats((enum cr_number)type, part, some, out + i);
    }
    return 0;
}
/*
 * main - runs the model on files: weights from a .safetensors file, inputs and outputs as .npy files.
 * An invalid file, or one that does not fit the model, gives one line on stderr and exit status 2.
 *
 * It needs, in front of it: struct cr_tensor; the tables cr_main_params, cr_main_inputs and
 * cr_main_outputs, each with at least one row, and the macros CR_MAIN_...; cr_main_load(weights, index,
 * tensor), which copies a parameter to the weights, and cr_main_run(weights, inputs, outputs, arena),
 * which returns 0 if it succeeds.  Weights and arena are aligned to 64 bytes and begin as zeros.
 */

/*
 * write.inc - writes a file that appears under its name only when it is complete.
 *
 * While it is written it is named .crescent-N.tmp, and locked.  So the next program that writes into the
 * folder can tell a file that is being written from one that an interrupted program left, and removes
 * the latter.
 */
#if defined(__unix__) || defined(__APPLE__)

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif

/* A new file ("draft"); its mode is 0666 minus the umask.  Functions return 0, or -1 with errno
 * set.  A draft must be closed, also if opening it failed. */
struct cr_new_file {
    int fd;           /* descriptor for writing */
    int named;        /* true while the file has the name `temporary` */
    char *temporary;  /* a path in the target's folder */
    size_t folder;    /* length of the folder's path at the start of `temporary` */
    const char *path; /* the final path; must outlive the draft */
};

static void cr_new_file_name(struct cr_new_file *draft, int number)
{
    snprintf(draft->temporary + draft->folder, 32, ".crescent-%d.tmp", number);
}

/* True if the open file is this user's and still has that name. */
static int cr_new_file_is_named(int fd, const char *name)
{
    struct stat file, found;
    return fstat(fd, &file) == 0 && lstat(name, &found) == 0 && file.st_dev == found.st_dev &&
           file.st_ino == found.st_ino && S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

/* Removes a temporary file that no program is writing. */
static void cr_new_file_sweep(const char *name)
{
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && cr_new_file_is_named(fd, name))
        unlink(name);
    close(fd);
}

/* Creates and locks a file with a unique name.  Another program may remove it before it is
 * locked; then the next name is tried. */
static int cr_new_file_create(struct cr_new_file *draft)
{
    int number, fd;
    for (number = 0; number < 1000; number++) {
        cr_new_file_name(draft, number);
        cr_new_file_sweep(draft->temporary);
        fd = open(draft->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd < 0)
            continue;
        flock(fd, LOCK_EX);
        if (cr_new_file_is_named(fd, draft->temporary)) {
            draft->named = 1;
            return fd;
        }
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

/* Opens a draft of the file at `path`; it gets the mode of the existing file, if any. */
static int cr_new_file_open(struct cr_new_file *draft, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat older;
    int number;
    draft->named = 0;
    draft->path = path;
    draft->folder = slash ? (size_t)(slash - path) + 1 : 0;
    draft->temporary = malloc(draft->folder + 32);
    draft->fd = -1;
    if (!draft->temporary)
        return -1;
    memcpy(draft->temporary, path, draft->folder);
    for (number = 0; number < 8; number++) {
        cr_new_file_name(draft, number);
        cr_new_file_sweep(draft->temporary);
    }
    if (draft->fd < 0)
        draft->fd = cr_new_file_create(draft);
    if (draft->fd >= 0 && stat(path, &older) == 0)
        return fchmod(draft->fd, older.st_mode & 0777);
    return draft->fd < 0 ? -1 : 0;
}

/* Gives the draft its final name, replacing an existing file. */
static int cr_new_file_publish(struct cr_new_file *draft)
{
    if (draft->named && rename(draft->temporary, draft->path) != 0)
        return -1;
    draft->named = 0;
    return 0;
}

/* Closes the draft, and removes the file unless it was published.  Keeps errno. */
static void cr_new_file_close(struct cr_new_file *draft)
{
    int reason = errno;
    if (draft->named)
        unlink(draft->temporary);
    if (draft->fd >= 0)
        close(draft->fd);
    free(draft->temporary);
    errno = reason;
}

#endif

/* ---- failing, memory, files ---- */

/* Ends the program with status 2 after printing "PATH: reason"; the system frees its resources. */
static void cr_main_fail(const char *path, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", path);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(2);
}

/* Allocates zeroed memory with 63 additional bytes, so that it can be aligned. */
static void *cr_main_memory(size_t size)
{
    void *memory = size < SIZE_MAX - 63 ? calloc(1, size + 63) : NULL;
    if (!memory)
        cr_main_fail(CR_MAIN_NAME, "out of memory for %lu bytes", (unsigned long)size);
    return memory;
}

static void *cr_main_align(void *memory)
{
    return (char *)memory + (64 - (uintptr_t)memory % 64) % 64;
}

/* Ends the program with a reader's error message if `status` is not 0. */
static void cr_main_require(int status, const char *message)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s\n", message);
    exit(2);
}

/* Writes a shape as text, "2, 3", to a buffer of 200 characters. */
static const char *cr_main_shape(char *room, const struct cr_tensor *tensor)
{
    int n = 0, i;
    *room = '\0';
    for (i = 0; i < tensor->rank; i++)
        n += sprintf(room + n, i > 0 ? ", %ld" : "%ld", tensor->shape[i]);
    return room;
}

/* True if a tensor has the shape of a file's array. */
static int cr_main_fits(const struct cr_tensor *tensor, int rank, const int64_t *shape)
{
    int i = 0;
    while (i < rank && i < tensor->rank && shape[i] == tensor->shape[i])
        i++;
    return rank == tensor->rank && i == rank;
}

/* ---- weights ---- */

/* Returns the name, shape and size of a parameter. */
static struct cr_tensor cr_main_param(int index)
{
    return (struct cr_tensor){cr_main_params[index].name, cr_main_params[index].rank,
                              cr_main_params[index].shape, cr_main_params[index].elements, 0};
}

/* Reads a parameter as a whole, and loads it. */
static void cr_main_take(const struct cr_safetensors *file, const struct cr_st_tensor *found, int index, void *weights)
{
    float *tensor = cr_main_memory((size_t)found->elements * 4);
    char error[512];
    if (cr_st_read(file, found, 0, found->elements, tensor) != 0)
        cr_main_require(cr_mapping_fail(&file->mapping, file->path, error, sizeof error), error);
    cr_main_load(weights, index, tensor);
    free(tensor);
}

/* Finds a parameter, which must have the model's shape. */
static const struct cr_st_tensor *cr_main_find(const struct cr_safetensors *file, const struct cr_tensor *param)
{
    const struct cr_st_tensor *found = cr_safetensors_find(file, param->name);
    char error[512], shape[200];
    if (!found || !cr_main_fits(param, found->rank, found->shape))
        cr_main_fail(file->path, "tensor %s is %s, expected it with shape [%s]",
                     cr_show(param->name, strlen(param->name)).text,
                     found ? "of another shape" : "not there", cr_main_shape(shape, param));
    cr_main_require(cr_safetensors_check(file, found, error, sizeof error), error);
    return found;
}

/* Loads every parameter of the model; only counts the file's other tensors. */
static void cr_main_weights(const char *path, void *weights)
{
    struct cr_safetensors file;
    char error[512];
    cr_main_require(cr_safetensors_open(&file, path, error, sizeof error), error);
    for (int i = 0; i < CR_MAIN_PARAMS; i++) {
        const struct cr_tensor param = cr_main_param(i);
        const struct cr_st_tensor *found = cr_main_find(&file, &param);
        cr_main_take(&file, found, i, weights);
    }
    int ignored = file.n_tensors - CR_MAIN_PARAMS;
    if (ignored > 0)
        fprintf(stderr, "%s: note: ignored %d tensors that are not in the model\n", path, ignored);
    cr_safetensors_close(&file);
}

/* ---- .npy ---- */

/* Reads an input from its file; the caller frees it. */
static void *cr_main_read_npy(const char *path, const struct cr_tensor *tensor)
{
    void *data = cr_main_memory((size_t)tensor->elements * 4);
    char error[512], shape[200];
    struct cr_npy file;
    cr_main_require(cr_npy_open(&file, path, error, sizeof error), error);
    if (!cr_main_fits(tensor, file.rank, file.shape))
        cr_main_fail(path, "an array of another shape, expected [%s] for '%s'",
                     cr_main_shape(shape, tensor), tensor->name);
    if (!tensor->is_i32)
        cr_main_require(cr_npy_read_f32(&file, data, error, sizeof error), error);
    cr_npy_close(&file);
    return data;
}

/* Prints the header of an output's file; returns its length. */
static size_t cr_main_print_header(char header[CR_NPY_HEADER], const struct cr_tensor *tensor)
{
    int64_t shape[8];
    for (int i = 0; i < tensor->rank; i++)
        shape[i] = tensor->shape[i];
    return cr_npy_print_header(header, tensor->is_i32 ? CR_NPY_I4 : CR_NPY_F4, tensor->rank, shape);
}

/* Writes the elements of an output after their header. */
static int cr_main_write(FILE *file, const struct cr_tensor *tensor, const void *data)
{
    char header[CR_NPY_HEADER];
    size_t n = (size_t)tensor->elements, end = cr_main_print_header(header, tensor);
    int written = file && fwrite(header, 1, end, file) == end && fwrite(data, 4, n, file) == n;
    return file && fclose(file) == 0 && written;
}

#if defined(__unix__) || defined(__APPLE__)

/* Fails if the path is a folder, pipe or device, which must not be replaced. */
static void cr_main_regular(const char *path)
{
    struct stat status;
    const char *kind = stat(path, &status) == 0 ? cr_file_kind(status.st_mode) : NULL;
    if (kind)
        cr_main_fail(path, "%s, expected a regular file", kind);
}

/* Writes an output; the file appears either completely or not at all. */
static int cr_main_publish(const char *path, const struct cr_tensor *tensor, const void *data)
{
    struct cr_new_file draft;
    int written;
    cr_main_regular(path);
    written = cr_new_file_open(&draft, path) == 0 &&
              cr_main_write(fdopen(dup(draft.fd), "wb"), tensor, data) &&
              cr_new_file_publish(&draft) == 0;
    cr_new_file_close(&draft);
    return written;
}

#else

/* Writes an output; after a failure, removes the file. */
static int cr_main_publish(const char *path, const struct cr_tensor *tensor, const void *data)
{
    int written = cr_main_write(fopen(path, "wb"), tensor, data);
    if (!written)
        remove(path);
    return written;
}

#endif

static void cr_main_write_npy(const char *path, const struct cr_tensor *tensor, const void *data)
{
    if (!cr_main_publish(path, tensor, data))
        cr_main_fail(path, "cannot be written: %s", strerror(errno));
}

/* ---- the command line ---- */

/* The files of the tensors.  The arrays have an additional item, because C has no empty arrays. */
struct cr_main_files {
    const char *weights, *inputs[CR_MAIN_INPUTS + 1], *outputs[CR_MAIN_OUTPUTS + 1];
};

static void cr_main_list(FILE *to, const char *title, const struct cr_tensor *tensors, int n)
{
    char shape[200];
    for (int i = 0; i < n; i++)
        fprintf(to, "%-8s %s %s [%s]\n", title, tensors[i].name,
                tensors[i].is_i32 ? "int32" : "float32", cr_main_shape(shape, &tensors[i]));
}

/* Prints the arguments, and the model's inputs, outputs and weights. */
static void cr_main_help(FILE *to)
{
    fprintf(to, "usage: PROGRAM [--weights FILE.safetensors] --input NAME=FILE.npy ...\n"
                "       --output NAME=FILE.npy ...\n\n"
                "Runs " CR_MAIN_NAME ", compiled for these shapes:\n\n");
    cr_main_list(to, "input", cr_main_inputs, CR_MAIN_INPUTS);
    cr_main_list(to, "output", cr_main_outputs, CR_MAIN_OUTPUTS);
    for (int i = 0; i < CR_MAIN_PARAMS; i++) {
        const struct cr_tensor param = cr_main_param(i);
        cr_main_list(to, "weights", &param, 1);
    }
}

/* Records the file of an argument NAME=FILE, where NAME must be one of the tensors. */
static void cr_main_assign(const char *argument, const struct cr_tensor *tensors, int n,
                           const char **paths)
{
    size_t length = strcspn(argument, "=");
    int i = 0;
    while (i < n && (strlen(tensors[i].name) != length ||
                     memcmp(argument, tensors[i].name, length) != 0))
        i++;
    if (i == n || !argument[length] || !argument[length + 1] || paths[i])
        cr_main_fail(argument, "unknown or repeated NAME, or no file, expected NAME=FILE.npy with a NAME of --help");
    paths[i] = argument + length + 1;
}

/* Parses the arguments; every input and at least one output must have a file. */
static void cr_main_arguments(struct cr_main_files *files, int argc, char **argv)
{
    int i, outputs = 0;
    for (i = 1; i < argc; i += 2) {
        const char *option = argv[i], *value = argv[i + 1]; /* argv[argc] is null */
        if (value && strcmp(option, "--input") == 0)
            cr_main_assign(value, cr_main_inputs, CR_MAIN_INPUTS, files->inputs);
        else if (value && strcmp(option, "--output") == 0)
            cr_main_assign(value, cr_main_outputs, CR_MAIN_OUTPUTS, files->outputs), outputs++;
        else if (value && strcmp(option, "--weights") == 0 && !files->weights)
            files->weights = value;
        else
            cr_main_fail(option, "unknown or repeated option, or no file, expected --weights, --input or --output and a file");
    }
    for (i = 0; i < CR_MAIN_INPUTS; i++)
        if (!files->inputs[i])
            cr_main_fail(cr_main_inputs[i].name, "no file, expected --input NAME=FILE.npy");
    if (CR_MAIN_PARAMS > 0 && !files->weights)
        cr_main_fail(CR_MAIN_NAME, "no weights, expected --weights FILE.safetensors");
    if (outputs == 0)
        cr_main_fail(CR_MAIN_NAME, "nothing to write, expected --output NAME=FILE.npy");
}

/* Reads all files, runs the model once, and writes the requested outputs. */
static void cr_main_go(const struct cr_main_files *files)
{
    void *weights = cr_main_memory(CR_MAIN_WEIGHTS_BYTES);
    void *arena = cr_main_memory(CR_MAIN_ARENA_BYTES);
    void *outputs[CR_MAIN_OUTPUTS + 1] = {NULL};
    const void *inputs[CR_MAIN_INPUTS + 1] = {NULL};
    int i, status;
    if (files->weights)
        cr_main_weights(files->weights, cr_main_align(weights));
    for (i = 0; i < CR_MAIN_INPUTS; i++)
        inputs[i] = cr_main_read_npy(files->inputs[i], &cr_main_inputs[i]);
    for (i = 0; i < CR_MAIN_OUTPUTS; i++)
        outputs[i] = cr_main_memory((size_t)cr_main_outputs[i].elements * 4);
    status = cr_main_run(cr_main_align(weights), inputs, outputs, cr_main_align(arena));
    if (status != 0)
        cr_main_fail(CR_MAIN_NAME, "the model returns %d, expected 0", status);
    for (i = 0; i < CR_MAIN_OUTPUTS; free(outputs[i++]))
        if (files->outputs[i])
            cr_main_write_npy(files->outputs[i], &cr_main_outputs[i], outputs[i]);
    for (i = 0; i < CR_MAIN_INPUTS; i++)
        free((void *)inputs[i]);
    free(weights);
    free(arena);
}

/* Parses the arguments (or prints --help), and runs the model. */
int main(int argc, char **argv)
{
    struct cr_main_files files;
    int help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    memset(&files, 0, sizeof files);
    if (argc < 2 || help) {
        cr_main_help(help ? stdout : stderr);
        return help ? 0 : 2;
    }
    cr_main_arguments(&files, argc, argv);
    cr_main_go(&files);
    return 0;
}

#endif

#else /* CR_ISA */

/* ---- the template of the runtime ---- */

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" /* not every model calls all of them */
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#endif

/*
 * runtime.inc - the runtime for one instruction set.
 *
 * Included after each of vector_*.h; everything that it defines has the instruction set in its
 * name.  At its end it undefines the macros of vector_*.h.
 */
/*
 * math.inc - elementary functions of vectors, with an error of at most 2 ulp everywhere (the
 * sigmoid 2.5).
 *
 * All of them use the argument reduction x = n ln 2 + r with |r| <= (ln 2) / 2, or its inverse. The
 * polynomials are minimax fits of the relative error of the function, with coefficients rounded to
 * float one after another.
 */

/*
 * v_larger and v_smaller return the larger and the smaller of two numbers; +0 is larger than -0;
 * NaN if either is NaN.  Equal numbers can differ only in the sign of zero, and v_max returns the
 * second of them.  v_at_least and v_at_most limit x by a number that is not zero; a NaN is passed
 * on.
 */
#ifdef v_larger
#define v_at_least(limit, x) v_larger(v_set1(limit), x)
#define v_at_most(limit, x) v_smaller(v_set1(limit), x)
#else
#define v_larger(a, b) v_ordered_or(a, b, v_and(v_max(a, b), v_max(b, a)))
#define v_smaller(a, b) v_ordered_or(a, b, v_or(v_min(a, b), v_min(b, a)))
#define v_at_least(limit, x) v_max(v_set1(limit), x)
#define v_at_most(limit, x) v_min(v_set1(limit), x)
#endif

/*
 * Return the larger, or the smaller, of a running value and x, for uses in which the sign of a zero
 * does not matter; NaN if either is NaN.  v_max and v_min pass on a NaN of the running value, so
 * only x is tested, and the test is not on the critical path.
 */
CR_INLINE VF CR_NAME(v_top)(VF running, VF x)
{
    return v_nan_or(x, v_max(x, running));
}

#define CR_TOP(running, x) CR_NAME(v_top)(running, x)

#ifndef v_scale
/* Returns x 2^n for t = n + CR_ROUND, rounded once: multiplies in two steps, of which only the
 * second may leave the range of normal numbers. */
CR_INLINE VF CR_NAME(v_scaled)(VF x, VF t)
{
    VF half = v_fma(t, v_set1(0.5f), v_set1(0.5f * CR_ROUND));
    return x * v_pow2(half) * v_pow2(t - half + v_set1(CR_ROUND));
}
#define v_scale(x, t) CR_NAME(v_scaled)(x, t)
#endif

/* Loops over the n vectors of an array, at most CR_BESIDE.  An exponential is a long chain of
 * dependent operations; several of them are interleaved, so that a processor need not look far
 * ahead. */
#define CR_EACH CR_UNROLL for (int i = 0; i < n; i++)

/*
 * For x = n ln 2 + r, sets p to exp(r) - 1, and t to n + CR_ROUND: adding CR_ROUND rounds to an
 * integer and leaves it in the low bits.  Valid while n fits in 21 bits.
 */
CR_INLINE void CR_NAME(v_expm1_reduced)(const int n, const VF *x, VF *t, VF *p)
{
    VF r[CR_BESIDE];
    CR_EACH t[i] = v_fma(x[i], v_set1(0x1.715476p+0f), v_set1(CR_ROUND));
    CR_EACH r[i] = v_fma(t[i] - v_set1(CR_ROUND), v_set1(-CR_LN2_HIGH), x[i]);
    CR_EACH r[i] = v_fma(t[i] - v_set1(CR_ROUND), v_set1(-CR_LN2_LOW), r[i]);
    CR_EACH p[i] = v_fma(v_set1(0x1.6b8caep-10f), r[i], v_set1(0x1.1226a6p-7f));
    CR_EACH p[i] = v_fma(p[i], r[i], v_set1(0x1.555702p-5f));
    CR_EACH p[i] = v_fma(p[i], r[i], v_set1(0x1.5554b2p-3f));
    CR_EACH p[i] = v_fma(p[i], r[i], v_set1(0x1.fffffep-2f));
    CR_EACH p[i] = v_fma(r[i] * r[i], p[i], r[i]);
}

/* Computes exponentials of numbers x that are clamped already; beyond the clamps a result would be
 * 0 or infinite. */
CR_INLINE void CR_NAME(v_exps_within)(const int n, VF *x)
{
    VF t[CR_BESIDE], p[CR_BESIDE];
    CR_NAME(v_expm1_reduced)(n, x, t, p);
    CR_EACH x[i] = v_scale(CR_ONE + p[i], t[i]);
}

/* Computes exp of each vector of x.  A NaN passes both clamps. */
CR_INLINE void CR_NAME(v_exps)(const int n, VF *x)
{
    CR_EACH x[i] = v_at_least(-104.0f, v_at_most(89.0f, x[i]));
    CR_NAME(v_exps_within)(n, x);
}

CR_INLINE VF CR_NAME(v_exp)(VF x)
{
    CR_NAME(v_exps)(1, &x);
    return x;
}

/* Computes the sigmoid of each vector of x from e = exp(-|x|), which cannot overflow: 1 / (1 + e),
 * or e / (1 + e) for x < 0. */
CR_INLINE void CR_NAME(v_sigmoids)(const int n, VF *x)
{
    VF e[CR_BESIDE];
    CR_EACH e[i] = v_at_least(-104.0f, -CR_ABS(x[i]));
    CR_NAME(v_exps_within)(n, e);
    CR_EACH x[i] = v_if_negative(x[i], e[i], CR_ONE) / (CR_ONE + e[i]);
}

CR_INLINE VF CR_NAME(v_sigmoid)(VF x)
{
    CR_NAME(v_sigmoids)(1, &x);
    return x;
}

#define CR_EXP(a) CR_NAME(v_exp)(a)
#define CR_SIGMOID(a) CR_NAME(v_sigmoid)(a)
#define CR_FMA(a, b, c) v_fma(a, b, c)
/*
 * elementwise.inc - a function for each row of CR_ELEMENTWISE and each combination of operand
 * forms: a tile (v), or a column with one value for each row (s).
 */

/* Macros for the types of operands and results: f is float; i32.inc adds i. */
#define CR_ELEMENT_f float
#define CR_VECTOR_f VF
#define CR_SET1_f(x) v_set1(x)
#define CR_GET_f(p) v_load(p)
#define CR_GET_N_f(p, n) v_load_n(p, n)
#define CR_PUT_f(p, x) v_store(p, x)
#define CR_PUT_N_f(p, x, n) v_store_n(p, x, n)

/* Macros for an operand x of type T at xp, with the row stride ldx: its parameters, and how it is read. */
#define CR_OPERAND(x, T) const CR_ELEMENT_##T *x##p, long ld##x
#define CR_DENSE_v(x) (ld##x == cols)
#define CR_DENSE_s(x) 0
#define CR_ROW_v(x, T)
#define CR_ROW_s(x, T) const CR_VECTOR_##T x = CR_SET1_##T(x##p[r * ld##x]);
#define CR_FULL_v(x, T) const CR_VECTOR_##T x = CR_GET_##T(x##p + r * ld##x + i);
#define CR_FULL_s(x, T)
#define CR_PART_v(x, T) const CR_VECTOR_##T x = CR_GET_N_##T(x##p + r * ld##x + i, cols - i);
#define CR_PART_s(x, T)

/* Processes a tile; one without gaps between its rows is processed as a single long row. */
#define CR_STRIP(Y, dense, row, full, part, expression)                                            \
    {                                                                                              \
        if (ldy == cols && dense) {                                                                \
            cols *= rows;                                                                          \
            rows = 1;                                                                              \
        }                                                                                          \
        for (long r = 0; r < rows; r++) {                                                          \
            long i = 0;                                                                            \
            row CR_UNROLL_BY_4 for (; i + CR_W <= cols; i += CR_W)                                 \
            {                                                                                      \
                full CR_PUT_##Y(y + r * ldy + i, expression);                                      \
            }                                                                                      \
            if (i < cols) {                                                                        \
                part CR_PUT_N_##Y(y + r * ldy + i, expression, cols - i);                          \
            }                                                                                      \
        }                                                                                          \
    }

/* Defines a function with a result of type Y, a first operand of type S and further ones of type T;
 * A, B and C are the forms of the operands, v or s. */
#define CR_MAP1(name, Y, S, T, A, e)                                                               \
    static void CR_NAME(cr_##name##_##A)(long rows, long cols, CR_ELEMENT_##Y *y, long ldy,        \
                                         CR_OPERAND(a, S))                                         \
        CR_STRIP(Y, CR_DENSE_##A(a), CR_ROW_##A(a, S), CR_FULL_##A(a, S), CR_PART_##A(a, S), (e))

#define CR_MAP2(name, Y, S, T, A, B, e)                                                            \
    static void CR_NAME(cr_##name##_##A##B)(long rows, long cols, CR_ELEMENT_##Y *y, long ldy,     \
                                            CR_OPERAND(a, S), CR_OPERAND(b, T))                    \
        CR_STRIP(Y, CR_DENSE_##A(a) && CR_DENSE_##B(b), CR_ROW_##A(a, S) CR_ROW_##B(b, T),         \
                 CR_FULL_##A(a, S) CR_FULL_##B(b, T), CR_PART_##A(a, S) CR_PART_##B(b, T), (e))

#define CR_MAP3(name, Y, S, T, A, B, C, e)                                                         \
    static void CR_NAME(cr_##name##_##A##B##C)(long rows, long cols, CR_ELEMENT_##Y *y, long ldy,  \
                                               CR_OPERAND(a, S), CR_OPERAND(b, T),                 \
                                               CR_OPERAND(c, T))                                   \
        CR_STRIP(Y, CR_DENSE_##A(a) && CR_DENSE_##B(b) && CR_DENSE_##C(c),                         \
                 CR_ROW_##A(a, S) CR_ROW_##B(b, T) CR_ROW_##C(c, T),                               \
                 CR_FULL_##A(a, S) CR_FULL_##B(b, T) CR_FULL_##C(c, T),                            \
                 CR_PART_##A(a, S) CR_PART_##B(b, T) CR_PART_##C(c, T), (e))

#define CR_STRIPS_1(name, Y, S, T, e) CR_MAP1(name, Y, S, T, v, e)
#define CR_STRIPS_2(name, Y, S, T, e)                                                              \
    CR_MAP2(name, Y, S, T, v, v, e)                                                                \
    CR_MAP2(name, Y, S, T, v, s, e)                                                                \
    CR_MAP2(name, Y, S, T, s, v, e)
#define CR_STRIPS_3(name, Y, S, T, e)                                                              \
    CR_MAP3(name, Y, S, T, v, v, v, e)                                                             \
    CR_MAP3(name, Y, S, T, v, v, s, e)                                                             \
    CR_MAP3(name, Y, S, T, v, s, v, e)                                                             \
    CR_MAP3(name, Y, S, T, v, s, s, e)                                                             \
    CR_MAP3(name, Y, S, T, s, v, v, e)                                                             \
    CR_MAP3(name, Y, S, T, s, v, s, e)                                                             \
    CR_MAP3(name, Y, S, T, s, s, v, e)
#define CR_STRIPS(name, arity, rule, expression, description)                                      \
    CR_STRIPS_##arity(name, f, f, f, expression)

CR_ELEMENTWISE(CR_STRIPS)
/*
 * move.inc - copies between strided memory, tiles and packed panels.
 *
 * Elements are copied bit by bit, so load, store and gather also serve i32.
 */

/* Loads the first n floats of a vector, for any n; the remaining elements are zeros. */
CR_INLINE VF CR_NAME(v_load_cut)(const float *p, long n)
{
    if (n >= CR_W) {
        return v_load(p);
    }
    return n > 0 ? v_load_n(p, n) : v_set1(0.0f);
}

CR_INLINE void CR_NAME(v_store_cut)(float *p, VF x, long n)
{
    if (n >= CR_W) {
        v_store(p, x);
    } else if (n > 0) {
        v_store_n(p, x, n);
    }
}

static void CR_NAME(cr_copy)(long rows, long cols, float *y, long ldy, const float *x, long ldx)
{
    for (long r = 0; r < rows; r++) {
        long i = 0;
        for (; i + CR_W <= cols; i += CR_W) {
            v_store(y + r * ldy + i, v_load(x + r * ldx + i));
        }
        if (i < cols) {
            v_store_n(y + r * ldy + i, v_load_n(x + r * ldx + i, cols - i), cols - i);
        }
    }
}

/* y[r, :] = x[r * rs] */
static void CR_NAME(cr_fill)(long rows, long cols, float *y, long ldy, const float *x, long rs)
{
    for (long r = 0; r < rows; r++) {
        VF value = v_set1(((const cr_float *)x)[r * rs]);
        long i = 0;
        for (; i + CR_W <= cols; i += CR_W) {
            v_store(y + r * ldy + i, value);
        }
        if (i < cols) {
            v_store_n(y + r * ldy + i, value, cols - i);
        }
    }
}

/* y[r * ldy + c] = x[c * ldx + r] for r < rows <= CR_W and c < cols <= CR_W */
CR_INLINE void CR_NAME(v_transpose_cut)(long rows, long cols, float *y, long ldy, const float *x,
                                        long ldx)
{
    VF t[CR_W];
    for (long c = 0; c < CR_W; c++) {
        t[c] = c < cols ? v_load_or(x + c * ldx, rows, v_set1(0.0f)) : v_set1(0.0f);
    }
    v_transpose(t);
    for (long r = 0; r < rows; r++) {
        v_store_n(y + r * ldy, t[r], cols);
    }
}

/* Transposes a square of CR_W rows and columns. */
CR_INLINE void CR_NAME(v_transpose_full)(float *y, long ldy, const float *x, long ldx)
{
    VF t[CR_W];
    CR_UNROLL
    for (long c = 0; c < CR_W; c++) {
        t[c] = v_load(x + c * ldx);
    }
    v_transpose(t);
    CR_UNROLL
    for (long r = 0; r < CR_W; r++) {
        v_store(y + r * ldy, t[r]);
    }
}

/* y[r * ldy + c] = x[c * ldx + r] */
static void CR_NAME(cr_transpose)(long rows, long cols, float *y, long ldy, const float *x,
                                  long ldx)
{
    for (long r = 0; r < rows; r += CR_W) {
        for (long c = 0; c < cols; c += CR_W) {
            float *to = y + r * ldy + c;
            const float *from = x + c * ldx + r;
            if (rows - r >= CR_W && cols - c >= CR_W) {
                CR_NAME(v_transpose_full)(to, ldy, from, ldx);
            } else {
                CR_NAME(v_transpose_cut)(CR_LEAST(rows - r, CR_W), CR_LEAST(cols - c, CR_W), to,
                                         ldy, from, ldx);
            }
        }
    }
}

/* Chooses how to copy by the strides: contiguous rows, one number for each row, contiguous columns, or any other. */
static void CR_NAME(cr_load)(long rows, long cols, float *y, long ldy, const float *x, long rs,
                             long cs)
{
    if (cs == 1) {
        CR_NAME(cr_copy)(rows, cols, y, ldy, x, rs);
    } else if (cs == 0) {
        CR_NAME(cr_fill)(rows, cols, y, ldy, x, rs);
    } else if (rs == 1) {
        CR_NAME(cr_transpose)(rows, cols, y, ldy, x, cs);
    } else {
        cr_copy_strided(rows, cols, y, ldy, 1, x, rs, cs);
    }
}

/* Prefetches each cache line of the rows. */
static void CR_NAME(cr_fetch)(long rows, long cols, const float *x, long rs)
{
    for (long r = 0; r < rows; r++, x += rs) {
        for (long c = 0; c < cols; c += 64 / (long)sizeof *x) {
            CR_PREFETCH(x + c);
        }
    }
}

static void CR_NAME(cr_hide)(long rows, long cols, float *y, long ldy, long begin, long end,
                             float value)
{
    for (long r = CR_MOST(0, 1 - begin); r < rows; r++) {
        CR_NAME(cr_fill)(1, CR_LEAST(begin + r, cols), y + r * ldy, ldy, &value, 0);
    }
    for (long r = 0; r < CR_LEAST(rows, cols - end); r++) {
        long last = CR_MOST(0, end + r);
        CR_NAME(cr_fill)(1, cols - last, y + r * ldy + last, ldy, &value, 0);
    }
}

/* Adds up 0 x: that is 0, or NaN if x is not finite, so the sum is NaN if any x is not finite. */
static int CR_NAME(cr_finite)(long rows, long cols, const float *x, long rs, long cs)
{
    VF zero[4], none = v_set1(0.0f);
    float all[CR_W], sum = 0.0f;
    CR_UNROLL
    for (int j = 0; j < 4; j++) {
        zero[j] = none;
    }
    for (long r = 0; r < rows; r++, x += rs) {
        long i = 0;
        for (; cs == 1 && i + 4 * CR_W <= cols; i += 4 * CR_W) {
            CR_UNROLL
            for (int j = 0; j < 4; j++) {
                zero[j] = v_fma(v_load(x + i + j * CR_W), none, zero[j]);
            }
        }
        for (; cs == 1 && i < cols; i += CR_W) {
            zero[0] = v_fma(CR_NAME(v_load_cut)(x + i, cols - i), none, zero[0]);
        }
        for (; i < cols; i++) {
            sum += 0.0f * x[i * cs];
        }
    }
    v_store(all, (zero[0] + zero[1]) + (zero[2] + zero[3]));
    for (int j = 0; j < CR_W; j++) {
        sum += all[j];
    }
    return sum == 0.0f;
}

/*
 * Packs whole panels of a matrix with contiguous rows, several panels at a time, since one long
 * piece of a row is read faster than several short ones.  Prefetches rows, which may be far apart.
 */
CR_INLINE void CR_NAME(v_pack_rows)(const int stream, const int panels, long K, float *y,
                                    long panel_stride, const float *b, long rs)
{
    for (long k = 0; k < K; k++, b += rs, y += CR_PANEL) {
        CR_UNROLL
        for (int i = 0; i < panels * (CR_PANEL / CR_W); i++) {
            const float *from = b + i * CR_W;
            CR_PREFETCH(from + CR_ROWS_AHEAD * rs);
            float *to = y + i * CR_W / CR_PANEL * panel_stride + i * CR_W % CR_PANEL;
            if (stream) {
                v_stream(to, v_load(from));
            } else {
                v_store(to, v_load(from));
            }
        }
    }
}

/*
 * Packs a whole panel of a matrix with contiguous columns, by stores that bypass the caches. Blocks
 * of as many rows as a vector has floats are first transposed in the first-level cache, so that the
 * stores fill whole lines.  Prefetches columns, because no hardware prefetcher follows so many
 * streams.  Returns the number of packed rows; fewer rows than a vector has floats remain.
 */
CR_INLINE long CR_NAME(v_stream_columns)(long K, float *y, const float *b, long cs)
{
    float rows[CR_W * CR_PANEL] __attribute__((aligned(64)));
    long k = 0;
    for (; k + CR_W <= K; k += CR_W, y += CR_W * CR_PANEL) {
        for (long n = 0; n < CR_PANEL; n += CR_W) {
            for (long i = n; k % CR_LINE == 0 && i < n + CR_W; i++) {
                CR_PREFETCH(b + i * cs + k + CR_COLUMNS_AHEAD);
            }
            CR_NAME(v_transpose_full)(rows + n, CR_PANEL, b + n * cs + k, cs);
        }
        for (long i = 0; i < CR_W * CR_PANEL; i += CR_W) {
            v_stream(y + i, v_load(rows + i));
        }
    }
    return k;
}

/* Packs a K x N matrix; columns that it lacks in the last panel are filled with zeros. */
CR_INLINE void CR_NAME(v_pack)(const int stream, long K, long N, float *y, long panel_stride,
                               const float *b, long rs, long cs)
{
    const float zero = 0.0f;
    long n = 0;
    for (; CR_W > 1 && cs == 1 && n + 4 * CR_PANEL <= N; n += 4 * CR_PANEL) {
        CR_NAME(v_pack_rows)(stream, 4, K, y + n / CR_PANEL * panel_stride, panel_stride, b + n, rs);
    }
    for (; cs == 1 && n + CR_PANEL <= N; n += CR_PANEL) {
        CR_NAME(v_pack_rows)(stream, 1, K, y + n / CR_PANEL * panel_stride, panel_stride, b + n, rs);
    }
    for (; n < N; n += CR_PANEL) {
        long cols = CR_LEAST(N - n, CR_PANEL);
        float *to = y + n / CR_PANEL * panel_stride;
        const float *from = b + n * cs;
        long done = stream && rs == 1 && cs != 1 && cols == CR_PANEL
                        ? CR_NAME(v_stream_columns)(K, to, from, cs)
                        : 0;
        CR_NAME(cr_load)(K - done, cols, to + done * CR_PANEL, CR_PANEL, from + done * rs, rs, cs);
        if (cols < CR_PANEL) {
            CR_NAME(cr_fill)(K, CR_PANEL - cols, to + cols, CR_PANEL, &zero, 0);
        }
    }
}

static void CR_NAME(cr_pack)(long K, long N, float *y, long panel_stride, const float *b, long rs,
                             long cs)
{
    CR_NAME(v_pack)(0, K, N, y, panel_stride, b, rs, cs);
}

/* Packs by stores that bypass the caches.  When it has returned, other threads may read the panels. */
static void CR_NAME(cr_pack_stream)(long K, long N, float *y, long panel_stride, const float *b,
                                    long rs, long cs)
{
#if CR_W == 1 /* plain C has no such stores */
    CR_NAME(cr_pack)(K, N, y, panel_stride, b, rs, cs);
#else
    CR_NAME(v_pack)(1, K, N, y, panel_stride, b, rs, cs);
    v_stream_end();
#endif
}
/*
 * combined.inc - pairs of elementwise ops that often follow one another, in one pass over a tile.
 *
 * Each function gives the bits of the separate ops, but the value between them stays in registers.
 */

static void CR_NAME(cr_odd_cubic)(long rows, long cols, float *y, long ldy, const float *ap, long lda,
                                  float cube, float slope)
{
    const VF third = v_set1(cube), first = v_set1(slope);
    CR_STRIP(f, CR_DENSE_v(a), CR_ROW_v(a, f), CR_FULL_v(a, f), CR_PART_v(a, f),
             a * v_fma(third, a * a, first))
}

/* Processes groups of vectors, so that several exponentials are computed at the same time. */
static void CR_NAME(cr_mul_sigmoid)(long rows, long cols, float *y, long ldy, const float *a,
                                    long lda, const float *b, long ldb)
{
    const int n = CR_BESIDE;
    for (long r = 0; r < rows; r++, y += ldy, a += lda, b += ldb) {
        long c = 0;
        for (; c + n * CR_W <= cols; c += n * CR_W) {
            VF s[CR_BESIDE];
            CR_EACH s[i] = v_load(b + c + i * CR_W);
            CR_NAME(v_sigmoids)(n, s);
            CR_EACH v_store(y + c + i * CR_W, v_load(a + c + i * CR_W) * s[i]);
        }
        for (; c < cols; c += CR_W) {
            VF s = CR_SIGMOID(CR_NAME(v_load_cut)(b + c, cols - c));
            CR_NAME(v_store_cut)(y + c, CR_NAME(v_load_cut)(a + c, cols - c) * s, cols - c);
        }
    }
}
/*
 * reductions.inc - a function for each row of CR_REDUCTIONS, with 16 lanes that are combined by the
 * fixed tree of runtime.h.
 */

/* ---- the `combine` expressions of the table, for vectors ---- */

#define CR_COMBINE(name, rule, identity, combine, description)                                     \
    CR_INLINE VF CR_NAME(v_combine_##name)(VF a, VF b)                                             \
    {                                                                                              \
        return (combine);                                                                          \
    }
CR_REDUCTIONS(CR_COMBINE)

/* ---- over rows ---- */

/* Combines the 16 lanes, which are in 16 / CR_W vectors, in the order of runtime.h. */
#define CR_FOLD(OP, lane)                                                                          \
    do {                                                                                           \
        CR_UNROLL                                                                                  \
        for (int h = CR_LANES / CR_W / 2; h > 0; h /= 2) {                                         \
            CR_UNROLL                                                                              \
            for (int j = 0; j < h; j++) {                                                          \
                lane[j] = OP(lane[j], lane[j + h]);                                                \
            }                                                                                      \
        }                                                                                          \
        v_fold(OP, lane[0]);                                                                       \
    } while (0)

/* Defines the reduction of one row by OP.  In a last vector that is not whole, missing elements are `identity`. */
#define CR_REDUCE_ROW(name, OP, identity)                                                          \
    CR_INLINE float CR_NAME(name)(const float *row, long cols)                                     \
    {                                                                                              \
        enum { BLOCK = CR_SUM_BLOCK * CR_LANES };                                                  \
        VF lane[CR_LANES / CR_W], total[CR_LANES / CR_W];                                          \
        CR_UNROLL                                                                                  \
        for (int j = 0; j < CR_LANES / CR_W; j++) {                                                \
            lane[j] = total[j] = v_set1(identity);                                                 \
        }                                                                                          \
        long i = 0;                                                                                \
        for (; cols > BLOCK; cols -= BLOCK, row += BLOCK) {                                        \
            for (i = 0; i < BLOCK; i += CR_LANES) {                                                \
                CR_UNROLL                                                                          \
                for (int j = 0; j < CR_LANES / CR_W; j++) {                                        \
                    lane[j] = OP(lane[j], v_load(row + i + j * CR_W));                             \
                }                                                                                  \
            }                                                                                      \
            CR_UNROLL                                                                              \
            for (int j = 0; j < CR_LANES / CR_W; j++) {                                            \
                total[j] = OP(total[j], lane[j]);                                                  \
                lane[j] = v_set1(identity);                                                        \
            }                                                                                      \
        }                                                                                          \
        const int cut = i > 0;                                                                     \
        for (i = 0; i + CR_LANES <= cols; i += CR_LANES) {                                         \
            CR_UNROLL                                                                              \
            for (int j = 0; j < CR_LANES / CR_W; j++) {                                            \
                lane[j] = OP(lane[j], v_load(row + i + j * CR_W));                                 \
            }                                                                                      \
        }                                                                                          \
        CR_UNROLL                                                                                  \
        for (int j = 0; j < CR_LANES / CR_W; j++, i += CR_W) {                                     \
            if (i < cols) {                                                                        \
                lane[j] = OP(lane[j], v_load_or(row + i, cols - i, v_set1(identity)));             \
            }                                                                                      \
            if (cut) {                                                                             \
                lane[j] = OP(total[j], lane[j]);                                                   \
            }                                                                                      \
        }                                                                                          \
        CR_FOLD(OP, lane);                                                                         \
        return v_lane0(lane[0]);                                                                   \
    }

#undef CR_ROW_BY
#define CR_ROW_BY(name) CR_NAME(v_row_##name)
#define CR_ROW_STRICTLY(name, rule, identity, combine, description)                                \
    CR_REDUCE_ROW(v_row_##name, CR_NAME(v_combine_##name), identity)
CR_REDUCTIONS(CR_ROW_STRICTLY)

#define CR_REDUCE_ROWS(name, rule, identity, combine, description)                                 \
    static void CR_NAME(cr_##name)(long rows, long cols, float *y, const float *a, long lda)       \
    {                                                                                              \
        for (long r = 0; r < rows; r++) {                                                          \
            y[r] = CR_ROW_BY(name)(a + r * lda, cols);                                             \
        }                                                                                          \
    }
CR_REDUCTIONS(CR_REDUCE_ROWS)
/*
 * gemm.inc - matrix products: a tile of the output stays in registers over all of k.
 *
 * A tile has a few rows and 2, 3 or 4 vectors of columns, as many as there are registers for.  For each k it loads
 * one number for each row and NV vectors of weights, and does rows x NV fma.  Tiles of 12x2 load least from the
 * second-level cache; tiles of 6x4 do the fewest loads in total.  Which are faster depends on the processor, so the
 * caller chooses the columns of a tile; no bit depends on them.
 *
 * Weights mostly come from memory, and each is read once in a run.  The hardware prefetcher stops at the end of a
 * page, so tiles prefetch.  With vectors of 16 floats, taller tiles, which have spare cycles, prefetch the weights
 * that they will read `ahead` floats later.  With vectors of 8 floats, tiles have few rows, and several tiles read a
 * panel one after another: only the first waits for memory, so each prefetches its share of the next panel (v_pace).
 */
#undef CR_PACED
#define CR_PACED (CR_W == 8)

/* Loads the number at p in the form in which it multiplies vectors: v_fma_by(x, w, sum) is x w +
 * sum.  Most instruction sets have to copy it to all lanes of a vector. */
#ifndef v_fma_by
#define VS VF
#define v_number(p) v_set1(*(p))
#define v_fma_by(x, w, sum) v_fma(x, w, sum)
#endif

/* sum += x w; accumulates in the register of `sum` if the instruction set has such an fma. */
#ifndef v_fma_into
#define v_fma_into(sum, x, w) ((sum) = v_fma_by(x, w, sum))
#endif

/* Returns the address of the weights of column n in row 0.  If all columns of a vector are past the
 * last column, returns that of column `first` instead; the results are not stored. */
CR_INLINE const float *CR_NAME(v_column)(const struct cr_product *p, long n, long first)
{
    n = n < p->N ? n : first;
    return p->b + n / CR_PANEL * p->panel_stride + n % CR_PANEL;
}

/* Loops over the rows i and vectors j of a tile. */
#define CR_FOR_TILE(i, j)                                                                          \
    CR_UNROLL for (int i = 0; i < MR; i++) CR_UNROLL for (int j = 0; j < NV; j++)

/* Where the sums of a tile are stored.  Each block of k adds its sums to `from` (start, or the sums stored by the
 * blocks before; null: zeros) and stores the result in c; the last one also adds the bias.  If `apart` is set,
 * because some columns of the tile are past the last one or its stores bypass the caches, c is a buffer. */
struct CR_NAME(v_sums) {
    float *c;
    const float *from;
    long ldc, ld; /* distances between rows of c and of `from` */
    const float *bias;
    int apart;
};

/* The size of the buffer of a tile: its sums, and a row for the bias. */
#define CR_TILE_BUFFER ((CR_MOST_ROWS + 1) * 8 * CR_W)

/* Begins a tile with a buffer, of rows x cols.  It is a function, since inlined it would be a fifth
 * of each tile's code. */
static struct CR_NAME(v_sums) CR_NAME(cr_begin_apart)(long rows, long cols, const struct cr_product *p, long m,
                                                      long n, float *buffer)
{
    const long there = CR_LEAST(p->N - n, cols);
    struct CR_NAME(v_sums) s = {.c = buffer, .ldc = cols, .ld = cols, .apart = 1};
    if (p->start) {
        CR_NAME(cr_copy)(rows, there, buffer, cols, p->start + m * p->lds + n, p->lds);
        s.from = buffer;
    }
    if (p->bias) {
        CR_NAME(cr_copy)(1, there, buffer + rows * cols, cols, p->bias + n, 0);
        s.bias = buffer + rows * cols;
    }
    return s;
}

/* Begins the tile at row m and column n. */
CR_INLINE struct CR_NAME(v_sums) CR_NAME(v_begin_tile)(const int MR, const int NV, const struct cr_product *p,
                                                       long m, long n, float *buffer)
{
    if (p->stream || p->N - n < NV * CR_W) {
        return CR_NAME(cr_begin_apart)(MR, NV * CR_W, p, m, n, buffer);
    }
    return (struct CR_NAME(v_sums)){p->c + m * p->ldc + n, p->start ? p->start + m * p->lds + n : NULL,
                                    p->ldc, p->lds, p->bias ? p->bias + n : NULL, 0};
}

/* Adds the sums of a block of k and, for the last block, the bias; both by the same instructions,
 * which are a large part of a tile's code. */
CR_INLINE void CR_NAME(v_add_sums)(const int MR, const int NV, struct CR_NAME(v_sums) *s, int last, VF (*acc)[8])
{
    for (int more = last && s->bias; more >= 0; more--) {
        if (s->from) {
            CR_FOR_TILE(i, j) acc[i][j] = v_load(s->from + i * s->ld + j * CR_W) + acc[i][j];
        }
        s->from = s->bias;
        s->ld = 0;
    }
    CR_FOR_TILE(i, j) v_store(s->c + i * s->ldc + j * CR_W, acc[i][j]);
    s->from = s->c;
    s->ld = s->ldc;
}

/* Copies the sums of a tile with a buffer to the result. */
static void CR_NAME(cr_end_apart)(long rows, long cols, const struct cr_product *p, long m, long n, const float *sums)
{
    float *c = p->c + m * p->ldc + n;
    if (!p->stream || p->N - n < cols) {
        CR_NAME(cr_copy)(rows, CR_LEAST(p->N - n, cols), c, p->ldc, sums, cols);
        return;
    }
}

/*
 * Adds the products of one k to the sums of a tile.  Vector j of the weights is at b[j] + k; the
 * numbers of rows i to i + 2 are at a[i / 3], rs apart.  With vectors of 8 floats, 12 sums leave 4
 * registers.  So if there are fewer rows than vectors, the numbers of the rows stay in registers
 * and the vectors are loaded one after another; otherwise the vectors stay.
 */
CR_INLINE void CR_NAME(v_add_k)(const int MR, const int NV, VF (*acc)[8], const float *const *b, long k,
                                const float *const *a, long rs)
{
    const int few = CR_PACED && MR < NV ? MR : 0;
    VF w[8];
    VS x[CR_MOST_ROWS];
    CR_UNROLL
    for (int i = 0; i < few; i++) {
        x[i] = v_number(a[i / 3] + i % 3 * rs);
    }
    CR_UNROLL
    for (int j = 0; j < NV; j++) {
        w[j] = v_load(b[j] + k);
        CR_UNROLL
        for (int i = 0; i < few; i++) {
            v_fma_into(acc[i][j], x[i], w[j]);
        }
    }
    CR_UNROLL
    for (int i = few; i < MR; i++) {
        x[i] = v_number(a[i / 3] + i % 3 * rs);
        CR_UNROLL
        for (int j = 0; j < NV; j++) {
            v_fma_into(acc[i][j], x[i], w[j]);
        }
    }
}

/* The addresses that a tile reads from. */
struct CR_NAME(v_place) {
    const float *a[(CR_MOST_ROWS + 2) / 3], *b[8]; /* see v_add_k */
    const char *next;                              /* see v_pace */
};

/* Advances the pointers `a` to the next k; b is indexed by k and does not change. */
CR_INLINE void CR_NAME(v_next_k)(const int MR, struct CR_NAME(v_place) *at, long cs)
{
    CR_UNROLL
    for (int i = 0; i < MR; i += 3) {
        at->a[i / 3] += cs;
    }
}

/*
 * Computes the sums over k .. end (both are multiplied by the width of a panel), starting at 0.
 * Tiles with few rows are unrolled by four steps, so that counting and prefetching are a small part
 * of the instructions: a processor starts only 4 to 6 a cycle.
 */
CR_INLINE void CR_NAME(v_sum)(const int MR, const int NV, const struct cr_product *p,
                              struct CR_NAME(v_place) *at, long k, long end, VF (*acc)[8])
{
    long rs = p->rs, cs = p->cs, ahead = p->ahead;
    CR_FOR_TILE(i, j) acc[i][j] = v_set1(0.0f);
    for (; CR_PACED && MR > 1 && k + 3 * CR_PANEL < end; k += 4 * CR_PANEL) {
        CR_UNROLL
        for (int u = 0; u < 4; u++) {
            if (u % 2 == 0) {
                CR_PREFETCH(at->next);
                at->next += 2 * p->pace;
            }
            CR_NAME(v_add_k)(MR, NV, acc, at->b, k + u * CR_PANEL, at->a, rs);
            CR_NAME(v_next_k)(MR, at, cs);
        }
    }
    for (; k < end; k += CR_PANEL) {
        CR_UNROLL
        for (int j = 0; j < NV; j++) {
            if (!CR_PACED && MR > 3 && j * CR_W % CR_LINE == 0) {
                CR_PREFETCH(at->b[j] + k + ahead);
            }
        }
        CR_NAME(v_add_k)(MR, NV, acc, at->b, k, at->a, rs);
        CR_NAME(v_next_k)(MR, at, cs);
    }
}

/* True if a tile of 1, 2 or 4 vectors of 8 floats is always inside one panel; see v_width. */
#define CR_IN_PANEL(NV) (CR_PACED && (NV) != 3 && (NV) <= 4)

/* Computes `count` tiles one below the other, the first at row m and column n.  MR and NV, the height and the
 * width in vectors, are constants in each call, so that all loops over them unroll and acc stays in registers.
 * Rows are grouped by three, with a pointer for each group: an x86 address is a pointer and up to twice the
 * distance between rows.  Between blocks of k the sums are in c. */
CR_INLINE void CR_NAME(v_tiles)(const int MR, const int NV, const struct cr_product *p, long m, long n,
                                long count)
{
    VF acc[CR_MOST_ROWS][8];
    float buffer[CR_TILE_BUFFER];
    struct CR_NAME(v_place) at;
    const char *next = p->next;
    CR_UNROLL
    for (int j = 0; j < NV; j++) {
        at.b[j] = CR_IN_PANEL(NV) && j ? at.b[0] + j * CR_W
                                       : CR_NAME(v_column)(p, n + j * CR_W, n);
    }
    for (long last = m + count * MR; m < last; m += MR) {
        long k = CR_LEAST(p->K, CR_MOST(0, p->begin + m));
        const long end = CR_LEAST(p->K, p->end + m + MR - 1) * CR_PANEL;
        struct CR_NAME(v_sums) sums = CR_NAME(v_begin_tile)(MR, NV, p, m, n, buffer);
        CR_UNROLL
        for (int i = 0; i < MR; i += 3) {
            at.a[i / 3] = p->a + (m + i) * p->rs + k * p->cs;
        }
        at.next = next;
        next += p->next_step;
        k *= CR_PANEL;
        do {
            long block_end = CR_LEAST(end, k + CR_SUM_BLOCK * CR_PANEL);
            CR_NAME(v_sum)(MR, NV, p, &at, k, block_end, acc);
            k = block_end;
            CR_NAME(v_add_sums)(MR, NV, &sums, k >= end, acc);
        } while (k < end);
        if (sums.apart) {
            CR_NAME(cr_end_apart)(MR, NV * CR_W, p, m, n, sums.c);
        }
    }
}

#define CR_TILE(MR, NV)                                                                            \
    static void CR_NAME(cr_tiles_##MR##x##NV)(const struct cr_product *p, long m, long n, long count) \
    {                                                                                              \
        CR_NAME(v_tiles)(MR, NV, p, m, n, count);                                                  \
    }
#define CR_TILE_NAME(MR, NV) CR_NAME(cr_tiles_##MR##x##NV),

/* Lists T(height, NV) for all heights up to the number in the macro's name. */
#define CR_HEIGHTS_3(T, NV) T(1, NV) T(2, NV) T(3, NV)
#define CR_HEIGHTS_4(T, NV) CR_HEIGHTS_3(T, NV) T(4, NV)
#define CR_HEIGHTS_6(T, NV) CR_HEIGHTS_4(T, NV) T(5, NV) T(6, NV)
#define CR_HEIGHTS_8(T, NV) CR_HEIGHTS_6(T, NV) T(7, NV) T(8, NV)
#define CR_HEIGHTS_12(T, NV) CR_HEIGHTS_8(T, NV) T(9, NV) T(10, NV) T(11, NV) T(12, NV)

#ifndef CR_TILES_1
#define CR_TILES_1(T)
#endif
CR_TILES_1(CR_TILE)
CR_TILES_2(CR_TILE)
CR_TILES_4(CR_TILE)

static cr_tiles *const CR_NAME(cr_tiles_1)[] = {NULL, CR_TILES_1(CR_TILE_NAME)};
static cr_tiles *const CR_NAME(cr_tiles_2)[] = {NULL, CR_TILES_2(CR_TILE_NAME)};
static cr_tiles *const CR_NAME(cr_tiles_4)[] = {NULL, CR_TILES_4(CR_TILE_NAME)};

/* By the width of tiles in vectors.  A file for one model lacks tiles that its products seldom use:
 * see required_runtime.h. */
static const struct cr_tile_set CR_NAME(cr_tile_sets)[5] = {
    [1] = {CR_COUNT(CR_NAME(cr_tiles_1)) - 1, CR_NAME(cr_tiles_1)},
    [2] = {CR_COUNT(CR_NAME(cr_tiles_2)) - 1, CR_NAME(cr_tiles_2)},
    [4] = {CR_COUNT(CR_NAME(cr_tiles_4)) - 1, CR_NAME(cr_tiles_4)},
};

/* Returns the width of tiles in vectors.  It is that of the caller's `columns` (plain C ignores them), or the
 * greatest that covers all rows at once.  Up to 20 rows use two vectors of 8 floats instead of four if that makes
 * no more tiles: they read a panel half as often, and 10 rows are twice 5 instead of 3, 3, 2 and 2. */
static int CR_NAME(cr_tile_width)(long M, long columns)
{
    const int two = CR_NAME(cr_tile_sets)[2].height, four = CR_NAME(cr_tile_sets)[4].height;
    int width = (int)(columns && CR_W > 1 ? columns / CR_W : CR_TILE_VECTORS);
    width = width < 2 ? 2 : width > 4 ? 4 : width;
    if (M > two) {
        return CR_PACED && M <= 20 && (M + two - 1) / two * 2 <= (M + four - 1) / four ? 2 : width;
    }
    for (width = 4; CR_NAME(cr_tile_sets)[width].height < M;) {
        width--;
    }
    return width;
}

/* Sets what tiles prefetch: each of `count` tiles in a column its share of the next panel.  A
 * single tile prefetches nothing, since it waits for memory all the time. */
CR_INLINE void CR_NAME(v_pace)(struct cr_product *p, long columns, long count, long n)
{
    const long bytes = CR_PANEL * (long)sizeof(float), tiles = count * (CR_PANEL / columns);
    p->next_step = p->pace = 0;
    if (p->ahead && count > 1) {
        p->next_step = p->K * bytes / tiles;
        p->next = (const char *)(p->b + n / CR_PANEL * p->panel_stride + p->next_panel) +
                  n % CR_PANEL / columns * count * p->next_step;
        p->pace = (bytes + tiles - 1) / tiles;
    }
}

/* Computes rows `from` to `to` of one column of tiles.  Rows are distributed evenly over tiles: 64
 * rows make tiles of 11 and 10, not five of 12 and one of 4. */
CR_INLINE void CR_NAME(v_columns)(struct cr_product *p, const struct cr_tile_set *tiles, long from, long to, long n)
{
    const long rows = to - from, count = (rows + tiles->height - 1) / tiles->height;
    if (rows > 0) {
        const long height = rows / count, taller = rows - height * count;
        if (CR_PACED) {
            CR_NAME(v_pace)(p, (tiles - CR_NAME(cr_tile_sets)) * CR_W, count, n);
        }
        if (taller) {
            tiles->of_height[height + 1](p, from, n, taller);
            p->next += taller * p->next_step;
        }
        tiles->of_height[height](p, from + taller * (height + 1), n, count - taller);
    }
}

/* Returns the prefetch distance of a tile with a number of vectors.  A tile wider than a panel reads two panels
 * side by side; the memory that it reads next is behind both, unless more of k is left. */
CR_INLINE long CR_NAME(v_ahead)(const struct cr_product *p, int vectors)
{
    if (vectors * CR_W <= CR_PANEL) {
        return p->ahead;
    }
    return p->K * CR_PANEL <= 2 * p->ahead ? 2 * p->panel_stride : p->ahead / 2;
}

/* Returns the width of the next tile, given that `left` vectors are left from column n on.  Widths
 * are as equal as possible, but tiles with vectors of 8 floats do not cross panels, unless they are
 * three vectors wide.  If there are no tiles of one vector, the narrowest have two. */
CR_INLINE int CR_NAME(v_width)(int width, long left, long n)
{
    long tiles = (left + width - 1) / width, room = (CR_PANEL - n % CR_PANEL) / CR_W;
    if (!CR_PACED) {
        return CR_MOST(2, (int)((left + tiles - 1) / tiles));
    }
    width = (int)CR_LEAST(width, left);
    width = width == 3 ? 3 : (int)CR_LEAST(width, room);
    return CR_NAME(cr_tile_sets)[width].height ? width : 2;
}

/* Covers the columns from left to right by tiles of nearly equal width.  A single row has too little work to hide
 * the latency of fma, so it uses tiles of 8 vectors while there are so many columns. */
static void CR_NAME(v_gemm)(struct cr_product *p)
{
    int width = CR_NAME(cr_tile_width)(p->M, p->columns), step;
    p->ahead = CR_NAME(v_ahead)(p, width);
    p->next = (const char *)p->b;
    p->next_panel = p->panel_stride;
    for (long n = 0; n < p->N; n += step * CR_W) {
        long left = (p->N - n + CR_W - 1) / CR_W;
        step = CR_NAME(v_width)(width, left, n);
        CR_NAME(v_columns)(p, &CR_NAME(cr_tile_sets)[step], 0, p->M, n);
    }
}

static void CR_NAME(cr_gemm)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                             long panel_stride, float *c, long ldc, const float *start, long lds,
                             const float *bias, long columns, long ahead)
{
    struct cr_product p = {.M = M, .N = N, .K = K, .a = a, .rs = rs, .cs = cs, .b = b,
                           .panel_stride = panel_stride, .c = c, .ldc = ldc, .start = start, .lds = lds,
                           .bias = bias, .columns = columns, .ahead = ahead, .begin = -M, .end = K};
    CR_NAME(v_gemm)(&p);
}

/* Multiplies each row of c by its number in `scale`, and turns -0 into 0, so that no sum is -0. */
CR_INLINE void CR_NAME(v_scale_rows)(long M, long N, float *c, long ldc, const float *scale)
{
    for (long m = 0; m < M; m++) {
        VF factor = v_set1(scale[m]);
        for (long n = 0; n < N; n += CR_W) {
            float *at = c + m * ldc + n;
            VF scaled = CR_NAME(v_load_cut)(at, N - n) * factor;
            CR_NAME(v_store_cut)(at, scaled + v_set1(0.0f), N - n);
        }
    }
}

static void CR_NAME(cr_gemm_scaled)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                                    long panel_stride, float *c, long ldc, const float *scale, long begin,
                                    long end, long columns, long ahead)
{
    struct cr_product p = {.M = M, .N = N, .K = K, .a = a, .rs = rs, .cs = cs, .b = b,
                           .panel_stride = panel_stride, .c = c, .ldc = ldc, .start = c, .lds = ldc,
                           .columns = columns, .ahead = ahead, .begin = begin, .end = end};
    CR_NAME(v_scale_rows)(M, N, c, ldc, scale);
    CR_NAME(v_gemm)(&p);
}

/* If the band covers all columns of all rows, this is gemm.  Otherwise computes two vectors of
 * columns at a time: `first` and `last` are the rows whose band reaches into each of them.  Rows
 * whose band reaches into only one of them use tiles of one vector, if there are such tiles. */
static void CR_NAME(cr_gemm_band)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                                  long panel_stride, float *c, long ldc, long begin, long end)
{
    struct cr_product p = {.M = M, .N = N, .K = K, .a = a, .rs = rs, .cs = cs, .b = b,
                           .panel_stride = panel_stride, .c = c, .ldc = ldc, .begin = -M, .end = K,
                           .next = (const char *)b};
    const struct cr_tile_set *tiles = CR_NAME(cr_tile_sets);
    if (begin + M <= 1 && end >= N) {
        CR_NAME(v_gemm)(&p);
        return;
    }
    for (long n = 0; n < N; n += 2 * CR_W) {
        long first[2] = {M, M}, last[2] = {0, 0};
        for (int j = 0; j < 2 && n + j * CR_W < N; j++) {
            first[j] = CR_MOST(0, CR_LEAST(M, n + j * CR_W - end + 1));
            last[j] = CR_MOST(0, CR_LEAST(M, n + (j + 1) * CR_W - begin));
        }
        if (!tiles[1].height) {
            CR_NAME(v_columns)(&p, &tiles[2], first[0], CR_MOST(last[0], last[1]), n);
            continue;
        }
        CR_NAME(v_columns)(&p, &tiles[1], first[0], CR_LEAST(first[1], last[0]), n);
        CR_NAME(v_columns)(&p, &tiles[2], first[1], last[0], n);
        CR_NAME(v_columns)(&p, &tiles[1], CR_MOST(first[1], last[0]), last[1], n + CR_W);
    }
}

/*
 * softmax.inc - a block of an online softmax, a vector of queries at a time.
 *
 * Queries are columns, so a maximum or a sum over keys runs down the rows, and the lanes of a
 * vector are never combined with each other.
 */

/* Returns, for each of n queries, the largest score multiplied by `factor`. */
CR_INLINE VF CR_NAME(v_top_score)(long rows, long n, const float *s, long lds, float factor)
{
    VF top[4];
    long r = 0;
    CR_UNROLL
    for (int i = 0; i < 4; i++) {
        top[i] = v_set1(-INFINITY);
    }
    for (; r + 4 <= rows; r += 4) {
        CR_UNROLL
        for (int i = 0; i < 4; i++) {
            top[i] = CR_TOP(top[i], CR_NAME(v_load_cut)(s + (r + i) * lds, n));
        }
    }
    for (; r < rows; r++) {
        top[0] = CR_TOP(top[0], CR_NAME(v_load_cut)(s + r * lds, n));
    }
    return CR_TOP(CR_TOP(top[0], top[1]), CR_TOP(top[2], top[3])) * v_set1(factor);
}

/* Updates m and scale with the maxima of a block.  Returns the number to subtract from its scores:
 * the new maximum, or 0 for a query all of whose scores so far are -inf. */
CR_INLINE VF CR_NAME(v_rescale)(long n, VF top, float *m, float *scale)
{
    VF old = CR_NAME(v_load_cut)(m, n);
    VF new = CR_TOP(old, top);
    VF dead = CR_EQ(new, v_set1(-INFINITY));
    VF shift = CR_SELECT(dead, v_set1(0.0f), new);
    CR_NAME(v_store_cut)(m, new, n);
    CR_NAME(v_store_cut)(scale, CR_SELECT(dead, CR_ONE, CR_EXP(old - shift)), n);
    return shift;
}

/* Computes s = exp(factor s - shift) for a few keys, at most CR_BESIDE, and adds the results to the
 * sums. */
CR_INLINE void CR_NAME(v_exp_rows)(const int rows, long n, float *s, long lds, float factor,
                                   VF shift, VF *sum)
{
    VF x[CR_BESIDE];
    CR_UNROLL
    for (int t = 0; t < rows; t++) {
        x[t] = v_fma(v_set1(factor), CR_NAME(v_load_cut)(s + t * lds, n), -shift);
    }
    CR_NAME(v_exps)(rows, x);
    CR_UNROLL
    for (int t = 0; t < rows; t++) {
        CR_NAME(v_store_cut)(s + t * lds, x[t], n);
        sum[t] = sum[t] + x[t];
    }
}

/* Computes exp for all keys of a block; returns the sums, added up in lanes of keys like a row
 * reduction. */
CR_INLINE VF CR_NAME(v_exp_sum)(long rows, long n, float *s, long lds, float factor, VF shift)
{
    VF lane[CR_LANES];
    for (int i = 0; i < CR_LANES; i += CR_BESIDE) {
        VF sum[CR_BESIDE];
        long r = i;
        CR_UNROLL
        for (int t = 0; t < CR_BESIDE; t++) {
            sum[t] = v_set1(0.0f);
        }
        for (; r + CR_BESIDE <= rows; r += CR_LANES) {
            CR_NAME(v_exp_rows)(CR_BESIDE, n, s + r * lds, lds, factor, shift, sum);
        }
        CR_UNROLL
        for (int t = 0; t < CR_BESIDE; t++) {
            if (r + t < rows) {
                CR_NAME(v_exp_rows)(1, n, s + (r + t) * lds, lds, factor, shift, sum + t);
            }
            lane[i + t] = sum[t];
        }
    }
    CR_UNROLL
    for (int h = CR_LANES / 2; h > 0; h /= 2) {
        CR_UNROLL
        for (int i = 0; i < h; i++) {
            lane[i] = lane[i] + lane[i + h];
        }
    }
    return lane[0];
}

/* Computes softmax_block for n queries, at most one vector of them. */
CR_INLINE void CR_NAME(v_softmax)(long rows, long n, float *s, long lds, float factor, float *m,
                                  float *l, float *scale)
{
    VF top = CR_NAME(v_top_score)(rows, n, s, lds, factor);
    VF shift = CR_NAME(v_rescale)(n, top, m, scale);
    VF sum = CR_NAME(v_exp_sum)(rows, n, s, lds, factor, shift);
    VF old = CR_NAME(v_load_cut)(l, n);
    CR_NAME(v_store_cut)(l, v_fma(old, CR_NAME(v_load_cut)(scale, n), sum), n);
}

static void CR_NAME(cr_softmax_block)(long rows, long cols, float *s, long lds, float factor,
                                      float *m, float *l, float *scale)
{
    long c = 0;
    for (; c + CR_W <= cols; c += CR_W) {
        CR_NAME(v_softmax)(rows, CR_W, s + c, lds, factor, m + c, l + c, scale + c);
    }
    if (c < cols) {
        CR_NAME(v_softmax)(rows, cols - c, s + c, lds, factor, m + c, l + c, scale + c);
    }
}

static const struct cr_runtime CR_NAME(cr_runtime) = {
    .isa = CR_ISA,
    .parallel = cr_pool_parallel,
#define CR_FUNCTION(name, result, parameters) .name = CR_NAME(cr_##name),
    CR_MEMBERS
#undef CR_FUNCTION
};

/* vector_end.h - undefines the macros of a vector_*.h, so that the next one can be included. */
#undef CR_ISA
#undef CR_NAME
#undef VF
#undef VS
#undef CR_W
#undef CR_MOST_ROWS
#undef CR_TILE_VECTORS
#undef CR_BESIDE
#undef CR_TILES_1
#undef CR_TILES_2
#undef CR_TILES_4
#undef v_number
#undef v_fma_by
#undef v_fma_into
#undef v_load
#undef v_store
#undef v_stream
#undef v_stream_end
#undef v_set1
#undef v_fma
#undef v_min
#undef v_max
#undef v_smaller
#undef v_larger
#undef v_at_most
#undef v_at_least
#undef v_nan_or
#undef v_ordered_or
#undef v_and
#undef v_or
#undef v_first
#undef v_load_n
#undef v_load_or
#undef v_store_n
#undef v_if_negative
#undef v_pow2
#undef v_scale
#undef v_fold
#undef v_lane0
#undef v_transpose
#undef CR_ONE
#undef CR_ABS
#undef CR_SQRT
#undef CR_EXP
#undef CR_SIGMOID
#undef CR_FMA
#undef CR_TOP
#undef CR_EQ
#undef CR_SELECT
#ifdef CR_TARGET
#undef CR_TARGET
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif /* CR_ISA */
