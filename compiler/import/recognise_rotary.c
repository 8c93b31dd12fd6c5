/* recognise_rotary.c - finds rotary positions, x cos + (-b, a) sin for x = (a, b).  The angles are
 * known, or computed and equal in both halves: concat(w, w) of any w. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constant_values.h"
#include "pattern_match.h"
#include "recognise.h"

/* Rotary angles t * theta^(-2i / d) of positions t = 0, 1, ... and pairs i. */
struct angles {
    int64_t size, half; /* the number of positions; half the size of a head */
    int64_t columns;    /* columns of the tables: `half`, or 2 * `half` if both halves are equal */
    double theta;
};

/* True if a value is the half of x's last axis that begins at index `start`. */
static bool is_half(const struct cr_onnx_graph *g, int value, int x, int64_t start)
{
    int slice = cr_match_only(g, value, "Slice");
    if (slice == CR_ONNX_NONE || g->nodes[slice].inputs[0] != x || g->nodes[slice].n_inputs < 4)
        return false;
    const struct cr_onnx_node *n = &g->nodes[slice];
    const struct cr_onnx_value *from = &g->values[x], *to = &g->values[value];
    double first, axis, step = 1;
    int64_t d = from->shape[from->rank - 1];
    if (!cr_onnx_scalar(g, n->inputs[1], &first) || !cr_onnx_scalar(g, n->inputs[3], &axis) ||
        (n->n_inputs > 4 && n->inputs[4] != CR_ONNX_NONE &&
         !cr_onnx_scalar(g, n->inputs[4], &step)))
        return false;
    return (axis == -1 || axis == from->rank - 1) && step == 1 &&
           cr_sizes(g->symbols, to->shape[to->rank - 1], '*', 2) == d &&
           (first < 0 ? first + (double)d : first) == (double)start;
}

/* True if a value is (-b, a) of x = (a, b). */
static bool is_turned(const struct cr_onnx_graph *g, int value, int x)
{
    int concat = cr_match_only(g, value, "Concat"), rank = g->values[x].rank;
    if (concat == CR_ONNX_NONE || g->nodes[concat].n_inputs != 2 || rank < 2)
        return false;
    int64_t axis = cr_onnx_integer(&g->nodes[concat], "axis", 0), d = g->values[x].shape[rank - 1];
    int neg = cr_match_only(g, g->nodes[concat].inputs[0], "Neg");
    return (axis == -1 || axis == rank - 1) && neg != CR_ONNX_NONE && !cr_size_is_symbol(d) && d % 2 == 0 &&
           is_half(g, g->nodes[neg].inputs[0], x, d / 2) &&
           is_half(g, g->nodes[concat].inputs[1], x, 0);
}

/* True if a value is a table [1, .., T, columns]. */
static bool is_table(const struct cr_onnx_graph *g, int value, const struct angles *a)
{
    const struct cr_onnx_value *t = &g->values[value];
    for (int i = 0; i + 2 < t->rank; i++)
        if (t->shape[i] != 1)
            return false;
    return t->rank >= 2 && t->shape[t->rank - 1] == a->columns && t->shape[t->rank - 2] == a->size;
}

/* Returns theta, computed from the second frequency; rounded if it is close to an integer. */
static double find_theta(const double *cosine, const double *sine, const struct angles *a)
{
    if (a->half < 2)
        return 10000;
    double theta = pow(atan2(sine[a->columns + 1], cosine[a->columns + 1]), -(double)a->half);
    return fabs(theta - round(theta)) <= 1e-4 * theta ? round(theta) : theta;
}

/* True if the tables `c` and `s` are cosine and sine of position * frequency, computed in
 * floats. */
static bool are_rotations(const double *c, const double *s, const struct angles *a)
{
    if (!(a->theta > 1 && a->theta < 1e12))
        return false;
    for (int64_t i = 0; i < cr_size_bound(a->size) * a->columns; i++) {
        float w = (float)pow(a->theta, -(double)(i % a->columns % a->half) / (double)a->half);
        float angle = (float)(i / a->columns) * w;
        if (!(fabs(c[i] - cos(angle)) <= 1e-5 && fabs(s[i] - sin(angle)) <= 1e-5))
            return false;
    }
    return true;
}

