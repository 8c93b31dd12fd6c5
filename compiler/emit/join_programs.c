/* join_programs.c - joins the programs of all ranks to one program; see join_programs.h. */
#include "join_programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "compiler/passes/schedule/loop_bindings.h"
#include "emit.h"

/* The state of joining.  Programs of different ranks are compared step by step, not function by
 * function: on rank 0, where all parts begin at 0, two kernels may be equal and share a function,
 * while they are different on other ranks.  So the steps of rank 1 are the basis of the result. */
struct joining {
    struct cr_program *p; /* the program of rank 1 */
    int ranks;
    struct numbers {
        bool *known;      /* by rank: true if the numbers are recorded */
        int64_t *by_rank; /* by place (see number_at): a number for each rank */
    } * of;               /* by function: its numbers */
    int64_t
        *more; /* by binding and rank: bytes from the location on rank 1 to the location on this
                * rank */
};

/* ---- numbers that may depend on the rank ---- */

static int n_places(const struct cr_function *f)
{
    return f->n_arguments + f->n_exprs;
}

/* Returns a pointer to the number at place `place` of a function, or null if there is none.
 * Places are the arguments, then the expressions; their numbers are bases of addresses and number
 * expressions. */
static int64_t *number_at(const struct cr_function *f, int place)
{
    struct cr_argument *argument = place < f->n_arguments ? &f->arguments[place] : NULL;
    struct cr_expr_node *e = argument ? NULL : &f->exprs[place - f->n_arguments];
    if (argument)
        return argument->kind == CR_ARGUMENT_ADDRESS ? &argument->address.base : NULL;
    return e->op == CR_EXPR_NUMBER ? &e->number : NULL;
}

/* Records the numbers of function `g` of a rank as those of a function.  Returns false if an
 * earlier step of that rank recorded other numbers for it. */
static bool record(struct joining *j, int function, int rank, const struct cr_function *g)
{
    struct numbers *numbers = &j->of[function];
    bool known = numbers->known[rank];
    for (int i = 0; i < n_places(g); i++) {
        const int64_t *number = number_at(g, i);
        int64_t *place = &numbers->by_rank[(size_t)i * (size_t)j->ranks + (size_t)rank];
        if (number && known && *place != *number)
            return false;
        if (number)
            *place = *number;
    }
    return numbers->known[rank] = true;
}

/* ---- comparing ---- */

/* The following functions compare parts of two functions, except for names, notes and the numbers
 * at places. */

static bool same_slots(const struct cr_function *f, const struct cr_function *g)
{
    bool same = f->n_slots == g->n_slots && f->n_bound == g->n_bound;
    for (int i = 0; i < f->n_slots && same; i++) {
        const struct cr_slot *a = &f->slots[i], *b = &g->slots[i];
        same = a->kind == b->kind && a->format == b->format && a->written == b->written &&
               a->partly == b->partly && a->packed == b->packed && a->length == b->length &&
               a->offset == b->offset && a->elements == b->elements &&
               memcmp(&a->number, &b->number, sizeof a->number) == 0;
    }
    return same;
}

/* True if two functions' arguments have the same kinds, slots, terms and expressions. */
static bool same_arguments(const struct cr_function *f, const struct cr_function *g)
{
    bool same = f->n_arguments == g->n_arguments;
    for (int i = 0; i < f->n_arguments && same; i++) {
        const struct cr_argument *a = &f->arguments[i], *b = &g->arguments[i];
        bool is_slot = a->kind == CR_ARGUMENT_ADDRESS || a->kind == CR_ARGUMENT_VALUE;
        same = a->kind == b->kind && a->number == b->number &&
               (!is_slot || a->address.slot == b->address.slot) &&
               (a->kind != CR_ARGUMENT_ADDRESS || (a->address.first_term == b->address.first_term &&
                                                   a->address.n_terms == b->address.n_terms));
    }
    return same;
}

