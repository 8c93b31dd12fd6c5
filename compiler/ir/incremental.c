/*
 * incremental.c - see incremental.h.
 *
 * A *token axis* of a node is an axis that comes from the second axis of the ids.  A node that is
 * computed token by token, such as hidden states, is made for the n new tokens only: its token
 * axis has n rows.  A node of which a token reads the rows of all tokens, such as keys and
 * values, is needed in full: it becomes a state, to which the rows of the new tokens are
 * appended.  Nodes that do not depend on ids, such as masks and tables of positions, are made in
 * full or for the rows of the new tokens.
 *
 * There are two passes over the graph.  The first one, from the result to the leaves, finds which
 * variants of each node are needed; the second one adds them to the new graph.
 */
#include "incremental.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "causal.h"
#include "gather_axis.h"
#include "hash.h"
#include "mem.h"

/* The variants of a node.  FULL: all its rows.  ROWS + axis: the rows of the new tokens along
 * that token axis.  LAST + axis: only the last of these rows. */
enum { FULL, ROWS, LAST = ROWS + CR_MAX_RANK, VARIANTS = LAST + CR_MAX_RANK };

struct work {
    const struct cr_graph *from;
    struct cr_graph *to;
    const struct cr_incremental_how *how;
    const char *path;
    struct cr_error *error;
    cr_id ids;
    int64_t context;
    unsigned char *tokens; /* by node: a bit for each token axis */
    bool *varies;          /* by node: true if it depends on ids */
    unsigned *wanted;      /* by node: a bit for each variant that is needed */
    cr_id (*made)[VARIANTS];
    struct cr_table shared;   /* finds equal nodes of `to` */
    cr_id n, at;              /* nodes of `to` that hold the number of new tokens, and of earlier
                               * tokens */
    struct cr_output *states; /* the states, each with its new value */
    int n_states, cap_states;
};

static int fail_at(const struct work *w, cr_id id, const char *found, const char *expected)
{
    const struct cr_where *where = &w->from->nodes[id].where;
    return cr_fail(w->error, "%.400s:%d: %s: found %s, expected %s",
                   where->file && *where->file ? where->file : w->path, where->line,
                   cr_ops[w->from->nodes[id].op].name, found, expected);
}

/* ---- token axes ---- */

static bool is_token_axis(const struct work *w, cr_id id, int axis)
{
    return w->tokens[id] >> axis & 1;
}

/* Returns the node's token axis if it has exactly one, else CR_NONE. */
static int token_axis(const struct work *w, cr_id id)
{
    for (int a = 0; a < w->from->nodes[id].rank; a++)
        if (w->tokens[id] == 1u << a)
            return a;
    return CR_NONE;
}

/* True if a node is gather(a, index, axis) and depends on ids: it is then treated as one op,
 * whose other axes are axes of both `a` and `index`. */
static bool find_along(const struct work *w, cr_id id, struct cr_gather_axis *along)
{
    return w->varies[id] && cr_find_gather_axis(w->from, id, along);
}

/* Finds the token axes of all nodes: an axis is a token axis if it comes from a token axis of an
 * operand. */
static void find_tokens(struct work *w)
{
    for (cr_id id = 0; id < w->from->n_nodes; id++) {
        const struct cr_node *node = &w->from->nodes[id];
        struct cr_gather_axis along;
        if (id == w->ids) {
            w->varies[id] = true;
            w->tokens[id] = 1u << 1;
        }
        for (int i = 0; i < node->n_in; i++) {
            cr_id in = cr_in(w->from, id, i);
            w->varies[id] |= w->varies[in];
            for (int a = 0; a < node->rank && w->tokens[in]; a++) {
                int from = cr_operand_axis(w->from, id, i, a);
                if (from != CR_NONE && is_token_axis(w, in, from))
                    w->tokens[id] |= (unsigned char)(1u << a);
            }
        }
        if (find_along(w, id, &along))
            w->tokens[id] =
                w->tokens[along.index] | (w->tokens[along.a] & (unsigned char)~(1u << along.axis));
    }
}

/* ---- needed variants ---- */

static void want(struct work *w, cr_id id, int variant)
{
    w->wanted[id] |= 1u << variant;
}

static bool is_wanted(const struct work *w, cr_id id, int variant)
{
    return w->wanted[id] >> variant & 1;
}

