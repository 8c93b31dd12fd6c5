/* test_interpreter.c - the interpreter, op by op, against values computed by hand. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/exec.h"
#include "compiler/ir/graph.h"

enum { MAX_VALUES = 24 };

/* A tensor of a case; a 0 ends its shape. */
struct tensor {
    enum cr_dtype dtype;
    int64_t shape[4];
    double values[MAX_VALUES];
};

/* One op on literal operands. */
struct ref_case {
    enum cr_op op;
    int n;
    struct tensor in[3];
    struct cr_attr attr;
    struct tensor out;
};

static int rank_of(const struct tensor *t)
{
    int rank = 0;
    while (rank < 4 && t->shape[rank])
        rank++;
    return rank;
}

#define UNARY(name, ...)                                                                           \
    CR_OP_##name, 1, {{CR_F32, {3}, __VA_ARGS__}},                                                 \
    {                                                                                              \
        0                                                                                          \
    }
#define BINARY(name, a, b)                                                                         \
    CR_OP_##name, 2, {{CR_F32, {5}, a}, {CR_F32, {5}, b}},                                         \
    {                                                                                              \
        0                                                                                          \
    }
#define V(...)                                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define FIVE_A V(1, 2, 3, NAN, 1)
#define FIVE_B V(2, 2, 1, 1, NAN)
#define BITS_A V(0, 0, 1, 1)
#define BITS_B V(0, 1, 0, 1)
#define LOGIC(name)                                                                                \
    CR_OP_##name, 2, {{CR_BOOL, {4}, BITS_A}, {CR_BOOL, {4}, BITS_B}},                             \
    {                                                                                              \
        0                                                                                          \
    }

