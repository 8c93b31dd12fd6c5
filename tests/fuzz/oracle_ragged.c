/*
 * Oracle: with a ragged length, each row of a batch has the bits that it has where all rows have
 * its length.
 *
 * It chooses two classes of axes and makes one graph in which the first is a length and the second a
 * ragged length over it, and another in which both are lengths.  Behind the end of each row there is
 * NaN, in inputs and parameters, and what an output has there stays as it is.  Nodes for which rows
 * are summed or looked up, or are the rows of one product over the ragged length, are not compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axis_classes.h"
#include "compiler/exec/interpret_lengths.h"
#include "compiler/ir/mem.h"
#include "leaves.h"
#include "oracles.h"

enum { MOST_ROWS = 12, MOST_ELEMENTS = 200000 /* of all nodes together */ };

struct pair {
    int batch, inner;  /* the axes that represent the two classes */
    int64_t rows, most; /* the sizes of these axes, which are the bounds */
    int32_t n;          /* number of rows of the batch that a run has */
    int32_t size[MOST_ROWS];
};

/* ---- choosing ---- */

/* True unless a node with both axes has the batch axis twice, or behind the ragged axis. */
static bool fits_node(struct cr_axes *x, const struct pair *p, cr_id id)
{
    int batches = 0, inner = 0;
    for (int a = 0; a < x->g->nodes[id].rank; a++) {
        int class = cr_axis_class(x, id * CR_MAX_RANK + a);
        batches += class == p->batch;
        if (class == p->inner && inner++ == 0 && batches != 1)
            return false;
    }
    return inner && batches == 1;
}

/* Chooses two axes of a node, for the batch and the ragged length; returns false if they cannot be
 * lengths. */
static bool choose(struct cr_subject *s, struct cr_axes *x, struct pair *p)
{
    cr_id id = (cr_id)cr_pick(s, x->g->n_nodes);
    const struct cr_node *node = &x->g->nodes[id];
    if (node->rank < 2)
        return false;
    int a = (int)cr_pick(s, node->rank - 1), b = a + 1 + (int)cr_pick(s, node->rank - a - 1);
    *p = (struct pair){.batch = cr_axis_class(x, id * CR_MAX_RANK + a),
                       .inner = cr_axis_class(x, id * CR_MAX_RANK + b),
                       .rows = node->shape[a],
                       .most = node->shape[b]};
    if (p->batch == p->inner || x->fixed[p->batch] || x->fixed[p->inner] || p->rows < 2 ||
        p->rows > MOST_ROWS || p->most < 2 || !fits_node(x, p, id))
        return false;
    p->n = (int32_t)(cr_pick(s, 3) ? p->rows : 1 + cr_pick(s, p->rows));
    for (int i = 0; i < p->n; i++)
        p->size[i] = (int32_t)(cr_pick(s, 4) ? 1 + cr_pick(s, p->most) : p->most);
    return true;
}

static bool is_small(const struct cr_graph *g)
{
    int64_t n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        n += cr_elements(g->nodes[id].rank, g->nodes[id].shape);
    return n <= MOST_ELEMENTS;
}

/* ---- the graphs ---- */

static void add_length(struct cr_graph *to, const char *name, int64_t bound, int batch)
{
    struct cr_attr attr = {
        .dtype = CR_I32, .init = CR_INIT_FILL, .name = name, .value = (double)bound};
    cr_graph_add_length(to, name, bound, batch);
    if (batch) {
        attr.rank = 1;
        attr.shape[0] = to->lengths[batch - 1].bound;
        attr.lengths[0] = (signed char)batch;
    }
    cr_must(to, CR_OP_input, 0, NULL, &attr);
}

/* Returns 1 + the index of an axis's length, or 0 if its size is fixed. */
static int length_of(struct cr_axes *x, const struct pair *p, cr_id id, int axis)
{
    int class = cr_axis_class(x, id * CR_MAX_RANK + axis);
    return class == p->batch ? 1 : class == p->inner ? 2 : 0;
}

