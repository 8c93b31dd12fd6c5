/*
 * train_add - a step of a training, compiled to C by Crescent.
 *
 * In this order: what the kernels call (declarations), the kernels k1_ ... and the
 * function that runs them, the state, the function of train_add.h, the runtime, whose
 * template is at the end of the file.
 */
#ifndef CR_ISA /* else the file includes itself, for the template at its end */
#include "train_add.h"

/* ---- what the kernels call ---- */

/* types.h - the types and constants of generated code, except for the functions of the runtime. */
enum {
    CR_PANEL = 32,     /* columns of a packed panel */
    CR_SUM_BLOCK = 256 /* the length of the chains that a sum over k is split into; see runtime.h */
};

/* y = op(a, ...) on a tile; y may be the same tile as an operand. */
typedef void cr_map1(long rows, long cols, float *y, long ldy, const float *a, long lda);
typedef void cr_map2(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb);
typedef void cr_map3(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb, const float *c, long ldc);

/* y[r] = the reduction of the row a[r, :]; for an empty row, the identity. */
typedef void cr_reduce(long rows, long cols, float *y, const float *a, long lda);

/*
 * A reduction down the columns, in several calls, each for a tile of rows.  The number of rows is a
 * multiple of 16 except in the last call.  lanes[r % 16, :] = combine(lanes[r % 16, :], a[r, :]),
 * where `lanes` is 16 x cols and initialised with the identity.  At the end cr_reduce_lanes
 * combines the lanes, and row 0 has the results.
 */
typedef void cr_reduce_down(long rows, long cols, float *lanes, const float *a, long lda);
typedef void cr_reduce_lanes(long cols, float *lanes);

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

/* The same on tiles of i32. */
struct cr_runtime_i32 {
    void (*add_vv)(long rows, long cols, int *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*add_sv)(long rows, long cols, int *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*sub_vs)(long rows, long cols, int *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*ge_vs)(long rows, long cols, float *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*eq_vs)(long rows, long cols, float *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*ne_vs)(long rows, long cols, float *y, long ldy, const int *a, long lda, const int *b,
        long ldb);
    void (*where_vvv)(long rows, long cols, int *y, long ldy, const float *a, long lda,
        const int *b, long ldb, const int *c, long ldc);
    void (*where_vss)(long rows, long cols, int *y, long ldy, const float *a, long lda,
        const int *b, long ldb, const int *c, long ldc);
    void (*load)(long rows, long cols, int *y, long ldy, const int *x, long rs, long cs);
    void (*store)(long rows, long cols, int *y, long rs, long cs, const int *x, long ldx);
    /* y[r, c] = base + r * rs + c * cs, an index */
    void (*iota)(long rows, long cols, int *y, long ldy, long base, long rs, long cs);
};

/* The functions for one instruction set that this model needs.  A tile is a matrix of rows x
 * cols floats: element (r, c) of y is y[r * ldy + c].  The letters behind the name of an
 * elementwise op say which operands are tiles (v), and which have one value a row (s): b[r *
 * ldb]. */
struct cr_runtime {
    const char *isa;
    const struct cr_runtime_i32 *i32;
    cr_parallel *parallel;
    cr_map1 *neg_v;
    cr_map1 *exp_v;
    cr_map1 *log_v;
    cr_map1 *sqrt_v;
    cr_map1 *sigmoid_v;
    cr_map2 *add_vs;
    cr_map2 *sub_vv;
    cr_map2 *sub_vs;
    cr_map2 *sub_sv;
    cr_map2 *mul_vv;
    cr_map2 *mul_vs;
    cr_map2 *mul_sv;
    cr_map2 *div_vv;
    cr_map2 *div_vs;
    cr_map2 *div_sv;
    cr_map2 *ge_vs;
    cr_map3 *where_vvs;
    cr_map3 *where_vss;
    cr_map3 *fma_vvv;
    cr_map3 *fma_svv;
    cr_map3 *fma_svs;
    cr_map3 *fma_ssv;
    cr_map1 *float_v;
    cr_reduce *sum;
    cr_reduce_down *sum_down;
    cr_reduce_lanes *sum_lanes;
    cr_reduce *max;
    /* y[r, c] = x[r * rs + c * cs] */
    void (*load)(long rows, long cols, float *y, long ldy, const float *x, long rs, long cs);
    /* y[r * rs + c * cs] = x[r, c] */
    void (*store)(long rows, long cols, float *y, long rs, long cs, const float *x, long ldx);
    /* y[r, c] = number base + r * rs + c * cs of a random stream of the seed, uniform in 0 <= y < 1 */
    void (*random)(long rows, long cols, float *y, long ldy, const int *seed, long stream,
        long base, long rs, long cs);
    /* y = a sigmoid(b), with the bits of sigmoid followed by mul */
    void (*mul_sigmoid)(long rows, long cols, float *y, long ldy, const float *a, long lda,
        const float *b, long ldb);
    /* y = a fma(cube, a a, slope), which is about cube a^3 + slope a */
    void (*odd_cubic)(long rows, long cols, float *y, long ldy, const float *a, long lda,
        float cube, float slope);
    /* y[r, :] = table[index[r], :]; an index outside 0 <= i < table_rows yields a row of NaN */
    void (*gather)(long rows, long cols, float *y, long ldy, const float *table, long ldt,
        long table_rows, const int *index);
    /* y[r, :] = the sum, in order, of the rows i < n of x with index[i] = first + r */
    void (*scatter_add)(long rows, long cols, float *y, long ldy, long first, long n,
        const float *x, long ldx, const int *index);
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
};

/* ---- the model ---- */

enum { B = 64, N_EMBD = 16, WIDTH = 64 }; /* options of the script */
enum { CR_AHEAD = 16384 }; /* floats between a weight that is read and the prefetched one */

/*
 * k1_next_step: next step, graphs/train_add.lua:31
 * out[]
 * steps: add
 * 3 flop, reads 4 B, writes 4 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const int *step; /* [] */
    int *out; /* [] */
};

static void k1_next_step(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const column = (int *)scratch, *const add = column; /* [1], one number a row */
    rt->i32->load(1, 1, column, 0, &(const int){1}, 0, 0);
    rt->i32->add_sv(1, 1, add, 0, a->step, 0, column, 0);
    rt->i32->store(1, 1, a->out, 0, 0, add, 0);
}

/*
 * k2_digits: digits, graphs/train_add.lua:21
 * out[B, 2]
 * steps: mul, ge, where, add, ge, where, add, ge, where, add, ge, where, add, ge, where, add, ge,
 *     where, add, ge, where, add, ge, where, add, ge, where, add
 * 5.376 kflop, reads 4 B, writes 512 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const int *step; /* [] */
    long stream0; /* of random numbers */
    int *out; /* [B, 2] */
};

static void k2_digits(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const random = scratch, *const mul = random, *const ge9 = random; /* [B, 2] */
    /* [B, 2] */
    float *const ge = scratch + 128, *const ge2 = ge, *const ge3 = ge, *const ge4 = ge,
        *const ge5 = ge, *const ge6 = ge, *const ge7 = ge, *const ge8 = ge;
    /* [B, 2] */
    int *const where = (int *)scratch + 256, *const add = where, *const add2 = where,
        *const add3 = where, *const add4 = where, *const add5 = where, *const add6 = where,
        *const add7 = where, *const add8 = where;
    /* [B, 2] */
    int *const where2 = (int *)scratch + 384, *const where3 = where2, *const where4 = where2,
        *const where5 = where2, *const where6 = where2, *const where7 = where2,
        *const where8 = where2, *const where9 = where2;
    /* digits */
    rt->random(B, 2, random, 2, a->step, a->stream0, 0, 2, 1);
    rt->mul_vs(B, 2, mul, 2, random, 2, &(const float){10.0f}, 0);
    rt->ge_vs(B, 2, ge, 2, mul, 2, &(const float){1.0f}, 0);
    rt->i32->where_vss(B, 2, where, 2, ge, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_sv(B, 2, add, 2, &(const int){0}, 0, where, 2);
    rt->ge_vs(B, 2, ge2, 2, mul, 2, &(const float){2.0f}, 0);
    rt->i32->where_vss(B, 2, where2, 2, ge2, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add2, 2, add, 2, where2, 2);
    rt->ge_vs(B, 2, ge3, 2, mul, 2, &(const float){3.0f}, 0);
    rt->i32->where_vss(B, 2, where3, 2, ge3, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add3, 2, add2, 2, where3, 2);
    rt->ge_vs(B, 2, ge4, 2, mul, 2, &(const float){4.0f}, 0);
    rt->i32->where_vss(B, 2, where4, 2, ge4, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add4, 2, add3, 2, where4, 2);
    rt->ge_vs(B, 2, ge5, 2, mul, 2, &(const float){5.0f}, 0);
    rt->i32->where_vss(B, 2, where5, 2, ge5, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add5, 2, add4, 2, where5, 2);
    rt->ge_vs(B, 2, ge6, 2, mul, 2, &(const float){6.0f}, 0);
    rt->i32->where_vss(B, 2, where6, 2, ge6, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add6, 2, add5, 2, where6, 2);
    rt->ge_vs(B, 2, ge7, 2, mul, 2, &(const float){7.0f}, 0);
    rt->i32->where_vss(B, 2, where7, 2, ge7, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add7, 2, add6, 2, where7, 2);
    rt->ge_vs(B, 2, ge8, 2, mul, 2, &(const float){8.0f}, 0);
    rt->i32->where_vss(B, 2, where8, 2, ge8, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, add8, 2, add7, 2, where8, 2);
    rt->ge_vs(B, 2, ge9, 2, mul, 2, &(const float){9.0f}, 0);
    rt->i32->where_vss(B, 2, where9, 2, ge9, 2, &(const int){1}, 0, &(const int){0}, 0);
    rt->i32->add_vv(B, 2, a->out, 2, add8, 2, where9, 2);
}

/*
 * k3_target: target, graphs/train_add.lua:28
 * out[B, 1]
 * steps: add, ge, sub, where
 * 448 flop, reads 512 B, writes 256 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const int *digits; /* [B, 2] */
    int *out; /* [B, 1] */
};

static void k3_target(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const copy = (int *)scratch, *const add = copy; /* [1, B] */
    int *const copy2 = (int *)scratch + 64, *const sub = copy2; /* [1, B] */
    float *const ge = scratch + 128; /* [1, B] */
    rt->i32->load(1, B, copy, B, a->digits, 0, 2);
    rt->i32->load(1, B, copy2, B, a->digits + 1, 0, 2);
    /* target */
    rt->i32->add_vv(1, B, add, B, copy, B, copy2, B);
    rt->i32->ge_vs(1, B, ge, B, add, B, &(const int){10}, 0);
    rt->i32->sub_vs(1, B, sub, B, add, B, &(const int){10}, 0);
    rt->i32->where_vvv(1, B, a->out, 0, ge, B, sub, B, add, B);
}

/*
 * k4_embedding: embedding, graphs/train_add.lua:35
 * out[B, 2, N_EMBD]
 * 4.096 kflop, reads 1.152 kB, writes 8.192 kB
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *embedding_weight; /* [10, N_EMBD] */
    const int *digits; /* [B, 2] */
    float *out; /* [B, 2, N_EMBD] */
};

static void k4_embedding(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const gathered = scratch; /* [2 * B, N_EMBD] */
    /* embedding */
    rt->gather(2 * B, N_EMBD, gathered, N_EMBD, a->embedding_weight, N_EMBD, 10, a->digits);
    rt->load(2 * B, N_EMBD, a->out, N_EMBD, gathered, N_EMBD, 1);
}

/*
 * k5_hidden: hidden, graphs/train_add.lua:36
 * out[B, WIDTH] = rows[B, 2 * N_EMBD] x columns[2 * N_EMBD, WIDTH]
 * then: add
 * 262.1 kflop, reads 16.64 kB, writes 16.38 kB
 */
enum { K5_COLUMNS = 32 }; /* of an item */
struct k5_args {
    const struct cr_runtime *rt;
    const float *hidden_bias; /* [WIDTH] */
    const float *embedding; /* [B, 2, N_EMBD] */
    const float *hidden_weight; /* [2 * N_EMBD, WIDTH], packed */
    float *out; /* [B, WIDTH] */
};

static void k5_hidden(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long col0 = item * K5_COLUMNS; /* the item's first column */
        rt->gemm(B, K5_COLUMNS, 2 * N_EMBD, a->embedding, 2 * N_EMBD, 1,
            a->hidden_weight + col0 * (2 * N_EMBD), 2 * N_EMBD * CR_PANEL, a->out + col0, WIDTH, 0,
            0, a->hidden_bias + col0, 0, CR_AHEAD);
    }
}

/*
 * k6_act: act, graphs/train_add.lua:37
 * out[B, WIDTH]
 * steps: mul, fma, mul, sigmoid, mul
 * numbers: 1.59576912 is 2 sqrt(2 / pi), 0.0713548163 is 2 * 0.044715 sqrt(2 / pi)
 * 32.77 kflop, reads 16.38 kB, writes 16.38 kB
 */
enum { K6_ROWS = 32 }; /* of an item */
struct k6_args {
    const struct cr_runtime *rt;
    const float *hidden; /* [B, WIDTH] */
    float *out; /* [B, WIDTH] */
};

static void k6_act(const void *args, long begin, long end, float *scratch)
{
    const struct k6_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const odd_cubic = scratch; /* [K6_ROWS, WIDTH] */
    for (long item = begin; item < end; item++) {
        const long row = item * K6_ROWS;
        /* act */
        rt->odd_cubic(K6_ROWS, WIDTH, odd_cubic, WIDTH, a->hidden + row * WIDTH, WIDTH,
            0.071354814f, 1.5957692f);
        rt->mul_sigmoid(K6_ROWS, WIDTH, a->out + row * WIDTH, WIDTH, a->hidden + row * WIDTH, WIDTH,
            odd_cubic, WIDTH);
    }
}

/*
 * k7_output: output, graphs/train_add.lua:37
 * out[B, 10] = rows[B, WIDTH] x columns[WIDTH, 10]
 * then: add
 * 81.92 kflop, reads 18.98 kB, writes 2.56 kB
 */
struct k7_args {
    const struct cr_runtime *rt;
    const float *output_bias; /* [10] */
    const float *act; /* [B, WIDTH] */
    const float *output_weight; /* [WIDTH, 10], packed */
    float *out; /* [B, 10] */
};

static void k7_output(const void *args, long begin, long end, float *scratch)
{
    const struct k7_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(B, 10, WIDTH, a->act, WIDTH, 1, a->output_weight, WIDTH * CR_PANEL, a->out, 10, 0, 0,
        a->output_bias, 0, CR_AHEAD);
}

/*
 * k8_loss_where_sum: loss.where.sum, graphs/train_add.lua:38
 * out[B, 1], loss_max[B, 1], loss_exp_sum[B, 1]
 * steps: max, sub, exp, sum, eq, where, sum
 * 7.04 kflop, reads 2.816 kB, writes 768 B
 */
