/* recognise_attention.c - finds softmax(Q K^T scale) V with a mask, and split and merged heads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constant_values.h"
#include "pattern_match.h"
#include "recognise.h"

/* The meaning of a mask: there is none; later keys are hidden (causal); true marks a key as
 * visible; true marks a key as hidden; the mask is added to the scores. */
enum mask { MASK_NONE, MASK_CAUSAL, MASK_ALLOWS, MASK_FORBIDS, MASK_ADDS };

/* An attention that is being matched, from the product probabilities * V back to the product Q
 * K^T. */
struct attention {
    int node, q, k, v, mask;
    enum mask kind;
    double scale;
    bool safe; /* a row of the output whose keys are all hidden is 0, not NaN */
};

/* ---- masks ---- */

/* True if element `x` of a mask hides a key.  Clears *is_plain if an additive mask has a number
 * that is neither 0 nor at most -1e30. */
static bool forbids(enum mask kind, double x, bool *is_plain)
{
    if (kind == MASK_ADDS)
        *is_plain = *is_plain && (x == 0 || x <= -1e30);
    return kind == MASK_ADDS ? x != 0 : kind == MASK_ALLOWS ? x == 0 : x != 0;
}

/*
 * Changes the kind of a mask with known elements: to none if it hides nothing, to causal if it
 * hides exactly the later keys.  An added -1e30 or less counts as -infinity; the results differ
 * only if scores are NaN or infinite.
 */
static void look_at_mask(struct cr_onnx_graph *g, struct attention *a)
{
    double *x = a->kind == MASK_NONE ? NULL : cr_onnx_numbers_of(g, a->mask, CR_ONNX_NONE);
    if (!x)
        return;
    const struct cr_onnx_value *m = &g->values[a->mask];
    int64_t n = 1, width = m->rank > 0 ? m->shape[m->rank - 1] : 1,
            height = m->rank > 1 ? m->shape[m->rank - 2] : 1, columns = cr_size_bound(width), rows = cr_size_bound(height);
    for (int i = 0; i < m->rank; i++)
        n *= cr_size_bound(m->shape[i]);
    bool is_plain = true, any = false, triangle = height == width && rows > 1;
    for (int64_t i = 0, row = 0; i < n; i += columns, row = (row + 1) % rows)
        for (int64_t column = 0; column < columns; column++) {
            bool no = forbids(a->kind, x[i + column], &is_plain);
            any |= no;
            triangle &= no == (column > row);
        }
    free(x);
    if (is_plain && (!any || triangle)) {
        a->kind = any ? MASK_CAUSAL : MASK_NONE;
        a->safe = false;
    }
}

/* Replaces a mask that is where(condition, 0, -infinity) or where(condition, -infinity, 0) by the
 * boolean condition. */
static void take_condition(const struct cr_onnx_graph *g, struct attention *a)
{
    int where = a->kind == MASK_ADDS ? cr_match_op(g, a->mask, "Where") : CR_ONNX_NONE;
    for (int i = 1; where != CR_ONNX_NONE && i < 3; i++) {
        double seen, hidden;
        const struct cr_onnx_node *n = &g->nodes[where];
        if (cr_onnx_scalar(g, n->inputs[3 - i], &hidden) &&
            cr_onnx_scalar(g, n->inputs[i], &seen) && hidden == -INFINITY && seen == 0 &&
            cr_match_same_shape(&g->values[n->inputs[0]], &g->values[a->mask])) {
            a->mask = n->inputs[0];
            a->kind = i == 1 ? MASK_ALLOWS : MASK_FORBIDS;
            return;
        }
    }
}

/* Returns a mask [B, 1, T, S] reshaped to [B, 1, 1, T, S], for grouped keys. */
static int wide_mask(struct cr_onnx_graph *g, const struct attention *a)
{
    const struct cr_onnx_value m = g->values[a->mask];
    int64_t shape[5] = {m.shape[0], 1, 1, m.shape[2], m.shape[3]};
    int value = cr_match_make(g, a->node, "View", &a->mask, 1, "mask", 5, shape);
    g->values[value].type = m.type;
    g->nodes[g->n_nodes - 1].scope = g->nodes[g->n_nodes - 1].name = "";
    return value;
}

/* True if the mask works with keys and values that are not repeated for each query head, because
 * it is the same for all heads.  Reshapes a boolean mask of 4 axes; graphs/lib reshapes an added
 * one. */