static cr_id copy_node(struct cr_axes *x, const struct pair *p, struct cr_graph *to, cr_id id,
                       const cr_id *map)
{
    const struct cr_node *node = &x->g->nodes[id];
    struct cr_attr attr = cr_attr_for(to, x->g, node), limit = {0};
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    bool limited = false, own = cr_takes_lengths(node->op);
    for (int i = 0; i < node->n_in; i++)
        in[i] = map[cr_inputs(x->g, node)[i]];
    for (int a = 0; a < node->rank; a++)
        if (cr_size_begins(x->g, node, a) && node->shape[a] > 1)
            limited |= (limit.lengths[a] = (signed char)length_of(x, p, id, a)) != 0;
    if (own)
        memcpy(attr.lengths, limit.lengths, sizeof attr.lengths);
    cr_graph_origin(to, x->g, id);
    cr_id made = cr_must(to, node->op, node->n_in, in, &attr);
    free(in);
    return limited && !own ? cr_must(to, CR_OP_limit, 1, &made, &limit) : made;
}

/* Makes the graph with a ragged length, or with one length for all rows. */
static struct cr_graph *graph_with(struct cr_axes *x, const struct pair *p, bool ragged, cr_id *map)
{
    struct cr_graph *to = cr_graph_new(x->g->name);
    add_length(to, "length0", p->rows, 0);
    add_length(to, "length1", p->most, ragged);
    for (cr_id id = 0; id < x->g->n_nodes; id++)
        map[id] = copy_node(x, p, to, id, map);
    for (int i = 0; i < x->g->n_outputs; i++) {
        const struct cr_output *o = &x->g->outputs[i];
        if (o->state == CR_NONE)
            cr_add_output(to, o->name, map[o->id]);
        else
            cr_add_replacement(to, o->entry, map[o->state], map[o->id]);
    }
    return to;
}

/* True if each op accepts its operands' lengths. */
static bool is_admitted(struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_check_inference(g, id))
            return false;
    return true;
}

/* True if a product's rows are the batch and it sums over the ragged length: each row then becomes
 * a separate product, which may be fused differently. */
static bool sums_rows(const struct cr_graph *g, const struct cr_node *node, cr_id left)
{
    return node->lengths[node->rank - 2] == 1 && g->nodes[left].lengths[node->rank - 1] == 2;
}

/* True if a node has the batch axis twice, so that an element belongs to two rows. */
static bool is_square(const struct cr_node *node)
{
    int batches = 0;
    for (int a = 0; a < node->rank; a++)
        batches += node->lengths[a] == 1;
    return batches > 1;
}

/* True if an op mixes rows of the batch: it works along the batch axis, or has it twice. */
static bool mixes(const struct cr_graph *g, const struct cr_node *node)
{
    const cr_id *in = cr_inputs(g, node);
    if (is_square(node))
        return true;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_REDUCE:
    case CR_KIND_SCAN:
    case CR_KIND_CONCAT:
        return g->nodes[in[0]].lengths[node->axis] == 1;
    case CR_KIND_CONTRACT:
        return g->nodes[in[0]].lengths[g->nodes[in[0]].rank - 1] == 1 ||
               g->nodes[in[1]].lengths[g->nodes[in[1]].rank - 2] == 1 || sums_rows(g, node, in[0]);
    case CR_KIND_GATHER:
        return g->nodes[in[0]].rank && g->nodes[in[0]].lengths[0] == 1;
    case CR_KIND_TAKE:
        return g->nodes[in[0]].lengths[node->axis] == 1;
    case CR_KIND_SCATTER:
        return true;
    default:
        return false;
    }
}

/* Returns for each node whether its rows depend on other rows. */
static bool *find_mixed(const struct cr_graph *g)
{
    bool *mixed = cr_calloc((size_t)g->n_nodes + 1, sizeof *mixed);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        mixed[id] = mixes(g, &g->nodes[id]);
        for (int i = 0; i < g->nodes[id].n_in; i++)
            mixed[id] |= mixed[cr_inputs(g, &g->nodes[id])[i]];
    }
    return mixed;
}

/* ---- data ---- */

/* Returns true if the element at `place` exists: its row of the batch does, and it lies before the
 * end of that row.  Sets *row, or CR_NONE for a node without the batch axis, all of whose elements
 * exist. */
static bool is_there(const struct pair *p, const struct cr_node *node, int64_t place, int64_t *row)
{
    int64_t at[CR_MAX_RANK];
    int batch = CR_NONE;
    for (int a = node->rank - 1; a >= 0; place /= node->shape[a--])
        at[a] = place % node->shape[a];
    for (int a = 0; a < node->rank; a++)
        batch = node->lengths[a] == 1 ? a : batch;
    *row = batch == CR_NONE ? CR_NONE : at[batch];
    for (int a = 0; a < node->rank; a++)
        if ((a == batch && *row >= p->n) ||
            (batch != CR_NONE && *row < p->n && node->lengths[a] == 2 && at[a] >= p->size[*row]))
            return false;
    return true;
}

