/* scanner.c - scan.inc as functions of this folder; see scanner.h. */
#include "scanner.h"

#include <stdint.h>

#include "classes.inc"
#include "scan.inc"

size_t cr_scan_as_gpt2(const char *text, size_t at, size_t n)
{
    return cr_scan_gpt2(text, at, n);
}

size_t cr_scan_as_llama3(const char *text, size_t at, size_t n, size_t digits)
{
    return cr_scan_llama3(text, at, n, digits);
}

bool cr_is_space(const char *text, size_t at, size_t *bytes)
{
    return cr_class(cr_character(text, at, bytes)) & CR_SPACE;
}

bool cr_is_word(const char *text, size_t at, size_t *bytes)
{
    return cr_class(cr_character(text, at, bytes)) & CR_WORD;
}

size_t cr_character_before(const char *text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}
