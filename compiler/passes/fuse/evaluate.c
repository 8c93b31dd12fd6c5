#include "evaluate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/weights/weights.h"

static int stop_at(struct cr_evaluate *ev, cr_id id)
{
    ev->obstacle = id;
    return -1;
}

/* Appends a piece of the columns: `size` columns that begin at column `start`, `step` columns
 * apart. */
static void add_piece(struct cr_evaluate *ev, int64_t start, int64_t step, int64_t size)
{
    struct cr_row_parts *pieces = &ev->pieces;
    if (pieces->n < CR_MAX_PARTS) {
        ev->piece_size[pieces->n] = size;
        pieces->items[pieces->n].start = start;
        pieces->items[pieces->n].step = step;
    }
    pieces->n++; /* if n > CR_MAX_PARTS, there are too many pieces */
}

/* Adds a piece for each operand of a concat along the column axis. */
static void cut_at_borders(struct cr_evaluate *ev, cr_id concat, const struct cr_affine *at)
{
    const struct cr_node *node = &ev->g->nodes[concat];
    struct cr_affine rest = *at;
    int64_t begin = -at->base, extent = cr_extent(ev->kernel, ev->col);
    if (ev->col < 0 || at->coef[ev->col] != 1)
        return;
    rest.coef[ev->col] = rest.base = 0;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (rest.coef[a])
            return;
    for (int i = 0; i < node->n_in; i++) {
        int64_t end = begin + ev->g->nodes[cr_in(ev->g, concat, i)].shape[node->axis];
        int64_t from = begin < 0 ? 0 : begin, to = end > extent ? extent : end;
        if (from < to)
            add_piece(ev, from, 1, to - from);
        begin = end;
    }
}

/* Adds the pieces of columns that a reshape splits into (extent / low) x low.  One of the two
 * factors must be at most CR_MAX_PARTS. */
static void cut_at_reshape(struct cr_evaluate *ev, const struct cr_split *split)
{
    if (split->atom != ev->col || ev->col < 0)
        return;
    int64_t low = split->low, high = cr_extent(ev->kernel, ev->col) / low;
    for (int64_t i = 0; i < low && low <= CR_MAX_PARTS; i++)
        add_piece(ev, i, low, high);
    for (int64_t i = 0; i < high && low > CR_MAX_PARTS && high <= CR_MAX_PARTS; i++)
        add_piece(ev, i * low, 1, low);
}

void cr_evaluate_again(struct cr_evaluate *ev, struct cr_tiles *tiles, int n_refs)
{
    free(tiles->values);
    tiles->values = NULL;
    tiles->n = 0;
    ev->kernel->n_refs = n_refs;
}

void cr_evaluate_begin(struct cr_evaluate *ev, struct cr_tiles *tiles, cr_id core, int col,
                       bool may_reduce)
{
    ev->tiles = tiles;
    tiles->values = NULL;
    tiles->n = ev->capacity = 0;
    tiles->result = -1;
    tiles->n_more = 0;
    ev->core = core;
    ev->core_seen = false;
    ev->score = CR_NONE;
    ev->col = col;
    ev->may_reduce = may_reduce;
    ev->n_visible = 0;
    ev->pieces.n = 0;
    ev->rows = NULL;
}

bool cr_new_atom(struct cr_evaluate *ev, int64_t extent, int length, int *atom)
{
    struct cr_atoms *atoms = &ev->kernel->atoms;
    *atom = CR_NO_ATOM;
    if (extent == 1)
        return true;
    if (atoms->n == CR_MAX_ATOMS)
        return false;
    *atom = atoms->n++;
    atoms->extent[*atom] = extent;
    atoms->length[*atom] = length;
    return true;
}

bool cr_is_stored(const struct cr_evaluate *ev, cr_id id)
{
    if (ev->g->nodes[id].name || cr_is_joined(ev->g, id))
        return true;
    bool stored = ev->module->materialised[id];
    return stored && (id != ev->kernel->root || ev->kernel->buffer != id);
}

