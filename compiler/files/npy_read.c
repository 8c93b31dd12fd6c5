#include "npy_read.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

static const struct {
    const char *name;
    enum cr_number number;
} cr_npy_types[] = {[CR_NPY_F4] = {"<f4", CR_NUMBER_F32},
                    [CR_NPY_F8] = {"<f8", CR_NUMBER_F64},
                    [CR_NPY_I4] = {"<i4", CR_NUMBER_I32},
                    [CR_NPY_I8] = {"<i8", CR_NUMBER_I64},
                    [CR_NPY_F2] = {"<f2", CR_NUMBER_F16},
                    [CR_NPY_I1] = {"|i1", CR_NUMBER_I8},
                    [CR_NPY_U1] = {"|u1", CR_NUMBER_U8},
                    [CR_NPY_B1] = {"|b1", CR_NUMBER_U8}};

enum { CR_NPY_N_TYPES = sizeof cr_npy_types / sizeof *cr_npy_types };

/* The header's text from `at` on; the path and the buffer for error messages. */
struct cr_npy_text {
    const char *at, *end;
    const char *path;
    char *error;
    size_t size;
};

#define CR_NPY_FAIL(text, ...) cr_file_fail((text)->error, (text)->size, (text)->path, __VA_ARGS__)

/* Returns the name that NumPy writes in a header: "<f4" and so on. */
static const char *cr_npy_type_name(enum cr_npy_type type)
{
    assert((int)type < CR_NPY_N_TYPES);
    return cr_npy_types[type].name;
}

CR_API size_t cr_npy_width(enum cr_npy_type type)
{
    return cr_number_width(cr_npy_types[type].number);
}

/* ---- the header: a Python dict of three keys ---- */

static void cr_npy_skip_space(struct cr_npy_text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t'))
        t->at++;
}

