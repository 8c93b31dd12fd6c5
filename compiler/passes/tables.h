/*
 * tables.h - tables whose rows are gathered, and that products read, too.
 *
 * Embeddings that a model ties to its head are such tables.  They are kept once, in the panels of the
 * product: a row of the table is a column of its matrix.
 */
#ifndef CR_TABLES_H
#define CR_TABLES_H

#include "module.h"

/* Fills module->columns_of. */
void cr_find_tables(struct cr_module *module);

/* True if a piece of panels is the whole of a table [rows, width], turned around. */
bool cr_is_turned_table(const struct cr_node *table, const struct cr_place_info *piece);

#endif
