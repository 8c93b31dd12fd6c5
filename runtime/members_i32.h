/*
 * members_i32.h - the struct cr_runtime_i32, made like the struct in members.h.
 */
#ifndef CR_MEMBERS_I32_H
#define CR_MEMBERS_I32_H

/* The members for an op whose result has type Y, whose first operand has type A and whose further
 * operands have type B. */
#define CR_I32_MAPS_1(name, Y, A, B)                                                               \
    CR_FUNCTION(name##_v, void, (long rows, long cols, Y *y, long ldy, const A *a, long lda))
#define CR_I32_MAP2(name, Y, A, B)                                                                 \
    CR_FUNCTION(                                                                                   \
        name, void,                                                                                \
        (long rows, long cols, Y *y, long ldy, const A *a, long lda, const B *b, long ldb))
#define CR_I32_MAP3(name, Y, A, B)                                                                 \
    CR_FUNCTION(name, void,                                                                        \
                (long rows, long cols, Y *y, long ldy, const A *a, long lda, const B *b, long ldb, \
                 const B *c, long ldc))
#define CR_I32_MAPS_2(name, Y, A, B)                                                               \
    CR_I32_MAP2(name##_vv, Y, A, B)                                                                \
    CR_I32_MAP2(name##_vs, Y, A, B)                                                                \
    CR_I32_MAP2(name##_sv, Y, A, B)
#define CR_I32_MAPS_3(name, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vvv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vvs, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vsv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vss, Y, A, B)                                                               \
    CR_I32_MAP3(name##_svv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_svs, Y, A, B)                                                               \
    CR_I32_MAP3(name##_ssv, Y, A, B)

/* The types of an op by its rule; nothing for a rule that excludes i32. */
#define CR_I32_MAPS_ARITH(arity, name) CR_I32_MAPS_##arity(name, int, int, int)
#define CR_I32_MAPS_COMPARE(arity, name) CR_I32_MAPS_##arity(name, float, int, int)
#define CR_I32_MAPS_SELECT(arity, name) CR_I32_MAPS_##arity(name, int, float, int)
#define CR_I32_MAPS_CONVERT(arity, name) CR_I32_MAPS_##arity(name, float, int, int)
#define CR_I32_MAPS_TRUNCATE(arity, name) CR_I32_MAPS_##arity(name, int, float, float)
#define CR_I32_MAPS_FLOAT(arity, name)
#define CR_I32_MAPS_LOGIC(arity, name)
#define CR_I32_MAPS(name, arity, rule, expression, description) CR_I32_MAPS_##rule(arity, name)

/* The members for a reduction by its rule. */
#define CR_I32_REDUCES_ARITH(name)                                                                 \
    CR_FUNCTION(name, void, (long rows, long cols, int *y, const int *a, long lda))                \
    CR_FUNCTION(name##_down, void, (long rows, long cols, int *lanes, const int *a, long lda))     \
    CR_FUNCTION(name##_lanes, void, (long cols, int *lanes))
#define CR_I32_REDUCES_FLOAT(name)
#define CR_I32_REDUCES(name, rule, identity, combine, description) CR_I32_REDUCES_##rule(name)

#define CR_VARIANTS_I32 CR_ELEMENTWISE(CR_I32_MAPS) CR_REDUCTIONS(CR_I32_REDUCES)

struct cr_runtime_i32 {
#define CR_FUNCTION(name, result, parameters) result(*name) parameters;
    CR_MEMBERS_I32
#undef CR_FUNCTION
};

#endif
