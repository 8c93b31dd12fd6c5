/*
 * outline.c - finds the kernels that share a function, and the repeated sequences that become
 * loops.
 *
 * Two kernels share a function if they differ only in the tensors that they read and write.  If
 * enough kernels differ also in the offsets in these tensors, they share one, too (functions.c).  A
 * repeated sequence of functions, such as the layers of a model, becomes a loop (loops.c).  So the
 * backward pass of a stack of layers is a loop, too; it counts the layers down.
 */
#include "compiler/ir/mem.h"
#include "functions.h"
#include "loops.h"
#include "plan.h"

/* Appends a segment for each loop, and for each kernel outside loops. */
static void add_segments(struct cr_module *m)
{
    int next = 0;
    for (int i = 0; i < m->n_kernels;) {
        bool begins = next < m->n_loops && m->loops[next].first == i;
        *CR_PUSH(m->segments, m->n_segments, m->cap_segments) = (struct cr_segment){i, begins ? next : -1};
        i += begins ? m->loops[next].period * m->loops[next].count : 1;
        next += begins;
    }
}

/* Finds functions, then loops of kernels that share them.  Uses no loops if recompute found that
 * only the arena without loops is small enough. */
void cr_pass_outline(struct cr_module *module)
{
    struct cr_loops loops = {0};
    struct cr_functions functions = cr_find_functions(module);
    if (!module->unrolled)
        cr_find_loops(module, &functions, &loops);
    module->function = functions.first;
    module->starts = functions.starts;
    module->loops = loops.items;
    module->n_loops = loops.n;
    add_segments(module);
}
