/*
 * test_tokenizer.c - tokenizers: compared with the tokenizers library on the files of
 * tests/tokenizers/, and on small files written here, some of them broken.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/tokenizer/tokenizer.h"

static crescent_context *context;

static void set_up(void)
{
    context = crescent_context_new();
}

static void tear_down(void)
{
    crescent_context_free(context);
}

/* ---- help ---- */

static crescent_tokenizer *open_at(const char *path)
{
    crescent_tokenizer *tokenizer;
    int status = crescent_tokenizer_open(context, path, &tokenizer);
    ck_assert_msg(status == CRESCENT_OK, "%s", crescent_error(context));
    return tokenizer;
}

/* Writes a file in a new folder; remove_file removes both. */
static const char *write_file(const char *name, const char *text, size_t length)
{
    static char path[200];
    char folder[] = "/tmp/test_tokenizer.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    fclose(file);
    return path;
}

static void remove_file(const char *path)
{
    char folder[200];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    remove(path);
    rmdir(folder);
}

static crescent_tokenizer *open_text(const char *json)
{
    const char *path = write_file("tokenizer.json", json, strlen(json));
    crescent_tokenizer *tokenizer = open_at(path);
    remove_file(path);
    return tokenizer;
}

/* Returns the error for `json` as a tokenizer. */
static const char *refusal(const char *json, size_t length)
{
    crescent_tokenizer *tokenizer;
    const char *path = write_file("tokenizer.json", json, length);
    int status = crescent_tokenizer_open(context, path, &tokenizer);
    ck_assert_msg(status == CRESCENT_FAILED, "was read: %s", json);
    ck_assert_ptr_null(tokenizer);
    const char *error = crescent_error(context);
    ck_assert_msg(strncmp(error, path, strlen(path)) == 0, "no path in '%s'", error);
    ck_assert_ptr_null(strchr(error, '\n'));
    const char *rest = error + strlen(path);
    remove_file(path);
    return rest;
}

/* Returns ids as text, such as "1 2 3"; the caller frees it. */
static char *join(const int32_t *ids, size_t n)
{
    char *text = calloc(n + 1, 12), *at = text;
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, i ? " %d" : "%d", ids[i]);
    return text;
}

static void expect_ids(crescent_tokenizer *tokenizer, const char *text, const char *expected)
{
    int32_t *ids;
    size_t n;
    ck_assert_int_eq(crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, &n),
                     CRESCENT_OK);
    char *found = join(ids, n);
    ck_assert_msg(strcmp(found, expected) == 0, "'%s' is %s, expected %s", text, found, expected);
    free(found);
    crescent_free(ids);
}

static void expect_text(crescent_tokenizer *tokenizer, const int32_t *ids, size_t n,
                        crescent_specials specials, const char *expected)
{
    char *text;
    size_t length;
    ck_assert_int_eq(crescent_decode(tokenizer, ids, n, specials, &text, &length), CRESCENT_OK);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(length, strlen(expected));
    crescent_free(text);
}

/* ---- against the tokenizers library ---- */

static const struct fixture {
    const char *name;
    int gives_back; /* decoding the ids gives the text again */
} fixtures[] = {
    {"gpt2", 1},     {"llama3", 1},      {"gpt4o", 1},     {"qwen2", 0},
    {"prefixed", 0}, {"added", 0},       {"spm_first", 0}, {"spm_always", 0},
    {"gemma", 0},    {"spm_prepend", 0}, {"parts", 0},     {"words", 0},
    {"bert_uncased", 0}, {"bert_cased", 0}, {"unigram_map", 0}, {"unigram_bytes", 0},
    {"scripts", 0},  {"spaces", 0},  {"word_level", 0},  {"clip", 0},      {"affixes", 0}, {"fronts", 0},
    {"leads", 0},
};
enum { N_FIXTURES = sizeof fixtures / sizeof *fixtures };

/* Checks a case in both directions: the ids of its text, and the text that the ids decode to. */
static void check_case(crescent_tokenizer *tokenizer, const char *name, const json_t *item,
                       int gives_back)
{
    const json_t *text = json_array_get(item, 0), *list = json_array_get(item, 1);
    const json_t *shown = json_array_size(item) > 2 ? json_array_get(item, 2) : text;
    const char *string = json_string_value(text);
    size_t length = json_string_length(text), n, expected = json_array_size(list), decoded;
    int32_t *ids;
    char *back;
    ck_assert_int_eq(crescent_encode(tokenizer, string, length, CRESCENT_FRAMED, &ids, &n),
                     CRESCENT_OK);
    ck_assert_msg(n == expected, "%s: '%s' has %zu ids, expected %zu", name, string, n, expected);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(ids[i] == json_integer_value(json_array_get(list, i)),
                      "%s: '%s': id %zu is %d, expected %d", name, string, i, ids[i],
                      (int)json_integer_value(json_array_get(list, i)));
    crescent_decode(tokenizer, ids, n, CRESCENT_SPECIALS_ALL, &back, &decoded);
    ck_assert_msg(decoded == json_string_length(shown) &&
                      memcmp(back, json_string_value(shown), decoded) == 0,
                  "%s: '%s' is decoded as '%s', expected '%s'", name, string, back,
                  json_string_value(shown));
    crescent_free(back);
    crescent_decode(tokenizer, ids, n, CRESCENT_SPECIALS_WITHIN, &back, &decoded);
    ck_assert_msg(!gives_back || (decoded == length && memcmp(back, string, length) == 0),
                  "%s: '%s' comes back as '%s'", name, string, back);
    crescent_free(back);
    crescent_free(ids);
}

START_TEST(agrees_with_the_library)
{
    char path[200];
    const struct fixture *f = &fixtures[_i];
    snprintf(path, sizeof path, "tests/tokenizers/%s.json", f->name);
    crescent_tokenizer *tokenizer = open_at(path);
    snprintf(path, sizeof path, "tests/tokenizers/%s.cases.json", f->name);
    json_error_t why;
    json_t *cases = json_load_file(path, JSON_ALLOW_NUL, &why);
    ck_assert_msg(cases, "%s: %s", path, why.text);
    ck_assert_uint_gt(json_array_size(cases), 100);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(tokenizer, f->name, json_array_get(cases, i), f->gives_back);
    json_decref(cases);
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Checks pairs and texts that are cut against the library.  Its file sets the greatest number of
 * ids; here the call does. */
static void check_pair(const json_t *item, const char *strategy, const char *direction)
{
    char path[200], *json;
    const json_t *second = json_array_get(item, 2), *ids = json_array_get(item, 6), *types = json_array_get(item, 7);
    json_error_t why;
    snprintf(path, sizeof path, "tests/tokenizers/%s.json", json_string_value(json_array_get(item, 0)));
    json_t *file = json_load_file(path, JSON_ALLOW_NUL, &why);
    json_object_set_new(file, "truncation",
                        json_pack("{s:i,s:s,s:s,s:i}", "max_length", 7, "strategy", strategy, "direction", direction,
                                  "stride", 0));
    json = json_dumps(file, 0);
    crescent_tokenizer *tokenizer = open_text(json);
    ck_assert_int_eq(crescent_tokenizer_limit(tokenizer), 7);
    const crescent_text text = {.text = json_string_value(json_array_get(item, 1)),
                                .length = json_string_length(json_array_get(item, 1)),
                                .pair = json_string_value(second),
                                .pair_length = json_string_length(second),
                                .framing = CRESCENT_FRAMED,
                                .most = json_integer_value(json_array_get(item, 3))};
    crescent_encoding encoding;
    ck_assert_msg(crescent_encode_text(tokenizer, &text, &encoding) == CRESCENT_OK, "%s", crescent_error(context));
    ck_assert_uint_eq(encoding.n, json_array_size(ids));
    for (size_t i = 0; i < encoding.n; i++) {
        ck_assert_int_eq(encoding.ids[i], json_integer_value(json_array_get(ids, i)));
        ck_assert_int_eq(encoding.types[i], json_integer_value(json_array_get(types, i)));
    }
    crescent_free(encoding.ids);
    crescent_tokenizer_close(tokenizer);
    json_decref(file);
    free(json);
}

START_TEST(lays_pairs_as_the_library)
{
    static const char *const names[][2] = {
        {"longest_first", "LongestFirst"}, {"only_first", "OnlyFirst"}, {"only_second", "OnlySecond"}};
    json_error_t why;
    json_t *cases = json_load_file("tests/tokenizers/pairs.json", JSON_ALLOW_NUL, &why);
    ck_assert_msg(cases, "%s", why.text);
    ck_assert_uint_gt(json_array_size(cases), 400);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(names[k][0], json_string_value(json_array_get(item, 4))) == 0)
                check_pair(item, names[k][1],
                           strcmp(json_string_value(json_array_get(item, 5)), "left") == 0 ? "Left" : "Right");
    }
    json_decref(cases);
}
END_TEST

