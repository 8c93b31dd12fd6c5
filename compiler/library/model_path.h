/* model_path.h - error messages for paths that name no model. */
#ifndef CR_MODEL_PATH_H
#define CR_MODEL_PATH_H

#include "compiler/ir/error.h"

/* Fails if a path cannot be read; the error suggests the intended one. */
int cr_check_readable(const char *path, struct cr_error *error);

/* Fails for an unreadable path, and for a file that its name or first bytes show to be no script:
 * weights, an array, a configuration, a text.  The error names the kind of file and the option that
 * takes it. */
int cr_check_script_path(const char *path, struct cr_error *error);

/* Fails for an unreadable path, and for a file other than a GGUF file, which has no tokenizer. */
int cr_check_folder_path(const char *path, struct cr_error *error);

/* Returns the kind of a file in words, such as "weights (safetensors)", or null if it may be a
 * script. */
const char *cr_other_file(const char *path);

#endif
