/* lower_tile.c - TILE: elementwise ops, and reductions over the columns of a tile's rows. */
#include "compiler/passes/fuse/lower_common.h"
#include "kinds.h"

const struct cr_kernel_parts cr_parts_tile = {
    .programs[0] = {CR_PROGRAM_BY_ROW, .reduces = true, .whole_rows = true, .title = "steps"},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .elementwise = true,
    .several = true,
    .in_place = true,
    .starts = true,
    .narrow = true,
};

bool cr_fits_tile(const struct cr_lowering *lw)
{
    (void)lw;
    return true;
}

/* Lowers a tile kernel.  The column atom is the axis of the first reduction or, if there is none,
 * the root's last axis.  If the program cannot be evaluated along that axis, as in a gather of
 * single elements, each row has one column. */
bool cr_lower_tile(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    cr_evaluate_begin(ev, &k->program, CR_NONE, CR_COL_UNKNOWN, true);
    k->program.result = cr_evaluate(ev, lw->loops.top, &lw->root_map);
    if (k->program.result < 0)
        return false;
    bool reduces = ev->col != CR_COL_UNKNOWN;
    k->col = reduces ? ev->col : lw->n_root_atoms - 1;
    if (!cr_evaluate_end(ev, &k->program, k->col)) {
        k->col = CR_NO_ATOM; /* one column a row */
        if (reduces || !cr_evaluate_end(ev, &k->program, k->col))
            return false;
    }
    cr_assign_rows(lw, 0);
    return true;
}

/* Counts one operation for each value and each iteration of all loops, even for values that are one
 * number a row. */
double cr_flops_tile(const struct cr_kernel *k, double elements)
{
    (void)elements;
    double iterations = 1;
    for (int a = 0; a < k->atoms.n; a++)
        iterations *= (double)k->atoms.extent[a];
    return iterations * k->program.n;
}