/* Text that cannot be encoded is refused with one line, and truncation is reported. */
START_TEST(reports_truncation)
{
    crescent_tokenizer *tokenizer = open_at("tests/tokenizers/bert_uncased.json");
    crescent_text text = {.text = "one two", .length = 7, .framing = CRESCENT_FRAMED, .most = 3};
    crescent_encoding encoding;
    ck_assert_int_eq(crescent_tokenizer_limit(tokenizer), 24);
    ck_assert_int_eq(crescent_encode_text(tokenizer, &text, &encoding), CRESCENT_OK);
    ck_assert_uint_eq(encoding.n, 3);
    ck_assert_int_eq(encoding.truncated, 1);
    crescent_free(encoding.ids);
    text.most = 100;
    ck_assert_int_eq(crescent_encode_text(tokenizer, &text, &encoding), CRESCENT_OK);
    ck_assert_int_eq(encoding.truncated, 0);
    crescent_free(encoding.ids);
    text.most = 1;
    ck_assert_int_eq(crescent_encode_text(tokenizer, &text, &encoding), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(context),
                     "found a limit of 1 tokens, expected at least the 2 that are put around the text");
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Vocabularies without a token for a text, and without an unknown token. */
static const char *const lacking[][2] = {
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}",
     "the text has a word without a token, and the vocabulary has no token '[UNK]' for those, expected one"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     "the text has 'ab', which is no token, and the vocabulary has no token <unk> for those, expected one"},
    {"{\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"vocab\":{\"a\":0},\"merges\":[]}}",
     "the text has a character without a token, and the vocabulary has no token '?' for those, expected one"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1.5]]}}",
     "the text has 'b', which no tokens make up, and the vocabulary has no unknown token, expected one"},
};

START_TEST(refuses_texts_without_tokens)
{
    crescent_tokenizer *tokenizer = open_text(lacking[_i][0]);
    int32_t *ids;
    size_t n;
    expect_ids(tokenizer, "a", "0");
    ck_assert_int_eq(crescent_encode(tokenizer, "ab", 2, CRESCENT_FRAMED, &ids, &n), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(context), lacking[_i][1]);
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Decoding token by token gives the same text; only the last piece may have an incomplete character. */
static void check_stream(crescent_tokenizer *tokenizer, const int32_t *ids, size_t n)
{
    crescent_text_stream *stream;
    char *whole, *streamed = calloc(64, n + 1);
    const char *text;
    size_t length, all = 0, expected, at;
    crescent_decode(tokenizer, ids, n, CRESCENT_SPECIALS_ALL, &whole, &expected);
    ck_assert_int_eq(crescent_text_stream_open(tokenizer, CRESCENT_SPECIALS_ALL, &stream),
                     CRESCENT_OK);
    for (size_t i = 0; i <= n; i++) {
        if (i < n)
            crescent_text_stream_add(stream, ids[i], &text, &length);
        else
            crescent_text_stream_end(stream, &text, &length);
        ck_assert_msg(cr_is_utf8(text, length, &at), "token %d gives part of a character", ids[i]);
        memcpy(streamed + all, text, length);
        all += length;
    }
    ck_assert_uint_eq(all, expected);
    ck_assert_mem_eq(streamed, whole, all);
    crescent_text_stream_close(stream);
    crescent_free(whole);
    free(streamed);
}

START_TEST(streams_what_it_decodes)
{
    char path[200];
    static const char text[] = "  Führer 🦙 👨‍👩‍👧 don't\r\n\n <s> 漢字 the end  ";
    snprintf(path, sizeof path, "tests/tokenizers/%s.json", fixtures[_i].name);
    crescent_tokenizer *tokenizer = open_at(path);
    int32_t *ids;
    size_t n;
    ck_assert_int_eq(crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, &n),
                     CRESCENT_OK);
    check_stream(tokenizer, ids, n);
    crescent_free(ids);
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* A stream holds a reference to its tokenizer. */
START_TEST(closes_in_any_order)
{
    crescent_tokenizer *tokenizer = open_at("tests/tokenizers/gpt2.json");
    crescent_text_stream *stream;
    const char *text;
    size_t length;
    crescent_text_stream_open(tokenizer, CRESCENT_SPECIALS_ALL, &stream);
    crescent_tokenizer_close(tokenizer);
    ck_assert_int_eq(crescent_text_stream_add(stream, 1, &text, &length), CRESCENT_OK);
    ck_assert_uint_eq(length, 1);
    crescent_text_stream_close(stream);
}
END_TEST

/* ---- patterns ---- */

/* Checks that the pieces of a text end where the library ends them. */
static void check_ends(const struct cr_pattern *pattern, const char *name, const json_t *item)
{
    const json_t *text = json_array_get(item, 0), *ends = json_array_get(item, 1);
    struct cr_pieces pieces = {0};
    struct cr_error error;
    size_t at = 0;
    ck_assert_int_eq(cr_cut(&pieces, pattern, CR_ISOLATED, false, json_string_value(text),
                            json_string_length(text), true, &error),
                     0);
    ck_assert_msg((size_t)pieces.n == json_array_size(ends), "%s: '%s': %d pieces, expected %zu", name,
                  json_string_value(text), pieces.n, json_array_size(ends));
    for (int i = 0; i < pieces.n; i++) {
        at += pieces.items[i].length;
        ck_assert_msg((json_int_t)at == json_integer_value(json_array_get(ends, (size_t)i)),
                      "%s: '%s': piece %d ends at %zu", name, json_string_value(text), i, at);
    }
    cr_free_pieces(&pieces);
}

/* Checks a pattern: if the library refuses it, it is refused with one line; otherwise texts are
 * split in the same way. */
static void check_pattern(const json_t *item)
{
    const char *name = json_string_value(json_array_get(item, 0));
    struct cr_error error = {""};
    struct cr_pattern *pattern = cr_pattern_regex(name, strlen(name), "here", &error);
    if (json_array_size(item) == 1) {
        ck_assert_msg(!pattern, "%s was taken", name);
        ck_assert_msg(strncmp(error.text, "here: found ", 12) == 0 && strstr(error.text, ", expected "),
                      "%s: %s", name, error.text);
        return;
    }
    ck_assert_msg(pattern, "%s: %s", name, error.text);
    for (size_t i = 1; i < json_array_size(item); i++)
        check_ends(pattern, name, json_array_get(item, i));
    cr_pattern_free(pattern);
}

START_TEST(cuts_by_patterns_of_oniguruma)
{
    json_error_t why;
    json_t *patterns = json_load_file("tests/tokenizers/patterns.json", JSON_ALLOW_NUL, &why);
    ck_assert_msg(patterns, "%s", why.text);
    ck_assert_uint_gt(json_array_size(patterns), 90);
    for (size_t i = 0; i < json_array_size(patterns); i++)
        check_pattern(json_array_get(patterns, i));
    json_decref(patterns);
}
END_TEST

/* Patterns with syntax of Oniguruma that PCRE2 lacks are refused. */
START_TEST(refuses_patterns_by_what_is_in_them)
{
    static const char *const cases[][2] = {
        {"(?~ab)", "found the group (?'~ab)' in a pattern, expected one that is understood, or the options"},
        {"(?i:[\\p{L}])", "found a class beyond ASCII in a pattern where (?i) is on, expected none"},
        {"(?i:ss)", "found letters whose other case has another count of letters in a pattern, expected none"},
        {"(?i:\xc3\x9f)", "found letters whose other case has another count of letters in a pattern"},
        {"\\X", "found \\X in a pattern, expected a pattern without it"},
        {"(?<n>a)\\k<n>", "found \\k in a pattern, expected a pattern without it"},
        {"(?<n>a)(b)\\1", "found groups with names beside \\1 in a pattern, expected no names"},
        {"(*FAIL)", "found (* in a pattern, expected a pattern without it"},
        {"a{100001}", "found a count of repetitions in a pattern, expected one of at most 100000"},
        {"\\cA", "found \\c in a pattern, expected another way to write the character"},
        {"\\xe6\\xbc", "found \\x in a pattern, expected the bytes of a character in UTF-8"},
        {"(?<=a+)b", "found a pattern that is not a regular expression (lookbehind assertion"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cr_error error = {""};
        ck_assert_ptr_null(cr_pattern_regex(cases[i][0], strlen(cases[i][0]), "here", &error));
        ck_assert_msg(strncmp(error.text, "here: ", 6) == 0 && strstr(error.text, cases[i][1]) == error.text + 6,
                      "%s: %s", cases[i][0], error.text);
    }
}
END_TEST

/* Groups and classes nested too deeply, and a pattern that is too long, are refused. */
START_TEST(refuses_patterns_without_end)
{
    static const char *const units[] = {"(", "[", "a|(?:", "(?i)", "(?=", "(?#", "a{1}", "[a&&", "\\"};
    enum { LONGEST = (1 << 16) + 2 };
    char *text = calloc(LONGEST + 16, 1);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = 0, unit = strlen(units[i]);
        for (; n < LONGEST - 8; n += unit)
            memcpy(text + n, units[i], unit);
        for (size_t cut = n; cut > 1000; cut /= 7) {
            struct cr_error error = {""};
            struct cr_pattern *pattern = cr_pattern_regex(text, cut, "here", &error);
            ck_assert_msg(!pattern == !!*error.text, "%s: %s", units[i], error.text);
            cr_pattern_free(pattern);
        }
        struct cr_error error = {""};
        memset(text, 'a', LONGEST);
        ck_assert_ptr_null(cr_pattern_regex(text, LONGEST, "here", &error));
        ck_assert_str_eq(error.text, "here: found a pattern of 65538 bytes, expected at most 65536");
    }
    free(text);
}
END_TEST

/* A pattern whose number of steps doubles with each byte of a text fails with an error, wherever
 * the pattern stands. */
START_TEST(bounds_the_steps_of_a_pattern)
{
    static const char *const patterns[] = {"(a+)+$", "(?:a|aa)+$", "(?:a?){60}a{60}[bc]", "(?:(.+)+)+[!b]"};
    char text[200];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '?';
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct cr_error error = {""};
        struct cr_match match;
        struct cr_pattern *pattern = cr_pattern_regex(patterns[i], strlen(patterns[i]), "here", &error);
        ck_assert_msg(pattern != NULL, "%s", error.text);
        ck_assert_int_eq(cr_pattern_find(pattern, text, sizeof text, 0, &match, &error), -1);
        ck_assert_str_eq(error.text, "the pattern of the tokenizer fails at byte 0 of the text: "
                                     "match limit exceeded");
        cr_pattern_free(pattern);
    }
}
END_TEST