static bool equal_maps(const struct cr_map *a, const struct cr_map *b, int rank)
{
    return memcmp(a->axis, b->axis, (size_t)rank * sizeof *a->axis) == 0;
}

static int find(const struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    for (int i = 0; i < ev->tiles->n; i++)
        if (ev->tiles->values[i].node == id && equal_maps(&ev->maps[i], map, ev->g->nodes[id].rank))
            return i;
    return -1;
}

/* Returns the node whose value needs the most ops.  The caller stores this node if a program is too
 * long or reads too many tensors. */
static cr_id largest_part(const struct cr_evaluate *ev)
{
    int size[CR_MAX_VALUES], largest = 0;
    cr_id part = ev->kernel->root;
    for (int i = 0; i < ev->tiles->n; i++) {
        const struct cr_value *value = &ev->tiles->values[i];
        bool computes = value->source == CR_MAP || value->source == CR_REDUCE;
        int arity = computes ? cr_value_args(value) : 0;
        size[i] = arity > 0;
        for (int a = 0; a < arity; a++)
            size[i] += size[value->arg[a]];
        if (size[i] > CR_MAX_VALUES)
            size[i] = CR_MAX_VALUES; /* a value with several users counts once for each */
        if (size[i] > largest) {
            largest = size[i];
            part = value->node;
        }
    }
    return part;
}

static int push(struct cr_evaluate *ev, const struct cr_value *value, const struct cr_map *map)
{
    if (ev->tiles->n == CR_MAX_VALUES)
        return stop_at(ev, largest_part(ev));
    memcpy(ev->maps[ev->tiles->n].axis, map->axis,
           (size_t)ev->g->nodes[value->node].rank * sizeof *map->axis);
    *CR_PUSH(ev->tiles->values, ev->tiles->n, ev->capacity) = *value;
    return ev->tiles->n - 1;
}

int cr_add_ref(struct cr_kernel *k, cr_id id)
{
    for (int i = 0; i < k->n_refs; i++)
        if (k->refs[i] == id)
            return i;
    if (k->n_refs == CR_MAX_REFS)
        return -1;
    k->refs[k->n_refs] = id;
    return k->n_refs++;
}

/* Appends a load of a node's element from `stored`: the node itself, or a node with the same
 * elements that it reshapes. */
static int load(struct cr_evaluate *ev, cr_id id, cr_id stored, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    struct cr_value value = {.source = CR_LOAD, .node = id, .ref = cr_add_ref(ev->kernel, stored)};
    if (value.ref < 0)
        return stop_at(ev, largest_part(ev));
    value.at = cr_map_linear(map, node->rank, node->shape);
    return push(ev, &value, map);
}

/* Maps an element of a movement op to an element of its operand.  If that is impossible, returns
 * false and sets the atom to split or the node to store in `ev`. */
static bool move(struct cr_evaluate *ev, cr_id id, const struct cr_map *map, struct cr_map *operand)
{
    switch (cr_map_operand(ev->g, id, &ev->kernel->atoms, map, operand, &ev->split)) {
    case CR_MAP_OK:
        return true;
    case CR_MAP_SPLIT:
        cut_at_reshape(ev, &ev->split);
        ev->wants_split = !(ev->fixed >> ev->split.atom & 1);
        /* fall through */
    default:
        ev->obstacle = id;
        return false;
    }
}

/*
 * Returns the stored node that this node reshapes, or CR_NONE.  Both have the same elements in the
 * same order.  So the kernel can read the stored node even if an atom runs across several of its
 * axes and cannot be split, as in a sum over all tokens of a batch.
 */
static cr_id stored_in_order(const struct cr_evaluate *ev, cr_id id)
{
    while (ev->g->nodes[id].op == CR_OP_reshape && !cr_is_stored(ev, id))
        id = cr_in(ev->g, id, 0);
    return !ev->wants_split && cr_is_stored(ev, id) ? id : CR_NONE;
}

static int evaluate_move(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    struct cr_map operand;
    int n_pieces = ev->pieces.n;
    if (move(ev, id, map, &operand))
        return cr_evaluate(ev, cr_in(ev->g, id, 0), &operand);
    cr_id stored = stored_in_order(ev, id);
    if (stored == CR_NONE)
        return -1;
    ev->pieces.n = n_pieces; /* the reshape does not matter, as its stored operand is read */
    return load(ev, id, stored, map);
}