/* True if the operand of a view, and not the view itself, becomes the state, because the elements
 * of one token are closer together in the operand.  Examples are keys that scores read
 * transposed, or that a group of queries shares. */
static bool is_stored_before_view(const struct work *w, cr_id id)
{
    const struct cr_node *node = &w->from->nodes[id];
    int axis = token_axis(w, id);
    struct cr_gather_axis along;
    if (cr_kind_of(w->from, id) != CR_KIND_MOVE || node->op == CR_OP_slice || axis == CR_NONE ||
        find_along(w, id, &along))
        return false;
    int from = cr_operand_axis(w->from, id, 0, axis);
    return from != CR_NONE && is_token_axis(w, cr_in(w->from, id, 0), from) &&
           (node->op == CR_OP_expand || node->op == CR_OP_detach || axis != node->rank - 2);
}

static int fail_looks_ahead(const struct work *w, cr_id id)
{
    return fail_at(w, id, "tokens that depend on later ones",
                   "a causal model, whose mask "
                   "compares positions made by `iota` and hides later tokens");
}

static int fail_merged(const struct work *w, cr_id id)
{
    if (cr_kind_of(w->from, id) == CR_KIND_SCAN)
        return fail_at(w, id, "cumulative sums over tokens", "a sum along another axis");
    return fail_at(w, id, "an op that cuts, joins or merges the axis of tokens",
                   "one that keeps the axis of tokens");
}

/* Fails because later tokens need a tensor without a token axis.  The error names the op that
 * removed the token axis, which may be an operand of `id`. */
static int fail_without_tokens(const struct work *w, cr_id id)
{
    for (int i = 0; i < w->from->nodes[id].n_in; i++) {
        cr_id in = cr_in(w->from, id, i);
        if (w->varies[in] && !w->tokens[in])
            return fail_without_tokens(w, in);
    }
    enum cr_kind kind = cr_kind_of(w->from, id);
    if (kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT)
        return fail_merged(w, id);
    return fail_looks_ahead(w, id);
}

/* Marks the variants that a FULL node is made of: FULL operands or, if the node becomes a state,
 * the node's own ROWS. */
static int want_full(struct work *w, cr_id id)
{
    if (!w->varies[id] || is_stored_before_view(w, id)) {
        for (int i = 0; i < w->from->nodes[id].n_in; i++)
            want(w, cr_in(w->from, id, i), FULL);
        return 0;
    }
    int axis = token_axis(w, id);
    if (axis == CR_NONE && w->tokens[id])
        return fail_at(w, id, "a tensor with two axes of tokens, which later tokens read",
                       "a tensor with one axis of tokens");
    if (axis == CR_NONE)
        return fail_without_tokens(w, id);
    want(w, id, ROWS + axis);
    return 0;
}

/* Returns the common value of elements whose key is later than the query; CR_LATER_UNKNOWN if the
 * node has no query axis. */
static enum cr_later find_later(const struct work *w, cr_id id, int query, int key)
{
    return query == CR_NONE ? CR_LATER_UNKNOWN : cr_find_later(w->from, id, query, key);
}

/* Fails because a token may depend on later tokens: no mask hides them, or their scores get a
 * number that is not -inf and may be the maximum. */
static int fail_later(const struct work *w, cr_id id, enum cr_later later)
{
    if (later != CR_LATER_TIED)
        return fail_looks_ahead(w, id);
    return fail_at(w, id, "a mask by a finite number, which may hide all tokens that one token sees",
                   "-inf for later tokens, or each token to see itself");
}

/* Fails unless a sum (`needed` is ZERO) or a maximum (HIDDEN) over `axis` of operand i omits the
 * elements of later tokens.  `row` is the axis of the result that belongs to the query. */
static int check_reduced(const struct work *w, cr_id id, int i, int row, int axis,
                         enum cr_later needed)
{
    int query = cr_operand_axis(w->from, id, i, row);
    enum cr_later later = find_later(w, cr_in(w->from, id, i), query, axis);
    return later == needed ? 0 : fail_later(w, id, later);
}

/* True if some axis of the node corresponds to axis `axis` of operand i. */
static bool keeps_axis(const struct work *w, cr_id id, int i, int axis)
{
    for (int a = 0; a < w->from->nodes[id].rank; a++)
        if (cr_operand_axis(w->from, id, i, a) == axis)
            return true;
    return false;
}

