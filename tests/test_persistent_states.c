/*
 * test_persistent_states.c - states, which persist from run to run: their values after a few runs,
 * on every backend, for all orders of reading and replacing them, and for rows written at an
 * offset.
 *
 * Values are small whole numbers, so all backends give the same ones exactly.
 */
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/emit/emit.h"
#include "compiler/emit/required_runtime.h"
#include "compiler/exec/engine.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/print_graph.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/verifier/verifier.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { RANDOM = 4 };
enum { MAX_PORTS = 8, MAX_ELEMENTS = 4096 };

/* ---- models ---- */

/* Writes a script to a new file; returns the path, which is static. */
static const char *write_script(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/crescent_state_%d.lua", (int)getpid());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct cr_graph *graph_of(const char *text, const char *setting)
{
    struct cr_setting set = {"T", setting, false};
    struct cr_script script;
    struct cr_error error;
    const char *path = write_script(text);
    int status = cr_script_run(&(struct cr_script_source){.path = path}, &set, setting != NULL, &script, &error);
    ck_assert_msg(status == 0, "%s", error.text);
    struct cr_graph *graph = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    unlink(path);
    return graph;
}

/* A model, and memory for its inputs, outputs and states. */
struct model {
    struct cr_engine engine;
    float in[MAX_PORTS][MAX_ELEMENTS], out[MAX_PORTS][MAX_ELEMENTS];
};

static struct model *open_graph(struct cr_graph *graph, enum cr_backend backend, int threads)
{
    struct model *m = cr_calloc(1, sizeof *m);
    struct cr_error error;
    const struct cr_engine_options options = {
        .settings.path = "state.lua", .backend = backend, .threads = threads};
    int status = cr_engine_open(&m->engine, graph, &options, &error);
    ck_assert_msg(status == 0, "%s", error.text);
    ck_assert_msg(cr_draw_params(&m->engine, 7, &error) == 0, "%s", error.text);
    return m;
}

static struct model *open_model(const char *text, enum cr_backend backend, int threads)
{
    return open_graph(graph_of(text, NULL), backend, threads);
}

static void close_model(struct model *m)
{
    cr_engine_close(&m->engine);
    free(m);
}

static void run(struct model *m)
{
    const void *in[MAX_PORTS];
    void *out[MAX_PORTS];
    struct cr_error error;
    for (int i = 0; i < MAX_PORTS; i++) {
        in[i] = m->in[i];
        out[i] = m->out[i];
    }
    ck_assert_msg(cr_engine_run(&m->engine, in, out, &error) == 0, "%s", error.text);
}

/* Fills inputs with whole numbers from -4 to 4, different in each run. */
static void fill_inputs(struct model *m, int run_number)
{
    for (int i = 0; i < m->engine.n_inputs; i++)
        for (int64_t j = 0; j < cr_port_elements(&m->engine.inputs[i]); j++) {
            int32_t value = (int32_t)((j * 7 + run_number * 5 + i * 3) % 9) - 4;
            if (m->engine.inputs[i].dtype == CR_I32)
                memcpy(&m->in[i][j], &value, sizeof value);
            else
                m->in[i][j] = (float)value;
        }
}

/* Fills states with whole numbers from -3 to 3; bools with true and false. */
static void fill_states(struct model *m)
{
    float data[MAX_ELEMENTS];
    for (int i = 0; i < m->engine.n_states; i++) {
        const struct cr_port *port = &m->engine.states[i];
        for (int64_t j = 0; j < cr_port_elements(port); j++) {
            int32_t value = (int32_t)((j * 5 + i * 4) % 7) - 3;
            data[j] = port->dtype == CR_BOOL ? (float)(value > 0) : (float)value;
            if (port->dtype == CR_I32)
                memcpy(&data[j], &value, sizeof value);
        }
        cr_engine_set_state(&m->engine, i, data);
    }
}

/* ---- all backends agree ---- */

static void assert_equal(const char *what, const struct cr_port *port, const float *found,
                         const float *expected, const char *script)
{
    for (int64_t i = 0; i < cr_port_elements(port); i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0 && found[i] != expected[i])
            ck_abort_msg("%s: %s %s[%d] is %g, expected %g", script, what, port->name, (int)i,
                         (double)found[i], (double)expected[i]);
}

/* Asserts that runs of two models on the same inputs give the same outputs and states. */
static void assert_same_runs(struct model *m, struct model *ref, int runs, const char *script)
{
    static float found[MAX_ELEMENTS], expected[MAX_ELEMENTS];
    fill_states(m);
    fill_states(ref);
    for (int run_number = 0; run_number < runs; run_number++) {
        fill_inputs(m, run_number);
        fill_inputs(ref, run_number);
        run(m);
        run(ref);
        for (int i = 0; i < ref->engine.n_outputs; i++)
            assert_equal("output", &ref->engine.outputs[i], m->out[i], ref->out[i], script);
        for (int i = 0; i < ref->engine.n_states; i++) {
            cr_engine_get_state(&m->engine, i, found);
            cr_engine_get_state(&ref->engine, i, expected);
            assert_equal("state", &ref->engine.states[i], found, expected, script);
        }
    }
}

/* A script, its expected number of kernels, and the size of its arena in bytes; -1: not checked. */
static const struct {
    const char *text;
    int kernels;
    int64_t arena;
} scripts[] = {
    /* counters of all types */
    {"local n = state('n', {}, 'i32') replace(n, n + 1) return {y = n * 2}", 1, 0},
    {"local n = state('n', {3}) replace(n, n + input('x', {3})) return {y = n}", 1, 0},
    {"local b = state('b', {2, 3}, 'bool') replace(b, logical_not(b)) return {y = b}", 1, 0},
    {"local b = state('b', {}, 'bool') local n = state('n', {}, 'i32')\n"
     "replace(b, gt(n, 2)) replace(n, n + 1) return {y = where(b, 5, n:float())}", 1, 0},
    /* the new value is also an output, or does not depend on the old one */
    {"local n = state('n', {4}) local m = n + 1 replace(n, m) return {y = m}", 1, 0},
    {"local n = state('n', {4}) replace(n, input('x', {4})) return {y = n}", 2, 0},
    {"local n = state('n', {4}) replace(n, const(2, {4})) return {y = n}", 2, 0},
    {"local n = state('n', {4}) replace(n, n) return {y = n}", 2, 0},
    /* two states that swap values: one is copied to a buffer */
    {"local a, b = state('a', {20}), state('b', {20}) replace(a, b) replace(b, a)\n"
     "return {y = a - b}", 4, 128},
    {"local a, b = state('a', {20}), state('b', {20}) replace(a, b + 1) replace(b, a * 2)\n"
     "return {y = a - b}", 3, 128},
    {"local a, b, c = state('a', {20}), state('b', {20}), state('c', {20})\n"
     "replace(a, b) replace(b, c) replace(c, a) return {y = a - b + c * 3}", 5, 128},
    /* the value that is copied is an expand of another state */
    {"local a, b = state('a', {6, 1}), state('b', {6, 4}) replace(a, sum(b, 2))\n"
     "replace(b, a:expand{6, 4}) return {y = a + 1}", 4, 128},
    /* a chain of states can be replaced in an order that needs no copy */
    {"local a, b, c = state('a', {20}), state('b', {20}), state('c', {20})\n"
     "replace(b, a) replace(c, b) replace(a, input('x', {20})) return {y = a - b + c * 3}", 4, 0},
    /* a product reads the old value; the script computes the new value before the product, or after
     * it */
    {"local s = state('s', {5, 6}) local next = s * 2 + 1 replace(s, next)\n"
     "return {y = matmul(s, input('w', {6, 7}))}", 2, 0},
    {"local s = state('s', {5, 6}) local y = matmul(s, input('w', {6, 7})) replace(s, s * 2 + 1)\n"
     "return {y = y}", 2, 0},
    {"local s = state('s', {5, 6}) local next = s * 2 + 1 replace(s, next)\n"
     "local w = input('w', {6, 7}) return {y = matmul(s, w), z = matmul(next, w)}", 3, 0},
    /* one kernel reads both the old and the new value */
    {"local s = state('s', {5, 6}) local next = exp(s * 0) + s replace(s, next)\n"
     "return {y = s + next, z = next}", -1, -1},
    {"local s = state('s', {6, 6}) local next = matmul(s, s) * 0 + 1 replace(s, next)\n"
     "return {y = matmul(s, next)}", -1, -1},
    /* the new value's kernel reads old elements at other offsets, or at the same one */
    {"local s = state('s', {5, 5}) replace(s, transpose(s, 1, 2)) return {y = s}", 3, 128},
    {"local s = state('s', {6}) replace(s, concat({slice(s, {1}, {5}), input('x', {1})}, 1))\n"
     "return {y = s}", -1, -1},
    {"local s = state('s', {4, 6}) replace(s, matmul(s, input('w', {6, 6}))) return {y = s}", -1,
     -1},
    {"local s = state('s', {4, 6}) local a = input('a', {4, 5})\n"
     "replace(s, matmul(a, input('w', {5, 6})) - s) return {y = s}", 2, 0},
    {"local s = state('s', {4, 40}) replace(s, s - sum(s, 2):expand{4, 40}) return {y = s * 0}", 1,
     0},
    {"local s = state('s', {1, 6}) replace(s, s + sum(input('x', {3, 6}), 1)) return {y = s}", -1,
     -1},
    {"local s = state('s', {4}) replace(s, gather(s, input('i', {4}, 'i32'):abs():minimum(3)))\n"
     "return {y = s}", -1, -1},
    /* of an entry with a name */
    {"local s = state('s', {4}) replace(s, s + input('x', {4})) return {count = {y = s, z = s * 2}}",
     -1, -1},
    /* a state that is read by several outputs and by a chain of ops */
    {"local s = state('s', {4}) local y = s for i = 1, 5 do y = y + s end replace(s, s + 1)\n"
     "return {y = y, z = s, u = s + 1}", -1, -1},
};

START_TEST(test_all_backends)
{
    const char *text = scripts[_i].text;
    /* A C compiler takes half a second, and seconds for a standalone file; the C text is the same as for
     * TinyCC. */
    int n = _i % 16 == 0 ? CR_BACKEND_COUNT : _i % 3 == 0 ? CR_BACKEND_STANDALONE : CR_BACKEND_CC;
    for (enum cr_backend backend = 0; (int)backend < n; backend++) {
        struct model *m = open_model(text, backend, 1), *ref = open_model(text, CR_BACKEND_REF, 1);
        assert_same_runs(m, ref, 5, text);
        close_model(ref);
        close_model(m);
    }
}
END_TEST

START_TEST(test_threads)
{
    const char *text = scripts[_i].text;
    for (int threads = 2; threads <= 4; threads++) {
        struct model *m = open_model(text, CR_BACKEND_TCC, threads);
        struct model *one = open_model(text, CR_BACKEND_TCC, 1);
        assert_same_runs(m, one, 3, text);
        close_model(one);
        close_model(m);
    }
}
END_TEST

START_TEST(test_cost)
{
    struct model *m = open_model(scripts[_i].text, CR_BACKEND_TCC, 1);
    const struct cr_program *p = m->engine.program;
    if (scripts[_i].kernels >= 0)
        ck_assert_msg(p->n_sequence == scripts[_i].kernels, "%s: %d kernels", scripts[_i].text,
                      p->n_sequence);
    if (scripts[_i].arena >= 0)
        ck_assert_msg(p->arena_bytes == scripts[_i].arena, "%s: %d bytes", scripts[_i].text,
                      (int)p->arena_bytes);
    close_model(m);
}
END_TEST

/* A printed graph is a script again, before passes and after them. */
START_TEST(test_reads_back)
{
    const char *text = scripts[_i].text;
    char *printed = NULL;
    size_t size = 0;
    for (int after = 0; after < 2; after++) {
        struct cr_module *module = cr_module_new(graph_of(text, NULL));
        const struct cr_pass_options options = {.stop_after = after ? "states" : "simplify"};
        struct cr_error error;
        ck_assert_msg(cr_run_passes(module, &options, &error) == 0, "%s", error.text);
        FILE *file = open_memstream(&printed, &size);
        cr_print_graph(file, module->graph);
        fclose(file);
        cr_module_free(module);
        struct model *m = open_model(printed, CR_BACKEND_TCC, 1);
        struct model *ref = open_model(text, CR_BACKEND_REF, 1);
        assert_same_runs(m, ref, 3, text);
        close_model(ref);
        close_model(m);
        free(printed);
    }
}
END_TEST

/* ---- against numbers computed here ---- */

START_TEST(test_counter)
{
    struct model *m = open_model("local n = state('n', {}, 'i32') replace(n, n + 1)\n"
                                 "return {y = n:float() * 10, n = n}",
                                 (enum cr_backend)_i, 1);
    int32_t n;
    for (int run_number = 0; run_number < 5; run_number++) {
        run(m);
        memcpy(&n, &m->out[0][0], sizeof n);
        ck_assert_int_eq(n, run_number);
        ck_assert(m->out[1][0] == (float)(run_number * 10));
        cr_engine_get_state(&m->engine, 0, &n);
        ck_assert_int_eq(n, run_number + 1);
    }
    n = 41;
    cr_engine_set_state(&m->engine, 0, &n);
    run(m);
    ck_assert(m->out[1][0] == 410);
    cr_engine_reset_states(&m->engine);
    run(m);
    ck_assert(m->out[1][0] == 0);
    ck_assert_int_eq(m->engine.n_inputs, 0);
    ck_assert_int_eq(m->engine.n_outputs, 2);
    close_model(m);
}
END_TEST

START_TEST(test_swap)
{
    struct model *m = open_model("local a, b = state('a', {3}), state('b', {3})\n"
                                 "replace(a, b) replace(b, a) return {a = a, b = b}",
                                 (enum cr_backend)_i, 1);
    const float one[] = {1, 2, 3}, two[] = {4, 5, 6};
    cr_engine_set_state(&m->engine, 0, one);
    cr_engine_set_state(&m->engine, 1, two);
    for (int run_number = 0; run_number < 5; run_number++) {
        run(m);
        ck_assert_mem_eq(m->out[0], run_number % 2 ? two : one, sizeof one);
        ck_assert_mem_eq(m->out[1], run_number % 2 ? one : two, sizeof one);
    }
    close_model(m);
}
END_TEST

/* ---- rows at an offset ---- */

enum { N = 8, T = 3 }; /* number of rows, and of written rows */

static const int32_t offsets[] = {0, 5, 1, 6, 7, 8, 100, -1, -2, -3, -100, INT32_MAX, INT32_MIN};

/* Scripts that write rows, with the number of axes before the written one and the width of a
 * row. */
static const struct {
    const char *text; /* defines `a`, a state or input (%s), and `r`, the rows to write */
    int before, width;
} writes[] = {
    {"local a, r = %s('a', {8, 5}%s), input('r', {3, 5}%s)\n"
     "local w = write(a, r, at)", 1, 5},
    {"local a, r = %s('a', {8}%s), input('r', {3}%s)\n"
     "local w = write(a, r, at)", 1, 1},
    {"local a, r = %s('a', {2, 8, 33}%s), input('r', {2, 3, 33}%s)\n"
     "local w = write(a, r, at, 2)", 2, 33},
    {"local a, r = %s('a', {2, 3, 8}%s), input('r', {2, 3, 3}%s)\n"
     "local w = a:write(r, at, 3)", 6, 1},
    {"local a, r = %s('a', {2, 8, 3, 5}%s), input('r', {2, 3, 3, 5}%s)\n"
     "local w = write(a, transpose(transpose(r, 1, 3), 1, 3), at + 0, -3)", 2, 15},
};

static const char *const types[] = {"", ", 'i32'"};

/* Returns element i of the tensor after a write of rows. */
static float written(const float *a, const float *rows, int64_t i, int width, int64_t at)
{
    int64_t outer = i / (N * width), row = i / width % N, inner = i % width;
    int64_t from = row - at;
    return from >= 0 && from < T ? rows[(outer * T + from) * width + inner] : a[i];
}

/* Compares two runs for each offset; rows are written to a state, or to an input. */
static void check_write(int which, const char *type, enum cr_backend backend, bool state)
{
    char text[600], format[600];
    float a[MAX_ELEMENTS];
    snprintf(format, sizeof format,
             "local at = input('at', {}, 'i32')\n%s\n%s return {w = w}", writes[which].text,
             state ? "replace(a, w)" : "");
    snprintf(text, sizeof text, format, state ? "state" : "input", type, type);
    struct model *m = open_model(text, backend, 1);
    int n = writes[which].before * N * writes[which].width, rows = state ? 1 : 2;
    fill_inputs(m, 1);
    if (state)
        fill_states(m);
    for (int i = 0; i < COUNT(offsets); i++) {
        if (state)
            cr_engine_get_state(&m->engine, 0, a);
        else
            memcpy(a, m->in[1], (size_t)n * sizeof *a);
        memcpy(m->in[0], &offsets[i], sizeof offsets[i]);
        m->in[rows][0] = m->in[rows][(i + 1) % T]; /* writes other rows than the last run */
        run(m);
        for (int j = 0; j < n; j++) {
            float expected = written(a, m->in[rows], j, writes[which].width, offsets[i]);
            ck_assert_msg(memcmp(&m->out[0][j], &expected, sizeof expected) == 0,
                          "%s: at %d, element %d", text, (int)offsets[i], j);
        }
        if (state)
            cr_engine_get_state(&m->engine, 0, a);
        ck_assert(!state || memcmp(a, m->out[0], (size_t)n * sizeof *a) == 0);
    }
    close_model(m);
}

START_TEST(test_write)
{
    int n = _i == CR_BACKEND_STANDALONE ? 1 : COUNT(writes);
    for (int which = 0; which < n; which++)
        for (int type = 0; type < (n == 1 ? 1 : COUNT(types)); type++)
            for (int state = 0; state < 2; state++)
                if (_i != CR_BACKEND_CC || (which + type + state) % 3 == 0)
                    check_write(which, types[type], (enum cr_backend)_i, state);
}
END_TEST

/* Scripts that compute rows and offsets in several ways; results are compared with the
 * interpreter. */
static const char *const rows_made[] = {
    "local c = state('c', {8, 6}) local w = write(c, input('x', {2, 6}) * 2, 5)\n"
    "replace(c, w) return {y = w}",
    "local c = state('c', {8, 6}) local at = state('at', {}, 'i32')\n"
    "local w = write(c, input('x', {2, 6}), at) replace(c, w) replace(at, at + 2)\n"
    "return {y = sum(w, 1)}",
    "local c = state('c', {8, 6}) local at = state('at', {}, 'i32') local next = at + 3\n"
    "local w = write(c, input('x', {2, 6}), next) replace(c, w) replace(at, next)\n"
    "return {y = w}",
    "local c = state('c', {8, 6}) local p = input('p', {1, 4}, 'i32')\n"
    "local w = write(c, matmul(input('x', {2, 3}), input('w', {3, 6})), slice(p, {0, 2}, {1, 1}))\n"
    "replace(c, w) return {y = matmul(w, transpose(w, 1, 2))}",
    "local c = state('c', {8, 6}) local x = input('x', {2, 6})\n"
    "local w = write(c, x - sum(x, 2):expand{2, 6}, input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = w}",
    "local c = state('c', {8, 6}) local x = input('x', {2, 6})\n"
    "local w = write(c, x - sum(x, 1):expand{2, 6}, input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = w}",
    "local c = state('c', {6, 8}) local x = input('x', {6, 3})\n"
    "local w = write(c, x - sum(x, 2):expand{6, 3}, input('at', {}, 'i32'), 2) replace(c, w)\n"
    "return {y = w}",
    /* rows computed from the tensor that they are written to; the old value is read together with the new
     * one */
    "local c = state('c', {8, 6})\n"
    "local w = write(c, slice(c, {3, 0}, {2, 6}) + 1, input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = w - c}",
    "local c = state('c', {8, 6}) local w = write(c, input('x', {1, 6}), input('at', {}, 'i32'))\n"
    "replace(c, w) return {y = sum(c, 1), z = sum(w, 1)}",
    /* the write is followed by further ops on the state */
    "local c = state('c', {8, 6}) local at = input('at', {}, 'i32')\n"
    "local w = write(write(c, input('x', {2, 6}), at), input('z', {1, 6}), at + 1) replace(c, w)\n"
    "return {y = w}",
    "local c = state('c', {8, 6})\n"
    "local w = write(c, input('x', {2, 6}), input('at', {}, 'i32')) * 2 replace(c, w)\n"
    "return {y = w}",
    "local c = state('c', {8, 6})\n"
    "local w = write(c * 2, input('x', {2, 6}), input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = c}",
    /* two writes of one value, one of which is the next value of another state */
    "local c, d = state('c', {8, 6}), state('d', {8, 6})\n"
    "local w = write(c, input('x', {2, 6}), input('at', {}, 'i32')) replace(c, w) replace(d, w)\n"
    "return {y = c + d}",
    "local c, d = state('c', {8, 6}), state('d', {8, 6})\n"
    "local w = write(c, input('x', {2, 6}), input('at', {}, 'i32')) replace(c, d) replace(d, w)\n"
    "return {y = c + d}",
    /* bools; a write of all rows; a write into the result of a product */
    "local c = state('c', {8}, 'bool')\n"
    "local w = write(c, gt(input('x', {2}), 0), input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = w, z = c}",
    "local c = state('c', {8, 6})\n"
    "local w = write(c, input('x', {8, 6}), input('at', {}, 'i32')) replace(c, w)\n"
    "return {y = w}",
    "local p = matmul(input('a', {8, 3}), input('b', {3, 6}))\n"
    "return {y = write(p, input('x', {2, 6}), input('at', {}, 'i32')), z = p}",
    "local p = matmul(input('a', {8, 3}), input('b', {3, 6}))\n"
    "return {y = write(p, sum(p, 1), input('at', {}, 'i32')) + 1}",
};

START_TEST(test_rows_made)
{
    const char *text = rows_made[_i];
    for (enum cr_backend backend = 0; backend < CR_BACKEND_STANDALONE; backend++)
        for (int threads = 1; threads <= (backend == CR_BACKEND_TCC ? 4 : 1); threads++) {
            struct model *m = open_model(text, backend, threads);
            struct model *ref = open_model(text, CR_BACKEND_REF, 1);
            assert_same_runs(m, ref, 5, text);
            close_model(ref);
            close_model(m);
        }
}
END_TEST

/* The gradient of an overwritten element is 0; a written row gets the gradient of the elements that
 * it replaces. */
START_TEST(test_write_gradient)
{
    struct model *m = open_model(
        "local a, r = input('a', {2, 8, 3}), input('r', {2, 3, 3})\n"
        "local at, c = input('at', {}, 'i32'), input('c', {2, 8, 3})\n"
        "local y = sum(sum(sum(write(a, r, at, 2) * c, 1), 2), 3)\n"
        "local d = grad(y, {a, r}) return {a = d[1], r = d[2]}",
        (enum cr_backend)_i, 1);
    fill_inputs(m, 3);
    for (int i = 0; i < COUNT(offsets); i++) {
        memcpy(m->in[2], &offsets[i], sizeof offsets[i]);
        run(m);
        for (int j = 0; j < 2 * N * 3; j++) {
            int64_t from = j / 3 % N - (int64_t)offsets[i];
            float expected = from >= 0 && from < T ? 0 : m->in[3][j];
            ck_assert_msg(m->out[0][j] == expected, "at %d, da %d", (int)offsets[i], j);
        }
        for (int j = 0; j < 2 * T * 3; j++) {
            int64_t to = j / 3 % T + (int64_t)offsets[i];
            float expected = to < 0 || to >= N ? 0 : m->in[3][(j / 9 * N + to) * 3 + j % 3];
            ck_assert_msg(m->out[1][j] == expected, "at %d, dr %d", (int)offsets[i], j);
        }
    }
    close_model(m);
}
END_TEST

/* ---- a cache ---- */

enum { TOKENS = 8, WIDTH = 32 };

/* Attention over the keys and values of all tokens so far, which states store. */
static const char *const cached =
    "local nn = require 'nn'\n"
    "local o = options {T = 8, heads = 2, n = 24}\n"
    "local x = input('x', {o.T, 32})\n"
    "local at = state('at', {}, 'i32')\n"
    "local function heads(name)\n"
    "    return scope(name, nn.linear, x, 32):reshape{o.T, o.heads, -1}:transpose(1, 2)\n"
    "end\n"
    "local q, k, v = heads 'q', heads 'k', heads 'v'\n"
    "local keys, values = state('keys', {o.heads, o.n, 16}), state('values', {o.heads, o.n, 16})\n"
    "local k_now, v_now = write(keys, k, at, 2), write(values, v, at, 2)\n"
    "replace(keys, k_now) replace(values, v_now) replace(at, at + o.T)\n"
    "local shape = {o.heads, o.T, o.n}\n"
    "local sees = le(iota(shape, 3), iota(shape, 2) + at:reshape{1, 1, 1}:expand(shape))\n"
    "local s = where(sees, matmul(q, transpose(k_now, 2, 3)) * 0.25, -math.huge)\n"
    "local e = exp(s - max(s, 3):expand(shape))\n"
    "local p = e / sum(e, 3):expand(shape)\n"
    "local y = matmul(p, v_now):transpose(1, 2):reshape{o.T, 32}\n"
    "return {y = scope('proj', nn.linear, y, 32) + x}\n";

/* Computes the outputs of all tokens, `step` tokens in each run. */
static void run_tokens(const char *step, enum cr_backend backend, int threads, float *y)
{
    struct model *m = open_graph(graph_of(cached, step), backend, threads);
    size_t floats = (size_t)atoi(step) * WIDTH;
    for (size_t at = 0; at < TOKENS * WIDTH; at += floats) {
        for (size_t i = 0; i < floats; i++)
            m->in[0][i] = sinf((float)((at + i) * 37 % 101));
        run(m);
        memcpy(y + at, m->out[0], floats * sizeof *y);
    }
    close_model(m);
}

START_TEST(test_cache)
{
    static const char *const steps[] = {"1", "2", "4", "8"};
    static float whole[TOKENS * WIDTH], parts[TOKENS * WIDTH], exact[TOKENS * WIDTH];
    run_tokens("8", CR_BACKEND_TCC, 1, whole);
    run_tokens("8", CR_BACKEND_REF, 1, exact);
    for (int i = 0; i < TOKENS * WIDTH; i++)
        ck_assert_msg(fabsf(whole[i] - exact[i]) < 1e-5f, "element %d", i);
    ck_assert(whole[0] != whole[WIDTH]);
    for (enum cr_backend backend = 0; backend < CR_BACKEND_COUNT; backend++)
        for (int i = 0; i < (backend == CR_BACKEND_STANDALONE ? 1 : COUNT(steps)); i++)
            for (int threads = 1; threads <= (backend == CR_BACKEND_TCC ? 4 : 1); threads++) {
                run_tokens(steps[i], backend, threads, parts);
                ck_assert_msg(backend == CR_BACKEND_REF || !memcmp(parts, whole, sizeof parts),
                              "%s tokens a run, %s", steps[i], cr_backend_name(backend));
                for (int j = 0; j < TOKENS * WIDTH; j++) /* its states are rounded to floats */
                    ck_assert_msg(fabsf(parts[j] - exact[j]) < 1e-5f, "element %d", j);
            }
}
END_TEST

/* Several layers, each with a cache of its own, and one position for all. */
static const char *const stacked =
    "local nn = require 'nn'\n"
    "local o = options {T = 2}\n"
    "local at = state('at', {}, 'i32')\n"
    "local function block(x)\n"
    "    local h = scope('norm', nn.layer_norm, x, {eps = 1e-5})\n"
    "    local cache = state('cache', {24, 32})\n"
    "    local now = write(cache, scope('k', nn.linear, h, 32), at)\n"
    "    replace(cache, now)\n"
    "    local sees = le(iota({2, 24}, 2), at:reshape{1, 1}:expand{2, 24})\n"
    "    local s = where(sees, matmul(h, transpose(now, 1, 2)), -math.huge)\n"
    "    local e = exp(s - max(s, 2):expand{2, 24})\n"
    "    local p = e / sum(e, 2):expand{2, 24}\n"
    "    return x + scope('out', nn.linear, matmul(p, now), 32)\n"
    "end\n"
    "local x = input('x', {2, 32})\n"
    "for i = 0, o.T - 1 do x = scope('h.' .. i, block, x) end\n"
    "replace(at, at + 1)\n"
    "return {y = x}\n";

/* Layers with states become a loop, as layers without states do: the text does not grow with their
 * number, even if a state that all read is replaced once. */
START_TEST(test_layers)
{
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        struct model *m = open_graph(graph_of(stacked, i ? "12" : "6"), CR_BACKEND_TCC, 2);
        struct model *ref = open_graph(graph_of(stacked, i ? "12" : "6"), CR_BACKEND_REF, 1);
        const struct cr_program *p = m->engine.program;
        ck_assert_str_eq(m->engine.states[1].name, "h.0.cache");
        ck_assert_msg(!i || p->text_length < length + 1000, "%d bytes after %d",
                      (int)p->text_length, (int)length);
        length = p->text_length;
        for (int run_number = 0; run_number < 3; run_number++) {
            fill_inputs(m, run_number);
            fill_inputs(ref, run_number);
            run(m);
            run(ref);
            for (int j = 0; j < 64; j++)
                ck_assert_msg(fabsf(m->out[0][j] - ref->out[0][j]) < 1e-4f, "element %d", j);
        }
        close_model(m);
        close_model(ref);
    }
}
END_TEST

