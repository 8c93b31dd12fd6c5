/*
 * npy.h - reads (npy_read.h) and writes NumPy's .npy files of floats and 32-bit integers.
 *
 * It writes version 1.0, <f4 or <i4, with the same bytes as numpy.save.  Errors: see mapping.h.
 */
#ifndef CR_NPY_H
#define CR_NPY_H

#include "npy_read.h"
#include "writer.h"

/* Returns element i in C order, converted from any type. */
double cr_npy_number(const struct cr_npy *file, int64_t i);

/* Converts all elements from any type to out[elements], in C order. */
void cr_npy_read_f64(const struct cr_npy *file, double *out);

/* Writes an array of CR_NPY_F4 or CR_NPY_I4, of fewer than 2^63 bytes, to an open writer; its
 * header alone if `data` is null. */
void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data);

#endif
