/* Elementwise work and row reductions, on tiles of rows. */
#include "compiler/ir/text.h"
#include "schedule_parts.h"

static bool reduces(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_REDUCE)
            return true;
    return false;
}

/* True if every value of the program is one number a row. */
static bool all_by_row(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (!tiles->values[i].by_row)
            return false;
    return true;
}

/* An item is a block of rows; wide rows are done some columns at a time unless they are reduced. */
int64_t cr_schedule_tile(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    int64_t M = cr_extent(k, k->row), N = cr_extent(k, k->col);
    bool cut = !reduces(&k->program) && N > b->target->tile_cols;
    int64_t cols = cut ? b->target->tile_cols : N, floats = b->target->tile_floats;
    int64_t rows = cr_min(M, cr_max(1, floats / (all_by_row(&k->program) ? 1 : cols)));
    int64_t blocks = cr_ceil_div(M, rows);
    bool past = blocks > 1 && k->atoms.length[k->row]; /* there may be blocks past a length */
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = rows,
                              .max_cols = cols,
                              .first_row = CR_NONE,
                              .first_col = CR_NONE,
                              .rows = cr_size(b, k->row),
                              .cols = cr_size(b, k->col),
                              .dest_strided = cr_coef(&k->dest, k->col) != 1};
    cr_begin_items(b, blocks);
    if (past) {
        struct cr_share share = cr_let_share(b, "i0", "i1", 1, blocks, rows, job.rows);
        struct cr_steps i = cr_begin_steps(b, "i", "m", cr_var(b, share.first),
                                           cr_var(b, share.last), rows, CR_NONE);
        job.first_row = i.first;
        job.rows = cr_var(b, i.count);
    } else if (blocks > 1) {
        cr_expr block = cr_digit(b, 1, blocks, k->n_outer == 0);
        job.first_row = cr_let(b, "i", cr_binary(b, CR_EXPR_MUL, block, cr_number(b, rows)));
        job.rows = cr_var(b, cr_let_count(b, "m", job.first_row, rows, job.rows));
    }
    if (cut) {
        struct cr_steps j =
            cr_begin_steps(b, "j", "n", cr_number(b, 0), job.cols, cols, CR_NONE);
        job.first_col = j.first;
        job.cols = cr_var(b, j.count);
    }
    job.dest.ld = cr_coef(&k->dest, k->row);
    job.dest.address =
        cr_result_at(b, &k->dest, k->row, job.first_row, k->col, job.first_col);
    cr_schedule_tiles(b, &job);
    if (cut)
        cr_end(b);
    if (past)
        cr_end(b);
    cr_end_items(b);
    return cr_outer_items(k) * blocks;
}

void cr_describe_tile(struct cr_text *text, const struct cr_kernel *kernel)
{
    (void)text, (void)kernel; /* its ops say it all */
}
