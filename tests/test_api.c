/*
 * test_api.c - the public C interface: models of fixtures by every backend against PyTorch's
 * outputs, the same files as the command line writes, and wrong calls.  $CRESCENT is the program.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/npy.h"

#define CASE "tests/fixtures/stack/"
#define BLOCK "graphs/gpt2_block.lua"
#define STEP "graphs/train_add.lua"

enum { MAX_SETTINGS = 16, MAX_TEXT = 1 << 20 };

static crescent_context *context;
static char folder[64];

/* Fails with the library's error message unless a call succeeds. */
#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* Asserts that a call fails with an error of one line that contains a word. */
#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq((call), CRESCENT_FAILED);                                                 \
        ck_assert_msg(strstr(crescent_error(context), word), "%s: %s", #call,                      \
                      crescent_error(context));                                                    \
    } while (0)

/* ---- what the tests share ---- */

static void set_up(void)
{
    strcpy(folder, "/tmp/test_api.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Returns the path of a name in the folder of this test. */
static const char *in_folder(const char *name)
{
    static char paths[32][128];
    static int n;
    char *path = paths[n++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Runs the program and returns its exit status. */
static int program(const char *arguments)
{
    char command[1024];
    const char *crescent = getenv("CRESCENT");
    snprintf(command, sizeof command, "%s %s >/dev/null 2>&1",
             crescent ? crescent : "build/crescent", arguments);
    return system(command);
}

/* Returns the bytes of a file followed by a zero; the caller frees them. */
static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, MAX_TEXT);
    ck_assert_msg(file && text, "%s: %s", path, strerror(errno));
    size_t n = fread(text, 1, MAX_TEXT - 1, file);
    if (length)
        *length = n;
    fclose(file);
    return text;
}

static void same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = read_text(a, &n), *y = read_text(b, &m);
    ck_assert_msg(n == m && memcmp(x, y, n) == 0, "%s and %s differ", a, b);
    free(x);
    free(y);
}

static const crescent_setting small[] = {{"T", "3"}, {"n_embd", "16"}, {"n_head", "2"}};
static const crescent_script small_block = {.settings = small, .n_settings = 3};

static crescent_graph *open_graph(const char *path, const crescent_script *how)
{
    crescent_graph *graph;
    GOOD(crescent_graph_open(context, path, how, &graph));
    return graph;
}

static crescent_model *open_small(crescent_backend backend)
{
    const crescent_config config = {.backend = backend};
    crescent_model *model;
    GOOD(crescent_open(context, BLOCK, &small_block, &config, &model));
    return model;
}

/* Returns a tensor of zeros for each port of a kind; the caller frees them. */
static void **new_tensors(const crescent_model *model, crescent_port_kind kind)
{
    int n = crescent_port_count(model, kind);
    void **tensors = calloc((size_t)n + 1, sizeof *tensors);
    crescent_port port;
    for (int i = 0; i < n; i++) {
        GOOD(crescent_port_at(model, kind, i, &port));
        GOOD(crescent_memory(context, crescent_port_elements(&port) * 4, port.name, &tensors[i]));
        memset(tensors[i], 0, (size_t)crescent_port_elements(&port) * 4);
    }
    return tensors;
}

static void free_tensors(void **tensors)
{
    for (int i = 0; tensors[i]; i++)
        crescent_free(tensors[i]);
    free(tensors);
}

/* Draws weights and inputs, runs the model, and returns the outputs, which the caller frees. */
static void **run_drawn(crescent_model *model, int64_t seed)
{
    void **in = new_tensors(model, CRESCENT_INPUT), **out = new_tensors(model, CRESCENT_OUTPUT);
    GOOD(crescent_draw_weights(model, seed));
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++)
        GOOD(crescent_draw_input(model, i, seed, in[i]));
    GOOD(crescent_run(model, (const void *const *)in, out));
    free_tensors(in);
    return out;
}

/* ---- a fixture ---- */

/* The settings in the fixture's case.txt. */
static struct {
    char keys[MAX_SETTINGS][32], values[MAX_SETTINGS][32];
    crescent_setting settings[MAX_SETTINGS];
    int n;
    char script[64];
} fixture;

static void read_fixture(void)
{
    char word[16], text[64];
    FILE *file = fopen(CASE "case.txt", "r");
    ck_assert_ptr_nonnull(file);
    fixture.n = 0;
    while (fscanf(file, "%15s %63s", word, text) == 2) {
        char *equals = strchr(text, '=');
        if (strcmp(word, "script") == 0)
            strcpy(fixture.script, text);
        if (strcmp(word, "set") != 0)
            continue;
        ck_assert(equals && fixture.n < MAX_SETTINGS);
        *equals = '\0';
        strcpy(fixture.keys[fixture.n], text);
        strcpy(fixture.values[fixture.n], equals + 1);
        fixture.settings[fixture.n] =
            (crescent_setting){fixture.keys[fixture.n], fixture.values[fixture.n]};
        fixture.n++;
    }
    fclose(file);
}

/* Reads a .npy file of floats, or of doubles, which are rounded to float. */
static float *read_npy(const char *path, int64_t *n)
{
    struct cr_npy file;
    char error[512];
    ck_assert_msg(cr_npy_open(&file, path, error, sizeof error) == 0, "%s", error);
    float *data = malloc((size_t)file.elements * sizeof *data);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(cr_npy_read_f32(&file, data, error, sizeof error), 0);
    *n = file.elements;
    cr_npy_close(&file);
    return data;
}

static const struct {
    crescent_backend backend;
    int threads;
} ways[] = {{CRESCENT_REF, 0},
            {CRESCENT_TCC, 1},
            {CRESCENT_TCC, 2},
            {CRESCENT_CC, 1},
            {CRESCENT_STANDALONE, 1}};

START_TEST(a_fixture_through_the_interface)
{
    const char *weights = CASE "model.safetensors";
    int64_t n, m;
    crescent_port port;
    crescent_model *model;
    read_fixture();
    const crescent_script how = {.settings = fixture.settings, .n_settings = fixture.n};
    const crescent_config config = {.backend = ways[_i].backend, .threads = ways[_i].threads};
    GOOD(crescent_open(context, fixture.script, &how, &config, &model));
    float *x = read_npy(CASE "x.npy", &n), *want = read_npy(CASE "y.npy", &m);
    float *y = calloc((size_t)n, sizeof *y), *again = calloc((size_t)n, sizeof *again);
    ck_assert_int_eq(n, m);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_INPUT), 1);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_OUTPUT), 1);
    GOOD(crescent_port_at(model, CRESCENT_OUTPUT, 0, &port));
    ck_assert_str_eq(port.name, "y");
    ck_assert_int_eq(crescent_port_elements(&port), n);
    GOOD(crescent_load_weights(model, &weights, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL));
    GOOD(crescent_run(model, (const void *[]){x}, (void *[]){y}));
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq_tol(y[i], want[i], 2e-5f);
    GOOD(crescent_read_input(model, 0, CASE "x.npy", x));
    GOOD(crescent_run(model, (const void *[]){x}, (void *[]){again}));
    ck_assert_int_eq(crescent_same_bits(y, again, n), 1);
    ck_assert_int_eq(crescent_exact_output(model, 0) != NULL, ways[_i].backend == CRESCENT_REF);
    crescent_close(model);
    free(x);
    free(y);
    free(again);
    free(want);
}
END_TEST

/* ---- graphs ---- */

/* A state keeps its value from run to run; each model has its own; it can be read, set and
 * reset. */
START_TEST(states_stay)
{
    static const char text[] = "local sum = state('sum', {2})\n"
                               "local next = sum + input('x', {2})\n"
                               "replace(sum, next)\n"
                               "return {y = next * 2}\n";
    const crescent_config config = {.backend = (crescent_backend)_i};
    const float x[2] = {1, 2}, set[2] = {10, 20};
    const void *in[] = {x};
    float y[2], sum[2];
    void *out[] = {y};
    crescent_graph *graph;
    crescent_model *model, *other;
    crescent_port port;
    GOOD(crescent_graph_open_text(context, "sum.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_compile(graph, &config, &model));
    GOOD(crescent_compile(graph, &config, &other));
    ck_assert_int_eq(crescent_graph_port_count(graph, CRESCENT_STATE), 1);
    ck_assert_int_eq(crescent_graph_port_count(graph, CRESCENT_OUTPUT), 1);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_STATE), 1);
    ck_assert_int_eq(crescent_port_count(model, CRESCENT_INPUT), 1);
    GOOD(crescent_graph_port_at(graph, CRESCENT_STATE, 0, &port));
    ck_assert_str_eq(port.name, "sum");
    for (int run = 1; run <= 3; run++) {
        GOOD(crescent_run(model, in, out));
        GOOD(crescent_get_state(model, 0, sum));
        ck_assert(y[0] == 2.0F * (float)run && sum[1] == 2.0F * (float)run);
    }
    GOOD(crescent_get_state(other, 0, sum));
    ck_assert(sum[0] == 0 && sum[1] == 0);
    GOOD(crescent_set_state(model, 0, set));
    GOOD(crescent_run(model, in, out));
    ck_assert(y[0] == 22 && y[1] == 44);
    GOOD(crescent_reset_states(model));
    GOOD(crescent_run(model, in, out));
    ck_assert(y[0] == 2 && y[1] == 4);
    REFUSED(crescent_get_state(model, 1, sum), "found state 1, expected one of 1, counted from 0");
    REFUSED(crescent_set_state(model, -1, sum), "found state -1, expected one of 1, counted from 0");
    crescent_close(model);
    crescent_close(other);
    crescent_graph_close(graph);
}
END_TEST

/* ---- inside a compilation and a run ---- */

/* A caller can set the error message of a context. */
START_TEST(errors_of_a_client)
{
    REFUSED(crescent_fail(context, "a.lua:1: found \a, expected b"), "a.lua:1: found \\x07, expected b");
    ck_assert_int_eq(crescent_fail(context, "bug: a client's"), CRESCENT_BUG);
    ck_assert_str_eq(crescent_error(context), "bug: a client's");
    ck_assert_int_eq(crescent_fail(NULL, "of this thread"), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(NULL), "of this thread");
    REFUSED(crescent_fail(context, NULL), "null");
}
END_TEST

/* Changes of a copied graph do not change the original, and the copy stays valid when the original
 * is closed. */
