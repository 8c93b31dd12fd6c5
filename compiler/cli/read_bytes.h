/* read_bytes.h - reads a whole file, or standard input. */
#ifndef CR_READ_BYTES_H
#define CR_READ_BYTES_H

#include <stddef.h>

#include "compiler/ir/error.h"

/* The maximum number of bytes of a text for a tokenizer. */
#define CR_MOST_TEXT ((size_t)1 << 28)

/* The contents of a file.  The caller frees them with free(bytes.data). */
struct cr_bytes {
    char *data; /* the bytes, followed by a NUL */
    size_t n, room;
};

/* Reads the file at `path`, or standard input if it is "-".  Fails after `most` bytes, since the
 * input may be endless. */
int cr_read_bytes(const char *path, size_t most, struct cr_bytes *bytes, struct cr_error *error);

#endif
