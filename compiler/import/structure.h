/*
 * structure.h - the statements of a script as a person would write them: what is used once stands
 * where it is used, and equal blocks one after another, such as the layers of a transformer, are a
 * function and a loop.
 */
#ifndef CR_ONNX_STRUCTURE_H
#define CR_ONNX_STRUCTURE_H

#include "print.h"
#include "translate.h"

/* Appends the statements to printer->text, whose inputs have names; afterwards all values that
 * outputs of the model read have one. */
void cr_structure_print(struct cr_printer *printer, const struct cr_onnx_script *script);

#endif
