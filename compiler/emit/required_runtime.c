/* required_runtime.c - finds the parts of the runtime that a standalone file needs. */
#include "required_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "runtime_text.h"
#include "standalone_text.h"

/* ---- instruction sets ---- */

/* By index of the bit; a level of AVX-512 can only be compiled together with `base`. */
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

/* Returns the bit of a name, or 0. */
static unsigned find_isa(const char *name, size_t length)
{
    for (int i = 0; i < ISAS; i++)
        if (strlen(isa_rows[i].name) == length && strncmp(isa_rows[i].name, name, length) == 0)
            return 1u << i;
    return 0;
}

/* Checks that a list contains plain C, and for each level the level that it builds on. */
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

/* The functions that cr_pack_weight of runtime/pack_weights.c calls, which every file contains. */
static const char *const of_pack_weight[] = {"load", "pack", "pack_stream"};

/* Adds the names that an expression calls as rt->NAME; `at` points to the memory for the next
 * name. */
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

/* Adds the functions that lay out weights: callees of cr_pack_weight, and functions of the formats
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

/* Returns an argument that is a number, or -1 if it is known only at run time. */
static int64_t number_at(const struct cr_function *f, const struct cr_call *call, int i)
{
    const struct cr_argument *argument = &f->arguments[call->first_argument + i];
    if (argument->kind != CR_ARGUMENT_NUMBER || f->exprs[argument->number].op != CR_EXPR_NUMBER)
        return -1;
    return f->exprs[argument->number].number;
}

/* True if `columns` asks for tiles of three vectors, of 4, 8 or 16 floats. */
static bool are_three_vectors(int64_t columns)
{
    return columns / 4 == 3 || columns / 8 == 3 || columns / 16 == 3;
}

/* Finds out which tiles of runtime/gemm.inc a product needs.  No tile has more than MOST_ROWS rows.  One panel,
 * or an even number of them, is covered by tiles of two or four vectors. */
static void find_tiles(struct cr_needs *needs, const struct cr_function *f, const struct cr_call *call,
                       const char *name)
{
    enum { MOST_ROWS = 12, PANELS = 2 * 32, ROWS = 0, COLUMNS = 1 };
    if (strncmp(name, "gemm", 4) != 0)
        return;
    bool band = call->callee == CR_CALLEE_gemm_band;
    int64_t columns = number_at(f, call, COLUMNS);
    int64_t width = band ? 0 : number_at(f, call, call->n_arguments - 2);
    needs->few_rows |= !band && number_at(f, call, ROWS) <= MOST_ROWS;
    needs->uneven_columns |= columns <= 0 || (columns != PANELS / 2 && columns % PANELS != 0) ||
                             width < 0 || are_three_vectors(width);
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

/* True if a callee is the function `name`, a variant of it for the op or reduction `name`, or a
 * member of the family `name` (i32). */
static bool is_call_of(const char *callee, const char *name)
{
    const char *arrow = strstr(callee, "->"), *own = arrow ? arrow + 2 : callee;
    size_t length = strlen(name);
    bool of_family = arrow && (size_t)(arrow - callee) == length && strncmp(callee, name, length) == 0;
    return of_family || (strncmp(own, name, length) == 0 && (!own[length] || own[length] == '_'));
}

/* A name is the template's path, a member "rt->gemm", an instruction set "avx2", a format "q8",
 * tiles of products, or the name of an op or a function. div is always needed, since other functions of the runtime
 * use it. */
bool cr_is_needed(void *context, const char *name)
{
    const struct cr_needs *needs = context;
    enum cr_format format = cr_format_find(name, strlen(name));
    unsigned isa = find_isa(name, strlen(name));
    if (strcmp(name, CR_TEMPLATE_FILE) == 0)
        return needs->repeats_template;
    if (strcmp(name, "few_rows") == 0)
        return needs->few_rows;
    if (strcmp(name, "uneven_columns") == 0)
        return needs->uneven_columns;
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
