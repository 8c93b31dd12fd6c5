/* heap.h - allocates the memory of a Lua state: small blocks are cut from chunks, and all blocks
 * can be freed at once. */
#ifndef CR_HEAP_H
#define CR_HEAP_H

#include <stddef.h>

enum { CR_HEAP_CLASSES = 32 };

/* A heap.  Blocks of class i have 16 (i + 1) bytes. */
struct cr_heap {
    struct cr_heap_block *free[CR_HEAP_CLASSES]; /* by class: list of freed blocks */
    struct cr_heap_chunk *chunks;
    struct cr_heap_large *large; /* blocks that exceed the largest class */
    char *at;                    /* beginning of the unused bytes of the newest chunk */
    size_t left;
};

/* Changes the size of a block from `old` to `size` bytes, as realloc does; a null block has old
 * size 0. Returns null if memory is insufficient.  Size 0 frees the block. */
void *cr_heap_resize(struct cr_heap *heap, void *block, size_t old, size_t size);
/* Frees all blocks. */
void cr_heap_free(struct cr_heap *heap);

#endif
