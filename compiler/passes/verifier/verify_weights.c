/* verify_weights.c - checks the layout of the weights: pieces do not overlap, and each parameter is
 * where kernels read it. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/gathered_tables.h"
#include "compiler/passes/weights/weights.h"
#include "verifier.h"

enum { PANEL = 32 }; /* columns of a panel: CR_PANEL of the runtime */

/* The module that is checked, and the error to which a fault is written. */
struct check {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_error *error;
};

/* The layouts first .. end - 1: the pieces of one matrix in panels, or a single row-major piece. */
struct matrix {
    int first, end;
    int64_t target, floats, K, N;
};

struct matrices {
    struct matrix *items;
    int n;
};

static int64_t elements_of(const struct check *c, cr_id id)
{
    return cr_elements(c->g->nodes[id].rank, c->g->nodes[id].shape);
}

static int broken_layout(const struct check *c, int layout, const char *what)
{
    return cr_fail(c->error, "layout %d of the weights: %s", layout, what);
}

/* Fails if a piece reads elements outside its parameter. */
static int verify_layout(const struct check *c, int i)
{
    const struct cr_layout_info *p = &c->m->layouts[i];
    if (p->param < 0 || p->param >= c->g->n_nodes ||
        c->g->nodes[p->param].op != CR_OP_param)
        return broken_layout(c, i, "it is of no parameter");
    if (p->cols < 1 || p->rows < 1 || p->rows > CR_MAX_ELEMENTS / p->cols || p->row_stride < 0 ||
        p->col_stride < 0 || p->first_col < 0)
        return broken_layout(c, i, "it has no size");
    int64_t most = elements_of(c, p->param) - 1, down, along;
    if (__builtin_mul_overflow(p->rows - 1, p->row_stride, &down) ||
        __builtin_mul_overflow(p->cols - 1, p->col_stride, &along) || p->source < 0 ||
        down > most || along > most || p->source > most - down - along)
        return broken_layout(c, i, "it takes elements that its parameter does not have");
    return 0;
}

/* Returns the format of the parameter of a piece (cr_layout_info). */
static enum cr_format format_of(const struct check *c, const struct cr_layout_info *p)
{
    return c->g->nodes[p->param].format;
}

/* Returns the number of rows of the matrix in panels that begins at layout `first`: the sum of the
 * rows of the pieces that are below each other in its first columns.  Returns 0 on overflow. */
static int64_t rows_of(const struct check *c, int first)
{
    const struct cr_layout_info *p = &c->m->layouts[first];
    int64_t rows = 0;
    for (int i = first; i < c->m->n_layouts && c->m->layouts[i].first_row == rows; i++)
        if (__builtin_add_overflow(rows, p[i - first].rows, &rows))
            return 0;
    return rows;
}

/* True if a piece continues a matrix: it is below the piece before it, or begins the next
 * columns. */
static bool continues_matrix(const struct check *c, const struct matrix *matrix, int64_t column, int64_t row,
                    const struct cr_layout_info *piece)
{
    const struct cr_layout_info *p = &c->m->layouts[matrix->first];
    return piece->first_col == matrix->N && piece->first_row == row &&
           piece->rows <= matrix->K - row && piece->panel_stride == column * PANEL &&
           piece->target == p->target + row * PANEL &&
           (row == 0 || (piece->cols == piece[-1].cols && piece->last == piece[-1].last)) &&
           (piece->rows == matrix->K || format_of(c, p) == CR_FORMAT_f32) &&
           format_of(c, piece) == format_of(c, p);
}

/* Finds a matrix in panels that begins at layout `first`.  Its pieces are below and beside each
 * other and have one format; the pieces with the last columns pad their panel. */
static int find_panels(const struct check *c, int first, struct matrix *matrix)
{
    const struct cr_layout_info *p = &c->m->layouts[first];
    int64_t row = 0;
    if (verify_layout(c, first))
        return -1;
    *matrix = (struct matrix){first, first, p->target, 0, rows_of(c, first), 0};
    int64_t column = cr_column_units(format_of(c, p), matrix->K);
    for (bool last = false; !last; matrix->end++) {
        const struct cr_layout_info *piece = &c->m->layouts[matrix->end];
        if (matrix->end < c->m->n_layouts && verify_layout(c, matrix->end))
            return -1;
        if (matrix->end == c->m->n_layouts || !continues_matrix(c, matrix, column, row, piece))
            return broken_layout(c, first, "the pieces of its panels do not follow each other");
        row = (row + piece->rows) % matrix->K;
        last = piece->last && row == 0;
        matrix->N += row ? 0 : piece->cols;
    }
    matrix->floats = column * ((matrix->N + PANEL - 1) / PANEL * PANEL) *
                     cr_formats[format_of(c, p)].unit / (int64_t)sizeof(float);
    return 0;
}

/* Groups the pieces of parameters (cr_layout_info) into matrices, each of several pieces in panels
 * or of one row-major piece. */
static int find_matrices(const struct check *c, struct matrices *all)
{
    for (int i = 0; i < c->m->n_layouts; i = all->items[all->n++].end) {
        const struct cr_layout_info *p = &c->m->layouts[i];
        struct matrix *matrix = &all->items[all->n];
        if (p->panel_stride ? find_panels(c, i, matrix) : verify_layout(c, i))
            return -1;
        if (!p->panel_stride)
            *matrix = (struct matrix){i, i + 1, p->target, p->rows * p->cols, p->rows, p->cols};
        int64_t begin = p->panel_stride ? p->target : p->target / CR_ALIGN * CR_ALIGN;
        if (!cr_is_inside(begin, matrix->floats + p->target - begin, c->m->weights_floats))
            return broken_layout(c, i, "it lies outside the weights");
    }
    return 0;
}

