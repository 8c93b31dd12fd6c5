/* reach.h - what the compiler made of graphs: a run that misses some of it proves little. */
#ifndef CR_FUZZ_REACH_H
#define CR_FUZZ_REACH_H

#include "compiler/passes/module/module.h"

/* A bit for each kind of kernel and loop that a module has, after all passes. */
uint64_t cr_reach(const struct cr_module *module);

/* Prints the kinds whose bit is not set; their number. */
int cr_print_missing(uint64_t reached);

#endif
