/* model.c - from options to a script, an engine, its inputs and parameters; see model.h. */
#include "model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/tensor_memory.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/passes.h"
#include "grads.h"
#include "near.h"

/* ---- the script ---- */

/* The file in the same folder whose name is nearest, as ", did you mean PATH?". */
static void near_file(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    int folder = (int)(file - path), n = 0, cap = 0;
    char *name = cr_strdup(path), **names = NULL;
    name[folder] = '\0';
    DIR *dir = opendir(folder ? name : ".");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strlen(entry->d_name) > 4 &&
            strcmp(entry->d_name + strlen(entry->d_name) - 4, ".lua") == 0)
            *CR_PUSH(names, n, cap) = cr_strdup(entry->d_name);
    const char *near = cr_nearest(file, (const char *const *)names, n);
    buf[0] = '\0';
    if (near)
        snprintf(buf, size, ", did you mean %s%s?", name, near);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(name);
    if (dir)
        closedir(dir);
}

static int check_readable(const char *path, struct cr_error *error)
{
    char near[512];
    if (access(path, R_OK) == 0)
        return 0;
    int reason = errno;
    near_file(path, near, sizeof near);
    return cr_fail(error, "%.400s: cannot be read: %s%s", path, strerror(reason), near);
}

/* The node tapped under a name, or CR_NONE. */
static cr_id find_tap(const struct cr_graph *g, const char *name)
{
    for (int i = g->n_nodes - 1; i >= 0; i--)
        if (g->nodes[i].tap && strcmp(g->nodes[i].tap, name) == 0)
            return i;
    return CR_NONE;
}

/* Everything that can be asked for, nulls between: nodes' taps, then outputs. */
static const char **output_names(const struct cr_graph *g)
{
    const char **names = cr_calloc((size_t)(g->n_nodes + g->n_outputs), sizeof *names);
    for (int i = 0; i < g->n_nodes; i++)
        names[i] = g->nodes[i].tap;
    for (int i = 0; i < g->n_outputs; i++)
        names[g->n_nodes + i] = g->outputs[i].name;
    return names;
}

static int no_such_output(const struct cr_model *m, const char *option, const char *name,
                          struct cr_error *error)
{
    const struct cr_graph *g = m->script.graph;
    const char **names = output_names(g);
    char near[256];
    cr_did_you_mean(near, sizeof near, name, names, g->n_nodes + g->n_outputs);
    if (!near[0])
        snprintf(near, sizeof near, ", the first output is %.100s",
                 g->n_outputs ? g->outputs[0].name : "none");
    free(names);
    return cr_fail(error, "%.400s: %s %.100s: no output or tapped value of that name%s",
                   m->options->model, option, name, near);
}

cr_id cr_model_find(const struct cr_model *m, const char *option, const char *name,
                    struct cr_error *error)
{
    const struct cr_graph *g = m->script.graph;
    for (int i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, name) == 0)
            return g->outputs[i].id;
    cr_id tap = find_tap(g, name);
    if (tap == CR_NONE)
        no_such_output(m, option, name, error);
    return tap;
}

/* Makes outputs of the taps that an option names. */
static int add_taps(struct cr_model *m, const char *option, const struct cr_pairs *pairs,
                    struct cr_error *error)
{
    struct cr_graph *g = m->script.graph;
    for (int i = 0; i < pairs->n; i++) {
        const char *name = pairs->items[i].key;
        bool known = false;
        for (int j = 0; j < g->n_outputs; j++)
            known |= strcmp(g->outputs[j].name, name) == 0;
        cr_id id = cr_model_find(m, option, name, error);
        if (id == CR_NONE)
            return -1;
        if (!known)
            cr_add_output(g, name, id);
    }
    return 0;
}

/* ---- passes ---- */

