/* test_api.c - the public C interface: a fixture of PyTorch's through each backend, and misuse. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"
#include "compiler/files/npy.h"

#define CASE "tests/fixtures/stack/"

enum { MAX_SETTINGS = 16 };

/* The settings of the fixture's case.txt. */
static struct {
    char keys[MAX_SETTINGS][32], values[MAX_SETTINGS][32];
    crescent_setting settings[MAX_SETTINGS];
    int n;
    char script[64];
} fixture;

static void read_fixture(void)
{
    char word[16], text[64];
    FILE *file = fopen(CASE "case.txt", "r");
    ck_assert_ptr_nonnull(file);
    fixture.n = 0;
    while (fscanf(file, "%15s %63s", word, text) == 2) {
        char *equals = strchr(text, '=');
        if (strcmp(word, "script") == 0)
            strcpy(fixture.script, text);
        if (strcmp(word, "set") != 0)
            continue;
        ck_assert(equals && fixture.n < MAX_SETTINGS);
        *equals = '\0';
        strcpy(fixture.keys[fixture.n], text);
        strcpy(fixture.values[fixture.n], equals + 1);
        fixture.settings[fixture.n] =
            (crescent_setting){fixture.keys[fixture.n], fixture.values[fixture.n]};
        fixture.n++;
    }
    fclose(file);
}

static crescent_model *open_fixture(crescent_backend backend, int threads)
{
    crescent_model *model;
    crescent_config config = {.backend = backend,
                              .threads = threads,
                              .settings = fixture.settings,
                              .n_settings = fixture.n};
    ck_assert_msg(crescent_open(fixture.script, &config, &model) == CRESCENT_OK, "%s",
                  crescent_error());
    return model;
}

/* A .npy file of floats, or of doubles rounded. */
static float *read_npy(const char *path, int64_t *n)
{
    struct cr_npy file;
    char error[512];
    ck_assert_msg(cr_npy_open(&file, path, error, sizeof error) == 0, "%s", error);
    float *data = malloc((size_t)file.elements * sizeof *data);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(cr_npy_read_f32(&file, data, error, sizeof error), 0);
    *n = file.elements;
    cr_npy_close(&file);
    return data;
}

static const struct {
    crescent_backend backend;
    int threads;
} ways[] = {{CRESCENT_REF, 0}, {CRESCENT_TCC, 1}, {CRESCENT_TCC, 2}, {CRESCENT_CC, 1}};

START_TEST(a_fixture_through_the_interface)
{
    int64_t n, m;
    crescent_port port;
    read_fixture();
    crescent_model *model = open_fixture(ways[_i].backend, ways[_i].threads);
    float *x = read_npy(CASE "x.npy", &n), *want = read_npy(CASE "y.npy", &m);
    float *y = calloc((size_t)n, sizeof *y);
    ck_assert_int_eq(n, m);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_INPUT), 1);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_OUTPUT), 1);
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_OUTPUT, 0, &port), CRESCENT_OK);
    ck_assert_str_eq(port.name, "y");
    ck_assert_int_eq(port.shape[0] * port.shape[1] * port.shape[2], n);
    ck_assert_msg(crescent_load_weights(model, CASE "model.safetensors") == 0, "%s",
                  crescent_error());
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq_tol(y[i], want[i], 2e-5f);
    crescent_close(model);
    free(x);
    free(y);
    free(want);
}
END_TEST

/* Each weight on its own; a run before the last of them is refused. */
START_TEST(weights_one_by_one)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    crescent_setting settings[] = {{"T", "1"}, {"n_embd", "8"}, {"n_head", "2"}};
    crescent_config config = {.backend = CRESCENT_REF, .settings = settings, .n_settings = 3};
    crescent_model *model;
    crescent_port port;
    ck_assert_int_eq(crescent_open("graphs/gpt2_block.lua", &config, &model), CRESCENT_OK);
    int n = crescent_port_count(model, CRESCENT_PARAM);
    float *zeros = calloc(8 * 32, sizeof *zeros);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_FAILED);
        ck_assert_int_eq(crescent_port_at(model, CRESCENT_PARAM, i, &port), CRESCENT_OK);
        ck_assert_ptr_nonnull(strstr(crescent_error(), port.name));
        ck_assert_int_eq(crescent_set_weight(model, i, zeros), CRESCENT_OK);
    }
    ck_assert_int_eq(crescent_set_weight(model, n, zeros), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    for (int i = 0; i < 8; i++) /* only the residual stream is left */
        ck_assert_float_eq(y[i], x[i]);
    crescent_close(model);
    free(zeros);
}
END_TEST

START_TEST(misuse_has_an_error)
{
    crescent_model *model;
    crescent_port port;
    crescent_config config = {.threads = -1};
    crescent_setting unknown = {"n_hed", "2"};
    ck_assert_int_eq(crescent_open("graphs/gpt2_block.lua", &config, &model), CRESCENT_FAILED);
    ck_assert_ptr_null(model);
    config = (crescent_config){.settings = &unknown, .n_settings = 1};
    ck_assert_int_eq(crescent_open("graphs/gpt2_block.lua", &config, &model), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "n_hed"));
    config = (crescent_config){.max_arena = 1};
    ck_assert_int_eq(crescent_open("graphs/gpt2_block.lua", &config, &model), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "gpt2_block.lua: the arena takes at least "));
    config = (crescent_config){.isa = "mmx"};
    ck_assert_int_eq(crescent_open("graphs/gpt2_block.lua", &config, &model), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "mmx"));
    ck_assert_int_eq(crescent_open("graphs/nowhere.lua", &(crescent_config){0}, &model),
                     CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "graphs/nowhere.lua"));
    ck_assert_int_eq(crescent_emit("graphs/gpt2_block.lua", NULL, 0, "no_suffix"), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "no_suffix"));
    read_fixture();
    model = open_fixture(CRESCENT_REF, 0);
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_INPUT, 1, &port), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_INPUT, -1, &port), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_load_weights(model, "nowhere.safetensors"), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(), "nowhere.safetensors"));
    crescent_close(model);
    crescent_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, a_fixture_through_the_interface, 0, sizeof ways / sizeof *ways);
    tcase_add_test(all, weights_one_by_one);
    tcase_add_test(all, misuse_has_an_error);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
