/* Prints a program as Lua comments: buffers with their locations, functions with their bodies,
 * and steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "print_expr.h"
#include "print_graph.h"
#include "steps.h"
#include "text.h"

enum { WIDTH = 100, INDENT = 2 };

/* The state of printing: the output, the current function, and the unfinished line. */
struct printer {
    FILE *out;
    const struct cr_program *p;
    const struct cr_function *f;
    struct cr_text line;
};

/* ---- lines ---- */

/* Returns the number of characters of `text` before its line break: up to the last space that
 * fits in `room`. */
static size_t break_at(const char *text, size_t room)
{
    size_t n = strlen(text), at = room;
    if (n <= room)
        return n;
    while (at > 0 && text[at] != ' ')
        at--;
    return at ? at : n;
}

/* Prints the line; a long line is broken, and its continuation lines are indented by `hang`
 * more. */
static void end_hanging(struct printer *p, int indent, int hang)
{
    const char *rest = p->line.length ? p->line.data : "";
    int more = 0;
    do {
        size_t n = break_at(rest, (size_t)(WIDTH - 3 - indent - more));
        fprintf(p->out, "-- %*s%.*s\n", indent + more, "", (int)n, rest);
        rest += n + (rest[n] == ' ');
        more = hang + 2 * INDENT;
    } while (*rest);
    p->line.length = 0;
}

static void end_line(struct printer *p, int indent)
{
    end_hanging(p, indent, 0);
}

/* Begins a numbered line; errors of the verifier use these numbers. */
static int begin_numbered(struct printer *p, int number, int indent)
{
    cr_put(&p->line, "%3d  %*s", number, indent, "");
    return 5 + indent;
}

/* Appends a name of the script, with control characters escaped. */
static void put_name(struct printer *p, const char *name)
{
    char text[128];
    cr_escape(text, sizeof text, name, strlen(name));
    cr_put(&p->line, "%s", text);
}

/* ---- buffers ---- */

/* Appends "n", or with `by_row` "n[b]" for a ragged length whose batch is b. */
static void put_length(struct printer *p, int length, bool by_row)
{
    const struct cr_length *lengths = p->p->lengths;
    put_name(p, lengths[length].name);
    if (!lengths[length].batch || !by_row)
        return;
    cr_put(&p->line, "[");
    put_name(p, lengths[lengths[length].batch - 1].name);
    cr_put(&p->line, "]");
}

/* True if a length is ragged and the buffer has the axis of its batch, so that each row has a
 * size of its own. */
static bool has_rows(const struct printer *p, const struct cr_buffer *b, int length)
{
    for (int i = 0; i < b->rank; i++)
        if (b->length[i] + 1 == p->p->lengths[length].batch)
            return b->length[i] != CR_NONE;
    return false;
}

/* Appends the shape of a buffer, such as "[2, T <= 64, 8]" or "[b <= 8, n[b] <= 64]". */
static void put_shape(struct printer *p, const struct cr_buffer *b)
{
    cr_put(&p->line, "[");
    for (int i = 0; i < b->rank; i++) {
        cr_put(&p->line, i ? ", " : "");
        if (b->length[i] != CR_NONE) {
            put_length(p, b->length[i], has_rows(p, b, b->length[i]));
            cr_put(&p->line, " <= ");
        }
        cr_put(&p->line, "%lld", (long long)b->shape[i]);
    }
    cr_put(&p->line, "]");
}

static const char *const spaces[CR_SPACE_COUNT] = {[CR_SPACE_NONE] = "",
                                                   [CR_SPACE_LENGTH] = "length",
                                                   [CR_SPACE_ARENA] = "arena",
                                                   [CR_SPACE_WEIGHTS] = "weights",
                                                   [CR_SPACE_INPUT] = "input",
                                                   [CR_SPACE_OUTPUT] = "output",
                                                   [CR_SPACE_STATE] = "state",
                                                   [CR_SPACE_LITERAL] = "literal"};

