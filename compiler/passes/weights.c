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
    int64_t K, col; /* rows, and the next piece's first column */
    void (*piece)(void *context, const struct cr_place_info *info);
    void *context;
};

/* One parameter under movement ops, as elements source + k * row_stride + n * col_stride. */
static bool single_piece(struct pieces *p, cr_id id)
{
    const struct cr_graph *g = p->g;
    const struct cr_node *node = &g->nodes[id];
    struct cr_atoms atoms = {.n = 2};
    memcpy(atoms.extent, node->shape + node->rank - 2, 2 * sizeof *atoms.extent);
    struct cr_map map = {0}, operand;
    struct cr_split split;
    map.axis[node->rank - 2] = cr_affine_atom(0);
    map.axis[node->rank - 1] = cr_affine_atom(1);
    int64_t cols = atoms.extent[1];
    while (cr_kind_of(g, id) == CR_KIND_MOVE) {
        if (cr_map_operand(g, id, &atoms, &map, &operand, &split) != CR_MAP_OK)
            return false;
        map = operand;
        id = cr_in(g, id, 0);
    }
    if (g->nodes[id].op != CR_OP_param)
        return false;
    struct cr_affine at = cr_map_linear(&map, g->nodes[id].rank, g->nodes[id].shape);
    struct cr_place_info info = {.param = id,
                                 .source = at.base,
                                 .rows = p->K,
                                 .cols = cols,
                                 .row_stride = at.coef[0],
                                 .col_stride = at.coef[1],
                                 .first_col = p->col};
    p->piece(p->context, &info);
    p->col += cols;
    return true;
}

static bool walk_pieces(struct pieces *p, cr_id id)
{
    const struct cr_node *node = &p->g->nodes[id];
    if (node->op != CR_OP_concat || node->axis != node->rank - 1)
        return single_piece(p, id);
    for (int i = 0; i < node->n_in; i++)
        if (!walk_pieces(p, cr_in(p->g, id, i)))
            return false;
    return true;
}

bool cr_weight_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_place_info *info), void *context)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->rank < 2 || cr_elements(node->rank - 2, node->shape) != 1)
        return false;
    struct pieces p = {g, node->shape[node->rank - 2], 0, piece, context};
    return walk_pieces(&p, id);
}
