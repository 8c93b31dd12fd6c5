/* script_errors.c - finds the script line that caused an error, and reports the error; see
 * script_errors.h. */
#include "script_errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtin_list.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "compiler/ir/sort_order.h"
#include "error_hints.h"
#include "script_state.h"

enum { MAX_LEVELS = 200, MAX_MESSAGE = 800 };

/* Prefix of messages of the Lua module `crescent`. */
#define OF_MODULE "crescent: "

/* The built-in modules as chunks, indexed by the number of the chunk in their bytecode. */
#define BUILTIN(folder, kind, name) {(char *)folder #name ".lua", true},
static const struct cr_chunk builtin[] = {CR_BUILTIN_MODULES(BUILTIN)};

enum { N_BUILTIN = sizeof builtin / sizeof *builtin };

/* Registers a chunk, a loaded text, and writes its name for Lua, "#0", "#1", ...: a path may be
 * too long for Lua's messages, or look like a position. */
void cr_add_chunk(struct cr_run *run, const char *path, bool library, char *name, size_t size)
{
    char *copy = cr_strdup(path);
    snprintf(name, size, CR_CHUNK, N_BUILTIN + run->n_chunks);
    *CR_PUSH(run->chunks, run->n_chunks, run->cap_chunks) = (struct cr_chunk){copy, library};
}

static const struct cr_chunk *chunk_number(const struct cr_run *run, long number)
{
    if (number >= 0 && number < N_BUILTIN)
        return &builtin[number];
    number -= N_BUILTIN;
    return number >= 0 && number < run->n_chunks ? &run->chunks[number] : NULL;
}

/* Returns the chunk of this name, or null.  It does not use scanf, which would be too slow: it is
 * called for every stack frame of every node. */
static const struct cr_chunk *chunk_of_name(const struct cr_run *run, const char *name)
{
    char *end;
    if (name[0] != '=' || name[1] != '#')
        return NULL;
    long number = strtol(name + 2, &end, 10);
    return end > name + 2 ? chunk_number(run, number) : NULL;
}

/* True if a frame runs a function of the host: in a hosted run, any Lua function that is not in a
 * registered chunk. */
static bool is_hosts(const struct cr_run *run, const lua_Debug *frame)
{
    return run->hosted && (strcmp(frame->what, "Lua") == 0 || strcmp(frame->what, "main") == 0);
}

/* True if a frame runs the C function of this library that called the hosted function. */
static bool is_caller(lua_State *L, const struct cr_run *run, lua_Debug *frame)
{
    if (!run->hosted || strcmp(frame->what, "C") != 0)
        return false;
    lua_getinfo(L, "f", frame);
    bool is = lua_tocfunction(L, -1) == run->function.caller;
    lua_pop(L, 1);
    return is;
}

/* Returns the running line of a host's function; its path is the full path of the file. */
static struct cr_line line_of_host(const struct cr_run *run, const lua_Debug *frame)
{
    const char *path = frame->source[0] == '@' ? frame->source + 1 : frame->short_src;
    return (struct cr_line){cr_intern(run->graph, path),
                            frame->currentline > 0 ? frame->currentline : 0};
}

/* Finds the innermost running line of the user's files (*user) and of all files (*inner), in the
 * frames from `level` to MAX_LEVELS: finding a frame takes Lua time proportional to its depth.
 * If the hosted function has returned already, *user is its last line. */
static void find_lines(lua_State *L, const struct cr_run *run, int level, struct cr_line *user,
                       struct cr_line *inner)
{
    lua_Debug frame;
    *user = *inner = (struct cr_line){NULL, 0};
    for (; level < MAX_LEVELS && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "S", &frame);
        const struct cr_chunk *chunk = chunk_of_name(run, frame.source);
        if (is_caller(L, run, &frame))
            break;
        if ((!chunk && !is_hosts(run, &frame)) || (inner->path && chunk && chunk->library))
            continue;
        lua_getinfo(L, "l", &frame); /* not before: it takes Lua time */
        struct cr_line line =
            chunk ? (struct cr_line){chunk->path, frame.currentline} : line_of_host(run, &frame);
        if (!inner->path)
            *inner = line;
        if (!chunk || !chunk->library) {
            *user = line;
            return;
        }
    }
    if (run->hosted)
        *user = run->function.end;
}