struct k8_args {
    const struct cr_runtime *rt;
    const float *output; /* [B, 10] */
    const int *k3_target; /* [B, 1] */
    float *loss_max; /* [B, 1] */
    float *loss_exp_sum; /* [B, 1] */
    float *out; /* [B, 1] */
};

static void k8_loss_where_sum(const void *args, long begin, long end, float *scratch)
{
    const struct k8_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const max = scratch, *const sum = max, *const sum2 = max; /* [B], one number a row */
    float *const sub = scratch + 64, *const where = sub; /* [B, 10] */
    float *const exp = scratch + 704, *const eq = exp; /* [B, 10] */
    int *const numbers = (int *)scratch + 1344; /* [B, 10] */
    /* loss */
    rt->max(B, 10, max, a->output, 10);
    rt->store(1, B, a->loss_max, 0, 1, max, 0);
    rt->sub_vs(B, 10, sub, 10, a->output, 10, max, 1);
    rt->exp_v(B, 10, exp, 10, sub, 10);
    rt->sum(B, 10, sum, exp, 10);
    rt->store(1, B, a->loss_exp_sum, 0, 1, sum, 0);
    rt->i32->iota(B, 10, numbers, 10, 0, 0, 1);
    rt->i32->eq_vs(B, 10, eq, 10, numbers, 10, a->k3_target, 1);
    rt->where_vvs(B, 10, where, 10, eq, 10, sub, 10, &(const float){0.0f}, 0);
    rt->sum(B, 10, sum2, where, 10);
    rt->store(1, B, a->out, 0, 1, sum2, 0);
}

/*
 * k9_loss_ne: loss.ne, graphs/train_add.lua:38
 * out[B]
 * steps: ne
 * 192 flop, reads 256 B, writes 256 B
 */
struct k9_args {
    const struct cr_runtime *rt;
    const int *k3_target; /* [B, 1] */
    float *out; /* [B] */
};

static void k9_loss_ne(const void *args, long begin, long end, float *scratch)
{
    const struct k9_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    /* loss */
    rt->i32->ne_vs(1, B, a->out, 0, a->k3_target, 0, &(const int){-100}, 0);
}

/*
 * k10_loss: loss, graphs/train_add.lua:38
 * out[], loss_float_sum[1]
 * steps: float, sum, log, sub, where, sum, div
 * 704 flop, reads 768 B, writes 8 B
 */
struct k10_args {
    const struct cr_runtime *rt;
    const float *k9_loss_ne; /* [B] */
    const float *loss_exp_sum; /* [B, 1] */
    const float *k8_loss_where_sum; /* [B, 1] */
    float *loss_float_sum; /* [1] */
    float *out; /* [] */
};

static void k10_loss(const void *args, long begin, long end, float *scratch)
{
    const struct k10_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [1, B] */
    float *const float1 = scratch, *const log = float1, *const sub = float1, *const where = float1;
    float *const sum = scratch + 64, *const div = sum; /* [1], one number a row */
    float *const sum2 = scratch + 80; /* [1], one number a row */
    /* loss */
    rt->float_v(1, B, float1, B, a->k9_loss_ne, 0);
    rt->sum(1, B, sum, float1, B);
    rt->store(1, 1, a->loss_float_sum, 0, 0, sum, 0);
    rt->log_v(1, B, log, B, a->loss_exp_sum, 0);
    rt->sub_vv(1, B, sub, B, log, B, a->k8_loss_where_sum, 0);
    rt->where_vvs(1, B, where, B, a->k9_loss_ne, 0, sub, B, &(const float){0.0f}, 0);
    rt->sum(1, B, sum2, where, B);
    rt->div_vv(1, 1, div, 0, sum2, 0, sum, 0);
    rt->store(1, 1, a->out, 0, 0, div, 0);
}

/*
 * k11_d_output: gradient of output, graphs/train_add.lua:38
 * out[B, 10]
 * steps: div, where, div, sub, exp, eq, neg, where, fma
 * 12.16 kflop, reads 3.588 kB, writes 2.56 kB
 */
struct k11_args {
    const struct cr_runtime *rt;
    const float *k9_loss_ne; /* [B] */
    const float *loss_float_sum; /* [1] */
    const float *loss_exp_sum; /* [B, 1] */
    const float *output; /* [B, 10] */
    const float *loss_max; /* [B, 1] */
    const int *k3_target; /* [B, 1] */
    float *out; /* [B, 10] */
};

static void k11_d_output(const void *args, long begin, long end, float *scratch)
{
    const struct k11_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [B], one number a row */
    float *const column = scratch, *const div = column, *const where = column, *const neg = column;
    float *const div2 = scratch + 64; /* [B], one number a row */
    float *const sub = scratch + 128, *const exp = sub; /* [B, 10] */
    int *const numbers = (int *)scratch + 768; /* [B, 10] */
    float *const eq = scratch + 1408, *const where2 = eq; /* [B, 10] */
    /* loss */
    rt->load(1, B, column, 0, a->loss_float_sum, 0, 0);
    rt->div_sv(1, B, div, 0, &(const float){1.0f}, 0, column, 0);
    rt->where_vvs(1, B, where, 0, a->k9_loss_ne, 0, div, 0, &(const float){0.0f}, 0);
    rt->div_vv(1, B, div2, 0, where, 0, a->loss_exp_sum, 0);
    rt->sub_vs(B, 10, sub, 10, a->output, 10, a->loss_max, 1);
    rt->exp_v(B, 10, exp, 10, sub, 10);
    rt->i32->iota(B, 10, numbers, 10, 0, 0, 1);
    rt->i32->eq_vs(B, 10, eq, 10, numbers, 10, a->k3_target, 1);
    rt->neg_v(1, B, neg, 0, where, 0);
    rt->where_vss(B, 10, where2, 10, eq, 10, neg, 1, &(const float){0.0f}, 0);
    rt->fma_svv(B, 10, a->out, 10, div2, 1, exp, 10, where2, 10);
}

/*
 * k12_d_output_bias: gradient of output.bias, graphs/train_add.lua:37
 * out[10] = sum over B rows of columns[10]
 * steps: sum
 * 1.28 kflop, reads 2.56 kB, writes 40 B
 */
enum { K12_STEP_ROWS = 16 }; /* of a step of its loops */
struct k12_args {
    const struct cr_runtime *rt;
    const float *d_output; /* [B, 10] */
    float *out; /* [10] */
};

static void k12_d_output_bias(const void *args, long begin, long end, float *scratch)
{
    const struct k12_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const lanes = scratch; /* 16 partial results a column */
    rt->load(16, 10, lanes, 10, &(const float){0.0f}, 0, 0);
    for (long row = 0; row < B; row += K12_STEP_ROWS) {
        rt->sum_down(K12_STEP_ROWS, 10, lanes, a->d_output + row * 10, 10);
    }
    rt->sum_lanes(10, lanes);
    rt->store(1, 10, a->out, 0, 1, lanes, 0);
}

/*
 * k13_d_output_weight: gradient of output.weight, graphs/train_add.lua:37
 * out[10, WIDTH] = rows[10, B] x columns[B, WIDTH]
 * 81.92 kflop, reads 18.94 kB, writes 2.56 kB
 */
struct k13_args {
    const struct cr_runtime *rt;
    const float *d_output; /* [B, 10] */
    const float *act; /* [B, WIDTH] */
    float *out; /* [10, WIDTH] */
};

static void k13_d_output_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k13_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 4096; /* rows of the left operand */
    rt->load(10, B, rows, 80, a->d_output, 1, 10);
    rt->pack(B, WIDTH, panels, B * CR_PANEL, a->act, WIDTH, 1);
    rt->gemm(10, WIDTH, B, rows, 80, 1, panels, B * CR_PANEL, a->out, WIDTH, 0, 0, 0, 0, CR_AHEAD);
}

/*
 * k14_d_hidden: gradient of hidden, graphs/train_add.lua:37
 * out[B, WIDTH] = rows[B, 10] x columns[10, WIDTH]
 * then: mul, mul, fma, mul, sigmoid, sub, mul, mul, fma, mul, fma
 * numbers: 1.59576912 is 2 sqrt(2 / pi), 0.0713548163 is 2 * 0.044715 sqrt(2 / pi),
 *     0.214064449 is 6 * 0.044715 sqrt(2 / pi)
 * 81.92 kflop, reads 21.5 kB, writes 16.38 kB
 */
enum { K14_COLUMNS = 32 }; /* of an item */
struct k14_args {
    const struct cr_runtime *rt;
    const float *hidden; /* [B, WIDTH] */
    const float *d_output; /* [B, 10] */
    const float *output_weight; /* [10, WIDTH], packed */
    float *out; /* [B, WIDTH] */
};

static void k14_d_hidden(const void *args, long begin, long end, float *scratch)
{
    const struct k14_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const product = scratch; /* a tile of the product */
    float *const mul = scratch + 2048, *const mul4 = mul; /* [B, K14_COLUMNS] */
    float *const square = scratch + 4096, *const fma2 = square; /* [B, K14_COLUMNS] */
    /* [B, K14_COLUMNS] */
    float *const fma = scratch + 6144, *const mul2 = fma, *const sigmoid = fma, *const mul5 = fma;
    float *const sub = scratch + 8192, *const mul3 = sub; /* [B, K14_COLUMNS] */
    for (long item = begin; item < end; item++) {
        const long col0 = item * K14_COLUMNS; /* the item's first column */
        rt->gemm(B, K14_COLUMNS, 10, a->d_output, 10, 1, a->output_weight + col0 * 10,
            10 * CR_PANEL, product, K14_COLUMNS, 0, 0, 0, 0, CR_AHEAD);
        /* act */
        rt->mul_vv(B, K14_COLUMNS, mul, K14_COLUMNS, product, K14_COLUMNS, a->hidden + col0, WIDTH);
        rt->mul_vv(B, K14_COLUMNS, square, K14_COLUMNS, a->hidden + col0, WIDTH, a->hidden + col0,
            WIDTH);
        rt->fma_svs(B, K14_COLUMNS, fma, K14_COLUMNS, &(const float){0.071354814f}, 0, square,
            K14_COLUMNS, &(const float){1.5957692f}, 0);
        rt->mul_vv(B, K14_COLUMNS, mul2, K14_COLUMNS, a->hidden + col0, WIDTH, fma, K14_COLUMNS);
        rt->sigmoid_v(B, K14_COLUMNS, sigmoid, K14_COLUMNS, mul2, K14_COLUMNS);
        rt->sub_sv(B, K14_COLUMNS, sub, K14_COLUMNS, &(const float){1.0f}, 0, sigmoid, K14_COLUMNS);
        rt->mul_vv(B, K14_COLUMNS, mul3, K14_COLUMNS, sigmoid, K14_COLUMNS, sub, K14_COLUMNS);
        rt->mul_vv(B, K14_COLUMNS, mul4, K14_COLUMNS, mul, K14_COLUMNS, mul3, K14_COLUMNS);
        rt->fma_svs(B, K14_COLUMNS, fma2, K14_COLUMNS, &(const float){0.21406445f}, 0, square,
            K14_COLUMNS, &(const float){1.5957692f}, 0);
        rt->mul_vv(B, K14_COLUMNS, mul5, K14_COLUMNS, product, K14_COLUMNS, sigmoid, K14_COLUMNS);
        rt->fma_vvv(B, K14_COLUMNS, a->out + col0, WIDTH, mul4, K14_COLUMNS, fma2, K14_COLUMNS,
            mul5, K14_COLUMNS);
    }
}

/*
 * k15_d_hidden_bias: gradient of hidden.bias, graphs/train_add.lua:36
 * out[WIDTH] = sum over B rows of columns[WIDTH]
 * steps: sum
 * 8.192 kflop, reads 16.38 kB, writes 256 B
 */
enum { K15_STEP_ROWS = 16 }; /* of a step of its loops */
struct k15_args {
    const struct cr_runtime *rt;
    const float *d_hidden; /* [B, WIDTH] */
    float *out; /* [WIDTH] */
};

static void k15_d_hidden_bias(const void *args, long begin, long end, float *scratch)
{
    const struct k15_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const lanes = scratch; /* 16 partial results a column */
    rt->load(16, WIDTH, lanes, WIDTH, &(const float){0.0f}, 0, 0);
    for (long row = 0; row < B; row += K15_STEP_ROWS) {
        rt->sum_down(K15_STEP_ROWS, WIDTH, lanes, a->d_hidden + row * WIDTH, WIDTH);
    }
    rt->sum_lanes(WIDTH, lanes);
    rt->store(1, WIDTH, a->out, 0, 1, lanes, 0);
}

/*
 * k16_d_embedding: gradient of embedding, graphs/train_add.lua:36
 * out[B, 2 * N_EMBD] = rows[B, WIDTH] x columns[WIDTH, 2 * N_EMBD]
 * 262.1 kflop, reads 24.58 kB, writes 8.192 kB
 */
struct k16_args {
    const struct cr_runtime *rt;
    const float *d_hidden; /* [B, WIDTH] */
    const float *hidden_weight; /* [WIDTH, 2 * N_EMBD], packed */
    float *out; /* [B, 2 * N_EMBD] */
};

static void k16_d_embedding(const void *args, long begin, long end, float *scratch)
{
    const struct k16_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(B, 2 * N_EMBD, WIDTH, a->d_hidden, WIDTH, 1, a->hidden_weight, WIDTH * CR_PANEL,
        a->out, 2 * N_EMBD, 0, 0, 0, 0, CR_AHEAD);
}

/*
 * k17_d_hidden_weight: gradient of hidden.weight, graphs/train_add.lua:36
 * out[WIDTH, 2 * N_EMBD] = rows[WIDTH, B] x columns[B, 2 * N_EMBD]
 * 262.1 kflop, reads 24.58 kB, writes 8.192 kB
 */
struct k17_args {
    const struct cr_runtime *rt;
    const float *d_hidden; /* [B, WIDTH] */
    const float *embedding; /* [B, 2, N_EMBD] */
    float *out; /* [WIDTH, 2 * N_EMBD] */
};

static void k17_d_hidden_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k17_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 2048; /* rows of the left operand */
    rt->load(WIDTH, B, rows, 80, a->d_hidden, 1, WIDTH);
    rt->pack(B, 2 * N_EMBD, panels, B * CR_PANEL, a->embedding, 2 * N_EMBD, 1);
    rt->gemm(WIDTH, 2 * N_EMBD, B, rows, 80, 1, panels, B * CR_PANEL, a->out, 2 * N_EMBD, 0, 0, 0,
        0, CR_AHEAD);
}

/*
 * k18_d_embedding_copy: gradient of embedding.copy, graphs/train_add.lua:35
 * out[B, 2, N_EMBD]
 * 2.048 kflop, reads 8.192 kB, writes 8.192 kB
 */
