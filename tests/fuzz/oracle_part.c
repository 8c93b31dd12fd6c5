/*
 * Oracle: a part of an output (one batch, some rows) has the same bits computed alone as together
 * with the rest.
 *
 * A graph for the part is made by handing "elements start .. start + size along this axis" from
 * the output back to the leaves.  Where an op mixes elements along the axis nothing is said.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "oracles.h"

/* A range of a node: elements start .. start + size along an axis. */
struct range {
    cr_id id;
    int axis;
    int64_t start, size;
};

/* The node in the part's graph that computes a range. */
struct part {
    struct range range;
    cr_id made;
};

struct parting {
    const struct cr_graph *from;
    struct cr_graph *to;
    cr_id *whole; /* by node of `from`: the node of `to` that computes all of it, or CR_NONE */
    struct part *parts;
    int n, cap;
    int budget;
    bool trivial; /* a movement op moves nothing in one of the graphs, so rewrites may differ */
};

static cr_id part_of(struct parting *p, struct range r);

static cr_id whole_of(struct parting *p, cr_id id)
{
    const struct cr_node *node = &p->from->nodes[id];
    if (p->whole[id] != CR_NONE)
        return p->whole[id];
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    for (int i = 0; i < node->n_in; i++)
        in[i] = whole_of(p, cr_inputs(p->from, node)[i]);
    p->whole[id] = cr_graph_copy_node(p->to, p->from, id, in);
    free(in);
    return p->whole[id];
}

/* Adds a copy of a node on the given operands.  Its axis r->axis has the size of the range. */
static cr_id narrowed(struct parting *p, const struct range *r, const cr_id *in)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    struct cr_attr attr = cr_attr_of(node);
    attr.shape[r->axis] = r->size;
    return cr_build(p->to, node->op, node->n_in, in, &attr);
}

static cr_id part_of_leaf(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    if (node->op == CR_OP_const)
        return narrowed(p, r, NULL);
    if (node->op == CR_OP_iota)
        return node->axis == r->axis && r->start ? CR_NONE : narrowed(p, r, NULL);
    struct cr_attr attr = cr_attr_of(node);
    memset(attr.index, 0, sizeof attr.index);
    attr.index[r->axis] = r->start;
    attr.shape[r->axis] = r->size;
    cr_id in = whole_of(p, r->id);
    return cr_build(p->to, CR_OP_slice, 1, &in, &attr);
}

/* Adds a node on the same range of every operand. */
static cr_id part_of_all(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    cr_id in[8];
    if (node->n_in > 8)
        return CR_NONE;
    for (int i = 0; i < node->n_in; i++) {
        struct range below = *r;
        below.id = cr_inputs(p->from, node)[i];
        if ((in[i] = part_of(p, below)) == CR_NONE)
            return CR_NONE;
    }
    return narrowed(p, r, in);
}

/* A range of a product's rows is that range of the left operand's rows.  Ranges of columns are not
 * tested: simplify and join may choose other rewrites for fewer columns. */
static cr_id part_of_product(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    cr_id in[2];
    if (r->axis == node->rank - 1)
        return CR_NONE;
    for (int i = 0; i < 2; i++) {
        struct range below = *r;
        below.id = cr_inputs(p->from, node)[i];
        bool cut = r->axis < node->rank - 2 || i == 0;
        in[i] = cut ? part_of(p, below) : whole_of(p, below.id);
        if (in[i] == CR_NONE)
            return CR_NONE;
    }
    return narrowed(p, r, in);
}

/* Returns an axis of the operand with the same size, and the same number of elements before it, as
 * an axis of the result. */
static int same_axis(const struct cr_node *out, const struct cr_node *in, int axis)
{
    int64_t before = cr_elements(axis, out->shape);
    for (int i = 0; i < in->rank; i++)
        if (cr_elements(i, in->shape) == before && in->shape[i] == out->shape[axis])
            return i;
    return -1;
}

static void note_trivial(struct parting *p, const struct cr_node *node, cr_id made)
{
    const struct cr_node *in = &p->from->nodes[cr_inputs(p->from, node)[0]];
    p->trivial |= made != CR_NONE && !cr_same_shape(node, in) &&
                  cr_same_shape(&p->to->nodes[made], &p->to->nodes[cr_in(p->to, made, 0)]);
}

