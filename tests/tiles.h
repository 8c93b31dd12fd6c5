/*
 * tiles.h - the tile instructions of AMX in plain C, as Intel's manual defines them, for machines
 * that lack them.
 *
 * Included in front of runtime/amx_*.inc, in place of the compiler's intrinsics.  What a processor would
 * refuse fails an assertion: a tile of no rows, tiles whose sizes do not fit each other.
 */
#ifndef CR_TILES_H
#define CR_TILES_H

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/vector.h" /* and with it the intrinsics */

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#define _tile_loadconfig(config) tile_loadconfig(config)
#define _tile_release() tile_release()
#define _tile_zero(t) tile_zero(t)
#define _tile_loadd(t, p, stride) tile_loadd(t, p, stride)
#define _tile_stored(t, p, stride) tile_stored(t, p, stride)
#define _tile_dpbf16ps(t, a, b) tile_dpbf16ps(t, a, b)
#define _tile_dpbssd(t, a, b) tile_dpb(t, a, b, 1, 1)
#define _tile_dpbsud(t, a, b) tile_dpb(t, a, b, 1, 0)
#define _tile_dpbusd(t, a, b) tile_dpb(t, a, b, 0, 1)
#define _tile_dpbuud(t, a, b) tile_dpb(t, a, b, 0, 0)

struct tile {
    int rows, bytes; /* of a row */
    unsigned char at[16][64];
};

static struct tile tiles[8];
static int tiles_configured;

static inline void tile_loadconfig(const void *config)
{
    const unsigned char *bytes = config;
    assert(bytes[0] == 1);
    for (int i = 1; i < 16; i++)
        assert(bytes[i] == 0);
    for (int t = 0; t < 8; t++) {
        uint16_t row_bytes;
        memcpy(&row_bytes, bytes + 16 + 2 * t, 2);
        tiles[t] = (struct tile){.rows = bytes[48 + t], .bytes = row_bytes};
        assert(tiles[t].rows <= 16 && row_bytes <= 64 && row_bytes % 4 == 0);
        assert(!tiles[t].rows == !row_bytes);
    }
    tiles_configured = 1;
}

static inline void tile_release(void)
{
    tiles_configured = 0;
}

static inline struct tile *tile_at(int t)
{
    assert(tiles_configured && t >= 0 && t < 8 && tiles[t].rows);
    return &tiles[t];
}

static inline void tile_zero(int t)
{
    memset(tile_at(t)->at, 0, sizeof tiles[t].at);
}

static inline void tile_loadd(int t, const void *p, long stride)
{
    tile_zero(t);
    for (int r = 0; r < tiles[t].rows; r++)
        memcpy(tiles[t].at[r], (const char *)p + r * stride, (size_t)tiles[t].bytes);
}

static inline void tile_stored(int t, void *p, long stride)
{
    const struct tile *tile = tile_at(t);
    for (int r = 0; r < tile->rows; r++)
        memcpy((char *)p + r * stride, tile->at[r], (size_t)tile->bytes);
}

/* Flushes a denormal to a zero of its sign. */
static inline float tile_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Returns a b + c with DAZ and FTZ.  A small result is rounded to 24 bits while it is scaled by
 * 2^64. */
static inline float tile_fma(float a, float b, float c)
{
    float y;
    a = tile_flush(a), b = tile_flush(b), c = tile_flush(c);
    y = fmaf(a, b, c);
    if (fabsf(y) <= 0x1p-120f && fabsf(c) < 1) {
        double large = (double)a * 0x1p64;
        float scaled = fabs(large) < 0x1p127 ? fmaf((float)large, b, c * 0x1p64f)
                                             : fmaf(a, b * 0x1p64f, c * 0x1p64f);
        y = fabsf(scaled) < 0x1p-62f ? copysignf(0, scaled) : scaled * 0x1p-64f;
    }
    return y;
}

static inline float tile_add(float a, float b)
{
    return tile_flush(tile_flush(a) + tile_flush(b));
}

static inline float tile_bf16(const unsigned char *p)
{
    uint16_t half;
    uint32_t bits;
    float x;
    memcpy(&half, p, 2);
    bits = (uint32_t)half << 16;
    memcpy(&x, &bits, 4);
    return x;
}

/* Checks the sizes of C += A B: rows of A and C, dwords in a row of A and rows of B, columns of B
 * and C. */
static inline void tile_check(const struct tile *c, const struct tile *a, const struct tile *b)
{
    assert(c != a && a != b && b != c);
    assert(c->rows == a->rows && a->bytes == 4 * b->rows && b->bytes == c->bytes);
}

static inline void tile_dpbf16ps(int t, int ta, int tb)
{
    struct tile *c = tile_at(t), *a = tile_at(ta), *b = tile_at(tb);
    tile_check(c, a, b);
    for (int m = 0; m < c->rows; m++)
        for (int n = 0; n < c->bytes / 4; n++) {
            float even = 0, odd = 0, sum;
            for (int k = 0; k < a->bytes / 4; k++) {
                const unsigned char *x = a->at[m] + 4 * k, *w = b->at[k] + 4 * n;
                even = tile_fma(tile_bf16(x), tile_bf16(w), even);
                odd = tile_fma(tile_bf16(x + 2), tile_bf16(w + 2), odd);
            }
            memcpy(&sum, c->at[m] + 4 * n, 4);
            sum = tile_add(sum, tile_add(even, odd));
            memcpy(c->at[m] + 4 * n, &sum, 4);
        }
}

/* Adds products of bytes, signed or unsigned, modulo 2^32. */
static inline void tile_dpb(int t, int ta, int tb, int signed_a, int signed_b)
{
    struct tile *c = tile_at(t), *a = tile_at(ta), *b = tile_at(tb);
    tile_check(c, a, b);
    for (int m = 0; m < c->rows; m++)
        for (int n = 0; n < c->bytes / 4; n++) {
            uint32_t sum;
            memcpy(&sum, c->at[m] + 4 * n, 4);
            for (int k = 0; k < a->bytes; k++) {
                int x = a->at[m][k], w = b->at[k / 4][4 * n + k % 4];
                x = signed_a ? (signed char)x : x;
                w = signed_b ? (signed char)w : w;
                sum += (uint32_t)(x * w);
            }
            memcpy(c->at[m] + 4 * n, &sum, 4);
        }
}

#endif
