/*
 * Oracle: the plan of the arena is correct, checked by a simulation of the kernels in their order.
 *
 * What a kernel reads from the arena must have been written, and must not have been overwritten
 * since.  The check uses nothing of the compiler's own live ranges.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/in_place.h"
#include "oracles.h"

/* The contents of a module's arena while its kernels run in order. */
struct arena {
    const struct cr_module *m;
    bool *whole;   /* by node: it is in the arena, and nothing has overwritten it */
    int *last_use; /* by node: the last kernel that reads or writes it, or -1 */
};

static bool is_in_arena(const struct arena *a, cr_id id)
{
    return a->m->storage[id].space == CR_SPACE_ARENA;
}

static int64_t floats_of(const struct arena *a, cr_id id)
{
    const struct cr_node *node = &a->m->graph->nodes[id];
    return cr_elements(node->rank, node->shape);
}

static bool overlap(const struct arena *a, cr_id x, cr_id y)
{
    int64_t from_x = a->m->storage[x].offset, from_y = a->m->storage[y].offset;
    return from_x < from_y + floats_of(a, y) && from_y < from_x + floats_of(a, x);
}

/* True if a kernel is the last to read a node, and stores a result of the same size over it, each element
 * after it has read the element at that offset. */
static bool is_replaced(const struct arena *a, int kernel, cr_id id, int result)
{
    const struct cr_kernel *k = &a->m->kernels[kernel];
    return a->last_use[id] == kernel && floats_of(a, id) == floats_of(a, k->stored[result]) &&
           a->m->storage[id].offset == a->m->storage[k->stored[result]].offset &&
           cr_reads_in_place(k, result, id);
}

static bool check_reads(struct arena *a, int kernel, struct cr_report *report)
{
    const struct cr_kernel *k = &a->m->kernels[kernel];
    for (int r = 0; r < k->n_refs; r++) {
        cr_id id = k->refs[r];
        if (!is_in_arena(a, id))
            continue;
        if (!a->whole[id])
            return cr_found(report, "kernel %d reads v[%d], which is not or no longer there",
                            kernel, (int)id);
        for (int s = 0; s < k->n_stored; s++)
            if (id != k->stored[s] && is_in_arena(a, k->stored[s]) && overlap(a, id, k->stored[s]) &&
                !is_replaced(a, kernel, id, s))
                return cr_found(report, "kernel %d writes over v[%d], which it reads", kernel,
                                (int)id);
    }
    return true;
}

/* Simulates a store of a node: values that overlap it are lost. */
static bool write_result(struct arena *a, int kernel, cr_id id, struct cr_report *report)
{
    if (!is_in_arena(a, id) || a->whole[id])
        return true;
    if (a->m->storage[id].offset < 0 ||
        a->m->storage[id].offset + floats_of(a, id) > a->m->arena_floats)
        return cr_found(report, "v[%d] of kernel %d lies outside the arena", (int)id, kernel);
    for (cr_id other = 0; other < a->m->graph->n_nodes; other++)
        if (a->whole[other] && is_in_arena(a, other) && overlap(a, id, other))
            a->whole[other] = false;
    a->whole[id] = true;
    return true;
}

static void find_last_uses(struct arena *a)
{
    for (cr_id id = 0; id < a->m->graph->n_nodes; id++)
        a->last_use[id] = -1;
    for (int i = 0; i < a->m->n_kernels; i++) {
        for (int s = 0; s < a->m->kernels[i].n_stored; s++)
            a->last_use[a->m->kernels[i].stored[s]] = i;
        for (int r = 0; r < a->m->kernels[i].n_refs; r++)
            a->last_use[a->m->kernels[i].refs[r]] = i;
    }
}

/* True if the kernel stores a result over the operand. */
static bool is_taken_over(const struct arena *a, int kernel, cr_id id)
{
    const struct cr_kernel *k = &a->m->kernels[kernel];
    bool taken = false;
    for (int s = 0; s < k->n_stored; s++)
        taken |= id != k->stored[s] && is_in_arena(a, k->stored[s]) && overlap(a, id, k->stored[s]);
    return taken;
}

/* Returns the most floats that are live at once; a result stored over an operand counts once. */
static int64_t most_live(const struct arena *a)
{
    int64_t most = 0, live = 0;
    bool *made = cr_calloc((size_t)a->m->graph->n_nodes + 1, sizeof *made);
    for (int i = 0; i < a->m->n_kernels; i++) {
        for (int s = 0; s < a->m->kernels[i].n_stored; s++) {
            cr_id id = a->m->kernels[i].stored[s];
            if (is_in_arena(a, id) && !made[id])
                live += floats_of(a, id);
            made[id] = true;
        }
        for (cr_id other = 0; other < a->m->graph->n_nodes; other++)
            if (made[other] && is_in_arena(a, other) && a->last_use[other] == i &&
                is_taken_over(a, i, other)) {
                live -= floats_of(a, other);
                made[other] = false;
            }
        most = live > most ? live : most;
        for (cr_id other = 0; other < a->m->graph->n_nodes; other++)
            if (made[other] && is_in_arena(a, other) && a->last_use[other] == i)
                live -= floats_of(a, other);
    }
    free(made);
    return most;
}

static bool check_plan(const struct cr_module *m, struct cr_report *report)
{
    size_t n = (size_t)m->graph->n_nodes + 1;
    struct arena a = {m, cr_calloc(n, sizeof *a.whole), cr_calloc(n, sizeof *a.last_use)};
    bool good = true;
    find_last_uses(&a);
    for (int i = 0; i < m->n_kernels && good; i++) {
        good = check_reads(&a, i, report);
        for (int s = 0; good && s < m->kernels[i].n_stored; s++)
            good = write_result(&a, i, m->kernels[i].stored[s], report);
    }
    int64_t most = most_live(&a);
    if (good && (m->arena_floats < most || m->arena_floats < m->lower_bound_floats))
        good = cr_found(report,
                        "the arena has %" PRId64 " floats, %" PRId64 " (by the plan %" PRId64
                        ") are needed at once",
                        m->arena_floats, most, m->lower_bound_floats);
    free(a.whole);
    free(a.last_use);
    return good;
}

bool cr_oracle_plan(struct cr_subject *s, struct cr_report *report)
{
    return check_plan(s->module, report);
}
