/* ports.c - ports and reports of the Lua module; see ports.h. */
#include "ports.h"

crescent_port cr_lua_port(lua_State *L, const crescent_model *model, crescent_port_kind kind,
                          int index)
{
    crescent_port port;
    cr_lua_pass(L, crescent_port_at(model, kind, index, &port));
    return port;
}

int cr_lua_port_named(lua_State *L, const crescent_model *model, crescent_port_kind kind, int index)
{
    static const char *const kinds[] = {"parameter", "input", "output", "state"};
    const char *name = luaL_checkstring(L, index);
    int number = crescent_port_find(model, kind, name);
    if (number == CRESCENT_NONE)
        cr_lua_fail(L, "found the name %.200s, expected that of %s %s", name,
                    kind == CRESCENT_PARAM || kind == CRESCENT_STATE ? "a" : "an", kinds[kind]);
    return number;
}

void cr_lua_push_ports(lua_State *L, const crescent_model *model, crescent_port_kind kind)
{
    int n = crescent_port_count(model, kind);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, model, kind, i);
        lua_createtable(L, 0, 6);
        cr_lua_set_string(L, "name", port.name);
        cr_lua_set_string(L, "of", port.of);
        cr_lua_set_string(L, "dtype", crescent_type_name(port.type));
        cr_lua_set_string(L, "format", port.format);
        cr_lua_set_integer(L, "count", crescent_port_elements(&port));
        cr_lua_push_shape(L, port.rank, port.shape);
        lua_setfield(L, -2, "shape");
        lua_rawseti(L, -2, i + 1);
    }
}

void cr_lua_push_report(lua_State *L, const crescent_model *model)
{
    crescent_report r;
    cr_lua_pass(L, crescent_report_of(model, &r));
    lua_newtable(L);
    cr_lua_set_string(L, "name", r.name);
    cr_lua_set_string(L, "backend", crescent_backend_name(r.backend));
    cr_lua_set_string(L, "isa", r.isa);
    cr_lua_set_integer(L, "threads", r.threads);
    cr_lua_set_flag(L, "compiled", r.compiled);
    cr_lua_set_integer(L, "passes_ns", r.passes_ns);
    cr_lua_set_integer(L, "emit_ns", r.emit_ns);
    cr_lua_set_integer(L, "compile_ns", r.compile_ns);
    cr_lua_set_integer(L, "ops", r.ops);
    cr_lua_set_integer(L, "kernels", r.n_kernels);
    cr_lua_set_integer(L, "calls", r.n_calls);
    cr_lua_set_integer(L, "weights_bytes", r.weights_bytes);
    cr_lua_set_integer(L, "arena_bytes", r.arena_bytes);
    cr_lua_set_integer(L, "scratch_bytes", r.scratch_bytes);
    cr_lua_set_number(L, "flops", r.flops);
}