static bool fits_groups(struct cr_onnx_graph *g, struct attention *a)
{
    if (a->kind == MASK_NONE || a->kind == MASK_CAUSAL)
        return true;
    const struct cr_onnx_value m = g->values[a->mask];
    if (m.rank != 4 || m.shape[1] != 1)
        return a->kind != MASK_ADDS && m.rank < 3;
    if (a->kind == MASK_ADDS)
        return true;
    a->mask = wide_mask(g, a);
    return true;
}

/* Returns the mask of causal attention over `size` tokens. */
static int causal_mask(struct cr_onnx_graph *g, int like, int64_t size)
{
    int value = cr_match_make(g, like, "CausalMask", NULL, 0, "causal", 2, (int64_t[]){size, size});
    g->values[value].type = CR_ONNX_BOOL;
    g->nodes[g->n_nodes - 1].scope = g->nodes[g->n_nodes - 1].name = "";
    cr_onnx_set_integer(g, &g->nodes[g->n_nodes - 1], "size", size);
    return value;
}

/* ---- the parts ---- */

/* Strips multiplications and divisions by constants off a value and multiplies *scale by the
 * constants.  Stops at a product that has several readers. */
static int unscaled(const struct cr_onnx_graph *g, int value, double *scale)
{
    for (;;) {
        double x;
        int mul = cr_match_only(g, value, "Mul"), div = cr_match_only(g, value, "Div");
        if (mul != CR_ONNX_NONE && cr_onnx_scalar(g, g->nodes[mul].inputs[1], &x)) {
            *scale *= x;
            value = g->nodes[mul].inputs[0];
        } else if (mul != CR_ONNX_NONE && cr_onnx_scalar(g, g->nodes[mul].inputs[0], &x)) {
            *scale *= x;
            value = g->nodes[mul].inputs[1];
        } else if (div != CR_ONNX_NONE && cr_onnx_scalar(g, g->nodes[div].inputs[1], &x) &&
                   x != 0) {
            *scale /= x;
            value = g->nodes[div].inputs[0];
        } else
            return value;
    }
}

/* Returns the softmax that computes a value; sets *safe if it is inside `where isnan(p) then 0 else
 * p`.  Returns CR_ONNX_NONE if there is none. */
static int find_softmax(const struct cr_onnx_graph *g, int value, bool *safe)
{
    int where = cr_match_only(g, value, "Where");
    if (where != CR_ONNX_NONE && cr_onnx_users(g, g->nodes[where].inputs[2]) == 2) {
        int isnan_node = cr_match_only(g, g->nodes[where].inputs[0], "IsNaN");
        if (isnan_node == CR_ONNX_NONE || !cr_match_number(g, g->nodes[where].inputs[1], 0) ||
            g->nodes[isnan_node].inputs[0] != g->nodes[where].inputs[2])
            return CR_ONNX_NONE;
        *safe = true;
        return cr_match_op(g, g->nodes[where].inputs[2], "Softmax");
    }
    return cr_match_only(g, value, "Softmax");
}

/* True if a mask [.., T, S] broadcasts to the shape of the scores. */
static bool spreads(const struct cr_onnx_graph *g, int mask, int scores)
{
    const struct cr_onnx_value *m = &g->values[mask], *s = &g->values[scores];
    for (int i = 1; i <= m->rank; i++)
        if (i > s->rank ||
            (m->shape[m->rank - i] != 1 && m->shape[m->rank - i] != s->shape[s->rank - i]))
            return false;
    return m->rank >= 0;
}

/* If a value is scores combined with a mask, by an addition or by a where with a very small number,
 * returns the scores and sets the mask of `a`; else returns the value. */
static int unmasked(const struct cr_onnx_graph *g, int value, struct attention *a)
{
    int add = cr_match_only(g, value, "Add"), where = cr_match_only(g, value, "Where");
    for (int i = 0; add != CR_ONNX_NONE && i < 2; i++) {
        int scores = g->nodes[add].inputs[i], mask = g->nodes[add].inputs[!i];
        double one = 1;
        if (cr_match_only(g, unscaled(g, scores, &one), "MatMul") == CR_ONNX_NONE ||
            !spreads(g, mask, scores))
            continue;
        a->mask = mask;
        a->kind = MASK_ADDS;
        return scores;
    }
    for (int i = 1; where != CR_ONNX_NONE && i < 3; i++) {
        double x;
        int scores = g->nodes[where].inputs[3 - i], mask = g->nodes[where].inputs[0];
        if (!cr_onnx_scalar(g, g->nodes[where].inputs[i], &x) || x > -1e30 ||
            !spreads(g, mask, scores))
            continue;
        a->mask = mask;
        a->kind = i == 1 ? MASK_FORBIDS : MASK_ALLOWS;
        return scores;
    }
    return value;
}

