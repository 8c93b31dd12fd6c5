/*
 * schedule_attention.c - schedules attention without a stored matrix of scores.  The kernel loops
 * over blocks of keys, and keeps a running maximum and sum for each query (Milakov & Gimelshein
 * 2018, Dao et al. 2022).  Blocks that the mask hides are skipped.
 *
 * A block of scores is transposed: a row is a key, a column a query.  So a vector holds the scores
 * of several queries for one key, and softmax never reduces within a vector.  Keys are read in
 * place, and only the few queries of a step are packed.
 *
 * A key that a mask hides has the probability 0, and 0 times a value that is NaN or infinite is
 * NaN.  So hidden blocks are skipped only if all values are finite.  The result does not depend on
 * which blocks are skipped.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/ir/text.h"
#include "kinds.h"
#include "schedule_attention.h"

enum {
    KEY_ROWS = 64, /* keys in one block of computed rows of keys */
    FEW = 3,       /* with at most so many queries, packing keys and values costs more time than it
                      saves */
    COPY_STEPS = 8 /* with fewer steps in an item, copying keys costs more time than it saves */
};

/* The tiling of an attention kernel, and the numbers of its scratch slots and variables. */
struct attention {
    int64_t M, keys;
    int64_t chunk, chunks; /* rows of an item; number of items for the rows of a head */
    int64_t rows;          /* rows of a step; an item has one or more steps */
    int64_t width;         /* columns of the values, rounded up to whole panels */
    bool few, many;        /* whether items may have at most FEW queries, or more than FEW; see
                              reads_in_place */
    int64_t members, part; /* number of heads that share keys and values, or 1; number of such heads
                              in one item */
    int member;            /* variable: the current head in a loop over heads that share keys; else
                              CR_NONE */
    int values, chosen, sums, sink; /* numbers of scratch slots */
    int made;                       /* scratch slot: rows of queries that the kernel computed */
    int finite, visible;            /* numbers of variables */
    struct cr_attention_vars v;
};

/*
 * True if a few queries can read keys and values in place, without packing: their rows are
 * contiguous, and the program of scores can run along a row of keys.  A single query, as when
 * generating a token, reads each key and value only once, so packing saves nothing.
 */
static bool reads_in_place(const struct cr_kernel *k)
{
    bool rows = cr_coef(&k->attention.value.at, k->col) == 1 &&
                cr_coef(&k->attention.key.at, k->k) == 1 &&
                (k->attention_rows.queries->n || cr_coef(&k->attention.query.at, k->k) == 1);
    for (int i = 0; i < k->attention.scores.n; i++) {
        const struct cr_value *v = &k->attention.scores.values[i];
        rows &= v->source != CR_GATHER || !cr_coef(&v->at, k->key);
    }
    return rows && !k->attention_rows.keys->n && !k->attention.dropout.n && !k->attention.direct;
}

/*
 * If the innermost outer loop runs over heads that share keys and values, returns the number of
 * these heads, else 1.  Each block of keys then serves all of them while it is in the cache.
 */
static int64_t count_members(const struct cr_kernel *k, bool skips)
{
    int last = k->n_outer ? k->outer[k->n_outer - 1] : -1;
    bool shared = last >= 0 && !k->atoms.length[last] && !cr_coef(&k->attention.key.at, last) &&
                  !cr_coef(&k->attention.value.at, last) && !k->attention.sink.n && !skips;
    return shared ? cr_extent(k, last) : 1;
}

/* Sets s->members and s->part, the number of heads with shared keys in one item: as many as
 * possible while there are still enough items for all threads. */
static void cut_members(struct attention *s, const struct cr_kernel *k, const struct cr_target *t, bool skips)
{
    bool shares = s->few && (s->many || s->M == 1);
    int64_t all = shares ? count_members(k, skips) : 1;
    int64_t parts = cr_ceil_div(t->attention_items * all, cr_outer_items(k));
    s->part = cr_ceil_div(all, cr_max(1, cr_min(parts, all)));
    s->members = s->part > 1 ? all : 1;
    s->member = CR_NONE;
}

/*
 * True if the keys of a head are copied to contiguous rows.  In most models the rows of one head are a multiple of a
 * kilobyte apart, so that they use few sets of the first-level cache; and each step of queries reads them again.
 */
static bool copies_keys(const struct attention *s, const struct cr_kernel *k)
{
    bool contiguous = cr_coef(&k->attention.key.at, k->key) == k->attention.K &&
                      cr_coef(&k->attention.key.at, k->k) == 1;
    return !contiguous && cr_ceil_div(s->chunk, s->rows) >= COPY_STEPS;
}

/* Sets the tiling: an item has a chunk of the queries of a head, and a step has at most query_rows
 * of them. */
