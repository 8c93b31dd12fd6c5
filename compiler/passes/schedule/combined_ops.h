/* combined_ops.h - fuses steps of a tile program that one function of the runtime does together. */
#ifndef CR_COMBINED_OPS_H
#define CR_COMBINED_OPS_H

#include "compiler/ir/program.h"
#include "tile_shapes.h"

enum { CR_MAX_COMBINED = 2 }; /* the most tile operands, and the most number operands */

/* The runtime function that computes a value in place of the function of its own op. */
struct cr_combined {
    bool by_later;         /* computed inside a later value, its only user */
    enum cr_callee callee; /* a runtime function whose operands are tiles, then numbers;
                              CR_CALLEE_COUNT: the value's own op */
    int n_tiles, n_numbers;
    int tile[CR_MAX_COMBINED], number[CR_MAX_COMBINED]; /* operands, which are earlier values */
};

/* Finds the groups of values that one function of the runtime computes together; `shapes` and
 * `combined` have an entry for each value.  No bit of a result changes. */
void cr_combine(const struct cr_tiles *tiles, const struct cr_tile_value *shapes,
                struct cr_combined *combined);

#endif
