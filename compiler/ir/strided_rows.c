/* strided_rows.c - iterates over tensors with strides; see strided_rows.h. */
#include "strided_rows.h"

#include <string.h>

void cr_row_major_strides(int64_t *strides, int rank, const int64_t *shape)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape[i];
    }
}

void cr_expand_strides(int64_t *result, int rank, const int64_t *shape, const int64_t *strides, int wide_rank,
                       const int64_t *wide)
{
    int more = wide_rank - rank;
    for (int i = 0; i < wide_rank; i++)
        result[i] = i < more || shape[i - more] != wide[i] ? 0 : strides[i - more];
}

void cr_walk_rows(const struct cr_row_walk *walk, cr_row_function *row)
{
    int last = walk->rank - 1;
    int64_t index[CR_MAX_RANK] = {0}, step[CR_WALK_OPERANDS] = {0};
    double *at[CR_WALK_OPERANDS];
    if (cr_elements(walk->rank, walk->shape) == 0)
        return;
    memcpy(at, walk->data, sizeof at);
    for (int j = 0; j < walk->n && last >= 0; j++)
        step[j] = walk->stride[j][last];
    for (;;) {
        row(walk, last < 0 ? 1 : walk->shape[last], at, step);
        int axis = last - 1;
        for (; axis >= 0; axis--) {
            bool carry = ++index[axis] == walk->shape[axis];
            for (int j = 0; j < walk->n; j++)
                at[j] += walk->stride[j][axis] * (carry ? 1 - walk->shape[axis] : 1);
            if (!carry)
                break;
            index[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

static void row_copy(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    (void)walk;
    for (int64_t i = 0; i < n; i++)
        at[0][i * step[0]] = at[1][i * step[1]];
}

void cr_copy_strided(int rank, const int64_t *shape, double *to, const int64_t *to_stride, const double *from,
                     const int64_t *from_stride)
{
    const struct cr_row_walk walk = {.rank = rank,
                                     .shape = shape,
                                     .n = 2,
                                     .data = {to, (double *)(uintptr_t)from},
                                     .stride = {to_stride, from_stride}};
    cr_walk_rows(&walk, row_copy);
}

void cr_row_fold(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    for (int64_t i = 0; i < n; i++)
        at[0][i * step[0]] = walk->eval(walk->op, at[0][i * step[0]], at[1][i * step[1]], 0);
}

void cr_row_take(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    const struct cr_taken_axis *axis = walk->context;
    for (int64_t i = 0; i < n; i++) {
        double index = at[2][i * step[2]];
        bool inside = index >= 0 && index < (double)axis->size;
        at[0][i * step[0]] = inside ? at[1][i * step[1] + (int64_t)index * axis->stride] : axis->outside;
    }
}
