/*
 * test_kept_tokenizer.c - tokenizers whose tables are cached in files: the ids are the same with a
 * cached file and without, whatever happens to that file, to tokenizer.json and to the cache
 * folder.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/library/kept_tokenizer.h"
#include "gguf_writer.h"

enum { PLENTY = 1 << 30 };

static char folder[64], cache[96], path[96], config[120];

/* A BPE, a WordPiece and a Unigram tokenizer of a few tokens. */
static const char bpe[] =
    "{\"added_tokens\": [{\"id\": 9, \"content\": \"<|end|>\", \"special\": true}],"
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"decoder\": {\"type\": \"ByteLevel\"},"
    " \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3, \"abc\": 4, \"\\u0120\": 5,"
    " \"\\u0120ab\": 6, \"ca\": 7}, \"merges\": [\"a b\", \"ab c\", \"\\u0120 ab\", \"c a\"]}}";
static const char wordpiece[] =
    "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0, \"a\": 1, \"ab\": 2,"
    " \"##c\": 3, \"##ab\": 5, \"##\\ud83d\\ude00\": 7}, \"max_input_chars_per_word\": 20},"
    " \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}}";
static const char unigram[] =
    "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\", \"prepend_scheme\": \"always\"},"
    " \"decoder\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\", \"prepend_scheme\": \"always\"},"
    " \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"\\u2581\", -2.5], [\"a\", -3],"
    " [\"b\", -3.5], [\"ab\", -4], [\"\\u2581abcab\", -5.25], [\"c\", -6]]}}";

