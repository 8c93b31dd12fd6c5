/* verify_plan.c - checks the plan by a simulated run.  The run visits every step in execution
 * order, loops iteration by iteration, and records the last writer of each float. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/in_place.h"
#include "compiler/passes/weights/weights.h"
#include "last_writer.h"
#include "verifier.h"

struct run {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_error *error;
    int *inputs;       /* by node: the number of the input or state that the node is, or -1 */
    int *outputs;      /* by node: the number of the output that the node is, or -1 */
    int *replaced;     /* by node: the state that the node replaces, or -1 */
    int *parts;        /* by node: the number of kernels that compute the node */
    int *made;         /* by node: the number of these kernels that have run */
    int *first, *last; /* by node: the time of the node's first write, and of its last read or
                          write */
    struct cr_last_writer arena;
};

#define BROKEN(r, kernel, ...) cr_fail_at((r)->error, "kernel", kernel, __VA_ARGS__)

static int64_t elements(const struct run *r, cr_id id)
{
    return cr_elements(r->g->nodes[id].rank, r->g->nodes[id].shape);
}

static struct cr_range range_of(const struct run *r, cr_id id)
{
    int64_t begin = r->m->storage[id].offset;
    return (struct cr_range){begin, begin + elements(r, id)};
}

/* ---- spaces of values ---- */

/* Fails unless a result of a kernel is in the arena, in its output, or in the state that it
 * replaces. */
static int verify_result(const struct run *r, int kernel, cr_id id)
{
    const struct cr_storage *at = &r->m->storage[id];
    int state = r->replaced[id];
    if (state >= 0 ? at->space != CR_SPACE_STATE || at->offset != r->inputs[state]
        : r->outputs[id] >= 0
            ? at->space != CR_SPACE_OUTPUT || at->offset != r->outputs[id]
            : at->space != CR_SPACE_ARENA)
        return BROKEN(r, kernel, "its result v[%d] lies in the wrong space", (int)id);
    if (at->space == CR_SPACE_ARENA &&
        !cr_is_inside(at->offset, elements(r, id), r->m->arena_floats))
        return BROKEN(r, kernel, "its result v[%d] lies outside the arena", (int)id);
    return 0;
}

/* True if no kernel computes a node: it is a leaf with a name, or joined parameters. */
static bool is_handed_in(const struct run *r, cr_id id)
{
    return r->g->nodes[id].name || cr_is_joined(r->g, id);
}

/* Fails unless an input or a state is in the port of its number, a parameter in the weights, and a
 * literal in the space of literals. */
static int verify_leaf(const struct run *r, int kernel, cr_id id)
{
    const struct cr_storage *at = &r->m->storage[id];
    if (r->g->nodes[id].op == CR_OP_literal)
        return at->space == CR_SPACE_LITERAL
                   ? 0
                   : BROKEN(r, kernel, "its operand v[%d] lies in the wrong space", (int)id);
    bool input = cr_is_input(&r->g->nodes[id]), state = r->g->nodes[id].op == CR_OP_state;
    if (at->space != (state   ? CR_SPACE_STATE
                      : input ? CR_SPACE_INPUT
                              : CR_SPACE_WEIGHTS) ||
        (input && at->offset != r->inputs[id]))
        return BROKEN(r, kernel, "its operand v[%d] lies in the wrong space", (int)id);
    int64_t bytes = cr_format_bytes(cr_kept_format(r->g, id), elements(r, id));
    if (!input && !cr_is_inside(at->offset, (bytes + 3) / 4, r->m->weights_floats))
        return BROKEN(r, kernel, "its operand v[%d] lies outside the weights", (int)id);
    return 0;
}

/* Checks the spaces of all results and leaves. */
static int verify_storage(const struct run *r)
{
    for (int i = 0; i < r->m->n_kernels; i++) {
        const struct cr_kernel *k = &r->m->kernels[i];
        for (int s = 0; s < k->n_stored; s++)
            if (verify_result(r, i, k->stored[s]))
                return -1;
        for (int j = 0; j < k->n_refs; j++)
            if (is_handed_in(r, k->refs[j]) && verify_leaf(r, i, k->refs[j]))
                return -1;
    }
    return 0;
}

/* ---- the simulated run ---- */

/* True if a result of the kernel, node `writer`, is at the place of its operand `id`, and each
 * element of the operand is read only to compute the element that replaces it. */