/* Appends " + 512" for a positive number, " - 512" for a negative one, nothing for 0. */
static void put_plus(struct printer *p, int64_t number)
{
    if (number)
        cr_put(&p->line, " %c %lld", number < 0 ? '-' : '+',
               (long long)(number < 0 ? -number : number));
}

/* Appends a memory location, such as "arena + 512" or "input 3"; for CR_SPACE_NONE a number. */
static void put_location(struct printer *p, enum cr_space space, int64_t offset)
{
    cr_put(&p->line, "%s", spaces[space]);
    if (space == CR_SPACE_ARENA || space == CR_SPACE_WEIGHTS)
        put_plus(p, offset);
    else
        cr_put(&p->line, "%s%lld", *spaces[space] ? " " : "", (long long)offset);
}

static void pad_to(struct printer *p, size_t column)
{
    cr_put(&p->line, "%*s", p->line.length < column ? (int)(column - p->line.length) : 1, "");
}

/* Prints a buffer, such as "#3 name f32 [2, 8] arena + 512 64 bytes", and the buffer of which it
 * is an alias. */
static void print_buffer(struct printer *p, int i)
{
    const struct cr_buffer *b = &p->p->buffers[i];
    cr_put(&p->line, "#%-3d ", i);
    put_name(p, b->name);
    pad_to(p, 34);
    cr_put(&p->line, " %s ", cr_formats[b->format].name);
    put_shape(p, b);
    pad_to(p, 58);
    put_location(p, b->space, b->offset);
    pad_to(p, 76);
    cr_put(&p->line, "%9lld bytes", (long long)b->bytes);
    if (b->alias != CR_NONE)
        cr_put(&p->line, ", in #%d", b->alias);
    if (p->p->n_entries > 1)
        cr_put(&p->line, ", entries %#x", b->entries);
    end_line(p, INDENT);
}

/* Prints the lengths that occur in shapes of buffers, then the buffers. */
static void print_buffers(struct printer *p)
{
    for (int i = 0; i < p->p->n_lengths; i++) {
        cr_put(&p->line, "length ");
        put_length(p, i, true);
        cr_put(&p->line, " <= %lld", (long long)p->p->lengths[i].bound);
        end_line(p, 0);
    }
    cr_put(&p->line, "buffers");
    end_line(p, 0);
    for (int i = 0; i < p->p->n_buffers; i++)
        print_buffer(p, i);
}

/* ---- bodies ---- */

static void put_expr(struct printer *p, cr_expr expr, enum cr_expr_precedence least)
{
    cr_print_expr(&(struct cr_expr_printer){&p->line, p->f, false, ""}, expr, least);
}

/* Appends the head of a loop, such as "for i = i0 to i1 by 24 while ...". */
static void put_loop(struct printer *p, const struct cr_statement *s)
{
    cr_put(&p->line, "for %s = ", p->f->vars[s->var].name);
    put_expr(p, s->value, CR_BY_SELECT);
    cr_put(&p->line, " to ");
    put_expr(p, s->last, CR_BY_SELECT);
    if (s->step != 1)
        cr_put(&p->line, " by %lld", (long long)s->step);
    if (s->until == CR_NONE)
        return;
    cr_put(&p->line, " while ");
    put_expr(p, s->until, CR_BY_SELECT);
}

/* Appends a statement on one line; the caller indents it. */
static void put_statement(struct printer *p, const struct cr_statement *s)
{
    const struct cr_expr_printer printer = {&p->line, p->f, false, ""};
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        put_loop(p, s);
        break;
    case CR_STATEMENT_IF:
        cr_put(&p->line, "if ");
        put_expr(p, s->value, CR_BY_SELECT);
        break;
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        cr_put(&p->line, "%s%s = ", s->kind == CR_STATEMENT_LET ? "let " : "",
               p->f->vars[s->var].name);
        put_expr(p, s->value, CR_BY_SELECT);
        break;
    case CR_STATEMENT_CALL:
        cr_print_call(&printer, &p->f->calls[s->call]);
        break;
    case CR_STATEMENT_END:
    case CR_STATEMENT_NOTE:
        break;
    }
    if (s->note)
        cr_put(&p->line, "%s-- %s", s->kind == CR_STATEMENT_NOTE ? "" : "  ", s->note);
}

