#include "safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_MAX = 100000000, /* bytes; the cap of the format's first implementation */
    VALUES_MAX = 2000000    /* JSON values in a header, of which a tensor has about seven */
};

static const struct {
    const char *name;
    int bits;
} types[] = {
#define ROW(name, bits) {#name, bits},
    CR_ST_TYPES(ROW)
#undef ROW
};

enum { N_TYPES = sizeof types / sizeof *types };

/* A file being read or written, and where to complain about it. */
struct context {
    const char *path;
    char *error;
    size_t size;
};

#define FAIL(context, ...)                                                                         \
    cr_file_fail((context)->error, (context)->size, (context)->path, __VA_ARGS__)

const char *cr_st_type_name(enum cr_st_type type)
{
    assert((int)type < N_TYPES);
    return types[type].name;
}

int cr_st_is_float(enum cr_st_type type)
{
    return type == CR_ST_F32 || type == CR_ST_F16 || type == CR_ST_BF16 || type == CR_ST_F64;
}

static struct cr_shown show_name(const char *name)
{
    return cr_show(name, strlen(name));
}

/* Element and byte counts of a shape; -1 if they overflow or the last byte is not full. */
static int measure(struct cr_st_tensor *tensor)
{
    int64_t elements = 1;
    int bits = types[tensor->type].bits, i;

    for (i = 0; i < tensor->rank; i++) {
        int64_t n = tensor->shape[i];
        if (n < 0 || (n > 0 && elements > INT64_MAX / n))
            return -1;
        elements *= n;
    }
    if (elements > INT64_MAX / bits || elements * bits % 8 != 0 ||
        (uint64_t)(elements * bits / 8) > SIZE_MAX)
        return -1;
    tensor->elements = elements;
    tensor->bytes = (size_t)(elements * bits / 8);
    return 0;
}

/* ---- reading ---- */

/* What the bytes are, where that is worth telling to whoever took them for safetensors. */
static const char *other_format(const struct cr_mapping *mapping)
{
    static const struct {
        const char *magic, *what;
    } formats[] = {
        {"GGUF", "a GGUF file"},
        {"PK\003\004", "a zip file (PyTorch's .pt, perhaps)"},
        {"\223NUMPY", "a .npy file"},
        {"version https://git-lfs", "a git-lfs pointer, not the file it stands for"},
    };
    size_t i;

    for (i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t n = strlen(formats[i].magic);
        if (mapping->size >= n && memcmp(mapping->bytes, formats[i].magic, n) == 0)
            return formats[i].what;
    }
    return NULL;
}

/* Reads the length of the header, at most what the file has room for. */
static int header_length(const struct context *at, const struct cr_mapping *mapping, size_t *length)
{
    const char *other = other_format(mapping);
    uint64_t n;

    if (other)
        return FAIL(at, "%s, expected safetensors", other);
    if (mapping->size < 8)
        return FAIL(at, "%zu bytes, expected at least the 8 that give the header's length",
                    mapping->size);
    memcpy(&n, mapping->bytes, 8);
    if (n > mapping->size - 8)
        return FAIL(at, "header length %llu, expected at most the %zu bytes that follow",
                    (unsigned long long)n, mapping->size - 8);
    if (n > HEADER_MAX)
        return FAIL(at, "header length %llu, expected at most %d", (unsigned long long)n,
                    HEADER_MAX);
    *length = (size_t)n;
    return 0;
}

/* Counts what begins a value, outside of strings.  A parsed value takes some fifty times the
 * memory of its text, so that a header of nothing but brackets has to be refused unparsed. */
static size_t count_values(const char *text, size_t length)
{
    size_t count = 0, i;
    int string = 0;

    for (i = 0; i < length; i++) {
        char c = text[i];
        if (c == '"')
            string = !string;
        else if (c == '\\')
            i += (size_t)string;
        else if (!string && (c == ',' || c == '[' || c == '{'))
            count++;
    }
    return count;
}

/* Parses the header, which has to be a JSON object from its first byte on. */
static json_t *parse_header(const struct context *at, const char *text, size_t length)
{
    json_error_t why;
    json_t *header;

    if (length == 0 || text[0] != '{') {
        FAIL(at, "header begins with %s, expected '{'", cr_show(text, length > 0).text);
        return NULL;
    }
    if (count_values(text, length) > VALUES_MAX) {
        FAIL(at, "header has more than %d values, expected fewer", VALUES_MAX);
        return NULL;
    }
    header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!header)
        FAIL(at, "header is not valid JSON at byte %d: %s", why.position,
             cr_show(why.text, strlen(why.text)).text);
    return header;
}