/* ---- small tokenizers ---- */

#define MODEL(more, vocabulary, merges)                                                            \
    "\"model\":{\"type\":\"BPE\"," more "\"vocab\":{" vocabulary "},\"merges\":[" merges "]}"
#define ABC "\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"bc\":5"

START_TEST(merges_by_rank)
{
    crescent_tokenizer *t =
        open_text("{" MODEL("", ABC, "\"b c\",[\"a\",\"b\"],[\"ab\",\"c\"]") "}");
    expect_ids(t, "abc", "0 5");
    expect_ids(t, "ab", "3");
    expect_ids(t, "cabab", "2 3 3");
    expect_ids(t, "", "");
    expect_ids(t, "axb", "3"); /* without an unknown token, unknown words are dropped */
    ck_assert_int_eq(crescent_tokenizer_size(t), 6);
    ck_assert_int_eq(crescent_token_id(t, "bc"), 5);
    ck_assert_int_eq(crescent_token_id(t, "x"), CRESCENT_NONE);
    ck_assert_str_eq(crescent_token_text(t, 4), "abc");
    ck_assert_ptr_null(crescent_token_text(t, 6));
    ck_assert_ptr_null(crescent_token_text(t, -1));
    expect_text(t, (const int32_t[]){0, 5, 99, -7}, 4, CRESCENT_SPECIALS_ALL, "a bc");
    crescent_tokenizer_close(t);
}
END_TEST

/* A letter has four tokens, for its place in a piece: at the beginning or later, at the end or
 * before. */
START_TEST(has_tokens_for_places_in_a_word)
{
    crescent_tokenizer *t = open_text(
        "{\"decoder\":{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}," MODEL(
            "\"continuing_subword_prefix\":\"##\",\"end_of_word_suffix\":\"</w>\",\"unk_token\":\"?\",",
            "\"a\":0,\"##a\":1,\"a</w>\":2,\"##a</w>\":3,\"aa</w>\":4,\"##aa</w>\":5,\"?\":6",
            "\"##a ##a</w>\",[\"a\",\"##a</w>\"]") "}");
    expect_ids(t, "a", "2");
    expect_ids(t, "aa", "4");
    expect_ids(t, "aaa", "0 5");
    expect_ids(t, "aaaa", "0 1 5");
    expect_ids(t, "ab", "0 6");
    expect_ids(t, "ba", "6 3");
    expect_text(t, (const int32_t[]){2, 0, 5, 4}, 4, CRESCENT_SPECIALS_ALL, "a a##aa aa");
    expect_text(t, (const int32_t[]){4, 0}, 2, CRESCENT_SPECIALS_ALL, "aa a");
    expect_text(t, NULL, 0, CRESCENT_SPECIALS_ALL, "");
    crescent_tokenizer_close(t);
}
END_TEST

/* Decoders after ByteFallback see bytes that are UTF-8 together as one token, and other bytes one by one. */
START_TEST(joins_bytes_for_later_decoders)
{
    crescent_tokenizer *t = open_text(
        "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},"
        "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false}]}," MODEL(
            "", "\"a\":0,\"<0xC3>\":1,\"<0xA9>\":2,\"<0x23>\":3,\"<0x62>\":4", "") "}");
    expect_text(t, (const int32_t[]){0, 1, 2, 0}, 4, CRESCENT_SPECIALS_ALL, "a \303\251 a");
    expect_text(t, (const int32_t[]){0, 3, 3, 4}, 4, CRESCENT_SPECIALS_ALL, "ab");
    expect_text(t, (const int32_t[]){1, 4, 0}, 3, CRESCENT_SPECIALS_ALL, "\303 b a");
    crescent_tokenizer_close(t);
}
END_TEST

START_TEST(cuts_by_number)
{
    crescent_tokenizer *t = open_text("{\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":2}," MODEL(
        "", ABC, "\"a b\"") "}");
    expect_ids(t, "aab", "0 0 1");
    expect_ids(t, "\303\251\303\251ab", "3");
    expect_ids(t, "\303\251abab", "0 1 0 1");
    crescent_tokenizer_close(t);
}
END_TEST

START_TEST(passes_over_the_version_of_merges)
{
    crescent_tokenizer *t = open_text("{" MODEL("", ABC, "\"#version: 0.2\",\"a b\"") "}");
    expect_ids(t, "abc", "3 2");
    crescent_tokenizer_close(t);
}
END_TEST

/* A template of pairs that lacks the second text, as tokenizers for single texts have it. */
START_TEST(leaves_out_half_a_pair)
{
    crescent_tokenizer *t = open_text(
        "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"c\"}},"
        "{\"Sequence\":{\"id\":\"A\"}}],\"pair\":[{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"c\":{\"ids\":[2]}}},"
        MODEL("", ABC, "\"a b\"") "}");
    expect_ids(t, "ab", "2 3");
    const crescent_text pair = {.text = "ab", .length = 2, .pair = "a", .pair_length = 1, .framing = CRESCENT_FRAMED};
    crescent_encoding encoding;
    ck_assert_int_ne(crescent_encode_text(t, &pair, &encoding), 0);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "the tokenizer says nothing of pairs"));
    crescent_tokenizer_close(t);
}
END_TEST

#define BYTES                                                                                      \
    "\"?\":0,\"a\":1,\"#b\":2,\"<0x23>\":3,\"<0x61>\":4,\"<0x62>\":5,\"<0x2E>\":6,\"<0xC3>\":7,"    \
    "\"<0xA9>\":8,\"c.\":9"
#define PREFIX "\"continuing_subword_prefix\":\"#\","
#define SUFFIX "\"end_of_word_suffix\":\".\","
#define FALLBACK "\"unk_token\":\"?\",\"byte_fallback\":true,"

/* Texts and their ids by the tokenizers library. */
static const struct {
    const char *tokenizer;
    struct {
        const char *text, *ids;
    } cases[9];
} affixed_bytes[] = {
    {"{" MODEL(PREFIX FALLBACK, BYTES, "") "}",
     {{"a", "1"}, {"aa", "1 3 4"}, {"ab", "1 2"}, {"bb", "5 2"}, {"a\303\251", "1 3 7 8"}, {"cc", "0 0"},
      {"ac", "1 0"}, {"z\303\251", "3 7 8 0"}, {"ca", "3 4 0"}}},
    {"{" MODEL(SUFFIX FALLBACK, BYTES, "") "}",
     {{"a", "4 6"}, {"aa", "1 4 6"}, {"ab", "1 5 6"}, {"bb", "5 5 6"}, {"a\303\251", "1 7 8 6"}, {"cc", "0 9"},
      {"ac", "1 9"}, {"z\303\251", "7 8 6 0"}, {"ca", "4 6 0"}}},
    {"{" MODEL(PREFIX SUFFIX FALLBACK, BYTES, "") "}",
     {{"a", "4 6"}, {"aa", "1 3 4 6"}, {"ab", "1 3 5 6"}, {"bb", "5 3 5 6"}, {"a\303\251", "1 3 7 8 6"}, {"cc", "0 0"},
      {"ac", "1 0"}, {"z\303\251", "3 7 8 6 0"}, {"ca", "3 4 6 0"}}},
};

/* A character without a token is encoded as bytes: its own, and those of the affixes of its place
 * in the word. */
START_TEST(falls_back_on_the_bytes_of_affixes)
{
    crescent_tokenizer *t = open_text(affixed_bytes[_i].tokenizer);
    for (size_t i = 0; i < sizeof affixed_bytes[_i].cases / sizeof *affixed_bytes[_i].cases; i++)
        expect_ids(t, affixed_bytes[_i].cases[i].text, affixed_bytes[_i].cases[i].ids);
    crescent_tokenizer_close(t);
}
END_TEST

START_TEST(finds_whole_tokens_without_merges)
{
    crescent_tokenizer *t = open_text("{" MODEL("\"ignore_merges\":true,", ABC, "\"b c\"") "}");
    expect_ids(t, "abc", "4");
    expect_ids(t, "abca", "0 5 0");
    crescent_tokenizer_close(t);
}
END_TEST

/* Finds each of many tokens of all lengths, whose ids descend with gaps, and many added tokens. */
START_TEST(finds_each_of_many)
{
    enum { MANY = 3000, LONGEST = 40, ADDED = 100 };
    char *json = malloc((MANY + ADDED) * (LONGEST + 24) + 256), token[LONGEST + 8], expected[16];
    size_t n =
        (size_t)sprintf(json, "{\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{");
    for (int i = MANY; i > 0; i--)
        n += (size_t)sprintf(json + n, "\"%0*x\" : %d%s", i % LONGEST, i, 7 * i, i > 1 ? ", " : "");
    n += (size_t)sprintf(json + n, "},\"merges\":[]},\"added_tokens\":[");
    for (int i = 0; i < ADDED; i++)
        n += (size_t)sprintf(json + n, "%s{\"id\":%d,\"content\":\"<%d>\"}", i ? "," : "",
                             30000 + i, i);
    sprintf(json + n, "]}");
    crescent_tokenizer *t = open_text(json);
    for (int i = 0; i < ADDED; i++) {
        sprintf(token, "<%d>", i);
        sprintf(expected, "%d", 30000 + i);
        expect_ids(t, token, expected);
        ck_assert_int_eq(crescent_token_id(t, token), 30000 + i);
    }
    for (int i = 1; i <= MANY; i++) {
        sprintf(token, "%0*x", i % LONGEST, i);
        sprintf(expected, "%d", 7 * i);
        expect_ids(t, token, expected);
    }
    ck_assert_ptr_null(crescent_token_text(t, 8));
    crescent_tokenizer_close(t);
    free(json);
}
END_TEST

