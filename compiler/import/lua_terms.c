/*
 * lua_terms.c - runs formulas and functions of graphs/lib on terms; see lua_terms.h.
 *
 * A tensor is a light userdata, the term itself.  A number that depends on lengths (symbols.h) is a
 * userdata, which can stand where a number can, but has no arithmetic: sizes(a, "*", b) computes with it.
 */
#include "lua_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/builtin_modules.h"
#include "compiler/frontend/luaapi.h"
#include "compiler/ir/graph.h"
#include "term_parts.h"

static const char translation_key, functions_key; /* keys in Lua's registry */
#define SYMBOL "cr_symbol"                         /* the name of the metatable of numbers that
                                                      depend on lengths */

/* ---- values ---- */

static struct cr_translation *translation_of(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&translation_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct cr_translation *t = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return t;
}

static bool is_term(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TLIGHTUSERDATA;
}

static cr_t term_at(lua_State *L, int index)
{
    if (!is_term(L, index))
        luaL_error(L, "found %s, expected a tensor", luaL_typename(L, index));
    return lua_touserdata(L, index);
}

/* Returns the number at a stack index; it may be a symbol. */
static double number_at(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TUSERDATA)
        return *(const double *)lua_touserdata(L, index);
    if (lua_type(L, index) != LUA_TNUMBER)
        luaL_error(L, "found %s, expected a number", luaL_typename(L, index));
    return lua_tonumber(L, index);
}

/* Pushes a number or a symbol.  A whole number is pushed as an integer, so that messages show it
 * without ".0"; -0.0 stays a float, so that it keeps its sign. */
static void push_number(lua_State *L, double number)
{
    if (cr_number_is_symbol(number)) {
        *(double *)lua_newuserdata(L, sizeof number) = number;
        luaL_getmetatable(L, SYMBOL);
        lua_setmetatable(L, -2);
    } else if (number == floor(number) && fabs(number) <= (double)CR_ONNX_FAR && !(number == 0 && signbit(number)))
        lua_pushinteger(L, (lua_Integer)number);
    else
        lua_pushnumber(L, number);
}

static void push_size(lua_State *L, int64_t size)
{
    push_number(L, cr_number_of_size(size));
}

/* The metamethod __eq of symbols: they are equal if they have the same values for all lengths. */
static int equal_symbols(lua_State *L)
{
    lua_pushboolean(L, memcmp(lua_touserdata(L, 1), lua_touserdata(L, 2), sizeof(double)) == 0);
    return 1;
}

/* Pushes a term.  If the term is null, raises an error without a message: the function that
 * returned null has reported the reason. */
static int give(lua_State *L, cr_t x)
{
    if (!x)
        return luaL_error(L, "found no tensor, expected one");
    lua_pushlightuserdata(L, (void *)(uintptr_t)x);
    return 1;
}

/* ---- arguments ---- */

/* The arguments of a function that makes terms.  lua_terms.def says which letter of its row sets
 * which field. */
struct arguments {
    cr_t x[3];
    const cr_t *parts;
    int n_x, n_axes, n_numbers, n, rank;
    int64_t axes[CR_ONNX_RANK], shape[CR_ONNX_RANK];
    double number[3];
    bool flag;
    enum cr_onnx_type type;
};

/* Adds an axis of x[0], or of the shape if there is no x[0].  Axes of the language count from 1, or
 * from the end if negative. */
static void add_axis(lua_State *L, struct arguments *a, int index)
{
    int rank = a->n_x ? a->x[0]->rank : a->rank;
    int64_t axis = cr_t_whole(number_at(L, index));
    if (axis < -rank || axis > rank || axis == 0 || a->n_axes == CR_ONNX_RANK)
        luaL_error(L, "found axis %d of a tensor of %d axes, expected one that it has", (int)axis, rank);
    a->axes[a->n_axes++] = axis < 0 ? axis + rank : axis - 1;
}

/* Calls `add` for each item of the list at a stack index, or for the value itself if it is no
 * list. */
