/* schedule_attention_parts.c - functions that attention and its gradients share: bounds, blocks of
 * scores, prefetches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schedule_attention.h"

struct cr_argument cr_at_slot(int slot)
{
    return cr_at(cr_start_of(slot));
}

struct cr_argument cr_at_constant(struct cr_builder *b, double value)
{
    return cr_at_slot(cr_constant(b, CR_FORMAT_f32, value));
}

static struct cr_argument count_of(struct cr_builder *b, const struct cr_steps *steps)
{
    return cr_x(cr_var(b, steps->count));
}

struct cr_traffic cr_attention_traffic(const struct cr_kernel *k, int64_t steps, int64_t passes,
                                       int64_t rows)
{
    double bytes = (double)cr_outer_items(k) * (double)sizeof(float);
    double keys = (double)k->attention.keys * (double)(k->attention.K + k->attention.N);
    double seen = k->attention.n_bounds ? 0.5 : 1;
    double once = (double)rows + keys * (double)passes;
    return (struct cr_traffic){bytes * (once + seen * keys * (double)steps), bytes * once};
}

void cr_start_softmax(struct cr_builder *b, const struct cr_attention_vars *v)
{
    struct cr_argument zero = cr_at_constant(b, 0), minus = cr_at_constant(b, -INFINITY);
    struct cr_argument n0 = cr_n(b, 0), n1 = cr_n(b, 1), m = count_of(b, &v->i);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n1, m, cr_at_slot(v->max), n0, minus, n0, n0);
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n1, m, cr_at_slot(v->sum), n0, zero, n0, n0);
}

/* ---- bounds ---- */

/* True if a bound has only the upper edge or, if not `upper`, only the lower edge. */
static bool has_only(const struct cr_bound *bound, bool upper)
{
    return cr_has_edge(upper ? &bound->last : &bound->first) &&
           !cr_has_edge(upper ? &bound->first : &bound->last);
}

static bool has_gap(const struct cr_kernel *k)
{
    for (int i = 0; i < k->attention.n_bounds; i++)
        if (cr_has_edge(&k->attention.bounds[i].first) &&
            cr_has_edge(&k->attention.bounds[i].last))
            return true;
    return false;
}

void cr_let_shift(struct cr_builder *b, struct cr_attention_vars *v)
{
    const struct cr_kernel *k = b->k;
    cr_expr sum = CR_NONE;
    for (int i = 0; i < k->attention.n_shifts; i++) {
        cr_expr number = cr_load(b, b->ref[k->attention.shift[i]], 0);
        sum = i ? cr_binary(b, CR_EXPR_ADD, sum, number) : number;
    }
    v->shifted = sum != CR_NONE;
    if (v->shifted)
        v->shift = cr_let_noted(b, "before", sum, false, "the position of query 0");
}

cr_expr cr_position(struct cr_builder *b, const struct cr_attention_vars *v, cr_expr row)
{
    return v->shifted ? cr_binary(b, CR_EXPR_ADD, row, cr_var(b, v->shift)) : row;
}

/* Returns the position of query i. */
static cr_expr query_at(struct cr_builder *b, const struct cr_attention_vars *v)
{
    return cr_position(b, v, cr_var(b, v->i.first));
}

bool cr_may_skip(struct cr_builder *b)
{
    return has_gap(b->k) || cr_masks_by_data(b);
}

bool cr_hides_keys(struct cr_builder *b)
{
    return b->k->attention.n_bounds > 0 || cr_masks_by_data(b);
}

/* Returns the key at an edge of the mask for the query at position `row`, plus the constant
 * `more`. */
static cr_expr edge_at(struct cr_builder *b, const struct cr_edge *edge, bool upper, cr_expr row,
                       int64_t more)
{
    if (!edge->moves)
        return cr_number(b, edge->at + more);
    cr_expr moved = cr_plus(b, row, edge->offset + more);
    if (!edge->stays)
        return moved;
    cr_expr at = cr_number(b, edge->at + more);
    cr_expr farther = cr_binary(b, upper ? CR_EXPR_GREATER : CR_EXPR_LESS, moved, at);
    return cr_select(b, farther, moved, at);
}

