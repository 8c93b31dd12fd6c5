/*
 * safetensors.h - reading (safetensors_read.h) and writing .safetensors files.
 * Errors: see mapping.h.
 */
#ifndef CR_SAFETENSORS_H
#define CR_SAFETENSORS_H

#include "writer.h"
#include "safetensors_read.h"

/* The metadata under a key, or null. */
const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key);

/* The key of the metadata that follows a key, or null; for null the first. */
const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key);

/* Whether a tensor can be read as floats: F32, F16, BF16 or F64. */
int cr_st_is_float(enum cr_st_type type);

/* Copies a whole tensor to out[elements], or refuses it. */
int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size);

/* The tensor's own floats if it is F32 and aligned: no copy is needed then.  Else null. */
const float *cr_safetensors_view(const struct cr_st_tensor *tensor);

/* Puts a whole file's content into an open writer: for a caller who has several files and
 * commits them together. */
int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size);

/* Writes a file, tensors in the order given, or leaves what was there (see cr_writer). */
int cr_safetensors_write(const char *path, const struct cr_st_tensor *tensors, int n_tensors,
                         const struct cr_st_metadata *metadata, int n_metadata, char *error,
                         size_t size);

#endif
