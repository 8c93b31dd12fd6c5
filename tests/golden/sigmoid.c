
/*
 * k1_both: both, tests/golden/sigmoid.lua:5
 * out[4, 8], gelu[4, 8], silu[4, 8]
 * steps: mul, fma, mul, sigmoid, mul, sigmoid, mul, tanh, mul, mul
 * numbers: 1.59576912 is 2 sqrt(2 / pi), 0.0713548163 is 2 * 0.044715 sqrt(2 / pi)
 * 448 flop, reads 128 B, writes 384 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [4, 8] */
    float *gelu; /* [4, 8] */
    float *silu; /* [4, 8] */
    float *out; /* [4, 8] */
};

static void k1_both(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const odd_cubic = scratch, *const tanh = odd_cubic, *const mul = odd_cubic; /* [4, 8] */
    rt->odd_cubic(4, 8, odd_cubic, 8, a->x, 8, 0.071354814f, 1.5957692f);
    rt->mul_sigmoid(4, 8, a->gelu, 8, a->x, 8, odd_cubic, 8);
    rt->mul_sigmoid(4, 8, a->silu, 8, a->x, 8, a->x, 8);
    rt->tanh_v(4, 8, tanh, 8, a->x, 8);
    rt->mul_sv(4, 8, mul, 8, &(const float){0.5f}, 0, tanh, 8);
    rt->mul_vv(4, 8, a->out, 8, a->x, 8, mul, 8);
}

/* Computes the outputs. */
int sigmoid_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 32; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[0]; /* x[4, 8] */
    float *const out_both = outputs[0]; /* both[4, 8] */
    float *const out_gelu = outputs[1]; /* gelu[4, 8] */
    float *const out_silu = outputs[2]; /* silu[4, 8] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[4, 8] */
            .gelu = out_gelu, /* gelu[4, 8] */
            .silu = out_silu, /* silu[4, 8] */
            .out = out_both, /* both[4, 8] */
        };
        rt->parallel(pool, 1, 1, k1_both, &args, scratch, scratch_floats);
    }
    return 0;
}
