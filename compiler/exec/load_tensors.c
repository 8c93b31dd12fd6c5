/* load_tensors.c - fills parameters and inputs from files or with random numbers; see
 * load_tensors.h. */
#include "load_tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "random_fill.h"
#include "runtime/philox.h"
#include "tensor_memory.h"
#include "weight_names.h"

/* ---- parameters from files ---- */

static int read_file(const void *context, int64_t first, int64_t n, float *out)
{
    const struct cr_file_tensor *t = context;
    return cr_st_read(t->file, t->tensor, first, n, out);
}

static int fail_file(const void *context, struct cr_error *error)
{
    const struct cr_file_tensor *t = context;
    return cr_mapping_fail(&t->file->mapping, t->file->path, error->text, sizeof error->text);
}

struct cr_contents cr_contents_of_file(const struct cr_file_tensor *tensor)
{
    return (struct cr_contents){.read = read_file, .context = tensor, .fail = fail_file};
}

/* True if two names are equal when their dots are ignored. */
static bool same_letters(const char *a, const char *b)
{
    while (*a || *b) {
        a += *a == '.';
        b += *b == '.';
        if (*a != *b)
            return false;
        a += *a != 0;
        b += *b != 0;
    }
    return true;
}

/* Returns the name of a tensor that differs from `name` only by a prefix or by dots, and sets
 * *file to its file; null if there is none. */
static const char *namesake(const struct cr_weight_files *files, const char *name,
                            const struct cr_weight_file **file, bool *listed)
{
    size_t length = strlen(name);
    for (int i = 0; i < files->n; i++) {
        for (int j = 0; j < files->items[i].file.n_tensors; j++) {
            const char *other = files->items[i].file.tensors[j].name;
            size_t n = strlen(other);
            *file = &files->items[i];
            *listed = cr_weight_file_lists(*file, j);
            if (same_letters(name, other) ||
                (n > length && other[n - length - 1] == '.' &&
                 strcmp(other + n - length, name) == 0) ||
                (n < length && name[length - n - 1] == '.' &&
                 strcmp(name + length - n, other) == 0))
                return other;
        }
    }
    return NULL;
}

/* Fails because no file contains the tensor of a parameter.  Suggests a tensor of a similar name,
 * or a shard that contains the tensor although the index does not list it. */
static int missing(const struct cr_weight_files *files, const struct cr_port *port,
                   struct cr_error *error)
{
    char shape[224];
    bool listed = true;
    const struct cr_weight_file *file = NULL;
    const char *other = namesake(files, port->name, &file, &listed);
    struct cr_shown shown = other ? cr_show(other, strlen(other)) : (struct cr_shown){""};
    if (other && !listed)
        return cr_fail(error, "%.300s: its index lists no tensor '%.200s', expected %s of %.300s",
                       file->asked, port->name, shown.text, file->path);
    bool dot = other && same_letters(port->name, other) && strlen(other) == strlen(port->name) + 1;
    cr_shape_text(shape, sizeof shape, port->rank, port->shape);
    return cr_fail(error, "%.400s: no tensor '%.200s', expected one of shape %s%s%s%s",
                   files->items[files->n - 1].asked, port->name, shape, other ? " (it has " : "",
                   shown.text, dot     ? ": does the prefix lack its dot?)"
                               : other ? ": is the prefix right?)"
                                       : "");
}

bool cr_has_shape(const struct cr_port *port, int rank, const int64_t *shape)
{
    return rank == port->rank && memcmp(shape, port->shape, (size_t)rank * sizeof *shape) == 0;
}

/* Writes the shape of a tensor in a file as text; it may have more axes than CR_MAX_RANK. */
static char *file_shape(char *buf, size_t size, int rank, const int64_t *shape)
{
    return cr_shape_text(buf, size, rank < 16 ? rank : 16, shape);
}

static int wrong_shape(const char *path, const char *name, int rank, const int64_t *shape,
                       const struct cr_port *port, struct cr_error *error)
{
    char found[400], expected[224];
    return cr_fail(error, "%.300s: %.150s has shape %s, expected %s", path, name,
                   file_shape(found, sizeof found, rank, shape),
                   cr_shape_text(expected, sizeof expected, port->rank, port->shape));
}

