/* verify_expr.c - evaluates the integer expressions of a body as sums of unknowns. */
#include "verify_body.h"

/* ---- helper functions ---- */

void cr_walk_var(struct cr_walk *w, int var, struct cr_linear *value)
{
    cr_kept(&w->u, &w->vars[var], value);
    if (w->keeping.block == CR_NONE)
        return;
    int64_t grain = cr_grain(&w->u, value);
    if (grain && (!w->keeping.grain || grain % w->keeping.grain))
        w->keeping.differs = var;
}

/* Returns a new unknown that depends only on two sums: it has the same value for all items for
 * which both sums are the same. */
static int new_unknown_of(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b)
{
    return cr_new_unknown(&w->u, cr_common_grain(cr_grain(&w->u, a), cr_grain(&w->u, b)));
}

/* Sets the lower bound of an unknown to 0 and, if `known`, its upper bound to `most`. */
static void between_0_and(struct cr_walk *w, int unknown, bool known, int64_t most)
{
    struct cr_linear zero, last;
    cr_linear_set(&zero, 0);
    cr_linear_set(&last, most);
    cr_at_least(&w->u, unknown, &zero);
    if (known)
        cr_at_most(&w->u, unknown, &last);
}

static bool is_item(const struct cr_walk *w, const struct cr_linear *a)
{
    return !a->lost && a->n == 1 && a->number == 0 && a->summands[0].factor == 1 &&
           a->summands[0].unknown == w->item;
}

/* Sets a lower bound of the quotient a / by: the smallest value of a, divided by `by`. */
static void no_less_than(struct cr_walk *w, int quotient, const struct cr_linear *a, int64_t by)
{
    struct cr_linear bound;
    int64_t least;
    if (!cr_find_least(&w->u, a, &least) || least < by)
        return;
    cr_linear_set(&bound, least / by);
    cr_at_least(&w->u, quotient, &bound);
}

/* Sets *value to a / by or, if `rest`, to a % by.  a must not be negative, and the constant `by`
 * must be positive. */
static void divide_by_number(struct cr_walk *w, bool rest, const struct cr_linear *a, int64_t by,
                             struct cr_linear *value)
{
    int64_t most;
    bool known = cr_find_most(&w->u, a, &most), item = is_item(w, a);
    int unknown = cr_new_unknown(&w->u, item && !rest ? by : cr_grain(&w->u, a));
    if (rest) {
        between_0_and(w, unknown, true, known && most < by - 1 ? most : by - 1);
        cr_at_most(&w->u, unknown, a);
        w->u.items[unknown].cycle = item ? by : 0;
    } else {
        between_0_and(w, unknown, known, most / by);
        no_less_than(w, unknown, a, by);
    }
    cr_linear_set_unknown(value, unknown);
}

/* Sets *value to a / b or, if `rest`, to a % b.  Fails unless b is positive and a is not negative.
 * If b is not constant, the only bound of the remainder is a. */
static int divide(struct cr_walk *w, bool rest, const struct cr_linear *a,
                  const struct cr_linear *b, struct cr_linear *value)
{
    int64_t most, by;
    if (!cr_find_least(&w->u, b, &by) || by < 1)
        return cr_program_fault(w->c, "it divides by what may not be positive");
    if (!cr_is_at_least(&w->u, a, 0))
        return cr_program_fault(w->c, "it divides what may be negative");
    if (cr_linear_is_number(a) && cr_linear_is_number(b)) {
        cr_linear_set(value, rest ? a->number % by : a->number / by);
        return 0;
    }
    if (cr_linear_is_number(b)) {
        divide_by_number(w, rest, a, by, value);
        return 0;
    }
    bool known = cr_find_most(&w->u, a, &most);
    int unknown = new_unknown_of(w, a, b);
    between_0_and(w, unknown, known, rest ? most : most / by);
    cr_linear_set_unknown(value, unknown);
    return 0;
}

