#include "numbers.h"

#include <string.h>

CR_API size_t cr_number_width(enum cr_number type)
{
    return type == CR_NUMBER_F16 || type == CR_NUMBER_BF16  ? 2
           : type == CR_NUMBER_F64 || type == CR_NUMBER_I64 ? 8
           : type == CR_NUMBER_I8 || type == CR_NUMBER_U8   ? 1
                                                            : 4;
}

/* Returns the bits of an element as an integer. */
static uint64_t cr_number_bits(const unsigned char *at, size_t width, int big)
{
    uint64_t bits = 0;
    size_t i;
    if (!big)
        memcpy(&bits, at, width);
    for (i = 0; big && i < width; i++)
        bits = bits << 8 | at[i];
    return bits;
}

static float cr_number_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Converts a binary16 exactly; a denormal is its 10 bits times 2^-24. */
static float cr_number_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31)
        return cr_number_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return (sign ? -1.0f : 1.0f) * ((float)fraction / 16777216.0f);
    return cr_number_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

CR_API double cr_number_double(int big, const unsigned char *at)
{
    uint64_t bits = cr_number_bits(at, 8, big);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

CR_API float cr_number_float(enum cr_number type, int big, const unsigned char *at)
{
    if (type == CR_NUMBER_F64)
        return (float)cr_number_double(big, at);
    if (type == CR_NUMBER_F16)
        return cr_number_of_half((uint32_t)cr_number_bits(at, 2, big));
    if (type == CR_NUMBER_BF16)
        return cr_number_of_bits((uint32_t)cr_number_bits(at, 2, big) << 16);
    return cr_number_of_bits((uint32_t)cr_number_bits(at, 4, big));
}

CR_API int64_t cr_number_integer(enum cr_number type, int big, const unsigned char *at)
{
    if (type == CR_NUMBER_I64)
        return (int64_t)cr_number_bits(at, 8, big);
    if (type == CR_NUMBER_I8 || type == CR_NUMBER_U8)
        return type == CR_NUMBER_I8 ? (signed char)*at : *at;
    return (int32_t)(uint32_t)cr_number_bits(at, 4, big);
}

CR_API void cr_numbers_floats(enum cr_number type, const unsigned char *from, int64_t n, float *out)
{
    int64_t i;
    if (type == CR_NUMBER_F32 && n > 0)
        memcpy(out, from, (size_t)n * sizeof *out);
    for (i = 0; type == CR_NUMBER_F16 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_F16, 0, from + 2 * i);
    for (i = 0; type == CR_NUMBER_BF16 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_BF16, 0, from + 2 * i);
    for (i = 0; type == CR_NUMBER_F64 && i < n; i++)
        out[i] = cr_number_float(CR_NUMBER_F64, 0, from + 8 * i);
}
