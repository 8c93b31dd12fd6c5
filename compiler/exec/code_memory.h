/*
 * code_memory.h - memory for machine code: writable first, executable later, and never both.
 */
#ifndef CR_CODE_MEMORY_H
#define CR_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* All zero if there is none. */
struct cr_code_memory {
    void *start; /* of a page; code is written where it will run */
    size_t bytes;
    int fd; /* of the pages while they can be written, or -1: they are anonymous */
};

/* Memory that can be written and not executed.  False, with errno, if there is none. */
bool cr_code_memory_new(struct cr_code_memory *memory, size_t bytes);

/* From now on it can be executed and not written.  False, with errno, if the system forbids it. */
bool cr_code_memory_protect(struct cr_code_memory *memory);

void cr_code_memory_free(struct cr_code_memory *memory);

#endif
