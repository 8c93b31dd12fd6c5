
/*
 * k1_y: y, tests/golden/linear.lua:3
 * out[5, 4] = rows[5, 3] x columns[3, 4]
 * then: add, maximum
 * 120 flop, reads 124 B, writes 80 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *fc_bias; /* [4] */
    const float *x; /* [5, 3] */
    const float *fc_weight; /* [3, 4], packed */
    float *out; /* [5, 4] */
};

static void k1_y(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(5, 4, 3, a->x, 3, 1, a->fc_weight, 96, a->out, 4, 0, 0, a->fc_bias, 0, 16384);
    rt->maximum_vs(5, 4, a->out, 4, a->out, 4, &(const float){0.0f}, 0);
}

/* Computes the outputs. */
int linear_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 0; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[0]; /* x[5, 3] */
    float *const out_y = outputs[0]; /* y[5, 4] */
    {
        const struct k1_args args = {
            .rt = rt,
            .fc_bias = weights, /* fc.bias[4] */
            .x = in_x, /* x[5, 3] */
            .fc_weight = weights + 16, /* fc.weight[3, 4], packed */
            .out = out_y, /* y[5, 4] */
        };
        rt->parallel(pool, 1, 1, k1_y, &args, scratch, scratch_floats);
    }
    return 0;
}
