/*
 * Attention without its matrix of scores: blocks of keys, a running maximum and sum for
 * each query (Milakov & Gimelshein 2018, Dao et al. 2022), blocks that the mask hides
 * skipped.
 */
#include <stdio.h>

#include "parts.h"

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
    cr_take_scratch(p, "keys", k->K * cr_round_up(s->keys, PANEL), "packed keys, transposed");
    cr_take_scratch(p, "values", s->keys * s->width, "packed values");
    cr_take_scratch(p, "scores", s->rows * KEY_BLOCK, "rows x a block of keys");
    cr_take_scratch(p, "sums", s->rows * s->width, "of exp(score - max) * value");
    cr_take_scratch(p, "max", s->rows, "of a row's scores so far");
    cr_take_scratch(p, "sum", s->rows, "of exp(score - max) so far");
    cr_take_scratch(p, "scale", s->rows, "exp(old max - new max)");
}

static bool has_bound(const struct cr_kernel *k, bool upper)
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

/* Narrows the end (or beginning) of a range of keys to what a row sees. */
static void print_bounds(struct cr_printer *p, int indent, bool upper, const char *name,
                         const char *row)
{
    struct cr_text *t = p->text;
    for (int i = 0; i < p->k->n_bounds; i++) {
        const struct cr_bound *b = &p->k->bounds[i];
        if (b->upper != upper)
            continue;
        cr_put(t, "%*sif (", indent, "");
        print_sum(t, row, b->offset);
        cr_put(t, " %c %s)\n%*s%s = ", upper ? '<' : '>', name, indent + 4, "", name);
        print_sum(t, row, b->offset);
        cr_put(t, ";\n");
    }
}

/* Packs the keys and values that the rows of an item see. */
static void print_pack_keys(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    cr_put(p->text, "        %slong visible = %lld; /* keys that any row sees lie before */\n",
           has_bound(k, true) ? "" : "const ", (long long)s->keys);
    print_bounds(p, 8, true, "visible", "i1");
    if (has_bound(k, true))
        cr_put(p->text, "        if (visible < 0)\n            visible = 0;\n");
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(%lld, visible, keys, %lld, %s, %lld, %lld);", (long long)k->K,
                (long long)(k->K * PANEL), at, (long long)cr_step(&k->b.at, k->k),
                (long long)cr_step(&k->b.at, k->key));
    cr_print_address(p, at, sizeof at, k->v.ref, &k->v.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(visible, %lld, values, %lld, %s, %lld, %lld);",
                (long long)k->N, (long long)(s->keys * PANEL), at,
                (long long)cr_step(&k->v.at, k->key), (long long)cr_step(&k->v.at, k->col));
}

/* Hides the keys of a block that lie outside a bound, if there are any for some row. */
static void print_hide(struct cr_printer *p, const struct cr_bound *b)
{
    struct cr_text *t = p->text;
    cr_put(t, b->upper ? "                if (j + n > " : "                if (j < ");
    print_sum(t, b->upper ? "i" : "i + m", b->offset + (b->upper ? 1 : -1));
    cr_put(t,
           ") /* some row does not see some key */\n"
           "                    rt->hide(m, n, scores, %d, ",
           KEY_BLOCK);
    if (!b->upper)
        print_sum(t, "i - j", b->offset);
    cr_put(t, b->upper ? "-m, " : ", n");
    if (b->upper)
        print_sum(t, "i - j", b->offset + 1);
    cr_put(t, ");\n");
}

/* From the product of q and k to logits. */
static void print_scores(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_tile_job job = {.tiles = &k->scores,
                              .row = k->row,
                              .col = k->key,
                              .max_rows = s->rows,
                              .max_cols = KEY_BLOCK,
                              .first_row = "i",
                              .first_col = "j",
                              .rows = "m",
                              .cols = "n",
                              .core = {"scores", KEY_BLOCK},
                              .dest = {"scores", KEY_BLOCK},
                              .indent = 16};
    cr_print_tiles(p, &job);
    for (int i = 0; i < k->n_bounds; i++)
        print_hide(p, &k->bounds[i]);
}

