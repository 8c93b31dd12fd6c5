/* Oracles: the interpreter, the error bounds of a graph, and gradients by finite differences. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "compiler/ir/mem.h"
#include "leaves.h"
#include "oracles.h"

bool cr_oracle_bounds(struct cr_subject *s, struct cr_report *report)
{
    for (int i = 0; i < s->expected.n; i++)
        if (!cr_check_bounds(s->c, s->c->graph->outputs[i].id, &s->expected, i, "tcc", report))
            return false;
    return true;
}

/* ---- the interpreter ---- */

/* Runs the interpreter; the caller frees outputs[i]. */
static bool interpret(const struct cr_case *c, double **outputs, struct cr_report *report)
{
    const struct cr_graph *g = c->graph;
    const float **params = cr_calloc((size_t)g->n_nodes + 1, sizeof *params);
    const void **inputs = cr_calloc((size_t)g->n_nodes + 1, sizeof *inputs);
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
        outputs[i] = cr_calloc((size_t)cr_elements(node->rank, node->shape), sizeof(double));
    }
    int status = cr_interpret(g, params, inputs, outputs, &error);
    free(params);
    free(inputs);
    return status == 0 || cr_found(report, "interpreter: %.500s", error.text);
}

/* Checks that the interpreter agrees with the fuzzer's own evaluation to the precision of
 * double. */
bool cr_oracle_interpreter(struct cr_subject *s, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    double **outputs = cr_calloc((size_t)g->n_outputs + 1, sizeof *outputs);
    bool good = interpret(s->c, outputs, report);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        const struct cr_bounds *b = &s->c->bounds[g->outputs[i].id];
        int64_t n = good ? cr_elements(node->rank, node->shape) : 0;
        for (int64_t j = 0; j < n && good; j++)
            if (b->error[j] < 1 && !cr_bounds_hold(b, j, outputs[i][j], 1e-6))
                good = cr_found(
                    report, "interpreter: output %s, element %" PRId64 ": %.17g, expected %.17g",
                    g->outputs[i].name, j, outputs[i][j], b->value[j]);
        free(outputs[i]);
    }
    free(outputs);
    return good;
}

/* ---- gradients by finite differences ---- */

enum { MOST_WORK = 10000 /* elements of all nodes */ };

/* The loss, a sum of the outputs weighted by cotangents, as a function of a step along a direction
 * of one leaf. */
struct slope {
    struct cr_case *c; /* its graph has cotangents and gradients */
    int n_forward;     /* number of nodes of the forward pass */
    cr_id leaf;
    const struct cr_seed *seeds;
    int n_seeds;
};

static int64_t elements_of(const struct cr_graph *g, cr_id id)
{
    return cr_elements(g->nodes[id].rank, g->nodes[id].shape);
}

static double direction(const struct slope *s, int64_t i)
{
    uint64_t state = (uint64_t)s->leaf * 977 + (uint64_t)i;
    return (double)(cr_next_number(&state) >> 11) * 0x1p-52 - 1;
}

/* Returns the sum of a node's elements if its op jumps between whole numbers, as floor does; else
 * 0. */
static double steps_of(const struct cr_graph *g, const struct cr_bounds *all, cr_id id)
{
    enum cr_op op = g->nodes[id].op;
    double sum = 0;
    if (op != CR_OP_floor && op != CR_OP_round && op != CR_OP_int && op != CR_OP_floor_divide &&
        op != CR_OP_remainder)
        return 0;
    for (int64_t i = 0; i < elements_of(g, id); i++)
        sum += op == CR_OP_remainder
                   ? floor(all[cr_in(g, id, 0)].value[i] / all[cr_in(g, id, 1)].value[i])
                   : all[id].value[i];
    return sum;
}

/* Returns the loss after a step along the direction; detached values keep their values of before
 * the step. *steps becomes the sum of results of ops such as floor, which shows a jump. */
static double loss(const struct slope *s, double step, double *steps)
{
    const struct cr_graph *g = s->c->graph;
    struct cr_bounds *all = cr_calloc((size_t)s->n_forward, sizeof *all);
    double sum = 0;
    for (cr_id id = 0; id < s->n_forward; id++) {
        cr_bounds_add_exact(g, id, s->c->data[id], all);
        for (int64_t i = 0; id == s->leaf && i < elements_of(g, id); i++)
            all[id].value[i] += step * direction(s, i);
        if (g->nodes[id].op == CR_OP_detach)
            memcpy(all[id].value, s->c->bounds[id].value,
                   (size_t)elements_of(g, id) * sizeof(double));
        *steps += steps_of(g, all, id);
    }
    for (int i = 0; i < s->n_seeds; i++)
        for (int64_t j = 0; j < elements_of(g, s->seeds[i].id); j++)
            sum += all[s->seeds[i].id].value[j] * s->c->bounds[s->seeds[i].cotangent].value[j];
    for (cr_id id = 0; id < s->n_forward; id++)
        cr_bounds_free(&all[id]);
    free(all);
    return sum;
}