/* __metadata__ maps strings to strings. */
static int check_metadata(const struct context *at, json_t *metadata)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return FAIL(at, "__metadata__ is not an object, expected a map of strings");
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return FAIL(at, "__metadata__ %s is not a string, expected one", show_name(key).text);
    }
    return 0;
}

static int read_type(const struct context *at, json_t *value, struct cr_st_tensor *tensor)
{
    int i;

    if (!json_is_string(value))
        return FAIL(at, "tensor %s has no dtype, expected a string", show_name(tensor->name).text);
    for (i = 0; i < N_TYPES; i++) {
        if (strcmp(json_string_value(value), types[i].name) == 0) {
            tensor->type = (enum cr_st_type)i;
            return 0;
        }
    }
    return FAIL(at, "tensor %s has dtype %s, expected one of safetensors' types",
                show_name(tensor->name).text, show_name(json_string_value(value)).text);
}

/* The shape is the tensor's own memory from here on. */
static int read_shape(const struct context *at, json_t *value, struct cr_st_tensor *tensor)
{
    size_t rank = json_array_size(value), i;
    int64_t *shape;
    json_t *item;

    if (!json_is_array(value))
        return FAIL(at, "tensor %s has no shape, expected a list", show_name(tensor->name).text);
    shape = calloc(rank + 1, sizeof *shape);
    if (!shape)
        return FAIL(at, "out of memory for a shape of rank %zu", rank);
    tensor->shape = shape;
    tensor->rank = (int)rank;
    json_array_foreach(value, i, item) {
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return FAIL(at, "dimension %zu of tensor %s is not an integer from 0 on", i,
                        show_name(tensor->name).text);
        shape[i] = json_integer_value(item);
    }
    return 0;
}

/* Places the tensor in the data; the shape must ask for exactly the bytes it gets. */
static int read_offsets(const struct context *at, json_t *value, const unsigned char *data,
                        size_t data_size, struct cr_st_tensor *tensor)
{
    json_t *first = json_array_get(value, 0), *last = json_array_get(value, 1);
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    struct cr_shown name = show_name(tensor->name);

    if (!json_is_array(value) || json_array_size(value) != 2 || !json_is_integer(first) ||
        !json_is_integer(last))
        return FAIL(at, "data_offsets of tensor %s are not two integers", name.text);
    if (begin < 0 || end < begin || (uint64_t)end > data_size)
        return FAIL(at, "tensor %s lies at [%lld, %lld], expected a range in [0, %zu]", name.text,
                    (long long)begin, (long long)end, data_size);
    if (measure(tensor) != 0)
        return FAIL(at, "shape of tensor %s is not a whole number of bytes that can be counted",
                    name.text);
    if (tensor->bytes != (uint64_t)(end - begin))
        return FAIL(at, "tensor %s has %lld bytes, expected %zu from its shape and dtype",
                    name.text, (long long)(end - begin), tensor->bytes);
    tensor->data = data + begin;
    return 0;
}

static int read_entry(const struct context *at, json_t *entry, const unsigned char *data,
                      size_t data_size, struct cr_st_tensor *tensor)
{
    if (!json_is_object(entry))
        return FAIL(at, "tensor %s is not described by an object, expected one",
                    show_name(tensor->name).text);
    if (read_type(at, json_object_get(entry, "dtype"), tensor) != 0 ||
        read_shape(at, json_object_get(entry, "shape"), tensor) != 0 ||
        read_offsets(at, json_object_get(entry, "data_offsets"), data, data_size, tensor) != 0)
        return -1;
    if (json_object_size(entry) != 3)
        return FAIL(at, "tensor %s has %zu fields, expected dtype, shape and data_offsets",
                    show_name(tensor->name).text, json_object_size(entry));
    return 0;
}

static int read_entries(const struct context *at, struct cr_safetensors *file, size_t length)
{
    const unsigned char *data = file->mapping.bytes + 8 + length;
    size_t data_size = file->mapping.size - 8 - length;
    const char *key;
    json_t *value;

    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors)
        return FAIL(at, "out of memory for %zu tensors", json_object_size(file->header));
    json_object_foreach(file->header, key, value) {
        struct cr_st_tensor *tensor = &file->tensors[file->n_tensors];
        if (strcmp(key, "__metadata__") == 0) {
            if (check_metadata(at, value) != 0)
                return -1;
            continue;
        }
        tensor->name = key;
        file->n_tensors++;
        if (read_entry(at, value, data, data_size, tensor) != 0)
            return -1;
    }
    return 0;
}