/* ---- random scripts ---- */

/* A script under construction with `n` values of shape [6, 6], named v[1] ... */
struct random_script {
    char text[8000];
    int length, n;
    uint64_t seed;
};

static int draw(struct random_script *r, int n)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (int)(r->seed >> 33) % n;
}

__attribute__((format(printf, 2, 3))) static void put(struct random_script *r, const char *format,
                                                      ...)
{
    va_list args;
    va_start(args, format);
    r->length += vsnprintf(r->text + r->length, sizeof r->text - (size_t)r->length, format, args);
    va_end(args);
    ck_assert_int_lt(r->length, (int)sizeof r->text);
}

/* Adds a value computed from earlier ones; small whole numbers, which floats represent exactly. */
static void put_value(struct random_script *r)
{
    static const char *const forms[] = {
        "v[%d] + v[%d]",
        "v[%d] * v[%d]",
        "where(lt(v[%d], v[%d]), v[1], 3)",
        "v[%d] - sum(v[%d], 2):expand{6, 6}",
        "v[%d] + sum(v[%d], 1):expand{6, 6}",
        "matmul(v[%d], v[%d])",
        "transpose(v[%d], 1, 2) - v[%d]",
        "concat({slice(v[%d], {2, 0}, {4, 6}), slice(v[%d], {0, 0}, {2, 6})}, 1)",
        "write(v[%d], slice(v[%d], {1, 0}, {3, 6}), at)",
        "write(v[%d], slice(v[%d], {0, 2}, {6, 2}) * 2, at - 3, 2)",
        "write(v[%d], slice(v[%d], {1, 0}, {1, 6}), count)",
        "gather(v[%d], at:abs():minimum(5):reshape{1}:expand{6}) + v[%d]",
        "write(v[%d], input('x', {2, 6}), at) + 0 * v[%d]",
    };
    int a = 1 + draw(r, r->n), b = 1 + draw(r, r->n);
    put(r, "v[%d] = (", r->n + 1);
    put(r, forms[draw(r, COUNT(forms))], a, b);
    put(r, draw(r, 3) ? "):maximum(-9):minimum(9)\n" : ")\n");
    r->n++;
}

