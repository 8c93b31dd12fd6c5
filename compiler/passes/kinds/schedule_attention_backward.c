/*
 * schedule_attention_backward.c - schedules the gradients of attention without a stored matrix of
 * queries by keys (Dao et al. 2022).
 *
 * An item is a (batch, head).  A step has a few queries, and loops over the keys that they see
 * twice: once for the maximum and the sum of softmax; then, block by block, for the probabilities
 * and the gradients.  Blocks are transposed, as in the forward pass: a row is a key, a column a
 * query.  Each gradient is a sum over blocks of 32 queries or of 128 keys in order, whatever the
 * number of threads.
 *
 * Blocks that a mask hides are skipped only if nothing in them can become NaN: keys, delta and the
 * sums of softmax must be finite.  If delta and the sums are, so are the values, the queries and
 * the gradients of the output.  Without softmax, the weights are computed once, and keys, values,
 * queries and gradients must be finite.
 */
#include <stdio.h>

#include "attention_parts.h"
#include "compiler/ir/text.h"
#include "kinds.h"
#include "schedule_attention.h"

/* The sizes, scratch slots and variables of the kernel for one (batch, head). */
struct backward {
    int64_t M, keys, K, N;
    int64_t rows;  /* the most queries of a step */
    int64_t block; /* the most keys of a block */
    int packed_keys, query_rows, grads, grad_rows, dscores, dropped, delta; /* numbers of scratch
                                                                               slots */
    int sink, array, old, ones, lanes[CR_MAX_ARRAYS], table, index;              /* more scratch
                                                                                    slots */
    int keys_finite, values_finite, finite; /* numbers of variables */
    struct cr_attention_vars v;
};

/* Sets the sizes of steps and blocks.  They are the same for every target, since the order of sums
 * depends on them. */
static struct backward cut(const struct cr_kernel *k)
{
    struct backward s = {.M = cr_extent(k, k->row),
                         .keys = k->attention.keys,
                         .K = k->attention.K,
                         .N = k->attention.N};
    s.rows = cr_min(s.M, CR_PANEL_FLOATS);
    s.block = cr_min(s.keys, CR_KEY_BLOCK);
    return s;
}

static int take(struct cr_builder *b, const char *name, int64_t floats, const char *note)
{
    return cr_scratch(b, name, CR_FORMAT_f32, floats, note);
}

/* True if a program reads the product of queries and keys, which then needs its own slot. */
static bool takes_product(const struct cr_kernel *k)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++)
            if (tiles->values[i].source == CR_SCORE)
                return true;
    return false;
}

/* True if a program computes the array from dS; otherwise the array is dS itself. */
static bool is_worked(const struct cr_kernel *k, int array)
{
    return k->attention_backward.array[array].n > 1;
}

/* True if an array is dS with zeros for hidden keys, and a later array or T reads dS without these
 * zeros.  The array then gets a copy of its own. */
static bool is_copied(const struct cr_kernel *k, int array)
{
    bool whole = !k->attention_backward.scores_hidden;
    for (int i = array + 1; i < k->attention_backward.n_arrays; i++)
        whole |= !k->attention_backward.hidden[i] && k->attention_backward.arrays[i] != CR_OF_SINK;
    return whole && k->attention_backward.hidden[array] && !is_worked(k, array);
}

static bool sums_over_queries(const struct cr_kernel *k)
{
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_QUERIES)
            return true;
    return false;
}

/* Declares the scratch for arrays other than dS and T; only one block of each exists at a time. */
static void take_array_scratch(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    int64_t block = s->block * CR_PANEL_FLOATS;
    s->v.product = takes_product(k) ? take(b, "product", block, "of queries and keys")
                                    : s->v.scores;
    bool apart = false;
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        apart |= is_worked(k, i) || is_copied(k, i);
    if (apart)
        s->array = take(b, "array", block, "what is made of the logits' gradients");
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        char name[16];
        snprintf(name, sizeof name, "lanes%d", i);
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_KEYS)
            s->lanes[i] = take(b, name, CR_LANES * s->rows, "of sums over keys");
    }
    if (sums_over_queries(k))
        s->ones = take(b, "ones", s->rows * CR_PANEL_FLOATS, "packed: a column of ones");
    if (k->attention_backward.serial)
        s->old = take(b, "old", block, "the sum so far");
    if (!k->attention_backward.index.n)
        return;
    s->table = take(b, "table", cr_extent(k, k->attention_backward.bucket), "sums by index");
    s->index = cr_scratch(b, "index", CR_FORMAT_i32, block, "of a block");
}

/*
 * Declares the scratch of one thread.  Packed keys are kept for all keys; scores and their
 * gradients exist for one block of keys and one panel of queries only.  An operand that one product
 * reads transposed and another by rows is packed in both ways.
 */
