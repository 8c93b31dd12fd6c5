/*
 * lower_attention.c - ATTENTION and ATTENTION_BACKWARD: tile programs from scores to logits and
 * from the gradients of logits to the gradients of scores, and the addresses of queries, keys and
 * values.
 */
#include <math.h>
#include <string.h>

#include "compiler/passes/attention/attention.h"
#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/rewrite/factors.h"
#include "kinds.h"
#include "mask.h"

/* ---- forward ---- */

/* Finds the bounds of the masks and lowers the program from scores to logits.  Masks that the
 * bounds express in full are left out of the program. */
static bool lower_scores(struct cr_lowering *lw, const struct cr_attention *attention,
                         const struct cr_map *map, struct cr_map *scores_map)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    cr_evaluate_begin(ev, &k->attention.scores, attention->scores, k->key, false);
    ev->n_visible = cr_find_bounds(ev, attention->logits, map, ev->visible);
    k->attention.scores.result = cr_evaluate(ev, attention->logits, map);
    if (ev->obstacle == attention->scores) /* the scores are used twice, and storing only them does
                                              not help */
        ev->obstacle = attention->logits;
    if (k->attention.scores.result < 0 || !cr_evaluate_end(ev, &k->attention.scores, k->row))
        return false;
    k->attention.factor = attention->direct ? 1 : cr_leave_out_factor(&k->attention.scores);
    ev->obstacle = attention->logits;
    *scores_map = ev->core_map;
    return ev->core_seen; /* else a value between scores and logits is stored */
}

/* Lowers the program of the sink, if there is one.  A sink is a score that belongs to no key. */
static bool lower_sink(struct cr_lowering *lw, const struct cr_attention *attention,
                       const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    struct cr_map row = *map;
    if (!attention->sink.there)
        return true;
    row.axis[lw->g->nodes[attention->probs].rank - 1] = (struct cr_affine){0};
    cr_evaluate_begin(ev, &k->attention.sink, CR_NONE, CR_NO_ATOM, false);
    k->attention.sink.result =
        attention->sink.node == CR_NONE
            ? cr_evaluate_number(ev, attention->sink.number, attention->probs)
            : cr_evaluate(ev, attention->sink.node, &row);
    return k->attention.sink.result >= 0 && cr_evaluate_end(ev, &k->attention.sink, k->row);
}

/* True if a value is finite for any contents of the tensors: it is computed from constants, random
 * numbers, indices and conditions alone. */
static bool is_finite(const struct cr_graph *g, const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    if (g->nodes[v->node].dtype != CR_F32)
        return true;
    if (v->source == CR_CONST)
        return fabs(v->number) < 1e6;
    if (v->source == CR_RANDOM)
        return true;
    if (v->source != CR_MAP)
        return false;
    switch (v->op) {
    case CR_OP_float:
        return true;
    case CR_OP_where:
        return is_finite(g, tiles, v->arg[1]) && is_finite(g, tiles, v->arg[2]);
    case CR_OP_mul: /* a product of such numbers (constants, conditions, random numbers) does not
                       overflow */
        return is_finite(g, tiles, v->arg[0]) && is_finite(g, tiles, v->arg[1]);
    case CR_OP_div:
        return is_finite(g, tiles, v->arg[0]) && tiles->values[v->arg[1]].source == CR_CONST &&
               fabs(tiles->values[v->arg[1]].number) > 1e-6;
    default:
        return false;
    }
}

/* Lowers the program of the dropout factors that multiply the probabilities, if there are any. */
static bool lower_dropout(struct cr_lowering *lw, const struct cr_attention *attention,
                          const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    size_t rank = (size_t)lw->g->nodes[attention->probs].rank;
    struct cr_factors factors;
    if (attention->dropped == attention->probs)
        return true;
    k->attention.chooses =
        cr_find_factors(lw->g, attention->dropped, &factors) && cr_choose(lw->g, &factors);
    cr_evaluate_begin(ev, &k->attention.dropout, attention->probs, k->key, false);
    k->attention.dropout.result = cr_evaluate(ev, attention->dropped, map);
    if (k->attention.dropout.result < 0)
        return false;
    cr_leave_out_core(&k->attention.dropout);
    k->attention.sees_all = !is_finite(lw->g, &k->attention.dropout, k->attention.dropout.result);
    ev->obstacle = attention->logits;
    return ev->core_seen && memcmp(ev->core_map.axis, map->axis, rank * sizeof *map->axis) == 0 &&
           cr_evaluate_end(ev, &k->attention.dropout, k->row);
}