/* True if two functions have the same nodes of expressions and the same terms of addresses. */
static bool same_exprs(const struct cr_function *f, const struct cr_function *g)
{
    bool same = f->n_exprs == g->n_exprs && f->items == g->items && f->n_terms == g->n_terms;
    for (int i = 0; i < f->n_exprs && same; i++) {
        const struct cr_expr_node *a = &f->exprs[i], *b = &g->exprs[i];
        same = a->op == b->op && a->a == b->a && a->b == b->b && a->c == b->c &&
               (a->op == CR_EXPR_NUMBER || a->number == b->number);
    }
    for (int i = 0; i < f->n_terms && same; i++) {
        const struct cr_term *a = &f->terms[i], *b = &g->terms[i];
        same = a->var == b->var && a->origin == b->origin && a->coef == b->coef;
    }
    return same;
}

static bool same_calls(const struct cr_function *f, const struct cr_function *g)
{
    bool same = f->n_calls == g->n_calls;
    for (int i = 0; i < f->n_calls && same; i++) {
        const struct cr_call *a = &f->calls[i], *b = &g->calls[i];
        same = a->callee == b->callee && a->format == b->format && a->op == b->op &&
               a->by_row == b->by_row && a->first_argument == b->first_argument &&
               a->n_arguments == b->n_arguments;
    }
    return same;
}

static bool same_body(const struct cr_function *f, const struct cr_function *g)
{
    bool same = f->n_body == g->n_body && f->n_vars == g->n_vars;
    for (int i = 0; i < f->n_body && same; i++) {
        const struct cr_statement *a = &f->body[i], *b = &g->body[i];
        same = a->kind == b->kind && a->var == b->var && a->value == b->value &&
               a->last == b->last && a->until == b->until && a->step == b->step &&
               a->call == b->call;
    }
    return same;
}

static bool same_functions(const struct cr_function *f, const struct cr_function *g)
{
    return f->scratch_floats == g->scratch_floats && same_slots(f, g) && same_arguments(f, g) &&
           same_exprs(f, g) && same_calls(f, g) && same_body(f, g);
}

static bool same_choice(const struct cr_step *s, const struct cr_binding *x,
                        const struct cr_step *t, const struct cr_binding *y)
{
    return x->choice.bound == y->choice.bound && x->choice.stride == y->choice.stride &&
           x->choice.element == y->choice.element &&
           (!x->choice.bound || x->choice.by - s->first_binding == y->choice.by - t->first_binding);
}

/* True if two locations differ only in their offset; sets *more to the second offset minus the
 * first. */
static bool compare_locations(struct cr_location a, struct cr_location b, int64_t *more)
{
    bool counts =
        a.space == CR_SPACE_ARENA || a.space == CR_SPACE_WEIGHTS || a.space == CR_SPACE_NONE;
    *more = b.within - a.within + (counts ? b.offset - a.offset : 0);
    return a.space == b.space && (counts || a.offset == b.offset);
}

/* Compares the locations of operand i in all layers, and records the difference in bytes, which
 * must be the same for all layers. */
static bool take_operand(struct joining *j, int rank, const struct cr_step_walk *a,
                         const struct cr_step_walk *b, const struct cr_step *s,
                         const struct cr_step *t, int i)
{
    const struct cr_binding *x = cr_operand_binding(a->program, s, i),
                            *y = cr_operand_binding(b->program, t, i);
    int64_t more, first = 0;
    bool same = same_choice(s, x, t, y);
    for (int layer = 0; same && layer < (a->loop ? a->loop->count : 1); layer++) {
        same = compare_locations(cr_location_in(a->program, x, a->loop, layer),
                                 cr_location_in(b->program, y, b->loop, layer), &more) &&
               (!layer || more == first);
        first = more;
    }
    j->more[(x - j->p->bindings) * j->ranks + rank] = first;
    return same;
}

