/*
 * test_gguf_model.c - GGUF files in place of a script: they give the bits of a folder in Hugging
 * Face's layout with the same weights, for every tensor type; they tokenize by their metadata; and
 * metadata that the script has no option for is refused.
 */
#include "gguf_models.h"

static const int types[] = {GGML_F32, GGML_F16, GGML_BF16, GGML_Q8_0, GGML_Q4_0, GGML_Q4_1};

START_TEST(gives_the_bits_of_a_folder)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    const struct family *f = &families[_i % COUNT(families)];
    make_both(f, types[_i / COUNT(families)], &g);
    int64_t n = run(folder, NULL, expected);
    ck_assert_int_eq(run(in_folder("model.gguf"), NULL, found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    for (int64_t i = 1; i < n; i++) /* and they are of some use */
        if (expected[i] != expected[0])
            return;
    ck_abort_msg("all of %lld numbers are alike", (long long)n);
}
END_TEST

/* Blocks are copied; quantising them again would give other numbers, most of all in q4. */
START_TEST(keeps_blocks_as_they_are)
{
    static const struct {
        int type;
        const char *format;
    } cases[] = {{GGML_Q8_0, "q8"}, {GGML_Q4_0, "q4"}, {GGML_Q4_1, "q4"}};
    static const crescent_backend backends[] = {CRESCENT_TCC, CRESCENT_REF};
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    int number = _i / COUNT(families);
    make_both(&families[_i % COUNT(families)], cases[number].type, &g);
    for (int b = 0; b < COUNT(backends); b++) {
        crescent_config config = {.backend = backends[b], .threads = 1};
        int64_t n = run_as(folder, NULL, &config, expected);
        config.format = cases[number].format;
        for (config.threads = 1; config.threads < 4; config.threads++) {
            ck_assert_int_eq(run_as(in_folder("model.gguf"), NULL, &config, found), n);
            ck_assert_msg(crescent_same_bits(found, expected, n), "%s, %d threads", config.format,
                          config.threads);
        }
    }
}
END_TEST

/* A GGUF file serves as the weight file of a folder's model with the same layout, and not of a
 * model with another layout. */
START_TEST(is_a_source_of_weights)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    crescent_model *model;
    make_both(&families[0], GGML_Q8_0, &g);
    int64_t n = run(folder, NULL, expected);
    ck_assert_int_eq(run(folder, in_folder("model.gguf"), found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    make_both(&families[COUNT(families) - 1], GGML_F32, &g);
    const char *weights = in_folder("model.gguf");
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    ck_assert_int_ne(crescent_load_weights(model, &weights, 1, CRESCENT_ANY_TENSORS, NULL), 0);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "expected ["));
    crescent_close(model);
}
END_TEST

/* Weights can be read from a GGUF file in memory, whose bytes the caller may change after the call. */
START_TEST(is_a_source_of_weights_in_memory)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    crescent_model *model;
    crescent_surplus surplus;
    int32_t ids[64];
    make_both(&families[0], GGML_Q4_0, &g);
    int64_t n = run(folder, in_folder("model.gguf"), expected);
    FILE *file = fopen(in_folder("model.gguf"), "rb");
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    size_t length = (size_t)ftell(file);
    char *bytes = malloc(length);
    rewind(file);
    ck_assert_uint_eq(fread(bytes, 1, length, file), length);
    fclose(file);
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    GOOD(crescent_load_weights_bytes(model, "memory", bytes, length, CRESCENT_MODEL_TENSORS_ONLY,
                                     &surplus));
    memset(bytes, 0, length);
    free(bytes);
    GOOD(crescent_draw_input(model, 0, 5, ids));
    GOOD(crescent_run(model, (const void *[]){ids}, (void *[]){found}));
    ck_assert(crescent_same_bits(found, expected, n));
    crescent_close(model);
}
END_TEST

/* ---- generating ---- */

