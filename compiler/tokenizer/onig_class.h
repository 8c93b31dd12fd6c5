/*
 * onig_class.h - translates a class of characters in brackets.  Oniguruma allows classes inside a
 * class (union) and && (intersection); PCRE2 does not.
 */
#ifndef CR_ONIG_CLASS_H
#define CR_ONIG_CLASS_H

#include "onig_reader.h"

/* Reads a class behind its [, and appends a PCRE2 pattern to `out` that matches one character of
 * it. */
int cr_onig_class(struct cr_onig_reader *reader, struct cr_text *out);

#endif
