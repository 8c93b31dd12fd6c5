/* run.c - fills inputs and runs a model; see crescent.h. */
#include <string.h>

#include "compiler/exec/compare_inputs.h"
#include "compiler/ir/steps.h"
#include "handles.h"
#include "imported_model.h"
#include "input_batches.h"

/* ---- inputs ---- */

static int check_input(const crescent_model *m, int index, struct cr_error *error)
{
    return cr_check_index(m->engine.path, "input", index, m->engine.n_inputs, error);
}

/* Finds an input by its name.  An input that became a constant of the script counts as found, but
 * has no index. */
int crescent_input_find(const crescent_model *model, const char *name, const char *asked,
                        int *index)
{
    CR_REQUIRE(model, name && index);
    CR_ENTER(model->context);
    const struct cr_engine *e = &model->engine;
    *index = CRESCENT_NONE;
    if (cr_imported_has_pinned(model->origin->imported, name))
        return CRESCENT_OK;
    int status = cr_check_input_name(e, asked, name, guard.error);
    if (!status)
        *index = cr_port_find(e->inputs, e->n_inputs, name);
    return cr_done(&guard, status);
}

int crescent_draw_input(const crescent_model *model, int index, int64_t seed, void *tensor)
{
    CR_REQUIRE(model, tensor);
    CR_ENTER(model->context);
    int status = check_input(model, index, guard.error);
    if (!status)
        cr_draw_input(&model->engine, index, (uint64_t)seed, tensor);
    return cr_done(&guard, status);
}

int crescent_read_input(const crescent_model *model, int index, const char *path, void *tensor)
{
    CR_REQUIRE(model, path && tensor);
    CR_ENTER(model->context);
    int status = check_input(model, index, guard.error);
    if (!status)
        status = cr_read_input(&model->engine, index, path, tensor, guard.error);
    return cr_done(&guard, status);
}

/* ---- checks before a run ---- */

/* The entries first .. end - 1 of a model. */
struct entries {
    int first, end;
};

static struct entries all_entries(const crescent_model *m)
{
    return (struct entries){0, m->engine.n_entries};
}

/* Fails if a port's tensor is null.  Checks the n ports that `number` lists or, if `number` is
 * null, the first n ports. */
static int check_tensors(const crescent_model *m, const struct cr_port *ports, const int *number,
                         int n, const void *const *tensors, struct cr_error *error)
{
    for (int i = 0; i < n; i++)
        if (!tensors || !tensors[number ? number[i] : i])
            return cr_fail(error, "%.400s: the tensor of %.200s is null, expected one",
                           m->engine.path, ports[number ? number[i] : i].name);
    return 0;
}

/* Fails if an id is out of range.  Kernels read the rows of a table without checking bounds. */
static int check_ids(const crescent_model *m, const int *number, int n, const void *const *inputs,
                     struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    for (int k = 0; k < n; k++) {
        int i = number ? number[k] : k;
        if (e->id_limits[i] && cr_check_ids(e, i, e->inputs[i].name, inputs[i], inputs, error))
            return -1;
    }
    return 0;
}

/* Checks weights, tensors and ids, and that all ranks run with the same inputs.  A run of all
 * entries needs all tensors, a run of one entry only those of the entry. */
static int check_run(const crescent_model *m, struct entries entries, const void *const *inputs,
                     void *const *outputs, struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    const struct cr_engine_entry all = {.n_inputs = e->n_inputs, .n_outputs = e->n_outputs};
    bool some = entries.end - entries.first < e->n_entries;
    const struct cr_engine_entry *of = some ? &e->entries[entries.first] : &all;
    if (cr_check_weights(m, error) ||
        check_tensors(m, e->inputs, of->input, of->n_inputs, inputs, error) ||
        check_tensors(m, e->outputs, of->output, of->n_outputs, (const void *const *)outputs,
                      error))
        return -1;
    return check_ids(m, of->input, of->n_inputs, inputs, error) ||
           cr_compare_inputs(e, of->input, of->n_inputs, inputs, error);
}

/* ---- runs ---- */

/* Runs entries in order.  Kernels skip writes outside of a tensor, so offsets are checked before
 * each entry, with the values that states have at that time. */
