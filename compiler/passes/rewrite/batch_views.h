/* batch_views.h - moves a view of batch axes from a node to its operands. */
#ifndef CR_BATCH_VIEWS_H
#define CR_BATCH_VIEWS_H

#include "rewrite.h"

/* True if a node is a slice or a reshape that leaves the last two axes as they are. */
bool cr_is_batch_view(const struct cr_graph *graph, cr_id id);

/*
 * Returns a node equal to `view`, which is a batch view of `id`, made by the ops that make `id`:
 * they work on views of their operands.  So half of the heads of a softmax is the softmax of half
 * of the heads.  CR_NONE if that would take more than a few hundred nodes.
 */
cr_id cr_push_batch_view(struct cr_rewrite *rw, cr_id view, cr_id id);

#endif
