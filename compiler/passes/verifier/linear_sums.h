/*
 * linear_sums.h - linear sums of unknown integers, and bounds of these sums.
 *
 * An *unknown* is an integer with upper and lower bounds, which are sums of earlier unknowns.  It
 * may also be known to be one of two such sums, or a multiple of a step beyond one.  To bound a
 * sum from above, its last unknown is replaced by its upper bound (with a negative factor: its
 * lower bound), until a number is left.  So "i" cancels in i + m, if m <= last - i.  The bound that
 * is found is valid; it may be too large only if a sum needs two bounds of one unknown at once.
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
    bool lost; /* there are too many summands, or an overflow: the value is unknown */
    struct cr_summand summands[CR_MAX_SUMMANDS];
};

/* A sum in compact form, for storage. */
struct cr_kept_linear {
    int64_t number;
    int n, first; /* in cr_unknowns.summands */
    bool lost;
};

struct cr_unknown {
    struct cr_kept_linear above[2], below[2], cases[2];
    int n_above, n_below, n_cases;
    struct cr_kept_linear origin; /* the unknown is this plus a multiple of step ... */
    int64_t step;                 /* ... unless step is 0 */
    int64_t
        grain; /* the unknown is the same for items 0 .. grain - 1, grain .. 2 grain - 1 and so on;
                    * 0: for all items */
    int64_t cycle; /* if not 0, the unknown is the item modulo this */
};

struct cr_unknowns {
    struct cr_unknown *items;
    int n, cap;
    struct cr_summand *summands;
    int n_summands, cap_summands;
    int patience; /* steps left for the current question */
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

/* Adds factor * b to a. */
void cr_linear_add(struct cr_linear *a, const struct cr_linear *b, int64_t factor);
bool cr_linear_equal(const struct cr_linear *a, const struct cr_linear *b);

static inline bool cr_linear_is_number(const struct cr_linear *a)
{
    return !a->lost && a->n == 0;
}

struct cr_kept_linear cr_keep(struct cr_unknowns *u, const struct cr_linear *a);
void cr_kept(const struct cr_unknowns *u, const struct cr_kept_linear *kept, struct cr_linear *a);

/* ---- unknowns ---- */

/* Makes an unknown without bounds, which is the same for `grain` consecutive items (0: for all). */
int cr_new_unknown(struct cr_unknowns *u, int64_t grain);
void cr_at_most(struct cr_unknowns *u, int unknown, const struct cr_linear *bound);
void cr_at_least(struct cr_unknowns *u, int unknown, const struct cr_linear *bound);
void cr_one_of(struct cr_unknowns *u, int unknown, const struct cr_linear *a,
               const struct cr_linear *b);

/* ---- questions ---- */

/* Find an upper bound of a sum, and a lower one; false if none is found. */
bool cr_find_most(struct cr_unknowns *u, const struct cr_linear *a, int64_t *most);
bool cr_find_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t *least);

/* True if the sum is known to be at least a number. */
bool cr_is_at_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t number);

/* True if the sum is known to be a multiple of a positive number. */
bool cr_divides(struct cr_unknowns *u, const struct cr_linear *a, int64_t number);

/* The number of consecutive items for which a sum is the same; 0: all items. */
int64_t cr_grain(const struct cr_unknowns *u, const struct cr_linear *a);
int64_t cr_common_grain(int64_t a, int64_t b);

#endif
