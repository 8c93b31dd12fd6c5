/*
 * checkpoint.c - the state of a training as a safetensors file; see training.h.
 *
 * Parameters and state stand in it under their own names, so that `run --weights` reads it,
 * too; the metadata hold the number of steps made, the seed, the losses so far, and the values
 * of the script's options.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "report.h"
#include "training.h"

#define STEP "crescent.step"
#define SEED "crescent.seed"
#define LOSSES "crescent.losses"
#define VALIDATIONS "crescent.validations"
#define OPTION "crescent.option." /* and its name */

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

/* What PyTorch's own files say, and nothing else does. */
static const struct cr_st_metadata format = {"format", "pt"};

/* "crescent.option.lr", to be freed. */
static char *option_key(const char *name)
{
    size_t size = sizeof OPTION + strlen(name);
    char *key = cr_calloc(size, 1);
    snprintf(key, size, "%s%s", OPTION, name);
    return key;
}

/* What a file has in it; the values of the metadata that are made for it are to be freed. */
struct contents {
    struct cr_st_tensor *tensors;
    struct cr_st_metadata *metadata;
    int n_tensors, n_metadata;
};

static void free_contents(struct contents *c)
{
    for (int i = 1; i < c->n_metadata; i++) { /* the first is `format` */
        free((char *)c->metadata[i].key);
        free((char *)c->metadata[i].value);
    }
    free(c->metadata);
    free(c->tensors);
}

/* Adds metadata whose key and value were allocated. */
static void add_metadata(struct contents *c, char *key, char *value)
{
    c->metadata[c->n_metadata++] = (struct cr_st_metadata){key, value};
}

static char *number_text(int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, number);
    return cr_strdup(text);
}

/* The parameters alone. */
static struct contents params_of(const struct cr_training *t)
{
    size_t room = (size_t)(t->engine.n_params + t->engine.n_inputs);
    struct contents c = {cr_calloc(room, sizeof *c.tensors),
                         cr_calloc((size_t)(5 + t->script->n_options), sizeof *c.metadata),
                         t->engine.n_params, 1};
    list_tensors(t, c.tensors);
    c.metadata[0] = format;
    return c;
}

/* Parameters, state, and metadata that say how they came about. */
static struct contents state_of(const struct cr_training *t)
{
    struct contents c = params_of(t);
    c.n_tensors = list_tensors(t, c.tensors);
    add_metadata(&c, cr_strdup(STEP), number_text(t->step));
    add_metadata(&c, cr_strdup(SEED), number_text(t->options->seed));
    add_metadata(&c, cr_strdup(LOSSES), cr_history_losses_text(&t->history));
    add_metadata(&c, cr_strdup(VALIDATIONS), cr_history_validations_text(&t->history));
    for (int i = 0; i < t->script->n_options; i++)
        add_metadata(&c, option_key(t->script->options[i].name),
                     cr_strdup(t->script->options[i].value));
    return c;
}

/* The index of an element that is NaN or, unless `infinity` may be, infinite; or -1. */
static int64_t find_bad(const float *data, int64_t n, bool infinity)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(data[i]) || (isinf(data[i]) && !infinity))
            return i;
    return -1;
}

/* What a step replaces is fit to go on with; a state may begin with infinity, as that of a
 * smallest loss does. */
static int check_values(const struct cr_training *t, const char *path, struct cr_error *error)
{
    const struct cr_engine *e = &t->engine;
    for (int i = 0; i < e->n_outputs; i++) {
        int param = t->handover.to_param[i], input = t->handover.to_input[i];
        const struct cr_port *port = &e->outputs[i];
        if ((param == CR_NONE && input == CR_NONE) || port->dtype != CR_F32)
            continue;
        const float *data = param != CR_NONE ? e->tensors[param] : t->inputs.data[input];
        int64_t bad = find_bad(data, cr_port_elements(port), param == CR_NONE);
        if (bad >= 0)
            return cr_fail(error,
                           "%.300s: not written: element %" PRId64 " of %.150s is %g after step "
                           "%" PRId64 ", expected a finite number",
                           path, bad, port->name, (double)data[bad], t->step);
    }
    return 0;
}

/* Text of the script's options becomes JSON, which is UTF-8. */
static int check_options(const struct cr_training *t, struct cr_error *error)
{
    for (int i = 0; i < t->script->n_options; i++) {
        const struct cr_script_option *option = &t->script->options[i];
        json_t *text = json_string(option->value);
        json_decref(text);
        if (!text)
            return cr_fail(error,
                           "%.300s: option %.100s is %s, expected UTF-8 (a checkpoint has the "
                           "options in it)",
                           t->options->model, option->name,
                           cr_show(option->value, strlen(option->value)).text);
    }
    return 0;
}

