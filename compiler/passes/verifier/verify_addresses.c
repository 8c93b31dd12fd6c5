/* verify_addresses.c - bounds the addresses of a call.  Addresses in scratch and constants must be
 * inside their slot. Bounds of addresses in arguments are recorded, and checked at each call of the
 * function. */
#include "runtime/runtime.h"
#include "verify_body.h"

/* ---- the elements that a call accesses ---- */

/* The first and the last element of a slot that a call may access. */
struct region {
    struct cr_linear first, last;
};

/* Sets *value to the element number of an address: base + the sum of (var - origin) * coef. */
static void evaluate_address(struct cr_walk *w, const struct cr_address *a, struct cr_linear *value)
{
    struct cr_linear x;
    cr_linear_set(value, a->base);
    for (int i = 0; i < a->n_terms; i++) {
        const struct cr_term *t = &w->c->f->terms[a->first_term + i];
        cr_walk_var(w, t->var, &x);
        cr_linear_add(value, &x, t->coef);
        if (t->origin == CR_NONE)
            continue;
        cr_walk_var(w, t->origin, &x);
        cr_linear_add(value, &x, -t->coef);
    }
}

/* Sets *value to a count or a stride among a call's arguments. */
static int evaluate_size(struct cr_walk *w, const struct cr_call *call, const struct cr_size *size,
                         struct cr_linear *value)
{
    cr_linear_set(value, size->number);
    if (size->argument == CR_NONE)
        return 0;
    return cr_walk_expr(w, cr_argument_of(w->c->f, call, size->argument)->number, value);
}

/* Extends a region for `count` rows or columns that are `stride` apart: adds (count - 1) * stride
 * to its end, or to its beginning if the stride is negative.  At least one of the two must be a
 * number.  An overflow makes the sum `lost`. */
static int stretch(struct cr_walk *w, struct region *r, const struct cr_linear *count,
                   const struct cr_linear *stride)
{
    bool fixed = cr_linear_is_number(stride);
    struct cr_linear *end = fixed && stride->number < 0 ? &r->first : &r->last;
    if (!fixed && !cr_linear_is_number(count))
        return cr_program_fault(w->c, "neither how many rows there are nor how far apart is fixed");
    if (!fixed && !cr_is_at_least(&w->u, stride, 0))
        return cr_program_fault(w->c, "rows may lie a negative distance apart");
    if (fixed)
        cr_linear_add(end, count, stride->number);
    else
        cr_linear_add(end, stride, count->number);
    cr_linear_add(end, stride, -1);
    return 0;
}

/* Splits a into by * multiple + rest, summand by summand. */
static void split(const struct cr_linear *a, int64_t by, struct cr_linear *multiple,
                  struct cr_linear *rest)
{
    bool whole = a->number % by == 0;
    cr_linear_set(multiple, whole ? a->number / by : 0);
    cr_linear_set(rest, whole ? 0 : a->number);
    multiple->lost = rest->lost = a->lost;
    for (int i = 0; i < a->n; i++) {
        struct cr_summand s = a->summands[i];
        whole = s.factor % by == 0;
        s.factor /= whole ? by : 1;
        struct cr_linear *to = whole ? multiple : rest;
        to->summands[to->n++] = s;
    }
}

/* Adds the size of K rows of a panel, minus 1, to *last, in units of the format.  K is rounded up
 * to whole blocks. */
static void add_rows(struct cr_linear *last, enum cr_format format, const struct cr_linear *K)
{
    int block = cr_formats[format].block;
    struct cr_linear rows, one;
    cr_linear_copy(&rows, K);
    rows.number +=
        cr_linear_is_number(K) ? cr_block_rows(format, K->number) - K->number : block - 1;
    cr_linear_add(last, &rows, CR_PANEL / block * cr_column_units(format, block));
    cr_linear_set(&one, 1);
    cr_linear_add(last, &one, -1);
}

/*
 * Extends a region to the end of panels of N columns, each of K rows, in units of a format.  If the
 * columns before the call's first one are whole panels, rounds them and the N columns up together,
 * since only their sum has a bound.  Keeps other terms of the address, such as the rows of a part
 * of k.
 */
