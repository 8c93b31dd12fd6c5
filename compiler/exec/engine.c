/* engine.c - opens, runs and closes an engine, and sets its parameters; see engine.h. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "engine_parts.h"
#include "join_ranks.h"
#include "past_rows.h"
#include "runtime/pool.h"
#include "runtime/select_runtime.h"
#include "tensor_memory.h"

const char *cr_backend_name(enum cr_backend backend)
{
    return cr_backends[backend].name;
}

/* ---- from opening to closing ---- */

/* Fails with a message that an instruction set is unknown, or that this machine lacks it. */
static int fail_isa(const char *isa, struct cr_error *error)
{
    static const char *const names[] = {"amx", "vnni", "avx512", "avx2", "neon", "plain"};
    char here[64] = "";
    bool known = false;
    for (size_t i = 0, n = 0; i < sizeof names / sizeof *names; i++) {
        known |= strcmp(isa, names[i]) == 0;
        if (cr_runtime_select(names[i]))
            n += (size_t)snprintf(here + n, sizeof here - n, "%s%s", n ? ", " : "", names[i]);
    }
    if (known)
        return cr_fail(error, "instruction set '%s': not on this machine, expected one that it has: %s", isa,
                       here);
    return cr_fail(error,
                   "instruction set '%.60s': not known, expected amx, vnni, avx512, avx2, neon or plain, of "
                   "which this machine has %s",
                   isa, here);
}

/* Selects the runtime and starts the threads.  If the system gives fewer threads than requested,
 * uses those. */
static int make_runtime(struct cr_engine *e, const struct cr_engine_options *o,
                        struct cr_error *error)
{
    if (o->isa && cr_backends[o->backend].chooses_isa)
        return cr_fail(error, "instruction set '%.60s': standalone C chooses one when it runs, "
                       "expected another backend", o->isa);
    e->rt = cr_runtime_select(o->isa);
    if (!e->rt)
        return fail_isa(o->isa, error);
    if (o->threads > 1 && !(e->pool = cr_pool_new(o->threads)))
        return cr_fail(error, "cannot start %d threads, expected fewer", o->threads);
    e->threads = cr_pool_threads(e->pool);
    return 0;
}

/* Compiles the engine's program, and records the time in `compile_ns`. */
static int make_code(struct cr_engine *e, struct cr_error *error)
{
    int64_t start = cr_clock();
    int status = cr_backends[e->backend].compile(e, error);
    e->compile_ns = cr_clock() - start;
    return status;
}

int cr_engine_open(struct cr_engine *e, struct cr_graph *graph, const struct cr_engine_options *o,
                   struct cr_error *error)
{
    *e = (struct cr_engine){.backend = o->backend, .path = cr_strdup(o->settings.path), .ranks = o->ranks};
    cr_engine_read_ports(e, graph);
    int status = make_runtime(e, o, error);
    if (status)
        cr_graph_free(graph);
    else
        status = cr_backends[e->backend].open(e, graph, o, error);
    if (!status && cr_backends[e->backend].compile)
        status = make_code(e, error);
    if (status)
        cr_engine_close(e);
    return status;
}

static void free_weights(struct cr_engine *e)
{
    if (e->mapping)
        munmap(e->mapping, e->mapping_bytes);
    else
        free(e->weights);
}

void cr_engine_close(struct cr_engine *e)
{
    cr_backends[e->backend].close(e);
    for (int i = 0; e->tensors && i < e->n_params; i++)
        if (!e->is_shared || !e->is_shared[i])
            free(e->tensors[i]);
    free(e->tensors);
    free(e->is_shared);
    cr_engine_free_ports(e);
    cr_zeros_free(&e->zeros);
    free(e->memory);
    cr_pool_free(e->pool);
    free_weights(e);
    free(e->program_inputs);
    free(e->path);
    *e = (struct cr_engine){0};
}

/* ---- parameters ---- */

static int keep_tensor(struct cr_engine *e, int i, const struct cr_contents *contents,
                       struct cr_error *error)
{
    int64_t n = cr_port_elements(&e->params[i]), bytes = n * (int64_t)sizeof(float);
    if (!e->tensors[i] && !(e->tensors[i] = cr_memory_new(bytes, e->params[i].name, error)))
        return -1;
    return cr_copy_tensor(contents, n, e->rt, e->pool, e->tensors[i], error);
}

/* Returns `hash` updated with n elements of a parameter, from element `first` on.  Elements that
 * cannot be read count as 0 here: the error is reported when the whole parameter is read. */
static uint64_t hash_elements(uint64_t hash, const struct cr_contents *contents, int64_t first, int64_t n)
{
    float values[1024];
    const int64_t room = sizeof values / sizeof *values;
    for (int64_t end = first + n; first < end; first += n) {
        n = end - first < room ? end - first : room;
        if (contents->data)
            memcpy(values, contents->data + first, (size_t)n * sizeof *values);
        else if (contents->read(contents->context, first, n, values))
            memset(values, 0, sizeof values);
        hash = cr_hash_words(hash, values, n);
    }
    return hash;
}

/* Returns `hash` updated with 64 equally spaced elements of the n elements of a parameter. */
static uint64_t hash_some(uint64_t hash, const struct cr_contents *contents, int64_t n)
{
    enum { SOME = 64 };
    if (n <= SOME)
        return hash_elements(hash, contents, 0, n);
    for (int64_t i = 0; i < SOME; i++)
        hash = hash_elements(hash, contents, i * (n / SOME), 1);
    return hash;
}

