/* generator.c - generates text with a causal model; see crescent.h. */
#include "generator.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/tensor_memory.h"
#include "compiler/exec/weight_files.h"
#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "generator_ports.h"
#include "runtime/sampler.h"

struct crescent_generator {
    crescent_context *context;
    crescent_model *model;
    struct cr_generator_ports ports;
    struct cr_text_ends ends;
    bool all_logits, has_logits, can_grow;
    int64_t room, chunk, used;
    struct cr_buffers inputs, outputs;
    float *last;     /* [texts, vocabulary]: the logits of each text's last token */
    double *scratch; /* memory for sampling */
};

/* ---- opening ---- */

/* Allocates inputs and outputs.  Ids are initialised to 0: those beyond the tokens of a run are
 * checked, too, and so have to be valid. */
static int make_buffers(crescent_generator *g, struct cr_error *error)
{
    const struct cr_engine *e = &g->model->engine;
    int64_t n = g->ports.texts * g->ports.vocabulary * (int64_t)sizeof(float);
    int64_t scratch = CR_SAMPLE_SCRATCH(g->ports.vocabulary) * (int64_t)sizeof(double);
    if (cr_buffers_new(&g->inputs, e->inputs, NULL, e->n_inputs, error) ||
        cr_buffers_new(&g->outputs, e->outputs, NULL, e->n_outputs, error) ||
        !(g->last = cr_memory_new(n, "logits", error)) ||
        !(g->scratch = cr_memory_new(scratch, "the choice of a token", error)))
        return -1;
    memset(g->inputs.data[g->ports.ids], 0,
           (size_t)(g->ports.texts * g->ports.bound) * sizeof(int32_t));
    return 0;
}

/* Compiles a graph, which the function takes over, and finds its ports. */
static int open_generator(crescent_generator *g, const struct cr_continuation *made,
                          const crescent_config *config, struct cr_error *error)
{
    struct cr_graph *whole = made->graph->graph;
    made->graph->graph = NULL;
    if (cr_compile_graph(g->context, made->graph->origin, whole, config, CR_TO_RUN, &g->model, error))
        return -1;
    g->model->is_part = true;
    g->room = made->context;
    g->chunk = made->chunk;
    g->can_grow = made->can_grow;
    const struct cr_engine *e = &g->model->engine;
    const struct cr_ports ports = {NULL, e->inputs, e->outputs, 0, e->n_inputs, e->n_outputs};
    return cr_find_generator_ports(&g->ports, &ports, g->all_logits, e->path, error) ||
                   make_buffers(g, error) ||
                   cr_read_text_ends(&g->ends, g->model->origin, g->ports.vocabulary, error)
               ? -1
               : 0;
}

static int check_generation(const crescent_generation *how, const char *path,
                            struct cr_error *error)
{
    if (how->context >= 0 && how->context <= INT32_MAX && how->chunk >= 0 &&
        how->chunk <= INT32_MAX && how->least >= 0 && how->least <= INT32_MAX)
        return 0;
    return cr_fail(error, "%.400s: context %" PRId64 ", least context %" PRId64 " and chunk %" PRId64
                          ", expected 0 to %d for each",
                   path, how->context, how->least, how->chunk, INT32_MAX);
}

/* Opens a generator; after a failure nothing is left open. */
static int open_script(crescent_context *context, const struct cr_script_text *script,
                       const crescent_script *how, const crescent_config *config, const crescent_generation *generation,
                     crescent_generator **generator, struct cr_error *error)
{
    static const crescent_generation plain;
    struct cr_continuation made;
    const crescent_generation *gen = generation ? generation : &plain;
    if (check_generation(gen, script->path, error) ||
        cr_continuation_open(context, script, how, gen, &made, error))
        return -1;
    crescent_generator *g = cr_calloc(1, sizeof *g);
    g->context = cr_refer(context);
    g->all_logits = gen->all_logits != 0;
    int status = open_generator(g, &made, config, error);
    crescent_graph_close(made.graph);
    if (status)
        crescent_generator_close(g);
    else
        *generator = g;
    return status;
}