START_TEST(encodes_unknown_words)
{
    crescent_tokenizer *t =
        open_text("{" MODEL("\"unk_token\":\"?\",\"fuse_unk\":true,", "\"a\":0,\"?\":1", "") "}");
    expect_ids(t, "xaxyz", "1 0 1");
    crescent_tokenizer_close(t);
    t = open_text("{" MODEL("\"unk_token\":\"?\",", "\"a\":0,\"?\":1", "") "}");
    expect_ids(t, "xaxyz", "1 0 1 1 1");
    crescent_tokenizer_close(t);
    t = open_text("{" MODEL("\"unk_token\":\"?\",\"byte_fallback\":true,",
                            "\"a\":0,\"?\":1,\"<0x78>\":2,\"<0xC3>\":3", "") "}");
    expect_ids(t, "xaé", "2 0 1"); /* byte tokens are used only if all 256 exist */
    crescent_tokenizer_close(t);
}
END_TEST

#define DECODER "\"decoder\":{\"type\":\"ByteLevel\"},"

/* Bytes that are not UTF-8 are decoded unchanged. */
START_TEST(decodes_bytes)
{
    crescent_tokenizer *t =
        open_text("{" DECODER MODEL("", "\"\303\242\":0,\"\304\242\":1,\"a\":2", "") "}");
    expect_text(t, (const int32_t[]){2, 0, 2, 1}, 4, CRESCENT_SPECIALS_ALL, "a\342a\200");
    crescent_text_stream *stream;
    const char *text;
    size_t length;
    crescent_text_stream_open(t, CRESCENT_SPECIALS_ALL, &stream);
    crescent_text_stream_add(stream, 0, &text, &length);
    ck_assert_uint_eq(length, 0); /* more may come */
    crescent_text_stream_add(stream, 2, &text, &length);
    ck_assert_uint_eq(length, 2);
    crescent_text_stream_add(stream, 0, &text, &length);
    ck_assert_uint_eq(length, 0);
    crescent_text_stream_end(stream, &text, &length);
    ck_assert_uint_eq(length, 1);
    ck_assert_int_eq(text[0], (char)0xe2);
    crescent_text_stream_close(stream);
    crescent_tokenizer_close(t);
}
END_TEST

#define FRAME                                                                                      \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"   \
    "\"S\"}},{\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"E\"}}],\"special_tokens\":" \
    "{\"S\":{\"ids\":[3]},\"E\":{\"ids\":[4]}}},"
#define ADDED                                                                                      \
    "\"added_tokens\":[{\"id\":3,\"content\":\"ab\",\"special\":true},{\"id\":4,\"content\":"      \
    "\"abc\",\"special\":true},{\"id\":9,\"content\":\"new\"}],"

START_TEST(adds_tokens_around)
{
    crescent_tokenizer *t = open_text("{" FRAME ADDED DECODER MODEL("", ABC, "") "}");
    int32_t *ids;
    size_t n;
    expect_ids(t, "cb", "3 2 1 4");
    expect_ids(t, "cabcb", "3 2 4 1 4");
    expect_ids(t, "newa", "3 9 0 4");
    ck_assert_int_eq(crescent_tokenizer_size(t), 10);
    ck_assert_int_eq(crescent_encode(t, "cb", 2, CRESCENT_PLAIN, &ids, &n), CRESCENT_OK);
    ck_assert_uint_eq(n, 2);
    crescent_free(ids);
    static const int32_t all[] = {3, 2, 3, 1, 4};
    expect_text(t, all, 5, CRESCENT_SPECIALS_WITHIN, "cabb");
    expect_text(t, all, 5, CRESCENT_SPECIALS_ALL, "abcabbabc");
    expect_text(t, all, 5, CRESCENT_SPECIALS_NONE, "cb");
    crescent_tokenizer_close(t);
}
END_TEST

/* If special tokens are skipped, one whose text the normalizer changes is still shown, as in
 * tokenizers 0.23. */
START_TEST(shows_special_tokens_that_normalizing_changes)
{
    static const int32_t all[] = {9, 0, 10};
    crescent_tokenizer *t = open_text(
        "{\"added_tokens\":[{\"id\":9,\"content\":\"NEW\",\"special\":true,\"normalized\":true},{\"id\":10,"
        "\"content\":\"end\",\"special\":true,\"normalized\":true}],\"normalizer\":{\"type\":\"Lowercase\"}," DECODER
        MODEL("", ABC, "") "}");
    expect_text(t, all, 3, CRESCENT_SPECIALS_ALL, "newaend");
    expect_text(t, all, 3, CRESCENT_SPECIALS_NONE, "newa");
    crescent_tokenizer_close(t);
}
END_TEST

/* ---- what is refused ---- */

#define PART(role, json) "{\"" role "\":" json "," MODEL("", ABC, "") "}"

static const struct refused {
    const char *json, *expected;
} refused[] = {
    {"", ":1: found the end of the file, expected JSON to go on"},
    {"{", ":1: found the end of the file, expected JSON to go on"},
    {"{\"model\":\n{\"type\":\"BPE\",", ":2: found the end of the file, expected JSON to go on"},
    {"{} {}", ":1: JSON: found more than one value, expected one"},
    {"[]", ": found an array, expected an object"},
    {"{}", ":1: tokenizer: found nothing for \"model\", expected an object"},
    {"{\"model\":{\"type\":\"Letters\",\"vocab\":{}}}",
     ": found the model Letters, expected BPE, WordPiece, WordLevel, Unigram"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]},\"padding\":{\"strategy\":\"Long\"}}",
     ": padding: found the strategy Long, expected BatchLongest or {\"Fixed\": N}"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]},\"padding\":{\"direction\":\"Up\"}}",
     ": padding: found the length 0, a multiple of 0, and the direction Up, expected at most 1048576, and Left or Right"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]},\"padding\":{\"pad_id\":-1}}",
     ": padding: found the pad_id -1 and the pad_type_id 0, expected ids"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"b\"]]}}",
     ": model: found an array for the token of id 1, expected [\"TOKEN\", SCORE]"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"a\",-2]]}}", ": found token 'a' twice, expected it once"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]],\"unk_id\":1}}",
     ": model: found the unk_id 1, expected one of 1 tokens"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":\"b\"}}}", ": found a string for token 'a', expected its id"},
    {PART("truncation", "{\"max_length\":8,\"strategy\":\"Never\"}"),
     ": truncation: found the strategy Never, expected LongestFirst, OnlyFirst or OnlySecond"},
    {PART("truncation", "{\"max_length\":8,\"direction\":\"Up\"}"), ": truncation: found a max_length of 8 and the direction Up, expected a length and Left or Right"},
    {PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA!\"}"),
     ": Precompiled: found a precompiled_charsmap that is no base64, expected base64"},
    {PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"CAAAAAAA\"}"),
     ": found a precompiled_charsmap of 6 bytes whose trie has 8, expected a size and a trie of whole units "
     "of 4 bytes"},
    {PART("normalizer", "{\"type\":\"BertNormalizer\",\"lowercase\":1}"), ":1: BertNormalizer: found an integer for \"lowercase\", expected true or false"},
    {"{" MODEL("", "\"a\":\"x\"", "") "}", ": found a string for token 'a', expected its id"},
    {"{" MODEL("", "\"a\":1.5", "") "}",
     ": found a number that is no integer for token 'a', expected its id"},
    {"{" MODEL("", "\"a\":-1", "") "}",
     ": found the id -1 of token 'a', expected one from 0 to 4194303"},
    {"{" MODEL("", "\"a\":9000000000000000000", "") "}",
     ": found a number that is no integer for token 'a', expected its id"},
    {"{" MODEL("", "\"a\":01", "") "}", ":1: JSON: a number that begins with 0"},
    {"{" MODEL("", "\"a\":00", "") "}", ":1: JSON: a number that begins with 0"},
    {"{" MODEL("", "\"a\":1 2", "") "}", ":1: JSON: expected ',' or '}'"},
    {"{" MODEL("", "\"a\":1,\"b\":1", "") "}",
     ": found the id 1 of token 'b', which token 'a' has, too, expected an id for each"},
    {"{" MODEL("", "\"a\":1,\"a\":2", "") "}", ": found token 'a' twice, expected it once"},
    {"{" MODEL("", ABC, "\"a x\"") "}",
     ": found 'x' in merge 0, which is not a token, expected one of the vocabulary"},
    {"{" MODEL("", ABC, "\"a b\",\"b a\"") "}",
     ": found 'ba' in merge 1, which is not a token, expected one of the vocabulary"},
    {"{" MODEL("", ABC, "\"a\"") "}",
     ": found a string for merge 0, expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]"},
    {"{" MODEL("", ABC, "[\"a\",\"b\",\"c\"]") "}",
     ": found an array for merge 0, expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]"},
    {"{" MODEL("", ABC, "7") "}",
     ": found an integer for merge 0, expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]"},
    {"{" MODEL("\"dropout\":0.1,", ABC, "") "}", ": model: found a dropout of 0.1, expected none"},
    {"{" MODEL("\"continuing_subword_prefix\":\"##\",", ABC, "\"a b\"") "}",
     ": found 'b' in merge 0, expected the continuing_subword_prefix ## before it"},
    {"{" MODEL("\"continuing_subword_prefix\":\"123456789 123456789 123456789 123\",\"byte_fallback\":true,", ABC,
               "") "}",
     ": model: found a continuing_subword_prefix of 33 bytes with byte_fallback, expected at most 32"},
    {"{" MODEL("\"continuing_subword_prefix\":7,", ABC, "") "}",
     ":1: model: found an integer for \"continuing_subword_prefix\", expected a string"},
    {"{" MODEL("\"ignore_merges\":1,", ABC, "") "}",
     ":1: model: found an integer for \"ignore_merges\", expected true or false"},
    {PART("normalizer", "{\"type\":\"Letters\"}"),
     ": found the normalizer Letters, expected one of NFC, NFD, NFKC, NFKD, Lowercase, "
     "StripAccents, Strip, Replace, Prepend, ByteLevel, BertNormalizer, Precompiled, Nmt, Sequence"},
    {PART("normalizer",
          "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":7}]}"),
     ":1: normalizer: found an integer for \"type\", expected a string"},
    {PART("normalizer", "[]"), ": found an array for a normalizer, expected an object"},
    {PART("pre_tokenizer", "{\"type\":\"Letters\"}"),
     ": found the pre_tokenizer Letters, expected one of ByteLevel, Split, Metaspace, "
     "Digits, Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, UnicodeScripts, "
     "CharDelimiterSplit, FixedLength, Sequence"},
    {PART("pre_tokenizer", "{\"type\":\"FixedLength\",\"length\":0}"),
     ": FixedLength: found the length 0, expected at least 1"},
    {PART("pre_tokenizer", "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"}}"),
     ": Split: found a group without its ) in a pattern, expected one"},
    {PART("pre_tokenizer",
          "{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"No\"}"),
     ": Split: found the behavior No, expected Removed, Isolated, MergedWithPrevious, "
     "MergedWithNext or Contiguous"},
    {PART("pre_tokenizer",
          "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"x\"}"),
     ": Metaspace: found the prepend_scheme x, expected always, first or never"},
    {PART("decoder", "{\"type\":\"CTC\"}"),
     ": found the decoder CTC, expected one of ByteLevel, Metaspace, Replace, ByteFallback, "
     "Fuse, Strip, WordPiece, BPEDecoder, Sequence"},
    {PART("decoder", "{\"type\":\"BPEDecoder\",\"suffix\":\"\"}"),
     ": BPEDecoder: found an empty suffix, expected some text"},
    {PART("post_processor", "{\"type\":\"X\"}"),
     ": found the post_processor X, expected one of TemplateProcessing, ByteLevel, "
     "BertProcessing, RobertaProcessing, Sequence"},
    {PART("post_processor",
          "{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",0],\"sep\":[\"z\",77]}"),
     ": post_processor: found the id 77, expected one of a token"},
    {PART("post_processor", "{\"type\":\"TemplateProcessing\",\"single\":[]}"),
     ": TemplateProcessing: found 0 times A and 0 times B in \"single\", expected A once"},
    {PART("added_tokens", "[{\"id\":1,\"content\":\"a\"}]"),
     ": found the id 1 of added token 'a', expected 0 as in the vocabulary"},
    {PART("added_tokens", "[{\"id\":1,\"content\":\"z\"}]"),
     ": found the id 1 of added token 'z', which the vocabulary has for 'b', expected another id"},
    {PART("added_tokens", "[{\"id\":8,\"content\":\"\"}]"),
     ": found an added token without text, expected some"},
    {PART("added_tokens", "[{\"id\":8,\"content\":\"y\"},{\"id\":8,\"content\":\"z\"}]"),
     ": found the id 8 of token 'z', which token 'y' has, too, expected an id for each"},
    {PART("added_tokens", "[{\"id\":99999999999,\"content\":\"y\"}]"),
     ": found the id -1 of token 'y', expected one from 0 to 4194303"},
    {PART("added_tokens", "[3]"), ": added_tokens: found an integer, expected an object"},
    {PART("decoder", "{\"type\":\"Metaspace\",\"replacement\":\"\"}"),
     ": Metaspace: found '' for \"replacement\", expected one character"},
    {PART("pre_tokenizer", "{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}"),
     ": CharDelimiterSplit: found 'ab' for \"delimiter\", expected one character"},
    {PART("decoder", "{\"type\":\"Strip\",\"content\":\"ab\",\"start\":1,\"stop\":0}"),
     ": Strip: found 'ab' for \"content\", expected one character"},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

