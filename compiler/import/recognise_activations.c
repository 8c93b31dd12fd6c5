/* recognise_activations.c - finds GELU, its approximation by tanh, and SiLU by their formulas. */
#include <math.h>
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

/* Returns x if a value is x * number or x / (1 / number), or CR_ONNX_NONE. */
static int scaled(const struct cr_onnx_graph *g, int value, double number)
{
    int mul = cr_match_only(g, value, "Mul"), div = cr_match_only(g, value, "Div");
    for (int i = 0; mul != CR_ONNX_NONE && i < 2; i++)
        if (cr_match_number(g, g->nodes[mul].inputs[i], number))
            return g->nodes[mul].inputs[!i];
    if (div != CR_ONNX_NONE && cr_match_number(g, g->nodes[div].inputs[1], 1 / number))
        return g->nodes[div].inputs[0];
    return CR_ONNX_NONE;
}

/* Returns x if a value is 1 + x and has one reader, or CR_ONNX_NONE. */
static int one_more(const struct cr_onnx_graph *g, int value)
{
    int add = cr_match_only(g, value, "Add");
    for (int i = 0; add != CR_ONNX_NONE && i < 2; i++)
        if (cr_match_number(g, g->nodes[add].inputs[i], 1))
            return g->nodes[add].inputs[!i];
    return CR_ONNX_NONE;
}

/* Returns x if a value is erf(x / sqrt 2), or CR_ONNX_NONE. */
static int of_erf(const struct cr_onnx_graph *g, int value)
{
    int erf = cr_match_only(g, value, "Erf");
    return erf == CR_ONNX_NONE ? erf : scaled(g, g->nodes[erf].inputs[0], sqrt(0.5));
}

/* True if a value is x^3. */
static bool is_cube(const struct cr_onnx_graph *g, int value, int x)
{
    int pow = cr_match_only(g, value, "Pow"), mul = cr_match_only(g, value, "Mul");
    if (pow != CR_ONNX_NONE)
        return g->nodes[pow].inputs[0] == x && cr_match_number(g, g->nodes[pow].inputs[1], 3);
    int square =
        mul == CR_ONNX_NONE ? mul : cr_match_op(g, cr_match_other(&g->nodes[mul], x), "Mul");
    return square != CR_ONNX_NONE && g->nodes[square].inputs[0] == x &&
           g->nodes[square].inputs[1] == x;
}

/* Returns x if a value is sqrt(2/pi) x (1 + 0.044715 x x), or CR_ONNX_NONE. */
static int of_factors(const struct cr_onnx_graph *g, int value)
{
    int product = cr_match_only(g, value, "Mul");
    for (int i = 0; product != CR_ONNX_NONE && i < 2; i++) {
        int x = scaled(g, g->nodes[product].inputs[i], sqrt(2 / acos(-1)));
        int square = cr_match_only(g, one_more(g, g->nodes[product].inputs[!i]), "Mul");
        if (x != CR_ONNX_NONE && square != CR_ONNX_NONE &&
            scaled(g, cr_match_other(&g->nodes[square], x), 0.044715) == x)
            return x;
    }
    return CR_ONNX_NONE;
}

/* Returns x if a value is tanh(sqrt(2/pi) (x + 0.044715 x^3)), or CR_ONNX_NONE.  x may be factored
 * out of the sum. */
static int of_tanh(const struct cr_onnx_graph *g, int value)
{
    int tanh_node = cr_match_only(g, value, "Tanh");
    int factored =
        tanh_node == CR_ONNX_NONE ? tanh_node : of_factors(g, g->nodes[tanh_node].inputs[0]);
    if (factored != CR_ONNX_NONE)
        return factored;
    int inner = tanh_node == CR_ONNX_NONE
                    ? tanh_node
                    : scaled(g, g->nodes[tanh_node].inputs[0], sqrt(2 / acos(-1)));
    int add = cr_match_only(g, inner, "Add");
    for (int i = 0; add != CR_ONNX_NONE && i < 2; i++) {
        int cube = scaled(g, g->nodes[add].inputs[i], 0.044715), x = g->nodes[add].inputs[!i];
        if (cube != CR_ONNX_NONE && is_cube(g, cube, x))
            return x;
    }
    return CR_ONNX_NONE;
}

/* Returns x if a product is 0.5 x (1 + f(x)), multiplied in any order, or CR_ONNX_NONE.  f is erf,
 * or tanh if *is_tanh is set. */
static int of_gelu(const struct cr_onnx_graph *g, int product, bool *is_tanh)
{
    for (int i = 0; i < 2; i++) {
        int a = g->nodes[product].inputs[i], b = g->nodes[product].inputs[!i];
        int half = scaled(g, a, 0.5), mul = cr_match_only(g, a, "Mul");
        /* (0.5 x) (1 + f) and x (0.5 (1 + f)) */
        int one = one_more(g, b), x = half;
        if (one == CR_ONNX_NONE && half != CR_ONNX_NONE)
            one = one_more(g, half), x = b;
        /* 0.5 (x (1 + f)) */
        for (int j = 0;
             one == CR_ONNX_NONE && mul != CR_ONNX_NONE && j < 2 && cr_match_number(g, b, 0.5); j++)
            one = one_more(g, g->nodes[mul].inputs[j]), x = g->nodes[mul].inputs[!j];
        if (one == CR_ONNX_NONE || x == CR_ONNX_NONE)
            continue;
        *is_tanh = of_erf(g, one) != x;
        if (!*is_tanh || of_tanh(g, one) == x)
            return x;
    }
    return CR_ONNX_NONE;
}

/* Returns x if a product is x sigmoid(x), or CR_ONNX_NONE. */
static int of_silu(const struct cr_onnx_graph *g, int product)
{
    for (int i = 0; i < 2; i++) {
        int sigmoid = cr_match_only(g, g->nodes[product].inputs[i], "Sigmoid");
        if (sigmoid != CR_ONNX_NONE && g->nodes[sigmoid].inputs[0] == g->nodes[product].inputs[!i])
            return g->nodes[product].inputs[!i];
    }
    return CR_ONNX_NONE;
}

/* All three activations give NaN for NaN.  For infinities they equal the formulas, except for 0.5
 * (x (1 + f(x))). */
void cr_recognise_activations(struct cr_onnx_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        bool is_tanh = false;
        if (g->nodes[i].dead || *g->nodes[i].domain || strcmp(g->nodes[i].op, "Mul") != 0)
            continue;
        int x = of_gelu(g, i, &is_tanh);
        if (x != CR_ONNX_NONE)
            cr_match_replace(g, g->nodes[i].outputs[0], i, is_tanh ? "GeluTanh" : "Gelu", &x, 1,
                             "gelu");
        else if ((x = of_silu(g, i)) != CR_ONNX_NONE)
            cr_match_replace(g, g->nodes[i].outputs[0], i, "Silu", &x, 1, "silu");
    }
}