/* Returns the key at an edge of bound i.  If the edge is the minimum or maximum of several sums,
 * declares a variable for it, so that it is computed once. */
static cr_expr let_edge(struct cr_builder *b, const struct cr_edge *edge, bool upper, cr_expr row,
                        int i)
{
    char name[24];
    cr_expr at = edge_at(b, edge, upper, row, 0);
    if (!edge->moves || !edge->stays)
        return at;
    snprintf(name, sizeof name, i ? "%s_%d" : "%s", upper ? "sees_before" : "sees_from", i + 1);
    return cr_var(b, cr_let(b, name, at));
}

void cr_narrow_to_bounds(struct cr_builder *b, bool upper, int var, cr_expr row, int condition)
{
    for (int i = 0; i < b->k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &b->k->attention.bounds[i];
        struct cr_edge edge = upper ? bound->last : bound->first;
        if (!has_only(bound, upper))
            continue;
        edge.at += upper; /* the end is exclusive, and so is `row` for edges that move */
        cr_expr at = let_edge(b, &edge, upper, row, i);
        cr_expr narrower =
            cr_binary(b, upper ? CR_EXPR_LESS : CR_EXPR_GREATER, at, cr_var(b, var));
        if (condition != CR_NONE)
            narrower = cr_binary(b, CR_EXPR_AND, cr_var(b, condition), narrower);
        cr_begin_if(b, narrower, NULL);
        cr_set(b, var, at);
        cr_end(b);
    }
}

bool cr_narrows(struct cr_builder *b, bool upper, cr_expr row, cr_expr keys)
{
    for (int i = 0; i < b->k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &b->k->attention.bounds[i];
        struct cr_edge edge = upper ? bound->last : bound->first;
        int64_t at, end;
        edge.at += upper;
        if (has_only(bound, upper) &&
            (!cr_number_of(b, edge_at(b, &edge, upper, row, 0), &at) ||
             !cr_number_of(b, keys, &end) || (upper ? at < end : at > end)))
            return true;
    }
    return false;
}

bool cr_may_see_none(const struct cr_builder *b, const struct cr_attention_vars *v)
{
    for (int i = 0; i < b->k->attention.n_bounds; i++) {
        const struct cr_edge *last = &b->k->attention.bounds[i].last;
        if (has_only(&b->k->attention.bounds[i], true) &&
            ((last->moves && (v->shifted || last->offset < 0)) || (last->stays && last->at < -1)))
            return true;
    }
    return false;
}

void cr_let_key_range(struct cr_builder *b, struct cr_attention_vars *v, cr_expr all, int condition)
{
    cr_expr i = query_at(b, v), end = cr_binary(b, CR_EXPR_ADD, i, cr_var(b, v->i.count));
    bool upper = cr_narrows(b, true, end, all), lower = cr_narrows(b, false, i, cr_number(b, 0));
    v->last = cr_let_noted(b, "end_key", all, upper, NULL);
    if (upper)
        cr_narrow_to_bounds(b, true, v->last, end, condition);
    v->first = cr_let_noted(b, "first_key", cr_number(b, 0), lower, NULL);
    if (!lower)
        return;
    cr_narrow_to_bounds(b, false, v->first, i, condition);
    cr_remark(b, "blocks begin at fixed keys");
    cr_expr first = cr_var(b, v->first);
    cr_expr rest = cr_binary(b, CR_EXPR_MOD, first, cr_number(b, CR_KEY_BLOCK));
    cr_set(b, v->first, cr_binary(b, CR_EXPR_SUB, first, rest));
}

/* Returns the position of the last query of a step. */
static cr_expr last_query(struct cr_builder *b, const struct cr_attention_vars *v)
{
    return cr_plus(b, cr_binary(b, CR_EXPR_ADD, query_at(b, v), cr_var(b, v->i.count)), -1);
}

