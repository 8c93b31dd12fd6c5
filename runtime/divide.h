/*
 * divide.h - quotients and remainders of i32, rounded down: a remainder has the sign of the
 * divisor.  For divisor 0 both are 0; -2^31 / -1 wraps to -2^31.
 */
#ifndef CR_DIVIDE_H
#define CR_DIVIDE_H

#include "vector.h"

CR_INLINE uint32_t cr_floor_divide(uint32_t x, uint32_t y)
{
    const int32_t a = (int32_t)x, b = (int32_t)y;
    if (b == 0 || b == -1) {
        return b ? 0u - x : 0u;
    }
    return (uint32_t)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

CR_INLINE uint32_t cr_remainder(uint32_t x, uint32_t y)
{
    const int32_t a = (int32_t)x, b = (int32_t)y;
    if (b == 0 || b == -1) {
        return 0u;
    }
    return (uint32_t)(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b);
}

#endif
