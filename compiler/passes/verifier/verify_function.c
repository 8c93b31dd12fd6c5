/* verify_function.c - checks a function by itself: references, nesting, scopes, and signatures of
 * calls. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "verify_program.h"

static bool is_index(int i, int n)
{
    return i >= 0 && i < n;
}

/* ---- slots ---- */

/* True if a slot is of the kind that holds its length: a number or, for a ragged length, an array
 * of sizes. */
static bool may_hold(const struct cr_program_check *c, const struct cr_slot *s)
{
    if (!c->p->lengths[s->length].batch)
        return s->kind == CR_SLOT_NUMBER;
    return s->kind == CR_SLOT_ARGUMENT && s->format == CR_FORMAT_i32 && !s->written && !s->packed;
}

/* Checks slot i.  Slots that calls bind come before all others, because calls bind them by
 * index. */
static int verify_slot(const struct cr_program_check *c, int i)
{
    const struct cr_slot *s = &c->f->slots[i];
    bool bound = s->kind == CR_SLOT_ARGUMENT || s->kind == CR_SLOT_NUMBER;
    if (!is_index((int)s->kind, CR_SLOT_CONSTANT + 1) || bound != (i < c->f->n_bound))
        return cr_program_fault(c, "slot %d is of another kind than its place", i);
    if (!is_index((int)s->format, CR_FORMAT_COUNT))
        return cr_program_fault(c, "slot %d has no such format as %d", i, (int)s->format);
    if (!is_index(s->length + 1, c->p->n_lengths + 1) || (s->length >= 0 && !may_hold(c, s)))
        return cr_program_fault(c, "slot %d is no such length as %d", i, s->length);
    if (s->kind != CR_SLOT_ARGUMENT && (s->written || s->packed))
        return cr_program_fault(c, "slot %d is no argument, but written or packed", i);
    if (s->partly && !s->written)
        return cr_program_fault(c, "slot %d is written in part, but not written", i);
    if (s->kind == CR_SLOT_SCRATCH && (s->elements < 1 || s->elements > CR_MAX_ELEMENTS))
        return cr_program_fault(c, "scratch %s has %lld elements", s->name, (long long)s->elements);
    return 0;
}

static int verify_slots(const struct cr_program_check *c)
{
    if (!is_index(c->f->n_bound, c->f->n_slots + 1))
        return cr_program_fault(c, "%d of %d slots are bound", c->f->n_bound, c->f->n_slots);
    for (int i = 0; i < c->f->n_slots; i++)
        if (verify_slot(c, i))
            return -1;
    return 0;
}

/* ---- expressions ---- */

/* Returns how many of the fields a, b and c of an expression are expressions.  In VAR, FIELD, CALL
 * and LOAD, `a` is the index of a variable, slot or call. */
static int operands_of(enum cr_expr_op op)
{
    switch (op) {
    case CR_EXPR_NUMBER:
    case CR_EXPR_VAR:
    case CR_EXPR_FIELD:
    case CR_EXPR_CALL:
    case CR_EXPR_LOAD:
        return 0;
    case CR_EXPR_NOT:
        return 1;
    case CR_EXPR_SELECT:
        return 3;
    default:
        return 2;
    }
}

static bool is_field(const struct cr_function *f, int slot)
{
    return is_index(slot, f->n_bound) && f->slots[slot].kind == CR_SLOT_NUMBER;
}

/* True if an expression loads an i32 from an argument that the function only reads. */
static bool is_loaded(const struct cr_function *f, const struct cr_expr_node *e)
{
    const struct cr_slot *s = is_index(e->a, f->n_bound) ? &f->slots[e->a] : NULL;
    return s && s->kind == CR_SLOT_ARGUMENT && !s->written && !s->packed &&
           cr_formats[s->format].dtype == CR_I32 && e->number >= 0 &&
           e->number < CR_MAX_ELEMENTS && is_index(e->b + 1, f->n_vars + 1);
}

/* True if an expression has a greater index than all expressions in the arguments of its call. */
static bool is_behind_call(const struct cr_function *f, int expr, int call)
{
    if (!is_index(call, f->n_calls))
        return false;
    for (int i = 0; i < f->calls[call].n_arguments; i++)
        if (cr_argument_of(f, &f->calls[call], i)->number >= expr)
            return false;
    return true;
}

