/*
 * test_ragged.c - ragged lengths, which differ from row to row of a batch.
 *
 * Every script is compiled once with a batch B and ragged lengths T and S, and once for each row with
 * numbers in their place; a row's results are the same, bit for bit, whatever rows stand beside it,
 * for each backend, instruction set and number of threads.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/engine.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { ROWS = 5, BOUND = 128, SECOND = 40 };

/* B is a length and T and S are ragged over it, or they are constants that the options give. */
static const char head[] =
    "local nn, attention, gpt2 = require 'nn', require 'attention', require 'gpt2'\n"
    "local o = options {T = 0, S = 0}\n"
    "local ragged = o.T == 0\n"
    "local B = ragged and length('B', 5) or 1\n"
    "local T = ragged and length('T', 128, B) or o.T\n"
    "local S = ragged and length('S', 40, B) or o.S\n"
    "local count = ragged and float(T):reshape{B, 1, 1} or const(o.T, {1, 1, 1})\n";

static const struct {
    const char *name, *body;
} scripts[] = {
    {"block", "return {y = gpt2.block(input('x', {B, T, 64}), {n_head = 4, "
              "layer_norm_epsilon = 1e-5, layout = 'conv1d'})}"},
    {"stack", "local x = input('x', {B, T, 32})\n"
              "for i = 1, 5 do prefix('h.' .. i .. '.') x = gpt2.block(x, {n_head = 2, "
              "layer_norm_epsilon = 1e-5, layout = 'conv1d'}) end\n"
              "return {y = sum(x, 2) / count}"},
    {"elementwise", "local x = input('x', {B, T, 5})\n"
                    "return {y = exp(x) * 2, z = x:transpose(2, 3) + 1}"},
    {"wide", "local x = input('x', {B, T}) return {y = x * x - 1, z = sum(x, 2), w = max(x, -1)}"},
    {"pooled", "local x = input('x', {B, T, 70})\n"
               "local mean = sum(x, 2) / count\n"
               "return {y = mean / sqrt(sum(mean * mean, 3)), z = max(exp(x), 2), w = argmax(x, 2)}"},
    {"mean", "local x = input('x', {B, T, 7, 1})\n"
             "return {y = nn.mean(x, 2), z = nn.mean(x:transpose(2, 3), 3), w = nn.mean(x, 3)}"},
    {"head", "local x = input('x', {B, T, 40})\n"
             "local first = sum(where(eq(iota({B, T, 1}, 2), 0), x, 0), 2)\n"
             "return {y = nn.linear(first:reshape{B, 40}, 24)}"},
    {"ids", "local x = input('ids', {B, T}, 'i32')\n"
            "local places = gather(param('wpe', {128, 12}, {normal = 1}), iota({T}, 1))\n"
            "return {y = gather(param('wte', {50, 12}, {normal = 1}), x) + places}"},
    {"positions", "return {y = input('x', {B, T, 9}) + param('wpe', {T, 9}, {normal = 1})}"},
    {"scores", "local x = input('x', {B, T, 16})\n"
               "local s = matmul(x, x:transpose(2, 3))\n"
               "return {y = s, z = nn.softmax(s)}"},
    {"gram", "local x = input('x', {B, T, 33}) return {y = matmul(x:transpose(2, 3), x)}"},
    {"inner", "local x = input('x', {B, T})\n"
              "return {y = matmul(x, param('w', {128, 20}, {normal = 1}):slice({0, 0}, {T, 20}))}"},
    {"inner rows", "local x = input('x', {B, T, 6})\n"
              "local w = param('w', {T, 20}, {normal = 1})\n"
              "return {y = matmul(x:transpose(2, 3), w), z = matmul(exp(x):transpose(2, 3), w)}"},
    {"cross", "local q, k = input('q', {B, 2, T, 16}), input('k', {B, 2, S, 16})\n"
              "local p = nn.softmax(matmul(q, k:transpose(3, 4)) * 0.25)\n"
              "return {y = matmul(p, exp(k)), z = matmul(q, k:transpose(3, 4))}"},
    {"few", "local q, k = input('q', {B, 6, 2, 16}), input('k', {B, 2, T, 16})\n"
              "local keys = k:reshape{B, 2, 1, T, 16}:expand{B, 2, 3, T, 16}:reshape{B, 6, T, 16}\n"
              "local p = nn.softmax(matmul(q, keys:transpose(3, 4)) * 0.25)\n"
              "return {y = matmul(p, keys)}"},
    {"queries", "local q, k = input('q', {B, 16}), param('k', {T, 16}, {normal = 1})\n"
                "local p = nn.softmax(matmul(q, k:transpose(1, 2)) * 0.25)\n"
                "return {y = matmul(p, param('v', {T, 24}, {normal = 1}))}"},
    {"window", "local x = input('x', {B, 3, T, 8})\n"
               "local i, j = iota({1, 1, T, T}, 3), iota({1, 1, T, T}, 4)\n"
               "local seen = logical_and(le(j, i), le(i - j, 9))\n"
               "return {y = attention.attend(x, x * 2, exp(x), nil, nil, "
               "{bias = where(seen, const(0, {}), const(-1e30, {}))})}"},
    {"outer", "local x = input('x', {B, T, 4, 6})\n"
              "return {y = x:permute{1, 3, 2, 4}, z = sum(x, 2), w = nn.softmax(x:transpose(2, 4))}"},
    {"concat", "local x = input('x', {B, T, 6}) return {y = concat({x * 2, exp(x), x}, 3)}"},
    {"channels", "local x = input('x', {B, T, 8})\n"
              "local p = nn.softmax(matmul(x:transpose(2, 3), x))\n"
              "return {y = matmul(p, x:transpose(2, 3))}"},
    {"chain", "local a, v = input('a', {B, 3, T}), input('v', {B, T, 4})\n"
              "local y = matmul(maximum(matmul(a, v), 0), param('w', {4, 33}, {normal = 1}))\n"
              "return {y = y, z = matmul(maximum(matmul(y, input('c', {33, 5})), 0), "
              "matmul(input('d', {5, 4}), v:transpose(2, 3)))}"},
    {"leaves", "local x = input('x', {B, T, 3})\n"
               "local u = exp(const(0, {B, 2, T}))\n"
               "return {n = sum(const(1, {B, T}), 2), s = sum(float(iota({B, T}, 2)), 2), "
               "m = float(max(iota({B, 2, T}, 3) * 3, 3)), u = u / sum(u, 3), "
               "e = sum(expand(input('c', {1, 3}), {B, T, 3}), 2), p = matmul(u, x) * count}"},
    /* more rows than a block: a norm normalizes a block of rows for several groups of columns */
    {"blocks", "local R = ragged and length('R', 300, B) or o.T\n"
               "local h = scope('ln', nn.layer_norm, input('x', {B, R, 40}), {eps = 1e-5})\n"
               "return {y = nn.linear(h, 1500)}"},
    {"depth", "local x = input('x', {B, T, 700})\n"
              "return {y = scope('b', nn.linear, nn.gelu(scope('a', nn.linear, x, 900)), 40)}"},
};

