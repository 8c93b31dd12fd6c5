/*
 * support_bounds.h - what a graph computes, and how far single precision may be off.
 *
 * Every node gets its exact elements (in double, op by op) and for each element a bound on
 * the rounding error of a float evaluation, in whatever order and fused however: errors of
 * operands are carried through each op by evaluating it at the ends of their intervals.
 */
#ifndef CR_SUPPORT_BOUNDS_H
#define CR_SUPPORT_BOUNDS_H

#include "compiler/ir/graph.h"

struct cr_bounds {
    double *value, *error; /* by element, row-major; an infinite error says nothing is known */
};

/*
 * Fills in all[id] from the operands' bounds; the caller frees it.  `data` holds what the
 * caller hands in for an input (int32_t for i32, else float) or a parameter, null otherwise.
 */
void cr_bounds_add(const struct cr_graph *g, cr_id id, const void *data, struct cr_bounds *all);

void cr_bounds_free(struct cr_bounds *bounds);

/* Whether a result lies within the error of element i; NaN is expected for NaN alone. */
bool cr_bounds_hold(const struct cr_bounds *bounds, int64_t i, double result, double scale);

#endif
