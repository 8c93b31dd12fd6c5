/* translate.c - translates the nodes of an ONNX graph into statements; see translate.h. */
#include "translate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "ops.h"
#include "term_parts.h"
#include "unused_constants.h"

enum { KNOWN = 4096, MOST_ROUNDS = 1024, MOST_NUMBER = 1 << 30 };

/* The translation of a graph. */
struct work {
    struct cr_onnx_script *script;
    struct cr_onnx_graph *graph;
    struct cr_error *error;
    bool *done; /* by node: it is translated */
    int cap_done;
};

/* ---- values without a producer ---- */

static const char *pinned(const struct work *w, const char *name)
{
    for (int i = w->script->n_pins - 1; i >= 0; i--)
        if (strcmp(w->script->pins[i].name, name) == 0)
            return w->script->pins[i].value;
    return NULL;
}

/* Reads the size of an input's axis; fails if it is a symbol that no pin gives a size. */
static int read_size(const struct work *w, const struct cr_onnx_info *info, int axis, int64_t *out)
{
    const struct cr_onnx_size *size = &info->sizes[axis];
    const char *value = size->name ? pinned(w, size->name) : NULL;
    int length = size->name ? cr_symbols_find(w->graph->symbols, size->name) : -1;
    char *end;
    if (length >= 0) {
        *out = cr_symbols_length(w->graph->symbols, length);
        return 0;
    }
    *out = value ? strtoll(value, &end, 10) : size->size;
    if (value && (!*value || *end || *out < 0 || *out > INT32_MAX))
        return cr_fail(w->error, "%.300s: --set %s=%s, expected a size", w->graph->path,
                       cr_show(size->name, strlen(size->name)).text,
                       cr_show(value, strlen(value)).text);
    if (*out > INT32_MAX)
        return cr_fail(w->error, "%.300s: input %s: %lld elements along axis %d, expected fewer",
                       w->graph->path, cr_show(info->name, strlen(info->name)).text,
                       (long long)*out, axis + 1);
    if (*out >= 0)
        return 0;
    if (size->name)
        return cr_fail(w->error,
                       "%.300s: input %s: %.60s, the size of axis %d, is not known, expected "
                       "--set %.60s=N, or --length %.60s=N for sizes up to it",
                       w->graph->path, cr_show(info->name, strlen(info->name)).text, size->name,
                       axis + 1, size->name, size->name);
    return cr_fail(w->error, "%.300s: input %s: the size of axis %d is not known, expected a "
                   "number or a name in the file", w->graph->path,
                   cr_show(info->name, strlen(info->name)).text, axis + 1);
}

/* Sets the type and shape of an input; fails if a size is a symbol that no pin gives a size. */
static int input_shape(const struct work *w, struct cr_onnx_value *v)
{
    const struct cr_onnx_info *info = v->info;
    const struct cr_shown shown = cr_show(info->name, strlen(info->name));
    const char *name = shown.text;
    if (!cr_onnx_type_bytes(info->type))
        return cr_fail(w->error, "%.300s: input %s is of type %s, expected a tensor of numbers",
                       w->graph->path, name, cr_onnx_type_name(info->type));
    if (info->rank < 0 || info->rank > CR_ONNX_RANK)
        return cr_fail(w->error, "%.300s: input %s: found no shape, or one of more axes, expected a "
                       "shape of at most %d axes", w->graph->path, name, CR_ONNX_RANK);
    v->type = (enum cr_onnx_type)info->type;
    v->rank = info->rank;
    for (int i = 0; i < info->rank; i++)
        if (read_size(w, info, i, &v->shape[i]))
            return -1;
    if (!cr_t_is_valid_shape(info->rank, v->shape))
        return cr_fail(w->error,
                       "%.300s: input %s has more elements than can be kept, expected fewer",
                       w->graph->path, name);
    return 0;
}

/* Makes the term that reads a value. */
static struct cr_onnx_term *value_term(struct work *w, int value)
{
    const struct cr_onnx_value *v = &w->graph->values[value];
    struct cr_onnx_term *x = cr_arena_new(&w->graph->arena, 1, sizeof *x);
    x->kind = CR_TERM_VALUE;
    x->type = v->type;
    x->rank = v->rank;
    x->value = value;
    x->name = "";
    memcpy(x->shape, v->shape, sizeof x->shape);
    return x;
}

