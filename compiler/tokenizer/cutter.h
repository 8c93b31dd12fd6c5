/* cutter.h - how a pre-tokenizer cuts text, character by character; it stands in emitted C, too. */
#ifndef CR_CUTTER_H
#define CR_CUTTER_H

#include "lookup_tables.h"

/* Flags: neighbours of these classes, 1 or 2, stay in one piece. */
enum { CR_JOINS_11 = 1, CR_JOINS_12 = 2, CR_JOINS_21 = 4, CR_JOINS_22 = 8 };

struct cr_cutter {
    /* The end of the next piece that begins at or behind `at`, and where it begins; 0: there is none. */
    size_t (*piece)(const struct cr_cutter *cutter, const char *text, size_t n, size_t at, size_t *begin);
    int (*class_of)(const struct cr_cutter *cutter, uint32_t character); /* 1 or 2; 0: it is left out */
    int joins;
    int drops;          /* a class that is left out, too, or 0 */
    uint32_t character; /* of cr_cut_character */
    size_t digits;      /* of a scanner */
};

#endif
