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
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/kept_factors.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "oracles.h"
#include "resize.h"
#include "runtime/select_runtime.h"

enum { GUARD = 16, PAST = 0x55555555 /* an id for places after the chunk */ };

/* The format in which weights are kept and the arithmetic of their products; null means f32. */
struct keeping {
    char format[48];
    const char *arithmetic;
};

/* A model, and its memory, which persists between runs. */
struct session {
    struct cr_compiled code;
    const struct cr_runtime *rt;
    float *weights, *arena, *logits;
    const void **inputs;
    void **outputs;           /* the logits among them */
    int64_t batch, room, row; /* texts, greatest number of tokens of a run, floats of one token's logits */
    int32_t *ids, n;
    int64_t floats; /* of logits */
};

/* How a text is cut into chunks. */
struct way {
    int64_t chunk;
    int plan;
    bool last_only;
};

/* ---- the model ---- */

/* Returns the graph's only input, or CR_NONE. */
static cr_id find_ids(const struct cr_graph *g)
{
    cr_id found = CR_NONE;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (!cr_is_input(node))
            continue;
        if (found != CR_NONE || strcmp(node->name, CR_IDS) != 0 || node->rank != 2 ||
            node->dtype != CR_I32)
            return CR_NONE;
        found = id;
    }
    return found;
}

/* Returns the index of the logits: of the only output, or of the output with that name; -1 if there
 * is none, or it does not have a row for each token. */
static int find_logits(const struct cr_graph *g, cr_id ids)
{
    int found = -1;
    for (int i = 0; i < cr_n_results(g); i++)
        if (cr_n_results(g) == 1 || strcmp(g->outputs[i].name, CR_LOGITS) == 0)
            found = i;
    const struct cr_node *node = found < 0 ? NULL : &g->nodes[g->outputs[found].id];
    bool fits = node && node->rank > 2 && node->dtype == CR_F32 &&
                node->shape[0] == g->nodes[ids].shape[0] &&
                node->shape[1] == g->nodes[ids].shape[1];
    return fits ? found : -1;
}

/* True if a node has an axis that is a multiple of a size by chance: an axis of a parameter, or a
 * slice of an axis that is not a multiple. */
static bool has_multiple(const struct cr_graph *g, cr_id id, int64_t size)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op == CR_OP_gather && g->nodes[cr_in(g, id, 0)].shape[0] % size == 0)
        return true;
    for (int a = 0; a < node->rank; a++) {
        bool cut = node->op == CR_OP_slice && g->nodes[cr_in(g, id, 0)].shape[a] % size;
        if ((node->op == CR_OP_param || cut) && node->shape[a] % size == 0)
            return true;
    }
    return false;
}

enum { LEAST_SIZE = 5 }; /* smaller sizes divide too many others */

/* True if another axis or number may be a multiple of a size by chance, or may be computed from
 * it. */
static bool is_ambiguous(const struct cr_graph *g, int64_t size)
{
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        bool counts = node->op == CR_OP_const && node->value != 0 && fabs(node->value) < 1e6 &&
                      fmod(node->value, (double)size) == 0;
        if (counts || has_multiple(g, id, size))
            return true;
    }
    return size < LEAST_SIZE;
}

/* Returns the model for `batch` texts of `tokens` tokens; null if sizes in the graph do not tell
 * how to change it. */
static struct cr_graph *model_of(const struct cr_graph *g, cr_id ids, int output, int64_t batch,
                                 int64_t tokens)
{
    const struct cr_node *from = &g->nodes[ids];
    struct cr_resize sizes[2];
    int n = 0;
    if ((batch != from->shape[0] && is_ambiguous(g, from->shape[0])) ||
        (tokens != from->shape[1] && is_ambiguous(g, from->shape[1])))
        return NULL;
    if (batch != from->shape[0])
        sizes[n++] = (struct cr_resize){from->shape[0], batch};
    if (tokens != from->shape[1])
        sizes[n++] = (struct cr_resize){from->shape[1], tokens};
    struct cr_graph *made = cr_resize_graph(g, output, sizes, n);
    cr_id new_ids = made ? find_ids(made) : CR_NONE;
    if (new_ids != CR_NONE && made->nodes[new_ids].shape[0] == batch &&
        made->nodes[new_ids].shape[1] == tokens && find_logits(made, new_ids) == 0)
        return made;
    if (made)
        cr_graph_free(made);
    return NULL;
}

/* ---- compiling ---- */

static void close_session(struct session *s)
{
    for (int i = 0; s->code.program && s->inputs && i < s->code.program->n_inputs; i++)
        if (s->code.program->inputs[i].state)
            free((void *)(uintptr_t)s->inputs[i]);
    for (int i = 0; s->code.program && s->outputs && i < s->code.program->n_outputs; i++)
        free(s->outputs[i]);
    free(s->weights);
    free(s->arena);
    free(s->outputs);
    free(s->ids);
    free(s->inputs);
    cr_compiled_free(&s->code);
    *s = (struct session){0};
}

