
/*
 * k1_h_fc: h.#.fc, tests/golden/grad_layers.lua:5
 * out[6, 8] = rows[6, 8] x columns[8, 8]
 * then: add
 * 768 flop, reads 480 B, writes 192 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *h_fc_bias; /* [8] */
    const float *x; /* [6, 8] */
    const float *h_fc_weight; /* [8, 8], packed */
    float *out; /* [6, 8] */
};

static void k1_h_fc(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(6, 8, 8, a->x, 8, 1, a->h_fc_weight, 256, a->out, 8, 0, 0, a->h_fc_bias, 0, 16384);
}

/*
 * k2_h_ge: h.#.ge, tests/golden/grad_layers.lua:5
 * out[6, 8]
 * steps: ge
 * 192 flop, reads 4 B, writes 192 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const int *step; /* [] */
    long stream0; /* of random numbers */
    float *out; /* [6, 8] */
};

static void k2_h_ge(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const random = scratch; /* [6, 8] */
    /* h.# */
    rt->random(6, 8, random, 8, a->step, a->stream0, 0, 8, 1);
    rt->ge_vs(6, 8, a->out, 8, random, 8, &(const float){0.5f}, 0);
}

/*
 * k3_h: h.#, tests/golden/grad_layers.lua:5
 * out[6, 8]
 * steps: tanh, mul, where, add
 * 432 flop, reads 576 B, writes 192 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *x; /* [6, 8] */
    const float *k2_h_ge; /* [6, 8] */
    const float *h_fc; /* [6, 8] */
    float *out; /* [6, 8] */
};

static void k3_h(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const tanh = scratch, *const mul = tanh, *const where = tanh; /* [6, 8] */
    /* h.# */
    rt->tanh_v(6, 8, tanh, 8, a->h_fc, 8);
    rt->mul_vs(6, 8, mul, 8, tanh, 8, &(const float){2.0f}, 0);
    rt->where_vvs(6, 8, where, 8, a->k2_h_ge, 8, mul, 8, &(const float){0.0f}, 0);
    rt->add_vv(6, 8, a->out, 8, a->x, 8, where, 8);
}

/*
 * k4_d_h_5_fc: gradient of h_5.fc, tests/golden/grad_layers.lua:5
 * out[6, 8]
 * steps: add, where, mul, sigmoid, sub, mul, mul, mul
 * 720 flop, reads 576 B, writes 192 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *k2_h_ge; /* [6, 8] */
    const float *h; /* [6, 8] */
    const float *h_fc; /* [6, 8] */
    float *out; /* [6, 8] */
};

static void k4_d_h_5_fc(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const add = scratch, *const where = add, *const mul3 = add; /* [6, 8] */
    float *const mul = scratch + 48, *const sigmoid = mul, *const mul2 = mul; /* [6, 8] */
    float *const sub = scratch + 96; /* [6, 8] */
    rt->add_vv(6, 8, add, 8, a->h, 8, a->h, 8);
    /* h.# */
    rt->where_vvs(6, 8, where, 8, a->k2_h_ge, 8, add, 8, &(const float){0.0f}, 0);
    rt->mul_sv(6, 8, mul, 8, &(const float){2.0f}, 0, a->h_fc, 8);
    rt->sigmoid_v(6, 8, sigmoid, 8, mul, 8);
    rt->sub_sv(6, 8, sub, 8, &(const float){1.0f}, 0, sigmoid, 8);
    rt->mul_vv(6, 8, mul2, 8, sigmoid, 8, sub, 8);
    rt->mul_vv(6, 8, mul3, 8, where, 8, mul2, 8);
    rt->mul_sv(6, 8, a->out, 8, &(const float){8.0f}, 0, mul3, 8);
}

/*
 * k5_d_h_fc_bias: gradient of h.#.fc.bias, tests/golden/grad_layers.lua:5
 * out[8] = sum over 6 rows of columns[8]
 * steps: sum
 * 96 flop, reads 192 B, writes 32 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *d_h_fc; /* [6, 8] */
    float *out; /* [8] */
};

static void k5_d_h_fc_bias(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const lanes = scratch; /* 16 partial results a column */
    rt->load(16, 8, lanes, 8, &(const float){0.0f}, 0, 0);
    rt->sum_down(6, 8, lanes, a->d_h_fc, 8);
    rt->sum_lanes(8, lanes);
    rt->store(1, 8, a->out, 0, 1, lanes, 0);
}

/*
 * k6_d_h_4: gradient of h_4, tests/golden/grad_layers.lua:5
 * out[6, 8] = rows[6, 8] x columns[8, 8]
 * then: add, add
 * 768 flop, reads 640 B, writes 192 B
 */
