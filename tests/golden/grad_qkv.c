
/*
 * k1_qkv: qkv, tests/golden/grad_qkv.lua:6
 * out[2, 150, 36] = rows[300, 12] x columns[12, 36]
 * 259.2 kflop, reads 16.13 kB, writes 43.2 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 150, 12] */
    const float *qkv_weight; /* [12, 36], packed */
    float *out; /* [2, 150, 36] */
};

static void k1_qkv(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long i0 = item / 2 * 150;
        const long i1 = i0 + 150;
        const long j0 = item % 2 * 32;
        const long j1 = j0 + 32 < 36 ? j0 + 32 : 36;
        const long n = j1 - j0;
        for (long i = i0; i < i1; i += 24) {
            const long m = i1 - i < 24 ? i1 - i : 24;
            rt->gemm(m, n, 12, a->x + i * 12, 12, 1, a->qkv_weight + j0 * 12, 384,
                a->out + i * 36 + j0, 36, 0, 0, 0, 16384);
        }
    }
}

/*
 * k2_y: y, tests/golden/grad_qkv.lua:6
 * out[2, 150, 12] = softmax(q[150, 4] x k[4, 150]) x v[150, 4] for each head
 * scores times 0.5
 * mask: query i sees keys <= i +0
 * 1.087 Mflop, reads 43.2 kB, writes 14.4 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *qkv; /* [2, 150, 36] */
    float *out; /* [2, 150, 12] */
};

static void k2_y(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const values = scratch; /* packed values */
    float *const queries = scratch + 4800; /* packed queries of a step */
    float *const scores = scratch + 4928; /* a block of keys x queries */
    float *const sums = scratch + 9024; /* of exp(score - max) * value */
    float *const max = scratch + 9824; /* of a query's scores so far */
    float *const sum = scratch + 9856; /* of exp(score - max) so far */
    float *const scale = scratch + 9888; /* exp(old max - new max) */
    static const float c_0 = 0.0f;
    static const float c_MINUS_INFINITY = CR_MINUS_INFINITY;
    static const float c_0_5 = 0.5f;
    for (long item = begin; item < end; item++) {
        const long o1 = item / 2 % 3;
        const long o0 = item / 6;
        const long i0 = item % 2 * 75;
        const long i1 = i0 + 75;
        /* 0 times NaN is NaN: hidden blocks are skipped if there is none */
        const long finite = rt->finite(150, 4, a->qkv + o0 * 5400 + o1 * 4 + 24, 36, 1);
        long visible = 150; /* keys that any query sees lie before */
        if (finite && i1 < visible)
            visible = i1;
        if (visible < 0)
            visible = 0;
        rt->pack(visible, 4, values, 4800, a->qkv + o0 * 5400 + o1 * 4 + 24, 36, 1);
        for (long i = i0; i < i1; i += 25) {
            rt->load(1, 25, max, 0, &c_MINUS_INFINITY, 0, 0);
            rt->load(1, 25, sum, 0, &c_0, 0, 0);
            rt->load(25, 4, sums, 32, &c_0, 0, 0);
            long last = visible;
            if (finite && i + 25 < last)
                last = i + 25;
            rt->pack(4, 25, queries, 128, a->qkv + o0 * 5400 + o1 * 4 + i * 36, 1, 36);
            for (long j = 0; j < last; j += 128) {
                const long n = last - j < 128 ? last - j : 128;
                rt->gemm_band(n, 25, 4, a->qkv + o0 * 5400 + o1 * 4 + j * 36 + 12, 36, 1, queries,
                    128, scores, 32, j - i, 25);
                if (j + n > i + 1) /* some query does not see some key */
                    rt->hide(n, 25, scores, 32, j - i, 25, c_MINUS_INFINITY);
                rt->softmax_block(n, 25, scores, 32, c_0_5, max, sum, scale);
                rt->gemm_scaled(25, 4, n, scores, 1, 32, values + j * 32, 4800, sums, 32, scale,
                    -25, finite ? i - j + 1 : n, 0, 0);
            }
            rt->div_vs(25, 4, a->out + o0 * 1800 + o1 * 4 + i * 12, 12, sums, 32, sum, 1);
        }
    }
}

