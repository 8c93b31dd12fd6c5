/*
 * test_same_bits.c - the six graphs give the same bits with any number of threads, compiler,
 * instruction set, batch, later tokens, and after any pass that a dump was taken of, by the public
 * interface.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/passes/passes.h"

enum { MAX_SETTINGS = 8, PATH = 256 };

/* The graphs, with sizes that are no multiples of a vector, tile or panel. */
static const struct script {
    const char *path, *settings[MAX_SETTINGS]; /* keys and values by turns */
    int width;                                 /* of x and y: n_embd */
    int later_matters;                         /* a token depends on later tokens */
    int drawn;                                 /* weights come from a seed */
} scripts[] = {
    {"graphs/decoder_block.lua", {"n_embd", "33", "n_head", "3"}, 33, 0, 0},
    {"graphs/heads_block.lua", {"n_embd", "30", "n_head", "5", "block_size", "512"}, 30, 0, 0},
    {"graphs/tiny_block.lua", {"n_embd", "26", "n_head", "2", "bias", "false"}, 26, 0, 0},
    {"graphs/gpt2_block.lua", {"n_embd", "40", "n_head", "1"}, 40, 0, 0},
    {"graphs/stream_block.lua", {"n_embd", "36", "n_head", "4", "d_ff", "75"}, 36, 1, 0},
    {"graphs/gpt2_stack.lua", {"n_embd", "24", "n_head", "3", "n_layer", "3"}, 24, 0, 0},
};
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { SCRIPTS = COUNT(scripts) };

/* How a script is run. */
struct way {
    crescent_backend backend;
    int threads;
    const char *isa;
};

static const struct way usual = {CRESCENT_TCC, 1, NULL};

/* ---- numbers ---- */

/* Returns a number between -1 and 1 that depends only on the tensor's name and the index. */
static float noise(const char *name, int64_t place)
{
    uint64_t z = 14695981039346656037u;
    for (; *name; name++)
        z = (z ^ (unsigned char)*name) * 1099511628211u;
    z += (uint64_t)place * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((double)((z ^ (z >> 31)) >> 40) / (1 << 23) - 1);
}

static float *numbers(const char *name, int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = noise(name, i);
    return x;
}

/* Sets all weights, also biases, to numbers between -0.5 and 0.5, so that none is zero. */
static void set_weights(crescent_model *model)
{
    crescent_port port;
    for (int i = 0; crescent_port_at(model, CRESCENT_PARAM, i, &port) == CRESCENT_OK; i++) {
        int64_t n = 1;
        for (int r = 0; r < port.rank; r++)
            n *= port.shape[r];
        float *weight = numbers(port.name, n);
        for (int64_t j = 0; j < n; j++)
            weight[j] *= 0.5f;
        ck_assert_int_eq(crescent_set_weight(model, i, weight), CRESCENT_OK);
        free(weight);
    }
}

/* ---- running ---- */

/* Runs the script at `path` for an x of B times T rows.  Returns y, to be freed, or null if
 * the machine does not have the instruction set. */
static float *run(const struct script *script, const char *path, const struct way *way, int B,
                  int T, const float *x)
{
    char b[16], t[16];
    crescent_setting settings[MAX_SETTINGS] = {{"B", b}, {"T", t}};
    int n = 2;
    snprintf(b, sizeof b, "%d", B);
    snprintf(t, sizeof t, "%d", T);
    for (int i = 0; i < MAX_SETTINGS && script->settings[i]; i += 2)
        settings[n++] = (crescent_setting){script->settings[i], script->settings[i + 1]};
    if (strcmp(path, script->path) != 0)
        n = 0; /* a dump has no options */
    crescent_config config = {.backend = way->backend,
                              .threads = way->threads,
                              .isa = way->isa};
    const crescent_script how = {.settings = settings, .n_settings = n};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    if (crescent_open(context, path, &how, &config, &model) != CRESCENT_OK) {
        ck_assert_msg(way->isa != NULL, "%s", crescent_error(context));
        printf("test_same_bits: skipped: %s\n", crescent_error(context));
        crescent_context_free(context);
        return NULL;
    }
    if (script->drawn)
        ck_assert_int_eq(crescent_draw_weights(model, 7), CRESCENT_OK);
    else
        set_weights(model);
    float *y = calloc((size_t)B * T * script->width, sizeof *y);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    crescent_close(model);
    crescent_context_free(context);
    return y;
}

/* Returns the index of the first of n floats whose bits differ; n if all are equal. */
static int64_t first_difference(const float *a, const float *b, int64_t n)
{
    int64_t i = 0;
    while (i < n && memcmp(a + i, b + i, sizeof *a) == 0)
        i++;
    return i;
}

static void check_bits(const struct script *script, const char *what, const float *a,
                       const float *b, int64_t n)
{
    int64_t i = first_difference(a, b, n);
    ck_assert_msg(i == n, "%s, %s: row %d, column %d: %a and %a", script->path, what,
                  (int)(i / script->width), (int)(i % script->width), (double)a[i], (double)b[i]);
}

/* ---- the properties ---- */

static const struct way ways[] = {
    {CRESCENT_TCC, 2, NULL},     {CRESCENT_TCC, 3, NULL},    {CRESCENT_CC, 1, NULL},
    {CRESCENT_CC, 2, NULL},      {CRESCENT_TCC, 2, "plain"}, {CRESCENT_TCC, 1, "avx2"},
    {CRESCENT_TCC, 2, "avx512"}, {CRESCENT_CC, 1, "plain"},
};

