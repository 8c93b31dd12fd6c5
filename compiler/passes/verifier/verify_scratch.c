/*
 * verify_scratch.c - checks scratch: its slots do not overlap, and each is written before it is
 * read.
 *
 * A loop is taken to run at least once: statements after it read only the elements that it wrote.
 * A write under a condition counts until the end of the condition.  The same rule holds for
 * arguments that a body writes and reads back.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "verify_program.h"

/* ---- overlaps of slots ---- */

struct part {
    int64_t offset, floats;
    int slot;
};

static int by_offset(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int verify_part(const struct cr_program_check *c, const struct part *part, int64_t end)
{
    const struct cr_slot *s = &c->f->slots[part->slot];
    if (part->offset < 0 || part->floats > c->f->scratch_floats ||
        part->offset > c->f->scratch_floats - part->floats)
        return cr_program_fault(c, "scratch %s lies outside the %lld floats", s->name,
                                (long long)c->f->scratch_floats);
    if (part->offset < end)
        return cr_program_fault(c, "scratch %s overlaps another", s->name);
    return 0;
}

/* Fails if two slots of scratch overlap, or if one is not inside scratch_floats.  Slots are sorted
 * by offset, so that each is compared only with the one before it. */
static int verify_parts(const struct cr_program_check *c)
{
    struct part *parts = cr_calloc((size_t)c->f->n_slots, sizeof *parts);
    int n = 0, status = 0;
    for (int i = 0; i < c->f->n_slots; i++) {
        const struct cr_slot *s = &c->f->slots[i];
        int64_t floats = cr_format_bytes(s->format, s->elements) / (int64_t)sizeof(float);
        if (s->kind == CR_SLOT_SCRATCH)
            parts[n++] = (struct part){s->offset, floats, i};
    }
    qsort(parts, (size_t)n, sizeof *parts, by_offset);
    for (int i = 0; i < n && !status; i++)
        status = verify_part(c, &parts[i], i ? parts[i - 1].offset + parts[i - 1].floats : 0);
    free(parts);
    return status;
}

/* ---- written slots ---- */

enum { NOWHERE = -1 };

struct block {
    int begin;     /* the statement that begins the block */
    int n_written; /* number of slots written before it */
    bool loop;     /* true if writes in the block count after its end: for a loop, and a block whose
                      results are reused */
};

struct writes {
    struct cr_program_check *c;
    bool *written; /* by slot: true if the slot was written */
    int *order;    /* the written slots, in the order of the writes */
    int n_written;
    int *keeper;     /* by slot: the block, by its first statement, that writes the slot for later
                        items to reuse; or NOWHERE */
    int *from_start; /* by slot: the loop that has to write the slot in its first iteration, or
                        NOWHERE */
    struct block *blocks;
    int n_blocks, cap_blocks;
    int keeping; /* the open block, by its first statement, whose results later items reuse; or
                    NOWHERE */
};

/* True if the body must write a slot before it reads it: scratch, or a writable argument. */
static bool is_made(const struct cr_slot *s)
{
    return s->kind == CR_SLOT_SCRATCH || s->written;
}

/* If a condition is just the counter of a loop that begins at 0, returns the loop, else NOWHERE.
 * Such a condition is false in the first iteration of the loop. */
static int loop_of(const struct writes *w, cr_expr condition)
{
    const struct cr_function *f = w->c->f;
    const struct cr_expr_node *e = &f->exprs[condition];
    for (int i = w->n_blocks - 1; i >= 0 && e->op == CR_EXPR_VAR; i--) {
        const struct cr_statement *s = &f->body[w->blocks[i].begin];
        if (s->kind == CR_STATEMENT_LOOP && s->var == e->a &&
            f->exprs[s->value].op == CR_EXPR_NUMBER && f->exprs[s->value].number == 0)
            return w->blocks[i].begin;
    }
    return NOWHERE;
}

/*
 * Fails if a slot that the body writes is read before it is written.  A read that the first
 * iteration of a loop skips may precede the write: end_block then checks that the loop writes the
 * slot.  A block whose results are reused may read only slots that it writes itself.
 */
static int see_read(struct writes *w, const struct cr_argument *a)
{
    int slot = a->address.slot;
    const struct cr_slot *s = &w->c->f->slots[slot];
    if (!is_made(s))
        return 0;
    if (w->keeping != NOWHERE && w->keeper[slot] != w->keeping)
        return cr_program_fault(w->c, "what is kept here is made of %s, which is not", s->name);
    if (w->written[slot])
        return 0;
    if (a->number != CR_NONE && loop_of(w, a->number) != NOWHERE) {
        w->from_start[slot] = loop_of(w, a->number);
        return 0;
    }
    return cr_program_fault(w->c, "%s is read before it is written", s->name);
}

/* Marks a slot as written.  Fails if another block writes scratch that later items reuse. */
static int see_write(struct writes *w, int slot)
{
    const struct cr_slot *s = &w->c->f->slots[slot];
    if (s->kind == CR_SLOT_SCRATCH) {
        if (w->written[slot] && w->keeper[slot] != w->keeping)
            return cr_program_fault(w->c, "%s is kept from item to item, and written over",
                                    s->name);
        w->keeper[slot] = w->keeping;
    }
    if (!w->written[slot])
        w->order[w->n_written++] = slot;
    w->written[slot] = true;
    return 0;
}

/* Checks a call: first its reads, then its writes. */
static int see_call(struct writes *w, const struct cr_call *call)
{
    const struct cr_function *f = w->c->f;
    const struct cr_signature *s = cr_signature_of(w->c, call);
    for (int i = 0; i < s->n; i++)
        if (s->parameters[i].read && cr_argument_of(f, call, i)->kind == CR_ARGUMENT_ADDRESS &&
            see_read(w, cr_argument_of(f, call, i)))
            return -1;
    for (int i = 0; i < s->n; i++)
        if (s->parameters[i].written && cr_argument_of(f, call, i)->kind == CR_ARGUMENT_ADDRESS &&
            see_write(w, cr_argument_of(f, call, i)->address.slot))
            return -1;
    return 0;
}

/* Checks the calls whose results an expression uses. */
static int see_expr(struct writes *w, cr_expr expr)
{
    const struct cr_expr_node *e = &w->c->f->exprs[expr];
    switch (e->op) {
    case CR_EXPR_NUMBER:
    case CR_EXPR_VAR:
    case CR_EXPR_FIELD:
    case CR_EXPR_LOAD: /* a load from an argument that the function only reads */
        return 0;
    case CR_EXPR_CALL:
        return see_call(w, &w->c->f->calls[e->a]);
    case CR_EXPR_NOT:
        return see_expr(w, e->a);
    case CR_EXPR_SELECT:
        return see_expr(w, e->a) || see_expr(w, e->b) || see_expr(w, e->c) ? -1 : 0;
    default:
        return see_expr(w, e->a) || see_expr(w, e->b) ? -1 : 0;
    }
}

/* ---- statements ---- */

/* True for the conditions "t < a->T" and "t < a->T[b]".  Elements past a length do not exist, so
 * writes under such a condition are complete. */
static bool is_before_length(const struct cr_function *f, cr_expr condition)
{
    const struct cr_expr_node *e = &f->exprs[condition];
    if (e->op != CR_EXPR_LESS || f->exprs[e->a].op != CR_EXPR_VAR)
        return false;
    const struct cr_expr_node *limit = &f->exprs[e->b];
    return (limit->op == CR_EXPR_FIELD || limit->op == CR_EXPR_LOAD) &&
           f->slots[limit->a].length >= 0;
}

static void open_block(struct writes *w, int statement)
{
    const struct cr_statement *s = &w->c->f->body[statement];
    bool kept = w->c->kept[statement];
    bool always = s->kind == CR_STATEMENT_LOOP ? s->until == CR_NONE
                                               : is_before_length(w->c->f, s->value);
    *CR_PUSH(w->blocks, w->n_blocks, w->cap_blocks) =
        (struct block){statement, w->n_written, always || kept};
    if (kept)
        w->keeping = statement;
}

/* Closes a block.  Writes under a condition no longer count, since it may be false.  Fails if a
 * loop does not write a slot that its later iterations read. */
static int end_block(struct writes *w)
{
    const struct block *b = &w->blocks[--w->n_blocks];
    for (int i = 0; i < w->c->f->n_slots; i++)
        if (w->from_start[i] == b->begin && !w->written[i])
            return cr_program_fault(w->c, "%s is read before it is written",
                                    w->c->f->slots[i].name);
    while (!b->loop && w->n_written > b->n_written)
        w->written[w->order[--w->n_written]] = false;
    if (w->keeping == b->begin)
        w->keeping = NOWHERE;
    return 0;
}

/* Checks the calls of a statement in execution order; opens or closes its block. */
static int see_statement(struct writes *w, int i)
{
    const struct cr_statement *s = &w->c->f->body[i];
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        if (see_expr(w, s->value) || see_expr(w, s->last) ||
            (s->until != CR_NONE && see_expr(w, s->until)))
            return -1;
        open_block(w, i);
        return 0;
    case CR_STATEMENT_IF:
        if (see_expr(w, s->value))
            return -1;
        open_block(w, i);
        return 0;
    case CR_STATEMENT_END:
        return end_block(w);
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        return see_expr(w, s->value);
    case CR_STATEMENT_CALL:
        return see_call(w, &w->c->f->calls[s->call]);
    case CR_STATEMENT_NOTE:
        break;
    }
    return 0;
}

