/* backend_ref.c - the interpreter as a backend: a graph evaluated op by op; see backends.h. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "engine_parts.h"
#include "interpret_lengths.h"
#include "tensor_memory.h"

/* Finds the state that each output beyond the results replaces, and the order of the graph's
 * inputs and states. */
static void match_graph(struct cr_engine *e)
{
    const struct cr_graph *g = e->graph;
    int *number = cr_calloc((size_t)g->n_nodes, sizeof *number), n = 0, inputs = 0, states = 0;
    e->to_input = cr_calloc((size_t)(e->n_inputs + e->n_states), sizeof *e->to_input);
    e->to_state = cr_calloc((size_t)g->n_replaced, sizeof *e->to_state);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        number[id] = states;
        if (g->nodes[id].op == CR_OP_input)
            e->to_input[n++] = inputs++;
        else if (g->nodes[id].op == CR_OP_state)
            e->to_input[n++] = e->n_inputs + states++;
    }
    for (int i = 0; i < g->n_replaced; i++)
        e->to_state[i] = number[g->outputs[e->n_outputs + i].state];
    free(number);
}

/* Returns the port of output i of the graph, or the port of the state that it replaces. */
static const struct cr_port *result_port(const struct cr_engine *e, int i)
{
    return i < e->n_outputs ? &e->outputs[i] : &e->states[e->to_state[i - e->n_outputs]];
}

static bool is_rounded(const struct cr_port *param)
{
    return param->format != cr_format_of(param->dtype);
}

/* Gives the graph's parameters the arithmetics that the compilers use, so that the interpreter
 * rounds the same rows. */
static void set_arithmetics(struct cr_engine *e)
{
    int param = 0;
    for (cr_id id = 0; id < e->graph->n_nodes; id++)
        if (e->graph->nodes[id].op == CR_OP_param)
            e->graph->nodes[id].arithmetic = e->params[param++].arithmetic;
}

/* Makes the program that a compiler would run, if the format of a weight rounds: the passes
 * choose the formats, and the interpreter rounds weights by packing them and reading the panels
 * back. */
static int make_layout(struct cr_engine *e, const struct cr_engine_options *o,
                       struct cr_error *error)
{
    const struct cr_pass_options passes = {
        .settings = {.path = o->settings.path, .skip = o->settings.skip, .n_skip = o->settings.n_skip}};
    bool any = false;
    for (int i = 0; i < e->n_params; i++)
        any |= is_rounded(&e->params[i]);
    e->rounded = cr_calloc((size_t)e->n_params, sizeof *e->rounded);
    if (!any)
        return 0;
    e->layout = cr_make_program(cr_graph_copy(e->graph), &passes, NULL, error);
    if (!e->layout || cr_engine_check_memory(e, e->layout->weights_bytes, 0, error))
        return -1;
    cr_engine_match_params(e, e->layout);
    set_arithmetics(e);
    e->weights = cr_memory_new(e->layout->weights_bytes, "the weights", error);
    return e->weights ? 0 : -1;
}

/* Rounds a parameter by packing it into panels and reading them back. */
static int round_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                       struct cr_error *error)
{
    int64_t bytes = cr_port_elements(&e->params[i]) * (int64_t)sizeof(float);
    if (!is_rounded(&e->params[i]))
        return 0;
    if (!e->rounded[i] && !(e->rounded[i] = cr_memory_new(bytes, e->params[i].name, error)))
        return -1;
    memcpy(e->rounded[i], e->tensors[i], (size_t)bytes);
    if (cr_pack_params(e->layout, e->to_param[i], 1, &contents, e->rt, e->pool, e->weights, error))
        return -1;
    cr_read_panels(e->layout, e->to_param[i], e->rt, e->weights, e->rounded[i]);
    return 0;
}

/* Before any allocation, checks the memory that the interpreter needs at least: the parameters as
 * floats and the outputs as doubles. */
