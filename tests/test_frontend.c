/* test_frontend.c - the front end: a script becomes a graph, or an error of one line. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/frontend/builtin_list.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/print_graph.h"
#include "compiler/ir/verify.h"

enum { MAX_SETTINGS = 12, MAX_TEXT = 8192 };

static char folder[] = "/tmp/crescent_frontend_XXXXXX";

/* Returns the path of a file in the folder of the tests. */
static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/* Runs a script with settings that are given as "a=1 b=2". */
static int run_path(const char *path, const char *settings, struct cr_script *script,
                    struct cr_error *error)
{
    struct cr_setting list[MAX_SETTINGS];
    char copy[512];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        ck_assert(equals && n < MAX_SETTINGS);
        *equals = '\0';
        list[n++] = (struct cr_setting){word, equals + 1, false};
    }
    return cr_script_run(&(struct cr_script_source){.path = path}, list, n, script, error);
}

static struct cr_script must_run_path(const char *path, const char *settings)
{
    struct cr_script script;
    struct cr_error error = {""};
    int status = run_path(path, settings, &script, &error);
    ck_assert_msg(status == 0, "%s %s: %s", path, settings, error.text);
    ck_assert_msg(cr_verify(script.graph, &error) == 0, "%s", error.text);
    return script;
}

static struct cr_script must_run(const char *text, const char *settings)
{
    write_text("t.lua", text);
    return must_run_path(path_of("t.lua"), settings);
}

/* Runs t.lua, which must fail with a line that begins as expected ("t.lua:2: ..."). */
static void must_fail_as(const char *settings, const char *expected)
{
    struct cr_script script;
    struct cr_error error = {""};
    int status = run_path(path_of("t.lua"), settings, &script, &error);
    ck_assert_msg(status == -1, "ran, but expected: %s", expected);
    size_t length = strlen(folder) + 1;
    const char *text = error.text;
    ck_assert_msg(strncmp(text, folder, length - 1) == 0, "no file is named: %s", text);
    ck_assert_msg(strncmp(text + length, expected, strlen(expected)) == 0,
                  "found:    %s\n  expected: %s", text + length, expected);
    ck_assert_msg(!strpbrk(text, "\n\r\033"), "more than a line: %s", text);
}

static void must_fail(const char *text, const char *settings, const char *expected)
{
    write_text("t.lua", text);
    must_fail_as(settings, expected);
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + at, size - at, format, args);
    va_end(args);
    ck_assert_msg(n >= 0 && at + (size_t)n < size, "text too long for the test");
}

static void append_shape(char *text, size_t size, const struct cr_node *node)
{
    char shape[200];
    append(text, size, " %s", cr_shape_text(shape, sizeof shape, node->rank, node->shape));
}

static char *printed(const struct cr_graph *g)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    cr_print_graph(out, g);
    fclose(out);
    return text;
}

/* ---- What the language builds ------------------------------------------------------- */

/* A script, the ops it makes in order, and its outputs. */
static const struct graph_case {
    const char *text, *ops, *outputs;
} graph_cases[] = {
    {"return {y = input('x', {2, 3})}", "input", "y f32 [2, 3]"},
    {"return {y = input('x', {2, 3}, 'i32')}", "input", "y i32 [2, 3]"},
    {"return {y = param('w', {})}", "param", "y f32 []"},
    {"local x = input('x', {4})\nreturn {b = x, a = x:exp()}", "input exp", "a f32 [4] b f32 [4]"},
    /* operators, numbers as operands, broadcasting */
    {"return {y = 2 * input('x', {3})}", "input const mul", "y f32 [3]"},
    {"return {y = -input('x', {3}) - 1}", "input neg const sub", "y f32 [3]"},
    {"return {y = 1 / input('x', {3})}", "input const div", "y f32 [3]"},
    {"return {y = input('x', {3}, 'i32') + 2}", "input const add", "y i32 [3]"},
    {"return {y = input('x', {3}, 'i32', {fill = -2 ^ 31}) + -2 ^ 31}", "input const add",
     "y i32 [3]"},
    {"return {y = const({1, 2, 3}), z = const({{1}, {2}}), v = const({1, 0}, {2, 1}, 'bool')}",
     "literal literal literal", "v bool [2, 1] y f32 [3] z f32 [2, 1]"},
    {"return {y = const({{{1, 2}, {3, 4}}}, nil, 'i32'), z = const({{true}}, nil, 'bool')}",
     "literal const", "y i32 [1, 2, 2] z bool [1, 1]"},
    {"local t = {}\nfor i = 1, 2 ^ 20 do t[i] = math.sin(i) end\nreturn {y = const(t, {1024, 1024})}",
     "literal", "y f32 [1024, 1024]"},
    {"return {y = iota({2 ^ 31}, 1), z = const(2 ^ 31 - 1, {}, 'i32')}", "iota const",
     "y i32 [2147483648] z i32 []"},
    {"return {y = random(-2 ^ 31, {2}), z = random(2 ^ 31 - 1, {2})}", "const random const random",
     "y f32 [2] z f32 [2]"},
    {"return {y = input('x', {2, 3}) + input('z', {3})}", "input input expand add", "y f32 [2, 3]"},
    {"return {y = input('x', {2, 1}) * input('z', {5, 1, 3})}", "input input expand expand mul",
     "y f32 [5, 2, 3]"},
    {"return {y = input('x', {}) + input('z', {1})}", "input input expand add", "y f32 [1]"},
    {"return {y = input('x', {3}) ^ 2}", "input mul", "y f32 [3]"},
    {"return {y = input('x', {3}) ^ 3}", "input mul mul", "y f32 [3]"},
    {"return {y = input('x', {3}) ^ 1}", "input", "y f32 [3]"},
    {"return {y = input('x', {3}) ^ 0.5}", "input sqrt", "y f32 [3]"},
    {"return {y = input('x', {3}) ^ -0.5}", "input rsqrt", "y f32 [3]"},
    {"local x = input('x', {3})\nreturn {y = 2 ^ x, z = x ^ 2.5, v = x ^ x, u = pow(x, 2)}",
     "input const pow const pow pow const pow", "u f32 [3] v f32 [3] y f32 [3] z f32 [3]"},
    {"local x = input('x', {3})\nreturn {y = x % 2, z = int(x) % x:int(), v = floor_divide(7, x)}",
     "input const remainder int int remainder const floor_divide",
     "v f32 [3] y f32 [3] z i32 [3]"},
    {"return {y = input('x', {3}) ^ -2}", "input mul const div", "y f32 [3]"},
    {"return {y = lt(input('x', {3}), 1)}", "input const lt", "y bool [3]"},
    {"local x = input('x', {2, 3})\nreturn {y = where(x:gt(0), x, -math.huge)}",
     "input const gt const where", "y f32 [2, 3]"},
    {"return {y = where(le(iota({3, 3}, 2), iota({3, 3}, 1)), 1, 0)}",
     "iota iota le const const where", "y f32 [3, 3]"},
    /* reductions, and axes by number */
    {"return {y = sum(input('x', {2, 3}), 1)}", "input sum", "y f32 [1, 3]"},
    {"return {y = input('x', {2, 3}):max(-1)}", "input max", "y f32 [2, 1]"},
    {"return {y = sum(input('x', {2, 3}), 2, false)}", "input sum reshape", "y f32 [2]"},
    {"return {y = sum(input('x', {2, 3}), 2, true)}", "input sum", "y f32 [2, 1]"},
    /* contractions */
    {"return {y = matmul(input('x', {2, 3}), input('z', {3, 4}))}", "input input matmul",
     "y f32 [2, 4]"},
    {"return {y = matmul(input('x', {5, 2, 3}), input('z', {3, 4}))}", "input input expand matmul",
     "y f32 [5, 2, 4]"},
    {"return {y = matmul(input('x', {5, 1, 2, 3}), input('z', {6, 3, 4}))}",
     "input input expand expand matmul", "y f32 [5, 6, 2, 4]"},
    /* movement */
    {"return {y = input('x', {2, 3, 4}):reshape{6, 4}}", "input reshape", "y f32 [6, 4]"},
    {"return {y = input('x', {2, 3, 4}):reshape{2, -1}}", "input reshape", "y f32 [2, 12]"},
    {"return {y = input('x', {1}):reshape{}}", "input reshape", "y f32 []"},
    {"return {y = input('x', {2, 3, 4}):permute{3, 1, 2}}", "input permute", "y f32 [4, 2, 3]"},
    {"return {y = input('x', {2, 3, 4}):transpose(-1, 1)}", "input permute", "y f32 [4, 3, 2]"},
    {"return {y = expand(input('x', {3, 1}), {2, 3, 4})}", "input expand", "y f32 [2, 3, 4]"},
    {"return {y = slice(input('x', {4, 5}), {1, 0}, {3, 2})}", "input slice", "y f32 [3, 2]"},
    {"return {y = slice(input('x', {4, 5}), {-2}, {-1}), z = input('x', {4, 5}):narrow(-1, 1)}",
     "input slice slice", "y f32 [2, 5] z f32 [4, 4]"},
    {"local x = input('x', {2, 3, 4})\n"
     "return {a = sum(x), b = sum(x, {1, -1}), c = max(x, {2, 3}, false), d = x:sum(nil, true)}",
     "input sum sum sum reshape sum sum max max reshape sum sum sum",
     "a f32 [] b f32 [1, 3, 1] c f32 [2] d f32 [1, 1, 1]"},
    {"local v, m = input('v', {3}), input('m', {2, 3, 4})\n"
     "return {a = matmul(v, m), b = matmul(m:transpose(2, 3), v), c = matmul(v, v)}",
     "input input reshape expand matmul reshape permute reshape expand matmul reshape "
     "reshape reshape matmul reshape",
     "a f32 [2, 4] b f32 [2, 4] c f32 []"},
    {"local x = input('x', {2, 3})\nreturn {y = cumsum(x, 2), z = x:cumsum(1, true), "
     "i = argmax(x, 2, false)}",
     "input cumsum cumsum max expand eq ne logical_or iota neg const where max neg reshape",
     "i i32 [2] y f32 [2, 3] z f32 [2, 3]"},
    {"local x = input('x', {2, 3})\nreturn {y = concat({x, x, x}, -1)}", "input concat",
     "y f32 [2, 9]"},
    {"return {y = gather(param('e', {9, 4}), input('t', {2, 3}, 'i32'))}", "param input gather",
     "y f32 [2, 3, 4]"},
    /* what is asked of a tensor */
    {"return {y = scatter_add(input('x', {2, 3, 4}), input('t', {2, 3}, 'i32'), 7)}",
     "input input scatter_add", "y f32 [7, 4]"},
    {"return {y = input('x', {2}, 'f32', {uniform = 0}), z = input('z', {}, 'i32', {fill = -3})}",
     "input input", "y f32 [2] z i32 []"},
    {"param('b', {3})\nscope('s', param, 'a', {2})\nreturn parameters()", "param param",
     "b f32 [3] s.a f32 [2]"},
    {"return {y = random(3, {2, 4}), z = random(input('s', {1}, 'i32'), {}, 9)}",
     "const random input random", "y f32 [2, 4] z f32 []"},
    {"return {y = detach(input('x', {2}))}", "input detach", "y f32 [2]"},
    /* gradients by x, to which both factors contribute, and by an input that the loss does not
     * depend on */
    {"local x, z = input('x', {2}), input('z', {3})\n"
     "local g = grad(sum(x * x, 1), {x, z})\nreturn {x = g[1], z = g[2]}",
     "input input mul sum const expand mul mul add const", "x f32 [2] z f32 [3]"},
    {"return {y = input('x', {}):grad({})[1] or input('x', {})}", "input const", "y f32 []"},
    {"local x = input('x', {2, 3})\n"
     "assert(x.shape[1] == 2 and x.shape[2] == 3 and #x.shape == 2)\n"
     "assert(x.dtype == 'f32' and x.rank == 2 and x:size(-1) == 3 and x:size(1) == 2)\n"
     "assert(tostring(x) == 'tensor f32 [2, 3]')\nreturn {y = x}",
     "input", "y f32 [2, 3]"},
    /* a float with an integer value, such as 768 / 12, counts as an integer */
    {"return {y = input('x', {768 / 12, math.floor(7 / 2), 2 ^ 3})}", "input", "y f32 [64, 3, 8]"},
    /* a parameter that is declared twice is one parameter: tied weights */
    {"local a = param('w', {2}, {normal = 1})\nlocal b = param('w', {2}, {normal = 1})\n"
     "return {y = a + b}",
     "param add", "y f32 [2]"},
    /* what is safe of Lua works */
    {"local t = {c = 3, a = 1, b = 2, 10}\nlocal s = ''\n"
     "for k, v in pairs(t) do s = s .. k .. v end\nassert(s == '110a1b2c3', s)\n"
     "local l = {3, 1}\ntable.insert(l, 2)\ntable.insert(l, 1, 9)\ntable.sort(l)\n"
     "assert(table.concat(l, ',') == '1,2,3,9')\n"
     "assert(table.remove(l, 2) == 2 and table.remove(l) == 9 and #l == 2)\n"
     "local p, q = unpack(l)\nassert(p == 1 and q == 3 and table.unpack({}, 1, 0) == nil)\n"
     "assert(('ab'):rep(3, '-') == 'ab-ab-ab' and ('ab'):upper() == 'AB')\n"
     "assert(string.format('%5.2f', math.pi) == ' 3.14' and tonumber('0x10') == 16)\n"
     "assert(rawlen({1, 2}) == 2 and select('#', 1, 2) == 2 and math.max(1, 5) == 5)\n"
     "global = 4\nassert(global == 4)\nreturn {y = input('x', {2})}",
     "input", "y f32 [2]"},
};

