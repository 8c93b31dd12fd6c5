/* tensors.c - parameters and inputs, from files or at random; see tensors.h. */
#include "tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "memory.h"
#include "runtime/npy.h"
#include "runtime/random.h"
#include "runtime/safetensors.h"

/* ---- parameters from files ---- */

struct files {
    struct cr_safetensors *items;
    int n;
};

static void close_files(struct files *files)
{
    for (int i = 0; i < files->n; i++)
        cr_safetensors_close(&files->items[i]);
    free(files->items);
}

static int open_files(struct files *files, const char *const *paths, int n, struct cr_error *error)
{
    *files = (struct files){cr_calloc((size_t)n, sizeof *files->items), 0};
    for (; files->n < n; files->n++) {
        if (cr_safetensors_open(&files->items[files->n], paths[files->n], error->text,
                                sizeof error->text)) {
            close_files(files);
            return -1;
        }
    }
    return 0;
}

/* A tensor with the same last names, in a model of another prefix; or null. */
static const char *namesake(const struct files *files, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < files->n; i++) {
        for (int j = 0; j < files->items[i].n_tensors; j++) {
            const char *other = files->items[i].tensors[j].name;
            size_t n = strlen(other);
            if ((n > length && other[n - length - 1] == '.' &&
                 strcmp(other + n - length, name) == 0) ||
                (n < length && name[length - n - 1] == '.' &&
                 strcmp(name + length - n, other) == 0))
                return other;
        }
    }
    return NULL;
}

