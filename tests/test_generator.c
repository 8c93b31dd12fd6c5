/*
 * test_generator.c - generators of text, through crescent.h: the logits of a prompt have the bits
 * of a run of the whole sequence, whatever chunks the prompt comes in, alone or in a batch, on
 * every backend and instruction set, with any number of threads; sampling; errors; and no
 * allocation between tokens.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

enum { CONTEXT = 40, VOCABULARY = 48 };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq((call), CRESCENT_FAILED);                                                 \
        ck_assert_msg(strstr(crescent_error(context), word), "%s: %s", #call,                      \
                      crescent_error(context));                                                    \
    } while (0)

/* ---- allocations ---- */

/* The number of allocations so far: the linker redirects the library's calls of malloc to functions
 * here that count. */
static long n_allocations;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(block, size);
}
#endif

/* ---- models ---- */

#define GPT2                                                                                       \
    "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 48,"  \
    " \"n_positions\": 40, \"bos_token_id\": 7, \"eos_token_id\": 3}"
#define SIZES                                                                                      \
    " \"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 2,"                    \
    " \"num_attention_heads\": 4, \"vocab_size\": 48, \"max_position_embeddings\": 40"
#define LLAMA                                                                                      \
    "{\"model_type\": \"llama\", \"num_key_value_heads\": 2, \"eos_token_id\": [3, 5]," SIZES "}"
#define MISTRAL "{\"model_type\": \"mistral\", \"sliding_window\": 6," SIZES "}"

static const char *const configs[] = {GPT2, LLAMA, MISTRAL};

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_generator.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
    write_text("config.json", GPT2);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static crescent_generator *open_generator(const char *path, const crescent_script *how,
                                          const crescent_config *config,
                                          const crescent_generation *generation)
{
    crescent_generator *g;
    GOOD(crescent_generator_open(context, path, how, config, generation, &g));
    GOOD(crescent_draw_weights(crescent_generator_model(g), 11));
    return g;
}

/* Ids of a text. */
static void make_ids(int32_t *ids, int n, int text)
{
    for (int i = 0; i < n; i++)
        ids[i] = (int32_t)((i * 29 + i * i * 7 + text * 13 + 5) % VOCABULARY);
}

/* Computes the logits of a whole text at once, [n, VOCABULARY], by the script without states. */
static void run_whole(const crescent_config *config, const int32_t *ids, int n, float *logits)
{
    char length[16];
    crescent_model *model;
    snprintf(length, sizeof length, "%d", n);
    const crescent_setting T = {"T", length};
    const crescent_script how = {.settings = &T, .n_settings = 1};
    const void *inputs[] = {ids};
    void *outputs[] = {logits};
    GOOD(crescent_open(context, folder, &how, config, &model));
    GOOD(crescent_draw_weights(model, 11));
    GOOD(crescent_run(model, inputs, outputs));
    crescent_close(model);
}

/* ---- the same bits ---- */

static const struct {
    crescent_backend backend;
    const char *isa;
    int threads;
} machines[] = {{CRESCENT_TCC, NULL, 1}, {CRESCENT_TCC, "plain", 2}, {CRESCENT_TCC, "avx2", 3},
                {CRESCENT_CC, NULL, 2},  {CRESCENT_REF, NULL, 1}};

/* Ways to cut a text of CONTEXT tokens: the number of tokens of each call; 0: all in one call. */
static const int cuts[] = {0, 1, 3, 7, 16, 39};
static const int chunks[] = {0, 1, 5, 64};

static void feed_in_pieces(crescent_generator *g, const int32_t *ids, int cut, float *logits)
{
    int piece = cut ? cut : CONTEXT;
    for (int at = 0; at < CONTEXT; at += piece) {
        int n = CONTEXT - at < piece ? CONTEXT - at : piece;
        GOOD(crescent_generator_feed(g, ids + at, n, logits + at * VOCABULARY));
    }
}

/* Returns true if logits have the expected bits.  Logits of the interpreter, which computes in doubles
 * but keeps states as floats, must only be close. */
static bool agree(const float *found, const float *expected, int64_t n, crescent_backend backend)
{
    if (backend != CRESCENT_REF)
        return crescent_same_bits(found, expected, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(found[i] - expected[i]) < 1e-6f))
            return false;
    return true;
}

/* The logits are equal to a run of the original script with the plain instruction set; the interpreter's
 * are compared with its own. */
