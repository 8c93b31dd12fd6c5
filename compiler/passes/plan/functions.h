/* functions.h - which kernels are of the same code. */
#ifndef CR_FUNCTIONS_H
#define CR_FUNCTIONS_H

#include "compiler/passes/module/module.h"
#include "compiler/passes/module/starts.h"

/* By kernel. */
struct cr_functions {
    int *first;               /* the first kernel whose code it can share: one that differs from it
                               * only in which tensors it reads and writes and, if that makes one
                               * function of several, where in those it begins; or itself */
    struct cr_starts *starts; /* where calls of the code let it begin; null: always at 0 */
};

/* The caller frees both arrays. */
struct cr_functions cr_find_functions(const struct cr_module *m);

#endif
