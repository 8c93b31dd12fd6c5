/*
 * test_entries.c - scripts that return several entries: an entry has the bits of a script that
 * returns its outputs alone, and all entries read one layout of the weights.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/engine.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/verifier/verifier.h"

enum { MOST_ENTRIES = 4, SEED = 7 };

/* The body of a script, and the names and output tables of its entries, sorted by name. */
struct model {
    const char *name, *body;
    struct {
        const char *name, *outputs;
    } entries[MOST_ENTRIES];
};

#define STACK                                                                                      \
    "local nn = require 'nn'\n"                                                                    \
    "local attention = require 'attention'\n"                                                      \
    "local x = input('x', {2, 8, 16})\n"                                                           \
    "local h = x\n"                                                                                \
    "for i = 0, 3 do\n"                                                                            \
    "  h = scope('h.' .. i, function()\n"                                                          \
    "    local n = scope('ln', nn.layer_norm, h, {eps = 1e-5})\n"                                  \
    "    local a = scope('attn', attention.fused, n, {n_head = 2, project = nn.linear,\n"         \
    "      mask = attention.causal_mask(8), qkv_name = 'qkv', out_name = 'out'})\n"               \
    "    return h + scope('fc', nn.linear, nn.gelu(h + a), 16)\n"                                  \
    "  end)\n"                                                                                     \
    "end\n"

static const struct model models[] = {
    {"an autoencoder and its halves",
     "local nn = require 'nn'\n"
     "local x, code = input('x', {8, 16}), input('code', {8, 4})\n"
     "local function encode(x) return nn.relu(x:matmul(param('enc.w', {16, 4}, {normal = 1}))) end\n"
     "local w, b = param('dec.w', {4, 16}, {normal = 1}), param('dec.b', {16}, {normal = 1})\n"
     "local function decode(z) return z:matmul(w) + b end\n"
     "local z = encode(x)\n",
     {{"all", "{y = decode(z)}"}, {"decode", "{y = decode(code)}"}, {"encode", "{z = z}"}}},
    {"logits and loss over a stack of layers",
     STACK "local target = input('target', {2, 8, 24})\n"
           "local logits = scope('head', nn.linear, h, 24)\n",
     {{"logits", "{y = logits}"}, {"loss", "{y = nn.mse_loss(logits, target)}"}}},
    {"a forward pass and one with gradients",
     STACK "local loss = (h * h):sum(3):sum(2):sum(1)\n"
           "local w = param('h.2.fc.weight', {16, 16}, {uniform = 0.25})\n"
           "local g = grad(loss, {w, x})\n",
     {{"forward", "{y = h}"}, {"step", "{dw = g[1], dx = g[2], loss = loss}"}}},
    {"a product that one rounds together with a sum, and the other reads",
     "local a, b, c = input('a', {5, 7}), input('b', {5, 7}), input('c', {5, 7})\n"
     "local p = a * b\n",
     {{"alone", "{p = p}"}, {"both", "{p = p, y = p + c}"}, {"sum", "{y = p + c}"}}},
    {"attention and its probabilities",
     "local nn = require 'nn'\n"
     "local q, k, v = input('q', {40, 8}), input('k', {40, 8}), input('v', {40, 8})\n"
     "local p = nn.softmax(q:matmul(k:permute{2, 1}))\n",
     {{"attend", "{y = p:matmul(v)}"}, {"look", "{p = p}"}, {"twice", "{p = p, y = p:matmul(v)}"}}},
    {"projections of which one entry joins three, another has two, another one",
     "local x = input('x', {8, 16})\n"
     "local function project(name) return x:matmul(param(name, {16, 8}, {normal = 1})) end\n"
     "local q, k, v = project 'q', project 'k', project 'v'\n",
     {{"one", "{q = q}"}, {"three", "{q = q, k = k, v = v}"}, {"two", "{v = v, k = k}"}}},
    {"a length, which one entry does not depend on",
     "local nn = require 'nn'\n"
     "local x, code = input('x', {length('T', 8), 16}), input('code', {8, 16})\n"
     "local function encode(x) return scope('enc', nn.linear, x, 4) end\n"
     "local z = nn.relu(encode(x))\n",
     {{"encode", "{z = z}"}, {"fixed", "{y = encode(code)}"}, {"sum", "{s = z:sum(1), z = z}"}}},
    {"entries without inputs, and with a parameter, an input and a number for outputs",
     "local x = input('x', {3, 4})\n"
     "local w = param('w', {3, 4}, {normal = 1})\n",
     {{"leaves", "{w = w, x = x, two = const(2, {2, 2}), again = x}"},
      {"norm", "{y = (w * w):sum(2)}"},
      {"numbers", "{i = iota({4}, 1)}"},
      {"x", "{x = x}"}}},
    {"outputs without elements, in entries of these alone and beside others",
     "local x = input('x', {length('T', 6), 4})\n"
     "local none, whole = const(0, {0, 3}), const(0, {2, 0}, 'i32')\n",
     {{"alone", "{none = none, again = none, flat = none:reshape{0}}"},
      {"beside", "{b = const(1, {0}, 'bool'), none = none, y = x + 1}"},
      {"lengths", "{rows = const(0, {length('T', 6), 0}), whole = whole}"},
      {"none", "{none = none}"}}},
};