/* Prints a body; indentation shows where blocks end. */
static void print_body(struct printer *p)
{
    int indent = 0;
    for (int i = 0; i < p->f->n_body; i++) {
        const struct cr_statement *s = &p->f->body[i];
        if (s->kind == CR_STATEMENT_END) {
            indent -= INDENT;
            continue;
        }
        int hang = begin_numbered(p, i, indent);
        put_statement(p, s);
        end_hanging(p, 0, hang);
        if (s->kind == CR_STATEMENT_LOOP || s->kind == CR_STATEMENT_IF)
            indent += INDENT;
    }
}

/* ---- functions ---- */

static void print_comment(struct printer *p)
{
    for (const char *line = p->f->comment; line && *line;) {
        size_t n = strcspn(line, "\n");
        cr_put(&p->line, "%.*s", (int)n, line);
        end_line(p, INDENT);
        line += n + (line[n] == '\n');
    }
}

/* Prints a function's arguments, such as "x f32[8, 32], w f32[32, 32] in panels, out f32[8, 32]
 * written". */
static void print_arguments(struct printer *p)
{
    cr_put(&p->line, "given");
    for (int i = 0; i < p->f->n_bound; i++) {
        const struct cr_slot *s = &p->f->slots[i];
        bool number = s->kind == CR_SLOT_NUMBER;
        cr_put(&p->line, "%s %s %s%s%s%s", i ? "," : "", s->name,
               number ? "number" : cr_formats[s->format].name, number ? "" : s->note,
               s->packed ? " in panels" : "",
               s->partly    ? " written in part"
               : s->written ? " written"
                            : "");
    }
    end_line(p, INDENT);
}

/* Prints each part of the scratch memory: its offset and its meaning. */
static void print_scratch(struct printer *p)
{
    for (int i = 0; i < p->f->n_slots; i++) {
        const struct cr_slot *s = &p->f->slots[i];
        if (s->kind != CR_SLOT_SCRATCH)
            continue;
        cr_put(&p->line, "scratch + %-7lld %s %s[%lld]", (long long)s->offset, s->name,
               cr_formats[s->format].name, (long long)s->elements);
        if (s->note)
            cr_put(&p->line, "  -- %s", s->note);
        for (int k = 0, n = 0; k < p->f->n_names; k++)
            if (p->f->names[k].slot == i)
                cr_put(&p->line, "%s %s", n++ ? "," : ":", p->f->names[k].text);
        end_line(p, INDENT);
    }
}

/* Prints all constants on one line. */
static void print_constants(struct printer *p)
{
    char number[64];
    for (int i = 0; i < p->f->n_slots; i++) {
        const struct cr_slot *s = &p->f->slots[i];
        if (s->kind != CR_SLOT_CONSTANT)
            continue;
        cr_number_text(number, sizeof number, s->format, s->number);
        cr_put(&p->line, "%s %s = %s", p->line.length ? "," : "constants", s->name, number);
    }
    if (p->line.length)
        end_line(p, INDENT);
}

/* Prints the runtime functions that a function calls, each once. */
static void print_callees(struct printer *p)
{
    char name[64], other[64];
    for (int i = 0; i < p->f->n_calls; i++) {
        bool new = true;
        cr_callee_name(name, sizeof name, &p->f->calls[i]);
        for (int k = 0; k < i && new; k++) {
            cr_callee_name(other, sizeof other, &p->f->calls[k]);
            new = strcmp(name, other) != 0;
        }
        if (new)
            cr_put(&p->line, "%s %s", p->line.length ? "," : "calls", name);
    }
    end_line(p, INDENT);
}

/* Prints a function: its arguments and the runtime functions it calls, then its body.  Statements
 * have the numbers that errors of the verifier use. */