/* Fails unless the operands of an expression have smaller indices, so that there are no cycles. */
static int verify_expr(const struct cr_program_check *c, int i)
{
    const struct cr_expr_node *e = &c->f->exprs[i];
    const int operands[] = {e->a, e->b, e->c};
    if (!is_index((int)e->op, CR_EXPR_LOAD + 1))
        return cr_program_fault(c, "expression %d: no such op as %d", i, (int)e->op);
    for (int k = 0; k < operands_of(e->op); k++)
        if (!is_index(operands[k], i))
            return cr_program_fault(c, "expression %d is made of expression %d", i, operands[k]);
    if ((e->op == CR_EXPR_VAR && !is_index(e->a, c->f->n_vars)) ||
        (e->op == CR_EXPR_FIELD && !is_field(c->f, e->a)) ||
        (e->op == CR_EXPR_LOAD && !is_loaded(c->f, e)) ||
        (e->op == CR_EXPR_CALL && !is_behind_call(c->f, i, e->a)))
        return cr_program_fault(c, "expression %d is made of %d, which is not there", i, e->a);
    return 0;
}

/* ---- calls ---- */

/* Fails unless the slot of an address holds elements, and its terms and variables exist.
 * verify_body checks that the variables are declared. */
static int verify_address(const struct cr_program_check *c, const struct cr_address *a)
{
    const struct cr_function *f = c->f;
    if (!is_index(a->slot, f->n_slots) || f->slots[a->slot].kind == CR_SLOT_NUMBER)
        return cr_program_fault(c, "there is no slot %d to address", a->slot);
    if (a->n_terms < 0 || (a->n_terms && (!is_index(a->first_term, f->n_terms) ||
                                          a->n_terms > f->n_terms - a->first_term)))
        return cr_program_fault(c, "an address has terms that are not there");
    for (int i = 0; i < a->n_terms; i++) {
        const struct cr_term *t = &f->terms[a->first_term + i];
        if (!is_index(t->var, f->n_vars) ||
            (t->origin != CR_NONE && !is_index(t->origin, f->n_vars)))
            return cr_program_fault(c, "an address depends on a variable that is not there");
    }
    return 0;
}

/* Fails unless the object to which an argument refers exists.  verify_call checks that the callee
 * takes this kind of argument. */
static int verify_argument(const struct cr_program_check *c, const struct cr_argument *a)
{
    bool number = is_index(a->number, c->f->n_exprs);
    switch (a->kind) {
    case CR_ARGUMENT_NUMBER:
        return number ? 0 : cr_program_fault(c, "there is no expression %d", a->number);
    case CR_ARGUMENT_ADDRESS:
        if (!number && a->number != CR_NONE)
            return cr_program_fault(c, "there is no expression %d", a->number);
        return verify_address(c, &a->address);
    case CR_ARGUMENT_NULL:
        return 0;
    case CR_ARGUMENT_VALUE:
        if (!is_index(a->address.slot, c->f->n_slots) ||
            c->f->slots[a->address.slot].kind != CR_SLOT_CONSTANT)
            return cr_program_fault(c, "slot %d is no constant", a->address.slot);
        return 0;
    }
    return cr_program_fault(c, "there is no such kind of argument as %d", (int)a->kind);
}

static int verify_call_itself(const struct cr_program_check *c, int i)
{
    const struct cr_call *call = &c->f->calls[i];
    if (!is_index((int)call->callee, CR_CALLEE_COUNT) || !is_index((int)call->op, CR_OP_COUNT) ||
        !is_index((int)call->format, CR_FORMAT_COUNT))
        return cr_program_fault(c, "call %d is of nothing that there is", i);
    if (call->n_arguments < 0 || call->n_arguments > CR_MAX_SIGNATURE ||
        (call->n_arguments && (!is_index(call->first_argument, c->f->n_arguments) ||
                               call->n_arguments > c->f->n_arguments - call->first_argument)))
        return cr_program_fault(c, "call %d has arguments that are not there", i);
    return 0;
}

/* ---- signatures of calls ---- */

static const char *name_of(const struct cr_call *call, char *buffer, size_t size)
{
    cr_callee_name(buffer, size, call);
    return buffer;
}

