/*
 * test_emit_tokenizer.c - hand-written scanners against PCRE2, normal forms against utf8proc, and
 * tokenizers as emitted C against the library, under every installed compiler.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

#include "compiler/emit/standalone_tokenizer.h"
#include "compiler/ir/text.h"
#include "compiler/tokenizer/pattern_program.h"
#include "compiler/tokenizer/pieces.h"
#include "compiler/tokenizer/stages.h"
#include "emitted_tokenizers.h"

/* ---- random text ---- */

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static void put_character(struct cr_text *t, uint32_t c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(marks[n] | c);
    cr_put_bytes(t, bytes, n);
}

static const char *const words[] = {" ",
                                    "  ",
                                    "\n",
                                    "\r\n",
                                    "\t",
                                    "'s",
                                    "'LL",
                                    "'\xc5\xbf",
                                    "don't",
                                    "the",
                                    "keyword",
                                    "the end",
                                    "<|endoftext|>",
                                    "<s>",
                                    "</s>",
                                    "<unk>",
                                    "▁",
                                    "[MASK]",
                                    "123",
                                    "4567",
                                    "é",
                                    "e\xcc\x81",
                                    "漢字",
                                    "🦙",
                                    "\xc2\xa0",
                                    "\xe2\x80\x83",
                                    "<0x41>",
                                    "<L>",
                                    "<R>",
                                    "\xcc\xa3\xcc\x81",
                                    "\xcc\x81\xcc\xa3",
                                    "\xcc\x88",
                                    "\xe1\x84\x92",
                                    "\xe1\x85\xa1",
                                    "\xe1\x86\xab",
                                    "\xea\xb0\x80",
                                    "\xea\xb0\x81",
                                    "\xcd\x84",
                                    "\xe0\xa5\x98",
                                    "\xe0\xa7\x87\xe0\xa6\xbe",
                                    "\xef\xac\xac",
                                    "\xf0\x9d\x85\xa0",
                                    "\xe2\x84\xab"};
enum { N_WORDS = sizeof words / sizeof *words };

/* Returns the character after c in loops over Unicode.  Planes 4 to 13 are unassigned, and planes 15
 * and 16 are for private use: there the loop visits every 61st character and the ends of the
 * ranges. */
static uint32_t next_character(uint32_t c)
{
    bool alike = (c >= 0x40000 && c < 0xdffc0) || (c >= 0xf0000 && c < 0x10ffc0);
    c += alike ? 61 : 1;
    return c == 0xd800 ? 0xe000 : c;
}

/* Appends a few random words and characters of all kinds. */
static void put_random(struct cr_text *t)
{
    for (uint32_t n = draw(18); n > 0; n--) {
        uint32_t kind = draw(10), c;
        if (kind < 5) {
            const char *word = words[draw(N_WORDS)];
            cr_put_bytes(t, word, strlen(word));
            continue;
        }
        c = kind < 7   ? draw(128)
            : kind < 8 ? draw(0x800)
            : kind < 9 ? draw(0x10000)
                       : draw(0x110000);
        put_character(t, c >= 0xd800 && c < 0xe000 ? 'x' : c);
    }
}

/* ---- scanners against PCRE2 ---- */

#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LETTERS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"

