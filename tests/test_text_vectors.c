/*
 * test_text_vectors.c - vectors of texts: the mean of the last hidden states, compared with a run of the
 * encoder; the same bits alone and after other texts; settings in the files of sentence-transformers, and
 * errors in these files in one line.
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

enum { C = 32, LIMIT = 24 };

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

static crescent_context *context;
static char folder[64];

/* ---- a folder ---- */

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static int n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Writes random weights under the names of BERT's parameters. */
static void write_weights(void)
{
    crescent_model *model;
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
}

static void set_up(void)
{
    char command[200];
    strcpy(folder, "/tmp/test_text_vectors.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    snprintf(command, sizeof command, "cp tests/tokenizers/bert_uncased.json %s/tokenizer.json", folder);
    ck_assert_int_eq(system(command), 0);
    write_text("config.json",
               "{\"model_type\":\"bert\",\"vocab_size\":420,\"hidden_size\":32,\"num_attention_heads\":2,"
               "\"intermediate_size\":64,\"num_hidden_layers\":2,\"max_position_embeddings\":40}");
    write_weights();
    ck_assert_int_eq(mkdir(in_folder("1_Pooling"), 0755), 0);
}

static void tear_down(void)
{
    char command[100];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Writes modules.json with a pooling and further modules. */
static void write_all_modules(const char *pooling, const char *more)
{
    char text[900];
    snprintf(text, sizeof text,
             "[{\"idx\":0,\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
             "{\"idx\":1,\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}%s]",
             more);
    write_text("modules.json", text);
    write_text("1_Pooling/config.json", pooling);
}

#define NORMALIZE ",{\"idx\":2,\"path\":\"2\",\"type\":\"sentence_transformers.models.Normalize\"}"

/* Writes the modules with a pooling and, if `normalizes`, a Normalize. */
static void write_modules(const char *pooling, int normalizes)
{
    write_all_modules(pooling, normalizes ? NORMALIZE : "");
}

static void expect_refusal(const crescent_embedder_options *options, const char *expected);

/* ---- vectors ---- */

static crescent_embedder *open_embedder(const crescent_embedder_options *options, int threads)
{
    crescent_embedder *embedder;
    const crescent_config config = {.threads = threads};
    GOOD(crescent_embedder_open(context, folder, NULL, &config, options, &embedder));
    return embedder;
}

/* Returns the last hidden states of a text of exactly n tokens, from a model compiled for n. */
static float *hidden_states(const int32_t *ids, size_t n)
{
    char tokens[20];
    crescent_model *model;
    static int32_t types[LIMIT];
    static float states[LIMIT * C];
    snprintf(tokens, sizeof tokens, "%d", (int)n);
    const crescent_setting settings[] = {{"T", tokens}, {"pooler", "false"}};
    const crescent_script script = {.settings = settings, .n_settings = 2};
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    const char *path = crescent_weights_path(model);
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL));
    const void *inputs[] = {ids, types};
    void *outputs[] = {states};
    GOOD(crescent_run(model, inputs, outputs));
    crescent_close(model);
    return states;
}

/* Returns element c of a text's vector under a kind of pooling, in double precision. */
static double expected_pooling(const float *states, size_t n, const char *how, int c)
{
    double sum = 0, weights = 0, most = -INFINITY;
    for (size_t t = 0; t < n; t++) {
        double weight = strcmp(how, "weightedmean") == 0 ? (double)t + 1 : 1;
        sum += weight * (double)states[t * C + (size_t)c];
        weights += weight;
        most = fmax(most, (double)states[t * C + (size_t)c]);
    }
    if (strcmp(how, "cls") == 0 || strcmp(how, "lasttoken") == 0)
        return (double)states[(strcmp(how, "cls") == 0 ? 0 : (n - 1) * C) + (size_t)c];
    return strcmp(how, "max") == 0                    ? most
           : strcmp(how, "mean_sqrt_len_tokens") == 0 ? sum / sqrt((double)n)
                                                      : sum / weights;
}

/* The weighted mean of n tokens that stand behind `before` others. */
static double weighted_mean(const float *states, size_t n, size_t before, int c)
{
    double sum = 0, weights = 0;
    for (size_t t = 0; t < n; t++) {
        sum += (double)(before + t + 1) * (double)states[t * C + (size_t)c];
        weights += (double)(before + t + 1);
    }
    return sum / weights;
}

static const char *const kinds[] = {"cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

START_TEST(pools_what_the_encoder_gives)
{
    static const char text[] = "Each function of the runtime";
    const crescent_embedder_options options = {.pooling = kinds[_i], .most = LIMIT};
    crescent_embedder *e = open_embedder(&options, 1);
    crescent_tokenizer *tokenizer;
    int32_t *ids;
    size_t n;
    float vector[C];
    crescent_embedded what;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, &n));
    ck_assert_uint_le(n, LIMIT);
    GOOD(crescent_embed(e, text, strlen(text), vector, &what));
    ck_assert_uint_eq(what.tokens, n);
    ck_assert_int_eq(what.truncated, 0);
    const float *states = hidden_states(ids, n);
    for (int c = 0; c < C; c++)
        ck_assert_msg(fabs((double)vector[c] - expected_pooling(states, n, kinds[_i], c)) < 1e-5, "%s: element %d is %g, expected %g",
                      kinds[_i], c, (double)vector[c], expected_pooling(states, n, kinds[_i], c));
    crescent_free(ids);
    crescent_tokenizer_close(tokenizer);
    crescent_embedder_close(e);
}
END_TEST

/* Finds how many tokens `prompt` has between those around it. */
static size_t count_tokens(const char *prompt)
{
    crescent_tokenizer *tokenizer;
    int32_t *ids;
    size_t n;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode(tokenizer, prompt, strlen(prompt), CRESCENT_PLAIN, &ids, &n));
    crescent_free(ids);
    crescent_tokenizer_close(tokenizer);
    return n;
}

/* Where config.json of the pooling says so, the tokens of the prompt, and what is put in front of it, are left out of the
 * pooling, not of the text. */
START_TEST(leaves_the_prompt_out)
{
    static const char text[] = "Each function", prompt[] = "ask the graph: ", whole[] = "ask the graph: Each function";
    const crescent_embedder_options options = {.role = "query", .pooling = kinds[_i], .most = LIMIT};
    const size_t prompt_tokens = count_tokens(prompt) + 1;
    crescent_tokenizer *tokenizer;
    int32_t *ids;
    size_t n;
    float vector[C], beside[2 * C];
    write_modules("{\"include_prompt\":false}", 0);
    write_text("config_sentence_transformers.json", "{\"prompts\":{\"query\":\"ask the graph: \"}}");
    crescent_embedder *e = open_embedder(&options, 2);
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode(tokenizer, whole, strlen(whole), CRESCENT_FRAMED, &ids, &n));
    GOOD(crescent_embed(e, text, strlen(text), vector, NULL));
    const float *states = hidden_states(ids, n) + prompt_tokens * C;
    ck_assert_uint_gt(n, prompt_tokens + 1);
    for (int c = 0; c < C; c++) {
        const double expected = strcmp(kinds[_i], "weightedmean") == 0
                                    ? weighted_mean(states, n - prompt_tokens, prompt_tokens, c)
                                    : expected_pooling(states, n - prompt_tokens, kinds[_i], c);
        ck_assert_msg(fabs((double)vector[c] - expected) < 1e-5, "%s: element %d is %g, expected %g", kinds[_i], c,
                      (double)vector[c], expected);
    }
    const crescent_embed_text batch[] = {{"", NULL, 0, 0}, {text, NULL, strlen(text), 0}};
    GOOD(crescent_embed_texts(e, batch, 2, beside, NULL));
    ck_assert(crescent_same_bits(vector, beside + C, C));
    crescent_free(ids);
    crescent_tokenizer_close(tokenizer);
    crescent_embedder_close(e);
}
END_TEST

/* A limit that cuts off all tokens behind the prompt leaves the last special token, which is pooled. */
START_TEST(pools_what_a_limit_leaves)
{
    float vector[C];
    crescent_embedded what;
    write_modules("{\"include_prompt\":false}", 0);
    write_text("config_sentence_transformers.json", "{\"prompts\":{\"query\":\"ask the graph: \"}}");
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.role = "query", .pooling = kinds[_i], .most = 4}, 1);
    GOOD(crescent_embed(e, "x", 1, vector, &what));
    ck_assert_uint_eq(what.tokens, 4);
    for (int c = 0; c < C; c++)
        ck_assert(isfinite(vector[c]));
    crescent_embedder_close(e);
}
END_TEST

/* A text has the same vector alone, after texts of other lengths, and with two threads. */
START_TEST(bits_depend_on_the_text_alone)
{
    static const char *const texts[] = {"", "the", "a graph compiler that people read", "x", "1 2 3 4 5 6 7 8 9 10 11 12 13"};
    enum { N = sizeof texts / sizeof *texts };
    float alone[N][C], after[C];
    const crescent_embedder_options options = {.normalize = 1};
    for (int i = 0; i < N; i++) {
        crescent_embedder *e = open_embedder(&options, 1);
        GOOD(crescent_embed(e, texts[i], strlen(texts[i]), alone[i], NULL));
        crescent_embedder_close(e);
    }
    crescent_embedder *e = open_embedder(&options, 2);
    for (int i = N - 1; i >= 0; i--) {
        GOOD(crescent_embed(e, texts[i], strlen(texts[i]), after, NULL));
        ck_assert_msg(crescent_same_bits(after, alone[i], C), "'%s' has other bits", texts[i]);
        double square = 0;
        for (int c = 0; c < C; c++)
            square += (double)after[c] * (double)after[c];
        ck_assert_double_eq_tol(square, 1, 1e-5);
    }
    crescent_embedder_close(e);
}
END_TEST

/* A second embedder maps the weights that the first one cached, and gives the same bits, also with
 * another pooling; changed weights are read. */