/* Sets *atom to the atom for the `size` columns of a part of a row.  Parts of equal size share an
 * atom.  Returns false if there are too many atoms. */
static bool part_atom(struct cr_lowering *lw, int64_t size, int *atom)
{
    const struct cr_kernel *k = lw->k;
    const struct cr_row_parts *all[] = {&k->attention_rows.query_parts,
                                        &k->attention_rows.key_parts};
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < all[i]->n; p++) {
            *atom = all[i]->items[p].atom;
            if (*atom != k->k && *atom >= 0 && k->atoms.extent[*atom] == size)
                return true;
        }
    if (!cr_new_atom(&lw->ev, size, 0, atom))
        return false;
    if (*atom >= 0)
        lw->ev.fixed |= 1u << *atom;
    return true;
}

/*
 * Lowers queries or keys that the kernel computes itself: one program for all columns or, for a
 * concat along the columns, a program for each operand.  `first` is the program of the first
 * operand; axis `along` of the map is the column axis.
 */
static bool lower_row_parts(struct cr_lowering *lw, cr_id id, const struct cr_map *map, int along,
                            struct cr_row_parts *parts, struct cr_tiles *first)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    int n_refs = k->n_refs;
    cr_evaluate_begin(ev, first, CR_NONE, k->k, true);
    first->result = cr_evaluate(ev, id, map);
    *parts = (struct cr_row_parts){.items = {{k->k, 0, 1}}, .n = 1};
    if (first->result >= 0)
        return cr_evaluate_end(ev, first, k->k);
    const struct cr_row_parts pieces = ev->pieces;
    cr_evaluate_again(ev, first, n_refs);
    parts->n = 0;
    if (pieces.n < 2 || pieces.n > CR_MAX_PARTS)
        return false;
    bool alike = true;
    for (int p = 0; p < pieces.n; p++) {
        parts->items[p] = pieces.items[p];
        if (!part_atom(lw, ev->piece_size[p], &parts->items[p].atom))
            return false;
        parts->n++;
        alike &= parts->items[p].atom == parts->items[0].atom;
    }
    for (int p = 0; p < pieces.n; p++) {
        struct cr_map part = *map;
        struct cr_tiles *program = first + p;
        const struct cr_row_part *item = &parts->items[p];
        part.axis[along] = (struct cr_affine){.base = item->start};
        if (item->atom >= 0)
            part.axis[along].coef[item->atom] = item->step;
        cr_evaluate_begin(ev, program, CR_NONE, item->atom, true);
        ev->rows = alike ? parts : NULL;
        program->result = cr_evaluate(ev, id, &part);
        if (program->result < 0 || !cr_evaluate_end(ev, program, item->atom))
            return false;
    }
    return true;
}

/* Lowers the queries: as an operand in memory, or as programs that compute their rows. */
static bool lower_queries(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    if (!lower_row_parts(lw, id, map, lw->g->nodes[id].rank - 1, &k->attention_rows.query_parts,
                         k->attention_rows.queries))
        return false;
    struct cr_row_parts *parts = &k->attention_rows.query_parts;
    struct cr_tiles *rows = k->attention_rows.queries;
    bool is_float = lw->g->nodes[rows->values->node].dtype == CR_F32;
    if (parts->n > 1 || rows->n != 1 || rows->values->source != CR_LOAD || !is_float)
        return true;
    k->attention.query = (struct cr_operand){rows->values->ref, rows->values->at};
    parts->n = rows->n = 0;
    return true;
}

/* Lowers the keys: as an operand in memory or, if the work is small compared with the item's
 * queries, as programs that compute their rows in each item. */
