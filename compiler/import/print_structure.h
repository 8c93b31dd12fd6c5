/*
 * print_structure.h - prints the statements of a script as a person would write them.  A value that
 * is used once is inlined; consecutive equal blocks, such as layers of a transformer, become a
 * function and a loop.
 */
#ifndef CR_ONNX_PRINT_STRUCTURE_H
#define CR_ONNX_PRINT_STRUCTURE_H

#include "print_terms.h"
#include "translate.h"

/* Appends the statements to printer->text.  Inputs must have names already; the values that are
 * outputs of the model get names. */
void cr_structure_print(struct cr_printer *printer, const struct cr_onnx_script *script);

#endif
