/*
 * oniguruma.h - translates regular expressions of Oniguruma (tokenizer.json) to those of PCRE2.
 *
 * Most patterns mean the same in both libraries.  These are rewritten, as they mean something else in PCRE2:
 *
 *     x{1,3}+          a repetition of a repetition; in PCRE2 possessive
 *     x{2}?  x{,3}     (?:x{2})? and x{0,3}
 *     [a[bc]&&[^d]]    classes inside classes, and their intersections
 *     [[:punct:]]      contains symbols, too
 *     \b  \w  \h  \v   Oniguruma's word characters, hexadecimal digits, the vertical tab alone
 *     \p{Han}          the characters of the script, without those that it shares with others
 *     \xe2\x96\x81     a character by its bytes
 *     (?m:.)           a dot that matches a newline, too
 *     a(?i)b|c         (?i) applies up to the end of the group: a(?i:b|c)
 */
#ifndef CR_ONIGURUMA_H
#define CR_ONIGURUMA_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

/*
 * Appends the PCRE2 expression that matches where Oniguruma's expression `text` does, if it is
 * compiled with UTF, UCP and MULTILINE, and LF is the only newline.  `text` is valid UTF-8.  Fails,
 * with an error that begins with `where`, if `text` is not a regular expression, or if PCRE2 has no
 * equivalent.  `bare_scripts`: PCRE2 is older than 10.40.
 */
int cr_oniguruma_to_pcre2(struct cr_text *out, const char *text, size_t length, bool bare_scripts,
                          const char *where, struct cr_error *error);

#endif
