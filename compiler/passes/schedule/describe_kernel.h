/* describe_kernel.h - describes a kernel in words: its equation, its line in the script, its
 * cost. */
#ifndef CR_DESCRIBE_KERNEL_H
#define CR_DESCRIBE_KERNEL_H

#include "builder.h"

/* Returns the lines of the comment before the kernel's function; the caller frees them. */
char *cr_describe(const struct cr_builder *b, const char *title);

#endif
