/*
 * linear_sums.h - linear sums of unknown integers, and bounds of these sums.
 *
 * An *unknown* is an integer with upper and lower bounds, which are sums of earlier unknowns.  It
 * may also be known to be one of two such sums, or to exceed such a sum by a multiple of a step.
 * To bound a sum from above, its last unknown is replaced by its upper bound (by its lower bound if
 * its factor is negative), until a number is left.  So "i" cancels in i + m, if m <= last - i.  A
 * bound found in this way is valid; it may be too large only if a sum needs two bounds of one
 * unknown at once.
 */
#ifndef CR_LINEAR_SUMS_H
#define CR_LINEAR_SUMS_H

#include <stdbool.h>
#include <stdint.h>

enum { CR_MAX_SUMMANDS = 16 };

struct cr_summand {
    int unknown;
    int64_t factor;
};

/* The sum of a number and of multiples of unknowns; summands are sorted by unknown. */
struct cr_linear {
    int64_t number;
    int n;
    bool lost; /* the value is unknown, because there were too many summands or an overflow */
    struct cr_summand summands[CR_MAX_SUMMANDS];
};

/* A sum in compact form, in which the sums of unknowns are stored. */
struct cr_kept_linear {
    int64_t number;
    int n, first; /* number of summands, and the index of the first in cr_unknowns.summands */
    bool lost;
};

struct cr_unknown {
    struct cr_kept_linear above[2], below[2], cases[2];
    int n_above, n_below, n_cases;
    struct cr_kept_linear origin; /* if step is not 0, the unknown is `origin` plus a multiple of
                                     step */
    int64_t step;                 /* 0 if no such origin is known */
    int64_t
        grain; /* the unknown has the same value for items 0 .. grain - 1, for items grain .. 2
                  grain - 1 and so on; 0 if it has the same value for all items */
    int64_t cycle; /* if not 0, the unknown is the item's number modulo this */
};

struct cr_unknowns {
    struct cr_unknown *items;
    int n, cap;
    struct cr_summand *summands;
    int n_summands, cap_summands;
    int patience; /* replacements left in the current search for a bound */
};

void cr_unknowns_free(struct cr_unknowns *u);

/* ---- sums ---- */

static inline void cr_linear_set(struct cr_linear *a, int64_t number)
{
    a->number = number;
    a->n = 0;
    a->lost = false;
}

static inline void cr_linear_set_unknown(struct cr_linear *a, int unknown)
{
    cr_linear_set(a, 0);
    a->summands[a->n++] = (struct cr_summand){unknown, 1};
}

/* Copies a sum; array elements past its n summands are not copied. */
static inline void cr_linear_copy(struct cr_linear *to, const struct cr_linear *from)
{
    cr_linear_set(to, from->number);
    to->lost = from->lost;
    to->n = from->n;
    for (int i = 0; i < from->n; i++)
        to->summands[i] = from->summands[i];
}

/* Adds factor * b to *a. */
void cr_linear_add(struct cr_linear *a, const struct cr_linear *b, int64_t factor);
bool cr_linear_equal(const struct cr_linear *a, const struct cr_linear *b);

static inline bool cr_linear_is_number(const struct cr_linear *a)
{
    return !a->lost && a->n == 0;
}

struct cr_kept_linear cr_keep(struct cr_unknowns *u, const struct cr_linear *a);
void cr_kept(const struct cr_unknowns *u, const struct cr_kept_linear *kept, struct cr_linear *a);

/* ---- unknowns ---- */

/* Returns a new unknown without bounds.  It has the same value for `grain` consecutive items, or
 * for all items if grain is 0. */
int cr_new_unknown(struct cr_unknowns *u, int64_t grain);
void cr_at_most(struct cr_unknowns *u, int unknown, const struct cr_linear *bound);
void cr_at_least(struct cr_unknowns *u, int unknown, const struct cr_linear *bound);
void cr_one_of(struct cr_unknowns *u, int unknown, const struct cr_linear *a,
               const struct cr_linear *b);

/* ---- bounds and properties of sums ---- */

/* Find an upper bound of a sum, and a lower one.  They return false if they find none. */
bool cr_find_most(struct cr_unknowns *u, const struct cr_linear *a, int64_t *most);
bool cr_find_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t *least);

/* True if it is certain that a sum is at least `number`. */
bool cr_is_at_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t number);

/* True if it is certain that a sum is a multiple of `number`, which is positive. */
bool cr_divides(struct cr_unknowns *u, const struct cr_linear *a, int64_t number);

/* Returns the number of consecutive items for which a sum has the same value; 0 for all items. */
int64_t cr_grain(const struct cr_unknowns *u, const struct cr_linear *a);
int64_t cr_common_grain(int64_t a, int64_t b);

#endif
