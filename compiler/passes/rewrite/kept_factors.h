/* kept_factors.h - makes states keep the factors of a product that only a sum reads. */
#ifndef CR_KEPT_FACTORS_H
#define CR_KEPT_FACTORS_H

#include "compiler/ir/graph.h"

/*
 * Takes a graph of cr_incremental.  If a state keeps a product that only one sum reads, makes
 * states keep its factors instead.  In the graph of all tokens the product and the sum become one
 * fma (fma.c), which rounds once, whereas a product in a state would be rounded before it is added.
 * Returns the graph itself, or frees it and returns another one.
 */
struct cr_graph *cr_keep_factors(struct cr_graph *g);

#endif
