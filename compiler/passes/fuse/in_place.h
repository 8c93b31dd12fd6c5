/*
 * in_place.h - which kernels may write a result over a state or input that they read.
 */
#ifndef CR_IN_PLACE_H
#define CR_IN_PLACE_H

#include "compiler/passes/module/module.h"

/*
 * True if a kernel may write result number `result` over a state: it does not read the state, or
 * it reads each element only to compute the element that replaces it, and not after that is
 * stored.
 */
bool cr_reads_in_place(const struct cr_kernel *kernel, int result, cr_id state);

/*
 * By result of the graph: true if the caller may pass the memory of the input or parameter with the
 * same name for it, because each element is last read to compute the element that replaces it.  Of a
 * parameter, that is the memory with the elements in their order; a product may read others.  The
 * caller frees the list.
 */
bool *cr_find_in_place(const struct cr_module *module);

#endif
