#include "npy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
} types[] = {[CR_NPY_F4] = {"<f4", 4},
             [CR_NPY_F8] = {"<f8", 8},
             [CR_NPY_I4] = {"<i4", 4},
             [CR_NPY_I8] = {"<i8", 8}};

enum { N_TYPES = sizeof types / sizeof *types };

/* The header's text from `at` on, and where to complain about it. */
struct text {
    const char *at, *end;
    const char *path;
    char *error;
    size_t size;
};

#define FAIL(text, ...) cr_file_fail((text)->error, (text)->size, (text)->path, __VA_ARGS__)

const char *cr_npy_type_name(enum cr_npy_type type)
{
    assert((int)type < N_TYPES);
    return types[type].name;
}

/* ---- the header: a Python dict of three keys ---- */

static void skip_space(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t'))
        t->at++;
}

/* Takes one character, and the space before it, if it comes next. */
static int take(struct text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int expect(struct text *t, char c)
{
    if (take(t, c))
        return 0;
    return FAIL(t, "header goes on with %s, expected '%c'",
                cr_show(t->at, (size_t)(t->end - t->at)).text, c);
}

/* A string in single or double quotes, without escapes; numpy needs none. */
static int read_string(struct text *t, const char **string, size_t *length)
{
    char quote = take(t, '"') ? '"' : '\'';

    if (quote == '\'' && expect(t, quote) != 0)
        return -1;
    *string = t->at;
    while (t->at < t->end && *t->at != quote && *t->at != '\\' && *t->at != '\n')
        t->at++;
    *length = (size_t)(t->at - *string);
    return expect(t, quote);
}

/* Whether a string of the file is exactly `word`. */
static int is_word(const char *string, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(string, word, length) == 0;
}

/* An integer as Python writes it: no sign, no leading zero, no underscore. */
static int read_integer(struct text *t, int64_t *value)
{
    const char *begin;

    skip_space(t);
    begin = t->at;
    for (*value = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        int digit = *t->at - '0';
        if (*value > (INT64_MAX - digit) / 10)
            return FAIL(t, "a dimension is past 2^63, expected a smaller one");
        *value = *value * 10 + digit;
    }
    if (t->at == begin || (*begin == '0' && t->at > begin + 1))
        return FAIL(t, "a dimension is %s, expected an integer from 0 on",
                    cr_show(begin, (size_t)(t->end - begin)).text);
    return 0;
}

/* A tuple: (), (2,), (2, 3) or (2, 3,), but not (2), which is a number. */
static int read_shape(struct text *t, struct cr_npy *file)
{
    int comma = 1;

    if (expect(t, '(') != 0)
        return -1;
    while (!take(t, ')')) {
        if (!comma)
            return expect(t, ',');
        if (file->rank == CR_NPY_MAX_RANK)
            return FAIL(t, "more than %d dimensions, expected at most so many", CR_NPY_MAX_RANK);
        if (read_integer(t, &file->shape[file->rank]) != 0)
            return -1;
        file->rank++;
        comma = take(t, ',');
    }
    if (file->rank == 1 && !comma)
        return FAIL(t, "shape is a number in parentheses, expected a tuple");
    return 0;
}

static int read_type(struct text *t, struct cr_npy *file)
{
    const char *string;
    size_t length;
    int i;

    if (read_string(t, &string, &length) != 0)
        return -1;
    for (i = 0; i < N_TYPES; i++) {
        if (is_word(string, length, types[i].name)) {
            file->type = (enum cr_npy_type)i;
            return 0;
        }
    }
    return FAIL(t, "dtype %s, expected '<f4', '<f8', '<i4' or '<i8'", cr_show(string, length).text);
}

static int read_bool(struct text *t, int *value)
{
    size_t room;

    skip_space(t);
    room = (size_t)(t->end - t->at);
    *value = room >= 4 && memcmp(t->at, "True", 4) == 0;
    if (!*value && !(room >= 5 && memcmp(t->at, "False", 5) == 0))
        return FAIL(t, "fortran_order is %s, expected True or False", cr_show(t->at, room).text);
    t->at += *value ? 4 : 5;
    return 0;
}

/* Reads one `key: value`; each key may come once. */
static int read_item(struct text *t, struct cr_npy *file, int *fortran, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t length;
    int i = 0;

    if (read_string(t, &key, &length) != 0 || expect(t, ':') != 0)
        return -1;
    while (i < 3 && !is_word(key, length, keys[i]))
        i++;
    if (i == 3 || (*seen & 1u << i))
        return FAIL(t, "header key %s, expected descr, fortran_order and shape, once each",
                    cr_show(key, length).text);
    *seen |= 1u << i;
    return i == 0 ? read_type(t, file) : i == 1 ? read_bool(t, fortran) : read_shape(t, file);
}

static int read_dict(struct text *t, struct cr_npy *file)
{
    int fortran = 0, comma = 1;
    unsigned seen = 0;

    if (expect(t, '{') != 0)
        return -1;
    while (!take(t, '}')) {
        if (!comma)
            return expect(t, ',');
        if (read_item(t, file, &fortran, &seen) != 0)
            return -1;
        comma = take(t, ',');
    }
    skip_space(t);
    if (t->at != t->end)
        return FAIL(t, "%s after the header's dict, expected spaces",
                    cr_show(t->at, (size_t)(t->end - t->at)).text);
    if (seen != 7)
        return FAIL(t, "a key is missing in the header, expected descr, fortran_order and shape");
    if (fortran && file->rank > 1)
        return FAIL(t, "elements in Fortran order, expected C order");
    return 0;
}

/* ---- reading ---- */

/* Finds the text of the header; the version says how wide its length is. */
static int find_header(struct text *t, const struct cr_mapping *mapping)
{
    const unsigned char *p = mapping->bytes;
    size_t prefix, length;

    if (mapping->size < 10 || memcmp(p, "\223NUMPY", 6) != 0)
        return FAIL(t, "begins with %s, expected '\\x93NUMPY' and a header",
                    cr_show((const char *)p, mapping->size < 6 ? mapping->size : 6).text);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return FAIL(t, "version %d.%d, expected 1.0, 2.0 or 3.0", p[6], p[7]);
    prefix = p[6] == 1 ? 10 : 12;
    if (mapping->size < prefix)
        return FAIL(t, "%zu bytes, expected at least %zu", mapping->size, prefix);
    length = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > mapping->size - prefix)
        return FAIL(t, "header length %zu, expected at most the %zu bytes that follow", length,
                    mapping->size - prefix);
    t->at = (const char *)p + prefix;
    t->end = t->at + length;
    return 0;
}