static bool is_ints(enum cr_format format)
{
    return cr_formats[format].dtype == CR_I32;
}

/* True if the runtime has this function for tiles of the call's format. */
static bool has_family(const struct cr_call *call)
{
    bool ints = is_ints(call->format);
    enum cr_rule rule = cr_ops[call->op].rule;
    switch (call->callee) {
    case CR_CALLEE_load:
    case CR_CALLEE_store:
    case CR_CALLEE_gather:
    case CR_CALLEE_lookup:
    case CR_CALLEE_cumsum:
        return true;
    case CR_CALLEE_iota:
        return ints;
    case CR_CALLEE_MAP:
        return cr_ops[call->op].kind == CR_KIND_ELEMENTWISE &&
               !(ints && (rule == CR_RULE_FLOAT || rule == CR_RULE_LOGIC)) &&
               (ints || rule != CR_RULE_TRUNCATE) &&
               call->by_row < (1u << cr_ops[call->op].arity) - (cr_ops[call->op].arity > 0);
    case CR_CALLEE_REDUCE:
    case CR_CALLEE_REDUCE_DOWN:
    case CR_CALLEE_REDUCE_LANES:
        return cr_ops[call->op].kind == CR_KIND_REDUCE && !(ints && rule == CR_RULE_FLOAT);
    default:
        return !ints;
    }
}

/* Fails unless the slot of an address has the element type and format of the parameter (of its
 * panels or rounded rows, if it takes those).  If the callee writes, the slot must be writable; if
 * the slot is packed, the parameter must take panels. */
static int verify_operand(const struct cr_program_check *c, const struct cr_call *call, int i,
                          const struct cr_parameter *p)
{
    const struct cr_argument *a = cr_argument_of(c->f, call, i);
    char name[64];
    if (a->kind == CR_ARGUMENT_NULL ? !p->nullable : a->number != CR_NONE && !p->nullable)
        return cr_program_fault(c, "argument %d of %s may not be null", i,
                                name_of(call, name, sizeof name));
    if (a->kind == CR_ARGUMENT_NULL)
        return 0;
    const struct cr_slot *s = &c->f->slots[a->address.slot];
    bool ints =
        p->element == CR_ELEMENT_INT || (p->element == CR_ELEMENT_OF_CALL && is_ints(call->format));
    if (is_ints(s->format) != ints)
        return cr_program_fault(c, "argument %d of %s is of %ss, %s is not", i,
                                name_of(call, name, sizeof name), ints ? "int" : "float", s->name);
    enum cr_format expected = p->panels || p->format != CR_FORMAT_f32
                                  ? p->format
                                  : cr_format_of(cr_formats[s->format].dtype);
    if (s->format != expected)
        return cr_program_fault(c, "argument %d of %s is of %s, %s is of %s", i,
                                name_of(call, name, sizeof name), cr_formats[expected].name,
                                s->name, cr_formats[s->format].name);
    if (p->written && (s->kind == CR_SLOT_CONSTANT || (s->kind == CR_SLOT_ARGUMENT && !s->written)))
        return cr_program_fault(c, "%s writes to %s, which is only to be read",
                                name_of(call, name, sizeof name), s->name);
    if (s->packed && !p->panels)
        return cr_program_fault(c, "%s takes %s, which is packed, as plain rows",
                                name_of(call, name, sizeof name), s->name);
    return 0;
}

/* Fails unless the arguments of a call have the number and the kinds of its signature.  The call
 * itself and all arguments must have been checked before. */
static int verify_call(struct cr_program_check *c, const struct cr_call *call)
{
    char name[64];
    if (!has_family(call))
        return cr_program_fault(c, "the runtime has no %s", name_of(call, name, sizeof name));
    const struct cr_signature *s = cr_signature_of(c, call);
    if (call->n_arguments != s->n)
        return cr_program_fault(c, "%s has %d arguments, %d are given",
                                name_of(call, name, sizeof name), s->n, call->n_arguments);
    for (int i = 0; i < s->n; i++) {
        const struct cr_parameter *p = &s->parameters[i];
        enum cr_argument_kind kind = cr_argument_of(c->f, call, i)->kind;
        bool address = p->kind == CR_PARAMETER_ADDRESS, number = p->kind != CR_PARAMETER_FLOAT;
        if (address ? kind != CR_ARGUMENT_ADDRESS && kind != CR_ARGUMENT_NULL
                    : kind != (number ? CR_ARGUMENT_NUMBER : CR_ARGUMENT_VALUE))
            return cr_program_fault(c, "argument %d of %s is of another kind", i,
                                    name_of(call, name, sizeof name));
        if (address && verify_operand(c, call, i, p))
            return -1;
    }
    return 0;
}

