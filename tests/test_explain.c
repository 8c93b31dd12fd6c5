/*
 * test_explain.c - the document of an explanation is consistent: lines, nodes, kernels, C text,
 * arena, times and errors; and the page and the trace that are made of it.
 */
#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
#define SIZES                                                                                      \
    {"n_embd", "48"}, {"n_head", "3"},                                                             \
    {                                                                                              \
        "T", "8"                                                                                   \
    }

static const struct {
    const char *path;
    crescent_setting settings[5];
    int n;
    int gradients, layers; /* layers: the number of iterations of the only loop, or 0 */
} models[] = {
    {"docs/tour.lua", {{0}}, 0, 0, 0},
    {"graphs/gpt2_block.lua", {SIZES}, 3, 1, 0},
    {"graphs/gpt2_stack.lua", {SIZES, {"n_layer", "5"}}, 4, 0, 5},
    {"graphs/gpt2_stack.lua", {SIZES, {"n_layer", "4"}}, 4, 1, 0},
    {"graphs/train_add.lua", {{0}}, 0, 0, 0},
    {"docs/entries.lua", {{0}}, 0, 0, 0},
    {"tests/scripts/gpt2_session.lua", {{0}}, 0, 0, 0}, /* with a length */
};

enum { SESSION = COUNT(models) - 1 };

static crescent_context *context;

static void open_context(void)
{
    context = crescent_context_new();
}

static void close_context(void)
{
    crescent_context_free(context);
}

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s", crescent_error(context))
#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq(call, CRESCENT_FAILED);                                                   \
        ck_assert_msg(strstr(crescent_error(context), word), "%s", crescent_error(context));       \
    } while (0)

static crescent_explanation *explain(int m, const crescent_config *config)
{
    const crescent_script how = {.settings = models[m].settings, .n_settings = models[m].n};
    crescent_graph *graph;
    crescent_explanation *e;
    GOOD(crescent_graph_open(context, models[m].path, &how, &graph));
    if (models[m].gradients)
        GOOD(crescent_graph_gradients(graph, NULL, 0));
    GOOD(crescent_explain(graph, config, &e));
    crescent_graph_close(graph);
    return e;
}

static char *text_of(const crescent_explanation *e, const crescent_explanation *against,
                     crescent_explanation_format format)
{
    char *text;
    size_t length;
    GOOD(crescent_explanation_text(e, against, format, &text, &length));
    ck_assert_uint_eq(strlen(text), length);
    return text;
}

/* Decodes a run-length list [number, times, ...] to a column, which has a number for each node. */
static json_t *unpack_column(const json_t *runs)
{
    json_t *column = json_array();
    ck_assert_uint_eq(json_array_size(runs) % 2, 0);
    for (size_t i = 0; i < json_array_size(runs); i += 2)
        for (json_int_t n = json_integer_value(json_array_get(runs, i + 1)); n > 0; n--)
            json_array_append(column, json_array_get(runs, i));
    return column;
}

/* Decodes the columns of a graph, and replaces distances to operands by node numbers. */
static void unpack_graph(json_t *graph)
{
    static const char *const columns[] = {"shape", "scope",     "line",    "library",
                                          "name",  "attribute", "backward"};
    for (int i = 0; i < COUNT(columns); i++)
        json_object_set_new(graph, columns[i], unpack_column(json_object_get(graph, columns[i])));
    json_t *operands = json_object_get(graph, "operands");
    for (size_t id = 0; id < json_array_size(operands); id++)
        for (size_t i = 0; i < json_array_size(json_array_get(operands, id)); i++) {
            json_t *distance = json_array_get(json_array_get(operands, id), i);
            json_integer_set(distance, (json_int_t)id - json_integer_value(distance));
        }
}

static void unpack(json_t *compilation)
{
    json_t *graphs = json_object_get(compilation, "graphs");
    for (size_t i = 0; i < json_array_size(graphs); i++)
        unpack_graph(json_array_get(graphs, i));
}

static json_t *read_json(const crescent_explanation *e, const crescent_explanation *against,
                         crescent_explanation_format format)
{
    json_error_t error;
    char *text = text_of(e, against, format);
    json_t *document = json_loads(text, 0, &error);
    ck_assert_msg(document != NULL, "line %d: %s", error.line, error.text);
    crescent_free(text);
    unpack(json_object_get(document, "compilation"));
    unpack(json_object_get(document, "against"));
    return document;
}

