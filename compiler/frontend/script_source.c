/* script_source.c - finds, reads and loads the texts of scripts and modules; see
 * script_source.h. */
#include "script_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "builtin_list.h"
#include "builtin_modules.h"
#include "compiler/ir/mem.h"
#include "language.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"

enum {
    MAX_PATH = 4096,
    MAX_SOURCE = 1 << 20, /* maximum number of bytes of a script */
    PIECE = 512           /* bytes that Lua's parser gets at a time */
};

static const char library_key; /* key of cr_push_kept: the globals of library modules */
static const char modules_key; /* key of cr_push_kept_table: name of a module -> its value, or a
                                * mark while it is loaded */

/* The text of a source file.  The caller frees `bytes`. */
struct source_text {
    char *bytes;
    size_t size;
};

/* Reads an open file of `size` bytes into *text.  Returns null, or an error text. */
static const char *read_all(FILE *file, off_t size, struct source_text *text)
{
    if (size > MAX_SOURCE)
        return "the file is longer than 1 MB, expected a script";
    text->bytes = cr_calloc((size_t)size, 1);
    text->size = fread(text->bytes, 1, (size_t)size, file);
    return ferror(file) ? strerror(errno) : NULL;
}

/* Reads a regular file into *text; refuses other files, since a pipe could block forever.
 * Returns null, or an error text. */
static const char *read_file(const char *path, int flags, struct source_text *text)
{
    *text = (struct source_text){NULL, 0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0)
        return strerror(errno);
    struct stat info;
    FILE *file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "rb") : NULL;
    if (!file) {
        close(fd);
        return S_ISDIR(info.st_mode) ? "is a directory, expected a script"
                                     : "is not a regular file";
    }
    const char *wrong = read_all(file, info.st_size, text);
    fclose(file);
    if (wrong) {
        free(text->bytes);
        *text = (struct source_text){NULL, 0};
    }
    return wrong;
}

/* The rest of a text that lua_load has not read yet. */
struct reading {
    const char *bytes;
    size_t left;
};

/* Returns the next piece of a text for lua_load.  Checks the clock, since Lua's parser may take
 * time quadratic in the length of the text. */
static const char *read_piece(lua_State *L, void *data, size_t *size)
{
    struct reading *reading = data;
    const char *piece = reading->bytes;
    cr_check_time(L);
    *size = reading->left < PIECE ? reading->left : PIECE;
    reading->bytes += *size;
    reading->left -= *size;
    return piece;
}

void cr_keep_library_globals(lua_State *L)
{
    cr_set_kept(L, &library_key);
}

/* Gives the library module on top of the stack its own globals, which scripts cannot change. */
static void set_library_globals(lua_State *L)
{
    cr_push_kept(L, &library_key);
    cr_set_globals_of(L, -2);
}

/* Loads a text; leaves a function or an error message on the stack.  Refuses bytecode, which
 * can do things that no script can.  Skips a first line that begins with "#", which is for the
 * shell. */
static int load_chunk(lua_State *L, const char *chunk, bool library, const char *bytes, size_t size)
{
    if (size && *bytes == '#') {
        const char *end = memchr(bytes, '\n', size);
        size_t skipped = end ? (size_t)(end - bytes) : size;
        bytes += skipped;
        size -= skipped;
    }
    struct reading reading = {bytes, size};
    int status = cr_load_lua_text(L, read_piece, &reading, chunk);
    if (status == 0 && library)
        set_library_globals(L);
    return status;
}

static int load_text(lua_State *L, struct cr_run *run, const char *path, bool library,
                     const char *bytes, size_t size)
{
    char chunk[32];
    cr_add_chunk(run, path, library, chunk, sizeof chunk);
    return load_chunk(L, chunk, library, bytes, size);
}

/* Loads the text of a file, and frees it. */
static void load_file(lua_State *L, struct cr_run *run, const char *path, bool library,
                      struct source_text *text)
{
    int status = load_text(L, run, path, library, text->bytes, text->size);
    free(text->bytes);
    if (status != 0)
        lua_error(L);
}

/* Loads the script from its text in memory. */
static void load_memory(lua_State *L, struct cr_run *run)
{
    if (run->length > MAX_SOURCE)
        cr_raise(L, "the file is longer than 1 MB, expected a script");
    if (load_text(L, run, run->path, false, run->text, run->length) != 0)
        lua_error(L);
}

void cr_load_script(lua_State *L, struct cr_run *run)
{
    struct source_text text;
    if (run->text) {
        load_memory(L, run);
        return;
    }
    const char *wrong = read_file(run->path, 0, &text);
    if (wrong)
        cr_raise(L, "%s", wrong);
    load_file(L, run, run->path, false, &text);
}

void cr_load_constants(lua_State *L, struct cr_run *run, const char *path)
{
    struct source_text text;
    const char *wrong = read_file(path, 0, &text);
    if (wrong)
        cr_raise_in(L, path, "%s", wrong);
    if (text.size && *text.bytes == *LUA_SIGNATURE) {
        free(text.bytes);
        cr_raise_in(L, path, "the file is not text, expected a table of values");
    }
    load_file(L, run, path, false, &text);
    lua_newtable(L);
    cr_set_globals_of(L, -2);
}

