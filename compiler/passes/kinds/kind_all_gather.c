/* kind_all_gather.c - ALL_GATHER: concatenates the tensors of all ranks.  It is a step of the
 * program that calls the exchange, and has no generated code. */
#include "compiler/ir/text.h"
#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "compiler/passes/verifier/kernel_check.h"
#include "kinds.h"

static int all_gather_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    const struct cr_exchanged *x = &k->all_gather.moved;
    const int64_t all[] = {x->ranks, x->pieces, x->rows, x->width, x->length};
    memcpy(numbers, all, sizeof all);
    return sizeof all / sizeof *all;
}

static int64_t all_gather_reads(const struct cr_kernel *k, int i)
{
    (void)i;
    return k->all_gather.moved.pieces * k->all_gather.moved.rows * k->all_gather.moved.width;
}

static void lay_all_gather(const struct cr_kernel *k, struct cr_step *step)
{
    step->all_gather = k->all_gather.moved;
}

static int verify_all_gather(const struct cr_kernel_check *c)
{
    const struct cr_exchanged *x = &c->k->all_gather.moved;
    if (x->ranks < 1 || all_gather_reads(c->k, 0) * x->ranks != cr_check_elements(c, c->k->root))
        return cr_kernel_fault(c, "it does not exchange its root");
    return 0;
}

const struct cr_kernel_parts cr_parts_all_gather = {
    .operands[0] = {CR_PART(all_gather.a), "a", 0},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .step = CR_STEP_ALL_GATHER,
    .numbers = all_gather_numbers,
    .elements_read = all_gather_reads,
    .lay = lay_all_gather,
    .verify = verify_all_gather,
};

bool cr_fits_all_gather(const struct cr_lowering *lw)
{
    return cr_kind_of(lw->g, lw->k->root) == CR_KIND_EXCHANGE && lw->k->buffer == lw->k->root;
}

/* Counts rows along the outermost axis that has a length.  Other axes with lengths count with their
 * bounds. */
bool cr_lower_all_gather(struct cr_lowering *lw)
{
    const struct cr_node *root = &lw->g->nodes[lw->k->root];
    struct cr_exchanged *x = &lw->k->all_gather.moved;
    int axis = 1;
    while (axis < root->rank && !root->lengths[axis])
        axis++;
    bool fixed = axis == root->rank;
    *x = (struct cr_exchanged){.ranks = (int)root->shape[0], .length = CR_NONE, .pieces = 1, .rows = 1};
    if (!fixed) {
        x->length = root->lengths[axis] - 1;
        x->pieces = cr_elements(axis - 1, root->shape + 1);
        x->rows = root->shape[axis];
    }
    x->width = cr_elements(root->rank, root->shape) / x->ranks / x->pieces / x->rows;
    cr_assign_rows(lw, 0);
    return cr_lower_whole(lw, cr_in(lw->g, lw->k->root, 0), &lw->k->all_gather.a);
}

double cr_flops_all_gather(const struct cr_kernel *kernel, double elements)
{
    (void)kernel, (void)elements;
    return 0;
}

int64_t cr_schedule_all_gather(struct cr_builder *b)
{
    (void)b;
    return 1;
}

void cr_describe_all_gather(struct cr_text *text, const struct cr_builder *b)
{
    cr_put(text, " = the tensors of %d ranks", b->k->all_gather.moved.ranks);
}
