/*
 * Oracle: a step over micro-batches gives the same means, parameters and states on one rank and on several.
 *
 * The script of the graph becomes a step of crescent.h that takes the mean of each f32 output over some
 * micro-batches, whose data are those of the case, turned by an element for each micro-batch.  Its update is drawn:
 * most of it goes along the rows of the states, which ranks then share, and some does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"
#include "compiler/ir/mem.h"
#include "compiler/library/handles.h"
#include "oracles.h"
#include "thread_ranks.h"

enum { MOST_MICRO_BATCHES = 9, WORD = 4, MOST_VALUES = 24, LEARNED = 2, STATES = 2 };

/* A rank, its training step, and the means that it computes, concatenated. */
struct learner {
    struct cr_thread_rank *rank; /* null for one process */
    const struct cr_case *c;
    const char *script;
    int micro_batches;
    char *means;
    size_t bytes;
    char error[400]; /* "" if the step was made */
};

/* Writes the script of an update: v[1] .. are the parameters, the states and a mean, followed by
 * values made of two earlier ones; the last ones become the next parameters and states. */
static void put_update(FILE *out, struct cr_subject *s)
{
    static const char *const forms[] = {
        "a + b", "a - b", "a * b", "maximum(a, b)", "a * 0.9 + b", "where(lt(a, b), a, b)", "a / (b * b + 1)",
        "sqrt(a * a + 1)", "exp(minimum(a, 0))", "a + b:slice({0, 0}, {1, 31})", "a * b:slice({0, 3}, {40, 1})",
        "a + sum(b, 2)", "max(a, 1) - b", "a + matmul(b, a:transpose(1, 2)):slice({0, 0}, {40, 31})",
        "a - b:reshape{31, 40}:reshape{40, 31}", "float(iota({40, 31}, 1)) * a",
        "sum(sum(a * a, 1), 2) / 1000 - b"};
    enum { FORMS = sizeof forms / sizeof *forms, ALONG = 11 };
    int n = LEARNED + STATES + 1, more = 2 + (int)cr_pick(s, MOST_VALUES - n - 2);
    bool apart = cr_pick(s, 2); /* some values are not computed row by row */
    fprintf(out, "local v = {}\nlocal function make(a, b, c) return minimum(maximum(c, -9), 9) end\n");
    for (int i = 0; i < LEARNED + STATES; i++)
        fprintf(out, "v[%d] = %s('own%d', {40, 31}%s)\n", i + 1, i < LEARNED ? "param" : "input", i,
                i < LEARNED ? ", {uniform = 1}" : ", 'f32', {fill = 0.5}");
    fprintf(out, "local step, next_step = require('optim').step()\nnext.step = next_step\n"
                 "v[%d] = micro.mean(random(micro.number(step), {40, 31}, 5) - 0.5, 'drawn')\n", n);
    for (int i = n; i < n + more; i++)
        fprintf(out, "do local a, b = v[%d], v[%d]\nv[%d] = make(a, b, %s) end\n", 1 + (int)cr_pick(s, (unsigned)i),
                1 + (int)cr_pick(s, (unsigned)i), i + 1, forms[cr_pick(s, apart ? FORMS : ALONG)]);
    for (int i = 0; i < LEARNED + STATES; i++)
        fprintf(out, "next.own%d = v[%d]\n", i, n + more - i);
    if (cr_pick(s, 3) == 0)
        fprintf(out, "next.seen = max(max(v[%d], 1), 2)\n", n + 1);
}

/* Writes the script; the caller frees it. */
static char *script_of(struct cr_subject *s, int micro_batches)
{
    const struct cr_graph *g = s->c->graph;
    char *text = NULL, *graph = cr_graph_text(g);
    size_t length;
    FILE *out = open_memstream(&text, &length);
    fprintf(out, "local micro = require('optim').micro_batches(%d)\nlocal function model()\n%send\n", micro_batches,
            graph);
    fprintf(out, "local of, next = model(), {loss = const(0, {}, 'f32')}\n");
    for (int i = 0; i < g->n_outputs; i++)
        if (g->nodes[g->outputs[i].id].dtype == CR_F32)
            fprintf(out, "next.mean%d = micro.mean(of['%s'], 'm%d')\n", i, g->outputs[i].name, i);
    put_update(out, s);
    fprintf(out, "return micro.step(next)\n");
    fclose(out);
    free(graph);
    return text;
}

/* Returns an input or a parameter of the graph by its name, or null. */
static const struct cr_node *leaf_of(const struct cr_graph *g, const char *name)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if ((g->nodes[id].op == CR_OP_input || g->nodes[id].op == CR_OP_param) && !strcmp(g->nodes[id].name, name))
            return &g->nodes[id];
    return NULL;
}

/* Sets an input: micro-batch k has the case's data rotated by k elements. */
static int set_input(const struct learner *l, crescent_trainer *trainer, int index, const struct cr_node *leaf)
{
    size_t n = (size_t)cr_elements(leaf->rank, leaf->shape);
    const char *data = cr_case_data(l->c, leaf->name);
    char *all = cr_calloc(n * (size_t)l->micro_batches + 1, WORD);
    for (int k = 0; k < l->micro_batches; k++) {
        size_t turned = (size_t)k % n;
        memcpy(all + (size_t)k * n * WORD, data + turned * WORD, (n - turned) * WORD);
        memcpy(all + ((size_t)k * n + n - turned) * WORD, data, turned * WORD);
    }
    int status = crescent_trainer_set_input(trainer, index, all);
    free(all);
    return status;
}