/* Sets *value to an unknown for a < b: it is 0 or 1, and at most b - a if that is not negative. */
static void compare(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                    struct cr_linear *value)
{
    int unknown = new_unknown_of(w, a, b);
    struct cr_linear difference;
    cr_linear_copy(&difference, b);
    cr_linear_add(&difference, a, -1);
    between_0_and(w, unknown, true, 1);
    if (cr_is_at_least(&w->u, &difference, 0))
        cr_at_most(&w->u, unknown, &difference);
    cr_linear_set_unknown(value, unknown);
}

/* Sets *value to an unknown for the product of two unknowns, with bounds if both have bounds and
 * are not negative. */
static void multiply_unknowns(struct cr_walk *w, const struct cr_linear *a,
                              const struct cr_linear *b, struct cr_linear *value)
{
    int64_t x, y, product;
    int unknown = new_unknown_of(w, a, b);
    if (cr_is_at_least(&w->u, a, 0) && cr_is_at_least(&w->u, b, 0) && cr_find_most(&w->u, a, &x) &&
        cr_find_most(&w->u, b, &y) && !__builtin_mul_overflow(x, y, &product))
        between_0_and(w, unknown, true, product);
    cr_linear_set_unknown(value, unknown);
}

static void multiply(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                     struct cr_linear *value)
{
    cr_linear_set(value, 0);
    if (cr_linear_is_number(a))
        cr_linear_add(value, b, a->number);
    else if (cr_linear_is_number(b))
        cr_linear_add(value, a, b->number);
    else
        multiply_unknowns(w, a, b, value);
}

/* Sets *value to an unknown for min(a, b): it is at most a, at most b, and equal to one of them. */
static void least_of(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                     struct cr_linear *value)
{
    if (cr_linear_is_number(a) && cr_linear_is_number(b)) {
        cr_linear_set(value, a->number < b->number ? a->number : b->number);
        return;
    }
    int unknown = new_unknown_of(w, a, b);
    cr_at_most(&w->u, unknown, a);
    cr_at_most(&w->u, unknown, b);
    cr_one_of(&w->u, unknown, a, b);
    cr_linear_set_unknown(value, unknown);
}

int cr_walk_one_of(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                   struct cr_linear *value)
{
    int unknown = new_unknown_of(w, a, b);
    cr_one_of(&w->u, unknown, a, b);
    cr_linear_set_unknown(value, unknown);
    return unknown;
}

/* Sets *value to an unknown that is 0 or 1 and depends only on two sums. */
static void flag_of(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                    struct cr_linear *value)
{
    int unknown = new_unknown_of(w, a, b);
    between_0_and(w, unknown, true, 1);
    cr_linear_set_unknown(value, unknown);
}

/* Evaluates a binary op.  Sums, and products with a constant, are exact; for other ops only bounds
 * are known.  EQUAL, AND and OR are 0 or 1. */
static int evaluate_binary(struct cr_walk *w, const struct cr_expr_node *e, struct cr_linear *value)
{
    struct cr_linear a, b;
    if (cr_walk_expr(w, e->a, &a) || cr_walk_expr(w, e->b, &b))
        return -1;
    switch (e->op) {
    case CR_EXPR_ADD:
    case CR_EXPR_SUB:
        cr_linear_copy(value, &a);
        cr_linear_add(value, &b, e->op == CR_EXPR_ADD ? 1 : -1);
        return 0;
    case CR_EXPR_MUL:
        multiply(w, &a, &b, value);
        return 0;
    case CR_EXPR_DIV:
    case CR_EXPR_MOD:
        return divide(w, e->op == CR_EXPR_MOD, &a, &b, value);
    case CR_EXPR_MIN:
        least_of(w, &a, &b, value);
        return 0;
    case CR_EXPR_LESS:
        compare(w, &a, &b, value);
        return 0;
    case CR_EXPR_GREATER:
        compare(w, &b, &a, value);
        return 0;
    default:
        flag_of(w, &a, &b, value);
        return 0;
    }
}