static void add_items(lua_State *L, struct arguments *a, int index, void add(lua_State *, struct arguments *, int))
{
    int n = lua_istable(L, index) ? (int)lua_rawlen(L, index) : 1;
    for (int i = 0; i < n; i++) {
        if (lua_istable(L, index))
            lua_rawgeti(L, index, i + 1);
        else
            lua_pushvalue(L, index);
        add(L, a, lua_gettop(L));
        lua_pop(L, 1);
    }
}

static void add_size(lua_State *L, struct arguments *a, int index)
{
    if (a->rank == CR_ONNX_RANK)
        luaL_error(L, "a tensor of more axes than %d, expected fewer", CR_ONNX_RANK);
    a->shape[a->rank++] = cr_t_whole(number_at(L, index));
}

static void add_part(lua_State *L, struct arguments *a, int index)
{
    ((cr_t *)(uintptr_t)a->parts)[a->n++] = term_at(L, index);
}

/* Sets `parts` to a list of terms, and x[0] to its first term. */
static void read_parts(lua_State *L, struct arguments *a, int index)
{
    a->parts = cr_arena_new(translation_of(L)->arena, (size_t)lua_rawlen(L, index) + 1, sizeof(cr_t));
    add_items(L, a, index, add_part);
    a->x[0] = a->n ? a->parts[0] : term_at(L, index);
    a->n_x = 1;
}

/* Returns the type that the argument at `index` stands for: the type of a tensor, a name of the
 * language ("f32"), or a number of ONNX. */
static enum cr_onnx_type type_at(lua_State *L, int index)
{
    const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
    if (is_term(L, index))
        return term_at(L, index)->type;
    if (!name)
        return (enum cr_onnx_type)cr_t_whole(number_at(L, index));
    return strcmp(name, "f32") == 0 ? CR_ONNX_FLOAT : strcmp(name, "bool") == 0 ? CR_ONNX_BOOL : CR_ONNX_INT64;
}

/* Returns the operand at a stack index.  A number becomes a term of the type of the operand that
 * follows it, or else precedes it. */
static cr_t operand_at(lua_State *L, int index)
{
    if (is_term(L, index))
        return term_at(L, index);
    int other = is_term(L, index + 1) || index == 1 ? index + 1 : index - 1;
    return cr_t_number(translation_of(L), term_at(L, other)->type, number_at(L, index));
}

/* Reads the arguments of a call, one for each letter of the function's row. */
static void read_arguments(lua_State *L, const char *letters, struct arguments *a)
{
    for (int i = 1; letters[i - 1]; i++)
        switch (letters[i - 1]) {
        case 'x':
            a->x[a->n_x++] = term_at(L, i);
            break;
        case 'o':
            a->x[a->n_x++] = operand_at(L, i);
            break;
        case 'X':
            read_parts(L, a, i);
            break;
        case 's':
            add_items(L, a, i, add_size);
            break;
        case 'a':
            add_axis(L, a, i);
            break;
        case 'A':
            add_items(L, a, i, add_axis);
            a->n = a->n_axes;
            break;
        case 'n':
            a->number[a->n_numbers++] = number_at(L, i);
            break;
        case 'b':
            a->flag = lua_toboolean(L, i);
            break;
        default:
            a->type = type_at(L, i);
        }
}

/* ---- functions that make terms ---- */

enum row {
#define LANGUAGE(name, arguments, term) ROW_##name,
#include "lua_terms.def"
#undef LANGUAGE
    N_ROWS
};

/* Makes a term by the row of lua_terms.def whose index is upvalue 1; upvalue 2 is the name of the
 * operation, or null. */
