/* op_lists.c - lists passes, ops and ONNX operators; see crescent.h. */
#include "compiler/ir/gradient.h"
#include "compiler/passes/passes.h"
#include "compiler/import/ops.h"
#include "handles.h"

/* ---- passes ---- */

int crescent_pass_count(void)
{
    return cr_n_passes;
}

int crescent_pass_at(int index, crescent_pass *pass)
{
    if (!pass)
        return cr_refuse_null(NULL, __func__);
    if (index < 0 || index >= cr_n_passes)
        return cr_refuse(NULL, __func__, "no such pass, expected one of the table");
    *pass = (crescent_pass){cr_passes[index].name, cr_passes[index].doc};
    return CRESCENT_OK;
}

/* ---- ops ---- */

/* Returns the element types that an op, elementwise or a reduction, accepts. */
static const char *types_of(const struct cr_op_info *op)
{
    switch (op->rule) {
    case CR_RULE_ARITH:
        return op->kind == CR_KIND_REDUCE ? "f32 or i32" : "f32 or i32, alike";
    case CR_RULE_FLOAT:
        return "f32";
    case CR_RULE_COMPARE:
        return "f32 or i32, alike; gives bool";
    case CR_RULE_LOGIC:
        return "bool";
    case CR_RULE_SELECT:
        return "bool, then two alike";
    case CR_RULE_CONVERT:
        return "i32 or bool; gives f32";
    case CR_RULE_TRUNCATE:
        return "f32 or bool; gives i32";
    }
    return "";
}

int crescent_op_count(void)
{
    return CR_OP_COUNT;
}

/* Describes an op.  Columns that only elementwise ops and reductions have are empty for other
 * ops. */
int crescent_op_at(int index, crescent_op *op)
{
    if (!op)
        return cr_refuse_null(NULL, __func__);
    if (index < 0 || index >= CR_OP_COUNT)
        return cr_refuse(NULL, __func__, "no such op, expected one of the table");
    const struct cr_op_info *info = &cr_ops[index];
    bool elementwise = info->kind == CR_KIND_ELEMENTWISE, reduction = info->kind == CR_KIND_REDUCE;
    bool is_row = elementwise || reduction; /* the op has element types, and a row in
                                               gradients.def */
    *op = (crescent_op){.name = info->name,
                        .elementwise = elementwise,
                        .reduction = reduction,
                        .arity = info->arity,
                        .types = is_row ? types_of(info) : "",
                        .equation = info->equation,
                        .gradient = is_row ? cr_gradient_text((enum cr_op)index) : "",
                        .doc = info->doc};
    return CRESCENT_OK;
}

int crescent_onnx_op_count(void)
{
    return cr_onnx_n_ops;
}

int crescent_onnx_op_at(int index, crescent_onnx_op *op)
{
    if (!op)
        return cr_refuse_null(NULL, __func__);
    if (index < 0 || index >= cr_onnx_n_ops)
        return cr_refuse(NULL, __func__, "no such operator, expected one of the table");
    const struct cr_onnx_op *row = &cr_onnx_ops[index];
    *op = (crescent_onnx_op){row->domain, row->name, row->since, row->meaning};
    return CRESCENT_OK;
}
