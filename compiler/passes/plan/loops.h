/* loops.h - sequences of kernels that repeat, as the layers of a model do. */
#ifndef CR_LOOPS_H
#define CR_LOOPS_H

#include "functions.h"

/* Loops that do not overlap, sorted by kernel. */
struct cr_loops {
    struct cr_loop *items; /* the caller frees them */
    int n, cap;
};

/* Finds the loops that save the most calls.  `functions` comes from cr_find_functions.  Of the
 * module only the graph and the kernels are read. */
void cr_find_loops(const struct cr_module *m, const struct cr_functions *functions,
                   struct cr_loops *loops);

#endif
