
/*
 * k1_y: y, tests/golden/length_rows.lua:4
 * out[512, 48] = rows[512, 64] x columns[64, 48]
 * each row first: tanh
 * 3.146 Mflop, reads 143.4 kB, writes 98.3 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [n, 64] */
    const float *w; /* [64, 48], packed */
    long n; /* n, at most 512 */
    float *out; /* [n, 48] */
};

static void k1_y(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const rows = scratch; /* rows of the left operand */
    for (long item = begin; item < end; item++) {
        const long blocks = (a->n + 127) / 128;
        const long even = (a->n + blocks - 1) / blocks;
        const long block = even < 128 ? even : 128;
        const long row0 = item * block;
        long row1 = row0 + block < a->n ? row0 + block : a->n;
        if (row1 < row0)
            row1 = row0;
        for (long row = row0; row < row1; row += 32) {
            const long m = row1 - row < 32 ? row1 - row : 32;
            rt->tanh_v(m, 64, rows + (row - row0) * 64, 64, a->x + row * 64, 64);
        }
        for (long row = row0; row < row1; row += 128) {
            const long m = row1 - row < 128 ? row1 - row : 128;
            rt->gemm(m, 48, 64, rows + (row - row0) * 64, 64, 1, a->w, 2048, a->out + row * 48, 48,
                0, 0, 0, 0, 16384);
        }
    }
}

/* Computes the outputs. */
int length_rows_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 8192; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[1]; /* x[n, 64] */
    float *const out_y = outputs[0]; /* y[n, 48] */
    const long length_n = *(const int *)inputs[0]; /* n */
    if (length_n < 1 || length_n > 512)
        return 1;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[n, 64] */
            .w = weights, /* w[64, 48], packed */
            .n = length_n,
            .out = out_y, /* y[n, 48] */
        };
        rt->parallel(pool, (args.n + 127) / 128, 4, k1_y, &args, scratch, scratch_floats);
    }
    return 0;
}