/* ---- scopes ---- */

/* The variables that are declared at the current statement. */
struct scopes {
    struct cr_program_check *c;
    int *depth_of; /* by variable: the depth of the block that declares it; 0 if it is not
                      declared */
    int *declared; /* the declared variables, innermost last */
    int n_declared;
    int depth;
};

static int see_expr(struct scopes *s, cr_expr expr);

static int see_var(struct scopes *s, int var)
{
    if (s->depth_of[var])
        return 0;
    return cr_program_fault(s->c, "variable %s is not declared here", s->c->f->vars[var].name);
}

static int see_argument(struct scopes *s, const struct cr_argument *a)
{
    if (a->number != CR_NONE && a->kind != CR_ARGUMENT_NULL && a->kind != CR_ARGUMENT_VALUE &&
        see_expr(s, a->number))
        return -1;
    for (int i = 0; a->kind == CR_ARGUMENT_ADDRESS && i < a->address.n_terms; i++) {
        const struct cr_term *t = &s->c->f->terms[a->address.first_term + i];
        if (see_var(s, t->var) || (t->origin != CR_NONE && see_var(s, t->origin)))
            return -1;
    }
    return 0;
}

static int see_call(struct scopes *s, int call)
{
    if (!is_index(call, s->c->f->n_calls))
        return cr_program_fault(s->c, "there is no call %d", call);
    const struct cr_call *at = &s->c->f->calls[call];
    for (int i = 0; i < at->n_arguments; i++)
        if (see_argument(s, cr_argument_of(s->c->f, at, i)))
            return -1;
    return 0;
}

/* Fails unless all variables of an expression are declared.  The recursion ends because operands,
 * and arguments of calls, have smaller indices than the expression (verify_expr). */
static int see_expr(struct scopes *s, cr_expr expr)
{
    if (!is_index(expr, s->c->f->n_exprs))
        return cr_program_fault(s->c, "there is no expression %d", expr);
    const struct cr_expr_node *e = &s->c->f->exprs[expr];
    const int operands[] = {e->a, e->b, e->c};
    if (e->op == CR_EXPR_VAR)
        return see_var(s, e->a);
    if (e->op == CR_EXPR_CALL)
        return see_call(s, e->a);
    for (int i = 0; i < operands_of(e->op); i++)
        if (see_expr(s, operands[i]))
            return -1;
    return 0;
}

static int declare(struct scopes *s, int var)
{
    if (!is_index(var, s->c->f->n_vars))
        return cr_program_fault(s->c, "there is no variable %d", var);
    if (s->depth_of[var])
        return cr_program_fault(s->c, "variable %s is declared again", s->c->f->vars[var].name);
    s->depth_of[var] = s->depth;
    s->declared[s->n_declared++] = var;
    return 0;
}

static int end_block(struct scopes *s)
{
    while (s->n_declared && s->depth_of[s->declared[s->n_declared - 1]] == s->depth)
        s->depth_of[s->declared[--s->n_declared]] = 0;
    return --s->depth > 0 ? 0 : cr_program_fault(s->c, "nothing is open that could end here");
}

/* ---- statements ---- */

/* Begins a loop.  Its counter may be used in `until`, but not in its first and last value. */
static int begin_loop(struct scopes *s, const struct cr_statement *at)
{
    if (at->step < 1)
        return cr_program_fault(s->c, "a loop goes by steps of %lld", (long long)at->step);
    if (see_expr(s, at->value) || see_expr(s, at->last))
        return -1;
    s->depth++;
    if (declare(s, at->var))
        return -1;
    if (s->c->f->vars[at->var].changes)
        return cr_program_fault(s->c, "the counter %s is set", s->c->f->vars[at->var].name);
    return at->until != CR_NONE && see_expr(s, at->until) ? -1 : 0;
}