/* True if two steps have the same kind and the same numbers. */
static bool same_steps(const struct cr_step_walk *a, const struct cr_step_walk *b,
                       const struct cr_step *s, const struct cr_step *t)
{
    struct cr_text text[2] = {{0}, {0}};
    if (s->kind != t->kind || cr_n_operands(a->program, s) != cr_n_operands(b->program, t))
        return false;
    cr_put(&text[0], " ");
    cr_put(&text[1], " ");
    cr_step_kinds[s->kind].describe(&text[0], s);
    cr_step_kinds[t->kind].describe(&text[1], t);
    bool same = strcmp(text[0].data, text[1].data) == 0;
    free(text[0].data);
    free(text[1].data);
    return same;
}

/* Compares all steps of a rank's program with the steps of rank 1, and records the rank's
 * numbers. Returns false if the programs differ in anything else. */
static bool take_steps(struct joining *j, const struct cr_program *other, int rank)
{
    struct cr_step_walk a = cr_walk_steps(j->p, 0, j->p->n_steps, false);
    struct cr_step_walk b = cr_walk_steps(other, 0, other->n_steps, false);
    bool same = j->p->n_steps == other->n_steps;
    for (const struct cr_step *s, *t; same && (s = cr_next_step(&a)) && (t = cr_next_step(&b));) {
        same = same_steps(&a, &b, s, t);
        for (int i = 0; same && i < cr_n_operands(j->p, s); i++)
            same = take_operand(j, rank, &a, &b, s, t, i);
        if (same && s->function != CR_NONE) {
            const struct cr_function *g = &other->functions[t->function];
            same =
                same_functions(&j->p->functions[s->function], g) && record(j, s->function, rank, g);
        }
    }
    return same;
}

static bool same_ports(const struct cr_port *a, const struct cr_port *b, int n, int n_other)
{
    bool same = n == n_other;
    for (int i = 0; i < n && same; i++)
        same = strcmp(a[i].name, b[i].name) == 0 && a[i].dtype == b[i].dtype &&
               a[i].format == b[i].format && a[i].rank == b[i].rank &&
               memcmp(a[i].shape, b[i].shape, (size_t)a[i].rank * sizeof *a[i].shape) == 0 &&
               a[i].state == b[i].state && a[i].entries == b[i].entries;
    return same;
}

static bool same_entries(const struct cr_program *p, const struct cr_program *other)
{
    bool same = p->n_entries == other->n_entries;
    for (int i = 0; i < p->n_entries && same; i++) {
        const struct cr_entry *a = &p->entries[i], *b = &other->entries[i];
        same = a->first_step == b->first_step && a->n_steps == b->n_steps &&
               a->arena_bytes == b->arena_bytes && a->scratch_bytes == b->scratch_bytes;
    }
    return same;
}

static bool same_literals(const struct cr_program *p, const struct cr_program *other)
{
    bool same = p->n_literals == other->n_literals;
    for (int i = 0; i < p->n_literals && same; i++) {
        const struct cr_literal *a = &p->literals[i], *b = &other->literals[i];
        same = a->dtype == b->dtype && a->n == b->n &&
               memcmp(a->words, b->words, (size_t)a->n * sizeof *a->words) == 0;
    }
    return same;
}

/* Compares a rank's program with the program of rank 1, and records the rank's numbers.  Returns
 * false if the programs differ in more than numbers. */
static bool take_program(struct joining *j, const struct cr_program *other, int rank)
{
    const struct cr_program *p = j->p;
    return same_ports(p->params, other->params, p->n_params, other->n_params) &&
           same_ports(p->inputs, other->inputs, p->n_inputs, other->n_inputs) &&
           same_ports(p->outputs, other->outputs, p->n_outputs, other->n_outputs) &&
           same_entries(p, other) && same_literals(p, other) &&
           p->weights_bytes == other->weights_bytes && take_steps(j, other, rank);
}

/* ---- arguments ---- */

