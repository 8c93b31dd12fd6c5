/* file_contents.c - lists the tensors and metadata in files; see crescent.h. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/weight_files.h"
#include "compiler/files/gguf.h"
#include "compiler/files/lfs.h"
#include "compiler/files/npy.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/frontend/natural_order.h"
#include "compiler/import/model_proto.h"
#include "compiler/ir/mem.h"
#include "family_script.h"
#include "folder_model_type.h"
#include "handles.h"
#include "installed_files.h"

/* A tensor in a file.  One of the pointers is set, depending on the kind of file. */
struct item {
    crescent_tensor tensor;
    const struct cr_st_tensor *weight;
    const struct cr_weight_file *file;
    const struct cr_gguf_tensor *block;
    const struct cr_onnx_tensor *initializer;
};

struct fact {
    char *key, *value;
};

struct crescent_contents {
    crescent_context *context;
    char *path;
    const struct kind *kind;
    struct cr_weight_files files;
    struct cr_gguf gguf;
    struct cr_npy npy;
    struct cr_onnx_model onnx;
    struct item *items;
    struct fact *facts;
    int n_items, cap_items, n_facts, cap_facts;
};

/* A kind of file: the functions that list and read its tensors and close it. */
struct kind {
    const char *name;
    bool (*is)(const char *path);
    /* Lists all tensors; after a failure there is nothing to close. */
    int (*open)(crescent_contents *contents, struct cr_error *error);
    void (*close)(crescent_contents *contents);
    /* `check` fails if the elements cannot be read; `read` copies n elements from `first` on. */
    int (*check)(const crescent_contents *contents, const struct item *item,
                 struct cr_error *error);
    int (*read)(const crescent_contents *contents, const struct item *item, int64_t first,
                int64_t n, double *out);
};

/* Returns n bytes as a string. */
static char *copy_of(const char *text, size_t n)
{
    char *copy = cr_calloc(n + 1, 1);
    memcpy(copy, text, n);
    return copy;
}

static void add_fact(crescent_contents *c, const char *key, size_t n_key, const char *value,
                     size_t n_value)
{
    *CR_PUSH(c->facts, c->n_facts, c->cap_facts) =
        (struct fact){copy_of(key, n_key), copy_of(value, n_value)};
}

static void add_text(crescent_contents *c, const char *key, const char *value)
{
    add_fact(c, key, strlen(key), value, strlen(value));
}

/* ---- safetensors, and folders of them ---- */

/* Opens a safetensors file.  Its metadata, of the first shard if there are several, become
 * facts. */
static int open_weights(crescent_contents *c, struct cr_error *error)
{
    const char *path = c->path;
    if (cr_weight_files_open(&c->files, &path, 1, error))
        return -1;
    for (int i = 0; i < c->files.n; i++) {
        const struct cr_weight_file *file = &c->files.items[i];
        for (int j = 0; j < file->file.n_tensors; j++) {
            const struct cr_st_tensor *t = &file->file.tensors[j];
            const crescent_tensor tensor = {t->name,  cr_st_type_name(t->type), file->path, t->rank,
                                            t->shape, t->elements, (int64_t)t->bytes};
            *CR_PUSH(c->items, c->n_items, c->cap_items) =
                (struct item){.tensor = tensor, .weight = t, .file = file};
        }
        for (int j = 0; i == 0 && j < file->file.n_metadata; j++) {
            const struct cr_st_metadata *m = &file->file.metadata[j];
            add_text(c, m->key, m->value);
        }
    }
    return 0;
}

static void close_weights(crescent_contents *c)
{
    cr_weight_files_close(&c->files);
}

static int check_weight(const crescent_contents *c, const struct item *item, struct cr_error *error)
{
    (void)c;
    return cr_safetensors_check(&item->file->file, item->weight, error->text, sizeof error->text);
}

/* Reads elements as doubles, in chunks of floats. */
static int read_weight(const crescent_contents *c, const struct item *item, int64_t first,
                       int64_t n, double *out)
{
    float chunk[256];
    (void)c;
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t m = n - i < 256 ? n - i : 256;
        if (cr_st_read(&item->file->file, item->weight, first + i, m, chunk))
            return -1;
        for (int64_t j = 0; j < m; j++)
            out[i + j] = chunk[j];
    }
    return 0;
}

