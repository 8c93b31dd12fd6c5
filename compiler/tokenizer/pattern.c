/* pattern.c - finds patterns with PCRE2, as strings, or with scanners; see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/utf8_put.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"
#include "onig_reader.h"
#include "oniguruma.h"
#include "pattern.h"
#include "scanner.h"

/* Limits of PCRE2's matcher for one position of a text: steps, additional steps for each byte of
 * the text, and KiB of memory.  A repetition takes a step for each byte and for each of its
 * possible ends.  A pattern with nested repetitions, whose steps double with each byte, soon
 * exceeds the limit. */
enum { MATCH_LIMIT = 2000000, STEPS_OF_A_BYTE = 64, HEAP_LIMIT = 1 << 18 };

/* From version 10.40 on, \p{Han} includes characters that the script shares with others. */
enum { BARE_SCRIPTS = PCRE2_MAJOR == 10 && PCRE2_MINOR < 40 };

struct cr_pattern {
    enum cr_scanner scanner;
    size_t digits;
    char *literal, *source; /* the string, or the text of the regular expression; the other one is
                               null */
    size_t length;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- scanners ---- */

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* The patterns for which there are scanners.  Llama 3's takes up to three digits together, Qwen 2's
 * one. */
static const struct known {
    const char *text;
    enum cr_scanner scanner;
    size_t digits;
} known[] = {
    {GPT2, CR_SCAN_GPT2, 0},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     CR_SCAN_GPT2, 0},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" REST, CR_SCAN_LLAMA3, 3},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST, CR_SCAN_LLAMA3, 1},
};

struct cr_pattern *cr_pattern_gpt2(void)
{
    struct cr_pattern *p = cr_calloc(1, sizeof *p);
    p->scanner = CR_SCAN_GPT2;
    return p;
}

struct cr_pattern *cr_pattern_llama3(void)
{
    struct cr_pattern *p = cr_pattern_gpt2();
    p->scanner = CR_SCAN_LLAMA3;
    p->digits = 3;
    return p;
}

struct cr_pattern *cr_pattern_qwen2(void)
{
    struct cr_pattern *p = cr_pattern_llama3();
    p->digits = 1;
    return p;
}

enum cr_scanner cr_pattern_scanner(const struct cr_pattern *p, size_t *digits)
{
    *digits = p->digits;
    return p->scanner;
}

/* ---- PCRE2 ---- */

/* Returns settings for compiling a pattern: a newline is LF, regardless of how PCRE2 was built.
 * Returns null if memory is short. */
static pcre2_compile_context *new_context(void)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context)
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    return context;
}

/* Compiles a pattern; ^ and $ match at the begin and end of each line, as in Oniguruma. */
static int compile(struct cr_pattern *p, const struct cr_text *text, const char *where,
                   struct cr_error *error)
{
    int code;
    PCRE2_SIZE at;
    char why[128];
    pcre2_compile_context *context = new_context();
    p->match = pcre2_match_data_create(1, NULL);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->match || !p->limits || !context) {
        pcre2_compile_context_free(context);
        return cr_fail(error, "out of memory");
    }
    p->code = pcre2_compile((PCRE2_SPTR)(text->data ? text->data : ""), text->length,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, context);
    pcre2_compile_context_free(context);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT);
    if (p->code)
        return 0;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return cr_fail(error, "%s: found a pattern that is not a regular expression (%s), expected one",
                   where, why);
}

struct cr_pattern *cr_pattern_pcre2(const char *text, size_t length, const char *where,
                                    struct cr_error *error)
{
    struct cr_pattern *p = cr_calloc(1, sizeof *p);
    struct cr_text translated = {0};
    int status = cr_oniguruma_to_pcre2(&translated, text, length, BARE_SCRIPTS, where, error);
    if (status == 0)
        status = compile(p, &translated, where, error);
    free(translated.data);
    p->source = memcpy(cr_calloc(length + 1, 1), text, length);
    p->length = length;
    if (status == 0)
        return p;
    cr_pattern_free(p);
    return NULL;
}

struct cr_pattern *cr_pattern_regex(const char *text, size_t length, const char *where,
                                    struct cr_error *error)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].text) != length || memcmp(known[i].text, text, length) != 0)
            continue;
        struct cr_pattern *p = cr_pattern_gpt2();
        p->scanner = known[i].scanner;
        p->digits = known[i].digits;
        return p;
    }
    return cr_pattern_pcre2(text, length, where, error);
}

/* ---- strings ---- */

struct cr_pattern *cr_pattern_literal(const char *text, size_t length)
{
    struct cr_pattern *p = cr_calloc(1, sizeof *p);
    p->literal = memcpy(cr_calloc(length + 1, 1), text, length);
    p->length = length;
    return p;
}

const char *cr_pattern_string(const struct cr_pattern *p, size_t *length)
{
    *length = p->length;
    return p->literal;
}

const char *cr_pattern_source(const struct cr_pattern *p, size_t *length)
{
    *length = p->length;
    return p->source;
}

void cr_pattern_free(struct cr_pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->limits);
    free(p->literal);
    free(p->source);
    free(p);
}

/* ---- for emitted C ---- */