int crescent_generator_open(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            crescent_generator **generator)
{
    if (generator)
        *generator = NULL;
    CR_REQUIRE_CONTEXT(context, path && generator);
    CR_ENTER(context);
    return cr_done(&guard,
                   open_script(context, &(struct cr_script_text){.path = path}, how, config,
                               generation, generator, guard.error));
}

/* Opens a generator as crescent_generator_open does, for a script in memory. */
int crescent_generator_open_text(crescent_context *context, const char *name, const char *text,
                                 size_t length, const crescent_script *how,
                                 const crescent_config *config,
                                 const crescent_generation *generation,
                                 crescent_generator **generator)
{
    if (generator)
        *generator = NULL;
    CR_REQUIRE_CONTEXT(context, name && text && generator);
    CR_ENTER(context);
    const struct cr_script_text script = {name, text, length};
    return cr_done(&guard, open_script(context, &script, how, config, generation, generator,
                                       guard.error));
}

void crescent_generator_close(crescent_generator *g)
{
    if (!g)
        return;
    cr_model_release(g->model);
    cr_buffers_free(&g->inputs);
    cr_buffers_free(&g->outputs);
    free(g->last);
    free(g->scratch);
    cr_release(g->context);
    free(g);
}

crescent_model *crescent_generator_model(crescent_generator *generator)
{
    return generator ? generator->model : NULL;
}

int crescent_generator_get_status(const crescent_generator *g, crescent_generator_status *status)
{
    CR_REQUIRE(g, status);
    *status = (crescent_generator_status){g->ports.texts, g->ports.vocabulary, g->room,  g->used,
                                          g->chunk,       g->all_logits,       g->ends.begin,
                                          g->ends.n,      g->can_grow};
    return CRESCENT_OK;
}

/* Returns the model's path as the caller gave it. */
static const char *path_of(const crescent_generator *g)
{
    return g->model->origin->folder ? g->model->origin->folder : g->model->origin->path;
}

/* ---- feeding ---- */

/* Fails if the tokens do not fit the context, or if an id is invalid; called before the first token
 * is fed. */
static int check_feed(const crescent_generator *g, const int32_t *ids, int64_t n,
                      struct cr_error *error)
{
    const struct cr_engine *e = &g->model->engine;
    int64_t limit = e->id_limits[g->ports.ids];
    if (n > g->room - g->used)
        return cr_fail(error,
                       "%.400s: %" PRId64 " tokens after %" PRId64
                       " earlier ones, expected at most %" PRId64 " in total",
                       path_of(g), n, g->used, g->room);
    for (int64_t i = 0; limit && i < g->ports.texts * n; i++)
        if (ids[i] < 0 || ids[i] >= limit)
            return cr_fail(error,
                           "%.400s: token %" PRId64 " is %" PRId32
                           ", expected an id from 0 to %" PRId64,
                           path_of(g), i % n, ids[i], limit - 1);
    return cr_check_weights(g->model, error);
}

/* Runs the model on tokens first .. first + n - 1 of each text; the ids of texts are `stride`
 * apart. */
static int run(crescent_generator *g, const int32_t *ids, int64_t stride, int64_t first, int64_t n)
{
    int32_t *tokens = g->inputs.data[g->ports.ids];
    for (int64_t t = 0; t < g->ports.texts; t++)
        memcpy(tokens + t * g->ports.bound, ids + t * stride + first, (size_t)n * sizeof *tokens);
    *(int32_t *)g->inputs.data[g->ports.n] = (int32_t)n;
    return crescent_run(g->model, (const void *const *)g->inputs.data, g->outputs.data);
}

/* Copies, for each text, n rows of the last run's logits from row `first` on to `to`; texts are
 * `stride` apart there. */
static void copy_rows(const crescent_generator *g, int64_t first, int64_t n, float *to,
                      int64_t stride)
{
    const float *from = g->outputs.data[g->ports.logits];
    for (int64_t t = 0; t < g->ports.texts; t++)
        memcpy(to + t * stride * g->ports.vocabulary,
               from + (t * g->ports.rows + first) * g->ports.vocabulary,
               (size_t)(n * g->ports.vocabulary) * sizeof *to);
}

