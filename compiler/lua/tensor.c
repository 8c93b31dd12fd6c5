/* tensor.c - tensors of the Lua module; see tensor.h. */
#include "tensor.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char class_name[] = "crescent.tensor";

enum { TEXT = 200 }; /* size of a buffer for a shape as text */

/* ---- memory ---- */

/* Memory that several tensors share: the library allocated it, or it belongs to `host`, a value
 * of the host program. */
struct cr_lua_storage {
    int references;
    int host; /* a reference (luaL_ref) that keeps the host's value alive, or LUA_NOREF */
    void *memory;
};

/* Releases a tensor.  The last tensor of a storage frees the memory, or drops the reference to
 * the host's value. */
static int release(lua_State *L)
{
    struct cr_lua_tensor *t = luaL_checkudata(L, 1, class_name);
    struct cr_lua_storage *s = t->storage;
    t->storage = NULL;
    t->data = NULL;
    if (!s || --s->references)
        return 0;
    if (s->host != LUA_NOREF)
        luaL_unref(L, LUA_REGISTRYINDEX, s->host);
    else
        crescent_free(s->memory);
    crescent_free(s);
    return 0;
}

static int64_t count(const struct cr_lua_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

/* Makes Lua's garbage collector run earlier by the size of a block that Lua did not allocate. */
static void tell_collector(lua_State *L, int64_t bytes)
{
    if (bytes >= 1 << 16)
        lua_gc(L, LUA_GCSTEP, (int)(bytes >> 10 < 1 << 20 ? bytes >> 10 : 1 << 20));
}

static void add_storage(lua_State *L, struct cr_lua_tensor *t)
{
    void *s;
    cr_lua_pass(L, crescent_memory(cr_lua_context(L), sizeof *t->storage, "a tensor", &s));
    t->storage = s;
    *t->storage = (struct cr_lua_storage){1, LUA_NOREF, NULL};
}

static void add_memory(lua_State *L, struct cr_lua_tensor *t)
{
    int64_t n = count(t), bytes = (n ? n : 1) * (int64_t)sizeof(float);
    add_storage(L, t);
    tell_collector(L, bytes);
    cr_lua_pass(L, crescent_memory(cr_lua_context(L), bytes, "a tensor", &t->storage->memory));
    t->data = t->storage->memory;
}

struct cr_lua_tensor *cr_lua_new_tensor(lua_State *L, const crescent_port *port)
{
    struct cr_lua_tensor *t = cr_lua_new(L, sizeof *t, class_name);
    t->type = port->type;
    t->rank = port->rank;
    memcpy(t->shape, port->shape, sizeof t->shape);
    add_memory(L, t);
    return t;
}

/* Pushes a tensor that shares another tensor's memory; the caller sets its shape. */
static struct cr_lua_tensor *new_view(lua_State *L, const struct cr_lua_tensor *of)
{
    struct cr_lua_tensor *t = cr_lua_new(L, sizeof *t, class_name);
    t->storage = of->storage;
    t->storage->references++;
    t->type = of->type;
    t->data = of->data;
    return t;
}

/* Returns the tensor at an index, or null. */
static struct cr_lua_tensor *tensor_at(lua_State *L, int index)
{
    struct cr_lua_tensor *t = cr_lua_test(L, index, class_name);
    return t && t->storage ? t : NULL;
}

/* Returns the tensor that is the first argument. */
static struct cr_lua_tensor *self(lua_State *L)
{
    struct cr_lua_tensor *t = luaL_checkudata(L, 1, class_name);
    if (!t->storage)
        luaL_argerror(L, 1, "the tensor is closed, expected an open one");
    return t;
}

/* ---- numbers ---- */

static double number_at(const struct cr_lua_tensor *t, int64_t i)
{
    return t->type == CRESCENT_I32 ? ((const int32_t *)t->data)[i] : ((const float *)t->data)[i];
}

static void push_number(lua_State *L, const struct cr_lua_tensor *t, int64_t i)
{
    if (t->type == CRESCENT_I32)
        cr_lua_push_integer(L, ((const int32_t *)t->data)[i]);
    else
        lua_pushnumber(L, (lua_Number)((const float *)t->data)[i]);
}

/* Sets element i; raises an error if the tensor's type cannot hold the number. */
static void store(lua_State *L, struct cr_lua_tensor *t, int64_t i, double value)
{
    if (t->type != CRESCENT_I32)
        ((float *)t->data)[i] = t->type == CRESCENT_BOOL ? value != 0 : (float)value;
    else if (value >= INT32_MIN && value <= INT32_MAX && value == floor(value))
        ((int32_t *)t->data)[i] = (int32_t)value;
    else
        cr_lua_fail(L, "tensor: found %.17g, expected a whole number of 32 bits for i32", value);
}

static double to_number(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TBOOLEAN)
        return lua_toboolean(L, index);
    if (lua_type(L, index) != LUA_TNUMBER)
        cr_lua_fail(L, "tensor: found %s, expected a number", luaL_typename(L, index));
    return lua_tonumber(L, index);
}

