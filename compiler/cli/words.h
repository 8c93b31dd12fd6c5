/* words.h - the values that an option takes, where they are few and have names. */
#ifndef CR_WORDS_H
#define CR_WORDS_H

#include <stddef.h>

/* The values of an option with spaces between, or "": for completions.  Returns buf. */
const char *cr_option_words(char *buf, size_t size, const char *option);

#endif