static const char *const patterns[] = {
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    LETTERS "\\p{N}{1,3}" REST,
    LETTERS "\\p{N}" REST,
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

/* Checks that both split a text at the same places.  It asserts only where they differ: libcheck
 * writes a line to a file for each assertion that holds, which is too slow for every character. */
static void check_cut(const struct cr_pattern *scanner, const struct cr_pattern *pcre2,
                      const char *text, size_t n)
{
    struct cr_error error;
    struct cr_match a, b;
    for (size_t from = 0; from < n; from = a.end) {
        if (cr_pattern_find(scanner, text, n, from, &a, &error) != 1 ||
            cr_pattern_find(pcre2, text, n, from, &b, &error) != 1)
            ck_abort_msg("'%s' is not cut from %zu on", text, from);
        if (a.begin != b.begin || a.end != b.end)
            ck_abort_msg("'%s' is cut from %zu to %zu, by PCRE2 from %zu to %zu", text, a.begin,
                         a.end, b.begin, b.end);
    }
}

struct both {
    struct cr_pattern *scanner, *pcre2, *unassigned;
};

static struct both open_both(const char *pattern)
{
    struct cr_error error;
    size_t n = strlen(pattern), digits;
    struct both both = {cr_pattern_regex(pattern, n, "test", &error),
                        cr_pattern_pcre2(pattern, n, "test", &error),
                        cr_pattern_pcre2("\\p{Cn}", 6, "test", &error)};
    ck_assert(both.scanner && both.pcre2 && both.unassigned);
    ck_assert_int_ne(cr_pattern_scanner(both.scanner, &digits), CR_SCAN_NONE);
    ck_assert_int_eq(cr_pattern_scanner(both.pcre2, &digits), CR_SCAN_NONE);
    return both;
}

static void close_both(struct both *both)
{
    cr_pattern_free(both->scanner);
    cr_pattern_free(both->pcre2);
    cr_pattern_free(both->unassigned);
}

/* Returns true if PCRE2's version of Unicode has all characters of the text. */
static bool is_known(const struct both *both, const struct cr_text *text)
{
    struct cr_error error;
    struct cr_match match;
    return cr_pattern_find(both->unassigned, text->data, text->length, 0, &match, &error) == 0;
}

START_TEST(scans_as_pcre2)
{
    struct both both = open_both(patterns[_i]);
    int known = 0;
    for (int i = 0; i < 20000; i++) {
        struct cr_text text = {0};
        cr_put_bytes(&text, "", 0);
        put_random(&text);
        if (is_known(&both, &text)) {
            check_cut(both.scanner, both.pcre2, text.data, text.length);
            known++;
        }
        free(text.data);
    }
    ck_assert_int_gt(known, 6000);
    close_both(&both);
}
END_TEST

/* Scanners split texts with every character, between other characters, as PCRE2 does. */
START_TEST(knows_every_character)
{
    struct both both = open_both(patterns[_i]);
    struct cr_text text = {0};
    int known = 0;
    for (uint32_t c = 0; c < 0x110000; c = next_character(c)) {
        text.length = 0;
        put_character(&text, c);
        if (is_known(&both, &text)) {
            cr_put_bytes(&text, "a1 ", 3);
            put_character(&text, c);
            cr_put_bytes(&text, "\n", 1);
            put_character(&text, c);
            put_character(&text, c);
            check_cut(both.scanner, both.pcre2, text.data, text.length);
            known++;
        }
    }
    free(text.data);
    ck_assert_int_gt(known, 140000);
    close_both(&both);
}
END_TEST

/* ---- normal forms against utf8proc ---- */

/* ---- programs of patterns against PCRE2 ---- */

/* class_runs.inc, for the graphemes below, needs this file, too. */
#include "compiler/tokenizer/characters.inc"

#include "compiler/tokenizer/run_pattern.inc"

/* Patterns of published tokenizers, and patterns for what the translation to a program may get
 * wrong: priorities, counts, lookaheads, empty matches. */
static const char *const programs[] = {
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))", "[0-9][0-9][0-9]", "(?=[A-Z])", "(?<=\\s)", "(?<!e)t|th", "the|t?h?e",
    "a{0,2}?b|e{2,3}", "(?:ab|a)(?:c|bcd)", "[^ ]{1,4}e", "e?+e", " ++ ", "$|^", "\\b", "(?:the|end){2}|.", "s(?=.*d)",
    "(?!the)..", "(?i:k|ll)+", "(?:x|\\s)*?d", "\n\\Z|\\Ax"};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

static const struct {
    enum cr_behavior behavior;
    bool invert;
    int joins, drops;
} ways_to_cut[] = {{CR_ISOLATED, false, CR_MATCHES_APART, 0},
                   {CR_REMOVED, false, CR_MATCHES_APART, 2},
                   {CR_REMOVED, true, CR_MATCHES_APART, 1},
                   {CR_CONTIGUOUS, false, CR_MATCHES_TOGETHER, 0},
                   {CR_CONTIGUOUS, true, CR_MATCHES_TOGETHER, 0},
                   {CR_MERGED_WITH_PREVIOUS, false, CR_MATCHES_AFTER_TEXT, 0},
                   {CR_MERGED_WITH_NEXT, true, CR_MATCHES_AFTER_TEXT, 0},
                   {CR_MERGED_WITH_NEXT, false, CR_MATCHES_BEFORE_TEXT, 0},
                   {CR_MERGED_WITH_PREVIOUS, true, CR_MATCHES_BEFORE_TEXT, 0}};
