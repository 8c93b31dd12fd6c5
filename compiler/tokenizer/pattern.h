/*
 * pattern.h - patterns that cut text: a regular expression, a string, or a well-known pattern that
 * has a hand-written scanner.
 *
 * Regular expressions of tokenizer.json are Oniguruma's; they are translated to PCRE2
 * (oniguruma.h). Text is valid UTF-8.
 */
#ifndef CR_PATTERN_H
#define CR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

struct cr_pattern;

/* The scanner of a pattern. */
enum cr_scanner { CR_SCAN_NONE, CR_SCAN_GPT2, CR_SCAN_LLAMA3 };

struct cr_pattern *cr_pattern_literal(const char *text, size_t length);

/* Returns null, with an error that begins with `where`, if the text is not a regular expression. */
struct cr_pattern *cr_pattern_regex(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

/* Does the same, and uses PCRE2 even if a scanner knows the pattern. */
struct cr_pattern *cr_pattern_pcre2(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

void cr_pattern_free(struct cr_pattern *pattern);

/* Returns GPT-2's pattern, which ByteLevel uses. */
struct cr_pattern *cr_pattern_gpt2(void);

/* Return Llama 3's pattern; and Qwen 2's, which differs in matching single digits. */
struct cr_pattern *cr_pattern_llama3(void);
struct cr_pattern *cr_pattern_qwen2(void);

/* Returns the scanner of the pattern, and the most digits that it matches together. */
enum cr_scanner cr_pattern_scanner(const struct cr_pattern *pattern, size_t *digits);

/* Returns the string of a literal pattern, or null. */
const char *cr_pattern_string(const struct cr_pattern *pattern, size_t *length);

/* Returns the text of a regular expression, or null. */
const char *cr_pattern_source(const struct cr_pattern *pattern, size_t *length);

/* Appends the expression of PCRE2 of a regular expression or a string; false for a scanner. */
bool cr_put_pcre2(struct cr_text *out, const struct cr_pattern *pattern);

/* Appends all characters of Unicode, one behind another. */
void cr_put_all_characters(struct cr_text *all);

/* Finds the characters of `all` that a part of a PCRE2 pattern matches; the part matches one
 * character, and may begin with options.  Returns n ranges, each the first and the last
 * character of it, which the caller frees; null if the part matches none, or cannot be run.  A
 * part that is an escape or a class is found in half the time of a group. */
uint32_t *cr_characters_of(const struct cr_text *all, const char *pcre2, size_t length, int *n);

struct cr_match {
    size_t begin, end;
};

/* Finds the first match at or after `from`.  Returns 1, 0 if there is none, or -1 with an error
 * if the search takes too much work. */
int cr_pattern_find(const struct cr_pattern *pattern, const char *text, size_t n, size_t from,
                    struct cr_match *match, struct cr_error *error);

/* An iteration over all matches in a text. */
struct cr_matches {
    const struct cr_pattern *pattern;
    const char *text;
    size_t n;
    size_t from;  /* where the next search begins; 0 at first */
    bool is_next; /* not the first */
};

/* Finds the next match as the tokenizers library does: no empty match where the last one ended, and
 * none in an empty text.  Returns the value of cr_pattern_find. */
int cr_pattern_next(struct cr_matches *matches, struct cr_match *match, struct cr_error *error);

#endif
