/*
 * scanner.h - makes the functions of characters.inc and the scanners (scan_gpt2.inc,
 * scan_llama3.inc) available to this folder.
 */
#ifndef CR_SCANNER_H
#define CR_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the end of the piece that begins at `at` < n, by GPT-2's pattern, and by Llama 3's with at
 * most `digits` digits in a row. */
size_t cr_scan_as_gpt2(const char *text, size_t at, size_t n);
size_t cr_scan_as_llama3(const char *text, size_t at, size_t n, size_t digits);

/* True if the character at `at` is white space; sets *bytes to its length. */
bool cr_is_space(const char *text, size_t at, size_t *bytes);

/* Returns the classes of a character; see characters.inc. */
int cr_class_of(uint32_t character);

/* Returns the character at `at`; sets *bytes to its length. */
uint32_t cr_character_at(const char *text, size_t at, size_t *bytes);

/* Returns the begin of the character that ends at `at` > 0. */
size_t cr_character_before(const char *text, size_t at);

#endif
