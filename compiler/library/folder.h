/* folder.h - a model as a folder in Hugging Face's layout: what its config.json says of it. */
#ifndef CR_FOLDER_H
#define CR_FOLDER_H

#include "compiler/ir/error.h"

/* What model_type of the folder's config.json says; freed by the caller.  Null, with an error, for a
 * folder without either. */
char *cr_folder_model_type(const char *folder, struct cr_error *error);

#endif
