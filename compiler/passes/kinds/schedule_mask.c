/*
 * schedule_mask.c - builds the conditions for skipping a block of keys that a mask hides
 * completely, if the mask depends on data (a length, ids of segments).
 *
 * The mask is part of the program of scores, and is evaluated for each score.  Before a block is
 * computed, the kernel evaluates the mask once in interval arithmetic: an index runs from its first
 * to its last value, and a load is between the minimum and the maximum over the step's queries or
 * the block's keys.  If the mask's condition holds nowhere in these intervals, it hides each score
 * of the block.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schedule_attention.h"

/* The purpose of one traversal of the mask.  ASK: find out if its intervals are known.  STEP:
 * declare variables that are the same for all blocks of a step.  BLOCK: build the condition of a
 * block. */
enum walk { ASK, STEP, BLOCK };

struct reader {
    struct cr_builder *b;
    enum walk walk;
    struct cr_steps i, j;         /* loops with variables: in STEP only i, in BLOCK both */
    struct cr_extremes *extremes; /* by value: the variables declared for it */
    int budget; /* visits left: a shared value is visited once for each path to it */
};

enum { BUDGET = 16 * CR_MAX_VALUES };

/* The ends of an interval that a caller needs, as bits.  A variable is declared only for an end
 * that is needed. */
enum { LEAST = 1, GREATEST = 2 };

/* The interval of an i32 value in a block, with the ends that were asked for.  `fits` is the
 * condition that no value wraps around, or CR_NONE if none can. */
struct interval {
    bool known;
    cr_expr least, greatest, fits;
    double lowest, highest; /* limits that hold for any data */
};

static const struct cr_value *value_of(const struct reader *r, int value)
{
    return &r->b->k->attention.scores.values[value];
}

static bool is_i32(const struct reader *r, int value)
{
    return r->b->g->nodes[value_of(r, value)->node].dtype == CR_I32;
}

/* ---- expressions; outside a BLOCK traversal these return 0 ---- */

static cr_expr binary(const struct reader *r, enum cr_expr_op op, cr_expr x, cr_expr y)
{
    if (r->walk != BLOCK)
        return 0;
    const struct cr_expr_node *right = &r->b->f->exprs[y];
    cr_expr a = right->a, b = right->b;
    if (right->op == op &&
        (op == CR_EXPR_AND || op == CR_EXPR_OR)) /* regroups to the left, so that no parentheses are
                                                    needed */
        return binary(r, op, binary(r, op, x, a), b);
    return cr_binary(r->b, op, x, y);
}

/* Returns x plus a number.  If x ends with a number, adds both into one. */
static cr_expr plus(const struct reader *r, cr_expr x, int64_t more)
{
    if (r->walk != BLOCK)
        return 0;
    const struct cr_expr_node *e = &r->b->f->exprs[x];
    bool minus = e->op == CR_EXPR_SUB;
    if (e->op == CR_EXPR_NUMBER)
        return cr_number(r->b, e->number + more);
    if ((minus || e->op == CR_EXPR_ADD) && r->b->f->exprs[e->b].op == CR_EXPR_NUMBER) {
        int64_t own = r->b->f->exprs[e->b].number;
        return cr_plus(r->b, e->a, (minus ? -own : own) + more);
    }
    return cr_plus(r->b, x, more);
}

/* Returns x + y.  If x is e - number, returns e + y - number. */
static cr_expr add(const struct reader *r, cr_expr x, cr_expr y)
{
    if (r->walk != BLOCK)
        return 0;
    const struct cr_expr_node *e = &r->b->f->exprs[x];
    cr_expr stem = e->a, rest = e->b;
    if (e->op != CR_EXPR_SUB || r->b->f->exprs[rest].op != CR_EXPR_NUMBER)
        return cr_binary(r->b, CR_EXPR_ADD, x, y);
    int64_t number = r->b->f->exprs[rest].number;
    return plus(r, cr_binary(r->b, CR_EXPR_ADD, stem, y), -number);
}

static cr_expr number(const struct reader *r, int64_t value)
{
    return r->walk == BLOCK ? cr_number(r->b, value) : 0;
}

/* Returns the condition x <= y, written as x < y + 1. */
static cr_expr at_most(const struct reader *r, cr_expr x, cr_expr y)
{
    return binary(r, CR_EXPR_LESS, x, plus(r, y, 1));
}

