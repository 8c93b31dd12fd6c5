/* recognise_norms.c - RMS norm from its formula, and layer and RMS norms with parameters of a module. */
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "recognise.h"

/* Whether the mean is over the last axis, which stays. */
static bool is_last_mean(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    const struct cr_onnx_attribute *a = cr_onnx_attribute(n, "axes");
    int rank = g->values[n->inputs[0]].rank;
    double axis = a && a->ints && a->n == 1 ? (double)a->ints[0] : 0;
    if (!a && (n->n_inputs < 2 || !cr_onnx_scalar(g, n->inputs[1], &axis)))
        return false;
    return (axis == -1 || axis == rank - 1) && cr_onnx_integer(n, "keepdims", 1) == 1;
}

/* What is under 1 / sqrt(...), or CR_ONNX_NONE. */
static int under_rsqrt(const struct cr_onnx_graph *g, int value)
{
    int reciprocal = cr_match_only(g, value, "Reciprocal"), div = cr_match_only(g, value, "Div");
    int root = CR_ONNX_NONE;
    if (reciprocal != CR_ONNX_NONE)
        root = g->nodes[reciprocal].inputs[0];
    else if (div != CR_ONNX_NONE && cr_match_number(g, g->nodes[div].inputs[0], 1))
        root = g->nodes[div].inputs[1];
    int sqrt_node = cr_match_only(g, root, "Sqrt");
    return sqrt_node == CR_ONNX_NONE ? sqrt_node : g->nodes[sqrt_node].inputs[0];
}

/* Whether a value is 1 / sqrt(mean(x^2) + eps) over the last axis. */
static bool is_rms(struct cr_onnx_graph *g, int value, int x, double *eps)
{
    int add = cr_match_only(g, under_rsqrt(g, value), "Add");
    for (int i = 0; add != CR_ONNX_NONE && i < 2; i++) {
        int mean = cr_match_only(g, g->nodes[add].inputs[i], "ReduceMean");
        if (mean == CR_ONNX_NONE || !is_last_mean(g, mean) || !cr_onnx_scalar(g, g->nodes[add].inputs[!i], eps))
            continue;
        int pow = cr_match_only(g, g->nodes[mean].inputs[0], "Pow");
        int mul = cr_match_only(g, g->nodes[mean].inputs[0], "Mul");
        if (pow != CR_ONNX_NONE)
            return g->nodes[pow].inputs[0] == x && cr_match_number(g, g->nodes[pow].inputs[1], 2);
        return mul != CR_ONNX_NONE && g->nodes[mul].inputs[0] == x && g->nodes[mul].inputs[1] == x;
    }
    return false;
}

/* weight (x rms), with a weight of the last axis. */
static void find_rms_norm(struct cr_onnx_graph *g, int node)
{
    for (int i = 0; i < 2; i++) {
        int weight = g->nodes[node].inputs[i], inner = cr_match_only(g, g->nodes[node].inputs[!i], "Mul");
        if (inner == CR_ONNX_NONE || !cr_match_weight(g, weight) || g->values[weight].tensor->rank != 1)
            continue;
        for (int j = 0; j < 2; j++) {
            double eps;
            int x = g->nodes[inner].inputs[j];
            if (!is_rms(g, g->nodes[inner].inputs[!j], x, &eps) ||
                g->values[x].shape[g->values[x].rank - 1] != g->values[weight].tensor->elements)
                continue;
            int made = cr_match_replace(g, g->nodes[node].outputs[0], node, "RMSNorm", (int[]){x, weight}, 2,
                                        "norm");
            cr_onnx_set_real(g, &g->nodes[made], "epsilon", eps);
            return;
        }
    }
}

/* A norm over the last axis only, with one weight an element. */
static bool is_last_axis(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    int rank = g->values[n->inputs[0]].rank;
    int64_t axis = cr_onnx_integer(n, "axis", -1);
    return rank > 0 && (axis == -1 || axis == rank - 1) && n->n_inputs >= 2 &&
           cr_match_weight(g, n->inputs[1]) &&
           g->values[n->inputs[1]].tensor->elements == g->values[n->inputs[0]].shape[rank - 1];
}

/* The other outputs of a layer norm, mean and deviation, that something reads. */
static bool is_asked_for_more(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE && cr_onnx_users(g, n->outputs[i]))
            return true;
    return false;
}

/* Names weight and bias after their module: those that they have, or the scope's. */
static bool name_norm(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    int weight = n->inputs[1], bias = n->n_inputs > 2 ? n->inputs[2] : CR_ONNX_NONE;
    const char *path = cr_match_path(&g->arena, g->values[weight].name, ".weight");
    if (!path)
        path = cr_onnx_scope(&g->arena, n);
    if (!*path || cr_onnx_users(g, weight) != 1 || (bias != CR_ONNX_NONE && (cr_onnx_users(g, bias) != 1 || !cr_match_weight(g, bias))))
        return false;
    return cr_match_rename(g, weight, cr_arena_print(&g->arena, "%s.weight", path)) &&
           (bias == CR_ONNX_NONE || cr_match_rename(g, bias, cr_arena_print(&g->arena, "%s.bias", path)));
}

/* A norm of a module, with its parameters. */
static void raise_norm(struct cr_onnx_graph *g, int node, const char *op)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    if (!is_last_axis(g, n) || is_asked_for_more(g, n) || !name_norm(g, node))
        return;
    double eps = cr_onnx_real(n, "epsilon", 1e-5);
    const char *path = cr_match_path(&g->arena, g->values[n->inputs[1]].name, ".weight");
    const char *name = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
    int made = cr_match_replace(g, n->outputs[0], node, op, n->inputs, n->n_inputs, name);
    cr_onnx_set_real(g, &g->nodes[made], "epsilon", eps);
}

int cr_recognise_norms(struct cr_onnx_graph *g, struct cr_error *error)
{
    (void)error;
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i].dead && !*g->nodes[i].domain && strcmp(g->nodes[i].op, "Mul") == 0)
            find_rms_norm(g, i);
    for (int i = 0, n = g->n_nodes; i < n; i++) {
        const struct cr_onnx_node *node = &g->nodes[i];
        if (node->dead)
            continue;
        if (!*node->domain && strcmp(node->op, "LayerNormalization") == 0)
            raise_norm(g, i, "ScopedLayerNorm");
        else if ((!*node->domain && strcmp(node->op, "RMSNormalization") == 0) || strcmp(node->op, "RMSNorm") == 0)
            raise_norm(g, i, "ScopedRMSNorm");
    }
    return 0;
}
