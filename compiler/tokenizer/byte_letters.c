/* byte_letters.c - the characters that represent bytes; see byte_letters.h. */
#include "byte_letters.h"

#include <stdint.h>

enum { FIRST = 0x100, LAST = 0x143 }; /* the characters that represent invisible bytes */

static bool is_visible(unsigned byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* Returns the character that represents a byte; for invisible bytes these count from FIRST on. */
static unsigned letter_of(unsigned byte)
{
    if (is_visible(byte))
        return byte;
    return byte < 0x21 ? FIRST + byte : byte < 0xa1 ? FIRST + 0x21 + byte - 0x7f : LAST;
}

/* Returns the byte that a character represents, or -1. */
static int byte_of(unsigned letter)
{
    if (letter < FIRST)
        return is_visible(letter) ? (int)letter : -1;
    if (letter > LAST)
        return -1;
    letter -= FIRST;
    return (int)(letter < 0x21 ? letter : letter < LAST - FIRST ? letter - 0x21 + 0x7f : 0xad);
}

void cr_put_byte_letters(struct cr_text *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned letter = letter_of((unsigned char)bytes[i]);
        char two[2] = {(char)(0xc0 | letter >> 6), (char)(0x80 | (letter & 0x3f))};
        if (letter < 0x80) {
            two[0] = (char)letter;
            cr_put_bytes(out, two, 1);
        } else {
            cr_put_bytes(out, two, 2);
        }
    }
}

void cr_put_led_letters(struct cr_text *out, const char *bytes, size_t n, size_t *leading)
{
    size_t begin = out->length, led = *leading;
    cr_put_byte_letters(out, bytes, led);
    *leading = out->length - begin;
    cr_put_byte_letters(out, bytes + led, n - led);
}

bool cr_put_letters_bytes(struct cr_text *out, const char *letters, size_t n)
{
    size_t length = out->length;
    for (size_t i = 0; i < n; i++) {
        unsigned letter = (unsigned char)letters[i];
        if (letter >= 0xc0 && letter < 0xe0 && i + 1 < n)
            letter = (letter & 0x1f) << 6 | ((unsigned char)letters[++i] & 0x3f);
        int byte = letter >= 0x80 && (unsigned char)letters[i] >= 0xc0 ? -1 : byte_of(letter);
        if (byte < 0) {
            out->length = length;
            return false;
        }
        char c = (char)byte;
        cr_put_bytes(out, &c, 1);
    }
    return true;
}