static bool lower_keys(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    int n_refs = k->n_refs;
    if (cr_evaluate_operand(&lw->ev, id, map, &k->attention.key))
        return true;
    k->n_refs = n_refs;
    cr_id obstacle = lw->ev.obstacle;
    if (!cr_computes_keys(cr_extent(k, k->row), k->attention.keys) ||
        !lower_row_parts(lw, id, map, lw->g->nodes[id].rank - 2, &k->attention_rows.key_parts,
                         k->attention_rows.keys)) {
        lw->ev.obstacle = obstacle;
        return false;
    }
    return true;
}

/* True if `length` is ragged and the index runs over the rows of its batch.  Each query then has
 * its own number of keys, and is an item of its own. */
static bool is_batch_of(const struct cr_lowering *lw, const struct cr_affine *index, int length)
{
    int batch = length ? lw->g->lengths[length - 1].batch : 0, atom = cr_affine_single(index);
    return batch && atom >= 0 && lw->k->atoms.length[atom] == batch;
}

/* Lowers the operands Q[row, e] and K[e, key] of the scores, whose map is `at`. */
static bool lower_query_key(struct cr_lowering *lw, const struct cr_attention *attention,
                            const struct cr_map *at)
{
    struct cr_kernel *k = lw->k;
    cr_id q = cr_in(lw->g, attention->scores, 0), key = cr_in(lw->g, attention->scores, 1);
    int r = lw->g->nodes[q].rank;
    struct cr_affine row = cr_affine_atom(k->row), col = cr_affine_atom(k->key);
    struct cr_map q_map = *at, k_map = *at;
    lw->ev.obstacle = attention->logits;
    bool rows = !memcmp(&at->axis[r - 2], &row, sizeof row) ||
                is_batch_of(lw, &at->axis[r - 2], cr_length_at(lw->g, attention->logits, r - 1));
    if (!rows || memcmp(&at->axis[r - 1], &col, sizeof col))
        return false;
    k->attention.K = lw->g->nodes[q].shape[r - 1];
    if (!cr_new_atom(&lw->ev, k->attention.K, cr_inner_length(lw, attention->scores), &k->k))
        return false;
    if (k->k >= 0)
        lw->ev.fixed |= 1u << k->k;
    q_map.axis[r - 1] = k_map.axis[r - 2] = cr_affine_atom(k->k);
    return lower_queries(lw, q, &q_map) && lower_keys(lw, key, &k_map);
}

/* Returns the attention whose last product is the kernel's contraction, or null. */
static const struct cr_attention *attention_of(const struct cr_lowering *lw)
{
    return lw->core == CR_NONE ? NULL : cr_attention_at(lw->ev.module, lw->core);
}

/* True if the kernel's contraction is the second product of an attention, probabilities times V,
 * and the logits are not stored.  If the logits are stored, a GEMM computes the product. */
bool cr_fits_attention(const struct cr_lowering *lw)
{
    const struct cr_attention *attention = attention_of(lw);
    return attention && !lw->ev.module->materialised[attention->logits];
}

/* Lowers an attention.  First lowers the epilogue, which determines the atoms of queries and
 * columns and the map of the logits; then dropout, sink, scores, and the addresses of queries, keys
 * and values. */
bool cr_lower_attention(struct cr_lowering *lw)
{
    const struct cr_attention *attention = attention_of(lw);
    struct cr_kernel *k = lw->k;
    const struct cr_node *node = &lw->g->nodes[attention->output];
    int r = node->rank;
    k->core = attention->output;
    k->attention.N = node->shape[r - 1];
    k->attention.keys = lw->g->nodes[attention->logits].shape[r - 1];
    k->attention.direct = attention->direct;
    if (!cr_lower_epilogue(lw, attention->output))
        return false;
    struct cr_map logits = lw->ev.core_map, v = logits, scores;
    k->row = cr_affine_single(&logits.axis[r - 2]);
    lw->ev.obstacle = k->root == attention->output ? attention->logits : attention->output;
    int length = cr_inner_length(lw, attention->output);
    bool alone = is_batch_of(lw, &logits.axis[r - 2], length);
    if (alone)
        k->row = CR_NO_ATOM;
    if (length != cr_length_at(lw->g, attention->logits, r - 1))
        return false; /* the numbers of keys of the softmax and of the product differ */
    if ((k->row < 0 && node->shape[r - 2] > 1 && !alone) ||
        !cr_new_atom(&lw->ev, k->attention.keys, length, &k->key))
        return false;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (a == k->row || a == k->key)
            lw->ev.fixed |= 1u << a;
    logits.axis[r - 1] = v.axis[r - 2] = cr_affine_atom(k->key);
    if (!lower_dropout(lw, attention, &logits) || !lower_sink(lw, attention, &logits) ||
        !lower_scores(lw, attention, &logits, &scores) ||
        !lower_query_key(lw, attention, &scores) ||
        !cr_evaluate_operand(&lw->ev, cr_in(lw->g, attention->output, 1), &v, &k->attention.value))
        return false;
    cr_assign_outer(lw);
    return true;
}

