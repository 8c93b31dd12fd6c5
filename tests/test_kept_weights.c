/*
 * test_kept_weights.c - packed weights that are kept in files: the bits of a run, what a file depends on,
 * and how much all of them take.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"

enum { N = 2 * 8 * 48, PLENTY = 1 << 30 };
#define BLOCK "graphs/gpt2_block.lua"

static char folder[64], cache[96], weights[96];
static crescent_context *last; /* of the model that was opened last, for its errors */

#define GOOD(context, call)                                                                        \
    ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* A model for which weights may be kept; `format` may be null. */
static crescent_model *open_model(int64_t bytes, const char *format, crescent_backend backend)
{
    static const crescent_setting sizes[] = {{"B", "2"}, {"T", "8"}, {"n_embd", "48"}, {"n_head", "3"}};
    const crescent_script script = {.settings = sizes, .n_settings = 4};
    const crescent_config config = {.backend = backend, .threads = 2, .format = format};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    GOOD(context, crescent_cache_weights(context, bytes));
    GOOD(context, crescent_open(context, BLOCK, &script, &config, &model));
    crescent_context_free(last); /* its model refers to it */
    last = context;
    return model;
}

static void load(crescent_model *model)
{
    const char *path = weights;
    ck_assert_int_eq(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL),
                     CRESCENT_OK);
}

static void run(crescent_model *model, float *y)
{
    float x[N];
    ck_assert_int_eq(crescent_draw_input(model, 0, 1, x), CRESCENT_OK);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
}

/* Opens, loads and runs a model; whether its weights were kept.  Then they are. */
static bool was_kept(const char *format, float *y)
{
    crescent_model *model = open_model(PLENTY, format, CRESCENT_TCC);
    int64_t written, least = crescent_uncached_weights(model);
    ck_assert_int_eq(least, 0);
    load(model);
    int64_t bytes = crescent_uncached_weights(model);
    ck_assert((bytes == 0) == (crescent_cached_weights(model) > 0));
    run(model, y);
    ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert(bytes ? written > bytes : written == 0);
    crescent_close(model);
    return bytes == 0;
}

