/*
 * numbers.h - converts elements of files, which may be unaligned, to C's types.
 *
 * F16 and BF16 become floats exactly, F64 is rounded to nearest (to infinity if it is out of
 * range), and F32 keeps its bits.
 */
#ifndef CR_NUMBERS_H
#define CR_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "linkage.h" /* only for crescent */

enum cr_number {
    CR_NUMBER_F16,
    CR_NUMBER_BF16,
    CR_NUMBER_F32,
    CR_NUMBER_F64,
    CR_NUMBER_I32,
    CR_NUMBER_I64,
    CR_NUMBER_I8,
    CR_NUMBER_U8
};

/* Returns the bytes of an element. */
CR_API size_t cr_number_width(enum cr_number type);

/* Return one element of a floating-point or an integer type; big-endian if `big`. */
CR_API float cr_number_float(enum cr_number type, int big, const unsigned char *at);
CR_API int64_t cr_number_integer(enum cr_number type, int big, const unsigned char *at);

/* Returns one element of type F64; big-endian if `big`. */
CR_API double cr_number_double(int big, const unsigned char *at);

/* Converts n contiguous little-endian elements of a floating-point type. */
CR_API void cr_numbers_floats(enum cr_number type, const unsigned char *from, int64_t n,
                              float *out);

#endif
