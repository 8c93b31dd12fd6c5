/* model.c - makes a graph, a model, its inputs and its parameters from options; see model.h. */
#include "model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "expected_taps.h"
#include "report.h"

/* ---- passes ---- */

/* Writes `first`, then the names of all passes in order. */
static void pass_names(char *buf, size_t size, const char *first)
{
    crescent_pass pass;
    size_t at = (size_t)snprintf(buf, size, "%s", first);
    for (int i = 0; crescent_pass_at(i, &pass) == CRESCENT_OK && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", pass.name);
}

/* Fails if an option's value is not the name of a pass; --after also accepts "script". */
static int check_pass(const char *option, const char *name, struct cr_error *error)
{
    char names[512];
    crescent_pass pass;
    const char *script = strcmp(option, "skip") == 0 ? "" : "script"; /* the pseudo-pass "script"
                                                                       * cannot be skipped */
    bool known = *script && strcmp(name, script) == 0;
    for (int i = 0; crescent_pass_at(i, &pass) == CRESCENT_OK; i++)
        known |= strcmp(name, pass.name) == 0;
    if (known)
        return 0;
    pass_names(names, sizeof names, script);
    return cr_fail(error, "--%s %.60s: no such pass, expected one of %s", option, name, names);
}

/* Checks that --after and --skip name different passes; --after may also name the emitter. */
static int check_passes(const struct cr_options *o, struct cr_error *error)
{
    if (o->after && strcmp(o->after, "emit") != 0 && check_pass("after", o->after, error))
        return -1;
    for (int i = 0; i < o->skip.n; i++) {
        if (check_pass("skip", o->skip.items[i], error))
            return -1;
        if (o->after && strcmp(o->after, o->skip.items[i]) == 0)
            return cr_fail(error, "--skip %s: --after names the same pass, expected another one",
                           o->after);
    }
    return 0;
}

/* ---- graphs ---- */

/* Makes the tapped values that an option names outputs. */
static int add_taps(crescent_graph *graph, const struct cr_options *o, const char *option,
                    const struct cr_pairs *pairs, struct cr_error *error)
{
    for (int i = 0; i < pairs->n; i++)
        if (cr_passed(o, crescent_graph_tap(graph, pairs->items[i].key, option), error))
            return -1;
    return 0;
}

/* Adds the gradients that --grads requests, with the cotangents of --cotangent. */
static int add_gradients(crescent_graph *graph, const struct cr_options *o, struct cr_error *error)
{
    if (o->cotangent.n && !cr_wants_grads(o))
        return cr_fail(error, "--cotangent %.200s: expected --grads beside it",
                       o->cotangent.items[0].key);
    if (!cr_wants_grads(o))
        return 0;
    const char **names = cr_calloc((size_t)o->cotangent.n, sizeof *names);
    for (int i = 0; i < o->cotangent.n; i++)
        names[i] = o->cotangent.items[i].key;
    int status = crescent_graph_gradients(graph, names, o->cotangent.n);
    free(names);
    return cr_passed(o, status, error);
}

crescent_script cr_script_of(const struct cr_options *o)
{
    return (crescent_script){.settings = o->set.items,
                             .n_settings = o->set.n,
                             .lengths = o->length.items,
                             .n_lengths = o->length.n,
                             .defaults = o->resumed.items,
                             .n_defaults = o->resumed.n,
                             .seed = o->seed,
                             .entry = o->entry,
                             .script = o->script,
                             .config = o->config,
                             .ignored = o->ignore_config.items,
                             .n_ignored = o->ignore_config.n};
}

/* Runs the script; `entry` is used if --entry is not given, see crescent_script. */
static int load(const struct cr_options *o, const char *entry, crescent_graph **graph,
                struct cr_error *error)
{
    crescent_script how = cr_script_of(o);
    if (!how.entry)
        how.entry = entry;
    how.inputs = o->input.items;
    how.n_inputs = o->input.n;
    *graph = NULL;
    if (check_passes(o, error) ||
        cr_passed(o, crescent_graph_open(o->context, o->model, &how, graph), error))
        return -1;
    if (add_gradients(*graph, o, error) || add_taps(*graph, o, "--output", &o->output, error) ||
        add_taps(*graph, o, "--expect", &o->expect, error) ||
        (o->expect_taps && cr_tap_expected(*graph, o, error))) {
        crescent_graph_close(*graph);
        *graph = NULL;
        return -1;
    }
    return 0;
}

int cr_graph_load(const struct cr_options *o, crescent_graph **graph, struct cr_error *error)
{
    return load(o, "", graph, error);
}

int cr_graph_load_entries(const struct cr_options *o, crescent_graph **graph,
                          struct cr_error *error)
{
    return load(o, cr_wants_grads(o) ? "" : NULL, graph, error);
}

/* If --weights is given, the formats of the weights in the model's own folder or file are
 * ignored. */
crescent_config cr_config_of(const struct cr_options *o, crescent_backend backend)
{
    return (crescent_config){.backend = backend,
                             .threads = (int)o->threads,
                             .isa = o->isa,
                             .skip = o->skip.items,
                             .n_skip = o->skip.n,
                             .max_arena = o->max_arena,
                             .ranks = (int)o->ranks,
                             .format = o->format || !o->weights.n ? o->format : "f32",
                             .arithmetic = o->arithmetic,
                             .target = o->target};
}

/* ---- ports ---- */

crescent_port cr_port_of(const crescent_model *model, crescent_port_kind kind, int index)
{
    crescent_port port = {0};
    crescent_port_at(model, kind, index, &port);
    return port;
}

crescent_port cr_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                            const struct cr_arrays *inputs)
{
    crescent_port port = {0};
    crescent_sized_port(model, kind, index, (const void *const *)inputs->data, &port);
    return port;
}