struct k18_args {
    const struct cr_runtime *rt;
    const float *k16_d_embedding; /* [B, 2 * N_EMBD] */
    float *out; /* [B, 2, N_EMBD] */
};

static void k18_d_embedding_copy(const void *args, long begin, long end, float *scratch)
{
    const struct k18_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->load(2 * B, N_EMBD, a->out, N_EMBD, a->k16_d_embedding, N_EMBD, 1);
}

/*
 * k19_d_embedding_weight: gradient of embedding.weight, graphs/train_add.lua:35
 * out[10, N_EMBD] = for each row the sum of the 2 * B rows[N_EMBD] with its index
 * 2.048 kflop, reads 8.704 kB, writes 640 B
 */
struct k19_args {
    const struct cr_runtime *rt;
    const float *d_embedding; /* [B, 2, N_EMBD] */
    const int *digits; /* [B, 2] */
    float *out; /* [10, N_EMBD] */
};

static void k19_d_embedding_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k19_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row0 = item;
        rt->scatter_add(1, N_EMBD, a->out + row0 * N_EMBD, N_EMBD, row0, 2 * B, a->d_embedding,
            N_EMBD, a->digits);
    }
}

/*
 * k20_next_adam_part1: next adam.part1, graphs/train_add.lua:41
 * out[]
 * steps: fma
 * 4 flop, reads 4 B, writes 4 B
 */
struct k20_args {
    const struct cr_runtime *rt;
    const float *adam_part1; /* [] */
    float *out; /* [] */
};

static void k20_next_adam_part1(const void *args, long begin, long end, float *scratch)
{
    const struct k20_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const column = scratch, *const fma = column; /* [1], one number a row */
    rt->load(1, 1, column, 0, &(const float){0.1f}, 0, 0);
    rt->fma_ssv(1, 1, fma, 0, &(const float){0.9f}, 0, a->adam_part1, 0, column, 0);
    rt->store(1, 1, a->out, 0, 0, fma, 0);
}

/*
 * k21_next_adam_part2: next adam.part2, graphs/train_add.lua:41
 * out[]
 * steps: fma
 * 4 flop, reads 4 B, writes 4 B
 */
struct k21_args {
    const struct cr_runtime *rt;
    const float *adam_part2; /* [] */
    float *out; /* [] */
};

static void k21_next_adam_part2(const void *args, long begin, long end, float *scratch)
{
    const struct k21_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const column = scratch, *const fma = column; /* [1], one number a row */
    rt->load(1, 1, column, 0, &(const float){0.001f}, 0, 0);
    rt->fma_ssv(1, 1, fma, 0, &(const float){0.999f}, 0, a->adam_part2, 0, column, 0);
    rt->store(1, 1, a->out, 0, 0, fma, 0);
}

/*
 * k22_next_embedding_weight: next embedding.weight, graphs/train_add.lua:41
 * out[10, N_EMBD], next_adam_m_embedding_weight[10, N_EMBD],
 *     next_adam_v_embedding_weight[10, N_EMBD]
 * steps: mul, fma, mul, mul, fma, mul, div, mul, sqrt, sqrt, div, add, div, sub
 * 4.32 kflop, reads 2.568 kB, writes 1.92 kB
 */
struct k22_args {
    const struct cr_runtime *rt;
    const float *adam_m_embedding_weight; /* [10, N_EMBD] */
    const float *d_embedding_weight; /* [10, N_EMBD] */
    const float *adam_v_embedding_weight; /* [10, N_EMBD] */
    const float *embedding_weight; /* [10, N_EMBD] */
    const float *k20_next_adam_part1; /* [] */
    const float *k21_next_adam_part2; /* [] */
    float *next_adam_m_embedding_weight; /* [10, N_EMBD] */
    float *next_adam_v_embedding_weight; /* [10, N_EMBD] */
    float *out; /* [10, N_EMBD] */
};

static void k22_next_embedding_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k22_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [10, N_EMBD] */
    float *const mul = scratch, *const square = mul, *const mul2 = mul, *const mul3 = mul;
    /* [10], one number a row */
    float *const column = scratch + 160, *const div = column, *const column2 = column,
        *const sqrt2 = column;
    float *const mul4 = scratch + 176, *const div3 = mul4; /* [10, N_EMBD] */
    float *const sqrt = scratch + 336, *const div2 = sqrt, *const add = sqrt; /* [10, N_EMBD] */
    rt->mul_sv(10, N_EMBD, mul, N_EMBD, &(const float){0.1f}, 0, a->d_embedding_weight, N_EMBD);
    rt->fma_svv(10, N_EMBD, a->next_adam_m_embedding_weight, N_EMBD, &(const float){0.9f}, 0,
        a->adam_m_embedding_weight, N_EMBD, mul, N_EMBD);
    rt->mul_vv(10, N_EMBD, square, N_EMBD, a->d_embedding_weight, N_EMBD, a->d_embedding_weight,
        N_EMBD);
    rt->mul_sv(10, N_EMBD, mul2, N_EMBD, &(const float){0.001f}, 0, square, N_EMBD);
    rt->fma_svv(10, N_EMBD, a->next_adam_v_embedding_weight, N_EMBD, &(const float){0.999f}, 0,
        a->adam_v_embedding_weight, N_EMBD, mul2, N_EMBD);
    rt->mul_vs(10, N_EMBD, mul3, N_EMBD, a->embedding_weight, N_EMBD, &(const float){0.9999f}, 0);
    rt->load(1, 10, column, 0, a->k20_next_adam_part1, 0, 0);
    rt->div_sv(1, 10, div, 0, &(const float){0.01f}, 0, column, 0);
    rt->mul_sv(10, N_EMBD, mul4, N_EMBD, div, 1, a->next_adam_m_embedding_weight, N_EMBD);
    rt->sqrt_v(10, N_EMBD, sqrt, N_EMBD, a->next_adam_v_embedding_weight, N_EMBD);
    rt->load(1, 10, column2, 0, a->k21_next_adam_part2, 0, 0);
    rt->sqrt_v(1, 10, sqrt2, 0, column2, 0);
    rt->div_vs(10, N_EMBD, div2, N_EMBD, sqrt, N_EMBD, sqrt2, 1);
    rt->add_vs(10, N_EMBD, add, N_EMBD, div2, N_EMBD, &(const float){1e-08f}, 0);
    rt->div_vv(10, N_EMBD, div3, N_EMBD, mul4, N_EMBD, add, N_EMBD);
    rt->sub_vv(10, N_EMBD, a->out, N_EMBD, mul3, N_EMBD, div3, N_EMBD);
}

/*
 * k23_next_hidden_bias: next hidden.bias, graphs/train_add.lua:41
 * out[WIDTH], next_adam_m_hidden_bias[WIDTH], next_adam_v_hidden_bias[WIDTH]
 * steps: mul, fma, mul, mul, fma, mul, div, mul, sqrt, sqrt, div, add, div, sub
 * 1.728 kflop, reads 1.032 kB, writes 768 B
 */
struct k23_args {
    const struct cr_runtime *rt;
    const float *adam_m_hidden_bias; /* [WIDTH] */
    const float *d_hidden_bias; /* [WIDTH] */
    const float *adam_v_hidden_bias; /* [WIDTH] */
    const float *hidden_bias; /* [WIDTH] */
    const float *k20_next_adam_part1; /* [] */
    const float *k21_next_adam_part2; /* [] */
    float *next_adam_m_hidden_bias; /* [WIDTH] */
    float *next_adam_v_hidden_bias; /* [WIDTH] */
    float *out; /* [WIDTH] */
};

static void k23_next_hidden_bias(const void *args, long begin, long end, float *scratch)
{
    const struct k23_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [1, WIDTH] */
    float *const mul = scratch, *const square = mul, *const mul2 = mul, *const mul3 = mul;
    /* [1], one number a row */
    float *const column = scratch + 64, *const div = column, *const column2 = column,
        *const sqrt2 = column;
    float *const mul4 = scratch + 80, *const div3 = mul4; /* [1, WIDTH] */
    float *const sqrt = scratch + 144, *const div2 = sqrt, *const add = sqrt; /* [1, WIDTH] */
    rt->mul_sv(1, WIDTH, mul, WIDTH, &(const float){0.1f}, 0, a->d_hidden_bias, 0);
    rt->fma_svv(1, WIDTH, a->next_adam_m_hidden_bias, 0, &(const float){0.9f}, 0,
        a->adam_m_hidden_bias, 0, mul, WIDTH);
    rt->mul_vv(1, WIDTH, square, WIDTH, a->d_hidden_bias, 0, a->d_hidden_bias, 0);
    rt->mul_sv(1, WIDTH, mul2, WIDTH, &(const float){0.001f}, 0, square, WIDTH);
    rt->fma_svv(1, WIDTH, a->next_adam_v_hidden_bias, 0, &(const float){0.999f}, 0,
        a->adam_v_hidden_bias, 0, mul2, WIDTH);
    rt->mul_vs(1, WIDTH, mul3, WIDTH, a->hidden_bias, 0, &(const float){0.9999f}, 0);
    rt->load(1, 1, column, 0, a->k20_next_adam_part1, 0, 0);
    rt->div_sv(1, 1, div, 0, &(const float){0.01f}, 0, column, 0);
    rt->mul_sv(1, WIDTH, mul4, WIDTH, div, 1, a->next_adam_m_hidden_bias, 0);
    rt->sqrt_v(1, WIDTH, sqrt, WIDTH, a->next_adam_v_hidden_bias, 0);
    rt->load(1, 1, column2, 0, a->k21_next_adam_part2, 0, 0);
    rt->sqrt_v(1, 1, sqrt2, 0, column2, 0);
    rt->div_vs(1, WIDTH, div2, WIDTH, sqrt, WIDTH, sqrt2, 1);
    rt->add_vs(1, WIDTH, add, WIDTH, div2, WIDTH, &(const float){1e-08f}, 0);
    rt->div_vv(1, WIDTH, div3, WIDTH, mul4, WIDTH, add, WIDTH);
    rt->sub_vv(1, WIDTH, a->out, 0, mul3, WIDTH, div3, WIDTH);
}

/*
 * k24_next_hidden_weight: next hidden.weight, graphs/train_add.lua:41
 * out[WIDTH, 2 * N_EMBD], next_adam_m_hidden_weight[WIDTH, 2 * N_EMBD],
 *     next_adam_v_hidden_weight[WIDTH, 2 * N_EMBD]
 * steps: mul, fma, mul, mul, fma, mul, div, mul, sqrt, sqrt, div, add, div, sub
 * 55.3 kflop, reads 32.78 kB, writes 24.58 kB
 */
struct k24_args {
    const struct cr_runtime *rt;
    const float *adam_m_hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    const float *d_hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    const float *adam_v_hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    const float *hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    const float *k20_next_adam_part1; /* [] */
    const float *k21_next_adam_part2; /* [] */
    float *next_adam_m_hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    float *next_adam_v_hidden_weight; /* [WIDTH, 2 * N_EMBD] */
    float *out; /* [WIDTH, 2 * N_EMBD] */
};

static void k24_next_hidden_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k24_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [WIDTH, 2 * N_EMBD] */
    float *const mul = scratch, *const square = mul, *const mul2 = mul, *const mul3 = mul;
    /* [WIDTH], one number a row */
    float *const column = scratch + 2048, *const div = column, *const column2 = column,
        *const sqrt2 = column;
    float *const mul4 = scratch + 2112, *const div3 = mul4; /* [WIDTH, 2 * N_EMBD] */
    /* [WIDTH, 2 * N_EMBD] */
    float *const sqrt = scratch + 4160, *const div2 = sqrt, *const add = sqrt;
    rt->mul_sv(WIDTH, 2 * N_EMBD, mul, 2 * N_EMBD, &(const float){0.1f}, 0, a->d_hidden_weight,
        2 * N_EMBD);
    rt->fma_svv(WIDTH, 2 * N_EMBD, a->next_adam_m_hidden_weight, 2 * N_EMBD, &(const float){0.9f},
        0, a->adam_m_hidden_weight, 2 * N_EMBD, mul, 2 * N_EMBD);
    rt->mul_vv(WIDTH, 2 * N_EMBD, square, 2 * N_EMBD, a->d_hidden_weight, 2 * N_EMBD,
        a->d_hidden_weight, 2 * N_EMBD);
    rt->mul_sv(WIDTH, 2 * N_EMBD, mul2, 2 * N_EMBD, &(const float){0.001f}, 0, square, 2 * N_EMBD);
    rt->fma_svv(WIDTH, 2 * N_EMBD, a->next_adam_v_hidden_weight, 2 * N_EMBD, &(const float){0.999f},
        0, a->adam_v_hidden_weight, 2 * N_EMBD, mul2, 2 * N_EMBD);
    rt->mul_vs(WIDTH, 2 * N_EMBD, mul3, 2 * N_EMBD, a->hidden_weight, 2 * N_EMBD,
        &(const float){0.9999f}, 0);
    rt->load(1, WIDTH, column, 0, a->k20_next_adam_part1, 0, 0);
    rt->div_sv(1, WIDTH, div, 0, &(const float){0.01f}, 0, column, 0);
    rt->mul_sv(WIDTH, 2 * N_EMBD, mul4, 2 * N_EMBD, div, 1, a->next_adam_m_hidden_weight,
        2 * N_EMBD);
    rt->sqrt_v(WIDTH, 2 * N_EMBD, sqrt, 2 * N_EMBD, a->next_adam_v_hidden_weight, 2 * N_EMBD);
    rt->load(1, WIDTH, column2, 0, a->k21_next_adam_part2, 0, 0);
    rt->sqrt_v(1, WIDTH, sqrt2, 0, column2, 0);
    rt->div_vs(WIDTH, 2 * N_EMBD, div2, 2 * N_EMBD, sqrt, 2 * N_EMBD, sqrt2, 1);
    rt->add_vs(WIDTH, 2 * N_EMBD, add, 2 * N_EMBD, div2, 2 * N_EMBD, &(const float){1e-08f}, 0);
    rt->div_vv(WIDTH, 2 * N_EMBD, div3, 2 * N_EMBD, mul4, 2 * N_EMBD, add, 2 * N_EMBD);
    rt->sub_vv(WIDTH, 2 * N_EMBD, a->out, 2 * N_EMBD, mul3, 2 * N_EMBD, div3, 2 * N_EMBD);
}

/*
 * k25_next_output_bias: next output.bias, graphs/train_add.lua:41
 * out[10], next_adam_m_output_bias[10], next_adam_v_output_bias[10]
 * steps: mul, fma, mul, mul, fma, mul, div, mul, sqrt, sqrt, div, add, div, sub
 * 270 flop, reads 168 B, writes 120 B
 */
