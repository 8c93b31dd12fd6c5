
/*
 * k1_layer_ports_copy: layer_ports.copy, tests/golden/layer_ports.lua:10
 * out[1, 4] = rows[1, 4] x columns[4, 4]
 * then: fma, tanh
 * 32 flop, reads 208 B, writes 16 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *c1; /* [4, 4] */
    const float *s1; /* [4, 4] */
    const float *x; /* [1, 4] */
    const float *w1; /* [4, 4], packed */
    float *out; /* [1, 4] */
};

static void k1_layer_ports_copy(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    float *const fma = scratch + 32; /* [1, 32] */
    rt->gemm(1, 4, 4, a->x, 0, 1, a->w1, 128, product, 32, 0, 0, 0, 0, 16384);
    rt->fma_vvv(1, 4, fma, 32, a->c1, 0, a->s1, 0, product, 32);
    rt->tanh_v(1, 4, a->out, 0, fma, 32);
}

/*
 * k2_layer_ports_copy: layer_ports.copy, tests/golden/layer_ports.lua:10
 * out[1, 4]
 * 4 flop, reads 16 B, writes 16 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_layer_ports_copy; /* [1, 4] */
    float *out; /* [1, 4] */
};

static void k2_layer_ports_copy(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->load(1, 4, a->out, 0, a->k1_layer_ports_copy, 0, 1);
}

/*
 * k3_next_s1: next s1, tests/golden/layer_ports.lua:6
 * out[4, 4]
 * 16 flop, reads 64 B, writes 64 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *c1; /* [4, 4] */
    float *out; /* [4, 4] */
};

static void k3_next_s1(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->load(4, 4, a->out, 4, a->c1, 4, 1);
}

/* Computes the outputs. */
int layer_ports_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 64; /* for each thread */
    float *const scratch = arena + 64;
    const float *const in_x = inputs[0]; /* x[1, 4] */
    const float *const in_c3 = inputs[5]; /* c3[4, 4] */
    float *const state_s3 = (void *)inputs[6]; /* s3[4, 4] */
    float *const out_y3 = outputs[2]; /* y3[4, 4] */
    for (long layer = 0; layer < 2; layer++) {
        const float *const layer_weights = weights + layer * 128;
        {
            const struct k1_args args = {
                .rt = rt,
                .c1 = inputs[1 + layer * 2], /* c1, then c2[4, 4] */
                .s1 = (void *)inputs[2 + layer * 2], /* s1, then s2[4, 4] */
                .x = layer == 0 ? in_x : arena + 48, /* x, then layer_ports.copy[1, 4] */
                .w1 = layer_weights, /* w1, then w2[4, 4], packed */
                .out = arena, /* layer_ports.copy[1, 4] */
            };
            rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k1_args args = {
                .rt = rt,
                .c1 = (const float *)inputs[1 + layer * 2] + 4, /* c1, then c2[4, 4] */
                .s1 = (const float *)(void *)inputs[2 + layer * 2] + 4, /* s1, then s2[4, 4] */
                .x = arena, /* layer_ports.copy[1, 4] */
                .w1 = layer_weights, /* w1, then w2[4, 4], packed */
                .out = arena + 16, /* layer_ports.copy[1, 4] */
            };
            rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k1_args args = {
                .rt = rt,
                .c1 = (const float *)inputs[1 + layer * 2] + 8, /* c1, then c2[4, 4] */
                .s1 = (const float *)(void *)inputs[2 + layer * 2] + 8, /* s1, then s2[4, 4] */
                .x = arena + 16, /* layer_ports.copy[1, 4] */
                .w1 = layer_weights, /* w1, then w2[4, 4], packed */
                .out = arena + 32, /* layer_ports.copy[1, 4] */
            };
            rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k1_args args = {
                .rt = rt,
                .c1 = (const float *)inputs[1 + layer * 2] + 12, /* c1, then c2[4, 4] */
                .s1 = (const float *)(void *)inputs[2 + layer * 2] + 12, /* s1, then s2[4, 4] */
                .x = arena + 32, /* layer_ports.copy[1, 4] */
                .w1 = layer_weights, /* w1, then w2[4, 4], packed */
                .out = arena + 48, /* layer_ports.copy[1, 4] */
            };
            rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .k1_layer_ports_copy = arena, /* layer_ports.copy[1, 4] */
                .out = outputs[layer], /* y1, then y2[4, 4] */
            };
            rt->parallel(pool, 1, 1, k2_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .k1_layer_ports_copy = arena + 16, /* layer_ports.copy[1, 4] */
                .out = (float *)outputs[layer] + 4, /* y1, then y2[4, 4] */
            };
            rt->parallel(pool, 1, 1, k2_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .k1_layer_ports_copy = arena + 32, /* layer_ports.copy[1, 4] */
                .out = (float *)outputs[layer] + 8, /* y1, then y2[4, 4] */
            };
            rt->parallel(pool, 1, 1, k2_layer_ports_copy, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .k1_layer_ports_copy = arena + 48, /* layer_ports.copy[1, 4] */
                .out = (float *)outputs[layer] + 12, /* y1, then y2[4, 4] */
            };
            rt->parallel(pool, 1, 1, k2_layer_ports_copy, &args, scratch, scratch_floats);
        }
    }
    for (long layer = 0; layer < 3; layer++) {
        float *const layer_arena = arena + layer * 16;
        {
            const struct k1_args args = {
                .rt = rt,
                .c1 = in_c3 + layer * 4, /* c3[4, 4] */
                .s1 = state_s3 + layer * 4, /* s3[4, 4] */
                .x = arena + (const long[]){48, 0, 16}[layer], /* layer_ports.copy[1, 4] */
                .w1 = weights + 256, /* w3[4, 4], packed */
                .out = layer_arena, /* layer_ports.copy[1, 4] */
            };
            rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
        }
    }
    for (long layer = 0; layer < 3; layer++) {
        float *const layer_arena = arena + layer * 16;
        {
            const struct k2_args args = {
                .rt = rt,
                .k1_layer_ports_copy = layer_arena, /* layer_ports.copy[1, 4] */
                .out = out_y3 + layer * 4, /* y3[4, 4] */
            };
            rt->parallel(pool, 1, 1, k2_layer_ports_copy, &args, scratch, scratch_floats);
        }
    }
    {
        const struct k1_args args = {
            .rt = rt,
            .c1 = in_c3 + 12, /* c3[4, 4] */
            .s1 = state_s3 + 12, /* s3[4, 4] */
            .x = arena + 32, /* layer_ports.copy[1, 4] */
            .w1 = weights + 256, /* w3[4, 4], packed */
            .out = out_y3 + 12, /* y3[4, 4] */
        };
        rt->parallel(pool, 1, 1, k1_layer_ports_copy, &args, scratch, scratch_floats);
    }
    for (long layer = 0; layer < 3; layer++) {
        {
            const struct k3_args args = {
                .rt = rt,
                .c1 = inputs[1 + layer * 2], /* c1, then c2[4, 4] */
                .out = (void *)inputs[2 + layer * 2], /* next s1, then next s2[4, 4] */
            };
            rt->parallel(pool, 1, 1, k3_next_s1, &args, scratch, scratch_floats);
        }
    }
    return 0;
}
