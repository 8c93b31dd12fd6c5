/* engine.c - from a graph to something that runs; see engine.h. */
#include "engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "compiler/ir/guard.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/mem.h"
#include "id_limits.h"
#include "ref_lengths.h"
#include "runtime/pool.h"
#include "runtime/select.h"
#include "tensor_memory.h"

const char *const cr_backend_names[CR_BACKEND_COUNT] = {"tcc", "cc", "ref", "standalone"};

int64_t cr_port_elements(const struct cr_port *port)
{
    return cr_elements(port->rank, port->shape);
}

int cr_port_find(const struct cr_port *ports, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ports[i].name, name) == 0)
            return i;
    return CR_NONE;
}

/* ---- ports ---- */

/* Takes over the name. */
static struct cr_port port_of(const struct cr_node *node, char *name)
{
    struct cr_port port = {.name = name,
                           .dtype = node->dtype,
                           .rank = node->rank,
                           .init = node->init,
                           .bound = node->value,
                           .format = node->format,
                           .arithmetic = node->arithmetic};
    memcpy(port.shape, node->shape, sizeof port.shape);
    return port;
}

/* The nodes of a leaf op as ports, in the graph's order. */
static struct cr_port *ports_of(const struct cr_graph *g, enum cr_op op, int *n)
{
    struct cr_port *ports = NULL;
    int cap = 0;
    *n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == op)
            *CR_PUSH(ports, *n, cap) = port_of(&g->nodes[i], cr_strdup(g->nodes[i].name));
    return ports;
}

static struct cr_port *outputs_of(const struct cr_graph *g, int *n)
{
    *n = cr_n_results(g);
    struct cr_port *ports = cr_calloc((size_t)*n, sizeof *ports);
    for (int i = 0; i < *n; i++)
        ports[i] = port_of(&g->nodes[g->outputs[i].id], cr_output_name(g, i));
    return ports;
}

/* ---- entries ---- */

/* An output of the entry, without its name. */
static void add_output(struct cr_engine_entry *entry, const struct cr_engine *e, int output)
{
    struct cr_port *port = &entry->outputs[entry->n_outputs];
    entry->output[entry->n_outputs++] = output;
    *port = e->outputs[output];
    if (*entry->name)
        port->name += strlen(entry->name) + 1;
}

/* What a caller of one entry sees: the inputs it needs, lengths, and its outputs. */
static void add_entry(struct cr_engine *e, const struct cr_graph *g, int number,
                      const unsigned *needed)
{
    struct cr_engine_entry *entry = &e->entries[number];
    size_t inputs = (size_t)e->n_inputs, outputs = (size_t)e->n_outputs;
    *entry = (struct cr_engine_entry){.name = cr_strdup(g->entries[number])};
    entry->inputs = cr_calloc(inputs, sizeof *entry->inputs);
    entry->input = cr_calloc(inputs, sizeof *entry->input);
    entry->outputs = cr_calloc(outputs, sizeof *entry->outputs);
    entry->output = cr_calloc(outputs, sizeof *entry->output);
    for (cr_id id = 0, i = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op != CR_OP_input)
            continue;
        if (needed[id] >> number & 1 || g->n_entries == 1 || cr_holds_length(g, id)) {
            entry->input[entry->n_inputs] = i;
            entry->inputs[entry->n_inputs++] = e->inputs[i];
        }
        i++;
    }
    for (int i = 0; i < e->n_outputs; i++)
        if (g->outputs[i].entry == number)
            add_output(entry, e, i);
}

static void add_entries(struct cr_engine *e, const struct cr_graph *g)
{
    unsigned *needed = cr_find_needed(g);
    e->n_entries = g->n_entries;
    e->entries = cr_calloc((size_t)g->n_entries, sizeof *e->entries);
    for (int i = 0; i < g->n_entries; i++)
        add_entry(e, g, i, needed);
    free(needed);
}

/* Frees the entries, also of an engine whose opening failed half way. */
static void free_entries(struct cr_engine *e)
{
    for (int i = 0; e->entries && i < e->n_entries; i++) {
        free((char *)e->entries[i].name);
        free(e->entries[i].inputs);
        free(e->entries[i].outputs);
        free(e->entries[i].input);
        free(e->entries[i].output);
    }
    free(e->entries);
}

