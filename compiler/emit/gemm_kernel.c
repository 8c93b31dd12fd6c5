/*
 * A matrix product with what comes before and after it: rows of the left operand computed
 * into scratch, the right operand packed, and an epilogue on each tile while it is in the
 * first-level cache.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"

/* How the loops of a GEMM are cut. */
struct gemm_shape {
    int64_t M, N, K;
    int64_t block; /* rows of an item */
    int64_t blocks;
    int64_t group; /* columns of an item */
    int64_t groups;
    int64_t rows, cols; /* of one call */
};

/* Rows of one call: two tiles of the micro-kernel, or three if that is all there are, since
 * two calls of one and a half would leave the tiles low. */
static int64_t step_rows(int64_t block)
{
    int64_t tiles = cr_ceil_div(block, GEMM_STEP_ROWS / 2);
    return tiles == 3 ? block : cr_ceil_div(block, cr_ceil_div(tiles, 2));
}

/* Columns of one call: whole panels, so few that they stay in the second-level cache while
 * rows go by.  The most, 128, cuts the widths of models (768, 2304, 3072 ...) without a rest. */
static int64_t step_cols(int64_t rows, int64_t N, int64_t K)
{
    int64_t cols = cr_min(GEMM_STEP_FLOATS / rows, GEMM_STEP_COLS);
    if (rows > GEMM_FEW_ROWS)
        cols = cr_min(cols, GEMM_PANEL_FLOATS / K);
    return cr_min(cr_max(cols / PANEL * PANEL, PANEL), cr_round_up(N, PANEL));
}

static struct gemm_shape gemm_shape(const struct cr_kernel *k)
{
    struct gemm_shape s = {.M = cr_extent(k, k->row), .N = k->N, .K = k->K};
    int64_t fit = GEMM_ROWS_FLOATS / s.K / GEMM_STEP_ROWS * GEMM_STEP_ROWS;
    int64_t most = cr_max(GEMM_STEP_ROWS, cr_min(GEMM_MOST_ROWS, fit));
    s.blocks = k->packed == CR_NONE ? 1 : cr_ceil_div(s.M, most);
    s.block = cr_ceil_div(s.M, s.blocks);
    s.rows = step_rows(s.block);
    s.cols = step_cols(s.rows, s.N, s.K);
    int64_t steps = cr_ceil_div(s.N, s.cols);
    int64_t wanted = cr_ceil_div(GEMM_ITEMS, cr_outer_items(k) * s.blocks);
    s.group = cr_max(1, steps / wanted) * s.cols;
    s.groups = cr_ceil_div(s.N, s.group);
    return s;
}

/* The rows of A for rows i0 to i1, computed into scratch when an item begins a new block. */
static void print_prologue(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = cr_min(s->block, cr_max(1, TILE_FLOATS / s->K));
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)s->K);
    const char *all = s->groups == 1 ? "" : " && (item == begin || j0 == 0)";
    cr_put(p->text, "        for (long i = i0; i < i1%s; i += %lld) {\n", all, (long long)rows);
    cr_print_count(p, 12, "m", "i", rows, "i1");
    struct cr_tile_job job = {.tiles = &k->prologue,
                              .row = k->row,
                              .col = k->k,
                              .max_rows = rows,
                              .max_cols = s->K,
                              .first_row = "i",
                              .first_col = "0",
                              .rows = "m",
                              .cols = count,
                              .indent = 12};
    snprintf(job.dest.address, sizeof job.dest.address, "rows + (i - i0) * %lld", (long long)s->K);
    job.dest.ld = s->K;
    cr_print_tiles(p, &job);
    cr_put(p->text, "        }\n");
}

/* The arguments of gemm for its left operand, and of the panels of its right one. */
static void print_gemm_operands(struct cr_printer *p, const struct gemm_shape *s, char *rows,
                                char *panels, size_t size)
{
    const struct cr_kernel *k = p->k;
    long long K = s->K;
    char at[CR_ADDRESS_SIZE];
    if (k->prologue.n) {
        snprintf(rows, size, "rows + (i - i0) * %lld, %lld, 1", K, K);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(rows, size, "%s, %lld, %lld", at, (long long)cr_step(&k->a.at, k->row),
                 (long long)cr_step(&k->a.at, k->k));
    }
    if (k->packed == CR_NONE)
        snprintf(panels, size, "panels + (j - j0) * %lld", K);
    else
        snprintf(panels, size, "a->w + j * %lld", K);
}

/* Packs the columns of an item that are no weights. */
static void print_pack_columns(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    cr_take_scratch(p, "panels", s->K * cr_round_up(s->group, PANEL), "packed columns");
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", k->col, "j0");
    cr_put_line(p->text, 8, "rt->pack(%lld, j1 - j0, panels, %lld, %s, %lld, %lld);",
                (long long)s->K, (long long)(s->K * PANEL), at, (long long)cr_step(&k->b.at, k->k),
                (long long)cr_step(&k->b.at, k->col));
}

