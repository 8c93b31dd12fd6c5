
/*
 * k1_rows: rows, tests/golden/integers.lua:5
 * out[6, 5]
 * steps: mul, sub, abs
 * 210 flop, reads 144 B, writes 120 B
 */
struct k1_args {
    const struct cr_runtime *rt;
    const int *table; /* [9, 5] */
    const int *ids; /* [6] */
    int *out; /* [6, 5] */
};

static void k1_rows(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const mul = (int *)scratch, *const sub = mul, *const abs = mul; /* [6], one number a row */
    int *const gathered = (int *)scratch + 16; /* [6, 5] */
    rt->i32->mul_vs(1, 6, mul, 0, a->ids, 0, &(const int){7}, 0);
    rt->i32->sub_vs(1, 6, sub, 0, mul, 0, &(const int){3}, 0);
    rt->i32->abs_v(1, 6, abs, 0, sub, 0);
    rt->i32->gather(6, 5, gathered, 5, a->table, 5, 9, abs);
    rt->i32->load(6, 5, a->out, 5, gathered, 5, 1);
}

/*
 * k2_first: first, tests/golden/integers.lua:7
 * out[9, 1]
 * steps: max, eq, neg, where, max, neg
 * 405 flop, reads 180 B, writes 36 B
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *x; /* [9, 5] */
    int *out; /* [9, 1] */
};

static void k2_first(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const max = scratch; /* [9], one number a row */
    float *const eq = scratch + 16; /* [9, 5] */
    /* [9, 5] */
    int *const numbers = (int *)scratch + 64, *const neg = numbers, *const where = numbers;
    int *const max2 = (int *)scratch + 112, *const neg2 = max2; /* [9], one number a row */
    rt->max(9, 5, max, a->x, 5);
    rt->eq_vs(9, 5, eq, 5, a->x, 5, max, 1);
    rt->i32->iota(9, 5, numbers, 5, 0, 0, 1);
    rt->i32->neg_v(9, 5, neg, 5, numbers, 5);
    rt->i32->where_vvs(9, 5, where, 5, eq, 5, neg, 5, &(const int){-2147483647 - 1}, 0);
    rt->i32->max(9, 5, max2, where, 5);
    rt->i32->neg_v(1, 9, neg2, 0, max2, 0);
    rt->i32->store(1, 9, a->out, 0, 1, neg2, 0);
}

/*
 * k3_along: along, tests/golden/integers.lua:8
 * out[6, 1]
 * steps: mul, sum
 * 90 flop, reads 120 B, writes 24 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const int *k1_rows; /* [6, 5] */
    int *out; /* [6, 1] */
};

static void k3_along(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const square = (int *)scratch; /* [6, 5] */
    int *const sum = (int *)scratch + 32; /* [6], one number a row */
    rt->i32->mul_vv(6, 5, square, 5, a->k1_rows, 5, a->k1_rows, 5);
    rt->i32->sum(6, 5, sum, square, 5);
    rt->i32->store(1, 6, a->out, 0, 1, sum, 0);
}

/*
 * k4_down: down, tests/golden/integers.lua:8
 * out[1, 5] = max over 9 rows of columns[5]
 * steps: max
 * 90 flop, reads 180 B, writes 20 B
 */
struct k4_args {
    const struct cr_runtime *rt;
    const int *table; /* [9, 5] */
    int *out; /* [1, 5] */
};

static void k4_down(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const lanes = (int *)scratch; /* 16 partial results a column */
    rt->i32->load(16, 5, lanes, 5, &(const int){-2147483647 - 1}, 0, 0);
    rt->i32->max_down(9, 5, lanes, a->table, 5);
    rt->i32->max_lanes(5, lanes);
    rt->i32->store(1, 5, a->out, 0, 1, lanes, 0);
}

/*
 * k5_scaled: scaled, tests/golden/integers.lua:9
 * out[9, 5]
 * steps: float, mul
 * 180 flop, reads 360 B, writes 180 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    const float *x; /* [9, 5] */
    const int *table; /* [9, 5] */
    float *out; /* [9, 5] */
};

static void k5_scaled(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    float *const float1 = scratch; /* [9, 5] */
    rt->i32->float_v(9, 5, float1, 5, a->table, 5);
    rt->mul_vv(9, 5, a->out, 5, a->x, 5, float1, 5);
}

/* Computes the outputs. */
int integers_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 128; /* for each thread */
    float *const scratch = arena + 0;
    const int *const in_ids = inputs[0]; /* ids[6] */
    const int *const in_table = inputs[1]; /* table[9, 5] */
    const float *const in_x = inputs[2]; /* x[9, 5] */
    int *const out_along = outputs[0]; /* along[6, 1] */
    int *const out_down = outputs[1]; /* down[1, 5] */
    int *const out_first = outputs[2]; /* first[9, 1] */
    int *const out_rows = outputs[3]; /* rows[6, 5] */
    float *const out_scaled = outputs[4]; /* scaled[9, 5] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .table = in_table, /* table[9, 5] */
            .ids = in_ids, /* ids[6] */
            .out = out_rows, /* rows[6, 5] */
        };
        rt->parallel(pool, 1, 1, k1_rows, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .x = in_x, /* x[9, 5] */
            .out = out_first, /* first[9, 1] */
        };
        rt->parallel(pool, 1, 1, k2_first, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .k1_rows = out_rows, /* rows[6, 5] */
            .out = out_along, /* along[6, 1] */
        };
        rt->parallel(pool, 1, 1, k3_along, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .table = in_table, /* table[9, 5] */
            .out = out_down, /* down[1, 5] */
        };
        rt->parallel(pool, 1, 1, k4_down, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .x = in_x, /* x[9, 5] */
            .table = in_table, /* table[9, 5] */
            .out = out_scaled, /* scaled[9, 5] */
        };
        rt->parallel(pool, 1, 1, k5_scaled, &args, scratch, scratch_floats);
    }
    return 0;
}
