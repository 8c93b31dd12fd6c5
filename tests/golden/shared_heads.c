
/*
 * k1_next_keys: next keys, tests/golden/shared_heads.lua:10
 * out[4, 1, 96, 16], of which rows are written
 * 2.56 kflop, reads 10.24 kB, writes 10.24 kB
 */
struct k1_args {
    const struct cr_runtime *rt;
    const float *new_keys; /* [4, 1, n, 16] */
    const int *at; /* [] */
    long n; /* n, at most 40 */
    float *out; /* [4, 1, 96, 16] */
};

static void k1_next_keys(const void *args, long begin, long end, float *scratch)
{
    const struct k1_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        const long n_index = item;
        const long to = n_index + (a->at[0] < 96 ? a->at[0] : 96);
        if (to >= 0 && to < 96)
            rt->load(4, 16, a->out + to * 16, 1536, a->new_keys + n_index * 16, 640, 1);
    }
}

/*
 * k2_values: values, tests/golden/shared_heads.lua:17
 * out[4, 3, 40, 16] = softmax(q[40, 16] x k[16, 96]) x v[96, 16] for each head
 * scores times 0.25, 1 / sqrt(16)
 * mask: query i sees keys j <= i
 * 2.35 Mflop, reads 79.88 kB, writes 30.72 kB
 */
struct k2_args {
    const struct cr_runtime *rt;
    const int *at; /* [] */
    const float *queries; /* [4, 3, n, 16] */
    const float *k1_next_keys; /* [4, 1, 96, 16] */
    const float *v3_k1_next_keys; /* [4, 1, 96, 16] */
    long n; /* n, at most 40 */
    float *out; /* [4, 3, n, 16] */
};