static int set_leaves(const struct learner *l, crescent_trainer *trainer)
{
    crescent_model *model = crescent_trainer_model(trainer);
    const struct cr_node *leaf;
    crescent_port port;
    if (crescent_draw_weights(model, 1))
        return -1;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_PARAM); i++)
        if (crescent_port_at(model, CRESCENT_PARAM, i, &port) ||
            ((leaf = leaf_of(l->c->graph, port.name)) &&
             crescent_set_weight(model, i, cr_case_data(l->c, port.name))))
            return -1;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++)
        if (crescent_port_at(model, CRESCENT_INPUT, i, &port) ||
            ((leaf = leaf_of(l->c->graph, port.name)) && set_input(l, trainer, i, leaf)))
            return -1;
    return 0;
}

/* Appends an output of the entry `update` to the means. */
static int keep_output(struct learner *l, crescent_trainer *trainer, int output, const crescent_port *port)
{
    size_t bytes = (size_t)cr_elements(port->rank, port->shape) * WORD;
    char *means = cr_calloc(l->bytes + bytes + 1, 1);
    if (l->means)
        memcpy(means, l->means, l->bytes);
    free(l->means);
    l->means = means;
    int status = crescent_trainer_get(trainer, CRESCENT_OUTPUT, output, means + l->bytes);
    l->bytes += bytes;
    return status;
}

static int keep_outputs(struct learner *l, crescent_trainer *trainer)
{
    crescent_model *model = crescent_trainer_model(trainer);
    crescent_port port;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_OUTPUT); i++)
        if (crescent_port_at(model, CRESCENT_OUTPUT, i, &port) ||
            (!strncmp(port.name, "update.", 7) && keep_output(l, trainer, i, &port)))
            return -1;
    return 0;
}

/* Makes two training steps in a new context, which leaves the group of ranks at the end. */
static void make_steps(void *argument)
{
    struct learner *l = argument;
    crescent_context *context = crescent_context_new();
    const crescent_config config = {.threads = 1};
    crescent_graph *graph = NULL;
    crescent_trainer *trainer = NULL;
    context->ranks = l->rank ? &l->rank->ranks : NULL;
    if (crescent_graph_open_text(context, "micro", l->script, strlen(l->script), NULL, &graph) ||
        crescent_trainer_open(graph, &config, &trainer) || set_leaves(l, trainer) ||
        crescent_trainer_start(trainer) || crescent_trainer_compare_ranks(trainer) ||
        crescent_trainer_step(trainer) || crescent_trainer_step(trainer) || keep_outputs(l, trainer))
        snprintf(l->error, sizeof l->error, "%.390s", crescent_error(context));
    crescent_trainer_close(trainer);
    crescent_graph_close(graph);
    crescent_context_free(context);
}

static bool check_learner(const struct learner *one, const struct learner *l, int rank, int count,
                          struct cr_report *report)
{
    if (*l->error)
        return cr_found(report, "rank %d of %d: %.390s", rank, count, l->error);
    size_t at = 0;
    while (at < one->bytes && at < l->bytes && one->means[at] == l->means[at])
        at++;
    if (at == one->bytes && at == l->bytes)
        return true;
    return cr_found(report, "rank %d of %d, %d micro-batches: element %d of the outputs", rank, count,
                    one->micro_batches, (int)(at / WORD));
}

static bool check_ranks(struct learner *one, int count, struct cr_report *report)
{
    struct learner learners[CR_MOST_RANKS];
    struct cr_thread_rank ranks[CR_MOST_RANKS];
    void *contexts[CR_MOST_RANKS] = {0};
    bool good = true;
    for (int r = 0; r < count; r++) {
        learners[r] = (struct learner){
            .rank = &ranks[r], .c = one->c, .script = one->script, .micro_batches = one->micro_batches};
        contexts[r] = &learners[r];
    }
    cr_run_thread_ranks(count, make_steps, contexts, ranks);
    for (int r = 0; r < count; r++) {
        good = good && check_learner(one, &learners[r], r, count, report);
        free(learners[r].means);
    }
    return good;
}

static bool has_means(const struct cr_graph *g)
{
    bool some = false;
    for (int i = 0; i < g->n_outputs; i++)
        some |= g->nodes[g->outputs[i].id].dtype == CR_F32;
    return some;
}

/* Checks that such a step refuses a state, and that a trainer refuses an id that is not in its
 * table. */
bool cr_oracle_micro_batches(struct cr_subject *s, struct cr_report *report)
{
    int count = cr_pick_ranks(s, CR_MOST_RANKS);
    int n = count + (int)cr_pick(s, MOST_MICRO_BATCHES - count + 1);
    if (s->c->graph->n_replaced || s->c->graph->n_entries > 1 || !has_means(s->c->graph))
        return true;
    char *script = script_of(s, n);
    struct learner one = {.c = s->c, .script = script, .micro_batches = n};
    make_steps(&one);
    bool good = true;
    if (!*one.error)
        good = check_ranks(&one, count, report);
    else if (!strstr(one.error, "expected an id from"))
        good = cr_found(report, "one process: %.390s", one.error);
    free(one.means);
    free(script);
    return good;
}