void cr_find_lines(lua_State *L, const struct cr_run *run, struct cr_line *user,
                   struct cr_line *inner)
{
    find_lines(L, run, 0, user, inner);
}

struct cr_line cr_caller_line(lua_State *L, const struct cr_run *run)
{
    struct cr_line user, inner;
    find_lines(L, run, 2, &user, &inner);
    if (!user.path)
        find_lines(L, run, 0, &user, &inner);
    return user;
}

void cr_report_text(struct cr_run *run, struct cr_line line, const char *text)
{
    if (run->reported && !run->hosted)
        return;
    run->reported = true;
    if (!line.path)
        cr_fail(run->error, "%s: %s", run->path, text);
    else if (line.number == 0)
        cr_fail(run->error, "%s: %s", line.path, text);
    else
        cr_fail(run->error, "%s:%d: %s", line.path, line.number, text);
}

/* Moves *message past a prefix like "#3:12: ", sets *line to 12 and returns chunk 3; returns null
 * if the message has no such prefix. */
static const struct cr_chunk *split_message(const struct cr_run *run, const char **message,
                                            int *line)
{
    int number, length = 0;
    if (sscanf(*message, "#%d:%d: %n", &number, line, &length) != 2 || length == 0)
        return NULL;
    const struct cr_chunk *chunk = chunk_number(run, number);
    if (chunk)
        *message += length;
    return chunk;
}

/* Moves *message past a prefix like "model.lua:12: ", which Lua writes for a running function of
 * the host; sets *line and returns true if there was one. */
static bool split_hosts_message(lua_State *L, const struct cr_run *run, const char **message,
                                struct cr_line *line)
{
    lua_Debug frame;
    char begin[LUA_IDSIZE + 32];
    for (int level = 0; level < MAX_LEVELS && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (is_caller(L, run, &frame))
            break;
        if (!is_hosts(run, &frame))
            continue;
        int size = snprintf(begin, sizeof begin, "%s:%d: ", frame.short_src, frame.currentline);
        if (strncmp(*message, begin, (size_t)size) != 0)
            continue;
        *message += size;
        *line = line_of_host(run, &frame);
        return true;
    }
    return false;
}

/* The message handler of a hosted run: replaces the error value by the whole message with its
 * line. Errors that are reported already, or not strings, are returned unchanged. */
static int report_to_host(lua_State *L, struct cr_run *run)
{
    struct cr_line user, inner;
    char text[MAX_MESSAGE], hint[MAX_MESSAGE];
    if (lua_type(L, 1) != LUA_TSTRING)
        return 1;
    const char *message = lua_tostring(L, 1);
    if (run->reported && strcmp(message, run->error->text) == 0)
        return 1;
    cr_find_lines(L, run, &user, &inner);
    int line;
    const struct cr_chunk *said = split_message(run, &message, &line);
    if (said)
        inner = (struct cr_line){said->path, line};
    if (said && !said->library)
        user = inner;
    if (!said && split_hosts_message(L, run, &message, &user))
        inner = user;
    if (strncmp(message, OF_MODULE, sizeof OF_MODULE - 1) == 0)
        message += sizeof OF_MODULE - 1;
    message = cr_hint(L, run, message, inner.path && inner.path != user.path, hint, sizeof hint);
    if (inner.path && user.path && inner.path != user.path)
        snprintf(text, sizeof text, "%.*s (in %s:%d)", MAX_MESSAGE / 2, message, inner.path,
                 inner.number);
    else
        snprintf(text, sizeof text, "%s", message);
    cr_report_text(run, user, text);
    lua_pushstring(L, run->error->text);
    return 1;
}

