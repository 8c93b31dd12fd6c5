/* Elementwise work and row reductions, on tiles of rows. */
#include <stdio.h>

#include "parts.h"

static bool reduces(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_REDUCE)
            return true;
    return false;
}

/* Whether nothing in the program has columns. */
static bool all_by_row(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (!tiles->values[i].by_row)
            return false;
    return true;
}

int64_t cr_print_tile_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    int64_t M = cr_extent(k, k->row), N = cr_extent(k, k->col);
    bool cut = !reduces(&k->program) && N > TILE_COLS;
    int64_t cols = cut ? TILE_COLS : N;
    int64_t rows = cr_min(M, cr_max(1, TILE_FLOATS / (all_by_row(&k->program) ? 1 : cols)));
    int64_t blocks = cr_ceil_div(M, rows);
    char count[32], end[32];
    snprintf(count, sizeof count, "%lld", (long long)N);
    snprintf(end, sizeof end, "%lld", (long long)M);
    cr_print_items(p, blocks);
    if (blocks > 1) {
        cr_put(p->text, "        const long i = ");
        cr_print_digit(p, 1, blocks, k->n_outer == 0);
        cr_put(p->text, " * %lld;\n", (long long)rows);
        cr_print_count(p, 8, "m", "i", rows, end);
    }
    if (cut) {
        cr_put(p->text, "        for (long j = 0; j < %lld; j += %lld) {\n", (long long)N,
               (long long)cols);
        cr_print_count(p, 12, "n", "j", cols, count);
    }
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = rows,
                              .max_cols = cols,
                              .first_row = blocks > 1 ? "i" : "0",
                              .first_col = cut ? "j" : "0",
                              .rows = blocks > 1 ? "m" : end,
                              .cols = cut ? "n" : count,
                              .dest_strided = cr_step(&k->dest, k->col) != 1,
                              .indent = cut ? 12 : 8};
    job.dest.ld = cr_step(&k->dest, k->row);
    cr_print_address(p, job.dest.address, sizeof job.dest.address, -1, &k->dest, k->row,
                     job.first_row, k->col, job.first_col);
    cr_print_tiles(p, &job);
    cr_put(p->text, cut ? "        }\n    }\n" : "    }\n");
    return cr_outer_items(k) * blocks;
}