START_TEST(is_the_whole_sequence)
{
    static float expected[CONTEXT * VOCABULARY], found[CONTEXT * VOCABULARY];
    int32_t ids[CONTEXT];
    int machine = _i % COUNT(machines), model = _i / COUNT(machines);
    const crescent_config config = {.backend = machines[machine].backend,
                                    .isa = machines[machine].isa,
                                    .threads = machines[machine].threads};
    crescent_generator *probe;
    write_text("config.json", configs[model]);
    if (crescent_generator_open(context, folder, NULL, &config, NULL, &probe) != CRESCENT_OK) {
        ck_assert_msg(strstr(crescent_error(context), "not on this machine"), "%s",
                      crescent_error(context));
        return;
    }
    crescent_generator_close(probe);
    make_ids(ids, CONTEXT, 0);
    run_whole(machines[machine].backend == CRESCENT_REF ? &config : NULL, ids, CONTEXT, expected);
    for (int c = 0; c < COUNT(chunks); c++) {
        const crescent_generation how = {.chunk = chunks[c], .all_logits = 1};
        crescent_generator *g = open_generator(folder, NULL, &config, &how);
        for (int i = 0; i < COUNT(cuts); i++) {
            memset(found, 0, sizeof found);
            GOOD(crescent_generator_reset(g));
            feed_in_pieces(g, ids, cuts[i], found);
            ck_assert_msg(agree(found, expected, CONTEXT * VOCABULARY, config.backend),
                          "model %d, machine %d, chunk %d, cut %d", model, machine, chunks[c], cuts[i]);
            ck_assert(crescent_same_bits(crescent_generator_logits(g),
                                         found + (CONTEXT - 1) * VOCABULARY, VOCABULARY));
        }
        crescent_generator_close(g);
    }
}
END_TEST

/* Logits of the last token only have the same bits for a text alone as for several texts in a
 * batch, each with random numbers of its own. */
START_TEST(is_the_same_beside_others)
{
    enum { TEXTS = 3, N = 17 };
    static float expected[N * VOCABULARY], last[TEXTS * VOCABULARY];
    const crescent_setting B = {"B", "3"};
    const crescent_script how = {.settings = &B, .n_settings = 1};
    crescent_generator *g = open_generator(folder, &how, NULL, &(crescent_generation){.chunk = 5});
    int32_t ids[TEXTS][N], chosen[TEXTS];
    crescent_generator_status status;
    GOOD(crescent_generator_get_status(g, &status));
    ck_assert_int_eq(status.texts, TEXTS);
    for (int t = 0; t < TEXTS; t++)
        make_ids(ids[t], N, t);
    GOOD(crescent_generator_feed(g, ids[0], N, last));
    GOOD(crescent_generator_choose(g, NULL, chosen));
    for (int t = 0; t < TEXTS; t++) {
        const float *logits = expected + (N - 1) * VOCABULARY;
        run_whole(NULL, ids[t], N, expected);
        ck_assert(crescent_same_bits(last + t * VOCABULARY, logits, VOCABULARY));
        for (int i = 0; i < VOCABULARY; i++)
            ck_assert(logits[i] <= logits[chosen[t]]);
    }
    crescent_generator_close(g);
}
END_TEST

/* A script that is already incremental is not converted. */
START_TEST(takes_a_script_of_states)
{
    static float expected[CONTEXT * VOCABULARY], found[CONTEXT * VOCABULARY];
    const crescent_setting set[] = {{"vocab_size", "48"}};
    const crescent_script how = {.settings = set, .n_settings = 1};
    const crescent_generation generation = {.context = CONTEXT, .chunk = 6, .all_logits = 1};
    crescent_generator *g =
        open_generator("tests/scripts/gpt2_session.lua", &how, NULL, &generation);
    crescent_generator_status status;
    int32_t ids[CONTEXT];
    make_ids(ids, CONTEXT, 0);
    run_whole(NULL, ids, CONTEXT, expected);
    feed_in_pieces(g, ids, 11, found);
    for (int i = 0; i < CONTEXT * VOCABULARY; i++)
        ck_assert_float_eq_tol(found[i], expected[i], 1e-5);
    GOOD(crescent_generator_get_status(g, &status));
    ck_assert_int_eq(status.context, CONTEXT);
    ck_assert_int_eq(status.chunk, 6);
    REFUSED(crescent_generator_feed(g, ids, 1, NULL), "1 tokens after 40 earlier ones, expected at most 40");
    crescent_generator_close(g);
}
END_TEST

/* ---- choosing ---- */

