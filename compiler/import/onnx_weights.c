/* onnx_weights.c - the weights of an imported model; see onnx_weights.h. */
#include "onnx_weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

/* Adds a file of the model to the list; the list takes over its mapping. */
static int add_file(struct cr_import_weights *w, const char *path, struct cr_mapping *mapping,
                    struct cr_error *error)
{
    struct stat status = {0};
    if (mapping->handle && fstat(mapping->handle - 1, &status) != 0)
        return cr_fail(error, "%.400s: cannot be examined", path);
    w->files[w->n_files++] =
        (struct cr_import_file){cr_arena_text(&w->arena, path, strlen(path)), *mapping,
                                status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    *mapping = (struct cr_mapping){0};
    return 0;
}

static int take_files(struct cr_import_weights *w, struct cr_onnx_model *model,
                      struct cr_error *error)
{
    w->files = cr_arena_new(&w->arena, (size_t)model->n_external + 1, sizeof *w->files);
    if (add_file(w, model->path, &model->mapping, error))
        return -1;
    for (int i = 0; i < model->n_external; i++)
        if (add_file(w, model->external[i].path, &model->external[i].mapping, error))
            return -1;
    return 0;
}

int cr_import_weights_check(const struct cr_import_weights *w, struct cr_error *error)
{
    struct stat now;
    for (int i = 0; i < w->n_files; i++) {
        const struct cr_import_file *file = &w->files[i];
        if (file->mapping.handle &&
            (fstat(file->mapping.handle - 1, &now) != 0 ||
             now.st_size != (int64_t)file->mapping.size || now.st_mtim.tv_sec != file->seconds ||
             now.st_mtim.tv_nsec != file->nanoseconds))
            return cr_fail(error,
                           "%.400s: changed since it was opened, expected the model that it was",
                           file->path);
    }
    return 0;
}

/* Returns the index of the file that contains a tensor's elements, or CR_ONNX_NONE. */
static int file_of(const struct cr_import_weights *w, const struct cr_onnx_tensor *t)
{
    uintptr_t at = (uintptr_t)t->data;
    for (int i = 0; i < w->n_files; i++) {
        uintptr_t begin = (uintptr_t)w->files[i].mapping.bytes;
        if (w->files[i].mapping.handle && at >= begin && at - begin < w->files[i].mapping.size)
            return i;
    }
    return CR_ONNX_NONE;
}

/* ---- taking ---- */

/* A weight's items of both lists, which are sorted by name together. */
struct entry {
    struct cr_st_tensor tensor;
    struct cr_import_weight item;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->tensor.name, ((const struct entry *)b)->tensor.name);
}

/* True if a tensor of the file can be read as floats: it has a float type, which is rounded to f32,
 * or integers of at most 2 bytes, which are exact. */
static bool is_floats(const struct cr_script_weight *s)
{
    return s->tensor && (cr_language_type(s->tensor->type) == CR_LANGUAGE_F32
                             ? cr_language_type(s->type) == CR_LANGUAGE_F32
                             : cr_onnx_type_bytes(s->tensor->type) <= 2);
}

/* Converts a weight's elements to floats; fails if a float cannot hold an integer exactly. */
static int put_elements(struct cr_import_weights *w, const struct cr_script_weight *s, float *out,
                        int64_t n, struct cr_error *error)
{
    for (int64_t i = 0; i < n; i++) {
        double value = s->tensor ? cr_onnx_element(s->tensor, i) : s->data[i];
        out[i] = (float)value;
        if (cr_language_type(s->type) != CR_LANGUAGE_F32 && (double)out[i] != value)
            return cr_fail(error,
                           "%.300s: tensor %s holds %.0f, expected numbers that f32 holds exactly",
                           w->list.path, s->name, value);
    }
    return 0;
}

/* Fills an entry from a weight of the script.  The elements stay in their file if all of them can
 * be read as floats; else they are converted and stored in memory. */
static int take_weight(struct cr_import_weights *w, const struct cr_script_weight *s,
                       struct entry *entry, struct cr_error *error)
{
    struct cr_st_tensor *t = &entry->tensor;
    int64_t *shape = cr_arena_new(&w->arena, (size_t)s->rank, sizeof *shape);
    memcpy(shape, s->shape, (size_t)s->rank * sizeof *shape);
    *t = (struct cr_st_tensor){.name = cr_arena_text(&w->arena, s->name, strlen(s->name)),
                               .type = CR_ST_F32,
                               .rank = s->rank,
                               .shape = shape};
    if (cr_st_measure(t))
        return cr_fail(error, "%.300s: tensor %s is too large, expected a smaller one",
                       w->list.path, s->name);
    entry->item.file = is_floats(s) ? file_of(w, s->tensor) : CR_ONNX_NONE;
    if (entry->item.file != CR_ONNX_NONE) {
        entry->item.tensor = *s->tensor;
        entry->item.tensor.name = t->name;
        entry->item.tensor.shape = shape;
        return 0;
    }
    float *data = cr_arena_new(&w->arena, (size_t)t->elements, sizeof *data);
    t->data = data;
    return put_elements(w, s, data, t->elements, error);
}

