/* train.c - crescent train: one compiled step, made again and again. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "curve.h"
#include "progress.h"

enum { INTERRUPTED = 130 };

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
    (void)number;
    stop = 1;
}

/* The first signal ends the training after the step that is being made; a second one ends the
 * process at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
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

/* Whether a file can be written is known before the first step, and not after the last. */
static int check_file(const char *path, struct cr_error *error)
{
    struct cr_writer writer;
    if (!path)
        return 0;
    if (cr_writer_open(&writer, path, error->text, sizeof error->text))
        return -1;
    cr_writer_discard(&writer);
    return 0;
}

/* Each file that is written is another one. */
static int check_paths(const struct cr_options *o, struct cr_error *error)
{
    const char *paths[] = {o->checkpoint, o->save, o->loss_curve};
    for (int i = 0; i < 3; i++) {
        if (check_file(paths[i], error))
            return -1;
        for (int j = 0; j < i; j++)
            if (paths[i] && paths[j] && strcmp(paths[i], paths[j]) == 0)
                return cr_fail(error, "%.400s: named for two results, expected a file for each",
                               paths[i]);
    }
    return 0;
}

static int check_options(const struct cr_options *o, struct cr_error *error)
{
    if (o->every && !o->checkpoint)
        return cr_fail(error, "--every %" PRId64 ": expected --checkpoint beside it", o->every);
    if (o->resume && o->weights.n)
        return cr_fail(error, "--weights %.200s: expected no --resume beside it",
                       o->weights.items[0]);
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
    struct cr_progress progress;
    struct cr_curve curve;
    int64_t last; /* the step to stop after */
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

static int make_steps(struct train *r, struct cr_error *error)
{
    struct cr_training *t = &r->training;
    while (t->step < r->last && !stop) {
        if (cr_training_step(t, error))
            return -1;
        cr_progress_step(&r->progress);
        if (r->options->loss_curve)
            *CR_PUSH(r->curve.losses, r->curve.n, r->curve.cap) = cr_training_value(t, t->loss);
        if (r->options->every && t->step % r->options->every == 0 && t->step < r->last &&
            cr_checkpoint_write(t, r->options->checkpoint, error))
            return -1;
    }
    return 0;
}

/* What is left of the training. */
static int write_files(const struct train *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    if (o->checkpoint) {
        if (cr_checkpoint_write(&r->training, o->checkpoint, error))
            return -1;
        printf("Wrote %s: the state after step %" PRId64 "\n", o->checkpoint, r->training.step);
    }
    if (o->save) {
        if (cr_checkpoint_write_params(&r->training, o->save, error))
            return -1;
        printf("Wrote %s: the parameters\n", o->save);
    }
    if (o->loss_curve && !cr_curve_has_points(&r->curve)) {
        printf("Wrote no curve: %s\n", r->curve.n ? "no loss is a number" : "no step was made");
    } else if (o->loss_curve) {
        if (cr_curve_draw(&r->curve, r->training.engine.name, o->loss_curve, error))
            return -1;
        printf("Wrote %s: the losses of %d step%s\n", o->loss_curve, r->curve.n,
               r->curve.n == 1 ? "" : "s");
    }
    return 0;
}

static int prepare(struct train *r, struct cr_error *error)
{
    const char *resume = r->options->resume;
    if (check_options(r->options, error) || cr_model_load(&r->model, r->options, error) ||
        cr_training_open(&r->training, &r->model, error) ||
        (resume && cr_checkpoint_read(&r->training, resume, error)))
        return -1;
    return find_last(r, declared_steps(&r->model.script), error);
}

static int run(struct train *r, struct cr_error *error)
{
    if (prepare(r, error))
        return 2;
    cr_training_note(&r->training);
    cr_checkpoint_note(&r->training);
    catch_signals();
    r->curve.first = r->training.step;
    cr_progress_begin(&r->progress, &r->training, r->last);
    int status = make_steps(r, error);
    cr_progress_end(&r->progress);
    if (status || write_files(r, error))
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
    free(r.curve.losses);
    cr_training_close(&r.training);
    cr_model_free(&r.model);
    cr_options_free(&own);
    return status;
}