/* Fails unless the elements of later keys are 0 or hidden in each operand whose axis of keys a
 * view or a concat cuts, merges or joins: after that op the axis can no longer be checked. */
static int check_kept(const struct work *w, cr_id id, int row)
{
    for (int i = 0; i < w->from->nodes[id].n_in; i++) {
        cr_id in = cr_in(w->from, id, i);
        int query = cr_operand_axis(w->from, id, i, row);
        for (int a = 0; a < w->from->nodes[in].rank && w->varies[in]; a++) {
            if (!is_token_axis(w, in, a) || a == query || keeps_axis(w, id, i, a))
                continue;
            enum cr_later later = find_later(w, in, query, a);
            if (later == CR_LATER_UNKNOWN || later == CR_LATER_TIED)
                return fail_later(w, id, later);
        }
    }
    return 0;
}

/* Fails unless one operand of a product that sums over tokens is 0 for later tokens. */
static int check_contract(const struct work *w, cr_id id, int row)
{
    const struct cr_node *node = &w->from->nodes[id];
    cr_id a = cr_in(w->from, id, 0), b = cr_in(w->from, id, 1);
    int r = node->rank;
    if (!is_token_axis(w, a, r - 1) && !is_token_axis(w, b, r - 2))
        return 0;
    if (find_later(w, b, cr_operand_axis(w->from, id, 1, row), r - 2) == CR_LATER_ZERO)
        return 0;
    return check_reduced(w, id, 0, row, r - 1, CR_LATER_ZERO);
}

/* Fails if the rows along axis `row` of a node that depends on ids may depend on later tokens. */
static int check_causal(const struct work *w, cr_id id, int row)
{
    const struct cr_node *node = &w->from->nodes[id];
    bool sums = node->op != CR_OP_max;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_CONTRACT:
        return check_contract(w, id, row);
    case CR_KIND_SCAN:
        return is_token_axis(w, cr_in(w->from, id, 0), node->axis) ? fail_merged(w, id) : 0;
    case CR_KIND_REDUCE:
        break;
    case CR_KIND_GATHER:
        if (!is_token_axis(w, cr_in(w->from, id, 0), 0))
            return 0;
        return fail_at(w, id, "rows of a table of tokens", "rows of a table of weights");
    default:
        return check_kept(w, id, row);
    }
    if (!is_token_axis(w, cr_in(w->from, id, 0), node->axis))
        return 0;
    return check_reduced(w, id, 0, row, node->axis, sums ? CR_LATER_ZERO : CR_LATER_HIDDEN);
}

/* True if operand i has no axis that corresponds to `axis`, so that every row of the result uses
 * the whole operand. */
static bool is_shared(const struct work *w, cr_id id, int i, int axis)
{
    const struct cr_node *node = &w->from->nodes[id];
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->op == CR_OP_expand) {
        const struct cr_node *in = &w->from->nodes[cr_in(w->from, id, i)];
        int aligned = axis - (node->rank - in->rank);
        return aligned < 0 || in->shape[aligned] == 1;
    }
    return kind == CR_KIND_CONTRACT || kind == CR_KIND_GATHER;
}

/* True if the node's rows along an axis can be computed from its operands' rows along the
 * corresponding axes. */
static bool is_computed_by_rows(const struct work *w, cr_id id, int axis)
{
    const struct cr_node *node = &w->from->nodes[id];
    if (id == w->ids || node->op == CR_OP_iota || node->op == CR_OP_const)
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (cr_operand_axis(w->from, id, i, axis) == CR_NONE && !is_shared(w, id, i, axis))
            return false;
    return node->n_in > 0;
}

/* Marks the variants of both operands of a gather along another axis: rows of the gather need the
 * same rows of `a` and of the index. */
static int want_along(struct work *w, cr_id id, const struct cr_gather_axis *along, int axis, int variant)
{
    const struct cr_node *a = &w->from->nodes[along->a];
    if (a->dtype == CR_BOOL || a->rank == CR_MAX_RANK)
        return fail_merged(w, id);
    if (axis == along->axis || is_token_axis(w, along->a, along->axis))
        return fail_at(w, id, "tokens chosen by a constant index, which may be later ones",
                       "each token to read only itself and earlier tokens");
    want(w, along->a, variant + axis);
    want(w, along->index, variant + axis);
    return 0;
}

/* Marks the variants of the operands from which a node's rows along an axis are computed;
 * `variant` is ROWS or LAST. */
