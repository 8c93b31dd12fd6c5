/*
 * maker.h - a random graph while it is made: tools for the steps that add to it.
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
    struct cr_graph *g; /* of the case */
    uint64_t state;     /* of the generator of numbers */
    bool wild;
    int64_t work; /* of evaluating the graph, at most most_work */
    int64_t most_work;
    bool longer;     /* a long sequence, so that keys come in blocks */
    cr_id pool[256]; /* f32 values to go on from */
    int n_pool;
    cr_id spare; /* from inside the step that is made, to go on from as well */
    int n_leaves;
    int states;                  /* of 100 inputs so many are states */
    int64_t budget;              /* elements of a leaf */
    int n_layers;                /* of the last stack */
    bool in_layer;               /* of a block */
    cr_id shared[CR_MAX_SHARED]; /* i32 inputs that its layers share */
    int n_shared, next_shared;
    struct {
        cr_id state, value;
    } kept[CR_MAX_KEPT]; /* states that a step made, and their next values, by number */
    int n_kept;
};

/* A step: makes a value from x.  Returns CR_NONE if it has no use for an x of this shape or type. */
typedef cr_id cr_recipe(struct cr_maker *m, cr_id x);

/* Return 64 random bits; a random number from 0 to n - 1; true in so many of 100 calls. */
uint64_t cr_next(struct cr_maker *m);
int64_t cr_below(struct cr_maker *m, int64_t n);
bool cr_chance(struct cr_maker *m, int percent);

const struct cr_node *cr_node_of(const struct cr_maker *m, cr_id id);
int64_t cr_size_of(const struct cr_maker *m, cr_id id, int axis); /* from the end if < 0 */

/* Nodes.  Shapes are lists; permute's axes count from 0. */
cr_id cr_make(struct cr_maker *m, enum cr_op op, int n, const cr_id *in,
              const struct cr_attr *attr);
cr_id cr_make1(struct cr_maker *m, enum cr_op op, cr_id a);
cr_id cr_make2(struct cr_maker *m, enum cr_op op, cr_id a, cr_id b);
cr_id cr_make_select(struct cr_maker *m, cr_id condition, cr_id a, cr_id b);
cr_id cr_make_fold(struct cr_maker *m, enum cr_op op, cr_id a, int axis);
cr_id cr_make_reshape(struct cr_maker *m, cr_id a, int rank, const int64_t *shape);
cr_id cr_make_permute(struct cr_maker *m, cr_id a, const int64_t *axes);
cr_id cr_make_swap(struct cr_maker *m, cr_id a); /* the last two axes */
cr_id cr_make_slice(struct cr_maker *m, cr_id a, int axis, int64_t start, int64_t size);
cr_id cr_make_concat(struct cr_maker *m, int n, const cr_id *in, int axis);
cr_id cr_make_like(struct cr_maker *m, cr_id a, cr_id shape); /* broadcast to a node's shape */
cr_id cr_make_iota(struct cr_maker *m, cr_id shape, int axis);

/* A constant, and op(a, constant), of the type and shape of a node. */
cr_id cr_make_const(struct cr_maker *m, cr_id like, double value);
cr_id cr_make_with(struct cr_maker *m, enum cr_op op, cr_id a, double value);

/* New leaves: f32 about as large as `size`, or of any kind in a wild graph; of a kind of
 * leaves.h; i32 from low to high. */
cr_id cr_make_leaf(struct cr_maker *m, enum cr_op op, int rank, const int64_t *shape, double size);
cr_id cr_make_leaf_of(struct cr_maker *m, enum cr_op op, enum cr_dtype dtype, int rank,
                      const int64_t *shape, const char *kind);
cr_id cr_make_integers(struct cr_maker *m, int rank, const int64_t *shape, int low, int high);

/* An op of a kind, at random; of elementwise ops one of a rule. */
enum cr_op cr_random_op(struct cr_maker *m, enum cr_kind kind, enum cr_rule rule);

/* A value of that type and shape, from ops of the whole table; of about so many nodes deep. */
cr_id cr_make_expression(struct cr_maker *m, enum cr_dtype dtype, int rank, const int64_t *shape,
                         int depth);

/* A size of an axis, at most `room`; f32 leaves of any shape, and of a model's input's. */
int64_t cr_random_size(struct cr_maker *m, int64_t room);
int cr_random_shape(struct cr_maker *m, int most_rank, int64_t *shape);
cr_id cr_random_leaf(struct cr_maker *m);
cr_id cr_model_leaf(struct cr_maker *m);

/* A leaf with some axes of x, the others missing or 1, broadcast to the shape of x. */
cr_id cr_make_broadcast(struct cr_maker *m, cr_id x, bool integers);

/* Another f32 value of x's shape: a value at hand, a constant, a leaf that is broadcast. */
cr_id cr_make_partner(struct cr_maker *m, cr_id x);

/* x as a matrix or a batch of them: of rank 2 at least. */
cr_id cr_make_matrix(struct cr_maker *m, cr_id x);

/* Steps that blocks of models are made of; their result has the shape of x. */
cr_recipe cr_recipe_norm, cr_recipe_attention, cr_recipe_feed_forward, cr_recipe_softmax,
    cr_recipe_dropout;

/* Layer norm or RMS norm, and softmax, along an axis. */
cr_id cr_make_norm(struct cr_maker *m, cr_id x, int axis);
cr_id cr_make_softmax(struct cr_maker *m, cr_id x, int axis);

/* Softmax along the last axis with one score more. */
cr_id cr_make_sink(struct cr_maker *m, cr_id x);

/* models.c: a causal model of token ids, whose outputs are logits and seldom others beside them; or an encoder,
 * whose output is a vector of each text, or logits. */
void cr_make_model(struct cr_maker *m);

/* x W + b in one of many spellings, of n columns. */
cr_id cr_make_linear(struct cr_maker *m, cr_id x, int64_t n);

/* Some activation function of x. */
cr_recipe cr_recipe_activation;

/* Each returns one of many steps: steps whose result has the shape of x; steps that move
 * elements; other steps; steps with a product; steps for any element type. */
cr_recipe *cr_even_recipe(struct cr_maker *m);
cr_recipe *cr_moving_recipe(struct cr_maker *m);
cr_recipe *cr_other_recipe(struct cr_maker *m);
cr_recipe *cr_heavy_recipe(struct cr_maker *m);
cr_recipe cr_recipe_typed;

/* Takes back all nodes from number n_nodes on. */
void cr_make_cut(struct cr_maker *m, int n_nodes, int n_operands);

#endif
