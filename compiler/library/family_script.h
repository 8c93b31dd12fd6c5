/* family_script.h - finds the script for the model of a folder or a GGUF file. */
#ifndef CR_FAMILY_SCRIPT_H
#define CR_FAMILY_SCRIPT_H

#include "handles.h"

/*
 * Sets the script of an origin whose weights are in `folder`, a folder or a GGUF file.  It is
 * `script`, a path, if that is not null; else the built-in script named o->family, the model_type
 * (null: unknown); else NAME.lua in the folder, in a folder of $CRESCENT_PATH, or among the
 * installed scripts.  Fails if there is none.
 */
int cr_take_family(struct cr_origin *o, const char *folder, const char *script,
                   struct cr_error *error);

/* Returns the path of the script that cr_take_family finds for a model_type, or null if there is
 * none.  The caller frees it. */
char *cr_family_script(const char *folder, const char *family);

#endif
