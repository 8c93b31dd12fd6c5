#include "builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"

enum { ALIGN = 16 }; /* floats: a cache line */

/* ---- integer expressions ---- */

static cr_expr add_expr(struct cr_builder *b, struct cr_expr_node node)
{
    struct cr_function *f = b->f;
    *CR_PUSH(f->exprs, f->n_exprs, f->cap_exprs) = node;
    return f->n_exprs - 1;
}

cr_expr cr_number(struct cr_builder *b, int64_t number)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_NUMBER, .number = number});
}

cr_expr cr_var(struct cr_builder *b, int var)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_VAR, .a = var});
}

cr_expr cr_field(struct cr_builder *b, int slot)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_FIELD, .a = slot});
}

cr_expr cr_binary(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y)
{
    return add_expr(b, (struct cr_expr_node){.op = op, .a = x, .b = y});
}

cr_expr cr_not(struct cr_builder *b, cr_expr x)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_NOT, .a = x});
}

cr_expr cr_select(struct cr_builder *b, cr_expr condition, cr_expr x, cr_expr y)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_SELECT, .a = condition, .b = x, .c = y});
}

cr_expr cr_load(struct cr_builder *b, int slot, int64_t index)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_LOAD, .a = slot, .number = index});
}

cr_expr cr_plus(struct cr_builder *b, cr_expr x, int64_t number)
{
    if (number == 0)
        return x;
    return cr_binary(b, number < 0 ? CR_EXPR_SUB : CR_EXPR_ADD, x,
                     cr_number(b, number < 0 ? -number : number));
}

cr_expr cr_minus_var(struct cr_builder *b, int var, int origin)
{
    return cr_binary(b, CR_EXPR_SUB, cr_var(b, var), cr_var(b, origin));
}

cr_expr cr_call_value(struct cr_builder *b, int call)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_CALL, .a = call});
}

/* ---- statements ---- */

static int add_var(struct cr_builder *b, const char *name, bool changes)
{
    struct cr_function *f = b->f;
    struct cr_var *var = CR_PUSH(f->vars, f->n_vars, f->cap_vars);
    *var = (struct cr_var){.changes = changes};
    snprintf(var->name, sizeof var->name, "%s", name);
    return f->n_vars - 1;
}

static void add_statement(struct cr_builder *b, struct cr_statement s, const char *note)
{
    struct cr_function *f = b->f;
    s.note = note ? cr_strdup(note) : NULL;
    *CR_PUSH(f->body, f->n_body, f->cap_body) = s;
}

int cr_let(struct cr_builder *b, const char *name, cr_expr value)
{
    return cr_let_noted(b, name, value, false, NULL);
}

int cr_let_noted(struct cr_builder *b, const char *name, cr_expr value, bool changes,
                 const char *note)
{
    int var = add_var(b, name, changes);
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_LET, .var = var, .value = value},
                  note);
    return var;
}

void cr_set(struct cr_builder *b, int var, cr_expr value)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_SET, .var = var, .value = value},
                  NULL);
}

int cr_let_count(struct cr_builder *b, const char *name, int var, int64_t step, cr_expr last)
{
    cr_expr left = cr_binary(b, CR_EXPR_SUB, last, cr_var(b, var));
    return cr_let(b, name, cr_binary(b, CR_EXPR_MIN, left, cr_number(b, step)));
}

int cr_begin_loop(struct cr_builder *b, const char *name, cr_expr first, cr_expr last,
                  int64_t step, cr_expr until)
{
    int var = add_var(b, name, false);
    struct cr_statement loop = {.kind = CR_STATEMENT_LOOP,
                                .var = var,
                                .value = first,
                                .last = last,
                                .until = until,
                                .step = step};
    add_statement(b, loop, NULL);
    return var;
}

void cr_begin_if(struct cr_builder *b, cr_expr condition, const char *note)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_IF, .value = condition}, note);
}

void cr_end(struct cr_builder *b)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_END}, NULL);
}

void cr_remark(struct cr_builder *b, const char *note)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_NOTE}, note);
}

/* ---- calls ---- */

struct cr_argument cr_x(cr_expr number)
{
    return (struct cr_argument){.kind = CR_ARGUMENT_NUMBER, .number = number};
}

struct cr_argument cr_n(struct cr_builder *b, int64_t number)
{
    return cr_x(cr_number(b, number));
}

struct cr_argument cr_at(struct cr_address address)
{
    return cr_at_if(address, CR_NONE);
}

struct cr_argument cr_at_if(struct cr_address address, cr_expr condition)
{
    return (struct cr_argument){CR_ARGUMENT_ADDRESS, condition, address};
}

struct cr_argument cr_by_value(int constant)
{
    return (struct cr_argument){CR_ARGUMENT_VALUE, CR_NONE, cr_start_of(constant)};
}

const struct cr_argument cr_null = {.kind = CR_ARGUMENT_NULL, .number = CR_NONE};

int cr_make_call(struct cr_builder *b, struct cr_call call, int n,
                 const struct cr_argument *arguments)
{
    struct cr_function *f = b->f;
    call.first_argument = f->n_arguments;
    call.n_arguments = n;
    call.node = b->node;
    for (int i = 0; i < n; i++)
        *CR_PUSH(f->arguments, f->n_arguments, f->cap_arguments) = arguments[i];
    *CR_PUSH(f->calls, f->n_calls, f->cap_calls) = call;
    return f->n_calls - 1;
}

void cr_do_call(struct cr_builder *b, int call)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_CALL, .call = call}, NULL);
}

/* ---- slots ---- */

