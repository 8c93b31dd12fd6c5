/* gguf_types.c - the table of GGUF's element types, with their conversion to floats; see
 * gguf_types.h. */
#include "gguf_types.h"

#include <stdio.h>

#include "numbers.h"

enum { BLOCK = 32, LARGE = 256 };

static float half_at(const unsigned char *at)
{
    return cr_number_float(CR_NUMBER_F16, 0, at);
}

/* ---- plain elements ---- */

static void f32(const unsigned char *from, int64_t first, int64_t n, float *out)
{
    (void)first;
    cr_numbers_floats(CR_NUMBER_F32, from, n, out);
}

static void f16(const unsigned char *from, int64_t first, int64_t n, float *out)
{
    (void)first;
    cr_numbers_floats(CR_NUMBER_F16, from, n, out);
}

static void bf16(const unsigned char *from, int64_t first, int64_t n, float *out)
{
    (void)first;
    cr_numbers_floats(CR_NUMBER_BF16, from, n, out);
}

static void f64(const unsigned char *from, int64_t first, int64_t n, float *out)
{
    (void)first;
    cr_numbers_floats(CR_NUMBER_F64, from, n, out);
}

/* ---- blocks of 32 ---- */

/* Converts a block of Q8_0: a scale d, then 32 bytes q.  The elements are d q, which a float
 * holds exactly. */
static void q8_0_block(const unsigned char *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < BLOCK; i++)
        out[i] = d * (float)(signed char)block[2 + i];
}

/* Converts a block of Q4_0: a scale d, then 16 bytes.  Element i has the low half of byte i as q,
 * element 16 + i the high half; its value is d (q - 8). */
static void q4_0_block(const unsigned char *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < BLOCK / 2; i++) {
        out[i] = d * (float)((block[2 + i] & 15) - 8);
        out[BLOCK / 2 + i] = d * (float)((block[2 + i] >> 4) - 8);
    }
}

/* Converts a block of Q4_1: as Q4_0, but with a minimum m after the scale.  The elements are d q
 * + m, rounded once, since d q is exact. */
static void q4_1_block(const unsigned char *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < BLOCK / 2; i++) {
        out[i] = d * (float)(block[4 + i] & 15) + m;
        out[BLOCK / 2 + i] = d * (float)(block[4 + i] >> 4) + m;
    }
}

/* ---- blocks of 256 ---- */

/* Converts a block of Q6_K.  For each half of 128 elements, 64 bytes have the low four bits of q
 * and 32 bytes the upper two bits.  Then follow 16 int8 scales s, one for every 16 elements, and
 * a scale d for all. The elements are d s (q - 32), which a float holds exactly. */
static void q6_k_block(const unsigned char *block, float *out)
{
    float d = half_at(block + 208);
    for (int i = 0; i < LARGE; i++) {
        int half = i / 128, part = i % 128 / 32, at = i % 32;
        int low = block[64 * half + part % 2 * 32 + at] >> part / 2 * 4 & 15;
        int high = block[128 + 32 * half + at] >> 2 * part & 3;
        int scale = (signed char)block[192 + i / 16];
        out[i] = d * (float)(scale * ((low | high << 4) - 32));
    }
}

/* ---- parts of blocks ---- */

/* Converts n elements by a function for whole blocks, from element `first` of the first block on.
 * A block has `size` elements in `bytes` bytes. */
static void each_block(void (*floats)(const unsigned char *block, float *out), int size,
                       size_t bytes, const unsigned char *blocks, int64_t first, int64_t n,
                       float *out)
{
    float block[LARGE];
    for (; n > 0; blocks += bytes) {
        int64_t some = size - first < n ? size - first : n;
        bool whole = some == size;
        floats(blocks, whole ? out : block);
        for (int64_t i = 0; !whole && i < some; i++)
            out[i] = block[first + i];
        out += some;
        n -= some;
        first = 0;
    }
}

static void q8_0(const unsigned char *blocks, int64_t first, int64_t n, float *out)
{
    each_block(q8_0_block, BLOCK, 34, blocks, first, n, out);
}

static void q4_0(const unsigned char *blocks, int64_t first, int64_t n, float *out)
{
    each_block(q4_0_block, BLOCK, 18, blocks, first, n, out);
}

static void q4_1(const unsigned char *blocks, int64_t first, int64_t n, float *out)
{
    each_block(q4_1_block, BLOCK, 20, blocks, first, n, out);
}

static void q6_k(const unsigned char *blocks, int64_t first, int64_t n, float *out)
{
    each_block(q6_k_block, LARGE, 210, blocks, first, n, out);
}

/* ---- the table ---- */

/* The types: name, number in files, elements and bytes of a block, and conversion. */
static const struct cr_gguf_type types[] = {
    {"F32", 0, 1, 4, f32},
    {"F16", 1, 1, 2, f16},
    {"BF16", 30, 1, 2, bf16},
    {"F64", 28, 1, 8, f64},
    {"Q8_0", 8, 32, 34, q8_0},
    {"Q4_0", 2, 32, 18, q4_0},
    {"Q4_1", 3, 32, 20, q4_1},
    {"Q5_0", 6, 32, 22, NULL},
    {"Q5_1", 7, 32, 24, NULL},
    {"Q8_1", 9, 32, 36, NULL},
    {"Q2_K", 10, 256, 84, NULL},
    {"Q3_K", 11, 256, 110, NULL},
    {"Q4_K", 12, 256, 144, NULL},
    {"Q5_K", 13, 256, 176, NULL},
    {"Q6_K", 14, 256, 210, q6_k},
    {"Q8_K", 15, 256, 292, NULL},
    {"IQ2_XXS", 16, 256, 66, NULL},
    {"IQ2_XS", 17, 256, 74, NULL},
    {"IQ3_XXS", 18, 256, 98, NULL},
    {"IQ1_S", 19, 256, 50, NULL},
    {"IQ4_NL", 20, 32, 18, NULL},
    {"IQ3_S", 21, 256, 110, NULL},
    {"IQ2_S", 22, 256, 82, NULL},
    {"IQ4_XS", 23, 256, 136, NULL},
    {"I8", 24, 1, 1, NULL},
    {"I16", 25, 1, 2, NULL},
    {"I32", 26, 1, 4, NULL},
    {"I64", 27, 1, 8, NULL},
    {"IQ1_M", 29, 256, 56, NULL},
    {"TQ1_0", 34, 256, 54, NULL},
    {"TQ2_0", 35, 256, 66, NULL},
    {"MXFP4", 39, 32, 17, NULL},
    {"NVFP4", 40, 64, 36, NULL},
};
enum { N_TYPES = sizeof types / sizeof *types };

const struct cr_gguf_type *cr_gguf_type_of(uint32_t number)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].number == (int64_t)number)
            return &types[i];
    return NULL;
}

char *cr_gguf_types_read(char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < N_TYPES && at < size; i++)
        if (types[i].floats)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "", types[i].name);
    return buf;
}
