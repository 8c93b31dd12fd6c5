/*
 * in_place.h - decides which kernels may store a result over a state or input that they read.
 */
#ifndef CR_IN_PLACE_H
#define CR_IN_PLACE_H

#include "compiler/passes/module/module.h"

/*
 * True if a kernel may store result number `result` over a state: it does not read the state, or it
 * reads each element only to compute the new value of that element, before this value is stored.
 */
bool cr_reads_in_place(const struct cr_kernel *kernel, int result, cr_id state);

/*
 * Returns a list by result of the graph: true if the caller may pass the memory of the input or parameter with the same
 * name as the memory of the result, because each element is read last to compute its new value.  For a parameter this
 * is the memory with the elements in row-major order, not a copy packed for products.  The caller frees the list.
 */
bool *cr_find_in_place(const struct cr_module *module);

#endif