static void write_whole(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void write_json(const char *json)
{
    write_whole(path, json, strlen(json));
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_kept_tok.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    snprintf(config, sizeof config, "%s/tokenizer_config.json", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Counts the cached files; `kept` becomes the path of the last one. */
static int count_kept(char kept[400])
{
    char inner[128];
    struct dirent *entry;
    int n = 0;
    snprintf(inner, sizeof inner, "%s/crescent", cache);
    DIR *open_folder = opendir(inner);
    while (open_folder && (entry = readdir(open_folder)))
        if (*entry->d_name != '.') {
            snprintf(kept, 400, "%s/%s", inner, entry->d_name);
            n++;
        }
    if (open_folder)
        closedir(open_folder);
    return n;
}

/* ---- the output of a tokenizer ---- */

/* Appends the ids of a text, or the error, and the text that the ids decode to. */
static void print_text(struct cr_text *out, struct cr_tokenizer *t, const char *text, size_t n)
{
    struct cr_ids ids = {0};
    struct cr_error error = {""};
    struct cr_text decoded = {0};
    int status = cr_encode(t, text, n, true, &ids, &error);
    for (int i = 0; i < ids.n; i++)
        cr_put(out, " %d", ids.items[i]);
    if (status == 0)
        status = cr_decode(t, ids.items, (size_t)ids.n, CR_SPECIALS_ALL, &decoded, &error);
    cr_put(out, "\n%s\n%s\n", error.text, decoded.data ? decoded.data : "");
    free(ids.items);
    free(decoded.data);
}

/* Appends random texts made of tokens and of characters of one to four bytes. */
static void print_random_texts(struct cr_text *out, struct cr_tokenizer *t, int n)
{
    static const char *const others[] = {" ", "  ", "\n", "a", "B", "7", "#", "##", "'s", "\xc3\xa9", "e\xcc\x81",
                                         "\xe2\x96\x81", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "\xef\xbf\xbd", "\x01"};
    enum { OTHERS = sizeof others / sizeof *others };
    uint32_t state = 1;
    for (int i = 0; i < n; i++) {
        struct cr_text text = {0};
        cr_put_bytes(&text, "", 0);
        for (int k = 0; k < 12; k++) {
            size_t length;
            state = state * 1664525u + 1013904223u;
            const uint32_t at = state >> 8;
            const char *token = at % 3 ? cr_token_text(t, (int32_t)(at % (uint32_t)t->n_ids), &length) : NULL;
            cr_put(&text, "%s", token ? token : others[at % OTHERS]);
        }
        print_text(out, t, text.data, text.length);
        free(text.data);
    }
}

/* Returns the output of a tokenizer: all tokens, and the ids of random texts and their decoding. */
static char *print(struct cr_tokenizer *t, int n_texts)
{
    struct cr_text out = {0};
    cr_put(&out, "%d ids\n", t->n_ids);
    for (int id = 0; id < t->n_ids; id++) {
        size_t length = 0;
        const char *text = cr_token_text(t, id, &length);
        cr_put(&out, "%d %s %zu %d\n", id, text ? text : "none", length, text ? cr_token_id(t, text, length) : -1);
    }
    print_text(&out, t, "", 0);
    print_text(&out, t, "abcab ab ca<|end|> ab\0c", 23);
    print_random_texts(&out, t, n_texts);
    return out.data;
}

/* Opens a tokenizer and returns its output; sets whether its tables were mapped from a cached
 * file. */
static char *output_of(const char *name, int64_t most, bool *is_mapped, int n_texts)
{
    struct cr_kept_image image;
    struct cr_error error;
    struct cr_tokenizer *t = cr_open_kept_tokenizer(name, most, 0, &image, &error);
    ck_assert_msg(t != NULL, "%s", error.text);
    char *answers = print(t, n_texts);
    *is_mapped = image.mapping != NULL;
    cr_tokenizer_free(t);
    cr_free_kept_image(&image);
    return answers;
}

/* Asserts a tokenizer's output, and whether its tables are mapped from a cached file. */
static void expect(const char *answers, int64_t most, bool is_mapped)
{
    bool was_mapped;
    char *found = output_of(path, most, &was_mapped, 20);
    ck_assert_str_eq(found, answers);
    ck_assert(was_mapped == is_mapped);
    free(found);
}

/* Returns the tokenizer's output without a cache. */
static char *output_without_cache(void)
{
    bool is_mapped;
    return output_of(path, 0, &is_mapped, 20);
}

/* ---- the same ids ---- */

static const char *const models[] = {bpe, wordpiece, unigram};
enum { N_MODELS = sizeof models / sizeof *models };

/* All tokenizers of the fixtures give the same output from cached tables. */
START_TEST(fixtures_are_cached)
{
    char name[400], kept[400];
    struct dirent *entry;
    int n = 0;
    bool is_mapped;
    DIR *open_folder = opendir("tests/tokenizers");
    ck_assert_ptr_nonnull(open_folder);
    while ((entry = readdir(open_folder))) {
        const char *end = strchr(entry->d_name, '.');
        if (strcmp(end, ".json") != 0 || strcmp(entry->d_name, "patterns.json") == 0 ||
            strcmp(entry->d_name, "pairs.json") == 0)
            continue;
        snprintf(name, sizeof name, "tests/tokenizers/%s", entry->d_name);
        char *plain = output_of(name, 0, &is_mapped, 300);
        ck_assert(!is_mapped);
        for (int i = 0; i < 2; i++) {
            char *found = output_of(name, PLENTY, &is_mapped, 300);
            ck_assert_msg(strcmp(found, plain) == 0, "%s", name);
            ck_assert(is_mapped == (i > 0));
            free(found);
        }
        free(plain);
        n++;
    }
    closedir(open_folder);
    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(count_kept(kept), n);
}
END_TEST

/* Writes a GGUF file with a tokenizer of a type. */
static void make_gguf(const char *name, const char *model)
{
    static const char *const tokens[] = {"<unk>", "</s>", "<x>", "\xe2\x96\x81", "a", "b", "ab", "\xe2\x96\x81" "a",
                                         "c", "ca", "\xc4\xa0", "\xc4\xa0" "a"};
    static const char *const merges[] = {"a b", "c a", "\xc4\xa0 a"};
    static const int32_t types[] = {2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float scores[] = {0, 0, 0, -2, -3, -3, -1, -4, -3, -2.5F, -9, -9};
    enum { N = sizeof tokens / sizeof *tokens };
    struct gguf g = {.n_values = 0};
    put_text(&g, "tokenizer.ggml.model", model);
    put_texts(&g, "tokenizer.ggml.tokens", tokens, N);
    put_array(&g, "tokenizer.ggml.token_type", GGUF_I32, N);
    put(&g.values, types, sizeof types);
    put_array(&g, "tokenizer.ggml.scores", GGUF_F32, N);
    put(&g.values, scores, sizeof scores);
    put_texts(&g, "tokenizer.ggml.merges", merges, 3);
    put_integer(&g, "tokenizer.ggml.bos_token_id", 1);
    put_integer(&g, "tokenizer.ggml.eos_token_id", 1);
    put_integer(&g, "tokenizer.ggml.cls_token_id", 1);
    put_integer(&g, "tokenizer.ggml.seperator_token_id", 1);
    put_integer(&g, "tokenizer.ggml.unknown_token_id", 0);
    write_gguf(name, &g);
}

/* Tokenizers of GGUF files give the same output from cached tables. */
START_TEST(gguf_tokenizers_are_cached)
{
    static const char *const kinds[] = {"gpt2", "llama", "bert", "t5"};
    char name[96], kept[400];
    bool is_mapped;
    snprintf(name, sizeof name, "%s/t.gguf", folder);
    make_gguf(name, kinds[_i]);
    char *plain = output_of(name, 0, &is_mapped, 50);
    for (int i = 0; i < 2; i++) {
        char *found = output_of(name, PLENTY, &is_mapped, 50);
        ck_assert_str_eq(found, plain);
        ck_assert(is_mapped == (i > 0));
        free(found);
    }
    ck_assert_int_eq(count_kept(kept), 1);
    free(plain);
}
END_TEST

/* Tokens that tokenizer_config.json adds are not cached: a changed file takes effect. */
START_TEST(added_tokens)
{
    static const char two[] = "{\"added_tokens_decoder\": {\"10\": {\"content\": \"<two>\"}}}";
    bool is_mapped;
    write_json(bpe);
    char *one = output_of(folder, PLENTY, &is_mapped, 20);
    write_whole(config, two, strlen(two));
    char *kept = output_of(folder, PLENTY, &is_mapped, 20);
    ck_assert(is_mapped);
    char *plain = output_of(folder, 0, &is_mapped, 20);
    ck_assert_str_eq(kept, plain);
    ck_assert_str_ne(kept, one);
    free(one);
    free(kept);
    free(plain);
}
END_TEST

/* ---- other files ---- */

/* A tokenizer.json with other contents is read although its size and time are those of the cached
 * one. */
START_TEST(a_changed_file_is_read)
{
    struct stat before;
    char other[sizeof bpe], kept[400];
    write_json(bpe);
    char *first = output_without_cache();
    expect(first, PLENTY, false);
    expect(first, PLENTY, true);
    ck_assert_int_eq(stat(path, &before), 0);
    strcpy(other, bpe);
    char *at = strstr(other, "\"ca\": 7");
    memcpy(at, "\"cb\": 7", 7);
    at = strstr(other, "\"c a\"");
    memcpy(at, "\"c b\"", 5);
    write_json(other);
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    char *second = output_without_cache();
    ck_assert_str_ne(first, second);
    expect(second, PLENTY, false);
    expect(second, PLENTY, true);
    ck_assert_int_eq(count_kept(kept), 2);
    free(first);
    free(second);
}
END_TEST

/* Reads a whole file. */
static unsigned char *read_bytes(const char *name, size_t *n)
{
    struct stat status;
    ck_assert_int_eq(stat(name, &status), 0);
    *n = (size_t)status.st_size;
    unsigned char *bytes = malloc(*n);
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* A cached file with any one byte changed, or cut off anywhere, is not used. */
START_TEST(a_damaged_file_is_ignored)
{
    enum { FEW = 1, PAGE = 4096 }; /* nothing is written */
    char kept[400];
    size_t n;
    write_json(models[_i]);
    char *answers = output_without_cache();
    expect(answers, PLENTY, false);
    ck_assert_int_eq(count_kept(kept), 1);
    unsigned char *bytes = read_bytes(kept, &n);
    const size_t key = strlen((const char *)bytes), step = n > 3 * PAGE ? 61 : 1;
    for (size_t i = 0; i < n; i += i == key ? PAGE - key : i > 2 * PAGE ? step : 1) {
        bytes[i] ^= (unsigned char)(1u << i % 8);
        write_whole(kept, bytes, n);
        expect(answers, FEW, false);
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    for (size_t size = 0; size < n; size += step + 6) {
        write_whole(kept, bytes, size);
        expect(answers, FEW, false);
    }
    write_whole(kept, bytes, n);
    expect(answers, FEW, true);
    free(bytes);
    free(answers);
}
END_TEST

/* A damaged cached file is replaced. */
START_TEST(a_damaged_file_is_replaced)
{
    char kept[400];
    write_json(bpe);
    char *answers = output_without_cache();
    expect(answers, PLENTY, false);
    ck_assert_int_eq(count_kept(kept), 1);
    ck_assert_int_eq(truncate(kept, 5000), 0);
    expect(answers, PLENTY, false);
    expect(answers, PLENTY, true);
    free(answers);
}
END_TEST

/* ---- the cache folder ---- */

/* Without a limit, without a cache folder, or with one that is read-only, tokenizer.json is read as
 * usual. */
START_TEST(works_without_a_cache)
{
    static const char *const caches[] = {"relative", "/dev/null/below", "/proc"};
    char kept[400];
    write_json(bpe);
    char *answers = output_without_cache();
    ck_assert_int_eq(count_kept(kept), 0);
    for (int i = 0; i < 3; i++) {
        setenv("XDG_CACHE_HOME", caches[i], 1);
        setenv("HOME", caches[i], 1);
        expect(answers, PLENTY, false);
        expect(answers, PLENTY, false);
    }
    setenv("XDG_CACHE_HOME", cache, 1);
    expect(answers, PLENTY, false);
    expect(answers, 0, false);
    expect(answers, PLENTY, true);
    free(answers);
}
END_TEST

/* All cached files together take at most the limit: the least recently used one is removed. */
START_TEST(the_cache_has_a_limit)
{
    char first[400], second[400];
    struct stat status;
    write_json(bpe);
    char *answers = output_without_cache();
    expect(answers, PLENTY, false);
    ck_assert_int_eq(count_kept(first), 1);
    ck_assert_int_eq(stat(first, &status), 0);
    free(answers);
    write_json(wordpiece);
    answers = output_without_cache();
    expect(answers, status.st_size + 100, false);
    ck_assert_int_eq(count_kept(second), 1);
    ck_assert_str_ne(first, second);
    expect(answers, 100, true);
    free(answers);
}
END_TEST

/* Several processes open a tokenizer at the same time, while its cached file is removed and written
 * again. */
START_TEST(several_processes_share_a_file)
{
    enum { PROCESSES = 4, TIMES = 40 };
    write_json(unigram);
    char *answers = output_without_cache(), kept[400];
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            int wrong = 0;
            for (int k = 0; k < TIMES; k++) {
                bool is_mapped;
                char *found = output_of(path, PLENTY, &is_mapped, 20);
                wrong += strcmp(found, answers) != 0;
                free(found);
                if (k % PROCESSES == i && count_kept(kept))
                    unlink(kept);
            }
            _exit(wrong != 0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    free(answers);
}
END_TEST

/* ---- by the library ---- */

/* Writes a BPE with that many tokens, which are numbers. */
static void write_numbers(int n)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"0\", \"vocab\": {", file);
    for (int i = 0; i < n; i++)
        fprintf(file, "%s\"%d\": %d", i ? ", " : "", i, i);
    fputs("}}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}}", file);
    fclose(file);
}

/* A large tokenizer.json is cached if the context has a limit; a small one never is. */
START_TEST(only_large_files_are_cached)
{
    static const struct {
        int tokens, n_kept;
        int64_t most;
    } cases[] = {{100, 0, PLENTY}, {30000, 0, 0}, {30000, 1, PLENTY}, {30000, 1, PLENTY}};
    for (int i = 0; i < 4; i++) {
        crescent_context *own = crescent_context_new();
        crescent_tokenizer *tokenizer;
        char kept[400];
        int32_t *ids;
        size_t n;
        if (i < 2)
            write_numbers(cases[i].tokens);
        ck_assert_int_eq(crescent_cache_weights(own, cases[i].most), CRESCENT_OK);
        ck_assert_int_eq(crescent_tokenizer_open(own, folder, &tokenizer), CRESCENT_OK);
        ck_assert_int_eq(crescent_encode(tokenizer, "7 99 x", 6, CRESCENT_PLAIN, &ids, &n), CRESCENT_OK);
        ck_assert(n == 3 && ids[0] == 7 && ids[1] == 99 && ids[2] == 0);
        ck_assert_int_eq(count_kept(kept), cases[i].n_kept);
        crescent_free(ids);
        crescent_tokenizer_close(tokenizer);
        crescent_context_free(own);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept tokenizers");
    TCase *tests = tcase_create("kept tokenizers");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, fixtures_are_cached);
    tcase_add_loop_test(tests, gguf_tokenizers_are_cached, 0, 4);
    tcase_add_test(tests, added_tokens);
    tcase_add_test(tests, a_changed_file_is_read);
    tcase_add_loop_test(tests, a_damaged_file_is_ignored, 0, N_MODELS);
    tcase_add_test(tests, a_damaged_file_is_replaced);
    tcase_add_test(tests, works_without_a_cache);
    tcase_add_test(tests, the_cache_has_a_limit);
    tcase_add_test(tests, several_processes_share_a_file);
    tcase_add_test(tests, only_large_files_are_cached);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