/* Adds a node Permute of the value `x`; returns its output. */
static int permuted(struct cr_onnx_graph *g, int like, int x, const int *perm)
{
    const struct cr_onnx_value *v = &g->values[x];
    int64_t shape[CR_ONNX_RANK], numbers[CR_ONNX_RANK];
    int rank = v->rank;
    for (int i = 0; i < rank; i++) {
        shape[i] = v->shape[perm[i]];
        numbers[i] = perm[i];
    }
    int value = cr_match_make(g, like, "Permute", &x, 1, "k", rank, shape);
    cr_onnx_set_integers(g, &g->nodes[g->n_nodes - 1], "perm", rank, numbers);
    return value;
}

/* Returns the keys [.., S, d] whose last two axes a value swaps, or CR_ONNX_NONE.  May add a node
 * that views or permutes them. */
static int untransposed(struct cr_onnx_graph *g, int value, int like)
{
    int transpose = cr_match_op(g, value, "Transpose");
    if (cr_match_permutes(g, transpose, (int[]){0, 1, 3, 2}) ||
        cr_match_permutes(g, transpose, (int[]){0, 2, 1}))
        return g->nodes[transpose].inputs[0];
    if (cr_match_permutes(g, transpose, (int[]){0, 2, 3, 1}))
        return permuted(g, like, g->nodes[transpose].inputs[0], (int[]){0, 2, 1, 3});
    int wide = cr_match_op(g, value, "Reshape");
    if (wide == CR_ONNX_NONE)
        return CR_ONNX_NONE;
    transpose = cr_match_op(g, g->nodes[wide].inputs[0], "Transpose");
    if (!cr_match_permutes(g, transpose, (int[]){0, 2, 1}))
        return CR_ONNX_NONE;
    int flat = cr_match_op(g, g->nodes[transpose].inputs[0], "Reshape");
    const struct cr_onnx_value *kt = &g->values[value];
    const struct cr_onnx_value *k =
        flat == CR_ONNX_NONE ? NULL : &g->values[g->nodes[flat].inputs[0]];
    const struct cr_onnx_value *rows = &g->values[g->nodes[transpose].inputs[0]];
    if (k && kt->rank == 4 && k->rank == 4 && k->shape[0] == kt->shape[0] &&
        k->shape[1] == kt->shape[1] && k->shape[2] == kt->shape[3] && k->shape[3] == kt->shape[2] &&
        rows->shape[1] == k->shape[2])
        return g->nodes[flat].inputs[0];
    if (kt->rank == 4 && rows->rank == 3 && rows->shape[1] == kt->shape[3] &&
        rows->shape[2] == kt->shape[2] &&
        rows->shape[0] == cr_sizes(g->symbols, kt->shape[0], '*', kt->shape[1])) { /* the keys have
                                                                                      batch and
                                                                                      heads in one
                                                                                      axis */
        int64_t shape[4] = {kt->shape[0], kt->shape[1], kt->shape[3], kt->shape[2]};
        return cr_match_make(g, like, "View", &g->nodes[transpose].inputs[0], 1, "k", 4, shape);
    }
    return CR_ONNX_NONE;
}

/* Returns keys or values [B, G, S, d] if `value` repeats each of the G heads for a group of query
 * heads; else `value`. */
static int unrepeated(const struct cr_onnx_graph *g, int value)
{
    int flat = value, wide;
    for (int i = 0; i < 3 && flat != CR_ONNX_NONE; i++) { /* looks through reshapes */
        int producer = g->values[flat].producer;
        bool is_view = producer != CR_ONNX_NONE && (strcmp(g->nodes[producer].op, "Reshape") == 0 ||
                                                    strcmp(g->nodes[producer].op, "View") == 0);
        if (!is_view)
            break;
        flat = g->nodes[producer].inputs[0];
    }
    int expand = cr_match_op(g, flat, "Expand");
    wide =
        expand == CR_ONNX_NONE ? expand : cr_match_op(g, g->nodes[expand].inputs[0], "Unsqueeze");
    if (wide == CR_ONNX_NONE)
        return value;
    const struct cr_onnx_value *x = &g->values[g->nodes[wide].inputs[0]], *y = &g->values[value];
    const struct cr_onnx_value *w = &g->values[g->nodes[wide].outputs[0]];
    const struct cr_onnx_value *e = &g->values[g->nodes[expand].outputs[0]];
    bool is_repeat = x->rank == 4 && y->rank == 4 && w->rank == 5 && e->rank == 5 &&
                     w->shape[2] == 1 && w->shape[1] == x->shape[1] && e->shape[1] == x->shape[1] &&
                     e->shape[3] == x->shape[2] && y->shape[0] == x->shape[0] &&
                     y->shape[2] == x->shape[2] && y->shape[3] == x->shape[3] &&
                     e->shape[0] == x->shape[0] && y->shape[1] == cr_sizes(g->symbols, x->shape[1], '*', e->shape[2]);
    return is_repeat ? g->nodes[wide].inputs[0] : value;
}