/* Moves all slots that calls do not bind by one position, and updates all references to them. */
static void move_slots(struct cr_function *f)
{
    int at = f->n_bound;
    (void)CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    memmove(&f->slots[at + 1], &f->slots[at], (size_t)(f->n_slots - 1 - at) * sizeof *f->slots);
    for (int i = 0; i < f->n_arguments; i++)
        f->arguments[i].address.slot += f->arguments[i].address.slot >= at;
    for (int i = 0; i < f->n_exprs; i++)
        if (f->exprs[i].op == CR_EXPR_FIELD || f->exprs[i].op == CR_EXPR_LOAD)
            f->exprs[i].a += f->exprs[i].a >= at;
    for (int i = 0; i < f->n_names; i++)
        f->names[i].slot += f->names[i].slot >= at;
}

static bool is_taken(const struct cr_function *f, const char *name)
{
    bool taken = false;
    for (int i = 0; i < f->n_slots; i++)
        taken |= strcmp(f->slots[i].name, name) == 0;
    for (int i = 0; i < f->n_names; i++)
        taken |= strcmp(f->names[i].text, name) == 0;
    for (int i = 0; i < f->n_vars; i++)
        taken |= strcmp(f->vars[i].name, name) == 0;
    return taken;
}

/* Adds a slot of kind NUMBER after the slots that calls bind; returns its index. */
static int add_slot(struct cr_function *f)
{
    struct cr_slot slot = {.kind = CR_SLOT_NUMBER,
                           .length = CR_NONE,
                           .note = cr_strdup("where this rank's part begins")};
    strcpy(slot.name, "rank_offset");
    for (int i = 2; is_taken(f, slot.name); i++)
        snprintf(slot.name, sizeof slot.name, "rank_offset%d", i);
    move_slots(f);
    f->slots[f->n_bound] = slot;
    return f->n_bound++;
}

/* Adds a binding for a function's new slot, the last bound one, to all calls of the function.
 * The bindings of a call are consecutive, so they are copied to the end of the list. */
static void bind_slot(struct cr_program *p, int function, int first_row, int n_rows)
{
    const struct cr_binding by_rank = {
        .form = CR_FORM_RANKS, .first_row = first_row, .n_rows = n_rows};
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].function != function)
            continue;
        int from = p->steps[i].first_binding;
        p->steps[i].first_binding = p->n_bindings;
        for (int k = 0; k < p->functions[function].n_bound - 1; k++) {
            struct cr_binding same = p->bindings[from + k];
            *CR_PUSH(p->bindings, p->n_bindings, p->cap_bindings) = same;
        }
        *CR_PUSH(p->bindings, p->n_bindings, p->cap_bindings) = by_rank;
    }
}

/* Returns a slot of a function whose value on each rank is the given number; searches the slots
 * from `first` on, and adds a slot if there is none. */
static int find_slot(struct joining *j, int function, int first, const int64_t *numbers, int *rows)
{
    struct cr_program *p = j->p;
    struct cr_function *f = &p->functions[function];
    for (int slot = first; slot < f->n_bound; slot++)
        if (memcmp(&p->table[rows[slot - first]], numbers, (size_t)j->ranks * sizeof *numbers) == 0)
            return slot;
    int slot = add_slot(f);
    rows[slot - first] = p->n_table;
    for (int r = 0; r < j->ranks; r++)
        *CR_PUSH(p->table, p->n_table, p->cap_table) = numbers[r];
    bind_slot(p, function, rows[slot - first], j->ranks);
    return slot;
}

/* Returns the variable that holds the number of a slot; declares it at the beginning of the body
 * if necessary. */
