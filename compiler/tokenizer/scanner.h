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

/* Of the character at `at`, whose bytes are counted: whether it is white space, and whether it
 * belongs to a word. */
bool cr_is_space(const char *text, size_t at, size_t *bytes);
bool cr_is_word(const char *text, size_t at, size_t *bytes);

/* The character at `at`, whose bytes are counted. */
uint32_t cr_character_at(const char *text, size_t at, size_t *bytes);

/* Where the character before `at` > 0 begins. */
size_t cr_character_before(const char *text, size_t at);

#endif
