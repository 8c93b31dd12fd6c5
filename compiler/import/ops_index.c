/* ops_index.c - operators of ONNX that look up elements by indices; see ops.h. */
#include <string.h>

#include "ops.h"

/* Makes negative indices, which count from the end, count from the start. */
static cr_t from_start(struct cr_translation *t, cr_t index, int64_t size)
{
    if (!index)
        return NULL;
    return cr_t_where(t, cr_t_with(t, "lt", index, 0), cr_t_with(t, "+", index, cr_number_of_size(size)),
                      index);
}

/* True if ids of an input look up rows of a weight: then a run refuses negative ids. */
static bool is_embedding(struct cr_translation *t, cr_t table, cr_t index)
{
    return table->kind == CR_TERM_VALUE && t->graph->values[table->value].tensor &&
           index->kind == CR_TERM_VALUE && t->graph->values[index->value].is_input;
}

/* A known scalar index takes a slice and removes the axis. */
void cr_op_gather(struct cr_translation *t)
{
    cr_t x = t->in[0], index = cr_input(t, 1);
    int n = 0;
    if (!x || !index)
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank);
    if (t->failed || x->rank == 0) {
        cr_onnx_refuse(t, "expected a table");
        return;
    }
    if (!is_embedding(t, x, index))
        index = from_start(t, index, x->shape[axis]);
    if (index && index->data && index->rank == 0) { /* a known scalar */
        int64_t shape[CR_ONNX_RANK];
        for (int i = 0; i < x->rank; i++)
            if (i != axis)
                shape[n++] = x->shape[i];
        cr_t part = cr_t_narrow(t, x, axis, cr_t_whole(index->data[0]), 1);
        cr_set_output(t, 0, cr_t_reshape(t, part, n, shape));
        return;
    }
    cr_set_output(t, 0, cr_t_gather_axis(t, x, index, axis));
}

void cr_op_gather_elements(struct cr_translation *t)
{
    cr_t x = t->in[0], index = cr_input(t, 1);
    if (!x || !index)
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank);
    cr_set_output(t, 0, cr_t_gather_along(t, x, from_start(t, index, x->shape[axis]), axis));
}

/* Makes lists of indices row-major indices over `depth` axes of x, which follow `batch` ones. */
static cr_t flat_index(struct cr_translation *t, cr_t indices, cr_t x, int batch, int depth)
{
    int64_t shape[CR_ONNX_RANK];
    int last = indices->rank - 1;
    cr_t flat = NULL;
    memcpy(shape, indices->shape, sizeof shape);
    for (int i = 0; i < depth; i++) {
        cr_t part = cr_t_reshape(t, cr_t_narrow(t, indices, last, i, 1), last, shape);
        part = from_start(t, part, x->shape[batch + i]);
        flat = flat
                   ? cr_t_binary(t, "+", cr_t_with(t, "*", flat, cr_number_of_size(x->shape[batch + i])), part)
                   : part;
    }
    return flat;
}

/* Merges the first axes of x, batch and indexed ones, so that one index finds a row. */
static cr_t as_rows(struct cr_translation *t, cr_t x, int axes)
{
    int64_t shape[CR_ONNX_RANK] = {1};
    int n = 1;
    for (int i = 0; i < x->rank; i++)
        if (i < axes)
            shape[0] = cr_sizes(t->graph->symbols, shape[0], '*', x->shape[i]);
        else
            shape[n++] = x->shape[i];
    return cr_t_reshape(t, x, n, shape);
}

/* Merges batch and indexed axes into one, and looks up its rows. */
void cr_op_gather_nd(struct cr_translation *t)
{
    cr_t x = t->in[0], indices = cr_input(t, 1);
    int batch = (int)cr_onnx_integer(t->node, "batch_dims", 0);
    int64_t shape[CR_ONNX_RANK];
    if (!x || !indices || indices->rank < 1 || batch < 0 || batch >= indices->rank)
        return;
    int depth = (int)cr_t_plain(t, indices->shape[indices->rank - 1]);
    if (t->failed || depth < 1 || batch + depth > x->rank) {
        cr_onnx_refuse(t, "found %d indices for a tensor of %d axes, expected at most so many",
                       depth, x->rank);
        return;
    }
    cr_t index = flat_index(t, indices, x, batch, depth);
    if (batch && index) { /* the rows of batch b begin at b times their number */
        int64_t rows = 1, batches = 1;
        for (int i = 0; i < index->rank; i++)
            shape[i] = i < batch ? x->shape[i] : 1;
        for (int i = 0; i < batch; i++)
            batches = cr_sizes(t->graph->symbols, batches, '*', x->shape[i]);
        for (int i = batch; i < batch + depth; i++)
            rows = cr_sizes(t->graph->symbols, rows, '*', x->shape[i]);
        cr_t which = cr_t_reshape(t, cr_t_iota(t, 1, &batches, 0), index->rank, shape);
        index = cr_t_binary(t, "+", index, cr_t_with(t, "*", which, cr_number_of_size(rows)));
    }
    cr_set_output(t, 0, cr_t_gather(t, as_rows(t, x, batch + depth), index));
}

/* Returns the indices of elements that are not 0.  The elements have to be known. */
void cr_op_non_zero(struct cr_translation *t)
{
    cr_t x = t->in[0];
    const double *data = cr_t_known(t, x);
    if (!data)
        return;
    int64_t n = 0, shape[2] = {x->rank, 0};
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        n += data[i] != 0;
    double *places = cr_arena_new(t->arena, (size_t)(n * x->rank), sizeof *places);
    shape[1] = n;
    for (int64_t i = 0, k = 0; i < cr_t_elements(x); i++) {
        int64_t rest = i;
        for (int a = x->rank - 1; data[i] != 0 && a >= 0; a--) {
            places[a * n + k] = (double)(rest % x->shape[a]);
            rest /= x->shape[a];
        }
        k += data[i] != 0;
    }
    cr_set_output(t, 0, cr_t_data(t, CR_ONNX_INT64, 2, shape, places));
}
