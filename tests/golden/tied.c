
/*
 * k1_x: x, tests/golden/tied.lua:6
 * out[2, 5, 6]
 * 120 flop, reads 280 B, writes 240 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *wte; /* [70, 6], packed */
    const int *ids; /* [2, 5] */
    float *out; /* [2, 5, 6] */
};

static void k1_x(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const gathered = scratch; /* [10, 6] */
    rt->gather_panels(10, 6, gathered, 6, a->wte, 192, 70, a->ids);
    rt->load(10, 6, a->out, 6, gathered, 6, 1);
}

/*
 * k2_at: at, tests/golden/tied.lua:6
 * out[5, 5]
 * 50 flop, reads 100 B, writes 100 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *wpe; /* [6, 5] */
    float *out; /* [5, 5] */
};

static void k2_at(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const numbers = (int *)scratch; /* [5], one number a row */
    float *const gathered = scratch + 16; /* [5, 5] */
    rt->i32->iota(1, 5, numbers, 0, 0, 0, 1);
    rt->gather(5, 5, gathered, 5, a->wpe, 5, 6, numbers);
    rt->load(5, 5, a->out, 5, gathered, 5, 1);
}

/*
 * k3_logits: logits, tests/golden/tied.lua:7
 * out[2, 5, 70] = rows[10, 6] x columns[6, 70]
 * 8.4 kflop, reads 1.92 kB, writes 2.8 kB
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *k1_x; /* [2, 5, 6] */
    const float *wte; /* [6, 70], packed */
    float *out; /* [2, 5, 70] */
};

static void k3_logits(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(10, 70, 6, a->k1_x, 6, 1, a->wte, 192, a->out, 70, 0, 0, 0, 0, 16384);
}

/*
 * k4_tied: tied, tests/golden/tied.lua:8
 * out[6, 1]
 * steps: sum
 * 60 flop, reads 120 B, writes 24 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *wpe; /* [6, 5] */
    float *out; /* [6, 1] */
};

static void k4_tied(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const sum = scratch; /* [6], one number a row */
    rt->sum(6, 5, sum, a->wpe, 5);
    rt->store(1, 6, a->out, 0, 1, sum, 0);
}

/*
 * k5_places: places, tests/golden/tied.lua:8
 * out[5, 6] = rows[5, 5] x columns[5, 6]
 * then: add
 * 300 flop, reads 244 B, writes 120 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *k4_tied; /* [6, 1] */
    const float *k2_at; /* [5, 5] */
    const float *wpe; /* [5, 6], packed */
    float *out; /* [5, 6] */
};

static void k5_places(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    (void)scratch;
    rt->gemm(5, 6, 5, a->k2_at, 5, 1, a->wpe, 160, a->out, 6, 0, 0, a->k4_tied, 0, 16384);
}

/* Computes the outputs. */
int tied_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 64; /* for each thread */
    float *const scratch = arena + 16;
    const int *const in_ids = inputs[0]; /* ids[2, 5] */
    float *const out_at = outputs[0]; /* at[5, 5] */
    float *const out_logits = outputs[1]; /* logits[2, 5, 70] */
    float *const out_places = outputs[2]; /* places[5, 6] */
    float *const out_x = outputs[3]; /* x[2, 5, 6] */
    {
        const struct k1_args args = {
            .rt = rt,
            .wte = weights + 32, /* wte[70, 6], packed */
            .ids = in_ids, /* ids[2, 5] */
            .out = out_x, /* x[2, 5, 6] */
        };
        rt->parallel(pool, 1, 1, k1_x, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .wpe = weights, /* wpe[6, 5] */
            .out = out_at, /* at[5, 5] */
        };
        rt->parallel(pool, 1, 1, k2_at, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .k1_x = out_x, /* x[2, 5, 6] */
            .wte = weights + 32, /* wte[6, 70], packed */
            .out = out_logits, /* logits[2, 5, 70] */
        };
        rt->parallel(pool, 1, 1, k3_logits, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .wpe = weights, /* wpe[6, 5] */
            .out = arena, /* tied[6, 1] */
        };
        rt->parallel(pool, 1, 1, k4_tied, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .k4_tied = arena, /* tied[6, 1] */
            .k2_at = out_at, /* at[5, 5] */
            .wpe = weights + 608, /* wpe[5, 6], packed */
            .out = out_places, /* places[5, 6] */
        };
        rt->parallel(pool, 1, 1, k5_places, &args, scratch, scratch_floats);
    }
    return 0;
}
