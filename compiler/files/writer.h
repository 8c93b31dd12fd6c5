/*
 * writer.h - writes a file atomically: under its name appears either the whole file or nothing.
 * Errors: see mapping.h.
 */
#ifndef CR_WRITER_H
#define CR_WRITER_H

#include "mapping.h"

#include <stdio.h>

struct cr_new_file; /* the file in write.inc, until it gets its name */

/* A file that is being written.  It gets the mode of the file that it replaces, else 0666 minus
 * the umask. */
struct cr_writer {
    FILE *file;
    const char *path; /* path as the caller wrote it; must outlive the writer */
    char *target;     /* `path` with symbolic links resolved */
    struct cr_new_file *draft;
    int failure; /* errno of the first write that failed, or 0 */
};

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size);

/* Writes `count` bytes.  If that fails, cr_writer_commit reports it. */
void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count);

/* Writes all data to disk, but does not give the file its name yet.  For several files, finish
 * each of them before committing the first.  After a failure the writer is closed and no file is
 * left. */
int cr_writer_finish(struct cr_writer *writer, char *error, size_t size);

/* Gives the file its name, which replaces an older file.  After a failure no new file is left,
 * and an older file is unchanged.  Closes the writer in both cases. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Closes the writer and removes its file.  Does nothing if the writer is closed. */
void cr_writer_discard(struct cr_writer *writer);

#endif