enum { N_MODELS = sizeof models / sizeof *models };

static int count_entries(const struct model *m)
{
    int n = 0;
    while (n < MOST_ENTRIES && m->entries[n].name)
        n++;
    return n;
}

/* ---- scripts ---- */

/* Runs a script that is given as text. */
static int run_text(const char *text, struct cr_graph **graph, struct cr_error *error)
{
    char path[] = "/tmp/crescent-entries-XXXXXX.lua";
    struct cr_script script;
    int fd = mkstemps(path, 4);
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int status = cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, error);
    unlink(path);
    if (status)
        return status;
    *graph = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    return 0;
}

static struct cr_graph *graph_of(const char *text)
{
    struct cr_graph *graph;
    struct cr_error error;
    ck_assert_msg(run_text(text, &graph, &error) == 0, "%s", error.text);
    return graph;
}

/* Builds the graph of the script with all its entries, or with the outputs of only one entry. */
static struct cr_graph *graph_with(const struct model *m, int entry)
{
    char text[8192];
    size_t at = (size_t)snprintf(text, sizeof text, "%sreturn ", m->body);
    if (entry >= 0) {
        snprintf(text + at, sizeof text - at, "%s", m->entries[entry].outputs);
        return graph_of(text);
    }
    for (int i = 0; i < count_entries(m); i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s = %s", i ? ", " : "{",
                               m->entries[i].name, m->entries[i].outputs);
    snprintf(text + at, sizeof text - at, "}");
    return graph_of(text);
}

/* ---- engines ---- */

static void open_engine(struct cr_engine *e, struct cr_graph *graph, enum cr_backend backend)
{
    const struct cr_engine_options options = {
        .settings.path = "entries.lua", .backend = backend, .threads = 2};
    struct cr_error error;
    ck_assert_msg(cr_engine_open(e, graph, &options, &error) == 0, "%s", error.text);
    ck_assert_msg(cr_draw_params(e, SEED, &error) == 0, "%s", error.text);
}

/* The tensors of some ports; each element has 4 bytes. */
struct tensors {
    void *data[16];
    int n;
};

/* Fills a tensor with numbers that depend on the port's name alone; a length gets the value 5. */
static void fill(const struct cr_port *port, float *data)
{
    if (port->dtype == CR_I32) {
        *(int32_t *)(void *)data = 5;
        return;
    }
    uint32_t state = 1;
    for (const char *c = port->name; *c; c++)
        state = state * 31 + (unsigned char)*c;
    for (int64_t i = 0; i < cr_port_elements(port); i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    }
}

static void new_tensors(struct tensors *t, const struct cr_port *ports, int n, bool filled)
{
    ck_assert_int_le(n, 16);
    t->n = n;
    for (int i = 0; i < n; i++) {
        t->data[i] = cr_calloc((size_t)cr_port_elements(&ports[i]), 4);
        if (filled)
            fill(&ports[i], t->data[i]);
    }
}

static void free_tensors(struct tensors *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->data[i]);
}

