/*
 * members.h - the struct cr_runtime, whose members follow from the tables of ops and functions.
 *
 * In an emitted file it has only the members that the model needs.
 */
#ifndef CR_MEMBERS_H
#define CR_MEMBERS_H

/* The members that follow from a row of CR_ELEMENTWISE or CR_REDUCTIONS, each by CR_MEMBER(type,
 * name). */
#define CR_MAPS_1(name) CR_MEMBER(cr_map1, name##_v)
#define CR_MAPS_2(name)                                                                            \
    CR_MEMBER(cr_map2, name##_vv)                                                                  \
    CR_MEMBER(cr_map2, name##_vs)                                                                  \
    CR_MEMBER(cr_map2, name##_sv)
#define CR_MAPS_3(name)                                                                            \
    CR_MEMBER(cr_map3, name##_vvv)                                                                 \
    CR_MEMBER(cr_map3, name##_vvs)                                                                 \
    CR_MEMBER(cr_map3, name##_vsv)                                                                 \
    CR_MEMBER(cr_map3, name##_vss)                                                                 \
    CR_MEMBER(cr_map3, name##_svv)                                                                 \
    CR_MEMBER(cr_map3, name##_svs)                                                                 \
    CR_MEMBER(cr_map3, name##_ssv)
#define CR_MAPS(name, arity, rule, expression, description) CR_MAPS_##arity(name)
#define CR_REDUCES(name, rule, identity, combine, description)                                     \
    CR_MEMBER(cr_reduce, name)                                                                     \
    CR_MEMBER(cr_reduce_down, name##_down)                                                         \
    CR_MEMBER(cr_reduce_lanes, name##_lanes)

#define CR_VARIANTS CR_ELEMENTWISE(CR_MAPS) CR_REDUCTIONS(CR_REDUCES)

/* The functions of the runtime for one instruction set. */
struct cr_runtime {
    const char *isa;                  /* "amx", "vnni", "avx512", "avx2", "neon" or "plain" */
    const struct cr_runtime_i32 *i32; /* only for i32 */
    cr_parallel *parallel;
#define CR_MEMBER(type, name) type *name;
#define CR_FUNCTION(name, result, parameters) result(*name) parameters;
    CR_MEMBERS
#undef CR_MEMBER
#undef CR_FUNCTION
};

#endif
