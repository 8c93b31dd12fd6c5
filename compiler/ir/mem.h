/*
 * mem.h - allocates memory for the compiler's own structures, and never returns null.
 *
 * Their size is bounded by the script's size.  If memory is insufficient, the caller of the
 * library gets an error (unwind.h).  Tensors, whose size the user chooses, are allocated by their
 * owners, who report failure.
 */
#ifndef CR_MEM_H
#define CR_MEM_H

#include <stddef.h>

/* Returns zeroed memory for `count` items of `size` bytes. */
void *cr_calloc(size_t count, size_t size);

/* Returns memory that is not cleared: pages that are never written take no physical memory. */
void *cr_malloc(size_t size);
char *cr_strdup(const char *text);

/* Returns `items`, an array of n items, moved if necessary so that one more item fits; *cap is
 * its capacity in items. */
void *cr_grow(void *items, int n, int *cap, size_t size);

/* Returns the array `items`, shrunk to its n items of `size` bytes. */
void *cr_trim(void *items, int n, size_t size);

#define CR_PUSH(array, n, cap)                                                                     \
    ((array) = cr_grow((array), (n), &(cap), sizeof *(array)), &(array)[(n)++])

#endif
