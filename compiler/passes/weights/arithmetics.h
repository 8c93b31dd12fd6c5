/*
 * arithmetics.h - how products by weights are summed.
 *
 * Rules by name say what is wanted, as for formats.  A product is summed so if the format of its
 * weights has such a product (arithmetics.def), and all weights side by side want the same; else in
 * f32.  The choice is made for all numbers of rows, so that no bit depends on how many there are.
 */
#ifndef CR_ARITHMETICS_H
#define CR_ARITHMETICS_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"

/*
 * Gives each parameter the arithmetic that rules ask for, in cr_node.arithmetic; the formats that are
 * wanted have to be there.  Null: no rules.  Refused, in the name of the script at `path`, are a
 * NAME that is no arithmetic, a GLOB that matches no parameter, and a rule that has no weight in a
 * format with such products.
 */
int cr_want_arithmetics(struct cr_graph *graph, const char *rules, const char *path,
                        struct cr_error *error);

/* Leaves f32 wherever a product is summed so: of a module whose formats are settled. */
void cr_settle_arithmetics(struct cr_module *module);

/* The arithmetic of products by a weight matrix: that of the parameters it is made of, if their
 * format has such a product. */
enum cr_arithmetic cr_panel_arithmetic(const struct cr_graph *graph, cr_id matrix);

#endif
