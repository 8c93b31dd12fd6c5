/* composites.h - the functions of the language that add several ops to the graph. */
#ifndef CR_COMPOSITES_H
#define CR_COMPOSITES_H

#include "luaapi.h"

/* gather(a, index, axis): picks elements of `a` along an axis by an index. */
int cr_lua_gather_along(lua_State *L);

/* scatter(a, values, index, axis): `a` with the elements at an index along an axis replaced by
 * values. */
int cr_lua_scatter(lua_State *L);

/* argmax(a [, axis [, keep]]): the index of the first largest element. */
int cr_lua_argmax(lua_State *L);

/* narrow(a, axis, start [, size]): a slice along one axis. */
int cr_lua_narrow(lua_State *L);

/* tensor:count(axis): the number of elements along an axis in a run.  It is a number or, if the
 * axis has a length, an f32 tensor that broadcasts with the tensor. */
int cr_lua_count(lua_State *L);

#endif