/* Returns the elements of a tensor as doubles; copies them unless they are doubles already. */
static const double *elements(struct work *w, int value)
{
    const struct cr_onnx_tensor *t = w->graph->values[value].tensor;
    bool are_symbols = w->graph->values[value].folded;
    const double *computed = cr_onnx_computed(&w->graph->values[value]);
    if (computed)
        return computed;
    double *data = cr_elements_new(&w->graph->elements, &w->graph->arena, (size_t)t->elements);
    bool are_floats = t->type == CR_ONNX_FLOAT && !t->is_transposed;
    for (int64_t i = 0; i < t->elements; i++) {
        float number;
        if (are_floats)
            memcpy(&number, t->data + (size_t)i * sizeof number, sizeof number);
        data[i] = are_floats ? (double)number : cr_onnx_element(t, i);
        if (isnan(data[i]) && !are_symbols)
            data[i] = NAN; /* a NaN of the file must not look like a symbol */
    }
    return data;
}

/* Makes the term of a tensor.  It is known data if the tensor's type is an integer, if it has one
 * element, or if it was computed; otherwise it is a weight, whose elements are known only if they
 * are few. */
static cr_t tensor_term(struct work *w, int value)
{
    const struct cr_onnx_value *v = &w->graph->values[value];
    const struct cr_onnx_tensor *t = v->tensor;
    char name[96];
    strcpy(name, cr_show(v->name, strlen(v->name)).text);
    if (t->rank > CR_ONNX_RANK || !t->data) {
        cr_fail(w->error,
                "%.300s: tensor %s is of type %s and of %d axes, expected numbers and at most %d",
                w->graph->path, name, cr_onnx_type_name(v->type), t->rank, CR_ONNX_RANK);
        return NULL;
    }
    if (!cr_t_is_valid_shape(t->rank, t->shape)) {
        cr_fail(w->error, "%.300s: tensor %s has a size of 2^31 or more, expected smaller ones",
                w->graph->path, name);
        return NULL;
    }
    struct cr_onnx_term *x = value_term(w, value);
    bool is_whole = cr_language_type(v->type) != CR_LANGUAGE_F32;
    if (v->folded || t->elements <= 1 || (is_whole && t->elements <= CR_FOLDED_WHOLE))
        x->kind = CR_TERM_DATA;
    if (x->kind == CR_TERM_DATA || t->elements <= KNOWN)
        x->data = elements(w, value);
    return x;
}

/* Stores the elements of a computed value in the graph, for passes and for a second translation. */
static void keep_data(struct work *w, int value, cr_t x)
{
    struct cr_onnx_value *v = &w->graph->values[value];
    struct cr_onnx_tensor *t = cr_arena_new(&w->graph->arena, 1, sizeof *t);
    *t = (struct cr_onnx_tensor){v->name, CR_ONNX_DOUBLE, x->rank, x->shape, cr_t_elements(x),
                                 (const void *)x->data, false};
    v->tensor = t;
    v->folded = true;
}

/* Makes the term of an input; an input without elements is known data. */
static cr_t input_term(struct work *w, int value)
{
    struct cr_onnx_term *x = value_term(w, value);
    if (cr_t_elements(x) > 0)
        return x;
    x->kind = CR_TERM_DATA;
    x->data = cr_arena_new(&w->graph->arena, 0, sizeof *x->data);
    keep_data(w, value, x);
    return x;
}

/* Makes the term of an input or a tensor.  Returns null without an error if the value is the output
 * of a node that is not translated yet. */
static cr_t leaf(struct work *w, int value)
{
    struct cr_onnx_value *v = &w->graph->values[value];
    if (v->tensor)
        return tensor_term(w, value);
    if (!v->is_input || input_shape(w, v))
        return NULL;
    return input_term(w, value);
}

/* Returns the array `items` of *n items, grown so that it has an item `at`; new items are 0.
 * Inlined bodies add values and nodes. */
static void *with_item(void *items, int *n, int at, size_t size)
{
    if (at < *n)
        return items;
    void *more = cr_calloc(2 * (size_t)at + 64, size);
    if (*n)
        memcpy(more, items, (size_t)*n * size);
    free(items);
    *n = 2 * at + 64;
    return more;
}

