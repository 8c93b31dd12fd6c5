/*
 * writer.h - writing a file that appears whole or not at all.  Errors: see mapping.h.
 */
#ifndef CR_WRITER_H
#define CR_WRITER_H

#include "mapping.h"

#include <stdio.h>

struct cr_new_file; /* write.inc: a file that has no name yet */

/* A file being written: of the mode of the older one, else of 0666 less the umask. */
struct cr_writer {
    FILE *file;
    const char *path; /* as the user calls it; must outlive the writer */
    char *target;     /* `path` with symbolic links resolved */
    struct cr_new_file *draft;
    int failure; /* errno of the first write that failed, or 0 */
};

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size);

/* Adds bytes; a failure is remembered and reported by cr_writer_commit. */
void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count);

/* Writes all of the file to the disk; only its name is missing then.  With several files, finish
 * each before committing the first.  On failure nothing is left behind and the writer is closed. */
int cr_writer_finish(struct cr_writer *writer, char *error, size_t size);

/* Gives the file its name, in place of an older one.  On failure nothing is left behind
 * and the older file stands.  Either way the writer is closed. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Closes the writer and removes what it wrote.  Nothing happens to a closed writer. */
void cr_writer_discard(struct cr_writer *writer);

#endif
