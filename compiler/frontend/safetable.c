/*
 * safetable.c - safe versions of insert, remove, unpack, concat, sort and pairs.
 *
 * Lua's own versions take time proportional to the table's size or more without checking the
 * limits; these report their work.  They accept only tables without a metatable, so that no call
 * but `sort`'s comparison runs Lua code.
 */
#include "safelib.h"

#include <string.h>

#include "args.h"
#include "luaapi.h"
#include "natural_order.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"

enum { MAX_LENGTH = 1 << 25, MAX_UNPACK = 4096, WORK_OF_COMPARING = 8 };

/* Returns the length of a list; raises an error if it is not a table, has a metatable or is too
 * long. */
static int check_list(lua_State *L, int index, const char *op)
{
    if (lua_type(L, index) != LUA_TTABLE)
        cr_raise(L, "%s: found %s, expected a table", op, cr_type_name(L, index));
    if (lua_getmetatable(L, index))
        cr_raise(L, "%s: found a table with a metatable, expected a plain one", op);
    size_t length = lua_rawlen(L, index);
    if (length > MAX_LENGTH)
        cr_raise(L, "%s: the table is too long, expected fewer items", op);
    return (int)length;
}

/* table.insert(list, [position,] value) */
static int list_insert(lua_State *L)
{
    int length = check_list(L, 1, "table.insert");
    cr_arg_count(L, "table.insert", 2, 3);
    int64_t at = length + 1;
    if (lua_gettop(L) == 3)
        at = cr_arg_integer(L, 2, "table.insert", "position");
    if (at < 1 || at > length + 1)
        cr_raise(L, "table.insert: found position %lld in a list of %d, expected one inside of it "
                 "or right after it", (long long)at, length);
    for (int i = length; i >= at; i--) {
        cr_work(L, 1);
        lua_rawgeti(L, 1, i);
        lua_rawseti(L, 1, i + 1);
    }
    lua_rawseti(L, 1, (int)at);
    return 0;
}

/* table.remove(list [, position]) */
static int list_remove(lua_State *L)
{
    int length = check_list(L, 1, "table.remove");
    int64_t at = lua_isnoneornil(L, 2) ? length : cr_arg_integer(L, 2, "table.remove", "position");
    if (length == 0)
        return 0;
    if (at < 1 || at > length)
        cr_raise(L, "table.remove: found position %lld in a list of %d, expected one inside of it",
                 (long long)at, length);
    lua_rawgeti(L, 1, (int)at);
    for (int i = (int)at; i < length; i++) {
        cr_work(L, 1);
        lua_rawgeti(L, 1, i + 1);
        lua_rawseti(L, 1, i);
    }
    lua_pushnil(L);
    lua_rawseti(L, 1, length);
    return 1;
}

/* table.unpack(list [, first [, last]]) */
static int list_unpack(lua_State *L)
{
    int64_t last = check_list(L, 1, "table.unpack"), first = 1;
    if (!lua_isnoneornil(L, 2))
        first = cr_arg_integer(L, 2, "table.unpack", "first");
    if (!lua_isnoneornil(L, 3))
        last = cr_arg_integer(L, 3, "table.unpack", "last");
    if (first > last)
        return 0;
    if (first < -MAX_LENGTH || last > MAX_LENGTH || last - first >= MAX_UNPACK)
        cr_raise(L, "table.unpack: found the range of items %lld to %lld, expected at most %d",
                 (long long)first, (long long)last, MAX_UNPACK);
    int n = (int)(last - first) + 1;
    cr_work(L, (size_t)n);
    luaL_checkstack(L, n, "table.unpack");
    for (int64_t i = first; i <= last; i++)
        lua_rawgeti(L, 1, (int)i);
    return n;
}

/* Appends item i of the list at index 1 to a buffer, whose size is *size bytes so far. */
static void append_item(lua_State *L, luaL_Buffer *buffer, int64_t i, size_t *size)
{
    size_t length;
    lua_rawgeti(L, 1, (int)i);
    if (!lua_isstring(L, -1))
        cr_raise(L, "table.concat: item %lld is %s, expected a string or number", (long long)i,
                 cr_type_name(L, -1));
    lua_tolstring(L, -1, &length);
    cr_add_length(L, size, length, "table.concat");
    luaL_addvalue(buffer);
}

