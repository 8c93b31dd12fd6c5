#include "kinds.h"

const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS] = {
#define KIND(NAME, name, title)                                                                    \
    {title,           &cr_parts_##name,   cr_fits_##name,    cr_lower_##name,                      \
     cr_flops_##name, cr_schedule_##name, cr_describe_##name},
#include "compiler/passes/module/kernel_kinds.def"
#undef KIND
};