/* ---- shapes ---- */

void cr_lua_push_shape(lua_State *L, int rank, const int64_t *shape)
{
    lua_createtable(L, rank, 0);
    for (int i = 0; i < rank; i++) {
        cr_lua_push_integer(L, shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* Reads the shape at `index`, a table or a number, into *port; raises an error if the number of
 * elements overflows. */
static void read_shape(lua_State *L, int index, crescent_port *port)
{
    int64_t n = 1;
    if (lua_type(L, index) == LUA_TNUMBER) {
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, index);
        lua_rawseti(L, -2, 1);
        lua_replace(L, index);
    }
    luaL_checktype(L, index, LUA_TTABLE);
    size_t rank = lua_rawlen(L, index);
    if (rank > CRESCENT_MAX_RANK)
        cr_lua_fail(L, "tensor: a shape of %d axes, expected at most %d", (int)rank,
                    CRESCENT_MAX_RANK);
    port->rank = (int)rank;
    for (int i = 0; i < port->rank; i++) {
        lua_rawgeti(L, index, i + 1);
        if (lua_type(L, -1) == LUA_TTABLE)
            cr_lua_fail(L, "tensor: found a table in the shape, expected tensor(shape, data)");
        double extent = to_number(L, -1);
        lua_pop(L, 1);
        if (!(extent >= 0) || extent != floor(extent) || extent > 0x1p40 ||
            (extent > 0 && (double)n > 0x1p46 / extent))
            cr_lua_fail(L, "tensor: axis %d of %.17g elements, expected a whole number that memory has "
                           "room for",
                        i + 1, extent);
        port->shape[i] = (int64_t)extent;
        n *= port->shape[i];
    }
}

static int same_shape(const struct cr_lua_tensor *t, const crescent_port *port)
{
    return t->rank == port->rank &&
           memcmp(t->shape, port->shape, (size_t)t->rank * sizeof *t->shape) == 0;
}

/* Raises an error about the shape of a tensor, which the message calls `what`. */
static int wrong_shape(lua_State *L, const char *what, const struct cr_lua_tensor *t,
                       const crescent_port *port)
{
    char found[TEXT], expected[TEXT];
    return cr_lua_fail(L, "%s: found shape %s, expected %s", what,
                       crescent_shape_text(found, sizeof found, t->rank, t->shape),
                       crescent_shape_text(expected, sizeof expected, port->rank, port->shape));
}

/* ---- filling ---- */

/* The state of filling a tensor from a table, number by number. */
struct fill {
    struct cr_lua_tensor *tensor;
    const char *what;
    int64_t next;
};

static int wrong_count(lua_State *L, const struct fill *f, int64_t found, int64_t expected,
                       const char *of)
{
    return cr_lua_fail(L, "%s: found %lld elements%s, expected %lld", f->what, (long long)found, of,
                       (long long)expected);
}

/* Fills the axes from `axis` on from the table on top of the stack, which contains numbers or, if
 * there are more axes, tables. */
static void fill_axis(lua_State *L, struct fill *f, int axis)
{
    char of[40];
    struct cr_lua_tensor *t = f->tensor;
    int64_t n = (int64_t)lua_rawlen(L, -1);
    snprintf(of, sizeof of, " along axis %d", axis + 1);
    if (axis >= t->rank)
        cr_lua_fail(L, "%s: found a table, expected a number after %d levels of tables", f->what, t->rank);
    if (n != t->shape[axis])
        wrong_count(L, f, n, t->shape[axis], of);
    luaL_checkstack(L, 4, "crescent");
    for (int64_t i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (int)i);
        if (axis + 1 < t->rank) {
            if (lua_type(L, -1) != LUA_TTABLE)
                cr_lua_fail(L, "%s: found %s, expected a table for axis %d", f->what,
                            luaL_typename(L, -1), axis + 2);
            fill_axis(L, f, axis + 1);
        } else {
            store(L, t, f->next++, to_number(L, -1));
        }
        lua_pop(L, 1);
    }
}

/* Fills from a flat table of numbers, or from tables nested to one level for each axis. */
static void fill_from_table(lua_State *L, struct fill *f, int index)
{
    int64_t n = (int64_t)lua_rawlen(L, index), all = count(f->tensor);
    lua_rawgeti(L, index, 1);
    int nested = lua_type(L, -1) == LUA_TTABLE;
    lua_pop(L, 1);
    if (nested) {
        lua_pushvalue(L, index);
        fill_axis(L, f, 0);
        lua_pop(L, 1);
        return;
    }
    if (n != all)
        wrong_count(L, f, n, all, "");
    for (int64_t i = 0; i < n; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        store(L, f->tensor, i, to_number(L, -1));
        lua_pop(L, 1);
    }
}

/* Fills from the value at `index`; returns 0 if the value has an unsupported type. */
static int fill_from(lua_State *L, struct fill *f, int index)
{
    struct cr_lua_tensor *t = f->tensor, *from = tensor_at(L, index);
    int64_t n = count(t);
    size_t length;
    if (from) {
        if (count(from) != n)
            wrong_count(L, f, count(from), n, "");
        for (int64_t i = 0; i < n; i++)
            store(L, t, i, number_at(from, i));
    } else if (lua_type(L, index) == LUA_TTABLE) {
        fill_from_table(L, f, index);
    } else if (lua_type(L, index) == LUA_TSTRING) {
        const char *bytes = lua_tolstring(L, index, &length);
        if ((int64_t)length != n * 4)
            cr_lua_fail(L, "%s: found a string of %lld bytes, expected %lld, four an element",
                        f->what, (long long)length, (long long)(n * 4));
        memcpy(t->data, bytes, length);
    } else if (lua_type(L, index) == LUA_TNUMBER || lua_type(L, index) == LUA_TBOOLEAN) {
        double value = to_number(L, index);
        for (int64_t i = 0; i < n; i++)
            store(L, t, i, value);
    } else {
        return 0;
    }
    return 1;
}

/* ---- memory of the host ---- */

/* Returns the address of a pointer or an array of LuaJIT's FFI; null for other values. */
static void *foreign_address(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TLIGHTUSERDATA)
        return lua_touserdata(L, index);
    if (strcmp(luaL_typename(L, index), "cdata") != 0)
        return NULL;
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, "ffi");
    lua_getfield(L, -1, "cast");
    lua_getfield(L, -2, "cast");
    lua_pushliteral(L, "void *");
    lua_pushvalue(L, index);
    lua_call(L, 2, 1); /* converts arrays to pointers */
    lua_pushliteral(L, "uintptr_t");
    lua_insert(L, -2);
    lua_call(L, 2, 1);
    lua_getglobal(L, "tonumber");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    uintptr_t address = (uintptr_t)lua_tonumber(L, -1);
    lua_pop(L, 3);
    return (void *)address;
}

