/* profile.h - measures the time of each kernel of a compiled model. */
#ifndef CR_PROFILE_H
#define CR_PROFILE_H

#include "bench_case.h"

struct cr_profile {
    int n;                    /* number of kernels */
    double *run;              /* by kernel: nanoseconds in the last run */
    struct cr_sample *times;  /* by kernel: nanoseconds of all its calls in a run, one sample for
                               * each run */
    struct cr_sample between; /* nanoseconds of a run outside of kernels */
};

/* Prepares a profile.  TinyCC or the system's compiler must have compiled the model. */
void cr_profile_open(struct cr_profile *profile, const struct cr_bench_case *bench_case);

/* Runs the model once and adds the time of each kernel to the samples. */
int cr_profile_run(struct cr_profile *profile, const struct cr_bench_case *bench_case,
                   struct cr_error *error);

void cr_profile_close(struct cr_profile *profile);

#endif
