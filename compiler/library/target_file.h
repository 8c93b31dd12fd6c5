/* target_file.h - reads targets from files. */
#ifndef CR_TARGET_FILE_H
#define CR_TARGET_FILE_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/target.h"

/* Reads a file as a target named `name`; see cr_target_read. */
int cr_read_target(struct cr_target *target, const char *name, const char *path,
                   struct cr_error *error);

#endif
