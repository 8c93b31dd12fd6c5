/* engine_ports.c - an engine's inputs, outputs, parameters and states; see engine_parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "engine_parts.h"
#include "id_limits.h"

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

/* Returns all nodes of a leaf op as ports, in the graph's order, and sets *n to their number. */
static struct cr_port *ports_of(const struct cr_graph *g, enum cr_op op, int *n)
{
    struct cr_port *ports = NULL;
    int cap = 0;
    *n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == op)
            *CR_PUSH(ports, *n, cap) = cr_port_of_node(&g->nodes[i], cr_strdup(g->nodes[i].name));
    return ports;
}

static struct cr_port *outputs_of(const struct cr_graph *g, int *n)
{
    *n = cr_n_results(g);
    struct cr_port *ports = cr_calloc((size_t)*n, sizeof *ports);
    for (int i = 0; i < *n; i++)
        ports[i] = cr_port_of_node(&g->nodes[g->outputs[i].id], cr_output_name(g, i));
    return ports;
}

/* ---- entries ---- */

/* Adds output number `output` of the engine to an entry, without the entry's prefix in its name. */
static void add_output(struct cr_engine_entry *entry, const struct cr_engine *e, int output)
{
    struct cr_port *port = &entry->outputs[entry->n_outputs];
    entry->output[entry->n_outputs++] = output;
    *port = e->outputs[output];
    if (*entry->name)
        port->name += strlen(entry->name) + 1;
}

/* Lists the ports of one entry: the inputs that its outputs depend on, all inputs that hold
 * lengths, and its outputs. */
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

/* ---- lengths ---- */

/* Finds the inputs that hold lengths, and the axes of inputs and outputs whose size is a length. */
static void read_lengths(struct cr_engine *e, const struct cr_graph *g)
{
    e->n_lengths = g->n_lengths;
    for (int i = 0; i < g->n_lengths; i++) {
        e->lengths[i].input = cr_port_find(e->inputs, e->n_inputs, g->lengths[i].name);
        e->lengths[i].bound = g->lengths[i].bound;
        e->lengths[i].batch = g->lengths[i].batch;
    }
    e->length_axes = cr_calloc((size_t)e->n_inputs, sizeof *e->length_axes);
    for (cr_id id = 0, i = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input)
            memcpy(e->length_axes[i++], g->nodes[id].lengths, CR_MAX_RANK);
    e->output_axes = cr_calloc((size_t)e->n_outputs, sizeof *e->output_axes);
    for (int i = 0; i < e->n_outputs; i++)
        memcpy(e->output_axes[i], g->nodes[g->outputs[i].id].lengths, CR_MAX_RANK);
}

bool cr_engine_is_length(const struct cr_engine *e, int input)
{
    for (int i = 0; i < e->n_lengths; i++)
        if (e->lengths[i].input == input)
            return true;
    return false;
}

int cr_check_length(const struct cr_engine *e, int length, const void *const *inputs,
                    struct cr_error *error)
{
    const int32_t *values = inputs[e->lengths[length].input];
    int batch = e->lengths[length].batch;
    int32_t n = batch ? *(const int32_t *)inputs[e->lengths[batch - 1].input] : 1;
    char row[32] = "";
    for (int32_t i = 0; i < n; i++) {
        if (values[i] >= 1 && values[i] <= e->lengths[length].bound)
            continue;
        if (batch)
            snprintf(row, sizeof row, " of row %d", (int)i + 1);
        return cr_fail(error, "%.400s: length %.100s%s is %d, expected 1 to %lld", e->path,
                       e->inputs[e->lengths[length].input].name, row, (int)values[i],
                       (long long)e->lengths[length].bound);
    }
    return 0;
}

bool *cr_find_operands(const struct cr_graph *g)
{
    bool *operand = cr_calloc((size_t)g->n_nodes, sizeof *operand);
    int *number = cr_calloc((size_t)g->n_nodes, sizeof *number), n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const cr_id *in = cr_inputs(g, &g->nodes[id]);
        if (g->nodes[id].op == CR_OP_param)
            number[id] = n++;
        for (int i = 0; i < g->nodes[id].n_in; i++)
            if (g->nodes[in[i]].op == CR_OP_param && (g->nodes[id].op != CR_OP_gather || i > 0))
                operand[number[in[i]]] = true;
    }
    free(number);
    return operand;
}

