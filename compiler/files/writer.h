/*
 * writer.h - writes a file atomically: it appears whole or not at all.  Errors: see mapping.h.
 */
#ifndef CR_WRITER_H
#define CR_WRITER_H

#include "mapping.h"

#include <stdio.h>

struct cr_new_file; /* write.inc: a file without a name yet */

/* A file being written.  It gets the mode of the file it replaces, else 0666 less the umask. */
struct cr_writer {
    FILE *file;
    const char *path; /* spelled as by the user; must outlive the writer */
    char *target;     /* `path` with symbolic links resolved */
    struct cr_new_file *draft;
    int failure; /* errno of the first write that failed, or 0 */
};

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size);

/* Writes bytes; cr_writer_commit reports a failure. */
void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count);

/* Writes the whole file to disk, but does not name it yet.  With several files, finish each
 * before committing the first.  After a failure the writer is closed and no file is left. */
int cr_writer_finish(struct cr_writer *writer, char *error, size_t size);

/* Renames the file to its final name; this replaces an older file.  After a failure no new file
 * is left, and an older file does not change.  The writer is closed in both cases. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Closes the writer and removes its file.  Has no effect on a closed writer. */
void cr_writer_discard(struct cr_writer *writer);

#endif
