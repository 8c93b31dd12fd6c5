#include "users.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* The nearest node that both a and b lead to; ids grow along every path. */
static cr_id common(const cr_id *meet, cr_id a, cr_id b)
{
    while (a != b) {
        if (a == CR_NONE || b == CR_NONE)
            return CR_NONE;
        if (a < b)
            a = meet[a];
        else
            b = meet[b];
    }
    return a;
}

/* Immediate post-dominators: users have larger ids, so one pass from the end is enough. */
static void find_meets(struct cr_users *users, const struct cr_graph *g)
{
    bool *output = cr_calloc((size_t)g->n_nodes, sizeof *output);
    for (int i = 0; i < g->n_outputs; i++)
        output[g->outputs[i].id] = true;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        int begin = users->first[id], end = users->first[id + 1];
        users->meet[id] = begin == end || output[id] ? CR_NONE : users->list[begin];
        for (int i = begin + 1; i < end && users->meet[id] != CR_NONE; i++)
            users->meet[id] = common(users->meet, users->meet[id], users->list[i]);
    }
    free(output);
}

void cr_users_find(struct cr_users *users, const struct cr_graph *g)
{
    int n = g->n_nodes;
    users->first = cr_calloc((size_t)n + 2, sizeof *users->first);
    users->list = cr_calloc((size_t)g->n_operands + 1, sizeof *users->list);
    users->meet = cr_calloc((size_t)n + 1, sizeof *users->meet);
    for (cr_id id = 0; id < n; id++)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            users->first[cr_in(g, id, i) + 2]++;
    for (int i = 2; i <= n + 1; i++)
        users->first[i] += users->first[i - 1];
    for (cr_id id = 0; id < n; id++)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            users->list[users->first[cr_in(g, id, i) + 1]++] = id;
    find_meets(users, g);
}

void cr_users_free(struct cr_users *users)
{
    free(users->first);
    free(users->list);
    free(users->meet);
}
