/* choose_entry.c - lists the entries of a graph and chooses one; see crescent.h. */
#include <stdio.h>
#include <string.h>

#include "handles.h"

/* Writes the names of all entries of a graph to `buf`, in one line. */
static void list_entries(char *buf, size_t size, const struct cr_graph *g)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < g->n_entries && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "", g->entries[i]);
}

/* Fails with a message that asks to choose one of the entries and lists them. */
static int refuse_entries(const struct cr_graph *g, const char *path, struct cr_error *error)
{
    char names[CR_MAX_ENTRIES * (CR_ENTRY_NAME + 2) + 1];
    list_entries(names, sizeof names, g);
    return cr_fail(error, "%.400s: the script returns %d entr%s, expected --entry with one of %s",
                   path, g->n_entries, g->n_entries == 1 ? "y" : "ies", names);
}

int cr_choose_entry(struct cr_graph *g, const char *name, const char *path, struct cr_error *error)
{
    char names[CR_MAX_ENTRIES * (CR_ENTRY_NAME + 2) + 1];
    bool named = *g->entries[0];
    if (!*name && g->n_entries > 1)
        return refuse_entries(g, path, error);
    int entry = *name ? cr_find_entry(g, name) : 0;
    if (*name && !named)
        return cr_fail(error,
                       "%.400s: --entry %.100s: the script returns outputs, expected one that "
                       "returns entries such as {decode = {y = y}}",
                       path, name);
    list_entries(names, sizeof names, g);
    if (entry == CR_NONE)
        return cr_fail(error, "%.400s: --entry %.100s: no entry of that name, expected one of %s",
                       path, name, names);
    if (named)
        cr_keep_entry(g, entry);
    return 0;
}

int cr_check_chosen(const crescent_graph *graph, struct cr_error *error)
{
    const struct cr_graph *g = graph->graph;
    return *g->entries[0] ? refuse_entries(g, graph->origin->path, error) : 0;
}

int crescent_graph_entry_count(const crescent_graph *graph)
{
    return graph && *graph->graph->entries[0] ? graph->graph->n_entries : 0;
}

const char *crescent_graph_entry_name(const crescent_graph *graph, int index)
{
    bool known = index >= 0 && index < crescent_graph_entry_count(graph);
    return known ? graph->graph->entries[index] : NULL;
}