START_TEST(maps_kept_weights)
{
    float first[C], second[C];
    int64_t written;
    setenv("XDG_CACHE_HOME", folder, 1);
    crescent_cache_weights(context, 1 << 30);
    crescent_embedder *e = open_embedder(NULL, 1);
    crescent_model *model = crescent_embedder_model(e);
    ck_assert_int_eq(crescent_cached_weights(model), 0);
    GOOD(crescent_embed(e, "the text", 8, first, NULL));
    GOOD(crescent_write_cache(model, &written));
    ck_assert_int_gt(written, 0);
    crescent_close(model); /* does not close the model, which belongs to the embedder */
    GOOD(crescent_embed(e, "the text", 8, second, NULL));
    ck_assert(crescent_same_bits(first, second, C));
    crescent_embedder_close(e);
    e = open_embedder(NULL, 1);
    ck_assert_int_gt(crescent_cached_weights(crescent_embedder_model(e)), 0);
    GOOD(crescent_embed(e, "the text", 8, second, NULL));
    ck_assert(crescent_same_bits(first, second, C));
    crescent_embedder_close(e);
    e = open_embedder(&(crescent_embedder_options){.pooling = "cls"}, 1);
    ck_assert_int_gt(crescent_cached_weights(crescent_embedder_model(e)), 0);
    crescent_embedder_close(e);
    write_weights();
    e = open_embedder(NULL, 1);
    ck_assert_int_eq(crescent_cached_weights(crescent_embedder_model(e)), 0);
    crescent_embedder_close(e);
    ck_assert_ptr_null(crescent_embedder_model(NULL));
}
END_TEST

/* A text has the same vector and the same report in a batch on several threads as alone, in each
 * arithmetic. */
START_TEST(bits_do_not_depend_on_the_batch)
{
    static const char *const formats[] = {NULL, "q8"};
    static const char *const words[] = {"", "the", "a graph compiler that people read", "\xff", "1 2 3 4 5 6 7 8 9 10"};
    enum { N = 37, WORDS = sizeof words / sizeof *words };
    static float together[N][C];
    float alone[C];
    crescent_embed_text texts[N];
    crescent_embedded what[N], one;
    crescent_embedder *e, *single;
    const crescent_config config = {.threads = 3, .format = formats[_i]},
                          of_one = {.threads = 1, .format = formats[_i]};
    GOOD(crescent_embedder_open(context, folder, NULL, &config, NULL, &e));
    GOOD(crescent_embedder_open(context, folder, NULL, &of_one, NULL, &single));
    for (int i = 0; i < N; i++) {
        const char *text = words[i % WORDS], *pair = i % 3 ? NULL : words[i % 2];
        texts[i] = (crescent_embed_text){text, pair, strlen(text), pair ? strlen(pair) : 0};
    }
    for (int round = 0; round < 3; round++) {
        memset(together, 0, sizeof together);
        GOOD(crescent_embed_texts(e, texts, N - round, together[0], what));
        for (int i = 0; i < N - round; i++) {
            GOOD(crescent_embed_texts(single, &texts[i], 1, alone, &one));
            ck_assert_msg(crescent_same_bits(together[i], alone, C), "text %d has other bits", i);
            ck_assert(what[i].tokens == one.tokens && what[i].truncated == one.truncated &&
                      what[i].repaired == one.repaired);
        }
    }
    GOOD(crescent_embed_texts(e, texts, 0, together[0], NULL));
    texts[5].text = NULL;
    ck_assert_int_eq(crescent_embed_texts(e, texts, N, together[0], NULL), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "found a null text, expected one"));
    crescent_embedder_close(e);
    crescent_embedder_close(single);
}
END_TEST

/* Ids that the model does not have are refused before a run, also in a batch. */
START_TEST(refuses_ids_of_a_batch)
{
    float vectors[3][C];
    const crescent_setting setting = {"vocab_size", "60"};
    const crescent_script script = {.settings = &setting, .n_settings = 1};
    const crescent_config config = {.threads = 2};
    const crescent_embed_text texts[] = {{"a", NULL, 1, 0}, {"the compiler", NULL, 12, 0}, {"b", NULL, 1, 0}};
    crescent_embedder *e;
    crescent_model *model;
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
    GOOD(crescent_embedder_open(context, folder, &script, &config, NULL, &e));
    ck_assert_int_eq(crescent_embed_texts(e, texts, 3, vectors[0], NULL), CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), "expected an id from 0 to 59"), "%s", crescent_error(context));
    crescent_embedder_close(e);
}
END_TEST

/* ---- files ---- */

START_TEST(does_what_the_files_say)
{
    crescent_embedder_facts facts;
    crescent_embedder *e = open_embedder(NULL, 1);
    crescent_embedder_get_facts(e, &facts);
    ck_assert_str_eq(facts.pooling, "mean");
    ck_assert_int_eq(facts.normalized, 0);
    ck_assert_int_eq(facts.dimensions, C);
    ck_assert_int_eq(facts.most, 40); /* max_position_embeddings */
    ck_assert_ptr_null(facts.prompt);
    ck_assert_int_eq(facts.pairs, 0);
    crescent_embedder_close(e);

    write_modules("{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}", 1);
    write_text("sentence_bert_config.json", "{\"max_seq_length\":100}");
    write_text("config_sentence_transformers.json",
               "{\"prompts\":{\"query\":\"ask: \",\"passage\":\"read: \"},\"default_prompt_name\":null}");
    const crescent_embedder_options options = {.role = "document"};
    e = open_embedder(&options, 1);
    crescent_embedder_get_facts(e, &facts);
    ck_assert_str_eq(facts.pooling, "cls");
    ck_assert_int_eq(facts.normalized, 1);
    ck_assert_int_eq(facts.most, 40); /* as many tokens as the model has positions */
    ck_assert_str_eq(facts.prompt, "read: ");
    float with[C], without[C];
    GOOD(crescent_embed(e, "the text", 8, with, NULL));
    crescent_embedder_close(e);
    e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, "read: the text", 14, without, NULL));
    ck_assert(crescent_same_bits(with, without, C));
    crescent_embedder_close(e);
}
END_TEST

/* The prompts of a file, a role, and the prompt that is chosen. */
static const struct {
    const char *prompts, *role, *expected;
} prompts[] = {
    {"{\"prompts\":{\"query\":\"q\",\"document\":\"d\"}}", NULL, NULL},
    {"{\"prompts\":{\"query\":\"q\",\"document\":\"d\"}}", "query", "q"},
    {"{\"prompts\":{\"corpus\":\"c\",\"query\":\"q\"}}", "document", "c"},
    {"{\"prompts\":{\"corpus\":\"c\",\"passage\":\"p\"}}", "document", "p"},
    {"{\"prompts\":{\"document\":\"\",\"passage\":\"p\"}}", "document", NULL},
    {"{\"prompts\":{\"a\":\"A\"},\"default_prompt_name\":\"a\"}", NULL, "A"},
    {"{\"prompts\":{\"a\":\"A\"},\"default_prompt_name\":\"a\"}", "query", NULL},
    {"{\"prompts\":{\"a\":\"A\"},\"default_prompt_name\":\"query\"}", NULL, NULL},
    {"{\"prompts\":{\"a\":\"A\"},\"default_prompt_name\":\"a\"}", "document", NULL},
    {"{\"prompts\":{\"a\":\"A\",\"query\":\"\"},\"default_prompt_name\":\"a\"}", "query", NULL},
    {"{\"prompts\":null}", "query", NULL},
};

START_TEST(chooses_prompts)
{
    crescent_embedder_facts facts;
    write_text("config_sentence_transformers.json", prompts[_i].prompts);
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.role = prompts[_i].role}, 1);
    crescent_embedder_get_facts(e, &facts);
    if (prompts[_i].expected)
        ck_assert_str_eq(facts.prompt, prompts[_i].expected);
    else
        ck_assert_ptr_null(facts.prompt);
    crescent_embedder_close(e);
}
END_TEST

/* A long text is cut, and bytes that are no UTF-8 are replaced; the caller learns of both. */
START_TEST(takes_any_text)
{
    float vector[C], other[C];
    crescent_embedded what;
    char *text = malloc(1 << 16);
    const crescent_embedder_options options = {.most = 5};
    crescent_embedder *e = open_embedder(&options, 1);
    memset(text, 'a', 1 << 16);
    for (int i = 1; i < 1 << 16; i += 3)
        text[i] = ' ';
    GOOD(crescent_embed(e, text, 1 << 16, vector, &what));
    ck_assert_uint_eq(what.tokens, 5);
    ck_assert_int_eq(what.truncated, 1);
    ck_assert_int_eq(what.repaired, 0);
    GOOD(crescent_embed(e, "a\xff\xc3", 3, vector, &what));
    ck_assert_int_eq(what.repaired, 1);
    GOOD(crescent_embed(e, "a\xef\xbf\xbd\xef\xbf\xbd", 7, other, &what));
    ck_assert_int_eq(what.repaired, 0);
    ck_assert(crescent_same_bits(vector, other, C));
    crescent_embedder_close(e);
    free(text);
}
END_TEST

/* Texts that a caller may pass by mistake have vectors, which are those of the texts alone. */
START_TEST(takes_bad_texts)
{
    enum { MEGABYTE = 1 << 20, N = 6 };
    float together[N][C], alone[C];
    char *word = malloc(MEGABYTE), *words = malloc(MEGABYTE);
    crescent_embedded what[N];
    memset(word, 'a', MEGABYTE);
    for (int i = 0; i < MEGABYTE; i++)
        words[i] = "the "[i % 4];
    const crescent_embed_text texts[N] = {{"", NULL, 0, 0},           {word, NULL, MEGABYTE, 0}, {words, NULL, MEGABYTE, 0},
                                          {"\xff\xfe", NULL, 2, 0}, {"a\0b", NULL, 3, 0},       {"", words, 0, MEGABYTE}};
    crescent_embedder *e = open_embedder(NULL, 2);
    GOOD(crescent_embed_texts(e, texts, N, together[0], what));
    for (int i = 0; i < N; i++) {
        GOOD(crescent_embed_texts(e, &texts[i], 1, alone, NULL));
        ck_assert_msg(crescent_same_bits(together[i], alone, C), "text %d has other bits", i);
        for (int c = 0; c < C; c++)
            ck_assert(isfinite(together[i][c]));
        ck_assert_int_eq(what[i].truncated, i == 2 || i == 5);
        ck_assert_int_eq(what[i].repaired, i == 3);
    }
    ck_assert_uint_eq(what[0].tokens, 2);
    crescent_embedder_close(e);
    free(word);
    free(words);
}
END_TEST

/* ---- classifiers ---- */

/* Returns the elements of a tensor of the folder's weights. */
static double *tensor_of(const char *name)
{
    static double elements[3 * C];
    crescent_contents *contents;
    crescent_tensor tensor;
    GOOD(crescent_contents_open(context, in_folder("model.safetensors"), &contents));
    for (int i = 0; i < crescent_contents_count(contents); i++) {
        GOOD(crescent_contents_at(contents, i, &tensor));
        if (strcmp(tensor.name, name) == 0)
            GOOD(crescent_contents_read(contents, i, elements));
    }
    crescent_contents_close(contents);
    return elements;
}

