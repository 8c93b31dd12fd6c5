/* recognise_norms.c - finds RMS norms and layer norms written as formulas, and norms whose
 * parameters belong to a module. */
#include <stdlib.h>
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

/* True if a node is a mean over the last axis, which stays with size 1. */
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

/* Returns x if a value is 1 / sqrt(x), or CR_ONNX_NONE. */
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

/* True if a value is 1 / sqrt(mean(x^2) + eps) over the last axis. */
static bool is_rms(struct cr_onnx_graph *g, int value, int x, double *eps)
{
    int add = cr_match_only(g, under_rsqrt(g, value), "Add");
    for (int i = 0; add != CR_ONNX_NONE && i < 2; i++) {
        int mean = cr_match_only(g, g->nodes[add].inputs[i], "ReduceMean");
        if (mean == CR_ONNX_NONE || !is_last_mean(g, mean) ||
            !cr_onnx_scalar(g, g->nodes[add].inputs[!i], eps))
            continue;
        int pow = cr_match_only(g, g->nodes[mean].inputs[0], "Pow");
        int mul = cr_match_only(g, g->nodes[mean].inputs[0], "Mul");
        if (pow != CR_ONNX_NONE)
            return g->nodes[pow].inputs[0] == x && cr_match_number(g, g->nodes[pow].inputs[1], 2);
        return mul != CR_ONNX_NONE && g->nodes[mul].inputs[0] == x && g->nodes[mul].inputs[1] == x;
    }
    return false;
}

/* Finds weight * (x * rms) with a weight along the last axis; replaces it by a node RMSNorm. */
static void find_rms_norm(struct cr_onnx_graph *g, int node)
{
    for (int i = 0; i < 2; i++) {
        int weight = g->nodes[node].inputs[i],
            inner = cr_match_only(g, g->nodes[node].inputs[!i], "Mul");
        if (inner == CR_ONNX_NONE || !cr_match_weight(g, weight) ||
            g->values[weight].tensor->rank != 1)
            continue;
        for (int j = 0; j < 2; j++) {
            double eps;
            int x = g->nodes[inner].inputs[j];
            if (!is_rms(g, g->nodes[inner].inputs[!j], x, &eps) ||
                g->values[x].shape[g->values[x].rank - 1] != g->values[weight].tensor->elements)
                continue;
            int made = cr_match_replace(g, g->nodes[node].outputs[0], node, "RMSNorm",
                                        (int[]){x, weight}, 2, "norm");
            cr_onnx_set_real(g, &g->nodes[made], "epsilon", eps);
            return;
        }
    }
}

/* ---- layer norm from its formula, as before opset 17 ---- */

/* Returns x if a value is x - mean(x), or CR_ONNX_NONE. */
static int centred_of(struct cr_onnx_graph *g, int value)
{
    int sub = cr_match_op(g, value, "Sub");
    int mean = sub == CR_ONNX_NONE ? sub : cr_match_only(g, g->nodes[sub].inputs[1], "ReduceMean");
    return mean != CR_ONNX_NONE && is_last_mean(g, mean) &&
                   g->nodes[mean].inputs[0] == g->nodes[sub].inputs[0]
               ? g->nodes[sub].inputs[0]
               : CR_ONNX_NONE;
}

/* True if a value is sqrt(mean(centred^2) + eps). */
static bool is_deviation(struct cr_onnx_graph *g, int value, int centred, double *eps)
{
    int root = cr_match_only(g, value, "Sqrt");
    int add = root == CR_ONNX_NONE ? root : cr_match_only(g, g->nodes[root].inputs[0], "Add");
    int mean = add == CR_ONNX_NONE ? add : cr_match_only(g, g->nodes[add].inputs[0], "ReduceMean");
    int square = mean == CR_ONNX_NONE ? mean : cr_match_only(g, g->nodes[mean].inputs[0], "Pow");
    return square != CR_ONNX_NONE && is_last_mean(g, mean) &&
           g->nodes[square].inputs[0] == centred &&
           cr_match_number(g, g->nodes[square].inputs[1], 2) &&
           cr_onnx_scalar(g, g->nodes[add].inputs[1], eps);
}

/* If the only reader of a value is a node `op` with a weight, returns the weight and sets *out to
 * the node's output; else returns CR_ONNX_NONE. */
