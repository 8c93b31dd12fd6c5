/* pack.c - crescent pack: caches a model's packed weights before its first run. */
#include <inttypes.h>
#include <stdio.h>

#include "model.h"
#include "report.h"
#include "texts.h"
#include "verbs.h"

/* The model, opened as by `generate` or, if it cannot continue texts, as by `run`. */
struct pack {
    const struct cr_options *options;
    crescent_generator *generator; /* null if the model cannot continue texts */
    crescent_graph *graph;         /* null if the model can continue texts */
    crescent_model *model;
    crescent_surplus surplus;
};

/* Opens the model as `run` does.  If its graph cannot be opened, `error` keeps the message about
 * the generator. */
static int open_for_run(struct pack *p, struct cr_error *error)
{
    struct cr_error second;
    const crescent_config config = cr_config_of(p->options, CRESCENT_TCC);
    if (cr_graph_load(p->options, &p->graph, &second))
        return -1;
    return cr_passed(p->options, crescent_compile(p->graph, &config, &p->model), error);
}

static int open_model(struct pack *p, struct cr_error *error)
{
    const crescent_generation how = {.context = p->options->context_size, .chunk = p->options->chunk};
    if (cr_generator_load(p->options, &how, &p->generator, error))
        return open_for_run(p, error);
    p->model = crescent_generator_model(p->generator);
    return 0;
}

/* Fails if the model has no weights to cache. */
static int check(const struct pack *p, struct cr_error *error)
{
    const struct cr_options *o = p->options;
    if (!o->weights.n && !crescent_weights_path(p->model))
        return cr_fail(error, "%.400s: a script, whose weights are drawn, expected --weights FILE", o->model);
    return o->cache_weights ? 0 : cr_fail(error, "--cache-weights 0: expected a number of bytes to keep");
}

/* Writes the packed weights to the cache folder, unless they were already mapped from there. */
static int keep(const struct pack *p, struct cr_error *error)
{
    const struct cr_options *o = p->options;
    int64_t written, cached = crescent_cached_weights(p->model);
    if (cached) {
        printf("%.400s: %s of weights were kept before\n", o->model, cr_bytes(cached).text);
        return 0;
    }
    if (cr_passed(o, crescent_write_cache(p->model, &written), error))
        return -1;
    if (!written)
        return cr_fail(error,
                       "%.400s: its weights cannot be kept, expected weights in files, and an "
                       "absolute path in XDG_CACHE_HOME or HOME",
                       o->model);
    printf("%.400s: keeps %s of weights for `%s`\n", o->model, cr_bytes(written).text,
           p->generator ? "generate" : "run");
    return 0;
}

static int run(struct pack *p, struct cr_error *error)
{
    if (open_model(p, error) || check(p, error) ||
        cr_fill_params(p->model, p->options, &p->surplus, error) || keep(p, error))
        return 2;
    cr_note_surplus(&p->surplus);
    return 0;
}

int cr_verb_pack(const struct cr_options *options, struct cr_error *error)
{
    struct pack p = {.options = options};
    int status = run(&p, error);
    if (p.generator)
        crescent_generator_close(p.generator);
    else
        crescent_close(p.model);
    crescent_graph_close(p.graph);
    return status;
}