/* Skips white space, then reads the character c if it comes next. */
static int cr_npy_take(struct cr_npy_text *t, char c)
{
    cr_npy_skip_space(t);
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int cr_npy_expect(struct cr_npy_text *t, char c)
{
    if (cr_npy_take(t, c))
        return 0;
    return CR_NPY_FAIL(t, "found %s in the header, expected '%c'", cr_show(t->at, (size_t)(t->end - t->at)).text, c);
}

/* Reads a string in single or double quotes without escapes, as numpy writes. */
static int cr_npy_read_string(struct cr_npy_text *t, const char **string, size_t *length)
{
    char quote = cr_npy_take(t, '"') ? '"' : '\'';
    if (quote == '\'' && cr_npy_expect(t, quote) != 0)
        return -1;
    *string = t->at;
    while (t->at < t->end && *t->at != quote && *t->at != '\\' && *t->at != '\n')
        t->at++;
    *length = (size_t)(t->at - *string);
    return cr_npy_expect(t, quote);
}

/* Reads an integer as Python writes it: no sign, leading zero or underscore. */
static int cr_npy_read_integer(struct cr_npy_text *t, int64_t *value)
{
    const char *begin;
    cr_npy_skip_space(t);
    begin = t->at;
    for (*value = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        int digit = *t->at - '0';
        if (*value > (INT64_MAX - digit) / 10)
            return CR_NPY_FAIL(t, "a dimension is 2^63 or more, expected a smaller one");
        *value = *value * 10 + digit;
    }
    if (t->at == begin || (*begin == '0' && t->at > begin + 1))
        return CR_NPY_FAIL(t, "a dimension is %s, expected an integer from 0 on",
                           cr_show(begin, (size_t)(t->end - begin)).text);
    return 0;
}

/* Reads a tuple: (), (2,), (2, 3) or (2, 3,), but not (2), which is a number. */
static int cr_npy_read_shape(struct cr_npy_text *t, struct cr_npy *file)
{
    int comma = 1;
    if (cr_npy_expect(t, '(') != 0)
        return -1;
    while (!cr_npy_take(t, ')')) {
        if (!comma)
            return cr_npy_expect(t, ',');
        if (file->rank == CR_NPY_MAX_RANK)
            return CR_NPY_FAIL(t, "found too many dimensions, expected at most %d", CR_NPY_MAX_RANK);
        if (cr_npy_read_integer(t, &file->shape[file->rank]) != 0)
            return -1;
        file->rank++;
        comma = cr_npy_take(t, ',');
    }
    if (file->rank == 1 && !comma)
        return CR_NPY_FAIL(t, "shape is a number in parentheses, expected a tuple");
    return 0;
}

/* Reads a type such as "<f4".  If it is not supported, the error says how to convert it. */
static int cr_npy_read_type(struct cr_npy_text *t, struct cr_npy *file)
{
    const char *string;
    size_t length;
    int i;
    if (cr_npy_read_string(t, &string, &length) != 0)
        return -1;
    for (i = 0; i < CR_NPY_N_TYPES; i++) {
        int one_byte = *cr_npy_types[i].name == '|';
        if (length == 3 && (one_byte ? *string == '|' : *string == '<' || *string == '>') &&
            memcmp(string + 1, cr_npy_types[i].name + 1, 2) == 0) {
            file->type = (enum cr_npy_type)i;
            file->big = *string == '>';
            return 0;
        }
    }
    return CR_NPY_FAIL(t, "dtype %s, expected f2, f4, f8, i4, i8, i1, u1 or b1, as array.astype('<f4') makes it",
                       cr_show(string, length).text);
}

/* Reads True or False. */
static int cr_npy_read_bool(struct cr_npy_text *t, int *value)
{
    size_t room;
    cr_npy_skip_space(t);
    room = (size_t)(t->end - t->at);
    *value = room >= 4 && memcmp(t->at, "True", 4) == 0;
    if (!*value && !(room >= 5 && memcmp(t->at, "False", 5) == 0))
        return CR_NPY_FAIL(t, "fortran_order is %s, expected True or False", cr_show(t->at, room).text);
    t->at += *value ? 4 : 5;
    return 0;
}

/* Reads one `key: value`; each key may occur once. */
static int cr_npy_read_item(struct cr_npy_text *t, struct cr_npy *file, int *fortran, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t length;
    int i = 0;
    if (cr_npy_read_string(t, &key, &length) != 0 || cr_npy_expect(t, ':') != 0)
        return -1;
    while (i < 3 && (length != strlen(keys[i]) || memcmp(key, keys[i], length) != 0))
        i++;
    if (i == 3 || (*seen & 1u << i))
        return CR_NPY_FAIL(t, "header key %s, expected descr, fortran_order and shape, once each",
                           cr_show(key, length).text);
    *seen |= 1u << i;
    return i == 0   ? cr_npy_read_type(t, file)
           : i == 1 ? cr_npy_read_bool(t, fortran)
                    : cr_npy_read_shape(t, file);
}

/* Parses the header: a Python dict with three keys, each once (a bit of `seen`), and then only
 * spaces. */
static int cr_npy_read_dict(struct cr_npy_text *t, struct cr_npy *file, int *fortran)
{
    int comma = 1;
    unsigned seen = 0;
    if (cr_npy_expect(t, '{') != 0)
        return -1;
    while (!cr_npy_take(t, '}')) {
        if (!comma)
            return cr_npy_expect(t, ',');
        if (cr_npy_read_item(t, file, fortran, &seen) != 0)
            return -1;
        comma = cr_npy_take(t, ',');
    }
    cr_npy_skip_space(t);
    if (t->at != t->end)
        return CR_NPY_FAIL(t, "%s after the header's dict, expected spaces",
                           cr_show(t->at, (size_t)(t->end - t->at)).text);
    if (seen != 7)
        return CR_NPY_FAIL(t, "a key is missing in the header, expected descr, fortran_order and shape");
    return 0;
}

/* ---- reading ---- */

/* Finds the text of the header; the file's version determines the width of its length. */
static int cr_npy_find_header(struct cr_npy_text *t, const struct cr_mapping *mapping)
{
    const unsigned char *p = mapping->bytes;
    size_t prefix, length;
    if (mapping->size < 10 || memcmp(p, "\223NUMPY", 6) != 0)
        return CR_NPY_FAIL(t, "begins with %s, expected '\\x93NUMPY' and a header",
                           cr_show((const char *)p, mapping->size < 6 ? mapping->size : 6).text);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return CR_NPY_FAIL(t, "found version %d.%d of the format, expected 1.0, 2.0 or 3.0", p[6], p[7]);
    prefix = p[6] == 1 ? 10 : 12;
    if (mapping->size < prefix)
        return CR_NPY_FAIL(t, "%zu bytes, expected at least %zu", mapping->size, prefix);
    length = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > mapping->size - prefix)
        return CR_NPY_FAIL(t, "header length %zu, expected at most the %zu bytes that follow",
                           length, mapping->size - prefix);
    t->at = (const char *)p + prefix;
    t->end = t->at + length;
    return 0;
}

