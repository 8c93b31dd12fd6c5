
/*
 * k1_h_maximum: h.#.maximum, tests/golden/layers.lua:6
 * out[6, 16] = rows[6, 8] x columns[8, 16]
 * each row first: sum, div, sub, mul, sum, div, add, rsqrt, mul, fma
 * then: add, maximum
 * 1.536 kflop, reads 832 B, writes 384 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *h_in_bias; /* [16] */
    const float *x; /* [6, 8] */
    const float *h_norm_weight; /* [8] */
    const float *h_norm_bias; /* [8] */
    const float *h_in_weight; /* [8, 16], packed */
    float *out; /* [6, 16] */
};

static void k1_h_maximum(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const rows = scratch; /* rows of the left operand */
    /* [6], one number a row */
    float *const sum = scratch + 48, *const mean = sum, *const sum2 = sum, *const variance = sum,
        *const variance_eps = sum, *const rsqrt = sum;
    float *const centered = scratch + 64, *const normalized = centered; /* [6, 8] */
    float *const centered_square = scratch + 112; /* [6, 8] */
    /* h.#.norm */
    rt->sum(6, 8, sum, a->x, 8);
    rt->div_vs(1, 6, mean, 0, sum, 0, &(const float){8.0f}, 0);
    rt->sub_vs(6, 8, centered, 8, a->x, 8, mean, 1);
    rt->mul_vv(6, 8, centered_square, 8, centered, 8, centered, 8);
    rt->sum(6, 8, sum2, centered_square, 8);
    rt->div_vs(1, 6, variance, 0, sum2, 0, &(const float){8.0f}, 0);
    rt->add_vs(1, 6, variance_eps, 0, variance, 0, &(const float){1e-05f}, 0);
    rt->rsqrt_v(1, 6, rsqrt, 0, variance_eps, 0);
    rt->mul_vs(6, 8, normalized, 8, centered, 8, rsqrt, 1);
    rt->fma_vvv(6, 8, rows, 8, normalized, 8, a->h_norm_weight, 0, a->h_norm_bias, 0);
    rt->gemm(6, 16, 8, rows, 8, 1, a->h_in_weight, 256, a->out, 16, 0, 0, a->h_in_bias, 0, 16384);
    /* h.# */
    rt->maximum_vs(6, 16, a->out, 16, a->out, 16, &(const float){0.0f}, 0);
}

/*
 * k2_h: h.#, tests/golden/layers.lua:6
 * out[6, 8] = rows[6, 16] x columns[16, 8]
 * then: add, add
 * 1.536 kflop, reads 1.12 kB, writes 192 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *x; /* [6, 8] */
    const float *h_out_bias; /* [8] */
    const float *k1_h_maximum; /* [6, 16] */
    const float *h_out_weight; /* [16, 8], packed */
    float *out; /* [6, 8] */
};

static void k2_h(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    rt->gemm(6, 8, 16, a->k1_h_maximum, 16, 1, a->h_out_weight, 512, product, 32, 0, 0,
        a->h_out_bias, 0, 16384);
    /* h.# */
    rt->add_vv(6, 8, a->out, 8, a->x, 8, product, 32);
}

/* Computes the outputs. */
int layers_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 192; /* for each thread */
    float *const scratch = arena + 144;
    const float *const in_x = inputs[0]; /* x[6, 8] */
    float *const out_y = outputs[0]; /* y[6, 8] */
    for (long layer = 0; layer < 4; layer++) { /* h.# */
        const float *const layer_weights = weights + layer * 832;
        {
            const struct k1_args args = {
                .rt = rt,
                .h_in_bias = layer_weights, /* h.#.in.bias[16] */
                .x = layer == 0 ? in_x : arena + 96, /* x, then h.#[6, 8] */
                .h_norm_weight = layer_weights + 16, /* h.#.norm.weight[8] */
                .h_norm_bias = layer_weights + 32, /* h.#.norm.bias[8] */
                .h_in_weight = layer_weights + 48, /* h.#.in.weight[8, 16], packed */
                .out = arena, /* h.#.maximum[6, 16] */
            };
            rt->parallel(pool, 1, 1, k1_h_maximum, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .x = layer == 0 ? in_x : arena + 96, /* x, then h.#[6, 8] */
                .h_out_bias = layer_weights + 304, /* h.#.out.bias[8] */
                .k1_h_maximum = arena, /* h.#.maximum[6, 16] */
                .h_out_weight = layer_weights + 320, /* h.#.out.weight[16, 8], packed */
                .out = layer == 3 ? out_y : arena + 96, /* h.#[6, 8] */
            };
            rt->parallel(pool, 1, 1, k2_h, &args, scratch, scratch_floats);
        }
    }
    return 0;
}