/* Returns the data of a leaf; past the ends of rows it is NaN or a large number. */
static void *data_of(const struct pair *p, const struct cr_graph *g, cr_id id)
{
    const struct cr_node *leaf = &g->nodes[id];
    uint32_t *data = cr_leaf_data(g, leaf);
    int64_t row;
    for (int64_t i = 0; i < cr_elements(leaf->rank, leaf->shape); i++)
        if (!is_there(p, leaf, i, &row))
            data[i] = leaf->dtype == CR_I32 ? 0x7f7f7f7f : 0x7fc0beef;
    return data;
}

static struct cr_case *case_of(struct cr_subject *s, const struct pair *p, struct cr_graph *g)
{
    struct cr_case *c = cr_calloc(1, sizeof *c);
    c->graph = g;
    c->n = c->cap = g->n_nodes;
    c->data = cr_calloc((size_t)g->n_nodes + 1, sizeof *c->data);
    c->bounds = cr_calloc((size_t)g->n_nodes + 1, sizeof *c->bounds);
    for (cr_id id = 0, from = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (id < 2) {
            int32_t *value = c->data[id] = cr_calloc(MOST_ROWS, sizeof *value);
            *value = p->n;
            if (id == 1)
                memcpy(value, p->size, sizeof p->size);
        } else if (node->op == CR_OP_literal) {
            while (s->c->graph->nodes[from].op != CR_OP_literal)
                from++;
            size_t bytes = (size_t)cr_elements(node->rank, node->shape) * 4;
            c->data[id] = cr_calloc(1, bytes);
            memcpy(c->data[id], s->c->data[from++], bytes);
        } else if (node->name) {
            c->data[id] = data_of(p, g, id);
        }
    }
    return c;
}

/* ---- comparing ---- */

/* Compares an element of an output in both runs, or checks that it was not written if it is past
 * the end of its row. */
static bool check_element(const struct cr_case *c, const struct cr_outputs *one,
                          const struct cr_outputs *o, int i, int64_t place, bool there,
                          struct cr_report *report)
{
    bool number = c->graph->nodes[c->graph->outputs[i].id].dtype != CR_I32;
    float x = one->data[i][place], y = o->data[i][place];
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    if (!there)
        return bits == 0x7fc0dead || cr_found(report, "ragged: output %s: number %" PRId64
                                              ", past the end of a row, was written",
                                              o->port[i]->name, place);
    return memcmp(&x, &y, sizeof x) == 0 || (number && isnan(x) && isnan(y)) ||
           cr_found(report, "ragged: output %s, element %" PRId64 ": %.9g, expected the bits of %.9g",
                    o->port[i]->name, place, (double)y, (double)x);
}

/* Compares a row of all outputs whose rows do not depend on other rows. */
static bool check_row(const struct pair *p, const struct cr_case *c, const bool *mixed, int row,
                      const struct cr_outputs *one, const struct cr_outputs *o,
                      struct cr_report *report)
{
    for (int i = 0; i < o->n_results; i++) {
        const struct cr_node *node = &c->graph->nodes[c->graph->outputs[i].id];
        int64_t of;
        if (mixed[c->graph->outputs[i].id])
            continue;
        for (int64_t j = 0; j < o->floats[i]; j++) {
            bool there = is_there(p, node, j, &of);
            if (of == row && !check_element(c, one, o, i, j, there, report))
                return false;
        }
    }
    return true;
}

static bool compile(struct cr_case *c, struct cr_compiled *compiled, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = cr_program_of(cr_graph_copy(c->graph), NULL, &error);
    if (!program)
        return cr_found(report, "ragged: refused: %.400s", error.text);
    return cr_compile_program(compiled, program, cr_compile_tcc, report);
}

/* Runs the case with one length for all rows, once for the length of each row, and compares that
 * row. */
static bool compare_rows(const struct pair *p, struct cr_case *c, const bool *mixed,
                         const struct cr_outputs *o, struct cr_case *plain, struct cr_report *report)
{
    struct cr_compiled compiled;
    struct cr_outputs one;
    if (!compile(plain, &compiled, report))
        return false;
    bool good = true;
    for (int row = 0; row < p->n && good; row++) {
        *(int32_t *)plain->data[1] = p->size[row];
        good = cr_run(plain, &compiled, NULL, 1, &one, report);
        if (!good)
            break;
        good = check_row(p, c, mixed, row, &one, o, report);
        cr_outputs_free(&one);
    }
    cr_compiled_free(&compiled);
    return good;
}

