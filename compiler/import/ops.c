/* ops.c - the table of ONNX operators; see ops.h. */
#include "ops.h"

#include <string.h>

#define CR_ONNX_OP(domain, name, since, function, meaning) {domain, name, since, function, meaning},
const struct cr_onnx_op cr_onnx_ops[] = {
#include "ops.def"
};
static const struct cr_onnx_op made_ops[] = {
#include "ops_crescent.def"
};
#undef CR_ONNX_OP
const int cr_onnx_n_ops = (int)(sizeof cr_onnx_ops / sizeof *cr_onnx_ops);
static const int n_made_ops = (int)(sizeof made_ops / sizeof *made_ops);

static const struct cr_onnx_op *find(const struct cr_onnx_op *ops, int n, const char *domain,
                                     const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ops[i].name, name) == 0 && strcmp(ops[i].domain, domain) == 0)
            return &ops[i];
    return NULL;
}

const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name)
{
    const struct cr_onnx_op *op = find(cr_onnx_ops, cr_onnx_n_ops, domain, name);
    return op ? op : find(made_ops, n_made_ops, domain, name);
}