/*
 * k3_out: out, tests/golden/grad_qkv.lua:6
 * out[2, 150, 12] = rows[300, 12] x columns[12, 12]
 * 86.4 kflop, reads 14.98 kB, writes 14.4 kB
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *y; /* [2, 150, 12] */
    const float *out_weight; /* [12, 12], packed */
    float *out; /* [2, 150, 12] */
};

static void k3_out(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long i0 = item * 150;
        const long i1 = i0 + 150;
        for (long i = i0; i < i1; i += 24) {
            const long m = i1 - i < 24 ? i1 - i : 24;
            rt->gemm(m, 12, 12, a->y + i * 12, 12, 1, a->out_weight, 384, a->out + i * 12, 12, 0, 0,
                0, 16384);
        }
    }
}

/*
 * k4_grad_qkv: grad_qkv, tests/golden/grad_qkv.lua:6
 * out[2, 3, 150, 1]
 * steps: mul, sum
 * 3.6 kflop, reads 28.8 kB, writes 3.6 kB
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *d_y; /* [2, 150, 12] */
    const float *y; /* [2, 150, 12] */
    float *out; /* [2, 3, 150, 1] */
};

static void k4_grad_qkv(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const t0 = scratch; /* 150 x 4 */
    float *const r1 = scratch + 608; /* one number a row, 150 */
    for (long item = begin; item < end; item++) {
        const long o1 = item % 3;
        const long o0 = item / 3;
        rt->mul_vv(150, 4, t0, 4, a->d_y + o0 * 1800 + o1 * 4, 12, a->y + o0 * 1800 + o1 * 4, 12);
        rt->sum(150, 4, r1, t0, 4);
        rt->store(1, 150, a->out + o0 * 450 + o1 * 150, 0, 1, r1, 0);
    }
}

/*
 * k5_d_qkv: gradient of qkv, tests/golden/grad_qkv.lua:6
 * out[2, 150, 36] = gradients of q[150, 4], k[150, 4] and v[150, 4] for each head
 * scores times 0.5
 * mask: query i sees keys <= i +0
 * then: mul
 * 2.718 Mflop, reads 61.2 kB, writes 43.2 kB
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *qkv; /* [2, 150, 36] */
    const float *d_y; /* [2, 150, 12] */
    const float *k4_grad_qkv; /* [2, 3, 150, 1] */
    float *out; /* [2, 150, 36] */
};

