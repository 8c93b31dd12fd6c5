/* A JSON text as a value of Lua; see json_table.h. */
#include "json_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blame.h"
#include "compiler/files/json_value.h"
#include "compiler/files/mapping.h"
#include "limits.h"

enum { MAX_DEPTH = 32 };

static const char null_value; /* its address stands for null */

/* A text that is being read. */
struct reader {
    lua_State *L;
    struct cr_json json;
    const char *path;
    char *room; /* for a string; Lua's */
    int depth;
};

static _Noreturn void raise_here(struct reader *r, const char *what)
{
    cr_raise_in(r->L, r->path, cr_json_line(&r->json), "JSON: %s", what);
}

/* Raises if something was wrong; `what` if nothing was noted. */
static _Noreturn void raise_wrong(struct reader *r, const char *what)
{
    raise_here(r, r->json.wrong ? r->json.wrong : what);
}

static void push_string(struct reader *r)
{
    size_t size = cr_json_string(&r->json, r->room);
    if (size == 0)
        raise_wrong(r, "found no string");
    lua_pushlstring(r->L, r->room, size - 1);
}

/* Pushes true, false or null; false if the text has none of them here. */
static bool push_word(struct reader *r)
{
    char word = cr_json_word(&r->json);
    if (word == 'n')
        lua_pushlightuserdata(r->L, (void *)&null_value);
    else if (word)
        lua_pushboolean(r->L, word == 't');
    return word;
}

static void push_number(struct reader *r)
{
    size_t size = cr_json_number_size(r->json.at, r->json.end);
    if (size == 0)
        raise_wrong(r, "found no value");
    lua_pushnumber(r->L, strtod(r->json.at, NULL));
    r->json.at += size;
}

static void push_value(struct reader *r);

/* A comma in front of the end, as other languages allow. */
static void refuse_last_comma(struct reader *r, char end)
{
    if (cr_json_take(&r->json, end))
        raise_here(r, end == '}' ? "a comma before '}', expected none behind the last member"
                                 : "a comma before ']', expected none behind the last item");
}

/* Refuses the key that was read last.  Python takes the last value, but a config.json says what a model
 * computes. */
static _Noreturn void raise_twice(struct reader *r)
{
    char what[400];
    snprintf(what, sizeof what, "the key %s is there twice, expected it once",
             cr_show(r->room, strlen(r->room)).text);
    raise_here(r, what);
}

/* The members of an object, behind its '{'. */
static void push_object(struct reader *r)
{
    int more;
    lua_newtable(r->L);
    for (int i = 0; (more = cr_json_next(&r->json, i, '}')) > 0; i++) {
        refuse_last_comma(r, '}');
        push_string(r);
        if (!cr_json_take(&r->json, ':'))
            raise_wrong(r, "expected ':'");
        lua_pushvalue(r->L, -1);
        lua_rawget(r->L, -3);
        if (!lua_isnil(r->L, -1))
            raise_twice(r);
        lua_pop(r->L, 1);
        push_value(r);
        lua_rawset(r->L, -3);
    }
    if (more < 0)
        raise_wrong(r, "an object without end");
}

/* The items of an array, behind its '['. */
static void push_array(struct reader *r)
{
    int more;
    lua_newtable(r->L);
    for (int i = 0; (more = cr_json_next(&r->json, i, ']')) > 0; i++) {
        refuse_last_comma(r, ']');
        push_value(r);
        lua_rawseti(r->L, -2, i + 1);
    }
    if (more < 0)
        raise_wrong(r, "an array without end");
}

/* The clock is read now and then, as a table of many keys takes time. */
static void push_value(struct reader *r)
{
    cr_work(r->L, CR_WORK_OF_NEXT);
    luaL_checkstack(r->L, 8, "a text that is nested");
    if (++r->depth > MAX_DEPTH)
        raise_here(r, "a text that is nested too deep");
    if (cr_json_take(&r->json, '{'))
        push_object(r);
    else if (cr_json_take(&r->json, '['))
        push_array(r);
    else if (r->json.at < r->json.end && *r->json.at == '"')
        push_string(r);
    else if (!push_word(r))
        push_number(r);
    r->depth--;
}

void cr_push_json(lua_State *L, int index, const char *path)
{
    size_t size;
    const char *text = lua_tolstring(L, index, &size);
    struct reader r = {.L = L, .json = {text, text, text + size, NULL}, .path = path};
    r.room = lua_newuserdata(L, size + 1);
    push_value(&r);
    if (!cr_json_ended(&r.json))
        raise_wrong(&r, "found more than one value");
    lua_remove(L, -2);
}

bool cr_is_json_null(lua_State *L, int index)
{
    return lua_islightuserdata(L, index) && lua_touserdata(L, index) == &null_value;
}
