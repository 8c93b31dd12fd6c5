/* axis_classes.c - finds classes of axes that must have one size; see axis_classes.h. */
#include "axis_classes.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

int cr_axis_class(struct cr_axes *x, int axis)
{
    while (x->same[axis] != axis)
        axis = x->same[axis] = x->same[x->same[axis]];
    return axis;
}

static void tie(struct cr_axes *x, cr_id a, int i, cr_id b, int j)
{
    int first = cr_axis_class(x, a * CR_MAX_RANK + i), second = cr_axis_class(x, b * CR_MAX_RANK + j);
    x->same[second] = first;
    x->fixed[first] |= x->fixed[second];
    x->loose[first] |= x->loose[second];
}

static void fix(struct cr_axes *x, cr_id id, int axis)
{
    x->fixed[cr_axis_class(x, id * CR_MAX_RANK + axis)] = true;
}

static void fix_all(struct cr_axes *x, cr_id id)
{
    for (int a = 0; a < x->g->nodes[id].rank; a++)
        fix(x, id, a);
}

static int64_t behind(const struct cr_node *node, int axis)
{
    return cr_elements(node->rank - axis - 1, node->shape + axis + 1);
}

/* Puts axes that a reshape keeps into the class of the operand's axis; no other axis can be a
 * length. */
static void tie_reshape(struct cr_axes *x, cr_id id, cr_id in)
{
    const struct cr_node *node = &x->g->nodes[id], *from = &x->g->nodes[in];
    unsigned kept = 0;
    for (int a = 0; a < from->rank; a++) {
        int to = 0;
        while (to < node->rank &&
               (node->shape[to] != from->shape[a] || behind(node, to) != behind(from, a)))
            to++;
        if (to == node->rank || from->shape[a] == 1) {
            fix(x, in, a);
            continue;
        }
        tie(x, id, to, in, a);
        kept |= 1u << to;
    }
    for (int a = 0; a < node->rank; a++)
        if (!(kept >> a & 1))
            fix(x, id, a);
}

static void tie_move(struct cr_axes *x, cr_id id, cr_id in)
{
    const struct cr_node *node = &x->g->nodes[id], *from = &x->g->nodes[in];
    int more = node->rank - from->rank;
    if (node->op == CR_OP_reshape) {
        tie_reshape(x, id, in);
        return;
    }
    for (int a = 0; a < from->rank; a++) {
        int to = node->op == CR_OP_expand ? a + more : a;
        if (node->op == CR_OP_permute)
            tie(x, id, a, in, (int)node->index[a]);
        else if (node->shape[to] == from->shape[a])
            tie(x, id, to, in, a);
        else
            fix(x, in, a);
        if (node->op == CR_OP_slice && node->shape[to] != from->shape[a])
            fix(x, id, to);
    }
}

/* Puts each axis of a node, except `axis`, into the class of the same axis of an operand. */
static void tie_beside(struct cr_axes *x, cr_id id, cr_id in, int axis)
{
    for (int a = 0; a < x->g->nodes[id].rank; a++)
        if (a != axis)
            tie(x, id, a, in, a);
}

/* Notes that the last two axes of weights change bits as lengths. */
static void note_weights(struct cr_axes *x, cr_id id)
{
    int r = x->g->nodes[id].rank;
    for (int a = r - 2; x->weights[id] && a < r; a++)
        x->loose[cr_axis_class(x, id * CR_MAX_RANK + a)] = true;
}

static void tie_contract(struct cr_axes *x, cr_id id, cr_id left, cr_id right)
{
    note_weights(x, left);
    note_weights(x, right);
    int r = x->g->nodes[id].rank;
    tie_beside(x, id, left, r - 1);
    for (int a = 0; a < r - 2; a++)
        tie(x, id, a, right, a);
    tie(x, id, r - 1, right, r - 1);
    tie(x, left, r - 1, right, r - 2);
}

/* Random numbers depend on their index in the tensor, so only the first axis can be a length. */
static void fix_random(struct cr_axes *x, cr_id id)
{
    const struct cr_node *node = &x->g->nodes[id];
    for (int a = 0; a < node->rank; a++)
        if (cr_elements(a, node->shape) > 1)
            fix(x, id, a);
}

/* True if a node is computed from iota and constants alone. */
static bool is_counted(const struct cr_graph *g, cr_id id)
{
    enum cr_kind kind = cr_kind_of(g, id);
    bool counted = kind == CR_KIND_ELEMENTWISE || g->nodes[id].op == CR_OP_expand ||
                   g->nodes[id].op == CR_OP_iota || g->nodes[id].op == CR_OP_const;
    for (int i = 0; i < g->nodes[id].n_in && counted; i++)
        counted = is_counted(g, cr_in(g, id, i));
    return counted;
}

/* A gather of all rows in order is no movement if its table has exactly these rows, which a length
 * hides; then products are fused differently. */