static void k5_d_qkv(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const keys = scratch; /* packed keys */
    float *const queries = scratch + 4800; /* packed queries of a step, transposed ... */
    float *const query_rows = scratch + 4928; /* ... and as they are */
    float *const grads = scratch + 5952; /* their output's gradients, transposed ... */
    float *const grad_rows = scratch + 6080; /* ... and as they are */
    float *const scores = scratch + 7104; /* then probabilities: a block of keys x queries */
    float *const dscores = scratch + 11200; /* their gradients */
    float *const max = scratch + 15296; /* of a query's scores; then minus that */
    float *const sum = scratch + 15328; /* of exp(score - max); then its reciprocal */
    float *const scale = scratch + 15360; /* exp(old max - new max) */
    float *const delta = scratch + 15392; /* minus sum(output * its gradient) */
    static const float c_0 = 0.0f;
    static const float c_MINUS_INFINITY = CR_MINUS_INFINITY;
    static const float c_0_5 = 0.5f;
    static const float c_1 = 1.0f;
    for (long item = begin; item < end; item++) {
        const long o1 = item % 3;
        const long o0 = item / 3;
        rt->pack(150, 4, keys, 4800, a->qkv + o0 * 5400 + o1 * 4 + 12, 36, 1);
        /* 0 times NaN is NaN: hidden blocks are skipped if there is none */
        const long keys_finite = rt->finite(150, 4, a->qkv + o0 * 5400 + o1 * 4 + 12, 36, 1);
        rt->load(150, 4, a->out + o0 * 5400 + o1 * 4 + 12, 36, &c_0, 0, 0);
        rt->load(150, 4, a->out + o0 * 5400 + o1 * 4 + 24, 36, &c_0, 0, 0);
        for (long i = 0; i < 150; i += 32) {
            const long m = 150 - i < 32 ? 150 - i : 32;
            rt->load(1, m, max, 0, &c_MINUS_INFINITY, 0, 0);
            rt->load(1, m, sum, 0, &c_0, 0, 0);
            long last = 150;
            if (i + m < last)
                last = i + m;
            const long next = o1 < 2; /* is there another head? */
            rt->fetch(m, 4, a->qkv + o0 * 5400 + o1 * 4 + i * 36 + next * 4, 36);
            rt->fetch(m, 4, a->d_y + o0 * 1800 + o1 * 4 + i * 12 + next * 4, 12);
            rt->fetch(m, 4, a->qkv + o0 * 5400 + o1 * 4 + i * 36 + next * 4 + 12, 36);
            rt->fetch(m, 4, a->qkv + o0 * 5400 + o1 * 4 + i * 36 + next * 4 + 24, 36);
            rt->pack(4, m, queries, 128, a->qkv + o0 * 5400 + o1 * 4 + i * 36, 1, 36);
            rt->pack(m, 4, query_rows, 1024, a->qkv + o0 * 5400 + o1 * 4 + i * 36, 36, 1);
            rt->pack(4, m, grads, 128, a->d_y + o0 * 1800 + o1 * 4 + i * 12, 1, 12);
            rt->pack(m, 4, grad_rows, 1024, a->d_y + o0 * 1800 + o1 * 4 + i * 12, 12, 1);
            rt->load(1, m, delta, 0, a->k4_grad_qkv + o0 * 450 + o1 * 150 + i, 0, 1);
            rt->neg_v(1, m, delta, 0, delta, 0);
            rt->load(m, 4, a->out + o0 * 5400 + o1 * 4 + i * 36, 36, &c_0, 0, 0);
            /* a maximum and a sum for each query */
            for (long j = 0; j < last; j += 128) {
                const long n = last - j < 128 ? last - j : 128;
                rt->gemm_band(n, m, 4, a->qkv + o0 * 5400 + o1 * 4 + j * 36 + 12, 36, 1, queries,
                    128, scores, 32, j - i, m);
                if (j + n > i + 1) /* some query does not see some key */
                    rt->hide(n, m, scores, 32, j - i, m, c_MINUS_INFINITY);
                rt->softmax_block(n, m, scores, 32, c_0_5, max, sum, scale);
            }
            rt->div_sv(1, m, sum, 0, &c_1, 0, sum, 0);
            rt->neg_v(1, m, max, 0, max, 0);
            const long finite = keys_finite && rt->finite(1, m, delta, 0, 1) && rt->finite(1, m,
                sum, 0, 1);
            last = finite ? last : 150;
            /* probabilities, and what they hand back */
            for (long j = 0; j < last; j += 128) {
                const long n = last - j < 128 ? last - j : 128;
                if (last > 128 || !finite) {
                    rt->gemm_band(n, m, 4, a->qkv + o0 * 5400 + o1 * 4 + j * 36 + 12, 36, 1,
                        queries, 128, scores, 32, j - i, m);
                    if (j + n > i + 1) /* some query does not see some key */
                        rt->hide(n, m, scores, 32, j - i, m, c_MINUS_INFINITY);
                    rt->fma_svv(n, m, scores, 32, &c_0_5, 0, scores, 32, max, 0);
                    rt->exp_v(n, m, scores, 32, scores, 32);
                }
                rt->mul_vv(n, m, scores, 32, scores, 32, sum, 0);
                rt->gemm(n, m, 4, a->qkv + o0 * 5400 + o1 * 4 + j * 36 + 24, 36, 1, grads, 128,
                    dscores, 32, delta, 0, 0, 0);
                rt->gemm(n, 4, m, scores, 32, 1, grad_rows, 1024,
                    a->out + o0 * 5400 + o1 * 4 + j * 36 + 24, 36,
                    a->out + o0 * 5400 + o1 * 4 + j * 36 + 24, 36, 0, 0);
                rt->mul_vv(n, m, dscores, 32, dscores, 32, scores, 32);
                rt->mul_vs(n, m, dscores, 32, dscores, 32, &c_0_5, 0);
                if (j + n > i + 1) /* some query does not see some key */
                    rt->hide(n, m, dscores, 32, j - i, m, c_0);
                rt->gemm(n, 4, m, dscores, 32, 1, query_rows, 1024,
                    a->out + o0 * 5400 + o1 * 4 + j * 36 + 12, 36,
                    a->out + o0 * 5400 + o1 * 4 + j * 36 + 12, 36, 0, 0);
                rt->gemm(m, 4, n, dscores, 1, 32, keys + j * 32, 4800,
                    a->out + o0 * 5400 + o1 * 4 + i * 36, 36, a->out + o0 * 5400 + o1 * 4 + i * 36,
                    36, 0, 0);
            }
        }
    }
}

