#include "safetensors_read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "numbers.h"

enum {
    CR_ST_PART = 16384,           /* bytes that are read at a time for conversion */
    CR_ST_HEADER_MAX = 100000000, /* maximum bytes of a header, by the format's first reader */
    CR_ST_VALUES_MAX = 2000000    /* maximum number of JSON values in a header; a tensor has about
                                   * seven */
};

static const struct {
    const char *name;
    int bits;
} cr_st_types[] = {
#define CR_ST_ROW(name, bits) {#name, bits},
    CR_ST_TYPES(CR_ST_ROW)
#undef CR_ST_ROW
};

enum { CR_ST_N_TYPES = sizeof cr_st_types / sizeof *cr_st_types };

/* State of parsing a header: its text, the file to fill, the buffer for the error. */
struct cr_st_reader {
    struct cr_json json;
    struct cr_safetensors *file;
    char *string;           /* where the next string is stored */
    int64_t *shape;         /* where the next shape is stored */
    size_t values, objects; /* upper bounds of the values and the objects in the header */
    const unsigned char *data;
    size_t data_size;
    uint64_t data_end; /* end of the last tensor's data; beyond data_size if the file is
                        * truncated */
    char *error;
    size_t size;
};

#define CR_ST_FAIL(reader, ...)                                                                    \
    cr_file_fail((reader)->error, (reader)->size, (reader)->file->path, __VA_ARGS__)

CR_API const char *cr_st_type_name(enum cr_st_type type)
{
    assert((int)type < CR_ST_N_TYPES);
    return cr_st_types[type].name;
}

static struct cr_shown cr_st_show(const char *name)
{
    return cr_show(name, strlen(name));
}

CR_API int cr_st_measure(struct cr_st_tensor *tensor)
{
    int64_t elements = 1;
    int bits = cr_st_types[tensor->type].bits, i;
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

/* ---- the header ---- */

/* Returns the name of another format that is sometimes taken for safetensors; null if the bytes
 * have none. */
static const char *cr_st_other_format(struct cr_mapping mapping)
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
        if (mapping.size >= n && memcmp(mapping.bytes, formats[i].magic, n) == 0)
            return formats[i].what;
    }
    return NULL;
}

/* Finds header and data; the header must be a JSON object from its first byte on. */
static int cr_st_find_header(struct cr_st_reader *r)
{
    struct cr_mapping mapping = r->file->mapping;
    const char *other = cr_st_other_format(mapping), *text = (const char *)mapping.bytes + 8;
    uint64_t n;
    if (other)
        return CR_ST_FAIL(r, "found %s, expected safetensors", other);
    if (mapping.size < 8)
        return CR_ST_FAIL(r, "%zu bytes, expected at least the 8 that give the header's length",
                          mapping.size);
    memcpy(&n, mapping.bytes, 8);
    if (n > CR_ST_HEADER_MAX)
        return CR_ST_FAIL(r, "header length %llu, expected at most %d", (unsigned long long)n,
                          CR_ST_HEADER_MAX);
    if (n > mapping.size - 8)
        return CR_ST_FAIL(r, "the file is cut short: found %zu bytes, expected %llu for the header alone",
                          mapping.size, (unsigned long long)n + 8);
    if (n == 0 || *text != '{')
        return CR_ST_FAIL(r, "header begins with %s, expected '{'", cr_show(text, n > 0).text);
    r->json = (struct cr_json){text, text, text + n, NULL, 0};
    r->data = mapping.bytes + 8 + n;
    r->data_size = mapping.size - 8 - (size_t)n;
    return 0;
}

/* Counts the characters outside of strings that can begin a value: an upper bound on the number
 * of values. */
static void cr_st_count(struct cr_st_reader *r)
{
    const char *at = r->json.begin;
    int string = 0;
    for (; at < r->json.end; at++) {
        if (*at == '"')
            string = !string;
        else if (*at == '\\')
            at += string;
        else if (!string && (*at == ',' || *at == '[' || *at == '{')) {
            r->values++;
            r->objects += *at == '{';
        }
    }
}

