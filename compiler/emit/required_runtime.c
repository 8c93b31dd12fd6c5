/* required_runtime.c - finds the parts of the runtime that a standalone file needs. */
#include "required_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "runtime_text.h"
#include "standalone_text.h"

/* ---- instruction sets ---- */

/* Instruction sets, by the index of their bit; a level of AVX-512 can only be compiled together
 * with `base`. */
static const struct {
    const char *name;
    unsigned base;
} isa_rows[] = {{"plain", 0},
                {"neon", 0},
                {"avx2", 0},
                {"avx512", 0},
                {"vnni", CR_ISA_AVX512},
                {"amx", CR_ISA_VNNI}};

enum { ISAS = sizeof isa_rows / sizeof *isa_rows };

/* Returns the bit of the instruction set with this name, or 0. */
static unsigned find_isa(const char *name, size_t length)
{
    for (int i = 0; i < ISAS; i++)
        if (strlen(isa_rows[i].name) == length && strncmp(isa_rows[i].name, name, length) == 0)
            return 1u << i;
    return 0;
}

/* Fails unless a list of instruction sets contains plain C and, for each level of AVX-512, the
 * level on which it builds. */
static int check_isas(const char *list, unsigned isas, struct cr_error *error)
{
    if (!(isas & CR_ISA_PLAIN))
        return cr_fail(error,
                       "--isa %.200s: found a list without plain, expected plain in it, for machines that have none of the others",
                       list);
    for (int i = 0; i < ISAS; i++)
        if (isas >> i & 1 && (isas & isa_rows[i].base) != isa_rows[i].base)
            return cr_fail(error, "--isa %.200s: found %s without %s, expected both in the list", list,
                           isa_rows[i].name, isa_rows[i - 1].name);
    return 0;
}

int cr_read_isas(const char *list, unsigned *isas, struct cr_error *error)
{
    *isas = list ? 0 : CR_ISA_ALL;
    if (!list)
        return 0;
    for (const char *name = list;; name++) {
        size_t length = strcspn(name, ",");
        unsigned bit = find_isa(name, length);
        if (!bit)
            return cr_fail(error,
                           "--isa %.200s: found '%.*s', expected a list of plain, neon, avx2, avx512, vnni "
                           "and amx",
                           list, length < 100 ? (int)length : 100, name);
        *isas |= bit;
        name += length;
        if (!*name)
            return check_isas(list, *isas, error);
    }
}

/* ---- calls ---- */

/* The functions that cr_pack_weight of runtime/pack_weights.c calls; every file contains them. */
static const char *const of_pack_weight[] = {"load", "pack", "pack_stream"};

/* Adds the names that an expression calls as rt->NAME to a list.  Copies them to `at`, and
 * returns the address for the next name. */
static char *add_called(struct cr_names *names, const char *expression, char *at)
{
    while ((expression = strstr(expression, "rt->"))) {
        size_t n = strcspn(expression += 4, "(");
        snprintf(at, n + 1, "%s", expression);
        cr_names_add(names, at);
        at += n + 1;
    }
    return at;
}

/* Adds the functions that pack weights: those that cr_pack_weight calls, and those of the formats
 * in use. */
static char *add_loading(struct cr_needs *needs, char *at)
{
    for (size_t i = 0; i < sizeof of_pack_weight / sizeof *of_pack_weight; i++)
        cr_names_add(&needs->callees, of_pack_weight[i]);
    for (int format = 0; format < CR_FORMAT_COUNT; format++)
        if (cr_has_layouts(needs->program, (enum cr_format)format))
            at = add_called(&needs->callees, cr_formats[format].pack, at);
    return at;
}

/* ---- tiles of products ---- */

/* Returns the value of a call's argument if it is a constant number, or -1 if it is known only at
 * run time. */
static int64_t number_at(const struct cr_function *f, const struct cr_call *call, int i)
{
    const struct cr_argument *argument = &f->arguments[call->first_argument + i];
    if (argument->kind != CR_ARGUMENT_NUMBER || f->exprs[argument->number].op != CR_EXPR_NUMBER)
        return -1;
    return f->exprs[argument->number].number;
}

/* Returns the expression with which a variable is declared, where `expr` is that variable; null
 * if `expr` is not a variable, or if the variable has no such declaration. */