/* Writes a folder with a classifier; `more` is added to its config.json. */
static void write_classifier(const char *more, const char *classes)
{
    char text[600];
    crescent_model *model;
    const crescent_setting settings[] = {{"classes", classes}};
    const crescent_script script = {.settings = settings, .n_settings = 1};
    snprintf(text, sizeof text,
             "{\"model_type\":\"bert\",\"vocab_size\":420,\"hidden_size\":32,\"num_attention_heads\":2,"
             "\"intermediate_size\":64,\"num_hidden_layers\":2,\"max_position_embeddings\":40%s}",
             more);
    write_text("config.json", text);
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 5));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
}

/* Returns the pooler's output for a pair, from a model compiled for its number of tokens. */
static const float *pooler_output(const crescent_encoding *e)
{
    char tokens[20];
    crescent_model *model;
    static float states[40 * C], expected_pooling[C];
    snprintf(tokens, sizeof tokens, "%d", (int)e->n);
    const crescent_setting settings[] = {{"T", tokens}};
    const crescent_script script = {.settings = settings, .n_settings = 1};
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    const char *path = crescent_weights_path(model);
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL));
    const void *inputs[] = {e->ids, e->types};
    void *outputs[] = {states, expected_pooling};
    GOOD(crescent_run(model, inputs, outputs));
    crescent_close(model);
    return expected_pooling;
}

/* The logits of a pair are those computed here, and each kind of problem turns them into its
 * probabilities. */
START_TEST(classifies_a_pair)
{
    static const char *const problems[] = {"", ",\"problem_type\":\"multi_label_classification\""};
    double logits[3], sum = 0;
    float found[3];
    char more[300];
    snprintf(more, sizeof more, ",\"id2label\":{\"1\":\"so\",\"0\":\"no\",\"2\":\"yes\"}%s", problems[_i]);
    write_classifier(more, "3");
    const crescent_text text = {"the graph", "a compiler that", 9, 15, CRESCENT_FRAMED, 24, 0};
    crescent_tokenizer *tokenizer;
    crescent_encoding encoding;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode_text(tokenizer, &text, &encoding));
    const float *expected_pooling = pooler_output(&encoding);
    for (int i = 0; i < 3; i++) {
        const double *bias = tensor_of("classifier.bias");
        logits[i] = bias[i];
        const double *weights = tensor_of("classifier.weight");
        for (int c = 0; c < C; c++)
            logits[i] += weights[i * C + c] * (double)expected_pooling[c];
        sum += exp(logits[i]);
    }
    for (int how = CRESCENT_LOGITS; how <= CRESCENT_PROBABILITIES; how++) {
        const crescent_embedder_options options = {.classify = (crescent_classification)how};
        crescent_embedder *e = open_embedder(&options, 1);
        crescent_embedder_facts facts;
        crescent_embedder_get_facts(e, &facts);
        ck_assert_int_eq(facts.labels, 3);
        ck_assert_int_eq(facts.dimensions, 3);
        ck_assert_str_eq(crescent_embedder_label(e, 2), "yes");
        ck_assert_ptr_null(crescent_embedder_label(e, 3));
        GOOD(crescent_embed_pair(e, text.text, text.length, text.pair, text.pair_length, found, NULL));
        for (int i = 0; i < 3; i++) {
            double expected = how == CRESCENT_LOGITS ? logits[i]
                              : _i                   ? 1 / (1 + exp(-logits[i]))
                                                     : exp(logits[i]) / sum;
            ck_assert_double_eq_tol((double)found[i], expected, 1e-5);
        }
        crescent_embedder_close(e);
    }
    crescent_free(encoding.ids);
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Files that say whether a model gets segments, and whether they do: names of inputs, a class, and the family. */
static const struct {
    const char *tokenizer_config;
    bool segments;
} segment_files[] = {
    {"{}", true},
    {"{\"tokenizer_class\":\"BertTokenizerFast\"}", true},
    {"{\"tokenizer_class\":\"BertTokenizer\",\"model_input_names\":[\"input_ids\",\"attention_mask\"]}", false},
    {"{\"model_input_names\":[\"input_ids\",\"token_type_ids\"],\"tokenizer_class\":\"MPNetTokenizer\"}", true},
    {"{\"tokenizer_class\":\"DistilBertTokenizer\"}", false},
    {"{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", false},
    {"{\"model_input_names\":null,\"tokenizer_class\":\"TokenizersBackend\"}", false},
};
enum { N_SEGMENT_FILES = sizeof segment_files / sizeof *segment_files };

/* The logit of a pair changes with its segments only where the files give them to the model. */
START_TEST(gives_segments_as_the_files_say)
{
    float logit, expected;
    write_classifier(",\"num_labels\":1", "1");
    write_text("tokenizer_config.json", segment_files[_i].tokenizer_config);
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_LOGITS}, 1);
    GOOD(crescent_embed_pair(e, "the graph", 9, "a compiler", 10, &logit, NULL));
    crescent_embedder_close(e);
    const crescent_text text = {"the graph", "a compiler", 9, 10, CRESCENT_FRAMED, 24, 0};
    crescent_tokenizer *tokenizer;
    crescent_encoding encoding;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode_text(tokenizer, &text, &encoding));
    ck_assert_int_eq(encoding.types[encoding.n - 1], 1);
    for (size_t i = 0; i < encoding.n && !segment_files[_i].segments; i++)
        encoding.types[i] = 0;
    const float *pooled = pooler_output(&encoding);
    const double *bias = tensor_of("classifier.bias");
    double sum = *bias;
    const double *weights = tensor_of("classifier.weight");
    for (int c = 0; c < C; c++)
        sum += weights[c] * (double)pooled[c];
    expected = (float)sum;
    ck_assert_double_eq_tol((double)logit, (double)expected, 1e-5);
    crescent_free(encoding.ids);
    crescent_tokenizer_close(tokenizer);
    remove(in_folder("tokenizer_config.json"));
}
END_TEST

/* A reranker's score is the sigmoid of its logit, unless its file asks for the logit. */
START_TEST(scores_as_a_reranker_says)
{
    static const char *const files[] = {
        ",\"id2label\":{\"0\":\"LABEL_0\"}", ",\"num_labels\":1",
        ",\"num_labels\":1,\"sentence_transformers\":{\"activation_fn\":\"torch.nn.modules.linear.Identity\"}",
        ",\"num_labels\":1,\"sbert_ce_default_activation_function\":\"torch.nn.modules.linear.Identity\""};
    float score, logit;
    write_classifier(files[_i], "1");
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_LOGITS}, 1);
    GOOD(crescent_embed_pair(e, "one", 3, "two", 3, &logit, NULL));
    crescent_embedder_close(e);
    e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_PROBABILITIES}, 1);
    ck_assert_str_eq(crescent_embedder_label(e, 0), "LABEL_0");
    GOOD(crescent_embed_pair(e, "one", 3, "two", 3, &score, NULL));
    ck_assert_double_eq_tol((double)score, _i < 2 ? 1 / (1 + exp(-(double)logit)) : (double)logit, 1e-6);
    crescent_embedder_close(e);
}
END_TEST

/* ---- layers after the pooling ---- */

enum { WIDE = 48, NARROW = 8 };
#define DENSE(folder) ",{\"path\":\"" folder "\",\"type\":\"sentence_transformers.models.Dense\"}"

/* Writes a Dense layer to a folder: config.json, and random weights. */
static void write_dense(const char *name, const char *config, const char *tensors)
{
    char path[64], script[300];
    crescent_model *model;
    snprintf(path, sizeof path, "%.40s/config.json", name);
    mkdir(in_folder(name), 0755);
    write_text(path, config);
    snprintf(script, sizeof script, "return {%s}", tensors);
    write_text("dense.lua", script);
    GOOD(crescent_open(context, in_folder("dense.lua"), NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, name[0]));
    snprintf(path, sizeof path, "%.40s/model.safetensors", name);
    GOOD(crescent_save_weights(model, in_folder(path)));
    crescent_close(model);
}

/* Reads the elements of a file's only tensor, which has to have that name. */
static void read_tensor(const char *file, const char *name, double *elements)
{
    crescent_contents *contents;
    crescent_tensor tensor;
    int found = 0;
    GOOD(crescent_contents_open(context, in_folder(file), &contents));
    for (int i = 0; i < crescent_contents_count(contents); i++) {
        GOOD(crescent_contents_at(contents, i, &tensor));
        if (strcmp(tensor.name, name) == 0 && ++found)
            GOOD(crescent_contents_read(contents, i, elements));
    }
    ck_assert_int_eq(found, 1);
    crescent_contents_close(contents);
}

static void normalize(double *v, int n)
{
    double square = 0;
    for (int i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int i = 0; i < n; i++)
        v[i] /= sqrt(square);
}

/* Writes two Dense layers: WIDE numbers with a bias and tanh, and NARROW without a bias and with
 * the activation Identity. */
static void write_two(void)
{
    write_dense("2_Dense", "{\"in_features\":32,\"out_features\":48,\"bias\":true,"
                           "\"activation_function\":\"torch.nn.modules.activation.Tanh\"}",
                "w = param(\"linear.weight\", {48, 32}, {normal = 0.5}), "
                "b = param(\"linear.bias\", {48}, {normal = 0.5})");
    write_dense("3_Dense", "{\"in_features\":48,\"out_features\":8,\"bias\":false,"
                           "\"activation_function\":\"torch.nn.modules.linear.Identity\"}",
                "w = param(\"linear.weight\", {8, 48}, {normal = 0.5})");
}

/* Vectors pass through two Dense layers with a Normalize before, between or after them; expected
 * values are computed in double precision. */