/* Allocates memory for the header's names, shapes and tensors. */
static int cr_st_make_room(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    cr_st_count(r);
    if (r->values > CR_ST_VALUES_MAX)
        return CR_ST_FAIL(r, "header has more than %d values, expected fewer", CR_ST_VALUES_MAX);
    file->strings = r->string = malloc((size_t)(r->json.end - r->json.begin) + 1);
    file->shapes = r->shape = malloc((r->values + 1) * sizeof *file->shapes);
    file->tensors = malloc((r->objects + 1) * sizeof *file->tensors);
    if (!file->strings || !file->shapes || !file->tensors)
        return CR_ST_FAIL(r, "out of memory for the header");
    return 0;
}

/* Fails because the header is invalid: with the JSON reader's error, or else `otherwise`. */
static int cr_st_fail_json(struct cr_st_reader *r, const char *otherwise)
{
    return CR_ST_FAIL(r, "header is not valid JSON at byte %zu: %s",
                      (size_t)(r->json.at - r->json.begin),
                      r->json.wrong ? r->json.wrong : otherwise);
}

/* True if any value comes next: then the text is JSON, but the value's type is wrong. */
static int cr_st_is_value(struct cr_st_reader *r)
{
    char c = r->json.at < r->json.end ? *r->json.at : '\0';
    return !r->json.wrong && c && strchr("\"[{-0123456789tfn", c);
}

/* Reads a string into the file's own memory; returns it, or null. */
static const char *cr_st_string(struct cr_st_reader *r)
{
    char *string = r->string;
    size_t n = cr_json_string(&r->json, string);
    r->string += n;
    return n ? string : NULL;
}

/* Reads the key of an object's member i and its colon.  Returns null with *status 0 at the end of
 * the object, with *status -1 if anything else comes next. */
static const char *cr_st_key(struct cr_st_reader *r, int i, int *status)
{
    int next = cr_json_next(&r->json, i, '}');
    const char *key = next > 0 ? cr_st_string(r) : NULL;
    *status = 0;
    if (next == 0 || (key && cr_json_take(&r->json, ':')))
        return key;
    *status = cr_st_fail_json(r, key ? "expected ':'" : "expected a name in quotes");
    return NULL;
}

/* ---- a tensor in the header ---- */

/* Reads the value of "dtype": the name of one of the format's types. */
static int cr_st_read_type(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    const char *type = cr_st_string(r);
    int i;
    if (!type && r->json.wrong)
        return cr_st_fail_json(r, "");
    if (!type)
        return CR_ST_FAIL(r, "tensor %s has no dtype, expected a string",
                          cr_st_show(tensor->name).text);
    for (i = 0; i < CR_ST_N_TYPES; i++) {
        if (strcmp(type, cr_st_types[i].name) == 0) {
            tensor->type = (enum cr_st_type)i;
            return 0;
        }
    }
    return CR_ST_FAIL(r, "tensor %s has dtype %s, expected one of safetensors' types",
                      cr_st_show(tensor->name).text, cr_st_show(type).text);
}

/* Reads the value of "shape": integers of at least 0, stored after all shapes so far. */
static int cr_st_read_shape(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    int next;
    tensor->shape = r->shape;
    if (!cr_json_take(&r->json, '['))
        return CR_ST_FAIL(r, "tensor %s has no shape, expected a list",
                          cr_st_show(tensor->name).text);
    for (; (next = cr_json_next(&r->json, tensor->rank, ']')) > 0; tensor->rank++) {
        int fine = cr_json_integer(&r->json, r->shape);
        if (!fine && !cr_st_is_value(r))
            return cr_st_fail_json(r, "expected an integer");
        if (!fine || *r->shape < 0)
            return CR_ST_FAIL(r, "dimension %d of tensor %s is not an integer from 0 on",
                              tensor->rank, cr_st_show(tensor->name).text);
        r->shape++;
    }
    return next < 0 ? cr_st_fail_json(r, "") : 0;
}

