#include "element_walk.h"

#include <stdbool.h>

struct cr_element_walk cr_element_walk(const crescent_node *node, int n_tensors,
                                       const crescent_values *const *tensors)
{
    struct cr_element_walk walk = {
        .n = 1, .n_tensors = n_tensors, .rank = node->rank, .shape = node->shape};
    for (int axis = 0; axis < node->rank; axis++)
        walk.n *= node->shape[axis];
    for (int j = 0; j < n_tensors; j++) {
        walk.at[j] = tensors[j]->data;
        walk.stride[j] = tensors[j]->stride;
    }
    return walk;
}

/* Moves to the next element in row-major order; after the last element comes the first. */
void cr_element_next(struct cr_element_walk *walk)
{
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        int64_t size = walk->shape[axis];
        bool carry = ++walk->index[axis] == size;
        for (int j = 0; j < walk->n_tensors; j++)
            walk->at[j] += walk->stride[j][axis] * (carry ? 1 - size : 1);
        if (!carry)
            return;
        walk->index[axis] = 0;
    }
}

double cr_stored_element(const crescent_replayed *value, int64_t i)
{
    return value->node.type == CRESCENT_I32 ? (double)((const int32_t *)value->stored)[i]
                                            : (double)((const float *)value->stored)[i];
}