static void take_scratch(struct cr_builder *b, struct backward *s)
{
    int64_t K = cr_round_up(s->K, CR_PANEL_FLOATS), N = cr_round_up(s->N, CR_PANEL_FLOATS);
    int64_t panel = CR_PANEL_FLOATS;
    s->packed_keys = take(b, "keys", s->keys * K, "packed keys");
    s->v.queries = take(b, "queries", s->K * panel, "packed queries of a step, transposed ...");
    s->query_rows = take(b, "query_rows", s->rows * K, "... and as they are");
    s->grads = take(b, "grads", s->N * panel, "their output's gradients, transposed ...");
    s->grad_rows = take(b, "grad_rows", s->rows * N, "... and as they are");
    s->v.scores =
        take(b, "scores", s->block * panel, "a block of keys x queries");
    s->dscores = take(b, "dscores", s->block * panel, "their gradients");
    if (b->k->attention.dropout.n)
        s->v.dropout = take(b, "dropout", s->block * panel, "factors of the probabilities");
    if (b->k->attention.chooses)
        s->dropped = take(b, "dropped", s->block * panel, "the probabilities times those");
    if (b->k->attention.direct) {
        take_array_scratch(b, s);
        return;
    }
    s->v.max = take(b, "max", s->rows, "of a query's scores");
    s->v.sum = take(b, "sum", s->rows, "of exp(score - max)");
    s->v.scale = take(b, "scale", s->rows, "exp(old max - new max)");
    if (b->k->attention.sink.n)
        s->sink = take(b, "sink", s->rows, "one score more of a query");
    s->delta = take(b, "delta", s->rows, "sum(output * its gradient)");
    take_array_scratch(b, s);
}

static struct cr_argument m_of(struct cr_builder *b, const struct backward *s)
{
    return cr_x(cr_var(b, s->v.i.count));
}

static struct cr_argument n_of(struct cr_builder *b, const struct backward *s)
{
    return cr_x(cr_var(b, s->v.j.count));
}

/* Returns the number of the slot in which a result is stored. */
static int slot_of(const struct cr_builder *b, int result)
{
    return b->stored[b->k->stored_in[result]];
}

/* Returns the address of a result's row `first`, a variable, or of row 0 if `first` is CR_NONE. */
static struct cr_address result_from(struct cr_builder *b, int result, int row, int first)
{
    return cr_element(b, slot_of(b, result), &b->k->results[result], row, first, -1, CR_NONE);
}

/* Fills rows of a result with zeros. */
static void fill_zeros(struct cr_builder *b, struct cr_argument rows, int64_t cols,
                       struct cr_address at, int64_t step)
{
    struct cr_argument n0 = cr_n(b, 0);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, rows, cr_n(b, cols), cr_at(at), cr_n(b, step),
            cr_at_constant(b, 0), n0, n0);
}

/* ---- other arrays of queries by keys ---- */

/* Before the steps of a head: sets the sums over queries and the scattered table to 0. */
static void start_arrays(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n0 = cr_n(b, 0), n1 = cr_n(b, 1);
    if (sums_over_queries(k))
        CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, cr_n(b, s->rows), n1, cr_at_slot(s->ones),
                cr_n(b, s->rows * CR_PANEL), cr_at_constant(b, 1), n0, n0);
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_QUERIES)
            fill_zeros(b, n1, s->keys, result_from(b, CR_OF_ARRAY + i, -1, CR_NONE), 0);
        if (k->attention_backward.arrays[i] == CR_SCATTERED)
            fill_zeros(b, n1, cr_extent(k, k->attention_backward.bucket), cr_start_of(s->table), 0);
    }
}

/* Returns the outer loops, as bits, along which an array is summed. */
static unsigned summed_loops(const struct cr_kernel *k, int array)
{
    unsigned loops = 0;
    for (int o = 0; o < k->n_outer; o++)
        if (k->attention_backward.arrays[array] == CR_WHOLE_ARRAY &&
            !k->results[CR_OF_ARRAY + array].coef[k->outer[o]])
            loops |= 1u << o;
    return loops;
}

/* Before the heads of an item: sets whole arrays to 0 if several heads are added to them. */
static void start_sums(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        unsigned summed = summed_loops(k, i);
        int loops = 0;
        for (int o = 0; o < k->n_outer && summed; o++) {
            if (!(k->attention_backward.serial >> k->outer[o] & 1) || summed >> o & 1)
                continue;
            b->outer[o] = cr_begin_loop(b, b->outer_name[o], cr_number(b, 0),
                                        cr_extent_of(b, k->outer[o]), 1, 0, CR_NONE);
            loops++;
        }
        if (summed)
            fill_zeros(b, cr_n(b, s->M), s->keys, result_from(b, CR_OF_ARRAY + i, -1, CR_NONE),
                       cr_coef(&k->results[CR_OF_ARRAY + i], k->row));
        for (; loops > 0; loops--)
            cr_end(b);
    }
}

/* Before the loop over the keys of a step: sets its sums over keys to 0, and its rows of whole
 * arrays, because hidden blocks are not stored. */
