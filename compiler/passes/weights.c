#include "weights.h"

#include <string.h>

#include "compiler/ir/mem.h"

bool *cr_find_weights(const struct cr_graph *g)
{
    bool *weights = cr_calloc((size_t)g->n_nodes, sizeof *weights);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        enum cr_kind kind = cr_kind_of(g, id);
        weights[id] =
            g->nodes[id].op == CR_OP_param || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT;
        for (int i = 0; i < g->nodes[id].n_in; i++)
            weights[id] &= weights[cr_in(g, id, i)];
    }
    return weights;
}

cr_id cr_joined_param(const struct cr_graph *g, cr_id id, int i)
{
    cr_id in = cr_in(g, id, i);
    while (g->nodes[in].op == CR_OP_reshape)
        in = cr_in(g, in, 0);
    return g->nodes[in].op == CR_OP_param ? in : CR_NONE;
}

bool cr_is_joined(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_concat)
        return false;
    for (int axis = 0; axis < node->axis; axis++)
        if (node->shape[axis] != 1)
            return false;
    for (int i = 0; i < node->n_in; i++)
        if (cr_joined_param(g, id, i) == CR_NONE)
            return false;
    return true;
}

/* True if a broadcast repeats whole matrices, and no row or column of one. */
static bool repeats_matrices(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_expand)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    return in->rank >= 2 && in->shape[in->rank - 1] == node->shape[node->rank - 1] &&
           in->shape[in->rank - 2] == node->shape[node->rank - 2];
}

cr_id cr_weight_matrix(const struct cr_graph *g, cr_id id)
{
    while (repeats_matrices(g, id))
        id = cr_in(g, id, 0);
    return id;
}

struct pieces {
    const struct cr_graph *g;
    int64_t K; /* rows */
    void (*piece)(void *context, const struct cr_place_info *info);
    void *context;
};

/* Columns of the matrix: their number, the first of them in the panels, and which element of a node, or of
 * what it is made of, atom 0 (rows) and atom 1 (these columns) reach. */
struct columns {
    struct cr_atoms atoms;
    int64_t first;
    struct cr_map map;
};

/* One parameter, as elements source + k * row_stride + n * col_stride. */
static bool report_piece(const struct pieces *p, cr_id param, const struct columns *columns)
{
    const struct cr_node *node = &p->g->nodes[param];
    if (node->op != CR_OP_param)
        return false;
    struct cr_affine at = cr_map_linear(&columns->map, node->rank, node->shape);
    struct cr_place_info info = {.param = param,
                                 .source = at.base,
                                 .rows = p->K,
                                 .cols = columns->atoms.extent[1],
                                 .row_stride = at.coef[0],
                                 .col_stride = at.coef[1],
                                 .first_col = columns->first};
    p->piece(p->context, &info);
    return true;
}

static bool walk_pieces(const struct pieces *p, cr_id id, struct columns columns);

/* The parts of a concat whose axis is that of the columns, one column after another. */
static bool walk_parts(const struct pieces *p, cr_id id, const struct columns *columns)
{
    const struct cr_node *node = &p->g->nodes[id];
    struct cr_affine along = columns->map.axis[node->axis];
    int64_t begin = along.base, end = begin + columns->atoms.extent[1], start = 0;
    along.base = 0;
    if (cr_affine_single(&along) != 1)
        return false;
    for (int i = 0; i < node->n_in; i++) {
        int64_t size = p->g->nodes[cr_in(p->g, id, i)].shape[node->axis];
        int64_t from = begin > start ? begin : start, to = end < start + size ? end : start + size;
        struct columns part = *columns;
        part.first += from - begin;
        part.atoms.extent[1] = to - from;
        for (int a = 0; a < node->rank; a++)
            part.map.axis[a].base += part.map.axis[a].coef[1] * (from - begin);
        part.map.axis[node->axis].base -= start;
        if (from < to && !walk_pieces(p, cr_in(p->g, id, i), part))
            return false;
        start += size;
    }
    return true;
}

/* The pieces of columns of a node: through movement ops, and the parts of concats. */
static bool walk_pieces(const struct pieces *p, cr_id id, struct columns columns)
{
    struct cr_map operand;
    struct cr_split split;
    for (; cr_kind_of(p->g, id) == CR_KIND_MOVE; id = cr_in(p->g, id, 0)) {
        if (cr_map_operand(p->g, id, &columns.atoms, &columns.map, &operand, &split) != CR_MAP_OK)
            return false;
        columns.map = operand;
    }
    return p->g->nodes[id].op == CR_OP_concat ? walk_parts(p, id, &columns)
                                              : report_piece(p, id, &columns);
}

bool cr_weight_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_place_info *info), void *context)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->rank < 2 || cr_elements(node->rank - 2, node->shape) != 1)
        return false;
    const struct pieces p = {g, node->shape[node->rank - 2], piece, context};
    struct columns all = {.atoms = {.n = 2}};
    memcpy(all.atoms.extent, node->shape + node->rank - 2, 2 * sizeof *all.atoms.extent);
    all.map.axis[node->rank - 2] = cr_affine_atom(0);
    all.map.axis[node->rank - 1] = cr_affine_atom(1);
    return walk_pieces(&p, id, all);
}