/* Generates n tokens from a prompt; texts begin and end with the tokens of the file. */
static void generate(const char *path, int32_t *ids, int n, crescent_generator_status *status)
{
    crescent_generator *g;
    const char *weights = path;
    int32_t prompt[] = {3, 1, 4, 1, 5};
    GOOD(crescent_generator_open(context, path, NULL, NULL, NULL, &g));
    GOOD(crescent_load_weights(crescent_generator_model(g), &weights, 1, CRESCENT_ANY_TENSORS,
                               NULL));
    GOOD(crescent_generator_get_status(g, status));
    GOOD(crescent_generator_feed(g, prompt, COUNT(prompt), NULL));
    for (int i = 0; i < n; i++) {
        GOOD(crescent_generator_choose(g, NULL, &ids[i]));
        GOOD(crescent_generator_feed(g, &ids[i], 1, NULL));
    }
    ck_assert_int_eq(crescent_generator_is_end(g, 2), strstr(path, ".gguf") != NULL);
    ck_assert_int_eq(crescent_generator_is_end(g, 3), 0);
    crescent_generator_close(g);
}

START_TEST(generates_as_a_folder)
{
    int32_t expected[16], found[16];
    crescent_generator_status status, of_folder;
    struct gguf g = {.n_values = 0};
    put_integer(&g, "tokenizer.ggml.bos_token_id", 1);
    put_integer(&g, "tokenizer.ggml.eos_token_id", 2);
    make_both(&families[_i], GGML_Q8_0, &g);
    generate(folder, expected, COUNT(expected), &of_folder);
    generate(in_folder("model.gguf"), found, COUNT(found), &status);
    ck_assert_int_eq(memcmp(found, expected, sizeof found), 0);
    ck_assert_int_eq(status.context, 48);
    ck_assert_int_eq(of_folder.context, 48);
    ck_assert_int_eq(status.begin, 1);
}
END_TEST

/* Every verb takes a GGUF file in place of a script, and refuses one that is cut off. */
START_TEST(is_a_model_for_every_verb)
{
    static const char *const verbs[] = {"run", "params", "dump --after join"};
    static const char tokens[] = "generate --ids --prompt-ids 3,1,4 --tokens 8 --ignore-eos";
    static char expected[1 << 16], found[1 << 16];
    struct gguf g = {.n_values = 0};
    make_both(&families[0], GGML_Q4_0, &g);
    const char *path = in_folder("model.gguf");
    ck_assert_int_eq(command(expected, sizeof expected, tokens, folder), 0);
    ck_assert_int_eq(command(found, sizeof found, tokens, path), 0);
    ck_assert_str_eq(found, expected);
    for (int i = 0; i < COUNT(verbs); i++)
        ck_assert_msg(command(found, sizeof found, verbs[i], path) == 0, "%s: %s", verbs[i], found);
    ck_assert_int_eq(truncate(path, 8000), 0);
    for (int i = 0; i < COUNT(verbs); i++) {
        ck_assert_int_eq(command(found, sizeof found, verbs[i], path), 2);
        ck_assert_msg(strstr(found, "model.gguf: tensor ") && strstr(found, ", expected them in"),
                      "%s", found);
    }
}
END_TEST

/* ---- tokenizers ---- */

/* Checks that a text has the ids "1 2 3", and that these decode to the text or, if it is not null,
 * to `back`. */
static void check_ids_and_text(crescent_tokenizer *t, const char *text, const char *expected,
                          const char *back)
{
    char found[256] = "", *decoded;
    int32_t *ids;
    size_t n, length;
    GOOD(crescent_encode(t, text, strlen(text), CRESCENT_FRAMED, &ids, &n));
    for (size_t i = 0; i < n; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", i ? " " : "",
                 (int)ids[i]);
    ck_assert_str_eq(found, expected);
    GOOD(crescent_decode(t, ids, n, CRESCENT_SPECIALS_WITHIN, &decoded, &length));
    ck_assert_str_eq(decoded, back);
    crescent_free(ids);
    crescent_free(decoded);
}

static void check_ids(crescent_tokenizer *t, const char *text, const char *expected)
{
    check_ids_and_text(t, text, expected, text);
}

static void put_numbers(struct gguf *g, const char *key, uint32_t type, const void *numbers, int n)
{
    put_array(g, key, type, (uint64_t)n);
    put(&g->values, numbers, (size_t)n * 4);
}

static crescent_tokenizer *open_tokenizer(struct gguf *g)
{
    crescent_tokenizer *t;
    write_gguf(in_folder("vocabulary.gguf"), g);
    GOOD(crescent_tokenizer_open(context, in_folder("vocabulary.gguf"), &t));
    return t;
}

