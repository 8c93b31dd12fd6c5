/* unicode.c - tests for case folding to several characters, and for valid UTF-8; see unicode.h. */
#include "unicode.h"

#include <utf8proc.h>

#include "compiler/files/utf8.h"

bool cr_is_utf8(const char *text, size_t n, size_t *at)
{
    for (*at = 0; *at < n;) {
        size_t bytes = (unsigned char)text[*at] < 0x80 ? 1 : cr_utf8(text + *at, text + n);
        if (bytes == 0)
            return false;
        *at += bytes;
    }
    return true;
}

bool cr_folds_to_many(uint32_t character)
{
    enum { LONGEST = 32 };
    utf8proc_int32_t parts[LONGEST];
    int boundary = 0;
    return utf8proc_decompose_char((utf8proc_int32_t)character, parts, LONGEST, UTF8PROC_CASEFOLD,
                                   &boundary) > 1;
}
