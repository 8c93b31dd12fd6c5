/*
 * maker.h - tools for steps that build a random graph.
 *
 * Each node is evaluated as it is made (bounds.h), so that a step whose result is not tame can
 * be taken back.  A wild graph keeps what is not tame, and its leaves hold anything.
 */
#ifndef CR_FUZZ_MAKER_H
#define CR_FUZZ_MAKER_H

#include "case.h"

enum { CR_MAX_SHARED = 32, CR_MAX_KEPT = 64 };

/* A graph being made. */
struct cr_maker {
    struct cr_case *c;
    struct cr_graph *g; /* the graph of `c` */
    uint64_t state;     /* the state of the random generator */
    bool wild;
    int64_t work; /* the work to evaluate the graph, at most most_work */
    int64_t most_work;
    bool longer;     /* the sequence is long enough for several blocks of keys */
    cr_id pool[256]; /* f32 values to go on from */
    int n_pool;
    cr_id spare; /* a value inside the current step that later steps may read */
    int n_leaves;
    int states;                  /* percentage of drawn inputs that become states */
    int64_t budget;              /* the greatest number of elements of a leaf */
    int n_layers;                /* number of layers that the last step of layers made */
    bool in_layer;               /* the nodes to come belong to a layer */
    cr_id shared[CR_MAX_SHARED]; /* i32 inputs that the layers of a step share */
    int n_shared, next_shared;
    struct {
        cr_id state, value;
    } kept[CR_MAX_KEPT]; /* states that steps made, with their next values */
    int n_kept;
};

/* A step: makes a value from x, or returns CR_NONE if x has no fitting shape or type. */
typedef cr_id cr_recipe(struct cr_maker *m, cr_id x);

/* Return: 64 random bits; a random number from 0 to n - 1; true in so many percent of calls. */
uint64_t cr_next(struct cr_maker *m);
int64_t cr_below(struct cr_maker *m, int64_t n);
bool cr_chance(struct cr_maker *m, int percent);

const struct cr_node *cr_node_of(const struct cr_maker *m, cr_id id);
int64_t cr_size_of(const struct cr_maker *m, cr_id id, int axis); /* axes below 0 count from the
                                                                     end */

/* Add nodes.  Shapes are arrays; axes of permute count from 0. */
cr_id cr_make(struct cr_maker *m, enum cr_op op, int n, const cr_id *in,
              const struct cr_attr *attr);
cr_id cr_make1(struct cr_maker *m, enum cr_op op, cr_id a);
cr_id cr_make2(struct cr_maker *m, enum cr_op op, cr_id a, cr_id b);
cr_id cr_make_select(struct cr_maker *m, cr_id condition, cr_id a, cr_id b);
cr_id cr_make_fold(struct cr_maker *m, enum cr_op op, cr_id a, int axis);
cr_id cr_make_reshape(struct cr_maker *m, cr_id a, int rank, const int64_t *shape);
cr_id cr_make_permute(struct cr_maker *m, cr_id a, const int64_t *axes);
cr_id cr_make_swap(struct cr_maker *m, cr_id a); /* transposes the last two axes */
cr_id cr_make_slice(struct cr_maker *m, cr_id a, int axis, int64_t start, int64_t size);
cr_id cr_make_concat(struct cr_maker *m, int n, const cr_id *in, int axis);
cr_id cr_make_like(struct cr_maker *m, cr_id a, cr_id shape); /* broadcasts a to the shape of node `like` */
cr_id cr_make_iota(struct cr_maker *m, cr_id shape, int axis);

/* Return a constant, and op(a, constant), with the type and shape of a node. */
cr_id cr_make_const(struct cr_maker *m, cr_id like, double value);
cr_id cr_make_with(struct cr_maker *m, enum cr_op op, cr_id a, double value);

/* Add leaves: f32 of magnitude `size`, or of any kind in a wild graph; f32 of a kind of leaves.h;
 * i32 from low to high. */
cr_id cr_make_leaf(struct cr_maker *m, enum cr_op op, int rank, const int64_t *shape, double size);
cr_id cr_make_leaf_of(struct cr_maker *m, enum cr_op op, enum cr_dtype dtype, int rank,
                      const int64_t *shape, const char *kind);
cr_id cr_make_integers(struct cr_maker *m, int rank, const int64_t *shape, int low, int high);

/* Returns a random op of a kind; for elementwise ops, one with a type rule. */
enum cr_op cr_random_op(struct cr_maker *m, enum cr_kind kind, enum cr_rule rule);

/* Returns a value of a type and shape that is computed by random ops of the whole table, nested
 * about `depth` deep. */
cr_id cr_make_expression(struct cr_maker *m, enum cr_dtype dtype, int rank, const int64_t *shape,
                         int depth);

/* Return a size for an axis, at most `room`; an f32 leaf of any shape; an f32 leaf with a shape of
 * a model's input. */
int64_t cr_random_size(struct cr_maker *m, int64_t room);
int cr_random_shape(struct cr_maker *m, int most_rank, int64_t *shape);
cr_id cr_random_leaf(struct cr_maker *m);
cr_id cr_model_leaf(struct cr_maker *m);

/* Returns a leaf with some axes of x, the others being left out or 1, broadcast to the shape of
 * x. */
cr_id cr_make_broadcast(struct cr_maker *m, cr_id x, bool integers);

/* Returns another f32 value of x's shape: an earlier value, a constant, or a broadcast leaf. */
cr_id cr_make_partner(struct cr_maker *m, cr_id x);

/* Returns x reshaped to rank 2 at least: a matrix or a batch of matrices. */
cr_id cr_make_matrix(struct cr_maker *m, cr_id x);

/* Steps that are parts of models; their result has the shape of x. */
cr_recipe cr_recipe_norm, cr_recipe_attention, cr_recipe_feed_forward, cr_recipe_softmax,
    cr_recipe_dropout;

/* Return a layer norm or RMS norm, and a softmax, along an axis. */
cr_id cr_make_norm(struct cr_maker *m, cr_id x, int axis);
cr_id cr_make_softmax(struct cr_maker *m, cr_id x, int axis);

/* Returns a softmax along the last axis with one additional score (a sink). */
cr_id cr_make_sink(struct cr_maker *m, cr_id x);

/* Makes a model of token ids (models.c): a causal model, whose outputs are logits and in rare cases
 * further values, or an encoder, whose output is a vector of each text, or logits. */
void cr_make_model(struct cr_maker *m);

/* Returns x W + b, with n columns, in a random spelling. */
cr_id cr_make_linear(struct cr_maker *m, cr_id x, int64_t n);

/* Applies a random activation function to x. */
cr_recipe cr_recipe_activation;

/* Each returns one of many steps: steps whose result has the shape of x; steps that move
 * elements; other steps; steps with a product; steps for any element type. */
cr_recipe *cr_even_recipe(struct cr_maker *m);
cr_recipe *cr_moving_recipe(struct cr_maker *m);
cr_recipe *cr_other_recipe(struct cr_maker *m);
cr_recipe *cr_heavy_recipe(struct cr_maker *m);
cr_recipe cr_recipe_typed;

/* Removes all nodes from number n_nodes on. */
void cr_make_cut(struct cr_maker *m, int n_nodes, int n_operands);

#endif
