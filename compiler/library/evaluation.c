/* evaluation.c - measures how well a model predicts a text, and how far its predictions are from
 * another model's; see crescent.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/tensor_memory.h"
#include "compiler/ir/mem.h"
#include "handles.h"

enum { ROWS = 64 /* tokens whose logits are computed in one run */ };

/* An evaluation of one model, or of two models on the same text. */
struct evaluation {
    crescent_generator *generator[2]; /* generator[1] is the reference, or null */
    int n_generators;
    int64_t vocabulary, window;
    float *logits[2];   /* [ROWS, vocabulary] */
    int32_t *ids;       /* the ids of the current window */
    double loss[2], divergence;
    int64_t tokens, agreed;
};

/* ---- checks ---- */

/* Fails unless a generator has one text in its batch and returns logits of all tokens, and `window`
 * has at least one token to predict. */
static int check_generator(const crescent_generator *g, int64_t window,
                           crescent_generator_status *about, struct cr_error *error)
{
    crescent_generator_get_status(g, about);
    if (about->texts != 1 || !about->all_logits)
        return cr_fail(error, "crescent_evaluate: a generator of %" PRId64 " texts%s, expected one of 1 "
                              "text with all_logits",
                       about->texts, about->all_logits ? "" : " without all_logits");
    if (window < 2 || window > about->context)
        return cr_fail(error, "crescent_evaluate: windows of %" PRId64
                              " tokens, expected 2 to the %" PRId64 " of the context",
                       window, about->context);
    return 0;
}

/* Checks all ids.  Ids that are predicted but never fed are checked here only, as no run reads
 * them. */
static int check_ids(const struct evaluation *e, const crescent_window *how, const int32_t *ids,
                     int64_t n, struct cr_error *error)
{
    int64_t least = how->begin == CRESCENT_NONE ? 2 : 1;
    if (n < least)
        return cr_fail(error, "crescent_evaluate: a text of %" PRId64 " tokens, expected %" PRId64
                              " at least",
                       n, least);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= e->vocabulary)
            return cr_fail(error, "crescent_evaluate: token %" PRId64 " is %" PRId32
                                  ", expected an id from 0 to %" PRId64,
                           i, ids[i], e->vocabulary - 1);
    return 0;
}

/* Checks both models; they must have vocabularies of the same size. */
static int check(struct evaluation *e, const crescent_window *how, struct cr_error *error)
{
    crescent_generator_status about;
    for (int i = 0; i < e->n_generators; i++) {
        if (check_generator(e->generator[i], how->tokens, &about, error))
            return -1;
        if (i && about.vocabulary != e->vocabulary)
            return cr_fail(error, "crescent_evaluate: vocabularies of %" PRId64 " and %" PRId64
                                  " tokens, expected the same",
                           e->vocabulary, about.vocabulary);
        e->vocabulary = about.vocabulary;
    }
    return 0;
}

/* ---- one token ---- */

