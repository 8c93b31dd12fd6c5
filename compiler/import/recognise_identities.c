/* recognise_identities.c - removes nodes whose output equals their input, so that patterns need not
 * look through them; merges chains of views, and equal nodes. */
#include <math.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "pattern_match.h"
#include "recognise.h"

enum { FEW = 16 };

/* True if a Transpose leaves all axes in their order. */
static bool keeps_order(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(n, "perm");
    const struct cr_onnx_value *x = &g->values[n->inputs[0]];
    for (int i = 0; a && a->ints && i < a->n; i++)
        if (a->ints[i] != i)
            return false;
    return a && a->n == x->rank;
}

/* True if a Slice takes all elements, in their order. */
static bool takes_all(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    int steps = n->n_inputs > 4 ? n->inputs[4] : CR_ONNX_NONE;
    const struct cr_onnx_tensor *t = steps == CR_ONNX_NONE ? NULL : g->values[steps].tensor;
    if (n->version < 10 || (steps != CR_ONNX_NONE && (!t || !t->data)))
        return false;
    for (int64_t i = 0; t && i < t->elements; i++)
        if (!(cr_onnx_element(t, i) >= 1))
            return false;
    return cr_match_same_shape(&g->values[n->inputs[0]], &g->values[n->outputs[0]]);
}

/* True if a node multiplies by 1 and does not broadcast x. */
static bool is_times_one(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    double one;
    return n->n_inputs == 2 && n->inputs[1] != CR_ONNX_NONE &&
           cr_onnx_scalar(g, n->inputs[1], &one) && one == 1 &&
           cr_match_same_shape(&g->values[n->inputs[0]], &g->values[n->outputs[0]]);
}

/* True if a node's output equals its input.  Types and shapes have to be known. */
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

/* Replaces the inputs of a node: instead[v] is 1 + the value that replaces v, or 0.  The caller
 * visits nodes in topological order, so that values are replaced before they are read. */
static void read_instead(struct cr_onnx_graph *g, int node, const int *instead)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE && instead[n->inputs[i]])
            cr_onnx_set_input(g, node, i, instead[n->inputs[i]] - 1);
}

/* Removes nodes whose output equals their input.  A node whose output is an output of the model
 * stays. */
void cr_recognise_identities(struct cr_onnx_graph *g)
{
    int *instead = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *instead);
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_onnx_node *n = &g->nodes[i];
        read_instead(g, i, instead);
        if (!n->dead && is_identity(g, n) && !g->values[n->outputs[0]].is_output)
            instead[n->outputs[0]] = n->inputs[0] + 1;
    }
}

/* Makes a view of a view read the input of the first view; shapes do not change.  Runs after the
 * passes that look for views. */
void cr_recognise_view_chains(struct cr_onnx_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_onnx_node *n = &g->nodes[i];
        int x = n->n_inputs ? n->inputs[0] : CR_ONNX_NONE;
        int from = x == CR_ONNX_NONE ? x : g->values[x].producer;
        if (n->dead || !cr_match_view(n) || from == CR_ONNX_NONE || !cr_match_view(&g->nodes[from]) ||
            g->values[x].tensor || g->values[n->outputs[0]].is_output)
            continue;
        n->op = "View";
        n->domain = CR_ONNX_CRESCENT;
        for (int k = 1; k < n->n_inputs; k++)
            cr_onnx_set_input(g, i, k, CR_ONNX_NONE);
        cr_onnx_set_input(g, i, 0, g->nodes[from].inputs[0]);
        n->n_inputs = 1;
        n->n_attributes = 0;
    }
}

/* Returns the tensor of a value if its elements are known and at most FEW, else null. */
static const struct cr_onnx_tensor *few_numbers(const struct cr_onnx_graph *g, int value)
{
    const struct cr_onnx_tensor *t = value == CR_ONNX_NONE ? NULL : g->values[value].tensor;
    return t && t->data && t->elements <= FEW ? t : NULL;
}

/* True if two values are the same value, or have few known elements with the same bits.  Bits are
 * compared, as +0 differs from -0, and a NaN may be a symbol. */
static bool is_same_value(const struct cr_onnx_graph *g, int a, int b)
{
    const struct cr_onnx_tensor *x = few_numbers(g, a), *y = few_numbers(g, b);
    if (a == b || !x || !y)
        return a == b;
    const struct cr_onnx_value *va = &g->values[a], *vb = &g->values[b];
    if (va->type != vb->type || !cr_match_same_shape(va, vb))
        return false;
    for (int64_t i = 0; i < x->elements; i++) {
        double p = cr_onnx_element(x, i), q = cr_onnx_element(y, i);
        if (memcmp(&p, &q, sizeof p) != 0)
            return false;
    }
    return true;
}

