/* Stores graphs: nodes, operands, outputs. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "mem.h"
#include "unwind.h"

static struct cr_graph *new_graph(struct cr_interned *interned)
{
    struct cr_graph *g = cr_calloc(1, sizeof *g);
    g->interned = interned;
    g->interned->graphs++;
    g->operands = cr_grow(NULL, 0, &g->cap_operands, sizeof *g->operands);
    return g;
}

struct cr_graph *cr_graph_new(const char *name)
{
    struct cr_graph *g = new_graph(cr_calloc(1, sizeof *g->interned));
    g->name = cr_intern(g, name);
    g->here.file = g->here.scope = g->entries[0] = cr_intern(g, "");
    g->n_entries = 1;
    return g;
}

struct cr_graph *cr_graph_successor(const struct cr_graph *g)
{
    struct cr_graph *next = new_graph(g->interned);
    next->name = g->name;
    memcpy(next->lengths, g->lengths, sizeof next->lengths);
    next->n_lengths = g->n_lengths;
    next->here.file = next->here.scope = next->entries[0] = cr_intern(next, "");
    next->n_entries = 1;
    return next;
}

void cr_graph_reserve(struct cr_graph *g, int nodes, int operands)
{
    if (g->cap_nodes < nodes) {
        g->cap_nodes = nodes / 2 + 1;
        g->nodes = cr_grow(g->nodes, g->cap_nodes, &g->cap_nodes, sizeof *g->nodes);
    }
    if (g->cap_operands < operands) {
        g->cap_operands = operands / 2 + 1;
        g->operands = cr_grow(g->operands, g->cap_operands, &g->cap_operands, sizeof *g->operands);
    }
}

/* Names in nodes and outputs are not freed here: the graph's interned strings own their text. */
void cr_graph_free(struct cr_graph *g)
{
    if (!g)
        return;
    cr_interned_drop(g->interned);
    free(g->nodes);
    free(g->operands);
    free(g->outputs);
    free(g);
}

/* A string of another graph, which may be null, and its interned copy in this graph.  Caches the
 * previous string: successive nodes mostly have the same line and scope. */
struct adopted {
    const char *theirs, *ours;
};

static const char *adopt(struct cr_graph *g, const char *text, struct adopted *last)
{
    if (text != last->theirs)
        *last = (struct adopted){text, text ? cr_intern(g, text) : NULL};
    return last->ours;
}

enum { ADOPTED = 64 }; /* a power of two */

/* A cache entry: axes of another graph, found by address, and their interned copy.  A graph has
 * few different axes. */
struct adopted_axes {
    const int64_t *theirs, *ours;
};

static const int64_t *adopt_axes(struct cr_graph *g, const int64_t *axes,
                                 struct adopted_axes *adopted)
{
    struct adopted_axes *last = &adopted[(uintptr_t)axes / sizeof cr_no_axes % ADOPTED];
    if (axes != last->theirs)
        *last = (struct adopted_axes){axes, cr_intern_axes(g, axes)};
    return last->ours;
}

/* Copies all nodes at once, then interns their strings and axes. */
static void copy_nodes(struct cr_graph *copy, const struct cr_graph *g)
{
    struct adopted name = {0}, tap = {0}, file = {0}, scope = {0};
    struct adopted_axes axes[ADOPTED] = {{0}};
    memcpy(copy->nodes, g->nodes, (size_t)g->n_nodes * sizeof *g->nodes);
    copy->n_nodes = g->n_nodes;
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_node *node = &copy->nodes[i];
        node->name = adopt(copy, node->name, &name);
        node->tap = adopt(copy, node->tap, &tap);
        node->where.file = adopt(copy, node->where.file, &file);
        node->where.scope = adopt(copy, node->where.scope, &scope);
        node->shape = adopt_axes(copy, node->shape, axes);
        node->index = adopt_axes(copy, node->index, axes);
    }
}

struct cr_graph *cr_graph_copy(const struct cr_graph *g)
{
    struct cr_graph *copy = cr_graph_new(g->name);
    cr_graph_reserve(copy, g->n_nodes + 1, g->n_operands + 1);
    memcpy(copy->operands, g->operands, (size_t)g->n_operands * sizeof *g->operands);
    copy->n_operands = g->n_operands;
    copy_nodes(copy, g);
    for (int i = 0; i < g->interned->n_literals; i++)
        cr_add_literal(copy, &g->interned->literals[i]);
    for (int i = 0; i < g->interned->n_lines; i++)
        cr_intern_line(copy, g->interned->lines[i].file, g->interned->lines[i].line);
    for (int i = 0; i < g->n_lengths; i++)
        cr_graph_add_length(copy, g->lengths[i].name, g->lengths[i].bound, g->lengths[i].batch);
    cr_copy_outputs(copy, g, NULL);
    copy->most_nodes = g->most_nodes;
    return copy;
}

