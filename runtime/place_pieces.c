#include "place_pieces.h"

/* Pieces of rows x cols, `across` beside each other; the first begins `skew` columns before the
 * place, at the border of a panel. */
struct cr_grid {
    int by_rows; /* whether runs go along rows */
    long rows, cols, skew, across;
};

/* The least number of 32s that, so many times, make up n, if it is `most` or less. */
static long cr_even_part(long n, long most)
{
    long parts = (n + most - 1) / most;
    return ((n + parts - 1) / parts + CR_PANEL - 1) / CR_PANEL * CR_PANEL;
}

/*
 * Runs are as long as there is room for 32 of them, as a file is read the faster; then there are
 * as many as fit.  Both are multiples of 32: whole panels, and whole blocks of any format.
 */
static struct cr_grid cr_grid_of(const struct cr_place *p, long room)
{
    struct cr_grid g = {1, 1, room / CR_PANEL * CR_PANEL, 0, 0};
    long most = room / CR_PANEL / CR_PANEL * CR_PANEL;
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

CR_API long cr_place_pieces(const struct cr_place *place, long room)
{
    const struct cr_grid g = cr_grid_of(place, room);
    return (place->rows + g.rows - 1) / g.rows * g.across;
}

CR_API struct cr_place_piece cr_place_piece_at(const struct cr_place *place, long room, long block, long i)
{
    const struct cr_grid g = cr_grid_of(place, room);
    long k = i / g.across * g.rows, end = (i % g.across + 1) * g.cols - g.skew, n = end - g.cols;
    struct cr_place_piece piece = {*place, 0, 0, 0, 0, 0};
    struct cr_place *p = &piece.place;
    n = n > 0 ? n : 0;
    end = end < place->cols ? end : place->cols;
    p->rows = place->rows - k < g.rows ? place->rows - k : g.rows;
    p->cols = end - n;
    p->last = place->last && end == place->cols;
    p->first_col += n;
    p->target += p->panel_stride ? k / CR_PANEL * block : n;
    piece.first = place->source + k * place->row_stride + n * place->col_stride;
    piece.lines = g.by_rows ? p->rows : p->cols;
    piece.apart = g.by_rows ? place->row_stride : place->col_stride;
    piece.run = g.by_rows ? p->cols : p->rows;
    piece.step = g.by_rows ? place->col_stride : place->row_stride;
    p->source = 0;
    p->row_stride = g.by_rows ? piece.run : 1;
    p->col_stride = g.by_rows ? 1 : piece.run;
    return piece;
}

CR_API int cr_place_piece_read(const struct cr_place_piece *piece, cr_place_source *source, const void *context,
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
