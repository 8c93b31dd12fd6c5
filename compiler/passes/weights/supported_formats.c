/* supported_formats.c - keeps the formats and arithmetics that kernels can use, and drops the others. */
#include "arithmetics.h"
#include "compiler/passes/pass_list.h"
#include "formats.h"

/* Chooses formats first, because an arithmetic depends on the format of the weights. */
void cr_pass_supported_formats(struct cr_module *module)
{
    cr_keep_supported_formats(module);
    cr_keep_supported_arithmetics(module);
}