static int want_rows(struct work *w, cr_id id, int axis, int variant)
{
    struct cr_gather_axis along;
    if (find_along(w, id, &along))
        return want_along(w, id, &along, axis, variant);
    if (!is_computed_by_rows(w, id, axis)) {
        if (w->varies[id])
            return fail_merged(w, id);
        want(w, id, FULL);
        return 0;
    }
    if (w->varies[id] && check_causal(w, id, axis))
        return -1;
    for (int i = 0; i < w->from->nodes[id].n_in; i++) {
        int from = cr_operand_axis(w->from, id, i, axis);
        want(w, cr_in(w->from, id, i), from == CR_NONE ? FULL : variant + from);
    }
    return 0;
}

/* True if the variant LAST is taken from ROWS, because ROWS is made anyway.  A node that does not
 * depend on ids is instead computed for its last row alone, so that a mask of one row still
 * states by indices which tokens it shows. */
static bool is_last_of_rows(const struct work *w, cr_id id, int axis)
{
    return w->varies[id] && is_wanted(w, id, ROWS + axis);
}

/* Marks the variants of a node's operands that are needed to make the node's own wanted
 * variants. */
static int want_operands(struct work *w, cr_id id)
{
    int rank = w->from->nodes[id].rank;
    if (w->varies[id] && is_wanted(w, id, FULL) && want_full(w, id))
        return -1;
    for (int a = 0; a < rank; a++) {
        if (is_wanted(w, id, ROWS + a) && want_rows(w, id, a, ROWS))
            return -1;
        if (is_wanted(w, id, LAST + a) && !is_last_of_rows(w, id, a) && want_rows(w, id, a, LAST))
            return -1;
    }
    return !w->varies[id] && is_wanted(w, id, FULL) ? want_full(w, id) : 0;
}

/* ---- making ---- */

/* True if an earlier node of a graph is equal to its newest one. */
static bool is_newest(const void *graph, int id)
{
    const struct cr_graph *g = graph;
    return cr_equal_nodes(g, &g->nodes[id], &g->nodes[g->n_nodes - 1]);
}

static uint64_t hash_newest(const struct cr_graph *g)
{
    const struct cr_node *node = &g->nodes[g->n_nodes - 1];
    uint64_t value, h;
    memcpy(&value, &node->value, sizeof value);
    h = cr_hash_word(value, (uint64_t)node->op << 8 | (uint64_t)node->axis);
    h = cr_hash_word(h, (uintptr_t)node->name);
    for (int i = 0; i < node->n_in; i++)
        h = cr_hash_word(h, (uint64_t)cr_inputs(g, node)[i]);
    return cr_hash_word(h, cr_hash_axes(node));
}

/* Adds a node, or returns the earlier one that is equal to it: a value that the script computes
 * twice is kept in one state, and passes match the same formulas as for the whole sequence. */
static cr_id make(struct work *w, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr)
{
    cr_id id = cr_must(w->to, op, n, in, attr);
    uint64_t hash = hash_newest(w->to);
    int equal = cr_table_find(&w->shared, hash, is_newest, w->to);
    if (equal < 0) {
        cr_table_add(&w->shared, hash, id);
        return id;
    }
    w->to->n_operands = w->to->nodes[id].first_in;
    w->to->n_nodes--;
    return equal;
}

static cr_id one_i32(struct work *w, double value)
{
    return make(w, CR_OP_const, 0, NULL, &(struct cr_attr){.dtype = CR_I32, .value = value});
}

static cr_id add(struct work *w, cr_id a, cr_id b)
{
    return make(w, CR_OP_add, 2, (cr_id[]){a, b}, NULL);
}

/* Returns the position of the token to which the variant's first row belongs. */
static cr_id first_position(struct work *w, int variant)
{
    return variant == ROWS ? w->at : add(w, add(w, w->at, w->n), one_i32(w, -1));
}

static cr_id spread(struct work *w, cr_id scalar, int rank, const int64_t *shape)
{
    struct cr_attr attr = {.rank = rank};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return make(w, CR_OP_expand, 1, &scalar, &attr);
}

static int64_t rows_of(const struct work *w, int variant)
{
    return variant == ROWS ? w->how->chunk : 1;
}

/* Returns an i32 tensor of the given shape with `axis` resized to the variant's rows; each
 * element is the position of its token along `axis`. */