/* True if a path, with all links resolved, is inside the script's folder.  Writes the resolved
 * path to `real`, of PATH_MAX bytes. */
static bool is_inside(const struct cr_run *run, const char *path, char *real)
{
    char folder[PATH_MAX];
    if (!realpath(*run->folder ? run->folder : ".", folder) || !realpath(path, real))
        return false;
    size_t length = strlen(folder);
    bool top = length == 1; /* the folder is "/" */
    return strncmp(real, folder, length) == 0 && (top || real[length] == '/');
}

/* Reads the file of a module by its resolved path, so that nobody can replace a link in between.
 * Returns null, or an error text. */
static const char *read_module(const struct cr_run *run, const char *path, struct source_text *text)
{
    char real[PATH_MAX];
    if (!is_inside(run, path, real))
        return "is a link out of the script's folder";
    return read_file(real, O_NOFOLLOW, text);
}

/* Loads the file FOLDER SUB MODULE.lua, where dots in the module's name become slashes; returns
 * false if there is no such file. */
static bool load_from(lua_State *L, struct cr_run *run, const char *sub, const char *module)
{
    char path[MAX_PATH];
    size_t start = strlen(run->folder) + strlen(sub);
    int size = snprintf(path, sizeof path, "%s%s%s.lua", run->folder, sub, module);
    if (size < 0 || (size_t)size >= sizeof path)
        cr_raise(L, "require: the path of '%.100s' is too long, expected a shorter one", module);
    for (size_t i = start; i < start + strlen(module); i++)
        if (path[i] == '.')
            path[i] = '/';
    if (access(path, F_OK) != 0)
        return false;
    struct source_text text;
    const char *wrong = read_module(run, path, &text);
    if (wrong)
        cr_raise(L, "require: %s: %s", path, wrong);
    load_file(L, run, path, *sub != '\0', &text);
    return true;
}

/* Loads the bytecode of a module, which takes a tenth of the time for its text.  Returns false if
 * there is none, or if it is for another release of Lua. */
static bool load_bytecode(lua_State *L, int number, const char *chunk)
{
    size_t size;
    const char *code = cr_builtin_bytecode(number, &size);
    if (!code)
        return false;
    if (cr_load_lua_bytecode(L, code, size, chunk) == 0) {
        set_library_globals(L);
        return true;
    }
    lua_pop(L, 1);
    return false;
}

/* Loads a built-in module by its name; returns false if there is no such module. */
static bool load_builtin(lua_State *L, const char *module)
{
    char chunk[32];
    const char *path;
    size_t size;
    const char *bytes = cr_builtin_module(module, &path, &size);
    int number = cr_builtin_number(module);
    if (!bytes)
        return false;
    snprintf(chunk, sizeof chunk, CR_CHUNK, number);
    if (!load_bytecode(L, number, chunk) && load_chunk(L, chunk, true, bytes, size) != 0)
        lua_error(L);
    return true;
}

/* True if a name consists of identifiers separated by dots: then its path stays inside the
 * folder. */
static bool is_module_name(const char *name)
{
    bool first = true;
    for (; *name; name++) {
        bool letter = isalpha((unsigned char)*name) || *name == '_';
        if (first ? !letter : !letter && !isdigit((unsigned char)*name) && *name != '.')
            return false;
        first = *name == '.';
    }
    return !first;
}

/* True if the value on top of the stack is a table without a metatable. */
static bool is_plain_table(lua_State *L)
{
    if (!lua_istable(L, -1))
        return false;
    bool plain = !lua_getmetatable(L, -1);
    if (!plain)
        lua_pop(L, 1);
    return plain;
}

/* Removes the entry of a module that was not found, so that a later require searches again. */
static void forget_module(lua_State *L, const char *name)
{
    lua_pushnil(L);
    lua_setfield(L, 2, name);
}

/* Calls the host's require, for modules that are not part of the language. */
static int require_of_host(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* require(name): returns the value of a module, which runs only once.  The table of a library
 * module is sealed, since other modules rely on it.  While a module runs, its entry in the table
 * of modules is a light userdata, which no module can return. */
int cr_lua_require(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "require", 1, 1);
    const char *name = run->hosted ? luaL_checkstring(L, 1) : cr_arg_name(L, 1, "require", "module");
    if (!is_module_name(name) && run->hosted)
        return require_of_host(L);
    if (!is_module_name(name))
        cr_raise(L, "require: found '%s', expected a module's name, such as nn or family.layers",
                 name);
    cr_push_kept_table(L, &modules_key);
    lua_getfield(L, 2, name);
    if (lua_islightuserdata(L, -1))
        cr_raise(L,
                 "require: modules require each other in a circle through '%s', expected no circle",
                 name);
    if (!lua_isnil(L, -1))
        return 1;
    lua_pushlightuserdata(L, run);
    lua_setfield(L, 2, name);
    bool library = !run->builtin && load_from(L, run, "lib/", name);
    bool found = library || (!run->builtin && !run->hosted && load_from(L, run, "", name));
    if (!found && !(library = load_builtin(L, name))) {
        forget_module(L, name);
        if (run->hosted)
            return require_of_host(L);
        cr_raise(L, "require: found no module '%s', expected it in lib/, beside the script or "
                 "built in", name);
    }
    cr_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    if (library && is_plain_table(L))
        cr_seal(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, name);
    return 1;
}
