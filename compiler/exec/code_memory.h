/*
 * code_memory.h - memory for machine code: writable first, executable later, and never both.
 */
#ifndef CR_CODE_MEMORY_H
#define CR_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* A block of memory for code; all zeros if there is none. */
struct cr_code_memory {
    void *start; /* page-aligned; code is written where it will run */
    size_t bytes;
    int fd; /* while writable: the file of the pages, or -1 if they are anonymous; later -1 */
};

/* Allocates memory that is writable but not executable.  Returns false and sets errno on
 * failure. */
bool cr_code_memory_new(struct cr_code_memory *memory, size_t bytes);

/* Makes the memory executable and no longer writable.  Returns false and sets errno if the system
 * forbids it. */
bool cr_code_memory_protect(struct cr_code_memory *memory);

void cr_code_memory_free(struct cr_code_memory *memory);

#endif
