/*
 * The gradients of attention without any matrix of queries by keys (Dao et al. 2022).
 *
 * An item is a (batch, head).  For each few queries the scores of all keys they see are made
 * twice: for the maximum and the sum of softmax, and, block by block, for the probabilities and
 * what follows from them.  Blocks stand transposed, keys down and queries across, as in the
 * forward pass.  Each gradient is one chain of sums, over queries or over keys in order,
 * whatever the number of threads.
 *
 * Blocks that a mask hides are skipped only where nothing can become NaN in them: where keys,
 * delta and the sums of softmax are finite, and with delta and the sums the values, the queries
 * and the output's gradients.
 */
#include <stdio.h>

#include "attention.h"

/* A (batch, head). */
struct backward_shape {
    int64_t M, keys, K, N;
    int64_t rows;  /* queries of a step */
    int64_t block; /* keys of one */
};

static struct backward_shape backward_shape(const struct cr_kernel *k)
{
    struct backward_shape s = {.M = cr_extent(k, k->row), .keys = k->keys, .K = k->K, .N = k->N};
    s.rows = cr_min(s.M, QUERY_ROWS);
    s.block = cr_min(s.keys, KEY_BLOCK);
    return s;
}

static void take_backward_scratch(struct cr_printer *p, const struct backward_shape *s)
{
    cr_take_scratch(p, "keys", s->keys * cr_round_up(s->K, PANEL), "packed keys");
    cr_take_scratch(p, "queries", s->K * PANEL, "packed queries of a step, transposed ...");
    cr_take_scratch(p, "query_rows", s->rows * cr_round_up(s->K, PANEL), "... and as they are");
    cr_take_scratch(p, "grads", s->N * PANEL, "their output's gradients, transposed ...");
    cr_take_scratch(p, "grad_rows", s->rows * cr_round_up(s->N, PANEL), "... and as they are");
    cr_take_scratch(p, "scores", s->block * PANEL, "then probabilities: a block of keys x queries");
    cr_take_scratch(p, "dscores", s->block * PANEL, "their gradients");
    if (p->k->dropout.n)
        cr_take_scratch(p, "dropout", s->block * PANEL, "factors of the probabilities");
    if (p->k->chooses)
        cr_take_scratch(p, "weights", s->block * PANEL, "the probabilities times those");
    cr_take_scratch(p, "max", s->rows, "of a query's scores; then minus that");
    cr_take_scratch(p, "sum", s->rows, "of exp(score - max); then its reciprocal");
    cr_take_scratch(p, "scale", s->rows, "exp(old max - new max)");
    cr_take_scratch(p, "delta", s->rows, "minus sum(output * its gradient)");
}

/* Where a result's rows from `first` on lie. */
static void print_result(const struct cr_printer *p, char *at, const struct cr_affine *dest,
                         int row, const char *first)
{
    cr_print_address(p, at, CR_ADDRESS_SIZE, -1, dest, row, first, -1, "");
}

/* Fills rows of a result with zeros, which sums begin with. */
static void print_zeros(struct cr_printer *p, int indent, const char *rows, int64_t cols,
                        const char *at, int64_t step)
{
    char zero[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_put_line(p->text, indent, "rt->load(%s, %lld, %s, %lld, %s, 0, 0);", rows, (long long)cols,
                at, (long long)step, zero);
}

static void print_item_start(struct cr_printer *p, const struct backward_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], keys[32];
    snprintf(keys, sizeof keys, "%lld", (long long)s->keys);
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(%s, %lld, keys, %lld, %s, %lld, %lld);", keys,
                (long long)s->K, (long long)(s->keys * PANEL), at,
                (long long)cr_step(&k->b.at, k->key), (long long)cr_step(&k->b.at, k->k));
    cr_print_finite(p, "keys_finite", &k->b, k->key, k->k);
    print_result(p, at, &k->dest_k, -1, "");
    print_zeros(p, 8, keys, s->K, at, cr_step(&k->dest_k, k->key));
    print_result(p, at, &k->dest_v, -1, "");
    print_zeros(p, 8, keys, s->N, at, cr_step(&k->dest_v, k->key));
}

/* Packs rows i to i + m of an operand both ways: as columns, and as rows. */
static void print_pack_both(struct cr_printer *p, const struct backward_shape *s,
                            const struct cr_operand *operand, int col, int64_t width,
                            const char *columns, const char *rows)
{
    char at[CR_ADDRESS_SIZE];
    long long row_step = cr_step(&operand->at, p->k->row), col_step = cr_step(&operand->at, col);
    cr_print_address(p, at, sizeof at, operand->ref, &operand->at, p->k->row, "i", -1, "");
    cr_put_line(p->text, 12, "rt->pack(%lld, m, %s, %lld, %s, %lld, %lld);", (long long)width,
                columns, (long long)(width * PANEL), at, col_step, row_step);
    cr_put_line(p->text, 12, "rt->pack(m, %lld, %s, %lld, %s, %lld, %lld);", (long long)width, rows,
                (long long)(s->rows * PANEL), at, row_step, col_step);
}

