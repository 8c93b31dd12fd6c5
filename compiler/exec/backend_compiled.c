/* backend_compiled.c - the code that all compiling backends share: everything except calling the
 * compiler; see backends.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "engine_parts.h"
#include "join_ranks.h"
#include "tensor_memory.h"

/* Makes the engine's program from a graph, which the call frees. */
static int make_program(struct cr_engine *e, struct cr_graph *graph,
                        const struct cr_engine_options *o, struct cr_error *error)
{
    const struct cr_pass_options passes = {.settings = o->settings,
                                           .stored = o->keep_stored ? &e->stored : NULL};
    struct cr_stages stages;
    e->program = cr_make_program(graph, &passes, &stages, error);
    e->passes_ns = stages.passes_ns;
    e->emit_ns = stages.emit_ns;
    return e->program ? 0 : -1;
}

/* Makes the states as small as the program's: if several ranks share the model, this rank's
 * part. */
static void take_states(struct cr_engine *e)
{
    const struct cr_program *p = e->program;
    for (int i = 0; i < p->n_inputs; i++) {
        int state = p->inputs[i].state ? cr_port_find(e->states, e->n_states, p->inputs[i].name) : CR_NONE;
        if (state != CR_NONE)
            memcpy(e->states[state].shape, p->inputs[i].shape, sizeof p->inputs[i].shape);
    }
}

/* True if a run touches little of the arena: each length in these inputs, which are in the
 * program's order, is a small share of its bound. */
static bool is_short(const struct cr_program *p, const void *const *inputs)
{
    enum { SHARE = 16 };
    for (int i = 0; i < p->n_lengths; i++) {
        const int32_t *length = inputs[p->input_of_length[i]];
        if (p->lengths[i].batch || !length || *length > p->lengths[i].bound / SHARE)
            return false;
    }
    return p->n_lengths > 0;
}

/* Gives the arena large pages before the first run that is not short.  With large pages from the
 * start, a process that encodes only short texts would use all of the arena's memory and wait for
 * it. */
static void choose_pages(struct cr_engine *e)
{
    const struct cr_program *p = e->program;
    if (e->has_large_pages || is_short(p, e->program_inputs))
        return;
    cr_memory_use_large_pages(e->arena, p->arena_bytes + p->scratch_bytes * e->threads);
    e->has_large_pages = true;
}

/* Allocates the weights, the arena and the states. */
static int make_room(struct cr_engine *e, struct cr_error *error)
{
    const struct cr_program *p = e->program;
    int64_t scratch;
    if (__builtin_mul_overflow(p->scratch_bytes, (int64_t)e->threads, &scratch))
        return cr_fail(error, "%s: %d threads need too much memory, expected fewer", e->path,
                       e->threads);
    int64_t arena = p->arena_bytes + scratch;
    if (cr_engine_check_memory(e, p->weights_bytes, arena, error))
        return -1;
    e->weights = cr_memory_new(p->weights_bytes, "the weights", error);
    e->arena = e->weights ? cr_memory_new_small(arena, "the arena", error) : NULL;
    if (!e->arena)
        return -1;
    e->program_outputs = cr_calloc((size_t)p->n_outputs, sizeof *e->program_outputs);
    return cr_engine_make_states(e, error);
}

int cr_open_compiled(struct cr_engine *e, struct cr_graph *graph,
                     const struct cr_engine_options *o, struct cr_error *error)
{
    if (make_program(e, graph, o, error))
        return -1;
    take_states(e);
    if (make_room(e, error))
        return -1;
    cr_engine_match_program(e);
    return 0;
}

/* Calls the compiled function of an entry; if the program has exchanges, with the ranks as an
 * additional last argument. */
static int execute(const struct cr_engine *e, int entry)
{
    cr_execute *code = e->code.execute[entry];
    cr_execute_on_ranks *on_ranks = NULL;
    memcpy(&on_ranks, &code, sizeof on_ranks);
    if (cr_exchanges(e->program))
        return on_ranks(e->rt, e->pool, e->weights, e->program_inputs, e->program_outputs, e->arena, e->ranks);
    return code(e->rt, e->pool, e->weights, e->program_inputs, e->program_outputs, e->arena);
}

