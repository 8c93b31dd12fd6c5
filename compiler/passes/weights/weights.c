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

cr_id cr_param_of(const struct cr_graph *g, cr_id id)
{
    return cr_is_part(&g->nodes[id])          ? cr_in(g, id, 0)
           : g->nodes[id].op == CR_OP_param ? id
                                            : CR_NONE;
}

enum cr_format cr_kept_format(const struct cr_graph *g, cr_id id)
{
    return g->nodes[cr_is_part(&g->nodes[id]) ? cr_in(g, id, 0) : id].format;
}

struct cr_layout_info cr_plain_layout(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    struct cr_layout_info layout = {.param = cr_param_of(g, id), .rows = 1, .col_stride = 1};
    if (layout.param == id) {
        layout.cols = cr_elements(node->rank, node->shape);
        return layout;
    }
    layout.row_stride = g->nodes[layout.param].shape[1];
    layout.source = node->index[0] * layout.row_stride + node->index[1];
    layout.rows = node->shape[0];
    layout.cols = node->shape[1];
    return layout;
}

bool cr_is_laid_out(const struct cr_graph *g, cr_id id)
{
    return cr_param_of(g, id) != CR_NONE || cr_is_joined(g, id);
}

cr_id cr_weight_matrix(const struct cr_graph *g, cr_id id)
{
    while (cr_repeats_matrices(g, id))
        id = cr_in(g, id, 0);
    return id;
}

struct pieces {
    const struct cr_graph *g;
    int64_t K; /* number of rows of the matrix */
    void (*piece)(void *context, const struct cr_layout_info *info);
    void *context;
};

enum { ROWS, COLUMNS };

/* A part of the matrix: its numbers of rows and columns, its first row and column, and the map from
 * them to the elements of a node. */
struct part {
    struct cr_atoms atoms; /* the atoms ROWS and COLUMNS */
    int64_t first[2];
    struct cr_map map;
};

/* If a part of the matrix is elements source + k * row_stride + n * col_stride of parameter
 * `param`, reports this piece and returns true. */
static bool report_piece(const struct pieces *p, cr_id param, const struct part *part)
{
    const struct cr_node *node = &p->g->nodes[param];
    if (node->op != CR_OP_param)
        return false;
    struct cr_affine at = cr_map_linear(&part->map, node->rank, node->shape);
    struct cr_layout_info info = {.param = param,
                                 .source = at.base,
                                 .rows = part->atoms.extent[ROWS],
                                 .cols = part->atoms.extent[COLUMNS],
                                 .row_stride = at.coef[ROWS],
                                 .col_stride = at.coef[COLUMNS],
                                 .first_col = part->first[COLUMNS],
                                 .first_row = part->first[ROWS]};
    p->piece(p->context, &info);
    return true;
}

static bool walk_pieces(const struct pieces *p, cr_id id, struct part part);

/* Reports the pieces of each operand of a concat along the rows or the columns of the matrix.
 * Returns false if a part with fewer than K rows is split along its columns, because the pieces
 * below it would be reported too late. */
static bool walk_operands(const struct pieces *p, cr_id id, const struct part *whole)
{
    const struct cr_node *node = &p->g->nodes[id];
    struct cr_affine along = whole->map.axis[node->axis];
    int64_t begin = along.base, start = 0;
    along.base = 0;
    int atom = cr_affine_single(&along);
    if (atom < 0 || (atom == COLUMNS && whole->atoms.extent[ROWS] != p->K))
        return false;
    int64_t end = begin + whole->atoms.extent[atom];
    for (int i = 0; i < node->n_in; i++) {
        int64_t size = p->g->nodes[cr_in(p->g, id, i)].shape[node->axis];
        int64_t from = begin > start ? begin : start, to = end < start + size ? end : start + size;
        struct part part = *whole;
        part.first[atom] += from - begin;
        part.atoms.extent[atom] = to - from;
        for (int a = 0; a < node->rank; a++)
            part.map.axis[a].base += part.map.axis[a].coef[atom] * (from - begin);
        part.map.axis[node->axis].base -= start;
        if (from < to && !walk_pieces(p, cr_in(p->g, id, i), part))
            return false;
        start += size;
    }
    return true;
}

/* Reports the pieces of a part of node `id`, through movement ops and concats.  Returns false if
 * they are not pieces of parameters. */
static bool walk_pieces(const struct pieces *p, cr_id id, struct part part)
{
    struct cr_map operand;
    struct cr_split split;
    for (; cr_kind_of(p->g, id) == CR_KIND_MOVE; id = cr_in(p->g, id, 0)) {
        if (cr_map_operand(p->g, id, &part.atoms, &part.map, &operand, &split) != CR_MAP_OK)
            return false;
        part.map = operand;
    }
    return p->g->nodes[id].op == CR_OP_concat ? walk_operands(p, id, &part)
                                              : report_piece(p, id, &part);
}

bool cr_weight_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_layout_info *info), void *context)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->rank < 2 || cr_elements(node->rank - 2, node->shape) != 1)
        return false;
    const struct pieces p = {g, node->shape[node->rank - 2], piece, context};
    struct part all = {.atoms = {.n = 2}};
    memcpy(all.atoms.extent, node->shape + node->rank - 2, 2 * sizeof *all.atoms.extent);
    all.map.axis[node->rank - 2] = cr_affine_atom(ROWS);
    all.map.axis[node->rank - 1] = cr_affine_atom(COLUMNS);
    return walk_pieces(&p, id, all);
}

/* ---- stacks ---- */

/* True if node `id` is a reshape that keeps the last two axes, those of a matrix. */
static bool keeps_matrix(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_reshape || node->rank < 2)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    return in->rank >= 2 && in->shape[in->rank - 1] == node->shape[node->rank - 1] &&
           in->shape[in->rank - 2] == node->shape[node->rank - 2];
}

bool cr_find_choice(const struct cr_graph *g, cr_id id, struct cr_stacked *choice)
{
    while (keeps_matrix(g, id) || cr_repeats_matrices(g, id))
        id = cr_in(g, id, 0);
    if (g->nodes[id].op != CR_OP_gather)
        return false;
    *choice = (struct cr_stacked){cr_in(g, id, 0), cr_in(g, id, 1), id};
    const struct cr_node *stack = &g->nodes[choice->stack], *index = &g->nodes[choice->index];
    return stack->op == CR_OP_param && stack->rank == 3 && stack->shape[0] > 1 &&
           stack->shape[2] % CR_PANEL == 0 && cr_elements(index->rank, index->shape) == 1;
}

int64_t cr_panel_columns(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return cr_elements(node->rank, node->shape) / node->shape[node->rank - 2];
}

/* A stack has one piece for each of its matrices, with all K rows; any other matrix has the pieces
 * of cr_weight_pieces. */
bool cr_packed_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_layout_info *info), void *context)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_param || node->rank != 3 || node->shape[0] == 1)
        return cr_weight_pieces(g, id, piece, context);
    int64_t K = node->shape[1], N = node->shape[2];
    for (int64_t i = 0; i < node->shape[0]; i++)
        piece(context, &(struct cr_layout_info){.param = id,
                                               .source = i * K * N,
                                               .rows = K,
                                               .cols = N,
                                               .row_stride = N,
                                               .col_stride = 1,
                                               .first_col = i * N});
    return true;
}