static void k2_values(const void *args, long begin, long end, float *scratch)
{
    const struct k2_args *a = args;
    const struct cr_runtime *rt = a->rt;
    float *const values = scratch; /* packed values */
    float *const queries = scratch + 3072; /* packed queries of a step */
    float *const scores = scratch + 3584; /* a block of keys x queries */
    float *const sums = scratch + 6656; /* of exp(score - max) * value */
    float *const max = scratch + 8576; /* of a query's scores so far */
    float *const sum = scratch + 8640; /* of exp(score - max) so far */
    float *const scale = scratch + 8704; /* exp(old max - new max) */
    for (long item = begin; item < end; item++) {
        const long head = item % 3;
        const long batch = item / 3;
        const long query1 = a->n;
        const long before = a->at[0]; /* the position of query 0 */
        const long few = query1 < 4 ? query1 : 0;
            /* queries before it read keys and values in place */
        if (head % 2 == 0) { /* heads from this one on share keys */
            const long last = head + 2 < 3 ? head + 2 : 3;
            for (long query = 0; query < few; query++) {
                for (long member = head; member < last; member++) {
                    rt->load(1, 1, max + member, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
                    rt->load(1, 1, sum + member, 0, &(const float){0.0f}, 0, 0);
                    rt->load(1, 16, sums + member * 32, 0, &(const float){0.0f}, 0, 0);
                }
                long end_key = 96;
                if (query + before + 1 < end_key)
                    end_key = query + before + 1;
                for (long key = 0; key < end_key; key += 128) {
                    const long n_keys = end_key - key < 128 ? end_key - key : 128;
                    rt->dots(n_keys, 16, last - head, scores + head * 96, 96,
                        a->k1_next_keys + batch * 1536 + key * 16, 16,
                        a->queries + batch * 1920 + head * 640 + query * 16, 640);
                    for (long member = head; member < last; member++) {
                        if (key + n_keys > query + before +
                            1) /* some query does not see some key */
                            rt->hide(n_keys, 1, scores + member * 96, 1, key - (query + before), 1,
                                CR_MINUS_INFINITY);
                        rt->softmax_row(n_keys, scores + member * 96, 0.25f, max + member,
                            sum + member, scale + member);
                    }
                    rt->add_rows(n_keys, 16, last - head, sums + head * 32, 32, scores + head * 96,
                        96, a->v3_k1_next_keys + batch * 1536 + key * 16, 16, scale + head);
                }
                for (long member = head; member < last; member++) {
                    rt->div_vs(1, 16, a->out + batch * 1920 + member * 640 + query * 16, 16,
                        sums + member * 32, 32, sum + member, 1);
                }
            }
        }
        long visible = few < query1 ? 96 : 0; /* keys that any query sees lie before */
        if (query1 + before < visible)
            visible = query1 + before;
        if (visible < 0)
            visible = 0;
        if (item == begin || head == 0) /* the first of the heads that share these */
            rt->pack(visible, 16, values, 3072, a->v3_k1_next_keys + batch * 1536, 16, 1);
        for (long query = few; query < query1; query += 20) {
            const long n_queries = query1 - query < 20 ? query1 - query : 20;
            rt->load(1, n_queries, max, 0, &(const float){CR_MINUS_INFINITY}, 0, 0);
            rt->load(1, n_queries, sum, 0, &(const float){0.0f}, 0, 0);
            rt->load(n_queries, 16, sums, 32, &(const float){0.0f}, 0, 0);
            long end_key = visible;
            if (query + before + n_queries < end_key)
                end_key = query + before + n_queries;
            const long next_head = head + (head + 1 < 3); /* prefetched */
            rt->fetch(n_queries, 16, a->queries + batch * 1920 + next_head * 640 + query * 16, 16);
            rt->pack(16, n_queries, queries, 512,
                a->queries + batch * 1920 + head * 640 + query * 16, 1, 16);
            for (long key = 0; key < end_key; key += 128) {
                const long n_keys = end_key - key < 128 ? end_key - key : 128;
                rt->gemm_band(n_keys, n_queries, 16, a->k1_next_keys + batch * 1536 + key * 16, 16,
                    1, queries, 512, scores, 32, key - (query + before), n_queries);
                if (key + n_keys > query + before + 1) /* some query does not see some key */
                    rt->hide(n_keys, n_queries, scores, 32, key - (query + before), n_queries,
                        CR_MINUS_INFINITY);
                rt->softmax_block(n_keys, n_queries, scores, 32, 0.25f, max, sum, scale);
                rt->gemm_scaled(n_queries, 16, n_keys, scores, 1, 32, values + key * 32, 3072, sums,
                    32, scale, -n_queries, query + before - key + 1, 0, 0);
            }
            rt->div_vs(n_queries, 16, a->out + batch * 1920 + head * 640 + query * 16, 16, sums, 32,
                sum, 1);
        }
    }
}

/*
 * k3_next_at: next at, tests/golden/shared_heads.lua:6
 * out[]
 * steps: add
 * 3 flop, reads 8 B, writes 4 B
 */
struct k3_args {
    const struct cr_runtime *rt;
    const int *at; /* [] */
    const int *n; /* [] */
    int *out; /* [] */
};

static void k3_next_at(const void *args, long begin, long end, float *scratch)
{
    const struct k3_args *a = args;
    const struct cr_runtime *rt = a->rt;
    (void)begin, (void)end; /* there is one item */
    int *const column = (int *)scratch, *const add = column; /* [1], one number a row */
    rt->i32->load(1, 1, column, 0, a->n, 0, 0);
    rt->i32->add_sv(1, 1, add, 0, a->at, 0, column, 0);
    rt->i32->store(1, 1, a->out, 0, 0, add, 0);
}

/* Computes the outputs. */
int shared_heads_execute(const struct cr_runtime *rt, struct cr_pool *pool,
    const float *weights, const void *const *inputs, void *const *outputs, float *arena)
{
    const long scratch_floats = 8768; /* for each thread */
    float *const scratch = arena + 0;
    const int *const in_n = inputs[0]; /* n[] */
    int *const state_at = (void *)inputs[1]; /* at[] */
    const float *const in_queries = inputs[2]; /* queries[4, 3, n, 16] */
    float *const state_keys = (void *)inputs[3]; /* keys[4, 1, 96, 16] */
    const float *const in_new_keys = inputs[4]; /* new_keys[4, 1, n, 16] */
    float *const state_values = (void *)inputs[5]; /* values[4, 1, 96, 16] */
    const float *const in_new_values = inputs[6]; /* new_values[4, 1, n, 16] */
    float *const out_values = outputs[0]; /* values[4, 3, n, 16] */
    const long length_n = *(const int *)inputs[0]; /* n */
    if (length_n < 1 || length_n > 40)
        return 1;
    (void)weights;
    {
        const struct k1_args args = {
            .rt = rt,
            .new_keys = in_new_keys, /* new_keys[4, 1, n, 16] */
            .at = state_at, /* at[] */
            .n = length_n,
            .out = state_keys, /* next keys[4, 1, 96, 16] */
        };
        rt->parallel(pool, args.n, 2, k1_next_keys, &args, scratch, scratch_floats);
    }
    {
        const struct k1_args args = {
            .rt = rt,
            .new_keys = in_new_values, /* new_values[4, 1, n, 16] */
            .at = state_at, /* at[] */
            .n = length_n,
            .out = state_values, /* next values[4, 1, 96, 16] */
        };
        rt->parallel(pool, args.n, 2, k1_next_keys, &args, scratch, scratch_floats);
    }
    {
        const struct k2_args args = {
            .rt = rt,
            .at = state_at, /* at[] */
            .queries = in_queries, /* queries[4, 3, n, 16] */
            .k1_next_keys = state_keys, /* next keys[4, 1, 96, 16] */
            .v3_k1_next_keys = state_values, /* next values[4, 1, 96, 16] */
            .n = length_n,
            .out = out_values, /* values[4, 3, n, 16] */
        };
        rt->parallel(pool, 12, 12, k2_values, &args, scratch, scratch_floats);
    }
    {
        const struct k3_args args = {
            .rt = rt,
            .at = state_at, /* at[] */
            .n = in_n, /* n[] */
            .out = state_at, /* next at[] */
        };
        rt->parallel(pool, 1, 1, k3_next_at, &args, scratch, scratch_floats);
    }
    return 0;
}
