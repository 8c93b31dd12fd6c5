/* tensor_proto.c - TensorProto; see tensor_proto.h. */
#include "tensor_proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/numbers.h"

/* ---- types ---- */

static const struct {
    const char *name;
    int bytes;
} types[CR_ONNX_N_TYPES] = {
    [CR_ONNX_UNDEFINED] = {"undefined", 0}, [CR_ONNX_FLOAT] = {"float", 4},
    [CR_ONNX_UINT8] = {"uint8", 1},         [CR_ONNX_INT8] = {"int8", 1},
    [CR_ONNX_UINT16] = {"uint16", 2},       [CR_ONNX_INT16] = {"int16", 2},
    [CR_ONNX_INT32] = {"int32", 4},         [CR_ONNX_INT64] = {"int64", 8},
    [CR_ONNX_STRING] = {"string", 0},       [CR_ONNX_BOOL] = {"bool", 1},
    [CR_ONNX_FLOAT16] = {"float16", 2},     [CR_ONNX_DOUBLE] = {"double", 8},
    [CR_ONNX_UINT32] = {"uint32", 4},       [CR_ONNX_UINT64] = {"uint64", 8},
    [CR_ONNX_COMPLEX64] = {"complex64", 0}, [CR_ONNX_COMPLEX128] = {"complex128", 0},
    [CR_ONNX_BFLOAT16] = {"bfloat16", 2},
};

const char *cr_onnx_type_name(int type)
{
    return type >= 0 && type < CR_ONNX_N_TYPES ? types[type].name : "of fewer than 8 bits";
}

int cr_onnx_type_bytes(int type)
{
    return type >= 0 && type < CR_ONNX_N_TYPES ? types[type].bytes : 0;
}

#define ELEMENT(ctype)                                                                             \
    do {                                                                                           \
        ctype value;                                                                               \
        memcpy(&value, at, sizeof value);                                                          \
        return (double)value;                                                                      \
    } while (0)

/* Returns where element `i`, in row-major order, is stored. */
static int64_t place_of(const struct cr_onnx_tensor *t, int64_t i)
{
    return t->is_transposed ? i % t->shape[1] * t->shape[0] + i / t->shape[1] : i;
}

double cr_onnx_element(const struct cr_onnx_tensor *tensor, int64_t i)
{
    const unsigned char *at = tensor->data + place_of(tensor, i) * types[tensor->type].bytes;
    switch (tensor->type) {
    case CR_ONNX_FLOAT:
        ELEMENT(float);
    case CR_ONNX_DOUBLE:
        ELEMENT(double);
    case CR_ONNX_INT8:
        ELEMENT(int8_t);
    case CR_ONNX_INT16:
        ELEMENT(int16_t);
    case CR_ONNX_INT32:
        ELEMENT(int32_t);
    case CR_ONNX_INT64:
        ELEMENT(int64_t);
    case CR_ONNX_UINT8:
        ELEMENT(uint8_t);
    case CR_ONNX_UINT16:
        ELEMENT(uint16_t);
    case CR_ONNX_UINT32:
        ELEMENT(uint32_t);
    case CR_ONNX_UINT64:
        ELEMENT(uint64_t);
    case CR_ONNX_BOOL:
        return *at != 0;
    case CR_ONNX_FLOAT16:
        return (double)cr_number_float(CR_NUMBER_F16, 0, at);
    case CR_ONNX_BFLOAT16:
        return (double)cr_number_float(CR_NUMBER_BF16, 0, at);
    default:
        return 0;
    }
}

/* ---- reading ---- */

/* A TensorProto that is being read. */
struct reading {
    struct cr_onnx_model *model;
    struct cr_error *error;
    struct cr_onnx_tensor *tensor;
    int64_t *shape;
    int cap_shape, type;
    unsigned char *bytes; /* the elements collected from fields other than raw_data */
    size_t size, cap;
    const unsigned char *direct; /* all elements, if they are contiguous in the file; else null */
    size_t direct_size;
    const unsigned char *packed; /* the elements of the first packed field of floats or doubles */
    size_t packed_size;
    const char *location;   /* the path of the external data, or null */
    int64_t offset, length; /* of the external data; a length of -1 means up to the end of the
                               file */
    bool external;
};

