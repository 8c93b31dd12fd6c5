/*
 * cuts.h - describes how the nodes of a model are cut for several ranks, for the files of this directory.
 *
 * A value is *cut* along one axis, so that each rank has a part of it.  The axis consists of segments (one, but several
 * for a product that computes queries, keys and values together, or several projections at once).  A segment consists
 * of units that stay together, such as the columns of a head, or of a group of heads that share keys.  All ranks get
 * equally many units, because otherwise the last ranks would need code of their own.  If the units do not divide
 * evenly, the last ranks' shares end with the segment and overlap.
 *
 * A value that is not cut is *whole*: all ranks have all of it.
 */
#ifndef CR_CUTS_H
#define CR_CUTS_H

#include "compiler/passes/rewrite/rewrite.h"
#include "compiler/passes/rewrite/users.h"

enum { CR_SEGMENTS = 6 };

struct cr_cut_segment {
    int64_t size, unit;
};

/* The cut of a node; n, the number of segments, is 0 if the node is whole. */
struct cr_axis_cut {
    int axis, n;
    struct cr_cut_segment segments[CR_SEGMENTS];
};

/* A part of an axis that a slice reads, and the unit in which the slice's readers need it to be
 * cut. */
struct cr_wanted_part {
    int64_t begin;
    struct cr_cut_segment segment;
};

/* The units and slices that the readers of a node need. */
struct cr_demand {
    int64_t unit[CR_MAX_RANK]; /* by axis: the size of a unit */
    int axis, n;               /* the axis that slices cut, and the number of `parts`, or -1 if
                                  there are too many */
    struct cr_wanted_part parts[CR_SEGMENTS];
};

/* The facts about a node. */
struct cr_shard_facts {
    bool is_weight; /* only movement ops and concats of parameters compute the node */
    bool is_scores; /* the node is the product of queries and keys of an attention */
    int attention;  /* 1 + the index of the attention that computes the node from its scores, or
                       0 */
    bool is_output; /* the node is the second product of an attention, by the values */
    bool stays;     /* the node is a state that cannot be cut */
    bool is_common; /* the node is a slice of a cut node, but the same on all ranks: a segment of a
                       single unit */
    bool gathered;  /* the node is cut, but gathered, because a reader needs it whole; then all
                       readers get it whole */
    struct cr_axis_cut cut; /* the part of the node that a rank computes */
    struct cr_demand demand;
    cr_id whole; /* for a cut node: the node with the gathered value in the new graph, or CR_NONE */
};

struct cr_shard {
    struct cr_rewrite rw;
    const struct cr_graph *g;
    struct cr_users users;
    int rank, ranks;
    bool attends;              /* true if the graph has attentions */
    bool *is_whole;            /* by attention: true if the attention must not be cut */
    bool stores_gathered;      /* see cr_module.stores_gathered */
    struct cr_shard_facts *of; /* by node: facts about the node */
};

/* ---- cuts.c ---- */

/* Returns the number of elements that each rank has of a segment. */
int64_t cr_share_of(const struct cr_shard *s, const struct cr_cut_segment *segment);

/* Returns the number of elements that a rank has along the cut axis. */
int64_t cr_local_size(const struct cr_shard *s, const struct cr_axis_cut *cut);

/* True if both cuts give each rank the same elements. */
bool cr_same_cut(const struct cr_shard *s, const struct cr_axis_cut *a,
                 const struct cr_axis_cut *b);

/* Returns the cut of a node for its readers: whole if it is gathered. */
const struct cr_axis_cut *cr_read_cut(const struct cr_shard *s, cr_id id);

/* Returns the offset at which this rank's part of a segment begins. */
int64_t cr_begin_of(const struct cr_shard *s, const struct cr_cut_segment *segment);

/* Sets *first and *n to the segments that a slice covers.  Returns false if it covers only a part
 * of a segment. */
bool cr_find_segments(const struct cr_axis_cut *cut, int64_t begin, int64_t size, int *first,
                      int *n);