/* ---- the whole ---- */

/* Replaces a matched attention by a node Attend.  Its keys and values are those before a repetition
 * for groups, if the mask allows that. */
static void put_attention(struct cr_onnx_graph *g, struct attention *a, int out)
{
    int k = unrepeated(g, a->k), v = unrepeated(g, a->v);
    look_at_mask(g, a);
    int64_t tokens = g->values[a->q].shape[g->values[a->q].rank - 2];
    if (a->kind == MASK_CAUSAL && g->values[a->mask].shape[g->values[a->mask].rank - 1] != tokens)
        return;
    if (a->kind == MASK_CAUSAL)
        a->mask = causal_mask(g, a->node, tokens);
    if (a->kind != MASK_CAUSAL)
        take_condition(g, a);
    if (k != a->k && v != a->v && fits_groups(g, a)) {
        a->k = k;
        a->v = v;
    }
    int inputs[4] = {a->q, a->k, a->v, a->mask};
    int made = cr_match_replace(g, out, a->node, "Attend", inputs, a->kind == MASK_NONE ? 3 : 4,
                                "attended");
    struct cr_onnx_node *n = &g->nodes[made];
    cr_onnx_set_integer(g, n, "mask", a->kind);
    cr_onnx_set_integer(g, n, "safe", a->safe);
    cr_onnx_set_real(g, n, "scale", a->scale);
}

/*
 * Matches an attention, starting at its last product, of probabilities and values.  Exporters
 * replace the NaN of a row with all keys hidden by 0.  If a known mask has no such row, plain
 * softmax is used, which also leaves NaN where scores are NaN.
 */
static void find_attention(struct cr_onnx_graph *g, int node)
{
    struct attention a = {
        .node = node, .v = g->nodes[node].inputs[1], .mask = CR_ONNX_NONE, .scale = 1};
    int softmax = find_softmax(g, g->nodes[node].inputs[0], &a.safe);
    if (softmax == CR_ONNX_NONE)
        return;
    int probs = g->nodes[softmax].outputs[0], rank = g->values[probs].rank;
    int64_t axis = cr_onnx_integer(&g->nodes[softmax], "axis", -1);
    if ((axis != -1 && axis != rank - 1) || rank < 3 || g->values[a.v].rank != rank)
        return;
    int scores = unmasked(g, g->nodes[softmax].inputs[0], &a);
    int product = cr_match_only(g, unscaled(g, scores, &a.scale), "MatMul");
    if (product == CR_ONNX_NONE)
        return;
    double of_q = 1, of_k = 1;
    int q = unscaled(g, g->nodes[product].inputs[0], &of_q),
        kt = unscaled(g, g->nodes[product].inputs[1], &of_k);
    if (g->values[q].rank != rank || g->values[kt].rank != rank)
        return;
    a.q = q;
    a.scale *= of_q * of_k;
    a.k = untransposed(g, kt, node);
    if (a.k == CR_ONNX_NONE)
        return;
    for (int i = 0; i < rank - 2; i++)
        if (g->values[a.k].shape[i] != g->values[a.q].shape[i] ||
            g->values[a.v].shape[i] != g->values[a.q].shape[i])
            return;
    put_attention(g, &a, g->nodes[node].outputs[0]);
}

/* True if all attributes of a node of ONNX's Attention are supported; a sliding window is not. */
static bool is_plain_operator(const struct cr_onnx_node *n)
{
    static const char *const known[] = {
        "is_causal", "scale", "softcap", "qk_matmul_output_mode", "q_num_heads", "kv_num_heads"};
    for (int i = 0; i < n->n_attributes; i++) {
        bool is_known = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known |= strcmp(n->attributes[i].name, known[k]) == 0;
        if (!is_known)
            return false;
    }
    return true;
}

/* Matches ONNX's operator Attention if queries, keys and values have an axis of heads, and there is
 * no cache. */
