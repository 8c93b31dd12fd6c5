/*
 * test_lengths.c - lengths: sizes that are known only when the model runs.
 *
 * Every script is compiled once with lengths and once for each size with numbers in their place;
 * what comes out is the same, bit for bit, for each backend, instruction set and number of threads.
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

enum { BOUND = 128, SECOND = 40 };

/* T and S are lengths, or constants that the options give. */
static const char head[] =
    "local nn, attention, gpt2 = require 'nn', require 'attention', require 'gpt2'\n"
    "local o = options {T = 0, S = 0}\n"
    "local T = o.T == 0 and length('T', 128) or o.T\n"
    "local S = o.S == 0 and length('S', 40) or o.S\n";

static const struct {
    const char *name, *body;
} scripts[] = {
    {"block", "return {y = gpt2.block(input('x', {1, T, 64}), {n_head = 4, "
              "layer_norm_epsilon = 1e-5, layout = 'conv1d'})}"},
    {"batch", "return {y = gpt2.block(input('x', {3, T, 48}), {n_head = 3, "
              "layer_norm_epsilon = 1e-5, layout = 'conv1d'})}"},
    {"elementwise", "local x = input('x', {2, T, 5})\n"
                    "return {y = exp(x) * 2, z = x:transpose(2, 3) + 1}"},
    {"wide", "local x = input('x', {3, T}) return {y = x * x - 1, z = sum(x, 2), w = max(x, -1)}"},
    {"columns", "local x = input('x', {T, 70}) return {y = sum(x, 1), z = max(exp(x), 1)}"},
    {"mean", "local x = input('x', {T, 7})\n"
             "local n = o.T == 0 and float(T) or o.T\n"
             "return {y = sum(x, 1) / n}"},
    {"means", "local x = input('x', {T, 2, 7})\n"
              "return {y = nn.mean(x, 1), z = nn.mean(x:transpose(1, 3), -1), w = nn.mean(x, 3)}"},
    {"positions", "local x = input('x', {2, T, 9})\n"
                  "return {y = x + param('wpe', {128, 9}, {normal = 1}):slice({0, 0}, "
                  "{o.T == 0 and 128 or o.T, 9})}"},
    {"ids", "local x = input('ids', {2, T}, 'i32')\n"
            "return {y = gather(param('wte', {50, 12}, {normal = 1}), x)}"},
    {"rows",
     "local x = input('x', {T, 6})\n" /* gathers the last row; a row out of range is NaN */
     "local n = o.T == 0 and T or const(o.T, {}, 'i32')\n"
     "local last = reshape(n, {1}) - 1\n"
     "return {y = gather(x, last), z = gather(exp(x), last + 1), w = gather(x, iota({9}, 1))}"},
    {"shift",
     "local x = input('x', {1, T, 6})\n" /* gathers the next row; behind the last one there is NaN */
     "local y = gather(x, iota({1, T, 1}, 2) + 1, 2)\n"
     "return {y = y, z = where(eq(y, y), gather(exp(x), iota({1, T, 1}, 2) - 2, -2), 0)}"},
    {"elements",
     "local a = input('a', {3, T, T})\n" /* gathers along lengths, at a distance; out of range NaN */
     "local away = abs(iota({1, T, T}, 2) - iota({1, T, T}, 3))\n"
     "local z = gather(exp(a), away - 1, 2)\n"
     "return {y = gather(a, away, 3), z = where(eq(z, z), z, 0), w = gather(a, iota({1, 1, 4}, 3), "
     "3)}"},
    {"repeated", "local x = input('x', {1, 3})\n" /* only an expand has the length */
                 "return {y = (x * 0.75):expand{T, 1, 3} + 2 ^ x}"},
    {"groups", "local x = input('x', {1, T, 12})\n" /* tokens in groups, for a mask */
               "local of = cumsum(const(0, {T}, 'i32'), 1)\n"
               "local query = gather(of, iota({1, 1, T, 1}, 3))\n"
               "local key = gather(of, iota({1, 1, 1, T}, 4))\n"
               "local seen = logical_and(eq(query, key), le(iota({1, 1, T, T}, 4), "
               "iota({1, 1, T, T}, 3)))\n"
               "local heads = attention.split_heads(x, 3)\n"
               "return {y = attention.attend(heads, heads, heads, nil, nil, "
               "{bias = where(seen, const(0, {}), const(-1e30, {}))})}"},
    {"indices", "return {y = iota({T, 6}, 1) * input('x', {T, 6}, 'i32')}"},
    {"scores", "local x = input('x', {T, 16})\n"
               "local s = matmul(x, x:transpose(1, 2))\n"
               "return {y = s, z = nn.softmax(s)}"},
    {"gram", "local x = input('x', {T, 33}) return {y = matmul(x:transpose(1, 2), x)}"},
    {"inner", "local x = input('x', {5, T})\n"
              "return {y = matmul(x, param('w', {128, 20}, {normal = 1}):slice({0, 0}, "
              "{o.T == 0 and 128 or o.T, 20}))}"},
    {"cross", "local q, k = input('q', {2, T, 16}), input('k', {2, S, 16})\n"
              "local p = nn.softmax(matmul(q, k:transpose(2, 3)) * 0.25)\n"
              "return {y = matmul(p, exp(k)), z = matmul(q, k:transpose(2, 3))}"},
    {"outer", "local x = input('x', {T, 4, 6})\n"
              "return {y = x:permute{2, 1, 3}, z = sum(x, 2), w = nn.softmax(x:transpose(1, 3))}"},
    {"concat", "local x = input('x', {T, 6}) return {y = concat({x * 2, exp(x), x}, 2)}"},
    {"stack", "local x = input('x', {1, T, 32})\n"
              "for i = 1, 5 do prefix('h.' .. i .. '.') x = gpt2.block(x, {n_head = 2, "
              "layer_norm_epsilon = 1e-5, layout = 'conv1d'}) end\n"
              "return {y = x}"},
    /* two products in one kernel: the first has the length as its k, or the second has it as
     * columns */
    {"chain",
     "local a, v = input('a', {3, T}), input('v', {T, 4})\n"
     "local y = matmul(maximum(matmul(a, v), 0), param('w', {4, 33}, {normal = 1}))\n"
     "return {y = y, z = matmul(maximum(matmul(y, input('c', {33, 5})), 0), input('d', {5, T}))}"},
    {"softmax chain",
     "local q, k, v = input('q', {T, 16}), input('k', {S, 16}), input('v', {S, 4})\n"
     "local p = nn.softmax(matmul(q, k:transpose(1, 2)) * 0.5)\n"
     "return {y = matmul(maximum(matmul(p, v), 0), param('w', {4, 33}, {normal = 1}))}"},
    {"channels", "local x = input('x', {2, T, 8})\n"
                 "local p = nn.softmax(matmul(x:transpose(2, 3), x))\n"
                 "return {y = matmul(p, x:transpose(2, 3))}"},
    /* leaves with a length in their shape; and a slice of a table up to the length */
    {"leaves", "local x = input('x', {T, 3})\n"
               "local u = exp(const(0, {2, T}))\n"
               "return {n = sum(const(1, {T}), 1), s = sum(float(iota({T}, 1)), 1), "
               "m = float(max(iota({2, T}, 2) * 3, 2)), u = u / sum(u, 2), "
               "e = sum(expand(input('c', {1, 3}), {T, 3}), 1), r = sum(random(3, {T, 2}, 0), 1), "
               "t = sum(slice(input('t', {200, 3}), {0, 0}, {T, 3}), 1), "
               "p = matmul(u, x) * float(sum(const(2, {T, 1}, 'i32'), 1))}"},
    {"scan", "local x = input('x', {2, T, 3})\n"
             "return {y = cumsum(x, 2), z = cumsum(x, 2, true), n = float(cumsum(const(1, {T}, "
             "'i32'), 1, true)), "
             "w = sum(cumsum(exp(x), 2), 2)}"},
    {"scatter",
     "local x, i = input('x', {T}), input('ids', {T}, 'i32')\n"
     "local many = o.T == 0 and 128 or o.T\n" /* an index that is longer than its values */
     "return {y = scatter(input('a', {30}), x, i, 1), z = scatter(input('b', {150}), exp(x), "
     "iota({many}, 1) + 3, 1), k = argmax(x, 1), g = gather(x, iota({9}, 1), 1)}"},
    /* more rows than a block: a norm normalizes a block of rows for several groups of columns */
    {"blocks", "local R = o.T == 0 and length('R', 300) or o.T\n"
               "local h = scope('ln', nn.layer_norm, input('x', {R, 40}), {eps = 1e-5})\n"
               "return {y = nn.linear(h, 1500)}"},
};

