/* model_path.h - error messages for paths that name no model. */
#ifndef CR_MODEL_PATH_H
#define CR_MODEL_PATH_H

#include "compiler/ir/error.h"

/* Fails if a path cannot be read; the message suggests a similar path that exists. */
int cr_check_readable(const char *path, struct cr_error *error);

/* Fails if a path cannot be read, or if the file's name or first bytes show that it is not a script
 * but weights, an array, a configuration or a text.  The message names the kind of file and the
 * option that accepts it. */
int cr_check_script_path(const char *path, struct cr_error *error);

/* Fails if a path cannot be read, or if it is a file other than a GGUF file: such files have no
 * tokenizer. */
int cr_check_folder_path(const char *path, struct cr_error *error);

/* Returns the kind of a file in words, such as "weights (safetensors)", or null if it may be a
 * script. */
const char *cr_other_file(const char *path);

#endif
