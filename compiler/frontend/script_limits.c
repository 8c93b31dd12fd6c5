/*
 * script_limits.c - limits the time, the instructions and the memory of a script; see
 * script_limits.h.
 *
 * Lua calls a hook between instructions and never inside a C function.  To enforce the limit of
 * time nevertheless, the clock is read
 *   - by the hook, whose period is shorter the larger the largest block of memory is: one
 *     instruction may copy or compare all of a block;
 *   - by the allocator, after a number of bytes;
 *   - by functions of the language whose work does not depend on one block: they report
 *     it by cr_work.
 */
#include "script_limits.h"

#include <stdio.h>
#include <time.h>

#include "script_errors.h"
#include "script_state.h"

enum {
    MOST_PERIOD = 1000,     /* the most instructions between two calls of the hook */
    PERIOD_BYTES = 4 << 20, /* limit of the period times the largest block's size */
    CHECK_WORK = 1024,      /* units of cr_work between two checks of the clock */
    BYTES_OF_WORK = 64,     /* bytes allocated that count as a unit of cr_work */
    CHECK_EVERY = 2000000,  /* nanoseconds between two reads of the processor time */
    WALL_EXCESS = 50,       /* seconds of wall time in excess of processor time */
    BLOCK_BYTES = 16,       /* overhead of a block in malloc */
#if LUA_VERSION_NUM == 503
    NODE_BYTES = 32, /* size of an entry in the hash part of a Lua table */
#elif LUA_VERSION_NUM < 503 && !defined CR_LUAJIT
    NODE_BYTES = 40,
#else
    NODE_BYTES = 24,
#endif
    MANY_NODES = 4096,       /* filled within a fraction of a second, whatever the keys */
    MOST_NODES = 1 << 16,    /* the most entries of a script's table */
    MOST_CALLS = 120,        /* nesting of Lua calls from C; Lua 5.4 has room for 200 */
    GARBAGE_BYTES = 2 << 20, /* memory from which on garbage is collected */
    MESSAGE_BYTES = 1 << 16, /* the most that reporting an error may allocate */
    MAX_STRING_BYTES = CR_MAX_STRING + 64, /* including Lua's header */
};

const struct cr_limits cr_default_limits = {
    .memory = 256 << 20, .seconds = 10, .instructions = 200000000};

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the processor time of the script, in nanoseconds. */
static double time_used(const struct cr_run *run)
{
    return (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - run->started);
}

/* True if the time limit is exceeded: processor time, or wall time, of which a script gets 50
 * seconds more, since the machine may be busy.  Reading processor time costs a system call, so
 * it is read only if the cheap clock has advanced. */
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

/* Returns the memory of Lua and of the graph: nodes, operands, outputs and texts. */
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

/* Records the line that asked for too much memory, since Lua calls no handler then.  The last one
 * counts: Lua may collect garbage and try again. */
static void *refuse(struct cr_run *run)
{
    struct cr_line user = {NULL, 0}, inner;
    if (run->L)
        cr_find_lines(run->L, run, &user, &inner);
    if (user.path)
        run->refused_at = user;
    return NULL;
}

/* Returns the number of entries of a hash part of this size in bytes, or 0 if the size is not one
 * of a hash part. */
static size_t nodes_of(size_t size)
{
    size_t nodes = size / NODE_BYTES;
    return nodes * NODE_BYTES == size && (nodes & (nodes - 1)) == 0 ? nodes : 0;
}

/* True if the block is the hash part of a table that is too large.  A script knows how numbers are
 * hashed and may put all keys into one chain.  Then filling takes time quadratic in their number,
 * within one instruction.  A step in a chain takes about a nanosecond. */
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

/* True if the block is a string that is too long.  Only since Lua 5.2 does the allocator know what
 * a new block is for, and only there are comparisons of strings slow. */
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

/* True if a block may grow; `kind` is the type of a new one. */
static bool may_grow(struct cr_run *run, bool is_new, size_t kind, size_t size, size_t had)
{
    if (run->stopping) /* an error with a message is being raised */
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

/* Shortens the hook's period if a block is so large that one instruction can take long. */
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

/* Allocates memory for Lua: a lua_Alloc.  If `block` is null, `old` is no size but the type of the new object. */
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

/* Starts the garbage collector if there is enough memory to make it worth the time. */
static void collect_garbage(lua_State *L, struct cr_run *run)
{
    if (run->collects || (run->memory > 0 && run->memory < GARBAGE_BYTES))
        return;
    run->collects = true;
    lua_gc(L, LUA_GCRESTART, 0);
}

/* The hook.  If Lua did not accept the allocator, it also checks the memory. */
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
    if (run->hosted) /* the program may have its own hook */
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

/* Counts a nested call.  An error does not undo this, since it ends the script.  In a hosted run
 * Lua's own limit applies. */
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
