/*
 * npy.h - reads (npy_read.h) and writes NumPy's .npy files of floats and 32-bit integers.
 *
 * Files are written in version 1.0, as <f4 or <i4, with the same bytes as by numpy.save.  Errors:
 * see mapping.h.
 */
#ifndef CR_NPY_H
#define CR_NPY_H

#include "npy_read.h"
#include "writer.h"

/* Returns element i, in row-major order, as a double, whatever its type in the file is. */
double cr_npy_number(const struct cr_npy *file, int64_t i);

/* Converts all elements, in row-major order, to doubles in out[elements]. */
void cr_npy_read_f64(const struct cr_npy *file, double *out);

/* Writes an array of type CR_NPY_F4 or CR_NPY_I4, with fewer than 2^63 bytes, to an open writer;
 * if `data` is null, only the header. */
void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data);

#endif