static cr_id positions(struct work *w, int variant, int rank, const int64_t *shape, int axis)
{
    struct cr_attr attr = {.dtype = CR_I32, .rank = rank, .axis = axis};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    attr.shape[axis] = rows_of(w, variant);
    cr_id first = spread(w, first_position(w, variant), rank, attr.shape);
    return variant == LAST ? first : add(w, make(w, CR_OP_iota, 0, NULL, &attr), first);
}

/* Gathers rows of a tensor along an axis by an index [n]. */
static cr_id take_rows(struct work *w, cr_id table, int axis, cr_id index)
{
    struct cr_attr order = {.index = {axis}}, back = {.index = {0}};
    int rank = w->to->nodes[table].rank;
    for (int a = 0, k = 1; a < rank; a++)
        if (a != axis)
            order.index[k++] = a;
    for (int a = 0; a < rank; a++)
        back.index[order.index[a]] = a;
    if (axis)
        table = make(w, CR_OP_permute, 1, &table, &order);
    cr_id rows = make(w, CR_OP_gather, 2, (cr_id[]){table, index}, NULL);
    return axis ? make(w, CR_OP_permute, 1, &rows, &back) : rows;
}

/* Returns the rows of a table at the positions of the new tokens; positions past the table's end
 * give its last row. */
static cr_id take_positions(struct work *w, cr_id table, int axis, int variant)
{
    cr_id at = positions(w, variant, 1, (int64_t[]){1}, 0);
    cr_id last = spread(w, one_i32(w, (double)w->context - 1), 1, w->to->nodes[at].shape);
    return take_rows(w, table, axis, make(w, CR_OP_minimum, 2, (cr_id[]){at, last}, NULL));
}

/* Returns the last of the rows along an axis of new tokens. */
static cr_id take_last(struct work *w, cr_id rows, int axis)
{
    cr_id last = add(w, w->n, one_i32(w, -1));
    return take_rows(w, rows, axis, spread(w, last, 1, (int64_t[]){1}));
}

/* Adds the op of node `id` with other operands and, unless `axis` is CR_NONE, with `rows` rows
 * along `axis`. */
static cr_id make_again(struct work *w, cr_id id, const cr_id *in, int axis, int64_t rows)
{
    struct cr_attr attr = cr_attr_of(&w->from->nodes[id]);
    if (axis != CR_NONE)
        attr.shape[axis] = rows;
    return make(w, w->from->nodes[id].op, w->from->nodes[id].n_in, in, &attr);
}

/* Adds the op of node `id` on those variants of its operands from which its rows along `axis` are
 * computed; on FULL operands if `axis` is CR_NONE. */
static cr_id make_of_operands(struct work *w, cr_id id, int axis, int variant)
{
    int n = w->from->nodes[id].n_in;
    cr_id few[4] = {0}, *in = n <= 4 ? few : cr_calloc((size_t)n, sizeof *in);
    for (int i = 0; i < n; i++) {
        int from = axis == CR_NONE ? CR_NONE : cr_operand_axis(w->from, id, i, axis);
        in[i] = w->made[cr_in(w->from, id, i)][from == CR_NONE ? FULL : variant + from];
    }
    cr_id made = make_again(w, id, in, axis, axis == CR_NONE ? 0 : rows_of(w, variant));
    if (in != few)
        free(in);
    return made;
}

/* Returns a new name for a state: the name that the script gave to the value, else the scope with
 * "cache" behind it; with a number behind it if the name is taken. */
static const char *name_state(struct work *w, cr_id id)
{
    const struct cr_node *node = &w->from->nodes[id];
    char base[200], name[256];
    const char *scope = node->where.scope ? node->where.scope : "";
    if (node->tap)
        snprintf(base, sizeof base, "%.190s", node->tap);
    else
        snprintf(base, sizeof base, "%.180s%scache", scope, *scope ? "." : "");
    snprintf(name, sizeof name, "%s", base);
    for (int number = 2;; number++) {
        bool taken = false;
        for (int i = 0; i < w->n_states && !taken; i++)
            taken = strcmp(w->states[i].name, name) == 0;
        for (cr_id k = 0; k < w->from->n_nodes && !taken; k++)
            taken = w->from->nodes[k].name && strcmp(w->from->nodes[k].name, name) == 0;
        if (!taken)
            return cr_intern(w->to, name);
        snprintf(name, sizeof name, "%s.%d", base, number);
    }
}

