/*
 * files.h - what every file format here needs: a file read through a mapping, a
 * file written so that it appears whole or not at all, and messages of one line.
 *
 * A function that can fail for a reason outside the program returns 0 or -1 and
 * then leaves "PATH: what was found, what was expected" in error[size].
 */
#ifndef CR_FILES_H
#define CR_FILES_H

#include <stddef.h>
#include <stdio.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers in files are taken as they are: this needs a little-endian machine"
#endif

/* Sets the message and returns -1.  The path is shortened and escaped where need be. */
int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Text from a file made fit for a message: escaped, shortened, in quotes. */
struct cr_shown {
    char text[96];
};
struct cr_shown cr_show(const char *text, size_t length);

/* The bytes of a file, readable until it is unmapped. */
struct cr_mapping {
    const unsigned char *bytes;
    size_t size;
};

int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size);
void cr_unmap_file(struct cr_mapping *mapping);

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
