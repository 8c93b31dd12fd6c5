/*
 * recognise_linear_layers.c - finds torch.nn.Linear, Hugging Face's Conv1D and torch.nn.Embedding,
 * and names their parameters after their modules.
 */
#include <stdlib.h>
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

/* A product that may be a layer: y = x W + b. */
struct layer {
    int node;            /* the node that outputs y */
    int out;             /* y, or the output of a reshape of y that belongs to the layer */
    int x, weight, bias; /* `bias` may be CR_ONNX_NONE */
    bool is_transposed;  /* the weight is stored as [out, in] */
    int64_t n_in, n_out;
};

/* True if an exporter invented a weight's name, as it does for a weight that it has transposed. */
static bool is_made_up(const char *name)
{
    return strchr(name, ':') || !strchr(name, '.');
}

/* Returns the path of a layer's module, which it takes from the name of the weight, the bias or the
 * node. */
static const char *module_path(struct cr_onnx_graph *g, const struct layer *l)
{
    const char *path = cr_match_path(&g->arena, g->values[l->weight].name, ".weight");
    if (!path && l->bias != CR_ONNX_NONE)
        path = cr_match_path(&g->arena, g->values[l->bias].name, ".bias");
    if (!path && l->bias != CR_ONNX_NONE)
        path = cr_match_path(&g->arena, g->values[l->bias].name, "_bias");
    return path ? path : cr_onnx_scope(&g->arena, &g->nodes[l->node]);
}

/* Turns the weight [in, out] back into the module's [out, in] by setting a flag; elements do not
 * move. */
static void transpose_weight(struct cr_onnx_graph *g, struct layer *l)
{
    struct cr_onnx_value *v = &g->values[l->weight];
    struct cr_onnx_tensor *t = cr_arena_new(&g->arena, 1, sizeof *t);
    int64_t *shape = cr_arena_new(&g->arena, 2, sizeof *shape);
    *t = *v->tensor;
    v->shape[0] = shape[0] = t->shape[1];
    v->shape[1] = shape[1] = t->shape[0];
    t->shape = shape;
    t->is_transposed = !t->is_transposed;
    v->tensor = t;
    l->is_transposed = true;
}

/* True if weight and bias have the shapes of a layer's, and no other node reads them. */
static bool is_layer(const struct cr_onnx_graph *g, struct layer *l)
{
    if (!cr_match_weight(g, l->weight) || g->values[l->weight].tensor->rank != 2 ||
        l->x == CR_ONNX_NONE || g->values[l->x].rank < 2 || cr_match_weight(g, l->x) ||
        cr_onnx_users(g, l->weight) != 1)
        return false;
    const int64_t *shape = g->values[l->weight].tensor->shape;
    l->n_in = shape[l->is_transposed];
    l->n_out = shape[!l->is_transposed];
    return l->bias == CR_ONNX_NONE ||
           (cr_match_weight(g, l->bias) && g->values[l->bias].tensor->rank == 1 &&
            g->values[l->bias].tensor->elements == l->n_out && cr_onnx_users(g, l->bias) == 1);
}

static bool name_layer(struct cr_onnx_graph *g, const struct layer *l, const char *path)
{
    return *path && cr_match_rename(g, l->weight, cr_arena_print(&g->arena, "%s.weight", path)) &&
           (l->bias == CR_ONNX_NONE ||
            cr_match_rename(g, l->bias, cr_arena_print(&g->arena, "%s.bias", path)));
}

/* Replaces the product by a node Linear if weight and bias can be a module's, and names them after
 * the module. */
static void put_layer(struct cr_onnx_graph *g, struct layer *l)
{
    if (!is_layer(g, l))
        return;
    const char *path = module_path(g, l);
    bool is_copy = !l->is_transposed && is_made_up(g->values[l->weight].name);
    if (!name_layer(g, l, path))
        return;
    if (is_copy)
        transpose_weight(g, l);
    int inputs[3] = {l->x, l->weight, l->bias};
    const char *name = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
    int made = cr_match_replace(g, l->out, l->node, "Linear", inputs,
                                l->bias == CR_ONNX_NONE ? 2 : 3, name);
    cr_onnx_set_integer(g, &g->nodes[made], "transB", l->is_transposed);
    cr_onnx_mark_dead(g, l->node);
}