/* ---- running ---- */

static struct cr_graph *graph_of(int script, int T, int S)
{
    char path[] = "/tmp/raggedXXXXXX", t[16], s[16];
    struct cr_script run = {0};
    struct cr_error error;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "%s%s\n", head, scripts[script].body);
    fclose(file);
    snprintf(t, sizeof t, "%d", T);
    snprintf(s, sizeof s, "%d", S);
    const struct cr_setting settings[] = {{"T", t, false}, {"S", s, false}};
    int status = cr_script_run(&(struct cr_script_source){.path = path}, settings, 2, &run, &error);
    unlink(path);
    ck_assert_msg(status == 0, "%s: %s", scripts[script].name, error.text);
    struct cr_graph *graph = run.graph;
    run.graph = NULL;
    cr_script_free(&run);
    return graph;
}

/* A model and memory for its inputs and outputs. */
struct model {
    struct cr_engine engine;
    void **inputs, **outputs;
};

static void open_model(struct model *m, int script, int T, int S, enum cr_backend backend,
                       const char *isa, int threads)
{
    struct cr_error error;
    struct cr_engine_options options = {
        .settings.path = scripts[script].name, .backend = backend, .isa = isa, .threads = threads};
    ck_assert_msg(!cr_engine_open(&m->engine, graph_of(script, T, S), &options, &error), "%s: %s",
                  scripts[script].name, error.text);
    ck_assert(!cr_draw_params(&m->engine, 3, &error));
    m->inputs = cr_calloc((size_t)m->engine.n_inputs, sizeof *m->inputs);
    m->outputs = cr_calloc((size_t)m->engine.n_outputs, sizeof *m->outputs);
    for (int i = 0; i < m->engine.n_inputs; i++)
        m->inputs[i] = cr_calloc((size_t)cr_port_elements(&m->engine.inputs[i]), 4);
    for (int i = 0; i < m->engine.n_outputs; i++)
        m->outputs[i] = cr_calloc((size_t)cr_port_elements(&m->engine.outputs[i]), 4);
}

