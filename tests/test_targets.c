/*
 * test_targets.c - the text form of targets, and that results have the same bits on every target.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/exec/probe_target.h"
#include "compiler/exec/processor.h"
#include "compiler/library/host_target.h"
#include "runtime/select_runtime.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

static char folder[32];
static char path[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/crescent-target-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.target", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
}

/* Writes the name of the only file in the cache folder to `name`; returns false if there is
 * none. */
static bool find_kept(char *name, size_t size)
{
    char cache[64];
    snprintf(cache, sizeof cache, "%s/crescent", folder);
    DIR *files = opendir(cache);
    bool is_there = false;
    for (struct dirent *file; files && (file = readdir(files));)
        if (*file->d_name != '.') {
            snprintf(name, size, "%s/%s", cache, file->d_name);
            is_there = true;
        }
    if (files)
        closedir(files);
    return is_there;
}

static void remove_folder(void)
{
    char name[512];
    unlink(path);
    if (find_kept(name, sizeof name)) {
        unlink(name);
        *strrchr(name, '/') = '\0';
        rmdir(name);
    }
    rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* ---- as text ---- */

/* Reads the text of a target, which must be valid. */
static struct cr_target read_text(const char *text)
{
    struct cr_target target;
    struct cr_error error = {""};
    ck_assert_msg(!cr_target_read(&target, "t", "file", text, strlen(text), &error), "%s: %s", text,
                  error.text);
    return target;
}

START_TEST(the_table_is_right)
{
    for (int i = 0; i < cr_n_processors; i++) {
        struct cr_target named, read = read_text(cr_processors[i].sizes);
        cr_target_of(&named, &cr_processors[i]);
        ck_assert_str_eq(named.name, cr_processors[i].name);
        memcpy(read.name, named.name, sizeof read.name);
        ck_assert_mem_eq(&read, &named, sizeof read);
    }
    for (int i = 0; i < cr_n_target_sizes; i++) {
        const struct cr_target_size *s = &cr_target_sizes[i];
        ck_assert_msg(s->least <= s->generic && s->generic <= s->most, "%s", s->name);
    }
}
END_TEST

static uint64_t state;

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* Returns a target with random sizes: small ones, ones near those of the generic target, and the
 * limits. */
static struct cr_target draw_target(int seed)
{
    struct cr_target target = cr_target_generic;
    state = (uint64_t)seed * 77 + 5;
    for (int i = 0; i < cr_n_target_sizes; i++) {
        const struct cr_target_size *s = &cr_target_sizes[i];
        int64_t most = s->generic * 2 < s->most ? s->generic * 2 : s->most;
        int64_t *field = cr_target_field(&target, i);
        switch (below(4)) {
        case 0:
            *field = s->least;
            break;
        case 1:
            *field = s->least + below(1 + (most - s->least) / 16);
            break;
        case 2:
            *field = s->least + below(1 + most - s->least);
            break;
        }
    }
    return target;
}

START_TEST(what_is_printed_reads_back)
{
    struct cr_target target = draw_target(_i);
    struct cr_text text = {0};
    cr_target_print(&text, &target);
    struct cr_target read = read_text(text.data);
    memcpy(read.name, target.name, sizeof read.name);
    ck_assert_mem_eq(&read, &target, sizeof read);
    free(text.data);
}
END_TEST

static const struct {
    const char *text, *says;
} wrong[] = {
    {"tile_columns = 65", "file:1: tile_columns is 65, expected 0 to 64"},
    {"\n# x\nahead = -1", "file:3: 'ahead = -1', expected NAME = NUMBER"},
    {"ahead = 99999999999999999999999", "file:1: ahead is 99999999999999999999999, expected"},
    {"ahead", "file:1: 'ahead', expected NAME = NUMBER"},
    {"ahead = 1 2", "file:1: 'ahead = 1 2', expected NAME = NUMBER"},
    {"ahaed = 1", "file:1: 'ahaed' is not a size of a target, did you mean ahead?"},
    {"= 1", "file:1: '= 1', expected NAME = NUMBER"},
    {"ahead = 1e3", "file:1: 'ahead = 1e3', expected NAME = NUMBER"},
};

START_TEST(mistakes_are_one_line)
{
    struct cr_target target;
    struct cr_error error = {""};
    ck_assert_int_eq(
        cr_target_read(&target, "t", "file", wrong[_i].text, strlen(wrong[_i].text), &error), -1);
    ck_assert_msg(strstr(error.text, wrong[_i].says) == error.text, "%s", error.text);
}
END_TEST

START_TEST(comments_and_blanks)
{
    struct cr_target t = read_text("# a\r\n\t tile_columns =  24 # b\r\nahead=7\n\n#");
    ck_assert_int_eq(t.tile_columns, 24);
    ck_assert_int_eq(t.ahead, 7);
    ck_assert_int_eq(read_text("").tile_columns, cr_target_generic.tile_columns);
}
END_TEST

START_TEST(the_host)
{
    struct cr_host_processor host;
    struct cr_target target;
    cr_detect_processor(&host);
    ck_assert_msg(*host.name && !strchr(host.name, '/'), "%s", host.name);
    cr_host_target(&target, &host);
    for (int i = 0; i < cr_n_target_sizes; i++) {
        int64_t value = *cr_target_field(&target, i);
        ck_assert_int_ge(value, cr_target_sizes[i].least);
        ck_assert_int_le(value, cr_target_sizes[i].most);
    }
    if (host.l2_bytes)
        ck_assert_int_eq(target.l2_bytes, host.l2_bytes);
}
END_TEST

/* Where both cpuid and the operating system report the sizes of caches, they agree. */
START_TEST(caches)
{
    struct cr_host_processor host, asked;
    cr_detect_processor(&host);
    asked = host;
    asked.l1_bytes = asked.l2_bytes = asked.l3_bytes = 0;
    cr_detect_caches(&asked);
    if (asked.l1_bytes) {
        ck_assert_int_eq(asked.l1_bytes, host.l1_bytes);
        ck_assert_int_eq(asked.l2_bytes, host.l2_bytes);
        ck_assert_int_eq(asked.l3_bytes, host.l3_bytes);
    }
}
END_TEST

/* ---- the probe ---- */

/* An instruction set and the number of floats in its vectors. */
static const struct {
    const char *isa;
    int floats;
} isas[] = {{"avx512", 16}, {"avx2", 8}, {"neon", 4}, {"plain", 1}};

/* A probe changes only the sizes that it measures, and measures the width of tiles if the processor has
 * vectors. */
START_TEST(what_a_probe_finds)
{
    const struct cr_runtime *rt = cr_runtime_select(isas[_i].isa);
    struct cr_target found = cr_target_generic, rest;
    if (!rt)
        return;
    cr_probe_target(rt, 1 + _i % 2, &found);
    if (isas[_i].floats == 1) {
        ck_assert_mem_eq(&found, &cr_target_generic, sizeof found);
        return;
    }
    int64_t vectors = found.tile_columns / isas[_i].floats;
    ck_assert(vectors >= 2 && vectors <= 4 && vectors * isas[_i].floats == found.tile_columns);
    rest = found;
    rest.tile_columns = cr_target_generic.tile_columns;
    rest.gemm_step_rows = cr_target_generic.gemm_step_rows;
    rest.gemm_step_floats = cr_target_generic.gemm_step_floats;
    rest.ahead = cr_target_generic.ahead;
    ck_assert_mem_eq(&rest, &cr_target_generic, sizeof rest);
    struct cr_text text = {0};
    cr_target_print(&text, &found);
    read_text(text.data);
    free(text.data);
}
END_TEST

/* ---- through the library ---- */

/* Returns the text of the target that a new context finds for this machine; the caller frees it. */
static char *host_text(void)
{
    crescent_context *context = crescent_context_new();
    char *text;
    ck_assert_msg(crescent_target_text(context, "host", &text) == CRESCENT_OK, "%s",
                  crescent_error(context));
    crescent_context_free(context);
    return text;
}

/* Rewrites the cached probe with its first line, or with another one, and with a size that no probe
 * returns. */
static void write_kept(const char *name, const char *first_line)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\nahead = 77\n", first_line);
    fclose(file);
}