START_TEST(a_copied_graph)
{
    static const char text[] = "local nn = require 'nn'\n"
                               "return {y = tap('t', nn.linear(input('x', {2, 4}), 3))}\n";
    static const char words[] = "nothing that was here before";
    crescent_graph *graph, *copy;
    char *source;
    crescent_model *model;
    GOOD(crescent_graph_open_text(context, "copied.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_graph_copy(graph, &copy));
    GOOD(crescent_graph_gradients(copy, NULL, 0));
    ck_assert_int_eq(crescent_graph_port_count(graph, CRESCENT_OUTPUT), 1);
    ck_assert_int_gt(crescent_graph_port_count(copy, CRESCENT_OUTPUT), 1);
    crescent_graph_close(graph);
    ck_assert_ptr_eq(crescent_graph_context(copy), context);
    ck_assert_str_eq(crescent_graph_script(copy), "copied.lua");
    ck_assert_ptr_null(crescent_graph_folder(copy));
    GOOD(crescent_compile(copy, NULL, &model));
    crescent_close(model);
    GOOD(crescent_graph_source(copy, "copied.lua", &source));
    ck_assert_str_eq(source, text);
    crescent_free(source);
    source = (char *)words;
    GOOD(crescent_graph_source(copy, "no/such.lua", &source));
    ck_assert_ptr_null(source);
    REFUSED(crescent_graph_source(copy, NULL, &source), "null");
    REFUSED(crescent_graph_copy(copy, NULL), "null");
    ck_assert_int_eq(crescent_graph_copy(NULL, &graph), CRESCENT_FAILED);
    ck_assert_ptr_null(graph);
    crescent_graph_close(copy);
}
END_TEST

static const crescent_setting deep[] = {
    {"T", "8"}, {"n_embd", "48"}, {"n_head", "3"}, {"n_layer", "5"}};

static crescent_graph *open_stack(void)
{
    const crescent_script how = {.settings = deep, .n_settings = 4};
    crescent_graph *graph;
    GOOD(crescent_graph_open(context, "graphs/gpt2_stack.lua", &how, &graph));
    return graph;
}

/* An inspection lists the stages of a compilation, and the nodes of each stage's graph: operands
 * precede their users. */
START_TEST(inspected_graphs)
{
    crescent_graph *graph = open_stack();
    crescent_inspection *in;
    crescent_stage stage;
    crescent_node node;
    crescent_op op;
    int last = crescent_pass_count() + 1, n_params = 0;
    GOOD(crescent_inspect(graph, NULL, &in));
    ck_assert_int_eq(crescent_stage_count(in), last + 1);
    GOOD(crescent_stage_at(in, 0, &stage));
    ck_assert_str_eq(stage.name, "script");
    ck_assert_int_eq(stage.graph, 0);
    ck_assert_int_eq(stage.kernels, -1);
    GOOD(crescent_stage_at(in, last - 1, &stage));
    ck_assert_int_gt(stage.kernels, stage.functions);
    ck_assert_int_eq(stage.loops, 1);
    ck_assert_int_gt(stage.statements, 0);
    GOOD(crescent_stage_at(in, last, &stage));
    ck_assert_str_eq(stage.name, "emit");
    for (int g = 0; g <= stage.graph; g++)
        for (int i = 0; i < crescent_node_count(in, g); i++) {
            GOOD(crescent_node_at(in, g, i, &node));
            GOOD(crescent_op_at(node.op, &op));
            n_params += g == 0 && strcmp(op.name, "param") == 0 && node.name;
            for (int k = 0; k < node.n_operands; k++)
                ck_assert_int_lt(node.operands[k], i);
        }
    ck_assert_int_eq(n_params, crescent_graph_port_count(graph, CRESCENT_PARAM));
    ck_assert_int_eq(crescent_node_count(in, stage.graph + 1), 0);
    REFUSED(crescent_node_at(in, stage.graph + 1, 0, &node), "graph ");
    REFUSED(crescent_node_at(in, 0, -1, &node), "found node -1, expected one of");
    REFUSED(crescent_stage_at(in, last + 1, &stage), "stage ");
    ck_assert_int_eq(crescent_stage_at(NULL, 0, &stage), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(NULL), "null"));
    crescent_graph_close(graph);
    crescent_inspection_close(in);
}
END_TEST

/* An inspection has the same calls, stored nodes, loops and arena as the compiled model. */
START_TEST(inspected_calls)
{
    crescent_graph *graph = open_stack();
    crescent_inspection *in;
    crescent_model *model;
    crescent_report report, of_model;
    crescent_kernel kernel, same;
    crescent_kernel_detail detail;
    crescent_call call;
    crescent_loop loop;
    crescent_live_range range;
    GOOD(crescent_inspect(graph, NULL, &in));
    GOOD(crescent_compile(graph, NULL, &model));
    GOOD(crescent_inspection_report(in, &report));
    GOOD(crescent_report_of(model, &of_model));
    ck_assert_int_eq(report.n_kernels, of_model.n_kernels);
    ck_assert_int_eq(report.arena_bytes, of_model.arena_bytes);
    ck_assert_int_eq(crescent_call_count(in), of_model.n_calls);
    for (int i = 0; i < report.n_kernels; i++) {
        GOOD(crescent_inspection_kernel_at(in, i, &kernel, &detail));
        GOOD(crescent_kernel_at(model, i, &same));
        ck_assert_str_eq(kernel.name, same.name);
        ck_assert(kernel.flops == same.flops && strstr(kernel.name, detail.title) && *detail.kind);
        GOOD(crescent_call_at(in, detail.first_call, &call));
        ck_assert_int_eq(call.kernel, i);
    }
    for (int i = 0; i < crescent_call_count(in); i++) {
        GOOD(crescent_call_at(in, i, &call));
        ck_assert(call.n_stores >= 1 && call.stores[0] == call.buffer && call.n_reads >= 1);
    }
    ck_assert_int_eq(crescent_loop_count(in), 1);
    GOOD(crescent_loop_at(in, 0, &loop));
    ck_assert_int_eq(loop.count, 5);
    ck_assert_int_gt(crescent_live_range_count(in), 0);
    for (int i = 0; i < crescent_live_range_count(in); i++) {
        GOOD(crescent_live_range_at(in, i, &range));
        ck_assert(range.offset >= 0 && range.offset + range.bytes <= report.arena_bytes);
        ck_assert_int_le(range.first_call, range.last_call);
    }
    REFUSED(crescent_inspection_kernel_at(in, report.n_kernels, &kernel, &detail), "kernel ");
    REFUSED(crescent_inspection_kernel_at(in, 0, &kernel, NULL), "null");
    REFUSED(crescent_call_at(in, -1, &call), "found call -1, expected one of");
    REFUSED(crescent_loop_at(in, 1, &loop), "found loop 1, expected one of 1, counted from 0");
    REFUSED(crescent_live_range_at(in, crescent_live_range_count(in), &range), "live range ");
    crescent_close(model);
    crescent_graph_close(graph);
    crescent_inspection_close(in);
}
END_TEST

static int lines_in(const char *text, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++)
        n += text[i] == '\n';
    return n;
}

/* The C text of an inspection is equal to a dump's, and the inspection has a range of its lines for
 * each kernel. */
START_TEST(inspected_c)
{
    const crescent_config ref = {.backend = CRESCENT_REF}, config = {.target = "generic"};
    const char *no_pass[] = {"no_such_pass"};
    const crescent_config wrong = {.skip = no_pass, .n_skip = 1};
    crescent_graph *graph = open_stack();
    crescent_inspection *in;
    crescent_config taken;
    crescent_lines lines;
    crescent_output output;
    char *dump;
    size_t length;
    int n[3] = {0};
    REFUSED(crescent_inspect(graph, &ref, &in), "backend ref has no kernels");
    REFUSED(crescent_inspect(graph, &wrong, &in), "no_such_pass");
    ck_assert_ptr_null(in);
    GOOD(crescent_inspect(graph, &config, &in));
    GOOD(crescent_dump(graph, &config, "emit", &dump));
    ck_assert_str_eq(crescent_inspection_c(in, &length), dump);
    ck_assert_uint_eq(strlen(dump), length);
    for (int i = 0; i < crescent_lines_count(in); i++) {
        GOOD(crescent_lines_at(in, i, &lines));
        ck_assert(lines.first >= 1 && lines.first <= lines.last);
        ck_assert_int_le(lines.last, lines_in(dump, length));
        n[lines.kind]++;
    }
    crescent_report report;
    GOOD(crescent_inspection_report(in, &report));
    ck_assert_int_eq(n[CRESCENT_LINES_KERNEL], report.n_kernels);
    ck_assert(n[CRESCENT_LINES_CALL] >= report.n_kernels && n[CRESCENT_LINES_NODE] > 0);
    GOOD(crescent_inspection_config(in, &taken));
    ck_assert_int_eq(taken.threads, 1);
    ck_assert_str_eq(crescent_inspection_target(in), "generic");
    ck_assert_int_eq(crescent_output_count(in), 1);
    GOOD(crescent_output_at(in, 0, &output));
    ck_assert(!output.of && !output.state);
    REFUSED(crescent_output_at(in, 1, &output), "found output 1, expected one of 1, counted from 0");
    REFUSED(crescent_lines_at(in, -1, &lines), "span of lines -1");
    crescent_free(dump);
    crescent_graph_close(graph);
    crescent_inspection_close(in);
    crescent_inspection_close(NULL);
}
END_TEST

