/*
 * Oracle: several ranks give a causal model's tokens the bits of one process, whatever chunks the tokens
 * come in and in whatever format weights are kept.  Each rank has its share of the states.
 *
 * It says something of graphs with an input `ids`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "session.h"
#include "thread_ranks.h"

enum { MOST_RUNS = 64 };

/* The chunks in which the case's texts come. */
struct chunks {
    const int32_t *ids;
    int64_t context;      /* tokens of a text in `ids` */
    int64_t n[MOST_RUNS]; /* tokens of each run */
    int n_runs;
    bool last_only;
};

/* A process with its session, and the logits of all runs, one run after another. */
struct speaker {
    struct cr_thread_rank *rank; /* null for one process */
    const struct chunks *chunks;
    struct cr_session session;
    float *logits;
    struct cr_report report;
    bool good;
};

static void run_chunks(void *argument)
{
    struct speaker *p = argument;
    const struct chunks *c = p->chunks;
    int64_t at = 0, floats = p->session.floats;
    p->logits = cr_calloc((size_t)(floats * c->n_runs) + 1, sizeof *p->logits);
    p->session.code.ranks = p->rank ? &p->rank->ranks : NULL;
    p->good = true;
    for (int i = 0; i < c->n_runs && p->good; at += c->n[i++]) {
        p->good = cr_run_tokens(&p->session, c->ids, c->context, 0, at, c->n[i], &p->report);
        memcpy(p->logits + i * floats, p->session.logits, (size_t)floats * sizeof *p->logits);
    }
}

static bool same_bits(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Compares the logits of a run; those of rows past its tokens do not exist. */
static bool check_run(const struct speaker *one, const struct speaker *p, int run, const char *how,
                      struct cr_report *report)
{
    const struct cr_session *s = &one->session;
    int64_t rows = p->chunks->last_only ? 1 : p->chunks->n[run], of_text = p->chunks->last_only ? 1 : s->room;
    const float *expected = one->logits + run * s->floats, *found = p->logits + run * s->floats;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t i = b * of_text * s->row; i < (b * of_text + rows) * s->row; i++)
            if (!same_bits(expected[i], found[i]))
                return cr_found(report, "%s, run %d: logit %" PRId64 ": %.9g, expected the bits of %.9g", how, run, i,
                                (double)found[i], (double)expected[i]);
    return true;
}

static bool check_speaker(const struct speaker *one, const struct speaker *p, int count, const struct cr_keeping *keep,
                          struct cr_report *report)
{
    char how[120];
    snprintf(how, sizeof how, "rank %d of %d, format %s %s", p->rank->ranks.rank, count, keep->format,
             keep->arithmetic ? keep->arithmetic : "");
    if (!p->good)
        return cr_found(report, "%s: %.400s", how, p->report.text);
    for (int run = 0; run < p->chunks->n_runs; run++)
        if (!check_run(one, p, run, how, report))
            return false;
    return true;
}

/* Runs the model on ranks, whose programs are made before their threads begin, and compares. */
static bool check_ranks(const struct cr_subject *s, const struct cr_graph *g, const struct speaker *one, int count,
                        struct cr_session_options how, struct cr_report *report)
{
    struct speaker speakers[CR_MOST_RANKS] = {0};
    struct cr_thread_rank ranks[CR_MOST_RANKS] = {0};
    void *contexts[CR_MOST_RANKS];
    bool good = true;
    for (int r = 0; r < count && good; r++) {
        struct cr_ranks of = {.rank = r, .count = count};
        how.ranks = &of;
        speakers[r] = (struct speaker){.rank = &ranks[r], .chunks = one->chunks};
        good = cr_open_session(&speakers[r].session, s->c, cr_graph_copy(g), &how, report);
        contexts[r] = &speakers[r];
    }
    if (good)
        cr_run_thread_ranks(count, run_chunks, contexts, ranks);
    for (int r = 0; r < count; r++) {
        good = good && check_speaker(one, &speakers[r], count, &how.keep, report);
        free(speakers[r].logits);
        cr_close_session(&speakers[r].session);
    }
    return good;
}

static void draw_chunks(struct cr_subject *s, struct chunks *c, int64_t chunk)
{
    int plan = (int)cr_pick(s, 3);
    for (int64_t at = 0; at < c->context && c->n_runs < MOST_RUNS; at += c->n[c->n_runs++]) {
        int64_t n = plan == 0 ? chunk : plan == 1 ? 1 : 1 + cr_pick(s, chunk);
        c->n[c->n_runs] = n < c->context - at ? n : c->context - at;
    }
}

/* Compares ranks with one process for an incremental model. */
static bool check_model(struct cr_subject *s, const struct cr_graph *g, const struct chunks *c,
                        struct cr_report *report)
{
    static const char *const isas[] = {NULL, NULL, "avx2", "plain"};
    struct cr_session_options how = {.keep = cr_choose_keeping(s), .isa = isas[cr_pick(s, 4)]};
    struct speaker one = {.chunks = c};
    bool good = cr_open_session(&one.session, s->c, cr_graph_copy(g), &how, report);
    if (good) {
        run_chunks(&one);
        good = one.good ? check_ranks(s, g, &one, cr_pick_ranks(s, CR_MOST_RANKS), how, report)
                        : cr_found(report, "%.400s", one.report.text);
    } else {
        good = cr_is_refused_rule(report);
    }
    free(one.logits);
    cr_close_session(&one.session);
    return good;
}

bool cr_oracle_rank_chunks(struct cr_subject *s, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    struct cr_error error = {""};
    cr_id ids = cr_find_ids(g);
    int output = ids == CR_NONE ? -1 : cr_find_logits(g, ids);
    if (output < 0)
        return true;
    struct chunks c = {s->c->data[ids], g->nodes[ids].shape[1], {0}, 0, cr_pick(s, 2)};
    int64_t chunk = 1 + cr_pick(s, c.context);
    struct cr_graph *part = cr_causal_model(g, ids, output, g->nodes[ids].shape[0], c.context);
    part = part ? cr_in_chunks(part, chunk, c.last_only, &error) : NULL;
    if (!part) /* the oracle `chunks` checks its message */
        return true;
    draw_chunks(s, &c, chunk);
    bool good = check_model(s, part, &c, report);
    cr_graph_free(part);
    return good;
}
