/*
 * object.h - what all objects of the Lua module share: classes, the library's context, and
 * errors.
 *
 * An object is a userdata that is all zeros at first, so that it can be collected at any time;
 * the function that makes it then stores handles of crescent.h in it.  Functions that take a
 * lua_State may exit by a Lua error, so temporary memory is also a userdata.
 */
#ifndef CR_LUA_OBJECT_H
#define CR_LUA_OBJECT_H

#include <lauxlib.h>
#include <lua.h>

#include "compiler/crescent.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* A class: its name, such as "crescent.model", its methods, and its metamethods.  "__gc" closes
 * an object; it may be called twice. */
struct cr_lua_class {
    const char *name;
    const luaL_Reg *methods, *metamethods;
};

/* Makes the metatable of a class.  __index finds methods, unless the class has an __index of its
 * own. */
void cr_lua_add_class(lua_State *L, const struct cr_lua_class *class);

/* Pushes a new object of `size` bytes, all zero, and returns its memory. */
void *cr_lua_new(lua_State *L, size_t size, const char *class);

/* Pushes the class's method whose name is the string at stack index `key`; nil if there is none. */
void cr_lua_push_method(lua_State *L, const char *class, int key);

/* Returns the object at an index; null if the value there is not of the class. */
void *cr_lua_test(lua_State *L, int index, const char *class);

/* Pushes zeroed memory for n items of `size` bytes; it lives until the calling function returns. */
void *cr_lua_scratch(lua_State *L, size_t n, size_t size);

/* Adds a list of functions to the table on top of the stack. */
void cr_lua_add_functions(lua_State *L, const luaL_Reg *functions);

/* Returns a stack index that stays valid when values are pushed. */
int cr_lua_absolute(lua_State *L, int index);

/* Returns the context of the library that this Lua state uses. */
crescent_context *cr_lua_context(lua_State *L);
void cr_lua_add_context(lua_State *L);

/* Raises an error if the status is a failure.  The error is a table: `message` is what the
 * command line would print, `file` and `line` are those of the host's call, and `script` and
 * `script_line` those with which the message begins, if any.  As a string, the error is its
 * message. */
void cr_lua_pass(lua_State *L, int status);

/* Raises such an error with a formatted message. */
int cr_lua_fail(lua_State *L, const char *format, ...);

/* Pushes a text that the library allocated as a string, and frees the text; a null pointer
 * becomes nil. */
void cr_lua_push_text(lua_State *L, char *text);

/* Pushes a whole number in a way that Lua 5.3 and later print it without a decimal point. */
void cr_lua_push_integer(lua_State *L, int64_t value);

/* Set t[key] = value, where t is the table on top of the stack; a null string becomes nil. */
void cr_lua_set_integer(lua_State *L, const char *key, int64_t value);
void cr_lua_set_number(lua_State *L, const char *key, double value);
void cr_lua_set_string(lua_State *L, const char *key, const char *value);
void cr_lua_set_flag(lua_State *L, const char *key, int value);

#endif
