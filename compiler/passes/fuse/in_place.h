/*
 * in_place.h - which kernels read a state, and may write over what they read.
 */
#ifndef CR_IN_PLACE_H
#define CR_IN_PLACE_H

#include "compiler/passes/module/module.h"

/*
 * True if a kernel that reads a state may write a result, of its number, over it: it reads each
 * element only to make the element that goes to the same place, and no more once that is stored.  True
 * also if it does not read the state.
 */
bool cr_reads_in_place(const struct cr_kernel *kernel, int result, cr_id state);

/*
 * By result of the graph: true if the caller may hand in the memory of the input of the same name for
 * it, since each element of the input is read for the last time to make the element that is stored in
 * its place.  The caller frees the list.
 */
bool *cr_find_in_place(const struct cr_module *module);

#endif
