/* loops.h - finds sequences of kernels that repeat, such as the layers of a model. */
#ifndef CR_LOOPS_H
#define CR_LOOPS_H

#include "functions.h"

/* A list of loops that do not overlap, sorted by kernel. */
struct cr_loops {
    struct cr_loop *items; /* the loops; the caller frees them */
    int n, cap;
};

/* Finds loops, greedily by the number of calls that they save.  `functions` comes from
 * cr_find_functions.  Reads only the graph and the kernels of the module. */
void cr_find_loops(const struct cr_module *m, const struct cr_functions *functions,
                   struct cr_loops *loops);

#endif