START_TEST(builds_graphs)
{
    const struct graph_case *c = &graph_cases[_i];
    struct cr_script script = must_run(c->text, "");
    const struct cr_graph *g = script.graph;
    char ops[MAX_TEXT] = "", outputs[MAX_TEXT] = "";
    for (int i = 0; i < g->n_nodes; i++)
        append(ops, sizeof ops, "%s%s", i ? " " : "", cr_ops[g->nodes[i].op].name);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        append(outputs, sizeof outputs, "%s%s %s", i ? " " : "", g->outputs[i].name,
               cr_dtype_name(node->dtype));
        append_shape(outputs, sizeof outputs, node);
    }
    ck_assert_str_eq(ops, c->ops);
    ck_assert_str_eq(outputs, c->outputs);
    cr_script_free(&script);
}
END_TEST

/* Every op of the table is a function of the language, and each elementwise op a method as well.
 * Literals become constants. */
START_TEST(has_every_op)
{
    for (int op = 0; op < CR_OP_COUNT; op++) {
        char text[400];
        if (cr_ops[op].kind == CR_KIND_EXCHANGE) /* which only a pass makes */
            continue;
        snprintf(text, sizeof text,
                 "assert(type(%s) == 'function')\nlocal x = input('x', {1})\n"
                 "assert(not %d or type(x.%s) == 'function')\nreturn {y = x}",
                 cr_ops[op == CR_OP_literal ? CR_OP_const : op].name,
                 cr_ops[op].kind == CR_KIND_ELEMENTWISE,
                 cr_ops[op].kind == CR_KIND_ELEMENTWISE ? cr_ops[op].name : "exp");
        struct cr_script script = must_run(text, "");
        cr_script_free(&script);
    }
}
END_TEST

/* Attributes of the script's calls reach the nodes: axes count from 0, and starts, constants and
 * inits are unchanged. */
START_TEST(passes_attributes_on)
{
    struct cr_script script = must_run("local x = input('x', {4, 5})\n"
                                       "local a = x:slice({1, 2}, {3, 3}):permute{2, 1}:sum(-1)\n"
                                       "local w = param('w', {3, 1}, {uniform = 0.25})\n"
                                       "return {y = a + w * -math.huge}",
                                       "");
    const struct cr_node *node = script.graph->nodes;
    ck_assert(node[1].op == CR_OP_slice && node[1].index[0] == 1 && node[1].index[1] == 2);
    ck_assert(node[2].op == CR_OP_permute && node[2].index[0] == 1 && node[2].index[1] == 0);
    ck_assert(node[3].op == CR_OP_sum && node[3].axis == 1);
    ck_assert(node[4].op == CR_OP_param && node[4].init == CR_INIT_UNIFORM);
    ck_assert_double_eq(node[4].value, 0.25);
    ck_assert(node[5].op == CR_OP_const && node[5].value < -1e300);
    ck_assert(node[3].where.line == 2 && node[5].where.line == 4);
    ck_assert_str_eq(node[3].where.file, path_of("t.lua"));
    ck_assert_str_eq(script.graph->name, "t");
    cr_script_free(&script);
    script = must_run("return {y = input('x', {2}, 'f32', {uniform = 0}), "
                      "z = input('z', {}, 'i32', {fill = -3}), n = input('n', {})}",
                      "");
    node = script.graph->nodes;
    ck_assert(node[0].init == CR_INIT_FILL && node[1].init == CR_INIT_FILL);
    ck_assert_double_eq(node[1].value, -3);
    ck_assert(node[2].init == CR_INIT_UNIFORM && node[2].value == 0);
    cr_script_free(&script);
}
END_TEST

/* ---- Scopes and taps (named values) -------------------------------------------------- */

/* A script, its parameters, and its taps with shapes. */
static const struct name_case {
    const char *text, *params, *taps;
} name_cases[] = {
    {"local function f(x) return x * param('w', {2}) end\n"
     "local function g(x) return (scope('ln', f, x)) end\n"
     "local y = scope('h.0', g, input('x', {2}))\nreturn {y = y}",
     "h.0.ln.w", "h.0.ln h.0"},
    {"return {y = scope('a', function(x, n) return x * n end, input('x', {2}), 3)}", "", "a"},
    /* a second name of a value belongs to a view of it, and the value keeps its first name */
    {"local x = input('x', {2})\n"
     "local y = scope('a', function() return (scope('b', exp, x)) end)\n"
     "return {y = y + 1}",
     "", "a.b a"},
    {"local x = input('x', {2})\nlocal a, b = scope('s', function() return exp(x), log(x) end)\n"
     "return {y = a + b}",
     "", "s.1 s.2"},
    /* a name that is already taken gets a number */
    {"local x = input('x', {2})\nfor i = 1, 3 do x = scope('l', exp, x) end\n"
     "return {y = tap('l', x + 1)}",
     "", "l l_2 l_3 l_4"},
    {"local x = input('x', {2})\nreturn {y = scope('a', function()\n"
     "  return tap('in', x) * param('v', {2}) end)}",
     "a.v", "a.in a"},
    {"prefix('model.')\nlocal w = scope('a', param, 'w', {2})\nreturn {y = w + param('b', {2})}",
     "model.a.w model.b", "a"},
};

START_TEST(names_values)
{
    const struct name_case *c = &name_cases[_i];
    struct cr_script script = must_run(c->text, "");
    char params[MAX_TEXT] = "", taps[MAX_TEXT] = "";
    for (int i = 0; i < script.graph->n_nodes; i++) {
        const struct cr_node *node = &script.graph->nodes[i];
        if (node->op == CR_OP_param)
            append(params, sizeof params, "%s%s", *params ? " " : "", node->name);
        if (node->tap)
            append(taps, sizeof taps, "%s%s", *taps ? " " : "", node->tap);
    }
    ck_assert_str_eq(params, c->params);
    ck_assert_str_eq(taps, c->taps);
    cr_script_free(&script);
}
END_TEST

/* ---- Mistakes ----------------------------------------------------------------------- */

/* A script and the beginning of its error. */
/* The beginning of a printed graph. */
#define DUMP "local v = graph('g') v[0] = input('x', {2}, 'f32')\n"

