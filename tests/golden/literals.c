
/*
 * k1_h_1: h_1, tests/golden/literals.lua:12
 * out[4, 3] = rows[4, 3] x columns[3, 3]
 * each row first: mul, mul
 * then: mul
 * 72 flop, reads 136 B, writes 48 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *literal; /* [3] */
    const float *x; /* [4, 3] */
    const float *v2_literal; /* [2, 3] */
    const int *v3_literal; /* [4] */
    const float *h_w; /* [3, 3], packed */
    float *out; /* [4, 3] */
};

static void k1_h_1(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const rows = scratch; /* rows of the left operand */
    float *const gathered = scratch + 16, *const mul = gathered; /* [4, 3] */
    rt->gather(4, 3, gathered, 3, a->v2_literal, 3, 2, a->v3_literal);
    rt->mul_vv(4, 3, mul, 3, a->x, 3, gathered, 3);
    rt->mul_vs(4, 3, rows, 3, mul, 3, &(const float){2.0f}, 0);
    rt->gemm(4, 3, 3, rows, 3, 1, a->h_w, 96, a->out, 3, 0, 0, 0, 0, 16384);
    /* h.# */
    rt->mul_vv(4, 3, a->out, 3, a->out, 3, a->literal, 0);
}

/*
 * k2_h: h.#, tests/golden/literals.lua:12
 * out[4, 3] = rows[4, 3] x columns[3, 3]
 * then: mul
 * 72 flop, reads 96 B, writes 48 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *literal; /* [3] */
    const float *h; /* [4, 3] */
    const float *h_w; /* [3, 3], packed */
    float *out; /* [4, 3] */
};

static void k2_h(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(4, 3, 3, a->h, 3, 1, a->h_w, 96, a->out, 3, 0, 0, 0, 0, 16384);
    /* h.# */
    rt->mul_vv(4, 3, a->out, 3, a->out, 3, a->literal, 0);
}

/*
 * k3_y: y, tests/golden/literals.lua:15
 * out[4, 3] = rows[4, 3] x columns[3, 3]
 * then: mul, where
 * 72 flop, reads 120 B, writes 48 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *literal; /* [3] */
    const float *v1_literal; /* [3] */
    const float *v2_literal; /* [3] */
    const float *h; /* [4, 3] */
    const float *h_w; /* [3, 3], packed */
    float *out; /* [4, 3] */
};

static void k3_y(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const mul = scratch + 128; /* [4, 32] */
    rt->gemm(4, 3, 3, a->h, 3, 1, a->h_w, 96, product, 32, 0, 0, 0, 0, 16384);
    /* h.# */
    rt->mul_vv(4, 3, mul, 32, product, 32, a->v1_literal, 0);
    rt->where_vvv(4, 3, a->out, 3, a->literal, 0, mul, 32, a->v2_literal, 0);
}

/*
 * k4_t: t, tests/golden/literals.lua:3
 * out[2, 3]
 * 6 flop, reads 24 B, writes 24 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *literal; /* [2, 3] */
    float *out; /* [2, 3] */
};

static void k4_t(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->load(2, 3, a->out, 3, a->literal, 3, 1);
}

/* Computes the outputs. */
int literals_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 256; /* for each thread */
    float *const scratch = arena + 32;
    const float *const in_x = inputs[0]; /* x[4, 3] */
    float *const out_t = outputs[0]; /* t[2, 3] */
    float *const out_y = outputs[1]; /* y[4, 3] */
    {
        const struct k1_args args = {
            .rt = rt,
            .literal = literal3, /* literal[3] */
            .x = in_x, /* x[4, 3] */
            .v2_literal = literal0, /* literal[2, 3] */
            .v3_literal = literal2, /* literal[4] */
            .h_w = weights, /* h.#.w[3, 3], packed */
            .out = arena + 16, /* h.#[4, 3] */
        };
        rt->parallel(pool, 1, 1, k1_h_1, &args, scratch, scratch_floats);
    }
    for (long layer = 0; layer < 4; layer++) { /* h.# */
        const float *const layer_weights = weights + layer * 96;
        {
            const struct k2_args args = {
                .rt = rt,
                .literal = literals[4 + layer], /* literal[3] */
                .h = arena + (layer % 2 ? 0 : 16), /* h.#[4, 3] */
                .h_w = layer_weights + 96, /* h.#.w[3, 3], packed */
                .out = arena + (layer % 2 ? 16 : 0), /* h.#[4, 3] */
            };
            rt->parallel(pool, 1, 1, k2_h, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .literal = literal1, /* literal[3] */
            .v1_literal = literal8, /* literal[3] */
            .v2_literal = literal9, /* literal[3] */
            .h = arena + 16, /* h.#[4, 3] */
            .h_w = weights + 480, /* h.#.w[3, 3], packed */
            .out = out_y, /* y[4, 3] */
        };
        rt->parallel(pool, 1, 1, k3_y, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .literal = literal0, /* literal[2, 3] */
            .out = out_t, /* t[2, 3] */
        };
        rt->parallel(pool, 1, 1, k4_t, &args, scratch, scratch_floats);
    }
    return 0;
}
