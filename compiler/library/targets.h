/* targets.h - which machine loops are cut for. */
#ifndef CR_TARGETS_H
#define CR_TARGETS_H

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "compiler/passes/module/target.h"
#include "host_target.h"

/* The target of a name: "generic", "host", a processor's, or a file's.  Of "host", CRESCENT_TARGET in the
 * environment names another. */
int cr_choose_target(crescent_context *context, const char *name, const struct cr_use *use,
                     struct cr_target *target, struct cr_error *error);

#endif
