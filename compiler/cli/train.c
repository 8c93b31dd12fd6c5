/* train.c - crescent train: one compiled step, made again and again. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "curve.h"
#include "outfiles.h"
#include "progress.h"
#include "validation.h"

enum { INTERRUPTED = 130 };

/* ---- signals ---- */

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
    (void)number;
    stop = 1;
}

/*
 * The first signal ends the training after the step that is being made; a second SIGINT or
 * SIGTERM ends the process at once.  A second SIGHUP does not: a terminal that is closed may
 * send several.  SIGHUP stays ignored where it is, as nohup has it.
 */
static void catch_signals(void)
{
    struct sigaction once = {.sa_handler = ask_to_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
    struct sigaction always = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART}, before;
    sigemptyset(&once.sa_mask);
    sigemptyset(&always.sa_mask);
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &always, NULL);
}

/* ---- options ---- */

/* The number of an option `steps` that the script declares, or -1. */
static int64_t declared_steps(const struct cr_script *script)
{
    for (int i = 0; i < script->n_options; i++) {
        char *end;
        if (strcmp(script->options[i].name, "steps") != 0)
            continue;
        int64_t steps = strtoll(script->options[i].value, &end, 10);
        return *end || steps < 0 ? -1 : steps;
    }
    return -1;
}

/* The files of an option that takes NAME=FILE. */
static void add_pairs(struct cr_named_file *files, int *n, const char *option,
                      const struct cr_pairs *pairs)
{
    for (int i = 0; i < pairs->n; i++)
        files[(*n)++] = (struct cr_named_file){option, pairs->items[i].value, false, 0};
}

/* Each file that is written can be, and is another one than those that are written or read; but a
 * checkpoint may go on in its own file. */
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
    int status = cr_check_files(files, n, error);
    free(files);
    return status;
}

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

/* ---- the loop ---- */

/* A run of the verb. */
struct train {
    const struct cr_options *options;
    struct cr_model model;
    struct cr_training training;
    struct cr_validation validation; /* with --validate-every */
    struct cr_progress progress;
    int64_t last; /* the step to stop after */
};

/* How making the steps ended. */
enum end {
    MADE,     /* or interrupted: the state is to be written */
    UNSAVED,  /* the checkpoint could not be written; the state is good */
    DIVERGED, /* a loss is no number, or a run failed: the state is not to be written */
};

/* The step to stop after: --steps from here, else the script's own `steps` in all. */
static int find_last(struct train *r, int64_t declared, struct cr_error *error)
{
    int64_t made = r->training.step;
    if (r->options->steps < 0 && declared < 0)
        return cr_fail(error, "%.400s: no --steps, expected it or an option steps of the script",
                       r->options->model);
    r->last = r->options->steps >= 0 ? made + r->options->steps : declared;
    if (r->last < made)
        r->last = made;
    return 0;
}

/* Validates after every so many steps, and before the first; once after a step.  What a signal
 * interrupts is made up for when the training is resumed. */
static int validate(struct train *r, struct cr_error *error)
{
    struct cr_training *t = &r->training;
    double loss;
    if (!r->options->validate_every || t->step % r->options->validate_every != 0 ||
        cr_history_is_validated(&t->history, t->step))
        return 0;
    int status = cr_validation_run(&r->validation, t, &stop, &loss, error);
    if (!status)
        cr_history_add_validation(&t->history, t->step, loss);
    return status < 0 ? -1 : 0;
}

static enum end make_steps(struct train *r, struct cr_error *error)
{
    struct cr_training *t = &r->training;
    if (validate(r, error))
        return DIVERGED;
    while (t->step < r->last && !stop) {
        if (cr_training_step(t, error) || validate(r, error))
            return DIVERGED;
        cr_progress_step(&r->progress);
        if (r->options->every && t->step % r->options->every == 0 && t->step < r->last &&
            cr_checkpoint_write(t, r->options->checkpoint, error))
            return UNSAVED;
    }
    return MADE;
}

/* ---- what is left of the training ---- */

static int write_checkpoint(const struct train *r, struct cr_error *error)
{
    const char *path = r->options->checkpoint;
    if (cr_checkpoint_write(&r->training, path, error))
        return -1;
    cr_print(stdout, "Wrote %s: the state after step %" PRId64 "\n", path, r->training.step);
    return 0;
}

static int write_params(const struct train *r, struct cr_error *error)
{
    if (cr_checkpoint_write_params(&r->training, r->options->save, error))
        return -1;
    cr_print(stdout, "Wrote %s: the parameters\n", r->options->save);
    return 0;
}

static int draw_curve(const struct train *r, struct cr_error *error)
{
    const struct cr_history *h = &r->training.history;
    const struct cr_curve curve = {h, r->training.engine.name, r->options->log_scale};
    if (!cr_curve_has_points(&curve)) {
        printf("Wrote no curve: %s\n", h->n ? "no loss is above 0" : "no loss is known");
        return 0;
    }
    if (cr_curve_draw(&curve, r->options->loss_curve, error))
        return -1;
    cr_print(stdout, "Wrote %s: the losses of steps %" PRId64 " to %" PRId64 "\n",
             r->options->loss_curve, h->first + 1, h->first + h->steps);
    return 0;
}

/* Writes what can be: a file that fails does not keep the next from being written.  Returns -1
 * if one failed, with the error of the first. */
static int write_files(const struct train *r, enum end end, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    const struct {
        bool wanted;
        int (*write)(const struct train *, struct cr_error *);
    } files[] = {{o->checkpoint && end == MADE, write_checkpoint},
                 {o->save && end != DIVERGED, write_params},
                 {o->loss_curve != NULL, draw_curve}};
    int status = end == MADE ? 0 : -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cr_error later;
        if (files[i].wanted && files[i].write(r, status ? &later : error))
            status = -1;
    }
    return status;
}

/* ---- the verb ---- */

/* Everything that may be refused, before the first step. */
static int prepare(struct train *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    if (check_options(o, error) || cr_model_load(&r->model, o, error) ||
        cr_training_open(&r->training, &r->model, error) ||
        (o->resume && cr_checkpoint_read(&r->training, o->resume, error)) ||
        (o->validate_every && cr_validation_open(&r->validation, &r->training, error)) ||
        find_last(r, declared_steps(&r->model.script), error))
        return -1;
    return cr_checkpoint_rehearse(&r->training, o->checkpoint, o->save, error);
}

/* Lines on stderr about what may not be meant. */
static void note(const struct train *r)
{
    cr_training_note(&r->training);
    cr_checkpoint_note(&r->training);
    if (!r->options->checkpoint && !r->options->save && r->last > r->training.step)
        fprintf(stderr,
                "crescent: note: %.400s: neither --checkpoint nor --save, nothing that is learned "
                "will be saved\n",
                r->options->model);
}

static int run(struct train *r, struct cr_error *error)
{
    if (prepare(r, error))
        return 2;
    note(r);
    catch_signals();
    cr_progress_begin(&r->progress, &r->training, r->last);
    enum end end = make_steps(r, error);
    cr_progress_end(&r->progress);
    if (write_files(r, end, error))
        return 2;
    return stop ? INTERRUPTED : 0;
}

int cr_verb_train(const struct cr_options *options, struct cr_error *error)
{
    struct cr_options own = cr_options_copy(options);
    struct train r = {.options = &own};
    int status = own.resume && cr_checkpoint_settings(&own, own.resume, error) ? 2 : 0;
    if (!status)
        status = run(&r, error);
    cr_validation_close(&r.validation);
    cr_training_close(&r.training);
    cr_model_free(&r.model);
    cr_options_free(&own);
    return status;
}
