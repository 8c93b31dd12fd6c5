/*
 * recognise_head_views.c - finds heads that are split and merged by other nodes than a reshape and
 * a transpose. Traces the index of each element through reshapes and permutes of a projection.
 *
 * torch.nn.MultiheadAttention works on [T, B, C] and puts batch and heads into one axis.
 */
#include <stdlib.h>
#include <string.h>

#include "constant_values.h"
#include "pattern_match.h"
#include "recognise.h"

/* Describes `value` [B, H, T, d] as a view of the projection `base` [T, B, n H d] or [B, T, n H
 * d]. */
struct view {
    int value, base, part; /* `part`: which of the n parts of the projection's last axis the view
                              takes */
    bool is_time_first;
};

static bool is_made(const struct cr_onnx_graph *g, int value, const char *op)
{
    int producer = g->values[value].producer;
    return producer != CR_ONNX_NONE && strcmp(g->nodes[producer].op, op) == 0 &&
           strcmp(g->nodes[producer].domain, CR_ONNX_CRESCENT) == 0;
}

/* Returns the projection, the output of a Linear, that a value is a view of, or CR_ONNX_NONE. */
static int projection(const struct cr_onnx_graph *g, int value)
{
    for (int i = 0; i < 12 && g->values[value].producer != CR_ONNX_NONE; i++) {
        if (is_made(g, value, "Linear"))
            return value;
        const struct cr_onnx_node *n = &g->nodes[g->values[value].producer];
        if (!cr_onnx_moves(n))
            break;
        value = n->inputs[0];
    }
    return CR_ONNX_NONE;
}

/* Returns the row-major index in the projection of the view's element at[] = {b, h, t, i}.  `s` is
 * the view's shape, `C` the size of the projection's last axis. */
static double place(const struct view *v, const int64_t *s, int64_t C, const int64_t *at)
{
    int64_t row = v->is_time_first ? at[2] * s[0] + at[0] : at[0] * s[2] + at[2];
    return (double)(row * C + v->part * s[1] * s[3] + at[1] * s[3] + at[3]);
}

/* True if the indices `x` of the view's elements in the projection are the indices of heads of part
 * `v->part`. */
static bool are_heads(const struct cr_onnx_graph *g, const struct view *v, const double *x)
{
    const int64_t *y = g->values[v->value].shape, *b = g->values[v->base].shape;
    int64_t i = 0, at[4], s[4];
    for (int a = 0; a < 4; a++)
        s[a] = cr_size_bound(y[a]);
    if (b[!v->is_time_first] != y[2] || b[v->is_time_first] != y[0] ||
        (v->part + 1) * s[1] * s[3] > b[2])
        return false;
    for (at[0] = 0; at[0] < s[0]; at[0]++)
        for (at[1] = 0; at[1] < s[1]; at[1]++)
            for (at[2] = 0; at[2] < s[2]; at[2]++)
                for (at[3] = 0; at[3] < s[3]; at[3]++)
                    if (x[i++] != place(v, s, b[2], at))
                        return false;
    return true;
}

/* Finds the projection, and which part of it, a value is a view of; returns false if there is
 * none. */
static bool find_view(const struct cr_onnx_graph *g, int value, struct view *v)
{
    *v = (struct view){value, projection(g, value), 0, false};
    if (v->base == CR_ONNX_NONE || g->values[value].rank != 4 || g->values[v->base].rank != 3)
        return false;
    for (int a = 1; a < 4; a += 2)
        if (cr_size_is_symbol(g->values[value].shape[a]))
            return false;
    if (cr_size_is_symbol(g->values[v->base].shape[2]))
        return false;
    double *x = cr_onnx_numbers_of(g, value, v->base);
    int64_t width = g->values[value].shape[1] * g->values[value].shape[3],
            C = g->values[v->base].shape[2];
    bool found = false;
    for (int time_first = 0; x && !found && time_first < 2; time_first++) {
        v->is_time_first = time_first;
        v->part = (int)((int64_t)x[0] % C / width);
        found = are_heads(g, v, x);
    }
    free(x);
    return found;
}

/* Returns the projection [T, B, n] as [B, T, n].  If the projection's input is itself a transpose,
 * projects the transpose's input instead; else adds a permute. */
static int batch_first(struct cr_onnx_graph *g, int base)
{
    int node = g->values[base].producer, x = g->nodes[node].inputs[0];
    int swap = cr_match_op(g, x, "Transpose");
    struct cr_onnx_value old = g->values[base];
    int64_t shape[3] = {old.shape[1], old.shape[0], old.shape[2]};
    if (cr_match_permutes(g, swap, (int[]){1, 0, 2})) {
        int inputs[3];
        memcpy(inputs, g->nodes[node].inputs, (size_t)g->nodes[node].n_inputs * sizeof *inputs);
        inputs[0] = g->nodes[swap].inputs[0];
        int value =
            cr_match_make(g, node, "Linear", inputs, g->nodes[node].n_inputs, old.name, 3, shape);
        cr_onnx_set_integer(g, &g->nodes[g->n_nodes - 1], "transB",
                            cr_onnx_integer(&g->nodes[node], "transB", 0));
        return value;
    }
    int made = cr_match_make(g, node, "Permute", &base, 1, "rows", 3, shape);
    cr_onnx_set_integers(g, &g->nodes[g->n_nodes - 1], "perm", 3, (int64_t[]){1, 0, 2});
    return made;
}