enum { N_WAYS = sizeof ways_to_cut / sizeof *ways_to_cut };

/* Checks that the translated program splits a text as PCRE2 does. */
static void check_program(const struct cr_pattern *pattern, const struct cr_pattern_program *program, const char *name,
                          const char *text, size_t n)
{
    struct cr_error error;
    for (int way = 0; way < N_WAYS; way++) {
        struct cr_pieces pieces = {0};
        const struct cr_cutter cutter = {.joins = ways_to_cut[way].joins, .drops = ways_to_cut[way].drops,
                                         .ops = program->ops, .sets = program->sets, .n_ops = program->n};
        size_t begin = 0, end = 0;
        if (cr_cut(&pieces, pattern, ways_to_cut[way].behavior, ways_to_cut[way].invert, text, n, true, &error))
            ck_abort_msg("%s", error.text);
        for (int i = 0; i <= pieces.n; i++) {
            end = cr_piece_by_pattern(&cutter, text, n, end, &begin);
            if (i < pieces.n ? end - begin != pieces.items[i].length ||
                                   memcmp(text + begin, pieces.text.data + pieces.items[i].at, end - begin) != 0
                             : end > 0)
                ck_abort_msg("%s, way %d: piece %d of '%s' is from %zu to %zu", name, way, i, text, begin, end);
        }
        cr_free_pieces(&pieces);
    }
}

/* Compares a pattern with PCRE2 on random texts and on given ones; returns false if it has no
 * program. */
static bool check_pattern(const char *name, const json_t *item)
{
    struct cr_error error;
    struct cr_pattern_program program = {0};
    const char *what;
    struct cr_pattern *pattern = cr_pattern_pcre2(name, strlen(name), "here", &error);
    ck_assert_msg(pattern != NULL, "%s: %s", name, error.text);
    bool good = cr_compile_pattern(&program, pattern, &what);
    ck_assert_msg(good || what, "%s", name);
    for (size_t i = 1; good && i < json_array_size(item); i++) {
        const json_t *text = json_array_get(json_array_get(item, i), 0);
        check_program(pattern, &program, name, json_string_value(text), json_string_length(text));
    }
    for (int i = 0; good && i < 100; i++) {
        struct cr_text text = {0};
        cr_put_bytes(&text, "", 0);
        put_random(&text);
        check_program(pattern, &program, name, text.data, text.length);
        free(text.data);
    }
    cr_free_pattern_program(&program);
    cr_pattern_free(pattern);
    return good;
}

START_TEST(cuts_by_programs_as_by_pcre2)
{
    ck_assert_msg(check_pattern(programs[_i], NULL), "%s has no program", programs[_i]);
}
END_TEST

START_TEST(cuts_by_programs_of_oniguruma)
{
    json_error_t why;
    json_t *all = json_load_file("tests/tokenizers/patterns.json", JSON_ALLOW_NUL, &why);
    int taken = 0, refused = 0;
    ck_assert_msg(all != NULL, "%s", why.text);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *item = json_array_get(all, i);
        const char *name = json_string_value(json_array_get(item, 0));
        if (json_array_size(item) == 1)
            continue;
        bool good = check_pattern(name, item);
        taken += good;
        refused += !good;
    }
    ck_assert_int_ge(taken, 73);
    ck_assert_int_eq(refused, 4);
    json_decref(all);
}
END_TEST

