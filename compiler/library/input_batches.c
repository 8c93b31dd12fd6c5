/* input_batches.c - batches of inputs read from .npy files; see input_batches.h. */
#include "input_batches.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "handles.h"

/* Returns batch number i of an input's file. */
static struct cr_npy batch_of(const struct cr_feed *feed, const struct cr_port *port, int64_t i)
{
    struct cr_npy batch = feed->file;
    if (batch.rank == port->rank)
        return batch;
    batch.data += (size_t)(i * batch.stride[0]) * cr_npy_width(batch.type);
    batch.rank--;
    memmove(batch.shape, batch.shape + 1, (size_t)batch.rank * sizeof *batch.shape);
    memmove(batch.stride, batch.stride + 1, (size_t)batch.rank * sizeof *batch.stride);
    batch.elements /= feed->batches;
    return batch;
}

/* Fails unless the file has the input's shape, possibly with a leading axis that counts batches. */
static int check_shape(struct cr_feed *feed, const struct cr_port *port, struct cr_error *error)
{
    const struct cr_npy *file = &feed->file;
    char found[400], expected[224];
    int extra = file->rank - port->rank;
    feed->batches = extra == 1 ? file->shape[0] : 1;
    if ((extra == 0 || extra == 1) && feed->batches > 0 &&
        memcmp(file->shape + extra, port->shape, (size_t)port->rank * sizeof *port->shape) == 0)
        return 0;
    cr_shape_text(found, sizeof found, file->rank < 16 ? file->rank : 16, file->shape);
    return cr_fail(error, "%.300s: the array has shape %s, expected %s or [batches, ...] of it",
                   file->path, found,
                   cr_shape_text(expected, sizeof expected, port->rank, port->shape));
}

/* Reads each batch into `data` to check it, and mixes it into *hash unless that is null. */
static int check_batches(const struct cr_feed *feed, const struct cr_engine *e, void *data,
                         uint64_t *hash, struct cr_error *error)
{
    const struct cr_port *port = &e->inputs[feed->input];
    for (int64_t i = 0; i < feed->batches; i++) {
        struct cr_npy batch = batch_of(feed, port, i);
        if (cr_take_input(e, feed->input, &batch, data, error))
            return -1;
        if (hash)
            *hash = cr_hash_words(*hash, data, cr_port_elements(port));
    }
    return 0;
}

/* ---- opening ---- */

int cr_check_input_name(const struct cr_engine *e, const char *option, const char *name,
                        struct cr_error *error)
{
    char hint[160];
    if (cr_port_find(e->inputs, e->n_inputs, name) != CR_NONE && !cr_cotangent_of(name))
        return 0;
    const char **names = cr_calloc((size_t)e->n_inputs, sizeof *names);
    for (int i = 0; i < e->n_inputs; i++)
        names[i] = e->inputs[i].name;
    cr_did_you_mean(hint, sizeof hint, name, names, e->n_inputs);
    if (!hint[0] && e->n_inputs)
        snprintf(hint, sizeof hint, ", the first is %.100s", names[0]);
    free(names);
    return cr_fail(error, "%.400s: %s%s%.100s: no input of that name%s", e->path,
                   option ? option : "", option ? " " : "", name, hint);
}

static int check_names(const struct cr_engine *e, const struct cr_feed_source *source,
                       struct cr_error *error)
{
    for (int i = 0; i < source->n_files; i++)
        if (!source->files[i].name || !source->files[i].path)
            return cr_fail(error,
                           "%.400s: file %d for an input is null, expected a name and a path",
                           e->path, i);
        else if (cr_check_input_name(e, source->option, source->files[i].name, error))
            return -1;
    return 0;
}

/* Returns the path of the last file that the caller named for an input, or null. */
static const char *path_of(const struct cr_feed_source *source, const char *name)
{
    const char *path = NULL;
    for (int i = 0; i < source->n_files; i++)
        if (strcmp(source->files[i].name, name) == 0)
            path = source->files[i].path;
    return path;
}

/* Opens the file of an input and checks all its batches. */
static int open_feed(struct cr_feeds *feeds, const struct cr_engine *e, int input, const char *path,
                     void *data, uint64_t *hash, struct cr_error *error)
{
    struct cr_feed *feed = &feeds->items[feeds->n];
    feed->input = input;
    feed->path = cr_strdup(path);
    if (cr_npy_open(&feed->file, feed->path, error->text, sizeof error->text)) {
        free(feed->path);
        return -1;
    }
    feeds->n++;
    return check_shape(feed, &e->inputs[input], error) || check_batches(feed, e, data, hash, error);
}

int cr_feeds_open(struct cr_feeds *feeds, const struct cr_engine *e,
                  const struct cr_feed_source *source, void *const *data, struct cr_error *error)
{
    *feeds = (struct cr_feeds){cr_calloc((size_t)e->n_inputs, sizeof *feeds->items), 0};
    if (check_names(e, source, error))
        return -1;
    for (int i = 0; i < e->n_inputs; i++) {
        const char *name = e->inputs[i].name, *path = path_of(source, name);
        if (path && source->is_state[i])
            return cr_fail(error,
                           "%.400s: %s %.100s: found a state, whose next value is the output of "
                           "that name, expected an input of data",
                           e->path, source->option, name);
        if (path && open_feed(feeds, e, i, path, data[i], source->hash, error))
            return -1;
    }
    return 0;
}

void cr_feeds_close(struct cr_feeds *feeds)
{
    for (int i = 0; i < feeds->n; i++) {
        cr_npy_close(&feeds->items[i].file);
        free(feeds->items[i].path);
    }
    free(feeds->items);
    *feeds = (struct cr_feeds){0};
}

const struct cr_feed *cr_feeds_find(const struct cr_feeds *feeds, int input)
{
    for (int i = 0; i < feeds->n; i++)
        if (feeds->items[i].input == input)
            return &feeds->items[i];
    return NULL;
}

int64_t cr_feeds_batches(const struct cr_feeds *feeds)
{
    int64_t most = 1;
    for (int i = 0; i < feeds->n; i++)
        if (feeds->items[i].batches > most)
            most = feeds->items[i].batches;
    return most;
}

int cr_feeds_take(const struct cr_feeds *feeds, const struct cr_engine *e, int64_t index,
                  void *const *data, struct cr_error *error)
{
    for (int i = 0; i < feeds->n; i++) {
        const struct cr_feed *feed = &feeds->items[i];
        struct cr_npy batch = batch_of(feed, &e->inputs[feed->input], index % feed->batches);
        if (cr_take_input(e, feed->input, &batch, data[feed->input], error))
            return -1;
    }
    return 0;
}