/* By place in the file; of two that begin together the empty one is first. */
static int by_place(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;

    if (p != q)
        return p < q ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* The tensors fill the data from end to end: no hole, no byte used twice. */
static int check_places(const struct context *at, struct cr_safetensors *file, size_t length)
{
    const unsigned char *next = file->mapping.bytes + 8 + length;
    const unsigned char *end = file->mapping.bytes + file->mapping.size;
    int i;

    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, by_place);
    for (i = 0; i < file->n_tensors; i++) {
        const struct cr_st_tensor *tensor = &file->tensors[i];
        const unsigned char *data = tensor->data;
        if (data != next)
            return FAIL(at, "tensor %s begins %td bytes %s, expected no %s",
                        show_name(tensor->name).text, data < next ? next - data : data - next,
                        data < next ? "before another ends" : "after the one before it ends",
                        data < next ? "overlap" : "hole");
        next += tensor->bytes;
    }
    if (next != end)
        return FAIL(at, "%td bytes after the last tensor, expected none", end - next);
    return 0;
}

int cr_safetensors_open(struct cr_safetensors *file, const char *path, char *error, size_t size)
{
    struct context at = {path, error, size};
    size_t length = 0;

    *file = (struct cr_safetensors){0};
    if (cr_map_file(&file->mapping, path, error, size) != 0)
        return -1;
    file->path = strdup(path);
    if (!file->path) {
        FAIL(&at, "out of memory for its name");
        goto failed;
    }
    if (header_length(&at, &file->mapping, &length) != 0)
        goto failed;
    file->header = parse_header(&at, (const char *)file->mapping.bytes + 8, length);
    if (!file->header || read_entries(&at, file, length) != 0 ||
        check_places(&at, file, length) != 0)
        goto failed;
    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, by_name);
    return 0;
failed:
    cr_safetensors_close(file);
    return -1;
}

void cr_safetensors_close(struct cr_safetensors *file)
{
    int i;

    for (i = 0; i < file->n_tensors; i++)
        free((void *)file->tensors[i].shape);
    free(file->tensors);
    free(file->path);
    json_decref(file->header);
    cr_unmap_file(&file->mapping);
    *file = (struct cr_safetensors){0};
}

const struct cr_st_tensor *cr_safetensors_find(const struct cr_safetensors *file, const char *name)
{
    struct cr_st_tensor key = {.name = name};

    return bsearch(&key, file->tensors, (size_t)file->n_tensors, sizeof key, by_name);
}

const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key)
{
    json_t *map = json_object_get(file->header, "__metadata__");
    void *at =
        key ? json_object_iter_next(map, json_object_iter_at(map, key)) : json_object_iter(map);

    return at ? json_object_iter_key(at) : NULL;
}

/* ---- conversions ---- */

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Every binary16 is a binary32; a denormal is its 10 bits times 2^-24. */
static float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t fraction = half & 0x3ff;

    if (exponent == 31)
        return from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return (sign ? -0x1p-24f : 0x1p-24f) * (float)fraction;
    return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

static void convert_f16(float *out, const unsigned char *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, data + 2 * i, 2);
        out[i] = from_f16(half);
    }
}

static void convert_bf16(float *out, const unsigned char *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, data + 2 * i, 2);
        out[i] = from_bits((uint32_t)half << 16);
    }
}

static void convert_f64(float *out, const unsigned char *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, data + 8 * i, 8);
        out[i] = (float)value;
    }
}

int cr_safetensors_check(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                         char *error, size_t size)
{
    if (cr_st_is_float(tensor->type))
        return 0;
    return cr_file_fail(error, size, file->path,
                        "tensor %s has dtype %s, expected F32, F16, BF16 or F64",
                        show_name(tensor->name).text, cr_st_type_name(tensor->type));
}

void cr_st_convert(const struct cr_st_tensor *tensor, int64_t first, int64_t n, float *out)
{
    const unsigned char *data = tensor->data;

    assert(cr_st_is_float(tensor->type) && first >= 0 && n <= tensor->elements - first);
    data += (size_t)first * (size_t)(types[tensor->type].bits / 8);
    if (tensor->type == CR_ST_F16)
        convert_f16(out, data, n);
    else if (tensor->type == CR_ST_BF16)
        convert_bf16(out, data, n);
    else if (tensor->type == CR_ST_F64)
        convert_f64(out, data, n);
    else if (n > 0)
        memcpy(out, data, (size_t)n * sizeof *out);
}

int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size)
{
    if (cr_safetensors_check(file, tensor, error, size) != 0)
        return -1;
    cr_st_convert(tensor, 0, tensor->elements, out);
    return 0;
}