/* Allocates memory for kernels, filled with NaN. */
static float *new_floats(int64_t n)
{
    float *made;
    if (posix_memalign((void **)&made, 64, (size_t)(n + 1) * sizeof *made))
        abort();
    for (int64_t i = 0; i < n; i++)
        made[i] = NAN;
    return made;
}

/* Returns the data of one input: the ids, the number of new tokens, or a state. */
static const void *input_of(struct session *s, const struct cr_port *port)
{
    int64_t n = cr_elements(port->rank, port->shape);
    if (port->state)
        return cr_calloc((size_t)n + GUARD, sizeof(float));
    return strcmp(port->name, CR_TOKENS) == 0 ? &s->n : s->ids;
}

/* Allocates the outputs; returns the port of the logits: the output with that name, or the only
 * one. */
static const struct cr_port *make_outputs(struct session *s, const struct cr_program *p)
{
    const struct cr_port *logits = &p->outputs[0];
    s->outputs = cr_calloc((size_t)p->n_outputs, sizeof *s->outputs);
    for (int i = 0; i < p->n_outputs; i++) {
        const struct cr_port *port = &p->outputs[i];
        s->outputs[i] = new_floats(cr_elements(port->rank, port->shape) + GUARD);
        if (p->n_outputs == 1 || strcmp(port->name, CR_LOGITS) == 0) {
            logits = port;
            s->logits = s->outputs[i];
        }
    }
    s->floats = cr_elements(logits->rank, logits->shape);
    return logits;
}

static void make_memory(struct session *s, const struct cr_case *c)
{
    const struct cr_program *p = s->code.program;
    const struct cr_port *logits = make_outputs(s, p), *ids = NULL;
    s->weights = new_floats(p->weights_bytes / 4);
    s->arena = new_floats((p->arena_bytes + p->scratch_bytes) / 4);
    for (int i = 0; i < p->n_inputs; i++)
        if (strcmp(p->inputs[i].name, CR_IDS) == 0)
            ids = &p->inputs[i];
    s->batch = logits->shape[0];
    s->room = ids ? ids->shape[1] : logits->shape[1];
    s->row = s->floats / (s->batch * logits->shape[1]);
    s->ids = cr_calloc((size_t)(s->batch * s->room), sizeof *s->ids);
    s->inputs = cr_calloc((size_t)p->n_inputs + 1, sizeof *s->inputs);
    for (int i = 0; i < p->n_inputs; i++)
        s->inputs[i] = input_of(s, &p->inputs[i]);
    cr_load_case(c, p, s->rt, NULL, s->weights);
}

/* Compiles a graph, which the call frees. */
static bool open_session(struct session *s, const struct cr_case *c, struct cr_graph *g,
                         const struct keeping *keep, const char *isa, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = NULL;
    *s = (struct session){.rt = cr_runtime_select(isa)};
    s->rt = s->rt ? s->rt : cr_runtime_select(NULL);
    if (cr_want_formats(g, *keep->format ? keep->format : NULL, "g", &error) ||
        cr_want_arithmetics(g, keep->arithmetic, "g", &error))
        cr_graph_free(g);
    else
        program = cr_program_of(g, NULL, &error);
    if (!program)
        return cr_found(report, "refused: %.400s", error.text);
    if (!cr_compile_program(&s->code, program, cr_compile_tcc, report))
        return false;
    make_memory(s, c);
    return true;
}

/* ---- running ---- */

/* Runs the model on n tokens from `at` on, of the case's texts from number `text` on. */
static bool run_tokens(struct session *s, const int32_t *all, int64_t context, int64_t text,
                       int64_t at, int64_t n, struct cr_report *report)
{
    s->n = (int32_t)n;
    for (int64_t i = 0; i < s->batch * s->room; i++) {
        int64_t t = i % s->room;
        s->ids[i] = t < n ? all[(text + i / s->room) * context + at + t] : PAST;
    }
    if (s->code.code.execute[0](s->rt, NULL, s->weights, s->inputs, s->outputs, s->arena))
        return cr_found(report, "the run fails");
    for (int i = 0; i < GUARD; i++)
        if (!isnan(s->logits[s->floats + i]))
            return cr_found(report, "float %d behind the logits was written", i);
    for (int i = 0; i < s->code.program->n_inputs; i++) {
        const struct cr_port *port = &s->code.program->inputs[i];
        const int32_t *behind =
            (const int32_t *)s->inputs[i] + cr_elements(port->rank, port->shape);
        for (int k = 0; port->state && k < GUARD; k++)
            if (behind[k])
                return cr_found(report, "word %d behind the state %s was written", k, port->name);
    }
    return true;
}

