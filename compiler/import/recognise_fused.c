/* recognise_fused.c - splits products that ONNX Runtime's optimiser has fused, so that later passes
 * find attention in them. */
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

/* Adds a node of ai.onnx with the name and scope of the node `like`; returns its output. */
static int make(struct cr_onnx_graph *g, int like, const char *op, const int *inputs, int n_inputs,
                int rank, const int64_t *shape)
{
    int value = cr_match_make(g, like, op, inputs, n_inputs,
                              g->values[g->nodes[like].outputs[0]].name, rank, shape);
    struct cr_onnx_node *n = &g->nodes[g->n_nodes - 1];
    n->domain = "";
    n->version = 13;
    return value;
}

/* Returns input number `which` of a FusedMatMul, transposed as the node's attributes tell: moves
 * the first axis behind the batch axes, and swaps the last two. */
static int operand(struct cr_onnx_graph *g, int node, int which)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    int x = n->inputs[which], rank = g->values[x].rank;
    bool of_batch = cr_onnx_integer(n, which ? "transBatchB" : "transBatchA", 0) != 0,
         exchanged = cr_onnx_integer(n, which ? "transB" : "transA", 0) != 0;
    int64_t perm[CR_ONNX_RANK], shape[CR_ONNX_RANK];
    if (rank < 2 || (!of_batch && !exchanged))
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i == rank - 1 || !of_batch ? i : (i + 1) % (rank - 1);
    if (exchanged) {
        int64_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = g->values[x].shape[perm[i]];
    int value = make(g, node, "Transpose", &x, 1, rank, shape);
    cr_onnx_set_integers(g, &g->nodes[g->n_nodes - 1], "perm", rank, perm);
    return value;
}

/* Replaces FusedMatMul by Transpose, MatMul and Mul. */
void cr_recognise_fused(struct cr_onnx_graph *g)
{
    for (int i = 0, n = g->n_nodes; i < n; i++) {
        if (g->nodes[i].dead || strcmp(g->nodes[i].op, "FusedMatMul") != 0 ||
            strcmp(g->nodes[i].domain, "com.microsoft") != 0 || g->nodes[i].n_inputs != 2)
            continue;
        int old = g->nodes[i].outputs[0];
        struct cr_onnx_value y = g->values[old];
        if (y.type != CR_ONNX_FLOAT || y.is_output)
            continue;
        double alpha = cr_onnx_real(&g->nodes[i], "alpha", 1);
        int parts[2] = {operand(g, i, 0), operand(g, i, 1)};
        int value = make(g, i, "MatMul", parts, 2, y.rank, y.shape);
        if (alpha != 1) {
            int scale = cr_onnx_known(g, "alpha", CR_ONNX_FLOAT, 0, NULL, &alpha);
            value = make(g, i, "Mul", (int[]){value, scale}, 2, y.rank, y.shape);
        }
        cr_onnx_mark_dead(g, i);
        cr_onnx_replace(g, old, value);
    }
}
