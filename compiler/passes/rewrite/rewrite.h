/*
 * rewrite.h - building a changed copy of a graph.
 *
 * This directory holds the passes that rewrite the graph.
 *
 * Comes in:   the graph that a script built.
 * Goes out:   a graph of the same meaning: entries with nodes of their own (CR_HAS_ENTRIES), equal nodes
 *             shared and dead ones dropped (CR_HAS_SIMPLE), one spelling for what can be spelt in several
 *             ways, contractions joined, sums and products made one fma.
 * Promise:    no pass changes a graph in place; it builds another.
 * Passes:     entries, simplify, join, fma.
 * Used later: rules.h, the rules; rule_tools.h, what rules share; factors.h, a node as a product;
 *             users.h, who reads a node; kept_factors.h, for the states of a generator.
 *
 * A pass that changes the graph walks the old one in order and adds nodes to a new one.  Every node
 * added goes through the caller's table of rules; a rule may return another node in its place.
 * Equal nodes are shared.
 *
 * A rule's result has the lengths (lengths.h) of the node that it replaces: a length that the
 * rule loses is put back, by a `limit` if needed; a result with an additional length is rejected.
 */
#ifndef CR_REWRITE_H
#define CR_REWRITE_H

#include "compiler/ir/graph.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass_list.h"

/* A node that is about to be made.  `in` holds the first three operands; cr_draft_operand
 * returns any of them. */
struct cr_draft {
    enum cr_op op;
    int n;
    cr_id in[3];
    const struct cr_attr *attr;
    const cr_id *all; /* the operands, or null: the draft is a copy of node `copied` of `from` */
    cr_id copied;
};

struct cr_rewrite;

/* Infers the node that a draft would make; false if the lengths of its operands do not fit. */
bool cr_infer_draft(struct cr_rewrite *rw, const struct cr_draft *draft, struct cr_node *node);

/* Returns the node of the new graph that is operand `i` of a draft with few operands. */
const struct cr_node *cr_draft_in(const struct cr_rewrite *rw, const struct cr_draft *draft, int i);

cr_id cr_draft_operand(const struct cr_rewrite *rw, const struct cr_draft *draft, int i);

/*
 * A rule, and the ops that it applies to, as bits.  It returns the node that replaces a draft, or
 * CR_NONE. Nodes that it makes with cr_rewrite_add also go through the rules.
 *
 * A rule that depends only on the draft and its operands gives the same answer when the graph is
 * copied again, so no second copy is needed for it.  A rule that searches other nodes sets
 * rw->looks_around, since its answer may then change.
 */
struct cr_rewrite_rule {
    cr_id (*apply)(struct cr_rewrite *rw, const struct cr_draft *draft);
    uint64_t ops;
};

/* Rules in the order in which they are tried, 64 at most. */
struct cr_rewrite_rules {
    const struct cr_rewrite_rule *items;
    int n;
};

/* A node and its hash, which is compared before the node. */
struct cr_rewrite_slot {
    unsigned hash;
    cr_id id_plus_1; /* one more than the node, or 0: the slot is free */
};

struct cr_rewrite {
    const struct cr_rewrite_rules *rules;
    uint64_t rules_of[CR_OP_COUNT]; /* by op: the rules that apply to it, as bits */
    struct cr_graph *from, *to;
    cr_id *map; /* by node of `from`: its node of `to`, or CR_NONE */
    bool *live; /* by node of `from`: an output depends on it, or it is an input, state or
                   parameter */
    struct cr_rewrite_slot *table; /* open hashing over the nodes of `to` */
    int table_size;                /* a power of two */
    bool keeps_dead;               /* nodes that nothing reads stay in `to` */
    bool has_concat;               /* `to` has a concat */
    bool looks_around;             /* a rule searched nodes other than its draft and operands */
    bool is_settled;       /* at the end: the rules would change nothing in `to` */
    cr_id *newest_product; /* by node of `to`: the newest matmul that has it as right operand, or
                              0 */
    cr_id *older_product;  /* by matmul: an older one with the same right operand, or 0 */
};

void cr_rewrite_begin(struct cr_rewrite *rw, struct cr_graph *from,
                      const struct cr_rewrite_rules *rules);

/* Nodes added from here on have the origin of this node of `from`: its line and scope. */
void cr_rewrite_at(struct cr_rewrite *rw, cr_id id);

/* True for const, iota and expand, which take lengths as attributes and need no `limit`. */
bool cr_can_be_limited(enum cr_op op);

/* Returns a node with the value of `id`, its lengths and these in addition; lengths[axis] is 1 +
 * the number of a length, or 0. */
cr_id cr_rewrite_limited(struct cr_rewrite *rw, cr_id id, const signed char *lengths);

/* Returns a node of `to` with that op, operands and attributes, new or not.  Ignores the lengths of
 * attr for a constant, an iota and an expand; lengths that are lost by that are put back (see
 * above). */
cr_id cr_rewrite_add(struct cr_rewrite *rw, enum cr_op op, int n, const cr_id *in,
                     const struct cr_attr *attr);

/* Maps a node of `from` to a node of `to` with that op and operands, which gets its origin and
 * tap. */
cr_id cr_rewrite_replace(struct cr_rewrite *rw, cr_id id, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr);

/* Copies a node of `from`, whose operands are copied already, and enters it in the map. */
cr_id cr_rewrite_copy(struct cr_rewrite *rw, cr_id id);

/* Copies the outputs to `to`, frees `from` and the tables, and returns `to`. */
struct cr_graph *cr_rewrite_end(struct cr_rewrite *rw);

/* Frees `to` and the tables; `from` stays as it is. */
void cr_rewrite_cancel(struct cr_rewrite *rw);

#endif