/* The bytes that a shape asks for, or -1 if they cannot be counted. */
static int64_t count_bytes(int rank, const int64_t *shape, int64_t bytes)
{
    int i;

    for (i = 0; i < rank; i++) {
        if (shape[i] > 0 && bytes > INT64_MAX / shape[i])
            return -1;
        bytes *= shape[i];
    }
    return bytes;
}

/* Sets elements and data, which has to be all that is left of the file. */
static int find_data(struct text *t, struct cr_npy *file)
{
    int width = types[file->type].bytes;
    int64_t bytes = count_bytes(file->rank, file->shape, width);
    size_t left = file->mapping.size - (size_t)(t->end - (const char *)file->mapping.bytes);

    if (bytes < 0)
        return FAIL(t, "more than 2^63 bytes asked for by the shape, expected %zu", left);
    if ((uint64_t)bytes != left)
        return FAIL(t, "%zu bytes of elements, expected %" PRId64 " from shape and dtype", left,
                    bytes);
    file->elements = bytes / width;
    file->data = (const unsigned char *)t->end;
    return 0;
}

int cr_npy_open(struct cr_npy *file, const char *path, char *error, size_t size)
{
    struct text t = {.path = path, .error = error, .size = size};

    *file = (struct cr_npy){0};
    if (cr_map_file(&file->mapping, path, error, size) != 0)
        return -1;
    file->path = strdup(path);
    if (!file->path)
        FAIL(&t, "out of memory for its name");
    if (!file->path || find_header(&t, &file->mapping) != 0 || read_dict(&t, file) != 0 ||
        find_data(&t, file) != 0) {
        cr_npy_close(file);
        return -1;
    }
    return 0;
}

