/* json_table.c - pushes a value of a JSON document as a Lua value; see json_table.h. */
#include "json_table.h"

#include "script_limits.h"

static const char null_value; /* the address stands for JSON's null */

/* Reports its work to the time limit, since filling a table of many keys takes time. */
void cr_push_json(lua_State *L, const struct cr_document *d, int number)
{
    const struct cr_json_value *value = &d->values[number];
    cr_work(L, CR_WORK_OF_NEXT);
    luaL_checkstack(L, 8, "a text that is nested");
    switch (value->kind) {
    case CR_JSON_NULL:
        lua_pushlightuserdata(L, (void *)&null_value);
        break;
    case CR_JSON_FALSE:
    case CR_JSON_TRUE:
        lua_pushboolean(L, value->kind == CR_JSON_TRUE);
        break;
    case CR_JSON_INTEGER:
    case CR_JSON_REAL:
        lua_pushnumber(L, cr_real_of(value));
        break;
    case CR_JSON_STRING:
        lua_pushlstring(L, value->text, value->length);
        break;
    case CR_JSON_ARRAY:
    case CR_JSON_OBJECT:
        lua_newtable(L);
        for (int i = value->first, n = 1; i >= 0; i = d->values[i].next, n++) {
            if (value->kind == CR_JSON_OBJECT)
                lua_pushlstring(L, d->values[i].key, d->values[i].key_length);
            else
                lua_pushinteger(L, n);
            cr_push_json(L, d, i);
            lua_rawset(L, -3);
        }
    }
}

bool cr_is_json_null(lua_State *L, int index)
{
    return lua_islightuserdata(L, index) && lua_touserdata(L, index) == &null_value;
}
