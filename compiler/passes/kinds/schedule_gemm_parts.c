/* schedule_gemm_parts.c - functions that both kinds of matrix products share: sizes of calls,
 * loops, the prologue, and one call of gemm with the epilogue on its tile. */
#include <math.h>
#include <string.h>

#include "compiler/passes/fuse/in_place.h"
#include "schedule_gemm.h"

/* ---- sizes ---- */

/* Returns the number of rows of one call: two tiles of the micro-kernel (with AVX2 four of half the
 * height), full except in the last call.  A block of three tiles is one call, since two calls of
 * one and a half tiles would not fill their tiles. */
static int64_t step_rows(int64_t block, int64_t most)
{
    int64_t tiles = cr_ceil_div(block, most / 2);
    int64_t even = cr_ceil_div(block, cr_ceil_div(tiles, 2));
    int64_t full = cr_round_up(even, cr_max(1, most / 4));
    return tiles == 3 ? block : cr_min(block, full);
}

/* True if the runtime converts weights to f32 in a buffer, one strip of a panel at a time.  A call
 * then has twice as many rows, because each strip is converted once for all rows of the call. */
static bool widens_strips(const struct cr_gemm_loops *s)
{
    return s->arithmetic == CR_ARITHMETIC_f32 && cr_formats[s->weights].block > 1 &&
           cr_formats[s->weights].scale > 0;
}

/* A call has whole panels of columns.  Its usual width, gemm_step_cols (128), divides the usual
 * widths of models (768, 2304, 3072). */
void cr_cut_calls(struct cr_gemm_loops *s, const struct cr_target *target, int64_t most_cols)
{
    s->rows = step_rows(s->block, target->gemm_step_rows * (widens_strips(s) ? 2 : 1));
    int64_t cols = cr_min(target->gemm_step_floats / s->rows, most_cols);
    s->cols = cr_min(cr_max(cols / CR_PANEL_FLOATS * CR_PANEL_FLOATS, CR_PANEL_FLOATS),
                     cr_round_up(s->N, CR_PANEL_FLOATS));
}

/* ---- loops ---- */

void cr_begin_gemm_items(struct cr_builder *b, const struct cr_gemm_loops *s,
                         struct cr_gemm_vars *v)
{
    cr_parts_size(b, CR_TILE_COLUMNS, s->groups);
    cr_begin_items(b, s->blocks * s->groups);
    v->i_part = cr_let_share(b, "row0", "row1", s->groups, s->blocks, s->block,
                             cr_size(b, b->k->row));
    v->j_part = cr_let_share(b, "col0", "col1", 1, s->groups, s->group, cr_size(b, b->k->col));
}

struct cr_steps cr_begin_columns(struct cr_builder *b, const struct cr_gemm_loops *s,
                                 const struct cr_gemm_vars *v)
{
    return cr_begin_share(b, "col", "n", &v->j_part, s->cols, CR_NONE);
}

struct cr_steps cr_begin_rows(struct cr_builder *b, const struct cr_gemm_loops *s,
                              const struct cr_gemm_vars *v)
{
    return cr_begin_share(b, "row", "m", &v->i_part, s->rows, CR_NONE);
}

/* ---- rows of the left operand ---- */

enum cr_format cr_row_format(const struct cr_gemm_loops *s)
{
    const struct cr_arithmetic_info *a = &cr_arithmetics[s->arithmetic];
    return a->round == CR_CALLEE_COUNT ? CR_FORMAT_f32 : a->rows;
}

int64_t cr_rounded_units(const struct cr_gemm_loops *s)
{
    enum cr_format format = cr_row_format(s);
    return format == CR_FORMAT_f32 ? 0 : cr_column_units(format, s->K);
}

int cr_rounded_rows(struct cr_builder *b, const struct cr_gemm_loops *s)
{
    enum cr_format format = cr_row_format(s);
    return cr_scratch(b, "rounded", format, s->block * cr_block_rows(format, s->K),
                      "rounded rows of the left operand");
}

