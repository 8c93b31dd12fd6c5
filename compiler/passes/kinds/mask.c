#include "mask.h"

#include <math.h>

/* The nodes of run-time integers whose sum is the position of query 0. */
struct shift {
    cr_id ids[CR_MAX_SHIFTS];
    int n;
};

struct finder {
    struct cr_evaluate *ev;
    struct cr_choice *visible;
    int n_visible;
    struct shift shift; /* the shift that all moving bounds must have */
    bool moves;         /* true if a moving bound was found: one whose edge depends on the query */
    int budget;         /* visits left: a shared subtree is visited once for each path to it */
};

/* Follows the operands of movement ops from *id to the first other node, and sets *map to its map.
 * Returns false if an atom would have to be split. */
static bool skip_moves(struct finder *f, cr_id *id, struct cr_map *map)
{
    const struct cr_graph *g = f->ev->g;
    struct cr_map below;
    struct cr_split split;
    while (cr_kind_of(g, *id) == CR_KIND_MOVE) {
        if (cr_map_operand(g, *id, &f->ev->kernel->atoms, map, &below, &split) != CR_MAP_OK)
            return false;
        *map = below;
        *id = cr_in(g, *id, 0);
    }
    return true;
}

/* ---- bounds as sets of keys ---- */

enum { MOST_BOUNDS = 2 * CR_MAX_BOUNDS, MOST_TERMS = 8 };

/* An approximation of a condition on a query and a key: the condition implies that all bounds hold.
 * If `exact`, it is equivalent to the bounds.  A bound without edges is never true. */
struct condition {
    struct cr_bound bounds[MOST_BOUNDS];
    int n;
    bool exact;
};

static const struct condition anything = {.exact = true}, unknown = {.exact = false};

/* Returns the union of two edges.  Of each kind of edge, moving and fixed, it keeps the one that
 * leaves more keys visible. */
static struct cr_edge farther(const struct cr_edge *a, const struct cr_edge *b, bool last)
{
    struct cr_edge edge = *a;
    if (b->moves && (!a->moves || (b->offset > a->offset) == last))
        edge.moves = true, edge.offset = b->offset;
    if (b->stays && (!a->stays || (b->at > a->at) == last))
        edge.stays = true, edge.at = b->at;
    return edge;
}

static bool same_edge(const struct cr_edge *a, const struct cr_edge *b)
{
    return a->moves == b->moves && a->stays == b->stays && a->offset == b->offset && a->at == b->at;
}

/* Returns a bound that leaves all keys visible that `a` or `b` leaves visible. */
static struct cr_bound wider(const struct cr_bound *a, const struct cr_bound *b)
{
    return (struct cr_bound){farther(&a->first, &b->first, false),
                             farther(&a->last, &b->last, true)};
}

/* True if each key visible under bound `a` is visible under bound `b`. */
static bool is_within(const struct cr_bound *a, const struct cr_bound *b)
{
    struct cr_bound all = wider(a, b);
    return same_edge(&all.first, &b->first) && same_edge(&all.last, &b->last);
}

/* Adds a bound, unless a bound in the list already hides all that it hides.  If there is no room,
 * the condition is no longer exact. */
static void add_bound(struct condition *to, const struct cr_bound *bound)
{
    for (int i = 0; i < to->n; i++) {
        if (is_within(&to->bounds[i], bound))
            return;
        if (is_within(bound, &to->bounds[i])) {
            to->bounds[i] = *bound;
            return;
        }
    }
    if (to->n == MOST_BOUNDS || (bound->first.moves && bound->last.moves))
        to->exact = false;
    else
        to->bounds[to->n++] = *bound;
}

static struct condition both(const struct condition *a, const struct condition *b)
{
    struct condition all = *a;
    all.exact &= b->exact;
    for (int i = 0; i < b->n; i++)
        add_bound(&all, &b->bounds[i]);
    return all;
}

/* Returns the condition `a` or `b` in conjunctive form: the union of each bound of `a` with each of
 * `b`. */
