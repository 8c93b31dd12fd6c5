/*
 * bf16_product.h - products in the arithmetic bf16: definitions that all instruction sets share.
 */
#ifndef CR_BF16_PRODUCT_H
#define CR_BF16_PRODUCT_H

#include <string.h>

#include "vector.h"

enum {
    CR_BF16_BLOCK = 32,                  /* the k of a block */
    CR_PAIRS = CR_BF16_BLOCK / 2,        /* the pairs of an even and an odd k in a block */
    CR_BLOCK_UNITS = CR_BF16_BLOCK * 32, /* the bf16 numbers in a block of a panel */
    CR_STRIP = 256,                 /* the k that are widened at a time if there are many rows */
    CR_STRIP_COLS = 128,            /* the columns that are multiplied by these k before the next
                                       ones are widened */
    CR_FEW = 3,                     /* at most so many rows are multiplied panel after panel, in the
                                       order of memory */
    CR_FEW_STRIP = 1024             /* the k that are widened at a time for so few rows */
};

#define CR_BF16_BLOCKS(K) (((K) + CR_BF16_BLOCK - 1) / CR_BF16_BLOCK)

/* The arguments of gemm_bf16_bf16; see runtime.h. */
struct cr_bf16_product {
    long M, N, K;
    const unsigned short *a;
    long lda;
    const unsigned short *b;
    long panel_stride;
    float *c;
    long ldc;
    long ahead;
};

/* Returns the address of the block that begins at k in the panel of column n.  A last block of
 * fewer than 32 k is copied to `whole` and padded with zeros. */
CR_INLINE const unsigned short *cr_bf16_block(const struct cr_bf16_product *p, long k, long n,
                                              unsigned short *whole)
{
    const unsigned short *block = p->b + n / 32 * p->panel_stride + k * 32;
    size_t there = (size_t)(p->K - k + (p->K & 1)) * 32;
    if (there >= CR_BLOCK_UNITS) {
        return block;
    }
    memset(whole, 0, CR_BLOCK_UNITS * sizeof *whole);
    memcpy(whole, block, there * sizeof *whole);
    return whole;
}

/* Returns x, but a zero of the same sign if x is subnormal. */
CR_INLINE float cr_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/*
 * Returns a b + c, rounded once, where subnormal operands and results are flushed to zero.  As on
 * x86, a result is flushed if it is less than 2^-126 when it is rounded to 24 bits without a limit
 * on its exponent; a sum in double is exact enough to decide this.  The result is the same if the
 * processor flushes the result of fmaf before rounding.
 */
CR_INLINE float cr_fma_flushed(float a, float b, float c)
{
    const double least = 0x1p-126 - 0x1p-151;
    float y = fmaf(a, b, c);
    if (fabsf(y) <= 0x1p-126f) {
        double exact = (double)a * (double)b + (double)c;
        y = copysignf(fabs(exact) < least ? 0.0f : 0x1p-126f, exact != 0 ? (float)exact : y);
    }
    return y;
}

/* Returns a + b, flushed.  A sum that is subnormal is exact, so it can be flushed afterwards. */
CR_INLINE float cr_add_flushed(float a, float b)
{
    return cr_flush(cr_flush(a) + cr_flush(b));
}

#endif