static cr_id part_of_move(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    struct range below = {cr_inputs(p->from, node)[0], r->axis, r->start, r->size};
    const struct cr_node *in = &p->from->nodes[below.id];
    cr_id made;
    if (node->op == CR_OP_permute)
        below.axis = (int)node->index[r->axis];
    if (node->op == CR_OP_slice)
        below.start += node->index[r->axis];
    if (node->op == CR_OP_reshape)
        below.axis = same_axis(node, in, r->axis);
    if (node->op == CR_OP_expand)
        below.axis -= node->rank - in->rank;
    bool repeated = node->op == CR_OP_expand &&
                    (below.axis < 0 || in->shape[below.axis] != node->shape[r->axis]);
    if (below.axis < 0 && !repeated)
        return CR_NONE;
    made = repeated ? whole_of(p, below.id) : part_of(p, below);
    if (made == CR_NONE)
        return CR_NONE;
    struct cr_attr attr = cr_attr_of(node);
    attr.index[r->axis] = 0;
    attr.shape[r->axis] = r->size;
    made = node->op == CR_OP_slice ? cr_build(p->to, CR_OP_slice, 1, &made, &attr)
                                   : narrowed(p, r, &made);
    note_trivial(p, node, made);
    return made;
}

static cr_id part_of_gather(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    const cr_id *ids = cr_inputs(p->from, node);
    int axes = p->from->nodes[ids[1]].rank;
    struct range below = {ids[r->axis < axes], r->axis, r->start, r->size};
    if (r->axis >= axes)
        below.axis = r->axis - axes + 1;
    cr_id part = part_of(p, below);
    if (part == CR_NONE)
        return CR_NONE;
    /* a gather of all rows in order is no movement; of some rows it is a slice */
    p->trivial |= r->axis < axes && cr_same_shape(node, &p->from->nodes[ids[0]]) &&
                  cr_kind_of(p->from, ids[1]) == CR_KIND_LEAF;
    cr_id table = r->axis < axes ? whole_of(p, ids[0]) : part;
    cr_id index = r->axis < axes ? part : whole_of(p, ids[1]);
    return narrowed(p, r, (cr_id[]){table, index});
}

/* Returns the node for a range of a write, along an axis other than that of the written rows. */
static cr_id part_of_write(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    cr_id in[3] = {CR_NONE};
    for (int i = 0; i < 2 && r->axis != node->axis; i++) {
        struct range below = *r;
        below.id = cr_inputs(p->from, node)[i];
        if ((in[i] = part_of(p, below)) == CR_NONE)
            return CR_NONE;
    }
    if (in[0] == CR_NONE)
        return CR_NONE;
    in[2] = whole_of(p, cr_inputs(p->from, node)[2]);
    return narrowed(p, r, in);
}

static cr_id part_by_kind(struct parting *p, const struct range *r)
{
    const struct cr_node *node = &p->from->nodes[r->id];
    switch (cr_ops[node->op].kind) {
    case CR_KIND_LEAF:
        return part_of_leaf(p, r);
    case CR_KIND_ELEMENTWISE:
        return part_of_all(p, r);
    case CR_KIND_REDUCE:
    case CR_KIND_CONCAT:
    case CR_KIND_SCAN:
        return r->axis == node->axis ? CR_NONE : part_of_all(p, r);
    case CR_KIND_CONTRACT:
        return part_of_product(p, r);
    case CR_KIND_MOVE:
        return part_of_move(p, r);
    case CR_KIND_GATHER:
        return part_of_gather(p, r);
    case CR_KIND_WRITE:
        return part_of_write(p, r);
    default:
        return CR_NONE;
    }
}

/* Makes the node of a range, with the line, scope and pass of the whole node, on which rewrites may
 * depend. */
static cr_id make_part(struct parting *p, const struct range *r)
{
    cr_id made = part_by_kind(p, r);
    if (made != CR_NONE) {
        cr_graph_origin(p->to, p->from, r->id);
        p->to->nodes[made].where = p->to->here;
    }
    return made;
}

/* Returns the range of a node in the new graph, or CR_NONE. */
static cr_id part_of(struct parting *p, struct range r)
{
    if (r.size == p->from->nodes[r.id].shape[r.axis])
        return whole_of(p, r.id);
    for (int i = 0; i < p->n; i++)
        if (p->parts[i].range.id == r.id && p->parts[i].range.axis == r.axis &&
            p->parts[i].range.start == r.start)
            return p->parts[i].made;
    if (p->budget-- < 0)
        return CR_NONE;
    cr_id made = make_part(p, &r);
    *CR_PUSH(p->parts, p->n, p->cap) = (struct part){r, made};
    return made;
}

