/*
 * place.h - putting a parameter's elements where the kernels read them.
 *
 * Small parameters (norm gains, biases) are copied as they are.  A weight matrix goes into
 * the column panels of the matrix product (runtime.h), transposed on the way if its layout
 * asks for it, and may share its panels with others: [Wq Wk Wv] side by side.
 */
#ifndef CR_PLACE_H
#define CR_PLACE_H

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

/*
 * Element (k, n) of a rows x cols piece is tensor[source + k * row_stride + n * col_stride].
 * With a panel_stride it goes to column first_col + n of panels at weights + target;
 * `last` pieces fill the rest of their panel with zeros.  With panel_stride 0 it goes to
 * weights[target + k * cols + n].
 */
struct cr_place {
    int param; /* its number among the parameters */
    long source, rows, cols, row_stride, col_stride;
    long target, panel_stride, first_col;
    int last;
};

/*
 * Copies a tensor, or a piece of it, to the weights; the functions for other formats do it for pieces.  A
 * piece begins at a row that is a multiple of 32 and, unless it is the last one, has a multiple of 32
 * rows, so that no block of a format is cut; it may begin at any column of a panel.  Its elements are in
 * memory of their own (`source`, the strides), and `target` is its first row.  Threads may copy pieces of
 * one panel at the same time, in any order.
 */
CR_API void cr_place(const struct cr_runtime *rt, const struct cr_place *place, const float *tensor,
                     float *weights);

#endif