/* Makes a script with states, values, and next values of the states: some are another state, or a
 * write of rows, which may stand before or after other replacements. */
static void make_script(struct random_script *r, uint64_t seed)
{
    *r = (struct random_script){.seed = seed};
    int states = 1 + draw(r, 4), values = 1 + draw(r, 9);
    put(r, "local at, count = input('at', {}, 'i32'), state('count', {}, 'i32')\nlocal v = {}\n");
    for (int i = 1; i <= states; i++)
        put(r, "v[%d] = state('s%d', {6, 6})\n", ++r->n, i);
    put(r, "v[%d] = input('y', {6, 6})\n", ++r->n);
    for (int i = 0; i < values; i++)
        put_value(r);
    for (int i = 1; i <= states; i++)
        if (draw(r, 3))
            put(r, "replace(v[%d], v[%d]:maximum(-9):minimum(9))\n", i, 1 + draw(r, r->n));
        else if (draw(r, 2))
            put(r, "replace(v[%d], write(v[%d], slice(v[%d], {3, 0}, {2, 6}):minimum(7), at))\n",
                i, i, 1 + draw(r, r->n));
        else
            put(r, "replace(v[%d], v[%d])\n", i, 1 + draw(r, states));
    put(r, "replace(count, count + 1)\nreturn {a = v[%d]:minimum(99), b = v[%d] + v[1]", r->n,
        1 + draw(r, r->n));
    for (int i = 1; i <= states; i++)
        put(r, ", s%d = v[%d]", i, i);
    put(r, "}\n");
}

