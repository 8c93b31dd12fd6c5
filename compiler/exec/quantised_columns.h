/*
 * quantised_columns.h - copies quantised blocks of GGUF files into panels without quantising
 * again.
 *
 * GGUF files store tensors in blocks of 32 numbers along a row, in the types Q8_0, Q4_0 and Q4_1.
 * If such a row is a column of a product's right operand, its blocks become blocks of q8 or q4
 * (runtime.h) with the same numbers.  A block whose d or m cannot be represented in f16 becomes
 * NaN.
 */
#ifndef CR_QUANTISED_COLUMNS_H
#define CR_QUANTISED_COLUMNS_H

#include "compiler/ir/program.h"

/* The types of GGUF whose blocks can be copied, with the weight format that they become. */
enum cr_quantised {
    CR_Q8_0, /* numbers d q:        d in f16, then 32 int8;                      for q8 */
    CR_Q4_0, /* numbers d (q - 8):  d in f16, then 16 bytes;                     for q4 */
    CR_Q4_1, /* numbers d q + m:    d and m in f16, then 16 bytes;               for q4 */
    CR_QUANTISED_COUNT
}; /* Byte j of 16 holds number j in its low half and number j + 16 in its high half. */

/* Finds the type with a name and sets *type; returns false if there is none. */
bool cr_quantised_find(const char *name, enum cr_quantised *type);

/* Return the weight format that a type becomes, and the bytes of one block of the type in the
 * file. */
enum cr_format cr_quantised_format(enum cr_quantised type);
int cr_quantised_bytes(enum cr_quantised type);

/* Copies n blocks of a row into column `column` (0 to 31) of a panel; `panel` is the address of
 * the first block in the panel.  Other columns stay unchanged. */
void cr_place_quantised(enum cr_quantised type, const unsigned char *blocks, long n,
                        unsigned char *panel, int column);

#endif