/*
 * If the first that happens to the product is that a row is added to all its rows, the
 * product can begin with that row: returns its address, and makes the sum the core of the
 * epilogue.  Else returns "0".
 */
static void take_bias(struct cr_printer *p, struct cr_tiles *epilogue, char *bias, size_t size)
{
    const struct cr_kernel *k = p->k;
    int core = -1, uses = 0, sum = -1;
    snprintf(bias, size, "0");
    for (int i = 0; i < epilogue->n; i++) {
        const struct cr_value *v = &epilogue->values[i];
        int arity = v->source == CR_MAP ? cr_ops[v->op].arity : 0;
        core = v->source == CR_CORE ? i : core;
        for (int a = 0; a < arity && core >= 0; a++) {
            uses += v->arg[a] == core;
            sum = v->arg[a] == core ? i : sum;
        }
    }
    if (uses != 1 || epilogue->values[sum].op != CR_OP_add)
        return;
    struct cr_value *add = &epilogue->values[sum];
    const struct cr_value *row = &epilogue->values[add->arg[add->arg[0] == core]];
    if (row->source != CR_LOAD || row->by_row || cr_step(&row->at, k->row) ||
        cr_step(&row->at, k->col) != 1 || p->g->nodes[k->refs[row->ref]].dtype != CR_F32)
        return;
    cr_print_address(p, bias, size, row->ref, &row->at, -1, "", k->col, "j");
    add->source = CR_CORE;
}

/* Ops left in an epilogue. */
static int count_maps(const struct cr_tiles *tiles)
{
    int n = 0;
    for (int i = 0; i < tiles->n; i++)
        n += tiles->values[i].source == CR_MAP;
    return n;
}

/* Where the product goes: to its place if there is little left to do to it, else to scratch,
 * where rows do not lie a power of two apart and fall on each other in the cache. */
static void place_product(struct cr_printer *p, const struct gemm_shape *s, struct cr_tile_job *job)
{
    const struct cr_kernel *k = p->k;
    job->dest_strided = cr_step(&k->dest, k->col) != 1;
    if (!job->dest_strided) {
        cr_print_address(p, job->dest.address, sizeof job->dest.address, -1, &k->dest, k->row, "i",
                         k->col, "j");
        job->dest.ld = cr_step(&k->dest, k->row);
    }
    job->core = job->dest;
    if (job->dest_strided || count_maps(job->tiles) > 1) {
        cr_take_scratch(p, "product", s->rows * s->cols, "a tile of the product");
        job->core = (struct cr_tile_at){"product", s->cols};
    }
}

/* The call of gemm and the epilogue on the tile it made. */
static void print_product(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    char rows[256], panels[256], bias[CR_ADDRESS_SIZE];
    struct cr_value values[CR_MAX_VALUES];
    struct cr_tiles epilogue = {values, k->program.n, k->program.result};
    memcpy(values, k->program.values, (size_t)k->program.n * sizeof *values);
    take_bias(p, &epilogue, bias, sizeof bias);
    struct cr_tile_job job = {.tiles = &epilogue,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = s->rows,
                              .max_cols = s->cols,
                              .first_row = "i",
                              .first_col = "j",
                              .rows = "m",
                              .cols = "n",
                              .indent = 16};
    place_product(p, s, &job);
    print_gemm_operands(p, s, rows, panels, sizeof rows);
    cr_put_line(p->text, 16, "rt->gemm(m, n, %lld, %s, %s, %lld, %s, %lld, %s, 0);",
                (long long)s->K, rows, panels, (long long)(s->K * PANEL), job.core.address,
                (long long)job.core.ld, bias);
    cr_print_tiles(p, &job);
}

int64_t cr_print_gemm_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct gemm_shape s = gemm_shape(k);
    struct cr_text *t = p->text;
    if (k->prologue.n)
        cr_take_scratch(p, "rows", s.block * s.K, "rows of the left operand");
    cr_print_items(p, s.blocks * s.groups);
    cr_print_part(p, "i0", "i1", s.groups, s.blocks, s.block, s.M);
    cr_print_part(p, "j0", "j1", 1, s.groups, s.group, s.N);
    if (k->prologue.n)
        print_prologue(p, &s);
    if (k->packed == CR_NONE)
        print_pack_columns(p, &s);
    cr_put(t, "        for (long j = j0; j < j1; j += %lld) {\n", (long long)s.cols);
    cr_print_count(p, 12, "n", "j", s.cols, "j1");
    cr_put(t, "            for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    cr_print_count(p, 16, "m", "i", s.rows, "i1");
    print_product(p, &s);
    cr_put(t, "            }\n        }\n    }\n");
    return cr_outer_items(k) * s.blocks * s.groups;
}