int cr_open_ref(struct cr_engine *e, struct cr_graph *graph, const struct cr_engine_options *o,
                struct cr_error *error)
{
    int64_t elements = 0;
    int n_results = graph->n_outputs;
    e->graph = graph;
    match_graph(e);
    for (int i = 0; i < e->n_params; i++)
        elements += cr_port_elements(&e->params[i]);
    for (int i = 0; i < n_results; i++)
        elements += 2 * cr_port_elements(result_port(e, i));
    if (cr_engine_check_memory(e, elements * (int64_t)sizeof(float), 0, error))
        return -1;
    e->tensors = cr_calloc((size_t)e->n_params, sizeof *e->tensors);
    e->exact = cr_calloc((size_t)n_results, sizeof *e->exact);
    e->wanted = cr_calloc((size_t)n_results, sizeof *e->wanted);
    for (int i = 0; i < n_results; i++) {
        const struct cr_port *port = result_port(e, i);
        int64_t bytes = cr_port_elements(port) * (int64_t)sizeof(double);
        if (!(e->exact[i] = cr_memory_new(bytes, port->name, error)))
            return -1;
    }
    return make_layout(e, o, error) ? -1 : cr_engine_make_states(e, error);
}

static void round_output(const struct cr_port *port, const double *from, void *to)
{
    int64_t n = cr_port_elements(port);
    for (int64_t i = 0; i < n; i++) {
        if (port->dtype == CR_I32)
            ((int32_t *)to)[i] = (int32_t)from[i];
        else
            ((float *)to)[i] = (float)from[i];
    }
}

/* Returns the memory for output i of the graph: the caller's or, if the output is the next value
 * of a state, the state's. */
static void *result_of(const struct cr_engine *e, void *const *outputs, int i)
{
    return i < e->n_outputs ? outputs[i] : e->memory[e->to_state[i - e->n_outputs]];
}

/* Interprets a graph with lengths, which the inputs state. */
static int run_lengths(struct cr_engine *e, const float *const *params, void *const *outputs,
                       struct cr_error *error)
{
    void **results = cr_calloc((size_t)e->graph->n_outputs, sizeof *results);
    for (int i = 0; i < e->graph->n_outputs; i++)
        results[i] = result_of(e, outputs, i);
    int status =
        cr_interpret_lengths(e->graph, params, e->program_inputs, e->wanted, results, error);
    free(results);
    return status;
}

/* Interprets an entry into e->exact, as doubles, and rounds each output into the caller's memory;
 * an output whose memory is null is not computed.  The next values of states that the entry
 * replaces are always computed. */
static int interpret(struct cr_engine *e, int entry, const float *const *params,
                     void *const *outputs, struct cr_error *error)
{
    for (int i = 0; i < e->graph->n_outputs; i++) {
        bool wanted = e->graph->outputs[i].entry == entry && result_of(e, outputs, i);
        e->wanted[i] = wanted ? e->exact[i] : NULL;
    }
    if (e->n_lengths)
        return run_lengths(e, params, outputs, error);
    if (cr_interpret(e->graph, params, e->program_inputs, e->wanted, error))
        return -1;
    for (int i = 0; i < e->graph->n_outputs; i++)
        if (e->wanted[i])
            round_output(result_port(e, i), e->exact[i], result_of(e, outputs, i));
    return 0;
}

/* Interprets an entry; reads parameters as rounded to their formats. */
int cr_run_ref(struct cr_engine *e, int entry, const void *const *inputs, void *const *outputs,
               struct cr_error *error)
{
    const float **params = cr_calloc((size_t)e->n_params, sizeof *params);
    for (int i = 0; i < e->n_params; i++) {
        CR_CHECK(e->tensors[i]);
        params[i] = e->rounded[i] ? e->rounded[i] : e->tensors[i];
    }
    cr_engine_gather_inputs(e, inputs);
    int status = interpret(e, entry, params, outputs, error);
    free(params);
    return status;
}

/* Rounds each changed parameter to its format, into e->rounded; parameters in f32 are used as
 * they are. */
int cr_take_params_ref(struct cr_engine *e, const struct cr_contents *const *contents,
                       struct cr_error *error)
{
    for (int i = 0; i < e->n_params; i++)
        if (contents[i] && round_param(e, i, contents[i], error))
            return -1;
    return 0;
}

/* Always true: outputs are written only after all of them are computed. */
bool cr_may_store_over_ref(const struct cr_engine *e, int output)
{
    (void)e;
    (void)output;
    return true;
}

void cr_close_ref(struct cr_engine *e)
{
    for (int i = 0; e->rounded && i < e->n_params; i++)
        free(e->rounded[i]);
    for (int i = 0; e->exact && i < e->graph->n_outputs; i++)
        free(e->exact[i]);
    free(e->rounded);
    free(e->exact);
    free(e->wanted);
    free(e->to_state);
    cr_graph_free(e->graph);
    cr_program_free(e->layout);
}