/* ---- crescent.tensor ---- */

static crescent_type read_type(lua_State *L, int index)
{
    const char *name = luaL_optstring(L, index, "f32");
    for (int type = CRESCENT_F32; type <= CRESCENT_BOOL; type++)
        if (strcmp(crescent_type_name((crescent_type)type), name) == 0)
            return (crescent_type)type;
    cr_lua_fail(L, "tensor: no type %s, expected f32, i32 or bool", name);
    return CRESCENT_F32;
}

/* Pushes a tensor that uses the host's memory at `address`, which the value at `index` keeps
 * alive. */
static int wrap(lua_State *L, const crescent_port *port, int index, void *address)
{
    struct cr_lua_tensor *t = cr_lua_new(L, sizeof *t, class_name);
    if ((uintptr_t)address % sizeof(float))
        cr_lua_fail(L, "tensor: the address %p, expected a multiple of 4", address);
    t->type = port->type;
    t->rank = port->rank;
    memcpy(t->shape, port->shape, sizeof t->shape);
    add_storage(L, t);
    lua_pushvalue(L, index);
    t->storage->host = luaL_ref(L, LUA_REGISTRYINDEX);
    t->data = t->storage->memory = address;
    return 1;
}

/*
 * crescent.tensor(shape, data, type): returns a tensor.  data is nil (zeros), a number for all
 * elements, a flat or nested table, a string of the elements' bytes, a tensor, which is copied,
 * or a pointer, whose memory is used in place.
 */