static void close_model(struct model *m)
{
    for (int i = 0; i < m->engine.n_inputs; i++)
        free(m->inputs[i]);
    for (int i = 0; i < m->engine.n_outputs; i++)
        free(m->outputs[i]);
    free(m->inputs);
    free(m->outputs);
    cr_engine_close(&m->engine);
}

/* A batch: the number of rows, and the lengths of each. */
struct batch {
    int rows;
    int32_t T[ROWS], S[ROWS];
};

static const struct batch batches[] = {
    {5, {1, 37, 128, 2, 127}, {40, 1, 7, 33, 12}},
    {1, {64}, {32}},
    {2, {20, 90}, {39, 3}},
};

/* Sets the element of an input at an index to a number that depends on the index, not on the
 * sizes. */
static void set_element(enum cr_dtype dtype, void *data, int64_t place, int rank, const int64_t *at)
{
    uint32_t h = 17;
    for (int a = 0; a < rank; a++)
        h = (h ^ (uint32_t)at[a]) * 2654435761u + 12345;
    if (dtype == CR_I32)
        ((int32_t *)data)[place] = (int32_t)(h >> 8) % 50;
    else
        ((float *)data)[place] = (float)(h >> 8) / (1 << 23) - 1;
}

static void next_index(int rank, const int64_t *sizes, int64_t *at)
{
    for (int a = rank - 1; a >= 0 && ++at[a] == sizes[a]; a--)
        at[a] = 0;
}

static int64_t place_of(const struct cr_port *port, const int64_t *at)
{
    int64_t place = 0;
    for (int a = 0; a < port->rank; a++)
        place = place * port->shape[a] + at[a];
    return place;
}

static bool has_rows(const signed char *axes)
{
    return axes[0] == 1; /* B is the first length, and the first axis of each tensor that has it */
}

/* Fills the inputs of the model of a single row with the data of row `row`. */
static void fill_row(const struct model *alone, const struct model *m, int row)
{
    for (int i = 0; i < alone->engine.n_inputs; i++) {
        const struct cr_port *port = &alone->engine.inputs[i];
        int j = cr_port_find(m->engine.inputs, m->engine.n_inputs, port->name);
        int64_t at[CR_MAX_RANK] = {0}, there[CR_MAX_RANK];
        for (int64_t e = 0; e < cr_port_elements(port); e++) {
            memcpy(there, at, sizeof there);
            if (has_rows(m->engine.length_axes[j]))
                there[0] = row;
            set_element(port->dtype, alone->inputs[i], e, port->rank, there);
            next_index(port->rank, port->shape, at);
        }
    }
}

/* Fills the inputs of a batch; elements past its rows, and past their lengths, are NaN or a large
 * number. */
static void fill_batch(const struct model *m, const struct batch *batch)
{
    for (int i = 0; i < m->engine.n_inputs; i++) {
        const struct cr_port *port = &m->engine.inputs[i];
        int64_t n = cr_port_elements(port);
        memset(m->inputs[i], 0x7f, (size_t)n * 4);
        for (int64_t e = 0; port->dtype == CR_F32 && e < n; e++)
            ((float *)m->inputs[i])[e] = 0.0f / 0.0f;
        if (strcmp(port->name, "B") == 0)
            *(int32_t *)m->inputs[i] = batch->rows;
        else if (port->rank == 1 && has_rows(m->engine.length_axes[i]))
            memcpy(m->inputs[i], *port->name == 'S' ? batch->S : batch->T,
                   (size_t)batch->rows * sizeof(int32_t));
    }
}

