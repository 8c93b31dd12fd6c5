/* limits.h - the time, the instructions and the memory that a script may take. */
#ifndef CR_LIMITS_H
#define CR_LIMITS_H

#include "script_state.h"

enum {
    CR_MAX_STRING = 1 << 20, /* bytes of a string */
    CR_WORK_OF_NEXT = 64,    /* units of cr_work for a step of lua_next */
};

/* Lua's allocator; its data is the run. */
void *cr_allocate(void *data, void *block, size_t old, size_t size);

void cr_start_limits(struct cr_run *run);

/* Sets the hook that counts the instructions of the state. */
void cr_watch(lua_State *L, struct cr_run *run);

/* Raises if the time is over.  For functions whose single call can take long. */
void cr_look(lua_State *L);

/* Counts work that no instruction of Lua stands for, and looks at the clock now and then.  A
 * unit is a microsecond at most: some table accesses, or 64 bytes. */
void cr_work(lua_State *L, size_t units);

/* Raises if graph and Lua together hold too much memory. */
void cr_check_memory(lua_State *L);

/* lua_call for functions of the language, which may nest only so deep: each takes C's stack. */
void cr_call(lua_State *L, int n_arguments, int n_results);

/* The same for what calls back without lua_call. */
void cr_enter(lua_State *L);
void cr_leave(lua_State *L);

/* lua_setfield on a table of the front end's own, whose keys are names: it may grow larger than
 * those of scripts. */
void cr_set_own_field(lua_State *L, int index, const char *name);

#endif
