/*
 * npy_read.h - reads NumPy's .npy files of floats and integers, and writes their headers.
 *
 * It reads versions 1.0, 2.0 and 3.0; f2, f4, f8, i4 and i8 of either byte order, i1, u1 and b1;
 * elements in C or Fortran order.  A file is checked as a whole when it is opened.  Errors: see
 * mapping.h.
 */
#ifndef CR_NPY_READ_H
#define CR_NPY_READ_H

#include <stdint.h>

#include "mapping.h"

enum { CR_NPY_MAX_RANK = 32, CR_NPY_HEADER = 1024 };

enum cr_npy_type { CR_NPY_F4, CR_NPY_F8, CR_NPY_I4, CR_NPY_I8, CR_NPY_F2, CR_NPY_I1, CR_NPY_U1, CR_NPY_B1 };

/* Returns the bytes of an element. */
CR_API size_t cr_npy_width(enum cr_npy_type type);

struct cr_npy {
    const char *path; /* the caller's string; must outlive the open file */
    struct cr_mapping mapping;
    enum cr_npy_type type;
    int big; /* true if the elements are big-endian */
    int rank;
    int64_t shape[CR_NPY_MAX_RANK], stride[CR_NPY_MAX_RANK]; /* `stride` counts elements */
    int64_t elements;
    const unsigned char *data; /* address of the data; may be unaligned */
};

CR_API int cr_npy_open(struct cr_npy *file, const char *path, char *error, size_t size);
CR_API void cr_npy_close(struct cr_npy *file);

/* Checks a file whose bytes are in memory.  The bytes belong to `file` if this succeeds, else to
 * the caller. `path` is for messages. */
CR_API int cr_npy_parse(struct cr_npy *file, const char *path, struct cr_mapping mapping,
                        char *error, size_t size);

/* Copy the elements to out[elements], in C order.  f32 reads f2, f4, and f8, which it rounds to
 * nearest; i32 reads i1, u1, b1 (0 and 1), i4, and i8 if each element fits 32 bits.  They fail
 * for other types. */
CR_API int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size);
CR_API int cr_npy_read_i32(const struct cr_npy *file, int32_t *out, char *error, size_t size);

/* Returns the bytes of an array, or -1 if there are 2^63 of them or more. */
CR_API int64_t cr_npy_bytes(enum cr_npy_type type, int rank, const int64_t *shape);

/* Returns the address of element i in C order. */
CR_API const unsigned char *cr_npy_at(const struct cr_npy *file, int64_t i);

/* Prints the header that numpy.save writes for little-endian elements in C order.  Returns its length,
 * a multiple of 64. */
CR_API size_t cr_npy_print_header(char out[CR_NPY_HEADER], enum cr_npy_type type, int rank,
                                  const int64_t *shape);

#endif
