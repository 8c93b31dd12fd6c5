/*
 * oniguruma.h - translates regular expressions of Oniguruma (tokenizer.json) to those of PCRE2.
 *
 * Both libraries read most patterns alike.  Where they do not, the pattern is written in another way:
 *
 *     x{1,3}+          a repetition of a repetition; in PCRE2 possessive
 *     x{2}?  x{,3}     (?:x{2})? and x{0,3}
 *     [a[bc]&&[^d]]    classes inside classes, and their intersections
 *     [[:punct:]]      symbols, too
 *     \b  \w  \h  \v   of Oniguruma's words, of hexadecimal digits, the vertical tab alone
 *     \p{Han}          characters of the script, and none that it shares with others
 *     \xe2\x96\x81     a character by its bytes
 *     (?m:.)           a dot that matches a newline, too
 *     a(?i)b|c         (?i) reaches to the end of the group: a(?i:b|c)
 */
#ifndef CR_ONIGURUMA_H
#define CR_ONIGURUMA_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

/*
 * Appends the expression of PCRE2 that matches where Oniguruma's `text` does, if it is compiled
 * with UTF, UCP and MULTILINE, and LF is the only newline.  `text` is valid UTF-8.  Fails, with an
 * error that begins with `where`, if the text is not a regular expression or PCRE2 has no
 * equivalent.  `bare_scripts`: PCRE2 is older than 10.40.
 */
int cr_oniguruma_to_pcre2(struct cr_text *out, const char *text, size_t length, bool bare_scripts,
                          const char *where, struct cr_error *error);

#endif
