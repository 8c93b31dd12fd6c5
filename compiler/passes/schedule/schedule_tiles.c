#include "schedule_tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "combined_ops.h"
#include "compiler/ir/identifiers.h"

/* The location of a value at run time. */
struct spot {
    struct cr_address address;
    int64_t ld;  /* row stride of a tile; if by_row, the stride of the numbers, or 0 if they are all
                    the same */
    bool by_row; /* the value has one number a row */
    enum cr_format format;
    int temp; /* the number of the temporary that holds it, or -1 */
};

/* The kinds of values for which a temporary is large enough. */
enum room { TILE, ROW_NUMBERS, DIAGONAL, ROWS };

/* A temporary: a scratch slot, which is reused when the value in it is dead. */
struct temp {
    int slot;
    bool integers; /* true for i32, false for floats */
    enum room room;
    bool busy;
};

struct tiling {
    struct cr_builder *b;
    const struct cr_tile_job *job;
    struct cr_tile_value shapes[CR_MAX_VALUES];
    struct spot spots[CR_MAX_VALUES];
    struct cr_combined combined[CR_MAX_VALUES];
    int last_use[CR_MAX_VALUES];
    struct temp temps[CR_MAX_VALUES];
    int n_temps;
    char role[24]; /* the role of the value that is being computed, such as "mean" */
    const char *roles[CR_MAX_VALUES]; /* by value: the value's role, or null */
    int rows; /* the variable that holds job->rows if that is an expression, or CR_NONE */
};

/* ---- temporaries ---- */

static int64_t coef(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

static bool is_integers(enum cr_format format)
{
    return cr_formats[format].dtype == CR_I32;
}

/* Writes the number `most`, the rows or columns of the largest tile.  If all tiles have this size,
 * and the size has a name, writes the name. */
static void put_most(const struct tiling *t, int64_t most, cr_expr size, char text[128])
{
    const struct cr_expr_node *e = &t->b->f->exprs[size];
    int name = e->op == CR_EXPR_NUMBER && e->number == most ? e->size : 0;
    if (e->op == CR_EXPR_VAR)
        name = t->b->f->vars[e->a].most;
    if (name)
        cr_size_text(cr_named_sizes_of(t->b->g), name, text, 128);
    else
        snprintf(text, 128, "%lld", (long long)most);
}

/* Declares another temporary, large enough for the largest tile.  The first letter of its name
 * tells what it holds: t0 a tile, r0 one number a row, d0 one number a diagonal, w0 whole rows of
 * CR_MAX_PARTS tiles; ti0, ri0, di0 and wi0 hold i32. */
static void add_temp(struct tiling *t, enum cr_format format, enum room room)
{
    char name[32], what[300], rows_text[128], cols_text[128];
    int64_t rows = t->job->max_rows, cols = t->job->max_cols;
    const int64_t elements[] = {rows * cols, rows, rows + cols - 1, rows * cols * CR_MAX_PARTS};
    bool integers = is_integers(format);
    put_most(t, rows, t->job->rows, rows_text);
    put_most(t, cols, t->job->cols, cols_text);
    snprintf(name, sizeof name, "%c%s%d", "trdw"[room], integers ? "i" : "", t->b->n_temps++);
    if (room == TILE)
        snprintf(what, sizeof what, "[%s, %s]", rows_text, cols_text);
    else if (room == ROWS)
        snprintf(what, sizeof what, "[%s, %lld]", rows_text, (long long)(cols * CR_MAX_PARTS));
    else if (room == ROW_NUMBERS)
        snprintf(what, sizeof what, "[%s], one number a row", rows_text);
    else
        snprintf(what, sizeof what, "[%lld], one number a diagonal", (long long)elements[room]);
    int slot = cr_scratch(t->b, name, format, elements[room], what);
    t->temps[t->n_temps++] = (struct temp){slot, integers, room, false};
}

/* Assigns a free temporary of the right type and room to a value; declares one if none is free. */
static void take_room(struct tiling *t, struct spot *spot, enum room room)
{
    bool integers = is_integers(spot->format);
    int i = 0;
    while (i < t->n_temps && (t->temps[i].busy || t->temps[i].room != room ||
                              t->temps[i].integers != integers))
        i++;
    if (i == t->n_temps)
        add_temp(t, spot->format, room);
    t->temps[i].busy = true;
    spot->address = cr_start_of(t->temps[i].slot);
    spot->address.name = cr_name_value(t->b, t->temps[i].slot, t->role);
    spot->temp = i;
}

static void take_temp(struct tiling *t, struct spot *spot, bool by_row)
{
    take_room(t, spot, by_row ? ROW_NUMBERS : TILE);
    spot->ld = by_row ? 1 : t->job->max_cols;
    spot->by_row = by_row;
}

/* Frees the temporaries of the values whose last use is value i. */
static void free_dead(struct tiling *t, int i)
{
    for (int v = 0; v < i; v++) {
        struct spot *spot = &t->spots[v];
        if (t->last_use[v] == i && spot->temp >= 0) {
            t->temps[spot->temp].busy = false;
            spot->temp = -1;
        }
    }
}

/* Sets the last use of each value.  A value computed by a combined function uses only its tile
 * operands; the numbers are constants. */
static void find_last_uses(struct tiling *t)
{
    const struct cr_tiles *tiles = t->job->tiles;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_combined *c = &t->combined[i];
        bool by_function = c->callee != CR_CALLEE_COUNT;
        const int *args = by_function ? c->tile : tiles->values[i].arg;
        int n = by_function ? c->n_tiles : c->by_later ? 0 : cr_value_args(&tiles->values[i]);
        t->last_use[i] = i;
        t->spots[i].temp = -1; /* so also for values that are not computed here */
        for (int a = 0; t->shapes[i].needed && a < n; a++)
            t->last_use[args[a]] = i;
    }
}

