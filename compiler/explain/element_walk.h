/*
 * element_walk.h - iterates over the elements of tensors of one shape, in row-major order.
 *
 *     struct cr_element_walk walk = cr_element_walk(&node, 2, (const crescent_values *[]){&a, &b});
 *     for (int64_t i = 0; i < walk.n; i++, cr_element_next(&walk))
 *         sum += *walk.at[0] * *walk.at[1];
 */
#ifndef CR_ELEMENT_WALK_H
#define CR_ELEMENT_WALK_H

#include "compiler/crescent.h"

enum { CR_WALKED_TENSORS = 3 };

struct cr_element_walk {
    int64_t n; /* number of elements */
    const double *at[CR_WALKED_TENSORS];
    int n_tensors, rank;
    const int64_t *shape, *stride[CR_WALKED_TENSORS];
    int64_t index[CRESCENT_MAX_RANK];
};

/* Returns a walk that is at the first element.  The node gives the shape. */
struct cr_element_walk cr_element_walk(const crescent_node *node, int n_tensors,
                                       const crescent_values *const *tensors);
void cr_element_next(struct cr_element_walk *walk);

/* Returns row-major element i of a stored value. */
double cr_stored_element(const crescent_replayed *value, int64_t i);

#endif
