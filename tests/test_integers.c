/*
 * test_integers.c - i32 from end to end, against arithmetic in int64_t written out here.
 *
 * Values lie at the ends of the range, around 2^24, where floats begin to miss integers, and
 * around 0.  The runtime's functions are called one by one for each instruction set; then every
 * op that takes or makes an i32 goes through the interpreter, both compilers and the standalone
 * file.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/engine.h"
#include "compiler/ir/eval.h"
#include "compiler/ir/mem.h"
#include "runtime/philox.h"
#include "tests/isas.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const int32_t values[] = {
    0,         1,         -1,       16777215, 16777216,      16777217,  -16777215,     -16777216,
    -16777217, INT32_MAX, INT32_MIN, 3,        INT32_MAX - 1, INT32_MIN + 1, 46341,     -65536,
    123456789, 7,         -2,
};

/* Returns element i of an operand: while operand 0 takes the values in order, operand 1 changes
 * once in a round, so that all pairs occur. */
static int32_t value_at(int turn, int64_t i)
{
    return values[turn ? i / COUNT(values) % COUNT(values) : i % COUNT(values)];
}

/* ---- the definition ---- */

/* Returns x modulo 2^32, as a two's complement number. */
static int64_t wrap(int64_t x)
{
    x &= 0xffffffff;
    return x > INT32_MAX ? x - 4294967296 : x;
}

static bool admits_i32(enum cr_op op)
{
    enum cr_rule rule = cr_ops[op].rule;
    return cr_ops[op].kind == CR_KIND_ELEMENTWISE && rule != CR_RULE_FLOAT &&
           rule != CR_RULE_LOGIC && rule != CR_RULE_TRUNCATE;
}

/* Computes an elementwise op on i32 operands; the first operand of a where is its condition. */
static double define(enum cr_op op, int64_t a, int64_t b, int64_t c)
{
    switch (op) {
    case CR_OP_neg:
        return (double)wrap(-a);
    case CR_OP_abs:
        return (double)wrap(a < 0 ? -a : a);
    case CR_OP_add:
        return (double)wrap(a + b);
    case CR_OP_sub:
        return (double)wrap(a - b);
    case CR_OP_mul:
        return (double)wrap(a * b);
    case CR_OP_floor_divide:
        return b ? (double)wrap((int64_t)floor((double)a / (double)b)) : 0;
    case CR_OP_remainder:
        return b ? (double)(a - (int64_t)floor((double)a / (double)b) * b) : 0;
    case CR_OP_maximum:
        return (double)(a > b ? a : b);
    case CR_OP_minimum:
        return (double)(a < b ? a : b);
    case CR_OP_lt:
        return a < b;
    case CR_OP_le:
        return a <= b;
    case CR_OP_gt:
        return a > b;
    case CR_OP_ge:
        return a >= b;
    case CR_OP_eq:
        return a == b;
    case CR_OP_ne:
        return a != b;
    case CR_OP_where:
        return (double)(a ? b : c);
    case CR_OP_float:
        return (double)(float)a;
    default:
        ck_abort_msg("%s takes i32 and is not defined here", cr_ops[op].name);
    }
}

/* ---- the runtime ---- */

enum { ROWS = 3, COLS = 37, LD = COLS + 3 };

/* A strip function of the runtime's table: its op, the letters of its operands, and how to call
 * it. */
struct strip {
    enum cr_op op;
    const char *letters;
    void (*call)(const struct cr_runtime_i32 *k, void *y, const void *const *x, const long *ld,
                 long cols);
};