/* Runs one entry and returns its outputs. */
static struct tensors run_entry(struct cr_engine *e, int number)
{
    const struct cr_engine_entry *entry = &e->entries[number];
    const void *in[32] = {NULL};
    void *out[32] = {NULL};
    struct tensors inputs, outputs;
    struct cr_error error;
    new_tensors(&inputs, entry->inputs, entry->n_inputs, true);
    new_tensors(&outputs, entry->outputs, entry->n_outputs, false);
    for (int i = 0; i < inputs.n; i++)
        in[entry->input[i]] = inputs.data[i];
    for (int i = 0; i < outputs.n; i++)
        out[entry->output[i]] = outputs.data[i];
    ck_assert_msg(cr_engine_run_entry(e, number, in, out, &error) == 0, "%s", error.text);
    free_tensors(&inputs);
    return outputs;
}

/* Asserts that two entries have outputs of the same names, shapes and bits. */
static void assert_same(const struct cr_engine_entry *a, const struct tensors *x,
                        const struct cr_engine_entry *b, const struct tensors *y, const char *what)
{
    ck_assert_int_eq(a->n_outputs, b->n_outputs);
    for (int i = 0; i < a->n_outputs; i++) {
        const struct cr_port *p = &a->outputs[i], *q = &b->outputs[i];
        ck_assert_str_eq(p->name, q->name);
        ck_assert_int_eq(cr_port_elements(p), cr_port_elements(q));
        ck_assert_msg(memcmp(x->data[i], y->data[i], (size_t)cr_port_elements(p) * 4) == 0,
                      "%s, entry %s, output %s: other bits", what, a->name, p->name);
    }
}

/* ---- each entry alone ---- */

static const enum cr_backend backends[] = {CR_BACKEND_TCC, CR_BACKEND_REF, CR_BACKEND_CC,
                                           CR_BACKEND_STANDALONE};
enum { N_BACKENDS = sizeof backends / sizeof *backends, N_QUICK = 2 };

/* Entries run in ascending and then in descending order: no run changes the results of another.  All
 * backends are compared with TinyCC. */
START_TEST(an_entry_has_the_bits_of_its_script)
{
    const struct model *m = &models[_i / N_BACKENDS];
    enum cr_backend backend = backends[_i % N_BACKENDS];
    int n = count_entries(m);
    struct tensors expected[MOST_ENTRIES];
    struct cr_engine all, alone[MOST_ENTRIES];
    open_engine(&all, graph_with(m, -1), backend);
    ck_assert_int_eq(all.n_entries, n);
    for (int i = 0; i < n; i++) {
        open_engine(&alone[i], graph_with(m, i),
                    backend == CR_BACKEND_REF ? backend : CR_BACKEND_TCC);
        ck_assert_str_eq(all.entries[i].name, m->entries[i].name);
        expected[i] = run_entry(&alone[i], 0);
    }
    for (int i = 0; i < 2 * n; i++) {
        int entry = i < n ? i : 2 * n - 1 - i;
        struct tensors outputs = run_entry(&all, entry);
        assert_same(&all.entries[entry], &outputs, &alone[entry].entries[0], &expected[entry],
                    m->name);
        free_tensors(&outputs);
    }
    for (int i = 0; i < n; i++) {
        free_tensors(&expected[i]);
        cr_engine_close(&alone[i]);
    }
    cr_engine_close(&all);
}
END_TEST

