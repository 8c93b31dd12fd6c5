/* save_checkpoint.c - writes weights and the state of a training to a file; see checkpoint.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "compiler/files/utf8.h"

/* ---- contents of a file ---- */

static struct cr_st_tensor tensor_of(const struct cr_port *port, const void *data)
{
    return (struct cr_st_tensor){.name = port->name,
                                 .type = port->dtype == CR_I32 ? CR_ST_I32 : CR_ST_F32,
                                 .rank = port->rank,
                                 .shape = port->shape,
                                 .data = data};
}

static int list_params(const struct cr_engine *e, struct cr_st_tensor *tensors)
{
    for (int i = 0; i < e->n_params; i++)
        tensors[i] = tensor_of(&e->params[i], e->tensors[i]);
    return e->n_params;
}

int cr_list_state(const crescent_trainer *t, struct cr_st_tensor *tensors)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    int n = list_params(e, tensors);
    for (int i = 0; i < e->n_inputs; i++)
        if (t->next_state.is_state[i])
            tensors[n++] = tensor_of(&e->inputs[i], cr_is_shared_input(t, i) ? NULL : t->inputs.data[i]);
    return n;
}

/* Metadata that files written by PyTorch have. */
static const struct cr_st_metadata format = {"format", "pt"};

/* Returns a key such as "crescent.option.lr"; the caller frees it. */
static char *option_key(const char *name)
{
    size_t size = sizeof CR_CHECKPOINT_OPTION + strlen(name);
    char *key = cr_calloc(size, 1);
    snprintf(key, size, "%s%s", CR_CHECKPOINT_OPTION, name);
    return key;
}

/* The contents of a checkpoint file.  Owns all keys and values of the metadata except the first. */
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

/* Adds an item of metadata; takes over key and value, which the caller allocated. */
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

/* Returns contents with the parameters only, and room for `more` items of metadata. */
static struct contents params_of(const struct cr_engine *e, int more)
{
    struct contents c = {.n_tensors = e->n_params, .n_metadata = 1};
    c.tensors = cr_calloc((size_t)(e->n_params + e->n_inputs), sizeof *c.tensors);
    c.metadata = cr_calloc((size_t)(1 + more), sizeof *c.metadata);
    list_params(e, c.tensors);
    c.metadata[0] = format;
    return c;
}

/* Returns contents with the parameters, the state, and the metadata of a training. */
static struct contents state_of(const crescent_trainer *t)
{
    const struct cr_origin *o = t->model->origin;
    struct contents c = params_of(cr_trainer_engine(t), 4 + o->n_options);
    c.n_tensors = cr_list_state(t, c.tensors);
    add_metadata(&c, cr_strdup(CR_CHECKPOINT_STEP), number_text(t->step));
    add_metadata(&c, cr_strdup(CR_CHECKPOINT_SEED), number_text(o->seed));
    add_metadata(&c, cr_strdup(CR_CHECKPOINT_LOSSES), cr_history_losses_text(&t->history));
    add_metadata(&c, cr_strdup(CR_CHECKPOINT_VALIDATIONS),
                 cr_history_validations_text(&t->history));
    for (int i = 0; i < o->n_options; i++)
        add_metadata(&c, option_key(o->options[i].name), cr_strdup(o->options[i].value));
    return c;
}

/* Returns the index of the first element that is NaN or, unless `infinity` is true, infinite; else
 * -1. */
static int64_t find_bad(const float *data, int64_t n, bool infinity)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(data[i]) || (isinf(data[i]) && !infinity))
            return i;
    return -1;
}

/* Returns the first value that must not be saved in the parameter or input that output i
 * replaces. */
static struct cr_bad_value find_bad_value(const crescent_trainer *t, int i)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    int param = t->next_state.to_param[i], input = t->next_state.to_input[i];
    if (param != CR_NONE) {
        const float *data = e->tensors[param];
        int64_t at = find_bad(data, cr_port_elements(&e->params[param]), false);
        return (struct cr_bad_value){at, at < 0 ? 0 : (double)data[at]};
    }
    const float *data = t->inputs.data[input];
    int64_t at = find_bad(data, cr_port_elements(cr_engine_own_input(e, input)), true);
    struct cr_bad_value own = {at, at < 0 ? 0 : (double)data[at]};
    return cr_is_shared_input(t, input) ? cr_first_bad(t, input, own) : own;
}

