/* port_sizes.c - the actual sizes of tensors whose axes are lengths, and tensors of these sizes;
 * see crescent.h. */
#include "compiler/exec/run_sizes.h"

#include <stdlib.h>

#include "compiler/exec/subarray.h"
#include "compiler/ir/mem.h"
#include "handles.h"
#include "input_batches.h"

/* Returns, by input, the path of the last file that the caller named for it, or null. */
static const char **paths_of(const struct cr_engine *e, const crescent_input_file *files, int n,
                             struct cr_error *error)
{
    const char **paths = cr_calloc((size_t)e->n_inputs, sizeof *paths);
    for (int i = 0; i < n; i++) {
        if (!files[i].name || !files[i].path)
            cr_fail(error, "%.400s: file %d for an input is null, expected a name and a path",
                    e->path, i);
        else if (!cr_check_input_name(e, NULL, files[i].name, error)) {
            paths[cr_port_find(e->inputs, e->n_inputs, files[i].name)] = files[i].path;
            continue;
        }
        free(paths);
        return NULL;
    }
    return paths;
}

int crescent_read_inputs(const crescent_model *model, const crescent_input_file *files, int n,
                         void *const *tensors)
{
    CR_REQUIRE(model, (files || n == 0) && tensors);
    CR_ENTER(model->context);
    const struct cr_engine *e = &model->engine;
    const char **paths = paths_of(e, files, n, guard.error);
    int status = paths ? cr_read_inputs(e, paths, tensors, guard.error) : -1;
    free(paths);
    return cr_done(&guard, status);
}

/* Fails if a run would refuse the values of the lengths. */
static int check_held(const crescent_model *m, const void *const *inputs, struct cr_error *error)
{
    const struct cr_engine *e = &m->engine;
    for (int i = 0; i < e->n_lengths; i++) {
        if (!inputs[e->lengths[i].input])
            return cr_fail(error, "%.400s: the tensor of %.200s is null, expected one", e->path,
                           e->inputs[e->lengths[i].input].name);
        if (cr_check_length(e, i, inputs, error))
            return -1;
    }
    return 0;
}

/* Returns a port with the actual sizes of its axes; of the inputs, reads only tensors that hold
 * lengths. */
int crescent_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                        const void *const *inputs, crescent_port *port)
{
    CR_REQUIRE(model, inputs && port);
    CR_ENTER(model->context);
    int status =
        crescent_port_at(model, kind, index, port) || check_held(model, inputs, guard.error);
    if (!status && kind == CRESCENT_INPUT)
        cr_input_sizes(&model->engine, index, inputs, port->shape);
    if (!status && kind == CRESCENT_OUTPUT)
        cr_output_sizes(&model->engine, index, inputs, port->shape);
    return cr_done(&guard, status ? -1 : 0);
}

/* Sets *part to the part of a port's tensor that a run with the sizes `sized` uses.  Fails in the
 * name of `function` if the sizes exceed the port. */
static int subarray_of(const crescent_port *port, const crescent_port *sized, size_t width,
                       const char *function, struct cr_subarray *part)
{
    bool fits = port->rank == sized->rank && port->rank >= 0 && port->rank <= CRESCENT_MAX_RANK;
    for (int axis = 0; fits && axis < port->rank; axis++)
        fits = sized->shape[axis] >= 0 && sized->shape[axis] <= port->shape[axis];
    if (!fits)
        return cr_refuse(NULL, function,
                         "the sizes are not inside the shape of the port, expected those of a run");
    if (width != 4 && width != 8)
        return cr_refuse(NULL, function, "an element has another width, expected 4 or 8 bytes");
    *part = (struct cr_subarray){port->rank, sized->shape, port->shape, width};
    return CRESCENT_OK;
}

int crescent_pack(const crescent_port *port, const crescent_port *sized, size_t width,
                  const void *tensor, void *packed)
{
    struct cr_subarray part;
    if (!port || !sized || !tensor || !packed)
        return cr_refuse_null(NULL, __func__);
    int status = subarray_of(port, sized, width, __func__, &part);
    if (status == CRESCENT_OK)
        cr_subarray_pack(&part, tensor, packed);
    return status;
}

int crescent_unpack(const crescent_port *port, const crescent_port *sized, size_t width,
                    const void *packed, void *tensor)
{
    struct cr_subarray part;
    if (!port || !sized || !tensor || !packed)
        return cr_refuse_null(NULL, __func__);
    int status = subarray_of(port, sized, width, __func__, &part);
    if (status == CRESCENT_OK)
        cr_subarray_unpack(&part, packed, tensor);
    return status;
}