/* Stores the term that reads a value. */
static void keep_term(struct work *w, int value, cr_t term)
{
    struct cr_onnx_script *s = w->script;
    s->terms = with_item(s->terms, &s->n_terms, value, sizeof *s->terms);
    s->terms[value] = term;
}

static cr_t read_value(struct work *w, int value)
{
    if (value < w->script->n_terms && w->script->terms[value])
        return w->script->terms[value];
    cr_t term = leaf(w, value);
    keep_term(w, value, term);
    return term;
}

/* ---- outputs ---- */

/* Stores the term of an output.  A term that is neither data nor another value becomes a new
 * statement. */
static void keep_output(struct work *w, int node, int value, cr_t x)
{
    struct cr_onnx_script *s = w->script;
    struct cr_onnx_value *v = &w->graph->values[value];
    v->type = x->type;
    v->rank = x->rank;
    memcpy(v->shape, x->shape, sizeof v->shape);
    if (x->kind == CR_TERM_DATA)
        keep_data(w, value, x);
    if (x->kind == CR_TERM_DATA || x->kind == CR_TERM_VALUE) {
        keep_term(w, value, x);
        return;
    }
    *CR_PUSH(s->statements, s->n_statements, s->cap_statements) =
        (struct cr_onnx_statement){node, value, x};
    keep_term(w, value, value_term(w, value));
}

static int check_output(struct work *w, const struct cr_onnx_node *n, int i, cr_t x)
{
    char text[256];
    if (!x)
        return cr_fail(w->error,
                       "%.300s: %s: output %d is not supported, expected a node without it",
                       w->graph->path, cr_onnx_node_text(n, text, sizeof text), i + 1);
    return 0;
}

/* ---- nodes ---- */

static int translate_node(struct work *w, int node);

/* Translates nodes from `first` on.  Frees unread elements only between nodes of the file itself,
 * as a loop that is being inlined holds values that no node's inputs list yet. */
static int translate_from(struct work *w, int first)
{
    for (int i = first; i < w->graph->n_nodes; i++) {
        if (translate_node(w, i))
            return -1;
        if (first == 0 && cr_elements_are_many(&w->graph->elements))
            cr_onnx_free_unread(w->script, w->done, w->cap_done);
    }
    return 0;
}

/* Replaces an output of a node by the value of its inlined body that computes it. */
static void become(struct work *w, int node, int output, int value)
{
    int old = w->graph->nodes[node].outputs[output];
    if (old == CR_ONNX_NONE)
        return;
    keep_term(w, old, read_value(w, value));
    cr_onnx_replace(w->graph, old, value);
}

/* Inlines and translates a graph that is an attribute of a node; sets `outputs` to the values of
 * the body's outputs. */
static int translate_body(struct work *w, int node, const struct cr_onnx_body *body,
                          const char *prefix, const int *inputs, int *outputs)
{
    const struct cr_onnx_node n = w->graph->nodes[node];
    int first = w->graph->n_nodes;
    if (cr_onnx_inline(w->graph, &n, body, prefix, inputs, outputs, w->error) ||
        translate_from(w, first))
        return -1;
    for (int i = 0; i < body->n_outputs; i++)
        outputs[i] = cr_onnx_replacement(w->graph, outputs[i]);
    return 0;
}

static int refuse_node(struct work *w, int node, const char *what)
{
    char text[256];
    return cr_fail(w->error, "%.300s: %s: %s", w->graph->path,
                   cr_onnx_node_text(&w->graph->nodes[node], text, sizeof text), what);
}

/* Reads the only element of an input; fails if it is not known.  `what` names the input in the
 * message. */
static int known_input(struct work *w, int node, int input, const char *what, double *out)
{
    cr_t x = read_value(w, w->graph->nodes[node].inputs[input]);
    if (x && x->data && cr_t_elements(x) == 1 && !cr_number_is_symbol(x->data[0])) {
        *out = x->data[0];
        return 0;
    }
    w->script->unknown = w->graph->nodes[node].inputs[input];
    return refuse_node(w, node, what);
}