/* Returns ln(sum of exp(x)). */
static double log_sum(const float *x, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

static int64_t likeliest(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* Adds the loss at one position, -ln p of the next token, of each model.  For two models also adds
 * the divergence of the first model from the reference, the sum of q (ln q - ln p). */
static void see_token(struct evaluation *e, const float *const logits[2], int32_t next)
{
    int64_t n = e->vocabulary;
    double sums[2];
    for (int g = 0; g < e->n_generators; g++) {
        sums[g] = log_sum(logits[g], n);
        e->loss[g] += sums[g] - logits[g][next];
    }
    e->tokens++;
    if (e->n_generators == 1)
        return;
    e->agreed += likeliest(logits[0], n) == likeliest(logits[1], n);
    for (int64_t i = 0; i < n; i++) {
        double p = logits[0][i] - sums[0], q = logits[1][i] - sums[1], mass = exp(q);
        e->divergence += mass > 0 ? mass * (q - p) : 0;
    }
}

/* ---- a window ---- */

/* Feeds tokens first .. first + n - 1 of the window to each model, and adds the losses of their
 * predictions. */
static int see_rows(struct evaluation *e, int64_t first, int64_t n)
{
    for (int g = 0; g < e->n_generators; g++) {
        int status = crescent_generator_feed(e->generator[g], e->ids + first, n, e->logits[g]);
        if (status)
            return status;
    }
    for (int64_t i = 0; i < n; i++) {
        const float *at[2] = {e->logits[0] + i * e->vocabulary, NULL};
        at[1] = e->logits[1] ? e->logits[1] + i * e->vocabulary : NULL;
        see_token(e, at, e->ids[first + i + 1]);
    }
    return CRESCENT_OK;
}

/* Evaluates a window.  Its last token is only predicted, not fed. */
static int see_window(struct evaluation *e, int64_t n)
{
    int status = CRESCENT_OK;
    for (int g = 0; g < e->n_generators; g++)
        crescent_generator_reset(e->generator[g]);
    for (int64_t first = 0; first < n - 1 && !status; first += ROWS)
        status = see_rows(e, first, n - 1 - first < ROWS ? n - 1 - first : ROWS);
    return status;
}

/* Evaluates a text window by window.  Each window begins with the tokenizer's begin token, if there
 * is one.  A last window of a single token has nothing to predict and is skipped. */
static int see_text(struct evaluation *e, const crescent_window *how, const int32_t *ids, int64_t n)
{
    int64_t front = how->begin == CRESCENT_NONE ? 0 : 1, step = how->tokens - front;
    int status = CRESCENT_OK;
    for (int64_t first = 0; first < n && !status; first += step) {
        int64_t some = n - first < step ? n - first : step;
        if (front)
            e->ids[0] = (int32_t)how->begin;
        memcpy(e->ids + front, ids + first, (size_t)some * sizeof *ids);
        status = see_window(e, front + some);
    }
    return status;
}

/* ---- the whole ---- */

static int make_room(struct evaluation *e, const crescent_window *how, struct cr_error *error)
{
    int64_t bytes = ROWS * e->vocabulary * (int64_t)sizeof(float);
    e->ids = cr_memory_new(how->tokens * (int64_t)sizeof *e->ids, "a window of tokens", error);
    for (int g = 0; g < e->n_generators && e->ids; g++)
        if (!(e->logits[g] = cr_memory_new(bytes, "logits", error)))
            return -1;
    return e->ids ? 0 : -1;
}

static crescent_evaluation result_of(const struct evaluation *e)
{
    double n = (double)e->tokens;
    bool two = e->n_generators == 2;
    return (crescent_evaluation){e->tokens, e->loss[0] / n, two ? e->loss[1] / n : NAN,
                                 two ? e->divergence / n : NAN,
                                 two ? (double)e->agreed / n : NAN};
}

/* Checks all arguments and allocates memory, before anything is computed. */
static int prepare(struct evaluation *e, const crescent_window *how, const int32_t *ids, int64_t n)
{
    CR_ENTER(crescent_generator_model(e->generator[0])->context);
    return cr_done(&guard, check(e, how, guard.error) || check_ids(e, how, ids, n, guard.error) ||
                                   make_room(e, how, guard.error)
                               ? -1
                               : 0);
}

/* Evaluates a text.  All arguments are checked before the first window. */
int crescent_evaluate(crescent_generator *generator, crescent_generator *reference,
                      const crescent_window *how, const int32_t *ids, int64_t n,
                      crescent_evaluation *evaluation)
{
    crescent_model *model = crescent_generator_model(generator);
    CR_REQUIRE(model, how && ids && n > 0 && evaluation);
    struct evaluation e = {.generator = {generator, reference}, .n_generators = reference ? 2 : 1};
    int status = prepare(&e, how, ids, n);
    if (!status)
        status = see_text(&e, how, ids, n);
    if (!status)
        *evaluation = result_of(&e);
    free(e.ids);
    free(e.logits[0]);
    free(e.logits[1]);
    return status;
}
