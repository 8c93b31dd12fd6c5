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

/* Appends the letters of n bytes. */
void cr_put_byte_letters(struct cr_text *out, const char *bytes, size_t n);

/* Appends the bytes for n bytes of letters.  Returns false and appends nothing if one of them
 * stands for no byte. */
bool cr_put_letters_bytes(struct cr_text *out, const char *letters, size_t n);

#endif
