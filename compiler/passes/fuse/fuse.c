/*
 * fuse.c - makes a kernel for each stored node.
 *
 * A kernel computes all nodes between its root and other stored nodes.  If one kernel cannot do
 * that, because it needs two contractions, or too many values or operands (lower.h), the obstacle
 * is stored, too.  Kernels are then lowered again, until no node is left to store.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/gathered_tables.h"
#include "compiler/passes/weights/weights.h"
#include "fuse.h"
#include "lower.h"

/* A kernel that is required to compute a stored node or a part of one. */
struct need {
    struct cr_goal goal;
    int kernel; /* the kernel's index in the module's kernels, which are not sorted yet, or
                   CR_NONE */
};

struct fusion {
    struct cr_module *m;
    struct cr_graph *g;
    struct cr_users users; /* valid if knows_users: found at the first matrix product that is an
                              obstacle */
    bool knows_users;
    struct cr_lowering *lowering;
    int *cleared; /* by node: the value of n_stored when its kernels were made last */
    int n_stored; /* starts at 1 */
    struct need *needs;
    int n_needs, cap_needs;
    int *first_need; /* by stored node: the index of its first need; its needs are consecutive */
    cr_id *state;    /* by node: the state that the node replaces, or CR_NONE */
};

/* True if the kernel of another node stores node `id`, too. */
static bool is_stored_with(const struct fusion *f, cr_id id)
{
    return f->m->stored_with[id] != CR_NONE && cr_backward_at(f->m, f->m->stored_with[id]);
}

/* True if one kernel computes the whole stored node.  Otherwise each part of a concat or write has
 * its own kernel. */
static bool has_one_kernel(const struct fusion *f, cr_id id)
{
    if (f->g->nodes[id].op == CR_OP_write)
        return f->state[id] == cr_in(f->g, id, 0);
    return f->g->nodes[id].op != CR_OP_concat || cr_backward_at(f->m, id);
}

static int n_needs_of(const struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id))
        return 0;
    if (has_one_kernel(f, id))
        return 1;
    return f->g->nodes[id].op == CR_OP_write ? 2 : f->g->nodes[id].n_in;
}

/* Returns the root of the i-th kernel of a stored node.  A write needs two kernels unless it
 * replaces a state in place: the first copies the old value, the second stores the rows. */
static cr_id need_root(const struct fusion *f, cr_id id, int i)
{
    bool itself = has_one_kernel(f, id) || (f->g->nodes[id].op == CR_OP_write && i == 1);
    return itself ? id : cr_in(f->g, id, i);
}

/* Appends the kernels that a stored node needs to the list of needs. */
static void add_needs(struct fusion *f, cr_id id)
{
    int64_t start = 0;
    f->first_need[id] = f->n_needs;
    for (int i = 0; i < n_needs_of(f, id); i++) {
        cr_id root = need_root(f, id, i);
        *CR_PUSH(f->needs, f->n_needs, f->cap_needs) =
            (struct need){.goal = {.root = root, .buffer = id, .start = start}, .kernel = CR_NONE};
        if (f->g->nodes[id].op == CR_OP_concat)
            start += f->g->nodes[root].shape[f->g->nodes[id].axis];
    }
}

/* True if storing the obstacle removes it from the kernel.  Not so for nodes that the kernel of an
 * attention's gradients computes inside, since it never loads them. */
static bool may_store(const struct fusion *f, const struct cr_goal *goal, cr_id obstacle)
{
    bool gradients = cr_backward_at(f->m, goal->root) && goal->root == goal->buffer;
    bool number = f->g->nodes[obstacle].op == CR_OP_const && !f->m->materialised[obstacle];
    bool leaf =
        (cr_kind_of(f->g, obstacle) == CR_KIND_LEAF || cr_is_laid_out(f->g, obstacle)) && !number;
    return obstacle != goal->buffer && !(gradients && (f->m->inside[obstacle] || leaf));
}

static void clear_node(struct fusion *f, cr_id id);

/* Returns a gather that a kernel computes element by element from a table in a format other than
 * f32, or CR_NONE.  If the gather is stored, its own kernel reads whole rows.  So the graph alone,
 * not the choice of kernels, determines which parameters can have a format. */
static cr_id find_split_gather(const struct fusion *f, const struct cr_kernel *k)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++) {
            const struct cr_value *v = &tiles->values[i];
            cr_id param = v->source == CR_GATHER ? cr_param_of(f->g, k->refs[v->ref]) : CR_NONE;
            if (param != CR_NONE && f->g->nodes[param].format != cr_format_of(CR_F32) &&
                !f->m->materialised[v->node] && !cr_gathers_rows(f->g, k, v->ref))
                return v->node;
        }
    return CR_NONE;
}

/* Makes the kernel of a need; it replaces an older one, made when fewer nodes were stored.  Returns
 * CR_NONE or the obstacle (see cr_lower); the kernel is then all zeros. */
static cr_id make_kernel(struct fusion *f, struct need *need)
{
    struct cr_module *m = f->m;
    if (need->kernel == CR_NONE) {
        *CR_PUSH(m->kernels, m->n_kernels, m->cap_kernels) = (struct cr_kernel){0};
        need->kernel = m->n_kernels - 1;
    }
    struct cr_kernel *kernel = &m->kernels[need->kernel];
    cr_kernel_free(kernel);
    cr_id obstacle = cr_lower(f->lowering, &need->goal, kernel);
    if (obstacle != CR_NONE)
        return obstacle;
    obstacle = find_split_gather(f, kernel);
    if (obstacle != CR_NONE) {
        cr_kernel_free(kernel);
        *kernel = (struct cr_kernel){0};
    }
    kernel->entry = f->g->nodes[need->goal.buffer].where.entry;
    return obstacle;
}