static cr_expr end_of_block(struct cr_builder *b, const struct cr_attention_vars *v)
{
    return cr_binary(b, CR_EXPR_ADD, cr_var(b, v->j.first), cr_var(b, v->j.count));
}

void cr_begin_if_seen(struct cr_builder *b, const struct cr_attention_vars *v, int condition)
{
    cr_expr seen = cr_may_be_seen(b, v);
    for (int i = 0; i < b->k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &b->k->attention.bounds[i];
        if (!cr_has_edge(&bound->first) || !cr_has_edge(&bound->last))
            continue;
        cr_expr before = edge_at(b, &bound->last, true, last_query(b, v), 1);
        cr_expr from = edge_at(b, &bound->first, false, query_at(b, v), 0);
        before = cr_binary(b, CR_EXPR_LESS, cr_var(b, v->j.first), before);
        from = cr_binary(b, CR_EXPR_GREATER, end_of_block(b, v), from);
        cr_expr either = cr_binary(b, CR_EXPR_OR, before, from);
        seen = seen == CR_NONE ? either : cr_binary(b, CR_EXPR_AND, seen, either);
    }
    if (condition != CR_NONE)
        seen = cr_binary(b, CR_EXPR_OR, cr_not(b, cr_var(b, condition)), seen);
    cr_begin_if(b, seen, "some query sees some key");
}

int cr_let_finite(struct cr_builder *b, const char *name, const struct cr_operand *operand,
                  int row, int col)
{
    const struct cr_kernel *k = b->k;
    bool is_state = b->g->nodes[k->refs[operand->ref]].op == CR_OP_write;
    if (!cr_hides_keys(b) || (k->attention.n_shifts && is_state))
        return CR_NONE;
    if (k->attention.sees_all) {
        cr_remark(b, "the factors of hidden keys may not be finite");
        return cr_let(b, name, cr_number(b, 0));
    }
    cr_remark(b, "0 times NaN is NaN: hidden blocks are skipped only if all values are finite");
    const struct cr_argument arguments[] = {
        cr_x(cr_size(b, row)), cr_x(cr_size(b, col)),
        cr_at(cr_operand_at(b, operand, -1, CR_NONE, -1, CR_NONE)),
        cr_n(b, cr_coef(&operand->at, row)), cr_n(b, cr_coef(&operand->at, col))};
    struct cr_call call = {.callee = CR_CALLEE_finite, .format = CR_FORMAT_f32};
    return cr_let(b, name, cr_call_value(b, cr_make_call(b, call, 5, arguments)));
}

/* Returns the condition that the bound hides some key of the block from some query of the step. */
static cr_expr is_cut(struct cr_builder *b, const struct cr_attention_vars *v,
                      const struct cr_bound *bound)
{
    cr_expr i = query_at(b, v), j = cr_var(b, v->j.first), end = end_of_block(b, v);
    const struct cr_edge *last = &bound->last, *first = &bound->first;
    cr_expr parts[4], all = CR_NONE;
    int n = 0;
    if (last->moves)
        parts[n++] = cr_binary(b, CR_EXPR_GREATER, end, cr_plus(b, i, last->offset + 1));
    if (last->stays)
        parts[n++] = cr_binary(b, CR_EXPR_GREATER, end, cr_number(b, last->at + 1));
    if (first->moves)
        parts[n++] = cr_binary(
            b, CR_EXPR_LESS, j,
            cr_plus(b, cr_binary(b, CR_EXPR_ADD, i, cr_var(b, v->i.count)), first->offset - 1));
    if (first->stays)
        parts[n++] = cr_binary(b, CR_EXPR_LESS, j, cr_number(b, first->at));
    for (int p = 0; p < n; p++)
        all = p ? cr_binary(b, CR_EXPR_AND, all, parts[p]) : parts[p];
    return all;
}

