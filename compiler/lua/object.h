/*
 * object.h - what all objects of the Lua module have in common: their class, the context, errors.
 *
 * An object is a userdata that begins with zeros, so that it can be collected at any time; what it
 * holds of crescent.h is put into it by the call that makes it.  Functions that take a lua_State
 * may leave by a Lua error, so memory that is needed for a while is a userdata, too.
 */
#ifndef CR_LUA_OBJECT_H
#define CR_LUA_OBJECT_H

#include <lauxlib.h>
#include <lua.h>

#include "compiler/crescent.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* A class: its name, "crescent.model", its methods, and its metamethods, of which "__gc" closes what
 * an object holds and may be called twice. */
struct cr_lua_class {
    const char *name;
    const luaL_Reg *methods, *metamethods;
};

/* Makes the metatable.  Methods are found by __index unless the class has one of its own. */
void cr_lua_add_class(lua_State *L, const struct cr_lua_class *class);

/* Pushes an object of `size` bytes, all zero. */
void *cr_lua_new(lua_State *L, size_t size, const char *class);

/* Pushes the method of a class that the string at `key` names, or nil. */
void cr_lua_push_method(lua_State *L, const char *class, int key);

/* The object at an index if it is one of the class, else null. */
void *cr_lua_test(lua_State *L, int index, const char *class);

/* Memory until the calling function returns, pushed; all zero. */
void *cr_lua_scratch(lua_State *L, size_t n, size_t size);

/* Adds functions of a list to the table on top of the stack. */
void cr_lua_add_functions(lua_State *L, const luaL_Reg *functions);

/* An index that stays good when values are pushed. */
int cr_lua_absolute(lua_State *L, int index);

/* The context of this state. */
crescent_context *cr_lua_context(lua_State *L);
void cr_lua_add_context(lua_State *L);

/* Raises an error if a call failed: a table with `message`, the line that the command line prints, `file` and
 * `line` of the host's call, and `script` and `script_line` where the message begins with them.  As a string it
 * is that line. */
void cr_lua_pass(lua_State *L, int status);

/* Raises such an error of this module's own. */
int cr_lua_fail(lua_State *L, const char *format, ...);

/* Pushes a text of the library, and frees it; a null pointer is nil. */
void cr_lua_push_text(lua_State *L, char *text);

/* Pushes an integer: in Lua 5.3 and later one that is written without a point. */
void cr_lua_push_integer(lua_State *L, int64_t value);

/* t[key] = value, of the table on top of the stack; a null string is nil. */
void cr_lua_set_integer(lua_State *L, const char *key, int64_t value);
void cr_lua_set_number(lua_State *L, const char *key, double value);
void cr_lua_set_string(lua_State *L, const char *key, const char *value);
void cr_lua_set_flag(lua_State *L, const char *key, int value);

#endif
