#include "quantised_columns.h"

#include <string.h>

#include "runtime/runtime.h"

enum { BLOCK = 32, NONE = 0x7e00 /* a NaN of f16 */ };

static const struct {
    const char *name;
    enum cr_format format;
    int bytes;
} types[CR_QUANTISED_COUNT] = {[CR_Q8_0] = {"Q8_0", CR_FORMAT_q8, 34},
                               [CR_Q4_0] = {"Q4_0", CR_FORMAT_q4, 18},
                               [CR_Q4_1] = {"Q4_1", CR_FORMAT_q4, 20}};

bool cr_quantised_find(const char *name, enum cr_quantised *type)
{
    for (int i = 0; i < CR_QUANTISED_COUNT; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = (enum cr_quantised)i;
            return true;
        }
    return false;
}

enum cr_format cr_quantised_format(enum cr_quantised type)
{
    return types[type].format;
}

int cr_quantised_bytes(enum cr_quantised type)
{
    return types[type].bytes;
}

static unsigned half_at(const unsigned char *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static void put_half(unsigned char *halves, int column, unsigned half)
{
    uint16_t value = (uint16_t)half;
    memcpy(halves + 2 * column, &value, 2);
}

static bool is_finite(unsigned half)
{
    return (half & 0x7c00) != 0x7c00;
}

/* Returns -8 d in f16, exact or infinite, for d in f16.  The exponent grows by 3; a subnormal
 * mantissa is first shifted until it is normal. */
static unsigned minus_eight(unsigned half)
{
    unsigned sign = ~half & 0x8000, size = half & 0x7fff, units = size & 0x3ff;
    if (size >= 0x400)
        return sign | (size + 0x0c00 < 0x7c00 ? size + 0x0c00 : 0x7c00);
    int shift = 0;
    while (shift < 3 && units < 0x400) {
        units <<= 1;
        shift++;
    }
    return sign | (units < 0x400 ? units : units + (unsigned)(3 - shift) * 0x400);
}

/* Writes byte i of a column.  A panel consists of words of 4 bytes; words of its 32 columns are
 * side by side. */
static void put_byte(unsigned char *panel, int column, int i, unsigned byte)
{
    panel[(i / 4 * CR_PANEL + column) * 4 + i % 4] = (unsigned char)byte;
}

static void place_q8(const unsigned char *block, unsigned char *panel, int column)
{
    unsigned d = half_at(block);
    bool fits = is_finite(d);
    for (int k = 0; k < BLOCK; k++)
        put_byte(panel, column, k, fits ? block[2 + k] ^ 0x80u : 0x80u);
    put_half(panel + 8 * 4 * CR_PANEL, column, fits ? d : NONE);
}

/* Returns the 4-bit number k of a block whose numbers take 16 bytes. */
static unsigned nibble(const unsigned char *bytes, int k)
{
    return k < BLOCK / 2 ? bytes[k] & 15u : bytes[k - BLOCK / 2] >> 4;
}

static void place_q4(const unsigned char *bytes, unsigned d, unsigned m, unsigned char *panel,
                     int column)
{
    unsigned char *halves = panel + 4 * 4 * CR_PANEL;
    bool fits = is_finite(d) && is_finite(m);
    for (int i = 0; i < BLOCK / 2; i++) {
        int k = i / 4 * 8 + i % 4;
        put_byte(panel, column, i, fits ? nibble(bytes, k) | nibble(bytes, k + 4) << 4 : 0);
    }
    put_half(halves, column, fits ? d : NONE);
    put_half(halves + 2 * CR_PANEL, column, fits ? m : 0);
}

void cr_place_quantised(enum cr_quantised type, const unsigned char *blocks, long n,
                        unsigned char *panel, int column)
{
    enum cr_format format = types[type].format;
    for (long i = 0; i < n; i++, blocks += types[type].bytes) {
        if (type == CR_Q8_0)
            place_q8(blocks, panel, column);
        else if (type == CR_Q4_0)
            place_q4(blocks + 2, half_at(blocks), minus_eight(half_at(blocks)), panel, column);
        else
            place_q4(blocks + 4, half_at(blocks), half_at(blocks + 2), panel, column);
        panel += cr_format_bytes(format, BLOCK) * CR_PANEL;
    }
}