/* Sorts n entries by name and stores them in the lists of `w`. */
static void put_entries(struct cr_import_weights *w, struct entry *entries, int n)
{
    if (n)
        qsort(entries, (size_t)n, sizeof *entries, by_name);
    w->list.tensors = cr_arena_new(&w->arena, (size_t)n, sizeof *w->list.tensors);
    w->items = cr_arena_new(&w->arena, (size_t)n, sizeof *w->items);
    for (int i = 0; i < n; i++) {
        w->list.tensors[i] = entries[i].tensor;
        w->items[i] = entries[i].item;
    }
    w->list.n_tensors = n;
}

int cr_import_weights_take(struct cr_import_weights *w, struct cr_onnx_model *model,
                           const struct cr_script_weight *of_script, int n, struct cr_error *error)
{
    w->list.path = cr_arena_text(&w->arena, model->path, strlen(model->path));
    if (take_files(w, model, error))
        return -1;
    struct entry *entries = cr_arena_new(&w->arena, (size_t)n, sizeof *entries);
    for (int i = 0; i < n; i++)
        if (take_weight(w, &of_script[i], &entries[i], error))
            return -1;
    put_entries(w, entries, n);
    return 0;
}

void cr_import_weights_free(struct cr_import_weights *w)
{
    for (int i = 0; i < w->n_files; i++)
        cr_unmap_file(&w->files[i].mapping);
    cr_arena_free(&w->arena);
    *w = (struct cr_import_weights){0};
}

/* ---- reading ---- */

/* Returns the safetensors type that stores elements in the same way, or -1. */
static int plain_type(const struct cr_onnx_tensor *t)
{
    return t->type == CR_ONNX_FLOAT      ? CR_ST_F32
           : t->type == CR_ONNX_FLOAT16  ? CR_ST_F16
           : t->type == CR_ONNX_BFLOAT16 ? CR_ST_BF16
           : t->type == CR_ONNX_DOUBLE   ? CR_ST_F64
                                         : -1;
}

/* Copies a part of a transposed matrix of floats.  Goes column by column, as columns are contiguous
 * in the file. */
static void read_part(const struct cr_onnx_tensor *t, int64_t row, int64_t rows, int64_t col,
                      int64_t cols, float *out)
{
    for (int64_t c = 0; c < cols; c++) {
        const unsigned char *from = t->data + (size_t)((col + c) * t->shape[0] + row) * sizeof *out;
        for (int64_t r = 0; r < rows; r++)
            memcpy(&out[r * cols + c], from + (size_t)r * sizeof *out, sizeof *out);
    }
}

/* Copies `n` elements of a transposed matrix from `first` on: the rest of the first row, whole
 * rows, and the beginning of the last row. */
static void read_transposed(const struct cr_onnx_tensor *t, int64_t first, int64_t n, float *out)
{
    int64_t columns = t->shape[1];
    while (n > 0) {
        int64_t col = first % columns, rows = col || n < columns ? 1 : n / columns;
        int64_t cols = columns - col < n ? columns - col : n;
        read_part(t, first / columns, rows, col, cols, out);
        first += rows * cols;
        out += rows * cols;
        n -= rows * cols;
    }
}

/* Reads elements in the order of the file, ignoring that it may be transposed. */
static int read_plain(const struct cr_import_weights *w, int i, int64_t first, int64_t n,
                      float *out)
{
    const struct cr_onnx_tensor *t = &w->items[i].tensor;
    const struct cr_safetensors file = {.mapping = w->files[w->items[i].file].mapping};
    const struct cr_st_tensor plain = {
        .type = (enum cr_st_type)plain_type(t), .elements = t->elements, .data = t->data};
    return cr_st_read(&file, &plain, first, n, out);
}

int cr_import_weight_read(const struct cr_import_weights *w, int i, int64_t first, int64_t n,
                          float *out)
{
    const struct cr_onnx_tensor *t = &w->items[i].tensor;
    if (!t->is_transposed && plain_type(t) >= 0)
        return read_plain(w, i, first, n, out);
    if (t->is_transposed && t->type == CR_ONNX_FLOAT)
        read_transposed(t, first, n, out);
    else
        for (int64_t k = 0; k < n; k++)
            out[k] = (float)cr_onnx_element(t, first + k);
    return 0;
}

bool cr_import_weight_is_transposed(const struct cr_import_weights *w, int i)
{
    const struct cr_import_weight *item = &w->items[i];
    return item->file != CR_ONNX_NONE && item->tensor.is_transposed &&
           plain_type(&item->tensor) >= 0;
}

int cr_import_weight_read_columns(const struct cr_import_weights *w, int i, int64_t first,
                                  int64_t n, float *out)
{
    return read_plain(w, i, first, n, out);
}

int cr_import_weight_fail(const struct cr_import_weights *w, int i, struct cr_error *error)
{
    const struct cr_import_file *file = &w->files[w->items[i].file];
    return cr_mapping_fail(&file->mapping, file->path, error->text, sizeof error->text);
}

int cr_import_weights_load(struct cr_import_weights *w, struct cr_error *error)
{
    for (int i = 0; i < w->list.n_tensors; i++) {
        struct cr_st_tensor *t = &w->list.tensors[i];
        if (t->data)
            continue;
        float *data = cr_arena_new(&w->arena, (size_t)t->elements, sizeof *data);
        if (cr_import_weight_read(w, i, 0, t->elements, data))
            return cr_import_weight_fail(w, i, error);
        t->data = data;
    }
    return 0;
}
