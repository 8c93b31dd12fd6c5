/*
 * states.c - decides where the next value of a state is stored: in the memory of the state, if all
 * kernels that read the old value can run before; otherwise in a separate buffer, which is copied
 * into the state at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "fuse.h"
#include "in_place.h"
#include "lower.h"

/* ---- the order of kernels ---- */

/* The kernels, and the order constraints between them. */
struct order {
    const struct cr_module *m;
    size_t nodes;      /* number of nodes at the start; nodes that copy states are appended later */
    int *first, *last; /* by node: the first and last kernel that stores it, or -1 */
    cr_id *next;       /* by entry and state: the node that is stored over the state, or CR_NONE */
    int *from, *to;    /* by edge: kernel `from` runs before kernel `to` */
    bool *late;        /* by kernel: true if the kernel runs after the others of its entry */
    int n, cap, cap_to;
    int *found; /* kernels in execution order; incomplete if there is a cycle */
    int n_found;
};

/* Initialises the order with the kernels that store each node, which are adjacent, and without
 * values that replace states in place. */
static void begin_order(struct order *o, const struct cr_module *m)
{
    size_t nodes = (size_t)m->graph->n_nodes;
    *o = (struct order){.m = m, .nodes = nodes};
    o->first = cr_calloc(nodes, sizeof *o->first);
    o->last = cr_calloc(nodes, sizeof *o->last);
    o->next = cr_calloc(nodes * (size_t)m->graph->n_entries, sizeof *o->next);
    o->found = cr_calloc((size_t)m->n_kernels, sizeof *o->found);
    o->late = cr_calloc((size_t)m->n_kernels, sizeof *o->late);
    for (size_t i = 0; i < nodes; i++)
        o->first[i] = o->last[i] = CR_NONE;
    for (size_t i = 0; i < nodes * (size_t)m->graph->n_entries; i++)
        o->next[i] = CR_NONE;
    for (int i = 0; i < m->n_kernels; i++)
        for (int s = 0; s < m->kernels[i].n_stored; s++) {
            cr_id id = m->kernels[i].stored[s];
            o->last[id] = i;
            if (o->first[id] < 0)
                o->first[id] = i;
        }
}

static void end_order(struct order *o)
{
    free(o->first);
    free(o->last);
    free(o->next);
    free(o->from);
    free(o->to);
    free(o->found);
    free(o->late);
}

static cr_id *next_of(const struct order *o, int entry, cr_id state)
{
    return &o->next[(size_t)entry * o->nodes + (size_t)state];
}

/* Returns the slot for the node that the output's entry stores over the state that `output`
 * replaces. */
static cr_id *next_by(const struct order *o, const struct cr_output *output)
{
    return next_of(o, output->entry, output->state);
}

static void add_edge(struct order *o, int from, int to)
{
    int n = o->n;
    if (from < 0 || from == to)
        return;
    *CR_PUSH(o->from, n, o->cap) = from;
    *CR_PUSH(o->to, o->n, o->cap_to) = to;
}

/* Adds edges: from the kernel of an operand to its readers; from each kernel that stores a part of
 * a value to the next; and from readers of a state's old value to the kernel that stores over
 * it. */
static void find_edges(struct order *o)
{
    const struct cr_module *m = o->m;
    o->n = 0;
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        if (i && m->kernels[i - 1].buffer == k->buffer)
            add_edge(o, i - 1, i);
        for (int r = 0; r < k->n_refs; r++) {
            cr_id next = *next_of(o, k->entry, k->refs[r]);
            add_edge(o, o->last[k->refs[r]], i);
            if (next != CR_NONE && next != k->buffer)
                add_edge(o, i, o->first[next]);
        }
    }
}

/* Marks kernels as late: those that have to wait for a later kernel and for which no kernel waits,
 * so that they only write a state.  Late kernels run after all others.  If such a kernel ran right
 * after the last reader, it would be between the kernels of a layer, which would then differ from
 * the other layers. */
static void find_late(struct order *o)
{
    for (int i = 0; i < o->m->n_kernels; i++)
        o->late[i] = false;
    for (int e = 0; e < o->n; e++)
        o->late[o->to[e]] |= o->from[e] > o->to[e];
    for (int e = 0; e < o->n; e++)
        o->late[o->from[e]] = false;
}

