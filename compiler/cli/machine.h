/*
 * machine.h - what the machine can do at best, on the threads of an engine: fused
 * multiply-adds a second, and bytes read a second.
 */
#ifndef CR_MACHINE_H
#define CR_MACHINE_H

#include "compiler/exec/engine.h"

struct cr_machine {
    const struct cr_engine *engine; /* whose threads are used */
    char *buffer;
    int64_t bytes; /* several times what its caches hold */
};

/* The engine must outlive the machine. */
int cr_machine_open(struct cr_machine *machine, const struct cr_engine *engine,
                    struct cr_error *error);
void cr_machine_close(struct cr_machine *machine);

/* Float32 operations a nanosecond (so GFLOP/s), with the widest fma there is. */
double cr_machine_flops(const struct cr_machine *machine);

/*
 * Bytes a nanosecond (so GB/s) when that many bytes are read again and again, each thread
 * its share: from whatever cache holds them, or from memory.
 */
double cr_machine_read(const struct cr_machine *machine, int64_t bytes);

#endif
