/* train.c - crescent train: runs one compiled training step repeatedly. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "model.h"
#include "outfiles.h"
#include "plot_losses.h"
#include "progress.h"
#include "report.h"
#include "signals.h"
#include "verbs.h"

/* Callback of crescent_trainer_validate: returns nonzero, which stops the validation, after a
 * signal. */
static int is_stopped(void *argument)
{
    (void)argument;
    return cr_is_stopped();
}

/* ---- options ---- */

/* Returns the value of the script's option `name`; null if the script has no such option. */
static const char *value_of(const crescent_graph *graph, const char *name)
{
    crescent_setting option;
    for (int i = 0; i < crescent_graph_option_count(graph); i++)
        if (!crescent_graph_option_at(graph, i, &option) && strcmp(option.key, name) == 0)
            return option.value;
    return NULL;
}

/* Returns the value of the script's option `steps`; -1 if there is none. */
static int64_t declared_steps(const crescent_graph *graph)
{
    char *end;
    const char *value = value_of(graph, "steps");
    int64_t steps = value ? strtoll(value, &end, 10) : -1;
    return value && (*end || steps < 0) ? -1 : steps;
}

/* Appends the files of an option whose values are NAME=FILE. */
static void add_pairs(struct cr_named_file *files, int *n, const char *option,
                      const struct cr_pairs *pairs)
{
    for (int i = 0; i < pairs->n; i++)
        files[(*n)++] = (struct cr_named_file){option, pairs->items[i].value, false, 0};
}

/* Checks that each output file can be written and differs from all other files; the new
 * checkpoint may replace the one that the run resumes from. */
static int check_paths(const struct cr_options *o, struct cr_error *error)
{
    enum { NO_GROUP, CHECKPOINTS };
    const struct cr_named_file own[] = {{"--checkpoint", o->checkpoint, true, CHECKPOINTS},
                                        {"--save", o->save, true, NO_GROUP},
                                        {"--loss-curve", o->loss_curve, true, NO_GROUP},
                                        {"--resume", o->resume, false, CHECKPOINTS},
                                        {"the script", o->model, false, NO_GROUP}};
    int n = sizeof own / sizeof *own, room = n + o->input.n + o->validation_input.n + o->weights.n;
    struct cr_named_file *files = cr_calloc((size_t)room, sizeof *files);
    memcpy(files, own, sizeof own);
    add_pairs(files, &n, "--input", &o->input);
    add_pairs(files, &n, "--validation-input", &o->validation_input);
    for (int i = 0; i < o->weights.n; i++)
        files[n++] = (struct cr_named_file){"--weights", o->weights.items[i], false, NO_GROUP};
    int status = cr_check_files(o, files, n, error);
    free(files);
    return status;
}

/* Fails if an option lacks another option that it needs, or is given with one that excludes it. */
static int check_options(const struct cr_options *o, struct cr_error *error)
{
    if (o->every && !o->checkpoint)
        return cr_fail(error, "--every %" PRId64 ": expected --checkpoint beside it", o->every);
    if (o->resume && o->weights.n)
        return cr_fail(error, "--weights %.200s: expected no --resume beside it",
                       o->weights.items[0]);
    if (o->log_scale && !o->loss_curve)
        return cr_fail(error, "--log-scale: expected --loss-curve beside it");
    if (o->validation_input.n && !o->validate_every)
        return cr_fail(error, "--validation-input %.200s: expected --validate-every beside it",
                       o->validation_input.items[0].key);
    if (o->loss_curve && cr_curve_check(o->loss_curve, error))
        return -1;
    return check_paths(o, error);
}

/* ---- resuming ---- */

/* Returns a copy of a setting, whose key and value are one block: freeing the key frees both. */
static crescent_setting setting_of(const crescent_setting *option)
{
    size_t length = strlen(option->key) + 1, size = strlen(option->value) + 1;
    char *key = cr_calloc(length + size, 1);
    memcpy(key, option->key, length);
    memcpy(key + length, option->value, size);
    return (crescent_setting){key, key + length};
}

/* Takes the seed and the script's options from the checkpoint of --resume, unless the command
 * line sets them. */
