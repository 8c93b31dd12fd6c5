/*
 * gathered_tables.h - finds tables whose rows are gathered from panels: a row of the table is a
 * column of the panels.
 *
 * Embeddings that share their weights with a model's head are stored once, in the panels of the
 * head's product.  A table in a format other than f32 that no product reads as a whole has its own
 * panels.
 */
#ifndef CR_GATHERED_TABLES_H
#define CR_GATHERED_TABLES_H

#include "compiler/passes/module/module.h"

/* Fills in module->columns_of. */
void cr_find_tables(struct cr_module *module);

/* True if a piece of panels is the transpose of a whole table [rows, width], a parameter or a part
 * of one. */
bool cr_is_turned_table(const struct cr_graph *graph, cr_id table,
                        const struct cr_layout_info *piece);

/* Returns the piece of a table that has its own panels, transposed. */
struct cr_layout_info cr_turned_table(const struct cr_graph *graph, cr_id table);

/* True if a kernel reads its operand r, a table, only by whole rows, selected by row number, each
 * into a row of a tile. */
bool cr_gathers_rows(const struct cr_graph *graph, const struct cr_kernel *kernel, int r);

#endif
