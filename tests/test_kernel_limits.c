/*
 * test_kernel_limits.c - the limits of a kernel: for each, a graph that exceeds it, and the node
 * that has to be stored therefore; after fusion no kernel of a model exceeds one.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/lower.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/passes.h"

/* ---- small graphs ---- */

static cr_id leaf(struct cr_graph *g, enum cr_op op, const char *name, int64_t rows, int64_t cols)
{
    struct cr_attr attr = {.rank = 2, .shape = {rows, cols}, .name = name};
    return cr_must(g, op, 0, NULL, &attr);
}

static cr_id unary(struct cr_graph *g, enum cr_op op, cr_id in)
{
    return cr_must(g, op, 1, &in, NULL);
}

static cr_id binary(struct cr_graph *g, enum cr_op op, cr_id a, cr_id b)
{
    return cr_must(g, op, 2, (cr_id[]){a, b}, NULL);
}

static cr_id sum_rows(struct cr_graph *g, cr_id in)
{
    return cr_must(g, CR_OP_sum, 1, &in, &(struct cr_attr){.axis = 1});
}

static cr_id expand_to(struct cr_graph *g, cr_id in, int64_t rows, int64_t cols)
{
    struct cr_attr attr = {.rank = 2, .shape = {rows, cols}};
    return cr_must(g, CR_OP_expand, 1, &in, &attr);
}

/* x W1 W2 */
static cr_id two_products(struct cr_graph *g)
{
    cr_id first =
        binary(g, CR_OP_matmul, leaf(g, CR_OP_input, "x", 4, 8), leaf(g, CR_OP_param, "w1", 8, 6));
    return binary(g, CR_OP_matmul, first, leaf(g, CR_OP_param, "w2", 6, 5));
}

/* Makes a graph that reads a product both as it is and transposed. */
static cr_id product_in_two_places(struct cr_graph *g)
{
    cr_id product =
        binary(g, CR_OP_matmul, leaf(g, CR_OP_input, "x", 4, 8), leaf(g, CR_OP_param, "w", 8, 4));
    struct cr_attr axes = {.index = {1, 0}};
    return binary(g, CR_OP_add, product, cr_must(g, CR_OP_permute, 1, &product, &axes));
}

static cr_id sum_of_many(struct cr_graph *g)
{
    cr_id sum = leaf(g, CR_OP_input, "x", 4, 8);
    for (int i = 0; i < 2 * CR_MAX_REFS; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        sum = binary(g, CR_OP_add, sum, leaf(g, CR_OP_input, cr_intern(g, name), 4, 8));
    }
    return sum;
}

static cr_id long_chain(struct cr_graph *g)
{
    cr_id id = leaf(g, CR_OP_input, "x", 4, 8);
    for (int i = 0; i < 2 * CR_MAX_VALUES; i++)
        id = unary(g, i % 2 ? CR_OP_tanh : CR_OP_neg, id);
    return id;
}

/* Makes sums over rows of 8 numbers, broadcast to 6 columns and summed again. */
static cr_id two_widths(struct cr_graph *g)
{
    cr_id sum = sum_rows(g, leaf(g, CR_OP_input, "x", 4, 8));
    return sum_rows(g, unary(g, CR_OP_tanh, expand_to(g, sum, 4, 6)));
}

static cr_id elementwise(struct cr_graph *g)
{
    return unary(g, CR_OP_tanh, leaf(g, CR_OP_input, "x", 4, 8));
}

static cr_id norm_and_product(struct cr_graph *g)
{
    cr_id x = leaf(g, CR_OP_input, "x", 4, 8), w = leaf(g, CR_OP_param, "w", 8, 5);
    cr_id row = expand_to(g, sum_rows(g, x), 4, 8);
    return unary(g, CR_OP_tanh, binary(g, CR_OP_matmul, binary(g, CR_OP_sub, x, row), w));
}

/* A graph; the op that has to be stored for it to fit kernels; the least and the greatest number of
 * kernels; the kind of the last kernel. */
static const struct {
    const char *name;
    cr_id (*make)(struct cr_graph *g);
    int obstacle; /* or -1: none */
    int least, most;
    enum cr_kernel_kind kind;
} limits[] = {
    {"elementwise", elementwise, -1, 1, 1, CR_KERNEL_TILE},
    {"prologue and epilogue", norm_and_product, -1, 1, 1, CR_KERNEL_GEMM},
    {"two products", two_products, CR_OP_matmul, 2, 2, CR_KERNEL_GEMM},
    {"a product in two places", product_in_two_places, CR_OP_matmul, 2, 2, CR_KERNEL_TILE},
    {"operands", sum_of_many, CR_OP_add, 3, 4, CR_KERNEL_TILE},
    {"values", long_chain, CR_OP_neg, 3, 4, CR_KERNEL_TILE},
    {"two widths", two_widths, CR_OP_sum, 2, 2, CR_KERNEL_TILE},
};