/* The axis of a reshape that corresponds to an axis of its operand.  Either it has the same size;
 * or it is the outermost of the axes into which the operand's axis is split; or it merges the
 * operand's axis with axes after it. */
struct cr_reshaped_axis {
    int axis;
    int64_t split, merged; /* the factors by which the reshape makes the axis smaller, or larger */
};

/* Finds the axis of a reshape that corresponds to axis `axis` of its operand.  Returns false if
 * there is none, for example if the reshape merges the axis with axes before it. */
bool cr_find_reshaped_axis(const struct cr_node *in, const struct cr_node *out, int axis,
                           struct cr_reshaped_axis *place);

/* Returns the number of axes of a gather's indices.  They come first in its result; the axes of a
 * row follow. */
int cr_index_rank(const struct cr_graph *g, cr_id gather);

/* ---- demand_units.c ---- */

/* Finds the demands of the readers of all nodes, from the last node to the first. */
void cr_find_demands(struct cr_shard *s);

/* Returns the cut of a product's columns into the units that its readers need.  Whole if the
 * product is too narrow, or if a rank's part would be as large as the whole. */
struct cr_axis_cut cr_cut_of_columns(const struct cr_shard *s, cr_id id);

/* ---- decide_cuts.c ---- */

/* Decides the cuts of all nodes in the order of the graph.  The cuts of states must be set
 * before. */
void cr_decide_cuts(struct cr_shard *s);

/* Sets the cut of each state to that of its next value.  Returns true if the cut of a state has
 * changed. */
bool cr_settle_states(struct cr_shard *s);

enum cr_operand_form {
    CR_NEEDS_WHOLE,
    CR_NEEDS_PART, /* the part of the operand with the cut of the node */
    CR_NEEDS_OWN,  /* the operand with its own cut, which determines the cut of the node */
    CR_NEEDS_TABLE /* columns of a table whose rows the node gathers */
};

/* Returns the form in which node `id` reads operand i. */
enum cr_operand_form cr_form_of_operand(const struct cr_shard *s, cr_id id, int i);

/* Marks the cut nodes that have to be gathered, because a reader needs another part of them.  With
 * `for_reductions`, considers only reductions as readers.  Returns true if it has marked a node
 * that was not marked. */
bool cr_find_gathered(struct cr_shard *s, bool for_reductions);

/* ---- rank_parts.c: nodes of the new graph ---- */

/* Adds a node with one operand to the new graph. */
cr_id cr_shard_add(struct cr_shard *s, enum cr_op op, cr_id in, const struct cr_attr *attr);

/* Returns node `id` of the new graph. */
const struct cr_node *cr_shard_made(const struct cr_shard *s, cr_id id);

/* Adds a slice along one axis; returns `in` itself if the slice would be all of it. */
cr_id cr_shard_slice(struct cr_shard *s, cr_id in, int axis, int64_t begin, int64_t size);

/* Adds the slice of a table with this rank's columns.  The slice has a layout of its own in the
 * weights. */
cr_id cr_add_table(struct cr_shard *s, cr_id table, const struct cr_axis_cut *cut);

/* Returns the whole value of a node, in the new graph. */
cr_id cr_whole_of(struct cr_shard *s, cr_id id);

/* Returns the part of a node that `cut` gives this rank: the node itself if it has this cut, else a
 * part of its whole value. */
cr_id cr_part_of(struct cr_shard *s, cr_id id, const struct cr_axis_cut *cut);

/* ---- tied_tables.c ---- */

/* True if a gather reads a table that is a parameter, and only gathers and products read this
 * table. */
bool cr_gathers_from_table(const struct cr_shard *s, cr_id id);

/* True if a gather reads a table whose rows are cut because a head shares its weights: a rank then
 * looks up rows only in its part. */
bool cr_is_tied(const struct cr_shard *s, cr_id id);

/* Adds a lookup of rows in a table that is cut by rows.  Each rank looks up all ids in its part;
 * then the rows of the rank that has each id are selected. */
cr_id cr_add_lookup(struct cr_shard *s, cr_id id);

#endif
