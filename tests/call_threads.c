/*
 * call_threads.c - a program that uses the installed library in four threads at once: each opens, compiles,
 * loads, runs, emits and closes models, with a context of its own, and tokenizes.
 *
 *     call_threads ROUNDS FOLDER
 *
 * FOLDER has a tokenizer.  What a thread computes must have the bits of what the first one does.  The last
 * line is "N threads, M models".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crescent.h>

enum { THREADS = 4, ROWS = 4, COLUMNS = 48 };

static const char script[] =
    "local nn = require 'nn'\n"
    "local x = input('x', {4, 48})\n"
    "local h = scope('h', function(v) return nn.gelu(nn.linear(v, 96)) end, x)\n"
    "return {y = x + scope('out', nn.linear, h, 48)}\n";

/* One thread and its result. */
struct worker {
    pthread_t thread;
    int number, rounds, failed;
    const char *folder;
    float y[ROWS * COLUMNS];
};

static int fail(struct worker *w, crescent_context *context)
{
    fprintf(stderr, "thread %d: %s\n", w->number, crescent_error(context));
    return w->failed = 1;
}

/* Runs the model on drawn weights and inputs, on one thread or two in alternate rounds; checks that
 * the bits are those of round 0. */
static int run(struct worker *w, crescent_context *context, crescent_graph *graph, int round)
{
    const crescent_config config = {.threads = 1 + (w->number + round) % 2};
    float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    crescent_model *model;
    int failed = crescent_compile(graph, &config, &model) || crescent_draw_weights(model, 3) ||
                 crescent_draw_input(model, 0, 3, x) ||
                 crescent_run(model, (const void *[]){x}, (void *[]){y});
    crescent_close(model);
    if (failed)
        return fail(w, context);
    if (round == 0)
        memcpy(w->y, y, sizeof y);
    return w->failed |= memcmp(w->y, y, sizeof y) != 0;
}

/* Opens a graph, runs it, emits it and tokenizes a text: one round of a thread. */
static int do_round(struct worker *w, crescent_context *context, int round)
{
    crescent_graph *graph;
    crescent_tokenizer *tokenizer = NULL;
    char *source = NULL, *header = NULL;
    int32_t *ids = NULL;
    size_t n;
    if (crescent_graph_open_text(context, "threads.lua", script, strlen(script), NULL, &graph))
        return fail(w, context);
    int failed = run(w, context, graph, round) ||
                 ((crescent_emit_text(graph, NULL, CRESCENT_EMIT_RUN, "m.h", &source, &header) ||
                   crescent_tokenizer_open(context, w->folder, &tokenizer) ||
                   crescent_encode(tokenizer, "The fox", 7, CRESCENT_PLAIN, &ids, &n)) &&
                  fail(w, context));
    crescent_free(ids);
    crescent_free(source);
    crescent_free(header);
    crescent_tokenizer_close(tokenizer);
    crescent_graph_close(graph);
    return failed;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    crescent_context *context = crescent_context_new();
    for (int i = 0; i < w->rounds && !w->failed; i++)
        do_round(w, context, i);
    crescent_context_free(context);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    int failed = argc != 3;
    for (int i = 0; i < THREADS && !failed; i++) {
        workers[i].number = i;
        workers[i].rounds = atoi(argv[1]);
        workers[i].folder = argv[2];
        failed = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS && !failed; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS && !failed; i++)
        failed = workers[i].failed || memcmp(workers[i].y, workers[0].y, sizeof workers[i].y) != 0;
    if (!failed)
        printf("%d threads, %d models\n", THREADS, THREADS * atoi(argv[1]));
    return failed;
}
