/*
 * bench.h - what a bench measured, and how that compares with what the machine can do.
 */
#ifndef CR_BENCH_H
#define CR_BENCH_H

#include "machine.h"
#include "profile.h"
#include "subject.h"

struct cr_bench {
    const struct cr_options *options;
    struct cr_subject *subjects; /* the model, then one a --vs */
    int n;
    struct cr_engine twin; /* for the interpreter: the model compiled, to count operations */
    struct cr_machine machine;
    struct cr_profile profile; /* with --per-kernel */
    int rounds;

    double flops;       /* of a run, each value's once */
    double flops_again; /* what --max-arena adds to them: of values that are made again */
    int64_t touched;    /* bytes of parameters, inputs and outputs: what a run cannot do without */
    int64_t active;     /* bytes of arena, inputs and outputs: where activations lie */

    /* The machine, measured between runs. */
    struct cr_sample peak;         /* GFLOP/s */
    struct cr_sample memory;       /* GB/s from beyond the caches */
    struct cr_sample touched_read; /* GB/s from so many bytes as `touched` */
    struct cr_sample active_read;  /* GB/s from so many bytes as `active` */
};

/* The least time work can take: nanoseconds its operations take, and its bytes. */
struct cr_roofline {
    double flops_ns, memory_ns;
};

double cr_roofline_limit(const struct cr_roofline *roofline);

/* "flops" or "memory", whichever is the limit. */
const char *cr_roofline_bound(const struct cr_roofline *roofline);

struct cr_roofline cr_bench_roofline(struct cr_bench *bench);
struct cr_roofline cr_bench_kernel_roofline(struct cr_bench *bench,
                                            const struct cr_kernel_info *kernel);

/* The compiled form: the model's own, or its twin's. */
const struct cr_engine *cr_bench_compiled(const struct cr_bench *bench);

/* Prints it all as text, JSON or Markdown; samples are sorted on the way. */
void cr_bench_report(struct cr_bench *bench);

/* Prints what is known before anything ran: times of compiling, and sizes. */
void cr_bench_report_compilation(struct cr_bench *bench);

/* Prints the latest round as one line of JSON. */
void cr_bench_report_turn(struct cr_bench *bench);

#endif