static int evaluate_core(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    if (ev->core_seen) /* the core is needed at two different maps, so it has to be stored */
        return stop_at(ev, id);
    ev->core_seen = true;
    ev->core_map = *map;
    return push(ev, &(struct cr_value){.source = CR_CORE, .node = id}, map);
}

/* Appends CR_SCORE, the product of queries and keys.  Fails unless `map` equals ev->score_map, the
 * only index at which the kernel computes that product. */
static int evaluate_score(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    if (!equal_maps(map, ev->score_map, ev->g->nodes[id].rank))
        return stop_at(ev, id);
    return push(ev, &(struct cr_value){.source = CR_SCORE, .node = id}, map);
}

/* Returns an earlier iota with the same index, or -1.  Iotas of different shapes may count along
 * the same loop. */
static int find_iota(const struct cr_evaluate *ev, const struct cr_affine *at)
{
    for (int i = 0; i < ev->tiles->n; i++) {
        const struct cr_value *value = &ev->tiles->values[i];
        if (value->source == CR_IOTA && memcmp(&value->at, at, sizeof *at) == 0)
            return i;
    }
    return -1;
}

/* Appends a constant or an iota.  Reuses an earlier iota with the same index. */
static int evaluate_leaf(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    struct cr_value value = {.source = CR_CONST, .node = id, .number = node->value};
    if (node->op == CR_OP_iota) {
        int same = find_iota(ev, &map->axis[node->axis]);
        if (same >= 0)
            return same;
        value.source = CR_IOTA;
        value.at = map->axis[node->axis];
    }
    return push(ev, &value, map);
}

/* If node `id` is a `where` whose condition is assumed never to mask, returns the number of the
 * chosen operand, 1 or 2.  Returns 0 for any other node. */
static int chosen_operand(const struct cr_evaluate *ev, cr_id id)
{
    for (int i = 0; i < ev->n_visible; i++)
        if (ev->visible[i].where == id)
            return ev->visible[i].operand;
    return 0;
}

/* Evaluates the operands of an elementwise op at the same map.  If the outcome of a `where` is
 * known, evaluates only the chosen operand. */
static int evaluate_map(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    struct cr_value value = {.source = CR_MAP, .node = id, .op = node->op};
    int chosen = chosen_operand(ev, id);
    if (chosen)
        return cr_evaluate(ev, cr_in(ev->g, id, chosen), map);
    for (int i = 0; i < node->n_in; i++) {
        value.arg[i] = cr_evaluate(ev, cr_in(ev->g, id, i), map);
        if (value.arg[i] < 0)
            return -1;
    }
    return push(ev, &value, map);
}

static bool depends_on(const struct cr_map *map, int rank, int atom)
{
    for (int i = 0; i < rank; i++)
        if (map->axis[i].coef[atom])
            return true;
    return false;
}

/*
 * Chooses the column atom at the first reduction: the last axis of the root, if it has that extent
 * and length and the map does not depend on it; else a new atom.
 */
static bool choose_col(struct cr_evaluate *ev, const struct cr_map *map, int rank, int64_t extent,
                       int length)
{
    struct cr_kernel *k = ev->kernel;
    int last = k->atoms.n - 1;
    if (last >= 0 && k->atoms.extent[last] == extent && k->atoms.length[last] == length &&
        !depends_on(map, rank, last))
        ev->col = last;
    else if (!cr_new_atom(ev, extent, length, &ev->col))
        return false;
    ev->fixed |= 1u << ev->col;
    return true;
}

/* True if the map does not depend on every loop: then some loop would compute the value
 * repeatedly. */
static bool is_repeated(const struct cr_evaluate *ev, const struct cr_map *map, int rank)
{
    const struct cr_atoms *atoms = &ev->kernel->atoms;
    for (int a = 0; a < atoms->n; a++)
        if (atoms->extent[a] > 1 && !depends_on(map, rank, a))
            return true;
    return false;
}