/* Random scripts read, replace and write states in many orders. */
START_TEST(test_random)
{
    static struct random_script r;
    for (int i = 0; i < 100; i++) {
        make_script(&r, (uint64_t)(1000 * _i + i));
        struct model *m = open_model(r.text, CR_BACKEND_TCC, 1 + i % 3);
        struct model *ref = open_model(r.text, CR_BACKEND_REF, 1);
        assert_same_runs(m, ref, 4, r.text);
        close_model(ref);
        close_model(m);
    }
}
END_TEST

/* ---- several entries ---- */

/* A model of two entries, a and b, which share states. */
static const char *const shared[] = {
    /* both entries change the state */
    "local n = state('n', {}, 'i32') replace(n, n + 1, 'a') replace(n, n * 2, 'b')\n"
    "return {a = {y = n}, b = {y = n + 1, z = n}}",
    /* entry a writes the state that entry b reads; b has no input */
    "local s = state('s', {20}) replace(s, input('x', {20}), 'a')\n"
    "return {a = {y = input('x', {20}) * 2}, b = {y = s * 3}}",
    /* one entry swaps two states, which takes a copy; the other replaces in place */
    "local p, q = state('p', {20}), state('q', {20}) replace(p, q, 'b') replace(q, p, 'b')\n"
    "replace(p, p + input('x', {20}), 'a') return {a = {y = p - q}, b = {y = p + q}}",
    /* in each entry, one kernel reads the old value and replaces it, so it runs after all other
     * readers */
    "local s = state('s', {5, 6}) local next = s * 2 + 1 local w = input('w', {6, 7})\n"
    "replace(s, next:minimum(99), 'a') replace(s, next - s * 3, 'b')\n"
    "return {a = {y = matmul(s, w), z = s}, b = {y = matmul(s, w) + 1}}",
    /* one entry writes rows, the other replaces the whole state */
    "local s, at = state('s', {8, 3}), input('at', {}, 'i32')\n"
    "local w = write(s, input('x', {2, 3}), at) replace(s, w, 'a') replace(s, w * 0 + at:float(), 'b')\n"
    "return {a = {y = sum(w, 2), s = s}, b = {z = s, w = w}}",
    /* rows computed from the state itself, so that the whole state is copied to a buffer behind
     * that of another copied state */
    "local p, s = state('p', {8}), state('s', {8}, 'i32') local w = write(s, slice(s, {5}, {3}), 1)\n"
    "replace(s, w, 'b') replace(p, concat({slice(p, {5}, {3}), input('x', {5})}, 1), 'b')\n"
    "return {a = {p = p}, b = {s = s, w = w, p = p}}",
    /* values that both entries compute; one is a state itself */
    "local s, t = state('s', {4}), state('t', {4}) local v = s * t + input('x', {4})\n"
    "local u = v:minimum(9):maximum(-9) replace(s, u, 'a') replace(s, u, 'b') replace(t, s, 'b')\n"
    "return {a = {u = u, s = s}, b = {u = u, t = t}}",
};

