/*
 * Attention without its matrix of scores: blocks of keys, a running maximum and sum for
 * each query (Milakov & Gimelshein 2018, Dao et al. 2022), blocks that the mask hides
 * skipped.
 *
 * Scores stand transposed, keys down and queries across: a vector holds the scores of as
 * many queries for one key, so that softmax never folds a vector, keys are read where
 * they lie, and only the few queries of a step are packed.
 *
 * A key that a mask hides has the probability 0, and 0 times a value that is NaN or infinite is
 * NaN.  So hidden blocks are skipped only if all values are finite, and what comes out does not
 * depend on which blocks there are.
 */
#include <stdio.h>

#include "attention.h"

/* How the rows of an attention kernel are cut. */
struct attention_shape {
    int64_t M, keys;
    int64_t chunk, chunks; /* rows of an item */
    int64_t rows;          /* of one step */
    int64_t width;         /* head_dim in whole panels */
};

static struct attention_shape attention_shape(const struct cr_kernel *k)
{
    struct attention_shape s = {.M = cr_extent(k, k->row), .keys = k->keys};
    int64_t most = cr_ceil_div(s.M, QUERY_ROWS);
    s.chunks = cr_max(1, cr_min(most, cr_ceil_div(ATTENTION_ITEMS, cr_outer_items(k))));
    s.chunk = cr_ceil_div(s.M, s.chunks);
    s.chunks = cr_ceil_div(s.M, s.chunk);
    s.rows = cr_ceil_div(s.chunk, cr_ceil_div(s.chunk, QUERY_ROWS));
    s.width = cr_round_up(k->N, PANEL);
    return s;
}

static void take_attention_scratch(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    cr_take_scratch(p, "values", s->keys * s->width, "packed values");
    cr_take_scratch(p, "queries", k->K * PANEL, "packed queries of a step");
    cr_take_scratch(p, "scores", cr_min(s->keys, KEY_BLOCK) * PANEL, "a block of keys x queries");
    if (k->dropout.n)
        cr_take_scratch(p, "dropout", cr_min(s->keys, KEY_BLOCK) * PANEL, "factors of those");
    if (k->chooses)
        cr_take_scratch(p, "chosen", COLUMNS_ROWS * s->rows, "lanes of the largest factor so far");
    cr_take_scratch(p, "sums", s->rows * s->width, "of exp(score - max) * value");
    cr_take_scratch(p, "max", s->rows, "of a query's scores so far");
    cr_take_scratch(p, "sum", s->rows, "of exp(score - max) so far");
    cr_take_scratch(p, "scale", s->rows, "exp(old max - new max)");
}

bool cr_has_bound(const struct cr_kernel *k, bool upper)
{
    for (int i = 0; i < k->n_bounds; i++)
        if (k->bounds[i].upper == upper)
            return true;
    return false;
}

/* "x + offset", or "x". */
static void print_sum(struct cr_text *t, const char *x, int64_t offset)
{
    if (offset)
        cr_put(t, "%s + %lld", x, (long long)offset);
    else
        cr_put(t, "%s", x);
}

/* Narrows the end (or beginning) of a range of keys to what a row sees, under a condition. */
static void print_bounds(struct cr_printer *p, int indent, bool upper, const char *name,
                         const char *row, const char *condition)
{
    struct cr_text *t = p->text;
    for (int i = 0; i < p->k->n_bounds; i++) {
        const struct cr_bound *b = &p->k->bounds[i];
        if (b->upper != upper)
            continue;
        cr_put(t, "%*sif (%s", indent, "", condition);
        print_sum(t, row, b->offset);
        cr_put(t, " %c %s)\n%*s%s = ", upper ? '<' : '>', name, indent + 4, "", name);
        print_sum(t, row, b->offset);
        cr_put(t, ";\n");
    }
}

void cr_print_finite(struct cr_printer *p, const char *name, const struct cr_operand *operand,
                     int row, int col)
{
    char at[CR_ADDRESS_SIZE];
    if (p->k->n_bounds == 0)
        return;
    if (p->k->sees_all) {
        cr_put_line(p->text, 8, "const int %s = 0; /* the factors of hidden keys may not be */", name);
        return;
    }
    cr_put_line(p->text, 8, "/* 0 times NaN is NaN: hidden blocks are skipped if there is none */");
    cr_print_address(p, at, sizeof at, operand->ref, &operand->at, -1, "", -1, "");
    cr_put_line(p->text, 8, "const int %s = rt->finite(%lld, %lld, %s, %lld, %lld);", name,
                (long long)cr_extent(p->k, row), (long long)cr_extent(p->k, col), at,
                (long long)cr_step(&operand->at, row), (long long)cr_step(&operand->at, col));
}