/* Fails unless each read comes after a write, and each writable argument is written whatever the
 * conditions are. */
static int verify_writes(struct cr_program_check *c)
{
    size_t slots = (size_t)c->f->n_slots;
    struct writes w = {.c = c, .keeping = NOWHERE};
    int status = 0;
    w.written = cr_calloc(slots, sizeof *w.written);
    w.order = cr_calloc(slots, sizeof *w.order);
    w.keeper = cr_calloc(slots, sizeof *w.keeper);
    w.from_start = cr_calloc(slots, sizeof *w.from_start);
    for (int i = 0; i < c->f->n_slots; i++)
        w.keeper[i] = w.from_start[i] = NOWHERE;
    for (int i = 0; i < c->f->n_body && !status; i++) {
        c->statement = i;
        status = see_statement(&w, i);
    }
    c->statement = CR_NONE;
    for (int i = 0; i < c->f->n_bound && !status; i++)
        if (c->f->slots[i].written && !c->f->slots[i].partly && !w.written[i])
            status = cr_program_fault(c, "%s is not written for sure", c->f->slots[i].name);
    free(w.written);
    free(w.order);
    free(w.keeper);
    free(w.from_start);
    free(w.blocks);
    return status;
}

int cr_verify_scratch(struct cr_program_check *c)
{
    return verify_parts(c) || verify_writes(c) ? -1 : 0;
}
