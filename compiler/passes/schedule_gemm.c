/*
 * A matrix product with its prologue and epilogue.  The prologue computes rows of the left operand
 * into scratch; the right operand is packed; the epilogue works on each tile while it is in the
 * first-level cache.
 */
#include "compiler/ir/text.h"
#include "schedule_gemm.h"

/*
 * A block has at most gemm_rows_floats / K rows, in whole steps, and at most gemm_most_rows; all
 * blocks but the last are equal.  A group has whole steps of columns, and so few that there are
 * gemm_items items, if N is large enough.
 */
static struct cr_gemm_loops cut(const struct cr_kernel *k, const struct cr_target *t)
{
    struct cr_gemm_loops s = {.M = cr_extent(k, k->row), .N = k->gemm.N, .K = k->gemm.K};
    s.depth = s.K;
    int64_t fit = t->gemm_rows_floats / s.K / t->gemm_step_rows * t->gemm_step_rows;
    int64_t most = cr_max(t->gemm_step_rows, cr_min(t->gemm_most_rows, fit));
    s.blocks = cr_ceil_div(s.M, most);
    s.block = cr_ceil_div(s.M, s.blocks);
    cr_cut_calls(&s, t);
    int64_t steps = cr_ceil_div(s.N, s.cols);
    int64_t wanted = cr_ceil_div(t->gemm_items, cr_outer_items(k) * s.blocks);
    s.group = cr_max(1, steps / wanted) * s.cols;
    s.groups = cr_ceil_div(s.N, s.group);
    return s;
}

/* The condition under which an item begins a new block of rows; CR_NONE if each item does. */
static cr_expr begins_block(struct cr_builder *b, const struct cr_gemm_loops *s,
                            const struct cr_gemm_vars *v)
{
    if (s->groups == 1)
        return CR_NONE;
    cr_expr first_item = cr_binary(b, CR_EXPR_EQUAL, cr_var(b, CR_VAR_ITEM),
                                   cr_var(b, CR_VAR_BEGIN));
    cr_expr first_group = cr_binary(b, CR_EXPR_EQUAL, cr_var(b, v->j_part.first), cr_number(b, 0));
    return cr_binary(b, CR_EXPR_OR, first_item, first_group);
}

/*
 * The right operand is read in place: its panels were packed when the weights were loaded.  The
 * loop over columns is the outer one, so that a step of panels stays in the cache while the rows of
 * the block go by.
 */
static int64_t schedule_weights(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    struct cr_gemm_loops s = cut(k, b->target);
    struct cr_gemm_vars v;
    struct cr_gemm_operand rows = {.row_step = s.K, .k_step = 1}, panels;
    int64_t column = cr_column_units(b->f->slots[b->weight].format, s.K);
    int slot = CR_NONE;
    cr_begin_gemm_items(b, &s, &v);
    if (k->prologue.n)
        slot = cr_schedule_prologue(b, &s, &v, begins_block(b, &s, &v));
    v.j = cr_begin_columns(b, &s, &v);
    v.i = cr_begin_rows(b, &s, &v);
    if (k->prologue.n) {
        rows.address = cr_offset(b, cr_start_of(slot), v.i.first, v.i_part.first, s.K);
    } else {
        rows.address = cr_operand_at(b, &k->a, k->row, v.i.first, -1, CR_NONE);
        rows.row_step = cr_coef(&k->a.at, k->row);
        rows.k_step = cr_coef(&k->a.at, k->k);
    }
    panels =
        (struct cr_gemm_operand){.address = cr_panel_at(b, b->weight, v.j.first, CR_NONE, column),
                                 .k_step = column * CR_PANEL_FLOATS};
    cr_schedule_gemm_tile(b, &s, &v, &rows, &panels);
    cr_end(b);
    cr_end(b);
    cr_end_items(b);
    return cr_outer_items(k) * s.blocks * s.groups;
}

int64_t cr_schedule_gemm(struct cr_builder *b)
{
    return b->k->gemm.packed == CR_NONE ? cr_schedule_matmul(b) : schedule_weights(b);
}

void cr_describe_gemm(struct cr_text *text, const struct cr_kernel *k)
{
    cr_put(text, " = rows[%lld, %lld] x columns[%lld, %lld]", (long long)cr_extent(k, k->row),
           (long long)k->gemm.K, (long long)k->gemm.K, (long long)k->gemm.N);
}