static const struct fail_case {
    const char *text, *error;
} fail_cases[] = {
    /* constants of many values */
    {"const({1, 2, 3}, {2, 2})",
     "t.lua:1: const: found 3 values, expected as many as a tensor [2, 2] has"},
    {"const({1, 2}, {-2})",
     "t.lua:1: const: found 2 values, expected as many as a tensor [-2] has"},
    {"const({{1, 2}, {3}})",
     "t.lua:1: const: value 3: found a table of another size, "
     "expected a table of 2 items, as the first of this level"},
    {"const({{1, 2}, 3})",
     "t.lua:1: const: value 3: found number, expected a table of 2 items, as the first of this "
     "level"},
    {"const({1, {2}})", "t.lua:1: const: value 2: found table, expected a number"},
    {"const({1, nil, 3})", "t.lua:1: const: value 2: found nothing, expected a number"},
    {"const({1, nil})", "t.lua: the script returned nothing"},
    {"const({[3] = 1})", "t.lua:1: const: value 1: found nothing, expected a number"},
    {"const({1, 2, x = 3})",
     "t.lua:1: const: found a table with a key other than 1, 2, ..., expected a list of values"},
    {"const({1, [2.5] = 3})",
     "t.lua:1: const: found a table with a key other than 1, 2, ..., expected a list of values"},
    {"const({[0] = 1, 2})",
     "t.lua:1: const: found a table with a key other than 1, 2, ..., expected a list of values"},
    {"const({[1e15] = 1, 2})", "t.lua:1: const: too many values"},
    {"const({{1, 2}, {3, nil, 4}})", "t.lua:1: const: value 3: found a table of another size"},
    {"const({1, 'a'})", "t.lua:1: const: value 2: found string, expected a number"},
    {"const({1, true})", "t.lua:1: const: value 2: found boolean, expected a number"},
    {"const({})", "t.lua:1: const: found a table without values, expected at least one"},
    {"const({{}, {1}})", "t.lua:1: const: found a table without values, expected at least one"},
    {"const({{1, 2}}, {2})", "t.lua:1: const: found tables of shape [1, 2], expected [2]"},
    {"const({1, 2.5}, {2}, 'i32')", "t.lua:1: const: value 2: found 2.5"},
    {"const({1, 2 ^ 31}, {2}, 'i32')", "t.lua:1: const: value 2: found 2147483648"},
    {"const({1, 2}, {2}, 'bool')", "t.lua:1: const: value 2: found 2, expected 0 or 1 for a bool"},
    {"const({{{{{{{{{1}}}}}}}}})",
     "t.lua:1: const: tables are nested too deep, expected at most 8 levels, the largest rank"},
    {"local t = {}\nfor i = 1, 2 ^ 20 + 1 do t[i] = i end\nconst(t)",
     "t.lua:3: const: too many values, expected at most 1048576 (larger tensors are parameters "
     "or inputs)"},
    /* shapes and types */
    {"local x = input('x', {2, 3})\n\nlocal y = matmul(x, input('z', {4, 5}))",
     "t.lua:3: matmul: shapes [2, 3] and [4, 5]: inner dimensions 3 and 4 differ, expected "
     "equal ones"},
    {"matmul(input('x', {2, 2, 3}), input('z', {3, 3, 5}))",
     "t.lua:1: matmul: shapes [2, 2, 3] and [3, 3, 5]: batch dimensions do not broadcast, "
     "expected sizes that are equal or 1"},
    {"matmul(input('x', {}), input('z', {3, 5}))",
     "t.lua:1: matmul: found shapes [] and [3, 5], expected rank 1 or more for both"},
    {"matmul(input('x', {3}), input('z', {2, 5}))",
     "t.lua:1: matmul: shapes [3] and [2, 5]: inner dimensions 3 and 2 differ, expected equal "
     "ones"},
    {"local y = input('x', {2, 3}) + input('z', {4})",
     "t.lua:1: add: shapes [2, 3] and [4] do not broadcast"},
    {"exp(input('x', {2}, 'i32'))", "t.lua:1: exp: operand is i32, expected f32"},
    {"local y = input('x', {2}, 'i32') * 2.5",
     "t.lua:1: mul: found 2.5 beside an i32 tensor, expected a whole number"},
    {"local y = input('x', {2}) + input('z', {2}, 'i32')",
     "t.lua:1: add: found types f32 and i32, expected equal ones"},
    {"local y = input('x', {2}):lt(1) + 1",
     "t.lua:1: add: found the number 1 beside a bool tensor, expected a bool tensor"},
    {"matmul(input('x', {2, 2}, 'i32'), input('z', {2, 2}))",
     "t.lua:1: matmul: operands are i32 and f32, expected f32"},
    {"gather(input('x', {2, 3}), input('z', {2}))",
     "t.lua:1: gather: index is f32, expected i32"},
    {"input('x', {2}, 'f32', {fill = 1, normal = 2})",
     "t.lua:1: input: init: found another table, expected {uniform = bound}, {normal = std} or "
     "{fill = value}"},
    {"input('x', {2}, 'f32', {normal = -1})", "t.lua:1: input: init: found normal = -1"},
    {"input('x', {2}, 'i32', {normal = 1})",
     "t.lua:1: input: init: found another value for an i32, expected {fill = a whole number}"},
    {"input('x', {2}, 'i32', {fill = 0.5})",
     "t.lua:1: input: init: found another value for an i32, expected {fill = a whole number}"},
    {"input('x', {2})\ninput('x', {2}, 'f32', {fill = 0})",
     "t.lua:2: input: 'x' starts with other values than before (line 1), expected the same"},
    {"random(2 ^ 31, {2})",
     "t.lua:1: random: seed: found 2147483648, expected an i32, at most 2147483647"},
    {"random(0.5, {2})", "t.lua:1: random: seed: found 0.5, expected a whole number"},
    {"random(input('x', {}), {2})", "t.lua:1: random: the seed is f32 [], expected one i32"},
    {"random(iota({2}, 1), {2})", "t.lua:1: random: the seed is i32 [2], expected one i32"},
    {"random(1, {2}, -1)", "t.lua:1: random: stream: found -1, expected 0 or more"},
    {"random(1, {0})", "t.lua:1: random: found size 0 of axis 1, expected at least 1"},
    {"const(0, {2, -1})", "t.lua:1: const: found size -1 of axis 2, expected at least 0"},
    {"local y = const(0, {0, 2}) + 1", "t.lua:1: add: operand 1 is [0, 2], which has no elements, expected such a "
     "tensor as an output only"},
    {"local x = input('x', {2})\nconcat({x, x, x, x, const(0, {0})}, 1)",
     "t.lua:2: concat: operand 5 is [0], which has no elements, expected such a tensor as an "
     "output only"},
    {"const(0, {2^21, 2^21, 0})",
     "t.lua:1: const: found a tensor [2097152, 2097152, 0] of more than 2^40 elements (4 TiB)"},
    {"local nn = require 'nn'\nnn.dropout(input('x', {2}), 1, 0)",
     "t.lua:2: found dropout 1, expected at least 0 and less than 1"},
    {"parameters(1)", "t.lua:1: parameters: found 1 arguments, expected 0"},
    {"local optim = require 'optim'\n"
     "optim.cosine_schedule(const(0, {}, 'i32'), {lr = 1, warmup = 5, steps = 5})",
     "t.lua:2: found steps 5, expected more than warmup 5"},
    {"scatter_add(input('x', {2, 3}), input('z', {3}, 'i32'), 4)",
     "t.lua:1: scatter_add: found rows [2, 3] and an index [3], expected the axes of the index "
     "first among those of the rows"},
    {"scatter_add(input('x', {2, 3}), input('z', {2}), 4)",
     "t.lua:1: scatter_add: rows are f32 and the index is f32, expected f32 and i32"},
    {"scatter_add(input('x', {2, 3}), input('z', {2}, 'i32'), 0)",
     "t.lua:1: scatter_add: found size 0 of axis 1, expected at least 1"},
    {"local x = input('x', {2})\ngrad(x, {x})",
     "t.lua:2: grad: the loss has shape [2], expected a tensor of one element"},
    {"local i = input('i', {}, 'i32')\ngrad(i, {})",
     "t.lua:2: grad: the loss is i32, expected f32"},
    {"local i = input('i', {}, 'i32')\ngrad(float(i), {i})",
     "t.lua:2: grad: item 1 is i32, expected f32"},
    {"local x = input('x', {})\ngrad(x, x)",
     "t.lua:2: grad: found tensor, expected a list of tensors"},
    {"local x = input('x', {})\ngrad(x, {x, 3})",
     "t.lua:2: grad: item 2: found number, expected a tensor"},
    {"local x = input('x', {})\ngrad(x)", "t.lua:2: grad: found 1 arguments, expected 2"},
    {"local x = input('x', {})\n"
     "for i = 1, 64 do x = x * tanh(x) x = x + grad(x, {x * 2, x})[2] end\n"
     "for i = 1, 64 do x = grad(x ^ 64, {input('x', {})})[1] end",
     "t.lua:3: grad: found 262146 operations with the gradients, expected at most 262144"},
    {"input('x', {2, 3}):reshape{7}",
     "t.lua:1: reshape: shapes [2, 3] and [7] have different numbers of elements, expected "
     "equal ones"},
    {"input('x', {2, 3}):reshape{4, -1}",
     "t.lua:1: reshape: found 6 elements, expected a multiple of 4, the product of the other "
     "sizes"},
    {"input('x', {2, 3}):reshape{-1, -1}",
     "t.lua:1: reshape: found two sizes of -1, expected at most one"},
    {"input('x', {2, 3}):permute{1, 1}",
     "t.lua:1: permute: found axis 1 twice or out of range, expected each of the 2 axes once"},
    {"input('x', {2, 3}):permute{1}",
     "t.lua:1: permute: found 1 axes, expected as many as the rank of the tensor, 2"},
    {"input('x', {2, 3}):expand{2, 4}",
     "t.lua:1: expand: shape [2, 3] does not broadcast to [2, 4]"},
    {"input('x', {2, 3}):slice({0, 1}, {2, 3})",
     "t.lua:1: slice: found 3 elements from 1 on of axis 2 of [2, 3]"},
    {"input('x', {2, 3}):slice({0, 0, 0}, {2})",
     "t.lua:1: slice: found 3 starts, expected as many as the rank of the tensor, 2"},
    {"input('x', {2, 3}):slice({-3}, {2})",
     "t.lua:1: slice: found 2 elements from -1 on of axis 1 of [2, 3]"},
    {"input('x', {2, 3}):narrow(2, 2, 2)",
     "t.lua:1: slice: found 2 elements from 2 on of axis 2 of [2, 3]"},
    {"sum(input('x', {2, 3}), {1, 1})",
     "t.lua:1: sum: found axis 1 twice, expected each axis once"},
    {"sum(input('x', {2, 3}), {1, 3})", "t.lua:1: sum: found axis 3 of a tensor of rank 2"},
    {"gather(input('x', {2, 3}), input('i', {3, 3}, 'i32'), 2)",
     "t.lua:1: gather: found shape [2, 3] and an index of shape [3, 3]"},
    {"gather(input('x', {2, 3}), input('i', {2, 3}), 2)",
     "t.lua:1: gather: index is f32, expected i32"},
    {"scatter(input('x', {2, 3}), input('z', {2, 2}), input('i', {2, 1}, 'i32'), 2)",
     "t.lua:1: scatter: values are f32 [2, 2], expected f32 [2, 1] as the index"},
    {"take(input('x', {2, 3}), input('i', {2}, 'i32'), 2)",
     "t.lua:1: take: found shape [2, 3] and an index [2], expected equal sizes on all axes but 2"},
    {"take(input('x', {2, 3}), input('i', {2}, 'i32'), 3)", "t.lua:1: take: found axis 3 of a tensor of rank 2"},
    {"cumsum(input('x', {2, 3}), 3)", "t.lua:1: cumsum: found axis 3 of a tensor of rank 2"},
    {"cumsum(lt(input('x', {2, 3}), 1), 1)",
     "t.lua:1: cumsum: operand is bool, expected f32 or i32"},
    {"argmax(input('x', {2, 3}), 1, 2)",
     "t.lua:1: argmax: keep: found number, expected true or false"},
    {"concat({input('x', {2, 3}), input('z', {3, 3})}, 2)",
     "t.lua:1: concat: found f32 [2, 3] and f32 [3, 3]"},
    {"concat({}, 1)", "t.lua:1: concat: found a list of 0 tensors, expected 1 to 262144"},
    {"concat({1}, 1)", "t.lua:1: concat: item 1: found number, expected a tensor"},
    {"input('x', {2}):sum(2)", "t.lua:1: sum: found axis 2 of a tensor of rank 1"},
    {"input('x', {2}):sum(0)", "t.lua:1: sum: found axis 0 of a tensor of rank 1"},
    {"input('x', {2}):sum(1.5)", "t.lua:1: sum: axis: found 1.5, expected a whole number"},
    {"input('x', {2}):sum(1, 2)", "t.lua:1: sum: keep: found number, expected true or false"},
    {"exp(3)", "t.lua:1: exp: found numbers only, expected a tensor"},
    {"exp('a')", "t.lua:1: exp: argument 1: found string, expected a tensor or number"},
    {"exp()", "t.lua:1: exp: found 0 arguments, expected 1"},
    {"local x = input('x', {2})\nif x < x then end",
     "t.lua:2: found a comparison of tensors by an operator of Lua, expected lt, le, gt, ge, eq "
     "or ne"},
    {"local x = input('x', {2})\nwhere(x == x, x, x)",
     "t.lua:2: where: argument 1: found boolean, expected a tensor or number"},
    {"int(input('x', {2}, 'i32'))", "t.lua:1: int: operand is i32, expected f32 or bool"},
    {"local y = input('x', {2}, 'i32') % 2.5", "t.lua:1: remainder: found 2.5 beside an i32 tensor"},
    {"local y = input('x', {2}) ^ 'a'",
     "t.lua:1: pow: argument 2: found string, expected a tensor or number"},
    {"local y = input('x', {2}, 'i32') ^ 2.5", "t.lua:1: pow: found 2.5 beside an i32 tensor"},
    {"local y = input('x', {2}) ^ input('z', {3})",
     "t.lua:1: pow: shapes [2] and [3] do not broadcast"},
    {"local y = input('x', {2})[1]",
     "t.lua:1: found an index into a tensor, expected slice or gather"},
    {"input('x', {2}).foo = 1",
     "t.lua:1: found an assignment to a tensor, expected an operation that makes a new one"},
    {"input('x', {2}):softmax(-1)",
     "t.lua:1: a tensor has no field or method 'softmax', did you mean nn.softmax(tensor)?"},
    {"input('x', {2}, 'float32')",
     "t.lua:1: input: found type 'float32', expected f32, i32 or bool, did you mean f32?"},
    {"input('x', {2}, 'int64')",
     "t.lua:1: input: found type 'int64', expected f32, i32 or bool, did you mean i32?"},
    {"input('x', {2}):foo()", "t.lua:1: a tensor has no field or method 'foo'"},
    {"input('x', {2}):reshap{1, 2}",
     "t.lua:1: a tensor has no field or method 'reshap', did you mean reshape?"},
    /* declarations */
    {"input('x', {2})\ninput('x', {3})",
     "t.lua:2: input: 'x' is f32 [3] here and f32 [2] before (line 1), expected the same"},
    {"input('x', {2})\nparam('x', {2})",
     "t.lua:2: param: 'x' is an input already (line 1), expected another name"},
    {"param('x', {2})\nparam('x', {2}, {fill = 1})",
     "t.lua:2: param: 'x' starts with other values than before (line 1), expected the same"},
    {"param('x', {2}, {foo = 1})", "t.lua:1: param: init: found another table"},
    {"param('x', {2}, {fill = 1, normal = 1})", "t.lua:1: param: init: found another table"},
    {"param('x', {2}, {normal = -1})", "t.lua:1: param: init: found normal = -1"},
    {"input('a b', {1})",
     "t.lua:1: input: found the name 'a b', expected letters, digits, '_', '-' and '.'"},
    {"input('', {1})", "t.lua:1: input: name: found a name of 0 bytes, expected 1 to 255"},
    {"input(('x'):rep(1000), {1})",
     "t.lua:1: input: name: found a name of 1000 bytes, expected 1 to 255"},
    {"input('a\\0b', {1})", "t.lua:1: input: name: found a string with a zero byte"},
    {"input('x', {1}, 'f64')",
     "t.lua:1: input: found type 'f64', expected f32, i32 or bool, did you mean f32?"},
    {"input('x', {1}, 'bfloat16')",
     "t.lua:1: input: found type 'bfloat16', expected f32, i32 or bool, did you mean f32?"},
    {"input('x', {1}, 'string')", "t.lua:1: input: found type 'string', expected f32, i32 or bool"},
    {"const(2.5, {1}, 'i32')", "t.lua:1: const: found the value 2.5 of an i32"},
    {"const(2 ^ 31, {1}, 'i32')", "t.lua:1: const: found the value 2147483648 of an i32"},
    {"const(-2 ^ 31 - 1, {1}, 'i32')", "t.lua:1: const: found the value -2147483649 of an i32"},
    {"const(1 / 0, {1}, 'i32')", "t.lua:1: const: found the value inf of an i32"},
    {"const(0 / 0, {1}, 'i32')", "t.lua:1: const: found the value nan of an i32"},
    {"input('x', {2}, 'i32', {fill = 2 ^ 31})",
     "t.lua:1: input: init: found another value for an i32, expected {fill = a whole number}"},
    {"local y = input('x', {2}, 'i32') + 3e9",
     "t.lua:1: add: found 3000000000 beside an i32 tensor"},
    {"local y = input('x', {2}, 'i32') * (0 / 0)",
     "t.lua:1: mul: found nan beside an i32 tensor, expected a whole number"},
    {"iota({2 ^ 31 + 1}, 1)",
     "t.lua:1: iota: found 2147483649 elements along the axis"},
    {"scope('a/b', print)",
     "t.lua:1: scope: found the name 'a/b', expected letters, digits, '_', '-' and '.'"},
    {"param('w', {2}, {tied = true, fill = 1, normal = 1})",
     "t.lua:1: param: init: found another table"},
    {"param('w', {2}, {tied = 1})", "t.lua:1: param: init: found another table"},
    {"input('x', {2}, 'f32', {tied = true})", "t.lua:1: input: init: found another table"},
    {"scope('a', 3)", "t.lua:1: scope: found number, expected a function"},
    /* sizes */
    {"input('x', {2^31, 2^31})",
     "t.lua:1: input: found a tensor [2147483648, 2147483648] of more than 2^40 elements (4 TiB)"},
    {"input('x', {2^40, 2^40, 2^40, 2^40})",
     "t.lua:1: input: found a tensor [1099511627776, 1099511627776, 1099511627776, "
     "1099511627776] of more than 2^40 elements (4 TiB), expected smaller sizes"},
    {"input('x', {0/0})", "t.lua:1: input: shape: item 1: found"},
    {"input('x', {1/0})", "t.lua:1: input: shape: item 1: found inf, expected a whole number"},
    {"input('x', {2^63})", "t.lua:1: input: shape: item 1: found 9.22"},
    {"input('x', {2.5})", "t.lua:1: input: shape: item 1: found 2.5, expected a whole number"},
    {"input('x', {-1})", "t.lua:1: input: found size -1 of axis 1, expected at least 1"},
    {"input('x', {0})", "t.lua:1: input: found size 0 of axis 1, expected at least 1"},
    {"input('x', {2, nil, 3})", "t.lua:1: input: shape: item 2: found nothing"},
    {"input('x', {'2'})", "t.lua:1: input: shape: item 1: found string"},
    {"input('x', {1, 1, 1, 1, 1, 1, 1, 1, 1})", "t.lua:1: input: shape: more than 8 items"},
    {"input('x', 3)", "t.lua:1: input: shape: found number, expected a list such as {2, 3}"},
    {"local x = input('x', {2^20, 1})\nlocal y = x + input('z', {2^30})",
     "t.lua:2: expand: found a tensor [1048576, 1073741824] of more than 2^40 elements (4 TiB)"},
    /* results */
    {"", "t.lua: the script returned nothing, expected a table of outputs such as {y = y}"},
    {"return input('x', {1})",
     "t.lua: the script returned tensor, expected a table of outputs such as {y = y}"},
    {"return {input('x', {1})}", "t.lua: the script returned an output without a name"},
    {"return {y = 3}", "t.lua: the script returned output 'y' that is number"},
    {"return {}", "t.lua: the script returned no outputs"},
    {"return {['a b'] = input('x', {1})}",
     "t.lua: return: found the output 'a b', expected letters, digits, '_', '-' and '.'"},
    /* Lua's own */
    {"local x = = 3", "t.lua:1: unexpected symbol near '='"},
    {"x = 'abc\ny'", "t.lua:1: unfinished string"},
    {"softmax(3)", "t.lua:1: 'softmax' is not defined, did you mean nn.softmax of require \"nn\"?"},
    {"local nn = require 'nn'\nnn.layer_norm(input('x', {1}))",
     "t.lua:2: nn.layer_norm: found nothing, expected a table of options"},
    {"local r = require 'recurrent'\nlocal x, w = input('x', {5, 2, 3}), param('w', {16, 3})\n"
     "local y = r.gru(x, w, param('r', {16, 4}), {})",
     "t.lua:3: found x tensor f32 [5, 2, 3], tensor f32 [16, 3] and tensor f32 [16, 4], expected x [T, B, n], "
     "weights [3 * H, n] and [3 * H, H] (in graphs/lib/recurrent.lua:"},
    {"local r = require 'recurrent'\nlocal x, w = input('x', {5, 2, 3}), param('w', {16, 3})\n"
     "local y = r.lstm(x, w, param('r', {16, 4}), {result = 'z'})",
     "t.lua:3: found another result, expected y or h, or c of an LSTM (in graphs/lib/recurrent.lua:"},
    {"local nn = require 'nn'\nlocal y = nn.linear(input('x', {2, 3}))",
     "t.lua:2: nn.linear: n_out is missing, expected a whole number from 1 on"},
    {"local r = require 'rotary'\nlocal y = r.angles()",
     "t.lua:2: iota: shape: item 1: found nothing, expected a whole number, is the argument "
     "`T` missing? (in graphs/lib/rotary.lua:"},
    {"local nn = require 'nn'\nlocal y = nn.sotfmax(input('x', {2, 3}))",
     "t.lua:2: found nothing in the field 'sotfmax', expected a function, did you mean "
     "nn.softmax?"},
    {"local nn = require 'nn'\nlocal y = nn.no_such_layer_at_all(1)",
     "t.lua:2: found nothing in the field 'no_such_layer_at_all', expected a function"},
    {"local x = inptu('x', {2})", "t.lua:1: 'inptu' is not defined, did you mean input?"},
    {"local x = parm('x', {2})", "t.lua:1: 'parm' is not defined, did you mean param?"},
    {"local t = require 'transformer'\nlocal y = t.residual(input('x', {1}))",
     "t.lua:2: found no argument `f`, expected a function (in graphs/lib/transformer.lua:"},
    {"\n\nlocal y = foo + 1", "t.lua:3: 'foo' is not defined"},
    {"local x = {}\nx.y.z = 1", "t.lua:2: attempt to index"},
    {"assert(false, 'no')", "t.lua:1: no"},
    {"error({})", "t.lua:1: error was called with something that is not a string"},
    {"error('a\\nb\\27[31m')", "t.lua:1: a\\nb\\x1b[31m"},
    {"error(string.rep('x', 100000))", "t.lua:1: xxx"},
    {"local function f()\n  error('here', 2)\nend\n\nf()\n", "t.lua:5: here"},
    {"max = 3",
     "t.lua:1: 'max' is a function of the language, expected another name, or a local variable"},
    /* numbers of kernels that no printed graph contains */
    {"kernel(100000) return {y = input('x', {1}) + 1}",
     "t.lua:1: kernel: found outside of a printed graph, expected graph(name) before it"},
    {"kernel(0)",
     "t.lua:1: kernel: found outside of a printed graph, expected graph(name) before it"},
    {DUMP "kernel(2.5)", "t.lua:2: kernel: number: found 2.5, expected a whole number"},
    {DUMP "kernel(-2)", "t.lua:2: kernel: found number -2, expected -1 to 262144"},
    {DUMP "kernel(1e9)", "t.lua:2: kernel: found number 1000000000, expected -1 to 262144"},
    {DUMP "kernel(0/0)", "t.lua:2: kernel: number: found nan, expected a whole number"},
    {DUMP "kernel('0')", "t.lua:2: kernel: number: found string"},
    {DUMP "kernel(4)\nv[1] = neg(v[0])\nreturn {y = v[1]}",
     "t.lua:2: kernel: number 4, a graph of 2"},
    {DUMP "kernel(0)\nv[1] = neg(v[0])\nv[2] = neg(v[1])", "t.lua:4: neg: found a second node in the same kernel, expected kernel(-1) before it"},
    {DUMP "kernel(0)\nv[1] = neg(v[0])\nkernel(0)", "t.lua:4: kernel: found number 0 a second time, expected one node for each kernel"},
    {DUMP "kernel(0)\nv[1] = input('z', {2}, 'f32')", "t.lua:3: input: found an op that no kernel computes, expected kernel(-1) before it"},
    {"\33Lua", "t.lua: attempt to load"},
    {"\33LJ\2", "t.lua: attempt to load"},
};

