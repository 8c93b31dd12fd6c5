#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "mem.h"

static int broken(struct cr_error *error, const struct cr_graph *g, cr_id id, const char *what)
{
    unsigned op = (unsigned)g->nodes[id].op;
    return cr_fail(error, "node %d (%s): %s", (int)id, op < CR_OP_COUNT ? cr_ops[op].name : "?",
                   what);
}

/* ---- nodes ---- */

static bool has_operands(const struct cr_graph *g, const struct cr_node *node)
{
    return node->n_in >= 0 && node->first_in >= 0 && node->first_in <= g->n_operands - node->n_in;
}

/* Checks the fields of a node, none of which is assumed to be valid.  Returns what is wrong, or
 * null. */
static const char *check_fields(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    bool named = cr_is_input(node) || node->op == CR_OP_param || node->op == CR_OP_literal ||
                 cr_is_part(node);
    if ((unsigned)node->op >= CR_OP_COUNT)
        return "no such op";
    if ((unsigned)node->dtype > CR_BOOL)
        return "no such type";
    if (node->rank < 0 || node->rank > CR_MAX_RANK)
        return "no such rank";
    if (!has_operands(g, node))
        return "its operands lie outside the pool";
    for (int i = 0; i < node->n_in; i++)
        if (cr_in(g, id, i) < 0 || cr_in(g, id, i) >= id)
            return "an operand does not come before it";
    if (named != (node->name != NULL))
        return named ? "it has no name" : "it has a name, but is no leaf that has one";
    if ((unsigned)node->init > CR_INIT_FILL)
        return "no such init";
    return NULL;
}

/* Checks that a node's strings other than its name are interned.  Skips the origin if it equals
 * the previous node's, as it mostly does. */
static const char *check_strings(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id], *last = id ? node - 1 : NULL;
    if (!(last && last->where.file == node->where.file) && !cr_is_interned(g, node->where.file))
        return "its file is not interned";
    if (!(last && last->where.scope == node->where.scope) && !cr_is_interned(g, node->where.scope))
        return "its scope is not interned";
    return !node->tap || cr_is_interned(g, node->tap) ? NULL : "its tap is not interned";
}

/* ---- names ---- */

/* A set of interned names, compared by address: open addressing, at most half full. */
struct name_set {
    const char **slots;
    unsigned size; /* a power of two */
};

static struct name_set name_set_for(int n)
{
    struct name_set set = {.size = 4};
    while (set.size < 2 * (unsigned)n)
        set.size *= 2;
    set.slots = cr_calloc(set.size, sizeof *set.slots);
    return set;
}

/* Adds a name; returns false if it was added before. */
static bool add_name(struct name_set *set, const char *name)
{
    unsigned at = (unsigned)cr_hash_word(0, (uintptr_t)name) & (set->size - 1);
    for (; set->slots[at]; at = (at + 1) & (set->size - 1))
        if (set->slots[at] == name)
            return false;
    set->slots[at] = name;
    return true;
}

/* Returns a name that occurs twice in an array of interned names, or null. */
static const char *find_twice(const char *const *names, int n)
{
    struct name_set set = name_set_for(n);
    int i = 0;
    while (i < n && add_name(&set, names[i]))
        i++;
    free(set.slots);
    return i < n ? names[i] : NULL;
}

/* Checks that no two inputs or states, and no two parameters, have the same name. */
static int verify_names(const struct cr_graph *g, struct cr_error *error)
{
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        n += g->nodes[id].name != NULL;
    struct name_set inputs = name_set_for(n), params = name_set_for(n);
    const struct cr_node *twice = NULL;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (cr_is_interface(node) && !add_name(node->op == CR_OP_param ? &params : &inputs, node->name))
            twice = node;
    }
    free(inputs.slots);
    free(params.slots);
    if (!twice)
        return 0;
    return cr_fail(error, "%s %.200s: there are two",
                   cr_ops[twice->op == CR_OP_param ? CR_OP_param : CR_OP_input].name, twice->name);
}