/* Pushes a kernel on a heap with the smallest key on top. */
static void push_ready(int *heap, int *n, int kernel)
{
    int at = (*n)++;
    for (; at > 0 && heap[(at - 1) / 2] > kernel; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = kernel;
}

static int pop_ready(int *heap, int *n)
{
    int least = heap[0], moved = heap[--*n], at = 0;
    for (int child; (child = 2 * at + 1) < *n; at = child) {
        child += child + 1 < *n && heap[child + 1] < heap[child];
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return least;
}

/* Returns the sort key of a kernel in the heap: by entry, then late kernels last, then by
 * number. */
static int sort_key(const struct order *o, int kernel)
{
    int turn = 2 * o->m->kernels[kernel].entry + o->late[kernel];
    return turn * o->m->n_kernels + kernel;
}

/* Finds an execution order: repeatedly takes the kernel with the smallest key whose predecessors
 * have all been taken.  Returns false if there is a cycle. */
static bool find_order(struct order *o)
{
    int n_kernels = o->m->n_kernels, n_ready = 0;
    o->n_found = 0;
    int *waits = cr_calloc((size_t)n_kernels, sizeof *waits);
    int *first = cr_calloc((size_t)n_kernels + 2, sizeof *first);
    int *heap = cr_calloc((size_t)n_kernels, sizeof *heap);
    find_edges(o);
    find_late(o);
    int *edges = cr_calloc((size_t)o->n, sizeof *edges); /* the successors of all kernels, grouped
                                                            by kernel */
    for (int e = 0; e < o->n; e++)
        first[o->from[e] + 2]++;
    for (int i = 2; i <= n_kernels + 1; i++)
        first[i] += first[i - 1];
    for (int e = 0; e < o->n; e++) {
        edges[first[o->from[e] + 1]++] = o->to[e];
        waits[o->to[e]]++;
    }
    for (int i = 0; i < n_kernels; i++)
        if (!waits[i])
            push_ready(heap, &n_ready, sort_key(o, i));
    while (n_ready) {
        int kernel = o->found[o->n_found++] = pop_ready(heap, &n_ready) % n_kernels;
        for (int e = first[kernel]; e < first[kernel + 1]; e++)
            if (!--waits[edges[e]])
                push_ready(heap, &n_ready, sort_key(o, edges[e]));
    }
    free(waits);
    free(first);
    free(heap);
    free(edges);
    return o->n_found == n_kernels;
}

/* ---- values stored in place or copied ---- */

/* True if the kernels that compute an output may write it over the state that it replaces, as far
 * as their own reads of the state are concerned. */
static bool may_write_over(const struct order *o, const struct cr_output *output)
{
    int first = o->first[output->id], last = o->last[output->id];
    for (int i = first; i <= last; i++) {
        const struct cr_kernel *k = &o->m->kernels[i];
        if (cr_reads_node(k, output->state) &&
            (first != last ||
             !cr_reads_in_place(k, cr_find_stored_node(k, output->id), output->state)))
            return false;
    }
    return true;
}

/* Decides which next values are computed in place.  Tries all that may be.  If that gives a cycle,
 * the values on the cycle or after it are added back one by one, as long as an order exists. */
static void find_in_place(struct order *o)
{
    const struct cr_graph *g = o->m->graph;
    const struct cr_output *begin = g->outputs + cr_n_results(g), *end = begin + g->n_replaced;
    for (const struct cr_output *at = begin; at < end; at++)
        if (may_write_over(o, at))
            *next_by(o, at) = at->id;
    if (find_order(o))
        return;
    bool *done = cr_calloc((size_t)o->m->n_kernels, sizeof *done);
    bool *open = cr_calloc((size_t)g->n_replaced, sizeof *open);
    for (int i = 0; i < o->n_found; i++)
        done[o->found[i]] = true;
    for (const struct cr_output *at = begin; at < end; at++) {
        open[at - begin] = *next_by(o, at) != CR_NONE && !done[o->first[at->id]];
        *next_by(o, at) = open[at - begin] ? CR_NONE : *next_by(o, at);
    }
    for (const struct cr_output *at = begin; at < end; at++) {
        if (!open[at - begin])
            continue;
        *next_by(o, at) = at->id;
        if (!find_order(o))
            *next_by(o, at) = CR_NONE;
    }
    free(done);
    free(open);
}

/* Appends a kernel that copies the stored value `root` to `buffer`, in the same layout. */
static void add_copy(struct cr_module *m, struct cr_lowering *lowering, cr_id root, cr_id buffer)
{
    struct cr_goal goal = {.root = root, .buffer = buffer};
    struct cr_kernel kernel;
    CR_CHECK(cr_lower(lowering, &goal, &kernel) == CR_NONE);
    kernel.entry = m->graph->nodes[buffer].where.entry;
    *CR_PUSH(m->kernels, m->n_kernels, m->cap_kernels) = kernel;
}

/* Stores the next value in a separate buffer, and adds a node that copies the buffer into the
 * state. */
static void add_copied(struct cr_module *m, struct cr_output *o)
{
    struct cr_graph *g = m->graph;
    struct cr_attr attr = cr_attr_of(&g->nodes[o->id]);
    g->here = g->nodes[o->id].where;
    o->id = cr_must(g, CR_OP_reshape, 1, &o->id, &attr);
    m->materialised[o->id] = true;
}

/* Appends the kernels that copy.  For a write, the first copies the state to the buffer into which
 * rows are then written.  For every copied value, the last copies the buffer to the state. */
static void copy_values(struct cr_module *m, const bool *copied)
{
    const struct cr_graph *g = m->graph;
    struct cr_lowering *lowering = cr_lowering_new(m);
    for (int i = cr_n_results(g); i < g->n_outputs; i++) {
        const struct cr_output *o = &g->outputs[i];
        if (!copied[i])
            continue;
        cr_id value = cr_in(g, o->id, 0);
        if (g->nodes[value].op == CR_OP_write && cr_in(g, value, 0) == o->state)
            add_copy(m, lowering, o->state, value);
        add_copy(m, lowering, o->id, o->id);
    }
    cr_lowering_free(lowering);
}

/* Extends the lists by node, to make room for one copy node for each replaced state. */
static void make_room(struct cr_module *m)
{
    size_t nodes = (size_t)m->graph->n_nodes, most = nodes + (size_t)m->graph->n_replaced;
    bool *materialised = cr_calloc(most, sizeof *materialised);
    memcpy(materialised, m->materialised, nodes * sizeof *materialised);
    free(m->materialised);
    m->materialised = materialised;
    m->in_state = cr_calloc(most, sizeof *m->in_state);
    for (size_t i = 0; i < most; i++)
        m->in_state[i] = CR_NONE;
}

/* Decides for each state, and each entry that replaces it, whether the next value is computed in
 * place; sets module->in_state. */
static void place_values(struct cr_module *m)
{
    struct order o;
    struct cr_graph *g = m->graph;
    bool *copied = cr_calloc((size_t)g->n_outputs, sizeof *copied);
    begin_order(&o, m);
    find_in_place(&o);
    make_room(m);
    for (int i = cr_n_results(g); i < g->n_outputs; i++) {
        struct cr_output *output = &g->outputs[i];
        copied[i] = *next_by(&o, output) == CR_NONE;
        if (copied[i])
            add_copied(m, output);
        m->in_state[output->id] = output->state;
    }
    end_order(&o);
    copy_values(m, copied);
    free(copied);
}

/* ---- the sorted kernels ---- */

/* Sorts the kernels topologically: a kernel follows the kernels that compute its operands, and a
 * kernel that writes a state follows all readers of the old value.  Otherwise the kernels keep
 * their order. */
static void order_kernels(struct cr_module *m)
{
    struct order o;
    struct cr_kernel *ordered = NULL;
    int n = 0, cap = 0;
    begin_order(&o, m);
    for (int i = cr_n_results(m->graph); i < m->graph->n_outputs; i++)
        *next_by(&o, &m->graph->outputs[i]) = m->graph->outputs[i].id;
    CR_CHECK(find_order(&o)); /* place_values has removed all cycles */
    for (int i = 0; i < m->n_kernels; i++)
        *CR_PUSH(ordered, n, cap) = m->kernels[o.found[i]];
    free(m->kernels);
    m->kernels = ordered;
    m->cap_kernels = cap;
    end_order(&o);
}

/* Fills in module->in_state and appends kernels that copy the values that cannot be computed in
 * place, then sorts the kernels. */
void cr_pass_states(struct cr_module *module)
{
    if (!module->graph->n_replaced)
        return;
    place_values(module);
    cr_sort_kernels(module);
    order_kernels(module);
    cr_number_kernels(module);
}
