/*
 * safetensors.h - reading and writing .safetensors files.
 *
 * Such a file is the length of a header (8 bytes), the header (a JSON object that
 * gives each tensor's type, shape and place), and the tensors' bytes without gaps.
 * A file is checked as a whole when it is opened: every size below is true
 * afterwards.  Errors: see files.h.
 */
#ifndef CR_SAFETENSORS_H
#define CR_SAFETENSORS_H

#include "files.h"

#include <stdint.h>

/* Every element type of the format, with its width in bits. */
/* clang-format off */
#define CR_ST_TYPES(TYPE)                                                                          \
    TYPE(F4, 4) TYPE(F6_E2M3, 6) TYPE(F6_E3M2, 6) TYPE(BOOL, 8) TYPE(U8, 8) TYPE(I8, 8)            \
    TYPE(F8_E5M2, 8) TYPE(F8_E4M3, 8) TYPE(F8_E8M0, 8) TYPE(F8_E4M3FNUZ, 8) TYPE(F8_E5M2FNUZ, 8)   \
    TYPE(I16, 16) TYPE(U16, 16) TYPE(F16, 16) TYPE(BF16, 16) TYPE(I32, 32) TYPE(U32, 32)           \
    TYPE(F32, 32) TYPE(C64, 64) TYPE(F64, 64) TYPE(I64, 64) TYPE(U64, 64)
/* clang-format on */

enum cr_st_type {
#define CR_ST_ENUM(name, bits) CR_ST_##name,
    CR_ST_TYPES(CR_ST_ENUM)
#undef CR_ST_ENUM
};

const char *cr_st_type_name(enum cr_st_type type);

/* A tensor of a file, or one to be written. */
struct cr_st_tensor {
    const char *name; /* UTF-8 */
    enum cr_st_type type;
    int rank;
    const int64_t *shape;
    int64_t elements; /* set by the reader; the writer computes its own */
    size_t bytes;     /* likewise */
    const void *data; /* in a file: at any address, aligned or not */
};

struct cr_st_metadata {
    const char *key, *value;
};

struct cr_safetensors {
    char *path;
    struct cr_mapping mapping;
    struct json_t *header;        /* owns the names */
    struct cr_st_tensor *tensors; /* in order of their names' bytes */
    int n_tensors;
};

int cr_safetensors_open(struct cr_safetensors *file, const char *path, char *error, size_t size);
void cr_safetensors_close(struct cr_safetensors *file);

/* The tensor of a name, or null. */
const struct cr_st_tensor *cr_safetensors_find(const struct cr_safetensors *file, const char *name);

/* The metadata under a key, or null. */
const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key);

/* The key of the metadata that follows a key, or null; for null the first. */
const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key);

/* Whether a tensor can be read as floats: F32, F16, BF16 or F64. */
int cr_st_is_float(enum cr_st_type type);

/* Refuses a tensor that cannot be read as floats. */
int cr_safetensors_check(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                         char *error, size_t size);

/* Copies n elements from `first` on of a tensor that can be read as floats.  F16 and BF16
 * convert exactly, F64 rounds to nearest (to infinity where it is out of range); F32 keeps
 * its bits. */
void cr_st_convert(const struct cr_st_tensor *tensor, int64_t first, int64_t n, float *out);

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
