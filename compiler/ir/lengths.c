#include "lengths.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* What a rule sees: the lengths of a node's operands, to find its own. */
struct finder {
    const struct cr_graph *g;
    const signed char (*of)[CR_MAX_RANK];
    const struct cr_node *node;
    const cr_id *in;
    signed char *found; /* of the node */
    const char *path;
    struct cr_error *error;
};

static int fail_at(const struct finder *f, const char *what, int axis)
{
    const struct cr_where *where = &f->node->where;
    int length = 0;
    for (int i = 0; i < f->node->n_in; i++)
        for (int a = 0; a < CR_MAX_RANK && !length; a++)
            length = f->of[f->in[i]][a];
    return cr_fail(f->error, "%.400s:%d: %s: %s length %s (axis %d), expected it to stay an axis "
                   "of its own and whole", *where->file ? where->file : f->path, where->line,
                   cr_ops[f->node->op].name, what, length ? f->g->lengths[length - 1].name : "",
                   axis + 1);
}

/* What two axes of one size give where they meet. */
static int meet(const struct finder *f, int axis, int a, int b, signed char *result)
{
    const struct cr_where *where = &f->node->where;
    if (a && b && a != b)
        return cr_fail(f->error, "%.400s:%d: %s: axis %d is the length %s and the length %s, "
                       "expected one", *where->file ? where->file : f->path, where->line,
                       cr_ops[f->node->op].name, axis + 1, f->g->lengths[a - 1].name,
                       f->g->lengths[b - 1].name);
    *result = (signed char)(a ? a : b);
    return 0;
}

static const signed char *of_operand(const struct finder *f, int i)
{
    return f->of[f->in[i]];
}

/* ---- a rule for each kind of op ---- */

/* The length that the node's index names for an axis.  One whose bound is 1 is the number 1:
 * its axis may be broadcast. */
static signed char marked(const struct finder *f, int axis)
{
    int64_t mark = f->node->index[axis];
    return (signed char)(mark && f->g->lengths[mark - 1].bound > 1 ? mark : 0);
}

static int find_leaf(struct finder *f)
{
    enum cr_op op = f->node->op;
    bool marks = op == CR_OP_input || op == CR_OP_const || op == CR_OP_iota;
    for (int i = 0; marks && i < f->node->rank; i++)
        f->found[i] = marked(f, i);
    return 0;
}

/* All operands alike; of a concat, but for its axis. */
static int find_meeting(struct finder *f)
{
    bool concat = f->node->op == CR_OP_concat;
    for (int i = 0; i < f->node->n_in; i++) {
        const signed char *in = of_operand(f, i);
        for (int a = 0; a < f->node->rank; a++) {
            if (concat && a == f->node->axis && in[a])
                return fail_at(f, "found along the", a);
            if (meet(f, a, f->found[a], in[a], &f->found[a]))
                return -1;
        }
    }
    return 0;
}

static int find_reduce(struct finder *f)
{
    memcpy(f->found, of_operand(f, 0), CR_MAX_RANK);
    f->found[f->node->axis] = 0;
    return 0;
}

static int find_contract(struct finder *f)
{
    const signed char *x = of_operand(f, 0), *y = of_operand(f, 1);
    int r = f->node->rank;
    signed char inner;
    for (int a = 0; a < r - 2; a++)
        if (meet(f, a, x[a], y[a], &f->found[a]))
            return -1;
    f->found[r - 2] = x[r - 2];
    f->found[r - 1] = y[r - 1];
    return meet(f, r - 1, x[r - 1], y[r - 2], &inner);
}

/* Elements of the axes behind one. */
static int64_t behind(const struct cr_node *node, int axis)
{
    return cr_elements(node->rank - axis - 1, node->shape + axis + 1);
}

/* A length stays an axis if one of the result has its size and as many elements behind it.  There is one such
 * axis at most, as the bound is at least 2; see `marked`. */