START_TEST(refuses_by_name)
{
    ck_assert_str_eq(refusal(refused[_i].json, strlen(refused[_i].json)), refused[_i].expected);
}
END_TEST

/* A file that is cut off at any byte is refused, and so is one that is nested too deeply. */
START_TEST(refuses_any_prefix)
{
    FILE *file = fopen("tests/tokenizers/llama3.json", "rb");
    static char bytes[20000];
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert(n > 1000 && n < sizeof bytes);
    while (bytes[n - 1] != '}')
        n--;
    for (size_t length = 0; length < n; length += length < 1500 ? 1 : 97)
        refusal(bytes, length);
    memset(bytes, '[', sizeof bytes);
    refusal(bytes, sizeof bytes);
}
END_TEST

START_TEST(refuses_what_is_no_utf8)
{
    static const char *const texts[] = {"a\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                        "\xc0\x80"};
    crescent_tokenizer *t = open_at("tests/tokenizers/gpt2.json");
    int32_t *ids;
    size_t n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_int_eq(crescent_encode(t, texts[i], strlen(texts[i]), CRESCENT_FRAMED, &ids, &n),
                         CRESCENT_FAILED);
    crescent_encode(t, texts[0], 2, CRESCENT_FRAMED, &ids, &n);
    ck_assert_str_eq(crescent_error(context), "byte 1 of the text is not valid UTF-8, expected UTF-8");
    ck_assert_int_eq(crescent_encode(t, NULL, 0, CRESCENT_FRAMED, &ids, &n), CRESCENT_FAILED);
    crescent_tokenizer_close(t);
}
END_TEST

START_TEST(names_what_is_not_there)
{
    crescent_tokenizer *t;
    ck_assert_int_eq(crescent_tokenizer_open(context, "tests/nothing", &t), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(context),
                     "tests/nothing: cannot be opened: No such file or directory");
    ck_assert_int_eq(crescent_tokenizer_open(context, "tests", &t), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(context),
                     "tests: found no tokenizer, expected tokenizer.json, vocab.json and "
                     "merges.txt, vocab.txt or tokenizer.model");
}
END_TEST

/* ---- long texts ---- */

static const char *const units[] = {"a", " ", "ab", "\n", "7", "é", "'", "\u0301", "<", "🦙"};
enum { N_UNITS = sizeof units / sizeof *units };

/* A million equal bytes take no longer than other texts: far less than the test's time limit. */
START_TEST(takes_long_texts)
{
    enum { SIZE = 1000000 };
    static const char *const names[] = {"gpt2", "qwen2", "gpt4o", "spm_prepend", "spm_first"};
    char *text = malloc(SIZE + 8), path[200];
    size_t length = 0, n, decoded;
    for (; length < SIZE; length += strlen(units[_i]))
        strcpy(text + length, units[_i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "tests/tokenizers/%s.json", names[i]);
        crescent_tokenizer *t = open_at(path);
        int32_t *ids;
        char *back;
        ck_assert_int_eq(crescent_encode(t, text, length, CRESCENT_PLAIN, &ids, &n), CRESCENT_OK);
        crescent_decode(t, ids, n, CRESCENT_SPECIALS_ALL, &back, &decoded);
        /* Metaspace adds no space before a leading space, and its decoder removes one. */
        size_t lost = i == 4 && text[0] == ' ';
        ck_assert_uint_eq(decoded, length - lost);
        ck_assert_mem_eq(back, text + lost, decoded);
        crescent_free(back);
        crescent_free(ids);
        crescent_tokenizer_close(t);
    }
    free(text);
}
END_TEST

/* ---- what grows ---- */

#define DOUBLE "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define TEN(text) text "," text "," text "," text "," text "," text "," text "," text "," text "," text
#define FORTY(text) TEN(text) "," TEN(text) "," TEN(text) "," TEN(text)
#define SEQUENCE(role, members, part)                                                              \
    "\"" role "\":{\"type\":\"Sequence\",\"" members "\":[" FORTY(part) "]},"

/* Small files that turn a small text into a large one: each part doubles it. */
static const struct bomb {
    const char *json, *text;
    int token; /* an id to decode; -1: a text is encoded */
} bombs[] = {
    {"{" SEQUENCE("normalizer", "normalizers", DOUBLE) MODEL("", ABC, "") "}", "aaaa", -1},
    {"{" SEQUENCE("pre_tokenizer", "pretokenizers", "{\"type\":\"ByteLevel\"}") MODEL("", ABC, "") "}", "\xc3\xa9", -1},
    {"{" SEQUENCE("decoder", "decoders", DOUBLE) MODEL("", ABC, "") "}", NULL, 0},
    {"{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"}," FORTY(
         "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a\"},\"content\":\"aa\"}") "]}," MODEL("", ABC, "") "}",
     NULL, 0},
};
enum { N_BOMBS = sizeof bombs / sizeof *bombs };

/* The time to find added tokens is proportional to the longest of them. */
START_TEST(bounds_added_tokens)
{
    char json[4000], letters[1026] = "";
    for (int n = 1024; n <= 1025; n++) {
        memset(letters, 'a', (size_t)n);
        snprintf(json, sizeof json, "{\"added_tokens\":[{\"id\":8,\"content\":\"%s\"}]," MODEL("", ABC, "") "}",
                 letters);
        if (n == 1024) {
            crescent_tokenizer *t = open_text(json);
            expect_ids(t, letters, "8");
            crescent_tokenizer_close(t);
        } else {
            ck_assert_msg(strstr(refusal(json, strlen(json)), " of 1025 bytes, expected at most 1024"), "%s",
                          crescent_error(context));
        }
    }
}
END_TEST

