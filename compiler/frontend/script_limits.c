/*
 * script_limits.c - limits the time, the instructions and the memory of a script; see
 * script_limits.h.
 *
 * Lua calls a hook between instructions, but never inside a C function.  So that the limit of
 * time holds everywhere, the clock is read:
 * - by the hook, the more often the larger the largest block of memory is, since one instruction
 *   may copy or compare a whole block;
 * - by the allocator, after a number of allocated bytes;
 * - by functions of the language that can take long for small blocks: they report their work by
 *   cr_work.
 */
#include "script_limits.h"

#include <stdio.h>
#include <time.h>

#include "script_errors.h"
#include "script_state.h"

enum {
    MOST_PERIOD = 1000,     /* maximum number of instructions between two calls of the hook */
    PERIOD_BYTES = 4 << 20, /* maximum product of the hook's period and the bytes of the largest
                             * block */
    CHECK_WORK = 1024,      /* units of cr_work between two reads of the clock */
    BYTES_OF_WORK = 64,     /* allocated bytes that count as one unit of cr_work */
    CHECK_EVERY = 2000000,  /* nanoseconds of wall time between two reads of the processor time */
    WALL_EXCESS = 50,       /* seconds by which wall time may exceed the limit of processor time */
    BLOCK_BYTES = 16,       /* malloc's overhead for a block */
#if LUA_VERSION_NUM == 503
    NODE_BYTES = 32, /* size of an entry in the hash part of a Lua table */
#elif LUA_VERSION_NUM < 503 && !defined CR_LUAJIT
    NODE_BYTES = 40,
#else
    NODE_BYTES = 24,
#endif
    MANY_NODES = 4096,       /* a table of this size is filled in a fraction of a second, whatever
                              * its keys are */
    MOST_NODES = 1 << 16,    /* maximum number of entries of a script's table */
    MOST_CALLS = 120,        /* maximum nesting of Lua calls from C; Lua 5.4 allows 200 */
    GARBAGE_BYTES = 2 << 20, /* memory from which on the garbage collector runs */
    MESSAGE_BYTES = 1 << 16, /* maximum number of bytes that reporting an error may allocate */
    MAX_STRING_BYTES = CR_MAX_STRING + 64, /* a string with Lua's header */
};

const struct cr_limits cr_default_limits = {
    .memory = 256 << 20, .seconds = 10, .instructions = 200000000};

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the processor time used by the script so far, in nanoseconds. */
static double time_used(const struct cr_run *run)
{
    return (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - run->started);
}

/* True if the time limit is exceeded, either by processor time or by wall time, for which it is
 * 50 seconds longer, since the machine may be busy.  Reading processor time costs a system call,
 * so it is read only if the cheap wall clock has advanced. */
static bool is_late(struct cr_run *run)
{
    int64_t now = nanoseconds(CLOCK_MONOTONIC_COARSE);
    run->work = 0;
    if (now - run->looked < CHECK_EVERY)
        return false;
    run->looked = now;
    double most = run->limits.seconds * 1e9;
    return time_used(run) > most || (double)(now - run->opened) > most + WALL_EXCESS * 1e9;
}

/* Returns the bytes used by Lua and by the graph: nodes, operands, outputs and interned texts. */
static size_t memory_used(const struct cr_run *run)
{
    return run->memory + (run->graph ? cr_graph_bytes(run->graph) : 0);
}

static void note_time(struct cr_run *run)
{
    snprintf(run->passed, sizeof run->passed, "%g seconds", run->limits.seconds);
}

/* Stops the script because a limit was exceeded: no further instruction of it runs. */
static _Noreturn void stop(lua_State *L, struct cr_run *run)
{
    run->stopping = true;
    run->period = 1;
    cr_watch(L, run);
    cr_raise(L, "the script takes more than %s, expected less", run->passed);
}

/* Records the running line when memory is refused, since Lua calls no message handler then.  A
 * later refusal replaces it: Lua may collect garbage and try again. */
static void *refuse(struct cr_run *run)
{
    struct cr_line user = {NULL, 0}, inner;
    if (run->L)
        cr_find_lines(run->L, run, &user, &inner);
    if (user.path)
        run->refused_at = user;
    return NULL;
}

/* Returns the number of entries of the hash part of a table with this size in bytes; 0 if no hash
 * part has this size. */
static size_t nodes_of(size_t size)
{
    size_t nodes = size / NODE_BYTES;
    return nodes * NODE_BYTES == size && (nodes & (nodes - 1)) == 0 ? nodes : 0;
}

/* True if a block of this size is the hash part of a table and too large.  A script can choose
 * keys that all fall into one hash chain; filling the table then takes time quadratic in the
 * number of keys, within one instruction.  A step along a chain takes about a nanosecond. */
static bool is_long_table(struct cr_run *run, size_t size)
{
    double nodes = (double)nodes_of(size), slack = 2e9;
    if (run->trusted || nodes <= MANY_NODES)
        return false;
    if (nodes > MOST_NODES)
        snprintf(run->passed, sizeof run->passed, "%d entries for a table, those of a list aside",
                 MOST_NODES);
    else if (time_used(run) + nodes * nodes > run->limits.seconds * 1e9 + slack)
        note_time(run);
    return *run->passed;
}

/* True if the block is a string and too long.  Before Lua 5.2 the allocator does not know the
 * type of a new object, but there comparing strings is fast. */
