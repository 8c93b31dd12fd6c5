/*
 * declarations.c - prints the declarations that a program needs from runtime.h.  TinyCC would take
 * long to read all of it, mostly the tables in macros, and most functions are never called.  So a
 * structure of functions is declared with only the members that are called, each at its offset.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/program.h"
#include "runtime/runtime.h"
#include "runtime_text.h"

/* A function in one of the tables of the runtime; the tables have the order of the structure. */
struct member {
    const char *name, *declaration;
    size_t offset;
};

static const struct member members[] = {
    {"i32", "const struct cr_runtime_i32 *i32", offsetof(struct cr_runtime, i32)},
    {"parallel", "cr_parallel *parallel", offsetof(struct cr_runtime, parallel)},
#define CR_MEMBER(type, name) {#name, #type " *" #name, offsetof(struct cr_runtime, name)},
#define CR_FUNCTION(name, result, parameters)                                                      \
    {#name, #result " (*" #name ")" #parameters, offsetof(struct cr_runtime, name)},
    CR_MEMBERS
#undef CR_MEMBER
#undef CR_FUNCTION
};

static const struct member members_i32[] = {
#define CR_FUNCTION(name, result, parameters)                                                      \
    {#name, #result " (*" #name ")" #parameters, offsetof(struct cr_runtime_i32, name)},
    CR_MEMBERS_I32
#undef CR_FUNCTION
};

enum {
    MEMBERS = sizeof members / sizeof *members,
    MEMBERS_I32 = sizeof members_i32 / sizeof *members_i32
};

/* Marks the member of that name, if there is one. */
static void mark(const struct cr_names *names, const char *name, bool *called)
{
    int i = cr_names_find(names, name);
    if (i >= 0)
        called[i] = true;
}

/* Marks the members that the functions of a program call; the name of a member follows the prefix
 * `family` in a callee's name. */
static void mark_calls(const struct cr_program *program, const char *family, int n,
                       const struct member *list, bool *called)
{
    struct cr_names names = {0};
    size_t length = strlen(family);
    char callee[64];
    for (int i = 0; i < n; i++)
        cr_names_add(&names, list[i].name);
    for (int f = 0; f < program->n_functions; f++)
        for (int c = 0; c < program->functions[f].n_calls; c++) {
            const struct cr_call *call = &program->functions[f].calls[c];
            cr_callee_name(callee, sizeof callee, call);
            if (strcmp(cr_formats[call->format].family, family) == 0)
                mark(&names, callee + length, called);
            else if (!*family) /* the pointer to that family, whose name ends in "->" */
                callee[strcspn(callee, "-")] = 0, mark(&names, callee, called);
        }
    if (!*family)
        mark(&names, "parallel", called); /* it calls all functions */
    cr_names_free(&names);
}

/* Prints a structure of the marked members, if there are any, with padding in place of the
 * others. */
static void put_structure(struct cr_text *text, const char *name, int n, const struct member *list,
                          const bool *called)
{
    size_t end = 0;
    if (!memchr(called, true, (size_t)n * sizeof *called))
        return;
    cr_put(text, "struct %s {\n", name);
    for (int i = 0; i < n; i++) {
        if (!called[i])
            continue;
        if (list[i].offset > end)
            cr_put(text, "    char before_%s[%zu];\n", list[i].name, list[i].offset - end);
        cr_put(text, "    %s;\n", list[i].declaration);
        end = list[i].offset + sizeof(void (*)(void));
    }
    cr_put(text, "};\n");
}

void cr_put_declarations(struct cr_text *text, const struct cr_program *program)
{
    bool called[MEMBERS] = {false}, called_i32[MEMBERS_I32] = {false};
    uint64_t done = 0;
    cr_add_runtime(text, "runtime/types.h", &done, NULL, NULL);
    mark_calls(program, cr_formats[CR_FORMAT_i32].family, MEMBERS_I32, members_i32, called_i32);
    mark_calls(program, "", MEMBERS, members, called);
    put_structure(text, "cr_runtime_i32", MEMBERS_I32, members_i32, called_i32);
    put_structure(text, "cr_runtime", MEMBERS, members, called);
}
