/* batch_views.h - moves a view of batch axes from a node to its operands. */
#ifndef CR_BATCH_VIEWS_H
#define CR_BATCH_VIEWS_H

#include "rewrite.h"

/* True if a node is a slice or a reshape that changes only batch axes: it keeps the last two
 * axes. */
bool cr_is_batch_view(const struct cr_graph *graph, cr_id id);

/*
 * Returns a node that equals `view`, a batch view of `id`, but is computed by the ops that compute
 * `id`, from views of their operands.  So half of the heads of a softmax becomes the softmax of
 * half of the heads.  Returns CR_NONE if that would visit more than a few hundred nodes.
 */
cr_id cr_push_batch_view(struct cr_rewrite *rw, cr_id view, cr_id id);

#endif
