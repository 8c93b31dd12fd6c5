/* verify_calls.c - checks the steps of a program by a simulated run.  The run visits every call in
 * execution order, with loops unrolled, and records which buffer was the last to write each
 * byte. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "compiler/passes/schedule/loop_bindings.h"
#include "last_writer.h"
#include "verify_program.h"

/* The state of a buffer in the simulated run. */
struct state {
    int parts, made;     /* the number of calls that write the buffer, and how many of them have
                            run */
    int64_t first, last; /* the range of elements of the buffer that have been written */
    int maker;           /* for an output: 1 + the function that writes all of it, or 0 */
};

struct run {
    struct cr_program_check *c;
    const struct cr_program *p;
    const struct cr_entry *entry;
    struct state *states; /* by buffer: the buffer's state */
    int *held;            /* by input that is a state: the buffer whose value its memory has;
                             CR_NONE for the value from before the run */
    struct cr_last_writer arena;
    struct cr_step_walk at;
};

/* A check that run_steps applies to each step with operands, in execution order. */
typedef int see_step(struct run *r, const struct cr_step *step);

static int broken(const struct run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int broken(const struct run *r, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (r->at.loop)
        return cr_fail(r->c->error, "step %d, iteration %d: %s", r->at.index, r->at.iteration, what);
    return cr_fail(r->c->error, "step %d: %s", r->at.index, what);
}

static const struct cr_slot *slot_of(const struct run *r, const struct cr_step *call, int slot)
{
    return &r->p->functions[call->function].slots[slot];
}

static const struct cr_binding *binding_of(const struct run *r, const struct cr_step *call,
                                           int slot)
{
    return &r->p->bindings[call->first_binding + slot];
}

/* Returns the buffer or number that is bound to a slot in the current iteration, and the offset in
 * the buffer. */
static struct cr_given given_to(const struct run *r, const struct cr_step *call, int slot)
{
    return r->p->bound[binding_of(r, call, slot)->first_buffer + r->at.iteration];
}

/* Returns the index of the buffer, or the number, that is bound to a slot in the current
 * iteration. */
static int64_t bound_to(const struct run *r, const struct cr_step *call, int slot)
{
    return given_to(r, call, slot).what;
}

/* Returns the size of a buffer in units of its format, the units of addresses. */
static int64_t units_of(const struct cr_buffer *b)
{
    return b->bytes / cr_formats[b->format].unit;
}

/* Returns the reach of a step without code: the whole buffer. */
static struct cr_reach whole_of(const struct run *r, const struct cr_step *step, int slot)
{
    int64_t last = units_of(&r->p->buffers[bound_to(r, step, slot)]) - 1;
    return (struct cr_reach){
        .touched = true, .lowest = 0, .highest = last, .first = 0, .last = last};
}

/* Returns the range of units that a step accesses in the buffer bound to a slot. */
static struct cr_reach reach_of(const struct run *r, const struct cr_step *step, int slot)
{
    if (cr_step_is(step, CR_STEP_WHOLE) && slot_of(r, step, slot)->kind == CR_SLOT_ARGUMENT)
        return whole_of(r, step, slot);
    struct cr_reach reach = r->c->reaches[r->c->first_reach[step->function] + slot];
    int64_t start = given_to(r, step, slot).start / cr_formats[slot_of(r, step, slot)->format].unit;
    reach.lowest += start;
    reach.highest += start;
    reach.first += start;
    reach.last += start;
    return reach;
}

/* ---- indices of steps and bindings ---- */

static bool is_part(int first, int n, int all)
{
    return first >= 0 && n >= 0 && n <= all && first <= all - n;
}

static int verify_table(const struct run *r, const struct cr_binding *b, int slot)
{
    int first = b->first_differs, last = r->at.loop->count - 1 - b->last_differs;
    if (!is_part(b->first_row, b->n_rows, r->p->n_table))
        return broken(r, "argument %d: its table has rows that are not there", slot);
    for (int end = 0; end < 2 && first <= last; end++) {
        int layer = r->at.loop->start + (end ? last : first) * r->at.loop->direction;
        if (layer < b->first_layer || layer - b->first_layer >= b->n_rows)
            return broken(r, "argument %d: its table has no row for layer %d", slot, layer);
    }
    return 0;
}

/* Fails unless the indices that cr_location_in uses are valid, and a relative binding has the
 * stride of the loop. */
static int verify_form(const struct run *r, const struct cr_binding *b, int slot)
{
    if ((int)b->form < 0 || b->form > CR_FORM_TABLE)
        return broken(r, "argument %d has no such form as %d", slot, (int)b->form);
    if (!is_part(b->first_buffer, r->at.loop ? r->at.loop->count : 1, r->p->n_bound))
        return broken(r, "argument %d is bound to what is not there", slot);
    if (!r->at.loop && (b->form != CR_FORM_SAME || b->first_differs || b->last_differs))
        return broken(r, "argument %d depends on the layer, and there is no loop", slot);
    if (!r->at.loop)
        return 0;
    int64_t stride = b->space == CR_SPACE_WEIGHTS ? r->at.loop->weights_stride
                     : b->space == CR_SPACE_ARENA ? r->at.loop->arena_stride
                                                  : 0;
    if (b->relative && (b->form != CR_FORM_EVEN || !stride || b->stride != stride))
        return broken(r, "argument %d does not go with the loop's pointer to the layer", slot);
    return b->form == CR_FORM_TABLE ? verify_table(r, b, slot) : 0;
}

/* Fails unless the i32 that selects a matrix is an argument that the step only reads, and so is the
 * argument with the stack.  read_buffer checks later whether the i32 was written before. */
static int verify_choice(const struct run *r, const struct cr_step *step, int slot)
{
    const struct cr_chosen_part *choice = &binding_of(r, step, slot)->choice;
    int by = choice->by - step->first_binding, n = r->p->functions[step->function].n_bound;
    if (!choice->bound)
        return 0;
    if (choice->by < step->first_binding || by >= n)
        return broken(r, "argument %d is chosen by an argument that is not there", slot);
    const struct cr_slot *number = slot_of(r, step, by), *s = slot_of(r, step, slot);
    if (number->kind != CR_SLOT_ARGUMENT || number->format != CR_FORMAT_i32 || number->written ||
        binding_of(r, step, by)->choice.bound)
        return broken(r, "argument %d is chosen by argument %d, which is no i32 that is read", slot, by);
    if (s->kind != CR_SLOT_ARGUMENT || s->written || choice->bound < 0 ||
        choice->bound > INT32_MAX || choice->stride < 0 ||
        choice->stride % cr_formats[s->format].unit)
        return broken(r, "argument %d: it cannot be one of %lld parts, %lld bytes apart", slot,
                      (long long)choice->bound, (long long)choice->stride);
    return 0;
}

/* Fails unless the function and the bindings of a step exist. */
static int verify_operands(const struct run *r, const struct cr_step *step)
{
    if (step->function < 0 || step->function >= r->p->n_functions)
        return broken(r, "there is no function %d", step->function);
    if (!r->p->functions[step->function].n_body != cr_step_is(step, CR_STEP_WHOLE))
        return broken(r, "a function %s code is not run by a step of kind %s",
                      cr_step_is(step, CR_STEP_WHOLE) ? "with" : "without",
                      cr_step_kinds[step->kind].name);
    int n = r->p->functions[step->function].n_bound;
    if (!is_part(step->first_binding, n, r->p->n_bindings))
        return broken(r, "it has bindings that are not there");
    for (int i = 0; i < n; i++)
        if (verify_form(r, binding_of(r, step, i), i) || verify_choice(r, step, i))
            return -1;
    return 0;
}

/* Fails if loops are nested, or if a step that begins or ends a loop is misplaced. */
static int verify_nesting(const struct run *r, const struct cr_step *step)
{
    if (cr_step_is(step, CR_STEP_OPENS) && r->at.loop)
        return broken(r, "a loop in a loop");
    if (cr_step_is(step, CR_STEP_CLOSES) && !r->at.loop)
        return broken(r, "no loop is open that could end");
    return 0;
}

/* Fails unless everything that a step refers to exists, and the step's own numbers are valid. */
static int verify_step(const struct run *r, const struct cr_step *step)
{
    if (verify_nesting(r, step))
        return -1;
    const char *flaw = cr_step_kinds[step->kind].flaw(step);
    if (flaw)
        return broken(r, "%s", flaw);
    return cr_step_is(step, CR_STEP_OPERANDS) ? verify_operands(r, step) : 0;
}

static int verify_kinds(const struct run *r)
{
    for (int i = 0; i < r->p->n_steps; i++)
        if ((int)r->p->steps[i].kind < 0 || r->p->steps[i].kind >= CR_STEP_KINDS)
            return cr_fail(r->c->error, "step %d: there is no such kind of step as %d", i,
                           (int)r->p->steps[i].kind);
    return 0;
}

/* Checks each step once, without unrolling loops. */
static int verify_names(struct run *r)
{
    if (verify_kinds(r))
        return -1;
    r->at = cr_walk_steps(r->p, 0, r->p->n_steps, false);
    for (const struct cr_step *step; (step = cr_next_step(&r->at));)
        if (verify_step(r, step))
            return -1;
    if (r->at.loop)
        return cr_fail(r->c->error, "step %d: its loop does not end", r->at.loop_index);
    return 0;
}

/* ---- the simulated run ---- */

/* Applies a check to all steps of an entry, with loops unrolled. */
static int run_steps(struct run *r, see_step *see)
{
    r->at = cr_walk_entry(r->p, r->entry, true);
    for (const struct cr_step *step; (step = cr_next_step(&r->at));)
        if (cr_step_is(step, CR_STEP_OPERANDS) && see(r, step))
            return -1;
    return 0;
}

/* ---- bindings of calls ---- */

/* Fails unless the formula of a binding gives the location of the buffer that the binding lists. */
static int verify_location(const struct run *r, const struct cr_step *call, int slot)
{
    struct cr_location at = cr_location_in(r->p, binding_of(r, call, slot), r->at.loop, r->at.iteration);
    struct cr_location expected =
        cr_location_of(r->p, slot_of(r, call, slot), given_to(r, call, slot));
    if (at.space == expected.space && at.offset == expected.offset && at.within == expected.within)
        return 0;
    if (at.offset == expected.offset)
        return broken(r, "argument %d: its form says %lld bytes inside, it is bound to %lld", slot,
                      (long long)at.within, (long long)expected.within);
    return broken(r, "argument %d: its form says %lld, it is bound to %lld", slot,
                  (long long)at.offset, (long long)expected.offset);
}

/* True if the element with the i32 that selects a matrix is in the buffer that the binding
 * names. */
static bool is_number_there(const struct run *r, const struct cr_step *step,
                            const struct cr_chosen_part *choice)
{
    int by = choice->by - step->first_binding;
    int64_t buffer = bound_to(r, step, by);
    int64_t at = given_to(r, step, by).start / (int64_t)sizeof(int32_t) + choice->element;
    return buffer >= 0 && buffer < r->p->n_buffers && at >= 0 &&
           at < units_of(&r->p->buffers[buffer]);
}

/* Fails unless an argument begins at a whole element of its buffer, and the function accesses no
 * element outside the buffer, for any value of the i32 that selects a matrix. */
static int verify_reach(const struct run *r, const struct cr_step *call, int slot,
                        const struct cr_buffer *b)
{
    struct cr_reach reach = reach_of(r, call, slot);
    int64_t elements = units_of(b), start = given_to(r, call, slot).start;
    if (start % cr_formats[b->format].unit)
        return broken(r, "argument %d (%s) begins %lld bytes into its buffer, inside an element", slot,
                      slot_of(r, call, slot)->name, (long long)start);
    const struct cr_chosen_part *choice = &binding_of(r, call, slot)->choice;
    if (choice->bound && !is_number_there(r, call, choice))
        return broken(r, "argument %d (%s): the number that chooses it is not in its buffer", slot,
                      slot_of(r, call, slot)->name);
    int64_t step = choice->stride / cr_formats[b->format].unit;
    if (choice->bound && (step > elements || choice->bound > elements))
        return broken(r, "argument %d (%s): the parts that it is chosen from do not fit in", slot,
                      slot_of(r, call, slot)->name);
    if (choice->bound)
        reach.highest += (choice->bound - 1) * step;
    if (reach.touched && (reach.lowest < 0 || reach.highest >= elements))
        return broken(r, "argument %d (%s): it reaches from %lld to %lld of %lld elements", slot,
                      slot_of(r, call, slot)->name, (long long)reach.lowest,
                      (long long)reach.highest, (long long)elements);
    return 0;
}

/* True if a buffer is the next value of a state, which calls write, rather than the old value. */
static bool is_next(const struct cr_buffer *b)
{
    return b->space == CR_SPACE_STATE && b->alias != CR_NONE;
}

/*
 * Checks the buffer of an argument.  It must have the argument's format, belong to this entry, be
 * at the location that the binding's formula gives, and have all elements that the function
 * accesses.  If the function writes it, it must be in the arena, an output, or the next value of a
 * state.  If the argument is packed, it must be a weight.
 */
static int verify_buffer_of(struct run *r, const struct cr_step *call, int slot, int64_t bound)
{
    const struct cr_slot *s = slot_of(r, call, slot);
    if (bound < 0 || bound >= r->p->n_buffers)
        return broken(r, "argument %d: there is no buffer %lld", slot, (long long)bound);
    const struct cr_buffer *b = &r->p->buffers[bound];
    bool made = b->space == CR_SPACE_ARENA || b->space == CR_SPACE_OUTPUT || is_next(b);
    if (s->format != b->format)
        return broken(r, "argument %d (%s) is %s, its buffer %s", slot, s->name,
                      cr_formats[s->format].name, cr_formats[b->format].name);
    if (s->written && !made)
        return broken(r, "argument %d (%s) is written, its buffer only to be read", slot, s->name);
    if (s->packed && b->space != CR_SPACE_WEIGHTS)
        return broken(r, "argument %d (%s) is packed, its buffer no weight", slot, s->name);
    if (!(b->entries >> (r->entry - r->p->entries) & 1))
        return broken(r, "argument %d (%s): its buffer is not of this entry", slot, s->name);
    return verify_location(r, call, slot) || verify_reach(r, call, slot, b) ? -1 : 0;
}

/* True if an argument is bound to the length of its slot or, for a ragged length, to the input that
 * has the sizes. */
static bool holds_length(const struct run *r, const struct cr_slot *s, int64_t bound)
{
    if (s->kind == CR_SLOT_NUMBER)
        return bound == s->length;
    return bound >= 0 && bound < r->p->n_buffers &&
           r->p->buffers[bound].space == CR_SPACE_INPUT &&
           r->p->buffers[bound].offset == r->p->input_of_length[s->length];
}

/* True if a call writes all of an output that an earlier call of the same function has written, as
 * when other results of that function are recomputed.  Records the function. */
static bool is_rewrite(struct run *r, const struct cr_step *call, int slot)
{
    int64_t buffer = bound_to(r, call, slot);
    struct cr_reach reach = reach_of(r, call, slot);
    struct state *s = &r->states[buffer];
    if (r->p->buffers[buffer].space != CR_SPACE_OUTPUT || slot_of(r, call, slot)->partly ||
        reach.first > 0 || reach.last < units_of(&r->p->buffers[buffer]) - 1)
        return false;
    if (s->maker == call->function + 1)
        return true;
    s->maker = call->function + 1;
    return false;
}

/* Checks the buffers of a call, and counts the call as a writer of each buffer that it writes. */
static int see_arguments(struct run *r, const struct cr_step *call)
{
    int n = r->p->functions[call->function].n_bound;
    for (int i = 0; i < n; i++) {
        const struct cr_slot *s = slot_of(r, call, i);
        int64_t bound = bound_to(r, call, i);
        if (s->length >= 0 && !holds_length(r, s, bound))
            return broken(r, "argument %d (%s) is given length %lld", i, s->name, (long long)bound);
        int status = s->kind == CR_SLOT_NUMBER ? verify_location(r, call, i)
                                               : verify_buffer_of(r, call, i, bound);
        if (status)
            return -1;
        if (s->written && !is_rewrite(r, call, i))
            r->states[bound].parts++;
    }
    return 0;
}

/* ---- reads and writes of memory ---- */

static struct cr_range range_of(const struct run *r, int64_t buffer)
{
    const struct cr_buffer *b = &r->p->buffers[buffer];
    return (struct cr_range){b->offset, b->offset + b->bytes};
}

/* Fails if another buffer overwrote a part of this buffer in the arena. */
static int check_place(struct run *r, int buffer)
{
    if (r->p->buffers[buffer].space != CR_SPACE_ARENA)
        return 0;
    int writer = cr_other_writer(&r->arena, range_of(r, buffer), buffer);
    if (writer != buffer)
        return broken(r, "it writes a part of buffer %d, where buffer %d is written over another",
                      buffer, writer);
    return 0;
}

/* Records that a call writes some elements of a buffer.  Fails unless the whole buffer already has
 * a value, from earlier calls or from a state. */
static int write_partly(struct run *r, int buffer)
{
    struct state *s = &r->states[buffer];
    const struct cr_buffer *b = &r->p->buffers[buffer];
    int64_t elements = units_of(b);
    if (is_next(b) && !s->made && r->held[b->offset] == CR_NONE) {
        *s = (struct state){.parts = s->parts, .last = elements - 1};
        r->held[b->offset] = buffer;
    } else if (!s->made || s->first > 0 || s->last < elements - 1) {
        return broken(r, "it writes over a part of buffer %d, of which not all is there", buffer);
    }
    return check_place(r, buffer);
}

/* Records a write.  If several calls write parts of a buffer, the first one takes the buffer's
 * memory, and it is a fault if another buffer overwrites that memory before a later call. */
static int write_buffer(struct run *r, int buffer, bool partly, const struct cr_reach *reach)
{
    struct state *s = &r->states[buffer];
    if (partly)
        return write_partly(r, buffer);
    if (!s->made || reach->first < s->first)
        s->first = reach->first;
    if (!s->made || reach->last > s->last)
        s->last = reach->last;
    const struct cr_buffer *b = &r->p->buffers[buffer];
    if (b->space == CR_SPACE_STATE && !s->made && r->held[b->offset] != CR_NONE)
        return broken(r, "it writes buffer %d over buffer %d", buffer, r->held[b->offset]);
    if (b->space == CR_SPACE_STATE)
        r->held[b->offset] = buffer;
    if (b->space != CR_SPACE_ARENA)
        return 0;
    if (!s->made)
        cr_write_range(&r->arena, range_of(r, buffer), buffer);
    return check_place(r, buffer);
}

static bool same_address(const struct cr_function *f, const struct cr_address *a,
                         const struct cr_address *b)
{
    bool same = a->base == b->base && a->n_terms == b->n_terms;
    for (int i = 0; same && i < a->n_terms; i++) {
        const struct cr_term *x = &f->terms[a->first_term + i], *y = &f->terms[b->first_term + i];
        same = x->var == y->var && x->origin == y->origin && x->coef == y->coef;
    }
    return same;
}

/* True if a function reads slot `read` only at the addresses at which it writes slot `written`. */
static bool reads_in_place(const struct cr_function *f, int read, int written)
{
    for (int i = 0; i < f->n_exprs; i++)
        if (f->exprs[i].op == CR_EXPR_LOAD && f->exprs[i].a == read)
            return false;
    for (int i = 0; i < f->n_arguments; i++) {
        const struct cr_argument *a = &f->arguments[i];
        bool found = a->kind != CR_ARGUMENT_ADDRESS || a->address.slot != read;
        for (int j = 0; j < f->n_arguments && !found; j++)
            found = f->arguments[j].kind == CR_ARGUMENT_ADDRESS &&
                    f->arguments[j].address.slot == written &&
                    same_address(f, &a->address, &f->arguments[j].address);
        if (!found)
            return false;
    }
    return true;
}

/* True if a call of the runtime reads or writes a slot or, if `written`, writes it. */
static bool touches(const struct run *r, const struct cr_function *f, const struct cr_call *call,
                    int slot, bool written)
{
    const struct cr_signature *signature = cr_signature_of(r->c, call);
    for (int i = 0; i < signature->n; i++) {
        const struct cr_argument *a = cr_argument_of(f, call, i);
        if (a->kind == CR_ARGUMENT_ADDRESS && a->address.slot == slot &&
            (!written || signature->parameters[i].written))
            return true;
    }
    return false;
}

/* True if no call of the runtime reads slot `read` after a call that writes slot `written`.  The
 * two slots may then have the same memory: a state or a value in the arena, and the result that
 * replaces it. */
static bool reads_before(const struct run *r, const struct cr_function *f, int read, int written)
{
    bool is_written = false;
    for (int i = 0; i < f->n_body; i++) {
        if (f->body[i].kind != CR_STATEMENT_CALL)
            continue;
        const struct cr_call *call = &f->calls[f->body[i].call];
        if (is_written && touches(r, f, call, read, false))
            return false;
        is_written |= touches(r, f, call, written, true);
    }
    return true;
}

/* Fails unless a state's memory has the value that a call reads, old or next.  A call that
 * overwrites the old value must read each element before it writes that element. */
static int read_state(const struct run *r, const struct cr_step *call, int slot)
{
    int buffer = (int)bound_to(r, call, slot);
    const struct cr_buffer *b = &r->p->buffers[buffer];
    int held = r->held[b->offset];
    if (held == (is_next(b) ? buffer : CR_NONE))
        return !is_next(b) || r->states[buffer].made == r->states[buffer].parts
                   ? 0
                   : broken(r, "it reads buffer %d before all of it is written", buffer);
    const struct cr_function *f = &r->p->functions[call->function];
    for (int i = 0; i < f->n_bound && !is_next(b) && r->states[held].parts == 1; i++)
        if (f->slots[i].written && bound_to(r, call, i) == held &&
            given_to(r, call, i).start == given_to(r, call, slot).start &&
            reads_in_place(f, slot, i) && reads_before(r, f, slot, i))
            return 0;
    return broken(r, "it reads buffer %d, where buffer %d is written over it", buffer, held);
}

/* True if the call that reads a slot is also the writer of buffer `writer` in the same memory: it
 * writes all of it, and reads each element of the slot before it writes that element. */
static bool is_replaced(const struct run *r, const struct cr_step *call, int slot, int writer)
{
    const struct cr_function *f = &r->p->functions[call->function];
    if (writer < 0 || r->states[writer].parts != 1)
        return false;
    struct cr_range read = range_of(r, bound_to(r, call, slot)), written = range_of(r, writer);
    for (int i = 0; i < f->n_bound; i++)
        if (f->slots[i].written && bound_to(r, call, i) == writer && read.begin == written.begin &&
            read.end == written.end && given_to(r, call, i).start == given_to(r, call, slot).start &&
            reads_in_place(f, slot, i) && reads_before(r, f, slot, i))
            return true;
    return false;
}

/* Fails unless a buffer that a call reads is complete and not overwritten, except if the call
 * itself replaces it element by element. */
static int read_buffer(struct run *r, const struct cr_step *call, int slot)
{
    int buffer = (int)bound_to(r, call, slot);
    const struct state *s = &r->states[buffer];
    const struct cr_buffer *b = &r->p->buffers[buffer];
    if (b->space == CR_SPACE_STATE)
        return read_state(r, call, slot);
    if (b->space != CR_SPACE_ARENA && b->space != CR_SPACE_OUTPUT)
        return 0;
    if (!s->made || s->made != s->parts)
        return broken(r, "it reads buffer %d before all of it is written", buffer);
    if (b->space != CR_SPACE_ARENA)
        return 0;
    int writer = cr_other_writer(&r->arena, range_of(r, buffer), buffer);
    if (writer != buffer && !is_replaced(r, call, slot, writer))
        return broken(r, "it reads buffer %d, where buffer %d is written over it", buffer, writer);
    return 0;
}

/*
 * Records the writes of a call before checking its reads, so that a call that overwrites its own
 * operand is found.  A write makes a buffer complete only after the reads, since a call cannot read
 * its own result.
 */
static int see_memory(struct run *r, const struct cr_step *call)
{
    int n = r->p->functions[call->function].n_bound;
    for (int i = 0; i < n; i++) {
        struct cr_reach reach = reach_of(r, call, i);
        if (slot_of(r, call, i)->written &&
            write_buffer(r, (int)bound_to(r, call, i), slot_of(r, call, i)->partly, &reach))
            return -1;
    }
    for (int i = 0; i < n; i++)
        if (slot_of(r, call, i)->kind == CR_SLOT_ARGUMENT && !slot_of(r, call, i)->written &&
            read_buffer(r, call, i))
            return -1;
    for (int i = 0; i < n; i++)
        if (slot_of(r, call, i)->written) {
            struct state *s = &r->states[bound_to(r, call, i)];
            s->made += s->made < s->parts;
        }
    return 0;
}

/* ---- the state after the run ---- */

/* Fails unless each buffer that was written was written from its first element to its last. */
static int verify_states(const struct run *r)
{
    for (int i = 0; i < r->p->n_buffers; i++) {
        const struct state *s = &r->states[i];
        const struct cr_buffer *b = &r->p->buffers[i];
        int64_t elements = units_of(b);
        if (s->made && (s->first > 0 || s->last < elements - 1))
            return cr_fail(r->c->error,
                           "buffer %d: elements %lld to %lld of %lld are written, expected all", i,
                           (long long)s->first, (long long)s->last, (long long)elements);
    }
    return 0;
}

/* Sets written[i] for each output i that the entry has written. */
static void note_outputs(const struct run *r, bool *written)
{
    for (int i = 0; i < r->p->n_buffers; i++)
        if (r->p->buffers[i].space == CR_SPACE_OUTPUT && r->states[i].made)
            written[r->p->buffers[i].offset] = true;
}

static void begin_arena(struct run *r)
{
    struct cr_range *ranges = cr_calloc((size_t)r->p->n_buffers, sizeof *ranges);
    int n = 0;
    for (int i = 0; i < r->p->n_buffers; i++)
        if (r->p->buffers[i].space == CR_SPACE_ARENA)
            ranges[n++] = range_of(r, i);
    cr_last_writer_begin(&r->arena, ranges, n);
    free(ranges);
}

/* Simulates one entry.  At its beginning nothing has been written, and each state has its old
 * value. */
static int verify_entry(struct run *r, bool *written)
{
    for (int i = 0; i < r->p->n_buffers; i++)
        r->states[i] = (struct state){0};
    for (int i = 0; i < r->p->n_inputs; i++)
        r->held[i] = CR_NONE;
    if (run_steps(r, see_arguments))
        return -1;
    begin_arena(r);
    int status = run_steps(r, see_memory) || verify_states(r);
    note_outputs(r, written);
    cr_last_writer_end(&r->arena);
    return status ? -1 : 0;
}

static int verify_steps_of(const struct run *r, int entry)
{
    const struct cr_entry *e = &r->p->entries[entry];
    int loops = 0;
    if (!is_part(e->first_step, e->n_steps, r->p->n_steps))
        return cr_fail(r->c->error, "entry %d has steps that are not there", entry);
    for (int i = e->first_step; i < e->first_step + e->n_steps && loops >= 0; i++)
        loops += cr_step_is(&r->p->steps[i], CR_STEP_OPENS) -
                 cr_step_is(&r->p->steps[i], CR_STEP_CLOSES);
    return loops ? cr_fail(r->c->error, "entry %d begins or ends in a loop", entry) : 0;
}

/* Simulates each entry separately.  Fails unless each output is written by some entry. */
static int verify_entries(struct run *r, bool *written)
{
    if (r->p->n_entries > (int)(8 * sizeof r->p->buffers->entries))
        return cr_fail(r->c->error, "%d entries are more than a buffer can be of", r->p->n_entries);
    for (int i = 0; i < r->p->n_entries; i++) {
        r->entry = &r->p->entries[i];
        if (verify_steps_of(r, i) || verify_entry(r, written))
            return -1;
    }
    for (int i = 0; i < r->p->n_outputs; i++)
        if (!written[i] && cr_elements(r->p->outputs[i].rank, r->p->outputs[i].shape) > 0)
            return cr_fail(r->c->error, "output %.200s is not written", r->p->outputs[i].name);
    return 0;
}

int cr_verify_calls(struct cr_program_check *c)
{
    struct run r = {.c = c, .p = c->p};
    bool *written = cr_calloc((size_t)c->p->n_outputs, sizeof *written);
    r.states = cr_calloc((size_t)c->p->n_buffers, sizeof *r.states);
    r.held = cr_calloc((size_t)c->p->n_inputs, sizeof *r.held);
    int status = verify_names(&r) || verify_entries(&r, written);
    free(r.states);
    free(r.held);
    free(written);
    return status ? -1 : 0;
}
