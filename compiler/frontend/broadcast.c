/* broadcast.c - broadcasts operands of elementwise ops and matmul to one shape, as in NumPy; see
 * broadcast.h. */
#include "broadcast.h"

#include <math.h>
#include <string.h>

#include "args.h"
#include "compiler/ir/shape_rules.h"
#include "language.h"
#include "node.h"
#include "script_errors.h"
#include "script_state.h"
#include "tensor.h"

/* The common shape of the operands visited so far. */
struct shape {
    int rank;
    int64_t size[CR_MAX_RANK];
};

static cr_id expand_to(lua_State *L, cr_id id, const struct shape *shape)
{
    struct cr_node node = cr_node_copy(L, id);
    size_t bytes = (size_t)shape->rank * sizeof *shape->size;
    if (node.rank == shape->rank && memcmp(node.shape, shape->size, bytes) == 0)
        return id;
    struct cr_attr attr = {.rank = shape->rank};
    memcpy(attr.shape, shape->size, sizeof shape->size);
    return cr_add(L, CR_OP_expand, 1, &id, &attr);
}

struct cr_tensor_or_number cr_arg_tensor_or_number(lua_State *L, int index, const char *op)
{
    if (lua_type(L, index) == LUA_TNUMBER)
        return (struct cr_tensor_or_number){.is_number = true, .number = lua_tonumber(L, index)};
    if (!cr_is_tensor(L, index))
        cr_raise(L, "%s: argument %d: found %s, expected a tensor or number", op, index,
                 cr_type_name(L, index));
    return (struct cr_tensor_or_number){.id = cr_tensor_at(L, index)};
}

static void no_broadcast(lua_State *L, enum cr_op op, const struct shape *before,
                         const struct cr_node *node)
{
    char left[200], right[200];
    cr_shape_text(left, sizeof left, before->rank, before->size);
    cr_shape_text(right, sizeof right, node->rank, node->shape);
    cr_raise(L, "%s: shapes %s and %s do not broadcast, expected sizes that are equal or 1, from "
             "the last axis on", cr_ops[op].name, left, right);
}

/* Returns the common shape of all operands that are tensors. */
static struct shape common_shape(lua_State *L, enum cr_op op,
                                 const struct cr_tensor_or_number *operands)
{
    struct shape result = {0, {0}};
    int tensors = 0;
    for (int i = 0; i < cr_ops[op].arity; i++) {
        if (operands[i].is_number)
            continue;
        tensors++;
        struct cr_node node = cr_node_copy(L, operands[i].id);
        const struct shape before = result;
        if (!cr_broadcast(&result.rank, result.size, node.rank, node.shape))
            no_broadcast(L, op, &before, &node);
    }
    if (tensors == 0)
        cr_raise(L, "%s: found numbers only, expected a tensor (numbers have math.*)",
                 cr_ops[op].name);
    return result;
}

/* Returns the type of constants made of numbers among the operands: the type of the first tensor,
 * except a select's condition. */
static enum cr_dtype type_of_numbers(lua_State *L, enum cr_op op,
                                     const struct cr_tensor_or_number *operands)
{
    bool select = cr_ops[op].rule == CR_RULE_SELECT;
    for (int i = select ? 1 : 0; i < cr_ops[op].arity; i++)
        if (!operands[i].is_number)
            return cr_node_copy(L, operands[i].id).dtype;
    return CR_F32;
}

/* Adds a constant of this value, type and shape; raises an error if the type cannot hold the
 * value. */
static cr_id constant(lua_State *L, enum cr_op op, double value, enum cr_dtype dtype,
                      const struct shape *shape)
{
    struct cr_attr attr = {.dtype = dtype, .rank = shape->rank, .value = value};
    memcpy(attr.shape, shape->size, sizeof shape->size);
    if (dtype == CR_BOOL)
        cr_raise(L, "%s: found the number %.14g beside a bool tensor, expected a bool tensor",
                 cr_ops[op].name, value);
    if (dtype == CR_I32 && !cr_is_i32(value))
        cr_raise(L, "%s: found %.14g beside an i32 tensor, expected a whole number%s",
                 cr_ops[op].name, isnan(value) ? (double)NAN : value,
                 value == floor(value) ? " from -2147483648 to 2147483647" : "");
    return cr_add(L, CR_OP_const, 0, NULL, &attr);
}