static int push_reduction(struct cr_evaluate *ev, cr_id id, int value, const struct cr_map *map)
{
    struct cr_value reduction = {
        .source = CR_REDUCE, .node = id, .op = ev->g->nodes[id].op, .arg = {value}, .parts = 1};
    return push(ev, &reduction, map);
}

/* True if part p is columns p * extent to (p + 1) * extent - 1, for each p. */
static bool are_in_order(const struct cr_row_parts *rows, int64_t extent)
{
    for (int p = 0; p < rows->n; p++)
        if (rows->items[p].step != 1 || rows->items[p].start != p * extent)
            return false;
    return true;
}

/* True if a reduction runs over whole rows, while the program computes one part of a row.  A sum
 * adds columns in order, so it returns false for a sum over interleaved parts. */
static bool spans_parts(const struct cr_evaluate *ev, enum cr_op op, const struct cr_map *map,
                        int rank, int64_t extent)
{
    return ev->rows && ev->col >= 0 && !depends_on(map, rank, ev->col) &&
           extent == ev->rows->n * ev->kernel->atoms.extent[ev->col] &&
           (op == CR_OP_max || are_in_order(ev->rows, ev->kernel->atoms.extent[ev->col]));
}

/* Appends the reduction of whole rows over a tile of each part; the order of the sum is that of a
 * contiguous row. */
static int reduce_parts(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    struct cr_value reduction = {.source = CR_REDUCE, .node = id, .op = node->op};
    for (int p = 0; p < ev->rows->n; p++) {
        const struct cr_row_part *part = &ev->rows->items[p];
        struct cr_map operand = *map;
        operand.axis[node->axis] = (struct cr_affine){.base = part->start};
        operand.axis[node->axis].coef[ev->col] = part->step;
        int value = cr_evaluate(ev, cr_in(ev->g, id, 0), &operand);
        if (value < 0)
            return -1;
        reduction.arg[reduction.parts++] = value;
    }
    return push(ev, &reduction, map);
}

/*
 * Evaluates a reduction.  All reductions of a program run over its only column atom.  So the
 * reduced axis must have the extent and the length of that atom, and the map must not depend on the
 * atom; otherwise the node has to be stored.  A reduction over an axis of size 1 is its operand.
 */
static int evaluate_reduce(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id], *in = &ev->g->nodes[cr_in(ev->g, id, 0)];
    int64_t extent = in->shape[node->axis];
    int length = cr_length_at(ev->g, cr_in(ev->g, id, 0), node->axis);
    struct cr_map operand = *map;
    if (extent > 1) {
        if (!ev->may_reduce)
            return stop_at(ev, id);
        if (ev->col == CR_COL_UNKNOWN) {
            int before = ev->kernel->atoms.n;
            bool repeated = is_repeated(ev, map, node->rank);
            if (!choose_col(ev, map, node->rank, extent, length) ||
                (repeated && ev->kernel->atoms.n > before)) /* an existing loop would repeat the
                                                               reduction */
                return stop_at(ev, id);
        }
        if (spans_parts(ev, node->op, map, node->rank, extent))
            return reduce_parts(ev, id, map);
        if (ev->col < 0 || ev->kernel->atoms.extent[ev->col] != extent ||
            ev->kernel->atoms.length[ev->col] != length || depends_on(map, node->rank, ev->col))
            return stop_at(ev, id);
        operand.axis[node->axis] = cr_affine_atom(ev->col);
    }
    int value = cr_evaluate(ev, cr_in(ev->g, id, 0), &operand);
    if (value < 0 || extent == 1)
        return value;
    return push_reduction(ev, id, value, map);
}

int cr_evaluate_number(struct cr_evaluate *ev, double number, cr_id like)
{
    struct cr_value value = {.source = CR_CONST, .node = like, .number = number};
    return push(ev, &value, &(struct cr_map){0});
}

int cr_evaluate_reduction(struct cr_evaluate *ev, cr_id id, int value)
{
    return push_reduction(ev, id, value, &(struct cr_map){0});
}

