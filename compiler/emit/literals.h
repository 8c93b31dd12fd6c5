/*
 * literals.h - the constants of many values that a program's text speaks of.
 *
 * The text calls them literal0, literal1 ...  In a file they are static arrays in front of it; where
 * it is compiled in memory they are declared, and the arrays are those of the program.
 */
#ifndef CR_LITERALS_H
#define CR_LITERALS_H

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* True if a call reads it. */
bool cr_is_literal_read(const struct cr_program *program, int literal);

/* Its name in C. */
void cr_literal_name(char *name, size_t size, int literal);

/* Appends their definitions, or without `elements` their declarations. */
void cr_put_literals(struct cr_text *text, const struct cr_program *program, bool elements);

#endif
