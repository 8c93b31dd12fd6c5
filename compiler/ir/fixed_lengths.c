#include "fixed_lengths.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

struct fixing {
    const struct cr_graph *from;
    struct cr_graph *to;
    const int64_t *values;
    const int32_t *const *rows;
    cr_id *map;
};

/* Returns the size of an axis in the result: the value of the axis's length, the bound of a
 * ragged length, or the number. */
static int64_t fixed_size(const struct fixing *f, cr_id id, int axis)
{
    int length = cr_length_at(f->from, id, axis);
    bool fixed = length && !f->from->lengths[length - 1].batch;
    return fixed ? f->values[length - 1] : f->from->nodes[id].shape[axis];
}

/* Slices a node of `to` to smaller or equal sizes.  An expand is replaced by a smaller expand
 * instead, so that passes find the same pattern as in a model written for these sizes. */
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

/* Returns operand i of a node in the result, sliced where the node or another operand has a
 * length. */
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
    if (kind == CR_KIND_TAKE)
        for (int a = 0; a < r; a++)
            sizes[a] = a == node->axis ? sizes[a] : fixed_size(f, id, a);
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

/* ---- sums over a ragged length ---- */

/* Returns the axis of operand i along which a reduction or a contraction runs. */
static int summed_axis(const struct fixing *f, cr_id id, int i)
{
    int r = f->from->nodes[cr_in(f->from, id, i)].rank;
    return cr_kind_of(f->from, id) == CR_KIND_REDUCE ? f->from->nodes[id].axis : r - 1 - (i > 0);
}

/* Returns the ragged length, with given row sizes, over which a node sums; 0 if there is none. */
static int summed_by_row(const struct fixing *f, cr_id id)
{
    enum cr_kind kind = cr_kind_of(f->from, id);
    for (int i = 0; (kind == CR_KIND_REDUCE || kind == CR_KIND_CONTRACT) &&
                    i < f->from->nodes[id].n_in; i++) {
        int length = cr_length_at(f->from, cr_in(f->from, id, i), summed_axis(f, id, i));
        if (length && f->from->lengths[length - 1].batch && f->rows[length - 1])
            return length;
    }
    return 0;
}

/* Returns the axis of operand i that corresponds to the batch axis `axis` of the result.  Returns
 * CR_NONE if a matmul takes that axis from the other operand: rows come from operand 0, columns
 * from operand 1. */
static int batch_axis_in(const struct fixing *f, cr_id id, int i, int axis)
{
    int r = f->from->nodes[id].rank;
    if (cr_kind_of(f->from, id) == CR_KIND_CONTRACT && axis >= r - 2 && axis != r - 2 + i)
        return CR_NONE;
    return axis;
}

/* Adds a copy of a sum or product for one row of a ragged batch, which sums over the `size`
 * elements of that row. */
static cr_id fix_row(struct fixing *f, cr_id id, const cr_id *operands, int axis, int64_t row,
                     int64_t size)
{
    const struct cr_node *node = &f->from->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    cr_id in[2];
    for (int i = 0; i < node->n_in; i++) {
        const struct cr_node *operand = &f->to->nodes[operands[i]];
        int batch = batch_axis_in(f, id, i, axis);
        struct cr_attr part = {.rank = operand->rank};
        memcpy(part.shape, operand->shape, sizeof part.shape);
        part.shape[summed_axis(f, id, i)] = size;
        if (batch != CR_NONE) {
            part.index[batch] = row;
            part.shape[batch] = 1;
        }
        in[i] = cr_must(f->to, CR_OP_slice, 1, &operands[i], &part);
    }
    return cr_must(f->to, node->op, node->n_in, in, &attr);
}

/* Adds a sum over a ragged length: one sum for each row of the batch, then a concat of the
 * results. */
static cr_id fix_by_row(struct fixing *f, cr_id id, int length)
{
    int batch = f->from->lengths[length - 1].batch;
    int64_t n = f->values[batch - 1];
    cr_id operands[2], *parts = cr_calloc((size_t)n, sizeof *parts);
    struct cr_attr attr = {0};
    while (cr_length_at(f->from, id, attr.axis) != batch)
        attr.axis++;
    for (int i = 0; i < f->from->nodes[id].n_in; i++)
        operands[i] = fixed_operand(f, id, i);
    for (int64_t row = 0; row < n; row++)
        parts[row] = fix_row(f, id, operands, attr.axis, row, f->rows[length - 1][row]);
    cr_id made = cr_must(f->to, CR_OP_concat, (int)n, parts, &attr);
    free(parts);
    return made;
}

/* Adds a copy of the node with fixed sizes and sliced operands. */
static cr_id fix_whole(struct fixing *f, cr_id id)
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
    memset(attr.lengths, 0, sizeof attr.lengths);
    cr_id made = node->op == CR_OP_limit
                     ? cut_to(f, many[0], attr.shape)
                     : cr_must(f->to, node->op, node->n_in, many, &attr);
    if (many != in)
        free(many);
    return made;
}

static cr_id fix_node(struct fixing *f, cr_id id)
{
    const struct cr_node *node = &f->from->nodes[id];
    int length = summed_by_row(f, id);
    f->to->here = node->where;
    cr_id made = length ? fix_by_row(f, id, length) : fix_whole(f, id);
    if (node->tap && !f->to->nodes[made].tap)
        f->to->nodes[made].tap = node->tap;
    return made;
}

struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values,
                                const int32_t *const *rows, cr_id *map)
{
    struct fixing f = {g, cr_graph_successor(g), values, rows, NULL};
    f.to->n_lengths = 0;
    f.map = cr_calloc((size_t)g->n_nodes, sizeof *f.map);
    for (cr_id id = 0; id < g->n_nodes; id++)
        f.map[id] = fix_node(&f, id);
    cr_copy_outputs(f.to, g, f.map);
    if (map)
        memcpy(map, f.map, (size_t)g->n_nodes * sizeof *map);
    free(f.map);
    return f.to;
}
