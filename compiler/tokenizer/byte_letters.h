/*
 * byte_letters.h - the characters that represent bytes in byte-level vocabularies: GPT-2's table.
 *
 * A byte that is a visible character of Latin-1 represents itself; the others are represented by
 * the characters from U+0100 on, in order.
 */
#ifndef CR_BYTE_LETTERS_H
#define CR_BYTE_LETTERS_H

#include <stdbool.h>

#include "compiler/ir/text.h"

/* Appends the letters of n bytes. */
void cr_put_byte_letters(struct cr_text *out, const char *bytes, size_t n);

/* Appends the letters of n bytes.  Changes *leading from a number of leading bytes to the number of bytes that their
 * letters have. */
void cr_put_led_letters(struct cr_text *out, const char *bytes, size_t n, size_t *leading);

/* Appends the bytes that n bytes of such characters represent.  Returns false and appends
 * nothing if one of them represents no byte. */
bool cr_put_letters_bytes(struct cr_text *out, const char *letters, size_t n);

#endif