/* A sampled token depends on seed and position alone, not on earlier samples. */
START_TEST(draws_by_seed_and_position)
{
    enum { N = 30 };
    const crescent_sampling how = {.temperature = 1.5, .top_k = 40, .top_p = 0.98, .seed = 9};
    const crescent_sampling other = {.temperature = 1.5, .top_k = 40, .top_p = 0.98, .seed = 10};
    int32_t ids[N], again[N], unlike = 0;
    crescent_generator *g = open_generator(folder, NULL, NULL, NULL);
    for (int pass = 0; pass < 3; pass++) {
        int32_t *out = pass == 0 ? ids : again;
        GOOD(crescent_generator_reset(g));
        make_ids(out, 3, 0);
        GOOD(crescent_generator_feed(g, out, pass == 1 ? 3 : 2, NULL));
        if (pass != 1)
            GOOD(crescent_generator_feed(g, out + 2, 1, NULL));
        for (int i = 3; i < N; i++) {
            GOOD(crescent_generator_choose(g, pass == 2 ? &other : &how, &out[i]));
            GOOD(crescent_generator_feed(g, &out[i], 1, NULL));
            unlike += pass == 2 && out[i] != ids[i];
        }
        if (pass == 1)
            ck_assert_mem_eq(ids, again, sizeof ids);
    }
    ck_assert_int_gt(unlike, 0);
    crescent_generator_close(g);
}
END_TEST

START_TEST(knows_the_ends)
{
    static const struct {
        const char *config, *generation;
        int begin, ends[3];
    } cases[] = {{GPT2, NULL, 7, {3, 3, 3}},
                 {LLAMA, NULL, -1, {3, 5, 5}},
                 {GPT2, "{\"eos_token_id\": [1, 4]}", 7, {1, 4, 4}},
                 {GPT2, "{\"eos_token_id\": null, \"max_length\": 20}", 7, {3, 3, 3}},
                 {MISTRAL, NULL, -1, {-1, -1, -1}}};
    crescent_generator_status status;
    write_text("config.json", cases[_i].config);
    if (cases[_i].generation)
        write_text("generation_config.json", cases[_i].generation);
    crescent_generator *g = open_generator(folder, NULL, NULL, NULL);
    GOOD(crescent_generator_get_status(g, &status));
    ck_assert_int_eq(status.begin, cases[_i].begin);
    ck_assert_int_eq(status.context, CONTEXT);
    for (int id = 0; id < VOCABULARY; id++) {
        const int *ends = cases[_i].ends;
        ck_assert_int_eq(crescent_generator_is_end(g, id),
                         id == ends[0] || id == ends[1] || id == ends[2]);
    }
    crescent_generator_close(g);
}
END_TEST

/* ---- memory ---- */

START_TEST(allocates_nothing_between_tokens)
{
    const crescent_sampling how = {.temperature = 1, .top_k = 20, .top_p = 0.9};
    const crescent_config config = {.threads = 2};
    crescent_generator *g = open_generator(folder, NULL, &config, NULL);
    int32_t id = 4;
    GOOD(crescent_generator_feed(g, &id, 1, NULL));
    long before = n_allocations, status = 0; /* assertions allocate, too */
    for (int i = 1; i < CONTEXT; i++)
        status |= crescent_generator_choose(g, &how, &id) | crescent_generator_feed(g, &id, 1, NULL);
    long after = n_allocations;
    ck_assert_int_eq(status, CRESCENT_OK);
    ck_assert_int_eq(after, before);
    crescent_generator_close(g);
}
END_TEST

/* Large states are zero at first and after a reset, to the last byte: resetting treats whole pages
 * apart from the bytes around them. */
