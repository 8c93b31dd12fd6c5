/*
 * attention.h - finding contraction -> softmax over rows -> contraction, and its gradients.
 *
 * The room of attention.
 *
 * Comes in:   a graph in which softmax and its gradients have one spelling (softmax_rules.c).
 * Goes out:   a graph in which the gradients of an attention are parts of one concat; for fuse,
 *             module->attentions and backwards, the patterns that one kernel each may compute.
 * Promise:    patterns are found by structure, never by a name.  What matches none keeps its meaning, and
 *             other kernels compute it.
 * Passes:     join_grads.
 */
#ifndef CR_ATTENTION_H
#define CR_ATTENTION_H

#include "compiler/passes/module/module.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite/users.h"
#include "softmax.h"

/* The nodes on the paths from a node to another, the first left out. */
struct cr_region {
    cr_id to;
    cr_id nodes[CR_MAX_VALUES];
    int n;
    bool skips_gradients; /* nodes that only the kernel of the gradients computes do not count */
};

/*
 * True if every path from one node leads through elementwise work and moves of all
 * elements to the other, with no stored node between, and few enough for one kernel.
 */
bool cr_find_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                    cr_id to, struct cr_region *region);

/* True if each item of an attention may compute the rows of its keys itself: a few operations for a
 * number that is multiplied by as many queries. */
static inline bool cr_computes_keys(int64_t queries, int64_t keys)
{
    return 8 * queries >= keys;
}

/* The matmul that logits are computed from, or CR_NONE. */
cr_id cr_find_scores(const struct cr_module *module, cr_id logits);

/* Of a product of such weights as are computed from scores without a softmax, and values: the matmul
 * that makes the scores, or CR_NONE.  `weights` is by node, of cr_find_weights. */
cr_id cr_find_direct_scores(const struct cr_module *module, const bool *weights, cr_id output);

/* Enters the patterns of the graph into module->attentions; those of gradients are there
 * already. */
void cr_find_attentions(struct cr_module *module, const struct cr_users *users);

/* True if a node is dS = (dP - delta) P, the gradient of the logits of a softmax, or dA = g V' where
 * there is no softmax; of *found, what that says is set, and the scores.  `weights`, here and below,
 * is by node, of cr_find_weights. */
bool cr_match_dlogits(const struct cr_module *module, const struct cr_users *users,
                      const bool *weights, cr_id id, struct cr_attention_backward *found);

/* By node: whether elementwise work makes it of such a dS, or it is one; the caller frees it. */
bool *cr_mark_dlogits(const struct cr_module *module, const struct cr_users *users,
                      const bool *weights);

/*
 * Brings what is made of the gradients of attentions' logits into the form that one kernel computes
 * (lift_grads.c).  True if there are such gradients.  If the graph had to be made anew, so are the
 * lists of users.
 */
bool cr_lift_gradients(struct cr_module *module, struct cr_users *users);

/* The gradients of an attention of which `dq` is that of the queries; false if there are none
 * that one kernel could compute. */
bool cr_match_backward(const struct cr_module *module, const struct cr_users *users,
                       const bool *weights, cr_id dq, struct cr_attention_backward *found);

/* Of an attention whose T is `t`, those of the three products that there are; false if it is none. */
bool cr_match_products(const struct cr_module *module, const struct cr_users *users,
                       const bool *weights, cr_id t, struct cr_attention_backward *found);

/* True if a concat joins the gradients already, as it does where queries, keys and values are
 * slices of one projection. */
bool cr_are_joined(const struct cr_module *module, const struct cr_users *users,
                   const struct cr_attention_backward *backward);

/* Enters those that stand in a concat into module->backwards. */
void cr_find_backwards(struct cr_module *module, const struct cr_users *users);

/* Calls `visit` for each node that the kernel of the gradients computes for itself. */
void cr_each_inside(const struct cr_module *module, const struct cr_users *users,
                    const struct cr_attention_backward *b, void (*visit)(void *, cr_id),
                    void *context);

#endif
