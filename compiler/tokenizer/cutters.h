/* cutters.h - the table of pre-tokenizers that cut between two characters, depending on the classes
 * of both. */
#ifndef CR_CUTTERS_H
#define CR_CUTTERS_H

#include <stdbool.h>

#include "cutter.h"
#include "pieces.h"

enum cr_cut_kind {
    CR_CUT_NOT, /* the pre-tokenizer does not cut character by character */
    CR_CUT_SPACE,
    CR_CUT_BERT,
    CR_CUT_PUNCTUATION,
    CR_CUT_DIGITS,
    CR_CUT_WORDS,
    CR_CUT_CHARACTER,
    CR_CUT_SCRIPTS,
    CR_CUT_KINDS
};

/* A kind of cut: the names of its functions in cut_characters.inc, and a cutter that calls them. */
struct cr_cut_row {
    const char *piece, *class_of; /* `class_of` may be null */
    struct cr_cutter cutter;      /* its functions are compiled into the library */
};

extern const struct cr_cut_row cr_cut_rows[CR_CUT_KINDS];

/* Returns the cutter of a kind with two classes for a behavior of matches. */
struct cr_cutter cr_cutter_of(enum cr_cut_kind kind, enum cr_behavior behavior, bool invert);

/* Cuts n bytes of text and appends the pieces; `leading` of the bytes are leading bytes
 * (leading.inc). */
void cr_cut_by(const struct cr_cutter *cutter, struct cr_pieces *out, const char *text, size_t n,
               size_t leading);

#endif
