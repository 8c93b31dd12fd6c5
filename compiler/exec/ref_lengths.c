#include "ref_lengths.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/lengths.h"
#include "compiler/ir/mem.h"
#include "exec.h"
#include "tensor_memory.h"

enum { BYTES = 4 }; /* of an element at the border, whatever its type */

/* A tensor of some sizes inside one that is laid out for others. */
struct box {
    int rank;
    const int64_t *sizes, *layout;
};

/* Calls `copy` with the place of each element in the tensor and in the layout. */
static void each_element(const struct box *b, void (*copy)(void *, int64_t, int64_t), void *context)
{
    int64_t at[CR_MAX_RANK] = {0}, n = cr_elements(b->rank, b->sizes);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0;
        for (int a = 0; a < b->rank; a++)
            place = place * b->layout[a] + at[a];
        copy(context, i, place);
        for (int a = b->rank - 1; a >= 0 && ++at[a] == b->sizes[a]; a--)
            at[a] = 0;
    }
}

struct copies {
    const char *from;
    char *to;
    const double *exact; /* what is copied out, and where it is kept as it is */
    double *kept;
    enum cr_dtype dtype;
};

static void copy_in(void *context, int64_t at, int64_t place)
{
    const struct copies *c = context;
    memcpy(c->to + at * BYTES, c->from + place * BYTES, BYTES);
}

static void move_in(void *context, int64_t at, int64_t place)
{
    const struct copies *c = context;
    memmove(c->to + at * BYTES, c->to + place * BYTES, BYTES);
}

static void copy_out(void *context, int64_t at, int64_t place)
{
    const struct copies *c = context;
    c->kept[place] = c->exact[at];
    if (c->dtype == CR_I32)
        ((int32_t *)c->to)[place] = (int32_t)c->exact[at];
    else
        ((float *)c->to)[place] = (float)c->exact[at];
}

static struct box box_of(const struct cr_node *fixed, const struct cr_node *from)
{
    return (struct box){fixed->rank, fixed->shape, from->shape};
}

/* The value of each length, from the input that holds it. */
static void read_lengths(const struct cr_graph *g, const void *const *inputs, int64_t *values)
{
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!cr_is_input(&g->nodes[id]))
            continue;
        int length = cr_find_length(g, g->nodes[id].name);
        if (length >= 0)
            values[length] = *(const int32_t *)inputs[n];
        n++;
    }
}

static struct box box_of_node(const struct cr_fixed *f, cr_id node)
{
    return box_of(&f->graph->nodes[f->map[node]], &f->from->nodes[node]);
}

/* Inputs in the sizes of the fixed graph. */
static int take_inputs(struct cr_fixed *f, const void *const *inputs, struct cr_error *error)
{
    f->inputs = cr_calloc((size_t)f->from->n_nodes, sizeof *f->inputs);
    for (cr_id id = 0; id < f->from->n_nodes; id++) {
        if (!cr_is_input(&f->from->nodes[id]))
            continue;
        struct box box = box_of_node(f, id);
        struct copies c = {.from = inputs[f->n_inputs]};
        if (!c.from) {
            f->inputs[f->n_inputs++] = NULL;
            continue;
        }
        c.to = cr_memory_new(cr_elements(box.rank, box.sizes) * BYTES, "an input", error);
        f->inputs[f->n_inputs++] = c.to;
        if (!c.to)
            return -1;
        each_element(&box, copy_in, &c);
    }
    return 0;
}

int cr_fixed_open(struct cr_fixed *fixed, const struct cr_graph *from, const void *const *inputs,
                  struct cr_error *error)
{
    int64_t values[CR_MAX_LENGTHS];
    *fixed = (struct cr_fixed){.from = from};
    read_lengths(from, inputs, values);
    fixed->map = cr_calloc((size_t)from->n_nodes, sizeof *fixed->map);
    fixed->graph = cr_fix_lengths(from, values, fixed->map, error);
    return fixed->graph ? take_inputs(fixed, inputs, error) : -1;
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

/* No element is moved to where another still lies: places are in order. */
void cr_fixed_pack(const struct cr_fixed *fixed, cr_id node, void *tensor)
{
    struct box box = box_of_node(fixed, node);
    struct copies c = {.to = tensor};
    each_element(&box, move_in, &c);
}

/* ---- the interpreter ---- */

static void free_outputs(const struct cr_fixed *f, double **outputs)
{
    for (int i = 0; i < f->graph->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

/* Room for the outputs that are asked for, in the sizes of the fixed graph; null if there is none. */
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

/* Writes what was computed into tensors that are laid out for the bounds. */
static void give_outputs(const struct cr_fixed *f, double *const *from, double *const *exact,
                         void *const *outputs)
{
    for (int i = 0; i < f->graph->n_outputs; i++) {
        if (!exact[i])
            continue;
        const struct cr_node *node = &f->graph->nodes[f->graph->outputs[i].id];
        struct box box = box_of(node, &f->from->nodes[f->from->outputs[i].id]);
        struct copies c = {
            .to = outputs[i], .exact = from[i], .kept = exact[i], .dtype = node->dtype};
        each_element(&box, copy_out, &c);
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
