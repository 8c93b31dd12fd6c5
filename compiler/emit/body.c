/* Prints a kernel's function, statement by statement. */
#include "body.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 4 };

/* The text to print to, and the function that is printed. */
struct printer {
    struct cr_text *text;
    const struct cr_function *f;
    const char *arguments; /* the prefix of the function's arguments, such as "a->" */
};

/* ---- integer expressions ---- */

/* Precedence of operators in C, lowest first. */
enum binding { SELECT, OR, AND, EQUAL, COMPARE, SUM, PRODUCT, UNARY, ATOM };

static const struct {
    const char *sign; /* between two operands */
    enum binding binding;
} operators[] = {
    [CR_EXPR_NUMBER] = {"", ATOM},      [CR_EXPR_VAR] = {"", ATOM},
    [CR_EXPR_FIELD] = {"", ATOM},       [CR_EXPR_ADD] = {"+", SUM},
    [CR_EXPR_SUB] = {"-", SUM},         [CR_EXPR_MUL] = {"*", PRODUCT},
    [CR_EXPR_DIV] = {"/", PRODUCT},     [CR_EXPR_MOD] = {"%", PRODUCT},
    [CR_EXPR_MIN] = {"<", SELECT},      [CR_EXPR_LESS] = {"<", COMPARE},
    [CR_EXPR_GREATER] = {">", COMPARE}, [CR_EXPR_EQUAL] = {"==", EQUAL},
    [CR_EXPR_AND] = {"&&", AND},        [CR_EXPR_OR] = {"||", OR},
    [CR_EXPR_NOT] = {"", UNARY},        [CR_EXPR_SELECT] = {"", SELECT},
    [CR_EXPR_CALL] = {"", ATOM},        [CR_EXPR_LOAD] = {"", ATOM},
};

/* Prints a number or, if it is a named size, the size's text.  If `tight`, a product of several
 * factors is put in parentheses. */
static void print_number(const struct printer *p, int64_t number, int size, bool tight)
{
    char text[512];
    if (!size) {
        cr_put(p->text, "%lld", (long long)number);
        return;
    }
    bool loose = cr_size_text(p->f->sizes, size, text, sizeof text) > 1 && tight;
    cr_put(p->text, loose ? "(%s)" : "%s", text);
}

/* Returns the precedence of a node's operator; a size may be a product. */
static enum binding binding_of(const struct printer *p, const struct cr_expr_node *e)
{
    char text[512];
    if (e->op == CR_EXPR_NUMBER && e->size &&
        cr_size_text(p->f->sizes, e->size, text, sizeof text) > 1)
        return PRODUCT;
    return operators[e->op].binding;
}

static void print_expr(const struct printer *p, cr_expr expr, enum binding least);
static void print_call(const struct printer *p, const struct cr_call *call);

/* Prints "a + b", or "-b" for 0 - b. */
static void print_binary(const struct printer *p, const struct cr_expr_node *e)
{
    enum binding binding = operators[e->op].binding;
    const struct cr_expr_node *a = &p->f->exprs[e->a];
    if (e->op == CR_EXPR_SUB && a->op == CR_EXPR_NUMBER && a->number == 0) {
        cr_put(p->text, "-");
        print_expr(p, e->b, UNARY);
        return;
    }
    if (e->op == CR_EXPR_OR && a->op == CR_EXPR_AND)
        binding = EQUAL; /* "(a && b) || c", for the reader and for compilers that warn */
    const struct cr_expr_node *b = &p->f->exprs[e->b];
    print_expr(p, e->a, binding);
    if (e->op == CR_EXPR_GREATER && b->op == CR_EXPR_NUMBER && b->number == -1) {
        cr_put(p->text, " >= 0");
        return;
    }
    cr_put(p->text, " %s ", operators[e->op].sign);
    if (e->op == CR_EXPR_OR)
        binding = AND;
    print_expr(p, e->b, e->op == CR_EXPR_ADD ? binding : (enum binding)(binding + 1));
}

/* Prints an expression node.  C has no operator for MIN, so both operands are printed twice: they
 * may not contain calls with side effects. */