/* Returns the reshape of a value [rows, out] to [.., out], if it is the value's only user; else
 * CR_ONNX_NONE. */
static int unflattened(const struct cr_onnx_graph *g, int value)
{
    int user = cr_match_user(g, value);
    if (user == CR_ONNX_NONE || *g->nodes[user].domain || strcmp(g->nodes[user].op, "Reshape") != 0)
        return CR_ONNX_NONE;
    const struct cr_onnx_value *y = &g->values[g->nodes[user].outputs[0]];
    return y->rank > 2 && y->shape[y->rank - 1] == g->values[value].shape[1]
               ? g->nodes[user].outputs[0]
               : CR_ONNX_NONE;
}

/* Returns the value that the reshape `flat` flattens to rows, as [.., n_in] with the other axes of
 * `out`; adds a view if the value has other axes. */
static int whole_rows(struct cr_onnx_graph *g, int flat, int out, int64_t n_in)
{
    int x = g->nodes[flat].inputs[0], rank = g->values[out].rank;
    struct cr_onnx_value like = g->values[out];
    like.shape[rank - 1] = n_in;
    if (cr_match_same_shape(&like, &g->values[x]))
        return x;
    return cr_match_make(g, flat, "View", &x, 1, "rows", rank, like.shape);
}

/* Finds a Gemm whose input is x, or x [.., in] flattened to rows and the result reshaped to [..,
 * out]. */
static void find_gemm(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    if (cr_onnx_real(n, "alpha", 1) != 1 || cr_onnx_real(n, "beta", 1) != 1 ||
        cr_onnx_integer(n, "transA", 0))
        return;
    struct layer l = {.node = node,
                      .out = n->outputs[0],
                      .x = n->inputs[0],
                      .weight = n->inputs[1],
                      .bias = n->n_inputs > 2 ? n->inputs[2] : CR_ONNX_NONE,
                      .is_transposed = cr_onnx_integer(n, "transB", 0) != 0};
    int flat = cr_match_op(g, l.x, "Reshape");
    int out = flat != CR_ONNX_NONE ? unflattened(g, l.out) : CR_ONNX_NONE;
    if (out != CR_ONNX_NONE && is_layer(g, &l)) {
        l.x = whole_rows(g, flat, out, l.n_in);
        l.out = out;
    }
    put_layer(g, &l);
}

/* Finds a MatMul with a weight, and an Add of a bias behind it. */
static void find_matmul(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    struct layer l = {.node = node,
                      .out = n->outputs[0],
                      .x = n->inputs[0],
                      .weight = n->inputs[1],
                      .bias = CR_ONNX_NONE};
    int add = cr_match_user(g, l.out);
    if (add != CR_ONNX_NONE && !*g->nodes[add].domain && strcmp(g->nodes[add].op, "Add") == 0) {
        int bias = cr_match_other(&g->nodes[add], l.out);
        if (cr_match_weight(g, bias) && g->values[bias].tensor->rank == 1) {
            l.bias = bias;
            l.out = g->nodes[add].outputs[0];
        }
    }
    put_layer(g, &l);
}

/* Finds a Gather of rows by ids that belongs to a module; names the table as the module's
 * weight. */
static void find_embedding(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    const char *path = cr_onnx_scope(&g->arena, n);
    int weight = n->inputs[0];
    if (!*path || cr_onnx_integer(n, "axis", 0) != 0 || !cr_match_weight(g, weight) ||
        g->values[weight].tensor->rank != 2 || cr_onnx_users(g, weight) != 1 ||
        g->values[n->inputs[1]].rank < 1)
        return;
    const char *own = cr_match_path(&g->arena, g->values[weight].name, ".weight");
    if (!own || !cr_match_rename(g, weight, cr_arena_print(&g->arena, "%s.weight", path)))
        return;
    const char *name = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
    cr_match_replace(g, n->outputs[0], node, "Embedding", n->inputs, 2, name);
}