static int run_entries(struct cr_engine *e, struct entries entries, const void *const *inputs,
                       void *const *outputs, struct cr_error *error)
{
    for (int i = entries.first; i < entries.end; i++)
        if (cr_offsets_check(e->offsets, 1u << i, inputs, e->memory, error) ||
            cr_engine_run_entry(e, i, inputs, outputs, error))
            return -1;
    return 0;
}

static int run(crescent_model *m, struct entries entries, const void *const *inputs,
               void *const *outputs, struct cr_error *error)
{
    return check_run(m, entries, inputs, outputs, error) ||
           run_entries(&m->engine, entries, inputs, outputs, error);
}

/* Runs a model of one entry several times; checks everything before the first run. */
int cr_run_many(crescent_model *m, const struct cr_tensors *runs, int n, struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    for (int i = 0; i < n; i++)
        if (check_run(m, all_entries(m), runs[i].inputs, runs[i].outputs, error) ||
            cr_offsets_check(e->offsets, 1u, runs[i].inputs, e->memory, error))
            return -1;
    return cr_engine_run_many(&m->engine, runs, n, error);
}

int crescent_run(crescent_model *model, const void *const *inputs, void *const *outputs)
{
    CR_REQUIRE(model, true);
    CR_ENTER(model->context);
    return cr_done(&guard, run(model, all_entries(model), inputs, outputs, guard.error));
}

/* Finds an entry by its name.  If there is none, fails with a message that names one of the model's
 * entries. */
static int find_entry(const crescent_model *m, const char *name, struct entries *entries,
                      struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    int i = 0;
    while (i < e->n_entries && strcmp(e->entries[i].name, name) != 0)
        i++;
    *entries = (struct entries){i, i + 1};
    if (i < e->n_entries)
        return 0;
    return cr_fail(error, "%.400s: no entry '%.100s', expected one of the model's %d, such as '%s'",
                   e->path, name, e->n_entries, e->entries[0].name);
}

int crescent_run_entry(crescent_model *model, const char *entry, const void *const *inputs,
                       void *const *outputs)
{
    CR_REQUIRE(model, entry);
    CR_ENTER(model->context);
    struct entries entries;
    int status = find_entry(model, entry, &entries, guard.error);
    if (!status)
        status = run(model, entries, inputs, outputs, guard.error);
    return cr_done(&guard, status);
}

const double *crescent_exact_output(const crescent_model *model, int index)
{
    const struct cr_engine *e = model ? &model->engine : NULL;
    return e && e->exact && index >= 0 && index < e->n_outputs ? e->exact[index] : NULL;
}

/* ---- states ---- */

static int check_state(const crescent_model *m, int index, struct cr_error *error)
{
    return cr_check_index(m->engine.path, "state", index, m->engine.n_states, error);
}

int crescent_get_state(const crescent_model *model, int index, void *tensor)
{
    CR_REQUIRE(model, tensor);
    CR_ENTER(model->context);
    int status = check_state(model, index, guard.error);
    if (!status)
        cr_engine_get_state(&model->engine, index, tensor);
    return cr_done(&guard, status);
}

int crescent_set_state(crescent_model *model, int index, const void *tensor)
{
    CR_REQUIRE(model, tensor);
    CR_ENTER(model->context);
    int status = check_state(model, index, guard.error);
    if (!status)
        cr_engine_set_state(&model->engine, index, tensor);
    return cr_done(&guard, status);
}

int crescent_reset_states(crescent_model *model)
{
    CR_REQUIRE(model, true);
    CR_ENTER(model->context);
    cr_engine_reset_states(&model->engine);
    return cr_done(&guard, 0);
}

/* ---- kernel by kernel ---- */

/*
 * The state of a watched run.  Emitted code starts the kernel of a call through the member
 * `parallel` of the runtime's table, and passes the pool that it was given.  So a copy of the table
 * with another `parallel` is notified of each call, in the order of program->sequence, while the
 * code is unchanged.  Exchanges between ranks are watched through a copy of the ranks with another
 * `gather_blocks`.
 */
struct watched {
    struct cr_runtime rt;
    const struct cr_engine *engine;
    const struct cr_watch *watch;
    int at; /* the index in program->sequence of the next call */
};

/* True if emitted code starts kernel number `at` of program->sequence by rt->parallel, and not as
 * an exchange. */
static bool is_seen(const struct cr_program *program, int at)
{
    enum cr_step_kind step = program->kernels[program->sequence[at]].step;
    return cr_step_kinds[step].traits & CR_STEP_PARALLEL;
}

