/* ops_constant.c - operators of ONNX that are computed at import, from known inputs; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "term_parts.h"

/* ---- bits ---- */

/* True if a double holds all bits of a type.  False for 64 bits and floats other than f32. */
static bool keeps_bits(enum cr_onnx_type type)
{
    int bytes = cr_onnx_type_bytes(type);
    return type == CR_ONNX_FLOAT ||
           (bytes >= 1 && bytes <= 4 && cr_language_type(type) != CR_LANGUAGE_F32);
}

static uint32_t bits_of(enum cr_onnx_type type, double number)
{
    float real = (float)number;
    uint32_t bits = 0;
    if (type == CR_ONNX_FLOAT)
        memcpy(&bits, &real, sizeof bits);
    else
        bits = (uint32_t)(int64_t)number;
    return bits;
}

/* Returns the number of a type that has the lowest bits. */
static double number_of(enum cr_onnx_type type, uint32_t bits)
{
    int width = 8 * cr_onnx_type_bytes(type);
    float real;
    if (type == CR_ONNX_FLOAT) {
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    double number = width < 32 ? (double)(bits & ((1u << width) - 1)) : bits;
    bool is_signed = type == CR_ONNX_INT8 || type == CR_ONNX_INT16 || type == CR_ONNX_INT32;
    return is_signed && number >= ldexp(1, width - 1) ? number - ldexp(1, width) : number;
}

/* The language has no such operation: computes it for known elements. */
void cr_op_bit_cast(struct cr_translation *t)
{
    cr_t x = t->in[0];
    enum cr_onnx_type to = (enum cr_onnx_type)cr_onnx_integer(t->node, "to", CR_ONNX_UNDEFINED);
    if (x && x->type == to) {
        cr_set_output(t, 0, x);
        return;
    }
    if (!x || !keeps_bits(x->type) || !keeps_bits(to) ||
        cr_onnx_type_bytes(x->type) != cr_onnx_type_bytes(to)) {
        cr_onnx_refuse(t, "found the bits of type %s read as type %s, expected types of one size", cr_onnx_type_name(x ? x->type : 0),
                       cr_onnx_type_name(to));
        return;
    }
    const double *known = cr_t_known(t, x);
    if (!known)
        return;
    double *data = cr_t_array(t, cr_t_elements(x));
    for (int64_t i = 0; i < cr_t_elements(x); i++) {
        if (isnan(known[i])) {
            cr_onnx_refuse(t, "found the bits of a NaN, expected a number, as bits of NaN are not "
                           "kept");
            return;
        }
        data[i] = number_of(to, bits_of(x->type, known[i]));
    }
    cr_set_output(t, 0, cr_t_computed(t, to, x->rank, x->shape, data));
}

/* ---- places ---- */

/* Returns the indices of elements that are not 0.  The elements have to be known. */
void cr_op_non_zero(struct cr_translation *t)
{
    cr_t x = t->in[0];
    const double *data = cr_t_known(t, x);
    if (!data)
        return;
    int64_t n = 0, shape[2] = {x->rank, 0};
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        n += data[i] != 0;
    double *places = cr_arena_new(t->arena, (size_t)(n * x->rank), sizeof *places);
    shape[1] = n;
    for (int64_t i = 0, k = 0; i < cr_t_elements(x); i++) {
        int64_t rest = i;
        for (int a = x->rank - 1; data[i] != 0 && a >= 0; a--) {
            places[a * n + k] = (double)(rest % x->shape[a]);
            rest /= x->shape[a];
        }
        k += data[i] != 0;
    }
    cr_set_output(t, 0, cr_t_data(t, CR_ONNX_INT64, 2, shape, places));
}
