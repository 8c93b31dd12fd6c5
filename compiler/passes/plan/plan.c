/*
 * plan.c - assigns storage: weights in order of use, and intermediate values in one arena.
 *
 * An intermediate value is live from the kernel that writes it to the last kernel that reads it
 * (lifetimes.c).  Values whose live ranges are disjoint may overlap in the arena (arena_offsets.c).
 */
#include <stdlib.h>
#include <string.h>

#include "activations.h"
#include "arena_offsets.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/gathered_tables.h"
#include "compiler/passes/weights/weights.h"
#include "plan.h"

enum { PANEL = 32 }; /* columns of a panel: CR_PANEL of the runtime */

/* ---- weights ---- */

struct weights {
    struct cr_module *m;
    const struct cr_graph *g;
    int *readers;    /* by node: the number of kernels that read it as a weight, in the entry with
                        the most such kernels */
    int64_t *panels; /* by node: the offset of a packed weight matrix, or -1 */
    int *newest;     /* by parameter: the first layout of the newest panels whose first part is of
                        this parameter */
    int *older;      /* by first layout of panels: the first layout of the next older panels of that
                        parameter, or CR_NONE */
    int cap_older;
    int64_t column; /* size of a column of the panels being placed, in units of the format */
    int64_t target;
};

static void add_layout(void *context, const struct cr_layout_info *info)
{
    struct weights *w = context;
    struct cr_layout_info *layout = CR_PUSH(w->m->layouts, w->m->n_layouts, w->m->cap_layouts);
    *layout = *info;
    layout->target = w->target + info->first_row * PANEL; /* valid because panels with several parts
                                                             along the rows are f32 */
    layout->panel_stride = w->column * PANEL;
}

static bool same_layout(const struct cr_layout_info *a, const struct cr_layout_info *b)
{
    return a->param == b->param && a->source == b->source && a->rows == b->rows &&
           a->cols == b->cols && a->row_stride == b->row_stride && a->col_stride == b->col_stride &&
           a->first_col == b->first_col && a->first_row == b->first_row && a->last == b->last;
}

/* Returns the offset of the panels of an earlier matrix, read by another entry, that have the same
 * parts as the newest one (layouts first .. n_layouts - 1); -1 if there are none. */
static int64_t find_panels(struct weights *w, int first)
{
    const struct cr_layout_info *layouts = w->m->layouts;
    int n = w->m->n_layouts - first, i;
    for (int at = w->newest[layouts[first].param]; at != CR_NONE; at = w->older[at]) {
        for (i = 0; i < n && at + i < first; i++)
            if (!same_layout(&layouts[at + i], &layouts[first + i]))
                break;
        if (i == n)
            return layouts[at].target;
    }
    while (w->cap_older <= first)
        w->older = cr_grow(w->older, w->cap_older, &w->cap_older, sizeof *w->older);
    w->older[first] = w->newest[layouts[first].param];
    w->newest[layouts[first].param] = first;
    return -1;
}

/* Returns the size in floats of the panels being placed, which have N columns, rounded up to whole
 * panels. */
static int64_t panel_floats(const struct weights *w, enum cr_format format, int64_t N)
{
    int64_t bytes = w->column * ((N + PANEL - 1) / PANEL * PANEL) * cr_formats[format].unit;
    return cr_align(bytes / (int64_t)sizeof(float));
}

/* Places the panels of a weight matrix after the previous weights.  Entries that multiply by the
 * same matrix share its panels. */
static void place_panels(struct weights *w, cr_id id)
{
    if (w->panels[id] >= 0)
        return;
    const struct cr_node *node = &w->g->nodes[id];
    int64_t K = node->shape[node->rank - 2], N = cr_panel_columns(w->g, id);
    enum cr_format format = cr_panel_format(w->g, id);
    int first = w->m->n_layouts;
    w->column = cr_column_units(format, K);
    w->target = w->m->weights_floats;
    cr_packed_pieces(w->g, id, add_layout, w);
    for (int i = first; i < w->m->n_layouts; i++)
        w->m->layouts[i].last = w->m->layouts[i].first_col + w->m->layouts[i].cols == N;
    w->panels[id] = w->g->n_entries > 1 ? find_panels(w, first) : -1;
    if (w->panels[id] >= 0) {
        w->m->n_layouts = first;
        return;
    }
    w->panels[id] = w->target;
    w->m->weights_floats += panel_floats(w, format, N);
}