/* A run of all entries gives the same bits as a run of each; outputs have their entry's name as a prefix. */
START_TEST(a_run_of_all_is_one_of_each)
{
    const struct model *m = &models[_i / N_QUICK];
    struct cr_engine e;
    struct tensors inputs, outputs;
    struct cr_error error;
    open_engine(&e, graph_with(m, -1), backends[_i % N_QUICK]);
    new_tensors(&inputs, e.inputs, e.n_inputs, true);
    new_tensors(&outputs, e.outputs, e.n_outputs, false);
    ck_assert_int_eq(
        cr_engine_run(&e, (const void *const *)inputs.data, outputs.data, &error), 0);
    for (int i = 0; i < e.n_entries; i++) {
        struct tensors one = run_entry(&e, i);
        for (int j = 0; j < one.n; j++) {
            int number = e.entries[i].output[j];
            char name[128];
            snprintf(name, sizeof name, "%s.%s", e.entries[i].name, e.entries[i].outputs[j].name);
            ck_assert_str_eq(e.outputs[number].name, name);
            ck_assert_mem_eq(outputs.data[number], one.data[j],
                             (size_t)cr_port_elements(&e.outputs[number]) * 4);
        }
        free_tensors(&one);
    }
    free_tensors(&inputs);
    free_tensors(&outputs);
    cr_engine_close(&e);
}
END_TEST

/* ---- shared weights, arena and functions ---- */

static struct cr_program *program_of(struct cr_graph *graph)
{
    struct cr_module *module = cr_module_new(graph);
    struct cr_error error;
    ck_assert_msg(cr_run_passes(module, NULL, &error) == 0, "%s", error.text);
    struct cr_program *program = cr_emit_program(module);
    cr_module_free(module);
    return program;
}

/* Returns true if two places lay out the same elements of a parameter. */
static bool same_elements(const struct cr_weight_layout *a, const struct cr_weight_layout *b)
{
    return a->param == b->param && a->source == b->source && a->rows == b->rows &&
           a->cols == b->cols && a->first_col == b->first_col &&
           (a->panel_stride != 0) == (b->panel_stride != 0) && a->col_stride == b->col_stride;
}

/* The weights are no larger than the largest entry's, if it uses all weights of the others; no entry
 * needs a larger arena than it does alone; no place is listed twice. */
START_TEST(weights_and_arena_are_shared)
{
    static const int largest[] = {0, 1, 1};
    const struct model *m = &models[_i];
    struct cr_program *all = program_of(graph_with(m, -1)), *alone;
    int64_t arena = 0, weights = 0;
    for (int i = 0; i < count_entries(m); i++) {
        alone = program_of(graph_with(m, i));
        ck_assert_int_eq(all->entries[i].arena_bytes, alone->arena_bytes);
        ck_assert_int_eq(all->entries[i].scratch_bytes, alone->scratch_bytes);
        ck_assert_int_eq(all->entries[i].n_calls, alone->n_sequence);
        ck_assert_int_eq(all->entries[i].n_steps, alone->n_steps);
        arena = alone->arena_bytes > arena ? alone->arena_bytes : arena;
        if (i == largest[_i])
            weights = alone->weights_bytes;
        cr_program_free(alone);
    }
    ck_assert_int_eq(all->arena_bytes, arena);
    ck_assert_int_eq(all->weights_bytes, weights);
    for (int i = 0; i < all->n_layouts; i++)
        for (int j = 0; j < i; j++)
            ck_assert(!same_elements(&all->layouts[i], &all->layouts[j]));
    cr_program_free(all);
}
END_TEST

