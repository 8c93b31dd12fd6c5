
/*
 * k1_dropout_ge: dropout.ge, tests/golden/dropout.lua:5
 * out[2, 3, 5]
 * steps: ge
 * 120 flop, reads 4 B, writes 120 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const int *step; /* [] */
    long stream0; /* of random numbers */
    float *out; /* [2, 3, 5] */
};

static void k1_dropout_ge(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const random = scratch; /* [6, 5] */
    rt->random(6, 5, random, 5, a->step, a->stream0, 0, 5, 1);
    rt->ge_vs(6, 5, a->out, 5, random, 5, &(const float){0.25f}, 0);
}

/*
 * k2_dropout_where: dropout.where, tests/golden/dropout.lua:5
 * out[2, 3, 5] = rows[6, 8] x columns[8, 5]
 * then: mul, where
 * 480 flop, reads 472 B, writes 120 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_dropout_ge; /* [2, 3, 5] */
    const float *x; /* [2, 3, 8] */
    const float *w; /* [8, 5], packed */
    float *out; /* [2, 3, 5] */
};

static void k2_dropout_where(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const mul = scratch + 192; /* [6, 32] */
    rt->gemm(6, 5, 8, a->x, 8, 1, a->w, 256, product, 32, 0, 0, 0, 0, 16384);
    rt->mul_vs(6, 5, mul, 32, product, 32, &(const float){1.3333334f}, 0);
    rt->where_vvs(6, 5, a->out, 5, a->k1_dropout_ge, 5, mul, 32, &(const float){0.0f}, 0);
}

/*
 * k3_dropout_ge: dropout.ge, tests/golden/dropout.lua:5
 * out[2, 3, 5]
 * steps: ge
 * 120 flop, reads 0 B, writes 120 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    long stream0; /* of random numbers */
    float *out; /* [2, 3, 5] */
};

static void k3_dropout_ge(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const random = scratch; /* [6, 5] */
    rt->random(6, 5, random, 5, &(const int){3}, a->stream0, 0, 5, 1);
    rt->ge_vs(6, 5, a->out, 5, random, 5, &(const float){0.5f}, 0);
}

/*
 * k4_y: y, tests/golden/dropout.lua:5
 * out[2, 3, 5]
 * steps: tanh, mul, where
 * 210 flop, reads 240 B, writes 120 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *k3_dropout_ge; /* [2, 3, 5] */
    const float *k2_dropout_where; /* [2, 3, 5] */
    float *out; /* [2, 3, 5] */
};

static void k4_y(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const tanh = scratch, *const mul = tanh; /* [6, 5] */
    rt->tanh_v(6, 5, tanh, 5, a->k2_dropout_where, 5);
    rt->mul_vs(6, 5, mul, 5, tanh, 5, &(const float){2.0f}, 0);
    rt->where_vvs(6, 5, a->out, 5, a->k3_dropout_ge, 5, mul, 5, &(const float){0.0f}, 0);
}

/*
 * k5_d_dropout: gradient of dropout, tests/golden/dropout.lua:5
 * out[2, 3, 5]
 * steps: add, where, mul, sigmoid, sub, mul, mul, mul, where, mul
 * 570 flop, reads 480 B, writes 120 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *k1_dropout_ge; /* [2, 3, 5] */
    const float *k3_dropout_ge; /* [2, 3, 5] */
    const float *k4_y; /* [2, 3, 5] */
    const float *k2_dropout_where; /* [2, 3, 5] */
    float *out; /* [2, 3, 5] */
};