static int by_target(const void *a, const void *b)
{
    const struct matrix *x = a, *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

static const struct matrix *find_matrix(const struct matrices *all, int64_t target)
{
    const struct matrix key = {.target = target};
    return all->n ? bsearch(&key, all->items, (size_t)all->n, sizeof key, by_target) : NULL;
}

/* True if a matrix is exactly parameter `id`, or the part of one, row-major and in f32. */
static bool is_plain(const struct check *c, const struct matrix *matrix, cr_id id)
{
    const struct cr_layout_info *p = matrix ? &c->m->layouts[matrix->first] : NULL;
    const struct cr_layout_info plain = cr_plain_layout(c->g, id);
    return p && !p->panel_stride && p->param == plain.param && p->source == plain.source &&
           p->rows == plain.rows && p->cols == plain.cols && p->row_stride == plain.row_stride &&
           p->col_stride == 1 && format_of(c, p) == cr_format_of(CR_F32);
}

/* True if a matrix in panels is exactly the transpose of one table. */
static bool is_turned(const struct check *c, const struct matrix *matrix, cr_id table)
{
    const struct cr_layout_info *p = matrix ? &c->m->layouts[matrix->first] : NULL;
    return p && p->panel_stride && p->last && cr_is_turned_table(c->g, table, p);
}

/* True if a kernel's operand (a parameter, a part of one, a table, or several joined parameters) is
 * at the offset at which the kernel reads it.  Only the first of several joined parameters has to
 * be aligned. */
static bool is_in_place(const struct check *c, const struct matrices *all, cr_id id)
{
    int64_t target = c->m->storage[id].offset;
    if (target % CR_ALIGN)
        return false;
    if (c->m->columns_of[id] != CR_NONE)
        return is_turned(c, find_matrix(all, target), id);
    if (cr_param_of(c->g, id) != CR_NONE)
        return is_plain(c, find_matrix(all, target), id);
    for (int i = 0; i < c->g->nodes[id].n_in; i++) {
        cr_id part = cr_joined_param(c->g, id, i);
        if (!is_plain(c, find_matrix(all, target), part))
            return false;
        target += elements_of(c, part);
    }
    return true;
}

/* The pieces of a matrix that have not been compared; `same` is true if all pieces so far were as
 * expected. */
struct pieces {
    const struct cr_layout_info *next, *end;
    bool same;
};

/* Compares the next layout with the expected piece `info` of a weight matrix. */
static void compare_piece(void *context, const struct cr_layout_info *info)
{
    struct pieces *p = context;
    const struct cr_layout_info *layout = p->next;
    if (layout == p->end) {
        p->same = false;
        return;
    }
    p->same &= layout->param == info->param && layout->source == info->source &&
               layout->rows == info->rows && layout->cols == info->cols &&
               layout->row_stride == info->row_stride && layout->col_stride == info->col_stride &&
               layout->first_col == info->first_col && layout->first_row == info->first_row;
    p->next++;
}

/* True if a matrix in panels is the one by which a kernel multiplies. */
static bool is_packed(const struct check *c, const struct matrix *matrix,
                      const struct cr_kernel *k)
{
    int64_t choices = cr_weights_of(k)->choices;
    int64_t N = cr_extent(k, k->col) * (choices ? choices : 1);
    if (!matrix || matrix->K != cr_extent(k, k->k) || matrix->N != N ||
        !c->m->layouts[matrix->first].panel_stride)
        return false;
    struct pieces p = {&c->m->layouts[matrix->first], &c->m->layouts[matrix->end], true};
    return cr_packed_pieces(c->g, cr_packed(k), compare_piece, &p) && p.same && p.next == p.end;
}

/* Fails unless every kernel finds its parameters where it reads them, row-major or packed. */
static int verify_readers(const struct check *c, const struct matrices *all)
{
    for (int i = 0; i < c->m->n_kernels; i++) {
        const struct cr_kernel *k = &c->m->kernels[i];
        for (int j = 0; j < k->n_refs; j++) {
            cr_id id = k->refs[j];
            if (cr_is_laid_out(c->g, id) && !is_in_place(c, all, id))
                return cr_fail(c->error, "kernel %d: its parameter v[%d] is not where it reads it",
                               i, (int)id);
        }
        if (cr_packed(k) == CR_NONE ? c->m->packed[i] != -1
                                    : !is_packed(c, find_matrix(all, c->m->packed[i]), k))
            return cr_fail(c->error, "kernel %d: its weights are not packed where it reads them",
                           i);
    }
    return 0;
}

int cr_verify_weights(const struct cr_module *m, struct cr_error *error)
{
    const struct check c = {m, m->graph, error};
    struct matrices all = {cr_calloc((size_t)m->n_layouts + 1, sizeof *all.items), 0};
    int status = find_matrices(&c, &all);
    if (!status && all.n)
        qsort(all.items, (size_t)all.n, sizeof *all.items, by_target);
    for (int i = 1; !status && i < all.n; i++)
        if (all.items[i].target < all.items[i - 1].target + all.items[i - 1].floats)
            status = broken_layout(&c, all.items[i].first, "it overlaps another");
    if (!status)
        status = verify_readers(&c, &all);
    free(all.items);
    return status;
}
