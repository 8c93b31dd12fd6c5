/* explain_measure.c - runs the model of an explanation to measure the times and errors of its
 * calls. */
#include <math.h>
#include <stdlib.h>

#include "client.h"
#include "compiler/ir/mem.h"
#include "element_walk.h"
#include "explanation.h"

static int check_model(const crescent_explanation *e)
{
    if (e->replay)
        return CRESCENT_OK;
    return cr_client_fail(e->context, "%.400s: no model, expected crescent_explanation_model before",
                          crescent_graph_script(e->graph));
}

/* ---- times ---- */

static int measure(crescent_explanation *e, const void *const *inputs, void *const *outputs,
                   double seconds)
{
    crescent_model *model = crescent_replay_model(e->replay);
    if (!e->measured)
        e->measured = cr_measurement_new(model);
    return cr_measure(e->measured, model, inputs, outputs, seconds);
}

int crescent_explanation_measure(crescent_explanation *e, const void *const *inputs,
                                 void *const *outputs, double seconds)
{
    CR_CLIENT_REQUIRE(e ? e->context : NULL, e && inputs && outputs);
    CR_CLIENT_ENTER(e->context);
    int status = check_model(e);
    return status ? status : measure(e, inputs, outputs, seconds);
}

/* ---- errors ---- */

static double rms_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (double)n);
}

/* Compares the tensor that a call completes with its exact value. */
static struct cr_call_error error_of(const crescent_replayed *value)
{
    static const crescent_tolerance any = {.atol = INFINITY, .max_ulp = -1};
    struct cr_element_walk walk =
        cr_element_walk(&value->node, 1, (const crescent_values *[]){&value->exact});
    double *got = cr_calloc((size_t)walk.n, sizeof *got);
    double *exact = cr_calloc((size_t)walk.n, sizeof *exact);
    for (int64_t i = 0; i < walk.n; i++, cr_element_next(&walk)) {
        got[i] = cr_stored_element(value, i);
        exact[i] = *walk.at[0];
    }
    crescent_difference d;
    crescent_compare(got, exact, walk.n, &any, &d);
    const struct cr_call_error error = {true, d.max_abs, d.max_ulp, rms_of(exact, walk.n), d.nans};
    free(got);
    free(exact);
    return error;
}

/* Compares the first result of each call with its exact value; further results of a kernel are
 * not compared. */
static int check(crescent_explanation *e, const void *const *inputs, void *const *outputs)
{
    crescent_replayed value;
    int status = crescent_replay_run(e->replay, CRESCENT_REPLAY_MODEL, inputs, outputs);
    if (status)
        return status;
    free(e->errors);
    e->errors = cr_calloc((size_t)e->report.n_calls, sizeof *e->errors);
    while (!(status = crescent_replay_next(e->replay, &value)))
        if (value.call >= 0 && value.result == 0)
            e->errors[value.call] = error_of(&value);
    return status == CRESCENT_STOPPED ? CRESCENT_OK : status;
}

int crescent_explanation_check(crescent_explanation *e, const void *const *inputs,
                               void *const *outputs)
{
    CR_CLIENT_REQUIRE(e ? e->context : NULL, e && inputs && outputs);
    CR_CLIENT_ENTER(e->context);
    int status = check_model(e);
    return status ? status : check(e, inputs, outputs);
}
