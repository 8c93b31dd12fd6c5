/*
 * bounds.h - the exact values that a graph computes, and bounds on the errors of single precision.
 *
 * Every node gets its exact elements (in double, op by op, as interpreter.c does) and for each element a
 * bound on the error of a float evaluation, in whatever order and fused however: errors of
 * operands are carried through each op by evaluating it at the ends of their intervals.
 *
 * An infinite error says that nothing is known of the element: it may be any number, an infinity
 * or NaN.  That is so
 *     where float may overflow, or the result is infinite though its operands are not: another
 *     order of the work may avoid it, or the sign of a zero decides (log(0) is known to be -inf)
 *     behind a pole or the end of a domain: a division by what may be 0, log of what may be
 *     negative
 *     for products of operands past 1e30, and for -inf added to NaN or to +inf
 *     for an index that may be another, and an i32 that is not certain, as it may wrap
 *     for what is made of such elements, but for a comparison, whose error is 1, and a choice of
 *     another
 * Where an element is NaN or infinite and its error finite, a float evaluation gives NaN or that
 * infinity, too.
 */
#ifndef CR_FUZZ_BOUNDS_H
#define CR_FUZZ_BOUNDS_H

#include "compiler/ir/graph.h"

struct cr_bounds {
    double *value, *error; /* by element, row-major; one allocation */
};

/*
 * Fills in all[id] from the bounds of the operands; the caller frees it.  `data` is the array of
 * an input (int32_t for i32, else float) or of a parameter, and null for other nodes.
 */
void cr_bounds_add(const struct cr_graph *g, cr_id id, const void *data, struct cr_bounds *all);

/* Fills in all[id] as cr_bounds_add does, for ops that are exact: errors come from operands alone,
 * and are 0 if the operands' errors are. */
void cr_bounds_add_exact(const struct cr_graph *g, cr_id id, const void *data,
                         struct cr_bounds *all);

void cr_bounds_free(struct cr_bounds *bounds);

/* True if a result lies within `scale` times the error of element i. */
bool cr_bounds_hold(const struct cr_bounds *bounds, int64_t i, double result, double scale);

#endif
