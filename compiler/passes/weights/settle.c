/* settle.c - keeps the formats and arithmetics that kernels can use, and drops the others. */
#include "arithmetics.h"
#include "compiler/passes/pass_list.h"
#include "formats.h"

/* Formats come first: an arithmetic depends on the format of the weights. */
void cr_pass_settle(struct cr_module *module)
{
    cr_settle_formats(module);
    cr_settle_arithmetics(module);
}