/* Packs the values that the rows of an item see. */
static void print_pack_values(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    cr_print_finite(p, "finite", &k->v, k->key, k->col);
    cr_put(p->text, "        %slong visible = %lld; /* keys that any query sees lie before */\n",
           cr_has_bound(k, true) ? "" : "const ", (long long)s->keys);
    print_bounds(p, 8, true, "visible", "i1", "finite && ");
    if (cr_has_bound(k, true))
        cr_put(p->text, "        if (visible < 0)\n            visible = 0;\n");
    cr_print_address(p, at, sizeof at, k->v.ref, &k->v.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(visible, %lld, values, %lld, %s, %lld, %lld);",
                (long long)k->N, (long long)(s->keys * PANEL), at,
                (long long)cr_step(&k->v.at, k->key), (long long)cr_step(&k->v.at, k->col));
}

/* Hides the keys of a block that lie outside a bound, if there are any for some query:
 * row r of the block is key j + r, column c query i + c. */
static void print_hide(struct cr_printer *p, int indent, const struct cr_bound *b,
                       const char *block, const char *value)
{
    struct cr_text *t = p->text;
    cr_put(t, "%*sif (j %s ", indent, "", b->upper ? "+ n >" : "<");
    print_sum(t, b->upper ? "i" : "i + m", b->offset + (b->upper ? 1 : -1));
    cr_put(t,
           ") /* some query does not see some key */\n"
           "%*srt->hide(n, m, %s, %d, ",
           indent + 4, "", block, PANEL);
    if (!b->upper)
        cr_put(t, "-n, ");
    print_sum(t, "j - i", b->upper ? -b->offset : 1 - b->offset);
    cr_put(t, b->upper ? ", m, %s);\n" : ", %s);\n", value);
}

void cr_print_hides(struct cr_printer *p, int indent, const char *block, const char *value)
{
    for (int i = 0; i < p->k->n_bounds; i++)
        print_hide(p, indent, &p->k->bounds[i], block, value);
}

void cr_print_block_program(struct cr_printer *p, const struct cr_tiles *program, const char *where,
                            int indent)
{
    const struct cr_kernel *k = p->k;
    struct cr_tile_job job = {.tiles = program,
                              .row = k->key,
                              .col = k->row,
                              .max_rows = cr_min(k->keys, KEY_BLOCK),
                              .max_cols = PANEL,
                              .first_row = "j",
                              .first_col = "i",
                              .rows = "n",
                              .cols = "m",
                              .indent = indent};
    snprintf(job.dest.address, sizeof job.dest.address, "%s", where);
    job.dest.ld = PANEL;
    job.core = job.dest;
    cr_print_tiles(p, &job);
}

/* From the product of k and q to scores; returns the factor that is left to softmax. */
static double print_logits(struct cr_printer *p, int indent)
{
    const struct cr_kernel *k = p->k;
    if (k->scores.n > 1)
        cr_print_block_program(p, &k->scores, "scores", indent);
    cr_print_hides(p, indent, "scores", "CR_MINUS_INFINITY");
    return k->factor;
}

double cr_print_score_block(struct cr_printer *p, int indent)
{
    const struct cr_kernel *k = p->k;
    char keys[CR_ADDRESS_SIZE];
    cr_print_address(p, keys, sizeof keys, k->b.ref, &k->b.at, k->key, "j", -1, "");
    cr_put_line(p->text, indent,
                "rt->gemm(n, m, %lld, %s, %lld, %lld, queries, %lld, scores, %d, 0, 0);",
                (long long)k->K, keys, (long long)cr_step(&k->b.at, k->key),
                (long long)cr_step(&k->b.at, k->k), (long long)(k->K * PANEL), PANEL);
    return print_logits(p, indent);
}

void cr_print_fetches(struct cr_printer *p, int n, const struct cr_fetch *fetches)
{
    const struct cr_kernel *k = p->k;
    int inner = k->n_outer - 1;
    bool told = false;
    for (int i = 0; i < n && inner >= 0; i++) {
        const struct cr_fetch *f = &fetches[i];
        char at[CR_ADDRESS_SIZE];
        if (cr_step(&f->operand->at, f->col) != 1)
            continue;
        if (!told)
            cr_put(p->text,
                   "            const long next = o%d < %lld; /* is there another head? */\n",
                   inner, (long long)cr_extent(k, k->outer[inner]) - 1);
        told = true;
        cr_print_address(p, at, sizeof at, f->operand->ref, &f->operand->at, f->row, "i", -1, "");
        cr_put_line(p->text, 12, "rt->fetch(m, %lld, %s + next * %lld, %lld);", (long long)f->cols,
                    at, (long long)cr_step(&f->operand->at, k->outer[inner]),
                    (long long)cr_step(&f->operand->at, f->row));
    }
}