/* Inlines the branch of an If that its condition, which has to be known, selects. */
static int inline_if(struct work *w, int node)
{
    double condition;
    int outputs[64];
    if (known_input(w, node, 0,
                    "the condition is known only when the model runs, expected a constant",
                    &condition))
        return -1;
    struct cr_onnx_node n = w->graph->nodes[node];
    const struct cr_onnx_attribute *a =
        cr_onnx_attribute(&n, condition != 0 ? "then_branch" : "else_branch");
    if (!a || !a->graph || a->graph->n_outputs > 64 || a->graph->n_outputs < n.n_outputs ||
        a->graph->n_inputs)
        return refuse_node(w, node,
                           "found no branch, or one of too many outputs, expected at most 64");
    if (translate_body(w, node, a->graph, *n.name ? n.name : "if", NULL, outputs))
        return -1;
    for (int i = 0; i < n.n_outputs; i++)
        become(w, node, i, outputs[i]);
    w->graph->nodes[node].dead = true;
    return 0;
}

/* Adds a value that is a known number; returns its index. */
static int known_value(struct work *w, enum cr_onnx_type type, double number)
{
    return cr_onnx_known(w->graph, "round", type, 0, NULL, &number);
}

/* Stacks n values along a new axis, by nodes Unsqueeze and Concat; returns the result. */
static int stack(struct work *w, const int *parts, int n, int axis)
{
    int axes = cr_onnx_known(w->graph, "axes", CR_ONNX_INT64, 1, &(int64_t){1}, &(double){axis});
    struct cr_onnx_node *concat = cr_onnx_new_node(w->graph, "", "Concat", n, 1);
    int number = w->graph->n_nodes - 1;
    cr_onnx_set_integer(w->graph, concat, "axis", axis);
    for (int i = 0; i < n; i++) {
        cr_onnx_new_node(w->graph, "", "Unsqueeze", 2, 1);
        int wide = w->graph->n_nodes - 1, v = cr_onnx_new_value(w->graph, w->graph->values[parts[i]].name);
        cr_onnx_set_input(w->graph, wide, 0, parts[i]);
        cr_onnx_set_input(w->graph, wide, 1, axes);
        cr_onnx_set_output(w->graph, wide, 0, v);
        cr_onnx_set_input(w->graph, number, i, v);
        if (translate_node(w, wide))
            return CR_ONNX_NONE;
    }
    int out = cr_onnx_new_value(w->graph, "stacked");
    cr_onnx_set_output(w->graph, number, 0, out);
    return translate_node(w, number) ? CR_ONNX_NONE : out;
}

/* The state of unrolling a loop: the values carried to the next iteration, and those collected in
 * each iteration. */
struct rounds {
    int node, n_carried, n_collected, n, label;
    int carried[64], *collected[64];
    const struct cr_onnx_body *body;
};

/* Inlines one iteration.  The body's outputs are `extra` ones, then carried values, then values to
 * collect. */
static int run_round(struct work *w, struct rounds *r, const int *inputs, int extra, int *outputs)
{
    char prefix[256];
    struct cr_onnx_node n = w->graph->nodes[r->node];
    snprintf(prefix, sizeof prefix, "%.200s/%d", *n.name ? n.name : "loop", r->label++);
    if (translate_body(w, r->node, r->body, prefix, inputs, outputs))
        return -1;
    for (int i = 0; i < r->n_carried; i++)
        r->carried[i] = outputs[extra + i];
    for (int i = 0; i < r->n_collected; i++)
        r->collected[i][r->n] = outputs[extra + r->n_carried + i];
    r->n++;
    return 0;
}

/* Returns output i of an unrolled loop: a carried value of the last iteration, or the collected
 * values stacked on a new axis. */
static int result_of_rounds(struct work *w, struct rounds *r, int i, int axis, bool backwards)
{
    int parts[MOST_ROUNDS];
    if (i < r->n_carried) {
        if (r->carried[i] == CR_ONNX_NONE)
            refuse_node(w, r->node,
                        "found an output that no node computes, expected one for each output");
        return r->carried[i];
    }
    if (r->n == 0) {
        refuse_node(w, r->node,
                    "found a loop of 0 iterations that collects values, expected at least one "
                    "iteration");
        return CR_ONNX_NONE;
    }
    for (int k = 0; k < r->n; k++)
        parts[k] = r->collected[i - r->n_carried][backwards ? r->n - 1 - k : k];
    return stack(w, parts, r->n, axis);
}

