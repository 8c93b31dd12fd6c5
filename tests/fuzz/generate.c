/* generate.c - makes random graphs of steps; a step whose values are too large is undone. */
#include "generate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "compiler/ir/incremental.h"
#include "leaves.h"
#include "maker.h"

enum { MAX_FORWARD_NODES = 120, MAX_NODES = 1200 };

/* Chooses the value that the next step reads: often the last one, since unused values are dead. */
static cr_id any_value(struct cr_maker *m)
{
    int64_t among = cr_chance(m, 60) ? 1 : cr_chance(m, 50) && m->n_pool > 4 ? 4 : m->n_pool;
    return m->pool[m->n_pool - 1 - cr_below(m, among)];
}

/* True if a value is finite, not large, and has an error bound near float's precision. */
static bool is_tame(const struct cr_maker *m, cr_id id)
{
    const struct cr_node *node = cr_node_of(m, id);
    int64_t n = cr_elements(node->rank, node->shape);
    if (id >= m->c->n) /* it was not evaluated, as that would take too much work */
        return false;
    const struct cr_bounds *b = &m->c->bounds[id];
    for (int64_t i = 0; i < n && !m->wild; i++)
        if (!(fabs(b->value[i]) < 50) || !(b->error[i] < 1e-4 * (1 + fabs(b->value[i]))))
            return false;
    return n <= 30000;
}

/* Sets the source line and the scope of the nodes to come; in some cases also taps (names) the
 * value. */
static void mark(struct cr_maker *m, cr_id id, int layer, int step)
{
    char name[64];
    snprintf(name, sizeof name, "t%d", (int)id);
    if (cr_chance(m, 20) && id != CR_NONE && !m->g->nodes[id].tap)
        m->g->nodes[id].tap = cr_intern(m->g, name);
    snprintf(name, sizeof name, layer < 0 ? "s%d" : "s%d.%d", step, layer);
    m->g->here.file = cr_intern(m->g, "random.lua");
    m->g->here.line = step + 1;
    m->g->here.scope = cr_intern(m->g, name);
}

static cr_id attempt(struct cr_maker *m, cr_recipe *recipe, cr_id x)
{
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
    int64_t work = m->work;
    cr_id y = recipe(m, x);
    if (y != CR_NONE && is_tame(m, y))
        return y;
    cr_make_cut(m, n_nodes, n_operands);
    m->work = work;
    return CR_NONE;
}

/* Adds a layer of a block: a few steps that keep the shape, and perhaps a residual connection. */
static cr_id layer(struct cr_maker *m, cr_id x, int n_steps, int number)
{
    cr_id y = x;
    m->in_layer = true;
    m->next_shared = 0;
    if (number == 0)
        m->n_shared = 0;
    for (int i = 0; i < n_steps && y != CR_NONE; i++) {
        mark(m, i > 0 ? y : CR_NONE, number, i);
        bool heavy = i == 0 && cr_chance(m, 70); /* a product ends a kernel */
        y = attempt(m, heavy ? cr_heavy_recipe(m) : cr_even_recipe(m), y);
    }
    m->in_layer = false;
    if (y == CR_NONE || !cr_same_shape(cr_node_of(m, x), cr_node_of(m, y)))
        return CR_NONE;
    if (cr_chance(m, 60))
        y = cr_make2(m, CR_OP_add, x, y);
    return is_tame(m, y) ? y : CR_NONE;
}

/* Finds a seed whose layer has a tame result, and undoes the attempts. */
static uint64_t layer_seed(struct cr_maker *m, cr_id x, int n_steps)
{
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands, n_leaves = m->n_leaves;
    uint64_t seed = 0;
    int64_t work = m->work;
    cr_id y = CR_NONE;
    for (int i = 0; i < 10 && y == CR_NONE; i++) {
        m->state = seed = cr_next(m);
        y = layer(m, x, n_steps, 0);
        cr_make_cut(m, n_nodes, n_operands);
        m->n_leaves = n_leaves;
        m->work = work;
    }
    return seed;
}

/* Returns a second value that layers pass on: the earlier one plus half a projection of x. */
static cr_id second_value(struct cr_maker *m, cr_id memory, cr_id x)
{
    m->in_layer = true;
    cr_id more = cr_make_linear(m, x, cr_size_of(m, x, -1));
    m->in_layer = false;
    return cr_make2(m, CR_OP_add, memory, cr_make_with(m, CR_OP_mul, more, 0.5));
}