static void k5_d_dropout(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    /* [6, 5] */
    float *const add = scratch, *const where = add, *const mul3 = add, *const mul4 = add,
        *const where2 = add;
    float *const mul = scratch + 32, *const sigmoid = mul, *const mul2 = mul; /* [6, 5] */
    float *const sub = scratch + 64; /* [6, 5] */
    rt->add_vv(6, 5, add, 5, a->k4_y, 5, a->k4_y, 5);
    rt->where_vvs(6, 5, where, 5, a->k3_dropout_ge, 5, add, 5, &(const float){0.0f}, 0);
    rt->mul_sv(6, 5, mul, 5, &(const float){2.0f}, 0, a->k2_dropout_where, 5);
    rt->sigmoid_v(6, 5, sigmoid, 5, mul, 5);
    rt->sub_sv(6, 5, sub, 5, &(const float){1.0f}, 0, sigmoid, 5);
    rt->mul_vv(6, 5, mul2, 5, sigmoid, 5, sub, 5);
    rt->mul_vv(6, 5, mul3, 5, where, 5, mul2, 5);
    rt->mul_sv(6, 5, mul4, 5, &(const float){8.0f}, 0, mul3, 5);
    rt->where_vvs(6, 5, where2, 5, a->k1_dropout_ge, 5, mul4, 5, &(const float){0.0f}, 0);
    rt->mul_vs(6, 5, a->out, 5, where2, 5, &(const float){1.3333334f}, 0);
}

/*
 * k6_d_w: gradient of w, tests/golden/dropout.lua:5
 * out[8, 5] = rows[8, 6] x columns[6, 5]
 * 480 flop, reads 312 B, writes 160 B
 */
struct k6_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 3, 8] */
    const float *k5_d_dropout; /* [2, 3, 5] */
    float *out; /* [8, 5] */
};

static void k6_d_w(const void *args, long begin, long end, float *scratch)
{
    const struct k6_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 192; /* rows of the left operand */
    rt->load(8, 6, rows, 6, a->x, 1, 8);
    rt->pack(6, 5, panels, 192, a->k5_d_dropout, 5, 1);
    rt->gemm(8, 5, 6, rows, 6, 1, panels, 192, a->out, 5, 0, 0, 0, 0, 16384);
}

/* Computes the outputs. */
int dropout_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 384; /* for each thread */
    float *const scratch = arena + 96;
    const float *const in_x = inputs[0]; /* x[2, 3, 8] */
    const int *const in_step = inputs[1]; /* step[] */
    float *const out_w = outputs[0]; /* w[8, 5] */
    float *const out_y = outputs[1]; /* y[2, 3, 5] */
    {
        const struct k1_args args = {
            .rt = rt,
            .step = in_step, /* step[] */
            .stream0 = 0,
            .out = arena, /* dropout.ge[2, 3, 5] */
        };
        rt->parallel(pool, 1, 1, k1_dropout_ge, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .k1_dropout_ge = arena, /* dropout.ge[2, 3, 5] */
            .x = in_x, /* x[2, 3, 8] */
            .w = weights, /* w[8, 5], packed */
            .out = arena + 32, /* dropout.where[2, 3, 5] */
        };
        rt->parallel(pool, 1, 1, k2_dropout_where, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .stream0 = 1,
            .out = arena + 64, /* dropout.ge[2, 3, 5] */
        };
        rt->parallel(pool, 1, 1, k3_dropout_ge, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .k3_dropout_ge = arena + 64, /* dropout.ge[2, 3, 5] */
            .k2_dropout_where = arena + 32, /* dropout.where[2, 3, 5] */
            .out = out_y, /* y[2, 3, 5] */
        };
        rt->parallel(pool, 1, 1, k4_y, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .k1_dropout_ge = arena, /* dropout.ge[2, 3, 5] */
            .k3_dropout_ge = arena + 64, /* dropout.ge[2, 3, 5] */
            .k4_y = out_y, /* y[2, 3, 5] */
            .k2_dropout_where = arena + 32, /* dropout.where[2, 3, 5] */
            .out = arena + 32, /* gradient of dropout[2, 3, 5] */
        };
        rt->parallel(pool, 1, 1, k5_d_dropout, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 3, 8] */
            .k5_d_dropout = arena + 32, /* gradient of dropout[2, 3, 5] */
            .out = out_w, /* gradient of w[8, 5] */
        };
        rt->parallel(pool, 1, 1, k6_d_w, &args, scratch, scratch_floats);
    }
    return 0;
}