static json_int_t integer(const json_t *list, size_t i)
{
    ck_assert(json_is_integer(json_array_get(list, i)));
    return json_integer_value(json_array_get(list, i));
}

static json_int_t number_of(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(object, key)), "%s", key);
    return json_integer_value(json_object_get(object, key));
}

static const json_t *list_of(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_array(json_object_get(object, key)), "%s", key);
    return json_object_get(object, key);
}

static bool holds(const json_t *list, json_int_t number)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (integer(list, i) == number)
            return true;
    return false;
}

/* ---- the document ---- */

/* Checks a column: it has a number for each node, which is a row of the column's table or, for an
 * optional one, -1. */
static void check_column(const json_t *graph, const json_t *tables, const char *name,
                         const char *table, json_int_t least)
{
    const json_t *column = list_of(graph, name);
    ck_assert_int_eq((json_int_t)json_array_size(column), number_of(graph, "nodes"));
    json_int_t rows = (json_int_t)json_array_size(list_of(tables, table));
    for (size_t i = 0; i < json_array_size(column); i++) {
        ck_assert_int_ge(integer(column, i), least);
        ck_assert_int_lt(integer(column, i), rows);
    }
}

/* Checks that operands precede their users. */
static void check_operands(const json_t *graph)
{
    const json_t *operands = list_of(graph, "operands");
    ck_assert_int_eq((json_int_t)json_array_size(operands), number_of(graph, "nodes"));
    for (size_t id = 0; id < json_array_size(operands); id++)
        for (size_t i = 0; i < json_array_size(json_array_get(operands, id)); i++)
            ck_assert_int_lt(integer(json_array_get(operands, id), i), (json_int_t)id);
}

/* Checks that each line belongs to a file whose text the document has. */
static void check_lines(const json_t *c)
{
    const json_t *lines = list_of(json_object_get(c, "tables"), "lines");
    const json_t *sources = list_of(c, "sources");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        const json_t *source = json_array_get(sources, (size_t)integer(line, 0));
        ck_assert(json_is_array(source));
        ck_assert_int_ge(integer(line, 1), 1);
        ck_assert_int_le(integer(line, 1), (json_int_t)json_array_size(source));
    }
}

/* Every node of every pass has a line of Lua. */
START_TEST(nodes_have_their_lines)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation");
    const json_t *tables = json_object_get(c, "tables"), *graphs = list_of(c, "graphs");
    bool library = false;
    for (size_t g = 0; g < json_array_size(graphs); g++) {
        const json_t *graph = json_array_get(graphs, g);
        check_column(graph, tables, "op", "ops", 0);
        check_column(graph, tables, "shape", "shapes", 0);
        check_column(graph, tables, "scope", "scopes", 0);
        check_column(graph, tables, "line", "lines", 0);
        check_column(graph, tables, "library", "lines", -1);
        check_column(graph, tables, "name", "texts", -1);
        check_column(graph, tables, "attribute", "texts", -1);
        check_operands(graph);
        for (size_t i = 0; i < json_array_size(list_of(graph, "library")); i++)
            library |= integer(list_of(graph, "library"), i) >= 0;
    }
    ck_assert(library || strcmp(models[_i].path, "docs/entries.lua") == 0);
    check_lines(c);
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* The lists of nodes that a pass removed and added are equal to the difference of the two
 * graphs. */
START_TEST(removed_and_added_nodes_add_up)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *graphs = list_of(c, "graphs");
    const json_t *passes = list_of(c, "passes");
    ck_assert_int_eq((int)json_array_size(passes), crescent_pass_count() + 2);
    int changed = 0;
    for (size_t i = 1; i < json_array_size(passes); i++) {
        const json_t *pass = json_array_get(passes, i), *before = json_array_get(passes, i - 1);
        json_int_t was =
            number_of(json_array_get(graphs, (size_t)number_of(before, "graph")), "nodes");
        json_int_t is =
            number_of(json_array_get(graphs, (size_t)number_of(pass, "graph")), "nodes");
        if (!json_object_get(pass, "added")) {
            ck_assert_int_eq(was, is);
            continue;
        }
        changed++;
        json_int_t added = (json_int_t)json_array_size(list_of(pass, "added"));
        json_int_t removed = (json_int_t)json_array_size(list_of(pass, "removed"));
        ck_assert_int_eq(was - removed + added, is);
    }
    ck_assert_int_gt(changed, 0);
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

static const char *line_at(const json_t *lines, json_int_t line)
{
    ck_assert_int_ge(line, 1);
    ck_assert_int_le(line, (json_int_t)json_array_size(lines));
    return json_string_value(json_array_get(lines, (size_t)line - 1));
}

