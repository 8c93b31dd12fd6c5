/*
 * pattern.h - patterns that cut text: a regular expression, a string, or a well-known pattern for
 * which there is a hand-written scanner.
 *
 * Regular expressions in tokenizer.json are those of Oniguruma; they are translated to those of
 * PCRE2 (oniguruma.h).  Text is valid UTF-8.
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

/* Returns the pattern of a regular expression.  Returns null, with an error that begins with
 * `where`, if `text` is not one. */
struct cr_pattern *cr_pattern_regex(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

/* Does the same, but uses PCRE2 even if there is a scanner for the pattern. */
struct cr_pattern *cr_pattern_pcre2(const char *text, size_t length, const char *where,
                                    struct cr_error *error);

void cr_pattern_free(struct cr_pattern *pattern);

/* Returns GPT-2's pattern, which ByteLevel uses. */
struct cr_pattern *cr_pattern_gpt2(void);

/* Return Llama 3's pattern, and Qwen 2's, which matches single digits. */
struct cr_pattern *cr_pattern_llama3(void);
struct cr_pattern *cr_pattern_qwen2(void);

/* Returns the scanner of a pattern, and sets *digits to the most digits that it matches
 * together. */
enum cr_scanner cr_pattern_scanner(const struct cr_pattern *pattern, size_t *digits);

/* Returns the string of a pattern that is a string, or null. */
const char *cr_pattern_string(const struct cr_pattern *pattern, size_t *length);

/* Returns the source of a pattern that is a regular expression, or null. */
const char *cr_pattern_source(const struct cr_pattern *pattern, size_t *length);

/* Appends the PCRE2 expression of a pattern; returns false if the pattern has a scanner. */
bool cr_put_pcre2(struct cr_text *out, const struct cr_pattern *pattern);

/* Appends all characters of Unicode in ascending order. */
void cr_put_all_characters(struct cr_text *all);

/* Finds the characters of `all` that a PCRE2 expression matches.  The expression matches one
 * character, and may begin with options.  Returns *n ranges, each given by its first and last
 * character; the caller frees them.  Returns null if PCRE2 refuses the expression.  (A search by an
 * escape or a class takes half the time of one by a group.) */
uint32_t *cr_characters_of(const struct cr_text *all, const char *pcre2, size_t length, int *n);

struct cr_match {
    size_t begin, end;
};

/* Finds the first match at or after `from`.  Returns 1, 0 if there is none, or -1 with an error if
 * the search takes too many steps. */
int cr_pattern_find(const struct cr_pattern *pattern, const char *text, size_t n, size_t from,
                    struct cr_match *match, struct cr_error *error);

/* The state of iterating over all matches in a text. */
struct cr_matches {
    const struct cr_pattern *pattern;
    const char *text;
    size_t n;
    size_t from;  /* where the next search begins; initially 0 */
    bool is_next; /* a match was found before */
};

/* Finds the next match, as the tokenizers library does: skips an empty match where the last match
 * ended, and any in an empty text.  Returns the same as cr_pattern_find. */
int cr_pattern_next(struct cr_matches *matches, struct cr_match *match, struct cr_error *error);

#endif
