#include "kernel_kinds.h"

#include <stddef.h>

const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS] = {
#define KIND(NAME, name, title)                                                                    \
    {title,           &cr_parts_##name,   cr_fits_##name,    cr_lower_##name,                      \
     cr_flops_##name, cr_schedule_##name, cr_describe_##name},
#include "kernel_kinds.def"
#undef KIND
};

const char *const cr_program_names[CR_PROGRAMS] = {"prologue", "sink", "scores", "dropout", "program",
                                                   "array 0",  "array 1", "array 2", "index"};
_Static_assert(CR_PROGRAMS == 9, "a name for each");
const char *const cr_operand_names[CR_OPERANDS] = {"a", "b", "v", "g", "delta"};

/* Numbers and names are of the same parts. */
#define SAME(array, number, name)                                                                  \
    _Static_assert(offsetof(struct cr_kernel, array[number]) == offsetof(struct cr_kernel, name),  \
                   #name)
SAME(programs, CR_PROLOGUE, prologue);
SAME(programs, CR_SINK, sink);
SAME(programs, CR_SCORES, scores);
SAME(programs, CR_DROPOUT, dropout);
SAME(programs, CR_PROGRAM, program);
SAME(operands, CR_OPERANDS - 1, delta);
SAME(programs, CR_ARRAY, array);
SAME(programs, CR_INDEX, index);
SAME(results, 2, dest_v);
SAME(results, 3, dest_array);