struct k6_args {
    const struct cr_runtime *rt;
    const float *h; /* [6, 8] */
    const float *d_h_fc; /* [6, 8] */
    const float *h_fc_weight; /* [8, 8], packed */
    float *out; /* [6, 8] */
};

static void k6_d_h_4(const void *args, long begin, long end, float *scratch)
{
    const struct k6_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const add = scratch + 192; /* [6, 32] */
    rt->gemm(6, 8, 8, a->d_h_fc, 8, 1, a->h_fc_weight, 256, product, 32, 0, 0, 0, 0, 16384);
    rt->add_vv(6, 8, add, 32, a->h, 8, a->h, 8);
    /* h.#.fc */
    rt->add_vv(6, 8, a->out, 8, add, 32, product, 32);
}

/*
 * k7_d_h_fc_weight: gradient of h.#.fc.weight, tests/golden/grad_layers.lua:5
 * out[8, 8] = rows[8, 6] x columns[6, 8]
 * 768 flop, reads 384 B, writes 256 B
 */
struct k7_args {
    const struct cr_runtime *rt;
    const float *d_h_fc; /* [6, 8] */
    const float *h; /* [6, 8] */
    float *out; /* [8, 8] */
};

static void k7_d_h_fc_weight(const void *args, long begin, long end, float *scratch)
{
    const struct k7_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    float *const rows = scratch + 192; /* rows of the left operand */
    rt->load(8, 6, rows, 6, a->d_h_fc, 1, 8);
    rt->pack(6, 8, panels, 192, a->h, 8, 1);
    rt->gemm(8, 8, 6, rows, 6, 1, panels, 192, a->out, 8, 0, 0, 0, 0, 16384);
}

/*
 * k8_d_h_fc: gradient of h.#.fc, tests/golden/grad_layers.lua:5
 * out[6, 8]
 * steps: where, mul, sigmoid, sub, mul, mul, mul
 * 672 flop, reads 576 B, writes 192 B
 */
struct k8_args {
    const struct cr_runtime *rt;
    const float *k2_h_ge; /* [6, 8] */
    const float *d_h; /* [6, 8] */
    const float *h_fc; /* [6, 8] */
    float *out; /* [6, 8] */
};

static void k8_d_h_fc(const void *args, long begin, long end, float *scratch)
{
    const struct k8_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const where = scratch, *const mul3 = where; /* [6, 8] */
    float *const mul = scratch + 48, *const sigmoid = mul, *const mul2 = mul; /* [6, 8] */
    float *const sub = scratch + 96; /* [6, 8] */
    /* h.# */
    rt->where_vvs(6, 8, where, 8, a->k2_h_ge, 8, a->d_h, 8, &(const float){0.0f}, 0);
    rt->mul_sv(6, 8, mul, 8, &(const float){2.0f}, 0, a->h_fc, 8);
    rt->sigmoid_v(6, 8, sigmoid, 8, mul, 8);
    rt->sub_sv(6, 8, sub, 8, &(const float){1.0f}, 0, sigmoid, 8);
    rt->mul_vv(6, 8, mul2, 8, sigmoid, 8, sub, 8);
    rt->mul_vv(6, 8, mul3, 8, where, 8, mul2, 8);
    rt->mul_sv(6, 8, a->out, 8, &(const float){8.0f}, 0, mul3, 8);
}

/*
 * k9_d_h: gradient of h.#, tests/golden/grad_layers.lua:5
 * out[6, 8] = rows[6, 8] x columns[8, 8]
 * then: add
 * 768 flop, reads 640 B, writes 192 B
 */
struct k9_args {
    const struct cr_runtime *rt;
    const float *d_h; /* [6, 8] */
    const float *d_h_fc; /* [6, 8] */
    const float *h_fc_weight; /* [8, 8], packed */
    float *out; /* [6, 8] */
};

static void k9_d_h(const void *args, long begin, long end, float *scratch)
{
    const struct k9_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    rt->gemm(6, 8, 8, a->d_h_fc, 8, 1, a->h_fc_weight, 256, product, 32, 0, 0, 0, 0, 16384);
    /* h.#.fc */
    rt->add_vv(6, 8, a->out, 8, a->d_h, 8, product, 32);
}

/*
 * k10_d_h_0_fc: gradient of h_0.fc, tests/golden/grad_layers.lua:5
 * out[6, 8] = rows[6, 8] x columns[8, 8]
 * then: add, where, mul, sigmoid, sub, mul, mul, mul
 * 768 flop, reads 1.024 kB, writes 192 B
 */
struct k10_args {
    const struct cr_runtime *rt;
    const float *k2_h_ge; /* [6, 8] */
    const float *d_h; /* [6, 8] */
    const float *h_fc; /* [6, 8] */
    const float *d_h_fc; /* [6, 8] */
    const float *h_fc_weight; /* [8, 8], packed */
    float *out; /* [6, 8] */
};

