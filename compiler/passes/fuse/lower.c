/*
 * lower.c - makes the kernel of a root, or finds the node, the *obstacle*, that prevents it.
 *
 * The axes of the root become atoms.  Evaluation (evaluate.c) turns the nodes above the root into
 * tile programs.  Then each atom gets its role: column, row, or outer loop.  The kind of the kernel
 * determines the roles (kernel_kinds.def, lower_*.c).
 */
#include "lower.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/weights.h"
#include "lower_common.h"

/* ---- the root ---- */

/* True if the root is a write: its kernel computes the rows that are written. */
static bool writes_rows(const struct cr_graph *g, const struct cr_kernel *k)
{
    return cr_kind_of(g, k->root) == CR_KIND_WRITE && k->buffer == k->root;
}

/* Returns the node whose axes are the outermost loops: the root, the column reduction that the
 * root reshapes, or the rows of a write. */
static cr_id first_top(const struct cr_lowering *lw)
{
    cr_id root = lw->k->root, id = root;
    if (lw->backward)
        return lw->backward->probs;
    if (writes_rows(lw->g, lw->k))
        return cr_in(lw->g, root, 1);
    while (lw->k->buffer == root && lw->g->nodes[id].op == CR_OP_reshape &&
           (id == root || !cr_is_stored(&lw->ev, id)))
        id = cr_in(lw->g, id, 0);
    return cr_is_reduction_down(lw, id) ? id : root;
}

/* Returns the contraction from which elementwise ops and movement ops compute a node; CR_NONE if
 * there is none among the first `budget` nodes visited. */
static cr_id find_core(const struct cr_evaluate *ev, cr_id id, bool at_root, int *budget)
{
    if (--*budget < 0)
        return CR_NONE;
    enum cr_kind kind = cr_kind_of(ev->g, id);
    if ((!at_root || ev->kernel->buffer != id) && cr_is_stored(ev, id))
        return CR_NONE;
    if (kind == CR_KIND_CONTRACT)
        return id;
    if (kind != CR_KIND_ELEMENTWISE && kind != CR_KIND_MOVE)
        return CR_NONE;
    for (int i = 0; i < ev->g->nodes[id].n_in; i++) {
        cr_id core = find_core(ev, cr_in(ev->g, id, i), false, budget);
        if (core != CR_NONE)
            return core;
    }
    return CR_NONE;
}

/* Sets the index of the root's element in its buffer.  A part of a concat begins at index
 * concat_start on the concat's axis; the rows of a write are placed as if written from row 0. */
static void set_dest(struct cr_lowering *lw, int64_t concat_start)
{
    bool part = lw->k->buffer != lw->k->root, rows = writes_rows(lw->g, lw->k);
    const struct cr_node *buffer = &lw->g->nodes[part || rows ? lw->k->buffer : lw->loops.top];
    struct cr_map map = lw->root_map;
    if (part)
        map.axis[buffer->axis].base += concat_start;
    lw->k->dest = cr_map_linear(&map, buffer->rank, buffer->shape);
}

/* ---- work and traffic ---- */

static double elements_of(const struct cr_graph *g, cr_id id)
{
    return (double)cr_elements(g->nodes[id].rank, g->nodes[id].shape);
}

void cr_count_work(const struct cr_graph *g, struct cr_kernel *k)
{
    double elements = elements_of(g, writes_rows(g, k) ? cr_in(g, k->root, 1) : k->root);
    k->bytes_written = 4 * elements;
    for (int i = 1; i < k->n_stored; i++)
        k->bytes_written += 4 * elements_of(g, k->stored[i]);
    k->bytes_read = cr_panel_bytes(g, k);
    for (int i = 0; i < k->n_refs; i++)
        k->bytes_read += cr_ref_bytes(g, k, i);
    k->flops = cr_kernel_kinds[k->kind].flops(k, elements);
}

/* ---- making a kernel ---- */

