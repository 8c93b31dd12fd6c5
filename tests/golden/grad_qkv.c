
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
        const long row0 = item / 2 * 150; /* the first of 150 rows */
        const long col0 = item % 2 * 32; /* the first of at most 32 columns */
        const long col1 = col0 + 32 < 36 ? col0 + 32 : 36;
        const long n = col1 - col0;
        rt->gemm(150, n, 12, a->x + row0 * 12, 12, 1, a->qkv_weight + col0 * 12, 384,
            a->out + row0 * 36 + col0, 36, 0, 0, 0, 0, 16384);
    }
}

/*
 * k2_y: y, tests/golden/grad_qkv.lua:6
 * out[2, 150, 12] = softmax(q[150, 4] x k[4, 150]) x v[150, 4] for each head
 * scores times 0.5, 1 / sqrt(4)
 * mask: query i sees keys j <= i
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
    for (long item = begin; item < end; item++) {
        const long head = item / 2 % 3;
        const long batch = item / 6;
        const long query0 = item % 2 * 75; /* the first of 75 queries */
        const long query1 = query0 + 75;
        /* 0 times NaN is NaN: hidden blocks are skipped only if all values are finite */
        const long finite = rt->finite(150, 4, a->qkv + batch * 5400 + head * 4 + 24, 36, 1);
        long visible = 150; /* keys that any query sees lie before */
        if (finite && query1 < visible)
            visible = query1;
        rt->pack(visible, 4, values, 4800, a->qkv + batch * 5400 + head * 4 + 24, 36, 1);
        for (long query = query0; query < query1; query += 25) {
            rt->load(1, 25, max, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
            rt->load(1, 25, sum, 0, &(const float){0.0f}, 0, 0);
            rt->load(25, 4, sums, 32, &(const float){0.0f}, 0, 0);
            long end_key = visible;
            if (finite && query + 25 < end_key)
                end_key = query + 25;
            rt->pack(4, 25, queries, 128, a->qkv + batch * 5400 + head * 4 + query * 36, 1, 36);
            for (long key = 0; key < end_key; key += 128) {
                const long n_keys = end_key - key < 128 ? end_key - key : 128;
                rt->gemm_band(n_keys, 25, 4, a->qkv + batch * 5400 + head * 4 + key * 36 + 12, 36,
                    1, queries, 128, scores, 32, key - query, 25);
                if (key + n_keys > query + 1) /* some query does not see some key */
                    rt->hide(n_keys, 25, scores, 32, key - query, 25, CR_MINUS_INFINITY);
                rt->softmax_block(n_keys, 25, scores, 32, 0.5f, max, sum, scale);
                rt->gemm_scaled(25, 4, n_keys, scores, 1, 32, values + key * 32, 4800, sums, 32,
                    scale, -25, finite ? query - key + 1 : n_keys, 0, 0);
            }
            rt->div_vs(25, 4, a->out + batch * 1800 + head * 4 + query * 12, 12, sums, 32, sum, 1);
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
        const long row0 = item * 150; /* the first of 150 rows */
        rt->gemm(150, 12, 12, a->y + row0 * 12, 12, 1, a->out_weight, 384, a->out + row0 * 12, 12,
            0, 0, 0, 0, 16384);
    }
}

/*
 * k4_d_grad_qkv: gradient of grad_qkv, tests/golden/grad_qkv.lua:6
 * out[2, 3, 150, 1]
 * steps: mul, sum
 * 14.4 kflop, reads 28.8 kB, writes 3.6 kB
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *d_y; /* [2, 150, 12] */
    const float *y; /* [2, 150, 12] */
    float *out; /* [2, 3, 150, 1] */
};

static void k4_d_grad_qkv(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const mul = scratch; /* [150, 4] */
    float *const sum = scratch + 608; /* [150], one number a row */
    for (long item = begin; item < end; item++) {
        const long axis1 = item % 3;
        const long axis0 = item / 3;
        rt->mul_vv(150, 4, mul, 4, a->d_y + axis0 * 1800 + axis1 * 4, 12,
            a->y + axis0 * 1800 + axis1 * 4, 12);
        rt->sum(150, 4, sum, mul, 4);
        rt->store(1, 150, a->out + axis0 * 450 + axis1 * 150, 0, 1, sum, 0);
    }
}

