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

/* A run against the machine's limits; its samples are sorted. */
struct cr_roofline cr_roofline_of_run(struct cr_bench *bench);

/* All calls of a kernel against the machine's limits. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *bench, const crescent_kernel *kernel);

#endif