static int find_var(struct cr_function *f, int slot)
{
    for (int i = 0; i < f->n_vars; i++)
        if (strcmp(f->vars[i].name, f->slots[slot].name) == 0)
            return i;
    struct cr_var *var = CR_PUSH(f->vars, f->n_vars, f->cap_vars);
    snprintf(var->name, sizeof var->name, "%.23s", f->slots[slot].name);
    var->changes = false;
    *CR_PUSH(f->exprs, f->n_exprs, f->cap_exprs) =
        (struct cr_expr_node){.op = CR_EXPR_FIELD, .a = slot};
    (void)CR_PUSH(f->body, f->n_body, f->cap_body);
    memmove(&f->body[1], &f->body[0], (size_t)(f->n_body - 1) * sizeof *f->body);
    f->body[0] = (struct cr_statement){
        .kind = CR_STATEMENT_LET, .var = f->n_vars - 1, .value = f->n_exprs - 1};
    return f->n_vars - 1;
}

/* Adds a term with a variable to an address.  The terms of an address are consecutive, so they
 * move to the end of the list. */
static void add_term(struct cr_function *f, struct cr_address *address, int var)
{
    int from = address->first_term;
    address->first_term = f->n_terms;
    for (int i = 0; i < address->n_terms; i++) {
        struct cr_term same = f->terms[from + i];
        *CR_PUSH(f->terms, f->n_terms, f->cap_terms) = same;
    }
    *CR_PUSH(f->terms, f->n_terms, f->cap_terms) =
        (struct cr_term){.var = var, .origin = CR_NONE, .coef = 1};
    address->n_terms++;
}

/* Replaces the number in the expression `expr` by the sum of this number and the slot `slot`. */
static void add_to_expr(struct cr_function *f, cr_expr expr, int slot)
{
    struct cr_expr_node number = f->exprs[expr];
    *CR_PUSH(f->exprs, f->n_exprs, f->cap_exprs) = number;
    *CR_PUSH(f->exprs, f->n_exprs, f->cap_exprs) =
        (struct cr_expr_node){.op = CR_EXPR_FIELD, .a = slot};
    f->exprs[expr] =
        (struct cr_expr_node){.op = CR_EXPR_ADD, .a = f->n_exprs - 2, .b = f->n_exprs - 1};
}

/* Sets the number at a place to the number of rank 0.  If the numbers of ranks differ, adds a
 * slot with each rank's difference from it.  `more` is memory for one number for each rank. */
static void set_place(struct joining *j, int function, int place, int first, int *rows,
                      int64_t *more)
{
    struct cr_function *f = &j->p->functions[function];
    const int64_t *numbers = &j->of[function].by_rank[(size_t)place * (size_t)j->ranks];
    bool differ = false;
    for (int r = 0; r < j->ranks; r++) {
        more[r] = numbers[r] - numbers[0];
        differ |= more[r] != 0;
    }
    if (!differ)
        return;
    *number_at(f, place) = numbers[0];
    int slot = find_slot(j, function, first, more, rows);
    int n_arguments = f->n_arguments;
    if (place < n_arguments) {
        f->arguments[place].address.size = 0;
        f->arguments[place].address.part = 0;
        add_term(f, &f->arguments[place].address, find_var(f, slot));
    } else {
        f->exprs[place - n_arguments].size = 0;
        add_to_expr(f, place - n_arguments, slot);
    }
}

/* Replaces the numbers of a function that depend on the rank by arguments. */
static void set_places(struct joining *j, int function)
{
    struct cr_function *f = &j->p->functions[function];
    int n = n_places(f), first = f->n_bound;
    int *rows = cr_calloc((size_t)n + 1, sizeof *rows);
    int64_t *more = cr_calloc((size_t)j->ranks, sizeof *more);
    for (int i = 0; i < n; i++)
        if (j->of[function].known[0] && number_at(f, i))
            set_place(j, function, i, first, rows, more);
    free(rows);
    free(more);
}

/* Appends to program->table, for each binding whose location depends on the rank, each rank's
 * offset. */