/* ---- lengths ---- */

/* Which axes of outputs are lengths.  A graph that a length cannot go through is refused elsewhere. */
static void read_output_axes(struct cr_engine *e, const struct cr_graph *g)
{
    struct cr_error refused;
    struct cr_lengths lengths;
    e->output_axes = cr_calloc((size_t)e->n_outputs, sizeof *e->output_axes);
    if (cr_lengths_find(&lengths, g, e->path, &refused))
        return;
    for (int i = 0; i < e->n_outputs; i++)
        for (int a = 0; a < e->outputs[i].rank; a++)
            e->output_axes[i][a] = (signed char)cr_length_at(&lengths, g->outputs[i].id, a);
    cr_lengths_free(&lengths);
}

/* Which inputs hold lengths, and which axes of inputs and outputs are as long. */
static void read_lengths(struct cr_engine *e, const struct cr_graph *g)
{
    e->n_lengths = g->n_lengths;
    for (int i = 0; i < g->n_lengths; i++) {
        e->lengths[i].input = cr_port_find(e->inputs, e->n_inputs, g->lengths[i].name);
        e->lengths[i].bound = g->lengths[i].bound;
    }
    e->length_axes = cr_calloc((size_t)e->n_inputs, sizeof *e->length_axes);
    for (cr_id id = 0, i = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input) {
            for (int a = 0; a < g->nodes[id].rank; a++)
                e->length_axes[i][a] = (signed char)g->nodes[id].index[a];
            i++;
        }
    read_output_axes(e, g);
}

bool cr_engine_is_length(const struct cr_engine *e, int input)
{
    for (int i = 0; i < e->n_lengths; i++)
        if (e->lengths[i].input == input)
            return true;
    return false;
}

int cr_check_length(const struct cr_engine *e, int length, int32_t value, struct cr_error *error)
{
    if (value >= 1 && value <= e->lengths[length].bound)
        return 0;
    return cr_fail(error, "%.400s: length %.100s is %d, expected 1 to %lld", e->path,
                   e->inputs[e->lengths[length].input].name, (int)value,
                   (long long)e->lengths[length].bound);
}

/* A run takes lengths within their bounds. */
static int check_lengths(const struct cr_engine *e, const void *const *inputs,
                         struct cr_error *error)
{
    for (int i = 0; i < e->n_lengths; i++)
        if (cr_check_length(e, i, *(const int32_t *)inputs[e->lengths[i].input], error))
            return -1;
    return 0;
}

static void read_ports(struct cr_engine *e, const struct cr_graph *g)
{
    e->name = cr_strdup(g->name);
    e->params = ports_of(g, CR_OP_param, &e->n_params);
    e->inputs = ports_of(g, CR_OP_input, &e->n_inputs);
    e->outputs = outputs_of(g, &e->n_outputs);
    e->states = ports_of(g, CR_OP_state, &e->n_states);
    add_entries(e, g);
    e->id_limits = cr_find_id_limits(g);
    read_lengths(e, g);
    e->offsets = cr_offsets_find(g);
}

/* ---- ports of the program ---- */

/* Where each of some ports stands among others, by name; the caller frees it. */
static int *match_ports(const struct cr_port *ports, int n, const struct cr_port *others,
                        int n_others)
{
    struct cr_names names = {0};
    int *matches = cr_calloc((size_t)n, sizeof *matches);
    for (int i = 0; i < n_others; i++)
        cr_names_add(&names, others[i].name);
    for (int i = 0; i < n; i++) {
        matches[i] = cr_names_find(&names, ports[i].name);
        CR_CHECK(matches[i] >= 0); /* passes keep all ports */
    }
    cr_names_free(&names);
    return matches;
}