/* Returns the value of the state to which these rows are already written along an axis, or
 * CR_NONE. */
static cr_id find_state(const struct work *w, cr_id rows, int axis)
{
    for (int i = 0; i < w->n_states; i++)
        if (cr_in(w->to, w->states[i].id, 1) == rows && w->to->nodes[w->states[i].id].axis == axis)
            return w->states[i].id;
    return CR_NONE;
}

/* Returns the rows of all tokens: makes a state for node `id` and writes the rows of the new
 * tokens after the rows of earlier tokens. */
static cr_id make_state(struct work *w, cr_id id)
{
    struct cr_attr attr = cr_attr_of(&w->from->nodes[id]);
    int axis = token_axis(w, id);
    cr_id kept = find_state(w, w->made[id][ROWS + axis], axis);
    if (kept != CR_NONE)
        return kept;
    attr.name = name_state(w, id);
    attr.axis = 0;
    cr_id state = make(w, CR_OP_state, 0, NULL, &attr);
    cr_id in[] = {state, w->made[id][ROWS + axis], w->at};
    cr_id value = make(w, CR_OP_write, 3, in, &(struct cr_attr){.axis = axis});
    *CR_PUSH(w->states, w->n_states, w->cap_states) =
        (struct cr_output){.name = attr.name, .id = value, .state = state};
    return value;
}

/* Adds the input of new ids. */
static cr_id make_ids(struct work *w)
{
    struct cr_attr attr = cr_attr_of(&w->from->nodes[w->ids]);
    attr.shape[1] = w->how->chunk;
    attr.lengths[1] = 1;
    return make(w, CR_OP_input, 0, NULL, &attr);
}

/* ---- elements along an axis ---- */

static cr_id two(struct work *w, enum cr_op op, cr_id a, cr_id b)
{
    return make(w, op, 2, (cr_id[]){a, b}, NULL);
}

/* Adds a constant in the shape of a node. */
static cr_id number(struct work *w, cr_id like, enum cr_dtype dtype, double value)
{
    struct cr_attr attr = {.dtype = dtype, .rank = w->to->nodes[like].rank, .value = value};
    memcpy(attr.shape, w->to->nodes[like].shape, sizeof attr.shape);
    return make(w, CR_OP_const, 0, NULL, &attr);
}

/* Repeats a node along a new axis of size `n`. */
static cr_id repeat(struct work *w, cr_id in, int axis, int64_t n)
{
    const struct cr_node *node = &w->to->nodes[in];
    struct cr_attr attr = {.rank = node->rank + 1};
    for (int i = 0; i < attr.rank; i++)
        attr.shape[i] = i == axis ? 1 : node->shape[i - (i > axis)];
    in = make(w, CR_OP_reshape, 1, &in, &attr);
    attr.shape[axis] = n;
    return make(w, CR_OP_expand, 1, &in, &attr);
}

/* Replaces elements by NaN where their index is out of bounds.  Elements that are i32 are the
 * least i32 there already. */
static cr_id nan_where_outside(struct work *w, cr_id taken, cr_id index, int64_t size)
{
    if (w->to->nodes[taken].dtype == CR_I32)
        return taken;
    cr_id first = two(w, CR_OP_ge, index, number(w, index, CR_I32, 0));
    cr_id last = two(w, CR_OP_lt, index, number(w, index, CR_I32, (double)size));
    cr_id in[] = {two(w, CR_OP_logical_and, first, last), taken, number(w, taken, CR_F32, NAN)};
    return make(w, CR_OP_where, 3, in, NULL);
}

/*
 * Makes the rows of a gather along another axis from rows of both operands.  The n rows of new
 * tokens cannot be merged with another axis; so the index is compared with all positions along a
 * new axis, and a maximum along that axis selects the one element at the index.
 */
