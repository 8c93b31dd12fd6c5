/* body.h - a kernel's function as C. */
#ifndef CR_BODY_H
#define CR_BODY_H

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* A piece of a text: from one byte up to another. */
struct cr_span {
    size_t begin, end;
};

/* Prints a function: its comment, the struct of its arguments, its body.  `statements`, by statement
 * of the body, takes where each stands, or is null. */
void cr_emit_function(struct cr_text *text, const struct cr_function *function,
                      struct cr_span *statements);

/* Prints how many items it has, where its arguments are a structure `args`. */
void cr_emit_items(struct cr_text *text, const struct cr_function *function);

#endif
