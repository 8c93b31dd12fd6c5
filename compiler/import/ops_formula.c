/*
 * ops_formula.c - parses the formula of an operator's row and builds its terms.
 *
 * A formula has + - * /, numbers, operands, math.huge, and calls of functions.
 */
#include "ops_formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 3 };

/* A formula that is being parsed. */
struct formula {
    struct cr_translation *t;
    const char *at;       /* the unread rest */
    const char *operands; /* "a b" */
    cr_t in[MOST_OPERANDS];
};

/* An operand: a term, or a number that takes the type of the other operand. */
struct operand {
    cr_t term;
    double number;
    bool is_number;
};

static struct operand sum_of(struct formula *f);

/* Reads the next character if it is one of `signs`; returns 0 otherwise. */
static char take(struct formula *f, const char *signs)
{
    f->at += strspn(f->at, " ");
    return *f->at && strchr(signs, *f->at) ? *f->at++ : '\0';
}

static cr_t as_term(struct formula *f, struct operand x, cr_t like)
{
    return x.is_number ? like ? cr_t_number(f->t, like->type, x.number) : NULL : x.term;
}

static struct operand binary(struct formula *f, const char *name, struct operand a, struct operand b)
{
    cr_t y = b.is_number ? cr_t_with(f->t, name, a.term, b.number)
                         : cr_t_binary(f->t, name, as_term(f, a, b.term), b.term);
    return (struct operand){.term = y};
}

/* Calls a function of the language with n operands. */
static cr_t call(struct formula *f, const char *name, const struct operand *x, int n)
{
    if (strcmp(name, "sum") == 0 || strcmp(name, "max") == 0)
        return cr_reduced(f->t, name, x[0].term);
    if (strcmp(name, "matmul") == 0)
        return cr_t_matmul(f->t, x[0].term, x[1].term);
    if (strcmp(name, "where") == 0)
        return cr_t_where(f->t, x[0].term, as_term(f, x[1], f->in[0]), as_term(f, x[2], f->in[0]));
    if (n == 2)
        return binary(f, name, x[0], x[1]).term;
    return strncmp(name, "nn.", 3) == 0 ? cr_t_like(f->t, name, x[0].term, NULL)
                                        : cr_t_unary(f->t, name, x[0].term);
}

/* Refuses a node whose formula has a syntax error. */
static struct operand unreadable(struct formula *f)
{
    return (struct operand){.term = cr_onnx_refuse(f->t, "its formula has an error at '%s', "
                                                   "expected an operand", f->at)};
}

/* Reads the operands of a call, and its end. */
static struct operand read_call(struct formula *f, const char *name)
{
    struct operand x[MOST_OPERANDS] = {{0}};
    int n = 0;
    do
        x[n++] = sum_of(f);
    while (take(f, ",") && n < MOST_OPERANDS);
    if (!take(f, ")"))
        return unreadable(f);
    return (struct operand){.term = call(f, name, x, n)};
}

/* Reads an operand's letter, math.huge, or a call.  The word "axes" is only for readers: cr_reduced
 * reads the axes. */
static struct operand read_word(struct formula *f)
{
    size_t length = strspn(f->at, "abcdefghijklmnopqrstuvwxyz_.");
    const char *word = cr_arena_text(f->t->arena, f->at, length);
    f->at += length;
    if (take(f, "("))
        return read_call(f, word);
    if (strcmp(word, "math.huge") == 0)
        return (struct operand){.number = INFINITY, .is_number = true};
    const char *operand = length == 1 ? strchr(f->operands, *word) : NULL;
    if (!operand && strcmp(word, "axes") != 0)
        return unreadable(f);
    return (struct operand){.term = operand ? f->in[(operand - f->operands) / 2] : NULL};
}

/* Reads a number or an operand; a sign before a number is part of it. */
static struct operand read_factor(struct formula *f)
{
    char *end;
    if (take(f, "-")) {
        struct operand x = read_factor(f);
        return x.is_number ? (struct operand){.number = -x.number, .is_number = true}
                           : (struct operand){.term = cr_t_unary(f->t, "neg", x.term)};
    }
    f->at += strspn(f->at, " ");
    if (!isdigit((unsigned char)*f->at))
        return read_word(f);
    double number = strtod(f->at, &end);
    f->at = end;
    return (struct operand){.number = number, .is_number = true};
}

/* Reads operands with signs of one precedence between them. */
static struct operand chain(struct formula *f, const char *signs, struct operand next(struct formula *))
{
    struct operand x = next(f);
    for (char sign; (sign = take(f, signs));)
        x = binary(f, cr_arena_text(f->t->arena, &sign, 1), x, next(f));
    return x;
}

static struct operand product_of(struct formula *f)
{
    return chain(f, "*/", read_factor);
}

static struct operand sum_of(struct formula *f)
{
    return chain(f, "+-", product_of);
}

static cr_t value_of(struct formula *f, const char *formula)
{
    f->at = formula;
    return sum_of(f).term;
}

/* With operands "a b ..." the formula is folded over inputs from the left: a is the result so far,
 * b the next input. */
void cr_translate_formula(struct cr_translation *t, const struct cr_onnx_op *op)
{
    struct formula f = {.t = t, .operands = op->inputs};
    bool is_fold = strstr(op->inputs, "...") != NULL;
    for (int i = 0; i < MOST_OPERANDS; i++)
        f.in[i] = cr_input(t, i);
    cr_t y = is_fold ? f.in[0] : value_of(&f, op->formula);
    for (int i = 1; is_fold && i < t->node->n_inputs; i++) {
        f.in[0] = y;
        f.in[1] = t->in[i];
        y = value_of(&f, op->formula);
    }
    cr_set_output(t, 0, y);
}