enum { N_LIMITS = sizeof limits / sizeof *limits };

static struct cr_module *make_module(int i, cr_id *root)
{
    struct cr_graph *g = cr_graph_new("small");
    *root = limits[i].make(g);
    cr_add_output(g, "y", *root);
    struct cr_module *m = cr_module_new(g);
    m->materialised = cr_calloc((size_t)g->n_nodes, sizeof *m->materialised);
    m->materialised[*root] = true;
    return m;
}

/* cr_lower returns the obstacle of a graph, returns the same one when repeated, and does not change
 * the module. */
START_TEST(an_obstacle_is_named)
{
    cr_id root;
    struct cr_module *m = make_module(_i, &root);
    struct cr_lowering *lowering = cr_lowering_new(m);
    struct cr_goal goal = {.root = root, .buffer = root};
    struct cr_kernel kernel;
    cr_id obstacle = cr_lower(lowering, &goal, &kernel);
    cr_kernel_free(&kernel);
    ck_assert_int_eq(cr_lower(lowering, &goal, &kernel), obstacle);
    cr_kernel_free(&kernel);
    ck_assert_int_eq(m->n_kernels, 0);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        ck_assert_int_eq(m->materialised[id], id == root);
    if (limits[_i].obstacle < 0) {
        ck_assert_int_eq(obstacle, CR_NONE);
    } else {
        ck_assert_msg(obstacle >= 0 && (int)m->graph->nodes[obstacle].op == limits[_i].obstacle,
                      "%s: node %d is in the way", limits[_i].name, (int)obstacle);
        ck_assert_int_eq(kernel.n_refs + kernel.program.n, 0);
    }
    cr_lowering_free(lowering);
    cr_module_free(m);
}
END_TEST

/* Stores the obstacles of a node, and recursively their obstacles; returns the number of stored nodes. */
static int store_obstacles(struct cr_module *m, struct cr_lowering *lowering)
{
    int stored = 0;
    for (cr_id id = m->graph->n_nodes - 1; id >= 0; id--) {
        struct cr_goal goal = {.root = id, .buffer = id};
        cr_id obstacle = CR_NONE;
        struct cr_kernel kernel;
        while (m->materialised[id] &&
               (obstacle = cr_lower(lowering, &goal, &kernel)) != CR_NONE) {
            ck_assert_msg(obstacle < id && !m->materialised[obstacle], "node %d", (int)obstacle);
            m->materialised[obstacle] = true;
        }
        stored += m->materialised[id];
        if (m->materialised[id])
            cr_kernel_free(&kernel);
    }
    return stored;
}

static int length_of(const struct cr_kernel *k)
{
    int n = 0;
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        n += tiles->n;
    return n;
}

/* After obstacles are stored, every kernel can be lowered, and none exceeds a limit. */
START_TEST(kernels_without_obstacles_are_lowered)
{
    cr_id root;
    struct cr_module *m = make_module(_i, &root);
    struct cr_lowering *lowering = cr_lowering_new(m);
    int n = store_obstacles(m, lowering);
    ck_assert_msg(n >= limits[_i].least && n <= limits[_i].most, "%s: %d kernels", limits[_i].name,
                  n);
    for (cr_id id = 0; id < m->graph->n_nodes; id++) {
        struct cr_kernel kernel;
        struct cr_goal goal = {.root = id, .buffer = id};
        if (!m->materialised[id])
            continue;
        ck_assert_int_eq(cr_lower(lowering, &goal, &kernel), CR_NONE);
        ck_assert_int_le(kernel.n_refs, CR_MAX_REFS);
        ck_assert_int_le(length_of(&kernel), CR_MAX_PROGRAMS * CR_MAX_VALUES);
        ck_assert(id != root || kernel.kind == limits[_i].kind);
        cr_kernel_free(&kernel);
    }
    cr_lowering_free(lowering);
    cr_module_free(m);
}
END_TEST

/* A kernel that stores one number for each row counts the work on all columns. */
START_TEST(sums_of_rows_count_all_columns)
{
    struct cr_graph *g = cr_graph_new("sums");
    cr_id sums = sum_rows(g, unary(g, CR_OP_tanh, leaf(g, CR_OP_input, "x", 4, 8)));
    cr_add_output(g, "y", sums);
    struct cr_module *m = cr_module_new(g);
    m->materialised = cr_calloc((size_t)g->n_nodes, sizeof *m->materialised);
    m->materialised[sums] = true;
    struct cr_lowering *lowering = cr_lowering_new(m);
    struct cr_kernel kernel;
    ck_assert_int_eq(cr_lower(lowering, &(struct cr_goal){.root = sums, .buffer = sums}, &kernel),
                     CR_NONE);
    ck_assert_int_eq(kernel.program.n, 3); /* a load, tanh, the sum */
    ck_assert_double_eq(kernel.flops, 3 * 4 * 8);
    ck_assert_double_eq(kernel.bytes_written, 4 * 4);
    cr_kernel_free(&kernel);
    cr_lowering_free(lowering);
    cr_module_free(m);
}
END_TEST