static const int forms[] = {
    [CR_NFC] = UTF8PROC_COMPOSE,
    [CR_NFD] = UTF8PROC_DECOMPOSE,
    [CR_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [CR_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static void check_normal(const struct cr_text *text, int form)
{
    struct cr_text ours = {0};
    size_t leading = 0;
    utf8proc_uint8_t *theirs = NULL;
    utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text->data, (utf8proc_ssize_t)text->length, &theirs,
                     (utf8proc_option_t)(UTF8PROC_STABLE | forms[form]));
    cr_put_bytes(&ours, "", 0);
    cr_put_stage(&ours, text->data, text->length, (enum cr_stage_kind)form, &leading);
    if (n != (utf8proc_ssize_t)ours.length || memcmp(ours.data, theirs, ours.length) != 0)
        ck_abort_msg("'%s' becomes '%s', by utf8proc '%s'", text->data, ours.data, (char *)theirs);
    free(theirs);
    free(ours.data);
}

/* Normal forms of every character, alone and between letters, and of random texts are
 * utf8proc's. */
START_TEST(makes_normal_forms_as_utf8proc)
{
    struct cr_text text = {0};
    cr_put_bytes(&text, "", 0);
    for (uint32_t c = 0; c < 0x110000; c = next_character(c)) {
        text.length = 0;
        put_character(&text, c);
        check_normal(&text, _i);
        cr_put_bytes(&text, "a\xcc\x81", 3);
        put_character(&text, c);
        cr_put_bytes(&text, "\xcc\xa3", 2);
        check_normal(&text, _i);
    }
    for (int i = 0; i < 20000; i++) {
        text.length = 0;
        put_random(&text);
        check_normal(&text, _i);
    }
    free(text.data);
}
END_TEST

/* ---- graphemes against utf8proc ---- */

#include "compiler/tokenizer/class_runs.inc"

#include "compiler/tokenizer/graphemes.inc"

#include "compiler/tokenizer/graphemes_of.inc"

/* Returns where utf8proc ends the grapheme that begins at `at`. */
static size_t end_by_utf8proc(const char *text, size_t at, size_t n)
{
    utf8proc_int32_t joined = 0;
    size_t bytes;
    uint32_t character = cr_character(text, at, &bytes), next;
    for (at += bytes; at < n; at += bytes, character = next) {
        next = cr_character(text, at, &bytes);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)character, (utf8proc_int32_t)next, &joined))
            break;
    }
    return at;
}

/* Strings that are appended to each character: the graphemes of both end alike. */
static const char *const joining[] = {"",
                                      "a",
                                      "\r\n",
                                      "\xcc\x81",
                                      "\xe2\x80\x8d",
                                      "\xe1\x84\x80",
                                      "\xe1\x85\xa1",
                                      "\xe1\x86\xa8",
                                      "\xea\xb0\x80",
                                      "\xea\xb0\x81",
                                      "\xf0\x9f\x87\xa9",
                                      "\xe0\xa4\x83",
                                      "\xd8\x80",
                                      "\xf0\x9f\xa6\x99",
                                      "\xcc\x81\xe2\x80\x8d\xf0\x9f\xa6\x99"};
enum { N_JOINING = sizeof joining / sizeof *joining };

static void check_graphemes(const struct cr_text *text)
{
    for (size_t at = 0, end; at < text->length; at = end) {
        end = cr_end_of_grapheme(text->data, at, text->length);
        if (end != end_by_utf8proc(text->data, at, text->length))
            ck_abort_msg("the grapheme of '%s' from %zu on ends at %zu", text->data, at, end);
    }
}

/* Tests every character between others, then strings of characters that join in graphemes. */
START_TEST(ends_graphemes_as_utf8proc)
{
    struct cr_text text = {0};
    for (uint32_t c = 0; c < 0x110000; c = next_character(c)) {
        text.length = 0;
        for (int i = 0; i < N_JOINING; i++) {
            put_character(&text, c);
            cr_put(&text, "%s", joining[i]);
        }
        check_graphemes(&text);
    }
    for (int i = 0; i < 50000; i++) {
        text.length = 0;
        for (uint32_t n = 1 + draw(12); n > 0; n--)
            cr_put(&text, "%s", joining[draw(N_JOINING)]);
        check_graphemes(&text);
    }
    free(text.data);
}
END_TEST

/* ---- emitted C ---- */