START_TEST(goes_through_dense_layers)
{
    static const char *const orders[] = {
        DENSE("2_Dense") DENSE("3_Dense"), DENSE("2_Dense") DENSE("3_Dense") NORMALIZE,
        NORMALIZE DENSE("2_Dense") DENSE("3_Dense"), DENSE("2_Dense") NORMALIZE DENSE("3_Dense") NORMALIZE};
    static const char text[] = "a graph compiler";
    static double first[WIDE * C], bias[WIDE], second[NARROW * WIDE];
    float expected_pooling[C], found[NARROW];
    double x[C], y[WIDE], z[NARROW] = {0};
    write_two();
    write_modules("{\"pooling_mode_cls_token\":true}", 0);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), expected_pooling, NULL));
    crescent_embedder_close(e);
    read_tensor("2_Dense/model.safetensors", "linear.weight", first);
    read_tensor("2_Dense/model.safetensors", "linear.bias", bias);
    read_tensor("3_Dense/model.safetensors", "linear.weight", second);
    for (int i = 0; i < C; i++)
        x[i] = (double)expected_pooling[i];
    if (_i == 2)
        normalize(x, C);
    for (int i = 0; i < WIDE; i++) {
        y[i] = bias[i];
        for (int k = 0; k < C; k++)
            y[i] += first[i * C + k] * x[k];
        y[i] = tanh(y[i]);
    }
    if (_i == 3)
        normalize(y, WIDE);
    for (int i = 0; i < NARROW; i++)
        for (int k = 0; k < WIDE; k++)
            z[i] += second[i * WIDE + k] * y[k];
    if (_i % 2)
        normalize(z, NARROW);
    write_all_modules("{\"pooling_mode_cls_token\":true}", orders[_i]);
    e = open_embedder(NULL, 1);
    crescent_embedder_facts facts;
    crescent_embedder_get_facts(e, &facts);
    ck_assert_int_eq(facts.dimensions, NARROW);
    ck_assert_int_eq(facts.normalized, _i % 2);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    for (int i = 0; i < NARROW; i++)
        ck_assert_double_eq_tol((double)found[i], z[i], 1e-5);
    crescent_embedder_close(e);
}
END_TEST

#define MODULE(folder, name) ",{\"path\":\"" folder "\",\"type\":\"sentence_transformers.models." name "\"}"

/* Vectors pass through a LayerNorm; Dropouts before and after it change nothing. */
START_TEST(goes_through_a_layer_norm)
{
    static const char text[] = "a graph compiler";
    float expected_pooling[C], found[C];
    double weight[C], bias[C], mean = 0, variance = 0;
    write_dense("3_LayerNorm", "{\"dimension\":32}",
                "w = param(\"norm.weight\", {32}, {normal = 0.5}), b = param(\"norm.bias\", {32}, {normal = 0.5})");
    write_modules("{\"pooling_mode_cls_token\":true}", 0);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), expected_pooling, NULL));
    crescent_embedder_close(e);
    read_tensor("3_LayerNorm/model.safetensors", "norm.weight", weight);
    read_tensor("3_LayerNorm/model.safetensors", "norm.bias", bias);
    for (int i = 0; i < C; i++)
        mean += (double)expected_pooling[i] / C;
    for (int i = 0; i < C; i++)
        variance += ((double)expected_pooling[i] - mean) * ((double)expected_pooling[i] - mean) / C;
    write_all_modules("{\"pooling_mode_cls_token\":true}",
                      MODULE("2_Dropout", "Dropout") MODULE("3_LayerNorm", "LayerNorm") MODULE("4", "Dropout"));
    e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    crescent_embedder_close(e);
    for (int i = 0; i < C; i++)
        ck_assert_double_eq_tol((double)found[i],
                                ((double)expected_pooling[i] - mean) / sqrt(variance + 1e-5) * weight[i] + bias[i], 1e-5);
    write_text("3_LayerNorm/config.json", "{\"dimension\":31}");
    expect_refusal(NULL, "3_LayerNorm/config.json: found dimension 31, expected 32, the size of the vector before it");
    write_text("3_LayerNorm/config.json", "{}");
    expect_refusal(NULL, "3_LayerNorm/config.json: found dimension 0, expected a number from 1 to 1048576");
}
END_TEST

/* Writes the modules of a table of token vectors: in a subfolder or, with an empty name, in the
 * folder itself. */
static void write_table(const char *name, const char *more)
{
    char text[500];
    snprintf(text, sizeof text,
             "[{\"path\":\"%.40s\",\"type\":\"sentence_transformers.models.StaticEmbedding\"}%.300s]", name, more);
    write_text("modules.json", text);
}

/* With a table of token vectors, a text's vector is the mean of its tokens' rows, without special
 * tokens, and 0 without any token.  The table is in a subfolder with the tokenizer, or in a folder
 * of model2vec, where it has another name. */
START_TEST(takes_the_mean_of_a_table)
{
    enum { WORDS = 420, SIZE = 24 };
    static const char text[] = "a graph compiler";
    static double table[WORDS * SIZE];
    const char *file = _i ? "model.safetensors" : "0_StaticEmbedding/model.safetensors";
    double mean[SIZE] = {0};
    float found[SIZE];
    crescent_tokenizer *tokenizer;
    crescent_embedded what;
    int32_t *ids;
    size_t n;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode(tokenizer, text, strlen(text), CRESCENT_PLAIN, &ids, &n));
    crescent_tokenizer_close(tokenizer);
    if (_i) {
        write_dense(".", "{\"model_type\":\"model2vec\",\"normalize\":true}",
                    "t = param(\"embeddings\", {420, 24}, {normal = 1})");
        write_table(".", NORMALIZE);
    } else {
        write_dense("0_StaticEmbedding", "{}", "t = param(\"embedding.weight\", {420, 24}, {normal = 1})");
        remove(in_folder("0_StaticEmbedding/config.json"));
        ck_assert_int_eq(rename(in_folder("tokenizer.json"), in_folder("0_StaticEmbedding/tokenizer.json")), 0);
        write_table("0_StaticEmbedding", "");
    }
    read_tensor(file, _i ? "embeddings" : "embedding.weight", table);
    for (size_t t = 0; t < n; t++)
        for (int i = 0; i < SIZE; i++)
            mean[i] += table[ids[t] * SIZE + i] / (double)n;
    if (_i)
        normalize(mean, SIZE);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, &what));
    ck_assert_uint_eq(what.tokens, n);
    for (int i = 0; i < SIZE; i++)
        ck_assert_double_eq_tol((double)found[i], mean[i], 1e-6);
    GOOD(crescent_embed(e, "", 0, found, NULL));
    for (int i = 0; i < SIZE; i++)
        ck_assert(found[i] == 0);
    crescent_embedder_close(e);
    crescent_free(ids);
}
END_TEST

/* Files are refused if they have a tensor by which tokens share rows of the table, or layers with
 * weights after a table. */
START_TEST(refuses_tables)
{
    write_dense(".", "{\"model_type\":\"model2vec\"}",
                "t = param(\"embeddings\", {99, 24}, {normal = 1}), m = param(\"mapping\", {420}, {normal = 1})");
    remove(in_folder("modules.json"));
    expect_refusal(NULL, ": found the tensor mapping beside the table, expected a table with a row for each token");
    write_two();
    write_table("", DENSE("2_Dense"));
    expect_refusal(NULL, "modules.json: found a StaticEmbedding and modules with weights of their own, expected only "
                         "Normalize and Dropout behind it");
    write_table("../x", "");
    expect_refusal(NULL, "modules.json:1: found the module StaticEmbedding in the folder '../x', expected a Transformer");
}
END_TEST

/* Several poolings make a vector that concatenates their results, in the order of a list or of
 * flags; an option overrides them, and without any the pooling is the mean. */
START_TEST(appends_vectors_of_several_poolings)
{
    static const struct {
        const char *pooling, *option, *parts[3];
    } cases[] = {
        {"{\"pooling_mode\":[\"mean\",\"cls\"]}", NULL, {"mean", "cls"}},
        {"{\"pooling_mode\":[\"lasttoken\"]}", NULL, {"lasttoken"}},
        {"{\"pooling_mode_mean_tokens\":true,\"pooling_mode_max_tokens\":true,\"pooling_mode_cls_token\":true}",
         NULL,
         {"cls", "max", "mean"}},
        {"{\"pooling_mode\":[\"mean\",\"cls\",\"max\"]}", "weightedmean", {"weightedmean"}},
        {"{}", NULL, {"mean"}},
    };
    static const char text[] = "a graph compiler";
    float found[3 * C], part[C];
    crescent_embedder_facts facts;
    int n = 0;
    write_modules(cases[_i].pooling, 0);
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.pooling = cases[_i].option}, 1), *alone;
    crescent_embedder_get_facts(e, &facts);
    ck_assert_int_le(facts.dimensions, 3 * C);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    crescent_embedder_close(e);
    remove(in_folder("modules.json"));
    for (; n < 3 && cases[_i].parts[n]; n++) {
        alone = open_embedder(&(crescent_embedder_options){.pooling = cases[_i].parts[n]}, 1);
        GOOD(crescent_embed(alone, text, strlen(text), part, NULL));
        crescent_embedder_close(alone);
        ck_assert(crescent_same_bits(part, found + n * C, C));
    }
    ck_assert_int_eq(facts.dimensions, n * C);
}
END_TEST

/* The Transformer may lie in a folder inside, with its tokenizer and its limit of tokens, and a Dense in folders of
 * folders: vectors stay the same.  truncate_dim keeps their first numbers. */
START_TEST(finds_models_in_folders_inside)
{
    static const char text[] = "a graph compiler of texts";
    float expected[NARROW], found[NARROW];
    char command[600];
    crescent_embedder_facts facts;
    write_two();
    write_text("sentence_bert_config.json", "{\"max_seq_length\":4}");
    write_all_modules("{\"pooling_mode_mean_tokens\":true}", DENSE("2_Dense") DENSE("3_Dense") NORMALIZE);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), expected, NULL));
    crescent_embedder_close(e);
    snprintf(command, sizeof command,
             "cd %s && mkdir 0_Transformer a && mv config.json tokenizer.json model.safetensors sentence_bert_config.json "
             "0_Transformer && mv 2_Dense a",
             folder);
    ck_assert_int_eq(system(command), 0);
    write_text("modules.json", "[{\"path\":\"0_Transformer\",\"type\":\"sentence_transformers.models.Transformer\"},"
                               "{\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}" DENSE(
                                   "a/2_Dense") DENSE("3_Dense") NORMALIZE "]");
    e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    ck_assert(crescent_same_bits(found, expected, NARROW));
    crescent_embedder_close(e);
    write_text("config_sentence_transformers.json", "{\"truncate_dim\":3}");
    e = open_embedder(NULL, 1);
    crescent_embedder_get_facts(e, &facts);
    ck_assert_int_eq(facts.dimensions, 3);
    ck_assert_int_eq(facts.most, 4);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    ck_assert(crescent_same_bits(found, expected, 3));
    crescent_embedder_close(e);
    write_text("config_sentence_transformers.json", "{\"truncate_dim\":0}");
    expect_refusal(NULL, "config_sentence_transformers.json:1: found truncate_dim 0, expected at least 1");
}
END_TEST

