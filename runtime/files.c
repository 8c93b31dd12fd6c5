#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds where a write to `path` has to end up and the mode it should have (-1: a new
 * file's).  A link is followed; what is no regular file or write-protected is refused. */
static int find_target(struct cr_writer *writer, int *mode, char *error, size_t size)
{
    const char *path = writer->path;
    struct stat status;

    *mode = -1;
    if (stat(path, &status) == 0) {
        if (cr_file_kind(status.st_mode))
            return cr_file_fail(error, size, path, "%s, expected a regular file to write",
                                cr_file_kind(status.st_mode));
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