/*
 * True if a gradient agrees with finite differences, or if these prove nothing: at a kink, where
 * the slopes to the left and to the right do not approach each other, where a value is not
 * finite, and where an op such as floor jumps.  Room for half the bend allows for a kink that is
 * not noticed.
 */
static bool agrees(const struct slope *s, cr_id gradient, struct cr_report *report)
{
    const double h = 0x1p-12;
    double steps[5] = {0}, slope = 0, size = 0;
    double here = loss(s, 0, &steps[0]), up = loss(s, h, &steps[1]), down = loss(s, -h, &steps[2]);
    double up2 = loss(s, h / 2, &steps[3]), down2 = loss(s, -h / 2, &steps[4]);
    double coarse = (up - down) / (2 * h), fine = (up2 - down2) / h;
    double bend = fabs(up + down - 2 * here) / h, bend2 = fabs(up2 + down2 - 2 * here) * 2 / h;
    for (int64_t i = 0; i < elements_of(s->c->graph, gradient); i++) {
        double term = s->c->bounds[gradient].value[i] * direction(s, i);
        slope += term;
        size += fabs(term);
    }
    for (int i = 1; i < 5; i++)
        if (steps[i] != steps[0])
            return true;
    double room = 4 * fabs(coarse - fine) + bend2 + 1e-6 * (size + fabs(here)) + 1e-9;
    if (!isfinite(slope) || !isfinite(room) || !isfinite(fine) || bend2 > 0.7 * bend + room / 16 ||
        fabs(slope - fine) <= room)
        return true;
    return cr_found(report, "gradient of v[%d]: slope %.9g, differences say %.9g +- %.2g",
                    (int)s->leaf, slope, fine, room);
}

/* Adds an input as cotangent for each f32 output. */
static int add_seeds(struct cr_graph *g, struct cr_seed *seeds)
{
    int n = 0;
    for (int i = 0; i < cr_n_results(g); i++) {
        struct cr_attr attr = cr_attr_of(&g->nodes[g->outputs[i].id]);
        char name[32];
        snprintf(name, sizeof name, "cotangent%d", i);
        attr.name = name;
        attr.init = CR_INIT_UNIFORM;
        attr.value = 0;
        if (attr.dtype == CR_F32)
            seeds[n++] =
                (struct cr_seed){g->outputs[i].id, cr_must(g, CR_OP_input, 0, NULL, &attr)};
    }
    return n;
}

static bool check_gradient(struct cr_subject *s, cr_id leaf, struct cr_report *report)
{
    struct cr_graph *g = cr_graph_copy(s->c->graph);
    struct cr_seed *seeds = cr_calloc((size_t)g->n_outputs + 1, sizeof *seeds);
    struct slope slope = {.n_forward = g->n_nodes, .leaf = leaf, .seeds = seeds};
    cr_id gradient;
    slope.n_seeds = add_seeds(g, seeds);
    cr_add_gradients(g, slope.n_seeds, seeds, 1, &leaf, &gradient);
    slope.c = cr_case_of(g);
    bool good =
        slope.c->extreme || agrees(&slope, gradient, report); /* steps suit numbers near 1 */
    cr_case_free(slope.c);
    free(seeds);
    return good;
}

/* True if a comparison compares equal floats: a step of any size changes its result, and the branch
 * that it selects has another gradient. */
static bool compares_equals(const struct cr_case *c, cr_id id)
{
    const struct cr_graph *g = c->graph;
    if (cr_kind_of(g, id) != CR_KIND_ELEMENTWISE ||
        cr_ops[g->nodes[id].op].rule != CR_RULE_COMPARE ||
        g->nodes[cr_in(g, id, 0)].dtype != CR_F32)
        return false;
    const double *a = c->bounds[cr_in(g, id, 0)].value, *b = c->bounds[cr_in(g, id, 1)].value;
    for (int64_t i = 0; i < elements_of(g, id); i++)
        if (a[i] == b[i])
            return true;
    return false;
}

bool cr_oracle_gradient(struct cr_subject *s, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    int64_t work = 0;
    int n = 0;
    cr_id leaves[64];
    for (cr_id id = 0; id < g->n_nodes; id++) {
        work += elements_of(g, id);
        if (compares_equals(s->c, id))
            return true;
        if (g->nodes[id].name && g->nodes[id].dtype == CR_F32 && n < 64)
            leaves[n++] = id;
    }
    return !n || work > MOST_WORK || check_gradient(s, leaves[cr_pick(s, n)], report);
}