/* Modules in another order, or that take other vectors than one of a text, are refused. */
START_TEST(refuses_modules_out_of_place)
{
    static const char pooling[] = ",{\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}";
    write_all_modules("{\"pooling_mode_mean_tokens\":true}", pooling);
    expect_refusal(NULL, "modules.json:1: found the module Pooling behind a Pooling, expected a Transformer, a Pooling, "
                         "and then other modules");
    write_text("modules.json", "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"}" NORMALIZE "]");
    expect_refusal(NULL, "modules.json:1: found the module Normalize in front of the Pooling");
    write_text("modules.json", "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"}]");
    expect_refusal(NULL, "modules.json: found no Pooling, expected one, or --pooling");
    ck_assert_int_eq(mkdir(in_folder("2"), 0755), 0);
    write_text("2/config.json", "{\"module_input_name\":\"token_embeddings\"}");
    write_modules("{\"pooling_mode_mean_tokens\":true}", 1);
    expect_refusal(NULL, "2/config.json: found a Normalize from token_embeddings to sentence_embedding, expected "
                         "sentence_embedding for both");
    write_modules("{\"pooling_mode_mean_tokens\":true}", 0);
    write_text("sentence_bert_config.json", "{\"module_output_name\":\"logits\"}");
    expect_refusal(NULL, "found a Transformer that gives logits, expected token_embeddings");
}
END_TEST

/* A Dense layer with a residual adds its input, multiplied by a matrix if the sizes differ. */
START_TEST(adds_the_residual_of_a_dense_layer)
{
    static const char text[] = "a graph compiler";
    static double weight[C * C], residual[NARROW * C];
    const int n = _i ? NARROW : C;
    float x[C], found[C];
    char config[200], tensors[200];
    snprintf(config, sizeof config, "{\"in_features\":%d,\"out_features\":%d,\"bias\":false,\"use_residual\":true,"
             "\"activation_function\":\"torch.nn.modules.activation.Tanh\"}", C, n);
    snprintf(tensors, sizeof tensors, "w = param(\"linear.weight\", {%d, %d}, {normal = 0.5})%s", n, C,
             _i ? ", r = param(\"residual.weight\", {8, 32}, {normal = 0.5})" : "");
    write_dense("2_Dense", config, tensors);
    write_modules("{\"pooling_mode_cls_token\":true}", 0);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), x, NULL));
    crescent_embedder_close(e);
    read_tensor("2_Dense/model.safetensors", "linear.weight", weight);
    if (_i)
        read_tensor("2_Dense/model.safetensors", "residual.weight", residual);
    write_all_modules("{\"pooling_mode_cls_token\":true}", DENSE("2_Dense"));
    e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    crescent_embedder_close(e);
    for (int i = 0; i < n; i++) {
        double product = 0, added = _i ? 0 : (double)x[i];
        for (int k = 0; k < C; k++) {
            product += weight[i * C + k] * (double)x[k];
            added += _i ? residual[i * C + k] * (double)x[k] : 0;
        }
        ck_assert_double_eq_tol((double)found[i], tanh(product) + added, 1e-5);
    }
}
END_TEST

/* The settings of the module Transformer may be in a file named after the family; do_lower_case
 * lowers texts before a tokenizer that does not lower them itself. */
START_TEST(reads_the_settings_of_the_transformer)
{
    static const char *const files[] = {"sentence_bert_config.json", "sentence_roberta_config.json"};
    static const char large[] = "The Graph of a COMPILER", small[] = "the graph of a compiler";
    float expected[C], found[C];
    char command[200];
    crescent_embedded what;
    snprintf(command, sizeof command, "cp tests/tokenizers/gpt2.json %s/tokenizer.json", folder);
    ck_assert_int_eq(system(command), 0);
    write_text(files[_i], "{\"max_seq_length\":6,\"do_lower_case\":false}");
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, small, strlen(small), expected, &what));
    ck_assert_int_eq((int)what.tokens, 6);
    GOOD(crescent_embed(e, large, strlen(large), found, NULL));
    ck_assert(!crescent_same_bits(expected, found, C));
    crescent_embedder_close(e);
    write_text(files[_i], "{\"max_seq_length\":6,\"do_lower_case\":true}");
    e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, large, strlen(large), found, NULL));
    ck_assert(crescent_same_bits(expected, found, C));
    crescent_embedder_close(e);
}
END_TEST

/* ---- decoders ---- */

enum { MOST_TEXTS = 8, MOST_BYTES = 200 };

/* Reads the lines of a file without their ends; returns their number. */
static int read_lines(const char *path, char lines[MOST_TEXTS][MOST_BYTES])
{
    int n = 0;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (n < MOST_TEXTS && fgets(lines[n], MOST_BYTES, file))
        lines[n][strcspn(lines[n], "\n")] = '\0', n++;
    fclose(file);
    return n;
}

/* Reads the elements of a .npy file; returns its number of rows. */
static int read_rows(const char *path, double *elements, int most)
{
    crescent_contents *contents;
    crescent_tensor tensor;
    GOOD(crescent_contents_open(context, path, &contents));
    GOOD(crescent_contents_at(contents, 0, &tensor));
    ck_assert(tensor.rank == 2 && tensor.elements <= most);
    int rows = (int)tensor.shape[0];
    GOOD(crescent_contents_read(contents, 0, elements));
    crescent_contents_close(contents);
    return rows;
}

/* Folders written by tests/make_embedding_fixtures.py: vectors of texts, or logits, by
 * transformers. */
static const struct {
    const char *name;
    crescent_classification classify;
    int pairs;
} decoders[] = {{"qwen3", CRESCENT_NO_CLASSES, 0},     {"gemma3", CRESCENT_NO_CLASSES, 0},
                {"mistral", CRESCENT_NO_CLASSES, 0},   {"qwen2_both", CRESCENT_NO_CLASSES, 0},
                {"llama_rank", CRESCENT_LOGITS, 1},    {"qwen3_classes", CRESCENT_LOGITS, 0},
                {"qwen3_score", CRESCENT_LOGITS, 1},   {"llama_score", CRESCENT_LOGITS, 1}};
enum { N_DECODERS = sizeof decoders / sizeof *decoders };

START_TEST(embeds_by_decoders)
{
    static char lines[MOST_TEXTS][MOST_BYTES];
    static double expected[MOST_TEXTS * WIDE];
    char path[100];
    float found[WIDE];
    crescent_embedder *e;
    crescent_embedder_facts facts;
    snprintf(path, sizeof path, "tests/fixtures/embed_%s/texts.txt", decoders[_i].name);
    int n = read_lines(path, lines), first = decoders[_i].classify ? 1 : 0;
    snprintf(path, sizeof path, "tests/fixtures/embed_%s/vectors.npy", decoders[_i].name);
    ck_assert_int_eq(read_rows(path, expected, MOST_TEXTS * WIDE), n - first);
    snprintf(path, sizeof path, "tests/fixtures/embed_%s", decoders[_i].name);
    const crescent_embedder_options options = {.classify = decoders[_i].classify};
    GOOD(crescent_embedder_open(context, path, NULL, NULL, &options, &e));
    crescent_embedder_get_facts(e, &facts);
    for (int i = first; i < n; i++) {
        if (decoders[_i].pairs)
            GOOD(crescent_embed_pair(e, lines[0], strlen(lines[0]), lines[i], strlen(lines[i]), found, NULL));
        else
            GOOD(crescent_embed(e, lines[i], strlen(lines[i]), found, NULL));
        for (int c = 0; c < (int)facts.dimensions; c++)
            ck_assert_double_eq_tol((double)found[c], expected[(i - first) * (int)facts.dimensions + c], 1e-5);
    }
    crescent_embedder_close(e);
}
END_TEST

/* The limit of tokens in tokenizer_config.json is used if no other file has one. */
START_TEST(takes_limits_of_tokenizers)
{
    static const char *const limits[] = {"{\"model_max_length\":11}", "{\"model_max_length\":1000}",
                                         "{\"model_max_length\":1000000000000000019884624838656}", "{}"};
    static const int64_t expected[] = {11, 40, 40, 40};
    crescent_embedder_facts facts;
    char command[200];
    snprintf(command, sizeof command, "cp tests/tokenizers/bert_cased.json %s/tokenizer.json", folder);
    ck_assert_int_eq(system(command), 0);
    write_text("tokenizer_config.json", limits[_i]);
    crescent_embedder *e = open_embedder(NULL, 1);
    crescent_embedder_get_facts(e, &facts);
    ck_assert_int_eq(facts.most, expected[_i]);
    crescent_embedder_close(e);
}
END_TEST

/* A script whose rotary angles depend on the length of the text is refused with more tokens than
 * its bound. */
START_TEST(refuses_positions_of_lengths)
{
    static const char *const types[] = {"dynamic", "longrope"};
    char type[40];
    snprintf(type, sizeof type, "%s", types[_i]);
    crescent_model *model;
    const crescent_setting settings[] = {{"rope_type", type},   {"pooling", "mean"},
                                         {"T", "20"},           {"max_position_embeddings", "16"},
                                         {"rope_factor", "2"},  {"rope_original_max_position_embeddings", "16"}};
    const crescent_script script = {.settings = settings, .n_settings = 6};
    ck_assert_int_eq(crescent_open(context, "graphs/llama.lua", &script, NULL, &model), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), ": found texts of up to 20 tokens, expected at most 16"));
}
END_TEST

/* A prompt in the folder's files is put before the text. */
START_TEST(puts_prompts_in_front)
{
    static const char *const folders[] = {"tests/fixtures/embed_qwen3", "tests/fixtures/embed_gemma3"};
    float with[WIDE], without[WIDE];
    crescent_embedder *e;
    crescent_embedder_facts facts;
    const char whole[] = "Instruct: Find what answers the question\nQuery: why";
    GOOD(crescent_embedder_open(context, folders[_i], NULL, NULL, &(crescent_embedder_options){.role = "query"}, &e));
    GOOD(crescent_embed(e, "why", 3, with, NULL));
    crescent_embedder_close(e);
    GOOD(crescent_embedder_open(context, folders[_i], NULL, NULL, NULL, &e));
    crescent_embedder_get_facts(e, &facts);
    GOOD(crescent_embed(e, whole, strlen(whole), without, NULL));
    ck_assert(crescent_same_bits(with, without, facts.dimensions));
    crescent_embedder_close(e);
}
END_TEST