/* Adds layers of the same ops, which outlining should recognise.  Layers may also pass on a
 * second value, and a value of a layer may be used after the layers. */
static cr_id step_block(struct cr_maker *m, cr_id x)
{
    int n_layers = 2 + (int)cr_below(m, 5), n_steps = 1 + (int)cr_below(m, 4);
    if (cr_node_of(m, x)->rank < 2)
        x = cr_model_leaf(m);
    cr_id memory = cr_chance(m, 40) ? x : CR_NONE, made[8];
    m->n_layers = n_layers;
    uint64_t seed = layer_seed(m, x, n_steps);
    for (int i = 0; i < n_layers && x != CR_NONE; i++) {
        m->state = seed;
        if (memory != CR_NONE && i > 0)
            x = cr_make2(m, CR_OP_add, x, memory);
        x = layer(m, x, n_steps, i);
        if (x != CR_NONE && memory != CR_NONE)
            memory = second_value(m, memory, x);
        made[i] = x;
    }
    m->state = seed ^ 1;
    for (int i = 0; x != CR_NONE && is_tame(m, x) && i < n_layers - 1; i++)
        if (cr_chance(m, 5))
            m->pool[m->n_pool++] = made[i];
    return x;
}

static bool is_output(const struct cr_graph *g, cr_id id)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].id == id)
            return true;
    return false;
}

/* Chooses outputs: the last value, and some others: leaves, views, values that other nodes read,
 * one value twice. */
static void choose_outputs(struct cr_maker *m)
{
    int n = 1 + (int)cr_below(m, cr_chance(m, 50) ? 1 : 5);
    char name[16];
    for (int i = 0; i < n; i++) {
        cr_id id = i == 0 ? m->pool[m->n_pool - 1] : any_value(m);
        if (i > 0 && cr_chance(m, 20)) /* anything, of any type */
            id = (cr_id)cr_below(m, m->g->n_nodes);
        if (is_output(m->g, id) && !cr_chance(m, 10))
            continue;
        snprintf(name, sizeof name, "y%d", i);
        cr_add_output(m->g, name, id);
    }
}

/* Chooses a few f32 values to differentiate with respect to: leaves, and sometimes values computed
 * from them. */
static int choose_wanted(struct cr_maker *m, cr_id *wanted, int most)
{
    int n = 0;
    for (cr_id id = 0; id < m->g->n_nodes && n < most; id++)
        if (m->g->nodes[id].dtype == CR_F32 &&
            cr_chance(m, m->g->nodes[id].name ? 60 : 100 / m->g->n_nodes))
            wanted[n++] = id;
    return n;
}

/* Adds gradients of the first output as further outputs. */
static void add_gradients(struct cr_maker *m)
{
    cr_id wanted[12], gradients[12], y = m->g->outputs[0].id;
    if (m->g->nodes[y].dtype != CR_F32)
        return;
    struct cr_node node = m->g->nodes[y];
    m->work = 0;
    struct cr_seed seed = {y, cr_make_leaf(m, CR_OP_input, node.rank, node.shape, 0.5)};
    int n = choose_wanted(m, wanted, m->n_layers > 2 ? 12 : 4);
    int before = m->g->n_nodes, n_operands = m->g->n_operands;
    char name[16];
    cr_add_gradients(m->g, 1, &seed, n, wanted, gradients);
    if (m->g->n_nodes > MAX_NODES) {
        cr_make_cut(m, before, n_operands);
        return;
    }
    cr_case_evaluate(m->c);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "yg%02d", i); /* behind the others by name */
        cr_add_output(m->g, name, gradients[i]);
    }
}

/* ---- what states become ---- */

/* Returns any value of the state's shape and type, such as another state or itself. */
static cr_id value_for(struct cr_maker *m, cr_id state)
{
    const struct cr_node *s = cr_node_of(m, state);
    cr_id first = (cr_id)cr_below(m, m->g->n_nodes);
    for (cr_id i = 0; i < m->g->n_nodes; i++) {
        cr_id id = (first + i) % m->g->n_nodes;
        const struct cr_node *node = cr_node_of(m, id);
        bool other = node->op != CR_OP_const && (id != state || cr_chance(m, 20));
        if (other && node->dtype == s->dtype && cr_same_shape(node, s))
            return id;
    }
    return state;
}