/* Returns the condition x and y.  CR_NONE means unknown, and is taken as true. */
static cr_expr both(const struct reader *r, cr_expr x, cr_expr y)
{
    if (x == CR_NONE || y == CR_NONE)
        return x == CR_NONE ? y : x;
    return binary(r, CR_EXPR_AND, x, y);
}

static cr_expr either(const struct reader *r, cr_expr x, cr_expr y)
{
    return x == CR_NONE || y == CR_NONE ? CR_NONE : binary(r, CR_EXPR_OR, x, y);
}

/* ---- intervals ---- */

/* Returns the minimum or maximum of an affine function over a block of scores: its value at the
 * first query and key, plus each term that moves it in that direction, at the last query or key. */
static cr_expr end_of_affine(const struct reader *r, const struct cr_affine *at, bool greatest)
{
    const struct cr_kernel *k = r->b->k;
    const struct {
        int64_t coef;
        int count;
    } sides[] = {{cr_coef(at, k->key), r->j.count}, {cr_coef(at, k->row), r->i.count}};
    if (r->walk != BLOCK)
        return 0;
    cr_expr end = cr_affine_value(r->b, at, k->key, r->j.first, k->row, r->i.first);
    for (int s = 0; s < 2; s++) {
        if (sides[s].coef == 0 || (sides[s].coef > 0) != greatest)
            continue;
        cr_expr more = cr_var(r->b, sides[s].count), coef = cr_number(r->b, sides[s].coef);
        if (sides[s].coef != 1)
            more = cr_binary(r->b, CR_EXPR_MUL, more, coef);
        end = plus(r, cr_binary(r->b, CR_EXPR_ADD, end, more), -sides[s].coef);
    }
    return end;
}

/* Returns the interval of an affine index, which is known only if all of its values fit in an
 * i32. */
static struct interval interval_of_index(const struct reader *r, const struct cr_affine *at)
{
    const struct cr_atoms *atoms = &r->b->k->atoms;
    double lowest = (double)at->base, highest = lowest;
    for (int a = 0; a < atoms->n; a++) {
        double reach = (double)at->coef[a] * (double)(atoms->extent[a] - 1);
        lowest += fmin(reach, 0);
        highest += fmax(reach, 0);
    }
    return (struct interval){lowest >= INT32_MIN && highest <= INT32_MAX,
                             end_of_affine(r, at, false),
                             end_of_affine(r, at, true),
                             CR_NONE,
                             lowest,
                             highest};
}

/* Writes the name of the variable with the minimum or maximum of a value. */
static void name_extreme(char name[24], enum cr_callee callee, int value)
{
    snprintf(name, 24, callee == CR_CALLEE_least ? "least%d" : "greatest%d", value);
}

/* Declares and returns a variable: the minimum or maximum of the numbers that value `value` loads
 * for the queries of a step or the keys of a block. */
static int let_extreme(struct reader *r, enum cr_callee callee, int value,
                       const struct cr_steps *steps, int64_t step)
{
    struct cr_builder *b = r->b;
    const struct cr_value *v = value_of(r, value);
    bool keys = steps == &r->j;
    char name[24];
    name_extreme(name, callee, value);
    struct cr_address from =
        cr_element(b, b->ref[v->ref], &v->at, b->k->key, keys ? steps->first : CR_NONE, b->k->row,
                   keys ? CR_NONE : steps->first);
    struct cr_call call = {.callee = callee, .format = CR_FORMAT_f32};
    const struct cr_argument arguments[] = {cr_x(cr_var(b, steps->count)), cr_at(from),
                                            cr_n(b, step)};
    return cr_let_noted(b, name, cr_call_value(b, cr_make_call(b, call, 3, arguments)), false,
                        keys ? "of the keys" : "of the queries");
}

/* Declares a variable with a loaded number that depends on neither the query nor the key. */
static int let_number(struct reader *r, int value)
{
    struct cr_builder *b = r->b;
    const struct cr_value *v = value_of(r, value);
    char name[24];
    snprintf(name, sizeof name, "value%d", value);
    struct cr_address from =
        cr_element(b, b->ref[v->ref], &v->at, b->k->key, CR_NONE, b->k->row, CR_NONE);
    if (from.n_terms == 0)
        return cr_let(b, name, cr_load(b, from.slot, from.base));
    struct cr_call call = {.callee = CR_CALLEE_least, .format = CR_FORMAT_f32};
    const struct cr_argument arguments[] = {cr_n(b, 1), cr_at(from), cr_n(b, 0)};
    return cr_let(b, name, cr_call_value(b, cr_make_call(b, call, 3, arguments)));
}

