/* gguf_writer.h - writes GGUF files for tests: version 3, values and tensors in the order of the
 * calls. */
#ifndef GGUF_WRITER_H
#define GGUF_WRITER_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of types. */
enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_ARRAY = 9 };
enum {
    GGML_F32 = 0,
    GGML_F16 = 1,
    GGML_Q4_0 = 2,
    GGML_Q4_1 = 3,
    GGML_Q8_0 = 8,
    GGML_Q4_K = 12,
    GGML_Q6_K = 14,
    GGML_BF16 = 30
};

struct bytes {
    unsigned char *at;
    size_t n, room;
};

struct gguf {
    struct bytes values, tensors, data;
    uint64_t n_values, n_tensors;
};

static inline void put(struct bytes *b, const void *from, size_t n)
{
    while (b->n + n > b->room) {
        b->room = 2 * b->room + 1024;
        b->at = realloc(b->at, b->room);
        ck_assert_ptr_nonnull(b->at);
    }
    if (n)
        memcpy(b->at + b->n, from, n);
    b->n += n;
}

static inline void put_u32(struct bytes *b, uint32_t value)
{
    put(b, &value, sizeof value);
}

static inline void put_u64(struct bytes *b, uint64_t value)
{
    put(b, &value, sizeof value);
}

static inline void put_string(struct bytes *b, const char *text)
{
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}

/* Appends zeros up to a multiple of 32. */
static inline void put_padding(struct bytes *b)
{
    static const char zeros[32];
    put(b, zeros, (32 - b->n % 32) % 32);
}

/* ---- values ---- */

static inline void put_key(struct gguf *g, const char *key, uint32_t type)
{
    put_string(&g->values, key);
    put_u32(&g->values, type);
    g->n_values++;
}

static inline void put_integer(struct gguf *g, const char *key, uint32_t value)
{
    put_key(g, key, GGUF_U32);
    put_u32(&g->values, value);
}

static inline void put_real(struct gguf *g, const char *key, float value)
{
    put_key(g, key, GGUF_F32);
    put(&g->values, &value, sizeof value);
}

static inline void put_text(struct gguf *g, const char *key, const char *value)
{
    put_key(g, key, GGUF_STRING);
    put_string(&g->values, value);
}

static inline void put_bool(struct gguf *g, const char *key, unsigned char value)
{
    put_key(g, key, GGUF_BOOL);
    put(&g->values, &value, 1);
}

/* Writes the head of an array; the caller writes its items. */
static inline void put_array(struct gguf *g, const char *key, uint32_t type, uint64_t n)
{
    put_key(g, key, GGUF_ARRAY);
    put_u32(&g->values, type);
    put_u64(&g->values, n);
}

static inline void put_texts(struct gguf *g, const char *key, const char *const *texts, int n)
{
    put_array(g, key, GGUF_STRING, (uint64_t)n);
    for (int i = 0; i < n; i++)
        put_string(&g->values, texts[i]);
}

/* ---- tensors ---- */

/* Writes a tensor; elements along the last axis are adjacent in memory. */
static inline void put_tensor(struct gguf *g, const char *name, uint32_t type, int rank,
                              const int64_t *shape, const void *data, size_t bytes)
{
    put_string(&g->tensors, name);
    put_u32(&g->tensors, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--)
        put_u64(&g->tensors, (uint64_t)shape[i]);
    put_u32(&g->tensors, type);
    put_u64(&g->tensors, g->data.n);
    put(&g->data, data, bytes);
    put_padding(&g->data);
    g->n_tensors++;
}

/* ---- files ---- */

/* Returns the bytes of the file, and frees the memory of g. */
static inline struct bytes gguf_bytes(struct gguf *g)
{
    struct bytes all = {NULL, 0, 0};
    put(&all, "GGUF", 4);
    put_u32(&all, 3);
    put_u64(&all, g->n_tensors);
    put_u64(&all, g->n_values);
    put(&all, g->values.at, g->values.n);
    put(&all, g->tensors.at, g->tensors.n);
    put_padding(&all);
    put(&all, g->data.at, g->data.n);
    free(g->values.at);
    free(g->tensors.at);
    free(g->data.at);
    *g = (struct gguf){.n_values = 0};
    return all;
}

static inline void write_bytes(const char *path, const struct bytes *b)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(b->at, 1, b->n, file), b->n);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void write_gguf(const char *path, struct gguf *g)
{
    struct bytes all = gguf_bytes(g);
    write_bytes(path, &all);
    free(all.at);
}

#endif
