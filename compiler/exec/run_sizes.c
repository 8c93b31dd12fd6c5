/* run_sizes.c - computes the actual sizes of inputs and outputs in a run; see run_sizes.h. */
#include "run_sizes.h"

#include <string.h>

#include "load_tensors.h"
#include "past_rows.h"
#include "subarray.h"

enum { BYTES = 4 }; /* bytes of an element, of any type */

/* ---- sizes ---- */

/* Returns the value of a length in a run; for a ragged length, the size of the longest row. */
static int32_t size_of_length(const struct cr_engine *e, int length, const void *const *inputs)
{
    const int32_t *values = inputs[e->lengths[length].input];
    int batch = e->lengths[length].batch;
    int32_t n = batch ? size_of_length(e, batch - 1, inputs) : 1, most = 1;
    for (int32_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Sets the sizes of a port in a run: for an axis that is a length, the length's value; for other
 * axes and for the batch of a ragged length, the bound. */
static void find_sizes(const struct cr_engine *e, const struct cr_port *port,
                       const signed char *axes, const void *const *inputs, int64_t *sizes)
{
    for (int a = 0; a < port->rank; a++) {
        int length = axes[a];
        bool whole = length && e->lengths[length - 1].batch &&
                     cr_port_batch_axis(e, port, axes, length) == CR_NONE;
        sizes[a] = length && !whole ? size_of_length(e, length - 1, inputs) : port->shape[a];
    }
}

void cr_input_sizes(const struct cr_engine *e, int i, const void *const *inputs,
                    int64_t sizes[CR_MAX_RANK])
{
    find_sizes(e, &e->inputs[i], e->length_axes[i], inputs, sizes);
}

void cr_output_sizes(const struct cr_engine *e, int i, const void *const *inputs,
                     int64_t sizes[CR_MAX_RANK])
{
    find_sizes(e, &e->outputs[i], e->output_axes[i], inputs, sizes);
}

/* ---- files ---- */

/* The files to read, and where each length comes from: its own file, or the first array with such
 * an axis. */
struct reading {
    const struct cr_engine *engine;
    const char *const *paths;
    void *const *tensors;
    int said_by[CR_MAX_LENGTHS]; /* by length: the input whose file set it, or CR_NONE */
    struct cr_error *error;
};

static int wrong_size(const struct reading *r, const struct cr_npy *file, int axis, int length)
{
    const struct cr_engine *e = r->engine;
    const struct cr_port *of = &e->inputs[e->lengths[length].input];
    return cr_fail(r->error, "%.300s: axis %d of the array has %lld elements, expected %d, as "
                   "%slength %.100s has in the file of %.100s", file->path, axis + 1,
                   (long long)file->shape[axis],
                   (int)size_of_length(e, length, (const void *const *)r->tensors),
                   e->lengths[length].batch ? "the longest row of " : "", of->name,
                   e->inputs[r->said_by[length]].name);
}

/* Takes an array's size along an axis that is a length.  The first array sets the length, unless
 * the length has its own file; a ragged length gets the size in all rows.  Later sizes must equal
 * the length's value, or the longest row of a ragged length. */
static int take_size(struct reading *r, const struct cr_npy *file, int input, int axis, int length)
{
    const struct cr_engine *e = r->engine;
    int holder = e->lengths[length].input;
    int32_t *values = r->tensors[holder];
    if (r->said_by[length] == CR_NONE) {
        for (int64_t i = 0; i < cr_port_elements(&e->inputs[holder]); i++)
            values[i] = (int32_t)file->shape[axis];
        r->said_by[length] = input;
    }
    int32_t size = size_of_length(e, length, (const void *const *)r->tensors);
    bool laid_out = r->said_by[length] == holder && file->shape[axis] == e->lengths[length].bound;
    return file->shape[axis] == size || laid_out ? 0 : wrong_size(r, file, axis, length);
}

/* True if an array fits into an input's tensor; it may be shorter along axes that are lengths. */
static bool fits(const struct cr_engine *e, int input, const struct cr_npy *file)
{
    const struct cr_port *port = &e->inputs[input];
    bool good = file->rank == port->rank;
    for (int a = 0; good && a < port->rank; a++)
        good = file->shape[a] == port->shape[a] ||
               (e->length_axes[input][a] && file->shape[a] >= 1 && file->shape[a] < port->shape[a]);
    return good;
}

/* Reads an array into an input's tensor and sets the lengths of its axes.  cr_take_array reports
 * a wrong shape. */
static int take_array(struct reading *r, int input, const struct cr_npy *file)
{
    const struct cr_engine *e = r->engine;
    struct cr_port sized = e->inputs[input];
    const struct cr_subarray part = {sized.rank, file->shape, e->inputs[input].shape, BYTES};
    bool good = fits(e, input, file);
    for (int a = 0; good && a < sized.rank; a++) {
        int length = e->length_axes[input][a];
        if (length && take_size(r, file, input, a, length - 1))
            return -1;
        sized.shape[a] = file->shape[a];
    }
    if (cr_take_array(&sized, file, r->tensors[input], r->error))
        return -1;
    cr_subarray_unpack(&part, r->tensors[input], r->tensors[input]);
    return cr_check_ids(e, input, file->path, r->tensors[input], (const void *const *)r->tensors,
                        r->error);
}

static int read_array(struct reading *r, int input)
{
    struct cr_npy file;
    if (cr_npy_open(&file, r->paths[input], r->error->text, sizeof r->error->text))
        return -1;
    int status = take_array(r, input, &file);
    cr_npy_close(&file);
    return status;
}

/* Reads the lengths that have their own file first, since all arrays must agree with them. */
static int read_lengths(struct reading *r)
{
    const struct cr_engine *e = r->engine;
    for (int i = 0; i < e->n_lengths; i++) {
        int input = e->lengths[i].input;
        r->said_by[i] = r->paths[input] ? input : CR_NONE;
        if (r->paths[input] &&
            (read_array(r, input) ||
             cr_check_length(e, i, (const void *const *)r->tensors, r->error)))
            return -1;
    }
    return 0;
}

int cr_read_inputs(const struct cr_engine *e, const char *const *paths, void *const *tensors,
                   struct cr_error *error)
{
    struct reading r = {.engine = e, .paths = paths, .tensors = tensors, .error = error};
    if (read_lengths(&r))
        return -1;
    for (int i = 0; i < e->n_inputs; i++)
        if (paths[i] && !cr_engine_is_length(e, i) && read_array(&r, i))
            return -1;
    return 0;
}
