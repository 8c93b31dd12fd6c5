#include "pack_pieces.h"

/* A grid that divides a layout into pieces.  Each has at most rows x cols elements, and `across` pieces are side
 * by side. The grid begins `skew` columns before the layout, at the first column of a panel. */
struct cr_grid {
    int by_rows; /* runs of consecutive elements are along rows and not along columns */
    long rows, cols, skew, across;
};

/* Splits n into the fewest equal parts of at most `most`; returns the size of a part, rounded up to
 * a multiple of 32. */
static long cr_even_part(long n, long most)
{
    long parts = (n + most - 1) / most;
    return ((n + parts - 1) / parts + CR_PANEL - 1) / CR_PANEL * CR_PANEL;
}

/*
 * Returns the grid for pieces of at most `room` floats.  Runs are as long as possible, up to room / 32,
 * because long runs are read faster from a file.  Rows and columns of a piece are multiples of 32, so
 * that a piece has whole panels and whole blocks of any format.
 */
static struct cr_grid cr_grid_of(const struct cr_weight_layout *p, long room)
{
    struct cr_grid g = {1, 1, room / CR_PANEL * CR_PANEL, 0, 0};
    long most = room / CR_PANEL / CR_PANEL * CR_PANEL;
    if (!p->panel_stride && p->cols <= g.cols) {
        g.cols = p->cols;
        g.rows = room / p->cols;
    }
    if (p->panel_stride) {
        g.by_rows = p->col_stride == 1 || (p->row_stride != 1 && p->col_stride < p->row_stride);
        g.skew = p->first_col % CR_PANEL;
    }
    if (p->panel_stride && g.by_rows) {
        g.cols = cr_even_part(p->cols + g.skew, most);
        g.rows = room / g.cols / CR_PANEL * CR_PANEL;
    } else if (p->panel_stride) {
        g.rows = cr_even_part(p->rows, most);
        g.cols = room / g.rows / CR_PANEL * CR_PANEL;
    }
    g.across = (p->cols + g.skew + g.cols - 1) / g.cols;
    return g;
}

CR_API long cr_count_weight_pieces(const struct cr_weight_layout *layout, long room)
{
    const struct cr_grid g = cr_grid_of(layout, room);
    return (layout->rows + g.rows - 1) / g.rows * g.across;
}

CR_API struct cr_weight_piece cr_get_weight_piece(const struct cr_weight_layout *layout, long room, long block, long i)
{
    const struct cr_grid g = cr_grid_of(layout, room);
    long k = i / g.across * g.rows, end = (i % g.across + 1) * g.cols - g.skew, n = end - g.cols;
    struct cr_weight_piece piece = {*layout, 0, 0, 0, 0, 0};
    struct cr_weight_layout *p = &piece.layout;
    n = n > 0 ? n : 0;
    end = end < layout->cols ? end : layout->cols;
    p->rows = layout->rows - k < g.rows ? layout->rows - k : g.rows;
    p->cols = end - n;
    p->last = layout->last && end == layout->cols;
    p->first_col += n;
    p->target += p->panel_stride ? k / CR_PANEL * block : k * layout->cols + n;
    piece.first = layout->source + k * layout->row_stride + n * layout->col_stride;
    piece.lines = g.by_rows ? p->rows : p->cols;
    piece.apart = g.by_rows ? layout->row_stride : layout->col_stride;
    piece.run = g.by_rows ? p->cols : p->rows;
    piece.step = g.by_rows ? layout->col_stride : layout->row_stride;
    p->source = 0;
    p->row_stride = g.by_rows ? piece.run : 1;
    p->col_stride = g.by_rows ? 1 : piece.run;
    return piece;
}

CR_API int cr_read_weight_piece(const struct cr_weight_piece *piece, cr_element_source *source, const void *context,
                         float *out)
{
    long lines = piece->lines, run = piece->run, step = piece->step, i, j;
    int status = 0;
    if (run == 1)
        step = 1;
    if (step == 1 && piece->apart == run) {
        run *= lines;
        lines = 1;
    }
    for (i = 0; !status && i < lines; i++) {
        int64_t first = piece->first + i * piece->apart;
        if (step == 1)
            status = source(context, first, run, out + i * run);
        for (j = 0; !status && step != 1 && j < run; j++)
            status = source(context, first + j * step, 1, out + i * run + j);
    }
    return status;
}