START_TEST(every_configuration)
{
    const struct script *script = &scripts[_i];
    enum { B = 3, T = 31 };
    int64_t n = (int64_t)B * T * script->width;
    float *x = numbers("x", n), *y = run(script, script->path, &usual, B, T, x);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char what[64];
        snprintf(what, sizeof what, "way %d", (int)i);
        float *other = run(script, script->path, &ways[i], B, T, x);
        if (other)
            check_bits(script, what, other, y, n);
        free(other);
    }
    free(x);
    free(y);
}
END_TEST

/* Graphs with many tiles, and with columns and rows that do not fill a tile. */
static const struct script drawn[] = {
    {"graphs/gpt2_block.lua", {"n_embd", "550", "n_head", "5"}, 550, 0, 1},
    {"graphs/gpt2_block.lua", {"n_embd", "550", "n_head", "5", "layout", "linear"}, 550, 0, 1},
    {"graphs/heads_block.lua", {"n_embd", "520", "n_head", "10"}, 520, 0, 1},
};

/* Weights drawn from a seed have the same bits on every backend: threads share the tiles in which
 * they are drawn, and the interpreter stores them unpacked. */
START_TEST(weights_from_a_seed)
{
    const struct script *script = &drawn[_i];
    const struct way exact = {CRESCENT_REF, 1, "plain"};
    int64_t n = 2 * script->width;
    float *x = numbers("x", n), *y = run(script, script->path, &usual, 1, 2, x);
    float *expected = run(script, script->path, &exact, 1, 2, x);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq_tol(y[i], expected[i], 1e-4f);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        float *other = run(script, script->path, &ways[i], 1, 2, x);
        if (other)
            check_bits(script, "drawn weights", other, y, n);
        free(other);
    }
    free(expected);
    free(x);
    free(y);
}
END_TEST

static const struct {
    int B, T;
} batches[] = {{4, 19}, {5, 1}, {2, 65}};

START_TEST(alone_as_in_a_batch)
{
    const struct script *script = &scripts[_i % SCRIPTS];
    int B = batches[_i / SCRIPTS].B, T = batches[_i / SCRIPTS].T;
    int64_t n = (int64_t)T * script->width;
    float *x = numbers("x", n * B), *y = run(script, script->path, &usual, B, T, x);
    for (int b = 0; b < B; b++) {
        char what[64];
        snprintf(what, sizeof what, "sample %d of %d", b, B);
        float *alone = run(script, script->path, &usual, 1, T, x + b * n);
        check_bits(script, what, alone, y + b * n, n);
        free(alone);
    }
    free(x);
    free(y);
}
END_TEST

/* Sequences below and above the 128 keys of a block, and prefixes of them. */
static const struct {
    int whole, beginning;
} lengths[] = {{37, 20}, {200, 20}, {300, 129}, {300, 128}, {300, 127}, {129, 128}, {128, 1}};

START_TEST(beginning_of_a_longer_sequence)
{
    const struct script *script = &scripts[_i % SCRIPTS];
    int T = lengths[_i / SCRIPTS].whole, first = lengths[_i / SCRIPTS].beginning;
    int64_t n = (int64_t)first * script->width;
    float *x = numbers("x", (int64_t)T * script->width);
    float *y = run(script, script->path, &usual, 1, T, x);
    float *part = run(script, script->path, &usual, 1, first, x);
    if (script->later_matters)
        ck_assert_int_lt(first_difference(part, y, n), n);
    else
        check_bits(script, "beginning", part, y, n);
    free(x);
    free(y);
    free(part);
}
END_TEST

/* Writes the graph after a pass into `path`. */
static void dump(const struct script *script, const char *pass, const char *path, int B, int T)
{
    char command[1024];
    int n = snprintf(command, sizeof command,
                     "\"${CRESCENT:-build/crescent}\" dump %s --set B=%d "
                     "--set T=%d --after %s",
                     script->path, B, T, pass);
    for (int i = 0; i < MAX_SETTINGS && script->settings[i]; i += 2)
        n += snprintf(command + n, sizeof command - (size_t)n, " --set %s=%s", script->settings[i],
                      script->settings[i + 1]);
    snprintf(command + n, sizeof command - (size_t)n, " >%s", path);
    ck_assert_msg(system(command) == 0, "%s", command);
}

START_TEST(dump_read_back)
{
    const struct script *script = &scripts[_i % SCRIPTS];
    const char *pass = _i < SCRIPTS ? "script" : cr_passes[_i / SCRIPTS - 1].name;
    char folder[] = "/tmp/crescent-test-XXXXXX", path[PATH];
    enum { B = 2, T = 21 };
    int64_t n = (int64_t)B * T * script->width;
    float *x = numbers("x", n), *y = run(script, script->path, &usual, B, T, x);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/dump.lua", folder);
    dump(script, pass, path, B, T);
    float *again = run(script, path, &usual, B, T, x);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    check_bits(script, pass, again, y, n);
    free(x);
    free(y);
    free(again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("same_bits");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, every_configuration, 0, SCRIPTS);
    tcase_add_loop_test(all, weights_from_a_seed, 0, COUNT(drawn));
    tcase_add_loop_test(all, alone_as_in_a_batch, 0, SCRIPTS * COUNT(batches));
    tcase_add_loop_test(all, beginning_of_a_longer_sequence, 0, SCRIPTS * COUNT(lengths));
    tcase_add_loop_test(all, dump_read_back, 0, SCRIPTS * (cr_n_passes + 1));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
