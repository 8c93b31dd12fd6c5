/*
 * weights.h - matrices computed from parameters alone, which are laid out once, when weights are loaded.
 *
 * This directory finds the weight matrices, and chooses their formats and the arithmetic of products by them.
 *
 * Comes in:   a graph, and rules for parameters by name (`--format`, `--arithmetic`).
 * Goes out:   the format of each parameter and the arithmetic of each product; the pieces of a matrix,
 *             which plan lays out; module->columns_of.
 * Promise:    all parameters of one matrix have one format; parameters that kernels read neither from
 *             panels nor by rows stay f32.  No choice depends on the rows of a product.
 * Passes:     supported_formats.
 * Used later: formats.h, arithmetics.h; gathered_tables.h, the tables whose rows are gathered from panels;
 *             same_formats.h.
 */
#ifndef CR_WEIGHTS_H
#define CR_WEIGHTS_H

#include "compiler/passes/module/module.h"

/* Returns a list by node: true if only movement ops and concats of parameters compute it. */
bool *cr_find_weights(const struct cr_graph *g);

/* True if a node is a concat of whole parameters along its first axis, such as the biases of joined
 * projections, or the rows of several tables.  Kernels read it as one tensor, since the parameters
 * are adjacent in the weights. */
bool cr_is_joined(const struct cr_graph *g, cr_id id);

/* True if kernels read a node where it is in the weights: it is a parameter, a part of one, or
 * joined parameters. */
bool cr_is_laid_out(const struct cr_graph *g, cr_id id);

/* If a node is a parameter or a part of one, returns the parameter; otherwise CR_NONE. */
cr_id cr_param_of(const struct cr_graph *g, cr_id id);

/* Returns the format in which a node is kept; that of a part of a parameter is the parameter's. */
enum cr_format cr_kept_format(const struct cr_graph *g, cr_id id);

/* Returns the row-major layout of a parameter, or of a part of one, at offset 0 of the weights. */
struct cr_layout_info cr_plain_layout(const struct cr_graph *g, cr_id id);

/* If operand i of a concat is a parameter, perhaps reshaped, returns the parameter; otherwise
 * CR_NONE. */
cr_id cr_joined_param(const struct cr_graph *g, cr_id id, int i);

/* Returns the weight matrix of a product without batch axes: the node below expands of whole
 * matrices. */
cr_id cr_weight_matrix(const struct cr_graph *g, cr_id id);

/* A matrix selected from a stack of weights by an i32 that is known at run time. */
struct cr_stacked {
    cr_id stack; /* the stack: a parameter [choices, K, N] */
    cr_id index; /* the i32, a node of one element */
    cr_id gather;
};

/* True if a node is a matrix selected from a stack, and the columns of each matrix of the stack are
 * whole panels.  Fills in *choice. */
bool cr_find_choice(const struct cr_graph *g, cr_id id, struct cr_stacked *choice);

/* Returns the number of columns in the panels of a packed node; of a stack, those of all its
 * matrices. */
int64_t cr_panel_columns(const struct cr_graph *g, cr_id id);

/*
 * Lists the pieces of a K x N weight matrix.  A piece is the elements of one parameter that fill
 * some rows and columns.  Calls `piece` for each, in the order of their first columns and, within
 * the same columns, of their first rows.  Returns false if the node is no such matrix; some pieces
 * may have been listed by then.
 */
bool cr_weight_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_layout_info *info),
                      void *context);

/* Lists the pieces of a node that a kernel reads packed, which may be a stack of matrices.  The
 * matrices of a stack follow one another along the columns. */
bool cr_packed_pieces(const struct cr_graph *g, cr_id id,
                      void (*piece)(void *context, const struct cr_layout_info *info),
                      void *context);

#endif
