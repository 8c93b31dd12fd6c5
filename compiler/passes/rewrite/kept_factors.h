/* kept_factors.h - lets states keep the factors of a product that only a sum reads. */
#ifndef CR_KEPT_FACTORS_H
#define CR_KEPT_FACTORS_H

#include "compiler/ir/graph.h"

/*
 * Takes a graph of cr_incremental.  Where a state holds a product that one sum alone reads, states
 * hold the factors instead.  In the graph of all tokens the sum and the product become one fma
 * (fma.c), which rounds once; a product in a state is rounded before it is added.  Returns the
 * graph, or frees it and returns another.
 */
struct cr_graph *cr_keep_factors(struct cr_graph *g);

#endif
