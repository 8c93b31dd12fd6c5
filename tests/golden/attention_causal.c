
/*
 * k1_y: y, tests/golden/attention_causal.lua:4
 * out[2, 200, 8] = softmax(q[200, 8] x k[8, 200]) x v[200, 8] for each item of the batch
 * scores times 0.353553391, 1 / sqrt(8)
 * mask: query i sees keys j <= i
 * 1.286 Mflop, reads 38.4 kB, writes 12.8 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *q; /* [2, 200, 8] */
    const float *k; /* [2, 200, 8] */
    const float *v; /* [2, 200, 8] */
    float *out; /* [2, 200, 8] */
};

static void k1_y(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const values = scratch; /* packed values */
    float *const queries = scratch + 6400; /* packed queries of a step */
    float *const scores = scratch + 6656; /* a block of keys x queries */
    float *const sums = scratch + 10752; /* of exp(score - max) * value */
    float *const max = scratch + 11552; /* of a query's scores so far */
    float *const sum = scratch + 11584; /* of exp(score - max) so far */
    float *const scale = scratch + 11616; /* exp(old max - new max) */
    for (long item = begin; item < end; item++) {
        const long batch = item / 4;
        const long query0 = item % 4 * 50; /* the first of 50 queries */
        const long query1 = query0 + 50;
        /* 0 times NaN is NaN: hidden blocks are skipped only if all values are finite */
        const long finite = rt->finite(200, 8, a->v + batch * 1600, 8, 1);
        long visible = 200; /* keys that any query sees lie before */
        if (finite && query1 < visible)
            visible = query1;
        rt->pack(visible, 8, values, 6400, a->v + batch * 1600, 8, 1);
        for (long query = query0; query < query1; query += 25) {
            rt->load(1, 25, max, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
            rt->load(1, 25, sum, 0, &(const float){0.0f}, 0, 0);
            rt->load(25, 8, sums, 32, &(const float){0.0f}, 0, 0);
            long end_key = visible;
            if (finite && query + 25 < end_key)
                end_key = query + 25;
            rt->pack(8, 25, queries, 256, a->q + batch * 1600 + query * 8, 1, 8);
            for (long key = 0; key < end_key; key += 128) {
                const long n_keys = end_key - key < 128 ? end_key - key : 128;
                rt->gemm_band(n_keys, 25, 8, a->k + batch * 1600 + key * 8, 8, 1, queries, 256,
                    scores, 32, key - query, 25);
                if (key + n_keys > query + 1) /* some query does not see some key */
                    rt->hide(n_keys, 25, scores, 32, key - query, 25, CR_MINUS_INFINITY);
                rt->softmax_block(n_keys, 25, scores, 32, 0.35355338f, max, sum, scale);
                rt->gemm_scaled(25, 8, n_keys, scores, 1, 32, values + key * 32, 6400, sums, 32,
                    scale, -25, finite ? query - key + 1 : n_keys, 0, 0);
            }
            rt->div_vs(25, 8, a->out + batch * 1600 + query * 8, 8, sums, 32, sum, 1);
        }
    }
}

/* Computes the outputs. */
int attention_causal_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 11648; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_q = inputs[0]; /* q[2, 200, 8] */
    const float *const in_k = inputs[1]; /* k[2, 200, 8] */
    const float *const in_v = inputs[2]; /* v[2, 200, 8] */
    float *const out_y = outputs[0]; /* y[2, 200, 8] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .q = in_q, /* q[2, 200, 8] */
            .k = in_k, /* k[2, 200, 8] */
            .v = in_v, /* v[2, 200, 8] */
            .out = out_y, /* y[2, 200, 8] */
        };
        rt->parallel(pool, 8, 8, k1_y, &args, scratch, scratch_floats);
    }
    return 0;
}