static struct condition either(const struct condition *a, const struct condition *b)
{
    struct condition any = {.exact = a->exact && b->exact};
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            struct cr_bound bound = wider(&a->bounds[i], &b->bounds[j]);
            add_bound(&any, &bound);
        }
    return any;
}

/* ---- comparisons ---- */

/* A term of a sum: plus or minus the value of a node at a map. */
struct mask_term {
    cr_id id;
    struct cr_map map;
    bool minus;
};

/* The comparison sum + terms >= 0.  read_relation removes the terms one by one and adds them to the
 * sum. */
struct relation {
    struct mask_term terms[MOST_TERMS];
    int n;
    struct cr_affine sum;
    struct shift shift; /* run-time positions that are added to the sum */
    bool subtracts;     /* true if the positions are all subtracted instead */
    double reach;       /* an upper bound of all partial sums */
    double limit;       /* integers up to this one are exact and do not wrap around */
};

/* Sets the coefficient of an atom in an index to 0 and returns the old coefficient.  Returns 0 for
 * a single query or key, which has no atom. */
static int64_t take_coefficient(struct cr_affine *index, int atom)
{
    int64_t factor = atom < 0 ? 0 : index->coef[atom];
    if (atom >= 0)
        index->coef[atom] = 0;
    return factor;
}

static bool same_shift(const struct shift *a, const struct shift *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        same = false;
        for (int j = 0; j < b->n; j++)
            same |= a->ids[i] == b->ids[j];
    }
    return same;
}

/* True if the bound of a relation may move with the query.  All such bounds must have the same
 * shift; in the gradients of an attention they must have none. */
static bool may_move(struct finder *f, const struct relation *r, int64_t row)
{
    if (r->shift.n && (r->subtracts != (row < 0) || f->ev->kernel->kind != CR_KERNEL_ATTENTION))
        return false;
    if (!f->moves)
        f->shift = r->shift;
    f->moves = true;
    return same_shift(&f->shift, &r->shift);
}

/*
 * Returns the bound on keys that is equivalent to sum >= 0, or `unknown` if the relation does not
 * compare the key with the query or with a number.  A single query (or key) has no atom: its index
 * is 0, whatever the coefficient.  Its mask becomes the bound that several queries would have, so
 * that the bits are the same.
 */
static struct condition bound_of(struct finder *f, const struct relation *r)
{
    const struct cr_kernel *k = f->ev->kernel;
    struct cr_affine rest = r->sum;
    struct condition found = anything;
    struct cr_bound bound = {0};
    int64_t key = take_coefficient(&rest, k->key), row = take_coefficient(&rest, k->row);
    if (k->row < 0)
        row = k->key < 0 ? 1 : -key;
    if (k->key < 0)
        key = -row;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (rest.coef[a])
            return unknown;
    if (key * key > 1 || (row && row != -key) || (r->shift.n && !row))
        return unknown;
    if (row && !may_move(f, r, row))
        return unknown;
    struct cr_edge *edge = key < 0 ? &bound.last : &bound.first;
    int64_t at = key < 0 ? rest.base : -rest.base;
    if (row)
        *edge = (struct cr_edge){.moves = true, .offset = at};
    else
        *edge = (struct cr_edge){.stays = true, .at = at};
    if (key || rest.base < 0)
        add_bound(&found, key ? &bound : &(struct cr_bound){0});
    return found;
}

static struct condition read_relation(struct finder *f, struct relation *r);

/* Appends a term; returns false if there is no room. */
static bool push_term(struct relation *r, cr_id id, const struct cr_map *map, bool minus)
{
    if (r->n == MOST_TERMS)
        return false;
    r->terms[r->n++] = (struct mask_term){id, *map, minus};
    return true;
}

/* Replaces a term that is a maximum, minimum or abs by its operands.  sum + max(a, b) >= 0 if sum +
 * a >= 0 or sum + b >= 0; sum - max(a, b) >= 0 if both sum - a >= 0 and sum - b >= 0.  For a
 * minimum the two cases are swapped; |a| is max(a, -a). */
