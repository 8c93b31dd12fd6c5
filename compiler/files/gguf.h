/*
 * gguf.h - reads GGUF files, versions 2 and 3, the format of llama.cpp and ggml.
 *
 * Such a file has a header, metadata (each a key, a type and a value), a description of each
 * tensor, and the tensors' bytes, each at a multiple of an alignment.  A file is checked as a whole
 * when it is opened, so that every size below holds.  Errors: see mapping.h.
 */
#ifndef CR_GGUF_H
#define CR_GGUF_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping.h"

/* A string in the file, not null-terminated. */
struct cr_gguf_string {
    const char *text;
    size_t length;
};

/* ---- metadata ---- */

/* The types of values, as numbered in files. */
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
    enum cr_gguf_kind kind; /* in an array: type of its items */
    bool is_array;
    uint64_t n;                /* number of items; 1 if it is not an array */
    const unsigned char *data; /* first item, possibly unaligned */
};

/* Returns "an integer", "an array of strings", ... */
const char *cr_gguf_kind_of(const struct cr_gguf_value *value);

/* Return item i of a value; return false if there is none, its type differs, or it is out of
 * range. */
bool cr_gguf_integer(const struct cr_gguf_value *value, uint64_t i, int64_t *out);
bool cr_gguf_real(const struct cr_gguf_value *value, uint64_t i, double *out);
/* Returns a count: an integer of at least 1, or an array of such integers that are all equal. */
bool cr_gguf_count(const struct cr_gguf_value *value, int64_t *out);
bool cr_gguf_bool(const struct cr_gguf_value *value, bool *out);

/* Returns the string at *at, and moves *at past it; value->data is the first item. */
struct cr_gguf_string cr_gguf_next_string(const unsigned char **at);

/* ---- tensors ---- */

/* An element type.  Elements are stored in blocks along the last axis; plain types have blocks of
 * one. */
struct cr_gguf_type {
    const char *name;
    int number;          /* as used in files */
    int elements, bytes; /* of a block: its elements and bytes */
    /* Converts n elements from number `first` of the first block on; null: not supported. */
    void (*floats)(const unsigned char *blocks, int64_t first, int64_t n, float *out);
};

enum { CR_GGUF_RANK = 4 };

struct cr_gguf_tensor {
    struct cr_gguf_string name;
    const struct cr_gguf_type *type;
    int rank;
    int64_t shape[CR_GGUF_RANK]; /* elements along the last axis are contiguous */
    int64_t elements;
    size_t bytes;
    const unsigned char *data; /* where its first byte would be if the whole file was mapped */
};

/* ---- files ---- */

struct cr_gguf {
    const char *path; /* the caller's; must outlive the open file */
    struct cr_mapping mapping;
    struct cr_gguf_value *values;   /* sorted by bytes of their keys */
    struct cr_gguf_tensor *tensors; /* sorted by bytes of their names */
    int n_values, n_tensors;
};

/* True if a path is a GGUF file, judged by its extension or its first bytes. */
bool cr_is_gguf(const char *path);

/* Opens a file.  What comes before the data of tensors is mapped; their data have to be read, as by
 * cr_gguf_floats. */
int cr_gguf_open(struct cr_gguf *file, const char *path, char *error, size_t size);
void cr_gguf_close(struct cr_gguf *file);

/* Does the same with bytes in memory, which stay the caller's on failure. */
int cr_gguf_parse(struct cr_gguf *file, const char *path, struct cr_mapping mapping, char *error,
                  size_t size);

/* Find the value of a key and the tensor of a name, or null. */
const struct cr_gguf_value *cr_gguf_find(const struct cr_gguf *file, const char *key);
const struct cr_gguf_tensor *cr_gguf_find_tensor(const struct cr_gguf *file, const char *name);

/* Fails for a tensor whose type cannot be converted to floats. */
int cr_gguf_check(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, char *error,
                  size_t size);

/* Reads n elements from `first` on, across rows, and converts them; the type must be one that cr_gguf_check
 * accepts.  Several threads may call it at once.  Returns -1 if the file cannot be read (cr_mapping_fail). */
int cr_gguf_floats(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, int64_t first,
                   int64_t n, float *out);

/* Returns the place of the block that holds column `col` of a row, which must exist; rows run along the last
 * axis. */
const unsigned char *cr_gguf_block(const struct cr_gguf_tensor *tensor, int64_t row, int64_t col);

#endif
