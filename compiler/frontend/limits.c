/*
 * Limits: the time, the instructions and the memory that a script may take.
 *
 * Lua calls a hook between instructions and never inside a C function.  So that the limit of
 * time holds nevertheless, the clock is read
 *   - by the hook, whose period is shorter the larger the largest block of memory is: one
 *     instruction may copy or compare all of a block;
 *   - by the allocator, after each so many bytes;
 *   - by functions of the language whose work is not in proportion to one block: they report
 *     it by cr_work.
 */
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "blame.h"
#include "script_state.h"

enum {
    MOST_PERIOD = 1000,      /* instructions between two calls of the hook */
    PERIOD_BYTES = 4 << 20,  /* the product of the period and the largest block */
    LOOK_WORK = 1024,        /* units of cr_work between two looks at the clock */
    BYTES_OF_WORK = 64,      /* that the allocator hands out, as a unit */
    LOOK_EVERY = 2000000,    /* nanoseconds: processor time is asked for at most so often */
    PATIENCE = 2,            /* seconds that may pass besides those of processor time */
    BLOCK_BYTES = 16,        /* that malloc takes for itself */
#if LUA_VERSION_NUM == 503
    NODE_BYTES = 32, /* an entry of a Lua table's hash part */
#elif LUA_VERSION_NUM < 503 && !defined CR_LUAJIT
    NODE_BYTES = 40,
#else
    NODE_BYTES = 24,
#endif
    MANY_NODES = 4096,       /* filled within a fraction of a second, whatever the keys are */
    MOST_NODES = 1 << 16,    /* of a table that a script makes */
    MOST_CALLS = 120,        /* of Lua from C within each other; Lua 5.4 has room for 200 */
    MESSAGE_BYTES = 1 << 16, /* that stopping may take */
    MAX_STRING_BYTES = CR_MAX_STRING + 64, /* with Lua's header */
};

const struct cr_limits cr_default_limits = {
    .memory = 256 << 20, .seconds = 10, .instructions = 200000000};

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Processor time of the script, in nanoseconds. */
static double time_used(const struct cr_run *run)
{
    return (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - run->started);
}

/* True if the time is over: processor time, or two seconds more by the clock on the wall, which
 * counts where the machine has other work.  Processor time costs a call of the system, so it is
 * read only if the other clock, which is never slower, has moved on. */
static bool is_late(struct cr_run *run)
{
    int64_t now = nanoseconds(CLOCK_MONOTONIC_COARSE);
    run->work = 0;
    if (now - run->looked < LOOK_EVERY)
        return false;
    run->looked = now;
    double most = run->limits.seconds * 1e9;
    return time_used(run) > most || (double)(now - run->opened) > most + PATIENCE * 1e9;
}

/* The graph's memory counts, too: nodes, operands, outputs and texts. */
static size_t memory_used(const struct cr_run *run)
{
    return run->memory + (run->graph ? cr_graph_bytes(run->graph) : 0);
}

static void note_time(struct cr_run *run)
{
    snprintf(run->passed, sizeof run->passed, "%g seconds", run->limits.seconds);
}

/* Once a limit is passed no further instruction of the script runs. */
static _Noreturn void stop(lua_State *L, struct cr_run *run)
{
    run->stopping = true;
    run->period = 1;
    cr_watch(L, run);
    cr_raise(L, "the script takes more than %s", run->passed);
}

/* Notes the line that asked for too much, since Lua calls no handler when memory runs out.  The
 * last one counts: Lua may collect garbage and ask again. */
static void *refuse(struct cr_run *run)
{
    struct cr_line user = {NULL, 0}, inner;
    if (run->L)
        cr_find_lines(run->L, run, &user, &inner);
    if (user.path)
        run->refused_at = user;
    return NULL;
}

/* The number of entries of a hash part of that size in bytes; 0 if it is none. */
static size_t nodes_of(size_t size)
{
    size_t nodes = size / NODE_BYTES;
    return nodes * NODE_BYTES == size && (nodes & (nodes - 1)) == 0 ? nodes : 0;
}

/* True if the block is the hash part of a table that is too large.  All its keys may share one
 * chain, as scripts know how numbers are hashed; then filling it takes a time in the square of
 * their number, within one instruction.  A step of a chain takes about a nanosecond. */
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

/* True if the block is a string that is too long.  Only one Lua tells its allocator what a new
 * block is for, and only that one takes long to compare strings. */
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

/* True if a block may grow; `kind` is what a new one is for. */
static bool may_grow(struct cr_run *run, bool is_new, size_t kind, size_t size, size_t had)
{
    if (run->stopping) /* by an error with a message */
        return size <= MESSAGE_BYTES;
    if (*run->passed || (is_new && is_long_string(run, kind, size)) ||
        (is_new && kind == 0 && is_long_table(run, size)))
        return false;
    run->work += size / BYTES_OF_WORK + 1;
    if (run->work >= LOOK_WORK && is_late(run)) {
        note_time(run);
        return false;
    }
    size_t used = memory_used(run);
    return used <= run->limits.memory && size - had <= run->limits.memory - used;
}

/* Calls the hook more often once a block is so large that one instruction can take long. */
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

/* Lua's allocator; `old` is no size but a kind when there is no block yet. */
void *cr_allocate(void *data, void *block, size_t old, size_t size)
{
    struct cr_run *run = data;
    size_t had = block ? old : 0;
    if (size == 0) {
        free(block);
        run->memory -= block ? had + BLOCK_BYTES : 0;
        return NULL;
    }
    if (size > had && !may_grow(run, !block, old, size, had))
        return refuse(run);
    void *moved = realloc(block, size);
    if (!moved)
        return NULL;
    run->memory += size - had + (block ? 0 : BLOCK_BYTES);
    watch_closer(run, size);
    return moved;
}

void cr_look(lua_State *L)
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
    if (run->work >= LOOK_WORK)
        cr_look(L);
}

void cr_check_memory(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    if (memory_used(run) <= run->limits.memory)
        return;
    cr_note_memory(run);
    stop(L, run);
}

/* The hook.  Where Lua takes no allocator, it looks at the memory, too. */
static void count_instructions(lua_State *L, lua_Debug *frame)
{
    (void)frame;
    struct cr_run *run = cr_run_of(L);
    run->instructions += run->period;
    bool counted = run->memory > 0;
    if (run->instructions > run->limits.instructions)
        snprintf(run->passed, sizeof run->passed, "%g million instructions",
                 (double)run->limits.instructions * 1e-6);
    else if (!counted && (size_t)lua_gc(L, LUA_GCCOUNT, 0) >= run->limits.memory >> 10)
        cr_note_memory(run);
    cr_look(L);
}

void cr_watch(lua_State *L, struct cr_run *run)
{
    if (run->hosted) /* the program may have a hook of its own */
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

/* Not counted down after an error: it ends the script.  In a hosted run Lua's own bound holds. */
void cr_enter(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    if (!run->hosted && ++run->n_calls > MOST_CALLS)
        cr_raise(L, "stack overflow: functions of the language call each other more than %d deep",
                 MOST_CALLS);
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