static struct condition read_largest(struct finder *f, const struct relation *r,
                                     const struct mask_term *t)
{
    const struct cr_graph *g = f->ev->g;
    enum cr_op op = g->nodes[t->id].op;
    struct relation first = *r, second = *r;
    bool is_abs = op == CR_OP_abs;
    if (!push_term(&first, cr_in(g, t->id, 0), &t->map, t->minus) ||
        !push_term(&second, cr_in(g, t->id, !is_abs), &t->map, t->minus != is_abs))
        return unknown;
    struct condition a = read_relation(f, &first), b = read_relation(f, &second);
    return (op == CR_OP_minimum) == t->minus ? either(&a, &b) : both(&a, &b);
}

/* True if `id` is an i32 input that holds a position: a length, or the row at which a state is
 * written (a run that would write outside the state is refused). */
static bool is_position(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (!cr_is_input(node) || node->dtype != CR_I32 || cr_elements(node->rank, node->shape) != 1)
        return false;
    if (cr_holds_length(g, id))
        return true;
    for (cr_id other = id + 1; other < g->n_nodes; other++)
        if (g->nodes[other].op == CR_OP_write) {
            cr_id at = cr_in(g, other, 2);
            while (cr_kind_of(g, at) == CR_KIND_MOVE)
                at = cr_in(g, at, 0);
            if (at == id)
                return true;
        }
    return false;
}

/* Adds a position to the shift.  Returns false if the term is not a position, if there is no room,
 * or if its sign differs from that of other positions. */
static bool add_position(const struct finder *f, struct relation *r, const struct mask_term *t)
{
    if (!is_position(f->ev->g, t->id) || r->shift.n == CR_MAX_SHIFTS ||
        (r->shift.n && r->subtracts != t->minus))
        return false;
    for (int i = 0; i < r->shift.n; i++)
        if (r->shift.ids[i] == t->id)
            return false;
    r->subtracts = t->minus;
    r->shift.ids[r->shift.n++] = t->id;
    return true;
}

/* Adds a term that is an index, a constant or a position to the sum; returns false for any other
 * term. */
static bool add_index(struct finder *f, struct relation *r, const struct mask_term *t)
{
    const struct cr_node *node = &f->ev->g->nodes[t->id];
    const struct cr_atoms *atoms = &f->ev->kernel->atoms;
    struct cr_affine index = {0};
    if (node->op == CR_OP_iota)
        index = t->map.axis[node->axis];
    else if (node->op == CR_OP_const && node->value == floor(node->value) &&
             fabs(node->value) < 1e9)
        index.base = (int64_t)node->value;
    else
        return add_position(f, r, t);
    r->reach += fabs((double)index.base);
    for (int a = 0; a < atoms->n; a++)
        r->reach += fabs((double)index.coef[a]) * (double)(atoms->extent[a] - 1);
    cr_affine_add(&r->sum, &index, t->minus ? -1 : 1);
    return true;
}

/* Returns the bounds implied by a relation.  Replaces each term by its operands until only indices
 * and numbers are left. */
static struct condition read_relation(struct finder *f, struct relation *r)
{
    const struct cr_graph *g = f->ev->g;
    while (r->n) {
        struct mask_term t = r->terms[--r->n];
        if (--f->budget < 0 || !skip_moves(f, &t.id, &t.map))
            return unknown;
        const struct cr_node *node = &g->nodes[t.id];
        bool fine = true;
        if (node->dtype == CR_F32)
            r->limit = 1 << 24;
        switch (node->op) {
        case CR_OP_float:
        case CR_OP_neg:
            fine = push_term(r, cr_in(g, t.id, 0), &t.map, t.minus != (node->op == CR_OP_neg));
            break;
        case CR_OP_add:
        case CR_OP_sub:
            fine = push_term(r, cr_in(g, t.id, 0), &t.map, t.minus) &&
                   push_term(r, cr_in(g, t.id, 1), &t.map, t.minus != (node->op == CR_OP_sub));
            break;
        case CR_OP_abs:
        case CR_OP_maximum:
        case CR_OP_minimum:
            return read_largest(f, r, &t);
        default:
            fine = add_index(f, r, &t);
        }
        if (!fine)
            return unknown;
    }
    return r->reach <= r->limit ? bound_of(f, r) : unknown;
}

