/*
 * mem.h - checked allocation for the compiler's own structures.
 *
 * Their size is bounded by the script's size.  If memory is insufficient, the caller of the library
 * gets one line (unwind.h).  Tensors, whose size the user chooses, are allocated by their owners,
 * who report failure.
 */
#ifndef CR_MEM_H
#define CR_MEM_H

#include <stddef.h>

/* Allocates zeroed memory for count items of a size. */
void *cr_calloc(size_t count, size_t size);

/* Allocates memory that is not cleared: pages that are never written take no room. */
void *cr_malloc(size_t size);
char *cr_strdup(const char *text);

/* Makes room for one more item in a growing array; *cap is in items. */
void *cr_grow(void *items, int n, int *cap, size_t size);

/* Shrinks an array to its n items. */
void *cr_trim(void *items, int n, size_t size);

#define CR_PUSH(array, n, cap)                                                                     \
    ((array) = cr_grow((array), (n), &(cap), sizeof *(array)), &(array)[(n)++])

#endif