/* Places the panels of a gathered table that has its own. */
static void place_table(struct weights *w, cr_id id)
{
    struct cr_layout_info piece = cr_turned_table(w->g, id);
    enum cr_format format = cr_kept_format(w->g, id);
    if (w->m->storage[id].space != CR_SPACE_NONE)
        return;
    w->column = cr_column_units(format, piece.rows);
    w->target = w->m->weights_floats;
    add_layout(w, &piece);
    w->m->layouts[w->m->n_layouts - 1].last = true;
    w->m->storage[id] = (struct cr_storage){CR_SPACE_WEIGHTS, w->target};
    w->m->weights_floats += panel_floats(w, format, piece.cols);
}

/* Places the elements of a parameter, or a part of one, in row-major order at offset `target`. */
static void place_elements(struct weights *w, cr_id id, int64_t target)
{
    struct cr_layout_info *layout = CR_PUSH(w->m->layouts, w->m->n_layouts, w->m->cap_layouts);
    *layout = cr_plain_layout(w->g, id);
    layout->target = target;
}

/* Places a parameter, a part of one, or several parameters that are read as one concat, in
 * row-major order. */
static void place_plain(struct weights *w, cr_id id)
{
    const struct cr_node *node = &w->g->nodes[id];
    int64_t target = w->m->weights_floats;
    if (w->m->storage[id].space != CR_SPACE_NONE)
        return;
    w->m->storage[id] = (struct cr_storage){CR_SPACE_WEIGHTS, target};
    if (cr_param_of(w->g, id) != CR_NONE)
        place_elements(w, id, target);
    for (int i = 0; cr_is_joined(w->g, id) && i < node->n_in; i++) {
        const cr_id param = cr_joined_param(w->g, id, i);
        place_elements(w, param, target);
        target += cr_elements(w->g->nodes[param].rank, w->g->nodes[param].shape);
    }
    w->m->weights_floats += cr_align(cr_elements(node->rank, node->shape));
}

/* Places the weights of a kernel: row-major parameters, tables in panels, and packed matrices.
 * Places only those that several kernels of an entry read or, if not `shared`, only the others. */
static void place_weights_of(struct weights *w, const struct cr_kernel *k, bool shared)
{
    for (int r = 0; r < k->n_refs; r++) {
        cr_id id = k->refs[r];
        if (!cr_is_laid_out(w->g, id) || (w->readers[id] > 1) != shared)
            continue;
        if (w->m->columns_of[id] == CR_NONE)
            place_plain(w, id);
        else if (w->m->columns_of[id] == id)
            place_table(w, id);
    }
    if (cr_packed(k) != CR_NONE && (w->readers[cr_packed(k)] > 1) == shared)
        place_panels(w, cr_packed(k));
}

/* Counts a kernel that reads a weight; `count` has the numbers of the current entry. */
static void count_reader(struct weights *w, int *count, cr_id id)
{
    if (w->readers[id] < ++count[id])
        w->readers[id] = count[id];
}

/* Counts, by node, the kernels that read the node as a weight; of several entries, keeps the
 * largest number. */
static void count_readers(struct weights *w)
{
    const struct cr_module *m = w->m;
    size_t n = (size_t)m->graph->n_nodes;
    int *count = cr_calloc(n, sizeof *count);
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        if (i && k->entry != k[-1].entry)
            memset(count, 0, n * sizeof *count);
        for (int r = 0; r < k->n_refs; r++)
            count_reader(w, count, k->refs[r]);
        if (cr_packed(k) != CR_NONE)
            count_reader(w, count, cr_packed(k));
    }
    free(count);
}

/* Sets the storage of gathered tables that share the panels of a product. */
static void place_tables(struct weights *w)
{
    for (cr_id id = 0; id < w->g->n_nodes; id++) {
        cr_id matrix = w->m->columns_of[id];
        if (matrix != CR_NONE && matrix != id)
            w->m->storage[id] = (struct cr_storage){CR_SPACE_WEIGHTS, w->panels[matrix]};
    }
}

/* Places all weights.  Those that several kernels of an entry share come first, so that the weights
 * of layers have equal distances. */