/* Writes the texts of the fixtures and random texts to a file, and their expected outputs to `expected`. */
static void make_texts(const char *folder, struct cr_tokenizer *t, struct cr_text *expected,
                       put_function *put)
{
    struct cr_text texts = {0};
    int number = 0;
    json_error_t why;
    json_t *cases = json_load_file("tests/tokenizers/gpt2.cases.json", JSON_ALLOW_NUL, &why);
    ck_assert_ptr_nonnull(cases);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *text = json_array_get(json_array_get(cases, i), 0);
        add_text(&texts, json_string_value(text), json_string_length(text));
        put(expected, t, json_string_value(text), json_string_length(text), number++);
    }
    for (int i = 0; i < 1000; i++) {
        struct cr_text text = {0};
        cr_put_bytes(&text, "", 0);
        put_random(&text);
        add_text(&texts, text.data, text.length);
        put(expected, t, text.data, text.length, number++);
        free(text.data);
    }
    write_file(folder, "texts", &texts);
    free(texts.data);
    json_decref(cases);
}

static void make_source(const char *folder, const struct cr_tokenizer *t, const char *path,
                        enum cr_tokenizer_use use)
{
    struct cr_text source = {0};
    struct cr_error error;
    int status = put_source(&source, t, path, use, &error);
    ck_assert_msg(status == 0, "%s", error.text);
    write_file(folder, "small.c", &source);
    free(source.data);
}

static bool have(const char *compiler)
{
    char command[200];
    snprintf(command, sizeof command, "command -v %.*s >/dev/null 2>&1", (int)strcspn(compiler, " "), compiler);
    return system(command) == 0;
}

/* Compiles and runs it. */
static void run_with(const char *folder, const char *compiler, const struct cr_text *expected)
{
    char command[600];
    snprintf(command, sizeof command, "%s %s/small.c -o %s/small && %s/small %s/texts >%s/out",
             compiler, folder, folder, folder, folder, folder);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
    snprintf(command, sizeof command, "%s/out", folder);
    FILE *file = fopen(command, "rb");
    char *found = malloc(expected->length + 2);
    size_t n = fread(found, 1, expected->length + 1, file);
    fclose(file);
    ck_assert_uint_eq(n, expected->length);
    ck_assert_mem_eq(found, expected->data, n);
    free(found);
}