static void set_bindings(struct joining *j)
{
    struct cr_program *p = j->p;
    for (int i = 0; i < p->n_bindings; i++) {
        const int64_t *more = &j->more[i * j->ranks];
        for (int r = 0; r < j->ranks; r++)
            p->bindings[i].differs |= more[r] != 0;
        if (!p->bindings[i].differs)
            continue;
        p->bindings[i].first_more = p->n_table;
        for (int r = 0; r < j->ranks; r++)
            *CR_PUSH(p->table, p->n_table, p->cap_table) = more[r];
    }
}

/* ---- weights ---- */

/* Joins the lists of layouts of all ranks.  A parameter is used if any rank uses it. */
static void join_layouts(struct cr_program *p, struct cr_program *const *programs, int ranks)
{
    int n = 0;
    for (int r = 0; r < ranks; r++)
        n += programs[r]->n_layouts;
    struct cr_weight_layout *all = cr_calloc((size_t)n + 1, sizeof *all);
    p->first_layout = cr_calloc((size_t)ranks + 1, sizeof *p->first_layout);
    for (int r = 0; r < ranks; r++) {
        const struct cr_program *from = programs[r];
        memcpy(all + p->first_layout[r], from->layouts, (size_t)from->n_layouts * sizeof *all);
        p->first_layout[r + 1] = p->first_layout[r] + from->n_layouts;
        for (int i = 0; i < p->n_params; i++)
            if (from->params[i].offset >= 0)
                p->params[i].offset = from->params[i].offset;
    }
    free(p->layouts);
    p->layouts = all;
    p->n_layouts = n;
}

/* ---- the whole ---- */

static void open_joining(struct joining *j, struct cr_program *p, int ranks)
{
    *j = (struct joining){.p = p, .ranks = ranks};
    j->more = cr_calloc((size_t)p->n_bindings * (size_t)ranks + 1, sizeof *j->more);
    j->of = cr_calloc((size_t)p->n_functions + 1, sizeof *j->of);
    for (int i = 0; i < p->n_functions; i++) {
        j->of[i].known = cr_calloc((size_t)ranks, sizeof *j->of[i].known);
        j->of[i].by_rank =
            cr_calloc((size_t)n_places(&p->functions[i]) * (size_t)ranks + 1, sizeof(int64_t));
    }
}

static void close_joining(struct joining *j)
{
    for (int i = 0; i < j->p->n_functions; i++) {
        free(j->of[i].known);
        free(j->of[i].by_rank);
    }
    free(j->of);
    free(j->more);
}

/* Converts the program of rank 1 to the joined program. */
static int join(struct joining *j, struct cr_program *const *programs, const char *path,
                struct cr_error *error)
{
    for (int r = 0; r < j->ranks; r++)
        if (!take_program(j, programs[r], r))
            return cr_fail(error,
                           "%.400s: ranks %d and 1 of %d differ in more than the offsets of their parts, expected "
                           "another number of ranks",
                           path, r, j->ranks);
    set_bindings(j);
    for (int f = 0; f < j->p->n_functions; f++)
        set_places(j, f);
    join_layouts(j->p, programs, j->ranks);
    j->p->ranks = j->ranks;
    return 0;
}

/* Prints the program's text again, since its functions have changed. */
static void print(struct cr_program *p)
{
    struct cr_text text = {0};
    cr_emit(&text, p);
    free(p->text);
    p->text_length = text.length;
    p->text = cr_take_text(&text);
}

struct cr_program *cr_join_programs(struct cr_program **programs, int n, bool trains, const char *path,
                                    struct cr_error *error)
{
    struct joining j;
    int status;
    open_joining(&j, programs[1], n);
    if (trains || cr_exchanges(programs[1]))
        status = join(&j, programs, path, error);
    else
        status = cr_fail(
            error,
            "%.400s: found nothing to divide among %d ranks, expected a product by at least 32 columns "
            "of weights, and neither ragged lengths nor gradients of attentions",
            path, n);
    close_joining(&j);
    for (int r = 0; r < n; r++)
        if (r != 1 || status)
            cr_program_free(programs[r]);
    if (status)
        return NULL;
    print(programs[1]);
    return programs[1];
}
