/* verify_states.c - checks where the next values of states are stored, and that no kernel reads an
 * old value afterwards. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/in_place.h"
#include "verifier.h"

/* Fails unless each node that replaces a state is stored in the state's memory, and no other node
 * is. */
static int verify_places(const struct cr_module *m, struct cr_error *error)
{
    const struct cr_graph *g = m->graph;
    cr_id *replaced = cr_calloc((size_t)g->n_nodes, sizeof *replaced), id;
    for (id = 0; id < g->n_nodes; id++)
        replaced[id] = CR_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        replaced[g->outputs[i].id] = g->outputs[i].state;
    for (id = 0; id < g->n_nodes && cr_state_of(m, id) == replaced[id]; id++)
        ;
    free(replaced);
    return id < g->n_nodes ? cr_fail(error, "node %d: it is not stored in the state that it replaces",
                                     (int)id)
                           : 0;
}

/* Fails unless each state that a kernel reads still has its old value.  A kernel that overwrites
 * the state must overwrite each element after its last read.  `held` is a list by state: the node
 * whose value its memory has. */
static int verify_reads(const struct cr_module *m, int kernel, const cr_id *held,
                        struct cr_error *error)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    for (int i = 0; i < k->n_refs; i++) {
        cr_id id = k->refs[i], over = held[id];
        for (int s = 0; s < k->n_stored && over == id; s++)
            if (cr_state_of(m, k->stored[s]) == id && !cr_reads_in_place(k, s, id))
                over = k->stored[s];
        if (over != id)
            return cr_fail(error, "kernel %d: it reads v[%d], where v[%d] is written over it", kernel,
                           (int)id, (int)over);
    }
    return 0;
}

/* Checks the kernels in their order; at the beginning of an entry, states have their old values. */
static int verify_order(const struct cr_module *m, struct cr_error *error)
{
    cr_id *held = cr_calloc((size_t)m->graph->n_nodes, sizeof *held);
    int status = 0;
    for (int i = 0; i < m->n_kernels && !status; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        for (cr_id id = 0; id < m->graph->n_nodes && (!i || k->entry != k[-1].entry); id++)
            held[id] = id;
        status = verify_reads(m, i, held, error);
        for (int s = 0; s < k->n_stored; s++)
            if (cr_state_of(m, k->stored[s]) != CR_NONE)
                held[cr_state_of(m, k->stored[s])] = k->stored[s];
    }
    free(held);
    return status;
}

int cr_verify_states(const struct cr_module *m, struct cr_error *error)
{
    if (verify_places(m, error))
        return -1;
    return m->in_state ? verify_order(m, error) : 0;
}