static int tensor(lua_State *L)
{
    crescent_port port = {.type = CRESCENT_F32};
    lua_settop(L, 3);
    port.type = read_type(L, 3);
    read_shape(L, 1, &port);
    void *address = foreign_address(L, 2);
    if (address)
        return wrap(L, &port, 2, address);
    struct fill f = {cr_lua_new_tensor(L, &port), "tensor", 0};
    if (lua_isnil(L, 2))
        memset(f.tensor->data, 0, (size_t)count(f.tensor) * sizeof(float));
    else if (!fill_from(L, &f, 2))
        cr_lua_fail(L, "tensor: found %s, expected a table, a number, a string, a tensor or a pointer",
                    luaL_typename(L, 2));
    return 1;
}

struct cr_lua_tensor *cr_lua_take_tensor(lua_State *L, int index, const crescent_port *port,
                                         const char *what)
{
    struct cr_lua_tensor *given = tensor_at(L, index);
    index = cr_lua_absolute(L, index);
    if (given && !same_shape(given, port))
        wrong_shape(L, what, given, port);
    if (given && given->type == port->type) {
        lua_pushvalue(L, index);
        return given;
    }
    struct fill f = {cr_lua_new_tensor(L, port), what, 0};
    if (!fill_from(L, &f, index))
        cr_lua_fail(L, "%s: found %s, expected a tensor, or a table of numbers", what,
                    luaL_typename(L, index));
    return f.tensor;
}

/* Finds the sizes of a value.  In a nested table, they are the sizes of the first table of each
 * level; the other tables are checked when their numbers are read. */
int cr_lua_sizes_of(lua_State *L, int index, int rank, int64_t *sizes)
{
    struct cr_lua_tensor *given = tensor_at(L, index);
    int top = lua_gettop(L), axis = 0;
    if (given && given->rank == rank)
        memcpy(sizes, given->shape, (size_t)rank * sizeof *sizes);
    if (given)
        return given->rank == rank;
    luaL_checkstack(L, rank + 2, "crescent");
    lua_pushvalue(L, index);
    for (; axis < rank && lua_type(L, -1) == LUA_TTABLE; axis++) {
        sizes[axis] = (int64_t)lua_rawlen(L, -1);
        lua_rawgeti(L, -1, 1);
    }
    lua_settop(L, top);
    return axis == rank;
}

/* ---- elements and rows ---- */

/* Returns the offset of the element whose indices, counted from 1, are arguments 2 .. rank + 1. */
static int64_t offset_of(lua_State *L, const struct cr_lua_tensor *t)
{
    int64_t at = 0;
    for (int i = 0; i < t->rank; i++) {
        double index = luaL_checknumber(L, i + 2);
        if (!(index >= 1 && index <= (double)t->shape[i]) || index != floor(index))
            cr_lua_fail(L, "found index %.14g of axis %d, expected a whole number from 1 to %lld", index, i + 1,
                        (long long)t->shape[i]);
        at = at * t->shape[i] + (int64_t)index - 1;
    }
    return at;
}

