/*
 * safetensors_read.h - reads .safetensors files.
 *
 * Such a file is the length of a header (8 bytes), the header (a JSON object with the type, shape
 * and offsets of each tensor), and the tensors' bytes without gaps.  A file is checked as a whole
 * when it is opened, so that every size below is valid.  Errors: see mapping.h.
 */
#ifndef CR_SAFETENSORS_READ_H
#define CR_SAFETENSORS_READ_H

#include <stdint.h>

#include "mapping.h"

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

CR_API const char *cr_st_type_name(enum cr_st_type type);

/* A tensor of a file, or one to write. */
struct cr_st_tensor {
    const char *name; /* UTF-8 */
    enum cr_st_type type;
    int rank;
    const int64_t *shape;
    int64_t elements; /* set by the reader; the writer computes it */
    size_t bytes;     /* set by the reader; the writer computes it */
    const void *data; /* may be unaligned in a file */
};

struct cr_st_metadata {
    const char *key, *value;
};

struct cr_safetensors {
    const char *path; /* the caller's string; must outlive the open file */
    struct cr_mapping mapping;
    struct cr_st_tensor *tensors;    /* sorted by the bytes of their names */
    struct cr_st_metadata *metadata; /* sorted by the bytes of their keys */
    int n_tensors, n_metadata;
    char *strings;   /* the memory of names, keys and values */
    int64_t *shapes; /* the memory of shapes */
};

CR_API int cr_safetensors_open(struct cr_safetensors *file, const char *path, char *error,
                               size_t size);
CR_API void cr_safetensors_close(struct cr_safetensors *file);

/* Checks a file whose bytes are in memory.  The bytes belong to `file` if this succeeds, else to
 * the caller. `path` is for messages. */
CR_API int cr_safetensors_parse(struct cr_safetensors *file, const char *path,
                                struct cr_mapping mapping, char *error, size_t size);

/* Returns the tensor called `name`, or null. */
CR_API const struct cr_st_tensor *cr_safetensors_find(const struct cr_safetensors *file,
                                                      const char *name);

/* Sets `elements` and `bytes` of a tensor from its shape and type.  Returns -1 if one overflows,
 * or if the elements do not fill whole bytes. */
CR_API int cr_st_measure(struct cr_st_tensor *tensor);

/* Fails if a tensor's type is not F32, F16, BF16 or F64, which cr_st_read converts to floats. */
CR_API int cr_safetensors_check(const struct cr_safetensors *file,
                                const struct cr_st_tensor *tensor, char *error, size_t size);

/* Converts n elements of a tensor, from element `first` on, to floats; cr_safetensors_check must
 * accept the type. Reads as cr_mapping_read does; -1 if that fails.  Threads may call it at the
 * same time. */
CR_API int cr_st_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                      int64_t first, int64_t n, float *out);

#endif
