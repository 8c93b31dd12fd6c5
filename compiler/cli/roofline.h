/* roofline.h - the least time that work can take on this machine. */
#ifndef CR_ROOFLINE_H
#define CR_ROOFLINE_H

#include "bench.h"

/* Nanoseconds that operations take, and bytes. */
struct cr_roofline {
    double flops_ns, memory_ns;
};

double cr_roofline_limit(const struct cr_roofline *roofline);

/* "flops" or "memory", whichever is the limit. */
const char *cr_roofline_bound(const struct cr_roofline *roofline);

/* Of a run; samples are sorted on the way. */
struct cr_roofline cr_roofline_of_run(struct cr_bench *bench);

/* Of all calls of a kernel. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *bench, const crescent_kernel *kernel);

#endif