static int find_reshape(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]];
    const signed char *from = of_operand(f, 0);
    for (int a = 0; a < in->rank; a++) {
        int to = 0;
        if (!from[a])
            continue;
        while (to < f->node->rank && (f->node->shape[to] != in->shape[a] ||
                                      behind(f->node, to) != behind(in, a)))
            to++;
        if (to == f->node->rank)
            return fail_at(f, "cannot merge or cut the", a);
        f->found[to] = from[a];
    }
    return 0;
}

static int find_slice(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]];
    const signed char *from = of_operand(f, 0);
    for (int a = 0; a < in->rank; a++) {
        if (from[a] && f->node->shape[a] != in->shape[a])
            return fail_at(f, "found a part of the", a);
        f->found[a] = from[a];
    }
    return 0;
}

/* The lengths of the operand, and its own. */
static int find_limit(struct finder *f)
{
    for (int a = 0; a < f->node->rank; a++)
        if (meet(f, a, of_operand(f, 0)[a], marked(f, a), &f->found[a]))
            return -1;
    return 0;
}

/* The lengths of the operand, whose axes are the last ones, and the node's own. */
static int find_expand(struct finder *f)
{
    int more = f->node->rank - f->g->nodes[f->in[0]].rank;
    for (int a = 0; a < f->node->rank; a++)
        if (meet(f, a, a < more ? 0 : of_operand(f, 0)[a - more], marked(f, a), &f->found[a]))
            return -1;
    return 0;
}

/* A view has the lengths of what it shows, where the axes went. */
static int find_move(struct finder *f)
{
    const struct cr_node *node = f->node;
    const signed char *from = of_operand(f, 0);
    signed char *to = f->found;
    switch (node->op) {
    case CR_OP_reshape:
        return find_reshape(f);
    case CR_OP_slice:
        return find_slice(f);
    case CR_OP_limit:
        return find_limit(f);
    case CR_OP_expand:
        return find_expand(f);
    case CR_OP_permute:
        for (int a = 0; a < node->rank; a++)
            to[a] = from[node->index[a]];
        return 0;
    default: /* detach */
        memcpy(to, from, CR_MAX_RANK);
        return 0;
    }
}

/* Rows of a table, of as many as the length says if that is what its rows are. */
static int find_gather(struct finder *f)
{
    const signed char *table = of_operand(f, 0), *index = of_operand(f, 1);
    int r = f->g->nodes[f->in[1]].rank;
    memcpy(f->found, index, (size_t)r);
    memcpy(f->found + r, table + 1, (size_t)(f->node->rank - r));
    return 0;
}

static int find_scatter(struct finder *f)
{
    for (int i = 0; i < f->node->n_in; i++)
        for (int a = 0; a < CR_MAX_RANK; a++)
            if (of_operand(f, i)[a])
                return fail_at(f, "cannot add up rows along the", a);
    return 0;
}

/* Sums run to the length of their axis; what lies before and behind is one axis of the kernel
 * each. */
static int find_scan(struct finder *f)
{
    int axis = f->node->axis;
    for (int a = 0; a < f->node->rank; a++)
        if (of_operand(f, 0)[a] && a != axis)
            return fail_at(f, "cannot run beside the", a);
    f->found[axis] = of_operand(f, 0)[axis];
    return 0;
}

/* The axis is that of what is written over; rows may be of a length. */
static int find_write(struct finder *f)
{
    const signed char *a = of_operand(f, 0), *rows = of_operand(f, 1);
    int axis = f->node->axis;
    if (a[axis])
        return fail_at(f, "found rows written along the", axis);
    for (int i = 0; i < f->node->rank; i++)
        if (i != axis && meet(f, i, a[i], rows[i], &f->found[i]))
            return -1;
    return 0;
}

static int find_random(struct finder *f)
{
    (void)f;
    return 0;
}