/*
 * k5_d_qkv: gradient of qkv, tests/golden/grad_qkv.lua:6
 * out[2, 150, 36] = gradients of q[150, 4], k[150, 4] and v[150, 4] for each head
 * scores times 0.5, 1 / sqrt(4)
 * mask: query i sees keys j <= i
 * then: mul
 * 2.718 Mflop, reads 61.2 kB, writes 43.2 kB
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *qkv; /* [2, 150, 36] */
    const float *d_y; /* [2, 150, 12] */
    const float *k4_d_grad_qkv; /* [2, 3, 150, 1] */
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
    /* a block of keys x queries */
    float *const scores = scratch + 7104, *const probabilities = scores;
    float *const dscores = scratch + 11200; /* their gradients */
    float *const max = scratch + 15296, *const minus_max = max; /* of a query's scores */
    float *const sum = scratch + 15328, *const reciprocal = sum; /* of exp(score - max) */
    float *const scale = scratch + 15360; /* exp(old max - new max) */
    /* sum(output * its gradient) */
    float *const delta = scratch + 15392, *const minus_delta = delta;
    for (long item = begin; item < end; item++) {
        const long head = item % 3;
        const long batch = item / 3;
        rt->pack(150, 4, keys, 4800, a->qkv + batch * 5400 + head * 4 + 12, 36, 1);
        /* 0 times NaN is NaN: hidden blocks are skipped only if all values are finite */
        const long keys_finite = rt->finite(150, 4, a->qkv + batch * 5400 + head * 4 + 12, 36, 1);
        rt->load(150, 4, a->out + batch * 5400 + head * 4 + 12, 36, &(const float){0.0f}, 0, 0);
        rt->load(150, 4, a->out + batch * 5400 + head * 4 + 24, 36, &(const float){0.0f}, 0, 0);
        for (long query = 0; query < 150; query += 32) {
            const long n_queries = 150 - query < 32 ? 150 - query : 32;
            rt->load(1, n_queries, max, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
            rt->load(1, n_queries, sum, 0, &(const float){0.0f}, 0, 0);
            long end_key = 150;
            if (query + n_queries < end_key)
                end_key = query + n_queries;
            const long next_head = head + (head + 1 < 3); /* prefetched */
            rt->fetch(n_queries, 4, a->qkv + batch * 5400 + next_head * 4 + query * 36, 36);
            rt->fetch(n_queries, 4, a->d_y + batch * 1800 + next_head * 4 + query * 12, 12);
            rt->fetch(n_queries, 4, a->qkv + batch * 5400 + next_head * 4 + query * 36 + 12, 36);
            rt->fetch(n_queries, 4, a->qkv + batch * 5400 + next_head * 4 + query * 36 + 24, 36);
            rt->pack(4, n_queries, queries, 128, a->qkv + batch * 5400 + head * 4 + query * 36, 1,
                36);
            rt->pack(n_queries, 4, query_rows, 1024, a->qkv + batch * 5400 + head * 4 + query * 36,
                36, 1);
            rt->pack(4, n_queries, grads, 128, a->d_y + batch * 1800 + head * 4 + query * 12, 1,
                12);
            rt->pack(n_queries, 4, grad_rows, 1024, a->d_y + batch * 1800 + head * 4 + query * 12,
                12, 1);
            rt->load(1, n_queries, delta, 0, a->k4_d_grad_qkv + batch * 450 + head * 150 + query, 0,
                1);
            rt->neg_v(1, n_queries, minus_delta, 0, delta, 0);
            rt->load(n_queries, 4, a->out + batch * 5400 + head * 4 + query * 36, 36,
                &(const float){0.0f}, 0, 0);
            /* a maximum and a sum for each query */
            for (long key = 0; key < end_key; key += 128) {
                const long n_keys = end_key - key < 128 ? end_key - key : 128;
                rt->gemm_band(n_keys, n_queries, 4,
                    a->qkv + batch * 5400 + head * 4 + key * 36 + 12, 36, 1, queries, 128, scores,
                    32, key - query, n_queries);
                if (key + n_keys > query + 1) /* some query does not see some key */
                    rt->hide(n_keys, n_queries, scores, 32, key - query, n_queries,
                        CR_MINUS_INFINITY);
                rt->softmax_block(n_keys, n_queries, scores, 32, 0.5f, max, sum, scale);
            }
            rt->div_sv(1, n_queries, reciprocal, 0, &(const float){1.0f}, 0, sum, 0);
            rt->neg_v(1, n_queries, minus_max, 0, max, 0);
            const long finite = keys_finite && rt->finite(1, n_queries, minus_delta, 0, 1) &&
                rt->finite(1, n_queries, reciprocal, 0, 1);
            end_key = finite ? end_key : 150;
            /* probabilities, and what they hand back */
            for (long key = 0; key < end_key; key += 128) {
                const long n_keys = end_key - key < 128 ? end_key - key : 128;
                if (end_key > 128 || !finite) {
                    rt->gemm_band(n_keys, n_queries, 4,
                        a->qkv + batch * 5400 + head * 4 + key * 36 + 12, 36, 1, queries, 128,
                        scores, 32, key - query, n_queries);
                    if (key + n_keys > query + 1) /* some query does not see some key */
                        rt->hide(n_keys, n_queries, scores, 32, key - query, n_queries,
                            CR_MINUS_INFINITY);
                    rt->fma_svv(n_keys, n_queries, scores, 32, &(const float){0.5f}, 0, scores, 32,
                        minus_max, 0);
                    rt->exp_v(n_keys, n_queries, scores, 32, scores, 32);
                }
                rt->mul_vv(n_keys, n_queries, probabilities, 32, scores, 32, reciprocal, 0);
                rt->gemm(n_keys, n_queries, 4, a->qkv + batch * 5400 + head * 4 + key * 36 + 24, 36,
                    1, grads, 128, dscores, 32, 0, 0, minus_delta, 0, 0);
                rt->gemm(n_keys, 4, n_queries, probabilities, 32, 1, grad_rows, 1024,
                    a->out + batch * 5400 + head * 4 + key * 36 + 24, 36,
                    a->out + batch * 5400 + head * 4 + key * 36 + 24, 36, 0, 0, 0);
                rt->mul_vv(n_keys, n_queries, dscores, 32, dscores, 32, probabilities, 32);
                rt->mul_vs(n_keys, n_queries, dscores, 32, dscores, 32, &(const float){0.5f}, 0);
                if (key + n_keys > query + 1) /* some query does not see some key */
                    rt->hide(n_keys, n_queries, dscores, 32, key - query, n_queries, 0.0f);
                rt->gemm(n_keys, 4, n_queries, dscores, 32, 1, query_rows, 1024,
                    a->out + batch * 5400 + head * 4 + key * 36 + 12, 36,
                    a->out + batch * 5400 + head * 4 + key * 36 + 12, 36, 0, 0, 0);
                rt->gemm(n_queries, 4, n_keys, dscores, 1, 32, keys + key * 32, 4800,
                    a->out + batch * 5400 + head * 4 + query * 36, 36,
                    a->out + batch * 5400 + head * 4 + query * 36, 36, 0, 0, 0);
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
        const long row0 = item * 150; /* the first of 150 rows */
        rt->gemm(150, 12, 36, a->d_qkv + row0 * 36, 36, 1, a->qkv_weight, 1152, a->out + row0 * 12,
            12, 0, 0, 0, 0, 16384);
    }
}

/* Computes the outputs. */
int grad_qkv_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 15424; /* for each thread */
    float *const scratch = arena + 26112;
    const float *const in_x = inputs[0]; /* x[2, 150, 12] */
    const float *const in_g = inputs[1]; /* g[2, 150, 12] */
    float *const out_dx = outputs[0]; /* dx[2, 150, 12] */
    float *const out_y = outputs[1]; /* y[2, 150, 12] */
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 150, 12] */
            .qkv_weight = weights, /* qkv.weight[12, 36], packed */
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
            .out_weight = weights + 768, /* out.weight[12, 12], packed */
            .out = out_y, /* out[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k3_out, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .y = in_g, /* g[2, 150, 12] */
            .out_weight = weights + 1152, /* out.weight[12, 12], packed */
            .out = arena + 21600, /* gradient of y[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k3_out, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .d_y = arena + 21600, /* gradient of y[2, 150, 12] */
            .y = arena + 10800, /* y[2, 150, 12] */
            .out = arena + 25200, /* gradient of grad_qkv[2, 3, 150, 1] */
        };
        rt->parallel(pool, 6, 3, k4_d_grad_qkv, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .qkv = arena, /* qkv[2, 150, 36] */
            .d_y = arena + 21600, /* gradient of y[2, 150, 12] */
            .k4_d_grad_qkv = arena + 25200, /* gradient of grad_qkv[2, 3, 150, 1] */
            .out = arena + 10800, /* gradient of qkv[2, 150, 36] */
        };
        rt->parallel(pool, 6, 6, k5_d_qkv, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .d_qkv = arena + 10800, /* gradient of qkv[2, 150, 36] */
            .qkv_weight = weights + 1536, /* qkv.weight[36, 12], packed */
            .out = out_dx, /* gradient of x[2, 150, 12] */
        };
        rt->parallel(pool, 2, 2, k6_d_x, &args, scratch, scratch_floats);
    }
    return 0;
}
