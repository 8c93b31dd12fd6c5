/* processor.h - the processor that this program runs on. */
#ifndef CR_PROCESSOR_H
#define CR_PROCESSOR_H

#include "compiler/passes/module/target.h"

struct cr_host_processor {
    char vendor[16];    /* "AuthenticAMD"; "" elsewhere than on x86 */
    int family, model;  /* of an x86 processor; or the part number of an Arm core */
    char microcode[24]; /* its microcode version as Linux reports it, or "" */
    int64_t l1_bytes, l2_bytes, l3_bytes; /* 0 if neither the system nor cpuid reports it */
    char name[CR_TARGET_NAME];            /* fit for a file name: "amd-26-2", "arm-d0b" */
};

void cr_detect_processor(struct cr_host_processor *host);

/* Sets the sizes of the caches by cpuid, on x86; for a system without /sys. */
void cr_detect_caches(struct cr_host_processor *host);

/* Fills a target for the host: the sizes of its processor, and the caches that the system reports.
 * The target's name is the processor's name, or "host". */
void cr_host_target(struct cr_target *target, const struct cr_host_processor *host);

#endif
