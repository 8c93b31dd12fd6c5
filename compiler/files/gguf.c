/* gguf.c - reads GGUF files; see gguf.h. */
#include "gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gguf_types.h"
#include "lfs.h"
#include "numbers.h"

enum {
    ALIGNMENT = 32,      /* alignment of tensors unless general.alignment gives another */
    LEAST_VALUE = 8 + 4, /* minimum bytes of a value's description, and of a tensor's */
    LEAST_TENSOR = 8 + 4 + 4 + 8,
    MOST_ITEMS = 1 << 30,
    HEADER = 1 << 20, /* bytes to map at first, more than most headers have */
    PART = 16384      /* bytes to read at a time for conversion */
};

/* A file being parsed.  Bytes from `at` to `end` are not parsed yet; bytes before `mapped` are in
 * memory. */
struct reader {
    struct cr_gguf *file;
    const unsigned char *at, *end, *mapped;
    size_t lacks; /* parsing needs this many bytes of the file mapped; 0: no more than are mapped */
    const unsigned char *data; /* start of the data of all tensors */
    char *error;
    size_t size;
};

#define FAIL(reader, ...)                                                                          \
    cr_file_fail((reader)->error, (reader)->size, (reader)->file->path, __VA_ARGS__)

static struct cr_shown show(struct cr_gguf_string s)
{
    return cr_show(s.text, s.length);
}

/* ---- numbers and strings ---- */