/* Has what the next head needs on its way while this one is computed. */
static void print_fetches(struct cr_printer *p, const struct backward_shape *s)
{
    const struct cr_kernel *k = p->k;
    const struct cr_fetch fetches[] = {{&k->a, k->row, k->k, s->K},
                                       {&k->g, k->row, k->col, s->N},
                                       {&k->b, k->key, k->k, s->K},
                                       {&k->v, k->key, k->col, s->N}};
    cr_print_fetches(p, s->M <= s->keys ? 4 : 2, fetches);
}

/* What a step needs of its queries. */
static void print_step_start(struct cr_printer *p, const struct backward_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], keys[32];
    snprintf(keys, sizeof keys, "%lld", (long long)s->keys);
    cr_print_softmax_start(p);
    cr_print_key_range(p, keys, "");
    print_fetches(p, s);
    print_pack_both(p, s, &k->a, k->k, s->K, "queries", "query_rows");
    print_pack_both(p, s, &k->g, k->col, s->N, "grads", "grad_rows");
    cr_print_address(p, at, sizeof at, k->delta.ref, &k->delta.at, k->row, "i", -1, "");
    cr_put_line(p->text, 12, "rt->load(1, m, delta, 0, %s, 0, %lld);", at,
                (long long)cr_step(&k->delta.at, k->row));
    cr_put_line(p->text, 12, "rt->neg_v(1, m, delta, 0, delta, 0);");
    print_result(p, at, &k->dest, k->row, "i");
    print_zeros(p, 12, "m", s->K, at, cr_step(&k->dest, k->row));
}

static void print_block_start(struct cr_printer *p)
{
    cr_put(p->text, "            for (long j = first; j < last; j += %d) {\n", KEY_BLOCK);
    cr_print_count(p, 16, "n", "j", KEY_BLOCK, "last");
}

/* The first time through the keys: a maximum and a sum for each query. */
static void print_statistics(struct cr_printer *p)
{
    char factor[64], one[64];
    cr_put(p->text, "            /* a maximum and a sum for each query */\n");
    print_block_start(p);
    cr_print_constant(p, factor, sizeof factor, cr_print_score_block(p, 16));
    cr_put_line(p->text, 16, "rt->softmax_block(n, m, scores, %d, %s, max, sum, scale);", PANEL,
                factor + 1);
    cr_put(p->text, "            }\n");
    cr_print_constant(p, one, sizeof one, 1);
    cr_put_line(p->text, 12, "rt->div_sv(1, m, sum, 0, %s, 0, sum, 0);", one);
}

/* From here on hidden blocks count, too, if something is not finite. */
static void print_range_of_gradients(struct cr_printer *p, const struct backward_shape *s)
{
    if (p->k->n_bounds == 0)
        return;
    cr_put_line(p->text, 12,
                "const int finite = keys_finite && rt->finite(1, m, delta, 0, 1) && "
                "rt->finite(1, m, sum, 0, 1);");
    if (cr_has_bound(p->k, true))
        cr_put(p->text, "            last = finite ? last : %lld;\n", (long long)s->keys);
    if (cr_has_bound(p->k, false))
        cr_put(p->text, "            first = finite ? first : 0;\n");
}

/* Whether exponentials may have to be made again: those of the statistics are still there if they
 * were of one block, the same one. */
static bool makes_again(const struct cr_printer *p, const struct backward_shape *s)
{
    return s->keys > KEY_BLOCK || p->k->n_bounds > 0;
}

/* Probabilities; the only block of keys, if there is but one, has its exponentials already. */
static void print_probabilities(struct cr_printer *p, const struct backward_shape *s)
{
    char factor[64];
    if (makes_again(p, s)) {
        cr_put(p->text, "                if (");
        if (s->keys > KEY_BLOCK)
            cr_put(p->text, "last - first > %d", KEY_BLOCK);
        if (p->k->n_bounds)
            cr_put(p->text, s->keys > KEY_BLOCK ? " || !finite" : "!finite");
        cr_put(p->text, ") {\n");
        cr_print_constant(p, factor, sizeof factor, cr_print_score_block(p, 20));
        cr_put_line(p->text, 20, "rt->fma_svv(n, m, scores, %d, %s, 0, scores, %d, max, 0);", PANEL,
                    factor, PANEL);
        cr_put_line(p->text, 20, "rt->exp_v(n, m, scores, %d, scores, %d);", PANEL, PANEL);
        cr_put(p->text, "                }\n");
    }
    cr_put_line(p->text, 16, "rt->mul_vv(n, m, scores, %d, scores, %d, sum, 0);", PANEL, PANEL);
}

