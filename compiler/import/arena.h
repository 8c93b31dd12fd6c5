/* arena.h - an allocator for many small objects that are freed together. */
#ifndef CR_ARENA_H
#define CR_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct cr_arena {
    struct cr_arena_block *blocks;
    size_t left; /* the free bytes at the end of the first block */
};

/* Returns zeroed memory for `count` items of a size, aligned for any type. */
void *cr_arena_new(struct cr_arena *arena, size_t count, size_t size);
char *cr_arena_text(struct cr_arena *arena, const char *text, size_t length);
char *cr_arena_print(struct cr_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns a number as text, and a list of numbers: "12", "{1, 12}". */
const char *cr_arena_number(struct cr_arena *arena, int64_t number);
const char *cr_arena_list(struct cr_arena *arena, int n, const int64_t *numbers);
void cr_arena_free(struct cr_arena *arena);

/* Grows an array in an arena by one item if it is full; the old copy stays allocated. */
void *cr_arena_grow(struct cr_arena *arena, void *items, int n, int *cap, size_t size);

#define CR_ARENA_PUSH(arena, array, n, cap)                                                        \
    ((array) = cr_arena_grow((arena), (array), (n), &(cap), sizeof *(array)), &(array)[(n)++])

#endif