/* ---- values in memory ---- */

static struct cr_address element(struct tiling *t, int slot, const struct cr_affine *at)
{
    return cr_element(t->b, slot, at, t->job->row, t->job->first_row, t->job->col,
                      t->job->first_col);
}

/* Calls load(rows, cols, y, ldy, x, rs, cs), which copies or broadcasts numbers to a spot. */
static void call_load(struct tiling *t, const struct spot *to, struct cr_address from, int64_t rs,
                      int64_t cs)
{
    struct cr_builder *b = t->b;
    if (to->by_row)
        CR_CALL(b, CR_CALLEE_load, to->format, cr_n(b, 1), cr_x(t->job->rows), cr_at(to->address),
                cr_n(b, 0), cr_at(from), cr_n(b, 0), cr_n(b, rs));
    else
        CR_CALL(b, CR_CALLEE_load, to->format, cr_x(t->job->rows), cr_x(t->job->cols),
                cr_at(to->address), cr_n(b, to->ld), cr_at(from), cr_n(b, rs), cr_n(b, cs));
}

/* Prepares a load.  The tensor is read in place if its columns have a stride of 1, or if it has one
 * number a row, at any stride.  Otherwise its elements are copied to a temporary. */
static void place_load(struct tiling *t, const struct cr_value *v, struct spot *spot)
{
    int64_t rs = coef(&v->at, t->job->row), cs = coef(&v->at, t->job->col);
    struct cr_address address = element(t, t->b->ref[v->ref], &v->at);
    spot->by_row = v->by_row;
    if (v->by_row || cs == 1) {
        spot->address = address;
        spot->ld = rs;
        return;
    }
    take_temp(t, spot, v->by_row);
    call_load(t, spot, address, rs, cs);
}

/* The arguments of iota and random: the size of a tile, its row stride, and the affine index of its
 * first element with its steps.  One number a row is computed as a tile of one row. */
struct numbers {
    struct cr_argument rows, cols, ld, base, row_step, col_step;
};

/* Returns the arguments of iota and random for a spot whose temporary has been assigned, since `ld`
 * depends on it. */
