/* ops_window.c - window functions of ONNX, whose size is known: sums of cosines; see ops.h. */
#include <math.h>

#include "ops.h"

/* a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N being the size, or one less if it is not periodic. */
static void window(struct cr_translation *t, double a0, double a1, double a2)
{
    int64_t size[CR_ONNX_MANY];
    enum cr_onnx_type type =
        (enum cr_onnx_type)cr_onnx_integer(t->node, "output_datatype", CR_ONNX_FLOAT);
    if (cr_numbers_of(t, t->in[0], size) != 1 || *size < 1 || *size > 1 << 16) {
        cr_onnx_refuse(t, "expected a size of 1 to %d", 1 << 16);
        return;
    }
    double N = (double)*size - !cr_onnx_integer(t->node, "periodic", 1), turn = 2 * acos(-1) / N;
    double *data = cr_arena_new(t->arena, (size_t)*size, sizeof *data);
    for (int64_t n = 0; n < *size; n++)
        data[n] = a0 - a1 * cos(turn * (double)n) + a2 * cos(2 * turn * (double)n);
    cr_give(t, 0, cr_t_data(t, type, 1, size, data));
}

void cr_op_hann_window(struct cr_translation *t)
{
    window(t, 0.5, 0.5, 0);
}

void cr_op_hamming_window(struct cr_translation *t)
{
    window(t, 25.0 / 46, 21.0 / 46, 0);
}

void cr_op_blackman_window(struct cr_translation *t)
{
    window(t, 0.42, 0.5, 0.08);
}