/* ---- reranking decoders ---- */

#define PLACE(role) "{{ messages | selectattr('role', 'eq', '" role "') | map(attribute='content') | first }}"
#define LOGIT_SCORE                                                                                                   \
    "[{\"path\":\"\",\"type\":\"sentence_transformers.base.modules.transformer.Transformer\"},"                       \
    "{\"path\":\"1\",\"type\":\"sentence_transformers.cross_encoder.modules.logit_score.LogitScore\"}]"

/* Writes a small Qwen3ForCausalLM whose tokens are letters, "yes" and "no". */
static void write_reranker(void)
{
    crescent_model *model;
    write_text("tokenizer.json",
               "{\"added_tokens\":[{\"id\":8,\"content\":\"<|im_end|>\",\"special\":true}],\"model\":{\"type\":\"WordLevel\","
               "\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"yes\":1,\"no\":2,\"a\":3,\"b\":4,\"<\":5,\"Document\":6,"
               "\">:\":7,\"<|im_end|>\":8,\"assistant\":9}},\"pre_tokenizer\":{\"type\":\"Whitespace\"}}");
    write_text("config.json",
               "{\"model_type\":\"qwen3\",\"architectures\":[\"Qwen3ForCausalLM\"],\"vocab_size\":12,\"hidden_size\":32,"
               "\"num_attention_heads\":2,\"head_dim\":16,\"intermediate_size\":64,\"num_hidden_layers\":2,"
               "\"num_key_value_heads\":1,\"max_position_embeddings\":300}");
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
    mkdir(in_folder("1"), 0755);
    write_text("1/config.json", "{\"true_token_id\":1,\"false_token_id\":2}");
}

/* Returns the score of the question "a" and a document, and the number of tokens. */
static float score_of(const char *document, int64_t most, size_t *tokens)
{
    float score;
    crescent_embedded what;
    crescent_embedder *e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_PROBABILITIES, .most = most}, 1);
    GOOD(crescent_embed_pair(e, "a", 1, document, strlen(document), &score, &what));
    *tokens = what.tokens;
    ck_assert_int_eq(what.truncated, (size_t)most == what.tokens);
    ck_assert_int_eq(what.repaired, strchr(document, 0xff) != NULL);
    crescent_embedder_close(e);
    return score;
}

/* A Qwen3ForCausalLM without modules is prompted as Qwen3-Reranker is; modules.json and a template
 * with the same contents give the same score. */
START_TEST(reranks_without_modules)
{
    size_t n, m;
    write_reranker();
    float first = score_of("b a b", 0, &n);
    write_text("modules.json", LOGIT_SCORE);
    write_text("chat_template.jinja",
               "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
               "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given "
               "a web search query, retrieve relevant passages that answer the query\n<Query>: " PLACE("query")
               "\n<Document>: " PLACE("document") "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n\n");
    float second = score_of("b a b", 0, &m);
    ck_assert(crescent_same_bits(&first, &second, 1));
    ck_assert_uint_eq(n, m);
}
END_TEST

/* Where a document is cut, the template's text after it remains; the template may be in
 * tokenizer_config.json. */
START_TEST(cuts_documents_before_the_answer)
{
    size_t n;
    write_reranker();
    write_text("modules.json", LOGIT_SCORE);
    write_text("tokenizer_config.json",
               "{\"chat_template\":\"" PLACE("query") " " PLACE("document") "<|im_end|>assistant\"}");
    float cut = score_of("b b a \xff b", 5, &n);
    ck_assert_uint_eq(n, 5);
    float whole = score_of("b b", 0, &n);
    ck_assert_uint_eq(n, 5);
    ck_assert(crescent_same_bits(&cut, &whole, 1));
    write_text("config_sentence_transformers.json", "{\"activation_fn\":\"torch.nn.modules.linear.Identity\"}");
    float logit = score_of("b b", 0, &n);
    ck_assert_double_eq_tol((double)whole, 1 / (1 + exp(-(double)logit)), 1e-6);
}
END_TEST

/* Opens a reranking decoder, which must fail with an error. */
static void expect_no_reranker(const char *expected)
{
    crescent_embedder *e;
    const crescent_embedder_options options = {.classify = CRESCENT_LOGITS};
    ck_assert_int_eq(crescent_embedder_open(context, folder, NULL, NULL, &options, &e), CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), expected), "%s, expected %s", crescent_error(context), expected);
}

static const struct {
    const char *template, *found;
} wrong_templates[] = {
    {"a\n{% if x %}", ":2: found {% if x %}, expected text and {{ messages"},
    {PLACE("query") "\n\n" PLACE("user"), ":3: found {{ messages | selectattr('role', 'eq', ', expected"},
    {"{{ 'a\\x' }}", ":1: found {{ 'a\\x' }}, expected"},
    {"{{ 'a", ":1: found {{ 'a, expected"},
    {"{{ bos }}", ":1: found {{ bos }}, expected"},
    {PLACE("query") PLACE("query"), ":1: found a template with 2 places for a query and 0 for a document, expected one"},
};
enum { N_WRONG_TEMPLATES = sizeof wrong_templates / sizeof *wrong_templates };

START_TEST(refuses_templates)
{
    write_reranker();
    write_text("modules.json", LOGIT_SCORE);
    write_text("chat_template.jinja", wrong_templates[_i].template);
    expect_no_reranker(wrong_templates[_i].found);
}
END_TEST


START_TEST(refuses_what_does_not_rank)
{
    float score;
    crescent_embedder *e;
    crescent_embedder_facts facts;
    write_reranker();
    write_text("modules.json", LOGIT_SCORE);
    expect_no_reranker(": found no chat_template.jinja, expected it");
    write_text("chat_template.jinja", PLACE("query") PLACE("document") "<|im_end|>assistant");
    expect_refusal(NULL, ": found a reranking decoder (LogitScore), expected a model of vectors");
    write_text("1/config.json", "{\"true_token_id\":12}");
    expect_no_reranker("option score: found '12', expected an id from 0 to 11");
    write_text("1/config.json", "{\"false_token_id\":1}");
    expect_no_reranker("1/config.json: found true_token_id -1 and false_token_id 1, expected ids of tokens");
    write_text("1/config.json", "{\"true_token_id\":1}");
    e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_LOGITS, .most = 2}, 1);
    crescent_embedder_get_facts(e, &facts);
    ck_assert_int_eq(facts.pairs, 1);
    ck_assert_int_eq(crescent_embed(e, "a", 1, &score, NULL), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "found a single text, expected a question and a document"));
    ck_assert_int_eq(crescent_embed_pair(e, "a", 1, "b", 1, &score, NULL), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "found a limit of 2 tokens, expected more than the 2 of the"));
    crescent_embedder_close(e);
    remove(in_folder("modules.json"));
    write_text("tokenizer.json", "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0}}}");
    expect_no_reranker(": found a tokenizer without \"yes\" and \"no\", expected these tokens of a reranking decoder");
}
END_TEST

static void expect_refusal(const crescent_embedder_options *options, const char *expected)
{
    crescent_embedder *e;
    ck_assert_int_eq(crescent_embedder_open(context, folder, NULL, NULL, options, &e), CRESCENT_FAILED);
    ck_assert_ptr_null(e);
    ck_assert_msg(strstr(crescent_error(context), expected), "%s, expected %s", crescent_error(context), expected);
}

/* ---- families ---- */

/* The config.json of each family with the sizes of set_up, and the number of positions; 0:
 * unlimited, and the family has no head for classes. */
static const struct {
    const char *config;
    int positions;
} families[] = {
#define SIZES "\"vocab_size\":420,\"hidden_size\":32,\"num_attention_heads\":2,\"intermediate_size\":64," \
              "\"num_hidden_layers\":2,\"max_position_embeddings\":40"
    {"{\"model_type\":\"bert\"," SIZES "}", 40},
    {"{\"model_type\":\"bert\"," SIZES ",\"position_embedding_type\":\"alibi\",\"feed_forward_type\":\"geglu\"}", 0},
    {"{\"model_type\":\"distilbert\",\"vocab_size\":420,\"dim\":32,\"n_heads\":2,\"hidden_dim\":64,"
     "\"n_layers\":2,\"max_position_embeddings\":40}", 40},
    {"{\"model_type\":\"roberta\"," SIZES ",\"type_vocab_size\":2}", 38},
    {"{\"model_type\":\"xlm-roberta\"," SIZES ",\"type_vocab_size\":1}", 38},
    {"{\"architectures\":[\"CamembertModel\"]," SIZES ",\"pad_token_id\":4}", 35},
    {"{\"model_type\":\"electra\"," SIZES ",\"embedding_size\":12}", 40},
    {"{\"model_type\":\"ernie\"," SIZES ",\"use_task_id\":true}", 40},
    {"{\"model_type\":\"esm\"," SIZES ",\"token_dropout\":true,\"position_embedding_type\":\"rotary\"}", 40},
    {"{\"model_type\":\"esm\"," SIZES ",\"emb_layer_norm_before\":true,\"type_vocab_size\":2}", 38},
    {"{\"model_type\":\"mobilebert\"," SIZES ",\"intra_bottleneck_size\":16,\"embedding_size\":12,\"position_embedding_type\":\"absolute\"}", 40},
    {"{\"model_type\":\"squeezebert\"," SIZES ",\"embedding_size\":32,\"position_embedding_type\":\"absolute\"}", 40},
    {"{\"model_type\":\"rembert\"," SIZES ",\"input_embedding_size\":12,\"position_embedding_type\":\"absolute\"}", 40},
    {"{\"model_type\":\"roberta-prelayernorm\"," SIZES ",\"type_vocab_size\":2}", 38},
    {"{\"model_type\":\"roformer\"," SIZES ",\"embedding_size\":12}", 40},
    {"{\"model_type\":\"mpnet\"," SIZES "}", 38},
    {"{\"model_type\":\"albert\"," SIZES ",\"embedding_size\":12}", 40},
    {"{\"model_type\":\"modernbert\"," SIZES ",\"local_attention\":4}", 40},
    {"{\"model_type\":\"nomic_bert\"," SIZES "}", 40},
    {"{\"model_type\":\"eurobert\"," SIZES ",\"num_key_value_heads\":1}", 40},
    {"{\"model_type\":\"new\"," SIZES ",\"type_vocab_size\":2}", 40},
    {"{\"model_type\":\"deberta-v2\"," SIZES ",\"relative_attention\":true,\"pos_att_type\":[\"p2c\",\"c2p\"],"
     "\"position_biased_input\":false,\"position_buckets\":4}", 40},
    {"{\"model_type\":\"t5\",\"vocab_size\":420,\"d_model\":32,\"d_kv\":16,\"num_heads\":2,\"d_ff\":64,\"num_layers\":2}", 0},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* Returns the first output for a batch of one text; its mask has no padding. */
static const float *run_batch(const int32_t *ids, size_t n, const char *classes)
{
    char tokens[20];
    crescent_model *model;
    crescent_port port;
    static float first[LIMIT * C], second[C];
    static int32_t none[LIMIT], all[LIMIT];
    snprintf(tokens, sizeof tokens, "%d", (int)n);
    const crescent_setting settings[] = {{"T", tokens}, {"padding", "true"}, {"pooler", "false"}, {"classes", classes}};
    const crescent_script script = {.settings = settings, .n_settings = 4};
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    const char *path = crescent_weights_path(model);
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL));
    const void *inputs[3] = {NULL};
    void *outputs[] = {first, second};
    for (int i = 0; i < LIMIT; i++)
        all[i] = 1;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++) {
        GOOD(crescent_port_at(model, CRESCENT_INPUT, i, &port));
        inputs[i] = strcmp(port.name, "ids") == 0 ? ids : strcmp(port.name, "attention_mask") == 0 ? all : none;
    }
    GOOD(crescent_run(model, inputs, outputs));
    crescent_close(model);
    return first;
}

