/* composites.h - functions of the language that are built from several ops. */
#ifndef CR_COMPOSITES_H
#define CR_COMPOSITES_H

#include "luaapi.h"

/* gather(a, index, axis): the elements of a at the indices along an axis. */
int cr_lua_gather_along(lua_State *L);

/* scatter(a, values, index, axis): a with elements along an axis set to values. */
int cr_lua_scatter(lua_State *L);

/* argmax(a [, axis [, keep]]): the index of the first largest element. */
int cr_lua_argmax(lua_State *L);

/* narrow(a, axis, start [, size]): a slice along one axis. */
int cr_lua_narrow(lua_State *L);

/* tensor:count(axis): the number of elements along an axis in a run.  It is the size, or for a length a float
 * tensor that broadcasts with the tensor. */
int cr_lua_count(lua_State *L);

#endif
