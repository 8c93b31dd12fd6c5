#include "linear_sums.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* The most replacements of unknowns in the search for one bound.  Scheduled kernels need at most
 * 135. */
enum { PATIENCE = 20000 };

void cr_unknowns_free(struct cr_unknowns *u)
{
    free(u->items);
    free(u->summands);
}

/* ---- sums ---- */

/* Adds factor * b to *a; returns false on overflow. */
static bool add_scaled(int64_t *a, int64_t b, int64_t factor)
{
    int64_t product;
    return !__builtin_mul_overflow(b, factor, &product) && !__builtin_add_overflow(*a, product, a);
}

/* Adds a multiple of an unknown to a sum.  Keeps summands sorted, and removes those whose factor
 * becomes 0. */
static void add_summand(struct cr_linear *a, struct cr_summand s, int64_t factor)
{
    int at = a->n;
    while (at > 0 && a->summands[at - 1].unknown > s.unknown)
        at--;
    if (at > 0 && a->summands[at - 1].unknown == s.unknown) {
        a->lost |= !add_scaled(&a->summands[--at].factor, s.factor, factor);
        if (a->summands[at].factor == 0)
            memmove(&a->summands[at], &a->summands[at + 1],
                    (size_t)(--a->n - at) * sizeof *a->summands);
        return;
    }
    int64_t product = 0;
    if (!add_scaled(&product, s.factor, factor) || a->n == CR_MAX_SUMMANDS) {
        a->lost = true;
        return;
    }
    memmove(&a->summands[at + 1], &a->summands[at], (size_t)(a->n++ - at) * sizeof *a->summands);
    a->summands[at] = (struct cr_summand){s.unknown, product};
}

static void add_summands(struct cr_linear *a, int64_t number, const struct cr_summand *summands,
                         int n, int64_t factor)
{
    if (factor == 0)
        return;
    a->lost |= !add_scaled(&a->number, number, factor);
    for (int i = 0; i < n; i++)
        add_summand(a, summands[i], factor);
}

void cr_linear_add(struct cr_linear *a, const struct cr_linear *b, int64_t factor)
{
    a->lost |= b->lost;
    add_summands(a, b->number, b->summands, b->n, factor);
}

static bool equal_summands(const struct cr_summand *a, const struct cr_summand *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].unknown != b[i].unknown || a[i].factor != b[i].factor)
            return false;
    return true;
}

bool cr_linear_equal(const struct cr_linear *a, const struct cr_linear *b)
{
    return !a->lost && !b->lost && a->number == b->number && a->n == b->n &&
           equal_summands(a->summands, b->summands, a->n);
}

struct cr_kept_linear cr_keep(struct cr_unknowns *u, const struct cr_linear *a)
{
    struct cr_kept_linear kept = {a->number, a->n, u->n_summands, a->lost};
    for (int i = 0; i < a->n; i++)
        *CR_PUSH(u->summands, u->n_summands, u->cap_summands) = a->summands[i];
    return kept;
}

static void add_kept(const struct cr_unknowns *u, struct cr_linear *a,
                     const struct cr_kept_linear *kept, int64_t factor)
{
    a->lost |= kept->lost;
    add_summands(a, kept->number, u->summands + kept->first, kept->n, factor);
}

void cr_kept(const struct cr_unknowns *u, const struct cr_kept_linear *kept, struct cr_linear *a)
{
    cr_linear_set(a, kept->number);
    a->lost = kept->lost;
    a->n = kept->n;
    for (int i = 0; i < kept->n; i++)
        a->summands[i] = u->summands[kept->first + i];
}

/* ---- unknowns ---- */

int cr_new_unknown(struct cr_unknowns *u, int64_t grain)
{
    struct cr_unknown *x = CR_PUSH(u->items, u->n, u->cap);
    memset(x, 0, sizeof *x);
    x->grain = grain;
    return u->n - 1;
}

void cr_at_most(struct cr_unknowns *u, int unknown, const struct cr_linear *bound)
{
    struct cr_unknown *x = &u->items[unknown];
    if (!bound->lost && x->n_above < 2)
        x->above[x->n_above++] = cr_keep(u, bound);
}

void cr_at_least(struct cr_unknowns *u, int unknown, const struct cr_linear *bound)
{
    struct cr_unknown *x = &u->items[unknown];
    if (!bound->lost && x->n_below < 2)
        x->below[x->n_below++] = cr_keep(u, bound);
}

