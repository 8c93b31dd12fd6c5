/* operators.c - the operators, fields and methods of tensors. */
#include "language.h"

#include <math.h>
#include <string.h>

#include "args.h"
#include "script_errors.h"
#include "builtin_modules.h"
#include "broadcast.h"
#include "composites.h"
#include "luaapi.h"
#include "node.h"
#include "script_state.h"
#include "tensor.h"

enum { MAX_EXPONENT = 64 };

/* The Lua function of an operator that is an elementwise op.  Upvalue 1 is the op. */
static int operator(lua_State *L)
{
    enum cr_op op = (enum cr_op)lua_tonumber(L, lua_upvalueindex(1));
    const char *name = cr_ops[op].name;
    struct cr_tensor_or_number operands[2] = {cr_arg_tensor_or_number(L, 1, name)};
    if (cr_ops[op].arity == 2) /* Lua passes the operand of unary minus twice */
        operands[1] = cr_arg_tensor_or_number(L, 2, name);
    cr_push_tensor(L, cr_elementwise(L, op, operands));
    return 1;
}

static cr_id multiply(lua_State *L, cr_id a, cr_id b)
{
    return cr_elementwise(L, CR_OP_mul, (struct cr_tensor_or_number[]){{.id = a}, {.id = b}});
}

/* Returns a^n for a positive whole n, computed by repeated squaring. */
static cr_id whole_power(lua_State *L, cr_id a, int n)
{
    cr_id result = CR_NONE;
    for (cr_id square = a;; square = multiply(L, square, square)) {
        if (n & 1)
            result = result == CR_NONE ? square : multiply(L, result, square);
        n >>= 1;
        if (n == 0)
            return result;
    }
}

static cr_id reciprocal(lua_State *L, cr_id a)
{
    struct cr_tensor_or_number operands[] = {{.is_number = true, .number = 1}, {.id = a}};
    return cr_elementwise(L, CR_OP_div, operands);
}

/* a ^ b: adds `pow`, except for constant exponents for which products, a division or a root are
 * used. */
static int power(lua_State *L)
{
    const char *name = cr_ops[CR_OP_pow].name;
    struct cr_tensor_or_number operands[] = {cr_arg_tensor_or_number(L, 1, name),
                                             cr_arg_tensor_or_number(L, 2, name)};
    cr_id a = operands[0].id;
    double n = operands[1].number;
    bool whole = fabs(n) >= 1 && fabs(n) <= MAX_EXPONENT && n == floor(n);
    bool special = !operands[0].is_number && operands[1].is_number;
    if (special && n == 0.5)
        return cr_return(L, CR_OP_sqrt, 1, &a, NULL);
    if (special && n == -0.5)
        return cr_return(L, CR_OP_rsqrt, 1, &a, NULL);
    if (!special || !whole) {
        cr_push_tensor(L, cr_elementwise(L, CR_OP_pow, operands));
        return 1;
    }
    cr_id result = whole_power(L, a, (int)fabs(n));
    cr_push_tensor(L, n < 0 ? reciprocal(L, result) : result);
    return 1;
}

/* Raises an error for < and <=: Lua converts their result to a boolean, so tensors are compared
 * by functions. */
static int comparison(lua_State *L)
{
    cr_raise(L, "found a comparison of tensors by an operator of Lua, expected lt, le, gt, ge, eq "
             "or ne");
    return 0;
}

