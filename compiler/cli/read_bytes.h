/* read_bytes.h - reads a whole file, or standard input. */
#ifndef CR_READ_BYTES_H
#define CR_READ_BYTES_H

#include <stddef.h>

#include "compiler/ir/error.h"

/* The most bytes of text for a tokenizer. */
#define CR_MOST_TEXT ((size_t)1 << 28)

/* The caller frees it with free(bytes.data). */
struct cr_bytes {
    char *data; /* terminated by a zero */
    size_t n, room;
};

/* Reads the file at `path`, or standard input for "-".  Fails once it has read more than `most`
 * bytes, since the input may be endless. */
int cr_read_bytes(const char *path, size_t most, struct cr_bytes *bytes, struct cr_error *error);

#endif