/* Starts a kernel with its root and buffer; resets all other fields. */
static void begin_kernel(struct cr_lowering *lw, const struct cr_goal *goal,
                         struct cr_kernel *kernel)
{
    memset(kernel, 0, sizeof *kernel); /* this clears the members of all kinds, too */
    kernel->root = goal->root;
    kernel->buffer = goal->buffer;
    kernel->n_stored = 1;
    kernel->row = kernel->col = kernel->k = kernel->key = CR_NO_ATOM;
    kernel->core = CR_NONE;
    lw->k = lw->ev.kernel = kernel;
    lw->own_index = NULL;
    lw->backward =
        goal->buffer == goal->root ? cr_backward_at(lw->ev.module, goal->root) : NULL;
    lw->ev.fixed = 0;
    lw->ev.wants_split = false;
    lw->ev.obstacle = CR_NONE;
}

/* Makes a kernel of the first kind that fits, with the current loops.  If that fails, returns
 * false; the reason is in lw->ev, and the kernel is freed. */
static bool make_with_loops(struct cr_lowering *lw, const struct cr_goal *goal)
{
    int budget = 16 * CR_MAX_VALUES, kind = 0;
    cr_number_atoms(lw);
    set_dest(lw, goal->start);
    lw->core = find_core(&lw->ev, lw->loops.top, lw->loops.top == lw->k->root, &budget);
    while (!cr_kernel_kinds[kind].fits(lw))
        kind++; /* the last kind fits every root */
    lw->k->kind = (enum cr_kernel_kind)kind;
    lw->k->parts = cr_kernel_kinds[kind].parts;
    if (cr_kernel_kinds[kind].lower(lw) && cr_check_ragged(lw))
        return true;
    cr_kernel_free(lw->k);
    return false;
}

/* ---- obstacles ---- */

/* If affine indices cannot express the loops over a reshape, loops over its operand instead, which
 * has the same elements in the same order.  Returns false if the obstacle is another one. */
static bool loop_over_operand(struct cr_lowering *lw)
{
    cr_id top = lw->loops.top;
    if (lw->k->buffer != lw->k->root || writes_rows(lw->g, lw->k) || lw->ev.obstacle != top ||
        lw->g->nodes[top].op != CR_OP_reshape)
        return false;
    cr_set_top(lw, cr_in(lw->g, top, 0));
    return true;
}

/* Makes the kernel.  As long as the loops are the obstacle, changes them: splits an atom, or loops
 * over the operand of a reshape.  Returns false at any other obstacle. */
static bool find_loops(struct cr_lowering *lw, const struct cr_goal *goal,
                       struct cr_kernel *kernel)
{
    begin_kernel(lw, goal, kernel);
    cr_set_top(lw, first_top(lw));
    while (!make_with_loops(lw, goal)) {
        if (!(lw->ev.wants_split && cr_cut_atom(lw, &lw->ev.split)) && !loop_over_operand(lw))
            return false;
        begin_kernel(lw, goal, kernel);
    }
    return true;
}

/* True if a node is not stored yet and is no leaf or weight that is in memory anyway. */
static bool can_be_stored(const struct cr_lowering *lw, cr_id id)
{
    return !lw->ev.module->materialised[id] && !lw->g->nodes[id].name &&
           !cr_is_joined(lw->g, id);
}

/* ---- public functions ---- */

struct cr_lowering *cr_lowering_new(const struct cr_module *module)
{
    struct cr_lowering *lw = cr_calloc(1, sizeof *lw);
    lw->g = lw->ev.g = module->graph;
    lw->ev.module = module;
    return lw;
}

void cr_lowering_free(struct cr_lowering *lowering)
{
    if (lowering)
    free(lowering);
}

/* If the obstacle itself cannot be stored, for instance because it is the root, returns an operand
 * of the root. */
cr_id cr_lower(struct cr_lowering *lw, const struct cr_goal *goal, struct cr_kernel *kernel)
{
    if (find_loops(lw, goal, kernel)) {
        cr_count_work(lw->g, kernel);
        return CR_NONE;
    }
    memset(kernel, 0, sizeof *kernel);
    if (lw->ev.obstacle != CR_NONE && can_be_stored(lw, lw->ev.obstacle))
        return lw->ev.obstacle;
    for (int i = 0; i < lw->g->nodes[goal->root].n_in && !lw->backward; i++) {
        cr_id in = cr_in(lw->g, goal->root, i);
        if (can_be_stored(lw, in) && cr_kind_of(lw->g, in) != CR_KIND_LEAF)
            return in;
    }
    return goal->buffer;
}