#define S "\xe2\x96\x81"

static const char *const pieces[] = {"<unk>",  "<s>", "</s>", "<0x0A>", "<0xC3>",
                                     "<0xA9>", S,     "a",    "b",      S "a",
                                     "ab",     "aa",  S "ab", "aaa",    "<tool>"};
static const int32_t piece_types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 4};

static void put_pieces(struct gguf *g, const float *scores)
{
    put_text(g, "tokenizer.ggml.model", "llama");
    put_texts(g, "tokenizer.ggml.tokens", pieces, COUNT(pieces));
    put_numbers(g, "tokenizer.ggml.token_type", GGUF_I32, piece_types, COUNT(pieces));
    put_numbers(g, "tokenizer.ggml.scores", GGUF_F32, scores, COUNT(pieces));
    put_integer(g, "tokenizer.ggml.bos_token_id", 1);
    put_integer(g, "tokenizer.ggml.eos_token_id", 2);
    put_integer(g, "tokenizer.ggml.unknown_token_id", 0);
}

/* The pair with the highest score is merged first, "ab" before a space and "a"; of equal scores the
 * leftmost pair. */
START_TEST(merges_by_scores)
{
    static const float scores[] = {0, 0, 0, 0, 0, 0, -9, -9, -9, -3, -1, -2, -4, -5, 0};
    static const float alike[] = {0, 0, 0, 0, 0, 0, -9, -9, -9, -1, -1, -1, -1, -1, 0};
    struct gguf g = {.n_values = 0};
    put_pieces(&g, scores);
    crescent_tokenizer *t = open_tokenizer(&g);
    check_ids(t, "ab", "1 12");
    check_ids(t, "aab", "1 9 10");
    check_ids(t, "aaaa", "1 6 11 11");
    check_ids(t, "b\n", "1 6 8 3");
    check_ids(t, "\xc3\xa9", "1 6 4 5");
    check_ids_and_text(t, "b<tool>b", "1 6 8 14 6 8", "b<tool> b");
    ck_assert_int_eq(crescent_end_count(t), 1);
    ck_assert_int_eq(crescent_end_at(t, 0), 2);
    crescent_tokenizer_close(t);
    put_pieces(&g, alike);
    put_bool(&g, "tokenizer.ggml.add_bos_token", 0);
    put_bool(&g, "tokenizer.ggml.add_eos_token", 1);
    put_bool(&g, "tokenizer.ggml.add_space_prefix", 0);
    t = open_tokenizer(&g);
    check_ids(t, "aab", "11 8 2");
    check_ids(t, " aab", "9 10 2");
    check_ids(t, "aaaaa", "13 11 2");
    crescent_tokenizer_close(t);
}
END_TEST

/* WordPiece of GGUF files: a token with a visible space in front begins a word, one without
 * continues it. */
START_TEST(cuts_words_as_bert)
{
    static const char *const tokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", S "the", S "graph", "s", S ",", S "The"};
    static const int32_t types[] = {3, 3, 3, 3, 1, 1, 1, 1, 1};
    struct gguf g = {.n_values = 0};
    for (int cased = 0; cased < 2; cased++) {
        put_text(&g, "tokenizer.ggml.model", "bert");
        put_texts(&g, "tokenizer.ggml.tokens", tokens, cased ? 9 : 8);
        put_numbers(&g, "tokenizer.ggml.token_type", GGUF_I32, types, cased ? 9 : 8);
        put_integer(&g, "tokenizer.ggml.cls_token_id", 2);
        put_integer(&g, "tokenizer.ggml.seperator_token_id", 3);
        crescent_tokenizer *t = open_tokenizer(&g);
        check_ids_and_text(t, "The gr\xc3\xa4phs, [SEP]graph", cased ? "2 8 1 7 3 5 3" : "2 4 5 6 7 3 5 3",
                      cased ? "The [UNK], [SEP] graph" : "the graphs, [SEP] graph");
        crescent_tokenizer_close(t);
    }
}
END_TEST

/* Writes the output of a model for three texts, n numbers each; the third text is too long.
 * `pooling` may be null. */
