/*
 * gradients.c - adds the backward pass to a graph as additional outputs; reads and writes files of
 * gradients.
 *
 * A gradient's name is CR_GRADIENT followed by the tensor's name, a cotangent's name is
 * CR_COTANGENT followed by it. The prefixes contain a colon, so no name in a script can equal them.
 */
#include "compiler/ir/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/exec/tensor_memory.h"
#include "compiler/ir/mem.h"
#include "output_file.h"
#include "handles.h"
#include "compiler/files/safetensors.h"

/* ---- seeds: cotangents of outputs ---- */

struct seeds {
    struct cr_graph *g;
    struct cr_seed *items;
    int n, cap;
};

/* Adds a leaf with the shape of a node: an input named `name`, or a constant of ones if `name` is
 * null. */
static cr_id leaf_like(struct cr_graph *g, cr_id id, const char *name)
{
    struct cr_attr attr = {.dtype = CR_F32, .rank = g->nodes[id].rank, .value = 1, .name = name};
    memcpy(attr.shape, g->nodes[id].shape, sizeof attr.shape);
    return cr_must(g, name ? CR_OP_input : CR_OP_const, 0, NULL, &attr);
}

/* Adds the seed of a node: an input for the cotangent of `name`, or ones if `name` is null. */
static void add_seed(struct seeds *s, cr_id id, const char *name)
{
    char input[512];
    s->g->here = s->g->nodes[id].where;
    snprintf(input, sizeof input, "%s%s", CR_COTANGENT, name ? name : "");
    cr_id cotangent = leaf_like(s->g, id, name ? input : NULL);
    *CR_PUSH(s->items, s->n, s->cap) = (struct cr_seed){id, cotangent};
}

static bool is_among(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Fails unless each name is that of an f32 output or an f32 tapped value. */
static int check_names(const crescent_graph *graph, const char *const *names, int n,
                       struct cr_error *error)
{
    for (int i = 0; i < n; i++) {
        if (!names || !names[i])
            return cr_fail(error, "%.400s: the name of cotangent %d is null, expected one",
                           graph->origin->path, i);
        cr_id id = cr_find_value(graph, "--cotangent", names[i], error);
        if (id == CR_NONE)
            return -1;
        enum cr_dtype type = graph->graph->nodes[id].dtype;
        if (type != CR_F32)
            return cr_fail(error, "%.400s: --cotangent %.100s: the value is %s, expected f32",
                           graph->origin->path, names[i], cr_dtype_name(type));
    }
    return 0;
}

/* Adds an input as the seed of each named output or tapped value. */
static void add_named(const crescent_graph *graph, struct seeds *s, const char *const *names, int n,
                      struct cr_error *error)
{
    for (int i = 0; i < n; i++)
        if (!is_among(names, i, names[i]))
            add_seed(s, cr_find_value(graph, NULL, names[i], error), names[i]);
}

/* Adds the seeds of the named values, which are inputs, and of the script's other outputs, which
 * are ones. */
static int add_seeds(const crescent_graph *graph, struct seeds *s, const char *const *names, int n,
                     struct cr_error *error)
{
    if (s->g->n_lengths)
        return cr_fail(error, "%.400s: --grads: the model has the length %.100s, expected sizes that "
                       "are fixed", graph->origin->path, s->g->lengths[0].name);
    if (check_names(graph, names, n, error))
        return -1;
    add_named(graph, s, names, n, error);
    for (int i = 0; i < graph->n_script_outputs; i++) {
        const struct cr_output *output = &s->g->outputs[i];
        if (!is_among(names, n, output->name) && s->g->nodes[output->id].dtype == CR_F32)
            add_seed(s, output->id, NULL);
    }
    if (!s->n)
        return cr_fail(error, "%.400s: --grads: no output is f32, expected one to differentiate",
                       graph->origin->path);
    return 0;
}

/* ---- gradients as outputs ---- */

/* Lists the nodes that get a gradient: every parameter, then every f32 input that is not a
 * cotangent. */
static int find_wanted(const struct cr_graph *g, cr_id *wanted)
{
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            wanted[n++] = id;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input && g->nodes[id].dtype == CR_F32 &&
            !cr_cotangent_of(g->nodes[id].name))
            wanted[n++] = id;
    return n;
}

/* Adds the gradients of the nodes of find_wanted as outputs, in the same order. */
static void add_outputs(struct cr_graph *g, const struct seeds *s)
{
    char name[512];
    size_t most = (size_t)g->n_nodes;
    cr_id *wanted = cr_calloc(most, sizeof *wanted), *gradients = cr_calloc(most, sizeof *wanted);
    int n = find_wanted(g, wanted);
    cr_add_gradients(g, s->n, s->items, n, wanted, gradients);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%s", CR_GRADIENT, g->nodes[wanted[i]].name);
        cr_add_output(g, name, gradients[i]);
    }
    free(wanted);
    free(gradients);
}