/* Evaluates the operand of a concat that contains all elements of the map.  Fails if they lie in
 * several operands. */
static int evaluate_concat(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    const struct cr_affine *at = &map->axis[node->axis];
    int64_t least = at->base, most = at->base, start = 0;
    for (int a = 0; a < ev->kernel->atoms.n; a++) {
        int64_t way = at->coef[a] * (ev->kernel->atoms.extent[a] - 1);
        least += way < 0 ? way : 0;
        most += way > 0 ? way : 0;
    }
    for (int i = 0; i < node->n_in; i++) {
        cr_id in = cr_in(ev->g, id, i);
        int64_t size = ev->g->nodes[in].shape[node->axis];
        if (least >= start && most < start + size) {
            struct cr_map operand = *map;
            operand.axis[node->axis].base -= start;
            return cr_evaluate(ev, in, &operand);
        }
        start += size;
    }
    cut_at_borders(ev, id, at);
    return stop_at(ev, id);
}

/* Adds the value of a gather from a stored table, along one of its axes; the row's index is computed at run time. */
static int push_gathered(struct cr_evaluate *ev, cr_id id, const struct cr_map *map, cr_id stored,
                         const struct cr_map *table_map, int axis, const struct cr_map *index_map)
{
    cr_id table = cr_in(ev->g, id, 0);
    const struct cr_node *t = &ev->g->nodes[table];
    struct cr_value value = {.source = CR_GATHER, .node = id, .ref = cr_add_ref(ev->kernel, stored)};
    value.at = cr_map_linear(table_map, t->rank, t->shape);
    value.table_rows = t->shape[axis];
    value.table_length = cr_length_at(ev->g, table, axis);
    value.table_stride = cr_elements(t->rank - axis - 1, t->shape + axis + 1);
    value.arg[0] = cr_evaluate(ev, cr_in(ev->g, id, 1), index_map);
    if (value.arg[0] < 0)
        return -1;
    return value.ref < 0 ? stop_at(ev, id) : push(ev, &value, map);
}

/* Evaluates a gather of rows from a stored table, or a reshape of one. */
static int evaluate_gather(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    cr_id table = cr_in(ev->g, id, 0), index = cr_in(ev->g, id, 1);
    const struct cr_node *t = &ev->g->nodes[table];
    int index_rank = ev->g->nodes[index].rank;
    struct cr_map index_map = {0}, table_map = {0};
    cr_id stored = stored_in_order(ev, table);
    if (stored == CR_NONE)
        return stop_at(ev, table);
    memcpy(index_map.axis, map->axis, (size_t)index_rank * sizeof *map->axis);
    for (int i = 1; i < t->rank; i++)
        table_map.axis[i] = map->axis[index_rank + i - 1];
    return push_gathered(ev, id, map, stored, &table_map, 0, &index_map);
}

/* Evaluates a take from a stored tensor as a gather: the table's rows are the elements along the
 * take's axis, and the table begins at the index on the other axes. */
static int evaluate_take(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    cr_id table = cr_in(ev->g, id, 0);
    int axis = ev->g->nodes[id].axis;
    cr_id stored = stored_in_order(ev, table);
    if (stored == CR_NONE)
        return stop_at(ev, table);
    struct cr_map table_map = *map;
    table_map.axis[axis] = (struct cr_affine){0};
    return push_gathered(ev, id, map, stored, &table_map, axis, map);
}

int cr_add_stream(struct cr_kernel *k, int64_t stream)
{
    for (int i = 0; i < k->n_streams; i++)
        if (k->streams[i] == stream)
            return i;
    if (k->n_streams == CR_MAX_STREAMS)
        return -1;
    k->streams[k->n_streams] = stream;
    return k->n_streams++;
}

/* Appends random numbers; evaluates their seed, a scalar, once for all elements. */
static int evaluate_random(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    const struct cr_node *node = &ev->g->nodes[id];
    const struct cr_map start = {0};
    struct cr_value value = {.source = CR_RANDOM, .node = id};
    value.ref = cr_add_stream(ev->kernel, (int64_t)node->value);
    if (value.ref < 0)
        return stop_at(ev, id);
    value.at = cr_map_linear(map, node->rank, node->shape);
    value.arg[0] = cr_evaluate(ev, cr_in(ev->g, id, 0), &start);
    return value.arg[0] < 0 ? -1 : push(ev, &value, map);
}