/* A block times the factors of dropout; 0 where those are, even of NaN. */
static void print_chosen(struct cr_printer *p, const char *block, const char *result)
{
    char zero[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_put_line(p->text, 16, "rt->mul_vv(n, m, %s, %d, %s, %d, dropout, %d);", result, PANEL, block,
                PANEL, PANEL);
    cr_put_line(p->text, 16, "rt->where_vvs(n, m, %s, %d, dropout, %d, %s, %d, %s, 0);", result,
                PANEL, PANEL, result, PANEL, zero);
}

/* dP - delta: g V' - delta, or with dropout g V' times its factors; and W: P times those. */
static void print_dprobs(struct cr_printer *p, const struct backward_shape *s)
{
    const struct cr_kernel *k = p->k;
    const char *start = k->dropout.n ? "0" : "delta";
    char at[CR_ADDRESS_SIZE];
    cr_print_address(p, at, sizeof at, k->v.ref, &k->v.at, k->key, "j", -1, "");
    cr_put_line(p->text, 16,
                "rt->gemm(n, m, %lld, %s, %lld, %lld, grads, %lld, dscores, %d, %s, 0);",
                (long long)s->N, at, (long long)cr_step(&k->v.at, k->key),
                (long long)cr_step(&k->v.at, k->col), (long long)(s->N * PANEL), PANEL, start);
    if (!k->dropout.n)
        return;
    cr_print_block_program(p, &p->k->dropout, "dropout", 16);
    if (k->chooses) {
        print_chosen(p, "dscores", "dscores");
        cr_put_line(p->text, 16, "rt->add_vv(n, m, dscores, %d, dscores, %d, delta, 0);", PANEL,
                    PANEL);
        print_chosen(p, "scores", "weights");
    } else {
        cr_put_line(p->text, 16,
                    "rt->fma_vvv(n, m, dscores, %d, dscores, %d, dropout, %d, delta, 0);", PANEL,
                    PANEL, PANEL);
        cr_put_line(p->text, 16, "rt->mul_vv(n, m, dropout, %d, dropout, %d, scores, %d);", PANEL,
                    PANEL, PANEL);
    }
}

/* dS = (dP - delta) P, and what elementwise work makes of it. */
static void print_dscores(struct cr_printer *p)
{
    cr_put_line(p->text, 16, "rt->mul_vv(n, m, dscores, %d, dscores, %d, scores, %d);", PANEL,
                PANEL, PANEL);
    cr_print_block_program(p, &p->k->program, "dscores", 16);
    if (p->k->hides_gradients)
        cr_print_hides(p, 16, "dscores", "0.0f");
}

/* Adds x' rows, x a block of keys x queries, to the gradients of n keys or values. */
static void print_add_transposed(struct cr_printer *p, const struct backward_shape *s,
                                 const char *x, const char *rows, int64_t width,
                                 const struct cr_affine *dest)
{
    char at[CR_ADDRESS_SIZE];
    long long step = cr_step(dest, p->k->key);
    print_result(p, at, dest, p->k->key, "j");
    cr_put_line(p->text, 16, "rt->gemm(n, %lld, m, %s, %d, 1, %s, %lld, %s, %lld, %s, %lld);",
                (long long)width, x, PANEL, rows, (long long)(s->rows * PANEL), at, step, at, step);
}

/* The second time through the keys: the three gradients. */
static void print_gradients(struct cr_printer *p, const struct backward_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    long long step = cr_step(&k->dest, k->row);
    cr_put(p->text, "            /* probabilities, and what they hand back */\n");
    print_block_start(p);
    print_probabilities(p, s);
    print_dprobs(p, s);
    const char *weights = k->chooses ? "weights" : k->dropout.n ? "dropout" : "scores";
    print_add_transposed(p, s, weights, "grad_rows", s->N, &k->dest_v);
    print_dscores(p);
    print_add_transposed(p, s, "dscores", "query_rows", s->K, &k->dest_k);
    print_result(p, at, &k->dest, k->row, "i");
    cr_put_line(p->text, 16,
                "rt->gemm(m, %lld, n, dscores, 1, %d, keys + j * %d, %lld, %s, %lld, %s, %lld);",
                (long long)s->K, PANEL, PANEL, (long long)(s->keys * PANEL), at, step, at, step);
    cr_put(p->text, "            }\n");
}

int64_t cr_print_attention_backward_kernel(struct cr_printer *p)
{
    const struct backward_shape s = backward_shape(p->k);
    char rows[32];
    snprintf(rows, sizeof rows, "%lld", (long long)s.M);
    take_backward_scratch(p, &s);
    cr_print_items(p, 1);
    print_item_start(p, &s);
    cr_put(p->text, "        for (long i = 0; i < %s; i += %lld) {\n", rows, (long long)s.rows);
    cr_print_count(p, 12, "m", "i", s.rows, rows);
    print_step_start(p, &s);
    print_statistics(p);
    if (makes_again(p, &s))
        cr_put_line(p->text, 12, "rt->neg_v(1, m, max, 0, max, 0);");
    print_range_of_gradients(p, &s);
    print_gradients(p, &s);
    cr_put(p->text, "        }\n    }\n");
    return cr_outer_items(p->k);
}