/* The files of weights, and the tensor found in them for each parameter. */
struct loading {
    struct cr_weight_files files;
    struct cr_names params, taken; /* names of all parameters; names of the tensors that
                                    * parameters use */
    struct cr_file_tensor *tensors; /* by parameter */
    struct cr_contents *contents;   /* by parameter */
};

static int read_gguf(const void *weight, int64_t first, int64_t n, float *out)
{
    return cr_gguf_weight_floats(weight, first, n, out);
}

static int read_gguf_blocks(const void *weight, int64_t first, int64_t n, unsigned char *out)
{
    return cr_gguf_weight_read(weight, first, n, out);
}

static int fail_gguf(const void *context, struct cr_error *error)
{
    const struct cr_gguf_weight *weight = context;
    return cr_mapping_fail(&weight->file->mapping, weight->file->path, error->text,
                           sizeof error->text);
}

/* Returns the contents of a tensor of a GGUF file; blocks that fit a weight format are read
 * without conversion. */
static struct cr_contents contents_of_gguf(const struct cr_gguf_weight *weight)
{
    struct cr_contents contents = {.read = read_gguf, .context = weight, .fail = fail_gguf};
    if (cr_quantised_find(weight->tensor->type->name, &contents.blocks))
        contents.read_blocks = read_gguf_blocks;
    return contents;
}

/* Sets *contents to functions that read the tensor's elements; fails if its type is not
 * supported. */
static int contents_of(const struct cr_weight_file *file, const struct cr_file_tensor *t,
                       struct cr_contents *contents, struct cr_error *error)
{
    char *text = error->text;
    if (file->gguf) {
        const struct cr_gguf_weight *weight = &file->gguf->items[t->tensor - file->file.tensors];
        *contents = contents_of_gguf(weight);
        return cr_gguf_check(&file->gguf->file, weight->tensor, text, sizeof error->text);
    }
    *contents = cr_contents_of_file(t);
    return cr_safetensors_check(t->file, t->tensor, text, sizeof error->text);
}

/* Finds the tensor of parameter i; fails if there is none or if it has another shape. */
static int find_param(struct loading *l, const struct cr_engine *e, int i, const char *family,
                      struct cr_error *error)
{
    const struct cr_port *port = &e->params[i];
    const struct cr_weight_file *file;
    const struct cr_st_tensor *tensor =
        cr_weight_find(&l->files, port->name, family, &l->params, &file);
    if (!tensor)
        return missing(&l->files, port, error);
    if (!cr_has_shape(port, tensor->rank, tensor->shape))
        return wrong_shape(file->path, port->name, tensor->rank, tensor->shape, port, error);
    cr_names_add(&l->taken, tensor->name);
    l->tensors[i] = (struct cr_file_tensor){&file->file, tensor};
    return contents_of(file, &l->tensors[i], &l->contents[i], error);
}

/* Sets *same to true if two tensors of n elements have the same values, bit by bit; fails if one
 * cannot be read. */
static int compare(const struct cr_contents *a, const struct cr_contents *b, int64_t n, bool *same,
                   struct cr_error *error)
{
    float x[1024], y[1024];
    const int64_t most = sizeof x / sizeof *x;
    *same = true;
    for (int64_t first = 0; first < n && *same; first += most) {
        int64_t some = n - first < most ? n - first : most;
        if (a->read(a->context, first, some, x))
            return a->fail(a->context, error);
        if (b->read(b->context, first, some, y))
            return b->fail(b->context, error);
        *same = memcmp(x, y, (size_t)some * sizeof *x) == 0;
    }
    return 0;
}

/* Parameter i is an embedding table that also serves as the model's head.  Fails if a file
 * contains a separate head with other values. */
static int check_tied(const struct loading *l, const struct cr_engine *e, int i, const char *family,
                      struct cr_error *error)
{
    const struct cr_port *port = &e->params[i];
    const struct cr_weight_file *file;
    const struct cr_st_tensor *head = cr_weight_find_head(&l->files, port->name, family, &l->params, &file);
    struct cr_contents contents;
    bool same = false;
    if (!e->is_operand[i] || !head || head == l->tensors[i].tensor)
        return 0;
    const struct cr_file_tensor tensor = {&file->file, head};
    if (cr_has_shape(port, head->rank, head->shape) &&
        (contents_of(file, &tensor, &contents, error) ||
         compare(&l->contents[i], &contents, cr_port_elements(port), &same, error)))
        return -1;
    return same ? 0
                : cr_fail(error, "%.300s: tensor '%.150s' differs from '%.150s', expected the same, as the model "
                                 "has one table for both (tie_word_embeddings)",
                          file->path, head->name, l->tensors[i].tensor->name);
}

