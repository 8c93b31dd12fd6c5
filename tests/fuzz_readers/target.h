/*
 * target.h - functions that all fuzz targets share.
 *
 * A target is a function of libFuzzer's interface; driver.c calls it where libFuzzer is not
 * at hand.  It must return 0 for any bytes: a target aborts where a promise is broken.
 */
#ifndef CR_FUZZ_TARGET_H
#define CR_FUZZ_TARGET_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts the program unless a condition holds. */
#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Asserts that a message is "PATH: something" on one line, without control characters. */
static inline void promise_message(const char *message)
{
    PROMISE(*message);
    for (; *message; message++)
        PROMISE((unsigned char)*message >= 0x20 && *message != 0x7f);
}

/* Returns the descriptor of a file in memory with these bytes, which the caller closes; its path is
 * in path[32]. */
static inline int memory_file(const void *bytes, size_t size, char *path)
{
    int fd = memfd_create("fuzz", 0);
    PROMISE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