/* In a BLOCK traversal, sets the ends of an interval that `ends` asks for to the variables that
 * hold them; otherwise returns the interval unchanged. */
static struct interval with_extremes(const struct reader *r, struct interval found,
                                     const struct cr_extremes *x, int ends)
{
    if (r->walk == BLOCK && ends & LEAST)
        found.least = cr_var(r->b, x->least);
    if (r->walk == BLOCK && ends & GREATEST)
        found.greatest = cr_var(r->b, x->greatest);
    return found;
}

/* Returns the interval of a load that depends on the query, on the key, or on neither; unknown if
 * it depends on both. */
static struct interval interval_of_load(struct reader *r, int value, int ends)
{
    const struct cr_kernel *k = r->b->k;
    const struct cr_affine *at = &value_of(r, value)->at;
    int64_t by_key = cr_coef(at, k->key), by_row = cr_coef(at, k->row);
    struct cr_extremes *x = &r->extremes[value];
    struct interval found = {!(by_key && by_row), 0, 0, CR_NONE, INT32_MIN, INT32_MAX};
    if (!found.known || r->walk == ASK || (by_key && r->walk == STEP))
        return found;
    const struct cr_steps *steps = by_key ? &r->j : &r->i;
    if (x->least == CR_NONE && x->greatest == CR_NONE && !by_key && !by_row)
        x->least = x->greatest = let_number(r, value);
    if (x->least == CR_NONE && ends & LEAST)
        x->least = let_extreme(r, CR_CALLEE_least, value, steps, by_key + by_row);
    if (x->greatest == CR_NONE && ends & GREATEST)
        x->greatest = let_extreme(r, CR_CALLEE_greatest, value, steps, by_key + by_row);
    return with_extremes(r, found, x, ends);
}

static struct interval interval_of(struct reader *r, int value, int ends);

/* Returns the interval of a value in an ASK traversal, which declares no variables. */
static struct interval ask_of(struct reader *r, int value)
{
    enum walk walk = r->walk;
    r->walk = ASK;
    struct interval found = interval_of(r, value, 0);
    r->walk = walk;
    return found;
}

/* Returns the interval of a + b or a - b.  If the result may leave the range of an i32, adds the
 * condition that it does not to `fits`. */
static struct interval interval_of_sum(struct reader *r, const struct cr_value *v, int ends)
{
    struct interval a = ask_of(r, v->arg[0]), b = ask_of(r, v->arg[1]);
    bool minus = v->op == CR_OP_sub;
    struct interval sum = {.known = a.known && b.known};
    sum.lowest = a.lowest + (minus ? -b.highest : b.lowest);
    sum.highest = a.highest + (minus ? -b.lowest : b.highest);
    ends |= (sum.lowest < INT32_MIN ? LEAST : 0) | (sum.highest > INT32_MAX ? GREATEST : 0);
    int others = minus ? (ends & LEAST ? GREATEST : 0) | (ends & GREATEST ? LEAST : 0) : ends;
    a = interval_of(r, v->arg[0], ends);
    b = interval_of(r, v->arg[1], others);
    sum.fits = both(r, a.fits, b.fits);
    if (ends & LEAST)
        sum.least = minus ? binary(r, CR_EXPR_SUB, a.least, b.greatest) : add(r, a.least, b.least);
    if (ends & GREATEST)
        sum.greatest =
            minus ? binary(r, CR_EXPR_SUB, a.greatest, b.least) : add(r, a.greatest, b.greatest);
    if (sum.lowest < INT32_MIN)
        sum.fits = both(r, sum.fits, at_most(r, number(r, INT32_MIN), sum.least));
    if (sum.highest > INT32_MAX)
        sum.fits = both(r, sum.fits, at_most(r, sum.greatest, number(r, INT32_MAX)));
    sum.lowest = fmax(sum.lowest, INT32_MIN);
    sum.highest = fmin(sum.highest, INT32_MAX);
    return sum;
}

/* Declares a variable for one end of maximum(a, b) or minimum(a, b); x and y are the same end of a
 * and b. */
static int let_farther(struct reader *r, enum cr_callee callee, int value, cr_expr x, cr_expr y)
{
    struct cr_builder *b = r->b;
    bool most = value_of(r, value)->op == CR_OP_maximum;
    char name[24];
    name_extreme(name, callee, value);
    cr_expr farther = cr_binary(b, most ? CR_EXPR_GREATER : CR_EXPR_LESS, x, y);
    return cr_let(b, name, cr_select(b, farther, x, y));
}