/* Copies the inputs of a single row into the batch. */
static void put_row(const struct model *m, const struct model *alone, int row)
{
    for (int i = 0; i < alone->engine.n_inputs; i++) {
        const struct cr_port *port = &alone->engine.inputs[i];
        int j = cr_port_find(m->engine.inputs, m->engine.n_inputs, port->name);
        int64_t at[CR_MAX_RANK] = {0};
        for (int64_t e = 0; e < cr_port_elements(port); e++) {
            int64_t there[CR_MAX_RANK];
            memcpy(there, at, sizeof there);
            if (has_rows(m->engine.length_axes[j]))
                there[0] = row;
            memcpy((char *)m->inputs[j] + 4 * place_of(&m->engine.inputs[j], there),
                   (char *)alone->inputs[i] + 4 * e, 4);
            next_index(port->rank, port->shape, at);
        }
    }
}

static void run(struct model *m)
{
    struct cr_error error;
    ck_assert_msg(!cr_engine_run(&m->engine, (const void *const *)m->inputs, m->outputs, &error),
                  "%s", error.text);
}

/* ---- comparing ---- */

/* Compares a row of the batch with the result of that row alone; elements past the row's lengths
 * are 0. */
static void check_row(const struct model *m, const struct model *alone, int row, const char *what)
{
    for (int i = 0; i < m->engine.n_outputs; i++) {
        const struct cr_port *port = &m->engine.outputs[i], *exact = &alone->engine.outputs[i];
        int64_t at[CR_MAX_RANK] = {0}, n = cr_port_elements(port) / port->shape[0];
        ck_assert(has_rows(m->engine.output_axes[i]));
        for (int64_t e = 0, place = row * n; e < n; e++, place++) {
            uint32_t a, b = 0;
            bool inside = true;
            int64_t there = 0;
            for (int axis = 0; axis < port->rank; axis++) {
                inside = inside && at[axis] < exact->shape[axis];
                there = there * exact->shape[axis] + at[axis];
            }
            memcpy(&a, (char *)m->outputs[i] + 4 * place, 4);
            if (inside)
                memcpy(&b, (char *)alone->outputs[i] + 4 * there, 4);
            ck_assert_msg(a == b, "%s: output %s: element %d of row %d is %08x, expected %08x", what,
                          port->name, (int)e, row, a, b);
            next_index(port->rank, port->shape, at);
        }
    }
}

/* Compares a script with ragged lengths and with constant sizes, for all batches, in one
 * configuration. */
static void check_script(int script, enum cr_backend backend, const char *isa, int threads)
{
    struct model m, alone[ROWS];
    char what[100];
    enum cr_backend other = backend == CR_BACKEND_REF ? CR_BACKEND_REF : CR_BACKEND_TCC;
    open_model(&m, script, 0, 0, backend, isa, threads);
    for (int i = 0; i < COUNT(batches); i++) {
        const struct batch *batch = &batches[i];
        fill_batch(&m, batch);
        for (int row = 0; row < batch->rows; row++) {
            open_model(&alone[row], script, batch->T[row], batch->S[row], other, isa, 1);
            fill_row(&alone[row], &m, row);
            put_row(&m, &alone[row], row);
            run(&alone[row]);
        }
        run(&m);
        snprintf(what, sizeof what, "%s, %s, %d threads, batch %d", scripts[script].name,
                 cr_backend_name(backend), threads, i);
        for (int row = 0; row < batch->rows; row++) {
            check_row(&m, &alone[row], row, what);
            close_model(&alone[row]);
        }
    }
    close_model(&m);
}

START_TEST(in_memory)
{
    check_script(_i, CR_BACKEND_TCC, NULL, 1 + _i % 3);
    check_script(_i, CR_BACKEND_TCC, "plain", 2);
}
END_TEST

START_TEST(interpreted)
{
    check_script(_i, CR_BACKEND_REF, NULL, 1);
}
END_TEST

START_TEST(by_a_compiler)
{
    check_script(_i, CR_BACKEND_CC, NULL, 2);
}
END_TEST

