
/*
 * k1_middle: middle, tests/golden/columns.lua:5
 * out[3, 1, 40] = sum over 50 rows of columns[40]
 * steps: fma, sum
 * 24 kflop, reads 24.16 kB, writes 480 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [3, 50, 40] */
    const float *b; /* [40] */
    float *out; /* [3, 1, 40] */
};

static void k1_middle(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const lanes = scratch; /* 16 partial results a column */
    float *const tile = scratch + 640; /* what is reduced */
    for (long item = begin; item < end; item++) {
        const long axis0 = item;
        rt->load(16, 40, lanes, 40, &(const float){0.0f}, 0, 0);
        for (long row = 0; row < 50; row += 16) {
            const long m = 50 - row < 16 ? 50 - row : 16;
            rt->fma_vvv(m, 40, tile, 40, a->x + axis0 * 2000 + row * 40, 40,
                a->x + axis0 * 2000 + row * 40, 40, a->b, 0);
            rt->sum_down(m, 40, lanes, tile, 40);
        }
        rt->sum_lanes(40, lanes);
        rt->store(1, 40, a->out + axis0 * 40, 0, 1, lanes, 0);
    }
}

/*
 * k2_first: first, tests/golden/columns.lua:6
 * out[1, 50, 40] = sum over 3 rows of columns[40]
 * steps: sum
 * 12 kflop, reads 24 kB, writes 8 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *x; /* [3, 50, 40] */
    float *out; /* [1, 50, 40] */
};

static void k2_first(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const lanes = scratch; /* 16 partial results a column */
    for (long item = begin; item < end; item++) {
        const long axis1 = item;
        rt->load(16, 40, lanes, 40, &(const float){0.0f}, 0, 0);
        rt->sum_down(3, 40, lanes, a->x + axis1 * 40, 2000);
        rt->sum_lanes(40, lanes);
        rt->store(1, 40, a->out + axis1 * 40, 0, 1, lanes, 0);
    }
}

/*
 * k3_largest: largest, tests/golden/columns.lua:7
 * out[3, 1, 40] = max over 50 rows of columns[40]
 * steps: sub, max
 * 24 kflop, reads 24.16 kB, writes 480 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *x; /* [3, 50, 40] */
    const float *b; /* [40] */
    float *out; /* [3, 1, 40] */
};

static void k3_largest(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const lanes = scratch; /* 16 partial results a column */
    float *const tile = scratch + 640; /* what is reduced */
    for (long item = begin; item < end; item++) {
        const long axis0 = item;
        rt->load(16, 40, lanes, 40, &(const float){CR_MINUS_INFINITY}, 0, 0);
        for (long row = 0; row < 50; row += 16) {
            const long m = 50 - row < 16 ? 50 - row : 16;
            rt->sub_vv(m, 40, tile, 40, a->x + axis0 * 2000 + row * 40, 40, a->b, 0);
            rt->max_down(m, 40, lanes, tile, 40);
        }
        rt->max_lanes(40, lanes);
        rt->store(1, 40, a->out + axis0 * 40, 0, 1, lanes, 0);
    }
}

/*
 * k4_row: row, tests/golden/columns.lua:8
 * out[1, 40] = sum over 50 rows of columns[40]
 * steps: float, sum
 * 6 kflop, reads 0 B, writes 160 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    float *out; /* [1, 40] */
};

static void k4_row(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const lanes = scratch; /* 16 partial results a column */
    float *const tile = scratch + 640; /* what is reduced */
    int *const numbers = (int *)scratch + 1280; /* [16], one number a row */
    float *const float1 = scratch + 1296; /* [16], one number a row */
    rt->load(16, 40, lanes, 40, &(const float){0.0f}, 0, 0);
    for (long row = 0; row < 50; row += 16) {
        const long m = 50 - row < 16 ? 50 - row : 16;
        rt->i32->iota(1, m, numbers, 0, row, 0, 1);
        rt->i32->float_v(1, m, float1, 0, numbers, 0);
        rt->load(m, 40, tile, 40, float1, 1, 0);
        rt->sum_down(m, 40, lanes, tile, 40);
    }
    rt->sum_lanes(40, lanes);
    rt->store(1, 40, a->out, 0, 1, lanes, 0);
}

/* Computes the outputs. */
int columns_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 1312; /* for each thread */
    float *const scratch = arena + 0;
    const float *const in_x = inputs[0]; /* x[3, 50, 40] */
    const float *const in_b = inputs[1]; /* b[40] */
    float *const out_first = outputs[0]; /* first[1, 50, 40] */
    float *const out_largest = outputs[1]; /* largest[3, 1, 40] */
    float *const out_middle = outputs[2]; /* middle[3, 1, 40] */
    float *const out_row = outputs[3]; /* row[1, 40] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[3, 50, 40] */
            .b = in_b, /* b[40] */
            .out = out_middle, /* middle[3, 1, 40] */
        };
        rt->parallel(pool, 3, 3, k1_middle, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .x = in_x, /* x[3, 50, 40] */
            .out = out_first, /* first[1, 50, 40] */
        };
        rt->parallel(pool, 50, 3, k2_first, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .x = in_x, /* x[3, 50, 40] */
            .b = in_b, /* b[40] */
            .out = out_largest, /* largest[3, 1, 40] */
        };
        rt->parallel(pool, 3, 3, k3_largest, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .out = out_row, /* row[1, 40] */
        };
        rt->parallel(pool, 1, 1, k4_row, &args, scratch, scratch_floats);
    }
    return 0;
}
