/*
 * declarations.c - prints those declarations of runtime.h that a program needs.  TinyCC would
 * take long to read the whole header, mostly for its macros with tables, and most runtime
 * functions are never called.  So a structure of functions is declared with only the members that
 * are called; if the runtime is compiled already, each member is at its offset there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/program.h"
#include "compiler/ir/steps.h"
#include "required_runtime.h"
#include "runtime/runtime.h"
#include "runtime_text.h"

/* A function in one of the runtime's tables, which have the order of the members of the
 * structure. */
struct member {
    const char *name, *declaration;
    size_t offset;
    bool is_variant; /* a variant of an op or a reduction, which gives the function its name */
};

static const struct member members[] = {
    {"i32", "const struct cr_runtime_i32 *i32", offsetof(struct cr_runtime, i32), false},
    {"parallel", "cr_parallel *parallel", offsetof(struct cr_runtime, parallel), false},
#define CR_MEMBER(type, name) {#name, #type " *" #name, offsetof(struct cr_runtime, name), true},
#define CR_FUNCTION(name, result, parameters)                                                      \
    {#name, #result " (*" #name ")" #parameters, offsetof(struct cr_runtime, name), false},
    CR_MEMBERS
#undef CR_MEMBER
#undef CR_FUNCTION
};

static const struct member members_i32[] = {
#define CR_MEMBER_I32(name, result, parameters, is_variant)                                        \
    {#name, #result " (*" #name ")" #parameters, offsetof(struct cr_runtime_i32, name), is_variant},
#define CR_FUNCTION(name, result, parameters) CR_MEMBER_I32(name, result, parameters, true)
    CR_VARIANTS_I32
#undef CR_FUNCTION
#define CR_FUNCTION(name, result, parameters) CR_MEMBER_I32(name, result, parameters, false)
    CR_FUNCTIONS_I32
#undef CR_FUNCTION
#undef CR_MEMBER_I32
};

enum {
    MEMBERS = sizeof members / sizeof *members,
    MEMBERS_I32 = sizeof members_i32 / sizeof *members_i32
};

/* For each member of both structures: true if the program calls it. */
struct called {
    bool members[MEMBERS], members_i32[MEMBERS_I32];
};

/* Marks the members that the calls of a program name, and `parallel`, which starts all
 * functions. */
static void mark_calls(struct called *called, const struct cr_needs *needs)
{
    const char *i32 = cr_formats[CR_FORMAT_i32].family;
    struct cr_names names = {0}, names_i32 = {0};
    for (int i = 0; i < MEMBERS; i++)
        cr_names_add(&names, members[i].name);
    for (int i = 0; i < MEMBERS_I32; i++)
        cr_names_add(&names_i32, members_i32[i].name);
    for (int i = 0; i < needs->callees.n; i++) {
        const char *callee = needs->callees.items[i];
        bool is_i32 = strncmp(callee, i32, strlen(i32)) == 0;
        int member = cr_names_find(&names, is_i32 ? "i32" : callee);
        if (member >= 0)
            called->members[member] = true;
        if (is_i32 && (member = cr_names_find(&names_i32, callee + strlen(i32))) >= 0)
            called->members_i32[member] = true;
    }
    called->members[cr_names_find(&names, "parallel")] = true;
    cr_names_free(&names);
    cr_names_free(&names_i32);
}

/* ---- declarations for a text without the runtime's source ---- */

/* Prints a structure with only the marked members, and padding in place of the others; prints
 * nothing if no member is marked. */
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
    struct called called = {{false}, {false}};
    struct cr_needs needs;
    uint64_t done = 0;
    cr_add_runtime(text, "runtime/types.h", &done, NULL, NULL);
    cr_needs_find(&needs, program, CR_ISA_ALL, false);
    mark_calls(&called, &needs);
    put_structure(text, "cr_runtime_i32", MEMBERS_I32, members_i32, called.members_i32);
    put_structure(text, "cr_runtime", MEMBERS, members, called.members);
    if (cr_exchanges(program))
        cr_put(text, "struct cr_ranks {\n"
                     "    void (*gather_blocks)(struct cr_ranks *ranks, void *to, const void *from, long bytes,"
                     " long stride);\n%s};\n", program->ranks ? "    int rank;\n" : "");
    cr_needs_free(&needs);
}

/* ---- declarations in a standalone file ---- */

/* Prints the marked members as declarations, each after its description from the table in the
 * file `path`. */
static void put_members(struct cr_text *text, int n, const struct member *list, const bool *called,
                        const char *path)
{
    for (int i = 0; i < n; i++) {
        if (!called[i])
            continue;
        if (!list[i].is_variant)
            cr_put_description(text, path, list[i].name);
        cr_put_line(text, 4, "%s;", list[i].declaration);
    }
}

void cr_put_needed_structures(struct cr_text *text, const struct cr_needs *needs)
{
    struct called called = {{false}, {false}};
    mark_calls(&called, needs);
    if (memchr(called.members_i32, true, sizeof called.members_i32)) {
        cr_put(text, "/* The same on tiles of i32. */\nstruct cr_runtime_i32 {\n");
        put_members(text, MEMBERS_I32, members_i32, called.members_i32, "runtime/i32.h");
        cr_put(text, "};\n\n");
    }
    cr_put(text, "/* The functions for one instruction set that this model needs.  A tile is a matrix of rows x\n"
                 " * cols floats: element (r, c) of y is y[r * ldy + c].  The letters behind the name of an\n"
                 " * elementwise op say which operands are tiles (v), and which have one value a row (s): b[r *\n"
                 " * ldb]. */\n"
                 "struct cr_runtime {\n    const char *isa;\n");
    put_members(text, MEMBERS, members, called.members, "runtime/runtime.h");
    cr_put(text, "};\n");
}

/* Prints a macro that lists the marked members that are variants; it is used to fill instances of
 * the structure. */
static void put_variants(struct cr_text *text, const char *macro, int n, const struct member *list,
                         const bool *called)
{
    enum { ON_A_LINE = 4 };
    int printed = 0;
    cr_put(text, "#define %s", macro);
    for (int i = 0; i < n; i++)
        if (called[i] && list[i].is_variant)
            cr_put(text, "%sCR_FUNCTION(%s, , )", printed++ % ON_A_LINE ? " " : " \\\n    ", list[i].name);
    cr_put(text, "\n");
}

void cr_put_needed_members(struct cr_text *text, const struct cr_needs *needs)
{
    struct called called = {{false}, {false}};
    mark_calls(&called, needs);
    cr_put(text, "/* The functions of elementwise ops and reductions that the model needs. */\n");
    put_variants(text, "CR_VARIANTS", MEMBERS, members, called.members);
    if (memchr(called.members_i32, true, sizeof called.members_i32))
        put_variants(text, "CR_VARIANTS_I32", MEMBERS_I32, members_i32, called.members_i32);
}
