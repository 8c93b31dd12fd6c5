/*
 * byte_letters.h - the characters ("letters") that represent bytes in byte-level vocabularies:
 * GPT-2's table.
 *
 * A byte that is a visible character of Latin-1 is represented by that character, the others by the
 * characters from U+0100 on, in order.
 */
#ifndef CR_BYTE_LETTERS_H
#define CR_BYTE_LETTERS_H

#include <stdbool.h>

#include "compiler/ir/text.h"

/* Appends the letters that represent n bytes. */
void cr_put_byte_letters(struct cr_text *out, const char *bytes, size_t n);

/* Does the same, and converts *leading, the number of leading bytes (leading.inc) among the n
 * bytes, to the number of leading bytes of the result. */
void cr_put_led_letters(struct cr_text *out, const char *bytes, size_t n, size_t *leading);

/* Appends the bytes that the letters in n bytes of text represent.  Returns false and appends
 * nothing if a character is not a letter. */
bool cr_put_letters_bytes(struct cr_text *out, const char *letters, size_t n);

#endif
