/* term_fold.c - folds sums, products and lookups of known terms; see term_parts.h. */
#include <math.h>

#include "compiler/ir/eval.h"
#include "term_parts.h"

void cr_t_strides(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= cr_size_bound(shape[i]);
    }
}

int64_t *cr_t_offsets(struct cr_translation *t, const struct cr_onnx_term *like,
                      const int64_t *strides, int64_t offset)
{
    int64_t n = cr_t_elements(like), *places = cr_t_array(t, n), at[CR_ONNX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        places[i] = offset;
        for (int a = like->rank - 1; a >= 0; a--) { /* the next index */
            offset += strides[a];
            if (++at[a] < cr_size_bound(like->shape[a]))
                break;
            offset -= strides[a] * cr_size_bound(like->shape[a]);
            at[a] = 0;
        }
    }
    return places;
}

cr_t cr_t_fold_reduce(struct cr_translation *t, bool is_sum, cr_t x,
                      const struct cr_onnx_term *like)
{
    enum cr_op op = is_sum ? CR_OP_sum : CR_OP_max;
    cr_evaluator *combine = cr_evaluator_of(op, CR_F32);
    double *data = cr_t_new_elements(t, like);
    int64_t strides[CR_ONNX_RANK], n = cr_t_elements(x);
    cr_t_strides(like->rank, like->shape, strides);
    for (int a = 0; a < x->rank; a++)
        strides[a] = like->shape[a] == 1 ? 0 : strides[a];
    int64_t *to = cr_t_offsets(t, x, strides, 0);
    for (int64_t i = 0; i < cr_t_elements(like); i++)
        data[i] = cr_identity(op, CR_F32);
    for (int64_t i = 0; i < n; i++)
        data[to[i]] = combine(op, data[to[i]], x->data[i], 0);
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}

/* Returns the offsets of the first elements along an axis. */
static int64_t *beginnings(struct cr_translation *t, cr_t x, int axis, int64_t *n, int64_t *step)
{
    struct cr_onnx_term like = *x;
    int64_t strides[CR_ONNX_RANK];
    cr_t_strides(x->rank, x->shape, strides);
    like.shape[axis] = 1;
    *n = cr_t_elements(&like);
    *step = strides[axis];
    return cr_t_offsets(t, &like, strides, 0);
}

cr_t cr_t_fold_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse)
{
    int64_t n, step, *from = beginnings(t, x, axis, &n, &step), size = cr_size_bound(x->shape[axis]);
    double *data = cr_t_new_elements(t, x);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < size; k++) {
            int64_t at = from[i] + (reverse ? size - 1 - k : k) * step;
            data[at] = sum += x->data[at];
        }
    }
    return cr_t_computed(t, x->type, x->rank, x->shape, data);
}

/* Returns, for each element of a product, the offset of the operand's row or column.  Broadcast
 * axes have stride 0.  `own` is the number of the operand's batch axes, `matrix` its stride along
 * the rows (axis m) or columns (axis n) of the result. */
static int64_t *operand_offsets(struct cr_translation *t, cr_t x, int batch, int own, int axis,
                                int64_t matrix, const struct cr_onnx_term *like)
{
    int64_t strides[CR_ONNX_RANK], moves[CR_ONNX_RANK] = {0};
    cr_t_strides(x->rank, x->shape, strides);
    for (int i = 0; i < own; i++)
        if (x->shape[i] != 1)
            moves[batch - own + i] = strides[i];
    if (axis >= 0)
        moves[axis] = matrix;
    return cr_t_offsets(t, like, moves, 0);
}

cr_t cr_t_fold_matmul(struct cr_translation *t, cr_t a, cr_t b, const struct cr_onnx_term *like)
{
    bool rows = a->rank > 1, columns = b->rank > 1;
    int batch = like->rank - rows - columns;
    int64_t k = a->shape[a->rank - 1], across = columns ? b->shape[b->rank - 1] : 1;
    double *data = cr_t_new_elements(t, like);
    int64_t *left =
        operand_offsets(t, a, batch, rows ? a->rank - 2 : 0, rows ? batch : -1, k, like);
    int64_t *right = operand_offsets(t, b, batch, columns ? b->rank - 2 : 0,
                                     columns ? batch + rows : -1, 1, like);
    for (int64_t i = 0; i < cr_t_elements(like); i++)
        for (int64_t j = 0; j < k; j++)
            data[i] += a->data[left[i] + j] * b->data[right[i] + j * across];
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}
