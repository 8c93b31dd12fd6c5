/*
 * simplify.c - constant folding, common subexpressions, dead code, movement ops merged.
 * The rules are those of rules.c, which every rebuilt graph goes through.
 */
#include "pass_list.h"
#include "rewrite.h"

void cr_pass_simplify(struct cr_module *module)
{
    struct cr_rewrite rw;
    cr_rewrite_begin(&rw, module->graph);
    for (cr_id id = 0; id < rw.from->n_nodes; id++)
        if (rw.live[id])
            cr_rewrite_copy(&rw, id);
    module->graph = cr_rewrite_end(&rw);
}
