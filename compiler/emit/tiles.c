#include "tiles.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "names.h"
#include "program.h"

enum { ALIGN = 16 };

/* Where a value is when the code runs. */
struct place {
    char address[CR_ADDRESS_SIZE];
    int64_t ld;  /* of a tile; of one number a row: their distance, 0 if all are the same */
    bool by_row; /* one number a row */
    enum cr_dtype dtype;
    int temp; /* the temporary that holds it, or -1 */
};

/* A buffer in scratch, used again when its value is dead. */
struct temp {
    int number;    /* t0 for a tile, r0 for one number a row; ti0 and ri0 of i32 */
    bool integers; /* i32, else floats */
    bool by_row, busy;
};

struct job {
    struct cr_printer *p;
    const struct cr_tile_job *j;
    struct place places[CR_MAX_VALUES];
    int last_use[CR_MAX_VALUES];
    struct temp temps[CR_MAX_VALUES];
    int n_temps;
};

/* ---- addresses ---- */

static void append(char *buffer, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *buffer, size_t size, const char *format, ...)
{
    size_t at = strlen(buffer);
    va_list args;
    va_start(args, format);
    vsnprintf(buffer + at, size - at, format, args);
    va_end(args);
}

static void append_term(char *buffer, size_t size, const char *variable, int64_t coef)
{
    if (coef == 0 || strcmp(variable, "0") == 0)
        return;
    if (coef == 1)
        append(buffer, size, " + %s", variable);
    else
        append(buffer, size, " + %s * %lld", variable, (long long)coef);
}

/* The terms of an affine, each behind " + ". */
static void append_affine(const struct cr_printer *p, char *buffer, size_t size,
                          const struct cr_affine *at, int row, const char *first_row, int col,
                          const char *first_col)
{
    char outer[16];
    for (int i = 0; i < p->k->n_outer; i++) {
        snprintf(outer, sizeof outer, "o%d", i);
        append_term(buffer, size, outer, at->coef[p->k->outer[i]]);
    }
    if (row >= 0)
        append_term(buffer, size, first_row, at->coef[row]);
    if (col >= 0)
        append_term(buffer, size, first_col, at->coef[col]);
    if (at->base)
        append(buffer, size, " + %lld", (long long)at->base);
}

void cr_print_address(const struct cr_printer *p, char *buffer, size_t size, int ref,
                      const struct cr_affine *at, int row, const char *first_row, int col,
                      const char *first_col)
{
    snprintf(buffer, size, "a->%s", ref < 0 ? "out" : p->names[ref]);
    append_affine(p, buffer, size, at, row, first_row, col, first_col);
}

const char *cr_family(enum cr_dtype dtype)
{
    return dtype == CR_I32 ? "i32." : "";
}

void cr_take_typed(struct cr_printer *p, const char *name, enum cr_dtype dtype, int64_t elements,
                   const char *what)
{
    cr_put(&p->declarations, "    %s *const %s = %sscratch", cr_c_type(dtype), name,
           dtype == CR_I32 ? "(int *)" : "");
    if (p->scratch)
        cr_put(&p->declarations, " + %lld", (long long)p->scratch);
    cr_put(&p->declarations, "; /* %s */\n", what);
    p->scratch += (elements + ALIGN - 1) / ALIGN * ALIGN;
}

void cr_take_scratch(struct cr_printer *p, const char *name, int64_t floats, const char *what)
{
    cr_take_typed(p, name, CR_F32, floats, what);
}

/* The shortest text that reads back as the same float. */
static void shortest(char *text, size_t size, double value)
{
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, size, "%.*g", digits, (double)(float)value);
        if (strtof(text, NULL) == (float)value)
            break;
    }
    if (strchr(text, 'e') && fabs(value) < 1e6 && value == floor(value))
        snprintf(text, size, "%.0f", value);
}

