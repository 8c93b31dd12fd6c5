/* run_lengths.c - determines the lengths of a run; see run_lengths.h. */
#include "run_lengths.h"

#include <stdbool.h>
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

/* Pushes the value for an input from the table at `index`. */
static void push_given(lua_State *L, int index, const crescent_port *port)
{
    if (lua_isnil(L, index))
        lua_pushnil(L);
    else
        lua_getfield(L, index, port->name);
}

/* Returns the number of values of a length: 1, or for a ragged length the number of rows of its
 * batch. If that is out of bounds, the run itself fails later. */
static int32_t rows_of(const crescent_port *port, int32_t *const *lengths)
{
    int32_t rows = port->rank ? *lengths[port->lengths[0] - 1] : 1;
    return rows >= 1 && rows <= (port->rank ? port->shape[0] : 1) ? rows : 1;
}

/* Returns the value of length i; of a ragged one the size of the longest row. */
static int32_t longest(const crescent_port *port, int32_t *const *lengths, int i)
{
    int32_t most = 0;
    for (int32_t row = 0; row < rows_of(port, lengths); row++)
        most = lengths[i][row] > most ? lengths[i][row] : most;
    return most;
}

/* Takes a length from the size of an array's axis.  The first array sets the length, in all rows
 * if it is ragged; later arrays must agree. */
static void read_size(lua_State *L, const crescent_model *model, const crescent_port *port, int a,
                      int64_t size, int32_t *const *lengths)
{
    int i = port->lengths[a] - 1;
    crescent_port holder = cr_lua_port(L, model, CRESCENT_INPUT, i);
    for (int32_t row = 0; size >= 1 && size <= port->shape[a] && row < rows_of(&holder, lengths); row++)
        lengths[i][row] = lengths[i][row] ? lengths[i][row] : (int32_t)size;
    int32_t length = longest(&holder, lengths, i);
    if (size != length && size != port->shape[a])
        cr_lua_fail(L, "input %.150s: found %lld elements along axis %d, expected %ld, the length %.150s",
                    port->name, (long long)size, a + 1, (long)(length ? length : port->shape[a]),
                    holder.name);
}

/* Takes the lengths along the axes of the array on top of the stack. */
static void read_array(lua_State *L, const crescent_model *model, const crescent_port *port,
                       int32_t *const *lengths)
{
    int64_t sizes[CRESCENT_MAX_RANK];
    if (!cr_lua_sizes_of(L, -1, port->rank, sizes))
        return;
    for (int a = 0; a < port->rank; a++)
        if (port->lengths[a])
            read_size(L, model, port, a, sizes[a], lengths);
}

/* Takes the lengths that the caller gave: numbers or, if `ragged`, vectors with a size for each
 * row, whose number of elements is the number of rows. */
static void read_given(lua_State *L, const crescent_model *model, int index, bool ragged,
                       int32_t *const *lengths)
{
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++) {
        crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, i);
        if (!lengths[i] || (port.rank > 0) != ragged)
            continue;
        push_given(L, index, &port);
        memset(lengths[i], 0, (size_t)crescent_port_elements(&port) * sizeof(int32_t));
        bool given = !lua_isnil(L, -1);
        if (given && ragged) {
            read_array(L, model, &port, lengths);
            port.shape[0] = rows_of(&port, lengths);
        }
        if (given)
            memcpy(lengths[i], cr_lua_take_tensor(L, -1, &port, port.name)->data,
                   (size_t)crescent_port_elements(&port) * sizeof(int32_t));
        lua_pop(L, given ? 2 : 1);
    }
}

/* Takes the lengths that the caller gave first, then those from the sizes of arrays. */
void cr_lua_take_lengths(lua_State *L, const crescent_model *model, int index, void *const *inputs)
{
    int32_t *const *lengths = (int32_t *const *)inputs;
    int n = crescent_port_count(model, CRESCENT_INPUT);
    read_given(L, model, index, false, lengths);
    read_given(L, model, index, true, lengths);
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, i);
        push_given(L, index, &port);
        if (!inputs[i])
            read_array(L, model, &port, lengths);
        lua_pop(L, 1);
    }
    for (int i = 0; i < n; i++)
        if (inputs[i] && lengths[i][0] == 0)
            cr_lua_fail(L, "input %.150s: found nothing that gives the length, expected a number",
                        cr_lua_port(L, model, CRESCENT_INPUT, i).name);
}

/* True if a value has the sizes of the bounds, so that its elements need not be moved. */
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
    crescent_unpack(&port, &sized, sizeof(float), from->data, t->data);
    lua_remove(L, -2);
    return t;
}