void cr_pack_output(const crescent_model *model, int index, const struct cr_arrays *inputs,
                    size_t width, void *data)
{
    crescent_port port = cr_port_of(model, CRESCENT_OUTPUT, index);
    crescent_port sized = cr_sized_port(model, CRESCENT_OUTPUT, index, inputs);
    crescent_pack(&port, &sized, width, data, data);
}

crescent_report cr_report_of_model(const crescent_model *model)
{
    crescent_report report = {0};
    crescent_report_of(model, &report);
    return report;
}

/* ---- tensors ---- */

/* After a failure the arrays are freed. */
int cr_arrays_new(struct cr_arrays *arrays, const crescent_model *model, crescent_port_kind kind,
                  const struct cr_options *o, struct cr_error *error)
{
    int n = crescent_port_count(model, kind);
    *arrays = (struct cr_arrays){cr_calloc((size_t)n, sizeof *arrays->data), n};
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_port_of(model, kind, i);
        int64_t bytes = crescent_port_elements(&port) * (int64_t)sizeof(float);
        if (cr_passed(o, crescent_memory(o->context, bytes, port.name, &arrays->data[i]), error)) {
            cr_arrays_free(arrays);
            return -1;
        }
    }
    return 0;
}

void cr_arrays_free(struct cr_arrays *arrays)
{
    for (int i = 0; arrays->data && i < arrays->n; i++)
        crescent_free(arrays->data[i]);
    free(arrays->data);
    *arrays = (struct cr_arrays){0};
}

/* Returns the file given for a port by the last --cotangent, or null. */
static const char *cotangent_file(const struct cr_options *o, const crescent_port *port)
{
    for (int i = o->cotangent.n - 1; port->of && i >= 0; i--)
        if (strcmp(o->cotangent.items[i].key, port->of) == 0)
            return o->cotangent.items[i].value;
    return NULL;
}

/* Reads all input files in one call, because together they determine the lengths. */
static int read_inputs(const struct cr_arrays *arrays, const crescent_model *model,
                       const struct cr_options *o)
{
    crescent_input_file *files = cr_calloc((size_t)o->input.n, sizeof *files);
    int n = 0, index, status = CRESCENT_OK;
    for (int i = 0; i < o->input.n && !status; i++) {
        const crescent_setting *pair = &o->input.items[i];
        status = crescent_input_find(model, pair->key, "--input", &index);
        if (!status && index != CRESCENT_NONE)
            files[n++] = (crescent_input_file){pair->key, pair->value};
    }
    if (!status)
        status = crescent_read_inputs(model, files, n, arrays->data);
    free(files);
    return status;
}

/* After a failure the arrays are freed. */
int cr_arrays_inputs(struct cr_arrays *arrays, const crescent_model *model,
                     const struct cr_options *o, struct cr_error *error)
{
    if (cr_arrays_new(arrays, model, CRESCENT_INPUT, o, error))
        return -1;
    int status = CRESCENT_OK;
    for (int i = 0; i < arrays->n && !status; i++) {
        crescent_port port = cr_port_of(model, CRESCENT_INPUT, i);
        const char *file = cotangent_file(o, &port);
        status = file ? crescent_read_input(model, i, file, arrays->data[i])
                      : crescent_draw_input(model, i, o->seed, arrays->data[i]);
    }
    if (!status)
        status = read_inputs(arrays, model, o);
    if (status)
        cr_arrays_free(arrays);
    return cr_passed(o, status, error);
}

/* ---- weights ---- */

int cr_fill_params(crescent_model *model, const struct cr_options *o, crescent_surplus *surplus,
                   struct cr_error *error)
{
    *surplus = (crescent_surplus){0};
    crescent_cache_weights(o->context, o->cache_weights);
    const char *own = crescent_weights_path(model);
    crescent_surplus_rule rule = o->strict ? CRESCENT_MODEL_TENSORS_ONLY : CRESCENT_ANY_TENSORS;
    int status;
    if (o->weights.n)
        status = crescent_load_weights(model, o->weights.items, o->weights.n, rule, surplus);
    else if (own)
        status = crescent_load_weights(model, &own, 1, rule, surplus);
    else
        status = crescent_draw_weights(model, o->seed);
    return cr_passed(o, status, error);
}

/* Runs in the child process: writes the cache and exits.  First closes all inherited files and
 * leaves the session, so that no other process waits for this one at the end of a pipe or at a
 * lock. */
static void write_cache(crescent_model *model)
{
    enum { MOST_FILES = 1024 };
    int nowhere = open("/dev/null", O_RDWR);
    setsid();
    setpriority(PRIO_PROCESS, 0, 19);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(nowhere, fd) < 0)
            _exit(1);
    for (int fd = 3; fd < MOST_FILES; fd++)
        close(fd);
    crescent_write_cache(model, NULL);
    _exit(0);
}

void cr_cache_params(crescent_model *model)
{
    const int64_t least = 16 << 20; /* smaller weights load in some milliseconds without a cache */
    if (crescent_uncached_weights(model) < least)
        return;
    fflush(NULL);
    if (fork() == 0)
        write_cache(model);
}

void cr_note_surplus(const crescent_surplus *surplus)
{
    if (surplus->count)
        cr_note("%.400s: ignored %d tensor%s not in the model, first %s", surplus->file,
                surplus->count, surplus->count == 1 ? "" : "s", surplus->name);
}
