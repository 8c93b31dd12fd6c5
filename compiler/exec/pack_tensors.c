/* pack_tensors.c - packs tensors in pieces, by several threads; see pack_tensors.h. */
#include "pack_tensors.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "runtime/pool.h"

enum { PIECES = 8 /* minimum number of pieces for each thread */ };

/* For each format: pack_function packs a piece of a tensor into weights; unpack_function unpacks
 * K rows of a panel. */
typedef void pack_function(const struct cr_runtime *rt, const struct cr_weight_layout *p,
                            const float *tensor, void *weights);
typedef void unpack_function(const struct cr_runtime *rt, long K, const void *panel, float *y);

#define FORMAT(name, dtype, bits, c_type, family, description)
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, pack, unpack, gemm, gather, description)   \
    static void pack_##name(const struct cr_runtime *rt, const struct cr_weight_layout *p,         \
                             const float *tensor, void *weights)                                   \
    {                                                                                              \
        pack;                                                                                      \
    }                                                                                              \
    static void unpack_##name(const struct cr_runtime *rt, long K, const void *panel, float *y)    \
    {                                                                                              \
        unpack;                                                                                    \
    }
#include "compiler/ir/formats.def"
#undef WEIGHT_FORMAT

static const struct {
    pack_function *pack;
    unpack_function *unpack;
} functions[CR_FORMAT_COUNT] = {
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, pack, unpack, gemm, gather, description)   \
    [CR_FORMAT_##name] = {pack_##name, unpack_##name},
#include "compiler/ir/formats.def"
#undef FORMAT
#undef WEIGHT_FORMAT
};

/* A layout to fill from a tensor, with its range in the numbering of the elements of all
 * layouts. */
struct target {
    struct cr_weight_layout layout;
    cr_element_source *read; /* reads elements in the order in which the layout's strides visit
                              * them */
    enum cr_format format;
    const struct cr_contents *contents;
    long begin, elements, pieces;
};

struct filling {
    const struct cr_runtime *rt;
    float *weights;
    struct target *targets;
    int n;
    long elements, room; /* elements of all targets; the elements of the largest piece */
    bool reads;          /* true if a tensor must be read by a function; false if all are in
                          * memory */
    atomic_int *failed;  /* index of a target whose tensor could not be read, or -1 */
};

/* Returns the size of K rows of a panel in floats. */
static long panel_floats(enum cr_format format, long K)
{
    return CR_PANEL * cr_column_units(format, K) * cr_formats[format].unit / (long)sizeof(float);
}

/* ---- blocks ---- */

/* True if the tensor's quantised blocks can be copied as they are: the panels have the blocks'
 * format, and the layout's columns consist of whole blocks. */
static bool takes_blocks(const struct target *t)
{
    const struct cr_weight_layout *p = &t->layout;
    return t->contents->read_blocks && cr_quantised_format(t->contents->blocks) == t->format &&
           p->panel_stride && p->row_stride == 1 && p->rows % CR_PANEL == 0 &&
           p->source % CR_PANEL == 0 && (p->cols == 1 || p->col_stride % CR_PANEL == 0);
}

/* Returns the panel that contains column n of a piece, and sets *column to the column's index in
 * the panel; n may be one past the last column. */
static unsigned char *panel_of(const struct cr_weight_layout *p, long n, float *weights, int *column)
{
    *column = (int)((p->first_col + n) % CR_PANEL);
    return (unsigned char *)(weights + p->target) + (p->first_col + n) / CR_PANEL * p->panel_stride;
}

/* Fills the unused columns of the layout's last panel with zeros. */
static void end_panel(const struct cr_weight_layout *p, enum cr_quantised type, float *weights)
{
    static const unsigned char zero[64];
    int column;
    for (long n = p->cols; (p->first_col + n) % CR_PANEL; n++) {
        unsigned char *panel = panel_of(p, n, weights, &column);
        for (long k = 0; k < p->rows; k += CR_PANEL) {
            cr_place_quantised(type, zero, 1, panel, column);
            panel += CR_PANEL * cr_format_bytes(cr_quantised_format(type), CR_PANEL);
        }
    }
}