/* Returns the bounds implied by a - b >= number. */
static struct condition read_difference(struct finder *f, cr_id a, cr_id b,
                                        const struct cr_map *map, int64_t number)
{
    struct relation r = {.sum.base = -number, .limit = INT32_MAX};
    push_term(&r, a, map, false);
    push_term(&r, b, map, true);
    return read_relation(f, &r);
}

/* ---- conditions ---- */

/* Returns the bounds implied by a comparison that holds or, if not `holds`, by one that does not
 * hold. */
static struct condition read_comparison(struct finder *f, cr_id id, const struct cr_map *map,
                                        bool holds)
{
    const struct cr_graph *g = f->ev->g;
    enum cr_op op = g->nodes[id].op;
    cr_id a = cr_in(g, id, 0), b = cr_in(g, id, 1);
    bool less = op == CR_OP_lt || op == CR_OP_le, strict = op == CR_OP_lt || op == CR_OP_gt;
    if (op == CR_OP_eq || op == CR_OP_ne) {
        bool equal = (op == CR_OP_eq) == holds;
        struct condition up = read_difference(f, a, b, map, !equal);
        struct condition down = read_difference(f, b, a, map, !equal);
        return equal ? both(&up, &down) : either(&up, &down);
    }
    /* the relation that holds is a >= b or a > b */
    return less == holds ? read_difference(f, b, a, map, strict == holds)
                         : read_difference(f, a, b, map, strict == holds);
}

static struct condition read_condition(struct finder *f, cr_id id, struct cr_map map, bool holds);

/* Returns the bounds implied by where(c, a, b), read as (not c or a) and (c or b). */
static struct condition read_where(struct finder *f, cr_id id, const struct cr_map *map, bool holds)
{
    const struct cr_graph *g = f->ev->g;
    cr_id chooses = cr_in(g, id, 0);
    struct condition yes = read_condition(f, chooses, *map, true);
    struct condition no = read_condition(f, chooses, *map, false);
    struct condition a = read_condition(f, cr_in(g, id, 1), *map, holds);
    struct condition b = read_condition(f, cr_in(g, id, 2), *map, holds);
    a = either(&no, &a);
    b = either(&yes, &b);
    return both(&a, &b);
}

/* Returns the bounds implied by a condition that holds or, if not `holds`, by one that does not
 * hold. */
static struct condition read_condition(struct finder *f, cr_id id, struct cr_map map, bool holds)
{
    const struct cr_graph *g = f->ev->g;
    if (--f->budget < 0 || !skip_moves(f, &id, &map) || g->nodes[id].dtype != CR_BOOL)
        return unknown;
    const struct cr_node *node = &g->nodes[id];
    struct condition nothing = anything;
    switch (node->op) {
    case CR_OP_logical_not:
        return read_condition(f, cr_in(g, id, 0), map, !holds);
    case CR_OP_logical_and:
    case CR_OP_logical_or: {
        struct condition a = read_condition(f, cr_in(g, id, 0), map, holds);
        struct condition b = read_condition(f, cr_in(g, id, 1), map, holds);
        return (node->op == CR_OP_logical_and) == holds ? both(&a, &b) : either(&a, &b);
    }
    case CR_OP_where:
        return read_where(f, id, &map, holds);
    case CR_OP_const:
        add_bound(&nothing, &(struct cr_bound){0});
        return (node->value != 0) == holds ? anything : nothing;
    case CR_OP_lt:
    case CR_OP_le:
    case CR_OP_gt:
    case CR_OP_ge:
    case CR_OP_eq:
    case CR_OP_ne:
        return read_comparison(f, id, &map, holds);
    default:
        return unknown;
    }
}

