/* subject.c - a model under one setting, ready to be measured; see subject.h. */
#include "subject.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { COMPILATIONS = 5 };

/* ---- settings ---- */

/* Whether a script declares an option of that name. */
static bool declares(const struct cr_script *script, const char *name)
{
    for (int i = 0; i < script->n_options; i++)
        if (strcmp(script->options[i].name, name) == 0)
            return true;
    return false;
}

/* Another model: of the options that were set it takes those it declares, and no files. */
static int change_model(struct cr_options *o, const char *path, struct cr_error *error)
{
    struct cr_script script;
    struct cr_options plain = {.model = path};
    struct cr_model model;
    int n = 0;
    o->model = path;
    o->weights.n = 0;
    for (; o->input.n > 0; o->input.n--)
        free((char *)o->input.items[o->input.n - 1].key);
    if (cr_model_load(&model, &plain, error))
        return -1;
    script = model.script;
    for (int i = 0; i < o->set.n; i++) {
        if (declares(&script, o->set.items[i].key))
            o->set.items[n++] = o->set.items[i];
        else
            free((char *)o->set.items[i].key);
    }
    o->set.n = n;
    cr_model_free(&model);
    return 0;
}

/* What the word of a --vs changes. */
static int change(struct cr_options *o, const char *setting, struct cr_error *error)
{
    size_t length = strlen(setting);
    const char *equals = strchr(setting, '=');
    if (length > 4 && strcmp(setting + length - 4, ".lua") == 0 && !equals)
        return change_model(o, setting, error);
    if (!equals)
        return cr_options_set(o, strcmp(setting, "standalone") == 0 ? "backend" : setting, setting,
                              error);
    char *name = cr_strdup(setting);
    name[equals - setting] = '\0';
    int status = cr_options_set(o, name, equals + 1, error);
    free(name);
    return status;
}

/* ---- compiling ---- */

static int open_once(struct cr_subject *s, struct cr_error *error)
{
    struct cr_model model;
    cr_engine_close(&s->engine);
    if (cr_model_load(&model, &s->options, error))
        return -1;
    cr_sample_add(&s->script, (double)model.script_ns);
    int status = cr_model_open(&model, cr_model_backend(&s->options), &s->engine, error);
    cr_model_free(&model);
    if (status)
        return -1;
    cr_sample_add(&s->passes, (double)s->engine.passes_ns);
    cr_sample_add(&s->emit, (double)s->engine.emit_ns);
    cr_sample_add(&s->compile, (double)s->engine.compile_ns);
    return 0;
}

/* Several times where that is quick, for medians of what each stage takes. */
int cr_subject_open(struct cr_subject *s, const struct cr_options *options, const char *setting,
                    struct cr_error *error)
{
    *s = (struct cr_subject){.setting = setting, .options = cr_options_copy(options)};
    if (setting && change(&s->options, setting, error))
        return -1;
    enum cr_backend backend = cr_model_backend(&s->options);
    int n = backend == CR_BACKEND_TCC ? COMPILATIONS : 1, status = 0;
    for (int i = 0; i < n && !status; i++)
        status = open_once(s, error);
    return status;
}

int cr_subject_fill(struct cr_subject *s, struct cr_error *error)
{
    if (cr_fill_params(&s->engine, &s->options, &s->surplus, error) ||
        cr_arrays_inputs(&s->inputs, &s->engine, &s->options, error))
        return -1;
    return cr_arrays_new(&s->outputs, s->engine.outputs, s->engine.n_outputs, error);
}

/* ---- measuring ---- */

int cr_subject_run(struct cr_subject *s, struct cr_error *error)
{
    return cr_engine_run(&s->engine, (const void *const *)s->inputs.data, s->outputs.data, error);
}

int cr_subject_round(struct cr_subject *s, int64_t nanoseconds, struct cr_error *error)
{
    struct cr_sample round = {0};
    int64_t now, start;
    if (cr_subject_run(s, error))
        return -1;
    int64_t end = cr_clock() + nanoseconds;
    do {
        start = cr_clock();
        if (cr_subject_run(s, error)) {
            cr_sample_free(&round);
            return -1;
        }
        now = cr_clock();
        cr_sample_add(&round, (double)(now - start));
        cr_sample_add(&s->runs, (double)(now - start));
    } while (now < end);
    s->round_ns = cr_sample_median(&round);
    cr_sample_free(&round);
    return 0;
}

void cr_subject_close(struct cr_subject *s)
{
    cr_arrays_free(&s->inputs);
    cr_arrays_free(&s->outputs);
    cr_engine_close(&s->engine);
    struct cr_sample *samples[] = {&s->script,  &s->passes, &s->emit,
                                   &s->compile, &s->runs,   &s->ratios};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        cr_sample_free(samples[i]);
    cr_options_free(&s->options);
    *s = (struct cr_subject){0};
}
