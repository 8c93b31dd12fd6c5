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
    const char *path; /* as the user spelled it; must outlive the writer */
    char *target;     /* `path` with symbolic links resolved */
    struct cr_new_file *draft;
    int failure; /* errno of the first write that failed, or 0 */
};

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size);

/* Writes bytes; cr_writer_commit reports a failure. */
void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count);

/* Writes the whole file to disk, still without its name.  With several files, finish each before
 * committing the first.  A failure closes the writer and leaves nothing behind. */
int cr_writer_finish(struct cr_writer *writer, char *error, size_t size);

/* Gives the file its name, replacing an older one.  A failure leaves nothing behind, and keeps the
 * older file.  The writer is closed in both cases. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Closes the writer and removes its file.  Has no effect on a closed writer. */
void cr_writer_discard(struct cr_writer *writer);

#endif