/* The result of a probe is cached.  The next process uses the cache if its first line is valid, and else
 * probes again; so it does if the machine was busy ten minutes ago. */
START_TEST(a_probe_is_kept)
{
    char name[512], line[256];
    crescent_free(host_text());
    if (!find_kept(name, sizeof name)) /* without vectors a probe measures nothing */
        return;
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    ck_assert_msg(strncmp(line, "# probe ", 8) == 0 && strstr(line, ", 1 threads"), "%s", line);

    write_kept(name, line);
    char *text = host_text();
    ck_assert_msg(strstr(text, "\nahead = 77 ") != NULL, "%s", text);
    crescent_free(text);

    strcat(line, "\n" CR_BUSY_PROBE);
    for (int minutes = 9; minutes <= 11; minutes += 2) {
        const struct timespec then = {time(NULL) - 60 * minutes, 0}, times[] = {then, then};
        write_kept(name, line);
        ck_assert_int_eq(utimensat(AT_FDCWD, name, times, 0), 0);
        text = host_text();
        ck_assert_msg((strstr(text, "\nahead = 77 ") != NULL) == (minutes < 10), "%s", text);
        crescent_free(text);
    }

    line[8]++; /* the version */
    write_kept(name, line);
    text = host_text();
    ck_assert_msg(strstr(text, "\nahead = 77 ") == NULL, "%s", text);
    crescent_free(text);
}
END_TEST