void cr_print_softmax_start(struct cr_printer *p)
{
    char zero[64], minus[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_print_constant(p, minus, sizeof minus, -1.0 / 0.0);
    cr_put(p->text, "            rt->load(1, m, max, 0, %s, 0, 0);\n", minus);
    cr_put(p->text, "            rt->load(1, m, sum, 0, %s, 0, 0);\n", zero);
}

void cr_print_key_range(struct cr_printer *p, const char *all, const char *condition)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    cr_put(t, "            %slong last = %s;\n", cr_has_bound(k, true) ? "" : "const ", all);
    print_bounds(p, 12, true, "last", "i + m", condition);
    cr_put(t, "            %slong first = 0;\n", cr_has_bound(k, false) ? "" : "const ");
    print_bounds(p, 12, false, "first", "i", condition);
    if (cr_has_bound(k, false))
        cr_put(t, "            first -= first %% %d; /* blocks begin at fixed keys */\n",
               KEY_BLOCK);
}

/* Nothing seen yet, and nothing summed. */
static void print_row_start(struct cr_printer *p, const struct attention_shape *s)
{
    char zero[64];
    cr_print_softmax_start(p);
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_put(p->text, "            rt->load(m, %lld, sums, %lld, %s, 0, 0);\n", (long long)p->k->N,
           (long long)s->width, zero);
    if (p->k->chooses)
        cr_put_line(p->text, 12, "rt->load(%d, m, chosen, m, %s, 0, 0);", COLUMNS_ROWS, zero);
    cr_print_key_range(p, "visible", "finite && ");
}

/* Packs the queries of a step, from where they lie or as a prologue computes them. */
static void print_pack_queries(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE] = "rows", count[32];
    long long k_step = 1, row_step = k->K;
    if (k->prologue.n) {
        snprintf(count, sizeof count, "%lld", (long long)k->K);
        struct cr_tile_job job = {.tiles = &k->prologue,
                                  .row = k->row,
                                  .col = k->k,
                                  .max_rows = s->rows,
                                  .max_cols = k->K,
                                  .first_row = "i",
                                  .first_col = "0",
                                  .rows = "m",
                                  .cols = count,
                                  .dest = {"rows", k->K},
                                  .indent = 12};
        cr_take_scratch(p, "rows", s->rows * k->K, "of queries");
        cr_print_tiles(p, &job);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        k_step = cr_step(&k->a.at, k->k);
        row_step = cr_step(&k->a.at, k->row);
    }
    cr_put_line(p->text, 12, "rt->pack(%lld, m, queries, %lld, %s, %lld, %lld);", (long long)k->K,
                (long long)(k->K * PANEL), at, k_step, row_step);
}

/* In a row of numbers for queries, those of queries for which nothing was chosen so far become 1. */
static void print_one_unless_chosen(struct cr_printer *p, int indent, const char *row)
{
    char one[64];
    cr_print_constant(p, one, sizeof one, 1);
    cr_put_line(p->text, indent, "rt->where_vvs(1, m, %s, 0, chosen, 0, %s, 0, %s, 0);", row, row,
                one);
}

/* Multiplies exp(score - max) by the factors of dropout.  Where those choose, what is not chosen
 * becomes 0, and as long as nothing was chosen for a query its sums are 0 times values: also if
 * its probabilities are NaN. */
static void print_dropout(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char zero[64];
    if (k->dropout.n == 0)
        return;
    cr_print_block_program(p, &p->k->dropout, "dropout", 16);
    cr_put_line(t, 16, "rt->mul_vv(n, m, scores, %d, scores, %d, dropout, %d);", PANEL, PANEL,
                PANEL);
    if (!k->chooses)
        return;
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_put_line(t, 16, "rt->where_vvs(n, m, scores, %d, dropout, %d, scores, %d, %s, 0);", PANEL,
                PANEL, PANEL, zero);
    print_one_unless_chosen(p, 16, "scale");
    cr_put_line(t, 16, "rt->max_down(n, m, chosen, dropout, %d);", PANEL);
    cr_put_line(t, 16, "rt->max_lanes(m, chosen);");
}

