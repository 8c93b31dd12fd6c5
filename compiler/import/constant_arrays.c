/*
 * constant_arrays.c - arrays of elements that are known when a model is read; see
 * constant_arrays.h.
 */
#include "constant_arrays.h"

#include <stdint.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"

/* The arrays are swept for the first time when they take more than this many bytes. */
#define LEAST_SWEPT ((size_t)64 << 20)

struct cr_elements_array {
    size_t bytes;
    bool is_marked;
    _Alignas(16) unsigned char data[];
};

void *cr_elements_new(struct cr_elements *e, struct cr_arena *arena, size_t n)
{
    if (n <= CR_ELEMENTS_FEW)
        return cr_arena_new(arena, n, 8);
    if (n > (SIZE_MAX - sizeof(struct cr_elements_array)) / 8)
        return cr_calloc(n, 8); /* cr_calloc refuses the size */
    struct cr_elements_array *array = cr_calloc(1, sizeof *array + 8 * n);
    array->bytes = 8 * n;
    *CR_PUSH(e->arrays, e->n, e->cap) = array;
    e->bytes += array->bytes;
    e->ever += array->bytes;
    return array->data;
}

bool cr_elements_have_room(const struct cr_elements *e)
{
    return e->bytes <= CR_ELEMENTS_MOST && e->ever <= CR_ELEMENTS_EVER;
}

/* True if the arrays take twice the bytes that the last sweep left, so that sweeps take a fixed
 * share of the time. At least one sweep happens before constant folding reaches its limit. */
bool cr_elements_are_many(const struct cr_elements *e)
{
    size_t limit = e->swept < LEAST_SWEPT / 2 ? LEAST_SWEPT : 2 * e->swept;
    if (limit > CR_ELEMENTS_MOST)
        limit = e->swept < CR_ELEMENTS_MOST / 8 * 7 ? CR_ELEMENTS_MOST
                                                    : e->swept + CR_ELEMENTS_MOST / 8;
    return e->bytes > limit;
}

static int by_address(const void *a, const void *b)
{
    const void *left = *(struct cr_elements_array *const *)a;
    const void *right = *(struct cr_elements_array *const *)b;
    return left < right ? -1 : left > right;
}

/* Returns the array at an address, or null. */
static struct cr_elements_array *find(struct cr_elements *e, const void *data)
{
    if (e->n_sorted < e->n)
        qsort(e->arrays, (size_t)e->n, sizeof *e->arrays, by_address);
    e->n_sorted = e->n;
    int low = 0, high = e->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((const void *)e->arrays[middle]->data == data)
            return e->arrays[middle];
        if ((const void *)e->arrays[middle]->data < data)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool cr_elements_have(struct cr_elements *e, const void *data)
{
    return find(e, data) != NULL;
}

void cr_elements_mark(struct cr_elements *e, const void *data)
{
    struct cr_elements_array *array = find(e, data);
    if (array)
        array->is_marked = true;
}

void cr_elements_sweep(struct cr_elements *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        struct cr_elements_array *array = e->arrays[i];
        if (array->is_marked) {
            array->is_marked = false;
            e->arrays[n++] = array;
        } else {
            e->bytes -= array->bytes;
            free(array);
        }
    }
    e->n_sorted = e->n_sorted == e->n ? n : 0;
    e->n = n;
    e->swept = e->bytes;
}

void cr_elements_free(struct cr_elements *e)
{
    for (int i = 0; i < e->n; i++)
        free(e->arrays[i]);
    free(e->arrays);
    *e = (struct cr_elements){0};
}
