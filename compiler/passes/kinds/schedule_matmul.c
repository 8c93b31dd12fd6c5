/*
 * schedule_matmul.c - schedules a matrix product of two computed operands.  The kernel packs the
 * columns of the right operand.  If the left operand is stored transposed, as in the gradient of a
 * weight, X' dY, the kernel copies its rows to contiguous memory.  A long k is split into parts;
 * each part adds to the sums of the part before.
 *
 * An item has two loops.  Each step of the outer loop packs its part of one operand, which stays in
 * the second-level cache.  The inner loop iterates over the whole other operand.  That operand is
 * packed before both loops, once for all consecutive items of a thread that share it.
 */
#include "schedule_gemm.h"

enum { LINE_FLOATS = 16 }; /* floats in a cache line */

enum packing {
    IN_PLACE, /* read in place, not packed */
    BY_STEP,  /* packed in each step of the outer loop */
    BY_ITEM,
};

struct matmul {
    struct cr_gemm_loops s;
    enum packing rows, columns;
};

static bool is_transposed(const struct cr_kernel *k)
{
    return !k->gemm.prologue.n && cr_coef(&k->gemm.a.at, k->row) == 1 &&
           cr_coef(&k->gemm.a.at, k->k) > 1;
}

static bool is_whole(const struct matmul *m)
{
    return m->s.depth == m->s.K;
}

/* ---- sizes ---- */

/* Sets the rows and columns of an item: large enough that packing costs little compared with
 * multiplying, and small enough that every thread gets items. */
static void cut_items(struct cr_gemm_loops *s, int64_t outer, const struct cr_target *t)
{
    s->blocks = cr_ceil_div(s->M, t->matmul_rows);
    s->groups = cr_ceil_div(s->N, t->matmul_cols);
    for (;;) {
        s->block = cr_round_up(cr_ceil_div(s->M, s->blocks), s->blocks > 1 ? CR_PANEL_FLOATS : 1);
        s->group = cr_round_up(cr_ceil_div(s->N, s->groups), CR_PANEL_FLOATS);
        bool enough = outer * s->blocks * s->groups >= t->matmul_items;
        if (enough || cr_max(s->block, s->group) < 2 * t->matmul_least)
            break;
        *(s->block > s->group ? &s->blocks : &s->groups) *= 2;
    }
    s->blocks = cr_ceil_div(s->M, s->block);
    s->groups = cr_ceil_div(s->N, s->group);
}

/* Sets the sizes of the loops.  Splits k into parts only if gemm can add to the result in memory:
 * not with a prologue, which computes whole rows, nor if the epilogue needs the product in
 * scratch. */
static struct cr_gemm_loops cut_loops(const struct cr_kernel *k, const struct cr_target *t)
{
    struct cr_gemm_loops s = {.M = cr_extent(k, k->row), .N = k->gemm.N, .K = k->gemm.K};
    s.depth = s.K;
    cut_items(&s, cr_outer_items(k), t);
    if (s.K > t->matmul_depth && !k->gemm.prologue.n && !cr_needs_product(k))
        s.depth = cr_min(s.K, cr_round_up(t->matmul_depth, CR_SUM_BLOCK));
    cr_cut_calls(&s, t, t->gemm_step_cols);
    return s;
}

/* Decides when operands are packed.  Columns that all items of a thread share are all packed once.
 * A large gradient of a weight is written by streaming stores, since it is read only after the
 * backward pass. */
static struct matmul cut(const struct cr_kernel *k, const struct cr_target *t)
{
    struct matmul m = {.s = cut_loops(k, t)};
    bool shared = is_whole(&m) && m.s.groups == 1 && m.s.blocks > 1;
    m.columns = shared ? BY_ITEM : BY_STEP;
    m.rows = !is_transposed(k) ? IN_PLACE : shared ? BY_STEP : BY_ITEM;
    double elements = (double)cr_outer_items(k) * (double)m.s.M * (double)m.s.N;
    m.s.stream = m.rows != IN_PLACE && is_whole(&m) && !cr_needs_product(k) &&
                 elements >= (double)t->stream_floats;
    return m;
}

/* ---- packing ---- */

/* Returns the row stride of a copied left operand.  Rows are contiguous, so that a tile of few rows
 * reads no more cache lines than it needs.  The stride is padded so that rows do not share few
 * cache sets. */