static int missing(const struct files *files, const struct cr_port *port, struct cr_error *error)
{
    char shape[224];
    const char *other = namesake(files, port->name);
    struct cr_shown shown = other ? cr_show(other, strlen(other)) : (struct cr_shown){""};
    cr_shape_text(shape, sizeof shape, port->rank, port->shape);
    return cr_fail(error, "%.400s: no tensor '%.200s', expected one of shape %s%s%s%s",
                   files->items[files->n - 1].path, port->name, shape, other ? " (it has " : "",
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

/* Hands in a tensor from where it lies in the file, or converted. */
static int set_from_file(struct cr_engine *e, int i, const struct cr_safetensors *file,
                         const struct cr_st_tensor *tensor, struct cr_error *error)
{
    const struct cr_port *port = &e->params[i];
    if (!shape_fits(port, tensor->rank, tensor->shape))
        return wrong_shape(file->path, port->name, tensor->rank, tensor->shape, port, error);
    const float *view = cr_safetensors_view(tensor);
    if (view)
        return cr_engine_set_param(e, i, view, error);
    float *copy = cr_memory_new(cr_port_elements(port) * (int64_t)sizeof *copy, port->name, error);
    int status =
        copy ? cr_safetensors_read(file, tensor, copy, error->text, sizeof error->text) : -1;
    if (!status)
        status = cr_engine_set_param(e, i, copy, error);
    free(copy);
    return status;
}

static int load_param(struct cr_engine *e, int i, const struct files *files, struct cr_error *error)
{
    for (int j = files->n - 1; j >= 0; j--) {
        const struct cr_st_tensor *tensor =
            cr_safetensors_find(&files->items[j], e->params[i].name);
        if (tensor)
            return set_from_file(e, i, &files->items[j], tensor, error);
    }
    return missing(files, &e->params[i], error);
}

static void count_surplus(const struct cr_engine *e, const struct cr_safetensors *file,
                          const char *path, struct cr_surplus *surplus)
{
    for (int i = 0; i < file->n_tensors; i++) {
        const char *name = file->tensors[i].name;
        if (cr_port_find(e->params, e->n_params, name) != CR_NONE)
            continue;
        if (!surplus->count++) {
            snprintf(surplus->name, sizeof surplus->name, "%s", cr_show(name, strlen(name)).text);
            surplus->file = path;
        }
    }
}

int cr_load_params(struct cr_engine *e, const char *const *paths, int n, struct cr_surplus *surplus,
                   struct cr_error *error)
{
    struct files files;
    int status = 0;
    if (open_files(&files, paths, n, error))
        return -1;
    for (int i = 0; !status && i < e->n_params; i++)
        status = load_param(e, i, &files, error);
    for (int i = 0; i < n; i++)
        count_surplus(e, &files.items[i], paths[i], surplus);
    close_files(&files);
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

/* A tensor being drawn, in blocks that the threads share. */
struct drawing {
    float *out;
    size_t n;
    uint64_t seed, stream;
    enum cr_init init;
    float bound;
};

enum { DRAW_BLOCK = 1 << 14 };

static void draw_blocks(const void *args, long begin, long end, float *scratch)
{
    const struct drawing *d = args;
    size_t first = (size_t)begin * DRAW_BLOCK, past = (size_t)end * DRAW_BLOCK;
    size_t n = (past < d->n ? past : d->n) - first;
    float *out = d->out + first;
    (void)scratch;
    if (d->init == CR_INIT_UNIFORM)
        cr_random_fill_uniform(out, n, d->seed, d->stream, first);
    else if (d->init == CR_INIT_NORMAL)
        cr_random_fill_normal(out, n, d->seed, d->stream, first);
    for (size_t i = 0; i < n; i++)
        out[i] = d->init == CR_INIT_FILL     ? d->bound
                 : d->init == CR_INIT_NORMAL ? d->bound * out[i]
                                             : d->bound * (2 * out[i] - 1);
}

static void draw(const struct cr_engine *e, const struct drawing *d)
{
    long blocks = (long)((d->n + DRAW_BLOCK - 1) / DRAW_BLOCK);
    e->kernels->parallel(e->pool, blocks, draw_blocks, d, NULL, 0);
}

static void draw_param(const struct cr_engine *e, const struct cr_port *port, uint64_t seed,
                       float *out)
{
    struct drawing drawing = {out,        (size_t)cr_port_elements(port),
                              seed,       stream_of('p', port->name),
                              port->init, (float)port->bound};
    draw(e, &drawing);
}

int cr_draw_params(struct cr_engine *e, uint64_t seed, struct cr_error *error)
{
    int64_t most = 0;
    for (int i = 0; i < e->n_params; i++)
        if (cr_port_elements(&e->params[i]) > most)
            most = cr_port_elements(&e->params[i]);
    float *tensor = cr_memory_new(most * (int64_t)sizeof *tensor, "a parameter", error);
    int status = tensor ? 0 : -1;
    for (int i = 0; !status && i < e->n_params; i++) {
        draw_param(e, &e->params[i], seed, tensor);
        status = cr_engine_set_param(e, i, tensor, error);
    }
    free(tensor);
    return status;
}

/* ---- inputs ---- */

/* Without a table that says how many ids there are, 0 and 1 are ids of any. */
static int64_t id_limit(const struct cr_engine *e, int i)
{
    return e->id_limits[i] ? e->id_limits[i] : 2;
}

void cr_draw_input(const struct cr_engine *e, int i, uint64_t seed, void *data)
{
    const struct cr_port *port = &e->inputs[i];
    size_t n = (size_t)cr_port_elements(port);
    uint64_t stream = stream_of('i', port->name);
    bool says = port->init != CR_INIT_UNIFORM || port->bound != 0;
    if (port->dtype == CR_F32)
        draw(e, &(struct drawing){data, n, seed, stream, says ? port->init : CR_INIT_NORMAL,
                                  says ? (float)port->bound : 1});
    for (size_t j = 0; says && port->dtype == CR_I32 && j < n; j++)
        ((int32_t *)data)[j] = (int32_t)port->bound;
    if (says)
        return;
    for (size_t j = 0; port->dtype != CR_F32 && j < n; j++) {
        double at = (double)cr_random_uniform(seed, stream, j);
        if (port->dtype == CR_I32)
            ((int32_t *)data)[j] = (int32_t)(at * (double)id_limit(e, i));
        else
            ((float *)data)[j] = at < 0.5 ? 0 : 1;
    }
}

/* A table has only so many rows to look up. */
static int check_ids(const struct cr_engine *e, int i, const char *path, const int32_t *ids,
                     struct cr_error *error)
{
    int64_t n = cr_port_elements(&e->inputs[i]), limit = e->id_limits[i];
    for (int64_t j = 0; limit && j < n; j++)
        if (ids[j] < 0 || ids[j] >= limit)
            return cr_fail(error,
                           "%.400s: element %" PRId64 " is %" PRId32
                           ", expected an id from 0 to %" PRId64,
                           path, j, ids[j], limit - 1);
    return 0;
}

int cr_read_input(const struct cr_engine *e, int i, const char *path, void *data,
                  struct cr_error *error)
{
    const struct cr_port *port = &e->inputs[i];
    struct cr_npy file;
    int status;
    if (cr_npy_open(&file, path, error->text, sizeof error->text))
        return -1;
    if (!shape_fits(port, file.rank, file.shape))
        status = wrong_shape(path, "the array", file.rank, file.shape, port, error);
    else if (port->dtype == CR_I32)
        status = cr_npy_read_i32(&file, data, error->text, sizeof error->text) ||
                 check_ids(e, i, path, data, error);
    else
        status = cr_npy_read_f32(&file, data, error->text, sizeof error->text);
    cr_npy_close(&file);
    return status ? -1 : 0;
}