static void cut(struct attention *s, const struct cr_kernel *k, const struct cr_target *t, bool skips)
{
    s->M = cr_extent(k, k->row);
    s->keys = k->attention.keys;
    int64_t most = cr_ceil_div(s->M, t->query_rows);
    int64_t wanted = cr_ceil_div(t->attention_items, cr_outer_items(k));
    s->chunks = cr_max(1, cr_min(most, wanted));
    s->chunk = cr_ceil_div(s->M, s->chunks);
    s->chunks = cr_ceil_div(s->M, s->chunk);
    s->rows = cr_ceil_div(s->chunk, cr_ceil_div(s->chunk, t->query_rows));
    s->width = cr_round_up(k->attention.N, CR_PANEL_FLOATS);
    bool length = cr_length_of(k, k->row);
    s->few = reads_in_place(k) && (length || s->M <= FEW);
    s->many = !s->few || s->M > FEW;
    s->v.has_keys = s->many && (k->attention_rows.keys->n || copies_keys(s, k));
    cut_members(s, k, t, skips);
}

/* Returns the most keys that a block has. */
static int64_t key_block(const struct attention *s)
{
    return cr_min(s->keys, CR_KEY_BLOCK);
}

static int take(struct cr_builder *b, const char *name, int64_t floats, const char *note)
{
    return cr_scratch(b, name, CR_FORMAT_f32, floats, note);
}

/* Declares the scratch of one thread.  Only one block of keys times one panel of queries of scores
 * is kept at a time, so this scratch does not grow with the number of keys.  Packed values are kept
 * for all keys. */
static void take_scratch(struct cr_builder *b, struct attention *s)
{
    const struct cr_kernel *k = b->k;
    int64_t block = key_block(s) * CR_PANEL_FLOATS;
    if (s->many) {
        s->values = take(b, "values", s->keys * s->width, "packed values");
        s->v.queries =
            take(b, "queries", k->attention.K * CR_PANEL_FLOATS, "packed queries of a step");
    }
    if (s->v.has_keys)
        s->v.keys = take(b, "keys", s->keys * k->attention.K, "rows of keys");
    if (k->attention_rows.queries->n)
        s->made = take(b, "rows", s->rows * s->members * k->attention.K, "of queries");
    s->v.product = s->v.scores =
        take(b, "scores", cr_max(block, s->members * key_block(s)), "a block of keys x queries");
    if (k->attention.dropout.n)
        s->v.dropout = take(b, "dropout", block, "factors of those");
    if (k->attention.chooses)
        s->chosen = take(b, "chosen", CR_LANES * s->rows, "lanes of the largest factor so far");
    s->sums = take(b, "sums", s->rows * s->members * s->width, "of exp(score - max) * value");
    if (k->attention.direct)
        return;
    s->v.max = take(b, "max", s->rows * s->members, "of a query's scores so far");
    s->v.sum = take(b, "sum", s->rows * s->members, "of exp(score - max) so far");
    s->v.scale = take(b, "scale", s->rows * s->members, "exp(old max - new max)");
    if (k->attention.sink.n)
        s->sink = take(b, "sink", s->rows, "one score more of a query");
}

/* Returns the size of the axis over which the product of queries and keys sums; columns_of returns
 * the number of columns of values.  Both may be lengths. */
static struct cr_argument depth_of(struct cr_builder *b)
{
    return cr_x(cr_size(b, b->k->k));
}

static struct cr_argument columns_of(struct cr_builder *b)
{
    return cr_x(cr_size(b, b->k->col));
}

static struct cr_argument m_of(struct cr_builder *b, const struct attention *s)
{
    return cr_x(cr_var(b, s->v.i.count));
}

static struct cr_argument n_of(struct cr_builder *b, const struct attention *s)
{
    return cr_x(cr_var(b, s->v.j.count));
}

/* ---- before the loop over keys ---- */

/* Declares the variable s->visible: all keys that rows i0 to i1 of an item see are before it.  It
 * is 0 if there are no rows. */
static void let_visible(struct cr_builder *b, struct attention *s, const struct cr_share *i)
{
    const struct cr_kernel *k = b->k;
    cr_expr keys = cr_size(b, k->key), last = cr_var(b, i->last);
    cr_expr end = cr_position(b, &s->v, last);
    bool upper = cr_narrows(b, true, end, keys);
    if (s->few)
        keys = cr_select(b, cr_binary(b, CR_EXPR_LESS, cr_var(b, i->first), last), keys,
                         cr_number(b, 0));
    s->visible = cr_let_noted(b, "visible", keys, upper, "keys that any query sees lie before");
    if (upper) {
        cr_narrow_to_bounds(b, true, s->visible, end, s->finite);
    }
    if (upper && cr_may_see_none(b, &s->v)) {
        cr_begin_if(b, cr_binary(b, CR_EXPR_LESS, cr_var(b, s->visible), cr_number(b, 0)), NULL);
        cr_set(b, s->visible, cr_number(b, 0));
        cr_end(b);
    }
}