static void print_node(const struct printer *p, const struct cr_expr_node *e)
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
        print_expr(p, e->a, COMPARE);
        cr_put(p->text, " < ");
        print_expr(p, e->b, SUM);
        cr_put(p->text, " ? ");
        print_expr(p, e->a, OR);
        cr_put(p->text, " : ");
        print_expr(p, e->b, SELECT);
        break;
    case CR_EXPR_NOT:
        cr_put(p->text, "!");
        print_expr(p, e->a, UNARY);
        break;
    case CR_EXPR_SELECT:
        print_expr(p, e->a, OR);
        cr_put(p->text, " ? ");
        print_expr(p, e->b, SELECT);
        cr_put(p->text, " : ");
        print_expr(p, e->c, SELECT);
        break;
    case CR_EXPR_CALL:
        print_call(p, &p->f->calls[e->a]);
        break;
    case CR_EXPR_LOAD:
        cr_put(p->text, "%s%s[", p->arguments, p->f->slots[e->a].name);
        if (e->b != CR_NONE)
            cr_put(p->text, "%s%s", p->f->vars[e->b].name, e->number ? " + " : "");
        if (e->b == CR_NONE || e->number)
            cr_put(p->text, "%lld", (long long)e->number);
        cr_put(p->text, "]");
        break;
    default:
        print_binary(p, e);
    }
}

/* Puts parentheses around an expression whose precedence is lower than `least`. */
static void print_expr(const struct printer *p, cr_expr expr, enum binding least)
{
    const struct cr_expr_node *e = &p->f->exprs[expr];
    bool loose = binding_of(p, e) < least;
    cr_put(p->text, loose ? "(" : "");
    print_node(p, e);
    cr_put(p->text, loose ? ")" : "");
}

/* ---- calls ---- */

/* Prints the number of a constant.  C has no literal for -2^31, so that is printed as -2147483647 -
 * 1. */
static void print_constant(struct cr_text *t, const struct cr_slot *slot)
{
    char text[64];
    bool integer = cr_formats[slot->format].dtype == CR_I32, least = slot->number == INT32_MIN;
    /* no sum with 0, which would turn -0 into 0 */
    cr_number_text(text, sizeof text, slot->format,
                   integer && least ? slot->number + 1 : slot->number);
    bool named = strpbrk(text, "AI") != NULL;
    cr_put(t, "%s%s", named ? "CR_" : "", text);
    if (integer)
        cr_put(t, least ? " - 1" : "");
    else
        cr_put(t, named ? "" : strpbrk(text, ".e") ? "f" : ".0f");
}

