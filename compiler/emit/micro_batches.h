/*
 * micro_batches.h - a training step over several micro-batches.
 *
 * Its graph has two entries.  micro_batch runs once for each micro-batch; its outputs are added in
 * a fixed binary tree.  update runs once, and reads the sum of output NAME as its input sum.NAME.
 * The constant output micro_batches of update is their number.
 */
#ifndef CR_MICRO_BATCHES_H
#define CR_MICRO_BATCHES_H

#include <stdbool.h>
#include <string.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

#define CR_MICRO_BATCH "micro_batch" /* name of an entry; also of its input with the number of the
                                      * micro-batch in the step, from 0 */
#define CR_UPDATE "update"           /* name of the other entry */
#define CR_SUM "sum."                /* prefix of the names of inputs that are sums */

/* True if the graph has the entries micro_batch and update. */
bool cr_has_micro_batches(const struct cr_graph *g);

/* Sets *n to the number of micro-batches, or to 0 for a graph without these entries.  Fails if an
 * entry reads an input of the other entry; the message names the script at `path`. */
int cr_find_micro_batches(const struct cr_graph *g, const char *path, int *n,
                          struct cr_error *error);

/* Returns the maximum number of sums that exist at a time: floor(log2 n) + 1. */
int cr_sums_at_once(int n);

/* Returns the number of leaves in the left subtree of a node with n leaves, n > 1: the largest
 * power of two below n. */
int cr_left_leaves(int n);

/* Returns the name without the prefix `beginning`; null if it does not have that prefix. */
static inline const char *cr_after_prefix(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(name, beginning, length) == 0 ? name + length : NULL;
}

#endif