/* True if successive items of a thread are heads that share an operand, so that the first of them
 * packs it for all.  They must need the same keys, which is proven only if the number of keys does
 * not depend on whether values are finite. */
static bool packed_once(const struct cr_kernel *k, const struct attention *s, const struct cr_operand *operand)
{
    int last = k->n_outer ? k->outer[k->n_outer - 1] : -1;
    return last >= 0 && s->chunks == 1 && s->finite == CR_NONE && cr_extent(k, last) > 1 && !k->atoms.length[last] &&
           !cr_coef(&operand->at, last);
}

/* Begins an `if` that is true for the first item of a thread, and for the first of the heads that
 * share keys and values. */
static void begin_first_head(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    int last = k->n_outer - 1;
    struct cr_share heads = {.first = b->outer[last]};
    cr_begin_if(b, cr_is_first_item(b, &heads, cr_extent(k, k->outer[last])),
                "the first of the heads that share these");
}

/* Packs the values of the keys before s->visible. */
static void pack_values(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, cr_x(cr_var(b, s->visible)), columns_of(b),
            cr_at_slot(s->values), cr_n(b, s->keys * CR_PANEL),
            cr_at(cr_operand_at(b, &k->attention.value, -1, CR_NONE, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.value.at, k->key)),
            cr_n(b, cr_coef(&k->attention.value.at, k->col)));
}

/* Returns the address of the current head's part of a slot that has `each` floats for every
 * head. */
static struct cr_address of_member(struct cr_builder *b, const struct attention *s, int slot, int64_t each)
{
    struct cr_address start = cr_start_of(slot);
    return s->member == CR_NONE ? start : cr_offset(b, start, s->member, CR_NONE, each);
}

/* Resets the maximum and the sums of a step's rows, and declares the range of keys that they
 * see. */
static void start_rows(struct cr_builder *b, struct attention *s, cr_expr keys)
{
    struct cr_argument n0 = cr_n(b, 0), m = m_of(b, s);
    if (!b->k->attention.direct)
        cr_start_softmax(b, &s->v);
    if (b->k->attention.sink.n)
        cr_start_with_sink(b, &s->v, s->sink, s->rows);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, m, columns_of(b), cr_at_slot(s->sums),
            cr_n(b, s->width), cr_at_constant(b, 0), n0, n0);
    if (b->k->attention.chooses)
        CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_n(b, CR_LANES), m, cr_at_slot(s->chosen), m,
                cr_at_constant(b, 0), n0, n0);
    cr_let_key_range(b, &s->v, keys, s->finite);
}

/* Prefetches the queries, keys and values of the next head. */
static void fetch_next(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_fetch fetches[3];
    int n = 0;
    if (s->chunks > 1)
        return; /* the next item has the same head */
    if (!k->attention_rows.queries->n)
        fetches[n++] = (struct cr_fetch){&k->attention.query, k->row, k->k, k->attention.K};
    if (s->M <= s->keys) {
        if (!k->attention_rows.keys->n)
            fetches[n++] = (struct cr_fetch){&k->attention.key, k->key, k->k, k->attention.K};
        fetches[n++] = (struct cr_fetch){&k->attention.value, k->key, k->col, k->attention.N};
    }
    cr_fetch_next_head(b, &s->v, n, fetches);
}

/* ---- computed rows of queries and keys ---- */

/* Rows of queries or keys that tile programs compute, one program for each part of a row. */
struct made_rows {
    const struct cr_row_parts *parts;
    const struct cr_tiles *first; /* the program of the first part */
    int row;                      /* the atom of the rows */
    int64_t most;                 /* the most rows computed at a time */
    int from;                     /* variable: the number of the first row */
    cr_expr count;
};

/* Computes one part of some rows into rows of K floats.  If the columns of a part are not
 * contiguous in a row, the part is computed into a tile first. */
static void make_part(struct cr_builder *b, const struct made_rows *rows, int p,
                      struct cr_address to)
{
    const struct cr_row_part *part = &rows->parts->items[p];
    int64_t K = b->k->attention.K, size = cr_extent(b->k, part->atom);
    cr_expr cols = cr_size(b, part->atom);
    struct cr_tile_job job = {.tiles = rows->first + p,
                              .row = rows->row,
                              .col = part->atom,
                              .max_rows = rows->most,
                              .max_cols = size,
                              .first_row = rows->from,
                              .first_col = CR_NONE,
                              .rows = rows->count,
                              .cols = cols,
                              .dest = {to, K}};
    job.dest.address.base += part->start;
    if (part->step == 1) {
        cr_schedule_tiles(b, &job);
        return;
    }
    to.base += part->start;
    char name[24];
    snprintf(name, sizeof name, "part%d", b->n_temps++);
    int tile = take(b, name, rows->most * size, "columns that lie apart in a row");
    job.dest = (struct cr_tile){cr_start_of(tile), size};
    cr_schedule_tiles(b, &job);
    CR_CALL(b, CR_CALLEE_store, CR_FORMAT_f32, cr_x(rows->count), cr_x(cols), cr_at(to),
            cr_n(b, K), cr_n(b, part->step), cr_at_slot(tile), cr_n(b, size));
}