/* ---- running ---- */

static struct cr_graph *graph_of(int script, int T, int S)
{
    char path[] = "/tmp/lengthsXXXXXX", t[16], s[16];
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

/* Returns true if an input is the value of a length. */
static bool is_length(const char *name)
{
    return strcmp(name, "T") == 0 || strcmp(name, "S") == 0 || strcmp(name, "R") == 0;
}

/* Sets the element of an input at an index to a number that depends on the index, not on the
 * sizes. */
static void set_element(const struct cr_port *port, void *data, int64_t place, const int64_t *at)
{
    uint32_t h = 17;
    for (int a = 0; a < port->rank; a++)
        h = (h ^ (uint32_t)at[a]) * 2654435761u + 12345;
    if (port->dtype == CR_I32)
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

/* Fills the inputs of a model; elements past a length are NaN or a large number. */
static void fill_inputs(const struct model *m, const struct model *fixed, int T, int S)
{
    for (int i = 0, f = 0; i < m->engine.n_inputs; i++) {
        const struct cr_port *port = &m->engine.inputs[i];
        int64_t at[CR_MAX_RANK] = {0}, n = cr_port_elements(port);
        if (is_length(port->name)) {
            *(int32_t *)m->inputs[i] = port->name[0] == 'S' ? S : T;
            continue;
        }
        memset(m->inputs[i], 0x7f, (size_t)n * 4);
        if (port->dtype == CR_F32)
            for (int64_t e = 0; e < n; e++)
                ((float *)m->inputs[i])[e] = 0.0f / 0.0f;
        const struct cr_port *exact = &fixed->engine.inputs[f++];
        ck_assert_str_eq(exact->name, port->name);
        for (int64_t e = 0; e < cr_port_elements(exact); e++) {
            set_element(port, m->inputs[i], place_of(port, at), at);
            next_index(exact->rank, exact->shape, at);
        }
    }
}

/* ---- comparing ---- */

static void check_outputs(const struct model *m, const struct model *fixed, const char *what)
{
    ck_assert_int_eq(m->engine.n_outputs, fixed->engine.n_outputs);
    for (int i = 0; i < m->engine.n_outputs; i++) {
        const struct cr_port *port = &m->engine.outputs[i], *exact = &fixed->engine.outputs[i];
        int64_t at[CR_MAX_RANK] = {0};
        for (int64_t e = 0; e < cr_port_elements(exact); e++) {
            uint32_t a, b;
            memcpy(&a, (char *)m->outputs[i] + 4 * place_of(port, at), 4);
            memcpy(&b, (char *)fixed->outputs[i] + 4 * e, 4);
            ck_assert_msg(a == b, "%s: output %s: element %d is %08x, expected %08x", what,
                          port->name, (int)e, a, b);
            next_index(exact->rank, exact->shape, at);
        }
    }
}

static void run(struct model *m)
{
    struct cr_error error;
    ck_assert_msg(!cr_engine_run(&m->engine, (const void *const *)m->inputs, m->outputs, &error),
                  "%s", error.text);
}

static const struct {
    int T, S;
} sizes[] = {{1, 1}, {37, 5}, {128, 40}, {2, 33}, {127, 1}, {64, 32}};

/* Compares a script with lengths and with constant sizes, for all sizes, in one configuration. */
static void check_script(int script, enum cr_backend backend, const char *isa, int threads)
{
    struct model m;
    char what[100];
    open_model(&m, script, 0, 0, backend, isa, threads);
    for (int i = 0; i < COUNT(sizes); i++) {
        struct model fixed;
        bool ref = backend == CR_BACKEND_REF;
        open_model(&fixed, script, sizes[i].T, sizes[i].S, ref ? CR_BACKEND_REF : CR_BACKEND_TCC,
                   isa, 1);
        fill_inputs(&fixed, &fixed, sizes[i].T, sizes[i].S);
        fill_inputs(&m, &fixed, sizes[i].T, sizes[i].S);
        run(&fixed);
        run(&m);
        snprintf(what, sizeof what, "%s, %s, %d threads, T = %d, S = %d", scripts[script].name,
                 cr_backend_name(backend), threads, sizes[i].T, sizes[i].S);
        check_outputs(&m, &fixed, what);
        close_model(&fixed);
    }
    close_model(&m);
}

START_TEST(in_memory)
{
    for (int threads = 1; threads <= 3; threads++)
        check_script(_i, CR_BACKEND_TCC, NULL, threads);
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

/* Elements past the length are not written. */
START_TEST(rows_past_the_length_stay)
{
    struct model m, fixed;
    open_model(&m, _i, 0, 0, CR_BACKEND_TCC, NULL, 2);
    open_model(&fixed, _i, 37, 5, CR_BACKEND_TCC, NULL, 1);
    fill_inputs(&m, &fixed, 37, 5);
    for (int o = 0; o < m.engine.n_outputs; o++)
        memset(m.outputs[o], 0x55, (size_t)cr_port_elements(&m.engine.outputs[o]) * 4);
    run(&m);
    for (int o = 0; o < m.engine.n_outputs; o++) {
        int64_t n = cr_port_elements(&m.engine.outputs[o]), untouched = 0;
        for (int64_t e = 0; e < n; e++)
            untouched += ((uint32_t *)m.outputs[o])[e] == 0x55555555;
        ck_assert_int_eq(untouched, n - cr_port_elements(&fixed.engine.outputs[o]));
    }
    close_model(&fixed);
    close_model(&m);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(values_out_of_bounds)
{
    static const int32_t bad[] = {0, -1, 129, INT32_MIN, INT32_MAX};
    struct model m;
    struct cr_error error;
    open_model(&m, 0, 0, 0, _i ? CR_BACKEND_TCC : CR_BACKEND_REF, NULL, 1);
    for (int i = 0; i < COUNT(bad); i++) {
        char expected[100];
        *(int32_t *)m.inputs[0] = bad[i];
        ck_assert(cr_engine_run(&m.engine, (const void *const *)m.inputs, m.outputs, &error));
        snprintf(expected, sizeof expected, "block: length T is %d, expected 1 to 128", (int)bad[i]);
        ck_assert_str_eq(error.text, expected);
    }
    close_model(&m);
}
END_TEST

static const struct {
    const char *body, *message; /* behind the path */
} refused[] = {
    {"return {y = reshape(input('x', {2, T, 4}), {256, 4})}",
     ":1: reshape: cannot merge or cut the length T (axis 2), expected it to stay an axis of its "
     "own and whole"},
    {"return {y = reshape(input('x', {T, 4}), {2, 64, 4})}",
     ":1: reshape: cannot merge or cut the length T (axis 1), expected it to stay an axis of its "
     "own and whole"},
    {"return {y = slice(input('x', {T, 4}), {0, 0}, {64, 4})}",
     ":1: slice: cannot take a part of the length T (axis 1), expected it to stay an axis of its own and "
     "whole"},
    {"local x = input('x', {T, 4}) return {y = concat({x, x}, 1)}",
     ":1: concat: cannot join parts along the length T (axis 1), expected it to stay an axis of its own and "
     "whole"},
    {"local S = length('S', 128) return {y = input('x', {T, 4}) + input('z', {S, 4})}",
     ":1: add: axis 1 is the length T in one operand and S in another, expected the same"},
    {"local S = length('S', 128) return {y = matmul(input('x', {4, T}), input('z', {S, 4}))}",
     ":1: matmul: axis 2 is the length T in one operand and S in another, expected the same"},
    {"return {y = input('x', {T}) + random(3, {4, T}, 0)}",
     ":1: random: axis 2 is the length T, expected sizes of 1 before it, as random numbers "
     "depend on their index"},
    {"return {y = input('x', {T}) + state('s', {T})}",
     ":1: state: shape: item 1: found the length T, expected a whole number"},
    {"return {y = slice(input('x', {200}), {T}, {3})}",
     ":1: slice: starts: item 1: found the length T, expected a whole number"},
    {"return {y = sum(input('x', {3, T}), {T})}",
     ":1: sum: axes: item 1: found the length T, expected a whole number"},
    {"return {y = cumsum(input('x', {3, T}), 1)}",
     ":1: cumsum: cannot take running sums beside the length T (axis 2), expected it to stay an axis of its own and whole"},
    {"return {y = scatter_add(input('x', {T, 3}), iota({T}, 1), 5)}",
     ":1: scatter_add: cannot add up rows along the length T (axis 1), expected it to stay an axis of its own "
     "and whole"},
    {"return {y = limit(input('x', {T, 3}), {T, 4})}",
     ":1: limit: found the shape [128, 4], expected the tensor's shape [128, 3]"},
    {"local S = length('S', 128) return {y = reshape(input('x', {T, 3}), {S, 3})}",
     ":1: limit: axis 1 is the length T in one operand and S in another, expected the same"},
    {"local x = input('x', {T}) return {y = grad(sum(x, 1), {x})[1]}",
     ":1: grad: the model has the length T, expected fixed sizes only"},
    {"return {y = length('T', 64) + 1}", ":1: input: 'T' starts with other values than before "
                                         "(line 1), expected the same"},
    {"return {y = length('n', 0) + 1}", ":1: length: found the bound 0, expected 1 to 2147483647"},
    {"return {y = length('n') + 1}", ":1: length: found 1 arguments, expected at least 2"},
    {"return {y = input('x', {T + 1})}",
     ":1: input: shape: item 1: found tensor, expected a whole number"},
    {"input('x', {T}) return {y = input('x', {128})}",
     ":1: input: 'x' has other lengths than before (line 1), expected the same"},
    {"for i = 1, 8 do length('n' .. i, 3) end return {y = T + 1}",
     ":1: length: 'n8' is one length too many, expected at most 8"},
};

START_TEST(misuse)
{
    char path[] = "/tmp/lengthsXXXXXX", expected[400];
    struct cr_script script = {0};
    struct cr_error error;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "local T = length('T', 128) %s\n", refused[_i].body);
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
    Suite *suite = suite_create("lengths");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, in_memory, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, interpreted, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, by_a_compiler, 0, 3);
    tcase_add_loop_test(tcase, standalone, 0, 3);
    tcase_add_loop_test(tcase, rows_past_the_length_stay, 0, COUNT(scripts));
    tcase_add_loop_test(tcase, values_out_of_bounds, 0, 2);
    tcase_add_loop_test(tcase, misuse, 0, COUNT(refused));
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