/* A model whose run takes less time than a probe is compiled without one. */
START_TEST(a_short_run_is_not_probed)
{
    crescent_context *context = crescent_context_new();
    static const char text[] = "return {y = matmul(input('x', {8, 64}), param('w', {64, 64}))}";
    crescent_graph *graph;
    crescent_model *model;
    char name[512];
    ck_assert_int_eq(crescent_graph_open_text(context, "m.lua", text, sizeof text - 1, NULL, &graph),
                     CRESCENT_OK);
    ck_assert_int_eq(crescent_compile(graph, NULL, &model), CRESCENT_OK);
    crescent_close(model);
    crescent_graph_close(graph);
    crescent_context_free(context);
    ck_assert(!find_kept(name, sizeof name));
}
END_TEST

START_TEST(the_environment_names_the_host)
{
    crescent_context *context = crescent_context_new();
    char *host, *named;
    setenv("CRESCENT_TARGET", "zen2", 1);
    ck_assert_int_eq(crescent_target_text(context, "host", &host), CRESCENT_OK);
    ck_assert_int_eq(crescent_target_text(context, "zen2", &named), CRESCENT_OK);
    ck_assert_str_eq(host, named);
    free(host);
    free(named);
    setenv("CRESCENT_TARGET", "zen22", 1);
    ck_assert_int_eq(crescent_target_text(context, "zen3", &named), CRESCENT_OK);
    free(named);
    ck_assert_int_eq(crescent_target_text(context, "host", &named), CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), "CRESCENT_TARGET: target zen22: expected") &&
                      strstr(crescent_error(context), "did you mean zen2?"),
                  "%s", crescent_error(context));
    unsetenv("CRESCENT_TARGET");
    crescent_context_free(context);
}
END_TEST

START_TEST(names_of_targets)
{
    crescent_context *context = crescent_context_new();
    crescent_target target;
    char *text;
    int n = 0;
    for (; crescent_target_at(n, &target) == CRESCENT_OK; n++) {
        ck_assert_int_eq(crescent_target_text(context, target.name, &text), CRESCENT_OK);
        crescent_free(text);
    }
    ck_assert_int_gt(n, 2);
    ck_assert_int_eq(crescent_target_at(-1, &target), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_target_text(context, "zen55", &text), CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), "did you mean zen5?") != NULL, "%s",
                  crescent_error(context));
    write_file("ahead = 12\n");
    ck_assert_int_eq(crescent_target_text(context, path, &text), CRESCENT_OK);
    ck_assert_ptr_nonnull(strstr(text, "\nahead = 12 "));
    crescent_free(text);
    crescent_context_free(context);
}
END_TEST

/* Products of every kind, whose k some targets split; epilogues of every form; and a block. */
static const char *const models[] = {
    "return {y = matmul(input('x', {150, 210}) * 2, param('w', {210, 70}))}",
    "return {y = matmul(input('x', {150, 210}), param('w', {210, 70}))}",
    "local x = input('x', {150, 210})\n"
    "local h = maximum(matmul(x, param('w', {210, 150})) + param('b', {150}), 0)\n"
    "return {y = h * h + param('r', {150, 150})}",
    "local x = input('x', {2, 131, 130})\n"
    "return {y = transpose(matmul(x, param('w', {130, 33})) + param('b', {33}), 2, 3)}",
    "local h = matmul(input('x', {133, 140}), param('w', {140, 64}))\n"
    "return {y = matmul(transpose(h, 1, 2), h)}",
    "local h = input('x', {600, 30})\n"
    "return {y = matmul(transpose(h * 2, 1, 2), h), z = sum(h, 1)}",
    "return {y = matmul(input('x', {140, 700}), param('w', {700, 40})) + param('b', {40})}",
    "local gpt2 = require 'gpt2'\n"
    "local o = {n_head = 3, layer_norm_epsilon = 1e-5, layout = 'conv1d'}\n"
    "return {y = gpt2.block(input('x', {2, 67, 48}), o)}",
};

