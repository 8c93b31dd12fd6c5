#include "pack_weights.h"

#include <stdint.h>

/* Packs one column of a panel.  `tensor` points to the first element of the column; null: the column is zeros. */
static void cr_pack_column(const struct cr_weight_layout *p, const float *tensor, float *panels, long col)
{
    float *y = panels + col / CR_PANEL * p->panel_stride + col % CR_PANEL;
    for (long k = 0; k < p->rows; k++)
        y[k * CR_PANEL] = tensor ? tensor[k * p->row_stride] : 0;
}

CR_API void cr_pack_weight(const struct cr_runtime *rt, const struct cr_weight_layout *p, const float *tensor,
                     float *weights)
{
    const float *from = tensor + p->source;
    float *to = weights + p->target;
    if (!p->panel_stride) {
        rt->load(p->rows, p->cols, to, p->cols, from, p->row_stride, p->col_stride);
        return;
    }
    long whole = p->first_col % CR_PANEL ? 0 : p->cols / CR_PANEL * CR_PANEL;
    float *panels = to + p->first_col / CR_PANEL * p->panel_stride;
    if (((uintptr_t)panels | (uintptr_t)p->panel_stride * sizeof *panels) % 64)
        rt->pack(p->rows, whole, panels, p->panel_stride, from, p->row_stride, p->col_stride);
    else /* by stores that bypass the cache, as weights are read only when all are packed */
        rt->pack_stream(p->rows, whole, panels, p->panel_stride, from, p->row_stride, p->col_stride);
    long end = p->first_col + p->cols;
    for (long n = whole; n < p->cols; n++)
        cr_pack_column(p, from + n * p->col_stride, to, p->first_col + n);
    for (; p->last && end % CR_PANEL; end++)
        cr_pack_column(p, 0, to, end);
}
