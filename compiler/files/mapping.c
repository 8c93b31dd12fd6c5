#include "mapping.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { CR_SHOWN_PATH = 300 /* bytes of a path that messages show */ };

/* Copies the last CR_SHOWN_PATH bytes of a path, with '?' for control characters. */
static size_t cr_show_path(char *out, const char *path)
{
    size_t length = strlen(path), n = 0;
    if (length > CR_SHOWN_PATH) {
        memcpy(out, "...", 3);
        n = 3;
        path += length - CR_SHOWN_PATH;
    }
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        out[n++] = c < 0x20 || c == 0x7f ? '?' : *path;
    }
    out[n] = '\0';
    return n;
}

CR_API int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
{
    char shown[CR_SHOWN_PATH + 8];
    size_t n = cr_show_path(shown, path);
    va_list args;
    snprintf(error, size, "%s: ", shown);
    n += 2;
    if (n < size) {
        va_start(args, format);
        vsnprintf(error + n, size - n, format, args);
        va_end(args);
    }
    return -1;
}

/* Writes all but printable ASCII as \xNN, so that no file can control a terminal. */
CR_API struct cr_shown cr_show(const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    struct cr_shown shown;
    size_t n = 0, i;
    shown.text[n++] = '\'';
    for (i = 0; i < length && n < sizeof shown.text - 9; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7f) {
            shown.text[n++] = text[i];
            continue;
        }
        shown.text[n++] = '\\';
        shown.text[n++] = 'x';
        shown.text[n++] = digits[c >> 4];
        shown.text[n++] = digits[c & 15];
    }
    memcpy(shown.text + n, i < length ? "...'" : "'", i < length ? 5 : 2);
    return shown;
}

CR_API int cr_mapping_fail(const struct cr_mapping *mapping, const char *path, char *error,
                           size_t size)
{
    return cr_file_fail(error, size, path, "cannot be read to its end, expected the %zu bytes that it had",
                        mapping->size);
}

#if defined(__unix__) || defined(__APPLE__)

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

CR_API const char *cr_file_kind(unsigned mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
                            : "a special file";
}

CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size)
{
    void *bytes;
    n = n < mapping->size ? n : mapping->size;
    if (n <= mapping->mapped)
        return 0;
    bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, mapping->handle - 1, 0);
    if (bytes == MAP_FAILED)
        return cr_file_fail(error, size, path, "cannot be mapped: %s", strerror(errno));
    if (mapping->mapped > 0)
        munmap((void *)mapping->bytes, mapping->mapped);
    mapping->bytes = bytes;
    mapping->mapped = n;
    return 0;
}

/* Maps the first n bytes of an open file; a file of no bytes needs no mapping. */
static int cr_map_descriptor(struct cr_mapping *mapping, int fd, size_t n, const char *path, char *error,
                             size_t size)
{
    struct stat status;
    const char *kind;
    if (fstat(fd, &status) != 0)
        return cr_file_fail(error, size, path, "cannot be examined: %s", strerror(errno));
    kind = cr_file_kind(status.st_mode);
    if (kind)
        return cr_file_fail(error, size, path, "%s, expected a regular file", kind);
    mapping->bytes = (const unsigned char *)"";
    mapping->size = (size_t)status.st_size;
    if (mapping->size == 0)
        return 0;
    mapping->handle = fd + 1;
    if (cr_map_more(mapping, n, path, error, size) == 0)
        return 0;
    mapping->handle = 0;
    return -1;
}

/* O_NONBLOCK, so that opening a pipe does not wait: a pipe is an error. */
CR_API int cr_map_begin(struct cr_mapping *mapping, const char *path, size_t n, char *error, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;
    *mapping = (struct cr_mapping){0};
    if (fd < 0)
        return cr_file_fail(error, size, path, "cannot be opened: %s", strerror(errno));
    status = cr_map_descriptor(mapping, fd, n, path, error, size);
    if (!mapping->handle)
        close(fd);
    return status;
}

CR_API void cr_unmap_file(struct cr_mapping *mapping)
{
    if (mapping->mapped > 0)
        munmap((void *)mapping->bytes, mapping->mapped);
    if (mapping->handle)
        close(mapping->handle - 1);
    *mapping = (struct cr_mapping){0};
}

CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out)
{
    char *to = out;
    if (!mapping->handle) {
        memcpy(to, mapping->bytes + at, n);
        return 0;
    }
    while (n > 0) {
        ssize_t some = pread(mapping->handle - 1, to, n, (off_t)at);
        if (some == 0 || (some < 0 && errno != EINTR))
            return -1;
        some = some > 0 ? some : 0;
        to += some;
        at += (size_t)some;
        n -= (size_t)some;
    }
    return 0;
}

#else

CR_API void cr_unmap_file(struct cr_mapping *mapping)
{
    free((void *)mapping->bytes);
    *mapping = (struct cr_mapping){0};
}

/* Reads the whole file into memory.  A file that cannot seek is not a regular file. */
CR_API int cr_map_begin(struct cr_mapping *mapping, const char *path, size_t n, char *error, size_t size)
{
    FILE *file = fopen(path, "rb");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    unsigned char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    *mapping = (struct cr_mapping){.bytes = bytes, .size = bytes ? (size_t)length : 0};
    (void)n;
    if (!file)
        return cr_file_fail(error, size, path, "cannot be opened: %s", strerror(errno));
    int whole = bytes && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, mapping->size, file) == mapping->size;
    fclose(file);
    if (whole)
        return 0;
    cr_unmap_file(mapping);
    return cr_file_fail(error, size, path, "cannot be read into memory, expected a regular file that fits there");
}

CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size)
{
    (void)mapping, (void)n, (void)path, (void)error, (void)size;
    return 0;
}

CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out)
{
    memcpy(out, mapping->bytes + at, n);
    return 0;
}

#endif

CR_API int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size)
{
    return cr_map_begin(mapping, path, (size_t)-1, error, size);
}
