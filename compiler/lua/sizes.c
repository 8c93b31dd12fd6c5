/* sizes.c - the lengths in a run; see sizes.h. */
#include "sizes.h"

#include <string.h>

#include "ports.h"

int cr_lua_is_length(lua_State *L, const crescent_model *model, int i)
{
    static const crescent_port_kind kinds[] = {CRESCENT_INPUT, CRESCENT_OUTPUT};
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < crescent_port_count(model, kinds[k]); j++) {
            crescent_port port = cr_lua_port(L, model, kinds[k], j);
            for (int a = 0; a < port.rank; a++)
                if (port.lengths[a] == i + 1)
                    return 1;
        }
    return 0;
}

/* Pushes the value that the table at `index` has for an input. */
static void push_given(lua_State *L, int index, const crescent_port *port)
{
    if (lua_isnil(L, index))
        lua_pushnil(L);
    else
        lua_getfield(L, index, port->name);
}

/* Takes the lengths from an array on top of the stack: the first array with an axis sets its
 * length, others must agree. */
static void read_array(lua_State *L, const crescent_model *model, const crescent_port *port,
                       int32_t *const *lengths)
{
    int64_t sizes[CRESCENT_MAX_RANK];
    if (!cr_lua_sizes_of(L, -1, port->rank, sizes))
        return;
    for (int a = 0; a < port->rank; a++) {
        int32_t *length = port->lengths[a] ? lengths[port->lengths[a] - 1] : NULL;
        if (length && *length == 0 && sizes[a] >= 1 && sizes[a] <= port->shape[a])
            *length = (int32_t)sizes[a];
        if (length && sizes[a] != *length && sizes[a] != port->shape[a])
            cr_lua_fail(
                L,
                "input %.150s: found %lld elements along axis %d, expected %ld, the length %.150s",
                port->name, (long long)sizes[a], a + 1, (long)(*length ? *length : port->shape[a]),
                cr_lua_port(L, model, CRESCENT_INPUT, port->lengths[a] - 1).name);
    }
}

/* Takes the given lengths first, then the sizes of arrays. */
void cr_lua_take_lengths(lua_State *L, const crescent_model *model, int index, void *const *inputs)
{
    int n = crescent_port_count(model, CRESCENT_INPUT);
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, i);
        push_given(L, index, &port);
        if (inputs[i])
            *(int32_t *)inputs[i] =
                lua_isnil(L, -1) ? 0
                                 : *(int32_t *)cr_lua_take_tensor(L, -1, &port, port.name)->data;
        lua_pop(L, inputs[i] && !lua_isnil(L, -1) ? 2 : 1);
    }
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, i);
        push_given(L, index, &port);
        if (!inputs[i])
            read_array(L, model, &port, (int32_t *const *)inputs);
        lua_pop(L, 1);
    }
    for (int i = 0; i < n; i++)
        if (inputs[i] && *(int32_t *)inputs[i] == 0)
            cr_lua_fail(L, "input %.150s: found nothing that says the length, expected a number",
                        cr_lua_port(L, model, CRESCENT_INPUT, i).name);
}

/* True if a value has the shape of the bounds: it needs no spreading. */
static int is_laid_out(lua_State *L, int index, const crescent_port *port)
{
    int64_t sizes[CRESCENT_MAX_RANK];
    return cr_lua_sizes_of(L, index, port->rank, sizes) &&
           memcmp(sizes, port->shape, (size_t)port->rank * sizeof *sizes) == 0;
}

struct cr_lua_tensor *cr_lua_take_sized(lua_State *L, const crescent_model *model, int i, int index,
                                        const void *const *inputs, const char *what)
{
    crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, i), sized;
    index = cr_lua_absolute(L, index);
    cr_lua_pass(L, crescent_sized_port(model, CRESCENT_INPUT, i, inputs, &sized));
    if (memcmp(sized.shape, port.shape, sizeof port.shape) == 0 || is_laid_out(L, index, &port))
        return cr_lua_take_tensor(L, index, &port, what);
    struct cr_lua_tensor *from = cr_lua_take_tensor(L, index, &sized, what);
    struct cr_lua_tensor *t = cr_lua_new_tensor(L, &port);
    memset(t->data, 0, (size_t)crescent_port_elements(&port) * sizeof(float));
    crescent_spread(&port, &sized, sizeof(float), from->data, t->data);
    lua_remove(L, -2);
    return t;
}
