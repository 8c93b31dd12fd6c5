
/*
 * k1_dw: dw, tests/golden/large_gradient.lua:4
 * out[1024, 512] = rows[1024, 2] x columns[2, 512]
 * 2.097 Mflop, reads 12.29 kB, writes 2.097 MB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 1024] */
    const float *dy; /* [2, 512] */
    float *out; /* [1024, 512] */
};

static void k1_dw(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 256; /* rows of the left operand */
    for (long item = begin; item < end; item++) {
        const long row0 = item / 2 * 512; /* the first of 512 rows */
        const long row1 = row0 + 512;
        const long col0 = item % 2 * 256; /* the first of 256 columns */
        const long col1 = col0 + 256;
        if (item == begin || col0 == 0)
            rt->load(512, 2, rows, 2, a->x + row0, 1, 1024);
        for (long col = col0; col < col1; col += 128) {
            rt->pack(2, 128, panels, 64, a->dy + col, 512, 1);
            for (long row = row0; row < row1; row += 256) {
                rt->gemm_stream(256, 128, 2, rows + (row - row0) * 2, 2, 1, panels, 64,
                    a->out + row * 512 + col, 512, 0, 16384);
            }
        }
    }
    rt->stream_end();
}

/* Computes the outputs. */
int large_gradient_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 1280; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[0]; /* x[2, 1024] */
    const float *const in_dy = inputs[1]; /* dy[2, 512] */
    float *const out_dw = outputs[0]; /* dw[1024, 512] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 1024] */
            .dy = in_dy, /* dy[2, 512] */
            .out = out_dw, /* dw[1024, 512] */
        };
        rt->parallel(pool, 4, 4, k1_dw, &args, scratch, scratch_floats);
    }
    return 0;
}