static int fail(const struct reading *r, const char *what)
{
    const char *name = r->tensor->name;
    return cr_fail(r->error, "%.400s: tensor %s: %s", r->model->path,
                   cr_show(name, strlen(name)).text, what);
}

/* Appends the first n bytes at `from` to the collected elements.  First copies a packed field that
 * was not copied before. */
static void append(struct reading *r, const void *from, size_t n)
{
    size_t before = r->packed_size;
    r->packed_size = 0;
    if (before)
        append(r, r->packed, before);
    if (!n)
        return;
    if (r->size + n > r->cap) {
        size_t cap = 2 * (r->size + n) + 64;
        unsigned char *more = cr_arena_new(&r->model->arena, cap, 1);
        if (r->size)
            memcpy(more, r->bytes, r->size);
        r->bytes = more;
        r->cap = cap;
    }
    memcpy(r->bytes + r->size, from, n);
    r->size += n;
}

/* Takes elements of float_data or double_data, each of `width` bytes.  If the tensor has a single
 * packed field, its elements are not copied, as they are in the tensor's order already. */
static int take_reals(struct reading *r, const struct cr_wire_field *field, size_t width)
{
    size_t n = (size_t)(field->bytes.end - field->bytes.at);
    if (field->kind == CR_WIRE_INTEGER || n % width)
        return fail(r, "the last of its floats is cut short, expected all bytes of it");
    if ((size_t)cr_onnx_type_bytes(r->type) != width)
        return fail(r, "found floats in a tensor of another type, expected data of its type");
    if (field->kind == CR_WIRE_BYTES && !r->packed_size && !r->size) {
        r->packed = field->bytes.at;
        r->packed_size = n;
    } else {
        append(r, field->bytes.at, n);
    }
    return 0;
}

/* Takes elements of int32_data, int64_data or uint64_data: the low bytes of each number. */
static int take_integers(struct reading *r, const struct cr_wire_field *field)
{
    size_t width = (size_t)cr_onnx_type_bytes(r->type);
    struct cr_wire wire = field->bytes;
    uint64_t value = field->integer;
    int status = 0;
    if (field->kind == CR_WIRE_INTEGER)
        append(r, &value, width);
    else if (field->kind == CR_WIRE_BYTES)
        while ((status = cr_wire_integer(&wire, &value)) == 1)
            append(r, &value, width);
    else
        status = -1;
    return status ? fail(r, "its integers are cut short, expected a whole message") : 0;
}

/* Reads a number written as text; returns -2 if the text is not a number. */
static int64_t decimal(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *text && !*end && value >= 0 ? value : -2;
}

/* Reads the text of a field; fails if it contains a NUL, which would truncate it. */
static int take_text(struct reading *r, const struct cr_wire_field *field, const char **text)
{
    size_t n = (size_t)(field->bytes.end - field->bytes.at);
    if (n && memchr(field->bytes.at, '\0', n))
        return fail(r, "found a zero byte in a name or in the location of external data, expected none");
    *text = cr_arena_text(&r->model->arena, (const char *)field->bytes.at, n);
    return 0;
}

/* Reads a StringStringEntryProto of external_data. */
static int take_entry(struct reading *r, struct cr_wire wire)
{
    struct cr_wire_field field;
    const char *pair[2] = {"", ""};
    int status;
    while ((status = cr_wire_next(&wire, &field)) == 1)
        if (field.kind == CR_WIRE_BYTES && (field.number == 1 || field.number == 2) &&
            take_text(r, &field, &pair[field.number - 1]))
            return -1;
    if (status)
        return fail(r, "the location of its external data is cut short, expected a whole message");
    if (strcmp(pair[0], "location") == 0)
        r->location = pair[1];
    if (strcmp(pair[0], "offset") == 0)
        r->offset = decimal(pair[1]);
    if (strcmp(pair[0], "length") == 0)
        r->length = decimal(pair[1]);
    return 0;
}