void cr_round_rows(struct cr_builder *b, const struct cr_gemm_loops *s,
                   const struct cr_gemm_vars *v, const struct cr_steps *i,
                   const struct cr_gemm_operand *rows, int slot)
{
    int64_t units = cr_rounded_units(s);
    struct cr_address to = cr_offset(b, cr_start_of(slot), i->first, v->i_part.first, units);
    CR_CALL(b, cr_arithmetics[s->arithmetic].round, CR_FORMAT_f32, cr_x(cr_var(b, i->count)),
            cr_x(cr_size(b, b->k->k)), cr_at(to), cr_n(b, units), cr_at(rows->address),
            cr_n(b, rows->row_step), cr_n(b, rows->k_step));
}

/* If rows are rounded, only the rows of one step are in scratch as floats. */
int cr_schedule_prologue(struct cr_builder *b, const struct cr_gemm_loops *s,
                         const struct cr_gemm_vars *v, cr_expr until)
{
    const struct cr_kernel *k = b->k;
    int64_t rows = cr_min(s->block, cr_max(1, b->target->tile_floats / s->K));
    bool rounds = cr_rounded_units(s) > 0;
    int slot = cr_scratch(b, "rows", CR_FORMAT_f32, (rounds ? rows : s->block) * s->K,
                          "rows of the left operand");
    int rounded = rounds ? cr_rounded_rows(b, s) : CR_NONE;
    struct cr_steps i = cr_begin_share(b, "row", "m", &v->i_part, rows, until);
    struct cr_tile_job job = {.tiles = &k->gemm.prologue,
                              .row = k->row,
                              .col = k->k,
                              .max_rows = rows,
                              .max_cols = s->K,
                              .first_row = i.first,
                              .first_col = CR_NONE,
                              .rows = cr_var(b, i.count),
                              .cols = cr_size(b, k->k),
                              .dest = {cr_start_of(slot), s->K}};
    if (!rounds)
        job.dest.address = cr_offset(b, job.dest.address, i.first, v->i_part.first, s->K);
    cr_schedule_tiles(b, &job);
    if (rounds)
        cr_round_rows(b, s, v, &i, &(struct cr_gemm_operand){job.dest.address, s->K, 1}, rounded);
    cr_end(b);
    return rounds ? rounded : slot;
}

/* ---- one call and its epilogue ---- */

/* True if a value is a load that does not depend on the row and is contiguous along columns. */
static bool is_row(const struct cr_kernel *k, const struct cr_value *row)
{
    bool contiguous = k->gemm.N == 1 || (!row->by_row && cr_coef(&row->at, k->col) == 1);
    return contiguous && !cr_coef(&row->at, k->row);
}

/* Returns the number of the only value of an epilogue that reads the product, or -1 if there are
 * several. */
static int first_op(const struct cr_tiles *epilogue)
{
    int core = -1, uses = 0, op = -1;
    for (int i = 0; i < epilogue->n; i++) {
        const struct cr_value *v = &epilogue->values[i];
        int arity = v->source == CR_MAP ? cr_ops[v->op].arity : 0;
        core = v->source == CR_CORE ? i : core;
        for (int a = 0; a < arity && core >= 0; a++) {
            uses += v->arg[a] == core;
            op = v->arg[a] == core ? i : op;
        }
    }
    return uses == 1 ? op : -1;
}

/*
 * If the epilogue's first op adds the same row of floats to all rows of the product, gemm can add
 * that row while the sums are in registers.  Then sets *bias to the row's address, and makes the
 * sum the core of the epilogue.  Gemm adds the row to the total, as the op does, so no bit changes.
 */
static bool take_bias(struct cr_builder *b, struct cr_tiles *epilogue, int col_var,
                      struct cr_address *bias)
{
    const struct cr_kernel *k = b->k;
    int sum = first_op(epilogue), core;
    if (sum < 0 || epilogue->values[sum].op != CR_OP_add)
        return false;
    struct cr_value *add = &epilogue->values[sum];
    core = epilogue->values[add->arg[0]].source == CR_CORE;
    const struct cr_value *row = &epilogue->values[add->arg[core]];
    if (row->source != CR_LOAD || !is_row(k, row) ||
        b->f->slots[b->ref[row->ref]].format != CR_FORMAT_f32)
        return false;
    *bias = cr_element(b, b->ref[row->ref], &row->at, -1, CR_NONE, k->col, col_var);
    add->source = CR_CORE;
    return true;
}

