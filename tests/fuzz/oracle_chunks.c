/*
 * Oracle: a causal model gives each token the bits that a run of the whole text gives it, whatever
 * chunks the tokens come in, for all of them or the last one of each chunk alone, for a text alone or
 * among others, in whatever format weights are kept, and whatever number of tokens there is room for.
 *
 * It says something of graphs with an input `ids`.  One that cannot go on from the tokens before is
 * refused with a line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

/* How a text is cut into chunks. */
struct way {
    int64_t chunk;
    int plan;
    bool last_only;
};

static bool same_bits(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* True if all logits are finite.  If a later token has NaN or infinity, its product with the weight
 * 0 makes earlier tokens NaN in a run of the whole text, but not in chunks. */
static bool are_finite(const struct cr_session *s)
{
    for (int64_t i = 0; i < s->floats; i++)
        if (!isfinite(s->logits[i]))
            return false;
    return true;
}

/* Compares one token's logits with those of the whole text. */
static bool check_token(const float *expected, const float *logits, int64_t row, int64_t token,
                        int64_t text, const char *how, struct cr_report *report)
{
    for (int64_t v = 0; v < row; v++)
        if (!same_bits(expected[v], logits[v]))
            return cr_found(report,
                            "%s: token %" PRId64 " of text %" PRId64 ", logit %" PRId64
                            ": %.9g, expected the bits of %.9g",
                            how, token, text, v, (double)logits[v], (double)expected[v]);
    return true;
}

static int64_t tokens_at(struct cr_subject *s, const struct way *way, int64_t left)
{
    int64_t n = way->plan == 0 ? way->chunk : way->plan == 1 ? 1 : 1 + cr_pick(s, way->chunk);
    return n < left ? n : left;
}

/* Runs the texts from number `text` on in chunks, and compares all tokens with the results for
 * whole texts of `context` tokens. */
static bool check_texts(struct cr_subject *s, struct cr_session *part, const struct way *way,
                        const float *whole, int64_t context, int64_t tokens, int64_t text,
                        const int32_t *ids, const char *how, struct cr_report *report)
{
    for (int64_t at = 0, n; at < tokens; at += n) {
        n = tokens_at(s, way, tokens - at);
        if (!cr_run_tokens(part, ids, context, text, at, n, report))
            return false;
        for (int64_t b = 0; b < part->batch; b++)
            for (int64_t t = way->last_only ? n - 1 : 0; t < n; t++) {
                int64_t row = way->last_only ? b : b * part->room + t;
                if (!check_token(whole + ((text + b) * context + at + t) * part->row,
                                 part->logits + row * part->row, part->row, at + t, text + b, how,
                                 report))
                    return false;
            }
    }
    return true;
}

/* ---- ways ---- */

/* Returns n in half of the cases, else a smaller number other than 1: axes of size 1 cannot be told
 * apart. */
static int64_t fewer(struct cr_subject *s, int64_t n)
{
    return n <= 2 || cr_pick(s, 2) ? n : 2 + cr_pick(s, n - 2);
}

static struct way choose_way(struct cr_subject *s, int64_t tokens)
{
    struct way way = {.plan = (int)cr_pick(s, 4), .last_only = cr_pick(s, 2) == 0};
    way.chunk = way.plan == 1 && cr_pick(s, 2) ? 1 : 1 + cr_pick(s, tokens);
    return way;
}

/* Checks the message of a refused model: FILE:LINE: op: what was found, expected ...; without
 * FILE:LINE if the message is about the whole model. */
static bool check_refusal(const struct cr_error *error, struct cr_report *report)
{
    const char *found = strstr(error->text, ": "), *expected = strstr(error->text, ", expected ");
    if (found && expected && found < expected && !strchr(error->text, '\n') &&
        !strstr(error->text, "bug"))
        return true;
    return cr_found(report, "refused without a reason: %.400s", error->text);
}

/* Compiles the model for a number of texts and of tokens in a run, and compares its logits with
 * `whole`, the model of all texts and tokens at once.  The tokens come in chunks or, in some cases,
 * all at once. */
static bool check_model(struct cr_subject *s, struct cr_graph *g, const struct cr_keeping *keep,
                        const float *whole, int64_t context, int64_t tokens, int64_t texts,
                        const int32_t *ids, struct cr_report *report)
{
    struct cr_session part;
    struct cr_error error = {""};
    struct way way = {.chunk = tokens};
    bool again = cr_pick(s, 6) == 0;
    char how[160];
    int64_t batch = g->nodes[cr_find_ids(g)].shape[0];
    if (!again) {
        way = choose_way(s, tokens);
        g = cr_in_chunks(g, way.chunk, way.last_only, &error);
        if (!g)
            return cr_found(report, "refused for some tokens alone: %.400s", error.text);
    }
    const char *isa = (const char *const[]){NULL, NULL, "avx2", "plain"}[cr_pick(s, 4)];
    snprintf(how, sizeof how, "%" PRId64 " of %" PRId64 " texts, %" PRId64 " tokens%s%s%s%s%s",
             batch, texts, tokens,
             again           ? ""
             : way.last_only ? ", the last"
                             : ", all",
             *keep->format ? ", " : "", keep->format, keep->arithmetic ? ", " : "",
             keep->arithmetic ? keep->arithmetic : "");
    if (!again)
        snprintf(how + strlen(how), sizeof how - strlen(how), ", chunks of %" PRId64 ", plan %d",
                 way.chunk, way.plan);
    bool good = cr_open_session(&part, s->c, g, &(struct cr_session_options){*keep, isa, NULL}, report);
    if (good)
        good = check_texts(s, &part, &way, whole, context, tokens, cr_pick(s, texts - batch + 1),
                           ids, how, report);
    cr_close_session(&part);
    return good;
}

/* Runs the whole model in a format, with or without its other outputs, and an incremental model. */
static bool check_way(struct cr_subject *s, cr_id node, int output, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    int64_t texts = g->nodes[node].shape[0], context = g->nodes[node].shape[1];
    struct cr_keeping keep = cr_choose_keeping(s);
    struct cr_session whole;
    struct cr_error error = {""};
    struct cr_graph *causal = cr_causal_model(g, node, output, texts, context);
    if (!causal) /* no logit depends on an id */
        return true;
    causal = cr_in_chunks(causal, context, false, &error);
    if (!causal)
        return check_refusal(&error, report);
    cr_graph_free(causal);
    bool beside =
        cr_pick(s, 2) && !*keep.format; /* other outputs may read weights in another way than products do */
    struct cr_graph *all = beside ? cr_graph_copy(g) : cr_causal_model(g, node, output, texts, context);
    if (!all || !cr_open_session(&whole, s->c, all, &(struct cr_session_options){.keep = keep}, report))
        return !all || cr_is_refused_rule(report);
    const int32_t *ids = s->c->data[node];
    bool good = cr_run_tokens(&whole, ids, context, 0, 0, context, report);
    if (good && are_finite(&whole)) {
        int64_t batch = cr_pick(s, 2) ? 1 : texts, tokens = fewer(s, context);
        struct cr_graph *part = cr_causal_model(g, node, output, batch, tokens);
        if (!part) /* the size of tokens is ambiguous */
            part = cr_causal_model(g, node, output, batch, tokens = context);
        if (!part)
            part = cr_causal_model(g, node, output, texts, tokens = context);
        good = check_model(s, part, &keep, whole.logits, context, tokens, texts, ids, report);
    }
    cr_close_session(&whole);
    return good;
}

bool cr_oracle_chunks(struct cr_subject *s, struct cr_report *report)
{
    cr_id ids = cr_find_ids(s->c->graph);
    int output = ids == CR_NONE ? -1 : cr_find_logits(s->c->graph, ids), ways = s->thorough ? 6 : 1;
    for (int i = 0; i < ways && output >= 0; i++)
        if (!check_way(s, ids, output, report))
            return false;
    return true;
}