static int (*const find[])(struct finder *) = {
    [CR_KIND_LEAF] = find_leaf,         [CR_KIND_ELEMENTWISE] = find_meeting,
    [CR_KIND_REDUCE] = find_reduce,     [CR_KIND_CONTRACT] = find_contract,
    [CR_KIND_MOVE] = find_move,         [CR_KIND_CONCAT] = find_meeting,
    [CR_KIND_GATHER] = find_gather,     [CR_KIND_SCATTER] = find_scatter,
    [CR_KIND_WRITE] = find_write,       [CR_KIND_RANDOM] = find_random,
    [CR_KIND_SCAN] = find_scan,
};

/* A state is whole after each run. */
static int check_states(const struct cr_lengths *lengths, const struct cr_graph *g,
                        const char *path, struct cr_error *error)
{
    for (int i = cr_n_results(g); i < g->n_outputs; i++) {
        const struct cr_node *value = &g->nodes[g->outputs[i].id];
        for (int a = 0; a < value->rank; a++)
            if (cr_length_at(lengths, g->outputs[i].id, a))
                return cr_fail(error, "%.400s:%d: replace: axis %d of what state %.100s is to "
                               "hold is the length %s, expected it to be known",
                               *value->where.file ? value->where.file : path, value->where.line,
                               a + 1, g->outputs[i].name,
                               g->lengths[cr_length_at(lengths, g->outputs[i].id, a) - 1].name);
    }
    return 0;
}

int cr_lengths_of_node(const struct cr_lengths *lengths, const struct cr_graph *g,
                       const struct cr_node *node, const cr_id *in, const char *path,
                       signed char *found, struct cr_error *error)
{
    struct finder f = {.g = g,
                       .of = (const signed char(*)[CR_MAX_RANK])lengths->of,
                       .node = node,
                       .in = in,
                       .found = found,
                       .path = path,
                       .error = error};
    memset(found, 0, CR_MAX_RANK);
    return find[cr_ops[node->op].kind](&f);
}

int cr_lengths_find(struct cr_lengths *lengths, const struct cr_graph *g, const char *path,
                    struct cr_error *error)
{
    *lengths = (struct cr_lengths){0};
    if (!g->n_lengths)
        return 0;
    lengths->of = cr_calloc((size_t)g->n_nodes, sizeof *lengths->of);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_lengths_of_node(lengths, g, &g->nodes[id], cr_inputs(g, &g->nodes[id]), path,
                               lengths->of[id], error)) {
            cr_lengths_free(lengths);
            return -1;
        }
    if (check_states(lengths, g, path, error)) {
        cr_lengths_free(lengths);
        return -1;
    }
    return 0;
}

void cr_lengths_free(struct cr_lengths *lengths)
{
    free(lengths->of);
    *lengths = (struct cr_lengths){0};
}

/* ---- fixed ---- */

struct fixing {
    const struct cr_graph *from;
    struct cr_graph *to;
    const struct cr_lengths *lengths;
    const int64_t *values;
    cr_id *map;
};

/* The size of an axis: the value of its length, if it is one. */
static int64_t fixed_size(const struct fixing *f, cr_id id, int axis)
{
    int length = cr_length_at(f->lengths, id, axis);
    return length ? f->values[length - 1] : f->from->nodes[id].shape[axis];
}

/* A node of `to`, cut to the sizes that are wanted; those are no larger.  What is repeated is repeated less
 * often, so that passes find it as in a model of those sizes. */
static cr_id cut_to(struct fixing *f, cr_id id, const int64_t *sizes)
{
    struct cr_attr attr = {.rank = f->to->nodes[id].rank};
    bool same = true;
    for (int a = 0; a < attr.rank; a++) {
        attr.shape[a] = sizes[a];
        same &= sizes[a] == f->to->nodes[id].shape[a];
    }
    if (same || f->to->nodes[id].op != CR_OP_expand)
        return same ? id : cr_must(f->to, CR_OP_slice, 1, &id, &attr);
    cr_id in = cr_in(f->to, id, 0);
    int64_t inner[CR_MAX_RANK];
    for (int a = 0, rank = f->to->nodes[in].rank; a < rank; a++)
        inner[a] = f->to->nodes[in].shape[a] == 1 ? 1 : sizes[attr.rank - rank + a];
    in = cut_to(f, in, inner);
    return cr_must(f->to, CR_OP_expand, 1, &in, &attr);
}

