/* body.h - prints the function of a kernel as C. */
#ifndef CR_BODY_H
#define CR_BODY_H

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* A piece of a text: bytes begin .. end - 1. */
struct cr_span {
    size_t begin, end;
};

/* Prints a function: its comment, the struct of its arguments, its body.  Stores the position of
 * each statement's text in `statements`, unless that is null. */
void cr_emit_function(struct cr_text *text, const struct cr_function *function,
                      struct cr_span *statements);

/* Prints the number of a function's items, as an expression of the fields of `args`, its
 * arguments. */
void cr_emit_items(struct cr_text *text, const struct cr_function *function);

#endif
