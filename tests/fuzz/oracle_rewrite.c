/* Oracles: the same graph with additions that do not change results: dead nodes, identities, a
 * search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "oracles.h"

/* The copy of a case's graph: map[id] is the node that users of node id read, which may be an inserted one;
 * copied[id] is the plain copy of the node. */
struct copying {
    struct cr_subject *s;
    const struct cr_graph *from;
    struct cr_graph *to;
    cr_id *map, *copied;
};

static struct copying copying_begin(struct cr_subject *s)
{
    const struct cr_graph *g = s->c->graph;
    struct copying c = {s, g, cr_graph_new(g->name), NULL, NULL};
    c.map = cr_calloc((size_t)g->n_nodes, sizeof *c.map);
    c.copied = cr_calloc((size_t)g->n_nodes, sizeof *c.copied);
    return c;
}

static void copy_node(struct copying *c, cr_id id)
{
    const struct cr_node *node = &c->from->nodes[id];
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    for (int i = 0; i < node->n_in; i++)
        in[i] = c->map[cr_inputs(c->from, node)[i]];
    c->map[id] = c->copied[id] = cr_graph_copy_node(c->to, c->from, id, in);
    if (c->map[id] == CR_NONE)
        abort();
    free(in);
}

static struct cr_graph *copying_end(struct copying *c)
{
    const struct cr_graph *g = c->from;
    for (int i = 0; i < cr_n_results(g); i++)
        cr_add_output(c->to, g->outputs[i].name, c->map[g->outputs[i].id]);
    for (int i = cr_n_results(g); i < g->n_outputs; i++)
        cr_add_replacement(c->to, g->outputs[i].entry, c->copied[g->outputs[i].state], c->map[g->outputs[i].id]);
    free(c->map);
    free(c->copied);
    return c->to;
}

/* Checks that the changed graph gives the same results. */
static bool check_rewritten(struct cr_subject *s, struct cr_graph *g, bool same, const char *how,
                            struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_compiled other;
    struct cr_outputs o;
    struct cr_program *program = cr_program_of(g, NULL, &error);
    if (!program)
        return cr_found(report, "%s: %.400s", how, error.text);
    if (cr_same_program(program, s->plain.program)) {
        cr_program_free(program);
        return true;
    }
    if (!cr_compile_program(&other, program, cr_compile_tcc, report))
        return false;
    bool good = cr_run(s->c, &other, NULL, 1, &o, report);
    if (good && same)
        good = cr_check_same(&s->expected, &o, how, report);
    for (int i = 0; good && !same && i < o.n; i++)
        good = cr_check_bounds(s->c, s->c->graph->outputs[i].id, &o, i, how, report);
    cr_outputs_free(&o);
    cr_compiled_free(&other);
    return good;
}

/* ---- dead nodes ---- */

/* Adds a few dead nodes that read x. */
static void add_dead(struct copying *c, cr_id x)
{
    for (int i = 0; i < 4; i++) {
        const struct cr_node *node = &c->to->nodes[x];
        enum cr_op op = (enum cr_op)cr_pick(c->s, CR_OP_COUNT);
        struct cr_attr attr = {.axis = node->rank ? (int)cr_pick(c->s, node->rank) : 0};
        bool fits = cr_ops[op].kind == CR_KIND_ELEMENTWISE || cr_ops[op].kind == CR_KIND_REDUCE;
        cr_id y = fits ? cr_build(c->to, op, cr_ops[op].arity, (cr_id[]){x, x, x}, &attr) : CR_NONE;
        x = y == CR_NONE ? x : y;
    }
}

bool cr_oracle_dead(struct cr_subject *s, struct cr_report *report)
{
    struct copying c = copying_begin(s);
    cr_id first = (cr_id)cr_pick(s, c.from->n_nodes), second = (cr_id)cr_pick(s, first + 1);
    for (cr_id id = 0; id < c.from->n_nodes; id++) {
        copy_node(&c, id);
        if (id == first || id == second)
            add_dead(&c, c.map[id]);
    }
    return check_rewritten(s, copying_end(&c), true, "with dead nodes", report);
}

/* ---- identities ---- */

static cr_id number_like(struct cr_graph *g, cr_id id, enum cr_dtype dtype, double value)
{
    struct cr_attr attr = cr_attr_of(&g->nodes[id]);
    attr.dtype = dtype;
    attr.value = value;
    attr.name = NULL;
    return cr_must(g, CR_OP_const, 0, NULL, &attr);
}