void cr_print_constant(struct cr_printer *p, char *buffer, size_t size, double value)
{
    char text[64], name[80] = "c_";
    if (isnan(value))
        snprintf(text, sizeof text, "CR_NAN");
    else if (isinf((float)value))
        snprintf(text, sizeof text, value < 0 ? "CR_MINUS_INFINITY" : "CR_INFINITY");
    else
        shortest(text, sizeof text, value);
    size_t n = 2;
    for (const char *c = text[0] == 'C' ? text + 3 : text; *c; c++)
        if (*c != '+')
            name[n++] = *c == '.' ? '_' : *c == '-' ? 'm' : *c;
    snprintf(buffer, size, " %s ", name);
    if (!p->constants.length || !strstr(p->constants.data, buffer)) {
        const char *end = text[0] == 'C' ? "" : strpbrk(text, ".e") ? "f" : ".0f";
        cr_put(&p->constants, "%s", buffer);
        cr_put(&p->declarations, "    static const float %s = %s%s;\n", name, text, end);
    }
    snprintf(buffer, size, "&%s", name);
}

/* An i32 as C spells it: -2^31 has no literal of its own. */
static void print_integer(struct cr_printer *p, char *buffer, size_t size, int64_t value)
{
    char name[32];
    snprintf(name, sizeof name, "i_%s%lld", value < 0 ? "m" : "",
             value < 0 ? -(long long)value : (long long)value);
    snprintf(buffer, size, " %s ", name);
    if (!p->constants.length || !strstr(p->constants.data, buffer)) {
        cr_put(&p->constants, "%s", buffer);
        cr_put(&p->declarations, "    static const int %s = %lld%s;\n", name,
               (long long)(value + (value == INT32_MIN)), value == INT32_MIN ? " - 1" : "");
    }
    snprintf(buffer, size, "&%s", name);
}

void cr_print_typed(struct cr_printer *p, char *buffer, size_t size, enum cr_dtype dtype,
                    double value)
{
    if (dtype == CR_I32)
        print_integer(p, buffer, size, (int64_t)value);
    else
        cr_print_constant(p, buffer, size, value);
}

/* ---- temporaries ---- */