/* Reads the value of "data_offsets": [begin, end]. */
static int cr_st_read_offsets(struct cr_st_reader *r, const struct cr_st_tensor *tensor,
                              int64_t offsets[2])
{
    struct cr_json *json = &r->json;
    if (cr_json_take(json, '[') && cr_json_integer(json, &offsets[0]) && cr_json_take(json, ',') &&
        cr_json_integer(json, &offsets[1]) && cr_json_take(json, ']'))
        return 0;
    if (json->wrong)
        return cr_st_fail_json(r, "");
    return CR_ST_FAIL(r, "data_offsets of tensor %s are not two integers", cr_st_show(tensor->name).text);
}

/* Sets the tensor's address; its shape must need exactly the bytes that it has.  A tensor that
 * ends beyond the data gets no address; cr_st_check_places fails for it. */
static int cr_st_place(struct cr_st_reader *r, struct cr_st_tensor *tensor, const int64_t at[2])
{
    struct cr_shown name = cr_st_show(tensor->name);
    if (at[0] < 0 || at[1] < at[0] || at[1] > INT64_MAX / 2)
        return CR_ST_FAIL(r, "tensor %s has data_offsets [%lld, %lld], expected a range of bytes",
                          name.text, (long long)at[0], (long long)at[1]);
    if (cr_st_measure(tensor) != 0)
        return CR_ST_FAIL(r, "shape of tensor %s is not a whole number of bytes that can be counted", name.text);
    if (tensor->bytes != (uint64_t)(at[1] - at[0]))
        return CR_ST_FAIL(r, "tensor %s has %lld bytes, expected %zu from its shape and dtype",
                          name.text, (long long)(at[1] - at[0]), tensor->bytes);
    r->data_end = (uint64_t)at[1] > r->data_end ? (uint64_t)at[1] : r->data_end;
    tensor->data = (uint64_t)at[1] > r->data_size ? NULL : r->data + at[0];
    return 0;
}

/* Reads the description of a tensor: three members, in any order, each once. */
static int cr_st_read_tensor(struct cr_st_reader *r, struct cr_st_tensor *tensor)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    struct cr_shown name = cr_st_show(tensor->name);
    int64_t offsets[2] = {0, 0};
    int n, field, status = 0, seen = 0;
    const char *key;
    if (!cr_json_take(&r->json, '{'))
        return CR_ST_FAIL(r, "tensor %s is not described by an object, expected one", name.text);
    for (n = 0; (key = cr_st_key(r, n, &status)); n++) {
        for (field = 0; field < 3 && strcmp(key, names[field]) != 0;)
            field++;
        if (field == 3)
            return CR_ST_FAIL(r,
                              "tensor %s has a field %s, expected the fields dtype, shape and "
                              "data_offsets",
                              name.text, cr_st_show(key).text);
        if (seen & 1 << field)
            return cr_st_fail_json(r, "found a name twice in an object, expected it once");
        seen |= 1 << field;
        status = field == 0   ? cr_st_read_type(r, tensor)
                 : field == 1 ? cr_st_read_shape(r, tensor)
                              : cr_st_read_offsets(r, tensor, offsets);
        if (status != 0)
            return -1;
    }
    for (field = 0; status == 0 && field < 3; field++)
        if (!(seen & 1 << field))
            return CR_ST_FAIL(r, "tensor %s has no %s, expected dtype, shape and data_offsets",
                              name.text, names[field]);
    return status != 0 ? -1 : cr_st_place(r, tensor, offsets);
}

/* Reads __metadata__, an object whose values are strings. */
static int cr_st_read_metadata(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int status;
    const char *key;
    if (file->metadata)
        return cr_st_fail_json(r, "found a name twice in an object, expected it once");
    if (!cr_json_take(&r->json, '{'))
        return CR_ST_FAIL(r, "__metadata__ is not an object, expected a map of strings");
    file->metadata = malloc((r->values + 1) * sizeof *file->metadata);
    if (!file->metadata)
        return CR_ST_FAIL(r, "out of memory for the header");
    while ((key = cr_st_key(r, file->n_metadata, &status))) {
        const char *value = cr_st_string(r);
        if (!value && !cr_st_is_value(r))
            return cr_st_fail_json(r, "expected a string");
        if (!value)
            return CR_ST_FAIL(r, "__metadata__ %s is not a string, expected one",
                              cr_st_show(key).text);
        file->metadata[file->n_metadata].key = key;
        file->metadata[file->n_metadata++].value = value;
    }
    return status;
}

