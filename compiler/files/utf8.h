/* utf8.h - characters in UTF-8; it stands in emitted C, too. */
#ifndef CR_UTF8_H
#define CR_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the character that begins at `at` if it is valid UTF-8, else 0. */
static inline size_t cr_utf8(const char *at, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = at < end ? (unsigned char)*at : 0xff;
    size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2, i;
    uint32_t code = n == 1 ? first : first & (0x7fu >> n);
    if (first >= 0xf8 || (first >= 0x80 && first < 0xc0) || n > (size_t)(end - at))
        return 0;
    for (i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

#endif
