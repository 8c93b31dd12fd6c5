/* tensor_memory.c - allocates memory for tensors; see tensor_memory.h. */
#include "tensor_memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/ir/byte_text.h"

/* Returns the memory limit in a control group's file; INT64_MAX if there is no limit ("max"). */
static int64_t group_limit(const char *path)
{
    int64_t bytes = INT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return bytes;
    if (fscanf(file, "%" SCNd64, &bytes) != 1 || bytes <= 0)
        bytes = INT64_MAX;
    fclose(file);
    return bytes;
}

static int64_t limit;

static void find_limit(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    limit = pages > 0 && page > 0 ? pages * page : INT64_MAX;
    const char *files[] = {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (int i = 0; i < 2; i++) {
        int64_t group = group_limit(files[i]);
        if (group < limit)
            limit = group;
    }
}

/* Returns the bytes that this process can use: the machine's memory or its control group's limit.
 * Reads the files only once, since the interpreter asks for every node. */
static int64_t memory_limit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_limit);
    return limit;
}

int cr_memory_check(int64_t bytes, const char *what, struct cr_error *error)
{
    int64_t most = memory_limit();
    if (bytes < 0)
        return cr_fail(error,
                       "%s would take more bytes than can be counted, there are %s of memory", what,
                       cr_byte_text(most).text);
    if (bytes > most)
        return cr_fail(error, "%s would take %s, there are %s of memory", what,
                       cr_byte_text(bytes).text, cr_byte_text(most).text);
    return 0;
}

/* The size of a large page; and the least sizes of a tensor and of an arena that get large pages.
 * Tensors are many; an arena's first run waits for each page that it touches. */
enum { HUGE_PAGE = 2 << 20, LEAST_TENSOR = 2 * HUGE_PAGE, LEAST_ARENA = HUGE_PAGE / 2 };

/* Returns the bytes to allocate: `bytes` rounded up to `align`, and at least one unit. */
static size_t room_of(int64_t bytes, size_t align)
{
    return ((size_t)bytes + align) / align * align;
}

/* Allocates memory, aligned to large pages if `bytes` is at least `least`. */
static void *allocate(int64_t bytes, int64_t least, const char *what, struct cr_error *error)
{
    size_t align = bytes >= least ? HUGE_PAGE : 64;
    if (cr_memory_check(bytes, what, error))
        return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, align, room_of(bytes, align))) {
        cr_fail(error, "%s would take %s, which cannot be allocated, expected more free memory",
                what, cr_byte_text(bytes).text);
        return NULL;
    }
    return memory;
}

void *cr_memory_new_small(int64_t bytes, const char *what, struct cr_error *error)
{
    return allocate(bytes, LEAST_ARENA, what, error);
}

/* Large pages are a hint to the system.  Weights streamed from memory miss the TLB on small
 * pages, and touching the 500 small pages in place of a large one takes five times as long.
 * Small pages that were touched are replaced.  If the end of the memory has less than half a
 * large page, it stays on small ones. */
void cr_memory_use_large_pages(void *memory, int64_t bytes)
{
    size_t whole = ((size_t)bytes + HUGE_PAGE / 2) / HUGE_PAGE * HUGE_PAGE;
    if (bytes < LEAST_ARENA)
        return;
    madvise(memory, whole, MADV_HUGEPAGE);
#ifdef MADV_COLLAPSE
    madvise(memory, whole, MADV_COLLAPSE);
#endif
}

void *cr_memory_new(int64_t bytes, const char *what, struct cr_error *error)
{
    void *memory = allocate(bytes, LEAST_TENSOR, what, error);
    if (memory && bytes >= LEAST_TENSOR)
        madvise(memory, room_of(bytes, HUGE_PAGE), MADV_HUGEPAGE);
    return memory;
}

int cr_zeros_new(struct cr_zeros *zeros, int64_t bytes, const char *what, struct cr_error *error)
{
    *zeros = (struct cr_zeros){0};
    if (cr_memory_check(bytes, what, error))
        return -1;
    size_t room = (size_t)bytes + 1; /* at least one byte */
    void *m = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return cr_fail(error,
                       "%s would take %s, which cannot be allocated, expected so much free memory",
                       what, cr_byte_text(bytes).text);
    *zeros = (struct cr_zeros){m, room};
    return 0;
}

void cr_zeros_free(struct cr_zeros *zeros)
{
    if (zeros->memory)
        munmap(zeros->memory, zeros->bytes);
    *zeros = (struct cr_zeros){0};
}

void cr_zeros_clear(struct cr_zeros *zeros)
{
#ifdef __linux__ /* on Linux, pages returned to the system read as zeros */
    if (madvise(zeros->memory, zeros->bytes, MADV_DONTNEED) == 0)
        return;
#endif
    memset(zeros->memory, 0, zeros->bytes);
}