static int make_term(lua_State *L)
{
    static const char *const letters[] = {
#define LANGUAGE(name, arguments, term) arguments,
#include "lua_terms.def"
#undef LANGUAGE
    };
    struct cr_translation *t = translation_of(L);
    enum row row = (enum row)lua_tointeger(L, lua_upvalueindex(1));
    const char *name = lua_touserdata(L, lua_upvalueindex(2));
    struct arguments a = {.n = 0};
    read_arguments(L, letters[row], &a);
    const cr_t *x = a.x, *parts = a.parts;
    const int rank = a.rank, n = a.n;
    const int64_t *axes = a.axes, *shape = a.shape;
    const double *number = a.number;
    const bool flag = a.flag;
    const enum cr_onnx_type type = a.type;
    switch (row) {
#define LANGUAGE(name_, arguments, term)                                                           \
    case ROW_##name_:                                                                              \
        return give(L, term);
#include "lua_terms.def"
#undef LANGUAGE
    default:
        return 0;
    }
}

/* The arguments of a call that the script will contain. */
struct call_arguments {
    struct cr_onnx_argument *items;
    int n, cap;
};

/* Adds a Lua value as an argument of a call: a tensor, a number, a string that is printed
 * unchanged, or a list of these in braces.  Adds nothing for nil. */
static void add_argument(lua_State *L, struct call_arguments *to, int index)
{
    struct cr_arena *arena = translation_of(L)->arena;
    struct cr_onnx_argument x = {NULL, NULL};
    if (lua_istable(L, index)) {
        *CR_ARENA_PUSH(arena, to->items, to->n, to->cap) = (struct cr_onnx_argument){NULL, CR_TERM_TABLE};
        for (int i = 1; i <= (int)lua_rawlen(L, index); i++) {
            lua_rawgeti(L, index, i);
            add_argument(L, to, lua_gettop(L));
            lua_pop(L, 1);
        }
        x.text = CR_TERM_TABLE_END;
    } else if (is_term(L, index))
        x.term = term_at(L, index);
    else if (lua_type(L, index) == LUA_TSTRING)
        x.text = cr_arena_print(arena, "%s", lua_tostring(L, index));
    else if (!lua_isnil(L, index))
        x.text = cr_t_text(translation_of(L), cr_t_whole(number_at(L, index)));
    if (x.term || x.text)
        *CR_ARENA_PUSH(arena, to->items, to->n, to->cap) = x;
}

/* Makes the term of a call.  The stack has, from `first` on: the name, the shape and the type of
 * the result, the arguments. */
static cr_t make_call(lua_State *L, int first)
{
    struct arguments a = {.n = 0};
    struct call_arguments to = {NULL, 0, 0};
    struct cr_translation *t = translation_of(L);
    const char *name = cr_arena_print(t->arena, "%s", luaL_checkstring(L, first));
    add_items(L, &a, first + 1, add_size);
    for (int i = first + 3; i <= lua_gettop(L); i++)
        add_argument(L, &to, i);
    return cr_t_call(t, name, type_at(L, first + 2), a.rank, a.shape, to.items, to.n);
}

/* const(numbers, shape, type): makes a tensor of known elements; numbers may be symbols. */
static int constant(lua_State *L)
{
    struct arguments a = {.n = 0};
    struct cr_translation *t = translation_of(L);
    int n = (int)lua_rawlen(L, 1);
    double *data = cr_t_array(t, n);
    add_items(L, &a, 2, add_size);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        data[i] = number_at(L, -1);
        lua_pop(L, 1);
    }
    if (cr_t_count(t, a.rank, a.shape) != n)
        luaL_error(L, "found %d numbers, expected one for each element", n);
    return give(L, cr_t_computed(t, type_at(L, 3), a.rank, a.shape, data));
}

/* call(name, shape, type, ...): makes a call, see make_call. */
static int call(lua_State *L)
{
    return give(L, make_call(L, 1));
}

/* scope(path, weight, bias, name, shape, type, ...): makes a call in a scope of the path, with the
 * parameters `weight` and `bias`; the bias may be nil. */
static int scope(lua_State *L)
{
    struct cr_onnx_term *y = cr_arena_new(translation_of(L)->arena, 1, sizeof *y);
    cr_t made = make_call(L, 4);
    if (!made)
        return give(L, NULL);
    *y = *made;
    y->kind = CR_TERM_SCOPE;
    y->path = cr_arena_print(translation_of(L)->arena, "%s", luaL_checkstring(L, 1));
    y->weight = term_at(L, 2)->value;
    y->bias = lua_isnil(L, 3) ? CR_ONNX_NONE : term_at(L, 3)->value;
    return give(L, y);
}