static void push_shape(lua_State *L, const struct cr_node *node)
{
    lua_createtable(L, node->rank, 0);
    for (int i = 0; i < node->rank; i++) {
        lua_pushinteger(L, (lua_Integer)node->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* Raises an error for an unknown field of a tensor; suggests the function of graphs/lib with that
 * name, or the most similar method. */
static int no_method(lua_State *L, const char *name)
{
    char hint[300];
    const char *module = cr_builtin_module_with(name);
    if (module)
        cr_raise(L, "a tensor has no field or method '%.100s', did you mean %s.%.100s(tensor)?",
                 name, module, name);
    cr_raise(L, "a tensor has no field or method '%.100s'%s", name,
             cr_suggest_key(L, lua_upvalueindex(1), hint, sizeof hint, name));
}

/* Returns tensor.shape, .dtype, .rank or a method.  Upvalue 1 is the table of methods. */
static int field(lua_State *L)
{
    lua_settop(L, 2);
    if (!cr_is_tensor(L, 1) || lua_type(L, 2) != LUA_TSTRING)
        cr_raise(L, "found an index into a tensor, expected slice or gather");
    const struct cr_node *node = &cr_run_of(L)->graph->nodes[cr_tensor_at(L, 1)];
    const char *name = lua_tostring(L, 2);
    if (strcmp(name, "shape") == 0) {
        push_shape(L, node);
    } else if (strcmp(name, "dtype") == 0) {
        lua_pushstring(L, cr_dtype_name(node->dtype));
    } else if (strcmp(name, "rank") == 0) {
        lua_pushinteger(L, node->rank);
    } else {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        if (lua_isnil(L, -1))
            no_method(L, name);
    }
    return 1;
}

static int set_field(lua_State *L)
{
    cr_raise(L, "found an assignment to a tensor, expected an operation that makes a new one");
    return 0;
}

static int as_text(lua_State *L)
{
    if (!cr_is_tensor(L, 1))
        cr_raise(L, "found %s, expected a tensor", cr_type_name(L, 1));
    const struct cr_node *node = &cr_run_of(L)->graph->nodes[cr_tensor_at(L, 1)];
    char shape[200];
    cr_shape_text(shape, sizeof shape, node->rank, node->shape);
    lua_pushfstring(L, "tensor %s %s", cr_dtype_name(node->dtype), shape);
    return 1;
}

/* tensor:size(axis): returns a number */
static int size(lua_State *L)
{
    cr_arg_count(L, "size", 2, 2);
    const struct cr_node *node = &cr_run_of(L)->graph->nodes[cr_arg_tensor(L, 1, "size")];
    lua_pushinteger(L, (lua_Integer)node->shape[cr_arg_axis(L, 2, "size", node->rank)]);
    return 1;
}

/* Adds the operators that are elementwise ops, as closures whose upvalue is the op. */
static void add_operators(lua_State *L)
{
    static const struct {
        const char *name;
        enum cr_op op;
    } operators[] = {{"__add", CR_OP_add},
                     {"__sub", CR_OP_sub},
                     {"__mul", CR_OP_mul},
                     {"__div", CR_OP_div},
                     {"__idiv", CR_OP_floor_divide}, /* of Lua 5.4 */
                     {"__mod", CR_OP_remainder},
                     {"__unm", CR_OP_neg}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        lua_pushnumber(L, operators[i].op);
        lua_pushcclosure(L, operator, 1);
        lua_setfield(L, -2, operators[i].name);
    }
}

/* Pushes a table of the methods: every function of the language whose first argument is a
 * tensor. */
static void push_methods(lua_State *L)
{
    static const luaL_Reg own[] = {{"size", size}, {"count", cr_lua_count}, {NULL, NULL}};
    lua_newtable(L);
    cr_add_functions(L, own);
    cr_add_elementwise(L);
    cr_add_primitives(L);
    static const char *const none[] = {"input", "length", "param",  "state",
                                       "const", "iota",   "concat", "parameters"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, none[i]);
    }
}

void cr_add_tensor_type(lua_State *L)
{
    static const luaL_Reg metamethods[] = {{"__pow", power},        {"__lt", comparison},
                                           {"__le", comparison},    {"__newindex", set_field},
                                           {"__tostring", as_text}, {NULL, NULL}};
    cr_push_tensor_type(L);
    cr_add_functions(L, metamethods);
    add_operators(L);
    push_methods(L);
    lua_pushcclosure(L, field, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
