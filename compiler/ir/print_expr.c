#include "print_expr.h"

#include <stdlib.h>
#include <string.h>

/* ---- integer expressions ---- */

static const struct {
    const char *sign, *word; /* the text between two operands: in C, in a dump */
    enum cr_expr_precedence precedence;
} operators[] = {
    [CR_EXPR_NUMBER] = {"", "", CR_BY_ATOM},
    [CR_EXPR_VAR] = {"", "", CR_BY_ATOM},
    [CR_EXPR_FIELD] = {"", "", CR_BY_ATOM},
    [CR_EXPR_ADD] = {"+", "+", CR_BY_SUM},
    [CR_EXPR_SUB] = {"-", "-", CR_BY_SUM},
    [CR_EXPR_MUL] = {"*", "*", CR_BY_PRODUCT},
    [CR_EXPR_DIV] = {"/", "/", CR_BY_PRODUCT},
    [CR_EXPR_MOD] = {"%", "%", CR_BY_PRODUCT},
    [CR_EXPR_MIN] = {"<", "", CR_BY_SELECT},
    [CR_EXPR_LESS] = {"<", "<", CR_BY_COMPARE},
    [CR_EXPR_GREATER] = {">", ">", CR_BY_COMPARE},
    [CR_EXPR_EQUAL] = {"==", "==", CR_BY_EQUAL},
    [CR_EXPR_AND] = {"&&", "and", CR_BY_AND},
    [CR_EXPR_OR] = {"||", "or", CR_BY_OR},
    [CR_EXPR_NOT] = {"!", "not ", CR_BY_UNARY},
    [CR_EXPR_SELECT] = {"", "", CR_BY_SELECT},
    [CR_EXPR_CALL] = {"", "", CR_BY_ATOM},
    [CR_EXPR_LOAD] = {"", "", CR_BY_ATOM},
};

static const char *sign_of(const struct cr_expr_printer *p, enum cr_expr_op op)
{
    return p->as_c ? operators[op].sign : operators[op].word;
}

/* Writes the name of a size as the function's C has it; returns the number of its factors. */
static int size_text(const struct cr_expr_printer *p, int size, char *text, size_t bytes)
{
    char name[512];
    int factors = cr_size_text(p->f->sizes, size, name, sizeof name);
    cr_put_kernel_number(text, bytes, name, p->f->number);
    return factors;
}

/* Prints a number; in C, as its named size if it has one.  The named size of a negative number is
 * that of its absolute value.  If `tight`, a product of several factors is put in parentheses. */
static void print_number(const struct cr_expr_printer *p, int64_t number, int size, bool tight)
{
    char text[512];
    if (!size || !p->as_c) {
        cr_put(p->text, "%lld", (long long)number);
        return;
    }
    bool loose = size_text(p, size, text, sizeof text) > 1 && (tight || number < 0);
    cr_put(p->text, loose ? "%s(%s)" : "%s%s", number < 0 ? "-" : "", text);
}

void cr_print_size(const struct cr_expr_printer *p, int64_t number, int size)
{
    print_number(p, number, size, false);
}

/* Returns the precedence of a node's operator.  In C a size may be a product; in a dump a minimum
 * is a call. */
static enum cr_expr_precedence precedence_of(const struct cr_expr_printer *p,
                                        const struct cr_expr_node *e)
{
    char text[512];
    if (p->as_c && e->op == CR_EXPR_NUMBER && e->size && e->number > 0 &&
        cr_size_text(p->f->sizes, e->size, text, sizeof text) > 1)
        return CR_BY_PRODUCT;
    return e->op == CR_EXPR_MIN && !p->as_c ? CR_BY_ATOM : operators[e->op].precedence;
}

