
/*
 * k1_dw: dw, tests/golden/weight_gradient.lua:4
 * out[70, 100] = rows[70, 1100] x columns[1100, 100]
 * reads x[1100, 70], dy[1100, 100]
 * 15.4 Mflop, reads 748 kB, writes 28 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x;
    const float *dy;
    float *out;
};

static void k1_dw(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 131072; /* rows of the left operand */
    for (long item = begin; item < end; item++) {
        const long i0 = 0;
        const long i1 = 70;
        const long j0 = 0;
        const long j1 = 100;
        for (long k0 = 0; k0 < 1100; k0 += 1024) {
            const long d = 1100 - k0 < 1024 ? 1100 - k0 : 1024;
            rt->load(i1 - i0, d, rows, 1040, a->x + k0 * 70 + i0, 1, 70);
            for (long j = j0; j < j1; j += 128) {
                const long n = j1 - j < 128 ? j1 - j : 128;
                rt->pack(d, n, panels, 32768, a->dy + k0 * 100 + j, 100, 1);
                for (long i = i0; i < i1; i += 24) {
                    const long m = i1 - i < 24 ? i1 - i : 24;
                    rt->gemm(m, n, d, rows + (i - i0) * 1040, 1040, 1, panels, 32768,
                        a->out + i * 100 + j, 100, k0 ? a->out + i * 100 + j : 0, 100, 0, 16384);
                }
            }
        }
    }
}

/*
 * k2_short: short, tests/golden/weight_gradient.lua:5
 * out[70, 100] = rows[70, 40] x columns[40, 100]
 * reads x[1100, 70], dy[1100, 100]
 * then: mul
 * 560 kflop, reads 748 kB, writes 28 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *x;
    const float *dy;
    float *out;
};

static void k2_short(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 5120; /* rows of the left operand */
    static const float c_0_5 = 0.5f;
    for (long item = begin; item < end; item++) {
        const long i0 = 0;
        const long i1 = 70;
        const long j0 = 0;
        const long j1 = 100;
        rt->load(i1 - i0, 40, rows, 40, a->x + i0, 1, 70);
        for (long j = j0; j < j1; j += 128) {
            const long n = j1 - j < 128 ? j1 - j : 128;
            rt->pack(40, n, panels, 1280, a->dy + j, 100, 1);
            for (long i = i0; i < i1; i += 24) {
                const long m = i1 - i < 24 ? i1 - i : 24;
                rt->gemm(m, n, 40, rows + (i - i0) * 40, 40, 1, panels, 1280, a->out + i * 100 + j,
                    100, 0, 0, 0, 16384);
                rt->mul_vs(m, n, a->out + i * 100 + j, 100, a->out + i * 100 + j, 100, &c_0_5, 0);
            }
        }
    }
}

/* Computes the outputs. */
int weight_gradient_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
    const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 203872; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in0 = inputs[0]; /* dy[1100, 100] */
    float *const out0 = outputs[0]; /* dw[70, 100] */
    float *const out1 = outputs[1]; /* short[70, 100] */
    (void)weights, (void)inputs;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = weights,
            .dy = in0,
            .out = out0,
        };
        rt->parallel(pool, 1, 1, k1_dw, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .x = weights,
            .dy = in0,
            .out = out1,
        };
        rt->parallel(pool, 1, 1, k2_short, &args, scratch, scratch_floats);
    }
    return 0;
}