static void start_rows_of_arrays(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n0 = cr_n(b, 0), m = m_of(b, s);
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        const struct cr_affine *dest = &k->results[CR_OF_ARRAY + i];
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_KEYS)
            CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_n(b, CR_LANES), m,
                    cr_at_slot(s->lanes[i]), m, cr_at_constant(b, 0), n0, n0);
        if (k->attention_backward.arrays[i] == CR_WHOLE_ARRAY && k->attention.n_bounds &&
            !summed_loops(k, i))
            fill_zeros(b, m, s->keys, result_from(b, CR_OF_ARRAY + i, k->row, s->v.i.first),
                       cr_coef(dest, k->row));
    }
}

/* Returns the address of element [i, j] of a whole array. */
static struct cr_argument block_at(struct cr_builder *b, const struct backward *s, int array)
{
    const struct cr_kernel *k = b->k;
    return cr_at(cr_element(b, slot_of(b, CR_OF_ARRAY + array), &k->results[CR_OF_ARRAY + array],
                            k->row, s->v.i.first, k->key, s->v.j.first));
}

/* Stores a block of a whole array, or adds it to the sum over the heads so far. */
static void store_block(struct cr_builder *b, const struct backward *s, int block, int array)
{
    const struct cr_affine *dest = &b->k->results[CR_OF_ARRAY + array];
    struct cr_argument n = n_of(b, s), m = m_of(b, s), ld = cr_n(b, CR_PANEL);
    struct cr_argument key_step = cr_n(b, cr_coef(dest, b->k->key));
    struct cr_argument row_step = cr_n(b, cr_coef(dest, b->k->row));
    if (summed_loops(b->k, array)) {
        CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n, m, cr_at_slot(s->old), ld,
                block_at(b, s, array), key_step, row_step);
        CR_CALL_MAP(b, CR_OP_add, CR_FORMAT_f32, 0, n, m, cr_at_slot(s->old), ld,
                    cr_at_slot(s->old), ld, cr_at_slot(block), ld);
        block = s->old;
    }
    CR_CALL(b, CR_CALLEE_store, CR_FORMAT_f32, n, m, block_at(b, s, array), key_step, row_step,
            cr_at_slot(block), ld);
}

/* Adds a block to the sums over keys, lane by lane. */
static void sum_keys(struct cr_builder *b, const struct backward *s, int block, int lanes)
{
    struct cr_call call = {.callee = CR_CALLEE_REDUCE_DOWN, .op = CR_OP_sum};
    const struct cr_argument arguments[] = {n_of(b, s), m_of(b, s), cr_at_slot(lanes),
                                            cr_at_slot(block), cr_n(b, CR_PANEL)};
    cr_do_call(b, cr_make_call(b, call, 5, arguments));
}

/* Adds the sum over a block's queries, for each key, to the result. */
static void sum_queries(struct cr_builder *b, const struct backward *s, int block, int result)
{
    struct cr_argument n1 = cr_n(b, 1);
    struct cr_argument to = cr_at(result_from(b, result, b->k->key, s->v.j.first));
    CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, n_of(b, s), n1, m_of(b, s), cr_at_slot(block),
            cr_n(b, CR_PANEL), n1, cr_at_slot(s->ones), cr_n(b, s->rows * CR_PANEL), to, n1, to, n1,
            cr_null, cr_tile_columns(b), cr_no_prefetch(b));
}

/* Adds each element of a block to the row of the table that the element's index selects. */
static void scatter(struct cr_builder *b, const struct backward *s, int block)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument ld = cr_n(b, CR_PANEL);
    cr_block_program(b, &s->v, &k->attention_backward.index, s->index, s->index);
    CR_CALL(b, CR_CALLEE_scatter_tile, CR_FORMAT_f32, n_of(b, s), m_of(b, s), cr_at_slot(s->table),
            cr_n(b, cr_extent(k, k->attention_backward.bucket)), cr_at_slot(block), ld,
            cr_at_slot(s->index), ld);
}

/* Copies a block of dS to the slot `array`. */
static void copy_dscores(struct cr_builder *b, const struct backward *s)
{
    struct cr_argument ld = cr_n(b, CR_PANEL);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n_of(b, s), m_of(b, s), cr_at_slot(s->array), ld,
            cr_at_slot(s->dscores), ld, cr_n(b, 1));
}