static bool is_replaced(const struct run *r, int kernel, cr_id id, int writer)
{
    const struct cr_kernel *k = &r->m->kernels[kernel];
    int result = writer < 0 ? -1 : cr_find_stored_node(k, writer);
    return result >= 0 && r->parts[writer] == 1 && elements(r, id) == elements(r, writer) &&
           r->m->storage[id].offset == r->m->storage[writer].offset &&
           cr_reads_in_place(k, result, id);
}

/* Fails unless a node that a kernel reads is complete and not overwritten, except if the kernel's
 * own result replaces it element by element. */
static int read_operand(struct run *r, int kernel, cr_id id, int now)
{
    if (is_handed_in(r, id))
        return 0;
    if (!r->made[id] || r->made[id] != r->parts[id])
        return BROKEN(r, kernel, "it reads v[%d] before all of it is written", (int)id);
    int last = r->last[id] < now - 1 ? now - 1 : r->last[id];
    r->last[id] = now;
    if (r->m->storage[id].space != CR_SPACE_ARENA)
        return 0;
    int writer = cr_other_writer(&r->arena, range_of(r, id), id);
    if (writer != id && is_replaced(r, kernel, id, writer)) {
        r->last[id] = last;
        return 0;
    }
    if (writer != id)
        return BROKEN(r, kernel, "it reads v[%d], where v[%d] is written over it", (int)id, writer);
    return 0;
}

/* Records a write.  The first part of a value takes the value's whole range in the arena; it is a
 * fault if another value overwrites that range before a later part. */
static int write_result(struct run *r, int kernel, cr_id id, int now)
{
    if (r->made[id] == r->parts[id])
        return BROKEN(r, kernel, "it writes v[%d] again", (int)id);
    r->last[id] = now;
    if (!r->made[id])
        r->first[id] = now;
    if (r->m->storage[id].space != CR_SPACE_ARENA)
        return 0;
    if (!r->made[id])
        cr_write_range(&r->arena, range_of(r, id), id);
    int writer = cr_other_writer(&r->arena, range_of(r, id), id);
    if (writer != id)
        return BROKEN(r, kernel, "it writes a part of v[%d], where v[%d] is written over another",
                      (int)id, writer);
    return 0;
}

/* True if a kernel computes stored node number `stored` for the first time.  A kernel that runs
 * again, to save memory, also stores outputs once more. */
static bool makes(const struct run *r, const struct cr_kernel *k, int stored)
{
    return !k->again || r->m->storage[k->stored[stored]].space == CR_SPACE_ARENA;
}

/* Simulates a kernel: first its writes, then its reads, so that overwritten operands are found. */
static int run_kernel(struct run *r, int kernel, int now)
{
    const struct cr_kernel *k = &r->m->kernels[kernel];
    for (int s = 0; s < k->n_stored; s++)
        if (makes(r, k, s) && write_result(r, kernel, k->stored[s], now))
            return -1;
    for (int i = 0; i < k->n_refs; i++)
        if (read_operand(r, kernel, k->refs[i], now))
            return -1;
    for (int s = 0; s < k->n_stored; s++)
        r->made[k->stored[s]] += makes(r, k, s);
    return 0;
}

/* Simulates the kernels in the order of the steps, with loops unrolled.  Fails if an output is not
 * complete at the end. */
static int run_steps(struct run *r)
{
    int now = 0;
    for (int s = 0; s < r->m->n_segments; s++) {
        const struct cr_segment *step = &r->m->segments[s];
        const struct cr_loop *loop = step->loop < 0 ? NULL : &r->m->loops[step->loop];
        int kernels = loop ? loop->period * loop->count : 1;
        for (int k = step->kernel; k < step->kernel + kernels; k++)
            if (run_kernel(r, k, now++))
                return -1;
    }
    for (int i = 0; i < r->g->n_outputs; i++)
        if (r->made[r->g->outputs[i].id] != r->parts[r->g->outputs[i].id])
            return cr_fail(r->error, "output %.200s: not all of it is written",
                           r->g->outputs[i].name);
    return 0;
}

/* ---- the smallest arena ---- */

