/* kept_factors.h - lets states keep the factors of a product that only a sum reads. */
#ifndef CR_KEPT_FACTORS_H
#define CR_KEPT_FACTORS_H

#include "compiler/ir/graph.h"

/*
 * Takes a graph of cr_incremental.  If a state holds a product that only one sum reads, states hold
 * the factors instead.  In the graph of all tokens the product and the sum become one fma (fma.c),
 * which rounds once, whereas a product in a state would be rounded before it is added.  Returns the
 * graph, or frees it and returns another.
 */
struct cr_graph *cr_keep_factors(struct cr_graph *g);

#endif