START_TEST(reports_mistakes)
{
    must_fail(fail_cases[_i].text, "", fail_cases[_i].error);
}
END_TEST

/* ---- Unknown options of layers ------------------------------------------------------- */

/* The first line of each script, before the calls below. */
#define LAYERS                                                                                     \
    "local nn, t, a = require 'nn', require 'transformer', require 'attention' "                   \
    "local optim, r, llama = require 'optim', require 'recurrent', require 'llama' "               \
    "local x, q = input('x', {1, 4, 8}), input('q', {1, 2, 4, 4}) "                                \
    "local names = {q = 'q', k = 'k', v = 'v', out = 'o'} "                                        \
    "local w = {w = param('w', {2})} local ids = input('ids', {1, 4}, 'i32') "                     \
    "local sizes = {T = 4, vocab_size = 8, hidden_size = 8, intermediate_size = 8, "               \
    "num_hidden_layers = 1, num_attention_heads = 2}\n"

/* Calls with an option that no layer has, and the expected errors. */
static const char *const unknown_option_cases[][2] = {
    {"nn.layer_norm(x, {zzz = 1})", "nn.layer_norm"},
    {"nn.rms_norm(x, {eps = 1, zzz = 1})", "nn.rms_norm"},
    {"nn.cross_entropy(x, ids, {zzz = 1})", "nn.cross_entropy"},
    {"a.attend(q, q, q, nil, nil, {zzz = 1})", "attention.attend"},
    {"a.grouped(q, q, q, nil, nil, {zzz = 1})", "attention.attend"},
    {"a.fused(x, {n_head = 2, qkv_name = 'a', out_name = 'b', zzz = 1})", "attention.fused"},
    {"a.separate(x, {n_head = 2, names = names, zzz = 1})", "attention.separate"},
    {"a.separate(x, {n_head = 2, names = {q = 'q', k = 'k', v = 'v', zzz = 'o'}})",
     "attention.separate: names"},
    {"a.of_heads(x, {n_head = 2, zzz = 1})", "attention.of_heads"},
    {"require('gpt2').block(x, {n_head = 2, zzz = 1})", "gpt2.block"},
    {"t.feed_forward(x, {d_ff = 8, act = tanh, in_name = 'a', out_name = 'b', zzz = 1})",
     "transformer.feed_forward"},
    {"t.gated_feed_forward(x, {d_ff = 8, glu = nn.swiglu, gate_name = 'a', up_name = 'b', "
     "down_name = 'c', zzz = 1})", "transformer.gated_feed_forward"},
    {"optim.sgd(w, w, {lr = 1, zzz = 1})", "optim.sgd"},
    {"optim.adam(w, w, {lr = 1, zzz = 1})", "optim.adam"},
    {"optim.adamw(w, w, {lr = 1, zzz = 1})", "optim.adamw"},
    {"optim.cosine_schedule(optim.step(), {lr = 1, steps = 9, zzz = 1})", "optim.cosine_schedule"},
    {"r.rnn(x, param('i', {4, 8}), param('h', {4, 4}), {zzz = 1})", "recurrent.rnn"},
    {"r.gru(x, param('i', {12, 8}), param('h', {12, 4}), {zzz = 1})", "recurrent.gru"},
    {"r.lstm(x, param('i', {16, 8}), param('h', {16, 4}), {zzz = 1})", "recurrent.lstm"},
    {"llama.model(ids, sizes, {zzz = 1})", "llama.model"},
    {"llama.model(ids, {zzz = 1}, {})", "llama.model"},
    {"llama.layers({zzz = 1})", "llama.layers"},
    {"llama.feed_forward(x, {zzz = 1}, 'silu')", "llama.feed_forward"},
    {"llama.block(x, {zzz = 1}, {})", "llama.block"},
    {"llama.head(x, {zzz = 1})", "llama.head"},
    {"require('huggingface').rope({zzz = 1}, 4, 4)", "huggingface.rope"},
    {"require('onnx').cum_prod(x, {axis = 0, zzz = 1})", "onnx.cum_prod"},
    {"require('onnx_attention').rotary(q, x, x, nil, {zzz = 1})", "onnx_attention.rotary"},
    {"require('onnx_conv').conv(q, param('k', {2, 2, 1, 1}), nil, {zzz = 1})", "onnx_conv.conv"},
    {"require('onnx_math').elu(x, {zzz = 1})", "onnx_math.elu"},
    {"require('onnx_norm').lrn(x, {zzz = 1})", "onnx_norm.lrn"},
    {"require('onnx_norm').nll_loss(x, const(0, {1}), nil, {zzz = 1})", "onnx_norm.nll_loss"},
    {"require('onnx_recurrent').rnn(x, param('i', {1, 4, 8}), param('h', {1, 4, 4}), nil, nil, nil, {zzz = 1})",
     "onnx_recurrent.rnn"},
    {"require('onnx_pictures').resize(q, {zzz = 1})", "onnx_pictures.resize"},
};