bool cr_put_pcre2(struct cr_text *out, const struct cr_pattern *p)
{
    struct cr_error ignored;
    size_t bytes;
    for (size_t at = 0; p->literal && at < p->length; at += bytes)
        cr_onig_put_code(out, cr_character_at(p->literal, at, &bytes));
    return p->literal || (p->source && cr_oniguruma_to_pcre2(out, p->source, p->length, BARE_SCRIPTS, "", &ignored) == 0);
}

void cr_put_all_characters(struct cr_text *all)
{
    char bytes[4];
    for (uint32_t c = 0; c < 0x110000; c += c == 0xd7ff ? 0x801 : 1)
        cr_put_bytes(all, bytes, (size_t)cr_utf8_put(bytes, c));
}

/* Finds in `all` the runs that a pattern for runs of characters matches; appends their first and
 * last characters to *ranges.  Returns false if matching fails. */
static bool find_runs(const struct cr_pattern *p, const struct cr_text *all, uint32_t **ranges, int *n)
{
    int cap = 0, found;
    size_t bytes, at = 0;
    *n = 0;
    while ((found = pcre2_match(p->code, (PCRE2_SPTR)all->data, all->length, at, PCRE2_NO_UTF_CHECK, p->match,
                                p->limits)) >= 0) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(p->match);
        at = ends[1];
        *CR_PUSH(*ranges, *n, cap) = cr_character_at(all->data, ends[0], &bytes);
        *CR_PUSH(*ranges, *n, cap) = cr_character_at(all->data, cr_character_before(all->data, at), &bytes);
    }
    return found == PCRE2_ERROR_NOMATCH;
}

uint32_t *cr_characters_of(const struct cr_text *all, const char *pcre2, size_t length, int *n)
{
    struct cr_pattern *p = cr_calloc(1, sizeof *p);
    struct cr_text runs = {0};
    struct cr_error ignored;
    uint32_t *ranges = NULL;
    int items = 0;
    cr_put(&runs, "%.*s++", (int)length, pcre2);
    bool good = compile(p, &runs, "", &ignored) == 0 && find_runs(p, all, &ranges, &items);
    if (good && !ranges)
        ranges = cr_calloc(1, sizeof *ranges);
    if (!good) {
        free(ranges);
        ranges = NULL;
    }
    cr_pattern_free(p);
    free(runs.data);
    *n = items / 2;
    return ranges;
}

/* ---- matches ---- */

static int find_literal(const struct cr_pattern *p, const char *text, size_t n, size_t from,
                        struct cr_match *match)
{
    const char *at = memmem(text + from, n - from, p->literal, p->length);
    if (!at)
        return 0;
    *match = (struct cr_match){(size_t)(at - text), (size_t)(at - text) + p->length};
    return 1;
}

/* Returns the limit of steps at one position of a text of n bytes. */
static uint32_t most_steps(size_t n)
{
    size_t most = (UINT32_MAX - MATCH_LIMIT) / STEPS_OF_A_BYTE;
    return (uint32_t)(MATCH_LIMIT + STEPS_OF_A_BYTE * (n < most ? n : most));
}

/* Finds a match with PCRE2; fails if that takes more steps than most_steps allows. */
static int find_regex(const struct cr_pattern *p, const char *text, size_t n, size_t from,
                      struct cr_match *match, struct cr_error *error)
{
    pcre2_set_match_limit(p->limits, most_steps(n));
    int found =
        pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, p->match, p->limits);
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    if (found < 0) {
        char why[128];
        pcre2_get_error_message(found, (PCRE2_UCHAR *)why, sizeof why);
        return cr_fail(error, "the pattern of the tokenizer fails at byte %zu of the text: %s",
                       from, why);
    }
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(p->match);
    *match = (struct cr_match){ends[0], ends[1]};
    return 1;
}

/* A scanner matches at every position, so its match begins at `from`. */
int cr_pattern_find(const struct cr_pattern *p, const char *text, size_t n, size_t from,
                    struct cr_match *match, struct cr_error *error)
{
    if (p->scanner != CR_SCAN_NONE && from >= n)
        return 0;
    switch (p->scanner) {
    case CR_SCAN_GPT2:
        *match = (struct cr_match){from, cr_scan_as_gpt2(text, from, n)};
        return 1;
    case CR_SCAN_LLAMA3:
        *match = (struct cr_match){from, cr_scan_as_llama3(text, from, n, p->digits)};
        return 1;
    default:
        return p->literal ? find_literal(p, text, n, from, match)
                          : find_regex(p, text, n, from, match, error);
    }
}

int cr_pattern_next(struct cr_matches *m, struct cr_match *match, struct cr_error *error)
{
    size_t last = m->from;
    int found = 0;
    while (m->n > 0 && m->from <= m->n &&
           (found = cr_pattern_find(m->pattern, m->text, m->n, m->from, match, error)) > 0) {
        bool again = m->is_next && match->begin == last && match->end == last;
        if (!again) {
            m->from = match->end;
            m->is_next = true;
            return 1;
        }
        do
            m->from++;
        while (m->from < m->n && ((unsigned char)m->text[m->from] & 0xc0) == 0x80);
        found = 0;
    }
    return found;
}
