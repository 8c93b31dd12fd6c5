/* model_path.h - a path that leads to no model: what is there instead, and what to give. */
#ifndef CR_MODEL_PATH_H
#define CR_MODEL_PATH_H

#include "compiler/ir/error.h"

/* Refuses a path where no file can be read, and says which one may be meant. */
int cr_check_readable(const char *path, struct cr_error *error);

/* The same, and refuses a file that is known to be no script, by its name or its first bytes: weights, an
 * array, a configuration, a text.  Says what it is, and where such a file is given. */
int cr_check_script_path(const char *path, struct cr_error *error);

/* What such a file is, as "weights (safetensors)"; null of one that may be a script. */
const char *cr_other_file(const char *path);

#endif