START_TEST(layers_refuse_unknown_options)
{
    char text[2048], error[160];
    snprintf(text, sizeof text, LAYERS "local y = %s", unknown_option_cases[_i][0]);
    snprintf(error, sizeof error, "t.lua:2: %s: unknown option 'zzz'", unknown_option_cases[_i][1]);
    must_fail(text, "", error);
}
END_TEST

static const struct fail_case layer_cases[] = {
    {"nn.layer_norm(x, {epsilon = 1e-5})",
     "nn.layer_norm: unknown option 'epsilon', did you mean eps?"},
    {"nn.layer_norm(x, {ep = 1e-5})", "nn.layer_norm: unknown option 'ep', did you mean eps?"},
    {"nn.layer_norm(x, {zz = 1})", "nn.layer_norm: unknown option 'zz', expected one of bias, eps"},
    {"nn.layer_norm(x, {1e-5})", "nn.layer_norm: found an item without a name"},
    {"nn.layer_norm(x, 1e-5)", "nn.layer_norm: found number, expected a table of options"},
    {"nn.layer_norm(x, {eps = '1e-5'})", "nn.layer_norm: eps: found '1e-5', expected a number"},
    {"nn.layer_norm(x, {bias = 0})", "nn.layer_norm: bias: found 0, expected true or false"},
    {"nn.rms_norm(x, {})", "nn.rms_norm: eps is missing, expected a number"},
    {"scope('norm', nn.rms_norm, x, {eps = false})",
     "nn.rms_norm: eps: found boolean, expected a number"},
    {"require('gpt2').block(x, {n_heads = 4})",
     "gpt2.block: unknown option 'n_heads', did you mean n_head?"},
    {"require('gpt2').block(x, {})",
     "gpt2.block: n_head is missing, expected a whole number from 1 on"},
    {"require('gpt2').block(x, {n_head = 2.5})",
     "gpt2.block: n_head: found 2.5, expected a whole number from 1 on"},
    {"require('gpt2').block(x, {n_head = 2, layout = 'conv'})",
     "gpt2.block: layout: found 'conv', expected 'conv1d' or 'linear'"},
    {"require('gpt2').block(x, options {n_heads = 4})",
     "gpt2.block: n_head is missing, expected a whole number from 1 on"},
    {"nn.linear(x, 8, {bias = false})", "nn.linear: bias: found table, expected true or false"},
    {"nn.conv1d(x, '8')", "nn.conv1d: n_out: found '8', expected a whole number from 1 on"},
    {"nn.embedding(ids, 8)", "nn.embedding: size is missing, expected a whole number from 1 on"},
    {"nn.dropout(x, 0.5, 'seed')", "nn.dropout: seed: found 'seed', expected a number or a tensor"},
    {"a.attend(q, q, q, nil, nil, {scale = q, soft_cap = '1'})",
     "attention.attend: soft_cap: found '1', expected a number or a tensor"},
    {"a.separate(x, {n_head = 2, names = names, norm = tanh})",
     "attention.separate: names: k_norm is missing, expected a string"},
    {"optim.adamw(w, w, {lr = 1, betas = {0.9}})", "betas: found 0.9 and nil, expected two numbers (in graphs/lib/optim"},
    {"llama.model(ids, sizes, {windows = {}})", "found 0 windows, expected one for each of 1 layers (in"},
    {"(function() local function f(x, c) c = layer_options('f', c, {k = 'number'}) return x end\n"
     "local y = f(x, {j = 1})\nreturn y end)()", "f: unknown option 'j', expected one of k"},
    {"layer_options('f', {}, {k = 'nmuber'})",
     "layer_options: k: found the type 'nmuber', expected number, whole, size, boolean, string, "
     "function, table, tensor or a text in quotes"},
    {"layer_options('f', {}, {k = 3})", "layer_options: k: found number, a type such as"},
    {"layer_options('f', {}, {'number'})",
     "layer_options: found a key that is not a name, expected {name = type, ...}"},
    {"layer_options('f', {}, 3)", "layer_options: found number, expected {name = type, ...}"},
};