static int take_size(struct reading *r, uint64_t size)
{
    if (size > INT64_MAX)
        return fail(r, "found a size below 0, expected 0 or more");
    *CR_ARENA_PUSH(&r->model->arena, r->shape, r->tensor->rank, r->cap_shape) = (int64_t)size;
    return 0;
}

static int take_sizes(struct reading *r, const struct cr_wire_field *field)
{
    struct cr_wire wire = field->bytes;
    uint64_t size;
    int status;
    if (field->kind == CR_WIRE_INTEGER)
        return take_size(r, field->integer);
    while ((status = cr_wire_integer(&wire, &size)) == 1)
        if (take_size(r, size))
            return -1;
    return status ? fail(r, "its sizes are cut short, expected a whole message") : 0;
}

/* Reads the fields with elements, which depend on the type.  As the type may follow them in the
 * file, they are read in a second pass. */
static int take_data(struct reading *r, const struct cr_wire_field *field)
{
    switch (field->number) {
    case 4:
        return take_reals(r, field, 4);
    case 10:
        return take_reals(r, field, 8);
    case 5:
    case 7:
    case 11:
        return take_integers(r, field);
    case 9:
        r->direct = field->bytes.at;
        r->direct_size = (size_t)(field->bytes.end - field->bytes.at);
        return field->kind == CR_WIRE_BYTES ? 0 : fail(r, "found raw data of another type, "
                                                       "expected bytes");
    case 13:
        return field->kind == CR_WIRE_BYTES ? take_entry(r, field->bytes) : 0;
    default:
        return 0;
    }
}

/* Reads the fields that take_data depends on: shape, type, name, and whether data is external. */
static int take_header(struct reading *r, const struct cr_wire_field *field)
{
    if (field->number == 1)
        return take_sizes(r, field);
    if (field->number == 2 && field->kind == CR_WIRE_INTEGER)
        r->type = field->integer < 1000 ? (int)field->integer : 1000;
    if (field->number == 8 && field->kind == CR_WIRE_BYTES &&
        take_text(r, field, &r->tensor->name))
        return -1;
    if (field->number == 14)
        r->external = field->integer == 1;
    return 0;
}

/* Calls `take` for each field of a message. */
static int each(struct reading *r, struct cr_wire wire,
                int (*take)(struct reading *, const struct cr_wire_field *))
{
    struct cr_wire_field field;
    int status;
    while ((status = cr_wire_next(&wire, &field)) == 1)
        if (take(r, &field))
            return -1;
    return status ? fail(r, "cut short, expected a whole message") : 0;
}

/* ---- external data ---- */

/* True if a location is a relative path without "..", so that only files in the model's folder or
 * below are read. */
static bool is_inside(const char *location)
{
    if (!*location || *location == '/')
        return false;
    for (const char *part = location; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (!part[2] || part[2] == '/'))
            return false;
    }
    return true;
}

/* True if `path`, in which links are resolved, is in the folder of the file `neighbour` or
 * below. */
static bool is_below(const char *path, const char *neighbour)
{
    const char *slash = strrchr(neighbour, '/');
    return slash && strncmp(path, neighbour, (size_t)(slash + 1 - neighbour)) == 0;
}

/* Returns the path of external data with links resolved.  Returns null if the file is neither below
 * the model's folder nor below the folder of the file that the model's path links to, since model
 * caches link to files in another folder.  For a missing file returns the path unchanged; opening
 * it fails with a message. */
static const char *resolve(struct cr_arena *arena, const char *model, const char *path)
{
    const char *slash = strrchr(model, '/');
    const char *here = cr_arena_print(arena, "%.*s", slash ? (int)(slash + 1 - model) : 2,
                                      slash ? model : "./");
    char *file = realpath(path, NULL), *folder = realpath(here, NULL), *real = realpath(model, NULL);
    const char *found = NULL;
    if (!file)
        found = path;
    else if ((folder && is_below(file, cr_arena_print(arena, "%s/", strcmp(folder, "/") ? folder : ""))) ||
             (real && is_below(file, real)))
        found = cr_arena_text(arena, file, strlen(file));
    free(file);
    free(folder);
    free(real);
    return found;
}