/* True if two tables hold the cosines and sines of rotary positions for x; sets *a. */
static bool find_angles(const struct cr_onnx_graph *g, int cosines, int sines, int x, bool is_whole,
                        struct angles *a)
{
    const struct cr_onnx_value *v = &g->values[x];
    if (cr_size_is_symbol(v->shape[v->rank - 1]))
        return false;
    a->size = v->shape[v->rank - 2];
    a->half = v->shape[v->rank - 1] / 2;
    a->columns = is_whole ? 2 * a->half : a->half;
    if (a->size < 2 || !is_table(g, cosines, a) || !is_table(g, sines, a))
        return false;
    double *c = cr_onnx_numbers_of(g, cosines, CR_ONNX_NONE);
    double *s = cr_onnx_numbers_of(g, sines, CR_ONNX_NONE);
    a->theta = c && s ? find_theta(c, s, a) : NAN;
    bool are = c && s && are_rotations(c, s, a);
    free(c);
    free(s);
    return are;
}

/* Adds a node Angles; returns its output. */
static int angles_of(struct cr_onnx_graph *g, int like, const struct angles *a)
{
    int value =
        cr_match_make(g, like, "Angles", NULL, 0, "angles", 2, (int64_t[]){a->size, a->half});
    struct cr_onnx_node *n = &g->nodes[g->n_nodes - 1];
    n->name = n->scope = "";
    cr_onnx_set_integer(g, n, "size", a->size);
    cr_onnx_set_integer(g, n, "half", a->half);
    cr_onnx_set_real(g, n, "theta", a->theta);
    return value;
}

/* ---- angles that the model computes ---- */

/*
 * Returns w if a table is function(concat(w, w)), or CR_ONNX_NONE.  Views in between have to keep
 * the last axis, so that its halves stay equal.
 */
static int twice(const struct cr_onnx_graph *g, int table, const char *function)
{
    static const char *const views[] = {"Unsqueeze", "Reshape", "Squeeze", "Identity"};
    int rank = g->values[table].rank;
    int64_t d = rank > 0 ? g->values[table].shape[rank - 1] : 0;
    for (size_t i = 0; i < sizeof views / sizeof *views;) {
        int view = cr_match_op(g, table, views[i++]);
        if (view == CR_ONNX_NONE)
            continue;
        table = g->nodes[view].inputs[0];
        i = 0;
        rank = g->values[table].rank;
        if (rank < 1 || g->values[table].shape[rank - 1] != d)
            return CR_ONNX_NONE;
    }
    int of = cr_match_op(g, table, function);
    int concat = of == CR_ONNX_NONE ? of : cr_match_op(g, g->nodes[of].inputs[0], "Concat");
    if (concat == CR_ONNX_NONE || g->nodes[concat].n_inputs != 2)
        return CR_ONNX_NONE;
    const struct cr_onnx_node *n = &g->nodes[concat];
    int64_t axis = cr_onnx_integer(n, "axis", 0);
    return n->inputs[0] == n->inputs[1] && (axis == -1 || axis == rank - 1) &&
                   g->values[n->inputs[0]].type == CR_ONNX_FLOAT
               ? n->inputs[0]
               : CR_ONNX_NONE;
}

/* Returns the output, of the given shape, of a node that applies `op` to a value.  Reuses such a
 * node if the graph has one. */
static int one_of(struct cr_onnx_graph *g, const char *domain, const char *op, int x,
                  const char *name, int rank, const int64_t *shape)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_onnx_node *n = &g->nodes[i];
        const struct cr_onnx_value *y = &g->values[n->outputs[0]];
        if (!n->dead && strcmp(n->op, op) == 0 && strcmp(n->domain, domain) == 0 &&
            n->inputs[0] == x && y->rank == rank &&
            memcmp(y->shape, shape, (size_t)rank * sizeof *shape) == 0)
            return n->outputs[0];
    }
    int value = cr_match_make(g, g->values[x].producer, op, &x, 1, name, rank, shape);
    struct cr_onnx_node *n = &g->nodes[g->n_nodes - 1];
    n->domain = domain;
    n->name = n->scope = "";
    return value;
}

