#include "npy.h"

#include <assert.h>

#include "numbers.h"

static const enum cr_number integers[] = {[CR_NPY_I4] = CR_NUMBER_I32, [CR_NPY_I8] = CR_NUMBER_I64,
                                          [CR_NPY_I1] = CR_NUMBER_I8,  [CR_NPY_U1] = CR_NUMBER_U8,
                                          [CR_NPY_B1] = CR_NUMBER_U8};

double cr_npy_number(const struct cr_npy *file, int64_t i)
{
    const unsigned char *at = cr_npy_at(file, i);
    if (file->type == CR_NPY_F8)
        return cr_number_double(file->big, at);
    if (file->type == CR_NPY_F2 || file->type == CR_NPY_F4)
        return (double)cr_number_float(file->type == CR_NPY_F2 ? CR_NUMBER_F16 : CR_NUMBER_F32,
                                       file->big, at);
    return (double)cr_number_integer(integers[file->type], file->big, at);
}

void cr_npy_read_f64(const struct cr_npy *file, double *out)
{
    for (int64_t i = 0; i < file->elements; i++)
        out[i] = cr_npy_number(file, i);
}

/* ---- writing ---- */

void cr_npy_put(struct cr_writer *writer, enum cr_npy_type type, int rank, const int64_t *shape,
                const void *data)
{
    int64_t bytes = cr_npy_bytes(type, rank, shape);
    char header[CR_NPY_HEADER];

    assert(rank >= 0 && rank <= CR_NPY_MAX_RANK && (type == CR_NPY_F4 || type == CR_NPY_I4));
    assert(bytes >= 0);
    cr_writer_put(writer, header, cr_npy_print_header(header, type, rank, shape));
    if (data)
        cr_writer_put(writer, data, (size_t)bytes);
}
