/*
 * bench.h - what a bench measured.
 */
#ifndef CR_BENCH_H
#define CR_BENCH_H

#include "profile.h"
#include "subject.h"

struct cr_bench {
    const struct cr_options *options;
    struct cr_subject *subjects; /* the model, then one per --vs */
    int n;
    crescent_model *twin;     /* to count operations of an interpreted model; else null */
    crescent_report compiled; /* of the model's compiled form, or its twin's */
    crescent_machine *machine;
    struct cr_profile profile; /* if --per-kernel is given */
    int rounds;

    const char *arithmetic; /* of the products that are not in f32; null if all are */
    double flops;           /* of a run; no value is counted twice */
    double flops_again;     /* what --max-arena adds: operations that recompute values */
    int64_t touched; /* bytes of parameters, inputs and outputs, which every run reads or writes */
    int64_t active;  /* bytes of arena, inputs and outputs, which hold the activations */

    /* The machine, measured between runs. */
    struct cr_sample peak;         /* GFLOP/s */
    struct cr_sample products;     /* GOP/s in `arithmetic` */
    struct cr_sample memory;       /* GB/s from memory, past the caches */
    struct cr_sample touched_read; /* GB/s from a buffer of `touched` bytes */
    struct cr_sample active_read;  /* GB/s from a buffer of `active` bytes */
};

/* Returns the compiled model: the first subject's, or its twin. */
static inline crescent_model *cr_bench_compiled(const struct cr_bench *b)
{
    return b->twin ? b->twin : b->subjects[0].model;
}

#endif
