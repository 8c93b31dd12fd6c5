/* print_script.h - prints statements as the text of a script. */
#ifndef CR_ONNX_PRINT_SCRIPT_H
#define CR_ONNX_PRINT_SCRIPT_H

#include "print_terms.h"
#include "translate.h"

/* Prints a script into printer->text, and sets printer->weights to the weights that it reads.  Free
 * the printer by cr_script_free_printer, also after a failure. */
int cr_script_print(struct cr_printer *printer, const struct cr_onnx_script *script,
                    struct cr_error *error);
void cr_script_free_printer(struct cr_printer *printer);

#endif
