/*
 * files.h - what every file format here needs: a file read through a mapping, and a
 * file written so that it appears whole or not at all.  Errors: see mapping.h.
 */
#ifndef CR_FILES_H
#define CR_FILES_H

#include "mapping.h"

#include <stdio.h>

/* A file being written under a temporary name in the folder of its final one. */
struct cr_writer {
    FILE *file;
    const char *path; /* as the user calls it; must outlive the writer */
    char *target;     /* `path` with symbolic links resolved */
    char *temporary;
    int failure; /* errno of the first write that failed, or 0 */
};

int cr_writer_open(struct cr_writer *writer, const char *path, char *error, size_t size);

/* Adds bytes; a failure is remembered and reported by cr_writer_commit. */
void cr_writer_put(struct cr_writer *writer, const void *bytes, size_t count);

/* Gives the file its name, in place of an older one.  On failure nothing is left behind
 * and the older file stands.  Either way the writer is closed. */
int cr_writer_commit(struct cr_writer *writer, char *error, size_t size);

/* Gives up: closes the writer and removes what it wrote. */
void cr_writer_discard(struct cr_writer *writer);

#endif
