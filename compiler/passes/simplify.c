/*
 * simplify.c - constant folding, common subexpressions, dead code, movement ops merged.
 * The rules are those of rules.c, which every rebuilt graph goes through.
 *
 * One rule makes room for another, also for nodes that were looked at before, so the graph is
 * rebuilt until no rule applies: simplifying it again gives the same graph.
 */
#include <assert.h>

#include "pass_list.h"
#include "rewrite.h"

enum { MOST_ROUNDS = 32 /* three are many; more than this are rules that undo each other */ };

/* Rebuilds the graph; false if that changed nothing. */
static bool rebuild(struct cr_module *module)
{
    struct cr_rewrite rw;
    cr_rewrite_begin(&rw, module->graph);
    for (cr_id id = 0; id < rw.from->n_nodes; id++)
        if (rw.live[id])
            cr_rewrite_copy(&rw, id);
    module->graph = cr_rewrite_end(&rw);
    return !rw.is_copy;
}

void cr_pass_simplify(struct cr_module *module)
{
    int round = 0;
    while (rebuild(module) && round < MOST_ROUNDS)
        round++;
    assert(round < MOST_ROUNDS);
}