/* Runs an entry.  Pointers to inputs and outputs that the entry does not use may be null. */
int cr_run_compiled(struct cr_engine *e, int entry, const void *const *inputs,
                    void *const *outputs, struct cr_error *error)
{
    const struct cr_program *p = e->program;
    cr_engine_gather_inputs(e, inputs);
    for (int i = 0; i < p->n_outputs; i++)
        e->program_outputs[i] = outputs[e->to_output[i]];
    choose_pages(e);
    if (!e->has_exchanged && cr_ranks_check_memory(e->ranks, e->path, error))
        return -1;
    e->has_exchanged = true;
    int status = execute(e, entry);
    return status ? cr_fail(error, "%s: the program ended with status %d, expected 0", e->path,
                            status) : 0;
}

/* ---- concurrent runs ---- */

/* Runs of which each thread takes the next one when it is free. */
struct queue {
    const struct cr_engine *engine;
    const struct cr_tensors *runs;
    int n;
    atomic_int next, failed; /* `failed`: the status of a run that failed, or 0 */
};

/* Lists the inputs of a run in the order of the program's inputs. */
static void order_inputs(const struct cr_engine *e, const struct cr_tensors *run, const void **inputs)
{
    for (int i = 0; i < e->n_inputs; i++)
        inputs[i] = run->inputs[e->to_input[i]];
}

/* Makes runs on this thread, in its own arena, until no run is left. */
static void take_runs(const void *args, long begin, long end, float *arena)
{
    struct queue *q = *(struct queue *const *)args;
    const struct cr_engine *e = q->engine;
    const int n_outputs = e->program->n_outputs;
    const void *inputs[e->n_inputs + 1];
    void *outputs[n_outputs + 1];
    (void)begin, (void)end;
    for (int r; (r = atomic_fetch_add(&q->next, 1)) < q->n;) {
        order_inputs(e, &q->runs[r], inputs);
        for (int i = 0; i < n_outputs; i++)
            outputs[i] = q->runs[r].outputs[e->to_output[i]];
        int status = e->code.execute[0](e->rt, NULL, e->weights, inputs, outputs, arena);
        if (status)
            atomic_store(&q->failed, status);
    }
}

/* Gives the arenas of all threads large pages before the first run that is not short. */
static void choose_pages_beside(struct cr_engine *e, const struct cr_tensors *runs, int n, int64_t bytes)
{
    const void *inputs[e->n_inputs + 1];
    for (int r = 0; r < n && !e->lanes_have_large_pages; r++) {
        order_inputs(e, &runs[r], inputs);
        if (is_short(e->program, inputs))
            continue;
        cr_memory_use_large_pages(e->lanes, bytes);
        e->lanes_have_large_pages = true;
    }
}

int cr_run_compiled_beside(struct cr_engine *e, const struct cr_tensors *runs, int n,
                           struct cr_error *error)
{
    const struct cr_program *p = e->program;
    int64_t arena = (p->arena_bytes + p->scratch_bytes + 63) / 64 * 64;
    struct queue queue = {.engine = e, .runs = runs, .n = n};
    const struct queue *args = &queue;
    if (!e->lanes && !(e->lanes = cr_memory_new_small(arena * e->threads, "the arenas", error)))
        return -1;
    choose_pages_beside(e, runs, n, arena * e->threads);
    e->rt->parallel(e->pool, e->threads, e->threads, take_runs, &args, e->lanes,
                    arena / (int64_t)sizeof(float));
    return queue.failed ? cr_fail(error, "%s: the program ended with status %d, expected 0", e->path,
                                  queue.failed) : 0;
}

/* Packs all parameters in one call, so that threads share all pieces and none waits between two
 * parameters. The call covers the range from the first to the last parameter that is not null. */
int cr_take_params_compiled(struct cr_engine *e, const struct cr_contents *const *contents,
                            struct cr_error *error)
{
    const struct cr_contents **of_program = cr_calloc((size_t)e->n_params, sizeof *of_program);
    int first = 0, end = e->n_params;
    for (int i = 0; i < e->n_params; i++)
        of_program[e->to_param[i]] = contents[i];
    while (end > 0 && !of_program[end - 1])
        end--;
    while (first < end && !of_program[first])
        first++;
    int status = cr_pack_params(e->program, first, end - first, of_program + first, e->rt,
                                 e->pool, e->weights, error);
    free(of_program);
    return status;
}

bool cr_may_store_over_compiled(const struct cr_engine *e, int output)
{
    for (int n = 0; n < e->program->n_outputs; n++)
        if (e->to_output[n] == output)
            return e->program->outputs[n].in_place;
    return false;
}

void cr_close_compiled(struct cr_engine *e)
{
    cr_code_free(&e->code);
    cr_program_free(e->program);
    cr_free_stored_nodes(&e->stored);
    free(e->arena);
    free(e->lanes);
    free(e->program_outputs);
}