START_TEST(layers_check_their_options)
{
    char text[2048], error[200];
    const struct fail_case *c = &layer_cases[_i];
    snprintf(text, sizeof text, LAYERS "local y = %s", c->text);
    snprintf(error, sizeof error, "t.lua:%d: %s", strchr(c->text, '\n') ? 3 : 2, c->error);
    must_fail(text, "", error);
}
END_TEST

/* The value false stands for an optional option that is not given; options of a whole model may
 * include some that a layer does not take; and a layer may pass on the options that it took. */
START_TEST(layers_take_what_they_declare)
{
    const char *taken[] = {
        "local y = a.attend(q, q, q, false, false, {bias = false, softmax = nn.safe_softmax})",
        "local y = require('gpt2').block(x, options {n_head = 2, B = 1, name_prefix = ''})",
        "local y = a.of_heads(x, layer_options('f', {n_head = 2, z = 1}, "
        "{n_head = 'size', z = 'whole'}))",
        "local y = llama.head(x, require('huggingface').merge(options {vocab_size = 8, z = 1}, {}))",
        "local o = layer_options('f', {}, {k = {'number', 7}}, {j = 'boolean?'}) "
        "assert(o.k == 7 and o.j == nil) local y = x + o.k",
        "local y = llama.head(llama.block(x, options(sizes), llama.layers(sizes)[1]), sizes)",
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char text[2048];
        struct cr_script script;
        struct cr_error error = {""};
        snprintf(text, sizeof text, LAYERS "%s return {y = y}", taken[i]);
        write_text("t.lua", text);
        ck_assert_msg(run_path(path_of("t.lua"), "", &script, &error) == 0, "%s", error.text);
        cr_script_free(&script);
    }
}
END_TEST

/* ---- Weights that are tied ---------------------------------------------------------- */

static const struct {
    const char *text, *note; /* null: none */
} tied_cases[] = {
    {"local y = nn.linear(x, 8)\ny = nn.linear(y, 8)",
     "t.lua:3: parameter weight is declared again in the same scope (line 2)"},
    {"local y = x\nfor i = 1, 2 do y = nn.rms_norm(y, {eps = 1}) end",
     "t.lua:3: parameter weight is declared again in the same scope (line 3)"},
    {"local y = scope('a', function(x)\nlocal y = nn.layer_norm(nn.layer_norm(x, {}), {}) return y end, x)",
     "t.lua:3: parameter a.weight is declared again in the same scope (line 3)"},
    {"local y = nn.layer_norm(x, {bias = false})\ny = nn.rms_norm(y, {eps = 1})",
     "t.lua:3: parameter weight is declared again in the same scope (line 2)"},
    {"local function f(x) local y = x * param('w', {8}) return y end\nlocal y = f(f(x))",
     "t.lua:2: parameter w is declared again in the same scope (line 2)"},
    /* on purpose */
    {"local y = scope('a', nn.linear, x, 8)\ny = scope('a', nn.linear, y, 8)", NULL},
    {"local y = scope('a', nn.linear, x, 8)\ny = scope('b', nn.linear, y, 8)", NULL},
    {"local y = x * param('w', {8})\ny = y * param('w', {8})", NULL},
    {"local y = x * param('w', {8}) * param('w', {8})", NULL},
    {"local function f(x) local y = x * param('w', {8}, {tied = true}) return y end\n"
     "local y = f(f(x))", NULL},
    {"local function f(x) local y = x * param('w', {8}, {fill = 1, tied = true}) return y end\n"
     "local y = f(f(x))", NULL},
    {"local ids = input('ids', {4}, 'i32') local y = scope('e', nn.embedding, ids, 5, 8)\n"
     "y = scope('e', nn.tied_head, y, 5)", NULL},
};

START_TEST(notes_weights_that_are_tied)
{
    char text[2048];
    struct cr_script script;
    struct cr_error error = {""};
    snprintf(text, sizeof text, "local nn, x = require 'nn', input('x', {4, 8})\n%s\nreturn {y = y}",
             tied_cases[_i].text);
    write_text("t.lua", text);
    ck_assert_msg(run_path(path_of("t.lua"), "", &script, &error) == 0, "%s", error.text);
    const char *note = tied_cases[_i].note;
    if (!note)
        ck_assert_msg(!script.tied, "%s", script.tied);
    else
        ck_assert_msg(script.tied && strstr(script.tied, note), "found: %s\nexpected: %s", script.tied, note);
    cr_script_free(&script);
}
END_TEST

/* ---- Hostile scripts ---------------------------------------------------------------- */

static const struct fail_case hostile_cases[] = {
    /* ways out of the sandbox */
    {"io.open('x')", "t.lua:1: 'io' is not defined"},
    {"os.execute('ls')", "t.lua:1: 'os' is not defined"},
    {"load('x')()", "t.lua:1: 'load' is not defined"},
    {"loadstring('x')()", "t.lua:1: 'loadstring' is not defined"},
    {"dofile('x')", "t.lua:1: 'dofile' is not defined"},
    {"debug.getregistry()", "t.lua:1: 'debug' is not defined"},
    {"package.loadlib('x', '*')", "t.lua:1: 'package' is not defined"},
    {"collectgarbage()", "t.lua:1: 'collectgarbage' is not defined"},
    {"coroutine.create(print)", "t.lua:1: 'coroutine' is not defined"},
    {"jit.on()", "t.lua:1: 'jit' is not defined"},
    {"getfenv()", "t.lua:1: 'getfenv' is not defined"},
    {"_G.x = 1", "t.lua:1: '_G' is not defined"},
    {"string.dump(print)", "t.lua:1: found nothing in the field 'dump'"},
    {"('x'):gsub('x', 'y')", "t.lua:1: attempt to call"},
    {"require 'ffi'",
     "t.lua:1: require: found no module 'ffi', expected it in lib/, beside the script or built in"},
    {"require 'jit.util'", "t.lua:1: require: found no module 'jit.util'"},
    {"require '../x'",
     "t.lua:1: require: found the module '../x', expected letters, digits, '_', '-' and '.'"},
    {"require '/etc/passwd'",
     "t.lua:1: require: found the module '/etc/passwd', expected letters, digits, '_', '-' and "
     "'.'"},
    {"require '..'",
     "t.lua:1: require: found '..', expected a module's name, such as nn or family.layers"},
    {"require 't'",
     "t.lua:1: require: modules require each other in a circle through 't', expected no circle"},
    {"require(3)", "t.lua:1: require: module: found number"},
    /* metatables */
    {"setmetatable({}, {__gc = function() end})",
     "t.lua:1: setmetatable: found the field __gc, expected a metatable without it"},
    {"setmetatable(input('x', {1}), {})", "t.lua:1: setmetatable: found tensor and table"},
    {"getmetatable(input('x', {1})).__index = nil", "t.lua:1: attempt to index"},
    {"getmetatable('').__index = nil", "t.lua:1: attempt to index"},
    {"local s = setmetatable({}, {__len = function() return 2^60 end})\ntable.insert(s, 1, 1)",
     "t.lua:2: table.insert: found a table with a metatable"},
    {"local f = input('x', {1}).exp\nf({})", "t.lua:2: exp: argument 1: found table"},
    {"rawset(input('x', {1}), 'a', 1)",
     "t.lua:1: rawset: argument 1: found tensor, expected a table"},
    {"local t = {} for i = 1, 100000 do t = setmetatable({}, {__index = t}) end\nlocal x = t.foo",
     "t.lua:2: "},
    /* no end */
    {"while true do end", "t.lua:1: the script takes more than"},
    {"local function f() return 1 + f() end\nf()", "t.lua:1: stack overflow"},
    {"local function f() return (scope('a', f)) end\nf()",
     "t.lua:1: scope: scopes are nested too deep, expected at most 64 levels"},
    {"local function f() table.sort({1, 2, 3}, function(a, b) f() return a < b end) end\nf()",
     "t.lua:1: "},
    {"local t\nt = setmetatable({}, {__tostring = function()\n"
     "  return string.format('%s', t) end})\nprint(t)",
     "t.lua"},
    {"local t = {} for i = 0, 60 do t[2^i] = 1 end\ntable.sort(t)", "t.lua:"},
    {"table.insert({}, -2^52, 1)",
     "t.lua:1: table.insert: found position -4503599627370496 in a list of 0"},
    {"unpack({}, -2^52, 2^52)",
     "t.lua:1: table.unpack: found the range of items -4503599627370496 to 4503599627370496"},
    {"unpack({}, 1, 1e8)",
     "t.lua:1: table.unpack: found the range of items 1 to 100000000, expected at most 4096"},
    /* no bounds */
    {"local t = {}\nfor i = 1, 1e9 do t[i] = {i} end", "t.lua:2: the script takes more than"},
    {"local s = 'x'\nwhile true do\n  s = s .. s\nend", "t.lua:3: the script takes more than"},
    {"string.rep('x', 1e9)",
     "t.lua:1: string.rep: the result is too long, expected at most 1048576 bytes"},
    {"('x'):rep(2^40)",
     "t.lua:1: string.rep: the result is too long, expected at most 1048576 bytes"},
    {"string.format('%99999d', 1)",
     "t.lua:1: string.format: found the directive '%999', expected one of Lua's"},
    {"local x = input('x', {1})\nwhile true do x = x + x end",
     "t.lua:2: add: the graph has 262144 operations already"},
    {"local function f() scope(('x'):rep(100), f) end\nf()", "t.lua:1: scope: the path 'xxx"},
    {"local t = {}\nt[2^40] = input('x', {2})\nconcat(t, 1)",
     "t.lua:3: concat: found a list of 0 tensors, expected 1 to 262144"},
    {"local t = {}\nfor i = 1, 1000 do t['o' .. i] = i end\noptions(t)",
     "t.lua:3: options: too many options, expected at most 256"},
};