static crescent_graph *open_graph(crescent_context *context, const char *text)
{
    crescent_graph *graph;
    ck_assert_msg(crescent_graph_open_text(context, "graphs/m.lua", text, strlen(text), NULL,
                                           &graph) == CRESCENT_OK &&
                      crescent_graph_gradients(graph, NULL, 0) == CRESCENT_OK,
                  "%s", crescent_error(context));
    return graph;
}

/* Returns n numbers of any magnitude and sign, the same in every run. */
static float *numbers(int64_t n, int salt)
{
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    state = (uint64_t)salt;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(below(2001) - 1000) / 700.0f;
    return x;
}

/* Returns all outputs of a graph under a configuration, concatenated; null if the machine lacks the
 * instruction set. */
static float *run(const crescent_graph *graph, const crescent_config *config, int64_t *floats)
{
    crescent_model *model;
    crescent_port port;
    void *outputs[64];
    int64_t total = 0;
    if (crescent_compile(graph, config, &model) != CRESCENT_OK)
        return NULL;
    for (int i = 0; crescent_port_at(model, CRESCENT_PARAM, i, &port) == CRESCENT_OK; i++) {
        float *weight = numbers(crescent_port_elements(&port), i);
        ck_assert_int_eq(crescent_set_weight(model, i, weight), CRESCENT_OK);
        free(weight);
    }
    int n = crescent_port_count(model, CRESCENT_OUTPUT);
    for (int i = 0; i < n; i++) {
        crescent_port_at(model, CRESCENT_OUTPUT, i, &port);
        total += crescent_port_elements(&port);
    }
    float *y = calloc((size_t)total, sizeof *y);
    *floats = total;
    for (int i = n - 1; i >= 0; i--) {
        crescent_port_at(model, CRESCENT_OUTPUT, i, &port);
        total -= crescent_port_elements(&port);
        outputs[i] = y + total;
    }
    crescent_port_at(model, CRESCENT_INPUT, 0, &port);
    float *x = numbers(crescent_port_elements(&port), 99);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, outputs), CRESCENT_OK);
    free(x);
    crescent_close(model);
    return y;
}

/* Compiles for a target and compares the bits with the expected ones. */
static void check_target(crescent_context *context, const crescent_graph *graph,
                         const crescent_config *config, const float *want)
{
    int64_t n;
    float *y = run(graph, config, &n);
    if (!y) {
        ck_assert_msg(config->isa != NULL, "%s: %s", config->target, crescent_error(context));
        return;
    }
    int64_t i = 0;
    while (i < n && memcmp(y + i, want + i, sizeof *y) == 0)
        i++;
    ck_assert_msg(i == n, "target %s, %d threads, %s: element %d is %a, not %a", config->target,
                  config->threads, config->isa ? config->isa : "best", (int)i, (double)y[i],
                  (double)want[i]);
    free(y);
}

enum { TARGETS = 60 };

/* Results have the same bits on every target of the table, and on random targets. */
START_TEST(no_bit_depends_on_the_target)
{
    static const char *const sets[] = {NULL, NULL, "avx2", "plain"};
    crescent_context *context = crescent_context_new();
    crescent_graph *graph = open_graph(context, models[_i]);
    crescent_target named;
    crescent_config config = {.target = "generic"};
    int64_t n;
    float *want = run(graph, &config, &n);
    ck_assert_msg(want != NULL, "%s", crescent_error(context));
    for (int i = 0; crescent_target_at(i, &named) == CRESCENT_OK; i++) {
        config = (crescent_config){.target = named.name, .threads = 1 + i % 3};
        check_target(context, graph, &config, want);
    }
    for (int seed = 0; seed < TARGETS; seed++) {
        struct cr_target target = draw_target(seed);
        if (seed == 0)
            cr_probe_target(cr_runtime_select(NULL), 2, &target);
        struct cr_text text = {0};
        cr_target_print(&text, &target);
        write_file(text.data);
        config = (crescent_config){.target = path, .threads = 1 + seed % 3, .isa = sets[seed % 4]};
        check_target(context, graph, &config, want);
        free(text.data);
    }
    free(want);
    crescent_graph_close(graph);
    crescent_context_free(context);
}
END_TEST

/* ---- tuning ---- */

enum { CANDIDATES = 40, SECONDS = 4 }; /* at least as many candidates, and the time for them in seconds */

/* The tuner fails if a candidate's bits differ; the target that it stores is read back as this
 * machine's.  Here it stops before its time is over, as it has tried all candidates. */
