/* ops.c - the table of ONNX operators; see ops.h. */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

#include "ops_inline.h"
#include "ops_lua.h"

#define CR_ONNX_OP(domain, name, since, function, meaning)                                         \
    {domain, name, since, function, NULL, NULL, NULL, NULL, false, meaning},
#define CR_ONNX_FORMULA(domain, name, since, operands, formula)                                    \
    {domain, name, since, NULL, formula, NULL, operands, "", true, formula},
#define CR_ONNX_LUA(domain, name, since, function, inputs, attributes, meaning)                    \
    {domain, name, since, NULL, NULL, #function, inputs, attributes, false, #function ": " meaning},
#define CR_ONNX_INLINE(domain, name, since, function, inputs, attributes, meaning)                 \
    {domain, name, since, NULL, NULL, #function, inputs, attributes, true, meaning},
const struct cr_onnx_op cr_onnx_ops[] = {
#include "ops.def"
};
static const struct cr_onnx_op made_ops[] = {
#include "ops_crescent.def"
};
#undef CR_ONNX_OP
#undef CR_ONNX_FORMULA
#undef CR_ONNX_LUA
#undef CR_ONNX_INLINE
const int cr_onnx_n_ops = (int)(sizeof cr_onnx_ops / sizeof *cr_onnx_ops);
static const int n_made_ops = (int)(sizeof made_ops / sizeof *made_ops);

static int by_name(const void *a, const void *b)
{
    const struct cr_onnx_op *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->name, y->name);
}

/* Searches the operators of ONNX by bisection, as their rows are sorted, and the few rows of
 * recognisers one by one. */
const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name)
{
    const struct cr_onnx_op wanted = {.domain = domain, .name = name};
    for (int i = 0; i < n_made_ops && strcmp(domain, CR_ONNX_CRESCENT) == 0; i++)
        if (by_name(&made_ops[i], &wanted) == 0)
            return &made_ops[i];
    return bsearch(&wanted, cr_onnx_ops, (size_t)cr_onnx_n_ops, sizeof *cr_onnx_ops, by_name);
}

void cr_onnx_translate_op(struct cr_translation *t, const struct cr_onnx_op *op)
{
    if (op->is_inlined)
        cr_translate_inlined(t, op);
    else if (op->lua)
        cr_translate_by_lua(t, op);
    else
        op->translate(t);
}