int cr_report(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_line user, inner;
    if (run->hosted)
        return report_to_host(L, run);
    cr_find_lines(L, run, &user, &inner);
    const char *message = lua_type(L, 1) == LUA_TSTRING
                              ? lua_tostring(L, 1)
                              : "error was called with something that is not a string";
    char limit[128];
    bool refused = strcmp(message, "not enough memory") == 0; /* Lua's library refused the
                                                               * allocation */
    if (refused || (*run->passed && !run->stopping)) {
        snprintf(limit, sizeof limit, "the script takes more than %s, expected less", cr_limit_passed(run));
        message = limit;
    }
    int line;
    const struct cr_chunk *said = split_message(run, &message, &line);
    if (said && said->library)
        inner = (struct cr_line){said->path, line};
    else if (said)
        user = inner = (struct cr_line){said->path, line};
    char text[MAX_MESSAGE], hint[MAX_MESSAGE];
    message = cr_hint(L, run, message, inner.path && inner.path != user.path, hint, sizeof hint);
    if (inner.path && inner.path != user.path)
        snprintf(text, sizeof text, "%.*s (in %s:%d)", MAX_MESSAGE / 2, message, inner.path,
                 inner.number);
    else
        snprintf(text, sizeof text, "%s", message);
    cr_report_text(run, user, text);
    return 1;
}

void cr_raise_at(lua_State *L, struct cr_line line, const char *text)
{
    struct cr_run *run = cr_run_of(L);
    cr_report_text(run, line, text);
    lua_pushstring(L, run->hosted ? run->error->text : text);
    lua_error(L);
    abort(); /* lua_error does not return */
}

void cr_raise_error(lua_State *L, const struct cr_error *error)
{
    struct cr_run *run = cr_run_of(L);
    *run->error = *error;
    run->reported = true;
    lua_pushstring(L, error->text);
    lua_error(L);
    abort(); /* lua_error does not return */
}

void cr_raise_in(lua_State *L, const char *path, const char *format, ...)
{
    char text[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cr_raise_at(L, (struct cr_line){path, 0}, text);
}

/* Raises an error with its line at once, not in a message handler, because the host may catch
 * it. */
static _Noreturn void raise_to_host(lua_State *L, const struct cr_run *run, const char *message)
{
    struct cr_line user, inner;
    char text[MAX_MESSAGE];
    cr_find_lines(L, run, &user, &inner);
    if (inner.path && user.path && inner.path != user.path)
        snprintf(text, sizeof text, "%.*s (in %s:%d)", MAX_MESSAGE / 2, message, inner.path,
                 inner.number);
    else
        snprintf(text, sizeof text, "%s", message);
    cr_raise_at(L, user, text);
}

void cr_raise(lua_State *L, const char *format, ...)
{
    char text[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const struct cr_run *run = cr_find_run(L);
    if (run && run->hosted)
        raise_to_host(L, run, text);
    lua_pushstring(L, text);
    lua_error(L);
    abort(); /* lua_error does not return */
}

/* ---- suggestions ---- */

enum { MAX_NAMES = 400, LEAST_LETTERS = 4 }; /* the most names compared with a misspelt one; the
                                              * shortest name that is suggested */

const char *cr_suggest_key(lua_State *L, int table, char *text, size_t size, const char *name)
{
    const char *names[MAX_NAMES];
    int n = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        if (n < MAX_NAMES && lua_type(L, -1) == LUA_TSTRING)
            names[n++] = lua_tostring(L, -1);
    }
    if (strlen(name) < LEAST_LETTERS)
        n = 0;
    qsort(names, (size_t)n, sizeof *names, cr_compare_strings);
    return cr_did_you_mean(text, size, name, names, n);
}