/* A kernel's range of C lines starts at the comment that names it and ends at its closing brace. */
START_TEST(kernels_have_their_c)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *text = json_object_get(c, "c");
    const json_t *lines = list_of(text, "lines"), *kernels = list_of(c, "kernels");
    const json_t *spans = list_of(text, "kernels"), *nodes = list_of(text, "nodes");
    ck_assert_uint_eq(json_array_size(spans), json_array_size(kernels));
    json_int_t end = 0;
    for (size_t i = 0; i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);
        const char *name = json_string_value(json_object_get(json_array_get(kernels, i), "name"));
        ck_assert_int_gt(integer(span, 0), end);
        ck_assert_str_eq(line_at(lines, integer(span, 0)), "/*");
        ck_assert_ptr_nonnull(strstr(line_at(lines, integer(span, 0) + 1), name));
        ck_assert_str_eq(line_at(lines, integer(span, 1)), "}");
        end = integer(span, 1);
    }
    for (size_t i = 0; i < json_array_size(nodes); i++)
        ck_assert_ptr_nonnull(strstr(line_at(lines, integer(json_array_get(nodes, i), 0)), "rt->"));
    for (size_t i = 0; i < json_array_size(list_of(text, "steps")); i++) {
        const json_t *step = json_array_get(list_of(text, "steps"), i);
        const char *open = line_at(lines, integer(step, 0));
        ck_assert_str_eq(open + strspn(open, " "), "{");
    }
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* Each line of C for a node is of a kernel whose first call computes that node, or reads it. */
START_TEST(lines_of_c_are_for_nodes_of_their_kernel)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *text = json_object_get(c, "c");
    const json_t *spans = list_of(text, "kernels"), *nodes = list_of(text, "nodes");
    size_t kernel = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        while (integer(json_array_get(spans, kernel), 1) < integer(node, 0))
            kernel++;
        json_int_t call = number_of(json_array_get(list_of(c, "kernels"), kernel), "first_call");
        const json_t *first = json_array_get(list_of(c, "calls"), (size_t)call);
        bool known = holds(list_of(first, "nodes"), integer(node, 2)) ||
                     holds(list_of(first, "reads"), integer(node, 2));
        ck_assert_int_ge(integer(node, 0), integer(json_array_get(spans, kernel), 0));
        ck_assert_msg(known, "line %d: v%d", (int)integer(node, 0), (int)integer(node, 2));
    }
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* Marks the nodes that a call stores, which must be among the nodes that it computes. */
static void mark_stored(const json_t *call, bool *stored)
{
    const json_t *several = json_object_get(call, "stores"), *buffer = json_object_get(call, "buffer");
    stored[buffer ? json_integer_value(buffer) : number_of(call, "root")] = true;
    for (size_t i = 0; i < json_array_size(several); i++) {
        ck_assert(holds(list_of(call, "nodes"), integer(several, i)));
        stored[integer(several, i)] = true;
    }
}

/* Marks the nodes that a call computes; its root, and the node that takes most of its work, must be
 * among them. */
static void mark_call(const json_t *call, bool *computed)
{
    const json_t *nodes = list_of(call, "nodes");
    ck_assert(holds(nodes, number_of(call, "root")) && holds(nodes, number_of(call, "main")));
    for (size_t i = 0; i < json_array_size(nodes); i++)
        computed[integer(nodes, i)] = true;
}