/* Returns the interval of maximum(a, b) or minimum(a, b). */
static struct interval interval_of_farther(struct reader *r, int value, int ends)
{
    const struct cr_value *v = value_of(r, value);
    struct interval a = interval_of(r, v->arg[0], ends), b = interval_of(r, v->arg[1], ends);
    bool most = v->op == CR_OP_maximum;
    struct cr_extremes *x = &r->extremes[value];
    struct interval found = {.known = a.known && b.known, .fits = both(r, a.fits, b.fits)};
    found.lowest = most ? fmax(a.lowest, b.lowest) : fmin(a.lowest, b.lowest);
    found.highest = most ? fmax(a.highest, b.highest) : fmin(a.highest, b.highest);
    if (!found.known || r->walk != BLOCK)
        return found;
    if (x->least == CR_NONE && ends & LEAST)
        x->least = let_farther(r, CR_CALLEE_least, value, a.least, b.least);
    if (x->greatest == CR_NONE && ends & GREATEST)
        x->greatest = let_farther(r, CR_CALLEE_greatest, value, a.greatest, b.greatest);
    return with_extremes(r, found, x, ends);
}

/* Returns the interval of a value; unknown for ops without a rule here. */
static struct interval interval_of(struct reader *r, int value, int ends)
{
    const struct cr_value *v = value_of(r, value);
    struct cr_affine constant = {.base = 0};
    if (--r->budget < 0 || !is_i32(r, value))
        return (struct interval){.known = false};
    switch (v->source) {
    case CR_LOAD:
        return interval_of_load(r, value, ends);
    case CR_IOTA:
        return interval_of_index(r, &v->at);
    case CR_CONST:
        constant.base = (int64_t)v->number;
        return interval_of_index(r, &constant);
    case CR_MAP:
        if (v->op == CR_OP_add || v->op == CR_OP_sub)
            return interval_of_sum(r, v, ends);
        if (v->op == CR_OP_maximum || v->op == CR_OP_minimum)
            return interval_of_farther(r, value, ends);
        return (struct interval){.known = false};
    default:
        return (struct interval){.known = false};
    }
}

/* ---- conditions ---- */

/* Returns a condition that is true if a comparison is true (false, if not `holds`) for some query
 * and key of the block; CR_NONE if that is unknown. */
static cr_expr comparison_may(struct reader *r, const struct cr_value *v, bool holds)
{
    bool strict = v->op == CR_OP_lt || v->op == CR_OP_gt,
         swap = v->op == CR_OP_gt || v->op == CR_OP_ge;
    bool equal = v->op == CR_OP_eq || v->op == CR_OP_ne, first = swap == holds;
    int ends = equal ? LEAST | GREATEST : 0;
    cr_expr may;
    if (!ask_of(r, v->arg[0]).known || !ask_of(r, v->arg[1]).known)
        return CR_NONE;
    struct interval a = interval_of(r, v->arg[0], ends | (first ? GREATEST : LEAST));
    struct interval b = interval_of(r, v->arg[1], ends | (first ? LEAST : GREATEST));
    if (equal) {
        if ((v->op == CR_OP_eq) == holds)
            may = both(r, at_most(r, a.least, b.greatest), at_most(r, b.least, a.greatest));
        else
            may = either(r, binary(r, CR_EXPR_LESS, a.least, b.greatest),
                         binary(r, CR_EXPR_LESS, b.least, a.greatest));
    } else {
        const struct interval *less = first ? &b : &a, *more = first ? &a : &b;
        may = strict == holds ? binary(r, CR_EXPR_LESS, less->least, more->greatest)
                              : at_most(r, less->least, more->greatest);
    }
    cr_expr fits = both(r, a.fits, b.fits);
    if (fits == CR_NONE)
        return may;
    return either(r, r->walk == BLOCK ? cr_not(r->b, fits) : 0, may);
}

static cr_expr may(struct reader *r, int value, bool holds);

/* True if the conditions of both operands of a value are known, without declaring variables. */
static bool knows_both(struct reader *r, const struct cr_value *v, bool holds)
{
    enum walk walk = r->walk;
    r->walk = ASK;
    bool known = may(r, v->arg[0], holds) != CR_NONE && may(r, v->arg[1], holds) != CR_NONE;
    r->walk = walk;
    return known;
}

