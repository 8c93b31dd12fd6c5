/*
 * model_proto.h - the messages of an ONNX file (onnx.proto), as far as a graph needs them, as
 * structs.
 *
 * Reading checks every length, and computes nothing.  All memory is in the model's arena or in the
 * mapped file, and lives until cr_onnx_model_close.
 */
#ifndef CR_ONNX_MODEL_PROTO_H
#define CR_ONNX_MODEL_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "compiler/files/mapping.h"
#include "compiler/ir/error.h"

/* TensorProto.DataType. */
enum cr_onnx_type {
    CR_ONNX_UNDEFINED,
    CR_ONNX_FLOAT,
    CR_ONNX_UINT8,
    CR_ONNX_INT8,
    CR_ONNX_UINT16,
    CR_ONNX_INT16,
    CR_ONNX_INT32,
    CR_ONNX_INT64,
    CR_ONNX_STRING,
    CR_ONNX_BOOL,
    CR_ONNX_FLOAT16,
    CR_ONNX_DOUBLE,
    CR_ONNX_UINT32,
    CR_ONNX_UINT64,
    CR_ONNX_COMPLEX64,
    CR_ONNX_COMPLEX128,
    CR_ONNX_BFLOAT16,
    CR_ONNX_N_TYPES
};

/* Returns the name of a type, "float16"; or "type 17" if the type is unknown. */
const char *cr_onnx_type_name(int type);

/* Returns the bytes of an element, or 0 for strings and unknown types. */
int cr_onnx_type_bytes(int type);

/* A tensor.  Its elements are row-major unless is_transposed, little-endian, maybe unaligned. */
struct cr_onnx_tensor {
    const char *name;
    enum cr_onnx_type type;
    int rank;
    const int64_t *shape; /* not negative */
    int64_t elements;
    const unsigned char *data; /* elements * cr_onnx_type_bytes bytes; null for strings */
    bool is_transposed; /* rank 2 only: elements are column-major, because a pass has swapped the
                           axes of the shape */
};

/* AttributeProto.AttributeType. */
enum cr_onnx_kind {
    CR_ONNX_A_FLOAT = 1,
    CR_ONNX_A_INT,
    CR_ONNX_A_STRING,
    CR_ONNX_A_TENSOR,
    CR_ONNX_A_GRAPH,
    CR_ONNX_A_FLOATS,
    CR_ONNX_A_INTS,
    CR_ONNX_A_STRINGS,
};

struct cr_onnx_attribute {
    const char *name, *of; /* `of`: the attribute of the enclosing function that this attribute
                              takes its value from, or null */
    int kind;
    double f;
    int64_t i;
    const char *s;
    const struct cr_onnx_tensor *tensor;
    const struct cr_onnx_body *graph;
    const double *floats;
    const int64_t *ints;
    const char *const *strings;
    int n; /* the length of `floats`, `ints` or `strings` */
};

/* A NodeProto.  The name of an omitted input is "". */
struct cr_onnx_call {
    const char *op, *domain, *name;
    const char *scope; /* the text of metadata_props "pkg.torch.onnx.name_scopes", or "" */
    const char **inputs, **outputs;
    struct cr_onnx_attribute *attributes;
    int n_inputs, cap_inputs, n_outputs, cap_outputs, n_attributes, cap_attributes;
};

/* The size of an axis: a number; or -1 and the symbol `name`; or -1 and null if the file gives
 * neither. */
struct cr_onnx_size {
    int64_t size;
    const char *name;
};

/* A ValueInfoProto.  `rank` is -1 if the file gives no shape. */
struct cr_onnx_info {
    const char *name;
    int type; /* CR_ONNX_UNDEFINED if the value is not a tensor */
    int rank, cap;
    struct cr_onnx_size *sizes;
};

/* GraphProto, and the body of a FunctionProto. */
struct cr_onnx_body {
    const char *name;
    struct cr_onnx_call *calls;
    struct cr_onnx_tensor *initializers;
    struct cr_onnx_info *inputs, *outputs;
    int n_calls, cap_calls, n_initializers, cap_initializers, n_inputs, cap_inputs, n_outputs,
        cap_outputs;
};

struct cr_onnx_opset {
    const char *domain;
    int64_t version;
};

struct cr_onnx_function {
    const char *domain, *name;
    struct cr_onnx_body body; /* its inputs and outputs have names, but no types */
    struct cr_onnx_attribute *defaults;
    struct cr_onnx_opset *opsets;
    int n_defaults, cap_defaults, n_opsets, cap_opsets;
};

/* A mapped file that holds tensors of the model (ONNX's external data). */
struct cr_onnx_external {
    const char *path;
    struct cr_mapping mapping;
};

/* The Lua state that lua_terms.c runs functions in; `state` is null before the first run.  `close`
 * ends it. */
struct cr_onnx_language {
    struct lua_State *state;
    void (*close)(struct lua_State *state);
};

struct cr_onnx_model {
    const char *path;
    struct cr_mapping mapping; /* the mapped .onnx file */
    struct cr_onnx_external *external;
    int n_external, cap_external;
    struct cr_arena arena;
    const char *producer; /* the program that wrote the file, such as "pytorch" */
    struct cr_onnx_body graph;
    struct cr_onnx_function *functions;
    struct cr_onnx_opset *opsets;
    int n_functions, cap_functions, n_opsets, cap_opsets;
    struct cr_onnx_calls *calls; /* the cache of calls' graphs, see call_cache.h */
    struct cr_onnx_language *language;
};

/* True if a path ends in .onnx. */
bool cr_is_onnx(const char *path);

int cr_onnx_model_open(struct cr_onnx_model *model, const char *path, struct cr_error *error);

/* Reads a model from bytes in memory.  The path is for messages and to find external data. */
int cr_onnx_model_parse(struct cr_onnx_model *model, const char *path, const void *bytes,
                        size_t size, struct cr_error *error);
void cr_onnx_model_close(struct cr_onnx_model *model);

/* Returns element `i` of a tensor of numbers or booleans as a double. */
double cr_onnx_element(const struct cr_onnx_tensor *tensor, int64_t i);

#endif