/* Prints a binary operator, "a + b", or "-b" for 0 - b. */
static void print_binary(const struct cr_expr_printer *p, const struct cr_expr_node *e)
{
    enum cr_expr_precedence left = operators[e->op].precedence, right = left;
    const struct cr_expr_node *a = &p->f->exprs[e->a];
    if (e->op == CR_EXPR_SUB && a->op == CR_EXPR_NUMBER && a->number == 0) {
        cr_put(p->text, "-");
        cr_print_expr(p, e->b, CR_BY_UNARY);
        return;
    }
    if (p->as_c && e->op == CR_EXPR_OR) { /* "(a && b) || c", since compilers warn about missing
                                           * parentheses */
        left = a->op == CR_EXPR_AND ? CR_BY_EQUAL : left;
        right = CR_BY_AND;
    }
    const struct cr_expr_node *b = &p->f->exprs[e->b];
    cr_print_expr(p, e->a, left);
    if (p->as_c && e->op == CR_EXPR_GREATER && b->op == CR_EXPR_NUMBER && b->number == -1) {
        cr_put(p->text, " >= 0");
        return;
    }
    cr_put(p->text, " %s ", sign_of(p, e->op));
    cr_print_expr(p, e->b, e->op == CR_EXPR_ADD ? right : (enum cr_expr_precedence)(right + 1));
}

/* Prints a minimum.  C has no operator for it, so both operands are printed twice: they may not
 * contain calls with side effects. */
static void print_minimum(const struct cr_expr_printer *p, const struct cr_expr_node *e)
{
    if (p->as_c) {
        cr_print_expr(p, e->a, CR_BY_COMPARE);
        cr_put(p->text, " < ");
        cr_print_expr(p, e->b, CR_BY_SUM);
        cr_put(p->text, " ? ");
    }
    cr_put(p->text, p->as_c ? "" : "min(");
    cr_print_expr(p, e->a, p->as_c ? CR_BY_OR : CR_BY_SELECT);
    cr_put(p->text, p->as_c ? " : " : ", ");
    cr_print_expr(p, e->b, CR_BY_SELECT);
    cr_put(p->text, p->as_c ? "" : ")");
}

/* Prints an element of an i32 argument: "slot[i + 2]". */
static void print_load(const struct cr_expr_printer *p, const struct cr_expr_node *e)
{
    cr_put(p->text, "%s%s[", p->arguments, p->f->slots[e->a].name);
    if (e->b != CR_NONE)
        cr_put(p->text, "%s%s", p->f->vars[e->b].name, e->number ? " + " : "");
    if (e->b == CR_NONE || e->number)
        cr_put(p->text, "%lld", (long long)e->number);
    cr_put(p->text, "]");
}

/* Prints an expression without parentheses around it. */
static void print_node(const struct cr_expr_printer *p, const struct cr_expr_node *e)
{
    switch (e->op) {
    case CR_EXPR_NUMBER:
        print_number(p, e->number, e->size, false);
        break;
    case CR_EXPR_VAR:
        cr_put(p->text, "%s", p->f->vars[e->a].name);
        break;
    case CR_EXPR_FIELD:
        cr_put(p->text, "%s%s", p->arguments, p->f->slots[e->a].name);
        break;
    case CR_EXPR_MIN:
        print_minimum(p, e);
        break;
    case CR_EXPR_NOT:
        cr_put(p->text, "%s", sign_of(p, e->op));
        cr_print_expr(p, e->a, CR_BY_UNARY);
        break;
    case CR_EXPR_SELECT:
        cr_print_expr(p, e->a, CR_BY_OR);
        cr_put(p->text, " ? ");
        cr_print_expr(p, e->b, p->as_c ? CR_BY_SELECT : CR_BY_OR);
        cr_put(p->text, " : ");
        cr_print_expr(p, e->c, p->as_c ? CR_BY_SELECT : CR_BY_OR);
        break;
    case CR_EXPR_CALL:
        cr_print_call(p, &p->f->calls[e->a]);
        break;
    case CR_EXPR_LOAD:
        print_load(p, e);
        break;
    default:
        print_binary(p, e);
    }
}

void cr_print_expr(const struct cr_expr_printer *p, cr_expr expr, enum cr_expr_precedence least)
{
    const struct cr_expr_node *e = &p->f->exprs[expr];
    bool loose = precedence_of(p, e) < least;
    cr_put(p->text, loose ? "(" : "");
    print_node(p, e);
    cr_put(p->text, loose ? ")" : "");
}

/* ---- calls ---- */

/* Prints a constant's number.  C has no literal for -2^31, which is therefore printed as
 * -2147483647 - 1. */
