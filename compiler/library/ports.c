/* ports.c - the ports of models and graphs; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "compiler/ir/mem.h"
#include "handles.h"

/* ---- ports of a model ---- */

_Static_assert((int)CRESCENT_MAX_RANK == (int)CR_MAX_RANK, "one greatest rank");
_Static_assert((int)CRESCENT_F32 == (int)CR_F32 && (int)CRESCENT_I32 == (int)CR_I32 &&
                   (int)CRESCENT_BOOL == (int)CR_BOOL,
               "types have the same numbers");

/* Returns the part of a name behind a prefix, or null if the name does not begin with it. */
static const char *behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

const char *cr_cotangent_of(const char *input)
{
    return behind(input, CR_COTANGENT);
}

const char *cr_gradient_of(const char *output)
{
    return behind(output, CR_GRADIENT);
}

/* Converts a port to the struct of crescent.h. */
static crescent_port public_port(const struct cr_port *port)
{
    const char *of = cr_gradient_of(port->name);
    crescent_port out = {.name = port->name,
                         .of = of ? of : cr_cotangent_of(port->name),
                         .type = (crescent_type)port->dtype,
                         .rank = port->rank};
    memcpy(out.shape, port->shape, sizeof out.shape);
    return out;
}

/* Returns the ports of one kind, and sets *n to their number. */
static const struct cr_port *ports_of(const crescent_model *m, crescent_port_kind kind, int *n)
{
    const struct cr_engine *e = &m->engine;
    switch (kind) {
    case CRESCENT_PARAM:
        *n = e->n_params;
        return e->params;
    case CRESCENT_INPUT:
        *n = e->n_inputs;
        return e->inputs;
    case CRESCENT_OUTPUT:
        *n = e->n_outputs;
        return e->outputs;
    case CRESCENT_STATE:
        *n = e->n_states;
        return e->states;
    }
    *n = 0;
    return NULL;
}

/* Sets lengths[axis] of a port to 1 + the input that holds the length of the axis, or to 0. */
static void add_lengths(const struct cr_engine *e, const signed char *axes, crescent_port *port)
{
    for (int a = 0; a < port->rank; a++)
        port->lengths[a] = axes[a] ? e->lengths[axes[a] - 1].input + 1 : 0;
}

int crescent_port_count(const crescent_model *model, crescent_port_kind kind)
{
    int n = 0;
    if (model)
        ports_of(model, kind, &n);
    return n;
}

/* Fails because there is no port with the number `index`. */
static int no_such_port(crescent_context *context, const char *path, crescent_port_kind kind,
                        int index, int n)
{
    return cr_fail(&context->error,
                   "%.400s: found port %d of kind %d, expected one of %d, counted from 0", path,
                   index, (int)kind, n);
}

/* Returns a port of a model, with the shape that the script declares. */
int crescent_port_at(const crescent_model *model, crescent_port_kind kind, int index,
                     crescent_port *port)
{
    CR_REQUIRE(model, port);
    int n;
    const struct cr_port *ports = ports_of(model, kind, &n);
    if (index < 0 || index >= n)
        return no_such_port(model->context, model->engine.path, kind, index, n);
    *port = public_port(&ports[index]);
    if (kind == CRESCENT_INPUT) {
        port->ids = model->engine.id_limits[index];
        add_lengths(&model->engine, model->engine.length_axes[index], port);
    }
    if (kind == CRESCENT_OUTPUT)
        add_lengths(&model->engine, model->engine.output_axes[index], port);
    if (kind == CRESCENT_PARAM)
        port->format = cr_formats[ports[index].format].name;
    return CRESCENT_OK;
}

int crescent_port_find(const crescent_model *model, crescent_port_kind kind, const char *name)
{
    int n = 0;
    const struct cr_port *ports = model ? ports_of(model, kind, &n) : NULL;
    return name ? cr_port_find(ports, n, name) : CRESCENT_NONE;
}

/* ---- ports of a graph ---- */

/* Returns the nodes of an op, in the graph's order; the caller frees the array. */
static cr_id *nodes_of(const struct cr_graph *g, enum cr_op op, int *n)
{
    cr_id *ids = NULL;
    int cap = 0;
    *n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == op)
            *CR_PUSH(ids, *n, cap) = id;
    return ids;
}

void cr_index_ports(crescent_graph *graph)
{
    free(graph->params);
    free(graph->inputs);
    free(graph->states);
    graph->params = nodes_of(graph->graph, CR_OP_param, &graph->n_params);
    graph->inputs = nodes_of(graph->graph, CR_OP_input, &graph->n_inputs);
    graph->states = nodes_of(graph->graph, CR_OP_state, &graph->n_states);
}

const char *cr_public_output(const crescent_graph *graph, int index)
{
    char *name = cr_output_name(graph->graph, index);
    const char *kept = cr_intern(graph->graph, name);
    free(name);
    return kept;
}

/* Returns the node of port number `index` of a kind; the port must exist. */
static const struct cr_node *port_node(const crescent_graph *graph, crescent_port_kind kind,
                                       int index)
{
    const struct cr_graph *g = graph->graph;
    return &g->nodes[kind == CRESCENT_PARAM   ? graph->params[index]
                     : kind == CRESCENT_INPUT ? graph->inputs[index]
                     : kind == CRESCENT_STATE ? graph->states[index]
                                              : g->outputs[index].id];
}

int crescent_graph_port_count(const crescent_graph *graph, crescent_port_kind kind)
{
    if (!graph)
        return 0;
    return kind == CRESCENT_PARAM    ? graph->n_params
           : kind == CRESCENT_INPUT  ? graph->n_inputs
           : kind == CRESCENT_OUTPUT ? cr_n_results(graph->graph)
           : kind == CRESCENT_STATE  ? graph->n_states
                                     : 0;
}

/* Returns a port of a graph, filled from its node. */
int crescent_graph_port_at(const crescent_graph *graph, crescent_port_kind kind, int index,
                           crescent_port *port)
{
    CR_REQUIRE(graph, port);
    int n = crescent_graph_port_count(graph, kind);
    if (index < 0 || index >= n)
        return no_such_port(graph->context, graph->origin->path, kind, index, n);
    const struct cr_node *node = port_node(graph, kind, index);
    struct cr_port found = {.dtype = node->dtype, .rank = node->rank};
    found.name = kind == CRESCENT_OUTPUT ? cr_public_output(graph, index) : node->name;
    memcpy(found.shape, node->shape, sizeof found.shape);
    *port = public_port(&found);
    if (kind == CRESCENT_PARAM && graph->has_formats && !graph->has_gradients)
        port->format = cr_formats[node->format].name;
    return CRESCENT_OK;
}

/* ---- ports of any origin ---- */

int64_t crescent_port_elements(const crescent_port *port)
{
    return port && port->rank >= 0 && port->rank <= CRESCENT_MAX_RANK
               ? cr_elements(port->rank, port->shape)
               : 0;
}

const char *crescent_type_name(crescent_type type)
{
    return (unsigned)type <= CRESCENT_BOOL ? cr_dtype_name((enum cr_dtype)type) : NULL;
}

char *crescent_shape_text(char *buf, size_t size, int rank, const int64_t *shape)
{
    return buf && shape ? cr_shape_text(buf, size, rank, shape) : buf;
}