static bool is_same_attribute(const struct cr_onnx_attribute *p, const struct cr_onnx_attribute *q)
{
    if (strcmp(p->name, q->name) || p->kind != q->kind || p->of || q->of || p->f != q->f ||
        p->i != q->i || p->n != q->n || p->s || q->s || p->tensor || q->tensor || p->graph ||
        q->graph || p->floats || p->strings)
        return false;
    return !p->n || (p->ints && q->ints && !memcmp(p->ints, q->ints, (size_t)p->n * sizeof *p->ints));
}

/* True if two nodes of one output compute the same result.  Compares shapes, too: the shape of a
 * recogniser's node may not follow from its attributes. */
static bool is_same_node(const struct cr_onnx_graph *g, const struct cr_onnx_node *a,
                         const struct cr_onnx_node *b)
{
    if (strcmp(a->op, b->op) || strcmp(a->domain, b->domain) || a->version != b->version ||
        a->n_inputs != b->n_inputs || a->n_attributes != b->n_attributes)
        return false;
    const struct cr_onnx_value *y = &g->values[a->outputs[0]], *z = &g->values[b->outputs[0]];
    if (y->type != z->type || !cr_match_same_shape(y, z))
        return false;
    for (int i = 0; i < a->n_inputs; i++)
        if (!is_same_value(g, a->inputs[i], b->inputs[i]))
            return false;
    for (int i = 0; i < a->n_attributes; i++)
        if (!is_same_attribute(&a->attributes[i], &b->attributes[i]))
            return false;
    return true;
}

/* Returns a hash of a node's operator and inputs; it is equal for nodes that compute the same. */
static uint64_t hash_of_node(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    uint64_t h = 1;
    for (const char *c = n->op; *c; c++)
        h = cr_hash_word(h, (unsigned char)*c);
    for (int i = 0; i < n->n_inputs; i++) {
        const struct cr_onnx_tensor *t = few_numbers(g, n->inputs[i]);
        for (int64_t k = 0; t && k < t->elements; k++) {
            double number = cr_onnx_element(t, k);
            uint64_t bits;
            memcpy(&bits, &number, sizeof bits);
            h = cr_hash_word(h, bits);
        }
        h = cr_hash_word(h, t ? UINT64_MAX : (uint64_t)n->inputs[i]);
    }
    return h;
}

/* The node that is_wanted compares others with. */
struct wanted {
    const struct cr_onnx_graph *g;
    const struct cr_onnx_node *node;
};

static bool is_wanted(const void *context, int node)
{
    const struct wanted *w = context;
    return is_same_node(w->g, &w->g->nodes[node], w->node);
}

/* True if a node reads a weight or a value computed from weights.  (Masks and positions are
 * not.) */
static bool reads_weights(const struct cr_onnx_graph *g, const struct cr_onnx_node *n,
                          const bool *of_weights)
{
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE &&
            (of_weights[n->inputs[i]] || cr_match_weight(g, n->inputs[i])))
            return true;
    return false;
}

/* True if a node may give another result in each run: a random operator, or any operator of ONNX
 * without inputs.  The recognisers' nodes without inputs are masks and angles, which are
 * constant. */
static bool is_random(const struct cr_onnx_node *n)
{
    return (!n->n_inputs && strcmp(n->domain, CR_ONNX_CRESCENT) != 0) || strncmp(n->op, "Random", 6) == 0 || strcmp(n->op, "Bernoulli") == 0 ||
           strcmp(n->op, "Multinomial") == 0 || strcmp(n->op, "Dropout") == 0;
}

/* Merges equal nodes (common subexpression elimination), such as a mask that each layer computes.
 * It is the last pass, since other passes add a mask for each layer. */
void cr_recognise_repetitions(struct cr_onnx_graph *g)
{
    bool *of_weights = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *of_weights);
    int *instead = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *instead); /* by value: 1 +
                                                                                     the value that
                                                                                     replaces it, or
                                                                                     0 */
    struct cr_table kept = {0};
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_onnx_node *n = &g->nodes[i];
        read_instead(g, i, instead);
        bool of = is_random(n) || reads_weights(g, n, of_weights);
        for (int j = 0; of && j < n->n_outputs; j++)
            if (n->outputs[j] != CR_ONNX_NONE)
                of_weights[n->outputs[j]] = true;
        if (of || n->n_outputs != 1 || n->outputs[0] == CR_ONNX_NONE)
            continue;
        uint64_t hash = hash_of_node(g, n);
        int same = cr_table_find(&kept, hash, is_wanted, &(struct wanted){g, n}), y = n->outputs[0];
        if (same < 0)
            cr_table_add(&kept, hash, i);
        else if (!g->values[y].is_output)
            instead[y] = g->nodes[same].outputs[0] + 1;
    }
    cr_table_free(&kept);
}
