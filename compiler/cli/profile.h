/*
 * profile.h - what each kernel of a compiled model takes.
 *
 * Generated code starts every kernel through the member `parallel` of the runtime's table
 * and hands it the pool it was given.  So a copy of the table with a `parallel` of our own
 * sees each call, in the order of program->sequence, and the code is what it always is.
 */
#ifndef CR_PROFILE_H
#define CR_PROFILE_H

#include "sample.h"
#include "subject.h"

struct cr_profile {
    struct cr_runtime rt; /* the engine's, with a `parallel` of our own */
    const struct cr_engine *engine;
    int at;                   /* calls of this run so far */
    double *sums;             /* by kernel, of this run */
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
