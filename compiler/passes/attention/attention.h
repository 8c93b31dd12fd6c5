/*
 * attention.h - finds attentions (a contraction, softmax over rows, a contraction) and their gradients.
 *
 * Comes in:   a graph in which softmax and its gradients have one form (softmax_rules.c).
 * Goes out:   CR_HAS_GRADIENTS: module->backwards, the gradients of attentions that one kernel may
 *             compute, each a list of adjacent nodes; for fuse, module->attentions.
 * Promise:    patterns are found by structure, never by a name.  Nodes that match no pattern keep their
 *             meaning, and other kernels compute them.
 * Passes:     lift_grads, join_grads.
 */
#ifndef CR_ATTENTION_H
#define CR_ATTENTION_H

#include "compiler/passes/module/module.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite/users.h"
#include "softmax.h"

/* The module in which gradients of attentions are searched, and facts about its nodes. */
struct cr_search {
    const struct cr_module *module;
    const struct cr_graph *g; /* the graph of `module` */
    const struct cr_users *users;
    const bool *weights; /* by node: true for weights (cr_find_weights) */
};

/* The nodes on the paths from one node to another; the first node is left out. */
struct cr_region {
    cr_id to;
    cr_id nodes[CR_MAX_VALUES];
    int n;
    bool skips_gradients; /* a region ignores nodes that only the kernel of an attention's gradients
                             computes */
};

/*
 * True if every path from `from` leads through elementwise ops, reshapes and permutes to `to`, no
 * node between them is stored, and one kernel has room for all of them.  Fills in the region.
 */
bool cr_find_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                    cr_id to, struct cr_region *region);

/* True if each work item of an attention may compute the rows of keys itself instead of loading
 * stored ones.  All queries of the item share them, so this costs little unless there are far more
 * keys than queries. */
static inline bool cr_computes_keys(int64_t queries, int64_t keys)
{
    return 8 * queries >= keys;
}

/* Returns the matmul of queries and keys from which the logits are computed, or CR_NONE. */
cr_id cr_find_scores(const struct cr_module *module, cr_id logits);

/* If `output` is the second product of an attention without softmax, returns the matmul that
 * computes its scores; otherwise CR_NONE.  `weights` is a list by node, from cr_find_weights. */
cr_id cr_find_direct_scores(const struct cr_module *module, const bool *weights, cr_id output);

/* Appends all attentions of the graph to module->attentions.  Needs module->backwards. */
void cr_find_attentions(struct cr_module *module, const struct cr_users *users);

/* True if a node is the gradient of an attention's logits: dS = (dP - delta) P with a softmax, or
 * dA = g V' without.  Sets the fields of *found that this formula determines, and the scores. */
bool cr_match_dlogits(const struct cr_search *s, cr_id id, struct cr_attention_backward *found);

/* Returns a list by node: true for the gradient of an attention's logits, and for elementwise ops
 * on such a gradient.  The caller frees it. */
bool *cr_mark_dlogits(const struct cr_search *s);

/* Matches the gradients of an attention by `dq`, the gradient of its queries.  Returns false if
 * `dq` is no such gradient, or if one kernel cannot compute all of them. */
bool cr_match_backward(const struct cr_search *s, cr_id dq, struct cr_attention_backward *found);

/* Matches the gradients of an attention by T = `t`, the gradient of its scores, and finds the
 * products dQ, dK and dV if they exist.  Returns false if `t` is not the T of an attention. */
bool cr_match_products(const struct cr_search *s, cr_id t, struct cr_attention_backward *found);

/* Returns the concat in the script that joins the gradients (if queries, keys and values are slices
 * of one projection), or CR_NONE. */
cr_id cr_find_joined(const struct cr_search *s, const struct cr_attention_backward *backward);

/* Calls `visit` for each node that the kernel of an attention's gradients computes without storing
 * it. */
void cr_each_inside(const struct cr_module *module, const struct cr_users *users,
                    const struct cr_attention_backward *b, void (*visit)(void *, cr_id),
                    void *context);

#endif