static const struct cr_expr_node *declared(const struct cr_function *f, cr_expr expr)
{
    if (f->exprs[expr].op != CR_EXPR_VAR)
        return NULL;
    for (const struct cr_statement *s = f->body; s < f->body + f->n_body; s++)
        if (s->kind == CR_STATEMENT_LET && s->var == f->exprs[expr].a)
            return &f->exprs[s->value];
    return NULL;
}

static bool is_number(const struct cr_function *f, const struct cr_expr_node *e, enum cr_expr_op op,
                      int64_t *number)
{
    if (!e || e->op != op || f->exprs[e->b].op != CR_EXPR_NUMBER)
        return false;
    *number = f->exprs[e->b].number;
    return true;
}

/* Finds the values that argument `i` of a call can have, and returns their number: one for a
 * constant; one or two for the columns of a share, "last - first" with first = i * step and last
 * = min(first + step, all): `step`, and what remains for the last share.  Returns 0 if the values
 * are unknown. */
static int find_numbers(const struct cr_function *f, const struct cr_call *call, int i, int64_t numbers[2])
{
    int64_t step, all, more;
    numbers[0] = number_at(f, call, i);
    if (numbers[0] > 0)
        return 1;
    const struct cr_argument *argument = &f->arguments[call->first_argument + i];
    const struct cr_expr_node *size =
        argument->kind == CR_ARGUMENT_NUMBER ? declared(f, argument->number) : NULL;
    if (!size || size->op != CR_EXPR_SUB)
        return 0;
    const struct cr_expr_node *last = declared(f, size->a), *first = declared(f, size->b);
    if (!is_number(f, last, CR_EXPR_MIN, &all) || !is_number(f, first, CR_EXPR_MUL, &step) ||
        !is_number(f, &f->exprs[last->a], CR_EXPR_ADD, &more) || more != step)
        return 0;
    numbers[0] = step;
    numbers[1] = all % step;
    return all % step ? 2 : 1;
}

/* Returns, as a bit set, the widths of the tiles with which v_gemm of runtime/gemm.inc covers
 * `columns` columns, if tiles of `width` vectors of `floats` floats are wanted; see v_width. */
static unsigned widths_of(int64_t columns, int64_t width, int64_t floats)
{
    enum { PANEL = 32, PACED = 8 };
    unsigned widths = 0;
    int64_t step;
    for (int64_t n = 0; n < columns; n += step * floats) {
        int64_t left = (columns - n + floats - 1) / floats, tiles = (left + width - 1) / width;
        int64_t room = (PANEL - n % PANEL) / floats, most = left < width ? left : width;
        step = (left + tiles - 1) / tiles < 2 ? 2 : (left + tiles - 1) / tiles;
        if (floats == PACED)
            step = most == 3 || most < room ? most : room;
        widths |= 1u << step;
    }
    return widths;
}

/* True if a product may need tiles of one or of three vectors on some instruction set.  A band of
 * attention uses tiles of one vector if a file has them, else of two.  A tile has as many vectors
 * as `width` columns fill, by default 2 or 4; products with few rows use the widest tiles.
 * Weights in blocks are multiplied panel by panel. */
static bool may_be_uneven(int64_t columns, int64_t width, bool band)
{
    static const int64_t floats[] = {1, 4, 8, 16};
    unsigned uneven = band ? 1u << 3 : 1u << 3 | 1u << 1, widths = 0;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        int64_t fill = width / floats[i], wanted[] = {2, 4, fill < 2 ? 2 : fill > 4 ? 4 : fill};
        for (int w = 0; w < 3; w++)
            if (w < 2 || width)
                widths |= widths_of(columns, wanted[w], floats[i]) |
                          widths_of(columns % 32, wanted[w], floats[i]);
    }
    return widths & uneven;
}

/* Finds which tiles of runtime/gemm.inc a product needs.  No tile has more than MOST_ROWS rows.
 * Products of attention, by a band or scaled, read from caches, so they do not need wide tiles. */
