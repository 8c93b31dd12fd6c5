/*
 * plan.c - where everything lies: weights in order of use, intermediates in one arena.
 *
 * An intermediate occupies its part of the arena from the kernel that writes it to the
 * last that reads it; parts of values that are not alive together may overlap.  The
 * iterations of a loop share their parts.  A carry has two, used in turns.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "pass_list.h"
#include "weights.h"

enum { ALIGN = 16, PANEL = 32 }; /* floats: a cache line, and CR_PANEL of the runtime */

static int64_t align(int64_t floats)
{
    return (floats + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- weights ---- */

struct weights {
    struct cr_module *m;
    const struct cr_graph *g;
    int *readers;    /* by node: kernels that read it as a weight */
    int64_t *panels; /* by node: the packed form of a weight matrix, or -1 */
    int64_t K;       /* of the matrix being placed */
    int64_t target;
};

static void add_place(void *context, const struct cr_place_info *info)
{
    struct weights *w = context;
    struct cr_place_info *place = CR_PUSH(w->m->places, w->m->n_places, w->m->cap_places);
    *place = *info;
    place->target = w->target;
    place->panel_stride = w->K * PANEL;
}

/* Packs a weight matrix behind what is there. */
static void place_panels(struct weights *w, cr_id id)
{
    if (w->panels[id] >= 0)
        return;
    const struct cr_node *node = &w->g->nodes[id];
    int64_t N = node->shape[node->rank - 1];
    w->K = node->shape[node->rank - 2];
    w->panels[id] = w->target = w->m->weights_floats;
    cr_weight_pieces(w->g, id, add_place, w);
    w->m->places[w->m->n_places - 1].last = true;
    w->m->weights_floats += align(w->K * ((N + PANEL - 1) / PANEL * PANEL));
}

static void place_plain(struct weights *w, cr_id id)
{
    const struct cr_node *node = &w->g->nodes[id];
    if (w->m->storage[id].space != CR_SPACE_NONE)
        return;
    int64_t n = cr_elements(node->rank, node->shape);
    w->m->storage[id] = (struct cr_storage){CR_SPACE_WEIGHTS, w->m->weights_floats};
    *CR_PUSH(w->m->places, w->m->n_places, w->m->cap_places) = (struct cr_place_info){
        .param = id, .rows = 1, .cols = n, .col_stride = 1, .target = w->m->weights_floats};
    w->m->weights_floats += align(n);
}

static void place_weights_of(struct weights *w, const struct cr_kernel *k, bool shared)
{
    for (int r = 0; r < k->n_refs; r++)
        if (w->g->nodes[k->refs[r]].op == CR_OP_param && (w->readers[k->refs[r]] > 1) == shared)
            place_plain(w, k->refs[r]);
    if (k->packed != CR_NONE && (w->readers[k->packed] > 1) == shared)
        place_panels(w, k->packed);
}

/* Weights that several kernels share come first, so that layers lie at even distances. */
static void place_weights(struct cr_module *m)
{
    struct weights w = {.m = m, .g = m->graph};
    size_t n = (size_t)m->graph->n_nodes;
    w.readers = cr_calloc(n, sizeof *w.readers);
    w.panels = cr_calloc(n, sizeof *w.panels);
    for (size_t i = 0; i < n; i++)
        w.panels[i] = -1;
    for (int i = 0; i < m->n_kernels; i++) {
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            w.readers[m->kernels[i].refs[r]]++;
        if (m->kernels[i].packed != CR_NONE)
            w.readers[m->kernels[i].packed]++;
    }
    for (int shared = 1; shared >= 0; shared--)
        for (int i = 0; i < m->n_kernels; i++)
            place_weights_of(&w, &m->kernels[i], shared);
    m->packed = cr_calloc((size_t)m->n_kernels, sizeof *m->packed);
    for (int i = 0; i < m->n_kernels; i++)
        m->packed[i] = m->kernels[i].packed == CR_NONE ? -1 : w.panels[m->kernels[i].packed];
    free(w.readers);
    free(w.panels);
}

/* ---- the arena ---- */

/* A part of the arena. */
struct part {
    cr_id id;
    int64_t floats, offset;
    int begin, end; /* the steps at whose times it is occupied, inclusive */
};

struct arena {
    struct cr_module *m;
    int *time;    /* by kernel; the iterations of a loop have the times of the first */
    int *part_of; /* by node, or -1 */
    struct part *parts;
    int n, cap;
};

static void set_times(struct arena *a)
{
    int now = 0;
    for (int i = 0; i < a->m->n_kernels; i++) {
        const struct cr_loop *loop = cr_loop_of(a->m, i);
        bool repeated = loop && i >= loop->first + loop->period;
        a->time[i] = repeated ? a->time[i - loop->period] : now++;
    }
}

/* The kernel of iteration 0 in its place. */
static int representative(const struct cr_module *m, int kernel)
{
    const struct cr_loop *loop = cr_loop_of(m, kernel);
    return loop ? loop->first + (kernel - loop->first) % loop->period : kernel;
}

static struct part *add_part(struct arena *a, cr_id id, int begin, int end)
{
    const struct cr_node *node = &a->m->graph->nodes[id];
    struct part *part = CR_PUSH(a->parts, a->n, a->cap);
    *part = (struct part){id, align(cr_elements(node->rank, node->shape)), 0, begin, end};
    return part;
}

/* Extends a part over the time of a use; within a loop it may be read in every iteration. */
static void use(struct arena *a, cr_id id, int kernel)
{
    if (a->part_of[id] < 0)
        return;
    struct part *part = &a->parts[a->part_of[id]];
    const struct cr_loop *loop = cr_loop_of(a->m, kernel);
    int end = a->time[kernel];
    if (loop && part->begin < a->time[loop->first])
        end = a->time[loop->first + loop->period - 1];
    if (part->end < end)
        part->end = end;
}

static bool is_carried(const struct cr_module *m, cr_id id)
{
    for (int i = 0; i < m->n_carries; i++)
        if (m->carries[i].body == id)
            return true;
    return false;
}

/* A part for each value made in the arena, by its first maker; later iterations share it. */
static void find_parts(struct arena *a)
{
    struct cr_module *m = a->m;
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id id = m->kernels[i].buffer, first = m->kernels[representative(m, i)].buffer;
        if (m->storage[id].space != CR_SPACE_NONE || a->part_of[id] >= 0 || is_carried(m, first))
            continue;
        if (first != id)
            a->part_of[id] = a->part_of[first];
        if (a->part_of[id] < 0) {
            add_part(a, id, a->time[i], a->time[i]);
            a->part_of[id] = a->n - 1;
        }
    }
}

/* Two parts a carry, occupied as long as the loop runs and its last value is read. */
static void find_carry_parts(struct arena *a)
{
    struct cr_module *m = a->m;
    for (int i = 0; i < m->n_carries; i++) {
        const struct cr_carry *carry = &m->carries[i];
        const struct cr_loop *loop = &m->loops[carry->loop];
        int begin = a->time[loop->first], end = begin + loop->period - 1;
        add_part(a, carry->body, begin, end);
        add_part(a, carry->body, begin, end);
        int last = a->n - 2 + loop->count % 2; /* slot[(count - 1 + 1) % 2] */
        if (m->storage[carry->last].space == CR_SPACE_NONE)
            a->part_of[carry->last] = last;
    }
}

static int larger_first(const void *x, const void *y)
{
    const struct part *a = *(struct part *const *)x, *b = *(struct part *const *)y;
    if (a->floats != b->floats)
        return a->floats > b->floats ? -1 : 1;
    return a < b ? -1 : 1;
}

static bool together(const struct part *a, const struct part *b)
{
    return a->begin <= b->end && b->begin <= a->end;
}

/* Largest first, each at the lowest offset where nothing alive at its time lies. */
static void place_parts(struct arena *a)
{
    struct part **order = cr_calloc((size_t)a->n, sizeof *order);
    for (int i = 0; i < a->n; i++)
        order[i] = &a->parts[i];
    qsort(order, (size_t)a->n, sizeof *order, larger_first);
    for (int i = 0; i < a->n; i++) {
        struct part *part = order[i];
        for (bool moved = true; moved;) {
            moved = false;
            for (int j = 0; j < i; j++) {
                const struct part *other = order[j];
                if (together(part, other) && part->offset < other->offset + other->floats &&
                    other->offset < part->offset + part->floats) {
                    part->offset = other->offset + other->floats;
                    moved = true;
                }
            }
        }
        if (a->m->arena_floats < part->offset + part->floats)
            a->m->arena_floats = part->offset + part->floats;
    }
    free(order);
}

static void find_lower_bound(struct arena *a)
{
    for (int i = 0; i < a->m->n_kernels; i++) {
        int64_t live = 0;
        for (int p = 0; p < a->n; p++)
            if (a->parts[p].begin <= a->time[i] && a->time[i] <= a->parts[p].end)
                live += a->parts[p].floats;
        if (a->m->lower_bound_floats < live)
            a->m->lower_bound_floats = live;
    }
}

static void record_storage(struct arena *a)
{
    struct cr_module *m = a->m;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (a->part_of[id] >= 0)
            m->storage[id] = (struct cr_storage){CR_SPACE_ARENA, a->parts[a->part_of[id]].offset};
    for (int i = 0, at = a->n - 2 * m->n_carries; i < m->n_carries; i++, at += 2) {
        m->carries[i].slot[0] = a->parts[at].offset;
        m->carries[i].slot[1] = a->parts[at + 1].offset;
    }
}

static void plan_arena(struct cr_module *m)
{
    struct arena a = {.m = m};
    a.time = cr_calloc((size_t)m->n_kernels, sizeof *a.time);
    a.part_of = cr_calloc((size_t)m->graph->n_nodes, sizeof *a.part_of);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        a.part_of[id] = -1;
    set_times(&a);
    find_parts(&a);
    find_carry_parts(&a);
    for (int i = 0; i < m->n_kernels; i++)
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            use(&a, m->kernels[i].refs[r], i);
    place_parts(&a);
    find_lower_bound(&a);
    record_storage(&a);
    free(a.time);
    free(a.part_of);
    free(a.parts);
}

/* ---- the pass ---- */

static void place_ports(struct cr_module *m)
{
    int n_inputs = 0;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->graph->nodes[id].op == CR_OP_input)
            m->storage[id] = (struct cr_storage){CR_SPACE_INPUT, n_inputs++};
    for (int i = 0; i < m->graph->n_outputs; i++)
        m->storage[m->graph->outputs[i].id] = (struct cr_storage){CR_SPACE_OUTPUT, i};
}

void cr_pass_plan(struct cr_module *module)
{
    module->storage = cr_calloc((size_t)module->graph->n_nodes, sizeof *module->storage);
    place_ports(module);
    place_weights(module);
    plan_arena(module);
}