static int64_t row_distance(const struct matmul *m)
{
    int64_t depth = m->s.depth;
    return depth % (4 * LINE_FLOATS) ? depth : depth + LINE_FLOATS;
}

/* An operand that is packed: columns of the right operand, or rows of a transposed left operand. */
struct packed {
    const struct cr_operand *operand;
    int across;                  /* the atom of the packed columns or rows */
    int slot;                    /* the scratch slot that the operand is packed into, or CR_NONE if
                                    it is read in place */
    const struct cr_share *part;  /* the columns (or rows) of the packed operand that an item
                                     needs */
    const struct cr_steps *step; /* the columns (or rows) of the packed operand in a step of the
                                    outer loop */
    const struct cr_share *other; /* the item's share of the other operand */
    bool is_rows;                /* true for the left operand */
    bool is_shared;              /* true if items that differ only in `other` share the packed
                                    operand */
};

/* Packs columns into panels, or copies rows so that each is contiguous. */
static void call_pack(struct cr_builder *b, const struct matmul *m, const struct packed *x,
                      const struct cr_address *from, struct cr_argument depth, struct cr_argument n)
{
    struct cr_argument to = cr_at(cr_start_of(x->slot));
    struct cr_argument across = cr_n(b, cr_coef(&x->operand->at, x->across));
    struct cr_argument along = cr_n(b, cr_coef(&x->operand->at, b->k->k));
    if (x->is_rows)
        CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, n, depth, to, cr_n(b, row_distance(m)), cr_at(*from),
                across, along);
    else
        CR_CALL(b, CR_CALLEE_pack, CR_FORMAT_f32, depth, n, to, cr_n(b, m->s.depth * CR_PANEL_FLOATS),
                cr_at(*from), along, across);
}

/* Packs an operand at the point `when`: for an item (once, if consecutive items share it), or for a
 * step. */
static void pack(struct cr_builder *b, const struct matmul *m, const struct cr_gemm_vars *v,
                 enum packing when, const struct packed *x)
{
    bool step = when == BY_STEP, whole = is_whole(m);
    bool once = !step && whole && x->is_shared;
    const struct cr_kernel *k = b->k;
    if (once)
        cr_begin_if(b, cr_is_first_item(b, x->other, x->is_rows ? m->s.groups : m->s.blocks), NULL);
    struct cr_address at =
        cr_operand_at(b, x->operand, whole ? -1 : k->k, whole ? CR_NONE : v->k.first, x->across,
                      step ? x->step->first : x->part->first);
    call_pack(b, m, x, &at, cr_x(whole ? cr_size(b, k->k) : cr_var(b, v->k.count)),
              cr_x(step ? cr_var(b, x->step->count)
                        : cr_share_size(b, x->part)));
    if (once)
        cr_end(b);
}

/* Both operands of a product, with the scratch that they are packed into. */
struct operands {
    struct packed rows, columns;
};

/* Declares the scratch for packed operands, with room for `depth` of k.  Columns are always packed,
 * rows only if the left operand is stored transposed. */
static struct operands take_scratch(struct cr_builder *b, const struct matmul *m,
                                    const struct cr_gemm_vars *v)
{
    const struct cr_gemm_loops *s = &m->s;
    const struct cr_kernel *k = b->k;
    int64_t columns = m->columns == BY_STEP ? s->cols : s->group;
    int64_t rows = m->rows == BY_STEP ? s->rows : s->block;
    struct operands o = {
        .rows = {&k->gemm.a, k->row, CR_NONE, &v->i_part, &v->i, &v->j_part, true, s->groups > 1},
        .columns = {&k->gemm.b, k->col, CR_NONE, &v->j_part, &v->j, &v->i_part, false,
                    s->blocks > 1}};
    o.columns.slot = cr_scratch(b, "panels", CR_FORMAT_f32,
                                s->depth * cr_round_up(columns, CR_PANEL_FLOATS), "packed columns");
    if (m->rows != IN_PLACE)
        o.rows.slot =
            cr_scratch(b, "rows", CR_FORMAT_f32, row_distance(m) * rows, "rows of the left operand");
    return o;
}

static void pack_now(struct cr_builder *b, const struct matmul *m, const struct cr_gemm_vars *v,
                     enum packing when, const struct operands *o)
{
    if (m->rows == when)
        pack(b, m, v, when, &o->rows);
    if (m->columns == when)
        pack(b, m, v, when, &o->columns);
}

/* ---- the operands of one call ---- */

