/*
 * bench.h - what a bench measured.
 */
#ifndef CR_BENCH_H
#define CR_BENCH_H

#include "profile.h"
#include "subject.h"

struct cr_bench {
    const struct cr_options *options;
    struct cr_subject *subjects; /* the model, then one a --vs */
    int n;
    crescent_model *twin;     /* for the interpreter: the model compiled, to count operations */
    crescent_report compiled; /* of the model's compiled form, or its twin's */
    crescent_machine *machine;
    struct cr_profile profile; /* with --per-kernel */
    int rounds;

    const char *arithmetic; /* of products that are not in f32, if there are some, or null */
    double flops;           /* of a run, each value's once */
    double flops_again;     /* what --max-arena adds to them: of values that are made again */
    int64_t touched; /* bytes of parameters, inputs and outputs: what a run cannot do without */
    int64_t active;  /* bytes of arena, inputs and outputs: where activations lie */

    /* The machine, measured between runs. */
    struct cr_sample peak;         /* GFLOP/s */
    struct cr_sample products;     /* GOP/s in that arithmetic */
    struct cr_sample memory;       /* GB/s from beyond the caches */
    struct cr_sample touched_read; /* GB/s from so many bytes as `touched` */
    struct cr_sample active_read;  /* GB/s from so many bytes as `active` */
};

/* The compiled form: the model's own, or its twin's. */
static inline crescent_model *cr_bench_compiled(const struct cr_bench *b)
{
    return b->twin ? b->twin : b->subjects[0].model;
}

#endif
