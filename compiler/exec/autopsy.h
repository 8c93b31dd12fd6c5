/*
 * autopsy.h - a run held against the interpreter, node by node.
 *
 * The graph is the one that kernels were made of.  It is walked over twice at the same time: with values
 * that are all in double precision, and with those that kernels left in memory wherever they left any.
 * So what a kernel did itself stands apart from what it was handed: its result is held against the same
 * formulas over what it read, and their difference against a bound for the roundings of these formulas
 * (rounding.h).
 */
#ifndef CR_AUTOPSY_H
#define CR_AUTOPSY_H

#include "compiler/passes/plan/stored.h"
#include "ref.h"

enum cr_finding_kind {
    CR_FINDING_SOUND,
    CR_FINDING_WRONG,    /* further from the formulas than roundings explain */
    CR_FINDING_NAN,      /* makes NaN of operands without, or holds it as a leaf */
    CR_FINDING_INFINITE, /* makes infinities of finite operands, or holds them */
};

/* What was found of a node.  Numbers are of the worst element: the one that comes nearest to its bound, or
 * the first one that is not finite. */
struct cr_finding {
    cr_id node;
    int call; /* that stores it, or CR_NONE */
    enum cr_finding_kind kind;
    bool reaches_output; /* NAN, INFINITE: some output is not finite because of it */
    double error, inherited,
        own;      /* the largest distances: from the interpreter in double precision; of
                                   * this, what comes with the operands, and what the kernel adds */
    double bound; /* of what it may add, at the worst element */
    int64_t worst, failing;
    double got, want;   /* want: of the formulas over what the kernel read */
    double operands[4]; /* NAN, INFINITE: elementwise ops: what they are there */
};

struct cr_autopsy {
    const struct cr_stored_list *stored;
    float *const *kept;         /* by item of the list: what it held, row-major */
    const float *const *params; /* in the order of the list's graph */
    const void *const *inputs;  /* of the same; states as they were before the run */
    struct cr_finding
        *findings; /* in the order of the graph: of what is stored, and of other nodes that
                                  * make what is not finite; to be freed */
    int n, cap;
};

int cr_autopsy_run(struct cr_autopsy *autopsy, struct cr_error *error);

#endif