static struct numbers numbers_of(struct tiling *t, const struct cr_value *v,
                                 const struct spot *spot)
{
    struct cr_builder *b = t->b;
    const struct cr_tile_job *j = t->job;
    int64_t rs = coef(&v->at, j->row), cs = coef(&v->at, j->col);
    cr_expr base = cr_affine_value(b, &v->at, j->row, j->first_row, j->col, j->first_col);
    if (v->by_row)
        return (struct numbers){cr_n(b, 1), cr_x(j->rows), cr_n(b, 0),
                                cr_x(base), cr_n(b, 0),    cr_n(b, rs)};
    return (struct numbers){cr_x(j->rows), cr_x(j->cols), cr_n(b, spot->ld),
                            cr_x(base),    cr_n(b, rs),   cr_n(b, cs)};
}

static void place_iota(struct tiling *t, const struct cr_value *v, struct spot *spot)
{
    take_temp(t, spot, v->by_row);
    struct numbers n = numbers_of(t, v, spot);
    CR_CALL(t->b, CR_CALLEE_iota, CR_FORMAT_i32, n.rows, n.cols, cr_at(spot->address), n.ld, n.base,
            n.row_step, n.col_step);
}

static void place_random(struct tiling *t, const struct cr_value *v, struct spot *spot)
{
    struct cr_address seed = t->spots[v->arg[0]].address;
    take_temp(t, spot, v->by_row);
    struct numbers n = numbers_of(t, v, spot);
    CR_CALL(t->b, CR_CALLEE_random, spot->format, n.rows, n.cols, cr_at(spot->address), n.ld,
            cr_at(seed), cr_x(cr_field(t->b, t->b->stream[v->ref])), n.base, n.row_step,
            n.col_step);
}

/* If `by_row`, copies one number a row to a stride of 1; otherwise broadcasts it over the columns
 * of a tile. */
static void spread(struct tiling *t, struct spot *spot, bool by_row)
{
    struct spot wide = {.format = spot->format, .temp = -1};
    char role[sizeof t->role];
    if (by_row && spot->ld == 1)
        return;
    memcpy(role, t->role, sizeof role);
    snprintf(t->role, sizeof t->role, by_row ? "column" : "broadcast");
    take_temp(t, &wide, by_row);
    memcpy(t->role, role, sizeof role);
    call_load(t, &wide, spot->address, spot->ld, 0);
    *spot = wide;
}

/* Returns the number of rows of a gather's table, with its name if the table's first axis has
 * one. */
static struct cr_argument table_rows(struct tiling *t, const struct cr_value *v)
{
    const struct cr_builder *b = t->b;
    int length = v->table_length;
    cr_id table = b->k->refs[v->ref];
    bool whole = b->node_sizes && b->g->nodes[table].shape[0] == v->table_rows;
    if (length)
        return cr_x(cr_field(t->b, b->length[length - 1]));
    return cr_x(cr_named_number(t->b, v->table_rows, whole ? b->node_sizes[table][0] : 0));
}

/* Calls a gather for some rows of a tile: from packed panels, of whole rows (one index a row), or
 * of single elements (one index an element). */
static void call_gather(struct tiling *t, const struct cr_value *v, const struct spot *to,
                        struct cr_argument rows, struct cr_address table,
                        const struct spot *index)
{
    struct cr_builder *b = t->b;
    struct cr_argument cols = v->by_row ? cr_n(b, 1) : cr_x(t->job->cols);
    struct cr_argument stride = cr_n(b, v->table_stride), n_rows = table_rows(t, v);
    enum cr_format format = b->f->slots[table.slot].format;
    if (b->f->slots[table.slot].packed)
        CR_CALL(b, cr_formats[format].gather, to->format, rows, cols, cr_at(to->address),
                cr_n(b, to->ld), cr_at(table),
                cr_n(b, cr_column_units(format, v->table_stride) * CR_PANEL), n_rows,
                cr_at(index->address));
    else if (index->by_row)
        CR_CALL(b, CR_CALLEE_gather, to->format, rows, cols, cr_at(to->address), cr_n(b, to->ld),
                cr_at(table), stride, n_rows, cr_at(index->address));
    else
        CR_CALL(b, CR_CALLEE_lookup, to->format, rows, cols, cr_at(to->address), cr_n(b, to->ld),
                cr_at(table), stride, n_rows, cr_at(index->address), cr_n(b, index->ld));
}