/* Each node that computes a value belongs to a call, and calls are counted by their kernels. */
START_TEST(every_op_is_in_a_kernel)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *calls = list_of(c, "calls");
    const json_t *graphs = list_of(c, "graphs"), *kernels = list_of(c, "kernels");
    const json_t *graph = json_array_get(graphs, json_array_size(graphs) - 1);
    const json_t *ops = list_of(json_object_get(c, "tables"), "ops");
    size_t n = (size_t)number_of(graph, "nodes"), n_calls = 0;
    bool *computed = calloc(n, sizeof *computed);
    for (size_t i = 0; i < json_array_size(calls); i++)
        mark_call(json_array_get(calls, i), computed);
    for (size_t i = 0; i < json_array_size(kernels); i++)
        n_calls += (size_t)number_of(json_array_get(kernels, i), "calls");
    ck_assert_uint_eq(n_calls, json_array_size(calls));
    for (size_t id = 0; id < n; id++) {
        const char *op =
            json_string_value(json_array_get(ops, (size_t)integer(list_of(graph, "op"), id)));
        bool leaf = json_array_size(json_array_get(list_of(graph, "operands"), id)) == 0;
        ck_assert_msg(leaf || computed[id], "v%zu %s is in no call", id, op);
    }
    free(computed);
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* Each output is stored by some call, alone or together with other values. */
START_TEST(every_output_is_stored)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *calls = list_of(c, "calls");
    const json_t *graphs = list_of(c, "graphs"), *outputs = list_of(c, "outputs");
    size_t n = (size_t)number_of(json_array_get(graphs, json_array_size(graphs) - 1), "nodes");
    bool *stored = calloc(n, sizeof *stored);
    for (size_t i = 0; i < json_array_size(calls); i++)
        mark_stored(json_array_get(calls, i), stored);
    for (size_t i = 0; i < json_array_size(outputs); i++)
        ck_assert_msg(stored[number_of(json_array_get(outputs, i), "node")], "output %zu", i);
    free(stored);
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* The lifetime of a value in the arena, [first call, last call], and its bytes [offset, end). */
struct life {
    json_int_t first, last, begin, end;
};

static struct life life_of(const json_t *arena, size_t i)
{
    const json_t *v = json_array_get(arena, i);
    return (struct life){integer(v, 3), integer(v, 4), integer(v, 1),
                         integer(v, 1) + integer(v, 2)};
}

/* Values that are live at the same time do not overlap; a result may overwrite an operand that its
 * call is the last to read. */
START_TEST(values_in_the_arena_do_not_overlap)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *arena = list_of(c, "arena");
    json_int_t bytes = number_of(json_object_get(c, "totals"), "arena_bytes");
    for (size_t i = 0; i < json_array_size(arena); i++) {
        struct life a = life_of(arena, i);
        ck_assert(a.begin >= 0 && a.end <= bytes && a.first <= a.last);
        ck_assert_int_lt(a.last, (json_int_t)json_array_size(list_of(c, "calls")));
        for (size_t j = 0; j < i; j++) {
            struct life b = life_of(arena, j);
            bool together = a.first < b.last && b.first < a.last;
            ck_assert_msg(!together || a.end <= b.begin || b.end <= a.begin, "%zu and %zu", i, j);
        }
    }
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* The layers of a stack are a loop, and each of its calls knows its layer. */
START_TEST(layers_are_a_loop)
{
    crescent_explanation *e = explain(_i, NULL);
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *loops = list_of(c, "loops");
    json_int_t greatest = -1;
    for (size_t i = 0; i < json_array_size(list_of(c, "calls")); i++) {
        json_int_t layer = number_of(json_array_get(list_of(c, "calls"), i), "layer");
        greatest = layer > greatest ? layer : greatest;
    }
    if (models[_i].layers) {
        ck_assert_uint_eq(json_array_size(loops), 1);
        ck_assert_int_eq(number_of(json_array_get(loops, 0), "count"), models[_i].layers);
        ck_assert_int_eq(greatest, models[_i].layers - 1);
    }
    json_decref(document);
    crescent_explanation_close(e);
}
END_TEST

/* ---- measurements ---- */

/* The tensors for a run of an explanation's model; its weights are random. */
struct run {
    crescent_model *model;
    void *inputs[64], *outputs[64];
};

static void *new_tensor(const crescent_port *port)
{
    void *memory;
    GOOD(crescent_memory(context, crescent_port_elements(port) * 4, port->name, &memory));
    return memory;
}

static struct run open_run(crescent_explanation *e, bool keep)
{
    struct run r;
    crescent_port port;
    GOOD(crescent_explanation_model(e, &r.model));
    if (keep)
        GOOD(crescent_keep_weights(r.model));
    GOOD(crescent_draw_weights(r.model, 1));
    ck_assert_int_le(crescent_port_count(r.model, CRESCENT_INPUT), COUNT(r.inputs));
    ck_assert_int_le(crescent_port_count(r.model, CRESCENT_OUTPUT), COUNT(r.outputs));
    for (int i = 0; i < crescent_port_count(r.model, CRESCENT_INPUT); i++) {
        GOOD(crescent_port_at(r.model, CRESCENT_INPUT, i, &port));
        r.inputs[i] = new_tensor(&port);
        GOOD(crescent_draw_input(r.model, i, 1, r.inputs[i]));
    }
    for (int i = 0; i < crescent_port_count(r.model, CRESCENT_OUTPUT); i++) {
        GOOD(crescent_port_at(r.model, CRESCENT_OUTPUT, i, &port));
        r.outputs[i] = new_tensor(&port);
    }
    return r;
}