static int weight_behind(const struct cr_onnx_graph *g, int value, const char *op, int *out)
{
    int user = cr_match_user(g, value);
    if (user == CR_ONNX_NONE || *g->nodes[user].domain || strcmp(g->nodes[user].op, op) != 0)
        return CR_ONNX_NONE;
    int weight = cr_match_other(&g->nodes[user], value);
    *out = g->nodes[user].outputs[0];
    return cr_match_weight(g, weight) && g->values[weight].tensor->rank == 1 ? weight
                                                                             : CR_ONNX_NONE;
}

/* Replaces (x - mean(x)) / deviation * weight + bias by ONNX's LayerNormalization. */
static void find_layer_norm(struct cr_onnx_graph *g, int node)
{
    int centred = g->nodes[node].inputs[0], x = centred_of(g, centred), scaled, out;
    double eps;
    if (x == CR_ONNX_NONE || cr_onnx_users(g, centred) != 2 ||
        !is_deviation(g, g->nodes[node].inputs[1], centred, &eps))
        return;
    int weight = weight_behind(g, g->nodes[node].outputs[0], "Mul", &scaled);
    int bias = weight == CR_ONNX_NONE ? weight : weight_behind(g, scaled, "Add", &out);
    if (bias == CR_ONNX_NONE)
        return;
    int made =
        cr_match_replace(g, out, node, "LayerNormalization", (int[]){x, weight, bias}, 3, "norm");
    g->nodes[made].domain = "";
    g->nodes[made].version = 17;
    cr_onnx_set_real(g, &g->nodes[made], "epsilon", eps);
    cr_onnx_mark_dead(g, g->values[scaled].producer);
}

/* ---- parameters of modules ---- */

/* True if a norm is over the last axis only and its weight has an item for each element of the
 * axis. */
static bool is_last_axis(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    int rank = g->values[n->inputs[0]].rank;
    int64_t axis = cr_onnx_integer(n, "axis", -1);
    return rank > 0 && (axis == -1 || axis == rank - 1) && n->n_inputs >= 2 &&
           cr_match_weight(g, n->inputs[1]) &&
           g->values[n->inputs[1]].tensor->elements == g->values[n->inputs[0]].shape[rank - 1];
}

/* True if any node reads the second or third output of a layer norm: the mean or the inverse
 * deviation. */
static bool is_asked_for_more(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE && cr_onnx_users(g, n->outputs[i]))
            return true;
    return false;
}

/* Names weight and bias after their module, whose path is taken from the weight's name or else the
 * node's scope; returns false if they cannot be named. */
static bool name_norm(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    int weight = n->inputs[1], bias = n->n_inputs > 2 ? n->inputs[2] : CR_ONNX_NONE;
    const char *path = cr_match_path(&g->arena, g->values[weight].name, ".weight");
    if (!path)
        path = cr_onnx_scope(&g->arena, n);
    if (!*path || cr_onnx_users(g, weight) != 1 ||
        (bias != CR_ONNX_NONE && (cr_onnx_users(g, bias) != 1 || !cr_match_weight(g, bias))))
        return false;
    return cr_match_rename(g, weight, cr_arena_print(&g->arena, "%s.weight", path)) &&
           (bias == CR_ONNX_NONE ||
            cr_match_rename(g, bias, cr_arena_print(&g->arena, "%s.bias", path)));
}

/* Replaces a norm of ONNX by the layer `op`, which has the parameters of a module.  Does nothing if
 * the norm is not over the last axis, if other outputs than the first are read, or if the weights
 * cannot be named. */
static void make_norm(struct cr_onnx_graph *g, int node, const char *op)
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

static void make_layer_norm(struct cr_onnx_graph *g, int node)
{
    make_norm(g, node, "ScopedLayerNorm");
}

static void make_rms_norm(struct cr_onnx_graph *g, int node)
{
    make_norm(g, node, "ScopedRMSNorm");
}

/* Replaces formulas of norms by norms of ONNX, then these by layers with parameters of a module. */
void cr_recognise_norms(struct cr_onnx_graph *g)
{
    cr_match_each(g, "", "Mul", find_rms_norm);
    cr_match_each(g, "", "Div", find_layer_norm);
    cr_match_each(g, "", "LayerNormalization", make_layer_norm);
    cr_match_each(g, "", "RMSNormalization", make_rms_norm);
    cr_match_each(g, CR_ONNX_CRESCENT, "RMSNorm", make_rms_norm);
}
