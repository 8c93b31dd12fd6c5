/*
 * starts.h - where in its buffers a kernel begins to read and to write.
 *
 * Kernels that read a row each of one tensor, as the steps of a recurrence do, differ in nothing but
 * where their rows begin.  They share a function that begins at the first element of each operand,
 * and a call hands it the place inside the buffer.
 */
#ifndef CR_STARTS_H
#define CR_STARTS_H

#include "kernel.h"

enum { CR_START_RESULT = CR_MAX_REFS };

/* In elements: by ref, and of the result. */
struct cr_starts {
    int64_t at[CR_MAX_REFS + 1];
};

/* True if the kernel has operand `i` and reads it from memory as it is: it is no packed weight, nor
 * computed row by row. */
bool cr_reads_operand(const struct cr_kernel *kernel, int i);

/* The ref of operand `i`; -1 if the kernel has no such operand, or it is a packed weight, or computed
 * row by row. */
int cr_ref_of_operand(const struct cr_kernel *kernel, int i);

/* True if all that the code of a kernel takes from a ref or its result lies at an index that
 * cr_begin_at changes. */
bool cr_has_starts(const struct cr_kernel *kernel);

/* The lowest constant part of the indices of each ref, and of the result. */
void cr_find_starts(const struct cr_kernel *kernel, struct cr_starts *starts);

/* Subtracts starts from the indices of a kernel, a copy of which it should be. */
void cr_begin_at(struct cr_kernel *kernel, const struct cr_starts *starts);

#endif