struct k25_args {
    const struct cr_runtime *rt;
    const float *adam_m_output_bias; /* [10] */
    const float *d_output_bias; /* [10] */
    const float *adam_v_output_bias; /* [10] */
    const float *output_bias; /* [10] */
    const float *k20_next_adam_part1; /* [] */
    const float *k21_next_adam_part2; /* [] */
    float *next_adam_m_output_bias; /* [10] */
    float *next_adam_v_output_bias; /* [10] */
    float *out; /* [10] */
};

static void k25_next_output_bias(const void *args, long begin, long end, float *scratch)
{
    const struct k25_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [1, 10] */
    float *const mul = scratch, *const square = mul, *const mul2 = mul, *const mul3 = mul;
    /* [1], one number a row */
    float *const column = scratch + 16, *const div = column, *const column2 = column,
        *const sqrt2 = column;
    float *const mul4 = scratch + 32, *const div3 = mul4; /* [1, 10] */
    float *const sqrt = scratch + 48, *const div2 = sqrt, *const add = sqrt; /* [1, 10] */
    rt->mul_sv(1, 10, mul, 10, &(const float){0.1f}, 0, a->d_output_bias, 0);
    rt->fma_svv(1, 10, a->next_adam_m_output_bias, 0, &(const float){0.9f}, 0,
        a->adam_m_output_bias, 0, mul, 10);
    rt->mul_vv(1, 10, square, 10, a->d_output_bias, 0, a->d_output_bias, 0);
    rt->mul_sv(1, 10, mul2, 10, &(const float){0.001f}, 0, square, 10);
    rt->fma_svv(1, 10, a->next_adam_v_output_bias, 0, &(const float){0.999f}, 0,
        a->adam_v_output_bias, 0, mul2, 10);
    rt->mul_vs(1, 10, mul3, 10, a->output_bias, 0, &(const float){0.9999f}, 0);
    rt->load(1, 1, column, 0, a->k20_next_adam_part1, 0, 0);
    rt->div_sv(1, 1, div, 0, &(const float){0.01f}, 0, column, 0);
    rt->mul_sv(1, 10, mul4, 10, div, 1, a->next_adam_m_output_bias, 0);
    rt->sqrt_v(1, 10, sqrt, 10, a->next_adam_v_output_bias, 0);
    rt->load(1, 1, column2, 0, a->k21_next_adam_part2, 0, 0);
    rt->sqrt_v(1, 1, sqrt2, 0, column2, 0);
    rt->div_vs(1, 10, div2, 10, sqrt, 10, sqrt2, 1);
    rt->add_vs(1, 10, add, 10, div2, 10, &(const float){1e-08f}, 0);
    rt->div_vv(1, 10, div3, 10, mul4, 10, add, 10);
    rt->sub_vv(1, 10, a->out, 0, mul3, 10, div3, 10);
}

/*
 * k26_next_output_weight: next output.weight, graphs/train_add.lua:41
 * out[10, WIDTH], next_adam_m_output_weight[10, WIDTH], next_adam_v_output_weight[10, WIDTH]
 * steps: mul, fma, mul, mul, fma, mul, div, mul, sqrt, sqrt, div, add, div, sub
 * 17.28 kflop, reads 10.25 kB, writes 7.68 kB
 */
struct k26_args {
    const struct cr_runtime *rt;
    const float *adam_m_output_weight; /* [10, WIDTH] */
    const float *d_output_weight; /* [10, WIDTH] */
    const float *adam_v_output_weight; /* [10, WIDTH] */
    const float *output_weight; /* [10, WIDTH] */
    const float *k20_next_adam_part1; /* [] */
    const float *k21_next_adam_part2; /* [] */
    float *next_adam_m_output_weight; /* [10, WIDTH] */
    float *next_adam_v_output_weight; /* [10, WIDTH] */
    float *out; /* [10, WIDTH] */
};

static void k26_next_output_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k26_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [10, WIDTH] */
    float *const mul = scratch, *const square = mul, *const mul2 = mul, *const mul3 = mul;
    /* [10], one number a row */
    float *const column = scratch + 640, *const div = column, *const column2 = column,
        *const sqrt2 = column;
    float *const mul4 = scratch + 656, *const div3 = mul4; /* [10, WIDTH] */
    float *const sqrt = scratch + 1296, *const div2 = sqrt, *const add = sqrt; /* [10, WIDTH] */
    rt->mul_sv(10, WIDTH, mul, WIDTH, &(const float){0.1f}, 0, a->d_output_weight, WIDTH);
    rt->fma_svv(10, WIDTH, a->next_adam_m_output_weight, WIDTH, &(const float){0.9f}, 0,
        a->adam_m_output_weight, WIDTH, mul, WIDTH);
    rt->mul_vv(10, WIDTH, square, WIDTH, a->d_output_weight, WIDTH, a->d_output_weight, WIDTH);
    rt->mul_sv(10, WIDTH, mul2, WIDTH, &(const float){0.001f}, 0, square, WIDTH);
    rt->fma_svv(10, WIDTH, a->next_adam_v_output_weight, WIDTH, &(const float){0.999f}, 0,
        a->adam_v_output_weight, WIDTH, mul2, WIDTH);
    rt->mul_vs(10, WIDTH, mul3, WIDTH, a->output_weight, WIDTH, &(const float){0.9999f}, 0);
    rt->load(1, 10, column, 0, a->k20_next_adam_part1, 0, 0);
    rt->div_sv(1, 10, div, 0, &(const float){0.01f}, 0, column, 0);
    rt->mul_sv(10, WIDTH, mul4, WIDTH, div, 1, a->next_adam_m_output_weight, WIDTH);
    rt->sqrt_v(10, WIDTH, sqrt, WIDTH, a->next_adam_v_output_weight, WIDTH);
    rt->load(1, 10, column2, 0, a->k21_next_adam_part2, 0, 0);
    rt->sqrt_v(1, 10, sqrt2, 0, column2, 0);
    rt->div_vs(10, WIDTH, div2, WIDTH, sqrt, WIDTH, sqrt2, 1);
    rt->add_vs(10, WIDTH, add, WIDTH, div2, WIDTH, &(const float){1e-08f}, 0);
    rt->div_vv(10, WIDTH, div3, WIDTH, mul4, WIDTH, add, WIDTH);
    rt->sub_vv(10, WIDTH, a->out, WIDTH, mul3, WIDTH, div3, WIDTH);
}

