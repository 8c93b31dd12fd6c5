/*
 * buffer_offsets.h - the offsets, in its buffers, at which a kernel begins to read and to write.
 *
 * Kernels that each read a row of one tensor, as the steps of a recurrence do, differ only in the
 * offsets of their rows.  They share a function that starts at the first element of each operand;
 * each call passes the address inside the buffer.
 */
#ifndef CR_BUFFER_OFFSETS_H
#define CR_BUFFER_OFFSETS_H

#include "kernel.h"

enum { CR_START_RESULT = CR_MAX_REFS };

/* Offsets in elements: at[ref] for operand `ref`, and at[CR_START_RESULT] for the result. */
struct cr_buffer_offsets {
    int64_t at[CR_MAX_REFS + 1];
};

/* True if the kernel reads operand `i` of its kind from memory.  False for a packed weight, and for
 * an operand whose rows the kernel computes. */
bool cr_reads_operand(const struct cr_kernel *kernel, int i);

/* Returns the ref of operand `i`; -1 if the kernel does not read it from memory. */
int cr_ref_of_operand(const struct cr_kernel *kernel, int i);

/* True if cr_set_buffer_offsets shifts every index of the kernel's refs and result. */
bool cr_has_buffer_offsets(const struct cr_kernel *kernel);

/* Sets *starts to the lowest constant part of the indices of each ref, and of the result. */
void cr_find_buffer_offsets(const struct cr_kernel *kernel, struct cr_buffer_offsets *starts);

/* Subtracts the offsets in *starts from the indices of a kernel, which is usually a copy. */
void cr_set_buffer_offsets(struct cr_kernel *kernel, const struct cr_buffer_offsets *starts);

#endif