void cr_one_of(struct cr_unknowns *u, int unknown, const struct cr_linear *a,
               const struct cr_linear *b)
{
    struct cr_unknown *x = &u->items[unknown];
    x->cases[0] = cr_keep(u, a);
    x->cases[1] = cr_keep(u, b);
    x->n_cases = 2;
}

/* ---- bounds of sums ---- */

/* An upper or a lower bound of a sum; `found` is false if there is none. */
struct bound {
    bool found;
    int64_t number;
};

/* Returns the tighter of two bounds if `better`, else the looser one.  A missing bound is the
 * loosest. */
static struct bound choose(struct bound a, struct bound b, bool upper, bool better)
{
    if (!a.found || !b.found)
        return a.found == better ? a : b;
    return (a.number < b.number) == (upper == better) ? a : b;
}

static struct bound find_bound(struct cr_unknowns *u, struct cr_linear *a, bool upper);

/* Returns the bound of a sum after its last unknown was replaced by `instead`. */
static struct bound bound_with(struct cr_unknowns *u, const struct cr_linear *a,
                               const struct cr_kept_linear *instead, bool upper)
{
    struct cr_linear b;
    cr_linear_copy(&b, a);
    b.n--;
    add_kept(u, &b, instead, a->summands[b.n].factor);
    return find_bound(u, &b, upper);
}

/* Returns the bound of a sum from the `n` sums in `any`, each of which can replace the last
 * unknown.  If each of them is a bound of the unknown (`better`), returns the tightest result.  If
 * the unknown may be any of them, returns the loosest. */
static struct bound best_of(struct cr_unknowns *u, const struct cr_linear *a,
                            const struct cr_kept_linear *any, int n, bool upper, bool better)
{
    struct bound best = {false, 0};
    for (int i = 0; i < n; i++) {
        struct bound b = bound_with(u, a, &any[i], upper);
        best = i ? choose(best, b, upper, better) : b;
    }
    return best;
}

/* Returns the bound of a sum by replacing unknowns, from the last to the first, until a number is
 * left.  Changes *a. */
static struct bound find_bound(struct cr_unknowns *u, struct cr_linear *a, bool upper)
{
    while (a->n && !a->lost && u->patience-- > 0) {
        struct cr_summand last = a->summands[a->n - 1];
        const struct cr_unknown *x = &u->items[last.unknown];
        bool above = (last.factor > 0) == upper;
        const struct cr_kept_linear *bounds = above ? x->above : x->below;
        int n = above ? x->n_above : x->n_below;
        if (n > 1)
            return best_of(u, a, bounds, n, upper, true);
        if (n == 0)
            return best_of(u, a, x->cases, x->n_cases, upper, false);
        a->n--;
        add_kept(u, a, bounds, last.factor);
    }
    return (struct bound){a->n == 0 && !a->lost, a->number};
}

static bool ask(struct cr_unknowns *u, const struct cr_linear *a, bool upper, int64_t *number)
{
    struct cr_linear b;
    cr_linear_copy(&b, a);
    u->patience = PATIENCE;
    struct bound bound = find_bound(u, &b, upper);
    *number = bound.number;
    return bound.found;
}

bool cr_find_most(struct cr_unknowns *u, const struct cr_linear *a, int64_t *most)
{
    return ask(u, a, true, most);
}

bool cr_find_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t *least)
{
    return ask(u, a, false, least);
}

bool cr_is_at_least(struct cr_unknowns *u, const struct cr_linear *a, int64_t number)
{
    int64_t least;
    return cr_find_least(u, a, &least) && least >= number;
}

bool cr_divides(struct cr_unknowns *u, const struct cr_linear *a, int64_t number)
{
    struct cr_linear b;
    cr_linear_copy(&b, a);
    while (b.n && !b.lost) {
        struct cr_summand last = b.summands[--b.n];
        const struct cr_unknown *x = &u->items[last.unknown];
        if (last.factor % number == 0)
            continue;
        if (!x->step || x->step % number * (last.factor % number) % number)
            return false;
        add_kept(u, &b, &x->origin, last.factor);
    }
    return !b.lost && b.number % number == 0;
}

int64_t cr_common_grain(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t cr_grain(const struct cr_unknowns *u, const struct cr_linear *a)
{
    int64_t grain = 0;
    for (int i = 0; i < a->n; i++)
        grain = cr_common_grain(grain, u->items[a->summands[i].unknown].grain);
    return a->lost ? 1 : grain;
}
