/* What must hold of kernels, loops and plan between passes. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "module.h"

static void broken(const char *after, int kernel, const char *what)
{
    fprintf(stderr, "crescent: bug: after %s, kernel %d: %s\n", after, kernel, what);
    abort();
}

/* Whether a kernel adds a part to the concat that the one before began. */
static bool goes_on(const struct cr_module *m, int kernel)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    return kernel > 0 && k[-1].buffer == k->buffer && k[-1].dest.base < k->dest.base;
}

/* Every kernel reads what is given or what earlier kernels made, and writes to a place of its
 * own, also if it makes a value again; outputs are made. */
static void verify_kernels(const struct cr_module *m, const char *after)
{
    bool *made = cr_calloc((size_t)m->graph->n_nodes, sizeof *made);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        made[id] = m->graph->nodes[id].name != NULL;
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        for (int r = 0; r < k->n_refs; r++)
            if (!made[k->refs[r]])
                broken(after, i, "it reads what is not there yet");
        if (m->graph->nodes[k->buffer].name)
            broken(after, i, "it writes to what the caller hands in");
        if (made[k->buffer] && !goes_on(m, i))
            broken(after, i, "it writes where another kernel wrote");
        made[k->buffer] = true;
    }
    for (int i = 0; i < m->graph->n_outputs; i++)
        if (!made[m->graph->outputs[i].id])
            broken(after, CR_NONE, "no kernel makes an output");
    free(made);
}

/* Steps and loops go through the kernels once and in order. */
static void verify_steps(const struct cr_module *m, const char *after)
{
    int at = 0;
    for (int i = 0; i < m->n_steps; i++) {
        const struct cr_step *step = &m->steps[i];
        if (step->kernel != at)
            broken(after, at, "the steps do not follow the kernels");
        const struct cr_loop *loop = step->loop < 0 ? NULL : &m->loops[step->loop];
        for (int k = 0; loop && k < loop->period * (loop->count - 1); k++)
            if (m->function[at + k] != m->function[at + k + loop->period])
                broken(after, at + k, "iterations of its loop differ");
        at += loop ? loop->period * loop->count : 1;
    }
    if (at != m->n_kernels)
        broken(after, at, "the steps end before the kernels");
}

/* What a kernel writes overlaps nothing that it reads, and all lies inside the arena. */
static void verify_plan(const struct cr_module *m, const char *after)
{
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        const struct cr_storage *out = &m->storage[k->buffer];
        const struct cr_node *node = &m->graph->nodes[k->buffer];
        int64_t end = out->offset + cr_elements(node->rank, node->shape);
        if (out->space != CR_SPACE_ARENA)
            continue;
        if (end > m->arena_floats)
            broken(after, i, "its result reaches beyond the arena");
        for (int r = 0; r < k->n_refs; r++) {
            const struct cr_storage *in = &m->storage[k->refs[r]];
            const struct cr_node *read = &m->graph->nodes[k->refs[r]];
            if (in->space == CR_SPACE_ARENA && in->offset < end &&
                out->offset < in->offset + cr_elements(read->rank, read->shape))
                broken(after, i, "its result overlaps an operand");
        }
    }
}

void cr_verify_module(const struct cr_module *m, const char *after)
{
    if (m->has & CR_HAS_KERNELS)
        verify_kernels(m, after);
    if (m->has & CR_HAS_LOOPS)
        verify_steps(m, after);
    if (m->has & CR_HAS_PLAN)
        verify_plan(m, after);
}
