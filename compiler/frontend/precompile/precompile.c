/*
 * precompile.c - a program of the build that writes the bytecode of the built-in modules.
 *
 * precompile FOLDER/
 *
 * It is linked with the same Lua as the program that contains the modules, and runs in the
 * project's root. The bytecode has the lines and names of the text, since messages show them; the
 * bytecode of modules that import inlines has none, since no message shows them.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/frontend/builtin_list.h"
#include "compiler/frontend/luaapi.h"

static int write_piece(lua_State *L, const void *piece, size_t size, void *file)
{
    (void)L;
    return fwrite(piece, 1, size, file) != size;
}

/* Writes the bytecode of the function on top of the stack; LuaJIT and Lua before 5.3 always
 * include line numbers. */
static int dump(lua_State *L, FILE *file, bool has_lines)
{
#if LUA_VERSION_NUM >= 503
    return lua_dump(L, write_piece, file, !has_lines);
#else
    (void)has_lines;
    return lua_dump(L, write_piece, file);
#endif
}

/* Loads a file as chunk `number`; leaves a function or an error message on the stack and returns
 * a status of Lua. */
static int load(lua_State *L, const char *path, int number)
{
    char chunk[32];
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    snprintf(chunk, sizeof chunk, CR_CHUNK, number);
    if (!file || size == sizeof text || ferror(file)) {
        lua_pushfstring(L, "%s: cannot be read", path);
        return LUA_ERRRUN;
    }
    fclose(file);
    return luaL_loadbuffer(L, text, size, chunk);
}

/* Writes the bytecode of one module; ends the program if that fails. */
static void precompile(lua_State *L, const char *path, int number, const char *folder, const char *name,
                       bool has_lines)
{
    char target[4096];
    snprintf(target, sizeof target, "%s%s", folder, name);
    FILE *file = fopen(target, "wb");
    if (!file || load(L, path, number) || dump(L, file, has_lines) || fclose(file)) {
        fprintf(stderr, "precompile: %s: %s\n", path, lua_isstring(L, -1) ? lua_tostring(L, -1) : target);
        exit(1);
    }
    lua_pop(L, 1);
}

#define PRECOMPILE(folder, kind, name)                                                             \
    precompile(L, folder #name ".lua", number++, argv[1], #name, true);
#define PRECOMPILE_INLINE(folder, kind, name)                                                      \
    precompile(L, folder #name ".lua", number++, argv[1], #name, false);

int main(int argc, char **argv)
{
    int number = 0;
    lua_State *L = argc == 2 ? luaL_newstate() : NULL;
    if (!L)
        return 1;
    CR_SCRIPT_MODULES(PRECOMPILE)
    CR_INLINE_MODULES(PRECOMPILE_INLINE)
    lua_close(L);
    return 0;
}