static uint32_t u32_at(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t u64_at(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Returns the next n bytes of the header, which messages call `what`.  Returns null with an error
 * if the file is too short; null without an error if more of the file must be mapped. */
static const unsigned char *take(struct reader *r, uint64_t n, const char *what)
{
    const unsigned char *at = r->at;
    if (n > (uint64_t)(r->end - at)) {
        FAIL(r, "%llu bytes of %s at byte %td, expected at most the %td that follow",
             (unsigned long long)n, what, at - r->file->mapping.bytes, r->end - at);
        return NULL;
    }
    if (n > (uint64_t)(r->mapped - at)) {
        r->lacks = (size_t)(at - r->file->mapping.bytes) + (size_t)n;
        return NULL;
    }
    r->at += n;
    return at;
}

static int take_u32(struct reader *r, const char *what, uint32_t *out)
{
    const unsigned char *at = take(r, 4, what);
    *out = at ? u32_at(at) : 0;
    return at ? 0 : -1;
}

static int take_u64(struct reader *r, const char *what, uint64_t *out)
{
    const unsigned char *at = take(r, 8, what);
    *out = at ? u64_at(at) : 0;
    return at ? 0 : -1;
}

static int take_string(struct reader *r, const char *what, struct cr_gguf_string *out)
{
    uint64_t n;
    if (take_u64(r, what, &n))
        return -1;
    out->text = (const char *)take(r, n, what);
    out->length = (size_t)n;
    return out->text ? 0 : -1;
}

/* Compares two strings by bytes, then by length. */
static int compare(struct cr_gguf_string a, struct cr_gguf_string b)
{
    size_t n = a.length < b.length ? a.length : b.length;
    int order = n ? memcmp(a.text, b.text, n) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_key(const void *a, const void *b)
{
    return compare(((const struct cr_gguf_value *)a)->key, ((const struct cr_gguf_value *)b)->key);
}

static int by_name(const void *a, const void *b)
{
    return compare(((const struct cr_gguf_tensor *)a)->name,
                   ((const struct cr_gguf_tensor *)b)->name);
}

/* ---- the header ---- */

/* Reads the numbers of tensors and of metadata values; fails if the file is too short for so
 * many. */
static int read_header(struct reader *r, uint64_t *tensors, uint64_t *values)
{
    uint32_t version;
    const unsigned char *magic = take(r, 4, "a header");
    if (!magic)
        return -1;
    if (memcmp(magic, "GGUF", 4) != 0)
        return FAIL(r, "begins with %s, expected 'GGUF'", cr_show((const char *)magic, 4).text);
    if (take_u32(r, "a version", &version))
        return -1;
    if (version != 2 && version != 3)
        return FAIL(r, "GGUF version %u%s, expected 2 or 3", version,
                    version & 0xffff ? "" : " (of a big-endian machine)");
    if (take_u64(r, "a count of tensors", tensors) || take_u64(r, "a count of values", values))
        return -1;
    uint64_t room = (uint64_t)(r->end - r->at);
    if (*tensors > room / LEAST_TENSOR || *tensors > MOST_ITEMS)
        return FAIL(r, "%llu tensors, expected at most as many as %llu bytes describe",
                    (unsigned long long)*tensors, (unsigned long long)room);
    if (*values > room / LEAST_VALUE || *values > MOST_ITEMS)
        return FAIL(r, "%llu values, expected at most as many as %llu bytes hold",
                    (unsigned long long)*values, (unsigned long long)room);
    return 0;
}

/* ---- metadata ---- */

static const struct {
    const char *one, *many;
    int bytes; /* bytes of an item; 0: they vary */
} kinds[] = {
    [CR_GGUF_U8] = {"an integer", "an array of integers", 1},
    [CR_GGUF_I8] = {"an integer", "an array of integers", 1},
    [CR_GGUF_U16] = {"an integer", "an array of integers", 2},
    [CR_GGUF_I16] = {"an integer", "an array of integers", 2},
    [CR_GGUF_U32] = {"an integer", "an array of integers", 4},
    [CR_GGUF_I32] = {"an integer", "an array of integers", 4},
    [CR_GGUF_F32] = {"a number", "an array of numbers", 4},
    [CR_GGUF_BOOL] = {"a boolean", "an array of booleans", 1},
    [CR_GGUF_STRING] = {"a string", "an array of strings", 0},
    [CR_GGUF_ARRAY] = {"an array", "an array of arrays", 0},
    [CR_GGUF_U64] = {"an integer", "an array of integers", 8},
    [CR_GGUF_I64] = {"an integer", "an array of integers", 8},
    [CR_GGUF_F64] = {"a number", "an array of numbers", 8},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const char *cr_gguf_kind_of(const struct cr_gguf_value *value)
{
    return value->is_array ? kinds[value->kind].many : kinds[value->kind].one;
}

static int take_kind(struct reader *r, const struct cr_gguf_value *value, uint32_t *kind)
{
    if (take_u32(r, "a type", kind))
        return -1;
    return *kind < N_KINDS ? 0
                           : FAIL(r, "%s is of type %u, expected one of GGUF's %d",
                                  show(value->key).text, *kind, (int)N_KINDS);
}

/* Checks the items of a value, and moves past them. */
static int take_items(struct reader *r, struct cr_gguf_value *value)
{
    struct cr_gguf_string item;
    char what[128];
    snprintf(what, sizeof what, "%s", show(value->key).text);
    uint64_t width = (uint64_t)kinds[value->kind].bytes, room = (uint64_t)(r->end - r->at);
    value->data = r->at;
    if (value->n > room / (width ? width : 8))
        return FAIL(
            r, "%s has %llu items, expected at most as many as the %llu bytes that follow hold",
            what, (unsigned long long)value->n, (unsigned long long)room);
    if (width)
        return take(r, value->n * width, what) ? 0 : -1;
    for (uint64_t i = 0; i < value->n; i++)
        if (take_string(r, what, &item))
            return -1;
    return 0;
}

/* Reads a key, a type and a value; for an array, the type of its items, their number, and the
 * items. */
static int read_value(struct reader *r, struct cr_gguf_value *value)
{
    uint32_t kind;
    *value = (struct cr_gguf_value){.n = 1};
    if (take_string(r, "a key", &value->key) || take_kind(r, value, &kind))
        return -1;
    value->is_array = kind == CR_GGUF_ARRAY;
    if (value->is_array &&
        (take_kind(r, value, &kind) || take_u64(r, "an array's length", &value->n)))
        return -1;
    if (kind == CR_GGUF_ARRAY)
        return FAIL(r, "%s is an array of arrays, expected one of values", show(value->key).text);
    value->kind = (enum cr_gguf_kind)kind;
    if (take_items(r, value))
        return -1;
    if (kind == CR_GGUF_BOOL && !value->is_array && *value->data > 1)
        return FAIL(r, "%s is a boolean with the value %d, expected 0 or 1", show(value->key).text,
                    *value->data);
    return 0;
}

/* Reads all metadata values and sorts them by key; fails if a key occurs twice. */
static int read_values(struct reader *r, uint64_t n)
{
    struct cr_gguf *file = r->file;
    file->values = malloc(((size_t)n + 1) * sizeof *file->values);
    if (!file->values)
        return FAIL(r, "out of memory for %llu values", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++, file->n_values++)
        if (read_value(r, &file->values[i]))
            return -1;
    qsort(file->values, (size_t)n, sizeof *file->values, by_key);
    for (int i = 1; i < file->n_values; i++)
        if (by_key(&file->values[i - 1], &file->values[i]) == 0)
            return FAIL(r, "found the key %s twice, expected it once",
                        show(file->values[i].key).text);
    return 0;
}

/* ---- tensors ---- */

/* Computes the elements and bytes of a tensor from its shape and type; fails unless rows consist
 * of whole blocks. */
static int measure(struct reader *r, struct cr_gguf_tensor *t)
{
    const struct cr_gguf_type *type = t->type;
    int64_t row = t->rank ? t->shape[t->rank - 1] : 1;
    t->elements = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0 || (t->shape[i] && t->elements > INT64_MAX / 64 / t->shape[i]))
            return FAIL(r, "the shape of tensor %s has more elements than can be counted",
                        show(t->name).text);
        t->elements *= t->shape[i];
    }
    if (row % type->elements)
        return FAIL(r, "tensor %s has rows of %lld elements of type %s, expected a multiple of %d",
                    show(t->name).text, (long long)row, type->name, type->elements);
    if (t->elements / type->elements > INT64_MAX / type->bytes)
        return FAIL(r, "the shape of tensor %s has more bytes than can be counted",
                    show(t->name).text);
    t->bytes = (size_t)(t->elements / type->elements * type->bytes);
    return 0;
}

/* Reads the description of a tensor: name, rank, shape (innermost axis first), type, and offset
 * in the data. */
static int read_tensor(struct reader *r, struct cr_gguf_tensor *t, uint64_t *offset)
{
    uint32_t rank, number;
    uint64_t length;
    if (take_string(r, "a tensor's name", &t->name) || take_u32(r, "a number of axes", &rank))
        return -1;
    if (rank > CR_GGUF_RANK)
        return FAIL(r, "tensor %s has %u axes, expected at most %d", show(t->name).text, rank,
                    CR_GGUF_RANK);
    t->rank = (int)rank;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (take_u64(r, "a tensor's shape", &length))
            return -1;
        t->shape[i] = length > INT64_MAX ? -1 : (int64_t)length;
    }
    if (take_u32(r, "a tensor's type", &number) || take_u64(r, "a tensor's place", offset))
        return -1;
    t->type = cr_gguf_type_of(number);
    return t->type ? measure(r, t)
                   : FAIL(r, "tensor %s is of type %u, expected one of GGUF's", show(t->name).text,
                          number);
}

/* Sets the address of a tensor's data; fails if the data are not aligned or not inside the file. */
static int place(struct reader *r, struct cr_gguf_tensor *t, uint64_t offset, int64_t alignment)
{
    uint64_t room = (uint64_t)(r->end - r->data);
    if (offset % (uint64_t)alignment)
        return FAIL(r, "tensor %s begins at byte %llu of the data, expected a multiple of %lld",
                    show(t->name).text, (unsigned long long)offset, (long long)alignment);
    if (offset > room || t->bytes > room - offset)
        return FAIL(r, "tensor %s has %zu bytes from byte %llu on, expected them inside the %llu "
                    "bytes of data", show(t->name).text, t->bytes, (unsigned long long)offset,
                    (unsigned long long)room);
    t->data = r->data + offset;
    return 0;
}

/* Compares tensors by the position of their data; an empty tensor precedes another one at the
 * same position. */
static int by_place(const void *a, const void *b)
{
    const struct cr_gguf_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Fails if the data of two tensors overlap, or if two have the same name; sorts tensors by name. */
static int check_tensors(struct reader *r)
{
    struct cr_gguf_tensor *t = r->file->tensors;
    int n = r->file->n_tensors;
    qsort(t, (size_t)n, sizeof *t, by_place);
    for (int i = 1; i < n; i++)
        if (t[i].data < t[i - 1].data + t[i - 1].bytes)
            return FAIL(r, "tensor %s begins before %s ends, expected no overlap",
                        show(t[i].name).text, show(t[i - 1].name).text);
    qsort(t, (size_t)n, sizeof *t, by_name);
    for (int i = 1; i < n; i++)
        if (by_name(&t[i - 1], &t[i]) == 0)
            return FAIL(r, "found tensor %s twice, expected it once",
                        show(t[i].name).text);
    return 0;
}

/* Sets the alignment of tensors; fails unless it is a power of two. */
static int find_alignment(struct reader *r, int64_t *alignment)
{
    const struct cr_gguf_value *value = cr_gguf_find(r->file, "general.alignment");
    *alignment = ALIGNMENT;
    if (!value)
        return 0;
    if (value->is_array || !cr_gguf_integer(value, 0, alignment) || *alignment < 1 ||
        *alignment > 1 << 20 || (*alignment & (*alignment - 1)))
        return FAIL(r, "found another general.alignment, expected a power of two up to %d",
                    1 << 20);
    return 0;
}

/* Reads the descriptions of all tensors.  Their data begin after that, at the next multiple of
 * the alignment. */
static int read_tensors(struct reader *r, uint64_t n)
{
    struct cr_gguf *file = r->file;
    int64_t alignment;
    int status = find_alignment(r, &alignment);
    if (status)
        return -1;
    uint64_t *offsets = malloc(((size_t)n + 1) * sizeof *offsets);
    file->tensors = calloc((size_t)n + 1, sizeof *file->tensors);
    if (!offsets || !file->tensors)
        status = FAIL(r, "out of memory for %llu tensors", (unsigned long long)n);
    for (uint64_t i = 0; !status && i < n; i++, file->n_tensors++)
        status = read_tensor(r, &file->tensors[i], &offsets[i]);
    size_t used = (size_t)(r->at - file->mapping.bytes), over = used % (size_t)alignment;
    size_t fill = over ? (size_t)alignment - over : 0, left = (size_t)(r->end - r->at);
    r->data = r->at + (fill < left ? fill : left);
    for (uint64_t i = 0; !status && i < n; i++)
        status = place(r, &file->tensors[i], offsets[i], alignment);
    free(offsets);
    return status ? -1 : check_tensors(r);
}

/* ---- files ---- */

static void free_lists(struct cr_gguf *file)
{
    free(file->values);
    free(file->tensors);
    *file = (struct cr_gguf){0};
}

/* Parses the mapped part of a file.  Returns -1 with *lacks 0 and an error if the file is
 * invalid; if more of the file is needed, returns -1 with *lacks set to the number of bytes that
 * must be mapped. */
static int parse_mapped(struct cr_gguf *file, const char *path, struct cr_mapping mapping,
                        size_t *lacks, char *error, size_t size)
{
    uint64_t tensors = 0, values = 0;
    const unsigned char *bytes = mapping.bytes;
    const size_t mapped = mapping.handle ? mapping.mapped : mapping.size;
    struct reader r = {.file = file,
                       .at = bytes,
                       .end = bytes + mapping.size,
                       .mapped = bytes + mapped,
                       .error = error,
                       .size = size};
    *file = (struct cr_gguf){.path = path, .mapping = mapping};
    int status =
        read_header(&r, &tensors, &values) || read_values(&r, values) || read_tensors(&r, tensors);
    *lacks = r.lacks;
    if (status)
        free_lists(file);
    return status ? -1 : 0;
}

int cr_gguf_parse(struct cr_gguf *file, const char *path, struct cr_mapping mapping, char *error,
                  size_t size)
{
    size_t lacks;
    return parse_mapped(file, path, mapping, &lacks, error, size);
}

/* Maps only the header.  After a failure nothing is mapped. */
int cr_gguf_open(struct cr_gguf *file, const char *path, char *error, size_t size)
{
    struct cr_mapping mapping;
    size_t lacks;
    int status;
    *file = (struct cr_gguf){0};
    if (cr_map_begin(&mapping, path, HEADER, error, size))
        return -1;
    do {
        status = parse_mapped(file, path, mapping, &lacks, error, size);
        if (status == 0)
            return 0;
        lacks = lacks && lacks < 4 * mapping.mapped ? 4 * mapping.mapped : lacks;
    } while (lacks && cr_map_more(&mapping, lacks, path, error, size) == 0);
    if (!lacks && cr_is_lfs(mapping.bytes, mapping.mapped))
        cr_file_fail(error, size, path, CR_LFS_MESSAGE);
    cr_unmap_file(&mapping);
    return -1;
}

void cr_gguf_close(struct cr_gguf *file)
{
    cr_unmap_file(&file->mapping);
    free_lists(file);
}

/* Judges by the ending .gguf or by the first bytes.  Reads only regular files, since reading
 * would consume the bytes of a pipe. */
bool cr_is_gguf(const char *path)
{
    struct stat status;
    char magic[4] = "";
    size_t n = strlen(path);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (n > 5 && strcmp(path + n - 5, ".gguf") == 0)
        return true;
    FILE *file = fopen(path, "rb");
    bool is = file && fread(magic, 1, sizeof magic, file) == sizeof magic &&
              memcmp(magic, "GGUF", sizeof magic) == 0;
    if (file)
        fclose(file);
    return is;
}

/* ---- lookup ---- */

const struct cr_gguf_value *cr_gguf_find(const struct cr_gguf *file, const char *key)
{
    const struct cr_gguf_value wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, file->values, (size_t)file->n_values, sizeof wanted, by_key);
}

const struct cr_gguf_tensor *cr_gguf_find_tensor(const struct cr_gguf *file, const char *name)
{
    const struct cr_gguf_tensor wanted = {.name = {name, strlen(name)}};
    return bsearch(&wanted, file->tensors, (size_t)file->n_tensors, sizeof wanted, by_name);
}

bool cr_gguf_integer(const struct cr_gguf_value *value, uint64_t i, int64_t *out)
{
    uint64_t bits = 0;
    int width = kinds[value->kind].bytes;
    bool is_signed = value->kind == CR_GGUF_I8 || value->kind == CR_GGUF_I16 ||
                     value->kind == CR_GGUF_I32 || value->kind == CR_GGUF_I64;
    if (strcmp(kinds[value->kind].one, "an integer") != 0 || i >= value->n)
        return false;
    memcpy(&bits, value->data + i * (uint64_t)width, (size_t)width);
    if (is_signed && width < 8 && bits >> (8 * width - 1))
        bits |= UINT64_MAX << 8 * width;
    if (!is_signed && bits > INT64_MAX)
        return false;
    memcpy(out, &bits, sizeof *out);
    return true;
}

bool cr_gguf_count(const struct cr_gguf_value *value, int64_t *out)
{
    int64_t other;
    if (!cr_gguf_integer(value, 0, out) || *out < 1)
        return false;
    for (uint64_t i = 1; i < value->n; i++)
        if (!cr_gguf_integer(value, i, &other) || other != *out)
            return false;
    return true;
}

bool cr_gguf_real(const struct cr_gguf_value *value, uint64_t i, double *out)
{
    int64_t integer;
    bool whole = cr_gguf_integer(value, i, &integer);
    if (whole)
        *out = (double)integer;
    else if (i < value->n && value->kind == CR_GGUF_F32)
        *out = (double)cr_number_float(CR_NUMBER_F32, 0, value->data + 4 * i);
    else if (i < value->n && value->kind == CR_GGUF_F64)
        *out = cr_number_double(0, value->data + 8 * i);
    else
        return false;
    return true;
}

bool cr_gguf_bool(const struct cr_gguf_value *value, bool *out)
{
    if (value->kind != CR_GGUF_BOOL || value->is_array)
        return false;
    *out = *value->data != 0;
    return true;
}

struct cr_gguf_string cr_gguf_next_string(const unsigned char **at)
{
    struct cr_gguf_string s = {(const char *)*at + 8, (size_t)u64_at(*at)};
    *at += 8 + s.length;
    return s;
}

int cr_gguf_check(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, char *error,
                  size_t size)
{
    char known[120];
    if (tensor->type->floats)
        return 0;
    return cr_file_fail(error, size, file->path, "tensor %s has type %s, expected one of %s",
                        show(tensor->name).text, tensor->type->name,
                        cr_gguf_types_read(known, sizeof known));
}

const unsigned char *cr_gguf_block(const struct cr_gguf_tensor *tensor, int64_t row, int64_t col)
{
    const struct cr_gguf_type *type = tensor->type;
    int64_t cols = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    return tensor->data + (row * cols + col) / type->elements * type->bytes;
}

int cr_gguf_floats(const struct cr_gguf *file, const struct cr_gguf_tensor *tensor, int64_t first,
                   int64_t n, float *out)
{
    const struct cr_gguf_type *type = tensor->type;
    const int64_t most = PART / type->bytes * type->elements;
    const size_t data = (size_t)(tensor->data - file->mapping.bytes);
    unsigned char part[PART];
    for (int64_t some; n > 0; first += some, out += some, n -= some) {
        const int64_t skip = first % type->elements;
        some = n < most - skip ? n : most - skip;
        const int64_t blocks = (skip + some + type->elements - 1) / type->elements;
        if (cr_mapping_read(&file->mapping, data + (size_t)(first / type->elements * type->bytes),
                            (size_t)(blocks * type->bytes), part))
            return -1;
        type->floats(part, skip, some, out);
    }
    return 0;
}
