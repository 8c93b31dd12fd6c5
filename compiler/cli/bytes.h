/* bytes.h - reads a whole file, or standard input. */
#ifndef CR_BYTES_H
#define CR_BYTES_H

#include <stddef.h>

#include "compiler/ir/error.h"

/* The most bytes that a tokenizer takes. */
#define CR_MOST_TEXT ((size_t)1 << 28)

/* The caller frees it with free(bytes.data). */
struct cr_bytes {
    char *data; /* ends in a zero byte */
    size_t n, room;
};

/* Reads the file at `path`, or standard input for "-".  Fails as soon as more than `most` bytes
 * have arrived: the input may be endless. */
int cr_read_bytes(const char *path, size_t most, struct cr_bytes *bytes, struct cr_error *error);

#endif
