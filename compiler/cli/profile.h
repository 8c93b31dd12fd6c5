/* profile.h - times of each kernel of a compiled model, run by run. */
#ifndef CR_PROFILE_H
#define CR_PROFILE_H

#include "bench_case.h"

struct cr_profile {
    int n;                    /* number of kernels */
    double *run;              /* by kernel: nanoseconds in the last run */
    struct cr_sample *times;  /* by kernel: nanoseconds of all its calls of a run */
    struct cr_sample between; /* nanoseconds of a run outside its kernels */
};

/* Prepares a profile; the model is compiled by TinyCC or the system's compiler. */
void cr_profile_open(struct cr_profile *profile, const struct cr_bench_case *bench_case);

/* Runs the model once and times each kernel. */
int cr_profile_run(struct cr_profile *profile, const struct cr_bench_case *bench_case,
                   struct cr_error *error);

void cr_profile_close(struct cr_profile *profile);

#endif
