/* combined_ops.h - finds ops of a tile program that one function of the runtime computes
 * together. */
#ifndef CR_COMBINED_OPS_H
#define CR_COMBINED_OPS_H

#include "compiler/ir/program.h"
#include "tile_shapes.h"

enum { CR_MAX_COMBINED = 2 }; /* the most operands of each kind: tiles, and numbers */

/* The runtime function that computes a value together with values that only it reads. */
struct cr_combined {
    bool by_later;         /* true if a later value, its only user, is computed together with it */
    enum cr_callee callee; /* the function, whose operands are tiles, then numbers; CR_CALLEE_COUNT
                              for the function of the value's own op */
    int n_tiles, n_numbers;
    int tile[CR_MAX_COMBINED], number[CR_MAX_COMBINED]; /* the numbers of the operands, which are
                                                           earlier values */
};

/* Finds groups of values that one function of the runtime computes together; `shapes` and
 * `combined` are lists by value.  No bit of a result changes. */
void cr_combine(const struct cr_tiles *tiles, const struct cr_tile_value *shapes,
                struct cr_combined *combined);

#endif