/* By port: the engine's number of that input; states are counted behind the inputs. */
static int *match_inputs(const struct cr_engine *e, const struct cr_port *ports, int n)
{
    int n_all = e->n_inputs + e->n_states;
    struct cr_port *all = cr_calloc((size_t)n_all, sizeof *all);
    for (int i = 0; i < n_all; i++)
        all[i] = i < e->n_inputs ? e->inputs[i] : e->states[i - e->n_inputs];
    int *matches = match_ports(ports, n, all, n_all);
    free(all);
    return matches;
}

/* A program has the same parameters, but maybe in another order, and knows which are kept in the
 * formats that are wanted, and multiplied in the arithmetics. */
static void match_params(struct cr_engine *e, const struct cr_program *p)
{
    e->to_param = match_ports(e->params, e->n_params, p->params, p->n_params);
    for (int i = 0; i < e->n_params; i++) {
        e->params[i].format = p->params[e->to_param[i]].format;
        e->params[i].arithmetic = p->params[e->to_param[i]].arithmetic;
    }
}

/* The same for all ports. */
static void match_program(struct cr_engine *e)
{
    const struct cr_program *p = e->program;
    match_params(e, p);
    e->to_input = match_inputs(e, p->inputs, p->n_inputs);
    e->to_output = match_ports(p->outputs, p->n_outputs, e->outputs, e->n_outputs);
}

/* What comes in, as the program or the interpreter orders it. */
static void gather_inputs(struct cr_engine *e, const void *const *inputs)
{
    for (int i = 0; i < e->n_inputs + e->n_states; i++) {
        int from = e->to_input[i];
        e->program_inputs[i] =
            from < e->n_inputs ? inputs[from] : e->memory[from - e->n_inputs];
    }
}

/* ---- states ---- */

static size_t state_bytes(const struct cr_port *state)
{
    return (size_t)cr_port_elements(state) * sizeof(float);
}

/* Where a state stands behind others: rows of one are whole lines of a cache. */
static size_t state_room(const struct cr_port *state)
{
    return (state_bytes(state) + 63) / 64 * 64;
}

/* Room for the states, and for the list of what comes in. */
static int make_states(struct cr_engine *e, struct cr_error *error)
{
    int64_t bytes = 0;
    e->program_inputs = cr_calloc((size_t)(e->n_inputs + e->n_states), sizeof *e->program_inputs);
    e->memory = cr_calloc((size_t)e->n_states, sizeof *e->memory);
    for (int i = 0; i < e->n_states; i++)
        bytes += (int64_t)state_room(&e->states[i]);
    if (bytes && cr_zeros_new(&e->zeros, bytes, "the states", error))
        return -1;
    char *at = e->zeros.memory;
    for (int i = 0; i < e->n_states; at += state_room(&e->states[i++]))
        e->memory[i] = at;
    return 0;
}

void cr_engine_get_state(const struct cr_engine *e, int i, void *data)
{
    memcpy(data, e->memory[i], state_bytes(&e->states[i]));
}

void cr_engine_set_state(struct cr_engine *e, int i, const void *data)
{
    memcpy(e->memory[i], data, state_bytes(&e->states[i]));
}

void cr_engine_reset_states(struct cr_engine *e)
{
    if (e->n_states)
        cr_zeros_clear(&e->zeros);
}

/* ---- memory ---- */

/* Bytes of what a caller holds, inputs and outputs, and of the states. */
static int64_t border_bytes(const struct cr_engine *e)
{
    int64_t elements = 0;
    for (int i = 0; i < e->n_inputs; i++)
        elements += cr_port_elements(&e->inputs[i]);
    for (int i = 0; i < e->n_outputs; i++)
        elements += cr_port_elements(&e->outputs[i]);
    for (int i = 0; i < e->n_states; i++)
        elements += cr_port_elements(&e->states[i]);
    return elements * (int64_t)sizeof(float);
}

/* Refuses what the machine cannot hold, before any of it is allocated, and says what makes it smaller: the
 * largest part decides. */
static int check_memory(const struct cr_engine *e, int64_t weights, int64_t arena, struct cr_error *error)
{
    struct cr_error why;
    int64_t border = border_bytes(e);
    if (cr_memory_check(weights + arena + border, "a run", &why) == 0)
        return 0;
    const char *advice = weights >= arena && weights >= border
                             ? "mostly for weights: expected fewer of them, or a --format of fewer bits"
                         : arena >= border
                             ? "mostly for values in between: expected smaller sizes (--set), or --max-arena"
                             : "mostly for inputs, outputs and states: expected smaller sizes (--set), or a "
                               "shorter --context";
    return cr_fail(error, "%s: %s, %s", e->path, why.text, advice);
}

