/* onnx_writer.h - writes ONNX files for tests, one protobuf message at a time. */
#ifndef CR_ONNX_WRITER_H
#define CR_ONNX_WRITER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A protobuf message under construction; its buffer is large enough for what tests write. */
struct message {
    unsigned char at[1 << 15];
    size_t n;
};

static inline void put_varint(struct message *m, uint64_t value)
{
    for (; value > 127; value >>= 7)
        m->at[m->n++] = (unsigned char)(value | 128);
    m->at[m->n++] = (unsigned char)value;
}

static inline void put_integer(struct message *m, int field, int64_t value)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, (uint64_t)value);
}

static inline void put_bytes(struct message *m, int field, const void *bytes, size_t n)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, n);
    memcpy(m->at + m->n, bytes, n);
    m->n += n;
}

static inline void put_text(struct message *m, int field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static inline void put_message(struct message *m, int field, const struct message *inner)
{
    put_bytes(m, field, inner->at, inner->n);
}

static inline void put_float(struct message *m, int field, float value)
{
    put_varint(m, (uint64_t)field << 3 | 5);
    memcpy(m->at + m->n, &value, 4);
    m->n += 4;
}

/* ---- ONNX ---- */

/* SYMBOL('n') is a symbolic size: -1 less the letter's place in the alphabet, counted from 0. */
#define SYMBOL(letter) (-1 - ((letter) - 'a'))

/* Appends an input (field 11) or output (field 12) to a graph. */
static inline void put_value(struct message *graph, int field, const char *name, int type, int rank,
                             const int64_t *sizes)
{
    struct message info = {.n = 0}, types = {.n = 0}, tensor = {.n = 0}, shape = {.n = 0};
    for (int i = 0; i < rank; i++) {
        struct message size = {.n = 0};
        if (sizes[i] >= 0)
            put_integer(&size, 1, sizes[i]);
        else
            put_text(&size, 2, (char[]){(char)('a' - 1 - sizes[i]), 0});
        put_message(&shape, 1, &size);
    }
    put_integer(&tensor, 1, type);
    put_message(&tensor, 2, &shape);
    put_message(&types, 1, &tensor);
    put_text(&info, 1, name);
    put_message(&info, 2, &types);
    put_message(graph, field, &info);
}

/* Appends a node.  Names of inputs and outputs are separated by spaces ("-": an input that is left
 * out); its attributes are an encoded message. */
static inline void put_node(struct message *graph, const char *op, const char *inputs,
                            const char *outputs, const struct message *attributes)
{
    struct message node = {.n = 0};
    char text[256], *rest, *word;
    for (int i = 0; i < 2; i++) {
        strcpy(text, i ? outputs : inputs);
        for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            put_text(&node, i + 1, strcmp(word, "-") == 0 ? "" : word);
    }
    put_text(&node, 3, "the_node");
    put_text(&node, 4, op);
    if (attributes) {
        memcpy(node.at + node.n, attributes->at, attributes->n);
        node.n += attributes->n;
    }
    put_message(graph, 1, &node);
}

static inline void put_integer_attribute(struct message *attributes, const char *name,
                                         int64_t value)
{
    struct message a = {.n = 0};
    put_text(&a, 1, name);
    put_integer(&a, 3, value);
    put_integer(&a, 20, 2);
    put_message(attributes, 5, &a);
}

static inline void put_text_attribute(struct message *attributes, const char *name,
                                      const char *value)
{
    struct message a = {.n = 0};
    put_text(&a, 1, name);
    put_text(&a, 4, value);
    put_integer(&a, 20, 3);
    put_message(attributes, 5, &a);
}

static inline void put_graph_attribute(struct message *attributes, const char *name,
                                       const struct message *graph)
{
    struct message a = {.n = 0};
    put_text(&a, 1, name);
    put_message(&a, 6, graph);
    put_integer(&a, 20, 5);
    put_message(attributes, 5, &a);
}

/* Appends an attribute whose value is an encoded tensor. */
static inline void put_tensor_attribute(struct message *attributes, const char *name,
                                        const struct message *tensor)
{
    struct message a = {.n = 0};
    put_text(&a, 1, name);
    put_message(&a, 5, tensor);
    put_integer(&a, 20, 4);
    put_message(attributes, 5, &a);
}

/* Appends an initializer (field 5) with raw data. */
static inline void put_tensor(struct message *graph, const char *name, int type, int rank,
                              const int64_t *sizes, const void *data, size_t bytes)
{
    struct message tensor = {.n = 0};
    for (int i = 0; i < rank; i++)
        put_integer(&tensor, 1, sizes[i]);
    put_integer(&tensor, 2, type);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, data, bytes);
    put_message(graph, 5, &tensor);
}

/* The model of a graph. */
static inline struct message model_of(const struct message *graph, int version)
{
    struct message model = {.n = 0}, opset = {.n = 0};
    put_integer(&model, 1, 8);
    put_text(&model, 2, "the tests");
    put_message(&model, 7, graph);
    put_text(&opset, 1, "");
    put_integer(&opset, 2, version);
    put_message(&model, 8, &opset);
    return model;
}

#endif
