/*
 * elements.h - arrays of elements that are known when a model is read, such as those of folded values.
 *
 * They may be large and of short use, so that they are not in the arena: whoever holds pointers marks
 * the arrays that are still read, and the others are freed.  An array of a few elements stays in the arena.
 */
#ifndef CR_ELEMENTS_H
#define CR_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

/* So many elements of 8 bytes are in the arena. */
enum { CR_ELEMENTS_FEW = 64 };

/* Beyond so many bytes no more values are folded. */
#define CR_ELEMENTS_MOST ((size_t)1 << 30)

/* The same of all bytes that were ever made, whether they are freed or not: the time that folding takes is
 * bounded, also where a small file has loops of many rounds. */
#define CR_ELEMENTS_EVER ((size_t)4 << 30)

struct cr_elements_array;

struct cr_elements {
    struct cr_elements_array **arrays; /* by address once they are sorted */
    int n, cap, n_sorted;
    size_t bytes;
    size_t ever;  /* the bytes of all arrays, also of those that are freed */
    size_t swept; /* the bytes that the last sweep left */
};

/* Room for n elements of 8 bytes, which are 0. */
void *cr_elements_new(struct cr_elements *elements, struct cr_arena *arena, size_t n);

/* Whether no more than the two bounds is kept and was made. */
bool cr_elements_have_room(const struct cr_elements *elements);

/* Whether so much was added since the last sweep that another one is worth its time. */
bool cr_elements_are_many(const struct cr_elements *elements);

/* Whether a pointer is an array of these. */
bool cr_elements_have(struct cr_elements *elements, const void *data);

/* Notes that an array is read; pointers to anything else are passed over. */
void cr_elements_mark(struct cr_elements *elements, const void *data);

/* Frees all arrays that are not marked, and removes the marks. */
void cr_elements_sweep(struct cr_elements *elements);

void cr_elements_free(struct cr_elements *elements);

#endif
