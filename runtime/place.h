/*
 * place.h - putting a parameter's elements where the kernels read them.
 *
 * Small parameters (norm gains, biases) are copied as they are.  A weight matrix goes into
 * the column panels of the matrix product (runtime.h), transposed on the way if its layout
 * asks for it, and may share its panels with others: [Wq Wk Wv] side by side.
 */
#ifndef CR_PLACE_H
#define CR_PLACE_H

#include "runtime.h"

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

/* Puts one piece of a tensor in its place. */
CR_API void cr_place(const struct cr_runtime *rt, const struct cr_place *place, const float *tensor,
                     float *weights);

#endif
