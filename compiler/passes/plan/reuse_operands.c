#include "reuse_operands.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/in_place.h"

/* The values of a part of the arena, sorted by their first kernel; empty if they have different
 * offsets. */
struct chain {
    cr_id *values;
    int n, cap;
};

struct joiner {
    struct cr_lifetimes *l;
    const struct cr_module *m;
    int *writers; /* by node: the number of kernels that store it or parts of it */
    struct chain *chains;
};

/* The most values of a joined part; a longer list would take too long to search and to move. */
enum { MOST = 4096 };

/* True if the kernel that stores `later` may store it over its operand `earlier`, which nothing
 * reads afterwards.  Kernels with several results, made by join_tiles, may not. */
static bool may_lie_over(const struct joiner *j, cr_id earlier, cr_id later)
{
    const struct cr_lifetimes *l = j->l;
    const struct cr_node *a = &j->m->graph->nodes[earlier], *b = &j->m->graph->nodes[later];
    int kernel = l->first[later];
    const struct cr_kernel *k = &j->m->kernels[kernel];
    return l->last[earlier] == kernel && l->first[earlier] < kernel && j->writers[later] == 1 &&
           k->n_stored == 1 && !k->again && a->dtype == b->dtype &&
           cr_elements(a->rank, a->shape) == cr_elements(b->rank, b->shape) &&
           cr_reads_node(k, earlier) && k->dest.base == 0 && cr_reads_in_place(k, 0, earlier);
}

/* True if two values can share memory: their live ranges are disjoint, or one is stored over the other. */
static bool may_follow(const struct joiner *j, cr_id earlier, cr_id later)
{
    return j->l->last[earlier] < j->l->first[later] || may_lie_over(j, earlier, later);
}

/* Returns the index of the first value of a chain that is written at kernel `kernel` or later. */
static int find_at(const struct joiner *j, const struct chain *c, int kernel)
{
    int low = 0, high = c->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (j->l->first[c->values[middle]] < kernel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* True if the values of two chains can share memory.  Each value of the short chain is inserted
 * into the long one by time; it must be able to follow the value before it, and the next value must
 * be able to follow it. */
static bool fit(const struct joiner *j, const struct chain *chain, const struct chain *into)
{
    for (int i = 0; i < chain->n; i++) {
        cr_id id = chain->values[i];
        int at = find_at(j, into, j->l->first[id]);
        cr_id next = at < into->n ? into->values[at] : CR_NONE;
        if (at && !may_follow(j, into->values[at - 1], id))
            return false;
        if (next != CR_NONE && !may_follow(j, id, next))
            return false;
    }
    return true;
}

/* Merges `chain` into the chain `into`, whose part number is `part`. */
static void move(struct joiner *j, struct chain *chain, struct chain *into, int part)
{
    for (int i = 0; i < chain->n; i++) {
        cr_id id = chain->values[i];
        int at = find_at(j, into, j->l->first[id]);
        (void)*CR_PUSH(into->values, into->n, into->cap);
        for (int k = into->n - 1; k > at; k--)
            into->values[k] = into->values[k - 1];
        into->values[at] = id;
        j->l->part[id] = part;
    }
    chain->n = 0;
}

/* Joins the parts of the values `earlier` and `later`, of which the latter may be stored over the
 * former, if all values of both parts can share memory. */
static void join(struct joiner *j, cr_id earlier, cr_id later)
{
    int part = j->l->part[earlier], other = j->l->part[later];
    if (part == other || !j->chains[part].n || !j->chains[other].n ||
        j->chains[part].n + j->chains[other].n > MOST || !may_lie_over(j, earlier, later))
        return;
    bool longer = j->chains[part].n < j->chains[other].n;
    int into = longer ? other : part, from = longer ? part : other;
    if (j->l->parts[part].floats == j->l->parts[other].floats &&
        fit(j, &j->chains[from], &j->chains[into]))
        move(j, &j->chains[from], &j->chains[into], into);
}

static void join_all(struct joiner *j)
{
    for (int i = 0; i < j->m->n_kernels; i++) {
        const struct cr_kernel *k = &j->m->kernels[i];
        for (int s = 0; s < k->n_stored; s++)
            for (int r = 0; r < k->n_refs; r++)
                if (j->l->part[k->stored[s]] >= 0 && j->l->part[k->refs[r]] >= 0)
                    join(j, k->refs[r], k->stored[s]);
    }
}

/* Sets the chain of each part, and the number of kernels that write each node. */
static void find_chains(struct joiner *j)
{
    const struct cr_lifetimes *l = j->l;
    for (int i = 0; i < j->m->n_kernels; i++) {
        const struct cr_kernel *k = &j->m->kernels[i];
        for (int s = 0; s < k->n_stored; s++) {
            cr_id id = k->stored[s];
            j->writers[id]++;
            if (l->part[id] < 0 || l->first[id] != i ||
                l->floats[id] != l->parts[l->part[id]].floats)
                continue;
            struct chain *c = &j->chains[l->part[id]];
            *CR_PUSH(c->values, c->n, c->cap) = id;
        }
    }
}

/* Fills in lifetimes->over: for each value that is stored over an operand, that operand. */
static void find_over(struct joiner *j)
{
    for (int p = 0; p < j->l->n; p++) {
        const struct chain *c = &j->chains[p];
        for (int i = 1; i < c->n; i++)
            if (j->l->last[c->values[i - 1]] == j->l->first[c->values[i]])
                j->l->over[c->values[i]] = c->values[i - 1];
    }
}

/* Renumbers the parts, without those that have no values any more. */
static void drop_empty_parts(struct joiner *j)
{
    int n = 0, *number = cr_calloc((size_t)j->l->n + 1, sizeof *number);
    for (cr_id id = 0; id < j->m->graph->n_nodes; id++)
        if (j->l->part[id] >= 0)
            number[j->l->part[id]] = 1;
    for (int p = 0; p < j->l->n; p++) {
        if (!number[p])
            continue;
        j->l->parts[n] = j->l->parts[p];
        number[p] = n++;
    }
    for (cr_id id = 0; id < j->m->graph->n_nodes; id++)
        if (j->l->part[id] >= 0)
            j->l->part[id] = number[j->l->part[id]];
    j->l->n = n;
    free(number);
}

void cr_reuse_operands(struct cr_lifetimes *l, const struct cr_module *m)
{
    struct joiner j = {.l = l, .m = m};
    int n = l->n;
    j.writers = cr_calloc((size_t)m->graph->n_nodes + 1, sizeof *j.writers);
    j.chains = cr_calloc((size_t)n + 1, sizeof *j.chains);
    find_chains(&j);
    join_all(&j);
    find_over(&j);
    drop_empty_parts(&j);
    for (int p = 0; p < n; p++)
        free(j.chains[p].values);
    free(j.writers);
    free(j.chains);
}
