/* folder_model_type.h - the model family of a folder in Hugging Face's layout. */
#ifndef CR_FOLDER_MODEL_TYPE_H
#define CR_FOLDER_MODEL_TYPE_H

#include <stdbool.h>

#include "compiler/ir/error.h"
#include "compiler/json/document.h"

/* Returns the family that a folder's config.json names: its model_type, or else the family of its
 * architectures.  The caller frees it.  Returns null with an error if the file names neither. */
char *cr_folder_model_type(const char *folder, struct cr_error *error);

/* True if the folder's config.json has a key; false also if the file cannot be read. */
bool cr_folder_has_key(const char *folder, const char *key);

/* Returns the first class of `architectures` in a config.json; null if there is none. */
const char *cr_first_class(const struct cr_document *config);

/* Returns a copy of the first class in the config.json of a folder, which the caller frees; null if
 * there is none. */
char *cr_folder_class(const char *folder);

#endif