/* Returns the most floats in the arena that are live at the same time. */
static int64_t most_live(const struct run *r)
{
    int64_t live = 0, most = 0;
    int64_t *change = cr_calloc((size_t)r->m->n_kernels + 2, sizeof *change);
    for (cr_id id = 0; id < r->g->n_nodes; id++) {
        if (!r->made[id] || r->m->storage[id].space != CR_SPACE_ARENA)
            continue;
        change[r->first[id]] += cr_align(elements(r, id));
        change[r->last[id] + 1] -= cr_align(elements(r, id));
    }
    for (int i = 0; i < r->m->n_kernels; i++) {
        live += change[i];
        most = live > most ? live : most;
    }
    free(change);
    return most;
}

static int verify_size(const struct run *r)
{
    int64_t least = most_live(r);
    if (r->m->arena_floats < least)
        return cr_fail(r->error, "arena: %lld floats, %lld are live at once",
                       (long long)r->m->arena_floats, (long long)least);
    if (r->m->lower_bound_floats != least)
        return cr_fail(r->error, "arena: at least %lld floats are claimed, %lld are live at once",
                       (long long)r->m->lower_bound_floats, (long long)least);
    return 0;
}

/* ---- loops ---- */

/* Fails unless an operand or a result, with the number `ref` (cr_touched), is in the same space in
 * all iterations of a loop except the first and the last. */
static int verify_spaces(const struct run *r, const struct cr_loop *loop, int at, int ref)
{
    enum cr_space space = CR_SPACE_NONE;
    for (int i = 1; i + 1 < loop->count; i++) {
        int kernel = loop->first + i * loop->period + at;
        enum cr_space here = r->m->storage[cr_touched(&r->m->kernels[kernel], ref)].space;
        if (i > 1 && here != space)
            return BROKEN(r, kernel, "an operand lies in another space than before");
        space = here;
    }
    return 0;
}

/* Checks the spaces of all operands and results of kernels in loops. */
static int verify_loops(const struct run *r)
{
    for (int l = 0; l < r->m->n_loops; l++) {
        const struct cr_loop *loop = &r->m->loops[l];
        for (int at = 0; at < loop->period; at++) {
            const struct cr_kernel *k = &r->m->kernels[loop->first + at];
            for (int ref = -k->n_stored; ref < k->n_refs; ref++)
                if (verify_spaces(r, loop, at, ref))
                    return -1;
        }
    }
    return 0;
}

/* ---- the whole plan ---- */

/* Sets the port of each node, and the state that the node replaces. */
static void number_ports(struct run *r)
{
    int n = 0;
    for (cr_id id = 0; id < r->g->n_nodes; id++) {
        r->inputs[id] = cr_is_input(&r->g->nodes[id]) ? n++ : -1;
        r->outputs[id] = r->replaced[id] = -1;
    }
    for (int i = 0; i < r->g->n_outputs; i++) {
        const struct cr_output *output = &r->g->outputs[i];
        if (output->state == CR_NONE)
            r->outputs[output->id] = i;
        else
            r->replaced[output->id] = output->state;
    }
}

/* Initialises the record of the arena with the ranges of all values that kernels compute in it. */
static void begin_arena(struct run *r)
{
    struct cr_range *ranges =
        cr_calloc((size_t)r->m->n_kernels * CR_MAX_STORED, sizeof *ranges);
    int n = 0;
    for (int i = 0; i < r->m->n_kernels; i++)
        for (int s = 0; s < r->m->kernels[i].n_stored; s++) {
            cr_id id = r->m->kernels[i].stored[s];
            if (makes(r, &r->m->kernels[i], s) && !r->parts[id]++ && r->m->storage[id].space == CR_SPACE_ARENA)
                ranges[n++] = range_of(r, id);
        }
    cr_last_writer_begin(&r->arena, ranges, n);
    free(ranges);
}

int cr_verify_plan(const struct cr_module *m, struct cr_error *error)
{
    struct run r = {.m = m, .g = m->graph, .error = error};
    int **arrays[] = {&r.inputs, &r.outputs, &r.replaced, &r.parts, &r.made, &r.first, &r.last};
    enum { N = sizeof arrays / sizeof *arrays };
    for (int i = 0; i < N; i++)
        *arrays[i] = cr_calloc((size_t)m->graph->n_nodes, sizeof **arrays[i]);
    number_ports(&r);
    int status = verify_storage(&r);
    if (!status) {
        begin_arena(&r);
        status = run_steps(&r) || verify_size(&r) || verify_loops(&r);
        cr_last_writer_end(&r.arena);
    }
    for (int i = 0; i < N; i++)
        free(*arrays[i]);
    return status ? -1 : 0;
}
