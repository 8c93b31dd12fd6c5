/* reach.h - the features that compiled graphs used: a run that misses some of them proves
 * little. */
#ifndef CR_FUZZ_REACH_H
#define CR_FUZZ_REACH_H

#include "compiler/passes/module/module.h"

/* Returns a set of bits: the kinds of kernels and loops in a module after all passes. */
uint64_t cr_reach(const struct cr_module *module);

/* Prints the kinds whose bit is not set; returns their number. */
int cr_print_missing(uint64_t reached);

#endif
