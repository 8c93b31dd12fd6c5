/* functions.h - the kernels that share their code. */
#ifndef CR_FUNCTIONS_H
#define CR_FUNCTIONS_H

#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/module.h"

/* By kernel. */
struct cr_functions {
    int *first;               /* the first kernel with the same code, or itself: they differ only in
                               * the tensors that they read and write and, if that joins several
                               * functions, in the offsets there */
    struct cr_buffer_offsets *starts; /* the offsets that calls pass to the code; null: all 0 */
};

/* Finds the functions of a module's kernels.  The caller frees both arrays. */
struct cr_functions cr_find_functions(const struct cr_module *m);

#endif
