
/*
 * k1_cumsum_mul: cumsum.mul, tests/golden/cumsum.lua:3
 * out[2, 5, 700]
 * steps: mul
 * 21 kflop, reads 28 kB, writes 28 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *x; /* [2, 5, 700] */
    float *out; /* [2, 5, 700] */
};

static void k1_cumsum_mul(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row = item;
        for (long col = 0; col < 700; col += 256) {
            const long n = 700 - col < 256 ? 700 - col : 256;
            rt->mul_vs(1, n, a->out + row * 700 + col, 700, a->x + row * 700 + col, 700,
                &(const float){2.0f}, 0);
        }
    }
}

/*
 * k2_y: y, tests/golden/cumsum.lua:3
 * out[2, 5, 700] = running sums over 5
 * 7 kflop, reads 28 kB, writes 28 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const float *k1_cumsum_mul; /* [2, 5, 700] */
    float *out; /* [2, 5, 700] */
};

static void k2_y(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row = item / 2;
        const long col0 = item % 2 * 350; /* the first of 350 columns */
        rt->cumsum(5, 350, a->out + row * 3500 + col0, 700, a->k1_cumsum_mul + row * 3500 + col0,
            700);
    }
}

/*
 * k3_d_cumsum_add: gradient of cumsum.add, tests/golden/cumsum.lua:4
 * out[2, 5, 700]
 * steps: add
 * 14 kflop, reads 28 kB, writes 28 kB
 */
struct k3_args {
    const struct cr_runtime *rt;
    const float *k2_y; /* [2, 5, 700] */
    float *out; /* [2, 5, 700] */
};

static void k3_d_cumsum_add(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row = item;
        for (long col = 0; col < 700; col += 256) {
            const long n = 700 - col < 256 ? 700 - col : 256;
            rt->add_vv(1, n, a->out + row * 700 + col, 700, a->k2_y + row * 700 + col, 700,
                a->k2_y + row * 700 + col, 700);
        }
    }
}

/*
 * k4_d_cumsum_cumsum: gradient of cumsum.cumsum, tests/golden/cumsum.lua:3
 * out[2, 5, 700] = running sums over 5, from the last
 * 7 kflop, reads 28 kB, writes 28 kB
 */
struct k4_args {
    const struct cr_runtime *rt;
    const float *k3_d_cumsum_add; /* [2, 5, 700] */
    float *out; /* [2, 5, 700] */
};

static void k4_d_cumsum_cumsum(const void *args, long begin, long end, float *scratch)
{
    const struct k4_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row = item / 2;
        const long col0 = item % 2 * 350; /* the first of 350 columns */
        rt->cumsum(5, 350, a->out + row * 3500 + col0 + 2800, -700,
            a->k3_d_cumsum_add + row * 3500 + col0 + 2800, -700);
    }
}

/*
 * k5_cumsum_iota: cumsum.iota, tests/golden/cumsum.lua:5
 * out[5, 9]
 * 45 flop, reads 0 B, writes 180 B
 */
struct k5_args {
    const struct cr_runtime *rt;
    int *out; /* [5, 9] */
};

static void k5_cumsum_iota(const void *args, long begin, long end, float *scratch)
{
    const struct k5_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const numbers = (int *)scratch; /* [5, 9] */
    rt->i32->iota(5, 9, numbers, 9, 0, 0, 1);
    rt->i32->load(5, 9, a->out, 9, numbers, 9, 1);
}

/*
 * k6_i: i, tests/golden/cumsum.lua:5
 * out[5, 9] = running sums over 9, from the last
 * 45 flop, reads 180 B, writes 180 B
 */
struct k6_args {
    const struct cr_runtime *rt;
    const int *k5_cumsum_iota; /* [5, 9] */
    int *out; /* [5, 9] */
};

static void k6_i(const void *args, long begin, long end, float *scratch)
{
    const struct k6_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long row = item;
        rt->i32->cumsum(9, 1, a->out + row * 9 + 8, -1, a->k5_cumsum_iota + row * 9 + 8, -1);
    }
}

/* Computes the outputs. */
int cumsum_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 48; /* for each thread */
    float *const scratch = arena + 14016;
    const float *const in_x = inputs[0]; /* x[2, 5, 700] */
    float *const out_g = outputs[0]; /* g[2, 5, 700] */
    int *const out_i = outputs[1]; /* i[5, 9] */
    float *const out_y = outputs[2]; /* y[2, 5, 700] */
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .x = in_x, /* x[2, 5, 700] */
            .out = arena, /* cumsum.mul[2, 5, 700] */
        };
        rt->parallel(pool, 10, 6, k1_cumsum_mul, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .k1_cumsum_mul = arena, /* cumsum.mul[2, 5, 700] */
            .out = out_y, /* y[2, 5, 700] */
        };
        rt->parallel(pool, 4, 4, k2_y, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .k2_y = out_y, /* y[2, 5, 700] */
            .out = arena, /* gradient of cumsum.add[2, 5, 700] */
        };
        rt->parallel(pool, 10, 5, k3_d_cumsum_add, &args, scratch, scratch_floats);
    }
    {
        const struct k4_args args = {
            .rt = rt,
            .k3_d_cumsum_add = arena, /* gradient of cumsum.add[2, 5, 700] */
            .out = arena + 7008, /* gradient of cumsum.cumsum[2, 5, 700] */
        };
        rt->parallel(pool, 4, 4, k4_d_cumsum_cumsum, &args, scratch, scratch_floats);
    }
    {
        const struct k1_args args = {
            .rt = rt,
            .x = arena + 7008, /* gradient of cumsum.cumsum[2, 5, 700] */
            .out = out_g, /* gradient of x[2, 5, 700] */
        };
        rt->parallel(pool, 10, 6, k1_cumsum_mul, &args, scratch, scratch_floats);
    }
    {
        const struct k5_args args = {
            .rt = rt,
            .out = (int *)arena, /* cumsum.iota[5, 9] */
        };
        rt->parallel(pool, 1, 1, k5_cumsum_iota, &args, scratch, scratch_floats);
    }
    {
        const struct k6_args args = {
            .rt = rt,
            .k5_cumsum_iota = (int *)arena, /* cumsum.iota[5, 9] */
            .out = out_i, /* i[5, 9] */
        };
        rt->parallel(pool, 5, 1, k6_i, &args, scratch, scratch_floats);
    }
    return 0;
}
