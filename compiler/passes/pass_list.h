/* pass_list.h - declares the function of each pass in passes.def. */
#ifndef CR_PASS_LIST_H
#define CR_PASS_LIST_H

#include "compiler/passes/module/module.h"

#define PASS(name, needs, gives, breaks, doc) void cr_pass_##name(struct cr_module *module);
#include "passes.def"
#undef PASS

#endif