/* Gathers from a table in one call, or row by row if the offset in the table's row depends on the
 * row of the tile. */
static void place_gather(struct tiling *t, const struct cr_value *v, struct spot *spot)
{
    struct cr_builder *b = t->b;
    const struct cr_tile_job *j = t->job;
    struct spot *index = &t->spots[v->arg[0]];
    int64_t rs = coef(&v->at, j->row);
    struct cr_affine at = {0};
    const struct cr_slot *slot = &b->f->slots[b->ref[v->ref]];
    cr_affine_add(&at, &v->at, slot->packed ? cr_column_units(slot->format, CR_PANEL) : 1);
    struct cr_address table = element(t, b->ref[v->ref], &at);
    if (index->by_row)
        spread(t, index, true);
    take_temp(t, spot, v->by_row);
    if (rs == 0) {
        call_gather(t, v, spot, cr_x(j->rows), table, index);
        return;
    }
    struct spot to = *spot, from = *index;
    int r = cr_begin_loop(b, "r", cr_number(b, 0), j->rows, 1, 0, CR_NONE);
    to.address = cr_offset(b, spot->address, r, CR_NONE, spot->ld);
    to.ld = 0;
    from.address = cr_offset(b, index->address, r, CR_NONE, index->ld);
    call_gather(t, v, &to, cr_n(b, 1), cr_offset(b, table, r, CR_NONE, rs), &from);
    cr_end(b);
}

/* ---- values that are computed ---- */

/* Copies the tiles of the parts of a row side by side into a temporary for whole rows. */
static void join_tiles(struct tiling *t, const struct cr_value *v, struct spot *rows)
{
    take_room(t, rows, ROWS);
    rows->ld = v->parts * t->job->max_cols;
    for (int p = 0; p < v->parts; p++) {
        const struct spot *from = &t->spots[v->arg[p]];
        struct spot to = *rows;
        to.address.base += p * t->job->max_cols;
        call_load(t, &to, from->address, from->ld, !from->by_row);
    }
}

/* Reduces the columns of a tile to one number a row.  An operand that has one number a row is
 * broadcast over a tile first, so that the order of the reduction is the same. */
static void place_reduce(struct tiling *t, const struct cr_value *v, struct spot *spot)
{
    struct cr_builder *b = t->b;
    struct spot in = t->spots[v->arg[0]];
    bool joined = v->parts > 1, wide = in.by_row && !joined;
    cr_expr cols = t->job->cols;
    if (joined) {
        in = (struct spot){.format = in.format, .temp = -1};
        join_tiles(t, v, &in);
        cols = cr_number(b, v->parts * t->job->max_cols);
    }
    if (wide)
        spread(t, &in, false);
    take_temp(t, spot, true);
    const struct cr_argument arguments[] = {cr_x(t->job->rows), cr_x(cols),
                                            cr_at(spot->address), cr_at(in.address),
                                            cr_n(b, in.ld)};
    struct cr_call call = {.callee = CR_CALLEE_REDUCE, .format = spot->format, .op = v->op};
    cr_do_call(b, cr_make_call(b, call, 5, arguments));
    if (wide || joined)
        t->temps[in.temp].busy = false;
}

/* Prepares operands that have one number a row.  The runtime requires a stride of 1, or of 0 if all
 * numbers are the same; at least one operand must have a stride of 1. */
static void spread_operands(struct tiling *t, const struct cr_value *v)
{
    bool all_same = true;
    for (int i = 0; i < cr_value_args(v); i++) {
        struct spot *arg = &t->spots[v->arg[i]];
        if (arg->ld > 1 || (i == cr_value_args(v) - 1 && all_same && arg->ld == 0))
            spread(t, arg, true);
        all_same &= arg->ld == 0;
    }
}