static void tie_gather(struct cr_axes *x, cr_id id, cr_id table, cr_id index)
{
    int n = x->g->nodes[index].rank;
    if (n == 1 && is_counted(x->g, index)) {
        x->loose[cr_axis_class(x, id * CR_MAX_RANK)] = true;
        x->loose[cr_axis_class(x, table * CR_MAX_RANK)] = true;
    }
    for (int a = 0; a < n; a++)
        tie(x, id, a, index, a);
    for (int a = 1; a < x->g->nodes[table].rank; a++)
        tie(x, id, n + a - 1, table, a);
}

/* Along its own axis, a take may have another length than its operand. */
static void tie_take(struct cr_axes *x, cr_id id, const cr_id *in)
{
    tie_beside(x, id, in[0], x->g->nodes[id].axis);
    tie_beside(x, id, in[1], CR_NONE);
}

static void tie_write(struct cr_axes *x, cr_id id, const cr_id *in)
{
    int axis = x->g->nodes[id].axis;
    for (int i = 0; i < 2; i++)
        tie_beside(x, id, in[i], axis);
    fix(x, id, axis);
    fix(x, in[0], axis);
}

static void tie_scan(struct cr_axes *x, cr_id id, cr_id in)
{
    int axis = x->g->nodes[id].axis;
    for (int a = 0; a < x->g->nodes[id].rank; a++)
        tie(x, id, a, in, a);
    for (int a = 0; a < x->g->nodes[id].rank; a++)
        if (a != axis)
            fix(x, id, a);
}

static void tie_node(struct cr_axes *x, cr_id id)
{
    const struct cr_node *node = &x->g->nodes[id];
    const cr_id *in = cr_inputs(x->g, node);
    enum cr_kind kind = cr_ops[node->op].kind;
    x->weights[id] = node->op == CR_OP_param || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT;
    for (int i = 0; i < node->n_in; i++)
        x->weights[id] &= x->weights[in[i]];
    switch (kind) {
    case CR_KIND_EXCHANGE:
    case CR_KIND_LEAF:
        if (node->op == CR_OP_state || node->op == CR_OP_literal)
            fix_all(x, id);
        return;
    case CR_KIND_ELEMENTWISE:
    case CR_KIND_CONCAT:
        for (int i = 0; i < node->n_in; i++)
            tie_beside(x, id, in[i], node->op == CR_OP_concat ? node->axis : CR_NONE);
        for (int i = 0; i < node->n_in && node->op == CR_OP_concat; i++)
            fix(x, in[i], node->axis);
        if (node->op == CR_OP_concat)
            fix(x, id, node->axis);
        return;
    case CR_KIND_REDUCE:
        tie_beside(x, id, in[0], node->axis);
        fix(x, id, node->axis);
        return;
    case CR_KIND_CONTRACT:
        tie_contract(x, id, in[0], in[1]);
        return;
    case CR_KIND_MOVE:
        tie_move(x, id, in[0]);
        return;
    case CR_KIND_GATHER:
        tie_gather(x, id, in[0], in[1]);
        return;
    case CR_KIND_TAKE:
        tie_take(x, id, in);
        return;
    case CR_KIND_WRITE:
        tie_write(x, id, in);
        return;
    case CR_KIND_RANDOM:
        fix_random(x, id);
        return;
    case CR_KIND_SCAN:
        tie_scan(x, id, in[0]);
        return;
    case CR_KIND_SCATTER:
        fix_all(x, id);
        fix_all(x, in[0]);
        fix_all(x, in[1]);
        return;
    }
}

/* States have no lengths, since they keep all elements from run to run. */
void cr_find_axes(struct cr_axes *x, const struct cr_graph *g)
{
    int n = g->n_nodes * CR_MAX_RANK;
    *x = (struct cr_axes){g, cr_calloc((size_t)n + 1, sizeof *x->same),
                       cr_calloc((size_t)n + 1, sizeof *x->fixed),
                       cr_calloc((size_t)n + 1, sizeof *x->loose),
                       cr_calloc((size_t)g->n_nodes + 1, sizeof *x->weights)};
    for (int i = 0; i < n; i++)
        x->same[i] = i;
    for (cr_id id = 0; id < g->n_nodes; id++)
        tie_node(x, id);
    for (int i = cr_n_results(g); i < g->n_outputs; i++)
        fix_all(x, g->outputs[i].id);
}

void cr_free_axes(struct cr_axes *x)
{
    free(x->same);
    free(x->fixed);
    free(x->loose);
    free(x->weights);
}

bool cr_size_begins(const struct cr_graph *g, const struct cr_node *node, int axis)
{
    enum cr_kind kind = cr_ops[node->op].kind;
    if (kind == CR_KIND_LEAF || kind == CR_KIND_RANDOM)
        return true;
    if (node->op != CR_OP_expand)
        return false;
    const struct cr_node *in = &g->nodes[cr_inputs(g, node)[0]];
    int below = axis - (node->rank - in->rank);
    return below < 0 || in->shape[below] != node->shape[axis];
}