/* Opens a folder.  The facts include model_type and the script for it, if config.json names one. */
static int open_folder(crescent_contents *c, struct cr_error *error)
{
    struct cr_error ignored = {0};
    char known[CR_MODELS_TEXT], none[CR_MODELS_TEXT + 80];
    if (open_weights(c, error))
        return -1;
    char *model_type = cr_folder_model_type(c->path, &ignored);
    if (!model_type)
        return 0;
    add_text(c, "model_type", model_type);
    snprintf(none, sizeof none, "none covers it; there are %s",
             cr_builtin_models(known, sizeof known));
    char *script = cr_family_script(c->path, model_type);
    add_text(c, "script", script ? script : none);
    free(script);
    free(model_type);
    return 0;
}

/* ---- GGUF ---- */

/* Adds a metadata value as a fact in text form; of an array, the number of its items. */
static void add_value(crescent_contents *c, const struct cr_gguf_value *value)
{
    char text[64];
    int64_t integer;
    double real;
    bool truth;
    const unsigned char *at = value->data;
    struct cr_gguf_string string = {text, 0};
    if (value->is_array)
        snprintf(text, sizeof text, "%llu items: %.32s", (unsigned long long)value->n,
                 cr_gguf_kind_of(value));
    else if (value->kind == CR_GGUF_STRING)
        string = cr_gguf_next_string(&at);
    else if (cr_gguf_integer(value, 0, &integer))
        snprintf(text, sizeof text, "%lld", (long long)integer);
    else if (cr_gguf_bool(value, &truth))
        snprintf(text, sizeof text, "%s", truth ? "true" : "false");
    else if (cr_gguf_real(value, 0, &real))
        snprintf(text, sizeof text, "%.9g", real);
    else
        snprintf(text, sizeof text, "%.60s", cr_gguf_kind_of(value));
    add_fact(c, value->key.text, value->key.length, string.text,
             string.text == text ? strlen(text) : string.length);
}

/* Opens a GGUF file.  Names in it are not null-terminated, so they are copied. */
static int open_gguf(crescent_contents *c, struct cr_error *error)
{
    if (cr_gguf_open(&c->gguf, c->path, error->text, sizeof error->text))
        return -1;
    for (int i = 0; i < c->gguf.n_values; i++)
        add_value(c, &c->gguf.values[i]);
    for (int i = 0; i < c->gguf.n_tensors; i++) {
        const struct cr_gguf_tensor *t = &c->gguf.tensors[i];
        const crescent_tensor tensor = {copy_of(t->name.text, t->name.length),
                                        t->type->name, c->path, t->rank, t->shape,
                                        t->elements, (int64_t)t->bytes};
        *CR_PUSH(c->items, c->n_items, c->cap_items) = (struct item){.tensor = tensor, .block = t};
    }
    return 0;
}

/* Closes a GGUF file and frees the copied names. */
static void close_gguf(crescent_contents *c)
{
    for (int i = 0; i < c->n_items; i++)
        free((char *)c->items[i].tensor.name);
    cr_gguf_close(&c->gguf);
}

static int check_block(const crescent_contents *c, const struct item *item, struct cr_error *error)
{
    if (item->block->type->floats)
        return 0;
    return cr_fail(error, "%.300s: found tensor %s of type %s, expected a type that weights can have",
                   c->path, cr_show(item->tensor.name, strlen(item->tensor.name)).text,
                   item->tensor.type);
}

/* Reads elements as doubles, in chunks of floats. */
static int read_block(const crescent_contents *c, const struct item *item, int64_t first, int64_t n,
                      double *out)
{
    float chunk[256];
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t m = n - i < 256 ? n - i : 256;
        if (cr_gguf_floats(&c->gguf, item->block, first + i, m, chunk))
            return -1;
        for (int64_t j = 0; j < m; j++)
            out[i + j] = chunk[j];
    }
    return 0;
}

/* ---- NumPy ---- */

static bool is_npy(const char *path)
{
    struct cr_mapping map;
    char error[16];
    if (cr_is_folder(path) || cr_map_file(&map, path, error, sizeof error))
        return false;
    const bool is = map.size >= 6 && memcmp(map.bytes, "\x93NUMPY", 6) == 0;
    cr_unmap_file(&map);
    return is;
}

