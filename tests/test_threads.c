/*
 * test_threads.c - four threads open, load, run, train, emit and close models at the same time
 * through crescent.h, each with a context of its own or all with one that a lock protects.  Each
 * thread's outputs have the bits, and its files the bytes, of the same work done alone.
 * `make tsan` runs this suite under ThreadSanitizer.
 */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"

enum { THREADS = 4, ROUNDS = 3, MAX_VALUES = 4096, MAX_FILE = 1 << 20 };

static char folder[64];
static crescent_context *shared; /* shared by the threads of a test; null: each thread has its own */

/* The models that the threads run one after another. */
static const struct {
    const char *script;
    crescent_backend backend;
    int threads;
    crescent_setting settings[4];
} jobs[] = {
    {"graphs/gpt2_block.lua",
     CRESCENT_TCC,
     2,
     {{"B", "1"}, {"T", "5"}, {"n_embd", "32"}, {"n_head", "4"}}},
    {"graphs/heads_block.lua",
     CRESCENT_REF,
     1,
     {{"B", "1"}, {"T", "4"}, {"n_embd", "24"}, {"n_head", "2"}}},
    {"graphs/tiny_block.lua",
     CRESCENT_TCC,
     1,
     {{"B", "2"}, {"T", "3"}, {"n_embd", "16"}, {"n_head", "2"}}},
    {"graphs/gpt2_block.lua",
     CRESCENT_CC,
     1,
     {{"B", "1"}, {"T", "3"}, {"n_embd", "16"}, {"n_head", "1"}}},
};

enum { JOBS = sizeof jobs / sizeof *jobs, ALL_JOBS };

/* The outcome of a job: the first output and the emitted C text; for a training, its checkpoint. */
struct outcome {
    float values[MAX_VALUES];
    size_t n;
    char *text;
    size_t length;
    char failure[256]; /* empty: none */
};

static int64_t elements(const crescent_port *port)
{
    int64_t n = 1;
    for (int i = 0; i < port->rank; i++)
        n *= port->shape[i];
    return n;
}

/* Runs an open model on inputs that depend on the index alone. */
static int run_model(crescent_model *model, struct outcome *out)
{
    static const float zeros[1];
    crescent_port x, y;
    float *in = NULL;
    if (crescent_port_at(model, CRESCENT_INPUT, 0, &x) ||
        crescent_port_at(model, CRESCENT_OUTPUT, 0, &y) || elements(&y) > MAX_VALUES ||
        !(in = malloc((size_t)elements(&x) * sizeof *in)))
        return -1;
    for (int64_t i = 0; i < elements(&x); i++)
        in[i] = (float)(i % 17) / 8 - 1;
    out->n = (size_t)elements(&y);
    /* sets one weight, then draws all from a seed: both functions of the interface */
    int status = crescent_set_weight(model, 99, zeros) != CRESCENT_FAILED ||
                 crescent_draw_weights(model, 3) ||
                 crescent_run(model, (const void *[]){in}, (void *[]){out->values});
    free(in);
    return status;
}

static void read_text(const char *path, struct outcome *out)
{
    FILE *file = fopen(path, "rb");
    out->text = calloc(1, MAX_FILE);
    if (file && out->text)
        out->length = fread(out->text, 1, MAX_FILE, file);
    if (file)
        fclose(file);
}

/* Runs job j: opens, compiles and runs its model, fails to open another one, and emits to
 * `path`. */
static int run_job(crescent_context *context, int j, const char *path, struct outcome *out)
{
    const crescent_script how = {.settings = jobs[j].settings, .n_settings = 4};
    const crescent_config config = {.backend = jobs[j].backend, .threads = jobs[j].threads};
    crescent_graph *graph = NULL;
    crescent_model *model = NULL, *none = NULL;
    int status = crescent_graph_open(context, jobs[j].script, &how, &graph) ||
                 crescent_compile(graph, &config, &model) || run_model(model, out) ||
                 crescent_open(context, "graphs/none.lua", NULL, NULL, &none) != CRESCENT_FAILED ||
                 !strstr(crescent_error(context), "none.lua") ||
                 crescent_emit(graph, NULL, CRESCENT_EMIT_RUN, path, NULL);
    crescent_graph_close(graph);
    crescent_close(model);
    return status;
}

/* Runs the last job, which is not in the table: some steps of a training, which writes its
 * checkpoint to `path`. */
