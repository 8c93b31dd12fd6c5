/* checkpoint.c - reads the state of a training from a file; see checkpoint.h. */
#include "checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* ---- step, seed and options of a checkpoint ---- */

/* Reads an integer that is not negative from the metadata. */
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

struct crescent_checkpoint {
    crescent_context *context;
    int64_t step, seed;
    crescent_setting *options; /* the handle owns the strings */
    int n_options, cap_options;
};

/* Returns the name of the script option that a metadata key belongs to, or null if the key is
 * another one. */
static const char *option_of(const char *key)
{
    size_t length = sizeof CR_CHECKPOINT_OPTION - 1;
    return strncmp(key, CR_CHECKPOINT_OPTION, length) == 0 ? key + length : NULL;
}

static void take_options(crescent_checkpoint *c, const struct cr_safetensors *file)
{
    for (const char *key = cr_safetensors_next_key(file, NULL); key;
         key = cr_safetensors_next_key(file, key))
        if (option_of(key))
            *CR_PUSH(c->options, c->n_options, c->cap_options) = (crescent_setting){
                cr_strdup(option_of(key)), cr_strdup(cr_safetensors_metadata(file, key))};
}

/* Reads step, seed and options of a checkpoint file; closes the file again. */
static int open_checkpoint(crescent_context *context, const char *path,
                           crescent_checkpoint **checkpoint, struct cr_error *error)
{
    struct cr_safetensors file;
    int64_t step, seed;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    int status = read_number(&file, CR_CHECKPOINT_STEP, &step, error) ||
                 read_number(&file, CR_CHECKPOINT_SEED, &seed, error);
    if (!status) {
        crescent_checkpoint *c = cr_calloc(1, sizeof *c);
        *c = (crescent_checkpoint){cr_refer(context), step, seed, NULL, 0, 0};
        take_options(c, &file);
        *checkpoint = c;
    }
    cr_safetensors_close(&file);
    return status ? -1 : 0;
}

int crescent_checkpoint_open(crescent_context *context, const char *path,
                             crescent_checkpoint **checkpoint)
{
    if (checkpoint)
        *checkpoint = NULL;
    CR_REQUIRE_CONTEXT(context, path && checkpoint);
    CR_ENTER(context);
    return cr_done(&guard, open_checkpoint(context, path, checkpoint, guard.error));
}

void crescent_checkpoint_close(crescent_checkpoint *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_options; i++) {
        free((char *)c->options[i].key);
        free((char *)c->options[i].value);
    }
    free(c->options);
    cr_release(c->context);
    free(c);
}

int64_t crescent_checkpoint_step(const crescent_checkpoint *checkpoint)
{
    return checkpoint ? checkpoint->step : 0;
}

int64_t crescent_checkpoint_seed(const crescent_checkpoint *checkpoint)
{
    return checkpoint ? checkpoint->seed : 0;
}

int crescent_checkpoint_option_count(const crescent_checkpoint *checkpoint)
{
    return checkpoint ? checkpoint->n_options : 0;
}

int crescent_checkpoint_option_at(const crescent_checkpoint *checkpoint, int index,
                                  crescent_setting *option)
{
    CR_REQUIRE(checkpoint, option);
    if (cr_check_index("a checkpoint", "option", index, checkpoint->n_options,
                       &checkpoint->context->error))
        return CRESCENT_FAILED;
    *option = checkpoint->options[index];
    return CRESCENT_OK;
}

/* ---- resuming ---- */

/* Fails unless the file has a tensor with the name, shape and type of `expected`. */
static int check_tensor(const char *script, const struct cr_safetensors *file,
                        const struct cr_st_tensor *expected, struct cr_error *error)
{
    const struct cr_st_tensor *found = cr_safetensors_find(file, expected->name);
    char shape[224];
    cr_shape_text(shape, sizeof shape, expected->rank, expected->shape);
    if (!found)
        return cr_fail(error, "%.300s: no tensor '%.150s', expected a checkpoint of %.300s",
                       file->path, expected->name, script);
    if (found->type != expected->type || found->rank != expected->rank ||
        memcmp(found->shape, expected->shape, (size_t)found->rank * sizeof *found->shape) != 0)
        return cr_fail(error, "%.300s: '%.150s' is of another shape or type, expected %s of %s",
                       file->path, expected->name, shape, cr_st_type_name(expected->type));
    return 0;
}

