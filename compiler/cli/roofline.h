/* roofline.h - the roofline model: the least time that work can take on this machine. */
#ifndef CR_ROOFLINE_H
#define CR_ROOFLINE_H

#include "bench.h"

/* The least nanoseconds for the operations, and for the memory traffic. */
struct cr_roofline {
    double flops_ns, memory_ns;
};

double cr_roofline_limit(const struct cr_roofline *roofline);

/* Returns "flops" or "memory", whichever takes longer. */
const char *cr_roofline_bound(const struct cr_roofline *roofline);

/* Returns the roofline of a run; sorts the samples. */
struct cr_roofline cr_roofline_of_run(struct cr_bench *bench);

/* Returns the roofline of all calls of a kernel. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *bench, const crescent_kernel *kernel);

#endif
