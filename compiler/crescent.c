/* crescent.c - the public C interface, thin over the engine; see crescent.h. */
#include "crescent.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/exec/engine.h"
#include "compiler/exec/tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"

struct crescent_model {
    struct cr_engine engine;
    bool *given; /* by parameter */
};

static _Thread_local struct cr_error last_error;

/* Readers of files write their messages as they are, so control characters are escaped here. */
const char *crescent_error(void)
{
    struct cr_error raw = last_error;
    cr_escape(last_error.text, sizeof last_error.text, raw.text, strlen(raw.text), "");
    return last_error.text;
}

/* Runs a script; its graph belongs to the caller. */
static struct cr_graph *run_script(const char *path, const crescent_setting *settings, int n)
{
    struct cr_setting *copies = cr_calloc((size_t)n, sizeof *copies);
    struct cr_script script = {0};
    struct cr_graph *graph = NULL;
    for (int i = 0; i < n; i++)
        copies[i] = (struct cr_setting){settings[i].key, settings[i].value, false};
    if (cr_script_run(path, copies, n, &script, &last_error) == 0) {
        graph = script.graph;
        script.graph = NULL;
        cr_script_free(&script);
    }
    free(copies);
    return graph;
}

int crescent_open(const char *script, const crescent_config *config, crescent_model **model)
{
    *model = NULL;
    if ((unsigned)config->backend > CRESCENT_REF || config->threads < 0 || config->threads > 256)
        return cr_fail(&last_error, "%.400s: backend %d and %d threads, expected a backend of the "
                       "enum and 0 to 256 threads", script, (int)config->backend, config->threads);
    struct cr_graph *graph = run_script(script, config->settings, config->n_settings);
    if (!graph)
        return CRESCENT_FAILED;
    struct cr_engine_options options = {.path = script, .backend = (enum cr_backend)config->backend,
                                        .threads = config->threads ? config->threads : 1,
                                        .isa = config->isa, .max_arena = config->max_arena};
    crescent_model *m = cr_calloc(1, sizeof *m);
    if (cr_engine_open(&m->engine, graph, &options, &last_error)) {
        free(m);
        return CRESCENT_FAILED;
    }
    m->given = cr_calloc((size_t)m->engine.n_params, sizeof *m->given);
    *model = m;
    return CRESCENT_OK;
}

void crescent_close(crescent_model *model)
{
    if (!model)
        return;
    cr_engine_close(&model->engine);
    free(model->given);
    free(model);
}

/* The ports of a kind and their number. */
static const struct cr_port *ports_of(const crescent_model *m, crescent_port_kind kind, int *n)
{
    const struct cr_engine *e = &m->engine;
    switch (kind) {
    case CRESCENT_PARAM:
        *n = e->n_params;
        return e->params;
    case CRESCENT_INPUT:
        *n = e->n_inputs;
        return e->inputs;
    case CRESCENT_OUTPUT:
        *n = e->n_outputs;
        return e->outputs;
    }
    *n = 0;
    return NULL;
}

int crescent_port_count(const crescent_model *model, crescent_port_kind kind)
{
    int n;
    ports_of(model, kind, &n);
    return n;
}

int crescent_port_at(const crescent_model *model, crescent_port_kind kind, int index,
                     crescent_port *port)
{
    int n;
    const struct cr_port *ports = ports_of(model, kind, &n);
    if (index < 0 || index >= n)
        return cr_fail(&last_error, "%s: port %d of kind %d, there are %d", model->engine.path,
                       index, (int)kind, n);
    *port = (crescent_port){ports[index].name, (crescent_type)ports[index].dtype,
                            ports[index].rank, {0}};
    memcpy(port->shape, ports[index].shape, sizeof port->shape);
    return CRESCENT_OK;
}

static int all_given(crescent_model *m, int status)
{
    if (!status)
        memset(m->given, true, (size_t)m->engine.n_params);
    return status;
}

int crescent_load_weights(crescent_model *model, const char *path)
{
    struct cr_surplus surplus = {0};
    return all_given(model, cr_load_params(&model->engine, &path, 1, &surplus, &last_error));
}

int crescent_draw_weights(crescent_model *model, uint64_t seed)
{
    return all_given(model, cr_draw_params(&model->engine, seed, &last_error));
}

int crescent_set_weight(crescent_model *model, int index, const float *tensor)
{
    struct cr_engine *e = &model->engine;
    if (index < 0 || index >= e->n_params)
        return cr_fail(&last_error, "%s: parameter %d, there are %d", e->path, index, e->n_params);
    if (cr_engine_set_param(e, index, &(struct cr_contents){.data = tensor}, &last_error))
        return CRESCENT_FAILED;
    model->given[index] = true;
    return CRESCENT_OK;
}

int crescent_run(crescent_model *model, const void *const *inputs, void *const *outputs)
{
    struct cr_engine *e = &model->engine;
    for (int i = 0; i < e->n_params; i++)
        if (!model->given[i])
            return cr_fail(&last_error, "%.400s: parameter %.200s has no values, expected some",
                           e->path, e->params[i].name);
    return cr_engine_run(e, inputs, outputs, &last_error);
}

int crescent_emit(const char *script, const crescent_setting *settings, int n_settings,
                  const char *path)
{
    struct cr_pass_options options = {0};
    size_t length = strlen(path);
    if (length < 3 || strcmp(path + length - 2, ".c") != 0)
        return cr_fail(&last_error, "%.400s: expected a name that ends in .c", path);
    struct cr_graph *graph = run_script(script, settings, n_settings);
    if (!graph)
        return CRESCENT_FAILED;
    struct cr_program *program = cr_make_program(graph, &options, NULL, &last_error);
    int status = program ? cr_write_standalone(program, path, &last_error) : CRESCENT_FAILED;
    cr_program_free(program);
    return status;
}