/* For each array, computes a block from dS, and sums, stores or scatters the block. */
static void make_arrays(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        int block = is_worked(k, i) || is_copied(k, i) ? s->array : s->dscores;
        if (is_worked(k, i))
            cr_block_program(b, &s->v, &k->attention_backward.array[i], s->dscores, s->array);
        if (is_copied(k, i))
            copy_dscores(b, s);
        if (k->attention_backward.arrays[i] == CR_OF_SINK)
            continue; /* store_sinks has stored the gradient of the sink */
        if (k->attention_backward.hidden[i])
            cr_hide_outside(b, &s->v, cr_start_of(block), 0);
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_KEYS)
            sum_keys(b, s, block, s->lanes[i]);
        if (k->attention_backward.arrays[i] == CR_SUM_OVER_QUERIES)
            sum_queries(b, s, block, CR_OF_ARRAY + i);
        if (k->attention_backward.arrays[i] == CR_WHOLE_ARRAY)
            store_block(b, s, block, i);
        if (k->attention_backward.arrays[i] == CR_SCATTERED)
            scatter(b, s, block);
    }
}

/* After the loop over the keys of a step: stores the sums over keys. */
static void end_rows_of_arrays(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        const struct cr_affine *dest = &k->results[CR_OF_ARRAY + i];
        if (k->attention_backward.arrays[i] != CR_SUM_OVER_KEYS)
            continue;
        struct cr_call fold = {.callee = CR_CALLEE_REDUCE_LANES, .op = CR_OP_sum};
        const struct cr_argument arguments[] = {m_of(b, s), cr_at_slot(s->lanes[i])};
        cr_do_call(b, cr_make_call(b, fold, 2, arguments));
        CR_CALL(b, CR_CALLEE_store, CR_FORMAT_f32, cr_n(b, 1), m_of(b, s),
                cr_at(result_from(b, CR_OF_ARRAY + i, k->row, s->v.i.first)), cr_n(b, 0),
                cr_n(b, cr_coef(dest, k->row)), cr_at_slot(s->lanes[i]), cr_n(b, 0));
    }
}

/* After the steps of a head: stores the scattered table. */
static void end_arrays(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        if (k->attention_backward.arrays[i] == CR_SCATTERED)
            CR_CALL(b, CR_CALLEE_store, CR_FORMAT_f32, cr_n(b, 1),
                    cr_n(b, cr_extent(k, k->attention_backward.bucket)),
                    cr_at(result_from(b, CR_OF_ARRAY + i, -1, CR_NONE)), cr_n(b, 0),
                    cr_n(b, cr_coef(&k->results[CR_OF_ARRAY + i], k->attention_backward.bucket)),
                    cr_at_slot(s->table), cr_n(b, 0));
}

/* ---- before the loops over keys ---- */

/* Begins a head: packs the keys, and sets the gradients of keys and values to 0, because each step
 * of queries adds to them. */
static void start_item(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument keys = cr_n(b, s->keys);
    CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, keys, cr_n(b, s->K), cr_at_slot(s->packed_keys),
            cr_n(b, s->keys * CR_PANEL),
            cr_at(cr_operand_at(b, &k->attention.key, -1, CR_NONE, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.key.at, k->key)),
            cr_n(b, cr_coef(&k->attention.key.at, k->k)));
    s->keys_finite = cr_let_finite(b, "keys_finite", &k->attention.key, k->key, k->k);
    if (k->attention.direct)
        s->values_finite = cr_let_finite(b, "values_finite", &k->attention.value, k->key, k->col);
    fill_zeros(b, keys, s->K, result_from(b, CR_DK, -1, CR_NONE),
               cr_coef(&k->results[CR_DK], k->key));
    fill_zeros(b, keys, s->N, result_from(b, CR_DV, -1, CR_NONE),
               cr_coef(&k->results[CR_DV], k->key));
    start_arrays(b, s);
}

/* Packs rows i to i + m of an operand in two ways: into panels of columns, and into panels of
 * rows. */
static void pack_both(struct cr_builder *b, const struct backward *s,
                      const struct cr_operand *operand, int col, int64_t width, int columns,
                      int rows)
{
    const struct cr_affine *at = &operand->at;
    struct cr_argument row_step = cr_n(b, cr_coef(at, b->k->row)), m = m_of(b, s);
    struct cr_argument col_step = cr_n(b, cr_coef(at, col)), cols = cr_n(b, width);
    struct cr_argument from =
        cr_at(cr_operand_at(b, operand, b->k->row, s->v.i.first, -1, CR_NONE));
    CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, cols, m, cr_at_slot(columns),
            cr_n(b, width * CR_PANEL), from, col_step, row_step);
    CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, m, cols, cr_at_slot(rows),
            cr_n(b, s->rows * CR_PANEL), from, row_step, col_step);
}

/* Prefetches the operands of the next head. */
static void fetch_next(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    const struct cr_fetch fetches[] = {{&k->attention.query, k->row, k->k, s->K},
                                       {&k->attention_backward.grad, k->row, k->col, s->N},
                                       {&k->attention.key, k->key, k->k, s->K},
                                       {&k->attention.value, k->key, k->col, s->N}};
    cr_fetch_next_head(b, &s->v, s->M <= s->keys ? 4 : 2, fetches);
}