static void embed_three(const char *path, const char *pooling, crescent_classification classify, int n, float *vectors)
{
    static char many[401];
    const char *const texts[] = {"The graph, graphs", "", many};
    const crescent_embedder_options options = {.pooling = pooling, .classify = classify};
    crescent_embedder *embedder;
    crescent_embedder_facts facts;
    for (int i = 0; i < 100; i++)
        strcpy(many + 4 * i, i % 2 ? "the " : "s, ,");
    GOOD(crescent_embedder_open(context, path, NULL, NULL, &options, &embedder));
    GOOD(crescent_embedder_get_facts(embedder, &facts));
    ck_assert_int_eq(facts.dimensions, n);
    for (int i = 0; i < 3; i++)
        GOOD(crescent_embed(embedder, texts[i], strlen(texts[i]), vectors + i * n, NULL));
    if (classify)
        ck_assert_str_eq(crescent_embedder_label(embedder, n - 1), n > 1 ? "bad" : "LABEL_0");
    crescent_embedder_close(embedder);
}

/* Writes a WordPiece tokenizer to the folder and to the file. */
static void put_bert_words(struct gguf *g)
{
    static const char *const tokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", S "the", S "graph", "s", S ","};
    static const int32_t types[] = {3, 3, 3, 3, 1, 1, 1, 1};
    write_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ngraph\n##s\n,\n");
    put_text(g, "tokenizer.ggml.model", "bert");
    put_texts(g, "tokenizer.ggml.tokens", tokens, 8);
    put_numbers(g, "tokenizer.ggml.token_type", GGUF_I32, types, 8);
    put_integer(g, "tokenizer.ggml.cls_token_id", 2);
    put_integer(g, "tokenizer.ggml.seperator_token_id", 3);
}

#define ENCODER                                                                                                       \
    " \"hidden_size\": 32, \"intermediate_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 2,"         \
    " \"vocab_size\": 8, \"max_position_embeddings\": 48,"

/* Families of encoders, and of classifiers based on them. */
static const struct family encoders[] = {
    {"bert", "{\"model_type\": \"bert\"," ENCODER " \"layer_norm_eps\": 1e-5}",
     true, false, true, true, 2, 16, NULL, NULL, NULL},
    {"nomic-bert", "{\"model_type\": \"nomic_bert\"," ENCODER " \"layer_norm_eps\": 1e-5, \"rope_theta\": 500.0}",
     true, false, true, true, 2, 16, NULL, "nomic_bert", NULL},
    {"modern-bert", "{\"model_type\": \"modernbert\"," ENCODER " \"local_attention\": 6, \"global_rope_theta\": 500.0,"
                    " \"global_attn_every_n_layers\": 2}",
     true, false, true, true, 2, 16, NULL, "modernbert", NULL},
    {"bert", "{\"model_type\": \"bert\"," ENCODER " \"layer_norm_eps\": 1e-5, \"num_labels\": 1}",
     true, false, true, true, 2, 16, NULL, NULL, "1"},
    {"modern-bert", "{\"model_type\": \"modernbert\"," ENCODER " \"local_attention\": 6, \"global_rope_theta\": 500.0,"
                    " \"global_attn_every_n_layers\": 2, \"id2label\": {\"0\": \"good\", \"1\": \"bad\"}}",
     true, false, true, true, 2, 16, NULL, "modernbert", "2"},
};

/* Writes an encoder's folder and its file; `pooling` is llama.cpp's number of a pooling, or 0. */
static void make_encoder(const struct family *f, int type, int pooling)
{
    static const char *const labels[] = {"good", "bad"};
    struct gguf g = {.n_values = 0};
    if (pooling > 0)
        put_integer(&g, key_of(f, "pooling_type"), (uint32_t)pooling);
    put_bool(&g, key_of(f, "attention.causal"), 0);
    if (f->script) {
        put_real(&g, key_of(f, "rope.freq_base"), 500);
        put_integer(&g, key_of(f, "rope.dimension_count"), 16);
        put_text(&g, key_of(f, "rope.scaling.type"), "none");
    }
    if (f->script && strcmp(f->script, "modernbert") == 0) {
        put_integer(&g, key_of(f, "attention.sliding_window"), 6);
        put_integer(&g, key_of(f, "attention.sliding_window_pattern"), 2);
        put_real(&g, key_of(f, "rope.freq_base_swa"), 10000);
    }
    if (f->classes && *f->classes == '2')
        put_texts(&g, key_of(f, "classifier.output_labels"), labels, 2);
    put_bert_words(&g);
    make_both(f, type, &g);
}

