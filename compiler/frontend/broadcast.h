/* broadcast.h - broadcasts operands to a common shape, as NumPy does. */
#ifndef CR_BROADCAST_H
#define CR_BROADCAST_H

#include "script_state.h"

/* An operand of an elementwise op: a tensor, or a number that becomes a constant. */
struct cr_tensor_or_number {
    bool is_number;
    double number;
    cr_id id;
};

struct cr_tensor_or_number cr_arg_tensor_or_number(lua_State *L, int index, const char *op);
cr_id cr_elementwise(lua_State *L, enum cr_op op, const struct cr_tensor_or_number *operands);

/* Adds `function` for each op of a kind to the table on top of the stack, under the op's name and
 * with the op as upvalue 1. */
void cr_add_kind(lua_State *L, enum cr_kind kind, lua_CFunction function);

#endif
