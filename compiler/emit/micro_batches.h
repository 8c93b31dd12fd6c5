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

#define CR_MICRO_BATCH "micro_batch" /* an entry; and an input of it: the number in the step, from 0 */
#define CR_UPDATE "update"           /* an entry */
#define CR_SUM "sum."                /* the beginning of the names of inputs that are sums */

/* True if the graph has these two entries. */
bool cr_has_micro_batches(const struct cr_graph *g);

/* Finds the number of micro-batches, or 0 for a graph of another form.  Fails if an entry reads an
 * input of the other one; the message names the script at `path`. */
int cr_find_micro_batches(const struct cr_graph *g, const char *path, int *n,
                          struct cr_error *error);

/* Returns the most sums that exist at a time: floor(log2 n) + 1. */
int cr_sums_at_once(int n);

/* Returns the number of leaves in the left part of the tree's node with n leaves, n > 1: the
 * largest power of two below n. */
int cr_left_leaves(int n);

/* Returns the name without the prefix `beginning`, or null if the name does not have this prefix. */
static inline const char *cr_after_prefix(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(name, beginning, length) == 0 ? name + length : NULL;
}

#endif
