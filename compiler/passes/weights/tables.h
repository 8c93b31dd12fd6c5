/*
 * tables.h - tables whose rows are gathered from panels: a row of the table is a column of those.
 *
 * Embeddings that a model ties to its head are kept once, in the panels of the product.  A table that
 * is kept in another format than f32, and that no product reads as a whole, has panels of its own.
 */
#ifndef CR_TABLES_H
#define CR_TABLES_H

#include "compiler/passes/module/module.h"

/* Fills module->columns_of. */
void cr_find_tables(struct cr_module *module);

/* True if a piece of panels is the whole of a table [rows, width], turned around. */
bool cr_is_turned_table(const struct cr_node *table, const struct cr_place_info *piece);

/* The piece that a table of a parameter is, turned around. */
struct cr_place_info cr_turned_table(const struct cr_graph *graph, cr_id param);

/* True if all that a kernel reads of its operand r, a parameter, is whole rows by their numbers, each
 * as a row of a tile. */
bool cr_gathers_rows(const struct cr_graph *graph, const struct cr_kernel *kernel, int r);

#endif