START_TEST(limits_the_size_of_results)
{
    const struct bomb *b = &bombs[_i];
    crescent_tokenizer *t = open_text(b->json);
    const int32_t id = b->token;
    int32_t *ids;
    char *text;
    size_t n;
    ck_assert_int_eq(b->text ? crescent_encode(t, b->text, strlen(b->text), CRESCENT_PLAIN, &ids, &n)
                             : crescent_decode(t, &id, 1, CRESCENT_SPECIALS_ALL, &text, &n),
                     CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), "the tokenizer makes more than 65"), "%s",
                  crescent_error(context));
    crescent_tokenizer_close(t);
}
END_TEST

/* ---- files that may be installed ---- */

#define GPT2 "../shared/data/gpt2-tokenizer"

/* Returns the next part of a text that `between` separates; null after the last one. */
static char *next_piece(char **rest, const char *between)
{
    char *piece = *rest, *end = piece ? strstr(piece, between) : NULL;
    *rest = end ? end + strlen(between) : NULL;
    if (end)
        *end = '\0';
    return piece;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
    fclose(file);
    return text;
}

/* Forty-seven texts have the ids of GPT-2's vocabulary, from two files or from one GGUF file. */
START_TEST(knows_gpt2)
{
    if (access(GPT2, F_OK) != 0)
        return;
    crescent_tokenizer *t = open_at(_i ? GPT2 "/ggml-vocab-gpt-2.gguf" : GPT2);
    char *texts = read_text(GPT2 "/ggml-vocab-gpt-2.gguf.inp"), *text, *rest = texts;
    char *lists = read_text(GPT2 "/ggml-vocab-gpt-2.gguf.out"), *list, *rest_of_lists = lists;
    int cases = 0;
    while ((text = next_piece(&rest, "\n__ggml_vocab_test__\n"))) {
        ck_assert_ptr_nonnull(list = next_piece(&rest_of_lists, "\n"));
        expect_ids(t, text, list + strspn(list, " "));
        cases++;
    }
    ck_assert_int_ge(cases, 40);
    ck_assert_int_eq(crescent_tokenizer_size(t), 50257);
    ck_assert_int_eq(crescent_end_count(t), 1);
    ck_assert_int_eq(crescent_end_at(t, 0), 50256);
    ck_assert_int_eq(crescent_end_at(t, 1), CRESCENT_NONE);
    expect_ids(t, "a<|endoftext|>b", "64 50256 65");
    free(texts);
    free(lists);
    crescent_tokenizer_close(t);
}
END_TEST

#define STORIES "../shared/data/stories260K-hf"

/* The id of the token that ends a text comes from files beside the tokenizer, which may contain
 * numbers above 2^63. */
START_TEST(reads_what_ends_a_text)
{
    static const struct {
        const char *name, *text;
        int first, count;
    } files[] = {
        {"tokenizer_config.json",
         "{\"model_max_length\": 1000000000000000019884624838656, "
         "\"eos_token\": {\"content\": \"bc\"}}",
         5, 1},
        {"config.json", "{\"eos_token_id\": 2, \"rms_norm_eps\": 1e-05}", 2, 1},
        {"generation_config.json", "{\"eos_token_id\": [3, 1]}", 3, 2},
        {"config.json", "{\"eos_token_id\": [2.0]}", 2, 1},
        {"config.json", "{\"eos_token_id\": null}", CRESCENT_NONE, 0},
    };
    static const char json[] = "{" MODEL("", ABC, "") "}";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[200], beside[200], folder[200];
        strcpy(path, write_file("tokenizer.json", json, strlen(json)));
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
        snprintf(beside, sizeof beside, "%.100s/%s", folder, files[i].name);
        FILE *file = fopen(beside, "w");
        fputs(files[i].text, file);
        fclose(file);
        crescent_tokenizer *t = open_at(folder);
        ck_assert_int_eq(crescent_end_count(t), files[i].count);
        ck_assert_int_eq(crescent_end_at(t, 0), files[i].first);
        crescent_tokenizer_close(t);
        remove(beside);
        remove_file(path);
    }
}
END_TEST

/* Writes files to a folder and opens it; returns null if it is refused. */
static crescent_tokenizer *open_folder(const char *files[][2], int n)
{
    char folder[] = "/tmp/test_tokenizer.XXXXXX", path[100];
    crescent_tokenizer *tokenizer;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        FILE *file = fopen(path, "w");
        fputs(files[i][1], file);
        fclose(file);
    }
    crescent_tokenizer_open(context, folder, &tokenizer);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        remove(path);
    }
    rmdir(folder);
    return tokenizer;
}

/* A tokenizer of vocab.json and merges.txt, with the tokens that tokenizer_config.json adds. */
START_TEST(reads_two_files)
{
    static const char vocabulary[] = "{\"1\":0,\"2\":1,\"12\":2,\"<|endoftext|>\":3}";
    static const char config[] =
        "{\"tokenizer_class\":\"Qwen2TokenizerFast\",\"eos_token\":\"<e>\","
        "\"added_tokens_decoder\":{\"9\":{\"content\":\"<e>\",\"special\":true}}}";
    const char *files[][2] = {{"vocab.json", vocabulary},
                              {"merges.txt", "#version: 0.2\r\n1 2\r\n"},
                              {"tokenizer_config.json", config}};
    crescent_tokenizer *t = open_folder(files, 2);
    ck_assert_ptr_nonnull(t);
    expect_ids(t, "112<|endoftext|>1", "0 2 3 0");
    ck_assert_int_eq(crescent_end_at(t, 0), 3);
    crescent_tokenizer_close(t);
    t = open_folder(files, 3); /* each digit stands alone */
    ck_assert_ptr_nonnull(t);
    expect_ids(t, "112<e>1", "0 0 1 9 0");
    ck_assert_int_eq(crescent_end_at(t, 0), 9);
    crescent_tokenizer_close(t);
    files[2][1] = "{\"tokenizer_class\":\"BertTokenizer\"}";
    ck_assert_ptr_null(open_folder(files, 3));
    ck_assert_ptr_nonnull(strstr(crescent_error(context),
                                 "/tokenizer_config.json: found the tokenizer_class BertTokenizer "
                                 "without tokenizer.json, expected GPT2Tokenizer, "));
    files[1][1] = "1 2\n1 2 3\n";
    ck_assert_ptr_null(open_folder(files, 2));
    ck_assert_ptr_nonnull(
        strstr(crescent_error(context), "/merges.txt:2: found '1 2 3', expected LEFT RIGHT"));
    ck_assert_ptr_null(open_folder(files, 1));
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "/merges.txt: cannot be opened"));
}
END_TEST

/* Returns merges as text, "LEFT RIGHT" on each line. */
static char *lines_of(const json_t *merges)
{
    char *text = calloc(json_array_size(merges) + 1, 64), *at = text;
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const json_t *merge = json_array_get(merges, i);
        at += sprintf(at, "%s %s\n", json_string_value(json_array_get(merge, 0)),
                      json_string_value(json_array_get(merge, 1)));
    }
    return text;
}

/* A folder of the class CLIPTokenizer with two files has the parts that CLIP's tokenizer.json
 * has. */
START_TEST(reads_two_files_of_clip)
{
    json_error_t why;
    json_t *file = json_load_file("tests/tokenizers/clip.json", 0, &why);
    json_t *cases = json_load_file("tests/tokenizers/clip.cases.json", JSON_ALLOW_NUL, &why);
    const json_t *model = json_object_get(file, "model");
    char *vocabulary = json_dumps(json_object_get(model, "vocab"), 0);
    char *merges = lines_of(json_object_get(model, "merges"));
    const char *files[][2] = {{"vocab.json", vocabulary},
                              {"merges.txt", merges},
                              {"tokenizer_config.json", "{\"tokenizer_class\":\"CLIPTokenizer\"}"}};
    crescent_tokenizer *t = open_folder(files, 3);
    ck_assert_msg(t, "%s", crescent_error(context));
    ck_assert_uint_gt(json_array_size(cases), 100);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(t, "clip", json_array_get(cases, i), 0);
    crescent_tokenizer_close(t);
    files[2][1] = "{\"tokenizer_class\":\"CLIPTokenizerFast\",\"pad_token\":\"!\"}";
    t = open_folder(files, 3);
    expect_ids(t, "a!", "0 279 2 1");
    crescent_tokenizer_close(t);
    files[2][1] = "{\"tokenizer_class\":\"CLIPTokenizer\",\"unk_token\":\"<u>\"}";
    ck_assert_ptr_null(open_folder(files, 3));
    ck_assert_ptr_nonnull(strstr(crescent_error(context),
                                 "/tokenizer_config.json: found the unk_token '<u>', expected a token of the vocabulary"));
    json_decref(file);
    json_decref(cases);
    free(vocabulary);
    free(merges);
}
END_TEST

/* Checks a tokenizer of vocab.txt with settings in tokenizer_config.json. */
static void expect_words(const char *config, const char *text, const char *expected)
{
    const char *files[][2] = {
        {"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##re\nThe\ne\r\n\xc3\xa9\n,\n\xe6\xbc\xa2\n<s>\n</s>\n"},
        {"tokenizer_config.json", config ? config : ""}};
    crescent_tokenizer *t = open_folder(files, config ? 2 : 1);
    ck_assert_msg(t, "%s", crescent_error(context));
    expect_ids(t, text, expected);
    crescent_tokenizer_close(t);
}

