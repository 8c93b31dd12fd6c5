/*
 * scanner.h - characters.inc and the scanners (scan_gpt2.inc, scan_llama3.inc) as functions of
 * this folder.
 */
#ifndef CR_SCANNER_H
#define CR_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the piece that begins at `at` < n ends, by GPT-2's pattern, or by Llama 3's with that many
 * digits. */
size_t cr_scan_as_gpt2(const char *text, size_t at, size_t n);
size_t cr_scan_as_llama3(const char *text, size_t at, size_t n, size_t digits);

/* True if the character at `at`, whose bytes are counted, is white space. */
bool cr_is_space(const char *text, size_t at, size_t *bytes);

/* The classes of a character, as characters.inc calls them. */
int cr_class_of(uint32_t character);

/* The character at `at`, whose bytes are counted. */
uint32_t cr_character_at(const char *text, size_t at, size_t *bytes);

/* Where the character before `at` > 0 begins. */
size_t cr_character_before(const char *text, size_t at);

#endif
