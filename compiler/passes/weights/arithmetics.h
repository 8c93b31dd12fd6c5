/*
 * arithmetics.h - chooses the arithmetic of products by weights.
 *
 * Rules by name request an arithmetic, as they request formats.  A product uses it if the format of
 * its weights has such a product (arithmetics.def) and all weights of the matrix request the same
 * one; otherwise it uses f32.  The choice does not depend on the number of rows, so no bit does.
 */
#ifndef CR_ARITHMETICS_H
#define CR_ARITHMETICS_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"

/*
 * Sets cr_node.arithmetic of each parameter to the arithmetic that rules request; formats must be
 * set before.  If `rules` is null, there are none.  Fails, with a message about the script at
 * `path`, if a NAME is no arithmetic, a GLOB matches no parameter, or no weight of a rule has a
 * format with such products.
 */
int cr_want_arithmetics(struct cr_graph *graph, const char *rules, const char *path,
                        struct cr_error *error);

/* Keeps the arithmetics that products can use, and sets the others to f32; formats must be
 * final. */
void cr_keep_supported_arithmetics(struct cr_module *module);

/* Returns the arithmetic of products by a weight matrix: the arithmetic of its parameters, if
 * their format has such a product; else f32. */
enum cr_arithmetic cr_panel_arithmetic(const struct cr_graph *graph, cr_id matrix);

#endif
