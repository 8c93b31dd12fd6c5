#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write.inc"

/* Sets the path of the file that will be replaced, with links followed.  Fails if that file is
 * write-protected or is not a regular file. */
static int find_target(struct cr_writer *writer, char *error, size_t size)
{
    const char *path = writer->path;
    struct stat status;

    if (stat(path, &status) == 0) {
        if (cr_file_kind(status.st_mode))
            return cr_file_fail(error, size, path, "%s, expected a regular file to write",
                                cr_file_kind(status.st_mode));
        if (access(path, W_OK) != 0)
            return cr_file_fail(error, size, path, "cannot be written: %s", strerror(errno));
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

/* Frees the writer, and removes its file unless it got its final name. */
static void release(struct cr_writer *writer)
{
    if (writer->file)
        fclose(writer->file);
    cr_new_file_close(writer->draft);
    free(writer->draft);
    free(writer->target);
    *writer = (struct cr_writer){0};
}

/* Opens a stream with a duplicate of the descriptor: closing the stream reports errors while the
 * file can still be removed through the descriptor. */
static int open_stream(struct cr_writer *writer)
{
    int fd = -1;

    if (cr_new_file_open(writer->draft, writer->target) == 0)
        fd = fcntl(writer->draft->fd, F_DUPFD_CLOEXEC, 0);
    writer->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!writer->file && fd >= 0)
        close(fd);
    return writer->file ? 0 : -1;
}

/* After a failure, no memory stays allocated, and no file is left. */
int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size)
{
    int reason;

    *writer = (struct cr_writer){.path = path};
    if (find_target(writer, error, size) != 0)
        return -1;
    writer->draft = calloc(1, sizeof *writer->draft);
    if (!writer->draft) {
        free(writer->target);
        return cr_file_fail(error, size, path, "cannot be written: %s", strerror(ENOMEM));
    }
    if (open_stream(writer) != 0) {
        reason = errno;
        release(writer);
        return cr_file_fail(error, size, path, "cannot be written: %s", strerror(reason));
    }
    return 0;
}

void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count)
{
    if (count > 0 && !writer->failure && fwrite(bytes, 1, count, writer->file) != count)
        writer->failure = errno ? errno : EIO;
}

int cr_writer_finish(struct cr_writer *writer, char *error, size_t size)
{
    int reason = writer->failure;

    if (!writer->file)
        return 0;
    if (!reason && (fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0))
        reason = errno;
    if (fclose(writer->file) != 0 && !reason)
        reason = errno;
    writer->file = NULL;
    if (!reason)
        return 0;
    cr_file_fail(error, size, writer->path, "cannot be written: %s", strerror(reason));
    release(writer);
    return -1;
}

/* Writes the data to disk before it changes the name, so that a crash leaves either the old file
 * or the new one. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size)
{
    const char *path = writer->path;
    int status = cr_writer_finish(writer, error, size);

    if (status != 0)
        return status;
    if (cr_new_file_publish(writer->draft) != 0)
        status = cr_file_fail(error, size, path, "cannot be written: %s", strerror(errno));
    release(writer);
    return status;
}

void cr_writer_discard(struct cr_writer *writer)
{
    if (writer->draft)
        release(writer);
}