/* Returns the offset of a file's first tensor, or the number of mapped bytes if that is less. */
static size_t header_bytes(const struct cr_mapping *mapping, const struct cr_safetensors *list)
{
    size_t least = mapping->handle ? mapping->mapped : mapping->size;
    for (int i = 0; i < list->n_tensors; i++) {
        size_t at = (size_t)((const unsigned char *)list->tensors[i].data - mapping->bytes);
        if (list->tensors[i].bytes && at < least)
            least = at;
    }
    return least;
}

/* Describes the tensor of a parameter for the key of the kept weights. */
static struct cr_kept_tensor kept_tensor(const struct cr_weight_files *files,
                                         const struct cr_file_tensor *t)
{
    int file = 0;
    while (&files->items[file].file != t->file)
        file++;
    struct cr_kept_tensor kept = {.file = file, .data = t->tensor->data, .name = t->tensor->name};
    snprintf(kept.type, sizeof kept.type, "%s", cr_st_type_name(t->tensor->type));
    return kept;
}

/* Maps the engine's weights from the cache if they are there. */
static void find_kept(struct cr_kept *kept, struct cr_engine *e, const struct loading *l)
{
    const struct cr_weight_files *files = &l->files;
    struct cr_kept_weight_file *of_key = cr_calloc((size_t)files->n, sizeof *of_key);
    struct cr_kept_tensor *tensors = cr_calloc((size_t)e->n_params, sizeof *tensors);
    for (int i = 0; i < files->n; i++) {
        const struct cr_weight_file *file = &files->items[i];
        of_key[i].path = file->path;
        of_key[i].mapping = file->gguf ? &file->gguf->file.mapping : &file->file.mapping;
        cr_kept_hash(of_key[i].header, of_key[i].mapping->bytes,
                     header_bytes(of_key[i].mapping, &file->file));
    }
    for (int i = 0; i < e->n_params; i++)
        tensors[i] = kept_tensor(files, &l->tensors[i]);
    cr_kept_find(kept, e, of_key, files->n, tensors);
    free(of_key);
    free(tensors);
}

/* Counts the tensors of a file that no parameter uses, and records the name of the first. */
static void count_surplus(const struct cr_names *taken, const struct cr_weight_file *file,
                          const char *family, struct cr_surplus *surplus)
{
    for (int i = 0; i < file->file.n_tensors; i++) {
        const char *name = file->file.tensors[i].name;
        if (cr_names_find(taken, name) >= 0 || (family && cr_weight_is_buffer(name)))
            continue;
        if (!surplus->count++) {
            snprintf(surplus->name, sizeof surplus->name, "%s", cr_show(name, strlen(name)).text);
            surplus->file = file->asked;
        }
    }
}

/* Loads parameters from open files, and closes the files.  Finds the tensors of all parameters
 * before it reads the first. */
static int load_params(struct cr_engine *e, const struct cr_weight_files *files, const char *family,
                       struct cr_kept *kept, struct cr_surplus *surplus, struct cr_error *error)
{
    struct loading l = {.files = *files};
    int status = 0;
    l.tensors = cr_calloc((size_t)e->n_params, sizeof *l.tensors);
    l.contents = cr_calloc((size_t)e->n_params, sizeof *l.contents);
    for (int i = 0; i < e->n_params; i++)
        cr_names_add(&l.params, e->params[i].name);
    for (int i = 0; !status && i < e->n_params; i++)
        status = find_param(&l, e, i, family, error);
    if (!status && kept)
        find_kept(kept, e, &l);
    for (int i = 0; !status && !(kept && kept->is_mapped) && i < e->n_params; i++)
        status = check_tied(&l, e, i, family, error);
    if (!status && !(kept && kept->is_mapped))
        status = cr_engine_set_params(e, l.contents, error);
    for (int i = 0; i < l.files.n; i++)
        count_surplus(&l.taken, &l.files.items[i], family, surplus);
    cr_names_free(&l.params);
    cr_names_free(&l.taken);
    free(l.tensors);
    free(l.contents);
    cr_weight_files_close(&l.files);
    return status;
}