/* Negates a row of numbers in its slot; the negated value gets the name `role` in the emitted C. */
static void negate(struct cr_builder *b, const struct backward *s, int slot, const char *role)
{
    struct cr_argument n0 = cr_n(b, 0);
    struct cr_address negative = cr_new_value(b, slot, role);
    CR_CALL_MAP(b, CR_OP_neg, CR_FORMAT_f32, 0, cr_n(b, 1), m_of(b, s), cr_at(negative), n0,
                cr_at_slot(slot), n0);
    cr_hold(b, negative);
}

/* Begins a step: declares the range of its keys, packs its queries and output gradients, loads
 * -delta, and sets dQ to 0. */
static void start_step(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n0 = cr_n(b, 0), m = m_of(b, s);
    if (!k->attention.direct)
        cr_start_softmax(b, &s->v);
    if (k->attention.sink.n)
        cr_start_with_sink(b, &s->v, s->sink, s->rows);
    cr_let_key_range(b, &s->v, cr_number(b, s->keys), CR_NONE);
    fetch_next(b, s);
    pack_both(b, s, &k->attention.query, k->k, s->K, s->v.queries, s->query_rows);
    pack_both(b, s, &k->attention_backward.grad, k->col, s->N, s->grads, s->grad_rows);
    if (!k->attention.direct) {
        CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_n(b, 1), m, cr_at_slot(s->delta), n0,
                cr_at(cr_operand_at(b, &k->attention_backward.delta, k->row, s->v.i.first, -1,
                                    CR_NONE)),
                n0, cr_n(b, cr_coef(&k->attention_backward.delta.at, k->row)));
        negate(b, s, s->delta, "minus_delta");
    }
    fill_zeros(b, m, s->K, result_from(b, CR_DQ, k->row, s->v.i.first), cr_coef(&k->dest, k->row));
    start_rows_of_arrays(b, s);
    cr_let_step_extremes(b, &s->v);
}

/* ---- the first loop over keys ---- */

/* Computes the maximum of each query's scores, and the reciprocal of its sum of exponentials. */
static void find_statistics(struct cr_builder *b, struct backward *s)
{
    struct cr_argument n0 = cr_n(b, 0), sum = cr_at_slot(s->v.sum);
    cr_remark(b, "a maximum and a sum for each query");
    cr_begin_keys(b, &s->v, cr_var(b, s->v.first), cr_var(b, s->v.last));
    bool skips = cr_may_skip(b);
    if (skips)
        cr_begin_if_seen(b, &s->v, CR_NONE);
    cr_softmax_block(b, &s->v, cr_score_block(b, &s->v));
    if (skips)
        cr_end(b);
    cr_end(b);
    struct cr_address reciprocal = cr_new_value(b, s->v.sum, "reciprocal");
    CR_CALL_MAP(b, CR_OP_div, CR_FORMAT_f32, 1, cr_n(b, 1), m_of(b, s), cr_at(reciprocal), n0,
                cr_at_constant(b, 1), n0, sum, n0);
    cr_hold(b, reciprocal);
}

/* Stores the gradients of sinks: exp(sink - max) times the reciprocal of the sum times -delta. */
static void store_sinks(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n0 = cr_n(b, 0), n1 = cr_n(b, 1), m = m_of(b, s), row = cr_at_slot(s->sink);
    for (int i = 0; i < k->attention_backward.n_arrays; i++) {
        const struct cr_affine *dest = &k->results[CR_OF_ARRAY + i];
        if (k->attention_backward.arrays[i] != CR_OF_SINK)
            continue;
        cr_sink_row(b, &s->v, s->sink, s->rows);
        CR_CALL_MAP(b, CR_OP_sub, CR_FORMAT_f32, 0, n1, m, row, n0, row, n0, cr_at_slot(s->v.max),
                    n0);
        CR_CALL_MAP(b, CR_OP_exp, CR_FORMAT_f32, 0, n1, m, row, n0, row, n0);
        CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n1, m, row, n0, row, n0, cr_at_slot(s->v.sum),
                    n0);
        CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n1, m, row, n0, row, n0, cr_at_slot(s->delta),
                    n0);
        CR_CALL(b, CR_CALLEE_store, CR_FORMAT_f32, n1, m,
                cr_at(result_from(b, CR_OF_ARRAY + i, k->row, s->v.i.first)), n0,
                cr_n(b, cr_coef(dest, k->row)), row, n0);
    }
}

/* Returns an expression that is true if a row of m numbers is finite. */
static cr_expr is_finite(struct cr_builder *b, const struct backward *s, int slot)
{
    struct cr_call call = {.callee = CR_CALLEE_finite, .format = CR_FORMAT_f32};
    const struct cr_argument arguments[] = {cr_n(b, 1), m_of(b, s), cr_at_slot(slot), cr_n(b, 0),
                                            cr_n(b, 1)};
    return cr_call_value(b, cr_make_call(b, call, 5, arguments));
}

/* Returns an expression that is true if the step's queries, or output gradients, packed in `slot`
 * with `width` columns, are all finite. */