static void close_run(struct run *r)
{
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_INPUT); i++)
        crescent_free(r->inputs[i]);
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_OUTPUT); i++)
        crescent_free(r->outputs[i]);
}

static const void *const *inputs_of(const struct run *r)
{
    return (const void *const *)r->inputs;
}

/* The times of all kernels add up to less than a run takes kernel by kernel; the calls of a trace
 * follow one another without overlap. */
START_TEST(kernels_are_measured)
{
    crescent_explanation *e = explain(_i, NULL);
    struct run r = open_run(e, false);
    GOOD(crescent_explanation_measure(e, inputs_of(&r), r.outputs, 0));
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"),
                 *bench = json_object_get(c, "bench");
    ck_assert_uint_eq(json_array_size(list_of(bench, "kernels")),
                      json_array_size(list_of(c, "kernels")));
    for (size_t i = 0; i < json_array_size(list_of(bench, "kernels")); i++) {
        const json_t *kernel = json_array_get(list_of(bench, "kernels"), i);
        double median = json_number_value(json_object_get(kernel, "median_ns"));
        double least = json_number_value(json_object_get(kernel, "least_ns"));
        ck_assert(least > 0 && least <= median);
    }
    ck_assert(json_number_value(json_object_get(bench, "peak_gflops")) > 0);
    json_t *trace = read_json(e, NULL, CRESCENT_EXPLAIN_TRACE);
    const json_t *events = list_of(trace, "traceEvents");
    ck_assert_uint_eq(json_array_size(events), json_array_size(list_of(c, "calls")));
    double end = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        double start = json_number_value(json_object_get(event, "ts"));
        ck_assert(start >= end - 1e-3);
        end = start + json_number_value(json_object_get(event, "dur"));
    }
    json_decref(trace);
    json_decref(document);
    close_run(&r);
    crescent_explanation_close(e);
}
END_TEST

/* Returns the greatest error of any call, in units of the last place. */
static double greatest_error(int m, const crescent_config *config)
{
    crescent_explanation *e = explain(m, config);
    struct run r = open_run(e, true);
    int length = m == SESSION ? crescent_port_find(r.model, CRESCENT_INPUT, "n") : CRESCENT_NONE;
    if (length != CRESCENT_NONE)
        *(int32_t *)r.inputs[length] = 5;
    GOOD(crescent_explanation_check(e, inputs_of(&r), r.outputs));
    json_t *document = read_json(e, NULL, CRESCENT_EXPLAIN_JSON);
    const json_t *c = json_object_get(document, "compilation"), *check = list_of(c, "check");
    double greatest = 0;
    size_t known = 0;
    ck_assert_uint_eq(json_array_size(check), json_array_size(list_of(c, "calls")));
    for (size_t i = 0; i < json_array_size(check); i++) {
        const json_t *call = json_array_get(check, i);
        if (json_is_null(call))
            continue;
        known++;
        ck_assert_ptr_null(json_object_get(call, "nan_against_number"));
        double ulps = json_number_value(json_object_get(call, "max_ulp"));
        greatest = ulps > greatest ? ulps : greatest;
    }
    ck_assert_uint_gt(known, 0);
    json_decref(document);
    close_run(&r);
    crescent_explanation_close(e);
    return greatest;
}

/* Sums of a few hundred terms may be some thousand units of the last place off. */
START_TEST(kernels_agree_with_the_interpreter)
{
    ck_assert_double_lt(greatest_error(_i, NULL), 5000);
}
END_TEST

/* The document shows errors: with weights of 16 bits they are more than a hundred times as
 * large. */
START_TEST(errors_are_shown)
{
    const crescent_config narrow = {.format = "bf16"};
    ck_assert_double_gt(greatest_error(2, &narrow), 100 * greatest_error(2, NULL));
}
END_TEST

/* ---- the page ---- */

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    while ((text = strstr(text, word))) {
        n++;
        text += strlen(word);
    }
    return n;
}