static bool compare(struct cr_subject *s, const struct pair *p, struct cr_case *c,
                    struct cr_case *plain, struct cr_report *report)
{
    struct cr_compiled compiled;
    struct cr_outputs o;
    const char *isa = cr_pick(s, 3) ? NULL : "plain";
    if (!compile(c, &compiled, report))
        return false;
    bool good = cr_run(c, &compiled, isa, 1 + (int)cr_pick(s, 3), &o, report);
    if (good) {
        bool *mixed = find_mixed(c->graph);
        good = compare_rows(p, c, mixed, &o, plain, report);
        free(mixed);
        cr_outputs_free(&o);
    }
    cr_compiled_free(&compiled);
    return good;
}

/* ---- the interpreter ---- */

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
    int status = cr_interpret_lengths(g, params, inputs, outputs, rounded, &error);
    for (int i = 0; i < g->n_outputs; i++)
        free(rounded[i]);
    free(rounded);
    free(params);
    free(inputs);
    return status == 0 || cr_found(report, "ragged: interpreter: %.500s", error.text);
}

static void free_numbers(const struct cr_graph *g, double **outputs)
{
    for (int i = 0; i < g->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

/* Checks that the interpreter gives the same numbers for a row as if all rows had its length. */
static bool compare_interpreted(const struct pair *p, const struct cr_case *c,
                                const struct cr_case *plain, int row, struct cr_report *report)
{
    const struct cr_graph *g = c->graph;
    double **outputs = cr_calloc((size_t)g->n_outputs + 1, sizeof *outputs);
    double **expected = cr_calloc((size_t)g->n_outputs + 1, sizeof *expected);
    bool *mixed = find_mixed(g);
    *(int32_t *)plain->data[1] = p->size[row];
    bool good = interpret(c, outputs, report) && interpret(plain, expected, report);
    for (int i = 0; i < cr_n_results(g) && good; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        int64_t of;
        for (int64_t j = 0; !mixed[g->outputs[i].id] && j < cr_elements(node->rank, node->shape); j++) {
            bool there = is_there(p, node, j, &of);
            double x = expected[i][j], y = outputs[i][j];
            if (there && of == row && good && x != y && !(isnan(x) && isnan(y)))
                good = cr_found(report, "ragged: interpreter: output %s, element %" PRId64
                                ": %.17g, expected %.17g", g->outputs[i].name, j, y, x);
        }
    }
    free(mixed);
    free_numbers(g, outputs);
    free_numbers(g, expected);
    return good;
}

/* ---- all of it ---- */

/* Puts the lengths before the text of a finding. */
static bool prefix_with_lengths(const struct pair *p, struct cr_report *report)
{
    char text[sizeof report->text], sizes[100];
    int at = 0;
    memcpy(text, report->text, sizeof text);
    for (int i = 0; i < p->n && at < 90; i++)
        at += snprintf(sizes + at, sizeof sizes - (size_t)at, "%s%d", i ? ", " : "", p->size[i]);
    return cr_found(report, "rows of %s up to %" PRId64 ": %.440s", sizes, p->most, text);
}

bool cr_oracle_ragged(struct cr_subject *s, struct cr_report *report)
{
    struct cr_axes x;
    struct pair p;
    bool good = true, found = false;
    cr_find_axes(&x, s->c->graph);
    for (int tries = 0; tries < 40 && !found && is_small(s->c->graph); tries++) {
        if (!choose(s, &x, &p))
            continue;
        cr_id *map = cr_calloc((size_t)s->c->graph->n_nodes + 1, sizeof *map);
        struct cr_graph *ragged = graph_with(&x, &p, true, map);
        found = is_admitted(ragged);
        if (found) {
            struct cr_case *plain = case_of(s, &p, graph_with(&x, &p, false, map));
            struct cr_case *c = case_of(s, &p, ragged);
            good = (compare_interpreted(&p, c, plain, (int)cr_pick(s, p.n), report) &&
                    compare(s, &p, c, plain, report)) ||
                   prefix_with_lengths(&p, report);
            cr_case_free(plain);
            cr_case_free(c);
        } else {
            cr_graph_free(ragged);
        }
        free(map);
    }
    cr_free_axes(&x);
    return good;
}