/* Packs the quantised blocks of a piece, which it first reads into `room`; returns -1 if they
 * cannot be read. */
static int fill_blocks(const struct filling *f, const struct target *t,
                       const struct cr_weight_piece *piece, unsigned char *room)
{
    const struct cr_contents *c = t->contents;
    const struct cr_weight_layout *p = &piece->layout;
    long bytes = p->rows / CR_PANEL * cr_quantised_bytes(c->blocks);
    bool joined = piece->apart == p->rows; /* the columns follow one another in the tensor */
    if (joined && c->read_blocks(c->context, piece->first, p->rows * p->cols, room))
        return -1;
    for (long n = 0; n < p->cols; n++) {
        unsigned char *blocks = room + n * bytes;
        int column;
        if (!joined &&
            c->read_blocks(c->context, piece->first + n * piece->apart, p->rows, blocks))
            return -1;
        unsigned char *panel = panel_of(p, n, f->weights, &column);
        cr_place_quantised(c->blocks, blocks, p->rows / CR_PANEL, panel, column);
    }
    if (p->last)
        end_panel(p, c->blocks, f->weights);
    return 0;
}

/* ---- pieces ---- */

/* Packs piece number i.  Elements in memory are packed from there; others are first read into
 * `room`. */
static int fill_piece(const struct filling *f, const struct target *t, long i, float *room)
{
    struct cr_weight_piece piece =
        cr_get_weight_piece(&t->layout, f->room, panel_floats(t->format, CR_PANEL), i);
    const float *from = t->contents->data;
    if (takes_blocks(t))
        return fill_blocks(f, t, &piece, (unsigned char *)room);
    if (from) {
        piece.layout.source = piece.first;
        piece.layout.row_stride = t->layout.row_stride;
        piece.layout.col_stride = t->layout.col_stride;
    } else if (cr_read_weight_piece(&piece, t->read, t->contents->context, room)) {
        return -1;
    } else {
        from = room;
    }
    functions[t->format].pack(f->rt, &piece.layout, from, f->weights);
    return 0;
}

/* A thread's share: packs the pieces whose first element has a number from begin to end - 1. */
static void fill_share(const void *args, long begin, long end, float *scratch)
{
    const struct filling *f = args;
    for (int t = 0; t < f->n; t++) {
        const struct target *target = &f->targets[t];
        if (target->begin >= end || target->begin + target->elements <= begin)
            continue;
        for (long i = 0; i < target->pieces; i++) {
            long at = target->begin + target->elements / target->pieces * i;
            if (at < begin || at >= end)
                continue;
            if (atomic_load(f->failed) >= 0)
                return;
            if (fill_piece(f, target, i, scratch))
                atomic_store(f->failed, t);
        }
    }
}

/* Changes a layout of a rows x cols matrix into the same layout of the transposed matrix.
 * Returns false and changes nothing if the layout covers more than a part of each row, or has
 * another order of elements. */
static bool transpose_layout(struct cr_weight_layout *p, long rows, long cols)
{
    long row = p->source / cols, col = p->source % cols;
    if (p->row_stride == 1 && p->col_stride % cols == 0 && col + p->rows <= cols) {
        p->row_stride = rows;
        p->col_stride /= cols;
    } else if (p->col_stride == 1 && p->row_stride % cols == 0 && col + p->cols <= cols) {
        p->row_stride /= cols;
        p->col_stride = rows;
    } else {
        return false;
    }
    p->source = col * rows + row;
    return true;
}

/* Appends a layout to the targets. */
static void add_target(struct filling *f, const struct cr_weight_layout *layout, enum cr_format format,
                       const struct cr_contents *contents)
{
    long elements = layout->rows * layout->cols;
    struct target *t = &f->targets[f->n++];
    *t = (struct target){*layout, contents->read, format, contents, f->elements, elements, 0};
    if (contents->read_columns &&
        transpose_layout(&t->layout, contents->matrix_rows, contents->matrix_cols))
        t->read = contents->read_columns;
    f->elements += elements;
    f->reads |= !contents->data;
}

/* Packs all targets.  Pieces are small enough that each thread gets several; little work stays on
 * the calling thread, since waking others would take longer. */
