/*
 * A reduction down columns, such as the gradient of a bias.  An item is a group of columns,
 * over all rows, so that nothing is added up between threads.
 */
#include <stdio.h>

#include "compiler/ir/eval.h"
#include "parts.h"

/* Adds the tile's values to the lanes, those that are the same in every column spread first. */
static void print_tile(struct cr_printer *p, int64_t cols, const char *rows, const char *first)
{
    const struct cr_kernel *k = p->k;
    const struct cr_value *reduction = &k->program.values[k->program.result];
    struct cr_tiles program = {k->program.values, k->program.n - 1, reduction->arg[0]};
    const struct cr_value *value = &program.values[program.result];
    struct cr_tile_job job = {.tiles = &program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = COLUMNS_ROWS,
                              .max_cols = cols,
                              .first_row = first,
                              .first_col = "j0",
                              .rows = rows,
                              .cols = "n",
                              .indent = 12};
    enum cr_dtype dtype = p->g->nodes[reduction->node].dtype;
    bool in_place = value->source == CR_LOAD && !value->by_row && cr_step(&value->at, k->col) == 1;
    if (in_place) {
        cr_print_address(p, job.dest.address, sizeof job.dest.address, value->ref, &value->at,
                         k->row, first, k->col, "j0");
        job.dest.ld = cr_step(&value->at, k->row);
    } else {
        job.dest = (struct cr_tile_at){"tile", cols};
        cr_take_typed(p, "tile", dtype, COLUMNS_ROWS * cols, "what is reduced");
        cr_print_tiles(p, &job);
    }
    cr_put_line(p->text, 12, "rt->%s%s_down(%s, n, lanes, %s, %lld);", cr_family(dtype),
                cr_ops[reduction->op].name, rows, job.dest.address, (long long)job.dest.ld);
}

int64_t cr_print_columns_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    const struct cr_value *reduction = &k->program.values[k->program.result];
    enum cr_dtype dtype = p->g->nodes[reduction->node].dtype;
    const char *op = cr_ops[reduction->op].name, *family = cr_family(dtype);
    double empty;
    int64_t N = cr_extent(k, k->col), groups = cr_ceil_div(N, COLUMNS_COLS);
    int64_t cols = cr_min(N, cr_round_up(cr_ceil_div(N, groups), PANEL));
    char start[64], at[CR_ADDRESS_SIZE], end[32];
    groups = cr_ceil_div(N, cols);
    snprintf(end, sizeof end, "%lld", (long long)k->K);
    cr_take_typed(p, "lanes", dtype, COLUMNS_ROWS * cols, "16 partial results a column");
    cr_print_items(p, groups);
    cr_print_part(p, "j0", "j1", 1, groups, cols, N);
    cr_put(p->text, "        const long n = j1 - j0;\n");
    cr_reduction(reduction->op, dtype, &empty);
    cr_print_typed(p, start, sizeof start, dtype, empty);
    cr_put(p->text, "        rt->%sload(%d, n, lanes, n, %s, 0, 0);\n", family, COLUMNS_ROWS, start);
    cr_put(p->text, "        for (long i = 0; i < %s; i += %d) {\n", end, COLUMNS_ROWS);
    cr_print_count(p, 12, "m", "i", COLUMNS_ROWS, end);
    print_tile(p, cols, "m", "i");
    cr_put(p->text, "        }\n        rt->%s%s_lanes(n, lanes);\n", family, op);
    cr_print_address(p, at, sizeof at, -1, &k->dest, -1, "", k->col, "j0");
    cr_put_line(p->text, 8, "rt->%sstore(1, n, %s, 0, %lld, lanes, 0);", family, at,
                (long long)cr_step(&k->dest, k->col));
    cr_put(p->text, "    }\n");
    return cr_outer_items(k) * groups;
}
