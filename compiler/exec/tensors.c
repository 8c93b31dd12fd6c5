/* tensors.c - parameters and inputs, from files or at random; see tensors.h. */
#include "tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "draw.h"
#include "runtime/philox.h"
#include "tensor_memory.h"
#include "weight_names.h"

/* ---- parameters from files ---- */

/* True if two names are the same but for their dots. */
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

/* A tensor whose name ends as this one does, under another prefix, or is the same
 * but for a dot; or null. */
static const char *namesake(const struct cr_weight_files *files, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < files->n; i++) {
        for (int j = 0; j < files->items[i].file.n_tensors; j++) {
            const char *other = files->items[i].file.tensors[j].name;
            size_t n = strlen(other);
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

static int missing(const struct cr_weight_files *files, const struct cr_port *port,
                   struct cr_error *error)
{
    char shape[224];
    const char *other = namesake(files, port->name);
    struct cr_shown shown = other ? cr_show(other, strlen(other)) : (struct cr_shown){""};
    cr_shape_text(shape, sizeof shape, port->rank, port->shape);
    return cr_fail(error, "%.400s: no tensor '%.200s', expected one of shape %s%s%s%s",
                   files->items[files->n - 1].asked, port->name, shape, other ? " (it has " : "",
                   shown.text, other ? ": is the prefix right?)" : "");
}

static bool shape_fits(const struct cr_port *port, int rank, const int64_t *shape)
{
    return rank == port->rank && memcmp(shape, port->shape, (size_t)rank * sizeof *shape) == 0;
}

/* A shape of a file, which may be longer than any of ours, as text. */
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

static void read_file(const void *tensor, int64_t first, int64_t n, float *out)
{
    cr_st_convert(tensor, first, n, out);
}

static void read_gguf(const void *weight, int64_t first, int64_t n, float *out)
{
    cr_gguf_weight_floats(weight, first, n, out);
}

/* What a tensor's elements are read by, if its type is one that can be. */
static int contents_of(const struct cr_weight_file *file, const struct cr_st_tensor *tensor,
                       struct cr_contents *contents, struct cr_error *error)
{
    char *text = error->text;
    if (file->gguf) {
        const struct cr_gguf_weight *weight = &file->gguf->items[tensor - file->file.tensors];
        *contents = (struct cr_contents){cr_gguf_weight_view(weight), read_gguf, weight};
        return cr_gguf_check(&file->gguf->file, weight->tensor, text, sizeof error->text);
    }
    *contents = (struct cr_contents){cr_safetensors_view(tensor), read_file, tensor};
    return cr_safetensors_check(&file->file, tensor, text, sizeof error->text);
}

/* Sets a parameter from the mapped file, or converts it tile by tile. */
static int set_from_file(struct cr_engine *e, int i, const struct cr_weight_file *file,
                         const struct cr_st_tensor *tensor, struct cr_error *error)
{
    const struct cr_port *port = &e->params[i];
    struct cr_contents contents;
    if (!shape_fits(port, tensor->rank, tensor->shape))
        return wrong_shape(file->path, port->name, tensor->rank, tensor->shape, port, error);
    if (contents_of(file, tensor, &contents, error))
        return -1;
    return cr_engine_set_param(e, i, &contents, error);
}

/* Fills parameter i, and adds the name of its tensor to those that were taken. */
static int load_param(struct cr_engine *e, int i, const struct cr_weight_files *files,
                      const char *family, const struct cr_names *params, struct cr_names *taken,
                      struct cr_error *error)
{
    const struct cr_weight_file *file;
    const struct cr_st_tensor *tensor =
        cr_weight_find(files, e->params[i].name, family, params, &file);
    if (!tensor)
        return missing(files, &e->params[i], error);
    cr_names_add(taken, tensor->name);
    int status = set_from_file(e, i, file, tensor, error);
    cr_weight_files_leave(tensor);
    return status;
}

/* Counts the tensors of a file that no parameter took, and notes the first. */
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

int cr_load_params(struct cr_engine *e, const char *const *paths, int n, const char *family,
                   struct cr_surplus *surplus, struct cr_error *error)
{
    struct cr_names params = {0}, taken = {0};
    struct cr_weight_files files;
    int status = 0;
    if (cr_weight_files_open(&files, paths, n, error))
        return -1;
    for (int i = 0; i < e->n_params; i++)
        cr_names_add(&params, e->params[i].name);
    for (int i = 0; !status && i < e->n_params; i++)
        status = load_param(e, i, &files, family, &params, &taken, error);
    for (int i = 0; i < files.n; i++)
        count_surplus(&taken, &files.items[i], family, surplus);
    cr_names_free(&params);
    cr_names_free(&taken);
    cr_weight_files_close(&files);
    return status;
}

/* ---- at random ---- */

/* A tensor's own stream of random numbers: FNV-1a of its kind and name. */
static uint64_t stream_of(char kind, const char *name)
{
    uint64_t hash = 14695981039346656037u ^ (unsigned char)kind;
    for (; *name; name++)
        hash = (hash * 1099511628211u) ^ (unsigned char)*name;
    return hash;
}

/* Random numbers as a tensor's elements. */
struct drawing {
    struct cr_sequence sequence;
    const struct cr_runtime *rt;
};

static void draw(const void *context, int64_t first, int64_t n, float *out)
{
    const struct drawing *d = context;
    cr_random_fill(d->rt, &d->sequence, (uint64_t)first, (size_t)n, out);
}

/* The same number everywhere. */
static void repeat(const void *context, int64_t first, int64_t n, float *out)
{
    const struct drawing *d = context;
    (void)first;
    for (int64_t i = 0; i < n; i++)
        out[i] = d->sequence.shift;
}

/* The elements a parameter or an input starts with, if it says so. */
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
    for (int i = 0; i < e->n_params; i++) {
        const struct cr_port *port = &e->params[i];
        struct drawing drawing = {start_of(port, 'p', seed), e->rt};
        struct cr_contents contents = {NULL, port->init == CR_INIT_FILL ? repeat : draw, &drawing};
        if (cr_engine_set_param(e, i, &contents, error))
            return -1;
    }
    return 0;
}

/* ---- inputs ---- */

/* The rows of the table that the ids index; without a table 2, since 0 and 1 fit any, but 1 for what
 * an offset of rows is made of. */
static int64_t id_limit(const struct cr_engine *e, int i)
{
    if (e->id_limits[i])
        return e->id_limits[i];
    return cr_offsets_use(e->offsets, i) ? 1 : 2;
}

/* Whole numbers without an init: uniform ids. */
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
    struct cr_contents contents = {NULL, port->init == CR_INIT_FILL ? repeat : draw, &drawing};
    if (!says)
        drawing.sequence = (struct cr_sequence){seed, stream_of('i', port->name), CR_NORMAL, 1, 0};
    if (port->dtype == CR_F32)
        cr_fill_tensor(&contents, cr_port_elements(port), e->rt, e->pool, data);
    else if (!says)
        draw_ids(e, i, seed, stream_of('i', port->name), data);
    for (int64_t j = 0; says && port->dtype == CR_I32 && j < cr_port_elements(port); j++)
        ((int32_t *)data)[j] = (int32_t)port->bound;
}