static cr_id make2(struct cr_graph *g, enum cr_op op, cr_id a, cr_id b)
{
    return cr_must(g, op, 2, (cr_id[]){a, b}, NULL);
}

static cr_id times_one(struct cr_graph *g, cr_id x)
{
    return make2(g, CR_OP_mul, x, number_like(g, x, g->nodes[x].dtype, 1));
}

static cr_id minus_zero(struct cr_graph *g, cr_id x)
{
    return make2(g, CR_OP_sub, x, number_like(g, x, g->nodes[x].dtype, 0));
}

static cr_id plus_zero(struct cr_graph *g, cr_id x)
{
    return make2(g, CR_OP_add, x, number_like(g, x, g->nodes[x].dtype, 0));
}

static cr_id negated_twice(struct cr_graph *g, cr_id x)
{
    cr_id y = cr_must(g, CR_OP_neg, 1, &x, NULL);
    return cr_must(g, CR_OP_neg, 1, &y, NULL);
}

static cr_id largest_of_itself(struct cr_graph *g, cr_id x)
{
    return make2(g, CR_OP_maximum, x, x);
}

static cr_id transposed_twice(struct cr_graph *g, cr_id x)
{
    struct cr_attr attr = {0};
    int rank = g->nodes[x].rank;
    for (int i = 0; i < rank; i++)
        attr.index[i] = rank - 1 - i;
    cr_id y = cr_must(g, CR_OP_permute, 1, &x, &attr);
    return cr_must(g, CR_OP_permute, 1, &y, &attr);
}

static cr_id reshaped_twice(struct cr_graph *g, cr_id x)
{
    struct cr_attr back = cr_attr_of(&g->nodes[x]);
    struct cr_attr flat = {.rank = 1, .shape = {cr_elements(back.rank, back.shape)}};
    cr_id y = cr_must(g, CR_OP_reshape, 1, &x, &flat);
    return cr_must(g, CR_OP_reshape, 1, &y, &back);
}

static cr_id sliced_whole(struct cr_graph *g, cr_id x)
{
    struct cr_attr attr = cr_attr_of(&g->nodes[x]);
    memset(attr.index, 0, sizeof attr.index);
    return cr_must(g, CR_OP_slice, 1, &x, &attr);
}

/* Slices x in two and concatenates the parts. */
static cr_id cut_and_joined(struct cr_graph *g, cr_id x)
{
    struct cr_attr low = cr_attr_of(&g->nodes[x]), high = low;
    memset(low.index, 0, sizeof low.index);
    memset(high.index, 0, sizeof high.index);
    if (low.rank == 0 || low.shape[0] < 2)
        return x;
    low.shape[0] /= 2;
    high.shape[0] -= low.shape[0];
    high.index[0] = low.shape[0];
    cr_id parts[2] = {cr_must(g, CR_OP_slice, 1, &x, &low), cr_must(g, CR_OP_slice, 1, &x, &high)};
    return cr_must(g, CR_OP_concat, 2, parts, &(struct cr_attr){.axis = 0});
}

static cr_id equal_branches(struct cr_graph *g, cr_id x)
{
    cr_id condition = make2(g, CR_OP_lt, x, number_like(g, x, g->nodes[x].dtype, 1));
    return cr_must(g, CR_OP_where, 3, (cr_id[]){condition, x, x}, NULL);
}

static cr_id chosen_anyway(struct cr_graph *g, cr_id x)
{
    cr_id condition = number_like(g, x, CR_BOOL, 1);
    return cr_must(g, CR_OP_where, 3, (cr_id[]){condition, x, minus_zero(g, x)}, NULL);
}

static cr_id summed_alone(struct cr_graph *g, cr_id x)
{
    struct cr_attr back = cr_attr_of(&g->nodes[x]), wide = back;
    if (wide.rank == CR_MAX_RANK)
        return x;
    wide.shape[wide.rank++] = 1;
    cr_id y = cr_must(g, CR_OP_reshape, 1, &x, &wide);
    y = cr_must(g, CR_OP_sum, 1, &y, &(struct cr_attr){.axis = wide.rank - 1});
    return cr_must(g, CR_OP_reshape, 1, &y, &back);
}

