/*
 * recompute_order.h - finds an order in which to compute values, some of them repeatedly, within a
 * memory limit.
 *
 * This code does not know kernels: values are numbered in the order in which a program computes
 * them, and each reads some earlier ones.
 */
#ifndef CR_RECOMPUTE_ORDER_H
#define CR_RECOMPUTE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct cr_made {
    int64_t floats; /* the value's size while it is live; 0 for outputs, which have separate
                       memory */
    bool wanted;    /* true if the value contains an output, and is computed even if nothing reads
                       it */
    double work;    /* the cost of computing the value */
    int *reads;     /* the values that this value reads, each once, ascending */
    int n_reads;
};

struct cr_order {
    int *calls; /* by call: the number of the value that it computes */
    int n, cap;
    int64_t peak; /* the most floats that are live at the same time */
};

/*
 * Finds an order that computes all values, and recomputes dropped values before they are read, with
 * at most `budget` floats live at a time.  Returns false if the search fails.  The search is
 * greedy: if memory is needed, it drops the value that frees the most floats for the longest time
 * at the least cost of recomputing it.
 */
bool cr_order_find(const struct cr_made *values, int n, int64_t budget,
                   struct cr_order *order);

void cr_order_free(struct cr_order *order);

#endif
