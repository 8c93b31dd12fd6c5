/*
 * Oracle: a graph with lengths has the bits of the graph that has their values as sizes.
 *
 * Axes that have one size because an op says so are a class; the oracle has rules of its own for
 * that, and asks nothing of compiler/ir/lengths.c.  It chooses classes, makes one graph in which
 * they are lengths of larger bounds and another in which they are numbers, and runs both.  Behind
 * every length there is NaN, in inputs, parameters, outputs and memory, and in outputs it has to
 * stay.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axis_classes.h"
#include "compiler/exec/interpret_lengths.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/weights/formats.h"
#include "leaves.h"
#include "oracles.h"

enum { MOST = 3 /* lengths of a graph */, MOST_ELEMENTS = 300000 /* of all nodes together */ };

/* A class of axes that is to become a length. */
struct choice {
    int axis; /* the axis that represents the class (axis_classes.h) */
    int64_t bound, value;
};

struct choices {
    struct choice items[MOST];
    int n;
};

/* ---- choosing ---- */

/* Returns the chosen class that contains an axis, or null. */
static const struct choice *choice_of(struct cr_axes *x, const struct choices *c, cr_id id, int axis)
{
    for (int i = 0; i < c->n; i++)
        if (c->items[i].axis == cr_axis_class(x, id * CR_MAX_RANK + axis))
            return &c->items[i];
    return NULL;
}

static int64_t size_of(struct cr_axes *x, const struct choices *c, cr_id id, int axis, bool bounds)
{
    const struct choice *choice = choice_of(x, c, id, axis);
    if (!choice)
        return x->g->nodes[id].shape[axis];
    return bounds ? choice->bound : choice->value;
}

/* True if the graph with lengths is small enough to run, and written rows fit their axis. */
static bool fits(struct cr_axes *x, const struct choices *c)
{
    int64_t all = 0;
    for (cr_id id = 0; id < x->g->n_nodes; id++) {
        const struct cr_node *node = &x->g->nodes[id];
        int64_t n = 1;
        if (node->op == CR_OP_write &&
            size_of(x, c, cr_inputs(x->g, node)[1], node->axis, true) > node->shape[node->axis])
            return false;
        for (int a = 0; a < x->g->nodes[id].rank; a++)
            n *= size_of(x, c, id, a, true);
        all += n;
    }
    return all <= MOST_ELEMENTS;
}

/* Draws the value of a length: the size itself, 1, 2, one less, the bound, or any below it. */
static int64_t choose_value(struct cr_subject *s, int64_t size, int64_t bound)
{
    const int64_t values[] = {size, size, 1, 2, bound, bound - 1, 1 + cr_pick(s, bound)};
    int64_t value = values[cr_pick(s, (int64_t)(sizeof values / sizeof *values))];
    return value < 1 ? 1 : value > bound ? bound : value;
}

/* Chooses classes by drawing axes of nodes, so that classes of many axes are more likely. */
static void choose(struct cr_subject *s, struct cr_axes *x, struct choices *c)
{
    int wanted = 1 + (int)cr_pick(s, MOST);
    for (int tries = 0; tries < 40 && c->n < wanted; tries++) {
        cr_id id = (cr_id)cr_pick(s, x->g->n_nodes);
        const struct cr_node *node = &x->g->nodes[id];
        if (node->rank == 0)
            continue;
        int axis = (int)cr_pick(s, node->rank), class = cr_axis_class(x, id * CR_MAX_RANK + axis);
        int64_t size = node->shape[axis];
        if (size < 2 || x->fixed[class] || choice_of(x, c, id, axis))
            continue;
        int64_t bound = size + cr_pick(s, size > 40 ? 4 : size + 2);
        c->items[c->n++] = (struct choice){class, bound, choose_value(s, size, bound)};
        if (!fits(x, c))
            c->n--;
    }
}

/* ---- both graphs ---- */

