/* run_lengths.h - determines the lengths of a run from its tables and tensors. */
#ifndef CR_LUA_RUN_LENGTHS_H
#define CR_LUA_RUN_LENGTHS_H

#include "tensor.h"

/*
 * Sets the existing tensors of inputs that are lengths; `inputs` is in the order of the ports, and
 * the others may be null.  A length is the number that the table at `index` has under its name,
 * else the size of the first tensor or nested table with the length as an axis.  Fails if nothing
 * determines a length, or if sizes disagree.
 */
void cr_lua_take_lengths(lua_State *L, const crescent_model *model, int index, void *const *inputs);

/* True if input number i is the length of some axis. */
int cr_lua_is_length(lua_State *L, const crescent_model *model, int i);

/* Pushes the tensor of an input, laid out for the bounds of lengths.  The value at `index` may
 * have the actual sizes or those of the bounds; see cr_lua_take_tensor. */
struct cr_lua_tensor *cr_lua_take_sized(lua_State *L, const crescent_model *model, int i, int index,
                                        const void *const *inputs, const char *what);

#endif
