/*
 * verify_body.c - goes through the statements of a body, and tracks the value of each variable.
 *
 * A counter is an unknown between the ends of its loop.  A variable that is set under a condition
 * is one of two sums; if the condition compares exactly these two, its bounds are tighter.  A
 * variable that a loop sets is unknown inside the loop.
 */
#include "verify_body.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

enum { MOST_FACTS = 4 };

/* A comparison a < b that is true inside a condition's block. */
struct fact {
    struct cr_kept_linear a, b;
};

/* An open block: a loop or a condition. */
struct cr_walk_block {
    const struct cr_statement *begin;
    int n_sets; /* cr_walk.n_sets at the beginning of the block */
    struct fact facts[MOST_FACTS];
    int n_facts;
    int narrowed; /* a variable that the condition bounds, or CR_NONE */
    struct cr_kept_linear before; /* the value outside the block of the variable `narrowed` */
    bool exact; /* true if the condition consists only of `facts` */
    int64_t grain; /* the condition has the same value for this many consecutive items; 0 for all
                      items */
};

/* A variable that was set, and its value before. */
struct cr_walk_set {
    int var;
    struct cr_kept_linear before;
};

/* ---- conditions ---- */

/* Adds the comparisons of a condition to the block's facts.  Returns true if the condition consists
 * of them only. */
static bool add_facts(struct cr_walk *w, struct cr_walk_block *b, cr_expr expr)
{
    const struct cr_expr_node *e = cr_node_of(w, expr);
    struct cr_linear x, y;
    if (e->op == CR_EXPR_AND) {
        bool first = add_facts(w, b, e->a);
        return add_facts(w, b, e->b) && first;
    }
    if ((e->op != CR_EXPR_LESS && e->op != CR_EXPR_GREATER) || b->n_facts == MOST_FACTS ||
        cr_walk_expr(w, e->a, &x) || cr_walk_expr(w, e->b, &y))
        return false;
    struct cr_kept_linear first = cr_keep(&w->u, &x), second = cr_keep(&w->u, &y);
    b->facts[b->n_facts++] =
        e->op == CR_EXPR_LESS ? (struct fact){first, second} : (struct fact){second, first};
    return true;
}

static struct cr_walk_block *open_block(struct cr_walk *w, const struct cr_statement *begin)
{
    struct cr_walk_block *b = CR_PUSH(w->blocks, w->n_blocks, w->cap_blocks);
    *b = (struct cr_walk_block){.begin = begin, .n_sets = w->n_sets, .narrowed = CR_NONE};
    return b;
}

static bool is_var(const struct cr_walk *w, cr_expr expr, int var)
{
    return cr_node_of(w, expr)->op == CR_EXPR_VAR && cr_node_of(w, expr)->a == var;
}

/* Sets *keeps to true if a condition has the form "item == begin || j0 == 0" or "item == begin".
 * It is then true for the first item of a call and, for the longer form, for items that are
 * multiples of *grain (0 for none). */
static int keeps(struct cr_walk *w, cr_expr expr, int64_t *grain, bool *keeps)
{
    const struct cr_expr_node *e = cr_node_of(w, expr), *first = e, *second = NULL;
    struct cr_linear x, zero;
    *keeps = false;
    *grain = 0;
    if (e->op == CR_EXPR_OR) {
        first = cr_node_of(w, e->a);
        second = cr_node_of(w, e->b);
    }
    if (w->item == CR_NONE || first->op != CR_EXPR_EQUAL || !is_var(w, first->a, CR_VAR_ITEM) ||
        !is_var(w, first->b, CR_VAR_BEGIN))
        return 0;
    *keeps = !second;
    if (*keeps || second->op != CR_EXPR_EQUAL)
        return 0;
    if (cr_walk_expr(w, second->a, &x) || cr_walk_expr(w, second->b, &zero))
        return -1;
    if (x.n == 1 && !x.lost && x.number == 0 && cr_linear_is_number(&zero) && zero.number == 0)
        *grain = w->u.items[x.summands[0].unknown].cycle;
    *keeps = *grain > 0;
    return 0;
}

/* If an expression is "var < number" or "var > number", with the operator `op`, sets *var and
 * *number and returns true. */
static bool compares(const struct cr_walk *w, cr_expr expr, enum cr_expr_op op, int *var,
                     int64_t *number)
{
    const struct cr_expr_node *e = cr_node_of(w, expr);
    if (e->op != op || cr_node_of(w, e->a)->op != CR_EXPR_VAR ||
        cr_node_of(w, e->b)->op != CR_EXPR_NUMBER)
        return false;
    *var = cr_node_of(w, e->a)->a;
    *number = cr_node_of(w, e->b)->number;
    return true;
}

