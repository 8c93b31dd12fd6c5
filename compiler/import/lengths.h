/*
 * lengths.h - symbols of an ONNX file that stay lengths of the language, up to a bound.
 *
 * A file is translated for the bound of each length, and again for smaller sizes of one length at a
 * time.  Terms of both have to be the same, but for numbers that are the length's size each time: these
 * become the length.  What is known, such as a mask or a table of positions, has at smaller sizes to be
 * the beginning of what it is at the bound.
 */
#ifndef CR_ONNX_LENGTHS_H
#define CR_ONNX_LENGTHS_H

#include "translate.h"

/*
 * Compares a script whose sizes are the bounds with that of the same file for smaller ones, which
 * other->lengths[i].size says: `varied` is compared now, those before it have been.  The first time that a
 * length varies its terms are marked; from then on they have to be what they are.  Fails with the node that
 * is in the way, and sets *is_other if it is because operators are others.
 */
int cr_onnx_compare_lengths(struct cr_onnx_script *script, const struct cr_onnx_script *other,
                            int varied, bool first, bool *is_other, struct cr_error *error);

/*
 * Once all was compared: refuses what would go over the bound in place of the length, and what the language
 * has no length for; terms that count a length's elements are written by the length.
 */
int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error);

#endif
