/*
 * Reduces a graph by one change after another, as long as the same oracle finds an error.
 *
 * A change is tried by building the graph anew with it, without what nothing needs any more; one
 * that does not fit is no change.
 */
#include "reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/ir/mem.h"

enum what {
    CLEAN,       /* no taps, lines and scopes */
    KEEP_OUTPUT, /* only output `node` */
    DROP_OUTPUT, /* without output `node` */
    LOWER,       /* replaces output `node` by its operand `which` */
    BYPASS,      /* replaces the node by its operand `which` */
    LEAF,        /* replaces the node by an input */
    CONST,       /* ones instead of the node */
    EXTENT,      /* changes axes of size `from`, and with `which` of its multiples, to `to` */
};

struct change {
    enum what what;
    cr_id node;
    int which;
    int64_t from, to;
};

struct reduction {
    struct cr_graph *g;
    struct cr_verdict verdict; /* what the oracle finds on the graph */
    time_t end;
    int n_leaves; /* number of leaves that have replaced other nodes */
};

/* ---- building anew ---- */

static int64_t changed_extent(const struct change *c, int64_t extent)
{
    if (c->what != EXTENT || extent % c->from || (extent != c->from && !c->which))
        return extent;
    return extent / c->from * c->to;
}

/* Changes sizes, and starts of slices, so that slices stay inside their operand. */
static void change_extents(const struct change *c, const struct cr_graph *g, cr_id id,
                           const cr_id *in, const struct cr_graph *to, struct cr_attr *attr)
{
    for (int i = 0; i < CR_MAX_RANK; i++)
        attr->shape[i] = changed_extent(c, attr->shape[i]);
    if (g->nodes[id].op != CR_OP_slice || c->what != EXTENT)
        return;
    const struct cr_node *below = &to->nodes[in[0]];
    for (int i = 0; i < below->rank; i++) {
        int64_t most = below->shape[i] - attr->shape[i];
        if (attr->index[i] > most && most >= 0)
            attr->index[i] = most;
    }
}

static cr_id new_input(struct reduction *r, struct cr_graph *to, const struct cr_node *node)
{
    char name[32];
    struct cr_attr attr = cr_attr_of(node);
    snprintf(name, sizeof name, "r%d", r->n_leaves++);
    attr.name = name;
    attr.init = CR_INIT_UNIFORM;
    attr.value = 0;
    return cr_build(to, CR_OP_input, 0, NULL, &attr);
}

static cr_id new_ones(struct cr_graph *to, const struct cr_node *node)
{
    struct cr_attr attr = cr_attr_of(node);
    attr.value = 1;
    attr.name = NULL;
    return cr_build(to, CR_OP_const, 0, NULL, &attr);
}

static cr_id rebuild_node(struct reduction *r, const struct change *c, struct cr_graph *to,
                          cr_id id, const cr_id *map)
{
    const struct cr_node *node = &r->g->nodes[id];
    bool here = c->node == id;
    cr_id in[64];
    if (node->n_in > 64)
        return CR_NONE;
    for (int i = 0; i < node->n_in; i++)
        in[i] = map[cr_inputs(r->g, node)[i]];
    if (here && c->what == LEAF)
        return new_input(r, to, node);
    if (here && c->what == CONST)
        return new_ones(to, node);
    if (here && c->what == BYPASS)
        return in[c->which];
    struct cr_attr attr = cr_attr_for(to, r->g, node);
    change_extents(c, r->g, id, in, to, &attr);
    if (c->what != CLEAN)
        cr_graph_origin(to, r->g, id);
    cr_id made = cr_build(to, node->op, node->n_in, in, &attr);
    if (made != CR_NONE && c->what != CLEAN)
        to->nodes[made].tap = node->tap ? cr_intern(to, node->tap) : NULL;
    return made;
}

/* Returns the id of output i after the change, or CR_NONE if it is dropped. */
static cr_id output_id(const struct reduction *r, const struct change *c, int i)
{
    cr_id id = r->g->outputs[i].id;
    if ((c->what == DROP_OUTPUT && i == c->node) || (c->what == KEEP_OUTPUT && i != c->node))
        return CR_NONE;
    if (c->what == LOWER && i == c->node)
        return cr_in(r->g, id, c->which);
    return id;
}

/* Returns the nodes that the outputs need after a change. */
static bool *live_nodes(const struct reduction *r, const struct change *c)
{
    bool *live = cr_calloc((size_t)r->g->n_nodes + 1, sizeof *live);
    for (int i = 0; i < r->g->n_outputs; i++)
        if (output_id(r, c, i) != CR_NONE) {
            live[output_id(r, c, i)] = true;
            if (r->g->outputs[i].state != CR_NONE)
                live[r->g->outputs[i].state] = true;
        }
    for (cr_id id = r->g->n_nodes - 1; id >= 0; id--) {
        bool here = c->node == id;
        for (int i = 0; live[id] && i < r->g->nodes[id].n_in; i++)
            if (!(here && (c->what == LEAF || c->what == CONST)) &&
                !(here && c->what == BYPASS && i != c->which))
                live[cr_in(r->g, id, i)] = true;
    }
    return live;
}

/* Adds an output, but drops the next value of a state that a change has replaced by another
 * leaf. */
static bool add_output(struct cr_graph *to, const struct cr_output *output, cr_id id,
                       const cr_id *map)
{
    cr_id state = output->state == CR_NONE ? CR_NONE : map[output->state];
    if (output->state == CR_NONE)
        cr_add_output(to, output->name, id);
    else if (to->nodes[state].op != CR_OP_state)
        return true;
    else if (cr_check_replacement(to, output->entry, state, id))
        return false;
    else
        cr_add_replacement(to, output->entry, state, id);
    return true;
}