START_TEST(tuning)
{
    crescent_context *context = crescent_context_new();
    crescent_graph *graph = open_graph(context, models[_i]);
    const crescent_config config = {.threads = 1 + _i % 2, .target = "generic"};
    crescent_tuner *tuner;
    crescent_trial trial;
    crescent_tuning tuning;
    int64_t begin = crescent_clock();
    int n = 0, status;
    ck_assert_msg(crescent_tuner_open(graph, &config, SECONDS, &tuner) == CRESCENT_OK, "%s",
                  crescent_error(context));
    for (; (status = crescent_tuner_next(tuner, &trial)) == CRESCENT_OK; n++) {
        ck_assert(trial.ratio > 0 && (trial.measured || trial.ratio == 1));
        ck_assert_int_ne(trial.was, trial.value);
    }
    ck_assert_msg(status == CRESCENT_STOPPED, "%s", crescent_error(context));
    bool over = crescent_clock() - begin >= SECONDS * INT64_C(1000000000);
    ck_assert_msg(n >= CANDIDATES || over, "%d candidates, and time is left", n);
    ck_assert_msg(crescent_tuner_finish(tuner, NULL, &tuning) == CRESCENT_OK, "%s",
                  crescent_error(context));
    ck_assert(tuning.before_ns > 0 && tuning.after_ns > 0 && tuning.after_ns <= tuning.before_ns);
    char *kept, *host;
    ck_assert_int_eq(crescent_target_text(context, tuning.path, &kept), CRESCENT_OK);
    ck_assert_int_eq(crescent_target_text(context, "host", &host), CRESCENT_OK);
    ck_assert_str_eq(strchr(kept, '\n'), strchr(host, '\n'));
    unlink(tuning.path);
    char cache[64];
    snprintf(cache, sizeof cache, "%s/crescent", folder);
    ck_assert_int_eq(rmdir(cache), 0);
    crescent_free(kept);
    crescent_free(host);
    crescent_tuner_close(tuner);
    crescent_graph_close(graph);
    crescent_context_free(context);
}
END_TEST

START_TEST(what_cannot_be_tuned)
{
    crescent_context *context = crescent_context_new();
    crescent_graph *graph = open_graph(context, models[0]);
    static const crescent_config configs[] = {{.backend = CRESCENT_REF}, {.target = "none"}};
    crescent_tuner *tuner;
    crescent_tuning tuning;
    for (int i = 0; i < COUNT(configs); i++) {
        ck_assert_int_eq(crescent_tuner_open(graph, &configs[i], 1, &tuner), CRESCENT_FAILED);
        ck_assert_ptr_null(tuner);
    }
    ck_assert_int_eq(crescent_tuner_open(graph, NULL, 0, &tuner), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_tuner_open(graph, NULL, 1e-3, &tuner), CRESCENT_OK);
    ck_assert_int_eq(crescent_tuner_check_finish(tuner, NULL), CRESCENT_OK);
    ck_assert_int_eq(crescent_tuner_check_finish(tuner, "/nowhere/x.target"), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_tuner_finish(tuner, "/nowhere/x.target", &tuning), CRESCENT_FAILED);
    crescent_tuner_close(tuner);
    crescent_graph_close(graph);
    crescent_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("targets");
    TCase *text = tcase_create("text"), *bits = tcase_create("bits");
    tcase_add_checked_fixture(text, make_folder, remove_folder);
    tcase_add_unchecked_fixture(bits, make_folder, remove_folder);
    tcase_add_test(text, the_table_is_right);
    tcase_add_loop_test(text, what_is_printed_reads_back, 0, 50);
    tcase_add_loop_test(text, mistakes_are_one_line, 0, COUNT(wrong));
    tcase_add_test(text, comments_and_blanks);
    tcase_add_test(text, the_host);
    tcase_add_test(text, caches);
    tcase_add_loop_test(text, what_a_probe_finds, 0, COUNT(isas));
    tcase_add_test(text, names_of_targets);
    tcase_add_test(text, a_probe_is_kept);
    tcase_add_test(text, a_short_run_is_not_probed);
    tcase_add_test(text, the_environment_names_the_host);
    tcase_add_loop_test(bits, no_bit_depends_on_the_target, 0, COUNT(models));
    tcase_add_loop_test(bits, tuning, COUNT(models) - 2, COUNT(models));
    tcase_add_test(bits, what_cannot_be_tuned);
    tcase_set_timeout(bits, 60);
    suite_add_tcase(suite, text);
    suite_add_tcase(suite, bits);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