/* Returns cosines or sines of the angles of half a head.  All axes but the last are as in `table`,
 * which is for a whole head. */
static int half_table(struct cr_onnx_graph *g, int table, int angles, const char *function,
                      const char *name)
{
    const struct cr_onnx_value w = g->values[angles], t = g->values[table];
    int64_t shape[CR_ONNX_RANK];
    memcpy(shape, t.shape, sizeof shape);
    shape[t.rank - 1] = cr_sizes(g->symbols, shape[t.rank - 1], '/', 2);
    int value = one_of(g, "", function, angles, name, w.rank, w.shape);
    if (w.rank == t.rank && memcmp(w.shape, shape, (size_t)t.rank * sizeof *shape) == 0)
        return value;
    return one_of(g, CR_ONNX_CRESCENT, "View", value, name, t.rank, shape);
}

/* Replaces x cos + (-b, a) sin, with angles that the model computes, by a node Turn of x. */
static bool find_turn(struct cr_onnx_graph *g, int node, int x, int cosines, int sines)
{
    const struct cr_onnx_value *v = &g->values[x], *c = &g->values[cosines];
    int angles = twice(g, cosines, "Cos");
    if (angles == CR_ONNX_NONE || g->values[angles].producer == CR_ONNX_NONE ||
        twice(g, sines, "Sin") != angles || !cr_match_same_shape(c, &g->values[sines]) ||
        c->rank != v->rank || c->shape[c->rank - 1] != v->shape[v->rank - 1])
        return false;
    for (int i = 0; i < v->rank; i++)
        if (c->shape[i] != 1 && c->shape[i] != v->shape[i])
            return false;
    int inputs[3] = {x, half_table(g, cosines, angles, "Cos", "cosines"),
                     half_table(g, sines, angles, "Sin", "sines")};
    cr_match_replace(g, g->nodes[node].outputs[0], node, "Turn", inputs, 3, "turned");
    return true;
}

/* ---- the whole ---- */

/* Finds x cos + (-b, a) sin, with the operands of sum and products in any order. */
static void find_rotary(struct cr_onnx_graph *g, int node)
{
    for (int i = 0; i < 4; i++) {
        struct angles a;
        int straight = cr_match_only(g, g->nodes[node].inputs[i & 1], "Mul");
        int turned = cr_match_only(g, g->nodes[node].inputs[!(i & 1)], "Mul");
        if (straight == CR_ONNX_NONE || turned == CR_ONNX_NONE)
            return;
        int x = g->nodes[straight].inputs[i >> 1], cosines = g->nodes[straight].inputs[!(i >> 1)];
        for (int j = 0; j < 2; j++) {
            int sines = g->nodes[turned].inputs[!j];
            if (!is_turned(g, g->nodes[turned].inputs[j], x))
                continue;
            if (!find_angles(g, cosines, sines, x, true, &a)) {
                if (find_turn(g, node, x, cosines, sines))
                    return;
                continue;
            }
            int inputs[2] = {x, angles_of(g, node, &a)};
            cr_match_replace(g, g->nodes[node].outputs[0], node, "Rotary", inputs, 2, "turned");
            return;
        }
    }
}

/* Finds ONNX's operator RotaryEmbedding for a whole head, with tables for half a head. */
static void find_operator(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    struct angles a;
    int x = n->inputs[0];
    if (n->n_inputs < 3 || (n->n_inputs > 3 && n->inputs[3] != CR_ONNX_NONE) ||
        g->values[x].rank != 4 || cr_size_bound(g->values[x].shape[3]) % 2 ||
        cr_onnx_integer(n, "interleaved", 0) || cr_onnx_integer(n, "rotary_embedding_dim", 0) ||
        !find_angles(g, n->inputs[1], n->inputs[2], x, false, &a))
        return;
    int inputs[2] = {x, angles_of(g, node, &a)};
    cr_match_replace(g, g->nodes[node].outputs[0], node, "Rotary", inputs, 2, "turned");
}

/* Finds rotary positions written as a formula, and the operator of opset 23. */
void cr_recognise_rotary(struct cr_onnx_graph *g)
{
    cr_match_each(g, "", "Add", find_rotary);
    cr_match_each(g, "", "RotaryEmbedding", find_operator);
}