/* Checks that a compiler accepts the text without a warning; it generates no code. */
static void parse_with(const char *folder, const char *compiler)
{
    char command[600];
    snprintf(command, sizeof command, "%s -fsyntax-only %s/small.c", compiler, folder);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

static const char *const emitted[] = {
    "tests/tokenizers/gpt2.json",        "tests/tokenizers/llama3.json",
    "tests/tokenizers/spm_prepend.json", "tests/tokenizers/spm_first.json",
    "tests/tokenizers/spm_always.json",  "tests/tokenizers/gemma.json",
    "tests/tokenizers/added.json",       "tests/tokenizers/qwen2.json",
    "tests/tokenizers/prefixed.json",    "tests/tokenizers/unigram_map.json",
    "tests/tokenizers/gpt4o.json",       "tests/tokenizers/spaces.json",
    "../shared/data/stories260K-hf",     "../shared/data/gpt2-tokenizer",
};
enum { N_EMITTED = sizeof emitted / sizeof *emitted };

#define WARN " -std=c11 -Wall -Wextra -Wpedantic -Werror"

/* Returns true if check_emitted compiles the tokenizer with sanitizers for prompts. */
static bool is_for_prompts(const char *path)
{
    for (int i = 0; i < N_EMITTED; i++)
        if (strcmp(emitted[i], path) == 0)
            return true;
    return false;
}

/* Compiles emitted C and compares its output: by gcc with sanitizers, once for each tokenizer, by TinyCC,
 * and every third tokenizer by clang with all warnings. */
static void check_emitted(const char *path, int number, enum cr_tokenizer_use use)
{
    static const char *const compilers[] = {
        ("gcc -O0" WARN " -fsanitize=address,undefined -fno-sanitize-recover=undefined"), "tcc -Wall -Werror",
        ("clang -O1" WARN)};
    char folder[] = "/tmp/emit_tokenizer.XXXXXX", command[100];
    struct cr_error error;
    struct cr_text expected = {0};
    int n = 0;
    if (access(path, F_OK) != 0)
        return;
    struct cr_tokenizer *t = cr_tokenizer_open(path, &error);
    ck_assert_msg(t != NULL, "%s", error.text);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    make_texts(folder, t, &expected, use == CR_FOR_TEXTS ? put_expected_texts : put_expected);
    make_source(folder, t, path, use);
    for (int i = 0; i < 3; i++) {
        if (!have(compilers[i]) || (i == 0 && use == CR_FOR_TEXTS && is_for_prompts(path)))
            continue;
        if (i < 2 || number % 3 == 0)
            run_with(folder, compilers[i], &expected);
        else
            parse_with(folder, compilers[i]);
        n++;
    }
    ck_assert_int_gt(n, 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    free(expected.data);
    cr_tokenizer_free(t);
}

START_TEST(emits_what_encodes_alike)
{
    check_emitted(emitted[_i], _i, CR_FOR_PROMPTS);
}
END_TEST

/* Tokenizers of encoders, which encode texts and pairs. */
static const char *const of_texts[] = {
    "tests/tokenizers/gpt2.json",          "tests/tokenizers/llama3.json",
    "tests/tokenizers/spm_first.json",     "tests/tokenizers/bert_uncased.json",
    "tests/tokenizers/bert_cased.json",    "tests/tokenizers/word_level.json",
    "tests/tokenizers/words.json",         "tests/tokenizers/parts.json",
    "tests/tokenizers/prefixed.json",      "tests/tokenizers/unigram_map.json",
    "tests/tokenizers/unigram_bytes.json", "tests/tokenizers/scripts.json",
    "tests/tokenizers/sp_unigram.model",   "tests/tokenizers/sp_bpe.model",
    "tests/tokenizers/sp_user.model",      "tests/tokenizers/sp_user_bpe.model",
    "tests/tokenizers/gpt4o.json",         "tests/tokenizers/spaces.json",
    "tests/tokenizers/fronts.json",        "tests/tokenizers/clip.json",
    "tests/tokenizers/leads.json",
};
enum { N_OF_TEXTS = sizeof of_texts / sizeof *of_texts };

START_TEST(emits_what_lays_texts_alike)
{
    check_emitted(of_texts[_i], _i, CR_FOR_TEXTS);
}
END_TEST

/* ---- parts that emitted C does not support ---- */

static const struct refused {
    const char *path, *expected;
} refused[] = {
    {"tests/tokenizers/words.json", "found no decoder, which emitted C does not have, expected a tokenizer "
                                    "with a decoder"},
    {"tests/tokenizers/bert_uncased.json", "found WordPiece, which emitted C does not have, expected "
                                           "decoders that take token after token"},
    {"tests/tokenizers/affixes.json", "found BPE with a continuing_subword_prefix, which emitted C does not have, "
                                      "expected none"},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

START_TEST(refuses_unsupported_parts)
{
    struct cr_error error;
    struct cr_text out = {0};
    const char *path = refused[_i].path;
    struct cr_tokenizer *t = cr_tokenizer_open(path, &error);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(cr_emit_tokenizer(&out, t, "small", CR_FOR_PROMPTS, path, &error), -1);
    ck_assert_uint_eq(out.length, 0);
    ck_assert_int_eq(strncmp(error.text, path, strlen(path)), 0);
    ck_assert_str_eq(error.text + strlen(path) + 2, refused[_i].expected);
    cr_tokenizer_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("emit_tokenizer");
    TCase *t = tcase_create("emit_tokenizer");
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    tcase_add_loop_test(t, scans_as_pcre2, 0, N_PATTERNS);
    tcase_add_loop_test(t, knows_every_character, 0, N_PATTERNS);
    tcase_add_loop_test(t, cuts_by_programs_as_by_pcre2, 0, N_PROGRAMS);
    tcase_add_test(t, cuts_by_programs_of_oniguruma);
    tcase_add_loop_test(t, makes_normal_forms_as_utf8proc, 0, N_FORMS);
    tcase_add_test(t, ends_graphemes_as_utf8proc);
    tcase_add_loop_test(t, emits_what_encodes_alike, 0, N_EMITTED);
    tcase_add_loop_test(t, emits_what_lays_texts_alike, 0, N_OF_TEXTS);
    tcase_add_loop_test(t, refuses_unsupported_parts, 0, N_REFUSED);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
