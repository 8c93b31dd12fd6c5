#include "safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { HEADER_MAX = 100000000 /* maximum bytes of a header, by the format's first reader */ };

/* ---- reading ---- */

static const struct cr_st_metadata *find_metadata(const struct cr_safetensors *file,
                                                  const char *key)
{
    for (int i = 0; i < file->n_metadata; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return &file->metadata[i];
    return NULL;
}

const char *cr_safetensors_metadata(const struct cr_safetensors *file, const char *key)
{
    const struct cr_st_metadata *found = find_metadata(file, key);

    return found ? found->value : NULL;
}

const char *cr_safetensors_next_key(const struct cr_safetensors *file, const char *key)
{
    const struct cr_st_metadata *at = key ? find_metadata(file, key) + 1 : file->metadata;

    return at && at < file->metadata + file->n_metadata ? at->key : NULL;
}

int cr_safetensors_read(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                        float *out, char *error, size_t size)
{
    if (cr_safetensors_check(file, tensor, error, size) != 0)
        return -1;
    if (cr_st_read(file, tensor, 0, tensor->elements, out) != 0)
        return cr_mapping_fail(&file->mapping, file->path, error, size);
    return 0;
}

/* ---- writing ---- */

/* The text of a header while it is built, and the buffer for the error. */
struct header_text {
    char *bytes;
    size_t n, room;
    const char *path;
    char *error;
    size_t size;
};

#define FAIL(text, ...) cr_file_fail((text)->error, (text)->size, (text)->path, __VA_ARGS__)

static struct cr_shown show_name(const char *name)
{
    return cr_show(name, strlen(name));
}

/* Appends n bytes.  If memory runs out, frees the text, which stays null from then on. */
static void add(struct header_text *t, const char *bytes, size_t n)
{
    if (!t->bytes)
        return;
    if (n > t->room - t->n) {
        t->room = (t->room + n) * 2;
        char *larger = realloc(t->bytes, t->room);
        if (!larger)
            free(t->bytes);
        t->bytes = larger;
        if (!larger)
            return;
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static void add_text(struct header_text *t, const char *text)
{
    add(t, text, strlen(text));
}

static void add_integer(struct header_text *t, int64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRId64, value);
    add_text(t, digits);
}

/* Appends a string in quotes, escaped as JSON requires.  Fails if it is not UTF-8. */
static int add_string(struct header_text *t, const char *string)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *end = string + strlen(string), *found;
    char code[8];
    size_t n;

    add(t, "\"", 1);
    for (const char *at = string; at < end; at += n) {
        n = cr_utf8(at, end);
        if (n == 0)
            return FAIL(t, "%s cannot be written, expected UTF-8", show_name(string).text);
        found = strchr(escaped, *at);
        if (found)
            snprintf(code, sizeof code, "\\%c", letters[found - escaped]);
        else if ((unsigned char)*at < 0x20)
            snprintf(code, sizeof code, "\\u%04X", (unsigned)*at);
        if (found || (unsigned char)*at < 0x20)
            add_text(t, code);
        else
            add(t, at, n);
    }
    add(t, "\"", 1);
    return 0;
}

/* Appends the metadata, if there is any. */
static int add_metadata(struct header_text *t, const struct cr_st_metadata *metadata, int n)
{
    if (n > 0)
        add_text(t, "\"__metadata__\":{");
    for (int i = 0; i < n; i++) {
        add_text(t, i > 0 ? "," : "");
        if (add_string(t, metadata[i].key) != 0)
            return -1;
        add_text(t, ":");
        if (add_string(t, metadata[i].value) != 0)
            return -1;
    }
    add_text(t, n > 0 ? "}" : "");
    return 0;
}

/* Appends the description of a tensor:
 * "name":{"dtype":...,"shape":[...],"data_offsets":[begin,end]}. */
static int add_tensor(struct header_text *t, const struct cr_st_tensor *tensor, size_t begin)
{
    if (add_string(t, tensor->name) != 0)
        return -1;
    add_text(t, ":{\"dtype\":\"");
    add_text(t, cr_st_type_name(tensor->type));
    add_text(t, "\",\"shape\":[");
    for (int i = 0; i < tensor->rank; i++) {
        add_text(t, i > 0 ? "," : "");
        add_integer(t, tensor->shape[i]);
    }
    add_text(t, "],\"data_offsets\":[");
    add_integer(t, (int64_t)begin);
    add_text(t, ",");
    add_integer(t, (int64_t)(begin + tensor->bytes));
    add_text(t, "]}");
    return 0;
}

/* Appends the descriptions of all tensors, whose data follow one another without gaps. */
static int add_tensors(struct header_text *t, const struct cr_st_tensor *tensors, int n, int first)
{
    size_t next = 0;

    for (int i = 0; i < n; i++) {
        struct cr_st_tensor tensor = tensors[i];
        if (strcmp(tensor.name, "__metadata__") == 0)
            return FAIL(t, "a tensor is called __metadata__, expected another name");
        if (cr_st_measure(&tensor) != 0 || tensor.bytes > INT64_MAX - next)
            return FAIL(t, "tensor %s is too large to write", show_name(tensor.name).text);
        add_text(t, first && i == 0 ? "" : ",");
        if (add_tensor(t, &tensor, next) != 0)
            return -1;
        next += tensor.bytes;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names; fails if a name occurs twice. */
static int check_names(struct header_text *t, const char **names, int n)
{
    if (n > 0)
        qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return FAIL(t, "found %s twice, expected it once", show_name(names[i]).text);
    return 0;
}

/* Fails if two tensors, or two keys of the metadata, have the same name. */
static int check_all_names(struct header_text *t, const struct cr_st_tensor *tensors, int n_tensors,
                           const struct cr_st_metadata *metadata, int n_metadata)
{
    int room = n_tensors > n_metadata ? n_tensors : n_metadata;
    const char **names = calloc((size_t)room + 1, sizeof *names);

    if (!names)
        return FAIL(t, "out of memory for the header");
    for (int i = 0; i < n_metadata; i++)
        names[i] = metadata[i].key;
    int status = check_names(t, names, n_metadata);
    for (int i = 0; i < n_tensors; i++)
        names[i] = tensors[i].name;
    if (status == 0)
        status = check_names(t, names, n_tensors);
    free(names);
    return status;
}

/* Builds the header, padded with spaces so that the data begin at a multiple of 8. */
static int make_header(struct header_text *t, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata)
{
    add_text(t, "{");
    if (check_all_names(t, tensors, n_tensors, metadata, n_metadata) != 0 ||
        add_metadata(t, metadata, n_metadata) != 0 ||
        add_tensors(t, tensors, n_tensors, n_metadata == 0) != 0)
        return -1;
    add_text(t, "}");
    while (t->bytes && t->n % 8 != 0)
        add_text(t, " ");
    if (!t->bytes)
        return FAIL(t, "out of memory for the header");
    if (t->n > HEADER_MAX)
        return FAIL(t, "header of %zu bytes, expected at most %d", t->n, HEADER_MAX);
    return 0;
}

int cr_safetensors_put_header(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                              const struct cr_st_metadata *metadata, int n_metadata, char *error,
                              size_t size)
{
    struct header_text t = {malloc(4096), 0, 4096, writer->path, error, size};
    int status = make_header(&t, tensors, n_tensors, metadata, n_metadata);
    uint64_t prefix = t.n;

    if (status == 0) {
        cr_writer_put(writer, &prefix, 8);
        cr_writer_put(writer, t.bytes, t.n);
    }
    free(t.bytes);
    return status;
}

int cr_safetensors_put(struct cr_writer *writer, const struct cr_st_tensor *tensors, int n_tensors,
                       const struct cr_st_metadata *metadata, int n_metadata, char *error,
                       size_t size)
{
    if (cr_safetensors_put_header(writer, tensors, n_tensors, metadata, n_metadata, error, size) != 0)
        return -1;
    for (int i = 0; i < n_tensors; i++) {
        struct cr_st_tensor tensor = tensors[i];
        if (cr_st_measure(&tensor) == 0) /* succeeds, as it did when the header was built */
            cr_writer_put(writer, tensor.data, tensor.bytes);
    }
    return 0;
}