static void print_constant(struct cr_text *t, const struct cr_slot *slot)
{
    char text[64];
    bool integer = cr_formats[slot->format].dtype == CR_I32, least = slot->number == INT32_MIN;
    /* nothing is added to other numbers, since -0 + 0 is 0 */
    cr_number_text(text, sizeof text, slot->format,
                   integer && least ? slot->number + 1 : slot->number);
    bool named = strpbrk(text, "AI") != NULL;
    cr_put(t, "%s%s", named ? "CR_" : "", text);
    if (integer)
        cr_put(t, least ? " - 1" : "");
    else
        cr_put(t, named ? "" : strpbrk(text, ".e") ? "f" : ".0f");
}

/* Prints the address of a slot's first element; in C, a constant is "&(const float){0.5f}". */
static void print_start(const struct cr_expr_printer *p, const struct cr_address *address)
{
    const struct cr_slot *slot = &p->f->slots[address->slot];
    if (p->as_c && slot->kind == CR_SLOT_CONSTANT) {
        cr_put(p->text, "&(const %s){", cr_formats[slot->format].c_type);
        if (address->size)
            print_number(p, (int64_t)slot->number, address->size, false);
        else
            print_constant(p->text, slot);
        cr_put(p->text, "}");
    } else {
        cr_put(p->text, "%s%s", slot->kind == CR_SLOT_ARGUMENT ? p->arguments : "",
               cr_address_name(p->f, address));
    }
}

/* Prints the absolute value of an address's base: in C, "HIDDEN_SIZE + HEAD_DIM / 2" if it is
 * split in two parts. */
static void print_base(const struct cr_expr_printer *p, const struct cr_address *a)
{
    int64_t part = p->as_c ? a->part : 0;
    print_number(p, llabs(a->base) - part, a->size, false);
    if (part) {
        cr_put(p->text, " + ");
        print_number(p, part, a->part_size, false);
    }
}

/* Prints an address: "slot + i * 48 + 96" in C, "slot[i * 48 + 96]" in a dump. */
static void print_address(const struct cr_expr_printer *p, const struct cr_address *a)
{
    bool indexed = !p->as_c && (a->n_terms || a->base);
    print_start(p, a);
    cr_put(p->text, indexed ? "[" : "");
    for (int i = 0; i < a->n_terms; i++) {
        const struct cr_term *term = &p->f->terms[a->first_term + i];
        const char *var = p->f->vars[term->var].name;
        cr_put(p->text, indexed && !i ? "" : " + ");
        if (term->origin == CR_NONE)
            cr_put(p->text, "%s", var);
        else
            cr_put(p->text, "(%s - %s)", var, p->f->vars[term->origin].name);
        if (term->coef != 1) {
            cr_put(p->text, " * ");
            print_number(p, term->coef, term->size, true);
        }
    }
    if (indexed && !a->n_terms)
        cr_put(p->text, "%lld", (long long)a->base);
    else if (a->base) {
        cr_put(p->text, a->base < 0 ? " - " : " + ");
        print_base(p, a);
    }
    cr_put(p->text, indexed ? "]" : "");
}

/* Prints an argument.  An address with a condition is a null pointer if the condition is false. */
static void print_argument(const struct cr_expr_printer *p, const struct cr_argument *argument)
{
    const char *none = p->as_c ? "0" : "none";
    switch (argument->kind) {
    case CR_ARGUMENT_NUMBER:
        cr_print_expr(p, argument->number, CR_BY_SELECT);
        break;
    case CR_ARGUMENT_ADDRESS:
        if (argument->number == CR_NONE) {
            print_address(p, &argument->address);
            break;
        }
        cr_print_expr(p, argument->number, CR_BY_OR);
        cr_put(p->text, " ? ");
        print_address(p, &argument->address);
        cr_put(p->text, " : %s", none);
        break;
    case CR_ARGUMENT_NULL:
        cr_put(p->text, "%s", none);
        break;
    case CR_ARGUMENT_VALUE:
        if (p->as_c)
            print_constant(p->text, &p->f->slots[argument->address.slot]);
        else
            cr_put(p->text, "%s", p->f->slots[argument->address.slot].name);
        break;
    }
}

void cr_print_call(const struct cr_expr_printer *p, const struct cr_call *call)
{
    char name[64];
    cr_callee_name(name, sizeof name, call);
    cr_put(p->text, "%s%s(", p->as_c ? "rt->" : "", name);
    for (int i = 0; i < call->n_arguments; i++) {
        cr_put(p->text, i ? ", " : "");
        print_argument(p, &p->f->arguments[call->first_argument + i]);
    }
    cr_put(p->text, ")");
}