/* clang-format off */
#define CALL_1(name, A) \
    static void name##_##A(const struct cr_runtime_i32 *k, void *y, const void *const *x, \
                           const long *ld, long cols) \
    { k->name##_##A(ROWS, cols, y, LD, x[0], ld[0]); }
#define CALL_2(name, A) \
    static void name##_##A(const struct cr_runtime_i32 *k, void *y, const void *const *x, \
                           const long *ld, long cols) \
    { k->name##_##A(ROWS, cols, y, LD, x[0], ld[0], x[1], ld[1]); }
#define CALL_3(name, A) \
    static void name##_##A(const struct cr_runtime_i32 *k, void *y, const void *const *x, \
                           const long *ld, long cols) \
    { k->name##_##A(ROWS, cols, y, LD, x[0], ld[0], x[1], ld[1], x[2], ld[2]); }
#define VARIANTS_1(USE, name) USE(name, v)
#define VARIANTS_2(USE, name) USE(name, vv) USE(name, vs) USE(name, sv)
#define VARIANTS_3(USE, name) \
    USE(name, vvv) USE(name, vvs) USE(name, vsv) USE(name, vss) USE(name, svv) USE(name, svs) \
    USE(name, ssv)
#define ENTRY(name, A) {CR_OP_##name, #A, name##_##A},
#define ADMITS_ARITH(code) code
#define ADMITS_COMPARE(code) code
#define ADMITS_SELECT(code) code
#define ADMITS_CONVERT(code) code
#define ADMITS_TRUNCATE(code)
#define ADMITS_FLOAT(code)
#define ADMITS_LOGIC(code)
#define CALLS(name, arity, rule, expression, description) \
    ADMITS_##rule(VARIANTS_##arity(CALL_##arity, name))
#define ENTRIES(name, arity, rule, expression, description) \
    ADMITS_##rule(VARIANTS_##arity(ENTRY, name))
CR_ELEMENTWISE(CALLS)
static const struct strip strips[] = {CR_ELEMENTWISE(ENTRIES)};
/* clang-format on */

static void check_strip(const struct cr_runtime *k, const struct strip *s, long cols)
{
    static int32_t x[3][ROWS * LD];
    static float condition[ROWS * LD];
    union {
        int32_t i[ROWS * LD];
        float f[ROWS * LD];
    } y;
    bool select = cr_ops[s->op].rule == CR_RULE_SELECT;
    bool floats = cr_ops[s->op].rule == CR_RULE_COMPARE || s->op == CR_OP_float;
    const void *operands[] = {select ? (const void *)condition : x[0], x[1], x[2]};
    for (int i = 0; i < ROWS * LD; i++) {
        for (int j = 0; j < 3; j++)
            x[j][i] = value_at(j % 2, i + 5 * (int)cols);
        condition[i] = (float)(i % 3 == 1);
        y.i[i] = 99;
    }
    const long ld[] = {s->letters[0] == 'v' ? LD : 1, LD, LD};
    s->call(k->i32, &y, operands, ld, cols);
    for (long r = 0; r < ROWS; r++) {
        int64_t a[3];
        for (long c = 0; c < cols; c++) {
            for (int j = 0; s->letters[j]; j++) {
                long at = s->letters[j] == 'v' ? r * LD + c : r * ld[j];
                a[j] = select && j == 0 ? (int64_t)condition[at] : x[j][at];
            }
            double got = floats ? (double)y.f[r * LD + c] : (double)y.i[r * LD + c];
            double want = define(s->op, a[0], a[1], a[2]);
            ck_assert_msg(got == want, "%s, %s_%s: %.0f, not %.0f", k->isa, cr_ops[s->op].name,
                          s->letters, got, want);
        }
        for (long c = cols; c < LD; c++)
            ck_assert_int_eq(y.i[r * LD + c], 99);
    }
}

START_TEST(strips_are_exact)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (int s = 0; k && s < COUNT(strips); s++)
        for (long cols = 0; cols <= COLS; cols++)
            check_strip(k, &strips[s], cols);
}
END_TEST

/* f32 is converted to i32 toward zero: whole numbers, fractions, the ends of the range and numbers
 * beyond. */
