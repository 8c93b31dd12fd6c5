/*
 * test_gradient.c - the gradient of every op of the table, compared with finite differences by the
 * interpreter, which computes in double precision; and cases where differences do not apply: ties,
 * infinities, and nodes that the loss does not depend on.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/exec.h"
#include "compiler/exec/id_limits.h"
#include "compiler/ir/eval.h"
#include "compiler/ir/gradient.h"
#include "compiler/ir/verify.h"

enum { MAX_VALUES = 64, MAX_INPUTS = 4 };

/* A graph under test, with the data of its inputs: floats, or integers for i32. */
struct trial {
    struct cr_graph *g;
    cr_id in[MAX_INPUTS];
    float numbers[MAX_INPUTS][MAX_VALUES];
    int32_t integers[MAX_INPUTS][MAX_VALUES];
    int n;
};

static int64_t size_of(const struct trial *t, cr_id id)
{
    return cr_elements(t->g->nodes[id].rank, t->g->nodes[id].shape);
}

/* Adds an input; a 0 ends its shape. */
static cr_id add_input(struct trial *t, enum cr_dtype dtype, const int64_t *shape,
                       const double *values)
{
    char name[2] = {(char)('a' + t->n), 0};
    struct cr_attr attr = {.dtype = dtype, .name = name};
    for (; attr.rank < CR_MAX_RANK && shape[attr.rank]; attr.rank++)
        attr.shape[attr.rank] = shape[attr.rank];
    cr_id id = t->in[t->n] = cr_must(t->g, CR_OP_input, 0, NULL, &attr);
    ck_assert_int_le(size_of(t, id), MAX_VALUES);
    for (int64_t i = 0; values && i < size_of(t, id); i++) {
        t->numbers[t->n][i] = (float)values[i];
        t->integers[t->n][i] = (int32_t)values[i];
    }
    t->n++;
    return id;
}

/* Evaluates the graph's outputs. */
static void run(const struct trial *t, double *const *outputs)
{
    const void *inputs[MAX_INPUTS];
    struct cr_error error;
    for (int i = 0; i < t->n; i++)
        inputs[i] = t->g->nodes[t->in[i]].dtype == CR_I32 ? (const void *)t->integers[i]
                                                          : (const void *)t->numbers[i];
    ck_assert_msg(cr_interpret(t->g, NULL, inputs, outputs, &error) == 0, "%s", error.text);
}

/* Adds the gradient of sum(y c) by `wanted`, where c is an input of the shape of y. */
static cr_id add_gradient(struct trial *t, cr_id y, cr_id wanted)
{
    cr_id gradient;
    struct cr_attr attr = cr_attr_of(&t->g->nodes[y]);
    double c[MAX_VALUES];
    for (int i = 0; i < MAX_VALUES; i++)
        c[i] = (i * 7 % 11 - 4) * 0.25 + 0.125;
    for (int i = attr.rank; i < CR_MAX_RANK; i++)
        attr.shape[i] = 0;
    struct cr_seed seed = {y, add_input(t, CR_F32, attr.shape, c)};
    cr_add_gradients(t->g, 1, &seed, 1, &wanted, &gradient);
    ck_assert(cr_same_shape(&t->g->nodes[gradient], &t->g->nodes[wanted]));
    struct cr_error error;
    ck_assert_msg(cr_verify(t->g, &error) == 0, "%s", error.text);
    return gradient;
}

static void expect(double got, double want, const char *what, int64_t i)
{
    ck_assert_msg(fabs(got - want) <= 1e-8 * (1 + fabs(want)),
                  "%s: gradient %d is %.12g, differences give %.12g", what, (int)i, got, want);
}

/* ---- elementwise ops: all rows of the table ---- */

enum { POINTS = 48 };

static const double step = 0x1p-10;

/* Returns operand i at point p: of either sign, no multiple of 0.5, all different. */
static double point(int i, int p)
{
    return (p % 2 ? 1 : -1) * (0.3203125 + 0.046875 * ((p / 2) * (2 * i + 3) % 29)) + i * 0x1p-7;
}

