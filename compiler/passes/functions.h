/* functions.h - which kernels are of the same code. */
#ifndef CR_FUNCTIONS_H
#define CR_FUNCTIONS_H

#include "module.h"

/* By kernel: the first kernel that differs from it only in which tensors it reads and writes, or
 * itself.  The caller frees it. */
int *cr_find_functions(const struct cr_module *m);

#endif
