/*
 * weights.h - matrices made of parameters alone, which are laid out once, at load.
 *
 * The room of weights: which matrices they are, in which format they are kept, and how products by
 * them are summed.
 *
 * Comes in:   a graph, and rules by name that say what is wanted (`--format`, `--arithmetic`).
 * Goes out:   the format of each parameter and the arithmetic of each product; the pieces of a matrix, by
 *             which plan lays it out; module->columns_of.
 * Promise:    all parameters of one matrix have one format; what kernels read otherwise than from panels
 *             or by rows stays as it is.  No choice depends on the number of rows of a product.
 * Passes:     settle.
 * Used later: formats.h, arithmetics.h, and tables.h, the tables whose rows are gathered from panels.
 */
#ifndef CR_WEIGHTS_H
#define CR_WEIGHTS_H

#include "compiler/passes/module/module.h"

/* By node: whether it is made of parameters alone, by moving and joining elements. */
bool *cr_find_weights(const struct cr_graph *g);

/* True if a node joins whole parameters along its first axis, as the biases of joined projections and the
 * rows of several tables are: they lie one after another in the weights, where kernels read them as one. */
bool cr_is_joined(const struct cr_graph *g, cr_id id);

/* The parameter that is operand i of a concat, reshaped or as it is; CR_NONE if it is none. */
cr_id cr_joined_param(const struct cr_graph *g, cr_id id, int i);

/* The node under broadcasts of whole matrices: the weight matrix of a contraction, whatever its batch. */
cr_id cr_weight_matrix(const struct cr_graph *g, cr_id id);

/* A matrix that is one of a stack of weights, chosen by an i32 that is known when it runs. */
struct cr_stacked {
    cr_id stack; /* a parameter [choices, K, N] */
    cr_id index; /* of one element */
    cr_id gather;
};

/* True if a node is such a matrix, and the columns of each matrix of the stack are whole panels. */
bool cr_find_choice(const struct cr_graph *g, cr_id id, struct cr_stacked *choice);

/* How many columns the panels of a packed node have; of a stack, of all its matrices together. */
int64_t cr_panel_columns(const struct cr_graph *g, cr_id id);

/*
 * The pieces of a K x N weight matrix: which elements of which parameters stand in which
 * rows and columns.  Calls `piece` for each, from the first column to the last, and for the same columns
 * from the first row to the last; returns whether the node is such a matrix (if not, some pieces may have
 * been reported).
 */
bool cr_weight_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_place_info *info),
                      void *context);

/* The same for a node that a kernel reads packed, which may be a stack: its matrices follow one another along
 * the columns. */
bool cr_packed_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_place_info *info),
                      void *context);

#endif