static int fill_targets(struct filling *f, struct cr_pool *pool, struct cr_error *error)
{
    int threads = cr_pool_threads(pool);
    long room = f->elements / (PIECES * threads);
    f->room = room < CR_PIECE_LEAST ? CR_PIECE_LEAST : room > CR_PIECE_ROOM ? CR_PIECE_ROOM : room;
    for (int i = 0; i < f->n; i++)
        f->targets[i].pieces = cr_count_weight_pieces(&f->targets[i].layout, f->room);
    float *scratch =
        f->reads ? cr_calloc((size_t)threads * (size_t)f->room, sizeof *scratch) : NULL;
    atomic_int failed = -1;
    f->failed = &failed;
    f->rt->parallel(pool, f->elements, 1 + f->elements / (CR_PIECE_LEAST + 1), fill_share, f,
                    scratch, f->room);
    free(scratch);
    if (failed < 0)
        return 0;
    const struct cr_contents *contents = f->targets[failed].contents;
    return contents->fail(contents->context, error);
}

/* Returns the index of the first layout whose parameter is `param` or a later one; layouts are
 * sorted by parameter. */
static int first_layout(const struct cr_program *program, int param)
{
    int begin = 0, end = program->n_layouts;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        if (program->layouts[middle].param < param)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Returns the address in `weights` of a parameter's elements, if the layout stores all of them
 * unpacked in row-major order; else null. */
static float *unpacked_place(const struct cr_program *program, const struct cr_weight_layout *p, float *weights)
{
    const struct cr_port *param = &program->params[p->param];
    bool whole = !p->panel_stride && !p->source && p->rows * p->cols == cr_elements(param->rank, param->shape);
    bool in_order = (p->cols == 1 || p->col_stride == 1) && (p->rows == 1 || p->row_stride == p->cols);
    return whole && in_order && param->format == CR_FORMAT_f32 ? weights + p->target : NULL;
}

float *cr_find_unpacked(const struct cr_program *program, int index, float *weights)
{
    float *place = NULL;
    int i = first_layout(program, index);
    for (; !place && i < program->n_layouts && program->layouts[i].param == index; i++)
        place = unpacked_place(program, &program->layouts[i], weights);
    return place;
}

int cr_pack_params(const struct cr_program *program, int first, int n,
                    const struct cr_contents *const *contents, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *weights, struct cr_error *error)
{
    int begin = first_layout(program, first), end = first_layout(program, first + n);
    struct filling f = {.rt = rt, .weights = weights};
    f.targets = cr_calloc((size_t)(end - begin), sizeof *f.targets);
    for (int i = begin; i < end; i++) {
        const struct cr_weight_layout *layout = &program->layouts[i];
        const struct cr_contents *c = contents[layout->param - first];
        if (c && (!c->data || c->data != unpacked_place(program, layout, weights)))
            add_target(&f, layout, program->params[layout->param].format, c);
    }
    int status = fill_targets(&f, pool, error);
    free(f.targets);
    return status;
}

/* Unpacks the panels of a layout into a tensor, column by column. */
static void unpack_layout(const struct cr_weight_layout *p, enum cr_format format, const struct cr_runtime *rt,
                       const float *weights, float *tensor)
{
    float *rows = cr_calloc((size_t)p->rows * CR_PANEL, sizeof *rows);
    long stride = p->panel_stride * cr_formats[format].unit / (long)sizeof(float);
    for (long n = 0; n < p->cols; n++) {
        long col = p->first_col + n;
        const float *panel = weights + p->target + col / CR_PANEL * stride;
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
    int i = first_layout(program, index);
    for (; i < program->n_layouts && program->layouts[i].param == index; i++)
        if (program->layouts[i].panel_stride)
            unpack_layout(&program->layouts[i], program->params[index].format, rt, weights, tensor);
}

int cr_copy_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                   struct cr_pool *pool, float *out, struct cr_error *error)
{
    struct cr_weight_layout flat = {.rows = 1, .cols = n, .row_stride = n, .col_stride = 1};
    struct target target;
    struct filling f = {.rt = rt, .weights = out, .targets = &target};
    add_target(&f, &flat, CR_FORMAT_f32, contents);
    return fill_targets(&f, pool, error);
}