/* True if a value is needed whole and in part, or in two parts, as if it is added to its transpose.
 * It is then computed twice, and rewrites may treat the two differently. */
static bool needs_both(const struct parting *p)
{
    for (int i = 0; i < p->n; i++) {
        cr_id id = p->parts[i].range.id;
        if (cr_kind_of(p->from, id) == CR_KIND_LEAF)
            continue;
        if (p->whole[id] != CR_NONE)
            return true;
        for (int j = 0; j < i; j++)
            if (p->parts[j].range.id == id)
                return true;
    }
    return false;
}

/* Makes the graph of a part of one output, or returns null. */
static struct cr_graph *graph_of(const struct cr_graph *g, const char *name, struct range r)
{
    struct parting p = {.from = g, .to = cr_graph_new(g->name), .budget = 1000};
    p.whole = cr_calloc((size_t)g->n_nodes, sizeof *p.whole);
    for (cr_id id = 0; id < g->n_nodes; id++)
        p.whole[id] = CR_NONE;
    cr_id made = part_of(&p, r);
    if (p.trivial || needs_both(&p))
        made = CR_NONE;
    free(p.whole);
    free(p.parts);
    if (made == CR_NONE) {
        cr_graph_free(p.to);
        return NULL;
    }
    cr_add_output(p.to, name, made);
    return p.to;
}

static bool same_bits(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Compares the part with the same elements of the whole output. */
static bool compare(const struct cr_node *node, const struct range *r, const float *whole,
                    const float *part, struct cr_report *report)
{
    int64_t inner = cr_elements(node->rank - r->axis - 1, node->shape + r->axis + 1);
    int64_t outer = cr_elements(r->axis, node->shape), n = r->size * inner;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++) {
            float x = whole[(o * node->shape[r->axis] + r->start) * inner + i];
            if (!same_bits(x, part[o * n + i]))
                return cr_found(
                    report,
                    "%" PRId64 " from %" PRId64 " on of axis %d of v[%d]: element %" PRId64
                    ": %.9g, expected the bits of %.9g",
                    r->size, r->start, r->axis + 1, (int)r->id, o * n + i, (double)part[o * n + i],
                    (double)whole[(o * node->shape[r->axis] + r->start) * inner + i]);
        }
    return true;
}

/* Runs another graph and frees it. */
static bool run_graph(struct cr_subject *s, struct cr_graph *g, struct cr_outputs *o,
                      struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_compiled other;
    struct cr_program *program = cr_program_of(g, NULL, &error);
    if (!program)
        return cr_found(report, "refused: %.500s", error.text);
    if (!cr_compile_program(&other, program, cr_compile_tcc, report))
        return false;
    bool good = cr_run(s->c, &other, NULL, 1, o, report);
    cr_compiled_free(&other);
    return good;
}

/* Compares a range with the whole output, which is run alone first, as other outputs may change
 * which kernels compute it. */
static bool check_part(struct cr_subject *s, int output, struct range r, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    struct cr_outputs whole = {0}, o = {0};
    struct range all = {r.id, r.axis, 0, g->nodes[r.id].shape[r.axis]};
    struct cr_graph *part = graph_of(g, g->outputs[output].name, r);
    if (!part)
        return true;
    bool good = run_graph(s, part, &o, report);
    if (good && g->n_outputs > 1)
        good = run_graph(s, graph_of(g, g->outputs[output].name, all), &whole, report);
    if (good)
        good =
            compare(&g->nodes[r.id], &r,
                    g->n_outputs > 1 ? whole.data[0] : s->expected.data[output], o.data[0], report);
    cr_outputs_free(&whole);
    cr_outputs_free(&o);
    return good;
}

bool cr_oracle_part(struct cr_subject *s, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    int output = (int)cr_pick(s, g->n_outputs);
    const struct cr_node *node = &g->nodes[g->outputs[output].id];
    struct range r = {.id = g->outputs[output].id};
    if (node->rank < 2)
        return true;
    r.axis = (int)cr_pick(s, node->rank - 1);
    int64_t all = node->shape[r.axis];
    if (all < 2)
        return true;
    r.size = cr_pick(s, 2) ? 1 : 1 + cr_pick(s, all - 1);
    r.start = cr_pick(s, 2) ? 0 : cr_pick(s, all - r.size + 1);
    return check_part(s, output, r, report);
}
