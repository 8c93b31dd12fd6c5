/* args.c - checks the arguments that a script passes to a function of the language; see args.h. */
#include "args.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

static const double MAX_EXACT = 9007199254740992.0; /* 2^53: larger integers are not all exact in
                                                     * a double */

const char *cr_type_name(lua_State *L, int index)
{
    if (cr_is_tensor(L, index))
        return "tensor";
    if (cr_is_other_tensor(L, index))
        return "a tensor of another graph";
    return lua_isnoneornil(L, index) ? "nothing" : luaL_typename(L, index);
}

void cr_arg_count(lua_State *L, const char *op, int least, int most)
{
    int n = lua_gettop(L);
    if (n != least && least == most)
        cr_raise(L, "%s: found %d arguments, expected %d", op, n, least);
    if (n < least)
        cr_raise(L, "%s: found %d arguments, expected at least %d", op, n, least);
    if (n > most)
        cr_raise(L, "%s: found %d arguments, expected at most %d", op, n, most);
}

cr_id cr_arg_tensor(lua_State *L, int index, const char *op)
{
    if (!cr_is_tensor(L, index))
        cr_raise(L, "%s: argument %d: found %s, expected a tensor", op, index,
                 cr_type_name(L, index));
    return cr_tensor_at(L, index);
}

cr_id *cr_arg_tensors(lua_State *L, int index, const char *op, int least, int *n)
{
    if (lua_type(L, index) != LUA_TTABLE)
        cr_raise(L, "%s: found %s, expected a list of tensors", op, cr_type_name(L, index));
    size_t length = lua_rawlen(L, index);
    if (length < (size_t)least || length > CR_MAX_NODES)
        cr_raise(L, "%s: found a list of %zu tensors, expected %d to %d", op, length, least,
                 CR_MAX_NODES);
    cr_work(L, length);
    cr_id *ids = lua_newuserdata(L, (length + 1) * sizeof *ids);
    for (size_t i = 0; i < length; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        if (!cr_is_tensor(L, -1))
            cr_raise(L, "%s: item %zu: found %s, expected a tensor", op, i + 1,
                     cr_type_name(L, -1));
        ids[i] = cr_tensor_at(L, -1);
        lua_pop(L, 1);
    }
    *n = (int)length;
    return ids;
}

const char *cr_arg_string(lua_State *L, int index, const char *op, const char *what)
{
    if (lua_type(L, index) != LUA_TSTRING)
        cr_raise(L, "%s: %s: found %s, expected a string", op, what, cr_type_name(L, index));
    size_t size;
    const char *text = lua_tolstring(L, index, &size);
    cr_work(L, size / 64 + 1);
    if (strlen(text) != size || size > CR_MAX_STRING)
        cr_raise(L, "%s: %s: found a string with a zero byte, or too long, expected a shorter "
                 "text without zero bytes", op, what);
    return text;
}

void cr_check_name(lua_State *L, const char *name, const char *op, const char *what)
{
    size_t size = strlen(name);
    if (size == 0 || size > CR_NAME_MAX)
        cr_raise(L, "%s: %s: found a name of %zu bytes, expected 1 to %d", op, what, size,
                 CR_NAME_MAX);
    const char *marks = cr_run_of(L)->in_dump ? "_.-:" : "_.-";
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(marks, *c))
            cr_raise(L, "%s: found the %s '%s', expected letters, digits, '_', '-' and '.'", op,
                     what, name);
}

const char *cr_arg_name(lua_State *L, int index, const char *op, const char *what)
{
    const char *name = cr_arg_string(L, index, op, what);
    cr_check_name(L, name, op, what);
    return name;
}

double cr_arg_number(lua_State *L, int index, const char *op, const char *what)
{
    if (lua_type(L, index) != LUA_TNUMBER)
        cr_raise(L, "%s: %s: found %s, expected a number", op, what, cr_type_name(L, index));
    return lua_tonumber(L, index);
}

/* True if the Lua number at an index has an integer value, whatever its Lua type: 768 / 12 is
 * 64.0 in one release of Lua and 64 in another. */
static bool is_integer(lua_State *L, int index)
{
    double value = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
    return fabs(value) <= MAX_EXACT && value == floor(value);
}

int64_t cr_arg_integer(lua_State *L, int index, const char *op, const char *what)
{
    if (lua_type(L, index) != LUA_TNUMBER)
        cr_raise(L, "%s: %s: found %s, expected a whole number", op, what,
                 cr_type_name(L, index));
    double value = lua_tonumber(L, index);
    if (!is_integer(L, index))
        cr_raise(L, "%s: %s: found %.14g, expected a whole number", op, what,
                 isnan(value) ? (double)NAN : value); /* a NaN without sign, since the sign would
                                                       * be printed */
    return (int64_t)value;
}

