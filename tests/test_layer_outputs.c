/*
 * test_layer_outputs.c - results of inner layers as outputs: a loop over layers gives the bits of
 * the same calls without a loop, wherever the plan stores the values.
 *
 * Outputs lie outside the arena, so a loop some of whose iterations make outputs shares its
 * buffers in another way than one that makes none.  All subsets of the layers are tried, with the
 * gradients, to which every layer's values live.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/engine.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/gradient.h"
#include "compiler/ir/mem.h"

enum { MOST_LAYERS = 7, MOST_PORTS = 256 };

/* A model of several layers; taps[i] is the result of layer i. */
struct model {
    struct cr_graph *graph;
    cr_id taps[MOST_LAYERS];
};

/* Makes layers x = sigmoid(1.5 tanh(x) W); a tap is what the layer's product reads, and so does its
 * gradient. */
static struct model make_chain(int n_layers)
{
    struct model m = {.graph = cr_graph_new("chain")};
    struct cr_graph *g = m.graph;
    struct cr_attr input = {.rank = 2, .shape = {8, 4}, .name = "x"};
    struct cr_attr number = {.rank = 2, .shape = {8, 4}, .value = 1.5};
    cr_id x = cr_must(g, CR_OP_input, 0, NULL, &input);
    for (int i = 0; i < n_layers; i++) {
        char name[8] = {'w', (char)('0' + i)};
        struct cr_attr param = {
            .rank = 2, .shape = {4, 4}, .name = name, .init = CR_INIT_NORMAL, .value = 1};
        cr_id factor = cr_must(g, CR_OP_const, 0, NULL, &number);
        cr_id h = cr_must(g, CR_OP_tanh, 1, &x, NULL);
        h = m.taps[i] = cr_must(g, CR_OP_mul, 2, (cr_id[]){h, factor}, NULL);
        cr_id w = cr_must(g, CR_OP_param, 0, NULL, &param);
        x = cr_must(g, CR_OP_matmul, 2, (cr_id[]){h, w}, NULL);
        x = cr_must(g, CR_OP_sigmoid, 1, &x, NULL);
    }
    cr_add_output(g, "y", x);
    return m;
}

static struct model make_gpt2(int n_layers)
{
    char layers[8] = {(char)('0' + n_layers)};
    const struct cr_setting settings[] = {{"n_layer", layers, false},
                                          {"T", "3", false},
                                          {"n_embd", "4", false},
                                          {"n_head", "2", false}};
    struct cr_script script;
    struct cr_error error;
    struct model m = {0};
    const struct cr_script_source source = {.path = "graphs/gpt2_stack.lua"};
    ck_assert_msg(cr_script_run(&source, settings, 4, &script, &error) == 0, "%s", error.text);
    m.graph = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    for (cr_id id = 0; id < m.graph->n_nodes; id++) {
        const char *tap = m.graph->nodes[id].tap;
        if (tap && strlen(tap) == 3 && strncmp(tap, "h.", 2) == 0)
            m.taps[tap[2] - '0'] = id;
    }
    return m;
}

/* Adds outputs: the layers in a set, and the gradients of the sum of the model's output. */
static void add_outputs(struct model *m, int n_layers, unsigned set)
{
    struct cr_graph *g = m->graph;
    cr_id wanted[MOST_PORTS], gradients[MOST_PORTS], y = g->outputs[0].id;
    struct cr_attr one = cr_attr_of(&g->nodes[y]);
    int n = 0;
    one.value = 1;
    struct cr_seed seed = {y, cr_must(g, CR_OP_const, 0, NULL, &one)};
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].name)
            wanted[n++] = id;
    ck_assert_int_le(n, MOST_PORTS);
    for (int i = 0; i < n_layers; i++)
        if (set >> i & 1)
            cr_add_output(g, (char[]){'h', (char)('0' + i), '\0'}, m->taps[i]);
    cr_add_gradients(g, 1, &seed, n, wanted, gradients);
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "gradient:%s", g->nodes[wanted[i]].name);
        cr_add_output(g, name, gradients[i]);
    }
}

/* Runs the model once; returns all outputs, concatenated, and their number in *floats. */
static float *run(struct model m, const char *skip, size_t *floats)
{
    const struct cr_engine_options options = {
        .settings = {.path = "test", .skip = &skip, .n_skip = skip != NULL}};
    struct cr_engine e;
    struct cr_error error;
    void *outputs[MOST_PORTS];
    size_t n = 0;
    ck_assert_msg(cr_engine_open(&e, m.graph, &options, &error) == 0, "%s", error.text);
    ck_assert_int_eq(cr_draw_params(&e, 1, &error), 0);
    ck_assert_int_eq(e.n_inputs, 1);
    int64_t elements = cr_port_elements(&e.inputs[0]);
    float *x = cr_calloc((size_t)elements, sizeof *x);
    for (int64_t i = 0; i < elements; i++)
        x[i] = (float)(i * 37 % 64) / 32 - 1;
    for (int i = 0; i < e.n_outputs; i++)
        n += (size_t)cr_port_elements(&e.outputs[i]);
    float *data = cr_calloc(n, sizeof *data);
    *floats = n;
    n = 0;
    for (int i = 0; i < e.n_outputs; i++) {
        outputs[i] = data + n;
        n += (size_t)cr_port_elements(&e.outputs[i]);
    }
    ck_assert_int_eq(cr_engine_run(&e, (const void *[]){x}, outputs, &error), 0);
    cr_engine_close(&e);
    free(x);
    return data;
}

static const struct {
    const char *name;
    struct model (*make)(int n_layers);
    int n_layers;
} models[] = {
    {"chain", make_chain, 3}, {"chain", make_chain, 4},       {"chain", make_chain, 5},
    {"chain", make_chain, 6}, {"gpt2_stack", make_gpt2, 7},
};

START_TEST(all_subsets_of_layers)
{
    int n_layers = models[_i].n_layers;
    for (unsigned set = 0; set < 1u << n_layers; set++) {
        float *data[2];
        size_t floats[2];
        for (int plain = 0; plain < 2; plain++) {
            struct model m = models[_i].make(n_layers);
            add_outputs(&m, n_layers, set);
            data[plain] = run(m, plain ? "outline" : NULL, &floats[plain]);
        }
        ck_assert_uint_eq(floats[0], floats[1]);
        ck_assert_msg(memcmp(data[0], data[1], floats[0] * sizeof(float)) == 0,
                      "%s of %d layers: asked for those of set 0x%x, loops give other bits",
                      models[_i].name, n_layers, set);
        free(data[0]);
        free(data[1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layer_outputs");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, all_subsets_of_layers, 0, sizeof models / sizeof *models);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