/* Whether element j of input i lies past a length that the inputs hold. */
static bool lies_past(const struct cr_engine *e, int i, int64_t j, const void *const *inputs)
{
    const struct cr_port *port = &e->inputs[i];
    for (int a = port->rank - 1; a >= 0 && inputs; a--) {
        int length = e->length_axes[i][a];
        const int32_t *size = length ? inputs[e->lengths[length - 1].input] : NULL;
        if (size && j % port->shape[a] >= *size)
            return true;
        j /= port->shape[a];
    }
    return false;
}

/* Refuses an id that the table has no row for. */
int cr_check_ids(const struct cr_engine *e, int i, const char *path, const int32_t *ids,
                 const void *const *inputs, struct cr_error *error)
{
    int64_t n = cr_port_elements(&e->inputs[i]), limit = e->id_limits[i];
    for (int64_t j = 0; limit && j < n; j++)
        if ((ids[j] < 0 || ids[j] >= limit) && !lies_past(e, i, j, inputs))
            return cr_fail(error,
                           "%.400s: element %" PRId64 " is %" PRId32
                           ", expected an id from 0 to %" PRId64,
                           path, j, ids[j], limit - 1);
    return 0;
}

int cr_take_input(const struct cr_engine *e, int i, const struct cr_npy *file, void *data,
                  struct cr_error *error)
{
    const struct cr_port *port = &e->inputs[i];
    if (!shape_fits(port, file->rank, file->shape))
        return wrong_shape(file->path, "the array", file->rank, file->shape, port, error);
    if (port->dtype != CR_I32)
        return cr_npy_read_f32(file, data, error->text, sizeof error->text);
    if (cr_npy_read_i32(file, data, error->text, sizeof error->text))
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