void cr_engine_read_ports(struct cr_engine *e, const struct cr_graph *g)
{
    e->name = cr_strdup(g->name);
    e->params = ports_of(g, CR_OP_param, &e->n_params);
    e->inputs = ports_of(g, CR_OP_input, &e->n_inputs);
    e->outputs = outputs_of(g, &e->n_outputs);
    e->states = ports_of(g, CR_OP_state, &e->n_states);
    add_entries(e, g);
    e->id_limits = cr_find_id_limits(g);
    e->is_operand = cr_find_operands(g);
    read_lengths(e, g);
    e->offsets = cr_offsets_find(g);
}

int cr_engine_check_lengths(const struct cr_engine *e, const void *const *inputs, struct cr_error *error)
{
    for (int i = 0; i < e->n_lengths; i++)
        if (cr_check_length(e, i, inputs, error))
            return -1;
    return 0;
}

/* ---- ports of the program ---- */

/* Returns for each port the index of the port of the same name in `others`; the caller frees the
 * array. */
static int *match_ports(const struct cr_port *ports, int n, const struct cr_port *others,
                        int n_others)
{
    struct cr_names names = {0};
    int *matches = cr_calloc((size_t)n, sizeof *matches);
    for (int i = 0; i < n_others; i++)
        cr_names_add(&names, others[i].name);
    for (int i = 0; i < n; i++) {
        matches[i] = cr_names_find(&names, ports[i].name);
        CR_CHECK(matches[i] >= 0); /* passes never remove ports */
    }
    cr_names_free(&names);
    return matches;
}

/* Returns for each port the index of the engine's input of that name; states are numbered after
 * the inputs. */
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

void cr_engine_match_params(struct cr_engine *e, const struct cr_program *p)
{
    e->to_param = match_ports(e->params, e->n_params, p->params, p->n_params);
    for (int i = 0; i < e->n_params; i++) {
        e->params[i].format = p->params[e->to_param[i]].format;
        e->params[i].arithmetic = p->params[e->to_param[i]].arithmetic;
    }
}

void cr_engine_match_program(struct cr_engine *e)
{
    const struct cr_program *p = e->program;
    cr_engine_match_params(e, p);
    e->to_input = match_inputs(e, p->inputs, p->n_inputs);
    e->to_output = match_ports(p->outputs, p->n_outputs, e->outputs, e->n_outputs);
}

const struct cr_port *cr_engine_own_input(const struct cr_engine *e, int i)
{
    for (int n = 0; e->program && n < e->program->n_inputs; n++)
        if (e->to_input[n] == i)
            return &e->program->inputs[n];
    return &e->inputs[i];
}

const struct cr_port *cr_engine_own_output(const struct cr_engine *e, int i)
{
    for (int n = 0; e->program && n < e->program->n_outputs; n++)
        if (e->to_output[n] == i)
            return &e->program->outputs[n];
    return &e->outputs[i];
}

void cr_engine_gather_inputs(struct cr_engine *e, const void *const *inputs)
{
    for (int i = 0; i < e->n_inputs + e->n_states; i++) {
        int from = e->to_input[i];
        e->program_inputs[i] =
            from < e->n_inputs ? inputs[from] : e->memory[from - e->n_inputs];
    }
}

/* ---- their end ---- */

/* Frees the entries; also correct for an engine whose opening failed halfway. */
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

static void free_ports(struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++)
        free((char *)ports[i].name);
    free(ports);
}

void cr_engine_free_ports(struct cr_engine *e)
{
    free_entries(e);
    free_ports(e->params, e->n_params);
    free_ports(e->inputs, e->n_inputs);
    free_ports(e->outputs, e->n_outputs);
    free_ports(e->states, e->n_states);
    cr_offsets_free(e->offsets);
    free(e->id_limits);
    free(e->is_operand);
    free(e->length_axes);
    free(e->output_axes);
    free(e->to_param);
    free(e->to_input);
    free(e->to_output);
    free(e->name);
}
