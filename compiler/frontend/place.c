/* Places: which line of whose text is to blame. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/ir/mem.h"

enum { MAX_LEVELS = 200, MAX_MESSAGE = 800 };

/* Chunks are called "#0", "#1", ...: a path may be too long for Lua's messages, or
 * hold what looks like one. */
void cr_add_source(struct cr_run *run, const char *path, bool library, char *chunk, size_t size)
{
    char *copy = cr_strdup(path);
    snprintf(chunk, size, "=#%d", run->n_sources);
    *CR_PUSH(run->sources, run->n_sources, run->cap_sources) = (struct cr_source){copy, library};
}

static const struct cr_source *source_number(const struct cr_run *run, long number)
{
    return number >= 0 && number < run->n_sources ? &run->sources[number] : NULL;
}

/* Every node asks for all frames of the stack, so the name is not parsed by scanf. */
static const struct cr_source *source_of_chunk(const struct cr_run *run, const char *chunk)
{
    char *end;
    if (chunk[0] != '=' || chunk[1] != '#')
        return NULL;
    long number = strtol(chunk + 2, &end, 10);
    return end > chunk + 2 ? source_number(run, number) : NULL;
}

/* Looks at so many frames only, as finding a frame takes time in its depth. */
void cr_find_places(lua_State *L, const struct cr_run *run, struct cr_place *user,
                    struct cr_place *inner)
{
    lua_Debug frame;
    *user = *inner = (struct cr_place){NULL, 0};
    for (int level = 0; level < MAX_LEVELS && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        const struct cr_source *source = source_of_chunk(run, frame.source);
        if (!source)
            continue;
        struct cr_place place = {source->path, frame.currentline};
        if (!inner->path)
            *inner = place;
        if (!source->library) {
            *user = place;
            return;
        }
    }
}

void cr_report_text(struct cr_run *run, struct cr_place place, const char *text)
{
    if (run->reported)
        return;
    run->reported = true;
    if (!place.path)
        cr_fail(run->error, "%s: %s", run->path, text);
    else
        cr_fail(run->error, "%s:%d: %s", place.path, place.line, text);
}

/* Takes "#3:12: " off the front of a message; null if there is none. */
static const struct cr_source *split_message(const struct cr_run *run, const char **message,
                                             int *line)
{
    int number, length = 0;
    if (sscanf(*message, "#%d:%d: %n", &number, line, &length) != 2 || length == 0)
        return NULL;
    const struct cr_source *source = source_number(run, number);
    if (source)
        *message += length;
    return source;
}

int cr_report(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_place user, inner;
    cr_find_places(L, run, &user, &inner);
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
    const struct cr_source *said = split_message(run, &message, &line);
    if (said && said->library)
        inner = (struct cr_place){said->path, line};
    else if (said)
        user = inner = (struct cr_place){said->path, line};
    char text[MAX_MESSAGE];
    if (inner.path && inner.path != user.path)
        snprintf(text, sizeof text, "%.*s (in %s:%d)", MAX_MESSAGE / 2, message, inner.path,
                 inner.line);
    else
        snprintf(text, sizeof text, "%s", message);
    cr_report_text(run, user, text);
    return 1;
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
