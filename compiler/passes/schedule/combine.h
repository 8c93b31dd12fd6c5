/* combine.h - steps of a tile program that one function of the runtime does together. */
#ifndef CR_COMBINE_H
#define CR_COMBINE_H

#include "compiler/ir/program.h"
#include "tile_shapes.h"

enum { CR_MAX_COMBINED = 2 }; /* operands of one kind */

/* How a value is computed where that is not by its own op. */
struct cr_combined {
    bool by_later;         /* within a later value, the only one that reads it */
    enum cr_callee callee; /* a function of tiles and then numbers; CR_CALLEE_COUNT: its own op */
    int n_tiles, n_numbers;
    int tile[CR_MAX_COMBINED], number[CR_MAX_COMBINED]; /* earlier values */
};

/* Finds what goes together among the tiles of a program; `shapes` and `combined` have an entry for
 * each value.  No bit depends on it. */
void cr_combine(const struct cr_tiles *tiles, const struct cr_tile_value *shapes,
                struct cr_combined *combined);

#endif