/* Parses the header: an object of tensors, and of the metadata under a reserved name. */
static int cr_st_read_header(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int n, status;
    const char *key;
    cr_json_take(&r->json, '{');
    for (n = 0; (key = cr_st_key(r, n, &status)); n++) {
        struct cr_st_tensor *tensor = &file->tensors[file->n_tensors];
        if (strcmp(key, "__metadata__") == 0) {
            if (cr_st_read_metadata(r) != 0)
                return -1;
            continue;
        }
        *tensor = (struct cr_st_tensor){.name = key};
        file->n_tensors++;
        if (cr_st_read_tensor(r, tensor) != 0)
            return -1;
    }
    if (status == 0 && !cr_json_ended(&r->json))
        status = cr_st_fail_json(r, "found text after the object, expected none");
    return status;
}

/* ---- the whole ---- */

/* Orders tensors by offset in the file; an empty one precedes another with the same offset. */
static int cr_st_by_place(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q)
        return p < q ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int cr_st_by_name(const void *a, const void *b)
{
    const struct cr_st_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int cr_st_by_key(const void *a, const void *b)
{
    const struct cr_st_metadata *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Fails unless the tensors fill the data without gaps or overlaps. */
static int cr_st_check_places(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    const unsigned char *next = r->data, *end = r->data + r->data_size;
    const uint64_t size = file->mapping.size, missing = r->data_end - r->data_size;
    int i;
    if (r->data_end > r->data_size)
        return CR_ST_FAIL(r, "the file is cut short: found %llu bytes, expected %llu",
                          (unsigned long long)size, (unsigned long long)(size + missing));
    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, cr_st_by_place);
    for (i = 0; i < file->n_tensors; i++) {
        const struct cr_st_tensor *tensor = &file->tensors[i];
        const unsigned char *data = tensor->data;
        if (data != next)
            return CR_ST_FAIL(r, "tensor %s begins %td bytes %s, expected no %s",
                              cr_st_show(tensor->name).text,
                              data < next ? next - data : data - next,
                              data < next ? "before another ends" : "after the one before it ends",
                              data < next ? "overlap" : "hole");
        next += tensor->bytes;
    }
    if (next != end)
        return CR_ST_FAIL(r, "%td bytes after the last tensor, expected none", end - next);
    return 0;
}

/* Sorts tensors by name; fails if a name occurs twice. */
static int cr_st_check_names(struct cr_st_reader *r)
{
    struct cr_safetensors *file = r->file;
    int i;
    qsort(file->tensors, (size_t)file->n_tensors, sizeof *file->tensors, cr_st_by_name);
    for (i = 1; i < file->n_tensors; i++)
        if (cr_st_by_name(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return CR_ST_FAIL(r, "found tensor %s twice, expected it once",
                              cr_st_show(file->tensors[i].name).text);
    if (file->n_metadata > 0)
        qsort(file->metadata, (size_t)file->n_metadata, sizeof *file->metadata, cr_st_by_key);
    for (i = 1; i < file->n_metadata; i++)
        if (cr_st_by_key(&file->metadata[i - 1], &file->metadata[i]) == 0)
            return CR_ST_FAIL(r, "found __metadata__ %s twice, expected it once",
                              cr_st_show(file->metadata[i].key).text);
    return 0;
}

static void cr_st_free(struct cr_safetensors *file)
{
    free(file->tensors);
    free(file->metadata);
    free(file->strings);
    free(file->shapes);
    *file = (struct cr_safetensors){0};
}

CR_API int cr_safetensors_parse(struct cr_safetensors *file, const char *path,
                                struct cr_mapping mapping, char *error, size_t size)
{
    struct cr_st_reader r = {.file = file, .error = error, .size = size};
    *file = (struct cr_safetensors){.path = path, .mapping = mapping};
    if (cr_st_find_header(&r) == 0 && cr_st_make_room(&r) == 0 && cr_st_read_header(&r) == 0 &&
        cr_st_check_places(&r) == 0 && cr_st_check_names(&r) == 0)
        return 0;
    cr_st_free(file);
    return -1;
}

/* Maps only the header; the elements are read later, not mapped.  If the file's first 8 bytes
 * cannot be the length of a header, maps the beginning of the file, so that the error message
 * can name its format. */
static int cr_st_map(struct cr_mapping *mapping, const char *path, char *error, size_t size)
{
    uint64_t n;
    if (cr_map_begin(mapping, path, CR_ST_PART, error, size) != 0)
        return -1;
    if (mapping->size < 8)
        return 0;
    memcpy(&n, mapping->bytes, 8);
    if (n > mapping->size - 8 || n > CR_ST_HEADER_MAX)
        return 0;
    if (cr_map_more(mapping, 8 + (size_t)n, path, error, size) == 0)
        return 0;
    cr_unmap_file(mapping);
    return -1;
}

/* The open file keeps the mapping of the header. */
CR_API int cr_safetensors_open(struct cr_safetensors *file, const char *path, char *error,
                               size_t size)
{
    struct cr_mapping mapping;
    *file = (struct cr_safetensors){0};
    if (cr_st_map(&mapping, path, error, size) != 0)
        return -1;
    if (cr_safetensors_parse(file, path, mapping, error, size) == 0)
        return 0;
    cr_unmap_file(&mapping);
    return -1;
}

CR_API void cr_safetensors_close(struct cr_safetensors *file)
{
    cr_unmap_file(&file->mapping);
    cr_st_free(file);
}

CR_API const struct cr_st_tensor *cr_safetensors_find(const struct cr_safetensors *file,
                                                      const char *name)
{
    struct cr_st_tensor key = {.name = name};
    return bsearch(&key, file->tensors, (size_t)file->n_tensors, sizeof key, cr_st_by_name);
}

/* ---- elements ---- */

/* Returns the same type of numbers.h; -1 if it is not a floating-point type. */
static int cr_st_number(enum cr_st_type type)
{
    return type == CR_ST_F32    ? CR_NUMBER_F32
           : type == CR_ST_F16  ? CR_NUMBER_F16
           : type == CR_ST_BF16 ? CR_NUMBER_BF16
           : type == CR_ST_F64  ? CR_NUMBER_F64
                                : -1;
}

CR_API int cr_safetensors_check(const struct cr_safetensors *file,
                                const struct cr_st_tensor *tensor, char *error, size_t size)
{
    if (cr_st_number(tensor->type) >= 0)
        return 0;
    return cr_file_fail(error, size, file->path,
                        "tensor %s has dtype %s, expected F32, F16, BF16 or F64",
                        cr_st_show(tensor->name).text, cr_st_type_name(tensor->type));
}

/* Reads f32 directly into `out`; converts other types through a buffer on the stack. */
CR_API int cr_st_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                      int64_t first, int64_t n, float *out)
{
    int type = cr_st_number(tensor->type);
    size_t width, at = (size_t)((const unsigned char *)tensor->data - file->mapping.bytes);
    unsigned char part[CR_ST_PART];
    int64_t some, i;
    assert(type >= 0 && first >= 0 && n <= tensor->elements - first);
    width = cr_number_width((enum cr_number)type);
    at += (size_t)first * width;
    if (tensor->type == CR_ST_F32)
        return cr_mapping_read(&file->mapping, at, (size_t)n * width, out);
    for (i = 0; i < n; i += some, at += (size_t)some * width) {
        some = CR_ST_PART / (int64_t)width;
        some = n - i < some ? n - i : some;
        if (cr_mapping_read(&file->mapping, at, (size_t)some * width, part) != 0)
            return -1;
        cr_numbers_floats((enum cr_number)type, part, some, out + i);
    }
    return 0;
}