/*
 * Calls an elementwise op.  If the result is a tile, an operand is a tile (v) or has one number a
 * row (s). If the result has one number a row, the rows are the columns of a tile of one row: there
 * v has one number a row, and s is a single number.
 */
static void place_map(struct tiling *t, const struct cr_value *v, struct spot *spot,
                      const struct cr_tile *dest)
{
    struct cr_builder *b = t->b;
    struct cr_argument arguments[10];
    struct cr_call call = {.callee = CR_CALLEE_MAP, .op = v->op};
    int n = 0;
    if (v->by_row)
        spread_operands(t, v);
    free_dead(t, (int)(v - t->job->tiles->values));
    if (dest)
        *spot = (struct spot){dest->address, dest->ld, v->by_row, spot->format, -1};
    else
        take_temp(t, spot, v->by_row);
    arguments[n++] = v->by_row ? cr_n(b, 1) : cr_x(t->job->rows);
    arguments[n++] = cr_x(v->by_row ? t->job->rows : t->job->cols);
    arguments[n++] = cr_at(spot->address);
    arguments[n++] = cr_n(b, v->by_row ? 0 : spot->ld);
    for (int i = 0; i < cr_value_args(v); i++) {
        const struct spot *arg = &t->spots[v->arg[i]];
        call.by_row |= (unsigned)(v->by_row ? arg->ld == 0 : arg->by_row) << i;
        call.format = is_integers(spot->format) ? spot->format : arg->format;
        arguments[n++] = cr_at(arg->address);
        arguments[n++] = cr_n(b, v->by_row ? 0 : arg->ld);
    }
    cr_do_call(b, cr_make_call(b, call, n, arguments));
}

/* Calls the function that computes a combined value (combined_ops.h) from tiles and numbers. */
static void place_combined(struct tiling *t, int i, struct spot *spot, const struct cr_tile *dest)
{
    struct cr_builder *b = t->b;
    const struct cr_combined *c = &t->combined[i];
    struct cr_argument arguments[4 + 3 * CR_MAX_COMBINED];
    struct cr_call call = {.callee = c->callee, .format = spot->format};
    int n = 0;
    free_dead(t, i);
    cr_callee_name(t->role, sizeof t->role, &call);
    if (dest)
        *spot = (struct spot){dest->address, dest->ld, false, spot->format, -1};
    else
        take_temp(t, spot, false);
    arguments[n++] = cr_x(t->job->rows);
    arguments[n++] = cr_x(t->job->cols);
    arguments[n++] = cr_at(spot->address);
    arguments[n++] = cr_n(b, spot->ld);
    for (int a = 0; a < c->n_tiles; a++) {
        arguments[n++] = cr_at(t->spots[c->tile[a]].address);
        arguments[n++] = cr_n(b, t->spots[c->tile[a]].ld);
    }
    for (int a = 0; a < c->n_numbers; a++) {
        double number = t->job->tiles->values[c->number[a]].number;
        arguments[n++] = cr_by_value(cr_constant(b, spot->format, number));
    }
    cr_do_call(b, cr_make_call(b, call, n, arguments));
}

/* ---- diagonals ---- */

static bool is_diagonal(const struct tiling *t, int value)
{
    return t->shapes[value].shape == CR_SHAPE_DIAGONAL;
}

/* Returns the number of diagonals of an m x n tile, m + n - 1.  Diagonal u has column - row = u -
 * (m - 1). */
static cr_expr count_diagonals(struct tiling *t)
{
    return cr_plus(t->b, cr_binary(t->b, CR_EXPR_ADD, t->job->rows, t->job->cols), -1);
}

/* Returns the address of diagonal m - 1, which contains element [0, 0] of the tile, in a row of
 * diagonals that begins at `start`. */
