
/*
 * k1_recurrence_sum: recurrence.sum, tests/golden/recurrence.lua:5
 * out[3, 1]
 * steps: sum
 * 24 flop, reads 384 B, writes 12 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [3, 8, 4] */
    float *out; /* [3, 1] */
};

static void k1_recurrence_sum(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const sum = scratch; /* [3], one number a row */
    rt->sum(3, 4, sum, a->x, 32);
    rt->store(1, 3, a->out, 0, 1, sum, 0);
}

/*
 * k2_recurrence_tanh_3x5: recurrence.tanh_3x5, tests/golden/recurrence.lua:5
 * out[3, 5] = rows[3, 5] x columns[5, 5]
 * then: add, tanh
 * 150 flop, reads 112 B, writes 60 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_recurrence_sum; /* [3, 1] */
    const float *w; /* [5, 5], packed */
    float *out; /* [3, 5] */
};

static void k2_recurrence_tanh_3x5(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const rows = scratch; /* rows of the left operand */
    float *const product = scratch + 16; /* a tile of the product */
    float *const add = scratch + 112; /* [3, 32] */
    rt->load(3, 5, rows, 5, &(const float){0.0f}, 0, 0);
    rt->gemm(3, 5, 5, rows, 5, 1, a->w, 160, product, 32, 0, 0, 0, 0, 16384);
    rt->add_sv(3, 5, add, 32, a->k1_recurrence_sum, 1, product, 32);
    rt->tanh_v(3, 5, a->out, 5, add, 32);
}

/*
 * k3_recurrence_tanh_3x5: recurrence.tanh_3x5, tests/golden/recurrence.lua:5
 * out[3, 5] = rows[3, 5] x columns[5, 5]
 * then: add, tanh
 * 150 flop, reads 172 B, writes 60 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *k1_recurrence_sum; /* [3, 1] */
    const float *k2_recurrence_tanh_3x5; /* [3, 5] */
    const float *w; /* [5, 5], packed */
    float *out; /* [3, 5] */
};

static void k3_recurrence_tanh_3x5(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const add = scratch + 96; /* [3, 32] */
    rt->gemm(3, 5, 5, a->k2_recurrence_tanh_3x5, 5, 1, a->w, 160, product, 32, 0, 0, 0, 0, 16384);
    rt->add_sv(3, 5, add, 32, a->k1_recurrence_sum, 1, product, 32);
    rt->tanh_v(3, 5, a->out, 5, add, 32);
}

/*
 * k4_recurrence_copy: recurrence.copy, tests/golden/recurrence.lua:6
 * out[3, 1, 5]
 * 15 flop, reads 60 B, writes 60 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *k2_recurrence_tanh_3x5; /* [3, 5] */
    float *out; /* [3, 1, 5] */
};

static void k4_recurrence_copy(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->load(3, 5, a->out, 40, a->k2_recurrence_tanh_3x5, 5, 1);
}

/*
 * k5_recurrence_tanh_3x1x5: recurrence.tanh_3x1x5, tests/golden/recurrence.lua:6
 * out[3, 1, 5] = rows[3, 5] x columns[5, 5]
 * then: add, tanh
 * 150 flop, reads 172 B, writes 60 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *k1_recurrence_sum; /* [3, 1] */
    const float *k3_recurrence_tanh_3x5; /* [3, 5] */
    const float *w; /* [5, 5], packed */
    float *out; /* [3, 1, 5] */
};

static void k5_recurrence_tanh_3x1x5(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const add = scratch + 96; /* [3, 32] */
    rt->gemm(3, 5, 5, a->k3_recurrence_tanh_3x5, 5, 1, a->w, 160, product, 32, 0, 0, 0, 0, 16384);
    rt->add_sv(3, 5, add, 32, a->k1_recurrence_sum, 1, product, 32);
    rt->tanh_v(3, 5, a->out + 35, 40, add, 32);
}

/* Computes the outputs. */
int recurrence_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 208; /* for each thread */
    float *const scratch = arena + 128;
    const float *const in_x = inputs[0]; /* x[3, 8, 4] */
    float *const out_y = outputs[0]; /* y[3, 8, 5] */
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[3, 8, 4] */
            .out = arena, /* recurrence.sum[3, 1] */
        };
        rt->parallel(pool, 1, 1, k1_recurrence_sum, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .k1_recurrence_sum = arena, /* recurrence.sum[3, 1] */
            .w = weights, /* w[5, 5], packed */
            .out = arena + 112, /* recurrence.tanh_3x5[3, 5] */
        };
        rt->parallel(pool, 1, 1, k2_recurrence_tanh_3x5, &args, scratch, scratch_floats);
    }
    for (long layer = 0; layer < 6; layer++) {
        float *const layer_arena = arena + layer * 16;
        {
            const struct k1_args args = {
                .rt = rt,
                .x = in_x + 4 + layer * 4, /* x[3, 8, 4] */
                .out = arena + 96, /* recurrence.sum[3, 1] */
            };
            rt->parallel(pool, 1, 1, k1_recurrence_sum, &args, scratch, scratch_floats);
        }
        {
            const struct k3_args args = {
                .rt = rt,
                .k1_recurrence_sum = arena + 96, /* recurrence.sum[3, 1] */
                .k2_recurrence_tanh_3x5 = layer == 0 ? arena + 112 : layer_arena - 16, /* recurrence.tanh_3x5[3, 5] */
                .w = weights, /* w[5, 5], packed */
                .out = layer_arena, /* recurrence.tanh_3x5[3, 5] */
            };
            rt->parallel(pool, 1, 1, k3_recurrence_tanh_3x5, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x + 28, /* x[3, 8, 4] */
            .out = arena + 96, /* recurrence.sum[3, 1] */
        };
        rt->parallel(pool, 1, 1, k1_recurrence_sum, &args, scratch, scratch_floats);
    }
    for (long layer = 0; layer < 7; layer++) {
        {
            const struct k4_args args = {
                .rt = rt,
                .k2_recurrence_tanh_3x5 = layer == 0 ? arena + 112 : arena + -16 + layer * 16, /* recurrence.tanh_3x5[3, 5] */
                .out = out_y + layer * 5, /* y[3, 8, 5] */
            };
            rt->parallel(pool, 1, 1, k4_recurrence_copy, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .k1_recurrence_sum = arena + 96, /* recurrence.sum[3, 1] */
            .k3_recurrence_tanh_3x5 = arena + 80, /* recurrence.tanh_3x5[3, 5] */
            .w = weights, /* w[5, 5], packed */
            .out = out_y, /* y[3, 8, 5] */
        };
        rt->parallel(pool, 1, 1, k5_recurrence_tanh_3x1x5, &args, scratch, scratch_floats);
    }
    return 0;
}