/* Returns the element type as NumPy spells it. */
static const char *npy_type(const struct cr_npy *npy)
{
    static const char *const names[][2] = {
        [CR_NPY_F4] = {"<f4", ">f4"}, [CR_NPY_F8] = {"<f8", ">f8"}, [CR_NPY_I4] = {"<i4", ">i4"},
        [CR_NPY_I8] = {"<i8", ">i8"}, [CR_NPY_F2] = {"<f2", ">f2"}, [CR_NPY_I1] = {"|i1", "|i1"},
        [CR_NPY_U1] = {"|u1", "|u1"}, [CR_NPY_B1] = {"|b1", "|b1"}};
    return names[npy->type][npy->big != 0];
}

static int open_npy(crescent_contents *c, struct cr_error *error)
{
    if (cr_npy_open(&c->npy, c->path, error->text, sizeof error->text))
        return -1;
    const crescent_tensor tensor = {"", npy_type(&c->npy), c->path, c->npy.rank, c->npy.shape,
                                    c->npy.elements,
                                    c->npy.elements * (int64_t)cr_npy_width(c->npy.type)};
    *CR_PUSH(c->items, c->n_items, c->cap_items) = (struct item){.tensor = tensor};
    return 0;
}

static void close_npy(crescent_contents *c)
{
    cr_npy_close(&c->npy);
}

static int check_npy(const crescent_contents *c, const struct item *item, struct cr_error *error)
{
    (void)c, (void)item, (void)error;
    return 0;
}

static int read_npy(const crescent_contents *c, const struct item *item, int64_t first, int64_t n,
                    double *out)
{
    (void)item;
    for (int64_t i = 0; i < n; i++)
        out[i] = cr_npy_number(&c->npy, first + i);
    return 0;
}

/* ---- ONNX ---- */

/* Appends formatted text, truncated to the size of the buffer. */
static void append(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t n = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + n, size - n, format, arguments);
    va_end(arguments);
}

/* Adds an input or output as a fact such as "float [batch, 3]", with `?` for an unknown size. */
static void add_info(crescent_contents *c, const char *role, const struct cr_onnx_info *info)
{
    char key[256], value[512] = "";
    snprintf(key, sizeof key, "%s %.200s", role, info->name);
    append(value, sizeof value, "%s", cr_onnx_type_name(info->type));
    if (info->rank >= 0)
        append(value, sizeof value, " [");
    for (int i = 0; i < info->rank; i++) {
        const struct cr_onnx_size *size = &info->sizes[i];
        append(value, sizeof value, "%s", i ? ", " : "");
        if (size->name)
            append(value, sizeof value, "%.60s", size->name);
        else if (size->size >= 0)
            append(value, sizeof value, "%lld", (long long)size->size);
        else
            append(value, sizeof value, "?");
    }
    if (info->rank >= 0)
        append(value, sizeof value, "]");
    add_text(c, key, value);
}

/* True if an input is also an initializer: before IR version 4, every initializer had to be an
 * input. */
