/* script_limits.h - limits the time, the instructions and the memory of a script. */
#ifndef CR_SCRIPT_LIMITS_H
#define CR_SCRIPT_LIMITS_H

#include "script_state.h"

enum {
    CR_MAX_STRING = 1 << 20, /* maximum number of bytes of a string */
    CR_WORK_OF_NEXT = 64,    /* units of cr_work that one step of lua_next counts */
};

/* Lua's allocator (lua_Alloc); `data` is the run. */
void *cr_allocate(void *data, void *block, size_t old, size_t size);

void cr_start_limits(struct cr_run *run);

/* Sets the hook that counts instructions and checks the limits. */
void cr_watch(lua_State *L, struct cr_run *run);

/* Raises an error if the time limit is exceeded.  Called by C functions of which a single call
 * can take long. */
void cr_check_time(lua_State *L);

/* Counts work of C functions towards the time limit, and reads the clock now and then.  A unit is
 * at most a microsecond of work, such as some table accesses or 64 bytes. */
void cr_work(lua_State *L, size_t units);

/* Raises an error if the graph and Lua together use too much memory. */
void cr_check_memory(lua_State *L);

/* Does lua_call for functions of the language.  Raises an error if calls nest too deep, since
 * each uses C stack. */
void cr_call(lua_State *L, int n_arguments, int n_results);

/* Begin and end a level of nesting, as cr_call does, in functions that run Lua code without
 * lua_call. */
void cr_enter(lua_State *L);
void cr_leave(lua_State *L);

/* Does lua_setfield on a table that the front end fills with names as keys.  Such a table may
 * become larger than a script's tables may. */
void cr_set_own_field(lua_State *L, int index, const char *name);

#endif