/* A library with a Lua of its own contains bytecode of all modules, each under its chunk name. */
START_TEST(has_bytecode_of_modules)
{
    int last = cr_builtin_number("onnx_tools");
    ck_assert_int_gt(last, 0);
    for (int i = 0; i <= last; i++) {
        size_t size;
        char chunk[16];
        const char *code = cr_builtin_bytecode(i, &size);
        int length = snprintf(chunk, sizeof chunk, CR_CHUNK, i);
        ck_assert(code && *code == '\33' && memmem(code, size, chunk, (size_t)length));
    }
}
END_TEST

START_TEST(survives_hostile_scripts)
{
    must_fail(hostile_cases[_i].text, "", hostile_cases[_i].error);
}
END_TEST

/* Every version of Lua's parser refuses deep nesting with an error. */
START_TEST(survives_deep_nesting)
{
    enum { DEPTH = 20000 };
    static char text[2 * DEPTH + 20] = "return ";
    memset(text + 7, '(', DEPTH);
    text[7 + DEPTH] = '1';
    memset(text + 8 + DEPTH, ')', DEPTH);
    must_fail(text, "", "t.lua");
    memset(text + 7, '{', DEPTH);
    memset(text + 8 + DEPTH, '}', DEPTH);
    must_fail(text, "", "t.lua");
}
END_TEST

START_TEST(reads_only_scripts)
{
    enum { TOO_MUCH = (1 << 20) + 1 };
    char *text = malloc(TOO_MUCH);
    ck_assert_ptr_nonnull(text);
    memset(text, '-', TOO_MUCH);
    write_bytes("t.lua", text, TOO_MUCH);
    free(text);
    must_fail_as("", "t.lua: the file is longer than 1 MB, expected a script");
    unlink(path_of("t.lua"));
    must_fail_as("", "t.lua: No such file");
    ck_assert_int_eq(mkdir(path_of("t.lua"), 0700), 0);
    must_fail_as("", "t.lua: is a directory");
    rmdir(path_of("t.lua"));
    ck_assert_int_eq(mkfifo(path_of("t.lua"), 0600), 0);
    must_fail_as("", "t.lua: is not a regular file");
    unlink(path_of("t.lua"));
    write_bytes("t.lua", "return \0 {}", 11);
    must_fail_as("", "t.lua:1: ");
    write_text("t.lua", "#!/usr/bin/env crescent\nlocal x = foo");
    must_fail_as("", "t.lua:2: 'foo' is not defined");
}
END_TEST

/* ---- Options ------------------------------------------------------------------------ */

#define DECLARATION                                                                                \
    "local o = options {n = 4, p = 0.5, whole = {number = 1}, on = true, text = 'a',\n"            \
    "    layout = {'conv1d', 'linear'}}\n"

/* Settings, and either the resulting values or the beginning of the error. */
static const struct option_case {
    const char *settings, *values, *error;
} option_cases[] = {
    {"", "layout=conv1d n=4 on=true p=0.5 text=a whole=1", NULL},
    {"n=8 p=1 on=false text=b,c layout=linear whole=0.1",
     "layout=linear n=8 on=false p=1 text=b,c whole=0.1", NULL},
    {"n=8 n=9", "layout=conv1d n=9 on=true p=0.5 text=a whole=1", NULL},
    {"n=1e3 p=1e-5", "layout=conv1d n=1000 on=true p=1e-05 text=a whole=1", NULL},
    {"text=", "layout=conv1d n=4 on=true p=0.5 text= whole=1", NULL},
    {"n=2.5", NULL, "t.lua:1: option n: found '2.5', expected a whole number"},
    {"n=x", NULL, "t.lua:1: option n: found 'x', expected a whole number"},
    {"n=", NULL, "t.lua:1: option n: found '', expected a whole number"},
    {"n=4x", NULL, "t.lua:1: option n: found '4x', expected a whole number"},
    {"n=1e300", NULL, "t.lua:1: option n: found '1e300', expected a whole number"},
    {"p=nan", NULL, "t.lua:1: option p: found 'nan', expected a number"},
    {"on=1", NULL, "t.lua:1: option on: found '1', expected true or false"},
    {"layout=foo", NULL, "t.lua:1: option layout: found 'foo', expected conv1d or linear"},
    {"m=3", NULL, "t.lua:1: unknown option 'm', expected one of layout, n, on, p, text, whole"},
};

START_TEST(takes_options)
{
    const struct option_case *c = &option_cases[_i];
    if (c->error) {
        must_fail(DECLARATION "return {y = input('x', {o.n})}", c->settings, c->error);
        return;
    }
    struct cr_script script = must_run(DECLARATION "return {y = input('x', {o.n})}", c->settings);
    char values[MAX_TEXT] = "";
    for (int i = 0; i < script.n_options; i++)
        append(values, sizeof values, "%s%s=%s", i ? " " : "", script.options[i].name,
               script.options[i].value);
    ck_assert_str_eq(values, c->values);
    cr_script_free(&script);
}
END_TEST

/* An option whose only choice is "false" or "true" becomes a boolean. */
START_TEST(makes_a_boolean_of_the_only_choice)
{
    static const char text[] = "local o = options {a = {'false'}, b = {'true'}, c = {'false', 'x'}}\n"
                               "if o.a ~= false or o.b ~= true or o.c ~= 'false' then error('wrong') end\n"
                               "return {y = input('x', {1})}";
    struct cr_script script = must_run(text, "a=false c=false");
    cr_script_free(&script);
    must_fail(text, "a=true", "t.lua:1: option a: found 'true', expected false");
}
END_TEST

START_TEST(checks_options)
{
    must_fail("return {y = input('x', {1})}", "n=3",
              "t.lua: unknown option 'n', expected none, as the script declares none");
    must_fail("local o = options {a = 1}\nlocal n = o.b", "",
              "t.lua:2: option 'b' is not declared, expected a name in the table of options()");
    must_fail("options {}\noptions {}", "", "t.lua:2: options: found a second call, expected one table that declares all options");
    must_fail("options {a = {}}", "", "t.lua:1: options: a: found an empty table as the default, expected a list of choices or {number = 1}");
    must_fail("options {a = print}", "", "t.lua:1: options: a: found function as the default");
    must_fail("options {[1] = 2}", "", "t.lua:1: options: found a key that is not a name");
    must_fail("options(3)", "", "t.lua:1: options: found number");
}
END_TEST

/* ---- Modules ------------------------------------------------------------------------ */

/* An error in a module of the user's names the module's line; an error in a library module names
 * the line of the user that called it. */
START_TEST(blames_the_users_line)
{
    mkdir(path_of("lib"), 0700);
    mkdir(path_of("deep"), 0700);
    write_text("mine.lua", "return {f = function(x)\n  local y = exp(x)\n  return y\nend}");
    write_text("lib/theirs.lua", "return {f = function(x)\n  local y = exp(x)\n  return y\nend}");
    write_text("lib/broken.lua", "return {\n\n]");
    write_text("deep/er.lua", "return 42");
    write_text("one.lua", "require 'two'");
    write_text("two.lua", "\nrequire 'one'");
    must_fail("local m = require 'mine'\nm.f('a')", "",
              "mine.lua:2: exp: argument 1: found string");
    char expected[512];
    snprintf(expected, sizeof expected,
             "t.lua:2: exp: argument 1: found string, expected a tensor or number"
             " (in %s/lib/theirs.lua:2)",
             folder);
    must_fail("local m = require 'theirs'\nm.f('a')", "", expected);
    must_fail("\nrequire 'broken'\n", "", "t.lua:2: unexpected symbol");
    must_fail("require 'one'", "", "two.lua:2: require: modules require each other in a circle through 'one', expected no circle");
    must_fail("require 'nosuch'", "", "t.lua:1: require: found no module 'nosuch'");
    write_text("lib/both.lua", "return 'lib'");
    write_text("both.lua", "return 'beside'");
    struct cr_script script = must_run("assert(require 'deep.er' == 42)\n"
                                       "assert(require 'both' == 'lib')\n"
                                       "assert(require 'nn' == require 'nn')\n"
                                       "return {y = (require 'nn').relu(input('x', {2}))}",
                                       "");
    cr_script_free(&script);
}
END_TEST

/* ---- The scripts of graphs/ --------------------------------------------------------- */

#define NORM(name, n) name ".weight [" n "]\n" name ".bias [" n "]\n"
#define LAYER(name, weight, bias) name ".weight [" weight "]\n" name ".bias [" bias "]\n"
#define HEAD(i)                                                                                    \
    "attn.heads." i ".key.weight [6, 12]\n"                                                        \
    "attn.heads." i ".query.weight [6, 12]\n"                                                      \
    "attn.heads." i ".value.weight [6, 12]\n"
#define GPT2(prefix, qkv, up, down)                                                                \
    NORM(prefix "ln_1", "12")                                                                      \
    LAYER(prefix "attn.c_attn", qkv, "36")                                                         \
    LAYER(prefix "attn.c_proj", "12, 12", "12")                                                    \
    NORM(prefix "ln_2", "12")                                                                      \
    LAYER(prefix "mlp.c_fc", up, "48")                                                             \
    LAYER(prefix "mlp.c_proj", down, "12")

#define SMALL "B=2 T=5 n_embd=12 n_head=2"

