/* sizes.h - how long lengths are: by the tables and tensors that a run is handed. */
#ifndef CR_LUA_SIZES_H
#define CR_LUA_SIZES_H

#include "tensor.h"

/*
 * Sets the tensors of inputs that are lengths, which there are already, in the order of the ports (the others
 * may be null): from the number that the table at `index` has for one, else from the first tensor or nested
 * table whose axis has that length.  Refused is a length that nothing says, and what does not agree.
 */
void cr_lua_take_lengths(lua_State *L, const crescent_model *model, int index, void *const *inputs);

/* Whether input number i is the length of some axis. */
int cr_lua_is_length(lua_State *L, const crescent_model *model, int i);

/* Pushes the tensor of an input, laid out for the bounds, from the value at `index`, which has the sizes
 * that there are, or is laid out already; see cr_lua_take_tensor. */
struct cr_lua_tensor *cr_lua_take_sized(lua_State *L, const crescent_model *model, int i, int index,
                                        const void *const *inputs, const char *what);

#endif