/* Adds the gradients to a graph.  Fails if it has them already: gradients of gradients would have
 * the same names. */
static int add_gradients(crescent_graph *graph, const char *const *cotangents, int n,
                         struct cr_error *error)
{
    struct seeds seeds = {.g = graph->graph};
    if (graph->has_gradients)
        return cr_fail(error, "%.400s: found gradients in the graph already, expected none",
                       graph->origin->path);
    if (cr_check_chosen(graph, error))
        return -1;
    int status = add_seeds(graph, &seeds, cotangents, n, error);
    if (!status)
        add_outputs(graph->graph, &seeds);
    cr_index_ports(graph);
    graph->has_gradients = !status;
    free(seeds.items);
    return status;
}

int crescent_graph_gradients(crescent_graph *graph, const char *const *cotangents, int n)
{
    CR_REQUIRE(graph, n >= 0);
    CR_ENTER(graph->context);
    return cr_done(&guard, add_gradients(graph, cotangents, n, guard.error));
}

/* ---- files ---- */

/* Writes the outputs that are gradients to a file, and no others. */
static int put_gradients(const struct cr_engine *e, void *const *outputs, struct cr_writer *writer,
                         struct cr_error *error)
{
    struct cr_st_tensor *tensors = cr_calloc((size_t)e->n_outputs, sizeof *tensors);
    int n = 0, status = 0;
    for (int i = 0; i < e->n_outputs && !status; i++) {
        const struct cr_port *port = &e->outputs[i];
        const char *name = cr_gradient_of(port->name);
        if (name && !outputs[i])
            status = cr_fail(error, "%.400s: the gradient of %.200s is null, expected one",
                             writer->path, name);
        else if (name)
            tensors[n++] = (struct cr_st_tensor){.name = name,
                                                 .type = CR_ST_F32,
                                                 .rank = port->rank,
                                                 .shape = port->shape,
                                                 .data = outputs[i]};
    }
    if (!status)
        status = cr_safetensors_put(writer, tensors, n, NULL, 0, error->text, sizeof error->text);
    free(tensors);
    return status;
}

int crescent_put_gradients(const crescent_model *model, void *const *outputs, crescent_file *file)
{
    CR_REQUIRE(model, outputs && file);
    CR_ENTER(model->context);
    int status = cr_file_check(file, guard.error);
    return cr_done(&guard,
                   status ? status
                          : put_gradients(&model->engine, outputs, &file->writer, guard.error));
}

/* Reads the gradient of a port's name and shape from a file, as doubles. */
static int read_gradient(const struct cr_safetensors *file, const struct cr_port *port,
                         double *expected, struct cr_error *error)
{
    const char *name = cr_gradient_of(port->name);
    const struct cr_st_tensor *tensor = cr_safetensors_find(file, name);
    char shape[224];
    int64_t n = cr_port_elements(port);
    if (!tensor)
        return cr_fail(error, "%.400s: no tensor '%.200s', expected its gradient", file->path,
                       name);
    if (!cr_has_shape(port, tensor->rank, tensor->shape))
        return cr_fail(error, "%.400s: %.200s has another shape, expected %s", file->path, name,
                       cr_shape_text(shape, sizeof shape, port->rank, port->shape));
    float *floats = cr_memory_new(n * (int64_t)sizeof *floats, name, error);
    int status =
        floats ? cr_safetensors_read(file, tensor, floats, error->text, sizeof error->text) : -1;
    for (int64_t i = 0; !status && i < n; i++)
        expected[i] = (double)floats[i];
    free(floats);
    return status;
}

/* Reads the gradients of all ports that are gradients from one file. */
static int read_gradients(const struct cr_engine *e, const char *path, double *const *expected,
                          struct cr_error *error)
{
    struct cr_safetensors file;
    int status = 0;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    for (int i = 0; i < e->n_outputs && !status; i++)
        if (cr_gradient_of(e->outputs[i].name) && expected[i])
            status = read_gradient(&file, &e->outputs[i], expected[i], error);
    cr_safetensors_close(&file);
    return status;
}

int crescent_read_gradients(const crescent_model *model, const char *path, double *const *expected)
{
    CR_REQUIRE(model, path && expected);
    CR_ENTER(model->context);
    return cr_done(&guard, read_gradients(&model->engine, path, expected, guard.error));
}