CR_API int64_t cr_npy_bytes(enum cr_npy_type type, int rank, const int64_t *shape)
{
    int64_t bytes = (int64_t)cr_npy_width(type);
    int i;
    for (i = 0; i < rank; i++) {
        if (shape[i] > 0 && bytes > INT64_MAX / shape[i])
            return -1;
        bytes *= shape[i];
    }
    return bytes;
}

/* Sets the strides of the elements.  They do not overflow in an empty array either. */
static void cr_npy_set_strides(struct cr_npy *file, int fortran)
{
    int64_t stride = 1;
    int i;
    for (i = 0; i < file->rank; i++) {
        int axis = fortran ? i : file->rank - 1 - i;
        file->stride[axis] = stride;
        stride = file->elements > 0 ? stride * file->shape[axis] : 0;
    }
}

/* Sets elements and data; the data must fill the rest of the file. */
static int cr_npy_find_data(struct cr_npy_text *t, struct cr_npy *file)
{
    int64_t width = (int64_t)cr_npy_width(file->type);
    int64_t bytes = cr_npy_bytes(file->type, file->rank, file->shape);
    size_t left = file->mapping.size - (size_t)(t->end - (const char *)file->mapping.bytes);
    if (bytes < 0)
        return CR_NPY_FAIL(t, "found a shape of more than 2^63 bytes, expected the %zu bytes behind the header", left);
    if ((uint64_t)bytes != left)
        return CR_NPY_FAIL(t, "%zu bytes of elements, expected %" PRId64 " from shape and dtype",
                           left, bytes);
    file->elements = bytes / width;
    file->data = (const unsigned char *)t->end;
    return 0;
}

CR_API int cr_npy_parse(struct cr_npy *file, const char *path, struct cr_mapping mapping,
                        char *error, size_t size)
{
    struct cr_npy_text t = {.path = path, .error = error, .size = size};
    int fortran = 0;
    *file = (struct cr_npy){.path = path, .mapping = mapping};
    if (cr_npy_find_header(&t, &mapping) != 0 || cr_npy_read_dict(&t, file, &fortran) != 0 ||
        cr_npy_find_data(&t, file) != 0) {
        *file = (struct cr_npy){0};
        return -1;
    }
    cr_npy_set_strides(file, fortran);
    return 0;
}

CR_API int cr_npy_open(struct cr_npy *file, const char *path, char *error, size_t size)
{
    struct cr_mapping mapping;
    *file = (struct cr_npy){0};
    if (cr_map_file(&mapping, path, error, size) != 0)
        return -1;
    if (cr_npy_parse(file, path, mapping, error, size) == 0)
        return 0;
    cr_unmap_file(&mapping);
    return -1;
}

CR_API void cr_npy_close(struct cr_npy *file)
{
    cr_unmap_file(&file->mapping);
    *file = (struct cr_npy){0};
}

