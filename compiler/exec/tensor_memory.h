/*
 * tensor_memory.h - memory for tensors, whose sizes the user chooses.
 *
 * A size is checked against the machine before anything is touched, so that a sequence
 * length with too many zeros ends in one line of text and not in a killed process.
 */
#ifndef CR_TENSOR_MEMORY_H
#define CR_TENSOR_MEMORY_H

#include <stdint.h>

#include "compiler/ir/error.h"

/* 0 if this machine can hold `bytes`, else -1 and an error about `what`. */
int cr_memory_check(int64_t bytes, const char *what, struct cr_error *error);

/* `bytes` bytes aligned to 64; null (with the error set) if there are
 * not so many.  Freed with free(). */
void *cr_memory_new(int64_t bytes, const char *what, struct cr_error *error);

/* Makes all of it zeros.  Pages of a large one are given back, and are zeros when they are touched the next
 * time: a cache with room for a long text takes neither time nor memory before the text is there. */
void cr_memory_clear(void *memory, int64_t bytes);

#endif
