/* processor.h - identifies the processor that runs this program. */
#ifndef CR_PROCESSOR_H
#define CR_PROCESSOR_H

#include "compiler/passes/module/target.h"

struct cr_host_processor {
    char vendor[16];    /* on x86: "AuthenticAMD" or another vendor; else "" */
    int family, model;  /* on x86: family and model; on Arm: `model` is the core's part number */
    char microcode[24]; /* microcode version as Linux reports it, or "" */
    int64_t l1_bytes, l2_bytes, l3_bytes; /* sizes of the caches; 0 if neither the system nor
                                           * cpuid reports one */
    char name[CR_TARGET_NAME];            /* can be part of a file name: "amd-26-2", "arm-d0b" */
};

void cr_detect_processor(struct cr_host_processor *host);

/* Sets the sizes of the caches by cpuid, on x86; for systems without the files of /sys. */
void cr_detect_caches(struct cr_host_processor *host);

/* Fills *target for the host: the table's sizes for its processor, and the caches that the system
 * reports. The target's name is the processor's name, or "host" if the processor is unknown. */
void cr_host_target(struct cr_target *target, const struct cr_host_processor *host);

#endif
