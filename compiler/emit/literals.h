/*
 * literals.h - prints the constant arrays to which a program's text refers.
 *
 * Their names are literal0, literal1 ...  In a standalone file they are static arrays before the
 * text.  For a text that is compiled in memory they are only declared, since the program has the
 * arrays.
 */
#ifndef CR_LITERALS_H
#define CR_LITERALS_H

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* Writes the name of a literal in C. */
void cr_literal_name(char *name, size_t size, int literal);

/* Appends the definitions of all literals that calls read or, without `elements`, only their
 * declarations. */
void cr_put_literals(struct cr_text *text, const struct cr_program *program, bool elements);

#endif