/* Each entry has a loop of its own, and both loops call the same functions. */
START_TEST(entries_share_functions_and_no_loop)
{
    struct cr_program *all = program_of(graph_with(&models[1], -1));
    struct cr_program *logits = program_of(graph_with(&models[1], 0));
    int loops[2] = {0};
    for (int i = 0; i < 2; i++) {
        const struct cr_entry *entry = &all->entries[i];
        for (int s = entry->first_step; s < entry->first_step + entry->n_steps; s++)
            loops[i] += all->steps[s].kind == CR_STEP_LOOP;
    }
    ck_assert_int_eq(loops[0], 1);
    ck_assert_int_eq(loops[1], 1);
    ck_assert_int_lt(all->n_functions, 2 * logits->n_functions);
    cr_program_free(all);
    cr_program_free(logits);
}
END_TEST

/* Buffers and ports know the entries that use them: here only the decoder reads `code`, and the
 * other two read x. */
START_TEST(buffers_know_their_entries)
{
    struct cr_program *p = program_of(graph_with(&models[0], -1));
    for (int i = 0; i < p->n_buffers; i++) {
        const struct cr_buffer *b = &p->buffers[i];
        const char *name = b->name;
        unsigned expected = strcmp(name, "x") == 0 ? 5 : strcmp(name, "code") == 0 ? 2 : 0;
        expected = strcmp(name, "dec.b") == 0 ? 3 : expected;
        if (expected)
            ck_assert_msg(b->entries == expected, "%s: %x", name, b->entries);
        ck_assert_msg(b->entries != 0, "%s: no entry uses it", name);
        if (b->space == CR_SPACE_OUTPUT || b->space == CR_SPACE_ARENA)
            ck_assert_msg((b->entries & (b->entries - 1)) == 0, "%s is of two entries", name);
    }
    ck_assert_uint_eq(p->inputs[0].entries, 5);
    ck_assert_uint_eq(p->inputs[1].entries, 2);
    cr_program_free(p);
}
END_TEST

/* ---- printed graphs ---- */

/* Checks that an entry of a printed graph gives the same bits compiled alone as together with the
 * other entries. */
static void assert_chosen(const char *path, int entry, struct cr_engine *all)
{
    struct cr_script script;
    struct cr_error error;
    struct cr_engine alone;
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error) == 0,
                  "%s", error.text);
    cr_keep_entry(script.graph, entry);
    open_engine(&alone, script.graph, CR_BACKEND_TCC);
    script.graph = NULL;
    struct tensors x = run_entry(all, entry), y = run_entry(&alone, 0);
    assert_same(&all->entries[entry], &x, &alone.entries[0], &y, path);
    free_tensors(&x);
    free_tensors(&y);
    cr_engine_close(&alone);
    cr_script_free(&script);
}

/* The graph after a pass, read back, gives the same bits. */
START_TEST(a_printed_graph_reads_back)
{
    static const char *const passes[] = {"script", "entries", "simplify", "fma", "fuse"};
    const struct model *m = &models[_i / 5];
    char path[] = "/tmp/crescent-entries-XXXXXX.lua";
    FILE *file = fdopen(mkstemps(path, 4), "w");
    struct cr_module *module = cr_module_new(graph_with(m, -1));
    const struct cr_pass_options options = {
        .dump_after = passes[_i % 5], .dump_to = file, .settings.path = path};
    struct cr_script script;
    struct cr_error error;
    struct cr_engine e, again;
    ck_assert_msg(cr_run_passes(module, &options, &error) == 0, "%s", error.text);
    fclose(file);
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error) == 0,
                  "%s", error.text);
    open_engine(&e, graph_with(m, -1), CR_BACKEND_TCC);
    open_engine(&again, script.graph, CR_BACKEND_TCC);
    script.graph = NULL;
    ck_assert_int_eq(again.n_entries, e.n_entries);
    for (int i = 0; i < e.n_entries; i++) {
        struct tensors x = run_entry(&e, i), y = run_entry(&again, i);
        assert_same(&e.entries[i], &x, &again.entries[i], &y, m->name);
        free_tensors(&x);
        free_tensors(&y);
        assert_chosen(path, i, &e);
    }
    unlink(path);
    cr_engine_close(&e);
    cr_engine_close(&again);
    cr_script_free(&script);
    cr_module_free(module);
}
END_TEST

