/*
 * safetensors.h - reads (safetensors_read.h) and writes .safetensors files.  Errors: see
 * mapping.h.
 */
#ifndef CR_SAFETENSORS_H
#define CR_SAFETENSORS_H

#include "safetensors_read.h"
#include "writer.h"

/* Returns the metadata value with a key; null if there is none. */
const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key);

/* Returns the metadata key after `key`, or the first key if `key` is null; null if there is
 * none. */
const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key);

/* Reads all elements of a tensor to out[elements]; fails if the tensor's type is not supported. */
int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size);

/* Writes a whole file, with the tensors in the given order, to an open writer. */
int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size);

/* Writes the part of a file before the tensors' data.  The caller then writes the bytes of each
 * tensor, in the given order. */
int cr_safetensors_put_header(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                              const struct cr_st_metadata *metadata, int n_metadata, char *error,
                              size_t size);

#endif
