/* describe.h - what a kernel computes, where it comes from and what it costs, in words. */
#ifndef CR_DESCRIBE_H
#define CR_DESCRIBE_H

#include "builder.h"

/* Lines for the comment before its function; the caller frees them. */
char *cr_describe(const struct cr_builder *b, const char *title);

#endif