/* Returns the left operand of one call: rows computed by the prologue (K floats apart), copied
 * rows, or the tensor in place.  If k is split into parts, it begins at column k0. */
static struct cr_gemm_operand rows_of(struct cr_builder *b, const struct matmul *m,
                                      const struct cr_gemm_vars *v, int slot)
{
    const struct cr_kernel *k = b->k;
    bool whole = is_whole(m);
    int64_t K = m->s.K;
    if (k->gemm.prologue.n)
        return (struct cr_gemm_operand){
            cr_offset(b, cr_start_of(slot), v->i.first, v->i_part.first, K), K, 1};
    if (m->rows == BY_STEP)
        return (struct cr_gemm_operand){cr_start_of(slot), row_distance(m), 1};
    if (m->rows == BY_ITEM)
        return (struct cr_gemm_operand){cr_offset(b, cr_start_of(slot), v->i.first, v->i_part.first,
                                                  row_distance(m)),
                                        row_distance(m), 1};
    return (struct cr_gemm_operand){cr_operand_at(b, &k->gemm.a, k->row, v->i.first,
                                                  whole ? -1 : k->k, whole ? CR_NONE : v->k.first),
                                    cr_coef(&k->gemm.a.at, k->row), cr_coef(&k->gemm.a.at, k->k)};
}

static struct cr_gemm_operand columns_of(struct cr_builder *b, const struct matmul *m,
                                         const struct cr_gemm_vars *v, int slot)
{
    struct cr_gemm_operand columns = {cr_start_of(slot), 0, m->s.depth * CR_PANEL_FLOATS};
    if (m->columns == BY_ITEM)
        columns.address = cr_panel_at(b, slot, v->j.first, v->j_part.first, m->s.depth);
    return columns;
}

/* Schedules the two loops of an item, or of one part of its k, and the call of gemm inside them. */
static void schedule_loops(struct cr_builder *b, const struct matmul *m, struct cr_gemm_vars *v,
                           const struct operands *o, int row_slot)
{
    const struct cr_gemm_loops *s = &m->s;
    bool by_rows = m->rows == BY_STEP;
    pack_now(b, m, v, BY_ITEM, o);
    if (by_rows)
        v->i = cr_begin_rows(b, s, v);
    else
        v->j = cr_begin_columns(b, s, v);
    pack_now(b, m, v, BY_STEP, o);
    if (by_rows)
        v->j = cr_begin_columns(b, s, v);
    else
        v->i = cr_begin_rows(b, s, v);
    struct cr_gemm_operand rows = rows_of(b, m, v, row_slot);
    struct cr_gemm_operand columns = columns_of(b, m, v, o->columns.slot);
    cr_schedule_gemm_tile(b, s, v, &rows, &columns);
    cr_end(b);
    cr_end(b);
}

/* Returns the bytes that the loops move; each item reads its rows and columns into the second-level
 * cache once. */
static struct cr_traffic traffic_of(const struct cr_gemm_loops *s, int64_t outer,
                                    const struct cr_target *t)
{
    struct cr_traffic traffic = cr_gemm_traffic(s, outer, t);
    double M = (double)s->M, N = (double)s->N, K = (double)s->K;
    double floats = M * K * (double)s->groups + K * N * (double)s->blocks + M * N;
    traffic.to_l2 = (double)outer * (double)sizeof(float) * floats;
    return traffic;
}

int64_t cr_schedule_matmul(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    struct matmul m = cut(k, b->target);
    const struct cr_gemm_loops *s = &m.s;
    struct cr_gemm_vars v = {0};
    struct operands o = take_scratch(b, &m, &v);
    b->f->traffic = traffic_of(s, cr_outer_items(k), b->target);
    int row_slot = o.rows.slot;
    cr_begin_gemm_items(b, s, &v);
    if (k->gemm.prologue.n)
        row_slot = cr_schedule_prologue(b, s, &v, CR_NONE);
    if (!is_whole(&m))
        v.k = cr_begin_steps(b, "k0", "depth", cr_number(b, 0), cr_size(b, k->k), s->depth);
    schedule_loops(b, &m, &v, &o, row_slot);
    if (!is_whole(&m))
        cr_end(b);
    cr_end_items(b);
    if (s->stream)
        cr_do_call(b, cr_make_call(b, (struct cr_call){.callee = CR_CALLEE_stream_end}, 0, NULL));
    return cr_outer_items(k) * s->blocks * s->groups;
}
