/* memory.c - memory for tensors; see memory.h. */
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The limit a control group file states, or INT64_MAX where there is none ("max"). */
static int64_t group_limit(const char *path)
{
    int64_t limit = INT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return limit;
    if (fscanf(file, "%" SCNd64, &limit) != 1 || limit <= 0)
        limit = INT64_MAX;
    fclose(file);
    return limit;
}

int64_t cr_memory_limit(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t limit = pages > 0 && page > 0 ? pages * page : INT64_MAX;
    const char *files[] = {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (int i = 0; i < 2; i++) {
        int64_t group = group_limit(files[i]);
        if (group < limit)
            limit = group;
    }
    return limit;
}

int cr_memory_check(int64_t bytes, const char *what, struct cr_error *error)
{
    int64_t limit = cr_memory_limit();
    if (bytes < 0 || bytes > limit)
        return cr_fail(error, "%s needs %" PRId64 " bytes, there are %" PRId64, what, bytes,
                       limit);
    return 0;
}

void *cr_memory_new(int64_t bytes, const char *what, struct cr_error *error)
{
    if (cr_memory_check(bytes, what, error))
        return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? (size_t)bytes : 64)) {
        cr_fail(error, "%s needs %" PRId64 " bytes, which could not be had", what, bytes);
        return NULL;
    }
    return memory;
}
