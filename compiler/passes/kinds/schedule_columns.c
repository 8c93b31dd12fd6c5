/*
 * schedule_columns.c - schedules a reduction down columns, such as the gradient of a bias.  An item
 * is a group of columns with all its rows, so no sum is shared by several threads.
 */
#include "compiler/ir/eval.h"
#include "compiler/ir/text.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "kinds.h"

struct columns {
    const struct cr_value *reduction;
    enum cr_format format;
    int64_t cols;    /* the most columns of an item */
    int lanes;       /* scratch slot of the partial results */
    int j0, n;       /* variables: the first column of an item, and its number of columns */
    struct cr_steps rows;
};

/* Appends the call of a reduction's function. */
static void call_reduction(struct cr_builder *b, const struct columns *c, enum cr_callee callee,
                           int n, const struct cr_argument *arguments)
{
    struct cr_call call = {.callee = callee, .format = c->format, .op = c->reduction->op};
    cr_do_call(b, cr_make_call(b, call, n, arguments));
}

/* Reduces a tile into the lanes.  Reads the operand in place if it is a load with contiguous
 * columns; otherwise computes it into scratch first. */
static void reduce_tile(struct cr_builder *b, const struct columns *c)
{
    const struct cr_kernel *k = b->k;
    struct cr_tiles program = {
        .values = k->program.values, .n = k->program.n - 1, .result = c->reduction->arg[0]};
    const struct cr_value *value = &program.values[program.result];
    struct cr_tile_job job = {.tiles = &program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = CR_LANES,
                              .max_cols = c->cols,
                              .first_row = c->rows.first,
                              .first_col = c->j0,
                              .rows = cr_var(b, c->rows.count),
                              .cols = cr_var(b, c->n)};
    bool in_place = value->source == CR_LOAD && !value->by_row && cr_coef(&value->at, k->col) == 1;
    if (in_place) {
        job.dest.address = cr_element(b, b->ref[value->ref], &value->at, k->row, c->rows.first,
                                      k->col, c->j0);
        job.dest.ld = cr_coef(&value->at, k->row);
    } else {
        int tile = cr_scratch(b, "tile", c->format, CR_LANES * c->cols, "what is reduced");
        job.dest = (struct cr_tile){cr_start_of(tile), c->cols};
        cr_schedule_tiles(b, &job);
    }
    const struct cr_argument down[] = {cr_x(job.rows), cr_x(job.cols),
                                       cr_at(cr_start_of(c->lanes)), cr_at(job.dest.address),
                                       cr_n(b, job.dest.ld)};
    call_reduction(b, c, CR_CALLEE_REDUCE_DOWN, 5, down);
}

/* Sets all elements of the sixteen lanes to the identity of the reduction, such as 0 for a sum. */
static void clear_lanes(struct cr_builder *b, const struct columns *c, int lanes)
{
    double identity = cr_identity(c->reduction->op, cr_formats[c->format].dtype);
    struct cr_argument start = cr_at(cr_start_of(cr_constant(b, c->format, identity)));
    struct cr_argument n = cr_x(cr_var(b, c->n));
    CR_CALL(b, CR_CALLEE_load, c->format, cr_n(b, CR_LANES), n, cr_at(cr_start_of(lanes)), n, start,
            cr_n(b, 0), cr_n(b, 0));
}

/* Reduces rows into the slot `lanes`: row r goes to lane r modulo 16.  If there are several blocks
 * of rows, each block has its own lanes, which are then reduced into `lanes` like sixteen rows. */
static void reduce_rows(struct cr_builder *b, struct columns *c, int lanes)
{
    const struct cr_kernel *k = b->k;
    enum { BLOCK = CR_SUM_BLOCK * CR_LANES };
    bool is_cut = cr_extent(k, k->row) > BLOCK;
    cr_expr first = cr_number(b, 0), last = cr_size(b, k->row);
    clear_lanes(b, c, lanes);
    c->lanes = lanes;
    if (is_cut) {
        struct cr_steps block = cr_begin_steps(b, "block0", "rows", first, last, BLOCK);
        c->lanes = cr_scratch(b, "block", c->format, CR_LANES * c->cols, "lanes of a block of rows");
        clear_lanes(b, c, c->lanes);
        first = cr_var(b, block.first);
        last = cr_binary(b, CR_EXPR_ADD, first, cr_var(b, block.count));
    }
    c->rows = cr_begin_steps(b, "row", "m", first, last, CR_LANES);
    reduce_tile(b, c);
    cr_end(b);
    if (is_cut) {
        struct cr_argument n = cr_x(cr_var(b, c->n));
        call_reduction(b, c, CR_CALLEE_REDUCE_DOWN, 5,
                       (const struct cr_argument[]){cr_n(b, CR_LANES), n, cr_at(cr_start_of(lanes)),
                                                    cr_at(cr_start_of(c->lanes)), n});
        cr_end(b);
    }
}

/* Schedules a reduction down columns in the order that runtime.h promises: row r goes to lane r
 * modulo 16, and the lanes are folded at the end. */
int64_t cr_schedule_columns(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    struct columns c = {.reduction = &k->program.values[k->program.result]};
    int64_t N = cr_extent(k, k->col), groups = cr_ceil_div(N, b->target->columns_cols);
    c.format = cr_format_of(b->g->nodes[c.reduction->node].dtype);
    c.cols = cr_min(N, cr_round_up(cr_ceil_div(N, groups), CR_PANEL_FLOATS));
    groups = cr_ceil_div(N, c.cols);
    int totals = cr_scratch(b, "lanes", c.format, CR_LANES * c.cols, "16 partial results a column");
    cr_begin_items(b, groups);
    struct cr_share j = cr_let_share(b, "col0", "col1", 1, groups, c.cols, cr_size(b, k->col));
    c.j0 = j.first;
    c.n = cr_let(b, "n", cr_share_size(b, &j));
    struct cr_argument n = cr_x(cr_var(b, c.n)), lanes = cr_at(cr_start_of(totals));
    reduce_rows(b, &c, totals);
    call_reduction(b, &c, CR_CALLEE_REDUCE_LANES, 2, (const struct cr_argument[]){n, lanes});
    CR_CALL(b, CR_CALLEE_store, c.format, cr_n(b, 1), n,
            cr_at(cr_result_at(b, &k->dest, -1, CR_NONE, k->col, c.j0)), cr_n(b, 0),
            cr_n(b, cr_coef(&k->dest, k->col)), lanes, cr_n(b, 0));
    cr_end_items(b);
    return cr_outer_items(k) * groups;
}

void cr_describe_columns(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = %s over ", cr_ops[k->program.values[k->program.result].op].name);
    cr_put_extent(text, b, k->row);
    cr_put(text, " rows of columns[");
    cr_put_extent(text, b, k->col);
    cr_put(text, "]");
}