/* The ranks that emitted code of a watched run is given, and the engine's ranks, which do the
 * work. */
struct watched_ranks {
    struct cr_ranks ranks;
    struct cr_ranks *own;
    struct watched *watched;
};

/* Replaces ranks->gather_blocks.  An exchange may make several calls with the same number in the
 * sequence; the next kernel advances it. */
static void watched_gather(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    struct watched_ranks *r = (struct watched_ranks *)(void *)ranks;
    struct watched *w = r->watched;
    while (w->at < w->engine->program->n_sequence && is_seen(w->engine->program, w->at))
        w->at++;
    CR_CHECK(w->at < w->engine->program->n_sequence);
    struct cr_watched_call call = {.number = w->at, .begin_ns = cr_clock()};
    r->own->gather_blocks(r->own, to, from, bytes, stride);
    call.end_ns = cr_clock();
    w->watch->called(w->watch->context, &call);
}

/* Replaces rt->parallel.  Emitted code passes the pool on without reading it, so `pool` points to a
 * struct watched. */
static void watched_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride)
{
    struct watched *w = (struct watched *)(void *)pool;
    while (w->at < w->engine->program->n_sequence && !is_seen(w->engine->program, w->at))
        w->at++;
    CR_CHECK(w->at < w->engine->program->n_sequence);
    struct cr_watched_call call = {.number = w->at++, .args = args, .begin_ns = cr_clock()};
    w->engine->rt->parallel(w->engine->pool, items, shares, body, args, scratch, scratch_stride);
    call.end_ns = cr_clock();
    w->watch->called(w->watch->context, &call);
}

/* Runs a copy of the engine in which runtime table and pool are replaced by the watched run's. */
int cr_run_watched(crescent_model *m, const void *const *inputs, void *const *outputs,
                   const struct cr_watch *watch, struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    if (e->backend != CR_BACKEND_TCC && e->backend != CR_BACKEND_CC)
        return cr_fail(error, "%.400s: backend %s has no kernels, expected tcc or cc", e->path,
                       cr_backend_name(e->backend));
    if (check_run(m, all_entries(m), inputs, outputs, error))
        return -1;
    struct watched watched = {.rt = *e->rt, .engine = e, .watch = watch};
    struct cr_engine engine = *e;
    watched.rt.parallel = watched_parallel;
    engine.rt = &watched.rt;
    engine.pool = (struct cr_pool *)(void *)&watched;
    struct watched_ranks ranks = {.own = e->ranks, .watched = &watched};
    if (e->ranks) {
        ranks.ranks = *e->ranks;
        ranks.ranks.gather_blocks = watched_gather;
        engine.ranks = &ranks.ranks;
    }
    return run_entries(&engine, all_entries(m), inputs, outputs, error);
}

static void note_time(void *context, const struct cr_watched_call *call)
{
    crescent_call_time *times = context;
    times[call->number] = (crescent_call_time){call->begin_ns, call->end_ns};
}

int crescent_run_traced(crescent_model *model, const void *const *inputs, void *const *outputs,
                        crescent_call_time *times)
{
    CR_REQUIRE(model, times);
    CR_ENTER(model->context);
    const struct cr_watch watch = {note_time, times};
    return cr_done(&guard, cr_run_watched(model, inputs, outputs, &watch, guard.error));
}

/* The total time of the calls of each kernel. */
struct times {
    const struct cr_program *program;
    double *ns; /* by kernel: nanoseconds */
};

static void add_time(void *context, const struct cr_watched_call *call)
{
    const struct times *t = context;
    t->ns[t->program->sequence[call->number]] += (double)(call->end_ns - call->begin_ns);
}

static int run_timed(crescent_model *m, const void *const *inputs, void *const *outputs,
                     double *kernel_ns, struct cr_error *error)
{
    struct times times = {m->engine.program, kernel_ns};
    if (times.program)
        memset(kernel_ns, 0, (size_t)times.program->n_kernels * sizeof *kernel_ns);
    return cr_run_watched(m, inputs, outputs, &(struct cr_watch){add_time, &times}, error);
}

int crescent_run_timed(crescent_model *model, const void *const *inputs, void *const *outputs,
                       double *kernel_ns)
{
    CR_REQUIRE(model, kernel_ns);
    CR_ENTER(model->context);
    return cr_done(&guard, run_timed(model, inputs, outputs, kernel_ns, guard.error));
}
