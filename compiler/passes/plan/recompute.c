/*
 * recompute.c - recomputes values instead of keeping them, so that the arena fits a limit.
 *
 * A backward pass reads values of the forward pass, and these fill most of the arena.  If the arena is larger than the
 * limit, the kernels are called in another order (recompute_order.h): a value may be dropped, and its kernel is called
 * again before the next kernel that reads it.  It is the same kernel, so outline finds its code, and the results have
 * the same bits.
 *
 * Loops over layers need more arena than the same calls one by one, because the values of iterations must have equal
 * distances.  The loops are unrolled if the arena then fits.
 *
 * The pass join_tiles has made two lists of kernels.  In module->joined, kernels are joined as without a limit; it is
 * used if its arena fits.  Otherwise orders of module->kernels, whose kernels have fewer results each, are searched.
 *
 * Orders are searched for a list of ever smaller budgets, the *rungs* of a ladder; the limit decides which rung is
 * used.  So the least arena, which the error message names, is a limit that will be accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "arena_offsets.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "functions.h"
#include "lifetimes.h"
#include "loops.h"
#include "plan.h"
#include "recompute_order.h"

/* The number of floating-point operations that take as long as reading or writing a byte. */
static const double per_byte = 4;

/* The ratio of two successive budgets, and the fraction of its budget that an order must use to be
 * accepted.  So rungs far above the limit need no search. */
static const double next_rung = 0.96, least_used = 0.9;
enum {
    MOST_RUNGS = 256,
    MOST_VALUES = 4096, /* the search time is proportional to the square of the number of values */
};

struct recompute {
    struct cr_module *m;
    struct cr_kernel *kernels; /* the module's kernels before this pass; the numbers of nodes and
                                  operands are of that time, too */
    int n_kernels, n_nodes, n_operands;
    struct cr_made *values; /* in the order of kernels; a value is everything that one kernel
                               stores, or a concat */
    int n;
    int *first_kernel; /* by value: the value's first kernel; a concat has all kernels up to the
                          first one of the next value */
    int *value_of;     /* by node: the number of its value, or -1 */
    bool *output;      /* by node: true for an output */
    struct cr_order order;
    int64_t rungs[MOST_RUNGS]; /* the budgets, largest first */
    int n_rungs;
};

/* ---- values and the kernels that compute them ---- */

/* Numbers the values in the order of their kernels.  The kernels that write the parts of one concat
 * are consecutive, as fuse leaves them. */
static void number_values(struct recompute *r)
{
    r->first_kernel = cr_calloc((size_t)r->n_kernels + 1, sizeof *r->first_kernel);
    r->value_of = cr_calloc((size_t)r->n_nodes, sizeof *r->value_of);
    for (cr_id id = 0; id < r->n_nodes; id++)
        r->value_of[id] = -1;
    for (int i = 0; i < r->n_kernels; i++) {
        const struct cr_kernel *k = &r->kernels[i];
        if (r->value_of[k->buffer] < 0)
            r->first_kernel[r->n++] = i;
        for (int s = 0; s < k->n_stored; s++)
            r->value_of[k->stored[s]] = r->n - 1;
    }
    r->first_kernel[r->n] = r->n_kernels;
}

/* Lists the values that the kernels of a value read, each once and ascending. */
static void find_reads(struct recompute *r, struct cr_made *value, int first, int end)
{
    int n = 0;
    value->reads = cr_calloc((size_t)(end - first) * CR_MAX_REFS, sizeof *value->reads);
    for (int i = first; i < end; i++)
        for (int j = 0; j < r->kernels[i].n_refs; j++)
            if (r->value_of[r->kernels[i].refs[j]] >= 0)
                value->reads[n++] = r->value_of[r->kernels[i].refs[j]];
    qsort(value->reads, (size_t)n, sizeof *value->reads, cr_compare_ints);
    for (int i = 0; i < n; i++)
        if (i == 0 || value->reads[i] != value->reads[i - 1])
            value->reads[value->n_reads++] = value->reads[i];
}

/*
 * Describes each value for the search.  Its size is rounded up as by plan, and does not include
 * outputs, which are outside the arena.  Its cost is the number of operations of its kernels, plus
 * per_byte for each byte that they read or write.
 */