/* Draws weights for a family's model, with a head for a number of classes or without a head. */
static void write_family(int i, const char *classes)
{
    crescent_model *model;
    const crescent_setting settings[] = {{"classes", classes}};
    const crescent_script script = {.settings = settings, .n_settings = 1};
    write_text("config.json", families[i].config);
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 11));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
}

/* Returns the ids of a text; the caller frees them. */
static int32_t *ids_of(const char *text, size_t *n)
{
    crescent_tokenizer *tokenizer;
    int32_t *ids;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    GOOD(crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, n));
    crescent_tokenizer_close(tokenizer);
    ck_assert_uint_le(*n, LIMIT);
    return ids;
}

/* For each family, a single text of a length gives the bits of a batch of it. */
START_TEST(has_a_vector_and_classes_in_each_family)
{
    static const char text[] = "the graph that people read";
    size_t n;
    float found[C];
    int32_t *ids = ids_of(text, &n);
    write_family(_i, "0");
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    crescent_embedder_close(e);
    const float *expected = run_batch(ids, n, "0");
    for (int c = 0; c < C; c++)
        ck_assert_double_eq_tol((double)found[c], expected_pooling(expected, n, "mean", c), 1e-5);
    crescent_free(families[_i].positions ? NULL : ids);
    if (!families[_i].positions)
        return;

    write_family(_i, "2");
    e = open_embedder(&(crescent_embedder_options){.classify = CRESCENT_LOGITS}, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    crescent_embedder_close(e);
    expected = run_batch(ids, n, "2");
    for (int c = 0; c < 2; c++)
        ck_assert_double_eq_tol((double)found[c], (double)expected[c], 1e-5);
    crescent_free(ids);
}
END_TEST

/* Draws the weights of the folder's model. */
static void draw_weights(int seed)
{
    crescent_model *model;
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, seed));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    crescent_close(model);
}

/* A folder with CLIP's text model alone has projected features if its class projects them. */
START_TEST(projects_the_features_of_a_tower)
{
#define TOWER "\"vocab_size\":420,\"hidden_size\":32,\"num_attention_heads\":2,\"intermediate_size\":64," \
              "\"num_hidden_layers\":2,\"max_position_embeddings\":20,\"eos_token_id\":3"
    static const char text[] = "the graph that people read";
    static const char *const configs[] = {
        "{\"model_type\":\"clip\",\"projection_dim\":12,\"text_config\":{" TOWER "}}",
        "{\"model_type\":\"clip_text_model\",\"architectures\":[\"CLIPTextModelWithProjection\"],"
        "\"projection_dim\":12," TOWER "}",
        "{\"model_type\":\"clip_text_model\",\"architectures\":[\"CLIPTextModel\"],\"projection_dim\":12," TOWER "}"};
    static const int sizes[] = {12, 12, 32};
    float found[3][C];
    crescent_embedder_facts facts;
    for (int i = 0; i < 3; i++) {
        write_text("config.json", configs[i]);
        if (i == 0)
            draw_weights(11);
        crescent_embedder *e = open_embedder(NULL, 1);
        crescent_embedder_get_facts(e, &facts);
        ck_assert_int_eq(facts.dimensions, sizes[i]);
        GOOD(crescent_embed(e, text, strlen(text), found[i], NULL));
        crescent_embedder_close(e);
    }
    ck_assert(crescent_same_bits(found[0], found[1], 12));
}
END_TEST

/* The vector of a CLIP model is what its text model, compiled for the number of tokens, returns;
 * texts are cut to its positions. */
START_TEST(has_the_features_of_clip)
{
    static const char text[] = "the graph that people read";
    size_t n;
    char tokens[20];
    float found[12], expected[12];
    crescent_model *model;
    crescent_embedded what;
    write_text("config.json",
               "{\"model_type\":\"clip\",\"projection_dim\":12,\"text_config\":{\"vocab_size\":420,\"hidden_size\":32,"
               "\"num_attention_heads\":2,\"intermediate_size\":64,\"num_hidden_layers\":2,"
               "\"max_position_embeddings\":20,\"eos_token_id\":3}}");
    int32_t *ids = ids_of(text, &n);
    snprintf(tokens, sizeof tokens, "%d", (int)n);
    const crescent_setting settings[] = {{"T", tokens}};
    const crescent_script script = {.settings = settings, .n_settings = 1};
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 11));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    void *outputs[3] = {NULL};
    outputs[crescent_port_find(model, CRESCENT_OUTPUT, "text_features")] = expected;
    for (int i = 0; i < 3; i++)
        if (!outputs[i])
            outputs[i] = calloc(n * 32, sizeof(float));
    GOOD(crescent_run(model, (const void *const[]){ids}, outputs));
    crescent_close(model);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    for (int c = 0; c < 12; c++)
        ck_assert_double_eq_tol((double)found[c], (double)expected[c], 1e-5);
    char long_text[300] = "";
    for (int i = 0; i < 60; i++)
        strcat(long_text, "the ");
    GOOD(crescent_embed(e, long_text, strlen(long_text), found, &what));
    ck_assert_uint_eq(what.tokens, 20);
    crescent_embedder_close(e);
    for (int i = 0; i < 3; i++)
        if (outputs[i] != expected)
            free(outputs[i]);
    crescent_free(ids);
}
END_TEST

/* The vector of a SigLIP model is what its text model returns for a text that was padded by hand,
 * as transformers does. */
START_TEST(has_the_features_of_siglip)
{
    static const char text[] = "the graph that people read";
    enum { POSITIONS = 20 };
    size_t n;
    float found[C], expected[C], states[POSITIONS * C];
    int32_t filled[POSITIONS];
    crescent_model *model;
    write_text("config.json",
               "{\"model_type\":\"siglip\",\"text_config\":{\"vocab_size\":420,\"hidden_size\":32,"
               "\"num_attention_heads\":2,\"intermediate_size\":64,\"num_hidden_layers\":2,"
               "\"max_position_embeddings\":20}}");
    expect_refusal(NULL, ": found no pad_token in tokenizer_config.json, expected it, as SigLIP fills texts up");
    write_text("tokenizer_config.json", "{\"pad_token\":\"nowhere\"}");
    expect_refusal(NULL, "text_pad: found 420, expected an id from 0 to 419");
    write_text("tokenizer_config.json", _i ? "{\"pad_token\":{\"content\":\"[MASK]\"}}" : "{\"pad_token\":\"[MASK]\"}");
    int32_t *ids = ids_of(text, &n);
    crescent_tokenizer *tokenizer;
    GOOD(crescent_tokenizer_open(context, folder, &tokenizer));
    for (size_t i = 0; i < POSITIONS; i++)
        filled[i] = i < n ? ids[i] : crescent_token_id(tokenizer, "[MASK]");
    crescent_tokenizer_close(tokenizer);
    crescent_free(ids);
    const crescent_setting setting = {"T", "20"};
    const crescent_script script = {.settings = &setting, .n_settings = 1};
    GOOD(crescent_open(context, folder, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 11));
    GOOD(crescent_save_weights(model, in_folder("model.safetensors")));
    void *outputs[2] = {states, states};
    outputs[crescent_port_find(model, CRESCENT_OUTPUT, "pooler_output")] = expected;
    GOOD(crescent_run(model, (const void *const[]){filled}, outputs));
    crescent_close(model);
    crescent_embedder *e = open_embedder(NULL, 1);
    GOOD(crescent_embed(e, text, strlen(text), found, NULL));
    for (int c = 0; c < C; c++)
        ck_assert_double_eq_tol((double)found[c], (double)expected[c], 1e-5);
    crescent_embedder_close(e);
}
END_TEST

/* A text is cut to as many tokens as the model has positions. */
START_TEST(knows_the_positions_of_each_family)
{
    char text[300] = "", refused[100];
    crescent_embedder *e;
    crescent_embedded what;
    float vector[C];
    if (!families[_i].positions)
        return;
    write_family(_i, "0");
    for (int i = 0; i < 60; i++)
        strcat(text, "the ");
    e = open_embedder(&(crescent_embedder_options){.most = families[_i].positions}, 1);
    GOOD(crescent_embed(e, text, strlen(text), vector, &what));
    ck_assert_uint_eq(what.tokens, (size_t)families[_i].positions);
    crescent_embedder_close(e);
    snprintf(refused, sizeof refused, "found a limit of %d tokens, expected at most %d, the number of positions",
             families[_i].positions + 1, families[_i].positions);
    expect_refusal(&(crescent_embedder_options){.most = families[_i].positions + 1}, refused);
}
END_TEST