static void add_lengths(struct cr_graph *to, const struct choices *c)
{
    for (int i = 0; i < c->n; i++) {
        char name[16];
        snprintf(name, sizeof name, "length%d", i);
        struct cr_attr attr = {.dtype = CR_I32,
                               .init = CR_INIT_FILL,
                               .name = name,
                               .value = (double)c->items[i].bound};
        cr_graph_add_length(to, name, c->items[i].bound, 0);
        cr_must(to, CR_OP_input, 0, NULL, &attr);
    }
}

/* Copies a node with the sizes of the new graph, without the lengths that begin at it. */
static cr_id copy_node(struct cr_axes *x, const struct choices *c, struct cr_graph *to, cr_id id,
                       const cr_id *map, bool lengths)
{
    const struct cr_node *node = &x->g->nodes[id];
    struct cr_attr attr = cr_attr_for(to, x->g, node), limit = {0};
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    bool limited = false;
    for (int i = 0; i < node->n_in; i++)
        in[i] = map[cr_inputs(x->g, node)[i]];
    for (int a = 0; a < node->rank && node->op != CR_OP_scatter_add; a++) {
        const struct choice *choice = choice_of(x, c, id, a);
        attr.shape[a] = size_of(x, c, id, a, lengths);
        if (lengths && choice && choice->bound > 1 && cr_size_begins(x->g, node, a)) {
            limit.lengths[a] = (signed char)(choice - c->items + 1);
            limited = true;
        }
    }
    bool own = cr_takes_lengths(node->op);
    if (own)
        memcpy(attr.lengths, limit.lengths, sizeof attr.lengths);
    cr_graph_origin(to, x->g, id);
    cr_id made = cr_must(to, node->op, node->n_in, in, &attr);
    free(in);
    return limited && !own ? cr_must(to, CR_OP_limit, 1, &made, &limit) : made;
}

/* Makes the graph in which the chosen classes are lengths, or have the values of these lengths as sizes. */
static struct cr_graph *graph_with(struct cr_axes *x, const struct choices *c, bool lengths)
{
    const struct cr_graph *g = x->g;
    struct cr_graph *to = cr_graph_new(g->name);
    cr_id *map = cr_calloc((size_t)g->n_nodes + 1, sizeof *map);
    if (lengths)
        add_lengths(to, c);
    for (cr_id id = 0; id < g->n_nodes; id++)
        map[id] = copy_node(x, c, to, id, map, lengths);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_output *o = &g->outputs[i];
        if (o->state == CR_NONE)
            cr_add_output(to, o->name, map[o->id]);
        else
            cr_add_replacement(to, o->entry, map[o->state], map[o->id]);
    }
    free(map);
    return to;
}

/* ---- data ---- */

/* Returns the offset, in a tensor laid out for other sizes, of an element of a tensor of some sizes. */
static int64_t place_of(int rank, const int64_t *sizes, const int64_t *laid_out, int64_t element)
{
    int64_t place = 0, step = 1;
    for (int a = rank - 1; a >= 0; a--) {
        place += element % sizes[a] * step;
        element /= sizes[a];
        step *= laid_out[a];
    }
    return place;
}

/* Returns the data of a leaf of `exact` laid out for the bounds; elements past the lengths are NaN
 * or a large number. */
static void *spread_data(const struct cr_node *leaf, const struct cr_node *exact, const void *data)
{
    const uint32_t nothing = leaf->dtype == CR_I32 ? 0x7f7f7f7f : 0x7fc0beef;
    int64_t n = cr_elements(leaf->rank, leaf->shape);
    uint32_t *to = cr_calloc((size_t)n, sizeof *to);
    for (int64_t i = 0; i < n; i++)
        to[i] = nothing;
    for (int64_t i = 0; i < cr_elements(exact->rank, exact->shape); i++)
        to[place_of(leaf->rank, exact->shape, leaf->shape, i)] = ((const uint32_t *)data)[i];
    return to;
}