static void make_rows(struct cr_builder *b, const struct made_rows *rows, struct cr_address to)
{
    for (int p = 0; p < rows->parts->n; p++)
        make_part(b, rows, p, to);
}

/* Computes the rows of keys before s->visible, once for all steps of an item. */
static void compute_keys(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_steps j =
        cr_begin_steps(b, "key", "n_keys", cr_number(b, 0), cr_var(b, s->visible), KEY_ROWS);
    struct made_rows rows = {&k->attention_rows.key_parts,
                             k->attention_rows.keys,
                             k->key,
                             cr_min(s->keys, KEY_ROWS),
                             j.first,
                             cr_var(b, j.count)};
    make_rows(b, &rows, cr_offset(b, cr_start_of(s->v.keys), j.first, CR_NONE, k->attention.K));
    cr_end(b);
}

/* Copies the rows of keys before s->visible. */
static void copy_keys(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_x(cr_var(b, s->visible)), depth_of(b),
            cr_at_slot(s->v.keys), cr_n(b, k->attention.K),
            cr_at(cr_operand_at(b, &k->attention.key, -1, CR_NONE, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.key.at, k->key)),
            cr_n(b, cr_coef(&k->attention.key.at, k->k)));
}

/* Computes the queries of a step and returns their address. */
static struct cr_address compute_queries(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct made_rows rows = {
        &k->attention_rows.query_parts, k->attention_rows.queries, k->row, s->rows, s->v.i.first,
        cr_var(b, s->v.i.count)};
    struct cr_address made = of_member(b, s, s->made, k->attention.K);
    make_rows(b, &rows, made);
    return made;
}

/* Packs the queries of a step, from memory or from the rows that the kernel computed. */
static void pack_queries(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    int64_t k_step = 1, row_step = k->attention.K;
    struct cr_address at;
    if (k->attention_rows.queries->n) {
        at = compute_queries(b, s);
    } else {
        at = cr_operand_at(b, &k->attention.query, k->row, s->v.i.first, -1, CR_NONE);
        k_step = cr_coef(&k->attention.query.at, k->k);
        row_step = cr_coef(&k->attention.query.at, k->row);
    }
    CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, depth_of(b), m_of(b, s),
            cr_at_slot(s->v.queries), cr_n(b, k->attention.K * CR_PANEL), cr_at(at),
            cr_n(b, k_step), cr_n(b, row_step));
}

/* ---- the loop over keys ---- */

/* Sets entry i of a row to 1 if dropout has kept no key of query i so far. */
static void one_unless_chosen(struct cr_builder *b, const struct attention *s, int row)
{
    struct cr_argument n0 = cr_n(b, 0);
    CR_CALL_MAP(b, CR_OP_where, CR_FORMAT_f32, 4, cr_n(b, 1), m_of(b, s), cr_at_slot(row), n0,
                cr_at_slot(s->chosen), n0, cr_at_slot(row), n0, cr_at_constant(b, 1), n0);
}

/* Updates the maximum of each query's dropout factors so far, kept in lanes, with a block of
 * factors. */
static void update_factor(struct cr_builder *b, const struct attention *s)
{
    struct cr_call call = {.callee = CR_CALLEE_REDUCE_DOWN, .op = CR_OP_max};
    const struct cr_argument arguments[] = {n_of(b, s), m_of(b, s), cr_at_slot(s->chosen),
                                            cr_at_slot(s->v.dropout), cr_n(b, CR_PANEL)};
    cr_do_call(b, cr_make_call(b, call, 5, arguments));
}

static void fold_chosen(struct cr_builder *b, const struct attention *s)
{
    struct cr_call call = {.callee = CR_CALLEE_REDUCE_LANES, .op = CR_OP_max};
    const struct cr_argument arguments[] = {m_of(b, s), cr_at_slot(s->chosen)};
    cr_do_call(b, cr_make_call(b, call, 2, arguments));
}

/*
 * Multiplies exp(score - max) by the factors of dropout.  If a `where` does the dropout, dropped
 * elements become 0, even if they are NaN.  As long as all keys of a query so far were dropped, its
 * sums are 0 and are scaled by 1.
 */