START_TEST(refuses_in_one_line)
{
    expect_refusal(&(crescent_embedder_options){.most = 41},
                   "found a limit of 41 tokens, expected at most 40, the number of positions");
    expect_refusal(&(crescent_embedder_options){.most = 1}, "found a limit of 1 tokens, expected at least 2");
    expect_refusal(&(crescent_embedder_options){.pooling = "sum"}, "option pooling: found 'sum', expected ");
    write_text("sentence_bert_config.json", "{\"max_seq_length\":-3}");
    expect_refusal(NULL, "sentence_bert_config.json:1: found max_seq_length -3, expected 0 or more tokens");
    remove(in_folder("sentence_bert_config.json"));
    write_text("config_sentence_transformers.json",
               "{\"prompts\":{\"query\":\"ask: \"},\n\"default_prompt_name\":\"q\"}");
    expect_refusal(NULL,
                   "config_sentence_transformers.json:2: found default_prompt_name q, expected the name of a prompt");
    remove(in_folder("config_sentence_transformers.json"));
    write_modules("{\"pooling_mode\":\"median\"}", 0);
    expect_refusal(NULL, "1_Pooling/config.json: found the pooling median, expected one of cls, mean");
    write_modules("{\"pooling_mode\":[]}", 0);
    expect_refusal(NULL, "1_Pooling/config.json:1: found no pooling, expected one");
    write_modules("{\"pooling_mode\":[3]}", 0);
    expect_refusal(NULL, "1_Pooling/config.json:1: found an integer, expected the name of a pooling");
    write_modules("[", 0);
    expect_refusal(NULL, "1_Pooling/config.json:1: found the end of the file");
    remove(in_folder("1_Pooling/config.json"));
    expect_refusal(NULL, "1_Pooling/config.json: found no such file, expected it, as modules.json names it");
    write_text("modules.json", "[{\"path\":\"2_CNN\",\"type\":\"sentence_transformers.models.CNN\"}]");
    expect_refusal(NULL, "modules.json:1: found the module CNN in the folder '2_CNN', expected a Transformer");
    write_text("modules.json", "[{\"path\":\"../x\",\"type\":\"sentence_transformers.models.Dense\"}]");
    expect_refusal(NULL, "modules.json:1: found the module Dense in the folder '../x', expected a Transformer");
    write_text("modules.json", "{}");
    expect_refusal(NULL, "modules.json:1: found an object, expected an array of modules");
    remove(in_folder("modules.json"));
    expect_refusal(&(crescent_embedder_options){.classify = CRESCENT_LOGITS}, ": no tensor 'classifier.weight'");
    write_text("config.json", "{\"model_type\":\"bert\",\"architectures\":[\"BertForMaskedLM\"],\"vocab_size\":420,"
                              "\"hidden_size\":32,\"num_attention_heads\":2,\"intermediate_size\":64,"
                              "\"num_hidden_layers\":2,\"max_position_embeddings\":40}");
    expect_refusal(&(crescent_embedder_options){.classify = CRESCENT_LOGITS},
                   "; the class in config.json is BertForMaskedLM, expected one such as BertForSequenceClassification");
    write_text("config.json", "{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"2\":\"b\"}}");
    expect_refusal(&(crescent_embedder_options){.classify = CRESCENT_LOGITS},
                   "config.json:1: id2label: found 2, expected the numbers from 0 to 1, each with a name");
    write_text("config.json", "{\"model_type\":\"bert\",\"num_labels\":0}");
    expect_refusal(&(crescent_embedder_options){.classify = CRESCENT_LOGITS},
                   "config.json: found 0 labels, expected a number from 1 to 100000");
    remove(in_folder("tokenizer.json"));
    expect_refusal(NULL, ": found no tokenizer, expected ");
}
END_TEST

/* Dense layers that are missing or of another kind are refused. */
START_TEST(refuses_dense_layers)
{
    static const char *const wrong[][2] = {
        {"{\"in_features\":31,\"out_features\":48}",
         "2_Dense/config.json: found in_features 31, expected 32, the size of the vector before it"},
        {"{\"in_features\":32,\"out_features\":0}",
         "2_Dense/config.json: found in_features 32 and out_features 0, expected numbers from 1 to 1048576"},
        {"{\"in_features\":32,\"out_features\":48,\"activation_function\":\"torch.nn.Softplus\"}",
         "2_Dense/config.json: found the activation Softplus, expected GELU, Identity, ReLU, SiLU, Sigmoid or Tanh"},
        {"{\"in_features\":32,\"out_features\":48,\"activation_function\":\"a b\"}",
         "2_Dense/config.json: found the activation a b, expected a class of PyTorch"},
        {"{\"in_features\":32,\"out_features\":48,\"module_input_name\":\"token_embeddings\"}",
         "2_Dense/config.json: found a Dense layer from token_embeddings to sentence_embedding, expected "
         "sentence_embedding for both"},
        {"{\"in_features\":32,\"out_features\":40}",
         "2_Dense/model.safetensors: 2_Dense.linear.weight has shape [48, 32], expected [40, 32]"},
    };
    write_two();
    write_all_modules("{\"pooling_mode_cls_token\":true}", DENSE("2_Dense"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text("2_Dense/config.json", wrong[i][0]);
        expect_refusal(NULL, wrong[i][1]);
    }
    remove(in_folder("2_Dense/model.safetensors"));
    expect_refusal(NULL, "2_Dense: no weights in it, expected model.safetensors");
    write_text("2_Dense/pytorch_model.bin", "");
    expect_refusal(NULL, "2_Dense: its weights are in pytorch_model.bin, expected model.safetensors");
    remove(in_folder("2_Dense/config.json"));
    expect_refusal(NULL, "2_Dense/config.json: found no such file, expected it, as modules.json names it");
}
END_TEST

/* The size of a token's vector in the pooling's file has to fit the model: with further layers, and
 * in files of one pooling or two. */
START_TEST(checks_the_size_of_a_token)
{
    static const char *const wrong[][2] = {
        {"{\"word_embedding_dimension\":31,\"pooling_mode\":\"cls\"}", "1: found word_embedding_dimension 31"},
        {"{\"word_embedding_dimension\":64,\"pooling_mode\":[\"cls\",\"max\"]}",
         "1: found word_embedding_dimension 64"},
        {"{\n\"embedding_dimension\":0}", "2: found embedding_dimension 0"},
    };
    static const char *const good[] = {
        "{\"word_embedding_dimension\":32,\"pooling_mode\":[\"cls\",\"max\",\"mean\"]}",
        "{\"embedding_dimension\":32,\"word_embedding_dimension\":null}"};
    const crescent_embedder_options one = {.pooling = "mean"};
    crescent_embedder *e;
    write_two();
    for (size_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "1_Pooling/config.json:%s, expected 32, the size of a token's vector in the model",
                 wrong[i / 2][1]);
        write_all_modules(wrong[i / 2][0], i == 0 ? DENSE("2_Dense") DENSE("3_Dense") : "");
        expect_refusal(i % 2 ? &one : NULL, expected);
        if (i == 0) /* emit refuses weights in several files without --pack */
            continue;
        ck_assert_int_eq(crescent_emit_embedder(context, folder, NULL, NULL, NULL, NULL, in_folder("x.c"), NULL),
                         CRESCENT_FAILED);
        ck_assert_ptr_nonnull(strstr(crescent_error(context), expected));
    }
    for (size_t i = 0; i < 2 * sizeof good / sizeof *good; i++) {
        write_all_modules(good[i / 2], NORMALIZE);
        GOOD(crescent_embedder_open(context, folder, NULL, NULL, i % 2 ? &one : NULL, &e));
        crescent_embedder_close(e);
    }
    const crescent_setting other = {"pooling", "max"};
    write_all_modules(wrong[0][0], "");
    GOOD(crescent_embedder_open(context, folder, &(crescent_script){.settings = &other, .n_settings = 1}, NULL, NULL, &e));
    crescent_embedder_close(e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("embed");
    TCase *t = tcase_create("vectors");
    tcase_add_checked_fixture(t, set_up, tear_down);
    suite_add_tcase(suite, t);
    tcase_add_loop_test(t, pools_what_the_encoder_gives, 0, N_KINDS);
    tcase_add_test(t, bits_depend_on_the_text_alone);
    tcase_add_loop_test(t, bits_do_not_depend_on_the_batch, 0, 2);
    tcase_add_test(t, refuses_ids_of_a_batch);
    tcase_add_test(t, maps_kept_weights);
    tcase_add_loop_test(t, goes_through_dense_layers, 0, 4);
    tcase_add_test(t, finds_models_in_folders_inside);
    tcase_add_test(t, refuses_modules_out_of_place);
    tcase_add_test(t, goes_through_a_layer_norm);
    tcase_add_loop_test(t, takes_the_mean_of_a_table, 0, 2);
    tcase_add_test(t, refuses_tables);
    tcase_add_loop_test(t, leaves_the_prompt_out, 0, N_KINDS);
    tcase_add_loop_test(t, pools_what_a_limit_leaves, 0, N_KINDS);
    tcase_add_loop_test(t, gives_segments_as_the_files_say, 0, N_SEGMENT_FILES);
    tcase_add_loop_test(t, appends_vectors_of_several_poolings, 0, 5);
    tcase_add_loop_test(t, adds_the_residual_of_a_dense_layer, 0, 2);
    tcase_add_loop_test(t, reads_the_settings_of_the_transformer, 0, 2);
    tcase_add_test(t, refuses_dense_layers);
    tcase_add_test(t, checks_the_size_of_a_token);
    tcase_add_loop_test(t, embeds_by_decoders, 0, N_DECODERS);
    tcase_add_loop_test(t, takes_limits_of_tokenizers, 0, 4);
    tcase_add_loop_test(t, refuses_positions_of_lengths, 0, 2);
    tcase_add_loop_test(t, puts_prompts_in_front, 0, 2);
    tcase_add_test(t, reranks_without_modules);
    tcase_add_test(t, cuts_documents_before_the_answer);
    tcase_add_loop_test(t, refuses_templates, 0, N_WRONG_TEMPLATES);
    tcase_add_test(t, refuses_what_does_not_rank);
    tcase_add_test(t, does_what_the_files_say);
    tcase_add_loop_test(t, chooses_prompts, 0, sizeof prompts / sizeof *prompts);
    tcase_add_test(t, takes_any_text);
    tcase_add_test(t, takes_bad_texts);
    tcase_add_loop_test(t, classifies_a_pair, 0, 2);
    tcase_add_loop_test(t, scores_as_a_reranker_says, 0, 4);
    tcase_add_loop_test(t, has_a_vector_and_classes_in_each_family, 0, N_FAMILIES);
    tcase_add_test(t, has_the_features_of_clip);
    tcase_add_test(t, projects_the_features_of_a_tower);
    tcase_add_loop_test(t, has_the_features_of_siglip, 0, 2);
    tcase_add_loop_test(t, knows_the_positions_of_each_family, 0, N_FAMILIES);
    tcase_add_test(t, refuses_in_one_line);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
