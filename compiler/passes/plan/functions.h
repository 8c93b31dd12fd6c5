/* functions.h - finds kernels that share the code of one function. */
#ifndef CR_FUNCTIONS_H
#define CR_FUNCTIONS_H

#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/module.h"

/* The functions of a module, by kernel. */
struct cr_functions {
    int *first;               /* the first kernel with the same code, which may be the kernel
                                 itself.  Such kernels differ only in the tensors that they read and
                                 write and, where functions were joined, in the offsets in these
                                 tensors */
    struct cr_buffer_offsets *starts; /* the offsets that calls of the kernel's function pass; null
                                         if all are 0 */
};

/* Finds the functions of a module's kernels.  The caller frees both arrays. */
struct cr_functions cr_find_functions(const struct cr_module *m);

#endif