int cr_scratch(struct cr_builder *b, const char *name, enum cr_format format, int64_t elements,
               const char *note)
{
    struct cr_function *f = b->f;
    struct cr_slot *slot = CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    int64_t floats = cr_format_bytes(format, elements) / (int64_t)sizeof(float);
    *slot = (struct cr_slot){.kind = CR_SLOT_SCRATCH,
                             .format = format,
                             .offset = f->scratch_floats,
                             .elements = elements,
                             .length = CR_NONE,
                             .note = cr_strdup(note)};
    snprintf(slot->name, sizeof slot->name, "%s", name);
    f->scratch_floats += (floats + ALIGN - 1) / ALIGN * ALIGN;
    return f->n_slots - 1;
}

/* Writes the name of a constant, such as "c_0_25", "c_m1", "c_1em05" or "i_m3". */
static void name_constant(char *name, size_t size, enum cr_format format, double value)
{
    char text[64];
    size_t n = 2;
    snprintf(name, size, "%s", format == CR_FORMAT_i32 ? "i_" : "c_");
    cr_number_text(text, sizeof text, format, value);
    for (const char *c = text; *c && n + 1 < size; c++)
        if (*c != '+')
            name[n++] = (char)(*c == '.' ? '_' : *c == '-' ? 'm' : *c);
    name[n] = 0;
}

/* True if a slot is a constant of this format and value.  All NaN are equal; 0 and -0 differ. */
static bool is_constant(const struct cr_slot *slot, enum cr_format format, double value)
{
    return slot->kind == CR_SLOT_CONSTANT && slot->format == format &&
           ((slot->number == value && signbit(slot->number) == signbit(value)) ||
            (isnan(slot->number) && isnan(value)));
}

int cr_constant(struct cr_builder *b, enum cr_format format, double value)
{
    struct cr_function *f = b->f;
    double rounded = format == CR_FORMAT_i32 ? value : (double)(float)value;
    if (format == CR_FORMAT_bool)
        format = CR_FORMAT_f32;
    for (int i = 0; i < f->n_slots; i++)
        if (is_constant(&f->slots[i], format, rounded))
            return i;
    struct cr_slot *slot = CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    *slot = (struct cr_slot){
        .kind = CR_SLOT_CONSTANT, .format = format, .elements = 1, .length = CR_NONE, .number = rounded};
    name_constant(slot->name, sizeof slot->name, format, rounded);
    return f->n_slots - 1;
}

/* ---- addresses ---- */

struct cr_address cr_start_of(int slot)
{
    return (struct cr_address){.slot = slot};
}

/* Before a term is appended: copies the terms of an address to the end of the pool if they are not
 * there, since they must be consecutive. */
static void begin_terms(struct cr_builder *b, struct cr_address *address)
{
    struct cr_function *f = b->f;
    int old = address->first_term;
    if (old + address->n_terms == f->n_terms)
        return;
    address->first_term = f->n_terms;
    for (int i = 0; i < address->n_terms; i++) {
        struct cr_term term = f->terms[old + i];
        *CR_PUSH(f->terms, f->n_terms, f->cap_terms) = term;
    }
}

struct cr_address cr_offset(struct cr_builder *b, struct cr_address address, int var, int origin,
                            int64_t coef)
{
    struct cr_function *f = b->f;
    if (coef == 0 || var == CR_NONE)
        return address;
    if (address.n_terms == 0)
        address.first_term = f->n_terms;
    begin_terms(b, &address);
    *CR_PUSH(f->terms, f->n_terms, f->cap_terms) = (struct cr_term){var, origin, coef};
    address.n_terms++;
    return address;
}

struct cr_address cr_element(struct cr_builder *b, int slot, const struct cr_affine *at,
                             int row_atom, int row_var, int col_atom, int col_var)
{
    struct cr_address address = {.slot = slot, .base = at->base};
    for (int i = 0; i < b->k->n_outer; i++)
        address = cr_offset(b, address, b->outer[i], CR_NONE, at->coef[b->k->outer[i]]);
    if (row_atom >= 0)
        address = cr_offset(b, address, row_var, CR_NONE, at->coef[row_atom]);
    if (col_atom >= 0)
        address = cr_offset(b, address, col_var, CR_NONE, at->coef[col_atom]);
    return address;
}

cr_expr cr_affine_value(struct cr_builder *b, const struct cr_affine *at, int row_atom, int row_var,
                        int col_atom, int col_var)
{
    struct cr_address address = cr_element(b, 0, at, row_atom, row_var, col_atom, col_var);
    cr_expr sum = CR_NONE;
    for (int i = 0; i < 2 * address.n_terms; i++) {
        struct cr_term term = b->f->terms[address.first_term + i % address.n_terms];
        bool minus = i >= address.n_terms; /* negative terms come last */
        int64_t coef = minus ? -term.coef : term.coef;
        if (minus != (term.coef < 0))
            continue;
        cr_expr x = cr_var(b, term.var);
        if (coef != 1)
            x = cr_binary(b, CR_EXPR_MUL, x, cr_number(b, coef));
        if (sum == CR_NONE)
            sum = minus ? cr_binary(b, CR_EXPR_SUB, cr_number(b, 0), x) : x;
        else
            sum = cr_binary(b, minus ? CR_EXPR_SUB : CR_EXPR_ADD, sum, x);
    }
    return sum == CR_NONE ? cr_number(b, address.base) : cr_plus(b, sum, address.base);
}

bool cr_same_address(const struct cr_builder *b, const struct cr_address *x,
                     const struct cr_address *y)
{
    if (x->slot != y->slot || x->base != y->base || x->n_terms != y->n_terms)
        return false;
    for (int i = 0; i < x->n_terms; i++) {
        const struct cr_term *s = &b->f->terms[x->first_term + i];
        const struct cr_term *t = &b->f->terms[y->first_term + i];
        if (s->var != t->var || s->origin != t->origin || s->coef != t->coef)
            return false;
    }
    return true;
}
