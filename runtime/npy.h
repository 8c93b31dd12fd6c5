/*
 * npy.h - reading and writing NumPy's .npy files of floats and 32-bit integers.
 *
 * Read: versions 1.0, 2.0 and 3.0, little-endian, C order, <f4, <f8, <i4, <i8.
 * Written: version 1.0, <f4 or <i4, the bytes that numpy.save writes.  A file is
 * checked as a whole when it is opened.  Errors: see files.h.
 */
#ifndef CR_NPY_H
#define CR_NPY_H

#include "files.h"

#include <stdint.h>

enum { CR_NPY_MAX_RANK = 32 };

enum cr_npy_type { CR_NPY_F4, CR_NPY_F8, CR_NPY_I4, CR_NPY_I8 };

/* As NumPy writes it: "<f4" and so on. */
const char *cr_npy_type_name(enum cr_npy_type type);

struct cr_npy {
    char *path;
    struct cr_mapping mapping;
    enum cr_npy_type type;
    int rank;
    int64_t shape[CR_NPY_MAX_RANK];
    int64_t elements;
    const unsigned char *data; /* at any address, aligned or not */
};

int cr_npy_open(struct cr_npy *file, const char *path, char *error, size_t size);
void cr_npy_close(struct cr_npy *file);

/* Copies the elements to out[elements].  Floats come from <f4, or <f8 rounded to nearest;
 * integers from <i4, or <i8 where each fits 32 bits.  No float is taken for an integer nor
 * an integer for a float. */
int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size);
int cr_npy_read_i32(const struct cr_npy *file, int32_t *out, char *error, size_t size);

/* Puts an array of CR_NPY_F4 or CR_NPY_I4, of fewer than 2^63 bytes, into an open writer: for
 * a caller who has several files and commits them together. */
void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data);

/* Writes an array of CR_NPY_F4 or CR_NPY_I4, or leaves what was there (see cr_writer). */
int cr_npy_write(const char *path, enum cr_npy_type type, int rank, const int64_t *shape,
                 const void *data, char *error, size_t size);

#endif
