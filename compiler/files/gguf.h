/*
 * gguf.h - reading GGUF files, versions 2 and 3: those of llama.cpp and ggml.
 *
 * Such a file is a header, metadata (a key, a type and a value each), what is said of each tensor, and
 * the tensors' bytes, each at a multiple of an alignment.  A file is checked as a whole when it is
 * opened, so that every size below holds.  Errors: see mapping.h.
 */
#ifndef CR_GGUF_H
#define CR_GGUF_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping.h"

/* Text as it stands in the file, without a zero behind it. */
struct cr_gguf_string {
    const char *text;
    size_t length;
};

/* ---- metadata ---- */

/* The types of values, by their numbers in files. */
enum cr_gguf_kind {
    CR_GGUF_U8,
    CR_GGUF_I8,
    CR_GGUF_U16,
    CR_GGUF_I16,
    CR_GGUF_U32,
    CR_GGUF_I32,
    CR_GGUF_F32,
    CR_GGUF_BOOL,
    CR_GGUF_STRING,
    CR_GGUF_ARRAY,
    CR_GGUF_U64,
    CR_GGUF_I64,
    CR_GGUF_F64
};

/* A value, or an array of some. */
struct cr_gguf_value {
    struct cr_gguf_string key;
    enum cr_gguf_kind kind; /* of an array: of its items */
    bool is_array;
    uint64_t n;                /* items; 1 of what is no array */
    const unsigned char *data; /* of the first item, at any address */
};

/* "an integer", "an array of strings", ... */
const char *cr_gguf_kind_of(const struct cr_gguf_value *value);

/* Item i of a value of numbers or booleans: false if it is none of that kind, or is out of the range
 * of the result. */
bool cr_gguf_integer(const struct cr_gguf_value *value, uint64_t i, int64_t *out);
bool cr_gguf_real(const struct cr_gguf_value *value, uint64_t i, double *out);
/* A count: an integer from 1 on, or an array of some that are all the same. */
bool cr_gguf_count(const struct cr_gguf_value *value, int64_t *out);
bool cr_gguf_bool(const struct cr_gguf_value *value, bool *out);

/* The string at *at, which is left behind it: items of a value of strings, from its data on. */
struct cr_gguf_string cr_gguf_next_string(const unsigned char **at);

/* ---- tensors ---- */

/* Elements lie in blocks along the last axis; a block of one is an element by itself. */
struct cr_gguf_type {
    const char *name;
    int number;          /* in files */
    int elements, bytes; /* of a block */
    /* Makes n floats, from number `first` of the first block on; null: a type that is not read. */
    void (*floats)(const unsigned char *blocks, int64_t first, int64_t n, float *out);
};

enum { CR_GGUF_RANK = 4 };

struct cr_gguf_tensor {
    struct cr_gguf_string name;
    const struct cr_gguf_type *type;
    int rank;
    int64_t shape[CR_GGUF_RANK]; /* the last axis is the one of consecutive elements */
    int64_t elements;
    size_t bytes;
    const unsigned char *data;
};

/* ---- files ---- */

struct cr_gguf {
    const char *path; /* the caller's, until the file is closed */
    struct cr_mapping mapping;
    struct cr_gguf_value *values;   /* in order of their keys' bytes */
    struct cr_gguf_tensor *tensors; /* in order of their names' bytes */
    int n_values, n_tensors;
};

/* Whether a path is that of such a file: it is called so, or begins as one. */
bool cr_is_gguf(const char *path);

int cr_gguf_open(struct cr_gguf *file, const char *path, char *error, size_t size);
void cr_gguf_close(struct cr_gguf *file);

/* The same for bytes that are in memory already, and stay the caller's if this fails. */
int cr_gguf_parse(struct cr_gguf *file, const char *path, struct cr_mapping mapping, char *error,
                  size_t size);

/* The value of a key, or null; the tensor of a name, or null. */
const struct cr_gguf_value *cr_gguf_find(const struct cr_gguf *file, const char *key);
const struct cr_gguf_tensor *cr_gguf_find_tensor(const struct cr_gguf *file, const char *name);

/* Refuses a tensor whose type is not read as floats. */
int cr_gguf_check(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, char *error,
                  size_t size);

/* The block that has column `col` of a row, which are there: rows are all that is not the last axis. */
const unsigned char *cr_gguf_block(const struct cr_gguf_tensor *tensor, int64_t row, int64_t col);

#endif
