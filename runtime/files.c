#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_PATH = 300 /* bytes of a path worth showing */ };

/* Copies a path for a message: its last SHOWN_PATH bytes, control characters as '?'. */
static size_t show_path(char *out, const char *path)
{
    size_t length = strlen(path), n = 0;

    if (length > SHOWN_PATH) {
        memcpy(out, "...", 3);
        n = 3;
        path += length - SHOWN_PATH;
    }
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        out[n++] = c < 0x20 || c == 0x7f ? '?' : *path;
    }
    out[n] = '\0';
    return n;
}

int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
{
    char shown[SHOWN_PATH + 8];
    size_t n = show_path(shown, path);
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

/* Anything but printable ASCII becomes \xNN, so that no file can steer a terminal. */
struct cr_shown cr_show(const char *text, size_t length)
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

static const char *file_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
                            : "a special file";
}

/* Maps an open file; a file of no bytes needs no mapping. */
static int map_descriptor(struct cr_mapping *mapping, int fd, const char *path, char *error,
                          size_t size)
{
    struct stat status;
    void *bytes;

    if (fstat(fd, &status) != 0)
        return cr_file_fail(error, size, path, "cannot be examined: %s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return cr_file_fail(error, size, path, "%s, expected a regular file",
                            file_kind(status.st_mode));
    mapping->bytes = (const unsigned char *)"";
    mapping->size = (size_t)status.st_size;
    if (mapping->size == 0)
        return 0;
    bytes = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return cr_file_fail(error, size, path, "cannot be mapped: %s", strerror(errno));
    mapping->bytes = bytes;
    return 0;
}

/* O_NONBLOCK, so that the name of a pipe is refused and not waited for. */
int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;

    *mapping = (struct cr_mapping){0};
    if (fd < 0)
        return cr_file_fail(error, size, path, "cannot be opened: %s", strerror(errno));
    status = map_descriptor(mapping, fd, path, error, size);
    close(fd);
    return status;
}

void cr_unmap_file(struct cr_mapping *mapping)
{
    if (mapping->size > 0)
        munmap((void *)mapping->bytes, mapping->size);
    *mapping = (struct cr_mapping){0};
}

/* Finds where a write to `path` has to end up and the mode it should have (-1: a new
 * file's).  A link is followed; what is no regular file or write-protected is refused. */
static int find_target(struct cr_writer *writer, int *mode, char *error, size_t size)
{
    const char *path = writer->path;
    struct stat status;

    *mode = -1;
    if (stat(path, &status) == 0) {
        if (!S_ISREG(status.st_mode))
            return cr_file_fail(error, size, path, "%s, expected a regular file to write",
                                file_kind(status.st_mode));
        if (access(path, W_OK) != 0)
            return cr_file_fail(error, size, path, "cannot be written: %s", strerror(errno));
        *mode = (int)(status.st_mode & 0777);
        writer->target = realpath(path, NULL);
    } else if (lstat(path, &status) == 0) {
        return cr_file_fail(error, size, path, "a symbolic link to nothing, expected a file");
    } else {
        writer->target = strdup(path);
    }
    if (!writer->target)
        return cr_file_fail(error, size, path, "cannot be written: %s", strerror(errno));
    return 0;
}

/* Creates a file of a name of its own in the target's folder; -1 with errno set. */
static int create_temporary(struct cr_writer *writer)
{
    const char *slash = strrchr(writer->target, '/');
    size_t folder = slash ? (size_t)(slash - writer->target) + 1 : 0, room = folder + 64;
    int attempt, fd = -1;

    writer->temporary = malloc(room);
    if (!writer->temporary)
        return -1;
    memcpy(writer->temporary, writer->target, folder);
    for (attempt = 0; attempt < 1000; attempt++) {
        snprintf(writer->temporary + folder, room - folder, ".crescent-%ld-%d.tmp", (long)getpid(),
                 attempt);
        fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* Frees what a writer holds; removes the temporary file unless it was renamed. */
static void release(struct cr_writer *writer, int keep)
{
    if (writer->file)
        fclose(writer->file);
    if (writer->temporary && !keep)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->target);
    *writer = (struct cr_writer){0};
}

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size)
{
    int mode, fd, reason;

    *writer = (struct cr_writer){.path = path};
    if (find_target(writer, &mode, error, size) != 0)
        return -1;
    fd = create_temporary(writer);
    if (fd < 0) {
        cr_file_fail(error, size, path, "cannot be written: %s", strerror(errno));
        release(writer, 1);
        return -1;
    }
    writer->file = fdopen(fd, "wb");
    if (!writer->file || (mode >= 0 && fchmod(fd, (mode_t)mode) != 0)) {
        reason = errno;
        if (!writer->file)
            close(fd);
        release(writer, 0);
        return cr_file_fail(error, size, path, "cannot be written: %s", strerror(reason));
    }
    return 0;
}

void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count)
{
    if (count > 0 && !writer->failure && fwrite(bytes, 1, count, writer->file) != count)
        writer->failure = errno ? errno : EIO;
}

/* The bytes are on the disk before the name is: a crash leaves the old file or the new. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size)
{
    const char *path = writer->path;
    int reason = writer->failure, closed;

    if (!reason && (fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0))
        reason = errno;
    closed = fclose(writer->file);
    writer->file = NULL;
    if (!reason && closed != 0)
        reason = errno;
    if (!reason && rename(writer->temporary, writer->target) != 0)
        reason = errno;
    release(writer, !reason);
    if (reason)
        return cr_file_fail(error, size, path, "cannot be written: %s", strerror(reason));
    return 0;
}

void cr_writer_discard(struct cr_writer *writer)
{
    release(writer, 0);
}
