#include "match_graphs.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* Identifies the place of a script that built a node.  Inputs, states and parameters are identified
 * by op, rank and name only. */
struct place {
    cr_id id;
    enum cr_op op;
    int rank;
    const char *name, *scope;
    struct cr_text_line line, library; /* `library`: the line of graphs/lib that the script's line
                                          called, or zeros */
};

/* Compares two texts, either of which may be null. */
static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int compare_lines(const struct cr_text_line *a, const struct cr_text_line *b)
{
    return a->line != b->line ? (a->line > b->line) - (a->line < b->line) : compare_texts(a->file, b->file);
}

/* Compares places in a fixed order; returns 0 if both nodes were built in the same place. */
static int compare_places(const struct place *a, const struct place *b)
{
    int differ = a->op != b->op       ? (a->op > b->op) - (a->op < b->op)
                 : a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                                      : compare_texts(a->name, b->name);
    differ = differ ? differ : compare_lines(&a->line, &b->line);
    differ = differ ? differ : compare_lines(&a->library, &b->library);
    return differ ? differ : compare_texts(a->scope, b->scope);
}

/* Compares places of one graph for sorting; of nodes built in the same place, the one built first
 * is less. */
static int compare_nodes(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int places = compare_places(x, y);
    return places ? places : (x->id > y->id) - (x->id < y->id);
}

/* Returns the places of a graph's nodes, sorted; the caller frees them. */
static struct place *sorted_places(const struct cr_graph *g)
{
    struct place *places = cr_calloc((size_t)g->n_nodes + 1, sizeof *places);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        const struct cr_text_line *library = cr_line_of(g, node->where.library);
        places[id] = (struct place){.id = id, .op = node->op, .rank = node->rank};
        if (cr_is_interface(node)) {
            places[id].name = node->name;
            continue;
        }
        places[id].scope = node->where.scope;
        places[id].line = (struct cr_text_line){node->where.file, node->where.line};
        if (library)
            places[id].library = *library;
    }
    qsort(places, (size_t)g->n_nodes, sizeof *places, compare_nodes);
    return places;
}

/* Pairs the first node of a place in one graph with the first node of that place in the other
 * graph, the second with the second, and so on: sets map[node of g] = node of `other`, and
 * back[node of `other`] = node of g. */
static void pair_places(const struct cr_graph *g, const struct cr_graph *other, cr_id *map, cr_id *back)
{
    struct place *ours = sorted_places(g), *theirs = sorted_places(other);
    for (int i = 0, j = 0; i < g->n_nodes && j < other->n_nodes;) {
        int order = compare_places(&ours[i], &theirs[j]);
        if (order == 0) {
            map[ours[i].id] = theirs[j].id;
            back[theirs[j].id] = ours[i].id;
        }
        i += order <= 0;
        j += order >= 0;
    }
    free(ours);
    free(theirs);
}

/* True if two nodes reduce or permute the same axes, and if each pair of their operands is matched
 * or has no match on either side. */
static bool nodes_match(const struct cr_graph *g, const struct cr_graph *other, cr_id id, cr_id match,
                           const cr_id *map, const cr_id *back)
{
    const struct cr_node *a = &g->nodes[id], *b = &other->nodes[match];
    if (a->n_in != b->n_in || a->axis != b->axis)
        return false;
    if (a->op == CR_OP_permute && memcmp(a->index, b->index, CR_MAX_RANK * sizeof *a->index) != 0)
        return false;
    for (int i = 0; i < a->n_in; i++) {
        cr_id ours = cr_in(g, id, i), theirs = cr_in(other, match, i);
        if (map[ours] == CR_NONE ? back[theirs] != CR_NONE : map[ours] != theirs)
            return false;
    }
    return true;
}

/* Pairs outputs with the same entry, name, op and rank, if neither has a match yet. */
static void pair_outputs(const struct cr_graph *g, const struct cr_graph *other, cr_id *map, cr_id *back)
{
    for (int i = 0; i < g->n_outputs; i++)
        for (int j = 0; j < other->n_outputs; j++) {
            const struct cr_output *a = &g->outputs[i], *b = &other->outputs[j];
            const struct cr_node *x = &g->nodes[a->id], *y = &other->nodes[b->id];
            if (a->entry != b->entry || strcmp(a->name, b->name) != 0 || x->op != y->op || x->rank != y->rank ||
                map[a->id] != CR_NONE || back[b->id] != CR_NONE)
                continue;
            map[a->id] = b->id;
            back[b->id] = a->id;
        }
}

cr_id *cr_match_graphs(const struct cr_graph *g, const struct cr_graph *other, int *n)
{
    cr_id *map = cr_calloc((size_t)g->n_nodes + 1, sizeof *map);
    cr_id *back = cr_calloc((size_t)other->n_nodes + 1, sizeof *back);
    for (cr_id id = 0; id < g->n_nodes; id++)
        map[id] = CR_NONE;
    for (cr_id id = 0; id < other->n_nodes; id++)
        back[id] = CR_NONE;
    pair_places(g, other, map, back);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (map[id] != CR_NONE && !nodes_match(g, other, id, map[id], map, back)) {
            back[map[id]] = CR_NONE;
            map[id] = CR_NONE;
        }
    pair_outputs(g, other, map, back);
    *n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        *n += map[id] != CR_NONE;
    free(back);
    return map;
}