/* If a condition is "var > least and var < end", and the variable never changes, its value inside
 * the block becomes an unknown between these bounds. */
static void narrow(struct cr_walk *w, struct cr_walk_block *b, cr_expr condition)
{
    const struct cr_expr_node *e = cr_node_of(w, condition);
    int var, other;
    int64_t least, end;
    if (e->op != CR_EXPR_AND || !compares(w, e->a, CR_EXPR_GREATER, &var, &least) ||
        !compares(w, e->b, CR_EXPR_LESS, &other, &end) || var != other ||
        w->c->f->vars[var].changes)
        return;
    struct cr_linear value, bound;
    cr_kept(&w->u, &w->vars[var], &value);
    int unknown = cr_new_unknown(&w->u, cr_grain(&w->u, &value));
    cr_linear_set(&bound, least + 1);
    cr_at_least(&w->u, unknown, &bound);
    cr_linear_set(&bound, end - 1);
    cr_at_most(&w->u, unknown, &bound);
    b->narrowed = var;
    b->before = w->vars[var];
    cr_linear_set_unknown(&value, unknown);
    cr_walk_set_var(w, var, &value);
}

/* Opens a block under a condition.  If `keeps` accepts the condition, later items reuse the results
 * of the block. */
static int open_under(struct cr_walk *w, const struct cr_statement *s, cr_expr condition)
{
    struct cr_linear value;
    int64_t grain;
    bool kept;
    if (cr_walk_expr(w, condition, &value) || keeps(w, condition, &grain, &kept))
        return -1;
    struct cr_walk_block *b = open_block(w, s);
    b->grain = cr_grain(&w->u, &value);
    b->exact = s->kind == CR_STATEMENT_IF && add_facts(w, b, condition) && b->n_facts == 1;
    if (s->kind == CR_STATEMENT_IF)
        narrow(w, b, condition);
    w->c->kept[w->c->statement] = kept;
    if (kept && w->keeping.block != CR_NONE)
        return cr_program_fault(w->c, "what is kept from item to item is made of what is kept");
    if (kept)
        w->keeping = (struct cr_keeping){w->n_blocks - 1, grain, CR_NONE};
    return 0;
}

/* ---- loops ---- */

/* Makes the variables that a loop sets unknown, as they are at the beginning of an iteration and
 * after the loop. */
static void forget_sets(struct cr_walk *w, const struct cr_statement *loop)
{
    int depth = 0;
    do {
        depth += loop->kind == CR_STATEMENT_LOOP || loop->kind == CR_STATEMENT_IF;
        depth -= loop->kind == CR_STATEMENT_END;
        if (loop->kind == CR_STATEMENT_SET) {
            struct cr_linear any;
            cr_linear_set_unknown(&any, cr_new_unknown(&w->u, 1));
            cr_walk_set_var(w, loop->var, &any);
        }
        loop++;
    } while (depth > 0);
}

/* True if a loop goes through all items of a call in order. */
static bool is_over_items(const struct cr_walk *w, const struct cr_statement *s)
{
    return s->var == CR_VAR_ITEM && s->step == 1 && is_var(w, s->value, CR_VAR_BEGIN) &&
           is_var(w, s->last, CR_VAR_END);
}

/* Returns a new unknown for the counter of a loop: `first` plus a multiple of the step, at most
 * `last`. */
static int new_counter(struct cr_walk *w, const struct cr_statement *s,
                       const struct cr_linear *first, const struct cr_linear *last)
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

/* Begins a loop.  Its first value is evaluated before the loop changes any variable.  Its end is
 * evaluated in each iteration, so the variables that the loop sets become unknown before that. */
static int begin_loop(struct cr_walk *w, const struct cr_statement *s)
{
    struct cr_linear first, last, value;
    if (cr_walk_expr(w, s->value, &first))
        return -1;
    forget_sets(w, s);
    if (cr_walk_expr(w, s->last, &last))
        return -1;
    last.number--;
    int counter = new_counter(w, s, &first, &last);
    cr_linear_set_unknown(&value, counter);
    cr_walk_set_var(w, s->var, &value);
    if (is_over_items(w, s))
        w->item = counter;
    if (s->until != CR_NONE)
        return open_under(w, s, s->until);
    open_block(w, s);
    return 0;
}

/* ---- the ends of blocks ---- */

/* Returns the number of consecutive items for which a variable has the same value after a
 * condition: the condition and both possible values must be the same for them. */
