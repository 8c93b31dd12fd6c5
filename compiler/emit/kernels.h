/* kernels.h - each kernel as a C function over the runtime. */
#ifndef CR_KERNELS_H
#define CR_KERNELS_H

#include "compiler/passes/module.h"
#include "text.h"
#include "titles.h"

/* What the caller of a kernel's function must know. */
struct cr_function {
    int number; /* its name is k<number>_<title> */
    char title[64];
    int64_t items;                /* of its parallel loop */
    int64_t scratch;              /* floats each thread needs */
    char fields[CR_MAX_REFS][64]; /* of its arguments, by ref; "w" and "out" besides */
};

/* Prints the arguments' struct and the function of kernel `kernel` of the module, and fills its
 * place among the functions, which are by kernel; those of kernels before it are there. */
void cr_print_kernel_function(struct cr_text *text, const struct cr_module *module, int kernel,
                              int number, const struct cr_titles *titles,
                              struct cr_function *functions);

#endif
