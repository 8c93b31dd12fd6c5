/*
 * angle_reduction.h - argument reduction for sin and cos: reduces large angles modulo pi / 2 (Payne
 * & Hanek 1983).
 */
#ifndef CR_ANGLE_REDUCTION_H
#define CR_ANGLE_REDUCTION_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Returns 32 bits of 2 / pi, from bit `first` >= -32 on.  Bit 0 has the value 1/2. */
static uint32_t cr_two_over_pi_bits(int first)
{
    static const uint32_t words[] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                     0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const uint32_t *word = words + (first + 32) / 32;
    int shift = (first + 32) % 32;
    return shift ? word[0] << shift | word[1] >> (32 - shift) : word[0];
}

/*
 * Reduces a finite x >= 2^20: returns r, within 0.501 ulp, and sets *n to 0 .. 4, so that
 * x = r + (*n + a multiple of 4) pi / 2 and |r| <= pi / 4.  Returns NaN if x is infinite or NaN.
 *
 * x is m 2^e with an integer m below 2^24.  Leading bits of 2 / pi whose products with x are multiples of
 * 4 are skipped.  The next 96 bits give the product with an error below 2^-70.
 */
static float cr_reduce_angle(float x, float *n)
{
    uint32_t bits;
    *n = 0.0f;
    if (!(x <= 3.402823466e38f)) {
        return x - x;
    }
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 23) - 150;
    const uint64_t m = (bits & 0x007fffffu) | 0x00800000u;
    /* the product modulo 4 in units of 2^-62 */
    uint64_t turns = (m * cr_two_over_pi_bits(e - 2)) << 32;
    turns += m * cr_two_over_pi_bits(e + 30);
    turns += (m * cr_two_over_pi_bits(e + 62)) >> 32;
    const uint64_t whole = (turns + ((uint64_t)1 << 61)) >> 62;
    *n = (float)(int)whole;
    return (float)((double)(int64_t)(turns - (whole << 62)) * 0x1.921fb54442d18p-62);
}

#endif
