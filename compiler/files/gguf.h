/*
 * gguf.h - reads GGUF files, versions 2 and 3, the format of llama.cpp and ggml.
 *
 * Such a file has a header, metadata (each a key, a type and a value), a description of each
 * tensor, and the tensors' data, each at a multiple of an alignment.  The whole file is checked
 * when it is opened, so that all sizes below are valid.  Errors: see mapping.h.
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

/* The types of metadata values, with their numbers in files. */
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

/* A metadata value, or an array of values. */
struct cr_gguf_value {
    struct cr_gguf_string key;
    enum cr_gguf_kind kind; /* type of the value, or of an array's items */
    bool is_array;
    uint64_t n;                /* number of items; 1 for a value that is not an array */
    const unsigned char *data; /* address of the first item, which may be unaligned */
};

/* Returns a description of a value's type for messages: "an integer", "an array of strings", ... */
const char *cr_gguf_kind_of(const struct cr_gguf_value *value);

/* Set *out to item i of a value; return false if there is no such item, its type differs, or it
 * is out of range. */
bool cr_gguf_integer(const struct cr_gguf_value *value, uint64_t i, int64_t *out);
bool cr_gguf_real(const struct cr_gguf_value *value, uint64_t i, double *out);
/* Sets *out to a count: an integer of at least 1, or an array of such integers if they are all
 * equal.  Returns false for other values. */
bool cr_gguf_count(const struct cr_gguf_value *value, int64_t *out);
bool cr_gguf_bool(const struct cr_gguf_value *value, bool *out);

/* Returns the string at *at, and moves *at to the next one.  In an array of strings, the first
 * string is at value->data. */
struct cr_gguf_string cr_gguf_next_string(const unsigned char **at);

/* ---- tensors ---- */

/* An element type.  Elements are stored in blocks along the last axis; a plain type has blocks of
 * one element. */
struct cr_gguf_type {
    const char *name;
    int number;          /* number of the type in files */
    int elements, bytes; /* elements and bytes of a block */
    /* Converts n elements of consecutive blocks, from element `first` of the first block on; null
     * if the type is not supported. */
    void (*floats)(const unsigned char *blocks, int64_t first, int64_t n, float *out);
};

enum { CR_GGUF_RANK = 4 };

struct cr_gguf_tensor {
    struct cr_gguf_string name;
    const struct cr_gguf_type *type;
    int rank;
    int64_t shape[CR_GGUF_RANK]; /* the last axis is contiguous in memory */
    int64_t elements;
    size_t bytes;
    const unsigned char *data; /* address of its data, as if the whole file were mapped */
};

/* ---- files ---- */

struct cr_gguf {
    const char *path; /* the caller's string; must outlive the open file */
    struct cr_mapping mapping;
    struct cr_gguf_value *values;   /* sorted by the bytes of their keys */
    struct cr_gguf_tensor *tensors; /* sorted by the bytes of their names */
    int n_values, n_tensors;
};

/* True if the file at a path is a GGUF file, judged by its ending or its first bytes. */
bool cr_is_gguf(const char *path);

/* Opens a file.  The part before the tensors' data is mapped; the data must be read, for example
 * by cr_gguf_floats. */
int cr_gguf_open(struct cr_gguf *file, const char *path, char *error, size_t size);
void cr_gguf_close(struct cr_gguf *file);

/* Opens a file whose bytes are in memory, as cr_gguf_open does; the bytes stay the caller's on
 * failure. */
int cr_gguf_parse(struct cr_gguf *file, const char *path, struct cr_mapping mapping, char *error,
                  size_t size);

/* Return the metadata value with a key, and the tensor with a name; null if there is none. */
const struct cr_gguf_value *cr_gguf_find(const struct cr_gguf *file, const char *key);
const struct cr_gguf_tensor *cr_gguf_find_tensor(const struct cr_gguf *file, const char *name);

/* Fails if the type of a tensor cannot be converted to floats. */
int cr_gguf_check(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, char *error,
                  size_t size);

/* Reads n elements from `first` on, also across rows, and converts them to floats; cr_gguf_check
 * must accept the type.  Several threads may call it at once.  Returns -1 if the file cannot be
 * read (cr_mapping_fail). */
int cr_gguf_floats(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, int64_t first,
                   int64_t n, float *out);

/* Returns the address of the block that contains column `col` of a row, which must exist.  Rows
 * extend along the last axis. */
const unsigned char *cr_gguf_block(const struct cr_gguf_tensor *tensor, int64_t row, int64_t col);

#endif
