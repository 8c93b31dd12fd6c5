/* compile.c - compiles a graph to a model; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/micro_batches.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "handles.h"
#include "targets.h"

_Static_assert((int)CRESCENT_TCC == (int)CR_BACKEND_TCC && (int)CRESCENT_CC == (int)CR_BACKEND_CC &&
                   (int)CRESCENT_REF == (int)CR_BACKEND_REF &&
                   (int)CRESCENT_STANDALONE == (int)CR_BACKEND_STANDALONE,
               "backends have the same numbers");

/* Copies a configuration to *checked and checks it; null stands for all zero.  Sets the number of
 * threads to at least 1. */
int cr_take_config(const crescent_config *config, const char *path, crescent_config *checked,
                   struct cr_error *error)
{
    static const crescent_config plain;
    const crescent_config *c = config ? config : &plain;
    *checked = *c;
    checked->threads = c->threads ? c->threads : 1;
    if ((unsigned)c->backend >= CRESCENT_BACKENDS || c->threads < 0 || c->threads > 256)
        return cr_fail(error,
                       "%.400s: found backend %d and %d threads, expected a crescent_backend and 0 to "
                       "256 threads",
                       path, (int)c->backend, c->threads);
    if (c->max_arena < 0 || c->n_skip < 0 || (c->n_skip && !c->skip))
        return cr_fail(error, "%.400s: found max_arena %lld and n_skip %d, expected 0 or more, and `skip` for n_skip",
                       path, (long long)c->max_arena, c->n_skip);
    for (int i = 0; i < c->n_skip; i++)
        if (!c->skip[i])
            return cr_fail(error, "%.400s: pass %d to skip is null, expected a name", path, i);
    return 0;
}

struct cr_settings cr_settings_of(const crescent_config *c, const char *path,
                                  const struct cr_target *target)
{
    return (struct cr_settings){.path = path,
                                .skip = c->skip,
                                .n_skip = c->n_skip,
                                .max_arena = c->max_arena,
                                .ranks = c->ranks,
                                .target = target};
}

int cr_want_weights(struct cr_graph *graph, const crescent_config *c, const char *path,
                    struct cr_error *error)
{
    return cr_want_formats(graph, c->format, path, error) ||
                   cr_want_arithmetics(graph, c->arithmetic, path, error)
               ? -1
               : 0;
}

crescent_config cr_config_copy(const crescent_config *config)
{
    crescent_config copy = *config;
    const char **skip = cr_calloc((size_t)config->n_skip, sizeof *skip);
    for (int i = 0; i < config->n_skip; i++)
        skip[i] = cr_strdup(config->skip[i]);
    copy.skip = skip;
    copy.isa = config->isa ? cr_strdup(config->isa) : NULL;
    copy.format = config->format ? cr_strdup(config->format) : NULL;
    copy.arithmetic = config->arithmetic ? cr_strdup(config->arithmetic) : NULL;
    copy.target = config->target ? cr_strdup(config->target) : NULL;
    return copy;
}

void cr_config_free(crescent_config *config)
{
    for (int i = 0; i < config->n_skip; i++)
        free((char *)config->skip[i]);
    free((void *)config->skip);
    free((char *)config->isa);
    free((char *)config->format);
    free((char *)config->arithmetic);
    free((char *)config->target);
}

/* Fails if the backend is standalone and there are several ranks, as it compiles C for one process.
 * (`emit --ranks` writes C for several.) */
static int check_backend(const crescent_context *context, const crescent_config *c, const char *path,
                         struct cr_error *error)
{
    int ranks = context->ranks ? context->ranks->count : 1;
    if (c->backend != CRESCENT_STANDALONE || ranks == 1)
        return 0;
    return cr_fail(error, "%.400s: backend standalone on %d ranks, expected another backend (emit --ranks %d "
                   "writes C for them)", path, ranks, ranks);
}

void cr_model_drop_code(crescent_model *model)
{
    if (model->engine.program)
        cr_program_drop_code(model->engine.program);
}