/* Adds the bounds of a condition that holds (or does not) to the kernel.  Returns true if the
 * bounds are equivalent to the condition. */
static bool bound_condition(struct finder *f, cr_id id, const struct cr_map *map, bool holds)
{
    struct cr_kernel *k = f->ev->kernel;
    struct condition c = read_condition(f, id, *map, holds);
    for (int i = 0; i < c.n; i++) {
        if (k->attention.n_bounds == CR_MAX_BOUNDS)
            return false;
        struct cr_bound *bound = &k->attention.bounds[k->attention.n_bounds++];
        *bound = c.bounds[i];
        if (!cr_has_edge(&bound->first) && !cr_has_edge(&bound->last))
            bound->last = (struct cr_edge){.stays = true, .at = -1};
    }
    return c.exact;
}

int cr_scaled_operand(const struct cr_graph *g, cr_id id)
{
    enum cr_op op = g->nodes[id].op;
    for (int i = 0; i < 2 && (op == CR_OP_mul || (op == CR_OP_div && i == 0)); i++) {
        const struct cr_node *number = &g->nodes[cr_in(g, id, 1 - i)];
        if (number->op == CR_OP_const && number->value > 0 && number->value < INFINITY)
            return i;
    }
    return -1;
}

/* Reads the masks below the logits: follows ops whose result is `hidden` (-inf or 0) wherever an
 * operand is.  exp and sigmoid are 0 where their operand is -inf. */
static void find(struct finder *f, cr_id id, struct cr_map map, double hidden)
{
    const struct cr_graph *g = f->ev->g;
    if (--f->budget < 0 || cr_is_stored(f->ev, id) || !skip_moves(f, &id, &map))
        return;
    const struct cr_node *node = &g->nodes[id];
    if (node->op == CR_OP_add && hidden) {
        find(f, cr_in(g, id, 0), map, hidden);
        find(f, cr_in(g, id, 1), map, hidden);
    }
    if (node->op == CR_OP_fma && hidden)
        find(f, cr_in(g, id, 2), map, hidden);
    if (!hidden && (node->op == CR_OP_sigmoid || node->op == CR_OP_exp))
        find(f, cr_in(g, id, 0), map, -INFINITY);
    int scaled = cr_scaled_operand(g, id);
    if (scaled >= 0)
        find(f, cr_in(g, id, scaled), map, hidden);
    if (node->op != CR_OP_where)
        return;
    int seen = cr_is_number(&g->nodes[cr_in(g, id, 2)], hidden) ? 1 : 2;
    if (!cr_is_number(&g->nodes[cr_in(g, id, 3 - seen)], hidden))
        return;
    if (bound_condition(f, cr_in(g, id, 0), &map, seen == 1) && f->n_visible < CR_MAX_BOUNDS)
        f->visible[f->n_visible++] = (struct cr_choice){id, seen};
    find(f, cr_in(g, id, seen), map, hidden);
}

int cr_find_bounds(struct cr_evaluate *ev, cr_id logits, const struct cr_map *map,
                   struct cr_choice visible[CR_MAX_BOUNDS])
{
    struct cr_kernel *k = ev->kernel;
    struct finder f = {.ev = ev, .visible = visible, .budget = 16 * CR_MAX_VALUES};
    k->attention.n_bounds = k->attention.n_shifts = 0;
    find(&f, logits, *map, k->attention.direct ? 0 : -INFINITY);
    for (int i = 0; i < f.shift.n && k->attention.n_bounds; i++) {
        int ref = cr_add_ref(ev->kernel, f.shift.ids[i]);
        if (ref < 0) {
            k->attention.n_bounds = k->attention.n_shifts = 0;
            return 0;
        }
        k->attention.shift[k->attention.n_shifts++] = ref;
    }
    return f.n_visible;
}
