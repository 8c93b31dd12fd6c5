/*
 * dynamic_axes.h - symbolic sizes of an ONNX file that stay lengths of the language, up to a bound.
 *
 * A file is translated for the bounds, with symbols (symbols.h) in place of sizes and numbers that
 * depend on lengths.  A symbol that is left in the script has to be a length, or a length plus a
 * number.
 */
#ifndef CR_ONNX_DYNAMIC_AXES_H
#define CR_ONNX_DYNAMIC_AXES_H

#include "translate.h"

/* Replaces the symbols in the terms of a script.  A size becomes the bound of its length, with a
 * mark in `lengths`; a number becomes a term that computes it at run time.  Fails, with the name
 * of the node, if another symbol is left, or if a Lua function builds other nodes for other
 * lengths. */
int cr_onnx_find_lengths(struct cr_onnx_script *script, struct cr_error *error);

/*
 * Call after cr_onnx_find_lengths.  Sets `cuts` of all terms as the front end infers them, and
 * fails where the front end fails.  In terms whose value depends on the number of elements, sizes
 * are written as the length.  A call of `limit` is added to terms that a reduction would read up to
 * the bound, and to outputs.
 */
int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error);

/* Sets lengths[axis] to 1 + the number of the length for each axis of the input `v` whose size is a
 * length; does not change other items. */
void cr_onnx_input_lengths(const struct cr_symbols *symbols, const struct cr_onnx_value *v,
                           signed char *lengths);

#endif