static cr_expr are_columns_finite(struct cr_builder *b, const struct backward *s, int slot,
                                  int64_t width)
{
    struct cr_call call = {.callee = CR_CALLEE_finite, .format = CR_FORMAT_f32};
    const struct cr_argument arguments[] = {cr_n(b, width), m_of(b, s), cr_at_slot(slot),
                                            cr_n(b, CR_PANEL), cr_n(b, 1)};
    return cr_call_value(b, cr_make_call(b, call, 5, arguments));
}

/* Declares a variable that is 1 if the gradients of all hidden keys are surely 0, because these are
 * finite: keys, delta and the sums of softmax or, without softmax, keys, values, queries and output
 * gradients. */
static int let_finite(struct cr_builder *b, const struct backward *s)
{
    bool direct = b->k->attention.direct;
    cr_expr all = cr_var(b, s->keys_finite);
    if (direct)
        all = cr_binary(b, CR_EXPR_AND, all, cr_var(b, s->values_finite));
    all = cr_binary(b, CR_EXPR_AND, all,
                    direct ? are_columns_finite(b, s, s->v.queries, s->K)
                           : is_finite(b, s, s->delta));
    all = cr_binary(b, CR_EXPR_AND, all,
                    direct ? are_columns_finite(b, s, s->grads, s->N)
                           : is_finite(b, s, s->v.sum));
    return cr_let(b, "finite", all);
}

/* Widens the range of keys to all keys if the gradients of hidden keys may be NaN. */
static void widen_key_range(struct cr_builder *b, struct backward *s)
{
    if (!cr_hides_keys(b))
        return;
    s->finite = let_finite(b, s);
    cr_expr finite = cr_var(b, s->finite);
    if (s->v.last >= 0) /* the range ends at a variable, not at the last key */
        cr_set(b, s->v.last,
               cr_select(b, finite, cr_var(b, s->v.last), cr_number(b, s->keys)));
    if (s->v.first >= 0)
        cr_set(b, s->v.first, cr_select(b, finite, cr_var(b, s->v.first), cr_number(b, 0)));
}

/* True if exponentials may have to be recomputed.  They are still in scratch from the first loop if
 * there is only one block of keys and no keys are hidden. */
static bool makes_again(struct cr_builder *b, const struct backward *s)
{
    return s->keys > CR_KEY_BLOCK || cr_hides_keys(b);
}

/* ---- the second loop over keys ---- */

/* Returns the condition that exponentials must be recomputed: there are several blocks, or the
 * range of keys was widened. */
static cr_expr lost_exponentials(struct cr_builder *b, const struct backward *s)
{
    cr_expr many = CR_NONE, infinite = CR_NONE;
    if (s->keys > CR_KEY_BLOCK)
        many = cr_binary(b, CR_EXPR_GREATER, cr_minus_var(b, s->v.last, s->v.first),
                         cr_number(b, CR_KEY_BLOCK));
    if (cr_hides_keys(b))
        infinite = cr_not(b, cr_var(b, s->finite));
    if (many == CR_NONE || infinite == CR_NONE)
        return many == CR_NONE ? infinite : many;
    return cr_binary(b, CR_EXPR_OR, many, infinite);
}

/* Computes the probabilities of a block or, without softmax, its weights.  If there is only one
 * block, its exponentials are still in scratch. */
static void make_probabilities(struct cr_builder *b, struct backward *s)
{
    if (b->k->attention.direct) {
        cr_logit_block(b, &s->v);
        return;
    }
    struct cr_argument n = n_of(b, s), m = m_of(b, s), n0 = cr_n(b, 0), ld = cr_n(b, CR_PANEL);
    struct cr_argument scores = cr_at_slot(s->v.scores);
    if (makes_again(b, s)) {
        bool skips = cr_may_skip(b); /* scratch then has the exponentials of an unknown block */
        if (!skips)
            cr_begin_if(b, lost_exponentials(b, s), NULL);
        struct cr_argument factor = cr_at_slot(cr_score_block(b, &s->v));
        CR_CALL_MAP(b, CR_OP_fma, CR_FORMAT_f32, 1, n, m, scores, ld, factor, n0, scores, ld,
                    cr_at_slot(s->v.max), n0);
        CR_CALL_MAP(b, CR_OP_exp, CR_FORMAT_f32, 0, n, m, scores, ld, scores, ld);
        if (!skips)
            cr_end(b);
    }
    struct cr_address probabilities = cr_new_value(b, s->v.scores, "probabilities");
    CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n, m, cr_at(probabilities), ld, scores, ld,
                cr_at_slot(s->v.sum), n0);
    cr_hold(b, probabilities);
}

/* Multiplies a block by the factors of dropout.  Where a factor is 0, the result is 0 even for
 * NaN. */
