#include "rule_tools.h"

#include <string.h>

bool cr_is_gradient(const struct cr_rewrite *rw)
{
    return rw->to->here.backward;
}

cr_id cr_operand_of_expand(const struct cr_graph *g, cr_id id)
{
    return cr_is_op(g, id, CR_OP_expand) ? cr_in(g, id, 0) : id;
}

cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_mul, 2, (cr_id[]){a, b}, NULL);
}

/* If node `id` is an expand of matrices, transposes its operand rather than the result, so that the
 * graph has one form for both. */
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id)
{
    struct cr_attr attr = {0};
    int rank = rw->to->nodes[id].rank;
    if (cr_repeats_matrices(rw->to, id)) {
        cr_id in = cr_transpose_last(rw, cr_in(rw->to, id, 0));
        attr = cr_attr_of(&rw->to->nodes[id]);
        int64_t rows = attr.shape[rank - 2];
        attr.shape[rank - 2] = attr.shape[rank - 1];
        attr.shape[rank - 1] = rows;
        return cr_rewrite_add(rw, CR_OP_expand, 1, &in, &attr);
    }
    for (int i = 0; i < rank; i++)
        attr.index[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return cr_rewrite_add(rw, CR_OP_permute, 1, &id, &attr);
}
