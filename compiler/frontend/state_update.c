/* state_update.c - the function `replace`, which sets the next value of a state.  The entries
 * that its calls name are resolved once the script has returned them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "compiler/ir/nearest_name.h"
#include "language.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

/* Returns the index in run->replacing of the entry that the argument at `index` names, which is
 * added there if necessary. */
static int entry_to_replace(lua_State *L, int index)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_line inner;
    const char *name = lua_isnoneornil(L, index) ? "" : cr_arg_string(L, index, "replace", "entry");
    for (int i = 0; i < run->n_replacing; i++)
        if (strcmp(run->replacing[i], name) == 0)
            return i;
    if (run->n_replacing > CR_MAX_ENTRIES)
        cr_raise(L, "replace: entry '%.40s' is one too many, expected at most %d entries", name,
                 CR_MAX_ENTRIES);
    cr_find_lines(L, run, &run->replacing_at[run->n_replacing], &inner);
    run->replacing[run->n_replacing] = cr_intern(run->graph, name);
    return run->n_replacing++;
}

/* replace(state, value [, entry]): a run of the entry leaves `value` in the state */
int cr_lua_replace(lua_State *L)
{
    cr_arg_count(L, "replace", 2, 3);
    cr_id state = cr_arg_tensor(L, 1, "replace"), value = cr_arg_tensor(L, 2, "replace");
    struct cr_graph *g = cr_run_of(L)->graph;
    int entry = entry_to_replace(L, 3);
    cr_work(L, (size_t)g->n_replaced + 1); /* cr_add_replacement below searches all of them */
    const char *why = cr_check_replacement(g, entry, state, value);
    if (why)
        cr_raise(L, "%s", why);
    cr_add_replacement(g, entry, state, value);
    cr_check_memory(L);
    return 0;
}

/* ---- entries ---- */

/* Raises an error about an entry at the first line of the script that named it. */
static void refuse_entry(lua_State *L, struct cr_run *run, int number, const char *why)
{
    char text[2 * CR_NAME_MAX + 128];
    const char *name = run->replacing[number];
    if (*name)
        snprintf(text, sizeof text, "replace: entry '%.80s': %s", name, why);
    else
        snprintf(text, sizeof text, "replace: %s", why);
    cr_raise_at(L, run->replacing_at[number], text);
}

/* Returns the index of the entry that a call of replace named.  A single entry needs no name. */
static int entry_replacing(lua_State *L, struct cr_run *run, int number)
{
    const struct cr_graph *g = run->graph;
    const char *name = run->replacing[number];
    char hint[CR_MAX_ENTRIES * 4 + 256], why[sizeof hint + 80];
    int entry = *name ? cr_find_entry(g, name) : 0;
    if (!*name && g->n_entries > 1)
        refuse_entry(L, run, number, "found no entry, expected replace(state, value, entry), as "
                     "the script returns several entries");
    if (entry != CR_NONE)
        return entry;
    snprintf(why, sizeof why, "the script returned none of that name%s",
             cr_did_you_mean(hint, sizeof hint, name, g->entries, g->n_entries));
    refuse_entry(L, run, number, why);
    return entry;
}

static int by_entry(const void *a, const void *b)
{
    const struct cr_output *x = a, *y = b;
    return x->entry != y->entry ? x->entry - y->entry : x->state - y->state;
}

void cr_settle_replacements(lua_State *L, struct cr_run *run)
{
    struct cr_graph *g = run->graph;
    struct cr_output *first = g->outputs + cr_n_results(g);
    int entries[CR_MAX_ENTRIES + 1];
    for (int i = 0; i < run->n_replacing; i++)
        entries[i] = entry_replacing(L, run, i);
    for (int i = 0; i < g->n_replaced; i++)
        first[i].entry = entries[first[i].entry];
    if (g->n_replaced)
        qsort(first, (size_t)g->n_replaced, sizeof *first, by_entry);
    for (int i = 1; i < g->n_replaced; i++)
        if (first[i].entry == first[i - 1].entry && first[i].state == first[i - 1].state)
            cr_raise(L,
                     "replace: found '%.100s' twice, with and without the name of its entry, expected "
                     "it once",
                     first[i].name);
}

/* ---- states without effect ---- */

/* Raises an error about a state at the script line that declared the state. */
static void refuse_state(lua_State *L, struct cr_run *run, cr_id id, const char *why)
{
    const struct cr_node *node = &run->graph->nodes[id];
    char text[CR_NAME_MAX + 128];
    snprintf(text, sizeof text, "state: '%s' %s", node->name, why);
    cr_raise_at(L, (struct cr_line){node->where.file, node->where.line}, text);
}

/* Raises an error for states that are never read or never replaced.  A printed graph is not
 * checked: passes may have removed nodes that read a state. */
void cr_check_states(lua_State *L, struct cr_run *run)
{
    const struct cr_graph *g = run->graph;
    if (run->in_dump)
        return;
    bool *read = lua_newuserdata(L, (size_t)g->n_nodes + 1);
    bool *replaced = lua_newuserdata(L, (size_t)g->n_nodes + 1);
    memset(read, 0, (size_t)g->n_nodes + 1);
    memset(replaced, 0, (size_t)g->n_nodes + 1);
    for (int i = 0; i < g->n_operands; i++)
        read[g->operands[i]] = true;
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_output *output = &g->outputs[i];
        if (output->state != CR_NONE)
            replaced[output->state] = true;
        if (output->id != output->state)
            read[output->id] = true;
    }
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op == CR_OP_state && !replaced[id])
            refuse_state(L, run, id, "is never replaced, expected replace(state, value), or an "
                         "input in its place");
        if (g->nodes[id].op == CR_OP_state && !read[id])
            refuse_state(L, run, id,
                         "is never read, expected a value or an output that depends on it");
    }
    lua_pop(L, 2);
}
