/*
 * tensor.h - crescent.tensor: numbers with a shape, row-major, in memory that rows share with the
 * tensor they are of, or that belongs to the host.
 */
#ifndef CR_LUA_TENSOR_H
#define CR_LUA_TENSOR_H

#include "object.h"

struct cr_lua_storage;

struct cr_lua_tensor {
    struct cr_lua_storage *storage; /* shared; null before there is memory */
    void *data;                     /* float, or int32_t of type CRESCENT_I32 */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
};

/* The class, and the functions of the module, into the table on top of the stack. */
void cr_lua_add_tensors(lua_State *L);

/* Pushes a tensor of the port's type and shape; its numbers are anything. */
struct cr_lua_tensor *cr_lua_new_tensor(lua_State *L, const crescent_port *port);

/*
 * Pushes a tensor of the port's type and shape that has the numbers of the value at `index`: the
 * value itself if that is such a tensor, else one that is made of a tensor of another type, a table, a
 * string of bytes or a number.  `what` names it in errors.
 */
struct cr_lua_tensor *cr_lua_take_tensor(lua_State *L, int index, const crescent_port *port,
                                         const char *what);

/* The sizes that a tensor, or a table with tables in it, has along `rank` axes; 0 for other values, and for a
 * flat table of several axes. */
int cr_lua_sizes_of(lua_State *L, int index, int rank, int64_t *sizes);

/* Pushes a shape as a table. */
void cr_lua_push_shape(lua_State *L, int rank, const int64_t *shape);

#endif