static struct cr_address main_diagonal(struct tiling *t, struct cr_address start)
{
    const struct cr_expr_node *rows = &t->b->f->exprs[t->job->rows];
    int var = rows->op == CR_EXPR_VAR ? rows->a : t->rows;
    if (rows->op != CR_EXPR_NUMBER && var == CR_NONE)
        var = t->rows = cr_let(t->b, "m", t->job->rows);
    start.base += var == CR_NONE ? rows->number - 1 : -1;
    return var == CR_NONE ? start : cr_offset(t->b, start, var, CR_NONE, 1);
}

/* Calls iota for an index that is a function of column - row, with one number a diagonal. */
static void call_diagonal_index(struct tiling *t, const struct cr_affine *index,
                                struct cr_address to)
{
    struct cr_builder *b = t->b;
    const struct cr_tile_job *j = t->job;
    int64_t step = index->coef[j->col];
    cr_expr base = cr_affine_value(b, index, j->row, j->first_row, j->col, j->first_col);
    int64_t size = step < 0 ? -step : step;
    cr_expr way = size == 1 ? j->rows : cr_binary(b, CR_EXPR_MUL, j->rows, cr_number(b, size));
    base = cr_plus(b, cr_binary(b, step < 0 ? CR_EXPR_ADD : CR_EXPR_SUB, base, way), step);
    CR_CALL(b, CR_CALLEE_iota, CR_FORMAT_i32, cr_n(b, 1), cr_x(count_diagonals(t)), cr_at(to),
            cr_n(b, 0), cr_x(base), cr_n(b, 0), cr_n(b, step));
}

/* Returns the address of diagonal 0 of an operand, or of its single number if it is the same for
 * all elements. */
static struct cr_address first_diagonal(const struct tiling *t, int value)
{
    const struct spot *spot = &t->spots[value];
    struct cr_address start = spot->address;
    if (!is_diagonal(t, value))
        return start;
    start = cr_start_of(t->temps[spot->temp].slot);
    start.name = spot->address.name;
    return start;
}

/* Calls an elementwise op with one number a diagonal. */
static void call_diagonal_map(struct tiling *t, const struct cr_value *v, const struct spot *spot)
{
    struct cr_builder *b = t->b;
    struct cr_argument arguments[10];
    struct cr_call call = {.callee = CR_CALLEE_MAP, .op = v->op};
    int n = 0;
    arguments[n++] = cr_n(b, 1);
    arguments[n++] = cr_x(count_diagonals(t));
    arguments[n++] = cr_at(spot->address);
    arguments[n++] = cr_n(b, 0);
    for (int i = 0; i < cr_value_args(v); i++) {
        call.by_row |= (unsigned)!is_diagonal(t, v->arg[i]) << i;
        call.format = is_integers(spot->format) ? spot->format : t->spots[v->arg[i]].format;
        arguments[n++] = cr_at(first_diagonal(t, v->arg[i]));
        arguments[n++] = cr_n(b, 0);
    }
    cr_do_call(b, cr_make_call(b, call, n, arguments));
}

/* Computes a value that depends only on column - row.  It has one number a diagonal, and is read as
 * a tile with a row stride of -1. */
static void place_diagonal(struct tiling *t, int i, struct spot *spot)
{
    struct cr_builder *b = t->b;
    const struct cr_value *v = &t->job->tiles->values[i];
    take_room(t, spot, DIAGONAL);
    struct cr_address start = spot->address;
    if (t->shapes[i].is_index)
        call_diagonal_index(t, &t->shapes[i].index, start);
    else if (v->source == CR_GATHER)
        CR_CALL(b, CR_CALLEE_lookup, spot->format, cr_n(b, 1), cr_x(count_diagonals(t)),
                cr_at(start), cr_n(b, 0), cr_at(element(t, b->ref[v->ref], &v->at)),
                cr_n(b, v->table_stride), table_rows(t, v),
                cr_at(first_diagonal(t, v->arg[0])), cr_n(b, 0));
    else
        call_diagonal_map(t, v, spot);
    spot->address = main_diagonal(t, start);
    spot->ld = -1;
}

/* ---- one value ---- */