START_TEST(standalone)
{
    check_script(_i, CR_BACKEND_STANDALONE, NULL, 2);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(values_out_of_bounds)
{
    struct model m;
    struct cr_error error;
    open_model(&m, 0, 0, 0, _i ? CR_BACKEND_TCC : CR_BACKEND_REF, NULL, 1);
    fill_batch(&m, &batches[0]);
    int input = cr_port_find(m.engine.inputs, m.engine.n_inputs, "T");
    ((int32_t *)m.inputs[input])[3] = 129;
    ck_assert(cr_engine_run(&m.engine, (const void *const *)m.inputs, m.outputs, &error));
    ck_assert_str_eq(error.text, "block: length T of row 4 is 129, expected 1 to 128");
    ((int32_t *)m.inputs[input])[3] = 0;
    ck_assert(cr_engine_run(&m.engine, (const void *const *)m.inputs, m.outputs, &error));
    ck_assert_str_eq(error.text, "block: length T of row 4 is 0, expected 1 to 128");
    close_model(&m);
}
END_TEST

static const struct {
    const char *body, *message; /* behind the path */
} refused[] = {
    {"return {y = input('x', {T, 4})}",
     ":1: input: length T has a size for each row of B: expected an axis of the batch left of the length's axis"},
    {"return {y = input('x', {T, B})}",
     ":1: input: length T has a size for each row of B: expected one axis of the batch, left of the length's axis"},
    {"return {y = input('x', {B, B, T})}",
     ":1: input: length T has a size for each row of B: expected one axis of the batch, left of the length's axis"},
    {"return {y = transpose(input('x', {B, T}), 1, 2)}",
     ":1: permute: length T has a size for each row of B: expected one axis of the batch, left of the length's axis"},
    {"return {y = sum(input('x', {B, T}), 1)}",
     ":1: sum: length T has a size for each row of B: expected the axis of the batch in the result, too"},
    {"return {y = sum(const(1, {T}), 1)}",
     ":1: sum: length T has a size for each row of B: expected an axis of the batch in an operand"},
    {"return {y = matmul(const(1, {3, T}), const(1, {T, 2}))}",
     ":1: matmul: length T has a size for each row of B: expected an axis of the batch in an operand"},
    {"return {y = matmul(input('y', {3, B}), input('x', {B, T}))}",
     ":1: matmul: length T has a size for each row of B: expected the axis of the batch in the result, too"},
    {"return {y = gather(input('x', {B, T}), input('i', {7}, 'i32'))}",
     ":1: gather: length T has a size for each row of B: expected the axis of the batch in the result, too"},
    {"return {y = gather(input('x', {B, T}), input('i', {B}, 'i32'))}",
     ":1: gather: length T has a size for each row of B: expected the axis of the batch in the result, too"},
    {"return {y = gather(param('w', {T, 3}), input('i', {7}, 'i32'))}",
     ":1: gather: length T has a size for each row of B: expected another op, or a length without "
     "rows"},
    {"return {y = cumsum(iota({T}, 1), 1)}",
     ":1: cumsum: length T has a size for each row of B: expected another op, or a length without "
     "rows"},
    {"return {y = length('S', 9, 4)}", ":1: length: batch: found number, expected a length"},
    {"return {y = length('S', 9, T)}", ":1: length: batch: found T, which has a size for each row of "
     "B itself, expected one number"},
    {"return {y = length('S', 9, length('A', 1))}",
     ":1: length: batch: found A, whose bound is 1, expected 2 or more rows"},
    {"return {y = length('T', 128)}",
     ":1: input: 'T' is i32 [] here and i32 [4] before (line 1), expected the same"},
};

START_TEST(misuse)
{
    char path[] = "/tmp/raggedXXXXXX", expected[400];
    struct cr_script script = {0};
    struct cr_error error;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "local B = length('B', 4) local T = length('T', 128, B) %s\n", refused[_i].body);
    fclose(file);
    int status = cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error);
    unlink(path);
    snprintf(expected, sizeof expected, "%s%s", path, refused[_i].message);
    ck_assert_int_ne(status, 0);
    ck_assert_str_eq(error.text, expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ragged");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, in_memory, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, interpreted, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, by_a_compiler, 0, 3);
    tcase_add_loop_test(tcase, standalone, 0, 3);
    tcase_add_loop_test(tcase, values_out_of_bounds, 0, 2);
    tcase_add_loop_test(tcase, misuse, 0, COUNT(refused));
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