/* ---- the interpreter ---- */

/* Finds which state each of the outputs behind the results replaces, and in which order the
 * graph has what comes in. */
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

/* Output i of the graph, or the state that it replaces. */
static const struct cr_port *result_port(const struct cr_engine *e, int i)
{
    return i < e->n_outputs ? &e->outputs[i] : &e->states[e->to_state[i - e->n_outputs]];
}

static bool is_rounded(const struct cr_port *param)
{
    return param->format != cr_format_of(param->dtype);
}

/* The interpreter rounds rows where the compilers do. */
static void set_arithmetics(struct cr_engine *e)
{
    int param = 0;
    for (cr_id id = 0; id < e->graph->n_nodes; id++)
        if (e->graph->nodes[id].op == CR_OP_param)
            e->graph->nodes[id].arithmetic = e->params[param++].arithmetic;
}

/* What formats make of weights is found where compilers pack them: which ones that are, the passes
 * know. */
static int make_layout(struct cr_engine *e, const struct cr_engine_options *o,
                       struct cr_error *error)
{
    const struct cr_pass_options passes = {.skip = o->skip, .n_skip = o->n_skip, .path = o->path};
    bool any = false;
    for (int i = 0; i < e->n_params; i++)
        any |= is_rounded(&e->params[i]);
    e->rounded = cr_calloc((size_t)e->n_params, sizeof *e->rounded);
    if (!any)
        return 0;
    e->layout = cr_make_program(cr_graph_copy(e->graph), &passes, NULL, error);
    if (!e->layout || check_memory(e, e->layout->weights_bytes, 0, error))
        return -1;
    match_params(e, e->layout);
    set_arithmetics(e);
    e->weights = cr_memory_new(e->layout->weights_bytes, "the weights", error);
    return e->weights ? 0 : -1;
}

/* Rounds a parameter as its panels do. */
static int round_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                       struct cr_error *error)
{
    int64_t bytes = cr_port_elements(&e->params[i]) * (int64_t)sizeof(float);
    if (!is_rounded(&e->params[i]))
        return 0;
    if (!e->rounded[i] && !(e->rounded[i] = cr_memory_new(bytes, e->params[i].name, error)))
        return -1;
    memcpy(e->rounded[i], e->tensors[i], (size_t)bytes);
    if (cr_fill_weights(e->layout, e->to_param[i], 1, &contents, e->rt, e->pool, e->weights, error))
        return -1;
    cr_read_panels(e->layout, e->to_param[i], e->rt, e->weights, e->rounded[i]);
    return 0;
}

/* Checks what the interpreter needs at least before any of it is taken: the parameters as floats
 * and the outputs as doubles. */
static int open_ref(struct cr_engine *e, const struct cr_engine_options *o, struct cr_error *error)
{
    int64_t elements = 0;
    int n_results = e->graph->n_outputs;
    match_graph(e);
    for (int i = 0; i < e->n_params; i++)
        elements += cr_port_elements(&e->params[i]);
    for (int i = 0; i < n_results; i++)
        elements += 2 * cr_port_elements(result_port(e, i));
    if (check_memory(e, elements * (int64_t)sizeof(float), 0, error))
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
    return make_layout(e, o, error) ? -1 : make_states(e, error);
}

