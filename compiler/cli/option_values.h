/* option_values.h - lists the values of options that accept one of a few names. */
#ifndef CR_OPTION_VALUES_H
#define CR_OPTION_VALUES_H

#include <stddef.h>

/* Writes the possible values of an option to buf, separated by spaces, for shell completions; ""
 * if any value is allowed. Returns buf. */
const char *cr_option_values(char *buf, size_t size, const char *option);

#endif
