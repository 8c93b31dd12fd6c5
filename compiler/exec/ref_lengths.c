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

/* A run: the fixed graph, and what is handed in and out in its sizes. */
struct run {
    const struct cr_graph *from;
    struct cr_graph *fixed;
    const void **inputs;
    double **outputs;
    int n_inputs;
};

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

/* Inputs in the sizes of the fixed graph, whose nodes up to them stand as before. */
static int take_inputs(struct run *r, const void *const *inputs, struct cr_error *error)
{
    cr_id at = 0;
    r->inputs = cr_calloc((size_t)r->from->n_nodes, sizeof *r->inputs);
    for (cr_id id = 0; id < r->from->n_nodes; id++) {
        if (!cr_is_input(&r->from->nodes[id]))
            continue;
        while (r->fixed->nodes[at].name != r->from->nodes[id].name)
            at++;
        struct box box = box_of(&r->fixed->nodes[at], &r->from->nodes[id]);
        struct copies c = {.from = inputs[r->n_inputs]};
        if (!c.from) {
            r->inputs[r->n_inputs++] = NULL;
            continue;
        }
        c.to = cr_memory_new(cr_elements(box.rank, box.sizes) * BYTES, "an input", error);
        r->inputs[r->n_inputs++] = c.to;
        if (!c.to)
            return -1;
        each_element(&box, copy_in, &c);
    }
    return 0;
}

static int make_outputs(struct run *r, double *const *exact, struct cr_error *error)
{
    r->outputs = cr_calloc((size_t)r->fixed->n_outputs, sizeof *r->outputs);
    for (int i = 0; i < r->fixed->n_outputs; i++) {
        const struct cr_node *node = &r->fixed->nodes[r->fixed->outputs[i].id];
        int64_t bytes = cr_elements(node->rank, node->shape) * (int64_t)sizeof(double);
        if (exact[i] && !(r->outputs[i] = cr_memory_new(bytes, "an output", error)))
            return -1;
    }
    return 0;
}

static void give_outputs(const struct run *r, double *const *exact, void *const *outputs)
{
    for (int i = 0; i < r->fixed->n_outputs; i++) {
        if (!exact[i])
            continue;
        const struct cr_node *node = &r->fixed->nodes[r->fixed->outputs[i].id];
        struct box box = box_of(node, &r->from->nodes[r->from->outputs[i].id]);
        struct copies c = {.to = outputs[i], .exact = r->outputs[i], .kept = exact[i],
                           .dtype = node->dtype};
        each_element(&box, copy_out, &c);
    }
}

static void end_run(struct run *r)
{
    for (int i = 0; i < r->n_inputs; i++)
        free((void *)r->inputs[i]);
    for (int i = 0; r->outputs && i < r->fixed->n_outputs; i++)
        free(r->outputs[i]);
    free(r->inputs);
    free(r->outputs);
    cr_graph_free(r->fixed);
}

int cr_interpret_lengths(const struct cr_graph *graph, const float *const *params,
                         const void *const *inputs, double *const *exact, void *const *outputs,
                         struct cr_error *error)
{
    int64_t values[CR_MAX_LENGTHS];
    struct run r = {.from = graph};
    read_lengths(graph, inputs, values);
    r.fixed = cr_fix_lengths(graph, values, error);
    if (!r.fixed)
        return -1;
    int status = take_inputs(&r, inputs, error) || make_outputs(&r, exact, error) ||
                 cr_interpret(r.fixed, params, r.inputs, r.outputs, error);
    if (!status)
        give_outputs(&r, exact, outputs);
    end_run(&r);
    return status ? -1 : 0;
}