static void print_function(struct printer *p, const struct cr_function *f)
{
    p->f = f;
    cr_put(&p->line, "function k%d_%s: ", f->number, f->title);
    put_expr(p, f->items, CR_BY_PRODUCT);
    cr_put(&p->line, " parallel items, %lld bytes of scratch",
           (long long)(f->scratch_floats * (int64_t)sizeof(float)));
    end_line(p, 0);
    print_comment(p);
    print_arguments(p);
    print_scratch(p);
    print_constants(p);
    print_callees(p);
    print_body(p);
}

/* Appends a binding of the form CR_FORM_EVEN, such as "arena + 64 + layer * 512" or "input layer
 * * 2 + 1". */

/* Appends a binding of the form CR_FORM_EVEN, such as "arena + 64 + layer * 512" or "input layer
 * * 2 + 1". */
static void put_even(struct printer *p, const struct cr_binding *b)
{
    bool bytes = b->space == CR_SPACE_ARENA || b->space == CR_SPACE_WEIGHTS;
    int64_t way = b->stride < 0 ? -b->stride : b->stride;
    cr_put(&p->line, "%s%s%slayer", spaces[b->space], *spaces[b->space] ? " " : "",
           b->stride < 0 ? "- "
           : bytes       ? "+ "
                         : "");
    if (way != 1)
        cr_put(&p->line, " * %lld", (long long)way);
    put_plus(p, b->start);
}

static void put_table(struct printer *p, const struct cr_binding *b)
{
    cr_put(&p->line, "%s [", spaces[b->space]);
    for (int i = 0; i < b->n_rows; i++)
        cr_put(&p->line, "%s%lld", i ? ", " : "", (long long)p->p->table[b->first_row + i]);
    cr_put(&p->line, "] by layer from %d on", b->first_layer);
}

/* Appends an offset in an input, output or state, such as " + 48 bytes"; nothing for offset 0. */
static void put_within(struct printer *p, int64_t within, int64_t stride)
{
    if (stride)
        cr_put(&p->line, " %c %lld bytes * layer", stride < 0 ? '-' : '+',
               (long long)(stride < 0 ? -stride : stride));
    if (within)
        cr_put(&p->line, " %c %lld bytes", within < 0 ? '-' : '+',
               (long long)(within < 0 ? -within : within));
}

/* Appends the binding of an argument as a function of the layer. */
static void put_form(struct printer *p, const struct cr_binding *b)
{
    switch (b->form) {
    case CR_FORM_SAME:
        put_location(p, b->space, b->start);
        break;
    case CR_FORM_EVEN:
        put_even(p, b);
        break;
    case CR_FORM_ALTERNATING:
        put_location(p, b->space, b->alternate[0]);
        cr_put(&p->line, " or, in odd layers, ");
        put_location(p, b->space, b->alternate[1]);
        break;
    case CR_FORM_TABLE:
        put_table(p, b);
        break;
    case CR_FORM_RANKS:
        cr_put(&p->line, "by rank");
        break;
    }
    put_within(p, b->within, b->within_stride);
    if (b->first_differs) {
        cr_put(&p->line, ", first ");
        put_location(p, b->first.space, b->first.offset);
        put_within(p, b->first.within, 0);
    }
    if (b->last_differs) {
        cr_put(&p->line, ", last ");
        put_location(p, b->last.space, b->last.offset);
        put_within(p, b->last.within, 0);
    }
}

/* Appends the name of a step's function, preceded by the kind of step unless that is a call. */
static void put_function(struct printer *p, const struct cr_step *step)
{
    const struct cr_function *f = &p->p->functions[step->function];
    if (!cr_step_is(step, CR_STEP_PARALLEL))
        cr_put(&p->line, "%s ", cr_step_kinds[step->kind].name);
    cr_put(&p->line, "k%d_%s", f->number, f->title);
}

/* Appends " + id[0] * 1024 bytes, one of 4" if a run-time i32, here id[0], chooses one of 4
 * parts. */
static void put_choice(struct printer *p, const struct cr_step *step, const struct cr_binding *b)
{
    if (!b->choice.bound)
        return;
    const char *by = cr_operand_slot(p->p, step, b->choice.by - step->first_binding)->name;
    cr_put(&p->line, " + %s[%lld] * %lld bytes, one of %lld", by, (long long)b->choice.element,
           (long long)b->choice.stride, (long long)b->choice.bound);
}

