/*
 * A matrix product with what comes before and after it: rows of the left operand computed
 * into scratch, the right operand packed, and an epilogue on each tile while it is in the
 * first-level cache.
 */
#include "gemm.h"

#include <stdio.h>
#include <string.h>

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

void cr_cut_calls(struct cr_gemm_loops *s)
{
    s->rows = step_rows(s->block);
    s->cols = step_cols(s->rows, s->N, s->depth);
}

static struct cr_gemm_loops cut(const struct cr_kernel *k)
{
    struct cr_gemm_loops s = {.M = cr_extent(k, k->row), .N = k->N, .K = k->K};
    s.depth = s.K;
    s.indent = 8;
    int64_t fit = GEMM_ROWS_FLOATS / s.K / GEMM_STEP_ROWS * GEMM_STEP_ROWS;
    int64_t most = cr_max(GEMM_STEP_ROWS, cr_min(GEMM_MOST_ROWS, fit));
    s.blocks = cr_ceil_div(s.M, most);
    s.block = cr_ceil_div(s.M, s.blocks);
    cr_cut_calls(&s);
    int64_t steps = cr_ceil_div(s.N, s.cols);
    int64_t wanted = cr_ceil_div(GEMM_ITEMS, cr_outer_items(k) * s.blocks);
    s.group = cr_max(1, steps / wanted) * s.cols;
    s.groups = cr_ceil_div(s.N, s.group);
    return s;
}

void cr_print_prologue(struct cr_printer *p, const struct cr_gemm_loops *s, const char *condition)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = cr_min(s->block, cr_max(1, TILE_FLOATS / s->K));
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)s->K);
    cr_take_scratch(p, "rows", s->block * s->K, "rows of the left operand");
    cr_put(p->text, "        for (long i = i0; i < i1%s; i += %lld) {\n", condition,
           (long long)rows);
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

/*
 * If the first that happens to the product is that a vector is added to all its rows, the
 * product can begin with it: `bias` is its address, and the sum becomes the core of the epilogue.
 * Else "0".  It goes by the node's rank, as a product of a single row could begin with any
 * operand, and a row would have other bits alone than among others.
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
    if (row->source != CR_LOAD || !row->vector || row->by_row || cr_step(&row->at, k->row) ||
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
static void place_product(struct cr_printer *p, const struct cr_gemm_loops *s,
                          struct cr_tile_job *job)
{
    const struct cr_kernel *k = p->k;
    job->dest_strided = cr_step(&k->dest, k->col) != 1;
    if (!job->dest_strided) {
        cr_print_address(p, job->dest.address, sizeof job->dest.address, -1, &k->dest, k->row, "i",
                         k->col, "j");
        job->dest.ld = cr_step(&k->dest, k->row);
    }
    job->core = job->dest;
    if (job->dest_strided || (count_maps(job->tiles) > 1 && s->depth == s->K)) {
        cr_take_scratch(p, "product", s->rows * s->cols, "a tile of the product");
        job->core = (struct cr_tile_at){"product", s->cols};
    }
}

bool cr_needs_product(const struct cr_kernel *k)
{
    return cr_step(&k->dest, k->col) != 1 || count_maps(&k->program) > 0;
}

/* The call of gemm. */
static void print_call(struct cr_printer *p, const struct cr_gemm_loops *s, const char *rows,
                       const char *panels, const struct cr_tile_at *c, const char *bias)
{
    if (s->stream)
        cr_put_line(p->text, s->indent + 8, "rt->gemm_stream(m, n, %lld, %s, %s, %s, %lld);",
                    (long long)s->K, rows, panels, c->address, (long long)c->ld);
    else if (s->depth == s->K)
        cr_put_line(p->text, s->indent + 8, "rt->gemm(m, n, %lld, %s, %s, %s, %lld, %s, 0);",
                    (long long)s->K, rows, panels, c->address, (long long)c->ld, bias);
    else
        cr_put_line(p->text, s->indent + 8,
                    "rt->gemm(m, n, d, %s, %s, %s, %lld, k0 ? %s : 0, %lld);", rows, panels,
                    c->address, (long long)c->ld, c->address, (long long)c->ld);
}

void cr_print_gemm_tile(struct cr_printer *p, const struct cr_gemm_loops *s, const char *rows,
                        const char *panels)
{
    const struct cr_kernel *k = p->k;
    char bias[CR_ADDRESS_SIZE];
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
                              .indent = s->indent + 8};
    place_product(p, s, &job);
    print_call(p, s, rows, panels, &job.core, bias);
    cr_print_tiles(p, &job);
}

void cr_print_columns_loop(struct cr_printer *p, const struct cr_gemm_loops *s, int indent)
{
    cr_put(p->text, "%*sfor (long j = j0; j < j1; j += %lld) {\n", indent, "", (long long)s->cols);
    cr_print_count(p, indent + 4, "n", "j", s->cols, "j1");
}

void cr_print_rows_loop(struct cr_printer *p, const struct cr_gemm_loops *s, int indent)
{
    cr_put(p->text, "%*sfor (long i = i0; i < i1; i += %lld) {\n", indent, "", (long long)s->rows);
    cr_print_count(p, indent + 4, "m", "i", s->rows, "i1");
}

int64_t cr_print_gemm_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct cr_gemm_loops s = cut(k);
    char rows[CR_ADDRESS_SIZE + 64], panels[64], at[CR_ADDRESS_SIZE];
    long long K = s.K;
    cr_print_items(p, s.blocks * s.groups);
    cr_print_part(p, "i0", "i1", s.groups, s.blocks, s.block, s.M);
    cr_print_part(p, "j0", "j1", 1, s.groups, s.group, s.N);
    if (k->prologue.n) { /* when an item begins a new block */
        cr_print_prologue(p, &s, s.groups == 1 ? "" : " && (item == begin || j0 == 0)");
        snprintf(rows, sizeof rows, "rows + (i - i0) * %lld, %lld, 1", K, K);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(rows, sizeof rows, "%s, %lld, %lld", at, (long long)cr_step(&k->a.at, k->row),
                 (long long)cr_step(&k->a.at, k->k));
    }
    snprintf(panels, sizeof panels, "a->w + j * %lld, %lld", K, K * PANEL);
    cr_print_columns_loop(p, &s, s.indent);
    cr_print_rows_loop(p, &s, s.indent + 4);
    cr_print_gemm_tile(p, &s, rows, panels);
    cr_put(p->text, "            }\n        }\n    }\n");
    return cr_outer_items(k) * s.blocks * s.groups;
}
