
/*
 * k1_dw: dw, tests/golden/weight_gradient.lua:4
 * out[70, 100] = rows[70, 1100] x columns[1100, 100]
 * 15.4 Mflop, reads 748 kB, writes 28 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [1100, 70] */
    const float *dy; /* [1100, 100] */
    float *out; /* [70, 100] */
};

static void k1_dw(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 131072; /* rows of the left operand */
    for (long k0 = 0; k0 < 1100; k0 += 1024) {
        const long depth = 1100 - k0 < 1024 ? 1100 - k0 : 1024;
        rt->load(70, depth, rows, 1040, a->x + k0 * 70, 1, 70);
        rt->pack(depth, 100, panels, 32768, a->dy + k0 * 100, 100, 1);
        rt->gemm(70, 100, depth, rows, 1040, 1, panels, 32768, a->out, 100, k0 ? a->out : 0, 100, 0,
            0, 16384);
    }
}

/*
 * k2_short: short, tests/golden/weight_gradient.lua:5
 * out[70, 100] = rows[70, 40] x columns[40, 100]
 * then: mul
 * 560 kflop, reads 748 kB, writes 28 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *x; /* [1100, 70] */
    const float *dy; /* [1100, 100] */
    float *out; /* [70, 100] */
};

static void k2_short(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 5120; /* rows of the left operand */
    rt->load(70, 40, rows, 40, a->x, 1, 70);
    rt->pack(40, 100, panels, 1280, a->dy, 100, 1);
    rt->gemm(70, 100, 40, rows, 40, 1, panels, 1280, a->out, 100, 0, 0, 0, 0, 16384);
    rt->mul_vs(70, 100, a->out, 100, a->out, 100, &(const float){0.5f}, 0);
}

/* Computes the outputs. */
int weight_gradient_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 203872; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_dy = inputs[0]; /* dy[1100, 100] */
    float *const out_dw = outputs[0]; /* dw[70, 100] */
    float *const out_short = outputs[1]; /* short[70, 100] */
    {
        const struct k1_args args = {
            .rt = rt,
            .x = weights, /* x[1100, 70] */
            .dy = in_dy, /* dy[1100, 100] */
            .out = out_dw, /* dw[70, 100] */
        };
        rt->parallel(pool, 1, 1, k1_dw, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .x = weights, /* x[1100, 70] */
            .dy = in_dy, /* dy[1100, 100] */
            .out = out_short, /* short[70, 100] */
        };
        rt->parallel(pool, 1, 1, k2_short, &args, scratch, scratch_floats);
    }
    return 0;
}
