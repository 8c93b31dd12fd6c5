/*
 * tune.c - finds good sizes of tiles for a machine by measuring; see crescent.h.
 *
 * It changes one size after another, and keeps a change if runs are clearly faster with it.  The
 * best model so far and the changed one are run alternately, so that other load affects both.  If a
 * change does not change the program's text, nothing is measured.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/emit/make_program.h"
#include "compiler/exec/tensor_memory.h"
#include "compiler/files/writer.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"
#include "handles.h"
#include "host_target.h"
#include "targets.h"

/* ---- candidates ---- */

enum { MAX_VALUES = 6, SEED = 1 };

/* The sizes and the values to try, the most effective size first; a 0 ends a row. */
static const struct candidates {
    const char *size;
    int64_t values[MAX_VALUES];
} table[] = {
    {"tile_columns", {16, 24, 32, 48, 64}},
    {"ahead", {1, 4096, 8192, 16384, 32768, 65536}},
    {"gemm_step_rows", {24, 48, 96, 128, 256}},
    {"gemm_step_cols", {64, 128, 256}},
    {"gemm_step_floats", {1536, 3072, 6144, 16384, 32768}},
    {"l2_bytes", {524288, 1048576, 1572864, 2097152, 3145728}},
    {"gemm_depth", {512, 768, 1024, 1536, 2048}},
    {"gemm_least_rows", {64, 128, 256}},
    {"gemm_items", {4, 8, 16, 32}},
    {"tile_floats", {1024, 2048, 4096, 8192}},
    {"query_rows", {16, 32}},
    {"attention_items", {4, 8, 16}},
    {"matmul_depth", {512, 1024, 2048}},
    {"matmul_rows", {256, 512, 768, 1536}},
    {"matmul_cols", {256, 512, 768, 1536}},
};
enum { N_SIZES = sizeof table / sizeof *table };

/* A model compiled for one target, and memory for its outputs. */
struct contestant {
    struct cr_target target;
    crescent_model *model;
    struct cr_buffers outputs;
};

struct crescent_tuner {
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_graph *graph;
    crescent_config config; /* the tuner owns the strings */
    struct contestant best, first;
    struct cr_buffers inputs, expected; /* `expected`: the outputs of the very first run */
    int size, value;                    /* the row and column in `table` of the next candidate */
    int64_t end_ns;
    char *path; /* the file that the result is written to */
};

/* ---- contestants: models that are measured ---- */

static void close_contestant(struct contestant *c)
{
    cr_model_release(c->model);
    cr_buffers_free(&c->outputs);
    *c = (struct contestant){.model = NULL};
}

/* Compiles a model for a target, without running it. */
static int open_contestant(crescent_tuner *t, struct contestant *c, const struct cr_target *target,
                           struct cr_error *error)
{
    *c = (struct contestant){.target = *target};
    if (cr_compile_for(t->context, t->origin, cr_graph_copy(t->graph), &t->config, target, CR_TO_RUN, 0, &c->model,
                       error))
        return -1;
    return 0;
}

static int run(crescent_tuner *t, struct contestant *c, struct cr_error *error)
{
    return cr_engine_run(&c->model->engine, (const void *const *)t->inputs.data, c->outputs.data,
                         error);
}

/* Draws weights, allocates outputs, and runs the model once. */
static int warm_up(crescent_tuner *t, struct contestant *c, struct cr_error *error)
{
    struct cr_engine *e = &c->model->engine;
    if (cr_draw_params(e, SEED, error) ||
        cr_buffers_new(&c->outputs, e->outputs, NULL, e->n_outputs, error))
        return -1;
    return run(t, c, error);
}

/* Fails unless a contestant's first run gave the same bits as the very first run. */
static int check_bits(const crescent_tuner *t, const struct contestant *c, struct cr_error *error)
{
    const struct cr_engine *e = &c->model->engine;
    for (int i = 0; i < e->n_outputs; i++) {
        size_t bytes = (size_t)cr_port_elements(&e->outputs[i]) * sizeof(float);
        if (memcmp(c->outputs.data[i], t->expected.data[i], bytes) != 0)
            return cr_bug(error, "%.300s: output %.100s has other bits for another target",
                          t->origin->path, e->outputs[i].name);
    }
    return 0;
}

/* ---- measuring ---- */

/* Measures the time of one run, in nanoseconds. */
static int measure(crescent_tuner *t, struct contestant *c, double *ns, struct cr_error *error)
{
    int64_t start = cr_clock();
    if (run(t, c, error))
        return -1;
    *ns = (double)(cr_clock() - start);
    return 0;
}

/* Runs `a` and `b` alternately until the time `end`, at least three times each.  Sets *ratio to the
 * median of the ratios time of `b` / time of `a`, and *ns to the median time of `a`. */