static void drop(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n = n_of(b, s), m = m_of(b, s), ld = cr_n(b, CR_PANEL);
    struct cr_argument scores = cr_at_slot(s->v.scores), dropout = cr_at_slot(s->v.dropout);
    if (k->attention.dropout.n == 0)
        return;
    cr_block_program(b, &s->v, &k->attention.dropout, s->v.dropout, s->v.dropout);
    CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n, m, scores, ld, scores, ld, dropout, ld);
    if (!k->attention.chooses)
        return;
    CR_CALL_MAP(b, CR_OP_where, CR_FORMAT_f32, 4, n, m, scores, ld, dropout, ld, scores, ld,
                cr_at_constant(b, 0), cr_n(b, 0));
    one_unless_chosen(b, s, s->v.scale);
    update_factor(b, s);
    fold_chosen(b, s);
}

/* Adds the product of a block of weights and its values to the sums.  With softmax, the sums are
 * first rescaled to the new maximum. */
static void add_values(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_address values =
        cr_offset(b, cr_start_of(s->values), s->v.j.first, CR_NONE, CR_PANEL);
    struct cr_argument sums = cr_at_slot(s->sums), width = cr_n(b, s->width);
    struct cr_argument panels = cr_n(b, s->keys * CR_PANEL), ld = cr_n(b, CR_PANEL);
    if (k->attention.direct)
        CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, m_of(b, s), columns_of(b), n_of(b, s),
                cr_at_slot(s->v.scores), cr_n(b, 1), ld, cr_at(values), panels, sums, width, sums,
                width, cr_null, cr_tile_columns(b), cr_no_prefetch(b));
    else {
        struct cr_band band = cr_band_of_queries(b, &s->v, s->finite);
        CR_CALL(b, CR_CALLEE_gemm_scaled, CR_FORMAT_f32, m_of(b, s), columns_of(b),
                n_of(b, s), cr_at_slot(s->v.scores), cr_n(b, 1), ld, cr_at(values), panels, sums,
                width, cr_at_slot(s->v.scale), cr_x(band.begin), cr_x(band.end), cr_tile_columns(b),
                cr_no_prefetch(b));
    }
}

/* Loops over blocks of keys for queries i to i + m: computes online softmax, or direct weights, and
 * adds the weighted values to the sums. */
static void loop_over_keys(struct cr_builder *b, struct attention *s)
{
    bool skips = cr_may_skip(b);
    pack_queries(b, s);
    cr_let_step_extremes(b, &s->v);
    cr_begin_keys(b, &s->v, cr_var(b, s->v.first), cr_var(b, s->v.last));
    if (skips)
        cr_begin_if_seen(b, &s->v, s->finite);
    if (b->k->attention.direct)
        cr_logit_block(b, &s->v);
    else
        cr_softmax_block(b, &s->v, cr_score_block(b, &s->v));
    drop(b, s);
    add_values(b, s);
    if (skips)
        cr_end(b);
    cr_end(b);
}

/* ---- after the loop over keys ---- */

/* If one probability of a query is NaN, all of them are NaN, including those of skipped keys, and
 * each key that dropout keeps makes the result NaN.  In that case, computes the largest dropout
 * factor over all keys. */
static void update_factor_of_skipped(struct cr_builder *b, struct attention *s)
{
    struct cr_argument n0 = cr_n(b, 0), n1 = cr_n(b, 1), m = m_of(b, s);
    struct cr_argument scale = cr_at_slot(s->v.scale);
    if (!cr_hides_keys(b))
        return;
    cr_remark(b, "probabilities of NaN may be chosen among the keys that were skipped");
    CR_CALL_MAP(b, CR_OP_div, CR_FORMAT_f32, 1, n1, m, scale, n0, cr_at_constant(b, 1), n0,
                cr_at_slot(s->v.sum), n0);
    struct cr_call finite = {.callee = CR_CALLEE_finite, .format = CR_FORMAT_f32};
    const struct cr_argument arguments[] = {n1, m, scale, n0, n1};
    cr_expr is_finite = cr_call_value(b, cr_make_call(b, finite, 5, arguments));
    cr_expr keys = cr_size(b, b->k->key);
    cr_begin_keys(b, &s->v, cr_select(b, is_finite, keys, cr_number(b, 0)), keys);
    cr_block_program(b, &s->v, &b->k->attention.dropout, s->v.dropout, s->v.dropout);
    update_factor(b, s);
    cr_end(b);
    fold_chosen(b, s);
}

/* True if the result holds integers, so that the sums cannot be kept in it before the epilogue. */
static bool stores_integers(const struct cr_builder *b)
{
    return cr_formats[b->f->slots[b->out].format].dtype == CR_I32;
}