/* ---- verification ---- */

static void move_node(struct cr_module *m)
{
    m->graph->nodes[m->graph->n_nodes - 1].where.entry = 0;
}

static void move_leaf(struct cr_module *m)
{
    m->graph->nodes[0].where.entry = 1;
}

static void move_output(struct cr_module *m)
{
    m->graph->outputs[m->graph->n_outputs - 1].id = m->graph->outputs[0].id;
}

static void mix_outputs(struct cr_module *m)
{
    m->graph->outputs[0].entry = 2;
}

static void name_twice(struct cr_module *m)
{
    m->graph->entries[1] = m->graph->entries[0];
}

static void leave_out(struct cr_module *m)
{
    m->graph->n_outputs--;
}

static const struct {
    const char *message;
    void (*harm)(struct cr_module *m);
} harms[] = {
    {"its operand belongs to another entry", move_node},
    {"it belongs to no entry", move_leaf},
    {"it belongs to another entry", move_output},
    {"it is not listed by entry", mix_outputs},
    {"there are two", name_twice},
    {"it has no outputs", leave_out},
};

enum { N_HARMS = sizeof harms / sizeof *harms };

/* The driver checks after every pass that entries share no nodes. */
START_TEST(a_graph_that_mixes_entries_is_refused)
{
    struct cr_module *module = cr_module_new(graph_with(&models[0], -1));
    struct cr_error error;
    ck_assert_int_eq(cr_run_pass(module, &cr_passes[0], &error), 0);
    harms[_i].harm(module);
    ck_assert(cr_verify(module->graph, &error) || cr_verify_separate(module->graph, &error));
    ck_assert_msg(strstr(error.text, harms[_i].message), "%s", error.text);
    cr_module_free(module);
}
END_TEST

/* The driver refuses kernels, operands and loops that belong to two entries. */
START_TEST(kernels_and_loops_of_two_entries_are_refused)
{
    const struct cr_pass_options options = {.stop_after = "outline"};
    struct cr_module *m = cr_module_new(graph_with(&models[1], -1));
    struct cr_error error;
    struct cr_kernel *last;
    int first = 0;
    ck_assert_int_eq(cr_run_passes(m, &options, &error), 0);
    last = &m->kernels[m->n_kernels - 1];
    last->entry = 0;
    ck_assert_int_eq(cr_verify_kernels(m, &error), -1);
    ck_assert_msg(strstr(error.text, "it is called for another entry"), "%s", error.text);
    last->entry = 1;
    m->kernels[1].entry = 1;
    ck_assert_int_eq(cr_verify_steps(m, &error), -1);
    ck_assert_msg(strstr(error.text, "its loop began for another entry"), "%s", error.text);
    m->kernels[1].entry = 0;
    while (m->kernels[first].entry == 0)
        first++;
    for (int r = 0; r < m->kernels[first + 1].n_refs; r++)
        if (m->kernels[first + 1].refs[r] == m->kernels[first].buffer)
            m->kernels[first + 1].refs[r] = m->kernels[0].buffer;
    ck_assert_int_eq(cr_verify_kernels(m, &error), -1);
    ck_assert_msg(strstr(error.text, "of another entry"), "%s", error.text);
    cr_module_free(m);
}
END_TEST

/* ---- the language ---- */

#define X "local x = input('x', {2})\nreturn "