static int compare(crescent_tuner *t, struct contestant *a, struct contestant *b, int64_t end,
                   double *ratio, double *ns, struct cr_error *error)
{
    enum { LEAST = 3, MOST = 2000 };
    double ratios[MOST], times[MOST], other;
    int n = 0;
    while (n < LEAST || (n < MOST && cr_clock() < end)) {
        if (measure(t, a, &times[n], error) || measure(t, b, &other, error))
            return -1;
        ratios[n] = other / times[n];
        n++;
    }
    qsort(ratios, (size_t)n, sizeof *ratios, cr_compare_doubles);
    qsort(times, (size_t)n, sizeof *times, cr_compare_doubles);
    *ratio = ratios[n / 2];
    *ns = times[n / 2];
    return 0;
}

/* ---- the tuner ---- */

static int draw_inputs(crescent_tuner *t, const struct cr_engine *e, struct cr_error *error)
{
    if (cr_buffers_new(&t->inputs, e->inputs, NULL, e->n_inputs, error))
        return -1;
    for (int i = 0; i < e->n_inputs; i++)
        cr_draw_input(e, i, SEED, t->inputs.data[i]);
    return 0;
}

/* Compiles the initial target twice: as `best`, and as `first`, which is compared with the best one
 * at the end. */
static int prepare(crescent_tuner *t, const struct cr_target *target, struct cr_error *error)
{
    if (open_contestant(t, &t->first, target, error) ||
        draw_inputs(t, &t->first.model->engine, error) || warm_up(t, &t->first, error))
        return -1;
    const struct cr_engine *e = &t->first.model->engine;
    t->expected = t->first.outputs;
    t->first.outputs = (struct cr_buffers){.n = 0};
    if (cr_buffers_new(&t->first.outputs, e->outputs, NULL, e->n_outputs, error))
        return -1;
    return open_contestant(t, &t->best, target, error) || warm_up(t, &t->best, error) ? -1 : 0;
}

/* Opens a tuner; after a failure nothing is left open. */
static int open_tuner(const crescent_graph *graph, const crescent_config *config, double seconds,
                      crescent_tuner **tuner, struct cr_error *error)
{
    struct cr_target start;
    crescent_config checked;
    if (cr_take_config(config, graph->origin->path, &checked, error))
        return -1;
    const struct cr_use use = {.isa = checked.isa, .threads = checked.threads, .is_long = true};
    if (cr_choose_target(graph->context, checked.target ? checked.target : "host", &use, &start,
                         error))
        return -1;
    if (checked.backend == CRESCENT_REF || !(seconds > 0) || seconds > 1e6)
        return cr_fail(error, "%.300s: found %g seconds of backend %s, expected a positive time, "
                       "and tcc or cc", graph->origin->path, seconds,
                       crescent_backend_name(checked.backend));
    crescent_tuner *t = cr_calloc(1, sizeof *t);
    t->context = cr_refer(graph->context);
    t->origin = cr_origin_refer(graph->origin);
    t->graph = cr_graph_copy(graph->graph);
    t->config = cr_config_copy(&checked);
    t->end_ns = cr_clock() + (int64_t)(seconds * 1e9);
    if (prepare(t, &start, error)) {
        crescent_tuner_close(t);
        return -1;
    }
    *tuner = t;
    return 0;
}

int crescent_tuner_open(const crescent_graph *graph, const crescent_config *config, double seconds,
                        crescent_tuner **tuner)
{
    if (tuner)
        *tuner = NULL;
    CR_REQUIRE(graph, tuner);
    CR_ENTER(graph->context);
    return cr_done(&guard, open_tuner(graph, config, seconds, tuner, guard.error));
}

/* Frees a tuner, also an incomplete one. */
void crescent_tuner_close(crescent_tuner *t)
{
    if (!t)
        return;
    close_contestant(&t->best);
    close_contestant(&t->first);
    cr_buffers_free(&t->inputs);
    cr_buffers_free(&t->expected);
    cr_config_free(&t->config);
    cr_graph_free(t->graph);
    cr_origin_release(t->origin);
    cr_release(t->context);
    free(t->path);
    free(t);
}

/* ---- candidates ---- */

static int find_size(const char *name)
{
    int i = 0;
    while (strcmp(cr_target_sizes[i].name, name) != 0)
        i++;
    return i;
}

/* Returns the number of candidates that are left in the table. */
static int candidates_left(const crescent_tuner *t)
{
    int n = 0;
    for (int i = t->size; i < N_SIZES; i++)
        for (int v = i == t->size ? t->value : 0; v < MAX_VALUES && table[i].values[v]; v++)
            n++;
    return n;
}

/* Moves on to the next candidate that differs from the best target; returns false if there is
 * none. */
