/*
 * code_memory.h - memory for machine code: writable first, executable later, and never both.
 */
#ifndef CR_CODE_MEMORY_H
#define CR_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* All zero if there is no code. */
struct cr_code_memory {
    void *start; /* page-aligned; code is written at the address where it runs */
    size_t bytes;
    int fd; /* file of the pages while writable; -1: anonymous, or executable already */
};

/* Allocates memory that is writable and not executable.  Returns false, with errno set, on
 * failure. */
bool cr_code_memory_new(struct cr_code_memory *memory, size_t bytes);

/* Makes the memory executable and not writable.  Returns false, with errno set, if the system
 * forbids it. */
bool cr_code_memory_protect(struct cr_code_memory *memory);

void cr_code_memory_free(struct cr_code_memory *memory);

#endif