/* Checks an output: replacements of states come last and have the state's shape and type. */
static int verify_replacement(const struct cr_graph *g, int i, struct cr_error *error)
{
    const struct cr_output *output = &g->outputs[i];
    if ((output->state == CR_NONE) != (i < cr_n_results(g)))
        return cr_fail(error, "output %d: it stands among those of another kind", i);
    if (output->state == CR_NONE)
        return 0;
    if (output->state < 0 || output->state >= g->n_nodes ||
        g->nodes[output->state].op != CR_OP_state)
        return cr_fail(error, "output %d: it replaces no state", i);
    const struct cr_node *state = &g->nodes[output->state], *value = &g->nodes[output->id];
    if (output->name != state->name || !cr_same_sizes(state, value) ||
        state->dtype != value->dtype)
        return cr_fail(error, "output %d: it is not what it replaces", i);
    return 0;
}

static int verify_output(struct cr_graph *g, int i, struct cr_error *error)
{
    const struct cr_output *output = &g->outputs[i];
    if (output->id < 0 || output->id >= g->n_nodes)
        return cr_fail(error, "output %d: there is no node %d", i, (int)output->id);
    if (!cr_is_interned(g, output->name))
        return cr_fail(error, "output %d: its name is not interned", i);
    int before = i && i != cr_n_results(g) ? output[-1].entry : 0;
    if (output->entry < before || output->entry >= g->n_entries)
        return cr_fail(error, "output %d: it is not listed by entry", i);
    return verify_replacement(g, i, error);
}

/* Checks each output; then that an entry's outputs have different names, and that the entry
 * replaces each state at most once. */
static int verify_listed(struct cr_graph *g, struct cr_error *error)
{
    const char **names = cr_calloc((size_t)g->n_outputs, sizeof *names), *twice = NULL;
    int status = 0;
    int n_results = cr_n_results(g);
    for (int i = 0; !status && i < g->n_outputs; i++)
        status = verify_output(g, i, error);
    for (int i = 0; !status && i < g->n_outputs;) {
        int entry = g->outputs[i].entry, n = 0, end = i < n_results ? n_results : g->n_outputs;
        bool replaced = i >= n_results;
        for (; i < end && g->outputs[i].entry == entry; i++)
            names[n++] = g->outputs[i].name;
        if ((twice = find_twice(names, n)))
            status = cr_fail(error, "%s %.200s: there are two", replaced ? "next" : "output", twice);
    }
    free(names);
    return status;
}

/* Checks that the entries have different names and at least one output each; a single entry needs
 * no name. */
static int verify_entries(struct cr_graph *g, struct cr_error *error)
{
    const char *names[CR_MAX_ENTRIES], *twice;
    bool has_outputs[CR_MAX_ENTRIES] = {false};
    if (g->n_entries < 1 || g->n_entries > CR_MAX_ENTRIES)
        return cr_fail(error, "there are %d entries", g->n_entries);
    for (int i = 0; i < cr_n_results(g); i++)
        has_outputs[g->outputs[i].entry] = true;
    for (int i = 0; i < g->n_entries; i++) {
        names[i] = g->entries[i];
        if (!cr_is_interned(g, names[i]) || (g->n_entries > 1 && !*names[i]))
            return cr_fail(error, "entry %d: it has no name", i);
        if (g->n_entries > 1 && !has_outputs[i])
            return cr_fail(error, "entry %d: it has no outputs", i);
    }
    twice = find_twice(names, g->n_entries);
    return twice ? cr_fail(error, "entry %.200s: there are two", twice) : 0;
}

int cr_verify(struct cr_graph *g, struct cr_error *error)
{
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const char *what = check_fields(g, id);
        what = what ? what : cr_check_inference(g, id);
        what = what ? what : check_strings(g, id);
        if (what)
            return broken(error, g, id, what);
    }
    return verify_names(g, error) || verify_listed(g, error) || verify_entries(g, error) ? -1 : 0;
}

int cr_verify_separate(const struct cr_graph *g, struct cr_error *error)
{
    for (cr_id id = 0; g->n_entries > 1 && id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (node->where.entry < 0 || node->where.entry >= g->n_entries ||
            (node->name && node->where.entry))
            return broken(error, g, id, "it belongs to no entry");
        for (int i = 0; i < node->n_in; i++) {
            const struct cr_node *in = &g->nodes[cr_in(g, id, i)];
            if (!in->name && in->where.entry != node->where.entry)
                return broken(error, g, id, "its operand belongs to another entry");
        }
    }
    for (int i = 0; g->n_entries > 1 && i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        if (!node->name && node->where.entry != g->outputs[i].entry)
            return cr_fail(error, "output %.200s: it belongs to another entry",
                           g->outputs[i].name);
    }
    return 0;
}