int cr_evaluate(struct cr_evaluate *ev, cr_id id, const struct cr_map *map)
{
    int known = find(ev, id, map);
    if (known >= 0)
        return known;
    if (id == ev->core)
        return evaluate_core(ev, id, map);
    if (id == ev->score)
        return evaluate_score(ev, id, map);
    if (cr_is_stored(ev, id))
        return load(ev, id, id, map);
    switch (cr_kind_of(ev->g, id)) {
    case CR_KIND_LEAF:
        return evaluate_leaf(ev, id, map);
    case CR_KIND_ELEMENTWISE:
        return evaluate_map(ev, id, map);
    case CR_KIND_MOVE:
        return evaluate_move(ev, id, map);
    case CR_KIND_REDUCE:
        return evaluate_reduce(ev, id, map);
    case CR_KIND_GATHER:
        return evaluate_gather(ev, id, map);
    case CR_KIND_TAKE:
        return evaluate_take(ev, id, map);
    case CR_KIND_CONCAT:
        return evaluate_concat(ev, id, map);
    case CR_KIND_RANDOM:
        return evaluate_random(ev, id, map);
    default:
        return stop_at(ev, id);
    }
}

bool cr_evaluate_operand(struct cr_evaluate *ev, cr_id id, const struct cr_map *map,
                         struct cr_operand *operand)
{
    struct cr_map here = *map, below;
    cr_id stored = id;
    for (; !cr_is_stored(ev, stored); stored = id) {
        if (cr_kind_of(ev->g, id) != CR_KIND_MOVE) {
            ev->obstacle = id;
            return false;
        }
        if (!move(ev, id, &here, &below)) {
            stored = stored_in_order(ev, id);
            break;
        }
        here = below;
        id = cr_in(ev->g, id, 0);
    }
    if (stored == CR_NONE)
        return false;
    const struct cr_node *node = &ev->g->nodes[id];
    operand->ref = cr_add_ref(ev->kernel, stored);
    operand->at = cr_map_linear(&here, node->rank, node->shape);
    return operand->ref >= 0;
}

/* Removes the values that the result does not need, and renumbers the others. */
static void drop_unused(struct cr_tiles *tiles)
{
    bool used[CR_MAX_VALUES] = {false};
    int moved[CR_MAX_VALUES], n = 0;
    used[tiles->result] = true;
    for (int i = tiles->n - 1; i >= 0; i--)
        for (int a = 0; used[i] && a < cr_value_args(&tiles->values[i]); a++)
            used[tiles->values[i].arg[a]] = true;
    for (int i = 0; i < tiles->n; i++) {
        if (!used[i])
            continue;
        tiles->values[n] = tiles->values[i];
        for (int a = 0; a < cr_value_args(&tiles->values[n]); a++)
            tiles->values[n].arg[a] = moved[tiles->values[n].arg[a]];
        moved[i] = n++;
    }
    tiles->result = moved[tiles->result];
    tiles->n = n;
}

/* Returns the value that the result has where no mask hides it: follows each `where` with an
 * operand -inf to the other operand. */
static int visible_result(const struct cr_tiles *tiles)
{
    const struct cr_value *values = tiles->values;
    int at = tiles->result;
    while (values[at].source == CR_MAP && values[at].op == CR_OP_where) {
        const struct cr_value *b = &values[values[at].arg[1]], *c = &values[values[at].arg[2]];
        if (c->source == CR_CONST && c->number == -INFINITY)
            at = values[at].arg[1];
        else if (b->source == CR_CONST && b->number == -INFINITY)
            at = values[at].arg[2];
        else
            break;
    }
    return at;
}

/* If a value is the core multiplied by a positive finite number, returns this number and sets *core
 * to the value of the core.  Otherwise returns 0. */