static int64_t joined_grain(const struct cr_walk *w, const struct cr_walk_block *b,
                            const struct cr_linear *before, const struct cr_linear *after)
{
    return cr_common_grain(b->grain, cr_common_grain(cr_grain(&w->u, before), cr_grain(&w->u, after)));
}

/* Sets *value to the value of a variable after an `if` that sets it: `after`, or `before` if the
 * condition was false.  If the condition compares these two, they also become bounds of the value:
 * after `if (a < x) x = a`, x is at most a. */
static void join(struct cr_walk *w, const struct cr_walk_block *b, const struct cr_linear *before,
                 const struct cr_linear *after, struct cr_linear *value)
{
    struct cr_linear x, y;
    int unknown = cr_walk_one_of(w, before, after, value);
    w->u.items[unknown].grain = joined_grain(w, b, before, after);
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

/* After a condition, makes each variable that it set one of two values.  The sets stay recorded for
 * enclosing conditions. */
static void end_if(struct cr_walk *w, const struct cr_walk_block *b)
{
    for (int i = w->n_sets - 1; i >= b->n_sets; i--) {
        const struct cr_walk_set *s = &w->sets[i];
        struct cr_linear before, after, value;
        cr_kept(&w->u, &s->before, &before);
        cr_kept(&w->u, &w->vars[s->var], &after);
        join(w, b, &before, &after, &value);
        cr_walk_set_var(w, s->var, &value);
    }
}

/* Closes a block.  After a condition, a variable that it set is one of two sums; after a loop, it
 * is unknown.  Fails if items reuse the block's results, but these depend on a variable that
 * differs among the items. */
static int end_block(struct cr_walk *w)
{
    struct cr_walk_block b = w->blocks[--w->n_blocks];
    if (b.begin->kind == CR_STATEMENT_IF) {
        end_if(w, &b);
        if (b.narrowed != CR_NONE)
            w->vars[b.narrowed] = b.before;
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

/* ---- statements ---- */

static int assign(struct cr_walk *w, const struct cr_statement *s)
{
    struct cr_linear value;
    if (s->kind == CR_STATEMENT_SET)
        *CR_PUSH(w->sets, w->n_sets, w->cap_sets) = (struct cr_walk_set){s->var, w->vars[s->var]};
    if (cr_walk_expr(w, s->value, &value))
        return -1;
    cr_walk_set_var(w, s->var, &value);
    return 0;
}

/* Updates the values of variables for one statement, and checks the calls in it. */
static int walk_statement(struct cr_walk *w, const struct cr_statement *s)
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
        return cr_walk_call(w, &w->c->f->calls[s->call]);
    case CR_STATEMENT_NOTE:
        break;
    }
    return 0;
}

/* ---- the whole body ---- */

/* Sets the value of each length to an unknown from 1 to its bound, which is the same for all
 * items. */
static void begin_lengths(struct cr_walk *w)
{
    struct cr_linear least, most;
    for (int i = 0; i < w->c->f->n_bound; i++) {
        int length = w->c->f->slots[i].length;
        if (length < 0)
            continue;
        w->lengths[length] = cr_new_unknown(&w->u, 0);
        cr_linear_set(&least, 1);
        cr_linear_set(&most, w->c->p->lengths[length].bound);
        cr_at_least(&w->u, w->lengths[length], &least);
        cr_at_most(&w->u, w->lengths[length], &most);
    }
}

/* Sets the variables `begin` and `end` to unknowns that are the same for all items: begin is at
 * least 0, and end is at most the number of items. */
static int begin_body(struct cr_walk *w)
{
    struct cr_linear items, zero, begin, end;
    if (cr_walk_expr(w, w->c->f->items, &items))
        return -1;
    if (!cr_is_at_least(&w->u, &items, 0))
        return cr_program_fault(w->c, "its items may be fewer than 0");
    cr_linear_set(&zero, 0);
    cr_linear_set_unknown(&begin, cr_new_unknown(&w->u, 0));
    cr_linear_set_unknown(&end, cr_new_unknown(&w->u, 0));
    cr_at_least(&w->u, begin.summands[0].unknown, &zero);
    cr_at_most(&w->u, end.summands[0].unknown, &items);
    cr_walk_set_var(w, CR_VAR_BEGIN, &begin);
    cr_walk_set_var(w, CR_VAR_END, &end);
    return 0;
}

int cr_verify_body(struct cr_program_check *c)
{
    struct cr_walk w = {
        .c = c, .item = CR_NONE, .keeping = {CR_NONE, 0, CR_NONE}, .walk_call = cr_walk_call};
    w.vars = cr_calloc((size_t)c->f->n_vars, sizeof *w.vars);
    begin_lengths(&w);
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