/* Returns the graph of one entry of a script. */
static struct cr_graph *graph_of_entry(const char *text, int entry)
{
    struct cr_graph *g = graph_of(text, NULL);
    cr_keep_entry(g, entry);
    return g;
}

/* Runs an entry twice: in a model of both entries, and in a model of that entry alone, whose states
 * are first set to those of the former. */
static void run_both(struct model *m, struct model *const alone[2], int entry, const char *text)
{
    static float found[MAX_ELEMENTS], expected[MAX_ELEMENTS];
    const struct cr_engine_entry *e = &m->engine.entries[entry];
    const void *in[MAX_PORTS] = {NULL};
    void *out[MAX_PORTS] = {NULL};
    struct cr_error error;
    for (int i = 0; i < e->n_inputs; i++) /* alone it has those inputs that it needs, in this order */
        in[e->input[i]] = m->in[e->input[i]];
    for (int i = 0; i < e->n_inputs; i++)
        memcpy(alone[entry]->in[i], m->in[e->input[i]], sizeof m->in[0]);
    for (int i = 0; i < e->n_outputs; i++)
        out[e->output[i]] = m->out[e->output[i]];
    ck_assert_int_eq(alone[entry]->engine.n_inputs, e->n_inputs);
    ck_assert_msg(cr_engine_run_entry(&m->engine, entry, in, out, &error) == 0, "%s", error.text);
    run(alone[entry]);
    for (int i = 0; i < e->n_outputs; i++)
        assert_equal("output", &e->outputs[i], m->out[e->output[i]], alone[entry]->out[i], text);
    for (int i = 0; i < m->engine.n_states; i++) {
        cr_engine_get_state(&m->engine, i, found);
        cr_engine_get_state(&alone[entry]->engine, i, expected);
        assert_equal("state", &m->engine.states[i], found, expected, text);
        cr_engine_set_state(&alone[!entry]->engine, i, expected);
    }
}

/* Entries that run in any order each give what they give alone. */
START_TEST(test_entries)
{
    const char *text = shared[_i / CR_BACKEND_COUNT];
    enum cr_backend backend = (enum cr_backend)(_i % CR_BACKEND_COUNT);
    if (backend == CR_BACKEND_STANDALONE && text != shared[2] && text != shared[4])
        return; /* that takes seconds */
    struct model *m = open_graph(graph_of(text, NULL), backend, 2);
    struct model *const alone[] = {open_graph(graph_of_entry(text, 0), CR_BACKEND_REF, 1),
                                   open_graph(graph_of_entry(text, 1), CR_BACKEND_REF, 1)};
    ck_assert_int_eq(m->engine.n_entries, 2);
    ck_assert_int_eq(m->engine.n_states, alone[1]->engine.n_states);
    fill_states(m);
    fill_states(alone[0]);
    fill_states(alone[1]);
    for (int run_number = 0; run_number < 12; run_number++) {
        fill_inputs(m, run_number);
        run_both(m, alone, 0x9ac >> run_number & 1, text);
    }
    for (int i = 0; i < 2; i++)
        close_model(alone[i]);
    close_model(m);
}
END_TEST

/* A run of all entries gives the results of running each in the order of their names. */
START_TEST(test_all_entries)
{
    const char *text = shared[_i];
    struct model *m = open_model(text, CR_BACKEND_TCC, 1), *ref = open_model(text, CR_BACKEND_REF, 1);
    assert_same_runs(m, ref, 4, text);
    close_model(ref);
    close_model(m);
}
END_TEST

START_TEST(test_entries_read_back)
{
    const char *text = shared[_i];
    char *printed = NULL;
    size_t size = 0;
    for (int after = 0; after < 3; after++) {
        static const char *const passes[] = {"entries", "simplify", "states"};
        struct cr_module *module = cr_module_new(graph_of(text, NULL));
        const struct cr_pass_options options = {.stop_after = passes[after]};
        struct cr_error error;
        ck_assert_msg(cr_run_passes(module, &options, &error) == 0, "%s", error.text);
        FILE *file = open_memstream(&printed, &size);
        cr_print_graph(file, module->graph);
        fclose(file);
        cr_module_free(module);
        struct model *m = open_model(printed, CR_BACKEND_TCC, 1);
        struct model *ref = open_model(text, CR_BACKEND_REF, 1);
        assert_same_runs(m, ref, 3, text);
        close_model(ref);
        close_model(m);
        free(printed);
    }
}
END_TEST

/* An entry for a prompt and an entry for one token, which share a cache. */
static const char *const two_steps =
    "local nn = require 'nn'\n"
    "local o = options {T = 8, heads = 2, n = 24}\n"
    "local at = state('at', {}, 'i32')\n"
    "local keys, values = state('keys', {o.heads, o.n, 16}), state('values', {o.heads, o.n, 16})\n"
    "local function attend(x, T, entry)\n"
    "    local function heads(name)\n"
    "        return scope(name, nn.linear, x, 32):reshape{T, o.heads, -1}:transpose(1, 2)\n"
    "    end\n"
    "    local q, k, v = heads 'q', heads 'k', heads 'v'\n"
    "    local k_now, v_now = write(keys, k, at, 2), write(values, v, at, 2)\n"
    "    replace(keys, k_now, entry) replace(values, v_now, entry) replace(at, at + T, entry)\n"
    "    local shape = {o.heads, T, o.n}\n"
    "    local sees = le(iota(shape, 3), iota(shape, 2) + at:reshape{1, 1, 1}:expand(shape))\n"
    "    local s = where(sees, matmul(q, transpose(k_now, 2, 3)) * 0.25, -math.huge)\n"
    "    local y = matmul(nn.softmax(s), v_now):transpose(1, 2):reshape{T, 32}\n"
    "    return {y = scope('proj', nn.linear, y, 32) + x}\n"
    "end\n"
    "return {prefill = attend(input('prompt', {o.T, 32}), o.T, 'prefill'),\n"
    "        decode = attend(input('token', {1, 32}), 1, 'decode')}\n";

