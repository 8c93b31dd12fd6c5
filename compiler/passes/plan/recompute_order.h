/*
 * recompute_order.h - finds an order of making values, some of them again, within a memory limit.
 *
 * Nothing here knows of kernels: there are values, numbered in the order in which a program
 * makes them, and each reads some earlier ones.
 */
#ifndef CR_RECOMPUTE_ORDER_H
#define CR_RECOMPUTE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct cr_made {
    int64_t floats; /* that it occupies while it is there */
    bool kept;      /* in memory of its own from when it was made: an output */
    double work;    /* of making it */
    int *reads;     /* values, each once, in ascending order */
    int n_reads;
};

struct cr_order {
    int *calls; /* the value that each makes */
    int n, cap;
    int64_t peak; /* the most floats that are there at once */
};

/*
 * Finds an order that makes all values, and makes dropped values again before they are read, with
 * no more than `budget` floats live at a time.  False if the search fails.  The search is greedy:
 * when room is needed, it drops the value that frees the most floats, for the longest time, for the
 * least work of making it again.
 */
bool cr_order_find(const struct cr_made *values, int n, int64_t budget,
                   struct cr_order *order);

void cr_order_free(struct cr_order *order);

#endif
