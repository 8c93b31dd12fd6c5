
/*
 * k1_entries_maximum: entries.maximum, tests/golden/entries.lua:6
 * out[8, 4] = rows[8, 32] x columns[32, 4]
 * then: add, maximum
 * 2.048 kflop, reads 1.552 kB, writes 128 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *encoder_bias; /* [4] */
    const float *x; /* [8, 32] */
    const float *encoder_weight; /* [32, 4], packed */
    float *out; /* [8, 4] */
};

static void k1_entries_maximum(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(8, 4, 32, a->x, 32, 1, a->encoder_weight, 1024, a->out, 4, 0, 0, a->encoder_bias, 0,
        16384);
    rt->maximum_vs(8, 4, a->out, 4, a->out, 4, &(const float){0.0f}, 0);
}

/*
 * k2_decoder_2: decoder_2, tests/golden/entries.lua:7
 * out[8, 32] = rows[8, 4] x columns[4, 32]
 * then: add
 * 2.048 kflop, reads 768 B, writes 1.024 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *decoder_bias; /* [32] */
    const float *k1_entries_maximum; /* [8, 4] */
    const float *decoder_weight; /* [4, 32], packed */
    float *out; /* [8, 32] */
};

static void k2_decoder_2(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(8, 32, 4, a->k1_entries_maximum, 4, 1, a->decoder_weight, 128, a->out, 32, 0, 0,
        a->decoder_bias, 0, 16384);
}

/*
 * k3_entries_mul: entries.mul, tests/golden/entries.lua:11
 * out[256]
 * steps: sub, mul
 * 1.024 kflop, reads 2.048 kB, writes 1.024 kB
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *decoder_2; /* [8, 32] */
    const float *x; /* [8, 32] */
    float *out; /* [256] */
};

static void k3_entries_mul(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const sub = scratch; /* [8, 32] */
    rt->sub_vv(8, 32, sub, 32, a->decoder_2, 32, a->x, 32);
    rt->mul_vv(8, 32, a->out, 32, sub, 32, sub, 32);
}

/*
 * k4_loss: loss, tests/golden/entries.lua:11
 * out[]
 * steps: sum, div
 * 1.024 kflop, reads 1.024 kB, writes 4 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *k3_entries_mul; /* [256] */
    float *out; /* [] */
};

static void k4_loss(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const sum = scratch, *const mean = sum; /* [1], one number a row */
    rt->sum(1, 256, sum, a->k3_entries_mul, 0);
    rt->div_vs(1, 1, mean, 0, sum, 0, &(const float){256.0f}, 0);
    rt->store(1, 1, a->out, 0, 0, mean, 0);
}

/* Computes the outputs of both. */
int entries_both_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 256; /* for each thread */
    float *const scratch = arena + 256;
    const float *const in_x = inputs[0]; /* x[8, 32] */
    float *const out_both_loss = outputs[0]; /* both.loss[] */
    float *const out_both_y = outputs[1]; /* both.y[8, 32] */
    {
        const struct k1_args args = {
            .rt = rt,
            .encoder_bias = weights, /* encoder.bias[4] */
            .x = in_x, /* x[8, 32] */
            .encoder_weight = weights + 16, /* encoder.weight[32, 4], packed */
            .out = arena, /* entries.maximum[8, 4] */
        };
        rt->parallel(pool, 1, 1, k1_entries_maximum, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .decoder_bias = weights + 1040, /* decoder.bias[32] */
            .k1_entries_maximum = arena, /* entries.maximum[8, 4] */
            .decoder_weight = weights + 1072, /* decoder.weight[4, 32], packed */
            .out = out_both_y, /* decoder_2[8, 32] */
        };
        rt->parallel(pool, 1, 1, k2_decoder_2, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .decoder_2 = out_both_y, /* decoder_2[8, 32] */
            .x = in_x, /* x[8, 32] */
            .out = arena, /* entries.mul[256] */
        };
        rt->parallel(pool, 1, 1, k3_entries_mul, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .k3_entries_mul = arena, /* entries.mul[256] */
            .out = out_both_loss, /* loss[] */
        };
        rt->parallel(pool, 1, 1, k4_loss, &args, scratch, scratch_floats);
    }
    return 0;
}

/* Computes the outputs of decode. */
int entries_decode_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 0; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_code = inputs[1]; /* code[8, 4] */
    float *const out_decode_y = outputs[2]; /* decode.y[8, 32] */
    {
        const struct k2_args args = {
            .rt = rt,
            .decoder_bias = weights + 1040, /* decoder.bias[32] */
            .k1_entries_maximum = in_code, /* code[8, 4] */
            .decoder_weight = weights + 1072, /* decoder.weight[4, 32], packed */
            .out = out_decode_y, /* decoder[8, 32] */
        };
        rt->parallel(pool, 1, 1, k2_decoder_2, &args, scratch, scratch_floats);
    }
    return 0;
}

/* Computes the outputs of encode. */
int entries_encode_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 0; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[0]; /* x[8, 32] */
    float *const out_encode_z = outputs[3]; /* encode.z[8, 4] */
    {
        const struct k1_args args = {
            .rt = rt,
            .encoder_bias = weights, /* encoder.bias[4] */
            .x = in_x, /* x[8, 32] */
            .encoder_weight = weights + 16, /* encoder.weight[32, 4], packed */
            .out = out_encode_z, /* z[8, 4] */
        };
        rt->parallel(pool, 1, 1, k1_entries_maximum, &args, scratch, scratch_floats);
    }
    return 0;
}