/* Returns the graph after a change, or null if the change does not fit it. */
static struct cr_graph *rebuild(struct reduction *r, const struct change *c)
{
    struct cr_graph *to = cr_graph_new(r->g->name);
    cr_id *map = cr_calloc((size_t)r->g->n_nodes + 1, sizeof *map);
    bool *live = live_nodes(r, c), fits = true;
    for (cr_id id = 0; id < r->g->n_nodes && fits; id++) {
        map[id] = live[id] ? rebuild_node(r, c, to, id, map) : CR_NONE;
        fits = !live[id] || map[id] != CR_NONE;
    }
    for (int i = 0; i < r->g->n_outputs && fits; i++)
        if (output_id(r, c, i) != CR_NONE)
            fits = add_output(to, &r->g->outputs[i], map[output_id(r, c, i)], map);
    fits = fits && cr_n_results(to) > 0;
    free(map);
    free(live);
    if (fits)
        return to;
    cr_graph_free(to);
    return NULL;
}

/* ---- trying ---- */

/* Makes a change, and keeps it if the oracle still finds an error. */
static bool attempt(struct reduction *r, const struct change *c)
{
    struct cr_verdict verdict;
    struct cr_graph *g = time(NULL) < r->end ? rebuild(r, c) : NULL;
    if (!g)
        return false;
    cr_judge(g, r->verdict.oracle, &verdict);
    bool same = verdict.oracle >= 0 && verdict.signal == r->verdict.signal;
    if (!same) {
        cr_graph_free(g);
        return false;
    }
    cr_graph_free(r->g);
    r->g = g;
    r->verdict = verdict;
    return true;
}

static bool try_outputs(struct reduction *r)
{
    bool any = false;
    for (int i = 0; i < r->g->n_outputs && r->g->n_outputs > 1; i++)
        if (i < cr_n_results(r->g) && attempt(r, &(struct change){.what = KEEP_OUTPUT, .node = i}))
            return true;
    for (int i = r->g->n_outputs - 1; i >= 0 && r->g->n_outputs > 1; i--)
        any |= attempt(r, &(struct change){.what = DROP_OUTPUT, .node = i});
    for (int i = 0; i < r->g->n_outputs; i++)
        for (int j = 0; j < r->g->nodes[r->g->outputs[i].id].n_in; j++)
            if (attempt(r, &(struct change){.what = LOWER, .node = i, .which = j}))
                return true;
    return any;
}

static bool is_bypass(const struct cr_graph *g, cr_id id, int i)
{
    const struct cr_node *node = &g->nodes[id], *in = &g->nodes[cr_in(g, id, i)];
    return node->dtype == in->dtype && cr_same_shape(node, in);
}

/* Tries changes of each node, from the last on: a change renumbers only the nodes behind it. */
static bool try_nodes(struct reduction *r)
{
    bool any = false;
    for (cr_id id = r->g->n_nodes - 1; id >= 0; id--) {
        if (id >= r->g->n_nodes)
            continue;
        enum cr_op op = r->g->nodes[id].op;
        bool changed = op != CR_OP_input && op != CR_OP_param && op != CR_OP_const &&
                       r->g->nodes[id].dtype != CR_BOOL && /* a script cannot declare bool inputs */
                       attempt(r, &(struct change){.what = LEAF, .node = id});
        for (int i = 0; !changed && i < r->g->nodes[id].n_in; i++)
            changed = is_bypass(r->g, id, i) &&
                      attempt(r, &(struct change){.what = BYPASS, .node = id, .which = i});
        if (!changed && op != CR_OP_const)
            changed = attempt(r, &(struct change){.what = CONST, .node = id});
        any |= changed;
    }
    return any;
}

/* Tries to change a size to 1, to its half, and by one, with and without its multiples. */
static bool try_extent(struct reduction *r, int64_t size)
{
    const int64_t smaller[] = {1, size / 2, (size + 1) / 2, size - 1};
    for (int i = 0; i < 8; i++) {
        struct change c = {
            .what = EXTENT, .node = CR_NONE, .which = !(i % 2), .from = size, .to = smaller[i / 2]};
        if (attempt(r, &c))
            return true;
    }
    return false;
}

static bool has_extent(const struct cr_graph *g, int64_t size)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        for (int i = 0; i < g->nodes[id].rank; i++)
            if (g->nodes[id].shape[i] == size)
                return true;
    return false;
}

/* Tries changes of all sizes, from the largest size on. */
static bool try_extents(struct reduction *r)
{
    int64_t largest = 2;
    bool any = false;
    for (cr_id id = 0; id < r->g->n_nodes; id++)
        for (int i = 0; i < r->g->nodes[id].rank; i++)
            if (r->g->nodes[id].shape[i] > largest)
                largest = r->g->nodes[id].shape[i];
    for (int64_t size = largest; size > 1; size--)
        if (has_extent(r->g, size))
            any |= try_extent(r, size);
    return any;
}

struct cr_graph *cr_reduce_graph(const struct cr_graph *g, int oracle, int64_t seconds,
                                 struct cr_verdict *verdict)
{
    struct reduction r = {.g = cr_graph_copy(g), .end = time(NULL) + seconds};
    cr_judge(g, oracle, &r.verdict);
    bool smaller = r.verdict.oracle >= 0;
    if (smaller)
        attempt(&r, &(struct change){.what = CLEAN, .node = CR_NONE});
    while (smaller) {
        smaller = try_outputs(&r);
        smaller |= try_nodes(&r);
        smaller |= try_extents(&r);
    }
    *verdict = r.verdict;
    return r.g;
}