/* ---- gradients ---- */

/* Marks those masks between dS and T (the gradient of the scores) that give 0 for hidden scores as
 * masks that hide nothing.  The probability of a hidden score is 0, so its gradient is 0 without
 * the mask. */
static void skip_masks(struct cr_evaluate *ev, cr_id id, const struct cr_choice *hidden, int n,
                        int *budget)
{
    const struct cr_graph *g = ev->g;
    if (--*budget < 0 || id == ev->core || cr_kind_of(g, id) != CR_KIND_ELEMENTWISE)
        return;
    for (int i = 0; i < n && g->nodes[id].op == CR_OP_where; i++) {
        const struct cr_node *other = &g->nodes[cr_in(g, id, 3 - hidden[i].operand)];
        if (cr_in(g, id, 0) == cr_in(g, hidden[i].where, 0) && other->op == CR_OP_const &&
            other->value == 0 && ev->n_visible < CR_MAX_BOUNDS)
            ev->visible[ev->n_visible++] = (struct cr_choice){id, hidden[i].operand};
    }
    for (int i = 0; i < g->nodes[id].n_in; i++)
        skip_masks(ev, cr_in(g, id, i), hidden, n, budget);
}

static bool is_root_map(const struct cr_lowering *lw, const struct cr_map *map, cr_id id)
{
    size_t rank = (size_t)lw->g->nodes[id].rank;
    return memcmp(map->axis, lw->root_map.axis, rank * sizeof *map->axis) == 0;
}

/* The masks of the scores: `where` nodes, each with the number of the operand that is not
 * hidden. */
struct hidden {
    struct cr_choice masks[CR_MAX_BOUNDS];
    int n;
};

/* True if `id`, computed from the gradient of the weights, is 0 wherever a mask hides the weight.
 * Assumes that all values are finite. */
static bool vanishes(const struct cr_lowering *lw, cr_id id, const struct hidden *hidden,
                     int *budget)
{
    const struct cr_graph *g = lw->g;
    if (--*budget < 0 || id == lw->backward->dlogits || id == lw->backward->scores)
        return false;
    if (id == lw->backward->logits || cr_is_number(&g->nodes[id], 0))
        return true;
    bool a = g->nodes[id].n_in > 0 && vanishes(lw, cr_in(g, id, 0), hidden, budget);
    switch (g->nodes[id].op) {
    case CR_OP_neg:
    case CR_OP_div:
        return a;
    case CR_OP_mul:
        return a || vanishes(lw, cr_in(g, id, 1), hidden, budget);
    case CR_OP_add:
    case CR_OP_sub:
        return a && vanishes(lw, cr_in(g, id, 1), hidden, budget);
    case CR_OP_where:
        for (int i = 0; i < hidden->n; i++)
            if (cr_in(g, id, 0) == cr_in(g, hidden->masks[i].where, 0) &&
                vanishes(lw, cr_in(g, id, 3 - hidden->masks[i].operand), hidden, budget))
                return true;
        return vanishes(lw, cr_in(g, id, 1), hidden, budget) &&
               vanishes(lw, cr_in(g, id, 2), hidden, budget);
    default:
        return false;
    }
}

/* Follows the masks below `id` that make weights equal `hidden`: 0, or -inf before an exp or
 * sigmoid.  Returns true if the array is 0 wherever one of them hides a weight.  Takes the same
 * paths as cr_find_bounds and schedule_mask.c. */
