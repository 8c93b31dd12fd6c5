/*
 * fold_call.c - computes the result of a call whose operands are known; see fold_call.h.
 *
 * The front end makes a graph of the call.  Each node of that graph becomes a term, and a term
 * whose operands are known is folded (term.h).
 */
#include "fold_call.h"

#include <stdlib.h>
#include <string.h>

#include "shape_inference.h"

/* A graph that is being evaluated, node by node. */
struct folding {
    struct cr_translation *t;
    cr_t call;
    const struct cr_graph *g;
    cr_t *terms; /* by node */
};

static enum cr_onnx_type type_of(const struct cr_node *node)
{
    return node->dtype == CR_F32 ? CR_ONNX_FLOAT : node->dtype == CR_I32 ? CR_ONNX_INT64 : CR_ONNX_BOOL;
}

static cr_t literal(const struct folding *f, const struct cr_node *node)
{
    const struct cr_literal *x = cr_literal_of(f->g, node);
    double *data = cr_t_array(f->t, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        float number;
        memcpy(&number, &x->words[i], sizeof number);
        data[i] = x->dtype == CR_F32 ? (double)number : (double)(int32_t)x->words[i];
    }
    return cr_t_computed(f->t, type_of(node), node->rank, node->shape, data);
}

/* Returns the term of a leaf of the graph, or null if it has none.  For an input that is the
 * operand of the call whose number the input's name ends in; see put_operand of
 * shape_inference.c. */
static cr_t leaf(const struct folding *f, const struct cr_node *node)
{
    switch (node->op) {
    case CR_OP_input:
        return cr_t_cast(f->t, f->call->arguments[cr_onnx_operand_number(node->name)].term, type_of(node));
    case CR_OP_const:
        return cr_t_full(f->t, type_of(node), node->rank, node->shape, node->value);
    case CR_OP_literal:
        return literal(f, node);
    case CR_OP_iota:
        return cr_t_iota(f->t, node->rank, node->shape, node->axis);
    default:
        return NULL;
    }
}

static cr_t elementwise(const struct folding *f, const struct cr_node *node, const cr_t *in)
{
    if (node->op == CR_OP_where)
        return cr_t_where(f->t, in[0], in[1], in[2]);
    if (node->n_in == 2)
        return cr_t_binary(f->t, cr_ops[node->op].name, in[0], in[1]);
    if (node->op == CR_OP_float || node->op == CR_OP_int)
        return cr_t_cast(f->t, in[0], type_of(node));
    return cr_t_unary(f->t, cr_ops[node->op].name, in[0]);
}

static cr_t sliced(const struct folding *f, const struct cr_node *node, cr_t x)
{
    for (int a = 0; a < node->rank; a++)
        x = cr_t_narrow(f->t, x, a, node->index[a], node->shape[a]);
    return x;
}

/* Makes the term of a node of kind MOVE (ir/graph.h): a view of `x`. */
static cr_t moved(const struct folding *f, const struct cr_node *node, cr_t x)
{
    switch (node->op) {
    case CR_OP_reshape:
        return cr_t_reshape(f->t, x, node->rank, node->shape);
    case CR_OP_expand:
        return cr_t_expand(f->t, x, node->rank, node->shape);
    case CR_OP_slice:
        return sliced(f, node, x);
    case CR_OP_permute:
        return cr_t_permute(f->t, x, node->index);
    default: /* detach and limit do not change elements */
        return x;
    }
}

/* Gathers rows; an index outside of the table gives a row of zeros. */
static cr_t gathered(const struct folding *f, cr_t table, cr_t index)
{
    struct cr_translation *t = f->t;
    double last = (double)table->shape[0] - 1;
    cr_t inside = cr_t_with(t, "minimum", cr_t_with(t, "maximum", index, 0), last);
    cr_t rows = cr_t_gather(t, table, inside), hit = cr_t_binary(t, "eq", index, inside);
    int64_t shape[CR_ONNX_RANK] = {0};
    if (!rows || !hit)
        return NULL;
    for (int a = 0; a < rows->rank; a++)
        shape[a] = a < hit->rank ? hit->shape[a] : 1;
    return cr_t_where(t, cr_t_reshape(t, hit, rows->rank, shape), rows, cr_t_number(t, rows->type, 0));
}

/* Makes the term of a node from the terms `in` of its inputs; returns null if its op is not
 * folded. */
static cr_t evaluate(const struct folding *f, const struct cr_node *node, const cr_t *in)
{
    switch (cr_ops[node->op].kind) {
    case CR_KIND_LEAF:
        return leaf(f, node);
    case CR_KIND_ELEMENTWISE:
        return elementwise(f, node, in);
    case CR_KIND_REDUCE:
        return cr_t_reduce(f->t, cr_ops[node->op].name, in[0], 1, &(int64_t){node->axis}, true);
    case CR_KIND_CONTRACT:
        return cr_t_matmul(f->t, in[0], in[1]);
    case CR_KIND_MOVE:
        return moved(f, node, in[0]);
    case CR_KIND_CONCAT:
        return cr_t_concat(f->t, in, node->n_in, node->axis);
    case CR_KIND_GATHER:
        return gathered(f, in[0], in[1]);
    case CR_KIND_SCAN:
        return cr_t_cumsum(f->t, in[0], node->axis, node->index[0] != 0);
    default:
        return NULL;
    }
}

/* True if a call has operands, and if the elements of all of them are known and the same for all
 * lengths. */
static bool has_known_operands(const struct cr_translation *t, cr_t call)
{
    bool known = true, any = false;
    for (int i = 0; i < call->n_arguments; i++) {
        any |= call->arguments[i].term != NULL;
        known &= !call->arguments[i].term || (call->arguments[i].term->kind == CR_TERM_DATA &&
                                              !cr_t_is_symbolic(t, call->arguments[i].term));
    }
    return any && known;
}

cr_t cr_fold_call(struct cr_translation *t, cr_t call)
{
    struct cr_error error = {""};
    const struct cr_graph *g =
        has_known_operands(t, call) ? cr_onnx_call_graph(t->graph, call, &error) : NULL;
    if (!g)
        return NULL;
    struct folding f = {t, call, g, cr_arena_new(t->arena, (size_t)g->n_nodes, sizeof *f.terms)};
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        cr_t *in = cr_arena_new(t->arena, (size_t)node->n_in + 1, sizeof *in);
        for (int i = 0; i < node->n_in; i++)
            in[i] = f.terms[g->operands[node->first_in + i]];
        f.terms[id] = evaluate(&f, node, in);
        if (!f.terms[id] || f.terms[id]->kind != CR_TERM_DATA)
            return NULL;
    }
    return cr_t_cast(t, f.terms[g->outputs[0].id], call->type);
}
