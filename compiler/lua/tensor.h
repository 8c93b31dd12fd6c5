/*
 * tensor.h - crescent.tensor: row-major tensors.  Their memory is shared with views of rows, or
 * belongs to the host.
 */
#ifndef CR_LUA_TENSOR_H
#define CR_LUA_TENSOR_H

#include "object.h"

struct cr_lua_storage;

struct cr_lua_tensor {
    struct cr_lua_storage *storage; /* shared; null: no memory yet */
    void *data;                     /* int32_t for CRESCENT_I32, else float */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
};

/* Adds the class, and the function crescent.tensor to the table on top of the stack. */
void cr_lua_add_tensors(lua_State *L);

/* Pushes an uninitialised tensor of the port's type and shape. */
struct cr_lua_tensor *cr_lua_new_tensor(lua_State *L, const crescent_port *port);

/*
 * Pushes a tensor of the port's type and shape with the numbers of the value at `index`.  It is the
 * value itself if that is such a tensor, else it is converted from a tensor of another type, a
 * table, a string of bytes or a number.  `what` names it in errors.
 */
struct cr_lua_tensor *cr_lua_take_tensor(lua_State *L, int index, const crescent_port *port,
                                         const char *what);

/* Returns the sizes of a tensor or of nested tables along `rank` axes.  Returns 0 for other
 * values, and for a flat table if there are several axes. */
int cr_lua_sizes_of(lua_State *L, int index, int rank, int64_t *sizes);

/* Pushes a shape as a table. */
void cr_lua_push_shape(lua_State *L, int rank, const int64_t *shape);

#endif
