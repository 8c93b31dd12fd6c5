/* profile.h - what each kernel of a compiled model takes, run by run. */
#ifndef CR_PROFILE_H
#define CR_PROFILE_H

#include "subject.h"

struct cr_profile {
    int n;                    /* kernels */
    double *run;              /* by kernel, of the last run */
    struct cr_sample *times;  /* by kernel: nanoseconds of all its calls of a run */
    struct cr_sample between; /* what a run took beside its kernels */
};

/* For a subject that TinyCC or the system's compiler made. */
void cr_profile_open(struct cr_profile *profile, const struct cr_subject *subject);

/* A run of the subject, timed kernel by kernel. */
int cr_profile_run(struct cr_profile *profile, const struct cr_subject *subject,
                   struct cr_error *error);

void cr_profile_close(struct cr_profile *profile);

#endif