/* Makes the case with lengths, with the data of `exact`. */
static struct cr_case *case_with_lengths(struct cr_graph *g, const struct cr_case *exact,
                                         const struct choices *choices)
{
    struct cr_case *c = cr_calloc(1, sizeof *c);
    c->graph = g;
    c->n = c->cap = g->n_nodes;
    c->data = cr_calloc((size_t)g->n_nodes + 1, sizeof *c->data);
    c->bounds = cr_calloc((size_t)g->n_nodes + 1, sizeof *c->bounds);
    for (cr_id id = 0, from = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (id < choices->n) {
            int32_t *value = c->data[id] = cr_calloc(1, sizeof *value);
            *value = (int32_t)choices->items[id].value;
        } else if (node->name) {
            while (!exact->graph->nodes[from].name ||
                   strcmp(exact->graph->nodes[from].name, node->name) != 0)
                from++;
            c->data[id] = spread_data(node, &exact->graph->nodes[from], exact->data[from]);
            from += node->op == CR_OP_literal; /* all have one name */
        }
    }
    return c;
}

/* ---- comparing ---- */

/* Compares the bits of an output in both graphs, and checks that nothing was written past its
 * lengths. */
static bool check_output(const struct cr_outputs *expected, const struct cr_outputs *o, int i,
                         bool same_bits, struct cr_report *report)
{
    const struct cr_port *port = o->port[i], *exact = expected->port[i];
    bool *there = cr_calloc((size_t)o->floats[i] + 1, sizeof *there), good = true;
    bool number = port->dtype != CR_I32, is_state = i >= o->n_results;
    for (int64_t j = 0; j < expected->floats[i] && good; j++) {
        int64_t at = place_of(port->rank, exact->shape, port->shape, j);
        float x = expected->data[i][j], y = o->data[i][at];
        there[at] = true;
        if (same_bits && memcmp(&x, &y, sizeof x) != 0 && !(number && isnan(x) && isnan(y)))
            good = cr_found(report, "lengths: output %s, element %" PRId64 ": %.9g, expected the "
                            "bits of %.9g", port->name, j, (double)y, (double)x);
    }
    for (int64_t j = 0; j < o->floats[i] && good && !is_state; j++) {
        uint32_t bits;
        memcpy(&bits, &o->data[i][j], sizeof bits);
        if (!there[j] && bits != 0x7fc0dead)
            good = cr_found(report, "lengths: output %s: number %" PRId64 ", past a length, was "
                            "written", port->name, j);
    }
    free(there);
    return good;
}

/* Checks values against the bounds of the exact case, where an axis of size 1 allows more rewrites. */
static bool check_values(const struct cr_case *exact, const struct cr_outputs *o,
                         struct cr_report *report)
{
    bool good = true;
    for (int i = 0; i < o->n_results && good; i++) {
        cr_id id = exact->graph->outputs[i].id;
        const struct cr_node *node = &exact->graph->nodes[id];
        int64_t n = cr_elements(node->rank, node->shape);
        float *packed = cr_calloc((size_t)n + 1, sizeof *packed);
        for (int64_t j = 0; j < n; j++)
            packed[j] = o->data[i][place_of(node->rank, node->shape, o->port[i]->shape, j)];
        struct cr_outputs one = {.port = o->port + i, .data = &packed, .floats = &n, .n = 1};
        good = cr_check_bounds(exact, id, &one, 0, "lengths", report);
        free(packed);
    }
    return good;
}

/* ---- running ---- */

static const char *describe(const struct choices *c, char *text, size_t size)
{
    int at = 0;
    for (int i = 0; i < c->n; i++)
        at += snprintf(text + at, size - (size_t)at, "%s%" PRId64 " of %" PRId64, i ? ", " : "",
                       c->items[i].value, c->items[i].bound);
    return text;
}

static bool compile(struct cr_graph *g, struct cr_compiled *compiled, cr_backend_function *backend,
                    struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = cr_program_of(g, NULL, &error);
    if (!program)
        return cr_found(report, "lengths: refused: %.400s", error.text);
    return cr_compile_program(compiled, program, backend, report);
}

/* Compiles and runs a case, and does not free its graph. */
static bool run_case(struct cr_case *c, cr_backend_function *backend, const char *isa, int threads,
                     struct cr_compiled *compiled, struct cr_outputs *o, struct cr_report *report)
{
    if (!compile(cr_graph_copy(c->graph), compiled, backend, report))
        return false;
    if (cr_run(c, compiled, isa, threads, o, report))
        return true;
    cr_compiled_free(compiled);
    return false;
}