/* Returns the mapping of a file of external data; the file is opened only once. */
static const struct cr_mapping *map_external(struct reading *r)
{
    struct cr_onnx_model *m = r->model;
    const char *slash = strrchr(m->path, '/');
    const char *path = cr_arena_print(&m->arena, "%.*s%s", slash ? (int)(slash + 1 - m->path) : 0,
                                      m->path, r->location);
    for (int i = 0; i < m->n_external; i++)
        if (strcmp(m->external[i].path, path) == 0)
            return &m->external[i].mapping;
    struct cr_mapping mapping;
    const char *file = resolve(&m->arena, m->path, path);
    if (!file) {
        fail(r, "its external data are a link out of the model's folder, expected a file inside "
             "of it");
        return NULL;
    }
    if (cr_map_file(&mapping, file, r->error->text, sizeof r->error->text))
        return NULL;
    struct cr_onnx_external *e =
        CR_ARENA_PUSH(&m->arena, m->external, m->n_external, m->cap_external);
    *e = (struct cr_onnx_external){path, mapping};
    return &e->mapping;
}

/* Finds the tensor's bytes in the file of external data; fails if the file is too short. */
static int find_external(struct reading *r)
{
    if (!r->location || !is_inside(r->location))
        return fail(r, "its external data have no location in the model's folder, expected one");
    const struct cr_mapping *mapping = map_external(r);
    if (!mapping)
        return -1;
    if (r->length == -1)
        r->length = (int64_t)mapping->size - r->offset;
    if (r->offset < 0 || r->length < 0 || (uint64_t)r->offset > mapping->size ||
        (uint64_t)r->length > mapping->size - (uint64_t)r->offset)
        return fail(r, "its external data reach past the end of their file, expected them inside "
                    "of it");
    r->direct = mapping->bytes + r->offset;
    r->direct_size = (size_t)r->length;
    return 0;
}

/* ---- the whole ---- */

/* Returns the number of elements of a tensor, or -1 if it overflows. */
static int64_t count(const struct cr_onnx_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] && n > INT64_MAX / 16 / t->shape[i])
            return -1;
        else
            n *= t->shape[i];
    return n;
}

/* Checks that the tensor has as many bytes as its shape needs.  Drops the bytes if the type has no
 * size. */
static int check_bytes(struct reading *r)
{
    struct cr_onnx_tensor *t = r->tensor;
    char text[96];
    t->elements = count(t);
    if (!r->direct && r->packed_size) {
        r->direct = r->packed;
        r->direct_size = r->packed_size;
    }
    if (r->direct)
        r->size = r->direct_size;
    if (t->elements < 0)
        return fail(r, "it has more elements than can be counted, expected fewer");
    if (!cr_onnx_type_bytes(r->type))
        return 0;
    if (r->size != (uint64_t)t->elements * (size_t)cr_onnx_type_bytes(r->type)) {
        snprintf(text, sizeof text, "%zu bytes, expected %" PRId64 " elements of type %s", r->size,
                 t->elements, cr_onnx_type_name(r->type));
        return fail(r, text);
    }
    t->data = r->direct ? r->direct : r->bytes ? r->bytes : (const unsigned char *)"";
    return 0;
}

int cr_onnx_read_tensor(struct cr_onnx_model *model, struct cr_wire wire,
                        struct cr_onnx_tensor *tensor, struct cr_error *error)
{
    struct reading r = {.model = model, .error = error, .tensor = tensor, .length = -1};
    *tensor = (struct cr_onnx_tensor){.name = ""};
    if (each(&r, wire, take_header))
        return -1;
    tensor->shape = r.shape;
    tensor->type = r.type < CR_ONNX_N_TYPES ? (enum cr_onnx_type)r.type : CR_ONNX_UNDEFINED;
    if ((cr_onnx_type_bytes(r.type) && each(&r, wire, take_data)) ||
        (cr_onnx_type_bytes(r.type) && r.external && find_external(&r)))
        return -1;
    return check_bytes(&r);
}