static void find_operator(struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    struct attention a = {.node = node,
                          .q = n->inputs[0],
                          .k = n->inputs[1],
                          .v = n->inputs[2],
                          .mask = CR_ONNX_NONE};
    for (int i = 4; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE)
            return;
    if (!is_plain_operator(n))
        return;
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE && cr_onnx_users(g, n->outputs[i]))
            return;
    const struct cr_onnx_value *q = &g->values[a.q], *k = &g->values[a.k];
    bool causal = cr_onnx_integer(n, "is_causal", 0) != 0;
    a.mask = n->n_inputs > 3 ? n->inputs[3] : CR_ONNX_NONE;
    if (q->rank != 4 || k->rank != 4 || g->values[a.v].rank != 4 ||
        cr_onnx_real(n, "softcap", 0) != 0 || q->shape[1] != k->shape[1] ||
        (causal && (a.mask != CR_ONNX_NONE || q->shape[2] != k->shape[2])))
        return;
    a.scale = cr_onnx_real(n, "scale", 0);
    if (!cr_onnx_attribute(n, "scale"))
        a.scale = 1 / sqrt((double)cr_size_bound(q->shape[3]));
    if (causal) {
        a.mask = causal_mask(g, node, q->shape[2]);
        int inputs[4] = {a.q, a.k, a.v, a.mask};
        int made =
            cr_match_replace(g, g->nodes[node].outputs[0], node, "Attend", inputs, 4, "attended");
        cr_onnx_set_integer(g, &g->nodes[made], "mask", MASK_CAUSAL);
        cr_onnx_set_real(g, &g->nodes[made], "scale", a.scale);
        return;
    }
    if (a.mask != CR_ONNX_NONE) {
        a.kind = g->values[a.mask].type == CR_ONNX_BOOL ? MASK_ALLOWS : MASK_ADDS;
        a.safe = true;
    }
    put_attention(g, &a, g->nodes[node].outputs[0]);
}

/* Finds attention written as a formula, and the operator of opset 23. */
void cr_recognise_attention(struct cr_onnx_graph *g)
{
    cr_match_each(g, "", "MatMul", find_attention);
    cr_match_each(g, "", "Attention", find_operator);
}

/* ---- heads ---- */

/* True if a node swaps axes 1 and 2 of four axes: a Transpose, or a Permute of the domain
 * "crescent". */
static int swap_of_heads(const struct cr_onnx_graph *g, int node)
{
    const struct cr_onnx_node *n = &g->nodes[node];
    bool permutes = (strcmp(n->op, "Transpose") == 0 && !*n->domain) || strcmp(n->op, "Permute") == 0;
    return permutes && cr_match_permutes(g, node, (int[]){0, 2, 1, 3});
}

/* Finds a split of heads: [B, T, H d] reshaped to [B, T, H, d] and permuted to [B, H, T, d]. */
static void find_split(struct cr_onnx_graph *g, int node)
{
    int reshape = cr_match_op(g, g->nodes[node].inputs[0], "Reshape");
    if (reshape == CR_ONNX_NONE)
        return;
    int x = g->nodes[reshape].inputs[0];
    const struct cr_onnx_value *from = &g->values[x],
                               *to = &g->values[g->nodes[reshape].outputs[0]];
    if (from->rank != 3 || to->rank != 4 || from->shape[0] != to->shape[0] ||
        from->shape[1] != to->shape[1])
        return;
    int64_t heads = to->shape[2];
    int made = cr_match_replace(g, g->nodes[node].outputs[0], node, "SplitHeads", &x, 1, "heads");
    cr_onnx_set_integer(g, &g->nodes[made], "heads", heads);
}

/* Finds a merge of heads: [B, H, T, d] permuted and reshaped to [B, T, H d]. */
static void find_merge(struct cr_onnx_graph *g, int node)
{
    int reshape = cr_match_user(g, g->nodes[node].outputs[0]), x = g->nodes[node].inputs[0];
    if (reshape == CR_ONNX_NONE ||
        (strcmp(g->nodes[reshape].op, "Reshape") != 0 && strcmp(g->nodes[reshape].op, "View") != 0))
        return;
    const struct cr_onnx_value *from = &g->values[x],
                               *to = &g->values[g->nodes[reshape].outputs[0]];
    if (from->rank == 4 && to->rank == 3 && to->shape[0] == from->shape[0] &&
        to->shape[1] == from->shape[2])
        cr_match_replace(g, g->nodes[reshape].outputs[0], node, "MergeHeads", &x, 1, "merged");
}

void cr_recognise_heads(struct cr_onnx_graph *g)
{
    for (int i = 0, n = g->n_nodes; i < n; i++)
        if (!g->nodes[i].dead && swap_of_heads(g, i))
            find_split(g, i);
    for (int i = 0, n = g->n_nodes; i < n; i++)
        if (!g->nodes[i].dead && swap_of_heads(g, i))
            find_merge(g, i);
}
