/* loops.h - sequences of kernels that repeat, as the layers of a model do. */
#ifndef CR_LOOPS_H
#define CR_LOOPS_H

#include "functions.h"

/* Loops that do not overlap, in the order of their kernels. */
struct cr_loops {
    struct cr_loop *items; /* the caller frees them */
    int n, cap;
};

/* The loops that save the most calls; `function` is that of cr_find_functions.  Looks at the
 * graph and the kernels, and at nothing else of the module. */
void cr_find_loops(const struct cr_module *m, const struct cr_functions *functions,
                   struct cr_loops *loops);

#endif
