/* option_values.h - the values of options that take one of a few names. */
#ifndef CR_OPTION_VALUES_H
#define CR_OPTION_VALUES_H

#include <stddef.h>

/* Writes the values of an option, separated by spaces, or "", into buf and returns it; for
 * completions. */
const char *cr_option_values(char *buf, size_t size, const char *option);

#endif
