/* ops.c - the table of ONNX operators; see ops.h. */
#include "ops.h"

#include <string.h>

const struct cr_onnx_op cr_onnx_ops[] = {
#define CR_ONNX_OP(domain, name, since, function, meaning) {domain, name, since, function, meaning},
#include "ops.def"
#undef CR_ONNX_OP
};
const int cr_onnx_n_ops = (int)(sizeof cr_onnx_ops / sizeof *cr_onnx_ops);

const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name)
{
    for (int i = 0; i < cr_onnx_n_ops; i++)
        if (strcmp(cr_onnx_ops[i].name, name) == 0 && strcmp(cr_onnx_ops[i].domain, domain) == 0)
            return &cr_onnx_ops[i];
    return NULL;
}