static int keep_tensor(struct cr_engine *e, int i, const struct cr_contents *contents,
                       struct cr_error *error)
{
    int64_t n = cr_port_elements(&e->params[i]), bytes = n * (int64_t)sizeof(float);
    if (!e->tensors[i] && !(e->tensors[i] = cr_memory_new(bytes, e->params[i].name, error)))
        return -1;
    return cr_fill_tensor(contents, n, e->rt, e->pool, e->tensors[i], error);
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

/* Where output i of the graph goes: to what was handed in for it, or to the state it replaces. */
static void *result_of(const struct cr_engine *e, void *const *outputs, int i)
{
    return i < e->n_outputs ? outputs[i] : e->memory[e->to_state[i - e->n_outputs]];
}

/* Interprets a graph whose sizes are known now. */
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

/* Interprets an entry with some values for the parameters: its outputs are kept as doubles, and
 * rounded to what was handed in; those that are null are not computed.  The next values of the states
 * that it replaces are, in every run. */
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

/* Interprets an entry.  Of parameters that a format rounds, what became of them counts. */
static int run_ref(struct cr_engine *e, int entry, const void *const *inputs, void *const *outputs,
                   struct cr_error *error)
{
    const float **params = cr_calloc((size_t)e->n_params, sizeof *params);
    for (int i = 0; i < e->n_params; i++) {
        CR_CHECK(e->tensors[i]);
        params[i] = e->rounded[i] ? e->rounded[i] : e->tensors[i];
    }
    gather_inputs(e, inputs);
    int status = interpret(e, entry, params, outputs, error);
    free(params);
    return status;
}

/* ---- the compilers ---- */

/* The graph is used up. */
static int make_program(struct cr_engine *e, struct cr_graph *graph,
                        const struct cr_engine_options *o, struct cr_error *error)
{
    struct cr_pass_options passes = {
        .skip = o->skip, .n_skip = o->n_skip, .max_arena = o->max_arena, .path = o->path,
        .target = o->target, .stored = o->keep_stored ? &e->stored : NULL};
    struct cr_stages stages;
    e->program = cr_make_program(graph, &passes, &stages, error);
    e->passes_ns = stages.passes_ns;
    e->emit_ns = stages.emit_ns;
    return e->program ? 0 : -1;
}

/* TinyCC fails only because of the text: its size, or a bug of ours. */
static int compile_tcc(struct cr_engine *e, struct cr_error *error)
{
    struct cr_error why;
    if (cr_compile_tcc(e->program, &e->code, &why))
        return cr_fail(error, "%s: %s", e->path, why.text);
    return 0;
}

/* Compiles by the backend, and notes how long it took. */
static int make_code(struct cr_engine *e, struct cr_error *error)
{
    int64_t start = cr_clock();
    int status = 0;
    if (e->backend == CR_BACKEND_TCC)
        status = compile_tcc(e, error);
    else if (e->backend == CR_BACKEND_CC)
        status = cr_compile_cc(e->program, &e->code, error);
    else
        status = cr_compile_standalone(e->program, e->threads, &e->code, error);
    e->compile_ns = cr_clock() - start;
    return status;
}

/* Weights and arena. */
static int make_room(struct cr_engine *e, struct cr_error *error)
{
    const struct cr_program *p = e->program;
    int64_t scratch;
    if (__builtin_mul_overflow(p->scratch_bytes, (int64_t)e->threads, &scratch))
        return cr_fail(error, "%s: %d threads need too much memory", e->path, e->threads);
    int64_t arena = p->arena_bytes + scratch;
    if (check_memory(e, p->weights_bytes, arena, error))
        return -1;
    e->weights = cr_memory_new(p->weights_bytes, "the weights", error);
    e->arena = e->weights ? cr_memory_new(arena, "the arena", error) : NULL;
    if (!e->arena)
        return -1;
    e->program_outputs = cr_calloc((size_t)p->n_outputs, sizeof *e->program_outputs);
    return make_states(e, error);
}

/* An instruction set that is not to be had: another machine's, or none that is known. */
static int fail_isa(const char *isa, struct cr_error *error)
{
    static const char *const names[] = {"amx", "vnni", "avx512", "avx2", "neon", "plain"};
    char here[64] = "";
    bool known = false;
    for (size_t i = 0, n = 0; i < sizeof names / sizeof *names; i++) {
        known |= strcmp(isa, names[i]) == 0;
        if (cr_runtime_select(names[i]))
            n += (size_t)snprintf(here + n, sizeof here - n, "%s%s", n ? ", " : "", names[i]);
    }
    if (known)
        return cr_fail(error, "instruction set '%s': not on this machine, expected one that it has: %s", isa,
                       here);
    return cr_fail(error,
                   "instruction set '%.60s': not known, expected amx, vnni, avx512, avx2, neon or plain, of "
                   "which this machine has %s",
                   isa, here);
}

/* The runtime and the threads; fewer threads than asked for are no harm. */
static int make_runtime(struct cr_engine *e, const struct cr_engine_options *o,
                        struct cr_error *error)
{
    if (o->isa && o->backend == CR_BACKEND_STANDALONE)
        return cr_fail(error,
                       "instruction set '%.60s': standalone C chooses its own, expected "
                       "another backend",
                       o->isa);
    e->rt = cr_runtime_select(o->isa);
    if (!e->rt)
        return fail_isa(o->isa, error);
    if (o->threads > 1 && !(e->pool = cr_pool_new(o->threads)))
        return cr_fail(error, "%d threads could not be started", o->threads);
    e->threads = cr_pool_threads(e->pool);
    return 0;
}

static int open_compiled(struct cr_engine *e, struct cr_graph *graph,
                         const struct cr_engine_options *o, struct cr_error *error)
{
    if (make_program(e, graph, o, error) || make_room(e, error))
        return -1;
    match_program(e);
    return make_code(e, error);
}

/* Inputs and outputs that the entry does not need may be null. */
static int run_compiled(struct cr_engine *e, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error)
{
    const struct cr_program *p = e->program;
    gather_inputs(e, inputs);
    for (int i = 0; i < p->n_outputs; i++)
        e->program_outputs[i] = outputs[e->to_output[i]];
    int status = e->code.execute[entry](e->rt, e->pool, e->weights, e->program_inputs,
                                        e->program_outputs, e->arena);
    return status ? cr_fail(error, "%s: the program returned %d", e->path, status) : 0;
}

/* ---- both ---- */

int cr_engine_open(struct cr_engine *e, struct cr_graph *graph, const struct cr_engine_options *o,
                   struct cr_error *error)
{
    *e = (struct cr_engine){.backend = o->backend, .path = cr_strdup(o->path)};
    read_ports(e, graph);
    int status = make_runtime(e, o, error);
    if (status || o->backend == CR_BACKEND_REF)
        e->graph = graph; /* to run it, or to free it */
    if (!status)
        status = e->graph ? open_ref(e, o, error) : open_compiled(e, graph, o, error);
    if (status)
        cr_engine_close(e);
    return status;
}

static void free_ports(struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++)
        free((char *)ports[i].name);
    free(ports);
}