/* Finds the body of a Loop or Scan, whose outputs are `extra` ones, then the carried ones and the
 * collected ones, and allocates lists for the collected values.  Returns -1 if the body does not
 * fit the node. */
static int start_rounds(struct work *w, struct rounds *r, int extra)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(&w->graph->nodes[r->node], "body");
    r->body = a ? a->graph : NULL;
    r->n_collected = r->body ? r->body->n_outputs - extra - r->n_carried : -1;
    if (!r->body || r->n_carried > 60 || r->n_carried < 0 || r->n_collected < 0 ||
        r->n_collected > 60 || w->graph->nodes[r->node].n_outputs > r->n_carried + r->n_collected)
        return refuse_node(w, r->node,
                           "the inputs and outputs of its body do not match its own, expected as many");
    for (int i = 0; i < r->n_collected; i++)
        r->collected[i] = cr_arena_new(&w->graph->arena, MOST_ROUNDS, sizeof(int));
    return 0;
}

/* Unrolls a Loop.  The number of iterations or the conditions have to be known. */
static int inline_loop(struct work *w, int node)
{
    struct rounds r = {.node = node, .n_carried = w->graph->nodes[node].n_inputs - 2};
    double most = MOST_ROUNDS + 1, go_on = 1;
    struct cr_onnx_node n = w->graph->nodes[node];
    int inputs[64], outputs[128];
    if (start_rounds(w, &r, 1) || r.body->n_inputs != r.n_carried + 2)
        return refuse_node(w, node, "the inputs and outputs of its body do not match its own, expected as many");
    if (n.inputs[0] != CR_ONNX_NONE &&
        known_input(w, node, 0, "the number of rounds is known only when the model runs", &most))
        return -1;
    if (n.inputs[1] != CR_ONNX_NONE &&
        known_input(w, node, 1, "the condition is known only when the model runs", &go_on))
        return -1;
    for (int i = 0; i < r.n_carried; i++)
        r.carried[i] = n.inputs[2 + i];
    while (go_on != 0 && r.n < most) {
        if (r.n == MOST_ROUNDS)
            return refuse_node(w, node,
                               "found more than 1024 iterations, expected fewer");
        inputs[0] = known_value(w, CR_ONNX_INT64, r.n);
        inputs[1] = known_value(w, CR_ONNX_BOOL, 1);
        for (int i = 0; i < r.n_carried; i++)
            inputs[2 + i] = r.carried[i];
        if (run_round(w, &r, inputs, 1, outputs))
            return -1;
        cr_t condition = read_value(w, outputs[0]);
        if (!condition || !condition->data || cr_number_is_symbol(condition->data[0])) {
            w->script->unknown = outputs[0];
            return refuse_node(w, node, "the condition of an iteration is known only when the "
                               "model runs, expected a constant");
        }
        go_on = condition->data[0];
    }
    for (int i = 0; i < n.n_outputs; i++) {
        if (n.outputs[i] == CR_ONNX_NONE)
            continue;
        int v = result_of_rounds(w, &r, i, 0, false);
        if (v == CR_ONNX_NONE)
            return -1;
        become(w, node, i, v);
    }
    w->graph->nodes[node].dead = true;
    return 0;
}

/* Returns slice i of a value along an axis, taken by a new node Gather. */
static int part_of(struct work *w, int value, int axis, int64_t i)
{
    int index = known_value(w, CR_ONNX_INT64, (double)i);
    struct cr_onnx_node *gather = cr_onnx_new_node(w->graph, "", "Gather", 2, 1);
    int number = w->graph->n_nodes - 1;
    cr_onnx_set_integer(w->graph, gather, "axis", axis);
    cr_onnx_set_input(w->graph, number, 0, value);
    cr_onnx_set_input(w->graph, number, 1, index);
    int v = cr_onnx_new_value(w->graph, "part");
    cr_onnx_set_output(w->graph, number, 0, v);
    return translate_node(w, number) ? CR_ONNX_NONE : v;
}

/* Returns item i of an attribute that is a list, or 0 if it is missing. */
static int64_t listed(const struct cr_onnx_node *n, const char *name, int i)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(n, name);
    return a && a->ints && i >= 0 && i < a->n ? a->ints[i] : 0;
}

