/*
 * quantised_columns.h - blocks that were quantised elsewhere, put into panels as they are.
 *
 * GGUF files have tensors in blocks of 32 numbers along a row, in the types Q8_0, Q4_0 and Q4_1.
 * Where such a row is a column of a product's right operand, its blocks become blocks of q8 or q4
 * (runtime.h) with the same numbers, but for d or m that f16 cannot hold: those blocks become NaN.
 */
#ifndef CR_QUANTISED_COLUMNS_H
#define CR_QUANTISED_COLUMNS_H

#include "compiler/ir/program.h"

/* A type of GGUF whose blocks fit a format. */
enum cr_quantised {
    CR_Q8_0, /* numbers d q:        d in f16, then 32 int8;                      for q8 */
    CR_Q4_0, /* numbers d (q - 8):  d in f16, then 16 bytes;                     for q4 */
    CR_Q4_1, /* numbers d q + m:    d and m in f16, then 16 bytes;               for q4 */
    CR_QUANTISED_COUNT
}; /* Byte j has number j in its low half and number j + 16 in its high half. */

/* The type of a name: false if it is none of them. */
bool cr_quantised_find(const char *name, enum cr_quantised *type);

/* The format that holds a type, and the bytes of a block in the file. */
enum cr_format cr_quantised_format(enum cr_quantised type);
int cr_quantised_bytes(enum cr_quantised type);

/* Puts n blocks of a row into column `column` (0 to 31) of a panel, from the panel's block at `panel`
 * on.  Columns beside it stay as they are. */
void cr_place_quantised(enum cr_quantised type, const unsigned char *blocks, long n,
                        unsigned char *panel, int column);

#endif