/* Returns the number of elementwise ops in an epilogue. */
static int count_maps(const struct cr_tiles *tiles)
{
    int n = 0;
    for (int i = 0; i < tiles->n; i++)
        n += tiles->values[i].source == CR_MAP;
    return n;
}

bool cr_needs_product(const struct cr_kernel *k)
{
    return cr_coef(&k->dest, k->col) != 1 || count_maps(&k->program) > 0;
}

/* Sets the destination of a tile in the result, whose columns may be strided. */
static void place_result(struct cr_builder *b, struct cr_tile_job *job)
{
    const struct cr_kernel *k = b->k;
    job->dest_strided = cr_coef(&k->dest, k->col) != 1;
    if (job->dest_strided)
        return;
    job->dest.address = cr_result_at(b, &k->dest, k->row, job->first_row, k->col, job->first_col);
    job->dest.ld = cr_coef(&k->dest, k->row);
}

/*
 * Chooses where gemm stores the product: in the result itself; or in scratch if the result's
 * columns are not contiguous, several ops follow, the result has integers, or it overwrites an
 * operand.  The stride of rows in scratch is not a power of two, so they do not conflict in the
 * cache.
 */
static void place_product(struct cr_builder *b, const struct cr_gemm_loops *s,
                          struct cr_tile_job *job)
{
    place_result(b, job);
    job->core = job->dest;
    if (job->dest_strided || (count_maps(job->tiles) > 1 && s->depth == s->K) ||
        cr_formats[b->f->slots[b->out].format].dtype == CR_I32 || b->writes_over) {
        int slot = cr_scratch(b, "product", CR_FORMAT_f32, s->rows * s->cols,
                              "a tile of the product");
        job->core = (struct cr_tile){cr_start_of(slot), s->cols};
    }
}

/* Adds a call of gemm: with streaming stores, for all of k, or for a part of k that continues from
 * the sums in the result. */
static void call_gemm(struct cr_builder *b, const struct cr_gemm_loops *s,
                      const struct cr_gemm_vars *v, const struct cr_gemm_operand *rows,
                      const struct cr_gemm_operand *panels, const struct cr_tile *c,
                      struct cr_argument bias)
{
    struct cr_argument m = cr_x(cr_var(b, v->i.count)), n = cr_x(cr_var(b, v->j.count));
    struct cr_argument row_step = cr_n(b, rows->row_step), k_step = cr_n(b, rows->k_step);
    struct cr_argument panel = cr_n(b, panels->k_step), ld = cr_n(b, c->ld);
    enum cr_format format = b->f->slots[panels->address.slot].format;
    struct cr_argument x = cr_at(rows->address), y = cr_at(panels->address);
    struct cr_argument to = cr_at(c->address), columns = cr_tile_columns(b);
    struct cr_argument ahead = cr_prefetch_distance(b);
    if (s->stream)
        CR_CALL(b, CR_CALLEE_gemm_stream, CR_FORMAT_f32, m, n, cr_x(cr_size(b, b->k->k)), x, row_step, k_step,
                y, panel, to, ld, columns, ahead);
    else if (s->arithmetic != CR_ARITHMETIC_f32)
        CR_CALL(b, cr_product_of(format, s->arithmetic), CR_FORMAT_f32, m, n,
                cr_x(cr_size(b, b->k->k)), x, row_step, y, panel, to, ld, ahead);
    else if (s->depth == s->K)
        CR_CALL(b, cr_formats[format].gemm, CR_FORMAT_f32, m, n, cr_x(cr_size(b, b->k->k)), x, row_step, k_step, y,
                panel, to, ld, cr_null, cr_n(b, 0), bias, columns, ahead);
    else
        CR_CALL(b, CR_CALLEE_gemm, CR_FORMAT_f32, m, n, cr_x(cr_var(b, v->k.count)), x, row_step,
                k_step, y, panel, to, ld, cr_at_if(c->address, cr_var(b, v->k.first)), ld, cr_null,
                columns, ahead);
}

