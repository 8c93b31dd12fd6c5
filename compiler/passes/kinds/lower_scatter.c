/* lower_scatter.c - SCATTER: adds each row of an operand to the row of a table that an index
 * selects. */
#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/verifier/kernel_check.h"
#include "kinds.h"

static int scatter_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    numbers[0] = k->scatter.rows;
    numbers[1] = k->scatter.width;
    return 2;
}

static void scatter_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->summands = k->scatter.rows;
}

/* Returns the number of elements that the kernel reads of operand i: all rows of A, all indices of
 * B. */
static int64_t scatter_reads(const struct cr_kernel *k, int i)
{
    return i == 0 ? k->scatter.rows * k->scatter.width : k->scatter.rows;
}

static int verify_scatter(const struct cr_kernel_check *c)
{
    int64_t rows = c->k->scatter.rows, width = c->k->scatter.width;
    if (rows < 1 || width < 1 || rows > CR_MAX_ELEMENTS / width)
        return cr_kernel_fault(c, "it scatters no rows");
    return 0;
}

const struct cr_kernel_parts cr_parts_scatter = {
    .operands = {{CR_PART(scatter.a), "a", 0}, {CR_PART(scatter.b), "b", 0}},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .numbers = scatter_numbers,
    .remark = scatter_remark,
    .elements_read = scatter_reads,
    .verify = verify_scatter,
};

bool cr_fits_scatter(const struct cr_lowering *lw)
{
    return cr_kind_of(lw->g, lw->k->root) == CR_KIND_SCATTER && lw->k->buffer == lw->k->root;
}

bool cr_lower_scatter(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    cr_id rows = cr_in(lw->g, k->root, 0), index = cr_in(lw->g, k->root, 1);
    const struct cr_node *root = &lw->g->nodes[k->root], *positions = &lw->g->nodes[index];
    k->scatter.rows = cr_elements(positions->rank, positions->shape);
    k->scatter.width = cr_elements(root->rank - 1, root->shape + 1);
    cr_assign_rows(lw, 0);
    return cr_lower_whole(lw, rows, &k->scatter.a) && cr_lower_whole(lw, index, &k->scatter.b);
}

double cr_flops_scatter(const struct cr_kernel *k, double elements)
{
    (void)elements;
    return (double)k->scatter.rows * (double)k->scatter.width;
}