static bool is_initializer(const struct cr_onnx_body *graph, const char *name)
{
    for (int i = 0; i < graph->n_initializers; i++)
        if (strcmp(graph->initializers[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the producer, the version of each operator set, and the inputs and outputs as facts. */
static void add_onnx_facts(crescent_contents *c)
{
    const struct cr_onnx_model *m = &c->onnx;
    char key[256], version[32];
    if (*m->producer)
        add_text(c, "producer", m->producer);
    for (int i = 0; i < m->n_opsets; i++) {
        const char *domain = m->opsets[i].domain;
        snprintf(key, sizeof key, "opset %.200s", *domain ? domain : "ai.onnx");
        snprintf(version, sizeof version, "%lld", (long long)m->opsets[i].version);
        add_text(c, key, version);
    }
    for (int i = 0; i < m->graph.n_inputs; i++)
        if (!is_initializer(&m->graph, m->graph.inputs[i].name))
            add_info(c, "input", &m->graph.inputs[i]);
    for (int i = 0; i < m->graph.n_outputs; i++)
        add_info(c, "output", &m->graph.outputs[i]);
}

/* Opens an ONNX file.  Its files of external data must exist, since the reader maps them. */
static int open_onnx(crescent_contents *c, struct cr_error *error)
{
    if (cr_onnx_model_open(&c->onnx, c->path, error))
        return -1;
    add_onnx_facts(c);
    for (int i = 0; i < c->onnx.graph.n_initializers; i++) {
        const struct cr_onnx_tensor *t = &c->onnx.graph.initializers[i];
        const crescent_tensor tensor = {t->name,
                                        cr_onnx_type_name(t->type),
                                        c->path,
                                        t->rank,
                                        t->shape,
                                        t->elements,
                                        t->elements * cr_onnx_type_bytes(t->type)};
        *CR_PUSH(c->items, c->n_items, c->cap_items) =
            (struct item){.tensor = tensor, .initializer = t};
    }
    return 0;
}

static void close_onnx(crescent_contents *c)
{
    cr_onnx_model_close(&c->onnx);
}

static int check_initializer(const crescent_contents *c, const struct item *item,
                             struct cr_error *error)
{
    if (cr_onnx_type_bytes(item->initializer->type))
        return 0;
    return cr_fail(error, "%.300s: %s is %s, expected numbers", c->path,
                   cr_show(item->tensor.name, strlen(item->tensor.name)).text, item->tensor.type);
}

static int read_initializer(const crescent_contents *c, const struct item *item, int64_t first,
                            int64_t n, double *out)
{
    (void)c;
    for (int64_t i = 0; i < n; i++)
        out[i] = cr_onnx_element(item->initializer, first + i);
    return 0;
}

/* ---- no tensors ---- */

/* True if a file begins like a text.  The first eight bytes of a safetensors file are the length of
 * its header; as text characters they would be a length that no file has.  An index of shards does
 * not count as text. */
static bool is_text(const char *path)
{
    struct cr_mapping map;
    char error[16];
    if (cr_is_folder(path) || cr_ends_in(path, ".index.json") ||
        cr_map_file(&map, path, error, sizeof error))
        return false;
    bool is = map.size >= 8 && !cr_is_lfs(map.bytes, map.size);
    for (int i = 0; is && i < 8; i++)
        is = isprint(map.bytes[i]) || isspace(map.bytes[i]);
    cr_unmap_file(&map);
    return is;
}

static int refuse_text(crescent_contents *c, struct cr_error *error)
{
    const char *what = cr_ends_in(c->path, ".lua")             ? "a script"
                       : cr_ends_in(c->path, "tokenizer.json") ? "a tokenizer"
                       : cr_ends_in(c->path, ".json")          ? "a JSON file"
                                                            : "text";
    return cr_fail(error,
                   "%.400s: found %s, expected a file of tensors: safetensors, GGUF, ONNX or .npy, "
                   "or a folder",
                   c->path, what);
}

/* ---- all of them ---- */

static bool is_any(const char *path)
{
    (void)path;
    return true;
}

/* The kinds of files, in the order in which they are tried. */
static const struct kind kinds[] = {
    {"folder", cr_is_folder, open_folder, close_weights, check_weight, read_weight},
    {"GGUF", cr_is_gguf, open_gguf, close_gguf, check_block, read_block},
    {"ONNX", cr_is_onnx, open_onnx, close_onnx, check_initializer, read_initializer},
    {"NumPy", is_npy, open_npy, close_npy, check_npy, read_npy},
    {"text", is_text, refuse_text, NULL, NULL, NULL},
    {"safetensors", is_any, open_weights, close_weights, check_weight, read_weight},
};

static int by_name(const void *a, const void *b)
{
    return cr_compare_names(((const struct item *)a)->tensor.name,
                            ((const struct item *)b)->tensor.name);
}

/* Lists the contents of a file.  Creates the handle last, so that only the path has to be freed
 * after a failure. */
static int open_contents(crescent_context *context, const char *path, crescent_contents **contents,
                         struct cr_error *error)
{
    const struct kind *kind = kinds;
    while (!kind->is(path))
        kind++;
    crescent_contents *c = cr_calloc(1, sizeof *c);
    c->kind = kind;
    c->path = cr_strdup(path);
    if (kind->open(c, error)) {
        free(c->path);
        free(c);
        return -1;
    }
    if (c->n_items)
        qsort(c->items, (size_t)c->n_items, sizeof *c->items, by_name);
    c->context = cr_refer(context);
    *contents = c;
    return 0;
}

int crescent_contents_open(crescent_context *context, const char *path,
                           crescent_contents **contents)
{
    if (contents)
        *contents = NULL;
    CR_REQUIRE_CONTEXT(context, path && contents);
    CR_ENTER(context);
    char *found = cr_find_installed(path);
    int status = open_contents(context, found, contents, guard.error);
    free(found);
    return cr_done(&guard, status);
}

/* Closes the file first, because closing it reads the lists. */
void crescent_contents_close(crescent_contents *contents)
{
    if (!contents)
        return;
    contents->kind->close(contents);
    for (int i = 0; i < contents->n_facts; i++) {
        free(contents->facts[i].key);
        free(contents->facts[i].value);
    }
    cr_release(contents->context);
    free(contents->facts);
    free(contents->items);
    free(contents->path);
    free(contents);
}

const char *crescent_contents_kind(const crescent_contents *contents)
{
    return contents ? contents->kind->name : "";
}

int crescent_contents_count(const crescent_contents *contents)
{
    return contents ? contents->n_items : 0;
}

int crescent_contents_at(const crescent_contents *contents, int index, crescent_tensor *tensor)
{
    if (!contents || !tensor || index < 0 || index >= contents->n_items)
        return CRESCENT_FAILED;
    *tensor = contents->items[index].tensor;
    return CRESCENT_OK;
}

int crescent_fact_count(const crescent_contents *contents)
{
    return contents ? contents->n_facts : 0;
}

int crescent_fact_at(const crescent_contents *contents, int index, crescent_setting *fact)
{
    if (!contents || !fact || index < 0 || index >= contents->n_facts)
        return CRESCENT_FAILED;
    *fact = (crescent_setting){contents->facts[index].key, contents->facts[index].value};
    return CRESCENT_OK;
}

/* ---- statistics ---- */

enum { CHUNK = 4096 };

/* Adds n numbers to statistics.  Until the end, `mean` and `deviation` hold the sum of the finite
 * numbers and the sum of their squares. */
static void add_numbers(crescent_statistics *s, const double *x, int64_t n, int64_t *finite)
{
    for (int64_t i = 0; i < n; i++) {
        s->nans += isnan(x[i]) != 0;
        s->infinities += isinf(x[i]) != 0;
        if (!isfinite(x[i]))
            continue;
        s->min = *finite && s->min < x[i] ? s->min : x[i];
        s->max = *finite && s->max > x[i] ? s->max : x[i];
        s->mean += x[i];
        s->deviation += x[i] * x[i];
        ++*finite;
    }
}

/* Computes the statistics chunk by chunk, so that a tensor may be larger than the memory. */
static int measure(const crescent_contents *c, const struct item *item, crescent_statistics *s,
                   struct cr_error *error)
{
    double chunk[CHUNK];
    int64_t finite = 0;
    *s = (crescent_statistics){0};
    if (c->kind->check(c, item, error))
        return -1;
    for (int64_t i = 0; i < item->tensor.elements; i += CHUNK) {
        const int64_t n = item->tensor.elements - i < CHUNK ? item->tensor.elements - i : CHUNK;
        if (c->kind->read(c, item, i, n, chunk))
            return cr_fail(error, "%.400s: the file can no longer be read, expected it unchanged",
                           item->tensor.file);
        add_numbers(s, chunk, n, &finite);
    }
    if (finite) {
        s->mean /= (double)finite;
        s->deviation = sqrt(fmax(s->deviation / (double)finite - s->mean * s->mean, 0));
    }
    return 0;
}

static int read_all(const crescent_contents *c, const struct item *item, double *out,
                    struct cr_error *error)
{
    if (c->kind->check(c, item, error))
        return -1;
    if (c->kind->read(c, item, 0, item->tensor.elements, out))
        return cr_fail(error, "%.400s: the file can no longer be read, expected it unchanged",
                       item->tensor.file);
    return 0;
}

/* Returns the tensor with an index, or null with an error. */
static const struct item *item_at(const crescent_contents *c, int index, struct cr_error *error)
{
    if (index >= 0 && index < c->n_items)
        return &c->items[index];
    cr_fail(error, "%.400s: found tensor %d of %d, expected one that the file has, counted from 0",
            c->path, index, c->n_items);
    return NULL;
}

int crescent_contents_read(const crescent_contents *contents, int index, double *elements)
{
    CR_REQUIRE(contents, elements);
    CR_ENTER(contents->context);
    const struct item *item = item_at(contents, index, guard.error);
    return cr_done(&guard, item ? read_all(contents, item, elements, guard.error) : -1);
}

int crescent_contents_measure(const crescent_contents *contents, int index,
                              crescent_statistics *statistics)
{
    CR_REQUIRE(contents, statistics);
    CR_ENTER(contents->context);
    const struct item *item = item_at(contents, index, guard.error);
    return cr_done(&guard, item ? measure(contents, item, statistics, guard.error) : -1);
}