static cr_id take_along(struct work *w, const struct cr_gather_axis *along, int axis, int variant)
{
    cr_id a = w->made[along->a][variant + axis], index = w->made[along->index][variant + axis];
    int64_t size = w->to->nodes[a].shape[along->axis], n = w->to->nodes[index].shape[along->axis];
    int behind = along->axis + 1;
    struct cr_attr shape = {.rank = w->to->nodes[index].rank}, at;
    memcpy(shape.shape, w->to->nodes[index].shape, sizeof shape.shape);
    cr_id all = repeat(w, a, along->axis, n), chosen = repeat(w, index, behind, size);
    at = (struct cr_attr){.dtype = CR_I32, .rank = shape.rank + 1, .axis = behind};
    memcpy(at.shape, w->to->nodes[all].shape, sizeof at.shape);
    cr_id hit = two(w, CR_OP_eq, make(w, CR_OP_iota, 0, NULL, &at), chosen);
    enum cr_dtype dtype = w->to->nodes[a].dtype;
    cr_id least = number(w, all, dtype, dtype == CR_I32 ? INT32_MIN : -INFINITY);
    cr_id found = make(w, CR_OP_where, 3, (cr_id[]){hit, all, least}, NULL);
    found = make(w, CR_OP_max, 1, &found, &(struct cr_attr){.axis = behind});
    return nan_where_outside(w, make(w, CR_OP_reshape, 1, &found, &shape), index, size);
}

/* Makes the variant ROWS or LAST of a node along an axis. */
static cr_id make_rows(struct work *w, cr_id id, int axis, int variant)
{
    const struct cr_node *node = &w->from->nodes[id];
    struct cr_gather_axis along;
    if (variant == LAST && is_last_of_rows(w, id, axis))
        return take_last(w, w->made[id][ROWS + axis], axis);
    if (find_along(w, id, &along))
        return take_along(w, &along, axis, variant);
    if (id == w->ids)
        return variant == ROWS ? make_ids(w) : take_last(w, make_ids(w), axis);
    if (!is_computed_by_rows(w, id, axis))
        return take_positions(w, w->made[id][FULL], axis, variant);
    if (node->op == CR_OP_iota && node->axis == axis)
        return positions(w, variant, node->rank, node->shape, axis);
    return make_of_operands(w, id, axis, variant);
}

static void make_full(struct work *w, cr_id id)
{
    bool stays = !w->varies[id] || is_stored_before_view(w, id);
    w->made[id][FULL] = stays ? make_of_operands(w, id, CR_NONE, FULL) : make_state(w, id);
}

/* Makes all needed variants of a node.  The variants of its operands were made before. */
static void make_node(struct work *w, cr_id id)
{
    const struct cr_node *node = &w->from->nodes[id];
    w->to->here = node->where;
    if (!w->varies[id] && is_wanted(w, id, FULL))
        make_full(w, id);
    for (int a = 0; a < node->rank; a++) {
        if (is_wanted(w, id, ROWS + a))
            w->made[id][ROWS + a] = make_rows(w, id, a, ROWS);
        if (is_wanted(w, id, LAST + a))
            w->made[id][LAST + a] = make_rows(w, id, a, LAST);
    }
    if (w->varies[id] && is_wanted(w, id, FULL))
        make_full(w, id);
}

/* ---- the model ---- */

static int fail(const struct work *w, const char *found, const char *expected)
{
    return cr_fail(w->error, "%.400s: found %s, expected %s", w->path, found, expected);
}

/* Finds the input of tokens; fails if there is any other input. */
static int find_ids(struct work *w)
{
    const struct cr_graph *g = w->from;
    char found[300];
    w->ids = CR_NONE;
    if (g->n_entries > 1 || g->n_lengths || g->n_replaced)
        return fail(w, "entries, lengths or states",
                    "a model from " CR_IDS " to " CR_LOGITS
                    " of all tokens, or one that has the length " CR_TOKENS
                    " and the state " CR_AT);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!cr_is_input(&g->nodes[id]))
            continue;
        snprintf(found, sizeof found, "the input %.200s", g->nodes[id].name);
        if (strcmp(g->nodes[id].name, CR_IDS) != 0)
            return fail(w, found, "the only input to be " CR_IDS);
        w->ids = id;
    }
    if (w->ids == CR_NONE)
        return fail(w, "no input", "the input " CR_IDS ", i32 [batch, tokens]");
    const struct cr_node *ids = &g->nodes[w->ids];
    if (ids->rank != 2 || ids->dtype != CR_I32)
        return fail(w, "an input " CR_IDS " of another type or rank", "i32 [batch, tokens]");
    w->context = ids->shape[1];
    if (w->context == 1) /* with one token, axes.h cannot tell the axis of tokens from other axes
                          * of size 1 */
        return fail(w, CR_IDS " of 1 token", "2 at least");
    if (w->how->chunk >= 1 && w->how->chunk <= w->context)
        return 0;
    return cr_fail(w->error, "%.400s: found a chunk of %lld tokens, expected 1 to %lld", w->path,
                   (long long)w->how->chunk, (long long)w->context);
}

