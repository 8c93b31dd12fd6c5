/* unused_variables.c - removes the declarations of variables that no statement reads.  Loops and
 * conditions that turn out not to be needed leave such declarations. */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "compiler/ir/mem.h"

static void use_expr(const struct cr_function *f, cr_expr expr, bool *used);

static void use_address(const struct cr_function *f, const struct cr_address *address, bool *used)
{
    for (int i = 0; i < address->n_terms; i++) {
        const struct cr_term *term = &f->terms[address->first_term + i];
        used[term->var] = true;
        if (term->origin != CR_NONE)
            used[term->origin] = true;
    }
}

static void use_call(const struct cr_function *f, const struct cr_call *call, bool *used)
{
    for (int i = 0; i < call->n_arguments; i++) {
        const struct cr_argument *argument = &f->arguments[call->first_argument + i];
        if (argument->number != CR_NONE)
            use_expr(f, argument->number, used);
        if (argument->kind == CR_ARGUMENT_ADDRESS)
            use_address(f, &argument->address, used);
    }
}

/* Sets used[v] for each variable v in an expression. */
static void use_expr(const struct cr_function *f, cr_expr expr, bool *used)
{
    const struct cr_expr_node *e = &f->exprs[expr];
    switch (e->op) {
    case CR_EXPR_NUMBER:
    case CR_EXPR_FIELD:
        return;
    case CR_EXPR_LOAD:
        if (e->b != CR_NONE)
            used[e->b] = true;
        return;
    case CR_EXPR_VAR:
        used[e->a] = true;
        return;
    case CR_EXPR_CALL:
        use_call(f, &f->calls[e->a], used);
        return;
    case CR_EXPR_SELECT:
        use_expr(f, e->c, used);
        break;
    default:
        break;
    }
    use_expr(f, e->a, used);
    if (e->op != CR_EXPR_NOT)
        use_expr(f, e->b, used);
}

/* Sets used[v] for each variable v that a statement reads. */
static void use_statement(const struct cr_function *f, const struct cr_statement *s, bool *used)
{
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        use_expr(f, s->last, used);
        if (s->until != CR_NONE)
            use_expr(f, s->until, used);
        use_expr(f, s->value, used);
        break;
    case CR_STATEMENT_IF:
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        use_expr(f, s->value, used);
        break;
    case CR_STATEMENT_CALL:
        use_call(f, &f->calls[s->call], used);
        break;
    case CR_STATEMENT_END:
    case CR_STATEMENT_NOTE:
        break;
    }
}

/* Iterates from the last statement to the first, so that each use is found before the
 * declaration. */
void cr_drop_unused(struct cr_builder *b)
{
    struct cr_function *f = b->f;
    bool *used = cr_calloc((size_t)f->n_vars, sizeof *used);
    int kept = f->n_body;
    for (int i = f->n_body - 1; i >= 0; i--) {
        const struct cr_statement *s = &f->body[i];
        used[s->var] |= s->kind == CR_STATEMENT_SET;
        if (s->kind == CR_STATEMENT_LET && !used[s->var]) {
            free((char *)s->note);
            continue;
        }
        use_statement(f, s, used);
        f->body[--kept] = *s;
    }
    f->n_body -= kept;
    if (kept)
        memmove(f->body, f->body + kept, (size_t)f->n_body * sizeof *f->body);
    free(used);
}
