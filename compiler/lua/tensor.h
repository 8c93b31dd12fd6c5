/*
 * tensor.h - crescent.tensor: row-major tensors.  A tensor shares its memory with its rows, and
 * may use memory of the host.
 */
#ifndef CR_LUA_TENSOR_H
#define CR_LUA_TENSOR_H

#include "object.h"

struct cr_lua_storage;

struct cr_lua_tensor {
    struct cr_lua_storage *storage; /* the shared memory; null: none yet */
    void *data;                     /* int32_t for CRESCENT_I32, else float */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
};

/* Adds the class of tensors, and the function crescent.tensor to the table on top of the stack. */
void cr_lua_add_tensors(lua_State *L);

/* Pushes a new, uninitialised tensor with the type and shape of a port. */
struct cr_lua_tensor *cr_lua_new_tensor(lua_State *L, const crescent_port *port);

/*
 * Pushes a tensor with the type and shape of a port and the numbers of the value at `index`.  If
 * the value is such a tensor, pushes the value itself; else converts a tensor of another type, a
 * table, a string of bytes or a number.  Error messages call the tensor `what`.
 */
struct cr_lua_tensor *cr_lua_take_tensor(lua_State *L, int index, const crescent_port *port,
                                         const char *what);

/* Writes the sizes of a tensor, or of nested tables, along `rank` axes.  Returns 0 for other
 * values, and for a flat table if `rank` is more than 1. */
int cr_lua_sizes_of(lua_State *L, int index, int rank, int64_t *sizes);

/* Pushes a shape as a table. */
void cr_lua_push_shape(lua_State *L, int rank, const int64_t *shape);

#endif
