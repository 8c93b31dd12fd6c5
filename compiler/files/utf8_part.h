/* utf8_part.h - cuts incomplete characters off a text in UTF-8; it is also copied into emitted C. */
#ifndef CR_UTF8_PART_H
#define CR_UTF8_PART_H

#include <stddef.h>

/* Returns how many of n bytes remain without an incomplete character at the end. */
static inline size_t cr_utf8_without_part(const char *text, size_t n)
{
    size_t back = 0, bytes;
    unsigned char lead;
    while (back < 3 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == n)
        return n;
    lead = (unsigned char)text[n - 1 - back];
    bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return lead < 0xf8 && bytes > back + 1 ? n - 1 - back : n;
}

#endif
