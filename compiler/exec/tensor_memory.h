/*
 * tensor_memory.h - memory for tensors, whose sizes the user chooses.
 *
 * A size is checked against the machine before anything is touched, so that a sequence
 * length with too many zeros ends in one line of text and not in a killed process.
 */
#ifndef CR_TENSOR_MEMORY_H
#define CR_TENSOR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/error.h"

/* Returns 0 if this machine can hold `bytes`, else -1 and an error about `what`. */
int cr_memory_check(int64_t bytes, const char *what, struct cr_error *error);

/* Returns `bytes` bytes aligned to 64, to be freed with free(); null with an error if memory is
 * insufficient.  `what` names the memory in the message. */
void *cr_memory_new(int64_t bytes, const char *what, struct cr_error *error);

/* Allocates memory as cr_memory_new does, but on small pages until cr_memory_use_large_pages is
 * called with the same size: for memory of which the first uses touch only a few parts. */
void *cr_memory_new_small(int64_t bytes, const char *what, struct cr_error *error);
void cr_memory_use_large_pages(void *memory, int64_t bytes);

/* Zeroed memory whose pages the system provides when they are first touched.  The pages are
 * small, because a part of each of many rows is used long before the rest. */
struct cr_zeros {
    void *memory; /* aligned to 64 */
    size_t bytes;
};

/* Allocates zeroed memory; returns -1 with an error if memory is insufficient.  cr_zeros_free may
 * be called even after a failure. */
int cr_zeros_new(struct cr_zeros *zeros, int64_t bytes, const char *what, struct cr_error *error);
void cr_zeros_free(struct cr_zeros *zeros);

/* Sets all of the memory to zeros by returning its pages to the system. */
void cr_zeros_clear(struct cr_zeros *zeros);

#endif
