/* unicode.h - tests for case folding to several characters, and for valid UTF-8. */
#ifndef CR_UNICODE_H
#define CR_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if case folding turns a character into several, as the sharp s into ss. */
bool cr_folds_to_many(uint32_t character);

/* True if n bytes are valid UTF-8; otherwise sets *at to the first invalid byte. */
bool cr_is_utf8(const char *text, size_t n, size_t *at);

#endif
