/* literal.c - converts Lua tables of values to constants; see literal.h. */
#include "literal.h"

#include <math.h>
#include <string.h>

#include "args.h"
#include "node.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

/* The contents of a table while it is read.  `words` is a Lua userdata. */
struct reading {
    enum cr_dtype dtype;
    int rank; /* nesting depth of the table */
    int64_t shape[CR_MAX_RANK];
    int64_t n, room;
    uint32_t *words;
};

/* Returns the largest key of the table on top of the stack; keys count from 1.  It does not use
 * Lua's length operator, which may return any border of a table with holes, and not the same one
 * in every Lua. */
static int64_t count_items(lua_State *L)
{
    double most = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        double key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (!(key >= 1) || key != floor(key))
            cr_raise(L, "const: found a table with a key other than 1, 2, ..., expected a list of "
                     "values");
        most = key > most ? key : most;
    }
    return most <= (double)CR_MAX_LITERAL ? (int64_t)most : CR_MAX_LITERAL + 1;
}

/* Finds the shape of the table on top of the stack from the first item of each nesting level;
 * leaves the stack unchanged. */
static void find_shape(lua_State *L, struct reading *r)
{
    int top = lua_gettop(L);
    r->room = 1;
    luaL_checkstack(L, CR_MAX_RANK + 1, "const");
    while (lua_type(L, -1) == LUA_TTABLE) {
        if (r->rank == CR_MAX_RANK)
            cr_raise(L, "const: tables are nested too deep, expected at most %d levels, the "
                     "largest rank", CR_MAX_RANK);
        int64_t n = count_items(L);
        if (n < 1)
            cr_raise(L, "const: found a table without values, expected at least one");
        if (n > CR_MAX_LITERAL / r->room)
            cr_raise(L, "const: too many values, expected at most %lld (larger tensors are "
                     "parameters or inputs)", (long long)CR_MAX_LITERAL);
        r->shape[r->rank++] = n;
        r->room *= n;
        lua_rawgeti(L, -1, 1);
    }
    lua_settop(L, top);
}

/* Returns the bits of a value as f32; a NaN loses its sign. */
static uint32_t float_bits(double value)
{
    float rounded = (float)value;
    uint32_t word;
    memcpy(&word, &rounded, sizeof word);
    return isnan(rounded) ? 0x7fc00000u : word;
}

/* Returns the value on top of the stack as an element's 32 bits. */
static uint32_t read_element(lua_State *L, const struct reading *r)
{
    if (r->dtype == CR_BOOL && lua_type(L, -1) == LUA_TBOOLEAN)
        return float_bits(lua_toboolean(L, -1));
    if (lua_type(L, -1) != LUA_TNUMBER)
        cr_raise(L, "const: value %lld: found %s, expected a number", (long long)r->n + 1,
                 cr_type_name(L, -1));
    double value = lua_tonumber(L, -1);
    if (r->dtype == CR_BOOL && value != 0 && value != 1)
        cr_raise(L, "const: value %lld: found %.14g, expected 0 or 1 for a bool",
                 (long long)r->n + 1, value);
    if (r->dtype == CR_I32 && !cr_is_i32(value))
        cr_raise(L, "const: value %lld: found %.14g, expected an i32, a whole number from "
                 "-2147483648 to 2147483647", (long long)r->n + 1,
                 isnan(value) ? (double)NAN : value);
    return r->dtype == CR_I32 ? (uint32_t)(int32_t)value : float_bits(value);
}

/* Appends the elements of the table on top of the stack, which is at nesting level `level`, in
 * row-major order. */
static void read_level(lua_State *L, struct reading *r, int level)
{
    if (lua_type(L, -1) != LUA_TTABLE || count_items(L) != r->shape[level])
        cr_raise(L, "const: value %lld: found %s, expected a table of %lld items, as the first of "
                 "this level", (long long)r->n + 1,
                 lua_type(L, -1) == LUA_TTABLE ? "a table of another size" : cr_type_name(L, -1),
                 (long long)r->shape[level]);
    cr_work(L, (size_t)r->shape[level]);
    for (int64_t i = 1; i <= r->shape[level]; i++) {
        lua_rawgeti(L, -1, (int)i);
        if (level + 1 < r->rank)
            read_level(L, r, level + 1);
        else
            r->words[r->n] = read_element(L, r), r->n++;
        lua_pop(L, 1);
    }
}

/* True if a shape has n elements. */
static bool has_elements(const struct cr_attr *attr, int64_t n)
{
    for (int i = 0; i < attr->rank; i++) {
        if (attr->shape[i] < 1 || n % attr->shape[i] != 0)
            return false;
        n /= attr->shape[i];
    }
    return n == 1;
}

/* Sets the shape of the constant: the argument at `index`, or if there is none, the shape of the
 * table. */
static void take_shape(lua_State *L, const struct reading *r, int index, struct cr_attr *attr,
                       signed char *lengths)
{
    char found[200], expected[200];
    attr->rank = r->rank;
    memcpy(attr->shape, r->shape, sizeof attr->shape);
    if (lua_isnoneornil(L, index))
        return;
    attr->rank = cr_arg_sizes(L, index, "const", "shape", attr->shape, lengths);
    bool same = attr->rank == r->rank &&
                memcmp(attr->shape, r->shape, (size_t)r->rank * sizeof *r->shape) == 0;
    cr_shape_text(found, sizeof found, r->rank, r->shape);
    cr_shape_text(expected, sizeof expected, attr->rank, attr->shape);
    if (r->rank > 1 && !same)
        cr_raise(L, "const: found tables of shape %s, expected %s", found, expected);
    if (!has_elements(attr, r->room))
        cr_raise(L, "const: found %lld values, expected as many as a tensor %s has",
                 (long long)r->room, expected);
}

/* True if all values are equal, so that a plain constant can replace the literal; always false in
 * a printed graph. */
static bool is_uniform(lua_State *L, const struct reading *r)
{
    int64_t i = 1;
    while (i < r->n && r->words[i] == r->words[0])
        i++;
    return i == r->n && !cr_run_of(L)->in_dump;
}

static double first_value(const struct reading *r)
{
    float value;
    memcpy(&value, r->words, sizeof value);
    return r->dtype == CR_I32 ? (double)(int32_t)r->words[0] : (double)value;
}

int cr_lua_literal(lua_State *L)
{
    cr_arg_count(L, "const", 1, 3);
    if (lua_type(L, 2) == LUA_TSTRING && lua_isnoneornil(L, 3)) { /* the type, without a shape */
        lua_settop(L, 2);
        lua_pushnil(L);
        lua_insert(L, 2);
    }
    struct reading r = {.dtype = cr_arg_dtype(L, 3, "const")};
    struct cr_attr attr = {.dtype = r.dtype};
    lua_settop(L, 3);
    lua_pushvalue(L, 1);
    find_shape(L, &r);
    signed char lengths[CR_MAX_RANK] = {0};
    take_shape(L, &r, 2, &attr, lengths);
    r.words = lua_newuserdata(L, (size_t)r.room * sizeof *r.words);
    lua_insert(L, -2);
    read_level(L, &r, 0);
    const struct cr_literal literal = {r.dtype, r.n, r.words};
    bool uniform = is_uniform(L, &r);
    attr.value = uniform ? first_value(&r) : cr_add_literal(cr_run_of(L)->graph, &literal);
    cr_id made = cr_add(L, uniform ? CR_OP_const : CR_OP_literal, 0, NULL, &attr);
    cr_push_tensor(L, cr_limited(L, made, lengths));
    return 1;
}