/* Prints the address of a slot's first element; of a constant "&(const float){0.5f}". */
static void print_start(const struct printer *p, const struct cr_address *address)
{
    const struct cr_slot *slot = &p->f->slots[address->slot];
    if (slot->kind == CR_SLOT_CONSTANT) {
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

/* Prints an address, such as "slot + i * 48 + 96". */
static void print_address(const struct printer *p, const struct cr_address *address)
{
    print_start(p, address);
    for (int i = 0; i < address->n_terms; i++) {
        const struct cr_term *term = &p->f->terms[address->first_term + i];
        const char *var = p->f->vars[term->var].name;
        if (term->origin == CR_NONE)
            cr_put(p->text, " + %s", var);
        else
            cr_put(p->text, " + (%s - %s)", var, p->f->vars[term->origin].name);
        if (term->coef != 1) {
            cr_put(p->text, " * ");
            print_number(p, term->coef, term->size, true);
        }
    }
    if (address->base) {
        cr_put(p->text, address->base < 0 ? " - " : " + ");
        print_number(p, llabs(address->base), address->size, false);
    }
}

/* Prints an argument.  An address with a condition is 0, a null pointer, if the condition is
 * false. */
static void print_argument(const struct printer *p, const struct cr_argument *argument)
{
    switch (argument->kind) {
    case CR_ARGUMENT_NUMBER:
        print_expr(p, argument->number, SELECT);
        break;
    case CR_ARGUMENT_ADDRESS:
        if (argument->number == CR_NONE) {
            print_address(p, &argument->address);
            break;
        }
        print_expr(p, argument->number, OR);
        cr_put(p->text, " ? ");
        print_address(p, &argument->address);
        cr_put(p->text, " : 0");
        break;
    case CR_ARGUMENT_NULL:
        cr_put(p->text, "0");
        break;
    case CR_ARGUMENT_VALUE:
        print_constant(p->text, &p->f->slots[argument->address.slot]);
        break;
    }
}

static void print_call(const struct printer *p, const struct cr_call *call)
{
    char name[64];
    cr_callee_name(name, sizeof name, call);
    cr_put(p->text, "rt->%s(", name);
    for (int i = 0; i < call->n_arguments; i++) {
        cr_put(p->text, i ? ", " : "");
        print_argument(p, &p->f->arguments[call->first_argument + i]);
    }
    cr_put(p->text, ")");
}

/* ---- statements ---- */

/* Returns the END statement of the loop or `if` whose body begins at `begin`. */
static int end_of(const struct cr_function *f, int begin)
{
    int depth = 1, at = begin;
    for (; depth; at++) {
        enum cr_statement_kind kind = f->body[at].kind;
        depth += kind == CR_STATEMENT_LOOP || kind == CR_STATEMENT_IF;
        depth -= kind == CR_STATEMENT_END;
    }
    return at - 1;
}

/* Prints "for (long i = first; i < last; i += step) {". */
static void print_loop(const struct printer *p, const struct cr_statement *s)
{
    const char *var = p->f->vars[s->var].name;
    cr_put(p->text, "for (long %s = ", var);
    print_expr(p, s->value, SELECT);
    cr_put(p->text, "; %s < ", var);
    print_expr(p, s->last, SUM);
    if (s->until != CR_NONE) {
        cr_put(p->text, " && ");
        print_expr(p, s->until, EQUAL);
    }
    if (s->step == 1)
        cr_put(p->text, "; %s++) {", var);
    else
        cr_put(p->text, "; %s += %lld) {", var, (long long)s->step);
}

static void print_assignment(const struct printer *p, const struct cr_statement *s)
{
    const struct cr_var *var = &p->f->vars[s->var];
    if (s->kind == CR_STATEMENT_LET)
        cr_put(p->text, var->changes ? "long " : "const long ");
    cr_put(p->text, "%s = ", var->name);
    print_expr(p, s->value, SELECT);
    cr_put(p->text, ";");
}

/* Prints a statement; `single`: it is an `if` whose body is one statement. */
static void print_line(const struct printer *p, const struct cr_statement *s, bool single)
{
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        print_loop(p, s);
        break;
    case CR_STATEMENT_IF:
        cr_put(p->text, "if (");
        print_expr(p, s->value, SELECT);
        cr_put(p->text, single ? ")" : ") {");
        break;
    case CR_STATEMENT_END:
        cr_put(p->text, "}");
        break;
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        print_assignment(p, s);
        break;
    case CR_STATEMENT_CALL:
        print_call(p, &p->f->calls[s->call]);
        cr_put(p->text, ";");
        break;
    case CR_STATEMENT_NOTE:
        break;
    }
    if (s->note)
        cr_put(p->text, s->kind == CR_STATEMENT_NOTE ? "/* %s */" : " /* %s */", s->note);
}

/* Prints all statements; an `if` with one statement has no braces. */
static void print_body(struct cr_text *text, const struct cr_function *f,
                       struct cr_span *statements)
{
    struct cr_text line = {0};
    const struct printer p = {&line, f, "a->"};
    int indent = INDENT, single_end = -1;
    for (int i = 0; i < f->n_body; i++) {
        const struct cr_statement *s = &f->body[i];
        bool single = s->kind == CR_STATEMENT_IF && end_of(f, i + 1) == i + 2;
        if (s->kind == CR_STATEMENT_END)
            indent -= INDENT;
        if (i == single_end)
            continue;
        line.length = 0;
        size_t begin = text->length;
        print_line(&p, s, single);
        cr_put_line(text, indent, "%s", line.data);
        if (statements)
            statements[i] = (struct cr_span){begin, text->length};
        if (single)
            single_end = i + 2;
        if (s->kind == CR_STATEMENT_LOOP || s->kind == CR_STATEMENT_IF)
            indent += INDENT;
    }
    free(line.data);
}

/* ---- the frame ---- */

static void print_comment(struct cr_text *t, const struct cr_function *f)
{
    cr_put(t, "\n/*\n * k%d_%s: ", f->number, f->title);
    for (const char *line = f->comment; *line;) {
        size_t n = strcspn(line, "\n");
        cr_put(t, "%s%.*s\n", line == f->comment ? "" : " * ", (int)n, line);
        line += n + (line[n] == '\n');
    }
    cr_put(t, " */\n");
}

/* Prints the struct of a function's arguments.  A field has the name of its slot; cr_emit_step_call
 * initialises it by that name. */
static void print_struct(struct cr_text *t, const struct cr_function *f)
{
    cr_put(t, "struct k%d_args {\n    const struct cr_runtime *rt;\n", f->number);
    for (int i = 0; i < f->n_bound; i++) {
        const struct cr_slot *slot = &f->slots[i];
        if (slot->kind == CR_SLOT_NUMBER)
            cr_put(t, "    long %s; /* %s */\n", slot->name, slot->note);
        else
            cr_put(t, "    %s%s *%s; /* %s%s */\n", slot->written ? "" : "const ",
                   cr_formats[slot->format].c_type, slot->name, slot->note,
                   slot->packed ? ", packed" : "");
    }
    cr_put(t, "};\n\n");
}

/* Prints the pointer to a slot of scratch.  The offset counts floats, so a pointer to another type
 * is cast after the sum.  Where values have names, the first one stands for the slot, and the
 * others are equal to it. */
static void print_scratch(struct cr_text *t, const struct cr_function *f, int number)
{
    const struct cr_slot *slot = &f->slots[number];
    const struct cr_format_info *format = &cr_formats[slot->format];
    bool sized = slot->offset && format->unit != (int)sizeof(float);
    const char *name = NULL;
    struct cr_text more = {0}, line = {0};
    for (int i = 0; i < f->n_names; i++) {
        if (f->names[i].slot == number && name)
            cr_put(&more, ", *const %s = %s", f->names[i].text, name);
        else if (f->names[i].slot == number)
            name = f->names[i].text;
    }
    cr_put(&line, "%s *const %s = ", format->c_type, name ? name : slot->name);
    if (strcmp(format->c_type, "float") != 0)
        cr_put(&line, "(%s *)", format->c_type);
    cr_put(&line, sized ? "(scratch" : "scratch");
    if (slot->offset)
        cr_put(&line, " + %lld", (long long)slot->offset);
    cr_put(&line, "%s%s; /* %s */", sized ? ")" : "", more.length ? more.data : "", slot->note);
    cr_put_line(t, INDENT, "%s", line.data);
    free(more.data);
    free(line.data);
}

/* True if a function has a loop over its items; else it has a single one. */
static bool loops_over_items(const struct cr_function *f)
{
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == CR_STATEMENT_LOOP && f->body[i].var == CR_VAR_ITEM)
            return true;
    return false;
}

/* Prints the slots that are no arguments, and what the function does not use. */
static void print_slots(struct cr_text *t, const struct cr_function *f)
{
    if (!loops_over_items(f))
        cr_put(t, "    (void)begin, (void)end; /* there is one item */\n");
    if (!f->scratch_floats)
        cr_put(t, "    (void)scratch;\n");
    for (int i = f->n_bound; i < f->n_slots; i++) {
        if (f->slots[i].kind == CR_SLOT_SCRATCH)
            print_scratch(t, f, i);
    }
}

void cr_emit_function(struct cr_text *text, const struct cr_function *f,
                      struct cr_span *statements)
{
    print_comment(text, f);
    print_struct(text, f);
    cr_put(text,
           "static void k%d_%s(const void *args, long begin, long end, float *scratch)\n{\n"
           "    const struct k%d_args *a = args;\n"
           "    const struct cr_runtime *rt = a->rt;\n",
           f->number, f->title, f->number);
    print_slots(text, f);
    print_body(text, f, statements);
    cr_put(text, "}\n");
}

void cr_emit_items(struct cr_text *text, const struct cr_function *f)
{
    const struct printer p = {text, f, "args."};
    print_expr(&p, f->items, SELECT);
}