static int take_settings(struct cr_options *o, struct cr_error *error)
{
    crescent_checkpoint *checkpoint;
    crescent_setting option;
    if (cr_passed(o, crescent_checkpoint_open(o->context, o->resume, &checkpoint), error))
        return -1;
    o->seed = o->seed_given ? o->seed : crescent_checkpoint_seed(checkpoint);
    for (int i = 0; i < crescent_checkpoint_option_count(checkpoint); i++)
        if (!crescent_checkpoint_option_at(checkpoint, i, &option))
            *CR_PUSH(o->resumed.items, o->resumed.n, o->resumed.cap) = setting_of(&option);
    crescent_checkpoint_close(checkpoint);
    return 0;
}

/* Prints notes on stderr about options whose values differ from the checkpoint's. */
static void note_settings(const struct cr_options *o, const crescent_graph *graph)
{
    char before[400] = "", now[400] = "";
    size_t room = sizeof before, b = 0, n = 0;
    for (int i = 0; i < o->resumed.n; i++) {
        const crescent_setting *old = &o->resumed.items[i];
        const char *value = value_of(graph, old->key);
        if (!value || strcmp(old->value, value) == 0 || b >= room || n >= room)
            continue;
        b += (size_t)snprintf(before + b, room - b, " %s=%.60s", old->key, old->value);
        n += (size_t)snprintf(now + n, room - n, " %s=%.60s", old->key, value);
    }
    if (*before)
        cr_note("%.400s: the checkpoint was made with%s, the training continues with%s", o->resume,
                before, now);
}

/* ---- the loop ---- */

/* The state of one call of the verb. */
struct train {
    const struct cr_options *options;
    crescent_graph *graph;
    crescent_trainer *trainer;
    crescent_surplus surplus;
    struct cr_progress progress;
    bool has_entries; /* a step has micro-batches: the names of outputs begin with their entry */
    int64_t last; /* number of the step after which to stop */
    int64_t sent; /* bytes that this rank has sent during steps */
    bool stopped; /* a signal arrived on some rank */
};

/* The result of the loop of steps. */
enum end {
    MADE,     /* all steps were made, or a signal came: the state is written */
    UNSAVED,  /* a checkpoint could not be written, but the state is valid */
    DIVERGED, /* a loss is NaN or infinite, or a run failed: the state is not written */
};

/* Sets the last step: --steps more steps than made so far; without --steps, the script's `steps`
 * in total. */
static int find_last(struct train *r, int64_t declared, struct cr_error *error)
{
    int64_t made = cr_status_of(r->trainer).step;
    if (r->options->steps < 0 && declared < 0)
        return cr_fail(error, "%.400s: no --steps, expected it or an option steps of the script",
                       r->options->model);
    r->last = r->options->steps >= 0 ? made + r->options->steps : declared;
    if (r->last < made)
        r->last = made;
    return 0;
}

/* Validates if --validate-every asks for it at this step, also before the first step, but only
 * once for a step. An interrupted validation is repeated when the training is resumed. */
static int validate(const struct train *r)
{
    crescent_training t = cr_status_of(r->trainer);
    if (!r->options->validate_every || t.step % r->options->validate_every != 0 ||
        t.validated == t.step)
        return 0;
    int status = crescent_trainer_validate(r->trainer, is_stopped, NULL, NULL);
    return status == CRESCENT_STOPPED ? 0 : status;
}

/* True for the process that writes files: the only one, or the first of several ranks. */
static bool is_writer(const struct train *r)
{
    return crescent_ranks_of(r->options->context).rank == 0;
}

/* True if a signal arrived on any rank.  All ranks call it after each step. */
static bool is_stopping(struct train *r)
{
    return r->stopped = crescent_ranks_any(r->options->context, cr_is_stopped());
}

/* True if --every requests a checkpoint after this step.  The last step is excluded: its
 * checkpoint is always written. */
static bool is_due(const struct train *r, int64_t step)
{
    return r->options->every && step % r->options->every == 0 && step < r->last;
}

/* Makes steps until the last one, or until a signal. */
static enum end make_steps(struct train *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    crescent_trainer *t = r->trainer;
    if (cr_passed(o, validate(r), error))
        return DIVERGED;
    for (int64_t step = cr_status_of(t).step; step < r->last && !is_stopping(r);) {
        int64_t sent = crescent_ranks_of(o->context).sent;
        if (cr_passed(o, crescent_trainer_step(t), error))
            return DIVERGED;
        r->sent += crescent_ranks_of(o->context).sent - sent;
        if (cr_passed(o, validate(r), error))
            return DIVERGED;
        step++;
        cr_progress_step(&r->progress);
        if (is_due(r, step) && cr_passed(o, crescent_trainer_save(t, o->checkpoint), error))
            return UNSAVED;
    }
    return MADE;
}

