/* terminal.h - finds the width of the terminal, and wraps text. */
#ifndef CR_TERMINAL_H
#define CR_TERMINAL_H

#include <stdio.h>

/* Returns the width of the terminal on standard output: $COLUMNS, else the terminal's own width,
 * else 80. */
int cr_columns(void);

/* Prints a text in lines of at most `width` columns, broken at spaces.  The first line continues
 * at column `column`, where the cursor is; later lines are indented to column `indent`.  A
 * newline in the text counts as a space; an empty line separates paragraphs. */
void cr_put_wrapped(FILE *out, const char *text, int column, int indent, int width);

#endif
