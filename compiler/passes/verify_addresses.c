/*
 * How far the addresses of a body reach, whatever it is given.
 *
 * A body is gone through once, statement by statement, with what each variable is there: a sum of
 * unknowns (linear.h).  A counter is an unknown between the ends of its loop; what a condition sets
 * is one of two sums, and more is known where the condition compares just those; what a loop sets
 * again is not known in it.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "linear.h"
#include "runtime/runtime.h"
#include "verify_program.h"

enum { MOST_FACTS = 4 };

/* a < b, where a condition is true. */
struct fact {
    struct cr_kept_linear a, b;
};

/* A loop or a condition that is open. */
struct block {
    const struct cr_statement *begin;
    int n_sets; /* that there were */
    struct fact facts[MOST_FACTS];
    int n_facts;
    bool exact; /* the condition is one comparison and no more */
};

/* A variable that is set, and what it was before. */
struct set {
    int var;
    struct cr_kept_linear before;
};

/* The block whose results are kept from item to item, if one is open: what it depends on has to be
 * the same for `grain` items, or for all if that is 0. */
struct keeping {
    int block; /* or CR_NONE */
    int64_t grain;
    int differs; /* a variable that is not, or CR_NONE */
};

struct walk {
    struct cr_program_check *c;
    struct cr_unknowns u;
    struct cr_kept_linear *vars;
    struct block *blocks;
    int n_blocks, cap_blocks;
    struct set *sets;
    int n_sets, cap_sets;
    int item; /* the unknown; CR_NONE outside a loop over the items, in order */
    struct keeping keeping;
};

static const struct cr_expr_node *node_of(const struct walk *w, cr_expr expr)
{
    return &w->c->f->exprs[expr];
}

/* What a variable is, noted if it is not the same for all items that share what is made of it. */
static void var_of(struct walk *w, int var, struct cr_linear *value)
{
    cr_kept(&w->u, &w->vars[var], value);
    if (w->keeping.block == CR_NONE)
        return;
    int64_t grain = cr_grain(&w->u, value);
    if (grain && (!w->keeping.grain || grain % w->keeping.grain))
        w->keeping.differs = var;
}

static void set_var(struct walk *w, int var, const struct cr_linear *value)
{
    w->vars[var] = cr_keep(&w->u, value);
}

/* ---- expressions ---- */

static int evaluate(struct walk *w, cr_expr expr, struct cr_linear *value);
static int walk_call(struct walk *w, const struct cr_call *call);

/* An unknown made of two sums. */
static int new_unknown_of(struct walk *w, const struct cr_linear *a, const struct cr_linear *b)
{
    return cr_new_unknown(&w->u, cr_common_grain(cr_grain(&w->u, a), cr_grain(&w->u, b)));
}

/* Something from 0 to most, if that is known. */
static void between_0_and(struct walk *w, int unknown, bool known, int64_t most)
{
    struct cr_linear zero, last;
    cr_linear_set(&zero, 0);
    cr_linear_set(&last, most);
    cr_at_least(&w->u, unknown, &zero);
    if (known)
        cr_at_most(&w->u, unknown, &last);
}

static bool is_item(const struct walk *w, const struct cr_linear *a)
{
    return !a->lost && a->n == 1 && a->number == 0 && a->summands[0].factor == 1 &&
           a->summands[0].unknown == w->item;
}

/* a / b and a % b, for a that is not negative and a positive number b. */
static int divide(struct walk *w, bool rest, const struct cr_linear *a, const struct cr_linear *b,
                  struct cr_linear *value)
{
    int64_t most, by = b->number, grain = cr_grain(&w->u, a);
    if (!cr_linear_is_number(b) || by < 1)
        return cr_program_fault(w->c, "it divides by what may not be positive");
    if (!cr_is_at_least(&w->u, a, 0))
        return cr_program_fault(w->c, "it divides what may be negative");
    bool known = cr_find_most(&w->u, a, &most), item = is_item(w, a);
    int unknown = cr_new_unknown(&w->u, item && !rest ? by : grain);
    if (rest) {
        between_0_and(w, unknown, true, known && most < by - 1 ? most : by - 1);
        cr_at_most(&w->u, unknown, a);
        w->u.items[unknown].cycle = item ? by : 0;
    } else {
        between_0_and(w, unknown, known, most / by);
    }
    cr_linear_set_unknown(value, unknown);
    return 0;
}