/* Computes the outputs. */
static int train_add_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 10240; /* for each thread */
    float *const scratch = arena + 11664;
    const int *const in_step = inputs[0]; /* step[] */
    const float *const in_adam_part1 = inputs[1]; /* adam.part1[] */
    const float *const in_adam_part2 = inputs[2]; /* adam.part2[] */
    const float *const in_adam_m_embedding_weight = inputs[3]; /* adam.m.embedding.weight[10, N_EMBD] */
    const float *const in_adam_v_embedding_weight = inputs[4]; /* adam.v.embedding.weight[10, N_EMBD] */
    const float *const in_adam_m_hidden_bias = inputs[5]; /* adam.m.hidden.bias[WIDTH] */
    const float *const in_adam_v_hidden_bias = inputs[6]; /* adam.v.hidden.bias[WIDTH] */
    const float *const in_adam_m_hidden_weight = inputs[7]; /* adam.m.hidden.weight[WIDTH, 2 * N_EMBD] */
    const float *const in_adam_v_hidden_weight = inputs[8]; /* adam.v.hidden.weight[WIDTH, 2 * N_EMBD] */
    const float *const in_adam_m_output_bias = inputs[9]; /* adam.m.output.bias[10] */
    const float *const in_adam_v_output_bias = inputs[10]; /* adam.v.output.bias[10] */
    const float *const in_adam_m_output_weight = inputs[11]; /* adam.m.output.weight[10, WIDTH] */
    const float *const in_adam_v_output_weight = inputs[12]; /* adam.v.output.weight[10, WIDTH] */
    float *const out_adam_m_embedding_weight = outputs[0]; /* adam.m.embedding.weight[10, N_EMBD] */
    float *const out_adam_m_hidden_bias = outputs[1]; /* adam.m.hidden.bias[WIDTH] */
    float *const out_adam_m_hidden_weight = outputs[2]; /* adam.m.hidden.weight[WIDTH, 2 * N_EMBD] */
    float *const out_adam_m_output_bias = outputs[3]; /* adam.m.output.bias[10] */
    float *const out_adam_m_output_weight = outputs[4]; /* adam.m.output.weight[10, WIDTH] */
    float *const out_adam_part1 = outputs[5]; /* adam.part1[] */
    float *const out_adam_part2 = outputs[6]; /* adam.part2[] */
    float *const out_adam_v_embedding_weight = outputs[7]; /* adam.v.embedding.weight[10, N_EMBD] */
    float *const out_adam_v_hidden_bias = outputs[8]; /* adam.v.hidden.bias[WIDTH] */
    float *const out_adam_v_hidden_weight = outputs[9]; /* adam.v.hidden.weight[WIDTH, 2 * N_EMBD] */
    float *const out_adam_v_output_bias = outputs[10]; /* adam.v.output.bias[10] */
    float *const out_adam_v_output_weight = outputs[11]; /* adam.v.output.weight[10, WIDTH] */
    float *const out_embedding_weight = outputs[12]; /* embedding.weight[10, N_EMBD] */
    float *const out_hidden_bias = outputs[13]; /* hidden.bias[WIDTH] */
    float *const out_hidden_weight = outputs[14]; /* hidden.weight[WIDTH, 2 * N_EMBD] */
    float *const out_loss = outputs[15]; /* loss[] */
    float *const out_output_bias = outputs[16]; /* output.bias[10] */
    float *const out_output_weight = outputs[17]; /* output.weight[10, WIDTH] */
    int *const out_step = outputs[18]; /* step[] */
    {
        const struct k1_args args = {
            .rt = rt,
            .step = in_step, /* step[] */
            .out = out_step, /* next step[] */
        };
        rt->parallel(pool, 1, 1, k1_next_step, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .step = in_step, /* step[] */
            .stream0 = 0,
            .out = (int *)arena + 11520, /* digits[B, 2] */
        };
        rt->parallel(pool, 1, 1, k2_digits, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .digits = (int *)arena + 11520, /* digits[B, 2] */
            .out = (int *)arena + 10880, /* target[B, 1] */
        };
        rt->parallel(pool, 1, 1, k3_target, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .embedding_weight = weights, /* embedding.weight[10, N_EMBD] */
            .digits = (int *)arena + 11520, /* digits[B, 2] */
            .out = arena + 8192, /* embedding[B, 2, N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k4_embedding, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .hidden_bias = weights + 160, /* hidden.bias[WIDTH] */
            .embedding = arena + 8192, /* embedding[B, 2, N_EMBD] */
            .hidden_weight = weights + 5616, /* hidden.weight[2 * N_EMBD, WIDTH], packed */
            .out = arena, /* hidden[B, WIDTH] */
        };
        rt->parallel(pool, WIDTH / K5_COLUMNS, 2, k5_hidden, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .hidden = arena, /* hidden[B, WIDTH] */
            .out = arena + 4096, /* act[B, WIDTH] */
        };
        rt->parallel(pool, B / K6_ROWS, 2, k6_act, &args, scratch, scratch_floats);
    }
    {
        const struct k7_args args = {
            .rt = rt,
            .output_bias = weights + 224, /* output.bias[10] */
            .act = arena + 4096, /* act[B, WIDTH] */
            .output_weight = weights + 7664, /* output.weight[WIDTH, 10], packed */
            .out = arena + 10240, /* output[B, 10] */
        };
        rt->parallel(pool, 1, 1, k7_output, &args, scratch, scratch_floats);
    }
    {
        const struct k8_args args = {
            .rt = rt,
            .output = arena + 10240, /* output[B, 10] */
            .k3_target = (int *)arena + 10880, /* target[B, 1] */
            .loss_max = arena + 10944, /* loss[B, 1] */
            .loss_exp_sum = arena + 11008, /* loss[B, 1] */
            .out = arena + 11072, /* loss.where.sum[B, 1] */
        };
        rt->parallel(pool, 1, 1, k8_loss_where_sum, &args, scratch, scratch_floats);
    }
    {
        const struct k9_args args = {
            .rt = rt,
            .k3_target = (int *)arena + 10880, /* target[B, 1] */
            .out = arena + 11136, /* loss.ne[B] */
        };
        rt->parallel(pool, 1, 1, k9_loss_ne, &args, scratch, scratch_floats);
    }
    {
        const struct k10_args args = {
            .rt = rt,
            .k9_loss_ne = arena + 11136, /* loss.ne[B] */
            .loss_exp_sum = arena + 11008, /* loss[B, 1] */
            .k8_loss_where_sum = arena + 11072, /* loss.where.sum[B, 1] */
            .loss_float_sum = arena + 11200, /* loss[1] */
            .out = out_loss, /* loss[] */
        };
        rt->parallel(pool, 1, 1, k10_loss, &args, scratch, scratch_floats);
    }
    {
        const struct k11_args args = {
            .rt = rt,
            .k9_loss_ne = arena + 11136, /* loss.ne[B] */
            .loss_float_sum = arena + 11200, /* loss[1] */
            .loss_exp_sum = arena + 11008, /* loss[B, 1] */
            .output = arena + 10240, /* output[B, 10] */
            .loss_max = arena + 10944, /* loss[B, 1] */
            .k3_target = (int *)arena + 10880, /* target[B, 1] */
            .out = arena + 10240, /* gradient of output[B, 10] */
        };
        rt->parallel(pool, 1, 1, k11_d_output, &args, scratch, scratch_floats);
    }
    {
        const struct k12_args args = {
            .rt = rt,
            .d_output = arena + 10240, /* gradient of output[B, 10] */
            .out = arena + 11648, /* gradient of output.bias[10] */
        };
        rt->parallel(pool, 1, 1, k12_d_output_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k13_args args = {
            .rt = rt,
            .d_output = arena + 10240, /* gradient of output[B, 10] */
            .act = arena + 4096, /* act[B, WIDTH] */
            .out = arena + 10880, /* gradient of output.weight[10, WIDTH] */
        };
        rt->parallel(pool, 1, 1, k13_d_output_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k14_args args = {
            .rt = rt,
            .hidden = arena, /* hidden[B, WIDTH] */
            .d_output = arena + 10240, /* gradient of output[B, 10] */
            .output_weight = weights + 240, /* output.weight[10, WIDTH], packed */
            .out = arena, /* gradient of hidden[B, WIDTH] */
        };
        rt->parallel(pool, WIDTH / K14_COLUMNS, 2, k14_d_hidden, &args, scratch, scratch_floats);
    }
    {
        const struct k15_args args = {
            .rt = rt,
            .d_hidden = arena, /* gradient of hidden[B, WIDTH] */
            .out = arena + 10240, /* gradient of hidden.bias[WIDTH] */
        };
        rt->parallel(pool, 1, 1, k15_d_hidden_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k16_args args = {
            .rt = rt,
            .d_hidden = arena, /* gradient of hidden[B, WIDTH] */
            .hidden_weight = weights + 880, /* hidden.weight[WIDTH, 2 * N_EMBD], packed */
            .out = arena + 4096, /* gradient of embedding[B, 2 * N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k16_d_embedding, &args, scratch, scratch_floats);
    }
    {
        const struct k17_args args = {
            .rt = rt,
            .d_hidden = arena, /* gradient of hidden[B, WIDTH] */
            .embedding = arena + 8192, /* embedding[B, 2, N_EMBD] */
            .out = arena + 6144, /* gradient of hidden.weight[WIDTH, 2 * N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k17_d_hidden_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k18_args args = {
            .rt = rt,
            .k16_d_embedding = arena + 4096, /* gradient of embedding[B, 2 * N_EMBD] */
            .out = arena + 4096, /* gradient of embedding[B, 2, N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k18_d_embedding_copy, &args, scratch, scratch_floats);
    }
    {
        const struct k19_args args = {
            .rt = rt,
            .d_embedding = arena + 4096, /* gradient of embedding[B, 2, N_EMBD] */
            .digits = (int *)arena + 11520, /* digits[B, 2] */
            .out = arena, /* gradient of embedding.weight[10, N_EMBD] */
        };
        rt->parallel(pool, 10, 1, k19_d_embedding_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k20_args args = {
            .rt = rt,
            .adam_part1 = in_adam_part1, /* adam.part1[] */
            .out = out_adam_part1, /* next adam.part1[] */
        };
        rt->parallel(pool, 1, 1, k20_next_adam_part1, &args, scratch, scratch_floats);
    }
    {
        const struct k21_args args = {
            .rt = rt,
            .adam_part2 = in_adam_part2, /* adam.part2[] */
            .out = out_adam_part2, /* next adam.part2[] */
        };
        rt->parallel(pool, 1, 1, k21_next_adam_part2, &args, scratch, scratch_floats);
    }
    {
        const struct k22_args args = {
            .rt = rt,
            .adam_m_embedding_weight = in_adam_m_embedding_weight, /* adam.m.embedding.weight[10, N_EMBD] */
            .d_embedding_weight = arena, /* gradient of embedding.weight[10, N_EMBD] */
            .adam_v_embedding_weight = in_adam_v_embedding_weight, /* adam.v.embedding.weight[10, N_EMBD] */
            .embedding_weight = weights, /* embedding.weight[10, N_EMBD] */
            .k20_next_adam_part1 = out_adam_part1, /* next adam.part1[] */
            .k21_next_adam_part2 = out_adam_part2, /* next adam.part2[] */
            .next_adam_m_embedding_weight = out_adam_m_embedding_weight, /* next adam.m.embedding.weight[10, N_EMBD] */
            .next_adam_v_embedding_weight = out_adam_v_embedding_weight, /* next adam.v.embedding.weight[10, N_EMBD] */
            .out = out_embedding_weight, /* next embedding.weight[10, N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k22_next_embedding_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k23_args args = {
            .rt = rt,
            .adam_m_hidden_bias = in_adam_m_hidden_bias, /* adam.m.hidden.bias[WIDTH] */
            .d_hidden_bias = arena + 10240, /* gradient of hidden.bias[WIDTH] */
            .adam_v_hidden_bias = in_adam_v_hidden_bias, /* adam.v.hidden.bias[WIDTH] */
            .hidden_bias = weights + 160, /* hidden.bias[WIDTH] */
            .k20_next_adam_part1 = out_adam_part1, /* next adam.part1[] */
            .k21_next_adam_part2 = out_adam_part2, /* next adam.part2[] */
            .next_adam_m_hidden_bias = out_adam_m_hidden_bias, /* next adam.m.hidden.bias[WIDTH] */
            .next_adam_v_hidden_bias = out_adam_v_hidden_bias, /* next adam.v.hidden.bias[WIDTH] */
            .out = out_hidden_bias, /* next hidden.bias[WIDTH] */
        };
        rt->parallel(pool, 1, 1, k23_next_hidden_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k24_args args = {
            .rt = rt,
            .adam_m_hidden_weight = in_adam_m_hidden_weight, /* adam.m.hidden.weight[WIDTH, 2 * N_EMBD] */
            .d_hidden_weight = arena + 6144, /* gradient of hidden.weight[WIDTH, 2 * N_EMBD] */
            .adam_v_hidden_weight = in_adam_v_hidden_weight, /* adam.v.hidden.weight[WIDTH, 2 * N_EMBD] */
            .hidden_weight = weights + 2928, /* hidden.weight[WIDTH, 2 * N_EMBD] */
            .k20_next_adam_part1 = out_adam_part1, /* next adam.part1[] */
            .k21_next_adam_part2 = out_adam_part2, /* next adam.part2[] */
            .next_adam_m_hidden_weight = out_adam_m_hidden_weight, /* next adam.m.hidden.weight[WIDTH, 2 * N_EMBD] */
            .next_adam_v_hidden_weight = out_adam_v_hidden_weight, /* next adam.v.hidden.weight[WIDTH, 2 * N_EMBD] */
            .out = out_hidden_weight, /* next hidden.weight[WIDTH, 2 * N_EMBD] */
        };
        rt->parallel(pool, 1, 1, k24_next_hidden_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k25_args args = {
            .rt = rt,
            .adam_m_output_bias = in_adam_m_output_bias, /* adam.m.output.bias[10] */
            .d_output_bias = arena + 11648, /* gradient of output.bias[10] */
            .adam_v_output_bias = in_adam_v_output_bias, /* adam.v.output.bias[10] */
            .output_bias = weights + 224, /* output.bias[10] */
            .k20_next_adam_part1 = out_adam_part1, /* next adam.part1[] */
            .k21_next_adam_part2 = out_adam_part2, /* next adam.part2[] */
            .next_adam_m_output_bias = out_adam_m_output_bias, /* next adam.m.output.bias[10] */
            .next_adam_v_output_bias = out_adam_v_output_bias, /* next adam.v.output.bias[10] */
            .out = out_output_bias, /* next output.bias[10] */
        };
        rt->parallel(pool, 1, 1, k25_next_output_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k26_args args = {
            .rt = rt,
            .adam_m_output_weight = in_adam_m_output_weight, /* adam.m.output.weight[10, WIDTH] */
            .d_output_weight = arena + 10880, /* gradient of output.weight[10, WIDTH] */
            .adam_v_output_weight = in_adam_v_output_weight, /* adam.v.output.weight[10, WIDTH] */
            .output_weight = weights + 4976, /* output.weight[10, WIDTH] */
            .k20_next_adam_part1 = out_adam_part1, /* next adam.part1[] */
            .k21_next_adam_part2 = out_adam_part2, /* next adam.part2[] */
            .next_adam_m_output_weight = out_adam_m_output_weight, /* next adam.m.output.weight[10, WIDTH] */
            .next_adam_v_output_weight = out_adam_v_output_weight, /* next adam.v.output.weight[10, WIDTH] */
            .out = out_output_weight, /* next output.weight[10, WIDTH] */
        };
        rt->parallel(pool, 1, 1, k26_next_output_weight, &args, scratch, scratch_floats);
    }
    return 0;
}

/* ---- what the functions of the header call ---- */

#if TRAIN_ADD_THREADS <= 1
#define CR_NO_THREADS
#endif
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_API static __attribute__((unused))
#else
#define CR_API static
#endif

#include <string.h>

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

/* Where elements of parameters are packed; see struct cr_weight_layout. */
static const struct cr_weight_layout layouts[] = {
    /* param, source, rows, cols, row_stride, col_stride, target, panel_stride,
     * first_col, last */
    {0, 0L, 1L, 160L, 0L, 1L, 0L, 0L, 0L, 0},
    {1, 0L, 64L, 32L, 32L, 1L, 880L, 2048L, 0L, 1},
    {1, 0L, 1L, 2048L, 0L, 1L, 2928L, 0L, 0L, 0},
    {1, 0L, 32L, 64L, 1L, 32L, 5616L, 1024L, 0L, 1},
    {2, 0L, 1L, 64L, 0L, 1L, 160L, 0L, 0L, 0},
    {3, 0L, 10L, 64L, 64L, 1L, 240L, 320L, 0L, 1},
    {3, 0L, 1L, 640L, 0L, 1L, 4976L, 0L, 0L, 0},
    {3, 0L, 64L, 10L, 1L, 64L, 7664L, 2048L, 0L, 1},
    {4, 0L, 1L, 10L, 0L, 1L, 224L, 0L, 0L, 0},
    {-1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
};

/* ---- the state ---- */

const struct train_add_tensor train_add_tensors[] = {
    {"embedding.weight", 1, 0, 2, {10L, 16L}, 160L, 0L},
    {"hidden.weight", 1, 0, 2, {64L, 32L}, 2048L, 640L},
    {"hidden.bias", 1, 0, 1, {64L}, 64L, 8832L},
    {"output.weight", 1, 0, 2, {10L, 64L}, 640L, 9088L},
    {"output.bias", 1, 0, 1, {10L}, 10L, 11648L},
    {"step", 0, 1, 0, {0}, 1L, 11712L},
    {"adam.part1", 0, 0, 0, {0}, 1L, 11776L},
    {"adam.part2", 0, 0, 0, {0}, 1L, 11840L},
    {"adam.m.embedding.weight", 0, 0, 2, {10L, 16L}, 160L, 11904L},
    {"adam.v.embedding.weight", 0, 0, 2, {10L, 16L}, 160L, 12544L},
    {"adam.m.hidden.bias", 0, 0, 1, {64L}, 64L, 13184L},
    {"adam.v.hidden.bias", 0, 0, 1, {64L}, 64L, 13440L},
    {"adam.m.hidden.weight", 0, 0, 2, {64L, 32L}, 2048L, 13696L},
    {"adam.v.hidden.weight", 0, 0, 2, {64L, 32L}, 2048L, 21888L},
    {"adam.m.output.bias", 0, 0, 1, {10L}, 10L, 30080L},
    {"adam.v.output.bias", 0, 0, 1, {10L}, 10L, 30144L},
    {"adam.m.output.weight", 0, 0, 2, {10L, 64L}, 640L, 30208L},
    {"adam.v.output.weight", 0, 0, 2, {10L, 64L}, 640L, 32768L},
};

int train_add_set_tensor(void *state, int tensor, const void *whole)
{
    if (!state || !whole || tensor < 0 || tensor >= TRAIN_ADD_TENSORS)
        return 1;
    memcpy((char *)state + train_add_tensors[tensor].offset, whole, (size_t)train_add_tensors[tensor].elements * 4);
    return 0;
}

int train_add_get_tensor(const void *state, int tensor, void *whole)
{
    if (!state || !whole || tensor < 0 || tensor >= TRAIN_ADD_TENSORS)
        return 1;
    memcpy(whole, (const char *)state + train_add_tensors[tensor].offset, (size_t)train_add_tensors[tensor].elements * 4);
    return 0;
}

struct packing {
    const struct cr_runtime *rt;
    const char *state;
    float *weights;
};

/* Packs pieces of parameters as the kernels read them. */
static void pack_params(const void *args, long begin, long end, float *scratch)
{
    const struct packing *p = args;
    long i;
    (void)scratch;
    for (i = begin; i < end; i++)
        cr_pack_weight(p->rt, &layouts[i],
            (const float *)(p->state + train_add_tensors[layouts[i].param].offset), p->weights);
}

/* ---- threads ---- */

struct train_add_pool *train_add_pool_start(void *memory, int threads)
{
    if (!memory || (size_t)memory % 64 || threads > TRAIN_ADD_THREADS)
        return 0;
    return (struct train_add_pool *)(void *)cr_pool_init(memory, threads);
}

void train_add_pool_stop(struct train_add_pool *pool)
{
    if (pool)
        cr_pool_stop((struct cr_pool *)(void *)pool);
}

int train_add_step_with(struct train_add_pool *pool, const void *state, void *next, float *out_loss, void *arena)
{
    const void *inputs[13];
    void *outputs[19];
    struct cr_pool *threads = (struct cr_pool *)(void *)pool;
    struct packing packing;
    const char *from = state;
    char *to = next;
    int status;
    if (((size_t)state | (size_t)next | (size_t)arena) % 64 || !state || !next ||
        !arena)
        return 1;
    if (!out_loss)
        return 1;
    inputs[0] = from + 11712L; /* step */
    inputs[1] = from + 11776L; /* adam.part1 */
    inputs[2] = from + 11840L; /* adam.part2 */
    inputs[3] = from + 11904L; /* adam.m.embedding.weight */
    inputs[4] = from + 12544L; /* adam.v.embedding.weight */
    inputs[5] = from + 13184L; /* adam.m.hidden.bias */
    inputs[6] = from + 13440L; /* adam.v.hidden.bias */
    inputs[7] = from + 13696L; /* adam.m.hidden.weight */
    inputs[8] = from + 21888L; /* adam.v.hidden.weight */
    inputs[9] = from + 30080L; /* adam.m.output.bias */
    inputs[10] = from + 30144L; /* adam.v.output.bias */
    inputs[11] = from + 30208L; /* adam.m.output.weight */
    inputs[12] = from + 32768L; /* adam.v.output.weight */
    outputs[0] = to + 11904L; /* adam.m.embedding.weight */
    outputs[1] = to + 13184L; /* adam.m.hidden.bias */
    outputs[2] = to + 13696L; /* adam.m.hidden.weight */
    outputs[3] = to + 30080L; /* adam.m.output.bias */
    outputs[4] = to + 30208L; /* adam.m.output.weight */
    outputs[5] = to + 11776L; /* adam.part1 */
    outputs[6] = to + 11840L; /* adam.part2 */
    outputs[7] = to + 12544L; /* adam.v.embedding.weight */
    outputs[8] = to + 13440L; /* adam.v.hidden.bias */
    outputs[9] = to + 21888L; /* adam.v.hidden.weight */
    outputs[10] = to + 30144L; /* adam.v.output.bias */
    outputs[11] = to + 32768L; /* adam.v.output.weight */
    outputs[12] = to + 0L; /* embedding.weight */
    outputs[13] = to + 8832L; /* hidden.bias */
    outputs[14] = to + 640L; /* hidden.weight */
    outputs[15] = out_loss;
    outputs[16] = to + 11648L; /* output.bias */
    outputs[17] = to + 9088L; /* output.weight */
    outputs[18] = to + 11712L; /* step */
    if (to == from) { /* these are read after their next values are stored */
        inputs[0] = memcpy((char *)arena + 0L, from + 11712L, 4L); /* step */
    }
    packing.rt = cr_runtime_select(0);
    packing.state = from;
    packing.weights = (float *)arena + 16L;
    packing.rt->parallel(threads, 9, 9, pack_params, &packing, 0, 0);
    status = train_add_execute(packing.rt, threads, packing.weights, inputs, outputs,
        packing.weights + 9712L);
    return status;
}

int train_add_step(const void *state, void *next, float *out_loss, void *arena)
{
    double memory[TRAIN_ADD_POOL_BYTES / sizeof(double)];
    struct cr_pool *own = cr_pool_init(memory, TRAIN_ADD_THREADS);
    int status = train_add_step_with((void *)own, state, next, out_loss, arena);
    if (own)
        cr_pool_stop(own);
    return status;
}

/* ---- the runtime ---- */

/*
 * The template at the end of this file is compiled once for each instruction set: the file
 * includes itself behind the vectors of each, which define CR_ISA.  Compilers that know
 * __FILE_NAME__ know what the file is called now; others need -DTRAIN_ADD_FILE='"NAME.c"' if
 * it was renamed.
 */
#if defined(TRAIN_ADD_FILE)
#define CR_TEMPLATE TRAIN_ADD_FILE
#elif defined(__FILE_NAME__)
#define CR_TEMPLATE __FILE_NAME__
#else
#define CR_TEMPLATE "train_add.c"
#endif
#ifdef __has_include
#if !__has_include(CR_TEMPLATE)
#error "this file includes itself: compile it by its name, or define TRAIN_ADD_FILE as its path"
#endif
#endif

/* The functions of elementwise ops and reductions that the model needs. */
#define CR_VARIANTS \
    CR_FUNCTION(neg_v, , ) CR_FUNCTION(exp_v, , ) CR_FUNCTION(log_v, , ) CR_FUNCTION(sqrt_v, , ) \
    CR_FUNCTION(sigmoid_v, , ) CR_FUNCTION(add_vs, , ) CR_FUNCTION(sub_vv, , ) CR_FUNCTION(sub_vs, , ) \
    CR_FUNCTION(sub_sv, , ) CR_FUNCTION(mul_vv, , ) CR_FUNCTION(mul_vs, , ) CR_FUNCTION(mul_sv, , ) \
    CR_FUNCTION(div_vv, , ) CR_FUNCTION(div_vs, , ) CR_FUNCTION(div_sv, , ) CR_FUNCTION(ge_vs, , ) \
    CR_FUNCTION(where_vvs, , ) CR_FUNCTION(where_vss, , ) CR_FUNCTION(fma_vvv, , ) CR_FUNCTION(fma_svv, , ) \
    CR_FUNCTION(fma_svs, , ) CR_FUNCTION(fma_ssv, , ) CR_FUNCTION(float_v, , ) CR_FUNCTION(sum, , ) \
    CR_FUNCTION(sum_down, , ) CR_FUNCTION(sum_lanes, , ) CR_FUNCTION(max, , )
#define CR_VARIANTS_I32 \
    CR_FUNCTION(add_vv, , ) CR_FUNCTION(add_sv, , ) CR_FUNCTION(sub_vs, , ) CR_FUNCTION(ge_vs, , ) \
    CR_FUNCTION(eq_vs, , ) CR_FUNCTION(ne_vs, , ) CR_FUNCTION(where_vvv, , ) CR_FUNCTION(where_vss, , )

/* runtime.c - the functions of runtime.h for every instruction set, and their selection; see vector.h. */
#include <stddef.h>

/*
 * philox.h - random numbers as pure functions of (seed, stream, index).
 *
 * The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011): no state, so neither the order of the calls nor the number of
 * threads matters.  The seed is its key; stream and block are its counter.  Numbers come
 * in groups of 64 from 16 blocks, so that vectors of blocks make vectors of numbers:
 * number i has word i % 64 / 16 of block i / 64 * 16 + i % 16.
 */
#include <stdint.h>

enum {
    CR_PHILOX_ROUNDS = 10,
    CR_RANDOM_BLOCKS = 16,                  /* the blocks of a group */
    CR_RANDOM_GROUP = 4 * CR_RANDOM_BLOCKS, /* the numbers of a group */
};

#define CR_PHILOX_M0 0xd2511f53u
#define CR_PHILOX_M1 0xcd9e8d57u
#define CR_PHILOX_K0 0x9e3779b9u /* the golden ratio */
#define CR_PHILOX_K1 0xbb67ae85u /* sqrt(3) - 1 */

/* Computes one block: encrypts the counter with the key. */
static inline void cr_philox_block(const uint32_t counter[4], const uint32_t key[2],
                                   uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < CR_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)CR_PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)CR_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += CR_PHILOX_K0;
        k1 += CR_PHILOX_K1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns number `index` of a stream, uniform in 0 <= u < 1. */
#if defined(__GNUC__) && !defined(__TINYC__)
__attribute__((unused)) /* in case a file uses only blocks */
#endif
static inline float cr_philox_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t block = index / CR_RANDOM_GROUP * CR_RANDOM_BLOCKS + index % CR_RANDOM_BLOCKS;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    uint32_t words[4];
    cr_philox_block(counter, key, words);
    return (float)(words[index % CR_RANDOM_GROUP / CR_RANDOM_BLOCKS] >> 8) * 0x1p-24f;
}

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
    OP(neg,     1, ARITH,   -a,                 "-a") \
    OP(exp,     1, FLOAT,   CR_EXP(a),          "e to the power of a") \
    OP(log,     1, FLOAT,   CR_LOG(a),          "natural logarithm of a") \
    OP(sqrt,    1, FLOAT,   CR_SQRT(a),         "square root of a") \
    OP(sigmoid, 1, FLOAT,   CR_SIGMOID(a),      "1 / (1 + exp(-a))") \
    OP(add,     2, ARITH,   a + b,              "a + b") \
    OP(sub,     2, ARITH,   a - b,              "a - b") \
    OP(mul,     2, ARITH,   a * b,              "a * b") \
    OP(div,     2, FLOAT,   a / b,              "a / b") \
    OP(ge,      2, COMPARE, CR_LE(b, a),        "a >= b") \
    OP(eq,      2, COMPARE, CR_EQ(a, b),        "a == b") \
    OP(ne,      2, COMPARE, CR_ONE - CR_EQ(a, b), "a != b") \
    OP(where,   3, SELECT,  CR_SELECT(a, b, c), "b where a is true, c elsewhere") \
    OP(fma,     3, FLOAT,   CR_FMA(a, b, c),    "a b + c, rounded once") \
    OP(float,   1, CONVERT, CR_FLOAT(a),        "the number a as f32, rounded to nearest, ties to even; true is 1") \

/*
 * i32.h - the functions of the runtime on tiles of i32, like those of runtime.h on floats.
 *
 * Arithmetic wraps modulo 2^32, in two's complement, so the order of a sum does not matter.  A bool
 * is a float here, too: comparisons return floats, and the first operand of where is a float.
 */
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
    OP(max, ARITH, CR_LOWEST, CR_MAX(a, b), "the largest, +0 being larger than -0; NaN if any is")

/* The table of functions other than elementwise ops and reductions; see CR_FUNCTIONS of
 * runtime.h. */
#define CR_FUNCTIONS_I32 \
    CR_FUNCTION(load, , ) \
    CR_FUNCTION(store, , ) \
    CR_FUNCTION(iota, , ) \

#define CR_MEMBERS_I32 CR_VARIANTS_I32 CR_FUNCTIONS_I32

/* The table of functions other than elementwise ops and reductions: CR_FUNCTION(name, result, parameters)
 * and a description, which an emitted file has at the members of struct cr_runtime.  A file that
 * runtime.inc includes defines each one as CR_NAME(cr_NAME). */
#define CR_FUNCTIONS \
    CR_FUNCTION(load, , ) \
    CR_FUNCTION(store, , ) \
    CR_FUNCTION(random, , ) \
    CR_FUNCTION(mul_sigmoid, , ) \
    CR_FUNCTION(odd_cubic, , ) \
    CR_FUNCTION(gather, , ) \
    CR_FUNCTION(scatter_add, , ) \
    CR_FUNCTION(pack, , ) \
    CR_FUNCTION(pack_stream, , ) \
    CR_FUNCTION(gemm, , ) \

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
typedef uint32_t __attribute__((may_alias)) cr_word;
#else
typedef float cr_float;
typedef uint32_t cr_word;
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
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_4(T, 2)
#define CR_TILES_3(T) T(1, 3)
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
#define CR_FLOAT(a) (a)
#define CR_ABS(a) fabsf(a)
#define CR_SQRT(a) sqrtf(a)
#define CR_LT(a, b) ((a) < (b) ? 1.0f : 0.0f)
#define CR_LE(a, b) ((a) <= (b) ? 1.0f : 0.0f)
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

/* Splits x > 0 that is normal into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE float v_split_plain(float x, float *e)
{
    union cr_bits bits = {x};
    uint32_t above = bits.u - 0x3f3504f3u; /* sqrt(1/2) */
    bits.u = (above & 0x007fffffu) + 0x3f3504f3u;
    *e = (float)((int32_t)above >> 23);
    return bits.f;
}

#define v_min(a, b) v_min_plain(a, b)
#define v_max(a, b) v_max_plain(a, b)
#define v_and(a, b) v_and_plain(a, b)
#define v_or(a, b) v_or_plain(a, b)
#define v_pow2(t) v_pow2_plain(t)
#define v_split(x, e) v_split_plain(x, e)

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
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_6(T, 2)
#define CR_TILES_3(T) CR_HEIGHTS_4(T, 3)
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
#define CR_FLOAT(a) (a)
#define CR_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm256_sqrt_ps(a)
#define CR_LT(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), CR_ONE)
#define CR_LE(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ), CR_ONE)
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

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE __m256 v_split_avx2(__m256 x, __m256 *e)
{
    __m256i root = _mm256_set1_epi32(0x3f3504f3); /* sqrt(1/2) */
    __m256i above = _mm256_sub_epi32(_mm256_castps_si256(x), root);
    __m256i mantissa = _mm256_and_si256(above, _mm256_set1_epi32(0x007fffff));
    *e = _mm256_cvtepi32_ps(_mm256_srai_epi32(above, 23));
    return _mm256_castsi256_ps(_mm256_add_epi32(mantissa, root));
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
#define v_split(x, e) v_split_avx2(x, e)
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
#define CR_TILES_3(T) CR_HEIGHTS_8(T, 3)
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
#define CR_FLOAT(a) (a)
#define CR_ABS(a) _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm512_sqrt_ps(a)
#define CR_LT(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), CR_ONE)
#define CR_LE(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LE_OQ), CR_ONE)
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

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE __m512 v_split_avx512(__m512 x, __m512 *e)
{
    __m512i root = _mm512_set1_epi32(0x3f3504f3); /* sqrt(1/2) */
    __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x), root);
    __m512i mantissa = _mm512_and_si512(above, _mm512_set1_epi32(0x007fffff));
    *e = _mm512_cvtepi32_ps(_mm512_srai_epi32(above, 23));
    return _mm512_castsi512_ps(_mm512_add_epi32(mantissa, root));
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
#define v_split(x, e) v_split_avx512(x, e)
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
#define CR_TILES_3(T) CR_HEIGHTS_8(T, 3)
#define CR_TILES_4(T) CR_HEIGHTS_6(T, 4)

/* A vector that may alias any element, and is aligned only as an element is. */
typedef float32x4_t __attribute__((may_alias, aligned(4))) cr_floats_4;
typedef uint32x4_t __attribute__((may_alias, aligned(4))) cr_words_4;

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
#define CR_FLOAT(a) (a)
#define CR_ABS(a) vabsq_f32(a)
#define CR_SQRT(a) vsqrtq_f32(a)
#define CR_LT(a, b) v_one_if_neon(vcltq_f32(a, b))
#define CR_LE(a, b) v_one_if_neon(vcleq_f32(a, b))
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

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE float32x4_t v_split_neon(float32x4_t x, float32x4_t *e)
{
    uint32x4_t root = vdupq_n_u32(0x3f3504f3u); /* sqrt(1/2) */
    uint32x4_t above = vsubq_u32(vreinterpretq_u32_f32(x), root);
    uint32x4_t mantissa = vandq_u32(above, vdupq_n_u32(0x007fffffu));
    *e = vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(above), 23));
    return vreinterpretq_f32_u32(vaddq_u32(mantissa, root));
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
#define v_split(x, e) v_split_neon(x, e)
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

CR_INLINE VF CR_NAME(v_maximum)(VF a, VF b)
{
    return v_larger(a, b);
}

/*
 * Return the larger, or the smaller, of a running value and x, for uses in which the sign of a zero
 * does not matter; NaN if either is NaN.  v_max and v_min pass on a NaN of the running value, so
 * only x is tested, and the test is not on the critical path.
 */
CR_INLINE VF CR_NAME(v_top)(VF running, VF x)
{
    return v_nan_or(x, v_max(x, running));
}

#define CR_MAX(a, b) CR_NAME(v_maximum)(a, b)
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

/* With x = 2^e (1 + f), log(1 + f) = f - f^2 / 2 + f^3 q(f).  Denormal numbers are scaled up
 * first. */
CR_INLINE VF CR_NAME(v_log)(VF x)
{
    VF e;
    VF tiny = CR_LT(x, v_set1(0x1p-126f));
    VF f = v_split(CR_SELECT(tiny, x * v_set1(0x1p23f), x), &e) - CR_ONE;
    e = v_fma(tiny, v_set1(-23.0f), e);
    VF q = v_set1(-0x1.38c974p-4f);
    q = v_fma(q, f, v_set1(0x1.055eaep-3f));
    q = v_fma(q, f, v_set1(-0x1.0d8246p-3f));
    q = v_fma(q, f, v_set1(0x1.22d930p-3f));
    q = v_fma(q, f, v_set1(-0x1.54728ap-3f));
    q = v_fma(q, f, v_set1(0x1.99a01cp-3f));
    q = v_fma(q, f, v_set1(-0x1.000226p-2f));
    q = v_fma(q, f, v_set1(0x1.555554p-2f));
    VF f2 = f * f;
    VF y = v_fma(f2 * f, q, e * v_set1(CR_LN2_LOW));
    y = v_fma(f2, v_set1(-0.5f), y) + f;
    y = v_fma(e, v_set1(CR_LN2_HIGH), y);
    y = CR_SELECT(CR_LT(x, v_set1(INFINITY)), y, x);
    VF pole = CR_SELECT(CR_EQ(x, v_set1(0.0f)), v_set1(-INFINITY), v_set1(NAN));
    return CR_SELECT(CR_LT(v_set1(0.0f), x), y, pole);
}

#define CR_EXP(a) CR_NAME(v_exp)(a)
#define CR_LOG(a) CR_NAME(v_log)(a)
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

static void CR_NAME(cr_store)(long rows, long cols, float *y, long rs, long cs, const float *x,
                              long ldx)
{
    if (cs == 1) {
        CR_NAME(cr_copy)(rows, cols, y, rs, x, ldx);
    } else if (rs == 1) {
        CR_NAME(cr_transpose)(cols, rows, y, cs, x, ldx);
    } else {
        cr_copy_strided(rows, cols, y, rs, cs, x, ldx, 1);
    }
}

/* Gathers rows of a table of f32 or i32; for an index outside the table, a row of *none. */
CR_INLINE void CR_NAME(v_gather)(long rows, long cols, float *y, long ldy, const float *table,
                                 long ldt, long table_rows, const int *index, const float *none)
{
    for (long r = 0; r < rows; r++) {
        if (index[r] >= 0 && index[r] < table_rows) {
            CR_NAME(cr_copy)(1, cols, y + r * ldy, ldy, table + index[r] * ldt, ldt);
        } else {
            CR_NAME(cr_fill)(1, cols, y + r * ldy, ldy, none, 0);
        }
    }
}

static void CR_NAME(cr_gather)(long rows, long cols, float *y, long ldy, const float *table,
                               long ldt, long table_rows, const int *index)
{
    const float none = NAN;
    CR_NAME(v_gather)(rows, cols, y, ldy, table, ldt, table_rows, index, &none);
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

#define CR_LOWEST (-INFINITY)

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

/*
 * reductions_loose.inc - reduces rows first without regard to the sign of zeros, which is faster for max and min.
 *
 * v_loosely_NAME combines two vectors in this way; v_NAME_is_loose is true for reductions whose result depends on the
 * sign of zeros.  If the result of a row is a zero, whose sign may be wrong, the row is reduced again exactly.
 */
#undef CR_MAX
#define CR_MAX(a, b) (loose = 1, CR_TOP(a, b))
#define CR_COMBINE_LOOSELY(name, rule, identity, combine, description)                             \
    CR_INLINE VF CR_NAME(v_loosely_##name)(VF a, VF b)                                             \
    {                                                                                              \
        int loose = 0;                                                                             \
        const VF result = (combine);                                                               \
        (void)loose;                                                                               \
        return result;                                                                             \
    }                                                                                              \
    CR_INLINE int CR_NAME(v_##name##_is_loose)(VF a, VF b)                                         \
    {                                                                                              \
        int loose = 0;                                                                             \
        (void)(combine);                                                                           \
        return loose;                                                                              \
    }
CR_REDUCTIONS(CR_COMBINE_LOOSELY)
#undef CR_MAX
#define CR_MAX(a, b) CR_NAME(v_maximum)(a, b)

#undef CR_ROW_BY
#define CR_ROW_BY(name) CR_NAME(v_fast_row_##name)
#define CR_ROW_LOOSELY(name, rule, identity, combine, description)                                 \
    CR_REDUCE_ROW(v_loose_row_##name, CR_NAME(v_loosely_##name), identity)                         \
    CR_INLINE float CR_NAME(v_fast_row_##name)(const float *row, long cols)                        \
    {                                                                                              \
        const float result = CR_NAME(v_loose_row_##name)(row, cols);                               \
        const int loose = CR_NAME(v_##name##_is_loose)(v_set1(0.0f), v_set1(0.0f));                \
        return loose && result == 0 ? CR_NAME(v_row_##name)(row, cols) : result;                   \
    }
CR_REDUCTIONS(CR_ROW_LOOSELY)

#define CR_REDUCE_ROWS(name, rule, identity, combine, description)                                 \
    static void CR_NAME(cr_##name)(long rows, long cols, float *y, const float *a, long lda)       \
    {                                                                                              \
        for (long r = 0; r < rows; r++) {                                                          \
            y[r] = CR_ROW_BY(name)(a + r * lda, cols);                                             \
        }                                                                                          \
    }
CR_REDUCTIONS(CR_REDUCE_ROWS)
/*
 * reductions_down.inc - reductions down the columns for each row of CR_REDUCTIONS.  Row r belongs
 * to lane r % 16 of its column.
 */
#define CR_REDUCE_COLUMNS(name, rule, identity, combine, description)                              \
    static void CR_NAME(cr_##name##_down)(long rows, long cols, float *lanes, const float *a,      \
                                          long lda)                                                \
    {                                                                                              \
        for (long r = 0; r < rows; r++) {                                                          \
            float *lane = lanes + r % CR_LANES * cols;                                             \
            long c = 0;                                                                            \
            CR_UNROLL_BY_4                                                                         \
            for (; c + CR_W <= cols; c += CR_W) {                                                  \
                CR_PREFETCH(a + (r + CR_LANES) * lda + c); /* for the next \
                                                              tile */                  \
                v_store(lane + c,                                                                  \
                        CR_NAME(v_combine_##name)(v_load(lane + c), v_load(a + r * lda + c)));     \
            }                                                                                      \
            if (c < cols) {                                                                        \
                VF x = v_load_n(a + r * lda + c, cols - c);                                        \
                x = CR_NAME(v_combine_##name)(v_load_n(lane + c, cols - c), x);                    \
                v_store_n(lane + c, x, cols - c);                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void CR_NAME(cr_##name##_lanes)(long cols, float *lanes)                                \
    {                                                                                              \
        for (long half = CR_LANES / 2; half > 0; half /= 2) {                                      \
            CR_NAME(cr_##name##_down)(half, cols, lanes, lanes + half * cols, cols);               \
        }                                                                                          \
    }
CR_REDUCTIONS(CR_REDUCE_COLUMNS)
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
CR_TILES_3(CR_TILE)
CR_TILES_4(CR_TILE)
CR_TILE(1, 8)

static cr_tiles *const CR_NAME(cr_tiles_1)[] = {NULL, CR_TILES_1(CR_TILE_NAME)};
static cr_tiles *const CR_NAME(cr_tiles_2)[] = {NULL, CR_TILES_2(CR_TILE_NAME)};
static cr_tiles *const CR_NAME(cr_tiles_3)[] = {NULL, CR_TILES_3(CR_TILE_NAME)};
static cr_tiles *const CR_NAME(cr_tiles_4)[] = {NULL, CR_TILES_4(CR_TILE_NAME)};

/* By the width of tiles in vectors.  A file for one model lacks tiles that its products seldom use:
 * see required_runtime.h. */
static const struct cr_tile_set CR_NAME(cr_tile_sets)[5] = {
    [1] = {CR_COUNT(CR_NAME(cr_tiles_1)) - 1, CR_NAME(cr_tiles_1)},
    [2] = {CR_COUNT(CR_NAME(cr_tiles_2)) - 1, CR_NAME(cr_tiles_2)},
    [3] = {CR_COUNT(CR_NAME(cr_tiles_3)) - 1, CR_NAME(cr_tiles_3)},
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
        if (p->M == 1 && left >= 8) {
            step = 8;
            CR_NAME(cr_tiles_1x8)(p, 0, n, 1);
            continue;
        }
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

/*
 * scatter.inc - adds rows to those rows of a table that an index selects.
 */

/* y = y + x */
CR_INLINE void CR_NAME(cr_add_row)(long cols, float *y, const float *x)
{
    long i = 0;
    for (; i + CR_W <= cols; i += CR_W) {
        v_store(y + i, v_load(y + i) + v_load(x + i));
    }
    if (i < cols) {
        v_store_n(y + i, v_load_n(y + i, cols - i) + v_load_n(x + i, cols - i), cols - i);
    }
}

static void CR_NAME(cr_scatter_add)(long rows, long cols, float *y, long ldy, long first, long n,
                                    const float *x, long ldx, const int *index)
{
    const float zero = 0.0f;
    CR_NAME(cr_fill)(rows, cols, y, ldy, &zero, 0);
    for (long i = 0; i < n; i++) {
        if (index[i] >= first && index[i] < first + rows) {
            CR_NAME(cr_add_row)(cols, y + (index[i] - first) * ldy, x + i * ldx);
        }
    }
}
/*
 * random.inc - tiles of random numbers, each of which is a function of its index.
 */
/*
 * philox.inc - Philox for vectors of blocks; see philox.h.
 */
/*
 * words.inc - vectors of unsigned 32-bit words, with as many lanes as vectors of floats.
 *
 * Included after one of vector_*.h, any number of times, since it contains only macros.
 * v_of_signed converts integers to floats, v_of_bits reinterprets integers as floats, and vi_bits
 * reinterprets floats as integers.
 */
#undef VI
#undef vi_set1
#undef vi_ramp
#undef vi_add
#undef vi_xor
#undef vi_right
#undef v_of_signed

#if CR_W == 1

#define VI uint32_t
#define vi_set1(x) ((uint32_t)(x))
#define vi_ramp() 0u
#define vi_add(a, b) ((a) + (b))
#define vi_xor(a, b) ((a) ^ (b))
#define vi_right(a, n) ((a) >> (n))
#define v_of_signed(a) ((float)(int32_t)(a))

#elif CR_W == 4

#define VI uint32x4_t
#define vi_set1(x) vdupq_n_u32((uint32_t)(x))
#define vi_ramp() ((uint32x4_t){0, 1, 2, 3})
#define vi_add(a, b) vaddq_u32(a, b)
#define vi_xor(a, b) veorq_u32(a, b)
#define vi_right(a, n) ((a) >> (n))
#define v_of_signed(a) vcvtq_f32_s32(vreinterpretq_s32_u32(a))

#elif CR_W == 8

#define VI __m256i
#define vi_set1(x) _mm256_set1_epi32((int)(x))
#define vi_ramp() _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define vi_add(a, b) _mm256_add_epi32(a, b)
#define vi_xor(a, b) _mm256_xor_si256(a, b)
#define vi_right(a, n) _mm256_srli_epi32(a, n)
#define v_of_signed(a) _mm256_cvtepi32_ps(a)

#else

#define VI __m512i
#define vi_set1(x) _mm512_set1_epi32((int)(x))
#define vi_ramp() _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define vi_add(a, b) _mm512_add_epi32(a, b)
#define vi_xor(a, b) _mm512_xor_si512(a, b)
#define vi_right(a, n) _mm512_srli_epi32(a, n)
#define v_of_signed(a) _mm512_cvtepi32_ps(a)

#endif

/* vi_mul(a, b, &high) returns the low words of the products and sets `high` to the high words. */
#undef vi_mul

#if CR_W == 1

#define vi_mul(a, b, high) vi_mul_plain(a, b, high)

CR_INLINE uint32_t vi_mul_plain(uint32_t a, uint32_t b, uint32_t *high)
{
    uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    return (uint32_t)product;
}

#elif CR_W == 4

#define vi_mul(a, b, high) vi_mul_neon(a, b, high)

/* Multiplies the lower two lanes, then the upper ones. */
CR_INLINE uint32x4_t vi_mul_neon(uint32x4_t a, uint32x4_t b, uint32x4_t *high)
{
    uint32x4_t lower = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)));
    uint32x4_t upper = vreinterpretq_u32_u64(vmull_high_u32(a, b));
    *high = vuzp2q_u32(lower, upper);
    return vuzp1q_u32(lower, upper);
}

#elif CR_W == 8

#define vi_mul(a, b, high) vi_mul_avx2(a, b, high)

/* Multiplies even lanes, then odd ones. */
CR_INLINE __m256i vi_mul_avx2(__m256i a, __m256i b, __m256i *high)
{
    __m256i even = _mm256_mul_epu32(a, b);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

#else

#define vi_mul(a, b, high) vi_mul_avx512(a, b, high)

/* Multiplies even lanes, then odd ones. */
CR_INLINE __m512i vi_mul_avx512(__m512i a, __m512i b, __m512i *high)
{
    __m512i even = _mm512_mul_epu32(a, b);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    *high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    return _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

#endif

/* Computes the words of CR_W blocks from block `first`, a multiple of CR_W, on. */
CR_INLINE void CR_NAME(v_philox)(uint64_t seed, uint64_t stream, uint64_t first, VI words[4])
{
    VI c0 = vi_add(vi_set1((uint32_t)first), vi_ramp());
    VI c1 = vi_set1((uint32_t)(first >> 32));
    VI c2 = vi_set1((uint32_t)stream), c3 = vi_set1((uint32_t)(stream >> 32));
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < CR_PHILOX_ROUNDS; round++) {
        VI high0, low0 = vi_mul(c0, vi_set1(CR_PHILOX_M0), &high0);
        VI high1, low1 = vi_mul(c2, vi_set1(CR_PHILOX_M1), &high1);
        c0 = vi_xor(vi_xor(high1, c1), vi_set1(k0));
        c1 = low1;
        c2 = vi_xor(vi_xor(high0, c3), vi_set1(k1));
        c3 = low0;
        k0 += CR_PHILOX_K0;
        k1 += CR_PHILOX_K1;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* Converts words to numbers that are uniform in 0 <= u < 1. */
CR_INLINE VF CR_NAME(v_uniform)(VI words)
{
    return v_of_signed(vi_right(words, 8)) * v_set1(0x1p-24f);
}

/* Computes all numbers of a group. */
static void CR_NAME(cr_random_group)(uint64_t seed, uint64_t stream, uint64_t group, float *y)
{
    for (int lane = 0; lane < CR_RANDOM_BLOCKS; lane += CR_W) {
        VI words[4];
        CR_NAME(v_philox)(seed, stream, group * CR_RANDOM_BLOCKS + (uint64_t)lane, words);
        CR_UNROLL
        for (int i = 0; i < 4; i++) {
            v_store(y + i * CR_RANDOM_BLOCKS + lane, CR_NAME(v_uniform)(words[i]));
        }
    }
}

/* A stream of a seed, and the group of numbers computed last. */
struct CR_NAME(cr_stream) {
    uint64_t seed, stream, group;
    float numbers[CR_RANDOM_GROUP];
};

/* Writes n numbers of a stream, from `index` on.  Groups that are needed as a whole are computed in
 * place. */
static void CR_NAME(cr_random_run)(struct CR_NAME(cr_stream) *s, uint64_t index, long n, float *y)
{
    for (long count; n > 0; n -= count, y += count, index += (uint64_t)count) {
        uint64_t group = index / CR_RANDOM_GROUP;
        long skip = (long)(index % CR_RANDOM_GROUP);
        count = CR_LEAST(n, CR_RANDOM_GROUP - skip);
        if (count == CR_RANDOM_GROUP) {
            CR_NAME(cr_random_group)(s->seed, s->stream, group, y);
            continue;
        }
        if (group != s->group) {
            s->group = group;
            CR_NAME(cr_random_group)(s->seed, s->stream, group, s->numbers);
        }
        CR_NAME(cr_copy)(1, count, y, 0, s->numbers + skip, 0);
    }
}

/* Rows of consecutive numbers are computed in place.  If numbers are consecutive down the columns,
 * a few columns at a time are computed as rows and transposed.  Otherwise each number is computed
 * separately. */
static void CR_NAME(cr_random)(long rows, long cols, float *y, long ldy, const int *seed,
                               long stream, long base, long rs, long cs)
{
    enum { RUN = 2 * CR_RANDOM_GROUP };
    struct CR_NAME(cr_stream) s = {(uint64_t)*seed, (uint64_t)stream, UINT64_MAX, {0}};
    float columns[CR_W * RUN];
    for (long r = 0; r < rows && cs == 1; r++) {
        CR_NAME(cr_random_run)(&s, (uint64_t)(base + r * rs), cols, y + r * ldy);
    }
    for (long c = 0; c < cols && cs != 1 && rs == 1; c += CR_W) {
        for (long r = 0; r < rows; r += RUN) {
            long m = CR_LEAST(rows - r, RUN), n = CR_LEAST(cols - c, CR_W);
            for (long i = 0; i < n; i++) {
                CR_NAME(cr_random_run)(&s, (uint64_t)(base + r + (c + i) * cs), m, columns + i * RUN);
            }
            CR_NAME(cr_transpose)(m, n, y + r * ldy + c, ldy, columns, RUN);
        }
    }
    for (long r = 0; r < rows && cs != 1 && rs != 1; r++) {
        for (long c = 0; c < cols; c++) {
            y[r * ldy + c] = cr_philox_uniform(s.seed, s.stream, (uint64_t)(base + r * rs + c * cs));
        }
    }
}
/*
 * i32.inc - the functions of i32.h for one instruction set.
 *
 * The vector type has unsigned words, for which + - * and unary minus wrap.  The CR_ functions of
 * the table are defined anew, for signed operands.  Comparisons return the floats 0 and 1.
 */
#undef VU
#undef u_load
#undef u_load_n
#undef u_load_or
#undef u_store
#undef u_store_n
#undef u_set1
#undef u_ramp
#undef u_select
#undef u_one_if
#undef u_one_unless
#undef u_signed
#undef CR_FLOAT
#undef CR_ABS
#undef CR_MAX
#undef CR_LT
#undef CR_LE
#undef CR_EQ
#undef CR_LOWEST

#if CR_W == 1

#define VU uint32_t
#define u_load(p) (*(const cr_word *)(p))
#define u_load_n(p, n) ((void)(n), u_load(p))
#define u_load_or(p, n, fill) ((void)(n), u_load(p))
#define u_store(p, x) ((void)(*(cr_word *)(p) = (x)))
#define u_store_n(p, x, n) ((void)(n), u_store(p, x))
#define u_set1(x) ((uint32_t)(x))
#define u_ramp() 0u
#define u_select(a, b, c) ((a) != 0.0f ? (b) : (c))

#define CR_FLOAT(a) ((float)(int32_t)(a))
#define CR_ABS(a) ((int32_t)(a) < 0 ? -(a) : (a))
#define CR_MAX(a, b) ((int32_t)(a) > (int32_t)(b) ? (a) : (b))
#define CR_LT(a, b) ((int32_t)(a) < (int32_t)(b) ? 1.0f : 0.0f)
#define CR_LE(a, b) ((int32_t)(a) <= (int32_t)(b) ? 1.0f : 0.0f)
#define CR_EQ(a, b) ((a) == (b) ? 1.0f : 0.0f)

#elif CR_W == 4

#define VU uint32x4_t
#define u_load(p) (*(const cr_words_4 *)(p))
#define u_load_n(p, n) u_load_or(p, n, vdupq_n_u32(0))
#define u_load_or(p, n, fill)                                                                      \
    vreinterpretq_u32_f32(v_load_or((const cr_float *)(p), n, vreinterpretq_f32_u32(fill)))
#define u_store(p, x) ((void)(*(cr_words_4 *)(p) = (x)))
#define u_store_n(p, x, n) v_store_n((cr_float *)(p), vreinterpretq_f32_u32(x), n)
#define u_set1(x) vdupq_n_u32((uint32_t)(x))
#define u_ramp() ((uint32x4_t){0, 1, 2, 3})
#define u_select(a, b, c) vbslq_u32(vceqzq_f32(a), c, b)

#define u_signed(a) vreinterpretq_s32_u32(a)
#define CR_FLOAT(a) vcvtq_f32_s32(u_signed(a))
#define CR_ABS(a) vreinterpretq_u32_s32(vabsq_s32(u_signed(a)))
#define CR_MAX(a, b) vreinterpretq_u32_s32(vmaxq_s32(u_signed(a), u_signed(b)))
#define CR_LT(a, b) v_one_if_neon(vcltq_s32(u_signed(a), u_signed(b)))
#define CR_LE(a, b) v_one_if_neon(vcleq_s32(u_signed(a), u_signed(b)))
#define CR_EQ(a, b) v_one_if_neon(vceqq_u32(a, b))

#elif CR_W == 8

typedef uint32_t cr_words_8 __attribute__((vector_size(32)));

#define VU cr_words_8
#define u_load(p) ((VU)_mm256_loadu_si256((const __m256i *)(p)))
#define u_load_n(p, n) ((VU)_mm256_maskload_epi32(p, v_first(n)))
#define u_load_or(p, n, fill)                                                                      \
    ((VU)_mm256_blendv_epi8((__m256i)(fill), (__m256i)u_load_n(p, n), v_first(n)))
#define u_store(p, x) _mm256_storeu_si256((__m256i *)(p), (__m256i)(x))
#define u_store_n(p, x, n) _mm256_maskstore_epi32(p, v_first(n), (__m256i)(x))
#define u_set1(x) ((VU)_mm256_set1_epi32((int)(x)))
#define u_ramp() ((VU)_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define u_select(a, b, c)                                                                          \
    ((VU)_mm256_castps_si256(CR_SELECT(a, _mm256_castsi256_ps((__m256i)(b)),                       \
                                       _mm256_castsi256_ps((__m256i)(c)))))
#define u_one_if(mask) _mm256_and_ps(_mm256_castsi256_ps(mask), CR_ONE)
#define u_one_unless(mask) _mm256_andnot_ps(_mm256_castsi256_ps(mask), CR_ONE)

#define CR_FLOAT(a) _mm256_cvtepi32_ps((__m256i)(a))
#define CR_ABS(a) ((VU)_mm256_abs_epi32((__m256i)(a)))
#define CR_MAX(a, b) ((VU)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define CR_LT(a, b) u_one_if(_mm256_cmpgt_epi32((__m256i)(b), (__m256i)(a)))
#define CR_LE(a, b) u_one_unless(_mm256_cmpgt_epi32((__m256i)(a), (__m256i)(b)))
#define CR_EQ(a, b) u_one_if(_mm256_cmpeq_epi32((__m256i)(a), (__m256i)(b)))

#else

typedef uint32_t cr_words_16 __attribute__((vector_size(64)));

#define VU cr_words_16
#define u_load(p) ((VU)_mm512_loadu_si512(p))
#define u_load_n(p, n) ((VU)_mm512_maskz_loadu_epi32(v_first(n), p))
#define u_load_or(p, n, fill) ((VU)_mm512_mask_loadu_epi32((__m512i)(fill), v_first(n), p))
#define u_store(p, x) _mm512_storeu_si512(p, (__m512i)(x))
#define u_store_n(p, x, n) _mm512_mask_storeu_epi32(p, v_first(n), (__m512i)(x))
#define u_set1(x) ((VU)_mm512_set1_epi32((int)(x)))
#define u_ramp() ((VU)_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#define u_select(a, b, c)                                                                          \
    ((VU)_mm512_castps_si512(CR_SELECT(a, _mm512_castsi512_ps((__m512i)(b)),                       \
                                       _mm512_castsi512_ps((__m512i)(c)))))
#define u_one_if(mask) _mm512_maskz_mov_ps(mask, CR_ONE)

#define CR_FLOAT(a) _mm512_cvtepi32_ps((__m512i)(a))
#define CR_ABS(a) ((VU)_mm512_abs_epi32((__m512i)(a)))
#define CR_MAX(a, b) ((VU)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define CR_LT(a, b) u_one_if(_mm512_cmplt_epi32_mask((__m512i)(a), (__m512i)(b)))
#define CR_LE(a, b) u_one_if(_mm512_cmple_epi32_mask((__m512i)(a), (__m512i)(b)))
#define CR_EQ(a, b) u_one_if(_mm512_cmpeq_epi32_mask((__m512i)(a), (__m512i)(b)))

#endif

/* ---- elementwise ops, see elementwise.inc ---- */

CR_INLINE VU CR_NAME(u_where)(VF a, VU b, VU c)
{
    return u_select(a, b, c);
}

#undef CR_SELECT
#define CR_SELECT(a, b, c) CR_NAME(u_where)(a, b, c)

#define CR_ELEMENT_i int
#define CR_VECTOR_i VU
#define CR_SET1_i(x) u_set1(x)
#define CR_GET_i(p) u_load(p)
#define CR_GET_N_i(p, n) u_load_n(p, n)
#define CR_PUT_i(p, x) u_store(p, x)
#define CR_PUT_N_i(p, x, n) u_store_n(p, x, n)

/* By an op's rule, the types of the result, of the first operand and of further operands: f for
 * floats, i for i32. */
#define CR_I32_ARITH(arity, name, e) CR_STRIPS_##arity(name, i, i, i, e)
#define CR_I32_COMPARE(arity, name, e) CR_STRIPS_##arity(name, f, i, i, e)
#define CR_I32_SELECT(arity, name, e) CR_STRIPS_##arity(name, i, f, i, e)
#define CR_I32_CONVERT(arity, name, e) CR_STRIPS_##arity(name, f, i, i, e)
#define CR_I32_FLOAT(arity, name, e)
#define CR_I32_STRIPS(name, arity, rule, expression, description)                                  \
    CR_I32_##rule(arity, i32_##name, expression)

CR_ELEMENTWISE(CR_I32_STRIPS)

/* ---- reductions: the order does not matter, as sums of integers are exact ---- */

#define CR_LOWEST INT32_MIN

/* Reductions over rows and down columns. */
#define CR_I32_REDUCTION(name, identity, combine)                                                  \
    CR_INLINE VU CR_NAME(u_combine_##name)(VU a, VU b)                                             \
    {                                                                                              \
        return (combine);                                                                          \
    }                                                                                              \
    static void CR_NAME(cr_i32_##name)(long rows, long cols, int *y, const int *a, long lda)       \
    {                                                                                              \
        for (long r = 0; r < rows; r++, a += lda) {                                                \
            int part[CR_W];                                                                        \
            VU all = u_set1(identity);                                                             \
            long i = 0;                                                                            \
            for (; i + CR_W <= cols; i += CR_W) {                                                  \
                all = CR_NAME(u_combine_##name)(all, u_load(a + i));                               \
            }                                                                                      \
            if (i < cols) {                                                                        \
                all =                                                                              \
                    CR_NAME(u_combine_##name)(all, u_load_or(a + i, cols - i, u_set1(identity)));  \
            }                                                                                      \
            u_store(part, all);                                                                    \
            for (int j = 1; j < CR_W; j++) {                                                       \
                all = CR_NAME(u_combine_##name)(all, u_set1(part[j])); /* only lane 0 \
                                                                          is used */         \
            }                                                                                      \
            u_store(part, all);                                                                    \
            y[r] = part[0];                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void CR_NAME(cr_i32_##name##_down)(long rows, long cols, int *lanes, const int *a,      \
                                              long lda)                                            \
    {                                                                                              \
        for (long r = 0; r < rows; r++, a += lda) {                                                \
            int *lane = lanes + r % CR_LANES * cols;                                               \
            long i = 0;                                                                            \
            for (; i + CR_W <= cols; i += CR_W) {                                                  \
                u_store(lane + i, CR_NAME(u_combine_##name)(u_load(lane + i), u_load(a + i)));     \
            }                                                                                      \
            if (i < cols) {                                                                        \
                VU x = u_load_n(a + i, cols - i);                                                  \
                u_store_n(lane + i, CR_NAME(u_combine_##name)(u_load_n(lane + i, cols - i), x),    \
                          cols - i);                                                               \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void CR_NAME(cr_i32_##name##_lanes)(long cols, int *lanes)                              \
    {                                                                                              \
        for (long half = CR_LANES / 2; half > 0; half /= 2) {                                      \
            CR_NAME(cr_i32_##name##_down)(half, cols, lanes, lanes + half * cols, cols);           \
        }                                                                                          \
    }

/* Defines a reduction if its rule allows i32, and nothing otherwise. */
#define CR_I32_REDUCE_ARITH(name, identity, combine) CR_I32_REDUCTION(name, identity, combine)
#define CR_I32_REDUCE_FLOAT(name, identity, combine)
#define CR_I32_REDUCE(name, rule, identity, combine, description)                                  \
    CR_I32_REDUCE_##rule(name, identity, combine)

CR_REDUCTIONS(CR_I32_REDUCE)

/* ---- movement: by the functions for floats, which copy all bits ---- */

static void CR_NAME(cr_i32_load)(long rows, long cols, int *y, long ldy, const int *x, long rs,
                                 long cs)
{
    CR_NAME(cr_load)(rows, cols, (float *)y, ldy, (const float *)x, rs, cs);
}

static void CR_NAME(cr_i32_store)(long rows, long cols, int *y, long rs, long cs, const int *x,
                                  long ldx)
{
    CR_NAME(cr_store)(rows, cols, (float *)y, rs, cs, (const float *)x, ldx);
}

static void CR_NAME(cr_i32_gather)(long rows, long cols, int *y, long ldy, const int *table,
                                   long ldt, long table_rows, const int *index)
{
    const int none = INT32_MIN;
    CR_NAME(v_gather)(rows, cols, (float *)y, ldy, (const float *)table, ldt, table_rows, index,
                      (const float *)&none);
}

/* Computes a vector of indices at a time, up to the last column. */
static void CR_NAME(cr_i32_iota)(long rows, long cols, int *y, long ldy, long base, long rs,
                                 long cs)
{
    const VU step = u_set1(cs * CR_W);
    for (long r = 0; r < rows; r++) {
        VU value = u_set1(base + r * rs) + u_ramp() * u_set1(cs);
        long i = 0;
        for (; i + CR_W <= cols; i += CR_W, value += step) {
            u_store(y + r * ldy + i, value);
        }
        if (i < cols) {
            u_store_n(y + r * ldy + i, value, cols - i);
        }
    }
}

/* ---- the table ---- */

static const struct cr_runtime_i32 CR_NAME(cr_runtime_i32) = {
#define CR_FUNCTION(name, result, parameters) .name = CR_NAME(cr_i32_##name),
    CR_MEMBERS_I32
#undef CR_FUNCTION
};

static const struct cr_runtime CR_NAME(cr_runtime) = {
    .isa = CR_ISA,
    .i32 = &CR_NAME(cr_runtime_i32),
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
#undef CR_TILES_3
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
#undef v_split
#undef v_fold
#undef v_lane0
#undef v_transpose
#undef CR_ONE
#undef CR_FLOAT
#undef CR_ABS
#undef CR_SQRT
#undef CR_EXP
#undef CR_LOG
#undef CR_SIGMOID
#undef CR_FMA
#undef CR_MAX
#undef CR_TOP
#undef CR_LOWEST
#undef CR_LT
#undef CR_LE
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
