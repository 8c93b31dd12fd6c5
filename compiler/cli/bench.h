/* bench.h - the cases and the measurements of a bench. */
#ifndef CR_BENCH_H
#define CR_BENCH_H

#include "bench_case.h"
#include "profile.h"

struct cr_bench {
    const struct cr_options *options;
    struct cr_bench_case *cases; /* the model, then the model changed by each --vs */
    int n;
    crescent_model *twin;     /* if the model is interpreted: the same model compiled, to count
                               * operations */
    crescent_report compiled; /* report of the compiled model, which is the model or its twin */
    crescent_machine *machine;
    struct cr_profile profile; /* times of kernels, if --per-kernel is given */
    int rounds;

    const char *arithmetic; /* arithmetic of products other than f32, or null */
    double flops;           /* operations of a run, without those that recompute values */
    double flops_again;     /* operations of a run that recompute values to save memory
                             * (--max-arena) */
    int64_t touched; /* bytes of parameters, inputs and outputs: the minimum traffic of a run */
    int64_t active;  /* bytes of arena, inputs and outputs: the memory of activations */

    /* Rates of the machine, measured between runs. */
    struct cr_sample peak;         /* floating-point peak in GFLOP/s */
    struct cr_sample products;     /* peak of products in `arithmetic`, GOP/s */
    struct cr_sample memory;       /* GB/s from main memory */
    struct cr_sample touched_read; /* GB/s when `touched` bytes are read repeatedly */
    struct cr_sample active_read;  /* GB/s when `active` bytes are read repeatedly */
};

/* Returns the compiled model: the measured one, or its compiled twin if that is interpreted. */
static inline crescent_model *cr_bench_compiled(const struct cr_bench *b)
{
    return b->twin ? b->twin : b->cases[0].model;
}

#endif