static bool is_long_string(struct cr_run *run, size_t kind, size_t size)
{
#if LUA_VERSION_NUM >= 502
    if (kind != LUA_TSTRING || size <= MAX_STRING_BYTES)
        return false;
    snprintf(run->passed, sizeof run->passed, "%d MB for a string", CR_MAX_STRING >> 20);
    return true;
#else
    (void)run, (void)kind, (void)size;
    return false;
#endif
}

/* True if a block may be allocated or grow to `size` bytes; `kind` is the Lua type of a new
 * block, `had` the old size. */
static bool may_grow(struct cr_run *run, bool is_new, size_t kind, size_t size, size_t had)
{
    if (run->stopping) /* building the message of an error */
        return size <= MESSAGE_BYTES;
    if (*run->passed || (is_new && is_long_string(run, kind, size)) ||
        (is_new && kind == 0 && is_long_table(run, size)))
        return false;
    run->work += size / BYTES_OF_WORK + 1;
    if (run->work >= CHECK_WORK && is_late(run)) {
        note_time(run);
        return false;
    }
    size_t used = memory_used(run);
    return used <= run->limits.memory && size - had <= run->limits.memory - used;
}

/* Shortens the hook's period if a block is so large that one instruction on it can take long. */
static void watch_closer(struct cr_run *run, size_t size)
{
    if (size <= run->largest)
        return;
    run->largest = 2 * size;
    size_t period = PERIOD_BYTES / size;
    run->period = period < 1 ? 1 : period > MOST_PERIOD ? MOST_PERIOD : (int)period;
    if (run->watched)
        cr_watch(run->L, run);
}

/* Lua's allocator (lua_Alloc).  If `block` is null, `old` is not a size but the type of the new
 * object. */
void *cr_allocate(void *data, void *block, size_t old, size_t size)
{
    struct cr_run *run = data;
    size_t had = block ? old : 0;
    if (size == 0) {
        cr_heap_resize(&run->heap, block, had, 0);
        run->memory -= block ? had + BLOCK_BYTES : 0;
        return NULL;
    }
    if (size > had && !may_grow(run, !block, old, size, had))
        return refuse(run);
    void *moved = cr_heap_resize(&run->heap, block, had, size);
    if (!moved)
        return NULL;
    run->memory += size - had + (block ? 0 : BLOCK_BYTES);
    watch_closer(run, size);
    return moved;
}

void cr_check_time(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    if (!*run->passed && is_late(run))
        note_time(run);
    if (*run->passed)
        stop(L, run);
}

void cr_work(lua_State *L, size_t units)
{
    struct cr_run *run = cr_run_of(L);
    run->work += units;
    if (run->work >= CHECK_WORK)
        cr_check_time(L);
}

void cr_check_memory(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    if (memory_used(run) <= run->limits.memory)
        return;
    cr_note_memory(run);
    stop(L, run);
}

/* Starts the garbage collector once the script uses enough memory to make a collection worth its
 * time. */
static void collect_garbage(lua_State *L, struct cr_run *run)
{
    if (run->collects || (run->memory > 0 && run->memory < GARBAGE_BYTES))
        return;
    run->collects = true;
    lua_gc(L, LUA_GCRESTART, 0);
}

/* The hook: counts instructions and checks the limits; also the memory, if Lua did not accept the
 * allocator. */
static void count_instructions(lua_State *L, lua_Debug *frame)
{
    (void)frame;
    struct cr_run *run = cr_run_of(L);
    run->instructions += run->period;
    bool counted = run->memory > 0;
    collect_garbage(L, run);
    if (run->instructions > run->limits.instructions)
        snprintf(run->passed, sizeof run->passed, "%g million instructions",
                 (double)run->limits.instructions * 1e-6);
    else if (!counted && (size_t)lua_gc(L, LUA_GCCOUNT, 0) >= run->limits.memory >> 10)
        cr_note_memory(run);
    cr_check_time(L);
}

void cr_watch(lua_State *L, struct cr_run *run)
{
    if (run->hosted) /* no hook is set: the host may have its own */
        return;
    run->watched = true;
    lua_sethook(L, count_instructions, LUA_MASKCOUNT, run->period);
}

void cr_start_limits(struct cr_run *run)
{
    run->started = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    run->opened = nanoseconds(CLOCK_MONOTONIC_COARSE);
    run->period = MOST_PERIOD;
    run->largest = PERIOD_BYTES / MOST_PERIOD;
}

/* Counts one more nested call from C.  An error does not undo this, since it ends the script.  A
 * hosted run has only Lua's own limit. */
void cr_enter(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    if (!run->hosted && ++run->n_calls > MOST_CALLS)
        cr_raise(L, "stack overflow: functions of the language are nested too deep, expected at "
                 "most %d levels", MOST_CALLS);
}

void cr_leave(lua_State *L)
{
    cr_run_of(L)->n_calls--;
}

void cr_call(lua_State *L, int n_arguments, int n_results)
{
    cr_enter(L);
    lua_call(L, n_arguments, n_results);
    cr_leave(L);
}

void cr_set_own_field(lua_State *L, int index, const char *name)
{
    struct cr_run *run = cr_run_of(L);
    run->trusted = true;
    lua_setfield(L, index, name);
    run->trusted = false;
}
