/* profile.h - the time that each kernel of a compiled model takes, run by run. */
#ifndef CR_PROFILE_H
#define CR_PROFILE_H

#include "subject.h"

struct cr_profile {
    int n;                    /* kernels */
    double *run;              /* nanoseconds by kernel, of the last run */
    struct cr_sample *times;  /* by kernel: nanoseconds of all its calls in a run */
    struct cr_sample between; /* nanoseconds of a run outside of its kernels */
};

/* Prepares a profile.  The subject must be compiled by TinyCC or the system's compiler. */
void cr_profile_open(struct cr_profile *profile, const struct cr_subject *subject);

/* Runs the subject once and times every kernel. */
int cr_profile_run(struct cr_profile *profile, const struct cr_subject *subject,
                   struct cr_error *error);

void cr_profile_close(struct cr_profile *profile);

#endif