/* Adds a remark with the scope of a value if it differs from the scope of the value before. */
static void remark_scope(struct tiling *t, const struct cr_value *v)
{
    const struct cr_where *where = &t->b->g->nodes[v->node].where;
    bool computes = v->source == CR_MAP || v->source == CR_REDUCE || v->source == CR_GATHER ||
                    v->source == CR_RANDOM;
    if (!computes || !*where->scope || where->scope == t->b->scope)
        return;
    char name[64];
    cr_plain_scope(name, sizeof name, where->scope);
    t->b->scope = where->scope;
    cr_remark(t->b, name);
}

/* If constant i only divides sums over all columns by their number, returns the named size of the
 * columns; otherwise 0. */
static int size_of_divisor(const struct tiling *t, int i)
{
    const struct cr_tiles *tiles = t->job->tiles;
    const int col = t->job->col;
    bool divides = col >= 0 && tiles->values[i].number == (double)cr_extent(t->b->k, col);
    for (int j = i + 1; j < tiles->n && divides; j++)
        for (int a = 0; a < cr_value_args(&tiles->values[j]); a++) {
            const struct cr_value *v = &tiles->values[j], *sum = &tiles->values[v->arg[0]];
            if (v->arg[a] == i)
                divides &= a == 1 && v->source == CR_MAP && v->op == CR_OP_div &&
                           sum->source == CR_REDUCE && sum->op == CR_OP_sum;
        }
    return divides ? t->b->atom_size[col] : 0;
}

/* Computes value i, or sets its spot to the memory where it is.  An elementwise op writes to `dest`
 * if that is not null. */
static void find_value(struct tiling *t, int i, const struct cr_tile *dest)
{
    const struct cr_value *v = &t->job->tiles->values[i];
    struct spot *spot = &t->spots[i];
    spot->by_row = false;
    spot->format = cr_format_of(t->b->g->nodes[v->node].dtype);
    if (is_diagonal(t, i)) {
        place_diagonal(t, i, spot);
        free_dead(t, i);
        return;
    }
    switch (v->source) {
    case CR_LOAD:
        place_load(t, v, spot);
        break;
    case CR_GATHER:
        place_gather(t, v, spot);
        break;
    case CR_IOTA:
        place_iota(t, v, spot);
        break;
    case CR_RANDOM:
        place_random(t, v, spot);
        break;
    case CR_CONST:
        spot->address = cr_start_of(cr_constant(t->b, spot->format, v->number));
        spot->address.size = size_of_divisor(t, i);
        spot->by_row = true;
        break;
    case CR_CORE:
        spot->address = t->job->core.address;
        spot->ld = t->job->core.ld;
        break;
    case CR_SCORE:
        spot->address = t->job->score.address;
        spot->ld = t->job->score.ld;
        break;
    case CR_REDUCE:
        place_reduce(t, v, spot);
        break;
    case CR_MAP:
        if (t->combined[i].callee != CR_CALLEE_COUNT)
            place_combined(t, i, spot, dest);
        else if (!t->combined[i].by_later)
            place_map(t, v, spot, dest);
        return;
    }
    free_dead(t, i);
}

/* Computes value i as find_value does, with its scope, role and node in the remarks and calls. */
static void place_value(struct tiling *t, int i, const struct cr_tile *dest)
{
    const struct cr_value *v = &t->job->tiles->values[i];
    cr_id node = t->b->node;
    remark_scope(t, v);
    cr_find_role(t->b, t->job, t->roles, i, t->role);
    t->b->node = v->node;
    find_value(t, i, dest);
    t->b->node = node;
}

/* ---- results ---- */

/* Returns the affine index of a result's element in its node. */
static const struct cr_affine *index_of(const struct tiling *t, int result)
{
    const struct cr_tile_job *job = t->job;
    return job->written ? &job->written->dest : &t->b->k->results[result];
}

/* True if the columns of a result are not contiguous, for example if it has one number a row. */
static bool is_strided(const struct tiling *t, int result)
{
    return result ? coef(index_of(t, result), t->job->col) != 1 : t->job->dest_strided;
}