static void k10_d_h_0_fc(const void *args, long begin, long end, float *scratch)
{
    const struct k10_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const add = scratch + 192, *const where = add, *const mul3 = add; /* [6, 32] */
    float *const mul = scratch + 384, *const sigmoid = mul, *const mul2 = mul; /* [6, 32] */
    float *const sub = scratch + 576; /* [6, 32] */
    rt->gemm(6, 8, 8, a->d_h_fc, 8, 1, a->h_fc_weight, 256, product, 32, 0, 0, 0, 0, 16384);
    /* h.#.fc */
    rt->add_vv(6, 8, add, 32, a->d_h, 8, product, 32);
    /* h.# */
    rt->where_vvs(6, 8, where, 32, a->k2_h_ge, 8, add, 32, &(const float){0.0f}, 0);
    rt->mul_sv(6, 8, mul, 32, &(const float){2.0f}, 0, a->h_fc, 8);
    rt->sigmoid_v(6, 8, sigmoid, 32, mul, 32);
    rt->sub_sv(6, 8, sub, 32, &(const float){1.0f}, 0, sigmoid, 32);
    rt->mul_vv(6, 8, mul2, 32, sigmoid, 32, sub, 32);
    rt->mul_vv(6, 8, mul3, 32, where, 32, mul2, 32);
    rt->mul_sv(6, 8, a->out, 8, &(const float){8.0f}, 0, mul3, 32);
}