static void find_values(struct recompute *r)
{
    const struct cr_graph *g = r->m->graph;
    number_values(r);
    r->values = cr_calloc((size_t)r->n, sizeof *r->values);
    r->output = cr_calloc((size_t)r->n_nodes, sizeof *r->output);
    for (int i = 0; i < g->n_outputs; i++)
        r->output[g->outputs[i].id] = true;
    for (int v = 0; v < r->n; v++) {
        struct cr_made *value = &r->values[v];
        const struct cr_kernel *k = &r->kernels[r->first_kernel[v]];
        for (int s = 0; s < k->n_stored; s++) {
            const struct cr_node *node = &g->nodes[k->stored[s]];
            value->wanted |= r->output[k->stored[s]];
            if (!r->output[k->stored[s]])
                value->floats += cr_align(cr_elements(node->rank, node->shape));
        }
        for (int i = r->first_kernel[v]; i < r->first_kernel[v + 1]; i++)
            value->work += r->kernels[i].flops +
                           per_byte * (r->kernels[i].bytes_read + r->kernels[i].bytes_written);
        find_reads(r, value, r->first_kernel[v], r->first_kernel[v + 1]);
    }
}

/* ---- from an order of values to kernels ---- */

/* Appends a copy of a node, to be stored by a kernel that computes the value again. */
static cr_id node_again(struct cr_graph *g, cr_id id)
{
    struct cr_attr attr = cr_attr_of(&g->nodes[id]);
    int n = g->nodes[id].n_in;
    cr_id *in = cr_calloc((size_t)n, sizeof *in);
    memcpy(in, cr_inputs(g, &g->nodes[id]), (size_t)n * sizeof *in);
    g->here = g->nodes[id].where;
    id = cr_must(g, g->nodes[id].op, n, in, &attr);
    free(in);
    return id;
}

/* Replaces a node by another one in all values of a tile program. */
static void rename_node(struct cr_tiles *tiles, cr_id from, cr_id to)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].node == from)
            tiles->values[i].node = to;
}

/* Appends a copy of a kernel that stores `latest[id]` for each node `id` and reads it in its
 * place. */
static void add_call(struct recompute *r, const struct cr_kernel *kernel, bool again,
                     const cr_id *latest)
{
    struct cr_module *m = r->m;
    struct cr_kernel *k = CR_PUSH(m->kernels, m->n_kernels, m->cap_kernels);
    cr_kernel_copy(k, kernel);
    k->again = again;
    for (int s = 0; s < k->n_stored; s++)
        k->stored[s] = latest[kernel->stored[s]];
    if (kernel->root == kernel->buffer)
        k->root = k->buffer;
    for (int i = 0; i < k->n_refs; i++) {
        k->refs[i] = latest[kernel->refs[i]];
        struct cr_tiles *tiles;
        for (int p = 0; k->refs[i] != kernel->refs[i] && (tiles = cr_program_of(k, p)); p++)
            rename_node(tiles, kernel->refs[i], k->refs[i]);
    }
}

/* Removes the kernels and nodes that set_kernels added for the previous order. */
static void clear_kernels(struct recompute *r)
{
    struct cr_module *m = r->m;
    for (int i = 0; i < m->n_kernels; i++)
        cr_kernel_free(&m->kernels[i]);
    m->n_kernels = 0;
    m->graph->n_nodes = r->n_nodes;
    m->graph->n_operands = r->n_operands;
}

/* Appends kernels to the module in the order of r->order.  If a value is computed again, its kernel
 * stores new nodes, but outputs are stored once more in place. */
static void set_kernels(struct recompute *r)
{
    cr_id *latest = cr_calloc((size_t)r->n_nodes, sizeof *latest);
    bool *called = cr_calloc((size_t)r->n, sizeof *called);
    clear_kernels(r);
    for (cr_id id = 0; id < r->n_nodes; id++)
        latest[id] = id;
    for (int i = 0; i < r->order.n; i++) {
        int v = r->order.calls[i];
        const struct cr_kernel *first = &r->kernels[r->first_kernel[v]];
        for (int s = 0; s < first->n_stored && called[v]; s++)
            if (!r->output[first->stored[s]])
                latest[first->stored[s]] = node_again(r->m->graph, first->stored[s]);
        for (int k = r->first_kernel[v]; k < r->first_kernel[v + 1]; k++)
            add_call(r, &r->kernels[k], called[v], latest);
        called[v] = true;
    }
    free(latest);
    free(called);
}