/* How closely the results of two graphs must agree. */
enum likeness {
    SAME_BITS,
    IN_BOUNDS, /* within bounds: the passes join weights or order sums of gradients differently */
    SAME_SIZES /* only shapes: weights in rounded formats may be rounded differently */
};

/* Compares the outputs of two graphs. */
static bool compare(struct cr_subject *s, struct cr_case *exact, struct cr_case *c,
                    enum likeness likeness, cr_backend_function *backend, struct cr_report *report)
{
    struct cr_compiled fixed, compiled;
    struct cr_outputs expected, o;
    const char *isa = cr_pick(s, 3) ? NULL : "plain";
    int threads = 1 + (int)cr_pick(s, 3);
    if (!run_case(exact, cr_compile_tcc, NULL, 1, &fixed, &expected, report))
        return false;
    bool good = run_case(c, backend, isa, threads, &compiled, &o, report);
    if (good) {
        for (int i = 0; i < o.n && good && likeness != IN_BOUNDS; i++)
            good = check_output(&expected, &o, i, likeness == SAME_BITS, report);
        good = good && (likeness != IN_BOUNDS || check_values(exact, &o, report));
        cr_outputs_free(&o);
        cr_compiled_free(&compiled);
    }
    cr_outputs_free(&expected);
    cr_compiled_free(&fixed);
    return good;
}

/* Runs the interpreter; the caller frees the outputs. */
static bool interpret(const struct cr_case *c, double **outputs, struct cr_report *report)
{
    const struct cr_graph *g = c->graph;
    const float **params = cr_calloc((size_t)g->n_nodes + 1, sizeof *params);
    const void **inputs = cr_calloc((size_t)g->n_nodes + 1, sizeof *inputs);
    void **rounded = cr_calloc((size_t)g->n_outputs + 1, sizeof *rounded);
    struct cr_error error = {""};
    int n_params = 0, n_inputs = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op == CR_OP_param)
            params[n_params++] = c->data[id];
        if (cr_is_input(&g->nodes[id]))
            inputs[n_inputs++] = c->data[id];
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        size_t n = (size_t)cr_elements(node->rank, node->shape);
        outputs[i] = cr_calloc(n, sizeof **outputs);
        rounded[i] = cr_calloc(n, sizeof(float));
    }
    int status = g->n_lengths
                     ? cr_interpret_lengths(g, params, inputs, outputs, rounded, &error)
                     : cr_interpret(g, params, inputs, outputs, &error);
    for (int i = 0; i < g->n_outputs; i++)
        free(rounded[i]);
    free(rounded);
    free(params);
    free(inputs);
    return status == 0 || cr_found(report, "lengths: interpreter: %.500s", error.text);
}

/* Checks that the interpreter gives the same numbers with lengths as with sizes. */
static bool compare_interpreted(const struct cr_case *exact, const struct cr_case *c,
                                struct cr_report *report)
{
    const struct cr_graph *g = c->graph, *e = exact->graph;
    double **outputs = cr_calloc((size_t)g->n_outputs + 1, sizeof *outputs);
    double **expected = cr_calloc((size_t)g->n_outputs + 1, sizeof *expected);
    bool good = interpret(exact, expected, report) && interpret(c, outputs, report);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        const struct cr_node *small = &e->nodes[e->outputs[i].id];
        for (int64_t j = 0; j < cr_elements(small->rank, small->shape) && good; j++) {
            int64_t at = place_of(node->rank, small->shape, node->shape, j);
            double x = expected[i][j], y = outputs[i][at];
            if (x != y && !(isnan(x) && isnan(y)))
                good = cr_found(report, "lengths: interpreter: output %s, element %" PRId64
                                ": %.17g, expected %.17g", g->outputs[i].name, j, y, x);
        }
        free(outputs[i]);
        free(expected[i]);
    }
    free(outputs);
    free(expected);
    return good;
}

