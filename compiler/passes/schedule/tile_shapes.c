#include "tile_shapes.h"

#include <math.h>

struct finder {
    const struct cr_graph *g;
    const struct cr_tiles *tiles;
    int row, col;
    struct cr_tile_value *values;
};

static enum cr_tile_shape shape_of_index(const struct finder *f, const struct cr_affine *index)
{
    int64_t row = index->coef[f->row], col = index->coef[f->col];
    if (!row && !col)
        return CR_SHAPE_SAME;
    return row == -col ? CR_SHAPE_DIAGONAL : CR_SHAPE_TILE;
}

/* If an i32 value is a sum of indices and constants, sets its index. */
static void find_index(const struct finder *f, const struct cr_value *v, struct cr_tile_value *to)
{
    const struct cr_tile_value *a = &f->values[v->arg[0]], *b = &f->values[v->arg[1]];
    if (f->g->nodes[v->node].dtype != CR_I32)
        return;
    if (v->source == CR_IOTA) {
        to->is_index = true;
        to->index = v->at;
    } else if (v->source == CR_CONST) {
        to->is_index = true;
        to->index.base = (int64_t)v->number;
    } else if (v->source == CR_MAP && (v->op == CR_OP_add || v->op == CR_OP_sub)) {
        to->is_index = a->is_index && b->is_index;
        to->index = a->index;
        cr_affine_add(&to->index, &b->index, v->op == CR_OP_add ? 1 : -1);
    } else if (v->source == CR_MAP && v->op == CR_OP_neg) {
        to->is_index = a->is_index;
        cr_affine_add(&to->index, &a->index, -1);
    }
}

/* Returns the shape of an elementwise op: a diagonal if each operand is a diagonal or the same for
 * all elements. */
static enum cr_tile_shape shape_of_map(const struct finder *f, const struct cr_value *v)
{
    enum cr_tile_shape shape = CR_SHAPE_SAME;
    for (int i = 0; i < cr_value_args(v); i++) {
        enum cr_tile_shape arg = f->values[v->arg[i]].shape;
        if (arg == CR_SHAPE_TILE)
            return CR_SHAPE_TILE;
        if (arg == CR_SHAPE_DIAGONAL)
            shape = CR_SHAPE_DIAGONAL;
    }
    return shape;
}

/* Returns the shape of value i.  A load that depends on neither atom is the same for all elements;
 * the shape of an op follows from its operands. */
static enum cr_tile_shape shape_of(const struct finder *f, int i)
{
    const struct cr_value *v = &f->tiles->values[i];
    bool stays = !v->at.coef[f->row] && !v->at.coef[f->col];
    if (f->values[i].is_index)
        return shape_of_index(f, &f->values[i].index);
    switch (v->source) {
    case CR_CONST:
        return CR_SHAPE_SAME;
    case CR_LOAD:
    case CR_RANDOM:
        return stays ? CR_SHAPE_SAME : CR_SHAPE_TILE;
    case CR_GATHER:
        return stays && f->values[v->arg[0]].shape == CR_SHAPE_DIAGONAL ? CR_SHAPE_DIAGONAL
                                                                         : CR_SHAPE_TILE;
    case CR_MAP:
        return shape_of_map(f, v);
    default:
        return CR_SHAPE_TILE;
    }
}

/* Sets `needed` of all values, from the results to their operands; a diagonal that is an index
 * needs no operands. */
static void find_needed(const struct finder *f)
{
    for (int i = 0; i <= f->tiles->n_more; i++)
        f->values[f->tiles->results[i]].needed = true;
    for (int i = f->tiles->n - 1; i >= 0; i--) {
        const struct cr_value *v = &f->tiles->values[i];
        const struct cr_tile_value *value = &f->values[i];
        bool made = value->needed && !(value->shape == CR_SHAPE_DIAGONAL && value->is_index);
        for (int a = 0; made && a < cr_value_args(v); a++)
            f->values[v->arg[a]].needed = true;
    }
}

void cr_find_tile_shapes(const struct cr_graph *g, const struct cr_tiles *tiles, int row, int col,
                         struct cr_tile_value *values)
{
    const struct finder f = {g, tiles, row, col, values};
    for (int i = 0; i < tiles->n; i++) {
        values[i] = (struct cr_tile_value){.shape = CR_SHAPE_TILE};
        if (row < 0 || col < 0)
            continue;
        find_index(&f, &tiles->values[i], &values[i]);
        values[i].shape = shape_of(&f, i);
    }
    find_needed(&f);
}
