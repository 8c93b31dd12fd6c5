/*
 * args.h - checks the arguments that a script passes to a function of the language.
 *
 * `op` is the function's name and `what` the argument's name, for messages: "sum: axis: ...".
 */
#ifndef CR_ARGS_H
#define CR_ARGS_H

#include "script_state.h"

const char *cr_type_name(lua_State *L, int index);
void cr_arg_count(lua_State *L, const char *op, int least, int most);
cr_id cr_arg_tensor(lua_State *L, int index, const char *op);

/* Returns the tensors of a list, `least` or more of them, and sets *n to their number.  The array
 * is a userdata that is left on the stack. */
cr_id *cr_arg_tensors(lua_State *L, int index, const char *op, int least, int *n);

const char *cr_arg_string(lua_State *L, int index, const char *op, const char *what);

/* Read or check a name: at most CR_NAME_MAX letters, digits, "_", "-" and "."; in a printed graph
 * also ":", which occurs in names that the compiler made. */
const char *cr_arg_name(lua_State *L, int index, const char *op, const char *what);
void cr_check_name(lua_State *L, const char *name, const char *op, const char *what);

int64_t cr_arg_integer(lua_State *L, int index, const char *op, const char *what);
double cr_arg_number(lua_State *L, int index, const char *op, const char *what);
enum cr_dtype cr_arg_dtype(lua_State *L, int index, const char *op);

/* Returns an axis, counted from 0.  A script counts axes from 1, or backwards from -1, the last
 * axis. */
int cr_arg_axis(lua_State *L, int index, const char *op, int rank);

/* Returns the number of entries of a table; most + 1 if it has more than `most`. */
int cr_count_entries(lua_State *L, int index, int most);

/* Reads a list of at most CR_MAX_RANK whole numbers; returns its length. */
int cr_arg_list(lua_State *L, int index, const char *op, const char *what, int64_t *list);

/* Returns the index of the length that is on top of the stack; CR_NONE for any other value. */
int cr_length_on_top(lua_State *L);

/* Reads a shape as cr_arg_list does; returns its rank.  A length counts as its bound; lengths[i]
 * is 1 + the index of the length that is item i, or 0.  If `lengths` is null, a length is an
 * error. */
int cr_arg_sizes(lua_State *L, int index, const char *op, const char *what, int64_t *list,
                 signed char *lengths);

#endif
