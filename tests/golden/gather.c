
/*
 * k1_y: y, tests/golden/gather.lua:4
 * out[2, 5, 6]
 * steps: add
 * 300 flop, reads 472 B, writes 240 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *wte; /* [11, 6] */
    const int *tokens; /* [2, 5] */
    const float *wpe; /* [8, 6] */
    float *out; /* [2, 5, 6] */
};

static void k1_y(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const gathered = scratch; /* [5, 6] */
    int *const numbers = (int *)scratch + 32; /* [5], one number a row */
    float *const gathered2 = scratch + 48; /* [5, 6] */
    for (long item = begin; item < end; item++) {
        const long axis0 = item;
        rt->gather(5, 6, gathered, 6, a->wte, 6, 11, a->tokens + axis0 * 5);
        rt->i32->iota(1, 5, numbers, 0, 0, 0, 1);
        rt->gather(5, 6, gathered2, 6, a->wpe, 6, 8, numbers);
        rt->add_vv(5, 6, a->out + axis0 * 30, 6, gathered, 6, gathered2, 6);
    }
}

/* Computes the outputs. */
int gather_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 80; /* for each thread */
    float *const scratch = arena + 0;
    const int *const in_tokens = inputs[0]; /* tokens[2, 5] */
    float *const out_y = outputs[0]; /* y[2, 5, 6] */
    {
        const struct k1_args args = {
            .rt = rt,
            .wte = weights, /* wte[11, 6] */
            .tokens = in_tokens, /* tokens[2, 5] */
            .wpe = weights + 80, /* wpe[8, 6] */
            .out = out_y, /* y[2, 5, 6] */
        };
        rt->parallel(pool, 2, 1, k1_y, &args, scratch, scratch_floats);
    }
    return 0;
}
