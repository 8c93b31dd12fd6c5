/* roofline.c - computes the minimum time of work on this machine; see roofline.h. */
#include "roofline.h"

double cr_roofline_limit(const struct cr_roofline *r)
{
    return r->flops_ns > r->memory_ns ? r->flops_ns : r->memory_ns;
}

const char *cr_roofline_bound(const struct cr_roofline *r)
{
    return r->flops_ns > r->memory_ns ? "flops" : "memory";
}

struct cr_roofline cr_roofline_of_run(struct cr_bench *b)
{
    return (struct cr_roofline){b->flops / cr_sample_median(&b->peak),
                                (double)b->touched / cr_sample_median(&b->touched_read)};
}

/* Reading weights counts at the bandwidth of a working set of all bytes of a run, since a run
 * reads them all between two uses of a weight.  Activations, which were just written, count at
 * the bandwidth of a working set of the arena. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *b, const crescent_kernel *k)
{
    double activations = k->bytes_read - k->bytes_weights + k->bytes_written;
    return (struct cr_roofline){k->calls * k->flops / cr_sample_median(&b->peak),
                                k->calls * (k->bytes_weights / cr_sample_median(&b->touched_read) +
                                            activations / cr_sample_median(&b->active_read))};
}