static bool vanishes_if_hidden(const struct cr_lowering *lw, cr_id array, cr_id id, double hidden)
{
    const struct cr_graph *g = lw->g;
    const struct cr_node *node = &g->nodes[id];
    int scaled = cr_scaled_operand(g, id), budget = 16 * CR_MAX_VALUES;
    if (node->op == CR_OP_where) {
        int seen = cr_is_number(&g->nodes[cr_in(g, id, 2)], hidden) ? 1 : 2;
        const struct hidden mask = {{{id, seen}}, 1};
        return !cr_is_number(&g->nodes[cr_in(g, id, 3 - seen)], hidden) ||
               (vanishes(lw, array, &mask, &budget) &&
                vanishes_if_hidden(lw, array, cr_in(g, id, seen), hidden));
    }
    if (scaled >= 0 || cr_kind_of(g, id) == CR_KIND_MOVE)
        return vanishes_if_hidden(lw, array, cr_in(g, id, scaled > 0), hidden);
    if (!hidden && (node->op == CR_OP_sigmoid || node->op == CR_OP_exp))
        return vanishes_if_hidden(lw, array, cr_in(g, id, 0), -INFINITY);
    if (hidden && node->op == CR_OP_fma)
        return vanishes_if_hidden(lw, array, cr_in(g, id, 2), hidden);
    return !hidden || node->op != CR_OP_add ||
           (vanishes_if_hidden(lw, array, cr_in(g, id, 0), hidden) &&
            vanishes_if_hidden(lw, array, cr_in(g, id, 1), hidden));
}

/* Checks an array without softmax, where dS may be nonzero at hidden keys: returns false unless the
 * array is 0 there.  If the kernel itself sets those elements to 0, removes the masks of the scores
 * from the program. */
static bool lower_hidden(struct cr_lowering *lw, cr_id array, const struct hidden *hidden)
{
    struct cr_evaluate *ev = &lw->ev;
    for (int i = 0; ev->n_visible && i < hidden->n && ev->n_visible < CR_MAX_BOUNDS; i++)
        ev->visible[ev->n_visible++] = hidden->masks[i];
    return vanishes_if_hidden(lw, array, lw->backward->logits, 0);
}

/* Lowers the program that computes T, or another array of queries by keys, from dS.  Sets
 * *is_hidden if masks were left out of the program: the kernel then has to set the hidden elements
 * to 0. */
static bool lower_array(struct cr_lowering *lw, struct cr_tiles *tiles, bool *is_hidden,
                        cr_id array, const struct hidden *hidden)
{
    const struct cr_attention_backward *b = lw->backward;
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    int budget = 4 * CR_MAX_VALUES;
    cr_evaluate_begin(ev, tiles, b->dlogits, k->key, false);
    ev->score = b->scores;
    ev->score_map = &lw->root_map;
    skip_masks(ev, array, hidden->masks, hidden->n, &budget);
    *is_hidden = ev->n_visible > 0;
    ev->obstacle = b->dlogits;
    if (b->direct && !lower_hidden(lw, array, hidden))
        return false;
    tiles->result = cr_evaluate(ev, array, &lw->root_map);
    if (tiles->result < 0 || !cr_evaluate_end(ev, tiles, k->row))
        return false;
    ev->obstacle = b->dlogits;
    return ev->core_seen && is_root_map(lw, &ev->core_map, b->dlogits);
}

/* Lowers the program of the index by which an array is scattered, and adds the atom of the table's
 * rows.  The index has the first two axes of the scatter's operand. */
static bool lower_index(struct cr_lowering *lw, cr_id scatter)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *turned = &lw->g->nodes[cr_in(lw->g, scatter, 0)];
    struct cr_map map = {0};
    for (int i = 0; i < 2; i++)
        map.axis[i] = lw->root_map.axis[turned->index[i]];
    struct cr_tiles *index = &k->attention_backward.index;
    cr_evaluate_begin(ev, index, CR_NONE, k->key, false);
    index->result = cr_evaluate(ev, cr_in(lw->g, scatter, 1), &map);
    return index->result >= 0 && cr_evaluate_end(ev, index, k->row) &&
           cr_new_atom(ev, lw->g->nodes[scatter].shape[0], 0, &k->attention_backward.bucket);
}

