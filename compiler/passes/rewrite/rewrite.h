/*
 * rewrite.h - builds a changed copy of a graph.
 *
 * This directory has the passes that rewrite the graph.
 *
 * Comes in:   the graph that a script built.
 * Goes out:   a graph of the same meaning: entries with nodes of their own (CR_HAS_ENTRIES), equal nodes
 *             shared and dead ones removed (CR_HAS_SIMPLE), one form for formulas that can be written in
 *             several ways, contractions joined, sums and products made one fma.
 * Promise:    no pass changes a graph in place; it builds another.
 * Passes:     entries, simplify, join, fma.
 * Used later: rules.h, the rules; rule_tools.h, functions that rules share; factors.h, a node as a
 *             product; users.h, the readers of a node; kept_factors.h, for the states of a generator.
 *
 * A pass that changes the graph goes through the old graph in order and adds nodes to a new one.  Every
 * node that is added goes through the caller's table of rules; a rule may return another node in its
 * place.  Equal nodes are shared.
 *
 * A rule's result gets the lengths (lengths.h) of the node that it replaces: a length that the rule
 * loses is restored, by a `limit` if needed; a result with an additional length is rejected.
 */
#ifndef CR_REWRITE_H
#define CR_REWRITE_H

#include "compiler/ir/graph.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass_list.h"

/* A node that is about to be added.  `in` holds its first three operands; cr_draft_operand returns
 * any operand. */
struct cr_draft {
    enum cr_op op;
    int n;
    cr_id in[3];
    const struct cr_attr *attr;
    const cr_id *all; /* the operands; or null if the draft is a copy of node `copied` of `from` */
    cr_id copied;
};

struct cr_rewrite;

/* Infers the type, shape and lengths of the node that a draft describes.  Returns false if the
 * lengths of its operands do not fit. */
bool cr_infer_draft(struct cr_rewrite *rw, const struct cr_draft *draft, struct cr_node *node);

/* Returns operand `i` of a draft, a node of the new graph; i is less than 3. */
const struct cr_node *cr_draft_in(const struct cr_rewrite *rw, const struct cr_draft *draft, int i);

cr_id cr_draft_operand(const struct cr_rewrite *rw, const struct cr_draft *draft, int i);

/*
 * A rule, and the ops that it applies to, as bits.  It returns the node that replaces a draft, or
 * CR_NONE. Nodes that it adds by cr_rewrite_add go through the rules, too.
 *
 * A rule that depends only on the draft and its operands gives the same result when the graph is
 * copied again, so it needs no second copy.  A rule that searches other nodes sets
 * rw->looks_around, since its result may then change.
 */
struct cr_rewrite_rule {
    cr_id (*apply)(struct cr_rewrite *rw, const struct cr_draft *draft);
    uint64_t ops;
};

/* Rules in the order in which they are tried, at most 64. */
struct cr_rewrite_rules {
    const struct cr_rewrite_rule *items;
    int n;
};

/* A slot of the hash table: a node and its hash, which is compared first. */
struct cr_rewrite_slot {
    unsigned hash;
    cr_id id_plus_1; /* 1 + the node, or 0 if the slot is free */
};

struct cr_rewrite {
    const struct cr_rewrite_rules *rules;
    uint64_t rules_of[CR_OP_COUNT]; /* by op: the rules that apply to the op, as bits */
    struct cr_graph *from, *to;
    cr_id *map; /* by node of `from`: the node of `to` that replaces it, or CR_NONE */
    bool *live; /* by node of `from`: true for inputs, states, parameters, and nodes that an output
                   depends on */
    struct cr_rewrite_slot *table; /* hash table with open addressing, of the nodes of `to` */
    int table_size;                /* a power of two */
    bool keeps_dead;               /* nodes of `to` that nothing reads are kept */
    bool has_concat;               /* true if `to` has a concat */
    bool looks_around;             /* true if a rule has searched nodes other than its draft and
                                      operands */
    bool is_settled;       /* set at the end: true if applying the rules to `to` again would change
                              nothing */
    cr_id *newest_product; /* by node of `to`: the newest matmul with this right operand, or 0 */
    cr_id *older_product;  /* by matmul: the next older one with the same right operand, or 0 */
};

void cr_rewrite_begin(struct cr_rewrite *rw, struct cr_graph *from,
                      const struct cr_rewrite_rules *rules);

/* Gives nodes that are added from now on the origin of node `id` of `from`: its line, scope and
 * entry. */
void cr_rewrite_at(struct cr_rewrite *rw, cr_id id);

/* True for the ops const, iota and expand, whose nodes have lengths as attributes and need no
 * `limit`. */
bool cr_can_be_limited(enum cr_op op);

/* Returns a node with the value of `id`, with its lengths and also with `lengths`; lengths[axis] is
 * 1 + the number of a length, or 0. */
cr_id cr_rewrite_limited(struct cr_rewrite *rw, cr_id id, const signed char *lengths);

/* Returns a node of `to` with this op, these operands and attributes; adds it unless an equal node
 * exists or a rule replaces it.  Ignores attr's lengths for a constant, an iota or an expand. */
cr_id cr_rewrite_add(struct cr_rewrite *rw, enum cr_op op, int n, const cr_id *in,
                     const struct cr_attr *attr);

/* Maps node `id` of `from` to a node of `to` with this op and these operands, which gets its origin
 * and tap. */
cr_id cr_rewrite_replace(struct cr_rewrite *rw, cr_id id, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr);

/* Copies a node of `from`, whose operands have been copied, and maps it to the copy. */
cr_id cr_rewrite_copy(struct cr_rewrite *rw, cr_id id);

/* Copies the outputs to `to`, frees `from` and the tables, and returns `to`. */
struct cr_graph *cr_rewrite_end(struct cr_rewrite *rw);

/* Frees `to` and the tables; `from` does not change. */
void cr_rewrite_cancel(struct cr_rewrite *rw);

#endif