/* Puts the values of the lengths before the text of a finding. */
static bool prefix_with_lengths(const struct choices *c, struct cr_report *report)
{
    char text[sizeof report->text], values[100];
    memcpy(text, report->text, sizeof text);
    return cr_found(report, "%s: %.480s", describe(c, values, sizeof values), text);
}

/* True if the graph has gradients: without lengths, gradients of attention are summed in another
 * order. */
static bool has_gradients(const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].where.backward)
            return true;
    return false;
}

/* ---- formats ---- */

static cr_id param_named(const struct cr_graph *g, const char *name)
{
    cr_id id = 0;
    while (g->nodes[id].op != CR_OP_param || strcmp(g->nodes[id].name, name) != 0)
        id++;
    return id;
}

/* True if a parameter is the table of a gather. */
static bool is_table(const struct cr_graph *g, cr_id param)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_gather && cr_inputs(g, &g->nodes[id])[0] == param)
            return true;
    return false;
}

/* True if both graphs keep each parameter in the same format, and no block of a table's row extends
 * past a length, which would change the block's scale. */
static bool are_kept_alike(const struct cr_graph *with, const struct cr_graph *exact)
{
    for (cr_id id = 0; id < with->n_nodes; id++) {
        const struct cr_node *node = &with->nodes[id];
        if (node->op != CR_OP_param)
            continue;
        const struct cr_node *other = &exact->nodes[param_named(exact, node->name)];
        bool whole = node->rank < 1 || node->shape[node->rank - 1] == other->shape[node->rank - 1];
        bool blocks = cr_formats[node->format].block > 1;
        if (node->format != other->format || (blocks && !whole && is_table(with, id)))
            return false;
    }
    return true;
}

static void forget_formats(struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            g->nodes[id].format = CR_FORMAT_f32;
}

/* Draws a format for the weights of both graphs.  Returns false, and keeps f32, if a length may end
 * inside a block or the graphs cannot keep the same weights in it. */
static bool keep_in_format(struct cr_subject *s, struct cr_graph *with, struct cr_graph *exact)
{
    static const char *const formats[] = {"bf16", "f16", "q8", "q4"};
    const char *format = formats[cr_pick(s, 4)];
    struct cr_error error = {""};
    if (!cr_want_formats(with, format, "g", &error) &&
        !cr_want_formats(exact, format, "g", &error) && are_kept_alike(with, exact))
        return true;
    forget_formats(with);
    forget_formats(exact);
    return false;
}

static bool try_lengths(struct cr_subject *s, cr_backend_function *backend,
                        struct cr_report *report)
{
    struct cr_axes x;
    struct choices c = {.n = 0};
    enum likeness likeness = has_gradients(s->c->graph) ? IN_BOUNDS : SAME_BITS;
    bool good = true;
    cr_find_axes(&x, s->c->graph);
    choose(s, &x, &c);
    for (int i = 0; i < c.n; i++)
        if (c.items[i].value == 1 || x.loose[c.items[i].axis])
            likeness = IN_BOUNDS;
    if (c.n) {
        struct cr_case *exact = cr_case_of(graph_with(&x, &c, false));
        struct cr_case *with = case_with_lengths(graph_with(&x, &c, true), exact, &c);
        good = compare_interpreted(exact, with, report);
        if (good && !has_gradients(s->c->graph) && cr_pick(s, 2) &&
            keep_in_format(s, with->graph, exact->graph) && likeness == IN_BOUNDS)
            likeness = SAME_SIZES;
        good = (good && compare(s, exact, with, likeness, backend, report)) || prefix_with_lengths(&c, report);
        cr_case_free(exact);
        cr_case_free(with);
    }
    cr_free_axes(&x);
    return good;
}

bool cr_oracle_lengths(struct cr_subject *s, struct cr_report *report)
{
    return try_lengths(s, cr_compile_tcc, report);
}

bool cr_oracle_lengths_cc(struct cr_subject *s, struct cr_report *report)
{
    return try_lengths(s, cr_compile_cc, report);
}
