/* tune.c - crescent tune: finds the fastest loop sizes for this machine. */
#include <stdio.h>

#include "compiler/ir/escape.h"
#include "model.h"
#include "outfiles.h"
#include "report.h"
#include "verbs.h"

static void print_trial(const crescent_trial *t)
{
    printf("  %-16s %8lld -> %-8lld ", t->size, (long long)t->was, (long long)t->value);
    if (t->measured)
        printf("%.3f of the time%s\n", t->ratio, t->kept ? ", kept" : "");
    else
        puts("the same program");
    fflush(stdout);
}

/* Measures all candidates for which there is time. */
static int tune(crescent_tuner *tuner, const struct cr_options *o, struct cr_error *error)
{
    crescent_trial trial;
    crescent_tuning tuning;
    int status;
    while ((status = crescent_tuner_next(tuner, &trial)) == CRESCENT_OK)
        print_trial(&trial);
    if ((status != CRESCENT_STOPPED && cr_passed(o, status, error)) ||
        cr_passed(o, crescent_tuner_finish(tuner, o->out, &tuning), error))
        return 2;
    cr_print(stdout, "A run took %s and takes %s: %.1f%% gained, kept in %s\n",
             cr_duration((int64_t)tuning.before_ns).text,
             cr_duration((int64_t)tuning.after_ns).text,
             100 * (1 - tuning.after_ns / tuning.before_ns), tuning.path);
    return 0;
}

/* Tunes.  The graph stays open, since each candidate is compiled from it. */
int cr_verb_tune(const struct cr_options *o, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    const struct cr_named_file files[] = {{"--out", o->out, true, 0},
                                          {"the script", o->model, false, 0}};
    crescent_graph *graph;
    crescent_tuner *tuner;
    if (cr_check_files(o, files, sizeof files / sizeof *files, error) ||
        cr_graph_load(o, &graph, error))
        return 2;
    int status = cr_passed(o, crescent_tuner_open(graph, &config, o->seconds, &tuner), error);
    if (!status)
        status = cr_passed(o, crescent_tuner_check_finish(tuner, o->out), error);
    if (!status)
        status = tune(tuner, o, error);
    crescent_tuner_close(tuner);
    crescent_graph_close(graph);
    return status ? 2 : 0;
}
