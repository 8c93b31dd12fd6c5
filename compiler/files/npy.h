/*
 * npy.h - reading (npy_read.h) and writing NumPy's .npy files of floats and 32-bit integers.
 *
 * Written: version 1.0, <f4 or <i4, the bytes that numpy.save writes.  Errors: see mapping.h.
 */
#ifndef CR_NPY_H
#define CR_NPY_H

#include "npy_read.h"
#include "writer.h"

/* Element i in C order, of any type. */
double cr_npy_number(const struct cr_npy *file, int64_t i);

/* Copies the elements of any type to out[elements], in C order. */
void cr_npy_read_f64(const struct cr_npy *file, double *out);

/* Puts an array of CR_NPY_F4 or CR_NPY_I4, of fewer than 2^63 bytes, into an open writer. */
void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data);

#endif
