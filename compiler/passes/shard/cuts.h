/*
 * cuts.h - how the nodes of a model are cut for several ranks: what the files of this directory share.
 *
 * A value is *cut* along one axis, which consists of segments (one, but for a product that computes queries,
 * keys and values together, or several projections at once).  A segment is cut in units that stay together,
 * such as the columns of a head, or of a group of heads that share keys.  All ranks get equally many units,
 * or the last ranks would need code of their own: where the units do not divide evenly, the last ranks'
 * shares end with the segment, and overlap.
 */
#ifndef CR_CUTS_H
#define CR_CUTS_H

#include "compiler/passes/rewrite/rewrite.h"
#include "compiler/passes/rewrite/users.h"

enum { CR_SEGMENTS = 6 };

struct cr_cut_segment {
    int64_t size, unit;
};

/* The cut of a node; n is 0 for a whole one. */
struct cr_axis_cut {
    int axis, n;
    struct cr_cut_segment segments[CR_SEGMENTS];
};

/* A part of an axis that a slice takes, and the unit in which its readers cut it. */
struct cr_wanted_part {
    int64_t begin;
    struct cr_cut_segment segment;
};

/* The units and slices that the readers of a node ask for. */
struct cr_demand {
    int64_t unit[CR_MAX_RANK]; /* by axis */
    int axis, n;               /* the sliced axis, and the number of parts; -1: too many */
    struct cr_wanted_part parts[CR_SEGMENTS];
};

/* The facts about a node. */
struct cr_shard_facts {
    bool is_weight; /* moves and concats of parameters alone compute it */
    bool is_scores; /* it is a product whose columns are the keys of an attention */
    int attention;  /* 1 + the index of the attention that computes it from its scores, or 0 */
    bool is_output; /* it is the last of those: the product by the values */
    bool stays;     /* it is a state that cannot be cut */
    bool is_common; /* it is a slice of a cut node that all ranks have: a segment of one unit */
    bool gathered;  /* it is cut, but some reader needs it whole, and so all read it whole */
    struct cr_axis_cut cut; /* how it is computed */
    struct cr_demand demand;
    cr_id whole; /* if it is cut: the gathered value in the new graph, or CR_NONE */
};

struct cr_shard {
    struct cr_rewrite rw;
    const struct cr_graph *g;
    struct cr_users users;
    int rank, ranks;
    bool attends;              /* there are attentions */
    bool *is_whole;            /* by attention: it is not cut */
    bool stores_gathered;      /* see struct cr_module */
    struct cr_shard_facts *of; /* by node */
};

/* ---- cuts.c ---- */

/* Returns the number of elements of a segment that each rank has. */
int64_t cr_share_of(const struct cr_shard *s, const struct cr_cut_segment *segment);

/* Returns the size of a rank's part of the axis. */
int64_t cr_local_size(const struct cr_shard *s, const struct cr_axis_cut *cut);

/* True if each rank has the same elements by both cuts. */
bool cr_same_cut(const struct cr_shard *s, const struct cr_axis_cut *a,
                 const struct cr_axis_cut *b);

/* Returns the cut of a node as its readers see it: a gathered node is whole for all of them. */
const struct cr_axis_cut *cr_read_cut(const struct cr_shard *s, cr_id id);

/* Returns where this rank's part of a segment begins. */
int64_t cr_begin_of(const struct cr_shard *s, const struct cr_cut_segment *segment);

/* Finds the first of the segments that a slice covers, and their number; false if the slice covers
 * a part of a segment. */
bool cr_find_segments(const struct cr_axis_cut *cut, int64_t begin, int64_t size, int *first,
                      int *n);

/* The axis of a reshape that corresponds to an axis of its operand.  It has the same size; or the
 * operand's axis is split, and it is the outermost of the parts; or it merges the operand's axis
 * with axes behind it. */
struct cr_reshaped_axis {
    int axis;
    int64_t split, merged; /* factor by which the reshape shrinks the axis, or grows it */
};

/* Finds the axis of a reshape that corresponds to axis `axis` of its operand.  Returns false if
 * there is none, for example if the reshape merges the axis with axes before it. */
bool cr_find_reshaped_axis(const struct cr_node *in, const struct cr_node *out, int axis,
                           struct cr_reshaped_axis *place);

/* Returns the rank of the indices of a gather: the axes of a row follow theirs. */
int cr_index_rank(const struct cr_graph *g, cr_id gather);

/* ---- demand_units.c ---- */

/* Finds the demands on all nodes, from the last to the first. */
void cr_find_demands(struct cr_shard *s);

/* Returns the cut of a product's columns into the units that its readers ask for; whole if a share
 * would be as large as the whole. */
struct cr_axis_cut cr_cut_of_columns(const struct cr_shard *s, cr_id id);

/* ---- decide_cuts.c ---- */

/* Decides the cuts of all nodes in graph order; the cuts of states are already decided. */
void cr_decide_cuts(struct cr_shard *s);

/* Gives each state the cut of its next value.  Returns true if the cut of a state has changed. */
bool cr_settle_states(struct cr_shard *s);

enum cr_operand_form {
    CR_NEEDS_WHOLE,
    CR_NEEDS_PART, /* with the cut of the node */
    CR_NEEDS_OWN,  /* with the cut of the operand, from which the cut of the node follows */
    CR_NEEDS_TABLE /* the columns of a table of which the node gathers rows */
};

/* Returns in which form a node reads operand i. */
enum cr_operand_form cr_form_of_operand(const struct cr_shard *s, cr_id id, int i);

/* Marks the cut nodes that have to be gathered, because a reader, or with `for_reductions` a
 * reduction, needs another form of them.  Returns true if it has marked one that was not. */
bool cr_find_gathered(struct cr_shard *s, bool for_reductions);

/* ---- rank_parts.c: nodes of the new graph ---- */

/* Adds a node with one operand. */
cr_id cr_shard_add(struct cr_shard *s, enum cr_op op, cr_id in, const struct cr_attr *attr);

/* Returns a node of the new graph. */
const struct cr_node *cr_shard_made(const struct cr_shard *s, cr_id id);

/* Adds a slice along one axis; returns `in` if that is all of it. */
cr_id cr_shard_slice(struct cr_shard *s, cr_id in, int axis, int64_t begin, int64_t size);

/* Adds this rank's columns of a table, which are laid out by themselves. */
cr_id cr_add_table(struct cr_shard *s, cr_id table, const struct cr_axis_cut *cut);

/* Returns the whole value of a node, in the new graph. */
cr_id cr_whole_of(struct cr_shard *s, cr_id id);

/* Returns this rank's part of a node by `cut`: the node itself if it has this cut, else a part of
 * its whole value. */
cr_id cr_part_of(struct cr_shard *s, cr_id id, const struct cr_axis_cut *cut);

/* ---- tied_tables.c ---- */

/* True if a gather reads a table that is a parameter and that only gathers and products read. */
bool cr_gathers_from_table(const struct cr_shard *s, cr_id id);

/* True if a gather reads a table whose rows are cut because a head shares it: a rank looks rows up
 * in its part only. */
bool cr_is_tied(const struct cr_shard *s, cr_id id);

/* Adds a lookup of rows in a table that is cut by rows: each rank looks all ids up in its part, and the rows of the
 * rank that has them are taken. */
cr_id cr_add_lookup(struct cr_shard *s, cr_id id);

#endif