/* Returns the job of the epilogue on the tile of one call; the caller sets `core` and `dest`. */
static struct cr_tile_job epilogue_job(struct cr_builder *b, const struct cr_gemm_loops *s,
                                       const struct cr_gemm_vars *v,
                                       const struct cr_tiles *epilogue)
{
    return (struct cr_tile_job){.tiles = epilogue,
                                .row = b->k->row,
                                .col = b->k->col,
                                .max_rows = s->rows,
                                .max_cols = s->cols,
                                .first_row = v->i.first,
                                .first_col = v->j.first,
                                .rows = cr_var(b, v->i.count),
                                .cols = cr_var(b, v->j.count)};
}

/* If the index selects no matrix of the stack, makes the product NaN, like the rows of a gather
 * with an invalid index.  The binding has the first matrix in this case. */
static void void_product(struct cr_builder *b, const struct cr_gemm_vars *v,
                         const struct cr_tile *product)
{
    const struct cr_kernel *k = b->k;
    if (!k->gemm.weights.choices)
        return;
    cr_expr number = cr_load(b, b->ref[k->gemm.weights.choice.ref], k->gemm.weights.choice.at.base);
    cr_expr below = cr_binary(b, CR_EXPR_LESS, number, cr_number(b, 0));
    cr_expr above =
        cr_binary(b, CR_EXPR_GREATER, number, cr_number(b, k->gemm.weights.choices - 1));
    cr_begin_if(b, cr_binary(b, CR_EXPR_OR, below, above), "there is no such matrix");
    CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_x(cr_var(b, v->i.count)),
            cr_x(cr_var(b, v->j.count)), cr_at(product->address), cr_n(b, product->ld),
            cr_at(cr_start_of(cr_constant(b, CR_FORMAT_f32, NAN))), cr_n(b, 0), cr_n(b, 0));
    cr_end(b);
}

void cr_schedule_gemm_tile(struct cr_builder *b, const struct cr_gemm_loops *s,
                           const struct cr_gemm_vars *v, const struct cr_gemm_operand *rows,
                           const struct cr_gemm_operand *panels)
{
    const struct cr_tiles *program = &b->k->program;
    struct cr_value values[CR_MAX_VALUES];
    struct cr_tiles epilogue = {.values = values, .n = program->n, .result = program->result};
    struct cr_address bias;
    memcpy(values, program->values, (size_t)program->n * sizeof *values);
    bool biased = s->arithmetic == CR_ARITHMETIC_f32 && s->depth == s->K &&
                  take_bias(b, &epilogue, v->j.first, &bias);
    struct cr_tile_job job = epilogue_job(b, s, v, &epilogue);
    place_product(b, s, &job);
    call_gemm(b, s, v, rows, panels, &job.core, biased ? cr_at(bias) : cr_null);
    void_product(b, v, &job.core);
    cr_schedule_tiles(b, &job);
}

void cr_schedule_gemm_part(struct cr_builder *b, const struct cr_gemm_vars *v,
                           const struct cr_gemm_operand *rows,
                           const struct cr_gemm_operand *panels, const struct cr_tile *sums)
{
    enum cr_format format = b->f->slots[panels->address.slot].format;
    struct cr_argument to = cr_at(sums->address), ld = cr_n(b, sums->ld);
    CR_CALL(b, cr_formats[format].gemm, CR_FORMAT_f32, cr_x(cr_var(b, v->i.count)),
            cr_x(cr_var(b, v->j.count)), cr_x(cr_var(b, v->k.count)), cr_at(rows->address),
            cr_n(b, rows->row_step), cr_n(b, rows->k_step), cr_at(panels->address),
            cr_n(b, panels->k_step), to, ld, cr_at_if(sums->address, cr_var(b, v->k.first)), ld, cr_null,
            cr_tile_columns(b), cr_prefetch_distance(b));
}

void cr_schedule_epilogue(struct cr_builder *b, const struct cr_gemm_loops *s,
                          const struct cr_gemm_vars *v, const struct cr_tile *sums)
{
    struct cr_tile_job job = epilogue_job(b, s, v, &b->k->program);
    place_result(b, &job);
    job.core = *sums;
    void_product(b, v, sums);
    cr_schedule_tiles(b, &job);
}