/* Returns the derivative by operand i, by differences with an error of step^4; NaN outside the op's
 * domain. */
static double derivative(enum cr_op op, const double *at, int i)
{
    static const double weight[] = {1, -8, 0, 8, -1};
    double sum = 0;
    for (int s = -2; s <= 2; s++) {
        double x[3] = {at[0], at[1], at[2]};
        x[i] += s * step;
        sum += weight[s + 2] * cr_evaluator_of(op, CR_F32)(op, x[0], x[1], x[2]);
    }
    return sum / (12 * step);
}

/* Returns an element type that the op takes for operand i: f32 if it takes f32. */
static enum cr_dtype operand_type(const struct cr_op_info *op, int i)
{
    bool is_bool = op->rule == CR_RULE_LOGIC || (op->rule == CR_RULE_SELECT && i == 0);
    return is_bool ? CR_BOOL : op->rule == CR_RULE_CONVERT ? CR_I32 : CR_F32;
}

static void check_operand(enum cr_op op, int i)
{
    struct trial t = {.g = cr_graph_new("t")};
    double at[POINTS][3] = {{0}}, gradient[POINTS], *outputs[] = {gradient};
    int tried = 0;
    for (int j = 0; j < cr_ops[op].arity; j++) {
        double values[POINTS];
        for (int p = 0; p < POINTS; p++) {
            bool is_bool = operand_type(&cr_ops[op], j) == CR_BOOL;
            values[p] = at[p][j] = is_bool ? p / 3 % 2 : point(j, p);
        }
        add_input(&t, operand_type(&cr_ops[op], j), (int64_t[]){POINTS, 0}, values);
    }
    cr_id y = cr_must(t.g, op, cr_ops[op].arity, t.in, NULL);
    cr_add_output(t.g, "g", add_gradient(&t, y, t.in[i]));
    run(&t, outputs);
    for (int p = 0; p < POINTS; p++) {
        double slope = derivative(op, at[p], i);
        if (!isfinite(slope))
            continue;
        expect(gradient[p], slope * (double)t.numbers[t.n - 1][p], cr_ops[op].name, p);
        tried++;
    }
    ck_assert_msg(tried >= POINTS / 4, "%s: %d points to compare", cr_ops[op].name, tried);
    cr_graph_free(t.g);
}

START_TEST(an_elementwise_gradient_is_the_derivative)
{
    const struct cr_op_info *op = &cr_ops[_i];
    bool gives_f32 = op->rule != CR_RULE_COMPARE && op->rule != CR_RULE_LOGIC &&
                     op->rule != CR_RULE_TRUNCATE;
    if (op->kind != CR_KIND_ELEMENTWISE || !gives_f32)
        return;
    for (int i = 0; i < op->arity; i++)
        if (operand_type(op, i) == CR_F32)
            check_operand((enum cr_op)_i, i);
}
END_TEST

/* The gradient of a comparison is 0. */
START_TEST(nothing_flows_through_a_comparison)
{
    if (cr_ops[_i].kind != CR_KIND_ELEMENTWISE || cr_ops[_i].rule != CR_RULE_COMPARE)
        return;
    struct trial t = {.g = cr_graph_new("t")};
    const double a[] = {1, 2, 3}, b[] = {2, 2, 2};
    double gradient[3] = {7, 7, 7}, *outputs[] = {gradient};
    add_input(&t, CR_F32, (int64_t[]){3, 0}, a);
    add_input(&t, CR_F32, (int64_t[]){3, 0}, b);
    cr_id y = cr_must(t.g, (enum cr_op)_i, 2, t.in, NULL);
    y = cr_must(t.g, CR_OP_float, 1, &y, NULL);
    cr_add_output(t.g, "g", add_gradient(&t, y, t.in[0]));
    run(&t, outputs);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(gradient[i], 0);
    cr_graph_free(t.g);
}
END_TEST

/* ---- the other ops ---- */

/* An op with the shapes of its operands, each ended by a 0; `index` is the last operand of gather,
 * scatter_add and write, an i32. */
struct shape_case {
    enum cr_op op;
    int n;
    int64_t shapes[3][5];
    struct cr_attr attr;
    double index[6];
};