/* An encoder's file gives the vectors of its folder; its pooling is the file's. */
START_TEST(embeds_as_a_folder)
{
    static const char *const poolings[] = {"mean", "mean", "cls", "lasttoken"};
    float of_folder[3][32], of_file[3][32];
    const int pooling = _i % 4;
    make_encoder(&encoders[_i / 4], pooling == 1 ? GGML_BF16 : pooling == 2 ? GGML_Q8_0 : GGML_F32, pooling);
    embed_three(folder, poolings[pooling], CRESCENT_NO_CLASSES, 32, of_folder[0]);
    embed_three(in_folder("model.gguf"), NULL, CRESCENT_NO_CLASSES, 32, of_file[0]);
    ck_assert_mem_eq(of_file, of_folder, sizeof of_file);
    ck_assert(of_file[0][0] == of_file[0][0] && of_file[0][0] != of_file[2][0]);
}
END_TEST

/* A classifier's file gives the probabilities and the labels of its folder. */
START_TEST(classifies_as_a_folder)
{
    const struct family *f = &encoders[3 + _i];
    float of_folder[6], of_file[6];
    const int n = *f->classes - '0';
    make_encoder(f, GGML_F32, 4);
    embed_three(folder, NULL, CRESCENT_PROBABILITIES, n, of_folder);
    embed_three(in_folder("model.gguf"), NULL, CRESCENT_PROBABILITIES, n, of_file);
    ck_assert_mem_eq(of_file, of_folder, 3 * (size_t)n * sizeof(float));
    ck_assert(of_file[0] > 0 && of_file[0] < 1 && of_file[0] != of_file[2 * n]);
}
END_TEST

/* SentencePiece's unigram model chooses the more likely of two segmentations; it trims spaces, and
 * adds a token at the end of a text. */
START_TEST(finds_the_likeliest_tokens)
{
    static const char *const tokens[] = {"<pad>", "</s>", "<unk>", S, "a", "b", S "a", "ab", "<x>"};
    static const int32_t types[] = {3, 3, 2, 1, 1, 1, 1, 1, 4};
    static const float scores[] = {0, 0, 0, -2, -3, -3, -4, -3.5F, 0};
    struct gguf g = {.n_values = 0};
    put_text(&g, "tokenizer.ggml.model", "t5");
    put_texts(&g, "tokenizer.ggml.tokens", tokens, COUNT(tokens));
    put_numbers(&g, "tokenizer.ggml.token_type", GGUF_I32, types, COUNT(tokens));
    put_numbers(&g, "tokenizer.ggml.scores", GGUF_F32, scores, COUNT(tokens));
    put_integer(&g, "tokenizer.ggml.eos_token_id", 1);
    put_integer(&g, "tokenizer.ggml.unknown_token_id", 2);
    crescent_tokenizer *t = open_tokenizer(&g);
    check_ids(t, "ab", "3 7 1");
    check_ids_and_text(t, " a  <x>b ", "6 3 8 5 1", "a <x>b");
    check_ids_and_text(t, "az", "6 2 1", "a<unk>");
    crescent_tokenizer_close(t);
}
END_TEST

static const char *const words[] = {"a",
                                    "b",
                                    "\xc4\xa0",
                                    "1",
                                    "2",
                                    "12",
                                    "\xc4\xa0"
                                    "a",
                                    "ab",
                                    "\xc4\xa0"
                                    "ab",
                                    "<end>",
                                    "aba"};
static const int32_t word_types[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1};
static const char *const merges[] = {"\xc4\xa0 a", "a b", "1 2", ("\xc4\xa0" "a b")};

