/* body.h - a kernel's function as C. */
#ifndef CR_BODY_H
#define CR_BODY_H

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* Prints a function: its comment, the struct of its arguments, its body. */
void cr_emit_function(struct cr_text *text, const struct cr_function *function);

/* Prints how many items it has, where its arguments are a structure `args`. */
void cr_emit_items(struct cr_text *text, const struct cr_function *function);

#endif
