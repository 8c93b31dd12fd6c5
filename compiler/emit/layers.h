/*
 * layers.h - where an operand lies in each iteration of a loop over layers, as C.
 *
 * The places are known, one by one; this finds what they have in common and prints an
 * expression of the number of the layer: the same for all, at equal distances, two in turns,
 * and if nothing else fits, from a table.  The first or the last may differ from the rest.
 */
#ifndef CR_LAYERS_H
#define CR_LAYERS_H

#include "compiler/passes/module.h"
#include "text.h"

/* The variables by which a loop's body knows the way from layer to layer, if there are such. */
#define CR_LAYER_WEIGHTS "layer_weights" /* weights + layer * weights_stride */
#define CR_LAYER_ARENA "layer_arena"     /* arena + layer * arena_stride */

/* Where a call stands: in the body of a loop, or outside, where `loop` is null. */
struct cr_layers {
    const struct cr_loop *loop;
    int64_t weights_stride, arena_stride; /* 0: there is no such variable */
    bool *inputs, *outputs; /* by number: whether it was printed as a variable, in3 or out3 */
};

/* How many places an operand has: one an iteration. */
static inline int cr_n_places(const struct cr_layers *layers)
{
    return layers->loop ? layers->loop->count : 1;
}

/* The distance from layer to layer if the places of an operand, of one space, are at equal ones
 * that are not 0; else 0. */
int64_t cr_layer_stride(const struct cr_layers *layers, const struct cr_storage *places);

/* Prints where an operand of a type lies, given its places by iteration; of CR_SPACE_NONE, the
 * number. */
void cr_print_layers(struct cr_text *text, const struct cr_layers *layers,
                     const struct cr_storage *places, enum cr_dtype dtype);

#endif
