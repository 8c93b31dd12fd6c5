/*
 * bench.h - the measurements of a bench.
 */
#ifndef CR_BENCH_H
#define CR_BENCH_H

#include "bench_case.h"
#include "profile.h"

struct cr_bench {
    const struct cr_options *options;
    struct cr_bench_case *cases; /* the model, then one for each --vs */
    int n;
    crescent_model *twin;     /* for the interpreter: the same model compiled, to count
                               * operations */
    crescent_report compiled; /* report of the compiled model: the model or its twin */
    crescent_machine *machine;
    struct cr_profile profile; /* if --per-kernel is given */
    int rounds;

    const char *arithmetic; /* arithmetic of the products that are not in f32, or null */
    double flops;           /* operations of a run, without recomputation */
    double flops_again;     /* operations of a run that recompute values, because of --max-arena */
    int64_t touched; /* bytes of parameters, inputs and outputs: the least traffic of a run */
    int64_t active;  /* bytes of arena, inputs and outputs: the memory of activations */

    /* Measurements of the machine, between runs. */
    struct cr_sample peak;         /* GFLOP/s */
    struct cr_sample products;     /* GOP/s in that arithmetic */
    struct cr_sample memory;       /* GB/s from main memory */
    struct cr_sample touched_read; /* GB/s from a working set of `touched` bytes */
    struct cr_sample active_read;  /* GB/s from a working set of `active` bytes */
};

/* Returns the compiled model: the model or its twin. */
static inline crescent_model *cr_bench_compiled(const struct cr_bench *b)
{
    return b->twin ? b->twin : b->cases[0].model;
}

#endif
