/*
 * declarations.c - what a program needs of runtime.h: most of what TinyCC would read is never
 * called, and tables as macros take it long.  So a structure of functions has those members only
 * that are called, each at its offset.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "runtime/runtime.h"
#include "runtime_text.h"

/* A function in one of the runtime's tables, which are in the order of the structure. */
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

/* Marks the members whose names stand in the program behind a text such as "rt->"; returns how
 * many there are.  A name that is none of theirs is left for the compiler to report. */
static int find_calls(const char *program, const char *before, int n, const struct member *list,
                      bool *called)
{
    struct cr_names names = {0};
    size_t length = strlen(before);
    int count = 0;
    for (int i = 0; i < n; i++)
        cr_names_add(&names, list[i].name);
    for (const char *at = strstr(program, before); at; at = strstr(at, before)) {
        char name[64] = "";
        at += length;
        size_t size = strspn(at, "_abcdefghijklmnopqrstuvwxyz0123456789");
        if (size < sizeof name)
            memcpy(name, at, size);
        int i = cr_names_find(&names, name);
        if (i < 0)
            continue;
        count += !called[i];
        called[i] = true;
    }
    cr_names_free(&names);
    return count;
}

/* A structure of those members, with room between them where the others are. */
static void put_structure(struct cr_text *text, const char *name, int n, const struct member *list,
                          const bool *called)
{
    size_t end = 0;
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

void cr_put_declarations(struct cr_text *text, const char *program)
{
    bool called[MEMBERS] = {false}, called_i32[MEMBERS_I32] = {false};
    uint64_t done = 0;
    cr_add_runtime(text, "runtime/types.h", &done, NULL, NULL);
    if (find_calls(program, "rt->i32->", MEMBERS_I32, members_i32, called_i32))
        put_structure(text, "cr_runtime_i32", MEMBERS_I32, members_i32, called_i32);
    find_calls(program, "rt->", MEMBERS, members, called);
    put_structure(text, "cr_runtime", MEMBERS, members, called);
}
