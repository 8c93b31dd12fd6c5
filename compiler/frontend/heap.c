/* heap.c - allocates the memory of a Lua state; see heap.h. */
#include "heap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 16, LARGEST = CR_HEAP_CLASSES * UNIT, FIRST_CHUNK = 1 << 14, MOST_CHUNK = 1 << 18 };

struct cr_heap_block {
    struct cr_heap_block *next;
};

struct cr_heap_chunk {
    struct cr_heap_chunk *next;
    size_t size;
    _Alignas(UNIT) char data[];
};

/* The header of a large block, which malloc allocates separately; a doubly linked list. */
struct cr_heap_large {
    struct cr_heap_large *next, *last;
    _Alignas(UNIT) char data[];
};

static size_t class_of(size_t size)
{
    return (size - 1) / UNIT;
}

/* Adds a chunk, twice as large as the previous one, whose rest stays unused.  Returns -1 if
 * memory is insufficient. */
static int add_chunk(struct cr_heap *heap)
{
    size_t size = heap->chunks ? 2 * heap->chunks->size : FIRST_CHUNK;
    if (size > MOST_CHUNK)
        size = MOST_CHUNK;
    struct cr_heap_chunk *chunk = malloc(sizeof *chunk + size);
    if (!chunk)
        return -1;
    chunk->next = heap->chunks;
    chunk->size = size;
    heap->chunks = chunk;
    heap->at = chunk->data;
    heap->left = size;
    return 0;
}

/* Returns a block of a size class: a freed one, or else bytes of the newest chunk. */
static void *take_small(struct cr_heap *heap, size_t class)
{
    struct cr_heap_block *block = heap->free[class];
    size_t size = (class + 1) * UNIT;
    if (block) {
        heap->free[class] = block->next;
        return block;
    }
    if (heap->left < size && add_chunk(heap))
        return NULL;
    void *made = heap->at;
    heap->at += size;
    heap->left -= size;
    return made;
}

/* Links a new or moved large block with its neighbours in the list; returns the block's data. */
static void *keep_large(struct cr_heap *heap, struct cr_heap_large *large)
{
    if (large->last)
        large->last->next = large;
    else
        heap->large = large;
    if (large->next)
        large->next->last = large;
    return large->data;
}

static void *take_large(struct cr_heap *heap, size_t size)
{
    struct cr_heap_large *large = malloc(sizeof *large + size);
    if (!large)
        return NULL;
    large->next = heap->large;
    large->last = NULL;
    return keep_large(heap, large);
}

static struct cr_heap_large *large_of(void *block)
{
    return (struct cr_heap_large *)(void *)((char *)block - offsetof(struct cr_heap_large, data));
}

static void *resize_large(struct cr_heap *heap, void *block, size_t size)
{
    struct cr_heap_large *moved = realloc(large_of(block), sizeof *moved + size);
    return moved ? keep_large(heap, moved) : NULL;
}

/* Frees a block of a known size: a small block goes to the free list of its size class. */
static void give_back(struct cr_heap *heap, void *block, size_t size)
{
    if (size <= LARGEST) {
        struct cr_heap_block *small = block;
        small->next = heap->free[class_of(size)];
        heap->free[class_of(size)] = small;
        return;
    }
    struct cr_heap_large *large = large_of(block);
    if (large->last)
        large->last->next = large->next;
    else
        heap->large = large->next;
    if (large->next)
        large->next->last = large->last;
    free(large);
}

/* Lua assumes that shrinking a block cannot fail: if memory for a smaller block is insufficient,
 * the old block is returned. */
void *cr_heap_resize(struct cr_heap *heap, void *block, size_t old, size_t size)
{
    bool small = size <= LARGEST;
    if (block && !small && old > LARGEST)
        return resize_large(heap, block, size);
    if (block && size && small && old <= LARGEST && class_of(old) == class_of(size))
        return block;
    void *made = !size ? NULL : small ? take_small(heap, class_of(size)) : take_large(heap, size);
    if (block && size && !made)
        return size < old ? block : NULL;
    if (block && made)
        memcpy(made, block, old < size ? old : size);
    if (block)
        give_back(heap, block, old);
    return made;
}

void cr_heap_free(struct cr_heap *heap)
{
    for (struct cr_heap_chunk *next, *chunk = heap->chunks; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    for (struct cr_heap_large *next, *large = heap->large; large; large = next) {
        next = large->next;
        free(large);
    }
    *heap = (struct cr_heap){0};
}
