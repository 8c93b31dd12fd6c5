/*
 * leaves.h - data for inputs and parameters, as a function of their names.
 *
 * Element i of a leaf is a function of the graph's name, the leaf's name, its type and i.  So a
 * script alone reproduces a finding: no file of data belongs to it, and a leaf that is made
 * smaller keeps the elements that it still has.  What follows the last '_' of a leaf's name says
 * what its elements are like:
 *
 *     f32    sN      about normal, times 2 to the power of -N/2
 *            ties    whole numbers from -2 to 2
 *            mask    normal, one in four -inf
 *            nan     normal, one in 16 NaN
 *            odd     normal, one in 4 infinite, NaN, -0, denormal, the largest float ...
 *            wide    normal, times 2 to the power of -20 to 20
 *            huge    normal, times 2 to the power of 90 to 126
 *            tiny    normal, times 2 to the power of -149 to -110
 *     i32    LtoH    from L to H; an m in front is a minus
 *            edge    next to 0, 2 to the power of 24, and the least and greatest i32
 *
 * Any other name gives normal f32, i32 from 0 to 3.  A bool is true or false.
 */
#ifndef CR_FUZZ_LEAVES_H
#define CR_FUZZ_LEAVES_H

#include "compiler/ir/graph.h"

/* Returns the next number of a random generator (splitmix64). */
uint64_t cr_next_number(uint64_t *state);

/* Returns a hash of a text, as the state of a random generator. */
uint64_t cr_seed_of_text(const char *text);

/* Returns the elements of an input or parameter: int32_t for i32, else float.  The caller frees
 * them. */
void *cr_leaf_data(const struct cr_graph *g, const struct cr_node *leaf);

/* Returns the name of special kind i of f32 data, other than normal; null after the last one. */
const char *cr_leaf_kind(int i);

#endif
