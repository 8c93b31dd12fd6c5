/*
 * object.h - the basis of all objects of the Lua module: classes, the context, errors.
 *
 * An object is a userdata that starts as zeros, so that it can be collected at any time; the call
 * that makes it then stores handles of crescent.h in it.  Functions that take a lua_State may exit
 * by a Lua error, so temporary memory is a userdata too.
 */
#ifndef CR_LUA_OBJECT_H
#define CR_LUA_OBJECT_H

#include <lauxlib.h>
#include <lua.h>

#include "compiler/crescent.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* A class: its name, such as "crescent.model", its methods, and its metamethods.  "__gc" closes an
 * object, and may be called twice. */
struct cr_lua_class {
    const char *name;
    const luaL_Reg *methods, *metamethods;
};

/* Makes the metatable of a class.  __index finds methods unless the class has its own __index. */
void cr_lua_add_class(lua_State *L, const struct cr_lua_class *class);

/* Pushes an object of `size` bytes, all zero. */
void *cr_lua_new(lua_State *L, size_t size, const char *class);

/* Pushes the method of a class whose name is the string at index `key`, or nil. */
void cr_lua_push_method(lua_State *L, const char *class, int key);

/* Returns the object at an index if it belongs to the class, else null. */
void *cr_lua_test(lua_State *L, int index, const char *class);

/* Pushes zeroed memory that lives until the calling function returns. */
void *cr_lua_scratch(lua_State *L, size_t n, size_t size);

/* Adds a list of functions to the table on top of the stack. */
void cr_lua_add_functions(lua_State *L, const luaL_Reg *functions);

/* Returns an index that stays valid when values are pushed. */
int cr_lua_absolute(lua_State *L, int index);

/* Returns the context of this state. */
crescent_context *cr_lua_context(lua_State *L);
void cr_lua_add_context(lua_State *L);

/* Raises an error if a call failed: a table with the `message` that the command line would print,
 * `file` and `line` of the host's call, and `script` and `script_line` if the message begins with
 * them.  Converted to a string it is the message. */
void cr_lua_pass(lua_State *L, int status);

/* Raises such an error with a message of this module. */
int cr_lua_fail(lua_State *L, const char *format, ...);

/* Pushes a text of the library as a string, and frees it; a null pointer is pushed as nil. */
void cr_lua_push_text(lua_State *L, char *text);

/* Pushes an integer, which Lua 5.3 and later print without a decimal point. */
void cr_lua_push_integer(lua_State *L, int64_t value);

/* Set t[key] = value in the table on top of the stack; a null string is nil. */
void cr_lua_set_integer(lua_State *L, const char *key, int64_t value);
void cr_lua_set_number(lua_State *L, const char *key, double value);
void cr_lua_set_string(lua_State *L, const char *key, const char *value);
void cr_lua_set_flag(lua_State *L, const char *key, int value);

#endif
