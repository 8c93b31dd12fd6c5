/* folder.h - a model as a folder in Hugging Face's layout: which family its config.json is of. */
#ifndef CR_FOLDER_H
#define CR_FOLDER_H

#include <stdbool.h>

#include "compiler/ir/error.h"

/* The family of the folder's config.json, as its model_type says, or else the classes of its
 * architectures; freed by the caller.  Null, with an error, if neither does. */
char *cr_folder_model_type(const char *folder, struct cr_error *error);

/* True if the folder's config.json has a key; false if it cannot be read. */
bool cr_folder_has_key(const char *folder, const char *key);

#endif
