/* cutter.h - how a pre-tokenizer cuts text, character by character; it is also copied into emitted C. */
#ifndef CR_CUTTER_H
#define CR_CUTTER_H

#include "lookup_tables.h"

/* Flags: adjacent characters of these classes, 1 or 2, stay in one piece. */
enum { CR_JOINS_11 = 1, CR_JOINS_12 = 2, CR_JOINS_21 = 4, CR_JOINS_22 = 8 };

struct cr_cutter {
    /* Returns the end of the next piece that begins at or after `at`, and sets where it begins;
     * 0 if there is no piece. */
    size_t (*piece)(const struct cr_cutter *cutter, const char *text, size_t n, size_t at, size_t *begin);
    int (*class_of)(const struct cr_cutter *cutter, uint32_t character); /* 1 or 2; 0: it is left out */
    int joins;
    int drops;          /* a class of characters that are dropped, or 0 */
    uint32_t character; /* of cr_cut_character */
    size_t digits;      /* of a scanner */
};

#endif