/*
 * Hides the keys of a block that are outside a bound, if there are any.  Row r of the block is key
 * j + r, column c is query i + c.  A fixed edge limits the hidden rows; an edge that moves with the
 * query limits the hidden columns of each row.
 */
static void hide_outside(struct cr_builder *b, const struct cr_attention_vars *v,
                         const struct cr_bound *bound, struct cr_address block, int constant)
{
    cr_expr i = query_at(b, v), m = cr_var(b, v->i.count);
    cr_expr j = cr_var(b, v->j.first), n = cr_var(b, v->j.count);
    cr_expr difference = cr_binary(b, CR_EXPR_SUB, j, i);
    const struct cr_edge *last = &bound->last, *first = &bound->first;
    struct cr_argument begin = cr_x(cr_binary(b, CR_EXPR_SUB, cr_number(b, 0), n)), end = cr_x(m);
    cr_begin_if(b, is_cut(b, v, bound), "some query does not see some key");
    if (last->moves)
        begin = cr_x(cr_plus(b, difference, -last->offset));
    if (first->moves)
        end = cr_x(cr_plus(b, difference, 1 - first->offset));
    if (!last->moves && !first->moves)
        begin = end; /* to hide all columns */
    struct cr_argument ld = cr_n(b, v->alone ? 1 : CR_PANEL);
    if (!last->stays && !first->stays) {
        CR_CALL(b, CR_CALLEE_hide, CR_FORMAT_f32, cr_x(n), cr_x(m), cr_at(block), ld, begin, end,
                cr_by_value(constant));
    } else {
        cr_expr from = cr_number(b, 0), to = n;
        if (last->stays)
            from = cr_binary(b, CR_EXPR_SUB, cr_number(b, last->at + 1), j);
        if (first->stays)
            to = cr_binary(b, CR_EXPR_SUB, cr_number(b, first->at), j);
        CR_CALL(b, CR_CALLEE_hide_rows, CR_FORMAT_f32, cr_x(n), cr_x(m), cr_at(block), ld,
                cr_x(from), cr_x(to), begin, end, cr_by_value(constant));
    }
    cr_end(b);
}

void cr_hide_outside(struct cr_builder *b, const struct cr_attention_vars *v,
                     struct cr_address block, double value)
{
    for (int i = 0; i < b->k->attention.n_bounds; i++)
        hide_outside(b, v, &b->k->attention.bounds[i], block, cr_constant(b, CR_FORMAT_f32, value));
}

static cr_expr minus(struct cr_builder *b, int var)
{
    return cr_binary(b, CR_EXPR_SUB, cr_number(b, 0), cr_var(b, var));
}

/* Returns an edge that moves with the query and hides all keys after it (if `upper`) or before it;
 * null if there is none. */
static const struct cr_edge *find_moving(const struct cr_kernel *k, bool upper)
{
    for (int i = 0; i < k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &k->attention.bounds[i];
        const struct cr_edge *edge = upper ? &bound->last : &bound->first;
        if (has_only(bound, upper) && edge->moves && !edge->stays)
            return edge;
    }
    return NULL;
}

/* Returns the band of a transposed block: rows are keys, columns are queries. */
static struct cr_band band_of_keys(struct cr_builder *b, const struct cr_attention_vars *v)
{
    const struct cr_edge *upper = find_moving(b->k, true), *lower = find_moving(b->k, false);
    cr_expr difference = cr_binary(b, CR_EXPR_SUB, cr_var(b, v->j.first), query_at(b, v));
    return (struct cr_band){upper ? cr_plus(b, difference, -upper->offset) : minus(b, v->j.count),
                            lower ? cr_plus(b, difference, 1 - lower->offset)
                                  : cr_var(b, v->i.count)};
}

static cr_expr if_finite(struct cr_builder *b, int condition, cr_expr yes, cr_expr no)
{
    return condition == CR_NONE ? yes : cr_select(b, cr_var(b, condition), yes, no);
}