cr_id cr_elementwise(lua_State *L, enum cr_op op, const struct cr_tensor_or_number *operands)
{
    struct shape shape = common_shape(L, op, operands);
    enum cr_dtype dtype = type_of_numbers(L, op, operands);
    if (cr_ops[op].rule == CR_RULE_SELECT && operands[0].is_number)
        cr_raise(L, "%s: argument 1: found number, expected a bool tensor", cr_ops[op].name);
    cr_id in[3];
    for (int i = 0; i < cr_ops[op].arity; i++)
        in[i] = operands[i].is_number ? constant(L, op, operands[i].number, dtype, &shape)
                                      : expand_to(L, operands[i].id, &shape);
    return cr_add(L, op, cr_ops[op].arity, in, NULL);
}

/* The Lua function of an elementwise op.  Upvalue 1 is the op. */
static int elementwise(lua_State *L)
{
    enum cr_op op = (enum cr_op)lua_tonumber(L, lua_upvalueindex(1));
    int n = cr_ops[op].arity;
    cr_arg_count(L, cr_ops[op].name, n, n);
    struct cr_tensor_or_number operands[3];
    for (int i = 0; i < n; i++)
        operands[i] = cr_arg_tensor_or_number(L, i + 1, cr_ops[op].name);
    cr_push_tensor(L, cr_elementwise(L, op, operands));
    return 1;
}

void cr_add_kind(lua_State *L, enum cr_kind kind, lua_CFunction function)
{
    for (int op = 0; op < CR_OP_COUNT; op++) {
        if (cr_ops[op].kind != kind)
            continue;
        lua_pushnumber(L, op);
        lua_pushcclosure(L, function, 1);
        lua_setfield(L, -2, cr_ops[op].name);
    }
}

void cr_add_elementwise(lua_State *L)
{
    cr_add_kind(L, CR_KIND_ELEMENTWISE, elementwise);
}

/* Returns an operand of a matmul as matrices with the batch axes of `batch`; a vector becomes one
 * row if `is_row`, else one column. */
static cr_id as_matrices(lua_State *L, cr_id id, bool is_row, struct shape batch)
{
    struct cr_node node = cr_node_copy(L, id);
    struct cr_attr matrix = {.rank = 2, .shape = {is_row ? 1 : node.shape[0], is_row ? node.shape[0] : 1}};
    if (node.rank == 1) {
        id = cr_add(L, CR_OP_reshape, 1, &id, &matrix);
        node = cr_node_copy(L, id);
    }
    batch.size[batch.rank++] = node.shape[node.rank - 2];
    batch.size[batch.rank++] = node.shape[node.rank - 1];
    return expand_to(L, id, &batch);
}

/* matmul(a, b): all axes but the last two broadcast; a vector is a row if it is `a`, a column if
 * it is `b`. */
int cr_lua_matmul(lua_State *L)
{
    cr_arg_count(L, "matmul", 2, 2);
    cr_id in[] = {cr_arg_tensor(L, 1, "matmul"), cr_arg_tensor(L, 2, "matmul")};
    struct cr_node a = cr_node_copy(L, in[0]), b = cr_node_copy(L, in[1]);
    char left[200], right[200];
    struct cr_attr result = {0};
    cr_shape_text(left, sizeof left, a.rank, a.shape);
    cr_shape_text(right, sizeof right, b.rank, b.shape);
    if (a.rank < 1 || b.rank < 1)
        cr_raise(L, "matmul: found shapes %s and %s, expected rank 1 or more for both", left,
                 right);
    bool row = a.rank == 1, column = b.rank == 1;
    switch (cr_product_shape(&result.rank, result.shape, a.rank, a.shape, b.rank, b.shape)) {
    case CR_INNER_SIZES_DIFFER:
        cr_raise(L, "matmul: shapes %s and %s: inner dimensions %lld and %lld differ, expected "
                 "equal ones", left, right, (long long)a.shape[a.rank - 1],
                 (long long)b.shape[column ? 0 : b.rank - 2]);
    case CR_BATCHES_DIFFER:
        cr_raise(L, "matmul: shapes %s and %s: batch dimensions do not broadcast, expected sizes "
                 "that are equal or 1", left, right);
    default:
        break;
    }
    struct shape batch = {.rank = result.rank - !row - !column};
    memcpy(batch.size, result.shape, sizeof batch.size);
    in[0] = as_matrices(L, in[0], true, batch);
    in[1] = as_matrices(L, in[1], false, batch);
    cr_id product = cr_add(L, CR_OP_matmul, 2, in, NULL);
    cr_push_tensor(L, row || column ? cr_add(L, CR_OP_reshape, 1, &product, &result) : product);
    return 1;
}
