/*
 * safetensors.h - reads (safetensors_read.h) and writes .safetensors files. Errors: see mapping.h.
 */
#ifndef CR_SAFETENSORS_H
#define CR_SAFETENSORS_H

#include "safetensors_read.h"
#include "writer.h"

/* Returns the metadata under a key, or null. */
const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key);

/* Returns the metadata key that follows `key`, or null; the first one if `key` is null. */
const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key);

/* Reads a whole tensor to out[elements]; fails if its type is not supported. */
int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size);

/* Writes the content of a whole file, with tensors in the given order, to an open writer. */
int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size);

/* Writes what stands before the tensors, whose data need not be there yet.  The caller then puts the bytes of each,
 * in the same order. */
int cr_safetensors_put_header(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                              const struct cr_st_metadata *metadata, int n_metadata, char *error,
                              size_t size);

#endif
