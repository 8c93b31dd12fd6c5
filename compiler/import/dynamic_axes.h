/*
 * dynamic_axes.h - symbols of an ONNX file that stay lengths of the language, up to a bound.
 *
 * A file is translated for the bounds, with symbols in place of sizes and numbers that depend on
 * lengths.  What is left of them in the script has to be a length, or differ from one by a number.
 */
#ifndef CR_ONNX_DYNAMIC_AXES_H
#define CR_ONNX_DYNAMIC_AXES_H

#include "translate.h"

/* Replaces the symbols in the terms of a script: a size by the bound of its length and a mark that
 * it is a length, a number known only at run time by a term that computes it.  Fails, with the
 * name of the node, if another symbol is left, or if a function of Lua builds other nodes for
 * other lengths. */
int cr_onnx_find_lengths(struct cr_onnx_script *script, struct cr_error *error);

/*
 * Call after cr_onnx_find_lengths.  Sets the cuts of all terms, as the front end infers them, and
 * fails where the front end fails.  Terms that depend on the number of elements use the length;
 * `limit` cuts terms that would be reduced, or be outputs, up to the bound.
 */
int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error);

/* Sets lengths[axis] of an input to 1 + the number of the length that is the axis's size; other
 * elements do not change. */
void cr_onnx_input_lengths(const struct cr_symbols *symbols, const struct cr_onnx_value *v,
                           signed char *lengths);

#endif
