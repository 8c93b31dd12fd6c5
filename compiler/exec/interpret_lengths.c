#include "interpret_lengths.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/fixed_lengths.h"
#include "compiler/ir/mem.h"
#include "exec.h"
#include "subarray.h"
#include "tensor_memory.h"

enum { BYTES = 4 }; /* bytes of an element of an input or output, of any type */

/* Reads the value of each length from the input that holds it into values[i]; for a ragged
 * length, points rows[i] to the sizes of the rows. */
static void read_lengths(const struct cr_graph *g, const void *const *inputs, int64_t *values,
                         const int32_t **rows)
{
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!cr_is_input(&g->nodes[id]))
            continue;
        int length = cr_find_length(g, g->nodes[id].name);
        if (length >= 0) {
            values[length] = *(const int32_t *)inputs[n];
            rows[length] = g->lengths[length].batch ? inputs[n] : NULL;
        }
        n++;
    }
}

/* Returns the part of a node's layout for the bounds that contains existing elements. */
static struct cr_subarray subarray_of(const struct cr_fixed *f, cr_id node)
{
    const struct cr_node *fixed = &f->graph->nodes[f->map[node]];
    return (struct cr_subarray){fixed->rank, fixed->shape, f->from->nodes[node].shape, BYTES};
}

/* Copies the inputs, without elements beyond the lengths, to the sizes of the fixed graph. */
static int take_inputs(struct cr_fixed *f, const void *const *inputs, struct cr_error *error)
{
    f->inputs = cr_calloc((size_t)f->from->n_nodes, sizeof *f->inputs);
    for (cr_id id = 0; id < f->from->n_nodes; id++) {
        if (!cr_is_input(&f->from->nodes[id]))
            continue;
        struct cr_subarray part = subarray_of(f, id);
        const void *from = inputs[f->n_inputs];
        void *to = NULL;
        if (from) {
            to = cr_memory_new(cr_elements(part.rank, part.sizes) * BYTES, "an input", error);
            if (!to)
                return -1;
            cr_subarray_pack(&part, from, to);
        }
        f->inputs[f->n_inputs++] = to;
    }
    return 0;
}

int cr_fixed_open(struct cr_fixed *fixed, const struct cr_graph *from, const void *const *inputs,
                  struct cr_error *error)
{
    int64_t values[CR_MAX_LENGTHS];
    const int32_t *rows[CR_MAX_LENGTHS];
    *fixed = (struct cr_fixed){.from = from};
    read_lengths(from, inputs, values, rows);
    fixed->map = cr_calloc((size_t)from->n_nodes, sizeof *fixed->map);
    fixed->graph = cr_fix_lengths(from, values, rows, fixed->map);
    return take_inputs(fixed, inputs, error);
}

void cr_fixed_close(struct cr_fixed *fixed)
{
    for (int i = 0; i < fixed->n_inputs; i++)
        free((void *)fixed->inputs[i]);
    free(fixed->inputs);
    free(fixed->map);
    if (fixed->graph)
        cr_graph_free(fixed->graph);
    *fixed = (struct cr_fixed){0};
}

void cr_fixed_pack(const struct cr_fixed *fixed, cr_id node, void *tensor)
{
    struct cr_subarray part = subarray_of(fixed, node);
    cr_subarray_pack(&part, tensor, tensor);
}

/* ---- the interpreter ---- */

static void free_outputs(const struct cr_fixed *f, double **outputs)
{
    for (int i = 0; i < f->graph->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

/* Allocates the requested outputs with the sizes of the fixed graph; null on failure. */
static double **new_outputs(const struct cr_fixed *f, double *const *exact, struct cr_error *error)
{
    double **outputs = cr_calloc((size_t)f->graph->n_outputs, sizeof *outputs);
    for (int i = 0; i < f->graph->n_outputs; i++) {
        const struct cr_node *node = &f->graph->nodes[f->graph->outputs[i].id];
        int64_t bytes = cr_elements(node->rank, node->shape) * (int64_t)sizeof(double);
        if (exact[i] && !(outputs[i] = cr_memory_new(bytes, "an output", error))) {
            free_outputs(f, outputs);
            return NULL;
        }
    }
    return outputs;
}

/* Copies an output computed for the actual sizes to the layout for the bounds: to `exact`, and
 * rounded to `output`.  Overwrites `computed`. */
static void give_output(const struct cr_subarray *part, enum cr_dtype dtype, double *computed,
                        double *exact, void *output)
{
    struct cr_subarray doubles = *part;
    doubles.width = sizeof(double);
    cr_subarray_unpack(&doubles, computed, exact);
    for (int64_t i = 0; i < cr_elements(part->rank, part->sizes); i++) {
        float rounded = (float)computed[i];
        int32_t whole = dtype == CR_I32 ? (int32_t)computed[i] : 0;
        memcpy((char *)computed + i * BYTES, dtype == CR_I32 ? (void *)&whole : (void *)&rounded,
               BYTES);
    }
    cr_subarray_unpack(part, computed, output);
}

static void give_outputs(const struct cr_fixed *f, double *const *computed, double *const *exact,
                         void *const *outputs)
{
    for (int i = 0; i < f->graph->n_outputs; i++) {
        cr_id id = f->from->outputs[i].id;
        struct cr_subarray part = subarray_of(f, id);
        if (exact[i])
            give_output(&part, f->from->nodes[id].dtype, computed[i], exact[i], outputs[i]);
    }
}

int cr_interpret_lengths(const struct cr_graph *graph, const float *const *params,
                         const void *const *inputs, double *const *exact, void *const *outputs,
                         struct cr_error *error)
{
    struct cr_fixed fixed;
    double **results = NULL;
    int status = cr_fixed_open(&fixed, graph, inputs, error);
    if (!status)
        status = (results = new_outputs(&fixed, exact, error)) ? 0 : -1;
    if (!status)
        status = cr_interpret(fixed.graph, params, fixed.inputs, results, error);
    if (!status)
        give_outputs(&fixed, results, exact, outputs);
    if (results)
        free_outputs(&fixed, results);
    cr_fixed_close(&fixed);
    return status;
}
