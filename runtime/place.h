/*
 * place.h - putting a parameter's elements where the kernels read them.
 *
 * Small parameters (norm gains, biases) are copied as they are.  A weight matrix goes into
 * the column panels of the matrix product (runtime.h), transposed on the way if its layout
 * asks for it, and may share its panels with others: [Wq Wk Wv] side by side.
 */
#ifndef CR_PLACE_H
#define CR_PLACE_H

#include "runtime.h" /* only for crescent */

#ifndef CR_API
#define CR_API
#endif

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
 * Puts a tensor, or a piece of it, in its place.  What puts weights of another format there does the
 * same, and is given pieces: rows from a multiple of 32 on and, but for the last ones, a multiple of
 * 32 of them, so that no block of a format is cut; columns from anywhere in a panel on.  A piece
 * stands in memory of its own (`source`, the strides), and `target` is that of its first row.  Other
 * pieces of the same panels are placed before it, after it, or at the same time by another thread.
 */
CR_API void cr_place(const struct cr_runtime *rt, const struct cr_place *place, const float *tensor,
                     float *weights);

#endif
