/* read_bytes.c - reads a whole file, or standard input; see read_bytes.h. */
#include "read_bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Doubles the buffer; returns false if memory is insufficient. */
static bool grow(struct cr_bytes *b)
{
    size_t room = b->room ? 2 * b->room : 1 << 16;
    char *data = realloc(b->data, room);
    if (!data)
        return false;
    b->data = data;
    b->room = room;
    return true;
}

/* Reads a stream to its end; the caller frees the bytes, even after a failure. */
static int read_stream(FILE *in, const char *name, size_t most, struct cr_bytes *b, struct cr_error *error)
{
    size_t n;
    errno = 0;
    do {
        if (b->n + 1 >= b->room && !grow(b))
            return cr_fail(error, "%.300s: out of memory after %zu bytes", name, b->n);
        n = fread(b->data + b->n, 1, b->room - b->n - 1, in);
        b->n += n;
        if (b->n > most)
            return cr_fail(error, "%.300s: the input is too long, expected at most %zu bytes", name,
                           most);
    } while (n > 0);
    b->data[b->n] = '\0';
    return ferror(in) ? cr_fail(error, "%.300s: cannot be read: %s", name, strerror(errno)) : 0;
}

int cr_read_bytes(const char *path, size_t most, struct cr_bytes *b, struct cr_error *error)
{
    *b = (struct cr_bytes){0};
    if (strcmp(path, "-") == 0)
        return read_stream(stdin, "standard input", most, b, error);
    FILE *in = fopen(path, "rb");
    if (!in)
        return cr_fail(error, "%.300s: cannot be opened: %s", path, strerror(errno));
    int status = read_stream(in, path, most, b, error);
    fclose(in);
    return status;
}
