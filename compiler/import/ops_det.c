/* ops_det.c - determinants of small matrices; see ops.h. */
#include <string.h>

#include "ops.h"

enum { MOST_ROWS = 6 };

/* Element (i, j) of each matrix [.., n, n]. */
static cr_t element(struct cr_translation *t, cr_t x, int i, int j)
{
    int rank = x->rank - 2;
    cr_t row = cr_t_narrow(t, x, rank, i, 1);
    return cr_t_reshape(t, cr_t_narrow(t, row, rank + 1, j, 1), rank, x->shape);
}

/* The minor of the last rows, as many as `columns` has bits, and of those columns, of smaller ones: along
 * its first row, with alternating signs. */
static cr_t minor(struct cr_translation *t, cr_t x, int row, unsigned columns, const cr_t *smaller)
{
    cr_t total = NULL;
    bool minus = false;
    for (int j = 0; j < (int)x->shape[x->rank - 1]; j++) {
        unsigned column = 1u << j;
        if (!(columns & column))
            continue;
        cr_t part = element(t, x, row, j);
        if (columns != column)
            part = cr_t_binary(t, "*", part, smaller[columns & ~column]);
        total = total ? cr_t_binary(t, minus ? "-" : "+", total, part) : part;
        minus = !minus;
    }
    return total;
}

/* Laplace's expansion, which computes the minor of each set of columns once. */
void cr_op_det(struct cr_translation *t)
{
    cr_t x = t->in[0], minors[1 << MOST_ROWS];
    if (!x)
        return;
    int64_t n = x->rank < 2 ? 0 : x->shape[x->rank - 1];
    if (n < 1 || n > MOST_ROWS || x->shape[x->rank - 2] != n) {
        cr_onnx_refuse(t, "expected square matrices of at most %d rows", MOST_ROWS);
        return;
    }
    for (unsigned columns = 1; columns < 1u << n; columns++) {
        int rows = 0;
        for (int j = 0; j < n; j++)
            rows += columns >> j & 1;
        minors[columns] = minor(t, x, (int)n - rows, columns, minors);
    }
    cr_give(t, 0, minors[(1u << n) - 1]);
}