int cr_compile_for(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph, const crescent_config *c,
                   const struct cr_target *target, enum cr_purpose purpose, int rank, crescent_model **model,
                   struct cr_error *error)
{
    if (check_backend(context, c, origin->path, error) || cr_want_weights(graph, c, origin->path, error) ||
        cr_compare_graphs(context, graph, c, origin->path, error)) {
        cr_graph_free(graph);
        return -1;
    }
    struct cr_settings settings = cr_settings_of(c, origin->path, target);
    bool joins = context->ranks && purpose != CR_TO_TRAIN && purpose != CR_TO_PACK;
    if (purpose == CR_TO_TRAIN && context->ranks && cr_has_micro_batches(graph))
        settings.update = CR_UPDATE;
    settings.rank = joins || settings.update ? context->ranks->rank : rank;
    settings.ranks = joins || settings.update ? context->ranks->count : purpose == CR_TO_PACK ? c->ranks : 0;
    const struct cr_engine_options options = {.settings = settings,
                                              .ranks = joins && settings.ranks > 1 ? context->ranks : NULL,
                                              .backend = (enum cr_backend)c->backend,
                                              .threads = c->threads,
                                              .isa = c->isa,
                                              .keep_stored = purpose == CR_TO_WATCH};
    crescent_model *m = cr_calloc(1, sizeof *m);
    m->references = 1;
    if (cr_engine_open(&m->engine, graph, &options, error)) {
        free(m);
        return -1;
    }
    if (m->engine.program)
        m->report = cr_report_of(m->engine.program);
    m->given = cr_calloc((size_t)m->engine.n_params, sizeof *m->given);
    m->config = cr_config_copy(c);
    m->context = cr_refer(context);
    m->origin = cr_origin_refer(origin);
    *model = m;
    return 0;
}

/* Chooses the target that the configuration names, by default this machine.  For the interpreter no
 * probe is made, as it has no loops to tile. */
static int choose_target(crescent_context *context, const struct cr_graph *graph,
                         const crescent_config *c, struct cr_target *target, struct cr_error *error)
{
    struct cr_use use = cr_use_of(graph, c->isa, c->threads);
    use.is_long = use.is_long && c->backend != CRESCENT_REF;
    return cr_choose_target(context, c->target ? c->target : "host", &use, target, error);
}

int cr_compile_graph(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                     const crescent_config *config, enum cr_purpose purpose, crescent_model **model,
                     struct cr_error *error)
{
    crescent_config c;
    struct cr_target target;
    if (cr_take_config(config, origin->path, &c, error) ||
        choose_target(context, graph, &c, &target, error)) {
        cr_graph_free(graph);
        return -1;
    }
    return cr_compile_for(context, origin, graph, &c, &target, purpose, 0, model, error);
}

/* Compiles a copy of the graph.  The time of copying counts as time of the passes in the report. */
static int compile_copy(const crescent_graph *graph, const crescent_config *config,
                        crescent_model **model, struct cr_error *error)
{
    int64_t start = cr_clock();
    struct cr_graph *copy = cr_graph_copy(graph->graph);
    int64_t copied = cr_clock() - start;
    if (cr_compile_graph(graph->context, graph->origin, copy, config, CR_TO_RUN, model, error))
        return -1;
    if ((*model)->engine.program)
        (*model)->engine.passes_ns += copied;
    return 0;
}

int crescent_compile(const crescent_graph *graph, const crescent_config *config,
                     crescent_model **model)
{
    if (model)
        *model = NULL;
    CR_REQUIRE(graph, model);
    CR_ENTER(graph->context);
    return cr_done(&guard, compile_copy(graph, config, model, guard.error));
}

/* Opens a script and compiles its graph.  The compiled model takes over the graph without a
 * copy. */
static int open_model(crescent_context *context, const char *path, const crescent_script *how,
                      const crescent_config *config, crescent_model **model)
{
    crescent_graph *graph;
    int status = crescent_graph_open(context, path, how, &graph);
    if (status)
        return status;
    struct cr_graph *whole = graph->graph;
    graph->graph = NULL;
    status = cr_compile_graph(context, graph->origin, whole, config, CR_TO_RUN, model, cr_error_of(context));
    crescent_graph_close(graph);
    return status;
}

int crescent_open(crescent_context *context, const char *path, const crescent_script *how,
                  const crescent_config *config, crescent_model **model)
{
    if (model)
        *model = NULL;
    CR_REQUIRE_CONTEXT(context, path && model);
    CR_ENTER(context);
    return cr_done(&guard, open_model(context, path, how, config, model));
}

void crescent_close(crescent_model *model)
{
    if (model && !model->is_part)
        cr_model_release(model);
}

void cr_model_release(crescent_model *model)
{
    if (!model || --model->references > 0)
        return;
    cr_engine_close(&model->engine);
    cr_kept_free(&model->kept);
    cr_origin_release(model->origin);
    cr_release(model->context);
    cr_config_free(&model->config);
    free(model->given);
    free(model);
}

const char *crescent_backend_name(crescent_backend backend)
{
    return (unsigned)backend < CRESCENT_BACKENDS ? cr_backend_name((enum cr_backend)backend) : NULL;
}