static void check_arguments(lua_State *L, const struct cr_lua_tensor *t, int more)
{
    if (lua_gettop(L) != t->rank + 1 + more)
        cr_lua_fail(L, "found %d indices, expected %d", lua_gettop(L) - 1 - more, t->rank);
}

/* t:get(i, j, ...) */
static int get(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    check_arguments(L, t, 0);
    push_number(L, t, offset_of(L, t));
    return 1;
}

/* t:set(i, j, ..., value) */
static int set(lua_State *L)
{
    struct cr_lua_tensor *t = self(L);
    check_arguments(L, t, 1);
    store(L, t, offset_of(L, t), to_number(L, t->rank + 2));
    lua_settop(L, 1);
    return 1;
}

/* Pushes element or row i of the first axis; nil if there is none. */
static void push_row(lua_State *L, const struct cr_lua_tensor *t, double i)
{
    if (!t->rank || !(i >= 1 && i <= (double)t->shape[0]) || i != floor(i)) {
        lua_pushnil(L);
    } else if (t->rank == 1) {
        push_number(L, t, (int64_t)i - 1);
    } else {
        struct cr_lua_tensor *row = new_view(L, t);
        row->rank = t->rank - 1;
        memcpy(row->shape, t->shape + 1, (size_t)row->rank * sizeof *row->shape);
        row->data = (float *)t->data + ((int64_t)i - 1) * count(row);
    }
}

/* Returns t[i], t.shape, t.dtype or a method. */
static int get_field(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    if (lua_type(L, 2) == LUA_TNUMBER) {
        push_row(L, t, lua_tonumber(L, 2));
        return 1;
    }
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (strcmp(key, "shape") == 0)
        cr_lua_push_shape(L, t->rank, t->shape);
    else if (strcmp(key, "dtype") == 0)
        lua_pushstring(L, crescent_type_name(t->type));
    else
        cr_lua_push_method(L, class_name, 2);
    return 1;
}

/* Sets t[i]: an element to a number, or a row to any data that crescent.tensor accepts. */
static int set_field(lua_State *L)
{
    struct cr_lua_tensor *t = self(L);
    double i = luaL_checknumber(L, 2);
    if (!t->rank || !(i >= 1 && i <= (double)t->shape[0]) || i != floor(i))
        cr_lua_fail(L, "found index %.14g of axis 1, expected a whole number from 1 to %lld", i,
                    (long long)(t->rank ? t->shape[0] : 0));
    if (t->rank == 1) {
        store(L, t, (int64_t)i - 1, to_number(L, 3));
        return 0;
    }
    push_row(L, t, i);
    struct fill f = {tensor_at(L, -1), "tensor", 0};
    if (!fill_from(L, &f, 3))
        cr_lua_fail(L, "tensor: found %s, expected numbers for a row", luaL_typename(L, 3));
    return 0;
}

static int length(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    cr_lua_push_integer(L, t->rank ? t->shape[0] : 0);
    return 1;
}

/* The iterator of: for i, row in t:each() do */
static int next_row(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    double i = luaL_checknumber(L, 2) + 1;
    cr_lua_push_integer(L, (int64_t)i);
    push_row(L, t, i);
    if (!lua_isnil(L, -1))
        return 2;
    return 1;
}