/* Adds the nodes that take one of the n parts of a projection [B, T, n H d] and split it into
 * heads; returns their result [B, H, T, d]. */
static int heads_of(struct cr_onnx_graph *g, int like, int base, const struct view *v)
{
    struct cr_onnx_value y = g->values[v->value], b = g->values[base];
    int64_t width = y.shape[1] * y.shape[3], shape[3] = {b.shape[0], b.shape[1], width};
    int part = base;
    if (width != b.shape[2]) {
        part = cr_match_make(g, like, "Part", &base, 1, "part", 3, shape);
        cr_onnx_set_integer(g, &g->nodes[g->n_nodes - 1], "start", v->part * width);
    }
    int heads = cr_match_make(g, like, "SplitHeads", &part, 1, "heads", 4, y.shape);
    cr_onnx_set_integer(g, &g->nodes[g->n_nodes - 1], "heads", y.shape[1]);
    return heads;
}

/* True if a projection has one reader, and it only moves elements. */
static bool only_views_read(const struct cr_onnx_graph *g, int base)
{
    int user = cr_match_user(g, base);
    return user != CR_ONNX_NONE && cr_onnx_moves(&g->nodes[user]);
}

/* Replaces queries, keys and values that are views of projections [T, B, ..] by heads of
 * projections [B, T, ..]. */
static bool find_split(struct cr_onnx_graph *g, int node)
{
    struct view views[3];
    for (int i = 0; i < 3; i++)
        if (!find_view(g, g->nodes[node].inputs[i], &views[i]) || !views[i].is_time_first ||
            !only_views_read(g, views[i].base))
            return false;
    int first[3];
    for (int i = 0; i < 3; i++) {
        first[i] = CR_ONNX_NONE;
        for (int k = 0; k < i; k++)
            if (views[k].base == views[i].base)
                first[i] = first[k];
        if (first[i] == CR_ONNX_NONE)
            first[i] = batch_first(g, views[i].base);
    }
    for (int i = 0; i < 3; i++) {
        int heads = heads_of(g, node, first[i], &views[i]);
        cr_onnx_set_input(g, node, i, heads);
    }
    return true;
}

/* Finds attend -> [T, B, H, d] -> [T, B, H d] -> projection -> [B, T, n], and changes it into
 * attend -> merged heads -> projection. */
static void find_merge(struct cr_onnx_graph *g, int node)
{
    int y = g->nodes[node].outputs[0], swap = cr_match_user(g, y);
    const struct cr_onnx_value v = g->values[y];
    if (swap == CR_ONNX_NONE || strcmp(g->nodes[swap].op, "Transpose") != 0 || v.rank != 4 ||
        !cr_match_permutes(g, swap, (int[]){2, 0, 1, 3}))
        return;
    int flat = cr_match_user(g, g->nodes[swap].outputs[0]);
    if (flat == CR_ONNX_NONE || !cr_onnx_moves(&g->nodes[flat]))
        return;
    struct cr_onnx_value rows = g->values[g->nodes[flat].outputs[0]];
    int64_t time_first[3] = {v.shape[2], v.shape[0], cr_sizes(g->symbols, v.shape[1], '*', v.shape[3])};
    if (rows.rank != 3 || memcmp(rows.shape, time_first, sizeof time_first) != 0)
        return;
    int linear = cr_match_user(g, g->nodes[flat].outputs[0]);
    if (linear == CR_ONNX_NONE || strcmp(g->nodes[linear].op, "Linear") != 0)
        return;
    int out = g->nodes[linear].outputs[0], back = cr_match_user(g, out);
    int64_t shape[3] = {v.shape[0], v.shape[2], time_first[2]};
    int merged = cr_match_make(g, node, "MergeHeads", &y, 1, "merged", 3, shape);
    cr_onnx_set_input(g, linear, 0, merged);
    memcpy(g->values[out].shape, (int64_t[]){v.shape[0], v.shape[2], g->values[out].shape[2]},
           sizeof shape);
    if (back != CR_ONNX_NONE && strcmp(g->nodes[back].op, "Transpose") == 0 &&
        cr_match_permutes(g, back, (int[]){1, 0, 2})) {
        cr_onnx_replace(g, g->nodes[back].outputs[0], out);
        return;
    }
    shape[0] = v.shape[2];
    shape[1] = v.shape[0];
    shape[2] = g->values[out].shape[2];
    int again = cr_match_make(g, node, "Permute", &out, 1, "swapped", 3, shape);
    int made = g->n_nodes - 1;
    cr_onnx_set_integers(g, &g->nodes[made], "perm", 3, (int64_t[]){1, 0, 2});
    cr_onnx_replace(g, out, again);
    cr_onnx_set_input(g, made, 0, out);
}

void cr_recognise_views(struct cr_onnx_graph *g)
{
    for (int i = 0, n = g->n_nodes; i < n; i++)
        if (!g->nodes[i].dead && strcmp(g->nodes[i].op, "Attend") == 0 && find_split(g, i))
            find_merge(g, i);
}