/* Returns the destination of a result whose columns are contiguous. */
static struct cr_tile dest_of(struct tiling *t, int result)
{
    const struct cr_affine *index = index_of(t, result);
    if (!result)
        return t->job->dest;
    return (struct cr_tile){element(t, t->b->stored[result], index), coef(index, t->job->row)};
}

/* Copies a value to the destination of a result whose columns are contiguous. */
static void store_in_tile(struct tiling *t, int result, const struct spot *from)
{
    const struct cr_tile dest = dest_of(t, result);
    struct spot to = {.address = dest.address, .ld = dest.ld, .format = from->format};
    if (!cr_same_address(t->b, &from->address, &dest.address))
        call_load(t, &to, from->address, from->ld, !from->by_row);
}

/* Copies a value to a result whose columns are not contiguous. */
static void store_strided(struct tiling *t, int result, struct spot *from)
{
    const struct cr_tile_job *j = t->job;
    struct cr_builder *b = t->b;
    const struct cr_affine *dest = index_of(t, result);
    struct cr_address start = element(t, b->stored[result], dest);
    if (j->written)
        start = cr_offset(b, start, j->written->var, CR_NONE, j->written->step);
    if (from->by_row && j->col >= 0 && coef(dest, j->col))
        spread(t, from, false);
    struct cr_argument row_step = cr_n(b, coef(dest, j->row));
    struct cr_argument to = cr_at(start);
    if (from->by_row) {
        spread(t, from, true);
        CR_CALL(b, CR_CALLEE_store, from->format, cr_n(b, 1), cr_x(j->rows), to, cr_n(b, 0),
                row_step, cr_at(from->address), cr_n(b, 0));
    } else {
        CR_CALL(b, CR_CALLEE_store, from->format, cr_x(j->rows), cr_x(j->cols), to, row_step,
                cr_n(b, coef(dest, j->col)), cr_at(from->address), cr_n(b, from->ld));
    }
}

/* Returns the first result that is value i, or -1. */
static int find_result(const struct cr_tiles *tiles, int i)
{
    for (int r = 0; r <= tiles->n_more; r++)
        if (tiles->results[r] == i)
            return r;
    return -1;
}

/* Stores value i in all results that it is.  Frees temporaries of copies made for this at once. */
static void store_value(struct tiling *t, int i)
{
    const struct cr_tiles *tiles = t->job->tiles;
    for (int r = 0; r <= tiles->n_more; r++) {
        struct spot from = t->spots[i];
        if (tiles->results[r] != i)
            continue;
        if (is_strided(t, r))
            store_strided(t, r, &from);
        else
            store_in_tile(t, r, &from);
        if (from.temp >= 0 && from.temp != t->spots[i].temp)
            t->temps[from.temp].busy = false;
    }
    if (t->last_use[i] == i && t->spots[i].temp >= 0)
        t->temps[t->spots[i].temp].busy = false;
}

/* Computes value i, directly at the destination if it is a result and that is possible; otherwise
 * stores it there. */
static void place_and_store(struct tiling *t, int i)
{
    const struct cr_tile_job *job = t->job;
    int result = find_result(job->tiles, i);
    bool direct = result >= 0 && !is_strided(t, result) && !job->tiles->values[i].by_row;
    const struct cr_tile dest = direct ? dest_of(t, result) : job->dest;
    place_value(t, i, direct ? &dest : NULL);
    if (result >= 0)
        store_value(t, i);
}

void cr_schedule_tiles(struct cr_builder *b, const struct cr_tile_job *job)
{
    struct tiling *t = cr_calloc(1, sizeof *t);
    t->rows = CR_NONE;
    t->b = b;
    t->job = job;
    int row = job->max_rows > 1 ? job->row : -1, col = job->max_cols > 1 ? job->col : -1;
    cr_find_tile_shapes(b->g, job->tiles, row, col, t->shapes);
    cr_combine(job->tiles, t->shapes, t->combined);
    find_last_uses(t);
    for (int i = 0; i < job->tiles->n; i++)
        if (t->shapes[i].needed)
            place_and_store(t, i);
    free(t);
}
