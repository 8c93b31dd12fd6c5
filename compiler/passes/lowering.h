/*
 * lowering.h - what lower.c and lower_attention.c share: the state of lowering one kernel.
 */
#ifndef CR_LOWERING_H
#define CR_LOWERING_H

#include "evaluate.h"

/* How the root's axes are cut into atoms. */
struct cuts {
    int n[CR_MAX_RANK];
    int64_t extent[CR_MAX_RANK][CR_MAX_ATOMS]; /* outermost first */
};

struct cr_lowering {
    struct cr_evaluate ev;
    struct cr_kernel *k;
    const struct cr_graph *g;
    cr_id top; /* whose axes the loops run over: the root, or what it is a reshape of */
    const struct cr_attention_backward *backward; /* if the root is its output: top is probs */
    struct cuts cuts;
    struct cr_map root_map;
    int n_root_atoms;
};

/*
 * What contractions need of the root: evaluates it as an epilogue of `core`, checks that the root
 * has each element of the core once, and finds the column atom.
 */
bool cr_lower_epilogue(struct cr_lowering *lw, cr_id core);

/* Rows of A (or of queries): in memory already, or computed by a prologue. */
bool cr_lower_rows(struct cr_lowering *lw, cr_id id, const struct cr_map *map);

/* An attention whose scores are not stored. */
bool cr_lower_attention(struct cr_lowering *lw, const struct cr_attention *attention);

/* The gradients of one. */
bool cr_lower_backward(struct cr_lowering *lw, const struct cr_attention_backward *b);

/* The work of such a kernel, which has so many elements to store. */
double cr_attention_flops(const struct cr_kernel *k, double elements);

#endif
