/*
 * pack_weights.h - copies parameters into the layout that kernels read.
 *
 * Small parameters (norm gains, biases) are copied unchanged.  A weight matrix is packed into the
 * column panels of the matrix product (runtime.h); its strides tell whether it is transposed.
 * Several matrices can share the panels: [Wq Wk Wv] side by side.
 */
#ifndef CR_PACK_WEIGHTS_H
#define CR_PACK_WEIGHTS_H

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

/*
 * Where the rows x cols elements of a parameter, or of a piece of it, are read and written.
 * Element (k, n) is read from tensor[source + k * row_stride + n * col_stride].  If panel_stride
 * is not 0, it is written to column first_col + n of the panels at weights + target, and a piece
 * with `last` fills the rest of its panel with zeros.  If panel_stride is 0, it is written to
 * weights[target + k * cols + n].
 */
struct cr_weight_layout {
    int param; /* the index of the parameter */
    long source, rows, cols, row_stride, col_stride;
    long target, panel_stride, first_col;
    int last;
};

/*
 * Packs a tensor, or a piece of it, in f32.  The functions that pack other formats take the same pieces.
 * A piece begins at a row that is a multiple of 32 and, unless it is the last one, has a multiple of 32
 * rows, so that it never splits a block of a format.  It may begin at any column of a panel.  `tensor`,
 * `source` and the strides describe the piece's own elements, and `target` is the position of its first
 * row.  Threads may pack pieces of one panel at the same time, in any order.
 */
CR_API void cr_pack_weight(const struct cr_runtime *rt, const struct cr_weight_layout *layout, const float *tensor,
                     float *weights);

#endif
