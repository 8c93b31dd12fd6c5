
/*
 * k1_state_cache: state_cache, tests/golden/state_cache.lua:5
 * out[2, 8] = rows[2, 8] x columns[8, 8]
 * 256 flop, reads 320 B, writes 64 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 8] */
    const float *wk; /* [8, 8], packed */
    float *out; /* [2, 8] */
};

static void k1_state_cache(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(2, 8, 8, a->x, 8, 1, a->wk, 256, a->out, 8, 0, 0, 0, 0, 16384);
}

/*
 * k2_next_keys: next keys, tests/golden/state_cache.lua:5
 * out[16, 8], of which rows are written
 * 16 flop, reads 68 B, writes 64 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_state_cache; /* [2, 8] */
    const int *at; /* [] */
    float *out; /* [16, 8] */
};

static void k2_next_keys(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long outer0 = item;
        const long to = outer0 + (a->at[0] < 16 ? a->at[0] : 16);
        if (to >= 0 && to < 16)
            rt->load(1, 8, a->out + to * 8, 0, a->k1_state_cache + outer0 * 8, 0, 1);
    }
}

/*
 * k3_next_at: next at, tests/golden/state_cache.lua:7
 * out[]
 * steps: add
 * 3 flop, reads 4 B, writes 4 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const int *at; /* [] */
    int *out; /* [] */
};

static void k3_next_at(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const column = (int *)scratch, *const add = column; /* [1], one number a row */
    rt->i32->load(1, 1, column, 0, &(const int){2}, 0, 0);
    rt->i32->add_sv(1, 1, add, 0, a->at, 0, column, 0);
    rt->i32->store(1, 1, a->out, 0, 0, add, 0);
}

/*
 * k4_scores: scores, tests/golden/state_cache.lua:8
 * out[2, 16] = rows[2, 8] x columns[8, 16]
 * 512 flop, reads 576 B, writes 128 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 8] */
    const float *k2_next_keys; /* [16, 8] */
    float *out; /* [2, 16] */
};

static void k4_scores(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const panels = scratch; /* packed columns */
    rt->pack(8, 16, panels, 256, a->k2_next_keys, 1, 8);
    rt->gemm(2, 16, 8, a->x, 8, 1, panels, 256, a->out, 16, 0, 0, 0, 0, 16384);
}

/* Computes the outputs. */
int model_state_cache_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 256; /* for each thread */
    float *const scratch = arena + 16;
    const float *const in_x = inputs[0]; /* x[2, 8] */
    int *const state_at = (void *)inputs[1]; /* at[] */
    float *const state_keys = (void *)inputs[2]; /* keys[16, 8] */
    float *const out_scores = outputs[0]; /* scores[2, 16] */
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 8] */
            .wk = weights, /* wk[8, 8], packed */
            .out = arena, /* state_cache[2, 8] */
        };
        rt->parallel(pool, 1, 1, k1_state_cache, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .k1_state_cache = arena, /* state_cache[2, 8] */
            .at = state_at, /* at[] */
            .out = state_keys, /* next keys[16, 8] */
        };
        rt->parallel(pool, 2, 1, k2_next_keys, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .at = state_at, /* at[] */
            .out = state_at, /* next at[] */
        };
        rt->parallel(pool, 1, 1, k3_next_at, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 8] */
            .k2_next_keys = state_keys, /* next keys[16, 8] */
            .out = out_scores, /* scores[2, 16] */
        };
        rt->parallel(pool, 1, 1, k4_scores, &args, scratch, scratch_floats);
    }
    return 0;
}