struct cr_band cr_band_of_queries(struct cr_builder *b, const struct cr_attention_vars *v,
                                  int condition)
{
    const struct cr_edge *upper = find_moving(b->k, true), *lower = find_moving(b->k, false);
    cr_expr difference = cr_binary(b, CR_EXPR_SUB, query_at(b, v), cr_var(b, v->j.first));
    struct cr_band band = {minus(b, v->i.count), cr_var(b, v->j.count)};
    if (lower)
        band.begin = if_finite(b, condition, cr_plus(b, difference, lower->offset), band.begin);
    if (upper)
        band.end = if_finite(b, condition, cr_plus(b, difference, upper->offset + 1), band.end);
    return band;
}

/* ---- a sink ---- */

void cr_sink_row(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows)
{
    struct cr_tile_job job = {.tiles = &b->k->attention.sink,
                              .row = -1,
                              .col = b->k->row,
                              .max_rows = 1,
                              .max_cols = rows,
                              .first_row = CR_NONE,
                              .first_col = v->i.first,
                              .rows = cr_number(b, 1),
                              .cols = cr_var(b, v->i.count),
                              .dest = {cr_start_of(sink), rows}};
    cr_schedule_tiles(b, &job);
}

void cr_start_with_sink(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows)
{
    cr_sink_row(b, v, sink, rows);
    CR_CALL(b, CR_CALLEE_softmax_block, CR_FORMAT_f32, cr_n(b, 1), count_of(b, &v->i),
            cr_at_slot(sink), cr_n(b, rows), cr_by_value(cr_constant(b, CR_FORMAT_f32, 1)),
            cr_at_slot(v->max), cr_at_slot(v->sum), cr_at_slot(v->scale));
}

/* ---- prefetches for the next head ---- */

/* Does not prefetch operands that a head shares with the next one. */
void cr_fetch_next_head(struct cr_builder *b, const struct cr_attention_vars *v, int n,
                        const struct cr_fetch *fetches)
{
    const struct cr_kernel *k = b->k;
    int inner = k->n_outer - 1, next = CR_NONE;
    for (int i = 0; i < n && inner >= 0; i++) {
        const struct cr_fetch *f = &fetches[i];
        const struct cr_affine *at = &f->operand->at;
        if (cr_coef(at, f->col) != 1 || !at->coef[k->outer[inner]])
            continue;
        if (next == CR_NONE) {
            cr_expr head = cr_var(b, b->outer[inner]);
            cr_expr more = cr_binary(b, CR_EXPR_LESS, cr_plus(b, head, 1), cr_extent_of(b, k->outer[inner]));
            char name[24];
            snprintf(name, sizeof name, "next_%.17s", b->outer_name[inner]);
            next = cr_let_noted(b, name, cr_binary(b, CR_EXPR_ADD, head, more), false,
                                "prefetched");
        }
        int own = b->outer[inner];
        b->outer[inner] = next;
        struct cr_address from = cr_operand_at(b, f->operand, f->row, v->i.first, -1, CR_NONE);
        b->outer[inner] = own;
        CR_CALL(b, CR_CALLEE_fetch, CR_FORMAT_f32, count_of(b, &v->i), cr_x(cr_extent_of(b, f->col)),
                cr_at(from), cr_n(b, cr_coef(at, f->row)));
    }
}

/* ---- the description ---- */

void cr_put_outer(struct cr_text *text, const struct cr_builder *b)
{
    const char *name = b->k->n_outer ? b->outer_name[b->k->n_outer - 1] : "";
    for (int i = 0; i < b->k->n_outer; i++)
        if (strcmp(b->outer_name[i], "head") == 0)
            name = "head";
    if (strcmp(name, "batch") == 0)
        name = "item of the batch";
    cr_put(text, *name ? " for each %s" : "%s", name);
}

/* ---- blocks of scores ---- */

void cr_begin_keys(struct cr_builder *b, struct cr_attention_vars *v, cr_expr first, cr_expr last)
{
    v->j = cr_begin_steps(b, "key", "n_keys", first, last, CR_KEY_BLOCK);
}

