/* words.h - the named values of an option that has few. */
#ifndef CR_WORDS_H
#define CR_WORDS_H

#include <stddef.h>

/* Returns `buf` with the named values of an option, separated by spaces, or "".  For
 * completions. */
const char *cr_option_words(char *buf, size_t size, const char *option);

#endif