static void choose(struct cr_builder *b, const struct backward *s, int block, int result)
{
    struct cr_argument n = n_of(b, s), m = m_of(b, s), ld = cr_n(b, CR_PANEL);
    struct cr_argument dropout = cr_at_slot(s->v.dropout), to = cr_at_slot(result);
    CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n, m, to, ld, cr_at_slot(block), ld, dropout, ld);
    CR_CALL_MAP(b, CR_OP_where, CR_FORMAT_f32, 4, n, m, to, ld, dropout, ld, to, ld,
                cr_at_constant(b, 0), cr_n(b, 0));
}

/* With dropout: computes dP - delta from the product in `dscores`, and multiplies the probabilities
 * by the factors of dropout.  Stores these in the slot `dropped` if a `where` does the dropout,
 * else in the slot `dropout`. */
static void drop(struct cr_builder *b, const struct backward *s)
{
    struct cr_argument n = n_of(b, s), m = m_of(b, s), n0 = cr_n(b, 0), ld = cr_n(b, CR_PANEL);
    struct cr_argument dscores = cr_at_slot(s->dscores), dropout = cr_at_slot(s->v.dropout);
    struct cr_argument delta = cr_at_slot(s->delta);
    cr_block_program(b, &s->v, &b->k->attention.dropout, s->v.dropout, s->v.dropout);
    if (b->k->attention.chooses) {
        choose(b, s, s->dscores, s->dscores);
        CR_CALL_MAP(b, CR_OP_add, CR_FORMAT_f32, 0, n, m, dscores, ld, dscores, ld, delta, n0);
        choose(b, s, s->v.scores, s->dropped);
    } else {
        CR_CALL_MAP(b, CR_OP_fma, CR_FORMAT_f32, 0, n, m, dscores, ld, dscores, ld, dropout, ld,
                    delta, n0);
        CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n, m, dropout, ld, dropout, ld,
                    cr_at_slot(s->v.scores), ld);
    }
}

/* Computes dP - delta, where dP is g V', times the factors of dropout if there is dropout.  Without
 * softmax, computes dP. */
static void make_dprobs(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    bool plain = k->attention.dropout.n || k->attention.direct;
    struct cr_argument bias = plain ? cr_null : cr_at_slot(s->delta);
    CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, n_of(b, s), m_of(b, s), cr_n(b, s->N),
            cr_at(cr_operand_at(b, &k->attention.value, k->key, s->v.j.first, -1, CR_NONE)),
            cr_n(b, cr_coef(&k->attention.value.at, k->key)),
            cr_n(b, cr_coef(&k->attention.value.at, k->col)), cr_at_slot(s->grads),
            cr_n(b, s->N * CR_PANEL), cr_at_slot(s->dscores), cr_n(b, CR_PANEL), cr_null, cr_n(b, 0),
            bias, cr_tile_columns(b), cr_no_prefetch(b));
    if (k->attention.dropout.n)
        drop(b, s);
}

/* Computes dS = (dP - delta) P or, without softmax, dS = dP; then the other arrays and T from
 * dS. */
static void make_dscores(struct cr_builder *b, const struct backward *s)
{
    struct cr_argument ld = cr_n(b, CR_PANEL), dscores = cr_at_slot(s->dscores);
    if (!b->k->attention.direct)
        CR_CALL_MAP(b, CR_OP_mul, CR_FORMAT_f32, 0, n_of(b, s), m_of(b, s), dscores, ld, dscores,
                    ld, cr_at_slot(s->v.scores), ld);
    make_arrays(b, s);
    cr_block_program(b, &s->v, &b->k->program, s->dscores, s->dscores);
    if (b->k->attention_backward.scores_hidden)
        cr_hide_outside(b, &s->v, cr_start_of(s->dscores), 0);
}

/* Adds the product of a block of keys by queries, in slot `x`, and the queries' rows, packed in
 * slot `rows`, to the gradients of n keys or values. */
static void add_transposed(struct cr_builder *b, const struct backward *s, int x, int rows,
                           int64_t width, int result)
{
    struct cr_argument step = cr_n(b, cr_coef(&b->k->results[result], b->k->key));
    struct cr_argument to = cr_at(result_from(b, result, b->k->key, s->v.j.first));
    CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, n_of(b, s), cr_n(b, width), m_of(b, s),
            cr_at_slot(x), cr_n(b, CR_PANEL), cr_n(b, 1), cr_at_slot(rows),
            cr_n(b, s->rows * CR_PANEL), to, step, to, step, cr_null, cr_tile_columns(b),
            cr_no_prefetch(b));
}

/* Adds the product of the block and its keys to dQ. */
static void add_dq(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument step = cr_n(b, cr_coef(&k->dest, k->row));
    struct cr_argument to = cr_at(result_from(b, CR_DQ, k->row, s->v.i.first));
    struct cr_address keys =
        cr_offset(b, cr_start_of(s->packed_keys), s->v.j.first, CR_NONE, CR_PANEL);
    CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, m_of(b, s), cr_n(b, s->K), n_of(b, s),
            cr_at_slot(s->dscores), cr_n(b, 1), cr_n(b, CR_PANEL), cr_at(keys),
            cr_n(b, s->keys * CR_PANEL), to, step, to, step, cr_null, cr_tile_columns(b),
            cr_no_prefetch(b));
}

