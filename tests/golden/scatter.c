
/*
 * k1_d_scatter: gradient of scatter, tests/golden/scatter.lua:4
 * out[2, 5, 6]
 * steps: mul, sigmoid, sub, mul, mul
 * 600 flop, reads 280 B, writes 240 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *wte; /* [11, 6] */
    const int *tokens; /* [2, 5] */
    float *out; /* [2, 5, 6] */
};

static void k1_d_scatter(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [10, 6] */
    float *const gathered = scratch, *const mul = gathered, *const sigmoid = gathered,
        *const mul2 = gathered;
    float *const sub = scratch + 64; /* [10, 6] */
    rt->gather(10, 6, gathered, 6, a->wte, 6, 11, a->tokens);
    rt->mul_sv(10, 6, mul, 6, &(const float){2.0f}, 0, gathered, 6);
    rt->sigmoid_v(10, 6, sigmoid, 6, mul, 6);
    rt->sub_sv(10, 6, sub, 6, &(const float){1.0f}, 0, sigmoid, 6);
    rt->mul_vv(10, 6, mul2, 6, sigmoid, 6, sub, 6);
    rt->mul_sv(10, 6, a->out, 6, &(const float){4.0f}, 0, mul2, 6);
}

/*
 * k2_d_wte: gradient of wte, tests/golden/scatter.lua:4
 * out[11, 6] = for each row the sum of the 10 rows[6] with its index
 * 60 flop, reads 280 B, writes 264 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_d_scatter; /* [2, 5, 6] */
    const int *tokens; /* [2, 5] */
    float *out; /* [11, 6] */
};

static void k2_d_wte(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row0 = item;
        rt->scatter_add(1, 6, a->out + row0 * 6, 6, row0, 10, a->k1_d_scatter, 6, a->tokens);
    }
}

/* Computes the outputs. */
int scatter_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 128; /* for each thread */
    float *const scratch = arena + 64;
    const int *const in_tokens = inputs[0]; /* tokens[2, 5] */
    float *const out_wte = outputs[0]; /* wte[11, 6] */
    {
        const struct k1_args args = {
            .rt = rt,
            .wte = weights, /* wte[11, 6] */
            .tokens = in_tokens, /* tokens[2, 5] */
            .out = arena, /* gradient of scatter[2, 5, 6] */
        };
        rt->parallel(pool, 1, 1, k1_d_scatter, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .k1_d_scatter = arena, /* gradient of scatter[2, 5, 6] */
            .tokens = in_tokens, /* tokens[2, 5] */
            .out = out_wte, /* gradient of wte[11, 6] */
        };
        rt->parallel(pool, 11, 1, k2_d_wte, &args, scratch, scratch_floats);
    }
    return 0;
}
