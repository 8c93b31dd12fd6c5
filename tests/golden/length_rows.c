
/*
 * k1_y: y, tests/golden/length_rows.lua:4
 * out[512, 48] = rows[512, 64] x columns[64, 48]
 * each row first: tanh
 * 3.146 Mflop, reads 143.4 kB, writes 98.3 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [n, 64] */
    const float *v1_w; /* [64, 48], packed */
    long length0; /* n, at most 512 */
    float *out; /* [n, 48] */
};

static void k1_y(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const rows = scratch; /* rows of the left operand */
    for (long item = begin; item < end; item++) {
        const long blocks = (a->length0 + 255) / 256;
        const long even = (a->length0 + blocks - 1) / blocks;
        const long block = even < 256 ? even : 256;
        const long i0 = item * block;
        long i1 = i0 + block < a->length0 ? i0 + block : a->length0;
        if (i1 < i0)
            i1 = i0;
        for (long i = i0; i < i1; i += 32) {
            const long m = i1 - i < 32 ? i1 - i : 32;
            rt->tanh_v(m, 64, rows + (i - i0) * 64, 64, a->x + i * 64, 64);
        }
        for (long i = i0; i < i1; i += 24) {
            const long m = i1 - i < 24 ? i1 - i : 24;
            rt->gemm(m, 48, 64, rows + (i - i0) * 64, 64, 1, a->v1_w, 2048, a->out + i * 48, 48, 0,
                0, 0, 16384);
        }
    }
}

/* Computes the outputs. */
int length_rows_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
    const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 16384; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in1 = inputs[1]; /* x[512, 64] */
    float *const out0 = outputs[0]; /* y[512, 48] */
    const long length0 = *(const int *)inputs[0]; /* n */
    if (length0 < 1 || length0 > 512)
        return 1;
    (void)weights, (void)inputs;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in1, /* x[512, 64] */
            .v1_w = weights, /* w[64, 64] */
            .length0 = length0,
            .out = out0, /* y[512, 48] */
        };
        rt->parallel(pool, (args.length0 + 255) / 256, 2, k1_y, &args, scratch, scratch_floats);
    }
    return 0;
}