START_TEST(reads_vocab_txt)
{
    expect_words(NULL, "There,[MASK] \xc3\x89 \xe6\xbc\xa2\xe6\xbc\xa2 x", "2 5 6 10 4 8 11 11 1 3");
    expect_words("{\"do_lower_case\":false}", "There \xc3\xa9", "2 7 6 9 3");
    expect_words("{\"do_lower_case\":false,\"strip_accents\":true}", "The\xc3\xa9 \xc3\xa9", "2 1 8 3");
    expect_words("{\"tokenizer_class\":\"DistilBertTokenizerFast\",\"tokenize_chinese_chars\":false}",
                 "\xe6\xbc\xa2\xe6\xbc\xa2 \xe6\xbc\xa2", "2 1 11 3");
    expect_words("{\"tokenizer_class\":\"MPNetTokenizer\"}", "the", "12 5 13");
    const char *files[][2] = {{"vocab.txt", "a\nb\n"}, {"tokenizer_config.json", "{\"tokenizer_class\":\"Other\"}"}};
    ck_assert_ptr_null(open_folder(files, 1));
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "/vocab.txt: found no token '[CLS]', which is put around"));
    ck_assert_ptr_null(open_folder(files, 2));
    ck_assert_ptr_nonnull(strstr(crescent_error(context), ": found the tokenizer_class Other beside vocab.txt, expected "));
}
END_TEST

