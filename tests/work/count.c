/*
 * count.c - counts the work of a program: a number that is the same on every machine and under any
 * load.
 *
 * The compiler puts a call of __sanitizer_cov_trace_pc into every branch of the counted code
 * (-fsanitize-coverage=trace-pc), and the linker sends its calls of memset, memcpy, ... here
 * (--wrap), where a cache line counts as one.  At its end the program writes the count into the file
 * that $WORK names.  Only one thread may count.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t work;

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    work++;
}

static void count_bytes(size_t n)
{
    work += n / 64;
}

#define COUNTED(result, name, parameters, arguments)                                               \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        count_bytes(n);                                                                            \
        return __real_##name arguments;                                                            \
    }

COUNTED(void *, memset, (void *to, int byte, size_t n), (to, byte, n))
COUNTED(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n))
COUNTED(void *, memmove, (void *to, const void *from, size_t n), (to, from, n))
COUNTED(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))
COUNTED(void *, memchr, (const void *in, int byte, size_t n), (in, byte, n))

void *__real_calloc(size_t items, size_t size);
void *__wrap_calloc(size_t items, size_t size);
void *__wrap_calloc(size_t items, size_t size)
{
    count_bytes(items * size);
    return __real_calloc(items, size);
}

static void write_work(void)
{
    const char *path = getenv("WORK");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%" PRIu64 "\n", work);
    fclose(file);
}

__attribute__((constructor)) static void begin(void)
{
    atexit(write_work);
}
