/*
 * outline.c - each distinct kernel becomes one function, repeated sequences a loop.
 *
 * Two kernels share a function if they differ only in which tensors they read and write, and several
 * even if they begin at different elements of those (functions.c).  A sequence of functions that repeats, as the layers of a model do, becomes a loop
 * (loops.c).  So the backward pass of a stack is a loop too, which goes down the layers that the
 * forward pass went up.
 */
#include "compiler/ir/mem.h"
#include "functions.h"
#include "loops.h"
#include "plan.h"

/* Goes through the kernels: a segment for each loop, and for each kernel in none. */
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

/* Functions first, as loops are of kernels that share them; without loops if the arena has to be small. */
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
    module->cap_loops = loops.cap;
    add_segments(module);
}
