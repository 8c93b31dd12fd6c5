/*
 * safetensors.h - reading (safetensors_read.h) and writing .safetensors files.
 * Errors: see mapping.h.
 */
#ifndef CR_SAFETENSORS_H
#define CR_SAFETENSORS_H

#include "safetensors_read.h"
#include "writer.h"

/* The metadata under a key, or null. */
const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key);

/* The key of the metadata that follows a key, or null; for null the first. */
const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key);

/* Copies a whole tensor to out[elements], or refuses it. */
int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size);

/* Puts a whole file's content, tensors in the order given, into an open writer. */
int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size);

#endif