/* The names of types in other frameworks, each with the name of the same type here. */
static const struct {
    const char *name;
    enum cr_dtype dtype;
} type_aliases[] = {
    {"float32", CR_F32}, {"float", CR_F32},   {"fp32", CR_F32},     {"number", CR_F32},
    {"float64", CR_F32}, {"double", CR_F32},  {"f64", CR_F32},      {"float16", CR_F32},
    {"half", CR_F32},    {"f16", CR_F32},     {"bfloat16", CR_F32}, {"bf16", CR_F32},
    {"int32", CR_I32},   {"int64", CR_I32},   {"i64", CR_I32},      {"int", CR_I32},
    {"long", CR_I32},    {"integer", CR_I32}, {"boolean", CR_BOOL},
};

/* Returns the type whose name is at an index.  Raises an error for other names, which suggests a
 * name if another framework has that type. */
enum cr_dtype cr_arg_dtype(lua_State *L, int index, const char *op)
{
    if (lua_isnoneornil(L, index))
        return CR_F32;
    const char *name = cr_arg_string(L, index, op, "type");
    for (int dtype = CR_F32; dtype <= CR_BOOL; dtype++)
        if (strcmp(name, cr_dtype_name((enum cr_dtype)dtype)) == 0)
            return (enum cr_dtype)dtype;
    for (size_t i = 0; i < sizeof type_aliases / sizeof *type_aliases; i++)
        if (strcmp(name, type_aliases[i].name) == 0)
            cr_raise(L, "%s: found type '%.100s', expected f32, i32 or bool, did you mean %s?", op,
                     name, cr_dtype_name(type_aliases[i].dtype));
    cr_raise(L, "%s: found type '%.100s', expected f32, i32 or bool", op, name);
}

int cr_arg_axis(lua_State *L, int index, const char *op, int rank)
{
    int64_t axis = cr_arg_integer(L, index, op, "axis");
    if (axis == 0 || axis > rank || axis < -rank)
        cr_raise(L, "%s: found axis %lld of a tensor of rank %d, expected one counted from 1, or "
                 "from -1 backwards", op, (long long)axis, rank);
    return (int)(axis > 0 ? axis - 1 : rank + axis);
}

int cr_count_entries(lua_State *L, int index, int most)
{
    int n = 0;
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        if (++n > most) {
            lua_pop(L, 1);
            break;
        }
    }
    return n;
}

int cr_length_on_top(lua_State *L)
{
    const struct cr_graph *g = cr_run_of(L)->graph;
    if (!g->n_lengths || !cr_is_tensor(L, -1))
        return CR_NONE;
    const struct cr_node *node = &g->nodes[cr_tensor_at(L, -1)];
    return node->op == CR_OP_input ? cr_find_length(g, node->name) : CR_NONE;
}

int cr_arg_list(lua_State *L, int index, const char *op, const char *what, int64_t *list)
{
    return cr_arg_sizes(L, index, op, what, list, NULL);
}

int cr_arg_sizes(lua_State *L, int index, const char *op, const char *what, int64_t *list,
                 signed char *lengths)
{
    if (lua_type(L, index) != LUA_TTABLE)
        cr_raise(L, "%s: %s: found %s, expected a list such as {2, 3}", op, what,
                 cr_type_name(L, index));
    int n = cr_count_entries(L, index, CR_MAX_RANK);
    if (n > CR_MAX_RANK)
        cr_raise(L, "%s: %s: more than %d items, expected at most %d, the largest rank", op, what,
                 CR_MAX_RANK, CR_MAX_RANK);
    for (int i = 0; i < n; i++) {
        char item[64] = "";
        lua_rawgeti(L, index, i + 1);
        if (!is_integer(L, -1)) /* converts the item, since only an error message uses it */
            snprintf(item, sizeof item, "%s: item %d", what, i + 1);
        int length = cr_length_on_top(L);
        if (length >= 0 && !lengths)
            cr_raise(L, "%s: %s: found the length %s, expected a whole number", op, item,
                     cr_run_of(L)->graph->lengths[length].name);
        list[i] = length < 0 ? cr_arg_integer(L, -1, op, item)
                             : cr_run_of(L)->graph->lengths[length].bound;
        if (lengths) /* a length whose bound is 1 is the number 1 */
            lengths[i] = (signed char)(list[i] == 1 ? 0 : length + 1);
        lua_pop(L, 1);
    }
    return n;
}