START_TEST(floats_are_cut)
{
    static const struct {
        float x;
        int32_t y;
    } cases[] = {{0, 0},          {-0.0f, 0},        {0.999f, 0},          {-0.999f, 0},
                 {1.5f, 1},       {-2.5f, -2},       {16777216, 16777216}, {-3e9f, INT32_MIN},
                 {3e9f, INT32_MIN}, {0x1p31f, INT32_MIN}, {-0x1p31f, INT32_MIN}, {NAN, INT32_MIN},
                 {INFINITY, INT32_MIN}, {-INFINITY, INT32_MIN}, {0x1.fffffep30f, 2147483520},
                 {-0x1.fffffep30f, -2147483520}, {1e-40f, 0}};
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    float x[41];
    int y[41];
    for (int i = 0; i < COUNT(x); i++)
        x[i] = cases[i % COUNT(cases)].x;
    if (k)
        k->i32->int_v(1, COUNT(x), y, COUNT(x), x, COUNT(x));
    for (int i = 0; k && i < COUNT(x); i++)
        ck_assert_msg(y[i] == cases[i % COUNT(cases)].y, "%s: int(%a) is %d", k->isa, (double)x[i],
                      y[i]);
    for (int i = 0; i < COUNT(cases); i++)
        ck_assert_double_eq(cr_evaluator_of(CR_OP_int, CR_I32)(CR_OP_int, (double)cases[i].x, 0, 0),
                            cases[i].y);
}
END_TEST

/* The macros of the table's expressions, for integers. */
#define CR_MAX(a, b) ((a) > (b) ? (a) : (b))
#define CR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CR_LOWEST INT32_MIN
#define CR_HIGHEST INT32_MAX

/* A reduction whose rule admits i32, from the table of reductions. */
struct reduction {
    enum cr_op op;
    int32_t identity;
    int64_t (*combine)(int64_t a, int64_t b);
    void (*rows)(const struct cr_runtime_i32 *k, long cols, int *y, const int *x, long ldx);
    void (*down)(const struct cr_runtime_i32 *k, long rows, int *lanes, const int *x);
    void (*lanes)(const struct cr_runtime_i32 *k, int *lanes);
};

