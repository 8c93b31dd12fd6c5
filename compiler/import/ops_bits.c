/*
 * ops_bits.c - bitwise operators and shifts of ONNX; see ops.h.
 *
 * The language has no bits, but its i32 wrap as two's complement does: bit i of x is x / 2^i, rounded down,
 * modulo 2.  a and b is the sum over their common bits, and the other operators follow:
 * a | b = a + b - (a & b), a ^ b = a + b - 2 (a & b), ~a = -1 - a.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { WORD = 32, MOST_SHIFT = 30 }; /* 2^30 is the largest power of two that is an i32 */

/* Integers of a node's two operands as i32; false if refused. */
static bool read_words(struct cr_translation *t, cr_t *words, int n)
{
    for (int i = 0; i < n; i++) {
        cr_t x = cr_input(t, i);
        if (!x)
            return false;
        if (cr_language_type(x->type) != CR_LANGUAGE_I32) {
            cr_onnx_refuse(t, "an operand of type %s, expected integers",
                           cr_onnx_type_name(x->type));
            return false;
        }
        words[i] = cr_t_cast(t, x, CR_ONNX_INT32);
    }
    return true;
}

static int bits_of(enum cr_onnx_type type)
{
    int bits = 8 * cr_onnx_type_bytes(type);
    return bits < WORD ? bits : WORD;
}

/* A row of numbers by a function of their place. */
static cr_t row(struct cr_translation *t, int n, double (*number)(int))
{
    double data[WORD + 1];
    for (int i = 0; i < n; i++)
        data[i] = number(i);
    return cr_t_data(t, CR_ONNX_INT32, 1, (int64_t[]){n}, data);
}

/* 2^i as a word has it; beyond a word 0. */
static double power(int i)
{
    return i < WORD - 1 ? ldexp(1, i) : i == WORD - 1 ? -ldexp(1, i) : 0;
}

/* Two factors of 2^i that are no i32 themselves, of which all from 31 on stand for 2^31. */
static double first_factor(int i)
{
    return ldexp(1, i < MOST_SHIFT ? i : MOST_SHIFT);
}

static double second_factor(int i)
{
    return i > MOST_SHIFT ? 2 : 1;
}

/* The lowest bits along a new last axis, 0 or 1: `factors` are those of 2^i. */
static cr_t bit_planes(struct cr_translation *t, cr_t x, const cr_t *factors)
{
    int64_t shape[CR_ONNX_RANK + 1];
    if (!x)
        return NULL;
    memcpy(shape, x->shape, sizeof x->shape);
    shape[x->rank] = 1;
    cr_t y = cr_t_reshape(t, x, x->rank + 1, shape);
    y = cr_t_binary(t, "floor_divide", y, factors[0]);
    if (factors[1])
        y = cr_t_binary(t, "floor_divide", y, factors[1]);
    return cr_t_with(t, "remainder", y, 2);
}

/* How many low bits a mask of ones has, or 0 if it is none. */
static int ones_of(cr_t x)
{
    int k = 0;
    if (!x->data || cr_t_elements(x) != 1)
        return 0;
    while (k < MOST_SHIFT && ldexp(1, k) - 1 < x->data[0])
        k++;
    return ldexp(1, k) - 1 == x->data[0] ? k : 0;
}

/* a & b of words, of which those bits count; the highest of them is that of the sign. */
static cr_t common_bits(struct cr_translation *t, cr_t a, cr_t b, int bits)
{
    if (a && b && a->rank >= b->rank && ones_of(b))
        return cr_t_with(t, "remainder", a, b->data[0] + 1);
    const cr_t factors[] = {row(t, bits, first_factor),
                            bits > MOST_SHIFT + 1 ? row(t, bits, second_factor) : NULL};
    cr_t both = cr_t_binary(t, "*", bit_planes(t, a, factors), bit_planes(t, b, factors));
    if (!both)
        return NULL;
    cr_t places = cr_t_binary(t, "*", both, row(t, bits, power));
    return cr_t_reduce(t, "sum", places, 1, (int[]){both->rank - 1}, false);
}

/* a + b - factor (a & b). */
static void give_union(struct cr_translation *t, double factor)
{
    cr_t words[2];
    if (!read_words(t, words, 2))
        return;
    enum cr_onnx_type type = t->in[0]->type;
    cr_t common = common_bits(t, words[0], words[1], bits_of(type));
    cr_t sum = cr_t_binary(t, "+", words[0], words[1]);
    cr_t y = cr_t_binary(t, "-", sum, cr_t_with(t, "*", common, factor));
    cr_give(t, 0, cr_t_cast(t, y, type));
}

void cr_op_bitwise_and(struct cr_translation *t)
{
    cr_t words[2];
    if (!read_words(t, words, 2))
        return;
    enum cr_onnx_type type = t->in[0]->type;
    cr_give(t, 0, cr_t_cast(t, common_bits(t, words[0], words[1], bits_of(type)), type));
}

void cr_op_bitwise_or(struct cr_translation *t)
{
    give_union(t, 1);
}

void cr_op_bitwise_xor(struct cr_translation *t)
{
    give_union(t, 2);
}

void cr_op_bitwise_not(struct cr_translation *t)
{
    cr_t word;
    if (!read_words(t, &word, 1))
        return;
    cr_t y = cr_t_binary(t, "-", cr_t_number(t, CR_ONNX_INT32, -1), word);
    cr_give(t, 0, cr_t_cast(t, y, t->in[0]->type));
}

/* To the left times 2^n; to the right divided by it, rounded down, which keeps the sign.  By less than 0 or
 * by more than all bits nothing but the sign is left. */
void cr_op_bit_shift(struct cr_translation *t)
{
    cr_t words[2], y;
    bool left = strcmp(cr_string(t, "direction", "LEFT"), "LEFT") == 0;
    if (!read_words(t, words, 2))
        return;
    cr_t n = cr_t_where(t, cr_t_with(t, "lt", words[1], 0), cr_t_number(t, CR_ONNX_INT32, WORD),
                        cr_t_with(t, "minimum", words[1], WORD));
    if (left)
        y = cr_t_binary(t, "*", words[0], cr_t_gather(t, row(t, WORD + 1, power), n));
    else {
        y = cr_t_binary(t, "floor_divide", words[0],
                        cr_t_gather(t, row(t, WORD + 1, first_factor), n));
        y = cr_t_binary(t, "floor_divide", y, cr_t_gather(t, row(t, WORD + 1, second_factor), n));
    }
    cr_give(t, 0, cr_t_cast(t, y, t->in[0]->type));
}
