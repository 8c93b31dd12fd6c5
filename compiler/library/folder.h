/* folder.h - a model as a folder in Hugging Face's layout: what its files of JSON say of it. */
#ifndef CR_FOLDER_H
#define CR_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"

/* The family of the folder's config.json, as its model_type says, or else the classes of its
 * architectures; freed by the caller.  Null, with an error, if neither does. */
char *cr_folder_model_type(const char *folder, struct cr_error *error);

/* True if the folder's config.json has a key; false if it cannot be read. */
bool cr_folder_has_key(const char *folder, const char *key);

/* The whole numbers under a key of a JSON file: one, or a list of at most `most`.  None if there is no
 * such file, if the key is not there, or if it is null. */
int cr_config_integers(const char *path, const char *key, int64_t *values, int most, int *n,
                       struct cr_error *error);

#endif
