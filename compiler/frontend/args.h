/*
 * args.h - arguments: what a script hands to a function of the language, checked.
 *
 * `op` is the function's name and `what` the argument's; messages read "sum: axis: ...".
 */
#ifndef CR_ARGS_H
#define CR_ARGS_H

#include "script_state.h"

const char *cr_type_name(lua_State *L, int index);
void cr_arg_count(lua_State *L, const char *op, int least, int most);
cr_id cr_arg_tensor(lua_State *L, int index, const char *op);

/* The tensors of a list, in memory that Lua frees and leaves on the stack; `least` or more. */
cr_id *cr_arg_tensors(lua_State *L, int index, const char *op, int least, int *n);

const char *cr_arg_string(lua_State *L, int index, const char *op, const char *what);

/* A name: letters, digits, "_", "-" and "."; at most CR_NAME_MAX bytes.  In a dump a colon, too:
 * names that the compiler made have one. */
const char *cr_arg_name(lua_State *L, int index, const char *op, const char *what);
void cr_check_name(lua_State *L, const char *name, const char *op, const char *what);

int64_t cr_arg_integer(lua_State *L, int index, const char *op, const char *what);
double cr_arg_number(lua_State *L, int index, const char *op, const char *what);
enum cr_dtype cr_arg_dtype(lua_State *L, int index, const char *op);

/* An axis from 1, or negative from the end; the result counts from 0. */
int cr_arg_axis(lua_State *L, int index, const char *op, int rank);

/* How many entries the table has, more than `most` counting as most + 1. */
int cr_count_entries(lua_State *L, int index, int most);

/* A list of at most CR_MAX_RANK whole numbers; how many. */
int cr_arg_list(lua_State *L, int index, const char *op, const char *what, int64_t *list);

/* The same for a shape.  A length counts as its bound; lengths[i] is 1 + the number of the
 * length at item i, or 0. If `lengths` is null, a length is refused. */
int cr_arg_sizes(lua_State *L, int index, const char *op, const char *what, int64_t *list,
                 signed char *lengths);

#endif
