/*
 * test_simplify.c - simplifying a simplified graph changes nothing, and passes that have nothing to
 * do leave the graph as it is.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes.h"

/* Scripts with and without gradients; the last one takes simplify two rounds. */
static const char *const scripts[] = {
    "graphs/gpt2_block.lua",
    "graphs/heads_block.lua",
    "graphs/train_add.lua",
    "tests/scripts/stack_training.lua",
    "tests/golden/common.lua",
    "tests/golden/grad_softmax.lua",
    "tests/golden/second_round.lua",
};

enum { N_SCRIPTS = sizeof scripts / sizeof *scripts };

static const struct cr_pass *pass_of(const char *name)
{
    for (int i = 0; i < cr_n_passes; i++)
        if (strcmp(cr_passes[i].name, name) == 0)
            return &cr_passes[i];
    ck_abort_msg("no pass %s", name);
    return NULL;
}

static struct cr_module *load(const char *path)
{
    struct cr_script script;
    struct cr_error error = {""};
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error) == 0,
                  "%s", error.text);
    struct cr_module *m = cr_module_new(script.graph);
    script.graph = NULL;
    cr_script_free(&script);
    return m;
}

/* Returns a hash of the nodes in their order, and of the outputs. */
static uint64_t hash_after(struct cr_module *m, const char *pass)
{
    struct cr_error error = {""};
    ck_assert_msg(cr_run_pass(m, pass_of(pass), &error) == 0, "%s", error.text);
    uint64_t hash = cr_hash_outputs(m->graph);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        hash = cr_hash_word(hash, cr_hash_node(m->graph, id));
    return hash;
}

START_TEST(simplify_is_idempotent)
{
    struct cr_module *m = load(scripts[_i]);
    int script_nodes = m->graph->n_nodes;
    uint64_t once = hash_after(m, "simplify");
    ck_assert_int_lt(m->graph->n_nodes, script_nodes);
    ck_assert_msg(hash_after(m, "simplify") == once, "%s", scripts[_i]);
    cr_module_free(m);
}
END_TEST

/* A second run of a pass, on the graph that it made, changes nothing. */
START_TEST(no_pass_undoes_another)
{
    static const char *const passes[] = {"simplify", "join", "lift_grads", "fma"};
    struct cr_module *m = load(scripts[_i]);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        uint64_t once = hash_after(m, passes[i]);
        ck_assert_msg(hash_after(m, passes[i]) == once, "%s of %s", passes[i], scripts[_i]);
    }
    cr_module_free(m);
}
END_TEST

/* Products whose join would exceed the largest tensor are not joined: of three, two are. */
START_TEST(joins_what_fits)
{
    struct cr_module *m = load("tests/scripts/wide_products.lua");
    int n = 0;
    hash_after(m, "simplify");
    hash_after(m, "join");
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        n += m->graph->nodes[id].op == CR_OP_matmul;
    ck_assert_int_eq(n, 2);
    cr_module_free(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simplify");
    TCase *tests = tcase_create("simplify");
    tcase_add_loop_test(tests, simplify_is_idempotent, 0, N_SCRIPTS);
    tcase_add_loop_test(tests, no_pass_undoes_another, 0, N_SCRIPTS);
    tcase_add_test(tests, joins_what_fits);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