/* The online softmax over blocks of keys for queries i to i + m. */
static void print_key_loop(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char factor[64];
    print_pack_queries(p, s);
    cr_put(t, "            for (long j = first; j < last; j += %d) {\n", KEY_BLOCK);
    cr_print_count(p, 16, "n", "j", KEY_BLOCK, "last");
    cr_print_constant(p, factor, sizeof factor, cr_print_score_block(p, 16));
    cr_put_line(t, 16, "rt->softmax_block(n, m, scores, %d, %s, max, sum, scale);", PANEL,
                factor + 1);
    print_dropout(p);
    cr_put_line(t, 16,
                "rt->gemm_scaled(m, %lld, n, scores, 1, %d, values + j * %d, %lld, sums, %lld, "
                "scale);",
                (long long)k->N, PANEL, PANEL, (long long)(s->keys * PANEL), (long long)s->width);
    cr_put(t, "            }\n");
}

/* Where probabilities are NaN, all of a query's are, and those of keys that were skipped may be chosen,
 * too. */
static void print_chosen_of_skipped(struct cr_printer *p)
{
    struct cr_text *t = p->text;
    char one[64], keys[32];
    if (p->k->n_bounds == 0)
        return;
    snprintf(keys, sizeof keys, "%lld", (long long)p->k->keys);
    cr_print_constant(p, one, sizeof one, 1);
    cr_put_line(t, 12, "/* probabilities of NaN may be chosen among the keys that were skipped */");
    cr_put_line(t, 12, "rt->div_sv(1, m, scale, 0, %s, 0, sum, 0);", one);
    cr_put(t, "            for (long j = rt->finite(1, m, scale, 0, 1) ? %s : 0; j < %s; j += %d) {\n",
           keys, keys, KEY_BLOCK);
    cr_print_count(p, 16, "n", "j", KEY_BLOCK, keys);
    cr_print_block_program(p, &p->k->dropout, "dropout", 16);
    cr_put_line(t, 16, "rt->max_down(n, m, chosen, dropout, %d);", PANEL);
    cr_put(t, "            }\n");
    cr_put_line(t, 12, "rt->max_lanes(m, chosen);");
}

/* Divides by the sums and does the epilogue. */
static void print_attention_end(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)k->N);
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = s->rows,
                              .max_cols = s->width,
                              .first_row = "i",
                              .first_col = "0",
                              .rows = "m",
                              .cols = count,
                              .dest_strided = cr_step(&k->dest, k->col) != 1,
                              .core = {"sums", s->width},
                              .indent = 12};
    if (!job.dest_strided) {
        cr_print_address(p, job.core.address, sizeof job.core.address, -1, &k->dest, k->row, "i",
                         k->col, "0");
        job.core.ld = cr_step(&k->dest, k->row);
    }
    job.dest = job.core;
    if (k->chooses) {
        print_chosen_of_skipped(p);
        print_one_unless_chosen(p, 12, "sum");
    }
    cr_put_line(p->text, 12, "rt->div_vs(m, %lld, %s, %lld, sums, %lld, sum, 1);", (long long)k->N,
                job.core.address, (long long)job.core.ld, (long long)s->width);
    cr_print_tiles(p, &job);
}

/* Has the queries, keys and values of the next head on their way while this one is computed. */
static void print_fetches(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_fetch fetches[3];
    int n = 0;
    if (s->chunks > 1)
        return; /* the next item is of the same head */
    if (!k->prologue.n)
        fetches[n++] = (struct cr_fetch){&k->a, k->row, k->k, k->K};
    if (s->M <= s->keys) {
        fetches[n++] = (struct cr_fetch){&k->b, k->key, k->k, k->K};
        fetches[n++] = (struct cr_fetch){&k->v, k->key, k->col, k->N};
    }
    cr_print_fetches(p, n, fetches);
}

int64_t cr_print_attention_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct attention_shape s = attention_shape(k);
    take_attention_scratch(p, &s);
    cr_print_items(p, s.chunks);
    cr_print_part(p, "i0", "i1", 1, s.chunks, s.chunk, s.M);
    print_pack_values(p, &s);
    cr_put(p->text, "        for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    cr_print_count(p, 12, "m", "i", s.rows, "i1");
    print_row_start(p, &s);
    print_fetches(p, &s);
    print_key_loop(p, &s);
    print_attention_end(p, &s);
    cr_put(p->text, "        }\n    }\n");
    return cr_outer_items(k) * s.chunks;
}