/* Weights that are due are not written, and why. */
static void fails_to_write(crescent_model *model, const char *why)
{
    int64_t written = -1;
    ck_assert_int_ne(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert_int_eq(written, 0);
    ck_assert_msg(strstr(crescent_error(last), why) != NULL, "%s", crescent_error(last));
}

/* A file of weights drawn from a seed. */
static void save_weights(int64_t seed)
{
    crescent_model *model = open_model(0, NULL, CRESCENT_TCC);
    ck_assert_int_eq(crescent_keep_weights(model), CRESCENT_OK);
    ck_assert_int_eq(crescent_draw_weights(model, seed), CRESCENT_OK);
    ck_assert_int_eq(crescent_save_weights(model, weights), CRESCENT_OK);
    crescent_close(model);
}

/* Counts the files that are kept; the path of the last one. */
static int count_files(char path[400])
{
    char inner[128];
    struct dirent *entry;
    int n = 0;
    snprintf(inner, sizeof inner, "%s/crescent", cache);
    DIR *open_folder = opendir(inner);
    while (open_folder && (entry = readdir(open_folder)))
        if (strstr(entry->d_name, ".weights")) {
            snprintf(path, 400, "%s/%s", inner, entry->d_name);
            n++;
        }
    if (open_folder)
        closedir(open_folder);
    return n;
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_kept.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(weights, sizeof weights, "%s/w.safetensors", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    save_weights(3);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(last);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- bits ---- */

static const char *const formats[] = {NULL, "bf16", "q8", "q4", "f32,*.c_fc.*=q4"};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* A run of weights that are mapped has the bits of one that read them; each format has a file of its own. */
START_TEST(gives_the_same_bits)
{
    float first[N], second[N], third[N];
    char path[400];
    ck_assert(!was_kept(formats[_i], first));
    ck_assert(was_kept(formats[_i], second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert_int_eq(count_files(path), 1);
    ck_assert(!was_kept(formats[(_i + 1) % N_FORMATS], third));
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_kept(formats[_i], third));
    ck_assert_mem_eq(first, third, sizeof first);
}
END_TEST

/* A parameter that is set later is the model's own: neither the file nor another model sees it. */
START_TEST(keeps_what_is_set_apart)
{
    float first[N], second[N], third[N];
    crescent_port port;
    ck_assert(!was_kept(NULL, first));
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC),
                   *other = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    load(other);
    int last = crescent_port_count(model, CRESCENT_PARAM) - 1;
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_PARAM, last, &port), CRESCENT_OK);
    float *ones = malloc((size_t)crescent_port_elements(&port) * sizeof *ones);
    for (int64_t i = 0; i < crescent_port_elements(&port); i++)
        ones[i] = 1;
    ck_assert_int_eq(crescent_set_weight(model, last, ones), CRESCENT_OK);
    run(model, second);
    run(other, third);
    ck_assert_mem_eq(first, third, sizeof first);
    ck_assert(memcmp(first, second, sizeof first) != 0);
    ck_assert_int_eq(crescent_uncached_weights(model), 0);
    crescent_close(model);
    crescent_close(other);
    ck_assert(was_kept(NULL, third));
    ck_assert_mem_eq(first, third, sizeof first);
    free(ones);
}
END_TEST

/* ---- what a file depends on ---- */

/* Changes one byte near the end of the weights' file, and gives it the times that it had. */
static void change_a_byte(void)
{
    struct stat status;
    unsigned char byte;
    int fd = open(weights, O_RDWR);
    ck_assert(fd >= 0 && fstat(fd, &status) == 0);
    ck_assert(pread(fd, &byte, 1, status.st_size - 1) == 1);
    byte ^= 0x40;
    ck_assert(pwrite(fd, &byte, 1, status.st_size - 1) == 1);
    ck_assert(futimens(fd, (struct timespec[]){status.st_atim, status.st_mtim}) == 0);
    close(fd);
}

/* Weights that were written anew are read, also in place and with the old times. */
START_TEST(sees_other_weights)
{
    float first[N], second[N], third[N];
    ck_assert(!was_kept(NULL, first));
    save_weights(4);
    ck_assert(!was_kept(NULL, second));
    ck_assert(memcmp(first, second, sizeof first) != 0);
    usleep(20000); /* a clock tick of the file system */
    change_a_byte();
    ck_assert(!was_kept(NULL, third));
    ck_assert(memcmp(second, third, sizeof first) != 0);
    ck_assert(was_kept(NULL, second));
    ck_assert_mem_eq(second, third, sizeof first);
}
END_TEST

/* A kept file that was cut, or has another key, counts as none and is replaced. */
START_TEST(passes_over_damaged_files)
{
    float first[N], second[N];
    char path[400];
    struct stat status;
    ck_assert(!was_kept(NULL, first));
    ck_assert_int_eq(count_files(path), 1);
    ck_assert(stat(path, &status) == 0 && truncate(path, status.st_size - 1) == 0);
    ck_assert(!was_kept(NULL, second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert(was_kept(NULL, second));
    int fd = open(path, O_WRONLY);
    ck_assert(fd >= 0 && pwrite(fd, "X", 1, 40) == 1);
    close(fd);
    ck_assert(!was_kept(NULL, second));
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert(was_kept(NULL, second));
}
END_TEST

/* Nothing is kept of weights that are drawn, of the interpreter's, or where it is not allowed. */
START_TEST(keeps_nothing_unasked)
{
    char path[400];
    int64_t written = -1;
    crescent_model *drawn = open_model(PLENTY, NULL, CRESCENT_TCC),
                   *ref = open_model(PLENTY, NULL, CRESCENT_REF),
                   *off = open_model(0, NULL, CRESCENT_TCC);
    load(drawn);
    ck_assert(crescent_uncached_weights(drawn) > 0);
    ck_assert_int_eq(crescent_draw_weights(drawn, 5), CRESCENT_OK);
    load(ref);
    load(off);
    crescent_model *models[] = {drawn, ref, off};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(crescent_uncached_weights(models[i]), 0);
        ck_assert_int_eq(crescent_write_cache(models[i], &written), CRESCENT_OK);
        ck_assert_int_eq(written, 0);
        crescent_close(models[i]);
    }
    ck_assert_int_eq(count_files(path), 0);
}
END_TEST

/* Weights that changed after they were read are not kept. */
START_TEST(keeps_nothing_that_changed)
{
    char path[400];
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    usleep(20000);
    change_a_byte();
    fails_to_write(model, "changed since it was read");
    ck_assert_int_eq(count_files(path), 0);
    crescent_close(model);
}
END_TEST

/* ---- how much there is ---- */

/* A bound that holds one file of f32: the one that was used longest ago goes first. */
START_TEST(removes_the_oldest)
{
    float y[N];
    char path[400];
    int64_t written[3], bytes[3];
    static const char *const kept[] = {"q4", "q8", NULL};
    for (int i = 0; i < 3; i++) {
        crescent_model *model = open_model(i < 2 ? PLENTY : written[0] / 2, kept[i], CRESCENT_TCC);
        load(model);
        bytes[i] = crescent_uncached_weights(model);
        if (i < 2)
            ck_assert_int_eq(crescent_write_cache(model, &written[i]), CRESCENT_OK);
        else /* more than the bound by itself: nothing is removed */
            fails_to_write(model, "bytes of weights, expected at most the");
        crescent_close(model);
        usleep(20000);
    }
    ck_assert(written[0] > 0 && written[1] > written[0]);
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_kept("q4", y)); /* so that q8 is the oldest */
    usleep(20000);
    int64_t page = 4096, key = written[0] - bytes[0], bound = written[0] + bytes[2] + key + page;
    crescent_model *model = open_model(bound, NULL, CRESCENT_TCC);
    load(model);
    ck_assert_int_eq(crescent_write_cache(model, &written[2]), CRESCENT_OK);
    ck_assert(written[2] > 0 && written[2] + written[0] <= bound);
    crescent_close(model);
    ck_assert_int_eq(count_files(path), 2);
    ck_assert(was_kept("q4", y));
    ck_assert(was_kept(NULL, y));
    ck_assert(!was_kept("q8", y));
}
END_TEST

/* Without a folder, or with one that cannot be made, weights are read and nothing is said. */
START_TEST(does_without_a_folder)
{
    float y[N];
    int64_t written = -1;
    unsetenv("HOME");
    const char *places[] = {"relative", "/dev/null/below"};
    for (int i = 0; i < 2; i++) {
        setenv("XDG_CACHE_HOME", places[i], 1);
        crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
        load(model);
        run(model, y);
        if (i == 0) {
            ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
            ck_assert_int_eq(written, 0);
        } else {
            fails_to_write(model, "/dev/null/below/crescent: ");
        }
        crescent_close(model);
    }
}
END_TEST

/* Of processes that would write the same weights at once, one does. */
START_TEST(writes_alone)
{
    char inner[128], path[400];
    int64_t written;
    crescent_model *model = open_model(PLENTY, NULL, CRESCENT_TCC);
    load(model);
    snprintf(inner, sizeof inner, "%s/crescent", cache);
    ck_assert(mkdir(cache, 0700) == 0 && mkdir(inner, 0700) == 0);
    int fd = open(inner, O_RDONLY | O_DIRECTORY);
    ck_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
    fails_to_write(model, "another process writes weights there");
    ck_assert_int_eq(count_files(path), 0);
    close(fd);
    ck_assert_int_eq(crescent_write_cache(model, &written), CRESCENT_OK);
    ck_assert(written > 0);
    ck_assert_int_eq(count_files(path), 1);
    crescent_close(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept weights");
    TCase *t = tcase_create("kept weights");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, gives_the_same_bits, 0, N_FORMATS);
    tcase_add_test(t, keeps_what_is_set_apart);
    tcase_add_test(t, sees_other_weights);
    tcase_add_test(t, passes_over_damaged_files);
    tcase_add_test(t, keeps_nothing_unasked);
    tcase_add_test(t, keeps_nothing_that_changed);
    tcase_add_test(t, removes_the_oldest);
    tcase_add_test(t, does_without_a_folder);
    tcase_add_test(t, writes_alone);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
