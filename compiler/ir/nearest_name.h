/* nearest_name.h - suggests a name for a mistyped word. */
#ifndef CR_NEAREST_NAME_H
#define CR_NEAREST_NAME_H

#include <stddef.h>

/* Returns the name that is most similar to a word, or null if none is similar.  `names` may hold
 * nulls. */
const char *cr_nearest(const char *word, const char *const *names, int n);

/* Writes ", did you mean NAME?" into buf, or "" if no name is similar.  Returns buf. */
char *cr_did_you_mean(char *buf, size_t size, const char *word, const char *const *names, int n);

#endif