/* Lowers the programs of T and of all other arrays; ev->visible has the masks of the scores. */
static bool lower_arrays(struct cr_lowering *lw, const struct cr_attention_backward *b)
{
    struct hidden hidden = {.n = lw->ev.n_visible};
    memcpy(hidden.masks, lw->ev.visible, sizeof hidden.masks);
    struct cr_kernel_attention_backward *own = &lw->k->attention_backward;
    if (!lower_array(lw, &lw->k->program, &own->scores_hidden, b->dscores, &hidden))
        return false;
    own->n_arrays = b->n_arrays;
    for (int i = 0; i < b->n_arrays; i++) {
        own->arrays[i] = b->arrays[i].kind;
        if (b->arrays[i].kind == CR_OF_SINK)
            continue;
        if (!lower_array(lw, &own->array[i], &own->hidden[i], b->arrays[i].array, &hidden) ||
            (b->arrays[i].kind == CR_SCATTERED && !lower_index(lw, b->arrays[i].result)))
            return false;
    }
    return true;
}

/* Lowers the address of element [i, j] of an operand, a matrix for each (batch, head). */
static bool lower_matrix(struct cr_lowering *lw, cr_id id, int i, int j, struct cr_operand *operand)
{
    struct cr_map map = lw->root_map;
    int rank = lw->g->nodes[id].rank;
    map.axis[rank - 2] = cr_affine_atom(i);
    map.axis[rank - 1] = cr_affine_atom(j);
    return cr_evaluate_operand(&lw->ev, id, &map, operand);
}

/* If `id` is a view of `product`, changes *map, the map of the product, to the map of `id` and
 * returns true. */
static bool map_up(const struct cr_lowering *lw, cr_id id, cr_id product, struct cr_map *map)
{
    struct cr_map below;
    if (id == product)
        return true;
    if (cr_kind_of(lw->g, id) != CR_KIND_MOVE || !map_up(lw, cr_in(lw->g, id, 0), product, map))
        return false;
    below = *map;
    return cr_map_result(lw->g, id, &lw->k->atoms, &below, map) == CR_MAP_OK;
}

/* Sets *dest to the address, in the concat that is the kernel's root, of the element of `node` at
 * the map `at`.  Returns false if `node` is not a part of the concat, or if its stride along atom j
 * is not 1. */
static bool lower_part(struct cr_lowering *lw, cr_id node, const struct cr_map *at, int j,
                       struct cr_affine *dest)
{
    const struct cr_node *root = &lw->g->nodes[lw->k->root];
    int64_t start = 0;
    for (int p = 0; p < root->n_in; p++) {
        cr_id part = cr_in(lw->g, lw->k->root, p);
        struct cr_map map = *at;
        if (map_up(lw, part, node, &map)) {
            map.axis[root->axis].base += start;
            *dest = cr_map_linear(&map, root->rank, root->shape);
            return j < 0 || dest->coef[j] == 1;
        }
        start += lw->g->nodes[part].shape[root->axis];
    }
    return false;
}

/* Returns the map of element [i, j] of a matrix; batch axes of size 1 are broadcast. */
static struct cr_map map_of_matrix(const struct cr_lowering *lw, cr_id id, int i, int j)
{
    const struct cr_node *node = &lw->g->nodes[id];
    struct cr_map map = lw->root_map;
    map.axis[node->rank - 2] = cr_affine_atom(i);
    map.axis[node->rank - 1] = cr_affine_atom(j);
    for (int axis = 0; axis < node->rank; axis++)
        if (node->shape[axis] == 1)
            map.axis[axis] = cr_affine_atom(CR_NO_ATOM);
    return map;
}

/* Lowers the address of result i at the map `at` of node `of`.  If the result is stored as a node
 * of its own, rather than as a part of a concat, adds this node to those that the kernel stores.
 * Returns false if the stride along atom j is not 1. */