static void free_weights(struct cr_engine *e)
{
    if (e->mapping)
        munmap(e->mapping, e->mapping_bytes);
    else
        free(e->weights);
}

void cr_engine_close(struct cr_engine *e)
{
    for (int i = 0; e->tensors && i < e->n_params; i++)
        free(e->tensors[i]);
    for (int i = 0; e->rounded && i < e->n_params; i++)
        free(e->rounded[i]);
    for (int i = 0; e->exact && i < e->graph->n_outputs; i++)
        free(e->exact[i]);
    cr_zeros_free(&e->zeros);
    free(e->tensors);
    free(e->rounded);
    free(e->exact);
    free(e->wanted);
    free_entries(e);
    cr_offsets_free(e->offsets);
    free(e->memory);
    free(e->to_state);
    cr_graph_free(e->graph);
    cr_code_free(&e->code);
    cr_program_free(e->program);
    cr_program_free(e->layout);
    cr_stored_free(&e->stored);
    cr_pool_free(e->pool);
    free_weights(e);
    free(e->arena);
    free(e->to_param);
    free(e->to_input);
    free(e->to_output);
    free(e->program_inputs);
    free(e->program_outputs);
    free_ports(e->params, e->n_params);
    free_ports(e->inputs, e->n_inputs);
    free_ports(e->outputs, e->n_outputs);
    free_ports(e->states, e->n_states);
    free(e->id_limits);
    free(e->length_axes);
    free(e->output_axes);
    free(e->name);
    free(e->path);
    *e = (struct cr_engine){0};
}

