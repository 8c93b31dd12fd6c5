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

/* Brings all of the file to the disk, so that nothing but the name is left to be given: with
 * several files, each is finished before the first is committed.  On failure nothing is left
 * behind and the writer is closed. */
int cr_writer_finish(struct cr_writer *writer, char *error, size_t size);

/* Gives the file its name, in place of an older one.  On failure nothing is left behind
 * and the older file stands.  Either way the writer is closed. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Gives up: closes the writer and removes what it wrote.  Of a closed one there is nothing. */
void cr_writer_discard(struct cr_writer *writer);

#endif