/* Arithmetic identities, such as x * 1.  With those that simplify removes, bits must not change. */
static const struct {
    const char *name;
    cr_id (*make)(struct cr_graph *g, cr_id x);
    bool same;
} identities[] = {
    {"times one", times_one, true},
    {"minus zero", minus_zero, false},
    {"plus zero", plus_zero, false},
    {"negated twice", negated_twice, true},
    {"the larger of itself", largest_of_itself, false},
    {"transposed twice", transposed_twice, true},
    {"reshaped twice", reshaped_twice, true},
    {"sliced whole", sliced_whole, true},
    {"cut and joined", cut_and_joined, false},
    {"equal branches", equal_branches, false},
    {"chosen anyway", chosen_anyway, true},
    {"summed alone", summed_alone, false},
};

/* True if an identity must not change bits.  The transpose of a product may be fused in another
 * way. */
static bool keeps_bits(const struct cr_node *node, int which)
{
    bool transposes = identities[which].make == transposed_twice;
    return identities[which].same && !(transposes && cr_ops[node->op].kind == CR_KIND_CONTRACT);
}

bool cr_oracle_identity(struct cr_subject *s, struct cr_report *report)
{
    struct copying c = copying_begin(s);
    int which = (int)cr_pick(s, (int64_t)(sizeof identities / sizeof *identities));
    cr_id first = (cr_id)cr_pick(s, c.from->n_nodes), second = (cr_id)cr_pick(s, first + 1);
    bool same = true;
    char how[96];
    for (cr_id id = 0; id < c.from->n_nodes; id++) {
        copy_node(&c, id);
        if ((id != first && id != second) || c.from->nodes[id].dtype == CR_BOOL)
            continue;
        c.map[id] = identities[which].make(c.to, c.map[id]);
        same &= keeps_bits(&c.from->nodes[id], which);
    }
    snprintf(how, sizeof how, "with v[%d], v[%d] %s", (int)first, (int)second,
             identities[which].name);
    return check_rewritten(s, copying_end(&c), same, how, report);
}

/* ---- whether a slice contains its own maximum ---- */

/* Adds the first output: 1 for each slice of x along the axis that contains its own maximum, else 0. */
static void add_search(struct cr_graph *g, cr_id x, int axis)
{
    struct cr_attr wide = cr_attr_of(&g->nodes[x]), along = {.axis = axis};
    cr_id most = cr_must(g, CR_OP_max, 1, &x, &along);
    most = cr_must(g, CR_OP_expand, 1, &most, &wide);
    cr_id same = make2(g, CR_OP_eq, x, most);
    same = cr_must(g, CR_OP_float, 1, &same, NULL);
    cr_add_output(g, "fuzz:search", cr_must(g, CR_OP_max, 1, &same, &along));
}

/* True if no element of a value is, or may be, NaN. */
static bool is_sure(const struct cr_case *c, cr_id id)
{
    const struct cr_node *node = &c->graph->nodes[id];
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        if (isnan(c->bounds[id].value[i]) || isinf(c->bounds[id].error[i]))
            return false;
    return cr_case_is_known(c, id);
}

/* Checks that the maximum of a slice equals one of its elements: a value that is computed twice
 * must have the same bits both times. */
bool cr_oracle_search(struct cr_subject *s, struct cr_report *report)
{
    struct copying c = copying_begin(s);
    cr_id id = (cr_id)cr_pick(s, c.from->n_nodes);
    const struct cr_node *node = &c.from->nodes[id];
    struct cr_error error = {""};
    struct cr_compiled other;
    struct cr_outputs o = {0};
    for (cr_id i = 0; i < c.from->n_nodes; i++)
        copy_node(&c, i);
    if (node->rank == 0 || node->dtype == CR_BOOL || !is_sure(s->c, id)) {
        cr_graph_free(copying_end(&c));
        return true;
    }
    add_search(c.to, c.map[id], (int)cr_pick(s, node->rank));
    struct cr_program *program = cr_program_of(copying_end(&c), NULL, &error);
    if (!program)
        return cr_found(report, "with a search: %.400s", error.text);
    if (!cr_compile_program(&other, program, cr_compile_tcc, report))
        return false;
    bool good = cr_run(s->c, &other, NULL, 1, &o, report);
    for (int64_t i = 0; good && i < o.floats[0]; i++)
        if (o.data[0][i] != 1)
            good = cr_found(report, "v[%d] does not have its own largest element: slice %d",
                            (int)id, (int)i);
    cr_outputs_free(&o);
    cr_compiled_free(&other);
    return good;
}