/* A script with settings, and its parameters in order. */
static const struct model_case {
    const char *path, *settings, *params;
} model_cases[] = {
    {"graphs/decoder_block.lua", SMALL,
     NORM("ln1", "12") LAYER("attn.qkv_proj", "36, 12", "36") LAYER("attn.out_proj", "12, 12", "12")
         NORM("ln2", "12") LAYER("ffn.fc1", "48, 12", "48") LAYER("ffn.fc2", "12, 48", "12")},
    {"graphs/decoder_block.lua", SMALL " bias=false",
     NORM("ln1", "12") "attn.qkv_proj.weight [36, 12]\nattn.out_proj.weight [12, 12]\n" NORM(
         "ln2", "12") "ffn.fc1.weight [48, 12]\nffn.fc2.weight [12, 48]\n"},
    {"graphs/heads_block.lua", SMALL,
     NORM("ln1", "12") HEAD("0") HEAD("1") LAYER("attn.proj", "12, 12", "12") NORM("ln2", "12")
         LAYER("ff.net.0", "48, 12", "48") LAYER("ff.net.2", "12, 48", "12")},
    {"graphs/tiny_block.lua", SMALL,
     NORM("ln1", "12") LAYER("attn.c_attn", "36, 12", "36") LAYER("attn.c_proj", "12, 12", "12")
         NORM("ln2", "12") LAYER("mlp.c_fc", "48, 12", "48") LAYER("mlp.c_proj", "12, 48", "12")},
    {"graphs/tiny_block.lua", SMALL " bias=false",
     "ln1.weight [12]\n" LAYER("attn.c_attn", "36, 12", "36")
         LAYER("attn.c_proj", "12, 12", "12") "ln2.weight [12]\n" LAYER("mlp.c_fc", "48, 12", "48")
             LAYER("mlp.c_proj", "12, 48", "12")},
    {"graphs/gpt2_block.lua", SMALL, GPT2("", "12, 36", "12, 48", "48, 12")},
    {"graphs/gpt2_block.lua", SMALL " layout=linear prefix=h.7.",
     GPT2("h.7.", "36, 12", "48, 12", "12, 48")},
    {"graphs/stream_block.lua", SMALL " d_ff=20",
     NORM("ln1", "12") LAYER("attn.qkv_proj", "36, 12", "36") LAYER("attn.out_proj", "12, 12", "12")
         NORM("ln2", "12") LAYER("ffn.fc1", "20, 12", "20") LAYER("ffn.fc2", "12, 20", "12")},
    {"graphs/gpt2_stack.lua", SMALL " n_layer=2",
     GPT2("h.0.", "12, 36", "12, 48", "48, 12") GPT2("h.1.", "12, 36", "12, 48", "48, 12")},
    {"graphs/gpt2_stack.lua", SMALL " n_layer=1 layout=linear prefix=transformer.",
     GPT2("transformer.h.0.", "36, 12", "48, 12", "12, 48")},
};

START_TEST(has_the_models_parameters)
{
    const struct model_case *c = &model_cases[_i];
    struct cr_script script = must_run_path(c->path, c->settings);
    const struct cr_graph *g = script.graph;
    char params[MAX_TEXT] = "";
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != CR_OP_param)
            continue;
        append(params, sizeof params, "%s", g->nodes[i].name);
        append_shape(params, sizeof params, &g->nodes[i]);
        append(params, sizeof params, "\n");
    }
    ck_assert_str_eq(params, c->params);
    ck_assert_int_eq(g->n_outputs, 1);
    ck_assert_str_eq(g->outputs[0].name, "y");
    char shape[100] = "";
    append_shape(shape, sizeof shape, &g->nodes[g->outputs[0].id]);
    ck_assert_str_eq(shape, " [2, 5, 12]");
    cr_script_free(&script);
}
END_TEST

static const char *const scripts[] = {
    "graphs/decoder_block.lua",     "graphs/heads_block.lua",  "graphs/tiny_block.lua",
    "graphs/gpt2_block.lua",        "graphs/stream_block.lua", "graphs/gpt2_stack.lua",
    "tests/scripts/rms_swiglu.lua", "tests/scripts/alibi.lua", "tests/scripts/spelled_block.lua",
    "tests/scripts/train_steps.lua"};

/* With default options, a script of graphs/ runs, and its printed graph is a script that gives the
 * same graph. */
START_TEST(reads_printed_graphs_back)
{
    struct cr_script script = must_run_path(scripts[_i], "");
    char *text = printed(script.graph);
    struct cr_script again = must_run(text, "");
    char *text_again = printed(again.graph);
    ck_assert_str_eq(text, text_again);
    free(text);
    free(text_again);
    cr_script_free(&script);
    cr_script_free(&again);
}
END_TEST

/* The named values inside a block, and their shapes. */
START_TEST(has_the_models_taps)
{
    static const char *const expected[] = {
        "h.0.ln_1 [2, 5, 12]",          "h.0.attn.c_attn [2, 5, 36]",
        "h.0.attn.q [2, 3, 5, 4]",      "h.0.attn.k [2, 3, 5, 4]",
        "h.0.attn.v [2, 3, 5, 4]",      "h.0.attn.scores [2, 3, 5, 5]",
        "h.0.attn.probs [2, 3, 5, 5]",  "h.0.attn.y [2, 5, 12]",
        "h.0.attn.c_proj [2, 5, 12]",   "h.0.attn [2, 5, 12]",
        "h.0.attn_residual [2, 5, 12]", "h.0.ln_2 [2, 5, 12]",
        "h.0.mlp.c_fc [2, 5, 48]",      "h.0.mlp.act [2, 5, 48]",
        "h.0.mlp.c_proj [2, 5, 12]",    "h.0.mlp [2, 5, 12]",
        "h.0.ffn_residual [2, 5, 12]",  "h.0 [2, 5, 12]"};
    struct cr_script script = must_run_path("graphs/gpt2_stack.lua",
                                            "B=2 T=5 n_embd=12 n_head=3 n_layer=1 layout=linear");
    size_t n = 0;
    for (int i = 0; i < script.graph->n_nodes; i++) {
        const struct cr_node *node = &script.graph->nodes[i];
        if (!node->tap)
            continue;
        char found[MAX_TEXT] = "";
        append(found, sizeof found, "%s", node->tap);
        append_shape(found, sizeof found, node);
        ck_assert_uint_lt(n, sizeof expected / sizeof *expected);
        ck_assert_str_eq(found, expected[n]);
        n++;
    }
    ck_assert_uint_eq(n, sizeof expected / sizeof *expected);
    cr_script_free(&script);
}
END_TEST

/* Settings that a script of graphs/ must refuse, and a part of the error. */
static const struct refusal {
    const char *path, *settings, *words;
} refusals[] = {
    {"graphs/gpt2_block.lua", "n_embd=33 n_head=2", "n_embd 33 is not divisible by n_head 2"},
    {"graphs/heads_block.lua", "n_head=0", "graphs/heads_block.lua:24: attention.of_heads: n_head: found 0"},
    {"graphs/decoder_block.lua", "n_head=-3", "graphs/decoder_block.lua:25: attention.fused: n_head: found -3"},
    {"graphs/decoder_block.lua", "T=1025", "T 1025 is more than n_positions 1024"},
    {"graphs/heads_block.lua", "T=33", "T 33 is more than block_size 32"},
    {"graphs/heads_block.lua", "train=true dropout=-0.5",
     "found dropout -0.5, expected at least 0 and less than 1"},
    {"graphs/decoder_block.lua", "dropout=1", "found dropout 1, expected at least 0 and less than 1"},
    {"graphs/gpt2_stack.lua", "n_layer=0", "found a stack of 0 blocks, expected at least 1"},
    {"graphs/gpt2_block.lua", "B=0", "size 0 of axis 1"},
    {"graphs/gpt2_block.lua", "T=4294967296", "of more than 2^40 elements (4 TiB)"},
    {"graphs/gpt2_block.lua", "layout=other", "expected conv1d or linear"},
    {"graphs/gpt2_block.lua", "prefix=*/", "graphs/gpt2_block.lua:14: prefix: found the text '*/'"},
    {"graphs/gpt2_block.lua", "n_heads=2", "unknown option 'n_heads', expected one of B, T, la"},
};

START_TEST(refuses_wrong_settings)
{
    const struct refusal *c = &refusals[_i];
    struct cr_script script;
    struct cr_error error = {""};
    ck_assert_int_eq(run_path(c->path, c->settings, &script, &error), -1);
    size_t length = strlen(c->path);
    ck_assert_msg(strncmp(error.text, c->path, length) == 0 && error.text[length] == ':' &&
                      atoi(error.text + length + 1) > 0,
                  "no line is named: %s", error.text);
    ck_assert_msg(strstr(error.text, c->words), "found: %s, expected: %s", error.text, c->words);
}
END_TEST

START_TEST(names_models)
{
    static const char *const names[][2] = {{"3-d.net.lua", "model_3_d_net"},
                                           {"plain", "plain"},
                                           {".lua", "model__lua"},
                                           {"a b.lua", "a_b"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_text(names[i][0], "return {y = input('x', {1})}");
        struct cr_script script = must_run_path(path_of(names[i][0]), "");
        ck_assert_str_eq(script.graph->name, names[i][1]);
        cr_script_free(&script);
    }
}
END_TEST

#define COUNT(table) ((int)(sizeof table / sizeof *table))

static Suite *suite(void)
{
    Suite *s = suite_create("frontend");
    TCase *tests = tcase_create("scripts");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, builds_graphs, 0, COUNT(graph_cases));
    tcase_add_test(tests, has_every_op);
    tcase_add_test(tests, passes_attributes_on);
    tcase_add_loop_test(tests, names_values, 0, COUNT(name_cases));
    tcase_add_loop_test(tests, reports_mistakes, 0, COUNT(fail_cases));
    tcase_add_loop_test(tests, layers_refuse_unknown_options, 0, COUNT(unknown_option_cases));
    tcase_add_loop_test(tests, layers_check_their_options, 0, COUNT(layer_cases));
    tcase_add_test(tests, layers_take_what_they_declare);
    tcase_add_loop_test(tests, notes_weights_that_are_tied, 0, COUNT(tied_cases));
    tcase_add_test(tests, has_bytecode_of_modules);
    tcase_add_loop_test(tests, survives_hostile_scripts, 0, COUNT(hostile_cases));
    tcase_add_test(tests, survives_deep_nesting);
    tcase_add_test(tests, reads_only_scripts);
    tcase_add_loop_test(tests, takes_options, 0, COUNT(option_cases));
    tcase_add_test(tests, makes_a_boolean_of_the_only_choice);
    tcase_add_test(tests, checks_options);
    tcase_add_test(tests, blames_the_users_line);
    tcase_add_loop_test(tests, has_the_models_parameters, 0, COUNT(model_cases));
    tcase_add_loop_test(tests, reads_printed_graphs_back, 0, COUNT(scripts));
    tcase_add_test(tests, has_the_models_taps);
    tcase_add_loop_test(tests, refuses_wrong_settings, 0, COUNT(refusals));
    tcase_add_test(tests, names_models);
    suite_add_tcase(s, tests);
    return s;
}

/* Removes the folder of the tests and the files in it. */
static void remove_folder(void)
{
    char command[sizeof folder + 20];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "could not remove %s\n", folder);
}

int main(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_folder();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