size_t cr_graph_bytes(const struct cr_graph *g)
{
    return (size_t)g->cap_nodes * sizeof *g->nodes + (size_t)g->cap_operands * sizeof *g->operands +
           (size_t)g->cap_outputs * sizeof *g->outputs + g->interned->bytes;
}

int cr_find_length(const struct cr_graph *g, const char *name)
{
    for (int i = 0; i < g->n_lengths; i++)
        if (strcmp(g->lengths[i].name, name) == 0)
            return i;
    return CR_NONE;
}

int cr_graph_add_length(struct cr_graph *g, const char *name, int64_t bound, int batch)
{
    if (g->n_lengths == CR_MAX_LENGTHS)
        return CR_NONE;
    g->lengths[g->n_lengths] = (struct cr_length){cr_intern(g, name), bound, batch};
    return g->n_lengths++;
}

void cr_add_output(struct cr_graph *g, const char *name, cr_id id)
{
    int at = cr_n_results(g);
    CR_PUSH(g->outputs, g->n_outputs, g->cap_outputs);
    memmove(g->outputs + at + 1, g->outputs + at, (size_t)g->n_replaced * sizeof *g->outputs);
    g->outputs[at] = (struct cr_output){cr_intern(g, name), id, g->n_entries - 1, CR_NONE};
}

/* ---- states ---- */

const char *cr_check_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value)
{
    const struct cr_node *s = &g->nodes[state], *v = &g->nodes[value];
    char found[128], expected[128];
    cr_shape_text(found, sizeof found, v->rank, v->shape);
    cr_shape_text(expected, sizeof expected, s->rank, s->shape);
    if (s->op != CR_OP_state) {
        snprintf(g->error, sizeof g->error, "replace: found %.100s, expected a state",
                 s->name ? s->name : cr_ops[s->op].name);
        return g->error;
    }
    for (int i = cr_n_results(g); i < g->n_outputs; i++)
        if (g->outputs[i].state == state && g->outputs[i].entry == entry) {
            snprintf(g->error, sizeof g->error, "replace: '%.100s' is replaced already, expected "
                     "one value for it", s->name);
            return g->error;
        }
    if (cr_same_shape(s, v) && s->dtype == v->dtype)
        return NULL;
    snprintf(g->error, sizeof g->error, "replace: found %s %s, expected %s %s as '%.100s' is",
             cr_dtype_name(v->dtype), found, cr_dtype_name(s->dtype), expected, s->name);
    return g->error;
}

void cr_add_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value)
{
    *CR_PUSH(g->outputs, g->n_outputs, g->cap_outputs) =
        (struct cr_output){g->nodes[state].name, value, entry, state};
    g->n_replaced++;
}

/* ---- entries ---- */

void cr_add_entry(struct cr_graph *g, const char *name)
{
    bool first = g->n_entries == 1 && !*g->entries[0];
    CR_CHECK(g->n_entries < CR_MAX_ENTRIES);
    g->n_entries += !first;
    g->entries[g->n_entries - 1] = cr_intern(g, name);
}

void cr_copy_outputs(struct cr_graph *to, const struct cr_graph *from, const cr_id *map)
{
    int entry = -1;
    for (int i = 0; i < cr_n_results(from); i++) {
        for (; entry < from->outputs[i].entry; entry++)
            cr_add_entry(to, from->entries[entry + 1]);
        cr_id id = from->outputs[i].id;
        cr_add_output(to, from->outputs[i].name, map ? map[id] : id);
    }
    for (int i = cr_n_results(from); i < from->n_outputs; i++) {
        const struct cr_output *o = &from->outputs[i];
        cr_add_replacement(to, o->entry, map ? map[o->state] : o->state, map ? map[o->id] : o->id);
    }
}

int cr_find_entry(const struct cr_graph *g, const char *name)
{
    for (int i = 0; i < g->n_entries; i++)
        if (strcmp(g->entries[i], name) == 0)
            return i;
    return CR_NONE;
}