static const struct ref_case cases[] = {
    {UNARY(neg, {1, -2, 0.5}), {CR_F32, {3}, {-1, 2, -0.5}}},
    {UNARY(abs, {1, -2, -INFINITY}), {CR_F32, {3}, {1, 2, INFINITY}}},
    {UNARY(exp, {0, 1, -INFINITY}), {CR_F32, {3}, {1, 2.718281828459045, 0}}},
    {UNARY(log, {1, 0, -1}), {CR_F32, {3}, {0, -INFINITY, NAN}}},
    {UNARY(sqrt, {4, 2, -1}), {CR_F32, {3}, {2, 1.4142135623730951, NAN}}},
    {UNARY(rsqrt, {4, 0, 16}), {CR_F32, {3}, {0.5, INFINITY, 0.25}}},
    {UNARY(tanh, {0, 0.5, 100}), {CR_F32, {3}, {0, 0.46211715726000973, 1}}},
    {UNARY(erf, {0, 0.5, -100}), {CR_F32, {3}, {0, 0.5204998778130465, -1}}},
    {UNARY(sigmoid, {0, -2, INFINITY}), {CR_F32, {3}, {0.5, 0.11920292202211755, 1}}},
    {UNARY(sin, {0, 1, 0x1p100}), {CR_F32, {3}, {0, 0.8414709848078965, -0.87218360541826731}}},
    {UNARY(cos, {0, 1, INFINITY}), {CR_F32, {3}, {1, 0.5403023058681398, NAN}}},
    {UNARY(floor, {1.5, -0.25, -INFINITY}), {CR_F32, {3}, {1, -1, -INFINITY}}},
    {UNARY(round, {1.5, 2.5, -0.75}), {CR_F32, {3}, {2, 2, -1}}},
    {BINARY(pow, V(2, -2, -8, NAN, 0), V(0.5, 3, 1.0 / 3, 0, -1)),
     {CR_F32, {5}, {1.4142135623730951, -8, NAN, 1, INFINITY}}},
    {BINARY(add, FIVE_A, FIVE_B), {CR_F32, {5}, {3, 4, 4, NAN, NAN}}},
    {BINARY(sub, FIVE_A, FIVE_B), {CR_F32, {5}, {-1, 0, 2, NAN, NAN}}},
    {BINARY(mul, FIVE_A, FIVE_B), {CR_F32, {5}, {2, 4, 3, NAN, NAN}}},
    {BINARY(div, FIVE_A, FIVE_B), {CR_F32, {5}, {0.5, 1, 3, NAN, NAN}}},
    {BINARY(floor_divide, V(7, -7, 7, -7, 1), V(2, 2, -2, -2, 0)),
     {CR_F32, {5}, {3, -4, -4, 3, INFINITY}}},
    {BINARY(remainder, V(7, -7, 7.5, -7, -1), V(2, 2, -2, -2, INFINITY)),
     {CR_F32, {5}, {1, 1, -0.5, -1, INFINITY}}},
    {CR_OP_floor_divide,
     2,
     {{CR_I32, {6}, {7, -7, 7, -7, 5, INT32_MIN}}, {CR_I32, {6}, {2, 2, -2, -2, 0, -1}}},
     {0},
     {CR_I32, {6}, {3, -4, -4, 3, 0, INT32_MIN}}},
    {CR_OP_remainder,
     2,
     {{CR_I32, {6}, {7, -7, 7, -7, 5, INT32_MIN}}, {CR_I32, {6}, {2, 2, -2, -2, 0, -1}}},
     {0},
     {CR_I32, {6}, {1, 1, -1, -1, 0, 0}}},
    {CR_OP_int,
     1,
     {{CR_F32, {6}, {1.5, -1.5, NAN, 3e9, -0.5, -0x1p31}}},
     {0},
     {CR_I32, {6}, {1, -1, INT32_MIN, INT32_MIN, 0, INT32_MIN}}},
    {CR_OP_int, 1, {{CR_BOOL, {2}, {0, 1}}}, {0}, {CR_I32, {2}, {0, 1}}},
    {BINARY(maximum, FIVE_A, FIVE_B), {CR_F32, {5}, {2, 2, 3, NAN, NAN}}},
    {BINARY(minimum, FIVE_A, FIVE_B), {CR_F32, {5}, {1, 2, 1, NAN, NAN}}},
    {BINARY(lt, FIVE_A, FIVE_B), {CR_BOOL, {5}, {1, 0, 0, 0, 0}}},
    {BINARY(le, FIVE_A, FIVE_B), {CR_BOOL, {5}, {1, 1, 0, 0, 0}}},
    {BINARY(gt, FIVE_A, FIVE_B), {CR_BOOL, {5}, {0, 0, 1, 0, 0}}},
    {BINARY(ge, FIVE_A, FIVE_B), {CR_BOOL, {5}, {0, 1, 1, 0, 0}}},
    {BINARY(eq, FIVE_A, FIVE_B), {CR_BOOL, {5}, {0, 1, 0, 0, 0}}},
    {BINARY(ne, FIVE_A, FIVE_B), {CR_BOOL, {5}, {1, 0, 1, 1, 1}}},
    {CR_OP_logical_not, 1, {{CR_BOOL, {2}, {0, 1}}}, {0}, {CR_BOOL, {2}, {1, 0}}},
    {LOGIC(logical_and), {CR_BOOL, {4}, {0, 0, 0, 1}}},
    {LOGIC(logical_or), {CR_BOOL, {4}, {0, 1, 1, 1}}},
    {CR_OP_where,
     3,
     {{CR_BOOL, {2}, {0, 1}}, {CR_F32, {2}, {1, 2}}, {CR_F32, {2}, {NAN, NAN}}},
     {0},
     {CR_F32, {2}, {NAN, 2}}},
    {CR_OP_fma,
     3,
     {{CR_F32, {3}, {3, 0, -2}}, {CR_F32, {3}, {5, INFINITY, 0.5}}, {CR_F32, {3}, {-7, 1, 1}}},
     {0},
     {CR_F32, {3}, {8, NAN, 0}}},
    {CR_OP_float, 1, {{CR_I32, {3}, {-2, 0, 7}}}, {0}, {CR_F32, {3}, {-2, 0, 7}}},
    {CR_OP_float, 1, {{CR_BOOL, {2}, {0, 1}}}, {0}, {CR_F32, {2}, {0, 1}}},
    {CR_OP_add,
     2,
     {{CR_I32, {2}, {16777216, -3}}, {CR_I32, {2}, {1, 1}}},
     {0},
     {CR_I32, {2}, {16777217, -2}}},
    {CR_OP_neg, 1, {{CR_F32, {0}, {3}}}, {0}, {CR_F32, {0}, {-3}}},

    {CR_OP_const,
     0,
     {{0}},
     {.dtype = CR_F32, .rank = 2, .shape = {2, 2}, .value = 7},
     {CR_F32, {2, 2}, {7, 7, 7, 7}}},
    {CR_OP_literal, /* the elements are equal to the expected ones */
     0,
     {{0}},
     {.dtype = CR_F32, .rank = 2, .shape = {2, 2}},
     {CR_F32, {2, 2}, {0.5, NAN, -INFINITY, 7}}},
    {CR_OP_literal,
     0,
     {{0}},
     {.dtype = CR_I32, .rank = 1, .shape = {3}},
     {CR_I32, {3}, {INT32_MIN, 0, INT32_MAX}}},
    {CR_OP_iota,
     0,
     {{0}},
     {.rank = 2, .shape = {2, 3}, .axis = 1},
     {CR_I32, {2, 3}, {0, 1, 2, 0, 1, 2}}},
    {CR_OP_iota,
     0,
     {{0}},
     {.rank = 2, .shape = {2, 3}, .axis = 0},
     {CR_I32, {2, 3}, {0, 0, 0, 1, 1, 1}}},

    {CR_OP_sum, 1, {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}}, {.axis = 1}, {CR_F32, {2, 1}, {6, 15}}},
    {CR_OP_sum,
     1,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.axis = 0},
     {CR_F32, {1, 3}, {5, 7, 9}}},
    {CR_OP_sum,
     1,
     {{CR_F32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     {.axis = 1},
     {CR_F32, {2, 1, 2}, {4, 6, 12, 14}}},
    {CR_OP_max,
     1,
     {{CR_F32, {2, 3}, {1, 3, 2, 4, NAN, 6}}},
     {.axis = 1},
     {CR_F32, {2, 1}, {3, NAN}}},
    {CR_OP_max,
     1,
     {{CR_F32, {2, 2}, {-1, -INFINITY, -2, -INFINITY}}},
     {.axis = 0},
     {CR_F32, {1, 2}, {-1, -INFINITY}}},

    {CR_OP_matmul,
     2,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}, {CR_F32, {3, 2}, {1, 0, 0, 1, 1, 1}}},
     {0},
     {CR_F32, {2, 2}, {4, 5, 10, 11}}},
    {CR_OP_matmul,
     2,
     {{CR_F32, {1, 5}, {1, 2, 3, 4, 5}}, {CR_F32, {5, 1}, {1, 10, 100, 1000, 1e4}}},
     {0},
     {CR_F32, {1, 1}, {54321}}},
    {CR_OP_matmul,
     2,
     {{CR_F32, {2, 1, 2}, {1, 2, 3, 4}}, {CR_F32, {2, 2, 2}, {1, 0, 0, 1, 2, 0, 0, 2}}},
     {0},
     {CR_F32, {2, 1, 2}, {1, 2, 6, 8}}},

    {CR_OP_reshape,
     1,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.rank = 2, .shape = {3, 2}},
     {CR_F32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
    {CR_OP_permute,
     1,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.index = {1, 0}},
     {CR_F32, {3, 2}, {1, 4, 2, 5, 3, 6}}},
    {CR_OP_permute,
     1,
     {{CR_F32, {1, 2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.index = {2, 0, 1}},
     {CR_F32, {3, 1, 2}, {1, 4, 2, 5, 3, 6}}},
    {CR_OP_expand,
     1,
     {{CR_F32, {2, 1}, {1, 2}}},
     {.rank = 3, .shape = {2, 2, 2}},
     {CR_F32, {2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}}},
    {CR_OP_expand, 1, {{CR_F32, {0}, {5}}}, {.rank = 1, .shape = {3}}, {CR_F32, {3}, {5, 5, 5}}},
    {CR_OP_slice,
     1,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.shape = {2, 2}, .index = {0, 1}},
     {CR_F32, {2, 2}, {2, 3, 5, 6}}},
    {CR_OP_detach, 1, {{CR_F32, {2}, {1, NAN}}}, {0}, {CR_F32, {2}, {1, NAN}}},
    {CR_OP_limit, 1, {{CR_F32, {2}, {1, NAN}}}, {0}, {CR_F32, {2}, {1, NAN}}},
    {CR_OP_concat,
     2,
     {{CR_F32, {2, 1}, {1, 2}}, {CR_F32, {2, 2}, {3, 4, 5, 6}}},
     {.axis = 1},
     {CR_F32, {2, 3}, {1, 3, 4, 2, 5, 6}}},
    {CR_OP_concat,
     3,
     {{CR_F32, {1, 2}, {1, 2}}, {CR_F32, {1, 2}, {3, 4}}, {CR_F32, {1, 2}, {5, 6}}},
     {.axis = 0},
     {CR_F32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
    {CR_OP_gather,
     2,
     {{CR_F32, {3, 2}, {1, 2, 3, 4, 5, 6}}, {CR_I32, {4}, {2, 0, 3, -1}}},
     {0},
     {CR_F32, {4, 2}, {5, 6, 1, 2, NAN, NAN, NAN, NAN}}},
    {CR_OP_gather,
     2,
     {{CR_F32, {2}, {8, 9}}, {CR_I32, {2, 2}, {1, 0, 0, 1}}},
     {0},
     {CR_F32, {2, 2}, {9, 8, 8, 9}}},
    {CR_OP_take,
     2,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}, {CR_I32, {2, 4}, {2, 0, 3, -1, 0, 0, 1, 2}}},
     {.axis = 1},
     {CR_F32, {2, 4}, {3, 1, NAN, NAN, 4, 4, 5, 6}}},
    {CR_OP_take,
     2,
     {{CR_I32, {2, 2}, {1, 2, 3, 4}}, {CR_I32, {3, 2}, {1, 0, 0, 1, 2, 1}}},
     {.axis = 0},
     {CR_I32, {3, 2}, {3, 2, 1, 4, INT32_MIN, 4}}},
    {CR_OP_random, /* the numbers of cr_philox_uniform, which test_runtime.c checks */
     1,
     {{CR_I32, {0}, {5}}},
     {.rank = 2, .shape = {2, 3}, .value = 7},
     {CR_F32,
      {2, 3},
      {0.6043895483016968, 0.25821393728256226, 0.24858546257019043, 0.7343801856040955,
       0.35368257761001587, 0.9561424851417542}}},
    {CR_OP_scatter_add,
     2,
     {{CR_F32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}, {CR_I32, {4}, {2, 0, 2, -1}}},
     {.shape = {3}},
     {CR_F32, {3, 2}, {3, 4, 0, 0, 6, 8}}},
    {CR_OP_scatter_add,
     2,
     {{CR_F32, {2, 2}, {1, 2, 4, 8}}, {CR_I32, {2, 2}, {1, 1, 2, 0}}},
     {.shape = {2}},
     {CR_F32, {2}, {8, 3}}},
    {CR_OP_cumsum,
     1,
     {{CR_F32, {2, 3}, {1, 2, 3, 4, 5, 6}}},
     {.axis = 1},
     {CR_F32, {2, 3}, {1, 3, 6, 4, 9, 15}}},
    {CR_OP_cumsum,
     1,
     {{CR_F32, {3, 2}, {1, 2, 3, 4, 5, NAN}}},
     {.axis = 0, .index = {1}},
     {CR_F32, {3, 2}, {9, NAN, 8, NAN, 5, NAN}}},
    {CR_OP_cumsum,
     1,
     {{CR_I32, {2, 2, 1}, {INT32_MAX, 1, -5, 7}}},
     {.axis = 1},
     {CR_I32, {2, 2, 1}, {INT32_MAX, INT32_MIN, -5, 2}}},
    {CR_OP_write,
     3,
     {{CR_F32, {3, 2}, {1, 2, 3, 4, 5, 6}}, {CR_F32, {2, 2}, {7, 8, 9, 10}}, {CR_I32, {0}, {1}}},
     {.axis = 0},
     {CR_F32, {3, 2}, {1, 2, 7, 8, 9, 10}}},
    {CR_OP_write, /* a negative offset: the first row is dropped */
     3,
     {{CR_I32, {2, 3}, {1, 2, 3, 4, 5, 6}}, {CR_I32, {2, 2}, {7, 8, 9, 10}}, {CR_I32, {1}, {-1}}},
     {.axis = 1},
     {CR_I32, {2, 3}, {8, 2, 3, 10, 5, 6}}},
    {CR_OP_write, /* the last would */
     3,
     {{CR_BOOL, {3}, {0, 0, 0}}, {CR_BOOL, {2}, {1, 1}}, {CR_I32, {0}, {2}}},
     {.axis = 0},
     {CR_BOOL, {3}, {0, 0, 1}}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* Adds an input for operand `place` of a case. */
static cr_id leaf(struct cr_graph *g, const struct tensor *t, int place)
{
    char name[2] = {(char)('a' + place), 0};
    struct cr_attr attr = {.dtype = t->dtype, .rank = rank_of(t), .name = name};
    memcpy(attr.shape, t->shape, sizeof t->shape);
    return cr_must(g, CR_OP_input, 0, NULL, &attr);
}

/* Returns the data of the case's operand, as int32_t or float. */
static void *payload(const struct tensor *t)
{
    static int32_t integers[3][MAX_VALUES];
    static float floats[3][MAX_VALUES];
    static int turn;
    turn = (turn + 1) % 3;
    for (int i = 0; i < MAX_VALUES; i++) {
        if (t->dtype == CR_I32)
            integers[turn][i] = (int32_t)t->values[i];
        else
            floats[turn][i] = (float)t->values[i];
    }
    return t->dtype == CR_I32 ? (void *)integers[turn] : (void *)floats[turn];
}

static void expect(const double *got, const double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (isnan(want[i]))
            ck_assert_msg(isnan(got[i]), "element %d is %g, not NaN", (int)i, got[i]);
        else if (isinf(want[i]))
            ck_assert_double_eq(got[i], want[i]);
        else
            ck_assert_double_eq_tol(got[i], want[i], 1e-15 * fmax(1, fabs(want[i])));
    }
}

START_TEST(an_op_does_what_its_row_says)
{
    const struct ref_case *c = &cases[_i];
    struct cr_graph *g = cr_graph_new("t");
    struct cr_attr attr = c->attr;
    const void *inputs[3];
    cr_id in[3];
    for (int i = 0; i < c->n; i++) {
        in[i] = leaf(g, &c->in[i], i);
        inputs[i] = payload(&c->in[i]);
    }
    if (c->op == CR_OP_literal)
        attr.value = cr_add_literal(
            g, &(struct cr_literal){c->out.dtype, cr_elements(rank_of(&c->out), c->out.shape),
                                    payload(&c->out)});
    cr_id id = cr_must(g, c->op, c->n, in, &attr);
    cr_add_output(g, "y", id);
    double y[MAX_VALUES], *outputs[] = {y};
    struct cr_error error;
    ck_assert_int_eq(cr_interpret(g, NULL, inputs, outputs, &error), 0);
    ck_assert_int_eq(g->nodes[id].dtype, c->out.dtype);
    ck_assert_int_eq(g->nodes[id].rank, rank_of(&c->out));
    ck_assert_mem_eq(g->nodes[id].shape, c->out.shape, (size_t)rank_of(&c->out) * sizeof(int64_t));
    expect(y, c->out.values, cr_elements(rank_of(&c->out), c->out.shape));
    cr_graph_free(g);
}
END_TEST

/* Every op has a case, except inputs, states and parameters, of which cases are made, and
 * exchanges, which only a pass makes. */
START_TEST(every_op_has_a_case)
{
    for (int op = 0; op < CR_OP_COUNT; op++) {
        bool found = op == CR_OP_input || op == CR_OP_state || op == CR_OP_param ||
                     cr_ops[op].kind == CR_KIND_EXCHANGE;
        for (int i = 0; i < N_CASES; i++)
            found |= (int)cases[i].op == op;
        ck_assert_msg(found, "no case for %s", cr_ops[op].name);
    }
}
END_TEST

static cr_id tensor_node(struct cr_graph *g, enum cr_op op, const char *name, int64_t rows,
                         int64_t columns)
{
    struct cr_attr attr = {.rank = 2, .shape = {rows, columns}, .name = name};
    return cr_must(g, op, 0, NULL, &attr);
}

static cr_id transpose(struct cr_graph *g, cr_id id)
{
    struct cr_attr attr = {.index = {1, 0}};
    return cr_must(g, CR_OP_permute, 1, &id, &attr);
}

/* A product of transposed views, transposed back, is the product itself: (x' w')' = w x. */
START_TEST(products_of_views)
{
    struct cr_graph *g = cr_graph_new("t");
    cr_id x = tensor_node(g, CR_OP_input, "x", 2, 3);
    cr_id w = tensor_node(g, CR_OP_param, "w", 2, 2);
    cr_id straight = cr_must(g, CR_OP_matmul, 2, (cr_id[]){w, x}, NULL);
    cr_id turned = cr_must(g, CR_OP_matmul, 2, (cr_id[]){transpose(g, x), transpose(g, w)}, NULL);
    struct cr_attr flat = {.rank = 1, .shape = {6}};
    cr_id back = transpose(g, turned);
    cr_add_output(g, "straight", straight);
    cr_add_output(g, "turned", back);
    cr_add_output(g, "flat", cr_must(g, CR_OP_reshape, 1, &back, &flat));
    cr_add_output(g, "w", w);
    const float xs[] = {1, 2, 3, 4, 5, 6}, ws[] = {1, 10, 100, 1000};
    double y[4][6], *outputs[] = {y[0], y[1], y[2], y[3]};
    struct cr_error error;
    ck_assert_int_eq(cr_interpret(g, (const float *[]){ws}, (const void *[]){xs}, outputs, &error),
                     0);
    const double want[] = {41, 52, 63, 4100, 5200, 6300};
    for (int i = 0; i < 3; i++)
        expect(y[i], want, 6);
    expect(y[3], (const double[]){1, 10, 100, 1000}, 4);
    cr_graph_free(g);
}
END_TEST

/* A product of a batch by one shared weight, wider than the four columns that the interpreter
 * computes at once. */
START_TEST(a_weight_shared_by_batches)
{
    struct cr_graph *g = cr_graph_new("t");
    cr_id x = tensor_node(g, CR_OP_input, "x", 3, 6);
    cr_id w = transpose(g, tensor_node(g, CR_OP_param, "w", 2, 6));
    struct cr_attr to_batches = {.rank = 3, .shape = {3, 1, 6}};
    struct cr_attr repeat = {.rank = 3, .shape = {3, 6, 2}};
    cr_id rows = cr_must(g, CR_OP_reshape, 1, &x, &to_batches);
    cr_id weights = cr_must(g, CR_OP_expand, 1, &w, &repeat);
    cr_add_output(g, "y", cr_must(g, CR_OP_matmul, 2, (cr_id[]){rows, weights}, NULL));
    float xs[18], ws[12];
    double y[6], want[6], *outputs[] = {y};
    for (int i = 0; i < 18; i++)
        xs[i] = (float)(i * i % 7 - 3);
    for (int i = 0; i < 12; i++)
        ws[i] = (float)(i % 5 - 2);
    for (int i = 0; i < 6; i++) {
        want[i] = 0;
        for (int k = 0; k < 6; k++)
            want[i] += xs[i / 2 * 6 + k] * ws[i % 2 * 6 + k];
    }
    struct cr_error error;
    ck_assert_int_eq(cr_interpret(g, (const float *[]){ws}, (const void *[]){xs}, outputs, &error),
                     0);
    expect(y, want, 6);
    cr_graph_free(g);
}
END_TEST

/* A tensor that is too large is refused before memory is allocated, with the script's line. */
START_TEST(too_large_is_an_error)
{
    struct cr_graph *g = cr_graph_new("t");
    struct cr_attr attr = {.dtype = CR_F32, .rank = 1, .shape = {CR_MAX_ELEMENTS}};
    g->here = (struct cr_where){cr_intern(g, "huge.lua"), cr_intern(g, ""), .line = 7};
    cr_id x = cr_must(g, CR_OP_const, 0, NULL, &attr);
    cr_add_output(g, "y", cr_must(g, CR_OP_add, 2, (cr_id[]){x, x}, NULL));
    double y, *outputs[] = {&y};
    struct cr_error error;
    ck_assert_int_eq(cr_interpret(g, NULL, NULL, outputs, &error), -1);
    ck_assert_ptr_eq(strstr(error.text, "huge.lua:7: add: "), error.text);
    ck_assert_ptr_nonnull(strstr(error.text, "8.0 TiB"));
    cr_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interpreter");
    TCase *ops = tcase_create("ops");
    tcase_add_loop_test(ops, an_op_does_what_its_row_says, 0, N_CASES);
    tcase_add_test(ops, every_op_has_a_case);
    tcase_add_test(ops, products_of_views);
    tcase_add_test(ops, a_weight_shared_by_batches);
    tcase_add_test(ops, too_large_is_an_error);
    suite_add_tcase(suite, ops);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
