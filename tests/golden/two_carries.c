
/*
 * k1_two_carries_tanh: two_carries.tanh, tests/golden/two_carries.lua:5
 * out[4, 8] = rows[4, 8] x columns[8, 8]
 * each row first: add
 * then: tanh
 * 512 flop, reads 512 B, writes 128 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [4, 8] */
    const float *memory; /* [4, 8] */
    const float *shared; /* [8, 8], packed */
    float *out; /* [4, 8] */
};

static void k1_two_carries_tanh(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const rows = scratch; /* rows of the left operand */
    rt->add_vv(4, 8, rows, 8, a->x, 8, a->memory, 8);
    rt->gemm(4, 8, 8, rows, 8, 1, a->shared, 256, a->out, 8, 0, 0, 0, 0, 16384);
    rt->tanh_v(4, 8, a->out, 8, a->out, 8);
}

/*
 * k2_two_carries_add: two_carries.add, tests/golden/two_carries.lua:6
 * out[4, 8] = rows[4, 8] x columns[8, 8]
 * then: add
 * 512 flop, reads 512 B, writes 128 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *memory; /* [4, 8] */
    const float *k1_two_carries_tanh; /* [4, 8] */
    const float *own; /* [8, 8], packed */
    float *out; /* [4, 8] */
};

static void k2_two_carries_add(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const product = scratch; /* a tile of the product */
    rt->gemm(4, 8, 8, a->k1_two_carries_tanh, 8, 1, a->own, 256, product, 32, 0, 0, 0, 0, 16384);
    rt->add_vv(4, 8, a->out, 8, a->memory, 8, product, 32);
}

/* Computes the outputs. */
int two_carries_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 128; /* for each thread */
    float *const scratch = arena + 96;
    const float *const in_x = inputs[0]; /* x[4, 8] */
    const float *const in_memory = inputs[1]; /* memory[4, 8] */
    float *const out_memory = outputs[0]; /* memory[4, 8] */
    float *const out_x = outputs[1]; /* x[4, 8] */
    for (long layer = 0; layer < 4; layer++) {
        const float *const layer_weights = weights + layer * 256;
        {
            const struct k1_args args = {
                .rt = rt,
                .x = layer == 0 ? in_x : arena + (layer % 2 ? 0 : 32), /* x, then two_carries.tanh[4, 8] */
                .memory = layer == 0 ? in_memory : arena + 64, /* memory, then two_carries.add[4, 8] */
                .shared = weights, /* shared[8, 8], packed */
                .out = layer == 3 ? out_x : arena + (layer % 2 ? 32 : 0), /* two_carries.tanh[4, 8] */
            };
            rt->parallel(pool, 1, 1, k1_two_carries_tanh, &args, scratch, scratch_floats);
        }
        {
            const struct k2_args args = {
                .rt = rt,
                .memory = layer == 0 ? in_memory : arena + 64, /* memory, then two_carries.add[4, 8] */
                .k1_two_carries_tanh = layer == 3 ? out_x : arena + (layer % 2 ? 32 : 0), /* two_carries.tanh[4, 8] */
                .own = layer_weights + 256, /* own.#[8, 8], packed */
                .out = layer == 3 ? out_memory : arena + 64, /* two_carries.add[4, 8] */
            };
            rt->parallel(pool, 1, 1, k2_two_carries_add, &args, scratch, scratch_floats);
        }
    }
    return 0;
}