/* ---- the ladder of budgets ---- */

/* Returns the size of the arena as plan will lay it out, without loops over layers if `unrolled`.
 * Sets *live to the most floats that are live at the same time. */
static int64_t arena_of(const struct cr_module *m, bool unrolled, int64_t *live)
{
    struct cr_loops loops = {0};
    struct cr_lifetimes lifetimes;
    if (!unrolled) {
        struct cr_functions functions = cr_find_functions(m);
        cr_find_loops(m, &functions, &loops);
        free(functions.first);
        free(functions.starts);
    }
    cr_lifetimes_find(&lifetimes, m, loops.items, loops.n);
    int64_t floats = cr_set_arena_offsets(&lifetimes, m->graph->n_nodes);
    *live = lifetimes.most_live;
    cr_lifetimes_free(&lifetimes);
    free(loops.items);
    return floats;
}

/* Returns `floats`, the size of an arena; or INT64_MAX if it uses too little of the budget of its
 * order. */
static int64_t accepted(int64_t floats, int64_t budget)
{
    return (double)floats < least_used * (double)budget ? INT64_MAX : floats;
}

/* Returns the smaller size of the arenas with and without loops over layers, and sets m->unrolled
 * if that is the one without.  Keeps the loops if their arena is at most `limit`.  An arena counts
 * as INT64_MAX if it uses too little of the budget (accepted). */
static int64_t smaller_arena(struct cr_module *m, int64_t budget, int64_t limit, int64_t *live)
{
    int64_t loops = accepted(arena_of(m, false, live), budget);
    m->unrolled = false;
    if (loops <= limit)
        return loops;
    int64_t calls = accepted(arena_of(m, true, live), budget);
    m->unrolled = calls < loops;
    return m->unrolled ? calls : loops;
}

/*
 * Gives the module the kernels in the order found for a budget, and returns the size of its arena.
 * Keeps loops if their arena is at most `enough`.  Returns INT64_MAX if there is no such order, or
 * if both arenas, with and without loops, are less than least_used of the budget.  An arena may be
 * smaller than the peak of its order, which counts everything that a kernel stores until the last
 * read of any of it.
 */
static int64_t try_rung(struct recompute *r, int64_t budget, int64_t enough)
{
    int64_t floats = INT64_MAX, live;
    if (cr_order_find(r->values, r->n, budget, &r->order)) {
        set_kernels(r);
        floats = smaller_arena(r->m, budget, enough, &live);
    }
    cr_order_free(&r->order);
    return floats;
}

/* Returns the largest sum of a value and its operands, in floats: every order needs at least
 * this. */
static int64_t least_budget(const struct recompute *r)
{
    int64_t least = 0;
    for (int v = 0; v < r->n; v++) {
        int64_t floats = r->values[v].floats;
        for (int i = 0; i < r->values[v].n_reads; i++)
            floats += r->values[r->values[v].reads[i]].floats;
        if (least < floats)
            least = floats;
    }
    return least;
}

/* Lists the budgets, from `most`, the most floats that are live without recomputing, down to
 * least_budget. */
static void make_ladder(struct recompute *r, int64_t most)
{
    double least = (double)least_budget(r);
    for (double budget = (double)most; budget >= least && r->n_rungs < MOST_RUNGS;
         budget *= next_rung)
        r->rungs[r->n_rungs++] = (int64_t)budget;
}

/* Tries the rungs, largest first, until the arena fits the limit.  Returns false if none does. */
static bool fit(struct recompute *r, int64_t limit)
{
    for (int i = 0; i < r->n_rungs; i++)
        if (least_used * (double)r->rungs[i] <= (double)limit &&
            try_rung(r, r->rungs[i], limit) <= limit)
            return true;
    return false;
}

/* Returns the size of the smallest arena of all rungs, and of the original kernels, `plain`. */
static int64_t find_least(struct recompute *r, int64_t plain)
{
    int64_t least = plain;
    for (int i = r->n_rungs - 1; i >= 0 && least_used * (double)r->rungs[i] < (double)least; i--) {
        int64_t floats = try_rung(r, r->rungs[i], 0);
        if (floats < least)
            least = floats;
    }
    return least;
}