START_TEST(large_states_are_zeros_again)
{
    enum { N = (1 << 20) / 4 + 4099 };
    static const char script[] = "local s = state('s', {266243})\n"
                                 "replace(s, s + 1)\n"
                                 "return {y = s:slice({0}, {1})}\n";
    static float held[N];
    float y;
    void *outputs[] = {&y};
    crescent_model *model;
    crescent_graph *graph;
    GOOD(crescent_graph_open_text(context, "large.lua", script, sizeof script - 1, NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    crescent_graph_close(graph);
    for (int pass = 0; pass < 3; pass++) {
        GOOD(crescent_get_state(model, 0, held));
        for (int i = 0; i < N; i++)
            if (held[i] != 0)
                ck_abort_msg("pass %d: element %d is %g", pass, i, held[i]);
        GOOD(crescent_run(model, NULL, outputs));
        GOOD(crescent_get_state(model, 0, held));
        for (int i = 0; i < N; i++)
            if (held[i] != 1)
                ck_abort_msg("pass %d: element %d is %g", pass, i, held[i]);
        GOOD(crescent_reset_states(model));
    }
    crescent_close(model);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(refuses)
{
    crescent_generator *g, *none = NULL;
    crescent_generator_status status;
    int32_t ids[CONTEXT + 1], id;
    make_ids(ids, CONTEXT + 1, 0);
    GOOD(crescent_generator_open(context, folder, NULL, NULL, NULL, &g));
    REFUSED(crescent_generator_feed(g, ids, 1, NULL), "has no values");
    GOOD(crescent_draw_weights(crescent_generator_model(g), 1));
    ck_assert_ptr_null(crescent_generator_logits(g));
    REFUSED(crescent_generator_choose(g, NULL, &id), "expected at least one before another is generated");
    REFUSED(crescent_generator_feed(g, ids, CONTEXT + 1, NULL),
            "41 tokens after 0 earlier ones, expected at most 40 in total");
    ids[2] = VOCABULARY;
    REFUSED(crescent_generator_feed(g, ids, 3, NULL), "token 2 is 48, expected an id from 0 to 47");
    GOOD(crescent_generator_get_status(g, &status));
    ck_assert_int_eq(status.used, 0);
    GOOD(crescent_generator_feed(g, ids, 2, NULL));
    REFUSED(crescent_generator_choose(g, &(crescent_sampling){.temperature = -1}, &id), "temperature");
    REFUSED(crescent_generator_choose(g, &(crescent_sampling){.temperature = NAN}, &id), "temperature");
    REFUSED(crescent_generator_choose(g, &(crescent_sampling){.top_p = 1.5}, &id), "top_p");
    REFUSED(crescent_generator_feed(g, NULL, 1, NULL), "null");
    REFUSED(crescent_generator_feed(g, ids, 0, NULL), "null or negative");
    REFUSED(crescent_generator_get_status(g, NULL), "null");
    crescent_generator_close(g);
    crescent_generator_close(NULL);
    REFUSED(crescent_generator_open(context, folder, NULL, NULL,
                                    &(crescent_generation){.context = 41}, &none),
            "41 tokens, expected at most 40");
    REFUSED(crescent_generator_open(context, folder, NULL, NULL,
                                    &(crescent_generation){.chunk = -1}, &none),
            "expected 0 to");
    ck_assert_ptr_null(none);
}
END_TEST

/* Scripts that a generator refuses. */
static const struct {
    const char *script, *expected;
} wrong_scripts[] = {
    {"return {y = input('x', {2, 3})}", "no input ids"},
    {"return {logits = float(input('ids', {3}, 'i32'))}", "no input ids"},
    {"local ids = input('ids', {1, 4}, 'i32')\n"
     "local x = gather(param('e', {9, 6}), ids)\n"
     "return {logits = x + sum(x, 2)}",
     "m.lua:3"},
    {"local ids = input('ids', {1, 4}, 'i32')\n"
     "return {logits = gather(param('e', {9, 6}), ids) + input('z', {6})}",
     "input"},
};

START_TEST(refuses_other_scripts)
{
    char path[128];
    crescent_generator *g;
    write_text("m.lua", wrong_scripts[_i].script);
    snprintf(path, sizeof path, "%s/m.lua", folder);
    REFUSED(crescent_generator_open(context, path, NULL, NULL, NULL, &g), wrong_scripts[_i].expected);
}
END_TEST

/* If logits are NaN, sampling fails with an error that names weights that are no numbers. */
START_TEST(refuses_nan)
{
    crescent_generator *g = open_generator(folder, NULL, NULL, NULL);
    crescent_model *model = crescent_generator_model(g);
    crescent_port port;
    int32_t id = 1;
    GOOD(crescent_port_at(model, CRESCENT_PARAM, 2, &port));
    float *nans = malloc((size_t)crescent_port_elements(&port) * sizeof *nans);
    for (int64_t i = 0; i < crescent_port_elements(&port); i++)
        nans[i] = NAN;
    GOOD(crescent_set_weight(model, 2, nans));
    GOOD(crescent_generator_feed(g, &id, 1, NULL));
    REFUSED(crescent_generator_choose(g, NULL, &id), "some are NaN");
    free(nans);
    crescent_generator_close(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generator");
    TCase *tests = tcase_create("generator");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, is_the_whole_sequence, 0, COUNT(machines) * COUNT(configs));
    tcase_add_test(tests, is_the_same_beside_others);
    tcase_add_test(tests, takes_a_script_of_states);
    tcase_add_test(tests, draws_by_seed_and_position);
    tcase_add_loop_test(tests, knows_the_ends, 0, 5);
    tcase_add_test(tests, allocates_nothing_between_tokens);
    tcase_add_test(tests, large_states_are_zeros_again);
    tcase_add_test(tests, refuses);
    tcase_add_loop_test(tests, refuses_other_scripts, 0, COUNT(wrong_scripts));
    tcase_add_test(tests, refuses_nan);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