/* ---- models ---- */

static const char *const models[] = {
    "graphs/gpt2_block.lua",    "graphs/heads_block.lua",    "graphs/stream_block.lua",
    "graphs/train_sort.lua",    "graphs/train_add.lua",      "tests/scripts/stack_training.lua",
    "tests/golden/scatter.lua", "tests/golden/cumsum.lua", "tests/golden/grad_qkv.lua", "tests/scripts/cache.lua",
};

enum { N_MODELS = sizeof models / sizeof *models };

/* Runs the passes up to `fuse`, for one rank, or for the first of several. */
static struct cr_module *fused_on(const char *path, int ranks)
{
    struct cr_script script;
    struct cr_error error = {""};
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error) == 0,
                  "%s", error.text);
    struct cr_module *m = cr_module_new(script.graph);
    script.graph = NULL;
    cr_script_free(&script);
    const struct cr_pass_options options = {.stop_after = "fuse", .settings.ranks = ranks};
    ck_assert_msg(cr_run_passes(m, &options, &error) == 0, "%s", error.text);
    return m;
}

static struct cr_module *fused(const char *path)
{
    return fused_on(path, 1);
}

/* Returns the offset of a kernel's root in its buffer, along the axis of the concat. */
static int64_t start_of(const struct cr_module *m, int kernel)
{
    const struct cr_kernel *k = &m->kernels[kernel];
    int64_t start = 0;
    bool concat = m->graph->nodes[k->buffer].op == CR_OP_concat; /* the parts of a write start at 0 */
    for (int i = kernel - 1; concat && i >= 0 && m->kernels[i].buffer == k->buffer; i--)
        start += m->graph->nodes[m->kernels[i].root].shape[m->graph->nodes[k->buffer].axis];
    return start;
}

/* After fuse no kernel has an obstacle, and lowering a kernel again gives the same kernel. */
START_TEST(fuse_leaves_no_obstacle)
{
    struct cr_module *m = fused(models[_i]);
    struct cr_lowering *lowering = cr_lowering_new(m);
    ck_assert_int_gt(m->n_kernels, 0);
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        struct cr_goal goal = {.root = k->root, .buffer = k->buffer, .start = start_of(m, i)};
        struct cr_kernel again;
        ck_assert_int_eq(cr_lower(lowering, &goal, &again), CR_NONE);
        ck_assert_int_eq(again.kind, k->kind);
        ck_assert_int_eq(again.n_refs, k->n_refs);
        ck_assert(memcmp(again.refs, k->refs, (size_t)k->n_refs * sizeof *k->refs) == 0);
        ck_assert(memcmp(again.results, k->results, sizeof k->results) == 0);
        ck_assert_int_eq(length_of(&again), length_of(k));
        cr_kernel_free(&again);
    }
    cr_lowering_free(lowering);
    cr_module_free(m);
}
END_TEST

/* ---- the table of kinds ---- */

/* Each kind is reached by some model, and its kernels have the programs that its row says. */
START_TEST(kinds_are_what_their_rows_say)
{
    bool reached[CR_KERNEL_KINDS] = {false};
    for (int i = 0; i < 2 * N_MODELS; i++) {
        struct cr_module *m = fused_on(models[i / 2], 1 + i % 2);
        for (int j = 0; j < m->n_kernels; j++) {
            const struct cr_kernel *k = &m->kernels[j];
            const struct cr_tiles *tiles;
            reached[k->kind] = true;
            for (int p = 0; (tiles = cr_program_of(k, p)); p++)
                ck_assert(tiles->n || !cr_parts_of(k)->programs[p].needed);
        }
        cr_module_free(m);
    }
    for (int kind = 0; kind < CR_KERNEL_KINDS; kind++)
        ck_assert_msg(reached[kind], "no %s", cr_kernel_kinds[kind].name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_limits");
    TCase *tests = tcase_create("lower");
    tcase_add_loop_test(tests, an_obstacle_is_named, 0, N_LIMITS);
    tcase_add_loop_test(tests, kernels_without_obstacles_are_lowered, 0, N_LIMITS);
    tcase_add_test(tests, sums_of_rows_count_all_columns);
    tcase_add_loop_test(tests, fuse_leaves_no_obstacle, 0, N_MODELS);
    tcase_add_test(tests, kinds_are_what_their_rows_say);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
