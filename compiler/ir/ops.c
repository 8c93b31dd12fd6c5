/* The op table, made from ops.def, runtime/reductions.h and runtime/elementwise.h. */
#include "graph.h"

/* Fails to compile if a column of the table is empty. */
#define FILLED(name, column) _Static_assert(sizeof(column) > 1, #name ": a column is empty");
#define OP(name, kind, operands, equation, description, gradient) FILLED(name, description)
#include "ops.def"
#undef OP
#define OP(name, rule, identity, combine, description)                                             \
    FILLED(name, #identity) FILLED(name, #combine) FILLED(name, description)
CR_REDUCTIONS(OP)
#undef OP
#define OP(name, arity, rule, expression, description)                                             \
    FILLED(name, #expression) FILLED(name, description)
CR_ELEMENTWISE(OP)
#undef OP

const struct cr_op_info cr_ops[CR_OP_COUNT] = {
#define OP(name, kind, operands, equation, description, gradient)                                  \
    [CR_OP_##name] = {#name, CR_KIND_##kind, operands, CR_RULE_ARITH, equation, description},
#include "ops.def"
#undef OP
#define OP(name, rule, identity, combine, description)                                             \
    [CR_OP_##name] = {#name,      CR_KIND_REDUCE, 1, CR_RULE_##rule, #name "(a, axis [, keep])",   \
                      description},
    CR_REDUCTIONS(OP)
#undef OP
#define OP(name, arity, rule, expression, description)                                             \
    [CR_OP_##name] = {#name, CR_KIND_ELEMENTWISE, arity, CR_RULE_##rule, #expression, description},
        CR_ELEMENTWISE(OP)
#undef OP
};