static int each(lua_State *L)
{
    self(L);
    lua_pushcfunction(L, next_row);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* ---- all elements ---- */

static int count_elements(lua_State *L)
{
    cr_lua_push_integer(L, count(self(L)));
    return 1;
}

/* Pushes nested tables for the axes from `axis` on; their elements begin with number *at, which
 * is advanced. */
static void push_nested(lua_State *L, const struct cr_lua_tensor *t, int axis, int64_t *at)
{
    luaL_checkstack(L, 4, "crescent");
    lua_createtable(L, (int)t->shape[axis], 0);
    for (int64_t i = 0; i < t->shape[axis]; i++) {
        if (axis + 1 < t->rank)
            push_nested(L, t, axis + 1, at);
        else
            push_number(L, t, (*at)++);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* t:totable(): returns a flat table in row-major order; t:totable("nested"): returns nested
 * tables. */
static int to_table(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    int64_t n = count(t), at = 0;
    const char *how = luaL_optstring(L, 2, "flat");
    if (strcmp(how, "nested") == 0 && t->rank) {
        push_nested(L, t, 0, &at);
        return 1;
    }
    if (n > INT32_MAX)
        cr_lua_fail(L, "tensor: found %lld elements, expected at most as many as a table holds",
                    (long long)n);
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        push_number(L, t, i);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* t:bytes(): returns the elements' bytes in memory as a string. */
static int bytes(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    lua_pushlstring(L, t->data, (size_t)count(t) * sizeof(float));
    return 1;
}

/* t:pointer(): returns the address for LuaJIT's ffi.cast("float *", t:pointer()); it is valid as
 * long as t lives. */
static int pointer(lua_State *L)
{
    lua_pushlightuserdata(L, self(L)->data);
    return 1;
}

static int fill(lua_State *L)
{
    struct fill f = {self(L), "tensor", 0};
    luaL_checkany(L, 2);
    if (!fill_from(L, &f, 2))
        cr_lua_fail(L, "tensor: found %s, expected numbers", luaL_typename(L, 2));
    lua_settop(L, 1);
    return 1;
}

static int clone(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    crescent_port port = {.type = t->type, .rank = t->rank};
    memcpy(port.shape, t->shape, sizeof port.shape);
    struct cr_lua_tensor *copy = cr_lua_new_tensor(L, &port);
    memcpy(copy->data, t->data, (size_t)count(t) * sizeof(float));
    return 1;
}

/* t:reshape{...}: returns a tensor with another shape that shares the memory. */
static int reshape(lua_State *L)
{
    const struct cr_lua_tensor *t = self(L);
    crescent_port port = {.type = t->type};
    read_shape(L, 2, &port);
    if (crescent_port_elements(&port) != count(t))
        return wrong_shape(L, "reshape", t, &port);
    struct cr_lua_tensor *view = new_view(L, t);
    view->rank = port.rank;
    memcpy(view->shape, port.shape, sizeof view->shape);
    return 1;
}

/* Returns a text such as "tensor f32 [2, 3]: 1 2 3 4 5 6". */
static int to_string(lua_State *L)
{
    enum { SHOWN = 8 };
    char shape[TEXT], number[40];
    const struct cr_lua_tensor *t = luaL_checkudata(L, 1, class_name);
    if (!t->storage) {
        lua_pushliteral(L, "tensor (closed)");
        return 1;
    }
    int64_t n = count(t);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "tensor ");
    luaL_addstring(&b, crescent_type_name(t->type));
    luaL_addstring(&b, " ");
    luaL_addstring(&b, crescent_shape_text(shape, sizeof shape, t->rank, t->shape));
    luaL_addstring(&b, ":");
    for (int64_t i = 0; i < n && i < SHOWN; i++) {
        snprintf(number, sizeof number, " %.6g", number_at(t, i));
        luaL_addstring(&b, number);
    }
    luaL_addstring(&b, n > SHOWN ? " ..." : "");
    luaL_pushresult(&b);
    return 1;
}

/* ---- the class ---- */

void cr_lua_add_tensors(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"get", get},       {"set", set},         {"each", each},       {"count", count_elements},
        {"fill", fill},     {"clone", clone},     {"reshape", reshape}, {"totable", to_table},
        {"bytes", bytes},   {"pointer", pointer}, {"tostring", bytes},
        {NULL, NULL}};
    static const luaL_Reg metamethods[] = {
        {"__gc", release},   {"__index", get_field},        {"__newindex", set_field},
        {"__len", length},   {"__tostring", to_string}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"tensor", tensor}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
