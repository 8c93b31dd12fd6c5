/* recognise_identities.c - nodes that give what they are given: removed, so that patterns need not
 * look through them. */
#include <string.h>

#include "match.h"
#include "recognise.h"

enum { FEW = 16 };

/* Whether axes of more than one element stay in their order. */
static bool keeps_order(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(n, "perm");
    const struct cr_onnx_value *x = &g->values[n->inputs[0]];
    for (int i = 0; a && a->ints && i < a->n; i++)
        if (a->ints[i] != i)
            return false;
    return a && a->n == x->rank;
}

/* Whether a slice takes everything, forwards. */
static bool takes_all(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    int steps = n->n_inputs > 4 ? n->inputs[4] : CR_ONNX_NONE;
    const struct cr_onnx_tensor *t = steps == CR_ONNX_NONE ? NULL : g->values[steps].tensor;
    if (n->version < 10 || (steps != CR_ONNX_NONE && (!t || !t->data)))
        return false;
    for (int64_t i = 0; t && i < t->elements; i++)
        if (cr_onnx_element(t, i) < 1)
            return false;
    return cr_match_same_shape(&g->values[n->inputs[0]], &g->values[n->outputs[0]]);
}

/* x times 1, which spreads x over nothing. */
static bool is_times_one(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    double one;
    return n->n_inputs == 2 && n->inputs[1] != CR_ONNX_NONE &&
           cr_onnx_scalar(g, n->inputs[1], &one) && one == 1 &&
           cr_match_same_shape(&g->values[n->inputs[0]], &g->values[n->outputs[0]]);
}

/* Whether a node gives its input: types and shapes are known by now. */
static bool is_identity(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    if (*n->domain || n->n_inputs < 1 || n->inputs[0] == CR_ONNX_NONE ||
        n->outputs[0] == CR_ONNX_NONE)
        return false;
    const struct cr_onnx_value *x = &g->values[n->inputs[0]], *y = &g->values[n->outputs[0]];
    if (strcmp(n->op, "Identity") == 0)
        return true;
    if (strcmp(n->op, "Cast") == 0)
        return x->type == y->type;
    if (strcmp(n->op, "Transpose") == 0)
        return keeps_order(g, n);
    if (strcmp(n->op, "Slice") == 0)
        return takes_all(g, n);
    if (strcmp(n->op, "Mul") == 0)
        return is_times_one(g, n);
    return (strcmp(n->op, "Reshape") == 0 || strcmp(n->op, "Expand") == 0) &&
           cr_match_same_shape(x, y);
}

/* Outputs of the model keep their nodes, as an output is no input. */
int cr_recognise_identities(struct cr_onnx_graph *g, struct cr_error *error)
{
    (void)error;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_onnx_node *n = &g->nodes[i];
        if (!n->dead && is_identity(g, n) && !g->values[n->outputs[0]].is_output)
            cr_onnx_replace(g, n->outputs[0], n->inputs[0]);
    }
    return 0;
}

/* Whether a node gives elements in their order, in another shape. */
static bool is_view(const struct cr_onnx_node *n)
{
    return strcmp(n->op, "View") == 0 ||
           (!*n->domain && (strcmp(n->op, "Reshape") == 0 || strcmp(n->op, "Unsqueeze") == 0 ||
                            strcmp(n->op, "Squeeze") == 0 || strcmp(n->op, "Flatten") == 0));
}

/* A view of a view is one of what the first sees: when nothing else looks for them any more. */
int cr_recognise_view_chains(struct cr_onnx_graph *g, struct cr_error *error)
{
    (void)error;
    for (int i = 0, n = g->n_nodes; i < n; i++) {
        int x = g->nodes[i].n_inputs ? g->nodes[i].inputs[0] : CR_ONNX_NONE;
        int y = g->nodes[i].outputs[0], from = x == CR_ONNX_NONE ? x : g->values[x].producer;
        if (g->nodes[i].dead || !is_view(&g->nodes[i]) || from == CR_ONNX_NONE ||
            !is_view(&g->nodes[from]) || g->values[x].tensor || g->values[y].is_output)
            continue;
        cr_match_replace(g, y, i, "View", &g->nodes[from].inputs[0], 1, g->values[y].name);
    }
    return 0;
}