static int check_tensors(const crescent_trainer *t, const struct cr_safetensors *file,
                         const struct cr_st_tensor *tensors, int n, struct cr_error *error)
{
    const char *script = cr_trainer_engine(t)->path;
    for (int i = 0; i < n; i++)
        if (check_tensor(script, file, &tensors[i], error))
            return -1;
    if (file->n_tensors != n)
        return cr_fail(error, "%.300s: %d tensors, expected the %d of %.300s", file->path,
                       file->n_tensors, n, script);
    return 0;
}

/* Copies the elements of a tensor of the file to `out`. */
static int read_tensor(const struct cr_safetensors *file, const struct cr_st_tensor *tensor,
                       void *out, struct cr_error *error)
{
    size_t at = (size_t)((const unsigned char *)tensor->data - file->mapping.bytes);
    return cr_mapping_read(&file->mapping, at, tensor->bytes, out)
               ? cr_mapping_fail(&file->mapping, file->path, error->text, sizeof error->text)
               : 0;
}

/* Reads the value of input i from the file.  If ranks share the input, keeps this rank's share of
 * it. */
static int take_input(crescent_trainer *t, const struct cr_safetensors *file, int i, struct cr_error *error)
{
    const struct cr_st_tensor *found = cr_safetensors_find(file, cr_trainer_engine(t)->inputs[i].name);
    if (!cr_is_shared_input(t, i))
        return read_tensor(file, found, t->inputs.data[i], error);
    void *whole = cr_whole_new(t, i, error);
    int status = whole ? read_tensor(file, found, whole, error) : -1;
    if (!status)
        cr_set_shared(t, i, whole);
    free(whole);
    return status;
}

/* Loads the tensors that were checked before, bit for bit.  Fails for lack of memory, or if the
 * file cannot be read. */
static int take_tensors(crescent_trainer *t, const struct cr_safetensors *file,
                        struct cr_error *error)
{
    struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_params; i++) {
        const struct cr_st_tensor *found = cr_safetensors_find(file, e->params[i].name);
        const struct cr_file_tensor tensor = {file, found};
        const struct cr_contents contents = cr_contents_of_file(&tensor);
        if (cr_engine_set_param(e, i, &contents, error))
            return -1;
        t->model->given[i] = true;
    }
    for (int i = 0; i < e->n_inputs; i++)
        if (t->next_state.is_state[i] && take_input(t, file, i, error))
            return -1;
    return 0;
}

/* Reads the step and the losses from the metadata; fails if the seed differs from the training's
 * seed. */
static int read_metadata(const crescent_trainer *t, const struct cr_safetensors *file,
                         int64_t *step, struct cr_history *history, struct cr_error *error)
{
    int64_t seed;
    if (read_number(file, CR_CHECKPOINT_STEP, step, error) ||
        read_number(file, CR_CHECKPOINT_SEED, &seed, error))
        return -1;
    if (seed != t->model->origin->seed)
        return cr_fail(error, "%.400s: a checkpoint of --seed %" PRId64 ", expected the same seed",
                       file->path, seed);
    if (cr_history_parse(history, cr_safetensors_metadata(file, CR_CHECKPOINT_LOSSES),
                         cr_safetensors_metadata(file, CR_CHECKPOINT_VALIDATIONS), *step))
        return cr_fail(error,
                       "%.400s: no losses of %" PRId64 " steps in its metadata, expected a "
                       "checkpoint of train",
                       file->path, *step);
    return 0;
}

/* Sets the state of a training from a file.  Changes nothing unless all tensors of the file are as
 * expected. */
static int read_state(crescent_trainer *t, const struct cr_safetensors *file,
                      struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_history history = {0};
    int64_t step;
    if (cr_check_started(t, error) || read_metadata(t, file, &step, &history, error)) {
        cr_history_free(&history);
        return -1;
    }
    struct cr_st_tensor *tensors = cr_calloc((size_t)(e->n_params + e->n_inputs), sizeof *tensors);
    int n = cr_list_state(t, tensors);
    int status = check_tensors(t, file, tensors, n, error) || take_tensors(t, file, error) ? -1 : 0;
    free(tensors);
    if (status) {
        cr_history_free(&history);
        return -1;
    }
    cr_history_free(&t->history);
    t->history = history;
    t->step = step;
    t->has_step = false;
    return 0;
}

static int resume(crescent_trainer *t, const char *path, struct cr_error *error)
{
    struct cr_safetensors file;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    int status = read_state(t, &file, error);
    cr_safetensors_close(&file);
    return status;
}

int crescent_trainer_resume(crescent_trainer *trainer, const char *path)
{
    CR_REQUIRE(trainer, path);
    CR_ENTER(trainer->context);
    return cr_done(&guard, resume(trainer, path, guard.error));
}