/* Returns the tensor that a term of a sum broadcasts: the node below its expands, reshapes and
 * slices.  Slices are included because a rank slices its part out of a bias. */
static cr_id repeated_by(const struct cr_graph *g, cr_id id)
{
    enum cr_op op;
    while ((op = g->nodes[id].op) == CR_OP_expand || op == CR_OP_reshape || op == CR_OP_slice)
        id = cr_in(g, id, 0);
    return id;
}

/* Returns the node to store for an obstacle: the obstacle itself or, if it is a product whose only
 * reader adds a vector (a bias), that sum.  The product's kernel then adds the bias while its sums
 * are in registers.  Otherwise each reader of the product would add it. */
static cr_id node_to_store(struct fusion *f, const struct cr_goal *goal, cr_id obstacle)
{
    const struct cr_graph *g = f->g;
    if (g->nodes[obstacle].op != CR_OP_matmul)
        return obstacle;
    if (!f->knows_users)
        cr_users_find(&f->users, g);
    f->knows_users = true;
    cr_id user = cr_only_user(&f->users, obstacle);
    if (user == CR_NONE || user == goal->buffer || g->nodes[user].op != CR_OP_add)
        return obstacle;
    cr_id row = repeated_by(g, cr_in(g, user, cr_in(g, user, 0) == obstacle));
    return g->nodes[row].rank == 1 && !f->m->materialised[user] ? user : obstacle;
}

/* Makes the kernel of a need.  While it has an obstacle, stores the obstacle and tries again.
 * Returns false if an obstacle cannot be stored. */
static bool clear_need(struct fusion *f, int need)
{
    cr_id obstacle = make_kernel(f, &f->needs[need]);
    while (obstacle != CR_NONE) {
        obstacle = node_to_store(f, &f->needs[need].goal, obstacle);
        if (!may_store(f, &f->needs[need].goal, obstacle))
            break;
        f->m->materialised[obstacle] = true;
        f->n_stored++;
        add_needs(f, obstacle);
        clear_node(f, obstacle);
        obstacle = make_kernel(f, &f->needs[need]);
    }
    return obstacle == CR_NONE;
}

/* Gives each gradient of an attention a kernel of its own; `first` is the first node of the
 * gradients. */
static void divide_gradients(struct fusion *f, cr_id first)
{
    struct cr_attention_backward *b = f->m->backwards;
    while (b->output != first)
        b++;
    b->divided = true;
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (id == first || f->m->stored_with[id] == first) {
            add_needs(f, id);
            f->cleared[id] = 0;
        }
}

/* Makes all kernels of a stored node again, and sets cleared[id] to the number of nodes that were
 * stored before the second kernel.  If one kernel cannot compute all gradients of an attention,
 * each gradient gets its own kernel. */
static void clear_node(struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id)) {
        f->cleared[id] = f->n_stored;
        return;
    }
    bool made = has_one_kernel(f, id) && clear_need(f, f->first_need[id]);
    if (!made && cr_backward_at(f->m, id))
        divide_gradients(f, id);
    f->cleared[id] = f->n_stored;
    for (int i = 0; i < n_needs_of(f, id) && !made; i++) {
        clear_need(f, f->first_need[id] + i);
        if (i == 0)
            f->cleared[id] = f->n_stored;
    }
}

/* Reserves memory for n kernels, those of the nodes stored so far; few more will follow. */
static void reserve_kernels(struct cr_module *m, int n)
{
    m->kernels = cr_calloc((size_t)n, sizeof *m->kernels);
    m->cap_kernels = n;
}

/* Stores nodes until no kernel has an obstacle.  Whenever a node is stored, remakes the kernels
 * that computed it inside, so that they load it. */
static void store_obstacles(struct fusion *f)
{
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (f->m->materialised[id])
            add_needs(f, id);
    reserve_kernels(f->m, f->n_needs);
    for (bool all = false; !all;) {
        all = true;
        for (cr_id id = 0; id < f->g->n_nodes; id++) {
            if (!f->m->materialised[id] || f->cleared[id] == f->n_stored)
                continue;
            clear_node(f, id);
            all = false;
        }
    }
}

/* Removes the kernels that could not be made, and sorts the others by node.  Operands precede their
 * users in the graph, so this is an execution order.  The verifier checks later that every stored
 * node has its kernels. */
static void order_kernels(struct cr_module *m)
{
    int n = 0;
    for (int i = 0; i < m->n_kernels; i++)
        if (m->kernels[i].n_stored)
            m->kernels[n++] = m->kernels[i];
    m->n_kernels = n;
    cr_sort_kernels(m);
}

/* Makes the kernels of all stored nodes; stores further nodes that a kernel cannot compute
 * inside. */
void cr_pass_fuse(struct cr_module *module)
{
    size_t n = (size_t)module->graph->n_nodes;
    struct fusion f = {.m = module, .g = module->graph, .n_stored = 1};
    f.cleared = cr_calloc(n, sizeof *f.cleared);
    f.first_need = cr_calloc(n, sizeof *f.first_need);
    f.state = cr_calloc(n, sizeof *f.state);
    for (size_t i = 0; i < n; i++)
        f.state[i] = CR_NONE;
    for (int i = 0; i < f.g->n_outputs; i++)
        f.state[f.g->outputs[i].id] = f.g->outputs[i].state;
    f.lowering = cr_lowering_new(module);
    store_obstacles(&f);
    order_kernels(module);
    cr_lowering_free(f.lowering);
    if (f.knows_users)
        cr_users_free(&f.users);
    free(f.cleared);
    free(f.needs);
    free(f.first_need);
    free(f.state);
}