/* Runs an entry on n rows from number `at` on. */
static void run_rows(struct model *m, int entry, size_t at, size_t n, float *y)
{
    const void *in[2];
    void *out[2] = {m->out[0], m->out[1]};
    struct cr_error error;
    const struct cr_engine_entry *e = &m->engine.entries[entry];
    in[0] = in[1] = m->in[0];
    ck_assert_int_eq(e->n_inputs, 1);
    ck_assert_int_eq(e->inputs[0].shape[0], (int64_t)n);
    for (size_t i = 0; i < n * WIDTH; i++)
        m->in[0][i] = sinf((float)((at * WIDTH + i) * 37 % 101));
    ck_assert_msg(cr_engine_run_entry(&m->engine, entry, in, out, &error) == 0, "%s", error.text);
    memcpy(y + at * WIDTH, m->out[e->output[0]], n * WIDTH * sizeof *y);
}

/* A prompt of several rows followed by single rows gives the bits of all rows at once; after a
 * reset of the states, a second prompt does, too. */
START_TEST(test_prefill)
{
    enum { DECODE, PREFILL };
    static const char *const prompts[] = {"3", "1", "7"};
    static float whole[TOKENS * WIDTH], parts[TOKENS * WIDTH];
    enum cr_backend backend = (enum cr_backend)_i;
    struct model *m = open_graph(graph_of(two_steps, "8"),
                                 backend == CR_BACKEND_REF ? backend : CR_BACKEND_TCC, 1);
    ck_assert_str_eq(m->engine.entries[PREFILL].name, "prefill");
    run_rows(m, PREFILL, 0, TOKENS, whole);
    close_model(m);
    for (int i = 0; i < (backend == CR_BACKEND_STANDALONE ? 1 : COUNT(prompts)); i++) {
        m = open_graph(graph_of(two_steps, prompts[i]), backend, 1 + i);
        for (int again = 0; again < 2; again++) {
            size_t at = (size_t)atoi(prompts[i]);
            memset(parts, 0, sizeof parts);
            run_rows(m, PREFILL, 0, at, parts);
            for (; at < TOKENS; at++)
                run_rows(m, DECODE, at, 1, parts);
            for (size_t j = 0; j < TOKENS * WIDTH; j++)
                ck_assert_msg(backend == CR_BACKEND_REF ? fabsf(parts[j] - whole[j]) < 1e-6f
                                                        : !memcmp(&parts[j], &whole[j], 4),
                              "%s, %s rows, element %d: %.9g, expected %.9g",
                              cr_backend_name(backend), prompts[i], (int)j, (double)parts[j],
                              (double)whole[j]);
            cr_engine_reset_states(&m->engine);
        }
        close_model(m);
    }
}
END_TEST

/* Both entries share weights, states and functions, and none copies the cache. */
START_TEST(test_prefill_cost)
{
    struct model *m = open_graph(graph_of(two_steps, "6"), CR_BACKEND_TCC, 1);
    const struct cr_program *p = m->engine.program;
    ck_assert_int_eq(m->engine.n_states, 3);
    ck_assert_int_eq(p->n_inputs, 5);
    for (int i = 0; i < p->n_inputs; i++)
        ck_assert_int_eq(p->inputs[i].entries == 3, p->inputs[i].state);
    ck_assert_int_lt(p->arena_bytes, (int64_t)(6 * 3 * 32 + 6 * 32 + 64) * 4);
    close_model(m);
}
END_TEST

/* ---- emitted C ---- */

static const char *const driver =
    "#include <stdio.h>\n"
    "#include \"session.h\"\n"
    "static _Alignas(64) char arena[SESSION_ARENA_BYTES + 64];\n"
    "static float cache[2][SESSION_STATE_CACHE_ELEMENTS];\n"
    "static int at[2];\n"
    "int main(void)\n"
    "{\n"
    "    for (int turn = 0; turn < 6; turn++) {\n"
    "        int who = turn == 4, status;\n"
    "        float x = 1.0f + turn, y;\n"
    "        status = session_run(0, &at[who], cache[who], &x, &y, arena);\n"
    "        printf(\"%d %d %g\\n\", status, at[who], y);\n"
    "    }\n"
    "    printf(\"%d\\n\", session_run(0, at, 0, cache[0], cache[1], arena));\n"
    "    return 0;\n"
    "}\n";

/* Emits a script as NAME.c, compiles it with a program that calls it, and compares the program's
 * output. */