static int train_job(crescent_context *context, const char *path)
{
    const crescent_script how = {.seed = 11};
    const crescent_config config = {.threads = 2};
    crescent_graph *graph = NULL;
    crescent_trainer *trainer = NULL;
    int status = crescent_graph_open(context, "graphs/train_add.lua", &how, &graph) ||
                 crescent_trainer_open(graph, &config, &trainer) ||
                 crescent_draw_weights(crescent_trainer_model(trainer), 11) ||
                 crescent_trainer_start(trainer);
    for (int i = 0; i < 5 && !status; i++)
        status = crescent_trainer_step(trainer);
    if (!status)
        status = crescent_trainer_save(trainer, path);
    crescent_trainer_close(trainer);
    crescent_graph_close(graph);
    return status;
}

/* Runs job j in a context of its own; `who` names the folder of its files. */
static void do_job(int j, int who, struct outcome *out)
{
    char path[128];
    crescent_context *context = shared ? shared : crescent_context_new();
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/%d", folder, who);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/m.c", folder, who);
    bool failed = j < JOBS ? run_job(context, j, path, out) : train_job(context, path);
    if (failed)
        snprintf(out->failure, sizeof out->failure, "job %d: %.200s", j, crescent_error(context));
    else
        read_text(path, out);
    if (!shared)
        crescent_context_free(context);
}

/* Returns the name of the first difference between two outcomes of a job, or null. */
static const char *difference(const struct outcome *a, const struct outcome *b)
{
    if (*a->failure || *b->failure)
        return *a->failure ? a->failure : b->failure;
    if (a->n != b->n || memcmp(a->values, b->values, a->n * sizeof *a->values) != 0)
        return "other bits";
    if (a->length != b->length || memcmp(a->text, b->text, a->length) != 0)
        return "another text";
    return NULL;
}

/* A thread, its first outcome of each job, and the first later outcome that differs. */
struct worker {
    pthread_t thread;
    int who;
    struct outcome first[ALL_JOBS], again;
    const char *failure;
};

/* The work of a thread; the job that calls the system's C compiler is done once, as it takes
 * long. */
static void *work(void *argument)
{
    struct worker *w = argument;
    for (int round = 0; round < ROUNDS * ALL_JOBS && !w->failure; round++) {
        int j = (round + w->who) % ALL_JOBS;
        if (round < ALL_JOBS) {
            do_job(j, w->who, &w->first[j]);
        } else if (j == JOBS || jobs[j].backend != CRESCENT_CC) {
            do_job(j, w->who, &w->again);
            w->failure = difference(&w->again, &w->first[j]);
            free(w->again.text);
        }
    }
    return NULL;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/test_threads.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct worker workers[THREADS], alone;

static void free_outcomes(struct worker *w)
{
    for (int j = 0; j < ALL_JOBS; j++)
        free(w->first[j].text);
}

/* Each worker's outcomes are equal to the outcomes of a worker that ran alone. */
static void compare_workers(void)
{
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(!workers[i].failure, "thread %d: %s", i, workers[i].failure);
        for (int j = 0; j < ALL_JOBS; j++) {
            const char *what = difference(&workers[i].first[j], &alone.first[j]);
            ck_assert_msg(!what, "thread %d, job %d: %s", i, j, what);
        }
        free_outcomes(&workers[i]);
    }
    free_outcomes(&alone);
}

static void start_workers(void *(*function)(void *))
{
    memset(workers, 0, sizeof workers);
    memset(&alone, 0, sizeof alone);
    for (int i = 0; i < THREADS; i++) {
        workers[i].who = i;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, function, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    alone.who = THREADS;
}

/* The threads run before the single worker, so that they race for everything that the library
 * initializes once. */
START_TEST(threads_have_the_bits_of_one)
{
    start_workers(work);
    work(&alone);
    ck_assert_msg(!alone.failure, "alone: %s", alone.failure);
    compare_workers();
}
END_TEST

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The work of a thread that shares a context with others: each job once, under a lock. */
static void *work_with_a_lock(void *argument)
{
    struct worker *w = argument;
    for (int j = 0; j < ALL_JOBS; j++) {
        pthread_mutex_lock(&lock);
        do_job(j, w->who, &w->first[j]);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

START_TEST(threads_share_a_context)
{
    shared = crescent_context_new();
    ck_assert_ptr_nonnull(shared);
    start_workers(work_with_a_lock);
    work_with_a_lock(&alone);
    compare_workers();
    crescent_context_free(shared);
    shared = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make_folder, remove_folder);
    tcase_set_timeout(all, 300);
    tcase_add_test(all, threads_have_the_bits_of_one);
    tcase_add_test(all, threads_share_a_context);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