/* Returns the size of an input along the scanned axis, or -1 if it has no such axis.  Converts a
 * negative axis to its positive number. */
static int64_t scanned_size(struct work *w, int value, int64_t *axis)
{
    cr_t x = value == CR_ONNX_NONE ? NULL : read_value(w, value);
    if (x && *axis < 0)
        *axis += x->rank;
    return x && *axis >= 0 && *axis < x->rank ? x->shape[*axis] : -1;
}

/* A Scan: its inputs are first the carried values, then the scanned ones. */
struct scan {
    struct rounds rounds;
    int n_scanned;
    const char *directions; /* the name of the attribute with the directions of the scanned
                               inputs */
};

/* Unrolls a scan, with one iteration for each slice of the scanned inputs; sets `results` to the
 * outputs. */
static int run_scan(struct work *w, struct scan *s, const int *values, int *results)
{
    struct rounds *r = &s->rounds;
    struct cr_onnx_node n = w->graph->nodes[r->node];
    int inputs[64], outputs[128];
    int64_t axes[64], rounds = -1;
    for (int i = 0; i < s->n_scanned; i++) {
        axes[i] = listed(&n, "scan_input_axes", i);
        int64_t size = scanned_size(w, values[r->n_carried + i], &axes[i]);
        if (size < 0 || size > MOST_ROUNDS || (i && size != rounds))
            return refuse_node(w, r->node, "found more than 1024 iterations, or an unknown "
                               "number, expected a constant up to 1024");
        rounds = size;
    }
    memcpy(r->carried, values, sizeof(int) * (size_t)r->n_carried);
    for (r->n = 0; r->n < rounds;) {
        memcpy(inputs, r->carried, sizeof(int) * (size_t)r->n_carried);
        for (int i = 0; i < s->n_scanned; i++) {
            int64_t at = listed(&n, s->directions, i) ? rounds - 1 - r->n : r->n;
            inputs[r->n_carried + i] = part_of(w, values[r->n_carried + i], (int)axes[i], at);
            if (inputs[r->n_carried + i] == CR_ONNX_NONE)
                return -1;
        }
        if (run_round(w, r, inputs, 0, outputs))
            return -1;
    }
    for (int i = 0; i < n.n_outputs; i++) {
        int collected = i - r->n_carried; /* negative: a carried value */
        results[i] = CR_ONNX_NONE;
        if (n.outputs[i] == CR_ONNX_NONE)
            continue;
        results[i] = result_of_rounds(w, r, i, (int)listed(&n, "scan_output_axes", collected),
                                      listed(&n, "scan_output_directions", collected) != 0);
        if (results[i] == CR_ONNX_NONE)
            return -1;
    }
    return 0;
}

/* Unrolls a Scan of version 8, in which the first axis of all values is the batch: scans one batch
 * after another. */
static int run_batches(struct work *w, struct scan *s, const int *values, int *results)
{
    struct cr_onnx_node n = w->graph->nodes[s->rounds.node];
    int parts[64], *made = cr_arena_new(&w->graph->arena, 64 * MOST_ROUNDS, sizeof *made);
    int64_t axis = 0, batches = scanned_size(w, values[0], &axis);
    if (batches < 1 || batches > MOST_ROUNDS)
        return refuse_node(w, s->rounds.node, "found more than 1024 batches, or an unknown "
                           "number, expected a constant up to 1024");
    for (int64_t b = 0; b < batches; b++) {
        int outputs[64];
        for (int i = 0; i < s->rounds.n_carried + s->n_scanned; i++)
            if ((parts[i] = part_of(w, values[i], 0, b)) == CR_ONNX_NONE)
                return -1;
        if (run_scan(w, s, parts, outputs))
            return -1;
        for (int i = 0; i < n.n_outputs; i++)
            made[i * MOST_ROUNDS + b] = outputs[i];
    }
    for (int i = 0; i < n.n_outputs; i++) {
        bool wanted = n.outputs[i] != CR_ONNX_NONE;
        results[i] = wanted ? stack(w, made + i * MOST_ROUNDS, (int)batches, 0) : CR_ONNX_NONE;
        if (wanted && results[i] == CR_ONNX_NONE)
            return -1;
    }
    return 0;
}