/* Writes some rows of a value into a copy of the state, as into a cache. */
static cr_id rows_for(struct cr_maker *m, cr_id state, cr_id value)
{
    struct cr_node s = *cr_node_of(m, state);
    if (s.rank == 0)
        return value;
    int axis = (int)cr_below(m, s.rank);
    int64_t n = 1 + cr_below(m, cr_chance(m, 60) ? 1 : s.shape[axis]);
    cr_id rows = cr_make_slice(m, value, axis, cr_below(m, s.shape[axis] - n + 1), n);
    cr_id at = cr_make_integers(m, 0, NULL, -1, (int)(s.shape[axis] - n) + 1);
    return cr_make(m, CR_OP_write, 3, (cr_id[]){state, rows, at}, &(struct cr_attr){.axis = axis});
}

/* Returns the next value of a state that no step has replaced; if computing one is too much
 * work, the state itself. */
static cr_id some_value_for(struct cr_maker *m, cr_id state)
{
    cr_id value = value_for(m, state);
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
    if (cr_chance(m, 40))
        value = rows_for(m, state, value);
    if (m->c->n == m->g->n_nodes)
        return value;
    cr_make_cut(m, n_nodes, n_operands);
    return state;
}

/* Gives every state a next value. */
static void replace_states(struct cr_maker *m)
{
    int kept = 0;
    m->work = 0;
    for (cr_id id = 0; id < m->g->n_nodes; id++) {
        if (m->g->nodes[id].op != CR_OP_state)
            continue;
        bool known = kept < m->n_kept && m->kept[kept].state == id;
        cr_add_replacement(m->g, 0, id, known ? m->kept[kept++].value : some_value_for(m, id));
    }
}

/* The main kinds of steps of a graph. */
enum subject { ANYTHING, TYPED, MOVEMENT, ATTENTION, LAYERS };

static const enum subject subjects[] = {ANYTHING, ANYTHING,  ANYTHING,  TYPED, TYPED,
                                        MOVEMENT, ATTENTION, ATTENTION, LAYERS};

static cr_recipe *choose_recipe(struct cr_maker *m, enum subject subject)
{
    int64_t way = cr_below(m, 100);
    if (way < (subject == MOVEMENT ? 70 : 25))
        return cr_moving_recipe(m);
    if (way < 80)
        return cr_even_recipe(m);
    return way < 97 ? cr_other_recipe(m) : step_block;
}

/* Adds a step; tries at most so many times to make one that is tame. */
static void add_step(struct cr_maker *m, cr_recipe *recipe, int number, int tries)
{
    cr_id y = CR_NONE;
    for (int i = 0; i < tries && y == CR_NONE; i++) {
        mark(m, m->pool[m->n_pool - 1], -1, number + 1);
        m->spare = CR_NONE;
        y = attempt(m, recipe, any_value(m));
    }
    if (y != CR_NONE && m->spare != CR_NONE)
        m->pool[m->n_pool++] = m->spare;
    if (y != CR_NONE)
        m->pool[m->n_pool++] = y;
}

static void add_steps(struct cr_maker *m, enum subject subject)
{
    int n = 1 + (int)cr_below(m, subject == ATTENTION ? 4 : 9);
    int main_step = subject >= ATTENTION ? (int)cr_below(m, n < 3 ? n : 3) : n;
    for (int i = 0; i < n && m->g->n_nodes < MAX_FORWARD_NODES; i++) {
        if (i == main_step)
            add_step(m, subject == LAYERS ? step_block : cr_recipe_attention, i, 12);
        else
            add_step(m, choose_recipe(m, subject), i, 1);
    }
}

/* Adds a few values of any type that nothing reads. */
static void add_typed_outputs(struct cr_maker *m)
{
    int64_t shape[CR_MAX_RANK];
    for (int i = 0, n = (int)cr_below(m, 3); i < n; i++) {
        char name[16];
        int rank = cr_random_shape(m, 5, shape);
        mark(m, CR_NONE, -1, 90 + i);
        snprintf(name, sizeof name, "ya%d", i);
        enum cr_dtype dtype = (enum cr_dtype)cr_below(m, 3);
        int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
        int64_t work = m->work;
        cr_id id = cr_make_expression(m, dtype, rank, shape, 1 + (int)cr_below(m, 4));
        if (id < m->c->n) {
            cr_add_output(m->g, name, id);
            continue;
        }
        cr_make_cut(m, n_nodes, n_operands);
        m->work = work;
    }
}

/* Returns a random value that x is computed from, or x. */
static cr_id some_operand(struct cr_maker *m, cr_id x)
{
    for (int64_t i = cr_below(m, 16); i > 0 && cr_node_of(m, x)->n_in > 0; i--) {
        const struct cr_node *node = cr_node_of(m, x);
        cr_id in = m->g->operands[node->first_in + cr_below(m, node->n_in)];
        x = cr_node_of(m, in)->dtype == CR_F32 ? in : x;
    }
    return x;
}