static void place_weights(struct cr_module *m)
{
    struct weights w = {.m = m, .g = m->graph};
    size_t n = (size_t)m->graph->n_nodes;
    w.readers = cr_calloc(n, sizeof *w.readers);
    w.panels = cr_calloc(n, sizeof *w.panels);
    w.newest = cr_calloc(n, sizeof *w.newest);
    for (size_t i = 0; i < n; i++)
        w.panels[i] = w.newest[i] = CR_NONE;
    cr_find_tables(m);
    count_readers(&w);
    for (int shared = 1; shared >= 0; shared--)
        for (int i = 0; i < m->n_kernels; i++)
            place_weights_of(&w, &m->kernels[i], shared);
    place_tables(&w);
    m->packed = cr_calloc((size_t)m->n_kernels, sizeof *m->packed);
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id packed = cr_packed(&m->kernels[i]);
        m->packed[i] = packed == CR_NONE ? -1 : w.panels[packed];
    }
    free(w.readers);
    free(w.panels);
    free(w.newest);
    free(w.older);
}

/* ---- the arena ---- */

/* Sets the storage of intermediate values, and lies_over for functions that store a result over an
 * operand in some call. */
static void plan_arena(struct cr_module *m)
{
    struct cr_lifetimes l;
    cr_lifetimes_find(&l, m, m->loops, m->n_loops);
    m->arena_floats = cr_set_arena_offsets(&l, m->graph->n_nodes);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (l.part[id] >= 0)
            m->storage[id] =
                (struct cr_storage){CR_SPACE_ARENA, l.parts[l.part[id]].offset + l.within[id]};
    m->lower_bound_floats = l.most_live;
    m->lies_over = cr_calloc((size_t)m->n_kernels + 1, sizeof *m->lies_over);
    for (int i = 0; i < m->n_kernels; i++)
        for (int s = 0; s < m->kernels[i].n_stored; s++)
            m->lies_over[m->function[i]] |= l.over[m->kernels[i].stored[s]] != CR_NONE;
    cr_lifetimes_free(&l);
}

/* ---- the pass ---- */

/* Sets the storage of inputs, states and outputs, whose memory belongs to the caller.  States are
 * numbered with the inputs; a node that replaces a state has the state's storage. */
static void place_ports(struct cr_module *m)
{
    int n_inputs = 0;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (cr_is_input(&m->graph->nodes[id])) {
            bool state = m->graph->nodes[id].op == CR_OP_state;
            m->storage[id] =
                (struct cr_storage){state ? CR_SPACE_STATE : CR_SPACE_INPUT, n_inputs++};
        }
    for (int i = 0; i < cr_n_results(m->graph); i++)
        m->storage[m->graph->outputs[i].id] = (struct cr_storage){CR_SPACE_OUTPUT, i};
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (cr_state_of(m, id) != CR_NONE)
            m->storage[id] = m->storage[cr_state_of(m, id)];
}

/* Numbers literals in the order of their nodes; equal literals have the same number. */
static void place_literals(struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    int n = 0, *number = cr_calloc((size_t)cr_n_literals(g), sizeof *number); /* by literal of the
                                                                                 graph: 1 + its
                                                                                 number here */
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op != CR_OP_literal)
            continue;
        int *at = &number[(int)g->nodes[id].value];
        *at = *at ? *at : ++n;
        m->storage[id] = (struct cr_storage){CR_SPACE_LITERAL, *at - 1};
    }
    free(number);
}

/* Makes a segment and a function for each kernel; used if the pass `outline` was skipped. */
static void add_single_segments(struct cr_module *m)
{
    m->function = cr_calloc((size_t)m->n_kernels, sizeof *m->function);
    for (int i = 0; i < m->n_kernels; i++) {
        m->function[i] = i;
        *CR_PUSH(m->segments, m->n_segments, m->cap_segments) = (struct cr_segment){i, -1};
    }
}

void cr_pass_plan(struct cr_module *module)
{
    if (!(module->has & CR_HAS_LOOPS))
        add_single_segments(module);
    module->storage = cr_calloc((size_t)module->graph->n_nodes, sizeof *module->storage);
    place_ports(module);
    place_literals(module);
    place_weights(module);
    plan_arena(module);
    module->activation_floats = cr_activation_floats(module);
}
