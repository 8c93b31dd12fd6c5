/*
 * contract.c - a product that is only added to something becomes one fma.
 *
 * Said here, in the program, and not left to a C compiler, so that every backend does the
 * same.  One strip instead of two, and one rounding less.
 */
#include "evaluate.h"

/* Uses by what the result is made of: arguments come before what reads them. */
static void count_uses(const struct cr_tiles *tiles, int *uses)
{
    for (int i = 0; i < tiles->n; i++)
        uses[i] = i == tiles->result;
    for (int i = tiles->n - 1; i >= 0; i--)
        for (int a = 0; uses[i] && a < cr_value_args(&tiles->values[i]); a++)
            uses[tiles->values[i].arg[a]]++;
}

/* The operand of a sum that is a product nobody else reads, or -1.  A product of numbers a
 * row stays: it is a small part of the work on the tile. */
static int lone_product(const struct cr_tiles *tiles, const struct cr_value *sum, const int *uses)
{
    if (sum->source != CR_MAP || sum->op != CR_OP_add)
        return -1;
    for (int i = 0; i < 2; i++) {
        const struct cr_value *v = &tiles->values[sum->arg[i]];
        if (v->source == CR_MAP && v->op == CR_OP_mul && uses[sum->arg[i]] == 1 &&
            v->by_row == sum->by_row)
            return i;
    }
    return -1;
}

/* Moves the values that are read together. */
static void drop_unused(struct cr_tiles *tiles, const int *uses)
{
    int moved[CR_MAX_VALUES], n = 0;
    for (int i = 0; i < tiles->n; i++) {
        if (!uses[i])
            continue;
        tiles->values[n] = tiles->values[i];
        for (int a = 0; a < cr_value_args(&tiles->values[n]); a++)
            tiles->values[n].arg[a] = moved[tiles->values[n].arg[a]];
        moved[i] = n++;
    }
    tiles->result = moved[tiles->result];
    tiles->n = n;
}

void cr_contract(const struct cr_graph *g, struct cr_tiles *tiles)
{
    int uses[CR_MAX_VALUES];
    count_uses(tiles, uses);
    for (int i = 0; i < tiles->n; i++) {
        struct cr_value *sum = &tiles->values[i];
        int which = lone_product(tiles, sum, uses);
        if (which < 0 || g->nodes[sum->node].dtype != CR_F32)
            continue;
        const struct cr_value *product = &tiles->values[sum->arg[which]];
        uses[sum->arg[which]] = 0;
        sum->op = CR_OP_fma;
        sum->arg[2] = sum->arg[1 - which];
        sum->arg[0] = product->arg[0];
        sum->arg[1] = product->arg[1];
    }
    drop_unused(tiles, uses);
}
