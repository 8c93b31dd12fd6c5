/* roofline.h - the least time that work takes on this machine. */
#ifndef CR_ROOFLINE_H
#define CR_ROOFLINE_H

#include "bench.h"

/* The least nanoseconds for the operations, and for the bytes. */
struct cr_roofline {
    double flops_ns, memory_ns;
};

double cr_roofline_limit(const struct cr_roofline *roofline);

/* Returns "flops" or "memory", whichever is the limit. */
const char *cr_roofline_bound(const struct cr_roofline *roofline);

/* Returns the machine's limits for a run.  Sorts the samples. */
struct cr_roofline cr_roofline_of_run(struct cr_bench *bench);

/* Returns the machine's limits for all calls of a kernel in a run. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *bench, const crescent_kernel *kernel);

#endif