char *cr_output_name(const struct cr_graph *g, int output)
{
    const char *entry = g->entries[g->outputs[output].entry], *name = g->outputs[output].name;
    size_t size = strlen(entry) + strlen(name) + 2;
    char *text = cr_calloc(1, size);
    snprintf(text, size, *entry ? "%s.%s" : "%s%s", entry, name);
    return text;
}

bool cr_holds_length(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return node->op == CR_OP_input && cr_find_length(g, node->name) != CR_NONE;
}

unsigned *cr_find_needed(const struct cr_graph *g)
{
    unsigned *needed = cr_calloc((size_t)g->n_nodes, sizeof *needed);
    for (int i = 0; i < g->n_outputs; i++)
        needed[g->outputs[i].id] |= 1u << g->outputs[i].entry;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            needed[cr_in(g, id, i)] |= needed[id];
    return needed;
}

void cr_keep_nodes(struct cr_graph *g, const bool *kept)
{
    cr_id *moved = cr_calloc((size_t)g->n_nodes, sizeof *moved), n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!kept[id])
            continue;
        g->nodes[n] = g->nodes[id];
        for (int i = 0; i < g->nodes[n].n_in; i++)
            g->operands[g->nodes[n].first_in + i] = moved[cr_in(g, n, i)];
        moved[id] = n++;
    }
    for (int i = 0; i < g->n_outputs; i++) {
        struct cr_output *output = &g->outputs[i];
        output->id = moved[output->id];
        output->state = output->state == CR_NONE ? CR_NONE : moved[output->state];
    }
    g->n_nodes = n;
    free(moved);
}

void cr_keep_entry(struct cr_graph *g, int entry)
{
    unsigned *needed = cr_find_needed(g);
    bool *kept = cr_calloc((size_t)g->n_nodes, sizeof *kept);
    int n = 0, n_replaced = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        kept[id] = needed[id] >> entry & 1 || g->nodes[id].op == CR_OP_param ||
                   g->nodes[id].op == CR_OP_state || cr_holds_length(g, id);
    for (int i = 0; i < g->n_outputs; i++) {
        struct cr_output output = g->outputs[i];
        if (output.entry != entry)
            continue;
        output.entry = 0;
        n_replaced += output.state != CR_NONE;
        g->outputs[n++] = output;
    }
    g->n_outputs = n;
    g->n_replaced = n_replaced;
    g->n_entries = 1;
    g->entries[0] = cr_intern(g, "");
    cr_keep_nodes(g, kept);
    for (cr_id id = 0; id < g->n_nodes; id++)
        g->nodes[id].where.entry = 0;
    free(kept);
    free(needed);
}

int64_t cr_elements(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

bool cr_is_entry_output(const struct cr_graph *g, cr_id id)
{
    for (int i = 0; i < cr_n_results(g); i++)
        if (g->outputs[i].id == id)
            return true;
    return false;
}

bool cr_repeats_matrices(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_expand)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    return in->rank >= 2 && in->shape[in->rank - 2] == node->shape[node->rank - 2] &&
           in->shape[in->rank - 1] == node->shape[node->rank - 1];
}

bool cr_same_shape(const struct cr_node *a, const struct cr_node *b)
{
    return a->rank == b->rank &&
           (a->shape == b->shape ||
            memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
}

bool cr_equal_nodes(const struct cr_graph *g, const struct cr_node *a, const struct cr_node *b)
{
    return a->op == b->op && a->dtype == b->dtype && cr_same_sizes(a, b) && a->n_in == b->n_in &&
           memcmp(cr_inputs(g, a), cr_inputs(g, b), (size_t)a->n_in * sizeof(cr_id)) == 0 &&
           a->index == b->index && a->axis == b->axis &&
           memcmp(&a->value, &b->value, sizeof a->value) == 0 && a->name == b->name &&
           a->where.entry == b->where.entry;
}

char *cr_shape_text(char *buf, size_t size, int rank, const int64_t *shape)
{
    size_t at = 0;
    for (int i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "[", (long long)shape[i]);
    if (at < size)
        snprintf(buf + at, size - at, rank ? "]" : "[]");
    return buf;
}

const char *cr_dtype_name(enum cr_dtype dtype)
{
    static const char *const names[] = {"f32", "i32", "bool"};
    return names[dtype];
}
