/*
 * checkpoint.c - the state of a training as a safetensors file; see training.h.
 *
 * Parameters and state stand in it under their own names, so that `run --weights` reads it,
 * too; the metadata hold the number of steps made and the seed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "report.h"
#include "runtime/safetensors.h"
#include "training.h"

/* ---- writing ---- */

static struct cr_st_tensor tensor_of(const struct cr_port *port, const void *data)
{
    return (struct cr_st_tensor){.name = port->name,
                                 .type = port->dtype == CR_I32 ? CR_ST_I32 : CR_ST_F32,
                                 .rank = port->rank,
                                 .shape = port->shape,
                                 .data = data};
}

/* The parameters, then the inputs that are state; how many there are. */
static int list_tensors(const struct cr_training *t, struct cr_st_tensor *tensors)
{
    const struct cr_engine *e = &t->engine;
    int n = 0;
    for (int i = 0; i < e->n_params; i++)
        tensors[n++] = tensor_of(&e->params[i], e->tensors[i]);
    for (int i = 0; i < e->n_inputs; i++)
        if (t->handover.is_state[i])
            tensors[n++] = tensor_of(&e->inputs[i], t->inputs.data[i]);
    return n;
}

static int write_tensors(const struct cr_training *t, const char *path, bool state,
                         struct cr_error *error)
{
    char step[32], seed[32];
    const struct cr_st_metadata metadata[] = {
        {"format", "pt"}, {"crescent.step", step}, {"crescent.seed", seed}};
    size_t room = (size_t)(t->engine.n_params + t->engine.n_inputs);
    struct cr_st_tensor *tensors = cr_calloc(room, sizeof *tensors);
    int n = list_tensors(t, tensors);
    snprintf(step, sizeof step, "%" PRId64, t->step);
    snprintf(seed, sizeof seed, "%" PRId64, t->options->seed);
    int status = cr_safetensors_write(path, tensors, state ? n : t->engine.n_params, metadata,
                                      state ? 3 : 1, error->text, sizeof error->text);
    free(tensors);
    return status;
}

int cr_checkpoint_write(const struct cr_training *t, const char *path, struct cr_error *error)
{
    return write_tensors(t, path, true, error);
}

int cr_checkpoint_write_params(const struct cr_training *t, const char *path,
                               struct cr_error *error)
{
    return write_tensors(t, path, false, error);
}

/* ---- reading ---- */

/* A whole number from 0 on that was written under a key. */
static int read_number(const struct cr_safetensors *file, const char *key, int64_t *number,
                       struct cr_error *error)
{
    const char *text = cr_safetensors_metadata(file, key);
    char *end = NULL;
    errno = 0;
    if (text)
        *number = strtoll(text, &end, 10);
    if (text && end > text && !*end && !errno && *number >= 0)
        return 0;
    return cr_fail(error, "%.400s: no number %s in its metadata, expected a checkpoint of train",
                   file->path, key);
}

/* Every tensor is a parameter or a state of the model, of its shape and type, bit for bit. */
static int read_tensor(struct cr_training *t, const struct cr_safetensors *file,
                       const struct cr_st_tensor *expected, struct cr_error *error)
{
    const struct cr_st_tensor *found = cr_safetensors_find(file, expected->name);
    char shape[224];
    cr_shape_text(shape, sizeof shape, expected->rank, expected->shape);
    if (!found)
        return cr_fail(error, "%.300s: no tensor '%.150s', expected a checkpoint of %.300s",
                       file->path, expected->name, t->options->model);
    if (found->type != expected->type || found->rank != expected->rank ||
        memcmp(found->shape, expected->shape, (size_t)found->rank * sizeof *found->shape) != 0)
        return cr_fail(error, "%.300s: '%.150s' is of another shape or type, expected %s of %s",
                       file->path, expected->name, shape, cr_st_type_name(expected->type));
    memcpy((void *)expected->data, found->data, found->bytes);
    return 0;
}

/* The numbers of the file's metadata are those of this run. */
static int read_metadata(struct cr_training *t, const struct cr_safetensors *file,
                         struct cr_error *error)
{
    int64_t seed;
    if (read_number(file, "crescent.step", &t->step, error) ||
        read_number(file, "crescent.seed", &seed, error))
        return -1;
    if (seed != t->options->seed)
        return cr_fail(error, "%.400s: a checkpoint of --seed %" PRId64 ", expected the same seed",
                       file->path, seed);
    return 0;
}

static int read_tensors(struct cr_training *t, const struct cr_safetensors *file,
                        struct cr_error *error)
{
    struct cr_engine *e = &t->engine;
    size_t room = (size_t)(e->n_params + e->n_inputs);
    struct cr_st_tensor *tensors = cr_calloc(room, sizeof *tensors);
    int n = list_tensors(t, tensors), status = 0;
    for (int i = 0; i < n && !status; i++)
        status = read_tensor(t, file, &tensors[i], error);
    free(tensors);
    if (!status && file->n_tensors != n)
        status = cr_fail(error, "%.300s: %d tensors, expected the %d of %.300s", file->path,
                         file->n_tensors, n, t->options->model);
    /* they lie where the engine keeps them: what is left is to pack them */
    for (int i = 0; i < e->n_params && !status; i++)
        cr_engine_exchange_param(e, i, &e->tensors[i]);
    return status;
}

int cr_checkpoint_read(struct cr_training *t, const char *path, struct cr_error *error)
{
    struct cr_safetensors file;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    int status = read_metadata(t, &file, error) || read_tensors(t, &file, error) ? -1 : 0;
    cr_safetensors_close(&file);
    return status;
}