static int64_t coef(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

static void name_temp(const struct temp *temp, char *name, size_t size)
{
    snprintf(name, size, "%s%s%d", temp->by_row ? "r" : "t", temp->integers ? "i" : "",
             temp->number);
}

/* Another temporary, declared with what it has room for. */
static void add_temp(struct job *job, enum cr_dtype dtype, bool by_row)
{
    char name[32], what[64];
    long long rows = job->j->max_rows, cols = job->j->max_cols;
    struct temp *temp = &job->temps[job->n_temps++];
    *temp = (struct temp){job->p->n_temps++, dtype == CR_I32, by_row, false};
    name_temp(temp, name, sizeof name);
    if (by_row)
        snprintf(what, sizeof what, "one number a row, %lld", rows);
    else
        snprintf(what, sizeof what, "%lld x %lld", rows, cols);
    cr_take_typed(job->p, name, dtype, by_row ? rows : rows * cols, what);
}

/* A free temporary of the place's type as the place of a value. */
static void take_temp(struct job *job, struct place *place, bool by_row)
{
    bool integers = place->dtype == CR_I32;
    int t = 0;
    while (t < job->n_temps && (job->temps[t].busy || job->temps[t].by_row != by_row ||
                                job->temps[t].integers != integers))
        t++;
    if (t == job->n_temps)
        add_temp(job, place->dtype, by_row);
    job->temps[t].busy = true;
    name_temp(&job->temps[t], place->address, sizeof place->address);
    place->ld = by_row ? 1 : job->j->max_cols;
    place->by_row = by_row;
    place->temp = t;
}

/* Frees the temporaries of the values that are used last by value i. */
static void free_dead(struct job *job, int i)
{
    for (int v = 0; v < i; v++) {
        struct place *place = &job->places[v];
        if (job->last_use[v] == i && place->temp >= 0) {
            job->temps[place->temp].busy = false;
            place->temp = -1;
        }
    }
}

static void find_last_uses(struct job *job)
{
    const struct cr_tiles *tiles = job->j->tiles;
    for (int i = 0; i < tiles->n; i++) {
        job->last_use[i] = i;
        for (int a = 0; a < cr_value_args(&tiles->values[i]); a++)
            job->last_use[tiles->values[i].arg[a]] = i;
    }
    job->last_use[tiles->result] = tiles->n;
}

/* ---- calls ---- */

static void call(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a call of the runtime: "function(arguments)". */
static void call(struct job *job, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cr_put_line(job->p->text, job->j->indent, "rt->%s;", text);
}

/* Copies (or spreads) numbers to a place with load(rows, cols, y, ldy, x, rs, cs). */
static void call_load(struct job *job, const struct place *to, const char *address, int64_t rs,
                      int64_t cs)
{
    const char *family = cr_family(to->dtype);
    if (to->by_row)
        call(job, "%sload(1, %s, %s, 0, %s, 0, %lld)", family, job->j->rows, to->address, address,
             (long long)rs);
    else
        call(job, "%sload(%s, %s, %s, %lld, %s, %lld, %lld)", family, job->j->rows, job->j->cols,
             to->address, (long long)to->ld, address, (long long)rs, (long long)cs);
}

static void print_load(struct job *job, const struct cr_value *v, struct place *place)
{
    const struct cr_tile_job *j = job->j;
    int64_t rs = coef(&v->at, j->row), cs = coef(&v->at, j->col);
    char address[CR_ADDRESS_SIZE];
    cr_print_address(job->p, address, sizeof address, v->ref, &v->at, j->row, j->first_row, j->col,
                     j->first_col);
    place->by_row = v->by_row;
    if (v->by_row || cs == 1) {
        memcpy(place->address, address, sizeof address);
        place->ld = rs;
        return;
    }
    take_temp(job, place, v->by_row);
    call_load(job, place, address, rs, cs);
}

static void print_iota(struct job *job, const struct cr_value *v, struct place *place)
{
    const struct cr_tile_job *j = job->j;
    char base[CR_ADDRESS_SIZE] = "0";
    long long rs = coef(&v->at, j->row), cs = coef(&v->at, j->col);
    append_affine(job->p, base, sizeof base, &v->at, j->row, j->first_row, j->col, j->first_col);
    const char *from = strncmp(base, "0 + ", 4) == 0 ? base + 4 : base;
    take_temp(job, place, v->by_row);
    if (v->by_row)
        call(job, "i32.iota(1, %s, %s, 0, %s, 0, %lld)", j->rows, place->address, from, rs);
    else
        call(job, "i32.iota(%s, %s, %s, %lld, %s, %lld, %lld)", j->rows, j->cols, place->address,
             (long long)place->ld, from, rs, cs);
}

static void print_random(struct job *job, const struct cr_value *v, struct place *place)
{
    const struct cr_tile_job *j = job->j;
    char base[CR_ADDRESS_SIZE] = "0";
    const char *seed = job->places[v->arg[0]].address;
    long long rs = coef(&v->at, j->row), cs = coef(&v->at, j->col);
    append_affine(job->p, base, sizeof base, &v->at, j->row, j->first_row, j->col, j->first_col);
    const char *from = strncmp(base, "0 + ", 4) == 0 ? base + 4 : base;
    take_temp(job, place, v->by_row);
    if (v->by_row)
        call(job, "random(1, %s, %s, 0, %s, a->stream%d, %s, 0, %lld)", j->rows, place->address,
             seed, v->ref, from, rs);
    else
        call(job, "random(%s, %s, %s, %lld, %s, a->stream%d, %s, %lld, %lld)", j->rows, j->cols,
             place->address, (long long)place->ld, seed, v->ref, from, rs, cs);
}

/* The same numbers as one a row at a distance of 1, or all over a tile. */
static void spread(struct job *job, struct place *place, bool by_row)
{
    struct place wide = {.dtype = place->dtype, .temp = -1};
    if (by_row && place->ld == 1)
        return;
    take_temp(job, &wide, by_row);
    call_load(job, &wide, place->address, place->ld, 0);
    *place = wide;
}

/* Rows of a table; one by one if the place within the table's row depends on the tile's. */
static void print_gather(struct job *job, const struct cr_value *v, struct place *place)
{
    const struct cr_tile_job *j = job->j;
    const char *cols = v->by_row ? "1" : j->cols;
    struct place *index = &job->places[v->arg[0]];
    long long rs = coef(&v->at, j->row), stride = v->table_stride, rows = v->table_rows;
    char table[CR_ADDRESS_SIZE];
    cr_print_address(job->p, table, sizeof table, v->ref, &v->at, j->row, j->first_row, j->col,
                     j->first_col);
    spread(job, index, true);
    take_temp(job, place, v->by_row);
    if (rs == 0) {
        call(job, "%sgather(%s, %s, %s, %lld, %s, %lld, %lld, %s)", cr_family(place->dtype),
             j->rows, cols, place->address, (long long)place->ld, table, stride, rows,
             index->address);
        return;
    }
    cr_put_line(job->p->text, j->indent, "for (long r = 0; r < %s; r++)", j->rows);
    cr_put_line(job->p->text, j->indent + 4,
                "rt->%sgather(1, %s, %s + r * %lld, 0, %s + r * %lld, %lld, %lld, %s + r);",
                cr_family(place->dtype), cols, place->address, (long long)place->ld, table, rs,
                stride, rows, index->address);
}

static void print_reduce(struct job *job, const struct cr_value *v, struct place *place)
{
    struct place in = job->places[v->arg[0]];
    bool wide = in.by_row;
    if (wide)
        spread(job, &in, false);
    take_temp(job, place, true);
    call(job, "%s%s(%s, %s, %s, %s, %lld)", cr_family(place->dtype), cr_ops[v->op].name,
         job->j->rows, job->j->cols, place->address, in.address, (long long)in.ld);
    if (wide)
        job->temps[in.temp].busy = false;
}

/*
 * Makes the operands of an op on numbers a row fit: the strip takes them at a distance of
 * 1 or, all the same, of 0, but not all of them at 0.
 */
static void spread_operands(struct job *job, const struct cr_value *v)
{
    bool all_same = true;
    for (int i = 0; i < cr_value_args(v); i++) {
        struct place *arg = &job->places[v->arg[i]];
        if (arg->ld > 1 || (i == cr_value_args(v) - 1 && all_same && arg->ld == 0))
            spread(job, arg, true);
        all_same &= arg->ld == 0;
    }
}

/*
 * An elementwise op.  On a tile an operand is a tile (v) or one number a row (s).  On one
 * number a row the rows become columns of a single row: v is a number a row, s the same
 * number for all.
 */
static void print_map(struct job *job, const struct cr_value *v, struct place *place,
                      const struct cr_tile_at *dest)
{
    char variant[8] = "", operands[3 * CR_ADDRESS_SIZE] = "";
    const char *family = cr_family(job->places[v->arg[cr_value_args(v) - 1]].dtype);
    if (v->by_row)
        spread_operands(job, v);
    free_dead(job, (int)(v - job->j->tiles->values));
    if (dest) {
        memcpy(place->address, dest->address, sizeof place->address);
        place->ld = dest->ld;
        place->by_row = v->by_row;
    } else {
        take_temp(job, place, v->by_row);
    }
    for (int i = 0; i < cr_value_args(v); i++) {
        const struct place *arg = &job->places[v->arg[i]];
        strcat(variant, (v->by_row ? arg->ld == 0 : arg->by_row) ? "s" : "v");
        append(operands, sizeof operands, ", %s, %lld", arg->address,
               v->by_row ? 0LL : (long long)arg->ld);
    }
    call(job, "%s%s_%s(%s, %s, %s, %lld%s)", family, cr_ops[v->op].name, variant,
         v->by_row ? "1" : job->j->rows, v->by_row ? job->j->rows : job->j->cols, place->address,
         v->by_row ? 0LL : (long long)place->ld, operands);
}

/* Says from which part of the script the next lines come, when that changes. */
static void tell_scope(struct job *job, const struct cr_value *v)
{
    const struct cr_where *where = &job->p->g->nodes[v->node].where;
    bool computes = v->source == CR_MAP || v->source == CR_REDUCE || v->source == CR_GATHER ||
                    v->source == CR_RANDOM;
    if (!computes || !*where->scope || where->scope == job->p->scope)
        return;
    char name[CR_NAME_SIZE];
    cr_plain_scope(name, sizeof name, where->scope);
    job->p->scope = where->scope;
    cr_put(job->p->text, "%*s/* %s */\n", job->j->indent, "", name);
}

/* Brings value i into being; `dest` is where it should be if it is computed by a map. */
static void print_value(struct job *job, int i, const struct cr_tile_at *dest)
{
    const struct cr_value *v = &job->j->tiles->values[i];
    struct place *place = &job->places[i];
    place->temp = -1;
    place->dtype = job->p->g->nodes[v->node].dtype;
    tell_scope(job, v);
    switch (v->source) {
    case CR_LOAD:
        print_load(job, v, place);
        break;
    case CR_GATHER:
        print_gather(job, v, place);
        break;
    case CR_IOTA:
        print_iota(job, v, place);
        break;
    case CR_RANDOM:
        print_random(job, v, place);
        break;
    case CR_CONST:
        cr_print_typed(job->p, place->address, sizeof place->address, place->dtype, v->number);
        place->by_row = true;
        break;
    case CR_CORE:
        memcpy(place->address, job->j->core.address, sizeof place->address);
        place->ld = job->j->core.ld;
        break;
    case CR_REDUCE:
        print_reduce(job, v, place);
        break;
    case CR_MAP:
        print_map(job, v, place, dest);
        return;
    }
    free_dead(job, i);
}

/* ---- the result ---- */

/* Writes a result that lies elsewhere to its destination. */
static void store_result(struct job *job, struct place *from)
{
    const struct cr_tile_job *j = job->j;
    const struct cr_affine *dest = &job->p->k->dest;
    char address[CR_ADDRESS_SIZE];
    if (!j->dest_strided) {
        if (strcmp(from->address, j->dest.address) == 0)
            return;
        struct place to = {.ld = j->dest.ld, .dtype = from->dtype};
        memcpy(to.address, j->dest.address, sizeof to.address);
        call_load(job, &to, from->address, from->ld, !from->by_row);
        return;
    }
    if (from->by_row && j->col >= 0 && coef(dest, j->col))
        spread(job, from, false);
    cr_print_address(job->p, address, sizeof address, -1, dest, j->row, j->first_row, j->col,
                     j->first_col);
    if (from->by_row) {
        spread(job, from, true);
        call(job, "%sstore(1, %s, %s, 0, %lld, %s, 0)", cr_family(from->dtype), j->rows, address,
             (long long)coef(dest, j->row), from->address);
    } else {
        call(job, "%sstore(%s, %s, %s, %lld, %lld, %s, %lld)", cr_family(from->dtype), j->rows,
             j->cols, address, (long long)coef(dest, j->row), (long long)coef(dest, j->col),
             from->address, (long long)from->ld);
    }
}

void cr_print_tiles(struct cr_printer *p, const struct cr_tile_job *j)
{
    struct job *job = cr_calloc(1, sizeof *job);
    job->p = p;
    job->j = j;
    find_last_uses(job);
    const struct cr_value *result = &j->tiles->values[j->tiles->result];
    bool direct = !j->dest_strided && !result->by_row;
    for (int i = 0; i < j->tiles->n; i++)
        print_value(job, i, direct && i == j->tiles->result ? &j->dest : NULL);
    store_result(job, &job->places[j->tiles->result]);
    free(job);
}
