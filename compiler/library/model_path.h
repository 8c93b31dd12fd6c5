/* model_path.h - error messages for paths that name no model. */
#ifndef CR_MODEL_PATH_H
#define CR_MODEL_PATH_H

#include "compiler/ir/error.h"

/* Refuses a path where no file can be read, and says which one may be meant. */
int cr_check_readable(const char *path, struct cr_error *error);

/* Refuses an unreadable path, and a file that cannot be a script by its name or first bytes: weights, an
 * array, a configuration, a text.  The error names the kind of file and the option that takes it. */
int cr_check_script_path(const char *path, struct cr_error *error);

/* Returns the kind of a file in words, such as "weights (safetensors)", or null if it may be a script. */
const char *cr_other_file(const char *path);

#endif