void cr_block_program(struct cr_builder *b, const struct cr_attention_vars *v,
                      const struct cr_tiles *program, int from, int to)
{
    const struct cr_kernel *k = b->k;
    struct cr_tile_job job = {.tiles = program,
                              .row = k->key,
                              .col = k->row,
                              .max_rows = cr_min(k->attention.keys, CR_KEY_BLOCK),
                              .max_cols = CR_PANEL,
                              .first_row = v->j.first,
                              .first_col = v->i.first,
                              .rows = cr_var(b, v->j.count),
                              .cols = cr_var(b, v->i.count),
                              .core = {cr_start_of(from), CR_PANEL},
                              .score = {cr_start_of(v->product), CR_PANEL},
                              .dest = {cr_start_of(to), CR_PANEL}};
    cr_schedule_tiles(b, &job);
}

/* Multiplies keys by queries into the slot `product`.  If this slot is also `scores`, and a mask
 * bounds the keys, computes only the band that has all elements inside the bounds; the rest is
 * hidden later. */
static void multiply_scores(struct cr_builder *b, const struct cr_attention_vars *v)
{
    const struct cr_kernel *k = b->k;
    struct cr_argument n = count_of(b, &v->j), m = count_of(b, &v->i);
    struct cr_argument keys =
        cr_at(v->has_keys ? cr_offset(b, cr_start_of(v->keys), v->j.first, CR_NONE, k->attention.K)
                          : cr_operand_at(b, &k->attention.key, k->key, v->j.first, -1, CR_NONE));
    struct cr_argument key_step =
        cr_n(b, v->has_keys ? k->attention.K : cr_coef(&k->attention.key.at, k->key));
    struct cr_argument k_step = cr_n(b, v->has_keys ? 1 : cr_coef(&k->attention.key.at, k->k));
    struct cr_argument K = cr_x(cr_size(b, k->k));
    struct cr_argument queries = cr_at_slot(v->queries), product = cr_at_slot(v->product);
    struct cr_argument panel = cr_n(b, k->attention.K * CR_PANEL), ld = cr_n(b, CR_PANEL);
    bool bounded = find_moving(k, true) || find_moving(k, false);
    if (bounded && v->product == v->scores) {
        struct cr_band band = band_of_keys(b, v);
        CR_CALL(b, CR_CALLEE_gemm_band, CR_FORMAT_f32, n, m, K, keys, key_step, k_step, queries,
                panel, product, ld, cr_x(band.begin), cr_x(band.end));
    } else {
        CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, n, m, K, keys, key_step, k_step, queries, panel,
                product, ld, cr_null, cr_n(b, 0), cr_null, cr_tile_columns(b), cr_no_prefetch(b));
    }
}

void cr_logit_block(struct cr_builder *b, const struct cr_attention_vars *v)
{
    const struct cr_kernel *k = b->k;
    multiply_scores(b, v);
    if (k->attention.scores.n > 1 || v->product != v->scores)
        cr_block_program(b, v, &k->attention.scores, v->product, v->scores);
    cr_hide_outside(b, v, cr_start_of(v->scores), k->attention.direct ? 0 : -INFINITY);
}

int cr_score_block(struct cr_builder *b, const struct cr_attention_vars *v)
{
    const struct cr_kernel *k = b->k;
    cr_logit_block(b, v);
    return cr_constant(b, CR_FORMAT_f32, k->attention.factor);
}

void cr_softmax_block(struct cr_builder *b, const struct cr_attention_vars *v, int factor)
{
    CR_CALL(b, CR_CALLEE_softmax_block, CR_FORMAT_f32, count_of(b, &v->j), count_of(b, &v->i),
            cr_at_slot(v->scores), cr_n(b, CR_PANEL), cr_by_value(factor), cr_at_slot(v->max),
            cr_at_slot(v->sum), cr_at_slot(v->scale));
}
