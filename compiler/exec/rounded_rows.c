#include "rounded_rows.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "runtime/select_runtime.h"

/* Rounds the K floats of y to a row of `units` units in an arithmetic, in `row`, and writes the
 * row's values back to y. */
typedef void round_function(const struct cr_runtime *rt, long K, void *row, long units, float *y);

#define PRODUCT(format, arithmetic, gemm)
#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)                     \
    static void round_##name(const struct cr_runtime *rt, long K, void *rounded, long units,       \
                             float *y)                                                             \
    {                                                                                              \
        c_type *row = rounded;                                                                     \
        rt->round(1, K, row, units, y, K, 1);                                                      \
        read;                                                                                      \
    }
#include "compiler/ir/arithmetics.def"
#undef ARITHMETIC

static round_function *const functions[CR_ARITHMETIC_COUNT] = {
#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)                     \
    [CR_ARITHMETIC_##name] = round_##name,
#include "compiler/ir/arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT
};

void cr_read_rounded(enum cr_arithmetic arithmetic, int64_t M, int64_t K, double *y,
                     const double *x, int64_t row, int64_t column)
{
    const struct cr_runtime *rt = cr_runtime_select("plain");
    enum cr_format format = cr_arithmetics[arithmetic].rows;
    float *values = cr_calloc((size_t)K, sizeof *values);
    void *rounded = cr_calloc((size_t)cr_format_bytes(format, K), 1);
    for (int64_t m = 0; m < M; m++) {
        for (int64_t k = 0; k < K; k++)
            values[k] = (float)x[m * row + k * column];
        functions[arithmetic](rt, K, rounded, cr_column_units(format, K), values);
        for (int64_t k = 0; k < K; k++)
            y[m * K + k] = (double)values[k];
    }
    free(values);
    free(rounded);
}

enum cr_arithmetic cr_arithmetic_of_operand(const struct cr_graph *g, cr_id id)
{
    enum cr_kind kind;
    while ((kind = cr_ops[g->nodes[id].op].kind) == CR_KIND_MOVE || kind == CR_KIND_CONCAT)
        id = cr_in(g, id, 0);
    return g->nodes[id].op == CR_OP_param ? g->nodes[id].arithmetic : CR_ARITHMETIC_f32;
}
