/* bytes.h - all of a file, or of standard input. */
#ifndef CR_BYTES_H
#define CR_BYTES_H

#include <stddef.h>

#include "compiler/ir/error.h"

/* Bytes that a tokenizer takes at most. */
#define CR_MOST_TEXT ((size_t)1 << 28)

/* Freed by the caller: free(bytes.data). */
struct cr_bytes {
    char *data; /* with a zero behind */
    size_t n, room;
};

/* Reads the file at `path`, or standard input for "-".  One of more than `most` bytes is refused before it is
 * read to its end, which it may not have. */
int cr_read_bytes(const char *path, size_t most, struct cr_bytes *bytes, struct cr_error *error);

#endif
