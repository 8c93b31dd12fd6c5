/* fill.c - tensors moved tile by tile; see fill.h. */
#include "fill.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

enum {
    TILE = 1 << 14,        /* floats, on the stack of the thread that moves them */
    TILE_LINES = CR_PANEL, /* runs of consecutive elements in a tile, or a multiple of it */
    RUN_UNIT = 64 /* runs begin at multiples of it: whole panels, whole groups of numbers */
};

/* Puts a piece of a tensor into the weights, and reads rows of a panel back: by format. */
typedef void place_function(const struct cr_runtime *rt, const struct cr_place *p,
                            const float *tensor, void *weights);
typedef void unpack_function(const struct cr_runtime *rt, long K, const void *panel, float *y);

#define FORMAT(name, dtype, bits, c_type, family, description)
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, place, unpack, gemm, description)          \
    static void place_##name(const struct cr_runtime *rt, const struct cr_place *p,                \
                             const float *tensor, void *weights)                                   \
    {                                                                                              \
        place;                                                                                     \
    }                                                                                              \
    static void unpack_##name(const struct cr_runtime *rt, long K, const void *panel, float *y)    \
    {                                                                                              \
        unpack;                                                                                    \
    }
#include "compiler/ir/formats.def"
#undef WEIGHT_FORMAT

static const struct {
    place_function *place;
    unpack_function *unpack;
} functions[CR_FORMAT_COUNT] = {
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, place, unpack, gemm, description)          \
    [CR_FORMAT_##name] = {place_##name, unpack_##name},
#include "compiler/ir/formats.def"
#undef FORMAT
#undef WEIGHT_FORMAT
};

/* A piece of a parameter being placed, in tiles of rows x cols, `across` beside each other. */
struct filling {
    const struct cr_runtime *rt;
    const struct cr_place *place;
    enum cr_format format;
    const struct cr_contents *contents;
    float *weights;
    long rows, cols, across;
};

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* Makes the tile's elements, run by run, and says where they are now. */
static void read_tile(const struct cr_contents *contents, struct cr_place *tile, float *out)
{
    bool by_rows = tile->col_stride == 1;
    long lines = by_rows ? tile->rows : tile->cols, run = by_rows ? tile->cols : tile->rows;
    long apart = by_rows ? tile->row_stride : tile->col_stride;
    long step = by_rows ? 1 : tile->row_stride;
    for (long i = 0; i < lines; i++) {
        int64_t first = tile->source + i * apart;
        if (step == 1)
            contents->read(contents->context, first, run, out + i * run);
        for (long j = 0; step != 1 && j < run; j++)
            contents->read(contents->context, first + j * step, 1, out + i * run + j);
    }
    tile->source = 0;
    tile->row_stride = by_rows ? run : 1;
    tile->col_stride = by_rows ? 1 : run;
}

/* What K rows of a panel take. */
static long panel_floats(enum cr_format format, long K)
{
    return CR_PANEL * cr_column_units(format, K) * cr_formats[format].unit / (long)sizeof(float);
}

/* The tile whose first element is (k, n).  Tiles begin at whole blocks. */
static void fill_tile(const struct filling *f, long k, long n)
{
    const struct cr_place *whole = f->place;
    struct cr_place tile = *whole;
    const float *from = f->contents->data;
    float made[TILE];
    tile.rows = least(f->rows, whole->rows - k);
    tile.cols = least(f->cols, whole->cols - n);
    tile.source += k * whole->row_stride + n * whole->col_stride;
    tile.first_col += n;
    tile.last = whole->last && n + tile.cols == whole->cols;
    if (!from) {
        read_tile(f->contents, &tile, made);
        from = made;
    }
    if (whole->panel_stride) {
        tile.target += panel_floats(f->format, k);
        functions[f->format].place(f->rt, &tile, from, f->weights);
    } else {
        f->rt->load(tile.rows, tile.cols, f->weights + whole->target + k * whole->cols + n,
                    whole->cols, from + tile.source, tile.row_stride, tile.col_stride);
    }
}

static void fill_tiles(const void *args, long begin, long end, float *scratch)
{
    const struct filling *f = args;
    (void)scratch;
    for (long i = begin; i < end; i++)
        fill_tile(f, i / f->across * f->rows, i % f->across * f->cols);
}

/*
 * Tiles are long in the direction in which elements are consecutive.  A small tensor is one
 * tile: waking other threads would take longer than to fill it.
 */
static void fill_place(const struct cr_place *place, enum cr_format format,
                       const struct cr_contents *contents, const struct cr_runtime *rt,
                       struct cr_pool *pool, float *weights)
{
    struct filling f = {rt, place, format, contents, weights, 0, 0, 0};
    bool by_rows = place->col_stride == 1;
    long lines = by_rows ? place->rows : place->cols, run = by_rows ? place->cols : place->rows;
    run = least(run, TILE / least(lines, TILE_LINES) / RUN_UNIT * RUN_UNIT);
    lines = lines * run <= TILE ? lines : TILE / run / TILE_LINES * TILE_LINES;
    f.rows = by_rows ? lines : run;
    f.cols = by_rows ? run : lines;
    f.across = (place->cols + f.cols - 1) / f.cols;
    long tiles = (place->rows + f.rows - 1) / f.rows * f.across;
    rt->parallel(pool, tiles, tiles, fill_tiles, &f, NULL, 0);
}

/* The first place of a parameter, or of one behind it: places are in order of parameters. */
static int first_place(const struct cr_program *program, int param)
{
    int begin = 0, end = program->n_places;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        if (program->places[middle].param < param)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

void cr_fill_weights(const struct cr_program *program, int index,
                     const struct cr_contents *contents, const struct cr_runtime *rt,
                     struct cr_pool *pool, float *weights)
{
    int i = first_place(program, index);
    for (; i < program->n_places && program->places[i].param == index; i++)
        fill_place(&program->places[i], program->params[index].format, contents, rt, pool, weights);
}

/* Column by column of a piece: panel, and place in it. */
static void read_place(const struct cr_place *p, enum cr_format format, const struct cr_runtime *rt,
                       const float *weights, float *tensor)
{
    float *rows = cr_calloc((size_t)p->rows * CR_PANEL, sizeof *rows);
    for (long n = 0; n < p->cols; n++) {
        long col = p->first_col + n;
        const float *panel = weights + p->target + col / CR_PANEL * panel_floats(format, p->rows);
        if (n == 0 || col % CR_PANEL == 0)
            functions[format].unpack(rt, p->rows, panel, rows);
        for (long k = 0; k < p->rows; k++)
            tensor[p->source + k * p->row_stride + n * p->col_stride] =
                rows[k * CR_PANEL + col % CR_PANEL];
    }
    free(rows);
}

void cr_read_panels(const struct cr_program *program, int index, const struct cr_runtime *rt,
                    const float *weights, float *tensor)
{
    int i = first_place(program, index);
    for (; i < program->n_places && program->places[i].param == index; i++)
        if (program->places[i].panel_stride)
            read_place(&program->places[i], program->params[index].format, rt, weights, tensor);
}

void cr_fill_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *out)
{
    struct cr_place flat = {.rows = 1, .cols = n, .row_stride = n, .col_stride = 1};
    fill_place(&flat, CR_FORMAT_f32, contents, rt, pool, out);
}
