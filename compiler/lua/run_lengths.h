/* run_lengths.h - determines the lengths of a run from the caller's tables and tensors. */
#ifndef CR_LUA_RUN_LENGTHS_H
#define CR_LUA_RUN_LENGTHS_H

#include "tensor.h"

/*
 * Writes lengths into the tensors of the inputs that hold them.  `inputs` is in the order of the
 * ports; other tensors may be null.  A length is the number under its name in the table at
 * `index`; without that, the size of the first tensor or nested table that has the length as an
 * axis.  Raises an error if nothing determines a length, or if sizes disagree.
 */
void cr_lua_take_lengths(lua_State *L, const crescent_model *model, int index, void *const *inputs);

/* True if input i holds a length. */
int cr_lua_is_length(lua_State *L, const crescent_model *model, int i);

/* Pushes the tensor of an input in the layout for the lengths' bounds.  The value at `index` may
 * have the actual sizes or those of the bounds; see cr_lua_take_tensor. */
struct cr_lua_tensor *cr_lua_take_sized(lua_State *L, const crescent_model *model, int i, int index,
                                        const void *const *inputs, const char *what);

#endif