static int stretch_panels(struct cr_walk *w, enum cr_format format, struct region *r,
                          const struct cr_linear *K, const struct cr_linear *N,
                          const struct cr_linear *stride)
{
    int64_t column = stride->number / CR_PANEL, most, depth;
    struct cr_linear columns, rest;
    if (!cr_linear_is_number(stride) || column < 1 || stride->number % CR_PANEL ||
        !cr_find_most(&w->u, K, &depth) || cr_column_units(format, depth) > column)
        return cr_program_fault(w->c, "panels are not far enough apart for their rows");
    split(&r->first, column, &columns, &rest);
    bool whole = !cr_linear_is_number(N) && cr_divides(&w->u, &columns, CR_PANEL);
    if (!whole)
        cr_linear_set(&columns, 0);
    cr_linear_add(&columns, N, 1);
    if (!cr_find_most(&w->u, &columns, &most) || most > CR_MAX_ELEMENTS)
        return cr_program_fault(w->c, "it is not known how many panels there are");
    if (whole)
        cr_linear_copy(&r->last, &rest);
    cr_linear_set(&columns, (most + CR_PANEL - 1) / CR_PANEL - 1);
    cr_linear_add(&r->last, &columns, stride->number);
    add_rows(&r->last, format, K);
    return 0;
}

/* Extends a region to the end of M rounded rows of K elements.  Each row is contiguous and has
 * whole blocks. */
static int stretch_rounded(struct cr_walk *w, enum cr_format format, struct region *r,
                           const struct cr_linear *M, const struct cr_linear *K,
                           const struct cr_linear *stride)
{
    struct cr_linear units;
    int64_t most;
    if (!cr_find_most(&w->u, K, &most) || !cr_linear_is_number(stride) ||
        cr_column_units(format, most) > stride->number)
        return cr_program_fault(w->c, "rounded rows are not far enough apart");
    cr_linear_set(&units, cr_column_units(format, most) - 1);
    cr_linear_add(&r->last, &units, 1);
    return stretch(w, r, M, stride);
}

/* Sets *r to the elements that a call accesses through one of its addresses: rows and columns with
 * the strides that the signature names, or packed panels. */
static int find_region(struct cr_walk *w, const struct cr_call *call, const struct cr_parameter *p,
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
        return stretch_panels(w, p->format, r, &rows, &cols, &row_stride);
    if (p->format != CR_FORMAT_f32)
        return stretch_rounded(w, p->format, r, &rows, &cols, &row_stride);
    return stretch(w, r, &rows, &row_stride) || stretch(w, r, &cols, &col_stride) ? -1 : 0;
}

/* ---- checks of regions ---- */

/* Fails if a region of scratch or of a constant is not inside the slot.  A region of an argument
 * extends the argument's reach. */
static int check_region(struct cr_walk *w, const struct cr_parameter *p, int slot,
                        const struct region *r)
{
    const struct cr_slot *s = &w->c->f->slots[slot];
    int64_t lowest, highest;
    int64_t units = s->kind == CR_SLOT_CONSTANT ? 1 : cr_column_units(s->format, s->elements);
    if (!cr_find_least(&w->u, &r->first, &lowest) || !cr_find_most(&w->u, &r->last, &highest))
        return cr_program_fault(w->c, "it is not known how far it reaches in %s", s->name);
    if (s->kind == CR_SLOT_ARGUMENT) {
        cr_widen_reach(w, slot, p->written, lowest, highest);
        return 0;
    }
    if (lowest < 0 || highest >= units)
        return cr_program_fault(w->c, "it reaches from %lld to %lld in %s, which has %lld elements",
                                (long long)lowest, (long long)highest, s->name,
                                (long long)units);
    return 0;
}

static int walk_number(struct cr_walk *w, const struct cr_parameter *p, cr_expr number)
{
    struct cr_linear value;
    if (cr_walk_expr(w, number, &value))
        return -1;
    if (p->kind == CR_PARAMETER_COUNT && !cr_is_at_least(&w->u, &value, 0))
        return cr_program_fault(w->c, "a count may be negative");
    return 0;
}

int cr_walk_call(struct cr_walk *w, const struct cr_call *call)
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