/* Fails if a parameter or state that steps update has a NaN, or a parameter an infinity.  States
 * may be infinite, such as the smallest loss so far before the first step. */
static int check_values(const crescent_trainer *t, const char *path, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_outputs; i++) {
        int param = t->next_state.to_param[i], input = t->next_state.to_input[i];
        const struct cr_port *port = &e->outputs[i];
        if ((param == CR_NONE && input == CR_NONE) || port->dtype != CR_F32)
            continue;
        struct cr_bad_value bad = find_bad_value(t, i);
        if (bad.at >= 0)
            return cr_fail(error,
                           "%.300s: not written: element %" PRId64 " of %.150s is %g after step "
                           "%" PRId64 ", expected a finite number",
                           path, bad.at, port->name, bad.value, t->step);
    }
    return 0;
}

/* Fails unless the values of all options are UTF-8, as JSON requires. */
static int check_options(const struct cr_origin *o, struct cr_error *error)
{
    for (int i = 0; i < o->n_options; i++) {
        const char *value = o->options[i].value, *end = value + strlen(value), *at = value;
        for (size_t n = 1; at < end && n; at += n)
            n = cr_utf8(at, end);
        if (at < end)
            return cr_fail(error,
                           "%.300s: option %.100s is %s, expected UTF-8 (a checkpoint has the "
                           "options in it)",
                           o->path, o->options[i].name, cr_show(value, strlen(value)).text);
    }
    return 0;
}

/* ---- writing ---- */

/* A file that is being written.  Of several ranks, rank 0 writes it, and gathers the other ranks'
 * shares. */
struct file {
    const crescent_trainer *trainer; /* the training, or null for a model alone */
    const struct contents *contents;
    struct cr_writer writer;
    void *whole; /* memory for gathering one shared tensor at a time; null if none is shared */
};

static bool is_writer(const struct file *f)
{
    return !f->trainer || crescent_ranks_of(f->trainer->context).rank == 0;
}

/* Gives all ranks the status of the rank that writes the file, and returns it. */
static int agree(const struct file *f, const char *path, int status, struct cr_error *error)
{
    if (!f->trainer || !f->trainer->accumulation.ranks)
        return status;
    crescent_ranks_share(f->trainer->context, &status, sizeof status);
    if (status && !is_writer(f))
        return cr_fail(error, "%.400s: rank 0 could not write it, expected a file that it can write", path);
    return status;
}

/* Allocates memory for the largest shared tensor. */
static int make_whole(struct file *f, struct cr_error *error)
{
    int64_t most = 0;
    for (int i = 0; i < f->contents->n_tensors; i++) {
        const struct cr_st_tensor *tensor = &f->contents->tensors[i];
        int64_t n = tensor->data ? 0 : cr_elements(tensor->rank, tensor->shape);
        most = n > most ? n : most;
    }
    if (most)
        f->whole = cr_memory_new(most * (int64_t)sizeof(float), "a tensor of all ranks", error);
    return most && !f->whole ? -1 : 0;
}

/* Opens the file and writes its header; after a failure nothing is left open. */
static int begin(struct file *f, const char *path, struct cr_error *error)
{
    const struct contents *c = f->contents;
    char *text = error->text;
    size_t size = sizeof error->text;
    if (make_whole(f, error) || cr_writer_open(&f->writer, path, text, size))
        return -1;
    if (!cr_safetensors_put_header(&f->writer, c->tensors, c->n_tensors, c->metadata, c->n_metadata, text, size))
        return 0;
    cr_writer_discard(&f->writer);
    return -1;
}

