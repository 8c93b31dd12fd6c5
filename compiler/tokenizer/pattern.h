/*
 * pattern.h - what text is cut by: a regular expression, a string, or one of the patterns that a
 * scanner of our own knows.
 *
 * Regular expressions of tokenizer.json are Oniguruma's; PCRE2 matches by them once they were translated
 * (oniguruma.h).  Text is valid UTF-8.
 */
#ifndef CR_PATTERN_H
#define CR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"

struct cr_pattern;

/* What the scanner knows of a pattern. */
enum cr_scanner { CR_SCAN_NONE, CR_SCAN_GPT2, CR_SCAN_LLAMA3 };

struct cr_pattern *cr_pattern_literal(const char *text, size_t length);

/* Null, with an error that begins with `where`, if it is no regular expression. */
struct cr_pattern *cr_pattern_regex(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

/* The same by PCRE2 also where a scanner knows it. */
struct cr_pattern *cr_pattern_pcre2(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

void cr_pattern_free(struct cr_pattern *pattern);

/* GPT-2's pattern, which ByteLevel stands for. */
struct cr_pattern *cr_pattern_gpt2(void);

/* Llama 3's; and the same with each digit for itself. */
struct cr_pattern *cr_pattern_llama3(void);
struct cr_pattern *cr_pattern_qwen2(void);

/* The scanner that knows the pattern; and how many digits it takes together. */
enum cr_scanner cr_pattern_scanner(const struct cr_pattern *pattern, size_t *digits);

/* The string that a literal is, or null. */
const char *cr_pattern_string(const struct cr_pattern *pattern, size_t *length);

struct cr_match {
    size_t begin, end;
};

/* The first match at `from` or behind it: 1, 0 if there is none, -1 with an error if it takes too
 * much work. */
int cr_pattern_find(const struct cr_pattern *pattern, const char *text, size_t n, size_t from,
                    struct cr_match *match, struct cr_error *error);

/* All matches in a text, one after another. */
struct cr_matches {
    const struct cr_pattern *pattern;
    const char *text;
    size_t n;
    size_t from;  /* where the next one is looked for; 0 at first */
    bool is_next; /* not the first */
};

/* The next match, as the tokenizers library finds it: an empty one where the last one ended is none, and
 * neither is any in an empty text.  Returns what cr_pattern_find does. */
int cr_pattern_next(struct cr_matches *matches, struct cr_match *match, struct cr_error *error);

#endif