/* table.concat(list [, separator [, first [, last]]]) */
static int list_concat(lua_State *L)
{
    int64_t last = check_list(L, 1, "table.concat"), first = 1;
    size_t gap, size = 0;
    const char *separator = luaL_optlstring(L, 2, "", &gap);
    if (!lua_isnoneornil(L, 3))
        first = cr_arg_integer(L, 3, "table.concat", "first");
    if (!lua_isnoneornil(L, 4))
        last = cr_arg_integer(L, 4, "table.concat", "last");
    if (first <= last && (first < -MAX_LENGTH || last > MAX_LENGTH))
        cr_raise(L, "table.concat: found the range of items %lld to %lld, expected a shorter one",
                 (long long)first, (long long)last);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int64_t i = first; i <= last; i++) {
        append_item(L, &buffer, i, &size);
        if (i == last)
            break;
        cr_add_length(L, &size, gap, "table.concat");
        luaL_addlstring(&buffer, separator, gap);
    }
    luaL_pushresult(&buffer);
    return 1;
}

/* ---- Sorting ---- */

/* True if the value at stack index a is less than the one at b; leaves both on the stack. */
typedef bool less_function(lua_State *L, int a, int b);

/* Reports the work of comparing two values to the time limit. */
static void count_comparison(lua_State *L, int a, int b)
{
    size_t n = 0;
    if (lua_type(L, a) == LUA_TSTRING && lua_type(L, b) == LUA_TSTRING) {
        size_t m = lua_rawlen(L, a);
        n = lua_rawlen(L, b);
        n = m < n ? m : n;
    }
    cr_work(L, WORK_OF_COMPARING + n / 16);
}

/* Compares two values by <. */
static bool value_less(lua_State *L, int a, int b)
{
    count_comparison(L, a, b);
    return cr_lua_less(L, a, b);
}

/* Compares two values by the function at index 2. */
static bool called_less(lua_State *L, int a, int b)
{
    cr_work(L, WORK_OF_COMPARING);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    bool less = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return less;
}

/* Compares two strings, which may contain zero bytes. */
static int compare_keys(lua_State *L, int a, int b)
{
    size_t m, n;
    const char *x = lua_tolstring(L, a, &m), *y = lua_tolstring(L, b, &n);
    int order = cr_compare_names(x, y);
    if (order == 0)
        order = memcmp(x, y, m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

/* Compares two keys of a table: numbers come before strings, each kind in ascending order.  Keys
 * of other types do not occur. */
static bool key_less(lua_State *L, int a, int b)
{
    int s = lua_type(L, a), t = lua_type(L, b);
    count_comparison(L, a, b);
    if (s != t)
        return s == LUA_TNUMBER;
    if (s == LUA_TNUMBER)
        return cr_lua_less(L, a, b);
    return compare_keys(L, a, b) < 0;
}

static bool item_less(lua_State *L, int list, int i, int j, less_function *less)
{
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, list, j);
    int top = lua_gettop(L);
    bool result = less(L, top - 1, top);
    lua_pop(L, 2);
    return result;
}

/* Merges the sorted items begin .. middle - 1 and middle .. end - 1 of one list into the same
 * positions of the other. */
static void merge(lua_State *L, int from, int to, int begin, int middle, int end,
                  less_function *less)
{
    int i = begin, j = middle;
    for (int k = begin; k < end; k++) {
        bool second = j < end && (i >= middle || item_less(L, from, j, i, less));
        cr_work(L, 1);
        lua_rawgeti(L, from, second ? j++ : i++);
        lua_rawseti(L, to, k);
    }
}

/* Sorts n items of the list at index `list`, with the list at `other` as memory; `less` must not
 * have access to either.  Returns the index of the list with the result.  The sort is stable, so
 * that the result is the same in every release of Lua. */
static int sort_items(lua_State *L, int list, int other, int n, less_function *less)
{
    for (int width = 1; width < n; width *= 2) {
        for (int begin = 1; begin <= n; begin += 2 * width) {
            int middle = begin + width <= n + 1 ? begin + width : n + 1;
            int end = middle + width <= n + 1 ? middle + width : n + 1;
            merge(L, list, other, begin, middle, end, less);
        }
        int swap = list;
        list = other;
        other = swap;
    }
    return list;
}

static void copy_items(lua_State *L, int from, int to, int n)
{
    for (int i = 1; i <= n; i++) {
        cr_work(L, 1);
        lua_rawgeti(L, from, i);
        lua_rawseti(L, to, i);
    }
}

/* table.sort(list [, less]) */
static int list_sort(lua_State *L)
{
    int n = check_list(L, 1, "table.sort");
    if (!lua_isnoneornil(L, 2) && !lua_isfunction(L, 2))
        cr_raise(L, "table.sort: found %s, expected a function", cr_type_name(L, 2));
    lua_settop(L, 2);
    lua_newtable(L);
    lua_newtable(L);
    copy_items(L, 1, 3, n);
    cr_enter(L);
    int sorted = sort_items(L, 3, 4, n, lua_isnil(L, 2) ? value_less : called_less);
    cr_leave(L);
    copy_items(L, sorted, 1, n);
    return 0;
}

/* ---- pairs ---- */

/* Pushes a list of the keys of the table at index 1; returns their number. */
static int push_keys(lua_State *L)
{
    int n = 0;
    lua_newtable(L);
    cr_check_time(L);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        cr_work(L, CR_WORK_OF_NEXT);
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TNUMBER && lua_type(L, -1) != LUA_TSTRING)
            cr_raise(L, "pairs: found a key that is %s, expected numbers and strings, which have "
                     "an order", cr_type_name(L, -1));
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++n);
    }
    return n;
}

