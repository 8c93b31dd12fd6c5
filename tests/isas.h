/* isas.h - the instruction sets that tests iterate over, and a report of those that the machine
 * lacks. */
#ifndef CR_ISAS_H
#define CR_ISAS_H

#include <stdio.h>

#include "runtime/select_runtime.h"

static const char *const isas[] = {"plain", "avx2", "avx512", "vnni", "amx", "neon"};

enum { ISAS = sizeof isas / sizeof *isas };

/* Prints a line for each instruction set that the machine lacks. */
static inline void report_missing_isas(const char *test)
{
    for (int i = 0; i < ISAS; i++)
        if (!cr_runtime_select(isas[i]))
            printf("%s: not run with %s, which this machine lacks\n", test, isas[i]);
    fflush(stdout); /* before the tests fork */
}

#endif