/* a < b as a number: 0 or 1, and at most b - a where that is not negative. */
static void compare(struct walk *w, const struct cr_linear *a, const struct cr_linear *b,
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

static void multiply(struct walk *w, const struct cr_linear *a, const struct cr_linear *b,
                     struct cr_linear *value)
{
    cr_linear_set(value, 0);
    if (cr_linear_is_number(a))
        cr_linear_add(value, b, a->number);
    else if (cr_linear_is_number(b))
        cr_linear_add(value, a, b->number);
    else
        cr_linear_set_unknown(value, new_unknown_of(w, a, b));
}

static void least_of(struct walk *w, const struct cr_linear *a, const struct cr_linear *b,
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

/* One of two sums; the unknown that it is. */
static int one_of(struct walk *w, const struct cr_linear *a, const struct cr_linear *b,
                  struct cr_linear *value)
{
    int unknown = new_unknown_of(w, a, b);
    cr_one_of(&w->u, unknown, a, b);
    cr_linear_set_unknown(value, unknown);
    return unknown;
}

/* 0 or 1, of what depends on this. */
static void flag_of(struct walk *w, const struct cr_linear *a, const struct cr_linear *b,
                    struct cr_linear *value)
{
    int unknown = new_unknown_of(w, a, b);
    between_0_and(w, unknown, true, 1);
    cr_linear_set_unknown(value, unknown);
}

static int evaluate_binary(struct walk *w, const struct cr_expr_node *e, struct cr_linear *value)
{
    struct cr_linear a, b;
    if (evaluate(w, e->a, &a) || evaluate(w, e->b, &b))
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

static int evaluate_select(struct walk *w, const struct cr_expr_node *e, struct cr_linear *value)
{
    struct cr_linear condition, a, b;
    if (evaluate(w, e->a, &condition) || evaluate(w, e->b, &a) || evaluate(w, e->c, &b))
        return -1;
    struct cr_unknown *x = &w->u.items[one_of(w, &a, &b, value)];
    x->grain = cr_common_grain(x->grain, cr_grain(&w->u, &condition));
    return 0;
}

static int evaluate(struct walk *w, cr_expr expr, struct cr_linear *value)
{
    const struct cr_expr_node *e = node_of(w, expr);
    switch (e->op) {
    case CR_EXPR_NUMBER:
        cr_linear_set(value, e->number);
        return 0;
    case CR_EXPR_VAR:
        var_of(w, e->a, value);
        return 0;
    case CR_EXPR_FIELD:
        cr_linear_set_unknown(value, cr_new_unknown(&w->u, 0));
        return 0;
    case CR_EXPR_CALL: /* what it finds in memory may be another for each item */
        cr_linear_set_unknown(value, cr_new_unknown(&w->u, 1));
        return walk_call(w, &w->c->f->calls[e->a]);
    case CR_EXPR_SELECT:
        return evaluate_select(w, e, value);
    case CR_EXPR_NOT:
        if (evaluate(w, e->a, value))
            return -1;
        flag_of(w, value, value, value);
        return 0;
    default:
        return evaluate_binary(w, e, value);
    }
}

/* ---- what a call touches ---- */

/* Elements of a slot. */
struct region {
    struct cr_linear first, last;
};

static void evaluate_address(struct walk *w, const struct cr_address *a, struct cr_linear *value)
{
    struct cr_linear x;
    cr_linear_set(value, a->base);
    for (int i = 0; i < a->n_terms; i++) {
        const struct cr_term *t = &w->c->f->terms[a->first_term + i];
        var_of(w, t->var, &x);
        cr_linear_add(value, &x, t->coef);
        if (t->origin == CR_NONE)
            continue;
        var_of(w, t->origin, &x);
        cr_linear_add(value, &x, -t->coef);
    }
}

/* A count or a distance of a call. */
static int evaluate_size(struct walk *w, const struct cr_call *call, const struct cr_size *size,
                         struct cr_linear *value)
{
    cr_linear_set(value, size->number);
    if (size->argument == CR_NONE)
        return 0;
    return evaluate(w, cr_argument_of(w->c->f, call, size->argument)->number, value);
}

/* Adds (count - 1) * stride to the end of a region, or to its beginning if the stride is negative;
 * one of the two is a number. */
static int stretch(struct walk *w, struct region *r, const struct cr_linear *count,
                   const struct cr_linear *stride)
{
    bool fixed = cr_linear_is_number(stride);
    struct cr_linear *end = fixed && stride->number < 0 ? &r->first : &r->last, one;
    if (!fixed && !cr_linear_is_number(count))
        return cr_program_fault(w->c, "neither how many rows there are nor how far apart is fixed");
    if (!fixed && !cr_is_at_least(&w->u, stride, 0))
        return cr_program_fault(w->c, "rows may lie a negative distance apart");
    if (fixed) {
        cr_linear_set(&one, 1);
        cr_linear_add(end, count, stride->number);
        cr_linear_add(end, &one, -stride->number);
    } else {
        cr_linear_add(end, stride, count->number - 1);
    }
    return 0;
}

/* a / by, if that is a sum of whole multiples. */
static bool divide_exactly(struct cr_linear *a, int64_t by)
{
    bool exact = a->number % by == 0;
    for (int i = 0; i < a->n; i++) {
        exact &= a->summands[i].factor % by == 0;
        a->summands[i].factor /= by;
    }
    a->number /= by;
    return exact;
}

/*
 * Panels of N columns, each of K rows, from the region's first on: where the last of them ends.
 * If the region begins with a whole panel, the columns before it and its own are rounded up
 * together, as they are bounded together.
 */
static int stretch_panels(struct walk *w, struct region *r, const struct cr_linear *K,
                          const struct cr_linear *N, const struct cr_linear *stride)
{
    int64_t column = stride->number / CR_PANEL, most, depth;
    struct cr_linear columns;
    cr_linear_copy(&columns, &r->first);
    if (!cr_linear_is_number(stride) || column < 1 || stride->number % CR_PANEL ||
        !cr_find_most(&w->u, K, &depth) || depth > column)
        return cr_program_fault(w->c, "panels are not far enough apart for their rows");
    bool whole = !cr_linear_is_number(N) && divide_exactly(&columns, column) &&
                 cr_divides(&w->u, &columns, CR_PANEL);
    if (!whole)
        cr_linear_set(&columns, 0);
    cr_linear_add(&columns, N, 1);
    if (!cr_find_most(&w->u, &columns, &most))
        return cr_program_fault(w->c, "it is not known how many panels there are");
    if (whole)
        cr_linear_set(&r->last, 0);
    r->last.number += (most + CR_PANEL - 1) / CR_PANEL * stride->number - stride->number - 1;
    cr_linear_add(&r->last, K, CR_PANEL);
    return 0;
}

static int find_region(struct walk *w, const struct cr_call *call, const struct cr_parameter *p,
                       const struct cr_address *address, struct region *r)
{
    struct cr_linear rows, cols, row_stride, col_stride;
    evaluate_address(w, address, &r->first);
    if (evaluate_size(w, call, &p->rows, &rows) || evaluate_size(w, call, &p->cols, &cols) ||
        evaluate_size(w, call, &p->row_stride, &row_stride) ||
        evaluate_size(w, call, &p->col_stride, &col_stride))
        return -1;
    cr_linear_copy(&r->last, &r->first);
    if (p->panels)
        return stretch_panels(w, r, &rows, &cols, &row_stride);
    return stretch(w, r, &rows, &row_stride) || stretch(w, r, &cols, &col_stride) ? -1 : 0;
}

/* ---- where that is ---- */

static void widen(struct cr_reach *r, bool written, int64_t lowest, int64_t highest)
{
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

/* Scratch and constants have their sizes; that of an argument is for its calls to see. */
static int check_region(struct walk *w, const struct cr_parameter *p, int slot,
                        const struct region *r)
{
    const struct cr_slot *s = &w->c->f->slots[slot];
    int64_t lowest, highest, elements = s->kind == CR_SLOT_CONSTANT ? 1 : s->elements;
    if (!cr_find_least(&w->u, &r->first, &lowest) || !cr_find_most(&w->u, &r->last, &highest))
        return cr_program_fault(w->c, "it is not known how far it reaches in %s", s->name);
    if (s->kind == CR_SLOT_ARGUMENT) {
        widen(&w->c->reaches[w->c->first_reach[w->c->function] + slot], p->written, lowest,
              highest);
        return 0;
    }
    if (lowest < 0 || highest >= elements)
        return cr_program_fault(w->c, "it reaches from %lld to %lld in %s, which has %lld elements",
                                (long long)lowest, (long long)highest, s->name,
                                (long long)elements);
    return 0;
}

static int walk_number(struct walk *w, const struct cr_parameter *p, cr_expr number)
{
    struct cr_linear value;
    if (evaluate(w, number, &value))
        return -1;
    if (p->kind == CR_PARAMETER_COUNT && !cr_is_at_least(&w->u, &value, 0))
        return cr_program_fault(w->c, "a count may be negative");
    return 0;
}

static int walk_call(struct walk *w, const struct cr_call *call)
{
    const struct cr_signature *s = cr_signature_of(w->c, call);
    struct region r;
    for (int i = 0; i < s->n; i++) {
        const struct cr_parameter *p = &s->parameters[i];
        const struct cr_argument *a = cr_argument_of(w->c->f, call, i);
        if (a->number != CR_NONE && a->kind != CR_ARGUMENT_NULL && a->kind != CR_ARGUMENT_VALUE &&
            walk_number(w, p, a->number))
            return -1;
        if (a->kind != CR_ARGUMENT_ADDRESS)
            continue;
        if (find_region(w, call, p, &a->address, &r) || check_region(w, p, a->address.slot, &r))
            return -1;
    }
    return 0;
}

/* ---- statements ---- */

/* Adds the comparisons that a condition is made of; whether there is nothing else in it. */
static bool add_facts(struct walk *w, struct block *b, cr_expr expr)
{
    const struct cr_expr_node *e = node_of(w, expr);
    struct cr_linear x, y;
    if (e->op == CR_EXPR_AND) {
        bool first = add_facts(w, b, e->a);
        return add_facts(w, b, e->b) && first;
    }
    if ((e->op != CR_EXPR_LESS && e->op != CR_EXPR_GREATER) || b->n_facts == MOST_FACTS ||
        evaluate(w, e->a, &x) || evaluate(w, e->b, &y))
        return false;
    struct cr_kept_linear first = cr_keep(&w->u, &x), second = cr_keep(&w->u, &y);
    b->facts[b->n_facts++] =
        e->op == CR_EXPR_LESS ? (struct fact){first, second} : (struct fact){second, first};
    return true;
}

static struct block *open_block(struct walk *w, const struct cr_statement *begin)
{
    struct block *b = CR_PUSH(w->blocks, w->n_blocks, w->cap_blocks);
    *b = (struct block){.begin = begin, .n_sets = w->n_sets};
    return b;
}

static bool is_var(const struct walk *w, cr_expr expr, int var)
{
    return node_of(w, expr)->op == CR_EXPR_VAR && node_of(w, expr)->a == var;
}

/*
 * Whether a condition is true for the first item of a call, and of the others for those alone that
 * are multiples of *grain (0: for no others): "item == begin || j0 == 0".
 */
static int keeps(struct walk *w, cr_expr expr, int64_t *grain, bool *keeps)
{
    const struct cr_expr_node *e = node_of(w, expr), *first = e, *second = NULL;
    struct cr_linear x, zero;
    *keeps = false;
    *grain = 0;
    if (e->op == CR_EXPR_OR) {
        first = node_of(w, e->a);
        second = node_of(w, e->b);
    }
    if (w->item == CR_NONE || first->op != CR_EXPR_EQUAL || !is_var(w, first->a, CR_VAR_ITEM) ||
        !is_var(w, first->b, CR_VAR_BEGIN))
        return 0;
    *keeps = !second;
    if (*keeps || second->op != CR_EXPR_EQUAL)
        return 0;
    if (evaluate(w, second->a, &x) || evaluate(w, second->b, &zero))
        return -1;
    if (x.n == 1 && !x.lost && x.number == 0 && cr_linear_is_number(&zero) && zero.number == 0)
        *grain = w->u.items[x.summands[0].unknown].cycle;
    *keeps = *grain > 0;
    return 0;
}

/* Opens a block under a condition, which may be one that keeps what the block makes. */
static int open_under(struct walk *w, const struct cr_statement *s, cr_expr condition)
{
    struct cr_linear value;
    int64_t grain;
    bool kept;
    if (evaluate(w, condition, &value) || keeps(w, condition, &grain, &kept))
        return -1;
    struct block *b = open_block(w, s);
    b->exact = s->kind == CR_STATEMENT_IF && add_facts(w, b, condition) && b->n_facts == 1;
    w->c->kept[w->c->statement] = kept;
    if (kept && w->keeping.block != CR_NONE)
        return cr_program_fault(w->c, "what is kept from item to item is made of what is kept");
    if (kept)
        w->keeping = (struct keeping){w->n_blocks - 1, grain, CR_NONE};
    return 0;
}

/* What the statements of a loop set is not known where it begins, nor behind it. */
static void forget_sets(struct walk *w, const struct cr_statement *loop)
{
    int depth = 0;
    do {
        depth += loop->kind == CR_STATEMENT_LOOP || loop->kind == CR_STATEMENT_IF;
        depth -= loop->kind == CR_STATEMENT_END;
        if (loop->kind == CR_STATEMENT_SET) {
            struct cr_linear any;
            cr_linear_set_unknown(&any, cr_new_unknown(&w->u, 1));
            set_var(w, loop->var, &any);
        }
        loop++;
    } while (depth > 0);
}

/* The items in order, each once. */
static bool is_over_items(const struct walk *w, const struct cr_statement *s)
{
    return s->var == CR_VAR_ITEM && s->step == 1 && is_var(w, s->value, CR_VAR_BEGIN) &&
           is_var(w, s->last, CR_VAR_END);
}

/* What a loop's counter is: it lies whole steps behind the first, and before the last. */
static int new_counter(struct walk *w, const struct cr_statement *s, const struct cr_linear *first,
                       const struct cr_linear *last)
{
    int64_t most, grain = cr_common_grain(cr_grain(&w->u, first), cr_grain(&w->u, last));
    int counter = cr_new_unknown(&w->u, s->var == CR_VAR_ITEM ? 1 : grain);
    struct cr_linear way, end;
    cr_linear_copy(&way, last);
    cr_linear_copy(&end, first);
    w->u.items[counter].origin = cr_keep(&w->u, first);
    w->u.items[counter].step = s->step;
    cr_linear_add(&way, first, -1);
    cr_at_least(&w->u, counter, first);
    cr_at_most(&w->u, counter, last);
    if (s->step > 1 && cr_find_most(&w->u, &way, &most) && most >= 0) {
        end.number += most / s->step * s->step;
        cr_at_most(&w->u, counter, &end);
    }
    return counter;
}

static int begin_loop(struct walk *w, const struct cr_statement *s)
{
    struct cr_linear first, last, value;
    if (evaluate(w, s->value, &first))
        return -1;
    forget_sets(w, s);
    if (evaluate(w, s->last, &last))
        return -1;
    last.number--;
    int counter = new_counter(w, s, &first, &last);
    cr_linear_set_unknown(&value, counter);
    set_var(w, s->var, &value);
    if (is_over_items(w, s))
        w->item = counter;
    if (s->until != CR_NONE)
        return open_under(w, s, s->until);
    open_block(w, s);
    return 0;
}

/* What a variable is behind a condition under which it was set: what it was, or what it is; and
 * more, if the condition compares these two. */
static void join(struct walk *w, const struct block *b, const struct cr_linear *before,
                 const struct cr_linear *after, struct cr_linear *value)
{
    struct cr_linear x, y;
    int unknown = one_of(w, before, after, value);
    w->u.items[unknown].grain = 1;
    for (int i = 0; i < b->n_facts; i++) {
        cr_kept(&w->u, &b->facts[i].a, &x);
        cr_kept(&w->u, &b->facts[i].b, &y);
        if (cr_linear_equal(&x, after) && cr_linear_equal(&y, before)) {
            cr_at_most(&w->u, unknown, before);
            if (b->exact)
                cr_at_most(&w->u, unknown, after);
        }
        if (cr_linear_equal(&x, before) && cr_linear_equal(&y, after)) {
            cr_at_least(&w->u, unknown, before);
            if (b->exact)
                cr_at_least(&w->u, unknown, after);
        }
    }
}

/* Sets under a condition count for those around it, too. */
static void end_if(struct walk *w, const struct block *b)
{
    for (int i = w->n_sets - 1; i >= b->n_sets; i--) {
        const struct set *s = &w->sets[i];
        struct cr_linear before, after, value;
        cr_kept(&w->u, &s->before, &before);
        cr_kept(&w->u, &w->vars[s->var], &after);
        join(w, b, &before, &after, &value);
        set_var(w, s->var, &value);
    }
}

static int end_block(struct walk *w)
{
    struct block b = w->blocks[--w->n_blocks];
    if (b.begin->kind == CR_STATEMENT_IF) {
        end_if(w, &b);
    } else {
        w->n_sets = b.n_sets;
        forget_sets(w, b.begin);
        if (b.begin->var == CR_VAR_ITEM)
            w->item = CR_NONE;
    }
    if (w->keeping.block != w->n_blocks)
        return 0;
    w->keeping.block = CR_NONE;
    if (w->keeping.differs == CR_NONE)
        return 0;
    return cr_program_fault(w->c, "what is kept here depends on %s, which differs among the items",
                            w->c->f->vars[w->keeping.differs].name);
}

static int assign(struct walk *w, const struct cr_statement *s)
{
    struct cr_linear value;
    if (s->kind == CR_STATEMENT_SET)
        *CR_PUSH(w->sets, w->n_sets, w->cap_sets) = (struct set){s->var, w->vars[s->var]};
    if (evaluate(w, s->value, &value))
        return -1;
    set_var(w, s->var, &value);
    return 0;
}

static int walk_statement(struct walk *w, const struct cr_statement *s)
{
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        return begin_loop(w, s);
    case CR_STATEMENT_IF:
        return open_under(w, s, s->value);
    case CR_STATEMENT_END:
        return end_block(w);
    case CR_STATEMENT_SET:
    case CR_STATEMENT_LET:
        return assign(w, s);
    case CR_STATEMENT_CALL:
        return walk_call(w, &w->c->f->calls[s->call]);
    case CR_STATEMENT_NOTE:
        break;
    }
    return 0;
}

/* ---- all of it ---- */

/* begin is not negative, end no more than the items; both are the same for all items. */
static int begin_body(struct walk *w)
{
    struct cr_linear items, zero, begin, end;
    if (evaluate(w, w->c->f->items, &items))
        return -1;
    if (!cr_is_at_least(&w->u, &items, 0))
        return cr_program_fault(w->c, "its items may be fewer than 0");
    cr_linear_set(&zero, 0);
    cr_linear_set_unknown(&begin, cr_new_unknown(&w->u, 0));
    cr_linear_set_unknown(&end, cr_new_unknown(&w->u, 0));
    cr_at_least(&w->u, begin.summands[0].unknown, &zero);
    cr_at_most(&w->u, end.summands[0].unknown, &items);
    set_var(w, CR_VAR_BEGIN, &begin);
    set_var(w, CR_VAR_END, &end);
    return 0;
}

int cr_verify_addresses(struct cr_program_check *c)
{
    struct walk w = {.c = c, .item = CR_NONE, .keeping = {CR_NONE, 0, CR_NONE}};
    w.vars = cr_calloc((size_t)c->f->n_vars, sizeof *w.vars);
    int status = begin_body(&w);
    for (int i = 0; i < c->f->n_body && !status; i++) {
        c->statement = i;
        status = walk_statement(&w, &c->f->body[i]);
    }
    c->statement = CR_NONE;
    cr_unknowns_free(&w.u);
    free(w.vars);
    free(w.blocks);
    free(w.sets);
    return status;
}