/* The page contains the document, and loads no other file. */
START_TEST(a_page_loads_no_file)
{
    crescent_explanation *e = explain(_i, NULL);
    char *page = text_of(e, NULL, CRESCENT_EXPLAIN_HTML),
         *json = text_of(e, NULL, CRESCENT_EXPLAIN_JSON);
    static const char *const never[] = {"http:",   "https:",   "src=",       "@import", "url(",
                                        "@STYLE@", "@SCRIPT@", "@DOCUMENT@", "@TITLE@"};
    for (int i = 0; i < COUNT(never); i++)
        ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
    ck_assert_ptr_nonnull(strstr(page, json));
    ck_assert_ptr_null(strchr(json, '<'));
    ck_assert_uint_eq(count(page, "<script"), 2);
    ck_assert_uint_eq(count(page, "</script>"), 2);
    ck_assert_uint_lt(strlen(page), 3 << 20);
    crescent_free(json);
    crescent_free(page);
    crescent_explanation_close(e);
}
END_TEST

START_TEST(two_stand_side_by_side)
{
    const crescent_config other = {.skip = (const char *const[]){"join"}, .n_skip = 1};
    crescent_explanation *a = explain(1, NULL), *b = explain(1, &other);
    json_t *document = read_json(a, b, CRESCENT_EXPLAIN_JSON);
    const json_t *against = json_object_get(document, "against");
    const json_t *skip = json_object_get(json_object_get(against, "model"), "skip");
    ck_assert_str_eq(json_string_value(skip), "join");
    ck_assert_uint_eq(json_array_size(list_of(against, "passes")),
                      json_array_size(list_of(json_object_get(document, "compilation"), "passes")) -
                          1);
    json_decref(document);
    crescent_explanation_close(b);
    crescent_explanation_close(a);
}
END_TEST

/* ---- mistakes ---- */

START_TEST(mistakes_are_refused)
{
    crescent_graph *graph;
    crescent_explanation *e;
    crescent_model *model;
    char *text;
    size_t length;
    const crescent_config ref = {.backend = CRESCENT_REF},
                          unknown = {.skip = (const char *const[]){"fuze"}, .n_skip = 1};
    GOOD(crescent_graph_open(context, "docs/tour.lua", NULL, &graph));
    REFUSED(crescent_explain(graph, &ref, &e), "backend ref has no kernels");
    ck_assert_ptr_null(e);
    REFUSED(crescent_explain(graph, &unknown, &e), "fuze");
    REFUSED(crescent_explain(graph, NULL, NULL), "null");
    GOOD(crescent_explain(graph, NULL, &e));
    crescent_graph_close(graph);
    REFUSED(crescent_explanation_text(e, NULL, CRESCENT_EXPLAIN_TRACE, &text, &length),
            "without a measurement");
    REFUSED(crescent_explanation_text(e, NULL, CRESCENT_EXPLAIN_FORMATS, &text, &length),
            "format 3");
    void *none[1] = {NULL};
    REFUSED(crescent_explanation_measure(e, (const void *const *)none, none, 0), "no model");
    REFUSED(crescent_explanation_check(e, (const void *const *)none, none), "no model");
    struct run r = open_run(e, false);
    REFUSED(crescent_explanation_check(e, inputs_of(&r), r.outputs), "not kept");
    GOOD(crescent_explanation_model(e, &model));
    ck_assert_ptr_eq(model, r.model);
    close_run(&r);
    crescent_explanation_close(e);
    crescent_explanation_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain");
    TCase *cases = tcase_create("document");
    tcase_add_checked_fixture(cases, open_context, close_context);
    tcase_add_loop_test(cases, nodes_have_their_lines, 0, COUNT(models));
    tcase_add_loop_test(cases, removed_and_added_nodes_add_up, 0, COUNT(models));
    tcase_add_loop_test(cases, kernels_have_their_c, 0, COUNT(models));
    tcase_add_loop_test(cases, lines_of_c_are_for_nodes_of_their_kernel, 0, COUNT(models));
    tcase_add_loop_test(cases, every_op_is_in_a_kernel, 0, COUNT(models));
    tcase_add_loop_test(cases, every_output_is_stored, 0, COUNT(models));
    tcase_add_loop_test(cases, values_in_the_arena_do_not_overlap, 0, COUNT(models));
    tcase_add_loop_test(cases, layers_are_a_loop, 0, COUNT(models));
    tcase_add_loop_test(cases, kernels_are_measured, 2, 3);
    tcase_add_loop_test(cases, kernels_agree_with_the_interpreter, 0, 4);
    tcase_add_loop_test(cases, kernels_agree_with_the_interpreter, SESSION, SESSION + 1);
    tcase_add_test(cases, errors_are_shown);
    tcase_add_loop_test(cases, a_page_loads_no_file, 0, COUNT(models));
    tcase_add_test(cases, two_stand_side_by_side);
    tcase_add_test(cases, mistakes_are_refused);
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