/* Marks the nodes that the new kernels store, and numbers the kernels. */
static void set_materialised(struct cr_module *m)
{
    free(m->materialised);
    m->materialised = cr_calloc((size_t)m->graph->n_nodes, sizeof *m->materialised);
    for (int i = 0; i < m->n_kernels; i++)
        for (int s = 0; s < m->kernels[i].n_stored; s++)
            m->materialised[m->kernels[i].stored[s]] = true;
    cr_number_kernels(m);
}

/* Moves the kernels of the module into *r, and describes their values. */
static void begin(struct recompute *r, struct cr_module *m)
{
    *r = (struct recompute){.m = m,
                            .kernels = m->kernels,
                            .n_kernels = m->n_kernels,
                            .n_nodes = m->graph->n_nodes,
                            .n_operands = m->graph->n_operands};
    m->kernels = NULL;
    m->n_kernels = m->cap_kernels = 0;
    find_values(r);
}

/* Gives the original kernels and graph back to the module. */
static void restore(struct recompute *r)
{
    clear_kernels(r);
    free(r->m->kernels);
    r->m->kernels = r->kernels;
    r->m->n_kernels = r->m->cap_kernels = r->n_kernels;
    cr_number_kernels(r->m);
    r->kernels = NULL;
    r->n_kernels = 0;
}

static void end(struct recompute *r)
{
    for (int i = 0; i < r->n_kernels; i++)
        cr_kernel_free(&r->kernels[i]);
    for (int v = 0; v < r->n; v++)
        free(r->values[v].reads);
    free(r->kernels);
    free(r->values);
    free(r->first_kernel);
    free(r->value_of);
    free(r->output);
}

/* Swaps m->kernels and m->joined, the kernels joined as without a limit. */
static void swap_joined(struct cr_module *m)
{
    struct cr_kernel *kernels = m->kernels;
    int n = m->n_kernels;
    m->kernels = m->joined;
    m->n_kernels = m->cap_kernels = m->n_joined;
    m->joined = kernels;
    m->n_joined = n;
    cr_number_kernels(m);
}

/* Makes m->joined the module's kernels if their arena has at most `limit` floats.  Returns the size
 * of that arena in floats, or INT64_MAX if m->joined is null. */
static int64_t try_joined(struct cr_module *m, int64_t limit)
{
    int64_t live, floats = INT64_MAX;
    if (!m->joined)
        return floats;
    swap_joined(m);
    floats = smaller_arena(m, 0, limit, &live);
    if (floats > limit)
        swap_joined(m);
    return floats;
}

/* Sets least_arena_floats, for the error message. */
static void refuse(struct cr_module *m, int64_t least, int64_t joined)
{
    m->least_arena_floats = least < joined ? least : joined;
    m->unrolled = false;
}

/* Searches an order of the kernels that fits the limit.  `plain` is the size of the arena in their
 * original order, `most` the most floats that are live in it.  If no order fits, restores the
 * module. */
static void search(struct cr_module *module, int64_t limit, int64_t plain, int64_t most, int64_t joined)
{
    struct recompute r;
    begin(&r, module);
    if (r.n > MOST_VALUES) {
        module->most_values = MOST_VALUES;
        refuse(module, plain, joined);
        restore(&r);
        end(&r);
        return;
    }
    make_ladder(&r, most);
    if (fit(&r, limit)) {
        set_materialised(module);
    } else {
        refuse(module, find_least(&r, plain), joined);
        restore(&r);
    }
    end(&r);
}

/*
 * Changes nothing if there is no limit.  Otherwise uses the joined kernels if their arena fits, with loops or unrolled;
 * else the kernels as they are; else the first order of the ladder that fits.  If none fits, sets least_arena_floats to
 * the smallest limit that works, for the error message.  Does not search a module of more than MOST_VALUES values.
 */
void cr_pass_recompute(struct cr_module *module)
{
    if (!module->settings.max_arena)
        return;
    int64_t limit = module->settings.max_arena / (int64_t)sizeof(float), most;
    int64_t joined = try_joined(module, limit);
    if (joined <= limit)
        return;
    int64_t plain = smaller_arena(module, 0, limit, &most);
    if (plain <= limit)
        return;
    if (module->in_state) /* the old value of a state exists only once, so no kernel can be called
                             again */
        refuse(module, plain, joined);
    else
        search(module, limit, plain, most, joined);
}
