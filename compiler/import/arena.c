/* arena.c - an allocator for many small objects; see arena.h. */
#include "arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { FIRST = 1 << 12, BLOCK = 1 << 16, ALIGNED = 16 }; /* blocks grow from FIRST to BLOCK bytes */

struct cr_arena_block {
    struct cr_arena_block *next;
    size_t size; /* the size of `bytes` */
    _Alignas(ALIGNED) unsigned char bytes[];
};

/* Adds a block to the arena.  With `own`, the block holds one large item and is put behind the
 * first block, which items are still allocated from. */
static struct cr_arena_block *new_block(struct cr_arena *arena, size_t size, bool own)
{
    struct cr_arena_block *block = cr_calloc(1, sizeof *block + size);
    struct cr_arena_block **at = own && arena->blocks ? &arena->blocks->next : &arena->blocks;
    block->size = size;
    block->next = *at;
    *at = block;
    return block;
}

void *cr_arena_new(struct cr_arena *arena, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - BLOCK) / size)
        return cr_calloc(count, size); /* cr_calloc refuses the size */
    size_t n = (count * size + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (n > BLOCK / 4 && arena->blocks)
        return new_block(arena, n, true)->bytes;
    size_t least = arena->blocks ? 2 * arena->blocks->size : FIRST;
    least = least < BLOCK ? least : BLOCK;
    if (n > arena->left)
        arena->left = new_block(arena, n > least ? n : least, false)->size;
    void *at = arena->blocks->bytes + arena->blocks->size - arena->left;
    arena->left -= n;
    return at;
}

char *cr_arena_text(struct cr_arena *arena, const char *text, size_t length)
{
    char *copy = cr_arena_new(arena, length + 1, 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *cr_arena_print(struct cr_arena *arena, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int n = vsnprintf(NULL, 0, format, values);
    va_end(values);
    char *text = cr_arena_new(arena, (size_t)n + 1, 1);
    va_start(values, format);
    vsnprintf(text, (size_t)n + 1, format, values);
    va_end(values);
    return text;
}

enum { DIGITS = 20 }; /* the most characters of a number */

/* Writes the digits of a number so that they end before `end`; returns the first character. */
static char *put_number(char *end, int64_t number)
{
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--end = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--end = '-';
    return end;
}

const char *cr_arena_number(struct cr_arena *arena, int64_t number)
{
    char digits[DIGITS], *end = digits + DIGITS, *at = put_number(end, number);
    return cr_arena_text(arena, at, (size_t)(end - at));
}

/* Writes the text from its end to its begin, as put_number does. */
const char *cr_arena_list(struct cr_arena *arena, int n, const int64_t *numbers)
{
    size_t size = (size_t)n * (DIGITS + 2) + 3;
    char *text = cr_arena_new(arena, size, 1), *at = text + size - 1;
    *--at = '}';
    for (int i = n - 1; i >= 0; i--) {
        at = put_number(at, numbers[i]);
        if (i)
            at = memcpy(at - 2, ", ", 2);
    }
    *--at = '{';
    return at;
}

void cr_arena_free(struct cr_arena *arena)
{
    while (arena->blocks) {
        struct cr_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->left = 0;
}

void *cr_arena_grow(struct cr_arena *arena, void *items, int n, int *cap, size_t size)
{
    if (n < *cap)
        return items;
    int room = n ? 2 * n : 4;
    void *more = cr_arena_new(arena, (size_t)room, size);
    if (n)
        memcpy(more, items, (size_t)n * size);
    *cap = room;
    return more;
}