/* Writes a file, or does all but giving it its name. */
static int put(const struct cr_training *t, const char *path, const struct contents *c,
               bool rehearsal, struct cr_error *error)
{
    struct cr_writer writer;
    char *text = error->text;
    size_t size = sizeof error->text;
    if (check_values(t, path, error) || cr_writer_open(&writer, path, text, size))
        return -1;
    int status = cr_safetensors_put(&writer, c->tensors, c->n_tensors, c->metadata, c->n_metadata,
                                    text, size);
    if (!status && !rehearsal)
        return cr_writer_commit(&writer, text, size);
    int failure = writer.failure || fflush(writer.file) == 0 ? writer.failure : errno;
    cr_writer_discard(&writer);
    if (!status && failure)
        status = cr_fail(error, "%.400s: cannot be written: %s", path, strerror(failure));
    return status;
}

static int write_state(const struct cr_training *t, const char *path, bool rehearsal,
                       struct cr_error *error)
{
    struct contents c = state_of(t);
    int status = put(t, path, &c, rehearsal, error);
    free_contents(&c);
    return status;
}

static int write_params(const struct cr_training *t, const char *path, bool rehearsal,
                        struct cr_error *error)
{
    struct contents c = params_of(t);
    int status = put(t, path, &c, rehearsal, error);
    free_contents(&c);
    return status;
}

int cr_checkpoint_write(const struct cr_training *t, const char *path, struct cr_error *error)
{
    return write_state(t, path, false, error);
}

int cr_checkpoint_write_params(const struct cr_training *t, const char *path,
                               struct cr_error *error)
{
    return write_params(t, path, false, error);
}

int cr_checkpoint_rehearse(const struct cr_training *t, const char *checkpoint, const char *params,
                           struct cr_error *error)
{
    if (checkpoint && (check_options(t, error) || write_state(t, checkpoint, true, error)))
        return -1;
    return params ? write_params(t, params, true, error) : 0;
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
    if (read_number(file, STEP, &t->step, error) || read_number(file, SEED, &seed, error))
        return -1;
    if (seed != t->options->seed)
        return cr_fail(error, "%.400s: a checkpoint of --seed %" PRId64 ", expected the same seed",
                       file->path, seed);
    if (cr_history_parse(&t->history, cr_safetensors_metadata(file, LOSSES),
                         cr_safetensors_metadata(file, VALIDATIONS), t->step))
        return cr_fail(error,
                       "%.400s: no losses of %" PRId64 " steps in its metadata, expected a "
                       "checkpoint of train",
                       file->path, t->step);
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

/* The name of the script's option that a key of the metadata is for, or null. */
static const char *option_of(const char *key)
{
    size_t length = sizeof OPTION - 1;
    return strncmp(key, OPTION, length) == 0 ? key + length : NULL;
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

/* ---- going on as before ---- */

/* A setting that may be freed by its key. */
static struct cr_setting setting_of(const char *name, const char *value)
{
    size_t length = strlen(name) + 1, size = strlen(value) + 1;
    char *key = cr_calloc(length + size, 1);
    memcpy(key, name, length);
    memcpy(key + length, value, size);
    return (struct cr_setting){key, key + length, true};
}

/* The options of the file, and behind them, where they count for more, those that were set. */
static void set_options(struct cr_options *o, const struct cr_safetensors *file)
{
    struct cr_pairs given = o->set;
    o->set = (struct cr_pairs){0};
    for (const char *key = cr_safetensors_next_key(file, NULL); key;
         key = cr_safetensors_next_key(file, key))
        if (option_of(key))
            *CR_PUSH(o->set.items, o->set.n, o->set.cap) =
                setting_of(option_of(key), cr_safetensors_metadata(file, key));
    for (int i = 0; i < given.n; i++)
        *CR_PUSH(o->set.items, o->set.n, o->set.cap) = given.items[i];
    free(given.items);
}

int cr_checkpoint_settings(struct cr_options *o, const char *path, struct cr_error *error)
{
    struct cr_safetensors file;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    int64_t step, seed;
    int status = read_number(&file, STEP, &step, error) || read_number(&file, SEED, &seed, error);
    if (!status) {
        o->seed = o->seed_given ? o->seed : seed;
        set_options(o, &file);
    }
    cr_safetensors_close(&file);
    return status ? -1 : 0;
}

/* The value that an option of the script has, or null if it has none of that name. */
static const char *value_of(const struct cr_script *script, const char *name)
{
    for (int i = 0; i < script->n_options; i++)
        if (strcmp(script->options[i].name, name) == 0)
            return script->options[i].value;
    return NULL;
}

void cr_checkpoint_note(const struct cr_training *t)
{
    char before[400] = "", now[400] = "";
    size_t room = sizeof before, b = 0, n = 0;
    for (int i = 0; i < t->options->set.n; i++) {
        const struct cr_setting *old = &t->options->set.items[i];
        const char *value = value_of(t->script, old->key);
        if (!old->optional || !value || strcmp(old->value, value) == 0 || b >= room || n >= room)
            continue;
        b += (size_t)snprintf(before + b, room - b, " %s=%.60s", old->key, old->value);
        n += (size_t)snprintf(now + n, room - n, " %s=%.60s", old->key, value);
    }
    if (*before)
        cr_note("%.400s: made with%s, goes on with%s", t->options->resume, before, now);
}