static void check_emitted(const char *name, const char *program_text, const char *script,
                          const char *const *expected, int n)
{
    struct cr_graph *graph = graph_of(script, NULL);
    graph->name = cr_intern(graph, name);
    struct cr_module *module = cr_module_new(graph);
    char folder[] = "/tmp/crescent_state_XXXXXX", path[64], command[400], line[64];
    struct cr_error error;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_msg(cr_run_passes(module, NULL, &error) == 0, "%s", error.text);
    struct cr_program *program = cr_emit_program(module);
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    ck_assert_msg(cr_write_standalone(program, CR_ISA_ALL, path, &error) == 0, "%s", error.text);
    snprintf(path, sizeof path, "%s/driver.c", folder);
    FILE *file = fopen(path, "w");
    fputs(program_text, file);
    fclose(file);
    snprintf(command, sizeof command,
             "cd %s && ${CC:-cc} -Wall -Wextra -Wpedantic -Werror -O1 %s.c driver.c -lm -o d && ./d",
             folder, name);
    file = popen(command, "r");
    for (int i = 0; i < n; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
        ck_assert_str_eq(line, expected[i]);
    }
    ck_assert_int_eq(pclose(file), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    cr_program_free(program);
    cr_module_free(module);
}

/* A program with two sessions; the cache has four rows, so the fifth is dropped. */
START_TEST(test_emitted)
{
    static const char *const expected[] = {"0 1 1\n", "0 2 3\n", "0 3 6\n",
                                           "0 4 10\n", "0 1 5\n", "0 5 10\n", "1\n"};
    check_emitted("session", driver,
                  "local at, cache = state('at', {}, 'i32'), state('cache', {4})\n"
                  "local now = write(cache, input('x', {1}), at)\n"
                  "replace(cache, now) replace(at, at + 1) return {y = sum(now, 1)}\n",
                  expected, COUNT(expected));
}
END_TEST

static const char *const driver_of_entries =
    "#include <stdio.h>\n"
    "#include \"shared.h\"\n"
    "static _Alignas(64) char weights[SHARED_PARAM_BYTES + 64], arena[SHARED_ARENA_BYTES + 64];\n"
    "static float cache[SHARED_STATE_CACHE_ELEMENTS];\n"
    "int main(void)\n"
    "{\n"
    "    int at = 0, status;\n"
    "    float x[3] = {1, 2, 4}, y, w = 10;\n"
    "    shared_load(weights, 0, &w);\n"
    "    status = shared_prefill_run(weights, &at, cache, x, &y, arena);\n"
    "    printf(\"%d %d %g\\n\", status, at, y);\n"
    "    for (int turn = 0; turn < 3; turn++) {\n"
    "        status = shared_decode_run(weights, &at, cache, x, &y, arena);\n"
    "        printf(\"%d %d %g\\n\", status, at, y);\n"
    "    }\n"
    "    status = shared_clear_run(weights, &at, &y, arena);\n"
    "    printf(\"%d %d %g %g\\n\", status, at, y, cache[1]);\n"
    "    return 0;\n"
    "}\n";

/* Three entries of one file: each function takes the states that its entry reads or replaces. */
START_TEST(test_emitted_entries)
{
    static const char *const expected[] = {"0 3 70\n", "0 4 80\n", "0 5 90\n", "0 5 90\n",
                                           "0 0 5 20\n"};
    check_emitted("shared", driver_of_entries,
                  "local at, cache = state('at', {}, 'i32'), state('cache', {5})\n"
                  "local function step(name, n, entry)\n"
                  "    local now = write(cache, input(name, {n}) * param('w', {}), at)\n"
                  "    replace(cache, now, entry) replace(at, minimum(at + n, 5), entry)\n"
                  "    return {y = sum(now, 1)}\n"
                  "end\n"
                  "replace(at, const(0, {}, 'i32'), 'clear')\n"
                  "return {prefill = step('prompt', 3, 'prefill'),\n"
                  "        decode = step('token', 1, 'decode'), clear = {at = at:float()}}\n",
                  expected, COUNT(expected));
}
END_TEST

/* `emit --step` is refused for a script with states: a training step's state is its inputs and
 * outputs. */
START_TEST(test_no_step)
{
    struct cr_module *module = cr_module_new(graph_of(
        "local n, w = state('n', {}), param('w', {})\n"
        "replace(n, n + 1) return {w = w + n}\n", NULL));
    struct cr_error error;
    ck_assert_msg(cr_run_passes(module, NULL, &error) == 0, "%s", error.text);
    struct cr_program *program = cr_emit_program(module);
    ck_assert_int_ne(cr_write_standalone_step(program, CR_ISA_ALL, "m.lua", "/tmp/never.c", &error), 0);
    ck_assert_str_eq(error.text, "m.lua: a training step has its state as inputs and outputs of "
                                 "one name, expected no state()");
    cr_program_free(program);
    cr_module_free(module);
}
END_TEST

/* With --max-arena, values that depend on a state are not recomputed, as its old value may be gone;
 * a limit that is too small is refused. */
START_TEST(test_max_arena)
{
    const char *text = "local s = state('s', {64}) local y = s\n"
                       "for i = 1, 9 do y = exp(y) / sum(exp(y), 1):expand{64} end\n"
                       "replace(s, y) return {y = sum(y * s, 1)}";
    for (int i = 0; i < 2; i++) {
        const struct cr_pass_options options = {
            .settings = {.max_arena = i ? 1 << 20 : 4, .path = "m.lua"}};
        struct cr_module *module = cr_module_new(graph_of(text, NULL));
        struct cr_error error;
        int status = cr_run_passes(module, &options, &error);
        bool refused = status && strstr(error.text, "m.lua: the arena takes at least ");
        ck_assert_msg(i ? status == 0 : refused, "%s", status ? error.text : "it is taken");
        cr_module_free(module);
    }
}
END_TEST

/* ---- mistakes ---- */

static const struct {
    const char *text, *message;
} mistakes[] = {
    {"local n = length('n', 3)\nlocal s = state('s', {3})\nlocal v = s + input('x', {n})\n"
     "replace(s, v)\nreturn {y = sum(s, 1)}",
     ":3: replace: axis 1 of the value for state s is the length n, expected a fixed size"},
    {"local n = length('n', 3)\nlocal x = input('x', {n})\nlocal r = input('r', {2})\n"
     "return {y = write(x, r, 0)}",
     ":4: write: cannot write rows along the length n (axis 1), expected it to stay an axis of "
     "its own and whole"},
    {"local s = state('s', {3})\nreplace(s, s + 1)\nreplace(s, s)\nreturn {y = s}",
     ":3: replace: 's' is replaced already, expected one value for it"},
    {"local s = state('s', {3})\nreplace(s, input('x', {4}))\nreturn {y = s}",
     ":2: replace: found f32 [4], expected f32 [3] as 's' is"},
    {"local s = state('s', {3}, 'i32')\nreplace(s, input('x', {3}))\nreturn {y = s}",
     ":2: replace: found f32 [3], expected i32 [3] as 's' is"},
    {"local x = input('x', {3})\nreplace(x, x + 1)\nreturn {y = x}",
     ":2: replace: found x, expected a state"},
    {"local x = input('x', {3})\nreplace(x + 1, x)\nreturn {y = x}",
     ":2: replace: found add, expected a state"},
    {"local x = input('x', {3})\nlocal s = state('s', {3})\nreplace(s, x)\nreturn {y = x}",
     ":2: state: 's' is never read, expected a value or an output that depends on it"},
    {"local s = state('s', {3})\nreturn {y = s}",
     ":1: state: 's' is never replaced, expected replace(state, value), or an input in its place"},
    {"local s = state('s', {3})\nreplace(s, s + 1)\nreturn {a = {y = s}, b = {y = s * 2}}",
     ":2: replace: found no entry, expected replace(state, value, entry), as the script returns "
     "several entries"},
    {"local s = state('s', {3})\nreplace(s, s + 1, 'decod')\n"
     "return {decode = {y = s}, b = {y = s * 2}}",
     ":2: replace: entry 'decod': the script returned none of that name, did you mean decode?"},
    {"local s = state('s', {3})\nreplace(s, s + 1, 'a')\nreturn {y = s}",
     ":2: replace: entry 'a': the script returned none of that name"},
    {"local s = state('s', {3})\nreplace(s, s + 1, s)\nreturn {y = s}",
     ":2: replace: entry: found tensor, expected a string"},
    {"local s = state('s', {3})\nreplace(s, s + 1, 'a')\nreplace(s, s, 'b')\n"
     "replace(s, s * 2, 'a')\nreturn {a = {y = s}, b = {y = s}}",
     ":4: replace: 's' is replaced already, expected one value for it"},
    {"local s = state('s', {3})\nreplace(s, s + 1, 'a')\nreplace(s, s)\nreturn {a = {y = s}}",
     ": replace: found 's' twice, with and without the name of its entry, expected it once"},
    {"local s, x = state('s', {3}), input('x', {3})\nreplace(s, x, 'a')\n"
     "return {a = {y = x}, b = {y = x * 2}}",
     ":1: state: 's' is never read, expected a value or an output that depends on it"},
    {"local s = state('s', {3})\nlocal x = input('s', {3})\nreturn {y = x}",
     ":2: input: 's' is a state already (line 1), expected another name"},
    {"local x = input('x', {3})\nlocal s = state('x', {3})\nreturn {y = x}",
     ":2: state: 'x' is an input already (line 1), expected another name"},
    {"local s = state('s', {3})\nlocal t = state('s', {4})\nreturn {y = s}",
     ":2: state: 's' is f32 [4] here and f32 [3] before (line 1), expected the same"},
    {"local s = state('s', {3})\nreplace(s, s + 1)\nreturn {}",
     ": the script returned no outputs, expected a table such as {y = y}"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, x, 0.5)}",
     ":2: write: at: found 0.5, expected a whole number"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, x, x)}",
     ":2: write: `at` is f32 [3, 4], expected one i32"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, input('r', {4, 4}), 0)}",
     ":2: write: found 4 rows to write to [3, 4], expected at most 3"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, input('r', {2, 3}), 0)}",
     ":2: write: found f32 [3, 4] and rows f32 [2, 3], expected one type, and shapes that "
     "differ along axis 1 only"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, input('r', {4}), 0)}",
     ":2: write: found f32 [3, 4] and rows f32 [4], expected one type, and shapes that differ "
     "along axis 1 only"},
    {"local x = input('x', {3, 4})\nreturn {y = write(x, x, 0, 3)}",
     ":2: write: found axis 3 of a tensor of rank 2, expected one counted from 1, or from -1 "
     "backwards"},
    {"local x = input('x', {})\nreturn {y = write(x, x, 0)}",
     ":2: write: found axis 1 of a tensor of rank 0, expected one that it has"},
};

START_TEST(test_mistakes)
{
    struct cr_script script;
    struct cr_error error;
    const char *path = write_script(mistakes[_i].text);
    int status = cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error);
    unlink(path);
    ck_assert_msg(status != 0, "%s: it is taken", mistakes[_i].text);
    ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    ck_assert_str_eq(error.text + strlen(path), mistakes[_i].message);
}
END_TEST

/* ---- written rows with a length ---- */

/* A run writes a number of rows into a cache; inputs give the number and the first row. */
START_TEST(test_lengths)
{
    struct model *m = open_model("local n = length('n', 4)\n"
                                 "local x, at = input('x', {n, 3}), input('at', {}, 'i32')\n"
                                 "local c = state('c', {6, 3})\n"
                                 "local w = write(c, x * 2, at)\n"
                                 "replace(c, w)\n"
                                 "return {y = w + 1}",
                                 (enum cr_backend)_i, 1);
    float cache[6][3] = {{0}};
    for (int run_number = 0; run_number < 40; run_number++) {
        int32_t n = run_number % 4 + 1, at = run_number * 5 % 11 - 3;
        fill_inputs(m, run_number);
        memcpy(m->in[0], &n, sizeof n);
        memcpy(m->in[2], &at, sizeof at);
        run(m);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 3 && at + i >= 0 && at + i < 6; j++)
                cache[at + i][j] = 2 * m->in[1][i * 3 + j];
        for (int i = 0; i < 18; i++)
            ck_assert(m->out[0][i] == cache[i / 3][i % 3] + 1);
    }
    close_model(m);
}
END_TEST

/* ---- mistakes in passes that are caught ---- */

/* Runs the passes after `recompute` on a module that a mistake of fuse would have made; returns the
 * error. */
static struct cr_error run_rest(struct cr_module *m)
{
    struct cr_error error = {{0}};
    bool behind = false;
    for (int i = 0; i < cr_n_passes; i++) {
        if (behind && cr_run_pass(m, &cr_passes[i], &error))
            return error;
        behind |= strcmp(cr_passes[i].name, "recompute") == 0;
    }
    return error;
}

