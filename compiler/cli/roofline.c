/* roofline.c - the least time that work can take; see roofline.h. */
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

/* Between two uses of a layer's weights a run goes through all of them, but activations were
 * just written: the former come from where the whole run's bytes fit, the latter from where
 * the arena does. */
struct cr_roofline cr_roofline_of_kernel(struct cr_bench *b, const crescent_kernel *k)
{
    double activations = k->bytes_read - k->bytes_weights + k->bytes_written;
    return (struct cr_roofline){k->calls * k->flops / cr_sample_median(&b->peak),
                                k->calls * (k->bytes_weights / cr_sample_median(&b->touched_read) +
                                            activations / cr_sample_median(&b->active_read))};
}