/* Tokens may contain the character U+0000; settings may not. */
START_TEST(reads_the_character_zero)
{
    int32_t *ids;
    size_t n;
    crescent_tokenizer *tokenizer = open_text("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{"
                                              "\"a\\u0000b\":0,\"?\":1,\"a\":2}}}");
    ck_assert_int_eq(crescent_encode(tokenizer, "a\0b", 3, CRESCENT_FRAMED, &ids, &n), CRESCENT_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(ids[0], 0);
    crescent_free(ids);
    expect_ids(tokenizer, "a", "2");
    expect_text(tokenizer, (const int32_t[]){2}, 1, CRESCENT_SPECIALS_ALL, "a");
    crescent_tokenizer_close(tokenizer);
    static const char bad[] = "{\"model\":{\"type\":\"BPE\\u0000\",\"vocab\":{},\"merges\":[]}}";
    ck_assert_ptr_nonnull(strstr(refusal(bad, strlen(bad)), ": model: found the character 0 in \"type\", expected "));
}
END_TEST

/* Encodes "a" with settings of padding, and compares ids and segments with the tokenizers
 * library's. */
static void expect_padded(const char *padding, int pads, const char *expected)
{
    char json[500], *ids, *types, found[200];
    crescent_encoding encoding;
    snprintf(json, sizeof json, "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"?\":1}},"
             "\"padding\":{%s\"pad_id\":1,\"pad_type_id\":3,\"pad_token\":\"?\"}}", padding);
    crescent_tokenizer *tokenizer = open_text(json);
    const crescent_text text = {.text = "a", .length = 1, .framing = CRESCENT_FRAMED, .pads = pads};
    ck_assert_int_eq(crescent_encode_text(tokenizer, &text, &encoding), CRESCENT_OK);
    ids = join(encoding.ids, encoding.n);
    types = join(encoding.types, encoding.n);
    snprintf(found, sizeof found, "%s, %s", ids, types);
    ck_assert_str_eq(found, expected);
    free(ids);
    free(types);
    crescent_free(encoding.ids);
    crescent_tokenizer_close(tokenizer);
}

START_TEST(pads_as_the_file_says)
{
    expect_padded("\"strategy\":{\"Fixed\":3},\"direction\":\"Right\",\"pad_to_multiple_of\":null,", 1, "0 1 1, 0 3 3");
    expect_padded("\"strategy\":{\"Fixed\":3},\"direction\":\"Left\",\"pad_to_multiple_of\":4,", 1, "1 1 1 0, 3 3 3 0");
    expect_padded("\"strategy\":\"BatchLongest\",\"direction\":\"Right\",\"pad_to_multiple_of\":2,", 1, "0 1, 0 3");
    expect_padded("\"strategy\":\"BatchLongest\",", 1, "0, 0");
    expect_padded("\"strategy\":{\"Fixed\":3},", 0, "0, 0");
    expect_padded("\"strategy\":{\"Fixed\":0},\"pad_to_multiple_of\":4,", 1, "0, 0");
}
END_TEST

/* Eight letters have the ids of the tokenizers library: two segmentations differ only by rounding,
 * as the library reads scores with an error in the last bit. */
START_TEST(rounds_scores_as_the_library)
{
    crescent_tokenizer *tokenizer = open_text(
        "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",-9],[\"aa\",-7.393431186676025],"
        "[\"aaa\",-9.565545082092285]]}}");
    expect_ids(tokenizer, "aaaaaaaa", "2 2 1");
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Texts have the ids that SentencePiece gives them with the same tokenizer.model. */
START_TEST(agrees_with_sentencepiece)
{
    static const char *const names[] = {"unigram", "bpe", "user", "user_bpe"};
    char path[200];
    json_error_t why;
    snprintf(path, sizeof path, "tests/tokenizers/sp_%s.model", names[_i]);
    crescent_tokenizer *tokenizer = open_at(path);
    snprintf(path, sizeof path, "tests/tokenizers/sp_%s.cases.json", names[_i]);
    json_t *cases = json_load_file(path, 0, &why);
    ck_assert_msg(cases, "%s", why.text);
    ck_assert_uint_gt(json_array_size(cases), 100);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *text = json_array_get(json_array_get(cases, i), 0), *ids = json_array_get(json_array_get(cases, i), 1);
        int32_t *found;
        size_t n;
        ck_assert_int_eq(crescent_encode(tokenizer, json_string_value(text), json_string_length(text), CRESCENT_FRAMED,
                                         &found, &n),
                         CRESCENT_OK);
        ck_assert_msg(n == json_array_size(ids), "'%s' has %zu ids, expected %zu", json_string_value(text), n,
                      json_array_size(ids));
        for (size_t k = 0; k < n; k++)
            ck_assert_int_eq(found[k], json_integer_value(json_array_get(ids, k)));
        crescent_free(found);
    }
    json_decref(cases);
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* Classes of transformers change SentencePiece's ids: XLM-RoBERTa's are greater by one, and T5 adds
 * a token at the end. */
START_TEST(gives_sentencepiece_a_class)
{
    size_t n, k;
    int32_t *plain, *ids;
    static char bytes[1 << 16];
    FILE *file = fopen("tests/tokenizers/sp_unigram.model", "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    crescent_tokenizer *t = open_at("tests/tokenizers/sp_unigram.model");
    crescent_encode(t, "the graph", 9, CRESCENT_FRAMED, &plain, &n);
    crescent_tokenizer_close(t);
    static const char *const classes[] = {"XLMRobertaTokenizer", "T5TokenizerFast", "LlamaTokenizer"};
    static const int before[] = {1, 0, 1}, after[] = {1, 1, 0}, more[] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        char folder[] = "/tmp/test_tokenizer.XXXXXX", path[100], config[100];
        ck_assert_ptr_nonnull(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/tokenizer.model", folder);
        snprintf(config, sizeof config, "%s/tokenizer_config.json", folder);
        file = fopen(path, "wb");
        fwrite(bytes, 1, size, file);
        fclose(file);
        file = fopen(config, "w");
        fprintf(file, "{\"tokenizer_class\":\"%s\"}", classes[i]);
        fclose(file);
        t = open_at(folder);
        crescent_encode(t, "the graph", 9, CRESCENT_FRAMED, &ids, &k);
        ck_assert_uint_eq(k, n + (size_t)before[i] + (size_t)after[i]);
        for (size_t j = 0; j < n; j++)
            ck_assert_int_eq(ids[(size_t)before[i] + j], plain[j] + more[i]);
        ck_assert_int_eq(ids[0], before[i] ? crescent_token_id(t, "<s>") : plain[0]);
        ck_assert_int_eq(crescent_token_id(t, "<mask>") >= 0, i == 0);
        ck_assert_int_eq(crescent_token_id(t, "<extra_id_7>") >= 0, i == 1);
        crescent_free(ids);
        crescent_tokenizer_close(t);
        remove(path);
        remove(config);
        rmdir(folder);
    }
    crescent_free(plain);
}
END_TEST

/* A tokenizer.model that is cut off anywhere, or has other bytes, is read or refused with a
 * line. */
START_TEST(refuses_damaged_sentencepiece)
{
    static char bytes[1 << 16];
    FILE *file = fopen("tests/tokenizers/sp_bpe.model", "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    crescent_tokenizer *cut;
    const char *short_file = write_file("x.model", bytes, 900);
    ck_assert_int_eq(crescent_tokenizer_open(context, short_file, &cut), CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), ": found bytes that are no message of SentencePiece, expected "),
                  "%s", crescent_error(context));
    remove_file(short_file);
    for (size_t n = 0; n < size; n += n < 200 ? 1 : 97) {
        crescent_tokenizer *t;
        char old = bytes[n];
        const char *path = write_file("x.model", bytes, n);
        if (crescent_tokenizer_open(context, path, &t) == CRESCENT_OK)
            crescent_tokenizer_close(t);
        else
            ck_assert_msg(strstr(crescent_error(context), "expected"), "%s", crescent_error(context));
        remove_file(path);
        bytes[n] = (char)(old ^ 0x55);
        path = write_file("x.model", bytes, size);
        if (crescent_tokenizer_open(context, path, &t) == CRESCENT_OK)
            crescent_tokenizer_close(t);
        else
            ck_assert_msg(strstr(crescent_error(context), "expected"), "%s", crescent_error(context));
        remove_file(path);
        bytes[n] = old;
    }
}
END_TEST

#define LISTED(id, content, more)                                                                  \
    "\"" id "\":{\"content\":\"" content "\"" more "}"

/* Tokens of tokenizer.json and tokenizer_config.json are combined as in transformers: those only in
 * the latter are added in the order of their ids, with its flags; named special tokens follow. */
START_TEST(adds_the_tokens_of_a_configuration)
{
    static const struct {
        const char *config, *text, *expected;
    } cases[] = {
        {"{\"added_tokens_decoder\":{" LISTED("7", "<z>", "") "," LISTED("6", "<y>", ",\"special\":true") "}}",
         "a<y>b<z>", "0 6 1 7"},
        {"{\"added_tokens_decoder\":{" LISTED("3", "ab", ",\"lstrip\":true,\"normalized\":false") "}}",
         "c  ab", "2 3"},
        {"{\"added_tokens_decoder\":{" LISTED("1", "b", ",\"rstrip\":true") "}}", "bb  b", "1 1 1"},
        /* white space that is stripped into a token may also be a token itself */
        {"{\"added_tokens_decoder\":{" LISTED("1", "b", ",\"rstrip\":true") "," LISTED("6", "  ", "") "}}", "b    b b",
         "1 6 6 1 1"},
        {"{\"added_tokens_decoder\":{" LISTED("6", " ", ",\"lstrip\":true,\"rstrip\":true") "}}", "a  b", "0 6 1"},
        {"{\"eos_token\":\"<e>\",\"pad_token\":null,\"extra_special_tokens\":{\"image\":\"<i>\"},"
         "\"additional_special_tokens\":[\"<q>\",\"ab\"],\"bos_token\":{\"content\":\"<s>\",\"rstrip\":true}}",
         "<s>  a<e><i><q>", "6 0 7 9 8"},
        {"{\"eos_token\":\"bc\"}", "abc", "0 5"},
        {"{\"added_tokens_decoder\":{}}", "abc", "3 2"},
        {"[]", "abc", "3 2"},
    };
    static const char json[] = "{\"added_tokens\":[{\"id\":3,\"content\":\"ab\"}]," MODEL("", ABC, "\"b c\"") "}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *files[][2] = {{"tokenizer.json", json}, {"tokenizer_config.json", cases[i].config}};
        crescent_tokenizer *t = open_folder(files, 2);
        ck_assert_msg(t, "%s: %s", cases[i].config, crescent_error(context));
        expect_ids(t, cases[i].text, cases[i].expected);
        crescent_tokenizer_close(t);
    }
    /* special_tokens_map.json takes precedence over a configuration without added_tokens_decoder */
    static const struct {
        const char *config, *map, *text, *expected;
        int end;
    } maps[] = {
        {"{\"eos_token\":\"<e>\",\"pad_token\":\"<p>\"}", "{\"eos_token\":{\"content\":\"<f>\",\"lstrip\":true}}",
         "a  <f><p>b", "0 6 7 1", 6},
        {"{\"eos_token\":\"<e>\",\"added_tokens_decoder\":{}}", "{\"eos_token\":\"<f>\"}", "a<e>b", "0 6 1", 6},
        {"{}", "{\"bos_token\":\"bc\",\"additional_special_tokens\":[\"<y>\",\"<x>\"]}", "abc<x><y>",
         "0 5 7 6", -1},
        {"{\"additional_special_tokens\":[\"<z>\"]}",
         "{\"additional_special_tokens\":[\"<y>\",\"<x>\"],\"extra_special_tokens\":[\"<v>\"]}", "<z><v>", "6 7", -1},
        {"{\"eos_token\":\"<f>\",\"eos_token\":\"<e>\"}", "{}", "<e>b", "6 1", 6},
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        const char *files[][2] = {{"tokenizer.json", json},
                                  {"special_tokens_map.json", maps[i].map},
                                  {"tokenizer_config.json", maps[i].config}};
        crescent_tokenizer *t = open_folder(files, 3);
        ck_assert_msg(t, "%s: %s", maps[i].map, crescent_error(context));
        expect_ids(t, maps[i].text, maps[i].expected);
        ck_assert_int_eq(crescent_end_count(t), maps[i].end >= 0);
        if (maps[i].end >= 0)
            ck_assert_int_eq(crescent_end_at(t, 0), maps[i].end);
        crescent_tokenizer_close(t);
    }
    const char *without[][2] = {{"tokenizer.json", json}, {"special_tokens_map.json", "{\"eos_token\":\"bc\"}"}};
    crescent_tokenizer *old = open_folder(without, 2);
    ck_assert_msg(old, "%s", crescent_error(context));
    expect_ids(old, "abc", "0 5");
    ck_assert_int_eq(crescent_end_at(old, 0), 5);
    crescent_tokenizer_close(old);
    without[1][1] = "{\"eos_token\":7}";
    ck_assert_ptr_null(open_folder(without, 2));
    ck_assert_ptr_nonnull(strstr(crescent_error(context),
                                 "/special_tokens_map.json: found an integer for \"eos_token\", expected tokens"));
    static const char *const wrong[][2] = {
        {"{\"added_tokens_decoder\":{" LISTED("8", "<y>", "") "}}",
         "/tokenizer_config.json: added_tokens_decoder: found the id 8 of '<y>', expected 6, which is the next one"},
        {"{\"added_tokens_decoder\":{" LISTED("6", "bc", "") "}}",
         "/tokenizer_config.json: added_tokens_decoder: found the id 6 of 'bc', expected 5, which tokenizer.json has"},
        {"{\"added_tokens_decoder\":{" LISTED("x", "bc", "") "}}",
         "/tokenizer_config.json: found 'x' among added_tokens_decoder, expected ids"},
        {"{\"added_tokens_decoder\":{\"6\":7}}", "/tokenizer_config.json:1: added_tokens: found nothing for \"content\""},
        {"{\"eos_token\":7}", "/tokenizer_config.json: found an integer for \"eos_token\", expected tokens"},
        {"{", "/tokenizer_config.json:1: found the end of the file"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *files[][2] = {{"tokenizer.json", json}, {"tokenizer_config.json", wrong[i][0]}};
        ck_assert_ptr_null(open_folder(files, 2));
        ck_assert_msg(strstr(crescent_error(context), wrong[i][1]), "%s", crescent_error(context));
    }
}
END_TEST

START_TEST(knows_stories)
{
    if (access(STORIES, F_OK) != 0)
        return;
    crescent_tokenizer *t = open_at(STORIES);
    expect_ids(t, "Once upon a time, in 2024 é漢",
               "1 403 407 261 378 432 322 410 479 477 479 484 410 485 233 191 165");
    ck_assert_int_eq(crescent_end_count(t), 1);
    ck_assert_int_eq(crescent_end_at(t, 0), 2);
    crescent_tokenizer_close(t);
}
END_TEST

/* ---- all ---- */

int main(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *t = tcase_create("tokenizer");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    suite_add_tcase(suite, t);
    tcase_add_loop_test(t, agrees_with_the_library, 0, N_FIXTURES);
    tcase_add_loop_test(t, streams_what_it_decodes, 0, N_FIXTURES);
    tcase_add_test(t, lays_pairs_as_the_library);
    tcase_add_test(t, reports_truncation);
    tcase_add_loop_test(t, refuses_texts_without_tokens, 0, 4);
    tcase_add_test(t, closes_in_any_order);
    tcase_add_test(t, cuts_by_patterns_of_oniguruma);
    tcase_add_test(t, refuses_patterns_by_what_is_in_them);
    tcase_add_test(t, refuses_patterns_without_end);
    tcase_add_test(t, bounds_the_steps_of_a_pattern);
    tcase_add_loop_test(t, limits_the_size_of_results, 0, N_BOMBS);
    tcase_add_test(t, bounds_added_tokens);
    tcase_add_test(t, adds_the_tokens_of_a_configuration);
    tcase_add_test(t, merges_by_rank);
    tcase_add_test(t, has_tokens_for_places_in_a_word);
    tcase_add_test(t, joins_bytes_for_later_decoders);
    tcase_add_test(t, cuts_by_number);
    tcase_add_test(t, passes_over_the_version_of_merges);
    tcase_add_test(t, leaves_out_half_a_pair);
    tcase_add_loop_test(t, falls_back_on_the_bytes_of_affixes, 0, sizeof affixed_bytes / sizeof *affixed_bytes);
    tcase_add_test(t, finds_whole_tokens_without_merges);
    tcase_add_test(t, finds_each_of_many);
    tcase_add_test(t, encodes_unknown_words);
    tcase_add_test(t, decodes_bytes);
    tcase_add_test(t, adds_tokens_around);
    tcase_add_test(t, shows_special_tokens_that_normalizing_changes);
    tcase_add_loop_test(t, refuses_by_name, 0, N_REFUSED);
    tcase_add_test(t, refuses_any_prefix);
    tcase_add_test(t, refuses_what_is_no_utf8);
    tcase_add_test(t, names_what_is_not_there);
    tcase_add_loop_test(t, takes_long_texts, 0, N_UNITS);
    tcase_add_loop_test(t, knows_gpt2, 0, 2);
    tcase_add_test(t, reads_what_ends_a_text);
    tcase_add_test(t, reads_two_files);
    tcase_add_test(t, reads_two_files_of_clip);
    tcase_add_test(t, reads_vocab_txt);
    tcase_add_test(t, reads_the_character_zero);
    tcase_add_test(t, pads_as_the_file_says);
    tcase_add_test(t, rounds_scores_as_the_library);
    tcase_add_loop_test(t, agrees_with_sentencepiece, 0, 4);
    tcase_add_test(t, gives_sentencepiece_a_class);
    tcase_add_test(t, refuses_damaged_sentencepiece);
    tcase_add_test(t, knows_stories);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
