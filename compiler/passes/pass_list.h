/* pass_list.h - the functions of the passes, declared from their table. */
#ifndef CR_PASS_LIST_H
#define CR_PASS_LIST_H

#include "compiler/passes/module/module.h"

#define PASS(name, needs, gives, breaks, doc) void cr_pass_##name(struct cr_module *module);
#include "passes.def"
#undef PASS

#endif
