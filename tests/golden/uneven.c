
/*
 * k1_uneven: uneven, tests/golden/uneven.lua:4
 * out[3, 8] = rows[3, 8] x columns[8, 8]
 * then: add, tanh, add
 * 384 flop, reads 384 B, writes 96 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [3, 8] */
    const float *b; /* [8] */
    const float *w; /* [8, 8], packed */
    float *out; /* [3, 8] */
};

static void k1_uneven(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const tanh = scratch + 96; /* [3, 32] */
    rt->gemm(3, 8, 8, a->x, 8, 1, a->w, 256, product, 32, 0, 0, a->b, 0, 16384);
    rt->tanh_v(3, 8, tanh, 32, product, 32);
    rt->add_vv(3, 8, a->out, 8, a->x, 8, tanh, 32);
}

/*
 * k2_b: b, tests/golden/uneven.lua:6
 * out[8]
 * steps: mul
 * 24 flop, reads 32 B, writes 32 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *b; /* [8] */
    float *out; /* [8] */
};

static void k2_b(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->mul_vs(1, 8, a->out, 0, a->b, 0, &(const float){2.0f}, 0);
}

/* Computes the outputs. */
int uneven_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 192; /* for each thread */
    float *const scratch = arena + 64;
    const float *const in_x = inputs[0]; /* x[3, 8] */
    float *const out_b = outputs[0]; /* b[8] */
    float *const out_y = outputs[1]; /* y[3, 8] */
    for (long layer = 0; layer < 4; layer++) {
        {
            const struct k1_args args = {
                .rt = rt,
                .x = layer == 0 ? in_x : arena + (layer % 2 ? 0 : 32), /* x, then uneven[3, 8] */
                .b = weights + (const long[]){16, 288, 0, 816}[layer], /* b.#[8] */
                .w = weights + (const long[]){32, 304, 560, 832}[layer], /* w.#[8, 8], packed */
                .out = layer == 3 ? out_y : arena + (layer % 2 ? 32 : 0), /* uneven[3, 8] */
            };
            rt->parallel(pool, 1, 1, k1_uneven, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .b = weights, /* b.#[8] */
            .out = out_b, /* b[8] */
        };
        rt->parallel(pool, 1, 1, k2_b, &args, scratch, scratch_floats);
    }
    return 0;
}