static void find_tiles(struct cr_needs *needs, const struct cr_function *f, const struct cr_call *call,
                       const char *name)
{
    enum { MOST_ROWS = 12, LONG_K = 1024, ROWS = 0, COLUMNS = 1, K = 2 };
    if (strncmp(name, "gemm", 4) != 0)
        return;
    int64_t columns[2];
    int n = find_numbers(f, call, COLUMNS, columns);
    bool band = call->callee == CR_CALLEE_gemm_band;
    int64_t width = band ? 0 : number_at(f, call, call->n_arguments - 2);
    needs->few_rows |= !band && call->callee != CR_CALLEE_gemm_scaled && number_at(f, call, ROWS) <= MOST_ROWS;
    needs->long_k |= number_at(f, call, K) < 0 || number_at(f, call, K) > LONG_K;
    needs->uneven_columns |= n == 0 || width < 0;
    for (int i = 0; i < n && width >= 0; i++)
        needs->uneven_columns |= may_be_uneven(columns[i], width, band);
}

void cr_needs_find(struct cr_needs *needs, const struct cr_program *p, unsigned isas, bool loads)
{
    enum { NAME = 64 };
    int calls = 0;
    *needs = (struct cr_needs){.program = p, .isas = isas};
    for (int f = 0; f < p->n_functions; f++)
        calls += p->functions[f].n_calls;
    char *at = needs->names = cr_calloc((size_t)(calls + CR_FORMAT_COUNT) * NAME, 1);
    if (loads)
        at = add_loading(needs, at);
    for (int f = 0; f < p->n_functions; f++)
        for (int c = 0; c < p->functions[f].n_calls; c++) {
            cr_callee_name(at, NAME, &p->functions[f].calls[c]);
            find_tiles(needs, &p->functions[f], &p->functions[f].calls[c], at);
            if (cr_names_find(&needs->callees, at) >= 0)
                continue;
            cr_names_add(&needs->callees, at);
            at += strlen(at) + 1;
        }
}

void cr_needs_free(struct cr_needs *needs)
{
    cr_names_free(&needs->callees);
    free(needs->names);
    *needs = (struct cr_needs){0};
}

/* True if `callee` is the function `name`, a variant of the op or reduction `name`, or a member
 * of the family of functions `name`, such as i32. */
static bool is_call_of(const char *callee, const char *name)
{
    const char *arrow = strstr(callee, "->"), *own = arrow ? arrow + 2 : callee;
    size_t length = strlen(name);
    bool of_family = arrow && (size_t)(arrow - callee) == length && strncmp(callee, name, length) == 0;
    return of_family || (strncmp(own, name, length) == 0 && (!own[length] || own[length] == '_'));
}

/* True if the program calls a reduction of floats over rows of a tile. */
static bool reduces_down(const struct cr_needs *needs)
{
    bool found = false;
    for (int i = 0; i < needs->callees.n && !found; i++) {
        const char *callee = needs->callees.items[i], *end = strrchr(callee, '_');
        found = end && strcmp(end, "_down") == 0 && !strstr(callee, "->");
    }
    return found;
}

/* `name` is the path of the template, a member "rt->gemm", reduce_down, an instruction set
 * "avx2", "avx2_alone" (AVX2 without AVX-512), a format "q8", tiles of products, or the name of
 * an op or a function. div is always needed, since other functions of the runtime use it. */
bool cr_is_needed(void *context, const char *name)
{
    const struct cr_needs *needs = context;
    enum cr_format format = cr_format_find(name, strlen(name));
    unsigned isa = find_isa(name, strlen(name));
    if (strcmp(name, CR_TEMPLATE_FILE) == 0)
        return needs->repeats_template;
    if (strcmp(name, "few_rows") == 0)
        return needs->few_rows;
    if (strcmp(name, "long_k") == 0)
        return needs->long_k;
    if (strcmp(name, "uneven_columns") == 0)
        return needs->uneven_columns;
    if (strcmp(name, "reduce_down") == 0)
        return reduces_down(needs);
    if (strcmp(name, "avx2_alone") == 0)
        return (needs->isas & (CR_ISA_AVX2 | CR_ISA_AVX512)) == CR_ISA_AVX2;
    if (strncmp(name, "rt->", 4) == 0)
        return cr_names_find(&needs->callees, name + 4) >= 0;
    if (isa)
        return needs->isas & isa;
    if (format < CR_FORMAT_COUNT && cr_formats[format].pack)
        return cr_has_layouts(needs->program, format);
    for (int i = 0; i < needs->callees.n; i++)
        if (is_call_of(needs->callees.items[i], name))
            return true;
    return strcmp(name, "div") == 0;
}
