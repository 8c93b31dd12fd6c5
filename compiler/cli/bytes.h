/* bytes.h - all of a file, or of standard input. */
#ifndef CR_BYTES_H
#define CR_BYTES_H

#include <stddef.h>

#include "compiler/ir/error.h"

/* Freed by the caller: free(bytes.data). */
struct cr_bytes {
    char *data; /* with a zero behind */
    size_t n, room;
};

/* Reads the file at `path`, or standard input for "-". */
int cr_read_bytes(const char *path, struct cr_bytes *bytes, struct cr_error *error);

#endif