void cr_npy_close(struct cr_npy *file)
{
    free(file->path);
    cr_unmap_file(&file->mapping);
    *file = (struct cr_npy){0};
}

int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size)
{
    int64_t i;

    if (file->type != CR_NPY_F4 && file->type != CR_NPY_F8)
        return cr_file_fail(error, size, file->path, "dtype '%s', expected '<f4' or '<f8'",
                            types[file->type].name);
    if (file->type == CR_NPY_F4 && file->elements > 0)
        memcpy(out, file->data, (size_t)file->elements * 4);
    for (i = 0; file->type == CR_NPY_F8 && i < file->elements; i++) {
        double value;
        memcpy(&value, file->data + 8 * i, 8);
        out[i] = (float)value;
    }
    return 0;
}

int cr_npy_read_i32(const struct cr_npy *file, int32_t *out, char *error, size_t size)
{
    int64_t i;

    if (file->type != CR_NPY_I4 && file->type != CR_NPY_I8)
        return cr_file_fail(error, size, file->path, "dtype '%s', expected '<i4' or '<i8'",
                            types[file->type].name);
    if (file->type == CR_NPY_I4 && file->elements > 0)
        memcpy(out, file->data, (size_t)file->elements * 4);
    for (i = 0; file->type == CR_NPY_I8 && i < file->elements; i++) {
        int64_t value;
        memcpy(&value, file->data + 8 * i, 8);
        if (value < INT32_MIN || value > INT32_MAX)
            return cr_file_fail(error, size, file->path,
                                "element %" PRId64 " is %" PRId64 ", expected a 32-bit integer", i,
                                value);
        out[i] = (int32_t)value;
    }
    return 0;
}

/* ---- writing ---- */

enum {
    HEADER_ROOM = 1024, /* holds CR_NPY_MAX_RANK dimensions of 19 digits */
    GROWTH_DIGITS = 21  /* numpy leaves room for the first dimension to grow to so many */
};

/* The whole header as numpy.save writes it; returns its length, a multiple of 64. */
static size_t print_header(char *out, enum cr_npy_type type, int rank, const int64_t *shape)
{
    size_t n, total;
    int i, digits;

    memcpy(out, "\223NUMPY\001\000", 8);
    n = 10 + (size_t)sprintf(out + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             types[type].name);
    for (i = 0; i < rank; i++)
        n += (size_t)sprintf(out + n, i == 0 ? "%" PRId64 : ", %" PRId64, shape[i]);
    n += (size_t)sprintf(out + n, rank == 1 ? ",), }" : "), }");
    if (rank > 0) {
        digits = snprintf(NULL, 0, "%" PRId64, shape[0]);
        n += (size_t)sprintf(out + n, "%*s", GROWTH_DIGITS - digits, "");
    }
    total = (n + 1) / 64 * 64 + 64;
    memset(out + n, ' ', total - n);
    out[total - 1] = '\n';
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return total;
}

void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data)
{
    int64_t bytes = count_bytes(rank, shape, types[type].bytes);
    char header[HEADER_ROOM];

    assert(rank >= 0 && rank <= CR_NPY_MAX_RANK && (type == CR_NPY_F4 || type == CR_NPY_I4));
    assert(bytes >= 0);
    cr_writer_put(writer, header, print_header(header, type, rank, shape));
    cr_writer_put(writer, data, (size_t)bytes);
}

int cr_npy_write(const char *path, enum cr_npy_type type, int rank, const int64_t *shape,
                 const void *data, char *error, size_t size)
{
    struct cr_writer writer;

    if (count_bytes(rank, shape, types[type].bytes) < 0)
        return cr_file_fail(error, size, path, "shape of more than 2^63 bytes, expected fewer");
    if (cr_writer_open(&writer, path, error, size) != 0)
        return -1;
    cr_npy_put(&writer, type, rank, shape, data);
    return cr_writer_commit(&writer, error, size);
}