/* Unrolls a Scan.  In version 8 its first input, the lengths of the batches' sequences, must be
 * omitted. */
static int inline_scan(struct work *w, int node)
{
    struct cr_onnx_node n = w->graph->nodes[node];
    bool batched = n.version < 9;
    int scanned = (int)cr_onnx_integer(&n, "num_scan_inputs", 1), results[64];
    int n_values = n.n_inputs - batched;
    struct scan s = {.rounds = {.node = node, .n_carried = n_values - scanned},
                     .n_scanned = scanned,
                     .directions = batched ? "directions" : "scan_input_directions"};
    if (batched && n_values >= 0 && n.inputs[0] != CR_ONNX_NONE)
        return refuse_node(w, node, "found sequence_lens, expected sequences of one length");
    if (scanned < 1 || n_values > 64 || n.n_outputs > 64 || start_rounds(w, &s.rounds, 0) ||
        s.rounds.body->n_inputs != n_values)
        return refuse_node(w, node, "the inputs and outputs of its body do not match its own, expected as many");
    if ((batched ? run_batches : run_scan)(w, &s, n.inputs + batched, results))
        return -1;
    for (int i = 0; i < n.n_outputs; i++)
        become(w, node, i, results[i]);
    w->graph->nodes[node].dead = true;
    return 0;
}

/* Sets in[i] to the term of each input of a node that is not omitted. */
static int read_inputs(struct work *w, const struct cr_onnx_node *n, cr_t *in)
{
    char text[256];
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE && !(in[i] = read_value(w, n->inputs[i])))
            return w->error->text[0]
                       ? -1
                       : cr_fail(w->error,
                                 "%.300s: %s reads a value that no node computes, "
                                 "expected one before it",
                                 w->graph->path, cr_onnx_node_text(n, text, sizeof text));
    return 0;
}

/* Refuses a number in an attribute that is too large for a size or an axis.  The start or end of a
 * slice may be any number. */
static int check_numbers(struct work *w, int node)
{
    static const char *const ends[] = {"start", "end", "starts", "ends", "ignore_index"};
    const struct cr_onnx_node *n = &w->graph->nodes[node];
    char text[160];
    for (int i = 0; i < n->n_attributes; i++) {
        const struct cr_onnx_attribute *a = &n->attributes[i];
        bool is_end = false;
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            is_end |= strcmp(a->name, ends[k]) == 0;
        for (int k = -1; !is_end && k < a->n && (k < 0 || a->ints); k++) {
            int64_t number = k < 0 ? a->i : a->ints[k];
            if ((number <= MOST_NUMBER && number >= -MOST_NUMBER) ||
                (cr_size_is_symbol(number) && strcmp(n->domain, CR_ONNX_CRESCENT) == 0))
                continue;
            snprintf(text, sizeof text, "attribute %s is %lld, expected a number up to %d",
                     cr_show(a->name, strlen(a->name)).text, (long long)number, MOST_NUMBER);
            return refuse_node(w, node, text);
        }
    }
    return 0;
}

static int refuse_mistyped(struct work *w, int node, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "attribute %s is of another type than the operator has",
             cr_show(name, strlen(name)).text);
    return refuse_node(w, node, text);
}

/* Translates a node by the row of its operator. */
static int call_op(struct work *w, int node, const struct cr_onnx_op *op)
{
    struct cr_onnx_node *n = &w->graph->nodes[node];
    struct cr_arena *arena = &w->graph->arena;
    const char *mistyped = NULL;
    struct cr_translation t = {.graph = w->graph,
                               .error = w->error,
                               .arena = arena,
                               .node = n,
                               .in = cr_arena_new(arena, (size_t)n->n_inputs + 1, sizeof(cr_t)),
                               .out = cr_arena_new(arena, (size_t)n->n_outputs, sizeof(cr_t)),
                               .unknown = CR_ONNX_NONE};
    if (read_inputs(w, n, t.in) || check_numbers(w, node))
        return -1;
    if (n->n_inputs && !t.in[0] && strcmp(op->name, "OptionalHasElement") != 0)
        return refuse_node(w, node, "its first input is left out, expected one");
    n->mistyped = &mistyped;
    cr_onnx_translate_op(&t, op);
    n->mistyped = NULL;
    if (mistyped)
        return refuse_mistyped(w, node, mistyped);
    if (t.failed) {
        w->script->unknown = t.unknown;
        return -1;
    }
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE) {
            if (check_output(w, n, i, t.out[i]))
                return -1;
            keep_output(w, node, n->outputs[i], t.out[i]);
        }
    return 0;
}

