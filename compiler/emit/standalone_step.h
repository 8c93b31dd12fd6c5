/* standalone_step.h - prints a training step as standalone C: a function that computes the next
 * state from a state. */
#ifndef CR_STANDALONE_STEP_H
#define CR_STANDALONE_STEP_H

#include "standalone_text.h"

/* Append the header, and the functions that come after the kernels. */
void cr_put_step_header(struct cr_text *t, const struct cr_standalone *s);
void cr_put_step_source(struct cr_text *t, const struct cr_standalone *s);

#endif
