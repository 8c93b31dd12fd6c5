/* schedule_tile.c - schedules elementwise ops and row reductions on tiles of rows. */
#include "compiler/ir/text.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "kinds.h"

/* True if a value gathers rows of a table in a block format, so that the row's columns cannot be
 * split anywhere. */
static bool gathers_blocks(const struct cr_builder *b)
{
    const struct cr_tiles *tiles = &b->k->program;
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_GATHER &&
            cr_formats[b->f->slots[b->ref[tiles->values[i].ref]].format].block > 1)
            return true;
    return false;
}

/* True if every value of the program has one number a row. */
static bool all_by_row(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (!tiles->values[i].by_row)
            return false;
    return true;
}

/* Declares the row that an item of a write stores to, and begins an `if` that is true if the state
 * has this row. */
static struct cr_written_row begin_written_row(struct cr_builder *b)
{
    const struct cr_kernel_write *w = &b->k->write;
    const cr_id root = b->k->root;
    const int size = b->node_sizes ? b->node_sizes[root][b->g->nodes[root].axis] : 0;
    struct cr_written_row written = {.dest = b->k->dest, .step = w->step};
    cr_expr at = w->at.ref < 0 ? cr_number(b, w->at.at.base)
                               : cr_load(b, b->ref[w->at.ref], w->at.at.base);
    cr_expr row = cr_affine_value(b, &w->row, -1, CR_NONE, -1, CR_NONE);
    int64_t number;
    if (cr_number_of(b, row, &number) && number == 0)
        written.var = cr_let(b, "to", at);
    else /* the minimum of `at` and the rows, so that the sum cannot overflow */
        written.var = cr_let(b, "to", cr_binary(b, CR_EXPR_ADD, row,
                                                cr_binary(b, CR_EXPR_MIN, at,
                                                          cr_named_number(b, w->rows, size))));
    cr_expr begins = cr_binary(b, CR_EXPR_GREATER, cr_var(b, written.var), cr_number(b, -1));
    cr_expr ends = cr_binary(b, CR_EXPR_LESS, cr_var(b, written.var),
                             cr_named_number(b, w->rows, size));
    cr_begin_if(b, cr_binary(b, CR_EXPR_AND, begins, ends), NULL);
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        written.dest.coef[a] -= w->row.coef[a] * w->step;
    return written;
}

/* Returns the job that computes all rows and columns of the kernel. */
static struct cr_tile_job whole_job(struct cr_builder *b, int64_t rows, int64_t cols)
{
    const struct cr_kernel *k = b->k;
    return (struct cr_tile_job){.tiles = &k->program,
                                .row = k->row,
                                .col = k->col,
                                .max_rows = rows,
                                .max_cols = cols,
                                .first_row = CR_NONE,
                                .first_col = CR_NONE,
                                .rows = cr_size(b, k->row),
                                .cols = cr_size(b, k->col),
                                .dest_strided = cr_coef(&k->dest, k->col) != 1};
}

/* Restricts a job to the block of rows of one item.  If the number of rows is a length, an item's
 * block may be past the last row.  Then begins a loop that runs zero times for such an item, and
 * returns true.  Without outer loops the length determines the number of items, so this does not
 * occur. */
static bool begin_block(struct cr_builder *b, struct cr_tile_job *job, int64_t blocks)
{
    const struct cr_kernel *k = b->k;
    int64_t rows = job->max_rows;
    if (blocks == 1)
        return false;
    if (cr_length_of(k, k->row)) {
        if (k->n_outer == 0)
            b->items = cr_count_steps(b, job->rows, rows, cr_tile_size(b, CR_TILE_ROWS, 0, rows));
        struct cr_share share = cr_let_share(b, "row0", "row1", 1, blocks, rows, job->rows);
        struct cr_steps i = cr_begin_share(b, "row", "m", &share, rows, CR_NONE);
        job->first_row = i.first;
        job->rows = cr_var(b, i.count);
        return true;
    }
    int size = cr_tile_size(b, CR_TILE_ROWS, 0, rows);
    cr_add_item_part(b, job->rows, rows, size);
    cr_expr block = cr_digit(b, 1, blocks, k->n_outer == 0);
    job->first_row = cr_let(b, "row", cr_binary(b, CR_EXPR_MUL, block, cr_named_number(b, rows, size)));
    bool even = cr_extent(k, k->row) % rows == 0;
    job->rows = even ? cr_named_number(b, rows, size)
                     : cr_var(b, cr_let_count(b, "m", job->first_row, rows, size, job->rows));
    return false;
}

/* Begins a loop over the columns of a job, at most job->max_cols at a time. */
static void begin_columns(struct cr_builder *b, struct cr_tile_job *job)
{
    struct cr_steps j =
        cr_begin_steps(b, "col", "n", cr_number(b, 0), job->cols, job->max_cols);
    job->first_col = j.first;
    job->cols = cr_var(b, j.count);
}

/*
 * Schedules a tile kernel; an item is a block of rows.  If rows are wide and not reduced, columns
 * are cut into groups and an item is one row: several rows would be reads from several places of
 * each array, which a processor prefetches late.
 */
int64_t cr_schedule_tile(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    const struct cr_affine *dest = &k->dest;
    int64_t M = cr_extent(k, k->row), N = cr_extent(k, k->col);
    bool cut = !cr_tiles_reduce(&k->program) && !gathers_blocks(b) && N > b->target->tile_cols;
    bool write = k->kind == CR_KERNEL_WRITE;
    int64_t cols = cut ? b->target->tile_cols : N, floats = cut ? cols : b->target->tile_floats;
    int64_t rows = cr_min(M, cr_max(1, floats / (all_by_row(&k->program) ? 1 : cols)));
    int64_t blocks = cr_ceil_div(M, rows);
    struct cr_written_row written;
    cr_begin_items(b, blocks);
    struct cr_tile_job job = whole_job(b, rows, cols);
    if (write) {
        written = begin_written_row(b);
        job.written = &written;
        dest = &written.dest;
    }
    bool loop = begin_block(b, &job, blocks);
    if (cut)
        begin_columns(b, &job);
    job.dest.ld = cr_coef(&k->dest, k->row);
    job.dest.address = cr_result_at(b, dest, k->row, job.first_row, k->col, job.first_col);
    if (write)
        job.dest.address = cr_offset(b, job.dest.address, written.var, CR_NONE, written.step);
    cr_schedule_tiles(b, &job);
    for (int open = cut + loop + write; open > 0; open--)
        cr_end(b);
    cr_end_items(b);
    return cr_outer_items(k) * blocks;
}

void cr_describe_tile(struct cr_text *text, const struct cr_builder *b)
{
    (void)text, (void)b; /* the list of the program's ops is description enough */
}

int64_t cr_schedule_write(struct cr_builder *b)
{
    return cr_schedule_tile(b);
}

void cr_describe_write(struct cr_text *text, const struct cr_builder *b)
{
    (void)b;
    cr_put(text, ", of which rows are written");
}
