/* unicode.h - normal forms and cases of text, by utf8proc.  Text is valid UTF-8. */
#ifndef CR_UNICODE_H
#define CR_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/text.h"

enum cr_normal_form { CR_NFC, CR_NFD, CR_NFKC, CR_NFKD };

/* Each converts n bytes of text and appends them to `out`. */
void cr_put_normal(struct cr_text *out, const char *text, size_t n, enum cr_normal_form form);
void cr_put_lowercase(struct cr_text *out, const char *text, size_t n);
void cr_put_without_accents(struct cr_text *out, const char *text, size_t n);

/* True if case folding turns the character into several, as the sharp s into ss. */
bool cr_folds_to_many(uint32_t character);

/* Returns the end of the extended grapheme cluster that begins at `at` < n. */
size_t cr_grapheme_end(const char *text, size_t at, size_t n);

/* True if n bytes are valid UTF-8; else *at is the first invalid byte. */
bool cr_is_utf8(const char *text, size_t n, size_t *at);

#endif