/* Operand i, cut where it meets a length of the node or of another operand. */
static cr_id fixed_operand(struct fixing *f, cr_id id, int i)
{
    cr_id in = f->map[cr_in(f->from, id, i)];
    const struct cr_node *node = &f->from->nodes[id];
    enum cr_kind kind = cr_kind_of(f->from, id);
    int64_t sizes[CR_MAX_RANK];
    int r = f->to->nodes[in].rank;
    memcpy(sizes, f->to->nodes[in].shape, sizeof sizes);
    if (kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_CONCAT)
        for (int a = 0; a < r; a++)
            sizes[a] = kind == CR_KIND_CONCAT && a == node->axis ? sizes[a] : fixed_size(f, id, a);
    if (node->op == CR_OP_expand)
        for (int a = 0; a < r; a++)
            sizes[a] = sizes[a] == 1 ? 1 : fixed_size(f, id, node->rank - r + a);
    if (kind == CR_KIND_WRITE && i < 2)
        for (int a = 0; a < r; a++)
            sizes[a] = a == node->axis ? sizes[a] : fixed_size(f, id, a);
    if (kind == CR_KIND_CONTRACT) {
        int inner = i == 0 ? r - 1 : r - 2;
        const struct cr_node *other = &f->to->nodes[f->map[cr_in(f->from, id, 1 - i)]];
        int64_t size = other->shape[i == 0 ? r - 2 : r - 1];
        for (int a = 0; a < r - 2; a++)
            sizes[a] = fixed_size(f, id, a);
        sizes[inner] = size < sizes[inner] ? size : sizes[inner];
    }
    return cut_to(f, in, sizes);
}

/* The same op on operands cut to size, with its own sizes fixed. */
static cr_id fix_node(struct fixing *f, cr_id id)
{
    const struct cr_node *node = &f->from->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    cr_id in[CR_MAX_RANK], *many = in;
    if (node->n_in > CR_MAX_RANK)
        many = cr_calloc((size_t)node->n_in, sizeof *many);
    for (int i = 0; i < node->n_in; i++)
        many[i] = fixed_operand(f, id, i);
    for (int a = 0; a < node->rank && node->op != CR_OP_scatter_add; a++)
        attr.shape[a] = fixed_size(f, id, a);
    if (node->op == CR_OP_input)
        memset(attr.index, 0, sizeof attr.index);
    f->to->here = node->where;
    cr_id made = node->op == CR_OP_limit
                     ? cut_to(f, many[0], attr.shape)
                     : cr_must(f->to, node->op, node->n_in, many, &attr);
    if (node->tap && !f->to->nodes[made].tap)
        f->to->nodes[made].tap = node->tap;
    if (many != in)
        free(many);
    return made;
}

struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values, cr_id *map,
                                struct cr_error *error)
{
    struct cr_lengths lengths;
    if (cr_lengths_find(&lengths, g, g->name, error))
        return NULL;
    struct fixing f = {g, cr_graph_successor(g), &lengths, values, NULL};
    f.to->n_lengths = 0;
    f.map = cr_calloc((size_t)g->n_nodes, sizeof *f.map);
    for (cr_id id = 0; id < g->n_nodes; id++)
        f.map[id] = fix_node(&f, id);
    cr_copy_outputs(f.to, g, f.map);
    if (map)
        memcpy(map, f.map, (size_t)g->n_nodes * sizeof *map);
    free(f.map);
    cr_lengths_free(&lengths);
    return f.to;
}
