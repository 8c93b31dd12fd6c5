/*
 * byte_letters.h - the letters that stand for bytes in byte-level vocabularies: GPT-2's table.
 *
 * A byte that is a visible character of Latin-1 is itself; the others are the characters from
 * U+0100 on, in order.
 */
#ifndef CR_BYTE_LETTERS_H
#define CR_BYTE_LETTERS_H

#include <stdbool.h>

#include "compiler/ir/text.h"

/* Adds the letters of n bytes. */
void cr_put_byte_letters(struct cr_text *out, const char *bytes, size_t n);

/* Adds the bytes that n bytes of letters stand for; false, and adds nothing, if one stands for
 * none. */
bool cr_put_letters_bytes(struct cr_text *out, const char *letters, size_t n);

#endif