/* Prints a step outside loops, where each operand is one buffer. */
static void print_single(struct printer *p, const struct cr_step *step, int index)
{
    const struct cr_function *f = &p->p->functions[step->function];
    int hang = begin_numbered(p, index, 0);
    put_function(p, step);
    cr_put(&p->line, "(");
    for (int i = 0; i < f->n_bound; i++) {
        const struct cr_binding *b = cr_operand_binding(p->p, step, i);
        bool number = f->slots[i].kind == CR_SLOT_NUMBER;
        cr_put(&p->line, "%s%s = %s%lld", i ? ", " : "", f->slots[i].name, number ? "" : "#",
               (long long)p->p->bound[b->first_buffer].what);
        put_within(p, p->p->bound[b->first_buffer].start, 0);
        put_choice(p, step, b);
    }
    cr_put(&p->line, ")");
    cr_step_kinds[step->kind].describe(&p->line, step);
    end_hanging(p, 0, hang);
}

/* Prints a step in a loop: for each operand the form of its binding, and its buffers in the first
 * and in the last iteration. */
static void print_looped(struct printer *p, const struct cr_step *step,
                         const struct cr_step_walk *walk)
{
    const struct cr_function *f = &p->p->functions[step->function];
    begin_numbered(p, walk->index, INDENT);
    put_function(p, step);
    cr_step_kinds[step->kind].describe(&p->line, step);
    end_line(p, 0);
    for (int i = 0; i < f->n_bound; i++) {
        const struct cr_binding *b = cr_operand_binding(p->p, step, i);
        const struct cr_given *first = &p->p->bound[b->first_buffer];
        const struct cr_given *last = first + walk->loop->count - 1;
        cr_put(&p->line, "%s = ", f->slots[i].name);
        put_form(p, b);
        put_choice(p, step, b);
        if (f->slots[i].kind == CR_SLOT_NUMBER)
            ;
        else if (first->what == last->what)
            cr_put(&p->line, "  -- #%lld", (long long)first->what);
        else
            cr_put(&p->line, "  -- #%lld to #%lld", (long long)first->what, (long long)last->what);
        end_line(p, 5 + 2 * INDENT);
    }
}

/* Prints a step: its operands with their bindings, then the text of its kind (`describe` in
 * steps.h). */
static void print_step(struct printer *p, const struct cr_step *step,
                       const struct cr_step_walk *walk)
{
    if (cr_step_is(step, CR_STEP_CLOSES))
        return;
    if (cr_step_is(step, CR_STEP_OPERANDS) && walk->loop) {
        print_looped(p, step, walk);
    } else if (cr_step_is(step, CR_STEP_OPERANDS)) {
        print_single(p, step, walk->index);
    } else {
        begin_numbered(p, walk->index, walk->loop ? INDENT : 0);
        cr_step_kinds[step->kind].describe(&p->line, step);
        end_line(p, 0);
    }
}

static void print_entry(struct printer *p, const struct cr_entry *entry)
{
    cr_put(&p->line, "entry %s_%sexecute", p->p->name, entry->name);
    end_line(p, 0);
    struct cr_step_walk walk = cr_walk_entry(p->p, entry, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));)
        print_step(p, step, &walk);
}

/* ---- the program ---- */

void cr_print_program(FILE *out, const struct cr_program *program)
{
    struct printer p = {.out = out, .p = program};
    cr_put(
        &p.line,
        "program %s for target %s: %lld bytes of weights, %lld of arena, %lld of scratch a thread",
        program->name, program->target, (long long)program->weights_bytes,
        (long long)program->arena_bytes, (long long)program->scratch_bytes);
    end_line(&p, 0);
    print_buffers(&p);
    for (int i = 0; i < program->n_functions; i++)
        print_function(&p, &program->functions[i]);
    for (int i = 0; i < program->n_entries; i++)
        print_entry(&p, &program->entries[i]);
    free(p.line.data);
}