/* The iterator of pairs.  Upvalues: the sorted keys, the number of keys returned so far, and the
 * table, which may be the original table of a seal. */
static int next_pair(lua_State *L)
{
    int i = (int)lua_tonumber(L, lua_upvalueindex(2)) + 1;
    lua_pushnumber(L, i);
    lua_replace(L, lua_upvalueindex(2));
    lua_rawgeti(L, lua_upvalueindex(1), i);
    if (lua_isnil(L, -1))
        return 1;
    lua_pushvalue(L, -1);
    lua_rawget(L, lua_upvalueindex(3));
    return 2;
}

/* pairs(table): iterates in ascending order of the keys.  Lua's order varies from run to run, and
 * the order of a script's statements determines the order of the graph's nodes. */
static int sorted_pairs(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "pairs: found %s, expected a table", cr_type_name(L, 1));
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    cr_unseal(L, 1);
    int n = push_keys(L);
    lua_newtable(L);
    lua_pushvalue(L, sort_items(L, 3, 4, n, key_less));
    lua_pushnumber(L, 0);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, next_pair, 3);
    lua_pushvalue(L, 2);
    return 2;
}

/* The iterator of ipairs for a seal.  The upvalue is the original table. */
static int next_item(lua_State *L)
{
    int i = (int)luaL_checknumber(L, 2) + 1;
    lua_pushinteger(L, i);
    lua_rawgeti(L, lua_upvalueindex(1), i);
    return lua_isnil(L, -1) ? 1 : 2;
}

/* ipairs(list): calls Lua's own, upvalue 1, except for seals, whose items LuaJIT's does not see */
static int list_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    cr_unseal(L, 1);
    if (lua_rawequal(L, 1, 2)) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_settop(L, 2);
        lua_call(L, 1, 3);
        return 3;
    }
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, next_item, 1);
    lua_pushvalue(L, 2);
    lua_pushinteger(L, 0);
    return 3;
}

void cr_add_safe_table(lua_State *L)
{
    static const luaL_Reg functions[] = {{"insert", list_insert}, {"remove", list_remove},
                                         {"unpack", list_unpack}, {"concat", list_concat},
                                         {"sort", list_sort},     {NULL, NULL}};
    static const luaL_Reg globals[] = {
        {"pairs", sorted_pairs}, {"unpack", list_unpack}, {NULL, NULL}};
    cr_add_functions(L, globals);
    lua_getfield(L, -1, "ipairs");
    lua_pushcclosure(L, list_pairs, 1);
    lua_setfield(L, -2, "ipairs");
    lua_newtable(L);
    cr_add_functions(L, functions);
    cr_seal(L);
    lua_setfield(L, -2, "table");
}
