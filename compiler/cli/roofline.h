/* roofline.h - the roofline model: the minimum time that work takes on this machine. */
#ifndef CR_ROOFLINE_H
#define CR_ROOFLINE_H

#include "bench.h"

/* The minimum time in nanoseconds for the operations, and for the memory traffic. */
struct cr_roofline {
    double flops_ns, memory_ns;
};

double cr_roofline_limit(const struct cr_roofline *roofline);

/* Returns "flops" or "memory", whichever needs more time. */
const char *cr_roofline_bound(const struct cr_roofline *roofline);

/* Returns the roofline of a whole run.  Sorts the samples of the bench. */
struct cr_roofline cr_roofline_of_run(struct cr_bench *bench);

/* Returns the roofline of all calls of a kernel in a run. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *bench, const crescent_kernel *kernel);

#endif