static bool lower_result(struct cr_lowering *lw, int i, cr_id of, const struct cr_map *at, int j)
{
    struct cr_kernel *k = lw->k;
    const struct cr_node *node = &lw->g->nodes[of];
    cr_id id = cr_gradient_at(lw->backward, i);
    if (!cr_is_own_node(lw->backward, i))
        return lower_part(lw, of, at, j, &k->results[i]);
    k->stored_in[i] = id == k->root ? 0 : k->n_stored++;
    k->stored[k->stored_in[i]] = id;
    k->results[i] = cr_map_linear(at, node->rank, node->shape);
    return j < 0 || k->results[i].coef[j] == 1;
}

/* Lowers the address of element [i, j] of result `result`. */
static bool lower_matrix_result(struct cr_lowering *lw, int result, int i, int j)
{
    cr_id id = cr_gradient_at(lw->backward, result);
    if (cr_is_own_node(lw->backward, result) && lw->g->nodes[id].op == CR_OP_reshape)
        id = cr_in(lw->g, id, 0);
    struct cr_map map = map_of_matrix(lw, id, i, j);
    return lower_result(lw, result, id, &map, j);
}

/* Lowers the address of a row of the table that result i is scattered to. */
static bool lower_table(struct cr_lowering *lw, int i)
{
    cr_id id = cr_gradient_at(lw->backward, i);
    int rank = lw->g->nodes[id].rank;
    struct cr_map map = {0};
    map.axis[0] = cr_affine_atom(lw->k->attention_backward.bucket);
    for (int axis = 1; axis < rank; axis++)
        map.axis[axis] = lw->root_map.axis[axis - 1];
    return lower_result(lw, i, id, &map, CR_NO_ATOM);
}

/* Lowers the addresses of all results.  A whole array whose address does not depend on an outer
 * loop is summed along that loop, which is then marked as serial. */
static bool lower_results(struct cr_lowering *lw, const struct cr_attention_backward *b)
{
    struct cr_kernel *k = lw->k;
    if (!lower_matrix_result(lw, 0, k->row, k->k) || !lower_matrix_result(lw, 1, k->key, k->k) ||
        !lower_matrix_result(lw, 2, k->key, k->col))
        return false;
    for (int i = 0; i < b->n_arrays; i++) {
        bool keys = b->arrays[i].kind == CR_SUM_OVER_KEYS || b->arrays[i].kind == CR_OF_SINK;
        if (!(b->arrays[i].kind == CR_SCATTERED
                  ? lower_table(lw, 3 + i)
                  : lower_matrix_result(lw, 3 + i, k->row, keys ? CR_NO_ATOM : k->key)))
            return false;
        for (int o = 0; b->arrays[i].kind == CR_WHOLE_ARRAY && o < k->n_outer; o++)
            if (!k->results[CR_OF_ARRAY + i].coef[k->outer[o]])
                k->attention_backward.serial |= 1u << k->outer[o];
    }
    return true;
}

/* Adds the atoms of one (batch, head): queries, keys, the columns of keys, and the columns of
 * values. */
static bool lower_backward_atoms(struct cr_lowering *lw, const struct cr_attention_backward *b)
{
    struct cr_kernel *k = lw->k;
    const struct cr_node *probs = &lw->g->nodes[b->probs];
    int r = probs->rank;
    k->row = cr_affine_single(&lw->root_map.axis[r - 2]);
    k->key = cr_affine_single(&lw->root_map.axis[r - 1]);
    k->attention.keys = probs->shape[r - 1];
    k->attention.K = lw->g->nodes[b->dq].shape[r - 1];
    k->attention.N = lw->g->nodes[b->dv].shape[r - 1];
    lw->ev.obstacle = b->probs;
    if ((k->row < 0 && probs->shape[r - 2] > 1) || (k->key < 0 && k->attention.keys > 1) ||
        !cr_new_atom(&lw->ev, k->attention.K, 0, &k->k) ||
        !cr_new_atom(&lw->ev, k->attention.N, 0, &k->col))
        return false;
    const int own[] = {k->row, k->key, k->k, k->col};
    for (int i = 0; i < 4; i++)
        if (own[i] >= 0)
            lw->ev.fixed |= 1u << own[i];
    return true;
}

bool cr_fits_attention_backward(const struct cr_lowering *lw)
{
    return lw->backward != NULL;
}

/* Lowers the gradients of an attention.  The outer loops run over the batch axes of the
 * probabilities; every operand is a matrix over two of the other atoms. */