/* Puts an output of i32, a value of the graph that is rounded or compared, in place of an output of f32. */
static void round_output(struct cr_maker *m)
{
    struct cr_output *output = &m->g->outputs[cr_below(m, m->g->n_outputs)];
    if (cr_node_of(m, output->id)->dtype != CR_F32)
        return;
    mark(m, CR_NONE, -1, 93);
    cr_id x = some_operand(m, output->id);
    if (cr_chance(m, 50))
        x = cr_make_with(m, CR_OP_mul, x, 3);
    else
        x = cr_make2(m, CR_OP_gt, x, cr_make_const(m, x, 0.25));
    output->id = cr_make1(m, CR_OP_int, x);
}

/* Makes a product of a x n by n x b, or one with more rows and columns, so that several tiles share
 * the weights, and a smaller k, sometimes too small for products in blocks of k. */
static cr_id make_long_product(struct cr_maker *m, int64_t a, int64_t n, int64_t b)
{
    static const int64_t sizes[] = {1024, 1025, 1280, 1537};
    if (cr_chance(m, 60)) {
        a = 2 + cr_below(m, 30);
        b = 1 + cr_below(m, 40);
        n = sizes[cr_below(m, 4)];
    }
    cr_id left = cr_make_leaf(m, CR_OP_input, 2, (int64_t[]){a, n}, 1);
    return cr_make2(m, CR_OP_matmul, left, cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){n, b}, 0.1));
}

/* Makes a sum of more elements than a block of sums has: along any axis of a leaf, or of an
 * elementwise function of a leaf, or over k of a product. */
static cr_id make_long_sum(struct cr_maker *m)
{
    static const int64_t sizes[] = {4095, 4096, 4097, 5003, 8191, 8192, 8193, 12289};
    int64_t n = sizes[cr_below(m, 8)], a = 1 + cr_below(m, 3), b = 1 + cr_below(m, 3);
    int axis = (int)cr_below(m, 3);
    int64_t shape[3] = {a, b, 1 + cr_below(m, 2)};
    if (cr_chance(m, 30))
        return make_long_product(m, a, n, b);
    shape[axis] = n;
    cr_id x = cr_make_leaf(m, CR_OP_input, 3, shape, 1);
    if (cr_chance(m, 40))
        x = cr_make2(m, CR_OP_mul, x, cr_make_broadcast(m, x, false));
    if (cr_chance(m, 20))
        return cr_make_softmax(m, x, axis);
    if (cr_chance(m, 20))
        return cr_make(m, CR_OP_cumsum, 1, &x, &(struct cr_attr){.axis = axis});
    enum cr_op op = cr_chance(m, 40) ? CR_OP_sum : cr_random_op(m, CR_KIND_REDUCE, 0);
    return cr_make_fold(m, op, x, axis);
}

static void add_long_sum(struct cr_maker *m)
{
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
    int64_t most = m->most_work;
    m->most_work = m->work + 2000000;
    mark(m, CR_NONE, -1, 120);
    cr_id id = make_long_sum(m);
    m->most_work = most;
    if (id < m->c->n)
        cr_add_output(m->g, "yb", id);
    else
        cr_make_cut(m, n_nodes, n_operands);
}

/* Applies elementwise ops to x and to an earlier value of the same shape, which may be
 * transposed, shifted by a row, or reduced to one number for each row. */
static cr_id make_neighbour(struct cr_maker *m, cr_id x, cr_id before)
{
    static const enum cr_op ops[] = {CR_OP_add, CR_OP_sub, CR_OP_mul, CR_OP_maximum};
    int rank = cr_node_of(m, x)->rank, axis = rank ? (int)cr_below(m, rank) : 0;
    int64_t n = rank ? cr_size_of(m, x, axis) : 1;
    cr_id a = x, b = cr_chance(m, 30) ? x : before;
    if (rank > 1 && cr_size_of(m, x, -1) == cr_size_of(m, x, -2) && cr_chance(m, 20))
        b = cr_make_swap(m, b);
    if (n > 1 && cr_chance(m, 15)) {
        a = cr_make_slice(m, a, axis, 0, n - 1);
        b = cr_make_slice(m, b, axis, cr_below(m, 2), n - 1);
    }
    cr_id y = cr_make2(m, ops[cr_below(m, 4)], a, b);
    if (rank && cr_chance(m, 15))
        return cr_make_fold(m, CR_OP_sum, y, rank - 1);
    return cr_chance(m, 50) ? cr_make1(m, CR_OP_tanh, y) : cr_make_with(m, CR_OP_mul, y, 0.25);
}

