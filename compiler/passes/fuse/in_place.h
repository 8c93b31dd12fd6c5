/*
 * in_place.h - which kernels read a state, and may write over what they read.
 */
#ifndef CR_IN_PLACE_H
#define CR_IN_PLACE_H

#include "compiler/passes/module/module.h"

/* True if a node is among the operands of a kernel. */
bool cr_reads_node(const struct cr_kernel *kernel, cr_id id);

/*
 * True if a kernel that reads a state may write a result, of its number, over it: it reads each
 * element only to make the element that goes to the same place, and no more once that is stored.  True
 * also if it does not read the state.
 */
bool cr_reads_in_place(const struct cr_kernel *kernel, int result, cr_id state);

/* True if a kernel writes over a state that it reads. */
bool cr_writes_over(const struct cr_module *module, const struct cr_kernel *kernel);

/*
 * By result of the graph: true if the caller may hand in the memory of the input of the same name for
 * it, since each element of the input is read for the last time to make the element that is stored in
 * its place.  The caller frees the list.
 */
bool *cr_find_in_place(const struct cr_module *module);

#endif
