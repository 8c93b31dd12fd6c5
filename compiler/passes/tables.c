/* tables.c - tables that are kept in panels; see tables.h. */
#include "tables.h"

#include "compiler/ir/mem.h"
#include "formats.h"
#include "weights.h"

bool cr_is_turned_table(const struct cr_node *table, const struct cr_place_info *piece)
{
    return table->rank == 2 && piece->source == 0 && piece->rows == table->shape[1] &&
           piece->cols == table->shape[0] && piece->row_stride == 1 &&
           piece->col_stride == table->shape[1] && piece->first_col == 0;
}

/* ---- products ---- */

/* The first of the pieces of a matrix, and their number. */
struct pieces {
    struct cr_place_info first;
    int n;
};

static void count_piece(void *context, const struct cr_place_info *info)
{
    struct pieces *p = context;
    if (!p->n++)
        p->first = *info;
}

/* The parameter that a product's matrix is as a whole, turned around and in floats; or CR_NONE. */
static cr_id turned_table(const struct cr_graph *g, cr_id matrix)
{
    struct pieces p = {.n = 0};
    if (matrix == CR_NONE || cr_panel_format(g, matrix) != CR_FORMAT_f32 ||
        !cr_weight_pieces(g, matrix, count_piece, &p) || p.n != 1)
        return CR_NONE;
    return cr_is_turned_table(&g->nodes[p.first.param], &p.first) ? p.first.param : CR_NONE;
}

/* ---- gathers ---- */

/* True if a value is whole rows of a table: an element for each column of the tile. */
static bool takes_rows(const struct cr_kernel *k, const struct cr_node *table,
                       const struct cr_tiles *tiles, const struct cr_value *v)
{
    return v->source == CR_GATHER && cr_affine_single(&v->at) == k->col && k->col >= 0 &&
           v->table_stride == table->shape[1] && v->table_rows == table->shape[0] &&
           !v->table_length && !v->by_row && tiles->values[v->arg[0]].by_row;
}

/* True if all that a kernel reads of its operand r is gathered rows.  Its code may be no other
 * kernel's, which might have a table of plain rows. */
static bool only_gathers(const struct cr_module *m, int kernel, int r)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    const struct cr_node *table = &m->graph->nodes[k->refs[r]];
    if (k->kind != CR_KERNEL_TILE)
        return false;
    for (int i = 0; i < m->n_kernels; i++)
        if (i != kernel && m->function[i] == m->function[kernel])
            return false;
    for (int i = 0; i < k->program.n; i++) {
        const struct cr_value *v = &k->program.values[i];
        if ((v->source == CR_LOAD || v->source == CR_GATHER) && v->ref == r &&
            !takes_rows(k, table, &k->program, v))
            return false;
    }
    return true;
}

/* Forgets the tables that a kernel reads otherwise. */
static void drop_tables(struct cr_module *m, int kernel)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    for (int r = 0; r < k->n_refs; r++) {
        cr_id id = k->refs[r];
        if (m->columns_of[id] != CR_NONE && !only_gathers(m, kernel, r))
            m->columns_of[id] = CR_NONE;
    }
}

void cr_find_tables(struct cr_module *m)
{
    m->columns_of = cr_calloc((size_t)m->graph->n_nodes, sizeof *m->columns_of);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        m->columns_of[id] = CR_NONE;
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id matrix = cr_packed(&m->kernels[i]), table = turned_table(m->graph, matrix);
        if (table != CR_NONE && m->columns_of[table] == CR_NONE)
            m->columns_of[table] = matrix;
    }
    for (int i = 0; i < m->n_kernels; i++)
        drop_tables(m, i);
}