static const struct {
    const char *text, *message;
} mistakes[] = {
    {X "{a = {y = x}, z = x}", "returned tensors beside tables, expected either outputs such as"},
    {X "{a = {y = x}, b = 3}", "entry 'b' that is number, expected a table of outputs"},
    {X "{a = {}}", "returned no outputs, expected a table such as {decode = {y = y}}"},
    {X "{a = {y = {x}}}", "output 'y' that is table, expected a tensor"},
    {X "{{y = x}}", "returned an entry without a name"},
    {X "{a = {x}}", "returned an output without a name, expected {decode = {y = y}}"},
    {X "{['a.b'] = {y = x}}", "entry 'a.b', expected a name of 1 to 14 letters, digits and single '_'"},
    {X "{['a__b'] = {y = x}}", "entry 'a__b', expected a name"},
    {X "{_a = {y = x}}", "entry '_a', expected a name"},
    {X "{a_ = {y = x}}", "entry 'a_', expected a name"},
    {X "{['3'] = {y = x}}", "entry '3', expected a name"},
    {X "{a23456789012345 = {y = x}}", "entry 'a23456789012345', expected a name"},
    {X "{run = {y = x}, Run = {y = x}}", "names that differ in more than upper and lower case"},
    {"local x, r = input('x', {2}), {}\nfor i = 1, 33 do r['e' .. i] = {y = x} end\nreturn r",
     "too many entries, expected at most 32"},
    {"entry(0)\n" X "{y = x}", "entry: found outside of a printed graph"},
    {"graph('m')\nentry(32)\n" X "{y = x}", "entry: found number 32, expected 0 to 31"},
    {"graph('m')\nentry(1)\nlocal x = input('x', {2})\nlocal y = x + x\nreturn {y = y}",
     "entry: number 1, expected one of the 1 that the script returned"},
};

enum { N_MISTAKES = sizeof mistakes / sizeof *mistakes };

START_TEST(a_mistake_gets_a_line)
{
    struct cr_graph *graph;
    struct cr_error error;
    ck_assert_int_eq(run_text(mistakes[_i].text, &graph, &error), -1);
    ck_assert_msg(strstr(error.text, mistakes[_i].message), "%s", error.text);
}
END_TEST

/* A script may have the largest number of entries, and may have one named entry. */
START_TEST(there_may_be_one_or_many)
{
    struct cr_graph *g = graph_of("local x, r = input('x', {2}), {}\n"
                                  "for i = 1, 32 do r['e' .. i] = {y = x + i} end\nreturn r");
    struct cr_engine e;
    ck_assert_int_eq(g->n_entries, 32);
    open_engine(&e, g, CR_BACKEND_TCC);
    struct tensors outputs = run_entry(&e, 31);
    ck_assert_str_eq(e.entries[31].name, "e32");
    free_tensors(&outputs);
    cr_engine_close(&e);
    open_engine(&e, graph_of(X "{one = {y = x + 1}}"), CR_BACKEND_STANDALONE);
    ck_assert_str_eq(e.outputs[0].name, "one.y");
    outputs = run_entry(&e, 0);
    free_tensors(&outputs);
    cr_engine_close(&e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entries");
    TCase *runs = tcase_create("runs");
    tcase_set_timeout(runs, 60);
    tcase_add_loop_test(runs, an_entry_has_the_bits_of_its_script, 0, N_MODELS * N_BACKENDS);
    tcase_add_loop_test(runs, a_run_of_all_is_one_of_each, 0, N_MODELS * N_QUICK);
    tcase_add_loop_test(runs, weights_and_arena_are_shared, 0, 3);
    tcase_add_test(runs, entries_share_functions_and_no_loop);
    tcase_add_test(runs, buffers_know_their_entries);
    tcase_add_loop_test(runs, a_printed_graph_reads_back, 0, N_MODELS * 5);
    tcase_add_loop_test(runs, a_graph_that_mixes_entries_is_refused, 0, N_HARMS);
    tcase_add_test(runs, kernels_and_loops_of_two_entries_are_refused);
    tcase_add_loop_test(runs, a_mistake_gets_a_line, 0, N_MISTAKES);
    tcase_add_test(runs, there_may_be_one_or_many);
    suite_add_tcase(suite, runs);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
