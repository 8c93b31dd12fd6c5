/* utf8_put.h - writes characters in UTF-8; it is also copied into emitted C. */
#ifndef CR_UTF8_PUT_H
#define CR_UTF8_PUT_H

#include <stddef.h>
#include <stdint.h>

/* Writes a character as UTF-8; returns the number of bytes. */
static inline size_t cr_utf8_put(char *out, uint32_t code)
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;
    for (i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(marks[n] | code);
    return n;
}

#endif
