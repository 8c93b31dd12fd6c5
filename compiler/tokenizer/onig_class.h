/*
 * onig_class.h - a class of characters in brackets. Oniguruma allows classes inside it (union) and
 * && (intersection); PCRE2 does not.
 */
#ifndef CR_ONIG_CLASS_H
#define CR_ONIG_CLASS_H

#include "onig_reader.h"

/* Reads a class after its [, and appends a pattern to `out` that matches one character of it. */
int cr_onig_class(struct cr_onig_reader *reader, struct cr_text *out);

#endif
