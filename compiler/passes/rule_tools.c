#include "rule_tools.h"

bool cr_is_number(const struct cr_node *node, double value)
{
    return node->op == CR_OP_const && node->value == value;
}

bool cr_is_gradient(const struct cr_rewrite *rw)
{
    return rw->to->here.backward;
}

cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_mul, 2, (cr_id[]){a, b}, NULL);
}

cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id)
{
    struct cr_attr attr = {0};
    int rank = rw->to->nodes[id].rank;
    for (int i = 0; i < rank; i++)
        attr.index[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return cr_rewrite_add(rw, CR_OP_permute, 1, &id, &attr);
}
