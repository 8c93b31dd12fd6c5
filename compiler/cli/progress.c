/* progress.c - prints the progress of a training; see progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "report.h"
#include "terminal.h"

enum { REWRITE_NS = 100000000, MAX_LINE = 200 };

crescent_training cr_status_of(const crescent_trainer *trainer)
{
    crescent_training status = {0};
    crescent_trainer_status(trainer, &status);
    return status;
}

/* Formats the speed in tokens a second or, if the script counts no tokens, in steps a second. */
static struct cr_phrase speed(const struct cr_progress *p, const crescent_training *t, int64_t now)
{
    struct cr_phrase out;
    double rate = (double)(t->step - p->first) * 1e9 / (double)(now - p->start + 1);
    if (t->has_tokens)
        snprintf(out.text, sizeof out.text, "%.40s tokens/s",
                 cr_thousands((int64_t)(rate * t->tokens)).text);
    else
        snprintf(out.text, sizeof out.text, "%.*f steps/s", rate < 100 ? 1 : 0, rate);
    return out;
}

/* Returns ", validation 0.1234" with the last validation loss; "" if this run does not validate. */
static struct cr_phrase validation(const struct cr_progress *p, const crescent_training *t)
{
    struct cr_phrase out = {""};
    if (p->options->validate_every && t->validated >= 0)
        snprintf(out.text, sizeof out.text, ", validation %.4f", t->validation);
    return out;
}

/* Returns "loss 0.1234, lr 3.00e-04" with the current numbers and the validation loss. */
static struct cr_phrase numbers(const struct cr_progress *p, const crescent_training *t)
{
    struct cr_phrase out;
    int n = snprintf(out.text, sizeof out.text, "loss %.4f", t->loss);
    if (t->has_lr)
        n += snprintf(out.text + n, sizeof out.text - (size_t)n, ", lr %.2e", t->lr);
    snprintf(out.text + n, sizeof out.text - (size_t)n, "%.40s", validation(p, t).text);
    return out;
}

/* Formats the time that the remaining steps will take at the speed so far. */
static struct cr_phrase time_left(const struct cr_progress *p, const crescent_training *t,
                                  int64_t now)
{
    double done = (double)(t->step - p->first);
    double left = (double)(p->last - t->step) / done * (double)(now - p->start) * 1e-9;
    struct cr_phrase out;
    if (left < 100)
        snprintf(out.text, sizeof out.text, "%.0f s", left);
    else
        snprintf(out.text, sizeof out.text, "%.0f min", left / 60);
    return out;
}

/* Overwrites the line of progress.  A line that wraps cannot be overwritten, so if it is too
 * long, its least important parts are omitted, and the rest is cut. */
static void rewrite(struct cr_progress *p, const crescent_training *t, int64_t now)
{
    char line[2 * MAX_LINE], lr[32] = "";
    int width = cr_columns() - 1;
    if (t->has_lr)
        snprintf(lr, sizeof lr, ", lr %.2e", t->lr);
    for (int left_out = 0; left_out < 4; left_out++) {
        int n = snprintf(line, sizeof line, "step %" PRId64 "/%" PRId64 ": loss %.4f%s%.40s%s%.40s, %.20s left",
                         t->step, p->last, t->loss, left_out > 0 ? "" : lr,
                         left_out > 2 ? "" : validation(p, t).text, left_out > 1 ? "" : ", ",
                         left_out > 1 ? "" : speed(p, t, now).text, time_left(p, t, now).text);
        if (n <= width)
            break;
    }
    printf("\r%.*s\033[K", width, line);
    fflush(stdout);
    p->shown = true;
}

void cr_progress_begin(struct cr_progress *p, const struct cr_options *options,
                       crescent_trainer *trainer, int64_t last)
{
    *p = (struct cr_progress){.options = options,
                              .trainer = trainer,
                              .terminal = isatty(STDOUT_FILENO) == 1,
                              .first = cr_status_of(trainer).step,
                              .last = last,
                              .start = crescent_clock(),
                              .first_loss = NAN};
}

/* Clears the line of progress. */
static void end_line(struct cr_progress *p)
{
    if (p->shown)
        printf("\r\033[K");
    p->shown = false;
}

/* Prints the line that --log requests for a step. */
static void log_step(struct cr_progress *p, const crescent_training *t, int64_t now)
{
    end_line(p);
    printf("step %" PRId64 "/%" PRId64 ": %s, %s\n", t->step, p->last, numbers(p, t).text,
           speed(p, t, now).text);
    fflush(stdout);
}

void cr_progress_step(struct cr_progress *p)
{
    crescent_training t = cr_status_of(p->trainer);
    int64_t now = crescent_clock();
    if (t.step == p->first + 1)
        p->first_loss = t.loss;
    if (p->options->log && t.step % p->options->log == 0)
        log_step(p, &t, now);
    if (!p->terminal || (now - p->written < REWRITE_NS && t.step < p->last))
        return;
    p->written = now;
    rewrite(p, &t, now);
}

void cr_progress_end(struct cr_progress *p)
{
    crescent_training t = cr_status_of(p->trainer);
    crescent_report report = cr_report_of_model(crescent_trainer_model(p->trainer));
    int64_t now = crescent_clock(), made = t.step - p->first;
    end_line(p);
    printf("Trained %" PRId64 " step%s", made, made == 1 ? "" : "s");
    if (p->first)
        printf(" after %" PRId64, p->first);
    if (made)
        printf(": loss %.4f to %.4f%s, %s, %s", p->first_loss, t.loss, validation(p, &t).text,
               cr_duration(now - p->start).text, speed(p, &t, now).text);
    printf("\n");
    if (report.compiled) {
        cr_print_memory(&report);
        cr_print_again(&report);
    }
}
