/* ops_microsoft.c - products with quantised weights, which are floats in a script; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* Returns the tensor that holds an input's elements, or null if they are not known. */
static const struct cr_onnx_tensor *tensor_of(const struct cr_translation *t, int input)
{
    int value = input < t->node->n_inputs ? t->node->inputs[input] : CR_ONNX_NONE;
    return value == CR_ONNX_NONE ? NULL : t->graph->values[value].tensor;
}

/* Quantised weights [N, K] of `bits` bits.  Each block of a row has a scale and a zero point. */
struct narrow {
    int64_t N, K, bits, block, blocks;
    const struct cr_onnx_tensor *data, *scales, *zeros;
};

/* Returns number `i` of a row of packed numbers of `bits` bits; the lowest bits of a byte are the
 * first number. */
static int bits_of(const struct cr_onnx_tensor *x, int64_t row, int64_t i, int64_t bits)
{
    int byte = (int)cr_onnx_element(x, row + i * bits / 8);
    return byte >> (i * bits % 8) & ((1 << bits) - 1);
}

/* Writes the dequantised weights of a block of row n, of which the last block of a row may have fewer than others. */
static void widen(const struct narrow *w, int64_t n, int64_t block, double *out)
{
    const int64_t first = block * w->block, rest = w->K - first, bytes = w->block * w->bits / 8;
    const float scale = (float)cr_onnx_element(w->scales, n * w->blocks + block);
    float zero = (float)(1 << (w->bits - 1));
    if (w->zeros && w->zeros->type == CR_ONNX_UINT8)
        zero = (float)bits_of(w->zeros, n * ((w->blocks * w->bits + 7) / 8), block, w->bits);
    else if (w->zeros)
        zero = (float)cr_onnx_element(w->zeros, n * w->blocks + block);
    for (int64_t i = 0; i < (rest < w->block ? rest : w->block); i++) {
        int q = bits_of(w->data, (n * w->blocks + block) * bytes, i, w->bits);
        out[i] = (double)(float)(((float)q - zero) * scale);
    }
}

/* True if the attributes are in range and the tensors have the numbers of elements that follow from
 * them. */
static bool fits(const struct narrow *w)
{
    if (!(w->bits == 2 || w->bits == 4 || w->bits == 8) || w->N < 1 || w->K < 1 || w->block < 8 ||
        w->block > 1 << 20 || w->N > 1 << 24 || w->K > 1 << 24 || !w->data || !w->scales ||
        !w->data->data || !w->scales->data || (w->zeros && !w->zeros->data))
        return false;
    int64_t packed = (w->blocks * w->bits + 7) / 8;
    return w->data->elements == w->N * w->blocks * (w->block * w->bits / 8) &&
           w->scales->elements == w->N * w->blocks &&
           (!w->zeros ||
            w->zeros->elements == w->N * (w->zeros->type == CR_ONNX_UINT8 ? packed : w->blocks));
}

/* MatMulNBits: a product with quantised weights, which become floats in the script. */
void cr_op_matmul_nbits(struct cr_translation *t)
{
    struct narrow w = {.N = cr_onnx_integer(t->node, "N", 0),
                       .K = cr_onnx_integer(t->node, "K", 0),
                       .bits = cr_onnx_integer(t->node, "bits", 4),
                       .block = cr_onnx_integer(t->node, "block_size", 0),
                       .data = tensor_of(t, 1),
                       .scales = tensor_of(t, 2),
                       .zeros = tensor_of(t, 3)};
    w.blocks = w.block > 0 ? (w.K + w.block - 1) / w.block : 0;
    if (!fits(&w) || cr_input(t, 4) || (cr_input(t, 3) && !w.zeros)) {
        cr_onnx_refuse(t, "expected known weights of 2, 4 or 8 bits, in order");
        return;
    }
    double *data = cr_t_array(t, w.N * w.K);
    for (int64_t n = 0; n < w.N; n++)
        for (int64_t block = 0; block < w.blocks; block++)
            widen(&w, n, block, data + n * w.K + block * w.block);
    cr_t weight = cr_t_computed(t, CR_ONNX_FLOAT, 2, (int64_t[]){w.N, w.K}, data);
    cr_t y = cr_t_matmul(t, t->in[0], cr_t_swap(t, weight, 0, 1)), bias = cr_input(t, 5);
    cr_set_output(t, 0, bias ? cr_t_binary(t, "+", y, bias) : y);
}