int cr_verify_outputs(const struct cr_graph *g, struct cr_error *error)
{
    bool *taken = cr_calloc((size_t)g->n_nodes, sizeof *taken);
    int status = 0;
    for (int i = 0; i < g->n_outputs && !status; i++) {
        cr_id id = g->outputs[i].id;
        if (taken[id])
            status = broken(error, g, id, "two outputs are this node");
        else if (cr_kind_of(g, id) == CR_KIND_LEAF)
            status = broken(error, g, id, "it is a leaf and an output");
        taken[id] = true;
    }
    free(taken);
    return status;
}

/* ---- hashes of nodes ---- */

/* Returns a hash of everything that cr_equal_nodes compares. */
static inline uint64_t hash_meaning(const struct cr_graph *g, const struct cr_node *node)
{
    uint64_t value, h;
    memcpy(&value, &node->value, sizeof value);
    h = cr_hash_word((uint64_t)node->op << 32 | (uint64_t)node->dtype << 24 |
                         (uint64_t)node->init << 16 | (uint64_t)node->rank << 8 |
                         (uint64_t)node->axis,
                     value ^ (uintptr_t)node->name ^ (uint64_t)node->where.entry << 56);
    for (int i = 0; i < node->n_in; i++)
        h = cr_hash_word(h, (uint64_t)cr_inputs(g, node)[i]);
    return cr_hash_word(h, cr_hash_axes(node));
}

uint64_t cr_hash_node(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->rank < 0 || node->rank > CR_MAX_RANK || !has_operands(g, node))
        return 0; /* the node is invalid */
    return cr_hash_word(hash_meaning(g, node), (uintptr_t)node->where.file ^
                                                   (uintptr_t)node->where.scope << 16 ^
                                                   (uintptr_t)node->tap << 32);
}

uint64_t cr_hash_outputs(const struct cr_graph *g)
{
    uint64_t h = (uint64_t)g->n_outputs;
    for (int i = 0; i < g->n_outputs; i++)
        h = cr_hash_word(
            cr_hash_word(cr_hash_word(h, (uint64_t)g->outputs[i].id |
                                             (uint64_t)g->outputs[i].entry << 32),
                         (uint64_t)g->outputs[i].state),
            (uintptr_t)g->outputs[i].name);
    return h;
}

/* ---- simple graphs ---- */

/* Checks that all nodes except inputs and parameters are reachable from the outputs. */
static int verify_live(const struct cr_graph *g, struct cr_error *error)
{
    bool *live = cr_calloc((size_t)g->n_nodes, sizeof *live);
    cr_id dead = CR_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        live[g->outputs[i].id] = true;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (!live[id] && !cr_is_interface(&g->nodes[id]))
            dead = id;
        for (int i = 0; live[id] && i < g->nodes[id].n_in; i++)
            live[cr_in(g, id, i)] = true;
    }
    free(live);
    return dead == CR_NONE ? 0 : broken(error, g, dead, "it is dead");
}

/* Checks that no two nodes are equal.  A slot of the hash table holds a node's id + 1, or 0. */
static int verify_unequal(const struct cr_graph *g, struct cr_error *error)
{
    unsigned size = 4;
    while (size < 2 * (unsigned)g->n_nodes)
        size *= 2;
    cr_id *table = cr_calloc(size, sizeof *table), other = CR_NONE, id = 0;
    for (; id < g->n_nodes && other == CR_NONE; id++) {
        unsigned at = (unsigned)hash_meaning(g, &g->nodes[id]) & (size - 1);
        for (; table[at] && other == CR_NONE; at = (at + 1) & (size - 1))
            if (cr_equal_nodes(g, &g->nodes[id], &g->nodes[table[at] - 1]))
                other = table[at] - 1;
        table[at] = id + 1;
    }
    free(table);
    if (other == CR_NONE)
        return 0;
    char what[64];
    snprintf(what, sizeof what, "it is equal to node %d", (int)other);
    return broken(error, g, id - 1, what);
}

int cr_verify_simple(const struct cr_graph *g, struct cr_error *error)
{
    return verify_live(g, error) || verify_unequal(g, error) ? -1 : 0;
}