/* All names of passes, in order, in one line, behind `first`. */
static void pass_names(char *buf, size_t size, const char *first)
{
    size_t at = (size_t)snprintf(buf, size, "%s", first);
    for (int i = 0; i < cr_n_passes && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", cr_passes[i].name);
}

static int check_pass(const char *option, const char *name, struct cr_error *error)
{
    char names[512];
    const char *script = strcmp(option, "skip") == 0 ? "" : "script"; /* nothing to skip */
    bool known = *script && strcmp(name, script) == 0;
    for (int i = 0; i < cr_n_passes; i++)
        known |= strcmp(name, cr_passes[i].name) == 0;
    if (known)
        return 0;
    pass_names(names, sizeof names, script);
    return cr_fail(error, "--%s %.60s: no such pass, expected one of %s", option, name, names);
}

/* --after and --skip name passes, and not the same one; --after may also name the emitter. */
static int check_passes(const struct cr_options *o, struct cr_error *error)
{
    if (o->after && strcmp(o->after, "emit") != 0 && check_pass("after", o->after, error))
        return -1;
    for (int i = 0; i < o->skip.n; i++) {
        if (check_pass("skip", o->skip.items[i], error))
            return -1;
        if (o->after && strcmp(o->after, o->skip.items[i]) == 0)
            return cr_fail(error, "--skip %s: also the pass of --after", o->after);
    }
    return 0;
}

/* ---- loading ---- */

/* A seed that a script got is one that it can use. */
static int check_seed(const struct cr_options *o, const struct cr_script *script, const char *text,
                      struct cr_error *error)
{
    for (int i = 0; o->seed > INT32_MAX && i < script->n_options; i++)
        if (strcmp(script->options[i].name, "seed") == 0 &&
            strcmp(script->options[i].value, text) == 0)
            return cr_fail(error, "%.400s: --seed %s: the script takes it, expected at most %d",
                           o->model, text, INT32_MAX);
    return 0;
}

/* Runs the script.  A script with an option `seed` takes --seed for it unless --set says
 * otherwise; 0 is left to the script. */
static int run_script(const struct cr_options *o, struct cr_script *script, struct cr_error *error)
{
    char text[32];
    int n = o->seed != 0;
    struct cr_setting *settings = cr_calloc((size_t)(o->set.n + n), sizeof *settings);
    snprintf(text, sizeof text, "%lld", (long long)o->seed);
    if (n)
        settings[0] = (struct cr_setting){"seed", text, true};
    for (int i = 0; i < o->set.n; i++)
        settings[n + i] = o->set.items[i];
    int status = cr_script_run(o->model, settings, o->set.n + n, script, error);
    free(settings);
    if (status || check_seed(o, script, text, error) == 0)
        return status;
    cr_script_free(script);
    return -1;
}

int cr_model_load(struct cr_model *m, const struct cr_options *o, struct cr_error *error)
{
    *m = (struct cr_model){.options = o};
    if (check_passes(o, error) || check_readable(o->model, error))
        return -1;
    int64_t start = cr_clock();
    if (run_script(o, &m->script, error))
        return -1;
    m->script_ns = cr_clock() - start;
    m->n_script_outputs = m->script.graph->n_outputs;
    if (cr_grads_add(m, error) || add_taps(m, "--output", &o->output, error) ||
        add_taps(m, "--expect", &o->expect, error)) {
        cr_model_free(m);
        return -1;
    }
    return 0;
}

void cr_model_free(struct cr_model *m)
{
    cr_script_free(&m->script);
    *m = (struct cr_model){0};
}

enum cr_backend cr_model_backend(const struct cr_options *o)
{
    struct cr_error unused;
    return o->backend ? (enum cr_backend)cr_backend_by_name(o->backend, &unused) : CR_BACKEND_TCC;
}

int cr_model_open(struct cr_model *m, enum cr_backend backend, struct cr_engine *engine,
                  struct cr_error *error)
{
    struct cr_graph *graph = m->script.graph;
    const struct cr_options *o = m->options;
    struct cr_engine_options how = {o->model,      backend,   (int)o->threads, o->isa,
                                    o->skip.items, o->skip.n, o->max_arena};
    m->script.graph = NULL;
    return cr_engine_open(engine, graph, &how, error);
}

/* ---- tensors ---- */

int cr_arrays_new(struct cr_arrays *arrays, const struct cr_port *ports, int n,
                  struct cr_error *error)
{
    arrays->data = cr_calloc((size_t)n, sizeof *arrays->data);
    arrays->n = n;
    for (int i = 0; i < n; i++) {
        int64_t bytes = cr_port_elements(&ports[i]) * (int64_t)sizeof(float);
        arrays->data[i] = cr_memory_new(bytes, ports[i].name, error);
        if (!arrays->data[i]) {
            cr_arrays_free(arrays);
            return -1;
        }
    }
    return 0;
}

void cr_arrays_free(struct cr_arrays *arrays)
{
    for (int i = 0; arrays->data && i < arrays->n; i++)
        free(arrays->data[i]);
    free(arrays->data);
    *arrays = (struct cr_arrays){0};
}

int cr_check_input_names(const struct cr_engine *e, const char *model, const char *option,
                         const struct cr_pairs *files, struct cr_error *error)
{
    for (int i = 0; i < files->n; i++) {
        const char *name = files->items[i].key;
        if (cr_port_find(e->inputs, e->n_inputs, name) != CR_NONE && !cr_cotangent_of(name))
            continue;
        const char **names = cr_calloc((size_t)e->n_inputs, sizeof *names);
        char near[160];
        for (int j = 0; j < e->n_inputs; j++)
            names[j] = e->inputs[j].name;
        cr_did_you_mean(near, sizeof near, name, names, e->n_inputs);
        if (!near[0] && e->n_inputs)
            snprintf(near, sizeof near, ", the first is %.100s", names[0]);
        free(names);
        return cr_fail(error, "%.400s: %s %.100s: no input of that name%s", model, option, name,
                       near);
    }
    return 0;
}

/* The file for an input (the last one given), or null. */
static const char *input_file(const struct cr_options *o, const char *name)
{
    const char *output = cr_cotangent_of(name);
    const struct cr_pairs *pairs = output ? &o->cotangent : &o->input;
    for (int i = pairs->n - 1; i >= 0; i--)
        if (strcmp(pairs->items[i].key, output ? output : name) == 0)
            return pairs->items[i].value;
    return NULL;
}

int cr_arrays_inputs(struct cr_arrays *arrays, const struct cr_engine *e,
                     const struct cr_options *o, struct cr_error *error)
{
    if (cr_check_input_names(e, o->model, "--input", &o->input, error) ||
        cr_arrays_new(arrays, e->inputs, e->n_inputs, error))
        return -1;
    for (int i = 0; i < e->n_inputs; i++) {
        const char *file = input_file(o, e->inputs[i].name);
        if (!file)
            cr_draw_input(e, i, (uint64_t)o->seed, arrays->data[i]);
        else if (cr_read_input(e, i, file, arrays->data[i], error)) {
            cr_arrays_free(arrays);
            return -1;
        }
    }
    return 0;
}

int cr_fill_params(struct cr_engine *e, const struct cr_options *o, struct cr_surplus *surplus,
                   struct cr_error *error)
{
    *surplus = (struct cr_surplus){0};
    if (!o->weights.n)
        return cr_draw_params(e, (uint64_t)o->seed, error);
    if (cr_load_params(e, o->weights.items, o->weights.n, surplus, error))
        return -1;
    if (!surplus->count || !o->strict)
        return 0;
    return cr_fail(error,
                   "%.400s: tensor %s is not in the model (of %d in all), --strict expects the "
                   "model's only",
                   surplus->file, surplus->name, surplus->count);
}

void cr_note_surplus(const struct cr_surplus *surplus)
{
    if (surplus->count)
        cr_note("%.400s: ignored %d tensor%s not in the model, first %s", surplus->file,
                surplus->count, surplus->count == 1 ? "" : "s", surplus->name);
}