/* Feeds tokens chunk by chunk.  If a run fails, the tokens of the runs before stay fed. */
static int feed(crescent_generator *g, const int32_t *ids, int64_t n, float *logits)
{
    for (int64_t first = 0; first < n; first += g->chunk) {
        int64_t some = n - first < g->chunk ? n - first : g->chunk;
        int status = run(g, ids, n, first, some);
        if (status)
            return status;
        g->used += some;
        if (logits && g->all_logits)
            copy_rows(g, 0, some, logits + first * g->ports.vocabulary, n);
        copy_rows(g, g->ports.rows > 1 ? some - 1 : 0, 1, g->last, 1);
        g->has_logits = true;
    }
    if (logits && !g->all_logits)
        memcpy(logits, g->last, (size_t)(g->ports.texts * g->ports.vocabulary) * sizeof *logits);
    return CRESCENT_OK;
}

int crescent_generator_feed(crescent_generator *generator, const int32_t *ids, int64_t n,
                            float *logits)
{
    CR_REQUIRE(generator, ids && n > 0);
    CR_ENTER(generator->context);
    int status = check_feed(generator, ids, n, guard.error);
    return status ? cr_done(&guard, status) : feed(generator, ids, n, logits);
}

const float *crescent_generator_logits(const crescent_generator *generator)
{
    return generator && generator->has_logits ? generator->last : NULL;
}

int crescent_generator_reset(crescent_generator *generator)
{
    CR_REQUIRE(generator, true);
    generator->used = 0;
    generator->has_logits = false;
    return crescent_reset_states(generator->model);
}

/* ---- sampling ---- */

/* Fails for invalid sampling parameters, or if no token was fed yet, so that there are no
 * logits. */
static int check_sampling(const crescent_generator *g, const crescent_sampling *how,
                          struct cr_error *error)
{
    if (!g->has_logits)
        return cr_fail(error, "%.400s: found a text without tokens, expected at least one before "
                       "another is generated", path_of(g));
    if (!(how->temperature >= 0) || isinf(how->temperature) || how->top_k < 0 ||
        !(how->top_p >= 0) || how->top_p > 1 || how->seed < 0)
        return cr_fail(error,
                       "%.400s: temperature %g, top_k %" PRId64 ", top_p %g and seed %" PRId64
                       ", expected numbers from 0 on, and top_p up to 1",
                       path_of(g), how->temperature, how->top_k, how->top_p, how->seed);
    return 0;
}

/* Samples a token for each text.  The random stream of a text is its index, so that a single text
 * gets the same random numbers as the first of several texts. */
static int choose(crescent_generator *g, const crescent_sampling *how, int32_t *ids,
                  struct cr_error *error)
{
    if (check_sampling(g, how, error))
        return -1;
    for (int64_t t = 0; t < g->ports.texts; t++) {
        const struct cr_sampling s = {how->temperature, (long)how->top_k, how->top_p,
                                      (uint64_t)how->seed, (uint64_t)t};
        long id = cr_sample(&s, g->last + t * g->ports.vocabulary, (long)g->ports.vocabulary,
                            (uint64_t)g->used, g->scratch);
        if (id < 0)
            return cr_fail(error,
                           "%.400s: of the logits after token %" PRId64 " %s, expected numbers",
                           path_of(g), g->used - 1,
                           id == CR_SAMPLE_NAN ? "some are NaN" : "all are -infinity");
        ids[t] = (int32_t)id;
    }
    return 0;
}

int crescent_generator_choose(crescent_generator *generator, const crescent_sampling *how,
                              int32_t *ids)
{
    static const crescent_sampling likeliest;
    CR_REQUIRE(generator, ids);
    CR_ENTER(generator->context);
    return cr_done(&guard, choose(generator, how ? how : &likeliest, ids, guard.error));
}

int crescent_generator_is_end(const crescent_generator *g, int32_t id)
{
    for (int i = 0; g && i < g->ends.n; i++)
        if (g->ends.items[i] == id)
            return 1;
    return 0;
}