/* Divides the sums of values by the sums of softmax, and runs the epilogue. */
static void end_rows(struct cr_builder *b, struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument m = m_of(b, s), width = cr_n(b, s->width);
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = s->rows,
                              .max_cols = s->width,
                              .first_row = s->v.i.first,
                              .first_col = CR_NONE,
                              .rows = cr_var(b, s->v.i.count),
                              .cols = cr_size(b, k->col),
                              .dest_strided = cr_coef(&k->dest, k->col) != 1,
                              .core = {of_member(b, s, s->sums, s->width), s->width}};
    job.dest = job.core;
    if (!job.dest_strided) {
        job.dest.address = cr_result_at(b, &k->dest, k->row, s->v.i.first, k->col, CR_NONE);
        job.dest.ld = cr_coef(&k->dest, k->row);
    }
    if (k->attention.direct) {
        cr_schedule_tiles(b, &job);
        return;
    }
    if (!stores_integers(b))
        job.core = job.dest;
    if (k->attention.chooses) {
        update_factor_of_skipped(b, s);
        one_unless_chosen(b, s, s->v.sum);
    }
    CR_CALL_MAP(b, CR_OP_div, CR_FORMAT_f32, 2, m, columns_of(b), cr_at(job.core.address),
                cr_n(b, job.core.ld), cr_at(of_member(b, s, s->sums, s->width)), width,
                cr_at(of_member(b, s, s->v.sum, 1)), cr_n(b, 1));
    cr_schedule_tiles(b, &job);
}

/* ---- one query at a time ---- */

/* True if value i of a program is the same for all keys. */
static bool same_for_keys(const struct cr_kernel *k, const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    bool same = v->source != CR_CORE && v->source != CR_SCORE && !cr_coef(&v->at, k->key);
    for (int a = 0; a < cr_value_args(v); a++)
        same &= tiles->values[v->arg[a]].by_row;
    return same;
}

/* Runs the program of scores on one row of scores: the columns are the keys of a block, for a
 * single query. */
static void score_program(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_value values[CR_MAX_VALUES];
    struct cr_tiles program = {
        .values = values, .n = k->attention.scores.n, .result = k->attention.scores.result};
    int64_t block = key_block(s);
    struct cr_tile scores = {of_member(b, s, s->v.scores, block), block};
    memcpy(values, k->attention.scores.values, (size_t)program.n * sizeof *values);
    for (int i = 0; i < program.n; i++)
        values[i].by_row = same_for_keys(k, &program, i);
    struct cr_tile_job job = {.tiles = &program,
                              .row = k->row,
                              .col = k->key,
                              .max_rows = 1,
                              .max_cols = block,
                              .first_row = s->v.i.first,
                              .first_col = s->v.j.first,
                              .rows = cr_number(b, 1),
                              .cols = cr_var(b, s->v.j.count),
                              .core = scores,
                              .score = scores,
                              .dest = scores};
    cr_schedule_tiles(b, &job);
}

/* Sets the head for which addresses are computed: both s->member and the counter of the innermost
 * outer loop become `head`. */
static void set_member(struct cr_builder *b, struct attention *s, int head)
{
    s->member = b->outer[b->k->n_outer - 1] = head;
}

/* Begins a loop over the heads that share keys in an item. */
static void begin_members(struct cr_builder *b, struct attention *s, const struct cr_share *heads)
{
    set_member(
        b, s,
        cr_begin_loop(b, "member", cr_var(b, heads->first), cr_var(b, heads->last), 1, 0, CR_NONE));
}

static void end_members(struct cr_builder *b, struct attention *s)
{
    cr_end(b);
    s->member = CR_NONE;
}

/* Computes the softmax of a block of scores of one query, after its scores' program and mask. */
static void softmax_of_row(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_address scores = of_member(b, s, s->v.scores, key_block(s));
    if (k->attention.scores.n > 1)
        score_program(b, s);
    cr_hide_outside(b, &s->v, scores, -INFINITY);
    CR_CALL(b, CR_CALLEE_softmax_row, CR_FORMAT_f32, n_of(b, s), cr_at(scores),
            cr_by_value(cr_constant(b, CR_FORMAT_f32, k->attention.factor)),
            cr_at(of_member(b, s, s->v.max, 1)), cr_at(of_member(b, s, s->v.sum, 1)),
            cr_at(of_member(b, s, s->v.scale, 1)));
}

/* Returns the address of the query of the first head of an item, and the distance in floats from
 * each head's query to the next. */
static struct cr_tile queries_of(struct cr_builder *b, const struct attention *s)
{
    const struct cr_kernel *k = b->k;
    if (k->attention_rows.queries->n)
        return (struct cr_tile){of_member(b, s, s->made, k->attention.K), k->attention.K};
    return (struct cr_tile){
        cr_operand_at(b, &k->attention.query, k->row, s->v.i.first, -1, CR_NONE),
        s->member == CR_NONE ? 0 : cr_coef(&k->attention.query.at, k->outer[k->n_outer - 1])};
}

