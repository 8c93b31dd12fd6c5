/*
 * i32.h - the functions of the runtime on tiles of i32, as runtime.h declares those on floats.
 *
 * Arithmetic wraps modulo 2^32, in two's complement, so the order of a sum does not matter.  A
 * bool is a float here, too: comparisons return floats, and the first operand of where is one.
 */
#ifndef CR_I32_H
#define CR_I32_H

/* Members for an op whose result has the type Y, its first operand A and the others B. */
#define CR_I32_MEMBER_1(name, Y, A, B)                                                             \
    void (*name##_v)(long rows, long cols, Y *y, long ldy, const A *a, long lda);
#define CR_I32_MAP2(member, Y, A, B)                                                               \
    void (*member)(long rows, long cols, Y *y, long ldy, const A *a, long lda, const B *b, long ldb);
#define CR_I32_MAP3(member, Y, A, B)                                                               \
    void (*member)(long rows, long cols, Y *y, long ldy, const A *a, long lda, const B *b,         \
                   long ldb, const B *c, long ldc);
#define CR_I32_MEMBER_2(name, Y, A, B)                                                             \
    CR_I32_MAP2(name##_vv, Y, A, B)                                                                \
    CR_I32_MAP2(name##_vs, Y, A, B)                                                                \
    CR_I32_MAP2(name##_sv, Y, A, B)
#define CR_I32_MEMBER_3(name, Y, A, B)                                                             \
    CR_I32_MAP3(name##_vvv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vvs, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vsv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_vss, Y, A, B)                                                               \
    CR_I32_MAP3(name##_svv, Y, A, B)                                                               \
    CR_I32_MAP3(name##_svs, Y, A, B)                                                               \
    CR_I32_MAP3(name##_ssv, Y, A, B)

/* The types by the rule of the op; nothing for a rule that does not admit i32. */
#define CR_I32_MEMBER_ARITH(arity, name) CR_I32_MEMBER_##arity(name, int, int, int)
#define CR_I32_MEMBER_COMPARE(arity, name) CR_I32_MEMBER_##arity(name, float, int, int)
#define CR_I32_MEMBER_SELECT(arity, name) CR_I32_MEMBER_##arity(name, int, float, int)
#define CR_I32_MEMBER_CONVERT(arity, name) CR_I32_MEMBER_##arity(name, float, int, int)
#define CR_I32_MEMBER_FLOAT(arity, name)
#define CR_I32_MEMBER_LOGIC(arity, name)
#define CR_I32_MEMBER(name, arity, rule, expression, description, gradient)                        \
    CR_I32_MEMBER_##rule(arity, name)

struct cr_runtime_i32 {
    CR_ELEMENTWISE(CR_I32_MEMBER)

    /* y[r] = reduction over the row a[r, :] (the empty sum is 0, the empty maximum -2^31). */
    void (*sum)(long rows, long cols, int *y, const int *a, long lda);
    void (*max)(long rows, long cols, int *y, const int *a, long lda);

    /* The same down the columns; lanes begins as zeros or -2^31. */
    void (*sum_down)(long rows, long cols, int *lanes, const int *a, long lda);
    void (*max_down)(long rows, long cols, int *lanes, const int *a, long lda);
    void (*sum_lanes)(long cols, int *lanes);
    void (*max_lanes)(long cols, int *lanes);

    void (*load)(long rows, long cols, int *y, long ldy, const int *x, long rs, long cs);
    void (*store)(long rows, long cols, int *y, long rs, long cs, const int *x, long ldx);
    /* y[r, c] = base + r * rs + c * cs, an index */
    void (*iota)(long rows, long cols, int *y, long ldy, long base, long rs, long cs);
    /* y[r, :] = table[index[r], :]; an index outside 0 <= i < table_rows yields a row of -2^31 */
    void (*gather)(long rows, long cols, int *y, long ldy, const int *table, long ldt,
                   long table_rows, const int *index);
};

#endif
