/*
 * simplify.c - folds constants, shares equal nodes, removes dead nodes, and merges movement ops.
 *
 * The rules are in rules.c.  Some of them search other nodes than the one being added, so one rule
 * may make another one applicable to a node that was copied before.  Therefore the graph is copied
 * again until no rule applies.  Simplifying a graph twice changes nothing; a debug build checks
 * this.
 */
#include <assert.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/verify.h"
#include "rewrite.h"
#include "rules.h"

enum { MOST_ROUNDS = 32 /* most graphs need at most three rounds; after so many, rules undo each
                           other */ };

/* Copies the graph; returns true if another copy would be the same. */
static bool simplify(struct cr_module *module)
{
    struct cr_rewrite rw;
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < rw.from->n_nodes; id++)
        if (rw.live[id])
            cr_rewrite_copy(&rw, id);
    module->graph = cr_rewrite_end(&rw);
    return rw.is_settled;
}

#ifdef CR_DEBUG
static uint64_t hash_graph(const struct cr_graph *g)
{
    uint64_t hash = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        hash = cr_hash_word(hash, cr_hash_node(g, id));
    return hash;
}

static void check_settled(struct cr_module *module)
{
    uint64_t before = hash_graph(module->graph);
    simplify(module);
    assert(hash_graph(module->graph) == before);
}
#else
static void check_settled(struct cr_module *module)
{
    (void)module;
}
#endif

void cr_pass_simplify(struct cr_module *module)
{
    int round = 1;
    while (!simplify(module) && round < MOST_ROUNDS)
        round++;
    assert(round < MOST_ROUNDS);
    check_settled(module);
}