static bool same_bits(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* True if all logits are finite.  If a later token has NaN or infinity, its product with the weight
 * 0 makes earlier tokens NaN in a run of the whole text, but not in chunks. */
static bool are_finite(const struct session *s)
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
static bool check_texts(struct cr_subject *s, struct session *part, const struct way *way,
                        const float *whole, int64_t context, int64_t tokens, int64_t text,
                        const int32_t *ids, const char *how, struct cr_report *report)
{
    for (int64_t at = 0, n; at < tokens; at += n) {
        n = tokens_at(s, way, tokens - at);
        if (!run_tokens(part, ids, context, text, at, n, report))
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

static const char *const formats[] = {"bf16", "f16", "q8", "q4"};

/* Draws formats of weights: one for all, or one for some names and another for other names. */
static struct keeping choose_keeping(struct cr_subject *s)
{
    struct keeping keep = {"", NULL};
    int64_t way = cr_pick(s, 6);
    const char *format = formats[cr_pick(s, 4)];
    size_t room = sizeof keep.format;
    if (way < 2)
        return keep;
    if (way < 5)
        snprintf(keep.format, room, "%s", format);
    else
        snprintf(keep.format, room, "%s,*%d*=%s", format, (int)cr_pick(s, 4),
                 cr_pick(s, 2) ? "f32" : formats[cr_pick(s, 4)]);
    if (cr_pick(s, 3) == 0)
        keep.arithmetic = *format == 'q' ? "int8" : strcmp(format, "bf16") == 0 ? "bf16" : NULL;
    return keep;
}

/* True if the report is a correct refusal: of a rule whose pattern matches no parameter, or of an
 * arithmetic that no format has. */
static bool is_refused_rule(const struct cr_report *report)
{
    return strstr(report->text, "--format") || strstr(report->text, "--arithmetic");
}

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

/* Returns the graph of the incremental model; null if it is refused. */
static struct cr_graph *in_chunks(struct cr_graph *g, const struct way *way, struct cr_error *error)
{
    struct cr_graph *made = NULL;
    const struct cr_incremental_how wanted = {way->chunk, way->last_only};
    int status = cr_incremental(g, &wanted, &made, "g", error);
    cr_graph_free(g);
    return status ? NULL : cr_keep_factors(made);
}

/* Compiles the model for a number of texts and of tokens in a run, and compares its logits with
 * `whole`, the model of all texts and tokens at once.  The tokens come in chunks or, in some cases,
 * all at once. */
static bool check_model(struct cr_subject *s, struct cr_graph *g, const struct keeping *keep,
                        const float *whole, int64_t context, int64_t tokens, int64_t texts,
                        const int32_t *ids, struct cr_report *report)
{
    struct session part;
    struct cr_error error = {""};
    struct way way = {.chunk = tokens};
    bool again = cr_pick(s, 6) == 0;
    char how[160];
    int64_t batch = g->nodes[find_ids(g)].shape[0];
    if (!again) {
        way = choose_way(s, tokens);
        g = in_chunks(g, &way, &error);
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
    bool good = open_session(&part, s->c, g, keep, isa, report);
    if (good)
        good = check_texts(s, &part, &way, whole, context, tokens, cr_pick(s, texts - batch + 1),
                           ids, how, report);
    close_session(&part);
    return good;
}

/* Runs the whole model in a format, with or without its other outputs, and an incremental model. */
static bool check_way(struct cr_subject *s, cr_id node, int output, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    int64_t texts = g->nodes[node].shape[0], context = g->nodes[node].shape[1];
    struct keeping keep = choose_keeping(s);
    struct session whole;
    struct cr_error error = {""};
    const struct way first = {.chunk = context};
    struct cr_graph *causal = model_of(g, node, output, texts, context);
    if (!causal) /* no logit depends on an id */
        return true;
    causal = in_chunks(causal, &first, &error);
    if (!causal)
        return check_refusal(&error, report);
    cr_graph_free(causal);
    bool beside =
        cr_pick(s, 2) && !*keep.format; /* other outputs may read weights in another way than products do */
    struct cr_graph *all = beside ? cr_graph_copy(g) : model_of(g, node, output, texts, context);
    if (!all || !open_session(&whole, s->c, all, &keep, NULL, report))
        return !all || is_refused_rule(report);
    const int32_t *ids = s->c->data[node];
    bool good = run_tokens(&whole, ids, context, 0, 0, context, report);
    if (good && are_finite(&whole)) {
        int64_t batch = cr_pick(s, 2) ? 1 : texts, tokens = fewer(s, context);
        struct cr_graph *part = model_of(g, node, output, batch, tokens);
        if (!part) /* the size of tokens is ambiguous */
            part = model_of(g, node, output, batch, tokens = context);
        if (!part)
            part = model_of(g, node, output, texts, tokens = context);
        good = check_model(s, part, &keep, whole.logits, context, tokens, texts, ids, report);
    }
    close_session(&whole);
    return good;
}

bool cr_oracle_chunks(struct cr_subject *s, struct cr_report *report)
{
    cr_id ids = find_ids(s->c->graph);
    int output = ids == CR_NONE ? -1 : find_logits(s->c->graph, ids), ways = s->thorough ? 6 : 1;
    for (int i = 0; i < ways && output >= 0; i++)
        if (!check_way(s, ids, output, report))
            return false;
    return true;
}