/* ---- results ---- */

static int write_checkpoint(const struct train *r, struct cr_error *error)
{
    const char *path = r->options->checkpoint;
    if (cr_passed(r->options, crescent_trainer_save(r->trainer, path), error))
        return -1;
    if (is_writer(r))
        cr_print(stdout, "Wrote %s: the state after step %" PRId64 "\n", path,
                 cr_status_of(r->trainer).step);
    return 0;
}

static int write_params(const struct train *r, struct cr_error *error)
{
    const char *path = r->options->save;
    if (cr_passed(r->options, crescent_trainer_save_weights(r->trainer, path), error))
        return -1;
    if (is_writer(r))
        cr_print(stdout, "Wrote %s: the parameters\n", path);
    return 0;
}

/* Draws the losses; does nothing if there are none. */
static int draw_curve(const struct train *r, struct cr_error *error)
{
    const struct cr_curve curve = {r->options, r->trainer, crescent_graph_name(r->graph),
                                   r->options->log_scale};
    int64_t first = 0, last = 0;
    if (!cr_curve_has_points(&curve)) {
        bool some = crescent_loss_count(r->trainer, CRESCENT_STEP_LOSSES) > 0;
        printf("Wrote no curve: %s\n", some ? "no loss is above 0" : "no loss is known");
        return 0;
    }
    if (cr_curve_draw(&curve, r->options->loss_curve, error))
        return -1;
    crescent_loss_range(r->trainer, &first, &last);
    cr_print(stdout, "Wrote %s: the losses of steps %" PRId64 " to %" PRId64 "\n",
             r->options->loss_curve, first + 1, last);
    return 0;
}

/* Writes all files, even if one of them fails.  All ranks call it, since they share the states.
 * Returns -1 with the first error if a file could not be written. */
static int write_files(const struct train *r, enum end end, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    const struct {
        bool wanted;
        int (*write)(const struct train *, struct cr_error *);
    } files[] = {{o->checkpoint && end == MADE, write_checkpoint},
                 {o->save && end != DIVERGED, write_params},
                 {o->loss_curve != NULL && is_writer(r), draw_curve}};
    int status = end == MADE ? 0 : -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cr_error later;
        if (files[i].wanted && files[i].write(r, status ? &later : error))
            status = -1;
    }
    return status;
}

/* ---- preparing ---- */

/* Passes the files that an option names to the trainer, by its function `read`. */
static int read_files(const struct train *r, const struct cr_pairs *pairs,
                      int (*read)(crescent_trainer *, const crescent_input_file *, int),
                      struct cr_error *error)
{
    crescent_input_file *files = cr_calloc((size_t)pairs->n, sizeof *files);
    for (int i = 0; i < pairs->n; i++)
        files[i] = (crescent_input_file){pairs->items[i].key, pairs->items[i].value};
    int status = read(r->trainer, files, pairs->n);
    free(files);
    return cr_passed(r->options, status, error);
}

/* Sets the initial state: from a checkpoint, from files of weights, or drawn. */
static int start(struct train *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    if (cr_passed(o, crescent_trainer_open(r->graph, &config, &r->trainer), error) ||
        read_files(r, &o->input, crescent_trainer_feed, error) ||
        cr_passed(o, crescent_trainer_start(r->trainer), error))
        return -1;
    r->has_entries = crescent_graph_entry_count(r->graph) > 1;
    return cr_fill_params(crescent_trainer_model(r->trainer), o, &r->surplus, error);
}

/* Opens and checks everything before the first step. */
static int prepare(struct train *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    if (check_options(o, error) || cr_graph_load_entries(o, &r->graph, error) || start(r, error) ||
        (o->resume && cr_passed(o, crescent_trainer_resume(r->trainer, o->resume), error)) ||
        (o->validate_every &&
         read_files(r, &o->validation_input, crescent_trainer_validation, error)) ||
        find_last(r, declared_steps(r->graph), error) ||
        cr_passed(o, crescent_trainer_compare_ranks(r->trainer), error))
        return -1;
    crescent_ranks_share(o->context, &r->last, sizeof r->last);
    return cr_passed(o, crescent_trainer_check_save(r->trainer, o->checkpoint, o->save), error);
}

