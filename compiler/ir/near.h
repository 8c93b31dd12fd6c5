/* near.h - what somebody may have meant. */
#ifndef CR_NEAR_H
#define CR_NEAR_H

#include <stddef.h>

/* The name a word most likely stands for, or null if none is near.  `names` may hold nulls. */
const char *cr_nearest(const char *word, const char *const *names, int n);

/* ", did you mean NAME?" into buf, or "" if no name is near.  Returns buf. */
char *cr_did_you_mean(char *buf, size_t size, const char *word, const char *const *names, int n);

#endif