static const struct shape_case cases[] = {
    {CR_OP_matmul, 2, {{2, 3}, {3, 4}}, {0}, {0}},
    {CR_OP_matmul, 2, {{2, 2, 1, 3}, {2, 2, 3, 2}}, {0}, {0}},
    {CR_OP_reshape, 1, {{3, 4}}, {.rank = 3, .shape = {2, 3, 2}}, {0}},
    {CR_OP_permute, 1, {{2, 3, 4}}, {.index = {2, 0, 1}}, {0}},
    {CR_OP_expand, 1, {{2, 1, 3}}, {.rank = 4, .shape = {2, 2, 3, 3}}, {0}},
    {CR_OP_expand, 1, {{1, 2, 1}}, {.rank = 3, .shape = {3, 2, 2}}, {0}},
    {CR_OP_expand, 1, {{0}}, {.rank = 2, .shape = {3, 2}}, {0}},
    {CR_OP_limit, 1, {{2, 3}}, {0}, {0}},
    {CR_OP_slice, 1, {{3, 4}}, {.shape = {1, 2}, .index = {1, 2}}, {0}},
    {CR_OP_slice, 1, {{2, 5}}, {.shape = {2, 3}, .index = {0, 1}}, {0}},
    {CR_OP_concat, 3, {{2, 1}, {2, 3}, {2, 2}}, {.axis = 1}, {0}},
    {CR_OP_gather, 2, {{3, 2}, {2, 2}}, {0}, {2, 0, 2, 2}},
    {CR_OP_gather, 2, {{4}, {3}}, {0}, {1, 3, 1}},
    {CR_OP_take, 2, {{3, 4}, {3, 2}}, {.axis = 1}, {2, 0, 2, 2, 1, 3}},
    {CR_OP_take, 2, {{3, 1, 2}, {2, 1, 2}}, {.axis = 0}, {2, 0, 2, 1}},
    {CR_OP_scatter_add, 2, {{2, 3, 2}, {2, 3}}, {.shape = {4}}, {1, 3, 1, 9, -1, 0}},
    {CR_OP_scatter_add, 2, {{3}, {3}}, {.shape = {2}}, {0, 0, 1}},
    {CR_OP_cumsum, 1, {{3, 4}}, {.axis = 1}, {0}},
    {CR_OP_cumsum, 1, {{2, 3, 2}}, {.axis = 1, .index = {1}}, {0}},
    {CR_OP_cumsum, 1, {{5}}, {.axis = 0}, {0}},
    {CR_OP_write, 3, {{4, 2}, {2, 2}, {0}}, {.axis = 0}, {1}},
    {CR_OP_write, 3, {{2, 4, 2}, {2, 3, 2}, {0}}, {.axis = 1}, {2}},
    {CR_OP_write, 3, {{2, 4}, {2, 4}, {1}}, {.axis = 1}, {-3}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static bool is_index(const struct shape_case *c, int i)
{
    enum cr_kind kind = cr_ops[c->op].kind;
    return ((kind == CR_KIND_GATHER || kind == CR_KIND_TAKE || kind == CR_KIND_SCATTER) &&
            i == 1) ||
           (kind == CR_KIND_WRITE && i == 2);
}

/* Returns the difference quotient of sum(y c) for one element of an input; the op is linear or
 * smooth there. */
static double difference(struct trial *t, int i, int64_t element, int64_t n)
{
    double y[MAX_VALUES], slope = 0, unused[MAX_VALUES], *outputs[] = {y, unused};
    float *x = &t->numbers[i][element], before = *x;
    for (int side = -1; side <= 1; side += 2) {
        *x = before + (float)side * 0x1p-6f;
        run(t, outputs);
        for (int64_t j = 0; j < n; j++)
            slope += side * y[j] * (double)t->numbers[t->n - 1][j];
    }
    *x = before;
    return slope / (2 * 0x1p-6);
}

static void check_shapes(const struct shape_case *c, int wanted)
{
    struct trial t = {.g = cr_graph_new("t")};
    double y[MAX_VALUES], gradient[MAX_VALUES], *outputs[] = {y, gradient};
    for (int i = 0; i < c->n; i++) {
        double values[MAX_VALUES];
        for (int p = 0; p < MAX_VALUES; p++)
            values[p] = (p * 37 + 11 * i) % 64 / 16.0 - 1.75;
        bool index = is_index(c, i);
        add_input(&t, index ? CR_I32 : CR_F32, c->shapes[i], index ? c->index : values);
    }
    cr_id id = cr_must(t.g, c->op, c->n, t.in, &c->attr);
    cr_add_output(t.g, "y", id);
    cr_add_output(t.g, "g", add_gradient(&t, id, t.in[wanted]));
    run(&t, outputs);
    double got[MAX_VALUES];
    memcpy(got, gradient, sizeof got);
    for (int64_t i = 0; i < size_of(&t, t.in[wanted]); i++)
        expect(got[i], difference(&t, wanted, i, size_of(&t, id)), cr_ops[c->op].name, i);
    cr_graph_free(t.g);
}

/* Tests the gradient of every reduction of the table, over each axis of some shapes. */
START_TEST(the_gradient_of_a_reduction_is_its_derivative)
{
    static const int64_t shapes[][5] = {{3, 4}, {2, 3, 4}, {2, 1}, {5}};
    if (cr_ops[_i].kind != CR_KIND_REDUCE)
        return;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct shape_case c = {.op = (enum cr_op)_i, .n = 1};
        memcpy(c.shapes[0], shapes[s], sizeof shapes[s]);
        for (; shapes[s][c.attr.axis]; c.attr.axis++)
            check_shapes(&c, 0);
    }
}
END_TEST

START_TEST(the_gradient_of_an_op_is_its_derivative)
{
    for (int i = 0; i < cases[_i].n; i++)
        if (!is_index(&cases[_i], i))
            check_shapes(&cases[_i], i);
}
END_TEST

/* scatter_add drops rows whose index is out of range; its gradient, which gathers by the same
 * index, gives them 0. */
START_TEST(what_a_scatter_leaves_out_has_no_gradient)
{
    struct trial t = {.g = cr_graph_new("t")};
    double y[2], gradient[3] = {7, 7, 7}, *outputs[] = {gradient, y};
    add_input(&t, CR_F32, (int64_t[]){3, 0}, (double[]){1, 2, 3});
    add_input(&t, CR_I32, (int64_t[]){3, 0}, (double[]){0, 5, -1});
    cr_id sums = cr_must(t.g, CR_OP_scatter_add, 2, t.in, &(struct cr_attr){.shape = {2}});
    cr_add_output(t.g, "g", add_gradient(&t, sums, t.in[0]));
    cr_add_output(t.g, "y", sums);
    int64_t *limits = cr_find_id_limits(t.g);
    ck_assert_int_eq(limits[1], 0);
    free(limits);
    run(&t, outputs);
    ck_assert_double_eq(y[0], 1);
    ck_assert_double_eq(gradient[0], t.numbers[t.n - 1][0]);
    ck_assert_double_eq(gradient[1], 0);
    ck_assert_double_eq(gradient[2], 0);
    cr_graph_free(t.g);
}
END_TEST

START_TEST(every_op_has_a_case)
{
    for (int op = 0; op < CR_OP_COUNT; op++) {
        enum cr_kind kind = cr_ops[op].kind;
        bool found = kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_REDUCE ||
                     kind == CR_KIND_LEAF || op == CR_OP_detach || op == CR_OP_random ||
                     kind == CR_KIND_EXCHANGE;
        for (int i = 0; i < N_CASES; i++)
            found |= (int)cases[i].op == op;
        ck_assert_msg(found, "no case for %s", cr_ops[op].name);
    }
}
END_TEST

/* ---- conventions ---- */

/* Computes the gradients of make(a, b) by its two inputs of three elements, with cotangents of
 * 1. */
static void gradients_of(cr_id (*make)(struct cr_graph *g, cr_id a, cr_id b), const double *a,
                         const double *b, double *by_a, double *by_b)
{
    struct trial t = {.g = cr_graph_new("t")};
    struct cr_attr one = {.dtype = CR_F32, .value = 1};
    cr_id gradients[2];
    add_input(&t, CR_F32, (int64_t[]){3, 0}, a);
    add_input(&t, CR_F32, (int64_t[]){3, 0}, b);
    cr_id y = make(t.g, t.in[0], t.in[1]);
    one.rank = t.g->nodes[y].rank;
    memcpy(one.shape, t.g->nodes[y].shape, sizeof one.shape);
    struct cr_seed seed = {y, cr_must(t.g, CR_OP_const, 0, NULL, &one)};
    cr_add_gradients(t.g, 1, &seed, 2, t.in, gradients);
    struct cr_error error;
    ck_assert_msg(cr_verify(t.g, &error) == 0, "%s", error.text);
    cr_add_output(t.g, "a", gradients[0]);
    cr_add_output(t.g, "b", gradients[1]);
    run(&t, (double *[]){by_a, by_b});
    cr_graph_free(t.g);
}

static void expect3(const double *got, double x, double y, double z)
{
    ck_assert_double_eq(got[0], x);
    ck_assert_double_eq(got[1], y);
    ck_assert_double_eq(got[2], z);
}

static cr_id make_maximum(struct cr_graph *g, cr_id a, cr_id b)
{
    return cr_must(g, CR_OP_maximum, 2, (cr_id[]){a, b}, NULL);
}

static cr_id make_minimum(struct cr_graph *g, cr_id a, cr_id b)
{
    return cr_must(g, CR_OP_minimum, 2, (cr_id[]){a, b}, NULL);
}

/* The maximum of a b. */
static cr_id make_max(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_id product = cr_must(g, CR_OP_mul, 2, (cr_id[]){a, b}, NULL);
    return cr_must(g, CR_OP_max, 1, &product, &(struct cr_attr){.axis = 0});
}

START_TEST(ties_share_as_in_pytorch)
{
    double a[3], b[3];
    gradients_of(make_maximum, (double[]){1, 2, 3}, (double[]){2, 2, 2}, a, b);
    expect3(a, 0, 0.5, 1);
    expect3(b, 1, 0.5, 0);
    gradients_of(make_minimum, (double[]){1, 2, 3}, (double[]){2, 2, 2}, a, b);
    expect3(a, 1, 0.5, 0);
    expect3(b, 0, 0.5, 1);
    gradients_of(make_max, (double[]){5, 1, 5}, (double[]){1, 1, 1}, a, b);
    expect3(a, 0.5, 0, 0.5);
    expect3(b, 2.5, 0, 2.5);
}
END_TEST

/* Makes sum(exp(where(a < b, a, -inf))), which hides elements as attention does. */
static cr_id make_masked(struct cr_graph *g, cr_id a, cr_id b)
{
    struct cr_attr attr = {.dtype = CR_F32, .rank = 1, .shape = {3}, .value = -(double)INFINITY};
    cr_id hidden = cr_must(g, CR_OP_const, 0, NULL, &attr);
    cr_id seen = cr_must(g, CR_OP_lt, 2, (cr_id[]){a, b}, NULL);
    cr_id masked = cr_must(g, CR_OP_where, 3, (cr_id[]){seen, a, hidden}, NULL);
    cr_id e = cr_must(g, CR_OP_exp, 1, &masked, NULL);
    return cr_must(g, CR_OP_sum, 1, &e, &(struct cr_attr){.axis = 0});
}

START_TEST(masks_give_zeros)
{
    double a[3], b[3];
    gradients_of(make_masked, (double[]){0, 9, 0}, (double[]){1, 1, 1}, a, b);
    expect3(a, 1, 0, 1);
    expect3(b, 0, 0, 0);
}
END_TEST

/* Makes detach(a) a b: the first a counts as a constant. */
static cr_id make_detached(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_id still = cr_must(g, CR_OP_detach, 1, &a, NULL);
    cr_id product = cr_must(g, CR_OP_mul, 2, (cr_id[]){still, a}, NULL);
    return cr_must(g, CR_OP_mul, 2, (cr_id[]){product, b}, NULL);
}

static cr_id make_only_a(struct cr_graph *g, cr_id a, cr_id b)
{
    (void)b;
    return cr_must(g, CR_OP_mul, 2, (cr_id[]){a, a}, NULL);
}

START_TEST(what_is_detached_or_elsewhere_gets_nothing)
{
    double a[3], b[3];
    gradients_of(make_detached, (double[]){2, 3, 4}, (double[]){1, 1, 10}, a, b);
    expect3(a, 2, 3, 40);
    expect3(b, 4, 9, 16);
    gradients_of(make_only_a, (double[]){2, 3, 4}, (double[]){1, 1, 1}, a, b);
    expect3(a, 4, 6, 8);
    expect3(b, 0, 0, 0);
}
END_TEST

static cr_id slice_of(struct cr_graph *g, cr_id a, int64_t start, int64_t size)
{
    return cr_must(g, CR_OP_slice, 1, &a,
                   &(struct cr_attr){.rank = 1, .shape = {size}, .index = {start}});
}

/* Makes a concat of -a[2], a[0] and parts of b, out of order. */
static cr_id make_parts(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_id last = slice_of(g, a, 2, 1);
    cr_id in[] = {cr_must(g, CR_OP_neg, 1, &last, NULL), slice_of(g, b, 1, 2), slice_of(g, a, 0, 1),
                  slice_of(g, b, 0, 1)};
    return cr_must(g, CR_OP_concat, 4, in, &(struct cr_attr){.axis = 0});
}

/* Makes a concat of a[0..1], a[1..2] and b: slices that overlap. */
static cr_id make_overlap(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_id in[] = {slice_of(g, a, 0, 2), slice_of(g, a, 1, 2), slice_of(g, b, 0, 3)};
    return cr_must(g, CR_OP_concat, 3, in, &(struct cr_attr){.axis = 0});
}

START_TEST(slices_come_together_again)
{
    double a[3], b[3];
    gradients_of(make_parts, (double[]){1, 2, 3}, (double[]){1, 2, 3}, a, b);
    expect3(a, 1, 0, -1);
    expect3(b, 1, 1, 1);
    gradients_of(make_overlap, (double[]){1, 2, 3}, (double[]){1, 2, 3}, a, b);
    expect3(a, 1, 2, 1);
    expect3(b, 1, 1, 1);
}
END_TEST

/* If slices cover a tensor, its gradient is a concat, without zeros and sums. */
START_TEST(parts_of_a_whole_are_joined)
{
    struct trial t = {.g = cr_graph_new("t")};
    double values[3] = {0};
    cr_id a = add_input(&t, CR_F32, (int64_t[]){3, 0}, values);
    cr_id in[] = {slice_of(t.g, a, 1, 2), slice_of(t.g, a, 0, 1)};
    cr_id y = cr_must(t.g, CR_OP_concat, 2, in, &(struct cr_attr){.axis = 0});
    int before = t.g->n_nodes;
    cr_id g = add_gradient(&t, y, a);
    ck_assert_int_eq(t.g->nodes[g].op, CR_OP_concat);
    for (cr_id id = before; id < t.g->n_nodes; id++)
        ck_assert(t.g->nodes[id].op != CR_OP_add && t.g->nodes[id].op != CR_OP_const);
    cr_graph_free(t.g);
}
END_TEST

/* The gradient of a weight that the whole batch shares is one product, not a sum over the batch. */
START_TEST(a_shared_weight_needs_no_gradient_for_each_batch)
{
    struct trial t = {.g = cr_graph_new("t")};
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, w[] = {1, 0, 0, 1}, gradient[4];
    cr_id a = add_input(&t, CR_F32, (int64_t[]){4, 1, 2, 0}, x);
    cr_id b = add_input(&t, CR_F32, (int64_t[]){2, 2, 0}, w);
    struct cr_attr wide = {.rank = 3, .shape = {4, 2, 2}};
    cr_id repeated = cr_must(t.g, CR_OP_expand, 1, &b, &wide);
    cr_id y = cr_must(t.g, CR_OP_matmul, 2, (cr_id[]){a, repeated}, NULL);
    int before = t.g->n_nodes;
    cr_id g = add_gradient(&t, y, b);
    int64_t largest = 0;
    for (cr_id id = before; id < t.g->n_nodes; id++)
        if (t.g->nodes[id].op == CR_OP_matmul && size_of(&t, id) > largest)
            largest = size_of(&t, id);
    ck_assert_int_eq(largest, 4);
    cr_add_output(t.g, "g", g);
    run(&t, (double *[]){gradient});
    for (int k = 0; k < 2; k++)
        for (int n = 0; n < 2; n++) {
            double want = 0;
            for (int i = 0; i < 4; i++)
                want += x[2 * i + k] * (double)t.numbers[2][2 * i + n];
            ck_assert_double_eq_tol(gradient[2 * k + n], want, 1e-12);
        }
    cr_graph_free(t.g);
}
END_TEST

/* Gradients are ordinary nodes, so they have gradients: the second derivative of tanh. */
START_TEST(a_gradient_has_a_gradient)
{
    struct trial t = {.g = cr_graph_new("t")};
    const double x[] = {-1, 0.25, 2};
    double second[3];
    cr_id a = add_input(&t, CR_F32, (int64_t[]){3, 0}, x);
    cr_id once = add_gradient(&t, cr_must(t.g, CR_OP_tanh, 1, &a, NULL), a);
    cr_add_output(t.g, "second", add_gradient(&t, once, a));
    run(&t, (double *[]){second});
    for (int i = 0; i < 3; i++) {
        double y = tanh(x[i]), c = (double)t.numbers[1][i] * (double)t.numbers[2][i];
        expect(second[i], c * -2 * y * (1 - y * y), "tanh twice", i);
    }
    cr_graph_free(t.g);
}
END_TEST

/* In a dump, the nodes of the backward pass have the line of the node whose gradient they compute. */
START_TEST(a_backward_node_has_its_origin)
{
    struct trial t = {.g = cr_graph_new("t")};
    const double x[] = {1, 2, 3};
    cr_id a = add_input(&t, CR_F32, (int64_t[]){3, 0}, x);
    t.g->here = (struct cr_where){cr_intern(t.g, "m.lua"), cr_intern(t.g, "mlp"), .line = 5};
    cr_id y = cr_must(t.g, CR_OP_tanh, 1, &a, NULL);
    t.g->here = (struct cr_where){cr_intern(t.g, "m.lua"), cr_intern(t.g, ""), .line = 9};
    cr_id g = add_gradient(&t, y, a);
    ck_assert_int_eq(t.g->nodes[g].where.line, 5);
    ck_assert_str_eq(t.g->nodes[g].where.scope, "mlp");
    ck_assert(t.g->nodes[g].where.backward && !t.g->nodes[y].where.backward);
    ck_assert_int_eq(t.g->here.line, 9);
    cr_graph_free(t.g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient");
    TCase *ops = tcase_create("ops");
    tcase_add_loop_test(ops, an_elementwise_gradient_is_the_derivative, 0, CR_OP_COUNT);
    tcase_add_loop_test(ops, the_gradient_of_a_reduction_is_its_derivative, 0, CR_OP_COUNT);
    tcase_add_loop_test(ops, nothing_flows_through_a_comparison, 0, CR_OP_COUNT);
    tcase_add_loop_test(ops, the_gradient_of_an_op_is_its_derivative, 0, N_CASES);
    tcase_add_test(ops, what_a_scatter_leaves_out_has_no_gradient);
    tcase_add_test(ops, every_op_has_a_case);
    tcase_add_test(ops, ties_share_as_in_pytorch);
    tcase_add_test(ops, masks_give_zeros);
    tcase_add_test(ops, what_is_detached_or_elsewhere_gets_nothing);
    tcase_add_test(ops, slices_come_together_again);
    tcase_add_test(ops, parts_of_a_whole_are_joined);
    tcase_add_test(ops, a_shared_weight_needs_no_gradient_for_each_batch);
    tcase_add_test(ops, a_gradient_has_a_gradient);
    tcase_add_test(ops, a_backward_node_has_its_origin);
    suite_add_tcase(suite, ops);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