static int set(struct scopes *s, const struct cr_statement *at)
{
    if (see_expr(s, at->value))
        return -1;
    if (!is_index(at->var, s->c->f->n_vars))
        return cr_program_fault(s->c, "there is no variable %d", at->var);
    if (!s->c->f->vars[at->var].changes)
        return cr_program_fault(s->c, "variable %s is set, but does not change",
                                s->c->f->vars[at->var].name);
    return see_var(s, at->var);
}

/* Checks a statement, which may use only variables of open blocks.  LOOP and IF open a block; END
 * closes it. */
static int verify_statement(struct scopes *s, const struct cr_statement *at)
{
    switch (at->kind) {
    case CR_STATEMENT_LOOP:
        return begin_loop(s, at);
    case CR_STATEMENT_IF:
        s->depth++;
        return see_expr(s, at->value);
    case CR_STATEMENT_END:
        return end_block(s);
    case CR_STATEMENT_LET:
        return see_expr(s, at->value) || declare(s, at->var) ? -1 : 0;
    case CR_STATEMENT_SET:
        return set(s, at);
    case CR_STATEMENT_CALL:
        return see_call(s, at->call);
    case CR_STATEMENT_NOTE:
        return 0;
    }
    return cr_program_fault(s->c, "there is no such kind of statement as %d", (int)at->kind);
}

/* Checks the statements in order.  The body is the block at depth 1, and must be the only open
 * block at the end. */
static int verify_body(struct cr_program_check *c)
{
    const struct cr_function *f = c->f;
    struct scopes s = {.c = c, .depth = 1};
    int status = 0;
    s.depth_of = cr_calloc((size_t)f->n_vars, sizeof *s.depth_of);
    s.declared = cr_calloc((size_t)f->n_vars, sizeof *s.declared);
    s.depth_of[CR_VAR_BEGIN] = s.depth_of[CR_VAR_END] = 1;
    for (int i = 0; i < f->n_body && !status; i++) {
        c->statement = i;
        status = verify_statement(&s, &f->body[i]);
    }
    c->statement = CR_NONE;
    if (!status && s.depth != 1)
        status = cr_program_fault(c, "%d loops or conditions do not end", s.depth - 1);
    free(s.depth_of);
    free(s.declared);
    return status;
}

/* ---- the whole function ---- */

static bool is_of_numbers(const struct cr_function *f, cr_expr expr)
{
    const struct cr_expr_node *e = &f->exprs[expr];
    const int operands[] = {e->a, e->b, e->c};
    bool numbers = e->op != CR_EXPR_VAR && e->op != CR_EXPR_CALL && e->op != CR_EXPR_LOAD;
    for (int i = 0; i < operands_of(e->op); i++)
        numbers = numbers && is_of_numbers(f, operands[i]);
    return numbers;
}

/* Fails unless the expression for the number of items depends only on constants and on number
 * arguments of the call. */
static int verify_items(const struct cr_program_check *c)
{
    if (!is_index(c->f->items, c->f->n_exprs))
        return cr_program_fault(c, "nothing says how many items it has");
    if (!is_of_numbers(c->f, c->f->items))
        return cr_program_fault(c, "its items depend on what it does");
    return 0;
}

/* Checks calls, expressions and arguments, in this order: expressions refer to arguments of calls,
 * arguments to expressions, and signatures to all of these. */
static int verify_pools(struct cr_program_check *c)
{
    const struct cr_function *f = c->f;
    if (f->n_body && f->n_vars < CR_N_OWN_VARS)
        return cr_program_fault(c, "it lacks its own variables");
    for (int i = 0; i < f->n_calls; i++)
        if (verify_call_itself(c, i))
            return -1;
    for (int i = 0; i < f->n_exprs; i++)
        if (verify_expr(c, i))
            return -1;
    for (int i = 0; i < f->n_arguments; i++)
        if (verify_argument(c, &f->arguments[i]))
            return -1;
    for (int i = 0; i < f->n_calls; i++)
        if (verify_call(c, &f->calls[i]))
            return -1;
    return 0;
}

int cr_verify_function(struct cr_program_check *c)
{
    if (c->f->number != c->function + 1)
        return cr_program_fault(c, "it is called function %d", c->f->number);
    return verify_slots(c) || verify_pools(c) || verify_items(c) || verify_body(c) ? -1 : 0;
}
