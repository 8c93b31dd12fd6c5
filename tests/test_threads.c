/*
 * test_threads.c - four threads open, load, run, emit and close models at the same time
 * through crescent.h.  Each thread's outputs have the bits, and its emitted files the bytes,
 * of the same work done alone.  `make tsan` runs this suite under ThreadSanitizer.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"

enum { THREADS = 4, ROUNDS = 3, MAX_VALUES = 4096, MAX_FILE = 1 << 20 };

static char folder[64];

/* The models that threads take in turns. */
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

enum { JOBS = sizeof jobs / sizeof *jobs };

/* What a job gives: the first output, and the text of the emitted .c file. */
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

/* Runs an open model on inputs that are a function of the index alone. */
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
    /* a weight of its own, then all from the seed: both paths of the interface */
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

/* Opens, runs and closes job j, fails to open another, and emits; `who` names the file. */
static void do_job(int j, int who, struct outcome *out)
{
    char path[128];
    crescent_model *model = NULL, *none = NULL;
    crescent_config config = {.backend = jobs[j].backend,
                              .threads = jobs[j].threads,
                              .settings = jobs[j].settings,
                              .n_settings = 4};
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/%d", folder, who);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/m.c", folder, who);
    int status = crescent_open(jobs[j].script, &config, &model) || run_model(model, out) ||
                 crescent_open("graphs/none.lua", &config, &none) != CRESCENT_FAILED ||
                 crescent_emit(jobs[j].script, jobs[j].settings, 4, path);
    if (status)
        snprintf(out->failure, sizeof out->failure, "job %d: %.200s", j, crescent_error());
    else
        read_text(path, out);
    crescent_close(model);
}

/* What two outcomes of a job differ in, or null. */
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

/* A thread, its first outcome of each job, and the first that differs from that. */
struct worker {
    pthread_t thread;
    int who;
    struct outcome first[JOBS], again;
    const char *failure;
};

/* The system's compiler takes long: its job is done once. */
static void *work(void *argument)
{
    struct worker *w = argument;
    for (int round = 0; round < ROUNDS * JOBS && !w->failure; round++) {
        int j = (round + w->who) % JOBS;
        if (round < JOBS) {
            do_job(j, w->who, &w->first[j]);
        } else if (jobs[j].backend != CRESCENT_CC) {
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

/* The threads come first: they race for whatever is made once. */
START_TEST(threads_have_the_bits_of_one)
{
    for (int i = 0; i < THREADS; i++) {
        workers[i].who = i;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    alone.who = THREADS;
    work(&alone);
    ck_assert_msg(!alone.failure, "alone: %s", alone.failure);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(!workers[i].failure, "thread %d: %s", i, workers[i].failure);
        for (int j = 0; j < JOBS; j++) {
            const char *what = difference(&workers[i].first[j], &alone.first[j]);
            ck_assert_msg(!what, "thread %d, job %d: %s", i, j, what);
            free(workers[i].first[j].text);
        }
    }
    for (int j = 0; j < JOBS; j++)
        free(alone.first[j].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make_folder, remove_folder);
    tcase_set_timeout(all, 300);
    tcase_add_test(all, threads_have_the_bits_of_one);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