/* A traced run reports the time of each call. */
START_TEST(a_traced_run)
{
    static const char text[] = "local x = input('x', {64, 64})\n"
                               "return {y = exp(sum(sqrt(x * x + 1), 2) * -1)}\n";
    const crescent_config ref = {.backend = CRESCENT_REF};
    static float x[64 * 64], y[64];
    const void *in[] = {x};
    void *out[] = {y};
    crescent_graph *graph;
    crescent_model *model, *interpreted;
    crescent_report report;
    crescent_call_time times[16];
    GOOD(crescent_graph_open_text(context, "trace.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    GOOD(crescent_compile(graph, &ref, &interpreted));
    GOOD(crescent_report_of(model, &report));
    ck_assert(report.n_calls >= 1 && report.n_calls <= 16);
    GOOD(crescent_run_traced(model, in, out, times));
    ck_assert_float_eq(y[0], expf(-64));
    for (int i = 0; i < report.n_calls; i++) {
        ck_assert_int_le(times[i].begin_ns, times[i].end_ns);
        ck_assert(!i || times[i - 1].end_ns <= times[i].begin_ns);
    }
    REFUSED(crescent_run_traced(interpreted, in, out, times), "has no kernels");
    REFUSED(crescent_run_traced(model, in, out, NULL), "null");
    crescent_close(interpreted);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* Steps a replay to the next node with a name, or with an op. */
static void find_replayed(crescent_replay *replay, const char *name, crescent_replayed *value)
{
    crescent_op op;
    do {
        GOOD(crescent_replay_next(replay, value));
        GOOD(crescent_op_at(value->node.op, &op));
    } while (strcmp(op.name, name) != 0 && (!value->node.name || strcmp(value->node.name, name) != 0));
}

/* States have the values from before the run; stored values have the bits of the outputs. */
START_TEST(a_replay)
{
    static const char text[] = "local x = input('x', {4})\n"
                               "local s = state('s', {4})\n"
                               "replace(s, s + x)\n"
                               "return {y = sqrt(s + x * 3)}\n";
    const crescent_config ref = {.backend = CRESCENT_REF};
    float x[4] = {1, 2, 3, 4}, y[4];
    const void *in[] = {x};
    void *out[] = {y};
    crescent_graph *graph;
    crescent_replay *replay;
    crescent_replayed value;
    crescent_values operand;
    GOOD(crescent_graph_open_text(context, "replay.lua", text, sizeof text - 1, NULL, &graph));
    REFUSED(crescent_replay_open(graph, &ref, &replay), "a replay with the backend ref");
    ck_assert_ptr_null(replay);
    GOOD(crescent_replay_open(graph, NULL, &replay));
    crescent_graph_close(graph);
    ck_assert_int_eq(crescent_replay_next(replay, &value), CRESCENT_STOPPED);
    ck_assert_int_eq(crescent_replay_size(replay), 0);
    REFUSED(crescent_replay_operand(replay, 0, &operand), "found operand 0, expected one of 0, counted from 0");
    REFUSED(crescent_replay_run(replay, (crescent_replay_kind)7, in, out), "found an unknown kind");
    REFUSED(crescent_replay_run(replay, CRESCENT_REPLAY_KERNELS, in, out), "are not kept");
    GOOD(crescent_keep_weights(crescent_replay_model(replay)));
    REFUSED(crescent_replay_run(replay, CRESCENT_REPLAY_KERNELS, NULL, out), "tensor of x is null");
    for (int i = 0; i < 3; i++) {
        GOOD(crescent_replay_run(replay, CRESCENT_REPLAY_KERNELS, in, out));
        find_replayed(replay, "s", &value);
        ck_assert(value.local.data[3 * value.local.stride[0]] == 4 * i);
        find_replayed(replay, "sqrt", &value);
        ck_assert(value.is_output && value.call >= 0 && value.result >= 0 && value.kernel);
        ck_assert(crescent_same_bits(value.stored, y, 4));
        ck_assert(value.exact.data[0] == sqrt(3 + i) && value.local.data[0] == sqrt(3 + i));
        ck_assert(value.bound.data[0] > 0 && value.bound.data[0] < 1e-6);
        ck_assert_int_lt(value.number, crescent_replay_size(replay));
        GOOD(crescent_replay_operand(replay, 0, &operand));
        ck_assert(operand.data[operand.stride[0]] == 6 + 2 * i);
        REFUSED(crescent_replay_operand(replay, 1, &operand), "found operand 1, expected one of 1, counted from 0");
    }
    crescent_close(crescent_replay_model(replay)); /* has no effect: the model belongs to the replay */
    crescent_replay_close(replay);
    crescent_replay_close(NULL);
}
END_TEST

/* A replay has the weights rounded to their format, or as they were given. */
START_TEST(a_replay_of_rounded_weights)
{
    static const char text[] = "local w = param('w', {64, 64})\n"
                               "return {y = matmul(input('x', {2, 64}), w)}\n";
    const crescent_config config = {.format = "q8"};
    static float x[128], y[128], w[64 * 64];
    const void *in[] = {x};
    void *out[] = {y};
    crescent_graph *graph;
    crescent_replay *replay;
    crescent_replayed value;
    for (int i = 0; i < 64 * 64; i++)
        w[i] = sinf((float)i);
    GOOD(crescent_graph_open_text(context, "rounded.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_replay_open(graph, &config, &replay));
    GOOD(crescent_keep_weights(crescent_replay_model(replay)));
    REFUSED(crescent_replay_run(replay, CRESCENT_REPLAY_MODEL, in, out), "has no values");
    GOOD(crescent_set_weight(crescent_replay_model(replay), 0, w));
    for (int kind = CRESCENT_REPLAY_KERNELS; kind <= CRESCENT_REPLAY_MODEL; kind++) {
        GOOD(crescent_replay_run(replay, (crescent_replay_kind)kind, in, out));
        find_replayed(replay, "w", &value);
        double off = fabs(value.exact.data[65 * 1] - (double)w[65]);
        ck_assert(kind == CRESCENT_REPLAY_MODEL ? off == 0 : off > 0 && off < 0.01);
        ck_assert_int_eq(value.local.data != NULL, kind == CRESCENT_REPLAY_KERNELS);
        int status;
        while (!(status = crescent_replay_next(replay, &value)))
            ;
        ck_assert_int_eq(status, CRESCENT_STOPPED);
        ck_assert_int_eq(crescent_replay_next(replay, &value), CRESCENT_STOPPED);
    }
    crescent_replay_close(replay);
    crescent_graph_close(graph);
}
END_TEST

/* An autopsy's run gives the bits of an ordinary run and continues from the states; it names an
 * input that has NaN. */
START_TEST(an_autopsy)
{
    static const char text[] = "local x = input('x', {4})\n"
                               "local s = state('s', {4})\n"
                               "local w = param('w', {4}, {normal = 1})\n"
                               "local y = tap('root', sqrt(s + x * x)) * w\n"
                               "replace(s, s + x * x)\n"
                               "return {y = y + 1}\n";
    static const float nan[4] = {1, 2, NAN, 4};
    const crescent_config ref = {.backend = CRESCENT_REF};
    float x[4] = {1, 2, 3, 4}, y[4], expected[4];
    const void *in[] = {x};
    void *out[] = {y}, *plain[] = {expected};
    crescent_graph *graph;
    crescent_autopsy *autopsy;
    crescent_model *model;
    crescent_tapped node;
    GOOD(crescent_graph_open_text(context, "sum.lua", text, sizeof text - 1, NULL, &graph));
    REFUSED(crescent_autopsy_open(graph, &ref, &autopsy), "expected tcc or cc");
    ck_assert_ptr_null(autopsy);
    GOOD(crescent_autopsy_open(graph, NULL, &autopsy));
    GOOD(crescent_compile(graph, NULL, &model));
    REFUSED(crescent_autopsy_run(autopsy, in, out), "parameter w has no values");
    GOOD(crescent_draw_weights(crescent_autopsy_model(autopsy), 1));
    GOOD(crescent_draw_weights(model, 1));
    REFUSED(crescent_autopsy_run(autopsy, NULL, out), "tensor of x is null");
    ck_assert_int_eq(crescent_autopsy_count(autopsy), 0);
    for (int i = 0; i < 3; i++) {
        GOOD(crescent_run(model, in, plain));
        GOOD(crescent_autopsy_run(autopsy, in, out));
        ck_assert(crescent_same_bits(y, expected, 4));
        ck_assert_int_gt(crescent_autopsy_count(autopsy), 1);
        ck_assert_int_eq(crescent_autopsy_culprit(autopsy), CRESCENT_NONE);
    }
    in[0] = nan;
    GOOD(crescent_autopsy_run(autopsy, in, out));
    GOOD(crescent_autopsy_at(autopsy, crescent_autopsy_culprit(autopsy), &node));
    ck_assert_str_eq(node.name, "x");
    ck_assert_str_eq(node.where, "sum.lua:1");
    ck_assert_int_eq(node.verdict, CRESCENT_NAN);
    ck_assert_int_eq(node.worst, 2);
    REFUSED(crescent_autopsy_at(autopsy, 100, &node), "found node 100, expected one of");
    REFUSED(crescent_autopsy_at(autopsy, 0, NULL), "null");
    crescent_graph_close(graph);
    crescent_close(crescent_autopsy_model(autopsy)); /* has no effect: the model belongs to the autopsy */
    crescent_autopsy_close(autopsy);
    crescent_autopsy_close(NULL);
    crescent_close(model);
}
END_TEST

/* States work in the same way whether the only entry is chosen by name or not. */
START_TEST(states_of_an_entry)
{
    static const char text[] = "local sum = state('sum', {2})\n"
                               "local next = sum + input('x', {2})\n"
                               "replace(sum, next)\n"
                               "return {step = {y = next * 2}}\n";
    const crescent_script how = {.entry = _i ? "step" : NULL};
    const float x[2] = {1, 2};
    const void *in[] = {x};
    float y[2], sum[2];
    void *out[] = {y};
    crescent_graph *graph;
    crescent_model *model;
    GOOD(crescent_graph_open_text(context, "sum.lua", text, sizeof text - 1, &how, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    ck_assert_int_eq(crescent_graph_port_count(graph, CRESCENT_STATE), 1);
    ck_assert_int_eq(crescent_port_find(model, CRESCENT_OUTPUT, _i ? "y" : "step.y"), 0);
    for (int run = 1; run <= 3; run++) {
        GOOD(crescent_run(model, in, out));
        GOOD(crescent_get_state(model, 0, sum));
        ck_assert(y[0] == 2.0F * (float)run && sum[1] == 2.0F * (float)run);
    }
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* A model of several entries runs one of them, or all in the order of their names; they share the
 * states. */
START_TEST(runs_of_an_entry)
{
    static const char text[] = "local n = state('n', {})\n"
                               "replace(n, n + input('x', {}), 'more') replace(n, n * 0, 'none')\n"
                               "local i = input('i', {1}, 'i32')\n"
                               "return {more = {n = n}, none = {n = n + gather(param('w', {3}), i)\n"
                               "    :reshape{}}}\n";
    const crescent_config config = {.backend = (crescent_backend)_i};
    const float x = 2, weights[3] = {100, 200, 300};
    const int32_t good = 2, bad = 3;
    const void *more_in[] = {&x, NULL}, *none_in[] = {NULL, &good}, *in[] = {&x, &good};
    const void *bad_in[] = {NULL, &bad};
    float n, m, now;
    void *more_out[] = {&n, NULL}, *none_out[] = {NULL, &m}, *out[] = {&n, &m};
    crescent_graph *graph;
    crescent_model *model;
    GOOD(crescent_graph_open_text(context, "n.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_compile(graph, &config, &model));
    ck_assert_int_eq(crescent_port_find(model, CRESCENT_OUTPUT, "none.n"), 1);
    REFUSED(crescent_run_entry(model, "more", more_in, more_out), "parameter w has no values");
    GOOD(crescent_set_weight(model, 0, weights));
    for (int run = 0; run < 3; run++) {
        GOOD(crescent_run_entry(model, "more", more_in, more_out));
        ck_assert(n == 2.0F * (float)run);
    }
    REFUSED(crescent_run_entry(model, "none", bad_in, none_out), "expected an id from 0 to 2");
    REFUSED(crescent_run_entry(model, "none", more_in, none_out), "the tensor of i is null");
    REFUSED(crescent_run_entry(model, "more", more_in, none_out), "the tensor of more.n is null");
    REFUSED(crescent_run_entry(model, "mor", more_in, more_out), "no entry 'mor'");
    GOOD(crescent_get_state(model, 0, &now));
    ck_assert(now == 6);
    GOOD(crescent_run_entry(model, "none", none_in, none_out));
    ck_assert(m == 306);
    GOOD(crescent_run_entry(model, "more", more_in, more_out));
    ck_assert(n == 0);
    GOOD(crescent_run(model, in, out));
    ck_assert(n == 2 && m == 304);
    GOOD(crescent_get_state(model, 0, &now));
    ck_assert(now == 0);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* The offset of a write is checked with the values that states have when its entry runs. */
START_TEST(offsets_of_entries)
{
    static const char text[] =
        "local at, c = state('at', {}, 'i32'), state('c', {2, 3})\n"
        "local w = write(c, input('x', {1, 3}), at)\n"
        "replace(c, w, 'b') replace(at, at + 1, 'b') replace(at, at * 0, 'a')\n"
        "return {a = {y = at:float()}, b = {y = w}}\n";
    const float x[3] = {1, 2, 3};
    const void *in[] = {x};
    float a, b[6];
    void *out[] = {&a, b};
    crescent_graph *graph;
    crescent_model *model;
    GOOD(crescent_graph_open_text(context, "at.lua", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    GOOD(crescent_run_entry(model, "b", in, out));
    GOOD(crescent_run_entry(model, "b", in, out));
    REFUSED(crescent_run_entry(model, "b", in, out), "at.lua:2: write: the offset of 1 row is 2");
    GOOD(crescent_run(model, in, out));
    ck_assert(a == 2);
    GOOD(crescent_run_entry(model, "b", in, out));
    REFUSED(crescent_run_entry(model, "b", in, out), "at.lua:2: write: the offset of 1 row is 2");
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* Scripts that write 2 rows into the 4 of `c`; a valid value of the offset `at`, an invalid one,
 * and the expected error. */
static const struct {
    const char *text;
    int32_t good, bad;
    const char *why; /* null: it is not refused */
} offsets[] = {
    {"local w = write(c, x, at)\n", 2, 3,
     "offsets.lua:3: write: the offset of 2 rows is 3, expected 0 to 2, as axis 1 has 4"},
    {"local w = write(c, x, at)\n", 0, -1, "2 rows is -1, expected 0 to 2"},
    {"local w = write(c, x, at)\n", 1, INT32_MAX, "2 rows is 2147483647, expected 0 to 2"},
    {"local w = write(c, x, at)\n", 1, INT32_MIN, "2 rows is -2147483648, expected 0 to 2"},
    {"local w = write(c, x:slice({0, 0}, {1, 3}), at)\n", 3, 4, "1 row is 4, expected 0 to 3"},
    {"local w = write(c, x, 2 * (at - 3) + 1)\n", 3, 2, "2 rows is -1, expected 0 to 2"},
    {"local w = write(c, x, where(gt(at, 2), -at, at))\n", 1, 3, "2 rows is -3, expected"},
    {"local w = write(c:transpose(1, 2), x:transpose(1, 2), at, 2):transpose(1, 2)\n", 2, 3,
     "is 3, expected 0 to 2, as axis 2 has 4"},
    {"local w = write(c, input('z', {length('l', 2), 3}), at)\n", 3, 4,
     "1 row is 4, expected 0 to 3"},
    /* all three runs are valid, whatever `at` is */
    {"local n = state('n', {}, 'i32') replace(n, n + 1) local w = write(c, x, n)\n", 0, 0,
     "2 rows is 3, expected 0 to 2"},
    {"local n = state('n', {2, 3}, 'i32') replace(n, n + iota({2, 3}, 1))\n"
     "local w = write(c, x, n:transpose(1, 2):reshape{6}:slice({1}, {5}):slice({4}, {1}))\n",
     0, 0, "offsets.lua:4: write: the offset of 2 rows is 3, expected 0 to 2"},
    /* an offset computed from more than one number is not checked: rows outside are dropped */
    {"local w = write(c, x, sum(expand(at, {2}), 1))\n", 1, 3, NULL},
};

/* Runs a model of a script above, with ones for its other inputs; returns the status. */
static int run_at(crescent_model *model, int32_t at)
{
    static const float ones[6] = {1, 1, 1, 1, 1, 1};
    static const int32_t length = 1;
    const void *in[4];
    float y[12];
    int32_t z;
    void *out[] = {y, &z};
    crescent_port port;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_INPUT); i++) {
        GOOD(crescent_port_at(model, CRESCENT_INPUT, i, &port));
        in[i] = port.type == CRESCENT_F32 ? (const void *)ones : *port.name == 'l' ? &length : &at;
    }
    return crescent_run(model, in, out);
}

/* A run that would write rows outside of a tensor fails before it starts, and the states keep their
 * values. */
START_TEST(offsets_outside)
{
    char text[512];
    float before[12], after[12];
    crescent_graph *graph;
    crescent_model *model;
    snprintf(text, sizeof text,
             "local c, x = state('c', {4, 3}), input('x', {2, 3})\n"
             "local at = input('at', {}, 'i32')\n%s"
             "replace(c, w + sum(x, 1)) return {y = w, z = at}\n", offsets[_i].text);
    GOOD(crescent_graph_open_text(context, "offsets.lua", text, strlen(text), NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    int c = crescent_port_find(model, CRESCENT_STATE, "c");
    for (int run = 0; run < 3; run++)
        GOOD(run_at(model, offsets[_i].good));
    GOOD(crescent_get_state(model, c, before));
    if (offsets[_i].why)
        REFUSED(run_at(model, offsets[_i].bad), offsets[_i].why);
    else
        GOOD(run_at(model, offsets[_i].bad));
    GOOD(crescent_get_state(model, c, after));
    ck_assert_int_eq(memcmp(before, after, sizeof after) == 0, offsets[_i].why != NULL);
    GOOD(crescent_reset_states(model));
    GOOD(run_at(model, offsets[_i].good));
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

START_TEST(a_text_is_a_script)
{
    size_t length;
    char *text = read_text(BLOCK, &length);
    crescent_graph *graph, *other;
    crescent_model *model;
    GOOD(crescent_graph_open_text(context, BLOCK, text, length, &small_block, &graph));
    memset(text, 0, length); /* it was copied */
    ck_assert_str_eq(crescent_graph_name(graph), "gpt2_block");
    ck_assert_int_ge(crescent_graph_time(graph), 0);
    GOOD(crescent_compile(graph, NULL, &model));
    void **one = run_drawn(model, 1);
    crescent_close(model);
    model = open_small(CRESCENT_TCC);
    void **two = run_drawn(model, 1);
    ck_assert_mem_eq(one[0], two[0], 3 * 16 * sizeof(float));
    REFUSED(crescent_graph_open_text(context, "made_up.lua", "return {y = q}", 14, NULL, &other),
            "made_up.lua:1: ");
    ck_assert_ptr_null(other);
    free_tensors(one);
    free_tensors(two);
    crescent_close(model);
    crescent_graph_close(graph);
    free(text);
}
END_TEST

/* Returns element 0 of the output with a name, after a run with these weights. */
static float first_of(crescent_model *model, const char *name)
{
    int output = crescent_port_find(model, CRESCENT_OUTPUT, name);
    ck_assert_int_ge(output, 0);
    void **outputs = run_drawn(model, 1);
    float value = *(float *)outputs[output];
    free_tensors(outputs);
    return value;
}

/* A script of several entries can be opened as a model of all, or of one; functions that need a
 * single entry refuse the former. */
START_TEST(entries_of_a_script)
{
    static const char text[] = "local x = tap('t', input('x', {2}) * 3)\n"
                               "return {twice = {y = x * 2}, shifted = {y = x + 1, x = x}}";
    const crescent_script one = {.entry = "twice"}, only = {.entry = ""}, none = {.entry = "y"};
    crescent_graph *graph, *chosen, *refused;
    crescent_model *all, *alone;
    crescent_trainer *trainer;
    char *source, *header;
    GOOD(crescent_graph_open_text(context, "e.lua", text, strlen(text), NULL, &graph));
    ck_assert_int_eq(crescent_graph_entry_count(graph), 2);
    ck_assert_str_eq(crescent_graph_entry_name(graph, 0), "shifted");
    ck_assert_str_eq(crescent_graph_entry_name(graph, 1), "twice");
    ck_assert_ptr_null(crescent_graph_entry_name(graph, 2));
    ck_assert_ptr_null(crescent_graph_entry_name(graph, -1));
    GOOD(crescent_graph_open_text(context, "e.lua", text, strlen(text), &one, &chosen));
    ck_assert_int_eq(crescent_graph_entry_count(chosen), 0);
    ck_assert_int_eq(crescent_graph_port_count(chosen, CRESCENT_OUTPUT), 1);
    GOOD(crescent_compile(graph, NULL, &all));
    GOOD(crescent_compile(chosen, NULL, &alone));
    ck_assert_float_eq(first_of(all, "twice.y"), first_of(alone, "y"));
    ck_assert_float_eq(first_of(all, "twice.y"), 2 * first_of(all, "shifted.x"));
    REFUSED(crescent_graph_open_text(context, "e.lua", text, strlen(text), &only, &refused),
            "e.lua: the script returns 2 entries, expected --entry with one of shifted, twice");
    ck_assert_ptr_null(refused);
    REFUSED(crescent_graph_open_text(context, "e.lua", text, strlen(text), &none, &refused),
            "--entry y: no entry of that name, expected one of shifted, twice");
    REFUSED(crescent_graph_open_text(context, "e.lua", "return {y = iota({2}, 1)}", 25, &one,
                                     &refused),
            "--entry twice: the script returns outputs");
    GOOD(crescent_graph_open_text(context, "e.lua", "return {e = {y = iota({2}, 1)}}", 31, &only,
                                  &refused));
    crescent_graph_close(refused);
    REFUSED(crescent_graph_gradients(graph, NULL, 0), "returns 2 entries");
    REFUSED(crescent_graph_tap(graph, "t", NULL), "t: a tapped value, expected --entry, too");
    GOOD(crescent_graph_tap(graph, "twice.y", NULL));
    REFUSED(crescent_trainer_open(graph, NULL, &trainer), "returns 2 entries");
    REFUSED(crescent_emit_text(graph, NULL, CRESCENT_EMIT_STEP, "e.h", &source, &header),
            "returns 2 entries");
    REFUSED(crescent_emit(graph, NULL, CRESCENT_EMIT_STEP, in_folder("e.c"), NULL),
            "returns 2 entries");
    GOOD(crescent_graph_tap(chosen, "t", NULL));
    GOOD(crescent_graph_gradients(chosen, NULL, 0));
    crescent_close(all);
    crescent_close(alone);
    crescent_graph_close(graph);
    crescent_graph_close(chosen);
}
END_TEST

/* A context keeps a note once, however often the script runs; the note says where it comes from; a
 * failed run leaves none. */
START_TEST(notes_of_scripts)
{
    static const char text[] = "local nn = require 'nn'\nlocal y = nn.linear(input('x', {2, 4}), 4)\n"
                               "y = nn.linear(y, 4)\nreturn {y = y}",
                      wrong[] = "local nn = require 'nn'\nlocal y = nn.linear(input('x', {2, 4}), 4)\n"
                                "y = nn.linear(y, 4)\nreturn {}";
    crescent_graph *graph;
    REFUSED(crescent_graph_open_text(context, "w.lua", wrong, sizeof wrong - 1, NULL, &graph), "no outputs");
    ck_assert_ptr_null(crescent_note_at(context, 0));
    for (int i = 0; i < 2; i++) {
        GOOD(crescent_graph_open_text(context, "n.lua", text, sizeof text - 1, NULL, &graph));
        crescent_graph_close(graph);
    }
    const char *begin = "n.lua:3: parameter weight is declared again in the same scope (line 2) and";
    ck_assert_ptr_nonnull(crescent_note_at(context, 0));
    ck_assert_msg(strncmp(crescent_note_at(context, 0), begin, strlen(begin)) == 0, "%s",
                  crescent_note_at(context, 0));
    ck_assert_ptr_null(crescent_note_at(context, 1));
    ck_assert_ptr_null(crescent_note_at(context, -1));
    ck_assert_ptr_null(crescent_note_at(NULL, 0));
}
END_TEST

START_TEST(options_of_a_script)
{
    const crescent_setting unknown = {"n_hed", "2"};
    crescent_script how = {.settings = &unknown, .n_settings = 1};
    crescent_graph *graph;
    crescent_setting option = {NULL, NULL};
    REFUSED(crescent_graph_open(context, BLOCK, &how, &graph), "n_hed");
    how = (crescent_script){.defaults = &unknown, .n_defaults = 1};
    GOOD(crescent_graph_open(context, BLOCK, &how, &graph)); /* need not be an option of the script */
    crescent_graph_close(graph);
    how = small_block;
    how.defaults = (const crescent_setting[]){{"T", "9"}, {"B", "2"}};
    how.n_defaults = 2;
    graph = open_graph(BLOCK, &how);
    for (int i = 0; i < crescent_graph_option_count(graph); i++) {
        GOOD(crescent_graph_option_at(graph, i, &option));
        if (strcmp(option.key, "T") == 0)
            ck_assert_str_eq(option.value, "3"); /* a setting counts for more */
        if (strcmp(option.key, "B") == 0)
            ck_assert_str_eq(option.value, "2");
    }
    REFUSED(crescent_graph_option_at(graph, 99, &option), "option 99");
    crescent_graph_close(graph);
    how = (crescent_script){.seed = 7};
    graph = open_graph(STEP, &how);
    for (int i = 0; i < crescent_graph_option_count(graph); i++) {
        GOOD(crescent_graph_option_at(graph, i, &option));
        if (strcmp(option.key, "seed") == 0)
            ck_assert_str_eq(option.value, "7");
    }
    crescent_graph_close(graph);
}
END_TEST

/* A graph and the models made of it have the same ports, and it can be compiled again. */
START_TEST(a_graph_stays)
{
    crescent_graph *graph = open_graph(BLOCK, &small_block);
    crescent_model *models[2];
    crescent_port one, two;
    GOOD(crescent_graph_tap(graph, "y", NULL)); /* an output already */
    GOOD(crescent_graph_gradients(graph, NULL, 0));
    for (int i = 0; i < 2; i++)
        GOOD(crescent_compile(graph, NULL, &models[i]));
    for (int kind = CRESCENT_PARAM; kind <= CRESCENT_OUTPUT; kind++) {
        int n = crescent_graph_port_count(graph, (crescent_port_kind)kind);
        ck_assert_int_eq(crescent_port_count(models[1], (crescent_port_kind)kind), n);
        for (int i = 0; i < n; i++) {
            GOOD(crescent_graph_port_at(graph, (crescent_port_kind)kind, i, &one));
            GOOD(crescent_port_at(models[1], (crescent_port_kind)kind, i, &two));
            ck_assert_str_eq(one.name, two.name);
            ck_assert_int_eq(one.type, two.type);
            ck_assert_int_eq(one.rank, two.rank);
            ck_assert_mem_eq(one.shape, two.shape, sizeof one.shape);
            ck_assert_int_eq(crescent_port_find(models[0], (crescent_port_kind)kind, one.name), i);
        }
    }
    crescent_graph_close(graph); /* the models do not need the graph any more */
    void **x = run_drawn(models[0], 3), **y = run_drawn(models[1], 3);
    for (int i = 0; x[i]; i++) {
        GOOD(crescent_port_at(models[0], CRESCENT_OUTPUT, i, &one));
        ck_assert_mem_eq(x[i], y[i], (size_t)crescent_port_elements(&one) * 4);
    }
    free_tensors(x);
    free_tensors(y);
    crescent_close(models[0]);
    crescent_close(models[1]);
}
END_TEST

START_TEST(names_that_are_wrong)
{
    crescent_graph *graph = open_graph(BLOCK, &small_block);
    const char *cotangent = "z";
    crescent_port port;
    int index;
    REFUSED(crescent_graph_tap(graph, "yy", "--output"), "--output yy: no output or tapped value");
    REFUSED(crescent_graph_tap(graph, "yy", NULL), "block.lua: yy: no output");
    REFUSED(crescent_graph_gradients(graph, &cotangent, 1), "--cotangent z: no output");
    REFUSED(crescent_graph_gradients(graph, (const char *const[]){"y", "z"}, 2), "z: no output");
    ck_assert_int_eq(crescent_graph_port_count(graph, CRESCENT_INPUT), 1); /* as it was */
    REFUSED(crescent_graph_port_at(graph, CRESCENT_INPUT, 1, &port), "port 1 of kind 1");
    crescent_model *model = open_small(CRESCENT_REF);
    REFUSED(crescent_input_find(model, "xx", "--input", &index), "--input xx: no input of that");
    GOOD(crescent_input_find(model, "x", NULL, &index));
    ck_assert_int_eq(index, 0);
    ck_assert_int_eq(crescent_port_find(model, CRESCENT_INPUT, "q"), CRESCENT_NONE);
    REFUSED(crescent_port_at(model, CRESCENT_INPUT, 1, &port), "port 1 of kind 1");
    REFUSED(crescent_port_at(model, CRESCENT_INPUT, -1, &port), "port -1");
    REFUSED(crescent_draw_input(model, 1, 0, &index), "input 1");
    REFUSED(crescent_read_input(model, 0, "nowhere.npy", &index), "nowhere.npy");
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* ---- weights ---- */

/* Weights can be set one by one; a run before the last one is set is refused. */
START_TEST(weights_one_by_one)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    const crescent_setting settings[] = {{"T", "1"}, {"n_embd", "8"}, {"n_head", "2"}};
    const crescent_script how = {.settings = settings, .n_settings = 3};
    const crescent_config config = {.backend = CRESCENT_REF};
    crescent_model *model;
    crescent_port port;
    GOOD(crescent_open(context, BLOCK, &how, &config, &model));
    int n = crescent_port_count(model, CRESCENT_PARAM);
    float *zeros = calloc(8 * 32, sizeof *zeros);
    for (int i = 0; i < n; i++) {
        GOOD(crescent_port_at(model, CRESCENT_PARAM, i, &port));
        REFUSED(crescent_run(model, (const void *[]){x}, (void *[]){y}), port.name);
        GOOD(crescent_set_weight(model, i, zeros));
    }
    REFUSED(crescent_set_weight(model, n, zeros), "parameter 12");
    GOOD(crescent_run(model, (const void *[]){x}, (void *[]){y}));
    for (int i = 0; i < 8; i++) /* with zero weights, the block returns its input */
        ck_assert_float_eq(y[i], x[i]);
    crescent_close(model);
    free(zeros);
}
END_TEST

/* Weights can be read back from a model and saved, and another model that loads the file gives the
 * same results. */
START_TEST(weights_there_and_back)
{
    const char *paths[] = {in_folder("w.safetensors"), in_folder("more.safetensors")};
    crescent_model *one = open_small(CRESCENT_TCC), *two = open_small(CRESCENT_TCC);
    crescent_surplus surplus = {0};
    crescent_port port;
    static float weight[4 * 16 * 16];
    REFUSED(crescent_get_weight(one, 0, weight), "not kept");
    REFUSED(crescent_save_weights(one, paths[0]), "not kept");
    GOOD(crescent_keep_weights(one));
    GOOD(crescent_keep_weights(one)); /* as it was */
    REFUSED(crescent_get_weight(one, 0, weight), "has no values");
    void **x = run_drawn(one, 5);
    REFUSED(crescent_get_weight(one, 12, weight), "parameter 12");
    GOOD(crescent_save_weights(one, paths[0]));
    GOOD(crescent_load_weights(two, paths, 1, CRESCENT_MODEL_TENSORS_ONLY, &surplus));
    ck_assert_int_eq(surplus.count, 0);
    REFUSED(crescent_keep_weights(two), "was set before");
    for (int i = 0; i < crescent_port_count(one, CRESCENT_PARAM); i++) {
        GOOD(crescent_port_at(one, CRESCENT_PARAM, i, &port));
        GOOD(crescent_get_weight(one, i, weight));
        GOOD(crescent_set_weight(two, i, weight));
    }
    void **y = run_drawn(two, 5);
    ck_assert_mem_eq(x[0], y[0], 3 * 16 * sizeof(float));
    /* given together, a file of another model and a file with all weights are accepted */
    crescent_model *other;
    GOOD(crescent_open(context, STEP, NULL, NULL, &other));
    GOOD(crescent_keep_weights(other));
    GOOD(crescent_draw_weights(other, 0));
    GOOD(crescent_save_weights(other, paths[1]));
    GOOD(crescent_load_weights(two, paths, 2, CRESCENT_ANY_TENSORS, &surplus));
    ck_assert_int_eq(surplus.count, crescent_port_count(other, CRESCENT_PARAM));
    ck_assert_ptr_eq(surplus.file, paths[1]);
    ck_assert_str_eq(surplus.name, "'embedding.weight'");
    crescent_close(other);
    REFUSED(crescent_load_weights(two, paths, 2, CRESCENT_MODEL_TENSORS_ONLY, NULL), "--strict");
    REFUSED(crescent_load_weights(two, paths, 0, CRESCENT_ANY_TENSORS, NULL), "0 files");
    paths[1] = "nowhere.safetensors";
    REFUSED(crescent_load_weights(two, paths, 2, CRESCENT_ANY_TENSORS, NULL), "nowhere");
    REFUSED(crescent_run(two, (const void *const *)x, y), "has no values");
    free_tensors(x);
    free_tensors(y);
    crescent_close(one);
    crescent_close(two);
}
END_TEST

/* The bytes of a weight file in memory can stand at an odd address. */
START_TEST(weights_from_memory)
{
    const char *path = in_folder("w.safetensors");
    crescent_model *one = open_small(CRESCENT_TCC), *two = open_small(CRESCENT_TCC);
    crescent_surplus surplus;
    size_t length;
    GOOD(crescent_keep_weights(one));
    void **x = run_drawn(one, 5), **y = new_tensors(two, CRESCENT_OUTPUT);
    void **in = new_tensors(two, CRESCENT_INPUT);
    GOOD(crescent_save_weights(one, path));
    char *text = read_text(path, &length), *bytes = malloc(length + 1);
    memcpy(bytes + 1, text, length);
    GOOD(crescent_load_weights_bytes(two, "memory", bytes + 1, length, CRESCENT_MODEL_TENSORS_ONLY,
                                     &surplus));
    ck_assert_int_eq(surplus.count, 0);
    memset(bytes, 0, length + 1); /* the caller's again */
    free(bytes);
    GOOD(crescent_draw_input(two, 0, 5, in[0]));
    GOOD(crescent_run(two, (const void *const *)in, y));
    ck_assert_mem_eq(x[0], y[0], 3 * 16 * sizeof(float));
    REFUSED(crescent_load_weights_bytes(two, "memory", text, 4, CRESCENT_ANY_TENSORS, NULL),
            "memory: 4 bytes");
    REFUSED(crescent_load_weights_bytes(two, "memory", text, length - 1, CRESCENT_ANY_TENSORS, NULL),
            "memory: ");
    REFUSED(crescent_load_weights_bytes(two, "memory", "GGUF....", 8, CRESCENT_ANY_TENSORS, NULL),
            "memory: ");
    REFUSED(crescent_run(two, (const void *const *)in, y), "has no values");
    free(text);
    free_tensors(x);
    free_tensors(y);
    free_tensors(in);
    crescent_close(one);
    crescent_close(two);
}
END_TEST

/* ---- gradients ---- */

/* Gradients through the interface are equal to those in the file that `crescent run --grads`
 * writes, one cotangent being read from a file. */
START_TEST(gradients_are_the_programs)
{
    const char *ours = in_folder("ours.safetensors"), *cotangent = "y";
    char arguments[512];
    crescent_graph *graph = open_graph(BLOCK, &small_block);
    crescent_model *model;
    crescent_port port;
    crescent_file *file;
    GOOD(crescent_graph_gradients(graph, &cotangent, 1));
    REFUSED(crescent_graph_gradients(graph, NULL, 0), "already");
    GOOD(crescent_compile(graph, NULL, &model));
    GOOD(crescent_port_at(model, CRESCENT_INPUT, 1, &port));
    ck_assert_str_eq(port.of, "y");
    /* the cotangent, in a file for the program */
    float dy[3 * 16];
    for (int i = 0; i < 3 * 16; i++)
        dy[i] = (float)(i % 5) - 2;
    GOOD(crescent_file_open(context, in_folder("dy.npy"), &file));
    GOOD(crescent_file_put_npy(file, &port, dy));
    GOOD(crescent_file_commit(file));
    crescent_file_close(file);
    void **in = new_tensors(model, CRESCENT_INPUT), **out = new_tensors(model, CRESCENT_OUTPUT);
    GOOD(crescent_draw_weights(model, 4));
    GOOD(crescent_draw_input(model, 0, 4, in[0]));
    memcpy(in[1], dy, sizeof dy);
    GOOD(crescent_run(model, (const void *const *)in, out));
    GOOD(crescent_file_open(context, ours, &file));
    GOOD(crescent_put_gradients(model, out, file));
    GOOD(crescent_file_commit(file));
    crescent_file_close(file);
    snprintf(arguments, sizeof arguments,
             "run " BLOCK " --set T=3 --set n_embd=16 --set n_head=2 --seed 4 --grads %s "
             "--cotangent y=%s",
             in_folder("theirs.safetensors"), in_folder("dy.npy"));
    ck_assert_int_eq(program(arguments), 0);
    same_files(ours, in_folder("theirs.safetensors"));
    /* the values that are read back are equal to the outputs */
    int n = crescent_port_count(model, CRESCENT_OUTPUT);
    double **read = calloc((size_t)n, sizeof *read);
    for (int i = 1; i < n; i++) {
        GOOD(crescent_port_at(model, CRESCENT_OUTPUT, i, &port));
        ck_assert_ptr_nonnull(port.of);
        read[i] = calloc((size_t)crescent_port_elements(&port), sizeof **read);
    }
    GOOD(crescent_read_gradients(model, ours, read));
    for (int i = 1; i < n; i++) {
        GOOD(crescent_port_at(model, CRESCENT_OUTPUT, i, &port));
        for (int64_t j = 0; j < crescent_port_elements(&port); j++)
            ck_assert_double_eq(read[i][j], (double)((float *)out[i])[j]);
        free(read[i]);
    }
    REFUSED(crescent_read_gradients(model, in_folder("dy.npy"), read), "dy.npy");
    free(read);
    free_tensors(in);
    free_tensors(out);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* ---- training ---- */

static crescent_trainer *open_trainer(const char *path, const crescent_script *how)
{
    crescent_graph *graph = open_graph(path, how);
    crescent_trainer *trainer;
    GOOD(crescent_trainer_open(graph, NULL, &trainer));
    crescent_graph_close(graph);
    return trainer;
}

/* Ready for its first step. */
static crescent_trainer *begin(const crescent_script *how)
{
    crescent_trainer *trainer = open_trainer(STEP, how);
    GOOD(crescent_draw_weights(crescent_trainer_model(trainer), how->seed));
    GOOD(crescent_trainer_start(trainer));
    return trainer;
}

static crescent_training status_of(const crescent_trainer *trainer)
{
    crescent_training status;
    GOOD(crescent_trainer_status(trainer, &status));
    return status;
}

static void make_steps(crescent_trainer *trainer, int n)
{
    for (int i = 0; i < n; i++)
        GOOD(crescent_trainer_step(trainer));
}

/* A trainer lowers the loss; its checkpoint has the bytes of the program's; a resumed training
 * gives the same bits. */
START_TEST(a_training)
{
    const crescent_script how = {.seed = 3};
    const char *ours = in_folder("ours.safetensors"), *resumed = in_folder("resumed.safetensors");
    char arguments[256];
    crescent_trainer *trainer = begin(&how);
    crescent_checkpoint *checkpoint;
    crescent_setting option;
    crescent_loss first, last;
    int64_t from, to;
    ck_assert(isnan(status_of(trainer).loss) && status_of(trainer).validated == -1);
    GOOD(crescent_trainer_check_save(trainer, ours, NULL));
    ck_assert_int_ne(access(ours, F_OK), 0);
    make_steps(trainer, 200);
    GOOD(crescent_trainer_save(trainer, in_folder("200.safetensors")));
    make_steps(trainer, 100);
    ck_assert_int_eq(status_of(trainer).step, 300);
    ck_assert_double_lt(status_of(trainer).loss, 0.5);
    ck_assert(!status_of(trainer).has_lr && isnan(status_of(trainer).lr));
    ck_assert_int_eq(crescent_loss_count(trainer, CRESCENT_STEP_LOSSES), 300);
    ck_assert_int_eq(crescent_loss_count(trainer, CRESCENT_VALIDATION_LOSSES), 0);
    GOOD(crescent_loss_at(trainer, CRESCENT_STEP_LOSSES, 0, &first));
    GOOD(crescent_loss_at(trainer, CRESCENT_STEP_LOSSES, 299, &last));
    ck_assert(first.step == 1 && first.loss > 2 && last.loss == status_of(trainer).loss);
    GOOD(crescent_loss_range(trainer, &from, &to));
    ck_assert(from == 0 && to == 300);
    GOOD(crescent_trainer_save(trainer, ours));
    snprintf(arguments, sizeof arguments, "train " STEP " --seed 3 --steps 300 --checkpoint %s",
             in_folder("theirs.safetensors"));
    ck_assert_int_eq(program(arguments), 0);
    same_files(ours, in_folder("theirs.safetensors"));
    crescent_trainer_close(trainer);

    trainer = begin(&how);
    GOOD(crescent_trainer_resume(trainer, in_folder("200.safetensors")));
    ck_assert_int_eq(status_of(trainer).step, 200);
    make_steps(trainer, 100);
    GOOD(crescent_trainer_save(trainer, resumed));
    same_files(ours, resumed);
    GOOD(crescent_trainer_save_weights(trainer, in_folder("weights.safetensors")));
    GOOD(crescent_save_weights(crescent_trainer_model(trainer), in_folder("same.safetensors")));
    same_files(in_folder("weights.safetensors"), in_folder("same.safetensors"));
    crescent_trainer_close(trainer);

    GOOD(crescent_checkpoint_open(context, ours, &checkpoint));
    ck_assert_int_eq(crescent_checkpoint_step(checkpoint), 300);
    ck_assert_int_eq(crescent_checkpoint_seed(checkpoint), 3);
    ck_assert_int_eq(crescent_checkpoint_option_count(checkpoint), 6);
    GOOD(crescent_checkpoint_option_at(checkpoint, 0, &option));
    ck_assert_str_eq(option.key, "B");
    ck_assert_str_eq(option.value, "64");
    REFUSED(crescent_checkpoint_option_at(checkpoint, 6, &option), "option 6");
    crescent_checkpoint_close(checkpoint);
    REFUSED(crescent_checkpoint_open(context, in_folder("weights.safetensors"), &checkpoint),
            "crescent.step");
}
END_TEST

#define NET "tests/scripts/train_one.lua"

/* Writes a .npy file for an input of the net: two batches of ids, each plus `shift`. */
static void write_ids(const char *path, int shift)
{
    int32_t ids[2 * 12];
    crescent_file *file;
    const crescent_port port = {.type = CRESCENT_I32, .rank = 2, .shape = {2, 12}};
    for (int i = 0; i < 24; i++)
        ids[i] = (i * 5 + shift) % 7;
    GOOD(crescent_file_open(context, path, &file));
    GOOD(crescent_file_put_npy(file, &port, ids));
    GOOD(crescent_file_commit(file));
    crescent_file_close(file);
}

static int stop_at_once(void *argument)
{
    ++*(int *)argument;
    return 1;
}

/* A training reads its data from files or from memory, and can be validated on other data. */
START_TEST(data_and_validation)
{
    crescent_trainer *trainer = open_trainer(NET, NULL), *other = open_trainer(NET, NULL);
    const crescent_input_file files[] = {{"ids", in_folder("ids.npy")},
                                         {"target", in_folder("target.npy")}};
    crescent_model *model = crescent_trainer_model(trainer);
    int index, asked = 0;
    int32_t ids[2][12], bad[12] = {7};
    float one[7 * 16], two[7 * 16];
    double loss = 0;
    write_ids(files[0].path, 0);
    write_ids(files[1].path, 3);
    REFUSED(crescent_trainer_start(trainer), "has no data");
    GOOD(crescent_trainer_feed(trainer, files, 2));
    REFUSED(crescent_trainer_feed(trainer, files, 2), "a second time");
    GOOD(crescent_input_find(model, "ids", NULL, &index));
    REFUSED(crescent_trainer_set_input(trainer, index, ids), "has a file");
    GOOD(crescent_trainer_start(trainer));
    REFUSED(crescent_trainer_step(trainer), "has no values");
    GOOD(crescent_draw_weights(model, 1));
    GOOD(crescent_draw_weights(crescent_trainer_model(other), 1));
    REFUSED(crescent_trainer_validate(trainer, NULL, NULL, &loss), "no validation");
    GOOD(crescent_trainer_validation(trainer, files, 2));
    REFUSED(crescent_trainer_validation(trainer, files, 2), "already");
    ck_assert_int_eq(crescent_trainer_validate(trainer, stop_at_once, &asked, &loss),
                     CRESCENT_STOPPED);
    ck_assert_int_eq(asked, 1);
    GOOD(crescent_trainer_validate(trainer, NULL, NULL, &loss));
    ck_assert(loss > 1 && status_of(trainer).validation == loss);
    ck_assert_int_eq(status_of(trainer).validated, 0);
    ck_assert_int_eq(crescent_loss_count(trainer, CRESCENT_VALIDATION_LOSSES), 1);
    /* setting the inputs of each step gives the bits of data from a file */
    REFUSED(crescent_trainer_set_input(other, index, bad), "expected an id from 0 to 6");
    for (int step = 0; step < 4; step++) {
        const char *names[] = {"ids", "target"};
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 12; j++)
                ids[i][j] = ((step % 2 * 12 + j) * 5 + 3 * i) % 7;
            GOOD(crescent_input_find(crescent_trainer_model(other), names[i], NULL, &index));
            GOOD(crescent_trainer_set_input(other, index, ids[i]));
        }
        if (!step)
            GOOD(crescent_trainer_start(other));
        make_steps(trainer, 1);
        make_steps(other, 1);
    }
    index = crescent_port_find(model, CRESCENT_OUTPUT, "embed.weight");
    ck_assert_int_ne(index, CRESCENT_NONE);
    GOOD(crescent_trainer_get(trainer, CRESCENT_OUTPUT, index, one));
    index = crescent_port_find(model, CRESCENT_PARAM, "embed.weight");
    GOOD(crescent_trainer_get(other, CRESCENT_PARAM, index, two));
    ck_assert_mem_eq(one, two, sizeof one);
    index = crescent_port_find(model, CRESCENT_INPUT, "step");
    GOOD(crescent_trainer_get(trainer, CRESCENT_INPUT, index, ids));
    double before = loss;
    GOOD(crescent_trainer_validate(trainer, NULL, NULL, &loss));
    ck_assert_double_ne(loss, before);
    REFUSED(crescent_trainer_validation(other, NULL, 0), "has no data for the validation");
    crescent_trainer_close(trainer);
    crescent_trainer_close(other);
}
END_TEST

START_TEST(training_in_the_wrong_order)
{
    const crescent_script how = {.seed = 1}, another = {.seed = 2};
    const char *path = in_folder("c.safetensors");
    crescent_trainer *trainer = open_trainer(STEP, &how), *other;
    crescent_graph *graph;
    float value[64];
    REFUSED(crescent_trainer_step(trainer), "has not started");
    REFUSED(crescent_trainer_save(trainer, path), "has not started");
    REFUSED(crescent_trainer_save_weights(trainer, path), "has not started");
    REFUSED(crescent_trainer_check_save(trainer, NULL, path), "has not started");
    REFUSED(crescent_trainer_resume(trainer, path), path);
    REFUSED(crescent_trainer_validation(trainer, NULL, 0), "has not started");
    REFUSED(crescent_trainer_get(trainer, CRESCENT_INPUT, 0, value), "has not started");
    REFUSED(crescent_trainer_get(trainer, CRESCENT_OUTPUT, 0, value), "found no step");
    REFUSED(crescent_trainer_get(trainer, CRESCENT_PARAM, 0, value), "has no values");
    REFUSED(crescent_trainer_get(trainer, CRESCENT_PARAM, 99, value), "port 99");
    REFUSED(crescent_trainer_set_input(trainer, 99, value), "input 99");
    REFUSED(crescent_loss_at(trainer, CRESCENT_STEP_LOSSES, 0, &(crescent_loss){0}), "loss 0");
    GOOD(crescent_trainer_start(trainer));
    REFUSED(crescent_trainer_start(trainer), "already");
    REFUSED(crescent_trainer_feed(trainer, NULL, 0), "after the training has started");
    REFUSED(crescent_trainer_save(trainer, path), "has no values");
    GOOD(crescent_draw_weights(crescent_trainer_model(trainer), 1));
    GOOD(crescent_trainer_save(trainer, path));
    other = begin(&another);
    REFUSED(crescent_trainer_resume(other, path), "expected the same seed");
    make_steps(other, 1);
    crescent_trainer_close(trainer);
    crescent_trainer_close(other);
    graph = open_graph(BLOCK, &small_block); /* no step of a training */
    REFUSED(crescent_trainer_open(graph, NULL, &trainer), "no output has the name of a parameter");
    ck_assert_ptr_null(trainer);
    crescent_graph_close(graph);
}
END_TEST

/* ---- reports ---- */

START_TEST(reports_of_the_library)
{
    crescent_model *model = open_small(CRESCENT_TCC), *ref = open_small(CRESCENT_REF);
    crescent_report report;
    crescent_kernel kernel;
    double flops = 0, ns[64] = {0}, sum = 0;
    int calls = 0;
    GOOD(crescent_report_of(model, &report));
    ck_assert_str_eq(report.name, "gpt2_block");
    ck_assert(report.compiled && report.backend == CRESCENT_TCC && report.threads == 1);
    ck_assert(report.passes_ns > 0 && report.emit_ns > 0 && report.compile_ns > 0);
    ck_assert(report.n_kernels > 0 && report.n_kernels <= 64 && report.ops > report.n_kernels);
    ck_assert(report.arena_bytes >= report.arena_bytes_least && report.arena_bytes_least > 0);
    ck_assert_int_eq(report.border_bytes, 2 * 3 * 16 * 4);
    ck_assert_int_eq(report.parameter_bytes, (12 * 16 * 16 + 13 * 16) * 4);
    ck_assert_int_eq(report.activation_bytes, -1);
    for (int i = 0; i < report.n_kernels; i++) {
        GOOD(crescent_kernel_at(model, i, &kernel));
        ck_assert(*kernel.name && *kernel.where && kernel.calls > 0);
        flops += kernel.flops * kernel.calls;
        calls += kernel.calls;
    }
    ck_assert_double_eq(flops, report.flops + report.flops_again);
    ck_assert_int_eq(calls, report.n_calls);
    REFUSED(crescent_kernel_at(model, report.n_kernels, &kernel), "kernel");
    void **in = new_tensors(model, CRESCENT_INPUT), **out = run_drawn(model, 2);
    void **timed = new_tensors(model, CRESCENT_OUTPUT);
    GOOD(crescent_draw_input(model, 0, 2, in[0]));
    GOOD(crescent_run_timed(model, (const void *const *)in, timed, ns));
    ck_assert_mem_eq(out[0], timed[0], 3 * 16 * sizeof(float));
    for (int i = 0; i < report.n_kernels; i++)
        sum += ns[i];
    ck_assert_double_gt(sum, 0);
    GOOD(crescent_report_of(ref, &report));
    ck_assert(!report.compiled && report.n_kernels == 0 && report.backend == CRESCENT_REF);
    GOOD(crescent_draw_weights(ref, 0));
    REFUSED(crescent_run_timed(ref, (const void *const *)in, timed, ns), "has no kernels");
    free_tensors(in);
    free_tensors(out);
    free_tensors(timed);
    crescent_close(model);
    crescent_close(ref);
}
END_TEST

START_TEST(the_machine)
{
    crescent_model *model = open_small(CRESCENT_TCC);
    crescent_machine *machine;
    GOOD(crescent_machine_open(model, &machine));
    ck_assert_double_gt(crescent_machine_flops(machine), 0);
    ck_assert_double_gt(crescent_machine_products(machine, "f32"), 0);
    ck_assert_double_gt(crescent_machine_products(machine, "int8"), 0);
    ck_assert_double_gt(crescent_machine_products(machine, "bf16"), 0);
    ck_assert_double_eq(crescent_machine_products(machine, "int9"), 0);
    ck_assert_double_eq(crescent_machine_products(machine, NULL), 0);
    ck_assert_double_gt(crescent_machine_read(machine, 1 << 16), 0);
    ck_assert_double_gt(crescent_machine_read_weights(machine, 0), 0);
    ck_assert_double_gt(crescent_machine_read_weights(machine, (int64_t)1 << 40), 0);
    ck_assert_double_eq(crescent_machine_read_weights(machine, -1), 0);
    ck_assert_double_eq(crescent_machine_read(machine, -1), 0);
    crescent_machine_close(machine);
    crescent_close(model);
}
END_TEST

/* ---- C ---- */

static const struct {
    const char *script, *arguments;
    crescent_emit_kind kind;
} emissions[] = {{BLOCK, "--set T=3 --set n_embd=16 --set n_head=2", CRESCENT_EMIT_RUN},
                 {STEP, "--train", CRESCENT_EMIT_STEP}};

START_TEST(c_is_the_programs)
{
    bool step = emissions[_i].kind == CRESCENT_EMIT_STEP;
    crescent_graph *graph = open_graph(emissions[_i].script, step ? NULL : &small_block);
    crescent_report report;
    char arguments[512], *source, *header;
    ck_assert_int_eq(mkdir(in_folder("ours"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder("theirs"), 0700), 0);
    GOOD(crescent_emit(graph, NULL, emissions[_i].kind, in_folder("ours/m.c"), &report));
    ck_assert_str_eq(report.name, crescent_graph_name(graph));
    ck_assert_int_gt(report.n_kernels, 0);
    snprintf(arguments, sizeof arguments, "emit %s %s -o %s", emissions[_i].script,
             emissions[_i].arguments, in_folder("theirs/m.c"));
    ck_assert_int_eq(program(arguments), 0);
    same_files(in_folder("ours/m.c"), in_folder("theirs/m.c"));
    same_files(in_folder("ours/m.h"), in_folder("theirs/m.h"));
    GOOD(crescent_emit_text(graph, NULL, emissions[_i].kind, "m.h", &source, &header));
    char *c = read_text(in_folder("ours/m.c"), NULL), *h = read_text(in_folder("ours/m.h"), NULL);
    ck_assert_str_eq(source, c);
    ck_assert_str_eq(header, h);
    free(c);
    free(h);
    crescent_free(source);
    crescent_free(header);
    REFUSED(crescent_emit(graph, NULL, CRESCENT_EMIT_RUN, "no_suffix", NULL), "no_suffix");
    REFUSED(crescent_emit_text(graph, NULL, CRESCENT_EMIT_RUN, "a\"b.h", &source, &header),
            "#include cannot");
    if (!step)
        REFUSED(crescent_emit(graph, NULL, CRESCENT_EMIT_STEP, in_folder("s.c"), NULL),
                "no output has the name of a parameter");
    crescent_graph_close(graph);
}
END_TEST

START_TEST(dumps_are_the_programs)
{
    crescent_graph *graph = open_graph(BLOCK, &small_block);
    const crescent_config config = {.skip = (const char *const[]){"fuse"}, .n_skip = 1};
    crescent_pass pass;
    char *text, command[512];
    const char *crescent = getenv("CRESCENT");
    for (int i = -2; i < crescent_pass_count(); i++) {
        const char *name = i == -2 ? "script" : "emit";
        if (i >= 0) {
            GOOD(crescent_pass_at(i, &pass));
            ck_assert(*pass.doc);
            name = pass.name;
        }
        GOOD(crescent_dump(graph, NULL, name, &text));
        snprintf(command, sizeof command,
                 "%s dump " BLOCK " --set T=3 --set n_embd=16 --set n_head=2 --after %s >%s",
                 crescent ? crescent : "build/crescent", name, in_folder("dump"));
        ck_assert_int_eq(system(command), 0);
        char *theirs = read_text(in_folder("dump"), NULL);
        ck_assert_msg(strcmp(text, theirs) == 0, "after %s", name);
        free(theirs);
        crescent_free(text);
    }
    REFUSED(crescent_dump(graph, NULL, "nothing", &text), "nothing");
    REFUSED(crescent_dump(graph, &config, "emit", &text), "--skip fuse");
    crescent_graph_close(graph);
}
END_TEST

/* ---- files and memory ---- */

START_TEST(files_appear_whole)
{
    const char *path = in_folder("a.npy");
    const float numbers[] = {1, -2, 3.5f, 0, 1e-3f, 7};
    double read[6];
    crescent_port port = {.name = "a", .type = CRESCENT_F32, .rank = 2, .shape = {2, 3}};
    crescent_file *file;
    void *memory;
    GOOD(crescent_file_open(context, path, &file));
    GOOD(crescent_file_put_npy(file, &port, numbers));
    crescent_file_close(file);
    ck_assert_int_ne(access(path, F_OK), 0); /* it was not committed */
    GOOD(crescent_file_open(context, path, &file));
    GOOD(crescent_file_put_npy(file, &port, NULL)); /* the header alone */
    GOOD(crescent_file_put(file, numbers, sizeof numbers));
    GOOD(crescent_file_finish(file));
    ck_assert_int_ne(access(path, F_OK), 0);
    GOOD(crescent_file_commit(file));
    REFUSED(crescent_file_commit(file), "closed");
    REFUSED(crescent_file_put(file, "x", 1), "closed");
    crescent_file_close(file);
    GOOD(crescent_read_npy(context, path, &port, read));
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq(read[i], (double)numbers[i]);
    port.shape[1] = 4;
    REFUSED(crescent_read_npy(context, path, &port, read), "shape [2, 3], expected [2, 4] for a");
    port.rank = 9;
    REFUSED(crescent_read_npy(context, path, &port, read), "rank 9");
    REFUSED(crescent_file_open(context, in_folder("none/a.npy"), &file), "none/a.npy");
    REFUSED(crescent_memory(context, INT64_MAX, "the moon", &memory), "the moon");
    ck_assert_ptr_null(memory);
    GOOD(crescent_memory(context, 5, "a little", &memory));
    ck_assert_uint_eq((uintptr_t)memory % 64, 0);
    crescent_free(memory);
}
END_TEST

/* ---- what there is ---- */

START_TEST(tables_of_the_library)
{
    crescent_op op;
    crescent_pass pass;
    char text[32];
    int elementwise = 0, n = crescent_op_count();
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(crescent_op_at(i, &op), CRESCENT_OK);
        ck_assert(op.name && *op.name && *op.doc && *op.equation);
        ck_assert_int_eq(op.elementwise || op.reduction, *op.gradient && *op.types);
        elementwise += op.elementwise;
    }
    ck_assert(elementwise > 10 && n > elementwise);
    ck_assert_int_eq(crescent_op_at(n, &op), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_pass_at(-1, &pass), CRESCENT_FAILED);
    ck_assert_int_eq(crescent_pass_at(crescent_pass_count(), &pass), CRESCENT_FAILED);
    ck_assert_str_eq(crescent_version(), CRESCENT_VERSION);
    ck_assert_str_eq(crescent_type_name(CRESCENT_I32), "i32");
    ck_assert_ptr_null(crescent_type_name((crescent_type)9));
    ck_assert_str_eq(crescent_backend_name(CRESCENT_STANDALONE), "standalone");
    ck_assert_ptr_null(crescent_backend_name(CRESCENT_BACKENDS));
    ck_assert_str_eq(crescent_shape_text(text, sizeof text, 3, (int64_t[]){1, 2, 30}),
                     "[1, 2, 30]");
    ck_assert_int_le(crescent_clock(), crescent_clock());
}
END_TEST

/* ---- misuse ---- */

START_TEST(configurations_that_are_wrong)
{
    const struct {
        crescent_config config;
        const char *word;
    } rows[] = {{{.threads = -1}, "-1 threads"},
                {{.threads = 257}, "257 threads"},
                {{.backend = CRESCENT_BACKENDS}, "backend 4"},
                {{.max_arena = 1}, "gpt2_block.lua: the arena takes at least "},
                {{.max_arena = -1}, "max_arena -1"},
                {{.isa = "mmx"}, "mmx"},
                {{.n_skip = 1}, "n_skip 1"},
                {{.skip = (const char *const[]){NULL}, .n_skip = 1}, "pass 0 to skip is null"},
                {{.skip = (const char *const[]){"nothing"}, .n_skip = 1}, "nothing"}};
    const crescent_setting half = {"T", NULL};
    const crescent_script scripts[] = {
        {.settings = &half, .n_settings = 1}, {.n_settings = 1}, {.n_defaults = -1}, {.seed = -1}};
    crescent_model *model;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        REFUSED(crescent_open(context, BLOCK, NULL, &rows[i].config, &model), rows[i].word);
        ck_assert_ptr_null(model);
    }
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        REFUSED(crescent_open(context, BLOCK, &scripts[i], NULL, &model), BLOCK);
    REFUSED(crescent_open(context, "graphs/nowhere.lua", NULL, NULL, &model), "graphs/nowhere.lua");
    REFUSED(crescent_open(context, "graphs/gpt2_blok.lua", NULL, NULL, &model),
            "did you mean graphs/gpt2_block.lua?");
    REFUSED(crescent_open(context, "graphs/\x1b[2J.lua", NULL, NULL, &model), "\\x1b[2J");
}
END_TEST

/* Ids that pass through movement ops before a gather are limited by the table's rows; with two tables, by
 * the smaller one's. */
START_TEST(ids_that_are_moved)
{
    static const char *const texts[] = {
        "return {y = gather(param('w', {8, 4}), reshape(transpose(ids, 1, 2), {6}))}",
        ("return {y = gather(param('w', {9, 4}), reshape(ids, {6})) + gather(param('v', {8, 4}), "
         "reshape(ids, {6}))}"),
        "return {y = gather(param('w', {8, 4}), ids:slice({0, 1}, {2, 2}))}",
    };
    char text[300];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        crescent_graph *graph;
        crescent_model *model;
        crescent_port port;
        snprintf(text, sizeof text, "local ids = input('ids', {2, 3}, 'i32')\n%s", texts[i]);
        GOOD(crescent_graph_open_text(context, "ids.lua", text, strlen(text), NULL, &graph));
        GOOD(crescent_compile(graph, NULL, &model));
        GOOD(crescent_port_at(model, CRESCENT_INPUT, 0, &port));
        ck_assert_int_eq(port.ids, 8);
        crescent_close(model);
        crescent_graph_close(graph);
    }
}
END_TEST

/* The library checks ids before a run, since kernels read rows of a table by them. */
START_TEST(ids_that_are_none)
{
    crescent_model *model;
    crescent_port port;
    GOOD(crescent_open(context, NET, NULL, NULL, &model));
    void **out = run_drawn(model, 1), **in = new_tensors(model, CRESCENT_INPUT);
    int ids = crescent_port_find(model, CRESCENT_INPUT, "ids");
    GOOD(crescent_port_at(model, CRESCENT_INPUT, ids, &port));
    ck_assert_int_eq(port.ids, 7);
    GOOD(crescent_run(model, (const void *const *)in, out));
    ((int32_t *)in[ids])[3] = 7;
    REFUSED(crescent_run(model, (const void *const *)in, out), "element 3 is 7");
    ((int32_t *)in[ids])[3] = -1;
    REFUSED(crescent_run(model, (const void *const *)in, out), "element 3 is -1");
    free_tensors(out);
    free_tensors(in);
    crescent_close(model);
}
END_TEST

/* Makes a call with a null handle: its error is the thread's, as there is no context. */
#define WITHOUT(call)                                                                              \
    do {                                                                                           \
        ck_assert_int_eq((call), CRESCENT_FAILED);                                                 \
        ck_assert_msg(strstr(crescent_error(NULL), "is null or negative"), "%s: %s", #call,        \
                      crescent_error(NULL));                                                       \
    } while (0)

START_TEST(null_handles)
{
    crescent_graph *graph;
    crescent_model *model;
    crescent_trainer *trainer;
    crescent_checkpoint *checkpoint;
    crescent_machine *machine;
    crescent_file *file;
    crescent_port port = {0};
    crescent_setting option;
    crescent_report report;
    crescent_kernel kernel;
    crescent_training training;
    crescent_loss loss;
    crescent_difference difference;
    const crescent_tolerance tolerance = {0, 0, -1, 0};
    const char *path = "p";
    char *text, *more;
    double number, *numbers = &number;
    float element = 0;
    void *memory = &element;
    int64_t a, b;
    int index;
    WITHOUT(crescent_graph_open(NULL, path, NULL, &graph));
    WITHOUT(crescent_graph_open_text(NULL, path, path, 1, NULL, &graph));
    WITHOUT(crescent_graph_option_at(NULL, 0, &option));
    WITHOUT(crescent_graph_tap(NULL, path, NULL));
    WITHOUT(crescent_graph_gradients(NULL, NULL, 0));
    WITHOUT(crescent_graph_port_at(NULL, CRESCENT_INPUT, 0, &port));
    WITHOUT(crescent_compile(NULL, NULL, &model));
    WITHOUT(crescent_open(NULL, path, NULL, NULL, &model));
    WITHOUT(crescent_port_at(NULL, CRESCENT_INPUT, 0, &port));
    WITHOUT(crescent_input_find(NULL, path, NULL, &index));
    WITHOUT(crescent_load_weights(NULL, &path, 1, CRESCENT_ANY_TENSORS, NULL));
    WITHOUT(crescent_load_weights_bytes(NULL, path, path, 1, CRESCENT_ANY_TENSORS, NULL));
    WITHOUT(crescent_draw_weights(NULL, 0));
    WITHOUT(crescent_set_weight(NULL, 0, &element));
    WITHOUT(crescent_keep_weights(NULL));
    WITHOUT(crescent_get_weight(NULL, 0, &element));
    WITHOUT(crescent_get_state(NULL, 0, &element));
    WITHOUT(crescent_run_entry(NULL, "a", NULL, NULL));
    WITHOUT(crescent_set_state(NULL, 0, &element));
    WITHOUT(crescent_reset_states(NULL));
    WITHOUT(crescent_save_weights(NULL, path));
    WITHOUT(crescent_draw_input(NULL, 0, 0, memory));
    WITHOUT(crescent_read_input(NULL, 0, path, memory));
    WITHOUT(crescent_run(NULL, (const void *const *)&memory, &memory));
    WITHOUT(crescent_run_timed(NULL, (const void *const *)&memory, &memory, &number));
    WITHOUT(crescent_put_gradients(NULL, &memory, NULL));
    WITHOUT(crescent_read_gradients(NULL, path, &numbers));
    WITHOUT(crescent_report_of(NULL, &report));
    WITHOUT(crescent_kernel_at(NULL, 0, &kernel));
    WITHOUT(crescent_machine_open(NULL, &machine));
    WITHOUT(crescent_compare(NULL, NULL, 1, &tolerance, &difference));
    WITHOUT(crescent_compare(&number, &number, -1, &tolerance, &difference));
    WITHOUT(crescent_compare(&number, &number, 1, NULL, &difference));
    WITHOUT(crescent_trainer_open(NULL, NULL, &trainer));
    WITHOUT(crescent_trainer_feed(NULL, NULL, 0));
    WITHOUT(crescent_trainer_set_input(NULL, 0, memory));
    WITHOUT(crescent_trainer_start(NULL));
    WITHOUT(crescent_trainer_step(NULL));
    WITHOUT(crescent_trainer_status(NULL, &training));
    WITHOUT(crescent_trainer_get(NULL, CRESCENT_PARAM, 0, memory));
    WITHOUT(crescent_loss_at(NULL, CRESCENT_STEP_LOSSES, 0, &loss));
    WITHOUT(crescent_loss_range(NULL, &a, &b));
    WITHOUT(crescent_trainer_validation(NULL, NULL, 0));
    WITHOUT(crescent_trainer_validate(NULL, NULL, NULL, NULL));
    WITHOUT(crescent_checkpoint_open(NULL, path, &checkpoint));
    WITHOUT(crescent_checkpoint_option_at(NULL, 0, &option));
    WITHOUT(crescent_trainer_resume(NULL, path));
    WITHOUT(crescent_trainer_save(NULL, path));
    WITHOUT(crescent_trainer_save_weights(NULL, path));
    WITHOUT(crescent_trainer_check_save(NULL, path, path));
    WITHOUT(crescent_emit(NULL, NULL, CRESCENT_EMIT_RUN, path, NULL));
    WITHOUT(crescent_emit_text(NULL, NULL, CRESCENT_EMIT_RUN, path, &text, &more));
    WITHOUT(crescent_dump(NULL, NULL, path, &text));
    WITHOUT(crescent_pass_at(0, NULL));
    WITHOUT(crescent_op_at(0, NULL));
    WITHOUT(crescent_target_at(0, NULL));
    WITHOUT(crescent_pack(NULL, &port, sizeof element, memory, memory));
    WITHOUT(crescent_pack(&port, NULL, sizeof element, memory, memory));
    WITHOUT(crescent_pack(&port, &port, sizeof element, NULL, memory));
    WITHOUT(crescent_pack(&port, &port, sizeof element, memory, NULL));
    WITHOUT(crescent_unpack(NULL, &port, sizeof element, memory, memory));
    WITHOUT(crescent_unpack(&port, NULL, sizeof element, memory, memory));
    WITHOUT(crescent_unpack(&port, &port, sizeof element, NULL, memory));
    WITHOUT(crescent_unpack(&port, &port, sizeof element, memory, NULL));
    WITHOUT(crescent_file_open(NULL, path, &file));
    WITHOUT(crescent_file_put(NULL, path, 1));
    WITHOUT(crescent_file_put_npy(NULL, &port, memory));
    WITHOUT(crescent_file_finish(NULL));
    WITHOUT(crescent_file_commit(NULL));
    WITHOUT(crescent_read_npy(NULL, path, &port, &number));
    WITHOUT(crescent_memory(NULL, 1, path, &memory));
    ck_assert(!graph && !model && !trainer && !checkpoint && !machine && !file && !memory);
    crescent_context_free(NULL);
    crescent_graph_close(NULL);
    crescent_close(NULL);
    crescent_machine_close(NULL);
    crescent_trainer_close(NULL);
    crescent_checkpoint_close(NULL);
    crescent_file_close(NULL);
    crescent_free(NULL);
}
END_TEST

/* Queries of a null handle return null, 0 or CRESCENT_NONE. */
START_TEST(queries_of_null_handles)
{
    ck_assert_ptr_null(crescent_graph_name(NULL));
    ck_assert_int_eq(crescent_graph_time(NULL), 0);
    ck_assert_int_eq(crescent_graph_option_count(NULL), 0);
    ck_assert_int_eq(crescent_graph_port_count(NULL, CRESCENT_INPUT), 0);
    ck_assert_int_eq(crescent_port_count(NULL, CRESCENT_INPUT), 0);
    ck_assert_int_eq(crescent_port_find(NULL, CRESCENT_INPUT, "x"), CRESCENT_NONE);
    ck_assert_int_eq(crescent_port_elements(NULL), 0);
    ck_assert_ptr_null(crescent_shape_text(NULL, 0, 0, NULL));
    ck_assert_ptr_null(crescent_exact_output(NULL, 0));
    ck_assert_double_eq(crescent_machine_flops(NULL), 0);
    ck_assert_double_eq(crescent_machine_products(NULL, "int8"), 0);
    ck_assert_double_eq(crescent_machine_read(NULL, 1), 0);
    ck_assert_double_eq(crescent_machine_read_weights(NULL, 1), 0);
    ck_assert_int_eq(crescent_same_bits(NULL, NULL, 1), 0);
    ck_assert_ptr_null(crescent_trainer_model(NULL));
    ck_assert_int_eq(crescent_loss_count(NULL, CRESCENT_STEP_LOSSES), 0);
    ck_assert_int_eq(crescent_checkpoint_step(NULL), 0);
    ck_assert_int_eq(crescent_checkpoint_seed(NULL), 0);
    ck_assert_int_eq(crescent_checkpoint_option_count(NULL), 0);
    ck_assert_int_eq(crescent_graph_entry_count(NULL), 0);
    ck_assert_ptr_null(crescent_graph_entry_name(NULL, 0));
}
END_TEST

/* A null argument next to a valid handle: the error is stored in the context. */
START_TEST(null_arguments)
{
    const char *word = "is null or negative", *none = NULL;
    crescent_graph *graph;
    crescent_model *model = open_small(CRESCENT_TCC);
    crescent_trainer *trainer = open_trainer(STEP, NULL);
    crescent_input_file half = {"x", NULL};
    float x[3 * 16] = {0};
    crescent_file *file;
    char *text;
    REFUSED(crescent_graph_open(context, NULL, NULL, &graph), word);
    ck_assert_ptr_null(graph);
    REFUSED(crescent_graph_open(context, BLOCK, NULL, NULL), word);
    graph = open_graph(BLOCK, &small_block);
    REFUSED(crescent_graph_open_text(context, "n", NULL, 1, NULL, &(crescent_graph *){0}), word);
    REFUSED(crescent_graph_option_at(graph, 0, NULL), word);
    REFUSED(crescent_graph_tap(graph, NULL, NULL), word);
    REFUSED(crescent_graph_gradients(graph, NULL, -1), word);
    REFUSED(crescent_graph_gradients(graph, NULL, 1), "cotangent 0 is null");
    REFUSED(crescent_graph_gradients(graph, &none, 1), "cotangent 0 is null");
    REFUSED(crescent_graph_port_at(graph, CRESCENT_INPUT, 0, NULL), word);
    REFUSED(crescent_compile(graph, NULL, NULL), word);
    REFUSED(crescent_open(context, NULL, NULL, NULL, &(crescent_model *){0}), word);
    REFUSED(crescent_port_at(model, CRESCENT_INPUT, 0, NULL), word);
    ck_assert_int_eq(crescent_port_find(model, CRESCENT_INPUT, NULL), CRESCENT_NONE);
    REFUSED(crescent_input_find(model, NULL, NULL, NULL), word);
    REFUSED(crescent_load_weights(model, NULL, 1, CRESCENT_ANY_TENSORS, NULL), word);
    REFUSED(crescent_load_weights(model, &none, 1, CRESCENT_ANY_TENSORS, NULL), "is null");
    REFUSED(crescent_load_weights_bytes(model, "m", NULL, 0, CRESCENT_ANY_TENSORS, NULL), word);
    REFUSED(crescent_set_weight(model, 0, NULL), word);
    REFUSED(crescent_get_weight(model, 0, NULL), word);
    REFUSED(crescent_get_state(model, 0, NULL), word);
    REFUSED(crescent_run_entry(model, NULL, NULL, NULL), word);
    REFUSED(crescent_set_state(model, 0, NULL), word);
    REFUSED(crescent_save_weights(model, NULL), word);
    REFUSED(crescent_draw_input(model, 0, 0, NULL), word);
    REFUSED(crescent_read_input(model, 0, NULL, x), word);
    GOOD(crescent_draw_weights(model, 0));
    REFUSED(crescent_run(model, NULL, (void *[]){x}), "tensor of x is null");
    REFUSED(crescent_run(model, (const void *[]){NULL}, (void *[]){x}), "tensor of x is null");
    REFUSED(crescent_run(model, (const void *[]){x}, (void *[]){NULL}), "tensor of y is null");
    REFUSED(crescent_run_timed(model, (const void *[]){x}, (void *[]){x}, NULL), word);
    REFUSED(crescent_put_gradients(model, (void *[]){x}, NULL), word);
    REFUSED(crescent_read_gradients(model, NULL, NULL), word);
    REFUSED(crescent_report_of(model, NULL), word);
    REFUSED(crescent_kernel_at(model, 0, NULL), word);
    REFUSED(crescent_machine_open(model, NULL), word);
    REFUSED(crescent_trainer_open(graph, NULL, NULL), word);
    REFUSED(crescent_trainer_feed(trainer, NULL, 1), word);
    REFUSED(crescent_trainer_feed(trainer, &half, 1), "file 0 for an input is null");
    REFUSED(crescent_trainer_set_input(trainer, 0, NULL), word);
    REFUSED(crescent_trainer_status(trainer, NULL), word);
    REFUSED(crescent_trainer_get(trainer, CRESCENT_PARAM, 0, NULL), word);
    REFUSED(crescent_loss_at(trainer, CRESCENT_STEP_LOSSES, 0, NULL), word);
    REFUSED(crescent_loss_range(trainer, NULL, NULL), word);
    REFUSED(crescent_trainer_validation(trainer, NULL, 1), word);
    REFUSED(crescent_checkpoint_open(context, NULL, &(crescent_checkpoint *){0}), word);
    REFUSED(crescent_trainer_resume(trainer, NULL), word);
    REFUSED(crescent_trainer_save(trainer, NULL), word);
    REFUSED(crescent_trainer_save_weights(trainer, NULL), word);
    REFUSED(crescent_emit(graph, NULL, CRESCENT_EMIT_RUN, NULL, NULL), word);
    REFUSED(crescent_emit_text(graph, NULL, CRESCENT_EMIT_RUN, "m.h", NULL, NULL), word);
    REFUSED(crescent_dump(graph, NULL, NULL, &text), word);
    REFUSED(crescent_file_open(context, NULL, &file), word);
    GOOD(crescent_file_open(context, in_folder("f"), &file));
    REFUSED(crescent_file_put(file, NULL, 1), word);
    REFUSED(crescent_file_put_npy(file, NULL, x), word);
    crescent_file_close(file);
    REFUSED(crescent_read_npy(context, NULL, NULL, NULL), word);
    REFUSED(crescent_memory(context, 1, NULL, NULL), word);
    crescent_trainer_close(trainer);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* A handle keeps the handles that it depends on alive, in whatever order they are closed. */
START_TEST(handles_keep_what_they_need)
{
    crescent_context *own = crescent_context_new();
    crescent_graph *graph;
    crescent_trainer *trainer;
    ck_assert_str_eq(crescent_error(own), "");
    ck_assert_int_eq(crescent_graph_open(own, STEP, NULL, &graph), CRESCENT_OK);
    ck_assert_int_eq(crescent_trainer_open(graph, NULL, &trainer), CRESCENT_OK);
    crescent_graph_close(graph);
    crescent_context_free(own);
    ck_assert_int_eq(crescent_draw_weights(crescent_trainer_model(trainer), 0), CRESCENT_OK);
    ck_assert_int_eq(crescent_trainer_start(trainer), CRESCENT_OK);
    ck_assert_int_eq(crescent_trainer_step(trainer), CRESCENT_OK);
    ck_assert_int_eq(crescent_trainer_save(trainer, in_folder("c.safetensors")), CRESCENT_OK);
    crescent_close(crescent_trainer_model(trainer)); /* the trainer does so */
    ck_assert_int_eq(crescent_trainer_step(trainer), CRESCENT_OK);
    crescent_trainer_close(trainer);
    crescent_machine *machine;
    crescent_model *model = open_small(CRESCENT_TCC);
    GOOD(crescent_machine_open(model, &machine));
    crescent_close(model);
    ck_assert_double_gt(crescent_machine_flops(machine), 0);
    crescent_machine_close(machine);
}
END_TEST

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
/* Returns the size of the process's address space in bytes. */
static size_t used_addresses(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Opens and runs a model with a limit of `more` additional bytes of memory. */
static int run_within(size_t more)
{
    struct rlimit before, limit;
    crescent_graph *graph;
    crescent_model *model = NULL;
    float x[3 * 16] = {0}, y[3 * 16];
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = used_addresses() + more;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    int status = crescent_graph_open(context, BLOCK, &small_block, &graph);
    if (!status)
        status = crescent_graph_gradients(graph, NULL, 0);
    if (!status)
        status = crescent_open(context, BLOCK, &small_block, NULL, &model);
    if (!status)
        status = crescent_draw_weights(model, 0);
    if (!status)
        status = crescent_run(model, (const void *[]){x}, (void *[]){y});
    crescent_close(model);
    crescent_graph_close(graph);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    return status;
}

/* With any amount of memory, a call fails with a message of one line and the process goes on. */
START_TEST(calls_fail_with_little_memory)
{
    const char *forks = getenv("CK_FORK");
    int failed = 0, status = CRESCENT_FAILED;
    if (forks && strcmp(forks, "no") == 0)
        return; /* in a process without forks, leak checkers would report what failed calls lose */
    for (size_t more = 0; status && more < 64 << 20; more += 256 << 10) {
        status = run_within(more);
        if (status) {
            ck_assert_int_eq(status, CRESCENT_FAILED);
            ck_assert_str_ne(crescent_error(context), "");
            failed++;
        }
    }
    ck_assert_msg(!status && failed > 2, "%d failures, then %s", failed, crescent_error(context));
}
END_TEST
#endif

static void add_tests(TCase *all)
{
    tcase_add_loop_test(all, a_fixture_through_the_interface, 0, sizeof ways / sizeof *ways);
    tcase_add_test(all, a_text_is_a_script);
    tcase_add_test(all, entries_of_a_script);
    tcase_add_loop_test(all, states_stay, 0, CRESCENT_BACKENDS);
    tcase_add_loop_test(all, states_of_an_entry, 0, 2);
    tcase_add_loop_test(all, runs_of_an_entry, 0, CRESCENT_BACKENDS);
    tcase_add_test(all, offsets_of_entries);
    tcase_add_loop_test(all, offsets_outside, 0, sizeof offsets / sizeof *offsets);
    tcase_add_test(all, notes_of_scripts);
    tcase_add_test(all, options_of_a_script);
    tcase_add_test(all, a_graph_stays);
    tcase_add_test(all, names_that_are_wrong);
    tcase_add_test(all, weights_one_by_one);
    tcase_add_test(all, weights_there_and_back);
    tcase_add_test(all, weights_from_memory);
    tcase_add_test(all, gradients_are_the_programs);
    tcase_add_test(all, a_training);
    tcase_add_test(all, data_and_validation);
    tcase_add_test(all, training_in_the_wrong_order);
    tcase_add_test(all, reports_of_the_library);
    tcase_add_test(all, the_machine);
    tcase_add_loop_test(all, c_is_the_programs, 0, sizeof emissions / sizeof *emissions);
    tcase_add_test(all, dumps_are_the_programs);
    tcase_add_test(all, files_appear_whole);
    tcase_add_test(all, tables_of_the_library);
    tcase_add_test(all, configurations_that_are_wrong);
    tcase_add_test(all, null_handles);
    tcase_add_test(all, queries_of_null_handles);
    tcase_add_test(all, null_arguments);
    tcase_add_test(all, handles_keep_what_they_need);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    tcase_add_test(all, calls_fail_with_little_memory);
#endif
}

static void add_inside_tests(TCase *inside)
{
    tcase_add_test(inside, errors_of_a_client);
    tcase_add_test(inside, a_copied_graph);
    tcase_add_test(inside, inspected_graphs);
    tcase_add_test(inside, inspected_calls);
    tcase_add_test(inside, inspected_c);
    tcase_add_test(inside, a_traced_run);
    tcase_add_test(inside, a_replay);
    tcase_add_test(inside, a_replay_of_rounded_weights);
    tcase_add_test(inside, an_autopsy);
}

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *all = tcase_create("all"), *ids = tcase_create("ids"), *inside = tcase_create("inside");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_checked_fixture(ids, set_up, tear_down);
    tcase_add_checked_fixture(inside, set_up, tear_down);
    tcase_add_test(ids, ids_that_are_none);
    tcase_add_test(ids, ids_that_are_moved);
    tcase_set_timeout(all, 120);
    add_tests(all);
    suite_add_tcase(suite, all);
    add_inside_tests(inside);
    suite_add_tcase(suite, ids);
    suite_add_tcase(suite, inside);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
