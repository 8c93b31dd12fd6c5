#include "combined_ops.h"

/* A program, the shapes of its values, and the runtime functions chosen for them. */
struct search {
    const struct cr_tiles *tiles;
    const struct cr_tile_value *shapes;
    struct cr_combined *combined;
};

/* True if a value is a tile computed by the elementwise op `op`. */
static bool is_step(const struct search *s, int value, enum cr_op op)
{
    const struct cr_value *v = &s->tiles->values[value];
    return v->source == CR_MAP && v->op == op && !v->by_row &&
           s->shapes[value].shape != CR_SHAPE_DIAGONAL;
}

/* True if a value is a tile computed by `op` that only one other value reads, once. */
static bool is_inner(const struct search *s, int value, enum cr_op op)
{
    const struct cr_tiles *tiles = s->tiles;
    int uses = cr_is_result(tiles, value);
    for (int i = value + 1; i < tiles->n; i++)
        for (int a = 0; a < cr_value_args(&tiles->values[i]); a++)
            uses += tiles->values[i].arg[a] == value;
    return uses == 1 && is_step(s, value, op);
}

/* Matches x * sigmoid(t) with tiles x and t. */
static bool find_mul_sigmoid(const struct search *s, int i)
{
    const struct cr_value *values = s->tiles->values;
    for (int a = 0; is_step(s, i, CR_OP_mul) && a < 2; a++) {
        int x = values[i].arg[a], sigmoid = values[i].arg[1 - a];
        if (values[x].by_row || !is_inner(s, sigmoid, CR_OP_sigmoid))
            continue;
        s->combined[sigmoid].by_later = true;
        s->combined[i] = (struct cr_combined){.callee = CR_CALLEE_mul_sigmoid,
                                              .n_tiles = 2,
                                              .tile = {x, values[sigmoid].arg[0]}};
        return true;
    }
    return false;
}

/* Matches x * fma(a, x * x, b) with a tile x and constants a and b. */
static bool find_odd_cubic(const struct search *s, int i)
{
    const struct cr_value *values = s->tiles->values;
    for (int a = 0; is_step(s, i, CR_OP_mul) && a < 2; a++) {
        int x = values[i].arg[a], sum = values[i].arg[1 - a];
        if (values[x].by_row || !is_inner(s, sum, CR_OP_fma))
            continue;
        const int *in = values[sum].arg;
        int square = values[in[0]].source == CR_CONST ? in[1] : in[0];
        int cube = in[0] == square ? in[1] : in[0];
        if (values[cube].source != CR_CONST || values[in[2]].source != CR_CONST ||
            !is_inner(s, square, CR_OP_mul) || values[square].arg[0] != x ||
            values[square].arg[1] != x)
            continue;
        s->combined[sum].by_later = s->combined[square].by_later = true;
        s->combined[i] = (struct cr_combined){.callee = CR_CALLEE_odd_cubic,
                                              .n_tiles = 1,
                                              .tile = {x},
                                              .n_numbers = 2,
                                              .number = {cube, in[2]}};
        return true;
    }
    return false;
}

void cr_combine(const struct cr_tiles *tiles, const struct cr_tile_value *shapes,
                struct cr_combined *combined)
{
    const struct search search = {tiles, shapes, combined};
    for (int i = 0; i < tiles->n; i++) {
        combined[i] = (struct cr_combined){.callee = CR_CALLEE_COUNT};
        if (!find_mul_sigmoid(&search, i))
            find_odd_cubic(&search, i);
    }
}