/*
 * k6_d_x: gradient of x, tests/golden/grad_qkv.lua:6
 * out[2, 150, 12] = rows[300, 36] x columns[36, 12]
 * 259.2 kflop, reads 44.93 kB, writes 14.4 kB
 */
struct k6_args {
    const struct cr_runtime *rt;
    const float *d_qkv; /* [2, 150, 36] */
    const float *qkv_weight; /* [36, 12], packed */
    float *out; /* [2, 150, 12] */
};

static void k6_d_x(const void *args, long begin, long end, float *scratch)
{
    const struct k6_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long i0 = item * 150;
        const long i1 = i0 + 150;
        for (long i = i0; i < i1; i += 24) {
            const long m = i1 - i < 24 ? i1 - i : 24;
            rt->gemm(m, 12, 36, a->d_qkv + i * 36, 36, 1, a->qkv_weight, 1152, a->out + i * 12, 12,
                0, 0, 0, 16384);
        }
    }
}

/* Computes the outputs. */
int grad_qkv_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
    const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 15424; /* for each thread */
    float *const scratch = arena + 26112;
    const float *const in0 = inputs[0]; /* x[2, 150, 12] */
    const float *const in1 = inputs[1]; /* g[2, 150, 12] */
    float *const out0 = outputs[0]; /* dx[2, 150, 12] */
    float *const out1 = outputs[1]; /* y[2, 150, 12] */
    (void)weights, (void)inputs;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in0, /* x[2, 150, 12] */
            .qkv_weight = weights, /* qkv.weight[12, 64] */
            .out = arena, /* qkv[2, 150, 36] */
        };
        rt->parallel(pool, 4, 4, k1_qkv, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .qkv = arena, /* qkv[2, 150, 36] */
            .out = arena + 10800, /* y[2, 150, 12] */
        };
        rt->parallel(pool, 12, 12, k2_y, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .y = arena + 10800, /* y[2, 150, 12] */
            .out_weight = weights + 768, /* out.weight[12, 32] */
            .out = out1, /* out[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k3_out, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .y = in1, /* g[2, 150, 12] */
            .out_weight = weights + 1152, /* out.weight[12, 32] */
            .out = arena + 21600, /* gradient of y[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k3_out, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .d_y = arena + 21600, /* gradient of y[2, 150, 12] */
            .y = arena + 10800, /* y[2, 150, 12] */
            .out = arena + 25200, /* grad_qkv[2, 3, 150, 1] */
        };
        rt->parallel(pool, 6, 3, k4_grad_qkv, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .qkv = arena, /* qkv[2, 150, 36] */
            .d_y = arena + 21600, /* gradient of y[2, 150, 12] */
            .k4_grad_qkv = arena + 25200, /* grad_qkv[2, 3, 150, 1] */
            .out = arena + 10800, /* gradient of qkv[2, 150, 36] */
        };
        rt->parallel(pool, 6, 6, k5_d_qkv, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .d_qkv = arena + 10800, /* gradient of qkv[2, 150, 36] */
            .qkv_weight = weights + 1536, /* qkv.weight[36, 32] */
            .out = out0, /* gradient of x[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k6_d_x, &args, scratch, scratch_floats);
    }
    return 0;
}
