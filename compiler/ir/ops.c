/* The op table, made from ops.def and runtime/elementwise.h. */
#include "graph.h"

const struct cr_op_info cr_ops[CR_OP_COUNT] = {
#define OP(name, kind, operands, equation, description, gradient)                                  \
    [CR_OP_##name] = {#name, CR_KIND_##kind, operands, CR_RULE_ARITH, equation, description, ""},
#include "ops.def"
#undef OP
#define OP(name, arity, rule, expression, description, gradient)                                   \
    [CR_OP_##name] = {#name,       CR_KIND_ELEMENTWISE, arity,    CR_RULE_##rule,                  \
                      #expression, description,         #gradient},
    CR_ELEMENTWISE(OP)
#undef OP
};