/* ---- elements ---- */

CR_API const unsigned char *cr_npy_at(const struct cr_npy *file, int64_t i)
{
    int64_t offset = 0;
    int axis;
    for (axis = file->rank - 1; axis >= 0; axis--) {
        offset += i % file->shape[axis] * file->stride[axis];
        i /= file->shape[axis];
    }
    return file->data + (size_t)offset * cr_npy_width(file->type);
}

/* True if the elements are contiguous in row-major order (C order). */
static int cr_npy_in_order(const struct cr_npy *file)
{
    int64_t stride = 1;
    int axis;
    for (axis = file->rank - 1; file->elements > 0 && axis >= 0; axis--) {
        if (file->shape[axis] != 1 && file->stride[axis] != stride)
            return 0;
        stride *= file->shape[axis];
    }
    return 1;
}

static int cr_npy_is_integer(const struct cr_npy *file)
{
    return file->type != CR_NPY_F2 && file->type != CR_NPY_F4 && file->type != CR_NPY_F8;
}

CR_API int cr_npy_read_f32(const struct cr_npy *file, float *out, char *error, size_t size)
{
    enum cr_number type = cr_npy_types[file->type].number;
    size_t width = cr_number_width(type);
    int ordered = cr_npy_in_order(file);
    int64_t i;
    if (cr_npy_is_integer(file))
        return cr_file_fail(error, size, file->path, "found dtype '%s', expected f2, f4 or f8",
                            cr_npy_type_name(file->type));
    if (ordered && !file->big) {
        cr_numbers_floats(type, file->data, file->elements, out);
        return 0;
    }
    for (i = 0; i < file->elements; i++)
        out[i] = cr_number_float(type, file->big,
                                 ordered ? file->data + (size_t)i * width : cr_npy_at(file, i));
    return 0;
}

CR_API int cr_npy_read_i32(const struct cr_npy *file, int32_t *out, char *error, size_t size)
{
    enum cr_number type = cr_npy_types[file->type].number;
    size_t width = cr_number_width(type);
    int ordered = cr_npy_in_order(file);
    int64_t i;
    if (!cr_npy_is_integer(file))
        return cr_file_fail(error, size, file->path, "found dtype '%s', expected i4 or i8",
                            cr_npy_type_name(file->type));
    for (i = 0; i < file->elements; i++) {
        const unsigned char *at = ordered ? file->data + (size_t)i * width : cr_npy_at(file, i);
        int64_t value = cr_number_integer(type, file->big, at);
        if (value < INT32_MIN || value > INT32_MAX)
            return cr_file_fail(error, size, file->path,
                                "element %" PRId64 " is %" PRId64 ", expected a 32-bit integer", i,
                                value);
        out[i] = (int32_t)value;
    }
    return 0;
}

/* ---- the header that is written ---- */

enum {
    CR_NPY_GROWTH = 21 /* NumPy reserves room in the header for a first dimension of this many
                        * digits */
};

CR_API size_t cr_npy_print_header(char out[CR_NPY_HEADER], enum cr_npy_type type, int rank,
                                  const int64_t *shape)
{
    size_t n, total;
    int i, digits;
    memcpy(out, "\223NUMPY\001\000", 8);
    n = 10 + (size_t)sprintf(out + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             cr_npy_type_name(type));
    for (i = 0; i < rank; i++)
        n += (size_t)sprintf(out + n, i == 0 ? "%" PRId64 : ", %" PRId64, shape[i]);
    n += (size_t)sprintf(out + n, rank == 1 ? ",), }" : "), }");
    if (rank > 0) {
        digits = snprintf(NULL, 0, "%" PRId64, shape[0]);
        n += (size_t)sprintf(out + n, "%*s", CR_NPY_GROWTH - digits, "");
    }
    total = (n + 1) / 64 * 64 + 64;
    memset(out + n, ' ', total - n);
    out[total - 1] = '\n';
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return total;
}
