/* Mistakes of a script: which line of whose text is to blame; see blame.h. */
#include "blame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "script_state.h"

enum { MAX_LEVELS = 200, MAX_MESSAGE = 800 };

/* Chunks are called "#0", "#1", ...: a path may be too long for Lua's messages, or
 * hold what looks like one. */
void cr_add_chunk(struct cr_run *run, const char *path, bool library, char *name, size_t size)
{
    char *copy = cr_strdup(path);
    snprintf(name, size, "=#%d", run->n_chunks);
    *CR_PUSH(run->chunks, run->n_chunks, run->cap_chunks) = (struct cr_chunk){copy, library};
}

static const struct cr_chunk *chunk_number(const struct cr_run *run, long number)
{
    return number >= 0 && number < run->n_chunks ? &run->chunks[number] : NULL;
}

/* Called for each frame of the stack for every node; scanf would be too slow. */
static const struct cr_chunk *chunk_of_name(const struct cr_run *run, const char *name)
{
    char *end;
    if (name[0] != '=' || name[1] != '#')
        return NULL;
    long number = strtol(name + 2, &end, 10);
    return end > name + 2 ? chunk_number(run, number) : NULL;
}

/* Visits at most MAX_LEVELS frames, since Lua takes time in proportion to the depth to find
 * one. */
void cr_find_lines(lua_State *L, const struct cr_run *run, struct cr_line *user,
                   struct cr_line *inner)
{
    lua_Debug frame;
    *user = *inner = (struct cr_line){NULL, 0};
    for (int level = 0; level < MAX_LEVELS && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        const struct cr_chunk *chunk = chunk_of_name(run, frame.source);
        if (!chunk)
            continue;
        struct cr_line line = {chunk->path, frame.currentline};
        if (!inner->path)
            *inner = line;
        if (!chunk->library) {
            *user = line;
            return;
        }
    }
}

void cr_report_text(struct cr_run *run, struct cr_line line, const char *text)
{
    if (run->reported)
        return;
    run->reported = true;
    if (!line.path)
        cr_fail(run->error, "%s: %s", run->path, text);
    else if (line.number == 0)
        cr_fail(run->error, "%s: %s", line.path, text);
    else
        cr_fail(run->error, "%s:%d: %s", line.path, line.number, text);
}

/* Takes "#3:12: " off the front of a message; null if there is none. */
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

/* Where a function of a library looks into an argument that its caller left out, Lua speaks of a nil
 * local, in words of its own version: "(local 'config')" or "local 'config' (a". */
static const char *say_missing(const char *message, char *text, size_t size)
{
    static const char begin[] = "attempt to index ", name_begin[] = "local '";
    const char *name = strstr(message, name_begin);
    if (strncmp(message, begin, sizeof begin - 1) != 0 || !name || !strstr(message, "nil value"))
        return message;
    name += sizeof name_begin - 1;
    snprintf(text, size, "found no argument `%.*s`, a table is expected",
             (int)strcspn(name, "'"), name);
    return text;
}

int cr_report(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_line user, inner;
    cr_find_lines(L, run, &user, &inner);
    const char *message = lua_type(L, 1) == LUA_TSTRING
                              ? lua_tostring(L, 1)
                              : "error was called with something that is not a string";
    char limit[128];
    bool refused = strcmp(message, "not enough memory") == 0; /* by a function of Lua's library */
    if (refused || (*run->passed && !run->stopping)) {
        snprintf(limit, sizeof limit, "the script takes more than %s", cr_limit_passed(run));
        message = limit;
    }
    int line;
    const struct cr_chunk *said = split_message(run, &message, &line);
    if (said && said->library)
        inner = (struct cr_line){said->path, line};
    else if (said)
        user = inner = (struct cr_line){said->path, line};
    char text[MAX_MESSAGE], missing[128];
    if (said && said->library)
        message = say_missing(message, missing, sizeof missing);
    if (inner.path && inner.path != user.path)
        snprintf(text, sizeof text, "%.*s (in %s:%d)", MAX_MESSAGE / 2, message, inner.path,
                 inner.number);
    else
        snprintf(text, sizeof text, "%s", message);
    cr_report_text(run, user, text);
    return 1;
}

void cr_raise_in(lua_State *L, const char *path, int line, const char *format, ...)
{
    char text[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cr_report_text(cr_run_of(L), (struct cr_line){path, line}, text);
    lua_pushstring(L, text);
    lua_error(L);
    abort(); /* lua_error does not return */
}

void cr_raise(lua_State *L, const char *format, ...)
{
    char text[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    lua_pushstring(L, text);
    lua_error(L);
    abort(); /* lua_error does not return */
}