bool cr_lower_attention_backward(struct cr_lowering *lw)
{
    const struct cr_attention_backward *b = lw->backward;
    struct cr_kernel *k = lw->k;
    const struct cr_attention attention = {.output = CR_NONE,
                                           .dropped = b->dropped,
                                           .probs = b->probs,
                                           .logits = b->logits,
                                           .scores = b->scores,
                                           .sink = b->sink,
                                           .direct = b->direct};
    const struct cr_graph *g = lw->g;
    struct cr_map scores;
    k->attention_backward.bucket = CR_NO_ATOM;
    k->attention.direct = b->direct;
    if (!lower_backward_atoms(lw, b) || !lower_dropout(lw, &attention, &lw->root_map) ||
        !lower_sink(lw, &attention, &lw->root_map) ||
        !lower_scores(lw, &attention, &lw->root_map, &scores) ||
        !is_root_map(lw, &scores, b->probs) || !lower_arrays(lw, b) ||
        !lower_matrix(lw, cr_in(g, b->scores, 0), k->row, k->k, &k->attention.query) ||
        !lower_matrix(lw, cr_in(g, b->scores, 1), k->k, k->key, &k->attention.key) ||
        !lower_matrix(lw, cr_in(g, b->ddropped, 0), k->row, k->col, &k->attention_backward.grad) ||
        !lower_matrix(lw, cr_in(g, b->ddropped, 1), k->col, k->key, &k->attention.value) ||
        (!b->direct &&
         !lower_matrix(lw, b->delta, k->row, CR_NO_ATOM, &k->attention_backward.delta)))
        return false;
    lw->ev.obstacle = CR_NONE;
    cr_assign_outer(lw);
    return lower_results(lw, b);
}

/* ---- number of operations ---- */

/* Returns the last key at or before an upper edge or, if not `last`, the first key at or after a
 * lower edge, for the query of row `row`. */
static int64_t edge_at(const struct cr_edge *edge, int64_t row, bool last)
{
    int64_t at = edge->moves ? row + edge->offset : edge->at;
    bool farther = edge->stays && (last ? edge->at > at : edge->at < at);
    return farther ? edge->at : at;
}

/* Returns the number of keys that the query of row `row` sees. */
static int64_t keys_of_row(const struct cr_kernel *k, int64_t row)
{
    int64_t begin = 0, end = k->attention.keys, between = 0;
    if (k->attention.n_shifts) /* the shift is known only at run time: assume the last possible
                                  position */
        row += k->attention.keys - cr_extent(k, k->row);
    for (int i = 0; i < k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &k->attention.bounds[i];
        bool first = cr_has_edge(&bound->first), last = cr_has_edge(&bound->last);
        int64_t from = first ? edge_at(&bound->first, row, false) : k->attention.keys;
        int64_t to = last ? edge_at(&bound->last, row, true) + 1 : 0;
        if (first && last)
            between += from > to ? from - to : 0;
        else if (first && from > begin)
            begin = from;
        else if (!first && to < end)
            end = to;
    }
    return end - begin > between ? end - begin - between : 0;
}

/* Returns the sum, over the queries of one (batch, head), of the numbers of keys that they see. */
static double visible_keys(const struct cr_kernel *k)
{
    double sum = 0;
    for (int64_t row = 0; row < cr_extent(k, k->row); row++)
        sum += (double)keys_of_row(k, row);
    return sum;
}

/* Counts the operations of two products of all queries with the keys that they see. */
double cr_flops_attention(const struct cr_kernel *k, double elements)
{
    double heads = elements / (double)(cr_extent(k, k->row) * k->attention.N);
    return 2 * heads * visible_keys(k) * (double)(k->attention.K + k->attention.N);
}

/* Counts the operations of five such products, because the scores are computed again. */
double cr_flops_attention_backward(const struct cr_kernel *k, double elements)
{
    double heads = 1;
    (void)elements;
    for (int i = 0; i < k->n_outer; i++)
        heads *= (double)k->atoms.extent[k->outer[i]];
    return 2 * heads * visible_keys(k) * (double)(3 * k->attention.K + 2 * k->attention.N);
}