int cr_load_params(struct cr_engine *e, const char *const *paths, int n, const char *family,
                   struct cr_kept *kept, struct cr_surplus *surplus, struct cr_error *error)
{
    struct cr_weight_files files;
    if (kept)
        *kept = (struct cr_kept){0};
    return cr_weight_files_open(&files, paths, n, error)
               ? -1
               : load_params(e, &files, family, kept, surplus, error);
}

int cr_load_params_from(struct cr_engine *e, const struct cr_weight_bytes *bytes, const char *family,
                        struct cr_surplus *surplus, struct cr_error *error)
{
    struct cr_weight_files files;
    return cr_weight_files_take(&files, bytes, error)
               ? -1
               : load_params(e, &files, family, NULL, surplus, error);
}

/* ---- at random ---- */

/* Returns the random stream of a tensor: the FNV-1a hash of its kind and name. */
static uint64_t stream_of(char kind, const char *name)
{
    uint64_t hash = 14695981039346656037u ^ (unsigned char)kind;
    for (; *name; name++)
        hash = (hash * 1099511628211u) ^ (unsigned char)*name;
    return hash;
}

/* The context of a source of random elements. */
struct drawing {
    struct cr_sequence sequence;
    const struct cr_runtime *rt;
};

static int draw(const void *context, int64_t first, int64_t n, float *out)
{
    const struct drawing *d = context;
    cr_random_fill(d->rt, &d->sequence, (uint64_t)first, (size_t)n, out);
    return 0;
}

/* Fills n elements with one constant. */
static int repeat(const void *context, int64_t first, int64_t n, float *out)
{
    const struct drawing *d = context;
    (void)first;
    for (int64_t i = 0; i < n; i++)
        out[i] = d->sequence.shift;
    return 0;
}

static struct cr_contents contents_of_drawing(const struct cr_port *port, const struct drawing *d)
{
    return (struct cr_contents){.read = port->init == CR_INIT_FILL ? repeat : draw, .context = d};
}

/* Returns the sequence of initial elements of a parameter or an input, by its init. */
static struct cr_sequence start_of(const struct cr_port *port, char kind, uint64_t seed)
{
    float bound = (float)port->bound;
    struct cr_sequence s = {seed, stream_of(kind, port->name), CR_NORMAL, bound, 0};
    if (port->init == CR_INIT_UNIFORM) {
        s.distribution = CR_UNIFORM;
        s.scale = 2 * bound;
        s.shift = -bound;
    } else if (port->init == CR_INIT_FILL) {
        s.shift = bound;
    }
    return s;
}

int cr_draw_params(struct cr_engine *e, uint64_t seed, struct cr_error *error)
{
    struct drawing *drawings = cr_calloc((size_t)e->n_params, sizeof *drawings);
    struct cr_contents *contents = cr_calloc((size_t)e->n_params, sizeof *contents);
    for (int i = 0; i < e->n_params; i++) {
        drawings[i] = (struct drawing){start_of(&e->params[i], 'p', seed), e->rt};
        contents[i] = contents_of_drawing(&e->params[i], &drawings[i]);
    }
    int status = cr_engine_set_params(e, contents, error);
    free(drawings);
    free(contents);
    return status;
}

/* ---- inputs ---- */

/* Returns the exclusive bound of random ids for input i: the number of rows of the table that
 * they index.  Without a table it is 1 for inputs on which an offset of a write depends, else 2,
 * since 0 and 1 are valid indices for any table. */
static int64_t id_limit(const struct cr_engine *e, int i)
{
    if (e->id_limits[i])
        return e->id_limits[i];
    return cr_offsets_use(e->offsets, i) ? 1 : 2;
}

/* Fills an i32 input without an init with uniform ids below id_limit. */
static void draw_ids(const struct cr_engine *e, int i, uint64_t seed, uint64_t stream, void *data)
{
    const struct cr_port *port = &e->inputs[i];
    int64_t n = cr_port_elements(port);
    for (int64_t j = 0; j < n; j++) {
        double at = (double)cr_philox_uniform(seed, stream, (uint64_t)j);
        if (port->dtype == CR_I32)
            ((int32_t *)data)[j] = (int32_t)(at * (double)id_limit(e, i));
        else
            ((float *)data)[j] = at < 0.5 ? 0 : 1;
    }
}

