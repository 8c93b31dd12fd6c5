/*
 * schedule_gemm.c - schedules the product by a packed weight, with its prologue and epilogue.  The
 * prologue computes rows of the left operand into scratch; the epilogue works on each tile while it
 * is in the first-level cache.
 */
#include "compiler/ir/text.h"
#include "compiler/passes/weights/arithmetics.h"
#include "kinds.h"
#include "schedule_gemm.h"

/* Returns the condition that an item begins a new block of rows, or CR_NONE if each item does. */
static cr_expr begins_block(struct cr_builder *b, const struct cr_gemm_loops *s,
                            const struct cr_gemm_vars *v)
{
    if (s->groups == 1)
        return CR_NONE;
    return cr_is_first_item(b, &v->j_part, s->groups);
}

/* Returns the left operand of one call: rounded rows, rows computed by the prologue (K floats
 * apart), or the tensor in place.  If k is split into parts, it begins at column k0. */
static struct cr_gemm_operand rows_of(struct cr_builder *b, const struct cr_gemm_loops *s,
                                      const struct cr_gemm_vars *v, int slot)
{
    const struct cr_kernel *k = b->k;
    int64_t rounded = cr_rounded_units(s);
    if (rounded)
        return (struct cr_gemm_operand){
            cr_offset(b, cr_start_of(slot), v->i.first, v->i_part.first, rounded), rounded, 1};
    if (k->gemm.prologue.n)
        return (struct cr_gemm_operand){
            cr_offset(b, cr_start_of(slot), v->i.first, v->i_part.first, s->K), s->K, 1};
    bool cut = cr_is_cut(s);
    return (struct cr_gemm_operand){cr_operand_at(b, &k->gemm.a, k->row, v->i.first,
                                                  cut ? k->k : -1, cut ? v->k.first : CR_NONE),
                                    cr_coef(&k->gemm.a.at, k->row), cr_coef(&k->gemm.a.at, k->k)};
}

/* Returns the right operand of one call: panels of packed columns, from k0 on if k is split into
 * parts. */
static struct cr_gemm_operand panels_of(struct cr_builder *b, const struct cr_gemm_loops *s,
                                        const struct cr_gemm_vars *v)
{
    enum cr_format format = b->f->slots[b->weight].format;
    int64_t column = cr_column_units(format, s->K), row = cr_column_units(format, CR_PANEL_FLOATS);
    struct cr_address at = cr_panel_at(b, b->weight, v->j.first, CR_NONE, column);
    if (cr_is_cut(s))
        at = cr_offset(b, at, v->k.first, CR_NONE, row);
    return (struct cr_gemm_operand){.address = at, .k_step = column * CR_PANEL_FLOATS};
}

/* Begins the loops over the calls of an item.  The loop over columns is the outer one, so that the
 * panels of a call stay in the cache during the loop over the block's rows. */
static void begin_calls(struct cr_builder *b, const struct cr_gemm_loops *s, struct cr_gemm_vars *v)
{
    v->j = cr_begin_columns(b, s, v);
    v->i = cr_begin_rows(b, s, v);
}

static void end_calls(struct cr_builder *b)
{
    cr_end(b);
    cr_end(b);
}

/* Returns the tile that one call adds to, in the sums of an item; a row of them has `group`
 * columns. */
static struct cr_tile sums_at(struct cr_builder *b, const struct cr_gemm_loops *s,
                              const struct cr_gemm_vars *v, int slot)
{
    struct cr_address at = cr_start_of(slot);
    at = cr_offset(b, at, v->i.first, v->i_part.first, s->group);
    at = cr_offset(b, at, v->j.first, v->j_part.first, 1);
    return (struct cr_tile){at, s->group};
}

/* Schedules an item whose k is split into parts.  Its sums stay in scratch, and each part adds to
 * them; the epilogue runs after the last part. */
static void schedule_parts(struct cr_builder *b, const struct cr_gemm_loops *s,
                           struct cr_gemm_vars *v)
{
    int slot = cr_scratch(b, "sums", CR_FORMAT_f32, s->block * s->group, "of an item's products");
    v->k = cr_begin_steps(b, "k0", "depth", cr_number(b, 0), cr_size(b, b->k->k), s->depth);
    begin_calls(b, s, v);
    struct cr_tile sums = sums_at(b, s, v, slot);
    struct cr_gemm_operand rows = rows_of(b, s, v, CR_NONE), panels = panels_of(b, s, v);
    cr_schedule_gemm_part(b, v, &rows, &panels, &sums);
    end_calls(b);
    cr_end(b);
    begin_calls(b, s, v);
    sums = sums_at(b, s, v, slot);
    cr_schedule_epilogue(b, s, v, &sums);
    end_calls(b);
}

/* Rounds the rows of a block from a tensor into scratch, if the condition `until` holds; returns
 * the slot. */
static int schedule_rounding(struct cr_builder *b, const struct cr_gemm_loops *s,
                             const struct cr_gemm_vars *v, cr_expr until)
{
    const struct cr_kernel *k = b->k;
    int slot = cr_rounded_rows(b, s);
    struct cr_steps i = cr_begin_share(b, "row", "m", &v->i_part, s->rows, until);
    struct cr_gemm_operand rows = {cr_operand_at(b, &k->gemm.a, k->row, i.first, -1, CR_NONE),
                                   cr_coef(&k->gemm.a.at, k->row), cr_coef(&k->gemm.a.at, k->k)};
    cr_round_rows(b, s, v, &i, &rows, slot);
    cr_end(b);
    return slot;
}

/* Schedules an item whose calls each sum over all of k. */
static void schedule_whole(struct cr_builder *b, const struct cr_gemm_loops *s,
                           struct cr_gemm_vars *v)
{
    int slot = CR_NONE;
    if (b->k->gemm.prologue.n)
        slot = cr_schedule_prologue(b, s, v, begins_block(b, s, v));
    else if (cr_rounded_units(s))
        slot = schedule_rounding(b, s, v, begins_block(b, s, v));
    begin_calls(b, s, v);
    struct cr_gemm_operand rows = rows_of(b, s, v, slot), panels = panels_of(b, s, v);
    cr_schedule_gemm_tile(b, s, v, &rows, &panels);
    end_calls(b);
}

/* Schedules a product by a weight, whose panels were packed when the weights were loaded. */
static int64_t schedule_weights(struct cr_builder *b)
{
    struct cr_gemm_loops s = cr_cut_blocks(b->k, b->target, b->f->slots[b->weight].format,
                                           cr_panel_arithmetic(b->g, cr_packed(b->k)));
    struct cr_gemm_vars v;
    b->f->traffic = cr_gemm_traffic(&s, cr_outer_items(b->k), b->target);
    v.i_part = cr_begin_items_of_rows(b, s.groups, s.blocks, s.block);
    v.j_part = cr_let_share(b, "col0", "col1", 1, s.groups, s.group, cr_size(b, b->k->col));
    (cr_is_cut(&s) ? schedule_parts : schedule_whole)(b, &s, &v);
    cr_end_items(b);
    return cr_outer_items(b->k) * s.blocks * s.groups;
}

int64_t cr_schedule_gemm(struct cr_builder *b)
{
    return cr_packed(b->k) == CR_NONE ? cr_schedule_matmul(b) : schedule_weights(b);
}

void cr_describe_gemm(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = rows");
    cr_put_extents(text, b, k->row, k->k);
    cr_put(text, " x columns");
    cr_put_extents(text, b, k->k, k->col);
    if (k->gemm.weights.choices)
        cr_put(text, ", one of %lld", (long long)k->gemm.weights.choices);
}