/* Translates a node unless that is done already: by its operator's row, or by inlining its body. */
static int translate_node(struct work *w, int node)
{
    w->done = with_item(w->done, &w->cap_done, node, sizeof *w->done);
    const struct cr_onnx_node *n = &w->graph->nodes[node];
    if (w->done[node] || n->dead)
        return 0;
    w->done[node] = true;
    const struct cr_onnx_op *op = cr_onnx_find_op(n->domain, n->op);
    if (op)
        return call_op(w, node, op);
    if (!*n->domain && strcmp(n->op, "If") == 0)
        return inline_if(w, node);
    if (!*n->domain && strcmp(n->op, "Loop") == 0)
        return inline_loop(w, node);
    if (!*n->domain && strcmp(n->op, "Scan") == 0)
        return inline_scan(w, node);
    return refuse_node(w, node,
                       "this operator is not supported, expected one of `crescent ops --onnx`");
}

int cr_onnx_input_shape(struct cr_onnx_graph *graph, int value, const struct cr_onnx_pin *pins,
                        int n_pins, struct cr_error *error)
{
    struct cr_onnx_script script = {.pins = pins, .n_pins = n_pins};
    struct work w = {.script = &script, .graph = graph, .error = error};
    return input_shape(&w, &graph->values[value]);
}

static void mark_read(cr_t x, bool *is_read)
{
    if (x->kind == CR_TERM_VALUE)
        is_read[x->value] = true;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            mark_read(x->arguments[i].term, is_read);
}

/* Removes statements whose values no statement and no output reads, such as a tensor of which only
 * the shape is used. */
static void drop_unread(struct cr_onnx_script *s)
{
    const struct cr_onnx_graph *g = s->graph;
    bool *is_read = cr_calloc((size_t)g->n_values + 1, sizeof *is_read);
    int kept = s->n_statements;
    for (int i = 0; i < g->n_outputs; i++)
        mark_read(s->terms[g->outputs[i]], is_read);
    for (int i = s->n_statements - 1; i >= 0; i--)
        if (is_read[s->statements[i].value]) {
            mark_read(s->statements[i].term, is_read);
            s->statements[--kept] = s->statements[i];
        }
    s->n_statements -= kept;
    if (s->n_statements)
        memmove(s->statements, s->statements + kept,
                (size_t)s->n_statements * sizeof *s->statements);
    free(is_read);
}

int cr_onnx_translate(struct cr_onnx_script *script, struct cr_onnx_graph *graph,
                      const struct cr_onnx_pin *pins, int n_pins, struct cr_error *error)
{
    struct work w = {.script = script, .graph = graph, .error = error};
    *script = (struct cr_onnx_script){
        .graph = graph, .pins = pins, .n_pins = n_pins, .unknown = CR_ONNX_NONE};
    error->text[0] = '\0';
    int status = 0;
    for (int i = 0; !status && i < graph->n_inputs; i++) /* inputs that no node reads, too */
        if (!read_value(&w, graph->inputs[i]))
            status = -1;
    if (!status)
        status = translate_from(&w, 0);
    for (int i = 0; !status && i < graph->n_outputs; i++) /* an output may be an input or a
                                                             weight */
        if (!read_value(&w, graph->outputs[i]))
            status = -1;
    for (int i = 0; !status && i < graph->n_nodes; i++) { /* marks nodes whose outputs are all known
                                                             as dead */
        bool known = true;
        for (int j = 0; j < graph->nodes[i].n_outputs; j++)
            known &= graph->nodes[i].outputs[j] == CR_ONNX_NONE ||
                     graph->values[graph->nodes[i].outputs[j]].folded;
        graph->nodes[i].dead |= known;
    }
    graph->is_swept = false;
    free(w.done);
    if (!status)
        drop_unread(script);
    return status;
}

void cr_onnx_script_free(struct cr_onnx_script *script)
{
    free(script->statements);
    free(script->terms);
    *script = (struct cr_onnx_script){0};
}