const float *cr_safetensors_view(const struct cr_st_tensor *tensor)
{
    int aligned = (uintptr_t)tensor->data % sizeof(float) == 0;

    return tensor->type == CR_ST_F32 && aligned ? (const float *)tensor->data : NULL;
}

/* ---- writing ---- */

/* An object's member that owns `value`; fails on a key that is there already, a key or
 * value that is not UTF-8, or lack of memory. */
static int add_member(const struct context *at, json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key)) {
        json_decref(value);
        return FAIL(at, "%s is given twice, expected one of a name", show_name(key).text);
    }
    if (!value || json_object_set_new(object, key, value) != 0)
        return FAIL(at, "%s cannot be written, expected UTF-8 and enough memory",
                    show_name(key).text);
    return 0;
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, or null. */
static json_t *describe(const struct cr_st_tensor *tensor, size_t begin)
{
    json_t *shape = json_array();
    int i;

    for (i = 0; i < tensor->rank; i++) {
        if (json_array_append_new(shape, json_integer(tensor->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", cr_st_type_name(tensor->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

static int add_metadata(const struct context *at, json_t *header,
                        const struct cr_st_metadata *metadata, int n)
{
    json_t *map = json_object();
    int i;

    if (n > 0 && add_member(at, header, "__metadata__", json_incref(map)) != 0)
        n = -1;
    for (i = 0; i < n; i++) {
        if (add_member(at, map, metadata[i].key, json_string(metadata[i].value)) != 0)
            n = -1;
    }
    json_decref(map);
    return n < 0 ? -1 : 0;
}

/* Lays the tensors end to end and describes each. */
static int add_tensors(const struct context *at, json_t *header, const struct cr_st_tensor *tensors,
                       int n)
{
    size_t next = 0;
    int i;

    for (i = 0; i < n; i++) {
        struct cr_st_tensor tensor = tensors[i];
        if (strcmp(tensor.name, "__metadata__") == 0)
            return FAIL(at, "a tensor is called __metadata__, expected another name");
        if (measure(&tensor) != 0 || tensor.bytes > INT64_MAX - next)
            return FAIL(at, "tensor %s is too large to write", show_name(tensor.name).text);
        if (add_member(at, header, tensor.name, describe(&tensor, next)) != 0)
            return -1;
        next += tensor.bytes;
    }
    return 0;
}

/* The header's text, padded with spaces so that the data begins at a multiple of 8. */
static char *print_header(const struct context *at, json_t *header, size_t *length)
{
    size_t n = json_dumpb(header, NULL, 0, JSON_COMPACT), room = (n + 7) / 8 * 8;
    char *text = n ? malloc(room) : NULL;

    if (!text || json_dumpb(header, text, n, JSON_COMPACT) != n) {
        FAIL(at, "out of memory for the header");
        free(text);
        return NULL;
    }
    if (room > HEADER_MAX) {
        FAIL(at, "header of %zu bytes, expected at most %d", room, HEADER_MAX);
        free(text);
        return NULL;
    }
    memset(text + n, ' ', room - n);
    *length = room;
    return text;
}

static void put_file(struct cr_writer *writer, const char *header, size_t length,
                     const struct cr_st_tensor *tensors, int n)
{
    uint64_t prefix = length;
    int i;

    cr_writer_put(writer, &prefix, 8);
    cr_writer_put(writer, header, length);
    for (i = 0; i < n; i++) {
        struct cr_st_tensor tensor = tensors[i];
        if (measure(&tensor) == 0) /* as it did for the header */
            cr_writer_put(writer, tensor.data, tensor.bytes);
    }
}

int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size)
{
    struct context at = {writer->path, error, size};
    json_t *header = json_object();
    char *text = NULL;
    size_t length = 0;

    if (!header)
        return FAIL(&at, "out of memory for the header");
    if (add_metadata(&at, header, metadata, n_metadata) == 0 &&
        add_tensors(&at, header, tensors, n_tensors) == 0)
        text = print_header(&at, header, &length);
    if (text)
        put_file(writer, text, length, tensors, n_tensors);
    int status = text ? 0 : -1;
    json_decref(header);
    free(text);
    return status;
}

int cr_safetensors_write(const char *path, const struct cr_st_tensor *tensors, int n_tensors,
                         const struct cr_st_metadata *metadata, int n_metadata, char *error,
                         size_t size)
{
    struct cr_writer writer;

    if (cr_writer_open(&writer, path, error, size) != 0)
        return -1;
    if (cr_safetensors_put(&writer, tensors, n_tensors, metadata, n_metadata, error, size) != 0) {
        cr_writer_discard(&writer);
        return -1;
    }
    return cr_writer_commit(&writer, error, size);
}
