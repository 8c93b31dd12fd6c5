/*
 * dynamic_axes.h - symbols of an ONNX file that stay lengths of the language, up to a bound.
 *
 * A file is translated for the bound of each length, and again for smaller sizes of one length at
 * a time.  The terms of both have to be equal, except for numbers that are the length's size in
 * each translation: these become the length.  Known elements of a smaller size, such as a mask or
 * a table of positions, have to be the first elements of the array at the bound.
 */
#ifndef CR_ONNX_DYNAMIC_AXES_H
#define CR_ONNX_DYNAMIC_AXES_H

#include "translate.h"

/*
 * Compares a script whose sizes are the bounds with the script of the same file for smaller sizes,
 * other->lengths[i].size.  Compares the length `varied`; lengths before it are done.  If `first`,
 * marks the terms that are the length; later calls check them.  Fails, naming the node, if the
 * scripts differ otherwise, and sets *is_other if operators differ.
 */
int cr_onnx_compare_lengths(struct cr_onnx_script *script, const struct cr_onnx_script *other,
                            int varied, bool first, bool *is_other, struct cr_error *error);

/*
 * Call after all comparisons.  Sets the cuts of all terms, as the front end infers them, and fails
 * where the front end fails.  Terms that depend on the number of elements use the length; `limit` cuts
 * terms that would be reduced, or be outputs, up to the bound.
 */
int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error);

/* Sets `lengths` of an input: by axis, 1 + the index of its length, or 0. */
void cr_onnx_input_lengths(const struct cr_onnx_script *script, const struct cr_onnx_value *v,
                           signed char *lengths);

#endif
