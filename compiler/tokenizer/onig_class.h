/*
 * onig_class.h - a class of characters in brackets: Oniguruma's are united with classes inside them, and
 * cut with what is behind &&; PCRE2's are not.
 */
#ifndef CR_ONIG_CLASS_H
#define CR_ONIG_CLASS_H

#include "onig_reader.h"

/* Takes a class behind its [, and adds what matches one character of it to `out`. */
int cr_onig_class(struct cr_onig_reader *reader, struct cr_text *out);

#endif