/* Computes the outputs. */
int grad_layers_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 768; /* for each thread */
    float *const scratch = arena + 864;
    const float *const in_x = inputs[0]; /* x[6, 8] */
    const int *const in_step = inputs[1]; /* step[] */
    float *const out_h_0_fc_bias = outputs[0]; /* h.#.fc.bias[8] */
    float *const out_h_0_fc_weight = outputs[1]; /* h.#.fc.weight[8, 8] */
    float *const out_h_1_fc_bias = outputs[2]; /* h.#.fc.bias[8] */
    float *const out_h_1_fc_weight = outputs[3]; /* h.#.fc.weight[8, 8] */
    float *const out_h_2_fc_weight = outputs[5]; /* h.#.fc.weight[8, 8] */
    float *const out_h_5_fc_bias = outputs[10]; /* h.#.fc.bias[8] */
    float *const out_y = outputs[12]; /* y[6, 8] */
    for (long layer = 0; layer < 6; layer++) { /* h.# */
        const float *const layer_weights = weights + layer * 272;
        float *const layer_arena = arena + layer * 144;
        {
            const struct k1_args args = {
                .rt = rt,
                .h_fc_bias = layer_weights, /* h.#.fc.bias[8] */
                .x = layer == 0 ? in_x : layer_arena - 48, /* x, then h.#[6, 8] */
                .h_fc_weight = layer_weights + 16, /* h.#.fc.weight[8, 8], packed */
                .out = layer_arena, /* h.#.fc[6, 8] */
            };
            rt->parallel(pool, 1, 1, k1_h_fc, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .step = in_step, /* step[] */
                .stream0 = layer,
                .out = layer_arena + 48, /* h.#.ge[6, 8] */
            };
            rt->parallel(pool, 1, 1, k2_h_ge, &args, scratch, scratch_floats);
        }
        {
            const struct k3_args args = {
                .rt = rt,
                .x = layer == 0 ? in_x : layer_arena - 48, /* x, then h.#[6, 8] */
                .k2_h_ge = layer_arena + 48, /* h.#.ge[6, 8] */
                .h_fc = layer_arena, /* h.#.fc[6, 8] */
                .out = layer == 5 ? out_y : layer_arena + 96, /* h.#[6, 8] */
            };
            rt->parallel(pool, 1, 1, k3_h, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .k2_h_ge = arena + 768, /* h.#.ge[6, 8] */
            .h = out_y, /* h.#[6, 8] */
            .h_fc = arena + 720, /* h.#.fc[6, 8] */
            .out = arena + 816, /* gradient of h.#.fc[6, 8] */
        };
        rt->parallel(pool, 1, 1, k4_d_h_5_fc, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .d_h_fc = arena + 816, /* gradient of h.#.fc[6, 8] */
            .out = out_h_5_fc_bias, /* gradient of h.#.fc.bias[8] */
        };
        rt->parallel(pool, 1, 1, k5_d_h_fc_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .h = out_y, /* h.#[6, 8] */
            .d_h_fc = arena + 816, /* gradient of h.#.fc[6, 8] */
            .h_fc_weight = weights + 1632, /* h.#.fc.weight[8, 8], packed */
            .out = arena + 720, /* gradient of h.#[6, 8] */
        };
        rt->parallel(pool, 1, 1, k6_d_h_4, &args, scratch, scratch_floats);
    }
    for (long layer = 4; layer >= 2; layer--) { /* h.# */
        float *const layer_arena = arena + layer * 144;
        {
            const struct k7_args args = {
                .rt = rt,
                .d_h_fc = arena + (const long[]){672, 672, 816}[layer - 2], /* gradient of h.#.fc[6, 8] */
                .h = layer_arena + 96, /* h.#[6, 8] */
                .out = outputs[3 + layer * 2], /* gradient of h.#.fc.weight[8, 8] */
            };
            rt->parallel(pool, 1, 1, k7_d_h_fc_weight, &args, scratch, scratch_floats);
        }
        {
            const struct k8_args args = {
                .rt = rt,
                .k2_h_ge = layer_arena + 48, /* h.#.ge[6, 8] */
                .d_h = arena + 720, /* gradient of h.#[6, 8] */
                .h_fc = layer_arena, /* h.#.fc[6, 8] */
                .out = arena + 672, /* gradient of h.#.fc[6, 8] */
            };
            rt->parallel(pool, 1, 1, k8_d_h_fc, &args, scratch, scratch_floats);
        }
        {
            const struct k5_args args = {
                .rt = rt,
                .d_h_fc = arena + 672, /* gradient of h.#.fc[6, 8] */
                .out = outputs[layer * 2], /* gradient of h.#.fc.bias[8] */
            };
            rt->parallel(pool, 1, 1, k5_d_h_fc_bias, &args, scratch, scratch_floats);
        }
        {
            const struct k9_args args = {
                .rt = rt,
                .d_h = arena + 720, /* gradient of h.#[6, 8] */
                .d_h_fc = arena + 672, /* gradient of h.#.fc[6, 8] */
                .h_fc_weight = weights + 2912 - layer * 256, /* h.#.fc.weight[8, 8], packed */
                .out = arena + 720, /* gradient of h.#[6, 8] */
            };
            rt->parallel(pool, 1, 1, k9_d_h, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k7_args args = {
            .rt = rt,
            .d_h_fc = arena + 672, /* gradient of h.#.fc[6, 8] */
            .h = arena + 240, /* h.#[6, 8] */
            .out = out_h_2_fc_weight, /* gradient of h.#.fc.weight[8, 8] */
        };
        rt->parallel(pool, 1, 1, k7_d_h_fc_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k8_args args = {
            .rt = rt,
            .k2_h_ge = arena + 192, /* h.#.ge[6, 8] */
            .d_h = arena + 720, /* gradient of h.#[6, 8] */
            .h_fc = arena + 144, /* h.#.fc[6, 8] */
            .out = arena + 240, /* gradient of h.#.fc[6, 8] */
        };
        rt->parallel(pool, 1, 1, k8_d_h_fc, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .d_h_fc = arena + 240, /* gradient of h.#.fc[6, 8] */
            .out = out_h_1_fc_bias, /* gradient of h.#.fc.bias[8] */
        };
        rt->parallel(pool, 1, 1, k5_d_h_fc_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k7_args args = {
            .rt = rt,
            .d_h_fc = arena + 240, /* gradient of h.#.fc[6, 8] */
            .h = arena + 96, /* h.#[6, 8] */
            .out = out_h_1_fc_weight, /* gradient of h.#.fc.weight[8, 8] */
        };
        rt->parallel(pool, 1, 1, k7_d_h_fc_weight, &args, scratch, scratch_floats);
    }
    {
        const struct k10_args args = {
            .rt = rt,
            .k2_h_ge = arena + 48, /* h.#.ge[6, 8] */
            .d_h = arena + 720, /* gradient of h.#[6, 8] */
            .h_fc = arena, /* h.#.fc[6, 8] */
            .d_h_fc = arena + 240, /* gradient of h.#.fc[6, 8] */
            .h_fc_weight = weights + 2656, /* h.#.fc.weight[8, 8], packed */
            .out = arena + 720, /* gradient of h.#.fc[6, 8] */
        };
        rt->parallel(pool, 1, 1, k10_d_h_0_fc, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .d_h_fc = arena + 720, /* gradient of h.#.fc[6, 8] */
            .out = out_h_0_fc_bias, /* gradient of h.#.fc.bias[8] */
        };
        rt->parallel(pool, 1, 1, k5_d_h_fc_bias, &args, scratch, scratch_floats);
    }
    {
        const struct k7_args args = {
            .rt = rt,
            .d_h_fc = arena + 720, /* gradient of h.#.fc[6, 8] */
            .h = in_x, /* x[6, 8] */
            .out = out_h_0_fc_weight, /* gradient of h.#.fc.weight[8, 8] */
        };
        rt->parallel(pool, 1, 1, k7_d_h_fc_weight, &args, scratch, scratch_floats);
    }
    return 0;
}
