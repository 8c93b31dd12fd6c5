#include "loop_bindings.h"

#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"

/* The locations of the iterations begin .. end - 1 of a loop. */
struct stretch {
    const struct cr_loop *loop;
    const struct cr_location *at;
    int begin, end;
};

/* ---- patterns of locations ---- */

/* Returns the difference of the offsets within a port between the first two iterations; 0 if there
 * is only one. */
static int64_t within_step(const struct stretch *s)
{
    return s->end - s->begin < 2 ? 0 : s->at[s->begin + 1].within - s->at[s->begin].within;
}

/* True if all locations are in one space and, inside ports, at equal distances. */
static bool is_one_space(const struct stretch *s)
{
    for (int i = s->begin; i < s->end; i++)
        if (s->at[i].space != s->at[s->begin].space ||
            (i > s->begin && s->at[i].within - s->at[i - 1].within != within_step(s)))
            return false;
    return true;
}

/* True if each offset is `step` greater than the offset `period` iterations before it. */
static bool repeats(const struct stretch *s, int period, int64_t step)
{
    for (int i = s->begin; i + period < s->end; i++)
        if (s->at[i + period].offset - s->at[i].offset != step)
            return false;
    return true;
}

/* Returns the difference of the offsets between the first two iterations; 0 if there is only
 * one. */
static int64_t first_step(const struct stretch *s)
{
    return s->end - s->begin < 2 ? 0 : s->at[s->begin + 1].offset - s->at[s->begin].offset;
}

static bool is_even(const struct stretch *s)
{
    return is_one_space(s) && repeats(s, 1, first_step(s));
}

/* True if the locations alternate between two. */
static bool is_alternating(const struct stretch *s)
{
    return is_one_space(s) && repeats(s, 2, 0);
}

static bool is_simple(const struct stretch *s)
{
    return is_even(s) || is_alternating(s);
}

/* Sets *rest to the longest stretch for which `is_fine` is true: all iterations, or all but the
 * first, the last, or both.  Returns false if there is none, or if less than `least` iterations
 * would remain. */
static bool leave_out(struct stretch *rest, const struct stretch *all, int least,
                      bool (*is_fine)(const struct stretch *))
{
    for (int ends = 0; ends < 4; ends++) {
        *rest = *all;
        rest->begin += ends & 1;
        rest->end -= ends >> 1;
        if ((ends == 0 || rest->end - rest->begin >= least) && is_fine(rest))
            return true;
    }
    return false;
}

/* ---- forms of bindings ---- */

static int layer_of(const struct stretch *s, int iteration)
{
    return s->loop ? cr_layer_of(s->loop, iteration) : 0;
}

static void find_even(struct cr_binding *b, const struct stretch *s)
{
    b->stride = s->loop ? first_step(s) * s->loop->direction : 0;
    b->start = s->at[s->begin].offset - b->stride * layer_of(s, s->begin);
    b->form = b->stride ? CR_FORM_EVEN : CR_FORM_SAME;
}

static void find_within(struct cr_binding *b, const struct stretch *s)
{
    b->within_stride = s->loop ? within_step(s) * s->loop->direction : 0;
    b->within = s->at[s->begin].within - b->within_stride * layer_of(s, s->begin);
}

static void set_alternating(struct cr_binding *b, const struct stretch *s)
{
    int odd = layer_of(s, s->begin) % 2;
    b->form = CR_FORM_ALTERNATING;
    b->alternate[odd] = s->at[s->begin].offset;
    b->alternate[!odd] = s->at[s->begin + 1].offset;
}

/* Gives the binding the form of a table: appends the offsets to the program's table, in the order
 * of the layers. */
static void find_table(struct cr_program *program, struct cr_binding *b, const struct stretch *s)
{
    bool up = s->loop->direction > 0;
    b->form = CR_FORM_TABLE;
    b->first_row = program->n_table;
    b->n_rows = s->end - s->begin;
    b->first_layer = layer_of(s, up ? s->begin : s->end - 1);
    for (int i = 0; i < b->n_rows; i++)
        *CR_PUSH(program->table, program->n_table, program->cap_table) =
            s->at[up ? s->begin + i : s->end - 1 - i].offset;
}

void cr_find_form(struct cr_program *program, struct cr_binding *binding,
                  const struct cr_loop *loop, const struct cr_location *locations)
{
    const struct stretch all = {loop, locations, 0, loop ? loop->count : 1};
    struct stretch rest;
    bool found = leave_out(&rest, &all, 3, is_simple) || leave_out(&rest, &all, 1, is_one_space);
    CR_CHECK(found); /* one of the forms fits every loop of the pass outline */
    (void)found;
    binding->space = locations[rest.begin].space;
    binding->first_differs = rest.begin > all.begin;
    binding->last_differs = rest.end < all.end;
    binding->first = locations[all.begin];
    binding->last = locations[all.end - 1];
    find_within(binding, &rest);
    if (is_even(&rest))
        find_even(binding, &rest);
    else if (is_alternating(&rest))
        set_alternating(binding, &rest);
    else
        find_table(program, binding, &rest);
}

struct cr_location cr_location_of(const struct cr_program *program, const struct cr_slot *slot,
                                  struct cr_given given)
{
    if (slot->kind == CR_SLOT_NUMBER)
        return (struct cr_location){slot->length < 0 ? CR_SPACE_NONE : CR_SPACE_LENGTH, given.what,
                                    0};
    const struct cr_buffer *b = &program->buffers[given.what];
    if (b->space == CR_SPACE_ARENA || b->space == CR_SPACE_WEIGHTS)
        return (struct cr_location){b->space, b->offset + given.start, 0};
    return (struct cr_location){b->space, b->offset, given.start};
}

struct cr_location cr_location_in(const struct cr_program *program,
                                  const struct cr_binding *b, const struct cr_layers *loop,
                                  int iteration)
{
    int layer = loop ? loop->start + iteration * loop->direction : 0;
    struct cr_location at = {b->space, b->start, b->within + layer * b->within_stride};
    if (b->first_differs && iteration == 0)
        return b->first;
    if (b->last_differs && iteration == loop->count - 1)
        return b->last;
    switch (b->form) {
    case CR_FORM_SAME:
        break;
    case CR_FORM_EVEN:
        at.offset += layer * b->stride;
        break;
    case CR_FORM_ALTERNATING:
        at.offset = b->alternate[layer % 2];
        break;
    case CR_FORM_TABLE:
        at.offset = program->table[b->first_row + layer - b->first_layer];
        break;
    case CR_FORM_RANKS: /* the location on rank 0 */
        at.offset = program->table[b->first_row];
        break;
    }
    return at;
}