/* clang-format off */
#define REDUCTION_FUNCTIONS(name, rule, identity, combine, description) ADMITS_##rule( \
    static int64_t combine_##name(int64_t a, int64_t b) { return combine; } \
    static void rows_##name(const struct cr_runtime_i32 *k, long n, int *y, const int *x, long ld) \
    { k->name(ROWS, n, y, x, ld); } \
    static void down_##name(const struct cr_runtime_i32 *k, long n, int *lanes, const int *x) \
    { k->name##_down(n, ROWS, lanes, x, ROWS); } \
    static void lanes_##name(const struct cr_runtime_i32 *k, int *lanes) \
    { k->name##_lanes(ROWS, lanes); })
#define REDUCTION_ENTRY(name, rule, identity, combine, description) \
    ADMITS_##rule({CR_OP_##name COMMA identity COMMA combine_##name COMMA rows_##name COMMA \
                   down_##name COMMA lanes_##name} COMMA)
#define COMMA ,
CR_REDUCTIONS(REDUCTION_FUNCTIONS)
static const struct reduction reductions[] = {CR_REDUCTIONS(REDUCTION_ENTRY)};
/* clang-format on */

/* Returns the reduction of n numbers with a stride of `step`. */
static int32_t reduced(const struct reduction *of, const int32_t *x, long n, long step)
{
    int32_t all = of->identity;
    for (long i = 0; i < n; i++)
        all = wrap(of->combine(all, x[i * step]));
    return all;
}

START_TEST(reductions_are_exact)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { LONG = 100 };
    int32_t x[ROWS * LONG], y[ROWS], lanes[16 * ROWS];
    for (int i = 0; i < ROWS * LONG; i++)
        x[i] = i % 7 ? value_at(0, i * 5) : INT32_MIN;
    for (long i = 0; k && i < (LONG + 1) * COUNT(reductions); i++) {
        const struct reduction *of = &reductions[i % COUNT(reductions)];
        long n = i / COUNT(reductions);
        of->rows(k->i32, n, y, x, LONG);
        for (int l = 0; l < 16 * ROWS; l++)
            lanes[l] = of->identity;
        for (long r = 0; r < n; r += 16) /* the same numbers as a matrix with ROWS columns */
            of->down(k->i32, n - r < 16 ? n - r : 16, lanes, x + r * ROWS);
        of->lanes(k->i32, lanes);
        for (int r = 0; r < ROWS; r++) {
            ck_assert_int_eq(y[r], reduced(of, x + r * LONG, n, 1));
            ck_assert_int_eq(lanes[r], reduced(of, x + r, n, ROWS));
        }
    }
}
END_TEST

/* Bit patterns that as floats would be signalling NaN, denormal numbers or -0. */
static const uint32_t patterns[] = {0x7f800001, 0xffbfffff, 0x7fc00000, 1, 0x80000000, 0x00400001};

START_TEST(moves_keep_all_bits)
{
    static const long strides[][2] = {{20, 1}, {1, 20}, {19, 0}, {0, 0}, {40, 2}};
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    int32_t x[2000], y[20 * 20], back[2000];
    for (int i = 0; i < 2000; i++)
        x[i] = (int32_t)patterns[i * 7 / 3 % COUNT(patterns)];
    for (int s = 0; k && s < COUNT(strides); s++) {
        long rs = strides[s][0], cs = strides[s][1];
        k->i32->load(20, 19, y, 20, x, rs, cs);
        for (long i = 0; i < 20 * 19; i++)
            ck_assert_int_eq(y[i / 19 * 20 + i % 19], x[i / 19 * rs + i % 19 * cs]);
        if (!rs || !cs)
            continue;
        k->i32->store(20, 19, back, rs, cs, y, 20);
        for (long i = 0; i < 20 * 19; i++)
            ck_assert_int_eq(back[i / 19 * rs + i % 19 * cs], y[i / 19 * 20 + i % 19]);
    }
    static const int32_t index[] = {2, 0, -1, 3, INT32_MAX, INT32_MIN, 1};
    if (k)
        k->i32->gather(COUNT(index), 19, y, 20, x, 23, 3, index);
    for (int i = 0; k && i < COUNT(index) * 19; i++) {
        int32_t row = index[i / 19];
        ck_assert_int_eq(y[i / 19 * 20 + i % 19],
                         row >= 0 && row < 3 ? x[row * 23 + i % 19] : INT32_MIN);
    }
}
END_TEST

START_TEST(iota_counts)
{
    static const long places[][3] = {{0, 1, 1},       {5, -40, 1},        {16777210, 7, 9},
                                     {0, 100000, 33}, {2147480000, 40, 1}, {3, 1, 0}};
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    int32_t y[ROWS * LD];
    for (int p = 0; k && p < COUNT(places); p++)
        for (long cols = 1; cols <= COLS; cols++) {
            k->i32->iota(ROWS, cols, y, LD, places[p][0], places[p][1], places[p][2]);
            for (long i = 0; i < ROWS * cols; i++)
                ck_assert_int_eq(y[i / cols * LD + i % cols],
                                 places[p][0] + i / cols * places[p][1] + i % cols * places[p][2]);
        }
}
END_TEST

/* ---- graphs ---- */

enum { MAX_OUTPUTS = 256, MAX_INPUTS = 4, R = 19, C = 19, N = R * C };

/* A node and its expected values. */
struct tensor {
    cr_id id;
    double *value;
};

/* A graph with its inputs and expected outputs, and the memory that it owns. */
struct model {
    struct cr_graph *g;
    void **owned;
    int n_owned, cap_owned;
    const void *inputs[MAX_INPUTS];
    int n_inputs, n_outputs;
    double *wanted[MAX_OUTPUTS];
};

static const struct cr_node *node_of(const struct model *m, struct tensor t)
{
    return &m->g->nodes[t.id];
}

static int64_t size_of(const struct model *m, struct tensor t)
{
    return cr_elements(node_of(m, t)->rank, node_of(m, t)->shape);
}

/* Allocates zeros that are freed with the model. */
static void *own(struct model *m, int64_t n, size_t size)
{
    return *CR_PUSH(m->owned, m->n_owned, m->cap_owned) = cr_calloc((size_t)n, size);
}

static struct tensor add(struct model *m, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr)
{
    struct tensor t = {cr_must(m->g, op, n, in, attr), NULL};
    t.value = own(m, size_of(m, t), sizeof *t.value);
    return t;
}

/* Adds an output: the node's values are stored and compared. */
static struct tensor out(struct model *m, struct tensor t)
{
    char name[32];
    ck_assert_int_lt(m->n_outputs, MAX_OUTPUTS);
    snprintf(name, sizeof name, "y%d_%s", m->n_outputs, cr_ops[node_of(m, t)->op].name);
    cr_add_output(m->g, name, t.id);
    m->wanted[m->n_outputs++] = t.value;
    return t;
}

static struct tensor input(struct model *m, const char *name, int64_t rows, int64_t cols, int turn)
{
    struct cr_attr attr = {.dtype = CR_I32, .rank = 2, .shape = {rows, cols}, .name = name};
    struct tensor t = add(m, CR_OP_input, 0, NULL, &attr);
    int32_t *data = own(m, rows * cols, sizeof *data);
    for (int64_t i = 0; i < rows * cols; i++) {
        data[i] = value_at(turn, i);
        t.value[i] = data[i];
    }
    m->inputs[m->n_inputs++] = data;
    return t;
}

static struct tensor constant(struct model *m, int64_t number)
{
    struct cr_attr attr = {
        .dtype = CR_I32, .rank = 2, .shape = {R, C}, .value = (double)number};
    struct tensor t = add(m, CR_OP_const, 0, NULL, &attr);
    for (int i = 0; i < N; i++)
        t.value[i] = (double)number;
    return t;
}

static struct tensor map(struct model *m, enum cr_op op, struct tensor a, struct tensor b,
                         struct tensor c)
{
    cr_id in[] = {a.id, b.id, c.id};
    struct tensor t = add(m, op, cr_ops[op].arity, in, NULL);
    for (int64_t i = 0; i < size_of(m, t); i++)
        t.value[i] = define(op, (int64_t)a.value[i], (int64_t)b.value[i], (int64_t)c.value[i]);
    return t;
}

static struct tensor map2(struct model *m, enum cr_op op, struct tensor a, struct tensor b)
{
    return map(m, op, a, b, b);
}

/* Adds a reduction of an [R, C] tensor over one of its axes, and computes the expected values. */
static struct tensor reduce(struct model *m, enum cr_op op, struct tensor a, int axis)
{
    struct cr_attr attr = {.axis = axis};
    struct tensor t = add(m, op, 1, &a.id, &attr);
    for (int i = 0; i < (axis ? R : C); i++) {
        int32_t x[R > C ? R : C];
        for (int j = 0; j < (axis ? C : R); j++)
            x[j] = (int32_t)a.value[axis ? i * C + j : j * C + i];
        for (int j = 0; j < COUNT(reductions); j++)
            if (reductions[j].op == op)
                t.value[i] = reduced(&reductions[j], x, axis ? C : R, 1);
    }
    return t;
}

/* Broadcasts one number for each row, or for each column, to [R, C]. */
static struct tensor expand(struct model *m, struct tensor a)
{
    struct cr_attr attr = {.rank = 2, .shape = {R, C}};
    bool column = node_of(m, a)->shape[1] == 1;
    struct tensor t = add(m, CR_OP_expand, 1, &a.id, &attr);
    for (int i = 0; i < N; i++)
        t.value[i] = a.value[column ? i / C : i % C];
    return t;
}

static struct tensor permute(struct model *m, struct tensor a)
{
    struct cr_attr attr = {.index = {1, 0}};
    struct tensor t = add(m, CR_OP_permute, 1, &a.id, &attr);
    int64_t cols = node_of(m, a)->shape[1], rows = node_of(m, a)->shape[0];
    for (int64_t i = 0; i < rows * cols; i++)
        t.value[i] = a.value[i % rows * cols + i / rows];
    return t;
}

/* Slices rows and columns from (row, col) on. */
static struct tensor slice(struct model *m, struct tensor a, int row, int col, int rows, int cols)
{
    struct cr_attr attr = {.rank = 2, .index = {row, col}, .shape = {rows, cols}};
    struct tensor t = add(m, CR_OP_slice, 1, &a.id, &attr);
    for (int i = 0; i < rows * cols; i++)
        t.value[i] = a.value[(row + i / cols) * C + col + i % cols];
    return t;
}

static struct tensor reshape(struct model *m, struct tensor a, int64_t rows)
{
    struct cr_attr attr = {.rank = rows ? 2 : 1, .shape = {rows, N / (rows ? rows : 1)}};
    if (!rows)
        attr.shape[0] = size_of(m, a);
    struct tensor t = add(m, CR_OP_reshape, 1, &a.id, &attr);
    memcpy(t.value, a.value, (size_t)size_of(m, a) * sizeof *t.value);
    return t;
}

/* Adds the concat of two [R, C] tensors along axis 1: each row of a is followed by the same row of
 * b. */
static struct tensor concat(struct model *m, struct tensor a, struct tensor b)
{
    struct cr_attr attr = {.axis = 1};
    struct tensor t = add(m, CR_OP_concat, 2, (cr_id[]){a.id, b.id}, &attr);
    for (int i = 0; i < 2 * N; i++)
        t.value[i] = (i % (2 * C) < C ? a : b).value[i / (2 * C) * C + i % C];
    return t;
}

static struct tensor iota(struct model *m, int axis)
{
    struct cr_attr attr = {.rank = 2, .shape = {R, C}, .axis = axis};
    struct tensor t = add(m, CR_OP_iota, 0, NULL, &attr);
    for (int i = 0; i < N; i++)
        t.value[i] = axis ? i % C : i / C;
    return t;
}

/* Adds a running sum down the columns or along the rows, from the first or from the last
 * element. */
static struct tensor cumsum(struct model *m, struct tensor a, int axis, bool reverse)
{
    struct cr_attr attr = {.axis = axis, .index = {reverse}};
    struct tensor t = add(m, CR_OP_cumsum, 1, &a.id, &attr);
    int step = axis ? 1 : C, n = axis ? C : R;
    for (int way = 0; way < N / n; way++)
        for (int i = 0; i < n; i++) {
            int at = (axis ? way * C : way) + (reverse ? n - 1 - i : i) * step;
            double before = i ? t.value[reverse ? at + step : at - step] : 0;
            t.value[at] = (double)wrap((int64_t)before + (int64_t)a.value[at]);
        }
    return t;
}

/* Adds a literal with the same values, which are data of the program. */
static struct tensor literal(struct model *m, struct tensor a)
{
    struct cr_attr attr = {.dtype = CR_I32, .rank = 2, .shape = {R, C}};
    uint32_t words[N];
    for (int i = 0; i < N; i++)
        words[i] = (uint32_t)(int32_t)a.value[i];
    attr.value = cr_add_literal(m->g, &(struct cr_literal){CR_I32, N, words});
    struct tensor t = add(m, CR_OP_literal, 0, NULL, &attr);
    memcpy(t.value, a.value, N * sizeof *t.value);
    return t;
}

/* Gathers rows of an [R, C] table by a list of indices. */
static struct tensor gather(struct model *m, struct tensor table, struct tensor index)
{
    struct tensor t = add(m, CR_OP_gather, 2, (cr_id[]){table.id, index.id}, NULL);
    for (int64_t i = 0; i < size_of(m, t); i++) {
        double row = index.value[i / C];
        bool inside = row >= 0 && row < R;
        double none = node_of(m, t)->dtype == CR_I32 ? INT32_MIN : NAN;
        t.value[i] = inside ? table.value[(int)row * C + i % C] : none;
    }
    return t;
}

static struct tensor scatter_add(struct model *m, struct tensor rows, struct tensor index)
{
    struct cr_attr attr = {.shape = {R}};
    struct tensor t = add(m, CR_OP_scatter_add, 2, (cr_id[]){rows.id, index.id}, &attr);
    for (int i = 0; i < N; i++) {
        double row = index.value[i / C];
        if (row >= 0 && row < R)
            t.value[(int)row * C + i % C] += rows.value[i];
    }
    return t;
}

static struct tensor random_by(struct model *m, struct tensor seed, int64_t number)
{
    struct cr_attr attr = {.rank = 2, .shape = {R, C}, .value = 3};
    struct tensor t = add(m, CR_OP_random, 1, &seed.id, &attr);
    for (int i = 0; i < N; i++)
        t.value[i] = (double)cr_philox_uniform((uint64_t)number, 3, (uint64_t)i);
    return t;
}

/* Adds every elementwise op on operands that are stored, computed in the same kernel, one number
 * for each row, one for each column, and constants on either side. */
static void add_maps(struct model *m, struct tensor a, struct tensor b)
{
    static const int64_t numbers[] = {INT32_MIN, INT32_MAX, 16777217, -1};
    struct tensor row = expand(m, reduce(m, CR_OP_max, a, 1)), made = map2(m, CR_OP_mul, a, b);
    struct tensor column = expand(m, slice(m, b, 0, 0, 1, C)), truth = map2(m, CR_OP_lt, a, b);
    for (int op = 0; op < CR_OP_COUNT; op++) {
        if (!admits_i32((enum cr_op)op))
            continue;
        if (op == CR_OP_where) {
            out(m, map(m, op, truth, a, constant(m, INT32_MIN)));
            out(m, map(m, op, truth, constant(m, 16777217), row));
            out(m, map(m, op, truth, made, column));
            continue;
        }
        out(m, map2(m, op, a, b));
        out(m, map2(m, op, made, row));
        out(m, map2(m, op, permute(m, made), column));
        for (int i = 0; cr_ops[op].arity == 2 && i < COUNT(numbers); i++)
            out(m, i % 2 ? map2(m, op, constant(m, numbers[i]), a)
                         : map2(m, op, a, constant(m, numbers[i])));
        for (int i = 0; i < COUNT(numbers); i++) /* operands that are constants: the op is folded */
            out(m, map2(m, op, constant(m, numbers[i]), constant(m, numbers[(i + 1) % 4])));
    }
}

/* Adds c (a + k a + l a a a), in an order that the simplifier changes for floats. */
static struct tensor polynomial(struct model *m, struct tensor a, int64_t c, int64_t k, int64_t l)
{
    struct tensor square = map2(m, CR_OP_mul, a, a);
    struct tensor inner =
        map2(m, CR_OP_add, constant(m, k), map2(m, CR_OP_mul, constant(m, l), square));
    out(m, map2(m, CR_OP_mul, constant(m, c), map2(m, CR_OP_mul, a, inner)));
    struct tensor cube = map2(m, CR_OP_mul, map2(m, CR_OP_mul, constant(m, l), square), a);
    struct tensor sum = map2(m, CR_OP_add, map2(m, CR_OP_mul, constant(m, k), a), cube);
    return map2(m, CR_OP_mul, constant(m, c), map2(m, CR_OP_add, sum, a));
}

/* Movement, gather and scatter of i32. */
static void add_others(struct model *m, struct tensor a, struct tensor b)
{
    struct tensor made = map2(m, CR_OP_add, a, b), kept = out(m, map2(m, CR_OP_mul, made, a));
    struct tensor of[] = {a, made, kept};
    struct tensor down = iota(m, 0), across = iota(m, 1);
    struct tensor ids = reshape(m, slice(m, map2(m, CR_OP_sub, across, down), 4, 0, 1, C), 0);
    struct tensor rows = reshape(m, slice(m, map2(m, CR_OP_mul, across, across), 2, 0, 1, C), 0);
    for (int i = 0; i < COUNT(of); i++) {
        for (int axis = 0; axis < 2; axis++) {
            for (int j = 0; j < COUNT(reductions); j++)
                out(m, reduce(m, reductions[j].op, of[i], axis));
            out(m, map2(m, CR_OP_sub, of[i], expand(m, reduce(m, CR_OP_sum, of[i], axis))));
        }
        for (int way = 0; way < 4; way++)
            out(m, cumsum(m, of[i], way % 2, way / 2));
        out(m, map2(m, CR_OP_mul, of[i], literal(m, b)));
        out(m, permute(m, of[i]));
        out(m, slice(m, of[i], 3, 2, 5, C - 4));
        out(m, concat(m, of[i], permute(m, of[i])));
        out(m, reshape(m, permute(m, of[i]), 1));
        out(m, gather(m, of[i], ids));
        out(m, gather(m, map(m, CR_OP_float, of[i], of[i], of[i]), rows));
    }
    out(m, map2(m, CR_OP_add, map2(m, CR_OP_mul, across, constant(m, 123456789)), down));
    out(m, polynomial(m, a, 65537, 16777217, 123456789));
    out(m, scatter_add(m, map(m, CR_OP_float, down, down, down), ids));
    out(m, reshape(m, constant(m, INT32_MIN), 1));
    struct tensor seed = slice(m, a, 0, 10, 1, 1); /* INT32_MIN */
    out(m, random_by(m, seed, INT32_MIN));
    out(m, random_by(m, map2(m, CR_OP_sub, seed, slice(m, a, 0, 1, 1, 1)), INT32_MAX));
}

static struct model new_model(void)
{
    struct model m = {.g = cr_graph_new("integers")};
    struct tensor a = input(&m, "a", R, C, 0), b = input(&m, "b", R, C, 1);
    add_maps(&m, a, b);
    add_others(&m, a, b);
    return m;
}

static const struct {
    enum cr_backend backend;
    const char *isa;
    int threads;
} ways[] = {
    {CR_BACKEND_REF, NULL, 1},     {CR_BACKEND_TCC, "plain", 1}, {CR_BACKEND_TCC, "avx2", 2},
    {CR_BACKEND_TCC, "avx512", 1}, {CR_BACKEND_CC, NULL, 1},     {CR_BACKEND_STANDALONE, NULL, 1},
};

static void compare(const struct cr_port *port, const void *data, const double *wanted)
{
    for (int64_t i = 0; i < cr_port_elements(port); i++) {
        double got = port->dtype == CR_I32 ? (double)((const int32_t *)data)[i]
                                           : (double)((const float *)data)[i];
        ck_assert_msg(got == wanted[i] || (got != got && wanted[i] != wanted[i]),
                      "%s, element %lld is %.9g, not %.9g", port->name, (long long)i, got,
                      wanted[i]);
    }
}

START_TEST(every_op_is_exact)
{
    if (ways[_i].isa && !cr_runtime_select(ways[_i].isa))
        return;
    struct model m = new_model();
    struct cr_engine_options options = {.settings.path = "integers.lua",
                                        .backend = ways[_i].backend,
                                        .threads = ways[_i].threads,
                                        .isa = ways[_i].isa};
    struct cr_engine engine;
    struct cr_error error = {""};
    void *outputs[MAX_OUTPUTS];
    int status = cr_engine_open(&engine, m.g, &options, &error);
    ck_assert_msg(status == 0, "%s", error.text);
    for (int i = 0; i < engine.n_outputs; i++)
        outputs[i] = own(&m, cr_port_elements(&engine.outputs[i]), sizeof(float));
    ck_assert_int_eq(cr_engine_run(&engine, m.inputs, outputs, &error), 0);
    for (int i = 0; i < engine.n_outputs; i++)
        compare(&engine.outputs[i], outputs[i], m.wanted[i]);
    cr_engine_close(&engine);
    for (int i = 0; i < m.n_owned; i++)
        free(m.owned[i]);
    free(m.owned);
}
END_TEST

int main(void)
{
    report_missing_isas("test_integers");
    Suite *suite = suite_create("integers");
    TCase *runtime = tcase_create("runtime"), *graphs = tcase_create("graphs");
    tcase_add_loop_test(runtime, strips_are_exact, 0, ISAS);
    tcase_add_loop_test(runtime, floats_are_cut, 0, ISAS);
    tcase_add_loop_test(runtime, reductions_are_exact, 0, ISAS);
    tcase_add_loop_test(runtime, moves_keep_all_bits, 0, ISAS);
    tcase_add_loop_test(runtime, iota_counts, 0, ISAS);
    tcase_set_timeout(graphs, 120);
    tcase_add_loop_test(graphs, every_op_is_exact, 0, COUNT(ways));
    suite_add_tcase(suite, runtime);
    suite_add_tcase(suite, graphs);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