static struct cr_module *fused(const char *text)
{
    struct cr_module *m = cr_module_new(graph_of(text, NULL));
    struct cr_error error;
    const struct cr_pass_options options = {.stop_after = "supported_formats"};
    ck_assert_msg(cr_run_passes(m, &options, &error) == 0, "%s", error.text);
    return m;
}

static void exchange(struct cr_module *m, int i, int j)
{
    struct cr_kernel kernel = m->kernels[i];
    m->kernels[i] = m->kernels[j];
    m->kernels[j] = kernel;
    m->graph->nodes[m->kernels[i].buffer].kernel = i;
    m->graph->nodes[m->kernels[j].buffer].kernel = j;
}

/* A reader of the old value runs after the kernel that overwrites it. */
START_TEST(test_verifies_order)
{
    struct cr_module *m = fused("local s = state('s', {4}) replace(s, s + 1) return {y = s * 2}");
    ck_assert_int_eq(m->n_kernels, 2);
    ck_assert_str_eq(run_rest(m).text, "");
    cr_module_free(m);
    m = fused("local s = state('s', {4}) replace(s, s + 1) return {y = s * 2}");
    exchange(m, 0, 1);
    ck_assert_ptr_nonnull(strstr(run_rest(m).text, "is written over it"));
    cr_module_free(m);
}
END_TEST

/* A kernel reads other elements than the one that it overwrites. */
START_TEST(test_verifies_place)
{
    const char *text = "local s = state('s', {4, 4}) replace(s, s + input('x', {4, 4})) "
                       "return {y = s * 2}";
    struct cr_module *m = fused(text);
    struct cr_tiles *program = &m->kernels[1].program;
    for (int i = 0; i < program->n; i++)
        if (program->values[i].source == CR_LOAD &&
            m->graph->nodes[m->kernels[1].refs[program->values[i].ref]].op == CR_OP_state)
            memset(program->values[i].at.coef, 0, sizeof program->values[i].at.coef);
    ck_assert_ptr_nonnull(strstr(run_rest(m).text, "is written over it"));
    cr_module_free(m);
}
END_TEST

/* A write has rows that do not exist. */
START_TEST(test_verifies_rows)
{
    const char *text = "local c = state('c', {8, 6})\n"
                       "local w = write(c, input('x', {2, 6}), input('at', {}, 'i32'))\n"
                       "replace(c, w) return {y = w}";
    for (int which = 0; which < 4; which++) {
        struct cr_module *m = fused(text);
        struct cr_kernel_write *w = &m->kernels[0].write;
        ck_assert_int_eq(w->rows, 8);
        w->rows += which == 0;
        w->step += which == 1;
        w->row.base += 7 * (which == 2);
        w->at.ref += 40 * (which == 3);
        ck_assert_str_ne(run_rest(m).text, "");
        cr_module_free(m);
    }
}
END_TEST

/* ---- mistakes in programs that are caught ---- */

static struct cr_module *scheduled(const char *text)
{
    struct cr_module *m = cr_module_new(graph_of(text, NULL));
    struct cr_error error;
    const struct cr_pass_options options = {.stop_after = "schedule"};
    ck_assert_msg(cr_run_passes(m, &options, &error) == 0, "%s", error.text);
    return m;
}

static struct cr_expr_node *expr_of(struct cr_function *f, enum cr_expr_op op)
{
    for (int i = 0; i < f->n_exprs; i++)
        if (f->exprs[i].op == op)
            return &f->exprs[i];
    ck_abort_msg("no expression of op %d", (int)op);
    return NULL;
}

static struct cr_slot *result_of(struct cr_function *f)
{
    for (int i = 0; i < f->n_bound; i++)
        if (f->slots[i].written)
            return &f->slots[i];
    ck_abort_msg("nothing is written");
    return NULL;
}

static void assert_refused(struct cr_module *m, const char *why)
{
    struct cr_error error = {{0}};
    ck_assert_msg(cr_verify_program(m->program, &error) != 0, "expected: %s", why);
    ck_assert_msg(strstr(error.text, why) != NULL, "%s, expected: %s", error.text, why);
    cr_module_free(m);
}

/* A row number that is loaded may be any integer; only a condition keeps the write inside the
 * state. */
START_TEST(test_program_rows)
{
    const char *text = "local c = state('c', {8, 6})\n"
                       "local w = write(c, input('x', {2, 6}), input('at', {}, 'i32'))\n"
                       "replace(c, w) return {y = w + 1}";
    static const char *const why[] = {"it reaches from", "it reaches from", "it reaches from",
                                      "is not written for sure", "which is not there",
                                      "of which not all is there", "written in part"};
    struct cr_module *m = scheduled(text);
    struct cr_function *f = &m->program->functions[0];
    struct cr_expr_node *greater = expr_of(f, CR_EXPR_GREATER), *less = expr_of(f, CR_EXPR_LESS);
    struct cr_expr_node *load = expr_of(f, CR_EXPR_LOAD);
    struct cr_slot *out = result_of(f);
    switch (_i) {
    case 0:
        f->exprs[greater->b].number--;
        break;
    case 1:
        f->exprs[less->b].number++;
        break;
    case 2:
        load->number = 1;
        break;
    case 3:
        out->partly = false;
        break;
    case 4:
        load->a = (int)(out - f->slots);
        break;
    case 5: /* only one of two functions writes the output */
        result_of(&m->program->functions[1])->partly = true;
        break;
    default:
        f->slots[0].partly = true;
    }
    assert_refused(m, why[_i]);
}
END_TEST

/* An old value is not read after it is overwritten, except by the call that overwrites it, in
 * place. */
START_TEST(test_program_order)
{
    struct cr_module *m = scheduled("local s = state('s', {4}) replace(s, s + 1) "
                                    "return {y = s:slice({1}, {3}) * 2}");
    struct cr_step *steps = m->program->steps, step = steps[0];
    ck_assert_int_eq(m->program->n_steps, 2);
    steps[0] = steps[1];
    steps[1] = step;
    assert_refused(m, "is written over it");
    m = scheduled("local x = input('x', {2, 8192}) local s = state('s', {2, 8192}) "
                  "replace(s, s + x) return {y = s:slice({0, 0}, {1, 8192}) + 1}");
    for (int k = 0; k < m->program->n_functions; k++) {
        struct cr_function *f = &m->program->functions[k];
        for (int i = 0; i < f->n_arguments; i++)
            if (f->arguments[i].kind == CR_ARGUMENT_ADDRESS &&
                f->arguments[i].address.slot != (int)(result_of(f) - f->slots))
                f->arguments[i].address.n_terms = 0;
    }
    assert_refused(m, "is written over it");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *tcase = tcase_create("state");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_all_backends, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, test_threads, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, test_cost, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, test_reads_back, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, test_counter, 0, CR_BACKEND_COUNT);
    tcase_add_loop_test(tcase, test_swap, 0, CR_BACKEND_COUNT);
    tcase_add_loop_test(tcase, test_write, 0, CR_BACKEND_COUNT);
    tcase_add_loop_test(tcase, test_rows_made, 0, COUNT(rows_made));
    tcase_add_loop_test(tcase, test_write_gradient, 0, CR_BACKEND_STANDALONE);
    tcase_add_test(tcase, test_cache);
    tcase_add_test(tcase, test_layers);
    tcase_add_loop_test(tcase, test_random, 0, RANDOM);
    tcase_add_loop_test(tcase, test_entries, 0, COUNT(shared) * CR_BACKEND_COUNT);
    tcase_add_loop_test(tcase, test_all_entries, 0, COUNT(shared));
    tcase_add_loop_test(tcase, test_entries_read_back, 0, COUNT(shared));
    tcase_add_loop_test(tcase, test_prefill, 0, CR_BACKEND_COUNT);
    tcase_add_test(tcase, test_prefill_cost);
    tcase_add_test(tcase, test_emitted);
    tcase_add_test(tcase, test_emitted_entries);
    tcase_add_test(tcase, test_no_step);
    tcase_add_test(tcase, test_max_arena);
    tcase_add_loop_test(tcase, test_mistakes, 0, COUNT(mistakes));
    tcase_add_test(tcase, test_verifies_order);
    tcase_add_test(tcase, test_verifies_place);
    tcase_add_test(tcase, test_verifies_rows);
    tcase_add_loop_test(tcase, test_lengths, 0, CR_BACKEND_COUNT);
    tcase_add_loop_test(tcase, test_program_rows, 0, 7);
    tcase_add_test(tcase, test_program_order);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
