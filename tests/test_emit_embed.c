/*
 * test_emit_embed.c - encoders as one C file: the same vectors as crescent embed and the same scores as crescent
 * classify and rank, from safetensors files, packed weights and embedded weights, with every installed compiler; and refused options.  $CRESCENT is
 * the program.
 */
#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/crescent.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* Runs a line of the shell in which crescent is the program and $T the folder of the test; `said`
 * becomes the first line that it prints, on either stream. */
static int run(char said[400], const char *format, ...)
{
    char line[1600], command[2200];
    const char *crescent = getenv("CRESCENT");
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    snprintf(command, sizeof command, "T=%s; crescent() { '%s' \"$@\"; }; . tests/plain_c.sh; { %s; } >$T/said 2>&1",
             folder, crescent ? crescent : "build/crescent", line);
    int status = system(command);
    snprintf(command, sizeof command, "%s/said", folder);
    FILE *file = fopen(command, "r");
    ck_assert_ptr_nonnull(file);
    if (!fgets(said, 400, file))
        *said = '\0';
    fclose(file);
    return status;
}

#define RUN(...)                                                                                   \
    do {                                                                                           \
        char said[400];                                                                            \
        int status = run(said, __VA_ARGS__);                                                       \
        ck_assert_msg(status == 0, "%s: status %d, said %s", #__VA_ARGS__, status, said);          \
    } while (0)

/* Draws the weights of the model $T/NAME and saves them as $T/FILE. */
static void draw_weights(const char *name, const char *file)
{
    char path[160];
    crescent_model *model;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    GOOD(crescent_open(context, path, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    snprintf(path, sizeof path, "%s/%s", folder, file);
    GOOD(crescent_save_weights(model, path));
    crescent_close(model);
}

/* A BERT of random weights in $T/NAME, with one of the tokenizers of tests/tokenizers. */
static void make_bert(const char *name, const char *tokenizer)
{
    char weights[80];
    snprintf(weights, sizeof weights, "%s/model.safetensors", name);
    RUN("mkdir $T/%s && cp tests/tokenizers/%s $T/%s/tokenizer.json", name, tokenizer, name);
    RUN("echo '{\"model_type\":\"bert\",\"vocab_size\":700,\"hidden_size\":32,\"num_attention_heads\":2,"
        "\"intermediate_size\":64,\"num_hidden_layers\":2,\"max_position_embeddings\":40}' >$T/%s/config.json",
        name);
    RUN("echo '{\"prompts\":{\"query\":\"the question: \",\"document\":\"\"}}' "
        ">$T/%s/config_sentence_transformers.json", name);
    draw_weights(name, weights);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_emit_embed.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    /* The texts: an empty line, a line that is too long, bytes that are not UTF-8, a line that ends
     * in CR, and a last line without an end. */
    RUN("{ echo; head -n 30 README.md docs/embed.md; seq -s ' ' 3000; printf 'a\\377b \\303\\n'; printf 'Zw\\303\\266lf "
        "\\342\\200\\213 B\\303\\244ume\\r\\n'; printf '\\344\\275\\240\\345\\245\\275'; } >$T/texts");
}

static void tear_down(void)
{
    char command[100];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static bool has(const char *compiler)
{
    char said[400];
    return run(said, "command -v %s", compiler) == 0;
}

/* The compiler of programs that test something else than compilers; see plain_c.sh. */
#define ANY "$(quickest)"

/* Compiles the main of $T/x.c as $T/x.  TinyCC and ANY compile the whole file; for others the
 * functions of the runtime are compiled apart, as an object that is cached (plain_c.sh). */
static void build_main(const char *compiler)
{
    if (strncmp(compiler, "tcc", 3) == 0 || strcmp(compiler, ANY) == 0)
        RUN("%s -DX_MAIN $T/x.c -lm -o $T/x", compiler);
    else
        RUN("mkdir -p $T/apart && apart plain $T/x.c $T/apart && runtime_object $T/apart/x_runtime.c $T/runtime.o && "
            "%s -DX_MAIN $T/apart/x.c $T/runtime.o -lm -o $T/x", compiler);
}

/* Emits an encoder with options, compiles its main, and compares its output and notes, except the note on
 * tensors, with crescent embed. */
static void check_alike(const char *compiler, const char *encoder, const char *options,
                        const char *of_embed, const char *weights)
{
    RUN("crescent emit %s --embed-text --isa plain %s %s -o $T/x.c", encoder, options, of_embed);
    build_main(compiler);
    RUN("crescent embed %s %s $T/texts >$T/expected 2>$T/expected.notes", encoder, of_embed);
    RUN("$T/x %s <$T/texts >$T/found 2>$T/found.notes", weights);
    RUN("cmp $T/found $T/expected");
    RUN("sed '/: note: ignored/d; s/^[^:]*: note: //' $T/found.notes >$T/a; sed 's/^[^:]*: note: //; s/^note: //' "
        "$T/expected.notes >$T/b; cmp $T/a $T/b");
}

#define WARN " -std=c11 -Wall -Wextra -Wpedantic -Werror"

static const char *const compilers[] = {
    "gcc -O0" WARN, "tcc -w", "clang -O1" WARN};

static const char *const tokenizers[] = {"bert_uncased.json", "bert_cased.json", "unigram_map.json",
                                         "prefixed.json"};

START_TEST(makes_the_same_vectors)
{
    char first[20];
    make_bert("bert", tokenizers[_i]);
    for (int i = 0; i < (_i == 0 ? 3 : 2); i++) {
        snprintf(first, sizeof first, "%.*s", (int)strcspn(compilers[i], " "), compilers[i]);
        if (has(first))
            check_alike(compilers[i], "$T/bert", "", i == 1 ? "--query --max-length 9" : "",
                        "$T/bert/model.safetensors");
    }
}
END_TEST

/* The program leaves the tokens of a prompt out of several poolings, and segments out of the model, as embed does. */
START_TEST(leaves_the_prompt_out)
{
    make_bert("bert", "bert_uncased.json");
    RUN("cd $T/bert && mkdir 1_Pooling && echo '[{\"path\":\"\",\"type\":\"x.Transformer\"},{\"path\":\"1_Pooling\","
        "\"type\":\"x.Pooling\"}]' >modules.json && echo '{\"prompts\":{\"query\":\"ask the graph: \"}}' >config_sentence_transformers.json && "
        "echo '{\"pooling_mode\":[\"mean\",\"cls\",\"max\"],\"embedding_dimension\":32,\"include_prompt\":false}' >1_Pooling/config.json && "
        "echo '{\"model_input_names\":[\"input_ids\"]}' >tokenizer_config.json");
    check_alike("gcc -O0" WARN, "$T/bert", "", "--query", "$T/bert/model.safetensors");
    check_alike(ANY, "$T/bert", "", "--query --max-length 7", "$T/bert/model.safetensors");
    check_alike(ANY, "$T/bert", "", "--document", "$T/bert/model.safetensors");
}
END_TEST

START_TEST(takes_packed_and_embedded_weights)
{
    make_bert("bert", "bert_uncased.json");
    check_alike(ANY, "$T/bert", "--pack $T/w", "--normalize --pooling cls --format q8", "$T/w");
    check_alike("gcc -O0", "$T/bert", "--embed", "--normalize", "");
    check_alike(ANY, "tests/fixtures/embed_gemma3", "--embed-array", "--query", "");
    check_alike(ANY, "tests/fixtures/embed_qwen3", "", "", "tests/fixtures/embed_qwen3/model.safetensors");
}
END_TEST

/* Emits a classifier, and compares what its program prints with what `verb` prints under the same
 * options. --max-length, which is an option of `verb` too, has to be the last option of emit. */
static void check_scores(const char *compiler, const char *model, const char *verb, const char *of_emit, const char *options,
                         const char *weights)
{
    RUN("crescent emit %s --embed-text --isa plain %s -o $T/x.c", model, of_emit);
    build_main(compiler);
    RUN("crescent %s %s %s %s $T/texts >$T/expected 2>$T/expected.notes", verb, model,
        strstr(of_emit, "--max-length") ? strstr(of_emit, "--max-length") : "", options);
    RUN("$T/x %s %s <$T/texts >$T/found 2>$T/found.notes", weights, options);
    RUN("test $(wc -l <$T/found) -gt 30 && cmp $T/found $T/expected");
    RUN("sed '/: note: ignored/d; s/^[^:]*: note: //' $T/found.notes >$T/a; sed 's/^[^:]*: note: //; s/^note: //' "
        "$T/expected.notes >$T/b; cmp $T/a $T/b");
}

/* Makes $T/NAME a BERT with labels, whose names are the members of `labels`; `more` are other members. */
static void make_classifier(const char *name, const char *labels, const char *more)
{
    make_bert(name, "bert_uncased.json");
    RUN("sed 's|^{|{\"architectures\":[\"BertForSequenceClassification\"],\"id2label\":{%s},%s|' $T/%s/config.json "
        ">$T/config && mv $T/config $T/%s/config.json", labels, more, name, name);
    char path[128], weights[160];
    crescent_model *model;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(weights, sizeof weights, "%s/model.safetensors", path);
    const crescent_setting classes = {"classes", strchr(labels, ',') ? "3" : "1"};
    const crescent_script script = {.settings = &classes, .n_settings = 1};
    GOOD(crescent_open(context, path, &script, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 5));
    GOOD(crescent_save_weights(model, weights));
    crescent_close(model);
}

START_TEST(makes_the_same_scores)
{
    static const char three[] = "\"0\":\"good\",\"1\":\"b%%d \\\\u0022x\",\"2\":\"\303\251\"";
    make_classifier("three", three, "");
    check_scores("gcc -O0" WARN, "$T/three", "classify", "", "", "$T/three/model.safetensors");
    check_scores(ANY, "$T/three", "classify", "--pack $T/w --max-length 9", "", "$T/w");
    make_classifier("several", three, "\"problem_type\":\"multi_label_classification\",");
    check_scores(ANY, "$T/several", "classify", "", "", "$T/several/model.safetensors");
    check_scores(ANY, "tests/fixtures/embed_qwen3_classes", "classify", "", "",
                 "tests/fixtures/embed_qwen3_classes/model.safetensors");
    char said[400];
    ck_assert_int_eq(run(said, "$T/x tests/fixtures/embed_qwen3_classes/model.safetensors --query a --text b"), 2 << 8);
    ck_assert_msg(strstr(said, "--query: found a classifier with 3 labels, expected 1 label"), "said %s", said);
}
END_TEST

START_TEST(ranks_alike)
{
    make_classifier("one", "\"0\":\"relevance\"", "");
    check_scores(has("clang") ? "clang -O1" WARN : "gcc -O1" WARN, "$T/one", "rank", "", "--query 'What is it?'", "$T/one/model.safetensors");
    check_scores("gcc -O0", "$T/one", "classify", "--embed", "", "");
    RUN("echo '{\"model_input_names\":[\"input_ids\"]}' >$T/one/tokenizer_config.json");
    check_scores(ANY, "$T/one", "rank", "", "--query 'What is it?'", "$T/one/model.safetensors");
    make_classifier("plain", "\"0\":\"relevance\"",
                    "\"sentence_transformers\":{\"activation_fn\":\"torch.nn.modules.linear.Identity\"},");
    check_scores("tcc -w", "$T/plain", "rank", "--max-length 9", "--query ''", "$T/plain/model.safetensors");
}
END_TEST

/* Emitted reranking decoders give the scores of crescent rank: one with a template of its own, also
 * where documents are cut, and one that is known as a Qwen3-Reranker only by its class. */
START_TEST(reranks_alike)
{
    static const char fixture[] = "tests/fixtures/embed_qwen3_score";
    static const char weights[] = "tests/fixtures/embed_qwen3_score/model.safetensors";
    check_scores("gcc -O0" WARN, fixture, "rank", "", "--query 'What is it?'", weights);
    check_scores("gcc -O0", fixture, "rank", "--pack $T/w --max-length 70", "--query ''", "$T/w");
    char said[400];
    ck_assert_int_eq(run(said, "$T/x $T/w --text a"), 2 << 8);
    ck_assert_msg(strstr(said, "--query: found no question, expected one"), "said %s", said);
    RUN("cp -r %s $T/judge && rm -r $T/judge/modules.json $T/judge/1_LogitScore", fixture);
    RUN("crescent emit $T/judge --embed-text --isa plain -o $T/x.c && ! grep -q _asked $T/x.c");
    RUN("echo '{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"yes\":1,\"no\":2,\"the\":3,\"a\":4,\"of\":5}},"
        "\"pre_tokenizer\":{\"type\":\"Whitespace\"}}' >$T/judge/tokenizer.json");
    check_scores("gcc -O0", "$T/judge", "rank", "", "--query 'What is it?'", weights);
    RUN("crescent emit $T/judge --embed-text --isa plain --pooling mean -o $T/x.c && ! grep -q _asked $T/x.c");
}
END_TEST

/* An emitted table of token vectors in a subfolder adds no special tokens to a text; a text without
 * tokens has the vector 0. */
START_TEST(makes_the_vectors_of_a_table)
{
    RUN("mkdir -p $T/table/0_StaticEmbedding && cp tests/tokenizers/%s $T/table/0_StaticEmbedding/tokenizer.json",
        tokenizers[0]);
    RUN("echo '[{\"path\":\"0_StaticEmbedding\",\"type\":\"sentence_transformers.models.StaticEmbedding\"},"
        "{\"path\":\"1_Normalize\",\"type\":\"sentence_transformers.models.Normalize\"}]' >$T/table/modules.json");
    RUN("echo 'return {x = param(\"embedding.weight\", {700, 24}, {normal = 1})}' >$T/draw.lua");
    draw_weights("draw.lua", "table/0_StaticEmbedding/model.safetensors");
    check_alike(ANY, "$T/table", "", "", "$T/table/0_StaticEmbedding/model.safetensors");
    RUN("head -n 1 $T/found | grep -q '^.0, 0'");
    check_alike(ANY, "$T/table", "--pack $T/w", "--max-length 3", "$T/w");
}
END_TEST

/* A C program calls name_classify with a pair of texts, and with null pointers. */
START_TEST(classifies_from_c)
{
    make_classifier("one", "\"0\":\"relevance\"", "");
    RUN("crescent emit $T/one --embed-text --isa plain --pack $T/w -o $T/x.c");
    RUN("printf '%%s\\n' '#include <stdio.h>' '#include <stdlib.h>' '#include \"x.h\"' 'int main(int argc, char **argv) {' "
        "'char *file = aligned_alloc(64, (BERT_PACKED_BYTES + 63) / 64 * 64), *memory = aligned_alloc(64, (BERT_EMBEDDING_BYTES + 63) / 64 * 64);' "
        "'FILE *in = fopen(argv[argc - 1], \"rb\"); size_t n = fread(file, 1, BERT_PACKED_BYTES, in); "
        "struct bert_text text = {\"a question\", \"an answer\", 10, 9};' "
        "'int32_t *work = malloc(BERT_EMBED_WORK(19) * sizeof *work); float score[BERT_LABELS];' "
        "'const void *weights = bert_packed(file, n); if (!weights) return 3;' "
        "'if (bert_classify(0, weights, &text, score, 0, work, 0) != 1 || bert_classify(0, weights, 0, score, memory, work, 0) != 1) return 4;' "
        "'if (bert_classify(0, weights, &text, score, memory, work, 0)) return 5;' "
        "'printf(\"%%.9g %%s\\n\", (double)score[0], bert_labels[0]); return 0; }' >$T/call.c");
    RUN("mkdir $T/apart && apart plain $T/x.c $T/apart && "
        "runtime_object $T/apart/x_runtime.c $T/runtime.o -fsanitize=address");
    RUN("gcc -std=c11 -O0 -fsanitize=address,undefined -fno-sanitize-recover=undefined -I$T/apart $T/call.c $T/apart/x.c "
        "$T/runtime.o -lm -o $T/call");
    RUN("ASAN_OPTIONS=detect_leaks=0 $T/call $T/w >$T/found");
    RUN("echo 'an answer' | crescent rank $T/one --query 'a question' - | sed 's/ 1$/ relevance/' >$T/expected && cmp $T/found $T/expected");
}
END_TEST

/* For a text with a word that has no token, the program prints null and a note; the other texts get
 * their vectors. */
START_TEST(continues_after_a_text_that_fails)
{
    make_bert("bert", "bert_uncased.json");
    RUN("echo '{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"b\":1}}}' >$T/bert/tokenizer.json");
    RUN("printf 'a\nzebra\nb\n' >$T/three");
    RUN("crescent embed $T/bert $T/three >$T/expected 2>$T/notes");
    RUN("grep -q 'text 2: .*zebra' $T/notes && test \"$(wc -l <$T/expected)\" = 3 && sed -n 2p $T/expected | grep -q '^.null, null'");
    RUN("{ crescent embed $T/bert --text a; sed -n 2p $T/expected; crescent embed $T/bert --text b; } >$T/alone && "
        "cmp $T/alone $T/expected");
    RUN("crescent emit $T/bert --embed-text --isa plain -o $T/x.c && " ANY " -DX_MAIN $T/x.c -lm -o $T/x");
    RUN("$T/x $T/bert/model.safetensors <$T/three >$T/found 2>$T/notes && cmp $T/found $T/expected && "
        "grep -q 'text 2: a word has no token' $T/notes");
    RUN("! $T/x $T/bert/model.safetensors --text zebra && ! crescent embed $T/bert --text zebra");
}
END_TEST

static const char *const refused[][2] = {
    {"crescent emit tests/fixtures/embed_gemma3 --embed-text -o $T/x.c",
     "found modules whose weights are in files of their own, expected --pack or --embed"},
    {"crescent emit tests/fixtures/embed_qwen3 --embed-text --generate -o $T/x.c",
     "--embed-text: expected no --generate beside it"},
    {"crescent emit tests/fixtures/embed_qwen3 --pooling cls -o $T/x.c", "--pooling: expected --embed-text beside it"},
    {"crescent emit tests/fixtures/embed_qwen3 --embed-text --ids -o $T/x.c", "--ids: expected --generate beside it"},
    {"crescent emit graphs/gpt2_block.lua --embed-text -o $T/x.c", "crescent: "},
};

START_TEST(refuses_in_one_line)
{
    char said[400];
    int status = run(said, "%s", refused[_i][0]);
    ck_assert_int_eq(status, 2 << 8);
    ck_assert_msg(strstr(said, refused[_i][1]) != NULL, "said %s", said);
    ck_assert_int_ne(run(said, "test -e $T/x.c"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("emit_embed");
    TCase *t = tcase_create("emit_embed");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    tcase_add_test(t, makes_the_vectors_of_a_table);
    tcase_add_loop_test(t, makes_the_same_vectors, 0, COUNT(tokenizers));
    tcase_add_test(t, leaves_the_prompt_out);
    tcase_add_test(t, takes_packed_and_embedded_weights);
    tcase_add_test(t, makes_the_same_scores);
    tcase_add_test(t, ranks_alike);
    tcase_add_test(t, reranks_alike);
    tcase_add_test(t, classifies_from_c);
    tcase_add_test(t, continues_after_a_text_that_fails);
    tcase_add_loop_test(t, refuses_in_one_line, 0, COUNT(refused));
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