/* ---- notes ---- */

/* Returns the name of output i without the prefix of its entry. */
static const char *name_of_output(const struct train *r, int i)
{
    const char *name =
        cr_port_of(crescent_trainer_model(r->trainer), CRESCENT_OUTPUT, i).name;
    const char *dot = r->has_entries ? strchr(name, '.') : NULL;
    return dot ? dot + 1 : name;
}

/* Returns for each parameter its name if no output replaces it, else null; the caller frees the
 * array. */
static const char **untouched_params(const struct train *r, int n)
{
    const crescent_model *m = crescent_trainer_model(r->trainer);
    const char **names = cr_calloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; i++)
        names[i] = cr_port_of(m, CRESCENT_PARAM, i).name;
    for (int i = 0; i < crescent_port_count(m, CRESCENT_OUTPUT); i++) {
        int param = crescent_port_find(m, CRESCENT_PARAM, name_of_output(r, i));
        if (param != CRESCENT_NONE)
            names[param] = NULL;
    }
    return names;
}

/* True if a step uses an output of that name: it is the new value of a parameter or an input, or
 * the loss, the learning rate or the count of tokens. */
static bool is_used(const crescent_model *m, const char *name)
{
    return crescent_port_find(m, CRESCENT_PARAM, name) != CRESCENT_NONE ||
           crescent_port_find(m, CRESCENT_INPUT, name) != CRESCENT_NONE ||
           strcmp(name, "loss") == 0 || strcmp(name, "lr") == 0 || strcmp(name, "tokens") == 0;
}

/* Prints a note on stderr about an output with a name similar to that of a parameter which no
 * output replaces: it may be a measurement, or the parameter's misspelt name, so that the
 * parameter never changes. */
static void note_names(const struct train *r)
{
    const crescent_model *m = crescent_trainer_model(r->trainer);
    int n = crescent_port_count(m, CRESCENT_PARAM);
    const char **names = untouched_params(r, n);
    char hint[256];
    for (int i = 0; i < crescent_port_count(m, CRESCENT_OUTPUT); i++) {
        const char *name = name_of_output(r, i);
        if (is_used(m, name))
            continue;
        cr_did_you_mean(hint, sizeof hint, name, names, n);
        if (*hint)
            cr_note("%.400s: output %.150s has the name of no parameter or input%s", r->options->model, name, hint);
    }
    free(names);
}

/* Prints notes about possible mistakes on stderr before the first step: a failure prints just one
 * line. */
static void note(const struct train *r)
{
    cr_note_surplus(&r->surplus);
    note_names(r);
    note_settings(r->options, r->graph);
    if (!r->options->checkpoint && !r->options->save && r->last > cr_status_of(r->trainer).step)
        cr_note("%.400s: neither --checkpoint nor --save, nothing that is learned will be saved",
                r->options->model);
}

/* ---- the verb ---- */

/* Prints how many bytes the ranks exchanged. */
static void print_sent(const struct train *r)
{
    crescent_ranks ranks = crescent_ranks_of(r->options->context);
    if (ranks.count > 1 && ranks.rank == 0)
        printf("%d ranks, of which the first one has sent %s bytes in steps\n", ranks.count,
               cr_thousands(r->sent).text);
}

/* Trains and writes files; returns the exit status. */
static int run(struct train *r, struct cr_error *error)
{
    if (prepare(r, error))
        return 2;
    note(r);
    cr_catch_signals();
    cr_progress_begin(&r->progress, r->options, r->trainer, r->last);
    enum end end = make_steps(r, error);
    cr_progress_end(&r->progress);
    print_sent(r);
    if (write_files(r, end, error))
        return 2;
    int status = cr_is_stopped() || r->stopped ? CR_INTERRUPTED : 0;
    crescent_ranks_share(r->options->context, &status, sizeof status); /* waits until the first
                                                                        * rank has written its
                                                                        * files */
    return status;
}

int cr_verb_train(const struct cr_options *options, struct cr_error *error)
{
    struct cr_options own = cr_options_copy(options);
    struct train r = {.options = &own};
    int status = own.resume && take_settings(&own, error) ? 2 : 0;
    if (!status)
        status = run(&r, error);
    crescent_trainer_close(r.trainer);
    crescent_graph_close(r.graph);
    cr_options_free(&own);
    return status;
}
