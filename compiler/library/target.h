/* target.h - which machine loops are cut for. */
#ifndef CR_LIBRARY_TARGET_H
#define CR_LIBRARY_TARGET_H

#include <stdbool.h>

#include "compiler/crescent.h"
#include "compiler/exec/host.h"

enum { CR_TARGET_PATH = 4096 };

/* The target of a name: "generic", "host", a processor's, or a file's. */
int cr_choose_target(crescent_context *context, const char *name, struct cr_target *target,
                     struct cr_error *error);

/* Where tuning keeps what it finds for this machine; makes the folders.  To be freed; null with the
 * error set. */
char *cr_tuned_path(struct cr_error *error);

#endif