/* text(number): returns a number in the form in which a script prints it. */
static int text(lua_State *L)
{
    lua_pushstring(L, cr_lua_number(translation_of(L)->arena, number_at(L, 1)));
    return 1;
}

/* ---- functions that give numbers ---- */

/* numbers(x, strict): returns the elements of a tensor, which have to be known.  If `strict` is
 * true, there may be more elements, but none may depend on lengths. */
static int numbers(lua_State *L)
{
    cr_t x = term_at(L, 1);
    bool strict = lua_toboolean(L, 2);
    int most = strict ? CR_FOLDED_WHOLE : CR_ONNX_MANY;
    const double *data = (strict ? cr_t_known : cr_t_known_sizes)(translation_of(L), x);
    int64_t n = data ? cr_t_elements(x) : 0;
    if (!data || n > most)
        return luaL_error(L, "%d numbers, expected at most %d", (int)n, most);
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        push_number(L, data[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* sizes(a, operation, b): returns the size that cr_sizes computes. */
static int sizes(lua_State *L)
{
    int64_t a = cr_t_whole(number_at(L, 1)), b = cr_t_whole(number_at(L, 3));
    push_size(L, cr_sizes(translation_of(L)->graph->symbols, a, *luaL_checkstring(L, 2), b));
    return 1;
}

/* bound(number): returns the value of a number when all lengths are at their bounds. */
static int bound(lua_State *L)
{
    push_size(L, cr_size_bound(cr_t_whole(number_at(L, 1))));
    return 1;
}

/* plain(number): returns the number; raises an error if it depends on lengths. */
static int plain(lua_State *L)
{
    struct cr_translation *t = translation_of(L);
    push_size(L, cr_t_plain(t, cr_t_whole(number_at(L, 1))));
    return t->failed ? give(L, NULL) : 1;
}

/* ---- fields of a tensor ---- */

/* x:size(axis): returns the size of an axis. */
static int size_of(lua_State *L)
{
    struct arguments a = {.n = 0};
    read_arguments(L, "xa", &a);
    push_size(L, a.x[0]->shape[a.axes[0]]);
    return 1;
}

static void push_shape(lua_State *L, cr_t x)
{
    lua_createtable(L, x->rank, 0);
    for (int i = 0; i < x->rank; i++) {
        push_size(L, x->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* True if no element of a term can be negative. */
static bool is_natural(cr_t x)
{
    bool natural = x->data != NULL || x->type == CR_ONNX_UINT8 || x->type == CR_ONNX_UINT16 ||
                   x->type == CR_ONNX_UINT32 || x->type == CR_ONNX_UINT64;
    for (int64_t i = 0; natural && x->data && i < cr_t_elements(x); i++)
        natural = x->data[i] >= 0;
    return natural;
}

/* Pushes the first of known indices if they are consecutive, or nil. */
static void push_first(lua_State *L, cr_t x)
{
    int64_t n = cr_t_elements(x);
    bool counted = x->data && n > 0 && (x->data[0] >= 0 || (n == 1 && cr_number_is_symbol(x->data[0])));
    for (int64_t i = 1; counted && i < n; i++)
        counted = x->data[i] == x->data[0] + (double)i;
    if (counted)
        push_size(L, cr_t_whole(x->data[0]));
    else
        lua_pushnil(L);
}

/* Pushes the language's name of a term's type. */
static void push_type(lua_State *L, cr_t x)
{
    enum cr_language_type type = cr_language_type(x->type);
    lua_pushstring(L, type == CR_LANGUAGE_F32 ? "f32" : type == CR_LANGUAGE_I32 ? "i32" : "bool");
}

/*
 * Pushes a field of a term.  rank, size, shape and dtype mean the same as for tensors of the
 * language.  The others are
 *
 *     elements               the number of elements
 *     type                   the type's name in ONNX
 *     is_known               the elements are known
 *     is_data                the elements are known and do not belong to a weight
 *     is_natural             no element can be negative
 *     first                  the first of known consecutive indices, or nil
 *     name                   the name of the ONNX value that the term reads, or nil
 *     is_weight, is_input    the term reads a weight or an input of the model
 */
static int field(lua_State *L)
{
    cr_t x = term_at(L, 1);
    const char *key = luaL_checkstring(L, 2);
    const struct cr_onnx_value *v =
        x->kind == CR_TERM_VALUE ? &translation_of(L)->graph->values[x->value] : NULL;
    if (strcmp(key, "rank") == 0)
        lua_pushinteger(L, x->rank);
    else if (strcmp(key, "size") == 0)
        lua_pushcfunction(L, size_of);
    else if (strcmp(key, "shape") == 0)
        push_shape(L, x);
    else if (strcmp(key, "dtype") == 0)
        push_type(L, x);
    else if (strcmp(key, "elements") == 0)
        push_size(L, cr_t_count(translation_of(L), x->rank, x->shape));
    else if (strcmp(key, "type") == 0)
        lua_pushstring(L, cr_onnx_type_name(x->type));
    else if (strcmp(key, "is_known") == 0)
        lua_pushboolean(L, x->data != NULL);
    else if (strcmp(key, "is_data") == 0)
        lua_pushboolean(L, x->kind == CR_TERM_DATA);
    else if (strcmp(key, "is_natural") == 0)
        lua_pushboolean(L, is_natural(x));
    else if (strcmp(key, "first") == 0)
        push_first(L, x);
    else if (strcmp(key, "name") == 0)
        lua_pushstring(L, v ? v->name : NULL);
    else
        lua_pushboolean(L, v && (strcmp(key, "is_weight") == 0 ? v->tensor != NULL : v->is_input));
    return 1;
}

/* ---- the state ---- */

/* require(name): returns a module of graphs/lib, loaded at its first use.  Upvalue 1 is the table
 * of loaded modules. */
static int require(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *path;
    size_t size = 0, length;
    lua_getfield(L, lua_upvalueindex(1), name);
    if (!lua_isnil(L, -1))
        return 1;
    const char *text = cr_builtin_module(name, &path, &size);
    if (!text)
        return luaL_error(L, "found no module '%s', expected one of graphs/lib", name);
    const char *code = cr_builtin_bytecode(cr_builtin_number(name), &length);
    if ((!code || cr_load_lua_bytecode(L, code, length, name)) && luaL_loadbuffer(L, text, size, path))
        return lua_error(L);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    return 1;
}

/* Adds a function that makes terms to the table on top of the stack; `name` is the operation, or
 * null. */
static void add_maker(lua_State *L, const char *field, enum row row, const char *name)
{
    lua_pushinteger(L, row);
    lua_pushlightuserdata(L, (void *)(uintptr_t)name);
    lua_pushcclosure(L, make_term, 2);
    lua_setfield(L, -2, field);
}

/* Adds the language's functions to the table on top of the stack. */
static void add_language(lua_State *L)
{
    static const luaL_Reg others[] = {{"call", call},   {"scope", scope}, {"const", constant}, {"text", text}, {"numbers", numbers},
                                      {"sizes", sizes}, {"bound", bound}, {"plain", plain},    {NULL, NULL}};
    static const char *const names[] = {
#define LANGUAGE(name, arguments, term) #name,
#include "lua_terms.def"
#undef LANGUAGE
    };
    for (enum cr_op op = 0; op < CR_OP_COUNT; op++)
        if (cr_ops[op].kind == CR_KIND_ELEMENTWISE && cr_ops[op].arity < 3)
            add_maker(L, cr_ops[op].name, cr_ops[op].arity == 1 ? ROW_unary : ROW_binary, cr_ops[op].name);
    for (enum row row = ROW_where; row < N_ROWS; row++)
        add_maker(L, names[row], row, NULL);
    add_maker(L, "sum", ROW_reduce, "sum");
    add_maker(L, "max", ROW_reduce, "max");
    cr_add_functions(L, others);
    lua_newtable(L);
    lua_pushcclosure(L, require, 1);
    lua_setfield(L, -2, "require");
}

/* Creates the metatables of tensors and of symbols. */
static void add_types(lua_State *L)
{
    static const char *const operators[][2] = {{"__add", "+"}, {"__sub", "-"},         {"__mul", "*"},
                                               {"__div", "/"}, {"__mod", "remainder"}, {"__pow", "pow"}};
    lua_pushlightuserdata(L, NULL);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        add_maker(L, operators[i][0], ROW_binary, operators[i][1]);
    add_maker(L, "__unm", ROW_unary, "neg");
    lua_pushcfunction(L, field);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2); /* the metatable of all light userdata */
    luaL_newmetatable(L, SYMBOL);
    lua_pushcfunction(L, equal_symbols);
    lua_setfield(L, -2, "__eq");
}

static void open_library(lua_State *L, const char *name, lua_CFunction function)
{
    lua_pushcfunction(L, function);
    lua_pushstring(L, name);
    lua_call(L, 1, LUA_VERSION_NUM < 502 ? 0 : 1);
    if (LUA_VERSION_NUM >= 502)
        lua_setglobal(L, name);
}

/* Sets up a Lua state: opens Lua's libraries, adds the language's functions and the types. */
static int open_language(lua_State *L)
{
    lua_gc(L, LUA_GCSTOP, 0);
    open_library(L, "_G", luaopen_base);
    open_library(L, "string", luaopen_string);
    open_library(L, "table", luaopen_table);
    open_library(L, "math", luaopen_math);
    lua_pushglobaltable(L);
    add_language(L);
    add_types(L);
    lua_pushlightuserdata(L, (void *)&functions_key);
    lua_newtable(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
    return 0;
}

/* ---- runs ---- */

/* A call of an operator's Lua function: its arguments, and the memory for its results. */
struct run {
    struct cr_translation *t;
    const struct cr_onnx_op *op;
    const struct cr_op_arguments *arguments;
    cr_t *results;
    int most;
};

/* Pushes a function that computes a formula: for "a + b", "return function(a, b) return a + b end".
 * The formula may use the module nn. */
static void load_formula(lua_State *L, const struct cr_onnx_op *op)
{
    char names[16] = "";
    for (int i = 0; op->inputs[i] && op->inputs[i] != '.' && i < 15; i++)
        names[i] = op->inputs[i] == ' ' ? ',' : op->inputs[i];
    if (names[strlen(names) - 1] == ',')
        names[strlen(names) - 1] = '\0';
    lua_pushfstring(L, "local nn = require('inline_tools').nn return function(%s) return %s end", names, op->formula);
    if (luaL_loadbuffer(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=formula"))
        lua_error(L);
    lua_call(L, 0, 1);
    lua_remove(L, -2);
}

/* Pushes the Lua function of an operator's row; it is compiled at its first use. */
static void push_function(lua_State *L, const struct cr_onnx_op *op)
{
    lua_pushlightuserdata(L, (void *)&functions_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(L, (void *)(uintptr_t)op);
    lua_rawget(L, -2);
    if (!lua_isnil(L, -1))
        return;
    if (op->formula)
        load_formula(L, op);
    else {
        const char *dot = strchr(op->lua, '.');
        lua_getglobal(L, "require");
        lua_pushlstring(L, op->lua, (size_t)(dot - op->lua));
        lua_call(L, 1, 1);
        lua_getfield(L, -1, dot + 1);
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)op);
    lua_pushvalue(L, -2);
    lua_rawset(L, 2);
}

/* Pushes item `i` of an argument. */
static void push_value(lua_State *L, const struct cr_op_argument *x, int64_t i)
{
    if (x->kind == CR_ARGUMENT_NUMBERS)
        push_number(L, x->numbers[i]);
    else if (x->kind == CR_ARGUMENT_TEXTS)
        lua_pushstring(L, x->texts[i]);
    else if (x->kind == CR_ARGUMENT_TRUTHS)
        lua_pushboolean(L, x->truths[i]);
    else
        lua_pushlightuserdata(L, (void *)(uintptr_t)x->terms[i]);
}

/* Pushes an argument: nil, a value or a list of values. */
static void push_argument(lua_State *L, const struct cr_op_argument *x)
{
    if (x->kind == CR_ARGUMENT_NIL || (x->kind == CR_ARGUMENT_TENSOR && !x->terms[0])) {
        lua_pushnil(L);
        return;
    }
    if (!x->is_list) {
        push_value(L, x, 0);
        return;
    }
    lua_createtable(L, (int)x->n, 0);
    for (int64_t i = 0; i < x->n; i++) {
        push_value(L, x, i);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* Pushes the operands, then a table of the options if there are any; returns the number of pushed
 * values. */
static int push_arguments(lua_State *L, const struct cr_op_arguments *a)
{
    for (int i = 0; i < a->n_operands; i++)
        push_argument(L, &a->items[i]);
    if (!a->has_options)
        return a->n;
    lua_createtable(L, 0, a->n - a->n_operands);
    for (int i = a->n_operands; i < a->n; i++) {
        push_argument(L, &a->items[i]);
        lua_setfield(L, -2, a->items[i].option);
    }
    return a->n_operands + 1;
}

/* Lua collects the garbage of runs only when its memory exceeds this many kilobytes. */
enum { MOST_GARBAGE = 16 << 10 };

/* Calls the function of a run, and stores the terms that it returns in the run. */
static int run_row(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);
    if (lua_gc(L, LUA_GCCOUNT, 0) > MOST_GARBAGE)
        lua_gc(L, LUA_GCCOLLECT, 0);
    lua_pushlightuserdata(L, (void *)&translation_key);
    lua_pushlightuserdata(L, run->t);
    lua_rawset(L, LUA_REGISTRYINDEX);
    luaL_checkstack(L, CR_MOST_ARGUMENTS + run->most, "too many results");
    push_function(L, run->op);
    lua_call(L, push_arguments(L, run->arguments), run->most);
    for (int i = 0; i < run->most; i++)
        run->results[i] = lua_isnil(L, i - run->most) ? NULL : term_at(L, i - run->most);
    return 0;
}

/* Calls a C function with one argument in protected mode; returns false after an error, whose
 * message is on the stack. */
static bool call_protected(lua_State *L, lua_CFunction function, void *argument)
{
    lua_settop(L, 0);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, argument);
    return lua_pcall(L, 1, 0, 0) == 0;
}

/* Returns the model's Lua state, which is opened by the first run.  On failure reports an error and
 * returns null. */
static lua_State *state_of(struct cr_translation *t)
{
    struct cr_onnx_language *language = t->graph->model->language;
    if (language->state)
        return language->state;
    lua_State *L = luaL_newstate();
    if (L && call_protected(L, open_language, NULL)) {
        *language = (struct cr_onnx_language){L, lua_close};
        return L;
    }
    if (L)
        lua_close(L);
    cr_onnx_refuse(t, "out of memory for functions of Lua, expected more memory");
    return NULL;
}

/* Returns the message on top of the stack, without the line of Lua: "#16:192: found ...". */
static const char *message_of(lua_State *L)
{
    const char *text = lua_tostring(L, -1) ? lua_tostring(L, -1) : "found an error";
    size_t place = strcspn(text, " "), name = strcspn(text, ":");
    bool has_line = name < place && text[place] == ' ' && text[place - 1] == ':' &&
                    strspn(text + name + 1, "0123456789-?") == place - name - 2;
    return has_line ? text + place + 1 : text;
}

void cr_lua_terms_run(struct cr_translation *t, const struct cr_onnx_op *op, const struct cr_op_arguments *arguments,
                      cr_t *results, int most)
{
    struct run run = {t, op, arguments, results, most};
    lua_State *L = t->failed ? NULL : state_of(t);
    bool done = L && call_protected(L, run_row, &run);
    if (!done)
        memset(results, 0, (size_t)most * sizeof *results);
    if (L && !done)
        cr_onnx_refuse(t, "%s", message_of(L));
}
