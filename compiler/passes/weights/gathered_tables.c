/* gathered_tables.c - finds tables that are kept in panels; see gathered_tables.h. */
#include "gathered_tables.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "weights.h"

struct cr_layout_info cr_turned_table(const struct cr_graph *g, cr_id table)
{
    const struct cr_node *node = &g->nodes[table];
    const struct cr_node *param = &g->nodes[cr_param_of(g, table)];
    int64_t width = param->shape[1];
    bool part = cr_is_part(node);
    return (struct cr_layout_info){.param = cr_param_of(g, table),
                                  .source = part ? node->index[0] * width + node->index[1] : 0,
                                  .rows = node->shape[1],
                                  .cols = node->shape[0],
                                  .row_stride = 1,
                                  .col_stride = width};
}

bool cr_is_turned_table(const struct cr_graph *g, cr_id table, const struct cr_layout_info *piece)
{
    if (g->nodes[table].rank != 2 || cr_param_of(g, table) != piece->param)
        return false;
    struct cr_layout_info turned = cr_turned_table(g, table);
    return piece->source == turned.source && piece->rows == turned.rows &&
           piece->cols == turned.cols && piece->row_stride == 1 &&
           piece->col_stride == turned.col_stride && piece->first_col == 0;
}

/* ---- products ---- */

/* The first piece of a matrix, and the number of its pieces. */
struct pieces {
    struct cr_layout_info first;
    int n;
};

static void count_piece(void *context, const struct cr_layout_info *info)
{
    struct pieces *p = context;
    if (!p->n++)
        p->first = *info;
}

/* The parts of tables that this rank has (cr_is_part). */
struct table_parts {
    cr_id *items;
    int n, cap;
};

static struct table_parts list_parts(const struct cr_graph *g)
{
    struct table_parts parts = {0};
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_is_part(&g->nodes[id]))
            *CR_PUSH(parts.items, parts.n, parts.cap) = id;
    return parts;
}

/* Returns the parameter, or the part of one, whose transpose is the matrix of a product; CR_NONE if
 * there is none. */
static cr_id turned_table(const struct cr_graph *g, const struct table_parts *parts, cr_id matrix)
{
    struct pieces p = {.n = 0};
    if (matrix == CR_NONE || !cr_weight_pieces(g, matrix, count_piece, &p) || p.n != 1)
        return CR_NONE;
    for (int i = 0; i < parts->n; i++)
        if (cr_is_turned_table(g, parts->items[i], &p.first))
            return parts->items[i];
    return cr_is_turned_table(g, p.first.param, &p.first) ? p.first.param : CR_NONE;
}

/* ---- gathers ---- */

/* True if a value gathers whole rows of a table: one element for each column of the tile. */
static bool takes_rows(const struct cr_node *table, const struct cr_tiles *tiles, int col,
                       const struct cr_value *v)
{
    return v->source == CR_GATHER && col >= 0 && cr_affine_single(&v->at) == col &&
           v->table_stride == table->shape[1] && v->table_rows == table->shape[0] &&
           !v->table_length && !v->by_row && tiles->values[v->arg[0]].by_row;
}

/* Returns the atom of the columns of a program's tiles if its gathers may read whole rows of a
 * table; otherwise -1. */
static int columns_of(const struct cr_kernel *k, int program)
{
    return cr_parts_of(k)->programs[program].whole_rows ? cr_column_atom(k, program) : -1;
}

bool cr_gathers_rows(const struct cr_graph *g, const struct cr_kernel *k, int r)
{
    const struct cr_node *table = &g->nodes[k->refs[r]];
    if (table->rank != 2)
        return false;
    for (int i = 0; cr_operand_of(k, i); i++)
        if (cr_ref_of_operand(k, i) == r)
            return false;
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++) {
            const struct cr_value *v = &tiles->values[i];
            if ((v->source == CR_LOAD || v->source == CR_GATHER) && v->ref == r &&
                !takes_rows(table, tiles, columns_of(k, p), v))
                return false;
        }
    return true;
}

/* True if a kernel may read its operand r, an f32 table, from the panels of a product.  No other
 * kernel may share its function, since it might read a row-major table. */
static bool may_turn(const struct cr_module *m, int kernel, int r)
{
    if (!cr_parts_of(&m->kernels[kernel])->elementwise)
        return false;
    for (int i = 0; i < m->n_kernels; i++)
        if (i != kernel && m->function[i] == m->function[kernel])
            return false;
    return cr_gathers_rows(m->graph, &m->kernels[kernel], r);
}

/* Removes the f32 tables that a kernel cannot read from panels, and adds tables in other formats,
 * which kernels read only by whole rows (formats.h). */
static void find_tables_of(struct cr_module *m, int kernel)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    for (int r = 0; r < k->n_refs; r++) {
        cr_id id = k->refs[r];
        bool rounded = cr_param_of(m->graph, id) != CR_NONE &&
                       cr_kept_format(m->graph, id) != cr_format_of(CR_F32);
        if (rounded && m->columns_of[id] == CR_NONE)
            m->columns_of[id] = id;
        if (!rounded && m->columns_of[id] != CR_NONE && !may_turn(m, kernel, r))
            m->columns_of[id] = CR_NONE;
    }
}

/* Excludes table == matrix, since a matrix of one element is its own transpose, but is not gathered
 * from. */
void cr_find_tables(struct cr_module *m)
{
    struct table_parts parts = list_parts(m->graph);
    m->columns_of = cr_calloc((size_t)m->graph->n_nodes, sizeof *m->columns_of);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        m->columns_of[id] = CR_NONE;
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id matrix = cr_packed(&m->kernels[i]), table = turned_table(m->graph, &parts, matrix);
        if (table != CR_NONE && table != matrix && m->columns_of[table] == CR_NONE)
            m->columns_of[table] = matrix;
    }
    for (int i = 0; i < m->n_kernels; i++)
        find_tables_of(m, i);
    free(parts.items);
}