bool cr_has_init(const struct cr_port *port)
{
    return port->init != CR_INIT_UNIFORM || port->bound != 0;
}

void cr_draw_input(const struct cr_engine *e, int i, uint64_t seed, void *data)
{
    const struct cr_port *port = &e->inputs[i];
    bool says = cr_has_init(port);
    struct drawing drawing = {start_of(port, 'i', seed), e->rt};
    struct cr_contents contents = contents_of_drawing(port, &drawing);
    struct cr_error never; /* not used: drawing numbers cannot fail */
    if (!says)
        drawing.sequence = (struct cr_sequence){seed, stream_of('i', port->name), CR_NORMAL, 1, 0};
    if (port->dtype == CR_F32)
        cr_copy_tensor(&contents, cr_port_elements(port), e->rt, e->pool, data, &never);
    else if (!says)
        draw_ids(e, i, seed, stream_of('i', port->name), data);
    for (int64_t j = 0; says && port->dtype == CR_I32 && j < cr_port_elements(port); j++)
        ((int32_t *)data)[j] = (int32_t)port->bound;
}

/* True if element j of input i lies beyond the current value of a length, which the inputs hold. */
static bool lies_past(const struct cr_engine *e, int i, int64_t j, const void *const *inputs)
{
    const struct cr_port *port = &e->inputs[i];
    int64_t index[CR_MAX_RANK];
    int row; /* index along the axis of the batch, for a ragged length */
    for (int a = port->rank - 1; a >= 0; j /= port->shape[a--])
        index[a] = j % port->shape[a];
    for (int a = 0; a < port->rank && inputs; a++) {
        int length = e->length_axes[i][a], batch = length ? e->lengths[length - 1].batch : 0;
        const int32_t *size = length ? inputs[e->lengths[length - 1].input] : NULL;
        for (row = 0; batch && e->length_axes[i][row] != batch;)
            row++;
        if (size && index[a] >= size[batch ? index[row] : 0])
            return true;
    }
    return false;
}

/* Fails if an id is not a row of the table that it indexes.  Does not check elements beyond a
 * length. */
int cr_check_ids(const struct cr_engine *e, int i, const char *path, const int32_t *ids,
                 const void *const *inputs, struct cr_error *error)
{
    const struct cr_port *port = &e->inputs[i];
    const int64_t n = cr_port_elements(port), limit = e->id_limits[i], row = port->rank ? port->shape[port->rank - 1] : 1;
    for (int64_t j = 0; limit && j < n; j++)
        if (e->n_lengths && lies_past(e, i, j, inputs))
            j += row - 1 - j % row; /* skips the rest of the row, which lies beyond the length as
                                     * well */
        else if (ids[j] < 0 || ids[j] >= limit)
            return cr_fail(error,
                           "%.400s: element %" PRId64 " is %" PRId32
                           ", expected an id from 0 to %" PRId64,
                           path, j, ids[j], limit - 1);
    return 0;
}

int cr_take_array(const struct cr_port *port, const struct cr_npy *file, void *data,
                  struct cr_error *error)
{
    if (!cr_has_shape(port, file->rank, file->shape))
        return wrong_shape(file->path, "the array", file->rank, file->shape, port, error);
    return port->dtype == CR_I32 ? cr_npy_read_i32(file, data, error->text, sizeof error->text)
                                 : cr_npy_read_f32(file, data, error->text, sizeof error->text);
}

int cr_take_input(const struct cr_engine *e, int i, const struct cr_npy *file, void *data,
                  struct cr_error *error)
{
    if (cr_take_array(&e->inputs[i], file, data, error))
        return -1;
    return cr_check_ids(e, i, file->path, data, NULL, error);
}

int cr_read_input(const struct cr_engine *e, int i, const char *path, void *data,
                  struct cr_error *error)
{
    struct cr_npy file;
    if (cr_npy_open(&file, path, error->text, sizeof error->text))
        return -1;
    int status = cr_take_input(e, i, &file, data, error);
    cr_npy_close(&file);
    return status;
}
