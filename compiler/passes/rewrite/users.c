#include "users.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* The tree of immediate post-dominators: the parent of a node is the first node that is on all
 * paths from its readers to outputs.  The root is no node, and is written CR_NONE. */
struct tree {
    cr_id root;
    cr_id *above; /* by node: the parent in the tree */
    cr_id *far;   /* by node: a more distant ancestor, to which its long step leads */
    int *depth;   /* by node: number of steps to the root */
};

static void begin_tree(struct tree *t, int n_nodes)
{
    size_t n = (size_t)n_nodes + 1;
    t->root = n_nodes;
    t->above = cr_calloc(n, sizeof *t->above);
    t->far = cr_calloc(n, sizeof *t->far);
    t->depth = cr_calloc(n, sizeof *t->depth);
    t->above[t->root] = t->far[t->root] = t->root;
}

static void end_tree(struct tree *t)
{
    free(t->above);
    free(t->far);
    free(t->depth);
}

/* Adds a node below `above`, with a long step to a distant ancestor (a skip list).  If the next two
 * long steps from `above` have equal length, the node's long step spans both; otherwise it leads to
 * `above`.  So the path to any ancestor has a logarithmic number of steps. */
static void add_below(struct tree *t, cr_id id, cr_id above)
{
    cr_id far = t->far[above], farther = t->far[far];
    bool equal = t->depth[above] - t->depth[far] == t->depth[far] - t->depth[farther];
    t->above[id] = above;
    t->far[id] = equal ? farther : above;
    t->depth[id] = t->depth[above] + 1;
}

/* Returns the lowest common ancestor of two nodes. */
static cr_id common(const struct tree *t, cr_id a, cr_id b)
{
    if (t->depth[a] < t->depth[b])
        return common(t, b, a);
    while (t->depth[a] > t->depth[b])
        a = t->depth[t->far[a]] >= t->depth[b] ? t->far[a] : t->above[a];
    while (a != b) {
        bool below = t->far[a] != t->far[b];
        a = below ? t->far[a] : t->above[a];
        b = below ? t->far[b] : t->above[b];
    }
    return a;
}

/* Sets `meet` of each node.  Readers have larger ids, so one pass from the last node is enough. */
static void find_meets(struct cr_users *users, const struct cr_graph *g)
{
    users->meet = cr_calloc((size_t)g->n_nodes + 1, sizeof *users->meet);
    struct tree t;
    begin_tree(&t, g->n_nodes);
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        int begin = users->first[id], end = users->first[id + 1];
        cr_id meet = begin == end || users->output[id] ? t.root : users->list[begin];
        for (int i = begin + 1; i < end && meet != t.root; i++)
            meet = common(&t, meet, users->list[i]);
        add_below(&t, id, meet);
        users->meet[id] = meet == t.root ? CR_NONE : meet;
    }
    end_tree(&t);
}

/* Marks outputs, then lists the users of all nodes by a counting sort: users->list has the users of
 * one node side by side. */
void cr_users_list(struct cr_users *users, const struct cr_graph *g)
{
    int n = g->n_nodes;
    users->meet = NULL;
    users->first = cr_calloc((size_t)n + 2, sizeof *users->first);
    users->list = cr_calloc((size_t)g->n_operands + 1, sizeof *users->list);
    users->output = cr_calloc((size_t)n + 1, sizeof *users->output);
    for (int i = 0; i < g->n_outputs; i++)
        users->output[g->outputs[i].id] = true;
    for (cr_id id = 0; id < n; id++)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            users->first[cr_in(g, id, i) + 2]++;
    for (int i = 2; i <= n + 1; i++)
        users->first[i] += users->first[i - 1];
    for (cr_id id = 0; id < n; id++)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            users->list[users->first[cr_in(g, id, i) + 1]++] = id;
}

void cr_users_find(struct cr_users *users, const struct cr_graph *g)
{
    cr_users_list(users, g);
    find_meets(users, g);
}

void cr_users_free(struct cr_users *users)
{
    free(users->first);
    free(users->list);
    free(users->output);
    free(users->meet);
}