/* Finds the output of the result. */
static int find_result(struct work *w, cr_id *result)
{
    const struct cr_graph *g = w->from;
    *result = CR_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, CR_LOGITS) == 0 || g->n_outputs == 1)
            *result = g->outputs[i].id;
    if (*result == CR_NONE)
        return fail(w, "several outputs", "one of them to be " CR_LOGITS);
    if (g->nodes[*result].rank < 2 || !is_token_axis(w, *result, 1))
        return fail(w, "a result without an axis of tokens", CR_LOGITS " [batch, tokens, ...]");
    if (token_axis(w, *result) == CR_NONE)
        return fail(w, "logits of pairs of tokens", CR_LOGITS " of one token each");
    return 0;
}

/* Begins the new graph: adds the length CR_TOKENS and the state CR_AT. */
static int begin(struct work *w)
{
    w->to = cr_graph_successor(w->from);
    w->to->here = w->from->nodes[w->ids].where;
    cr_graph_add_length(w->to, cr_intern(w->to, CR_TOKENS), w->how->chunk, 0);
    struct cr_attr attr = {.dtype = CR_I32, .name = CR_TOKENS};
    for (cr_id id = 0; id < w->from->n_nodes; id++) {
        const char *name = w->from->nodes[id].name;
        if (name && (strcmp(name, CR_TOKENS) == 0 || strcmp(name, CR_AT) == 0))
            return fail_at(w, id, "the name " CR_TOKENS " or " CR_AT, "another one");
    }
    w->n = make(w, CR_OP_input, 0, NULL, &attr);
    attr.name = CR_AT;
    w->at = make(w, CR_OP_state, 0, NULL, &attr);
    return 0;
}

/* Fails if an op of the new graph does not allow the length CR_TOKENS. */
static int check_lengths(const struct work *w)
{
    for (cr_id id = 0; id < w->to->n_nodes; id++) {
        const struct cr_where *where = &w->to->nodes[id].where;
        const char *why = cr_check_inference(w->to, id);
        if (why)
            return cr_fail(w->error, "%.400s:%d: %s", *where->file ? where->file : w->path,
                           where->line, why);
    }
    return 0;
}

/* Adds the outputs: the result, and the new values of the states. */
static void finish(struct work *w, cr_id result)
{
    cr_add_output(w->to, CR_LOGITS, w->made[result][w->how->last_only ? LAST + 1 : ROWS + 1]);
    for (int i = 0; i < w->n_states; i++)
        cr_add_replacement(w->to, 0, w->states[i].state, w->states[i].id);
    w->to->here = w->from->nodes[w->ids].where;
    cr_add_replacement(w->to, 0, w->at, add(w, w->at, w->n));
}

/* Converts the graph: checks it, marks the needed variants, makes them, adds the outputs. */
static int make_incremental(struct work *w)
{
    cr_id result;
    if (find_ids(w))
        return -1;
    find_tokens(w);
    if (find_result(w, &result) || begin(w))
        return -1;
    want(w, result, w->how->last_only ? LAST + 1 : ROWS + 1);
    for (cr_id id = w->from->n_nodes - 1; id >= 0; id--)
        if (w->wanted[id] && want_operands(w, id))
            return -1;
    for (cr_id id = 0; id < w->from->n_nodes; id++)
        if (w->wanted[id])
            make_node(w, id);
    finish(w, result);
    return check_lengths(w);
}

int cr_incremental(const struct cr_graph *g, const struct cr_incremental_how *how,
                   struct cr_graph **result, const char *path, struct cr_error *error)
{
    size_t n = (size_t)g->n_nodes;
    struct work w = {.from = g, .how = how, .path = path, .error = error};
    w.tokens = cr_calloc(n, sizeof *w.tokens);
    w.varies = cr_calloc(n, sizeof *w.varies);
    w.wanted = cr_calloc(n, sizeof *w.wanted);
    w.made = cr_calloc(n, sizeof *w.made);
    int status = make_incremental(&w);
    if (status == 0)
        *result = w.to;
    else if (w.to)
        cr_graph_free(w.to);
    free(w.tokens);
    free(w.varies);
    free(w.wanted);
    free(w.made);
    free(w.states);
    cr_table_free(&w.shared);
    return status;
}
