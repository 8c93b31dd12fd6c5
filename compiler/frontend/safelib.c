/*
 * safelib.c - the part of Lua's library that a script may use; see safelib.h.
 *
 * Allowed functions are copied by name, so that no others are available.  A function is replaced
 * if the original could access files or the system, loop forever inside one call, or give results
 * that vary between runs or releases of Lua.
 */
#include "safelib.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "luaapi.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"

enum { MAX_PRINTED = 16 << 20 }; /* maximum number of bytes that a script may print */

/* print(...): writes to stderr, since stdout is for the output of the command. */
static int print_to_stderr(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    int n = lua_gettop(L);
    for (int i = 1; i <= n; i++) {
        size_t size;
        cr_push_text(L, i);
        const char *text = lua_tolstring(L, -1, &size);
        run->n_printed += size + 1;
        if (run->n_printed > MAX_PRINTED)
            cr_raise(L, "print: found too much output, expected at most %d MB", MAX_PRINTED >> 20);
        cr_work(L, size / 8 + 1);
        if (!run->quiet) {
            fputs(i > 1 ? "\t" : "", stderr);
            cr_escape_to(stderr, text, size, "\n\t");
        }
        lua_pop(L, 1);
    }
    if (!run->quiet)
        fputc('\n', stderr);
    return 0;
}

static void add_base(lua_State *L)
{
    static const char *const safe[] = {"assert", "error",        "type",     "tonumber", "ipairs",
                                       "select", "getmetatable", "rawequal", NULL};
    static const luaL_Reg functions[] = {{"print", print_to_stderr}, {NULL, NULL}};
    lua_pushvalue(L, -1);
    cr_push_library(L, luaopen_base, "_G");
    cr_copy_fields(L, safe);
    lua_pop(L, 2);
    cr_add_functions(L, functions);
    cr_add_seals(L);
}

/* Adds the library `math` without its random numbers: a script must build the same graph every
 * time. */
static void add_math(lua_State *L)
{
    static const char *const safe[] = {"abs",   "acos", "asin", "atan", "ceil", "cos", "exp",
                                       "floor", "fmod", "huge", "log",  "max",  "min", "modf",
                                       "pi",    "sin",  "sqrt", "tan",  NULL};
    lua_newtable(L);
    cr_push_library(L, luaopen_math, LUA_MATHLIBNAME);
    cr_copy_fields(L, safe);
    lua_pop(L, 1);
    cr_seal(L);
    lua_setfield(L, -2, "math");
}

void cr_add_safe_library(lua_State *L)
{
    add_base(L);
    add_math(L);
    cr_add_safe_string(L);
    cr_add_safe_table(L);
}