static int evaluate_select(struct cr_walk *w, const struct cr_expr_node *e, struct cr_linear *value)
{
    struct cr_linear condition, a, b;
    if (cr_walk_expr(w, e->a, &condition) || cr_walk_expr(w, e->b, &a) || cr_walk_expr(w, e->c, &b))
        return -1;
    int unknown = cr_walk_one_of(w, &a, &b, value);
    struct cr_unknown *x = &w->u.items[unknown];
    x->grain = cr_common_grain(x->grain, cr_grain(&w->u, &condition));
    return 0;
}

void cr_widen_reach(struct cr_walk *w, int slot, bool written, int64_t lowest, int64_t highest)
{
    struct cr_reach *r = &w->c->reaches[w->c->first_reach[w->c->function] + slot];
    if (!r->touched || lowest < r->lowest)
        r->lowest = lowest;
    if (!r->touched || highest > r->highest)
        r->highest = highest;
    r->touched = true;
    if (!written)
        return;
    if (!r->written || lowest < r->first)
        r->first = lowest;
    if (!r->written || highest > r->last)
        r->last = highest;
    r->written = true;
}

/* True if the function writes to an i32 argument, so that an element that it loads may differ from
 * item to item. */
static bool writes_integers(const struct cr_function *f)
{
    for (int i = 0; i < f->n_slots; i++)
        if (f->slots[i].written && f->slots[i].format == CR_FORMAT_i32)
            return true;
    return false;
}

/* Sets *value to an unknown for a loaded i32: any i32 or, for a size of a ragged length, from 1 to
 * the bound.  It has the same value for items that load the same element.  Extends the argument's
 * reach by the elements. */
static int load(struct cr_walk *w, const struct cr_expr_node *e, struct cr_linear *value)
{
    struct cr_linear least, most, index;
    int64_t first = 0, last = 0, grain = 0;
    int length = w->c->f->slots[e->a].length;
    if (e->b != CR_NONE) {
        cr_walk_var(w, e->b, &index);
        grain = cr_grain(&w->u, &index);
        if (!cr_find_least(&w->u, &index, &first) || !cr_find_most(&w->u, &index, &last))
            return cr_program_fault(w->c, "it loads an element of unbounded index");
    }
    int unknown = cr_new_unknown(&w->u, writes_integers(w->c->f) ? 1 : grain);
    cr_linear_set(&least, length < 0 ? INT32_MIN : 1);
    cr_linear_set(&most, length < 0 ? INT32_MAX : w->c->p->lengths[length].bound);
    cr_at_least(&w->u, unknown, &least);
    cr_at_most(&w->u, unknown, &most);
    cr_widen_reach(w, e->a, false, e->number + first, e->number + last);
    cr_linear_set_unknown(value, unknown);
    return 0;
}

int cr_walk_expr(struct cr_walk *w, cr_expr expr, struct cr_linear *value)
{
    const struct cr_expr_node *e = cr_node_of(w, expr);
    int length;
    switch (e->op) {
    case CR_EXPR_NUMBER:
        cr_linear_set(value, e->number);
        return 0;
    case CR_EXPR_VAR:
        cr_walk_var(w, e->a, value);
        return 0;
    case CR_EXPR_FIELD:
        length = w->c->f->slots[e->a].length;
        cr_linear_set_unknown(value, length < 0 ? cr_new_unknown(&w->u, 0) : w->lengths[length]);
        return 0;
    case CR_EXPR_CALL: /* the result depends on memory, so it may differ for each item */
        cr_linear_set_unknown(value, cr_new_unknown(&w->u, 1));
        return w->walk_call(w, &w->c->f->calls[e->a]);
    case CR_EXPR_LOAD:
        return load(w, e, value);
    case CR_EXPR_SELECT:
        return evaluate_select(w, e, value);
    case CR_EXPR_NOT:
        if (cr_walk_expr(w, e->a, value))
            return -1;
        flag_of(w, value, value, value);
        return 0;
    default:
        return evaluate_binary(w, e, value);
    }
}
