/* targets.h - finds the target, the description of a machine that loops are tiled for. */
#ifndef CR_TARGETS_H
#define CR_TARGETS_H

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "compiler/passes/module/target.h"
#include "host_target.h"

/* Finds a target by its name: "generic", "host", the name of a processor, or the path of a file.
 * CRESCENT_TARGET in the environment replaces "host" by another name. */
int cr_choose_target(crescent_context *context, const char *name, const struct cr_use *use,
                     struct cr_target *target, struct cr_error *error);

#endif