/* Nothing seen yet: a maximum of -inf, sums of 0; and the range of keys to go through. */
static void print_row_start(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char zero[64], minus[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_print_constant(p, minus, sizeof minus, -1.0 / 0.0);
    cr_put(t, "            rt->load(1, m, max, 0, %s, 0, 0);\n", minus);
    cr_put(t, "            rt->load(1, m, sum, 0, %s, 0, 0);\n", zero);
    cr_put(t, "            rt->load(m, %lld, sums, %lld, %s, 0, 0);\n", (long long)k->N,
           (long long)s->width, zero);
    cr_put(t, "            %slong last = visible;\n", has_bound(k, true) ? "" : "const ");
    print_bounds(p, 12, true, "last", "i + m");
    cr_put(t, "            %slong first = 0;\n", has_bound(k, false) ? "" : "const ");
    print_bounds(p, 12, false, "first", "i");
    if (has_bound(k, false))
        cr_put(t, "            first -= first %% %d; /* blocks begin at fixed keys */\n",
               KEY_BLOCK);
}

/* The arguments of gemm for the queries: in place, or computed into scratch. */
static void print_queries(struct cr_printer *p, const struct attention_shape *s, char *queries,
                          size_t size)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], count[32];
    if (!k->prologue.n) {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(queries, size, "%s, %lld, %lld", at, (long long)cr_step(&k->a.at, k->row),
                 (long long)cr_step(&k->a.at, k->k));
        return;
    }
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
                              .dest = {"queries", k->K},
                              .indent = 12};
    cr_take_scratch(p, "queries", s->rows * k->K, "rows of queries");
    cr_print_tiles(p, &job);
    snprintf(queries, size, "queries, %lld, 1", (long long)k->K);
}

/* The online softmax over blocks of keys for rows i to i + m. */
static void print_key_loop(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char queries[256];
    print_queries(p, s, queries, sizeof queries);
    cr_put(t, "            for (long j = first; j < last; j += %d) {\n", KEY_BLOCK);
    cr_print_count(p, 16, "n", "j", KEY_BLOCK, "last");
    cr_put_line(t, 16, "rt->gemm(m, n, %lld, %s, keys + j * %lld, %lld, scores, %d);",
                (long long)k->K, queries, (long long)k->K, (long long)(k->K * PANEL), KEY_BLOCK);
    print_scores(p, s);
    cr_put(t, "                rt->softmax_block(m, n, scores, %d, max, sum, scale);\n", KEY_BLOCK);
    cr_put_line(t, 16,
                "rt->gemm_scaled(m, %lld, n, scores, %d, 1, values + j * %d, %lld, sums, %lld, "
                "scale);",
                (long long)k->N, KEY_BLOCK, PANEL, (long long)(s->keys * PANEL),
                (long long)s->width);
    cr_put(t, "            }\n");
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
    cr_put_line(p->text, 12, "rt->div_vs(m, %lld, %s, %lld, sums, %lld, sum, 1);", (long long)k->N,
                job.core.address, (long long)job.core.ld, (long long)s->width);
    cr_print_tiles(p, &job);
}

int64_t cr_print_attention_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct attention_shape s = attention_shape(k);
    take_attention_scratch(p, &s);
    cr_print_items(p, s.chunks);
    cr_print_part(p, "i0", "i1", 1, s.chunks, s.chunk, s.M);
    print_pack_keys(p, &s);
    cr_put(p->text, "        for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    cr_print_count(p, 12, "m", "i", s.rows, "i1");
    print_row_start(p, &s);
    print_key_loop(p, &s);
    print_attention_end(p, &s);
    cr_put(p->text, "        }\n    }\n");
    return cr_outer_items(k) * s.chunks;
}