/* Processes a block of keys for one query or, with `heads`, for one query of each head: computes
 * the scores and their exponentials, and adds the weighted values to the sums. */
static void attend_block(struct cr_builder *b, struct attention *s, const struct cr_share *heads)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n = n_of(b, s), block = cr_n(b, key_block(s));
    struct cr_argument T = heads ? cr_x(cr_share_size(b, heads)) : cr_n(b, 1);
    if (heads)
        set_member(b, s, heads->first);
    struct cr_tile queries = queries_of(b, s);
    struct cr_argument scores = cr_at(of_member(b, s, s->v.scores, key_block(s)));
    struct cr_argument sums = cr_at(of_member(b, s, s->sums, s->width));
    struct cr_argument scale = cr_at(of_member(b, s, s->v.scale, 1));
    CR_CALL(b, CR_CALLEE_dots, CR_FORMAT_f32, n, depth_of(b), T, scores, block,
            cr_at(cr_operand_at(b, &k->attention.key, k->key, s->v.j.first, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.key.at, k->key)), cr_at(queries.address),
            cr_n(b, queries.ld));
    if (heads)
        begin_members(b, s, heads);
    softmax_of_row(b, s);
    if (heads)
        end_members(b, s);
    CR_CALL(b, CR_CALLEE_add_rows, CR_FORMAT_f32, n, columns_of(b), T, sums, cr_n(b, s->width),
            scores, block,
            cr_at(cr_operand_at(b, &k->attention.value, k->key, s->v.j.first, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.value.at, k->key)), scale);
}

/* Loops over the queries one by one; each loops over the keys that it sees. */
static void attend_each(struct cr_builder *b, struct attention *s, const struct cr_share *i)
{
    bool skips = cr_may_skip(b);
    s->v.alone = true;
    s->v.i = cr_begin_share(b, "query", "n_queries", i, 1, CR_NONE);
    start_rows(b, s, cr_size(b, b->k->key));
    if (b->k->attention_rows.queries->n)
        compute_queries(b, s);
    cr_let_step_extremes(b, &s->v);
    cr_begin_keys(b, &s->v, cr_var(b, s->v.first), cr_var(b, s->v.last));
    if (skips)
        cr_begin_if_seen(b, &s->v, s->finite);
    attend_block(b, s, NULL);
    if (skips)
        cr_end(b);
    cr_end(b);
    end_rows(b, s);
    cr_end(b);
}

/* ---- heads that share keys ---- */

/* Resets the maximum and sums of a head, and computes its query if the kernel computes queries. */
static void start_member(struct cr_builder *b, const struct attention *s)
{
    struct cr_argument n0 = cr_n(b, 0), n1 = cr_n(b, 1);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n1, n1, cr_at(of_member(b, s, s->v.max, 1)), n0,
            cr_at_constant(b, -INFINITY), n0, n0);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n1, n1, cr_at(of_member(b, s, s->v.sum, 1)), n0,
            cr_at_constant(b, 0), n0, n0);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n1, columns_of(b),
            cr_at(of_member(b, s, s->sums, s->width)), n0, cr_at_constant(b, 0), n0, n0);
    if (b->k->attention_rows.queries->n)
        compute_queries(b, s);
}

/* Loops over the queries one by one, for several heads: each block of keys that these heads share
 * is read once for all of them. */
static void attend_members(struct cr_builder *b, struct attention *s, const struct cr_share *i,
                           const struct cr_share *heads)
{
    s->v.alone = true;
    s->v.i = cr_begin_share(b, "query", "n_queries", i, 1, CR_NONE);
    begin_members(b, s, heads);
    start_member(b, s);
    end_members(b, s);
    cr_let_key_range(b, &s->v, cr_size(b, b->k->key), s->finite);
    cr_begin_keys(b, &s->v, cr_var(b, s->v.first), cr_var(b, s->v.last));
    attend_block(b, s, heads);
    cr_end(b);
    begin_members(b, s, heads);
    end_rows(b, s);
    end_members(b, s);
    cr_end(b);
}

/* Schedules a kernel in which each item is a group of heads that share keys. */
static int64_t schedule_members(struct cr_builder *b, struct attention *s)
{
    int64_t parts = cr_ceil_div(s->members, s->part);
    cr_begin_items_of_outer(b, b->k->n_outer - 1, parts);
    struct cr_share i = cr_let_share(b, "query0", "query1", 1, 1, 1, cr_size(b, b->k->row));
    struct cr_share heads =
        cr_let_share(b, "head0", "head1", 1, parts, s->part, cr_number(b, s->members));
    cr_let_shift(b, &s->v);
    s->finite = cr_let_finite(b, "finite", &b->k->attention.value, b->k->key, b->k->col);
    attend_members(b, s, &i, &heads);
    cr_end_items(b);
    return cr_outer_items(b->k) / s->members * parts;
}