/* Writes the tensors.  All ranks call it, as shares are gathered. */
static void put_tensors(struct file *f)
{
    for (int i = 0; i < f->contents->n_tensors; i++) {
        const struct cr_st_tensor *tensor = &f->contents->tensors[i];
        size_t bytes = (size_t)cr_elements(tensor->rank, tensor->shape) * sizeof(float);
        if (!tensor->data) {
            const struct cr_engine *e = cr_trainer_engine(f->trainer);
            cr_collect_input(f->trainer, cr_port_find(e->inputs, e->n_inputs, tensor->name), f->whole);
        }
        if (is_writer(f))
            cr_writer_put(&f->writer, tensor->data ? tensor->data : f->whole, bytes);
    }
}

/* Gives the file its final name; with `only_check` removes it instead. */
static int end(struct file *f, const char *path, bool only_check, struct cr_error *error)
{
    struct cr_writer *writer = &f->writer;
    if (!only_check)
        return cr_writer_commit(writer, error->text, sizeof error->text);
    int failure = writer->failure || fflush(writer->file) == 0 ? writer->failure : errno;
    cr_writer_discard(writer);
    if (failure)
        return cr_fail(error, "%.400s: cannot be written: %s", path, strerror(failure));
    return 0;
}

/* Writes a file; with `only_check`, does everything except giving it its final name.  All ranks of
 * a training call it. */
static int put(const crescent_trainer *t, const char *path, const struct contents *c, bool only_check,
               struct cr_error *error)
{
    struct file f = {.trainer = t, .contents = c};
    int status = agree(&f, path, is_writer(&f) ? begin(&f, path, error) : 0, error);
    if (!status) {
        put_tensors(&f);
        status = agree(&f, path, is_writer(&f) ? end(&f, path, only_check, error) : 0, error);
    }
    free(f.whole);
    return status;
}

static int write_weights(const struct cr_engine *e, const char *path, struct cr_error *error)
{
    struct contents c = params_of(e, 0);
    int status = put(NULL, path, &c, false, error);
    free_contents(&c);
    return status;
}

int crescent_save_weights(const crescent_model *model, const char *path)
{
    CR_REQUIRE(model, path);
    CR_ENTER(model->context);
    int status = cr_check_kept(model, guard.error);
    return cr_done(&guard, status ? status : write_weights(&model->engine, path, guard.error));
}

/* Fails unless the training has a state that may be written. */
static int check_state(const crescent_trainer *t, const char *path, struct cr_error *error)
{
    if (cr_check_started(t, error) || cr_check_weights(t->model, error))
        return -1;
    return check_values(t, path, error);
}

static int write_state(const crescent_trainer *t, const char *path, bool only_check,
                       struct cr_error *error)
{
    if (check_options(t->model->origin, error) || check_state(t, path, error))
        return -1;
    struct contents c = state_of(t);
    int status = put(t, path, &c, only_check, error);
    free_contents(&c);
    return status;
}

static int write_params(const crescent_trainer *t, const char *path, bool only_check,
                        struct cr_error *error)
{
    if (check_state(t, path, error))
        return -1;
    struct contents c = params_of(cr_trainer_engine(t), 0);
    int status = put(t, path, &c, only_check, error);
    free_contents(&c);
    return status;
}

int crescent_trainer_save(const crescent_trainer *trainer, const char *path)
{
    CR_REQUIRE(trainer, path);
    CR_ENTER(trainer->context);
    return cr_done(&guard, write_state(trainer, path, false, guard.error));
}

int crescent_trainer_save_weights(const crescent_trainer *trainer, const char *path)
{
    CR_REQUIRE(trainer, path);
    CR_ENTER(trainer->context);
    return cr_done(&guard, write_params(trainer, path, false, guard.error));
}

int crescent_trainer_check_save(const crescent_trainer *trainer, const char *checkpoint,
                                const char *weights)
{
    CR_REQUIRE(trainer, true);
    CR_ENTER(trainer->context);
    int status = checkpoint ? write_state(trainer, checkpoint, true, guard.error) : 0;
    if (!status && weights)
        status = write_params(trainer, weights, true, guard.error);
    return cr_done(&guard, status);
}
