/* rounded_rows.h - what arithmetics make of rows of a left operand, for the interpreter. */
#ifndef CR_ROUNDED_ROWS_H
#define CR_ROUNDED_ROWS_H

#include "compiler/ir/program.h"

/* Writes the values of M x K rounded elements to y, row by row; element (m, k) is at
 * x[m * row + k * column].  They are rounded to floats before.  The arithmetic is not f32. */
void cr_read_rounded(enum cr_arithmetic arithmetic, int64_t M, int64_t K, double *y,
                     const double *x, int64_t row, int64_t column);

/* The arithmetic of the product whose right operand a node is: that of the parameter that it is a
 * view of, or of the first of those it is joined of; f32 if it is computed. */
enum cr_arithmetic cr_arithmetic_of_operand(const struct cr_graph *graph, cr_id id);

#endif