/* Makes a state whose next value is the state plus the value. */
static cr_id keep(struct cr_maker *m, cr_id value)
{
    struct cr_node node = *cr_node_of(m, value);
    cr_id state = cr_make_leaf_of(m, CR_OP_state, CR_F32, node.rank, node.shape, "s2");
    cr_id next = cr_make2(m, CR_OP_add, cr_make_with(m, CR_OP_mul, state, 0.5), value);
    m->kept[m->n_kept].state = state;
    m->kept[m->n_kept++].value = next;
    return next;
}

/* Adds outputs and states that are computed from one array and from each other, as in an optimiser,
 * so that one kernel may store several of them. */
static void add_neighbours(struct cr_maker *m)
{
    int64_t shape[CR_MAX_RANK];
    int rank = cr_random_shape(m, 5, shape);
    if (rank > 1 && cr_chance(m, 40))
        shape[rank - 2] = shape[rank - 1];
    m->work = 0;
    mark(m, CR_NONE, -1, 150);
    cr_id x = cr_make_leaf(m, cr_chance(m, 50) ? CR_OP_input : CR_OP_param, rank, shape, 1), before = x;
    for (int i = 0, n = 2 + (int)cr_below(m, 5); i < n; i++) {
        char name[16];
        int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
        cr_id y = make_neighbour(m, x, before);
        bool same = y < m->c->n && cr_same_shape(cr_node_of(m, y), cr_node_of(m, x));
        snprintf(name, sizeof name, "yn%d", i);
        if (y >= m->c->n)
            cr_make_cut(m, n_nodes, n_operands);
        else if (same && m->n_kept < CR_MAX_KEPT && cr_chance(m, 40))
            y = keep(m, y);
        else
            cr_add_output(m->g, name, y);
        before = same ? y : before;
    }
}

/* Draws the sizes and properties of a graph: most graphs are small, and most of their values
 * tame. */
static void choose_size(struct cr_maker *m, enum subject subject)
{
    int64_t way = cr_below(m, 100);
    m->wild = cr_chance(m, 20);
    m->states = cr_chance(m, 70) ? 0 : cr_chance(m, 50) ? 20 : 60;
    m->budget = way < 65 ? 120 : way < 93 ? 500 : way < 99 ? 2500 : 12000;
    if (subject == ATTENTION && m->budget < 500)
        m->budget = 500;
    m->longer = subject == ATTENTION && cr_chance(m, 4);
    m->most_work = m->longer ? 800000 : 80000;
}

/* Makes a causal model or an encoder of ids, in rare cases with further outputs. */
static struct cr_case *generate_model(struct cr_maker *m)
{
    m->most_work = 20000000;
    mark(m, CR_NONE, -1, 0);
    cr_make_model(m);
    cr_case_evaluate(m->c);
    return m->c;
}

enum { MODEL_IN = 37 }; /* one graph in so many is a model */

struct cr_case *cr_generate(uint64_t seed, uint64_t number, bool models)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%" PRIu64 "_%" PRIu64, models ? "model" : "fuzz", seed, number);
    struct cr_case *c = cr_case_new(name);
    struct cr_maker m = {.c = c, .g = c->graph, .state = cr_seed_of_text(name)};
    if (models || number % MODEL_IN == MODEL_IN - 1)
        return generate_model(&m);
    enum subject subject = subjects[cr_below(&m, sizeof subjects / sizeof *subjects)];
    choose_size(&m, subject);
    mark(&m, CR_NONE, -1, 0);
    m.pool[m.n_pool++] = subject >= ATTENTION ? cr_model_leaf(&m) : cr_random_leaf(&m);
    if (subject != TYPED)
        add_steps(&m, subject);
    choose_outputs(&m);
    if (subject == TYPED || cr_chance(&m, 10))
        add_typed_outputs(&m);
    if (cr_chance(&m, 2))
        add_long_sum(&m);
    if (cr_chance(&m, subject == ATTENTION ? 70 : 40))
        add_gradients(&m);
    else if (cr_chance(&m, 20))
        round_output(&m);
    if (cr_chance(&m, 12))
        add_neighbours(&m);
    replace_states(&m);
    cr_case_evaluate(c);
    return c;
}