/* ---- weights that exporters merged ---- */

/* Replaces the block index in a weight's name by the index in a scope: returns "layers.1.fc.weight"
 * for "layers.0.fc.weight" and "layers.1"; null if the indices are equal or missing. */
static const char *own_name(struct cr_arena *arena, const char *name, const char *scope)
{
    size_t n = 0, start = 0;
    for (; name[n] && name[n] == scope[n]; n++)
        start = name[n] == '.' ? n + 1 : start;
    size_t old = strspn(name + start, "0123456789"), now = strspn(scope + start, "0123456789");
    if (!old || !now || name[start + old] != '.' ||
        (scope[start + now] && scope[start + now] != '.') ||
        (old == now && strncmp(name + start, scope + start, old) == 0))
        return NULL;
    return cr_arena_print(arena, "%.*s%.*s%s", (int)start, name, (int)now, scope + start,
                          name + start + old);
}

/* True if a name begins with a module's path. */
static bool is_within(const char *name, const char *scope)
{
    size_t n = strlen(scope);
    return strncmp(name, scope, n) == 0 && name[n] == '.';
}

/* Returns the name for a node's own copy of a shared weight: with the index of the node's block; or
 * in the node's scope if the weight is another module's.  Returns null if the node needs no other
 * name. */
static const char *name_for(struct cr_arena *arena, const char *name, const char *scope)
{
    const char *ending = strrchr(name, '.'), *own = own_name(arena, name, scope);
    if (!*scope || is_within(name, scope) || is_made_up(name))
        return NULL;
    if (own && is_within(own, scope))
        return own;
    bool is_usual = strcmp(ending, ".weight") == 0 || strcmp(ending, ".bias") == 0;
    return is_usual ? cr_arena_print(arena, "%s%s", scope, ending) : own;
}

/* Gives a node its own copy of a weight that it shares with a node of an earlier block. */
static void unshare(struct cr_onnx_graph *g, int node, int input)
{
    int weight = g->nodes[node].inputs[input];
    if (!cr_match_weight(g, weight) || g->values[weight].tensor->rank > 2 ||
        cr_onnx_users(g, weight) < 2)
        return;
    const char *scope = cr_onnx_scope(&g->arena, &g->nodes[node]);
    const char *name = name_for(&g->arena, g->values[weight].name, scope);
    if (!name && !is_made_up(g->values[weight].name))
        return;
    int copy = cr_onnx_new_value(g, name ? name : g->values[weight].name);
    struct cr_onnx_value old = g->values[weight];
    const char *own = g->values[copy].name;
    g->values[copy] = old;
    g->values[copy].name = own;
    g->values[copy].users = 0;
    cr_onnx_set_input(g, node, input, copy);
}

/* Gives each node that shares a weight its own copy: exporters merge equal weights, such as those
 * of newly initialised layers. */
void cr_recognise_copies(struct cr_onnx_graph *g)
{
    static const char *const ops[] = {"MatMul", "Gemm", "Add", "Mul", "LayerNormalization", "RMSNormalization",
                                      "GroupNormalization", "InstanceNormalization", "BatchNormalization"};
    for (int i = 0; i < g->n_nodes; i++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
            for (int j = 0; strcmp(g->nodes[i].op, ops[k]) == 0 && j < g->nodes[i].n_inputs; j++)
                unshare(g, i, j);
}

/* Finds embeddings, then linear layers.  In this order a head that is tied to the embedding gets a
 * copy of the table under another name. */
void cr_recognise_linear(struct cr_onnx_graph *g)
{
    cr_match_each(g, "", "Gather", find_embedding);
    cr_match_each(g, "", "Gemm", find_gemm);
    cr_match_each(g, "", "MatMul", find_matmul);
}
