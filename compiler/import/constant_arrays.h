/*
 * constant_arrays.h - arrays of tensor elements that are known at import, such as the results of
 * constant folding.
 *
 * Large arrays are not in the arena but are garbage-collected, as most of them are soon unused: the
 * holders of pointers mark the arrays that are still in use, and a sweep frees the others.  Small
 * arrays are in the arena.
 */
#ifndef CR_ONNX_CONSTANT_ARRAYS_H
#define CR_ONNX_CONSTANT_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

/* The most elements, of 8 bytes, of an array in the arena. */
enum { CR_ELEMENTS_FEW = 64 };

/* The limit of the bytes of live arrays; past it, no more values are folded. */
#define CR_ELEMENTS_MOST ((size_t)1 << 30)

/* The limit of the bytes ever allocated, freed or not; past it, no more values are folded.  It
 * bounds the time of folding, even if a small file has loops of many iterations. */
#define CR_ELEMENTS_EVER ((size_t)4 << 30)

struct cr_elements_array;

struct cr_elements {
    struct cr_elements_array **arrays; /* the first n_sorted are sorted by address */
    int n, cap, n_sorted;
    size_t bytes;
    size_t ever;  /* the bytes of all arrays ever allocated */
    size_t swept; /* the bytes that the last sweep left */
};

/* Returns an array of n elements of 8 bytes, all 0. */
void *cr_elements_new(struct cr_elements *elements, struct cr_arena *arena, size_t n);

/* True if live bytes and bytes ever allocated are within their bounds. */
bool cr_elements_have_room(const struct cr_elements *elements);

/* True if so much was allocated since the last sweep that another sweep is worth its time. */
bool cr_elements_are_many(const struct cr_elements *elements);

/* True if `data` is the address of one of the garbage-collected arrays. */
bool cr_elements_have(struct cr_elements *elements, const void *data);

/* Marks an array as in use; ignores pointers to anything else. */
void cr_elements_mark(struct cr_elements *elements, const void *data);

/* Frees all arrays that are not marked, and removes the marks. */
void cr_elements_sweep(struct cr_elements *elements);

void cr_elements_free(struct cr_elements *elements);

#endif