/* Loops over blocks of keys, and adds the products of each to dQ, dK and dV. */
static void add_gradients(struct cr_builder *b, struct backward *s)
{
    const struct cr_kernel *k = b->k;
    cr_remark(b, k->attention.direct ? "weights, and what they hand back"
                                     : "probabilities, and what they hand back");
    cr_begin_keys(b, &s->v, cr_var(b, s->v.first), cr_var(b, s->v.last));
    bool skips = cr_may_skip(b);
    if (skips)
        cr_begin_if_seen(b, &s->v, s->finite);
    make_probabilities(b, s);
    make_dprobs(b, s);
    int dropped = k->attention.chooses     ? s->dropped
                  : k->attention.dropout.n ? s->v.dropout
                                           : s->v.scores;
    add_transposed(b, s, dropped, s->grad_rows, s->N, CR_DV);
    make_dscores(b, s);
    add_transposed(b, s, s->dscores, s->query_rows, s->K, CR_DK);
    add_dq(b, s);
    if (skips)
        cr_end(b);
    cr_end(b);
}

/* Returns the number of heads in one item, which are processed in order: the product of the extents
 * of the outer loops along which a whole array is summed. */
static int64_t serial_heads(const struct cr_kernel *k)
{
    int64_t heads = 1;
    for (int o = 0; o < k->n_outer; o++)
        if (k->attention_backward.serial >> k->outer[o] & 1)
            heads *= cr_extent(k, k->outer[o]);
    return heads;
}

/* Begins the loop over items, and inside it the loops over the heads of an item. */
static void begin_heads(struct cr_builder *b, const struct backward *s)
{
    const struct cr_kernel *k = b->k;
    int64_t below = 1, items = cr_outer_items(k) / serial_heads(k);
    if (!k->attention_backward.serial) {
        cr_begin_items(b, 1);
        return;
    }
    cr_begin_item_loop(b, items);
    for (int o = k->n_outer - 1; o >= 0; o--) {
        int64_t size = cr_extent(k, k->outer[o]);
        if (k->attention_backward.serial >> k->outer[o] & 1)
            continue;
        b->outer[o] = cr_let(b, b->outer_name[o], cr_digit(b, below, size, below * size == items));
        below *= size;
    }
    start_sums(b, s);
    for (int o = 0; o < k->n_outer; o++) {
        if (k->attention_backward.serial >> k->outer[o] & 1)
            b->outer[o] = cr_begin_loop(b, b->outer_name[o], cr_number(b, 0),
                                        cr_extent_of(b, k->outer[o]), 1, 0, CR_NONE);
    }
}

static void end_heads(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    for (int o = 0; o < k->n_outer; o++)
        if (k->attention_backward.serial >> k->outer[o] & 1)
            cr_end(b);
    cr_end_items(b);
}

/* Schedules the gradients of an attention.  An item is a whole (batch, head), because gradients of
 * keys and values are sums over all queries; or several heads if an array is summed over them. */
int64_t cr_schedule_attention_backward(struct cr_builder *b)
{
    struct backward s = cut(b->k);
    b->f->traffic = cr_attention_traffic(b->k, 3 * cr_ceil_div(s.M, s.rows), 2,
                                         2 * s.M * (b->k->attention.K + b->k->attention.N));
    take_scratch(b, &s);
    begin_heads(b, &s);
    start_item(b, &s);
    s.v.i = cr_begin_steps(b, "query", "n_queries", cr_number(b, 0), cr_number(b, s.M), s.rows);
    start_step(b, &s);
    if (!b->k->attention.direct)
        find_statistics(b, &s);
    store_sinks(b, &s);
    if (!b->k->attention.direct && makes_again(b, &s))
        negate(b, &s, s.v.max, "minus_max");
    widen_key_range(b, &s);
    add_gradients(b, &s);
    end_rows_of_arrays(b, &s);
    cr_end(b);
    end_arrays(b, &s);
    end_heads(b);
    return cr_outer_items(b->k) / serial_heads(b->k);
}

/* Appends the gradients that the kernel computes to its description: of queries, keys and values,
 * and the arrays. */
void cr_describe_attention_backward(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = gradients of q");
    cr_put_extents(text, b, k->row, k->k);
    cr_put(text, ", k");
    cr_put_extents(text, b, k->key, k->k);
    cr_put(text, " and v");
    cr_put_extents(text, b, k->key, k->col);
    cr_put_outer(text, b);
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        cr_put(text, ",\n   and that of the logits %s%s", is_worked(k, i) ? "worked on and " : "",
               cr_array_titles[k->attention_backward.arrays[i]]);
}