/* Fails if ranks were given different parameters.  Compares all elements of a model of at most
 * WHOLE elements; of a larger one only some, since each rank would have to read all of its
 * weights. */
static int check_ranks(const struct cr_engine *e, const struct cr_contents *contents, struct cr_error *error)
{
    enum { WHOLE = 1 << 22 };
    uint64_t hash = 0;
    int64_t all = 0;
    int other;
    if (!e->ranks)
        return 0;
    for (int i = 0; i < e->n_params; i++)
        all += cr_port_elements(&e->params[i]);
    for (int i = 0; i < e->n_params; i++) {
        int64_t n = cr_port_elements(&e->params[i]);
        hash = all <= WHOLE ? hash_elements(hash, &contents[i], 0, n) : hash_some(hash, &contents[i], n);
    }
    if ((other = cr_ranks_compare(e->ranks, hash)) < 0)
        return 0;
    return cr_fail(error, "%s: weights of rank %d differ from those of rank 0, expected the same files for all ranks",
                   e->path, other);
}

/* Passes parameters to the backend: contents[i] holds parameter i; null leaves it unchanged. */
static int take_params(struct cr_engine *e, const struct cr_contents *const *contents,
                       struct cr_error *error)
{
    for (int i = 0; i < e->n_params; i++)
        if (e->tensors && contents[i] && keep_tensor(e, i, contents[i], error))
            return -1;
    return cr_backends[e->backend].take_params(e, contents, error);
}

int cr_engine_set_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                        struct cr_error *error)
{
    const struct cr_contents **given = cr_calloc((size_t)e->n_params, sizeof *given);
    given[i] = contents;
    int status = take_params(e, given, error);
    free(given);
    return status;
}

int cr_engine_set_params(struct cr_engine *e, const struct cr_contents *contents,
                         struct cr_error *error)
{
    const struct cr_contents **given = cr_calloc((size_t)e->n_params, sizeof *given);
    for (int i = 0; i < e->n_params; i++)
        given[i] = &contents[i];
    int status = check_ranks(e, contents, error) || take_params(e, given, error) ? -1 : 0;
    free(given);
    return status;
}

/* Maps the file privately: a page that this process writes becomes its own copy. */
int cr_engine_map_weights(struct cr_engine *e, int fd, size_t at)
{
    size_t bytes = at + (size_t)e->program->weights_bytes;
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED)
        return -1;
    madvise(mapping, bytes, MADV_WILLNEED);
    free_weights(e);
    e->mapping = mapping;
    e->mapping_bytes = bytes;
    e->weights = (float *)(void *)(mapping + at);
    return 0;
}

int cr_engine_keep_params(struct cr_engine *e, const bool *shared, struct cr_error *error)
{
    int64_t elements = 0;
    if (e->tensors)
        return 0;
    e->tensors = cr_calloc((size_t)e->n_params, sizeof *e->tensors);
    e->is_shared = cr_calloc((size_t)e->n_params, sizeof *e->is_shared);
    for (int i = 0; i < e->n_params; i++) {
        if (shared && shared[i] && e->program)
            e->tensors[i] = cr_find_unpacked(e->program, e->to_param[i], e->weights);
        e->is_shared[i] = e->tensors[i] != NULL;
        elements += e->is_shared[i] ? 0 : cr_port_elements(&e->params[i]);
    }
    return cr_engine_check_memory(e, elements * (int64_t)sizeof(float), 0, error);
}

bool cr_engine_may_store_over(const struct cr_engine *e, int i)
{
    return cr_backends[e->backend].may_store_over(e, i);
}

void cr_engine_take_tensors(struct cr_engine *e, const bool *changed)
{
    struct cr_error never; /* not used: reading from memory cannot fail */
    struct cr_contents *contents = cr_calloc((size_t)e->n_params, sizeof *contents);
    const struct cr_contents **given = cr_calloc((size_t)e->n_params, sizeof *given);
    for (int i = 0; i < e->n_params; i++) {
        contents[i].data = e->tensors[i];
        given[i] = changed[i] ? &contents[i] : NULL;
    }
    cr_backends[e->backend].take_params(e, given, &never);
    free(given);
    free(contents);
}

/* ---- runs ---- */

int cr_engine_run_entry(struct cr_engine *e, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error)
{
    if (cr_engine_check_lengths(e, inputs, error))
        return -1;
    if (cr_backends[e->backend].run(e, entry, inputs, outputs, error))
        return -1;
    cr_clear_past_rows(e, inputs, outputs, e->wanted);
    return 0;
}

int cr_engine_run_many(struct cr_engine *e, const struct cr_tensors *runs, int n,
                       struct cr_error *error)
{
    bool beside = n > 1 && e->threads > 1 && !e->ranks && e->program && e->n_states == 0 && e->n_entries == 1;
    for (int i = 0; i < n; i++)
        if (beside ? cr_engine_check_lengths(e, runs[i].inputs, error)
                   : cr_engine_run(e, runs[i].inputs, runs[i].outputs, error))
            return -1;
    if (beside && cr_run_compiled_beside(e, runs, n, error))
        return -1;
    for (int i = 0; beside && i < n; i++)
        cr_clear_past_rows(e, runs[i].inputs, runs[i].outputs, NULL);
    return 0;
}

int cr_engine_run(struct cr_engine *e, const void *const *inputs, void *const *outputs,
                  struct cr_error *error)
{
    for (int i = 0; i < e->n_entries; i++)
        if (cr_engine_run_entry(e, i, inputs, outputs, error))
            return -1;
    return 0;
}
