/* print_expr.h - prints the integer expressions and the calls of functions, as C or for a dump. */
#ifndef CR_PRINT_EXPR_H
#define CR_PRINT_EXPR_H

#include "program.h"
#include "text.h"

/* Precedence of operators, lowest first. */
enum cr_expr_precedence {
    CR_BY_SELECT,
    CR_BY_OR,
    CR_BY_AND,
    CR_BY_EQUAL,
    CR_BY_COMPARE,
    CR_BY_SUM,
    CR_BY_PRODUCT,
    CR_BY_UNARY,
    CR_BY_ATOM,
};

/* Where to print, and the function whose expressions are printed. */
struct cr_expr_printer {
    struct cr_text *text;
    const struct cr_function *f;
    bool as_c;             /* true: as C; false: as in dumps, "slot[i * 48]" and "min(a, b)" */
    const char *arguments; /* the prefix of the function's arguments, such as "a->" */
};

/* Prints an expression, in parentheses if its precedence is below `least`. */
void cr_print_expr(const struct cr_expr_printer *p, cr_expr expr, enum cr_expr_precedence least);

/* Prints a number; in C by the name of its size, if `size` is not 0. */
void cr_print_size(const struct cr_expr_printer *p, int64_t number, int size);

void cr_print_call(const struct cr_expr_printer *p, const struct cr_call *call);

#endif