/* ---- the whole kernel ---- */

/* Processes the queries of an item in steps of several queries; values are packed once for all
 * steps. */
static void attend(struct cr_builder *b, struct attention *s, const struct cr_share *i)
{
    s->v.alone = false;
    let_visible(b, s, i);
    bool values_once = packed_once(b->k, s, &b->k->attention.value);
    bool keys_once = packed_once(b->k, s, &b->k->attention.key);
    if (values_once)
        begin_first_head(b);
    pack_values(b, s);
    if (values_once)
        cr_end(b);
    if (b->k->attention_rows.keys->n)
        compute_keys(b, s);
    else if (s->v.has_keys) {
        if (keys_once)
            begin_first_head(b);
        copy_keys(b, s);
        if (keys_once)
            cr_end(b);
    }
    s->v.i = cr_begin_share(b, "query", "n_queries", i, s->rows, CR_NONE);
    start_rows(b, s, cr_var(b, s->visible));
    fetch_next(b, s);
    loop_over_keys(b, s);
    end_rows(b, s);
    cr_end(b);
}

/* Processes few queries for s->part heads that share keys.  The item of the first of these heads
 * does this; the items of the other heads do nothing. */
static void attend_shared(struct cr_builder *b, struct attention *s, const struct cr_share *i)
{
    int head = b->outer[b->k->n_outer - 1];
    cr_expr index = cr_binary(b, CR_EXPR_MOD, cr_var(b, head), cr_number(b, s->part));
    cr_expr all = cr_number(b, s->members);
    cr_expr end = s->part == s->members
                      ? all
                      : cr_binary(b, CR_EXPR_MIN, cr_plus(b, cr_var(b, head), s->part), all);
    cr_begin_if(b, cr_binary(b, CR_EXPR_EQUAL, index, cr_number(b, 0)),
                "heads from this one on share keys");
    struct cr_share heads = {.first = head, .last = cr_let(b, "last", end), .most = s->part};
    attend_members(b, s, i, &heads);
    cr_end(b);
    set_member(b, s, head);
    s->member = CR_NONE;
}

/* Processes the queries of an item one by one if they are few, else in steps of several.  If that
 * depends on a length, the variable `few` decides: queries before it are processed one by one. */
static void attend_few_or_many(struct cr_builder *b, struct attention *s, const struct cr_share *i)
{
    struct cr_share each = *i, together = *i;
    if (s->few && s->many) {
        cr_expr first = cr_var(b, i->first), last = cr_var(b, i->last);
        cr_expr are_few =
            cr_binary(b, CR_EXPR_LESS, cr_minus_var(b, i->last, i->first), cr_number(b, FEW + 1));
        each.last = together.first =
            cr_let_noted(b, "few", cr_select(b, are_few, last, first), false,
                         "queries before it read keys and values in place");
        each.even = together.even = false;
        each.may_be_empty = together.may_be_empty = true;
    }
    if (s->few && s->members > 1)
        attend_shared(b, s, &each);
    else if (s->few)
        attend_each(b, s, &each);
    if (s->many)
        attend(b, s, &together);
}

/* Schedules attention; an item is a chunk of the queries of one (batch, head). */
int64_t cr_schedule_attention(struct cr_builder *b)
{
    struct attention s = {0};
    cut(&s, b->k, b->target, cr_may_skip(b));
    b->f->traffic = cr_attention_traffic(b->k, s.chunks * cr_ceil_div(s.chunk, s.rows), s.chunks,
                                         s.M * (b->k->attention.K + b->k->attention.N));
    take_scratch(b, &s);
    if (s.members > 1 && !s.many)
        return schedule_members(b, &s);
    cr_parts_size(b, CR_TILE_QUERIES, s.chunks);
    cr_begin_items(b, s.chunks);
    struct cr_share i = cr_let_share(b, "query0", "query1", 1, s.chunks, s.chunk, cr_size(b, b->k->row));
    cr_let_shift(b, &s.v);
    s.finite = cr_let_finite(b, "finite", &b->k->attention.value, b->k->key, b->k->col);
    attend_few_or_many(b, &s, &i);
    cr_end_items(b);
    return cr_outer_items(b->k) * s.chunks;
}

void cr_describe_attention(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = %s(q", k->attention.direct ? "scores" : "softmax");
    cr_put_extents(text, b, k->row, k->k);
    cr_put(text, " x k");
    cr_put_extents(text, b, k->k, k->key);
    cr_put(text, ") x v");
    cr_put_extents(text, b, k->key, k->col);
    cr_put_outer(text, b);
}
