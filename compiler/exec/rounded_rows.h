/* rounded_rows.h - rounds rows of a product's left operand to an arithmetic, for the
 * interpreter. */
#ifndef CR_ROUNDED_ROWS_H
#define CR_ROUNDED_ROWS_H

#include "compiler/ir/program.h"

/* Rounds the M x K elements x[m * row + k * column] to floats and then to an arithmetic other
 * than f32, and writes the rounded values to y, row-major. */
void cr_read_rounded(enum cr_arithmetic arithmetic, int64_t M, int64_t K, double *y,
                     const double *x, int64_t row, int64_t column);

/* Returns the arithmetic of products whose right operand is this node: the arithmetic of the
 * parameter of which the node is a view, or of the first operand of a concat; f32 if the node is
 * computed. */
enum cr_arithmetic cr_arithmetic_of_operand(const struct cr_graph *graph, cr_id id);

#endif