static double factor_of_core(const struct cr_tiles *tiles, const struct cr_value *value, int *core)
{
    double number = 0;
    for (int i = 0; value->source == CR_MAP && i < 2; i++) {
        const struct cr_value *x = &tiles->values[value->arg[i]];
        const struct cr_value *c = &tiles->values[value->arg[1 - i]];
        if (x->source != CR_CORE || c->source != CR_CONST)
            continue;
        *core = value->arg[i];
        number = value->op == CR_OP_mul             ? c->number
                 : value->op == CR_OP_div && i == 0 ? 1 / c->number
                                                    : 0;
    }
    return number > 0 && number <= FLT_MAX ? number : 0;
}

double cr_leave_out_factor(struct cr_tiles *tiles)
{
    int at = visible_result(tiles), core = -1, uses = 0;
    double factor = factor_of_core(tiles, &tiles->values[at], &core);
    for (int i = 0; i < tiles->n; i++)
        for (int a = 0; a < cr_value_args(&tiles->values[i]); a++)
            uses += tiles->values[i].arg[a] == core || tiles->values[i].arg[a] == at;
    if (!factor || uses > 1 + (at != tiles->result))
        return 1;
    for (int i = 0; i < tiles->n; i++)
        for (int a = 0; a < cr_value_args(&tiles->values[i]); a++)
            if (tiles->values[i].arg[a] == at)
                tiles->values[i].arg[a] = core;
    if (tiles->result == at)
        tiles->result = core;
    drop_unused(tiles);
    return factor;
}

void cr_leave_out_core(struct cr_tiles *tiles)
{
    int instead[CR_MAX_VALUES] = {0}; /* by value: the value that replaces it */
    for (int i = 0; i < tiles->n; i++) {
        struct cr_value *v = &tiles->values[i];
        instead[i] = i;
        for (int a = 0; a < cr_value_args(v); a++)
            v->arg[a] = instead[v->arg[a]];
        if (v->source == CR_CORE)
            *v = (struct cr_value){.source = CR_CONST, .node = v->node, .number = 1};
        for (int a = 0; a < 2 && v->source == CR_MAP && v->op == CR_OP_mul; a++) {
            const struct cr_value *factor = &tiles->values[v->arg[a]];
            if (factor->source == CR_CONST && factor->number == 1)
                instead[i] = v->arg[1 - a];
        }
    }
    tiles->result = instead[tiles->result];
    drop_unused(tiles);
}

bool cr_can_gather(const struct cr_graph *g, const struct cr_tiles *tiles,
                   const struct cr_value *value, int64_t step)
{
    if (tiles->values[value->arg[0]].by_row)
        return step <= 1;
    return step == 0 && g->nodes[value->node].dtype != CR_I32;
}

/* True if a value is the same in all columns of a row; by_row of its arguments must be set. */
static bool by_row(const struct cr_tiles *tiles, const struct cr_value *value, int arity, int col)
{
    switch (value->source) {
    case CR_CORE:
    case CR_SCORE:
        return false;
    case CR_GATHER:
        return tiles->values[value->arg[0]].by_row && (col < 0 || value->at.coef[col] == 0);
    case CR_MAP:
        for (int i = 0; i < arity; i++)
            if (!tiles->values[value->arg[i]].by_row)
                return false;
        return true;
    case CR_LOAD:
    case CR_IOTA:
    case CR_RANDOM:
        return col < 0 || value->at.coef[col] == 0;
    default:
        return true;
    }
}

bool cr_evaluate_end(struct cr_evaluate *ev, struct cr_tiles *tiles, int col)
{
    for (int i = 0; i < tiles->n; i++) {
        struct cr_value *value = &tiles->values[i];
        int arity = value->source == CR_MAP ? cr_ops[value->op].arity : 0;
        value->by_row = by_row(tiles, value, arity, col);
        if (value->source == CR_GATHER &&
            !cr_can_gather(ev->g, tiles, value, col < 0 ? 0 : value->at.coef[col])) {
            ev->obstacle = value->node;
            return false;
        }
    }
    tiles->values = cr_trim(tiles->values, tiles->n, sizeof *tiles->values);
    return true;
}