/* Whether two values are one, or known numbers that are few and the same. */
static bool is_same_value(const struct cr_onnx_graph *g, int a, int b)
{
    if (a == b || a == CR_ONNX_NONE || b == CR_ONNX_NONE)
        return a == b;
    const struct cr_onnx_value *va = &g->values[a], *vb = &g->values[b];
    const struct cr_onnx_tensor *x = va->tensor, *y = vb->tensor;
    if (!x || !y || !x->data || !y->data || va->type != vb->type || x->elements != y->elements ||
        x->elements > FEW || !cr_match_same_shape(va, vb))
        return false;
    for (int64_t i = 0; i < x->elements; i++)
        if (cr_onnx_element(x, i) != cr_onnx_element(y, i))
            return false;
    return true;
}

/* Whether two nodes compute the same. */
static bool is_same_node(const struct cr_onnx_graph *g, const struct cr_onnx_node *a,
                         const struct cr_onnx_node *b)
{
    if (strcmp(a->op, b->op) || strcmp(a->domain, b->domain) || a->n_inputs != b->n_inputs ||
        a->n_outputs != b->n_outputs || a->n_attributes != b->n_attributes)
        return false;
    for (int i = 0; i < a->n_inputs; i++)
        if (!is_same_value(g, a->inputs[i], b->inputs[i]))
            return false;
    for (int i = 0; i < a->n_attributes; i++) {
        const struct cr_onnx_attribute *p = &a->attributes[i], *q = &b->attributes[i];
        if (strcmp(p->name, q->name) || p->kind != q->kind || p->of || q->of || p->f != q->f ||
            p->i != q->i || p->n != q->n || p->s || q->s || p->tensor || q->tensor || p->graph ||
            q->graph || p->floats || p->strings ||
            (p->n &&
             (!p->ints || !q->ints || memcmp(p->ints, q->ints, (size_t)p->n * sizeof *p->ints))))
            return false;
    }
    return true;
}

/* Whether a node reads no weight and nothing made of weights: masks and positions do not. */
static bool reads_weights(const struct cr_onnx_graph *g, const struct cr_onnx_node *n,
                          const bool *of_weights)
{
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE &&
            (of_weights[n->inputs[i]] || cr_match_weight(g, n->inputs[i])))
            return true;
    return false;
}

/* Whether a node may give something else each time, or reads nothing. */
static bool is_random(const struct cr_onnx_node *n)
{
    return !n->n_inputs || strncmp(n->op, "Random", 6) == 0 || strcmp(n->op, "Bernoulli") == 0 ||
           strcmp(n->op, "Multinomial") == 0 || strcmp(n->op, "Dropout") == 0;
}

/* What every layer computes anew though it is the same, such as a mask, is computed once. */
int cr_recognise_repetitions(struct cr_onnx_graph *g, struct cr_error *error)
{
    (void)error;
    bool *of_weights = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *of_weights);
    int *kept = cr_arena_new(&g->arena, (size_t)g->n_nodes, sizeof *kept), n_kept = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_onnx_node *n = &g->nodes[i];
        bool of = is_random(n) || reads_weights(g, n, of_weights);
        for (int j = 0; of && j < n->n_outputs; j++)
            if (n->outputs[j] != CR_ONNX_NONE)
                of_weights[n->outputs[j]] = true;
        int same = CR_ONNX_NONE;
        for (int k = 0; !of && k < n_kept && same == CR_ONNX_NONE; k++)
            if (n->n_outputs == 1 && is_same_node(g, &g->nodes[kept[k]], n))
                same = kept[k];
        if (same != CR_ONNX_NONE && !g->values[n->outputs[0]].is_output)
            cr_onnx_replace(g, n->outputs[0], g->nodes[same].outputs[0]);
        else if (!of)
            kept[n_kept++] = i;
    }
    return 0;
}