/* Returns a condition that is true if a boolean value is true (false, if not `holds`) for some
 * query and key of the block.  Returns CR_NONE if that is unknown; then it must be taken to be
 * possible. */
static cr_expr may(struct reader *r, int value, bool holds)
{
    const struct cr_value *v = value_of(r, value);
    if (--r->budget < 0 || v->source != CR_MAP)
        return CR_NONE;
    switch (v->op) {
    case CR_OP_logical_not:
        return may(r, v->arg[0], !holds);
    case CR_OP_logical_and:
    case CR_OP_logical_or: {
        bool all = (v->op == CR_OP_logical_and) == holds;
        if (!all && !knows_both(r, v, holds))
            return CR_NONE;
        cr_expr a = may(r, v->arg[0], holds), b = may(r, v->arg[1], holds);
        return all ? both(r, a, b) : either(r, a, b);
    }
    case CR_OP_lt:
    case CR_OP_le:
    case CR_OP_gt:
    case CR_OP_ge:
    case CR_OP_eq:
    case CR_OP_ne:
        return comparison_may(r, v, holds);
    default:
        return CR_NONE;
    }
}

static bool is_number(const struct reader *r, int value, double what)
{
    const struct cr_value *v = value_of(r, value);
    return v->source == CR_CONST && v->number == what;
}

/* Returns the number of the value that an op multiplies by a positive number, or -1. */
static int scaled_operand(const struct reader *r, const struct cr_value *v)
{
    for (int i = 0; i < 2 && (v->op == CR_OP_mul || (v->op == CR_OP_div && i == 0)); i++) {
        const struct cr_value *factor = value_of(r, v->arg[1 - i]);
        if (factor->source == CR_CONST && factor->number > 0 && factor->number < INFINITY)
            return i;
    }
    return -1;
}

/* Returns the condition that some score of a block differs from `hidden`; CR_NONE if that is
 * unknown.  A mask that is added is ignored, because it does not hide a score that is NaN. */
static cr_expr may_be_seen(struct reader *r, int value, double hidden)
{
    const struct cr_value *v = value_of(r, value);
    if (v->source != CR_MAP)
        return CR_NONE;
    if (!hidden && (v->op == CR_OP_sigmoid || v->op == CR_OP_exp))
        return may_be_seen(r, v->arg[0], -INFINITY);
    int scaled = scaled_operand(r, v);
    if (scaled >= 0)
        return may_be_seen(r, v->arg[scaled], hidden);
    if (v->op != CR_OP_where)
        return CR_NONE;
    int seen = is_number(r, v->arg[2], hidden) ? 1 : 2;
    if (!is_number(r, v->arg[3 - seen], hidden))
        return CR_NONE;
    cr_expr chosen = may(r, v->arg[0], seen == 1);
    return both(r, chosen, may_be_seen(r, v->arg[seen], hidden));
}

static cr_expr walk_mask(struct reader *r)
{
    const struct cr_kernel *k = r->b->k;
    return may_be_seen(r, k->attention.scores.result, k->attention.direct ? 0 : -INFINITY);
}

/* Returns false if there is only one block of keys, or if a whole array is stored: skipping a block
 * would lose the signs of its zeros. */
bool cr_masks_by_data(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    struct cr_extremes none[CR_MAX_VALUES];
    struct reader r = {.b = b, .walk = ASK, .extremes = none, .budget = BUDGET};
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        if (k->attention_backward.arrays[i] == CR_WHOLE_ARRAY)
            return false;
    return k->attention.keys > CR_KEY_BLOCK && k->attention.scores.n && walk_mask(&r) != CR_NONE;
}

void cr_let_step_extremes(struct cr_builder *b, struct cr_attention_vars *v)
{
    struct reader r = {b, STEP, v->i, .extremes = v->extremes, .budget = BUDGET};
    for (int i = 0; i < CR_MAX_VALUES; i++)
        v->extremes[i] = (struct cr_extremes){CR_NONE, CR_NONE};
    if (cr_masks_by_data(b))
        walk_mask(&r);
}

cr_expr cr_may_be_seen(struct cr_builder *b, const struct cr_attention_vars *v)
{
    struct cr_extremes extremes[CR_MAX_VALUES];
    struct reader r = {b, BLOCK, v->i, v->j, extremes, BUDGET};
    memcpy(extremes, v->extremes, sizeof extremes);
    return cr_masks_by_data(b) ? walk_mask(&r) : CR_NONE;
}