static bool next_candidate(crescent_tuner *t, struct cr_target *target, crescent_trial *trial)
{
    for (; t->size < N_SIZES; t->size++, t->value = 0) {
        const struct candidates *c = &table[t->size];
        for (; t->value < MAX_VALUES && c->values[t->value]; t->value++) {
            *target = t->best.target;
            int64_t *field = cr_target_field(target, find_size(c->size));
            if (*field == c->values[t->value])
                continue;
            *trial = (crescent_trial){.size = c->size, .was = *field};
            *field = trial->value = c->values[t->value++];
            return true;
        }
    }
    return false;
}

static bool same_text(const struct contestant *a, const struct contestant *b)
{
    const struct cr_program *x = a->model->engine.program, *y = b->model->engine.program;
    return x->text_length == y->text_length && memcmp(x->text, y->text, x->text_length) == 0;
}

/* Measures a contestant against the best one, for a share of the remaining time.  It becomes the
 * best one if it is clearly faster. */
static int contest(crescent_tuner *t, struct contestant *c, crescent_trial *trial,
                   struct cr_error *error)
{
    const double clearly = 0.985;
    double ns;
    int64_t now = cr_clock(), share = (t->end_ns - now) / (candidates_left(t) + 2);
    trial->ratio = 1;
    if (same_text(c, &t->best))
        return 0;
    if (warm_up(t, c, error) || check_bits(t, c, error) ||
        compare(t, &t->best, c, now + share, &trial->ratio, &ns, error))
        return -1;
    trial->measured = 1;
    if (trial->ratio > clearly)
        return 0;
    trial->kept = 1;
    struct contestant old = t->best;
    t->best = *c;
    *c = old;
    return 0;
}

static int next(crescent_tuner *t, crescent_trial *trial, struct cr_error *error)
{
    struct cr_target target;
    struct contestant c;
    if (cr_clock() >= t->end_ns || !next_candidate(t, &target, trial))
        return CRESCENT_STOPPED;
    int status = open_contestant(t, &c, &target, error);
    if (!status)
        status = contest(t, &c, trial, error);
    close_contestant(&c);
    return status;
}

int crescent_tuner_next(crescent_tuner *tuner, crescent_trial *trial)
{
    CR_REQUIRE(tuner, trial);
    CR_ENTER(tuner->context);
    int status = next(tuner, trial, guard.error);
    return status == CRESCENT_STOPPED ? status : cr_done(&guard, status);
}

/* ---- the result ---- */

/* Writes a target to the tuner's file; with `rehearsal`, does not give the file its name. */
static int write_target(const crescent_tuner *t, const struct cr_target *target, bool rehearsal,
                        struct cr_error *error)
{
    struct cr_text text = {0};
    struct cr_writer writer;
    cr_target_print(&text, target);
    int status = cr_writer_open(&writer, t->path, error->text, sizeof error->text);
    if (!status) {
        cr_writer_put(&writer, text.data, text.length);
        status = rehearsal ? cr_writer_finish(&writer, error->text, sizeof error->text)
                           : cr_writer_commit(&writer, error->text, sizeof error->text);
        cr_writer_discard(&writer);
    }
    free(text.data);
    return status;
}

/* Sets the file that the result is written to: `path` or, if that is null, the file of this
 * machine's tuned target. */
static int choose_file(crescent_tuner *t, const char *path, struct cr_error *error)
{
    free(t->path);
    t->path = path ? cr_strdup(path) : cr_tuned_path(t->config.isa, error);
    return t->path ? 0 : -1;
}

int crescent_tuner_check_finish(crescent_tuner *tuner, const char *path)
{
    CR_REQUIRE(tuner, true);
    CR_ENTER(tuner->context);
    int status = choose_file(tuner, path, guard.error);
    if (!status)
        status = write_target(tuner, &tuner->best.target, true, guard.error);
    return cr_done(&guard, status);
}

/* Writes the better one of the first and the best target, and reports both times.  Measures both
 * again, since the ratios of the trials are biased: a winner was also lucky. */
static int finish(crescent_tuner *t, const char *path, crescent_tuning *tuning,
                  struct cr_error *error)
{
    int64_t now = cr_clock(), left = t->end_ns - now, least = 200000000;
    double ratio = 1, ns;
    if (compare(t, &t->first, &t->best, now + (left > least ? left : least), &ratio, &ns, error))
        return -1;
    const struct contestant *winner = ratio < 1 ? &t->best : &t->first;
    if (choose_file(t, path, error))
        return -1;
    int status = write_target(t, &winner->target, false, error);
    *tuning = (crescent_tuning){ns, ratio < 1 ? ns * ratio : ns, t->path};
    return status;
}

int crescent_tuner_finish(crescent_tuner *tuner, const char *path, crescent_tuning *tuning)
{
    CR_REQUIRE(tuner, tuning);
    CR_ENTER(tuner->context);
    return cr_done(&guard, finish(tuner, path, tuning, guard.error));
}
