#include "mem.h"

#include <stdlib.h>
#include <string.h>

#include "unwind.h"

static void *checked(void *memory)
{
    if (!memory)
        cr_throw("out of memory");
    return memory;
}

void *cr_calloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *cr_malloc(size_t size)
{
    return checked(malloc(size));
}

char *cr_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(cr_calloc(size, 1), text, size);
}

void *cr_grow(void *items, int n, int *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? 2 * *cap : 16;
    return checked(realloc(items, (size_t)*cap * size));
}

void *cr_trim(void *items, int n, size_t size)
{
    return n ? checked(realloc(items, (size_t)n * size)) : items;
}