static void put_words(struct gguf *g, const char *cut)
{
    put_text(g, "tokenizer.ggml.model", "gpt2");
    if (*cut)
        put_text(g, "tokenizer.ggml.pre", cut);
    put_texts(g, "tokenizer.ggml.tokens", words, COUNT(words));
    put_numbers(g, "tokenizer.ggml.token_type", GGUF_I32, word_types, COUNT(words));
    put_texts(g, "tokenizer.ggml.merges", merges, COUNT(merges));
    put_integer(g, "tokenizer.ggml.bos_token_id", 9);
    put_integer(g, "tokenizer.ggml.eot_token_id", 9);
}

/* The pre-tokenizer that the file names determines how text is split, whether a token is put before
 * the text, and whether a word that is a token skips the merges. */
START_TEST(cuts_as_the_file_says)
{
    static const struct {
        const char *cut, *text, *ids;
    } cases[] = {
        {"", "ab ab<end>12", "7 8 9 5"},  {"gpt-2", "aba12", "7 0 5"},
        {"default", "aba 12", "7 0 2 5"}, {"llama-bpe", "aba12", "9 10 5"},
        {"qwen2", "aba12", "7 0 3 4"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct gguf g = {.n_values = 0};
        put_words(&g, cases[i].cut);
        crescent_tokenizer *t = open_tokenizer(&g);
        check_ids(t, cases[i].text, cases[i].ids);
        ck_assert_int_eq(crescent_end_at(t, 0), 9);
        crescent_tokenizer_close(t);
    }
}
END_TEST

/* Byte-level tokenizers of encoders lay out pairs with one separator between the texts, or with
 * two. */
START_TEST(pairs_as_the_encoder)
{
    static const char *const cuts[] = {"modern-bert", "roberta-bpe"};
    static const int32_t expected[2][7] = {{9, 7, 9, 0, 9}, {9, 7, 9, 9, 0, 9}};
    const crescent_text pair = {.text = "ab", .length = 2, .pair = "a", .pair_length = 1, .framing = CRESCENT_FRAMED};
    struct gguf g = {.n_values = 0};
    crescent_encoding encoding;
    put_words(&g, cuts[_i]);
    put_integer(&g, "tokenizer.ggml.eos_token_id", 9);
    put_bool(&g, "tokenizer.ggml.add_sep_token", 1);
    crescent_tokenizer *t = open_tokenizer(&g);
    check_ids(t, "aba", "9 7 0 9");
    GOOD(crescent_encode_text(t, &pair, &encoding));
    ck_assert_uint_eq(encoding.n, 5 + (size_t)_i);
    ck_assert_mem_eq(encoding.ids, expected[_i], encoding.n * sizeof *encoding.ids);
    crescent_free(encoding.ids);
    crescent_tokenizer_close(t);
}
END_TEST

/* ---- errors in a file ---- */

/* A value in addition to those of a Llama, and the expected error. */
static const struct wrong {
    const char *key, *text;
    double number;
    const char *expected;
} wrongs[] = {
    {"llama.rope.twist", NULL, 1, "found the key 'llama.rope.twist', which is not supported"},
    {"llama.attention.sliding_window", NULL, 4096,
     "'llama.attention.sliding_window' is 4096, expected 0, the only value that is supported"},
    {"llama.expert_used_count", NULL, 2, "'llama.expert_used_count' is 2, expected 0"},
    {"llama.rope.scaling.type", "longrope", 0,
     "'llama.rope.scaling.type' is a string, expected 'none', 'linear' or 'yarn'"},
    {"llama.attention.layer_norm_epsilon", NULL, 1, "expected no such key for this architecture"},
    {"split.count", NULL, 3, "found one of several files of a split model, expected a single file"},
    {"llama.rope.scaling.factor", "4", 0, "is a string, expected a finite number"},
};

START_TEST(refuses_what_no_script_knows)
{
    const struct wrong *wrong = &wrongs[_i];
    struct gguf g = {.n_values = 0};
    crescent_graph *graph;
    if (wrong->text)
        put_text(&g, wrong->key, wrong->text);
    else
        put_integer(&g, wrong->key, (uint32_t)wrong->number);
    make_both(&families[0], GGML_F32, &g);
    ck_assert_int_ne(crescent_graph_open(context, in_folder("model.gguf"), NULL, &graph), 0);
    ck_assert_msg(strncmp(crescent_error(context), folder, strlen(folder)) == 0 &&
                      strstr(crescent_error(context), wrong->expected),
                  "found: %s\nexpected: %s", crescent_error(context), wrong->expected);
}
END_TEST

/* Files with missing values, and files that are no model, are refused. */
START_TEST(refuses_other_models)
{
    static const char *const keys[] = {NULL, "mamba", "llama", "gpt2"};
    static const char *const expected[] = {
        "no general.architecture, expected the name of one",
        "the architecture 'mamba', expected llama, qwen2, qwen3, gpt2, bert, nomic-bert or modern-bert",
        "no llama.block_count, expected one", "no gpt2.block_count, expected one"};
    for (int i = 0; i < COUNT(keys); i++) {
        struct gguf g = {.n_values = 0};
        crescent_graph *graph;
        if (keys[i])
            put_text(&g, "general.architecture", keys[i]);
        write_gguf(in_folder("other.gguf"), &g);
        ck_assert_int_ne(crescent_graph_open(context, in_folder("other.gguf"), NULL, &graph), 0);
        ck_assert_msg(strstr(crescent_error(context), expected[i]) != NULL, "%s",
                      crescent_error(context));
    }
}
END_TEST

/* Files with an inconsistent vocabulary are refused. */
START_TEST(refuses_wrong_tokenizers)
{
    static const struct {
        const char *model, *cut, *second, *merge, *expected;
    } cases[] = {
        {"rwkv", "", "b", "a b", "found 'rwkv' for tokenizer.ggml.model, expected gpt2, llama, t5 or bert"},
        {"no_vocab", "", "b", "a b", "the file has no vocabulary (tokenizer.ggml.model is no_vocab), expected"},
        {"gpt2", "klingon", "b", "a b", "found 'klingon' for tokenizer.ggml.pre, expected gpt-2"},
        {"gpt2", "", "a", "a b", "found token 'a' twice, expected it once"},
        {"gpt2", "", "\xff", "a b", "found the token '\\xff', expected UTF-8"},
        {"gpt2", "", "b", "ab", "found the merge 'ab', expected LEFT RIGHT"},
        {"gpt2", "", "b", "a b", "found 'ab' in merge 0, which is not a token"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *const tokens[] = {"a", cases[i].second};
        struct gguf g = {.n_values = 0};
        crescent_tokenizer *t;
        put_text(&g, "tokenizer.ggml.model", cases[i].model);
        put_text(&g, "tokenizer.ggml.pre", cases[i].cut);
        put_texts(&g, "tokenizer.ggml.tokens", tokens, 2);
        put_texts(&g, "tokenizer.ggml.merges", &cases[i].merge, 1);
        write_gguf(in_folder("wrong.gguf"), &g);
        ck_assert_int_ne(crescent_tokenizer_open(context, in_folder("wrong.gguf"), &t), 0);
        ck_assert_msg(strstr(crescent_error(context), cases[i].expected) != NULL, "%s",
                      crescent_error(context));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf_model");
    TCase *tests = tcase_create("gguf_model");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gives_the_bits_of_a_folder, 0, COUNT(families) * COUNT(types));
    tcase_add_loop_test(tests, keeps_blocks_as_they_are, 0, 3 * COUNT(families));
    tcase_add_test(tests, is_a_source_of_weights);
    tcase_add_test(tests, is_a_source_of_weights_in_memory);
    tcase_add_loop_test(tests, generates_as_a_folder, 0, COUNT(families));
    tcase_add_test(tests, is_a_model_for_every_verb);
    tcase_add_test(tests, merges_by_scores);
    tcase_add_test(tests, cuts_words_as_bert);
    tcase_add_loop_test(tests, embeds_as_a_folder, 0, 12);
    tcase_add_loop_test(tests, classifies_as_a_folder, 0, COUNT(encoders) - 3);
    tcase_add_test(tests, finds_the_likeliest_tokens);
    tcase_add_loop_test(tests, pairs_as_the_encoder, 0, 2);
    tcase_add_test(tests, cuts_as_the_file_says);
    tcase_add_loop_test(tests, refuses_what_no_script_knows, 0, COUNT(wrongs));
    tcase_add_test(tests, refuses_other_models);
    tcase_add_test(tests, refuses_wrong_tokenizers);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