/* Keeps a parameter as the engine is asked to, and the interpreter needs it. */
static int keep_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                      struct cr_error *error)
{
    if (e->tensors && keep_tensor(e, i, contents, error))
        return -1;
    return e->rounded ? round_param(e, i, contents, error) : 0;
}

/* Puts a parameter where the kernels read it, if any does. */
static int pack_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                      struct cr_error *error)
{
    return e->backend == CR_BACKEND_REF
               ? 0
               : cr_fill_weights(e->program, e->to_param[i], 1, &contents, e->rt, e->pool,
                                 e->weights, error);
}

int cr_engine_set_param(struct cr_engine *e, int i, const struct cr_contents *contents,
                        struct cr_error *error)
{
    return keep_param(e, i, contents, error) ? -1 : pack_param(e, i, contents, error);
}

/* Packs the parameters that are marked, or all if `marked` is null.  They are packed at once: threads share all
 * of their pieces, and none waits for another between two parameters. */
static int pack_params(struct cr_engine *e, const struct cr_contents *contents, const bool *marked,
                       struct cr_error *error)
{
    if (e->backend == CR_BACKEND_REF)
        return 0;
    const struct cr_contents **of_program = cr_calloc((size_t)e->n_params, sizeof *of_program);
    for (int i = 0; i < e->n_params; i++)
        of_program[e->to_param[i]] = !marked || marked[i] ? &contents[i] : NULL;
    int status = cr_fill_weights(e->program, 0, e->n_params, of_program, e->rt, e->pool,
                                 e->weights, error);
    free(of_program);
    return status;
}

int cr_engine_set_params(struct cr_engine *e, const struct cr_contents *contents,
                         struct cr_error *error)
{
    for (int i = 0; i < e->n_params; i++)
        if (keep_param(e, i, &contents[i], error))
            return -1;
    return pack_params(e, contents, NULL, error);
}

/* The mapping is private: a page that is written to becomes a copy of this process. */
int cr_engine_map_weights(struct cr_engine *e, int fd, size_t at)
{
    size_t bytes = at + (size_t)e->program->weights_bytes;
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED)
        return -1;
    madvise(mapping, bytes, MADV_WILLNEED);
    free_weights(e);
    e->mapping = mapping;
    e->mapping_bytes = bytes;
    e->weights = (float *)(void *)(mapping + at);
    return 0;
}

int cr_engine_keep_params(struct cr_engine *e, struct cr_error *error)
{
    int64_t elements = 0;
    if (e->tensors)
        return 0;
    for (int i = 0; i < e->n_params; i++)
        elements += cr_port_elements(&e->params[i]);
    if (check_memory(e, elements * (int64_t)sizeof(float), 0, error))
        return -1;
    e->tensors = cr_calloc((size_t)e->n_params, sizeof *e->tensors);
    return 0;
}

/* The interpreter writes to outputs only after it has computed all of them. */
bool cr_engine_may_store_over(const struct cr_engine *e, int i)
{
    if (e->backend == CR_BACKEND_REF)
        return true;
    for (int n = 0; n < e->program->n_outputs; n++)
        if (e->to_output[n] == i)
            return e->program->outputs[n].in_place;
    return false;
}

void cr_engine_take_tensors(struct cr_engine *e, const bool *changed)
{
    struct cr_error never; /* nothing is read but memory */
    struct cr_contents *contents = cr_calloc((size_t)e->n_params, sizeof *contents);
    for (int i = 0; i < e->n_params; i++)
        contents[i].data = e->tensors[i];
    pack_params(e, contents, changed, &never);
    free(contents);
}

int cr_engine_run_entry(struct cr_engine *e, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error)
{
    if (check_lengths(e, inputs, error))
        return -1;
    return e->backend == CR_BACKEND_REF ? run_ref(e, entry, inputs, outputs, error)
                                        : run_compiled(e, entry, inputs, outputs, error);
}

int cr_engine_run(struct cr_engine *e, const void *const *inputs, void *const *outputs,
                  struct cr_error *error)
{
    for (int i = 0; i < e->n_entries; i++)
        if (cr_engine_run_entry(e, i, inputs, outputs, error))
            return -1;
    return 0;
}
