/*
 * lower_columns.c - COLUMNS: a reduction down columns.  The row atom runs over the reduced axis and
 * the column atom over the root's last axis, so that the operand is read in row-major order.
 */
#include "compiler/passes/fuse/lower_common.h"
#include "kinds.h"

static void columns_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->summands = cr_extent(k, k->row);
}

const struct cr_kernel_parts cr_parts_columns = {
    .programs[0] = {CR_PROGRAM_BY_ROW, .reduces = true, .ends_down = true, .title = "steps"},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_COL,
    .starts = true,
    .remark = columns_remark,
};

bool cr_fits_columns(const struct cr_lowering *lw)
{
    return cr_is_reduction_down(lw, lw->loops.top);
}

/* Lowers the kernel to a program whose last value is the reduction. */
bool cr_lower_columns(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *node = &lw->g->nodes[lw->loops.top];
    cr_id of = cr_in(lw->g, lw->loops.top, 0);
    struct cr_map map = lw->root_map;
    k->col = lw->n_root_atoms - 1;
    if (!cr_new_atom(ev, lw->g->nodes[of].shape[node->axis],
                     cr_length_at(lw->g, of, node->axis), &k->row))
        return false;
    ev->fixed |= 1u << k->row;
    map.axis[node->axis] = cr_affine_atom(k->row);
    cr_evaluate_begin(ev, &k->program, CR_NONE, CR_NO_ATOM, false);
    int value = cr_evaluate(ev, of, &map);
    if (value < 0)
        return false;
    k->program.result = cr_evaluate_reduction(ev, lw->loops.top, value);
    if (k->program.result < 0 || !cr_evaluate_end(ev, &k->program, k->col))
        return false;
    cr_assign_outer(lw);
    return true;
}

double cr_flops_columns(const struct cr_kernel *k, double elements)
{
    return elements * (double)cr_extent(k, k->row) * k->program.n;
}
