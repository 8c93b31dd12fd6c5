/* utf8.h - characters in UTF-8; it is also copied into emitted C. */
#ifndef CR_UTF8_H
#define CR_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes of the character at `at`, or 0 if it is not valid UTF-8. */
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
