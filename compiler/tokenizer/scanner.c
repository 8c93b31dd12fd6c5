/* scanner.c - compiles the scanners as functions for this folder; see scanner.h. */
#include "scanner.h"

#include <stdint.h>

/* The order matters: each file uses those above it. */
#include "classes.inc"

#include "characters.inc"

#include "class_runs.inc"

#include "class_of.inc"

#include "scan_shared.inc"

#include "step_back.inc"

#include "scan_gpt2.inc"
#include "scan_llama3.inc"

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

int cr_class_of(uint32_t character)
{
    return cr_class(character);
}

uint32_t cr_character_at(const char *text, size_t at, size_t *bytes)
{
    return cr_character(text, at, bytes);
}

size_t cr_character_before(const char *text, size_t at)
{
    return cr_step_back(text, at);
}
